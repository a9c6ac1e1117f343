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

struct turn_acc *recall__turn(struct recall *r, uint32_t doc)
{
    struct turn_acc *acc = &r->turns[doc];
    if (!acc->loaded) {
        struct turn_row row;
        columns_turn(r->columns, doc, &row);
        acc->prev = row.prev;
        acc->next = row.next;
        acc->episode = row.episode;
        acc->length = lengths_get(r->lengths, LAYER_TURN, doc);
        acc->loaded = 1;
    }
    return acc;
}

static void list_turn(struct recall *r, struct turn_acc *acc, uint32_t doc)
{
    if (acc->listed || r->n_touched >= r->cap_touched)
        return;
    acc->listed = 1;
    r->touched[r->n_touched++] = doc;
}

/* The next document in a direction, or UINT32_MAX. */
static uint32_t step(struct recall *r, uint32_t doc, bool forward)
{
    const struct turn_acc *acc = recall__turn(r, doc);
    uint32_t link = forward ? acc->next : acc->prev;
    return link == 0 || link > r->n_docs ? UINT32_MAX : link - 1;
}

static void size_windows(struct recall *r, struct turn_acc *acc, uint32_t doc)
{
    float sum[REACH_TURNS + 1] = {(float)acc->length};
    for (int side = 0; side < 2; side++) {
        uint32_t at = doc;
        for (int d = 1; d <= REACH_TURNS; d++) {
            at = step(r, at, side == 1);
            if (at == UINT32_MAX)
                break;
            sum[d] += (float)recall__turn(r, at)->length;
        }
    }
    acc->len1 = sum[0] + sum[1];
    acc->len2 = acc->len1 + sum[2];
    acc->len4 = acc->len2 + sum[3] + sum[4];
    acc->sized = 1;
}

/* Documents whose windows the term at hand has touched. */
struct touched {
    uint32_t *at;
    uint32_t n;
};

static void touch(struct recall *r, struct touched *t, uint32_t doc, unsigned distance, float tf)
{
    struct turn_acc *acc = recall__turn(r, doc);
    if (!acc->touched) {
        acc->touched = 1;
        t->at[t->n++] = doc;
        list_turn(r, acc, doc);
    }
    acc->tf4 += tf;
    if (distance <= 2)
        acc->tf2 += tf;
    if (distance <= 1)
        acc->tf1 += tf;
}

static void touch_windows(struct recall *r, struct touched *t, uint32_t doc, float tf)
{
    touch(r, t, doc, 0, tf);
    for (int side = 0; side < 2; side++) {
        uint32_t at = doc;
        for (unsigned d = 1; d <= REACH_TURNS; d++) {
            at = step(r, at, side == 1);
            if (at == UINT32_MAX)
                break;
            touch(r, t, at, d, tf);
        }
    }
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

static void close_windows(struct recall *r, struct touched *t, float idf)
{
    struct bm25 p1 = bm25_of(r, LAYER_TURN, 3), p2 = bm25_of(r, LAYER_TURN, 5),
                p4 = bm25_of(r, LAYER_TURN, 9);
    for (uint32_t i = 0; i < t->n; i++) {
        struct turn_acc *acc = &r->turns[t->at[i]];
        if (!acc->sized)
            size_windows(r, acc, t->at[i]);
        if (acc->tf1 > 0)
            acc->w1 += idf * bm25_tf(&p1, acc->tf1, acc->len1);
        if (acc->tf2 > 0)
            acc->w2 += idf * bm25_tf(&p2, acc->tf2, acc->len2);
        acc->w4 += idf * bm25_tf(&p4, acc->tf4, acc->len4);
        acc->tf1 = acc->tf2 = acc->tf4 = 0;
        acc->touched = 0;
    }
    t->n = 0;
}

static const struct postings *postings_of(const struct recall *r, uint32_t slot, enum layer layer)
{
    return &r->postings[(size_t)slot * LAYERS + layer];
}

static void score_turns(struct recall *r, struct touched *t, uint32_t term)
{
    const struct postings *list = postings_of(r, r->term_slot[term], LAYER_TURN);
    struct bm25 p = bm25_of(r, LAYER_TURN, 1);
    for (uint32_t i = 0; i < list->n; i++) {
        uint32_t doc = list->at[i].doc;
        if (doc >= r->n_docs)
            continue;
        struct turn_acc *acc = recall__turn(r, doc);
        float tf = (float)list->at[i].tf;
        acc->own += r->idf[term] * bm25_tf(&p, tf, (float)acc->length);
        list_turn(r, acc, doc);
        if (r->query->windows)
            touch_windows(r, t, doc, tf);
    }
    if (r->query->windows)
        close_windows(r, t, r->idf[term]);
}

/* Scores of the nodes of a layer, by id - 1, and the ids that have any. */
struct node_scores {
    enum layer layer;
    float *scores;
    uint32_t n;     /* greatest id */
    uint32_t *list; /* NULL: not wanted */
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
        if (*score == 0 && nodes->list != NULL)
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

static enum err_code make_room(struct recall *r, struct err *err)
{
    uint32_t facts = last_id(r, STAT_NEXT_FACT), episodes = last_id(r, STAT_NEXT_EPISODE),
             topics = last_id(r, STAT_NEXT_TOPIC);
    r->n_docs = (uint32_t)r->stat.v[STAT_NEXT_DOC_TURN];
    r->cap_touched = r->n_docs;
    r->turns = ARENA_ARRAY(r->arena, struct turn_acc, r->n_docs);
    r->touched = arena_alloc(r->arena, sizeof(uint32_t) * (size_t)r->n_docs);
    r->fact_own = ARENA_ARRAY(r->arena, float, facts);
    r->episode_own = ARENA_ARRAY(r->arena, float, episodes);
    r->episode_turn = ARENA_ARRAY(r->arena, float, episodes);
    r->episode_list = arena_alloc(r->arena, sizeof(uint32_t) * (size_t)episodes);
    r->episode_chosen = ARENA_ARRAY(r->arena, uint8_t, episodes);
    r->topic_own = ARENA_ARRAY(r->arena, float, topics);
    r->topic_list = arena_alloc(r->arena, sizeof(uint32_t) * (size_t)topics);
    if (r->turns == NULL || r->touched == NULL || r->fact_own == NULL || r->episode_own == NULL ||
        r->episode_turn == NULL || r->episode_list == NULL || r->episode_chosen == NULL ||
        r->topic_own == NULL || r->topic_list == NULL)
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
    struct touched t = {.at = arena_alloc(r->arena, sizeof(uint32_t) * (size_t)r->n_docs)};
    const struct node_scores nodes[] = {
        {LAYER_FACT, r->fact_own, last_id(r, STAT_NEXT_FACT), NULL, NULL},
        {LAYER_EPISODE, r->episode_own, last_id(r, STAT_NEXT_EPISODE), r->episode_list,
         &r->n_episode_list},
        {LAYER_TOPIC, r->topic_own, last_id(r, STAT_NEXT_TOPIC), r->topic_list, &r->n_topic_list},
    };
    if (t.at == NULL)
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
        score_turns(r, &t, i);
        for (size_t k = 0; k < sizeof nodes / sizeof nodes[0]; k++)
            score_nodes(r, i, &nodes[k]);
    }
    if (r->reach == 0)
        r->reach = 1;
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

/* An episode with a matching turn may have no own score, and the other way round: list it once. */
static void best_turns(struct recall *r)
{
    uint32_t n_episodes = last_id(r, STAT_NEXT_EPISODE);
    for (uint32_t i = 0; i < r->n_touched; i++) {
        const struct turn_acc *acc = &r->turns[r->touched[i]];
        float score = acc->own + acc->date * r->reach;
        if (acc->episode == 0 || acc->episode > n_episodes || score <= 0)
            continue;
        float *best = &r->episode_turn[acc->episode - 1];
        if (*best == 0 && r->episode_own[acc->episode - 1] == 0)
            r->episode_list[r->n_episode_list++] = acc->episode;
        if (score > *best)
            *best = score;
    }
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
    return segment_collect(r->txn, r->space, r->lengths, terms, n, wanted_layers(r), r->arena,
                           r->postings, err);
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
