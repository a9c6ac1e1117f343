/* Backup and restore. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "storage/backup.h"
#include "storage/check.h"
#include "tests/unit/storage/world.h"

static struct fixture fx;
static struct world w;
static char to[160], back[160];

static void setup(void)
{
    fixture_init(&fx);
    world_build(&w, &fx, "w", 0);
    (void)snprintf(to, sizeof to, "%s.copy", fx.dir);
    (void)snprintf(back, sizeof back, "%s.back", fx.dir);
}

static void remove_dir(const char *dir)
{
    static const char *const names[] = {"data.mdb", "lock.mdb", "LOCK", "data.mdb.part", "other"};
    for (size_t i = 0; i < 5; i++) {
        char path[200];
        (void)snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        (void)unlink(path);
    }
    (void)rmdir(dir);
}

static void teardown(void)
{
    fixture_fini(&fx);
    remove_dir(to);
    remove_dir(back);
}

static void quiet(const char *text, void *arg)
{
    (void)text;
    (void)arg;
}
static const struct check_sink nowhere = {quiet, NULL};

static enum err_code backup(struct err *err)
{
    return storage_backup(fx.store, to, err);
}

static struct hash128 digest_at(const char *dir)
{
    struct storage_options options = {.dir = dir, .read_only = true, .map_size_bytes = 1 << 30};
    struct store *store = NULL;
    struct hash128 digest;
    struct check_report report;
    struct err err;
    enum err_code code = storage_open(&options, &fx.log, &fx.clock, &store, &err);
    ck_assert_msg(code == ERR_OK, "%s", err.message);
    ck_assert_int_eq(storage_check(store, &nowhere, &report, &err), ERR_OK);
    ck_assert_uint_eq(report.problems, 0);
    ck_assert_int_eq(storage_digest_space(store, STR("w"), &digest, &err), ERR_OK);
    storage_close(store);
    return digest;
}

static bool exists(const char *dir, const char *name)
{
    char path[200];
    struct stat st;
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    return stat(path, &st) == 0;
}

START_TEST(a_backup_can_be_restored)
{
    struct hash128 before, copy, restored;
    struct err err;
    ck_assert_int_eq(storage_digest_space(fx.store, STR("w"), &before, &err), ERR_OK);
    enum err_code code = backup(&err);
    ck_assert_msg(code == ERR_OK, "%s", err.message);
    ck_assert(exists(to, "data.mdb") && !exists(to, "data.mdb.part") && !exists(to, "LOCK"));
    /* What is written after the snapshot is not in it. */
    struct batch *batch = batch_of(&fx, w.space);
    (void)batch_put(batch, KIND_TURN_ID, STR("later"), STR("\1\0\0\0"), 0);
    ck_assert_int_eq(apply(&fx, batch), ERR_OK);
    code = storage_restore(to, back, &fx.log, &fx.clock, &err);
    ck_assert_msg(code == ERR_OK, "%s", err.message);
    copy = digest_at(to);
    restored = digest_at(back);
    ck_assert(copy.low == before.low && copy.high == before.high);
    ck_assert(restored.low == before.low && restored.high == before.high);
    /* And a daemon goes on from it: same ids, same seq. */
    fixture_close(&fx);
    struct storage_options options = fx.options;
    options.dir = back;
    ck_assert_int_eq(storage_open(&options, &fx.log, &fx.clock, &fx.store, &err), ERR_OK);
    ck_assert_int_eq(storage_start_writer(fx.store, &err), ERR_OK);
    ck_assert_uint_eq(stat_of(&fx, w.space).v[STAT_SEQ], 2);
    ck_assert_uint_eq(make_space(&fx, "new"), w.space + 1);
}
END_TEST

/* As the subcommand does it: another process, read-only. */
static int backup_process(int start)
{
    struct storage_options options = {.dir = fx.dir, .read_only = true, .map_size_bytes = 1 << 30};
    struct store *store = NULL;
    struct err err;
    char byte;
    bool ok = read(start, &byte, 1) == 1 &&
              storage_open(&options, &fx.log, &fx.clock, &store, &err) == ERR_OK &&
              storage_backup(store, to, &err) == ERR_OK;
    return ok ? 0 : 1;
}

START_TEST(a_backup_runs_beside_a_busy_writer)
{
    int start[2];
    ck_assert_int_eq(pipe(start), 0);
    fixture_close(&fx); /* sanitizers want no other thread at a fork */
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0)
        _exit(backup_process(start[0]));
    fixture_open(&fx);
    ck_assert_int_eq(write(start[1], "", 1), 1);
    int status = 1;
    while (waitpid(child, &status, WNOHANG) == 0) {
        struct batch *batch = batch_of(&fx, w.space);
        (void)batch_put(batch, KIND_IDEMPOTENCY, STR("0123456789abcdef"), STR("x"), 0);
        ck_assert_int_eq(apply(&fx, batch), ERR_OK);
    }
    ck_assert_int_eq(status, 0);
    (void)digest_at(to);
}
END_TEST

START_TEST(the_copy_needs_an_empty_place)
{
    struct err err;
    ck_assert_int_eq(storage_backup(fx.store, fx.dir, &err), ERR_CONFLICT);
    ck_assert_ptr_nonnull(strstr(err.message, "not empty"));
    ck_assert_int_eq(mkdir(to, 0700), 0); /* empty is fine */
    ck_assert_int_eq(backup(&err), ERR_OK);
    ck_assert_int_eq(backup(&err), ERR_CONFLICT);
    ck_assert_int_eq(storage_restore(to, to, &fx.log, &fx.clock, &err), ERR_CONFLICT);
    char deep[200];
    (void)snprintf(deep, sizeof deep, "%s/no/such/parent", back);
    ck_assert_int_eq(storage_backup(fx.store, deep, &err), ERR_NOT_FOUND);
    ck_assert_int_eq(storage_restore(back, deep, &fx.log, &fx.clock, &err), ERR_NOT_FOUND);
}
END_TEST

/* A copy that fails leaves nothing that looks like one. */
START_TEST(half_a_copy_is_no_copy)
{
    struct rlimit limit, old;
    struct err err;
    ck_assert(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &old), 0);
    limit = old;
    limit.rlim_cur = 10000;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    enum err_code code = backup(&err);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &old), 0);
    ck_assert_int_ne(code, ERR_OK);
    ck_assert(!exists(to, "data.mdb") && !exists(to, "data.mdb.part"));
    struct stat st;
    ck_assert_int_ne(stat(to, &st), 0);
    ck_assert_int_eq(backup(&err), ERR_OK);
}
END_TEST

START_TEST(what_was_deleted_is_not_in_the_copy)
{
    struct batch *batch = batch_of(&fx, w.space);
    (void)batch_put(batch, KIND_IDEMPOTENCY, STR("0123456789abcdef"), STR("forget me please"), 0);
    ck_assert_int_eq(apply(&fx, batch), ERR_OK);
    batch = batch_of(&fx, w.space);
    (void)batch_del(batch, KIND_IDEMPOTENCY, STR("0123456789abcdef"), 0);
    ck_assert_int_eq(apply(&fx, batch), ERR_OK);
    struct find_report report;
    struct err err;
    ck_assert_int_eq(storage_find(fx.store, STR("forget me please"), true, &nowhere, &report, &err),
                     ERR_OK);
    ck_assert_uint_gt(report.file_hits, 0);
    ck_assert_int_eq(backup(&err), ERR_OK);
    struct storage_options options = {.dir = to, .read_only = true, .map_size_bytes = 1 << 30};
    struct store *store = NULL;
    ck_assert_int_eq(storage_open(&options, &fx.log, &fx.clock, &store, &err), ERR_OK);
    ck_assert_int_eq(storage_find(store, STR("forget me please"), true, &nowhere, &report, &err),
                     ERR_OK);
    storage_close(store);
    ck_assert_uint_eq(report.hits, 0);
    ck_assert_uint_eq(report.free_hits, 0);
}
END_TEST

Suite *suite_store_backup(void)
{
    Suite *suite = suite_create("store_backup");
    TCase *tc = tcase_create("backup");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_backup_can_be_restored);
    tcase_add_test(tc, a_backup_runs_beside_a_busy_writer);
    tcase_add_test(tc, the_copy_needs_an_empty_place);
    tcase_add_test(tc, half_a_copy_is_no_copy);
    tcase_add_test(tc, what_was_deleted_is_not_in_the_copy);
    suite_add_tcase(suite, tc);
    return suite;
}
