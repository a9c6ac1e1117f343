/* Dates in text, absolute and relative, resolved against the turn's own time and offset (DESIGN 6;
 * PITFALLS 12, 13).
 *
 * A mention covers a span of the text and means a range of calendar days [from, to] in the turn's
 * own offset, with a grain. Total: what cannot be read gives no mention, never an error; a range
 * outside years 1–9999, or a relative one more than 100 years away, gives none. Of several
 * readings at one place the longest wins. A mention is `relative` when the turn's time was needed
 * for more than the year: "May 7" is absolute, its year a guess.
 *
 * Absolute: 2023-05-07 (also with / or . and before a T), 7 May 2023, 7th of May, May 7(th)(,
 * 2023), 6–7 May 2023, an optional weekday before them, 05/07/2023 and 05-07-2023 (month first,
 * unless the first is over 12), 5/7/23, 7.5.2023 (day first), May 2023, summer (of) 2022; a bare
 * year or month only behind in, since, until, by, during, before, after, from, of, early, late,
 * mid. "May 7" and "in May" without a year: the latest such date not more than six months after
 * the turn. "on the 5th": the last one. Month names with and without abbreviation; "7. Mai", "7 de
 * mayo de 2023", "7 мая" and 2023年5月7日, 5월 7일 too.
 *
 * Relative: today, tonight, this morning, yesterday, last night, the day before yesterday,
 * tomorrow, the day after tomorrow; N days/weeks/weekends/months/years ago, in N …, N … from now,
 * a few/couple of … (few = several = 3, couple = 2, number words to twenty, half a year);
 * last/this/next week, weekend, month, year, season, <month> and <weekday>; this past/coming …;
 * the week before last; Tuesday (of) last week; on/since/until/by <weekday>. "on <weekday>" and
 * "on the 5th" are the last one, or the next when a word of the future stands before it in the
 * sentence. The finer decisions stand in date_relative.c. since and until give the context; the
 * range is that of the date itself.
 *
 * Grain: "N days ago" and weekdays are the day; "N weeks ago" the calendar week (Monday to Sunday)
 * that holds that day, "N months ago" the month, "N years ago" the year; "last weekend" Saturday
 * and Sunday with the grain of a day; a season is three meteorological months of the northern
 * half, with the grain of a month.
 *
 * What is no date: "may" and "march" as verbs, "sat", "sun", a second, versions (3.5.2024-beta),
 * years that count ("in 2000 steps"), spans ("the last year", "my last year"), durations
 * ("finished in three days"). Hours and minutes are not read.
 *
 * Language: English phrases; numeric forms for all; the common words for yesterday, today,
 * tomorrow and last or next week, month, year in de, fr, es, it, pt, nl, ru, zh, ja, ko. */
#ifndef HM_CORE_TEXT_DATES_H
#define HM_CORE_TEXT_DATES_H

#include "core/base/buf.h"
#include "core/base/civil.h"

enum date_grain { DATE_DAY, DATE_WEEK, DATE_MONTH, DATE_YEAR };

struct date_mention {
    size_t at, len;        /* span in the text, bytes */
    struct civil from, to; /* inclusive */
    enum date_grain grain;
    bool relative;
};

/* Finds at most `cap` mentions in text order, spans do not overlap. Returns how many. */
size_t dates_find(struct str text, int64_t utc_ms, int offset_min, struct date_mention *out,
                  size_t cap);

/* How a range is written for people: "7 May 2023", "week of 1 May 2023", "May 2023", "2022",
 * "6–7 May 2023". */
void dates_write(struct buf *out, const struct date_mention *mention);

/* The text with each relative mention followed by its date in brackets, as in
 * "I went there yesterday (7 May 2023)". In the arena; .at NULL when memory is short. */
struct str dates_resolve(struct arena *arena, struct str text, int64_t utc_ms, int offset_min);

/* The words under which a range is indexed: "2023-05-07 7 May 2023", "May 2023", "2023". */
void dates_index_words(struct buf *out, const struct date_mention *mention);

#endif
