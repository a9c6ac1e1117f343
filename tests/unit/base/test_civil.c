#include "core/base/civil.h"

#include <check.h>
#include <time.h>

START_TEST(days_come_back)
{
    for (int64_t days = -800000; days <= 3000000; days += 97) {
        struct civil c = civil_from_days(days);
        ck_assert(civil_to_days(c) == days);
        ck_assert(c.month >= 1 && c.month <= 12 && c.day >= 1);
        ck_assert(c.day <= civil_days_in_month(c.year, c.month));
    }
}
END_TEST

/* Every day of 800 years follows the one before it. */
START_TEST(days_follow_each_other)
{
    struct civil c = {1600, 1, 1};
    int64_t days = civil_to_days(c);
    int weekday = civil_weekday(c);
    for (int i = 0; i < 292194; i++) {
        c.day++;
        if (c.day > civil_days_in_month(c.year, c.month)) {
            c.day = 1;
            c.year += c.month == 12;
            c.month = c.month % 12 + 1;
        }
        days++;
        weekday = (weekday + 1) % 7;
        struct civil from = civil_from_days(days);
        if (civil_to_days(c) != days || civil_weekday(c) != weekday || from.year != c.year ||
            from.month != c.month || from.day != c.day)
            ck_abort_msg("%d-%d-%d", c.year, c.month, c.day);
    }
}
END_TEST

START_TEST(known_days)
{
    ck_assert_int_eq(civil_to_days((struct civil){1970, 1, 1}), 0);
    ck_assert_int_eq(civil_to_days((struct civil){2000, 3, 1}), 11017);
    ck_assert_int_eq(civil_to_days((struct civil){1, 1, 1}), -719162);
    ck_assert_int_eq(civil_to_days((struct civil){9999, 12, 31}), 2932896);
    ck_assert_int_eq(civil_weekday((struct civil){1970, 1, 1}), 3);
    ck_assert_int_eq(civil_weekday((struct civil){2023, 5, 8}), 0);
    ck_assert_int_eq(civil_weekday((struct civil){1900, 1, 1}), 0);
    ck_assert_int_eq(civil_weekday((struct civil){1, 1, 1}), 0);
}
END_TEST

START_TEST(as_the_c_library_has_it)
{
    for (int64_t s = INT64_C(-60000000000); s < INT64_C(250000000000); s += INT64_C(100000007)) {
        time_t t = (time_t)s;
        struct tm tm;
        ck_assert_ptr_nonnull(gmtime_r(&t, &tm));
        struct civil c = civil_of_moment(s * 1000, 0);
        ck_assert(c.year == tm.tm_year + 1900 && c.month == tm.tm_mon + 1 && c.day == tm.tm_mday);
        ck_assert_int_eq(civil_weekday(c), (tm.tm_wday + 6) % 7);
    }
}
END_TEST

START_TEST(validity)
{
    static const struct civil bad[] = {{0, 1, 1},     {10000, 1, 1}, {2023, 0, 1},  {2023, 13, 1},
                                       {2023, 1, 0},  {2023, 1, 32}, {2023, 2, 29}, {1900, 2, 29},
                                       {2023, 4, 31}, {-1, 1, 1}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_msg(!civil_is_valid(bad[i]), "row %zu", i);
    ck_assert(civil_is_valid((struct civil){2024, 2, 29}));
    ck_assert(civil_is_valid((struct civil){2000, 2, 29}));
    ck_assert(civil_is_valid((struct civil){1, 1, 1}));
    ck_assert(civil_is_valid((struct civil){9999, 12, 31}));
}
END_TEST

static void check_date(struct civil c, int year, int month, int day)
{
    ck_assert_msg(c.year == year && c.month == month && c.day == day, "%d-%d-%d", c.year, c.month,
                  c.day);
}

START_TEST(adding)
{
    check_date(civil_add_days((struct civil){2024, 2, 28}, 1), 2024, 2, 29);
    check_date(civil_add_days((struct civil){2023, 1, 1}, -1), 2022, 12, 31);
    check_date(civil_add_months((struct civil){2023, 1, 31}, 1), 2023, 2, 28);
    check_date(civil_add_months((struct civil){2023, 11, 30}, 3), 2024, 2, 29);
    check_date(civil_add_months((struct civil){2023, 3, 31}, -1), 2023, 2, 28);
    check_date(civil_add_months((struct civil){2023, 5, 8}, -12), 2022, 5, 8);
    check_date(civil_add_months((struct civil){2023, 12, 1}, 1), 2024, 1, 1);
    check_date(civil_add_months((struct civil){1, 1, 5}, -1), 1, 1, 1);
}
END_TEST

START_TEST(moments)
{
    check_date(civil_of_moment(INT64_C(1683502200000), 0), 2023, 5, 7); /* 23:30Z */
    check_date(civil_of_moment(INT64_C(1683502200000), 120), 2023, 5, 8);
    check_date(civil_of_moment(INT64_C(1683502200000), -480), 2023, 5, 7);
    check_date(civil_of_moment(-1, 0), 1969, 12, 31);
    check_date(civil_of_moment(-MS_PER_DAY, 0), 1969, 12, 31);
    check_date(civil_of_moment(-MS_PER_DAY - 1, 0), 1969, 12, 30);
}
END_TEST

START_TEST(good_rfc3339)
{
    static const struct {
        const char *text;
        int64_t utc_ms;
        int offset_min;
    } rows[] = {
        {"1970-01-01T00:00:00Z", 0, 0},
        {"2023-05-08T13:56:00Z", INT64_C(1683554160000), 0},
        {"2023-05-08t13:56:00z", INT64_C(1683554160000), 0},
        {"2023-05-08 13:56:00Z", INT64_C(1683554160000), 0},
        {"2023-05-08T15:56:00+02:00", INT64_C(1683554160000), 120},
        {"2023-05-08T05:26:00-08:30", INT64_C(1683554160000), -510},
        {"2023-05-08T13:56:00.5Z", INT64_C(1683554160500), 0},
        {"2023-05-08T13:56:00.123456789Z", INT64_C(1683554160123), 0},
        {"2016-12-31T23:59:60Z", INT64_C(1483228799000), 0},
        {"1969-12-31T23:59:59.999Z", -1, 0},
        {"0001-01-01T00:00:00Z", INT64_C(-62135596800000), 0},
        {"9999-12-31T23:59:59Z", INT64_C(253402300799000), 0},
        {"2023-05-08T13:56:00+23:59", INT64_C(1683467820000), 1439},
        {"2023-05-08T13:56:00-00:00", INT64_C(1683554160000), 0},
        {"0001-01-01T23:59:00+23:59", INT64_C(-62135596800000), 1439},
        {"9999-12-31T00:00:59-23:59", INT64_C(253402300799000), -1439},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int64_t utc_ms;
        int offset_min;
        ck_assert_msg(rfc3339_parse(str_of(rows[i].text), &utc_ms, &offset_min), "%s",
                      rows[i].text);
        ck_assert_msg(utc_ms == rows[i].utc_ms && offset_min == rows[i].offset_min, "%s",
                      rows[i].text);
    }
}
END_TEST

START_TEST(bad_rfc3339)
{
    static const char *const rows[] = {
        "",
        "2023",
        "2023-05-08",
        "2023-05-08T13:56:00",
        "2023-05-08T13:56Z",
        "2023-05-08T24:00:00Z",
        "2023-05-08T13:60:00Z",
        "2023-05-08T13:56:61Z",
        "2023-02-29T13:56:00Z",
        "2023-13-08T13:56:00Z",
        "2023-05-32T13:56:00Z",
        "0000-05-08T13:56:00Z",
        "2023-05-08X13:56:00Z",
        "2023-05-08T13:56:00.Z",
        "2023-05-08T13:56:00,5Z",
        "2023-05-08T13:56:00+2:00",
        "2023-05-08T13:56:00+0200",
        "2023-05-08T13:56:00+24:00",
        "2023-05-08T13:56:00+02:60",
        "2023-05-08T13:56:00ZZ",
        " 2023-05-08T13:56:00Z",
        "2023-05-08T13:56:00Z ",
        "-023-05-08T13:56:00Z",
        "0001-01-01T23:58:59+23:59",
        "9999-12-31T00:01:00-23:59",
        "2023-05-08T13:56:00 02:00",
        "2023-05-08T1a:56:00Z",
        "20230508T135600Z",
        "2023-05-08T13:56:00.123456789012345678901234567890123456789012345678901234567890Z",
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int64_t utc_ms;
        int offset_min;
        ck_assert_msg(!rfc3339_parse(str_of(rows[i]), &utc_ms, &offset_min), "%s", rows[i]);
    }
    int64_t utc_ms;
    int offset_min;
    ck_assert(!rfc3339_parse(STR_NONE, &utc_ms, &offset_min));
}
END_TEST

START_TEST(formats_come_back)
{
    char text[RFC3339_MAX], day[CIVIL_DATE_MAX];
    for (int64_t ms = INT64_C(-62135596800000); ms < INT64_C(253402300800000);
         ms += INT64_C(123456789011)) {
        int64_t back;
        int offset;
        size_t n = rfc3339_format(ms, text);
        ck_assert_uint_eq(n, strlen(text));
        ck_assert_msg(rfc3339_parse((struct str){text, n}, &back, &offset) && back == ms, "%s",
                      text);
        struct civil date = civil_of_moment(ms, 0), again;
        n = civil_format(date, day);
        ck_assert(civil_parse((struct str){day, n}, &again));
        ck_assert(civil_to_days(again) == civil_to_days(date));
    }
    rfc3339_format(INT64_C(1683554160000), text);
    ck_assert_str_eq(text, "2023-05-08T13:56:00Z");
    rfc3339_format(INT64_C(1683554160007), text);
    ck_assert_str_eq(text, "2023-05-08T13:56:00.007Z");
}
END_TEST

Suite *suite_civil(void)
{
    Suite *suite = suite_create("civil");
    TCase *tc = tcase_create("civil");
    tcase_add_test(tc, days_come_back);
    tcase_add_test(tc, days_follow_each_other);
    tcase_add_test(tc, known_days);
    tcase_add_test(tc, as_the_c_library_has_it);
    tcase_add_test(tc, validity);
    tcase_add_test(tc, adding);
    tcase_add_test(tc, moments);
    tcase_add_test(tc, good_rfc3339);
    tcase_add_test(tc, bad_rfc3339);
    tcase_add_test(tc, formats_come_back);
    suite_add_tcase(suite, tc);
    return suite;
}
