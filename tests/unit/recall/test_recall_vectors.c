/* Vectors in a query, compared with brute force: every signal, sum, order and gate; and the order
 * of a reranker. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/limits.h"
#include "core/index/column.h"
#include "tests/unit/recall/recall_kit.h"

enum { TURNS = 70, DIM = 24, DOCS_MAX = 1200, IDENTITY = 77 };

static struct ref ref;
static float vectors[LAYERS][DOCS_MAX][DIM]; /* as given, of length 1 */
static uint32_t n_docs[LAYERS];
static float question[DIM];
static struct recall_dense dense;

/* --- making a generation --- */

static void draw_vector(float *out, uint32_t seed)
{
    float length = 0;
    for (uint32_t i = 0; i < DIM; i++) {
        seed = seed * 1664525u + 1013904223u;
        out[i] = (float)(seed >> 8) / (float)(1u << 23) - 1;
        length += out[i] * out[i];
    }
    for (uint32_t i = 0; i < DIM; i++)
        out[i] /= sqrtf(length);
}

static struct batch *open_batch(void)
{
    return batch_new(kit_arena(&stage_kit.kit), stage_kit.kit.space, CAUSE_KEEP);
}

static void commit(struct batch *batch)
{
    struct err err = {.code = ERR_OK};
    ck_assert_msg(apply_err(&stage_kit.kit.f, batch, &err) == ERR_OK, "%s", err.message);
}

static struct vectors_generations generations(struct store_txn *txn)
{
    struct vectors_generations all;
    struct err err;
    ck_assert_int_eq(
        vectors_generations_get(txn, stage_kit.kit.space, kit_arena(&stage_kit.kit), &all, &err),
        ERR_OK);
    return all;
}

static void start_generation(uint64_t identity)
{
    struct err err;
    struct store_txn *txn = begin(&stage_kit.kit.f);
    struct vectors_generations all = generations(txn);
    struct batch *batch = open_batch();
    struct vectors_identity made = {identity, STR("a model"), DIM};
    ck_assert_int_eq(vectors_start(&all, batch, &made, &err), ERR_OK);
    store_end(txn);
    commit(batch);
}

static void add_layer(enum layer layer, uint32_t n)
{
    struct err err;
    n_docs[layer] = n;
    ck_assert_uint_le(n, DOCS_MAX);
    for (uint32_t i = 0; i < n; i++)
        draw_vector(vectors[layer][i], 1000003u * (layer + 1) + i);
    for (uint32_t from = 0; from < n; from += VECTORS_ADD_MAX) {
        uint32_t docs[VECTORS_ADD_MAX], k = 0;
        for (; k < VECTORS_ADD_MAX && from + k < n; k++)
            docs[k] = from + k;
        struct store_txn *txn = begin(&stage_kit.kit.f);
        struct vectors_generations all = generations(txn);
        struct vectors_generation *g = vectors_generation_find(&all, VECTORS_BUILDING);
        struct batch *batch = open_batch();
        struct vectors_docs add = {layer, docs, k, vectors[layer][from], NULL, from + k};
        ck_assert_int_eq(vectors_add(g, kernels_choose("scalar"), batch, &add, &err), ERR_OK);
        vectors_save(g, batch);
        store_end(txn);
        commit(batch);
    }
}

static bool settle_once(void)
{
    struct err err;
    bool did = false;
    struct store_txn *txn = begin(&stage_kit.kit.f);
    struct vectors_generations all = generations(txn);
    struct batch *batch = open_batch();
    struct vectors_view view = {
        .txn = txn,
        .space = stage_kit.kit.space,
        .kernels = kernels_choose(NULL),
        .arena = kit_arena(&stage_kit.kit),
        .lengths = lengths_new(txn, stage_kit.kit.space, kit_arena(&stage_kit.kit)),
        .generation = vectors_generation_find(&all, VECTORS_BUILDING)};
    ck_assert_int_eq(vectors_settle(&view, batch, &did, &err), ERR_OK);
    store_end(txn);
    if (did)
        commit(batch);
    return did;
}

static void activate(void)
{
    struct err err;
    struct store_txn *txn = begin(&stage_kit.kit.f);
    struct vectors_generations all = generations(txn);
    struct batch *batch = open_batch();
    ck_assert_int_eq(vectors_activate(&all, batch, &err), ERR_OK);
    store_end(txn);
    commit(batch);
}

static uint32_t docs_of(enum stat_id next)
{
    return (uint32_t)stat_now(next);
}

static void embed_world(void)
{
    start_generation(IDENTITY);
    add_layer(LAYER_TURN, docs_of(STAT_NEXT_DOC_TURN));
    add_layer(LAYER_FACT, docs_of(STAT_NEXT_FACT) - 1);
    add_layer(LAYER_EPISODE, docs_of(STAT_NEXT_DOC_EPISODE));
    add_layer(LAYER_TOPIC, docs_of(STAT_NEXT_DOC_TOPIC));
    while (settle_once())
        continue;
    activate();
}

static void setup(void)
{
    stage_kit_setup();
    draw_vector(question, 4711);
    dense = (struct recall_dense){.vector = question,
                                  .dimension = DIM,
                                  .identity = IDENTITY,
                                  .weights = {1, 1, 2, 1},
                                  .kernels = kernels_choose(NULL)};
}

static struct recall_query widest(const char *q)
{
    struct recall_query query = query_of(q);
    query.topics = LIMIT_TOPICS;
    query.episodes = LIMIT_EPISODES;
    query.facts = LIMIT_FACTS;
    query.explain = true;
    query.dense = &dense;
    return query;
}

/* --- the reference --- */

static float cosine(enum layer layer, uint32_t doc)
{
    float sum = 0;
    for (uint32_t i = 0; i < DIM; i++)
        sum += vectors[layer][doc][i] * question[i];
    return sum;
}

/* What a cosine counts: (cosine - mean) / (6 deviations), cut to 0..1, where 16 documents of 0 and
 * a deviation of 0.1 take part in both. */
struct scale {
    double mean, deviation;
};

static struct scale scale_of(const float *cosines, uint32_t n)
{
    struct scale scale = {0, 0};
    double living = 0, sum = 0, spread = 0;
    for (uint32_t i = 0; i < n; i++) {
        living += cosines[i] > VECTORS_ABSENT;
        sum += cosines[i] > VECTORS_ABSENT ? (double)cosines[i] : 0;
    }
    for (uint32_t i = 0; i < n; i++)
        if (cosines[i] > VECTORS_ABSENT)
            spread += pow((double)cosines[i] - sum / living, 2);
    scale.mean = sum / (living + 16);
    scale.deviation = sqrt((spread + 16 * 0.01) / (living + 16));
    return scale;
}

static float counted(const struct scale *scale, float value)
{
    double out = ((double)value - scale->mean) / (6 * scale->deviation);
    return (float)fmin(fmax(out, 0), 1);
}

static struct scale scales[LAYERS];

static void find_scales(void)
{
    static float cosines[DOCS_MAX];
    struct store_txn *txn = begin(&stage_kit.kit.f);
    struct lengths *lengths = lengths_new(txn, stage_kit.kit.space, kit_arena(&stage_kit.kit));
    for (int layer = 0; layer < LAYERS; layer++) {
        for (uint32_t i = 0; i < n_docs[layer]; i++)
            cosines[i] = lengths_get(lengths, (enum layer)layer, i) == 0
                             ? VECTORS_ABSENT
                             : cosine((enum layer)layer, i);
        scales[layer] = scale_of(cosines, n_docs[layer]);
    }
    store_end(txn);
}

static float nearness(enum layer layer, uint32_t doc)
{
    return counted(&scales[layer], cosine(layer, doc));
}

/* A fact of an episode that was closed later has no row. */
static uint32_t doc_of_turn(uint32_t n)
{
    return ref.turns[n].turn.doc;
}

struct wanted {
    float signals[SIGNALS];
    float factor, score;
    uint32_t n; /* of a fact: its best source */
};

static float weigh(enum recall_stage stage, struct wanted *w, const float *weights, float more)
{
    /* ref_sum() divides by what words could reach; with vectors that is more. */
    static const float words[RECALL_STAGES] = {2, 2, 5.5f, 5.5f};
    float plain[SIGNALS];
    memcpy(plain, w->signals, sizeof plain);
    float sum = ref_sum(&ref, stage, plain, w->factor) * words[stage];
    float extra =
        weights[0] * w->signals[SIGNAL_VECTOR] + weights[1] * w->signals[SIGNAL_TURN_VECTOR];
    w->score = (sum + extra * w->factor) / (words[stage] + more);
    return w->score;
}

static struct wanted wanted_fact(uint32_t id)
{
    static const float weights[] = {2, 1};
    struct wanted best = {.score = -1};
    const struct fact *fact = &ref.facts[id].fact;
    for (uint32_t i = 0; i < fact->n_sources; i++) {
        struct wanted w = {.factor = ref_factor(&ref, fact->sources[i]), .n = fact->sources[i]};
        ref_fact_signals(&ref, id, fact->sources[i], w.signals);
        w.signals[SIGNAL_VECTOR] = nearness(LAYER_FACT, id - 1);
        w.signals[SIGNAL_TURN_VECTOR] = nearness(LAYER_TURN, doc_of_turn(fact->sources[i]));
        if (weigh(STAGE_FACTS, &w, weights, 3) > best.score)
            best = w;
    }
    return best;
}

static struct wanted wanted_recent(uint32_t n)
{
    static const float weights[] = {3, 0};
    struct wanted w = {.factor = ref_factor(&ref, n)};
    ref_fact_signals(&ref, 0, n, w.signals);
    w.signals[SIGNAL_VECTOR] = nearness(LAYER_TURN, doc_of_turn(n));
    (void)weigh(STAGE_RECENT, &w, weights, 3);
    return w;
}

static struct wanted wanted_node(enum recall_stage stage, uint32_t id)
{
    static const float weights[] = {1, 0};
    struct wanted w = {.factor = 1};
    if (stage == STAGE_EPISODES) {
        ref_episode_signals(&ref, id, w.signals);
        w.signals[SIGNAL_VECTOR] = nearness(LAYER_EPISODE, ref.episodes[id].episode.doc);
    } else {
        ref_topic_signals(&ref, id, w.signals);
        w.signals[SIGNAL_VECTOR] = nearness(LAYER_TOPIC, ref.topics[id].topic.doc);
    }
    (void)weigh(stage, &w, weights, 1);
    return w;
}

/* Rows are kept as int8: 24 values are off by some thousandths. */
static void expect_near(float found, float wanted, const char *what, uint32_t id)
{
    ck_assert_msg(fabsf(found - wanted) <= 0.006f, "%s of %u is %.6f instead of %.6f", what, id,
                  (double)found, (double)wanted);
}

static void expect_candidate(const struct recall_candidate *c, const struct wanted *w, uint32_t id)
{
    /* So near to 0 that rounding decides whether it is there. */
    if (c == NULL && w->score < 0.006f)
        return;
    ck_assert_msg(c != NULL, "%u is missing: %.6f", id, (double)w->score);
    for (int s = 0; s < SIGNALS; s++)
        expect_near(c->signal[s], w->signals[s], recall_signal_name((enum recall_signal)s), id);
    expect_near(c->score, w->score, "score", id);
}

static void check_nodes(const struct recall_reply *reply, enum recall_stage stage, uint32_t n)
{
    for (uint32_t id = 1; id <= n; id++) {
        bool alive = stage == STAGE_EPISODES ? ref.episodes[id].episode.id != 0
                                             : ref.topics[id].topic.id != 0;
        struct wanted w = {.score = 0};
        if (alive)
            w = wanted_node(stage, id);
        if (alive)
            expect_candidate(explained(reply, stage, id), &w, id);
    }
}

static uint32_t check_reply(const struct recall_reply *reply)
{
    uint32_t without_words = 0;
    ck_assert(reply->dense);
    for (uint32_t id = 1; id <= ref.n_facts; id++) {
        if (ref.facts[id].fact.id == 0)
            continue;
        struct wanted w = wanted_fact(id);
        const struct recall_candidate *c = explained(reply, STAGE_FACTS, id);
        if (c != NULL)
            w.score *= ref_share_of(&ref, reply, c, w.n);
        expect_candidate(c, &w, id);
        without_words += c != NULL && c->rank[SIGNAL_WINDOW4] == 0 && c->rank[SIGNAL_OWN] == 0 &&
                         c->rank[SIGNAL_EPISODE] == 0;
    }
    for (uint32_t n = 1; n <= ref.n_turns; n++) {
        if (ref.turns[n].turn.n == 0 || ref.turns[n].done)
            continue;
        struct wanted w = wanted_recent(n);
        expect_candidate(explained(reply, STAGE_RECENT, n), &w, n);
    }
    check_nodes(reply, STAGE_EPISODES, ref.n_episodes);
    check_nodes(reply, STAGE_TOPICS, ref.n_topics);
    for (uint32_t i = 1; i < reply->n_facts; i++)
        ck_assert(reply->facts[i - 1].score >= reply->facts[i].score);
    for (uint32_t i = 0; i < reply->n_facts; i++)
        ck_assert(reply->facts[i].score >= 0 && reply->facts[i].score <= 1);
    return without_words;
}

START_TEST(every_signal_is_as_computed)
{
    tell_world((unsigned)_i + 3, TURNS, _i % 2 == 0);
    embed_world();
    find_scales();
    ref_init(&ref);
    ref_ask(&ref, "violin", NULL, NULL);
    struct recall_query query = widest("Where is the violin?");
    struct asked asked = ask(&query);
    ck_assert_uint_gt(check_reply(&asked.reply), 0);
    asked_end(&asked);
}
END_TEST

START_TEST(a_question_without_a_known_word_finds_the_nearest)
{
    tell_world(5, TURNS, true);
    embed_world();
    find_scales();
    ref_init(&ref);
    struct recall_query query = widest("zyzzyva");
    struct asked asked = ask(&query);
    float best = 0;
    uint32_t best_id = 0;
    for (uint32_t id = 1; id <= ref.n_facts; id++) {
        const struct fact *fact = &ref.facts[id].fact;
        if (fact->id == 0)
            continue;
        float turn = 0, factor = 0;
        for (uint32_t i = 0; i < fact->n_sources; i++) {
            float own = ref_factor(&ref, fact->sources[i]);
            float sum = 2 * nearness(LAYER_FACT, id - 1) +
                        nearness(LAYER_TURN, doc_of_turn(fact->sources[i]));
            if (sum * own > turn * factor) {
                turn = sum;
                factor = own;
            }
        }
        if (turn * factor > best) {
            best = turn * factor;
            best_id = id;
        }
    }
    ck_assert_uint_gt(asked.reply.n_facts, 10);
    ck_assert_uint_eq(asked.reply.facts[0].fact.id, best_id);
    ck_assert_uint_gt(asked.reply.n_episodes, 0);
    ck_assert_uint_gt(asked.reply.n_topics, 0);
    ck_assert_uint_gt(asked.reply.context.n_turn_ids, 0);
    asked_end(&asked);
    query.dense = NULL;
    asked = ask(&query);
    ck_assert_uint_eq(asked.reply.n_facts, 0);
    ck_assert(!asked.reply.dense);
    asked_end(&asked);
}
END_TEST

/* Another identity, dimension, or none at all: exactly what words alone give. */
START_TEST(vectors_of_another_kind_take_no_part)
{
    tell_world(6, TURNS, true);
    struct recall_query plain = query_of("garden violin");
    plain.explain = true;
    struct str before = ask_text(&plain);
    struct recall_query query = plain;
    query.dense = &dense;
    ck_assert(str_eq(ask_text(&query), before)); /* no generation */
    embed_world();
    ck_assert(str_eq(ask_text(&plain), before));
    ck_assert(!str_eq(ask_text(&query), before));
    dense.identity++;
    ck_assert(str_eq(ask_text(&query), before));
    dense.identity--;
    dense.dimension--;
    ck_assert(str_eq(ask_text(&query), before));
    dense.dimension++;
    dense.weights = (struct recall_weights){0, 0, 0, 0};
    ck_assert(str_eq(ask_text(&query), before));
}
END_TEST

/* Pruning, short lists and explain change nothing of what is shown. */
START_TEST(short_lists_begin_like_long_ones)
{
    tell_world(7, 400, false);
    embed_world();
    struct recall_query query = widest("garden engine letter");
    struct asked wide = ask(&query);
    query.facts = 7;
    query.episodes = 100;
    query.explain = false;
    struct asked narrow = ask(&query);
    ck_assert_uint_eq(narrow.reply.n_facts, 7);
    for (uint32_t i = 0; i < 7; i++) {
        ck_assert_uint_eq(narrow.reply.facts[i].fact.id, wide.reply.facts[i].fact.id);
        ck_assert(narrow.reply.facts[i].score == wide.reply.facts[i].score);
    }
    for (uint32_t i = 0; i < narrow.reply.n_recent; i++)
        ck_assert_uint_eq(narrow.reply.recent[i].turn.n, wide.reply.recent[i].turn.n);
    ck_assert(str_eq(narrow.reply.context.text, wide.reply.context.text));
    asked_end(&wide);
    asked_end(&narrow);
}
END_TEST

/* --- fusions --- */

/* rrf by hand from the ranks that explain shows: each list adds its weight / (60 + rank). */
START_TEST(rrf_has_further_lists)
{
    static const float weights[SIGNALS] = {
        [SIGNAL_OWN] = 0.5f,   [SIGNAL_TURN] = 1,    [SIGNAL_WINDOW1] = 1,
        [SIGNAL_WINDOW2] = 1,  [SIGNAL_WINDOW4] = 1, [SIGNAL_EPISODE] = 1,
        [SIGNAL_DATE] = 0.75f, [SIGNAL_VECTOR] = 2,  [SIGNAL_TURN_VECTOR] = 1};
    tell_world(8, 40, true);
    embed_world();
    struct recall_query query = widest("painting bridge");
    query.fusion = FUSION_RRF;
    struct asked asked = ask(&query);
    const struct recall_explain *e = asked.reply.explain;
    ck_assert_uint_gt(e->n[STAGE_FACTS], 5);
    uint32_t by_vector = 0;
    for (uint32_t i = 0; i < e->n[STAGE_FACTS]; i++) {
        const struct recall_candidate *c = &e->stage[STAGE_FACTS][i];
        float least = 0, most = 0;
        /* Facts of one turn share signals, and one said twice is a candidate a turn until they are
         * joined: the rank that counted is the shown one or a few places off. */
        for (int s = 0; s < SIGNALS; s++) {
            if (c->rank[s] == 0)
                continue;
            most += weights[s] / (60 + fmaxf((float)c->rank[s] - 5, 1));
            least += weights[s] / (60 + (float)c->rank[s] + 30);
        }
        float whole = (5.5f + 3) / 61;
        ck_assert_msg(c->score <= most * c->factor / whole + 1e-5f &&
                          c->score >= least * c->factor / whole - 1e-5f,
                      "fact %u: %g is not in %g .. %g", c->id, (double)c->score,
                      (double)(least * c->factor / whole), (double)(most * c->factor / whole));
        by_vector += c->rank[SIGNAL_VECTOR] != 0;
    }
    ck_assert_uint_gt(by_vector, 3);
    asked_end(&asked);
}
END_TEST

START_TEST(max_divides_cosines_by_the_best)
{
    tell_world(9, 40, true);
    embed_world();
    struct recall_query query = widest("zyzzyva");
    query.fusion = FUSION_MAX;
    query.topics = query.episodes = LIMIT_EPISODES;
    struct asked asked = ask(&query);
    const struct recall_explain *e = asked.reply.explain;
    float top_own = 0, top_turn = 0;
    for (uint32_t i = 0; i < e->n[STAGE_FACTS]; i++) {
        top_own = fmaxf(top_own, e->stage[STAGE_FACTS][i].signal[SIGNAL_VECTOR]);
        top_turn = fmaxf(top_turn, e->stage[STAGE_FACTS][i].signal[SIGNAL_TURN_VECTOR]);
    }
    ck_assert_uint_gt(e->n[STAGE_FACTS], 5);
    for (uint32_t i = 0; i < e->n[STAGE_FACTS]; i++) {
        const struct recall_candidate *c = &e->stage[STAGE_FACTS][i];
        float sum =
            2 * c->signal[SIGNAL_VECTOR] / top_own + c->signal[SIGNAL_TURN_VECTOR] / top_turn;
        ck_assert(fabsf(c->score - sum * c->factor / 8.5f) < 1e-5f);
    }
    asked_end(&asked);
}
END_TEST

/* --- propagation --- */

/* What vectors_scan() says exactly; what that is, tests of the index show. */
START_TEST(lambda_and_join_are_the_query_s)
{
    tell_world(10, TURNS, true);
    embed_world();
    struct recall_query query = widest("zyzzyva");
    float seen[3] = {0, 0, 0};
    for (int i = 0; i < 3; i++) {
        dense.lambda = i == 0 ? 0 : 0.5f;
        dense.join = i == 2 ? VECTORS_MEAN : VECTORS_SUM;
        struct asked asked = ask(&query);
        struct err err;
        struct vectors_generations all = generations(asked.txn);
        struct vectors_view view = {
            .txn = asked.txn,
            .space = stage_kit.kit.space,
            .kernels = kernels_choose(NULL),
            .arena = kit_arena(&stage_kit.kit),
            .lengths = lengths_new(asked.txn, stage_kit.kit.space, kit_arena(&stage_kit.kit)),
            .generation = vectors_generation_find(&all, VECTORS_ACTIVE)};
        struct vectors_query exact = {question, 1u << LAYER_FACT | 1u << LAYER_EPISODE,
                                      dense.lambda, dense.join, VECTORS_EXACT};
        struct vectors_scores scores[LAYERS];
        ck_assert_int_eq(vectors_scan(&view, &exact, scores, &err), ERR_OK);
        const struct recall_explain *e = asked.reply.explain;
        struct scale scale = scale_of(scores[LAYER_FACT].at, scores[LAYER_FACT].n);
        for (uint32_t k = 0; k < e->n[STAGE_FACTS]; k++) {
            const struct recall_candidate *c = &e->stage[STAGE_FACTS][k];
            float wanted = counted(&scale, scores[LAYER_FACT].at[c->id - 1]);
            ck_assert(fabsf(c->signal[SIGNAL_VECTOR] - wanted) < 1e-4f);
            seen[i] += wanted;
        }
        asked_end(&asked);
    }
    ck_assert(fabsf(seen[0] - seen[1]) > 0.01f);
}
END_TEST

/* --- gates and filters --- */

START_TEST(the_strict_gate_holds_for_the_nearest)
{
    tell_world(31, 80, true);
    embed_world();
    struct recall_query query = widest("zyzzyva");
    query.topics = 3;
    query.episodes = 6;
    query.gate = GATE_STRICT;
    struct asked asked = ask(&query);
    ck_assert_uint_gt(asked.reply.n_facts, 0);
    ck_assert_uint_gt(asked.reply.n_episodes, 0);
    for (uint32_t i = 0; i < asked.reply.n_facts; i++) {
        const struct fact *fact = &asked.reply.facts[i].fact;
        bool member = false;
        for (uint32_t k = 0; k < asked.reply.n_episodes; k++)
            for (uint32_t e = 0; e < fact->n_episodes; e++)
                member |= fact->episodes[e] == asked.reply.episodes[k].episode.id;
        ck_assert(member);
    }
    uint32_t gated = 0;
    for (uint32_t i = 0; i < asked.reply.explain->n[STAGE_FACTS]; i++) {
        const char *cut = asked.reply.explain->stage[STAGE_FACTS][i].cut;
        gated += cut != NULL && strcmp(cut, "gate") == 0;
    }
    ck_assert_uint_gt(gated, 0);
    asked_end(&asked);
}
END_TEST

START_TEST(filters_hold_for_the_nearest)
{
    tell_world(32, 80, false);
    embed_world();
    find_scales();
    ref_init(&ref);
    struct recall_query query = widest("zyzzyva");
    query.speaker = STR("Bob");
    query.session = STR("s2");
    struct asked asked = ask(&query);
    ck_assert_uint_gt(asked.reply.n_facts, 0);
    for (uint32_t i = 0; i < asked.reply.n_facts; i++) {
        const struct fact *fact = &asked.reply.facts[i].fact;
        bool fits = false;
        for (uint32_t k = 0; k < fact->n_sources; k++)
            fits |= str_eq(ref.turns[fact->sources[k]].turn.speaker, STR("Bob")) &&
                    str_eq(ref.turns[fact->sources[k]].turn.session, STR("s2"));
        ck_assert(fits);
    }
    for (uint32_t i = 0; i < asked.reply.n_episodes; i++)
        ck_assert(str_eq(asked.reply.episodes[i].episode.session, STR("s2")));
    for (uint32_t i = 0; i < asked.reply.n_recent; i++)
        ck_assert(str_eq(turn_speaker(&asked.reply.recent[i].turn), STR("Bob")));
    asked_end(&asked);
}
END_TEST

/* --- the order of a reranker --- */

/* Judges every second of what recall_pool() gives, the last as best. */
static void judge(const struct recall_query *query, struct recall_order orders[RECALL_STAGES],
                  struct recall_pool pool[RECALL_STAGES])
{
    struct err err = {.code = ERR_OK};
    struct arena *arena = arena_new(ARENA_REQUEST_BYTES);
    struct space settings;
    struct store_txn *txn = begin(&stage_kit.kit.f);
    ck_assert_int_eq(space_get(txn, stage_kit.kit.space, &settings, &err), ERR_OK);
    struct recall_base base = {txn, stage_kit.kit.space, &settings, &stage_kit.clock, NULL};
    const struct recall_pools pools = {12, kit_arena(&stage_kit.kit), pool};
    ck_assert_int_eq(recall_pool(&base, query, arena, &pools, &err), ERR_OK);
    store_end(txn);
    arena_free(arena);
    for (int s = 0; s < RECALL_STAGES; s++) {
        float *scores = ARENA_ARRAY(kit_arena(&stage_kit.kit), float, pool[s].n);
        for (uint32_t i = 0; i < pool[s].n; i++)
            scores[i] = i % 2 == 0 ? 0.01f * (float)(i + 1) : -1;
        orders[s] = (struct recall_order){pool[s].ids, scores, pool[s].n};
    }
}

START_TEST(lists_follow_the_reranker)
{
    struct recall_order orders[RECALL_STAGES];
    struct recall_pool pool[RECALL_STAGES];
    tell_world(33, TURNS, true);
    struct recall_query query = widest("garden violin engine");
    query.dense = NULL;
    struct asked fused = ask(&query);
    judge(&query, orders, pool);
    ck_assert_uint_eq(pool[STAGE_FACTS].n, 12);
    ck_assert_uint_eq(pool[STAGE_RECENT].n, 0);
    for (uint32_t i = 0; i < 12; i++) {
        ck_assert_uint_eq(pool[STAGE_FACTS].ids[i], fused.reply.facts[i].fact.id);
        struct str document = pool[STAGE_FACTS].documents[i];
        const struct fact *fact = &fused.reply.facts[i].fact;
        ck_assert_ptr_nonnull(
            memmem(document.at, document.len, fact->content.at, fact->content.len));
        ck_assert_ptr_nonnull(memmem(document.at, document.len, "2023", 4));
    }
    ck_assert_uint_eq(pool[STAGE_TOPICS].ids[0], fused.reply.topics[0].topic.id);
    query.reranked = orders;
    struct asked asked = ask(&query);
    for (uint32_t i = 0; i < 6; i++) {
        ck_assert_uint_eq(asked.reply.facts[i].fact.id, pool[STAGE_FACTS].ids[10 - 2 * i]);
        ck_assert(asked.reply.facts[i].score == 0.01f * (float)(11 - 2 * i));
    }
    /* What was not judged keeps its order behind, and is never shown as better. */
    ck_assert_uint_eq(asked.reply.facts[6].fact.id, fused.reply.facts[1].fact.id);
    ck_assert_uint_eq(asked.reply.facts[7].fact.id, fused.reply.facts[3].fact.id);
    ck_assert_uint_eq(asked.reply.facts[12].fact.id, fused.reply.facts[12].fact.id);
    for (uint32_t i = 1; i < asked.reply.n_facts; i++)
        ck_assert(asked.reply.facts[i].score <= asked.reply.facts[i - 1].score);
    ck_assert_uint_eq(asked.reply.n_facts, fused.reply.n_facts);
    const struct recall_candidate *c =
        explained(&asked.reply, STAGE_FACTS, asked.reply.facts[0].fact.id);
    ck_assert_uint_eq(c->rank[SIGNAL_RERANK], 1);
    asked_end(&asked);
    asked_end(&fused);
}
END_TEST

/* The context of a small budget begins with what the reranker holds best. */
START_TEST(context_and_gates_follow_the_reranker)
{
    struct recall_order orders[RECALL_STAGES];
    struct recall_pool pool[RECALL_STAGES];
    tell_world(34, 80, true);
    struct recall_query query = widest("garden violin engine");
    query.dense = NULL;
    query.max_tokens = 40;
    query.summaries = SUMMARIES_OFF;
    struct asked fused = ask(&query);
    judge(&query, orders, pool);
    query.reranked = orders;
    struct asked asked = ask(&query);
    ck_assert(!str_eq(asked.reply.context.text, fused.reply.context.text));
    uint32_t first = orders[STAGE_FACTS].ids[10];
    bool held = false;
    for (uint32_t i = 0; i < asked.reply.context.n_fact_ids; i++)
        held |= asked.reply.context.fact_ids[i] == first;
    ck_assert(held);
    asked_end(&asked);
    asked_end(&fused);
    query.gate = GATE_STRICT;
    query.topics = 1;
    query.episodes = 2;
    asked = ask(&query);
    uint32_t best_topic = orders[STAGE_TOPICS].ids[(orders[STAGE_TOPICS].n - 1) / 2 * 2];
    ck_assert_uint_eq(asked.reply.topics[0].topic.id, best_topic);
    for (uint32_t i = 0; i < asked.reply.n_episodes; i++)
        ck_assert(asked.reply.episodes[i].episode.topics[0] == best_topic ||
                  asked.reply.episodes[i].episode.topics[1] == best_topic);
    asked_end(&asked);
}
END_TEST

/* --- memory --- */

START_TEST(every_allocation_may_fail)
{
    struct recall_order orders[RECALL_STAGES];
    struct recall_pool pool[RECALL_STAGES];
    tell_world(11, 30, true);
    embed_world();
    dense.lambda = 0.5f;
    struct recall_query query = widest("garden violin");
    judge(&query, orders, pool);
    query.reranked = orders;
    unsigned long nth = 1;
    for (; ask_failing(&query, nth) != ERR_OK; nth++)
        ck_assert_uint_lt(nth, 5000);
    ck_assert_uint_gt(nth, 30);
}
END_TEST

Suite *suite_recall_vectors(void);
Suite *suite_recall_vectors(void)
{
    Suite *suite = suite_create("recall_vectors");
    TCase *tc = tcase_create("vectors");
    tcase_add_checked_fixture(tc, setup, stage_kit_teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, every_signal_is_as_computed, 0, 4);
    tcase_add_test(tc, a_question_without_a_known_word_finds_the_nearest);
    tcase_add_test(tc, vectors_of_another_kind_take_no_part);
    tcase_add_test(tc, short_lists_begin_like_long_ones);
    tcase_add_test(tc, rrf_has_further_lists);
    tcase_add_test(tc, max_divides_cosines_by_the_best);
    tcase_add_test(tc, lambda_and_join_are_the_query_s);
    tcase_add_test(tc, the_strict_gate_holds_for_the_nearest);
    tcase_add_test(tc, filters_hold_for_the_nearest);
    tcase_add_test(tc, lists_follow_the_reranker);
    tcase_add_test(tc, context_and_gates_follow_the_reranker);
    tcase_add_test(tc, every_allocation_may_fail);
    suite_add_tcase(suite, tc);
    return suite;
}
