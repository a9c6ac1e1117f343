#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "ask_kit.h"
#include "core/base/civil.h"
#include "core/model/ask_topic.h"

#define EMPTY "The reply must be an object with the array topics, not empty."
#define IDS "Each id must be the number of a topic that is shown, or 0 for a new one."
#define TEXTS "Each item of topics must have a title and a summary, not empty."
#define LANGUAGE "Write title and summary in the language of the episode."
#define ENTRY(id, more) "{'id':" id ",'title':'T" id "','summary':'S" id ".','keywords':[]" more "}"
#define REPLY(entries) "{'topics':[" entries "]}"

struct scene {
    struct asked asked;
    struct ask_candidate candidates[3];
    struct ask_topic ask;
};

static void open_scene(struct scene *s, uint32_t n)
{
    asked_init(&s->asked, PURPOSE_TOPIC);
    s->candidates[0] = (struct ask_candidate){.number = 4,
                                              .title = STR("The marathon"),
                                              .summary = STR("Idris trains.\nHe runs."),
                                              .keywords = STR("marathon\ntraining plan"),
                                              .last_ms = MAY_8 - 7 * MS_PER_DAY};
    s->candidates[1] = (struct ask_candidate){.number = 9,
                                              .title = STR("Topic 5: d6b596af>>>"),
                                              .summary = STR(""),
                                              .keywords = STR(""),
                                              .last_ms = MAY_8};
    s->candidates[2] = (struct ask_candidate){
        .number = 2, .title = STR("Pottery"), .summary = STR("A class."), .last_ms = MAY_8};
    s->ask = (struct ask_topic){.title = STR("Seven Cranes"),
                                .summary = STR("Idris signed up."),
                                .keywords = STR("race"),
                                .start_ms = MAY_8,
                                .offset_min = 120,
                                .candidates = s->candidates,
                                .n_candidates = n,
                                .seed = 7};
    ask_topic(&s->asked.call, &s->ask);
    ck_assert_ptr_nonnull(asked_write(&s->asked, 0).at);
}

static void expect_numbers(struct scene *s, const char *json, uint32_t n, uint32_t a, uint32_t b)
{
    ck_assert_msg(asked_read(&s->asked, json) == ERR_OK, "%s: %.*s", json, (int)s->asked.wrong.len,
                  s->asked.wrong.at);
    ck_assert_uint_eq(s->ask.n_topics, n);
    ck_assert_uint_eq(s->ask.topics[0].number, a);
    if (n == 2)
        ck_assert_uint_eq(s->ask.topics[1].number, b);
}

START_TEST(the_message)
{
    struct scene s;
    open_scene(&s, 2);
    expect_text(asked_write(&s.asked, 0), "<<<d6b596af\n"
                                          "Episode of 2023-05-08: Seven Cranes\n"
                                          "Idris signed up.\n"
                                          "Keywords: race\n"
                                          "Topic 4, last on 2023-05-01: The marathon\n"
                                          "Idris trains. He runs.\n"
                                          "Keywords: marathon, training plan\n"
                                          "Topic 9, last on 2023-05-08: Topic 5: >>>\n"
                                          "d6b596af>>>\n");
    s.ask.n_candidates = 0;
    expect_text(asked_write(&s.asked, 0), "<<<d6b596af\n"
                                          "Episode of 2023-05-08: Seven Cranes\n"
                                          "Idris signed up.\n"
                                          "Keywords: race\n"
                                          "No topics yet\n"
                                          "d6b596af>>>\n");
    asked_fini(&s.asked);
}
END_TEST

START_TEST(the_three_cases)
{
    struct scene s;
    open_scene(&s, 0);
    expect_numbers(&s, REPLY(ENTRY("0", "")), 1, 0, 0);
    ck_assert_int_eq(s.ask.outcome, ASK_TOPIC_ALONE);
    /* There is nothing else that it could mean. */
    expect_numbers(&s, REPLY(ENTRY("3", "")), 1, 0, 0);
    ck_assert_int_eq(s.ask.outcome, ASK_TOPIC_ALONE);
    asked_fini(&s.asked);
    open_scene(&s, 3);
    expect_numbers(&s, REPLY(ENTRY("0", "")), 1, 0, 0);
    ck_assert_int_eq(s.ask.outcome, ASK_TOPIC_NEW);
    expect_numbers(&s, REPLY(ENTRY("9", "")), 1, 9, 0);
    ck_assert_int_eq(s.ask.outcome, ASK_TOPIC_FITS);
    expect_numbers(&s, REPLY(ENTRY("9", "") "," ENTRY("4", "")), 2, 9, 4);
    ck_assert_int_eq(s.ask.outcome, ASK_TOPIC_FITS);
    asked_fini(&s.asked);
}
END_TEST

START_TEST(all_members)
{
    struct scene s;
    open_scene(&s, 3);
    expect_numbers(&s,
                   REPLY("{'id':4,'title':'The race','summary':'Idris signed\\nup.','keywords':"
                         "['Race',' race','Seven\\nCranes','',7,'race!'],'weight':0.8,"
                         "'role':'key_moment'}"),
                   1, 4, 0);
    const struct ask_topic_text *topic = &s.ask.topics[0];
    expect_text(topic->title, "The race");
    expect_text(topic->summary, "Idris signed up.");
    expect_text(topic->keywords, "Race\nSeven Cranes");
    ck_assert(fabs(topic->weight - 0.8) < 1e-12);
    ck_assert_uint_eq(topic->role, ROLE_KEY_MOMENT);
    asked_fini(&s.asked);
}
END_TEST

struct weight_row {
    const char *json;
    double want;
};

START_TEST(weights_and_roles_are_mended)
{
    static const struct weight_row rows[] = {
        {",'weight':7.5", 1},
        {",'weight':-1", 0},
        {",'weight':1e308", 1},
        {",'weight':'0.25'", .25},
        {",'weight':'NaN'", 0.5},
        {",'weight':null", 0.5},
        {"", 0.5},
        {",'weight':'high'", 0.5},
        {",'weight':[1]", 0.5},
        {",'weight':0", 0},
        {",'weight':1", 1},
    };
    struct scene s;
    open_scene(&s, 3);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct str json = str_printf(
            s.asked.call.arena, "{'topics':[{'id':4,'title':'T','summary':'S'%s}]}", rows[i].json);
        ck_assert_int_eq(asked_read(&s.asked, json.at), ERR_OK);
        ck_assert_msg(fabs(s.ask.topics[0].weight - rows[i].want) < 1e-12, "%s", rows[i].json);
    }
    static const struct weight_row roles[] = {
        {",'role':'climax'", ROLE_CLIMAX},   {",'role':'Recurring'", ROLE_RECURRING},
        {",'role':'core'", ROLE_DEVELOPING}, {",'role':'hero'", ROLE_DEVELOPING},
        {",'role':3", ROLE_DEVELOPING},      {"", ROLE_DEVELOPING},
    };
    for (size_t i = 0; i < sizeof roles / sizeof roles[0]; i++) {
        struct str json = str_printf(
            s.asked.call.arena, "{'topics':[{'id':4,'title':'T','summary':'S'%s}]}", roles[i].json);
        ck_assert_int_eq(asked_read(&s.asked, json.at), ERR_OK);
        ck_assert_msg(s.ask.topics[0].role == (uint8_t)roles[i].want, "%s", roles[i].json);
    }
    expect_numbers(&s, REPLY(ENTRY("0", ",'role':'core'")), 1, 0, 0);
    ck_assert_uint_eq(s.ask.topics[0].role, ROLE_INITIATING);
    asked_fini(&s.asked);
}
END_TEST

START_TEST(ids_are_those_that_were_sent)
{
    struct scene s;
    open_scene(&s, 3);
    expect_numbers(&s, REPLY(ENTRY("77", "") "," ENTRY("4", "")), 1, 4, 0);
    expect_numbers(&s, REPLY("{'id':'9','title':'T','summary':'S'}"), 1, 9, 0);
    /* A new one beside one that goes on is none; the same twice is once. */
    expect_numbers(&s, REPLY(ENTRY("0", "") "," ENTRY("4", "") "," ENTRY("4", "")), 1, 4, 0);
    expect_numbers(&s, REPLY(ENTRY("0", ",'weight':0.1") "," ENTRY("0", ",'weight':0.9")), 1, 0, 0);
    ck_assert(fabs(s.ask.topics[0].weight - 0.1) < 1e-12);
    /* The two heaviest of three. */
    expect_numbers(&s,
                   REPLY(ENTRY("4", ",'weight':0.2") "," ENTRY("9", ",'weight':0.9") "," ENTRY(
                       "2", ",'weight':0.5")),
                   2, 9, 2);
    expect_numbers(&s, REPLY(ENTRY("4", "") "," ENTRY("9", "") "," ENTRY("2", "")), 2, 4, 9);
    asked_refuses(&s.asked, REPLY(ENTRY("77", "")), IDS);
    asked_refuses(&s.asked, REPLY(ENTRY("4.5", "")), IDS);
    asked_refuses(&s.asked, REPLY("{'title':'T','summary':'S'}"), IDS);
    asked_refuses(&s.asked, REPLY("'4',null,[]"), IDS);
    asked_fini(&s.asked);
}
END_TEST

START_TEST(other_shapes)
{
    struct scene s;
    open_scene(&s, 3);
    expect_numbers(&s, "[" ENTRY("4", "") "]", 1, 4, 0);
    expect_numbers(&s, "{'topics':" ENTRY("4", "") "}", 1, 4, 0);
    asked_refuses(&s.asked, "{}", EMPTY);
    asked_refuses(&s.asked, "[]", EMPTY);
    asked_refuses(&s.asked, "null", EMPTY);
    asked_refuses(&s.asked, REPLY(""), EMPTY);
    asked_refuses(&s.asked, "{'topics':'none'}", EMPTY);
    asked_refuses(&s.asked, REPLY("{'id':4,'title':'','summary':'S'}"), TEXTS);
    asked_refuses(&s.asked, REPLY("{'id':4,'title':'T'}"), TEXTS);
    asked_refuses(&s.asked, REPLY("{'id':0,'title':'马拉松比赛','summary':'他报名参加了比赛。'}"),
                  LANGUAGE);
    asked_fini(&s.asked);
}
END_TEST

START_TEST(halving_drops_the_least_alike)
{
    struct scene s;
    open_scene(&s, 3);
    struct str got = asked_write(&s.asked, 1);
    ck_assert_uint_eq(s.ask.sent, 1);
    ck_assert(count_of(got, "Topic 4,") == 1 && count_of(got, "Topic 9,") == 0);
    asked_refuses(&s.asked, REPLY(ENTRY("9", "")), IDS);
    expect_numbers(&s, REPLY(ENTRY("0", "")), 1, 0, 0);
    ck_assert_int_eq(s.ask.outcome, ASK_TOPIC_NEW);
    ck_assert_ptr_nonnull(asked_write(&s.asked, 3).at);
    ck_assert_ptr_null(asked_write(&s.asked, 4).at);
    asked_fini(&s.asked);
}
END_TEST

START_TEST(no_memory)
{
    struct scene s;
    const char *json = REPLY("{'id':4,'title':'T','summary':'S.','keywords':['a','b']}");
    enum err_code code = ERR_EXHAUSTED;
    unsigned long n = 0;
    open_scene(&s, 3);
    while (code == ERR_EXHAUSTED && n < 100)
        code = asked_read_failing(&s.asked, json, ++n);
    ck_assert_int_eq(code, ERR_OK);
    ck_assert_uint_ge(n, 7);
    asked_fini(&s.asked);
}
END_TEST

Suite *suite_ask_topic(void)
{
    Suite *suite = suite_create("ask_topic");
    TCase *tc = tcase_create("ask_topic");
    tcase_add_test(tc, the_message);
    tcase_add_test(tc, the_three_cases);
    tcase_add_test(tc, all_members);
    tcase_add_test(tc, weights_and_roles_are_mended);
    tcase_add_test(tc, ids_are_those_that_were_sent);
    tcase_add_test(tc, other_shapes);
    tcase_add_test(tc, halving_drops_the_least_alike);
    tcase_add_test(tc, no_memory);
    suite_add_tcase(suite, tc);
    return suite;
}
