/* The turn is Monday 8 May 2023 where a row names no other. */
#include <check.h>

#include "tests/unit/text/mentions.h"

#define DAY DATE_DAY, true
#define WEEK DATE_WEEK, true
#define MONTH DATE_MONTH, true
#define YEAR DATE_YEAR, true

START_TEST(day_words)
{
    static const struct mention_row rows[] = {
        {NULL, "I saw it today.", "2023-05-08", DAY, "today"},
        {NULL, "Tonight we eat", "2023-05-08", DAY, "Tonight"},
        {NULL, "this morning I ran", "2023-05-08", DAY, "this morning"},
        {NULL, "this evening", "2023-05-08", DAY, "this evening"},
        {NULL, "I went there yesterday", "2023-05-07", DAY, "yesterday"},
        {NULL, "yesterday's game", "2023-05-07", DAY, "yesterday's"},
        {NULL, "Yesterday morning!", "2023-05-07", DAY, "Yesterday morning"},
        {NULL, "last night was wild", "2023-05-07", DAY, "last night"},
        {NULL, "the day before yesterday", "2023-05-06", DAY, "the day before yesterday"},
        {NULL, "day before yesterday", "2023-05-06", DAY, NULL},
        {NULL, "see you tomorrow!", "2023-05-09", DAY, "tomorrow"},
        {NULL, "tomorrow night", "2023-05-09", DAY, "tomorrow night"},
        {NULL, "the day after tomorrow", "2023-05-10", DAY, "the day after tomorrow"},
        {NULL, "earlier today", "2023-05-08", DAY, "today"},
        /* The turn's own offset, not the server's. */
        {"2023-05-08T00:30:00+02:00", "yesterday", "2023-05-07", DAY, NULL},
        {"2023-05-07T22:30:00Z", "yesterday", "2023-05-06", DAY, NULL},
        {"2023-05-07T23:30:00-08:00", "yesterday", "2023-05-06", DAY, NULL},
        {"2023-05-08T07:30:00Z", "yesterday", "2023-05-07", DAY, NULL},
        {"2024-03-01T12:00:00Z", "yesterday", "2024-02-29", DAY, NULL},
        {"2023-01-01T12:00:00Z", "yesterday", "2022-12-31", DAY, NULL},
        {"2023-12-31T12:00:00Z", "tomorrow", "2024-01-01", DAY, NULL},
    };
    MENTIONS_CHECK(rows);
}
END_TEST

START_TEST(so_long_ago)
{
    static const struct mention_row rows[] = {
        {NULL, "three days ago", "2023-05-05", DAY, "three days ago"},
        {NULL, "3 days ago", "2023-05-05", DAY, NULL},
        {NULL, "a day ago", "2023-05-07", DAY, NULL},
        {NULL, "two nights ago", "2023-05-06", DAY, NULL},
        {NULL, "a few days ago", "2023-05-05", DAY, NULL},
        {NULL, "few days ago", "2023-05-05", DAY, NULL},
        {NULL, "several days ago", "2023-05-05", DAY, NULL},
        {NULL, "two weeks ago we met", "2023-04-24..2023-04-30", WEEK, "two weeks ago"},
        {NULL, "a week ago", "2023-05-01..2023-05-07", WEEK, NULL},
        {NULL, "a couple of weeks ago", "2023-04-24..2023-04-30", WEEK, "a couple of weeks ago"},
        {NULL, "a couple weeks ago", "2023-04-24..2023-04-30", WEEK, NULL},
        {NULL, "a fortnight ago", "2023-04-24..2023-04-30", WEEK, NULL},
        {NULL, "two weekends ago", "2023-04-29..2023-04-30", DAY, NULL},
        {NULL, "a month ago", "2023-04-01..2023-04-30", MONTH, NULL},
        {NULL, "about twelve months ago", "2022-05-01..2022-05-31", MONTH, "twelve months ago"},
        {NULL, "half a year ago", "2022-11-01..2022-11-30", MONTH, "half a year ago"},
        {NULL, "a year ago", "2022-01-01..2022-12-31", YEAR, NULL},
        {NULL, "twenty years ago", "2003-01-01..2003-12-31", YEAR, NULL},
        {NULL, "a couple of years ago", "2021-01-01..2021-12-31", YEAR, NULL},
        {NULL, "a few years ago", "2020-01-01..2020-12-31", YEAR, NULL},
        {NULL, "a decade ago", "2013-01-01..2013-12-31", YEAR, NULL},
        {NULL, "about 2 yrs ago", "2021-01-01..2021-12-31", YEAR, "2 yrs ago"},
        {NULL, "That was two years back.", "2021-01-01..2021-12-31", YEAR, NULL},
        {NULL, "two years back in London", "", DAY, NULL},
        {NULL, "99 years ago", "1924-01-01..1924-12-31", YEAR, NULL},
        {NULL, "500 years ago", "", DAY, NULL},
        {NULL, "0 days ago", "", DAY, NULL},
        {NULL, "99999999999 days ago", "", DAY, NULL},
        {NULL, "long ago", "", DAY, NULL},
        {NULL, "3rd days ago", "", DAY, NULL},
        {NULL, "1.5 years ago", "", DAY, NULL},
    };
    MENTIONS_CHECK(rows);
}
END_TEST

START_TEST(so_far_ahead)
{
    static const struct mention_row rows[] = {
        {NULL, "in three days", "2023-05-11", DAY, "in three days"},
        {NULL, "In 10 days we leave", "2023-05-18", DAY, NULL},
        {NULL, "in a few days", "2023-05-11", DAY, NULL},
        {NULL, "in a week", "2023-05-15..2023-05-21", WEEK, NULL},
        {NULL, "in two weeks' time, then", "2023-05-22..2023-05-28", WEEK, "in two weeks' time"},
        {NULL, "in two months", "2023-07-01..2023-07-31", MONTH, NULL},
        {NULL, "in a couple of years", "2025-01-01..2025-12-31", YEAR, NULL},
        {NULL, "two weeks from now", "2023-05-22..2023-05-28", WEEK, "two weeks from now"},
        {NULL, "three days from today", "2023-05-11", DAY, NULL},
        {NULL, "in 200 years", "", DAY, NULL},
        {NULL, "in a day", "", DAY, NULL},
        {NULL, "I finished it in three days", "", DAY, NULL},
        {NULL, "We haven't talked in a few days", "", DAY, NULL},
        {NULL, "It took me. I'll go in three days", "2023-05-11", DAY, NULL},
        {NULL, "in five minutes", "", DAY, NULL},
    };
    MENTIONS_CHECK(rows);
}
END_TEST

START_TEST(weeks_months_years)
{
    static const struct mention_row rows[] = {
        {NULL, "last week", "2023-05-01..2023-05-07", WEEK, NULL},
        {NULL, "this week", "2023-05-08..2023-05-14", WEEK, NULL},
        {NULL, "early next week", "2023-05-15..2023-05-21", WEEK, "next week"},
        {NULL, "this past week", "2023-05-01..2023-05-07", WEEK, "this past week"},
        {NULL, "the week before last", "2023-04-24..2023-04-30", WEEK, "the week before last"},
        {NULL, "the week after next", "2023-05-22..2023-05-28", WEEK, NULL},
        {NULL, "last month", "2023-04-01..2023-04-30", MONTH, NULL},
        {NULL, "this month", "2023-05-01..2023-05-31", MONTH, NULL},
        {NULL, "next month", "2023-06-01..2023-06-30", MONTH, NULL},
        {NULL, "the month before last", "2023-03-01..2023-03-31", MONTH, NULL},
        {NULL, "last year's trip", "2022-01-01..2022-12-31", YEAR, "last year's"},
        {NULL, "this year", "2023-01-01..2023-12-31", YEAR, NULL},
        {NULL, "next year", "2024-01-01..2024-12-31", YEAR, NULL},
        {NULL, "the year before last", "2021-01-01..2021-12-31", YEAR, NULL},
        {"2023-05-07T12:00:00Z", "last week", "2023-04-24..2023-04-30", WEEK, NULL}, /* a Sunday */
        {"2023-01-02T12:00:00Z", "last week", "2022-12-26..2023-01-01", WEEK, NULL},
        {"2023-01-31T12:00:00Z", "next month", "2023-02-01..2023-02-28", MONTH, NULL},
        {"2023-01-31T12:00:00Z", "last month", "2022-12-01..2022-12-31", MONTH, NULL},
    };
    MENTIONS_CHECK(rows);
}
END_TEST

START_TEST(weekends)
{
    static const struct mention_row rows[] = {
        {NULL, "last weekend", "2023-05-06..2023-05-07", DAY, "last weekend"},
        {NULL, "this past weekend", "2023-05-06..2023-05-07", DAY, "this past weekend"},
        {NULL, "over the past weekend", "2023-05-06..2023-05-07", DAY, NULL},
        {NULL, "this weekend", "2023-05-13..2023-05-14", DAY, NULL},
        {NULL, "next weekend", "2023-05-20..2023-05-21", DAY, NULL},
        {NULL, "the weekend before last", "2023-04-29..2023-04-30", DAY, NULL},
        {"2023-05-13T12:00:00Z", "last weekend", "2023-05-06..2023-05-07", DAY, NULL},
        {"2023-05-14T12:00:00Z", "last weekend", "2023-05-06..2023-05-07", DAY, NULL},
        {"2023-05-14T12:00:00Z", "this weekend", "2023-05-13..2023-05-14", DAY, NULL},
        {"2023-05-15T12:00:00Z", "last weekend", "2023-05-13..2023-05-14", DAY, NULL},
    };
    MENTIONS_CHECK(rows);
}
END_TEST

START_TEST(weekdays)
{
    static const struct mention_row rows[] = {
        {NULL, "last Friday", "2023-05-05", DAY, "last Friday"},
        {NULL, "last friday", "2023-05-05", DAY, NULL},
        {NULL, "Last Fri we met", "2023-05-05", DAY, "Last Fri"},
        {NULL, "last Tues", "2023-05-02", DAY, NULL},
        {NULL, "last Sat", "2023-05-06", DAY, NULL},
        {NULL, "last Monday", "2023-05-01", DAY, NULL}, /* the turn is on a Monday */
        {NULL, "last Friday night", "2023-05-05", DAY, "last Friday night"},
        {NULL, "this past Friday", "2023-05-05", DAY, "this past Friday"},
        {NULL, "next Friday", "2023-05-12", DAY, NULL},
        {NULL, "next Monday", "2023-05-15", DAY, NULL},
        {NULL, "this Friday", "2023-05-12", DAY, NULL},
        {NULL, "this Monday", "2023-05-08", DAY, NULL},
        {NULL, "this coming Friday", "2023-05-12", DAY, NULL},
        {NULL, "We met on Friday", "2023-05-05", DAY, "Friday"},
        {NULL, "on Monday", "2023-05-01", DAY, NULL},
        {NULL, "I'll call you on Friday", "2023-05-12", DAY, NULL},
        {NULL, "We are going out on Friday evening", "2023-05-12", DAY, "Friday evening"},
        {NULL, "See you on Friday!", "2023-05-12", DAY, NULL},
        {NULL, "I'll see. We met on Friday", "2023-05-05", DAY, NULL},
        {NULL, "since Friday", "2023-05-05", DAY, NULL},
        {NULL, "until Friday", "2023-05-12", DAY, NULL},
        {NULL, "by Sunday", "2023-05-14", DAY, NULL},
        {NULL, "Friday last week", "2023-05-05", DAY, "Friday last week"},
        {NULL, "on Tuesday of next week", "2023-05-16", DAY, "Tuesday of next week"},
        {NULL, "next week on Tuesday", "2023-05-16", DAY, "next week on Tuesday"},
        {NULL, "next week Wednesday", "2023-05-17", DAY, NULL},
        {NULL, "the Friday before last", "2023-04-28", DAY, NULL},
        {NULL, "on Fridays I rest", "", DAY, NULL},
        {NULL, "Friday was fun", "", DAY, NULL},
    };
    MENTIONS_CHECK(rows);
}
END_TEST

START_TEST(months_by_name_and_seasons)
{
    static const struct mention_row rows[] = {
        {NULL, "last March", "2023-03-01..2023-03-31", MONTH, "last March"},
        {NULL, "last May", "2022-05-01..2022-05-31", MONTH, NULL},
        {NULL, "last december", "2022-12-01..2022-12-31", MONTH, NULL},
        {NULL, "next May", "2024-05-01..2024-05-31", MONTH, NULL},
        {NULL, "next June", "2023-06-01..2023-06-30", MONTH, NULL},
        {NULL, "this June", "2023-06-01..2023-06-30", MONTH, NULL},
        {NULL, "last summer", "2022-06-01..2022-08-31", MONTH, NULL},
        {NULL, "last winter", "2022-12-01..2023-02-28", MONTH, NULL},
        {NULL, "last spring", "2022-03-01..2022-05-31", MONTH, NULL},
        {NULL, "this spring", "2023-03-01..2023-05-31", MONTH, NULL},
        {NULL, "next fall", "2023-09-01..2023-11-30", MONTH, NULL},
        {NULL, "next spring", "2024-03-01..2024-05-31", MONTH, NULL},
        {NULL, "this past winter", "2022-12-01..2023-02-28", MONTH, NULL},
        {"2024-01-15T12:00:00Z", "last winter", "2022-12-01..2023-02-28", MONTH, NULL},
        {"2024-01-15T12:00:00Z", "this winter", "2023-12-01..2024-02-29", MONTH, NULL},
        {"2024-01-15T12:00:00Z", "next winter", "2024-12-01..2025-02-28", MONTH, NULL},
        {"2023-10-15T12:00:00Z", "last summer", "2023-06-01..2023-08-31", MONTH, NULL},
        {"2023-12-15T12:00:00Z", "next winter", "2024-12-01..2025-02-28", MONTH, NULL},
    };
    MENTIONS_CHECK(rows);
}
END_TEST

START_TEST(spans_are_no_dates)
{
    static const struct mention_row rows[] = {
        {NULL, "in the last year", "", DAY, NULL},
        {NULL, "my last year at school", "", DAY, NULL},
        {NULL, "over the past week", "", DAY, NULL},
        {NULL, "the next month was hard", "", DAY, NULL},
        {NULL, "the last Friday of the month", "", DAY, NULL},
        {NULL, "Bach's last year", "", DAY, NULL},
        {NULL, "last time, last minute, next day", "", DAY, NULL},
        {NULL, "the last few weeks", "", DAY, NULL},
        {NULL, "for two weeks", "", DAY, NULL},
        {NULL, "last weeks of term", "", DAY, NULL},
    };
    MENTIONS_CHECK(rows);
}
END_TEST

START_TEST(other_languages)
{
    static const struct mention_row rows[] = {
        {NULL, "Gestern war ich da", "2023-05-07", DAY, "Gestern"},
        {NULL, "vorgestern", "2023-05-06", DAY, NULL},
        {NULL, "heute Abend", "2023-05-08", DAY, "heute Abend"},
        {NULL, "wir gehen morgen hin", "2023-05-09", DAY, NULL},
        {NULL, "übermorgen", "2023-05-10", DAY, NULL},
        {NULL, "letzte Woche", "2023-05-01..2023-05-07", WEEK, NULL},
        {NULL, "nächste Woche", "2023-05-15..2023-05-21", WEEK, NULL},
        {NULL, "letzten Monat", "2023-04-01..2023-04-30", MONTH, NULL},
        {NULL, "nächstes Jahr", "2024-01-01..2024-12-31", YEAR, NULL},
        {NULL, "Guten Morgen", "", DAY, NULL},
        {NULL, "am Morgen", "", DAY, NULL},
        {NULL, "Morgen! Alles gut?", "", DAY, NULL},
        {NULL, "je suis allé hier au marché", "2023-05-07", DAY, "hier"},
        {NULL, "ich bin hier und nicht da", "", DAY, NULL},
        {NULL, "ik ben hier", "", DAY, NULL},
        {NULL, "hier soir", "2023-05-07", DAY, NULL},
        {NULL, "avant-hier", "2023-05-06", DAY, "avant-hier"},
        {NULL, "aujourd'hui", "2023-05-08", DAY, NULL},
        {NULL, "la semaine dernière", "2023-05-01..2023-05-07", WEEK, "semaine dernière"},
        {NULL, "le mois prochain", "2023-06-01..2023-06-30", MONTH, NULL},
        {NULL, "l’année dernière", "2022-01-01..2022-12-31", YEAR, NULL},
        {NULL, "ayer fui al cine", "2023-05-07", DAY, NULL},
        {NULL, "nos vemos mañana", "2023-05-09", DAY, NULL},
        {NULL, "por la mañana", "", DAY, NULL},
        {NULL, "pasado mañana", "2023-05-10", DAY, "pasado mañana"},
        {NULL, "la semana pasada", "2023-05-01..2023-05-07", WEEK, NULL},
        {NULL, "el mes que viene", "2023-06-01..2023-06-30", MONTH, "mes que viene"},
        {NULL, "ieri", "2023-05-07", DAY, NULL},
        {NULL, "la settimana scorsa", "2023-05-01..2023-05-07", WEEK, NULL},
        {NULL, "l'altro ieri", "2023-05-06", DAY, "l'altro ieri"},
        {NULL, "ontem", "2023-05-07", DAY, NULL},
        {NULL, "depois de amanhã", "2023-05-10", DAY, NULL},
        {NULL, "o mês passado", "2023-04-01..2023-04-30", MONTH, NULL},
        {NULL, "gisteren", "2023-05-07", DAY, NULL},
        {NULL, "vorige week", "2023-05-01..2023-05-07", WEEK, NULL},
        {NULL, "volgende maand", "2023-06-01..2023-06-30", MONTH, NULL},
        {NULL, "вчера", "2023-05-07", DAY, NULL},
        {NULL, "на прошлой неделе", "2023-05-01..2023-05-07", WEEK, NULL},
        {NULL, "в следующем месяце", "2023-06-01..2023-06-30", MONTH, NULL},
        {NULL, "послезавтра", "2023-05-10", DAY, NULL},
        {NULL, "昨天我去了", "2023-05-07", DAY, "昨天"},
        {NULL, "我上个月去了", "2023-04-01..2023-04-30", MONTH, "上个月"},
        {NULL, "上周末", "2023-05-06..2023-05-07", DAY, "上周末"},
        {NULL, "下週", "2023-05-15..2023-05-21", WEEK, NULL},
        {NULL, "明年", "2024-01-01..2024-12-31", YEAR, NULL},
        {NULL, "一昨日行った", "2023-05-06", DAY, "一昨日"},
        {NULL, "先週は雨だった", "2023-05-01..2023-05-07", WEEK, "先週"},
        {NULL, "来月", "2023-06-01..2023-06-30", MONTH, NULL},
        {NULL, "어제 갔어요", "2023-05-07", DAY, NULL},
        {NULL, "지난 주에 갔어요", "2023-05-01..2023-05-07", WEEK, "지난 주"},
        {NULL, "다음 달", "2023-06-01..2023-06-30", MONTH, NULL},
    };
    MENTIONS_CHECK(rows);
}
END_TEST

Suite *suite_dates_relative(void)
{
    Suite *suite = suite_create("dates_relative");
    TCase *tc = tcase_create("dates_relative");
    tcase_add_test(tc, day_words);
    tcase_add_test(tc, so_long_ago);
    tcase_add_test(tc, so_far_ahead);
    tcase_add_test(tc, weeks_months_years);
    tcase_add_test(tc, weekends);
    tcase_add_test(tc, weekdays);
    tcase_add_test(tc, months_by_name_and_seasons);
    tcase_add_test(tc, spans_are_no_dates);
    tcase_add_test(tc, other_languages);
    suite_add_tcase(suite, tc);
    return suite;
}
