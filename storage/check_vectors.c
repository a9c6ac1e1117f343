/* fsck: the vector index (core/index/vectors.h). What is stored of each generation that is built or
 * active is read once; then invariants 1 to 3 are checked, and where nothing is marked, the edges
 * and side values are computed again (invariant 4). */
#include <math.h>
#include <stdlib.h>

#include "core/graph/node_id.h"
#include "core/index/vectors.h"
#include "storage/check_int.h"

#define UNIT_ERROR 1e-6  /* of a base row's length */
#define SIDE_ERROR 1e-5  /* of a side value, and so much for each 1 that it is large */
#define STEPS_ERROR 1.01 /* of a value of an edge row, in steps of its rounding */

static const char *const names[VECTORS_LAYERS] = {NODE_TURN,
                                                  NODE_FACT,
                                                  NODE_EPISODE,
                                                  NODE_TOPIC,
                                                  "the facts of episode",
                                                  "the episodes of topic"};

struct stored_row {
    const int8_t *values; /* NULL: none */
    float scale;
};

struct stored_members {
    const char *docs; /* LE32 x n; NULL: none */
    uint32_t n;
};

struct vectors_check {
    struct check *c;
    const struct vectors_generation *g;
    struct stored_row *rows[VECTORS_LAYERS]; /* by document or parent */
    uint32_t n[VECTORS_LAYERS];
    struct stored_members *members[2];
    uint32_t count[VECTORS_LAYERS], blocks[VECTORS_LAYERS], small[VECTORS_LAYERS], edges[2];
    uint32_t last[LAYERS]; /* the last node read + 1 */
    uint64_t marks;
    double *sum;    /* dim values */
    uint32_t *docs; /* as many as the largest hyperedge has */
};

static bool is_edge(unsigned layer)
{
    return layer >= LAYERS;
}

/* --- what is stored --- */

static enum err_code make_tables(struct vectors_check *v, struct err *err)
{
    struct check *c = v->c;
    uint32_t most = 1;
    for (unsigned layer = 0; layer < VECTORS_LAYERS; layer++) {
        uint64_t next =
            layer == EDGE_FACTS ? c->stat.v[STAT_NEXT_EPISODE] : c->stat.v[STAT_NEXT_TOPIC];
        v->n[layer] = is_edge(layer) ? (uint32_t)next : c->docs[layer].n;
        v->rows[layer] = check__array(c, v->n[layer] + 1u, sizeof *v->rows[layer], err);
        if (v->rows[layer] == NULL)
            return ERR_EXHAUSTED;
    }
    for (uint32_t i = 0; i < c->n_episodes; i++)
        most = c->episodes[i].facts.n > most ? c->episodes[i].facts.n : most;
    for (uint32_t i = 0; i < c->n_topics; i++)
        most = c->topics[i].episodes.n > most ? c->topics[i].episodes.n : most;
    v->members[0] = check__array(c, v->n[EDGE_FACTS] + 1u, sizeof *v->members[0], err);
    v->members[1] = check__array(c, v->n[EDGE_EPISODES] + 1u, sizeof *v->members[1], err);
    v->sum = check__array(c, v->g->dim, sizeof *v->sum, err);
    v->docs = check__array(c, most, sizeof *v->docs, err);
    bool good = v->members[0] != NULL && v->members[1] != NULL && v->sum != NULL && v->docs != NULL;
    return good ? ERR_OK : ERR_EXHAUSTED;
}

static double length2(const struct stored_row *row, uint32_t dim)
{
    double sum = 0;
    for (uint32_t k = 0; k < dim; k++)
        sum += (double)row->values[k] * row->values[k];
    return sum * (double)row->scale * (double)row->scale;
}

static bool values_are_sound(const struct vectors_block *block, uint32_t i)
{
    const int8_t *values = block->values + (size_t)i * block->stride;
    bool sound = true;
    for (uint32_t k = 0; k < block->stride; k++)
        sound = sound && values[k] != INT8_MIN && (k < block->dim || values[k] == 0);
    return sound;
}

/* I1, I2 of vectors.h. */
static void check_base_row(struct vectors_check *v, const struct vectors_block *block, uint32_t i)
{
    unsigned layer = block->layer;
    uint32_t doc = vectors_node(block, i);
    struct stored_row *row = &v->rows[layer][doc];
    if (doc >= v->g->embedded[layer])
        check__problem(v->c, "%s document %u has a vector and is above the watermark", names[layer],
                       doc);
    if (doc < v->last[layer])
        check__problem(v->c, "the vectors of %s documents are out of order at %u", names[layer],
                       doc);
    v->last[layer] = doc + 1;
    *row = (struct stored_row){block->values + (size_t)i * block->stride, vectors_scale(block, i)};
    if (row->scale != 0 && fabs(length2(row, block->dim) - 1) > UNIT_ERROR)
        check__problem(v->c, "the vector of %s document %u is not of length 1", names[layer], doc);
}

static void check_row(struct vectors_check *v, const struct vectors_block *block, uint32_t i)
{
    unsigned layer = block->layer;
    uint32_t node = vectors_node(block, i);
    float scale = vectors_scale(block, i);
    if (node >= v->n[layer])
        check__problem(v->c, "a vector of %s %u, which was not given out yet", names[layer], node);
    else if (!isfinite(scale) || scale < 0 || !values_are_sound(block, i))
        check__problem(v->c, "the vector of %s %u is damaged", names[layer], node);
    else if (!is_edge(layer))
        check_base_row(v, block, i);
    else
        v->rows[layer][node] =
            (struct stored_row){block->values + (size_t)i * block->stride, scale};
}

static void check_block(struct vectors_check *v, unsigned layer, uint32_t number, struct str value)
{
    struct vectors_block block;
    if (!vectors_block_read(value, &block) || block.layer != layer || block.dim != v->g->dim) {
        check__problem(v->c, "block %u of vectors of layer %u is damaged", number, layer);
        return;
    }
    v->count[layer] += block.n;
    v->blocks[layer]++;
    v->small[layer] += block.n < vectors_block_rows(block.dim);
    if (is_edge(layer) ? number >= v->g->next_block[layer - EDGE_FACTS]
                       : number != vectors_node(&block, 0))
        check__problem(v->c, "block %u of vectors of layer %u has a wrong number", number, layer);
    for (uint32_t i = 0; i < block.n; i++)
        check_row(v, &block, i);
}

static void note_members(struct vectors_check *v, unsigned layer, uint32_t parent, struct str value)
{
    if (parent >= v->n[layer] || value.len == 0 || value.len % 4 != 0) {
        check__problem(v->c, "the members of the vector of %s %u are damaged", names[layer],
                       parent);
        return;
    }
    v->members[layer - EDGE_FACTS][parent] =
        (struct stored_members){value.at, (uint32_t)(value.len / 4)};
    v->edges[layer - EDGE_FACTS]++;
}

static void check_side_value(struct vectors_check *v, unsigned layer, uint32_t number,
                             struct str value)
{
    struct vectors_side side;
    bool good = layer == LAYER_FACT || layer == LAYER_EPISODE;
    for (uint32_t i = 0; good && i < SIDE_NODES; i++) {
        good = vectors_side_read(value, i, &side) && isfinite(side.along) && isfinite(side.across);
        good = good && (side.n == 0 || (uint64_t)number * SIDE_NODES + i < v->n[layer]);
    }
    if (!good)
        check__problem(v->c, "side value %u of layer %u is damaged", number, layer);
}

static void check_mark(struct vectors_check *v, unsigned layer, struct str value)
{
    bool nodes = layer == LAYER_FACT || layer == LAYER_EPISODE;
    bool edge = layer == EDGE_FACTS || layer == EDGE_EPISODES;
    if ((!nodes && !edge) || value.len != (nodes ? 12 : 8))
        check__problem(v->c, "a mark of the vector index is damaged");
    v->marks++;
}

static void read_row(struct vectors_check *v, enum store_kind kind, const struct store_item *item)
{
    unsigned layer = (unsigned char)item->key.at[4];
    uint32_t number = be32_get(item->key.at + 5);
    if (layer >= VECTORS_LAYERS)
        check__problem(v->c, "a row of the vector index has layer %u", layer);
    else if (kind == KIND_VECTOR)
        check_block(v, layer, number, item->value);
    else if (kind == KIND_VECTOR_DIRTY)
        check_mark(v, layer, item->value);
    else if (is_edge(layer))
        note_members(v, layer, number, item->value);
    else
        check_side_value(v, layer, number, item->value);
}

static enum err_code read_kind(struct vectors_check *v, enum store_kind kind, struct err *err)
{
    struct store_cursor *cursor = NULL;
    struct store_item item;
    char from[VECTORS_KEY];
    vectors_key(from, v->g->number, 0, 0);
    enum err_code code = store_cursor_open(v->c->txn, v->c->space, kind, &cursor, err);
    if (code == ERR_OK)
        code = store_cursor_seek(cursor, (struct str){from, sizeof from}, &item, err);
    while (code == ERR_OK && item.key.at != NULL && item.key.len == VECTORS_KEY &&
           be32_get(item.key.at) == v->g->number) {
        read_row(v, kind, &item);
        code = store_cursor_next(cursor, &item, err);
    }
    store_cursor_close(cursor);
    return code;
}

/* I3, and the other half of I1. */
static void check_counts(struct vectors_check *v)
{
    for (unsigned layer = 0; layer < VECTORS_LAYERS; layer++) {
        check__equal(v->c, "a generation's number of vectors", v->g->rows[layer], v->count[layer]);
        check__equal(v->c, "a generation's number of blocks", v->g->blocks[layer],
                     v->blocks[layer]);
        check__equal(v->c, "a generation's number of small blocks", v->g->small[layer],
                     v->small[layer]);
    }
    for (unsigned i = 0; i < 2; i++)
        check__equal(v->c, "a generation's number of edges", v->g->edges[i], v->edges[i]);
    for (unsigned layer = 0; layer < LAYERS; layer++) {
        if (v->g->embedded[layer] > v->n[layer])
            check__problem(v->c, "more %s documents are embedded than there are", names[layer]);
        for (uint32_t doc = 0; doc < v->g->embedded[layer] && doc < v->n[layer]; doc++) {
            if (v->c->docs[layer].length[doc] != 0 && v->rows[layer][doc].values == NULL)
                check__problem(v->c, "%s document %u has no vector", names[layer], doc);
        }
    }
}

/* --- computed again --- */

static bool has_vector(const struct vectors_check *v, unsigned layer, uint32_t doc)
{
    return doc < v->n[layer] && v->c->docs[layer].length[doc] != 0 &&
           v->rows[layer][doc].values != NULL && v->rows[layer][doc].scale != 0;
}

static bool document_of(const struct vectors_check *v, unsigned edge_layer, uint32_t id,
                        uint32_t *doc)
{
    if (edge_layer == EDGE_FACTS) {
        *doc = id - 1;
        return has_vector(v, LAYER_FACT, *doc);
    }
    const struct check_episode *episode = check__episode(v->c, id);
    *doc = episode != NULL ? episode->record.doc : 0;
    return episode != NULL && has_vector(v, LAYER_EPISODE, *doc);
}

static void add_to_sum(struct vectors_check *v, const struct stored_row *row, double by)
{
    for (uint32_t k = 0; k < v->g->dim; k++)
        v->sum[k] += by * (double)row->scale * row->values[k];
}

static int by_number(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Fills v->docs and v->sum; how many members take part. */
static uint32_t sum_members(struct vectors_check *v, unsigned layer,
                            const struct check_members *members)
{
    unsigned nodes = layer == EDGE_FACTS ? LAYER_FACT : LAYER_EPISODE;
    double total = 0;
    uint32_t n = 0, doc;
    memset(v->sum, 0, v->g->dim * sizeof *v->sum);
    for (uint32_t i = 0; i < members->n; i++) {
        if (document_of(v, layer, members->at[i].id, &doc))
            total += exp(weight_unpack(members->at[i].weight));
    }
    for (uint32_t i = 0; i < members->n; i++) {
        if (!document_of(v, layer, members->at[i].id, &doc))
            continue;
        add_to_sum(v, &v->rows[nodes][doc], exp(weight_unpack(members->at[i].weight)) / total);
        v->docs[n++] = doc;
    }
    qsort(v->docs, n, sizeof *v->docs, by_number);
    return n;
}

static bool is_sum(const struct vectors_check *v, const struct stored_row *row)
{
    double most = 0, off = 0;
    if (row->values == NULL)
        return false;
    for (uint32_t k = 0; k < v->g->dim; k++) {
        most = fmax(most, fabs(v->sum[k]));
        off = fmax(off, fabs(v->sum[k] - (double)row->scale * row->values[k]));
    }
    return off <= STEPS_ERROR * most / KERNELS_INT8 + SIDE_ERROR;
}

static void check_edge(struct vectors_check *v, unsigned layer, uint32_t parent,
                       const struct check_members *members)
{
    uint32_t n = sum_members(v, layer, members);
    struct stored_members *stored = &v->members[layer - EDGE_FACTS][parent];
    if (n != stored->n || (n != 0 && memcmp(v->docs, stored->docs, (size_t)n * 4) != 0))
        check__problem(v->c, "the vector of %s %u has other members", names[layer], parent);
    else if (n != 0 && !is_sum(v, &v->rows[layer][parent]))
        check__problem(v->c, "the vector of %s %u is not the sum of its members", names[layer],
                       parent);
    stored->n = 0; /* seen */
}

static void check_edges(struct vectors_check *v)
{
    const struct check *c = v->c;
    for (uint32_t i = 0; i < c->n_episodes; i++)
        check_edge(v, EDGE_FACTS, c->episodes[i].record.id, &c->episodes[i].facts);
    for (uint32_t i = 0; i < c->n_topics; i++)
        check_edge(v, EDGE_EPISODES, c->topics[i].record.id, &c->topics[i].episodes);
    for (unsigned layer = EDGE_FACTS; layer < VECTORS_LAYERS; layer++) {
        for (uint32_t parent = 0; parent < v->n[layer]; parent++) {
            if (v->members[layer - EDGE_FACTS][parent].n != 0)
                check__problem(v->c, "a vector of %s %u, which is not there", names[layer], parent);
        }
    }
}

/* --- nodes --- */

/* A living node, or a dead document: then without edges. */
struct stored_node {
    unsigned layer;
    uint32_t doc;
    const uint32_t *edges; /* parents, as its record says */
    uint32_t n;
};

static bool names_same(const struct stored_node *node, const struct vectors_side *side)
{
    if (side->n != node->n)
        return false;
    for (uint32_t i = 0; i < side->n; i++) {
        uint32_t parent = le32_get(side->edges + (size_t)i * 4);
        bool found = false;
        for (uint32_t k = 0; k < node->n; k++)
            found = found || node->edges[k] == parent;
        if (!found)
            return false;
    }
    return true;
}

static bool near(double is, double should)
{
    return fabs(is - should) <= SIDE_ERROR * (1 + fabs(should));
}

static bool is_measured(struct vectors_check *v, const struct stored_node *node,
                        const struct vectors_side *side)
{
    const struct stored_row *row = &v->rows[node->layer][node->doc];
    unsigned edge_layer = node->layer == LAYER_FACT ? EDGE_FACTS : EDGE_EPISODES;
    double along = 0, across = 0;
    memset(v->sum, 0, v->g->dim * sizeof *v->sum);
    for (uint32_t i = 0; i < node->n; i++) {
        if (node->edges[i] >= v->n[edge_layer] ||
            v->rows[edge_layer][node->edges[i]].values == NULL)
            return false;
        add_to_sum(v, &v->rows[edge_layer][node->edges[i]], 1);
    }
    for (uint32_t k = 0; k < v->g->dim; k++) {
        along += (double)row->scale * row->values[k] * v->sum[k];
        across += v->sum[k] * v->sum[k];
    }
    return near((double)side->along, along) && near((double)side->across, across);
}

static enum err_code check_node(struct vectors_check *v, const struct stored_node *node,
                                struct err *err)
{
    char key[VECTORS_KEY];
    struct str value;
    struct vectors_side side;
    vectors_key(key, v->g->number, node->layer, node->doc / SIDE_NODES);
    enum err_code code = store_get(v->c->txn, v->c->space, KIND_VECTOR_SIDE,
                                   (struct str){key, sizeof key}, &value, err);
    if (code != ERR_OK)
        return code;
    if (value.at == NULL)
        value = STR("");
    if (!vectors_side_read(value, node->doc % SIDE_NODES, &side))
        return ERR_OK; /* told already */
    if (!names_same(node, &side))
        check__problem(v->c, "%s document %u: its side value names other edges", names[node->layer],
                       node->doc);
    else if (node->n != 0 && !is_measured(v, node, &side))
        check__problem(v->c, "%s document %u: its side values do not agree", names[node->layer],
                       node->doc);
    return ERR_OK;
}

static enum err_code check_nodes(struct vectors_check *v, unsigned layer, struct err *err)
{
    struct check *c = v->c;
    enum err_code code = ERR_OK;
    for (uint32_t doc = 0; code == ERR_OK && doc < v->n[layer]; doc++) {
        uint32_t owner = c->docs[layer].owner[doc];
        struct stored_node node = {.layer = layer, .doc = doc};
        const struct fact *fact = layer == LAYER_FACT ? check__fact(c, owner) : NULL;
        const struct check_episode *episode =
            layer == LAYER_EPISODE ? check__episode(c, owner) : NULL;
        if (has_vector(v, layer, doc) && fact != NULL) {
            node.edges = fact->episodes;
            node.n = fact->n_episodes;
        } else if (has_vector(v, layer, doc) && episode != NULL) {
            node.edges = episode->record.topics;
            node.n = episode->record.n_topics;
        }
        code = check_node(v, &node, err);
    }
    return code;
}

/* --- together --- */

static enum err_code check_generation(struct check *c, const struct vectors_generation *g,
                                      struct err *err)
{
    static const uint8_t kinds[] = {KIND_VECTOR, KIND_VECTOR_SIDE, KIND_VECTOR_DIRTY};
    struct vectors_check v = {.c = c, .g = g};
    enum err_code code = make_tables(&v, err);
    for (size_t i = 0; code == ERR_OK && i < sizeof kinds; i++)
        code = read_kind(&v, (enum store_kind)kinds[i], err);
    if (code != ERR_OK)
        return code;
    check_counts(&v);
    if (v.marks != 0)
        return ERR_OK; /* edges and sides are of an earlier state */
    check_edges(&v);
    code = check_nodes(&v, LAYER_FACT, err);
    if (code == ERR_OK)
        code = check_nodes(&v, LAYER_EPISODE, err);
    return code;
}

/* Rows of a generation that is gone; marks of one may be left for housekeeping. */
static enum err_code check_strays(struct check *c, const struct vectors_generations *all,
                                  enum store_kind kind, struct err *err)
{
    struct store_cursor *cursor = NULL;
    struct store_item item;
    uint64_t strays = 0;
    enum err_code code = store_cursor_open(c->txn, c->space, kind, &cursor, err);
    if (code == ERR_OK)
        code = store_cursor_next(cursor, &item, err);
    while (code == ERR_OK && item.key.at != NULL) {
        bool known = false;
        for (uint32_t i = 0; item.key.len == VECTORS_KEY && i < all->n; i++)
            known = known || all->at[i].number == be32_get(item.key.at);
        strays += !known;
        code = store_cursor_next(cursor, &item, err);
    }
    store_cursor_close(cursor);
    if (strays != 0)
        check__problem(c, "%llu rows of the vector index belong to no generation",
                       (unsigned long long)strays);
    return code;
}

/* E2, E3 of core/ingest/embed.h. */
static void check_dues(struct check *c, bool has_old)
{
    const uint64_t *v = c->stat.v;
    if (v[STAT_EMBED_FAILURES] != 0 && v[STAT_EMBED_DUE] == 0)
        check__problem(c, "embedding has failed and is never tried again");
    if ((has_old || c->rows[KIND_VECTOR_DIRTY] != 0) && v[STAT_VECTORS_DUE] == 0)
        check__problem(c, "there is housekeeping of vectors to do, and VECTORS_DUE is 0");
}

enum err_code check__vectors(struct check *c, struct err *err)
{
    struct vectors_generations all;
    unsigned states[VECTORS_STATES] = {0};
    enum err_code code = vectors_generations_get(c->txn, c->space, c->arena, &all, err);
    if (code == ERR_INTERNAL) {
        check__problem(c, "%s", err->message);
        return ERR_OK;
    }
    if (code == ERR_OK)
        code = check_strays(c, &all, KIND_VECTOR, err);
    if (code == ERR_OK)
        code = check_strays(c, &all, KIND_VECTOR_SIDE, err);
    for (uint32_t i = 0; code == ERR_OK && i < all.n; i++) {
        states[all.at[i].state]++;
        if (all.at[i].state != VECTORS_OLD)
            code = check_generation(c, &all.at[i], err);
    }
    if (states[VECTORS_BUILDING] > 1 || states[VECTORS_ACTIVE] > 1)
        check__problem(c, "several generations of vectors are built or active");
    check_dues(c, states[VECTORS_OLD] != 0);
    return code;
}
