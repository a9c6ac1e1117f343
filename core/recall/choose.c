/* Coarse to fine: topics, then episodes, then facts (DESIGN 7; paper section 4).
 *
 * Strict gate: episodes only of the chosen topics, facts only of the chosen episodes. Soft gate
 * (the default): the members and the flat best, which comes to the same score for all, so whatever
 * stage 1 misses stays in reach. Filters apply before every cut (filter.c), and both apply before
 * the nearest by vector are picked. */
#include "core/recall/recall_int.h"

enum err_code recall__offer(struct recall *r, enum recall_stage stage, struct candidate *c,
                            const char *cut, struct err *err)
{
    c->cut = cut;
    if (cut == NULL)
        return recall__push(r, &r->stage[stage], c, err);
    return r->query->explain ? recall__push(r, &r->cut[stage], c, err) : ERR_OK;
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* --- topics --- */

/* Notes a topic's best episode, and lists the topic when nothing else has. */
static void raise_topic(struct recall *r, float *best, uint32_t topic, float score)
{
    if (topic == 0 || topic >= r->stat.v[STAT_NEXT_TOPIC])
        return;
    if (best[topic - 1] == 0 && r->topic_own[topic - 1] == 0)
        r->topic_list[r->n_topic_list++] = topic;
    if (score > best[topic - 1])
        best[topic - 1] = score;
}

static void best_episodes(struct recall *r, float *best)
{
    for (uint32_t i = 0; i < r->n_episode_list; i++) {
        uint32_t id = r->episode_list[i];
        struct episode_row row;
        columns_episode(r->columns, id, &row);
        if (row.turns == 0 || !recall__episode_passes(r, id, &row))
            continue;
        float score = (r->episode_own[id - 1] + r->episode_turn[id - 1]) / r->reach / 2;
        raise_topic(r, best, row.topics[0], score);
        raise_topic(r, best, row.topics[1], score);
    }
}

static enum err_code offer_topic(struct recall *r, uint32_t id, float best, struct err *err)
{
    struct topic_row row;
    bool passes = best > 0;
    enum err_code rc = ERR_OK;
    columns_topic(r->columns, id, &row);
    if (row.episodes == 0)
        return ERR_OK;
    if (!passes)
        rc = recall__topic_passes(r, id, &passes, err);
    if (rc != ERR_OK)
        return rc;
    bool linked = row.chain != 0 && row.chain < r->stat.v[STAT_NEXT_TOPIC];
    struct candidate c = {.id = id, .turn_doc = id, .group = linked ? row.chain : id, .factor = 1};
    c.signal[SIGNAL_OWN] = r->topic_own[id - 1] / r->reach;
    c.signal[SIGNAL_EPISODE] = best;
    c.signal[SIGNAL_VECTOR] = recall__nearness(r, LAYER_TOPIC, row.doc);
    return recall__offer(r, STAGE_TOPICS, &c, passes ? NULL : "filter", err);
}

static enum err_code topic_fits(struct recall *r, uint32_t doc, const void *arg, bool *fits,
                                struct err *err)
{
    uint32_t id = columns_topic_of_doc(r->columns, doc);
    (void)arg;
    *fits = id != 0;
    return id == 0 ? ERR_OK : recall__topic_passes(r, id, fits, err);
}

/* Lists topics that nothing but their vector speaks for. */
static enum err_code list_near_topics(struct recall *r, const float *best, struct err *err)
{
    struct nearest near;
    if (r->generation == NULL)
        return ERR_OK;
    enum err_code rc = recall__nearest(r, LAYER_TOPIC, topic_fits, NULL, &near, err);
    for (uint32_t i = 0; rc == ERR_OK && i < near.n; i++) {
        uint32_t id = columns_topic_of_doc(r->columns, near.docs[i]);
        if (id != 0 && id < r->stat.v[STAT_NEXT_TOPIC] && best[id - 1] == 0 &&
            r->topic_own[id - 1] == 0)
            r->topic_list[r->n_topic_list++] = id;
    }
    return rc;
}

/* A chain of successors counts as one topic: its best link stands for it. */
static enum err_code choose_topics(struct recall *r, struct err *err)
{
    struct candidates *list = &r->stage[STAGE_TOPICS];
    uint32_t n_topics = (uint32_t)r->stat.v[STAT_NEXT_TOPIC];
    if (r->query->topics == 0)
        return ERR_OK;
    float *best = ARENA_ARRAY(r->arena, float, n_topics);
    if (best == NULL)
        return recall__memory(err);
    best_episodes(r, best);
    enum err_code rc = list_near_topics(r, best, err);
    for (uint32_t i = 0; rc == ERR_OK && i < r->n_topic_list; i++)
        rc = offer_topic(r, r->topic_list[i], best[r->topic_list[i] - 1], err);
    if (rc == ERR_OK)
        rc = recall__rank(r, list, n_topics, err);
    if (rc == ERR_OK)
        rc = recall__reorder(r, STAGE_TOPICS, err);
    r->shown[STAGE_TOPICS] = least(list->n, r->query->topics);
    return rc;
}

/* --- episodes --- */

/* By chain: one of its links is in the reply. NULL: memory is short. */
static uint8_t *chosen_chains(struct recall *r)
{
    const struct candidates *topics = &r->stage[STAGE_TOPICS];
    uint8_t *chosen = ARENA_ARRAY(r->arena, uint8_t, r->stat.v[STAT_NEXT_TOPIC]);
    for (uint32_t i = 0; chosen != NULL && i < r->shown[STAGE_TOPICS]; i++)
        chosen[topics->at[i].group] = 1;
    return chosen;
}

static bool is_member(struct recall *r, const uint8_t *chosen, const struct episode_row *row)
{
    for (int t = 0; t < 2; t++) {
        struct topic_row topic;
        if (row->topics[t] == 0)
            continue;
        columns_topic(r->columns, row->topics[t], &topic);
        if (topic.chain < r->stat.v[STAT_NEXT_TOPIC] && chosen[topic.chain])
            return true;
    }
    return false;
}

/* Why it can't be in the reply; NULL: it can. `chosen` NULL: no gate. */
static const char *episode_cut(struct recall *r, uint32_t id, const struct episode_row *row,
                               const uint8_t *chosen)
{
    if (!recall__episode_passes(r, id, row))
        return "filter";
    return chosen != NULL && !is_member(r, chosen, row) ? "gate" : NULL;
}

static enum err_code episode_fits(struct recall *r, uint32_t doc, const void *arg, bool *fits,
                                  struct err *err)
{
    struct episode_row row;
    uint32_t id = columns_episode_of_doc(r->columns, doc);
    (void)err;
    *fits = false;
    if (id == 0)
        return ERR_OK;
    columns_episode(r->columns, id, &row);
    *fits = row.turns != 0 && episode_cut(r, id, &row, arg) == NULL;
    return ERR_OK;
}

/* Lists episodes that nothing but their vector speaks for. */
static enum err_code list_near_episodes(struct recall *r, const uint8_t *chosen, struct err *err)
{
    struct nearest near;
    if (r->generation == NULL)
        return ERR_OK;
    enum err_code rc = recall__nearest(r, LAYER_EPISODE, episode_fits, chosen, &near, err);
    for (uint32_t i = 0; rc == ERR_OK && i < near.n; i++) {
        uint32_t id = columns_episode_of_doc(r->columns, near.docs[i]);
        if (id != 0 && id < r->stat.v[STAT_NEXT_EPISODE] && r->episode_own[id - 1] == 0 &&
            r->episode_turn[id - 1] == 0)
            r->episode_list[r->n_episode_list++] = id;
    }
    return rc;
}

static enum err_code offer_episode(struct recall *r, uint32_t id, const uint8_t *chosen,
                                   struct err *err)
{
    struct episode_row row;
    float sum = (r->episode_own[id - 1] + r->episode_turn[id - 1]) / r->reach;
    float most = sum + r->weights[STAGE_EPISODES][SIGNAL_VECTOR] * r->nearest_episode;
    if (!r->query->explain && recall__is_hopeless(&r->stage[STAGE_EPISODES], most, 1))
        return ERR_OK;
    columns_episode(r->columns, id, &row);
    if (row.turns == 0)
        return ERR_OK;
    const char *cut = episode_cut(r, id, &row, chosen);
    struct candidate c = {.id = id, .turn_doc = row.first_doc, .factor = 1};
    c.signal[SIGNAL_OWN] = r->episode_own[id - 1] / r->reach;
    c.signal[SIGNAL_TURN] = r->episode_turn[id - 1] / r->reach;
    c.signal[SIGNAL_VECTOR] = recall__nearness(r, LAYER_EPISODE, row.doc);
    return recall__offer(r, STAGE_EPISODES, &c, cut, err);
}

static enum err_code choose_episodes(struct recall *r, struct err *err)
{
    struct candidates *list = &r->stage[STAGE_EPISODES];
    const uint8_t *chosen = NULL;
    enum err_code rc = ERR_OK;
    if (r->query->episodes == 0)
        return ERR_OK;
    if (r->query->gate == GATE_STRICT && r->query->topics != 0) {
        chosen = chosen_chains(r);
        if (chosen == NULL)
            return recall__memory(err);
    }
    rc = list_near_episodes(r, chosen, err);
    for (uint32_t i = 0; rc == ERR_OK && i < r->n_episode_list; i++)
        rc = offer_episode(r, r->episode_list[i], chosen, err);
    if (rc == ERR_OK)
        rc = recall__rank(r, list, 0, err);
    if (rc == ERR_OK)
        rc = recall__reorder(r, STAGE_EPISODES, err);
    r->shown[STAGE_EPISODES] = least(list->n, r->query->episodes);
    for (uint32_t i = 0; rc == ERR_OK && i < r->shown[STAGE_EPISODES]; i++)
        r->episode_chosen[list->at[i].id - 1] = 1;
    return rc;
}

/* --- all --- */

static void init_lists(struct recall *r)
{
    static const uint32_t keep[RECALL_STAGES] = {[STAGE_TOPICS] = LIMIT_TOPICS + RECALL_EXPLAIN,
                                                 [STAGE_EPISODES] = LIMIT_EPISODES + RECALL_EXPLAIN,
                                                 [STAGE_FACTS] = RECALL_POOL,
                                                 [STAGE_RECENT] = RECALL_RECENT + RECALL_EXPLAIN};
    for (int s = 0; s < RECALL_STAGES; s++) {
        recall__list_init(r, &r->stage[s], (enum recall_stage)s, keep[s]);
        recall__list_init(r, &r->cut[s], (enum recall_stage)s, RECALL_EXPLAIN);
    }
    recall__list_init(r, &r->parts, STAGE_RECENT, RECALL_POOL);
    recall__list_init(r, &r->bare, STAGE_RECENT, RECALL_POOL);
}

_Static_assert(RECALL_POOL >= LIMIT_FACTS + RECALL_EXPLAIN, "the reply's facts are of the pool");

enum err_code recall__choose(struct recall *r, struct err *err)
{
    init_lists(r);
    enum err_code rc = choose_topics(r, err);
    if (rc == ERR_OK)
        rc = choose_episodes(r, err);
    if (rc == ERR_OK)
        rc = recall__choose_facts(r, err);
    for (int s = 0; rc == ERR_OK && s < RECALL_STAGES; s++)
        rc = recall__rank(r, &r->cut[s], 0, err); /* as if they had not been kept out */
    return rc;
}
