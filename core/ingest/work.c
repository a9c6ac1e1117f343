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

/* NULL: it runs already, there is no place, or the daemon stops. */
static struct work *take(struct works *works, uint64_t space, enum work_kind kind, uint64_t id,
                         bool *crowded)
{
    if (works->stopping || find(works, space, kind, id) != NULL) /* W1 */
        return NULL;
    bool no_embed = kind == WORK_EMBED && works->embeds >= EMBEDS_MAX;
    if (works->free == NULL || no_embed || count(works, space) >= WORKS_PER_SPACE) {
        works->overflow |= works->free == NULL;
        works->embeds_wait |= no_embed;
        *crowded = true;
        return NULL;
    }
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
    struct works_look *look;
};

static void note_later(struct works_look *look, const struct dispatch *d, uint64_t due_ms)
{
    if (due_ms > d->now_ms && due_ms < look->next_ms)
        look->next_ms = due_ms;
}

static void start_now(struct dispatch *d, enum work_kind kind, uint64_t id)
{
    lock(d->works);
    struct work *work = take(d->works, d->space, kind, id, &d->look->crowded);
    unlock(d->works);
    if (work != NULL)
        d->works->submit(&work->step, d->works->arg);
}

/* Something that could be done at `due_ms`. */
static void start(struct dispatch *d, enum work_kind kind, uint64_t id, uint64_t due_ms)
{
    struct works_look *look = d->look;
    uint64_t due = due_ms == 0 ? 1 : due_ms;
    if (look->due_ms == 0 || due < look->due_ms)
        look->due_ms = due;
    note_later(look, d, due);
    if (due <= d->now_ms)
        start_now(d, kind, id);
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
        if (!waits)
            start(d, WORK_EPISODE, row.seq, row.due_ms);
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
        if (buffer.ask_ms != 0)
            start(d, WORK_BOUNDARY, buffer.session_no, (uint64_t)buffer.ask_ms);
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

/* All its steps know when it is to be looked at again. */
static void set_look(struct works *works, uint64_t space, uint64_t at_ms)
{
    for (size_t i = 0; works->busy != 0 && i < WORKS_MAX; i++) {
        if (is_live(&works->work[i]) && works->work[i].space == space)
            works->work[i].look_ms = at_ms;
    }
}

static bool is_due(const struct space_stat *stat, enum stat_id id, uint64_t now_ms)
{
    return stat->v[id] != 0 && stat->v[id] <= now_ms;
}

enum err_code works_dispatch(struct works *works, struct store_txn *txn, uint64_t space,
                             struct works_look *look, struct err *err)
{
    struct dispatch d = {.works = works,
                         .space = space,
                         .now_ms = (uint64_t)clock_now_ms(works->services->clock),
                         .look = look};
    struct space_stat stat;
    *look = (struct works_look){.next_ms = UINT64_MAX};
    enum err_code rc = store_stat(txn, space, &stat, err);
    if (rc != ERR_OK)
        return rc;
    look->due_ms = stat.v[STAT_WORK_DUE];
    if (look->due_ms != 0 && look->due_ms <= d.now_ms) {
        look->due_ms = 0;
        rc = each(txn, &d, KIND_WORK, start_episodes, err);
        if (rc == ERR_OK)
            rc = each(txn, &d, KIND_BUFFER, start_boundaries, err);
    }
    if (rc == ERR_OK && is_due(&stat, STAT_EMBED_DUE, d.now_ms) && embed_is_on(works->services))
        start_now(&d, WORK_EMBED, 0);
    static const enum stat_id times[] = {STAT_WORK_DUE, STAT_EMBED_DUE, STAT_VECTORS_DUE,
                                         STAT_IDLE_DUE, STAT_EXPIRE_DUE};
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++)
        note_later(look, &d, stat.v[times[i]]);
    lock(works);
    set_look(works, space, look->next_ms);
    look->at_work = count(works, space) != 0;
    unlock(works);
    return rc;
}

void works_want(struct works *works, uint64_t space)
{
    lock(works);
    set_look(works, space, 0);
    unlock(works);
}

uint64_t works_next_look_ms(struct works *works, uint64_t space)
{
    uint64_t at_ms = UINT64_MAX;
    bool any = false;
    lock(works);
    for (size_t i = 0; works->busy != 0 && i < WORKS_MAX; i++) {
        const struct work *work = &works->work[i];
        if (!is_live(work) || work->space != space)
            continue;
        any = true;
        if (work->look_ms < at_ms)
            at_ms = work->look_ms;
    }
    unlock(works);
    return any ? at_ms : 0;
}

/* --- ends --- */

void work__finish(struct step *step)
{
    struct work *work = (struct work *)(void *)step;
    struct works *works = work->works;
    uint64_t space = work->space;
    bool failed = work->failed;
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
    /* What became runnable by this step's batches was dispatched or found it still running. After a
     * failure the space is looked at when its rest is over. */
    if (failed)
        works_want(works, space);
    else
        lanes_due(works->services->lanes, space);
    /* Not at once: one scan for all places that become free meanwhile. */
    if (again)
        lanes_note_due(works->services->lanes, (uint64_t)clock_now_ms(works->services->clock));
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

bool works_embed_later(struct works *works, struct store_txn *txn, uint64_t space, uint64_t now_ms)
{
    lock(works);
    bool full = works->embeds >= EMBEDS_MAX && find(works, space, WORK_EMBED, 0) == NULL;
    unlock(works);
    if (!full || has_other_due(txn, space, now_ms))
        return false;
    lock(works);
    /* The last of them may have ended meanwhile, and found that nobody waits. */
    full = works->embeds >= EMBEDS_MAX;
    works->embeds_wait |= full;
    unlock(works);
    return full;
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
