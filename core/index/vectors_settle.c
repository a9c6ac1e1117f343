/* Marked edges are computed anew, and then the side values of all who are or were their members. */
#include <math.h>
#include <stdlib.h>

#include "core/graph/edge.h"
#include "core/index/column.h"
#include "core/index/vectors_int.h"

/* One edge at work. */
struct work {
    struct vectors_parent parent;
    uint32_t *before, n_before; /* documents its old row was made of, ascending */
    uint32_t *now, n_now;       /* and its new one */
    struct vectors_row row;     /* the new one; values NULL: no member is left */
    bool same;                  /* as it was */
};

struct settle {
    const struct vectors_view *view;
    struct batch *batch;
    struct vectors_generation generation; /* as it will be */
    struct columns *columns;
    struct work *works;
    uint32_t n_works;
    struct vectors_edges edges[2];    /* rows in use, new ones entered; n 0: not loaded */
    struct vectors_finder finders[2]; /* of facts, of episodes */
    float *sum;                       /* dim values */
    struct vectors_node_side *nodes;
    uint32_t n_nodes;
};

static struct vectors_edges *edges_of(struct settle *s, unsigned edge_layer)
{
    return &s->edges[edge_layer - EDGE_FACTS];
}

static struct vectors_finder *finder_of(struct settle *s, unsigned edge_layer)
{
    return &s->finders[edge_layer - EDGE_FACTS];
}

static int by_number(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* --- members --- */

static enum err_code read_before(struct settle *s, struct work *w, struct err *err)
{
    char key[VECTORS_KEY];
    struct str value;
    vectors_key(key, s->generation.number, w->parent.layer, w->parent.id);
    enum err_code rc = store_get(s->view->txn, s->view->space, KIND_VECTOR_SIDE,
                                 (struct str){key, sizeof key}, &value, err);
    if (rc != ERR_OK || value.at == NULL)
        return rc;
    if (value.len == 0 || value.len % 4 != 0)
        return vectors__damaged("the members of edge", w->parent.id, err);
    w->n_before = (uint32_t)(value.len / 4);
    w->before = arena_copy(s->view->arena, value.at, value.len);
    return w->before != NULL ? ERR_OK : vectors__memory(err);
}

/* False when the node is gone. */
static bool document_of(struct settle *s, unsigned edge_layer, uint32_t id, uint32_t *doc)
{
    struct episode_row row = {0};
    if (edge_layer == EDGE_FACTS) {
        *doc = id - 1;
    } else {
        columns_episode(s->columns, id, &row);
        *doc = row.doc;
        if (row.turns == 0)
            return false;
    }
    return lengths_get(s->view->lengths, vectors__members(edge_layer), *doc) != 0;
}

/* A member with its row and weight. */
struct part {
    struct vectors_row row;
    double weight;
};

static enum err_code read_parts(struct settle *s, struct work *w, struct part **parts,
                                struct err *err)
{
    struct edge edge;
    enum store_kind kind = w->parent.layer == EDGE_FACTS ? KIND_EPISODE_EDGE : KIND_TOPIC_EDGE;
    enum err_code rc =
        edge_get(s->view->txn, s->view->space, kind, w->parent.id, s->view->arena, &edge, err);
    if (rc != ERR_OK)
        return rc;
    *parts = ARENA_ARRAY(s->view->arena, struct part, edge.n + 1u);
    w->now = ARENA_ARRAY(s->view->arena, uint32_t, edge.n + 1u);
    if (*parts == NULL || w->now == NULL)
        return vectors__memory(err);
    for (uint32_t i = 0; rc == ERR_OK && i < edge.n; i++) {
        struct part *part = &(*parts)[w->n_now];
        uint32_t doc;
        if (!document_of(s, w->parent.layer, edge.at[i].id, &doc))
            continue;
        rc = vectors__find(finder_of(s, w->parent.layer), doc, &part->row, err);
        part->weight = weight_unpack(edge.at[i].weight);
        if (rc == ERR_OK && part->row.values != NULL)
            w->now[w->n_now++] = doc;
    }
    if (rc == ERR_OK)
        rc = columns_error(s->columns, err);
    return rc == ERR_OK ? lengths_error(s->view->lengths, err) : rc;
}

/* --- h_e --- */

/* softmax of weights in [0,1]: nothing can overflow. */
static void sum_parts(struct settle *s, const struct part *parts, uint32_t n)
{
    double total = 0;
    for (uint32_t i = 0; i < n; i++)
        total += exp(parts[i].weight);
    memset(s->sum, 0, s->generation.dim * sizeof *s->sum);
    for (uint32_t i = 0; i < n; i++) {
        double share = exp(parts[i].weight) / total;
        s->view->kernels->axpy_i8(s->sum, (float)(share * (double)parts[i].row.scale),
                                  parts[i].row.values, s->generation.dim);
    }
}

/* Its length is kept; a sum that cancels out to nothing is a row of zeros. */
static enum err_code make_row(struct settle *s, struct work *w, struct err *err)
{
    const struct kernels *k = s->view->kernels;
    uint32_t dim = s->generation.dim;
    int8_t *values = ARENA_ARRAY(s->view->arena, int8_t, vectors__stride(dim));
    if (values == NULL)
        return vectors__memory(err);
    w->row = (struct vectors_row){.node = w->parent.id, .values = values};
    if (k->quantise(s->sum, dim, values) == 0)
        return ERR_OK;
    double length = sqrt((double)k->norm2(s->sum, dim));
    w->row.scale = (float)(length / sqrt((double)k->dot_i8(values, values, dim)));
    return ERR_OK;
}

static bool is_same(struct settle *s, const struct work *w)
{
    const struct vectors_edges *edges = edges_of(s, w->parent.layer);
    if (w->n_now != w->n_before ||
        (w->n_now != 0 && memcmp(w->now, w->before, w->n_now * sizeof *w->now) != 0))
        return false;
    if (w->n_now == 0)
        return true;
    const struct vectors_row *old = &edges->at[w->parent.id];
    return old->values != NULL && old->scale == w->row.scale &&
           memcmp(old->values, w->row.values, s->generation.dim) == 0;
}

static void put_members(struct settle *s, const struct work *w)
{
    char key[VECTORS_KEY];
    struct str rest = {key, sizeof key};
    vectors_key(key, s->generation.number, w->parent.layer, w->parent.id);
    uint32_t *edges = &s->generation.edges[w->parent.layer - EDGE_FACTS];
    *edges += w->n_now != 0;
    *edges -= w->n_before != 0;
    if (w->n_now == 0)
        (void)batch_del(s->batch, KIND_VECTOR_SIDE, rest, 0);
    else
        (void)batch_put(s->batch, KIND_VECTOR_SIDE, rest,
                        (struct str){(const char *)w->now, (size_t)w->n_now * 4}, 0);
}

static enum err_code compute(struct settle *s, struct work *w, struct err *err)
{
    struct part *parts = NULL;
    enum err_code rc = read_before(s, w, err);
    if (rc == ERR_OK)
        rc = read_parts(s, w, &parts, err);
    if (rc != ERR_OK)
        return rc;
    if (w->n_now != 0 && w->parent.id >= edges_of(s, w->parent.layer)->n)
        return vectors__damaged("edge", w->parent.id, err);
    if (w->n_now != 0) {
        sum_parts(s, parts, w->n_now);
        qsort(w->now, w->n_now, sizeof *w->now, by_number);
        rc = make_row(s, w, err);
        if (rc != ERR_OK)
            return rc;
    }
    w->same = is_same(s, w);
    return ERR_OK;
}

/* From here on nodes are measured with the new row. */
static void enter(struct settle *s, struct work *w)
{
    struct vectors_edges *edges = edges_of(s, w->parent.layer);
    if (w->parent.id < edges->n)
        edges->at[w->parent.id] = w->row;
    put_members(s, w);
}

static enum err_code put_edge_rows(struct settle *s, unsigned layer, struct err *err)
{
    struct vectors_row *rows = ARENA_ARRAY(s->view->arena, struct vectors_row, s->n_works);
    uint32_t numbers[SETTLE_EDGES];
    uint32_t n = 0;
    if (rows == NULL)
        return vectors__memory(err);
    for (uint32_t i = 0; i < s->n_works; i++) {
        const struct work *w = &s->works[i];
        if (w->parent.layer == layer && !w->same && w->n_now != 0)
            rows[n++] = w->row;
    }
    uint32_t full = vectors_block_rows(s->generation.dim);
    uint32_t blocks = (n + full - 1) / full;
    for (uint32_t i = 0; i < blocks; i++)
        numbers[i] = s->generation.next_block[layer - EDGE_FACTS]++;
    vectors__put_rows(s->batch, &s->generation, layer, numbers, rows, n);
    return ERR_OK;
}

/* --- nodes --- */

static int by_node(const void *a, const void *b)
{
    const struct vectors_node_side *x = a, *y = b;
    if (x->layer != y->layer)
        return x->layer < y->layer ? -1 : 1;
    return (x->doc > y->doc) - (x->doc < y->doc);
}

static void add_nodes(struct settle *s, unsigned edge_layer, const uint32_t *docs, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        s->nodes[s->n_nodes++] =
            (struct vectors_node_side){.layer = vectors__members(edge_layer), .doc = docs[i]};
}

static enum err_code gather_nodes(struct settle *s, struct err *err)
{
    size_t most = 0;
    for (uint32_t i = 0; i < s->n_works; i++)
        most += (size_t)s->works[i].n_before + s->works[i].n_now;
    s->nodes = ARENA_ARRAY(s->view->arena, struct vectors_node_side, most + 1);
    if (s->nodes == NULL)
        return vectors__memory(err);
    for (uint32_t i = 0; i < s->n_works; i++) {
        const struct work *w = &s->works[i];
        if (w->same)
            continue;
        add_nodes(s, w->parent.layer, w->before, w->n_before);
        add_nodes(s, w->parent.layer, w->now, w->n_now);
    }
    qsort(s->nodes, s->n_nodes, sizeof *s->nodes, by_node);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < s->n_nodes; i++) {
        if (kept == 0 || by_node(&s->nodes[kept - 1], &s->nodes[i]) != 0)
            s->nodes[kept++] = s->nodes[i];
    }
    s->n_nodes = kept;
    return ERR_OK;
}

static bool is_at_work(const struct settle *s, unsigned edge_layer, uint32_t parent)
{
    for (uint32_t i = 0; i < s->n_works; i++) {
        const struct vectors_parent *p = &s->works[i].parent;
        if (p->layer == edge_layer && p->id == parent)
            return !s->works[i].same;
    }
    return false;
}

/* Its edges: those of before that are not at work here, and those at work that have it now. */
static enum err_code list_edges(struct settle *s, struct vectors_node_side *node, struct err *err)
{
    struct vectors_side old;
    unsigned edge_layer = vectors__edges_of(node->layer);
    enum err_code rc = vectors__side_get(s->view, node->layer, node->doc, &old, err);
    if (rc != ERR_OK)
        return rc;
    node->edges = ARENA_ARRAY(s->view->arena, uint32_t, (size_t)old.n + s->n_works);
    if (node->edges == NULL)
        return vectors__memory(err);
    for (uint32_t i = 0; i < old.n; i++) {
        uint32_t parent = le32_get(old.edges + (size_t)i * 4);
        if (!is_at_work(s, edge_layer, parent))
            node->edges[node->n++] = parent;
    }
    for (uint32_t i = 0; i < s->n_works; i++) {
        const struct work *w = &s->works[i];
        if (w->parent.layer == edge_layer && !w->same && w->n_now != 0 &&
            bsearch(&node->doc, w->now, w->n_now, sizeof *w->now, by_number) != NULL)
            node->edges[node->n++] = w->parent.id;
    }
    qsort(node->edges, node->n, sizeof *node->edges, by_number);
    return ERR_OK;
}

static enum err_code measure(struct settle *s, struct vectors_node_side *node,
                             const struct vectors_row *row, struct err *err)
{
    const struct kernels *k = s->view->kernels;
    uint32_t dim = s->generation.dim;
    const struct vectors_edges *edges = edges_of(s, vectors__edges_of(node->layer));
    double along = 0;
    memset(s->sum, 0, dim * sizeof *s->sum);
    for (uint32_t i = 0; i < node->n; i++) {
        uint32_t parent = node->edges[i];
        if (parent >= edges->n || edges->at[parent].values == NULL)
            return vectors__damaged("edge", parent, err);
        const struct vectors_row *e = &edges->at[parent];
        along += (double)e->scale * k->dot_i8(row->values, e->values, dim);
        k->axpy_i8(s->sum, e->scale, e->values, dim);
    }
    node->along = (float)(along * (double)row->scale);
    node->across = k->norm2(s->sum, dim);
    return ERR_OK;
}

static enum err_code settle_node(struct settle *s, struct vectors_node_side *node, struct err *err)
{
    struct vectors_row row;
    bool lives = lengths_get(s->view->lengths, (enum layer)node->layer, node->doc) != 0;
    enum err_code rc = lengths_error(s->view->lengths, err);
    if (rc != ERR_OK || !lives)
        return rc; /* nothing is left beside the dead */
    rc = list_edges(s, node, err);
    if (rc != ERR_OK || node->n == 0)
        return rc;
    rc = vectors__find(finder_of(s, vectors__edges_of(node->layer)), node->doc, &row, err);
    if (rc == ERR_OK && row.values == NULL)
        rc = vectors__damaged("the row of document", node->doc, err);
    return rc == ERR_OK ? measure(s, node, &row, err) : rc;
}

/* --- together --- */

static enum err_code prepare(struct settle *s, const struct vectors_parents *parents,
                             struct err *err)
{
    struct arena *arena = s->view->arena;
    s->columns = columns_new(s->view->txn, s->view->space, arena);
    s->works = ARENA_ARRAY(arena, struct work, parents->n);
    s->sum = ARENA_ARRAY(arena, float, s->generation.dim);
    if (s->columns == NULL || s->works == NULL || s->sum == NULL)
        return vectors__memory(err);
    enum err_code rc = ERR_OK;
    for (uint32_t i = 0; rc == ERR_OK && i < parents->n; i++) {
        unsigned layer = parents->at[i].layer;
        s->works[s->n_works++] = (struct work){.parent = parents->at[i]};
        if (finder_of(s, layer)->cursor != NULL)
            continue;
        rc = vectors__finder_open(s->view, vectors__members(layer), finder_of(s, layer), err);
        if (rc == ERR_OK)
            rc = vectors__edges_load(s->view, layer, edges_of(s, layer), err);
    }
    return rc;
}

static enum err_code settle_all(struct settle *s, struct err *err)
{
    enum err_code rc = ERR_OK;
    for (uint32_t i = 0; rc == ERR_OK && i < s->n_works; i++)
        rc = compute(s, &s->works[i], err);
    for (uint32_t i = 0; rc == ERR_OK && i < s->n_works; i++) {
        if (!s->works[i].same)
            enter(s, &s->works[i]);
    }
    for (unsigned layer = EDGE_FACTS; rc == ERR_OK && layer < VECTORS_LAYERS; layer++)
        rc = put_edge_rows(s, layer, err);
    if (rc == ERR_OK)
        rc = gather_nodes(s, err);
    for (uint32_t i = 0; rc == ERR_OK && i < s->n_nodes; i++)
        rc = settle_node(s, &s->nodes[i], err);
    if (rc == ERR_OK)
        rc = vectors__put_sides(s->view, s->batch, s->nodes, s->n_nodes, err);
    return rc;
}

enum err_code vectors_settle(const struct vectors_view *view, struct batch *batch, bool *did,
                             struct err *err)
{
    struct settle s = {.view = view, .batch = batch, .generation = *view->generation};
    struct vectors_parents parents;
    *did = false;
    enum err_code rc = vectors__take_marks(view, batch, &parents, err);
    if (rc != ERR_OK || batch->ops.n == 0)
        return rc;
    rc = prepare(&s, &parents, err);
    if (rc == ERR_OK)
        rc = settle_all(&s, err);
    vectors__finder_close(&s.finders[0]);
    vectors__finder_close(&s.finders[1]);
    if (rc != ERR_OK)
        return rc;
    vectors_save(&s.generation, batch);
    *did = batch_ok(batch);
    return *did ? ERR_OK : vectors__memory(err);
}
