#include "tests/unit/storage/fixture.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

enum { DEADLINE_S = 15 };

static atomic_uint done_count;

/* Memory-backed where there is room: what is tested here does not depend on a disk's speed. */
static const char *scratch_dir(void)
{
    struct statvfs fs;
    const char *tmp = getenv("TMPDIR");
    if (tmp != NULL)
        return tmp;
    bool roomy = statvfs("/dev/shm", &fs) == 0 && fs.f_bavail * fs.f_frsize > 256u << 20;
    return roomy ? "/dev/shm" : "/tmp";
}

void fixture_init_closed(struct fixture *f)
{
    *f = (struct fixture){.log = {.fd = -1, .level = LOG_ERROR, .clock = clock_system()},
                          .clock = clock_system()};
    (void)snprintf(f->dir, sizeof f->dir, "%s/hmtest_XXXXXX", scratch_dir());
    ck_assert_ptr_nonnull(mkdtemp(f->dir));
    f->options = (struct storage_options){.dir = f->dir, .map_size_bytes = UINT64_C(1) << 30};
    f->arena = arena_new((size_t)1 << 30);
    ck_assert_ptr_nonnull(f->arena);
}

void fixture_open(struct fixture *f)
{
    struct err err;
    f->options.dir = f->dir;
    enum err_code code = storage_open(&f->options, &f->log, &f->clock, &f->store, &err);
    ck_assert_msg(code == ERR_OK, "%s", err.message);
    if (!f->options.read_only)
        ck_assert_int_eq(storage_start_writer(f->store, &err), ERR_OK);
}

void fixture_init(struct fixture *f)
{
    fixture_init_closed(f);
    fixture_open(f);
}

void fixture_close(struct fixture *f)
{
    storage_close(f->store);
    f->store = NULL;
}

void fixture_fini(struct fixture *f)
{
    static const char *const names[] = {"data.mdb", "lock.mdb", "LOCK", "PROBE"};
    fixture_close(f);
    arena_free(f->arena);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[160];
        (void)snprintf(path, sizeof path, "%s/%s", f->dir, names[i]);
        (void)unlink(path);
    }
    (void)rmdir(f->dir);
}

static void ticket_done(struct batch *batch, enum err_code code, const struct err *err, void *arg)
{
    (void)batch;
    struct ticket *t = arg;
    pthread_mutex_lock(&t->mutex);
    t->code = code;
    if (code != ERR_OK)
        t->err = *err;
    t->order = atomic_fetch_add(&done_count, 1);
    t->done = true;
    pthread_cond_signal(&t->cond);
    pthread_mutex_unlock(&t->mutex);
}

void ticket_submit(struct ticket *t, struct fixture *f, struct batch *batch, enum store_queue queue)
{
    *t = (struct ticket){.fixture = f};
    (void)pthread_mutex_init(&t->mutex, NULL);
    (void)pthread_cond_init(&t->cond, NULL);
    struct err err;
    enum err_code code = store_submit(f->store, batch, queue, ticket_done, t, &err);
    if (code == ERR_OK) /* from here on the ticket is the callback's */
        return;
    t->code = code;
    t->err = err;
    t->done = true;
}

enum err_code ticket_wait(struct ticket *t)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += DEADLINE_S;
    pthread_mutex_lock(&t->mutex);
    int rc = 0;
    while (!t->done && rc == 0)
        rc = pthread_cond_timedwait(&t->cond, &t->mutex, &until);
    pthread_mutex_unlock(&t->mutex);
    ck_assert_msg(t->done, "no answer to a batch in %d s", DEADLINE_S);
    (void)pthread_cond_destroy(&t->cond);
    (void)pthread_mutex_destroy(&t->mutex);
    return t->code;
}

enum err_code apply_err(struct fixture *f, struct batch *batch, struct err *err)
{
    struct ticket t;
    ck_assert(batch_ok(batch));
    ticket_submit(&t, f, batch, STORE_TURNS);
    enum err_code code = ticket_wait(&t);
    *err = t.err;
    return code;
}

enum err_code apply(struct fixture *f, struct batch *batch)
{
    struct err err;
    return apply_err(f, batch, &err);
}

struct batch *batch_of(struct fixture *f, uint64_t space)
{
    struct batch *batch = batch_new(f->arena, space, CAUSE_TURNS);
    ck_assert_ptr_nonnull(batch);
    return batch;
}

struct batch *batch_named(struct fixture *f, const char *name)
{
    struct batch *batch = batch_new_named(f->arena, str_of(name), CAUSE_TURNS);
    ck_assert_ptr_nonnull(batch);
    return batch;
}

uint64_t make_space(struct fixture *f, const char *name)
{
    struct batch *batch = batch_named(f, name);
    batch->cause = CAUSE_CREATE;
    batch->create = batch->create_only = true;
    batch->settings = str_printf(f->arena, "%8ssettings of %s", "", name);
    ck_assert_int_eq(apply(f, batch), ERR_OK);
    ck_assert(batch->space != 0);
    return batch->space;
}

enum err_code drop_space(struct fixture *f, const char *name)
{
    struct batch *batch = batch_named(f, name);
    batch->cause = CAUSE_DROP;
    batch->drop = true;
    return apply(f, batch);
}

struct store_txn *begin(struct fixture *f)
{
    struct store_txn *txn = NULL;
    struct err err;
    enum err_code code = store_begin(f->store, &txn, &err);
    ck_assert_msg(code == ERR_OK, "%s", err.message);
    return txn;
}

uint64_t find_space(struct fixture *f, const char *name)
{
    struct store_txn *txn = begin(f);
    uint64_t id = 0;
    struct err err;
    ck_assert_int_eq(store_space_find(txn, str_of(name), &id, &err), ERR_OK);
    store_end(txn);
    return id;
}

struct space_stat stat_of(struct fixture *f, uint64_t space)
{
    struct store_txn *txn = begin(f);
    struct space_stat stat;
    struct err err;
    ck_assert_int_eq(store_stat(txn, space, &stat, &err), ERR_OK);
    store_end(txn);
    return stat;
}

size_t count_rows(struct fixture *f, uint64_t space, enum store_kind kind)
{
    struct store_txn *txn = begin(f);
    struct store_cursor *cursor = NULL;
    struct store_item item;
    struct err err;
    size_t n = 0;
    ck_assert_int_eq(store_cursor_open(txn, space, kind, &cursor, &err), ERR_OK);
    ck_assert_int_eq(store_cursor_next(cursor, &item, &err), ERR_OK);
    while (item.key.at != NULL) {
        n++;
        ck_assert_int_eq(store_cursor_next(cursor, &item, &err), ERR_OK);
    }
    store_cursor_close(cursor);
    store_end(txn);
    return n;
}

void expect_row(struct fixture *f, uint64_t space, enum store_kind kind, struct str key,
                struct str value)
{
    struct store_txn *txn = begin(f);
    struct str found;
    struct err err;
    ck_assert_int_eq(store_get(txn, space, kind, key, &found, &err), ERR_OK);
    ck_assert_ptr_nonnull(found.at);
    ck_assert_uint_eq(found.len, value.len);
    ck_assert(str_eq(found, value));
    store_end(txn);
}

void expect_absent(struct fixture *f, uint64_t space, enum store_kind kind, struct str key)
{
    struct store_txn *txn = begin(f);
    struct str found;
    struct err err;
    ck_assert_int_eq(store_get(txn, space, kind, key, &found, &err), ERR_OK);
    ck_assert_ptr_null(found.at);
    store_end(txn);
}

/* Polls a condition that another thread brings about; the deadline is the test's time-out. */
static void breathe(void)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

void wait_purged(struct fixture *f)
{
    uint64_t space = 1;
    while (space != 0) {
        struct store_txn *txn = begin(f);
        struct err err;
        ck_assert_int_eq(storage_dead_next(txn, 0, &space, &err), ERR_OK);
        store_end(txn);
        breathe();
    }
}

void wait_state(struct fixture *f, enum store_state state)
{
    struct store_health health;
    do {
        breathe();
        store_health(f->store, &health);
    } while (health.state != state);
}
