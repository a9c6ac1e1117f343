#include "core/text/date_terms.h"

#include <stdio.h>

#include "core/base/hash.h"

/* The first byte is one that no token starts with. */
static struct date_term make(enum date_term_kind kind, int year, int month, int day)
{
    char text[40];
    int n = snprintf(text, sizeof text, "\x01%c%04d-%02d-%02d", "dmny"[kind], year, month, day);
    struct str name = {text, n < 0 ? 0 : (size_t)n};
    return (struct date_term){hash64(name) & TERM_MASK, kind};
}

static size_t months_of(struct civil from, struct civil to, bool year_known, struct date_term *out)
{
    size_t n = 0;
    int last = to.year * 12 + to.month;
    for (int at = from.year * 12 + from.month; at <= last && n + 2 <= DATE_TERMS_MAX; at++) {
        int year = (at - 1) / 12, month = (at - 1) % 12 + 1;
        if (year_known)
            out[n++] = make(DATE_TERM_MONTH, year, month, 0);
        out[n++] = make(DATE_TERM_ANY_MONTH, 0, month, 0);
    }
    return n;
}

size_t date_terms_of_day(struct civil day, struct date_term out[DATE_TERMS_MAX])
{
    out[0] = make(DATE_TERM_DAY, day.year, day.month, day.day);
    out[1] = make(DATE_TERM_MONTH, day.year, day.month, 0);
    out[2] = make(DATE_TERM_ANY_MONTH, 0, day.month, 0);
    out[3] = make(DATE_TERM_YEAR, day.year, 0, 0);
    return 4;
}

size_t date_terms_of(const struct date_mention *mention, bool year_known,
                     struct date_term out[DATE_TERMS_MAX])
{
    if (mention->grain == DATE_YEAR) {
        out[0] = make(DATE_TERM_YEAR, mention->from.year, 0, 0);
        return 1;
    }
    if (mention->grain == DATE_DAY && year_known)
        return date_terms_of_day(mention->from, out);
    return months_of(mention->from, mention->to, year_known, out);
}
