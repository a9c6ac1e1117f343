/* The flat vector index with exact hypergraph propagation (paper section 3; DESIGN 8, 9).
 *
 * A generation is everything that one embedding identity (model, dimension, prefixes,
 * normalisation) has made in a space. Vectors of two are never mixed: the next one is built beside
 * the active one and the two change places in one batch; the old one is dropped in steps.
 *
 *                 start            activate           activate of the next       drop
 *   (nothing) ----------> BUILDING ---------> ACTIVE --------------------> OLD ------> (nothing)
 *                            `--------------- abandon ---------------------^
 *
 * Base rows. A document of a layer (core/index/segment.h) has a row h_v: int8 values and a scale of
 * 1 / |values|, so that what the row stands for has length 1 to 1.2e-7. That is the base vector;
 * nothing else is kept of what the model gave. Scale 0: lexical-only, the document is not in this
 * index. A document below the layer's watermark `embedded` has a row or is dead (length 0).
 *
 * Edge rows. A hyperedge e has h_e = sum over its members of softmax(weight)_v h_v, over those that
 * live and have a vector in this generation, computed from their rows each time anew (never by
 * subtraction: it drifts). Facts of an episode are in EDGE_FACTS, by episode id; episodes of a
 * topic in EDGE_EPISODES, by topic id. Only facts and episodes are propagated, from base rows,
 * once: h'_v = h_v + lambda * sum over e that hold v of h_e. No h' is stored. Per node lie two
 * scalars and the list of its edges beside, and for any lambda
 *
 *   cos(q, h'_v) = (q.h_v + lambda * sum q.h_e) / |h'_v|
 *   |h'_v|^2     = 1 + 2 lambda * along + lambda^2 * across
 *   along = sum h_v.h_e,  across = |sum h_e|^2
 *
 * with the rows as stored, so it is exact for them. The mean over a node's k edges instead of the
 * sum is lambda / k. Both are parameters of a query, not of what is stored.
 *
 * Pictures on disk (all little-endian; keys: b32 generation, layer byte, b32 number).
 *
 * VECTOR, a block of rows, written once:
 *    0  u8   format (1)
 *    1  u8   layer
 *    2  u16  rows n
 *    4  u32  dimension
 *    8  u64  reserved, 0
 *   16  u32  x n  node: document, or parent of the edge
 *       f32  x n  scale
 *       int8 x n x stride, stride = dimension up to the next 64, rest 0; it begins at an offset of
 *            48 modulo 64, because a value on pages of its own begins 16 bytes into the first one:
 *            then every row begins on a cache line
 *   A full block has as many rows as fit 6 or 7 pages, whichever wastes less (73 rows of 384, 27 of
 *   1,024). Base blocks are keyed by their first document, nodes ascend within and across blocks.
 *   Edge blocks are numbered as they come; of an edge's rows the last one counts.
 *
 * VECTOR_SIDE of a node layer (LAYER_FACT, LAYER_EPISODE), SIDE_NODES nodes a value, by document:
 *    0  u8   format (1)    1  u8 layer    2  u16 nodes n    4  u32 m
 *    8  (f32 along, f32 across, u32 edge) x n; edge: 0 none, an only parent, or
 *       SIDE_MANY | where in the list below its count and its parents begin
 *       u32 x m
 * VECTOR_SIDE of an edge layer, by parent: u32 x n, the documents its row was computed from.
 *
 * VECTOR_DIRTY, what is to be computed again; value LE64 seq (the mark's version), then for nodes
 * LE32 how many documents from the key's number on.
 *
 * How it is kept right. Who changes a hyperedge, or a member's life or text, calls
 * vectors_edge_dirty() in the same batch; vectors_add() marks the nodes it gave rows. Housekeeping
 * calls vectors_settle(), which computes the marked edges and the side values of all their members,
 * old and new, in one batch. In between answers are those of the last settled state, without the
 * dead. Every batch made here carries NEED_VERSION of the generation's record and raises it, so of
 * two that were built on one snapshot the second is refused with ERR_CONFLICT and built again; a
 * mark is deleted only at the version that was read.
 *
 * I1  base rows: each living document < embedded[layer] has exactly one row.
 * I2  nodes ascend strictly within a base block, and from one block to the next.
 * I3  rows[], small[], edges[] of the record count what is stored.
 * I4  without marks: edge e has members stored iff some living member of the hyperedge has a row
 *     that is not lexical-only; they are those; its last row is their sum; along, across and the
 *     list of each node follow from them.
 * I5  folding changes no answer.
 *
 * Threads: everything reads one snapshot, by one thread at a time.
 *
 * Costs and errors (`make bench T=vectors`). A scan reads each block of the asked layers once.
 * VECTORS_FAST rounds the query to int16, S steps to 1, S the lesser of 32,767 / max|q| and
 * 1.65e7 / sqrt(dimension) (so that no sum can overflow): a score is off by at most
 * sqrt(dimension) / 2S (1 + lambda |sum h_e|) / |h'_v| + 1e-6, below 1e-5 in practice. An int8
 * query would save a tenth of the time at 250 times the error, and need a second, finer scoring of
 * the best; there is none. VECTORS_EXACT keeps the query in f32: error <= 1e-6, half as fast.
 * 100,000 x 384 take 1.4 ms, 10,000 facts x 1,024 with their edges 0.36 ms, of which the edges are a
 * fifth. To settle an edge of ten among 1,000 takes 0.07 ms.
 *
 * Rejected. h' stored: each new member would rewrite every sibling. The greatest value scaled to
 * 127 and the length kept in a third scalar: the direction is all that counts, and length 1 spares
 * the scalar. Side values of 1,024 nodes (DESIGN 9): they are four pages, and one edge rewrites
 * one; of 256 it is one page, and a scan of 10,000 facts is no slower. Edge rows found by key: an
 * edge's row moves with each fold; walking over all edge blocks' heads is cheaper than keeping
 * that right. */
#ifndef HM_CORE_INDEX_VECTORS_H
#define HM_CORE_INDEX_VECTORS_H

#include "core/index/kernels/kernels.h"
#include "core/index/lengths.h"
#include "core/index/segment.h"

/* Layers of rows: those of segment.h, then the two kinds of edges. */
enum { EDGE_FACTS = LAYERS, EDGE_EPISODES, VECTORS_LAYERS };

enum {
    VECTORS_DIM_MAX = 8192,
    VECTORS_ADD_MAX = 256, /* documents a call of vectors_add() */
    VECTORS_KEY = 9,
    SIDE_NODES = 256,
    VECTORS_LINE_MAX = 1024 /* bytes of an identity's text */
};
#define SIDE_MANY (UINT32_C(1) << 31)

enum vectors_state { VECTORS_BUILDING, VECTORS_ACTIVE, VECTORS_OLD, VECTORS_STATES };

/* A GENERATION record. */
struct vectors_generation {
    uint32_t number;   /* from the key; 0: there is none */
    uint64_t version;  /* raised by every batch that changes anything of the generation */
    uint64_t identity; /* hash of what made the vectors */
    struct str line;   /* the same for people; borrows from the transaction */
    uint32_t dim;
    uint8_t state;                 /* enum vectors_state */
    uint32_t embedded[LAYERS];     /* see above */
    uint32_t rows[VECTORS_LAYERS]; /* in blocks, dead ones too */
    uint32_t blocks[VECTORS_LAYERS];
    uint32_t small[VECTORS_LAYERS]; /* blocks among them that are not full */
    uint32_t edges[2];              /* with members, of EDGE_FACTS and EDGE_EPISODES */
    uint32_t next_block[2];         /* number of the next edge block */
};

/* All generations of a space, ascending. */
struct vectors_generations {
    struct vectors_generation *at; /* in the arena */
    uint32_t n;
};
enum err_code vectors_generations_get(struct store_txn *txn, uint64_t space, struct arena *arena,
                                      struct vectors_generations *all, struct err *err) MUST_USE;
/* The one in that state; NULL when there is none (or, of old ones, the first). */
struct vectors_generation *vectors_generation_find(const struct vectors_generations *all,
                                                   enum vectors_state state);

/* --- life of a generation; each into a batch of its own --- */

struct vectors_identity {
    uint64_t hash;
    struct str line; /* <= VECTORS_LINE_MAX */
    uint32_t dim;    /* 1 .. VECTORS_DIM_MAX */
};
/* A new one in state BUILDING. ERR_PRECONDITION when one is being built already. */
enum err_code vectors_start(const struct vectors_generations *all, struct batch *batch,
                            const struct vectors_identity *identity, struct err *err) MUST_USE;
/* The one that is being built becomes active, the active one old. ERR_PRECONDITION when none is
 * being built. */
enum err_code vectors_activate(const struct vectors_generations *all, struct batch *batch,
                               struct err *err) MUST_USE;

/* The one that is being built becomes old: its identity is not wanted any more. ERR_PRECONDITION
 * when none is being built. */
enum err_code vectors_abandon(const struct vectors_generations *all, struct batch *batch,
                              struct err *err) MUST_USE;

/* --- writing --- */

/* What most calls work with. */
struct vectors_view {
    struct store_txn *txn;
    uint64_t space;
    const struct kernels *kernels;
    struct arena *arena;     /* scratch and answers */
    struct lengths *lengths; /* of that snapshot */
    const struct vectors_generation *generation;
};

/* Documents of one layer, ascending, none below embedded[layer]. */
struct vectors_docs {
    enum layer layer;
    const uint32_t *docs;
    uint32_t n;             /* <= VECTORS_ADD_MAX */
    const float *rows;      /* n x dim, not yet normalised */
    const bool *is_lexical; /* such a one has no vector, its row is not looked at; NULL: none */
    uint32_t upto;          /* every document < upto has a row by then, or is dead */
};
/* Adds blocks of rows and a mark to the batch and counts them in `generation`; as often as there
 * are layers, then vectors_save() once. ERR_INVALID: a row is not finite, or is nothing. */
enum err_code vectors_add(struct vectors_generation *generation, const struct kernels *kernels,
                          struct batch *batch, const struct vectors_docs *docs,
                          struct err *err) MUST_USE;
void vectors_save(struct vectors_generation *generation, struct batch *batch);

/* The hyperedge `kind` (EPISODE_EDGE, TOPIC_EDGE) of a parent changed, or a member of it got or
 * lost its life or its document. A row for each generation that is built or active; nothing in a
 * space without any (then a batch is refused with ERR_CONFLICT when one was started meanwhile).
 * `slot`: the parent is that slot's value + parent; VECTORS_NO_SLOT: just parent. The batch must
 * have a seq. */
#define VECTORS_NO_SLOT UINT32_MAX
void vectors_edge_dirty(const struct vectors_generations *all, struct batch *batch,
                        enum store_kind kind, uint32_t parent, uint32_t slot);

/* --- housekeeping; each one bounded step a call into an empty maintenance batch; *did false: there
 * is nothing to do --- */

enum { SETTLE_EDGES = 64, FOLD_SMALL = 16, DROP_ROWS = 256 };
#define VECTORS_FOLD_BYTES ((size_t)1 << 20)
/* Up to SETTLE_EDGES marked edges of view->generation. */
enum err_code vectors_settle(const struct vectors_view *view, struct batch *batch, bool *did,
                             struct err *err) MUST_USE;
/* FOLD_SMALL small blocks of a layer are packed into full ones; a block with more than a quarter of
 * its rows dead (or, of edges, no longer used) is rewritten. Of view->generation. */
enum err_code vectors_fold(const struct vectors_view *view, struct batch *batch, bool *did,
                           struct err *err) MUST_USE;
/* Rows of the first old generation, at last its record; or marks that a batch left for one that had
 * gone by then. */
enum err_code vectors_drop(struct store_txn *txn, uint64_t space,
                           const struct vectors_generations *all, struct batch *batch, bool *did,
                           struct err *err) MUST_USE;

/* --- reading --- */

enum vectors_mode { VECTORS_FAST, VECTORS_EXACT };
enum vectors_join { VECTORS_SUM, VECTORS_MEAN };
#define VECTORS_LAMBDA 0.5f

struct vectors_query {
    const float *q; /* dim values; any length above 0 */
    unsigned mask;  /* layers asked for, 1 << enum layer */
    float lambda;   /* >= 0; 0: cosines of the base rows */
    enum vectors_join join;
    enum vectors_mode mode;
};

/* Cosine by document, in [-1, 1]; VECTORS_ABSENT: dead, lexical-only, not embedded yet. */
#define VECTORS_ABSENT (-2.0f)
struct vectors_scores {
    float *at; /* in the view's arena */
    uint32_t n;
};
/* One pass over the blocks of the layers asked for, and of the edges where lambda > 0.
 * out[LAYERS]; those not asked for have n 0. ERR_INVALID: the query is not finite or is nothing. */
enum err_code vectors_scan(const struct vectors_view *view, const struct vectors_query *query,
                           struct vectors_scores *out, struct err *err) MUST_USE;

/* --- the rows as they are, for fsck, statistics and tests --- */

struct vectors_block {
    uint8_t layer;
    uint32_t n, dim, stride;
    const char *nodes, *scales; /* LE32, f32; any alignment */
    const int8_t *values;
};
/* False when damaged. */
bool vectors_block_read(struct str value, struct vectors_block *block);
uint32_t vectors_block_rows(uint32_t dim); /* of a full one */
static inline uint32_t vectors_node(const struct vectors_block *block, uint32_t i)
{
    return le32_get(block->nodes + (size_t)i * 4);
}
static inline float vectors_scale(const struct vectors_block *block, uint32_t i)
{
    float scale;
    memcpy(&scale, block->scales + (size_t)i * 4, 4);
    return scale;
}

/* A node's side. */
struct vectors_side {
    float along, across;
    uint32_t n;        /* edges */
    const char *edges; /* LE32 x n, ascending */
};
/* Node i of a VECTOR_SIDE value; behind its end all is 0. False when damaged. */
bool vectors_side_read(struct str value, uint32_t i, struct vectors_side *side);

void vectors_key(char key[VECTORS_KEY], uint32_t generation, unsigned layer, uint32_t number);

#endif
