#include "core/ingest/work.h"

#include <stdlib.h>
#include <sys/random.h>

#include "core/base/hash.h"
#include "core/ingest/boundary.h"
#include "core/ingest/embed.h"
#include "core/ingest/work_int.h"

struct works *works_new(lanes_submit_fn *submit, void *arg)
{
    struct works *works = calloc(1, sizeof *works);
    if (works == NULL)
        return NULL;
    if (pthread_mutex_init(&works->lock, NULL) != 0) {
        free(works);
        return NULL;
    }
    if (getrandom(&works->secret, sizeof works->secret, 0) != sizeof works->secret) {
        works_free(works);
        return NULL;
    }
    works->submit = submit;
    works->arg = arg;
    for (size_t i = WORKS_MAX; i-- > 0;) {
        works->work[i].next_free = works->free;
        works->free = &works->work[i];
    }
    return works;
}

void works_bind(struct works *works, const struct services *services)
{
    works->services = services;
}

void works_free(struct works *works)
{
    if (works == NULL)
        return;
    ASSERT(works_busy(works) == 0);
    (void)pthread_mutex_destroy(&works->lock);
    free(works);
}

static void lock(struct works *works)
{
    int rc = pthread_mutex_lock(&works->lock);
    ASSERT(rc == 0);
}

static void unlock(struct works *works)
{
    int rc = pthread_mutex_unlock(&works->lock);
    ASSERT(rc == 0);
}

enum err_code work__memory(struct err *err)
{
    return err_set(err, ERR_EXHAUSTED, "out of memory for work with a model");
}

/* --- the table; lock held --- */

static bool is_live(const struct work *work)
{
    return work->works != NULL;
}

static struct work *find(struct works *works, uint64_t space, enum work_kind kind, uint64_t id)
{
    for (size_t i = 0; i < WORKS_MAX; i++) {
        struct work *work = &works->work[i];
        if (is_live(work) && work->space == space && work->kind == kind && work->id == id)
            return work;
    }
    return NULL;
}

static unsigned count(const struct works *works, uint64_t space)
{
    unsigned n = 0;
    for (size_t i = 0; i < WORKS_MAX; i++)
        n += is_live(&works->work[i]) && works->work[i].space == space;
    return n;
}

/* No place is left; who frees one looks for those that are due. */
static bool is_full(struct works *works, enum work_kind kind)
{
    bool no_place = works->free == NULL;
    bool no_embed = kind == WORK_EMBED && works->embeds >= EMBEDS_MAX;
    works->overflow |= no_place;
    works->embeds_wait |= no_embed;
    return no_place || no_embed;
}

static struct work *take(struct works *works, uint64_t space, enum work_kind kind, uint64_t id)
{
    struct work *work = works->free;
    works->free = work->next_free;
    works->busy++;
    works->embeds += kind == WORK_EMBED;
    *work = (struct work){.works = works, .kind = kind, .space = space, .id = id};
    work->random = hash64((struct str){(const char *)&work->id, sizeof work->id}) ^ space;
    work->step.run = work__run;
    work->step.finish = work__finish;
    work->step.pool = STEP_STAGES;
    return work;
}

/* --- dispatch --- */

struct dispatch {
    struct works *works;
    uint64_t space;
    uint64_t now_ms;
    unsigned started;
};

static void start(struct dispatch *d, enum work_kind kind, uint64_t id)
{
    struct works *works = d->works;
    struct work *work = NULL;
    lock(works);
    bool wanted = !works->stopping && find(works, d->space, kind, id) == NULL && /* W1 */
                  count(works, d->space) < WORKS_PER_SPACE;
    if (wanted && !is_full(works, kind))
        work = take(works, d->space, kind, id);
    unlock(works);
    d->started += wanted;
    if (work == NULL)
        return;
    d->works->submit(&work->step, d->works->arg);
}

static enum err_code start_episodes(struct dispatch *d, struct store_cursor *cursor,
                                    struct err *err)
{
    struct store_item item;
    bool topics_wait = false;
    enum err_code rc = store_cursor_seek(cursor, STR(""), &item, err);
    while (rc == ERR_OK && item.key.at != NULL) {
        struct work_row row;
        rc = work__decode(item.key, item.value, &row, err);
        if (rc != ERR_OK)
            return rc;
        bool waits = row.stage == JOB_STAGE_TOPIC && topics_wait;
        topics_wait |= row.stage <= JOB_STAGE_TOPIC;
        if (!waits && row.due_ms <= d->now_ms)
            start(d, WORK_EPISODE, row.seq);
        rc = store_cursor_next(cursor, &item, err);
    }
    return rc;
}

static enum err_code start_boundaries(struct dispatch *d, struct store_cursor *cursor,
                                      struct err *err)
{
    struct store_item item;
    enum err_code rc = store_cursor_seek(cursor, STR(""), &item, err);
    while (rc == ERR_OK && item.key.at != NULL) {
        struct buffer buffer;
        if (item.key.len != 4)
            return err_set(err, ERR_INTERNAL, "a buffer has a wrong key");
        rc = buffer_decode(item.value, be32_get(item.key.at), &buffer, err);
        if (rc != ERR_OK)
            return rc;
        if (buffer.ask_ms != 0 && (uint64_t)buffer.ask_ms <= d->now_ms)
            start(d, WORK_BOUNDARY, buffer.session_no);
        rc = store_cursor_next(cursor, &item, err);
    }
    return rc;
}

static enum err_code
each(struct store_txn *txn, struct dispatch *d, enum store_kind kind,
     enum err_code (*walk)(struct dispatch *, struct store_cursor *, struct err *), struct err *err)
{
    struct store_cursor *cursor = NULL;
    enum err_code rc = store_cursor_open(txn, d->space, kind, &cursor, err);
    if (rc == ERR_OK)
        rc = walk(d, cursor, err);
    store_cursor_close(cursor);
    return rc;
}

static bool is_due(const struct space_stat *stat, enum stat_id id, uint64_t now_ms)
{
    return stat->v[id] != 0 && stat->v[id] <= now_ms;
}

enum err_code works_dispatch(struct works *works, struct store_txn *txn, uint64_t space,
                             unsigned *started, struct err *err)
{
    struct dispatch d = {
        .works = works, .space = space, .now_ms = (uint64_t)clock_now_ms(works->services->clock)};
    struct space_stat stat;
    *started = 0;
    enum err_code rc = store_stat(txn, space, &stat, err);
    if (rc == ERR_OK && is_due(&stat, STAT_WORK_DUE, d.now_ms)) {
        rc = each(txn, &d, KIND_WORK, start_episodes, err);
        if (rc == ERR_OK)
            rc = each(txn, &d, KIND_BUFFER, start_boundaries, err);
    }
    if (rc == ERR_OK && is_due(&stat, STAT_EMBED_DUE, d.now_ms) && embed_is_on(works->services))
        start(&d, WORK_EMBED, 0);
    *started = d.started;
    return rc;
}

/* --- ends --- */

void work__finish(struct step *step)
{
    struct work *work = (struct work *)(void *)step;
    struct works *works = work->works;
    uint64_t space = work->space;
    tokenizer_free(work->tokenizer);
    arena_free(work->arena);
    arena_free(work->batch_arena);
    lock(works);
    works->embeds -= work->kind == WORK_EMBED;
    /* Half of them at once: a scan for each would read the same DUE rows again. */
    bool embeds = works->embeds_wait && works->embeds <= EMBEDS_MAX / 2;
    bool again = (works->overflow || embeds) && !works->stopping;
    works->overflow = false;
    works->embeds_wait = works->embeds_wait && !embeds;
    *work = (struct work){.next_free = works->free};
    works->free = work;
    works->busy--;
    unlock(works);
    /* What became runnable by this step's batches was dispatched or found it still running. */
    lanes_due(works->services->lanes, space);
    if (again)
        lanes_scan(works->services->lanes);
}

bool works_has(struct works *works, uint64_t space)
{
    lock(works);
    bool has = count(works, space) != 0;
    unlock(works);
    return has;
}

bool work__embeds_wait(struct work *work)
{
    lock(work->works);
    bool wait = work->works->embeds_wait;
    unlock(work->works);
    return wait;
}

/* Vectors alone may be behind for long, and nothing else of the space waits for them. */
static bool has_other_due(struct store_txn *txn, uint64_t space, uint64_t now_ms)
{
    static const enum stat_id others[] = {STAT_IDLE_DUE, STAT_WORK_DUE, STAT_EXPIRE_DUE,
                                          STAT_VECTORS_DUE};
    struct space_stat stat;
    struct err err;
    bool due = store_stat(txn, space, &stat, &err) != ERR_OK;
    for (size_t i = 0; !due && i < sizeof others / sizeof others[0]; i++)
        due = is_due(&stat, others[i], now_ms);
    return due || !is_due(&stat, STAT_EMBED_DUE, now_ms);
}

bool works_minds(struct works *works, struct store_txn *txn, uint64_t space, uint64_t now_ms)
{
    lock(works);
    bool embeds = find(works, space, WORK_EMBED, 0) != NULL;
    bool others = count(works, space) > (embeds ? 1U : 0U);
    bool full = !embeds && works->embeds >= EMBEDS_MAX;
    unlock(works);
    if (others || !(embeds || full))
        return others;
    if (has_other_due(txn, space, now_ms))
        return false;
    lock(works);
    /* The last of them may have ended meanwhile, and found that nobody waits. */
    full = full && works->embeds >= EMBEDS_MAX;
    works->embeds_wait |= full;
    unlock(works);
    return embeds || full;
}

void works_cancel(struct works *works, uint64_t space, uint64_t seq)
{
    lock(works);
    struct work *work = find(works, space, WORK_EPISODE, seq);
    struct exchange *exchange = NULL;
    if (work != NULL) {
        atomic_store_explicit(&work->cancelled, true, memory_order_relaxed);
        exchange = &work->call.exchange;
    }
    unlock(works);
    /* Compared only: whatever it is by now, another exchange is not at that place of the same step
     * before a call is made for it. */
    struct transport *transport = works->services->transport;
    if (exchange != NULL && transport != NULL)
        transport->cancel(transport, exchange);
}

void works_stop(struct works *works)
{
    lock(works);
    works->stopping = true;
    unlock(works);
}

unsigned works_busy(struct works *works)
{
    lock(works);
    unsigned busy = works->busy + (works->sweep.works != NULL);
    unlock(works);
    return busy;
}

void works_check(struct works *works)
{
    unsigned live = 0, idle = 0, embeds = 0;
    lock(works);
    for (size_t i = 0; i < WORKS_MAX; i++) {
        live += is_live(&works->work[i]);
        embeds += is_live(&works->work[i]) && works->work[i].kind == WORK_EMBED;
    }
    for (const struct work *work = works->free; work != NULL; work = work->next_free)
        idle++;
    ASSERT(live == works->busy && live + idle == WORKS_MAX); /* W1, W3 */
    ASSERT(embeds == works->embeds && embeds <= EMBEDS_MAX);
    unlock(works);
}
