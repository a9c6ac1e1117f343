/* The records read from a real store. */
#include <check.h>

#include "core/base/limits.h"
#include "tests/unit/graph/records.h"
#include "tests/unit/index/harness.h"

static struct harness *h;
static struct arena *arena;

static void setup(void)
{
    h = harness_new();
    arena = arena_new(1 << 24);
}

static void teardown(void)
{
    arena_free(arena);
    harness_free(h);
}

static void put(enum store_kind kind, uint32_t id, struct str value)
{
    char key[4];
    be32_set(key, id);
    harness_raw(h, kind, (struct str){key, sizeof key}, value);
}

START_TEST(absent_records_are_no_error)
{
    struct err err;
    struct turn turn;
    struct episode episode;
    struct topic topic;
    struct fact fact;
    struct edge edge;
    uint64_t space = harness_space(h);
    struct store_txn *txn = harness_begin(h);
    ck_assert_int_eq(turn_get(txn, space, 1, &turn, &err), ERR_OK);
    ck_assert_uint_eq(turn.n, 0);
    ck_assert_int_eq(episode_get(txn, space, 1, &episode, &err), ERR_OK);
    ck_assert_uint_eq(episode.id, 0);
    ck_assert_int_eq(topic_get(txn, space, 1, arena, &topic, &err), ERR_OK);
    ck_assert_uint_eq(topic.id, 0);
    ck_assert_int_eq(fact_get(txn, space, 1, arena, &fact, &err), ERR_OK);
    ck_assert_uint_eq(fact.id, 0);
    ck_assert_int_eq(edge_get(txn, space, KIND_TOPIC_EDGE, 1, arena, &edge, &err), ERR_OK);
    ck_assert_uint_eq(edge.n, 0);
    struct space settings;
    ck_assert_int_eq(space_get(txn, space + 1, &settings, &err), ERR_NOT_FOUND);
    ck_assert_int_eq(space_get(txn, space, &settings, &err), ERR_OK);
    ck_assert(str_eq(settings.language, STR("en")));
    ck_assert_uint_ne(settings.seq, 0);
}
END_TEST

START_TEST(stored_records_are_found)
{
    static const enum store_kind kinds[] = {KIND_META,    KIND_TURN,  KIND_EPISODE_EDGE,
                                            KIND_EPISODE, KIND_TOPIC, KIND_FACT};
    struct err err;
    uint64_t space = harness_space(h);
    for (size_t i = 1; i < n_record_codecs; i++) {
        struct buf out;
        buf_init(&out, arena, 1 << 16);
        record_codecs[i].sample(true, &out);
        put(kinds[i], 5, buf_str(&out));
    }
    struct turn turn;
    struct episode episode;
    struct topic topic;
    struct fact fact;
    struct edge edge;
    struct store_txn *txn = harness_begin(h);
    ck_assert_int_eq(turn_get(txn, space, 5, &turn, &err), ERR_OK);
    ck_assert(turn.n == 5 && str_eq(turn.text, sample_turn().text));
    ck_assert_int_eq(turn_load_text(txn, space, arena, &turn, &err), ERR_OK);
    ck_assert(str_eq(turn.text, sample_turn().text));
    ck_assert_int_eq(episode_get(txn, space, 5, &episode, &err), ERR_OK);
    ck_assert(episode.id == 5 && str_eq(episode.title, sample_episode().title));
    ck_assert_int_eq(topic_get(txn, space, 5, arena, &topic, &err), ERR_OK);
    ck_assert(topic.id == 5 && topic.n_keywords == 2);
    ck_assert_int_eq(fact_get(txn, space, 5, arena, &fact, &err), ERR_OK);
    ck_assert(fact.id == 5 && fact.n_sources == 3);
    ck_assert_int_eq(edge_get(txn, space, KIND_EPISODE_EDGE, 5, arena, &edge, &err), ERR_OK);
    ck_assert(edge.n == 3 && edge.at[2].id == UINT32_MAX);
    put(KIND_TURN, 6, STR("junk"));
    put(KIND_EPISODE_EDGE, 6, STR("junk"));
    txn = harness_begin(h);
    ck_assert_int_eq(turn_get(txn, space, 6, &turn, &err), ERR_INTERNAL);
    ck_assert_uint_eq(turn.n, 0);
    ck_assert_int_eq(edge_get(txn, space, KIND_EPISODE_EDGE, 6, arena, &edge, &err), ERR_INTERNAL);
    ck_assert_ptr_nonnull(strstr(err.message, "parent 6"));
}
END_TEST

/* A text of the largest size in 64 parts; then with a part missing, and with one too long. */
START_TEST(long_text_is_joined)
{
    enum { LEN = LIMIT_TURN_TEXT_BYTES, PARTS = LEN / LIMIT_PART_BYTES };
    struct err err;
    uint64_t space = harness_space(h);
    char *text = arena_alloc(arena, LEN);
    for (size_t i = 0; i < LEN; i++)
        text[i] = (char)('a' + i * 7 / 5 % 26);
    struct turn turn = {.n = 3, .text = {text, LEN}};
    struct buf record;
    buf_init(&record, arena, 1 << 16);
    turn_encode(&turn, &record);
    put(KIND_TURN, 3, buf_str(&record));
    for (uint32_t part = 0; part < PARTS; part++) {
        char key[8];
        be32_set(key, 3);
        be32_set(key + 4, part);
        harness_raw(h, KIND_TEXT, (struct str){key, sizeof key},
                    (struct str){text + (size_t)part * LIMIT_PART_BYTES, LIMIT_PART_BYTES});
    }
    struct store_txn *txn = harness_begin(h);
    struct turn got;
    ck_assert_int_eq(turn_get(txn, space, 3, &got, &err), ERR_OK);
    ck_assert_ptr_null(got.text.at);
    arena_fail_after(arena, 1);
    ck_assert_int_eq(turn_load_text(txn, space, arena, &got, &err), ERR_EXHAUSTED);
    ck_assert_ptr_null(got.text.at);
    ck_assert_int_eq(turn_load_text(txn, space, arena, &got, &err), ERR_OK);
    ck_assert(str_eq(got.text, turn.text));

    static const char last[] = {0, 0, 0, 3, 0, 0, 0, PARTS - 1};
    struct str key = {last, sizeof last};
    harness_raw(h, KIND_TEXT, key, (struct str){text, LIMIT_PART_BYTES + 1});
    txn = harness_begin(h);
    ck_assert_int_eq(turn_get(txn, space, 3, &got, &err), ERR_OK);
    ck_assert_int_eq(turn_load_text(txn, space, arena, &got, &err), ERR_INTERNAL);
    harness_raw(h, KIND_TEXT, key, STR(""));
    txn = harness_begin(h);
    ck_assert_int_eq(turn_get(txn, space, 3, &got, &err), ERR_OK);
    ck_assert_int_eq(turn_load_text(txn, space, arena, &got, &err), ERR_INTERNAL);
}
END_TEST

Suite *suite_graph_store(void)
{
    Suite *suite = suite_create("graph_store");
    TCase *tcase = tcase_create("graph_store");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, absent_records_are_no_error);
    tcase_add_test(tcase, stored_records_are_found);
    tcase_add_test(tcase, long_text_is_joined);
    suite_add_tcase(suite, tcase);
    return suite;
}
