#include "core/ingest/embed.h"

#include "core/model/models.h"

bool embed_is_on(const struct services *services)
{
    return services->models != NULL && models_has(services->models, PURPOSE_EMBED);
}

/* --- whose generation --- */

enum err_code embed_is_ours(const struct models *models, const struct vectors_generation *g,
                            struct arena *arena, bool *ours, struct err *err)
{
    uint32_t wanted = models_embed(models)->dimensions;
    struct buf line;
    uint64_t id = 0;
    *ours = false;
    if (wanted != 0 && g->dim != wanted)
        return ERR_OK;
    buf_init(&line, arena, EMBED_LINE_MAX);
    models_embed_identity(models, g->dim, &line, &id);
    *ours = id == g->identity;
    return buf_ok(&line) ? ERR_OK
                         : err_set(err, ERR_EXHAUSTED, "out of memory for an identity of vectors");
}

static enum err_code fits(const struct stage_base *base, const struct vectors_generation *g,
                          uint32_t dim, bool *yes, struct err *err)
{
    *yes = false;
    if (dim != 0 && g->dim != dim)
        return ERR_OK;
    return embed_is_ours(base->services->models, g, base->arena, yes, err);
}

enum err_code embed_plan(const struct stage_base *base, uint32_t dim, struct embed_plan *plan,
                         struct err *err)
{
    bool ours = false;
    *plan = (struct embed_plan){.current = NULL};
    enum err_code rc =
        vectors_generations_get(base->txn, base->space, base->arena, &plan->all, err);
    struct vectors_generation *building = vectors_generation_find(&plan->all, VECTORS_BUILDING);
    struct vectors_generation *active = vectors_generation_find(&plan->all, VECTORS_ACTIVE);
    if (rc == ERR_OK && building != NULL)
        rc = fits(base, building, dim, &ours, err);
    if (rc != ERR_OK || ours) {
        plan->current = building;
        return rc;
    }
    plan->stale = building;
    if (active != NULL)
        rc = fits(base, active, dim, &ours, err);
    plan->current = ours ? active : NULL;
    return rc;
}

/* --- what is behind --- */

uint32_t embed_next_doc(const struct space_stat *stat, enum layer layer)
{
    switch (layer) {
    case LAYER_TURN: return (uint32_t)stat->v[STAT_NEXT_DOC_TURN];
    case LAYER_FACT: return (uint32_t)stat->v[STAT_NEXT_FACT] - 1;
    case LAYER_EPISODE: return (uint32_t)stat->v[STAT_NEXT_DOC_EPISODE];
    default: return (uint32_t)stat->v[STAT_NEXT_DOC_TOPIC];
    }
}

bool embed_is_behind(const struct space_stat *stat, const struct vectors_generation *generation)
{
    for (unsigned layer = 0; layer < LAYERS; layer++) {
        uint32_t from = generation != NULL ? generation->embedded[layer] : 0;
        if (embed_next_doc(stat, (enum layer)layer) > from)
            return true;
    }
    return false;
}

static uint64_t count_living(struct lengths *lengths, enum layer layer, uint32_t from, uint32_t end)
{
    uint64_t n = 0;
    for (uint32_t doc = from; doc < end; doc++)
        n += lengths_get(lengths, layer, doc) != 0;
    return n;
}

enum err_code embed_count(const struct stage_base *base,
                          const struct vectors_generation *generation, struct embed_counts *counts,
                          struct err *err)
{
    struct space_stat stat;
    struct lengths *lengths = lengths_new(base->txn, base->space, base->arena);
    *counts = (struct embed_counts){.behind = 0};
    if (lengths == NULL)
        return err_set(err, ERR_EXHAUSTED, "out of memory for counting vectors");
    enum err_code rc = store_stat(base->txn, base->space, &stat, err);
    for (unsigned layer = 0; rc == ERR_OK && layer < LAYERS; layer++) {
        uint32_t end = embed_next_doc(&stat, (enum layer)layer);
        uint64_t behind = stat.v[STAT_DOCS_TURN + layer];
        if (generation != NULL)
            behind = count_living(lengths, (enum layer)layer, generation->embedded[layer], end);
        rc = lengths_error(lengths, err);
        counts->behind += behind;
        counts->embedded[layer] = stat.v[STAT_DOCS_TURN + layer] - behind;
    }
    return rc;
}

/* --- when it is due --- */

void embed_note_docs(struct batch *batch, const struct space_stat *stat, int64_t now_ms)
{
    bool failing = stat->v[STAT_EMBED_FAILURES] != 0; /* E2 */
    uint64_t now = now_ms > 0 ? (uint64_t)now_ms : 1;
    batch_min(batch, STAT_EMBED_DUE, failing ? stat->v[STAT_EMBED_DUE] : now);
}

void embed_note_edge(const struct vectors_generations *all, struct batch *batch,
                     enum store_kind kind, uint32_t parent, int64_t now_ms)
{
    if (all->n == 0)
        return;
    vectors_edge_dirty(all, batch, kind, parent, VECTORS_NO_SLOT);
    batch_min(batch, STAT_VECTORS_DUE, (uint64_t)(now_ms > 0 ? now_ms : 0) + EMBED_SETTLE_MS);
}
