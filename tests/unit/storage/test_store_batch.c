/* What one batch does: every operation, precondition, slot and fix, and that a refusal leaves
 * nothing. */
#include "core/log_row.h"
#include "tests/unit/storage/fixture.h"

static struct fixture fx;
static uint64_t space;

static void setup(void)
{
    fixture_init(&fx);
    space = make_space(&fx, "alice");
}

static void teardown(void)
{
    fixture_fini(&fx);
}

START_TEST(create_gives_ids_counters_and_settings)
{
    ck_assert_uint_eq(space, 1);
    ck_assert_uint_eq(make_space(&fx, "bob"), 2);
    ck_assert_uint_eq(find_space(&fx, "alice"), 1);
    ck_assert_uint_eq(find_space(&fx, "alic"), 0);
    struct space_stat stat = stat_of(&fx, space);
    ck_assert_uint_eq(stat.v[STAT_SEQ], 1);
    ck_assert_uint_eq(stat.v[STAT_PROCESSED], 1);
    ck_assert_uint_eq(stat.v[STAT_NEXT_TURN], 1);
    ck_assert_uint_eq(stat.v[STAT_NEXT_SPEAKER], 1);
    ck_assert_uint_eq(stat.v[STAT_NEXT_DOC_TURN], 0);
    ck_assert_uint_ne(stat.v[STAT_CREATED], 0);
    expect_row(&fx, space, KIND_META, STR(""), STR("\1\0\0\0\0\0\0\0settings of alice"));
}
END_TEST

START_TEST(create_joins_unless_it_must_be_new)
{
    struct batch *batch = batch_named(&fx, "alice");
    batch->create = true;
    batch->settings = STR("        other");
    ck_assert_int_eq(apply(&fx, batch), ERR_OK);
    ck_assert_uint_eq(batch->space, space);
    ck_assert_uint_eq(batch->seq, 2);
    batch = batch_named(&fx, "alice");
    batch->create_only = true;
    batch->settings = STR("        other");
    ck_assert_int_eq(apply(&fx, batch), ERR_CONFLICT);
    ck_assert_int_eq(apply(&fx, batch_named(&fx, "nobody")), ERR_NOT_FOUND);
    ck_assert_int_eq(apply(&fx, batch_of(&fx, 77)), ERR_NOT_FOUND);
}
END_TEST

START_TEST(put_del_and_empty_values)
{
    struct batch *batch = batch_of(&fx, space);
    (void)batch_put(batch, KIND_TURN_ID, STR("a"), STR("one"), 0);
    (void)batch_put(batch, KIND_TURN_ID, STR("ab"), STR(""), 0);
    (void)batch_put(batch, KIND_TURN_ID, STR("a\0b"), STR("nul"), 0);
    ck_assert_int_eq(apply(&fx, batch), ERR_OK);
    expect_row(&fx, space, KIND_TURN_ID, STR("a"), STR("one"));
    expect_row(&fx, space, KIND_TURN_ID, STR("ab"), STR(""));
    expect_row(&fx, space, KIND_TURN_ID, STR("a\0b"), STR("nul"));
    expect_absent(&fx, space, KIND_TURN_ID, STR("abc"));
    expect_absent(&fx, space, KIND_SESSION, STR("a"));
    batch = batch_of(&fx, space);
    (void)batch_del(batch, KIND_TURN_ID, STR("a"), 0);
    (void)batch_del(batch, KIND_TURN_ID, STR("never there"), 0);
    ck_assert_int_eq(apply(&fx, batch), ERR_OK);
    expect_absent(&fx, space, KIND_TURN_ID, STR("a"));
    ck_assert_uint_eq(count_rows(&fx, space, KIND_TURN_ID), 2);
}
END_TEST

START_TEST(operations_apply_in_order)
{
    struct batch *batch = batch_of(&fx, space);
    (void)batch_put(batch, KIND_TURN_ID, STR("k"), STR("1"), 0);
    (void)batch_del(batch, KIND_TURN_ID, STR("k"), 0);
    (void)batch_put(batch, KIND_TURN_ID, STR("k"), STR("2"), 0);
    (void)batch_put(batch, KIND_TURN_ID, STR("l"), STR("1"), 0);
    (void)batch_del(batch, KIND_TURN_ID, STR("l"), 0);
    ck_assert_int_eq(apply(&fx, batch), ERR_OK);
    expect_row(&fx, space, KIND_TURN_ID, STR("k"), STR("2"));
    expect_absent(&fx, space, KIND_TURN_ID, STR("l"));
}
END_TEST

START_TEST(stamp_and_keep)
{
    struct batch *batch = batch_of(&fx, space);
    (void)batch_put_u32(batch, KIND_TOPIC, 7, STR("        first"), PUT_STAMP | PUT_KEEP);
    ck_assert_int_eq(apply(&fx, batch), ERR_OK);
    expect_row(&fx, space, KIND_TOPIC, BE32(7), STR("\2\0\0\0\0\0\0\0first"));
    ck_assert_uint_eq(count_rows(&fx, space, KIND_HISTORY), 0);

    /* Replaced twice in one batch: only what somebody could have seen is kept. */
    batch = batch_of(&fx, space);
    (void)batch_put_u32(batch, KIND_TOPIC, 7, STR("        second"), PUT_STAMP | PUT_KEEP);
    (void)batch_put_u32(batch, KIND_TOPIC, 7, STR("        third"), PUT_STAMP | PUT_KEEP);
    ck_assert_int_eq(apply(&fx, batch), ERR_OK);
    batch = batch_of(&fx, space);
    (void)batch_del_u32(batch, KIND_TOPIC, 7, PUT_KEEP);
    ck_assert_int_eq(apply(&fx, batch), ERR_OK);
    expect_absent(&fx, space, KIND_TOPIC, BE32(7));
    ck_assert_uint_eq(count_rows(&fx, space, KIND_HISTORY), 2);
    expect_row(&fx, space, KIND_HISTORY, STR("c\0\0\0\7\0\0\0\0\0\0\0\2"),
               STR("\2\0\0\0\0\0\0\0first"));
    expect_row(&fx, space, KIND_HISTORY, STR("c\0\0\0\7\0\0\0\0\0\0\0\3"),
               STR("\3\0\0\0\0\0\0\0third"));
}
END_TEST

START_TEST(rows_fill_blocks_and_gaps)
{
    struct batch *batch = batch_of(&fx, space);
    /* Rows 3..6 of two bytes, four rows a block: the end of block 0, the start of block 1. */
    (void)batch_rows(batch, KIND_COLUMN, STR("\5"), 4, 2, 3, STR("AABBCCDD"));
    ck_assert_int_eq(apply(&fx, batch), ERR_OK);
    expect_row(&fx, space, KIND_COLUMN, STR("\5\0\0\0\0"), STR("\0\0\0\0\0\0AA"));
    expect_row(&fx, space, KIND_COLUMN, STR("\5\0\0\0\1"), STR("BBCCDD"));
    batch = batch_of(&fx, space);
    (void)batch_rows(batch, KIND_COLUMN, STR("\5"), 4, 2, 1, STR("xx"));
    (void)batch_rows(batch, KIND_COLUMN, STR("\5"), 4, 2, 5, STR("yy"));
    (void)batch_rows(batch, KIND_COLUMN, STR("\5"), 4, 2, 13, STR("zz"));
    ck_assert_int_eq(apply(&fx, batch), ERR_OK);
    expect_row(&fx, space, KIND_COLUMN, STR("\5\0\0\0\0"), STR("\0\0xx\0\0AA"));
    expect_row(&fx, space, KIND_COLUMN, STR("\5\0\0\0\1"), STR("BByyDD"));
    expect_row(&fx, space, KIND_COLUMN, STR("\5\0\0\0\3"), STR("\0\0zz"));
    expect_absent(&fx, space, KIND_COLUMN, STR("\5\0\0\0\2"));
}
END_TEST

START_TEST(counters)
{
    struct batch *batch = batch_of(&fx, space);
    batch_add(batch, STAT_TURNS, 5);
    batch_add(batch, STAT_TURNS, -2);
    batch_set(batch, STAT_LAST_ARRIVAL, 99);
    batch_min(batch, STAT_IDLE_DUE, 70);
    batch_min(batch, STAT_IDLE_DUE, 60);
    batch_min(batch, STAT_IDLE_DUE, 80);
    batch_min(batch, STAT_IDLE_DUE, 0);
    ck_assert_int_eq(apply(&fx, batch), ERR_OK);
    struct space_stat stat = stat_of(&fx, space);
    ck_assert_uint_eq(stat.v[STAT_TURNS], 3);
    ck_assert_uint_eq(stat.v[STAT_LAST_ARRIVAL], 99);
    ck_assert_uint_eq(stat.v[STAT_IDLE_DUE], 60);
    ck_assert_mem_eq(&stat, &batch->stat, sizeof stat);
    /* A counter that would fall below zero refuses the batch; nothing of it stays. */
    batch = batch_of(&fx, space);
    batch_add(batch, STAT_OPEN, 1);
    batch_add(batch, STAT_TURNS, -4);
    ck_assert_int_eq(apply(&fx, batch), ERR_INTERNAL);
    struct space_stat after = stat_of(&fx, space);
    ck_assert_mem_eq(&stat, &after, sizeof stat);
}
END_TEST

START_TEST(needs)
{
    struct batch *batch = batch_of(&fx, space);
    batch_need_absent(batch, KIND_TURN_ID, STR("id"));
    batch_need_stat(batch, STAT_SEQ, 1);
    (void)batch_put(batch, KIND_TURN_ID, STR("id"), STR("        v"), PUT_STAMP);
    ck_assert_int_eq(apply(&fx, batch), ERR_OK);

    batch = batch_of(&fx, space);
    batch_need_absent(batch, KIND_TURN_ID, STR("id"));
    (void)batch_put(batch, KIND_SESSION, STR("s"), STR("x"), 0);
    struct err err;
    ck_assert_int_eq(apply_err(&fx, batch, &err), ERR_CONFLICT);
    ck_assert_int_eq(err.code, ERR_CONFLICT);
    ck_assert_str_ne(err.message, "");

    static const struct {
        uint64_t version;
        enum err_code code;
    } versions[] = {{1, ERR_CONFLICT}, {2, ERR_OK}, {3, ERR_CONFLICT}};
    for (size_t i = 0; i < 3; i++) {
        batch = batch_of(&fx, space);
        batch_need_version(batch, KIND_TURN_ID, STR("id"), versions[i].version);
        ck_assert_int_eq(apply(&fx, batch), versions[i].code);
    }
    batch = batch_of(&fx, space);
    batch_need_version(batch, KIND_TURN_ID, STR("no such key"), 0);
    ck_assert_int_eq(apply(&fx, batch), ERR_CONFLICT);
    batch = batch_of(&fx, space);
    batch_need_stat(batch, STAT_SEQ, 2);
    ck_assert_int_eq(apply(&fx, batch), ERR_CONFLICT);
    expect_absent(&fx, space, KIND_SESSION, STR("s"));
    ck_assert_uint_eq(stat_of(&fx, space).v[STAT_SEQ], 3);
    ck_assert_uint_eq(count_rows(&fx, space, KIND_LOG), 3);
}
END_TEST

START_TEST(refused_creation_leaves_no_space)
{
    struct batch *batch = batch_named(&fx, "new");
    batch->create = true;
    batch->settings = str_copy(fx.arena, STR("        s"));
    batch_need_stat(batch, STAT_TURNS, 4);
    ck_assert_int_eq(apply(&fx, batch), ERR_CONFLICT);
    ck_assert_uint_eq(find_space(&fx, "new"), 0);
    ck_assert_uint_eq(make_space(&fx, "later"), 2);
}
END_TEST

START_TEST(slots_take_and_intern)
{
    struct batch *batch = batch_of(&fx, space);
    uint32_t turns = batch_take(batch, STAT_NEXT_TURN, 3);
    uint32_t one = batch_intern(batch, KIND_SESSION, STR("one"), STAT_NEXT_SESSION);
    uint32_t two = batch_intern(batch, KIND_SESSION, STR("two"), STAT_NEXT_SESSION);
    ck_assert_uint_eq(batch_intern(batch, KIND_SESSION, STR("one"), STAT_NEXT_SESSION), one);
    ck_assert_int_eq(apply(&fx, batch), ERR_OK);
    ck_assert_uint_eq(batch->slots.at[turns].value, 1);
    ck_assert_uint_eq(batch->slots.at[one].value, 1);
    ck_assert_uint_eq(batch->slots.at[two].value, 2);

    batch = batch_of(&fx, space);
    turns = batch_take(batch, STAT_NEXT_TURN, 1);
    uint32_t three = batch_intern(batch, KIND_SESSION, STR("three"), STAT_NEXT_SESSION);
    two = batch_intern(batch, KIND_SESSION, STR("two"), STAT_NEXT_SESSION);
    ck_assert_int_eq(apply(&fx, batch), ERR_OK);
    ck_assert_uint_eq(batch->slots.at[turns].value, 4);
    ck_assert_uint_eq(batch->slots.at[three].value, 3);
    ck_assert_uint_eq(batch->slots.at[two].value, 2);
    expect_row(&fx, space, KIND_SESSION, STR("two"), STR("\2\0\0\0"));
    expect_row(&fx, space, KIND_SESSION, STR("three"), STR("\3\0\0\0"));
    struct space_stat stat = stat_of(&fx, space);
    ck_assert_uint_eq(stat.v[STAT_NEXT_TURN], 5);
    ck_assert_uint_eq(stat.v[STAT_NEXT_SESSION], 4);
}
END_TEST

START_TEST(a_damaged_row_refuses_its_batch_alone)
{
    struct batch *batch = batch_of(&fx, space);
    (void)batch_put(batch, KIND_SESSION, STR("bad"), STR("not a number"), 0);
    ck_assert_int_eq(apply(&fx, batch), ERR_OK);
    batch = batch_of(&fx, space);
    (void)batch_intern(batch, KIND_SESSION, STR("bad"), STAT_NEXT_SESSION);
    struct err err;
    ck_assert_int_eq(apply_err(&fx, batch, &err), ERR_INTERNAL);
    ck_assert_ptr_nonnull(strstr(err.message, "damaged"));
    ck_assert_int_eq(apply(&fx, batch_of(&fx, space)), ERR_OK);
    ck_assert_uint_eq(stat_of(&fx, space).v[STAT_NEXT_SESSION], 1);
}
END_TEST

START_TEST(numbers_run_out)
{
    struct batch *batch = batch_of(&fx, space);
    batch_set(batch, STAT_NEXT_TURN, UINT32_MAX - 1);
    ck_assert_int_eq(apply(&fx, batch), ERR_OK);
    batch = batch_of(&fx, space);
    (void)batch_take(batch, STAT_NEXT_TURN, 2);
    ck_assert_int_eq(apply(&fx, batch), ERR_EXHAUSTED);
    batch = batch_of(&fx, space);
    (void)batch_take(batch, STAT_NEXT_TURN, 1);
    ck_assert_int_eq(apply(&fx, batch), ERR_OK);
}
END_TEST

START_TEST(fixes)
{
    struct batch *batch = batch_of(&fx, space);
    batch_set(batch, STAT_NEXT_DOC_TURN, 6);
    ck_assert_int_eq(apply(&fx, batch), ERR_OK);

    batch = batch_of(&fx, space);
    uint32_t turn = batch_take(batch, STAT_NEXT_TURN, 2);
    uint32_t doc = batch_take(batch, STAT_NEXT_DOC_TURN, 2);
    uint32_t name = batch_intern(batch, KIND_SPEAKER, STR("ann"), STAT_NEXT_SPEAKER);
    uint32_t op = batch_put(batch, KIND_TURN, STR("...."), STR("________DDDDSSSS"), PUT_STAMP);
    batch_fix(batch, op, FIX_KEY, 0, turn, 1);
    batch_fix(batch, op, FIX_VALUE, 8, doc, 1);
    batch_fix(batch, op, FIX_VALUE, 12, name, 0);
    op = batch_put(batch, KIND_SEGMENT, STR("ssssssss\0\0"), STR("vvvvvvvv!"), 0);
    batch_fix(batch, op, FIX_KEY, 0, SLOT_SEQ, 0);
    batch_fix(batch, op, FIX_VALUE, 0, SLOT_SEQ, 0);
    op = batch_rows(batch, KIND_LENGTH, STR("\0"), 4, 1, 99, STR("ab"));
    batch_fix(batch, op, FIX_ROW, 0, doc, 0);
    ck_assert_int_eq(apply(&fx, batch), ERR_OK);
    expect_row(&fx, space, KIND_TURN, BE32(2), STR("\3\0\0\0\0\0\0\0\7\0\0\0\1\0\0\0"));
    expect_row(&fx, space, KIND_SEGMENT, STR("\0\0\0\0\0\0\0\3\0\0"), STR("\3\0\0\0\0\0\0\0!"));
    expect_row(&fx, space, KIND_LENGTH, STR("\0\0\0\0\1"), STR("\0\0ab"));
}
END_TEST

START_TEST(log_row_tells_what_changed)
{
    struct batch *batch = batch_of(&fx, space);
    batch->cause = CAUSE_STAGE;
    uint32_t facts = batch_take(batch, STAT_NEXT_FACT, 5);
    batch_log(batch, CHANGE_ADD, KIND_FACT, facts, 0, 5);
    batch_log(batch, CHANGE_DEL, KIND_TURN, UINT32_MAX, 12, 1);
    ck_assert_int_eq(apply(&fx, batch), ERR_OK);
    struct store_txn *txn = begin(&fx);
    struct str value;
    struct err err;
    ck_assert_int_eq(store_get(txn, space, KIND_LOG, STR("\0\0\0\0\0\0\0\2"), &value, &err), 0);
    struct log_row row;
    struct log_row_line line;
    ck_assert(log_row_decode(value, &row));
    ck_assert_uint_eq(row.cause, CAUSE_STAGE);
    ck_assert(row.time_ms > 0);
    ck_assert(log_row_next(&row, &line));
    ck_assert_int_eq(line.change, '+');
    ck_assert_int_eq(line.kind, KIND_FACT);
    ck_assert_uint_eq(line.first, 1);
    ck_assert_uint_eq(line.count, 5);
    ck_assert(log_row_next(&row, &line));
    ck_assert_int_eq(line.change, '-');
    ck_assert_uint_eq(line.first, 12);
    ck_assert(!log_row_next(&row, &line));
    ck_assert(unpack_done(&row.rest));
    ck_assert(!log_row_decode(str_part(value, 0, 3), &row));
    store_end(txn);
}
END_TEST

START_TEST(maintenance_has_no_seq)
{
    struct batch *batch = batch_new(fx.arena, space, CAUSE_KEEP);
    (void)batch_put(batch, KIND_TURN_ID, STR("k"), STR("v"), 0);
    batch_set(batch, STAT_SMALL_SEGMENTS, FOLD_SEGMENTS);
    ck_assert_int_eq(apply(&fx, batch), ERR_OK);
    struct space_stat stat = stat_of(&fx, space);
    ck_assert_uint_eq(stat.v[STAT_SEQ], 1);
    ck_assert_uint_eq(stat.v[STAT_DUE], 1);
    ck_assert_uint_eq(count_rows(&fx, space, KIND_LOG), 1);
    expect_row(&fx, space, KIND_TURN_ID, STR("k"), STR("v"));
}
END_TEST

START_TEST(processed_follows_what_is_pending)
{
    struct batch *batch = batch_of(&fx, space);
    batch_add(batch, STAT_PENDING, 2);
    ck_assert_int_eq(apply(&fx, batch), ERR_OK); /* seq 2 */
    ck_assert_uint_eq(batch->stat.v[STAT_PROCESSED], 1);
    ck_assert_int_eq(apply(&fx, batch_of(&fx, space)), ERR_OK); /* seq 3 */
    batch = batch_of(&fx, space);
    batch->processed = 2;
    batch_add(batch, STAT_PENDING, -1);
    ck_assert_int_eq(apply(&fx, batch), ERR_OK);
    ck_assert_uint_eq(batch->stat.v[STAT_PROCESSED], 2);
    batch = batch_of(&fx, space);
    batch->processed = 1; /* never falls */
    ck_assert_int_eq(apply(&fx, batch), ERR_OK);
    ck_assert_uint_eq(batch->stat.v[STAT_PROCESSED], 2);
    batch = batch_of(&fx, space);
    batch_add(batch, STAT_PENDING, -1);
    ck_assert_int_eq(apply(&fx, batch), ERR_OK);
    ck_assert_uint_eq(batch->stat.v[STAT_PROCESSED], batch->seq);
}
END_TEST

static void expect_due(uint64_t due_ms)
{
    struct store_txn *txn = begin(&fx);
    uint64_t ms = 0, id = 0;
    struct err err;
    ck_assert_int_eq(storage_due_next(txn, 0, 0, &ms, &id, &err), ERR_OK);
    if (due_ms == UINT64_MAX) {
        ck_assert_uint_eq(id, 0);
    } else {
        ck_assert_uint_eq(id, space);
        ck_assert_uint_eq(ms, due_ms);
    }
    store_end(txn);
    ck_assert_uint_eq(count_rows(&fx, 0, KIND_DUE), due_ms != UINT64_MAX);
    ck_assert_uint_eq(stat_of(&fx, space).v[STAT_DUE], due_ms == UINT64_MAX ? 0 : due_ms + 1);
}

static void set(enum stat_id counter, uint64_t value)
{
    struct batch *batch = batch_of(&fx, space);
    batch_set(batch, counter, value);
    ck_assert_int_eq(apply(&fx, batch), ERR_OK);
}

START_TEST(due_row_follows_the_counters)
{
    expect_due(UINT64_MAX);
    set(STAT_IDLE_DUE, 5000);
    expect_due(5000);
    set(STAT_EXPIRE_DUE, 6000);
    expect_due(5000);
    set(STAT_EXPIRE_DUE, 4000);
    expect_due(4000);
    set(STAT_FLUSHES, 1);
    expect_due(0);
    set(STAT_FLUSHES, 0);
    set(STAT_UNFINISHED, 1); /* waits for a model, which has a time of its own */
    expect_due(4000);
    set(STAT_UNFINISHED, 0);
    set(STAT_WORK_DUE, 3000);
    expect_due(3000);
    set(STAT_WORK_DUE, 0);
    expect_due(4000);
    set(STAT_IDLE_DUE, 0);
    set(STAT_EXPIRE_DUE, 0);
    expect_due(UINT64_MAX);
    set(STAT_SMALL_SEGMENTS, FOLD_SEGMENTS - 1);
    expect_due(UINT64_MAX);
    set(STAT_SMALL_SEGMENTS, FOLD_SEGMENTS);
    expect_due(0);
}
END_TEST

START_TEST(expiry_rows)
{
    struct batch *batch = batch_of(&fx, space);
    batch_expire(batch, 9000, KIND_IDEMPOTENCY, STR("0123456789abcdef"));
    batch_expire(batch, 8000, KIND_JOB, STR("jjjjjjjj"));
    ck_assert_int_eq(apply(&fx, batch), ERR_OK);
    expect_due(8000);
    expect_row(&fx, space, KIND_EXPIRY, STR("\0\0\0\0\0\0\x1f\x40jjjjjjjjj"), STR(""));
}
END_TEST

/* The same batch object applied again after its group failed would fix anew: each fix must depend
 * on the slots only. */
START_TEST(fixing_twice_is_fixing_once)
{
    struct batch *batch = batch_of(&fx, space);
    uint32_t turn = batch_take(batch, STAT_NEXT_TURN, 1);
    uint32_t op = batch_put(batch, KIND_TURN, STR("...."), STR("________"), PUT_STAMP);
    batch_fix(batch, op, FIX_KEY, 0, turn, 0);
    op = batch_rows(batch, KIND_LENGTH, STR("\0"), 4, 1, 0, STR("z"));
    batch_fix(batch, op, FIX_ROW, 0, turn, 0);
    ck_assert_int_eq(apply(&fx, batch), ERR_OK);
    ck_assert_int_eq(apply(&fx, batch), ERR_OK);
    expect_row(&fx, space, KIND_TURN, BE32(1), STR("\2\0\0\0\0\0\0\0"));
    expect_row(&fx, space, KIND_TURN, BE32(2), STR("\3\0\0\0\0\0\0\0"));
    expect_row(&fx, space, KIND_LENGTH, STR("\0\0\0\0\0"), STR("\0zz"));
}
END_TEST

Suite *suite_store_batch(void)
{
    Suite *suite = suite_create("store_batch");
    TCase *tc = tcase_create("batch");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, create_gives_ids_counters_and_settings);
    tcase_add_test(tc, create_joins_unless_it_must_be_new);
    tcase_add_test(tc, put_del_and_empty_values);
    tcase_add_test(tc, operations_apply_in_order);
    tcase_add_test(tc, stamp_and_keep);
    tcase_add_test(tc, rows_fill_blocks_and_gaps);
    tcase_add_test(tc, counters);
    tcase_add_test(tc, needs);
    tcase_add_test(tc, refused_creation_leaves_no_space);
    tcase_add_test(tc, slots_take_and_intern);
    tcase_add_test(tc, a_damaged_row_refuses_its_batch_alone);
    tcase_add_test(tc, numbers_run_out);
    tcase_add_test(tc, fixes);
    tcase_add_test(tc, log_row_tells_what_changed);
    tcase_add_test(tc, maintenance_has_no_seq);
    tcase_add_test(tc, processed_follows_what_is_pending);
    tcase_add_test(tc, due_row_follows_the_counters);
    tcase_add_test(tc, expiry_rows);
    tcase_add_test(tc, fixing_twice_is_fixing_once);
    suite_add_tcase(suite, tc);
    return suite;
}
