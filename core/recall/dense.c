/* The vectors' part of a query (DESIGN 7, 8): one scan gives the cosine of each document of the
 * layers that are asked for; they are further signals of the lists (fuse.c), and who is nearest is
 * a candidate even without a shared word.
 *
 * What a cosine says depends on the model and on the question: of one model all lie between 0.7 and
 * 0.9, of another between -0.1 and 0.6, and next to a general question everything is near. So what
 * counts is how far a cosine stands out of its layer, in standard deviations above the mean of all
 * living documents, NEAR_DEVIATIONS of them being 1. The mean and what lies below it say as little
 * as a word that is not there: 0. A few documents have no mean worth the name, so both are drawn
 * towards 0 and EVEN_DEVIATION as by EVEN_DOCS further ones; without that the only document of a
 * space would never be near. Measured against the cosines themselves: tests/bench/README.md. */
#include <math.h>

#include "core/recall/recall_int.h"

enum { NEAR_DEVIATIONS = 6, EVEN_DOCS = 16 };
#define EVEN_DEVIATION 0.1

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

/* Turns cosines into what they count, 0 to 1. */
static void stand_out(struct vectors_scores *scores)
{
    double n = 0, sum = 0, squares = 0;
    for (uint32_t i = 0; i < scores->n; i++) {
        double cosine = (double)scores->at[i];
        if (scores->at[i] == VECTORS_ABSENT)
            continue;
        n++;
        sum += cosine;
        squares += cosine * cosine;
    }
    double spread = n > 0 ? squares - sum * sum / n : 0; /* rounding may leave less than 0 */
    double even = EVEN_DOCS * EVEN_DEVIATION * EVEN_DEVIATION;
    double deviation = sqrt(((spread > 0 ? spread : 0) + even) / (n + EVEN_DOCS));
    float mean = (float)(sum / (n + EVEN_DOCS)), scale = (float)(1 / (NEAR_DEVIATIONS * deviation));
    for (uint32_t i = 0; i < scores->n; i++) {
        float out = (scores->at[i] - mean) * scale;
        scores->at[i] = out < 0 ? 0 : out > 1 ? 1 : out;
    }
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
    if (r->nearness[LAYER_FACT].n != 0)
        columns_read_all(r->columns, COLUMN_FACT);
    if (r->nearness[LAYER_EPISODE].n != 0) {
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
    enum err_code rc = vectors_scan(&view, &query, r->nearness, err);
    if (rc != ERR_OK)
        return rc;
    for (int layer = 0; layer < LAYERS; layer++)
        stand_out(&r->nearness[layer]);
    r->nearest_fact = greatest(&r->nearness[LAYER_FACT]);
    r->nearest_turn = greatest(&r->nearness[LAYER_TURN]);
    r->nearest_episode = greatest(&r->nearness[LAYER_EPISODE]);
    read_rows(r);
    return ERR_OK;
}

/* --- the nearest ---
 *
 * A heap with the farthest of them on top; but few documents come so far. First all are counted by
 * their nearness, in bins; then bands of bins are gone through from above, until one has filled the
 * heap. What lies below it is farther than all that is in there. */

enum {
    BINS = 1024,                                     /* a power of two: bounds of bins are exact */
    FIRST_BAND = RECALL_NEAREST + RECALL_NEAREST / 4 /* documents: some may not fit */
};

struct near {
    float nearness;
    uint32_t doc;
};

static bool is_farther(const struct near *a, const struct near *b)
{
    return a->nearness != b->nearness ? a->nearness < b->nearness : a->doc > b->doc;
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
    uint32_t counts[BINS + 1]; /* 1 has a bin of its own */
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
        if (one.nearness < least || one.nearness >= limit)
            continue;
        bool fine = one.nearness > 0 && (h->n < RECALL_NEAREST || is_farther(&h->heap[0], &one));
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
    struct hunt h = {.r = r, .scores = &r->nearness[layer], .fits = fits, .arg = arg};
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
