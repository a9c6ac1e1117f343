/* Housekeeping of vectors (core/index/vectors.h): one step a unit, until nothing is left; then the
 * due time goes. What makes more to do holds the lane and raises CHANGES, so it can't slip in. */
#include "core/ingest/embed.h"
#include "core/ingest/upkeep.h"

static enum err_code memory(struct err *err)
{
    return err_set(err, ERR_EXHAUSTED, "out of memory for housekeeping of vectors");
}

static bool is_due(const struct space_stat *stat, enum stat_id id, int64_t now_ms)
{
    return stat->v[id] != 0 && now_ms > 0 && stat->v[id] <= (uint64_t)now_ms;
}

typedef enum err_code part_fn(const struct vectors_view *view, struct batch *batch, bool *did,
                              struct err *err);

static enum err_code each_generation(const struct vectors_view *like,
                                     const struct vectors_generations *all, part_fn *part,
                                     struct batch *batch, bool *did, struct err *err)
{
    struct vectors_view view = *like;
    enum err_code rc = ERR_OK;
    for (uint32_t i = 0; rc == ERR_OK && !*did && i < all->n; i++) {
        view.generation = &all->at[i];
        if (all->at[i].state != VECTORS_OLD)
            rc = part(&view, batch, did, err);
    }
    return rc;
}

static enum err_code one_step(const struct stage_base *base, struct batch *batch, bool *did,
                              struct err *err)
{
    struct vectors_generations all;
    struct vectors_view view = {.txn = base->txn,
                                .space = base->space,
                                .kernels = kernels_choose(NULL),
                                .arena = base->arena,
                                .lengths = lengths_new(base->txn, base->space, base->arena)};
    if (view.lengths == NULL)
        return memory(err);
    enum err_code rc = vectors_generations_get(base->txn, base->space, base->arena, &all, err);
    if (rc == ERR_OK)
        rc = each_generation(&view, &all, vectors_settle, batch, did, err);
    if (rc == ERR_OK && !*did)
        rc = each_generation(&view, &all, vectors_fold, batch, did, err);
    if (rc == ERR_OK && !*did)
        rc = vectors_drop(base->txn, base->space, &all, batch, did, err);
    return rc;
}

/* Nobody is there to ask; a provider that comes again finds the space (works_sweep()). */
static void forget_embedding(struct batch *batch)
{
    batch_set(batch, STAT_EMBED_DUE, 0);
    batch_set(batch, STAT_EMBED_FAILURES, 0);
}

enum err_code upkeep__vectors(const struct stage_base *base, const struct space_stat *stat,
                              int64_t now_ms, struct stage_unit *unit, struct err *err)
{
    bool keep = is_due(stat, STAT_VECTORS_DUE, now_ms), did = false;
    bool forget = is_due(stat, STAT_EMBED_DUE, now_ms) && !embed_is_on(base->services);
    enum err_code rc = ERR_OK;
    if (!keep && !forget)
        return ERR_OK;
    struct batch *batch = batch_new(base->arena, base->space, CAUSE_KEEP);
    if (batch == NULL)
        return memory(err);
    if (keep)
        rc = one_step(base, batch, &did, err);
    if (rc != ERR_OK)
        return rc;
    if (forget)
        forget_embedding(batch);
    if (keep && !did) {
        batch_need_stat(batch, STAT_CHANGES, stat->v[STAT_CHANGES]);
        batch_set(batch, STAT_VECTORS_DUE, 0);
    }
    if (!batch_ok(batch))
        return memory(err);
    unit->batch = batch;
    unit->queue = STORE_HOUSEKEEPING;
    unit->stage = METRIC_H_STAGE_VECTORS;
    unit->more = did;
    return ERR_OK;
}
