#include "core/base/limits.h"
#include "core/ingest/job.h"
#include "tests/unit/ingest/kit.h"

static struct kit kit;

static void setup(void)
{
    kit_init(&kit);
    kit_say(&kit, (struct turn_input){.text = STR("one")});
    kit_say(&kit, (struct turn_input){.text = STR("two")});
}

static void teardown(void)
{
    kit_fini(&kit);
}

static struct job get(uint64_t seq, enum err_code expected)
{
    struct job job;
    struct err err = {.code = ERR_OK};
    struct store_txn *txn = begin(&kit.f);
    ck_assert_int_eq(job_get(txn, kit.space, seq, &job, &err), expected);
    ck_assert_int_eq(err.code, expected);
    /* Borrowed: only for asserting on what the fixture keeps mapped. */
    if (expected == ERR_OK) {
        job.session = job.session.at != NULL ? str_copy(kit_arena(&kit), job.session) : STR_NONE;
        job.error = str_copy(kit_arena(&kit), job.error);
    }
    store_end(txn);
    return job;
}

static enum err_code build(struct str session, struct batch **batch)
{
    struct err err = {.code = ERR_OK};
    struct store_txn *txn = begin(&kit.f);
    enum err_code rc =
        flush_build(txn, kit.space, session, kit.now_ms, kit_arena(&kit), batch, &err);
    store_end(txn);
    ck_assert_int_eq(rc, err.code);
    return rc;
}

static uint64_t flush(struct str session)
{
    struct batch *batch;
    ck_assert_int_eq(build(session, &batch), ERR_OK);
    ck_assert_int_eq(apply(&kit.f, batch), ERR_OK);
    return batch->seq;
}

static struct job first(void)
{
    struct job job;
    struct err err;
    struct store_txn *txn = begin(&kit.f);
    ck_assert_int_eq(flush_first(txn, kit.space, &job, &err), ERR_OK);
    job.session = job.session.at != NULL ? str_copy(kit_arena(&kit), job.session) : STR_NONE;
    store_end(txn);
    return job;
}

static void complete(const struct job *job, uint32_t closed)
{
    struct batch *batch = batch_new(kit_arena(&kit), kit.space, CAUSE_STAGE);
    flush_complete(batch, job, closed, kit.now_ms + 7);
    ck_assert_int_eq(apply(&kit.f, batch), ERR_OK);
}

START_TEST(slugs_of_kinds_and_states)
{
    ck_assert_str_eq(job_kind_slug(JOB_TURNS), "turns");
    ck_assert_str_eq(job_kind_slug(JOB_FLUSH), "flush");
    static const char *const slugs[] = {"pending",   "running", "waiting",
                                        "completed", "failed",  "cancelled"};
    for (unsigned i = 0; i <= JOB_CANCELLED; i++)
        ck_assert_str_eq(job_state_slug((uint8_t)i), slugs[i]);
}
END_TEST

START_TEST(record_comes_back)
{
    struct job job = {.seq = 9,
                      .kind = JOB_FLUSH,
                      .state = JOB_FAILED,
                      .degraded = true,
                      .all_sessions = true,
                      .created_ms = 1,
                      .updated_ms = INT64_MAX,
                      .after_n = 7,
                      .closed = 3,
                      .session = STR("s\0x"),
                      .error = STR("why")};
    struct buf row;
    struct job back;
    struct err err;
    buf_init(&row, kit_arena(&kit), 1024);
    job_encode(&job, &row);
    ck_assert_uint_eq(le32_get(row.at + JOB_AFTER_AT), 7);
    ck_assert_int_eq(job_decode(buf_str(&row), 9, &back, &err), ERR_OK);
    ck_assert(back.seq == 9 && back.kind == JOB_FLUSH && back.state == JOB_FAILED);
    ck_assert(back.degraded && back.all_sessions && back.after_n == 7 && back.closed == 3);
    ck_assert(back.created_ms == 1 && back.updated_ms == INT64_MAX);
    ck_assert(str_eq(back.session, job.session) && str_eq(back.error, job.error));
    for (size_t len = 0; len < row.len; len++)
        ck_assert_int_eq(job_decode((struct str){row.at, len}, 9, &back, &err), ERR_INTERNAL);
    for (size_t i = 0; i < 3; i++) {
        char was = row.at[i];
        row.at[i] = 99;
        ck_assert_int_eq(job_decode(buf_str(&row), 9, &back, &err), ERR_INTERNAL);
        row.at[i] = was;
    }
}
END_TEST

START_TEST(job_of_a_post)
{
    struct job job = get(1, ERR_OK);
    ck_assert(job.seq == 1 && job.kind == JOB_TURNS && job.state == JOB_PENDING);
    ck_assert_int_gt(job.created_ms, 0);
    struct batch *batch = batch_new(kit_arena(&kit), kit.space, CAUSE_STAGE);
    batch_add(batch, STAT_PENDING, -1);
    batch->processed = 1;
    ck_assert_int_eq(apply(&kit.f, batch), ERR_OK);
    ck_assert_int_eq(get(1, ERR_OK).state, JOB_COMPLETED);
    ck_assert_int_eq(get(2, ERR_OK).state, JOB_PENDING);
    /* Not every batch is a job, nor is one that never was. */
    ck_assert_uint_eq(batch->seq, 3);
    (void)get(3, ERR_NOT_FOUND);
    (void)get(0, ERR_NOT_FOUND);
    (void)get(99, ERR_NOT_FOUND);
    kit.space += 1000;
    (void)get(1, ERR_NOT_FOUND);
}
END_TEST

START_TEST(flush_is_ordered_after_turns)
{
    struct batch *batch;
    ck_assert_int_eq(build(STR_NONE, &batch), ERR_OK);
    /* Taken after the snapshot, applied before the flush. */
    kit_say(&kit, (struct turn_input){.text = STR("three")});
    ck_assert_int_eq(apply(&kit.f, batch), ERR_OK);
    kit_say(&kit, (struct turn_input){.text = STR("four")});
    ck_assert_uint_eq(batch->seq, 4);
    ck_assert_uint_eq(kit_stat(&kit).v[STAT_NEXT_TURN], 5);
    struct job job = get(4, ERR_OK);
    ck_assert(job.kind == JOB_FLUSH && job.state == JOB_PENDING && job.all_sessions);
    ck_assert(job.after_n == 3 && job.created_ms == kit.now_ms);
    struct job next = first();
    ck_assert(next.seq == 4 && next.after_n == 3);
    ck_assert_uint_eq(kit_stat(&kit).v[STAT_FLUSHES], 1);
    char key[8];
    be64_set(key, 4);
    expect_row(&kit.f, kit.space, KIND_FLUSH, (struct str){key, 8}, STR("\3\0\0\0"));
}
END_TEST

START_TEST(flushes_end_in_order)
{
    ck_assert_uint_eq(first().seq, 0);
    uint64_t a = flush(STR("work"));
    uint64_t b = flush(STR(""));
    ck_assert_uint_eq(kit_stat(&kit).v[STAT_FLUSHES], 2);
    struct job job = first();
    ck_assert(job.seq == a && !job.all_sessions && str_eq(job.session, STR("work")));
    complete(&job, 2);
    struct job done = get(a, ERR_OK);
    ck_assert(done.state == JOB_COMPLETED && done.closed == 2);
    ck_assert(done.created_ms == kit.now_ms && done.updated_ms == kit.now_ms + 7);
    ck_assert(str_eq(done.session, STR("work")) && done.after_n == 2);
    job = first();
    ck_assert(job.seq == b && !job.all_sessions && str_eq(job.session, STR("")));
    complete(&job, 0);
    ck_assert_uint_eq(first().seq, 0);
    struct space_stat stat = kit_stat(&kit);
    ck_assert_uint_eq(stat.v[STAT_FLUSHES], 0);
    ck_assert_uint_eq(stat.v[STAT_EXPIRE_DUE], kit.now_ms + 7 + JOB_KEEP_MS);
    ck_assert_uint_eq(count_rows(&kit.f, kit.space, KIND_EXPIRY), 2);
    ck_assert_uint_eq(count_rows(&kit.f, kit.space, KIND_FLUSH), 0);
}
END_TEST

START_TEST(refusals)
{
    struct batch *batch;
    ck_assert_int_eq(build(kit_text(&kit, 'a', LIMIT_SESSION_BYTES), &batch), ERR_OK);
    ck_assert_int_eq(build(kit_text(&kit, 'a', LIMIT_SESSION_BYTES + 1), &batch), ERR_INVALID);
    ck_assert_ptr_null(batch);
    ck_assert_int_eq(build(STR("\xff"), &batch), ERR_INVALID);
    kit.space += 1000;
    ck_assert_int_eq(build(STR_NONE, &batch), ERR_NOT_FOUND);
}
END_TEST

START_TEST(damage)
{
    uint64_t seq = flush(STR_NONE);
    char key[8];
    be64_set(key, seq);
    kit_raw(&kit, KIND_JOB, (struct str){key, 8}, STR("no job"));
    (void)get(seq, ERR_INTERNAL);
    struct job job;
    struct err err;
    struct store_txn *txn = begin(&kit.f);
    ck_assert_int_eq(flush_first(txn, kit.space, &job, &err), ERR_INTERNAL);
    store_end(txn);
    kit_raw(&kit, KIND_FLUSH, STR("x"), STR(""));
    txn = begin(&kit.f);
    ck_assert_int_eq(flush_first(txn, kit.space, &job, &err), ERR_INTERNAL);
    store_end(txn);
}
END_TEST

START_TEST(memory_runs_out)
{
    enum err_code rc = ERR_EXHAUSTED;
    unsigned long n = 1;
    for (; rc != ERR_OK; n++) {
        struct arena *arena = arena_new(1 << 20);
        struct err err = {.code = ERR_OK};
        struct batch *batch;
        struct store_txn *txn = begin(&kit.f);
        arena_fail_after(arena, n);
        rc = flush_build(txn, kit.space, STR("work"), kit.now_ms, arena, &batch, &err);
        store_end(txn);
        ck_assert(rc == ERR_OK || (rc == ERR_EXHAUSTED && batch == NULL));
        arena_free(arena);
        ck_assert_uint_lt(n, 200);
    }
    ck_assert_uint_gt(n, 5);
}
END_TEST

Suite *suite_job(void)
{
    Suite *suite = suite_create("job");
    TCase *tc = tcase_create("job");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, slugs_of_kinds_and_states);
    tcase_add_test(tc, record_comes_back);
    tcase_add_test(tc, job_of_a_post);
    tcase_add_test(tc, flush_is_ordered_after_turns);
    tcase_add_test(tc, flushes_end_in_order);
    tcase_add_test(tc, refusals);
    tcase_add_test(tc, damage);
    tcase_add_test(tc, memory_runs_out);
    suite_add_tcase(suite, tc);
    return suite;
}
