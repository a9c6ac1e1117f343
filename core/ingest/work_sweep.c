/* Spaces that were written while there was no embed provider, or another one: nothing in them says
 * that they are due, so at start all are looked at once, a page at a time with a pause behind each,
 * and those that are behind are made due, one maintenance batch each, a little later each. What was
 * interrupted begins anew at the next start; what is due already is passed by. */
#include <string.h>

#include "core/base/limits.h"
#include "core/ingest/embed.h"
#include "core/ingest/work_int.h"

enum {
    PAUSE_MS = 20,
    TROUBLE_MS = 1000,
    SPREAD_MS = 5, /* between two spaces that are made due */
    ARENA_BYTES = 4 << 20,
};

static enum step_verdict next_page(struct step *step), mark(struct step *step),
    marked(struct step *step);

static struct work_sweep *sweep_of(struct step *step)
{
    return (struct work_sweep *)(void *)step;
}

static bool is_stopping(struct work_sweep *sweep)
{
    struct works *works = sweep->works;
    (void)pthread_mutex_lock(&works->lock);
    bool stopping = works->stopping;
    (void)pthread_mutex_unlock(&works->lock);
    return stopping;
}

static enum step_verdict later(struct work_sweep *sweep, step_fn *run, int64_t ms)
{
    const struct clock *clock = sweep->works->services->clock;
    sweep->step.wait_space = 0;
    sweep->step.wait_seq = UINT64_MAX;
    sweep->step.wait_until_ms = clock_mono_ms(clock) + ms;
    sweep->step.run = run;
    return STEP_WAIT;
}

/* --- looking --- */

/* Documents above the watermark, no generation of the provider's identity, or one that is not
 * active yet. */
static enum err_code is_wanted(const struct stage_base *base, bool *wanted, struct err *err)
{
    struct space_stat stat;
    struct embed_plan plan;
    *wanted = false;
    enum err_code rc = store_stat(base->txn, base->space, &stat, err);
    if (rc == ERR_OK && (stat.v[STAT_EMBED_DUE] != 0 || !embed_is_behind(&stat, NULL)))
        return ERR_OK;
    if (rc == ERR_OK)
        rc = embed_plan(base, 0, &plan, err);
    if (rc == ERR_OK)
        *wanted = plan.current == NULL || plan.stale != NULL ||
                  plan.current->state != VECTORS_ACTIVE || embed_is_behind(&stat, plan.current);
    return rc == ERR_NOT_FOUND ? ERR_OK : rc; /* it was dropped */
}

static enum err_code look(struct work_sweep *sweep, struct store_txn *txn, struct err *err)
{
    struct store_space page[SWEEP_PAGE];
    size_t n = 0;
    struct str after = {sweep->after, sweep->after_len};
    enum err_code rc = store_spaces_list(txn, STR(""), sweep->after_len != 0 ? after : STR_NONE,
                                         page, SWEEP_PAGE, &n, err);
    sweep->n = sweep->at = 0;
    for (size_t i = 0; rc == ERR_OK && i < n; i++) {
        const struct stage_base base = {txn, page[i].id, sweep->works->services, sweep->arena};
        bool wanted;
        rc = is_wanted(&base, &wanted, err);
        if (rc == ERR_OK && wanted)
            sweep->spaces[sweep->n++] = page[i].id;
    }
    if (rc != ERR_OK)
        return rc;
    sweep->ended = n < SWEEP_PAGE;
    if (n != 0) {
        ASSERT(page[n - 1].name.len <= sizeof sweep->after);
        sweep->after_len = (uint32_t)page[n - 1].name.len;
        memcpy(sweep->after, page[n - 1].name.at, sweep->after_len);
    }
    return ERR_OK;
}

static void log_trouble(const struct work_sweep *sweep, const struct err *err)
{
    const struct log *log = sweep->works->services->log;
    if (log != NULL)
        log_err(log, LOG_WARN, "embedding_sweep_failed", err);
}

static enum step_verdict next_page(struct step *step)
{
    struct work_sweep *sweep = sweep_of(step);
    struct store_txn *txn = NULL;
    struct err err = {0};
    if (is_stopping(sweep))
        return STEP_DONE;
    if (sweep->arena == NULL)
        sweep->arena = arena_new(ARENA_BYTES);
    else
        arena_reset(sweep->arena);
    enum err_code rc = sweep->arena != NULL ? ERR_OK : work__memory(&err);
    if (rc == ERR_OK)
        rc = store_begin(sweep->works->services->store, &txn, &err);
    if (rc == ERR_OK)
        rc = look(sweep, txn, &err);
    store_end(txn);
    if (rc == ERR_OK)
        return mark(step);
    log_trouble(sweep, &err);
    return later(sweep, next_page, TROUBLE_MS);
}

/* --- making them due --- */

static enum step_verdict mark(struct step *step)
{
    struct work_sweep *sweep = sweep_of(step);
    struct err err = {0};
    if (is_stopping(sweep) || (sweep->at == sweep->n && sweep->ended))
        return STEP_DONE;
    if (sweep->at == sweep->n)
        return later(sweep, next_page, PAUSE_MS);
    arena_reset(sweep->arena); /* the last batch is committed */
    struct batch *batch = batch_new(sweep->arena, sweep->spaces[sweep->at], CAUSE_KEEP);
    if (batch != NULL)
        batch_min(batch, STAT_EMBED_DUE,
                  (uint64_t)clock_now_ms(sweep->works->services->clock) +
                      (uint64_t)sweep->marked * SPREAD_MS);
    if (batch == NULL || !batch_ok(batch)) {
        (void)work__memory(&err);
        log_trouble(sweep, &err);
        return later(sweep, mark, TROUBLE_MS);
    }
    step->batch = batch;
    step->queue = STORE_HOUSEKEEPING;
    step->run = marked;
    return STEP_COMMIT;
}

static enum step_verdict marked(struct step *step)
{
    struct work_sweep *sweep = sweep_of(step);
    step->batch = NULL;
    if (step->outcome != ERR_OK && step->outcome != ERR_NOT_FOUND) {
        log_trouble(sweep, &step->err);
        return later(sweep, mark, TROUBLE_MS);
    }
    sweep->marked += step->outcome == ERR_OK;
    sweep->at++;
    return mark(step);
}

/* --- its life --- */

static void finish(struct step *step)
{
    struct work_sweep *sweep = sweep_of(step);
    struct works *works = sweep->works;
    arena_free(sweep->arena);
    (void)pthread_mutex_lock(&works->lock);
    *sweep = (struct work_sweep){.works = NULL};
    (void)pthread_mutex_unlock(&works->lock);
}

void works_sweep(struct works *works)
{
    struct work_sweep *sweep = &works->sweep;
    if (!embed_is_on(works->services))
        return;
    (void)pthread_mutex_lock(&works->lock);
    bool start = !works->stopping && sweep->works == NULL;
    if (start) {
        *sweep = (struct work_sweep){.works = works};
        sweep->step = (struct step){.run = next_page, .finish = finish, .pool = STEP_STAGES};
    }
    (void)pthread_mutex_unlock(&works->lock);
    if (start)
        works->submit(&sweep->step, works->arg);
}
