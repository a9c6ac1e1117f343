/* Dates as index terms (DESIGN 6: relative dates are indexed in words too).
 *
 * A day, a month and a month of any year are each one term that no word can be: a question that
 * says "7 May 2023" or "in May" meets a turn that said "yesterday" on 8 May, and one that was said
 * on that day. They are postings like any other but do not count in a document's length and are
 * scored apart (core/recall/score.c), so that dates never crowd out words.
 *
 * A range of one day gives all three; a week or a month gives its months; a year gives its year. */
#ifndef HM_CORE_TEXT_DATE_TERMS_H
#define HM_CORE_TEXT_DATE_TERMS_H

#include "core/text/dates.h"
#include "core/text/token.h"

enum date_term_kind { DATE_TERM_DAY, DATE_TERM_MONTH, DATE_TERM_ANY_MONTH, DATE_TERM_YEAR };

struct date_term {
    uint64_t term;
    enum date_term_kind kind;
};

enum { DATE_TERMS_MAX = 8 };

/* The terms of one mention in `text`; returns how many (<= DATE_TERMS_MAX). One that names no year
 * ("on 5 May") and is not relative gives its months of any year only. */
size_t date_terms_of(struct str text, const struct date_mention *mention,
                     struct date_term out[DATE_TERMS_MAX]);
/* Of one local day. */
size_t date_terms_of_day(struct civil day, struct date_term out[DATE_TERMS_MAX]);

/* A text with its mentions, and the day on which it was said (NULL: not asked for). */
struct dated_text {
    struct str text;
    const struct date_mention *mentions;
    size_t n;
    const struct civil *day;
};

/* Adds to a bag the terms of the mentions and of the day, each once and without weight in the
 * length. */
enum err_code date_terms_add(struct arena *arena, const struct dated_text *dated,
                             struct term_bag *bag, struct err *err) MUST_USE;

#endif
