/* Shared by the files of the date finder:
 *   dates.c         the calls of dates.h: finding, writing
 *   date_lex.c      the text as a window of words, numbers and punctuation, with their context
 *   date_words.c    the vocabulary
 *   date_calendar.c what a phrase means on the calendar
 *   date_absolute.c patterns that name a date: 7 May 2023, 2023-05-07, in 2022
 *   date_relative.c patterns that need the turn's day: last Friday, two weeks ago
 *   date_foreign.c  the common words of other languages
 * A pattern looks at the window from its first token on and says how many tokens it covers. */
#ifndef HM_CORE_TEXT_DATES_INT_H
#define HM_CORE_TEXT_DATES_INT_H

#include "core/text/dates.h"

enum { DATE_WINDOW = 16, DATE_WORD_BYTES = 32 };

/* What a word can do in a date phrase. */
enum date_role {
    ROLE_NONE,
    ROLE_MONTH,   /* value 1–12 */
    ROLE_WEEKDAY, /* value 0–6 from Monday */
    ROLE_UNIT,    /* value: enum date_unit */
    ROLE_SEASON,  /* value: its first month */
    ROLE_COUNT,   /* value: how many; "couple", "few" and number words */
    ROLE_NTH,     /* value 1–31: an ordinal word */
    ROLE_ARTICLE, /* a, an */
    ROLE_HALF,
    ROLE_THE,
    ROLE_LAST,
    ROLE_PAST,
    ROLE_THIS,
    ROLE_NEXT,
    ROLE_COMING,
    ROLE_AGO,
    ROLE_BACK,
    ROLE_BEFORE,
    ROLE_AFTER,
    ROLE_DAY_WORD, /* value: days from today */
    ROLE_DAYTIME,  /* morning, afternoon, evening, night; value 1: night */
    ROLE_IN,
    ROLE_ON,
    ROLE_OF,
    ROLE_FROM,
    ROLE_NOW,
    ROLE_UNTIL,  /* until, till, by: what is named lies ahead */
    ROLE_SINCE,  /* since, after: it lies behind */
    ROLE_DURING, /* other words before a bare month or year */
    ROLE_PRONOUN,
    ROLE_MY,      /* possessive: "my last year" is no date */
    ROLE_PLAIN,   /* another function word: no noun */
    ROLE_FUTURE,  /* speaks of what is to come */
    ROLE_DID,     /* speaks of what is done */
    ROLE_NOUN,    /* counted things: "in 2000 steps" is no year */
    ROLE_FOREIGN, /* may begin a phrase of another language */
};

enum date_unit {
    UNIT_DAY,
    UNIT_WEEK,
    UNIT_WEEKEND,
    UNIT_MONTH,
    UNIT_YEAR,
    UNIT_FORTNIGHT,
    UNIT_DECADE
};

enum date_word_flag {
    WORD_SHORT = 1,     /* an abbreviation */
    WORD_AMBIGUOUS = 2, /* another word without its capital: sat, sun, may, march */
    WORD_FOREIGN = 4,   /* a month of another language: only behind its day or before its year */
};

struct date_word {
    char text[DATE_WORD_BYTES]; /* folded */
    uint8_t role;
    int8_t value;
    uint8_t flags;
};

enum date_token_kind { TOKEN_END, TOKEN_WORD, TOKEN_DIGITS, TOKEN_SIGN, TOKEN_WIDE };

struct date_token {
    size_t at, len;
    enum date_token_kind kind;
    const struct date_word *word; /* NULL: not in the vocabulary */
    char text[DATE_WORD_BYTES];   /* the folded word, "" when it is longer than any we know */
    uint32_t cp;                  /* of a sign or of a letter of a script without spaces */
    int value;                    /* of digits; -1: more than six */
    int digits;
    bool ordinal; /* 5th */
    bool glued;   /* digits that letters touch */
    bool capital;
    bool spaced; /* blanks before it */
    bool line_start;
    bool wide; /* a sign that ends a sentence */
};

struct date_scan {
    struct str text;
    size_t next; /* first byte that is not in the window */
    struct date_token ring[DATE_WINDOW];
    size_t head, n;
    struct date_token before; /* the token before the window; TOKEN_END at the start */
    struct date_token before_that;
    bool sentence_start;
    bool future;        /* the sentence spoke of what is to come */
    bool done;          /* … of what is done */
    int8_t french;      /* is the text French? -1: not asked yet */
    struct civil today; /* the turn's day in its own offset */
};

/* ---- date_words.c */
/* `text` is padded with NULs. */
const struct date_word *date__word(const char text[DATE_WORD_BYTES]);

/* ---- date_lex.c */
void date__begin(struct date_scan *scan, struct str text, struct civil today);
/* The i-th token of the window, TOKEN_END behind the last. */
static inline const struct date_token *date__at(const struct date_scan *scan, size_t i)
{
    ASSERT(i < DATE_WINDOW); /* no pattern is as long as the window */
    return &scan->ring[(scan->head + i) % DATE_WINDOW];
}
void date__advance(struct date_scan *scan, size_t n);
static inline bool date__is(const struct date_scan *scan, size_t i, enum date_role role)
{
    const struct date_token *t = date__at(scan, i);
    return t->word != NULL && t->word->role == role;
}
bool date__is_sign(const struct date_scan *scan, size_t i, uint32_t cp);
/* Role of the token before the window. */
enum date_role date__role_before(const struct date_scan *scan);

/* ---- date_calendar.c: all answer whether the range is a date at all (years 1–9999, and within a
 * hundred years of the turn when relative). */
bool date__set(struct date_mention *m, struct civil from, struct civil to, enum date_grain grain);
bool date__set_day(struct date_mention *m, struct civil day);
/* n units from the turn, negative before. */
bool date__set_unit(const struct date_scan *scan, struct date_mention *m, enum date_unit unit,
                    int n);
/* The last (-1), this (0: today or the next) or next (1) of its kind, strictly but for 0. */
bool date__set_weekday(const struct date_scan *scan, struct date_mention *m, int weekday, int way);
bool date__set_weekday_of_week(const struct date_scan *scan, struct date_mention *m, int weekday,
                               int weeks);
bool date__set_month_name(const struct date_scan *scan, struct date_mention *m, int month, int way);
bool date__set_season(const struct date_scan *scan, struct date_mention *m, int first_month,
                      int way);
bool date__set_season_of(struct date_mention *m, int first_month, int year);
/* A month (day 0) or a day without its year: the latest not more than six months ahead. */
bool date__set_yearless(const struct date_scan *scan, struct date_mention *m, int month, int day,
                        int last_day);
/* The n-th of a month: the last one up to today, or the next when `ahead`. */
bool date__set_nth(const struct date_scan *scan, struct date_mention *m, int day, bool ahead);

/* ---- patterns: how many tokens from the start of the window are a date; 0: none */
typedef size_t date_pattern_fn(struct date_scan *scan, struct date_mention *m);
date_pattern_fn date__numeric, date__month_name, date__bare_year, date__season_year, date__nth;
date_pattern_fn date__day_word, date__ago, date__ahead, date__last_next, date__before_last,
    date__weekday;
date_pattern_fn date__foreign_phrase, date__wide_phrase, date__wide_numeric;

#endif
