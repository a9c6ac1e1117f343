/* fsck and the vector index: a sound one has no problem and leaves the digest as it was, each
 * damage is found. */
#include <math.h>
#include <stdio.h>

#include "core/index/vectors.h"
#include "storage/check.h"
#include "tests/unit/storage/world.h"

enum { DIM = 24 };

static struct fixture fx;
static struct world w;
static char lines[8192];

static void add_line(const char *text, void *arg)
{
    (void)arg;
    size_t len = strlen(lines);
    (void)snprintf(lines + len, sizeof lines - len, "%s\n", text);
}

static const struct check_sink sink = {add_line, NULL};

static uint64_t check(void)
{
    struct check_report report;
    struct err err;
    lines[0] = '\0';
    enum err_code code = storage_check(fx.store, &sink, &report, &err);
    ck_assert_msg(code == ERR_OK, "%s", err.message);
    return report.problems;
}

/* --- an index of the world --- */

static struct vectors_generations all;
static struct store_txn *txn;

static struct batch *open_batch(enum batch_cause cause)
{
    struct err err;
    txn = begin(&fx);
    ck_assert_int_eq(vectors_generations_get(txn, w.space, fx.arena, &all, &err), ERR_OK);
    return batch_new(fx.arena, w.space, cause);
}

static void commit(struct batch *batch)
{
    store_end(txn);
    ck_assert_int_eq(apply(&fx, batch), ERR_OK);
}

static void start(bool activate)
{
    struct err err;
    const struct vectors_identity identity = {.hash = 1, .line = STR("a model"), .dim = DIM};
    struct batch *batch = open_batch(CAUSE_KEEP);
    ck_assert_int_eq(vectors_start(&all, batch, &identity, &err), ERR_OK);
    commit(batch);
    if (!activate)
        return;
    batch = open_batch(CAUSE_KEEP);
    ck_assert_int_eq(vectors_activate(&all, batch, &err), ERR_OK);
    commit(batch);
}

static void embed(enum layer layer, uint32_t n)
{
    struct err err;
    float rows[8 * DIM];
    uint32_t docs[8];
    bool is_lexical[8] = {false};
    for (uint32_t i = 0; i < n; i++)
        docs[i] = i;
    for (uint32_t i = 0; i < n * DIM; i++)
        rows[i] = sinf((float)(i * (layer + 2) + i * i));
    is_lexical[1] = layer == LAYER_TURN;
    struct batch *batch = open_batch(CAUSE_KEEP);
    struct vectors_generation *g = &all.at[all.n - 1];
    struct vectors_docs add = {layer, docs, n, rows, is_lexical, n};
    ck_assert_int_eq(vectors_add(g, kernels_choose("scalar"), batch, &add, &err), ERR_OK);
    vectors_save(g, batch);
    commit(batch);
}

static void settle(void)
{
    struct err err;
    bool did;
    struct batch *batch = open_batch(CAUSE_KEEP);
    struct vectors_view view = {
        .txn = txn,
        .space = w.space,
        .kernels = kernels_choose(NULL),
        .arena = fx.arena,
        .lengths = lengths_new(txn, w.space, fx.arena),
        .generation = &all.at[all.n - 1],
    };
    ck_assert_int_eq(vectors_settle(&view, batch, &did, &err), ERR_OK);
    ck_assert(did);
    commit(batch);
}

static void index_world(bool activate)
{
    start(activate);
    embed(LAYER_TURN, 6);
    embed(LAYER_FACT, 2);
    embed(LAYER_EPISODE, 2);
    embed(LAYER_TOPIC, 2);
    settle();
}

static void setup(void)
{
    fixture_init(&fx);
    world_build(&w, &fx, "w", 0);
    index_world(true);
}

static void teardown(void)
{
    fixture_fini(&fx);
}

START_TEST(a_sound_index_has_no_problem)
{
    ck_assert_msg(check() == 0, "%s", lines);
    index_world(false); /* the next one beside it */
    ck_assert_msg(check() == 0, "%s", lines);
}
END_TEST

START_TEST(marks_excuse_what_is_not_settled)
{
    struct batch *batch = open_batch(CAUSE_STAGE);
    struct edge_member members[] = {{1, ROLE_CORE, 40000}, {2, ROLE_CORE, 30000}};
    struct buf buf;
    buf_init(&buf, fx.arena, 100);
    members[0].weight = 41000;
    edge_encode(&(struct edge){members, 2}, &buf);
    (void)batch_put_u32(batch, KIND_EPISODE_EDGE, 1, buf_str(&buf), 0);
    vectors_edge_dirty(&all, batch, KIND_EPISODE_EDGE, 1, VECTORS_NO_SLOT);
    batch_min(batch, STAT_VECTORS_DUE, 1000);
    commit(batch);
    ck_assert_uint_gt(check(), 0); /* the weight of the fact itself */
    ck_assert_msg(strstr(lines, "vector") == NULL, "%s", lines);
}
END_TEST

START_TEST(the_digest_does_not_see_vectors)
{
    struct hash128 with, without;
    struct err err;
    ck_assert_int_eq(storage_digest_space(fx.store, STR("w"), &with, &err), ERR_OK);
    world_build(&w, &fx, "bare", 3);
    ck_assert_int_eq(storage_digest_space(fx.store, STR("bare"), &without, &err), ERR_OK);
    ck_assert(with.low == without.low && with.high == without.high);
}
END_TEST

/* --- damage --- */

static struct str key_of(unsigned layer, uint32_t number)
{
    char *key = arena_alloc(fx.arena, VECTORS_KEY);
    vectors_key(key, 1, layer, number);
    return (struct str){key, VECTORS_KEY};
}

static char *value_of(enum store_kind kind, struct str key, size_t *len)
{
    struct str value;
    struct err err;
    struct store_txn *reader = begin(&fx);
    ck_assert_int_eq(store_get(reader, w.space, kind, key, &value, &err), ERR_OK);
    ck_assert_ptr_nonnull(value.at);
    char *copy = arena_copy(fx.arena, value.at, value.len);
    *len = value.len;
    store_end(reader);
    return copy;
}

static void put(enum store_kind kind, struct str key, struct str value)
{
    struct batch *batch = batch_new(fx.arena, w.space, CAUSE_KEEP);
    (void)batch_put(batch, kind, key, value, 0);
    ck_assert_int_eq(apply(&fx, batch), ERR_OK);
}

static void del(enum store_kind kind, struct str key)
{
    struct batch *batch = batch_new(fx.arena, w.space, CAUSE_KEEP);
    (void)batch_del(batch, kind, key, 0);
    ck_assert_int_eq(apply(&fx, batch), ERR_OK);
}

static void change(enum store_kind kind, struct str key, size_t at, const void *bytes, size_t n)
{
    size_t len;
    char *copy = value_of(kind, key, &len);
    ck_assert_uint_le(at + n, len);
    memcpy(copy + at, bytes, n);
    put(kind, key, (struct str){copy, len});
}

/* Values of a block of two rows begin at 48: 16 of the head, 16 of nodes and scales. */
enum { SCALES_2 = 16 + 8, VALUES_2 = 48 };

static void d_block_damaged(void)
{
    change(KIND_VECTOR, key_of(LAYER_FACT, 0), 4, "\7", 1);
}
static void d_block_number(void)
{
    size_t len;
    char *copy = value_of(KIND_VECTOR, key_of(LAYER_TOPIC, 0), &len);
    del(KIND_VECTOR, key_of(LAYER_TOPIC, 0));
    put(KIND_VECTOR, key_of(LAYER_TOPIC, 1), (struct str){copy, len});
}
static void d_row_twice(void)
{
    size_t len;
    char *copy = value_of(KIND_VECTOR, key_of(LAYER_FACT, 0), &len);
    put(KIND_VECTOR, key_of(LAYER_FACT, 1), (struct str){copy, len});
}
static void d_row_gone(void)
{
    del(KIND_VECTOR, key_of(LAYER_TURN, 0));
}
static void d_row_of_nobody(void)
{
    change(KIND_VECTOR, key_of(LAYER_EPISODE, 0), 16 + 4, "\11", 1);
}
static void d_scale_not_finite(void)
{
    const float scale = NAN;
    change(KIND_VECTOR, key_of(LAYER_TOPIC, 0), SCALES_2, &scale, 4);
}
static void d_scale(void)
{
    const float scale = 0.5f;
    change(KIND_VECTOR, key_of(LAYER_TOPIC, 0), SCALES_2, &scale, 4);
}
static void d_least_value(void)
{
    change(KIND_VECTOR, key_of(LAYER_TOPIC, 0), VALUES_2 + 3, "\x80", 1);
}
static void d_value_behind_the_end(void)
{
    change(KIND_VECTOR, key_of(LAYER_TOPIC, 0), VALUES_2 + DIM, "\1", 1);
}
static void d_above_the_watermark(void)
{
    change(KIND_GENERATION, STR("\0\0\0\1"), 8 + 2 + 4 + 8 + 4, "\1", 1);
}
static void d_watermark(void)
{
    change(KIND_GENERATION, STR("\0\0\0\1"), 8 + 2 + 4 + 8 + 4, "\11", 1);
}
static void d_count(void)
{
    change(KIND_GENERATION, STR("\0\0\0\1"), 8 + 2 + 4 + 8 + 16, "\11", 1);
}
static void d_record(void)
{
    put(KIND_GENERATION, STR("\0\0\0\1"), STR("12345678?"));
}
static void d_record_gone(void)
{
    del(KIND_GENERATION, STR("\0\0\0\1"));
}
static void d_stray(void)
{
    put(KIND_VECTOR_SIDE, STR("\0\0\0\7\1\0\0\0\0"), STR(""));
}
static void d_two_active(void)
{
    size_t len;
    char *copy = value_of(KIND_GENERATION, STR("\0\0\0\1"), &len);
    put(KIND_GENERATION, STR("\0\0\0\2"), (struct str){copy, len});
}
static void d_edge_row(void)
{
    change(KIND_VECTOR, key_of(EDGE_FACTS, 0), VALUES_2, "\x51\x51\x51\x51", 4);
}
static void d_edge_members(void)
{
    put(KIND_VECTOR_SIDE, key_of(EDGE_FACTS, 1), STR("\1\0\0\0"));
}
static void d_edge_members_damaged(void)
{
    put(KIND_VECTOR_SIDE, key_of(EDGE_FACTS, 1), STR("\1\0\0"));
}
static void d_edge_of_nobody(void)
{
    size_t len;
    char *copy = value_of(KIND_VECTOR_SIDE, key_of(EDGE_FACTS, 2), &len);
    struct batch *batch = batch_new(fx.arena, w.space, CAUSE_KEEP);
    batch_set(batch, STAT_NEXT_EPISODE, 9);
    ck_assert_int_eq(apply(&fx, batch), ERR_OK);
    put(KIND_VECTOR_SIDE, key_of(EDGE_FACTS, 5), (struct str){copy, len});
}
static void d_side_damaged(void)
{
    change(KIND_VECTOR_SIDE, key_of(LAYER_FACT, 0), 0, "\7", 1);
}
static void d_side_gone(void)
{
    del(KIND_VECTOR_SIDE, key_of(LAYER_EPISODE, 0));
}
static void d_along(void)
{
    size_t len;
    float along;
    memcpy(&along, value_of(KIND_VECTOR_SIDE, key_of(LAYER_EPISODE, 0), &len) + 8, 4);
    along += 1e-4f;
    change(KIND_VECTOR_SIDE, key_of(LAYER_EPISODE, 0), 8, &along, 4);
}
static void d_across(void)
{
    size_t len;
    float across;
    memcpy(&across, value_of(KIND_VECTOR_SIDE, key_of(LAYER_FACT, 0), &len) + 12, 4);
    across += 1e-4f;
    change(KIND_VECTOR_SIDE, key_of(LAYER_FACT, 0), 12, &across, 4);
}
static void d_side_edge(void)
{
    change(KIND_VECTOR_SIDE, key_of(LAYER_EPISODE, 0), 16, "\2", 1);
}
static void d_mark(void)
{
    put(KIND_VECTOR_DIRTY, key_of(LAYER_TOPIC, 0), STR("12345678"));
}
static void d_mark_forgotten(void)
{
    put(KIND_VECTOR_DIRTY, key_of(EDGE_FACTS, 1), STR("12345678"));
}
static void d_old_forgotten(void)
{
    change(KIND_GENERATION, STR("\0\0\0\1"), 8 + 1, "\2", 1);
}
static void d_failures(void)
{
    struct batch *batch = batch_new(fx.arena, w.space, CAUSE_KEEP);
    batch_set(batch, STAT_EMBED_FAILURES, 3);
    ck_assert_int_eq(apply(&fx, batch), ERR_OK);
}
static void d_key(void)
{
    put(KIND_VECTOR, STR("short"), STR(""));
}

static const struct {
    void (*damage)(void);
    const char *says;
} damages[] = {
    {d_block_damaged, "block 0 of vectors of layer 1 is damaged"},
    {d_block_number, "block 1 of vectors of layer 3 has a wrong number"},
    {d_row_twice, "the vectors of fact documents are out of order at 0"},
    {d_row_gone, "turn document 3 has no vector"},
    {d_row_of_nobody, "a vector of episode 9, which was not given out yet"},
    {d_scale_not_finite, "the vector of topic 0 is damaged"},
    {d_scale, "the vector of topic document 0 is not of length 1"},
    {d_least_value, "the vector of topic 0 is damaged"},
    {d_value_behind_the_end, "the vector of topic 0 is damaged"},
    {d_above_the_watermark, "fact document 1 has a vector and is above the watermark"},
    {d_watermark, "more fact documents are embedded than there are"},
    {d_count, "a generation's number of vectors is 9, should be 6"},
    {d_record, "generation 1 of the vector index is damaged"},
    {d_record_gone, "rows of the vector index belong to no generation"},
    {d_stray, "1 rows of the vector index belong to no generation"},
    {d_two_active, "several generations of vectors are built or active"},
    {d_edge_row, "the vector of the facts of episode 1 is not the sum of its members"},
    {d_edge_members, "the vector of the facts of episode 1 has other members"},
    {d_edge_members_damaged, "the members of the vector of the facts of episode 1 are damaged"},
    {d_edge_of_nobody, "a vector of the facts of episode 5, which is not there"},
    {d_side_damaged, "side value 0 of layer 1 is damaged"},
    {d_side_gone, "episode document 0: its side value names other edges"},
    {d_along, "episode document 0: its side values do not agree"},
    {d_across, "fact document 0: its side values do not agree"},
    {d_side_edge, "episode document 0: its side value names other edges"},
    {d_mark, "a mark of the vector index is damaged"},
    {d_mark_forgotten, "there is housekeeping of vectors to do, and VECTORS_DUE is 0"},
    {d_old_forgotten, "there is housekeeping of vectors to do, and VECTORS_DUE is 0"},
    {d_failures, "embedding has failed and is never tried again"},
    {d_key, "a VECTOR row has a key of 5 bytes"},
};
enum { DAMAGES = sizeof damages / sizeof damages[0] };

START_TEST(each_damage_is_found)
{
    damages[_i].damage();
    ck_assert_uint_gt(check(), 0);
    ck_assert_msg(strstr(lines, damages[_i].says) != NULL, "wanted \"%s\", got:\n%s",
                  damages[_i].says, lines);
}
END_TEST

Suite *suite_store_vectors(void)
{
    Suite *suite = suite_create("store_vectors");
    TCase *tc = tcase_create("vectors");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_sound_index_has_no_problem);
    tcase_add_test(tc, marks_excuse_what_is_not_settled);
    tcase_add_test(tc, the_digest_does_not_see_vectors);
    tcase_add_loop_test(tc, each_damage_is_found, 0, DAMAGES);
    suite_add_tcase(suite, tc);
    return suite;
}
