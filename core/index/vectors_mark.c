/* From marks to the edges that are to be computed. */
#include "core/graph/fact.h"
#include "core/index/column.h"
#include "core/index/vectors_int.h"

enum { FIRST_PARENTS = 64 };

struct taking {
    const struct vectors_view *view;
    struct batch *batch;
    struct columns *columns;
    struct arena *scratch; /* a record at a time */
    struct vectors_parents *parents;
};

static int order(const struct vectors_parent *a, const struct vectors_parent *b)
{
    if (a->layer != b->layer)
        return a->layer < b->layer ? -1 : 1;
    return (a->id > b->id) - (a->id < b->id);
}

static bool grow(struct taking *t)
{
    struct vectors_parents *p = t->parents;
    uint32_t cap = p->cap == 0 ? FIRST_PARENTS : p->cap * 2;
    struct vectors_parent *at = ARENA_ARRAY(t->view->arena, struct vectors_parent, cap);
    if (at == NULL)
        return false;
    if (p->n != 0)
        memcpy(at, p->at, p->n * sizeof *at);
    p->at = at;
    p->cap = cap;
    return true;
}

static enum err_code add_parent(struct taking *t, unsigned layer, uint32_t id, struct err *err)
{
    struct vectors_parents *p = t->parents;
    struct vectors_parent parent = {layer, id};
    uint32_t low = 0, high = p->n;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (order(&p->at[middle], &parent) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < p->n && order(&p->at[low], &parent) == 0)
        return ERR_OK;
    if (p->n == p->cap && !grow(t))
        return vectors__memory(err);
    memmove(&p->at[low + 1], &p->at[low], (p->n - low) * sizeof *p->at);
    p->at[low] = parent;
    p->n++;
    return ERR_OK;
}

/* --- edges of a node, as the records say --- */

static enum err_code add_of_fact(struct taking *t, uint32_t doc, struct err *err)
{
    struct fact fact;
    arena_reset(t->scratch);
    enum err_code rc = fact_get(t->view->txn, t->view->space, doc + 1, t->scratch, &fact, err);
    for (uint32_t i = 0; rc == ERR_OK && fact.id != 0 && i < fact.n_episodes; i++)
        rc = add_parent(t, EDGE_FACTS, fact.episodes[i], err);
    return rc;
}

static enum err_code add_of_episode(struct taking *t, uint32_t doc, struct err *err)
{
    struct episode_row row;
    uint32_t id = columns_episode_of_doc(t->columns, doc);
    columns_episode(t->columns, id, &row);
    enum err_code rc = columns_error(t->columns, err);
    if (rc != ERR_OK || row.doc != doc || row.turns == 0)
        return rc; /* its text was written anew */
    for (unsigned i = 0; rc == ERR_OK && i < 2; i++) {
        if (row.topics[i] != 0)
            rc = add_parent(t, EDGE_EPISODES, row.topics[i], err);
    }
    return rc;
}

static enum err_code add_of_nodes(struct taking *t, const struct store_item *item, struct err *err)
{
    enum layer layer = (enum layer)(unsigned char)item->key.at[4];
    uint64_t first = vectors__number(item->key);
    uint64_t end = first + le32_get(item->value.at + 8);
    for (uint64_t doc = first; doc < end; doc++) {
        if (lengths_get(t->view->lengths, layer, (uint32_t)doc) == 0)
            continue;
        enum err_code rc = layer == LAYER_FACT ? add_of_fact(t, (uint32_t)doc, err)
                                               : add_of_episode(t, (uint32_t)doc, err);
        if (rc != ERR_OK)
            return rc;
    }
    return lengths_error(t->view->lengths, err);
}

/* --- marks --- */

static enum err_code take(struct taking *t, const struct store_item *item, unsigned layer,
                          struct err *err)
{
    size_t len = vectors__is_edge(layer) ? 8 : MARK_BYTES;
    if (item->value.len != len)
        return vectors__damaged("the mark", vectors__number(item->key), err);
    batch_need_version(t->batch, KIND_VECTOR_DIRTY, item->key, le64_get(item->value.at));
    (void)batch_del(t->batch, KIND_VECTOR_DIRTY, item->key, 0);
    if (vectors__is_edge(layer))
        return add_parent(t, layer, vectors__number(item->key), err);
    return add_of_nodes(t, item, err);
}

static enum err_code take_layer(struct taking *t, unsigned layer, struct err *err)
{
    struct vectors_walk walk;
    enum err_code rc = vectors__walk_open(t->view, KIND_VECTOR_DIRTY, layer, &walk, err);
    while (rc == ERR_OK && walk.item.key.at != NULL && t->parents->n < SETTLE_EDGES) {
        rc = take(t, &walk.item, layer, err);
        if (rc == ERR_OK)
            rc = vectors__walk_next(&walk, err);
    }
    vectors__walk_close(&walk);
    return rc;
}

enum err_code vectors__take_marks(const struct vectors_view *view, struct batch *batch,
                                  struct vectors_parents *parents, struct err *err)
{
    static const unsigned layers[] = {LAYER_FACT, LAYER_EPISODE, EDGE_FACTS, EDGE_EPISODES};
    struct taking t = {
        .view = view,
        .batch = batch,
        .columns = columns_new(view->txn, view->space, view->arena),
        .scratch = arena_new((size_t)1 << 24),
        .parents = parents,
    };
    *parents = (struct vectors_parents){NULL, 0, 0};
    enum err_code rc = ERR_OK;
    if (t.columns == NULL || t.scratch == NULL)
        rc = vectors__memory(err);
    for (size_t i = 0; rc == ERR_OK && i < sizeof layers / sizeof layers[0]; i++)
        rc = take_layer(&t, layers[i], err);
    arena_free(t.scratch);
    while (rc == ERR_OK && parents->n > SETTLE_EDGES) {
        const struct vectors_parent *last = &parents->at[--parents->n];
        (void)vectors__mark(batch, view->generation->number, last->layer, last->id, 0);
    }
    return rc;
}
