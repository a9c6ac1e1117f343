/* The vectors' part of a query (DESIGN 7, 8): one scan gives the cosine of each document of the
 * layers that are asked for; they are further signals of the lists (fuse.c), and who is nearest is
 * a candidate even without a shared word.
 *
 * A cosine below 0 says as little as a word that is not there: it counts 0. */
#include "core/recall/recall_int.h"

/* Layers that weigh nothing, or whose stage is skipped, are not scanned. */
static unsigned wanted(const struct recall_query *q)
{
    const struct recall_weights *w = &q->dense->weights;
    unsigned mask = 0;
    if (w->turns > 0)
        mask |= 1u << LAYER_TURN;
    if (w->facts > 0)
        mask |= 1u << LAYER_FACT;
    if (w->episodes > 0 && q->episodes != 0)
        mask |= 1u << LAYER_EPISODE;
    if (w->topics > 0 && q->topics != 0)
        mask |= 1u << LAYER_TOPIC;
    return mask;
}

enum err_code recall__dense_open(struct recall *r, struct err *err)
{
    const struct recall_dense *dense = r->query->dense;
    struct vectors_generations all;
    enum err_code rc = ERR_OK;
    if (dense != NULL) {
        rc = vectors_generations_get(r->txn, r->space, r->arena, &all, err);
        if (rc != ERR_OK)
            return rc;
        const struct vectors_generation *active = vectors_generation_find(&all, VECTORS_ACTIVE);
        if (active != NULL && active->identity == dense->identity &&
            active->dim == dense->dimension)
            r->generation = active;
    }
    r->reply->dense = r->generation != NULL;
    recall__set_weights(r);
    return rc;
}

static float greatest(const struct vectors_scores *scores)
{
    float best = 0;
    for (uint32_t i = 0; i < scores->n; i++)
        best = scores->at[i] > best ? scores->at[i] : best;
    return best;
}

/* Documents of episodes and topics lead to their nodes by a column. */
static void read_rows(struct recall *r)
{
    if (r->cosines[LAYER_EPISODE].n != 0) {
        columns_read_all(r->columns, COLUMN_EPISODE);
        columns_read_all(r->columns, COLUMN_EPISODE_DOC);
    }
}

enum err_code recall__dense_score(struct recall *r, struct err *err)
{
    const struct recall_dense *dense = r->query->dense;
    struct vectors_view view = {.txn = r->txn,
                                .space = r->space,
                                .kernels = dense->kernels,
                                .arena = r->arena,
                                .lengths = r->lengths,
                                .generation = r->generation};
    struct vectors_query query = {.q = dense->vector,
                                  .mask = wanted(r->query),
                                  .lambda = dense->lambda,
                                  .join = dense->join,
                                  .mode = VECTORS_FAST};
    enum err_code rc = vectors_scan(&view, &query, r->cosines, err);
    if (rc != ERR_OK)
        return rc;
    r->nearest_fact = greatest(&r->cosines[LAYER_FACT]);
    r->nearest_turn = greatest(&r->cosines[LAYER_TURN]);
    r->nearest_episode = greatest(&r->cosines[LAYER_EPISODE]);
    read_rows(r);
    return ERR_OK;
}

/* --- the nearest: a heap with the farthest of them on top --- */

struct near {
    float cosine;
    uint32_t doc;
};

static bool is_farther(const struct near *a, const struct near *b)
{
    return a->cosine != b->cosine ? a->cosine < b->cosine : a->doc > b->doc;
}

static void sift_down(struct near *heap, uint32_t n, uint32_t at)
{
    struct near moved = heap[at];
    for (uint32_t child = 2 * at + 1; child < n; child = 2 * at + 1) {
        if (child + 1 < n && is_farther(&heap[child + 1], &heap[child]))
            child++;
        if (!is_farther(&heap[child], &moved))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moved;
}

static void keep(struct near *heap, uint32_t *n, struct near one)
{
    if (*n < RECALL_NEAREST) {
        heap[(*n)++] = one;
        for (uint32_t at = *n / 2 + 1; *n == RECALL_NEAREST && at-- > 0;)
            sift_down(heap, *n, at);
        return;
    }
    heap[0] = one;
    sift_down(heap, *n, 0);
}

enum err_code recall__nearest(struct recall *r, enum layer layer, recall_fits_fn *fits,
                              const void *arg, struct nearest *out, struct err *err)
{
    const struct vectors_scores *scores = &r->cosines[layer];
    struct near heap[RECALL_NEAREST];
    uint32_t n = 0;
    *out = (struct nearest){.n = 0};
    for (uint32_t doc = 0; doc < scores->n; doc++) {
        struct near one = {scores->at[doc], doc};
        bool fine = one.cosine > 0 && (n < RECALL_NEAREST || is_farther(&heap[0], &one));
        if (fine && fits != NULL) {
            enum err_code rc = fits(r, doc, arg, &fine, err);
            if (rc != ERR_OK)
                return rc;
        }
        if (fine)
            keep(heap, &n, one);
    }
    out->docs = arena_alloc(r->arena, n * sizeof *out->docs);
    if (out->docs == NULL)
        return recall__memory(err);
    out->n = n;
    for (uint32_t i = 0; i < n; i++)
        out->docs[i] = heap[i].doc;
    return ERR_OK;
}
