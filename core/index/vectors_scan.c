/* Scoring: one pass over blocks, then what edges add. */
#include <math.h>

#include "core/index/lengths_int.h"
#include "core/index/vectors_int.h"

enum { PREFETCH_BYTES = 1024 };
#define LENGTH_MAX 2.1e9f /* of a query by that of a row, both as integers: below 2^31 */

struct scan {
    const struct vectors_view *view;
    const struct vectors_query *query;
    float *q;                     /* of length 1; dim values */
    struct kernel_query wide;     /* VECTORS_FAST: the same in int16, stride values */
    float values[BLOCK_ROWS_MAX]; /* of a block's rows, without their scales */
};

/* --- the query --- */

/* As finely as int16 can, and as sums of products with any row allow. */
static float steps_of(const float *q, uint32_t dim)
{
    float most = 0;
    for (uint32_t k = 0; k < dim; k++)
        most = fabsf(q[k]) > most ? fabsf(q[k]) : most;
    float by_value = INT16_MAX / most;
    float by_sum = LENGTH_MAX / (KERNELS_INT8 * sqrtf((float)dim));
    return by_value < by_sum ? by_value : by_sum;
}

static enum err_code widen_query(struct scan *s, struct err *err)
{
    uint32_t dim = s->view->generation->dim, stride = vectors__stride(dim);
    int16_t *values = ARENA_ARRAY(s->view->arena, int16_t, stride);
    if (values == NULL)
        return vectors__memory(err);
    float steps = steps_of(s->q, dim);
    for (uint32_t k = 0; k < dim; k++)
        values[k] = (int16_t)lrintf(s->q[k] * steps);
    s->wide = (struct kernel_query){.values = values, .n = stride, .scale = 1 / steps};
    return ERR_OK;
}

static enum err_code prepare_query(struct scan *s, struct err *err)
{
    uint32_t dim = s->view->generation->dim;
    const struct kernels *k = s->view->kernels;
    s->q = arena_copy(s->view->arena, s->query->q, dim * sizeof *s->q);
    if (s->q == NULL)
        return vectors__memory(err);
    float length = sqrtf(k->norm2(s->q, dim));
    if (!isfinite(length) || !isnormal(1 / length) || length == 0)
        return err_set(err, ERR_INVALID, "the query's vector is not finite, or is nothing");
    k->scale(s->q, 1 / length, dim);
    return s->query->mode == VECTORS_FAST ? widen_query(s, err) : ERR_OK;
}

/* --- blocks --- */

static inline float clamp(float x)
{
    return x > 1 ? 1 : x < -1 ? -1 : x;
}

/* Where the rows of the next block will be: most have a head as long as this one's, and where that
 * is wrong, lines beside are asked for. */
static void note_next(const struct vectors_block *block, const struct store_item *next,
                      struct kernel_rows *rows)
{
    size_t head = BLOCK_HEAD + (size_t)((const char *)block->values - block->nodes);
    if (next->key.at == NULL || next->value.len <= head)
        return;
    rows->next = (const int8_t *)next->value.at + head;
    rows->next_n = (next->value.len - head) / block->stride;
}

static void score(struct scan *s, const struct vectors_block *block, const struct store_item *next)
{
    const struct kernels *k = s->view->kernels;
    if (s->query->mode == VECTORS_FAST) {
        struct kernel_rows rows = {.values = block->values, .n = block->n};
        note_next(block, next, &rows);
        k->dot_rows(&s->wide, &rows, s->values);
        return;
    }
    for (uint32_t i = 0; i < block->n; i++)
        s->values[i] = k->dot_i8_f32(block->values + (size_t)i * block->stride, s->q, block->dim);
}

/* Asks for the head of a block that comes next; its rows follow one another. */
static void prefetch(const struct store_item *item)
{
    if (item->key.at == NULL || item->value.len < PREFETCH_BYTES)
        return;
    for (size_t at = 0; at < PREFETCH_BYTES; at += LINE_BYTES)
        __builtin_prefetch(item->value.at + at);
}

/* Lexical-only rows have a scale of 0, and their documents no score. Of edges such a row is a sum
 * that vanished: it stands for products of 0. */
static enum err_code note_values(const struct scan *s, const struct vectors_block *block,
                                 struct vectors_scores *out, struct err *err)
{
    const float none = vectors__is_edge(block->layer) ? 0 : VECTORS_ABSENT;
    const char *nodes = block->nodes, *scales = block->scales;
    const float *values = s->values;
    float *at = out->at;
    uint32_t limit = out->n, n = block->n;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t node = le32_get(nodes + (size_t)i * 4);
        uint32_t bits = le32_get(scales + (size_t)i * 4);
        float scale;
        if (node >= limit)
            return vectors__damaged("the row of number", node, err);
        memcpy(&scale, &bits, sizeof scale);
        at[node] = bits != 0 ? clamp(scale * values[i]) : none;
    }
    return ERR_OK;
}

static enum err_code scan_layer(struct scan *s, unsigned layer, struct vectors_scores *out,
                                struct err *err)
{
    struct vectors_walk walk;
    struct vectors_block block;
    enum err_code rc = vectors__walk_open(s->view, KIND_VECTOR, layer, &walk, err);
    while (rc == ERR_OK && walk.item.key.at != NULL) {
        rc = vectors__walk_block(s->view, &walk, &block, err);
        if (rc == ERR_OK)
            rc = vectors__walk_next(&walk, err);
        if (rc != ERR_OK)
            break;
        prefetch(&walk.item);
        score(s, &block, &walk.item);
        rc = note_values(s, &block, out, err);
    }
    vectors__walk_close(&walk);
    return rc;
}

static enum err_code make_scores(struct scan *s, uint32_t n, float value,
                                 struct vectors_scores *out, struct err *err)
{
    out->at = arena_alloc(s->view->arena, n * sizeof *out->at + 1);
    if (out->at == NULL)
        return vectors__memory(err);
    out->n = n;
    for (uint32_t i = 0; i < n; i++)
        out->at[i] = value;
    return ERR_OK;
}

/* --- what edges add --- */

/* Of the nodes of one side value. */
struct gathered {
    float sums[SIDE_NODES], along[SIDE_NODES], across[SIDE_NODES];
};

/* The mean over n edges is the sum with all of them an n-th as long. False when damaged, as the
 * next. */
static bool gather_many(enum vectors_join join, const struct vectors_scores *edges,
                        const struct vectors_side *side, struct gathered *all, uint32_t i)
{
    double sum = 0, share = join == VECTORS_MEAN ? 1.0 / side->n : 1;
    for (uint32_t k = 0; k < side->n; k++) {
        uint32_t parent = le32_get(side->edges + (size_t)k * 4);
        if (parent >= edges->n)
            return false;
        sum += (double)edges->at[parent];
    }
    all->sums[i] = (float)(share * sum);
    all->along[i] = (float)(share * (double)side->along);
    all->across[i] = (float)(share * share * (double)side->across);
    return true;
}

/* Nearly every node has one edge. */
static inline bool gather(enum vectors_join join, const struct vectors_scores *edges,
                          const struct vectors_side *side, struct gathered *all, uint32_t i)
{
    if (side->n > 1)
        return gather_many(join, edges, side, all, i);
    uint32_t parent = side->n != 0 ? le32_get(side->edges) : 0;
    if (side->n != 0 && parent >= edges->n)
        return false;
    all->sums[i] = side->n != 0 ? edges->at[parent] : 0;
    all->along[i] = side->n != 0 ? side->along : 0;
    all->across[i] = side->n != 0 ? side->across : 0;
    return true;
}

static enum err_code propagate_value(const struct scan *s, const struct store_item *item,
                                     const struct vectors_scores *edges, struct vectors_scores *out,
                                     struct err *err)
{
    struct vectors_sides sides;
    struct vectors_side side;
    struct gathered all;
    uint64_t first = (uint64_t)vectors__number(item->key) * SIDE_NODES;
    if (first >= out->n)
        return ERR_OK;
    if (!vectors__sides_read(item->value, &sides))
        return vectors__damaged("the side value of document", (uint32_t)first, err);
    uint32_t n = out->n - first < sides.n ? out->n - (uint32_t)first : sides.n;
    for (uint32_t i = 0; i < n; i++) {
        if (!vectors__sides_at(&sides, i, &side) || !gather(s->query->join, edges, &side, &all, i))
            return vectors__damaged("the side value of document", (uint32_t)first + i, err);
    }
    const struct kernel_sides kernel = {all.sums, all.along, all.across, s->query->lambda};
    s->view->kernels->propagate(&kernel, out->at + first, n);
    return ERR_OK;
}

static enum err_code propagate(struct scan *s, unsigned layer, struct vectors_scores *out,
                               struct err *err)
{
    struct vectors_walk walk;
    struct vectors_scores edges;
    uint32_t parents = 0;
    unsigned edge_layer = vectors__edges_of(layer);
    enum err_code rc = vectors__parents(s->view, edge_layer, &parents, err);
    if (rc == ERR_OK)
        rc = make_scores(s, parents, 0, &edges, err);
    if (rc == ERR_OK)
        rc = scan_layer(s, edge_layer, &edges, err);
    if (rc != ERR_OK)
        return rc;
    rc = vectors__walk_open(s->view, KIND_VECTOR_SIDE, layer, &walk, err);
    while (rc == ERR_OK && walk.item.key.at != NULL) {
        rc = propagate_value(s, &walk.item, &edges, out, err);
        if (rc == ERR_OK)
            rc = vectors__walk_next(&walk, err);
    }
    vectors__walk_close(&walk);
    return rc;
}

/* --- together --- */

static bool has_zero(uint64_t bytes)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    return ((bytes - ones) & ~bytes & ones << 7) != 0;
}

/* Scores of documents whose lengths are these bytes; beyond them all are dead. The dead are few. */
static void leave_out(struct str lengths, float *scores, uint32_t n)
{
    uint32_t known = lengths.len < n ? (uint32_t)lengths.len : n;
    for (uint32_t first = 0; first < known; first += 8) {
        uint32_t end = known - first < 8 ? known : first + 8;
        if (end == first + 8 && !has_zero(le64_get(lengths.at + first)))
            continue;
        for (uint32_t i = first; i < end; i++) {
            if (lengths.at[i] == 0)
                scores[i] = VECTORS_ABSENT;
        }
    }
    for (uint32_t i = known; i < n; i++)
        scores[i] = VECTORS_ABSENT;
}

static void leave_out_the_dead(struct scan *s, unsigned layer, struct vectors_scores *out)
{
    for (uint32_t first = 0; first < out->n; first += LENGTH_BLOCK) {
        struct str lengths =
            lengths__block(s->view->lengths, (enum layer)layer, first / LENGTH_BLOCK);
        leave_out(lengths, out->at + first,
                  out->n - first < LENGTH_BLOCK ? out->n - first : LENGTH_BLOCK);
    }
}

static enum err_code score_layer(struct scan *s, unsigned layer, struct vectors_scores *out,
                                 struct err *err)
{
    bool has_edges = layer == LAYER_FACT || layer == LAYER_EPISODE;
    enum err_code rc =
        make_scores(s, s->view->generation->embedded[layer], VECTORS_ABSENT, out, err);
    if (rc == ERR_OK)
        rc = scan_layer(s, layer, out, err);
    if (rc == ERR_OK && has_edges && s->query->lambda > 0)
        rc = propagate(s, layer, out, err);
    if (rc != ERR_OK)
        return rc;
    leave_out_the_dead(s, layer, out);
    return lengths_error(s->view->lengths, err);
}

enum err_code vectors_scan(const struct vectors_view *view, const struct vectors_query *query,
                           struct vectors_scores *out, struct err *err)
{
    struct scan s = {.view = view, .query = query};
    ASSERT(query->lambda >= 0);
    memset(out, 0, LAYERS * sizeof *out);
    enum err_code rc = prepare_query(&s, err);
    for (unsigned layer = 0; rc == ERR_OK && layer < LAYERS; layer++) {
        if ((query->mask & 1U << layer) != 0)
            rc = score_layer(&s, layer, &out[layer], err);
    }
    return rc;
}
