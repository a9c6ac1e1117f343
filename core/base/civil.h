/* Calendar arithmetic (proleptic Gregorian) and RFC 3339, total functions without errors: a bad
 * date is `false`, never a crash. Supported years: 1 to 9999.
 *
 * A moment is UTC milliseconds since 1970 plus the offset in minutes that it came with; the local
 * civil date of a moment is that of (ms + offset). */
#ifndef HM_CORE_BASE_CIVIL_H
#define HM_CORE_BASE_CIVIL_H

#include "core/base/str.h"

#define MS_PER_DAY INT64_C(86400000)

struct civil {
    int year;  /* 1..9999 */
    int month; /* 1..12 */
    int day;   /* 1..31, within the month */
};

/* Days since 1970-01-01, negative before. */
int64_t civil_to_days(struct civil date);
struct civil civil_from_days(int64_t days);
bool civil_is_valid(struct civil date);
int civil_days_in_month(int year, int month);
/* 0 = Monday … 6 = Sunday. */
int civil_weekday(struct civil date);
struct civil civil_add_days(struct civil date, int64_t days);
/* Day is cut to the target month's length. */
struct civil civil_add_months(struct civil date, int months);
/* The local date of a moment. */
struct civil civil_of_moment(int64_t utc_ms, int offset_min);

/* RFC 3339 date-time: "T", "t" or a space between date and time, fraction of any length (cut to
 * ms), "Z", "z" or ±hh:mm. Leap second 60 reads as 59. False when anything else. */
bool rfc3339_parse(struct str text, int64_t *utc_ms, int *offset_min);

enum { RFC3339_MAX = 32, CIVIL_DATE_MAX = 16 };
/* "2023-05-08T13:56:00Z", with ".123" only when the milliseconds are not 0. Returns length. */
size_t rfc3339_format(int64_t utc_ms, char out[RFC3339_MAX]);
/* "2023-05-08". "YYYY-MM-DD" is read back by civil_parse. */
size_t civil_format(struct civil date, char out[CIVIL_DATE_MAX]);
bool civil_parse(struct str text, struct civil *date);

#endif
