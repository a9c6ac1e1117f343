#include "core/base/str.h"

#include <check.h>
#include <math.h>

START_TEST(comparing)
{
    ck_assert(str_eq(STR("a\0b"), STR("a\0b")) && !str_eq(STR("a\0b"), STR("a\0c")));
    ck_assert(str_eq(STR(""), STR_NONE) && !str_eq(STR("a"), STR_NONE));
    ck_assert_int_lt(str_cmp(STR("a"), STR("ab")), 0);
    ck_assert_int_gt(str_cmp(STR("b"), STR("ab")), 0);
    ck_assert_int_eq(str_cmp(STR("ab"), STR("ab")), 0);
    ck_assert_int_eq(str_cmp(STR_NONE, STR("")), 0);
    ck_assert_int_gt(str_cmp(STR("\xff"), STR("a")), 0); /* bytes, not signed characters */
    ck_assert(str_starts(STR("abc"), STR("ab")) && !str_starts(STR("a"), STR("ab")));
    ck_assert(str_ends(STR("abc"), STR("bc")) && !str_ends(STR("c"), STR("bc")));
    ck_assert(str_starts(STR("abc"), STR("")) && str_ends(STR(""), STR("")));
}
END_TEST

START_TEST(parts)
{
    ck_assert(str_eq(str_part(STR("hello"), 1, 3), STR("el")));
    ck_assert(str_eq(str_part(STR("hello"), 3, 99), STR("lo")));
    ck_assert(str_eq(str_part(STR("hello"), 9, 99), STR("")));
    ck_assert(str_eq(str_part(STR("hello"), 3, 1), STR("")));
    ck_assert_ptr_null(str_part(STR_NONE, 0, 5).at);
    ck_assert(str_eq(str_trim(STR(" \t\r\n x y \v\f")), STR("x y")));
    ck_assert(str_eq(str_trim(STR("  ")), STR("")));
    ck_assert(str_eq(str_trim(STR_NONE), STR("")));
    ck_assert_uint_eq(str_index(STR("a,b"), ','), 1);
    ck_assert_uint_eq(str_index(STR("ab"), ','), 2);
    ck_assert_uint_eq(str_index(STR_NONE, ','), 0);
    ck_assert(str_eq(str_of(NULL), STR_NONE) && str_of(NULL).at == NULL);
}
END_TEST

START_TEST(copies)
{
    struct arena *arena = arena_new(4096);
    struct str copy = str_copy(arena, STR("hello"));
    ck_assert(str_eq(copy, STR("hello")) && copy.at[5] == '\0');
    copy = str_copy(arena, STR_NONE);
    ck_assert(copy.at != NULL && copy.len == 0);
    copy = str_printf(arena, "%d %s", 7, "x");
    ck_assert(str_eq(copy, STR("7 x")) && copy.at[3] == '\0');
    arena_fail_after(arena, 1);
    ck_assert_ptr_null(str_copy(arena, STR("x")).at);
    arena_fail_after(arena, 1);
    ck_assert_ptr_null(str_printf(arena, "x").at);
    ck_assert_ptr_null(str_printf(arena, "%9000d", 1).at); /* over the cap */
    arena_free(arena);
}
END_TEST

START_TEST(whole_numbers)
{
    static const char *const bad[] = {"",
                                      " 1",
                                      "1 ",
                                      "+1",
                                      "-1",
                                      "1a",
                                      "0x1",
                                      "18446744073709551616",
                                      "99999999999999999999",
                                      "1.0",
                                      "000000000000000000001"};
    uint64_t n;
    ck_assert(str_u64(STR("0"), 10, &n) && n == 0);
    ck_assert(str_u64(STR("10"), 10, &n) && n == 10);
    ck_assert(!str_u64(STR("11"), 10, &n));
    ck_assert(str_u64(STR("18446744073709551615"), UINT64_MAX, &n) && n == UINT64_MAX);
    ck_assert(str_u64(STR("007"), 10, &n) && n == 7);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_msg(!str_u64(str_of(bad[i]), UINT64_MAX, &n), "%s", bad[i]);
}
END_TEST

START_TEST(real_numbers)
{
    static const char *const bad[] = {"",      "x",  "1x", "inf", "nan",   "1e999",
                                      "0x1p3", "1 ", " 1", "--1", "1.2.3", "e5"};
    double d;
    ck_assert(str_double(STR("1.5"), &d) && fabs(d - 1.5) < 1e-12);
    ck_assert(str_double(STR("-2e3"), &d) && fabs(d + 2000) < 1e-12);
    ck_assert(str_double(STR(".5"), &d) && fabs(d - 0.5) < 1e-12);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_msg(!str_double(str_of(bad[i]), &d), "%s", bad[i]);
    char nul[] = {'1', '\0', '2'};
    ck_assert(!str_double((struct str){nul, 3}, &d));
    char longer[80];
    memset(longer, '1', sizeof longer);
    ck_assert(!str_double((struct str){longer, sizeof longer}, &d));
}
END_TEST

Suite *suite_str(void)
{
    Suite *suite = suite_create("str");
    TCase *tc = tcase_create("str");
    tcase_add_test(tc, comparing);
    tcase_add_test(tc, parts);
    tcase_add_test(tc, copies);
    tcase_add_test(tc, whole_numbers);
    tcase_add_test(tc, real_numbers);
    suite_add_tcase(suite, tc);
    return suite;
}
