#include "core/model/ask_facts_int.h"
#include "core/text/dates.h"

/* What is further from its turn is a slip of the model. */
enum { YEARS_MAX = 100 };

static bool is_digits(struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        if (s.at[i] < '0' || s.at[i] > '9')
            return false;
    }
    return true;
}

static bool has_digit(struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        if (is_digits(str_part(s, i, i + 1)))
            return true;
    }
    return false;
}

/* "2023-05" and "2023", which dates_find() reads only inside a sentence. */
static bool parse_short(struct str s, struct date_mention *out)
{
    char day[] = "0000-01-01";
    bool month = s.len == 7;
    if (s.len != 4 && !month)
        return false;
    memcpy(day, s.at, s.len);
    if (!is_digits(str_part(s, 0, 4)) || !civil_parse((struct str){day, 10}, &out->from))
        return false;
    out->to = civil_add_days(civil_add_months(out->from, month ? 1 : 12), -1);
    out->grain = month ? DATE_MONTH : DATE_YEAR;
    return true;
}

static bool parse(struct str s, const struct ask_turn *turn, struct date_mention *out)
{
    *out = (struct date_mention){.grain = DATE_DAY};
    if (civil_parse(s, &out->from)) {
        out->to = out->from;
        return true;
    }
    return parse_short(s, out) || dates_find(s, turn->time_ms, turn->offset_min, out, 1) == 1;
}

static bool is_last_of(struct civil day, bool of_year)
{
    return day.day == civil_days_in_month(day.year, day.month) && (!of_year || day.month == 12);
}

/* A range that is just a week, a month or a year is meant as one. */
static enum date_grain grain_of(struct civil from, struct civil to)
{
    if (from.day == 1 && from.year == to.year && is_last_of(to, false)) {
        if (from.month == to.month)
            return DATE_MONTH;
        if (from.month == 1 && is_last_of(to, true))
            return DATE_YEAR;
    }
    bool week = civil_weekday(from) == 0 && civil_to_days(to) - civil_to_days(from) == 6;
    return week ? DATE_WEEK : DATE_DAY;
}

static bool is_near(struct civil day, const struct ask_turn *turn)
{
    int years = day.year - civil_of_moment(turn->time_ms, turn->offset_min).year;
    return years >= -YEARS_MAX && years <= YEARS_MAX;
}

static bool read_range(struct str from, struct str to, const struct ask_turn *turn,
                       struct ask_fact *fact)
{
    struct date_mention first, last;
    if (!parse(from, turn, &first))
        return false;
    if (!has_digit(to)) /* none, null, now */
        last = first;
    else if (!parse(to, turn, &last))
        return false;
    fact->from = first.from;
    fact->to = last.to;
    fact->grain = (uint8_t)grain_of(fact->from, fact->to);
    return civil_to_days(fact->from) <= civil_to_days(fact->to) && is_near(fact->from, turn) &&
           is_near(fact->to, turn);
}

void ask__fact_time(struct ask_fact *fact, struct str from, struct str to,
                    const struct ask_turn *turn)
{
    fact->has_time = read_range(from, to, turn, fact);
    if (!fact->has_time)
        fact->has_time = read_range(fact->time_text, STR(""), turn, fact);
    if (!fact->has_time) {
        fact->from = fact->to = (struct civil){0, 0, 0};
        fact->grain = DATE_DAY;
    }
}
