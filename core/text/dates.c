#include "core/text/dates.h"

#include "core/text/dates_int.h"

static const char *const month_names[12] = {"January",   "February", "March",    "April",
                                            "May",       "June",     "July",     "August",
                                            "September", "October",  "November", "December"};

/* Every pattern is asked; the longest answer wins, of equals the first. */
static date_pattern_fn *const patterns[] = {
    date__numeric,     date__month_name,   date__bare_year, date__season_year,
    date__nth,         date__day_word,     date__ago,       date__ahead,
    date__last_next,   date__before_last,  date__weekday,   date__foreign_phrase,
    date__wide_phrase, date__wide_numeric,
};

/* Roles that a pattern's first word may have. Most words have none of them, and no pattern is asked
 * there. */
static const uint64_t openers =
    UINT64_C(1) << ROLE_MONTH | UINT64_C(1) << ROLE_WEEKDAY | UINT64_C(1) << ROLE_UNIT |
    UINT64_C(1) << ROLE_SEASON | UINT64_C(1) << ROLE_COUNT | UINT64_C(1) << ROLE_NTH |
    UINT64_C(1) << ROLE_ARTICLE | UINT64_C(1) << ROLE_HALF | UINT64_C(1) << ROLE_THE |
    UINT64_C(1) << ROLE_LAST | UINT64_C(1) << ROLE_THIS | UINT64_C(1) << ROLE_NEXT |
    UINT64_C(1) << ROLE_DAY_WORD | UINT64_C(1) << ROLE_IN | UINT64_C(1) << ROLE_FOREIGN;

static bool may_open(const struct date_token *t)
{
    if (t->kind == TOKEN_WORD)
        return t->word != NULL && (openers >> t->word->role & 1) != 0;
    return t->kind != TOKEN_SIGN;
}

static size_t longest(struct date_scan *scan, struct date_mention *m)
{
    size_t most = 0;
    if (!may_open(date__at(scan, 0)))
        return 0;
    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++) {
        struct date_mention found = {0};
        size_t n = patterns[i](scan, &found);
        if (n > most) {
            most = n;
            *m = found;
        }
    }
    return most;
}

/* The next mention; false at the end of the text. */
static bool next_mention(struct date_scan *scan, struct date_mention *m)
{
    while (date__at(scan, 0)->kind != TOKEN_END) {
        size_t n = longest(scan, m);
        if (n == 0) {
            date__advance(scan, 1);
            continue;
        }
        const struct date_token *last = date__at(scan, n - 1);
        m->at = date__at(scan, 0)->at;
        m->len = last->at + last->len - m->at;
        date__advance(scan, n);
        return true;
    }
    return false;
}

/* False when the turn's time is outside the calendar: then no text has a date. */
static bool begin(struct date_scan *scan, struct str text, int64_t utc_ms, int offset_min)
{
    const int64_t far = INT64_C(400000000000000); /* year 14645, far from overflow */
    if (utc_ms < -far || utc_ms > far || offset_min < -1440 || offset_min > 1440)
        return false;
    struct civil today = civil_of_moment(utc_ms, offset_min);
    if (!civil_is_valid(today))
        return false;
    date__begin(scan, text, today);
    return true;
}

size_t dates_find(struct str text, int64_t utc_ms, int offset_min, struct date_mention *out,
                  size_t cap)
{
    struct date_scan scan;
    size_t n = 0;
    if (!begin(&scan, text, utc_ms, offset_min))
        return 0;
    while (n < cap && next_mention(&scan, &out[n]))
        n++;
    return n;
}

static bool same(struct civil a, struct civil b)
{
    return a.year == b.year && a.month == b.month && a.day == b.day;
}

static void put_day(struct buf *out, struct civil day)
{
    buf_printf(out, "%d %s %d", day.day, month_names[day.month - 1], day.year);
}

static void put_month(struct buf *out, struct civil day)
{
    buf_printf(out, "%s %d", month_names[day.month - 1], day.year);
}

static void write_days(struct buf *out, struct civil from, struct civil to)
{
    if (from.year != to.year) {
        put_day(out, from);
        buf_str_put(out, STR("–"));
    } else if (from.month != to.month) {
        buf_printf(out, "%d %s–", from.day, month_names[from.month - 1]);
    } else if (from.day != to.day) {
        buf_printf(out, "%d–", from.day);
    }
    put_day(out, to);
}

static void write_months(struct buf *out, struct civil from, struct civil to)
{
    if (from.year != to.year) {
        put_month(out, from);
        buf_str_put(out, STR("–"));
    } else if (from.month != to.month) {
        buf_printf(out, "%s–", month_names[from.month - 1]);
    }
    put_month(out, to);
}

void dates_write(struct buf *out, const struct date_mention *mention)
{
    switch (mention->grain) {
    case DATE_DAY: write_days(out, mention->from, mention->to); break;
    case DATE_WEEK:
        buf_str_put(out, STR("week of "));
        put_day(out, mention->from);
        break;
    case DATE_MONTH: write_months(out, mention->from, mention->to); break;
    case DATE_YEAR:
        if (mention->from.year != mention->to.year)
            buf_printf(out, "%d–", mention->from.year);
        buf_printf(out, "%d", mention->to.year);
        break;
    }
}

/* Whether the brackets stand behind the mention already, from a resolution before. */
static bool is_resolved(struct str text, const struct date_mention *mention)
{
    char bytes[64];
    struct buf written;
    buf_init(&written, NULL, sizeof bytes);
    buf_str_put(&written, STR(" ("));
    dates_write(&written, mention);
    buf_char(&written, ')');
    struct str rest = str_part(text, mention->at + mention->len, text.len);
    bool found = buf_ok(&written) && str_starts(rest, buf_str(&written));
    buf_fini(&written);
    return found;
}

struct str dates_resolve(struct arena *arena, struct str text, int64_t utc_ms, int offset_min)
{
    struct date_scan scan;
    struct date_mention m;
    struct buf out;
    size_t done = 0;
    if (!begin(&scan, text, utc_ms, offset_min))
        return str_copy(arena, text);
    /* The shortest mention takes two bytes and a written one at most fifty. */
    buf_init(&out, arena, text.len * 32 + 64);
    while (next_mention(&scan, &m)) {
        if (!m.relative || is_resolved(text, &m))
            continue;
        buf_str_put(&out, str_part(text, done, m.at + m.len));
        buf_str_put(&out, STR(" ("));
        dates_write(&out, &m);
        buf_char(&out, ')');
        done = m.at + m.len;
    }
    buf_str_put(&out, str_part(text, done, text.len));
    return buf_ok(&out) ? buf_str(&out) : STR_NONE;
}

static void index_days(struct buf *out, const struct date_mention *mention)
{
    struct civil day = mention->from;
    for (int n = 0; n < 7; n++) {
        char iso[CIVIL_DATE_MAX];
        if (n > 0)
            buf_char(out, ' ');
        buf_put(out, iso, civil_format(day, iso));
        buf_char(out, ' ');
        put_day(out, day);
        if (same(day, mention->to))
            break;
        day = civil_add_days(day, 1);
    }
}

static void index_months(struct buf *out, const struct date_mention *mention)
{
    struct civil month = mention->from;
    for (int n = 0; n < 12; n++) {
        if (n > 0)
            buf_char(out, ' ');
        put_month(out, month);
        if (month.year == mention->to.year && month.month == mention->to.month)
            break;
        month.day = 1;
        month = civil_add_months(month, 1);
    }
}

void dates_index_words(struct buf *out, const struct date_mention *mention)
{
    switch (mention->grain) {
    case DATE_DAY: index_days(out, mention); break;
    case DATE_WEEK:
    case DATE_MONTH: index_months(out, mention); break;
    case DATE_YEAR:
        buf_printf(out, "%d", mention->from.year);
        if (mention->to.year != mention->from.year)
            buf_printf(out, " %d", mention->to.year);
        break;
    }
}
