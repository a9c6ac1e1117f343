#include <check.h>

#include "server/waits.h"

static struct waits *waits;

static void setup(void)
{
    waits = waits_new();
    ck_assert_ptr_nonnull(waits);
}

static void teardown(void)
{
    waits_free(waits);
}

static struct step waiting(uint64_t space, uint64_t seq, int64_t until_ms)
{
    return (struct step){.wait_space = space, .wait_seq = seq, .wait_until_ms = until_ms};
}

static unsigned length(const struct step *list)
{
    unsigned n = 0;
    for (; list != NULL; list = list->next)
        n++;
    return n;
}

START_TEST(told_when_reached)
{
    struct step step = waiting(7, 5, 1000);
    ck_assert(waits_add(waits, &step));
    ck_assert_ptr_null(waits_tell(waits, 7, 4, false));
    ck_assert_ptr_null(waits_tell(waits, 8, 9, false));
    ck_assert_ptr_eq(waits_tell(waits, 7, 5, false), &step);
    ck_assert(!step.timed_out);
    ck_assert_ptr_null(waits_tell(waits, 7, 6, false));
    ck_assert_uint_eq(waits_count(waits), 0);
}
END_TEST

START_TEST(told_when_dropped)
{
    struct step step = waiting(7, 5, 1000);
    ck_assert(waits_add(waits, &step));
    ck_assert_ptr_eq(waits_tell(waits, 7, 0, true), &step);
    ck_assert(!step.timed_out);
}
END_TEST

/* Spaces 1 to 2,000 share 256 buckets. */
START_TEST(buckets_do_not_mix_spaces)
{
    enum { N = 2000 };
    static struct step steps[N];
    for (unsigned i = 0; i < N; i++) {
        steps[i] = waiting(i + 1, i % 3, 1000);
        ck_assert(waits_add(waits, &steps[i]));
    }
    ck_assert_uint_eq(waits_count(waits), N);
    for (unsigned i = 0; i < N; i++)
        ck_assert_ptr_eq(waits_tell(waits, i + 1, 2, false), &steps[i]);
    ck_assert_uint_eq(waits_count(waits), 0);
}
END_TEST

START_TEST(several_of_a_space)
{
    struct step steps[4] = {waiting(1, 1, 10), waiting(1, 2, 10), waiting(1, 3, 10),
                            waiting(1, 2, 10)};
    for (unsigned i = 0; i < 4; i++)
        ck_assert(waits_add(waits, &steps[i]));
    ck_assert_uint_eq(length(waits_tell(waits, 1, 2, false)), 3);
    ck_assert_uint_eq(length(waits_tell(waits, 1, 3, false)), 1);
}
END_TEST

START_TEST(time_runs_out)
{
    struct step early = waiting(1, 9, 100);
    struct step late = waiting(2, 9, 200);
    ck_assert_int_eq(waits_next_ms(waits), INT64_MAX);
    ck_assert(waits_add(waits, &late));
    ck_assert_int_eq(waits_next_ms(waits), 200);
    ck_assert(waits_add(waits, &early));
    ck_assert_int_eq(waits_next_ms(waits), 100);
    ck_assert_ptr_null(waits_expire(waits, 99));
    ck_assert_ptr_eq(waits_expire(waits, 100), &early);
    ck_assert(early.timed_out);
    ck_assert_int_eq(waits_next_ms(waits), 200);
    ck_assert_ptr_eq(waits_expire(waits, 5000), &late);
    ck_assert_int_eq(waits_next_ms(waits), INT64_MAX);
}
END_TEST

START_TEST(the_end)
{
    struct step steps[2] = {waiting(1, 9, INT64_MAX), waiting(2, 9, 100)};
    ck_assert(waits_add(waits, &steps[0]));
    ck_assert(waits_add(waits, &steps[1]));
    ck_assert_uint_eq(length(waits_end(waits)), 2);
    ck_assert(steps[0].timed_out && steps[1].timed_out);
    struct step after = waiting(1, 9, INT64_MAX);
    ck_assert(!waits_add(waits, &after));
    ck_assert(after.timed_out);
    ck_assert_ptr_null(waits_end(waits));
}
END_TEST

Suite *suite_waits(void)
{
    Suite *suite = suite_create("waits");
    TCase *tcase = tcase_create("waits");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, told_when_reached);
    tcase_add_test(tcase, told_when_dropped);
    tcase_add_test(tcase, buckets_do_not_mix_spaces);
    tcase_add_test(tcase, several_of_a_space);
    tcase_add_test(tcase, time_runs_out);
    tcase_add_test(tcase, the_end);
    suite_add_tcase(suite, tcase);
    return suite;
}
