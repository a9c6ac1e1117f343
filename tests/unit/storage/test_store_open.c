/* Opening: the lock, formats, permissions, address space; reopening after a kill. */
#include <errno.h>
#include <fcntl.h>
#include <lmdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/fault.h"
#include "tests/unit/storage/fixture.h"

static struct fixture fx;

static void setup(void)
{
    fixture_init_closed(&fx);
}

static void teardown(void)
{
    fixture_fini(&fx);
}

static enum err_code try_open(struct err *err)
{
    fx.options.dir = fx.dir;
    return storage_open(&fx.options, &fx.log, &fx.clock, &fx.store, err);
}

static void in_dir(char *path, size_t cap, const char *name)
{
    (void)snprintf(path, cap, "%s/%s", fx.dir, name);
}

START_TEST(a_second_opening_is_told_who_holds_it)
{
    fixture_open(&fx);
    struct store *second = NULL;
    struct err err;
    ck_assert_int_eq(storage_open(&fx.options, &fx.log, &fx.clock, &second, &err), ERR_CONFLICT);
    ck_assert_ptr_null(second);
    char pid[32], host[80] = "";
    (void)snprintf(pid, sizeof pid, "process %ld ", (long)getpid());
    ck_assert_int_eq(gethostname(host, sizeof host - 1), 0);
    ck_assert_msg(strstr(err.message, pid) != NULL, "%s", err.message);
    ck_assert_msg(strstr(err.message, host) != NULL, "%s", err.message);
    ck_assert_ptr_nonnull(strstr(err.message, fx.dir));
    fixture_close(&fx);
    ck_assert_int_eq(try_open(&err), ERR_OK);
}
END_TEST

START_TEST(a_lock_file_left_behind_means_nothing)
{
    char path[160];
    in_dir(path, sizeof path, "LOCK");
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    (void)fputs("process 1 on elsewhere, and a much longer text than ours\n", file);
    (void)fclose(file);
    fixture_open(&fx);
    char text[128] = "";
    file = fopen(path, "r");
    ck_assert_ptr_nonnull(fgets(text, sizeof text, file));
    (void)fclose(file);
    ck_assert_ptr_null(strstr(text, "elsewhere"));
}
END_TEST

START_TEST(the_directory_is_made_private)
{
    char inner[160], deep[200];
    in_dir(inner, sizeof inner, "data");
    (void)snprintf(deep, sizeof deep, "%s/a/b", inner);
    struct storage_options options = fx.options;
    struct err err;
    options.dir = deep;
    ck_assert_int_eq(storage_open(&options, &fx.log, &fx.clock, &fx.store, &err), ERR_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(err.message, "parent"));
    options.dir = inner;
    ck_assert_int_eq(storage_open(&options, &fx.log, &fx.clock, &fx.store, &err), ERR_OK);
    struct stat st;
    ck_assert_int_eq(stat(inner, &st), 0);
    ck_assert_uint_eq(st.st_mode & 0777, 0700);
    fixture_close(&fx);
    static const char *const names[] = {"data.mdb", "lock.mdb", "LOCK"};
    for (size_t i = 0; i < 3; i++) {
        char path[200];
        (void)snprintf(path, sizeof path, "%s/%s", inner, names[i]);
        ck_assert_int_eq(stat(path, &st), 0);
        ck_assert_uint_eq(st.st_mode & 0777, 0600);
        ck_assert_int_eq(unlink(path), 0);
    }
    ck_assert_int_eq(rmdir(inner), 0);
}
END_TEST

START_TEST(a_file_is_no_directory)
{
    char path[160];
    in_dir(path, sizeof path, "LOCK");
    (void)close(open(path, O_CREAT | O_WRONLY, 0600));
    struct storage_options options = fx.options;
    struct err err;
    options.dir = path;
    ck_assert_int_eq(storage_open(&options, &fx.log, &fx.clock, &fx.store, &err), ERR_INVALID);
}
END_TEST

/* Runs `f` as a user that may not write, in a process of its own; its return must be 0. */
static int as_nobody(int (*f)(void))
{
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        if (getuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
            _exit(90);
        _exit(f());
    }
    int status = 0;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

static int open_denied(void)
{
    struct err err;
    enum err_code code = try_open(&err);
    return code == ERR_DENIED && strstr(err.message, fx.dir) != NULL ? 0 : 1;
}

START_TEST(no_permission_is_said_clearly)
{
    ck_assert_int_eq(chmod(fx.dir, 0555), 0);
    ck_assert_int_eq(as_nobody(open_denied), 0);
    ck_assert_int_eq(chmod(fx.dir, 0000), 0);
    ck_assert_int_eq(as_nobody(open_denied), 0);
    ck_assert_int_eq(chmod(fx.dir, 0777), 0);
    fixture_open(&fx);
    fixture_close(&fx);
    ck_assert_int_eq(as_nobody(open_denied), 0); /* the files are another user's */
}
END_TEST

/* Rewrites one field of the format row behind the store's back. */
static void forge(size_t offset, uint32_t value)
{
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi dbi;
    MDB_val key = {9, (char[]){"\0\0\0\0\0\0\0\0F"}}, old;
    char row[64];
    ck_assert_int_eq(mdb_env_create(&env), 0);
    ck_assert_int_eq(mdb_env_open(env, fx.dir, 0, 0600), 0);
    ck_assert_int_eq(mdb_txn_begin(env, NULL, 0, &txn), 0);
    ck_assert_int_eq(mdb_dbi_open(txn, NULL, 0, &dbi), 0);
    ck_assert_int_eq(mdb_get(txn, dbi, &key, &old), 0);
    ck_assert_uint_eq(old.mv_size, 32);
    memcpy(row, old.mv_data, old.mv_size);
    le32_set(row + offset, value);
    MDB_val changed = {old.mv_size, row};
    ck_assert_int_eq(mdb_put(txn, dbi, &key, &changed, 0), 0);
    ck_assert_int_eq(mdb_txn_commit(txn), 0);
    mdb_env_close(env);
}

START_TEST(a_file_from_the_future_is_refused)
{
    static const struct {
        size_t offset;
        uint32_t value;
        const char *word;
    } rows[] = {{8, 999, "format 999"}, {12, 999, "tokenizer 999"}, {0, 0x21212121, "no hypermem"}};
    fixture_open(&fx);
    (void)make_space(&fx, "s");
    fixture_close(&fx);
    forge(rows[_i].offset, rows[_i].value);
    struct err err;
    for (int ro = 0; ro < 2; ro++) {
        fx.options.read_only = ro != 0;
        ck_assert_int_eq(try_open(&err), ERR_PRECONDITION);
        ck_assert_msg(strstr(err.message, rows[_i].word) != NULL, "%s", err.message);
    }
}
END_TEST

START_TEST(what_is_no_data_file_is_refused)
{
    char path[160];
    in_dir(path, sizeof path, "data.mdb");
    FILE *file = fopen(path, "w");
    for (unsigned i = 0; i < 4096; i++)
        (void)fputs("rubbish ", file);
    (void)fclose(file);
    struct err err;
    ck_assert_int_eq(try_open(&err), ERR_PRECONDITION);
    ck_assert_ptr_nonnull(strstr(err.message, "data.mdb"));
}
END_TEST

START_TEST(reading_needs_data_and_no_lock)
{
    struct err err;
    fx.options.read_only = true;
    ck_assert_int_eq(try_open(&err), ERR_NOT_FOUND);
    fx.options.read_only = false;
    fixture_open(&fx);
    uint64_t id = make_space(&fx, "s");
    /* Beside the running writer, in another process as LMDB demands. */
    pid_t child = fork();
    if (child == 0) {
        fx.options.read_only = true;
        uint64_t found = 0;
        struct store_txn *txn = NULL;
        bool ok = try_open(&err) == ERR_OK && store_begin(fx.store, &txn, &err) == ERR_OK &&
                  store_space_find(txn, STR("s"), &found, &err) == ERR_OK && found == id;
        store_end(txn);
        storage_close(fx.store);
        _exit(ok ? 0 : 1);
    }
    int status = 1;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    (void)make_space(&fx, "still writable");
}
END_TEST

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define OWN_ADDRESS_SPACE 1 /* the sanitizer has reserved terabytes already */
#endif
#endif
#else
#define OWN_ADDRESS_SPACE 1
#endif

#ifndef OWN_ADDRESS_SPACE
START_TEST(the_map_is_halved_until_the_system_agrees)
{
    struct rlimit limit = {.rlim_cur = UINT64_C(100) << 30, .rlim_max = UINT64_C(100) << 30};
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
    fx.options.map_size_bytes = 0;
    fixture_open(&fx);
    struct store_health health;
    store_health(fx.store, &health);
    ck_assert_uint_eq(health.map_bytes, UINT64_C(64) << 30);
    (void)make_space(&fx, "s");
    fixture_close(&fx);
    limit.rlim_cur = UINT64_C(10) << 30;
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
    struct err err;
    ck_assert_int_eq(try_open(&err), ERR_UNAVAILABLE);
    ck_assert_ptr_nonnull(strstr(err.message, "16 GiB"));
    fx.options.map_size_gib = 4; /* asked for: not less than what was asked for */
    ck_assert_int_eq(try_open(&err), ERR_OK);
}
END_TEST
#endif

START_TEST(too_many_readers)
{
    fx.options.readers_max = 4;
    fixture_open(&fx);
    struct store_txn *txns[4], *one_more = NULL;
    struct err err;
    for (size_t i = 0; i < 4; i++)
        txns[i] = begin(&fx);
    ck_assert_int_eq(store_begin(fx.store, &one_more, &err), ERR_UNAVAILABLE);
    for (size_t i = 0; i < 4; i++)
        store_end(txns[i]);
    store_end(begin(&fx));
}
END_TEST

/* A process that dies with a transaction open leaves its reader slot behind. */
START_TEST(dead_readers_are_cleared)
{
    fixture_open(&fx);
    (void)make_space(&fx, "s");
    pid_t child = fork();
    if (child == 0) {
        struct err err;
        struct store_txn *txn = NULL;
        fx.options.read_only = true;
        if (try_open(&err) != ERR_OK || store_begin(fx.store, &txn, &err) != ERR_OK)
            _exit(1);
        (void)kill(getpid(), SIGKILL);
    }
    int status = 0;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFSIGNALED(status));
    ck_assert_int_eq(storage_reader_check(fx.store), 1);
    ck_assert_int_eq(storage_reader_check(fx.store), 0);
}
END_TEST

/* --- killed --- */

/* Writes turns for ever and reports each acknowledged number through the pipe. */
static void write_turns(int report)
{
    fixture_open(&fx);
    uint64_t space = make_space(&fx, "s");
    for (uint32_t i = 1;; i++) {
        struct batch *batch = batch_of(&fx, space);
        uint32_t n = batch_take(batch, STAT_NEXT_TURN, 1);
        uint32_t op = batch_put(batch, KIND_TURN, STR("...."), STR("________text"), PUT_STAMP);
        batch_fix(batch, op, FIX_KEY, 0, n, 0);
        batch_add(batch, STAT_TURNS, 1);
        if (apply(&fx, batch) != ERR_OK)
            _exit(1);
        uint32_t number = batch->slots.at[n].value;
        if (write(report, &number, sizeof number) != sizeof number)
            _exit(1);
        arena_reset(fx.arena);
    }
}

/* Runs the writer in a process that dies; returns the last number it acknowledged. */
static uint32_t run_killed(uint32_t after, const char *plan)
{
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
#ifdef HYPERMEM_FAULTS
        if (plan != NULL && !fault_plan(str_of(plan)))
            _exit(2);
#endif
        (void)plan;
        write_turns(ends[1]);
    }
    (void)close(ends[1]);
    uint32_t last = 0, number;
    while (read(ends[0], &number, sizeof number) == sizeof number) {
        last = number;
        if (last == after)
            (void)kill(child, SIGKILL);
    }
    int status = 0;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    (void)close(ends[0]);
    return last;
}

static void expect_whole(uint32_t acknowledged)
{
    fixture_open(&fx);
    uint64_t space = find_space(&fx, "s");
    ck_assert_uint_ne(space, 0);
    struct space_stat stat = stat_of(&fx, space);
    size_t turns = count_rows(&fx, space, KIND_TURN);
    /* All that was acknowledged, and at most the one batch whose answer was lost. */
    ck_assert_uint_ge(turns, acknowledged);
    ck_assert_uint_le(turns, acknowledged + 1);
    ck_assert_uint_eq(stat.v[STAT_TURNS], turns);
    ck_assert_uint_eq(stat.v[STAT_NEXT_TURN], turns + 1);
    ck_assert_uint_eq(stat.v[STAT_SEQ], turns + 1);
    ck_assert_uint_eq(count_rows(&fx, space, KIND_LOG), turns + 1);
}

START_TEST(killed_at_any_time)
{
    expect_whole(run_killed(5 + 7 * (uint32_t)_i, NULL));
}
END_TEST

#ifdef HYPERMEM_FAULTS
static const char *const kill_points[] = {
    "writer.before_apply:9:kill", "writer.mid_apply:9:kill",     "writer.before_commit:9:kill",
    "writer.after_commit:9:kill", "writer.before_notify:9:kill",
};

START_TEST(killed_at_each_point)
{
    expect_whole(run_killed(1000000, kill_points[_i]));
}
END_TEST
#endif

Suite *suite_store_open(void)
{
    Suite *suite = suite_create("store_open");
    TCase *tc = tcase_create("open");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_second_opening_is_told_who_holds_it);
    tcase_add_test(tc, a_lock_file_left_behind_means_nothing);
    tcase_add_test(tc, the_directory_is_made_private);
    tcase_add_test(tc, a_file_is_no_directory);
    tcase_add_test(tc, no_permission_is_said_clearly);
    tcase_add_loop_test(tc, a_file_from_the_future_is_refused, 0, 3);
    tcase_add_test(tc, what_is_no_data_file_is_refused);
    tcase_add_test(tc, reading_needs_data_and_no_lock);
#ifndef OWN_ADDRESS_SPACE
    tcase_add_test(tc, the_map_is_halved_until_the_system_agrees);
#endif
    tcase_add_test(tc, too_many_readers);
    tcase_add_test(tc, dead_readers_are_cleared);
    tcase_add_loop_test(tc, killed_at_any_time, 0, 4);
#ifdef HYPERMEM_FAULTS
    tcase_add_loop_test(tc, killed_at_each_point, 0, 5);
#endif
    suite_add_tcase(suite, tc);
    return suite;
}
