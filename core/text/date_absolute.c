/* Patterns that name a date. Where an ordinary word could be meant ("may", "march", a count of
 * 2000 things), the pattern wants a capital, an ordinal, a year or a word before it that settles
 * it; otherwise it lets the text be. */
#include "core/text/dates_int.h"

static bool is_end(const struct date_scan *scan, size_t i)
{
    return date__at(scan, i)->kind == TOKEN_END;
}

/* A sign that touches the token before it and digits behind it: 5:30, 5.5, 5,000. */
static bool goes_on_as_number(const struct date_scan *scan, size_t i)
{
    const struct date_token *sign = date__at(scan, i), *next = date__at(scan, i + 1);
    if (sign->kind != TOKEN_SIGN || sign->spaced)
        return false;
    bool joins = sign->cp == '.' || sign->cp == ':' || sign->cp == ',' || sign->cp == '/' ||
                 sign->cp == '-' || sign->cp == '%';
    return joins && (sign->cp == '%' || (next->kind == TOKEN_DIGITS && !next->spaced));
}

static bool is_year(const struct date_scan *scan, size_t i, int low, int high)
{
    const struct date_token *t = date__at(scan, i);
    return t->kind == TOKEN_DIGITS && t->digits == 4 && t->value >= low && t->value <= high &&
           !t->ordinal && !t->glued && !goes_on_as_number(scan, i + 1);
}

/* A day of the month in digits; a range's hyphen may follow. */
static bool is_day(const struct date_scan *scan, size_t i)
{
    const struct date_token *t = date__at(scan, i);
    if (t->kind != TOKEN_DIGITS || t->digits > 2 || t->value < 1 || t->value > 31 || t->glued)
        return false;
    return !goes_on_as_number(scan, i + 1) || date__is_sign(scan, i + 1, '-') ||
           date__is_sign(scan, i + 1, ',');
}

static int value(const struct date_scan *scan, size_t i)
{
    return date__at(scan, i)->value;
}

static bool has_flag(const struct date_scan *scan, size_t i, unsigned flag)
{
    const struct date_token *t = date__at(scan, i);
    return t->word != NULL && (t->word->flags & flag) != 0;
}

static bool is_dash(const struct date_scan *scan, size_t i)
{
    return date__is_sign(scan, i, '-') || date__is_sign(scan, i, 0x2013);
}

/* Signs that tie digits to what is before them: v1.2.3, #5, 10/5/…; a bracket or quote does not. */
static bool is_tied(const struct date_scan *scan)
{
    const struct date_token *t = date__at(scan, 0), *sign = &scan->before;
    if (t->spaced || sign->kind == TOKEN_END)
        return false;
    if (sign->kind != TOKEN_SIGN)
        return true;
    if (sign->cp == '$' || sign->cp == '#' || sign->cp == '_' || sign->cp == '/' || sign->cp == '@')
        return true;
    bool joins = sign->cp == '.' || sign->cp == '-' || sign->cp == ':' || sign->cp == ',';
    return joins && !sign->spaced && scan->before_that.kind != TOKEN_END &&
           scan->before_that.kind != TOKEN_SIGN;
}

/* ---- 2023-05-07, 05/07/2023, 7.5.2023 */

/* Three numbers with the same sign between them, no blanks. */
static bool is_triple(const struct date_scan *scan)
{
    const struct date_token *a = date__at(scan, 0), *first = date__at(scan, 1),
                            *b = date__at(scan, 2), *second = date__at(scan, 3),
                            *c = date__at(scan, 4);
    if (a->kind != TOKEN_DIGITS || b->kind != TOKEN_DIGITS || c->kind != TOKEN_DIGITS ||
        first->kind != TOKEN_SIGN || second->kind != TOKEN_SIGN || first->cp != second->cp)
        return false;
    if (first->spaced || second->spaced || b->spaced || c->spaced || a->glued || b->glued ||
        a->ordinal || b->ordinal || c->ordinal || is_tied(scan))
        return false;
    return first->cp == '-' || first->cp == '/' || first->cp == '.';
}

/* Whether the text goes on so that the three numbers are part of something longer. */
static bool is_cut_short(const struct date_scan *scan)
{
    const struct date_token *c = date__at(scan, 4), *sign = date__at(scan, 5),
                            *next = date__at(scan, 6);
    if (c->glued) { /* 2023-05-07T10:00 */
        struct str rest = str_part(scan->text, c->at + c->len, scan->text.len);
        return rest.len < 2 || (rest.at[0] | 0x20) != 't' || rest.at[1] < '0' || rest.at[1] > '9';
    }
    if (sign->kind != TOKEN_SIGN || sign->spaced || next->spaced || next->kind == TOKEN_END)
        return false;
    bool joins = sign->cp == '-' || sign->cp == '/' || sign->cp == '.' || sign->cp == '_';
    return joins && (next->kind == TOKEN_DIGITS || next->kind == TOKEN_WORD) &&
           !(sign->cp == '.' && next->capital);
}

/* A year of two digits lies between 80 years before the turn and 20 after. */
static int full_year(const struct date_scan *scan, int year)
{
    int full = scan->today.year / 100 * 100 + year;
    if (full > scan->today.year + 20)
        full -= 100;
    return full;
}

size_t date__numeric(struct date_scan *scan, struct date_mention *m)
{
    if (!is_triple(scan) || is_cut_short(scan))
        return 0;
    const struct date_token *a = date__at(scan, 0), *b = date__at(scan, 2), *c = date__at(scan, 4);
    uint32_t sign = date__at(scan, 1)->cp;
    if (a->digits == 4 && b->digits <= 2 && c->digits <= 2)
        return date__set_day(m, (struct civil){a->value, b->value, c->value}) ? 5 : 0;
    bool short_year = c->digits == 2 && sign == '/';
    if (a->digits > 2 || b->digits > 2 || !(c->digits == 4 || short_year))
        return 0;
    int year = short_year ? full_year(scan, c->value) : c->value;
    bool european = a->value > 12 || sign == '.';
    struct civil date = {year, european ? b->value : a->value, european ? a->value : b->value};
    return date__set_day(m, date) ? 5 : 0;
}

/* ---- 7 May 2023, May 7, May 2023 */

/* Behind a comma, "of" or "de" at `i` when a year follows, with the year; else `i`. */
static size_t skip_year(const struct date_scan *scan, size_t i, int low, int high, int *year)
{
    size_t at = i;
    const struct date_token *t = date__at(scan, i);
    if ((t->kind == TOKEN_SIGN && t->cp == ',' && !t->spaced) || date__is(scan, i, ROLE_OF))
        at++;
    if (!is_year(scan, at, low, high))
        return i;
    *year = value(scan, at);
    return at + 1;
}

/* Whether "may" or "march" at `i` is the month. */
static bool is_month(const struct date_scan *scan, size_t i, bool settled)
{
    if (!date__is(scan, i, ROLE_MONTH))
        return false;
    if (!has_flag(scan, i, WORD_AMBIGUOUS) || date__at(scan, i)->capital)
        return true;
    enum date_role before = i == 0 ? date__role_before(scan) : ROLE_NONE;
    if (before == ROLE_PRONOUN)
        return false;
    return settled || before == ROLE_ON || before == ROLE_UNTIL || before == ROLE_SINCE ||
           before == ROLE_DURING || before == ROLE_FROM || before == ROLE_IN || before == ROLE_OF;
}

static bool set_full(const struct date_scan *scan, struct date_mention *m, int year, int month,
                     int first, int last)
{
    if (first > last)
        return false;
    if (year == 0)
        return date__set_yearless(scan, m, month, first, last);
    struct civil from = {year, month, first}, to = {year, month, last};
    return civil_is_valid(from) && civil_is_valid(to) && date__set(m, from, to, DATE_DAY);
}

static int month_at(const struct date_scan *scan, size_t i)
{
    return date__at(scan, i)->word->value;
}

/* Behind the point of an abbreviated month, else `i`. */
static size_t skip_point(const struct date_scan *scan, size_t i)
{
    const struct date_token *t = date__at(scan, i);
    bool point = t->kind == TOKEN_SIGN && t->cp == '.' && !t->spaced;
    return point && has_flag(scan, i - 1, WORD_SHORT) ? i + 1 : i;
}

/* Behind a range's dash and last day at `i`, else `i`. */
static size_t skip_last_day(const struct date_scan *scan, size_t i, int *last)
{
    if (!is_dash(scan, i) || !is_day(scan, i + 1))
        return i;
    *last = value(scan, i + 1);
    return i + 2;
}

/* 7 May, 7th of May 2023, 6–7 May, 7. Mai, 7 de mayo de 2023, the fifth of May. */
static size_t day_first(const struct date_scan *scan, size_t i, struct date_mention *m)
{
    int first, last, year = 0;
    bool word = date__is(scan, i, ROLE_NTH);
    if (!word && (!is_day(scan, i) || (i == 0 && is_tied(scan))))
        return 0;
    first = last = word ? date__at(scan, i)->word->value : value(scan, i);
    bool ordinal = word || date__at(scan, i)->ordinal;
    size_t at = skip_last_day(scan, i + 1, &last);
    bool point = date__is_sign(scan, at, '.') && !date__at(scan, at)->spaced;
    if (point || date__is_sign(scan, at, 0xba)) /* 7. Mai, 1º de mayo */
        at++;
    bool of = date__is(scan, at, ROLE_OF);
    if (of)
        at++;
    if ((word && !of) || date__at(scan, at)->kind != TOKEN_WORD || !date__at(scan, at)->spaced)
        return 0;
    size_t month = at;
    size_t end = skip_year(scan, skip_point(scan, at + 1), 1000, 2999, &year);
    if (!is_month(scan, month, ordinal || year != 0))
        return 0;
    if (point && !has_flag(scan, month, WORD_FOREIGN) && !date__at(scan, month)->capital)
        return 0;
    return set_full(scan, m, year, month_at(scan, month), first, last) ? end : 0;
}

/* May 7, May 7th, 2023, May 6–7. */
static size_t month_first(const struct date_scan *scan, size_t i, struct date_mention *m)
{
    int year = 0;
    if (!date__is(scan, i, ROLE_MONTH) || has_flag(scan, i, WORD_FOREIGN))
        return 0;
    size_t at = skip_point(scan, i + 1);
    if (date__is(scan, at, ROLE_THE))
        at++;
    bool word = date__is(scan, at, ROLE_NTH);
    if ((!word && !is_day(scan, at)) || !date__at(scan, at)->spaced)
        return 0;
    bool ordinal = !word && date__at(scan, at)->ordinal;
    int first = word ? date__at(scan, at)->word->value : value(scan, at), last = first;
    size_t end = skip_year(scan, skip_last_day(scan, at + 1, &last), 1000, 2999, &year);
    if (!is_month(scan, i, ordinal || year != 0))
        return 0;
    if (goes_on_as_number(scan, at + 1) && end == at + 1)
        return 0; /* May 5-2, May 5,000 */
    return set_full(scan, m, year, month_at(scan, i), first, last) ? end : 0;
}

static bool takes_bare_month(enum date_role before)
{
    return before == ROLE_IN || before == ROLE_UNTIL || before == ROLE_SINCE ||
           before == ROLE_DURING || before == ROLE_OF || before == ROLE_FROM;
}

/* May 2023, in May. */
static size_t month_alone(const struct date_scan *scan, struct date_mention *m)
{
    int year = 0;
    if (!date__is(scan, 0, ROLE_MONTH))
        return 0;
    size_t end = skip_year(scan, skip_point(scan, 1), 1800, 2199, &year);
    if (year != 0) {
        if (!is_month(scan, 0, true))
            return 0;
        struct civil from = {year, month_at(scan, 0), 1}, to = from;
        to.day = civil_days_in_month(from.year, from.month);
        return date__set(m, from, to, DATE_MONTH) ? end : 0;
    }
    enum date_role before = date__role_before(scan);
    bool short_name = has_flag(scan, 0, WORD_SHORT);
    if (!takes_bare_month(before) || !is_month(scan, 0, false) || has_flag(scan, 0, WORD_FOREIGN) ||
        ((short_name || before == ROLE_OF) && !date__at(scan, 0)->capital))
        return 0;
    if (date__at(scan, 1)->kind == TOKEN_DIGITS)
        return 0;
    return date__set_yearless(scan, m, month_at(scan, 0), 0, 0) ? 1 : 0;
}

size_t date__month_name(struct date_scan *scan, struct date_mention *m)
{
    size_t i = 0;
    if (date__is(scan, 0, ROLE_WEEKDAY)) { /* Sunday, May 7 */
        i = date__is_sign(scan, 1, ',') || date__is_sign(scan, 1, '.') ? 2 : 1;
    }
    if (date__is(scan, i, ROLE_THE))
        i++;
    size_t n = day_first(scan, i, m);
    if (n == 0)
        n = month_first(scan, i, m);
    return n != 0 || i != 0 ? n : month_alone(scan, m);
}

/* ---- in 2022, summer of 2022 */

size_t date__bare_year(struct date_scan *scan, struct date_mention *m)
{
    enum date_role before = date__role_before(scan);
    if (!is_year(scan, 0, 1800, 2199) || is_tied(scan))
        return 0;
    if (before != ROLE_IN && before != ROLE_UNTIL && before != ROLE_SINCE &&
        before != ROLE_DURING && before != ROLE_FROM && before != ROLE_BEFORE &&
        before != ROLE_AFTER)
        return 0;
    if (date__is(scan, 1, ROLE_NOUN) || date__is(scan, 1, ROLE_UNIT) || is_dash(scan, 1))
        return 0;
    int year = value(scan, 0);
    return date__set(m, (struct civil){year, 1, 1}, (struct civil){year, 12, 31}, DATE_YEAR);
}

size_t date__season_year(struct date_scan *scan, struct date_mention *m)
{
    int year = 0;
    if (!date__is(scan, 0, ROLE_SEASON))
        return 0;
    size_t end = skip_year(scan, 1, 1800, 2199, &year);
    if (year == 0 || date__is(scan, end, ROLE_NOUN))
        return 0;
    return date__set_season_of(m, date__at(scan, 0)->word->value, year) ? end : 0;
}

/* ---- on the 5th */

/* "on the 5th floor" is no date, "on the 5th we left" is one: a noun must not follow. */
static bool may_follow_nth(const struct date_scan *scan, size_t i)
{
    const struct date_token *t = date__at(scan, i);
    if (is_end(scan, i) || t->kind == TOKEN_SIGN)
        return !date__is_sign(scan, i, '-');
    if (t->kind != TOKEN_WORD || t->word == NULL)
        return false;
    switch ((enum date_role)t->word->role) {
    case ROLE_PLAIN:
    case ROLE_PRONOUN:
    case ROLE_MY:
    case ROLE_THE:
    case ROLE_IN:
    case ROLE_ON:
    case ROLE_FROM:
    case ROLE_BEFORE:
    case ROLE_AFTER:
    case ROLE_FUTURE:
    case ROLE_DID: return true;
    default: return false;
    }
}

size_t date__nth(struct date_scan *scan, struct date_mention *m)
{
    enum date_role before = date__role_before(scan);
    const struct date_token *t = date__at(scan, 1);
    if (!date__is(scan, 0, ROLE_THE) || !is_day(scan, 1) || !t->ordinal ||
        !may_follow_nth(scan, 2) ||
        (before != ROLE_ON && before != ROLE_UNTIL && before != ROLE_SINCE))
        return 0;
    bool ahead = before == ROLE_UNTIL || (before == ROLE_ON && scan->future);
    return date__set_nth(scan, m, t->value, ahead) ? 2 : 0;
}
