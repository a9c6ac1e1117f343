/* Fusion: one score from a candidate's signals, then the best `keep` in order (DESIGN 7).
 *
 *   score  each list divided by the most that the question could reach in it: comparable across
 *          questions, spaces and filters; the default
 *   max    each list divided by its best value here
 *   rrf    sum of 1 / (60 + rank); the paper's
 * All are divided by what they could be at most, so a score lies in 0..1. Ties: the earlier turn,
 * then the smaller id, so that an answer is the same every time. */
#include <stdlib.h>

#include "core/recall/recall_int.h"

enum err_code recall__push(struct recall *r, struct candidates *list, const struct candidate *one,
                           struct err *err)
{
    if (list->n == list->cap) {
        uint32_t cap = list->cap == 0 ? 256 : list->cap * 2;
        struct candidate *more = arena_alloc(r->arena, (size_t)cap * sizeof *more);
        if (more == NULL)
            return recall__memory(err);
        if (list->n != 0)
            memcpy(more, list->at, (size_t)list->n * sizeof *more);
        list->at = more;
        list->cap = cap;
    }
    list->at[list->n++] = *one;
    return ERR_OK;
}

/* True when a goes before b. */
static bool before(const struct candidate *a, const struct candidate *b)
{
    if (a->score != b->score)
        return a->score > b->score;
    return a->turn_doc != b->turn_doc ? a->turn_doc < b->turn_doc : a->id < b->id;
}

static int order(const void *a, const void *b)
{
    return before(a, b) ? -1 : 1;
}

/* The worst of the kept ones on top. */
static void sift_down(struct candidate *heap, uint32_t n, uint32_t at)
{
    for (;;) {
        uint32_t worst = at;
        for (uint32_t child = 2 * at + 1; child <= 2 * at + 2 && child < n; child++)
            if (before(&heap[worst], &heap[child]))
                worst = child;
        if (worst == at)
            return;
        struct candidate swap = heap[at];
        heap[at] = heap[worst];
        heap[worst] = swap;
        at = worst;
    }
}

static void keep_best(struct candidates *list, uint32_t keep)
{
    if (list->n > keep && keep != 0) {
        for (uint32_t i = keep / 2 + 1; i-- > 0;)
            sift_down(list->at, keep, i);
        for (uint32_t i = keep; i < list->n; i++)
            if (before(&list->at[i], &list->at[0])) {
                list->at[0] = list->at[i];
                sift_down(list->at, keep, 0);
            }
    }
    if (list->n > keep)
        list->n = keep;
    if (list->n > 1)
        qsort(list->at, list->n, sizeof list->at[0], order);
}

static float sum_weights(const struct recall *r, const float *weights)
{
    float sum = 0;
    for (int s = 0; s < SIGNALS; s++)
        if (s != SIGNAL_DATE || r->n_dates != 0)
            sum += weights[s];
    return sum > 0 ? sum : 1;
}

/* The greatest factor of this question: 1, or that of a named speaker. */
static float top_factor(const struct recall *r)
{
    return r->n_named != 0 && r->n_named < r->n_speakers ? RECALL_SPEAKER_FACTOR : 1.0f;
}

static void fuse_sums(const struct recall *r, struct candidates *list, const float *weights,
                      const float *scale)
{
    float whole = sum_weights(r, weights) * top_factor(r);
    for (uint32_t i = 0; i < list->n; i++) {
        struct candidate *c = &list->at[i];
        float sum = 0;
        for (int s = 0; s < SIGNALS; s++)
            sum += weights[s] * c->signal[s] * scale[s];
        c->score = sum * c->factor / whole;
    }
}

static void fuse_max(const struct recall *r, struct candidates *list, const float *weights)
{
    float scale[SIGNALS] = {0};
    for (uint32_t i = 0; i < list->n; i++)
        for (int s = 0; s < SIGNALS; s++)
            if (list->at[i].signal[s] > scale[s])
                scale[s] = list->at[i].signal[s];
    for (int s = 0; s < SIGNALS; s++)
        scale[s] = scale[s] > 0 ? 1.0f / scale[s] : 0;
    fuse_sums(r, list, weights, scale);
}

struct ranked {
    float value;
    uint32_t turn_doc, at;
};

static int order_ranked(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->value != y->value)
        return x->value > y->value ? -1 : 1;
    return x->turn_doc != y->turn_doc ? (x->turn_doc < y->turn_doc ? -1 : 1)
                                      : (x->at > y->at) - (x->at < y->at);
}

/* A candidate without a signal earns nothing in that list. The factor moves the whole, as before.
 * */
static enum err_code fuse_rrf(struct recall *r, struct candidates *list, const float *weights,
                              struct err *err)
{
    struct ranked *ranks = arena_alloc(r->arena, (size_t)list->n * sizeof *ranks);
    float *sums = ARENA_ARRAY(r->arena, float, list->n);
    float whole = sum_weights(r, weights) / (RECALL_RRF_K + 1) * top_factor(r);
    if (ranks == NULL || sums == NULL)
        return recall__memory(err);
    for (int s = 0; s < SIGNALS; s++) {
        uint32_t n = 0;
        for (uint32_t i = 0; i < list->n && weights[s] > 0; i++)
            if (list->at[i].signal[s] > 0)
                ranks[n++] = (struct ranked){list->at[i].signal[s], list->at[i].turn_doc, i};
        if (n > 1)
            qsort(ranks, n, sizeof *ranks, order_ranked);
        for (uint32_t i = 0; i < n; i++)
            sums[ranks[i].at] += weights[s] / (RECALL_RRF_K + 1.0f + (float)i);
    }
    for (uint32_t i = 0; i < list->n; i++)
        list->at[i].score = sums[i] * list->at[i].factor / whole;
    return ERR_OK;
}

enum err_code recall__rank(struct recall *r, struct candidates *list, const float *weights,
                           uint32_t keep, struct err *err)
{
    float scale[SIGNALS];
    enum err_code rc = ERR_OK;
    for (int s = 0; s < SIGNALS; s++)
        scale[s] = 1.0f;
    if (r->query->fusion == FUSION_RRF)
        rc = fuse_rrf(r, list, weights, err);
    else if (r->query->fusion == FUSION_MAX)
        fuse_max(r, list, weights);
    else
        fuse_sums(r, list, weights, scale);
    if (rc == ERR_OK)
        keep_best(list, keep);
    return rc;
}
