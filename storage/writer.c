/* The writer thread (DESIGN 3): takes batches from three bounded queues, applies whole groups, and
 * calls back after the durable commit. See storage.h for what happens when writing fails.
 *
 * The mutex guards the queues, the flags and the figures; it is held only to push, pop and read
 * them, never over LMDB, a callback or logging. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/base/fault.h"
#include "storage/group.h"

enum { PASSED_OVER_MAX = 15, PROBE_EVERY_S = 1, EXIT_UNREADABLE = 70 };

struct queue {
    struct batch *first, **last;
    uint64_t n;
    unsigned passed_over; /* batches of other queues taken since this one had its turn */
};

struct figures {
    uint64_t commits, batches, refused, commit_ns;
};

struct writer {
    struct store *store;
    pthread_t thread;
    bool started;
    store_watch_fn *watch; /* set before the thread sees its first batch */
    void *watch_arg;
    struct group group; /* the thread's */
    pthread_mutex_t mutex;
    pthread_cond_t wake;
    struct queue queues[STORE_QUEUES];
    struct figures figures;
    bool stopping;
    bool probe_now;
    bool purge; /* there may be deleted spaces */
};

static enum store_state state_of(const struct store *store)
{
    return (enum store_state)atomic_load(&store->state);
}

/* --- queues --- */

static void queue_push(struct queue *queue, struct batch *batch)
{
    batch->next = NULL;
    *queue->last = batch;
    queue->last = &batch->next;
    queue->n++;
}

static struct batch *queue_pop(struct queue *queue)
{
    struct batch *batch = queue->first;
    queue->first = batch->next;
    if (queue->first == NULL)
        queue->last = &queue->first;
    queue->n--;
    batch->next = NULL;
    return batch;
}

/* Purging counts as a batch in the last queue. */
static bool has_turn(const struct writer *w, int q)
{
    return w->queues[q].n != 0 || (q == STORE_HOUSEKEEPING && w->purge);
}

/* The queue to serve: the first that has something, unless a later one was passed over too often.
 * STORE_QUEUES when all are empty. */
static int pick(struct writer *w)
{
    int q = STORE_QUEUES - 1;
    while (q > 0 && !(has_turn(w, q) && w->queues[q].passed_over >= PASSED_OVER_MAX))
        q--;
    while (q < STORE_QUEUES && !has_turn(w, q))
        q++;
    return q;
}

static void mark_served(struct writer *w, int served)
{
    for (int q = 0; q < STORE_QUEUES; q++) {
        if (q == served)
            w->queues[q].passed_over = 0;
        else if (has_turn(w, q))
            w->queues[q].passed_over++;
    }
}

/* NULL: nothing there, or the next thing is a purge step, which has a transaction of its own. */
static struct batch *take(struct writer *w)
{
    struct batch *batch = NULL;
    pthread_mutex_lock(&w->mutex);
    int q = pick(w);
    if (q < STORE_QUEUES && w->queues[q].n != 0) {
        batch = queue_pop(&w->queues[q]);
        mark_served(w, q);
    }
    pthread_mutex_unlock(&w->mutex);
    return batch;
}

/* --- after the transaction --- */

static void tell(struct batch *batch)
{
    if (batch->outcome == ERR_OK)
        batch->space = batch->applied_to;
    batch->more = batch->next != NULL;
    batch->done(batch, batch->outcome, batch->refusal, batch->done_arg);
}

static void tell_all(struct batch *batch)
{
    while (batch != NULL) {
        struct batch *next = batch->next; /* `done` may free it */
        tell(batch);
        batch = next;
    }
}

static void fail_all(struct batch *batch, const struct err *err)
{
    for (struct batch *b = batch; b != NULL; b = b->next) {
        b->outcome = err->code;
        b->refusal = err;
    }
    tell_all(batch);
}

static void watch_all(const struct writer *w)
{
    const struct group *group = &w->group;
    for (uint32_t i = 0; w->watch != NULL && i < group->n_spaces; i++) {
        const struct group_space *space = &group->spaces[i];
        uint64_t due = space->stat.v[STAT_DUE];
        struct store_change change = {.space = space->id,
                                      .seq = space->stat.v[STAT_SEQ],
                                      .processed = space->stat.v[STAT_PROCESSED],
                                      .due_ms = due != 0 ? due - 1 : UINT64_MAX,
                                      .dropped = space->dropped};
        if (space->dropped)
            change.due_ms = UINT64_MAX;
        if (space->touched)
            w->watch(&change, w->watch_arg);
    }
}

static void count_group(struct writer *w, int64_t commit_ns)
{
    uint64_t refused = 0;
    for (const struct batch *b = w->group.first; b != NULL; b = b->next)
        refused += b->outcome != ERR_OK;
    pthread_mutex_lock(&w->mutex);
    w->figures.commits++;
    w->figures.batches += w->group.batches - refused;
    w->figures.refused += refused;
    w->figures.commit_ns += (uint64_t)commit_ns;
    w->purge = w->purge || w->group.dropped;
    pthread_mutex_unlock(&w->mutex);
}

/* --- when writing fails --- */

static void drop_queued(struct writer *w, const struct err *err)
{
    for (int q = 0; q < STORE_QUEUES; q++) {
        pthread_mutex_lock(&w->mutex);
        struct batch *first = w->queues[q].first;
        w->queues[q] = (struct queue){.last = &w->queues[q].first};
        pthread_mutex_unlock(&w->mutex);
        fail_all(first, err);
    }
}

static void set_state(struct writer *w, enum store_state state)
{
    pthread_mutex_lock(&w->mutex); /* so that no submit slips in after drop_queued() */
    atomic_store(&w->store->state, state);
    pthread_mutex_unlock(&w->mutex);
}

static void set_full_error(struct err *err)
{
    (void)err_set(err, ERR_STORAGE_FULL, "the disk is full: nothing was stored");
    if (err != NULL)
        err->retry_after_s = 5;
}

static void set_latched_error(struct err *err)
{
    (void)err_set(err, ERR_UNAVAILABLE,
                  "a write to the disk failed; writes are refused until "
                  "hypermemd is restarted");
}

static void become_full(struct writer *w, int rc, struct batch *failed)
{
    struct err err;
    LOG(w->store->log, LOG_ERROR, "storage_full", F_CSTR("cause", storage__text(rc)));
    set_full_error(&err);
    set_state(w, STORE_FULL);
    fail_all(failed, &err);
    drop_queued(w, &err);
}

/* After a failed meta page write LMDB refuses every transaction in this environment. */
static bool is_panicked(const struct store *store)
{
    MDB_txn *txn = NULL;
    int rc = mdb_txn_begin(store->env, NULL, MDB_RDONLY, &txn);
    if (rc == 0)
        mdb_txn_abort(txn);
    return rc == MDB_PANIC;
}

static void keep_readable(struct writer *w)
{
    struct store *store = w->store;
    if (store->stand_in != NULL || !is_panicked(store))
        return;
    int rc = env__open_stand_in(store, &store->stand_in);
    LOG(store->log, LOG_ERROR, "storage_panic",
        F_CSTR("reads", rc == 0 ? "reopened" : storage__text(rc)));
    if (rc == 0)
        pool__switch(&store->pool, store->stand_in);
    else if (store->options.fatal != NULL)
        store->options.fatal(store->options.fatal_arg);
    else
        _exit(EXIT_UNREADABLE);
}

static void become_latched(struct writer *w, int rc, struct batch *failed)
{
    struct err err;
    LOG(w->store->log, LOG_ERROR, "storage_latched", F_CSTR("cause", storage__text(rc)));
    set_latched_error(&err);
    set_state(w, STORE_LATCHED);
    keep_readable(w);
    fail_all(failed, &err);
    drop_queued(w, &err);
}

/* True when the environment is at fault, not a batch: `failed` are then answered. */
static bool environment_failed(struct writer *w, int rc, struct batch *failed)
{
    enum write_failure kind = failure__kind(w->store, rc);
    if (kind == FAIL_FULL && is_panicked(w->store))
        kind = FAIL_LATCH;
    if (kind == FAIL_BATCH)
        return false;
    if (kind == FAIL_FULL)
        become_full(w, rc, failed);
    else
        become_latched(w, rc, failed);
    return true;
}

/* --- groups --- */

/* The file has lost its name: what is written to it goes with this process. */
static bool is_unlinked(const struct store *store)
{
    struct stat st;
    int fd;
    return mdb_env_get_fd(store->env, &fd) == 0 && fstat(fd, &st) == 0 && st.st_nlink == 0;
}

static int commit(struct writer *w)
{
    if (is_unlinked(w->store)) {
        group__abort(&w->group);
        return ENOENT;
    }
    int64_t start = clock_mono_ns(w->store->clock);
    int rc = group__commit(&w->group);
    if (rc == 0) {
        (void)fault_point(FAULT_WRITER_AFTER_COMMIT);
        count_group(w, clock_mono_ns(w->store->clock) - start);
    }
    return rc;
}

static void notify(struct writer *w)
{
    (void)fault_point(FAULT_WRITER_BEFORE_NOTIFY);
    tell_all(w->group.first);
    w->group.first = NULL;
    watch_all(w);
    group__clear(&w->group);
}

static bool has_room(const struct writer *w, int64_t start_ns)
{
    const struct group *group = &w->group;
    return group->ops < GROUP_OPS && group->bytes < GROUP_BYTES &&
           clock_mono_ns(w->store->clock) - start_ns < GROUP_MS * INT64_C(1000000);
}

/* Applies batches until none is left or the group is full. On failure the transaction is gone and
 * the group holds the batches that were in it. */
static int fill(struct writer *w)
{
    struct group *group = &w->group;
    int64_t start = clock_mono_ns(w->store->clock);
    int rc = group__begin(group);
    if (rc != 0)
        return rc;
    rc = fault_point(FAULT_WRITER_BEFORE_APPLY);
    while (rc == 0 && has_room(w, start)) {
        struct batch *batch = take(w);
        if (batch == NULL)
            break;
        group__join(group, batch);
        rc = apply__batch(group, batch);
    }
    if (rc != 0)
        group__abort(group);
    return rc;
}

/* One batch, one transaction. False: the environment failed, and it was answered. */
static bool run_alone(struct writer *w, struct batch *batch)
{
    struct err err;
    group__join(&w->group, batch);
    int rc = group__begin(&w->group);
    if (rc == 0) {
        rc = apply__batch(&w->group, batch);
        if (rc != 0)
            group__abort(&w->group);
        else
            rc = commit(w);
    }
    if (rc == 0) {
        notify(w);
        return true;
    }
    group__clear(&w->group);
    if (environment_failed(w, rc, batch))
        return false;
    (void)storage__error(&err, rc, "apply a batch");
    LOG(w->store->log, LOG_ERROR, "batch_failed", F_CSTR("cause", storage__text(rc)),
        F_INT("ops", batch->ops.n), F_INT("bytes", batch->bytes));
    fail_all(batch, &err);
    return true;
}

static void run_each(struct writer *w, struct batch *batch)
{
    while (batch != NULL) {
        struct batch *next = batch->next;
        batch->next = NULL;
        if (!run_alone(w, batch)) {
            struct err err;
            if (state_of(w->store) == STORE_FULL)
                set_full_error(&err);
            else
                set_latched_error(&err);
            fail_all(next, &err);
            return;
        }
        batch = next;
    }
}

static void run_group(struct writer *w)
{
    int rc = fill(w);
    if (rc == 0)
        rc = commit(w);
    if (rc == 0) {
        notify(w);
        return;
    }
    struct batch *batches = w->group.first;
    group__clear(&w->group);
    if (batches == NULL) /* not even a transaction: one batch carries the news */
        batches = take(w);
    if (!environment_failed(w, rc, batches))
        run_each(w, batches);
}

/* --- purge and probe --- */

static void run_purge(struct writer *w)
{
    struct store *store = w->store;
    MDB_txn *txn = NULL;
    uint64_t space = 0;
    bool more = false;
    int rc = mdb_txn_begin(store->env, NULL, 0, &txn);
    if (rc == 0)
        rc = purge__step(txn, store->dbi, &space, &more);
    if (rc == 0 && space != 0)
        rc = mdb_txn_commit(txn);
    else
        mdb_txn_abort(txn);
    pthread_mutex_lock(&w->mutex);
    w->purge = rc == 0 && more;
    mark_served(w, STORE_HOUSEKEEPING);
    pthread_mutex_unlock(&w->mutex);
    if (rc != 0 && !environment_failed(w, rc, NULL))
        LOG(store->log, LOG_ERROR, "purge_failed", F_CSTR("cause", storage__text(rc)));
}

static void run_probe(struct writer *w)
{
    int rc = failure__probe(w->store);
    if (rc == 0) {
        LOG(w->store->log, LOG_INFO, "storage_writable", F_CSTR("dir", w->store->dir));
        set_state(w, STORE_OK);
        pthread_mutex_lock(&w->mutex);
        w->purge = true; /* a step may have failed for want of space */
        pthread_mutex_unlock(&w->mutex);
    } else if (failure__kind(w->store, rc) == FAIL_LATCH) {
        become_latched(w, rc, NULL);
    }
}

/* --- the thread --- */

enum work { WORK_GROUP, WORK_PURGE, WORK_PROBE, WORK_END };

static void wait_probe_time(struct writer *w)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += PROBE_EVERY_S;
    while (!w->probe_now && !w->stopping) {
        if (pthread_cond_timedwait(&w->wake, &w->mutex, &until) == ETIMEDOUT)
            break;
    }
    w->probe_now = false;
}

/* Stopping ends only when the queues are empty: what was taken in is applied. A purge can wait for
 * the next start. */
static enum work next_work_locked(struct writer *w)
{
    for (;;) {
        int q = pick(w);
        if (state_of(w->store) == STORE_FULL && !w->stopping) {
            wait_probe_time(w);
            return w->stopping ? WORK_END : WORK_PROBE;
        }
        if (q < STORE_QUEUES && w->queues[q].n != 0)
            return WORK_GROUP;
        if (w->stopping)
            return WORK_END;
        if (q < STORE_QUEUES && state_of(w->store) == STORE_OK)
            return WORK_PURGE;
        (void)pthread_cond_wait(&w->wake, &w->mutex);
    }
}

static enum work next_work(struct writer *w)
{
    pthread_mutex_lock(&w->mutex);
    enum work work = next_work_locked(w);
    pthread_mutex_unlock(&w->mutex);
    return work;
}

static void *writer_main(void *arg)
{
    struct writer *w = arg;
    for (;;) {
        switch (next_work(w)) {
        case WORK_GROUP: run_group(w); break;
        case WORK_PURGE: run_purge(w); break;
        case WORK_PROBE: run_probe(w); break;
        case WORK_END: return NULL;
        }
    }
}

/* --- from other threads --- */

enum err_code writer__new(struct store *store, struct err *err)
{
    struct writer *w = calloc(1, sizeof *w);
    pthread_condattr_t attr;
    if (w == NULL)
        return err_set(err, ERR_UNAVAILABLE, "out of memory");
    store->writer = w;
    w->store = store;
    for (int q = 0; q < STORE_QUEUES; q++)
        w->queues[q].last = &w->queues[q].first;
    int rc = pthread_mutex_init(&w->mutex, NULL);
    ASSERT(rc == 0);
    rc = pthread_condattr_init(&attr);
    ASSERT(rc == 0);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    rc = pthread_cond_init(&w->wake, &attr);
    ASSERT(rc == 0);
    (void)pthread_condattr_destroy(&attr);
    return group__init(&w->group, store, err);
}

/* A purge that an earlier run did not finish. */
static int find_unfinished(struct writer *w)
{
    MDB_txn *txn = NULL;
    uint64_t dead = 0;
    int rc = mdb_txn_begin(w->store->env, NULL, MDB_RDONLY, &txn);
    if (rc == 0)
        rc = purge__first(txn, w->store->dbi, &dead);
    mdb_txn_abort(txn);
    w->purge = dead != 0;
    return rc;
}

enum err_code writer__start(struct store *store, struct err *err)
{
    struct writer *w = store->writer;
    ASSERT(!w->started);
    int rc = find_unfinished(w);
    if (rc != 0)
        return storage__error(err, rc, "look for deleted spaces");
    sigset_t all, old;
    /* Signals are the main thread's. */
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_BLOCK, &all, &old);
    rc = pthread_create(&w->thread, NULL, writer_main, w);
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (rc != 0)
        return storage__error(err, rc, "start the writer");
    w->started = true;
    return ERR_OK;
}

void writer__stop(struct store *store)
{
    struct writer *w = store->writer;
    pthread_mutex_lock(&w->mutex);
    w->stopping = true;
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->mutex);
    if (w->started)
        (void)pthread_join(w->thread, NULL);
    w->started = false;
    if (state_of(store) == STORE_OK)
        atomic_store(&store->state, STORE_STOPPING);
}

void writer__free(struct store *store)
{
    struct writer *w = store->writer;
    if (w == NULL)
        return;
    for (int q = 0; q < STORE_QUEUES; q++)
        ASSERT(w->queues[q].n == 0);
    group__fini(&w->group);
    (void)pthread_cond_destroy(&w->wake);
    (void)pthread_mutex_destroy(&w->mutex);
    free(w);
    store->writer = NULL;
}

static enum err_code may_submit_locked(struct writer *w, enum store_queue queue, struct err *err)
{
    switch (state_of(w->store)) {
    case STORE_FULL: set_full_error(err); return ERR_STORAGE_FULL;
    case STORE_LATCHED: set_latched_error(err); return ERR_UNAVAILABLE;
    default: break;
    }
    if (w->stopping || !w->started)
        return err_set(err, ERR_UNAVAILABLE, "the server is stopping");
    if (w->queues[queue].n >= w->store->options.queue_max) {
        (void)err_set(err, ERR_UNAVAILABLE, "too many writes are waiting");
        if (err != NULL)
            err->retry_after_s = 1;
        return ERR_UNAVAILABLE;
    }
    return ERR_OK;
}

enum err_code store_submit(struct store *store, struct batch *batch, enum store_queue queue,
                           store_done_fn *done, void *arg, struct err *err)
{
    struct writer *w = store->writer;
    ASSERT(w != NULL && batch_ok(batch) && done != NULL);
#ifndef NDEBUG
    batch_check(batch);
#endif
    batch->queue = queue;
    batch->done = done;
    batch->done_arg = arg;
    pthread_mutex_lock(&w->mutex);
    enum err_code code = may_submit_locked(w, queue, err);
    if (code == ERR_OK)
        queue_push(&w->queues[queue], batch);
    pthread_mutex_unlock(&w->mutex);
    /* Not under the mutex, for the writer would wake only to wait for it. */
    if (code == ERR_OK)
        pthread_cond_signal(&w->wake);
    return code;
}

enum err_code store_may_submit(struct store *store, enum store_queue queue, struct err *err)
{
    struct writer *w = store->writer;
    pthread_mutex_lock(&w->mutex);
    enum err_code code = may_submit_locked(w, queue, err);
    pthread_mutex_unlock(&w->mutex);
    return code;
}

void store_watch(struct store *store, store_watch_fn *watch, void *arg)
{
    store->writer->watch = watch;
    store->writer->watch_arg = arg;
}

void storage_probe_write(struct store *store)
{
    struct writer *w = store->writer;
    pthread_mutex_lock(&w->mutex);
    w->probe_now = true;
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->mutex);
}

void writer__figures(struct store *store, struct store_health *health)
{
    struct writer *w = store->writer;
    pthread_mutex_lock(&w->mutex);
    for (int q = 0; q < STORE_QUEUES; q++)
        health->queued[q] = w->queues[q].n;
    health->commits = w->figures.commits;
    health->batches = w->figures.batches;
    health->refused = w->figures.refused;
    health->commit_ns_total = w->figures.commit_ns;
    pthread_mutex_unlock(&w->mutex);
}
