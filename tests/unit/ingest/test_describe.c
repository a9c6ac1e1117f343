#include "core/ingest/describe.h"

#include <stdlib.h>

#include "core/ingest/describe_light.h"
#include "core/ingest/index_text.h"
#include "core/text/utf8.h"
#include "tests/unit/ingest/kit_stage.h"

static struct episode closed(void)
{
    run_stages();
    (void)flush_now(NULL);
    return episode_now(1);
}

#define EXPECT_HOLDS(text, words)                                                                  \
    ck_assert_msg(holds_words(text, words), "\"%.*s\" lacks \"%s\"", STR_FMT(text), words)
#define EXPECT_LACKS(text, words)                                                                  \
    ck_assert_msg(!holds_words(text, words), "\"%.*s\" has \"%s\"", STR_FMT(text), words)

static void marathon(void)
{
    (void)say("a", "Idris", "I signed up for the Seven Cranes Marathon in Hamburg yesterday.");
    (void)say("a", "Nora", "A whole marathon? Who is helping you with the training plan?");
    (void)say("a", "Idris", "The coach is called Anneke, and the training plan is her idea.");
    (void)say("a", "Nora", "Then stick to the training plan. Thanks, Anneke!");
}

START_TEST(titles_say_who_and_what)
{
    marathon();
    struct episode episode = closed();
    ck_assert(str_starts(episode.title, STR("Idris and Nora: ")));
    EXPECT_HOLDS(episode.title, "training plan");
    EXPECT_HOLDS(episode.title, "Seven Cranes Marathon");
    EXPECT_HOLDS(episode.title, "Anneke");
    ck_assert_uint_le(episode.title.len, DESCRIBE_TITLE_BYTES);
    ck_assert(str_eq(episode.participants, STR("Idris\nNora")));
}
END_TEST

START_TEST(summaries_say_who_and_when)
{
    marathon();
    struct episode episode = closed();
    ck_assert(str_starts(episode.summary, STR("8 May 2023. Idris: ")));
    EXPECT_HOLDS(episode.summary, "yesterday (7 May 2023)");
    EXPECT_LACKS(episode.summary, "?"); /* questions tell little */
    ck_assert_uint_le(episode.summary.len, DESCRIBE_SUMMARY_BYTES + 40);
    ck_assert_uint_le(episode.title.len + episode.summary.len, 320);
}
END_TEST

START_TEST(many_participants_are_counted)
{
    static const char *const names[] = {"Ann", "Bob", "Cid", "Dan", "Eve"};
    for (size_t i = 0; i < 5; i++)
        (void)say("a", names[i], "The harbour festival needs volunteers.");
    struct episode episode = closed();
    ck_assert(str_starts(episode.title, STR("Ann, Bob and 3 others")));
    ck_assert(str_eq(episode.participants, STR("Ann\nBob\nCid\nDan\nEve")));
}
END_TEST

START_TEST(empty_dialogues_have_titles_too)
{
    (void)say("a", "Ann", "?!");
    (void)say("a", "Bob", "ok");
    struct episode episode = closed();
    ck_assert(str_eq(episode.title, STR("Ann and Bob")));
    ck_assert(str_eq(episode.summary, STR("8 May 2023.")));
    ck_assert_uint_eq(episode.n_topics, 1);
}
END_TEST

START_TEST(the_day_is_that_of_the_offset)
{
    const struct line line = {"a", "Ann", "Tonight we bake bread."};
    struct turn_input turn = turn_of_line(&line, KIT_NOW + 9 * HOUR_MS); /* 23:00 UTC */
    turn.offset_min = 120;
    (void)kit_say(&stage_kit.kit, turn);
    struct episode episode = closed();
    EXPECT_HOLDS(episode.summary, "9 May 2023.");
    EXPECT_HOLDS(episode.summary, "Tonight (9 May 2023)");
}
END_TEST

START_TEST(one_line_and_whole_characters)
{
    (void)say("a", "Ann",
              "Die größte Überraschung war der Blumenstrauß aus Ölmühlen, "
              "den Jürgen überreichte, während draußen Blätter fielen und "
              "später Schnee über Dächer, Gärten, Höfe und Brücken wehte.");
    (void)say("a", "Li",
              "我昨天在北京买了一辆自行车，骑着它去了长城，路上看见很多很多的花和树，"
              "还遇见了老朋友，我们一起吃了饺子，喝了茶，聊了很久很久，非常开心。");
    struct episode episode = closed();
    for (size_t i = 0; i < episode.summary.len; i++)
        ck_assert_uint_ge((unsigned char)episode.summary.at[i], ' ');
    EXPECT_HOLDS(episode.summary, "…");
    ck_assert(utf8_is_valid(episode.summary));
    ck_assert(utf8_is_valid(episode.title));
}
END_TEST

START_TEST(fenced_text_is_not_told_again)
{
    (void)say("a", "Ann",
              "<<<hypermem:memory\nThe vault code is 4711 and the vault is green.\n"
              "hypermem:memory>>>\nI like the vault.");
    struct episode episode = closed();
    EXPECT_LACKS(episode.summary, "4711");
}
END_TEST

START_TEST(light_words)
{
    static const char *const light[] = {"Monday", "getting", "happi", "12", "2023", "x", "Frau"};
    static const char *const heavy[] = {"marathon", "Anneke", "123", "15km", "größe", "数"};
    for (size_t i = 0; i < sizeof light / sizeof light[0]; i++)
        ck_assert_msg(light_word_is(str_of(light[i])), "%s", light[i]);
    for (size_t i = 0; i < sizeof heavy / sizeof heavy[0]; i++)
        ck_assert_msg(!light_word_is(str_of(heavy[i])), "%s", heavy[i]);
}
END_TEST

/* --- topics --- */

static struct episode member(const char *title, int64_t start_ms)
{
    return (struct episode){.id = 1, .title = str_of(title), .start_ms = start_ms};
}

START_TEST(topics_are_told_by_their_first_and_latest)
{
    enum { MEMBERS = 12 };
    struct arena *arena = kit_arena(&stage_kit.kit);
    struct episode episodes[MEMBERS];
    const struct episode *members[MEMBERS];
    for (int i = 0; i < MEMBERS; i++) {
        episodes[i] = member("Ann and Bob: some long title about tomatoes and the garden",
                             KIT_NOW + i * 24 * HOUR_MS);
        members[i] = &episodes[i];
    }
    episodes[MEMBERS - 1].title = STR("Ann: the harvest");
    struct topic_keyword words[] = {
        {STR("tomatoes"), 1, 3}, {STR("tomato"), 2, 2}, {STR("garden"), 3, 1}};
    struct topic topic = {.n_keywords = 3, .keywords = words};
    struct err err;
    ck_assert_int_eq(describe_topic(arena, &topic, members, MEMBERS, &err), ERR_OK);
    ck_assert_msg(str_eq(topic.title, STR("tomatoes, garden")), "%.*s", STR_FMT(topic.title));
    ck_assert(str_starts(topic.summary, STR("8 May 2023: some long title")));
    EXPECT_HOLDS(topic.summary, "…");
    ck_assert(str_ends(topic.summary, STR("19 May 2023: the harvest.")));
    ck_assert_uint_le(topic.summary.len, DESCRIBE_TOPIC_BYTES + 64);
    topic.n_keywords = 0;
    ck_assert_int_eq(describe_topic(arena, &topic, members + MEMBERS - 1, 1, &err), ERR_OK);
    ck_assert(str_eq(topic.title, STR("the harvest")));
}
END_TEST

/* --- what is indexed --- */

START_TEST(an_episode_is_indexed_as_its_turns_joined)
{
    marathon();
    (void)closed();
    struct err err;
    struct store_txn *txn = begin(&stage_kit.kit.f);
    struct said_reader reader = {txn, stage_kit.kit.space, kit_arena(&stage_kit.kit), NULL};
    ck_assert_int_eq(tokenizer_new(STR("en"), &reader.tokenizer, &err), ERR_OK);
    struct said *said[4];
    struct dialogue dialogue;
    struct term_bag bag, sum = {0};
    for (uint32_t i = 0; i < 4; i++) {
        struct term_bag one;
        ck_assert_int_eq(said_read(&reader, i + 1, &said[i], &err), ERR_OK);
        ck_assert_int_eq(term_bag_of(reader.arena, &said[i]->docs[0].tokens, 1, &one, &err),
                         ERR_OK);
        ck_assert_int_eq(term_bag_add(reader.arena, &sum, &one, &sum, &err), ERR_OK);
    }
    ck_assert_int_eq(dialogue_of(&reader, said, 4, &dialogue, &err), ERR_OK);
    ck_assert_int_eq(index_episode(&reader, &dialogue, &bag, &err), ERR_OK);
    ck_assert_uint_eq(bag.length, sum.length);
    ck_assert_uint_gt(bag.n, sum.n); /* date terms, which have no length */
    for (size_t i = 0; i < sum.n; i++) {
        const struct dialogue_term *term = dialogue_find(&dialogue, sum.at[i].term);
        ck_assert_ptr_nonnull(term);
        ck_assert_uint_eq(term->count, sum.at[i].count);
    }
    ck_assert_ptr_null(dialogue_find(&dialogue, 12345));
    tokenizer_free(reader.tokenizer);
    store_end(txn);
}
END_TEST

Suite *suite_describe(void)
{
    Suite *suite = suite_create("describe");
    TCase *tcase = tcase_create("describe");
    tcase_add_checked_fixture(tcase, stage_kit_setup, stage_kit_teardown);
    tcase_add_test(tcase, titles_say_who_and_what);
    tcase_add_test(tcase, summaries_say_who_and_when);
    tcase_add_test(tcase, many_participants_are_counted);
    tcase_add_test(tcase, empty_dialogues_have_titles_too);
    tcase_add_test(tcase, the_day_is_that_of_the_offset);
    tcase_add_test(tcase, one_line_and_whole_characters);
    tcase_add_test(tcase, fenced_text_is_not_told_again);
    tcase_add_test(tcase, light_words);
    tcase_add_test(tcase, topics_are_told_by_their_first_and_latest);
    tcase_add_test(tcase, an_episode_is_indexed_as_its_turns_joined);
    suite_add_tcase(suite, tcase);
    return suite;
}
