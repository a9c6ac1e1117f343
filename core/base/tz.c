#include "core/base/tz.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/base/buf.h"
#include "core/base/civil.h"

enum { NAME_MAX_BYTES = 64, FILE_MAX_BYTES = 64 * 1024, HEADER_BYTES = 44, TYPE_BYTES = 6 };

#define ZONEINFO "/usr/share/zoneinfo/"

/* The 64-bit block of a TZif file (RFC 8536, 3.2), borrowed from its bytes. */
struct zone {
    const uint8_t *times;   /* 8 bytes each, big-endian UTC seconds, ascending */
    const uint8_t *indices; /* one byte a transition: its type */
    const uint8_t *types;   /* 6 bytes each: 4 of offset in seconds, is DST, abbreviation */
    size_t time_count, type_count;
    struct str footer; /* POSIX TZ string for what comes after the last transition */
};

struct header {
    size_t utc, std, leap, time, type, chars;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

static bool parse_fixed(struct str name, int *offset_min)
{
    uint64_t hours, minutes;
    if (name.len != 6 || (name.at[0] != '+' && name.at[0] != '-') || name.at[3] != ':' ||
        !str_u64(str_part(name, 1, 3), 23, &hours) || !str_u64(str_part(name, 4, 6), 59, &minutes))
        return false;
    *offset_min = (int)(hours * 60 + minutes) * (name.at[0] == '-' ? -1 : 1);
    return true;
}

/* Letters, digits and _-+ in parts between slashes; so no "..", and no absolute path. */
static bool is_zone_name(struct str name)
{
    if (name.len == 0 || name.len > NAME_MAX_BYTES || name.at[name.len - 1] == '/')
        return false;
    for (size_t i = 0; i < name.len; i++) {
        char c = name.at[i];
        bool first = i == 0 || name.at[i - 1] == '/';
        bool ok = is_letter(c) ||
                  (!first && (is_digit(c) || c == '_' || c == '-' || c == '+' || c == '/'));
        if (!ok)
            return false;
    }
    return true;
}

/* ---- The file */

static bool read_header(struct str file, size_t at, struct header *h)
{
    const char *p = file.at + at;
    if (at > file.len || file.len - at < HEADER_BYTES || memcmp(p, "TZif", 4) != 0)
        return false;
    *h = (struct header){be32_get(p + 20), be32_get(p + 24), be32_get(p + 28),
                         be32_get(p + 32), be32_get(p + 36), be32_get(p + 40)};
    return h->utc <= FILE_MAX_BYTES && h->std <= FILE_MAX_BYTES && h->leap <= FILE_MAX_BYTES &&
           h->time <= FILE_MAX_BYTES && h->type <= FILE_MAX_BYTES && h->chars <= FILE_MAX_BYTES;
}

static size_t block_size(const struct header *h, size_t time_bytes)
{
    return h->time * (time_bytes + 1) + h->type * TYPE_BYTES + h->chars +
           h->leap * (time_bytes + 4) + h->std + h->utc;
}

static bool types_are_valid(const struct zone *zone)
{
    for (size_t i = 0; i < zone->time_count; i++)
        if (zone->indices[i] >= zone->type_count)
            return false;
    return zone->type_count != 0;
}

/* Version 2 or later: the 32-bit block is skipped. */
static bool parse_file(struct str file, struct zone *zone)
{
    struct header first, h;
    if (!read_header(file, 0, &first) || file.at[4] < '2')
        return false;
    size_t at = HEADER_BYTES + block_size(&first, 4);
    if (!read_header(file, at, &h))
        return false;
    at += HEADER_BYTES;
    size_t size = block_size(&h, 8);
    if (size > file.len - at)
        return false;
    zone->times = (const uint8_t *)file.at + at;
    zone->indices = zone->times + h.time * 8;
    zone->types = zone->indices + h.time;
    zone->time_count = h.time;
    zone->type_count = h.type;
    struct str rest = str_part(file, at + size, file.len);
    zone->footer = STR("");
    if (rest.len > 2 && rest.at[0] == '\n') {
        rest = str_part(rest, 1, rest.len);
        zone->footer = str_part(rest, 0, str_index(rest, '\n'));
    }
    return types_are_valid(zone);
}

/* The file's bytes on the heap, NULL when there is none or memory is short. */
static char *read_file(struct str name, size_t *len)
{
    char path[sizeof ZONEINFO + NAME_MAX_BYTES];
    (void)snprintf(path, sizeof path, "%s%.*s", ZONEINFO, STR_FMT(name));
    FILE *file = fopen(path, "rbe");
    *len = 0;
    if (file == NULL)
        return NULL;
    char *bytes = malloc(FILE_MAX_BYTES);
    if (bytes != NULL)
        *len = fread(bytes, 1, FILE_MAX_BYTES, file);
    (void)fclose(file);
    return bytes;
}

/* ---- The footer: std offset [dst [offset],start[/time],end[/time]] (RFC 8536, 3.3) */

struct rule {
    enum { RULE_JULIAN, RULE_DAY, RULE_MONTH } kind;
    int month, week, day;
    int time_s; /* local seconds after midnight, may be negative or over a day */
};

struct posix_zone {
    int std_s, dst_s; /* seconds east of UTC */
    bool has_dst;
    struct rule start, end;
};

static bool take(struct str *s, char c)
{
    if (s->len == 0 || s->at[0] != c)
        return false;
    *s = str_part(*s, 1, s->len);
    return true;
}

static bool take_number(struct str *s, int max, int *out)
{
    size_t n = 0;
    *out = 0;
    while (n < s->len && n < 4 && is_digit(s->at[n]))
        *out = *out * 10 + (s->at[n++] - '0');
    *s = str_part(*s, n, s->len);
    return n != 0 && *out <= max;
}

static bool take_name(struct str *s)
{
    size_t n = 0;
    if (take(s, '<')) {
        n = str_index(*s, '>');
        if (n == s->len)
            return false;
        *s = str_part(*s, n + 1, s->len);
        return true;
    }
    while (n < s->len && is_letter(s->at[n]))
        n++;
    *s = str_part(*s, n, s->len);
    return n >= 3;
}

/* [+-]hh[:mm[:ss]] in seconds. */
static bool take_time(struct str *s, int *seconds)
{
    int hours, minutes = 0, rest = 0;
    bool minus = take(s, '-');
    if (!minus)
        (void)take(s, '+');
    if (!take_number(s, 167, &hours) || (take(s, ':') && !take_number(s, 59, &minutes)) ||
        (take(s, ':') && !take_number(s, 59, &rest)))
        return false;
    *seconds = (hours * 3600 + minutes * 60 + rest) * (minus ? -1 : 1);
    return true;
}

static bool take_rule(struct str *s, struct rule *rule)
{
    bool ok;
    *rule = (struct rule){.kind = RULE_DAY, .time_s = 2 * 3600};
    if (take(s, 'M')) {
        rule->kind = RULE_MONTH;
        ok = take_number(s, 12, &rule->month) && take(s, '.') && take_number(s, 5, &rule->week) &&
             take(s, '.') && take_number(s, 6, &rule->day) && rule->month > 0 && rule->week > 0;
    } else {
        if (take(s, 'J'))
            rule->kind = RULE_JULIAN;
        ok = take_number(s, 365, &rule->day);
    }
    return ok && (!take(s, '/') || take_time(s, &rule->time_s));
}

static bool parse_footer(struct str s, struct posix_zone *zone)
{
    int west;
    *zone = (struct posix_zone){0};
    if (!take_name(&s) || !take_time(&s, &west))
        return false;
    zone->std_s = -west; /* POSIX counts west */
    if (s.len == 0)
        return true;
    zone->has_dst = true;
    zone->dst_s = zone->std_s + 3600;
    if (!take_name(&s))
        return false;
    if (s.len != 0 && s.at[0] != ',') {
        if (!take_time(&s, &west))
            return false;
        zone->dst_s = -west;
    }
    return take(&s, ',') && take_rule(&s, &zone->start) && take(&s, ',') &&
           take_rule(&s, &zone->end) && s.len == 0;
}

/* Local seconds since 1970 at which the rule strikes in that year. */
static int64_t rule_at(const struct rule *rule, int year)
{
    int64_t day = civil_to_days((struct civil){year, 1, 1});
    bool leap = civil_days_in_month(year, 2) == 29;
    if (rule->kind == RULE_DAY) {
        day += rule->day;
    } else if (rule->kind == RULE_JULIAN) { /* 29 February is not counted */
        day += rule->day - 1 + (leap && rule->day >= 60);
    } else {
        struct civil first = {year, rule->month, 1};
        int sunday_based = (civil_weekday(first) + 1) % 7;
        int date = 1 + (rule->day - sunday_based + 7) % 7 + 7 * (rule->week - 1);
        while (date > civil_days_in_month(year, rule->month)) /* week 5 is the last */
            date -= 7;
        day = civil_to_days(first) + date - 1;
    }
    return day * 86400 + rule->time_s;
}

static int posix_offset(const struct posix_zone *zone, int64_t utc_s)
{
    if (!zone->has_dst)
        return zone->std_s;
    int year = civil_from_days((utc_s + zone->std_s) / 86400).year;
    int64_t start = rule_at(&zone->start, year) - zone->std_s;
    int64_t end = rule_at(&zone->end, year) - zone->dst_s;
    bool dst = start < end ? utc_s >= start && utc_s < end : utc_s >= start || utc_s < end;
    return dst ? zone->dst_s : zone->std_s;
}

/* ---- Together */

static int64_t time_at(const struct zone *zone, size_t i)
{
    return (int64_t)be64_get(zone->times + 8 * i);
}

static int type_offset(const struct zone *zone, size_t type)
{
    return (int32_t)be32_get(zone->types + TYPE_BYTES * type);
}

static int offset_seconds(const struct zone *zone, int64_t utc_s)
{
    struct posix_zone posix;
    size_t low = 0, high = zone->time_count; /* the first transition after the moment */
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (time_at(zone, mid) <= utc_s)
            low = mid + 1;
        else
            high = mid;
    }
    if (low == zone->time_count && parse_footer(zone->footer, &posix))
        return posix_offset(&posix, utc_s);
    return type_offset(zone, low == 0 ? 0 : zone->indices[low - 1]);
}

enum err_code tz_check(struct str name, struct err *err)
{
    int offset_min;
    struct zone zone;
    if (str_eq(name, STR("UTC")) || parse_fixed(name, &offset_min))
        return ERR_OK;
    if (!is_zone_name(name))
        return err_set(err, ERR_INVALID,
                       "a time zone is UTC, an offset like +05:30, or a name like Europe/Berlin");
    size_t len;
    char *bytes = read_file(name, &len);
    bool ok = bytes != NULL && parse_file((struct str){bytes, len}, &zone);
    free(bytes);
    if (!ok)
        return err_set(err, ERR_NOT_FOUND, "no time zone %.*s in " ZONEINFO, STR_FMT(name));
    return ERR_OK;
}

static int minutes_of(int seconds)
{
    /* Local mean times have seconds; the nearest minute is what an offset can say. */
    return seconds >= 0 ? (seconds + 30) / 60 : -((-seconds + 30) / 60);
}

int tz_offset_min(struct str name, int64_t utc_ms)
{
    int offset_min = 0;
    struct zone zone;
    if (str_eq(name, STR("UTC")) || parse_fixed(name, &offset_min) || !is_zone_name(name))
        return offset_min;
    size_t len;
    char *bytes = read_file(name, &len);
    int64_t utc_s = utc_ms / 1000 - (utc_ms % 1000 < 0);
    if (bytes != NULL && parse_file((struct str){bytes, len}, &zone))
        offset_min = minutes_of(offset_seconds(&zone, utc_s));
    free(bytes);
    return offset_min;
}
