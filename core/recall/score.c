/* Scoring (DESIGN 7, "What is scored"): one pass over the question's postings scores every layer.
 *
 * A turn is scored by itself and by windows of 1, 2 and 4 neighbours on each side within its
 * session; a window's term count and length are sums, so its score is BM25 of the joined text, and
 * no window is indexed. Lists are kept as sums over the terms, undivided; choose.c divides by the
 * reach.
 *
 *      session   . . a b [c] d e . .        a posting of c counts for
 *                    <-1->                   the windows of all turns
 *                  <--- 2 --->               within 4 of it
 *
 * idf is that of the turn layer in every list: so scores of different layers can be added. */
#include "core/recall/recall_int.h"

enum { REACH_TURNS = 4 };

void recall__turn_load(struct recall *r, struct turn_acc *acc, uint32_t doc)
{
    struct turn_row row;
    columns_turn(r->columns, doc, &row);
    acc->prev = row.prev;
    acc->next = row.next;
    acc->episode = row.episode;
    acc->length = row.n == 0 ? 0 : lengths_get(r->lengths, LAYER_TURN, doc);
    acc->flags = row.flags;
    acc->prior = row.prior;
    acc->named = r->n_named < r->n_speakers && recall__is_named(r, row.speaker_no);
    acc->state |= TURN_LOADED;
}

static void list_turn(struct recall *r, struct turn_acc *acc, uint32_t doc)
{
    if ((acc->state & TURN_LISTED) != 0)
        return;
    acc->state |= TURN_LISTED;
    r->touched[r->n_touched++] = doc;
}

static float average(uint64_t total, uint64_t count)
{
    float avg = count == 0 ? 1.0f : (float)total / (float)count;
    return avg < 1.0f ? 1.0f : avg;
}

static struct bm25 bm25_of(const struct recall *r, enum layer layer, float width)
{
    static const enum stat_id totals[LAYERS] = {STAT_LENGTH_TURN, STAT_LENGTH_FACT,
                                                STAT_LENGTH_EPISODE, STAT_LENGTH_TOPIC};
    static const enum stat_id counts[LAYERS] = {STAT_DOCS_TURN, STAT_DOCS_FACT, STAT_DOCS_EPISODE,
                                                STAT_DOCS_TOPIC};
    float avg = average(r->stat.v[totals[layer]], r->stat.v[counts[layer]]);
    return (struct bm25){.k1 = RECALL_K1, .b = RECALL_B, .avg = avg * width};
}

/* The part of bm25_tf()'s denominator that the length makes. */
static float bm25_norm(const struct bm25 *p, float length)
{
    return p->k1 * (1.0f - p->b + p->b * length / p->avg);
}

/* BM25 of the windows of 1, 2 and 4 neighbours. */
struct windows {
    struct bm25 p1, p2, p4;
    uint32_t *at; /* documents that the term at hand has touched */
    uint32_t n;
};

static void size_windows(struct recall *r, const struct windows *w, struct turn_acc *acc)
{
    float sum[REACH_TURNS + 1] = {(float)acc->length};
    for (int side = 0; side < 2; side++) {
        const struct turn_acc *at = acc;
        for (int d = 1; d <= REACH_TURNS; d++) {
            uint32_t doc = recall__step(r, at, side == 1);
            if (doc == UINT32_MAX)
                break;
            at = recall__turn(r, doc);
            sum[d] += (float)at->length;
        }
    }
    float len1 = sum[0] + sum[1], len2 = len1 + sum[2];
    acc->long1 = bm25_norm(&w->p1, len1);
    acc->long2 = bm25_norm(&w->p2, len2);
    acc->long4 = bm25_norm(&w->p4, len2 + sum[3] + sum[4]);
    acc->state |= TURN_SIZED;
}

static inline void touch(struct recall *r, struct windows *w, struct turn_acc *acc, uint32_t doc)
{
    if ((acc->state & TURN_MARKED) != 0)
        return;
    acc->state |= TURN_MARKED;
    w->at[w->n++] = doc;
    list_turn(r, acc, doc);
}

static void touch_windows(struct recall *r, struct windows *w, uint32_t doc, float tf)
{
    struct turn_acc *acc = recall__turn(r, doc);
    touch(r, w, acc, doc);
    acc->tf1 += tf;
    acc->tf2 += tf;
    acc->tf4 += tf;
    for (int side = 0; side < 2; side++) {
        struct turn_acc *at = acc;
        for (unsigned d = 1; d <= REACH_TURNS; d++) {
            uint32_t next = recall__step(r, at, side == 1);
            if (next == UINT32_MAX)
                break;
            at = recall__turn(r, next);
            touch(r, w, at, next);
            at->tf4 += tf;
            at->tf2 += d <= 2 ? tf : 0;
            at->tf1 += d <= 1 ? tf : 0;
        }
    }
}

/* bm25_tf() with the length's part worked out before. */
static inline float saturate(float tf, float norm)
{
    return tf * (RECALL_K1 + 1.0f) / (tf + norm);
}

static void close_windows(struct recall *r, struct windows *w, float idf)
{
    for (uint32_t i = 0; i < w->n; i++) {
        struct turn_acc *acc = &r->turns[w->at[i]];
        if ((acc->state & TURN_SIZED) == 0)
            size_windows(r, w, acc);
        acc->w1 += idf * saturate(acc->tf1, acc->long1);
        acc->w2 += idf * saturate(acc->tf2, acc->long2);
        acc->w4 += idf * saturate(acc->tf4, acc->long4);
        acc->tf1 = acc->tf2 = acc->tf4 = 0;
        acc->state &= (uint8_t)~TURN_MARKED;
    }
    w->n = 0;
}

static const struct postings *postings_of(const struct recall *r, uint32_t slot, enum layer layer)
{
    return &r->postings[(size_t)slot * LAYERS + layer];
}

/* The windows of a posting to come, on their way into the cache: a question with common words goes
 * through megabytes, a few lines a posting. */
static void fetch_ahead(const struct recall *r, const struct postings *list, uint32_t i)
{
    enum { ROWS_AHEAD = 8, AHEAD = 4 };
    if (i + ROWS_AHEAD < list->n)
        columns_turn_ahead(r->columns, list->at[i + ROWS_AHEAD].doc);
    if (i + AHEAD >= list->n || list->at[i + AHEAD].doc >= r->n_docs)
        return;
    const struct turn_acc *at = &r->turns[list->at[i + AHEAD].doc];
    for (int d = -REACH_TURNS; d <= REACH_TURNS; d++)
        __builtin_prefetch(at + d, 1);
}

static void score_turns(struct recall *r, struct windows *w, uint32_t term)
{
    const struct postings *list = postings_of(r, r->term_slot[term], LAYER_TURN);
    struct bm25 p = bm25_of(r, LAYER_TURN, 1);
    for (uint32_t i = 0; i < list->n; i++) {
        uint32_t doc = list->at[i].doc;
        fetch_ahead(r, list, i);
        if (doc >= r->n_docs)
            continue;
        struct turn_acc *acc = recall__turn(r, doc);
        float tf = (float)list->at[i].tf;
        acc->own += r->idf[term] * bm25_tf(&p, tf, (float)acc->length);
        list_turn(r, acc, doc);
        if (r->query->windows)
            touch_windows(r, w, doc, tf);
    }
    if (r->query->windows)
        close_windows(r, w, r->idf[term]);
}

/* Scores of the nodes of a layer, by id - 1, and the ids that have any. */
struct node_scores {
    enum layer layer;
    float *scores;
    uint32_t n; /* greatest id */
    uint32_t *list;
    uint32_t *n_list;
};

static uint32_t node_of(struct recall *r, enum layer layer, uint32_t doc)
{
    if (layer == LAYER_FACT)
        return doc + 1;
    return layer == LAYER_EPISODE ? columns_episode_of_doc(r->columns, doc)
                                  : columns_topic_of_doc(r->columns, doc);
}

static void score_nodes(struct recall *r, uint32_t term, const struct node_scores *nodes)
{
    const struct postings *found = postings_of(r, r->term_slot[term], nodes->layer);
    struct bm25 p = bm25_of(r, nodes->layer, 1);
    for (uint32_t i = 0; i < found->n; i++) {
        uint32_t doc = found->at[i].doc, id = node_of(r, nodes->layer, doc);
        if (id == 0 || id > nodes->n)
            continue;
        float *score = &nodes->scores[id - 1];
        if (*score == 0)
            nodes->list[(*nodes->n_list)++] = id;
        *score += r->idf[term] * bm25_tf(&p, (float)found->at[i].tf,
                                         (float)lengths_get(r->lengths, nodes->layer, doc));
    }
}

static uint32_t last_id(const struct recall *r, enum stat_id next)
{
    uint64_t n = r->stat.v[next];
    return n == 0 ? 0 : (uint32_t)(n - 1);
}

static struct turn_acc *lines_of_cache(struct arena *arena, uint32_t n)
{
    char *at = arena_zalloc(arena, (size_t)n + 1, sizeof(struct turn_acc));
    if (at == NULL)
        return NULL;
    size_t over = (uintptr_t)at % sizeof(struct turn_acc);
    return (struct turn_acc *)(void *)(at + (over == 0 ? 0 : sizeof(struct turn_acc) - over));
}

static enum err_code make_room(struct recall *r, struct err *err)
{
    uint32_t facts = last_id(r, STAT_NEXT_FACT), episodes = last_id(r, STAT_NEXT_EPISODE),
             topics = last_id(r, STAT_NEXT_TOPIC);
    r->n_docs = (uint32_t)r->stat.v[STAT_NEXT_DOC_TURN];
    r->turns = lines_of_cache(r->arena, r->n_docs);
    r->touched = arena_alloc(r->arena, sizeof(uint32_t) * (size_t)r->n_docs);
    r->fact_own = ARENA_ARRAY(r->arena, float, facts);
    r->fact_list = arena_alloc(r->arena, sizeof(uint32_t) * (size_t)facts);
    r->episode_own = ARENA_ARRAY(r->arena, float, episodes);
    r->episode_turn = ARENA_ARRAY(r->arena, float, episodes);
    r->episode_list = arena_alloc(r->arena, sizeof(uint32_t) * (size_t)episodes);
    r->episode_chosen = ARENA_ARRAY(r->arena, uint8_t, episodes);
    r->topic_own = ARENA_ARRAY(r->arena, float, topics);
    r->topic_list = arena_alloc(r->arena, sizeof(uint32_t) * (size_t)topics);
    if (r->turns == NULL || r->touched == NULL || r->fact_own == NULL || r->fact_list == NULL ||
        r->episode_own == NULL || r->episode_turn == NULL || r->episode_list == NULL ||
        r->episode_chosen == NULL || r->topic_own == NULL || r->topic_list == NULL)
        return recall__memory(err);
    return ERR_OK;
}

static unsigned wanted_layers(const struct recall *r)
{
    unsigned mask = 1u << LAYER_TURN | 1u << LAYER_FACT;
    if (r->query->episodes != 0 || r->query->topics != 0)
        mask |= 1u << LAYER_EPISODE;
    if (r->query->topics != 0)
        mask |= 1u << LAYER_TOPIC;
    return mask;
}

static enum err_code score_words(struct recall *r, struct err *err)
{
    struct windows w = {bm25_of(r, LAYER_TURN, 3), bm25_of(r, LAYER_TURN, 5),
                        bm25_of(r, LAYER_TURN, 9),
                        arena_alloc(r->arena, sizeof(uint32_t) * (size_t)r->n_docs), 0};
    const struct node_scores nodes[] = {
        {LAYER_FACT, r->fact_own, last_id(r, STAT_NEXT_FACT), r->fact_list, &r->n_fact_list},
        {LAYER_EPISODE, r->episode_own, last_id(r, STAT_NEXT_EPISODE), r->episode_list,
         &r->n_episode_list},
        {LAYER_TOPIC, r->topic_own, last_id(r, STAT_NEXT_TOPIC), r->topic_list, &r->n_topic_list},
    };
    if (w.at == NULL)
        return recall__memory(err);
    for (uint32_t i = 0; i < r->n_terms; i++) {
        uint32_t df = postings_of(r, r->term_slot[i], LAYER_TURN)->n;
        if (df == 0)
            continue;
        r->idf[i] = bm25_idf(r->stat.v[STAT_DOCS_TURN], df);
        r->reach += r->idf[i] * (RECALL_K1 + 1.0f);
    }
    for (uint32_t i = 0; i < r->n_terms; i++) {
        if (r->idf[i] == 0)
            continue;
        score_turns(r, &w, i);
        for (size_t k = 0; k < sizeof nodes / sizeof nodes[0]; k++)
            score_nodes(r, i, &nodes[k]);
    }
    if (r->reach == 0)
        r->reach = 1;
    for (uint32_t i = 0; i < r->n_fact_list; i++)
        if (r->fact_own[r->fact_list[i] - 1] > r->best_fact)
            r->best_fact = r->fact_own[r->fact_list[i] - 1];
    return ERR_OK;
}

/* The share of the question's dates that a turn is of or speaks of. A day counts twice a month; the
 * month of any year only when nothing better is asked. */
static float date_weight(const struct recall *r, const struct date_term *term)
{
    switch (term->kind) {
    case DATE_TERM_DAY: return 1.0f;
    case DATE_TERM_ANY_MONTH: return r->n_dates == 1 ? 0.5f : 0.0f;
    case DATE_TERM_MONTH:
    case DATE_TERM_YEAR: break;
    }
    return 0.5f;
}

static void score_dates(struct recall *r)
{
    float total = 0;
    for (uint32_t i = 0; i < r->n_dates; i++)
        total += date_weight(r, &r->dates[i]);
    for (uint32_t i = 0; i < r->n_dates && total > 0; i++) {
        const struct postings *list = postings_of(r, r->date_slot[i], LAYER_TURN);
        float share = date_weight(r, &r->dates[i]) / total;
        for (uint32_t k = 0; k < list->n && share > 0; k++) {
            if (list->at[k].doc >= r->n_docs)
                continue;
            struct turn_acc *acc = recall__turn(r, list->at[k].doc);
            acc->date += share;
            list_turn(r, acc, list->at[k].doc);
        }
    }
}

static bool passes(struct recall *r, uint32_t doc)
{
    struct turn_row row;
    if (!r->filtered)
        return true;
    columns_turn(r->columns, doc, &row);
    return recall__turn_passes(r, &row);
}

/* An episode with a matching turn may have no own score, and the other way round: list it once. */
static void best_turns(struct recall *r)
{
    uint32_t n_episodes = last_id(r, STAT_NEXT_EPISODE);
    for (uint32_t i = 0; i < r->n_touched; i++) {
        const struct turn_acc *acc = &r->turns[r->touched[i]];
        float score = acc->own + acc->date * r->reach;
        if (acc->episode == 0 || acc->episode > n_episodes || score <= 0 ||
            !passes(r, r->touched[i]))
            continue;
        float *best = &r->episode_turn[acc->episode - 1];
        if (*best == 0 && r->episode_own[acc->episode - 1] == 0)
            r->episode_list[r->n_episode_list++] = acc->episode;
        if (score > *best)
            *best = score;
    }
}

static uint64_t count_postings(const struct recall *r, uint32_t n_terms, enum layer layer)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < n_terms; i++)
        sum += postings_of(r, i, layer)->n;
    return sum;
}

/* Each posting asks for a block of rows; a walk over all of them costs a twentieth of as many. */
static void read_rows(struct recall *r, uint32_t n_terms)
{
    enum { BLOCKS_A_POSTING = 16 };
    uint64_t turns = count_postings(r, n_terms, LAYER_TURN) * BLOCKS_A_POSTING;
    uint64_t episodes = count_postings(r, n_terms, LAYER_EPISODE) * BLOCKS_A_POSTING;
    if (turns > r->stat.v[STAT_NEXT_DOC_TURN] / COLUMN_ROWS)
        columns_read_all(r->columns, COLUMN_TURN);
    if (episodes > r->stat.v[STAT_NEXT_EPISODE] / COLUMN_ROWS)
        columns_read_all(r->columns, COLUMN_EPISODE);
    if (episodes > r->stat.v[STAT_NEXT_DOC_EPISODE] / COLUMN_ROWS)
        columns_read_all(r->columns, COLUMN_EPISODE_DOC);
}

/* Words and dates as one ascending list, so that the postings are passed once. */
static enum err_code collect(struct recall *r, struct err *err)
{
    uint64_t terms[LIMIT_QUERY_TERMS + RECALL_DATES];
    uint32_t *owner[LIMIT_QUERY_TERMS + RECALL_DATES]; /* where the slot is to be noted */
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->n_terms + r->n_dates; i++) {
        bool word = i < r->n_terms;
        uint64_t term = word ? r->terms[i] : r->dates[i - r->n_terms].term;
        uint32_t k = n++;
        for (; k > 0 && terms[k - 1] > term; k--) {
            terms[k] = terms[k - 1];
            owner[k] = owner[k - 1];
        }
        terms[k] = term;
        owner[k] = word ? &r->term_slot[i] : &r->date_slot[i - r->n_terms];
    }
    for (uint32_t i = 0; i < n; i++)
        *owner[i] = i;
    r->postings = ARENA_ARRAY(r->arena, struct postings, (size_t)(n + 1) * LAYERS);
    if (r->postings == NULL)
        return recall__memory(err);
    if (n == 0)
        return ERR_OK;
    enum err_code rc = segment_collect(r->txn, r->space, r->lengths, terms, n, wanted_layers(r),
                                       r->arena, r->postings, err);
    if (rc == ERR_OK)
        read_rows(r, n);
    return rc;
}

enum err_code recall__score(struct recall *r, int64_t *collected_ns, const struct clock *clock,
                            struct err *err)
{
    enum err_code rc = make_room(r, err);
    if (rc == ERR_OK)
        rc = collect(r, err);
    *collected_ns = clock_mono_ns(clock);
    if (rc == ERR_OK)
        rc = score_words(r, err);
    if (rc == ERR_OK) {
        score_dates(r);
        best_turns(r);
    }
    return rc;
}
