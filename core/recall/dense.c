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

/* Documents of episodes and topics lead to their nodes by a column. The nearest facts lie all over
 * theirs. */
static void read_rows(struct recall *r)
{
    if (r->cosines[LAYER_FACT].n != 0)
        columns_read_all(r->columns, COLUMN_FACT);
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

/* --- the nearest ---
 *
 * A heap with the farthest of them on top; but few documents come so far. First all are counted by
 * their cosine, in bins; then bands of bins are gone through from above, until one has filled the
 * heap. What lies below it is farther than all that is in there. */

enum {
    BINS = 1024,                                     /* a power of two: bounds of bins are exact */
    FIRST_BAND = RECALL_NEAREST + RECALL_NEAREST / 4 /* documents: some may not fit */
};

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

struct hunt {
    struct recall *r;
    const struct vectors_scores *scores;
    recall_fits_fn *fits;
    const void *arg;
    uint32_t n;
    struct near heap[RECALL_NEAREST];
    uint32_t counts[BINS + 1]; /* a cosine of 1 has a bin of its own */
};

static void count_all(struct hunt *h)
{
    const struct vectors_scores *scores = h->scores;
    for (uint32_t doc = 0; doc < scores->n; doc++) {
        if (scores->at[doc] > 0)
            h->counts[(uint32_t)(scores->at[doc] * BINS)]++;
    }
}

/* The bin where a band begins that ends before `end` and has so many documents, or all the rest. */
static uint32_t band_begin(const struct hunt *h, uint32_t end, uint32_t wanted)
{
    uint32_t begin = end;
    for (uint32_t have = 0; begin > 0 && have < wanted;)
        have += h->counts[--begin];
    return begin;
}

static enum err_code hunt_band(struct hunt *h, uint32_t begin, uint32_t end, struct err *err)
{
    const float least = (float)begin / BINS, limit = (float)end / BINS;
    for (uint32_t doc = 0; doc < h->scores->n; doc++) {
        struct near one = {h->scores->at[doc], doc};
        if (one.cosine < least || one.cosine >= limit)
            continue;
        bool fine = one.cosine > 0 && (h->n < RECALL_NEAREST || is_farther(&h->heap[0], &one));
        if (fine && h->fits != NULL) {
            enum err_code rc = h->fits(h->r, doc, h->arg, &fine, err);
            if (rc != ERR_OK)
                return rc;
        }
        if (fine)
            keep(h->heap, &h->n, one);
    }
    return ERR_OK;
}

enum err_code recall__nearest(struct recall *r, enum layer layer, recall_fits_fn *fits,
                              const void *arg, struct nearest *out, struct err *err)
{
    struct hunt h = {.r = r, .scores = &r->cosines[layer], .fits = fits, .arg = arg};
    uint32_t wanted = FIRST_BAND;
    *out = (struct nearest){.n = 0};
    count_all(&h);
    for (uint32_t begin, end = BINS + 1; h.n < RECALL_NEAREST && end > 0; end = begin) {
        begin = band_begin(&h, end, wanted);
        enum err_code rc = hunt_band(&h, begin, end, err);
        if (rc != ERR_OK)
            return rc;
        wanted *= 2; /* where a filter lets few through */
    }
    out->docs = arena_alloc(r->arena, h.n * sizeof *out->docs);
    if (out->docs == NULL)
        return recall__memory(err);
    out->n = h.n;
    for (uint32_t i = 0; i < h.n; i++)
        out->docs[i] = h.heap[i].doc;
    return ERR_OK;
}
