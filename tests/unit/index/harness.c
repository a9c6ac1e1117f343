#include "tests/unit/index/harness.h"

#include <check.h>
#include <ftw.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/statvfs.h>

#include "core/graph/space.h"
#include "storage/storage.h"

struct harness {
    char dir[64];
    struct log log;
    struct clock clock;
    struct store *store;
    struct store_txn *txn;
    uint64_t space;
    pthread_mutex_t mutex; /* the next two; written by the writer thread */
    pthread_cond_t done;
    bool is_done;
    enum err_code code;
};

static void on_done(struct batch *batch, enum err_code code, const struct err *err, void *arg)
{
    struct harness *h = arg;
    (void)batch;
    if (code != ERR_OK && code != ERR_CONFLICT)
        (void)fprintf(stderr, "batch refused: %s\n", err->message);
    pthread_mutex_lock(&h->mutex);
    h->is_done = true;
    h->code = code;
    pthread_cond_signal(&h->done);
    pthread_mutex_unlock(&h->mutex);
}

enum err_code harness_try(struct harness *h, struct batch *batch)
{
    struct err err;
    h->is_done = false;
    ck_assert(batch_ok(batch));
    ck_assert_int_eq(store_submit(h->store, batch, STORE_TURNS, on_done, h, &err), ERR_OK);
    pthread_mutex_lock(&h->mutex);
    while (!h->is_done)
        pthread_cond_wait(&h->done, &h->mutex);
    pthread_mutex_unlock(&h->mutex);
    return h->code;
}

void harness_commit(struct harness *h, struct batch *batch)
{
    ck_assert_int_eq(harness_try(h, batch), ERR_OK);
}

static void make_space(struct harness *h)
{
    struct err err;
    struct arena *arena = arena_new(1 << 20);
    struct batch *batch = batch_new_named(arena, STR("s"), CAUSE_CREATE);
    struct space settings = space_default(0);
    struct buf record;
    buf_init(&record, arena, 1024);
    space_encode(&settings, &record);
    batch->create = true;
    batch->settings = buf_str(&record);
    harness_commit(h, batch);
    struct store_txn *txn = harness_begin(h);
    ck_assert_int_eq(store_space_find(txn, STR("s"), &h->space, &err), ERR_OK);
    ck_assert(h->space != 0);
    arena_free(arena);
}

/* Memory where there is enough: these tests are about answers, not about the disk. */
static const char *parent_dir(void)
{
    struct statvfs fs;
    bool roomy = statvfs("/dev/shm", &fs) == 0 && fs.f_bavail * fs.f_frsize > 256U << 20;
    return roomy ? "/dev/shm" : "/tmp";
}

struct harness *harness_new(void)
{
    struct err err;
    struct harness *h = calloc(1, sizeof *h);
    ck_assert_ptr_nonnull(h);
    (void)snprintf(h->dir, sizeof h->dir, "%s/hm_unit_index_XXXXXX", parent_dir());
    ck_assert_ptr_nonnull(mkdtemp(h->dir));
    h->clock = clock_manual(0);
    h->log = (struct log){.fd = 2, .level = LOG_ERROR, .clock = h->clock};
    pthread_mutex_init(&h->mutex, NULL);
    pthread_cond_init(&h->done, NULL);
    struct storage_options options = {.dir = h->dir, .map_size_bytes = (uint64_t)1 << 30};
    ck_assert_int_eq(storage_open(&options, &h->log, &h->clock, &h->store, &err), ERR_OK);
    ck_assert_int_eq(storage_start_writer(h->store, &err), ERR_OK);
    make_space(h);
    return h;
}

static int remove_one(const char *path, const struct stat *stat, int type, struct FTW *place)
{
    (void)stat;
    (void)type;
    (void)place;
    return remove(path);
}

void harness_free(struct harness *h)
{
    store_end(h->txn);
    storage_close(h->store);
    ck_assert_int_eq(nftw(h->dir, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
    pthread_cond_destroy(&h->done);
    pthread_mutex_destroy(&h->mutex);
    free(h);
}

uint64_t harness_space(const struct harness *h)
{
    return h->space;
}

struct store_txn *harness_begin(struct harness *h)
{
    struct err err;
    store_end(h->txn);
    h->txn = NULL;
    ck_assert_int_eq(store_begin(h->store, &h->txn, &err), ERR_OK);
    return h->txn;
}

void harness_raw(struct harness *h, enum store_kind kind, struct str rest, struct str value)
{
    struct arena *arena = arena_new(1 << 24);
    struct batch *batch = batch_new(arena, h->space, CAUSE_KEEP);
    (void)batch_put(batch, kind, rest, value, 0);
    harness_commit(h, batch);
    arena_free(arena);
}
