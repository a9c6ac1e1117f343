/* Building a batch: what the writer is handed. (What it does with it: tests/unit/storage.) */
#include <check.h>
#include <signal.h>

#include "core/batch.h"

static struct arena *arena;

static void setup(void)
{
    arena = arena_new(1 << 20);
    ck_assert_ptr_nonnull(arena);
}

static void teardown(void)
{
    arena_free(arena);
}

/* Everything a builder can call, more than once, so that every list grows. NULL: no memory. */
static struct batch *build(void)
{
    struct batch *batch = batch_new_named(arena, STR("name"), CAUSE_TURNS);
    if (batch == NULL)
        return NULL;
    for (uint32_t i = 0; i < 20; i++) {
        uint32_t n = batch_take(batch, STAT_NEXT_TURN, 1);
        uint32_t name = batch_intern(batch, KIND_SESSION, STR("session"), STAT_NEXT_SESSION);
        uint32_t put = batch_put(batch, KIND_TURN, STR("...."), STR("________nnnn"), PUT_STAMP);
        (void)batch_put_u32(batch, KIND_TOPIC, i, STR("v"), 0);
        (void)batch_del_u32(batch, KIND_TOPIC, i, PUT_KEEP);
        uint32_t rows = batch_rows(batch, KIND_LENGTH, STR("\0"), 4, 1, 0, STR("abc"));
        batch_add(batch, STAT_TURNS, 1);
        batch_set(batch, STAT_LOOKED, i);
        batch_min(batch, STAT_IDLE_DUE, i);
        batch_need_absent(batch, KIND_TURN_ID, STR("id"));
        batch_need_version(batch, KIND_TOPIC, STR("key"), 3);
        batch_need_stat(batch, STAT_CHANGES, 4);
        batch_expire(batch, 1000, KIND_JOB, STR("12345678"));
        batch_log(batch, CHANGE_ADD, KIND_TURN, n, 0, 1);
        if (!batch_ok(batch))
            continue; /* indexes mean nothing any more, and further calls do no harm */
        batch_fix(batch, put, FIX_KEY, 0, n, 0);
        batch_fix(batch, put, FIX_VALUE, 8, name, 0);
        batch_fix(batch, put, FIX_VALUE, 0, SLOT_SEQ, 0);
        batch_fix(batch, rows, FIX_ROW, 0, n, 0);
    }
    return batch;
}

START_TEST(a_batch_copies_what_it_is_given)
{
    char key[] = "key", value[] = "value";
    struct batch *batch = batch_new(arena, 5, CAUSE_STAGE);
    (void)batch_put(batch, KIND_TURN_ID, str_of(key), str_of(value), 0);
    key[0] = value[0] = 'x';
    ck_assert(str_eq(batch->ops.at[0].key, STR("key")));
    ck_assert(str_eq(batch->ops.at[0].value, STR("value")));
    ck_assert_uint_eq(batch->bytes, 8);
    ck_assert_uint_eq(batch->space, 5);
    ck_assert(batch->has_seq);
    ck_assert(!batch_new(arena, 5, CAUSE_KEEP)->has_seq);
}
END_TEST

START_TEST(adding_nothing_is_no_operation)
{
    struct batch *batch = batch_new(arena, 1, CAUSE_STAGE);
    batch_add(batch, STAT_TURNS, 0);
    ck_assert_uint_eq(batch->ops.n, 0);
}
END_TEST

START_TEST(names_are_interned_once)
{
    struct batch *batch = batch_new(arena, 1, CAUSE_TURNS);
    uint32_t a = batch_intern(batch, KIND_SESSION, STR("a"), STAT_NEXT_SESSION);
    uint32_t other_kind = batch_intern(batch, KIND_SPEAKER, STR("a"), STAT_NEXT_SPEAKER);
    uint32_t empty = batch_intern(batch, KIND_SESSION, STR(""), STAT_NEXT_SESSION);
    ck_assert_uint_eq(batch_intern(batch, KIND_SESSION, STR("a"), STAT_NEXT_SESSION), a);
    ck_assert_uint_eq(batch_intern(batch, KIND_SESSION, STR(""), STAT_NEXT_SESSION), empty);
    ck_assert_uint_ne(a, other_kind);
    ck_assert_uint_eq(batch->slots.n, 3);
}
END_TEST

/* The first allocation fails, then the second, …: the batch says so, and nothing breaks. */
START_TEST(each_allocation_fails_once)
{
    unsigned long n = 0;
    struct batch *batch = NULL;
    do {
        arena_reset(arena);
        arena_fail_after(arena, ++n);
        batch = build();
        ck_assert_uint_lt(n, 2000);
    } while (batch == NULL || !batch_ok(batch));
    arena_fail_after(arena, 0);
    ck_assert_uint_gt(n, 100);
    batch_check(batch);
}
END_TEST

START_TEST(a_fix_outside_its_value_is_a_bug)
{
    struct batch *batch = batch_new(arena, 1, CAUSE_TURNS);
    uint32_t n = batch_take(batch, STAT_NEXT_TURN, 1);
    uint32_t op = batch_put(batch, KIND_TURN, STR("...."), STR("12345"), 0);
    if (_i == 0)
        batch_fix(batch, op, FIX_KEY, 1, n, 0);
    else if (_i == 1)
        batch_fix(batch, op, FIX_VALUE, 2, n, 0);
    else if (_i == 2)
        batch_fix(batch, op, FIX_VALUE, 0, SLOT_SEQ, 0);
    else if (_i == 3)
        batch_fix(batch, op, FIX_ROW, 0, n, 0);
    else
        batch_fix(batch, op, FIX_KEY, 0, n + 1, 0);
    batch_check(batch);
}
END_TEST

Suite *suite_batch(void)
{
    Suite *suite = suite_create("batch");
    TCase *tc = tcase_create("batch");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_batch_copies_what_it_is_given);
    tcase_add_test(tc, adding_nothing_is_no_operation);
    tcase_add_test(tc, names_are_interned_once);
    tcase_add_test(tc, each_allocation_fails_once);
    tcase_add_loop_test_raise_signal(tc, a_fix_outside_its_value_is_a_bug, SIGABRT, 0, 5);
    suite_add_tcase(suite, tc);
    return suite;
}
