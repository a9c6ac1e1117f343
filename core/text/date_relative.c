/* Patterns that need the turn's day. Decisions:
 *   - "last <weekday>" is the last one before the turn's day, "next" the first after it, "this" the
 *     first from it on; "on <weekday>" is the last one, or the next when the sentence spoke of what
 *     is to come (will, going to, plan, see you, …) before it.
 *   - "last", "this" and "next" week, weekend, month and year are those of the calendar; a weekend
 *     belongs to the week before it.
 *   - "last summer" is the last one that is over, "next summer" the next that has not begun.
 *   - "the last year", "my last year", "the next month" are spans or a story's own time: no date.
 *   - "in three days" after a word of completion (finished, took, …) is a duration: no date. */
#include "core/text/dates_int.h"

static bool has_flag(const struct date_scan *scan, size_t i, unsigned flag)
{
    const struct date_token *t = date__at(scan, i);
    return t->word != NULL && (t->word->flags & flag) != 0;
}

static int value_of(const struct date_scan *scan, size_t i)
{
    return date__at(scan, i)->word->value;
}

/* Weekdays that are other words too want their capital. */
static bool is_weekday(const struct date_scan *scan, size_t i)
{
    return date__is(scan, i, ROLE_WEEKDAY) &&
           (!has_flag(scan, i, WORD_AMBIGUOUS) || date__at(scan, i)->capital);
}

static size_t skip_daytime(const struct date_scan *scan, size_t i)
{
    return date__is(scan, i, ROLE_DAYTIME) ? i + 1 : i;
}

size_t date__day_word(struct date_scan *scan, struct date_mention *m)
{
    int days;
    size_t end = 1, i = date__is(scan, 0, ROLE_THE) ? 1 : 0;
    bool night = date__is(scan, 1, ROLE_DAYTIME) && value_of(scan, 1) == 1;
    if (date__is(scan, 0, ROLE_DAY_WORD)) {
        days = value_of(scan, 0);
        end = skip_daytime(scan, 1);
    } else if (date__is(scan, 0, ROLE_LAST) && night) {
        days = -1;
        end = 2;
    } else if (date__is(scan, 0, ROLE_THIS) && date__is(scan, 1, ROLE_DAYTIME)) {
        days = 0;
        end = 2;
    } else if (date__is(scan, i, ROLE_UNIT) && value_of(scan, i) == UNIT_DAY &&
               date__is(scan, i + 2, ROLE_DAY_WORD)) {
        days = value_of(scan, i + 2);
        bool before = date__is(scan, i + 1, ROLE_BEFORE) && days == -1;
        bool after = date__is(scan, i + 1, ROLE_AFTER) && days == 1;
        if (!before && !after)
            return 0;
        days *= 2;
        end = i + 3;
    } else {
        return 0;
    }
    return date__set_unit(scan, m, UNIT_DAY, days) ? end : 0;
}

/* "three", "3", "a", "a couple of", "half a": its end, 0 when none; `*half` for the last. */
static size_t quantity(const struct date_scan *scan, size_t i, int *n, bool *half)
{
    const struct date_token *t = date__at(scan, i);
    *half = false;
    *n = 1;
    if (t->kind == TOKEN_DIGITS) {
        *n = t->value;
        bool ok = t->digits <= 4 && !t->ordinal && !t->glued;
        bool tied = i == 0 && !t->spaced && scan->before.kind == TOKEN_SIGN &&
                    scan->before.cp != '(' && scan->before.cp != '"' && scan->before.cp != '~';
        return ok && !tied ? i + 1 : 0;
    }
    if (date__is(scan, i, ROLE_HALF)) {
        *half = true;
        return date__is(scan, i + 1, ROLE_ARTICLE) ? i + 2 : 0;
    }
    bool article = date__is(scan, i, ROLE_ARTICLE);
    if (article)
        i++;
    if (date__is(scan, i, ROLE_COUNT)) {
        *n = value_of(scan, i);
        return date__is(scan, i + 1, ROLE_OF) ? i + 2 : i + 1;
    }
    return article ? i : 0;
}

static bool unit_at(const struct date_scan *scan, size_t i, enum date_unit *unit)
{
    const struct date_token *t = date__at(scan, i);
    if (t->kind == TOKEN_WORD && (strcmp(t->text, "night") == 0 || strcmp(t->text, "nights") == 0))
        *unit = UNIT_DAY;
    else if (date__is(scan, i, ROLE_UNIT))
        *unit = (enum date_unit)value_of(scan, i);
    else
        return false;
    return true;
}

/* Half a year is six months, half a month two weeks; other halves are left alone. */
static bool halve(enum date_unit *unit, int *n)
{
    if (*unit == UNIT_YEAR) {
        *unit = UNIT_MONTH;
        *n = 6;
    } else if (*unit == UNIT_MONTH) {
        *unit = UNIT_WEEK;
        *n = 2;
    } else if (*unit == UNIT_DECADE) {
        *unit = UNIT_YEAR;
        *n = 5;
    } else {
        return false;
    }
    return true;
}

/* A week, month or year that holds the day so many units away. */
static bool set_distance(const struct date_scan *scan, struct date_mention *m, enum date_unit unit,
                         int n, int way)
{
    /* Below one would turn "in 0 days" into today by another name. */
    return n >= 1 && date__set_unit(scan, m, unit, way * n);
}

/* Two weeks ago, a couple of years back, three days from now. */
size_t date__ago(struct date_scan *scan, struct date_mention *m)
{
    int n;
    bool half;
    enum date_unit unit;
    size_t i = quantity(scan, 0, &n, &half);
    if (i == 0 || !unit_at(scan, i, &unit) || (half && !halve(&unit, &n)))
        return 0;
    i++;
    if (date__is(scan, i, ROLE_AGO))
        return set_distance(scan, m, unit, n, -1) ? i + 1 : 0;
    const struct date_token *after = date__at(scan, i + 1);
    if (date__is(scan, i, ROLE_BACK) && (after->kind == TOKEN_END || after->wide))
        return set_distance(scan, m, unit, n, -1) ? i + 1 : 0;
    bool today = date__is(scan, i + 1, ROLE_DAY_WORD) && value_of(scan, i + 1) == 0;
    if (date__is(scan, i, ROLE_FROM) && (date__is(scan, i + 1, ROLE_NOW) || today))
        return set_distance(scan, m, unit, n, 1) ? i + 2 : 0;
    return 0;
}

/* In three days, in a week's time. */
size_t date__ahead(struct date_scan *scan, struct date_mention *m)
{
    int n;
    bool half;
    enum date_unit unit;
    const struct date_token *in = date__at(scan, 0);
    if (!date__is(scan, 0, ROLE_IN) || strcmp(in->text, "in") != 0 || (scan->done && !scan->future))
        return 0;
    size_t i = quantity(scan, 1, &n, &half);
    if (i == 0 || !unit_at(scan, i, &unit) || (half && !halve(&unit, &n)))
        return 0;
    if (unit == UNIT_DAY && n == 1 && date__is(scan, 1, ROLE_ARTICLE)) /* "twice in a day" */
        return 0;
    size_t end = i + 1;
    size_t time =
        date__is_sign(scan, end, '\'') || date__is_sign(scan, end, 0x2019) ? end + 1 : end;
    if (strcmp(date__at(scan, time)->text, "time") == 0)
        end = time + 1;
    return set_distance(scan, m, unit, n, 1) ? end : 0;
}

/* Last, this or next, with "this past" and "this coming"; -2 when none. */
static int direction(const struct date_scan *scan, size_t *end)
{
    bool this = date__is(scan, 0, ROLE_THIS), the = date__is(scan, 0, ROLE_THE);
    *end = 1;
    if (date__is(scan, 0, ROLE_LAST))
        return -1;
    if (date__is(scan, 0, ROLE_NEXT))
        return 1;
    size_t i = this || the ? 1 : 0;
    *end = i + 1;
    if ((this || the) && date__is(scan, i, ROLE_PAST))
        return -1;
    if ((this || the) && date__is(scan, i, ROLE_COMING))
        return 1;
    *end = 1;
    if (this && date__is(scan, 1, ROLE_LAST)) { /* this last weekend */
        *end = 2;
        return -1;
    }
    return this ? 0 : -2;
}

static bool is_span(const struct date_scan *scan)
{
    enum date_role before = date__role_before(scan);
    const struct date_token *b = &scan->before;
    bool owner = b->kind == TOKEN_WORD && b->len > 2 &&
                 memchr(scan->text.at + b->at, '\'', b->len) != NULL && b->word == NULL;
    return before == ROLE_THE || before == ROLE_MY || owner;
}

/* "the past week" is a span; "the past weekend" is a date. */
static bool is_span_word(const struct date_scan *scan, size_t i)
{
    if (!date__is(scan, 0, ROLE_THE))
        return false;
    return date__is(scan, i, ROLE_UNIT) && value_of(scan, i) != UNIT_WEEKEND;
}

static size_t last_next_weekday(const struct date_scan *scan, struct date_mention *m, size_t i,
                                int way)
{
    size_t end = skip_daytime(scan, i + 1);
    return date__set_weekday(scan, m, value_of(scan, i), way) ? end : 0;
}

static size_t last_next_month(const struct date_scan *scan, struct date_mention *m, size_t i,
                              int way)
{
    bool capital = date__at(scan, i)->capital;
    if (has_flag(scan, i, WORD_FOREIGN) || (has_flag(scan, i, WORD_SHORT) && !capital) ||
        (way == 0 && has_flag(scan, i, WORD_AMBIGUOUS) && !capital) ||
        date__at(scan, i + 1)->kind == TOKEN_DIGITS)
        return 0;
    return date__set_month_name(scan, m, value_of(scan, i), way) ? i + 1 : 0;
}

/* Next week Tuesday, last week on Friday. */
static size_t week_with_weekday(const struct date_scan *scan, struct date_mention *m, size_t i,
                                int way)
{
    size_t day = date__is(scan, i + 1, ROLE_ON) ? i + 2 : i + 1;
    if (value_of(scan, i) != UNIT_WEEK || !is_weekday(scan, day))
        return 0;
    size_t end = skip_daytime(scan, day + 1);
    return date__set_weekday_of_week(scan, m, value_of(scan, day), way) ? end : 0;
}

size_t date__last_next(struct date_scan *scan, struct date_mention *m)
{
    size_t i;
    int way = direction(scan, &i);
    if (way == -2 || is_span(scan) || is_span_word(scan, i))
        return 0;
    if (is_weekday(scan, i))
        return last_next_weekday(scan, m, i, way);
    if (date__is(scan, i, ROLE_MONTH))
        return last_next_month(scan, m, i, way);
    if (date__is(scan, i, ROLE_SEASON)) {
        if (date__at(scan, i + 1)->kind == TOKEN_DIGITS)
            return 0;
        return date__set_season(scan, m, value_of(scan, i), way) ? i + 1 : 0;
    }
    if (!date__is(scan, i, ROLE_UNIT) || value_of(scan, i) == UNIT_DAY ||
        value_of(scan, i) == UNIT_DECADE)
        return 0;
    const struct date_token *unit = date__at(scan, i);
    bool plural = unit->text[strlen(unit->text) - 1] == 's'; /* "last weeks of term" */
    size_t day = plural ? 0 : week_with_weekday(scan, m, i, way);
    if (day != 0 || plural)
        return day;
    return date__set_unit(scan, m, (enum date_unit)value_of(scan, i), way) ? i + 1 : 0;
}

/* The week before last, the weekend after next. */
size_t date__before_last(struct date_scan *scan, struct date_mention *m)
{
    size_t i = date__is(scan, 0, ROLE_THE) ? 1 : 0;
    enum date_unit unit;
    bool before = date__is(scan, i + 1, ROLE_BEFORE) && date__is(scan, i + 2, ROLE_LAST);
    bool after = date__is(scan, i + 1, ROLE_AFTER) && date__is(scan, i + 2, ROLE_NEXT);
    if (i == 0 || (!before && !after))
        return 0;
    if (is_weekday(scan, i)) {
        if (!date__set_weekday(scan, m, value_of(scan, i), before ? -1 : 1))
            return 0;
        struct civil day = civil_add_days(m->from, before ? -7 : 7);
        bool ok = date__set_day(m, day);
        m->relative = true;
        return ok ? i + 3 : 0;
    }
    if (!unit_at(scan, i, &unit))
        return 0;
    return date__set_unit(scan, m, unit, before ? -2 : 2) ? i + 3 : 0;
}

/* On Friday, since Monday, by Sunday, Tuesday of last week. */
size_t date__weekday(struct date_scan *scan, struct date_mention *m)
{
    if (!is_weekday(scan, 0))
        return 0;
    size_t i = date__is(scan, 1, ROLE_OF) ? 2 : 1;
    bool week = date__is(scan, i + 1, ROLE_UNIT) && value_of(scan, i + 1) == UNIT_WEEK;
    int way = date__is(scan, i, ROLE_LAST) ? -1 : date__is(scan, i, ROLE_NEXT) ? 1 : 0;
    if (week && (way != 0 || date__is(scan, i, ROLE_THIS)))
        return date__set_weekday_of_week(scan, m, value_of(scan, 0), way) ? i + 2 : 0;
    switch (date__role_before(scan)) {
    case ROLE_ON: way = scan->future ? 1 : -1; break;
    case ROLE_SINCE:
    case ROLE_AFTER: way = -1; break;
    case ROLE_UNTIL: way = 1; break;
    default: return 0;
    }
    size_t end = skip_daytime(scan, 1);
    return date__set_weekday(scan, m, value_of(scan, 0), way) ? end : 0;
}
