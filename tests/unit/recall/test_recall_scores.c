/* The score of every list, compared with brute force over the texts. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/limits.h"
#include "core/index/column.h"
#include "tests/unit/recall/recall_kit.h"

enum { TURNS = 70 };

struct question {
    const char *q, *words;
    struct civil day; /* year 0: none */
    const char *named;
};
static const struct question questions[] = {
    {"Where is the violin?", "violin", {0}, NULL},
    {"the garden and the bridge near the river", "garden bridge near river", {0}, NULL},
    {"Did Ann fix the engine in the kitchen?", "fixed engine kitchen", {0}, "Ann"},
    {"What about the harbour on 3 May 2023?", "harbour", {2023, 5, 3}, NULL},
    {"on 3 May 2023", "", {2023, 5, 3}, NULL},
    {"zebra letter", "zebra letter", {0}, NULL},
};
enum { QUESTIONS = sizeof questions / sizeof questions[0] };

static const char *asking, *listing; /* for messages */

static void expect_near(float found, float wanted, const char *what, uint32_t id)
{
    ck_assert_msg(fabsf(found - wanted) <= 2e-5f + 1e-4f * fabsf(wanted),
                  "%s: %s of %s %u is %.7f instead of %.7f", asking, what, listing, id,
                  (double)found, (double)wanted);
}

static void expect_signals(const struct recall_candidate *c, const float wanted[SIGNALS])
{
    for (int s = 0; s < SIGNALS; s++)
        expect_near(c->signal[s], wanted[s], recall_signal_name((enum recall_signal)s), c->id);
}

/* The best of the turns that a fact was said in. */
static float best_source(const struct ref *ref, uint32_t id, float signals[SIGNALS],
                         uint32_t *source)
{
    const struct fact *fact = &ref->facts[id].fact;
    float best = -1;
    for (uint32_t i = 0; i < fact->n_sources; i++) {
        float at[SIGNALS];
        uint32_t n = fact->sources[i];
        ref_fact_signals(ref, id, n, at);
        float score = ref_sum(ref, STAGE_FACTS, at, ref_factor(ref, n));
        if (score <= best)
            continue;
        best = score;
        *source = n;
        memcpy(signals, at, sizeof at);
    }
    return best;
}

static uint32_t check_facts(const struct ref *ref, const struct recall_reply *reply)
{
    listing = "facts";
    uint32_t expected = 0;
    for (uint32_t id = 1; id <= ref->n_facts; id++) {
        float signals[SIGNALS];
        uint32_t n = 0;
        if (ref->facts[id].fact.id == 0)
            continue;
        float score = best_source(ref, id, signals, &n);
        const struct recall_fact *fact = reply_fact(reply, id);
        ck_assert_msg((fact != NULL) == (score > 0), "fact %u: score %g", id, (double)score);
        if (fact == NULL)
            continue;
        expected++;
        const struct recall_candidate *c = explained(reply, STAGE_FACTS, id);
        expect_signals(c, signals);
        float share = ref_share_of(ref, reply, c, n);
        expect_near(c->factor, ref_factor(ref, n) * share, "factor", id);
        expect_near(fact->score, score * share, "score", id);
    }
    ck_assert_uint_eq(reply->n_facts, expected);
    return expected;
}

static void check_episodes(const struct ref *ref, const struct recall_reply *reply)
{
    listing = "episodes";
    uint32_t expected = 0;
    for (uint32_t id = 1; id <= ref->n_episodes; id++) {
        float signals[SIGNALS];
        ref_episode_signals(ref, id, signals);
        float score = ref_sum(ref, STAGE_EPISODES, signals, 1);
        const struct recall_candidate *c = explained(reply, STAGE_EPISODES, id);
        ck_assert_msg((c != NULL) == (score > 0), "episode %u: score %g", id, (double)score);
        if (c == NULL)
            continue;
        expected++;
        expect_signals(c, signals);
        expect_near(c->score, score, "score", id);
    }
    ck_assert_uint_eq(reply->n_episodes, expected);
}

static void check_topics(const struct ref *ref, const struct recall_reply *reply)
{
    listing = "topics";
    for (uint32_t id = 1; id <= ref->n_topics; id++) {
        float signals[SIGNALS];
        ref_topic_signals(ref, id, signals);
        float score = ref_sum(ref, STAGE_TOPICS, signals, 1);
        const struct recall_candidate *c = explained(reply, STAGE_TOPICS, id);
        ck_assert_msg((c != NULL) == (score > 0), "topic %u: score %g", id, (double)score);
        if (c == NULL)
            continue;
        expect_signals(c, signals);
        expect_near(c->score, score, "score", id);
    }
}

static void check_recent(const struct ref *ref, const struct recall_reply *reply)
{
    listing = "recent";
    uint32_t expected = 0;
    for (uint32_t n = 1; n <= ref->n_turns; n++) {
        float signals[SIGNALS];
        if (ref->turns[n].turn.n == 0 || ref->turns[n].done)
            continue;
        ref_fact_signals(ref, 0, n, signals);
        float score = ref_sum(ref, STAGE_RECENT, signals, ref_factor(ref, n));
        const struct recall_candidate *c = explained(reply, STAGE_RECENT, n);
        ck_assert_msg((c != NULL) == (score > 0), "recent turn %u: score %g", n, (double)score);
        if (c == NULL)
            continue;
        expected++;
        expect_signals(c, signals);
        expect_near(c->score, score, "score", n);
    }
    ck_assert_uint_eq(reply->n_recent, expected < 10 ? expected : 10);
}

static struct recall_query widest(const char *q)
{
    struct recall_query query = query_of(q);
    query.topics = LIMIT_TOPICS;
    query.episodes = LIMIT_EPISODES;
    query.facts = LIMIT_FACTS;
    query.explain = true;
    return query;
}

/* One world a seed; even seeds leave the last turns in their buffers. */
START_TEST(every_list_is_as_computed_from_the_texts)
{
    struct ref ref;
    uint32_t facts = 0;
    tell_world((unsigned)_i + 1, TURNS, _i % 2 == 1);
    ref_init(&ref);
    ck_assert_uint_lt(ref.n_facts, LIMIT_FACTS); /* or some would not be shown */
    for (uint32_t i = 0; i < QUESTIONS; i++) {
        const struct question *q = &questions[i];
        asking = q->q;
        struct recall_query query = widest(q->q);
        query.windows = ref.windows = (i + (uint32_t)_i) % 3 != 0;
        struct asked asked = ask(&query);
        ref_ask(&ref, q->words, q->day.year != 0 ? &q->day : NULL, q->named);
        facts += check_facts(&ref, &asked.reply);
        check_episodes(&ref, &asked.reply);
        check_topics(&ref, &asked.reply);
        check_recent(&ref, &asked.reply);
        asked_end(&asked);
    }
    ck_assert_uint_ge(facts, 30);
}
END_TEST

static void check_all(struct ref *ref, const struct question *q)
{
    struct recall_query query = widest(q->q);
    asking = q->q;
    struct asked asked = ask(&query);
    ref_ask(ref, q->words, q->day.year != 0 ? &q->day : NULL, q->named);
    (void)check_facts(ref, &asked.reply);
    check_episodes(ref, &asked.reply);
    check_topics(ref, &asked.reply);
    check_recent(ref, &asked.reply);
    asked_end(&asked);
}

/* Only the turns around get a place then: those of a session, though others speak between. */
START_TEST(a_rare_word_is_scored_by_its_neighbours_alone)
{
    static const struct question rare[] = {
        {"Where is the xylophone?", "xylophone", {0}, NULL},
        {"the xylophone near the oboe", "xylophone near oboe", {0}, NULL},
        {"What about the oboe on 8 May 2031?", "oboe", {2031, 5, 8}, NULL},
    };
    struct ref ref;
    tell_world((unsigned)_i + 51, 2 * TURNS, false);
    (void)say("s1", "Ann", "I bought an oboe.");
    (void)say("s2", "Bob", "The xylophone of my xylophone teacher is near the oboe.");
    tell_world((unsigned)_i + 53, 3, false);
    (void)say("s1", "Chris", "Is the xylophone yours?");
    tell_world((unsigned)_i + 57, TURNS, _i % 2 == 1);
    ref_init(&ref);
    for (size_t i = 0; i < sizeof rare / sizeof rare[0]; i++)
        check_all(&ref, &rare[i]);
}
END_TEST

/* Without explain, turns are passed over whose facts can't come into the list. */
START_TEST(who_is_passed_over_would_not_have_come_in)
{
    static const char *const asked_for[] = {"violin", "the garden and the bridge near the river",
                                            "Did Ann fix the engine in the kitchen?",
                                            "garden bread letter winter on 3 May 2023"};
    tell_world(37, 12 * TURNS, true);
    ck_assert_uint_gt(stat_now(STAT_NEXT_FACT), 600);
    for (size_t i = 0; i < sizeof asked_for / sizeof asked_for[0]; i++) {
        struct recall_query query = widest(asked_for[i]);
        query.max_tokens = LIMIT_MAX_TOKENS;
        struct asked all = ask(&query);
        query.explain = false;
        struct asked few = ask(&query);
        ck_assert_uint_eq(few.reply.n_facts, LIMIT_FACTS);
        ck_assert_uint_eq(few.reply.n_episodes, all.reply.n_episodes);
        for (uint32_t k = 0; k < LIMIT_FACTS; k++) {
            ck_assert_uint_eq(few.reply.facts[k].fact.id, all.reply.facts[k].fact.id);
            ck_assert(few.reply.facts[k].score == all.reply.facts[k].score);
        }
        for (uint32_t k = 0; k < few.reply.n_episodes; k++)
            ck_assert(few.reply.episodes[k].score == all.reply.episodes[k].score);
        ck_assert(str_eq(few.reply.context.text, all.reply.context.text));
        asked_end(&few);
        asked_end(&all);
    }
}
END_TEST

/* After deletions idf, averages, windows and episodes are those of what is left. */
START_TEST(deletions_leave_no_trace_in_scores)
{
    struct ref ref;
    tell_world(91, TURNS, true);
    for (uint32_t n = 3; n < TURNS; n += 7)
        delete_node(KIND_TURN, n);
    uint32_t fact = 1;
    while (fact < (uint32_t)stat_now(STAT_NEXT_FACT) && fact < 200) {
        struct store_txn *txn = begin(&stage_kit.kit.f);
        struct str value;
        struct err err;
        ck_assert_int_eq(store_get_u32(txn, stage_kit.kit.space, KIND_FACT, fact, &value, &err),
                         ERR_OK);
        store_end(txn);
        if (value.at != NULL && fact % 9 == 0)
            delete_node(KIND_FACT, fact);
        fact++;
    }
    ref_init(&ref);
    for (uint32_t i = 0; i < QUESTIONS; i++) {
        const struct question *q = &questions[i];
        asking = q->q;
        struct recall_query query = widest(q->q);
        struct asked asked = ask(&query);
        ref_ask(&ref, q->words, q->day.year != 0 ? &q->day : NULL, q->named);
        /* The prior of a turn stays what its facts stated when they were made. */
        for (uint32_t k = 0; k < asked.reply.n_facts; k++) {
            float signals[SIGNALS];
            uint32_t n, id = asked.reply.facts[k].fact.id;
            ck_assert_uint_ne(ref.facts[id].fact.id, 0);
            if (ref.facts[id].fact.n_sources != 1)
                continue;
            (void)best_source(&ref, id, signals, &n);
            expect_signals(explained(&asked.reply, STAGE_FACTS, id), signals);
        }
        check_episodes(&ref, &asked.reply);
        check_topics(&ref, &asked.reply);
        asked_end(&asked);
    }
}
END_TEST

START_TEST(without_episodes_their_signal_is_skipped)
{
    tell_world(5, TURNS, true);
    struct recall_query query = widest("violin garden");
    query.episodes = 0;
    struct asked asked = ask(&query);
    ck_assert_uint_eq(asked.reply.n_episodes, 0);
    ck_assert_uint_gt(asked.reply.n_facts, 0);
    for (uint32_t i = 0; i < asked.reply.explain->n[STAGE_FACTS]; i++)
        ck_assert(asked.reply.explain->stage[STAGE_FACTS][i].signal[SIGNAL_EPISODE] == 0);
    asked_end(&asked);
}
END_TEST

/* --- fusions, from the explained signals --- */

static float fused(const struct recall_explain *explain, const struct recall_candidate *c,
                   enum recall_fusion fusion)
{
    static const float weights[SIGNALS] = {0.5f, 1, 1, 1, 1, 1, 0.75f};
    float sum = 0;
    for (int s = 0; s < SIGNALS; s++) {
        float best = 0;
        uint32_t rank = 1;
        for (uint32_t i = 0; i < explain->n[STAGE_FACTS]; i++) {
            const struct recall_candidate *other = &explain->stage[STAGE_FACTS][i];
            best = fmaxf(best, other->signal[s]);
            rank += other->signal[s] > c->signal[s];
        }
        if (c->signal[s] <= 0)
            continue;
        sum += fusion == FUSION_MAX ? weights[s] * c->signal[s] / best
                                    : weights[s] * 61.0f / (60.0f + (float)rank);
    }
    return sum * c->factor / 5.5f;
}

static void check_order(const struct recall_reply *reply)
{
    for (uint32_t i = 1; i < reply->n_facts; i++) {
        const struct recall_fact *a = &reply->facts[i - 1], *b = &reply->facts[i];
        ck_assert(a->score >= b->score);
        if (a->score == b->score && a->fact.n_sources == 1 && b->fact.n_sources == 1)
            ck_assert(a->fact.sources[0] < b->fact.sources[0] ||
                      (a->fact.sources[0] == b->fact.sources[0] && a->fact.id < b->fact.id));
        ck_assert(b->score > 0 && a->score <= 1);
    }
}

START_TEST(fusions_join_the_same_signals)
{
    static const enum recall_fusion fusions[] = {FUSION_SCORE, FUSION_MAX, FUSION_RRF};
    uint32_t n[3];
    tell_world(17, TURNS, true);
    for (int k = 0; k < 3; k++) {
        struct recall_query query = widest("violin engine winter");
        query.fusion = fusions[k];
        struct asked asked = ask(&query);
        n[k] = asked.reply.n_facts;
        check_order(&asked.reply);
        for (uint32_t i = 0; i < n[k] && k != 0; i++) {
            const struct recall_candidate *c = &asked.reply.explain->stage[STAGE_FACTS][i];
            float wanted = fused(asked.reply.explain, c, fusions[k]);
            /* Ties in a list get neighbouring ranks. */
            float slack = fusions[k] == FUSION_RRF ? 0.12f : 1e-4f;
            ck_assert_msg(fabsf(c->score - wanted) < slack, "%u: %g, not %g", c->id,
                          (double)c->score, (double)wanted);
        }
        asked_end(&asked);
    }
    ck_assert_uint_gt(n[0], 20);
    ck_assert_uint_eq(n[0], n[1]);
    ck_assert_uint_eq(n[0], n[2]);
}
END_TEST

/* A heap of the best, or all sorted: the same. */
START_TEST(short_lists_begin_like_long_ones)
{
    tell_world(23, TURNS, true);
    for (int fusion = FUSION_SCORE; fusion <= FUSION_RRF; fusion++) {
        struct recall_query query = widest("garden bread bridge");
        query.fusion = (enum recall_fusion)fusion;
        query.max_tokens = 0;
        struct asked all = ask(&query);
        for (uint32_t n = 0; n < 40; n += 3) {
            query.facts = query.episodes = query.topics = n;
            if (n == 0)
                query.episodes = query.topics = 1; /* 0 takes their signal away */
            struct asked few = ask(&query);
            ck_assert_uint_eq(few.reply.n_facts, n < all.reply.n_facts ? n : all.reply.n_facts);
            for (uint32_t i = 0; i < few.reply.n_facts; i++)
                ck_assert_uint_eq(few.reply.facts[i].fact.id, all.reply.facts[i].fact.id);
            for (uint32_t i = 0; i < few.reply.n_episodes; i++)
                ck_assert_uint_eq(few.reply.episodes[i].episode.id,
                                  all.reply.episodes[i].episode.id);
            for (uint32_t i = 0; i < few.reply.n_topics; i++)
                ck_assert_uint_eq(few.reply.topics[i].topic.id, all.reply.topics[i].topic.id);
            asked_end(&few);
        }
        asked_end(&all);
    }
}
END_TEST

/* Large questions read all rows in one walk, small ones block by block. */
START_TEST(rows_are_the_same_however_they_are_read)
{
    tell_world(29, TURNS, true);
    struct store_txn *txn = begin(&stage_kit.kit.f);
    struct arena *arena = kit_arena(&stage_kit.kit);
    struct columns *single = columns_new(txn, stage_kit.kit.space, arena);
    struct columns *all = columns_new(txn, stage_kit.kit.space, arena);
    struct err err;
    columns_read_all(all, COLUMN_TURN);
    columns_read_all(all, COLUMN_EPISODE);
    columns_read_all(all, COLUMN_EPISODE_DOC);
    for (uint32_t i = 0; i < 2 * TURNS; i++) {
        struct turn_row a, b, block[COLUMN_ROWS];
        struct episode_row c, d;
        columns_turn_ahead(single, i);
        columns_turn_ahead(all, i);
        columns_turn(single, i, &a);
        columns_turn(all, i, &b);
        ck_assert_mem_eq(&a, &b, sizeof a);
        columns_turn_block(all, i, block);
        ck_assert_mem_eq(&a, &block[i % COLUMN_ROWS], sizeof a);
        columns_episode(single, i, &c);
        columns_episode(all, i, &d);
        ck_assert_mem_eq(&c, &d, sizeof c);
        ck_assert_uint_eq(columns_episode_of_doc(single, i), columns_episode_of_doc(all, i));
    }
    ck_assert_int_eq(columns_error(all, &err), ERR_OK);
    store_end(txn);
}
END_TEST

Suite *suite_recall_scores(void);
Suite *suite_recall_scores(void)
{
    Suite *suite = suite_create("recall_scores");
    TCase *tc = tcase_create("scores");
    tcase_add_checked_fixture(tc, stage_kit_setup, stage_kit_teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, every_list_is_as_computed_from_the_texts, 0, 6);
    tcase_add_loop_test(tc, a_rare_word_is_scored_by_its_neighbours_alone, 0, 4);
    tcase_add_test(tc, who_is_passed_over_would_not_have_come_in);
    tcase_add_test(tc, deletions_leave_no_trace_in_scores);
    tcase_add_test(tc, without_episodes_their_signal_is_skipped);
    tcase_add_test(tc, fusions_join_the_same_signals);
    tcase_add_test(tc, rows_are_the_same_however_they_are_read);
    tcase_add_test(tc, short_lists_begin_like_long_ones);
    suite_add_tcase(suite, tc);
    return suite;
}
