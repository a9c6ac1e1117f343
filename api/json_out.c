#include "api/json_out.h"

#include <math.h>
#include <stdio.h>

#include "core/base/civil.h"

struct json_out json_out_of(struct buf *buf)
{
    return (struct json_out){.buf = buf};
}

/* Comma and name before a value. */
static void lead(struct json_out *out, const char *name)
{
    ASSERT(out->depth == 0 ? name == NULL : out->array[out->depth - 1] == (name == NULL)); /* I2 */
    if (out->depth != 0) {
        if (out->some[out->depth - 1])
            buf_char(out->buf, ',');
        out->some[out->depth - 1] = true;
    }
    if (name == NULL)
        return;
    buf_char(out->buf, '"');
    buf_str_put(out->buf, str_of(name));
    buf_put(out->buf, "\":", 2);
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

/* 0: copied as it is; else the letter after the backslash, 'u' for \u00XX, 1: look closer. */
static unsigned char escape_of(unsigned char c)
{
    static const char letters[32] = {[8] = 'b', [9] = 't', [10] = 'n', [12] = 'f', [13] = 'r'};
    if (c < 32)
        return letters[c] != 0 ? (unsigned char)letters[c] : 'u';
    if (c == '"' || c == '\\')
        return c;
    if (c == 0x7f)
        return 'u';
    return c == 0xe2 ? 1 : 0;
}

static bool is_line_separator(struct str s, size_t i)
{
    return i + 2 < s.len && (unsigned char)s.at[i + 1] == 0x80 &&
           ((unsigned char)s.at[i + 2] & 0xfe) == 0xa8;
}

static void put_string(struct buf *buf, struct str s)
{
    size_t from = 0;
    buf_char(buf, '"');
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.at[i], escape = escape_of(c);
        if (escape == 0 || (escape == 1 && !is_line_separator(s, i)))
            continue;
        buf_put(buf, s.at + from, i - from);
        from = i + 1;
        if (escape == 1) {
            buf_printf(buf, "\\u%04x", 0x2000u + ((unsigned char)s.at[i + 2] & 0x3fu));
            i += 2;
            from = i + 1;
        } else if (escape == 'u') {
            buf_printf(buf, "\\u%04x", c);
        } else {
            buf_char(buf, '\\');
            buf_char(buf, (char)escape);
        }
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

void out_real(struct json_out *out, const char *name, double value, int digits)
{
    char text[64];
    if (!isfinite(value) || fabs(value) > 1e15) {
        out_null(out, name);
        return;
    }
    int n = snprintf(text, sizeof text, "%.*f", digits, value);
    size_t len = n < 0 ? 0 : (size_t)n;
    if (digits > 0) {
        while (len > 1 && text[len - 1] == '0')
            len--;
        if (text[len - 1] == '.')
            len--;
    }
    if (len == 2 && text[0] == '-' && text[1] == '0') {
        text[0] = '0';
        len = 1;
    }
    lead(out, name);
    buf_put(out->buf, text, len);
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

void out_time(struct json_out *out, const char *name, int64_t utc_ms)
{
    char text[RFC3339_MAX];
    if (utc_ms == INT64_MAX) {
        out_null(out, name);
        return;
    }
    size_t n = rfc3339_format(utc_ms, text);
    out_str(out, name, (struct str){text, n});
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
