/* A batch laid over a snapshot reads like the same batch applied: rows, blocks, counters, and walks
 * in both directions that start anywhere. */
#include <stdlib.h>

#include "tests/unit/storage/fixture.h"

enum { WIDTH = 3, BLOCK = 4, ROUNDS = 300, STEPS = 40 };

static struct fixture fx;
static uint64_t space;
static uint64_t seed;

static void setup(void)
{
    fixture_init(&fx);
    space = make_space(&fx, "s");
    (void)make_space(&fx, "t"); /* a neighbour behind it */
    seed = 1;
}

static void teardown(void)
{
    fixture_fini(&fx);
}

static uint32_t rnd(uint32_t below)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(seed >> 33) % below;
}

static struct str text(size_t len)
{
    char bytes[64];
    for (size_t i = 0; i < len; i++)
        bytes[i] = (char)rnd(256);
    return str_copy(fx.arena, (struct str){bytes, len});
}

static const uint8_t kinds[] = {KIND_TURN_ID, KIND_TOPIC, KIND_TEXT};
enum { KINDS = sizeof kinds };

static struct str key_in(unsigned kind, char room[4])
{
    if (kind == KIND_TURN_ID)
        return str_part(STR("aaaaaaaa"), 0, rnd(9));
    be32_set(room, rnd(30));
    return (struct str){room, 4};
}

static void random_op(struct batch *batch)
{
    char room[4];
    enum store_kind kind = (enum store_kind)kinds[rnd(KINDS)];
    switch (rnd(8)) {
    case 0: batch_add(batch, STAT_TURNS, 1 + rnd(5)); break;
    case 1: batch_min(batch, STAT_IDLE_DUE, 1 + rnd(1000)); break;
    case 2:
        (void)batch_rows(batch, KIND_COLUMN, rnd(2) == 0 ? STR("\1") : STR("\2"), BLOCK, WIDTH,
                         rnd(20), text((size_t)WIDTH * (1 + rnd(9))));
        break;
    case 3:
    case 4: (void)batch_del(batch, kind, key_in(kind, room), 0); break;
    default: (void)batch_put(batch, kind, key_in(kind, room), text(rnd(40)), 0); break;
    }
}

static struct batch *random_batch(void)
{
    struct batch *batch = batch_of(&fx, space);
    for (uint32_t n = 1 + rnd(12); n > 0; n--)
        random_op(batch);
    return batch;
}

/* --- the same in both --- */

static void same_items(const struct store_item *a, const struct store_item *b)
{
    ck_assert_int_eq(a->key.at != NULL, b->key.at != NULL);
    if (a->key.at == NULL)
        return;
    ck_assert(str_eq(a->key, b->key));
    ck_assert(str_eq(a->value, b->value));
}

static enum err_code move(struct store_cursor *cursor, uint32_t how, struct str key,
                          struct store_item *item)
{
    struct err err;
    switch (how) {
    case 0: return store_cursor_seek(cursor, key, item, &err);
    case 1: return store_cursor_seek_before(cursor, key, item, &err);
    case 2: return store_cursor_seek_before(cursor, STR_NONE, item, &err);
    case 3:
    case 4: return store_cursor_prev(cursor, item, &err);
    default: return store_cursor_next(cursor, item, &err);
    }
}

static void same_walks(struct store_txn *a, struct store_txn *b, enum store_kind kind)
{
    struct store_cursor *x, *y;
    struct store_item at_x, at_y;
    struct err err;
    ck_assert_int_eq(store_cursor_open(a, space, kind, &x, &err), ERR_OK);
    ck_assert_int_eq(store_cursor_open(b, space, kind, &y, &err), ERR_OK);
    for (unsigned i = 0; i < STEPS; i++) {
        char room[4];
        struct str key = key_in(kind, room);
        uint32_t how = rnd(8);
        ck_assert_int_eq(move(x, how, key, &at_x), ERR_OK);
        ck_assert_int_eq(move(y, how, key, &at_y), ERR_OK);
        same_items(&at_x, &at_y);
    }
    store_cursor_close(x);
    store_cursor_close(y);
}

static void same_range(struct store_txn *a, struct store_txn *b, enum store_kind kind)
{
    struct store_cursor *x, *y;
    struct store_item at_x, at_y;
    struct err err;
    struct str value;
    ck_assert_int_eq(store_cursor_open(a, space, kind, &x, &err), ERR_OK);
    ck_assert_int_eq(store_cursor_open(b, space, kind, &y, &err), ERR_OK);
    do {
        ck_assert_int_eq(store_cursor_next(x, &at_x, &err), ERR_OK);
        ck_assert_int_eq(store_cursor_next(y, &at_y, &err), ERR_OK);
        same_items(&at_x, &at_y);
        if (at_x.key.at == NULL)
            break;
        ck_assert_int_eq(store_get(a, space, kind, at_y.key, &value, &err), ERR_OK);
        ck_assert(str_eq(value, at_y.value));
    } while (at_x.key.at != NULL);
    store_cursor_close(x);
    store_cursor_close(y);
}

static void same_gets(struct store_txn *a, struct store_txn *b)
{
    struct space_stat x, y;
    struct str one, two;
    struct err err;
    for (uint32_t id = 0; id < 30; id++) {
        ck_assert_int_eq(store_get_u32(a, space, KIND_TOPIC, id, &one, &err), ERR_OK);
        ck_assert_int_eq(store_get_u32(b, space, KIND_TOPIC, id, &two, &err), ERR_OK);
        ck_assert_int_eq(one.at != NULL, two.at != NULL);
        ck_assert(one.at == NULL || str_eq(one, two));
    }
    ck_assert_int_eq(store_stat(a, space, &x, &err), ERR_OK);
    ck_assert_int_eq(store_stat(b, space, &y, &err), ERR_OK);
    ck_assert_uint_eq(x.v[STAT_TURNS], y.v[STAT_TURNS]);
    ck_assert_uint_eq(x.v[STAT_IDLE_DUE], y.v[STAT_IDLE_DUE]);
}

/* --- tests --- */

START_TEST(laid_is_as_applied)
{
    struct err err;
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct store_txn *laid = begin(&fx);
        for (uint32_t n = 1 + rnd(3); n > 0; n--) {
            struct batch *batch = random_batch();
            uint32_t first = rnd(batch->ops.n + 1); /* in two steps, as a chain does */
            uint32_t all = batch->ops.n;
            batch->ops.n = first;
            ck_assert_int_eq(store_lay(laid, batch, 0, 7, &err), ERR_OK);
            batch->ops.n = all;
            ck_assert_int_eq(store_lay(laid, batch, first, 7, &err), ERR_OK);
            ck_assert_int_eq(apply(&fx, batch), ERR_OK);
        }
        struct store_txn *applied = begin(&fx);
        for (size_t k = 0; k < KINDS; k++) {
            same_range(laid, applied, (enum store_kind)kinds[k]);
            same_walks(laid, applied, (enum store_kind)kinds[k]);
        }
        same_range(laid, applied, KIND_COLUMN);
        same_gets(laid, applied);
        store_end(applied);
        store_end(laid);
    }
}
END_TEST

START_TEST(it_ends_with_the_transaction_and_touches_no_other_space)
{
    struct err err;
    struct str value;
    struct batch *batch = batch_of(&fx, space);
    (void)batch_put(batch, KIND_TURN_ID, STR("a"), STR("1"), 0);
    struct store_txn *txn = begin(&fx);
    uint64_t other = find_space(&fx, "t");
    ck_assert_int_eq(store_lay(txn, batch, 0, 7, &err), ERR_OK);
    ck_assert_int_eq(store_get(txn, other, KIND_TURN_ID, STR("a"), &value, &err), ERR_OK);
    ck_assert_ptr_null(value.at);
    store_end(txn);
    txn = begin(&fx); /* the same one, from the pool */
    ck_assert_int_eq(store_get(txn, space, KIND_TURN_ID, STR("a"), &value, &err), ERR_OK);
    ck_assert_ptr_null(value.at);
    store_end(txn);
}
END_TEST

START_TEST(the_seq_stands_in_keys)
{
    struct err err;
    struct str value;
    struct batch *batch = batch_of(&fx, space);
    uint32_t op = batch_put(batch, KIND_SEGMENT, STR("\0\0\0\0\0\0\0\0\0\0"), STR("x"), 0);
    batch_fix(batch, op, FIX_KEY, 0, SLOT_SEQ, 0);
    struct store_txn *txn = begin(&fx);
    ck_assert_int_eq(store_lay(txn, batch, 0, 258, &err), ERR_OK);
    struct str key = STR("\0\0\0\0\0\0\1\2\0\0");
    ck_assert_int_eq(store_get(txn, space, KIND_SEGMENT, key, &value, &err), ERR_OK);
    ck_assert(str_eq(value, STR("x")));
    store_end(txn);
}
END_TEST

START_TEST(short_memory_is_told)
{
    struct err err;
    enum err_code rc = ERR_EXHAUSTED;
    for (unsigned long n = 1; rc != ERR_OK; n++) {
        ck_assert_uint_lt(n, 100);
        struct batch *batch = random_batch();
        struct store_txn *txn = begin(&fx);
        arena_fail_after(fx.arena, n);
        rc = store_lay(txn, batch, 0, 7, &err);
        arena_fail_after(fx.arena, 0);
        ck_assert(rc == ERR_OK || rc == ERR_EXHAUSTED);
        store_end(txn);
    }
}
END_TEST

Suite *suite_store_lay(void)
{
    Suite *suite = suite_create("store_lay");
    TCase *tc = tcase_create("lay");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, laid_is_as_applied);
    tcase_add_test(tc, it_ends_with_the_transaction_and_touches_no_other_space);
    tcase_add_test(tc, the_seq_stands_in_keys);
    tcase_add_test(tc, short_memory_is_told);
    suite_add_tcase(suite, tc);
    return suite;
}
