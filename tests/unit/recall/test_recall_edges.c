/* Questions at the edge: of no use, too long, into empty or huge memories, and without memory. */
#include <stdio.h>
#include <stdlib.h>

#include "core/base/limits.h"
#include "tests/unit/recall/recall_kit.h"

static uint32_t count_all(const struct recall_reply *reply)
{
    return reply->n_topics + reply->n_episodes + reply->n_facts + reply->n_recent +
           reply->context.n_turn_ids + reply->context.n_fact_ids + reply->context.n_episode_ids;
}

static void expect_nothing(const char *q)
{
    struct recall_query query = query_of(q);
    query.explain = true;
    struct asked asked = ask(&query);
    ck_assert_msg(count_all(&asked.reply) == 0, "%s", q);
    ck_assert_uint_eq(asked.reply.context.text.len, 0);
    ck_assert_uint_eq(asked.reply.seq, stat_now(STAT_SEQ));
    asked_end(&asked);
}

START_TEST(questions_that_say_nothing_find_nothing)
{
    tell_world(7, 40, true);
    expect_nothing("what was it that they did to him?");
    expect_nothing("   ");
    expect_nothing("?!");
    expect_nothing("xylophone");
    expect_nothing("\xf0\x9f\xa6\x93");
}
END_TEST

START_TEST(stop_words_are_shown_as_ignored)
{
    tell_world(7, 40, true);
    struct recall_query query = query_of("where is the violin");
    query.explain = true;
    struct asked asked = ask(&query);
    ck_assert_uint_eq(asked.reply.explain->n_terms, 1);
    ck_assert(str_eq(asked.reply.explain->terms[0], STR("violin")));
    ck_assert_uint_eq(asked.reply.explain->n_ignored, 3);
    asked_end(&asked);
}
END_TEST

START_TEST(an_empty_space_is_empty)
{
    uint32_t n = say("a", "Ann", "The lighthouse keeper paints boats.");
    run_stages();
    (void)flush_now(NULL);
    delete_node(KIND_TURN, n);
    expect_nothing("lighthouse");
    expect_nothing("Ann");
}
END_TEST

START_TEST(a_name_alone_is_a_word)
{
    (void)say("a", "Ann", "Good soup, Bob.");
    (void)say("a", "Bob", "The lighthouse needs a lamp.");
    run_stages();
    (void)flush_now(NULL);
    struct recall_query query = query_of("Bob?");
    query.explain = true;
    struct asked asked = ask(&query);
    ck_assert_uint_eq(asked.reply.explain->n_terms, 1);
    ck_assert_uint_ge(asked.reply.n_facts, 1);
    asked_end(&asked);
    /* Beside other words it only favours those of the one who bears it. */
    query = query_of("What did Bob say of the lighthouse?");
    query.explain = true;
    asked = ask(&query);
    ck_assert_uint_eq(asked.reply.explain->n_terms, 2); /* say, lighthouse */
    const struct recall_candidate *c =
        explained(&asked.reply, STAGE_FACTS, fact_with("lighthouse"));
    ck_assert(c->factor > 0.9f); /* 16 / (16 + 10) * 1.5 */
    asked_end(&asked);
}
END_TEST

START_TEST(a_date_alone_finds_what_was_said_then_or_of_then)
{
    (void)say_at("a", "Ann", "I baked bread.", KIT_NOW);
    (void)say_at("b", "Bob", "I repaired the roof yesterday.", KIT_NOW + 24 * HOUR_MS);
    (void)say_at("c", "Bob", "The wind blew.", KIT_NOW + 72 * HOUR_MS);
    run_stages();
    (void)flush_now(NULL);
    struct recall_query query = query_of("on 8 May 2023");
    struct asked asked = ask(&query);
    ck_assert_uint_ge(asked.reply.n_facts, 2);
    ck_assert_uint_ne(asked.reply.facts[0].fact.id, fact_with("wind"));
    ck_assert_uint_ne(asked.reply.facts[1].fact.id, fact_with("wind"));
    ck_assert_uint_ge(asked.reply.n_topics, 1);
    ck_assert_uint_ge(asked.reply.n_episodes, 2);
    asked_end(&asked);
    query = query_of("yesterday"); /* of the day that the question is asked on */
    query.now_ms = KIT_NOW + 24 * HOUR_MS;
    asked = ask(&query);
    ck_assert_uint_ge(asked.reply.n_facts, 2);
    asked_end(&asked);
}
END_TEST

START_TEST(terms_above_the_limit_are_ignored)
{
    enum { WORDS = 90 };
    char q[LIMIT_QUERY_BYTES];
    size_t len = 0;
    for (unsigned i = 0; i < WORDS; i++)
        len += (size_t)snprintf(q + len, sizeof q - len, "word%cq ", 'a' + (int)(i % 26));
    for (unsigned i = 0; i < WORDS; i++)
        len += (size_t)snprintf(q + len, sizeof q - len, "w%c%cx ", 'a' + (int)(i % 26),
                                'a' + (int)(i / 26));
    (void)say("a", "Ann", "wordaq and wbbx; wlcx at the end.");
    struct recall_query query = query_of(q);
    query.explain = true;
    struct asked asked = ask(&query);
    ck_assert_uint_eq(asked.reply.explain->n_terms, LIMIT_QUERY_TERMS);
    ck_assert_uint_eq(asked.reply.explain->n_ignored, 26 + WORDS - LIMIT_QUERY_TERMS);
    ck_assert_uint_eq(asked.reply.n_recent, 1);
    asked_end(&asked);
}
END_TEST

/* Its sentences are so long that each part of it has a fact. */
START_TEST(the_longest_turn_is_found_in_parts)
{
    struct buf text;
    buf_init(&text, kit_arena(&stage_kit.kit), 2 << 20);
    for (unsigned i = 0; text.len < LIMIT_TURN_TEXT_BYTES - 1200; i++) {
        buf_printf(&text, "Chapter%u tells of a kingdom", i);
        for (unsigned k = 0; k < 30; k++)
            buf_printf(&text, ", dragon%u and river%u", i * 30 + k, i * 30 + k);
        buf_str_put(&text, STR(". "));
    }
    buf_str_put(&text, STR("The lighthouse keeper paints boats and nothing else."));
    buf_char(&text, '\0');
    (void)say("a", "Ann", text.at);
    (void)say("a", "Bob", "Long story.");
    for (int round = 0; round < 2; round++) {
        struct recall_query query = query_of("lighthouse keeper");
        struct asked asked = ask(&query);
        ck_assert_uint_ge(count_in(asked.reply.context.text, "keeper paints boats"), 1);
        ck_assert_uint_le(count_chars(asked.reply.context.text), 8000);
        for (uint32_t i = 0; i < asked.reply.context.n_turn_ids; i++)
            ck_assert(!str_eq(asked.reply.context.turn_ids[i], STR("turn_1")));
        ck_assert_uint_gt(round == 0 ? asked.reply.n_recent : asked.reply.n_facts, 0);
        asked_end(&asked);
        run_stages();
        (void)flush_now(NULL);
    }
    ck_assert_uint_eq(stat_now(STAT_UNFINISHED), 0);
}
END_TEST

/* --- explain --- */

static bool is_in_reply(const struct recall_reply *r, int stage, uint32_t id)
{
    for (uint32_t i = 0; stage == STAGE_TOPICS && i < r->n_topics; i++)
        if (r->topics[i].topic.id == id)
            return true;
    for (uint32_t i = 0; stage == STAGE_EPISODES && i < r->n_episodes; i++)
        if (r->episodes[i].episode.id == id)
            return true;
    for (uint32_t i = 0; stage == STAGE_RECENT && i < r->n_recent; i++)
        if (r->recent[i].turn.n == id)
            return true;
    return stage == STAGE_FACTS && reply_fact(r, id) != NULL;
}

START_TEST(explain_says_why_each_is_in_or_out)
{
    tell_world(12, 90, false);
    struct recall_query query = query_of("garden violin engine river");
    query.topics = query.episodes = 2;
    query.facts = 5;
    query.explain = true;
    struct asked asked = ask(&query);
    ck_assert_uint_eq(asked.reply.explain->n_terms, 4);
    for (int stage = 0; stage < RECALL_STAGES; stage++) {
        uint32_t in = 0;
        for (uint32_t i = 0; i < asked.reply.explain->n[stage]; i++) {
            const struct recall_candidate *c = &asked.reply.explain->stage[stage][i];
            ck_assert_int_eq(c->cut == NULL, is_in_reply(&asked.reply, stage, c->id));
            in += c->cut == NULL;
            if (c->cut != NULL)
                ck_assert_str_eq(c->cut, "rank");
            for (int s = 0; s < SIGNALS; s++) {
                ck_assert_int_eq(c->rank[s] != 0, c->signal[s] > 0);
                for (uint32_t k = 0; k < i; k++) {
                    const struct recall_candidate *b = &asked.reply.explain->stage[stage][k];
                    if (b->signal[s] > c->signal[s])
                        ck_assert(c->rank[s] == 0 || b->rank[s] < c->rank[s]);
                }
            }
        }
        ck_assert_uint_gt(in, 0);
    }
    asked_end(&asked);
    query.explain = false;
    asked = ask(&query);
    ck_assert_ptr_null(asked.reply.explain);
    asked_end(&asked);
}
END_TEST

START_TEST(the_same_question_has_the_same_answer)
{
    tell_world(12, 90, false);
    struct recall_query query = query_of("garden violin engine river");
    struct str first = ask_text(&query);
    query.explain = true;
    ck_assert(str_eq(first, ask_text(&query)));
    ck_assert_uint_gt(first.len, 1000);
}
END_TEST

/* --- without memory --- */

/* Fails at the n-th allocation for 50 seeded n of all that the question takes. */
START_TEST(each_allocation_may_fail)
{
    static const char *const questions[] = {"Did Ann see the garden on 3 May 2023?",
                                            "violin engine river"};
    tell_world(77, 90, false);
    for (int i = 0; i < 2; i++) {
        struct recall_query query = query_of(questions[i]);
        unsigned long total = 1, seed = 99;
        query.explain = i == 1;
        query.gate = i == 1 ? GATE_STRICT : GATE_SOFT;
        query.fusion = i == 1 ? FUSION_RRF : FUSION_SCORE;
        struct str wanted = ask_text(&query);
        while (ask_failing(&query, total) != ERR_OK)
            total += 1 + total / 8;
        ck_assert_uint_gt(total, 50);
        for (int k = 0; k < 50; k++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            unsigned long nth = k < 10 ? (unsigned long)k + 1 : 1 + (seed >> 33) % total;
            enum err_code rc = ask_failing(&query, nth);
            ck_assert_msg(rc == ERR_EXHAUSTED || rc == ERR_OK, "%lu: %d", nth, (int)rc);
            ck_assert_int_eq(k >= 10 || rc == ERR_EXHAUSTED, 1);
        }
        ck_assert(str_eq(wanted, ask_text(&query)));
    }
}
END_TEST

/* --- what is embedded of a question --- */

static enum err_code embed_text(const char *q, struct arena *arena, struct str *text)
{
    struct err err = {.code = ERR_OK};
    struct space settings;
    struct store_txn *txn = begin(&stage_kit.kit.f);
    ck_assert_int_eq(space_get(txn, stage_kit.kit.space, &settings, &err), ERR_OK);
    struct recall_base base = {txn, stage_kit.kit.space, &settings, &stage_kit.clock, NULL};
    enum err_code rc = recall_embed_text(&base, str_of(q), arena, text, &err);
    ck_assert_int_eq(rc, err.code);
    store_end(txn);
    return rc;
}

START_TEST(a_question_is_embedded_without_speakers)
{
    static const struct {
        const char *q, *text;
    } cases[] = {
        {"What did Ann paint?", "What did paint?"},
        {"  What is ANN's, or Bob’s, best  idea?", "What is , or , best idea?"},
        {"Is Anna here?", "Is Anna here?"}, /* nobody of that name */
        {"Who is Chris?", "Who is Chris?"}, /* nothing else would be left */
        {"Ann", "Ann"},
        {"¿Qué dijo Ann del violín?", "¿Qué dijo del violín?"},
        {"", ""},
    };
    tell_world(35, 12, true);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct str text;
        ck_assert_int_eq(embed_text(cases[i].q, kit_arena(&stage_kit.kit), &text), ERR_OK);
        ck_assert_msg(str_eq(text, str_of(cases[i].text)), "\"%s\" gives \"%.*s\"", cases[i].q,
                      STR_FMT(text));
    }
    unsigned long nth = 1;
    enum err_code rc = ERR_EXHAUSTED;
    for (; rc != ERR_OK && nth < 300; nth++) {
        struct str text;
        struct arena *arena = arena_new(ARENA_REQUEST_BYTES);
        arena_fail_after(arena, nth);
        rc = embed_text("What did Ann paint?", arena, &text);
        arena_free(arena);
    }
    ck_assert_int_eq(rc, ERR_OK);
    ck_assert_uint_gt(nth, 4);
}
END_TEST

Suite *suite_recall_edges(void);
Suite *suite_recall_edges(void)
{
    Suite *suite = suite_create("recall_edges");
    TCase *tc = tcase_create("edges");
    tcase_add_checked_fixture(tc, stage_kit_setup, stage_kit_teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, questions_that_say_nothing_find_nothing);
    tcase_add_test(tc, stop_words_are_shown_as_ignored);
    tcase_add_test(tc, an_empty_space_is_empty);
    tcase_add_test(tc, a_name_alone_is_a_word);
    tcase_add_test(tc, a_date_alone_finds_what_was_said_then_or_of_then);
    tcase_add_test(tc, terms_above_the_limit_are_ignored);
    tcase_add_test(tc, the_longest_turn_is_found_in_parts);
    tcase_add_test(tc, explain_says_why_each_is_in_or_out);
    tcase_add_test(tc, the_same_question_has_the_same_answer);
    tcase_add_test(tc, each_allocation_may_fail);
    tcase_add_test(tc, a_question_is_embedded_without_speakers);
    suite_add_tcase(suite, tc);
    return suite;
}
