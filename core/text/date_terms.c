#include "core/text/date_terms.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/base/hash.h"

static char *put_digits(char *at, unsigned value, unsigned digits)
{
    for (unsigned i = digits; i > 0; i--, value /= 10)
        at[i - 1] = (char)('0' + value % 10);
    return at + digits;
}

/* "\x01dYYYY-MM-DD"; the first byte is one that no token starts with. */
static size_t write_name(char text[40], char kind, int year, int month, int day)
{
    if (year < 0 || year > 9999) { /* never of a mention, but a turn may be said at any time */
        int n = snprintf(text, 40, "\x01%c%04d-%02d-%02d", kind, year, month, day);
        return n < 0 ? 0 : (size_t)n;
    }
    char *at = text;
    *at++ = '\x01';
    *at++ = kind;
    at = put_digits(at, (unsigned)year, 4);
    *at++ = '-';
    at = put_digits(at, (unsigned)month, 2);
    *at++ = '-';
    at = put_digits(at, (unsigned)day, 2);
    return (size_t)(at - text);
}

static struct date_term make(enum date_term_kind kind, int year, int month, int day)
{
    char text[40];
    struct str name = {text, write_name(text, "dmny"[kind], year, month, day)};
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

static bool has_year(struct str span)
{
    unsigned run = 0;
    for (size_t i = 0; i < span.len; i++) {
        run = span.at[i] >= '0' && span.at[i] <= '9' ? run + 1 : 0;
        if (run == 4)
            return true;
    }
    return false;
}

size_t date_terms_of(struct str text, const struct date_mention *mention,
                     struct date_term out[DATE_TERMS_MAX])
{
    struct str span = str_part(text, mention->at, mention->at + mention->len);
    bool year_known = mention->relative || has_year(span);
    if (mention->grain == DATE_YEAR) {
        out[0] = make(DATE_TERM_YEAR, mention->from.year, 0, 0);
        return 1;
    }
    if (mention->grain == DATE_DAY && year_known)
        return date_terms_of_day(mention->from, out);
    return months_of(mention->from, mention->to, year_known, out);
}

static int by_term(const void *left, const void *right)
{
    const struct term_count *a = left, *b = right;
    return (a->term > b->term) - (a->term < b->term);
}

static size_t add_terms(struct term_count *out, const struct date_term *terms, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (struct term_count){.term = terms[i].term, .count = 1};
    return n;
}

enum err_code date_terms_add(struct arena *arena, const struct dated_text *dated,
                             struct term_bag *bag, struct err *err)
{
    struct date_term terms[DATE_TERMS_MAX];
    size_t found = 0, distinct = 0;
    if (dated->n == 0 && dated->day == NULL)
        return ERR_OK;
    struct term_count *all = ARENA_ARRAY(arena, struct term_count, (dated->n + 1) * DATE_TERMS_MAX);
    if (all == NULL)
        return err_set(err, ERR_EXHAUSTED, "out of memory for the dates of a text");
    for (size_t i = 0; i < dated->n; i++)
        found +=
            add_terms(all + found, terms, date_terms_of(dated->text, &dated->mentions[i], terms));
    if (dated->day != NULL)
        found += add_terms(all + found, terms, date_terms_of_day(*dated->day, terms));
    qsort(all, found, sizeof *all, by_term);
    for (size_t i = 0; i < found; i++)
        if (distinct == 0 || all[distinct - 1].term != all[i].term)
            all[distinct++] = all[i];
    struct term_bag extra = {.at = all, .n = distinct};
    struct term_bag sum;
    enum err_code rc = term_bag_add(arena, bag, &extra, &sum, err);
    if (rc == ERR_OK)
        *bag = sum;
    return rc;
}
