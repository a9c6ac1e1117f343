#include "api/json_out.h"

#include <math.h>
#include <stdio.h>

#include "core/base/civil.h"

struct json_out json_out_of(struct buf *buf)
{
    return (struct json_out){.buf = buf};
}

/* Comma and name before a value, in one piece of buffer: this runs for every member. */
static void lead(struct json_out *out, const char *name)
{
    ASSERT(out->depth == 0 ? name == NULL : out->array[out->depth - 1] == (name == NULL)); /* I2 */
    bool comma = out->depth != 0 && out->some[out->depth - 1];
    if (out->depth != 0)
        out->some[out->depth - 1] = true;
    struct str s = str_of(name);
    char *at = buf_grow(out->buf, (comma ? 1 : 0) + (name == NULL ? 0 : s.len + 3));
    if (at == NULL)
        return;
    if (comma)
        *at++ = ',';
    if (name == NULL)
        return;
    *at++ = '"';
    memcpy(at, s.at, s.len);
    at[s.len] = '"';
    at[s.len + 1] = ':';
}

static void open_level(struct json_out *out, const char *name, bool array)
{
    lead(out, name);
    ASSERT(out->depth < JSON_OUT_DEPTH);
    out->array[out->depth] = array;
    out->some[out->depth] = false;
    out->depth++;
    buf_char(out->buf, array ? '[' : '{');
}

void out_object(struct json_out *out, const char *name)
{
    open_level(out, name, false);
}

void out_array(struct json_out *out, const char *name)
{
    open_level(out, name, true);
}

void out_end(struct json_out *out)
{
    ASSERT(out->depth != 0); /* I1 */
    out->depth--;
    buf_char(out->buf, out->array[out->depth] ? ']' : '}');
}

/* The letter after the backslash, 'u' for \u00XX; 0: copied as it is. */
static unsigned char escape_of(unsigned char c)
{
    static const unsigned char letters[32] = {
        [8] = 'b', [9] = 't', [10] = 'n', [12] = 'f', [13] = 'r'};
    if (c < 32)
        return letters[c] != 0 ? letters[c] : 'u';
    if (c == '"' || c == '\\')
        return c;
    return c == 0x7f ? 'u' : 0;
}

/* Most bytes are none of those, and are only looked at here. 0xe2 may begin a line separator. */
static bool is_plain(unsigned char c)
{
    return c >= 0x20 && c != '"' && c != '\\' && c != 0x7f && c != 0xe2;
}

static bool is_line_separator(struct str s, size_t i)
{
    return (unsigned char)s.at[i] == 0xe2 && i + 2 < s.len && (unsigned char)s.at[i + 1] == 0x80 &&
           ((unsigned char)s.at[i + 2] & 0xfe) == 0xa8;
}

#define EACH_BYTE(b) (UINT64_C(0x0101010101010101) * (b))

/* The high bit of each byte that is 0 (and of some above the first such). */
static uint64_t zero_bytes(uint64_t x)
{
    return (x - EACH_BYTE(1)) & ~x & EACH_BYTE(0x80);
}

/* is_plain() for eight at once; may say no where it is yes. */
static bool is_plain_word(const char *at)
{
    uint64_t x = le64_get(at);
    uint64_t control = (x - EACH_BYTE(0x20)) & ~x & EACH_BYTE(0x80);
    return (control | zero_bytes(x ^ EACH_BYTE('"')) | zero_bytes(x ^ EACH_BYTE('\\')) |
            zero_bytes(x ^ EACH_BYTE(0x7f)) | zero_bytes(x ^ EACH_BYTE(0xe2))) == 0;
}

static size_t plain_end(struct str s, size_t i)
{
    while (i + 8 <= s.len && is_plain_word(s.at + i))
        i += 8;
    while (i < s.len && is_plain((unsigned char)s.at[i]))
        i++;
    return i;
}

static void put_string(struct buf *buf, struct str s)
{
    size_t from = 0;
    buf_char(buf, '"');
    for (size_t i = plain_end(s, 0); i < s.len; i = plain_end(s, i + 1)) {
        unsigned char c = (unsigned char)s.at[i];
        bool separator = is_line_separator(s, i);
        unsigned char escape = separator ? 'u' : escape_of(c);
        if (escape == 0)
            continue;
        buf_put(buf, s.at + from, i - from);
        if (separator) {
            buf_printf(buf, "\\u%04x", 0x2000u + ((unsigned char)s.at[i + 2] & 0x3fu));
            i += 2;
        } else if (escape == 'u') {
            buf_printf(buf, "\\u%04x", c);
        } else {
            unsigned char pair[2] = {'\\', escape};
            buf_put(buf, pair, sizeof pair);
        }
        from = i + 1;
    }
    if (s.len != 0)
        buf_put(buf, s.at + from, s.len - from);
    buf_char(buf, '"');
}

void out_str(struct json_out *out, const char *name, struct str value)
{
    lead(out, name);
    put_string(out->buf, value);
}

void out_cstr(struct json_out *out, const char *name, const char *value)
{
    out_str(out, name, str_of(value));
}

static void put_u64(struct buf *buf, uint64_t value)
{
    char text[20];
    size_t at = sizeof text;
    do {
        text[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    buf_put(buf, text + at, sizeof text - at);
}

void out_u64(struct json_out *out, const char *name, uint64_t value)
{
    lead(out, name);
    put_u64(out->buf, value);
}

void out_i64(struct json_out *out, const char *name, int64_t value)
{
    lead(out, name);
    if (value < 0)
        buf_char(out->buf, '-');
    put_u64(out->buf, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

/* Scores and weights: small numbers with few decimals, without printf. False: too large for it. */
static bool put_small_real(struct buf *buf, double value, int digits)
{
    static const double powers[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6};
    char text[32];
    size_t at = sizeof text;
    if (digits > 6 || fabs(value) >= 1e6)
        return false;
    uint64_t scaled = (uint64_t)llround(fabs(value) * powers[digits]);
    bool negative = value < 0 && scaled != 0;
    int left = digits;
    for (; left > 0 && scaled % 10 == 0; left--) /* no trailing zeros */
        scaled /= 10;
    bool point = left > 0;
    for (; left > 0 || scaled != 0; left--) {
        text[--at] = (char)('0' + scaled % 10);
        scaled /= 10;
        if (left == 1)
            text[--at] = '.';
    }
    if (at == sizeof text || (point && text[at] == '.'))
        text[--at] = '0';
    if (negative)
        text[--at] = '-';
    buf_put(buf, text + at, sizeof text - at);
    return true;
}

static void put_real(struct buf *buf, double value, int digits)
{
    char text[64];
    int n = snprintf(text, sizeof text, "%.*f", digits, value);
    size_t len = n < 0 ? 0 : (size_t)n;
    while (digits > 0 && len > 1 && text[len - 1] == '0')
        len--;
    if (digits > 0 && text[len - 1] == '.')
        len--;
    buf_put(buf, text, len);
}

void out_real(struct json_out *out, const char *name, double value, int digits)
{
    ASSERT(digits >= 0 && digits <= 17);
    if (!isfinite(value) || fabs(value) > 1e15) {
        out_null(out, name);
        return;
    }
    lead(out, name);
    if (!put_small_real(out->buf, value, digits))
        put_real(out->buf, value, digits);
}

void out_bool(struct json_out *out, const char *name, bool value)
{
    lead(out, name);
    buf_str_put(out->buf, value ? STR("true") : STR("false"));
}

void out_null(struct json_out *out, const char *name)
{
    lead(out, name);
    buf_put(out->buf, "null", 4);
}

void out_raw(struct json_out *out, const char *name, struct str json)
{
    ASSERT(json.len != 0);
    lead(out, name);
    buf_str_put(out->buf, json);
}

static char *put_digits(char *at, unsigned value, unsigned width)
{
    for (unsigned i = width; i-- > 0; value /= 10)
        at[i] = (char)('0' + value % 10);
    return at + width;
}

/* As rfc3339_format(), which asks printf; replies hold hundreds of times. Years are 1 to 9999. */
static size_t format_time(int64_t utc_ms, char out[RFC3339_MAX])
{
    struct civil date = civil_of_moment(utc_ms, 0);
    int64_t in_day = utc_ms % MS_PER_DAY;
    unsigned ms = (unsigned)(in_day < 0 ? in_day + MS_PER_DAY : in_day);
    char *at = put_digits(out, (unsigned)date.year, 4);
    *at++ = '-';
    at = put_digits(at, (unsigned)date.month, 2);
    *at++ = '-';
    at = put_digits(at, (unsigned)date.day, 2);
    *at++ = 'T';
    at = put_digits(at, ms / 3600000, 2);
    *at++ = ':';
    at = put_digits(at, ms / 60000 % 60, 2);
    *at++ = ':';
    at = put_digits(at, ms / 1000 % 60, 2);
    if (ms % 1000 != 0) {
        *at++ = '.';
        at = put_digits(at, ms % 1000, 3);
    }
    *at++ = 'Z';
    return (size_t)(at - out);
}

void out_time(struct json_out *out, const char *name, int64_t utc_ms)
{
    char text[RFC3339_MAX];
    if (utc_ms == INT64_MAX) {
        out_null(out, name);
        return;
    }
    out_str(out, name, (struct str){text, format_time(utc_ms, text)});
}

void out_id(struct json_out *out, const char *name, const char *prefix, uint64_t id)
{
    lead(out, name);
    buf_char(out->buf, '"');
    buf_str_put(out->buf, str_of(prefix));
    buf_char(out->buf, '_');
    put_u64(out->buf, id);
    buf_char(out->buf, '"');
}

void out_lines(struct json_out *out, const char *name, struct str lines)
{
    out_array(out, name);
    while (lines.len != 0) {
        size_t end = str_index(lines, '\n');
        out_str(out, NULL, str_part(lines, 0, end));
        lines = str_part(lines, end + 1, lines.len);
    }
    out_end(out);
}
