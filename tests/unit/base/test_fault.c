#include "core/base/fault.h"

#include <check.h>
#include <errno.h>
#include <signal.h>

START_TEST(without_a_plan_nothing_happens)
{
    for (int id = 0; id < FAULT_COUNT; id++)
        ck_assert_int_eq(fault_point((enum fault_id)id), 0);
}
END_TEST

#ifdef HYPERMEM_FAULTS

START_TEST(plans_are_parsed)
{
    static const char *const bad[] = {"x",
                                      "writer.mid_apply",
                                      "writer.mid_apply:1",
                                      "writer.mid_apply:x:kill",
                                      "nowhere:1:kill",
                                      "writer.mid_apply:1:explode",
                                      ":1:kill"};
    ck_assert(fault_plan(STR("")));
    ck_assert(fault_plan(STR("writer.mid_apply:3:eio,reply.before_send:1:enospc")));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_msg(!fault_plan(str_of(bad[i])), "%s", bad[i]);
    ck_assert_str_eq(fault_name(FAULT_WRITER_MID_APPLY), "writer.mid_apply");
}
END_TEST

START_TEST(the_nth_visit_fails)
{
    ck_assert(fault_plan(STR("writer.mid_apply:3:eio,reply.before_send:1:enospc")));
    ck_assert_int_eq(fault_point(FAULT_WRITER_MID_APPLY), 0);
    ck_assert_int_eq(fault_point(FAULT_WRITER_MID_APPLY), 0);
    ck_assert_int_eq(fault_point(FAULT_REPLY_BEFORE_SEND), ENOSPC);
    ck_assert_int_eq(fault_point(FAULT_WRITER_MID_APPLY), EIO);
    ck_assert_int_eq(fault_point(FAULT_WRITER_MID_APPLY), 0); /* once */
}
END_TEST

START_TEST(kill_is_final)
{
    ck_assert(fault_plan(STR("stage.after_build:1:kill")));
    (void)fault_point(FAULT_STAGE_AFTER_BUILD);
}
END_TEST

#endif

Suite *suite_fault(void)
{
    Suite *suite = suite_create("fault");
    TCase *tc = tcase_create("fault");
    tcase_add_test(tc, without_a_plan_nothing_happens);
#ifdef HYPERMEM_FAULTS
    tcase_add_test(tc, plans_are_parsed);
    tcase_add_test(tc, the_nth_visit_fails);
    tcase_add_test_raise_signal(tc, kill_is_final, SIGKILL);
#endif
    suite_add_tcase(suite, tc);
    return suite;
}
