/* Cursors at the borders: of kinds, of spaces whose ids share bytes, of the whole tree. */
#include <stdio.h>

#include "tests/unit/storage/fixture.h"

static struct fixture fx;
static uint64_t ids[256 + 1];

/* Spaces 1 … 256, so that ids 255 and 256 differ in length of their significant bytes. */
static void setup(void)
{
    fixture_init(&fx);
    for (unsigned i = 1; i <= 256; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "s%u", i);
        struct batch *batch = batch_named(&fx, name);
        batch->create = true;
        batch->settings = str_copy(fx.arena, STR("        "));
        static const uint16_t rows_in[] = {1, 2, 255, 256};
        for (size_t k = 0; k < 4; k++) {
            if (rows_in[k] != i)
                continue;
            (void)batch_put(batch, KIND_TURN, BE32(1), str_of(name), 0);
            (void)batch_put(batch, KIND_TURN, BE32(255), str_of(name), 0);
            (void)batch_put(batch, KIND_TURN, BE32(256), str_of(name), 0);
            (void)batch_put(batch, KIND_TURN, BE32(UINT32_MAX), str_of(name), 0);
            (void)batch_put(batch, KIND_TEXT, BE32(9), str_of(name), 0);
        }
        ck_assert_int_eq(apply(&fx, batch), ERR_OK);
        ids[i] = batch->space;
        ck_assert_uint_eq(ids[i], i);
    }
}

static void teardown(void)
{
    fixture_fini(&fx);
}

enum move { SEEK, BEFORE, NEXT, PREV };

/* Makes the move; the key it must land on, or 0 for past the end. */
static void step(struct store_cursor *cursor, enum move move, struct str rest, uint32_t want,
                 const char *value)
{
    struct store_item item;
    struct err err;
    enum err_code code = move == SEEK     ? store_cursor_seek(cursor, rest, &item, &err)
                         : move == BEFORE ? store_cursor_seek_before(cursor, rest, &item, &err)
                         : move == NEXT   ? store_cursor_next(cursor, &item, &err)
                                          : store_cursor_prev(cursor, &item, &err);
    ck_assert_int_eq(code, ERR_OK);
    if (want == 0) {
        ck_assert_ptr_null(item.key.at);
        return;
    }
    ck_assert_uint_eq(item.key.len, 4);
    ck_assert_uint_eq(be32_get(item.key.at), want);
    ck_assert(str_eq(item.value, str_of(value)));
}

static struct store_cursor *open_cursor(struct store_txn *txn, uint64_t space, enum store_kind kind)
{
    struct store_cursor *cursor = NULL;
    struct err err;
    ck_assert_int_eq(store_cursor_open(txn, space, kind, &cursor, &err), ERR_OK);
    return cursor;
}

START_TEST(each_range_is_its_own)
{
    static const struct {
        unsigned space;
        const char *name;
    } rows[] = {{1, "s1"}, {2, "s2"}, {255, "s255"}, {256, "s256"}};
    struct store_txn *txn = begin(&fx);
    for (size_t i = 0; i < 4; i++) {
        struct store_cursor *c = open_cursor(txn, rows[i].space, KIND_TURN);
        const char *name = rows[i].name;
        step(c, NEXT, STR_NONE, 1, name);
        step(c, NEXT, STR_NONE, 255, name);
        step(c, NEXT, STR_NONE, 256, name);
        step(c, NEXT, STR_NONE, UINT32_MAX, name);
        step(c, NEXT, STR_NONE, 0, NULL);
        step(c, NEXT, STR_NONE, 0, NULL);
        step(c, PREV, STR_NONE, UINT32_MAX, name);
        step(c, PREV, STR_NONE, 256, name);
        step(c, SEEK, BE32(2), 255, name);
        step(c, PREV, STR_NONE, 1, name);
        step(c, PREV, STR_NONE, 0, NULL);
        step(c, PREV, STR_NONE, 0, NULL);
        step(c, NEXT, STR_NONE, 1, name);
        step(c, SEEK, STR(""), 1, name);
        step(c, SEEK, STR("\xff\xff\xff\xff\0"), 0, NULL);
        step(c, BEFORE, STR_NONE, UINT32_MAX, name);
        step(c, BEFORE, BE32(UINT32_MAX), 256, name);
        step(c, BEFORE, BE32(256), 255, name);
        step(c, BEFORE, BE32(200), 1, name);
        step(c, BEFORE, BE32(1), 0, NULL);
        step(c, BEFORE, STR(""), 0, NULL);
        store_cursor_close(c);
    }
    store_end(txn);
}
END_TEST

START_TEST(empty_ranges_are_empty_from_both_ends)
{
    struct store_txn *txn = begin(&fx);
    static const uint16_t empty_spaces[] = {3, 254, 257, 1000};
    for (size_t i = 0; i < 4; i++) {
        struct store_cursor *c = open_cursor(txn, empty_spaces[i], KIND_TURN);
        step(c, SEEK, STR(""), 0, NULL);
        step(c, PREV, STR_NONE, 0, NULL);
        step(c, BEFORE, STR_NONE, 0, NULL);
        step(c, NEXT, STR_NONE, 0, NULL);
        store_cursor_close(c);
    }
    /* The last kind of the last space: the end of the tree. */
    struct store_cursor *c = open_cursor(txn, 256, KIND_FACT_SOURCE);
    step(c, BEFORE, STR_NONE, 0, NULL);
    step(c, SEEK, STR(""), 0, NULL);
    store_cursor_close(c);
    c = open_cursor(txn, 256, KIND_TEXT);
    step(c, BEFORE, STR_NONE, 9, "s256");
    step(c, NEXT, STR_NONE, 0, NULL);
    step(c, PREV, STR_NONE, 9, "s256");
    step(c, PREV, STR_NONE, 0, NULL);
    store_cursor_close(c);
    store_end(txn);
}
END_TEST

START_TEST(keys_that_are_prefixes_of_each_other)
{
    struct batch *batch = batch_of(&fx, 7);
    static const char *const names[] = {"", "a", "a:b", "ab", "abc", "b"};
    for (size_t i = 0; i < 6; i++)
        (void)batch_put(batch, KIND_SESSION, str_of(names[i]), str_of(names[i]), 0);
    (void)batch_put(batch, KIND_SESSION, STR("a\0"), STR("nul"), 0);
    ck_assert_int_eq(apply(&fx, batch), ERR_OK);
    struct store_txn *txn = begin(&fx);
    struct store_cursor *c = open_cursor(txn, 7, KIND_SESSION);
    struct store_item item;
    struct err err;
    static const struct {
        const char *at;
        size_t len;
    } order[] = {{"", 0}, {"a", 1}, {"a\0", 2}, {"a:b", 3}, {"ab", 2}, {"abc", 3}, {"b", 1}};
    for (size_t i = 0; i < 7; i++) {
        ck_assert_int_eq(store_cursor_next(c, &item, &err), ERR_OK);
        ck_assert(str_eq(item.key, ((struct str){order[i].at, order[i].len})));
    }
    ck_assert_int_eq(store_cursor_seek_before(c, STR("a:"), &item, &err), ERR_OK);
    ck_assert(str_eq(item.key, STR("a\0")));
    ck_assert_int_eq(store_cursor_seek(c, STR("a\1"), &item, &err), ERR_OK);
    ck_assert(str_eq(item.key, STR("a:b")));
    store_cursor_close(c);
    store_end(txn);
}
END_TEST

START_TEST(a_snapshot_does_not_move)
{
    struct store_txn *old = begin(&fx);
    struct batch *batch = batch_of(&fx, 1);
    (void)batch_put(batch, KIND_TURN, BE32(1), STR("changed"), 0);
    (void)batch_del(batch, KIND_TURN, BE32(255), 0);
    ck_assert_int_eq(apply(&fx, batch), ERR_OK);
    struct store_cursor *c = open_cursor(old, 1, KIND_TURN);
    step(c, NEXT, STR_NONE, 1, "s1");
    step(c, NEXT, STR_NONE, 255, "s1");
    store_cursor_close(c);
    store_end(old);
    struct store_txn *txn = begin(&fx); /* the same one, renewed, with its cursor */
    c = open_cursor(txn, 1, KIND_TURN);
    step(c, NEXT, STR_NONE, 1, "changed");
    step(c, NEXT, STR_NONE, 256, "s1");
    store_cursor_close(c);
    store_end(txn);
}
END_TEST

START_TEST(many_transactions_at_once)
{
    enum { N = 40 };
    struct store_txn *txns[N];
    for (size_t i = 0; i < N; i++)
        txns[i] = begin(&fx);
    struct store_health health;
    store_health(fx.store, &health);
    ck_assert_uint_eq(health.readers, N);
    for (size_t i = 0; i < N; i++)
        store_end(txns[i]);
    store_health(fx.store, &health);
    ck_assert_uint_eq(health.readers, 0);
}
END_TEST

Suite *suite_store_cursor(void)
{
    Suite *suite = suite_create("store_cursor");
    TCase *tc = tcase_create("cursor");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, each_range_is_its_own);
    tcase_add_test(tc, empty_ranges_are_empty_from_both_ends);
    tcase_add_test(tc, keys_that_are_prefixes_of_each_other);
    tcase_add_test(tc, a_snapshot_does_not_move);
    tcase_add_test(tc, many_transactions_at_once);
    suite_add_tcase(suite, tc);
    return suite;
}
