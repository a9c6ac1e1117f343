#include "core/ingest/topic.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/limits.h"
#include "tests/unit/ingest/kit_stage.h"

/* One episode: two turns of a session of their own, two days after the last. Returns its id. */
static uint32_t tell(const char *first, const char *second)
{
    static int64_t day;
    if (stage_kit.units == 0)
        day = 0;
    day += 2;
    (void)say_at("a", "Ann", first, KIT_NOW + day * 24 * HOUR_MS);
    (void)say("a", "Bob", second);
    ck_assert_uint_ge(run_stages() + 1, 1);
    (void)flush_now(NULL);
    return episodes_now();
}

/* Stories that share nothing. */
static void tell_others(void)
{
    (void)tell("The piano needs a new string.", "Pianists charge a fortune for tuning.");
    (void)tell("Grandmother speaks Portuguese.", "Lisbon has wonderful custard tarts.");
    (void)tell("My laptop crashed during backup.", "Cables and adapters everywhere.");
    (void)tell("Volcanoes fascinate geologists.", "Lava covered an entire island.");
}

static uint32_t topic_of(uint32_t episode)
{
    return episode_now(episode).topics[0];
}

START_TEST(a_story_goes_on)
{
    tell_others();
    uint32_t others = topics_now();
    ck_assert_uint_eq(others, 4);
    uint32_t first =
        tell("My greyhound Turnip stole a salmon.", "Turnip the greyhound is a thief.");
    ck_assert_uint_eq(topics_now(), others + 1);
    uint32_t second = tell("The vet says Turnip is healthy.", "Greyhounds like Turnip live long.");
    ck_assert_uint_eq(topics_now(), others + 1);
    ck_assert_uint_eq(topic_of(first), topic_of(second));
    struct topic topic = topic_now(topic_of(first));
    ck_assert_uint_eq(topic.episodes, 2);
    ck_assert_uint_eq(topic.chain, topic.id);
    ck_assert_int_eq(topic.start_ms, episode_now(first).start_ms);
    ck_assert_int_eq(topic.end_ms, episode_now(second).end_ms);
    ck_assert(holds_words(topic.title, "Turnip"));
    ck_assert_uint_le(topic.n_keywords, LIMIT_TOPIC_KEYWORDS);
    for (uint16_t i = 1; i < topic.n_keywords; i++)
        ck_assert(topic.keywords[i - 1].weight >= topic.keywords[i].weight);
    struct edge edge = edge_now(KIND_TOPIC_EDGE, topic.id);
    ck_assert_uint_eq(edge.n, 2);
    ck_assert_uint_eq(edge.at[0].role, ROLE_INITIATING);
    ck_assert_uint_eq(edge.at[1].role, ROLE_DEVELOPING);
    ck_assert_double_eq(weight_unpack(edge.at[1].weight), 1);
    ck_assert_uint_eq(stage_kit.sum.topics_joined, 1);
}
END_TEST

START_TEST(what_has_nothing_in_common_is_new)
{
    tell_others();
    uint32_t before = topics_now();
    uint32_t id = tell("Bees swarmed around the chimney.", "Beekeepers wear strange veils.");
    ck_assert_uint_eq(topics_now(), before + 1);
    ck_assert_uint_eq(edge_now(KIND_TOPIC_EDGE, topic_of(id)).n, 1);
}
END_TEST

START_TEST(names_of_speakers_tie_nothing)
{
    tell_others();
    uint32_t before = topics_now();
    (void)tell("Ann, listen: Bob repaired a bicycle.", "Bob did, Ann.");
    (void)tell("Bob and Ann cooked mushrooms.", "Ann asked Bob for salt.");
    ck_assert_uint_eq(topics_now(), before + 2);
}
END_TEST

START_TEST(a_full_topic_is_continued)
{
    char text[96];
    tell_others();
    uint32_t first = 0;
    uint32_t last = 0;
    for (int i = 0; i < 18; i++) {
        (void)snprintf(text, sizeof text, "Turnip the greyhound met animal%d at place%d.", i, i);
        last = tell(text, "Turnip is the best greyhound.");
        first = first == 0 ? last : first;
        for (int k = 0; k < 3; k++) { /* so that one story does not fill the memory */
            (void)snprintf(text, sizeof text, "Item%dx%d costs price%dx%d in shop%dx%d.", i, k, i,
                           k, i, k);
            (void)tell(text, "Expensive.");
        }
    }
    struct topic head = topic_now(topic_of(first));
    struct topic tail = topic_now(topic_of(last));
    ck_assert_uint_ne(head.id, tail.id);
    ck_assert_uint_eq(head.episodes, LIMIT_TOPIC_EPISODES);
    ck_assert_uint_eq(tail.episodes, 2);
    ck_assert_uint_eq(head.next, tail.id);
    ck_assert_uint_eq(tail.previous, head.id);
    ck_assert_uint_eq(tail.chain, head.chain);
    ck_assert(holds_words(tail.title, "Turnip"));
    ck_assert_uint_ge(stage_kit.sum.topics_successor, 1);
}
END_TEST

START_TEST(an_episode_may_hold_two_stories)
{
    tell_others();
    uint32_t dog = tell("My greyhound Turnip stole a salmon.", "Turnip the greyhound is a thief.");
    uint32_t race = tell("The Hamburg marathon is in October.", "The marathon coach is Anneke.");
    uint32_t both = tell("Turnip the greyhound came to the marathon in Hamburg.",
                         "The coach Anneke petted Turnip, that greyhound.");
    struct episode episode = episode_now(both);
    ck_assert_uint_eq(episode.n_topics, 2);
    ck_assert_uint_eq(topic_of(dog) + topic_of(race), episode.topics[0] + episode.topics[1]);
    struct edge edge = edge_now(KIND_TOPIC_EDGE, episode.topics[1]);
    double weight = weight_unpack(edge.at[1].weight);
    ck_assert(weight >= 0.6 && weight <= 1);
}
END_TEST

START_TEST(a_pause_makes_it_recurring)
{
    tell_others();
    (void)tell("My greyhound Turnip stole a salmon.", "Turnip the greyhound is a thief.");
    (void)say_at("a", "Ann", "Turnip the greyhound stole again.", KIT_NOW + 400 * 24 * HOUR_MS);
    (void)flush_now(NULL);
    struct edge edge = edge_now(KIND_TOPIC_EDGE, topic_of(episodes_now()));
    ck_assert_uint_eq(edge.n, 2);
    ck_assert_uint_eq(edge.at[1].role, ROLE_RECURRING);
}
END_TEST

/* Every word shared with everything: neither one topic for all nor an error. */
START_TEST(one_subject_for_all_does_not_become_one_topic)
{
    for (int i = 0; i < 40; i++)
        (void)tell("The weather is rainy and the garden is wet.",
                   "Rain in the garden makes the weather report true.");
    ck_assert_uint_eq(episodes_now(), 40);
    ck_assert_uint_ge(topics_now(), 3);
    for (uint32_t id = 1; id <= topics_now(); id++)
        ck_assert_uint_le(topic_now(id).episodes, LIMIT_TOPIC_EPISODES);
}
END_TEST

START_TEST(a_replaced_topic_is_kept_as_history)
{
    tell_others();
    uint32_t first =
        tell("My greyhound Turnip stole a salmon.", "Turnip the greyhound is a thief.");
    uint32_t doc = topic_now(topic_of(first)).doc;
    size_t history = count_rows(&stage_kit.kit.f, stage_kit.kit.space, KIND_HISTORY);
    (void)tell("The vet says Turnip is healthy.", "Greyhounds like Turnip live long.");
    ck_assert_uint_eq(count_rows(&stage_kit.kit.f, stage_kit.kit.space, KIND_HISTORY), history + 1);
    ck_assert_uint_gt(topic_now(topic_of(first)).doc, doc);
    ck_assert_uint_eq(stat_now(STAT_DOCS_TOPIC), topics_now());
}
END_TEST

Suite *suite_topic(void)
{
    Suite *suite = suite_create("topic");
    TCase *tcase = tcase_create("topic");
    tcase_add_checked_fixture(tcase, stage_kit_setup, stage_kit_teardown);
    tcase_add_test(tcase, a_story_goes_on);
    tcase_add_test(tcase, what_has_nothing_in_common_is_new);
    tcase_add_test(tcase, names_of_speakers_tie_nothing);
    tcase_add_test(tcase, a_full_topic_is_continued);
    tcase_add_test(tcase, an_episode_may_hold_two_stories);
    tcase_add_test(tcase, a_pause_makes_it_recurring);
    tcase_add_test(tcase, one_subject_for_all_does_not_become_one_topic);
    tcase_add_test(tcase, a_replaced_topic_is_kept_as_history);
    suite_add_tcase(suite, tcase);
    return suite;
}
