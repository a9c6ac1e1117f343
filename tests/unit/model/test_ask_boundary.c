#include <check.h>
#include <stdlib.h>

#include "ask_kit.h"
#include "core/model/ask_boundary.h"

#define SHOWN "cuts must hold numbers of turns that are shown, 11 to 18; item "
#define NO_CUTS "The reply must be an object with the array cuts."
#define NO_FLAGS "should_end and should_wait must be true or false."

static const int16_t minutes[] = {0, 1, 2, 15, 16, 17, 18, 19};

struct scene {
    struct asked asked;
    struct ask_turn turns[8];
    struct ask_boundary ask;
};

/* Eight turns, 11 to 18, with a pause behind 13. */
static void open_scene(struct scene *s)
{
    asked_init(&s->asked, PURPOSE_BOUNDARY);
    for (uint32_t i = 0; i < 8; i++)
        s->turns[i] = (struct ask_turn)TURN(11 + i, "Ann", "Well.", minutes[i]);
    s->ask = (struct ask_boundary){.dialogue = {.turns = s->turns, .n = 8}, .seed = 7};
    ask_boundary(&s->asked.call, &s->ask);
    ck_assert_ptr_nonnull(asked_write(&s->asked, 0).at);
}

static void expect_ends(const struct ask_boundary *ask, uint32_t n, const uint32_t *want)
{
    ck_assert_uint_eq(ask->n_ends, n);
    for (uint32_t i = 0; i < n; i++)
        ck_assert_uint_eq(ask->ends[i], want[i]);
}
#define EXPECT_ENDS(ask, ...)                                                                      \
    expect_ends(ask, sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t),                         \
                (const uint32_t[]){__VA_ARGS__})

START_TEST(the_message)
{
    struct scene s;
    open_scene(&s);
    s.ask.dialogue.n = 4;
    expect_text(asked_write(&s.asked, 0), "<<<d6b596af\n"
                                          "[Mon 2023-05-08 13:56]\n"
                                          "11 Ann: Well.\n"
                                          "12 Ann: Well.\n"
                                          "13 Ann: Well.\n"
                                          "[Mon 2023-05-08 14:11]\n"
                                          "14 Ann: Well.\n"
                                          "d6b596af>>>\n");
    asked_fini(&s.asked);
}
END_TEST

START_TEST(cuts_and_flags)
{
    struct scene s;
    open_scene(&s);
    ck_assert_int_eq(
        asked_read(&s.asked, "{'cuts':[13,15],'should_end':false,'should_wait':false}"), ERR_OK);
    EXPECT_ENDS(&s.ask, 13, 15);
    ck_assert(!s.ask.should_end && !s.ask.should_wait);
    ck_assert_int_eq(asked_read(&s.asked, "{'cuts':[],'should_end':true,'should_wait':false}"),
                     ERR_OK);
    EXPECT_ENDS(&s.ask, 18);
    ck_assert(s.ask.should_end);
    ck_assert_int_eq(asked_read(&s.asked, "{'cuts':[],'should_end':false,'should_wait':true}"),
                     ERR_OK);
    ck_assert(s.ask.n_ends == 0 && s.ask.should_wait);
    asked_fini(&s.asked);
}
END_TEST

START_TEST(the_last_turn_ends_only_what_is_over)
{
    struct scene s;
    open_scene(&s);
    ck_assert_int_eq(
        asked_read(&s.asked, "{'cuts':[13,18],'should_end':false,'should_wait':false}"), ERR_OK);
    EXPECT_ENDS(&s.ask, 13);
    ck_assert_int_eq(asked_read(&s.asked, "{'cuts':[18,13],'should_end':true,'should_wait':false}"),
                     ERR_OK);
    EXPECT_ENDS(&s.ask, 13, 18);
    /* Who can't tell yet can't tell that it is over. */
    ck_assert_int_eq(asked_read(&s.asked, "{'cuts':[13],'should_end':true,'should_wait':true}"),
                     ERR_OK);
    EXPECT_ENDS(&s.ask, 13);
    ck_assert(!s.ask.should_end && s.ask.should_wait);
    asked_fini(&s.asked);
}
END_TEST

START_TEST(what_small_models_write)
{
    struct scene s;
    open_scene(&s);
    ck_assert_int_eq(asked_read(&s.asked, "{'cuts':['15',13.0,' 15 '],'should_end':'False',"
                                          "'should_wait':0,'reason':'because'}"),
                     ERR_OK);
    EXPECT_ENDS(&s.ask, 13, 15);
    ck_assert(!s.ask.should_end && !s.ask.should_wait);
    asked_fini(&s.asked);
}
END_TEST

START_TEST(wrong_replies_are_told)
{
    struct scene s;
    open_scene(&s);
    asked_refuses(&s.asked, "[]", NO_CUTS);
    asked_refuses(&s.asked, "'cuts'", NO_CUTS);
    asked_refuses(&s.asked, "null", NO_CUTS);
    asked_refuses(&s.asked, "{}", NO_CUTS);
    asked_refuses(&s.asked, "{'cuts':13,'should_end':false,'should_wait':false}", NO_CUTS);
    asked_refuses(&s.asked, "{'cuts':[13],'should_end':false}", NO_FLAGS);
    asked_refuses(&s.asked, "{'cuts':[13],'should_end':'no','should_wait':false}", NO_FLAGS);
    asked_refuses(&s.asked, "{'cuts':[10],'should_end':false,'should_wait':false}",
                  SHOWN "1 is none.");
    asked_refuses(&s.asked, "{'cuts':[13,19],'should_end':false,'should_wait':false}",
                  SHOWN "2 is none.");
    static const char *const odd[] = {"13.5", "-13", "'x'", "null", "1e300", "{}", "'nan'", "''"};
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        struct str json = str_printf(
            s.asked.call.arena, "{'cuts':[%s],'should_end':false,'should_wait':false}", odd[i]);
        asked_refuses(&s.asked, json.at, SHOWN "1 is none.");
    }
    asked_fini(&s.asked);
}
END_TEST

START_TEST(more_cuts_than_half_the_turns)
{
    struct scene s;
    open_scene(&s);
    ck_assert_int_eq(asked_read(&s.asked, "{'cuts':[11,12,13,14,18],'should_end':true,"
                                          "'should_wait':false}"),
                     ERR_OK);
    ck_assert_uint_eq(s.ask.n_ends, 5);
    asked_refuses(&s.asked, "{'cuts':[11,12,13,14,15],'should_end':false,'should_wait':false}",
                  "cuts has 5 items for 8 turns; name only the ends of whole episodes.");
    asked_refuses(&s.asked,
                  "{'cuts':[11,11,11,11,11,11,11,11,11],'should_end':false,'should_wait':false}",
                  "cuts has 9 items for 8 turns; name only the ends of whole episodes.");
    asked_fini(&s.asked);
}
END_TEST

START_TEST(what_halving_left_out_was_not_sent)
{
    struct scene s;
    open_scene(&s);
    ck_assert_ptr_nonnull(asked_write(&s.asked, 1).at);
    asked_refuses(&s.asked, "{'cuts':[14],'should_end':false,'should_wait':false}",
                  "cuts must hold numbers of turns that are shown, 15 to 18; item 1 is none.");
    ck_assert_int_eq(asked_read(&s.asked, "{'cuts':[15],'should_end':false,'should_wait':false}"),
                     ERR_OK);
    asked_fini(&s.asked);
}
END_TEST

START_TEST(a_single_turn)
{
    struct scene s;
    open_scene(&s);
    s.ask.dialogue.n = 1;
    ck_assert_ptr_nonnull(asked_write(&s.asked, 0).at);
    ck_assert_int_eq(asked_read(&s.asked, "{'cuts':[],'should_end':true,'should_wait':false}"),
                     ERR_OK);
    EXPECT_ENDS(&s.ask, 11);
    asked_fini(&s.asked);
}
END_TEST

START_TEST(no_memory)
{
    struct scene s;
    open_scene(&s);
    ck_assert_int_eq(
        asked_read_failing(&s.asked, "{'cuts':[],'should_end':true,'should_wait':false}", 1),
        ERR_EXHAUSTED);
    asked_fini(&s.asked);
}
END_TEST

Suite *suite_ask_boundary(void)
{
    Suite *suite = suite_create("ask_boundary");
    TCase *tc = tcase_create("ask_boundary");
    tcase_add_test(tc, the_message);
    tcase_add_test(tc, cuts_and_flags);
    tcase_add_test(tc, the_last_turn_ends_only_what_is_over);
    tcase_add_test(tc, what_small_models_write);
    tcase_add_test(tc, wrong_replies_are_told);
    tcase_add_test(tc, more_cuts_than_half_the_turns);
    tcase_add_test(tc, what_halving_left_out_was_not_sent);
    tcase_add_test(tc, a_single_turn);
    tcase_add_test(tc, no_memory);
    suite_add_tcase(suite, tc);
    return suite;
}
