/* Scoring (DESIGN 7, "What is scored"): one pass over the question's postings scores every layer.
 *
 * A turn is scored by itself and by windows of 1, 2 and 4 neighbours on each side within its
 * session (strip.c); a window's term count and length are sums, so its score is BM25 of the joined
 * text, and no window is indexed. Lists are kept as sums over the terms, undivided; choose.c
 * divides by the reach.
 *
 *      session   . . a b [c] d e . .        a posting of c counts for
 *                    <-1->                   the windows of all turns
 *                  <--- 2 --->               within 4 of it
 *
 * idf is that of the turn layer in every list: so scores of different layers can be added. */
#include "core/recall/recall_int.h"

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

static const struct postings *postings_of(const struct recall *r, uint32_t slot, enum layer layer)
{
    return &r->postings[(size_t)slot * LAYERS + layer];
}

/* Scores of the nodes of a layer, by id - 1, and the ids that have any. */
struct node_scores {
    enum layer layer;
    float *scores;
    uint32_t n; /* greatest id */
    uint32_t *list;
    uint32_t *n_list;
    float norms[LENGTH_CODES];
};

static uint32_t node_of(struct recall *r, enum layer layer, uint32_t doc)
{
    if (layer == LAYER_FACT)
        return doc + 1;
    return layer == LAYER_EPISODE ? columns_episode_of_doc(r->columns, doc)
                                  : columns_topic_of_doc(r->columns, doc);
}

/* Whole numbers repeat, so what a length makes of the denominator is worked out once. */
static void score_nodes(struct recall *r, uint32_t term, const struct node_scores *nodes)
{
    const struct postings *found = postings_of(r, r->term_slot[term], nodes->layer);
    struct str codes = STR("");
    uint32_t block = UINT32_MAX;
    for (uint32_t i = 0; i < found->n; i++) {
        uint32_t doc = found->at[i].doc, id = node_of(r, nodes->layer, doc);
        if (id == 0 || id > nodes->n)
            continue;
        if (doc / LENGTH_BLOCK != block) {
            block = doc / LENGTH_BLOCK;
            codes = lengths_codes(r->lengths, nodes->layer, block);
        }
        uint32_t at = doc % LENGTH_BLOCK;
        float norm = nodes->norms[at < codes.len ? (uint8_t)codes.at[at] : 0];
        float *score = &nodes->scores[id - 1];
        if (*score == 0)
            nodes->list[(*nodes->n_list)++] = id;
        *score += r->idf[term] * bm25_saturate(RECALL_K1, (float)found->at[i].tf, norm);
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
    r->turns = ARENA_ARRAY(r->arena, struct turn_info, r->n_docs);
    r->fact_own = ARENA_ARRAY(r->arena, float, facts);
    r->fact_list = arena_alloc(r->arena, sizeof(uint32_t) * (size_t)facts);
    r->episode_own = ARENA_ARRAY(r->arena, float, episodes);
    r->episode_turn = ARENA_ARRAY(r->arena, float, episodes);
    r->episode_list = arena_alloc(r->arena, sizeof(uint32_t) * (size_t)episodes);
    r->episode_chosen = ARENA_ARRAY(r->arena, uint8_t, episodes);
    r->topic_own = ARENA_ARRAY(r->arena, float, topics);
    r->topic_list = arena_alloc(r->arena, sizeof(uint32_t) * (size_t)topics);
    if (r->turns == NULL || r->fact_own == NULL || r->fact_list == NULL || r->episode_own == NULL ||
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

static void score_layer(struct recall *r, struct node_scores nodes)
{
    struct bm25 p = bm25_of(r, nodes.layer, 1);
    for (int code = 0; code < LENGTH_CODES; code++)
        nodes.norms[code] = bm25_norm(&p, (float)length_decode((uint8_t)code));
    for (uint32_t i = 0; i < r->n_terms; i++)
        if (r->idf[i] != 0)
            score_nodes(r, i, &nodes);
}

static void score_all_nodes(struct recall *r)
{
    score_layer(r, (struct node_scores){.layer = LAYER_FACT,
                                        .scores = r->fact_own,
                                        .n = last_id(r, STAT_NEXT_FACT),
                                        .list = r->fact_list,
                                        .n_list = &r->n_fact_list});
    score_layer(r, (struct node_scores){.layer = LAYER_EPISODE,
                                        .scores = r->episode_own,
                                        .n = last_id(r, STAT_NEXT_EPISODE),
                                        .list = r->episode_list,
                                        .n_list = &r->n_episode_list});
    score_layer(r, (struct node_scores){.layer = LAYER_TOPIC,
                                        .scores = r->topic_own,
                                        .n = last_id(r, STAT_NEXT_TOPIC),
                                        .list = r->topic_list,
                                        .n_list = &r->n_topic_list});
    for (uint32_t i = 0; i < r->n_fact_list; i++)
        if (r->fact_own[r->fact_list[i] - 1] > r->best_fact)
            r->best_fact = r->fact_own[r->fact_list[i] - 1];
}

static enum err_code score_words(struct recall *r, struct err *err)
{
    static const float widths[] = {1, 3, 5, 9};
    for (int i = 0; i < 4; i++)
        r->strip.p[i] = bm25_of(r, LAYER_TURN, widths[i]);
    enum err_code rc = recall__strip_build(r, err);
    for (uint32_t i = 0; rc == ERR_OK && i < r->n_terms; i++) {
        const struct postings *found = postings_of(r, r->term_slot[i], LAYER_TURN);
        if (found->n == 0)
            continue;
        r->idf[i] = bm25_idf(r->stat.v[STAT_DOCS_TURN], found->n);
        r->reach += r->idf[i] * (RECALL_K1 + 1.0f);
        recall__strip_term(r, found, r->idf[i]);
    }
    if (r->reach == 0)
        r->reach = 1;
    if (rc == ERR_OK)
        score_all_nodes(r);
    return rc;
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
        float share = date_weight(r, &r->dates[i]) / total;
        if (share > 0)
            recall__strip_date(r, postings_of(r, r->date_slot[i], LAYER_TURN), share);
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
static void raise_episode(struct recall *r, uint32_t doc, float score)
{
    uint32_t episode = r->turns[doc].episode;
    if (episode == 0 || episode > last_id(r, STAT_NEXT_EPISODE) || !passes(r, doc))
        return;
    float *best = &r->episode_turn[episode - 1];
    if (*best == 0 && r->episode_own[episode - 1] == 0)
        r->episode_list[r->n_episode_list++] = episode;
    if (score > *best)
        *best = score;
}

static void best_turns_of_block(struct recall *r, uint32_t at)
{
    const struct strip *strip = &r->strip;
    for (uint32_t i = 0; i < STRIP_BLOCK; i++) {
        uint32_t place = at * STRIP_BLOCK + i, doc = strip->docs[place];
        float score = strip->blocks[at].own[i];
        if (strip->date != NULL)
            score += strip->date[place] * r->reach;
        if (doc != 0 && score > 0)
            raise_episode(r, doc - 1, score);
    }
}

static void best_turns(struct recall *r)
{
    for (uint32_t at = 0; at < r->strip.n / STRIP_BLOCK; at++)
        if ((r->strip.state[at] & STRIP_READY) != 0)
            best_turns_of_block(r, at);
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
