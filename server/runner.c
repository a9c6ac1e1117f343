#include "server/runner.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "core/batch.h"
#include "core/model/call.h"
#include "server/waits.h"

enum {
    SCAN_PAUSE_MS = 100,      /* least time between two scans that the timer asked for */
    LONGEST_SLEEP_MS = 60000, /* wall clocks may be set; look again */
    ENCODERS = STEP_POOLS,    /* the pool that computes calls of stage steps */
    POOLS,
};

struct pool {
    struct runner *runner;
    pthread_mutex_t lock;
    pthread_cond_t more;
    struct step *first, *last; /* linked by step->next */
    unsigned queued, queue_max;
    bool stopping;
    pthread_t *threads;
    unsigned n_threads; /* started */
    bool made;          /* lock and cond exist */
};

/* Steps on their way into a pool, linked by step->next. */
struct list {
    struct step *first, *last;
    unsigned n;
};

struct runner {
    struct pool pool[POOLS];
    struct list told[STEP_POOLS]; /* by the writer, of the group it tells; the writer thread's */
    struct waits *waits;
    const struct services *services;
    const struct clock *clock;
    const struct log *log;
    runner_wake_fn *wake;
    void *wake_arg;
    /* The tick that the loop knows of. Relaxed: its partners are the locks of waits and lanes,
     * taken by both sides between registering or looking and this. */
    atomic_int_fast64_t armed_ms;
    atomic_int_fast64_t scanned_ms; /* monotonic time of the last scan; loop thread only */
    atomic_bool ending;             /* runner_end_waits() was called */
};

/* What the writer is given beside the batch; lives in the batch's arena. */
struct commit {
    struct runner *runner;
    struct step *step;
};

/* --- queues --- */

static void pool_lock(struct pool *pool)
{
    int rc = pthread_mutex_lock(&pool->lock);
    ASSERT(rc == 0);
}

static void pool_unlock(struct pool *pool)
{
    int rc = pthread_mutex_unlock(&pool->lock);
    ASSERT(rc == 0);
}

static void list_add(struct list *list, struct step *step)
{
    step->next = NULL;
    if (list->first == NULL)
        list->first = step;
    else
        list->last->next = step;
    list->last = step;
    list->n++;
}

/* Wakes as many workers as there is work for. Not under the lock, for they would wake only to wait
 * for it; the pool is there until its workers are joined and nobody is left to hand steps over. */
static void pool_wake(struct pool *pool, unsigned steps)
{
    for (unsigned i = 0; i < steps && i < pool->n_threads; i++) {
        int rc = pthread_cond_signal(&pool->more);
        ASSERT(rc == 0);
    }
}

static void pool_append_locked(struct pool *pool, const struct list *list)
{
    if (pool->first == NULL)
        pool->first = list->first;
    else
        pool->last->next = list->first;
    pool->last = list->last;
    pool->queued += list->n;
}

/* Takes the whole list in and empties it. */
static void pool_put(struct pool *pool, struct list *list)
{
    if (list->n == 0)
        return;
    pool_lock(pool);
    pool_append_locked(pool, list);
    pool_unlock(pool);
    pool_wake(pool, list->n);
    *list = (struct list){.n = 0};
}

/* Takes the first `n` out of the list. */
static struct list list_cut(struct list *list, unsigned n)
{
    struct list head = {.n = 0};
    while (list->n != 0 && head.n < n) {
        struct step *step = list->first;
        list->first = step->next;
        list->n--;
        list_add(&head, step);
    }
    return head;
}

/* The same for new work: what the pool has no room for stays in the list. */
static void pool_put_new(struct pool *pool, struct list *list)
{
    if (list->n == 0)
        return;
    pool_lock(pool);
    unsigned room = pool->queued < pool->queue_max ? pool->queue_max - pool->queued : 0;
    struct list fits = list_cut(list, room);
    if (fits.n != 0)
        pool_append_locked(pool, &fits);
    pool_unlock(pool);
    pool_wake(pool, fits.n);
}

/* Waits for a step; NULL when the pool stops and nothing is queued. */
static struct step *pool_take(struct pool *pool)
{
    pool_lock(pool);
    while (pool->first == NULL && !pool->stopping) {
        int rc = pthread_cond_wait(&pool->more, &pool->lock);
        ASSERT(rc == 0);
    }
    struct step *step = pool->first;
    if (step != NULL) {
        pool->first = step->next;
        step->next = NULL;
        pool->queued--;
    }
    pool_unlock(pool);
    return step;
}

static void queue_in(struct pool *pool, struct step *step)
{
    struct list one = {.n = 0};
    list_add(&one, step);
    pool_put(pool, &one);
}

static void queue(struct runner *runner, struct step *step)
{
    ASSERT((unsigned)step->pool < STEP_POOLS);
    queue_in(&runner->pool[step->pool], step);
}

static void sort_out(struct step *steps, struct list lists[STEP_POOLS])
{
    while (steps != NULL) {
        struct step *step = steps;
        steps = step->next;
        ASSERT((unsigned)step->pool < STEP_POOLS && step->run != NULL && step->finish != NULL);
        list_add(&lists[step->pool], step);
    }
}

static void queue_list(struct runner *runner, struct step *steps)
{
    struct list lists[STEP_POOLS] = {{.n = 0}};
    sort_out(steps, lists);
    for (unsigned i = 0; i < STEP_POOLS; i++)
        pool_put(&runner->pool[i], &lists[i]);
}

/* --- time --- */

/* Monotonic time at which the lanes want a scan. */
static int64_t lanes_next_ms(struct runner *runner)
{
    if (runner->services == NULL || runner->services->lanes == NULL ||
        atomic_load_explicit(&runner->ending, memory_order_relaxed))
        return INT64_MAX;
    uint64_t due_ms = lanes_next_due_ms(runner->services->lanes);
    if (due_ms == UINT64_MAX)
        return INT64_MAX;
    int64_t now_wall = clock_now_ms(runner->clock);
    int64_t now = clock_mono_ms(runner->clock);
    int64_t ahead = due_ms > (uint64_t)now_wall + LONGEST_SLEEP_MS ? LONGEST_SLEEP_MS
                    : due_ms <= (uint64_t)now_wall                 ? 0
                                                   : (int64_t)(due_ms - (uint64_t)now_wall);
    int64_t earliest =
        atomic_load_explicit(&runner->scanned_ms, memory_order_relaxed) + SCAN_PAUSE_MS;
    return now + ahead > earliest ? now + ahead : earliest;
}

int64_t runner_next_ms(struct runner *runner)
{
    /* Before looking: whoever registers an earlier moment after the look finds this and wakes. */
    atomic_store_explicit(&runner->armed_ms, INT64_MAX, memory_order_relaxed);
    int64_t waits = waits_next_ms(runner->waits);
    int64_t lanes = lanes_next_ms(runner);
    int64_t next = waits < lanes ? waits : lanes;
    atomic_store_explicit(&runner->armed_ms, next, memory_order_relaxed);
    return next;
}

/* Wakes whoever keeps the timer when it must ring earlier than it was told. */
static void arm(struct runner *runner, int64_t at_ms)
{
    int64_t armed = atomic_load_explicit(&runner->armed_ms, memory_order_relaxed);
    while (at_ms < armed) {
        if (atomic_compare_exchange_weak_explicit(&runner->armed_ms, &armed, at_ms,
                                                  memory_order_relaxed, memory_order_relaxed)) {
            runner->wake(runner->wake_arg);
            return;
        }
    }
}

void runner_tick(struct runner *runner)
{
    int64_t now = clock_mono_ms(runner->clock);
    queue_list(runner, waits_expire(runner->waits, now));
    if (lanes_next_ms(runner) <= now) {
        atomic_store_explicit(&runner->scanned_ms, now, memory_order_relaxed);
        lanes_scan(runner->services->lanes);
    }
}

/* --- what a step asked for --- */

/* A group is handed over at once, so that it costs each pool one wake and not one a batch. */
static void on_committed(struct batch *batch, enum err_code code, const struct err *err, void *arg)
{
    struct commit commit = *(const struct commit *)arg;
    struct runner *runner = commit.runner;
    struct step *step = commit.step;
    bool more = batch->more;
    ASSERT((unsigned)step->pool < STEP_POOLS);
    step->outcome = code;
    if (code != ERR_OK)
        step->err = *err;
    list_add(&runner->told[step->pool], step);
    for (unsigned i = 0; i < STEP_POOLS && !more; i++)
        pool_put(&runner->pool[i], &runner->told[i]);
}

/* True when the step went to the writer; false: it goes on at once, with its outcome set. */
static bool submit_batch(struct runner *runner, struct step *step)
{
    struct err err = {.code = ERR_OK};
    struct commit *commit = arena_alloc(step->batch->arena, sizeof *commit);
    if (commit == NULL) {
        step->outcome = err_set(&step->err, ERR_EXHAUSTED, "out of memory for the batch");
        return false;
    }
    *commit = (struct commit){runner, step};
    enum err_code code =
        store_submit(runner->services->store, step->batch, step->queue, on_committed, commit, &err);
    if (code == ERR_OK)
        return true; /* R2 */
    step->outcome = code;
    step->err = err;
    return false;
}

/* Where the space stands now; the step that asked may be elsewhere already. */
static void tell_current(struct runner *runner, uint64_t space)
{
    struct err err = {.code = ERR_OK};
    struct store_txn *txn = NULL;
    struct space_stat stat;
    enum err_code code = store_begin(runner->services->store, &txn, &err);
    if (code == ERR_OK)
        code = store_stat(txn, space, &stat, &err);
    store_end(txn);
    bool gone = code == ERR_NOT_FOUND;
    if (code == ERR_OK || gone) {
        uint64_t processed = gone ? 0 : stat.v[STAT_PROCESSED];
        queue_list(runner, waits_tell(runner->waits, space, processed, gone));
    } else {
        /* The deadline of the wait still holds. */
        log_err(runner->log, LOG_WARN, "wait_not_read", &err);
    }
}

/* False: the runner is ending, and the step goes on with timed_out set. */
static bool wait_for(struct runner *runner, struct step *step)
{
    uint64_t space = step->wait_space;
    int64_t until_ms = step->wait_until_ms;
    if (!waits_add(runner->waits, step))
        return false;
    if (space != 0 && runner->services->lanes != NULL)
        lanes_hurry(runner->services->lanes, space);
    arm(runner, until_ms);
    if (space != 0)
        tell_current(runner, space); /* R3 */
    return true;
}

/* --- model calls --- */

/* What the transport is given beside the exchange; lives in the call's arena. */
struct exchanging {
    struct runner *runner;
    struct step *step;
};

static void on_exchanged(struct exchange *exchange)
{
    struct exchanging x = *(const struct exchanging *)exchange->arg;
    queue(x.runner, x.step);
}

static bool start_exchange(struct runner *runner, struct step *step)
{
    struct model_call *call = step->call;
    struct exchanging *x = arena_alloc(call->arena, sizeof *x);
    if (x == NULL) {
        model_call_give_up(call);
        return false;
    }
    *x = (struct exchanging){runner, step};
    call->exchange.done = on_exchanged;
    call->exchange.arg = x;
    runner->services->transport->start(runner->services->transport, &call->exchange);
    return true; /* R2 */
}

/* A wait of no space, so only its time ends it; when the runner is ending it does at once, and the
 * call finds that the models have stopped. */
static bool pause_call(struct runner *runner, struct step *step)
{
    int64_t until_ms = step->call->resume_ms;
    step->wait_space = 0;
    step->wait_seq = UINT64_MAX;
    step->wait_until_ms = until_ms;
    if (!waits_add(runner->waits, step))
        return false;
    arm(runner, until_ms);
    return true;
}

/* Takes the step's call further. True: the transport or the timer has the step; false: the call is
 * done. */
static bool advance_call(struct runner *runner, struct step *step)
{
    for (;;) {
        switch (model_call_advance(runner->services->models, step->call)) {
        case MODEL_DONE: step->call = NULL; return false;
        case MODEL_EXCHANGE:
            if (start_exchange(runner, step))
                return true;
            break;
        case MODEL_WAIT:
            if (pause_call(runner, step))
                return true;
            break;
        }
    }
}

static bool call_model(struct runner *runner, struct step *step)
{
    ASSERT(step->call != NULL && runner->services->models != NULL);
    if (step->lane_held)
        lanes_leave(runner->services->lanes, step);
    struct pool *encoders = &runner->pool[ENCODERS];
    if (step->pool == STEP_STAGES && encoders->n_threads != 0 &&
        models_is_builtin(runner->services->models, step->call->purpose)) {
        queue_in(encoders, step);
        return true;
    }
    return advance_call(runner, step);
}

static void end_step(struct runner *runner, struct step *step)
{
    if (step->lane_held)
        lanes_leave(runner->services->lanes, step);
    step->finish(step);
}

/* Runs a step until it is done or somebody else has it. */
static void run_step(struct runner *runner, struct step *step)
{
    if (step->call != NULL && advance_call(runner, step))
        return;
    for (;;) {
        switch (step->run(step)) {
        case STEP_DONE: end_step(runner, step); return;
        case STEP_COMMIT:
            if (submit_batch(runner, step))
                return;
            break;
        case STEP_WAIT:
            if (wait_for(runner, step))
                return;
            break;
        case STEP_CALL:
            if (call_model(runner, step))
                return;
            break;
        case STEP_LANE: lanes_enter(runner->services->lanes, step); return;
        }
    }
}

static void *encode(void *arg)
{
    struct pool *pool = arg;
    struct step *step;
    while ((step = pool_take(pool)) != NULL) {
        bool elsewhere = advance_call(pool->runner, step);
        ASSERT(!elsewhere);
        queue(pool->runner, step);
    }
    return NULL;
}

static void *work(void *arg)
{
    struct pool *pool = arg;
    struct runner *runner = pool->runner;
    bool is_stages = pool == &runner->pool[STEP_STAGES];
    struct step *step;
    while ((step = pool_take(pool)) != NULL) {
        run_step(runner, step);
        /* Stage steps move the lanes' next due time without telling anybody. */
        if (is_stages)
            arm(runner, lanes_next_ms(runner));
    }
    return NULL;
}

/* --- from outside --- */

struct step *runner_submit_list(struct runner *runner, struct step *steps)
{
    struct list lists[STEP_POOLS] = {{.n = 0}};
    struct list refused = {.n = 0};
    sort_out(steps, lists);
    for (unsigned i = 0; i < STEP_POOLS; i++) {
        pool_put_new(&runner->pool[i], &lists[i]);
        while (lists[i].n != 0) {
            struct list one = list_cut(&lists[i], 1);
            list_add(&refused, one.first);
        }
    }
    return refused.first;
}

enum err_code runner_submit(struct runner *runner, struct step *step, struct err *err)
{
    step->next = NULL;
    if (runner_submit_list(runner, step) == NULL)
        return ERR_OK;
    enum err_code code =
        err_set(err, ERR_UNAVAILABLE, "too many requests are waiting for a worker");
    err->retry_after_s = 1;
    return code;
}

void runner_submit_lane(struct step *step, void *arg)
{
    queue(arg, step);
}

void runner_watch(const struct store_change *change, void *arg)
{
    struct runner *runner = arg;
    queue_list(runner,
               waits_tell(runner->waits, change->space, change->processed, change->dropped));
    struct lanes *lanes = runner->services->lanes;
    if (lanes == NULL || change->dropped || change->due_ms == UINT64_MAX)
        return;
    if (change->due_ms <= (uint64_t)clock_now_ms(runner->clock)) {
        lanes_due(lanes, change->space);
        arm(runner, lanes_next_ms(runner));
        return;
    }
    lanes_note_due(lanes, change->due_ms);
    arm(runner, lanes_next_ms(runner));
}

void runner_bind(struct runner *runner, const struct services *services)
{
    runner->services = services;
    store_watch(services->store, runner_watch, runner);
}

void runner_end_wait(struct runner *runner, struct step *step)
{
    if (waits_take(runner->waits, step))
        queue(runner, step);
}

void runner_end_waits(struct runner *runner)
{
    atomic_store_explicit(&runner->ending, true, memory_order_relaxed);
    queue_list(runner, waits_end(runner->waits));
}

unsigned runner_queued(struct runner *runner, enum step_pool pool)
{
    pool_lock(&runner->pool[pool]);
    unsigned queued = runner->pool[pool].queued;
    pool_unlock(&runner->pool[pool]);
    return queued;
}

unsigned runner_waiting(struct runner *runner)
{
    return waits_count(runner->waits);
}

/* --- life --- */

static enum err_code pool_init(struct pool *pool, void *(*work_of)(void *pool), unsigned threads,
                               struct err *err)
{
    pool->threads = calloc(threads, sizeof *pool->threads);
    if (pool->threads == NULL)
        return err_set(err, ERR_EXHAUSTED, "out of memory for %u workers", threads);
    if (pthread_mutex_init(&pool->lock, NULL) != 0)
        return err_set(err, ERR_EXHAUSTED, "a lock can't be made");
    if (pthread_cond_init(&pool->more, NULL) != 0) {
        (void)pthread_mutex_destroy(&pool->lock);
        return err_set(err, ERR_EXHAUSTED, "a condition can't be made");
    }
    pool->made = true;
    for (unsigned i = 0; i < threads; i++) {
        if (pthread_create(&pool->threads[i], NULL, work_of, pool) != 0)
            return err_set(err, ERR_EXHAUSTED, "worker %u of %u can't be started", i + 1, threads);
        pool->n_threads++;
    }
    return ERR_OK;
}

/* Afterwards no thread of the pool is left; others may still be about to wake one. */
static void pool_stop(struct pool *pool)
{
    if (!pool->made)
        return;
    pool_lock(pool);
    pool->stopping = true;
    int rc = pthread_cond_broadcast(&pool->more);
    ASSERT(rc == 0);
    pool_unlock(pool);
    for (unsigned i = 0; i < pool->n_threads; i++) {
        rc = pthread_join(pool->threads[i], NULL);
        ASSERT(rc == 0);
    }
}

static void pool_fini(struct pool *pool)
{
    if (pool->made) {
        ASSERT(pool->first == NULL); /* R4 */
        (void)pthread_cond_destroy(&pool->more);
        (void)pthread_mutex_destroy(&pool->lock);
    }
    free(pool->threads);
}

enum err_code runner_new(const struct runner_options *options, struct runner **out, struct err *err)
{
    *out = NULL;
    struct runner *runner = calloc(1, sizeof *runner);
    if (runner == NULL)
        return err_set(err, ERR_EXHAUSTED, "out of memory");
    runner->clock = options->clock;
    runner->log = options->log;
    runner->wake = options->wake;
    runner->wake_arg = options->wake_arg;
    atomic_init(&runner->armed_ms, INT64_MAX);
    atomic_init(&runner->scanned_ms, INT64_MIN / 2);
    enum err_code code = ERR_OK;
    runner->waits = waits_new();
    if (runner->waits == NULL)
        code = err_set(err, ERR_EXHAUSTED, "out of memory");
    for (unsigned i = 0; i < POOLS; i++)
        runner->pool[i].runner = runner;
    for (unsigned i = 0; i < STEP_POOLS && code == ERR_OK; i++) {
        runner->pool[i].queue_max = options->queue_max[i];
        code = pool_init(&runner->pool[i], work, options->threads[i], err);
    }
    if (code == ERR_OK && options->encoders != 0)
        code = pool_init(&runner->pool[ENCODERS], encode, options->encoders, err);
    if (code == ERR_OK)
        *out = runner;
    else
        runner_free(runner);
    return code;
}

void runner_free(struct runner *runner)
{
    if (runner == NULL)
        return;
    /* A thread of one pool hands steps to another and wakes it after that. */
    for (unsigned i = 0; i < POOLS; i++)
        pool_stop(&runner->pool[i]);
    for (unsigned i = 0; i < POOLS; i++)
        pool_fini(&runner->pool[i]);
    waits_free(runner->waits);
    free(runner);
}
