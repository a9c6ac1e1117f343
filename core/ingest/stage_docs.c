#include "core/ingest/stage_int.h"

/* Room for `more` elements of `size` bytes; false when memory is short. */
static bool grow(struct arena *arena, void **at, uint32_t n, uint32_t *cap, uint32_t more,
                 size_t size)
{
    if (more <= *cap - n)
        return true;
    uint32_t want = n + more > *cap * 2 ? n + more : *cap * 2;
    void *room = arena_alloc(arena, want * size);
    if (room == NULL)
        return false;
    if (n != 0)
        memcpy(room, *at, n * size);
    *at = room;
    *cap = want;
    return true;
}

static struct segment_bases bases_of(const uint32_t base[LAYERS])
{
    struct segment_bases bases;
    for (unsigned layer = 0; layer < LAYERS; layer++) {
        bases.base[layer] = base[layer];
        bases.slot[layer] = SEGMENT_NO_SLOT;
    }
    return bases;
}

enum err_code stage__docs_add(struct stage_work *w, const struct segment_doc *docs, uint32_t n,
                              const uint32_t base[LAYERS], struct err *err)
{
    struct stage_docs *all = w->docs;
    const struct segment_bases bases = bases_of(base);
    enum err_code rc = segment_add_lengths(w->batch, docs, n, &bases, err);
    if (rc != ERR_OK)
        return rc;
    if (embed_is_on(w->services))
        embed_note_docs(w->batch, &w->stat, w->now_ms);
    if (!grow(w->arena, (void **)&all->at, all->n, &all->cap, n, sizeof *all->at))
        return stage__memory(err);
    for (uint32_t i = 0; i < n; i++) {
        enum layer layer = docs[i].layer;
        if (!all->has[layer])
            all->base[layer] = base[layer];
        all->has[layer] = true;
        all->at[all->n] = docs[i];
        all->at[all->n++].doc += base[layer] - all->base[layer];
    }
    return ERR_OK;
}

enum err_code stage__docs_forget(struct stage_work *w, enum layer layer, uint32_t doc,
                                 struct err *err)
{
    struct stage_docs *all = w->docs;
    for (uint32_t i = 0; all->has[layer] && i < all->n; i++) {
        if (all->at[i].layer != layer || all->base[layer] + all->at[i].doc != doc)
            continue;
        if (!grow(w->arena, (void **)&all->dead, all->n_dead, &all->cap_dead, 1, sizeof *all->dead))
            return stage__memory(err);
        all->dead[all->n_dead++] = i;
    }
    return ERR_OK;
}

enum err_code stage__docs_write(const struct stage_docs *docs, bool all, struct batch *batch,
                                struct err *err)
{
    uint32_t first = all ? 0 : docs->last;
    uint32_t n = docs->n - first;
    uint32_t least[LAYERS];
    uint32_t base[LAYERS];
    struct segment_doc *own = ARENA_ARRAY(batch->arena, struct segment_doc, n);
    if (own == NULL)
        return stage__memory(err);
    memset(least, 0xff, sizeof least);
    for (uint32_t i = 0; i < n; i++) {
        own[i] = docs->at[first + i];
        if (own[i].doc < least[own[i].layer])
            least[own[i].layer] = own[i].doc;
    }
    for (uint32_t i = 0; i < docs->n_dead; i++) {
        if (docs->dead[i] >= first)
            own[docs->dead[i] - first].bag.n = 0;
    }
    for (unsigned layer = 0; layer < LAYERS; layer++)
        base[layer] = docs->base[layer] + least[layer];
    for (uint32_t i = 0; i < n; i++)
        own[i].doc -= least[own[i].layer];
    const struct segment_bases bases = bases_of(base);
    return segment_add_postings(batch, own, n, &bases, err);
}
