/* Coarse to fine: topics, then episodes, then facts (DESIGN 7; paper section 4).
 *
 * Strict gate: episodes only of the chosen topics, facts only of the chosen episodes. Soft gate
 * (the default): the members and the flat best, which comes to the same score for all, so whatever
 * stage 1 misses stays in reach. Filters apply before every cut. A fact's factor is its turn's:
 * how much the turn states (prior), and whether the question names who said it. */
#include "core/recall/recall_int.h"

/* Order: own, turn, window1, window2, window4, episode, date. Measured: tests/bench/README.md. */
static const float fact_weights[SIGNALS] = {0.5f, 1, 1, 1, 1, 1, 0.75f};
static const float episode_weights[SIGNALS] = {1, 1, 0, 0, 0, 0, 0.75f};
static const float topic_weights[SIGNALS] = {1, 0, 0, 0, 0, 1, 0};

static bool in_time(const struct recall *r, int64_t start_ms, int64_t end_ms)
{
    const struct recall_query *q = r->query;
    return (!q->has_since || end_ms >= q->since_ms) && (!q->has_until || start_ms <= q->until_ms) &&
           (!q->has_as_of || start_ms <= q->as_of_ms);
}

static bool turn_passes(const struct recall *r, const struct turn_row *row)
{
    return in_time(r, row->time_ms, row->time_ms) &&
           (r->session_no == 0 || row->session_no == r->session_no) &&
           (r->speaker_no == 0 || row->speaker_no == r->speaker_no);
}

/* A candidate that a filter or the gate keeps out is remembered only when it is to be explained. */
static enum err_code offer(struct recall *r, enum recall_stage stage, struct candidate *c,
                           const char *cut, struct err *err)
{
    c->cut = cut;
    if (cut == NULL)
        return recall__push(r, &r->stage[stage], c, err);
    return r->query->explain ? recall__push(r, &r->cut[stage], c, err) : ERR_OK;
}

static float signal_of(const struct recall *r, float sum)
{
    return sum / r->reach;
}

/* --- topics --- */

static bool is_listed(const uint32_t *list, uint32_t n, uint32_t id)
{
    for (uint32_t i = 0; i < n; i++)
        if (list[i] == id)
            return true;
    return false;
}

static bool episode_passes(const struct recall *r, const struct episode_row *row)
{
    return in_time(r, row->start_ms, row->end_ms) &&
           (r->session_no == 0 || row->session_no == r->session_no);
}

/* Best episode of each topic, and every topic that has one, listed. */
static enum err_code best_episodes(struct recall *r, float **best, struct err *err)
{
    uint32_t n_topics = (uint32_t)r->stat.v[STAT_NEXT_TOPIC];
    float *scores = ARENA_ARRAY(r->arena, float, n_topics);
    if (scores == NULL)
        return recall__memory(err);
    for (uint32_t i = 0; i < r->n_episode_list; i++) {
        uint32_t id = r->episode_list[i];
        struct episode_row row;
        columns_episode(r->columns, id, &row);
        if (row.turns == 0 || !episode_passes(r, &row))
            continue;
        float score = signal_of(r, r->episode_own[id - 1] + r->episode_turn[id - 1]) / 2;
        for (int t = 0; t < 2; t++) {
            uint32_t topic = row.topics[t];
            if (topic == 0 || topic >= n_topics)
                continue;
            if (scores[topic - 1] == 0 && r->topic_own[topic - 1] == 0)
                r->topic_list[r->n_topic_list++] = topic;
            if (score > scores[topic - 1])
                scores[topic - 1] = score;
        }
    }
    *best = scores;
    return ERR_OK;
}

/* A chain of successors counts as one topic: its best link stands for it. */
static void drop_chain_links(struct recall *r, struct candidates *list)
{
    uint32_t seen[LIMIT_TOPICS * 4], n = 0, out = 0;
    for (uint32_t i = 0; i < list->n; i++) {
        struct topic_row row;
        columns_topic(r->columns, list->at[i].id, &row);
        if (is_listed(seen, n, row.chain))
            continue;
        if (n < LIMIT_TOPICS * 4)
            seen[n++] = row.chain;
        list->at[out++] = list->at[i];
    }
    list->n = out;
}

static enum err_code choose_topics(struct recall *r, struct err *err)
{
    struct candidates *list = &r->stage[STAGE_TOPICS];
    float *best = NULL;
    if (r->query->topics == 0)
        return ERR_OK;
    enum err_code rc = best_episodes(r, &best, err);
    for (uint32_t i = 0; rc == ERR_OK && best != NULL && i < r->n_topic_list; i++) {
        uint32_t id = r->topic_list[i];
        struct topic_row row;
        columns_topic(r->columns, id, &row);
        bool passes =
            (r->session_no == 0 || best[id - 1] > 0) && in_time(r, row.start_ms, row.end_ms);
        if (row.episodes == 0)
            continue;
        struct candidate c = {.id = id, .turn_doc = id, .factor = 1};
        c.signal[SIGNAL_OWN] = signal_of(r, r->topic_own[id - 1]);
        c.signal[SIGNAL_EPISODE] = best[id - 1];
        rc = offer(r, STAGE_TOPICS, &c, passes ? NULL : "filter", err);
    }
    if (rc == ERR_OK)
        rc = recall__rank(r, list, topic_weights, LIMIT_TOPICS * 4, err);
    if (rc == ERR_OK)
        drop_chain_links(r, list);
    r->shown[STAGE_TOPICS] = list->n < r->query->topics ? list->n : r->query->topics;
    return rc;
}

/* --- episodes --- */

static bool in_chosen_topics(struct recall *r, const struct episode_row *row)
{
    const struct candidates *topics = &r->stage[STAGE_TOPICS];
    for (uint32_t i = 0; i < r->shown[STAGE_TOPICS]; i++) {
        struct topic_row topic;
        columns_topic(r->columns, topics->at[i].id, &topic);
        for (int t = 0; t < 2; t++) {
            struct topic_row own;
            if (row->topics[t] == 0)
                continue;
            columns_topic(r->columns, row->topics[t], &own);
            if (own.chain == topic.chain)
                return true;
        }
    }
    return false;
}

static enum err_code choose_episodes(struct recall *r, struct err *err)
{
    struct candidates *list = &r->stage[STAGE_EPISODES];
    enum err_code rc = ERR_OK;
    bool gated = r->query->gate == GATE_STRICT && r->query->topics != 0;
    if (r->query->episodes == 0)
        return ERR_OK;
    for (uint32_t i = 0; rc == ERR_OK && i < r->n_episode_list; i++) {
        uint32_t id = r->episode_list[i];
        struct episode_row row;
        columns_episode(r->columns, id, &row);
        if (row.turns == 0)
            continue;
        const char *cut = !episode_passes(r, &row)              ? "filter"
                          : gated && !in_chosen_topics(r, &row) ? "gate"
                                                                : NULL;
        struct candidate c = {.id = id, .turn_doc = row.first_doc, .factor = 1};
        c.signal[SIGNAL_OWN] = signal_of(r, r->episode_own[id - 1]);
        c.signal[SIGNAL_TURN] = signal_of(r, r->episode_turn[id - 1]);
        rc = offer(r, STAGE_EPISODES, &c, cut, err);
    }
    if (rc == ERR_OK)
        rc = recall__rank(r, list, episode_weights, LIMIT_EPISODES * 2, err);
    r->shown[STAGE_EPISODES] = list->n < r->query->episodes ? list->n : r->query->episodes;
    for (uint32_t i = 0; rc == ERR_OK && i < r->shown[STAGE_EPISODES]; i++)
        r->episode_chosen[list->at[i].id - 1] = 1;
    return rc;
}

/* --- facts and recent turns --- */

static float factor_of(const struct recall *r, const struct turn_row *row)
{
    float prior = row->prior == 0 && (row->flags & TURN_ROW_DONE) == 0
                      ? RECALL_PRIOR_UNKNOWN
                      : (float)row->prior / ((float)row->prior + RECALL_PRIOR_HALF);
    bool named = r->n_named < r->n_speakers && recall__is_named(r, row->speaker_no);
    return named ? prior * RECALL_SPEAKER_FACTOR : prior;
}

static void turn_signals(const struct recall *r, const struct turn_acc *acc, struct candidate *c)
{
    c->signal[SIGNAL_TURN] = signal_of(r, acc->own);
    c->signal[SIGNAL_WINDOW1] = signal_of(r, acc->w1);
    c->signal[SIGNAL_WINDOW2] = signal_of(r, acc->w2);
    c->signal[SIGNAL_WINDOW4] = signal_of(r, acc->w4);
    c->signal[SIGNAL_DATE] = acc->date;
    if (acc->episode != 0 && r->query->episodes != 0 && acc->episode < r->stat.v[STAT_NEXT_EPISODE])
        c->signal[SIGNAL_EPISODE] = signal_of(r, r->episode_own[acc->episode - 1]);
}

static bool is_valid_at(struct recall *r, uint32_t id)
{
    struct fact_row row;
    if (!r->query->has_as_of)
        return true;
    columns_fact(r->columns, id, &row);
    return row.valid_from <= r->query->as_of_ms && r->query->as_of_ms < row.valid_to;
}

static enum err_code offer_fact(struct recall *r, const struct candidate *turn, uint32_t id,
                                struct err *err)
{
    if (id == 0 || id >= r->stat.v[STAT_NEXT_FACT] ||
        lengths_get(r->lengths, LAYER_FACT, id - 1) == 0)
        return ERR_OK;
    struct candidate c = *turn;
    c.id = id;
    c.signal[SIGNAL_OWN] = signal_of(r, r->fact_own[id - 1]);
    const char *cut = turn->cut != NULL ? turn->cut : is_valid_at(r, id) ? NULL : "filter";
    return offer(r, STAGE_FACTS, &c, cut, err);
}

/* Facts first said elsewhere that this turn repeats. */
static enum err_code offer_repeats(struct recall *r, const struct candidate *turn, uint32_t n,
                                   struct err *err)
{
    struct store_cursor *cursor = NULL;
    struct store_item item;
    char key[4];
    be32_set(key, n);
    enum err_code rc = store_cursor_open(r->txn, r->space, KIND_FACT_SOURCE, &cursor, err);
    if (rc == ERR_OK)
        rc = store_cursor_seek(cursor, (struct str){key, sizeof key}, &item, err);
    while (rc == ERR_OK && item.key.at != NULL && item.key.len == 8 && be32_get(item.key.at) == n) {
        rc = offer_fact(r, turn, be32_get(item.key.at + 4), err);
        if (rc == ERR_OK)
            rc = store_cursor_next(cursor, &item, err);
    }
    store_cursor_close(cursor);
    return rc;
}

/* Why the facts of a turn can't be in the reply; NULL: they can. */
static const char *turn_cut(const struct recall *r, const struct turn_row *row)
{
    bool gated = r->query->gate == GATE_STRICT && r->query->episodes != 0 &&
                 (row->flags & TURN_ROW_DONE) != 0;
    if (!turn_passes(r, row))
        return "filter";
    if (gated && (row->episode == 0 || row->episode >= r->stat.v[STAT_NEXT_EPISODE] ||
                  !r->episode_chosen[row->episode - 1]))
        return "gate";
    return NULL;
}

static enum err_code offer_facts(struct recall *r, const struct candidate *turn,
                                 const struct turn_row *row, struct err *err)
{
    enum err_code rc = ERR_OK;
    uint32_t before = r->stage[STAGE_FACTS].n;
    for (uint32_t i = 0; rc == ERR_OK && i < row->fact_count; i++)
        rc = offer_fact(r, turn, row->fact_first + i, err);
    if (rc == ERR_OK && (row->flags & TURN_ROW_MORE) != 0)
        rc = offer_repeats(r, turn, row->n, err);
    if (rc == ERR_OK && turn->cut == NULL && r->stage[STAGE_FACTS].n == before)
        rc = recall__push(r, &r->bare, turn, err);
    return rc;
}

static enum err_code offer_turn(struct recall *r, uint32_t doc, struct err *err)
{
    struct turn_row row;
    struct turn_acc *acc = recall__turn(r, doc);
    columns_turn(r->columns, doc, &row);
    if (acc->length == 0 || row.n == 0)
        return ERR_OK;
    struct candidate c = {.id = doc, .turn_doc = doc, .factor = factor_of(r, &row)};
    c.cut = turn_cut(r, &row);
    if (c.cut != NULL && !r->query->explain)
        return ERR_OK;
    turn_signals(r, acc, &c);
    if ((row.flags & TURN_ROW_DONE) == 0)
        return offer(r, STAGE_RECENT, &c, c.cut, err);
    return offer_facts(r, &c, &row, err);
}

/* The other turns of an episode that matches as a whole have its score. */
static enum err_code offer_episode_turns(struct recall *r, uint32_t id, struct err *err)
{
    struct episode_row row;
    columns_episode(r->columns, id, &row);
    enum err_code rc = ERR_OK;
    uint32_t doc = row.first_doc;
    for (uint32_t seen = 0; rc == ERR_OK && row.turns != 0 && doc < r->n_docs; seen++) {
        struct turn_acc *acc = recall__turn(r, doc);
        if (acc->episode != id || seen > r->n_docs)
            break;
        if (!acc->listed) {
            acc->listed = 1;
            rc = offer_turn(r, doc, err);
        }
        if (acc->next == 0)
            break;
        doc = acc->next - 1;
    }
    return rc;
}

/* A repeated fact may come once for each of its turns: the best place stays. */
static void drop_repeats(struct candidates *list, uint8_t *seen)
{
    uint32_t out = 0;
    for (uint32_t i = 0; i < list->n; i++) {
        if (seen[list->at[i].id - 1])
            continue;
        seen[list->at[i].id - 1] = 1;
        list->at[out++] = list->at[i];
    }
    list->n = out;
}

static enum err_code choose_facts(struct recall *r, struct err *err)
{
    struct candidates *facts = &r->stage[STAGE_FACTS], *recent = &r->stage[STAGE_RECENT];
    enum err_code rc = ERR_OK;
    for (uint32_t i = 0; rc == ERR_OK && i < r->n_touched; i++)
        rc = offer_turn(r, r->touched[i], err);
    if (r->query->episodes != 0)
        for (uint32_t i = 0; rc == ERR_OK && i < r->n_episode_list; i++)
            if (r->episode_own[r->episode_list[i] - 1] > 0)
                rc = offer_episode_turns(r, r->episode_list[i], err);
    if (rc == ERR_OK)
        rc = recall__rank(r, facts, fact_weights, RECALL_POOL + LIMIT_FACTS, err);
    if (rc == ERR_OK)
        rc = recall__rank(r, recent, fact_weights, RECALL_POOL, err);
    if (rc == ERR_OK)
        rc = recall__rank(r, &r->bare, fact_weights, RECALL_POOL, err);
    uint8_t *seen = ARENA_ARRAY(r->arena, uint8_t, r->stat.v[STAT_NEXT_FACT]);
    if (rc == ERR_OK && seen == NULL)
        rc = recall__memory(err);
    if (rc != ERR_OK)
        return rc;
    drop_repeats(facts, seen);
    r->shown[STAGE_FACTS] = facts->n < r->query->facts ? facts->n : r->query->facts;
    r->shown[STAGE_RECENT] = recent->n < RECALL_RECENT ? recent->n : RECALL_RECENT;
    return ERR_OK;
}

/* What was kept out, ranked as if it had not been. */
static enum err_code rank_cut(struct recall *r, struct err *err)
{
    static const float *const weights[RECALL_STAGES] = {topic_weights, episode_weights,
                                                        fact_weights, fact_weights};
    enum err_code rc = ERR_OK;
    for (int s = 0; rc == ERR_OK && s < RECALL_STAGES; s++)
        rc = recall__rank(r, &r->cut[s], weights[s], RECALL_EXPLAIN, err);
    return rc;
}

enum err_code recall__choose(struct recall *r, struct err *err)
{
    enum err_code rc = choose_topics(r, err);
    if (rc == ERR_OK)
        rc = choose_episodes(r, err);
    if (rc == ERR_OK)
        rc = choose_facts(r, err);
    if (rc == ERR_OK && r->query->explain)
        rc = rank_cut(r, err);
    return rc;
}
