/* The turn is Monday 8 May 2023 where a row names no other. */
#include <check.h>

#include "tests/unit/text/mentions.h"

#define DAY DATE_DAY, false
#define MONTH DATE_MONTH, false
#define YEAR DATE_YEAR, false
#define NEAR_DAY DATE_DAY, true

START_TEST(numeric)
{
    static const struct mention_row rows[] = {
        {NULL, "on 2023-05-07.", "2023-05-07", DAY, "2023-05-07"},
        {NULL, "2023/05/07", "2023-05-07", DAY, NULL},
        {NULL, "2023.5.7", "2023-05-07", DAY, NULL},
        {NULL, "(2024-02-29)", "2024-02-29", DAY, "2024-02-29"},
        {NULL, "at 2023-05-07T10:00:00Z", "2023-05-07", DAY, "2023-05-07"},
        {NULL, "05/07/2023", "2023-05-07", DAY, NULL},
        {NULL, "13/05/2023", "2023-05-13", DAY, NULL},
        {NULL, "05-07-2023", "2023-05-07", DAY, NULL},
        {NULL, "5/7/23", "2023-05-07", DAY, NULL},
        {NULL, "5/7/99", "1999-05-07", DAY, NULL},
        {NULL, "7.5.2023", "2023-05-07", DAY, NULL},
        {NULL, "07.05.2023 war gut", "2023-05-07", DAY, NULL},
        {NULL, "it was 5/7/2023. Then", "2023-05-07", DAY, "5/7/2023"},
        {NULL, "0001-01-01", "0001-01-01", DAY, NULL},
        {NULL, "9999-12-31", "9999-12-31", DAY, NULL},
    };
    MENTIONS_CHECK(rows);
}
END_TEST

START_TEST(numbers_that_are_no_dates)
{
    static const struct mention_row rows[] = {
        {NULL, "2023-02-29", "", DAY, NULL},
        {NULL, "2023-13-01", "", DAY, NULL},
        {NULL, "32/13/2023", "", DAY, NULL},
        {NULL, "0000-01-01", "", DAY, NULL},
        {NULL, "version 3.5.2024-beta", "", DAY, NULL},
        {NULL, "v1.2.2023", "", DAY, NULL},
        {NULL, "1.2.3.2023", "", DAY, NULL},
        {NULL, "1.2.2023.4", "", DAY, NULL},
        {NULL, "12-2023-05-07", "", DAY, NULL},
        {NULL, "2023-05-07-2", "", DAY, NULL},
        {NULL, "24/7, 1/2, 10:30", "", DAY, NULL},
        {NULL, "555-123-4567", "", DAY, NULL},
        {NULL, "192.168.0.2023", "", DAY, NULL},
        {NULL, "2023-05", "", DAY, NULL},
        {NULL, "$2023-05-07", "", DAY, NULL},
        {NULL, "99999999999999999999-05-07", "", DAY, NULL},
        {NULL, "20230507", "", DAY, NULL},
        {NULL, "2023-05-07x", "", DAY, NULL},
        {NULL, "2023 - 05 - 07", "", DAY, NULL},
        {NULL, "2023-05/07", "", DAY, NULL},
    };
    MENTIONS_CHECK(rows);
}
END_TEST

START_TEST(with_the_month_s_name)
{
    static const struct mention_row rows[] = {
        {NULL, "7 May 2023", "2023-05-07", DAY, "7 May 2023"},
        {NULL, "7 May, 2023", "2023-05-07", DAY, NULL},
        {NULL, "on the 7th of May 2023", "2023-05-07", DAY, "the 7th of May 2023"},
        {NULL, "7th may 2023", "2023-05-07", DAY, NULL},
        {NULL, "May 7 2023", "2023-05-07", DAY, NULL},
        {NULL, "May 7, 2023", "2023-05-07", DAY, "May 7, 2023"},
        {NULL, "may 7th, 2023", "2023-05-07", DAY, NULL},
        {NULL, "Dec. 5, 2022", "2022-12-05", DAY, "Dec. 5, 2022"},
        {NULL, "5 Sept 2022", "2022-09-05", DAY, NULL},
        {NULL, "Sunday, May 7, 2023", "2023-05-07", DAY, "Sunday, May 7, 2023"},
        {NULL, "Sun, 7 May 2023", "2023-05-07", DAY, "Sun, 7 May 2023"},
        {NULL, "6–7 May 2023", "2023-05-06..2023-05-07", DAY, "6–7 May 2023"},
        {NULL, "May 6-7, 2023", "2023-05-06..2023-05-07", DAY, "May 6-7, 2023"},
        {NULL, "February 29, 2024", "2024-02-29", DAY, NULL},
        {NULL, "the fifth of May, 2023", "2023-05-05", DAY, NULL},
        {NULL, "May 2023", "2023-05-01..2023-05-31", MONTH, "May 2023"},
        {NULL, "may 2023 was warm", "2023-05-01..2023-05-31", MONTH, NULL},
        {NULL, "in February of 2024", "2024-02-01..2024-02-29", MONTH, "February of 2024"},
        {NULL, "Feb. 2024", "2024-02-01..2024-02-29", MONTH, NULL},
        {NULL, "am 7. Mai 2023", "2023-05-07", DAY, "7. Mai 2023"},
        {NULL, "el 7 de mayo de 2023", "2023-05-07", DAY, "7 de mayo de 2023"},
        {NULL, "le 7 août 2022", "2022-08-07", DAY, NULL},
        {NULL, "7 мая 2023", "2023-05-07", DAY, NULL},
        {NULL, "2023年5月7日", "2023-05-07", DAY, "2023年5月7日"},
        {NULL, "2023年5月", "2023-05-01..2023-05-31", MONTH, NULL},
        {NULL, "2023年", "2023-01-01..2023-12-31", YEAR, NULL},
        {NULL, "2023년 5월 7일에", "2023-05-07", DAY, "2023년 5월 7일"},
    };
    MENTIONS_CHECK(rows);
}
END_TEST

START_TEST(without_the_year)
{
    static const struct mention_row rows[] = {
        {NULL, "May 7", "2023-05-07", DAY, "May 7"},
        {NULL, "7 May", "2023-05-07", DAY, NULL},
        {NULL, "on May 7th we met", "2023-05-07", DAY, "May 7th"},
        {NULL, "November 8", "2023-11-08", DAY, NULL},
        {NULL, "November 9", "2022-11-09", DAY, NULL}, /* over six months ahead */
        {NULL, "December 24", "2022-12-24", DAY, NULL},
        {NULL, "Feb 29", "2020-02-29", DAY, NULL},
        {NULL, "the 7th of may", "2023-05-07", DAY, NULL},
        {NULL, "the second of June", "2023-06-02", DAY, "the second of June"},
        {NULL, "May 6-7", "2023-05-06..2023-05-07", DAY, NULL},
        {NULL, "my birthday is on march 5", "2023-03-05", DAY, "march 5"},
        {NULL, "5月7日", "2023-05-07", DAY, NULL},
        {NULL, "in May", "2023-05-01..2023-05-31", MONTH, "May"},
        {NULL, "since march", "2023-03-01..2023-03-31", MONTH, NULL},
        {NULL, "in december", "2022-12-01..2022-12-31", MONTH, NULL},
        {NULL, "at the end of October", "2023-10-01..2023-10-31", MONTH, NULL},
        {NULL, "early June", "2023-06-01..2023-06-30", MONTH, NULL},
        {NULL, "in Dec we left", "2022-12-01..2022-12-31", MONTH, "Dec"},
        {"2023-12-20T12:00:00Z", "January 5", "2024-01-05", DAY, NULL},
        {"2023-01-10T12:00:00Z", "December 20", "2022-12-20", DAY, NULL},
    };
    MENTIONS_CHECK(rows);
}
END_TEST

START_TEST(years_and_seasons)
{
    static const struct mention_row rows[] = {
        {NULL, "in 2022", "2022-01-01..2022-12-31", YEAR, "2022"},
        {NULL, "In 2022, we moved", "2022-01-01..2022-12-31", YEAR, NULL},
        {NULL, "since 2019", "2019-01-01..2019-12-31", YEAR, NULL},
        {NULL, "until 2030.", "2030-01-01..2030-12-31", YEAR, NULL},
        {NULL, "back in 1999", "1999-01-01..1999-12-31", YEAR, NULL},
        {NULL, "before 2020", "2020-01-01..2020-12-31", YEAR, NULL},
        {NULL, "late 2021", "2021-01-01..2021-12-31", YEAR, NULL},
        {NULL, "summer 2022", "2022-06-01..2022-08-31", MONTH, "summer 2022"},
        {NULL, "the winter of 2022", "2022-12-01..2023-02-28", MONTH, "winter of 2022"},
        {NULL, "I've 2023 reasons", "", DAY, NULL},
        {NULL, "in 2000 steps", "", DAY, NULL},
        {NULL, "in 2023-24", "", DAY, NULL},
        {NULL, "in 20223", "", DAY, NULL},
        {NULL, "in 1500", "", DAY, NULL},
        {NULL, "room 2022", "", DAY, NULL},
        {NULL, "in 2022%", "", DAY, NULL},
    };
    MENTIONS_CHECK(rows);
}
END_TEST

START_TEST(day_of_the_month)
{
    static const struct mention_row rows[] = {
        {NULL, "on the 5th", "2023-05-05", NEAR_DAY, "the 5th"},
        {NULL, "on the 9th.", "2023-04-09", NEAR_DAY, NULL},
        {NULL, "on the 8th we left", "2023-05-08", NEAR_DAY, NULL},
        {NULL, "I will be there on the 5th", "2023-06-05", NEAR_DAY, NULL},
        {NULL, "until the 31st", "2023-05-31", NEAR_DAY, NULL},
        {NULL, "on the 31st", "2023-03-31", NEAR_DAY, NULL},
        {NULL, "on the 5th floor", "", DAY, NULL},
        {NULL, "on the 5th try", "", DAY, NULL},
        {NULL, "on the 5", "", DAY, NULL},
        {NULL, "the 5th", "", DAY, NULL},
        {NULL, "on the second", "", DAY, NULL},
        {NULL, "on the 45th", "", DAY, NULL},
    };
    MENTIONS_CHECK(rows);
}
END_TEST

START_TEST(other_words)
{
    static const struct mention_row rows[] = {
        {NULL, "I may 5 times", "", DAY, NULL},
        {NULL, "you may 2023", "", DAY, NULL},
        {NULL, "we may be late", "", DAY, NULL},
        {NULL, "5 may not be enough", "", DAY, NULL},
        {NULL, "this may help", "", DAY, NULL},
        {NULL, "we march 5 miles", "", DAY, NULL},
        {NULL, "March on!", "", DAY, NULL},
        {NULL, "give me a second", "", DAY, NULL},
        {NULL, "the second time", "", DAY, NULL},
        {NULL, "I sat down in the sun", "", DAY, NULL},
        {NULL, "we last sat here", "", DAY, NULL},
        {NULL, "the fall of Rome", "", DAY, NULL},
        {NULL, "June and April are friends", "", DAY, NULL},
        {NULL, "May 45", "", DAY, NULL},
        {NULL, "May 5,000 people", "", DAY, NULL},
        {NULL, "May 5km", "", DAY, NULL},
        {NULL, "31 June 2023", "2023-06-01..2023-06-30", MONTH, "June 2023"},
        {NULL, "7-5 May", "", DAY, NULL},
        {NULL, "", "", DAY, NULL},
        {NULL, "... --- !!!", "", DAY, NULL},
    };
    MENTIONS_CHECK(rows);
}
END_TEST

Suite *suite_dates_absolute(void)
{
    Suite *suite = suite_create("dates_absolute");
    TCase *tc = tcase_create("dates_absolute");
    tcase_add_test(tc, numeric);
    tcase_add_test(tc, numbers_that_are_no_dates);
    tcase_add_test(tc, with_the_month_s_name);
    tcase_add_test(tc, without_the_year);
    tcase_add_test(tc, years_and_seasons);
    tcase_add_test(tc, day_of_the_month);
    tcase_add_test(tc, other_words);
    suite_add_tcase(suite, tc);
    return suite;
}
