#include "core/index/segment.h"
#include "core/ingest/upkeep.h"
#include "tests/unit/ingest/kit.h"

static struct kit kit;

static void setup(void)
{
    kit_init(&kit);
    kit_say(&kit, (struct turn_input){.text = STR("hello")});
}

static void teardown(void)
{
    kit_fini(&kit);
}

/* No models: nothing is asked of anybody. */
static const struct services services = {.models = NULL};

static enum err_code build(struct stage_unit *unit)
{
    struct err err = {.code = ERR_OK};
    struct store_txn *txn = begin(&kit.f);
    const struct stage_base base = {txn, kit.space, &services, kit_arena(&kit)};
    enum err_code rc = upkeep_build(&base, kit.now_ms, unit, &err);
    store_end(txn);
    ck_assert_int_eq(rc, err.code);
    return rc;
}

/* Runs a unit; false when there was nothing to do. */
static bool step(bool *more)
{
    struct stage_unit unit;
    ck_assert_int_eq(build(&unit), ERR_OK);
    *more = unit.more;
    if (unit.batch == NULL)
        return false;
    ck_assert_int_eq(unit.queue, STORE_HOUSEKEEPING);
    ck_assert(!unit.batch->has_seq);
    ck_assert_int_eq(apply(&kit.f, unit.batch), ERR_OK);
    return true;
}

static void expire(int64_t at_ms, enum store_kind kind, const char *key)
{
    struct batch *batch = batch_of(&kit.f, kit.space);
    (void)batch_put(batch, kind, str_of(key), STR("value"), 0);
    batch_expire(batch, (uint64_t)at_ms, kind, str_of(key));
    ck_assert_int_eq(apply(&kit.f, batch), ERR_OK);
}

static uint64_t due(void)
{
    return kit_stat(&kit).v[STAT_EXPIRE_DUE];
}

START_TEST(nothing_to_do)
{
    bool more;
    ck_assert(!step(&more));
    expire(kit.now_ms + 1, KIND_JOB, "later");
    ck_assert(!step(&more) && !more);
    kit.now_ms = -5;
    ck_assert(!step(&more));
    kit.space += 1000;
    struct stage_unit unit;
    ck_assert_int_eq(build(&unit), ERR_NOT_FOUND);
}
END_TEST

START_TEST(rows_go_at_their_time)
{
    bool more;
    int64_t now = kit.now_ms;
    expire(now + 10, KIND_JOB, "a");
    expire(now + 20, KIND_IDEMPOTENCY, "b");
    expire(now + 20, KIND_JOB, "c");
    expire(now + 30, KIND_JOB, "d");
    ck_assert_uint_eq(due(), now + 10);
    kit.now_ms = now + 10;
    uint64_t seq = kit_stat(&kit).v[STAT_SEQ];
    ck_assert(step(&more) && !more);
    expect_absent(&kit.f, kit.space, KIND_JOB, STR("a"));
    expect_row(&kit.f, kit.space, KIND_IDEMPOTENCY, STR("b"), STR("value"));
    ck_assert_uint_eq(due(), now + 20);
    kit.now_ms = now + 29;
    ck_assert(step(&more) && !more);
    expect_absent(&kit.f, kit.space, KIND_IDEMPOTENCY, STR("b"));
    expect_absent(&kit.f, kit.space, KIND_JOB, STR("c"));
    expect_row(&kit.f, kit.space, KIND_JOB, STR("d"), STR("value"));
    ck_assert_uint_eq(count_rows(&kit.f, kit.space, KIND_EXPIRY), 1);
    kit.now_ms = now + 1000;
    ck_assert(step(&more) && !more);
    ck_assert_uint_eq(due(), 0);
    ck_assert_uint_eq(count_rows(&kit.f, kit.space, KIND_EXPIRY), 0);
    ck_assert_uint_eq(count_rows(&kit.f, kit.space, KIND_JOB), 0);
    ck_assert_uint_eq(kit_stat(&kit).v[STAT_SEQ], seq);
    ck_assert(!step(&more));
}
END_TEST

START_TEST(units_are_bounded)
{
    enum { N = UPKEEP_ROWS + 10 };
    struct batch *batch = batch_of(&kit.f, kit.space);
    for (uint32_t i = 0; i < N; i++) {
        (void)batch_put_u32(batch, KIND_JOB, i, STR(""), 0);
        batch_expire(batch, (uint64_t)kit.now_ms + i / 50, KIND_JOB, BE32(i));
    }
    ck_assert_int_eq(apply(&kit.f, batch), ERR_OK);
    bool more;
    kit.now_ms += 1000;
    ck_assert(step(&more) && more);
    ck_assert_uint_eq(count_rows(&kit.f, kit.space, KIND_JOB), 10);
    ck_assert_uint_ne(due(), 0);
    ck_assert(step(&more) && !more);
    ck_assert_uint_eq(count_rows(&kit.f, kit.space, KIND_JOB), 0);
    ck_assert_uint_eq(due(), 0);
}
END_TEST

/* The counter is the time of the first row, whatever comes between snapshot and commit. */
START_TEST(rows_that_come_meanwhile)
{
    struct stage_unit unit;
    int64_t now = kit.now_ms;
    expire(now, KIND_JOB, "a");
    ck_assert_int_eq(build(&unit), ERR_OK);
    expire(now + 50, KIND_JOB, "b");
    ck_assert_int_eq(apply(&kit.f, unit.batch), ERR_CONFLICT);
    ck_assert_int_eq(build(&unit), ERR_OK);
    expire(now + 60, KIND_JOB, "c");
    ck_assert_int_eq(apply(&kit.f, unit.batch), ERR_OK);
    ck_assert_uint_eq(due(), now + 50);
    ck_assert_uint_eq(count_rows(&kit.f, kit.space, KIND_EXPIRY), 2);
}
END_TEST

START_TEST(a_wrong_counter_is_put_right)
{
    bool more;
    expire(kit.now_ms + 500, KIND_JOB, "a");
    struct batch *batch = batch_of(&kit.f, kit.space);
    batch_set(batch, STAT_EXPIRE_DUE, 7);
    ck_assert_int_eq(apply(&kit.f, batch), ERR_OK);
    ck_assert(step(&more) && !more);
    ck_assert_uint_eq(due(), kit.now_ms + 500);
    expect_row(&kit.f, kit.space, KIND_JOB, STR("a"), STR("value"));
}
END_TEST

START_TEST(segments_are_folded_first)
{
    bool more;
    uint32_t docs[4];
    expire(kit.now_ms, KIND_JOB, "a");
    for (int i = 1; i < FOLD_SEGMENTS; i++)
        kit_say(&kit, (struct turn_input){.text = i == 20 ? STR("needle") : STR("hay")});
    ck_assert_uint_eq(kit_stat(&kit).v[STAT_SMALL_SEGMENTS], FOLD_SEGMENTS);
    struct stage_unit unit;
    ck_assert_int_eq(build(&unit), ERR_OK);
    ck_assert_int_eq(unit.stage, METRIC_H_STAGE_FOLD);
    ck_assert_int_eq(apply(&kit.f, unit.batch), ERR_OK);
    ck_assert_uint_eq(kit_stat(&kit).v[STAT_SMALL_SEGMENTS], 0);
    ck_assert_uint_eq(kit_find(&kit, "needle", docs, 4), 1);
    ck_assert_uint_eq(docs[0], 20);
    ck_assert(step(&more));
    ck_assert_uint_eq(count_rows(&kit.f, kit.space, KIND_JOB), 0);
}
END_TEST

START_TEST(damage_is_reported)
{
    struct stage_unit unit;
    expire(kit.now_ms, KIND_JOB, "a");
    kit_raw(&kit, KIND_EXPIRY, STR("short"), STR(""));
    kit.now_ms = INT64_MAX;
    ck_assert_int_eq(build(&unit), ERR_INTERNAL);
    ck_assert_ptr_null(unit.batch);
}
END_TEST

START_TEST(memory_runs_out)
{
    expire(kit.now_ms, KIND_JOB, "a");
    expire(kit.now_ms, KIND_JOB, "b");
    enum err_code rc = ERR_EXHAUSTED;
    unsigned long n = 1;
    for (; rc != ERR_OK; n++) {
        struct arena *arena = arena_new(1 << 20);
        struct err err = {.code = ERR_OK};
        struct stage_unit unit;
        struct store_txn *txn = begin(&kit.f);
        arena_fail_after(arena, n);
        const struct stage_base base = {txn, kit.space, &services, arena};
        rc = upkeep_build(&base, kit.now_ms, &unit, &err);
        store_end(txn);
        ck_assert(rc == ERR_OK || (rc == ERR_EXHAUSTED && unit.batch == NULL));
        arena_free(arena);
        ck_assert_uint_lt(n, 200);
    }
    ck_assert_uint_gt(n, 5);
}
END_TEST

Suite *suite_upkeep(void)
{
    Suite *suite = suite_create("upkeep");
    TCase *tc = tcase_create("upkeep");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, nothing_to_do);
    tcase_add_test(tc, rows_go_at_their_time);
    tcase_add_test(tc, units_are_bounded);
    tcase_add_test(tc, rows_that_come_meanwhile);
    tcase_add_test(tc, a_wrong_counter_is_put_right);
    tcase_add_test(tc, segments_are_folded_first);
    tcase_add_test(tc, damage_is_reported);
    tcase_add_test(tc, memory_runs_out);
    suite_add_tcase(suite, tc);
    return suite;
}
