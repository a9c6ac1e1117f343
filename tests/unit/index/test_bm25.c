#include "core/index/bm25.h"

#include <check.h>

enum { MICRO = 1000000 };

static long micro(float value)
{
    return (long)(value * MICRO + 0.5f);
}

/* ln(1 + (N - n + 0.5) / (n + 0.5)), by hand. */
START_TEST(idf_is_the_formula)
{
    ck_assert_int_eq(micro(bm25_idf(0, 0)), 693147);      /* ln 2 */
    ck_assert_int_eq(micro(bm25_idf(1, 1)), 287682);      /* ln(4/3) */
    ck_assert_int_eq(micro(bm25_idf(10, 1)), 1992430);    /* ln(22/3) */
    ck_assert_int_eq(micro(bm25_idf(10, 10)), 46520);     /* ln(22/21) */
    ck_assert_int_eq(micro(bm25_idf(1000, 10)), 4557380); /* ln(2002/21) */
    ck_assert_int_eq(micro(bm25_idf(3, 5)), micro(bm25_idf(3, 3)));
    for (uint64_t n = 0; n <= 100; n++)
        ck_assert(bm25_idf(100, n) > 0);
}
END_TEST

START_TEST(saturation_is_the_formula)
{
    struct bm25 p = {.k1 = 1.2f, .b = 0.75f, .avg = 10};
    ck_assert_int_eq(micro(bm25_tf(&p, 1, 10)), 1000000); /* 2.2 / 2.2 */
    ck_assert_int_eq(micro(bm25_tf(&p, 2, 10)), 1375000); /* 4.4 / 3.2 */
    ck_assert_int_eq(micro(bm25_tf(&p, 1, 20)), 709677);  /* 2.2 / 3.1 */
    ck_assert_int_eq(micro(bm25_tf(&p, 3, 5)), 1760000);  /* 6.6 / 3.75 */
    p.b = 0;
    ck_assert_int_eq(micro(bm25_tf(&p, 1, 1000)), 1000000);
    ck_assert(bm25_tf(&p, 1e9f, 1) <= p.k1 + 1); /* the most that a term can give */
}
END_TEST

Suite *suite_bm25(void)
{
    Suite *suite = suite_create("bm25");
    TCase *tcase = tcase_create("bm25");
    tcase_add_test(tcase, idf_is_the_formula);
    tcase_add_test(tcase, saturation_is_the_formula);
    suite_add_tcase(suite, tcase);
    return suite;
}
