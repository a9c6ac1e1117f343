/* Several mentions, how they are written, and what odd input does. */
#include <check.h>
#include <stdlib.h>

#include "core/text/dates.h"

static const int64_t turn_ms = INT64_C(1683554160000); /* 2023-05-08T13:56:00Z, a Monday */

START_TEST(several_mentions)
{
    struct str text = STR("I went yesterday, not on May 3; next week in 2023-06-01 maybe.");
    struct date_mention m[8];
    ck_assert_uint_eq(dates_find(text, turn_ms, 0, m, 8), 4);
    ck_assert(str_eq(str_part(text, m[0].at, m[0].at + m[0].len), STR("yesterday")));
    ck_assert(str_eq(str_part(text, m[1].at, m[1].at + m[1].len), STR("May 3")));
    ck_assert(str_eq(str_part(text, m[2].at, m[2].at + m[2].len), STR("next week")));
    ck_assert(str_eq(str_part(text, m[3].at, m[3].at + m[3].len), STR("2023-06-01")));
    for (size_t i = 1; i < 4; i++)
        ck_assert(m[i].at >= m[i - 1].at + m[i - 1].len);
    ck_assert_uint_eq(dates_find(text, turn_ms, 0, m, 2), 2);
    ck_assert_uint_eq(dates_find(text, turn_ms, 0, m, 0), 0);
}
END_TEST

static void check_written(const struct date_mention *m, const char *written, const char *indexed)
{
    struct buf out;
    buf_init(&out, NULL, 1024);
    dates_write(&out, m);
    ck_assert_msg(str_eq(buf_str(&out), str_of(written)), "%.*s, not %s", STR_FMT(buf_str(&out)),
                  written);
    buf_clear(&out);
    dates_index_words(&out, m);
    ck_assert_msg(str_eq(buf_str(&out), str_of(indexed)), "%.*s, not %s", STR_FMT(buf_str(&out)),
                  indexed);
    buf_fini(&out);
}

START_TEST(written_forms)
{
    static const struct {
        struct date_mention m;
        const char *written, *indexed;
    } rows[] = {
        {{.from = {2023, 5, 7}, .to = {2023, 5, 7}, .grain = DATE_DAY},
         "7 May 2023",
         "2023-05-07 7 May 2023"},
        {{.from = {2023, 5, 6}, .to = {2023, 5, 7}, .grain = DATE_DAY},
         "6–7 May 2023",
         "2023-05-06 6 May 2023 2023-05-07 7 May 2023"},
        {{.from = {2023, 4, 30}, .to = {2023, 5, 1}, .grain = DATE_DAY},
         "30 April–1 May 2023",
         "2023-04-30 30 April 2023 2023-05-01 1 May 2023"},
        {{.from = {2022, 12, 31}, .to = {2023, 1, 1}, .grain = DATE_DAY},
         "31 December 2022–1 January 2023",
         "2022-12-31 31 December 2022 2023-01-01 1 January 2023"},
        {{.from = {2023, 5, 1}, .to = {2023, 5, 7}, .grain = DATE_WEEK},
         "week of 1 May 2023",
         "May 2023"},
        {{.from = {2022, 12, 26}, .to = {2023, 1, 1}, .grain = DATE_WEEK},
         "week of 26 December 2022",
         "December 2022 January 2023"},
        {{.from = {2023, 5, 1}, .to = {2023, 5, 31}, .grain = DATE_MONTH}, "May 2023", "May 2023"},
        {{.from = {2022, 6, 1}, .to = {2022, 8, 31}, .grain = DATE_MONTH},
         "June–August 2022",
         "June 2022 July 2022 August 2022"},
        {{.from = {2022, 12, 1}, .to = {2023, 2, 28}, .grain = DATE_MONTH},
         "December 2022–February 2023",
         "December 2022 January 2023 February 2023"},
        {{.from = {2022, 1, 1}, .to = {2022, 12, 31}, .grain = DATE_YEAR}, "2022", "2022"},
        {{.from = {2020, 1, 1}, .to = {2022, 12, 31}, .grain = DATE_YEAR},
         "2020–2022",
         "2020 2022"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        check_written(&rows[i].m, rows[i].written, rows[i].indexed);
}
END_TEST

START_TEST(texts_are_resolved)
{
    static const struct {
        const char *text, *resolved;
    } rows[] = {
        {"I went there yesterday", "I went there yesterday (7 May 2023)"},
        {"Yesterday I ran, last week I swam.",
         "Yesterday (7 May 2023) I ran, last week (week of 1 May 2023) I swam."},
        {"On 7 May 2023 nothing", "On 7 May 2023 nothing"},
        {"", ""},
        {"no date", "no date"},
        {"last weekend!", "last weekend (6–7 May 2023)!"},
        {"昨天很好", "昨天 (7 May 2023)很好"},
        {"a couple of years ago", "a couple of years ago (2021)"},
    };
    struct arena *arena = arena_new(1 << 20);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct str once = dates_resolve(arena, str_of(rows[i].text), turn_ms, 0);
        ck_assert_msg(str_eq(once, str_of(rows[i].resolved)), "%.*s", STR_FMT(once));
        struct str twice = dates_resolve(arena, once, turn_ms, 0);
        ck_assert_msg(str_eq(twice, once), "%.*s", STR_FMT(twice));
    }
    arena_free(arena);
}
END_TEST

START_TEST(missing_memory_gives_the_absent_string)
{
    struct arena *arena = arena_new(1 << 20);
    bool done = false;
    for (unsigned long n = 1; !done; n++) {
        arena_fail_after(arena, n);
        done = dates_resolve(arena, STR("yesterday and last week"), turn_ms, 0).at != NULL;
        ck_assert(n < 10);
    }
    arena_fail_after(arena, 1);
    ck_assert_ptr_null(dates_resolve(arena, STR("nothing"), turn_ms, 0).at);
    arena_free(arena);
}
END_TEST

START_TEST(odd_moments_give_no_mention)
{
    static const int64_t moments[] = {INT64_MIN, INT64_MAX, INT64_C(-99999999999999),
                                      INT64_C(999999999999999)};
    struct date_mention m;
    for (size_t i = 0; i < sizeof moments / sizeof moments[0]; i++)
        ck_assert_uint_eq(dates_find(STR("yesterday"), moments[i], 0, &m, 1), 0);
    ck_assert_uint_eq(dates_find(STR("yesterday"), turn_ms, 999999, &m, 1), 0);
    /* 0001-01-01 and 9999-12-31 stand at the edge. */
    ck_assert_uint_eq(dates_find(STR("today"), INT64_C(-62135596800000), 0, &m, 1), 1);
    ck_assert_uint_eq(dates_find(STR("yesterday"), INT64_C(-62135596800000), 0, &m, 1), 0);
    ck_assert_uint_eq(dates_find(STR("last month"), INT64_C(-62135596800000), 0, &m, 1), 0);
    ck_assert_uint_eq(dates_find(STR("tomorrow"), INT64_C(253402300799000), 0, &m, 1), 0);
    ck_assert_uint_eq(dates_find(STR("next winter"), INT64_C(253402300799000), 0, &m, 1), 0);
}
END_TEST

static const char *const pieces[] = {
    "May",  "may",  "7",    "7th",    "2023",   "-",          "/",        ".",      ",",
    "last", "next", "this", "week",   "days",   "ago",        "in",       "on",     "the",
    "of",   "a",    "two",  "couple", "Friday", "summer",     "before",   "after",  "yesterday",
    "day",  "昨天", "年",   "月",     "日",     "31",         "\xff",     "morgen", "half",
    "year", "from", "now",  "since",  "'s",     "2023-05-07", "99999999", "today"};

START_TEST(random_phrases_keep_the_rules)
{
    uint32_t seed = 4711;
    for (int round = 0; round < 20000; round++) {
        char text[300];
        size_t len = 0;
        for (int i = 0; i < 12; i++) {
            seed = seed * 1664525u + 1013904223u;
            struct str piece = str_of(pieces[(seed >> 16) % (sizeof pieces / sizeof pieces[0])]);
            memcpy(text + len, piece.at, piece.len);
            len += piece.len;
            if ((seed >> 12 & 3) != 0)
                text[len++] = ' ';
        }
        struct date_mention m[32];
        size_t n = dates_find((struct str){text, len}, turn_ms, 0, m, 32);
        size_t end = 0;
        for (size_t i = 0; i < n; i++) {
            ck_assert(m[i].at >= end && m[i].len > 0 && m[i].at + m[i].len <= len);
            ck_assert(civil_is_valid(m[i].from) && civil_is_valid(m[i].to));
            ck_assert(civil_to_days(m[i].from) <= civil_to_days(m[i].to));
            end = m[i].at + m[i].len;
        }
    }
}
END_TEST

Suite *suite_dates_text(void)
{
    Suite *suite = suite_create("dates_text");
    TCase *tc = tcase_create("dates_text");
    tcase_add_test(tc, several_mentions);
    tcase_add_test(tc, written_forms);
    tcase_add_test(tc, texts_are_resolved);
    tcase_add_test(tc, missing_memory_gives_the_absent_string);
    tcase_add_test(tc, odd_moments_give_no_mention);
    tcase_add_test(tc, random_phrases_keep_the_rules);
    suite_add_tcase(suite, tc);
    return suite;
}
