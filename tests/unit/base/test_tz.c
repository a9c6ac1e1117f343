#include "core/base/tz.h"

#include <check.h>

#include "core/base/civil.h"

static int offset(const char *zone, const char *when)
{
    int64_t utc_ms;
    int ignored;
    ck_assert(rfc3339_parse(str_of(when), &utc_ms, &ignored));
    return tz_offset_min(str_of(zone), utc_ms);
}

START_TEST(names)
{
    static const char *const good[] = {"UTC",
                                       "+00:00",
                                       "+05:30",
                                       "-08:00",
                                       "-23:59",
                                       "Europe/Berlin",
                                       "America/Argentina/Buenos_Aires",
                                       "Etc/GMT+5",
                                       "Asia/Kolkata",
                                       "GMT"};
    static const char *const invalid[] = {
        "",
        "/etc/passwd",
        "../etc/passwd",
        "Europe/../x",
        "Europe/",
        "/Europe/Berlin",
        "Europe//Berlin",
        ".",
        "a b",
        "+5:30",
        "+24:00",
        "+05:60",
        "+0530",
        "05:30",
        "UTC+1:00",
        "Europe/Berlin\n",
        "é",
        "Aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};
    static const char *const unknown[] = {"Europe/Atlantis", "Nowhere", "Europe", "utc0"};
    struct err err;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        ck_assert_msg(tz_check(str_of(good[i]), &err) == ERR_OK, "%s", good[i]);
    for (size_t i = 0; i < sizeof invalid / sizeof invalid[0]; i++)
        ck_assert_msg(tz_check(str_of(invalid[i]), &err) == ERR_INVALID, "%s", invalid[i]);
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
        ck_assert_msg(tz_check(str_of(unknown[i]), &err) == ERR_NOT_FOUND, "%s", unknown[i]);
        ck_assert_int_eq(offset(unknown[i], "2023-05-08T12:00:00Z"), 0);
    }
    ck_assert_int_eq(tz_check(STR("Europe/Berlin\0"), &err), ERR_INVALID);
    ck_assert_int_eq(tz_check(STR_NONE, NULL), ERR_INVALID);
}
END_TEST

START_TEST(fixed_offsets)
{
    ck_assert_int_eq(offset("UTC", "2023-05-08T12:00:00Z"), 0);
    ck_assert_int_eq(offset("+05:30", "2023-05-08T12:00:00Z"), 330);
    ck_assert_int_eq(offset("-08:15", "2023-05-08T12:00:00Z"), -495);
    ck_assert_int_eq(offset("../../etc/passwd", "2023-05-08T12:00:00Z"), 0);
}
END_TEST

START_TEST(from_the_transition_table)
{
    ck_assert_int_eq(offset("Europe/Berlin", "2023-01-01T00:00:00Z"), 60);
    ck_assert_int_eq(offset("Europe/Berlin", "2023-03-26T00:59:59Z"), 60);
    ck_assert_int_eq(offset("Europe/Berlin", "2023-03-26T01:00:00Z"), 120);
    ck_assert_int_eq(offset("Europe/Berlin", "2023-10-29T00:59:59Z"), 120);
    ck_assert_int_eq(offset("Europe/Berlin", "2023-10-29T01:00:00Z"), 60);
    ck_assert_int_eq(offset("Asia/Kolkata", "2023-05-08T00:00:00Z"), 330);
    ck_assert_int_eq(offset("America/New_York", "1945-08-15T00:00:00Z"), -240);
    ck_assert_int_eq(offset("Europe/Berlin", "1800-01-01T00:00:00Z"), 53); /* local mean time */
    ck_assert_int_eq(offset("Asia/Kathmandu", "2023-05-08T00:00:00Z"), 345);
    ck_assert_int_eq(offset("Pacific/Apia", "2011-12-30T09:59:59Z"), -600);
    ck_assert_int_eq(offset("Pacific/Apia", "2011-12-30T10:00:00Z"), 840);
}
END_TEST

START_TEST(from_the_footer)
{
    ck_assert_int_eq(offset("Europe/Berlin", "2101-01-01T00:00:00Z"), 60);
    ck_assert_int_eq(offset("Europe/Berlin", "2101-07-01T00:00:00Z"), 120);
    ck_assert_int_eq(offset("America/New_York", "2100-03-14T06:59:59Z"), -300);
    ck_assert_int_eq(offset("America/New_York", "2100-03-14T07:00:00Z"), -240);
    ck_assert_int_eq(offset("America/New_York", "2100-11-07T05:59:59Z"), -240);
    ck_assert_int_eq(offset("America/New_York", "2100-11-07T06:00:00Z"), -300);
    ck_assert_int_eq(offset("Australia/Sydney", "2100-01-01T00:00:00Z"), 660); /* over new year */
    ck_assert_int_eq(offset("Australia/Sydney", "2100-07-01T00:00:00Z"), 600);
    ck_assert_int_eq(offset("Europe/Dublin", "2100-07-01T00:00:00Z"), 60); /* winter is its "DST" */
    ck_assert_int_eq(offset("Europe/Dublin", "2100-01-01T00:00:00Z"), 0);
    ck_assert_int_eq(offset("Asia/Tokyo", "2100-01-01T00:00:00Z"), 540);
    ck_assert_int_eq(offset("America/Nuuk", "2100-07-01T00:00:00Z"), -60); /* negative rule times */
    ck_assert_int_eq(offset("America/Nuuk", "2100-01-01T00:00:00Z"), -120);
    ck_assert_int_eq(offset("Europe/Berlin", "9999-07-01T00:00:00Z"), 120);
}
END_TEST

START_TEST(extreme_moments_are_answered)
{
    static const int64_t moments[] = {INT64_MIN / 4, -1, 0, 1, INT64_C(253402300799999)};
    for (size_t i = 0; i < sizeof moments / sizeof moments[0]; i++) {
        int minutes = tz_offset_min(STR("Europe/Berlin"), moments[i]);
        ck_assert(minutes == 53 || minutes == 60 || minutes == 120);
    }
}
END_TEST

Suite *suite_tz(void)
{
    Suite *suite = suite_create("tz");
    TCase *tc = tcase_create("tz");
    tcase_add_test(tc, names);
    tcase_add_test(tc, fixed_offsets);
    tcase_add_test(tc, from_the_transition_table);
    tcase_add_test(tc, from_the_footer);
    tcase_add_test(tc, extreme_moments_are_answered);
    suite_add_tcase(suite, tc);
    return suite;
}
