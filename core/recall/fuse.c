/* Fusion: one score from a candidate's signals, then the best in order (DESIGN 7).
 *
 *   score  each list divided by the most that the question could reach in it (nearness is
 *          that already): comparable across questions, spaces and filters; the default
 *   max    each list divided by its best value here
 *   rrf    sum of 1 / (60 + rank); the paper's
 * All are divided by what they could be at most, so a score lies in 0..1. Ties: the earlier turn,
 * then the smaller id, so that an answer is the same every time.
 *
 * A question with common words has a hundred thousand candidates. With fusion=score each is scored
 * when it is offered and only the best are kept, in a heap with the worst on top; whoever offers
 * asks recall__is_hopeless() before it looks at the details. */
#include <stdlib.h>

#include "core/recall/recall_int.h"

/* Order: own, turn, window1, window2, window4, episode, date. Measured: tests/bench/README.md.
 * Those of vectors are the query's. */
static const float word_weights[RECALL_STAGES][SIGNALS] = {
    [STAGE_TOPICS] = {1, 0, 0, 0, 0, 1, 0},
    [STAGE_EPISODES] = {1, 1, 0, 0, 0, 0, 0},
    [STAGE_FACTS] = {0.5f, 1, 1, 1, 1, 1, 0.75f},
    [STAGE_RECENT] = {0.5f, 1, 1, 1, 1, 1, 0.75f},
};

/* A turn without a fact stands for one: its nearness is its own and its turn's. */
void recall__set_weights(struct recall *r)
{
    memcpy(r->weights, word_weights, sizeof r->weights);
    if (r->generation == NULL)
        return;
    const struct recall_weights *w = &r->query->dense->weights;
    r->weights[STAGE_TOPICS][SIGNAL_VECTOR] = w->topics;
    r->weights[STAGE_EPISODES][SIGNAL_VECTOR] = w->episodes;
    r->weights[STAGE_FACTS][SIGNAL_VECTOR] = w->facts;
    r->weights[STAGE_FACTS][SIGNAL_TURN_VECTOR] = w->turns;
    r->weights[STAGE_RECENT][SIGNAL_VECTOR] = w->facts + w->turns;
}

/* --- lists --- */

/* What a date in the question can add at most: to a fact its own signal; to an episode's best turn
 * as much as all the words; of that a topic's best episode has half. */
static const float date_tops[RECALL_STAGES] = {0.5f, 1, 0.75f, 0.75f};

static float most_of(const struct recall *r, enum recall_stage stage)
{
    float sum = r->n_dates != 0 ? date_tops[stage] : 0;
    for (int s = 0; s < SIGNALS; s++)
        if (s != SIGNAL_DATE)
            sum += r->weights[stage][s];
    return sum;
}

/* The greatest factor of this question: 1, or that of a named speaker. */
static float top_factor(const struct recall *r)
{
    return r->n_named != 0 && r->n_named < r->n_speakers ? RECALL_SPEAKER_FACTOR : 1.0f;
}

/* Topics are few, and links of a chain must be joined before the list is cut: never at once. */
void recall__list_init(const struct recall *r, struct candidates *list, enum recall_stage stage,
                       uint32_t keep)
{
    const float *weights = r->weights[stage];
    *list =
        (struct candidates){.weights = weights,
                            .keep = keep,
                            .whole = most_of(r, stage) * top_factor(r),
                            .at_once = r->query->fusion == FUSION_SCORE && stage != STAGE_TOPICS};
}

/* True when a goes before b. */
static inline bool before(const struct candidate *a, const struct candidate *b)
{
    if (a->score != b->score)
        return a->score > b->score;
    return a->turn_doc != b->turn_doc ? a->turn_doc < b->turn_doc : a->id < b->id;
}

/* The worst of the kept ones on top. */
static void sift_down(struct candidate *heap, uint32_t n, uint32_t at)
{
    struct candidate moved = heap[at];
    for (uint32_t child = 2 * at + 1; child < n; child = 2 * at + 1) {
        if (child + 1 < n && before(&heap[child], &heap[child + 1]))
            child++;
        if (!before(&moved, &heap[child]))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moved;
}

static void make_heap(struct candidate *heap, uint32_t n)
{
    for (uint32_t i = n / 2 + 1; i-- > 0;)
        sift_down(heap, n, i);
}

static float sum_of(const struct candidates *list, const struct candidate *c, const float *scale)
{
    float sum = 0;
    for (int s = 0; s < SIGNALS; s++)
        sum += list->weights[s] * c->signal[s] * scale[s];
    return sum * c->factor / list->whole;
}

static const float no_scale[SIGNALS] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

static enum err_code append(struct recall *r, struct candidates *list, const struct candidate *one,
                            struct err *err)
{
    if (list->n == list->cap) {
        uint32_t cap = list->cap == 0 ? 64 : list->cap * 2;
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

/* With some slack: a sum may have been added up in another order than sum_of() does. */
static void set_hopeless(struct candidates *list)
{
    list->hopeless = list->at[0].score * list->whole * 0.9999f;
}

static enum err_code keep_scored(struct recall *r, struct candidates *list,
                                 const struct candidate *one, struct err *err)
{
    if (list->n < list->keep) {
        enum err_code rc = append(r, list, one, err);
        if (rc == ERR_OK && list->n == list->keep) {
            make_heap(list->at, list->n);
            set_hopeless(list);
        }
        return rc;
    }
    if (list->n != 0 && before(one, &list->at[0])) {
        list->at[0] = *one;
        sift_down(list->at, list->n, 0);
        set_hopeless(list);
    }
    return ERR_OK;
}

enum err_code recall__push(struct recall *r, struct candidates *list, const struct candidate *one,
                           struct err *err)
{
    if (!list->at_once)
        return append(r, list, one, err);
    struct candidate scored = *one;
    scored.score = sum_of(list, one, no_scale);
    return keep_scored(r, list, &scored, err);
}

enum err_code recall__push_again(struct recall *r, struct candidates *list,
                                 const struct candidate *one, struct err *err)
{
    if (!list->at_once)
        return append(r, list, one, err);
    struct candidate scored = *one;
    scored.score = sum_of(list, one, no_scale);
    if (list->n == list->keep && list->n != 0 && !before(&scored, &list->at[0]))
        return ERR_OK;
    for (uint32_t i = 0; i < list->n; i++) {
        if (list->at[i].group != one->group)
            continue;
        if (before(&scored, &list->at[i])) {
            list->at[i] = scored;
            if (list->n == list->keep) {
                sift_down(list->at, list->n, i);
                set_hopeless(list);
            }
        }
        return ERR_OK;
    }
    return keep_scored(r, list, &scored, err);
}

/* --- order --- */

struct key {
    float score;
    uint32_t turn_doc, id, at;
};

static inline bool key_before(const struct key *a, const struct key *b)
{
    if (a->score != b->score)
        return a->score > b->score;
    return a->turn_doc != b->turn_doc ? a->turn_doc < b->turn_doc : a->id < b->id;
}

/* Merges the runs [from, middle) and [middle, to). */
static void merge(const struct key *in, uint32_t from, uint32_t middle, uint32_t to,
                  struct key *out)
{
    uint32_t a = from, b = middle;
    for (uint32_t i = from; i < to; i++) {
        bool second = a == middle || (b < to && key_before(&in[b], &in[a]));
        out[i] = second ? in[b++] : in[a++];
    }
}

static const struct key *sort_keys(struct key *keys, struct key *spare, uint32_t n)
{
    for (uint32_t width = 1; width < n; width *= 2) {
        for (uint32_t from = 0; from < n; from += 2 * width) {
            uint32_t middle = n - from < width ? n : from + width;
            uint32_t to = n - middle < width ? n : middle + width;
            merge(keys, from, middle, to, spare);
        }
        struct key *swap = keys;
        keys = spare;
        spare = swap;
    }
    return keys;
}

static enum err_code sort(struct recall *r, struct candidates *list, struct err *err)
{
    uint32_t n = list->n;
    struct key *keys = arena_alloc(r->arena, 2 * (size_t)n * sizeof *keys);
    struct candidate *sorted = arena_alloc(r->arena, (size_t)n * sizeof *sorted);
    if (keys == NULL || sorted == NULL)
        return recall__memory(err);
    for (uint32_t i = 0; i < n; i++) {
        const struct candidate *c = &list->at[i];
        keys[i] = (struct key){c->score, c->turn_doc, c->id, i};
    }
    const struct key *order = sort_keys(keys, keys + n, n);
    for (uint32_t i = 0; i < n; i++)
        sorted[i] = list->at[order[i].at];
    list->at = sorted;
    list->cap = n;
    return ERR_OK;
}

static void cut_to_best(struct candidates *list)
{
    if (list->n <= list->keep)
        return;
    make_heap(list->at, list->keep);
    for (uint32_t i = list->keep; i < list->n && list->keep != 0; i++)
        if (before(&list->at[i], &list->at[0])) {
            list->at[0] = list->at[i];
            sift_down(list->at, list->keep, 0);
        }
    list->n = list->keep;
}

/* --- scores of whole lists --- */

static void fuse_max(struct candidates *list, float *scale)
{
    for (int s = 0; s < SIGNALS; s++)
        scale[s] = 0;
    for (uint32_t i = 0; i < list->n; i++)
        for (int s = 0; s < SIGNALS; s++)
            if (list->at[i].signal[s] > scale[s])
                scale[s] = list->at[i].signal[s];
    for (int s = 0; s < SIGNALS; s++)
        scale[s] = scale[s] > 0 ? 1.0f / scale[s] : 0;
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

/* A candidate without a signal earns nothing in that list. The factor moves the whole. */
static enum err_code fuse_rrf(struct recall *r, struct candidates *list, struct err *err)
{
    struct ranked *ranks = arena_alloc(r->arena, (size_t)list->n * sizeof *ranks);
    float *sums = ARENA_ARRAY(r->arena, float, list->n);
    float whole = list->whole / (RECALL_RRF_K + 1);
    if (ranks == NULL || sums == NULL)
        return recall__memory(err);
    for (int s = 0; s < SIGNALS; s++) {
        uint32_t n = 0;
        for (uint32_t i = 0; i < list->n && list->weights[s] > 0; i++)
            if (list->at[i].signal[s] > 0)
                ranks[n++] = (struct ranked){list->at[i].signal[s], list->at[i].turn_doc, i};
        if (n > 1)
            qsort(ranks, n, sizeof *ranks, order_ranked);
        for (uint32_t i = 0; i < n; i++)
            sums[ranks[i].at] += list->weights[s] / (RECALL_RRF_K + 1.0f + (float)i);
    }
    for (uint32_t i = 0; i < list->n; i++)
        list->at[i].score = sums[i] * list->at[i].factor / whole;
    return ERR_OK;
}

static enum err_code fuse(struct recall *r, struct candidates *list, struct err *err)
{
    float scale[SIGNALS];
    if (r->query->fusion == FUSION_RRF)
        return fuse_rrf(r, list, err);
    memcpy(scale, no_scale, sizeof scale);
    if (r->query->fusion == FUSION_MAX)
        fuse_max(list, scale);
    for (uint32_t i = 0; i < list->n; i++)
        list->at[i].score = sum_of(list, &list->at[i], scale);
    return ERR_OK;
}

/* A link of a chain of topics is a node of its own: whoever asks is told where it went. */
static enum err_code note_lost(struct recall *r, const struct candidates *list, struct candidate *c,
                               struct err *err)
{
    if (!r->query->explain || list != &r->stage[STAGE_TOPICS])
        return ERR_OK;
    return recall__offer(r, STAGE_TOPICS, c, "chain", err);
}

static enum err_code join_groups(struct recall *r, struct candidates *list, uint32_t groups,
                                 struct err *err)
{
    uint32_t *place = ARENA_ARRAY(r->arena, uint32_t, (size_t)groups + 1); /* in list, + 1 */
    uint32_t out = 0;
    enum err_code rc = place == NULL ? recall__memory(err) : ERR_OK;
    for (uint32_t i = 0; rc == ERR_OK && i < list->n; i++) {
        struct candidate c = list->at[i];
        ASSERT(c.group <= groups);
        uint32_t *at = &place[c.group];
        if (*at == 0) {
            list->at[out++] = c;
            *at = out;
            continue;
        }
        struct candidate *best = &list->at[*at - 1];
        struct candidate lost = before(&c, best) ? *best : c;
        if (before(&c, best))
            *best = c;
        rc = note_lost(r, list, &lost, err);
    }
    list->n = out;
    return rc;
}

void recall__lower(struct candidates *list, uint32_t at, float share)
{
    struct candidate lowered = list->at[at];
    lowered.score *= share;
    lowered.factor *= share;
    for (; at + 1 < list->n && before(&list->at[at + 1], &lowered); at++)
        list->at[at] = list->at[at + 1];
    list->at[at] = lowered;
}

enum err_code recall__rank(struct recall *r, struct candidates *list, uint32_t groups,
                           struct err *err)
{
    enum err_code rc = ERR_OK;
    if (list->n == 0)
        return ERR_OK;
    if (!list->at_once) {
        rc = fuse(r, list, err);
        if (rc == ERR_OK && groups != 0)
            rc = join_groups(r, list, groups, err);
        cut_to_best(list);
    }
    return rc == ERR_OK ? sort(r, list, err) : rc;
}
