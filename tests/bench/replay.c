#include "tests/bench/replay.h"

#include <errno.h>
#include <lmdb.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* As in storage/group.h, which is private to storage/. */
enum { GROUP_OPS = 4096, GROUP_BYTES = 2 << 20, GROUP_MS = 10 };
#define MAP_BYTES ((size_t)1 << 40)

struct client {
    struct replay *replay;
    uint32_t index;
    pthread_t thread;
    sem_t done;
    struct oplist_call call; /* the one handed over */
    struct client *next;
    struct samples samples;
};

struct replay {
    const struct oplist *list;
    MDB_env *env;
    MDB_dbi dbi;
    pthread_mutex_t mutex; /* of the queue and `left` */
    pthread_cond_t wake;
    struct client *first, **last;
    uint32_t left; /* clients still running */
    pthread_barrier_t start;
    uint64_t commits;
    int rc; /* the writer's; read by the clients after their semaphore */
};

static int64_t now_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* wchar of /proc/self/io; 0 when it can't be read. */
static uint64_t bytes_written(void)
{
    char line[128];
    uint64_t bytes = 0;
    FILE *file = fopen("/proc/self/io", "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, "wchar: ", 7) == 0)
            bytes = strtoull(line + 7, NULL, 10);
    }
    if (file != NULL)
        (void)fclose(file);
    return bytes;
}

/* --- clients --- */

static void *client_main(void *arg)
{
    struct client *c = arg;
    struct replay *r = c->replay;
    const struct oplist *list = r->list;
    (void)pthread_barrier_wait(&r->start);
    for (uint64_t i = list->first[c->index]; i < list->first[c->index + 1] && r->rc == 0; i++) {
        int64_t start = now_ns();
        c->call = list->call[i];
        pthread_mutex_lock(&r->mutex);
        c->next = NULL;
        *r->last = c;
        r->last = &c->next;
        pthread_cond_signal(&r->wake);
        pthread_mutex_unlock(&r->mutex);
        while (sem_wait(&c->done) != 0) {
        }
        samples_add(&c->samples, now_ns() - start);
    }
    pthread_mutex_lock(&r->mutex);
    r->left--;
    pthread_cond_signal(&r->wake);
    pthread_mutex_unlock(&r->mutex);
    return NULL;
}

/* --- the writer --- */

/* NULL: nothing is queued; with `wait`: every client has ended. */
static struct client *take(struct replay *r, bool wait)
{
    pthread_mutex_lock(&r->mutex);
    while (wait && r->first == NULL && r->left != 0)
        (void)pthread_cond_wait(&r->wake, &r->mutex);
    struct client *c = r->first;
    if (c != NULL) {
        r->first = c->next;
        if (r->first == NULL)
            r->last = &r->first;
    }
    pthread_mutex_unlock(&r->mutex);
    return c;
}

static MDB_val val(struct str s)
{
    MDB_val v = {.mv_size = s.len};
    memcpy(&v.mv_data, &s.at, sizeof v.mv_data); /* LMDB takes void * and only reads */
    return v;
}

static int apply_op(struct replay *r, MDB_cursor *cursor, const struct oplist_op *op)
{
    MDB_val key = val(op->key), value = val(op->value);
    MDB_txn *txn = mdb_cursor_txn(cursor);
    int rc;
    switch (op->type) {
    case OPLIST_PUT_CURSOR: return mdb_cursor_put(cursor, &key, &value, op->flags);
    case OPLIST_PUT: return mdb_put(txn, r->dbi, &key, &value, op->flags);
    default: rc = mdb_del(txn, r->dbi, &key, NULL); return rc == MDB_NOTFOUND ? 0 : rc;
    }
}

static int apply(struct replay *r, MDB_cursor *cursor, const struct oplist_call *call)
{
    struct unpack ops = call->ops;
    struct oplist_op op;
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < call->n; i++)
        rc = oplist_next(&ops, &op) ? apply_op(r, cursor, &op) : EINVAL;
    return rc;
}

/* One group: `first` and whatever is queued while there is room. */
static int run_group(struct replay *r, struct client *first, struct client **group)
{
    MDB_txn *txn = NULL;
    MDB_cursor *cursor = NULL;
    size_t ops = 0, bytes = 0;
    int64_t start = now_ns();
    int rc = mdb_txn_begin(r->env, NULL, 0, &txn);
    if (rc == 0)
        rc = mdb_cursor_open(txn, r->dbi, &cursor);
    *group = NULL;
    for (struct client *c = first; c != NULL; c = take(r, false)) {
        c->next = *group;
        *group = c;
        if (rc == 0)
            rc = apply(r, cursor, &c->call);
        ops += c->call.n;
        bytes += c->call.bytes;
        if (ops >= GROUP_OPS || bytes >= GROUP_BYTES ||
            now_ns() - start >= GROUP_MS * INT64_C(1000000))
            break;
    }
    if (cursor != NULL)
        mdb_cursor_close(cursor);
    if (rc != 0) {
        mdb_txn_abort(txn);
        return rc;
    }
    return mdb_txn_commit(txn);
}

static void write_all(struct replay *r)
{
    struct client *group;
    for (struct client *c = take(r, true); c != NULL; c = take(r, true)) {
        int rc = run_group(r, c, &group);
        if (rc != 0)
            r->rc = rc;
        r->commits++;
        while (group != NULL) {
            struct client *next = group->next; /* the client queues itself again at once */
            (void)sem_post(&group->done);
            group = next;
        }
    }
}

/* --- the run --- */

static int open_env(struct replay *r, const char *dir)
{
    MDB_txn *txn = NULL;
    int rc = mdb_env_create(&r->env);
    if (rc == 0)
        rc = mdb_env_set_mapsize(r->env, MAP_BYTES);
    if (rc == 0)
        rc = mdb_env_open(r->env, dir, MDB_NOTLS | MDB_NORDAHEAD, 0600);
    if (rc == 0)
        rc = mdb_txn_begin(r->env, NULL, 0, &txn);
    if (rc == 0)
        rc = mdb_dbi_open(txn, NULL, 0, &r->dbi);
    if (rc == 0)
        return mdb_txn_commit(txn);
    mdb_txn_abort(txn);
    return rc;
}

static void run_clients(struct replay *r, struct client *clients, struct replay_result *result)
{
    uint32_t n = r->list->connections;
    uint32_t made = 0;
    (void)pthread_barrier_init(&r->start, NULL, n + 1);
    for (; made < n; made++) {
        struct client *c = &clients[made];
        *c = (struct client){.replay = r, .index = made};
        (void)sem_init(&c->done, 0, 0);
        int rc = pthread_create(&c->thread, NULL, client_main, c);
        ASSERT(rc == 0);
    }
    (void)pthread_barrier_wait(&r->start);
    int64_t start = now_ns();
    write_all(r);
    result->elapsed_ns = now_ns() - start;
    for (uint32_t i = 0; i < n; i++) {
        struct client *c = &clients[i];
        (void)pthread_join(c->thread, NULL);
        (void)sem_destroy(&c->done);
        for (size_t k = 0; k < c->samples.n; k++)
            samples_add(&result->call, (int64_t)c->samples.at[k] * 100);
        samples_free(&c->samples);
    }
    (void)pthread_barrier_destroy(&r->start);
}

void replay_run(const struct oplist *list, const char *dir, struct replay_result *result)
{
    struct replay r = {.list = list, .left = list->connections};
    struct client *clients = calloc(list->connections, sizeof *clients);
    *result = (struct replay_result){0};
    r.last = &r.first;
    result->rc = clients == NULL ? ENOMEM : open_env(&r, dir);
    if (result->rc == 0) {
        (void)pthread_mutex_init(&r.mutex, NULL);
        (void)pthread_cond_init(&r.wake, NULL);
        uint64_t before = bytes_written();
        run_clients(&r, clients, result);
        result->written_bytes = bytes_written() - before;
        result->rc = r.rc;
        result->calls = result->call.count;
        result->commits = r.commits;
        (void)pthread_cond_destroy(&r.wake);
        (void)pthread_mutex_destroy(&r.mutex);
    }
    if (r.env != NULL)
        mdb_env_close(r.env);
    free(clients);
}
