/* The reference itself: everything from the model's arrays, in double. */
#include <check.h>
#include <math.h>

#include "tests/unit/index/vmodel.h"

#define EXACT_ERROR 1e-6
#define SIDE_ERROR 1e-5

struct reference {
    struct vmodel *m;
    struct vectors_view view;
    double **base[LAYERS]; /* by document; NULL: no row or dead */
    double **edge[2];      /* by parent, as stored; NULL: none */
    uint32_t rows[VECTORS_LAYERS], blocks[VECTORS_LAYERS], small[VECTORS_LAYERS];
};

static double dot(const double *a, const double *b, uint32_t n)
{
    double sum = 0;
    for (uint32_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

static double *new_vector(const struct reference *r)
{
    double *v = ARENA_ARRAY(r->m->arena, double, r->m->dim);
    ck_assert_ptr_nonnull(v);
    return v;
}

/* --- what is stored --- */

/* A row of a document is what the model's vector gives: rounded to int8, of length 1. */
static void check_base(const struct reference *r, const struct vectors_block *b, uint32_t i)
{
    uint32_t doc = vectors_node(b, i);
    const struct vm_doc *d = &r->m->docs[b->layer][doc];
    float scale = vectors_scale(b, i);
    const int8_t *values = b->values + (size_t)i * b->stride;
    ck_assert_uint_lt(doc, r->m->n_docs[b->layer]);
    ck_assert_uint_eq(d->vector, scale == 0 ? VM_LEXICAL : VM_HAS);
    if (scale == 0 || !d->lives)
        return;
    float *raw = ARENA_ARRAY(r->m->arena, float, r->m->dim);
    double *v = new_vector(r), most = 0, bad = 0;
    vmodel_raw(r->m, b->layer, doc, raw);
    for (uint32_t k = 0; k < r->m->dim; k++)
        most = fabs((double)raw[k]) > most ? fabs((double)raw[k]) : most;
    for (uint32_t k = 0; k < r->m->dim; k++) {
        bad = fmax(bad, fabs((double)raw[k] * 127 / most - values[k]));
        v[k] = (double)scale * values[k];
    }
    ck_assert(bad <= 0.5001);
    for (uint32_t k = r->m->dim; k < b->stride; k++)
        bad = fmax(bad, values[k] == 0 ? 0 : 1);
    ck_assert(bad < 1);
    ck_assert(fabs(dot(v, v, r->m->dim) - 1) <= 2.4e-7);
    ck_assert_ptr_null(r->base[b->layer][doc]); /* I1 */
    r->base[b->layer][doc] = v;
}

static void note_edge(const struct reference *r, const struct vectors_block *b, uint32_t i)
{
    double *v = new_vector(r);
    for (uint32_t k = 0; k < r->m->dim; k++)
        v[k] = (double)vectors_scale(b, i) * b->values[(size_t)i * b->stride + k];
    r->edge[b->layer - EDGE_FACTS][vectors_node(b, i)] = v; /* the last one counts */
}

static void read_blocks(struct reference *r)
{
    struct store_cursor *cursor;
    struct store_item item;
    struct err err;
    uint32_t last = 0;
    unsigned layer = VECTORS_LAYERS;
    ck_assert_int_eq(store_cursor_open(r->view.txn, r->view.space, KIND_VECTOR, &cursor, &err),
                     ERR_OK);
    ck_assert_int_eq(store_cursor_next(cursor, &item, &err), ERR_OK);
    while (item.key.at != NULL) {
        struct vectors_block b;
        ck_assert(vectors_block_read(item.value, &b));
        ck_assert_uint_eq((unsigned char)item.key.at[4], b.layer);
        r->rows[b.layer] += b.n;
        r->blocks[b.layer]++;
        r->small[b.layer] += b.n < vectors_block_rows(b.dim);
        ck_assert_uint_le(item.value.len, 7 * 4096 - 16);
        for (uint32_t i = 0; i < b.n; i++) {
            if (b.layer >= EDGE_FACTS) {
                note_edge(r, &b, i);
                continue;
            }
            ck_assert(layer != b.layer || vectors_node(&b, i) > last); /* I2 */
            layer = b.layer;
            last = vectors_node(&b, i);
            check_base(r, &b, i);
        }
        ck_assert_int_eq(store_cursor_next(cursor, &item, &err), ERR_OK);
    }
    store_cursor_close(cursor);
}

static void check_counters(const struct reference *r)
{
    const struct vectors_generation *g = r->view.generation;
    for (unsigned layer = 0; layer < VECTORS_LAYERS; layer++) {
        ck_assert_uint_eq(g->rows[layer], r->rows[layer]); /* I3 */
        ck_assert_uint_eq(g->blocks[layer], r->blocks[layer]);
        ck_assert_uint_eq(g->small[layer], r->small[layer]);
    }
    for (unsigned layer = 0; layer < LAYERS; layer++) {
        for (uint32_t doc = 0; doc < g->embedded[layer]; doc++) {
            const struct vm_doc *d = &r->m->docs[layer][doc];
            bool has = r->base[layer][doc] != NULL;
            ck_assert(has == (d->lives && d->vector == VM_HAS)); /* I1 */
        }
    }
}

/* --- edges --- */

static double *member_vector(const struct reference *r, unsigned layer, uint32_t id)
{
    if (layer == EDGE_FACTS)
        return r->base[LAYER_FACT][id - 1];
    return r->m->episodes[id].lives ? r->base[LAYER_EPISODE][r->m->episodes[id].doc] : NULL;
}

/* The sum as the paper writes it, exact; NULL: no member has a vector. */
static double *sum_of(const struct reference *r, unsigned layer, uint32_t parent)
{
    const struct vm_edge *e = &r->m->edges[layer - EDGE_FACTS][parent];
    double *sum = new_vector(r), total = 0;
    uint32_t n = 0;
    for (uint32_t i = 0; i < e->n; i++)
        total += member_vector(r, layer, e->at[i].id) != NULL ? exp(e->at[i].weight / 65535.0) : 0;
    for (uint32_t i = 0; i < e->n; i++) {
        const double *v = member_vector(r, layer, e->at[i].id);
        for (uint32_t k = 0; v != NULL && k < r->m->dim; k++)
            sum[k] += exp(e->at[i].weight / 65535.0) / total * v[k];
        n += v != NULL;
    }
    return n != 0 ? sum : NULL;
}

/* The stored row is that sum, rounded: no value is off by more than half a step, and as much again
 * at most for keeping the length. */
static void check_edge(const struct reference *r, unsigned layer, uint32_t parent)
{
    char key[VECTORS_KEY];
    struct str members;
    struct err err;
    vectors_key(key, r->m->generation, layer, parent);
    ck_assert_int_eq(store_get(r->view.txn, r->view.space, KIND_VECTOR_SIDE,
                               (struct str){key, sizeof key}, &members, &err),
                     ERR_OK);
    double *sum = sum_of(r, layer, parent);
    double **stored = &r->edge[layer - EDGE_FACTS][parent];
    ck_assert((sum != NULL) == (members.at != NULL)); /* I4 */
    if (sum == NULL) {
        *stored = NULL;
        return;
    }
    ck_assert_ptr_nonnull(*stored);
    double most = 0, off = 0;
    for (uint32_t k = 0; k < r->m->dim; k++) {
        most = fmax(most, fabs(sum[k]));
        off = fmax(off, fabs(sum[k] - (*stored)[k]));
    }
    ck_assert(off <= most / 127);
}

static uint32_t check_edges(const struct reference *r, unsigned layer)
{
    uint32_t n = layer == EDGE_FACTS ? r->m->n_episodes : r->m->n_topics;
    uint32_t with_members = 0;
    for (uint32_t parent = 1; parent < n; parent++) {
        check_edge(r, layer, parent);
        with_members += r->edge[layer - EDGE_FACTS][parent] != NULL;
    }
    return with_members;
}

/* --- nodes --- */

/* Edges of a living node that have a row. */
static uint32_t edges_of(const struct reference *r, unsigned layer, uint32_t doc, uint32_t *out)
{
    uint32_t n = 0;
    if (layer == LAYER_FACT) {
        for (uint32_t i = 0; i < r->m->facts[doc + 1].n; i++)
            out[n++] = r->m->facts[doc + 1].episodes[i];
        return n;
    }
    for (uint32_t id = 1; id < r->m->n_episodes; id++) {
        const struct vm_episode *e = &r->m->episodes[id];
        for (unsigned i = 0; e->lives && e->doc == doc && i < 2; i++) {
            if (e->topics[i] != 0)
                out[n++] = e->topics[i];
        }
    }
    return n;
}

/* A node with the sum of its edges. */
struct node {
    const double *h;
    double *edges;
    uint32_t n;
};

static void check_side(const struct reference *r, unsigned layer, uint32_t doc,
                       const struct node *node)
{
    char key[VECTORS_KEY];
    struct str value;
    struct err err;
    struct vectors_side side;
    vectors_key(key, r->m->generation, layer, doc / SIDE_NODES);
    ck_assert_int_eq(store_get(r->view.txn, r->view.space, KIND_VECTOR_SIDE,
                               (struct str){key, sizeof key}, &value, &err),
                     ERR_OK);
    ck_assert(vectors_side_read(value.at != NULL ? value : STR(""), doc % SIDE_NODES, &side));
    ck_assert_uint_eq(side.n, node->h != NULL ? node->n : 0);
    if (node->h == NULL)
        return;
    double along = dot(node->h, node->edges, r->m->dim);
    double across = dot(node->edges, node->edges, r->m->dim);
    ck_assert(fabs(along - (double)side.along) <= SIDE_ERROR * (1 + fabs(along)));
    ck_assert(fabs(across - (double)side.across) <= SIDE_ERROR * (1 + across));
}

static struct node read_node(const struct reference *r, unsigned layer, uint32_t doc)
{
    uint32_t edges[VM_LINKS];
    struct node node = {.h = r->base[layer][doc], .edges = new_vector(r)};
    if (node.h == NULL || (layer != LAYER_FACT && layer != LAYER_EPISODE))
        return node;
    node.n = edges_of(r, layer, doc, edges);
    for (uint32_t i = 0; i < node.n; i++) {
        const double *e = r->edge[layer == LAYER_FACT ? 0 : 1][edges[i]];
        ck_assert_ptr_nonnull(e);
        for (uint32_t k = 0; k < r->m->dim; k++)
            node.edges[k] += e[k];
    }
    return node;
}

/* --- scores --- */

struct ask {
    struct vectors_query query;
    double *q;   /* of length 1 */
    double most; /* of its values */
};

/* cos(q, h') with h' written out, and what VECTORS_FAST may be off by. */
static double score_of(const struct reference *r, const struct ask *ask, const struct node *node,
                       double *bound)
{
    double lambda = (double)ask->query.lambda, off = 0, along = 0, norm2 = 0;
    if (ask->query.join == VECTORS_MEAN && node->n != 0)
        lambda /= node->n;
    for (uint32_t k = 0; k < r->m->dim; k++) {
        double h = node->h[k] + lambda * node->edges[k];
        along += ask->q[k] * h;
        norm2 += h * h;
    }
    off = lambda * sqrt(dot(node->edges, node->edges, r->m->dim));
    double steps = fmin(32767 / ask->most, 1.65e7 / sqrt(r->m->dim));
    *bound = sqrt(r->m->dim) / (2 * steps) * (1 + off) / sqrt(norm2) + EXACT_ERROR;
    return along / sqrt(norm2);
}

static double check_scores(const struct reference *r, struct ask *ask, struct node **nodes)
{
    struct vectors_scores exact[LAYERS], fast[LAYERS];
    struct err err;
    double worst = 0;
    ask->query.mode = VECTORS_EXACT;
    ck_assert_int_eq(vectors_scan(&r->view, &ask->query, exact, &err), ERR_OK);
    ask->query.mode = VECTORS_FAST;
    ck_assert_int_eq(vectors_scan(&r->view, &ask->query, fast, &err), ERR_OK);
    for (unsigned layer = 0; layer < LAYERS; layer++) {
        ck_assert_uint_eq(exact[layer].n, r->view.generation->embedded[layer]);
        ck_assert_uint_eq(fast[layer].n, exact[layer].n);
        for (uint32_t doc = 0; doc < exact[layer].n; doc++) {
            double is = (double)exact[layer].at[doc], quick = (double)fast[layer].at[doc], bound;
            if (nodes[layer][doc].h == NULL) {
                if (is != (double)VECTORS_ABSENT || quick != is)
                    ck_abort_msg("layer %u, document %u has a score", layer, doc);
                continue;
            }
            double should = score_of(r, ask, &nodes[layer][doc], &bound);
            if (fabs(is - should) > EXACT_ERROR || fabs(is) > 1)
                ck_abort_msg("layer %u, document %u: %.9f, not %.9f", layer, doc, is, should);
            if (fabs(quick - should) > bound || fabs(quick) > 1)
                ck_abort_msg("layer %u, document %u, fast: %.9f, not %.9f", layer, doc, quick,
                             should);
            worst = fmax(worst, fabs(quick - should));
        }
    }
    return worst;
}

static void random_query(const struct reference *r, struct ask *ask)
{
    struct vmodel *m = r->m;
    float *q = ARENA_ARRAY(m->arena, float, m->dim);
    ask->q = new_vector(r);
    vmodel_raw(m, rng_below(&m->rng, 6), rng_below(&m->rng, 1000), q);
    for (uint32_t k = 0; k < m->dim; k++)
        ask->q[k] = (double)q[k];
    double length = sqrt(dot(ask->q, ask->q, m->dim));
    ask->most = 0;
    for (uint32_t k = 0; k < m->dim; k++) {
        ask->q[k] /= length;
        ask->most = fmax(ask->most, fabs(ask->q[k]));
    }
    ask->query.q = q;
}

static struct node *read_nodes(const struct reference *r, unsigned layer)
{
    struct node *nodes = ARENA_ARRAY(r->m->arena, struct node, r->m->n_docs[layer] + 1u);
    for (uint32_t doc = 0; doc < r->view.generation->embedded[layer]; doc++) {
        if (r->base[layer][doc] == NULL)
            continue;
        nodes[doc] = read_node(r, layer, doc);
        if (layer == LAYER_FACT || layer == LAYER_EPISODE)
            check_side(r, layer, doc, &nodes[doc]);
    }
    return nodes;
}

double vmodel_check(struct vmodel *m, uint32_t queries)
{
    static const float lambdas[] = {0.5f, 0, 1, 0.1f};
    struct reference r = {.m = m};
    struct node *nodes[LAYERS];
    double worst = 0;
    arena_reset(m->arena);
    vmodel_view(m, &r.view);
    for (unsigned layer = 0; layer < LAYERS; layer++)
        r.base[layer] = ARENA_ARRAY(m->arena, double *, m->n_docs[layer] + 1u);
    r.edge[0] = ARENA_ARRAY(m->arena, double *, m->n_episodes);
    r.edge[1] = ARENA_ARRAY(m->arena, double *, m->n_topics);
    read_blocks(&r);
    check_counters(&r);
    ck_assert_uint_eq(check_edges(&r, EDGE_FACTS), r.view.generation->edges[0]);
    ck_assert_uint_eq(check_edges(&r, EDGE_EPISODES), r.view.generation->edges[1]);
    for (unsigned layer = 0; layer < LAYERS; layer++)
        nodes[layer] = read_nodes(&r, layer);
    for (uint32_t i = 0; i < queries; i++) {
        struct ask ask = {.query = {.mask = (1U << LAYERS) - 1, .lambda = lambdas[i % 4]}};
        ask.query.join = i / 4 % 2 == 0 ? VECTORS_SUM : VECTORS_MEAN;
        random_query(&r, &ask);
        worst = fmax(worst, check_scores(&r, &ask, nodes));
    }
    return worst;
}
