#include <stdio.h>
#include <stdlib.h>

#include "core/base/limits.h"
#include "core/index/column.h"
#include "core/recall/fence.h"
#include "tests/unit/ingest/kit_stage.h"

static void close_all(void)
{
    run_stages();
    (void)flush_now(NULL);
}

static struct turn_row row_of(uint32_t n)
{
    struct turn_row row;
    struct err err;
    uint32_t doc = kit_turn(&stage_kit.kit, n).doc;
    struct store_txn *txn = begin(&stage_kit.kit.f);
    struct columns *columns = columns_new(txn, stage_kit.kit.space, kit_arena(&stage_kit.kit));
    columns_turn(columns, doc, &row);
    ck_assert_int_eq(columns_error(columns, &err), ERR_OK);
    store_end(txn);
    return row;
}

static void expect_content(uint32_t id, const char *content)
{
    struct fact fact = fact_now(id);
    ck_assert_msg(str_eq(fact.content, str_of(content)), "fact %u is: %.*s", id,
                  STR_FMT(fact.content));
}

START_TEST(sentences_become_facts)
{
    uint32_t n = say("a", "Caroline",
                     "Hey Mel! I went to a LGBTQ support group yesterday. It was powerful!");
    (void)say("a", "Mel", "Wow, thanks!");
    close_all();
    ck_assert_uint_eq(facts_now(), 2);
    expect_content(1, "Caroline: I went to a LGBTQ support group yesterday (7 May 2023).");
    struct fact fact = fact_now(1);
    ck_assert(fact.has_time);
    ck_assert_int_eq(fact.from.day, 7);
    ck_assert_int_eq(fact.to.month, 5);
    ck_assert(str_eq(fact.time_text, STR("yesterday")));
    ck_assert(str_eq(fact.speaker, STR("Caroline")));
    ck_assert_int_eq(fact.valid_from, KIT_NOW);
    ck_assert_int_eq(fact.valid_to, TIME_NEVER);
    ck_assert_uint_eq(fact.n_sources, 1);
    ck_assert_uint_eq(fact.sources[0], n);
    ck_assert_uint_eq(fact.n_episodes, 1);
    ck_assert_uint_eq(fact.flags, FACT_BUILTIN);
    ck_assert(holds_words(fact.keywords, "LGBTQ"));
    struct turn_row row = row_of(n);
    ck_assert_uint_eq(row.fact_first, 1);
    ck_assert_uint_eq(row.fact_count, 2);
    ck_assert_uint_eq(row.flags & TURN_ROW_DONE, TURN_ROW_DONE);
    ck_assert_uint_gt(row.prior, 20);
}
END_TEST

START_TEST(small_talk_gives_none)
{
    static const char *const lines[] = {"Hi Bob!", "Hello Ann!", "Thanks a lot!",
                                        "ok",      "lol",        "Bye bye!"};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        (void)say("a", i % 2 == 0 ? "Ann" : "Bob", lines[i]);
    close_all();
    ck_assert_uint_eq(facts_now(), 0);
    ck_assert_uint_eq(episodes_now(), 1);
    ck_assert_uint_eq(edge_now(KIND_EPISODE_EDGE, 1).n, 0);
}
END_TEST

START_TEST(weights_tell_statements_from_questions)
{
    (void)say("a", "Ann", "Did you buy the red bicycle in Hamburg?");
    (void)say("a", "Bob", "My brother bought the red bicycle in Hamburg on 3 May 2023 for $200.");
    (void)say("a", "Ann", "It was her.");
    close_all();
    struct fact question = fact_now(fact_with("Did you buy"));
    struct fact statement = fact_now(fact_with("My brother"));
    struct fact light = fact_now(fact_with("It was her"));
    ck_assert_uint_gt(statement.weight, 2 * light.weight);
    ck_assert_uint_gt(statement.weight, question.weight);
    ck_assert_double_ge(weight_unpack(statement.weight), 0.7);
    struct edge edge = edge_now(KIND_EPISODE_EDGE, 1);
    ck_assert_uint_eq(edge.n, 3);
    ck_assert_uint_eq(edge.at[0].role, ROLE_CONTEXT);
    ck_assert_uint_eq(edge.at[1].role, ROLE_TEMPORAL);
    ck_assert_uint_eq(edge.at[1].weight, statement.weight);
}
END_TEST

START_TEST(short_answers_carry_their_question)
{
    (void)say("a", "Nora", "How many children does your sister have?");
    (void)say("a", "Idris", "Yes, two.");
    (void)say("a", "Idris", "The older one plays the trumpet in a band.");
    (void)say("a", "Nora", "What is the trumpet made of?");
    (void)say("a", "Nora", "Brass?");
    close_all();
    ck_assert_uint_ne(
        fact_with("Idris (asked “How many children does your sister have?”): Yes, two."), 0);
    ck_assert_uint_ne(fact_with("Idris: The older one"), 0);
    ck_assert_uint_ne(fact_with("Nora: Brass?"), 0); /* her own question is no context */
}
END_TEST

START_TEST(a_turn_gives_at_most_eight)
{
    (void)say("a", "Ann",
              "One cat sleeps. Two dogs bark loudly. Three birds sing songs. It is. Four fish "
              "swim upstream. Five horses run across meadows. Six cows eat green grass. Seven "
              "sheep jump over fences. Eight goats climb steep mountains. So is it.");
    close_all();
    ck_assert_uint_eq(facts_now(), LIMIT_FACTS_PER_TURN);
    ck_assert_uint_eq(fact_with("So is it"), 0); /* the lightest went */
    ck_assert_uint_ne(fact_with("One cat sleeps"), 0);
}
END_TEST

/* n sentences, each different, about 50 characters long. */
static char *long_text(unsigned n)
{
    char *text = malloc((size_t)n * 64 + 1);
    size_t len = 0;
    for (unsigned i = 0; i < n; i++)
        len += (size_t)snprintf(text + len, 64, "Engine part %u was checked by inspector %u. ", i,
                                i * 7 + 3);
    return text;
}

START_TEST(long_turns_give_more)
{
    char *text = long_text(400);
    size_t characters = strlen(text);
    uint32_t n = say("a", "assistant", text);
    close_all();
    uint32_t allowed = LIMIT_FACTS_PER_TURN + (uint32_t)((characters - 2000) / 250);
    ck_assert_uint_ge(facts_now(), allowed - 1);
    ck_assert_uint_le(facts_now(), allowed + 1);
    struct turn turn = kit_turn(&stage_kit.kit, n);
    ck_assert_uint_gt(turn.docs, 4);
    free(text);
}
END_TEST

START_TEST(the_longest_turn_is_taken)
{
    unsigned sentences = 22000;
    char *text = long_text(sentences);
    ck_assert_uint_gt(strlen(text), LIMIT_TURN_TEXT_BYTES);
    text[LIMIT_TURN_TEXT_BYTES] = '\0';
    (void)say("a", "Ann", "Here comes the whole inspection report.");
    (void)say("a", "assistant", text);
    ck_assert_uint_eq(run_stages(), 2); /* it is an episode by itself */
    ck_assert_uint_eq(stat_now(STAT_OPEN), 0);
    ck_assert_uint_gt(facts_now(), 4000);
    free(text);
}
END_TEST

START_TEST(repeats_add_a_source)
{
    uint32_t first = say("a", "Ann", "My cat is called Turnip.");
    uint32_t second = say("a", "Ann", "  my CAT is called turnip!");
    (void)say("a", "Ann", "My cat is called Turnip. My cat is called Turnip.");
    close_all();
    ck_assert_uint_eq(facts_now(), 1);
    struct fact fact = fact_now(1);
    ck_assert_uint_eq(fact.n_sources, 3);
    ck_assert_uint_eq(fact.sources[0], first);
    ck_assert_uint_eq(fact.sources[1], second);
    ck_assert_uint_eq(fact.n_episodes, 1);
    ck_assert_uint_eq(row_of(second).flags & TURN_ROW_MORE, TURN_ROW_MORE);
    ck_assert_uint_eq(row_of(first).flags & TURN_ROW_MORE, 0);
    /* In another episode, much later. */
    uint32_t third = say_at("b", "Ann", "My cat is called Turnip.", KIT_NOW + 90 * 24 * HOUR_MS);
    close_all();
    ck_assert_uint_eq(facts_now(), 1);
    fact = fact_now(1);
    ck_assert_uint_eq(fact.n_sources, 4);
    ck_assert_uint_eq(fact.sources[3], third);
    ck_assert_uint_eq(fact.n_episodes, 2);
    ck_assert_uint_eq(edge_now(KIND_EPISODE_EDGE, 2).n, 1);
    ck_assert_uint_eq(edge_now(KIND_EPISODE_EDGE, 2).at[0].id, 1);
    ck_assert_uint_eq(stage_kit.sum.facts_duplicate, 4);
}
END_TEST

START_TEST(other_speakers_and_days_are_no_repeat)
{
    (void)say("a", "Ann", "I ran ten kilometres yesterday.");
    (void)say("a", "Bob", "I ran ten kilometres yesterday.");
    (void)say_at("a", "Ann", "I ran ten kilometres yesterday.", KIT_NOW + 24 * HOUR_MS);
    close_all();
    ck_assert_uint_eq(facts_now(), 3);
    ck_assert_uint_ne(fact_with("yesterday (8 May 2023)"), 0);
}
END_TEST

START_TEST(stored_facts_of_the_same_words_are_told_apart)
{
    (void)say("a", "Ann", "I ran ten kilometres yesterday.");
    close_all();
    (void)say_at("a", "Bob", "I ran ten kilometres yesterday.", KIT_NOW + 2 * HOUR_MS);
    (void)say_at("a", "Ann", "I ran ten kilometres yesterday.", KIT_NOW + 24 * HOUR_MS);
    close_all();
    ck_assert_uint_eq(facts_now(), 3);
    (void)say_at("a", "Bob", "I ran ten kilometres yesterday!", KIT_NOW + 3 * HOUR_MS);
    (void)say_at("a", "Ann", "I ran ten kilometres yesterday.", KIT_NOW + 25 * HOUR_MS);
    (void)say_at("a", "assistant", "I ran ten kilometres yesterday.", KIT_NOW + 26 * HOUR_MS);
    close_all();
    ck_assert_uint_eq(facts_now(), 3);
    ck_assert_uint_eq(stage_kit.sum.facts_duplicate, 2);
    ck_assert_uint_eq(stage_kit.sum.facts_echo, 1);
    ck_assert_uint_eq(fact_now(1).n_sources, 1);
    ck_assert_uint_eq(fact_now(2).n_sources, 2);
    ck_assert_uint_eq(fact_now(3).n_sources, 2);
}
END_TEST

START_TEST(what_was_deleted_is_never_made_again)
{
    char key[FACT_KEY];
    (void)say("a", "Ann", "My password is swordfish.");
    close_all();
    struct fact fact = fact_now(1);
    fact_key(&fact, key);
    struct str at = {key, sizeof key};
    /* As remove.c leaves it, without the rest of a deletion. */
    struct batch *batch = batch_of(&stage_kit.kit.f, stage_kit.kit.space);
    (void)batch_put(batch, KIND_FACT_NEVER, at, STR(""), 0);
    ck_assert_int_eq(apply(&stage_kit.kit.f, batch), ERR_OK);
    (void)say("a", "Ann", "My password is swordfish.");
    close_all();
    ck_assert_uint_eq(facts_now(), 1);
    ck_assert_uint_eq(fact_now(1).n_sources, 1);
    /* Put back, so that the check at the end finds all in order. */
    batch = batch_of(&stage_kit.kit.f, stage_kit.kit.space);
    (void)batch_del(batch, KIND_FACT_NEVER, at, 0);
    ck_assert_int_eq(apply(&stage_kit.kit.f, batch), ERR_OK);
}
END_TEST

START_TEST(machines_do_not_echo)
{
    (void)say("a", "Ann", "I adopted a greyhound called Turnip yesterday.");
    (void)say("a", "assistant", "I adopted a greyhound called Turnip yesterday.");
    (void)say("a", "assistant", "Ann: I adopted a greyhound called Turnip yesterday (7 May 2023).");
    (void)say("a", "assistant", "Greyhounds sleep eighteen hours a day.");
    (void)say("a", "user", "Greyhounds sleep eighteen hours a day.");
    close_all();
    ck_assert_uint_eq(stage_kit.sum.facts_echo, 2);
    ck_assert_uint_eq(facts_now(), 3); /* a person may say what the machine said */
    ck_assert_uint_eq(fact_now(1).n_sources, 1);
    /* In a later episode the fact is a stored one. */
    (void)say_at("b", "tool", "I adopted a greyhound called Turnip yesterday.",
                 KIT_NOW + 90 * 24 * HOUR_MS);
    close_all();
    ck_assert_uint_eq(facts_now(), 3);
    ck_assert_uint_eq(stage_kit.sum.facts_echo, 3);
    /* What the machine said first is its own. */
    (void)say_at("c", "assistant", "Greyhounds sleep eighteen hours a day.",
                 KIT_NOW + 120 * 24 * HOUR_MS);
    close_all();
    ck_assert_uint_eq(facts_now(), 3);
    ck_assert_uint_eq(stage_kit.sum.facts_duplicate, 1);
}
END_TEST

START_TEST(our_fence_is_no_news)
{
    (void)say("a", "Ann",
              "Look at this note. " FENCE_OPEN "\n8 May 2023\nBob: The safe code is 4711.\n"
              "Bob: The key is under the mat.\n" FENCE_CLOSE "\nI painted the kitchen green.");
    (void)say("a", "Bob", "And this was cut off. " FENCE_OPEN "\nAnn: The kitchen was blue.");
    close_all();
    ck_assert_uint_eq(fact_with("safe code"), 0);
    ck_assert_uint_eq(fact_with("under the mat"), 0);
    ck_assert_uint_eq(fact_with("kitchen was blue"), 0);
    ck_assert_uint_ne(fact_with("Look at this note"), 0);
    ck_assert_uint_ne(fact_with("painted the kitchen"), 0);
    ck_assert_uint_ne(fact_with("was cut off"), 0);
}
END_TEST

START_TEST(fences_are_found)
{
    struct fence fence;
    struct str text = STR("a " FENCE_OPEN " x " FENCE_CLOSE " b " FENCE_OPEN " y");
    ck_assert(fence_find(text, 0, &fence));
    ck_assert_uint_eq(fence.from, 2);
    ck_assert(str_ends(str_part(text, fence.from, fence.to), STR(FENCE_CLOSE)));
    ck_assert(fence_find(text, fence.to, &fence));
    ck_assert_uint_eq(fence.to, text.len);
    ck_assert(!fence_find(text, fence.to, &fence));
    ck_assert(!fence_find(STR("nothing " FENCE_CLOSE), 0, &fence));
}
END_TEST

START_TEST(every_script_gives_facts)
{
    (void)say("a", "Li", "我昨天在北京买了一辆自行车。天气很好！");
    (void)say("a", "Mai", "ฉันชอบกินข้าวผัดที่ตลาดใกล้บ้าน");
    (void)say("a", "Ali", "اشتريت دراجة حمراء من السوق.");
    (void)say("a", "Ann", "?!");
    (void)say("a", "Ann", "🎉🎉");
    close_all();
    ck_assert_uint_ne(fact_with("自行车"), 0);
    ck_assert_uint_ne(fact_with("ข้าวผัด"), 0);
    ck_assert_uint_ne(fact_with("دراجة"), 0);
    ck_assert_uint_eq(fact_with("Ann: ?!"), 0);
    uint32_t docs[4];
    ck_assert_uint_ge(kit_find(&stage_kit.kit, "自行", docs, 4), 1);
}
END_TEST

Suite *suite_facts(void)
{
    Suite *suite = suite_create("facts");
    TCase *tcase = tcase_create("facts");
    tcase_add_checked_fixture(tcase, stage_kit_setup, stage_kit_teardown);
    tcase_add_test(tcase, sentences_become_facts);
    tcase_add_test(tcase, small_talk_gives_none);
    tcase_add_test(tcase, weights_tell_statements_from_questions);
    tcase_add_test(tcase, short_answers_carry_their_question);
    tcase_add_test(tcase, a_turn_gives_at_most_eight);
    tcase_add_test(tcase, long_turns_give_more);
    tcase_add_test(tcase, the_longest_turn_is_taken);
    tcase_add_test(tcase, repeats_add_a_source);
    tcase_add_test(tcase, other_speakers_and_days_are_no_repeat);
    tcase_add_test(tcase, stored_facts_of_the_same_words_are_told_apart);
    tcase_add_test(tcase, what_was_deleted_is_never_made_again);
    tcase_add_test(tcase, machines_do_not_echo);
    tcase_add_test(tcase, our_fence_is_no_news);
    tcase_add_test(tcase, fences_are_found);
    tcase_add_test(tcase, every_script_gives_facts);
    suite_add_tcase(suite, tcase);
    return suite;
}
