#include "tests/unit/index/vmodel.h"

#include <check.h>
#include <stdlib.h>

#include "core/graph/fact.h"
#include "core/index/column.h"

static void *table(size_t n, size_t size)
{
    void *at = calloc(n, size);
    ck_assert_ptr_nonnull(at);
    return at;
}

static void start(struct vmodel *m)
{
    struct err err;
    const struct vectors_identity identity = {.hash = 77, .line = STR("test model"), .dim = m->dim};
    for (int step = 0; step < 2; step++) {
        vmodel_begin(m);
        enum err_code rc = step == 0 ? vectors_start(&m->all, m->batch, &identity, &err)
                                     : vectors_activate(&m->all, m->batch, &err);
        ck_assert_int_eq(rc, ERR_OK);
        vmodel_commit(m);
    }
    m->generation = 1;
}

void vmodel_init(struct vmodel *m, uint64_t seed, uint32_t dim)
{
    *m = (struct vmodel){.h = harness_new(), .arena = arena_new((size_t)1 << 30), .rng = seed};
    m->dim = dim;
    m->kernels = kernels_choose(NULL);
    for (unsigned layer = 0; layer < LAYERS; layer++)
        m->docs[layer] = table(VM_NODES, sizeof *m->docs[layer]);
    m->facts = table(VM_NODES, sizeof *m->facts);
    m->episodes = table(VM_NODES, sizeof *m->episodes);
    m->edges[0] = table(VM_NODES, sizeof *m->edges[0]);
    m->edges[1] = table(VM_NODES, sizeof *m->edges[1]);
    m->n_episodes = m->n_topics = 1;
    start(m);
}

void vmodel_fini(struct vmodel *m)
{
    for (unsigned layer = 0; layer < LAYERS; layer++)
        free(m->docs[layer]);
    for (unsigned i = 0; i < 2; i++) {
        for (uint32_t parent = 0; parent < VM_NODES; parent++)
            free(m->edges[i][parent].at);
        free(m->edges[i]);
    }
    free(m->facts);
    free(m->episodes);
    arena_free(m->arena);
    harness_free(m->h);
}

/* --- batches --- */

void vmodel_begin(struct vmodel *m)
{
    struct err err;
    arena_reset(m->arena);
    m->batch = batch_new(m->arena, harness_space(m->h), CAUSE_STAGE);
    ck_assert_int_eq(
        vectors_generations_get(harness_begin(m->h), harness_space(m->h), m->arena, &m->all, &err),
        ERR_OK);
}

void vmodel_commit(struct vmodel *m)
{
    struct batch *batch = m->batch;
    batch_set(batch, STAT_NEXT_DOC_TURN, m->n_docs[LAYER_TURN]);
    batch_set(batch, STAT_NEXT_FACT, m->n_docs[LAYER_FACT] + 1);
    batch_set(batch, STAT_NEXT_DOC_EPISODE, m->n_docs[LAYER_EPISODE]);
    batch_set(batch, STAT_NEXT_DOC_TOPIC, m->n_docs[LAYER_TOPIC]);
    batch_set(batch, STAT_NEXT_EPISODE, m->n_episodes);
    batch_set(batch, STAT_NEXT_TOPIC, m->n_topics);
    harness_commit(m->h, batch);
}

static void put_length(struct vmodel *m, enum layer layer, uint32_t doc, bool lives)
{
    char prefix = (char)layer, length = lives ? 5 : 0;
    (void)batch_rows(m->batch, KIND_LENGTH, (struct str){&prefix, 1}, LENGTH_BLOCK, 1, doc,
                     (struct str){&length, 1});
    batch_add(m->batch, (enum stat_id)(STAT_DOCS_TURN + layer), lives ? 1 : -1);
    m->docs[layer][doc].lives = lives;
}

static uint32_t new_doc(struct vmodel *m, enum layer layer)
{
    uint32_t doc = m->n_docs[layer]++;
    ck_assert_uint_lt(doc, VM_NODES);
    put_length(m, layer, doc, true);
    return doc;
}

static void put_fact(struct vmodel *m, uint32_t id)
{
    struct buf buf;
    uint32_t source = id;
    struct fact fact = {
        .id = id,
        .valid_to = TIME_NEVER,
        .content = STR("it is so"),
        .speaker = STR("ann"),
        .role = STR(""),
        .keywords = STR(""),
        .potential = STR(""),
        .time_text = STR(""),
        .n_sources = 1,
        .sources = &source,
        .n_episodes = m->facts[id].n,
        .episodes = m->facts[id].episodes,
    };
    buf_init(&buf, m->arena, 1 << 16);
    fact_encode(&fact, &buf);
    (void)batch_put_u32(m->batch, KIND_FACT, id, buf_str(&buf), PUT_STAMP);
}

static void put_episode(struct vmodel *m, uint32_t id)
{
    const struct vm_episode *e = &m->episodes[id];
    struct episode_row row = {
        .doc = e->doc, .turns = e->lives, .topics = {e->topics[0], e->topics[1]}};
    (void)column_put(m->batch, COLUMN_EPISODE, id - 1, &row, 1);
    (void)column_put(m->batch, COLUMN_EPISODE_DOC, e->doc, &id, 1);
}

static enum store_kind kind_of(unsigned edge_layer)
{
    return edge_layer == EDGE_FACTS ? KIND_EPISODE_EDGE : KIND_TOPIC_EDGE;
}

static struct vm_edge *edge_of(const struct vmodel *m, unsigned edge_layer, uint32_t parent)
{
    return &m->edges[edge_layer - EDGE_FACTS][parent];
}

static void put_edge(struct vmodel *m, unsigned edge_layer, uint32_t parent)
{
    struct buf buf;
    const struct vm_edge *e = edge_of(m, edge_layer, parent);
    struct edge edge = {e->at, e->n};
    buf_init(&buf, m->arena, 1 << 16);
    edge_encode(&edge, &buf);
    if (e->n == 0)
        (void)batch_del_u32(m->batch, kind_of(edge_layer), parent, 0);
    else
        (void)batch_put_u32(m->batch, kind_of(edge_layer), parent, buf_str(&buf), 0);
    vectors_edge_dirty(&m->all, m->batch, kind_of(edge_layer), parent, VECTORS_NO_SLOT);
}

static void set_member(struct vmodel *m, unsigned edge_layer, uint32_t parent, uint32_t id,
                       uint16_t weight)
{
    struct vm_edge *e = edge_of(m, edge_layer, parent);
    uint32_t i = 0;
    if (e->at == NULL)
        e->at = table(VM_MEMBERS, sizeof *e->at);
    while (i < e->n && e->at[i].id < id)
        i++;
    if (i == e->n || e->at[i].id != id) {
        ck_assert_uint_lt(e->n, VM_MEMBERS);
        memmove(&e->at[i + 1], &e->at[i], (e->n - i) * sizeof *e->at);
        e->n++;
    }
    e->at[i] = (struct edge_member){.id = id, .role = ROLE_CORE, .weight = weight};
    put_edge(m, edge_layer, parent);
}

static void remove_member(struct vmodel *m, unsigned edge_layer, uint32_t parent, uint32_t id)
{
    struct vm_edge *e = edge_of(m, edge_layer, parent);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < e->n; i++) {
        if (e->at[i].id != id)
            e->at[kept++] = e->at[i];
    }
    e->n = kept;
    put_edge(m, edge_layer, parent);
}

/* --- changes --- */

static uint16_t some_weight(struct vmodel *m)
{
    return (uint16_t)rng_below(&m->rng, 65536);
}

uint32_t vmodel_add_topic(struct vmodel *m)
{
    (void)new_doc(m, LAYER_TOPIC);
    return m->n_topics++;
}

void vmodel_add_turn(struct vmodel *m)
{
    (void)new_doc(m, LAYER_TURN);
}

uint32_t vmodel_add_episode(struct vmodel *m, uint32_t topic_a, uint32_t topic_b)
{
    uint32_t id = m->n_episodes++;
    m->episodes[id] = (struct vm_episode){true, new_doc(m, LAYER_EPISODE), {topic_a, topic_b}};
    put_episode(m, id);
    for (unsigned i = 0; i < 2; i++) {
        if (m->episodes[id].topics[i] != 0)
            set_member(m, EDGE_EPISODES, m->episodes[id].topics[i], id, some_weight(m));
    }
    return id;
}

uint32_t vmodel_add_fact(struct vmodel *m, uint32_t episode, uint16_t weight)
{
    uint32_t id = new_doc(m, LAYER_FACT) + 1;
    m->facts[id].n = 0;
    vmodel_join(m, id, episode, weight);
    return id;
}

void vmodel_join(struct vmodel *m, uint32_t fact, uint32_t episode, uint16_t weight)
{
    struct vm_fact *f = &m->facts[fact];
    ck_assert_uint_lt(f->n, VM_LINKS);
    f->episodes[f->n++] = episode;
    put_fact(m, fact);
    set_member(m, EDGE_FACTS, episode, fact, weight);
}

static void unlink_episode(struct vm_fact *f, uint32_t episode)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < f->n; i++) {
        if (f->episodes[i] != episode)
            f->episodes[kept++] = f->episodes[i];
    }
    f->n = kept;
}

void vmodel_leave(struct vmodel *m, uint32_t fact, uint32_t episode)
{
    unlink_episode(&m->facts[fact], episode);
    put_fact(m, fact);
    remove_member(m, EDGE_FACTS, episode, fact);
}

void vmodel_weigh(struct vmodel *m, unsigned edge_layer, uint32_t parent, uint32_t member,
                  uint16_t weight)
{
    set_member(m, edge_layer, parent, member, weight);
}

void vmodel_kill_fact(struct vmodel *m, uint32_t fact)
{
    struct vm_fact *f = &m->facts[fact];
    (void)batch_del_u32(m->batch, KIND_FACT, fact, 0);
    put_length(m, LAYER_FACT, fact - 1, false);
    for (uint32_t i = 0; i < f->n; i++)
        remove_member(m, EDGE_FACTS, f->episodes[i], fact);
    f->n = 0;
}

void vmodel_kill_episode(struct vmodel *m, uint32_t episode)
{
    struct vm_edge *e = edge_of(m, EDGE_FACTS, episode);
    while (e->n != 0) {
        uint32_t fact = e->at[0].id;
        if (m->facts[fact].n == 1)
            vmodel_kill_fact(m, fact);
        else
            vmodel_leave(m, fact, episode);
    }
    struct vm_episode *node = &m->episodes[episode];
    node->lives = false;
    put_length(m, LAYER_EPISODE, node->doc, false);
    for (unsigned i = 0; i < 2; i++) {
        if (node->topics[i] != 0)
            remove_member(m, EDGE_EPISODES, node->topics[i], episode);
        node->topics[i] = 0;
    }
    put_episode(m, episode);
}

void vmodel_rewrite_episode(struct vmodel *m, uint32_t episode)
{
    struct vm_episode *node = &m->episodes[episode];
    put_length(m, LAYER_EPISODE, node->doc, false);
    node->doc = new_doc(m, LAYER_EPISODE);
    put_episode(m, episode);
    for (unsigned i = 0; i < 2; i++) {
        if (node->topics[i] != 0)
            put_edge(m, EDGE_EPISODES, node->topics[i]);
    }
}

bool vmodel_lives(const struct vmodel *m, enum layer layer, uint32_t doc)
{
    return doc < m->n_docs[layer] && m->docs[layer][doc].lives;
}

/* --- the index --- */

void vmodel_view(struct vmodel *m, struct vectors_view *view)
{
    struct err err;
    struct store_txn *txn = harness_begin(m->h);
    ck_assert_int_eq(vectors_generations_get(txn, harness_space(m->h), m->arena, &m->all, &err),
                     ERR_OK);
    *view = (struct vectors_view){
        .txn = txn,
        .space = harness_space(m->h),
        .kernels = m->kernels,
        .arena = m->arena,
        .lengths = lengths_new(txn, harness_space(m->h), m->arena),
        .generation = vectors_generation_find(&m->all, VECTORS_ACTIVE),
    };
    ck_assert_ptr_nonnull(view->generation);
}

void vmodel_raw(const struct vmodel *m, unsigned layer, uint32_t doc, float *out)
{
    uint64_t state = ((uint64_t)layer << 32 | doc) * 2654435761 + 12345;
    /* Neighbours are alike, as facts of one story are. */
    uint64_t story = ((uint64_t)layer << 32 | doc / 8) * 40503 + 999;
    for (uint32_t i = 0; i < m->dim; i++) {
        float own = (float)(int32_t)(uint32_t)rng_next(&state) / 2147483648.0f;
        float shared = (float)(int32_t)(uint32_t)rng_next(&story) / 2147483648.0f;
        out[i] = 3 * (own + shared);
    }
}

void vmodel_embed(struct vmodel *m, enum layer layer, uint32_t n, uint32_t lexical)
{
    static uint32_t docs[VECTORS_ADD_MAX];
    static bool is_lexical[VECTORS_ADD_MAX];
    struct err err;
    vmodel_begin(m);
    struct vectors_generation *g = vectors_generation_find(&m->all, VECTORS_ACTIVE);
    float *rows = ARENA_ARRAY(m->arena, float, (size_t)n * m->dim + 1);
    struct vectors_docs add = {
        .layer = layer, .docs = docs, .rows = rows, .is_lexical = is_lexical};
    add.upto = g->embedded[layer];
    while (add.upto < m->n_docs[layer] && add.n < n) {
        struct vm_doc *doc = &m->docs[layer][add.upto];
        if (doc->lives) {
            is_lexical[add.n] = lexical != 0 && rng_below(&m->rng, lexical) == 0;
            doc->vector = is_lexical[add.n] ? VM_LEXICAL : VM_HAS;
            docs[add.n] = add.upto;
            vmodel_raw(m, layer, add.upto, rows + (size_t)add.n * m->dim);
            add.n++;
        }
        add.upto++;
    }
    ck_assert_int_eq(vectors_add(g, m->kernels, m->batch, &add, &err), ERR_OK);
    vectors_save(g, m->batch);
    harness_commit(m->h, m->batch);
}

void vmodel_embed_all(struct vmodel *m)
{
    for (unsigned layer = 0; layer < LAYERS; layer++) {
        struct vectors_view view;
        vmodel_view(m, &view);
        while (view.generation->embedded[layer] < m->n_docs[layer]) {
            vmodel_embed(m, (enum layer)layer, VECTORS_ADD_MAX, 0);
            vmodel_view(m, &view);
        }
    }
}

typedef enum err_code keep_fn(const struct vectors_view *view, struct batch *batch, bool *did,
                              struct err *err);

static bool keep(struct vmodel *m, keep_fn *fn)
{
    struct err err;
    struct vectors_view view;
    bool did;
    arena_reset(m->arena);
    vmodel_view(m, &view);
    struct batch *batch = batch_new(m->arena, harness_space(m->h), CAUSE_KEEP);
    enum err_code rc = fn(&view, batch, &did, &err);
    ck_assert_msg(rc == ERR_OK, "%s", err.message);
    if (did)
        harness_commit(m->h, batch);
    return did;
}

bool vmodel_settle(struct vmodel *m)
{
    return keep(m, vectors_settle);
}

bool vmodel_fold(struct vmodel *m)
{
    return keep(m, vectors_fold);
}

void vmodel_settle_all(struct vmodel *m)
{
    while (vmodel_settle(m))
        ;
}
