/* Spaces: names, deletion, purge, being created again; due and dead rows; lists. */
#include <stdio.h>

#include "tests/unit/storage/fixture.h"

static struct fixture fx;

static void setup(void)
{
    fixture_init(&fx);
}

static void teardown(void)
{
    fixture_fini(&fx);
}

static void put_rows(uint64_t space, unsigned n)
{
    struct batch *batch = batch_of(&fx, space);
    for (unsigned i = 0; i < n; i++)
        (void)batch_put(batch, KIND_TURN, BE32(i + 1), STR("a turn of some length"), 0);
    ck_assert_int_eq(apply(&fx, batch), ERR_OK);
}

/* All keys of a space, whatever their kind. */
static size_t rows_of(uint64_t space)
{
    static const uint8_t kinds[] = {
#define X(name, letter, key, value) KIND_##name,
        STORE_KIND_TABLE(X)
#undef X
    };
    size_t n = 0;
    for (size_t i = 0; i < sizeof kinds; i++)
        n += count_rows(&fx, space, (enum store_kind)kinds[i]);
    return n;
}

START_TEST(names_are_bytes)
{
    static const char *const names[] = {"a", "A", "ab", "a:b", "a.b", "a b", "\xc3\xa4"};
    uint64_t ids[7];
    for (size_t i = 0; i < 7; i++) {
        ids[i] = make_space(&fx, names[i]);
        struct batch *batch = batch_of(&fx, ids[i]);
        (void)batch_put(batch, KIND_TURN_ID, STR("k"), str_of(names[i]), 0);
        ck_assert_int_eq(apply(&fx, batch), ERR_OK);
    }
    for (size_t i = 0; i < 7; i++) {
        ck_assert_uint_eq(find_space(&fx, names[i]), ids[i]);
        expect_row(&fx, ids[i], KIND_TURN_ID, STR("k"), str_of(names[i]));
        ck_assert_uint_eq(count_rows(&fx, ids[i], KIND_TURN_ID), 1);
    }
}
END_TEST

START_TEST(drop_takes_the_name_at_once_and_the_rows_later)
{
    uint64_t id = make_space(&fx, "doomed");
    uint64_t before = make_space(&fx, "before"), after = make_space(&fx, "zafter");
    put_rows(before, 10);
    put_rows(after, 10);
    put_rows(id, 3 * PURGE_ROWS); /* several steps */
    struct store_txn *old = begin(&fx);
    ck_assert_int_eq(drop_space(&fx, "doomed"), ERR_OK);
    ck_assert_uint_eq(find_space(&fx, "doomed"), 0);
    ck_assert_int_eq(apply(&fx, batch_of(&fx, id)), ERR_NOT_FOUND);
    ck_assert_int_eq(apply(&fx, batch_named(&fx, "doomed")), ERR_NOT_FOUND);
    ck_assert_int_eq(drop_space(&fx, "doomed"), ERR_NOT_FOUND);
    /* A snapshot from before still has it. */
    struct space_stat stat;
    struct err err;
    ck_assert_int_eq(store_stat(old, id, &stat, &err), ERR_OK);
    store_end(old);
    struct store_txn *txn = begin(&fx);
    ck_assert_int_eq(store_stat(txn, id, &stat, &err), ERR_NOT_FOUND);
    store_end(txn);
    wait_purged(&fx);
    ck_assert_uint_eq(rows_of(id), 0);
    ck_assert_int_eq(apply(&fx, batch_of(&fx, id)), ERR_NOT_FOUND);
    ck_assert_uint_eq(count_rows(&fx, before, KIND_TURN), 10);
    ck_assert_uint_eq(count_rows(&fx, after, KIND_TURN), 10);
}
END_TEST

START_TEST(created_again_it_goes_on_above_its_old_seq)
{
    uint64_t first = make_space(&fx, "phoenix");
    put_rows(first, 5);
    put_rows(first, 5); /* seq 3 */
    ck_assert_int_eq(drop_space(&fx, "phoenix"), ERR_OK);
    uint64_t second = make_space(&fx, "phoenix");
    ck_assert_uint_gt(second, first);
    struct space_stat stat = stat_of(&fx, second);
    ck_assert_uint_eq(stat.v[STAT_SEQ], 5); /* 4 was the deletion */
    ck_assert_uint_eq(stat.v[STAT_PROCESSED], 5);
    ck_assert_uint_eq(stat.v[STAT_NEXT_TURN], 1);
    ck_assert_uint_eq(count_rows(&fx, second, KIND_TURN), 0);
    ck_assert_uint_eq(count_rows(&fx, second, KIND_LOG), 1);
    put_rows(second, 2);
    wait_purged(&fx);
    ck_assert_uint_eq(rows_of(first), 0);
    ck_assert_uint_eq(count_rows(&fx, second, KIND_TURN), 2);
}
END_TEST

START_TEST(purge_goes_on_after_a_restart)
{
    uint64_t id = make_space(&fx, "big");
    for (unsigned i = 0; i < 4; i++) {
        struct batch *batch = batch_of(&fx, id);
        for (unsigned k = 0; k < 2 * PURGE_ROWS; k++)
            (void)batch_put(batch, KIND_TURN, BE32(i * 10000 + k), STR("x"), 0);
        ck_assert_int_eq(apply(&fx, batch), ERR_OK);
    }
    ck_assert_int_eq(drop_space(&fx, "big"), ERR_OK);
    fixture_close(&fx); /* stopping does not wait for the purge */
    fixture_open(&fx);
    wait_purged(&fx);
    ck_assert_uint_eq(rows_of(id), 0);
    uint64_t next = make_space(&fx, "next");
    ck_assert_uint_eq(next, id + 1);
}
END_TEST

START_TEST(dropped_and_due)
{
    uint64_t id = make_space(&fx, "busy");
    struct batch *batch = batch_of(&fx, id);
    batch_add(batch, STAT_PENDING, 1);
    ck_assert_int_eq(apply(&fx, batch), ERR_OK);
    ck_assert_uint_eq(count_rows(&fx, 0, KIND_DUE), 1);
    ck_assert_int_eq(drop_space(&fx, "busy"), ERR_OK);
    ck_assert_uint_eq(count_rows(&fx, 0, KIND_DUE), 0);
}
END_TEST

START_TEST(due_rows_come_in_order_of_time)
{
    static const uint64_t due[] = {300, 100, 200, 100};
    uint64_t ids[4];
    for (size_t i = 0; i < 4; i++) {
        char name[8];
        (void)snprintf(name, sizeof name, "d%zu", i);
        ids[i] = make_space(&fx, name);
        struct batch *batch = batch_of(&fx, ids[i]);
        batch_set(batch, STAT_IDLE_DUE, due[i]);
        ck_assert_int_eq(apply(&fx, batch), ERR_OK);
    }
    static const size_t order[] = {1, 3, 2, 0};
    struct store_txn *txn = begin(&fx);
    uint64_t ms = 0, space = 0;
    struct err err;
    for (size_t i = 0; i < 4; i++) {
        ck_assert_int_eq(storage_due_next(txn, ms, space, &ms, &space, &err), ERR_OK);
        ck_assert_uint_eq(space, ids[order[i]]);
        ck_assert_uint_eq(ms, due[order[i]]);
    }
    ck_assert_int_eq(storage_due_next(txn, ms, space, &ms, &space, &err), ERR_OK);
    ck_assert_uint_eq(space, 0);
    store_end(txn);
}
END_TEST

static size_t list(const char *prefix, struct str after, struct store_space *out, size_t max,
                   struct store_txn *txn)
{
    size_t n = 99;
    struct err err;
    ck_assert_int_eq(store_spaces_list(txn, str_of(prefix), after, out, max, &n, &err), ERR_OK);
    return n;
}

START_TEST(spaces_are_listed_by_prefix_and_page)
{
    static const char *const names[] = {"b", "a", "ab", "a:b", "abc", "gone", "zz"};
    for (size_t i = 0; i < 7; i++)
        (void)make_space(&fx, names[i]);
    ck_assert_int_eq(drop_space(&fx, "gone"), ERR_OK);
    struct store_txn *txn = begin(&fx);
    struct store_space out[10];
    ck_assert_uint_eq(list("", STR_NONE, out, 10, txn), 6);
    ck_assert(str_eq(out[0].name, STR("a")) && str_eq(out[5].name, STR("zz")));
    ck_assert_uint_eq(list("a", STR_NONE, out, 10, txn), 4);
    ck_assert_uint_eq(list("ab", STR_NONE, out, 10, txn), 2);
    ck_assert_uint_eq(list("g", STR_NONE, out, 10, txn), 0);
    ck_assert_uint_eq(list("zzz", STR_NONE, out, 10, txn), 0);
    /* A cursor before the prefix, inside it, behind it, and on a name that is gone. */
    ck_assert_uint_eq(list("ab", STR("a"), out, 10, txn), 2);
    ck_assert_uint_eq(list("a", STR("ab"), out, 10, txn), 1);
    ck_assert_uint_eq(list("a", STR("b"), out, 10, txn), 0);
    ck_assert_uint_eq(list("", STR("gone"), out, 10, txn), 1);
    size_t seen = 0;
    struct str after = STR_NONE;
    while (list("", after, out, 2, txn) != 0) {
        size_t n = list("", after, out, 2, txn);
        seen += n;
        after = out[n - 1].name;
    }
    ck_assert_uint_eq(seen, 6);
    store_end(txn);
}
END_TEST

START_TEST(create_and_drop_in_one_group)
{
    /* All wait behind a first batch, so that they share a transaction. */
    struct ticket t[5];
    struct batch *b[5];
    for (size_t i = 0; i < 5; i++) {
        b[i] = batch_named(&fx, "flash");
        b[i]->create = i % 2 == 0;
        b[i]->drop = i % 2 == 1;
        b[i]->settings = str_copy(fx.arena, STR("        s"));
    }
    for (size_t i = 0; i < 5; i++)
        ticket_submit(&t[i], &fx, b[i], STORE_TURNS);
    for (size_t i = 0; i < 5; i++)
        ck_assert_int_eq(ticket_wait(&t[i]), ERR_OK);
    ck_assert_uint_eq(find_space(&fx, "flash"), 3);
    ck_assert_uint_eq(stat_of(&fx, 3).v[STAT_SEQ], 5);
    wait_purged(&fx);
    ck_assert_uint_eq(rows_of(1) + rows_of(2), 0);
}
END_TEST

START_TEST(bytes_are_estimated)
{
    uint64_t id = make_space(&fx, "sized");
    enum { ROWS = 20000, BYTES = 100 };
    char value[BYTES] = {0};
    for (uint32_t i = 0; i < ROWS; i += 1000) {
        struct batch *batch = batch_of(&fx, id);
        for (uint32_t k = 1; k <= 1000; k++)
            (void)batch_put(batch, KIND_FACT, BE32(i + k), (struct str){value, BYTES}, 0);
        ck_assert_int_eq(apply(&fx, batch), ERR_OK);
    }
    struct store_txn *txn = begin(&fx);
    uint64_t bytes = 0, none = 0;
    struct err err;
    ck_assert_int_eq(store_space_bytes(txn, id, &bytes, &err), ERR_OK);
    ck_assert_int_eq(store_space_bytes(txn, id + 1, &none, &err), ERR_OK);
    store_end(txn);
    ck_assert_uint_gt(bytes, UINT64_C(20000) * 110);
    ck_assert_uint_lt(bytes, UINT64_C(20000) * 140);
    ck_assert_uint_eq(none, 0);
}
END_TEST

/* Rows of several sorts, and names with a gap between them, are no rows as wide as the gap. */
START_TEST(bytes_of_sparse_keys_stay_sane)
{
    uint64_t id = make_space(&fx, "sparse");
    struct batch *batch = batch_of(&fx, id);
    char key[13] = {0};
    for (uint32_t i = 1; i <= 600; i++) {
        key[0] = i <= 400 ? 'c' : 'f';
        be32_set(key + 1, i);
        be64_set(key + 5, i);
        (void)batch_put(batch, KIND_HISTORY, (struct str){key, sizeof key}, STR(""), 0);
    }
    for (int i = 1000; i <= 1300; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "%s%d", i < 1300 ? "message-" : "zz", i);
        (void)batch_put(batch, KIND_TURN_ID, str_copy(fx.arena, str_of(name)), BE32(i), 0);
    }
    ck_assert_int_eq(apply(&fx, batch), ERR_OK);
    struct store_txn *txn = begin(&fx);
    uint64_t bytes = 0;
    struct err err;
    ck_assert_int_eq(store_space_bytes(txn, id, &bytes, &err), ERR_OK);
    store_end(txn);
    ck_assert_uint_gt(bytes, 600 * 23);
    ck_assert_uint_lt(bytes, 200000);
}
END_TEST

Suite *suite_store_space(void)
{
    Suite *suite = suite_create("store_space");
    TCase *tc = tcase_create("space");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, names_are_bytes);
    tcase_add_test(tc, drop_takes_the_name_at_once_and_the_rows_later);
    tcase_add_test(tc, created_again_it_goes_on_above_its_old_seq);
    tcase_add_test(tc, purge_goes_on_after_a_restart);
    tcase_add_test(tc, dropped_and_due);
    tcase_add_test(tc, due_rows_come_in_order_of_time);
    tcase_add_test(tc, spaces_are_listed_by_prefix_and_page);
    tcase_add_test(tc, create_and_drop_in_one_group);
    tcase_add_test(tc, bytes_are_estimated);
    tcase_add_test(tc, bytes_of_sparse_keys_stay_sane);
    suite_add_tcase(suite, tc);
    return suite;
}
