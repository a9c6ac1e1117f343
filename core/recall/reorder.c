/* A reranker's part (DESIGN 7): what it is given to judge, and its order put over a ranked list.
 *
 *   fused      a .81  b .64  c .60  d .55  e .31          judged: a 0.2, b 0.9, d 0.7
 *   reordered  b .90  d .70  a .20  c .20  e .20          c and e keep their order behind them
 *   worth        .81    .64    .60    .55    .31          of the place, for the context
 *
 * A score in the reply is the reranker's; what it did not judge stands behind and is never shown as
 * better. The context weighs facts against turns that no reranker saw, so it takes what the place
 * was worth before: the two scales have nothing in common. */
#include <stdlib.h>

#include "core/base/civil.h"
#include "core/recall/context_int.h"

/* --- the order --- */

struct judged {
    uint32_t id;
    float score;
};

static int order_ids(const void *a, const void *b)
{
    const struct judged *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

struct placed {
    float score; /* below 0: not judged */
    uint32_t at;
};

static int order_placed(const void *a, const void *b)
{
    const struct placed *x = a, *y = b;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

static float score_of(const struct judged *judged, uint32_t n, uint32_t id)
{
    struct judged key = {.id = id};
    const struct judged *found = bsearch(&key, judged, n, sizeof key, order_ids);
    return found != NULL && found->score >= 0 ? found->score : -1;
}

static void put_in_order(struct candidates *list, const struct placed *placed,
                         struct candidate *out)
{
    float least = 1;
    for (uint32_t i = 0; i < list->n; i++) {
        out[i] = list->at[placed[i].at];
        out[i].worth = list->at[i].score;
        if (placed[i].score >= 0) {
            least = placed[i].score;
            out[i].signal[SIGNAL_RERANK] = least;
            out[i].score = least;
        } else if (out[i].score > least) {
            out[i].score = least;
        }
    }
    list->at = out;
    list->cap = list->n;
}

enum err_code recall__reorder(struct recall *r, enum recall_stage stage, struct err *err)
{
    struct candidates *list = &r->stage[stage];
    if (r->query->reranked == NULL)
        return ERR_OK;
    const struct recall_order *order = &r->query->reranked[stage];
    struct judged *judged = ARENA_ARRAY(r->arena, struct judged, order->n);
    struct placed *placed = ARENA_ARRAY(r->arena, struct placed, list->n);
    struct candidate *out = ARENA_ARRAY(r->arena, struct candidate, list->n);
    if (judged == NULL || placed == NULL || out == NULL)
        return recall__memory(err);
    for (uint32_t i = 0; i < order->n; i++)
        judged[i] = (struct judged){order->ids[i], order->scores[i]};
    qsort(judged, order->n, sizeof *judged, order_ids);
    for (uint32_t i = 0; i < list->n; i++)
        placed[i] = (struct placed){score_of(judged, order->n, list->at[i].id), i};
    qsort(placed, list->n, sizeof *placed, order_placed);
    put_in_order(list, placed, out);
    return ERR_OK;
}

/* --- what is judged --- */

static bool is_hidden(const struct recall *r, int64_t end_ms)
{
    return r->query->has_as_of && end_ms > r->query->as_of_ms;
}

static enum err_code put_titled(struct recall *r, struct arena *keep, struct str title,
                                struct str summary, struct str *out, struct err *err)
{
    bool both = title.len != 0 && summary.len != 0;
    *out = str_printf(keep, "%.*s%s%.*s", STR_FMT(title), both ? "\n" : "", STR_FMT(summary));
    (void)r;
    return out->at == NULL ? recall__memory(err) : ERR_OK;
}

static enum err_code put_topic(struct recall *r, uint32_t id, struct arena *keep, struct str *out,
                               struct err *err)
{
    struct topic topic;
    enum err_code rc = topic_get(r->txn, r->space, id, r->arena, &topic, err);
    if (rc != ERR_OK || topic.id == 0)
        return rc;
    struct str summary = is_hidden(r, topic.end_ms) ? STR("") : topic.summary;
    return put_titled(r, keep, topic.title, summary, out, err);
}

static enum err_code put_episode(struct recall *r, uint32_t id, struct arena *keep, struct str *out,
                                 struct err *err)
{
    struct episode episode;
    enum err_code rc = episode_get(r->txn, r->space, id, &episode, err);
    if (rc != ERR_OK || episode.id == 0)
        return rc;
    struct str summary = is_hidden(r, episode.end_ms) ? STR("") : episode.summary;
    return put_titled(r, keep, episode.title, summary, out, err);
}

/* "8 May 2023, Caroline: …"; a built-in fact names its speaker itself. */
static enum err_code put_fact(struct recall *r, uint32_t id, struct arena *keep, struct str *out,
                              struct err *err)
{
    struct fact fact;
    struct turn turn = {.n = 0};
    char day[CONTEXT_DAY_MAX];
    enum err_code rc = fact_get(r->txn, r->space, id, r->arena, &fact, err);
    if (rc == ERR_OK && fact.id != 0 && fact.n_sources != 0)
        rc = turn_get(r->txn, r->space, fact.sources[0], &turn, err);
    if (rc != ERR_OK || fact.id == 0)
        return rc;
    size_t n = context__write_day(context__day(fact.valid_from, turn.offset_min), day);
    bool named = fact.speaker.len == 0 || str_starts(fact.content, fact.speaker);
    *out = str_printf(keep, "%.*s%s%.*s: %.*s", (int)n, day, named ? "" : ", ",
                      STR_FMT(named ? STR("") : fact.speaker), STR_FMT(fact.content));
    return out->at == NULL ? recall__memory(err) : ERR_OK;
}

typedef enum err_code put_fn(struct recall *r, uint32_t id, struct arena *keep, struct str *out,
                             struct err *err);
static put_fn *const puts_of[RECALL_STAGES] = {
    [STAGE_TOPICS] = put_topic, [STAGE_EPISODES] = put_episode, [STAGE_FACTS] = put_fact};

enum err_code recall__pool(struct recall *r, uint32_t most, struct arena *keep,
                           struct recall_pool *pool, struct err *err)
{
    for (int s = 0; s < RECALL_STAGES; s++) {
        const struct candidates *list = &r->stage[s];
        uint32_t n = r->shown[s] == 0 || puts_of[s] == NULL ? 0 : list->n < most ? list->n : most;
        pool[s].n = n;
        pool[s].ids = ARENA_ARRAY(keep, uint32_t, n);
        pool[s].documents = ARENA_ARRAY(keep, struct str, n);
        if (pool[s].ids == NULL || pool[s].documents == NULL)
            return recall__memory(err);
        for (uint32_t i = 0; i < n; i++) {
            pool[s].ids[i] = list->at[i].id;
            pool[s].documents[i] = STR("");
            enum err_code rc = puts_of[s](r, list->at[i].id, keep, &pool[s].documents[i], err);
            if (rc != ERR_OK)
                return rc;
        }
    }
    return ERR_OK;
}
