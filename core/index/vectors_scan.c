/* Scoring: one pass over blocks, then what edges add. */
#include <math.h>

#include "core/index/lengths_int.h"
#include "core/index/vectors_int.h"

enum { PREFETCH_BYTES = 1024 };
#define NORM_LEAST 1e-12 /* of |h'|^2: below, a node and its edges cancel out */

struct scan {
    const struct vectors_view *view;
    const struct vectors_query *query;
    float *q;        /* of length 1; dim values */
    int8_t *split;   /* VECTORS_FAST: two queries of stride values */
    float scales[2]; /* of them */
    int32_t products[2 * BLOCK_ROWS_MAX];
    float values[BLOCK_ROWS_MAX]; /* q.h of a block's rows */
};

/* --- the query --- */

static enum err_code split_query(struct scan *s, struct err *err)
{
    uint32_t dim = s->view->generation->dim, stride = vectors__stride(dim);
    const struct kernels *k = s->view->kernels;
    float *rest = ARENA_ARRAY(s->view->arena, float, dim);
    s->split = ARENA_ARRAY(s->view->arena, int8_t, (size_t)stride * 2);
    if (rest == NULL || s->split == NULL)
        return vectors__memory(err);
    memcpy(rest, s->q, dim * sizeof *rest);
    s->scales[0] = k->quantise(rest, dim, s->split);
    k->axpy_i8(rest, -s->scales[0], s->split, dim);
    s->scales[1] = k->quantise(rest, dim, s->split + stride);
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
    return s->query->mode == VECTORS_FAST ? split_query(s, err) : ERR_OK;
}

/* --- blocks --- */

static void score_fast(struct scan *s, const struct vectors_block *block)
{
    s->view->kernels->dot_rows2(block->values, block->n, s->split, block->stride, s->products);
    for (uint32_t i = 0; i < block->n; i++) {
        float high = s->scales[0] * (float)s->products[2 * i];
        float low = s->scales[1] * (float)s->products[2 * i + 1];
        s->values[i] = vectors_scale(block, i) * (high + low);
    }
}

static void score_exact(struct scan *s, const struct vectors_block *block)
{
    const struct kernels *k = s->view->kernels;
    for (uint32_t i = 0; i < block->n; i++)
        s->values[i] = vectors_scale(block, i) *
                       k->dot_i8_f32(block->values + (size_t)i * block->stride, s->q, block->dim);
}

/* Asks for the head of a block that comes next; its rows follow one another. */
static void prefetch(const struct store_item *item)
{
    if (item->key.at == NULL || item->value.len < PREFETCH_BYTES)
        return;
    for (size_t at = 0; at < PREFETCH_BYTES; at += LINE_BYTES)
        __builtin_prefetch(item->value.at + at);
}

/* Lexical-only rows stay absent; edges have no such thing, their zero is a product of 0. */
static enum err_code note_values(struct scan *s, const struct vectors_block *block,
                                 struct vectors_scores *out, struct err *err)
{
    bool edge = vectors__is_edge(block->layer);
    for (uint32_t i = 0; i < block->n; i++) {
        uint32_t node = vectors_node(block, i);
        if (node >= out->n)
            return vectors__damaged("the row of number", node, err);
        if (edge || vectors_scale(block, i) != 0)
            out->at[node] = s->values[i];
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
        if (s->query->mode == VECTORS_FAST)
            score_fast(s, &block);
        else
            score_exact(s, &block);
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

static float clamp(double x)
{
    return x > 1 ? 1 : x < -1 ? -1 : (float)x;
}

static enum err_code propagate_node(const struct scan *s, const struct vectors_side *side,
                                    const struct vectors_scores *edges, float *score,
                                    struct err *err)
{
    double lambda = (double)s->query->lambda, sum = 0;
    for (uint32_t i = 0; i < side->n; i++) {
        uint32_t parent = le32_get(side->edges + (size_t)i * 4);
        if (parent >= edges->n)
            return vectors__damaged("edge", parent, err);
        sum += (double)edges->at[parent];
    }
    if (s->query->join == VECTORS_MEAN)
        lambda /= side->n;
    double norm2 = 1 + lambda * (2 * (double)side->along + lambda * (double)side->across);
    *score = norm2 < NORM_LEAST ? 0 : (float)(((double)*score + lambda * sum) / sqrt(norm2));
    return ERR_OK;
}

static enum err_code propagate_value(const struct scan *s, const struct store_item *item,
                                     const struct vectors_scores *edges, struct vectors_scores *out,
                                     struct err *err)
{
    struct vectors_side side;
    uint64_t first = (uint64_t)vectors__number(item->key) * SIDE_NODES;
    for (uint32_t i = 0; i < SIDE_NODES && first + i < out->n; i++) {
        float *score = &out->at[first + i];
        if (!vectors_side_read(item->value, i, &side))
            return vectors__damaged("the side value of document", (uint32_t)first + i, err);
        if (side.n == 0 || *score == VECTORS_ABSENT)
            continue;
        enum err_code rc = propagate_node(s, &side, edges, score, err);
        if (rc != ERR_OK)
            return rc;
    }
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

/* The dead get no score; the rest ends within [-1, 1]. */
static void finish(struct scan *s, unsigned layer, struct vectors_scores *out)
{
    for (uint32_t first = 0; first < out->n; first += LENGTH_BLOCK) {
        struct str lengths =
            lengths__block(s->view->lengths, (enum layer)layer, first / LENGTH_BLOCK);
        uint32_t n = out->n - first < LENGTH_BLOCK ? out->n - first : LENGTH_BLOCK;
        for (uint32_t i = 0; i < n; i++) {
            float *score = &out->at[first + i];
            if (i >= lengths.len || lengths.at[i] == 0)
                *score = VECTORS_ABSENT;
            else if (*score != VECTORS_ABSENT)
                *score = clamp((double)*score);
        }
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
    finish(s, layer, out);
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
