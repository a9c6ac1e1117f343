/* The inside of the vector index. */
#ifndef HM_CORE_INDEX_VECTORS_INT_H
#define HM_CORE_INDEX_VECTORS_INT_H

#include "core/index/vectors.h"

enum {
    VECTORS_FORMAT = 1,
    BLOCK_HEAD = 16,
    SIDE_HEAD = 8,
    SIDE_ROW = 12,
    MARK_BYTES = 12,      /* LE64 seq, LE32 count of a node mark */
    BLOCK_ROWS_MAX = 512, /* above what any dimension gives */
    LINE_BYTES = 64,      /* of the processor's cache */
    OVERFLOW_HEAD = 16    /* of a value on pages of its own */
};

static inline uint32_t vectors__stride(uint32_t dim)
{
    return (dim + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
}

static inline bool vectors__is_edge(unsigned layer)
{
    return layer >= EDGE_FACTS;
}
/* The nodes that edges of this layer hold, and the reverse. */
static inline enum layer vectors__members(unsigned edge_layer)
{
    return edge_layer == EDGE_FACTS ? LAYER_FACT : LAYER_EPISODE;
}
static inline unsigned vectors__edges_of(unsigned layer)
{
    return layer == LAYER_FACT ? EDGE_FACTS : EDGE_EPISODES;
}

enum err_code vectors__damaged(const char *what, uint32_t number, struct err *err);
enum err_code vectors__memory(struct err *err);

/* One row, wherever it is. */
struct vectors_row {
    uint32_t node;
    float scale;
    const int8_t *values; /* NULL: none */
};

/* Writes a block of n rows under `number` and counts it. */
void vectors__put_block(struct batch *batch, struct vectors_generation *generation, unsigned layer,
                        uint32_t number, const struct vectors_row *rows, uint32_t n);
/* rows in as many blocks as it takes; numbers[i] for block i, NULL: the first node of each. */
void vectors__put_rows(struct batch *batch, struct vectors_generation *generation, unsigned layer,
                       const uint32_t *numbers, const struct vectors_row *rows, uint32_t n);

/* --- walking the rows of a kind with one prefix (generation, layer) --- */

struct vectors_walk {
    struct store_cursor *cursor;
    struct store_item item; /* key .at NULL: past the end */
    char prefix[VECTORS_KEY];
};
enum err_code vectors__walk_open(const struct vectors_view *view, enum store_kind kind,
                                 unsigned layer, struct vectors_walk *walk,
                                 struct err *err) MUST_USE;
enum err_code vectors__walk_next(struct vectors_walk *walk, struct err *err) MUST_USE;
void vectors__walk_close(struct vectors_walk *walk);
static inline uint32_t vectors__number(struct str key)
{
    return be32_get(key.at + VECTORS_KEY - 4);
}
/* The block at hand; damaged when it is none of this generation and layer. */
enum err_code vectors__walk_block(const struct vectors_view *view, const struct vectors_walk *walk,
                                  struct vectors_block *block, struct err *err) MUST_USE;

/* --- finding base rows --- */

/* Remembers the last block, because neighbours are asked for one after the other. */
struct vectors_finder {
    const struct vectors_view *view;
    unsigned layer;
    struct store_cursor *cursor;
    struct vectors_block block; /* n 0: none yet */
};
enum err_code vectors__finder_open(const struct vectors_view *view, enum layer layer,
                                   struct vectors_finder *finder, struct err *err) MUST_USE;
void vectors__finder_close(struct vectors_finder *finder);
/* row->values NULL when the document has none or is lexical-only. */
enum err_code vectors__find(struct vectors_finder *finder, uint32_t doc, struct vectors_row *row,
                            struct err *err) MUST_USE;

static inline struct vectors_row vectors__row(const struct vectors_block *block, uint32_t i)
{
    return (struct vectors_row){vectors_node(block, i), vectors_scale(block, i),
                                block->values + (size_t)i * block->stride};
}

/* --- edge rows in use --- */

/* By parent: the last row of each. */
struct vectors_edges {
    struct vectors_row *at; /* in the view's arena; values NULL: none */
    uint32_t n;
};
enum err_code vectors__edges_load(const struct vectors_view *view, unsigned layer,
                                  struct vectors_edges *edges, struct err *err) MUST_USE;
/* One more than the greatest parent that was given out. */
enum err_code vectors__parents(const struct vectors_view *view, unsigned layer, uint32_t *n,
                               struct err *err) MUST_USE;

/* --- marks --- */

uint32_t vectors__mark(struct batch *batch, uint32_t generation, unsigned layer, uint32_t first,
                       uint32_t count);

/* An edge that is to be computed. */
struct vectors_parent {
    unsigned layer;
    uint32_t id;
};
struct vectors_parents {
    struct vectors_parent *at; /* ascending, each once */
    uint32_t n, cap;
};
/* Reads marks until SETTLE_EDGES parents are known; deletes them in the batch. What comes to more
 * (one mark of nodes may name many edges) is marked again, each edge by itself. */
enum err_code vectors__take_marks(const struct vectors_view *view, struct batch *batch,
                                  struct vectors_parents *parents, struct err *err) MUST_USE;

/* --- side values --- */

/* A VECTOR_SIDE value whose head was checked; behind node n - 1 all is 0. */
struct vectors_sides {
    uint32_t n, listed;
    const char *rows, *list; /* n x SIDE_ROW; LE32 x listed */
};
/* False when damaged. */
bool vectors__sides_read(struct str value, struct vectors_sides *sides);

/* Node i < n. False when damaged. */
static inline bool vectors__sides_at(const struct vectors_sides *sides, uint32_t i,
                                     struct vectors_side *side)
{
    const char *row = sides->rows + (size_t)i * SIDE_ROW;
    uint32_t edge = le32_get(row + 8);
    memcpy(&side->along, row, 4);
    memcpy(&side->across, row + 4, 4);
    if ((edge & SIDE_MANY) == 0) {
        side->n = edge != 0;
        side->edges = row + 8;
        return true;
    }
    uint32_t from = edge & ~SIDE_MANY;
    if (from >= sides->listed)
        return false;
    side->edges = sides->list + (size_t)from * 4;
    side->n = le32_get(side->edges);
    side->edges += 4;
    return side->n < sides->listed - from;
}

/* A node whose side is to be as it says here. */
struct vectors_node_side {
    unsigned layer;
    uint32_t doc;
    float along, across;
    uint32_t n;
    uint32_t *edges; /* ascending */
};
/* `nodes` ascend by layer and document. */
enum err_code vectors__put_sides(const struct vectors_view *view, struct batch *batch,
                                 const struct vectors_node_side *nodes, uint32_t n,
                                 struct err *err) MUST_USE;
enum err_code vectors__side_get(const struct vectors_view *view, unsigned layer, uint32_t doc,
                                struct vectors_side *side, struct err *err) MUST_USE;

#endif
