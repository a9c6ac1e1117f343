/* Vectors of a space, kept up to date beside everything else (DESIGN 5.5, 8, 9, 13 "embedding model
 * changes"). The index itself is core/index/vectors.h; here is what the writers of a space share:
 * which generation the configured provider adds to, what is behind, and when that is due.
 *
 *   accept, stages, drafts, deletes --new documents--> EMBED_DUE --> work_embed.c: ask, add rows
 *         |                                                                |
 *         `------edges that changed------> VECTORS_DUE <--new rows, marks--'
 *                                              |
 *                                              `--> upkeep_vectors.c: settle, fold, drop
 *
 * Nothing waits for a vector: turns are acknowledged, found by their words and turned into facts
 * whatever the provider does. Whose vectors are missing is found by its words alone.
 *
 * E1  a space whose provider is configured and which has documents above the watermark of that
 *     provider's generation (or has documents and no such generation) has EMBED_DUE != 0. A
 *     space that was written before there was a provider is found by works_sweep().
 * E2  after a failure EMBED_FAILURES > 0 and EMBED_DUE is when it is tried again; new documents
 *     make that no earlier, so an outage is not answered by more calls.
 * E3  a space with marks, or with a generation that is old, has VECTORS_DUE != 0. */
#ifndef HM_CORE_INGEST_EMBED_H
#define HM_CORE_INGEST_EMBED_H

#include "core/index/vectors.h"
#include "core/ingest/stage.h"

enum {
    EMBED_SETTLE_MS = 1000,     /* edges that change in quick succession are settled together */
    EMBED_LINE_MAX = 16 * 1024, /* of an identity: more than URL, model and two prefixes come to */
};

/* An embed provider is configured. */
bool embed_is_on(const struct services *services);

/* The generation's vectors and those that the provider gives can be compared: the same identity,
 * and the configured dimension where there is one. There must be a provider. */
enum err_code embed_is_ours(const struct models *models, const struct vectors_generation *g,
                            struct arena *arena, bool *ours, struct err *err) MUST_USE;

struct embed_plan {
    struct vectors_generations all;
    struct vectors_generation *current; /* what the provider adds to; NULL: is to be started */
    struct vectors_generation *stale;   /* is being built for another identity; NULL: none */
};
/* `dim`: of the vectors that the provider gives; 0: not known. There must be a provider. */
enum err_code embed_plan(const struct stage_base *base, uint32_t dim, struct embed_plan *plan,
                         struct err *err) MUST_USE;

/* The number that the layer's next document gets. */
uint32_t embed_next_doc(const struct space_stat *stat, enum layer layer);
/* Some document is above the watermark; `generation` NULL: there is some document. */
bool embed_is_behind(const struct space_stat *stat, const struct vectors_generation *generation);

/* The batch adds documents. `stat`: of the snapshot it is built from; zeroed for a new space. */
void embed_note_docs(struct batch *batch, const struct space_stat *stat, int64_t now_ms);
/* A hyperedge changes in the batch, as vectors_edge_dirty() wants it. In a space without any
 * generation nothing is noted: the lane, which the batch needs, keeps one from being started. */
void embed_note_edge(const struct vectors_generations *all, struct batch *batch,
                     enum store_kind kind, uint32_t parent, int64_t now_ms);

/* What of the living documents has been looked at for vectors, and what has not. */
struct embed_counts {
    uint64_t embedded[LAYERS];
    uint64_t behind;
};
enum err_code embed_count(const struct stage_base *base,
                          const struct vectors_generation *generation, struct embed_counts *counts,
                          struct err *err) MUST_USE;

#endif
