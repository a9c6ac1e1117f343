#include "core/text/dates_int.h"

enum { CENTURY_DAYS = 36525 };

static bool in_years(struct civil date)
{
    return date.year >= 1 && date.year <= 9999;
}

bool date__set(struct date_mention *m, struct civil from, struct civil to, enum date_grain grain)
{
    m->from = from;
    m->to = to;
    m->grain = grain;
    m->relative = false;
    return in_years(from) && in_years(to);
}

bool date__set_day(struct date_mention *m, struct civil day)
{
    return civil_is_valid(day) && date__set(m, day, day, DATE_DAY);
}

/* Relative ranges stay within a hundred years of the turn. */
static bool set_relative(const struct date_scan *scan, struct date_mention *m, struct civil from,
                         struct civil to, enum date_grain grain)
{
    bool ok = date__set(m, from, to, grain);
    int64_t today = civil_to_days(scan->today);
    m->relative = true;
    return ok && civil_to_days(from) >= today - CENTURY_DAYS &&
           civil_to_days(to) <= today + CENTURY_DAYS;
}

static struct civil monday_of(struct civil day)
{
    return civil_add_days(day, -civil_weekday(day));
}

static struct civil month_end(struct civil day)
{
    return (struct civil){day.year, day.month, civil_days_in_month(day.year, day.month)};
}

static struct civil month_start(int year, int month)
{
    return (struct civil){year, month, 1};
}

/* The first of the month n months from the turn's; year 0 when that is before year 1. */
static struct civil month_from(struct civil today, int n)
{
    int64_t count = (int64_t)today.year * 12 + today.month - 1 + n;
    if (count < 12)
        return (struct civil){0, 1, 1};
    return month_start((int)(count / 12), (int)(count % 12) + 1);
}

/* Saturday and Sunday; this week's is n = 0. */
static bool set_weekend(const struct date_scan *scan, struct date_mention *m, int n)
{
    int weekday = civil_weekday(scan->today);
    /* On a Saturday or Sunday "last weekend" is the one before, as the week's arithmetic has it. */
    struct civil saturday = civil_add_days(scan->today, 5 - weekday + 7 * (int64_t)n);
    return set_relative(scan, m, saturday, civil_add_days(saturday, 1), DATE_DAY);
}

static bool set_week(const struct date_scan *scan, struct date_mention *m, int n)
{
    struct civil monday = civil_add_days(monday_of(scan->today), 7 * (int64_t)n);
    return set_relative(scan, m, monday, civil_add_days(monday, 6), DATE_WEEK);
}

static bool set_years(const struct date_scan *scan, struct date_mention *m, int n, int length)
{
    int year = scan->today.year + n;
    return set_relative(scan, m, (struct civil){year, 1, 1},
                        (struct civil){year + length - 1, 12, 31}, DATE_YEAR);
}

bool date__set_unit(const struct date_scan *scan, struct date_mention *m, enum date_unit unit,
                    int n)
{
    if (n < -CENTURY_DAYS || n > CENTURY_DAYS)
        return false;
    struct civil day = scan->today;
    switch (unit) {
    case UNIT_DAY: day = civil_add_days(day, n); return set_relative(scan, m, day, day, DATE_DAY);
    case UNIT_WEEK: return set_week(scan, m, n);
    case UNIT_FORTNIGHT: return set_week(scan, m, 2 * n);
    case UNIT_WEEKEND: return set_weekend(scan, m, n);
    case UNIT_MONTH:
        day = month_from(day, n);
        return set_relative(scan, m, day, month_end(day), DATE_MONTH);
    case UNIT_YEAR: return set_years(scan, m, n, 1);
    case UNIT_DECADE: return set_years(scan, m, 10 * n, 1);
    }
    return false;
}

bool date__set_weekday(const struct date_scan *scan, struct date_mention *m, int weekday, int way)
{
    int ahead = (weekday - civil_weekday(scan->today) + 7) % 7;
    if (way < 0)
        ahead -= 7;
    else if (way > 0 && ahead == 0)
        ahead = 7;
    struct civil day = civil_add_days(scan->today, ahead);
    return set_relative(scan, m, day, day, DATE_DAY);
}

bool date__set_weekday_of_week(const struct date_scan *scan, struct date_mention *m, int weekday,
                               int weeks)
{
    struct civil day = civil_add_days(monday_of(scan->today), weekday + 7 * weeks);
    return set_relative(scan, m, day, day, DATE_DAY);
}

bool date__set_month_name(const struct date_scan *scan, struct date_mention *m, int month, int way)
{
    int year = scan->today.year;
    if (way < 0 && month >= scan->today.month)
        year--;
    else if (way > 0 && month <= scan->today.month)
        year++;
    struct civil first = month_start(year, month);
    return set_relative(scan, m, first, month_end(first), DATE_MONTH);
}

bool date__set_season_of(struct date_mention *m, int first_month, int year)
{
    struct civil from = month_start(year, first_month);
    struct civil to = month_end(month_from(from, 2));
    return date__set(m, from, to, DATE_MONTH);
}

/* Winter begins in December, so in January it is the year before's. */
bool date__set_season(const struct date_scan *scan, struct date_mention *m, int first_month,
                      int way)
{
    int year = scan->today.year + (way > 0 ? 1 : 0);
    if (way == 0 && first_month == 12 && scan->today.month <= 2)
        year--;
    for (int tries = 0; tries < 3; tries++, year--) {
        if (!date__set_season_of(m, first_month, year))
            return false;
        int64_t today = civil_to_days(scan->today);
        if (way == 0 || (way < 0 && civil_to_days(m->to) < today))
            break;
        if (way > 0) { /* the year before's may be ahead too */
            struct date_mention earlier = *m;
            if (!date__set_season_of(&earlier, first_month, year - 1) ||
                civil_to_days(earlier.from) <= today)
                break;
        }
    }
    return set_relative(scan, m, m->from, m->to, DATE_MONTH);
}

bool date__set_yearless(const struct date_scan *scan, struct date_mention *m, int month, int day,
                        int last_day)
{
    int64_t latest = civil_to_days(civil_add_months(scan->today, 6));
    /* Eight years back there is a 29 February, whatever the century. */
    for (int year = scan->today.year + 1; year > scan->today.year - 9; year--) {
        struct civil from = {year, month, day == 0 ? 1 : day}, to = from;
        to.day = day == 0 ? 1 : last_day;
        if (!civil_is_valid(from) || !civil_is_valid(to) || civil_to_days(from) > latest)
            continue;
        if (day == 0)
            return date__set(m, from, month_end(from), DATE_MONTH);
        return date__set(m, from, to, DATE_DAY);
    }
    return false;
}

bool date__set_nth(const struct date_scan *scan, struct date_mention *m, int day, bool ahead)
{
    int64_t today = civil_to_days(scan->today);
    for (int n = 0; n < 4; n++) {
        struct civil date = month_from(scan->today, ahead ? n : -n);
        date.day = day;
        if (!civil_is_valid(date))
            continue;
        int64_t days = civil_to_days(date);
        if (ahead ? days >= today : days <= today)
            return set_relative(scan, m, date, date, DATE_DAY);
    }
    return false;
}
