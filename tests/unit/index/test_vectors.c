/* Vectors come back as the scores that a plain reference gives, whatever is added, deleted,
 * re-weighted, settled or folded in between. */
#include "core/index/vectors.h"

#include <check.h>
#include <math.h>
#include <stdio.h>

#include "tests/unit/index/vmodel.h"

static struct vmodel m;

static void setup(void)
{
    vmodel_init(&m, 4711, 40);
}

static void teardown(void)
{
    vmodel_fini(&m);
}

static size_t rows_of(enum store_kind kind)
{
    struct store_cursor *cursor;
    struct store_item item;
    struct err err;
    size_t n = 0;
    struct store_txn *txn = harness_begin(m.h);
    ck_assert_int_eq(store_cursor_open(txn, harness_space(m.h), kind, &cursor, &err), ERR_OK);
    ck_assert_int_eq(store_cursor_next(cursor, &item, &err), ERR_OK);
    for (; item.key.at != NULL; n++)
        ck_assert_int_eq(store_cursor_next(cursor, &item, &err), ERR_OK);
    store_cursor_close(cursor);
    return n;
}

/* Two topics, an episode in each and one in both, `facts` facts in each episode, all in one batch;
 * nothing is embedded yet. */
static void small_world(uint32_t facts)
{
    vmodel_begin(&m);
    uint32_t a = vmodel_add_topic(&m), b = vmodel_add_topic(&m);
    uint32_t episodes[3] = {vmodel_add_episode(&m, a, 0), vmodel_add_episode(&m, a, b),
                            vmodel_add_episode(&m, b, 0)};
    for (unsigned e = 0; e < 3; e++) {
        for (uint32_t i = 0; i < facts; i++)
            (void)vmodel_add_fact(&m, episodes[e], (uint16_t)(20000 * e + 3000 * i));
        vmodel_add_turn(&m);
    }
    vmodel_commit(&m);
}

/* --- layout --- */

START_TEST(blocks_fill_their_pages)
{
    ck_assert_uint_eq(vectors_block_rows(384), 73);
    ck_assert_uint_eq(vectors_block_rows(1024), 27);
    for (uint32_t dim = 1; dim <= VECTORS_DIM_MAX; dim++) {
        uint32_t rows = vectors_block_rows(dim), stride = (dim + 63) / 64 * 64;
        ck_assert_uint_gt(rows, 0);
        if (dim > 4096)
            continue;
        ck_assert_uint_ge((rows + 1) * (stride + 8) + 16 + 16 + 64, 6 * 4096 - stride);
    }
}
END_TEST

START_TEST(rows_begin_on_cache_lines)
{
    vmodel_fini(&m);
    vmodel_init(&m, 1, 384);
    small_world(30);
    vmodel_embed_all(&m);
    struct vectors_view view;
    struct store_cursor *cursor;
    struct store_item item;
    struct err err;
    size_t large = 0;
    vmodel_view(&m, &view);
    ck_assert_int_eq(store_cursor_open(view.txn, view.space, KIND_VECTOR, &cursor, &err), ERR_OK);
    ck_assert_int_eq(store_cursor_next(cursor, &item, &err), ERR_OK);
    while (item.key.at != NULL) {
        struct vectors_block block;
        ck_assert(vectors_block_read(item.value, &block));
        if (item.value.len > 4096) {
            ck_assert_uint_eq((uintptr_t)block.values % 64, 0);
            large++;
        }
        ck_assert_int_eq(store_cursor_next(cursor, &item, &err), ERR_OK);
    }
    store_cursor_close(cursor);
    ck_assert_uint_ge(large, 2);
}
END_TEST

/* --- life of a generation --- */

static enum err_code life(bool activate, const char *line)
{
    struct err err;
    const struct vectors_identity identity = {.hash = 5, .line = str_of(line), .dim = 12};
    vmodel_begin(&m);
    enum err_code rc = activate ? vectors_activate(&m.all, m.batch, &err)
                                : vectors_start(&m.all, m.batch, &identity, &err);
    if (rc == ERR_OK)
        harness_commit(m.h, m.batch);
    return rc;
}

static bool drop_once(void)
{
    struct err err;
    bool did;
    vmodel_begin(&m);
    struct batch *batch = batch_new(m.arena, harness_space(m.h), CAUSE_KEEP);
    ck_assert_int_eq(
        vectors_drop(harness_begin(m.h), harness_space(m.h), &m.all, batch, &did, &err), ERR_OK);
    if (did)
        harness_commit(m.h, batch);
    return did;
}

START_TEST(generations_follow_one_another)
{
    small_world(200); /* more rows than one drop takes */
    for (uint32_t i = 0; i < 150; i++)
        vmodel_embed(&m, LAYER_FACT, 4, 0);
    vmodel_embed_all(&m);
    vmodel_settle_all(&m);
    ck_assert(!drop_once());
    ck_assert_int_eq(life(true, ""), ERR_PRECONDITION);
    ck_assert_int_eq(life(false, "the next"), ERR_OK);
    ck_assert_int_eq(life(false, "one more"), ERR_PRECONDITION);
    (void)vmodel_check(&m, 1); /* the active one answers meanwhile */
    ck_assert_int_eq(life(true, ""), ERR_OK);
    vmodel_begin(&m);
    ck_assert_uint_eq(m.all.n, 2);
    ck_assert_int_eq(m.all.at[0].state, VECTORS_OLD);
    ck_assert_uint_eq(m.all.at[0].identity, 77);
    ck_assert(str_eq(m.all.at[0].line, STR("test model")));
    ck_assert_int_eq(m.all.at[1].state, VECTORS_ACTIVE);
    ck_assert_uint_eq(m.all.at[1].number, 2);
    ck_assert_uint_eq(m.all.at[1].dim, 12);
    ck_assert(str_eq(m.all.at[1].line, STR("the next")));
    uint32_t steps = 0;
    while (drop_once())
        steps++;
    ck_assert_uint_ge(steps, 1);
    vmodel_begin(&m);
    ck_assert_uint_eq(m.all.n, 1);
    ck_assert_uint_eq(m.all.at[0].number, 2);
    ck_assert_uint_eq(rows_of(KIND_VECTOR), 0);
    ck_assert_uint_eq(rows_of(KIND_VECTOR_SIDE), 0);
    ck_assert_uint_eq(rows_of(KIND_VECTOR_DIRTY), 0);
}
END_TEST

/* A batch built before the switch marks a generation that is gone when it commits. */
static void abandon(enum err_code wanted)
{
    struct err err;
    vmodel_begin(&m);
    ck_assert_int_eq(vectors_abandon(&m.all, m.batch, &err), wanted);
    if (wanted == ERR_OK)
        harness_commit(m.h, m.batch);
}

static void add_to_the_next(void)
{
    struct err err;
    float rows[2 * 12];
    const uint32_t docs[2] = {0, 1};
    for (unsigned i = 0; i < 24; i++)
        rows[i] = (float)(i + 1);
    const struct vectors_docs add = {LAYER_TOPIC, docs, 2, rows, NULL, 2};
    vmodel_begin(&m);
    ck_assert_int_eq(vectors_add(&m.all.at[1], m.kernels, m.batch, &add, &err), ERR_OK);
    vectors_edge_dirty(&m.all, m.batch, KIND_TOPIC_EDGE, 1, VECTORS_NO_SLOT);
    vectors_save(&m.all.at[1], m.batch);
    harness_commit(m.h, m.batch);
}

/* Its rows lie behind those of the active one. */
START_TEST(one_that_is_given_up_goes_alone)
{
    small_world(20);
    vmodel_embed_all(&m);
    vmodel_settle_all(&m);
    abandon(ERR_PRECONDITION);
    ck_assert_int_eq(life(false, "the next"), ERR_OK);
    add_to_the_next();
    abandon(ERR_OK);
    vmodel_begin(&m);
    ck_assert_int_eq(m.all.at[1].state, VECTORS_OLD);
    ck_assert_int_eq(life(false, "another"), ERR_OK); /* beside the one that goes */
    ck_assert(drop_once());
    ck_assert(!drop_once());
    vmodel_begin(&m);
    ck_assert_uint_eq(m.all.n, 2);
    ck_assert_uint_eq(m.all.at[0].number, 1);
    ck_assert_uint_eq(m.all.at[1].number, 3);
    vmodel_settle_all(&m);
    (void)vmodel_check(&m, 2);
    ck_assert_int_eq(life(true, ""), ERR_OK);
}
END_TEST

START_TEST(marks_for_nobody_are_dropped)
{
    small_world(3);
    vmodel_settle_all(&m);
    vmodel_begin(&m);
    vectors_edge_dirty(&m.all, m.batch, KIND_EPISODE_EDGE, 1, VECTORS_NO_SLOT);
    m.all.at[0].number = 0;
    vectors_edge_dirty(&m.all, m.batch, KIND_EPISODE_EDGE, 1, VECTORS_NO_SLOT);
    vmodel_commit(&m);
    ck_assert_uint_eq(rows_of(KIND_VECTOR_DIRTY), 2);
    ck_assert(drop_once());
    ck_assert_uint_eq(rows_of(KIND_VECTOR_DIRTY), 1);
    ck_assert(!drop_once());
    ck_assert(vmodel_settle(&m));
    ck_assert_uint_eq(rows_of(KIND_VECTOR_DIRTY), 0);
}
END_TEST

START_TEST(a_mark_meets_the_generation_that_was_started)
{
    struct vectors_generations none = {NULL, 0};
    vmodel_begin(&m);
    uint32_t ops = m.batch->ops.n;
    vectors_edge_dirty(&none, m.batch, KIND_TOPIC_EDGE, 1, VECTORS_NO_SLOT);
    vectors_edge_dirty(&none, m.batch, KIND_TOPIC_EDGE, 2, VECTORS_NO_SLOT);
    ck_assert_uint_eq(m.batch->ops.n, ops); /* no generation, no row */
    ck_assert_uint_eq(m.batch->needs.n, 1);
    ck_assert_int_eq(harness_try(m.h, m.batch), ERR_CONFLICT); /* number 1 is there by now */
}
END_TEST

START_TEST(a_mark_takes_its_parent_from_a_slot)
{
    struct err err;
    vmodel_begin(&m);
    batch_set(m.batch, STAT_NEXT_EPISODE, 90);
    harness_commit(m.h, m.batch);
    vmodel_begin(&m);
    uint32_t slot = batch_take(m.batch, STAT_NEXT_EPISODE, 3);
    vectors_edge_dirty(&m.all, m.batch, KIND_EPISODE_EDGE, 2, slot);
    harness_commit(m.h, m.batch);
    char key[VECTORS_KEY];
    struct str value;
    vectors_key(key, 1, EDGE_FACTS, 92);
    ck_assert_int_eq(store_get(harness_begin(m.h), harness_space(m.h), KIND_VECTOR_DIRTY,
                               (struct str){key, sizeof key}, &value, &err),
                     ERR_OK);
    ck_assert_ptr_nonnull(value.at);
    ck_assert_uint_eq(value.len, 8);
    ck_assert_uint_ne(le64_get(value.at), 0);
}
END_TEST

/* --- exactness --- */

START_TEST(scores_are_those_of_the_reference)
{
    static const uint32_t dims[] = {1, 7, 64, 65, 384, 768, 1024};
    double worst = 0;
    for (size_t i = 0; i < sizeof dims / sizeof dims[0]; i++) {
        vmodel_fini(&m);
        vmodel_init(&m, i, dims[i]);
        small_world(12);
        vmodel_embed_all(&m);
        vmodel_settle_all(&m);
        double off = vmodel_check(&m, 8);
        if (dims[i] >= 384)
            worst = fmax(worst, off);
    }
    ck_assert(worst < 1e-5); /* far below the bound; what the header says is typical */
}
END_TEST

START_TEST(every_kernel_answers_alike)
{
    const struct kernels *k;
    for (size_t i = 0; (k = kernels_at(i)) != NULL; i++) {
        vmodel_fini(&m);
        vmodel_init(&m, i, 100);
        m.kernels = k;
        small_world(9);
        vmodel_embed_all(&m);
        vmodel_settle_all(&m);
        (void)vmodel_check(&m, 8);
    }
}
END_TEST

START_TEST(only_what_is_asked_for_is_scored)
{
    struct vectors_view view;
    struct vectors_scores out[LAYERS];
    struct err err;
    float q[40] = {1};
    small_world(3);
    vmodel_embed_all(&m);
    vmodel_view(&m, &view);
    struct vectors_query query = {.q = q, .mask = 1U << LAYER_FACT, .lambda = VECTORS_LAMBDA};
    ck_assert_int_eq(vectors_scan(&view, &query, out, &err), ERR_OK);
    ck_assert_uint_eq(out[LAYER_FACT].n, 9);
    ck_assert_uint_eq(out[LAYER_TURN].n + out[LAYER_EPISODE].n + out[LAYER_TOPIC].n, 0);
}
END_TEST

START_TEST(the_dead_and_the_lexical_have_no_score)
{
    small_world(40);
    vmodel_embed(&m, LAYER_FACT, 30, 3);
    vmodel_embed(&m, LAYER_FACT, 50, 2); /* the rest waits */
    vmodel_embed(&m, LAYER_EPISODE, 2, 0);
    vmodel_settle_all(&m);
    (void)vmodel_check(&m, 4);
    vmodel_begin(&m);
    vmodel_kill_fact(&m, 3);
    vmodel_kill_fact(&m, 100); /* never embedded */
    vmodel_kill_episode(&m, 2);
    vmodel_commit(&m);
    vmodel_settle_all(&m);
    (void)vmodel_check(&m, 4);
}
END_TEST

START_TEST(an_episode_written_anew_is_embedded_anew)
{
    small_world(2);
    vmodel_embed_all(&m);
    vmodel_settle_all(&m);
    vmodel_begin(&m);
    vmodel_rewrite_episode(&m, 2);
    vmodel_commit(&m);
    vmodel_settle_all(&m);
    (void)vmodel_check(&m, 4); /* its edges go on without it */
    vmodel_embed_all(&m);
    vmodel_settle_all(&m);
    (void)vmodel_check(&m, 4);
}
END_TEST

START_TEST(deaths_count_before_they_are_settled)
{
    struct vectors_view view;
    struct vectors_scores out[LAYERS];
    struct err err;
    float q[40] = {1};
    small_world(3);
    vmodel_embed_all(&m);
    vmodel_settle_all(&m);
    vmodel_begin(&m);
    vmodel_kill_fact(&m, 2);
    vmodel_commit(&m);
    arena_reset(m.arena);
    vmodel_view(&m, &view);
    struct vectors_query query = {.q = q, .mask = 1U << LAYER_FACT, .lambda = VECTORS_LAMBDA};
    ck_assert_int_eq(vectors_scan(&view, &query, out, &err), ERR_OK);
    ck_assert(out[LAYER_FACT].at[1] == VECTORS_ABSENT);
    ck_assert(out[LAYER_FACT].at[0] >= -1);
}
END_TEST

/* Vectors that cancel out: a row of zeros, and a node that its edge takes away. */
START_TEST(sums_that_vanish)
{
    struct err err;
    struct vectors_view view;
    struct vectors_scores out[LAYERS];
    float rows[2 * 40] = {0}, q[40] = {3, 4};
    const uint32_t docs[2] = {0, 1};
    vmodel_begin(&m);
    uint32_t topic = vmodel_add_topic(&m), episode = vmodel_add_episode(&m, topic, 0);
    (void)vmodel_add_fact(&m, episode, 7);
    (void)vmodel_add_fact(&m, episode, 7);
    vmodel_commit(&m);
    vmodel_begin(&m);
    rows[0] = 2;
    rows[40] = -5;
    struct vectors_docs add = {.layer = LAYER_FACT, .docs = docs, .n = 2, .rows = rows, .upto = 2};
    ck_assert_int_eq(vectors_add(&m.all.at[0], m.kernels, m.batch, &add, &err), ERR_OK);
    vectors_save(&m.all.at[0], m.batch);
    harness_commit(m.h, m.batch);
    vmodel_settle_all(&m);
    arena_reset(m.arena);
    vmodel_view(&m, &view);
    struct vectors_query query = {.q = q, .mask = 1U << LAYER_FACT, .lambda = VECTORS_LAMBDA};
    ck_assert_int_eq(vectors_scan(&view, &query, out, &err), ERR_OK);
    ck_assert(fabsf(out[LAYER_FACT].at[0] - 0.6f) < 1e-5f);
    ck_assert(fabsf(out[LAYER_FACT].at[1] + 0.6f) < 1e-5f);
}
END_TEST

START_TEST(what_is_no_vector_is_refused)
{
    static const float bad[] = {NAN, INFINITY, 0};
    struct err err;
    struct vectors_view view;
    struct vectors_scores out[LAYERS];
    const uint32_t docs[2] = {0, 2};
    float rows[2 * 40] = {1};
    for (size_t i = 0; i < 3; i++) {
        vmodel_begin(&m);
        rows[40 + 17] = bad[i];
        struct vectors_docs add = {
            .layer = LAYER_TURN, .docs = docs, .n = 2, .rows = rows, .upto = 3};
        ck_assert_int_eq(vectors_add(&m.all.at[0], m.kernels, m.batch, &add, &err), ERR_INVALID);
        vmodel_view(&m, &view);
        struct vectors_query query = {.q = rows + 40, .mask = 15};
        ck_assert_int_eq(vectors_scan(&view, &query, out, &err), ERR_INVALID);
    }
}
END_TEST

/* --- two at once --- */

typedef enum err_code keep_fn(const struct vectors_view *view, struct batch *batch, bool *did,
                              struct err *err);

static struct batch *build(struct vectors_view *view, keep_fn *fn)
{
    struct err err;
    bool did;
    struct batch *batch = batch_new(m.arena, harness_space(m.h), CAUSE_KEEP);
    ck_assert_int_eq(fn(view, batch, &did, &err), ERR_OK);
    ck_assert(did);
    return batch;
}

START_TEST(the_second_of_two_is_refused)
{
    struct vectors_view view;
    small_world(3);
    vmodel_embed_all(&m);
    arena_reset(m.arena);
    vmodel_view(&m, &view);
    struct batch *first = build(&view, vectors_settle);
    struct batch *second = build(&view, vectors_settle);
    harness_commit(m.h, first);
    ck_assert_int_eq(harness_try(m.h, second), ERR_CONFLICT);
    (void)vmodel_check(&m, 1);
}
END_TEST

START_TEST(an_edge_that_changes_meanwhile_stays_marked)
{
    struct vectors_view view;
    small_world(3);
    vmodel_embed_all(&m);
    vmodel_settle_all(&m);
    for (uint32_t again = 0; again < 2; again++) {
        vmodel_begin(&m);
        vmodel_weigh(&m, EDGE_FACTS, 1, 1, 100);
        vmodel_commit(&m);
        arena_reset(m.arena);
        vmodel_view(&m, &view);
        struct arena *kept = m.arena; /* the batch's */
        struct batch *late = build(&view, vectors_settle);
        m.arena = arena_new((size_t)1 << 24);
        vmodel_begin(&m);
        vmodel_weigh(&m, EDGE_FACTS, again == 0 ? 1 : 2, again == 0 ? 2 : 4, 65535);
        vmodel_commit(&m);
        /* The same edge: refused. Another one: both come true. */
        ck_assert_int_eq(harness_try(m.h, late), again == 0 ? ERR_CONFLICT : ERR_OK);
        arena_free(m.arena);
        m.arena = kept;
        vmodel_settle_all(&m);
        (void)vmodel_check(&m, 2);
    }
}
END_TEST

START_TEST(a_node_of_many_edges_takes_several_steps)
{
    uint32_t steps = 0;
    vmodel_begin(&m);
    uint32_t topic = vmodel_add_topic(&m), fact = 0;
    for (uint32_t i = 0; i < VM_LINKS; i++) {
        uint32_t episode = vmodel_add_episode(&m, i < 16 ? topic : 0, 0);
        (void)vmodel_add_fact(&m, episode, 5);
        if (fact == 0)
            fact = 1;
        else
            vmodel_join(&m, fact, episode, 60000);
    }
    vmodel_commit(&m);
    vmodel_settle_all(&m); /* nobody has a vector */
    vmodel_embed_all(&m);
    while (vmodel_settle(&m))
        steps++;
    ck_assert_uint_ge(steps, 3);
    (void)vmodel_check(&m, 8);
}
END_TEST

START_TEST(what_did_not_change_is_not_written)
{
    struct vectors_view view;
    small_world(3);
    vmodel_embed_all(&m);
    vmodel_settle_all(&m);
    vmodel_view(&m, &view);
    uint32_t rows = view.generation->rows[EDGE_FACTS];
    vmodel_begin(&m);
    vectors_edge_dirty(&m.all, m.batch, KIND_EPISODE_EDGE, 1, VECTORS_NO_SLOT);
    vectors_edge_dirty(&m.all, m.batch, KIND_EPISODE_EDGE, 9999, VECTORS_NO_SLOT); /* no such */
    vmodel_commit(&m);
    ck_assert(vmodel_settle(&m));
    ck_assert(!vmodel_settle(&m));
    vmodel_view(&m, &view);
    ck_assert_uint_eq(view.generation->rows[EDGE_FACTS], rows);
    (void)vmodel_check(&m, 1);
}
END_TEST

/* --- folds --- */

static void copy_scores(struct vectors_scores *to, const float *q)
{
    struct vectors_view view;
    struct err err;
    vmodel_view(&m, &view);
    struct vectors_query query = {.q = q, .mask = 15, .lambda = VECTORS_LAMBDA};
    ck_assert_int_eq(vectors_scan(&view, &query, to, &err), ERR_OK);
}

START_TEST(folds_change_no_answer)
{
    struct vectors_scores before[LAYERS], after[LAYERS];
    struct vectors_view view;
    float q[40];
    vmodel_raw(&m, LAYER_FACT, 5, q);
    small_world(150);
    for (uint32_t i = 0; i < 110; i++) {
        vmodel_embed(&m, LAYER_FACT, 1 + i % 7, 9);
        if (i % 2 == 0)
            vmodel_settle_all(&m);
    }
    vmodel_embed_all(&m);
    vmodel_settle_all(&m);
    struct arena *kept = m.arena;
    copy_scores(before, q);
    m.arena = arena_new((size_t)1 << 28);
    vmodel_view(&m, &view);
    uint32_t blocks = view.generation->blocks[LAYER_FACT];
    uint32_t edge_rows = view.generation->rows[EDGE_FACTS];
    ck_assert_uint_gt(blocks, 100);
    ck_assert_uint_gt(edge_rows, 50);
    while (vmodel_fold(&m))
        ;
    vmodel_view(&m, &view);
    ck_assert_uint_lt(view.generation->blocks[LAYER_FACT], 4);
    ck_assert_uint_lt(view.generation->small[LAYER_FACT], 2);
    ck_assert_uint_eq(view.generation->rows[LAYER_FACT], 450);
    ck_assert_uint_lt(view.generation->rows[EDGE_FACTS], edge_rows / 2);
    copy_scores(after, q);
    for (unsigned layer = 0; layer < LAYERS; layer++) {
        ck_assert_uint_eq(after[layer].n, before[layer].n);
        ck_assert_int_eq(
            memcmp(after[layer].at, before[layer].at, after[layer].n * sizeof *after[layer].at), 0);
    }
    (void)vmodel_check(&m, 4);
    arena_free(kept);
}
END_TEST

START_TEST(folds_drop_the_dead)
{
    struct vectors_view view;
    small_world(170); /* 510 facts: full blocks */
    vmodel_embed_all(&m);
    vmodel_settle_all(&m);
    ck_assert(!vmodel_fold(&m));
    vmodel_begin(&m);
    for (uint32_t fact = 1; fact <= 150; fact++)
        vmodel_kill_fact(&m, fact);
    vmodel_commit(&m);
    vmodel_settle_all(&m);
    vmodel_view(&m, &view);
    ck_assert_uint_eq(view.generation->rows[LAYER_FACT], 510);
    while (vmodel_fold(&m))
        ;
    vmodel_view(&m, &view);
    ck_assert_uint_eq(view.generation->rows[LAYER_FACT], 360);
    (void)vmodel_check(&m, 4);
    vmodel_begin(&m);
    for (uint32_t fact = 151; fact <= 510; fact++)
        vmodel_kill_fact(&m, fact);
    vmodel_commit(&m);
    vmodel_settle_all(&m);
    while (vmodel_fold(&m))
        ;
    vmodel_view(&m, &view);
    ck_assert_uint_eq(view.generation->rows[LAYER_FACT], 0);
    ck_assert_uint_eq(view.generation->blocks[LAYER_FACT], 0);
    (void)vmodel_check(&m, 1);
}
END_TEST

/* --- faults --- */

/* Memory ends at each allocation in turn. */
START_TEST(missing_memory_is_reported)
{
    small_world(30);
    for (uint32_t i = 0; i < 20; i++)
        vmodel_embed(&m, LAYER_FACT, 3, 0);
    vmodel_embed_all(&m);
    static keep_fn *const keeps[] = {vectors_settle, vectors_fold};
    for (size_t k = 0; k < 2; k++) {
        enum err_code rc = ERR_EXHAUSTED;
        for (unsigned long n = 1; rc != ERR_OK; n++) {
            struct vectors_view view;
            struct err err;
            bool did;
            arena_reset(m.arena);
            vmodel_view(&m, &view);
            struct batch *batch = batch_new(m.arena, harness_space(m.h), CAUSE_KEEP);
            arena_fail_after(m.arena, n);
            rc = keeps[k](&view, batch, &did, &err);
            arena_fail_after(m.arena, 0);
            ck_assert(rc == ERR_OK || rc == ERR_EXHAUSTED);
            ck_assert(rc != ERR_OK || did);
            ck_assert_uint_lt(n, 2000);
        }
    }
}
END_TEST

START_TEST(missing_memory_for_a_scan_is_reported)
{
    float q[40] = {1};
    small_world(30);
    vmodel_embed_all(&m);
    vmodel_settle_all(&m);
    enum err_code rc = ERR_EXHAUSTED;
    unsigned long n = 1;
    for (; rc != ERR_OK; n++) {
        struct vectors_view view;
        struct vectors_scores out[LAYERS];
        struct err err;
        arena_reset(m.arena);
        vmodel_view(&m, &view);
        arena_fail_after(m.arena, n);
        struct vectors_query query = {.q = q, .mask = 15, .lambda = VECTORS_LAMBDA};
        rc = vectors_scan(&view, &query, out, &err);
        arena_fail_after(m.arena, 0);
        ck_assert(rc == ERR_OK || rc == ERR_EXHAUSTED);
        ck_assert_uint_lt(n, 100);
    }
    ck_assert_uint_gt(n, 8);
}
END_TEST

START_TEST(missing_memory_for_rows_is_reported)
{
    float rows[3 * 40];
    const uint32_t docs[3] = {0, 1, 2};
    for (uint32_t i = 0; i < 3; i++)
        vmodel_raw(&m, LAYER_FACT, i, rows + (size_t)i * 40);
    enum err_code rc = ERR_EXHAUSTED;
    for (unsigned long n = 1; rc != ERR_OK; n++) {
        struct err err;
        vmodel_begin(&m);
        struct vectors_docs add = {
            .layer = LAYER_FACT, .docs = docs, .n = 3, .rows = rows, .upto = 3};
        arena_fail_after(m.arena, n);
        rc = vectors_add(&m.all.at[0], m.kernels, m.batch, &add, &err);
        arena_fail_after(m.arena, 0);
        ck_assert(rc == ERR_OK || rc == ERR_EXHAUSTED);
        ck_assert_uint_lt(n, 100);
    }
}
END_TEST

static enum err_code scan_all(void)
{
    struct vectors_view view;
    struct vectors_scores out[LAYERS];
    struct err err;
    float q[40] = {1};
    arena_reset(m.arena);
    vmodel_view(&m, &view);
    struct vectors_query query = {.q = q, .mask = 15, .lambda = VECTORS_LAMBDA};
    return vectors_scan(&view, &query, out, &err);
}

/* Every byte of a block's head, the ends of values, rows beyond what was given out. */
START_TEST(damage_is_reported)
{
    static const enum store_kind kinds[] = {KIND_VECTOR, KIND_VECTOR_SIDE};
    small_world(5);
    vmodel_embed_all(&m);
    vmodel_settle_all(&m);
    for (unsigned k = 0; k < 2; k++) {
        char key[VECTORS_KEY], copy[8192];
        struct str rest = {key, sizeof key}, value;
        struct err err;
        vectors_key(key, 1, LAYER_FACT, 0);
        ck_assert_int_eq(
            store_get(harness_begin(m.h), harness_space(m.h), kinds[k], rest, &value, &err),
            ERR_OK);
        size_t len = value.len;
        ck_assert_uint_le(len, sizeof copy);
        memcpy(copy, value.at, len);
        harness_raw(m.h, kinds[k], rest, (struct str){copy, len - 1});
        ck_assert_int_eq(scan_all(), ERR_INTERNAL);
        harness_raw(m.h, kinds[k], rest, (struct str){copy, 3});
        ck_assert_int_eq(scan_all(), ERR_INTERNAL);
        for (size_t at = 0; at < 8; at++) {
            if (k == 1 && at == 1)
                continue; /* the layer there is for people */
            copy[at] ^= 0x40;
            harness_raw(m.h, kinds[k], rest, (struct str){copy, len});
            ck_assert_msg(scan_all() == ERR_INTERNAL, "kind %u, byte %zu", k, at);
            copy[at] ^= 0x40;
        }
        size_t number = k == 0 ? 16 + 2 : 8 + 8 + 2; /* a node; an edge */
        copy[number] ^= 0x10;
        harness_raw(m.h, kinds[k], rest, (struct str){copy, len});
        ck_assert_int_eq(scan_all(), ERR_INTERNAL);
        copy[number] ^= 0x10;
        harness_raw(m.h, kinds[k], rest, (struct str){copy, len});
        ck_assert_int_eq(scan_all(), ERR_OK);
    }
}
END_TEST

START_TEST(a_damaged_record_is_reported)
{
    struct err err;
    struct vectors_generations all;
    harness_raw(m.h, KIND_GENERATION, STR("\0\0\0\1"), STR("0123456789"));
    ck_assert_int_eq(
        vectors_generations_get(harness_begin(m.h), harness_space(m.h), m.arena, &all, &err),
        ERR_INTERNAL);
    ck_assert_uint_eq(all.n, 0);
}
END_TEST

static void add_exactness(TCase *tcase)
{
    tcase_add_test(tcase, scores_are_those_of_the_reference);
    tcase_add_test(tcase, every_kernel_answers_alike);
    tcase_add_test(tcase, only_what_is_asked_for_is_scored);
    tcase_add_test(tcase, the_dead_and_the_lexical_have_no_score);
    tcase_add_test(tcase, an_episode_written_anew_is_embedded_anew);
    tcase_add_test(tcase, deaths_count_before_they_are_settled);
    tcase_add_test(tcase, sums_that_vanish);
    tcase_add_test(tcase, what_is_no_vector_is_refused);
}

static void add_keeping(TCase *tcase)
{
    tcase_add_test(tcase, the_second_of_two_is_refused);
    tcase_add_test(tcase, an_edge_that_changes_meanwhile_stays_marked);
    tcase_add_test(tcase, a_node_of_many_edges_takes_several_steps);
    tcase_add_test(tcase, what_did_not_change_is_not_written);
    tcase_add_test(tcase, folds_change_no_answer);
    tcase_add_test(tcase, folds_drop_the_dead);
}

Suite *suite_vectors(void)
{
    Suite *suite = suite_create("vectors");
    TCase *tcase = tcase_create("vectors");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 300);
    tcase_add_test(tcase, blocks_fill_their_pages);
    tcase_add_test(tcase, rows_begin_on_cache_lines);
    tcase_add_test(tcase, generations_follow_one_another);
    tcase_add_test(tcase, one_that_is_given_up_goes_alone);
    tcase_add_test(tcase, marks_for_nobody_are_dropped);
    tcase_add_test(tcase, a_mark_meets_the_generation_that_was_started);
    tcase_add_test(tcase, a_mark_takes_its_parent_from_a_slot);
    add_exactness(tcase);
    add_keeping(tcase);
    tcase_add_test(tcase, missing_memory_is_reported);
    tcase_add_test(tcase, missing_memory_for_a_scan_is_reported);
    tcase_add_test(tcase, missing_memory_for_rows_is_reported);
    tcase_add_test(tcase, damage_is_reported);
    tcase_add_test(tcase, a_damaged_record_is_reported);
    suite_add_tcase(suite, tcase);
    return suite;
}
