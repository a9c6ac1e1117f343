#include <check.h>

#include "core/index/segment_int.h"
#include "tests/unit/index/model.h"

static const uint32_t two_turns_two_facts[LAYERS] = {2, 2, 0, 0};

static void add_small(struct model *m, uint32_t batches)
{
    for (uint32_t i = 0; i < batches; i++)
        model_add(m, two_turns_two_facts, 20);
}

/* Adds, kills and folds at random; what is collected never differs from the plain list. */
static void random_steps(uint64_t seed, uint32_t steps, uint32_t vocabulary, uint32_t max_terms)
{
    struct model m;
    model_init(&m, seed, vocabulary);
    for (uint32_t step = 0; step < steps; step++) {
        uint32_t what = rng_below(&m.rng, 100);
        if (what < 75) {
            uint32_t n[LAYERS];
            for (unsigned layer = 0; layer < LAYERS; layer++)
                n[layer] = rng_below(&m.rng, 3) == 0 ? 0 : rng_below(&m.rng, 5);
            model_add(&m, n, max_terms);
        } else if (what < 90) {
            model_kill(&m, 1 + rng_below(&m.rng, rng_below(&m.rng, 20) == 0 ? 100 : 6));
        } else {
            (void)model_fold(&m);
        }
        model_check(&m, 6);
        if (step % 500 == 499)
            model_check_all(&m);
    }
    while (model_fold(&m))
        model_check(&m, 64);
    model_check_all(&m);
    ck_assert_uint_lt(model_levels(&m).n[0], FOLD_SEGMENTS);
    model_fini(&m);
}

START_TEST(folds_change_no_answer)
{
    random_steps(1, 2000, 400, 30);
}
END_TEST

START_TEST(folds_change_no_answer_with_wide_vocabulary)
{
    random_steps(2, 300, 20000, 300);
}
END_TEST

START_TEST(thirty_two_small_ones_become_one)
{
    struct model m;
    model_init(&m, 3, 100);
    add_small(&m, FOLD_SEGMENTS - 1);
    ck_assert(!model_fold(&m));
    add_small(&m, 2);
    ck_assert(model_fold(&m));
    struct model_levels levels = model_levels(&m);
    ck_assert_uint_eq(levels.n[1], 1);
    ck_assert_uint_eq(levels.n[0], 1); /* the youngest stays */
    model_check_all(&m);
    ck_assert(!model_fold(&m));
    model_fini(&m);
}
END_TEST

START_TEST(the_dead_are_dropped)
{
    struct model m;
    model_init(&m, 4, 100);
    add_small(&m, FOLD_SEGMENTS);
    model_kill_range(&m, 3, 30);
    ck_assert_uint_eq(model_stat(&m).v[STAT_DEAD_DOCS], 27);
    ck_assert(model_fold(&m));
    ck_assert_uint_eq(model_stat(&m).v[STAT_DEAD_DOCS], 0);
    ck_assert_uint_eq(model_levels(&m).docs, m.n - 27);
    model_check_all(&m);
    model_fini(&m);
}
END_TEST

/* 128 documents; a quarter dead is not yet enough, one more is. */
START_TEST(a_folded_one_is_rewritten_when_a_quarter_is_dead)
{
    struct model m;
    model_init(&m, 5, 2000);
    for (int i = 0; i < FOLD_SEGMENTS; i++)
        model_add(&m, two_turns_two_facts, 300);
    ck_assert(model_fold(&m));
    uint32_t parts = model_levels(&m).parts;
    ck_assert_uint_gt(parts, 1);
    model_kill_range(&m, 0, 32);
    ck_assert(!model_fold(&m));
    model_kill_range(&m, 32, 33);
    ck_assert(model_fold(&m));
    ck_assert_uint_eq(model_stat(&m).v[STAT_DEAD_DOCS], 0);
    model_check_all(&m);
    ck_assert(!model_fold(&m));
    model_kill_range(&m, 0, 126);
    ck_assert(model_fold(&m));
    ck_assert_uint_lt(model_levels(&m).parts, parts);
    model_check_all(&m);
    model_kill_range(&m, 0, m.n);
    ck_assert(model_fold(&m));
    ck_assert_uint_eq(model_levels(&m).parts, 0); /* nothing left: no segment */
    ck_assert(!model_fold(&m));
    model_check_all(&m);
    model_fini(&m);
}
END_TEST

START_TEST(a_space_without_living_documents_folds_to_nothing)
{
    struct model m;
    model_init(&m, 6, 100);
    add_small(&m, FOLD_SEGMENTS);
    model_kill_range(&m, 0, m.n);
    ck_assert(model_fold(&m));
    ck_assert_uint_eq(model_levels(&m).parts, 0);
    ck_assert_uint_eq(model_stat(&m).v[STAT_DEAD_DOCS], 0);
    model_check_all(&m);
    model_add(&m, two_turns_two_facts, 20);
    model_check_all(&m);
    model_fini(&m);
}
END_TEST

static struct batch *build_fold(struct model *m, struct arena *arena)
{
    struct err err;
    bool did = false;
    struct batch *batch = batch_new(arena, harness_space(m->h), CAUSE_KEEP);
    struct store_txn *txn = harness_begin(m->h);
    ck_assert_int_eq(segment_fold(txn, harness_space(m->h), batch, &did, &err), ERR_OK);
    ck_assert(did);
    return batch;
}

START_TEST(deletes_and_adds_during_a_fold_are_kept)
{
    struct model m;
    model_init(&m, 7, 100);
    struct arena *arena = arena_new(1 << 24);
    add_small(&m, FOLD_SEGMENTS);
    model_kill_range(&m, 0, 5);
    struct batch *fold = build_fold(&m, arena);
    model_kill_range(&m, 5, 9);
    model_add(&m, two_turns_two_facts, 20);
    harness_commit(m.h, fold);
    model_check_all(&m);
    ck_assert_uint_eq(model_stat(&m).v[STAT_DEAD_DOCS], 4);
    arena_free(arena);
    model_fini(&m);
}
END_TEST

START_TEST(a_second_fold_of_the_same_is_refused)
{
    struct model m;
    model_init(&m, 8, 100);
    struct arena *arena = arena_new(1 << 24);
    add_small(&m, FOLD_SEGMENTS);
    struct batch *first = build_fold(&m, arena);
    struct batch *second = build_fold(&m, arena);
    harness_commit(m.h, first);
    ck_assert_int_eq(harness_try(m.h, second), ERR_CONFLICT);
    model_check_all(&m);
    model_kill_range(&m, 0, 60);
    first = build_fold(&m, arena); /* now a rewriting, to the same key and level */
    second = build_fold(&m, arena);
    harness_commit(m.h, first);
    ck_assert_int_eq(harness_try(m.h, second), ERR_CONFLICT);
    model_check_all(&m);
    arena_free(arena);
    model_fini(&m);
}
END_TEST

/* The same when the rewritten segment has the terms, level and parts that it had. */
START_TEST(a_second_rewriting_of_the_same_is_refused)
{
    struct model m;
    model_init(&m, 14, 4);
    struct arena *arena = arena_new(1 << 24);
    struct term_count only = {.term = model_term(0), .count = 1};
    for (int i = 0; i < FOLD_SEGMENTS; i++) {
        struct segment_doc docs[] = {{LAYER_TURN, 0, {&only, 1, 1}},
                                     {LAYER_TURN, 1, {&only, 1, 1}}};
        model_add_docs(&m, docs, 2);
    }
    ck_assert(model_fold(&m));
    model_kill_range(&m, 0, 30);
    struct batch *first = build_fold(&m, arena);
    struct batch *second = build_fold(&m, arena);
    harness_commit(m.h, first);
    ck_assert_int_eq(harness_try(m.h, second), ERR_CONFLICT);
    model_check_all(&m);
    arena_free(arena);
    model_fini(&m);
}
END_TEST

/* Writes `n` segments of level 1 with `docs` turns each, as 32 folds each would have left them. */
static void add_level_1(struct model *m, uint32_t n, uint32_t docs, uint32_t max_terms)
{
    struct err err;
    struct arena *arena = arena_new((size_t)1 << 28);
    struct batch *batch = batch_new(arena, harness_space(m->h), CAUSE_KEEP);
    struct segment_doc *list = ARENA_ARRAY(arena, struct segment_doc, docs);
    for (uint32_t s = 0; s < n; s++) {
        struct segment_bases bases = {.base = {s * docs}, .slot = {SEGMENT_NO_SLOT}};
        for (uint32_t i = 0; i < docs; i++) {
            list[i] = (struct segment_doc){LAYER_TURN, i, model_bag(m, max_terms)};
            model_remember(m, &list[i], s * docs + i);
        }
        uint32_t op = batch->ops.n;
        ck_assert_int_eq(segment_add(batch, list, docs, &bases, &err), ERR_OK);
        for (; op < batch->ops.n && batch->ops.at[op].kind == KIND_SEGMENT; op++) {
            struct batch_op *put = &batch->ops.at[op];
            char *key = arena_copy(arena, put->key.at, put->key.len);
            char *value = arena_copy(arena, put->value.at, put->value.len);
            be64_set(key, 10 + s);
            value[1] = 1;
            put->key.at = key;
            put->value.at = value;
        }
        batch_add(batch, STAT_SMALL_SEGMENTS, -1);
    }
    batch->fixes.n = 0; /* the seqs in the keys */
    batch_set(batch, STAT_SEQ, 10 + n);
    batch_set(batch, STAT_NEXT_DOC_TURN, (uint64_t)n * docs);
    harness_commit(m->h, batch);
    arena_free(arena);
}

START_TEST(many_folded_ones_become_level_2)
{
    struct model m;
    model_init(&m, 9, 300);
    add_level_1(&m, FOLD_LEVEL_1 + 1, 4, 10);
    model_check_all(&m);
    add_small(&m, FOLD_SEGMENTS - 1);
    ck_assert(!model_fold(&m)); /* nothing asks for it yet */
    add_small(&m, 1);
    ck_assert(model_fold(&m));
    struct model_levels levels = model_levels(&m);
    ck_assert_uint_eq(levels.n[2], 1);
    ck_assert_uint_eq(levels.n[1], FOLD_LEVEL_1 + 1 - FOLD_SEGMENTS);
    ck_assert_uint_eq(levels.n[0], FOLD_SEGMENTS);
    model_check_all(&m);
    ck_assert(model_fold(&m));
    ck_assert_uint_eq(model_levels(&m).n[0], 0);
    ck_assert(!model_fold(&m));
    model_check_all(&m);
    model_kill_range(&m, 0, 100); /* of level 2 */
    ck_assert(model_fold(&m));
    model_check_all(&m);
    model_fini(&m);
}
END_TEST

START_TEST(a_fold_is_bounded_in_documents)
{
    struct model m;
    model_init(&m, 10, 300);
    add_level_1(&m, FOLD_LEVEL_1 + 1, 400, 0);
    add_small(&m, FOLD_SEGMENTS);
    ck_assert(model_fold(&m));
    struct model_levels levels = model_levels(&m);
    ck_assert_uint_eq(levels.n[2], 1);
    ck_assert_uint_eq(levels.n[1], FOLD_LEVEL_1 + 1 - FOLD_DOCS / 400);
    model_fini(&m);
}
END_TEST

/* 32 batches of 100 KiB each are more than FOLD_BYTES: several folds, and each makes progress. */
START_TEST(a_fold_is_bounded_in_bytes)
{
    struct model m;
    model_init(&m, 11, 100000);
    for (int i = 0; i < FOLD_SEGMENTS; i++)
        model_add(&m, (uint32_t[LAYERS]){60, 0, 0, 0}, 600);
    uint32_t steps = 0;
    while (model_stat(&m).v[STAT_SMALL_SEGMENTS] >= FOLD_SEGMENTS) {
        ck_assert(model_fold(&m));
        steps++;
    }
    ck_assert_uint_eq(steps, 1);
    ck_assert_uint_gt(model_levels(&m).n[0], 0);
    model_check(&m, 64);
    model_fini(&m);
}
END_TEST

START_TEST(folding_survives_missing_memory)
{
    struct model m;
    model_init(&m, 12, 100);
    add_small(&m, FOLD_SEGMENTS);
    struct arena *arena = arena_new(1 << 24);
    enum err_code rc = ERR_EXHAUSTED;
    unsigned long n = 0;
    while (rc != ERR_OK) {
        struct err err = {0};
        bool did = true;
        struct store_txn *txn = harness_begin(m.h);
        arena_reset(arena);
        struct batch *batch = batch_new(arena, harness_space(m.h), CAUSE_KEEP);
        arena_fail_after(arena, ++n);
        rc = segment_fold(txn, harness_space(m.h), batch, &did, &err);
        ck_assert_int_eq(did, rc == ERR_OK);
        ck_assert_int_eq(rc == ERR_OK ? ERR_OK : ERR_EXHAUSTED, rc);
    }
    ck_assert_uint_gt(n, 50);
    arena_free(arena);
    model_fini(&m);
}
END_TEST

/* A fold of damaged segments refuses and changes nothing. */
START_TEST(damaged_parts_are_not_folded)
{
    static const size_t at[] = {0, 1, 2, 4, SEGMENT_HEAD + 7};
    for (size_t i = 0; i < sizeof at / sizeof at[0]; i++) {
        struct err err;
        bool did = true;
        struct str value;
        char key[SEGMENT_KEY];
        struct model m;
        model_init(&m, 13, 100);
        add_small(&m, FOLD_SEGMENTS);
        segment__key(key, 5, 0);
        struct str rest = {key, sizeof key};
        struct store_txn *txn = harness_begin(m.h);
        ck_assert_int_eq(store_get(txn, harness_space(m.h), KIND_SEGMENT, rest, &value, &err),
                         ERR_OK);
        struct arena *arena = arena_new(1 << 24);
        char *bytes = arena_copy(arena, value.at, value.len);
        bytes[at[i]] = (char)(bytes[at[i]] + 77);
        harness_raw(m.h, KIND_SEGMENT, rest, (struct str){bytes, value.len});
        struct batch *batch = batch_new(arena, harness_space(m.h), CAUSE_KEEP);
        txn = harness_begin(m.h);
        enum err_code rc = segment_fold(txn, harness_space(m.h), batch, &did, &err);
        ck_assert(rc == ERR_INTERNAL && !did && batch->ops.n == 0);
        arena_free(arena);
        model_fini(&m);
    }
}
END_TEST

Suite *suite_fold(void)
{
    Suite *suite = suite_create("fold");
    TCase *tcase = tcase_create("fold");
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, folds_change_no_answer);
    tcase_add_test(tcase, folds_change_no_answer_with_wide_vocabulary);
    tcase_add_test(tcase, thirty_two_small_ones_become_one);
    tcase_add_test(tcase, the_dead_are_dropped);
    tcase_add_test(tcase, a_folded_one_is_rewritten_when_a_quarter_is_dead);
    tcase_add_test(tcase, a_space_without_living_documents_folds_to_nothing);
    tcase_add_test(tcase, deletes_and_adds_during_a_fold_are_kept);
    tcase_add_test(tcase, a_second_fold_of_the_same_is_refused);
    tcase_add_test(tcase, a_second_rewriting_of_the_same_is_refused);
    tcase_add_test(tcase, many_folded_ones_become_level_2);
    tcase_add_test(tcase, a_fold_is_bounded_in_documents);
    tcase_add_test(tcase, a_fold_is_bounded_in_bytes);
    tcase_add_test(tcase, folding_survives_missing_memory);
    tcase_add_test(tcase, damaged_parts_are_not_folded);
    suite_add_tcase(suite, tcase);
    return suite;
}
