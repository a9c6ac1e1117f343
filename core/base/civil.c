#include "core/base/civil.h"

#include <stdio.h>

static bool is_leap(int year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

int civil_days_in_month(int year, int month)
{
    static const int days[12] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    ASSERT(month >= 1 && month <= 12);
    return month == 2 && is_leap(year) ? 29 : days[month - 1];
}

bool civil_is_valid(struct civil date)
{
    return date.year >= 1 && date.year <= 9999 && date.month >= 1 && date.month <= 12 &&
           date.day >= 1 && date.day <= civil_days_in_month(date.year, date.month);
}

/* The year is counted from March, so that the leap day is its last; 400 years are an era. */
int64_t civil_to_days(struct civil date)
{
    int64_t y = date.month <= 2 ? (int64_t)date.year - 1 : date.year;
    int64_t era = (y >= 0 ? y : y - 399) / 400;
    int64_t year_of_era = y - era * 400;
    int64_t month = date.month > 2 ? date.month - 3 : date.month + 9;
    int64_t day_of_year = (153 * month + 2) / 5 + date.day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * 146097 + day_of_era - 719468;
}

struct civil civil_from_days(int64_t days)
{
    int64_t z = days + 719468;
    int64_t era = (z >= 0 ? z : z - 146096) / 146097;
    int64_t day_of_era = z - era * 146097;
    int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t month = (5 * day_of_year + 2) / 153;
    struct civil date;
    date.day = (int)(day_of_year - (153 * month + 2) / 5 + 1);
    date.month = (int)(month < 10 ? month + 3 : month - 9);
    date.year = (int)(year_of_era + era * 400 + (date.month <= 2));
    return date;
}

int civil_weekday(struct civil date)
{
    int64_t days = civil_to_days(date) + 3; /* 1970-01-01 was a Thursday */
    int64_t rest = days % 7;
    return (int)(rest < 0 ? rest + 7 : rest);
}

struct civil civil_add_days(struct civil date, int64_t days)
{
    return civil_from_days(civil_to_days(date) + days);
}

struct civil civil_add_months(struct civil date, int months)
{
    int64_t count = (int64_t)date.year * 12 + date.month - 1 + months;
    struct civil out = {(int)(count / 12), (int)(count % 12) + 1, date.day};
    if (count < 12) {
        out = (struct civil){1, 1, 1};
        return out;
    }
    int last = civil_days_in_month(out.year, out.month);
    if (out.day > last)
        out.day = last;
    return out;
}

static int64_t floor_div(int64_t a, int64_t b)
{
    int64_t q = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

struct civil civil_of_moment(int64_t utc_ms, int offset_min)
{
    return civil_from_days(floor_div(utc_ms + (int64_t)offset_min * 60000, MS_PER_DAY));
}

static bool digits(const char *at, int n, int *out)
{
    int value = 0;
    for (int i = 0; i < n; i++) {
        if (at[i] < '0' || at[i] > '9')
            return false;
        value = value * 10 + (at[i] - '0');
    }
    *out = value;
    return true;
}

bool civil_parse(struct str text, struct civil *date)
{
    return text.len == 10 && text.at[4] == '-' && text.at[7] == '-' &&
           digits(text.at, 4, &date->year) && digits(text.at + 5, 2, &date->month) &&
           digits(text.at + 8, 2, &date->day) && civil_is_valid(*date);
}

static bool parse_zone(struct str zone, int *offset_min)
{
    int hours, minutes;
    if (zone.len == 1 && (zone.at[0] == 'Z' || zone.at[0] == 'z')) {
        *offset_min = 0;
        return true;
    }
    if (zone.len != 6 || (zone.at[0] != '+' && zone.at[0] != '-') || zone.at[3] != ':' ||
        !digits(zone.at + 1, 2, &hours) || !digits(zone.at + 4, 2, &minutes) || hours > 23 ||
        minutes > 59)
        return false;
    *offset_min = (hours * 60 + minutes) * (zone.at[0] == '-' ? -1 : 1);
    return true;
}

/* Reads ".123456" to milliseconds and returns how many bytes it took; 0 when there is none. */
static size_t parse_fraction(struct str rest, int *ms)
{
    static const int scale[3] = {100, 10, 1};
    size_t i = 1;
    *ms = 0;
    if (rest.len < 2 || rest.at[0] != '.')
        return 0;
    while (i < rest.len && rest.at[i] >= '0' && rest.at[i] <= '9') {
        if (i <= 3)
            *ms += (rest.at[i] - '0') * scale[i - 1];
        i++;
    }
    return i == 1 ? 0 : i;
}

bool rfc3339_parse(struct str text, int64_t *utc_ms, int *offset_min)
{
    struct civil date;
    int hour, minute, second, ms;
    if (text.len < 20 || text.len > 64 || !civil_parse(str_part(text, 0, 10), &date))
        return false;
    const char *t = text.at;
    if ((t[10] != 'T' && t[10] != 't' && t[10] != ' ') || t[13] != ':' || t[16] != ':' ||
        !digits(t + 11, 2, &hour) || !digits(t + 14, 2, &minute) || !digits(t + 17, 2, &second))
        return false;
    if (hour > 23 || minute > 59 || second > 60)
        return false;
    struct str rest = str_part(text, 19, text.len);
    size_t fraction = parse_fraction(rest, &ms);
    if (!parse_zone(str_part(rest, fraction, rest.len), offset_min))
        return false;
    if (second == 60)
        second = 59;
    int64_t local = civil_to_days(date) * MS_PER_DAY +
                    (((int64_t)hour * 60 + minute) * 60 + second) * 1000 + ms;
    *utc_ms = local - (int64_t)*offset_min * 60000;
    /* Near the ends an offset leads out of the years that rfc3339_format() can write. */
    int year = civil_of_moment(*utc_ms, 0).year;
    return year >= 1 && year <= 9999;
}

size_t rfc3339_format(int64_t utc_ms, char out[RFC3339_MAX])
{
    struct civil d = civil_of_moment(utc_ms, 0);
    int64_t in_day = utc_ms - floor_div(utc_ms, MS_PER_DAY) * MS_PER_DAY;
    unsigned s = (unsigned)(in_day / 1000), ms = (unsigned)(in_day % 1000);
    char fraction[8] = "";
    if (ms != 0)
        (void)snprintf(fraction, sizeof fraction, ".%03u", ms % 1000u);
    int n = snprintf(out, RFC3339_MAX, "%04u-%02u-%02uT%02u:%02u:%02u%sZ",
                     (unsigned)d.year % 10000u, (unsigned)d.month % 100u, (unsigned)d.day % 100u,
                     s / 3600u % 24u, s / 60u % 60u, s % 60u, fraction);
    return n < 0 ? 0 : (size_t)n;
}

size_t civil_format(struct civil date, char out[CIVIL_DATE_MAX])
{
    int n = snprintf(out, CIVIL_DATE_MAX, "%04u-%02u-%02u", (unsigned)date.year % 10000u,
                     (unsigned)date.month % 100u, (unsigned)date.day % 100u);
    return n < 0 ? 0 : (size_t)n;
}
