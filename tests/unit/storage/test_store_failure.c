/* When writing fails: a full disk, a broken one, LMDB in panic, a batch that cannot be applied. */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "core/base/fault.h"
#include "tests/unit/storage/bad_disk.h"
#include "tests/unit/storage/fixture.h"

static struct fixture fx;
static uint64_t space;

static void setup(void)
{
    fixture_init(&fx);
    space = make_space(&fx, "s");
}

static void teardown(void)
{
    bad_disk_set(DISK_GOOD);
    fixture_fini(&fx);
}

static struct batch *put(const char *key, const char *value)
{
    struct batch *batch = batch_of(&fx, space);
    (void)batch_put(batch, KIND_TURN_ID, str_of(key), str_of(value), 0);
    return batch;
}

static enum err_code submit_now(struct batch *batch, struct err *err)
{
    struct ticket t;
    ticket_submit(&t, &fx, batch, STORE_TURNS);
    enum err_code code = ticket_wait(&t);
    *err = t.err;
    return code;
}

/* Writes are refused, reads and the old data are there. */
static void expect_reads_only(enum err_code code)
{
    struct err err;
    ck_assert_int_eq(submit_now(put("refused", "x"), &err), code);
    ck_assert_int_eq(err.code, code);
    ck_assert_int_eq(store_may_submit(fx.store, STORE_STAGES, NULL), code);
    expect_row(&fx, space, KIND_TURN_ID, STR("old"), STR("v"));
    expect_absent(&fx, space, KIND_TURN_ID, STR("new"));
}

START_TEST(full_disk_refuses_until_a_probe_succeeds)
{
    ck_assert_int_eq(apply(&fx, put("old", "v")), ERR_OK);
    bad_disk_set(DISK_DATA_FULL);
    struct err err;
    ck_assert_int_eq(apply_err(&fx, put("new", "v"), &err), ERR_STORAGE_FULL);
    ck_assert_uint_gt(err.retry_after_s, 0);
    wait_state(&fx, STORE_FULL);
    expect_reads_only(ERR_STORAGE_FULL);
    storage_probe_write(fx.store); /* in vain */
    expect_reads_only(ERR_STORAGE_FULL);
    bad_disk_set(DISK_GOOD);
    storage_probe_write(fx.store);
    wait_state(&fx, STORE_OK);
    ck_assert_int_eq(store_may_submit(fx.store, STORE_STAGES, NULL), ERR_OK);
    ck_assert_int_eq(apply(&fx, put("new", "v")), ERR_OK);
    expect_row(&fx, space, KIND_TURN_ID, STR("new"), STR("v"));
    ck_assert_uint_eq(stat_of(&fx, space).v[STAT_SEQ], 3);
}
END_TEST

START_TEST(full_disk_recovers_by_itself)
{
    ck_assert_int_eq(apply(&fx, put("old", "v")), ERR_OK);
    bad_disk_set(DISK_DATA_FULL);
    ck_assert_int_eq(apply(&fx, put("new", "v")), ERR_STORAGE_FULL);
    bad_disk_set(DISK_GOOD);
    wait_state(&fx, STORE_OK);
    ck_assert_int_eq(apply(&fx, put("new", "v")), ERR_OK);
}
END_TEST

/* A file size limit is met by a short write, which LMDB reports as EIO. */
START_TEST(file_size_limit_is_a_full_disk)
{
    ck_assert_int_eq(apply(&fx, put("old", "v")), ERR_OK);
    ck_assert(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    struct rlimit limit, old;
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &old), 0);
    limit = old;
    limit.rlim_cur = (2 << 20) + 100 * 1024 + 2048;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    char bytes[3000] = {0};
    uint32_t stored = 0;
    enum err_code code = ERR_OK;
    while (code == ERR_OK && stored < 10000) {
        struct batch *batch = batch_of(&fx, space);
        for (unsigned i = 0; i < 8; i++)
            (void)batch_put(batch, KIND_TURN, BE32(stored * 8 + i), (struct str){bytes, 3000}, 0);
        code = apply(&fx, batch);
        stored += code == ERR_OK;
    }
    ck_assert_int_eq(code, ERR_STORAGE_FULL);
    ck_assert_uint_gt(stored, 10);
    expect_reads_only(ERR_STORAGE_FULL);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &old), 0);
    storage_probe_write(fx.store);
    wait_state(&fx, STORE_OK);
    ck_assert_int_eq(apply(&fx, put("new", "v")), ERR_OK);
    ck_assert_uint_eq(count_rows(&fx, space, KIND_TURN), stored * 8);
    fixture_close(&fx);
    fixture_open(&fx);
    ck_assert_uint_eq(count_rows(&fx, space, KIND_TURN), stored * 8);
}
END_TEST

START_TEST(full_map_is_a_full_disk)
{
    ck_assert_int_eq(apply(&fx, put("old", "v")), ERR_OK);
    fixture_close(&fx);
    fx.options.map_size_bytes = 512 * 1024;
    fixture_open(&fx);
    char bytes[3000] = {0};
    uint32_t stored = 0;
    enum err_code code = ERR_OK;
    while (code == ERR_OK && stored < 1000) {
        struct batch *batch = batch_of(&fx, space);
        (void)batch_put(batch, KIND_TURN, BE32(stored), (struct str){bytes, 3000}, 0);
        code = apply(&fx, batch);
        stored += code == ERR_OK;
    }
    ck_assert_int_eq(code, ERR_STORAGE_FULL);
    expect_row(&fx, space, KIND_TURN_ID, STR("old"), STR("v"));
    ck_assert_uint_eq(count_rows(&fx, space, KIND_TURN), stored);
    fixture_close(&fx);
    fx.options.map_size_bytes = UINT64_C(1) << 30;
    fixture_open(&fx);
    ck_assert_uint_eq(count_rows(&fx, space, KIND_TURN), stored);
    ck_assert_int_eq(apply(&fx, put("new", "v")), ERR_OK);
}
END_TEST

static void expect_latched(void)
{
    wait_state(&fx, STORE_LATCHED);
    bad_disk_set(DISK_GOOD);
    expect_reads_only(ERR_UNAVAILABLE);
    storage_probe_write(fx.store); /* does not help */
    expect_reads_only(ERR_UNAVAILABLE);
    fixture_close(&fx);
    fixture_open(&fx);
    expect_row(&fx, space, KIND_TURN_ID, STR("old"), STR("v"));
    ck_assert_int_eq(apply(&fx, put("new", "v")), ERR_OK);
}

START_TEST(failed_sync_latches)
{
    ck_assert_int_eq(apply(&fx, put("old", "v")), ERR_OK);
    bad_disk_set(DISK_SYNC_EIO);
    ck_assert_int_eq(apply(&fx, put("new", "v")), ERR_UNAVAILABLE);
    expect_latched();
}
END_TEST

START_TEST(failed_write_latches)
{
    ck_assert_int_eq(apply(&fx, put("old", "v")), ERR_OK);
    bad_disk_set(DISK_DATA_EIO);
    ck_assert_int_eq(apply(&fx, put("new", "v")), ERR_UNAVAILABLE);
    expect_latched();
}
END_TEST

START_TEST(panic_moves_the_readers)
{
    ck_assert_int_eq(apply(&fx, put("old", "v")), ERR_OK);
    struct store_txn *before = begin(&fx);
    bad_disk_set(DISK_META_EIO);
    ck_assert_int_eq(apply(&fx, put("new", "v")), ERR_UNAVAILABLE);
    wait_state(&fx, STORE_LATCHED);
    struct str value;
    struct err err;
    ck_assert_int_eq(store_get(before, space, KIND_TURN_ID, STR("old"), &value, &err), ERR_OK);
    ck_assert(str_eq(value, STR("v")));
    store_end(before);
    expect_latched();
}
END_TEST

static atomic_bool fatal_called;
static void fatal(void *arg)
{
    ck_assert_ptr_eq(arg, &fx);
    atomic_store(&fatal_called, true);
}

START_TEST(unreadable_data_is_fatal)
{
    fixture_close(&fx);
    fx.options.fatal = fatal;
    fx.options.fatal_arg = &fx;
    fixture_open(&fx);
    char path[160], away[160];
    (void)snprintf(path, sizeof path, "%s/data.mdb", fx.dir);
    (void)snprintf(away, sizeof away, "%s/PROBE", fx.dir);
    ck_assert_int_eq(rename(path, away), 0);
    bad_disk_set(DISK_META_EIO);
    ck_assert_int_eq(apply(&fx, put("new", "v")), ERR_UNAVAILABLE);
    ck_assert(atomic_load(&fatal_called));
    struct store_txn *txn = NULL;
    struct err err;
    ck_assert_int_eq(store_begin(fx.store, &txn, &err), ERR_UNAVAILABLE);
}
END_TEST

/* A row so far out that its block exceeds what the writer takes: no batch of ours does that. */
static struct batch *impossible(void)
{
    struct batch *batch = batch_of(&fx, space);
    (void)batch_put(batch, KIND_TURN_ID, STR("half"), STR("x"), 0);
    (void)batch_rows(batch, KIND_COLUMN, STR("\1"), UINT32_MAX, 1, 400u << 20, STR("x"));
    return batch;
}

START_TEST(one_bad_batch_harms_no_other)
{
    enum { N = 30 };
    struct ticket t[N];
    struct batch *b[N];
    for (unsigned i = 0; i < N; i++) {
        if (i % 7 == 3) {
            b[i] = impossible();
        } else {
            b[i] = batch_of(&fx, space);
            uint32_t slot = batch_take(b[i], STAT_NEXT_TURN, 1);
            uint32_t op = batch_put(b[i], KIND_TURN, STR("...."), STR("________"), PUT_STAMP);
            batch_fix(b[i], op, FIX_KEY, 0, slot, 0);
        }
    }
    for (unsigned i = 0; i < N; i++)
        ticket_submit(&t[i], &fx, b[i], STORE_TURNS);
    uint32_t turns = 0;
    for (unsigned i = 0; i < N; i++) {
        ck_assert_int_eq(ticket_wait(&t[i]), i % 7 == 3 ? ERR_UNAVAILABLE : ERR_OK);
        if (i % 7 == 3)
            continue;
        turns++;
        ck_assert_uint_eq(b[i]->slots.at[0].value, turns);
        ck_assert_uint_eq(b[i]->seq, turns + 1);
        char record[8];
        le64_set(record, turns + 1);
        expect_row(&fx, space, KIND_TURN, BE32(turns), (struct str){record, 8});
    }
    expect_absent(&fx, space, KIND_TURN_ID, STR("half"));
    ck_assert_uint_eq(count_rows(&fx, space, KIND_TURN), turns);
    ck_assert_uint_eq(stat_of(&fx, space).v[STAT_SEQ], turns + 1);
}
END_TEST

/* Turns with enough bytes for several pages, a deletion, a purge. */
static struct batch *work(uint32_t i)
{
    char value[3000];
    memset(value, (int)i, sizeof value);
    struct batch *batch = batch_named(&fx, i % 3 == 2 ? "gone" : "kept");
    batch->drop = i % 6 == 5;
    batch->create = !batch->drop;
    batch->settings = str_copy(fx.arena, STR("        s"));
    uint32_t n = batch_take(batch, STAT_NEXT_TURN, 1);
    uint32_t op =
        batch_put(batch, KIND_TURN, STR("...."), (struct str){value, sizeof value}, PUT_STAMP);
    batch_fix(batch, op, FIX_KEY, 0, n, 0);
    batch_add(batch, STAT_TURNS, 1);
    return batch;
}

/* Opens and works until something fails; returns the turns of "kept" that were acknowledged. */
static uint32_t work_until_failure(void)
{
    enum { BATCHES = 12 };
    uint32_t kept = 0;
    struct err err;
    if (storage_open(&fx.options, &fx.log, &fx.clock, &fx.store, &err) != ERR_OK)
        return 0;
    ck_assert_int_eq(storage_start_writer(fx.store, &err), ERR_OK);
    for (uint32_t i = 0; i < BATCHES; i++) {
        enum err_code code = apply(&fx, work(i));
        if (code != ERR_OK && code != ERR_NOT_FOUND)
            break;
        kept += i % 3 != 2 && code == ERR_OK;
    }
    fixture_close(&fx);
    return kept;
}

/* What was acknowledged is there; of what was not, at most the batch at hand. */
static void expect_sound(uint32_t kept)
{
    fixture_open(&fx);
    wait_purged(&fx);
    uint64_t id = find_space(&fx, "kept");
    if (id == 0) {
        ck_assert_uint_eq(kept, 0);
    } else {
        size_t turns = count_rows(&fx, id, KIND_TURN);
        ck_assert_uint_ge(turns, kept);
        ck_assert_uint_le(turns, kept + 1);
        ck_assert_uint_eq(stat_of(&fx, id).v[STAT_TURNS], turns);
        ck_assert_uint_eq(stat_of(&fx, id).v[STAT_SEQ], turns);
        ck_assert_uint_eq(count_rows(&fx, id, KIND_LOG), turns);
    }
    ck_assert_uint_ne(make_space(&fx, "after"), 0);
}

/* The first write or sync fails, then the second, … until nothing is left to fail. */
START_TEST(every_write_fails_once)
{
    static const int errors[] = {EIO, ENOSPC};
    for (long n = 1;; n++) {
        fixture_fini(&fx);
        fixture_init_closed(&fx);
        bad_disk_fail_nth(n, errors[_i]);
        uint32_t kept = work_until_failure();
        bool failed = bad_disk_failed();
        expect_sound(kept);
        if (!failed) {
            ck_assert_int_gt(n, 30); /* there was a lot to fail */
            break;
        }
        ck_assert_int_lt(n, 1000);
    }
}
END_TEST

#ifdef HYPERMEM_FAULTS
START_TEST(fault_points_fail_as_they_say)
{
    static const struct {
        const char *plan;
        enum err_code code;
        enum store_state state;
    } rows[] = {
        {"writer.before_apply:1:eio", ERR_UNAVAILABLE, STORE_LATCHED},
        {"writer.mid_apply:1:eio", ERR_UNAVAILABLE, STORE_LATCHED},
        {"writer.before_commit:1:eio", ERR_UNAVAILABLE, STORE_LATCHED},
        {"writer.before_commit:1:enospc", ERR_STORAGE_FULL, STORE_FULL},
        {"writer.mid_apply:1:enospc", ERR_STORAGE_FULL, STORE_FULL},
    };
    ck_assert_int_eq(apply(&fx, put("old", "v")), ERR_OK);
    ck_assert(fault_plan(str_of(rows[_i].plan)));
    ck_assert_int_eq(apply(&fx, put("new", "v")), rows[_i].code);
    wait_state(&fx, rows[_i].state);
    expect_absent(&fx, space, KIND_TURN_ID, STR("new"));
    if (rows[_i].state == STORE_LATCHED)
        expect_reads_only(rows[_i].code);
}
END_TEST
#endif

Suite *suite_store_failure(void)
{
    Suite *suite = suite_create("store_failure");
    TCase *tc = tcase_create("failure");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, full_disk_refuses_until_a_probe_succeeds);
    tcase_add_test(tc, full_disk_recovers_by_itself);
    tcase_add_test(tc, file_size_limit_is_a_full_disk);
    tcase_add_test(tc, full_map_is_a_full_disk);
    tcase_add_test(tc, failed_sync_latches);
    tcase_add_test(tc, failed_write_latches);
    tcase_add_test(tc, panic_moves_the_readers);
    tcase_add_test(tc, unreadable_data_is_fatal);
    tcase_add_test(tc, one_bad_batch_harms_no_other);
    tcase_add_loop_test(tc, every_write_fails_once, 0, 2);
#ifdef HYPERMEM_FAULTS
    tcase_add_loop_test(tc, fault_points_fail_as_they_say, 0, 5);
#endif
    suite_add_tcase(suite, tc);
    return suite;
}
