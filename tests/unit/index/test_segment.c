#include <check.h>

#include "core/index/segment_int.h"
#include "tests/unit/index/model.h"

#define NO_SLOTS                                                                                   \
    {                                                                                              \
        SEGMENT_NO_SLOT, SEGMENT_NO_SLOT, SEGMENT_NO_SLOT, SEGMENT_NO_SLOT                         \
    }

static struct arena *arena;

static void setup(void)
{
    arena = arena_new((size_t)1 << 28);
}

static void teardown(void)
{
    arena_free(arena);
}

/* The first operation on that kind of key, or NULL. */
static const struct batch_op *find_op(const struct batch *batch, enum store_kind kind)
{
    for (uint32_t i = 0; i < batch->ops.n; i++) {
        if (batch->ops.at[i].kind == kind)
            return &batch->ops.at[i];
    }
    return NULL;
}

static int64_t added(const struct batch *batch, enum stat_id counter)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < batch->ops.n; i++) {
        if (batch->ops.at[i].type == OP_ADD && batch->ops.at[i].counter == counter)
            sum += batch->ops.at[i].delta;
    }
    return sum;
}

/* Two turns and a fact, by hand from the layout in segment.h. */
START_TEST(bytes_are_the_layout)
{
    static const uint8_t want[] = {
        1,          0, 1, 0,             /* format, level, parts */
        2,          0, 0, 0, 3, 0, 0, 0, /* terms, documents */
        100,        0, 0, 0, 7, 0, 0, 0, /* bases */
        0,          0, 0, 0, 0, 0, 0, 0, /* bases */
        2,          0, 0, 0, 1, 0, 0, 0, /* spans */
        0,          0, 0, 0, 0, 0, 0, 0, /* spans */
        0,          0, 0, 0,             /* reserved */
        0,          0, 0, 1, 0, 0, 0, 0, /* term 1 at 0 */
        2,          0, 0, 2, 0, 0, 0, 0, /* term 2 at 2 */
        1 << 2 | 0, 0,                   /* term 1: one turn, number 0, once */
        2 << 2 | 0, 1, 3, 0,             /* term 2: two turns, 0 three times, then 1 once */
        1 << 2 | 1, 1, 2,                /*         one fact, 0 twice */
    };
    struct err err;
    struct term_count first[] = {{.term = 1, .count = 1}, {.term = 2, .count = 3}};
    struct term_count second[] = {{.term = 2, .count = 1}};
    struct term_count fact[] = {{.term = 2, .count = 2}};
    struct segment_doc docs[] = {{LAYER_FACT, 0, {fact, 1, 100}},
                                 {LAYER_TURN, 1, {second, 1, 1}},
                                 {LAYER_TURN, 0, {first, 2, 4}}};
    struct segment_bases bases = {.base = {100, 7, 0, 0}, .slot = NO_SLOTS};
    struct batch *batch = batch_new(arena, 1, CAUSE_STAGE);
    ck_assert_int_eq(segment_add(batch, docs, 3, &bases, &err), ERR_OK);
    const struct batch_op *op = find_op(batch, KIND_SEGMENT);
    ck_assert_ptr_nonnull(op);
    ck_assert_uint_eq(op->value.len, sizeof want);
    ck_assert_int_eq(memcmp(op->value.at, want, sizeof want), 0);
    ck_assert_uint_eq(batch->fixes.n, 1); /* the seq in the key */

    const struct batch_op *lengths = find_op(batch, KIND_LENGTH);
    ck_assert_uint_eq(lengths->row, 100);
    ck_assert(str_eq(lengths->value, STR("\x04\x01")));
    ck_assert_int_eq(added(batch, STAT_DOCS_TURN), 2);
    ck_assert_int_eq(added(batch, STAT_LENGTH_TURN), 5);
    ck_assert_int_eq(added(batch, STAT_DOCS_FACT), 1);
    ck_assert_int_eq(added(batch, STAT_LENGTH_FACT), 100);
    ck_assert_int_eq(added(batch, STAT_SMALL_SEGMENTS), 1);
    ck_assert_int_eq(added(batch, STAT_DOCS_TOPIC), 0);
}
END_TEST

START_TEST(nothing_is_written_without_documents)
{
    struct err err;
    struct segment_bases bases = {.slot = NO_SLOTS};
    struct batch *batch = batch_new(arena, 1, CAUSE_STAGE);
    ck_assert_int_eq(segment_add(batch, NULL, 0, &bases, &err), ERR_OK);
    ck_assert_uint_eq(batch->ops.n, 0);
}
END_TEST

START_TEST(every_layer_is_found)
{
    struct model m;
    model_init(&m, 11, 50);
    for (unsigned mask = 0; mask < 16; mask++) {
        uint32_t n[LAYERS];
        for (unsigned layer = 0; layer < LAYERS; layer++)
            n[layer] = (mask >> layer & 1) != 0 ? 1 + layer : 0;
        if (mask != 0)
            model_add(&m, n, 20);
        model_check(&m, 20);
    }
    uint64_t terms[] = {model_term(0)};
    for (unsigned mask = 0; mask < 16; mask++)
        model_check_terms(&m, terms, 1, mask);
    model_check_terms(&m, terms, 0, 15);
    model_check_all(&m);
    model_fini(&m);
}
END_TEST

START_TEST(an_empty_space_gives_nothing)
{
    struct model m;
    model_init(&m, 12, 50);
    model_check(&m, 10);
    ck_assert(!model_fold(&m));
    model_fini(&m);
}
END_TEST

START_TEST(documents_without_terms_count)
{
    struct model m;
    model_init(&m, 13, 50);
    model_add(&m, (uint32_t[LAYERS]){1, 0, 2, 0}, 0);
    ck_assert_uint_eq(model_levels(&m).n[0], 1);
    model_check_all(&m);
    struct space_stat stat = model_stat(&m);
    ck_assert_uint_eq(stat.v[STAT_DOCS_EPISODE], 2);
    ck_assert_uint_eq(stat.v[STAT_LENGTH_EPISODE], 2);
    model_kill_range(&m, 0, m.n);
    model_check_all(&m);
    model_fini(&m);
}
END_TEST

/* More than 24 KiB in one batch: parts, split by term. */
START_TEST(large_batches_have_parts)
{
    struct model m;
    model_init(&m, 14, 30000);
    model_add(&m, (uint32_t[LAYERS]){40, 40, 2, 2}, 400);
    struct model_levels levels = model_levels(&m);
    ck_assert_uint_eq(levels.n[0], 1);
    ck_assert_uint_gt(levels.parts, 4);
    model_check_all(&m);
    model_kill(&m, 30);
    model_check_all(&m);
    model_fini(&m);
}
END_TEST

/* A turn of 1 MiB is 256 documents; all words differ from each other in one, and are the same ones
 * in the next. */
START_TEST(the_largest_turn_is_found)
{
    struct model m;
    model_init(&m, 15, 900);
    struct segment_doc docs[256];
    for (uint32_t i = 0; i < 256; i++)
        docs[i] = (struct segment_doc){LAYER_TURN, i, model_bag(&m, 800)};
    model_add_docs(&m, docs, 256);
    model_check_all(&m);
    model_fini(&m);
}
END_TEST

START_TEST(a_killed_document_is_gone_at_once)
{
    struct model m;
    model_init(&m, 16, 30);
    model_add(&m, (uint32_t[LAYERS]){5, 5, 5, 5}, 20);
    for (size_t i = 0; i < m.n; i++) {
        model_kill_range(&m, i, i + 1);
        model_check(&m, 30);
    }
    struct space_stat stat = model_stat(&m);
    ck_assert_uint_eq(stat.v[STAT_DEAD_DOCS], m.n);
    ck_assert_uint_eq(stat.v[STAT_LENGTH_TURN], 0);
    model_fini(&m);
}
END_TEST

/* Allocation n fails, for n = 1, 2, … until the call passes. */
START_TEST(adding_survives_missing_memory)
{
    struct model m;
    model_init(&m, 17, 100);
    struct segment_doc docs[4];
    for (uint32_t i = 0; i < 4; i++)
        docs[i] =
            (struct segment_doc){i % 2 == 0 ? LAYER_TURN : LAYER_TOPIC, i / 2, model_bag(&m, 30)};
    struct segment_bases bases = {.slot = NO_SLOTS};
    enum err_code rc = ERR_EXHAUSTED;
    unsigned long n = 0;
    while (rc != ERR_OK) {
        struct err err = {0};
        arena_reset(arena);
        struct batch *batch = batch_new(arena, 1, CAUSE_STAGE);
        arena_fail_after(arena, ++n);
        rc = segment_add(batch, docs, 4, &bases, &err);
        ck_assert_int_eq(rc == ERR_OK, batch_ok(batch) && err.code == ERR_OK);
        if (rc != ERR_OK)
            ck_assert_int_eq(err.code, ERR_EXHAUSTED);
    }
    arena_fail_after(arena, 0);
    ck_assert_uint_gt(n, 10);
    model_fini(&m);
}
END_TEST

START_TEST(killing_survives_missing_memory)
{
    enum err_code rc = ERR_EXHAUSTED;
    unsigned long n = 0;
    while (rc != ERR_OK) {
        struct err err = {0};
        arena_reset(arena);
        struct batch *batch = batch_new(arena, 1, CAUSE_DELETE);
        arena_fail_after(arena, ++n);
        rc = segment_kill(batch, LAYER_TURN, 5, 1, &err);
        ck_assert_int_eq(rc == ERR_OK, batch_ok(batch));
    }
    ck_assert_uint_gt(n, 2);
}
END_TEST

START_TEST(collecting_survives_missing_memory)
{
    struct model m;
    model_init(&m, 18, 20);
    for (int i = 0; i < 6; i++)
        model_add(&m, (uint32_t[LAYERS]){20, 20, 1, 1}, 20);
    uint64_t terms[] = {model_term(0)};
    enum err_code rc = ERR_EXHAUSTED;
    unsigned long n = 0;
    while (rc != ERR_OK) {
        struct err err = {0};
        struct postings out[LAYERS];
        struct store_txn *txn = harness_begin(m.h);
        arena_reset(arena);
        struct lengths *lengths = lengths_new(txn, harness_space(m.h), arena);
        arena_fail_after(arena, ++n);
        rc = segment_collect(txn, harness_space(m.h), lengths, terms, 1, 15, arena, out, &err);
        ck_assert_int_eq(rc, err.code);
        if (rc != ERR_OK)
            ck_assert(rc == ERR_EXHAUSTED && out[0].at == NULL && out[0].n == 0);
    }
    ck_assert_uint_gt(n, 5);
    model_fini(&m);
}
END_TEST

static enum err_code collect_one(struct model *m, uint64_t term)
{
    struct err err;
    struct postings out[LAYERS];
    struct store_txn *txn = harness_begin(m->h);
    struct lengths *lengths = lengths_new(txn, harness_space(m->h), arena);
    return segment_collect(txn, harness_space(m->h), lengths, &term, 1, 15, arena, out, &err);
}

START_TEST(damage_is_reported)
{
    struct err err;
    struct model m;
    model_init(&m, 19, 20);
    model_add(&m, (uint32_t[LAYERS]){2, 0, 0, 0}, 20);
    ck_assert_int_eq(collect_one(&m, model_term(0)), ERR_OK);
    char key[SEGMENT_KEY];
    segment__key(key, 1000, 0);
    harness_raw(m.h, KIND_SEGMENT, (struct str){key, sizeof key}, STR("not a segment"));
    ck_assert_int_eq(collect_one(&m, model_term(0)), ERR_INTERNAL);
    struct batch *batch = batch_new(arena, harness_space(m.h), CAUSE_KEEP);
    batch_set(batch, STAT_DEAD_DOCS, 1);
    harness_commit(m.h, batch);
    bool did = true;
    batch = batch_new(arena, harness_space(m.h), CAUSE_KEEP);
    ck_assert_int_eq(segment_fold(harness_begin(m.h), harness_space(m.h), batch, &did, &err),
                     ERR_INTERNAL);
    ck_assert(!did);
    model_fini(&m);
}
END_TEST

static enum err_code count_visit(uint64_t term, enum layer layer, uint32_t doc, uint32_t tf,
                                 void *arg)
{
    size_t *n = arg;
    (void)term;
    (void)layer;
    (void)doc;
    (void)tf;
    ++*n;
    return ERR_OK;
}

/* The bytes of a small segment, in memory of exactly that size. */
static struct str some_segment(struct model *m)
{
    struct err err;
    struct segment_doc docs[3];
    for (uint32_t i = 0; i < 3; i++)
        docs[i] = (struct segment_doc){LAYER_FACT, i, model_bag(m, 10)};
    struct segment_bases bases = {.slot = NO_SLOTS};
    struct batch *batch = batch_new(arena, 1, CAUSE_STAGE);
    ck_assert_int_eq(segment_add(batch, docs, 3, &bases, &err), ERR_OK);
    return find_op(batch, KIND_SEGMENT)->value;
}

START_TEST(walk_refuses_every_truncation)
{
    struct err err;
    struct model m;
    model_init(&m, 20, 100);
    struct str whole = some_segment(&m);
    for (size_t len = 0; len < whole.len; len++) {
        char *part = arena_copy(arena, whole.at, len);
        size_t n = 0;
        ck_assert_int_eq(segment_walk((struct str){part, len}, count_visit, &n, &err),
                         ERR_INTERNAL);
    }
    size_t n = 0;
    ck_assert_int_eq(segment_walk(whole, count_visit, &n, &err), ERR_OK);
    ck_assert_uint_gt(n, 3);
    ck_assert_int_eq(segment_walk(whole, NULL, NULL, &err), ERR_OK);
    model_fini(&m);
}
END_TEST

/* One byte changed: an error or a valid segment, and never a crash; most changes are seen. */
START_TEST(walk_survives_every_changed_byte)
{
    struct err err;
    struct model m;
    model_init(&m, 21, 100);
    struct str whole = some_segment(&m);
    size_t refused = 0;
    for (size_t at = 0; at < whole.len; at++) {
        for (unsigned change = 1; change < 256; change += 2) {
            size_t n = 0;
            char *bytes = arena_copy(arena, whole.at, whole.len);
            bytes[at] = (char)((uint8_t)bytes[at] ^ change);
            struct str value = {bytes, whole.len};
            refused += segment_walk(value, count_visit, &n, &err) != ERR_OK;
        }
        arena_reset(arena);
        whole = some_segment(&m);
    }
    ck_assert_uint_gt(refused, whole.len * 32);
    model_fini(&m);
}
END_TEST

static enum err_code stop_visit(uint64_t term, enum layer layer, uint32_t doc, uint32_t tf,
                                void *arg)
{
    (void)count_visit(term, layer, doc, tf, arg);
    return *(size_t *)arg == 2 ? ERR_CONFLICT : ERR_OK;
}

START_TEST(walk_passes_on_the_visitors_refusal)
{
    struct err err;
    struct model m;
    model_init(&m, 22, 100);
    size_t n = 0;
    ck_assert_int_eq(segment_walk(some_segment(&m), stop_visit, &n, &err), ERR_CONFLICT);
    ck_assert_uint_eq(n, 2);
    model_fini(&m);
}
END_TEST

START_TEST(varints_survive)
{
    static const uint64_t values[] = {0, 1, 127, 128, 16383, 16384, UINT32_MAX, UINT64_MAX};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        uint8_t bytes[VARINT_MAX];
        uint64_t value = 1;
        const uint8_t *end = varint__put(bytes, values[i]);
        ck_assert_ptr_eq(varint__get(bytes, end, &value), end);
        ck_assert_uint_eq(value, values[i]);
        ck_assert_ptr_null(varint__get(bytes, end - 1, &value));
    }
    uint8_t endless[12];
    uint64_t value;
    memset(endless, 0xff, sizeof endless);
    ck_assert_ptr_null(varint__get(endless, endless + sizeof endless, &value));
}
END_TEST

Suite *suite_segment(void)
{
    Suite *suite = suite_create("segment");
    TCase *tcase = tcase_create("segment");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, bytes_are_the_layout);
    tcase_add_test(tcase, nothing_is_written_without_documents);
    tcase_add_test(tcase, every_layer_is_found);
    tcase_add_test(tcase, an_empty_space_gives_nothing);
    tcase_add_test(tcase, documents_without_terms_count);
    tcase_add_test(tcase, large_batches_have_parts);
    tcase_add_test(tcase, the_largest_turn_is_found);
    tcase_add_test(tcase, a_killed_document_is_gone_at_once);
    tcase_add_test(tcase, adding_survives_missing_memory);
    tcase_add_test(tcase, killing_survives_missing_memory);
    tcase_add_test(tcase, collecting_survives_missing_memory);
    tcase_add_test(tcase, damage_is_reported);
    tcase_add_test(tcase, walk_refuses_every_truncation);
    tcase_add_test(tcase, walk_survives_every_changed_byte);
    tcase_add_test(tcase, walk_passes_on_the_visitors_refusal);
    tcase_add_test(tcase, varints_survive);
    suite_add_tcase(suite, tcase);
    return suite;
}
