#include "core/ingest/stage.h"

#include "core/ingest/stage_int.h"
#include "core/ingest/upkeep.h"

enum err_code stage__memory(struct err *err)
{
    return err_set(err, ERR_EXHAUSTED, "out of memory while building a stage");
}

static enum err_code start(struct stage_work *w, struct err *err)
{
    enum err_code rc = space_get(w->txn, w->space, &w->settings, err);
    if (rc == ERR_OK)
        rc = tokenizer_new(w->settings.language, &w->tokenizer, err);
    if (rc != ERR_OK)
        return rc;
    w->columns = columns_new(w->txn, w->space, w->arena);
    w->lengths = lengths_new(w->txn, w->space, w->arena);
    w->batch = batch_new(w->arena, w->space, CAUSE_STAGE);
    if (w->columns == NULL || w->lengths == NULL || w->batch == NULL)
        return stage__memory(err);
    w->reader = (struct said_reader){w->txn, w->space, w->arena, w->tokenizer};
    w->looked = (uint32_t)w->stat.v[STAT_LOOKED];
    return stage__open_all(w, err);
}

/* What the walk found is written, whether an episode closed or not. */
static enum err_code write_walk(struct stage_work *w, struct err *err)
{
    struct batch *batch = w->batch;
    enum err_code rc = stage__rows_write(w, err);
    if (rc == ERR_OK)
        rc = stage__open_write(w, err);
    if (rc != ERR_OK)
        return rc;
    /* With no turn left every number that was given is behind us, also those of deleted turns. */
    uint64_t looked = w->next_seq == 0 ? w->stat.v[STAT_NEXT_TURN] - 1 : w->looked;
    batch_set(batch, STAT_LOOKED, looked);
    batch_set(batch, STAT_IDLE_DUE, stage__open_due(w));
    batch_add(batch, STAT_PENDING, -(int64_t)w->n_looked);
    batch_add(batch, STAT_OPEN, w->opened);
    batch->processed = w->next_seq == 0 ? w->stat.v[STAT_SEQ] : w->next_seq - 1;
    return ERR_OK;
}

static enum err_code finish(struct stage_work *w, struct err *err)
{
    struct batch *batch = w->batch;
    batch_need_stat(batch, STAT_CHANGES, w->stat.v[STAT_CHANGES]);
    batch_add(batch, STAT_CHANGES, 1);
    if (!batch_ok(batch))
        return stage__memory(err);
    DASSERT((batch_check(batch), true));
    w->unit->batch = batch;
    w->unit->queue = STORE_STAGES;
    w->unit->stage = METRIC_H_STAGE_BUILD;
    w->unit->more = true;
    return ERR_OK;
}

/* The time that was written down has come, but no buffer is idle: a turn came meanwhile. */
static enum err_code correct_due(struct stage_work *w, struct err *err)
{
    uint64_t due = stage__open_due(w);
    if (due == w->stat.v[STAT_IDLE_DUE])
        return ERR_OK;
    w->batch->cause = CAUSE_KEEP;
    w->batch->has_seq = false;
    batch_set(w->batch, STAT_IDLE_DUE, due);
    return finish(w, err);
}

static enum err_code build(struct stage_work *w, struct err *err)
{
    enum err_code rc = start(w, err);
    if (rc == ERR_OK)
        rc = stage__walk(w, err);
    if (rc != ERR_OK || !w->changed)
        return rc == ERR_OK ? correct_due(w, err) : rc;
    if (w->closing.turns != 0)
        rc = stage__episode(w, err);
    if (rc == ERR_OK)
        rc = write_walk(w, err);
    return rc == ERR_OK ? finish(w, err) : rc;
}

static bool has_stage_work(const struct space_stat *stat, int64_t now_ms)
{
    uint64_t idle = stat->v[STAT_IDLE_DUE];
    return stat->v[STAT_PENDING] != 0 || stat->v[STAT_FLUSHES] != 0 ||
           (idle != 0 && idle <= (uint64_t)now_ms);
}

enum err_code stage_build(struct store_txn *txn, uint64_t space, const struct services *services,
                          struct arena *arena, struct stage_unit *unit, struct err *err)
{
    *unit = (struct stage_unit){0};
    struct stage_work *w = ARENA_NEW(arena, struct stage_work);
    if (w == NULL)
        return stage__memory(err);
    w->txn = txn;
    w->space = space;
    w->services = services;
    w->arena = arena;
    w->unit = unit;
    w->now_ms = clock_now_ms(services->clock);
    enum err_code rc = store_stat(txn, space, &w->stat, err);
    if (rc == ERR_OK && has_stage_work(&w->stat, w->now_ms))
        rc = build(w, err);
    tokenizer_free(w->tokenizer);
    if (rc != ERR_OK || unit->batch != NULL)
        return rc;
    return upkeep_build(txn, space, w->now_ms, arena, unit, err);
}
