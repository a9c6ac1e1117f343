#include "api/asking.h"

#include "api/api_int.h"
#include "api/handlers.h"
#include "api/params_json.h"
#include "api/query_reply.h"
#include "core/base/limits.h"
#include "core/base/tz.h"
#include "core/ingest/embed.h"
#include "core/model/embed_cache.h"
#include "core/text/utf8.h"

enum { CHARS_A_TOKEN = 4, RERANKED_LISTS = 3 };

/* Which list is reranked first: when time is short the facts have had theirs. */
static const enum recall_stage rerank_order[RERANKED_LISTS] = {STAGE_FACTS, STAGE_EPISODES,
                                                               STAGE_TOPICS};

struct asking {
    const struct asking_use *use;
    struct recall_query query;
    struct recall_dense dense;
    struct recall_pool pool[RECALL_STAGES];
    struct recall_order orders[RECALL_STAGES];
    struct model_call call;
    struct model_usage usage;
    struct str text; /* what is embedded */
    unsigned degraded;
    bool waited;       /* once is enough, whatever came of it */
    bool embed_done;   /* the question has its vector, or will have none */
    bool has_vector;   /* query.dense can be used */
    bool pooled;       /* what a reranker is to judge was gathered */
    unsigned reranked; /* lists that were looked at */
    int64_t rerank_until_ms;
    void *own; /* of use->reply() */
};

static step_fn round_run, embedded, list_reranked;

static struct asking *asking_of(const struct api_call *call)
{
    return visit_of(call)->own;
}

static const struct models *models_of(const struct api_call *call)
{
    return handler_services(call)->models;
}

static bool has_model(const struct api_call *call, enum model_purpose purpose)
{
    const struct models *models = models_of(call);
    return models != NULL && models_has(models, purpose);
}

/* --- the question --- */

static void set_times(const struct api_call *call, struct recall_query *q)
{
    const struct param *as_of = param_at(call, QUERY_AS_OF);
    const struct param *since = param_at(call, QUERY_SINCE), *until = param_at(call, QUERY_UNTIL);
    q->has_since = since->given;
    q->since_ms = since->time_ms;
    q->has_until = until->given;
    q->until_ms = until->time_ms;
    q->has_as_of = as_of->given;
    q->as_of_ms = as_of->time_ms;
}

static struct recall_query question(const struct api_call *call)
{
    struct recall_query q = recall_defaults();
    q.q = param_at(call, QUERY_Q)->text;
    q.topics = (uint32_t)param_at(call, QUERY_TOPICS)->number;
    q.episodes = (uint32_t)param_at(call, QUERY_EPISODES)->number;
    q.facts = (uint32_t)param_at(call, QUERY_FACTS)->number;
    q.max_tokens = (uint32_t)param_at(call, QUERY_MAX_TOKENS)->number;
    q.windows = param_at(call, QUERY_WINDOWS)->number != 0;
    q.gate = (enum recall_gate)param_at(call, QUERY_GATE)->number;
    q.fusion = (enum recall_fusion)param_at(call, QUERY_FUSION)->number;
    q.summaries = (enum recall_summaries)param_at(call, QUERY_SUMMARIES)->number;
    q.explain =
        visit_of(call)->params.n > QUERY_EXPLAIN && param_at(call, QUERY_EXPLAIN)->number != 0;
    set_times(call, &q);
    q.session = param_at(call, QUERY_SESSION)->text;
    q.speaker = param_at(call, QUERY_SPEAKER)->text;
    return q;
}

static void set_now(const struct api_call *call, const struct space *settings,
                    struct recall_query *q)
{
    const struct param *now = param_at(call, QUERY_NOW);
    q->now_ms = now->given ? now->time_ms : handler_now_ms(call);
    q->now_offset_min = now->given ? now->offset_min : tz_offset_min(settings->timezone, q->now_ms);
}

/* --- the question's vector --- */

static bool wants_vector(const struct api_call *call)
{
    const struct recall_weights *w = &call->api->options.recall.weights;
    return has_model(call, PURPOSE_EMBED) && param_at(call, QUERY_VECTORS)->number != 0 &&
           (w->topics > 0 || w->episodes > 0 || w->facts > 0 || w->turns > 0);
}

static void set_dense(struct api_call *call, const struct vectors_generation *generation)
{
    struct asking *a = asking_of(call);
    const struct api_recall *options = &call->api->options.recall;
    const struct param *lambda = param_at(call, QUERY_LAMBDA);
    a->dense = (struct recall_dense){
        .dimension = generation->dim,
        .identity = generation->identity,
        .weights = options->weights,
        .lambda = lambda->given ? (float)lambda->real : options->lambda,
        .join = options->join,
        .kernels = options->kernels,
    };
}

enum err_code asking_generation(struct api_call *call, struct store_txn *txn,
                                const struct vectors_generation **usable, unsigned *degraded,
                                struct err *err)
{
    struct vectors_generations all;
    struct space_stat stat;
    uint64_t space = visit_of(call)->space;
    *usable = NULL;
    if (!has_model(call, PURPOSE_EMBED))
        return ERR_OK;
    bool ours = false;
    enum err_code code = vectors_generations_get(txn, space, call->arena, &all, err);
    const struct vectors_generation *active = vectors_generation_find(&all, VECTORS_ACTIVE);
    if (code == ERR_OK)
        code = store_stat(txn, space, &stat, err);
    if (code == ERR_OK && active != NULL)
        code = embed_is_ours(models_of(call), active, call->arena, &ours, err);
    if (code != ERR_OK)
        return code;
    if (ours)
        *usable = active;
    else if (stat.v[STAT_DOCS_TURN] != 0)
        *degraded |= DEGRADED_REINDEX;
    return ERR_OK;
}

/* A longer question would be refused, or cut by the server without a word. */
static struct str embeddable(const struct api_call *call, struct str q)
{
    return utf8_cut(q, (size_t)models_embed(models_of(call))->text_tokens * CHARS_A_TOKEN);
}

/* Finds out whether vectors can be used, and the question's own if it is known. */
static enum err_code plan_vector(struct api_call *call, const struct recall_base *base, bool *ask,
                                 struct err *err)
{
    struct asking *a = asking_of(call);
    const struct vectors_generation *usable = NULL;
    *ask = false;
    if (a->embed_done)
        return ERR_OK;
    a->embed_done = true;
    if (!wants_vector(call))
        return ERR_OK;
    enum err_code code = asking_generation(call, base->txn, &usable, &a->degraded, err);
    if (code != ERR_OK || usable == NULL)
        return code;
    set_dense(call, usable);
    code = recall_embed_text(base, a->query.q, call->arena, &a->text, err);
    if (code != ERR_OK)
        return code;
    a->text = embeddable(call, a->text);
    a->dense.vector = embed_cache_get(call->api->questions, a->dense.identity, a->text,
                                      a->dense.dimension, call->arena);
    a->has_vector = a->dense.vector != NULL;
    *ask = !a->has_vector;
    metrics_add(handler_services(call)->metrics,
                a->has_vector ? METRIC_EMBED_CACHE_HIT : METRIC_EMBED_CACHE_MISS, 1);
    return ERR_OK;
}

static enum step_verdict ask_vector(struct api_call *call)
{
    struct asking *a = asking_of(call);
    struct err err;
    if (handler_wait_begin(call, &err) != ERR_OK) { /* too many wait already */
        a->degraded |= DEGRADED_EMBED;
        return round_run(&call->step);
    }
    model_call_init(&a->call, PURPOSE_EMBED, call->arena);
    a->call.embed = (struct embed_ask){.texts = &a->text, .n = 1, .is_query = true};
    a->call.deadline_ms =
        handler_deadline_ms(call, (uint64_t)call->api->options.recall.embed_deadline_ms);
    return handler_call(call, &a->call, embedded);
}

static enum step_verdict embedded(struct step *step)
{
    struct api_call *call = call_of(step);
    struct asking *a = asking_of(call);
    const struct embed_ask *got = &a->call.embed;
    handler_called(call);
    asking_add_usage(&a->usage, &a->call.usage);
    a->has_vector =
        a->call.outcome == ERR_OK && got->failed == 0 && got->dimension == a->dense.dimension;
    if (a->has_vector) {
        a->dense.vector = got->vectors;
        embed_cache_put(call->api->questions, a->dense.identity, a->text, got->vectors,
                        got->dimension);
    } else {
        a->degraded |= DEGRADED_EMBED;
    }
    return round_run(step);
}

/* --- reranking --- */

static bool wants_rerank(const struct api_call *call)
{
    return has_model(call, PURPOSE_RERANK) && param_at(call, QUERY_RERANK)->number == RERANK_ON;
}

static enum err_code check_rerank(const struct api_call *call, struct err *err)
{
    const struct param *rerank = param_at(call, QUERY_RERANK);
    if (!rerank->given || rerank->number == RERANK_OFF || has_model(call, PURPOSE_RERANK))
        return ERR_OK;
    return err_set_param(err, ERR_UNIMPLEMENTED, "rerank",
                         "no rerank model is configured (rerank_base_url, rerank_model_dir)");
}

/* The lists as they are, in memory that is given back at once; what a reranker reads of them stays
 * in the call's. */
static enum err_code gather_pool(struct api_call *call, const struct recall_base *base,
                                 struct err *err)
{
    struct asking *a = asking_of(call);
    struct arena *arena = arena_new(ARENA_REQUEST_BYTES);
    if (arena == NULL)
        return err_set(err, ERR_EXHAUSTED, "no memory for the query");
    a->pooled = true;
    const struct recall_pools pools = {models_rerank(models_of(call))->candidates, call->arena,
                                       a->pool};
    enum err_code code = recall_pool(base, &a->query, arena, &pools, err);
    arena_free(arena);
    return code;
}

/* The next list that has an order to be found; the last one leads to the reply. */
static enum step_verdict rerank_next(struct api_call *call)
{
    struct asking *a = asking_of(call);
    struct err err;
    while (a->reranked < RERANKED_LISTS && a->pool[rerank_order[a->reranked]].n < 2)
        a->reranked++;
    if (a->reranked == RERANKED_LISTS)
        return round_run(&call->step);
    if (handler_wait_begin(call, &err) != ERR_OK) {
        a->degraded |= DEGRADED_RERANK;
        a->reranked = RERANKED_LISTS;
        return round_run(&call->step);
    }
    const struct recall_pool *pool = &a->pool[rerank_order[a->reranked]];
    if (a->rerank_until_ms == 0)
        a->rerank_until_ms =
            handler_deadline_ms(call, (uint64_t)models_rerank(models_of(call))->deadline_ms);
    model_call_init(&a->call, PURPOSE_RERANK, call->arena);
    a->call.rerank =
        (struct rerank_ask){.query = a->query.q, .documents = pool->documents, .n = pool->n};
    a->call.deadline_ms = a->rerank_until_ms;
    return handler_call(call, &a->call, list_reranked);
}

/* When one fails the others are not tried: they would, and time is short. */
static enum step_verdict list_reranked(struct step *step)
{
    struct api_call *call = call_of(step);
    struct asking *a = asking_of(call);
    enum recall_stage stage = rerank_order[a->reranked++];
    handler_called(call);
    asking_add_usage(&a->usage, &a->call.usage);
    if (a->call.outcome == ERR_OK) {
        a->orders[stage] = (struct recall_order){
            .ids = a->pool[stage].ids, .scores = a->call.rerank.scores, .n = a->pool[stage].n};
        a->query.reranked = a->orders;
        return rerank_next(call);
    }
    a->degraded |= DEGRADED_RERANK;
    a->reranked = RERANKED_LISTS;
    return round_run(step);
}

/* --- a round --- */

/* Whether there is something left to wait for. ERR_INVALID: min_seq is not there yet. */
static enum err_code check_seq(const struct api_call *call, struct store_txn *txn, bool *behind,
                               struct err *err)
{
    const struct param *min_seq = param_at(call, QUERY_MIN_SEQ);
    struct space_stat stat;
    *behind = false;
    if (!min_seq->given)
        return ERR_OK;
    enum err_code code = store_stat(txn, visit_of(call)->space, &stat, err);
    if (code != ERR_OK)
        return code;
    if (min_seq->number > stat.v[STAT_SEQ])
        return err_set_param(err, ERR_INVALID, "min_seq", "min_seq is above the space's seq");
    *behind = stat.v[STAT_PROCESSED] < min_seq->number;
    return ERR_OK;
}

static void count_query(struct api_call *call, const struct recall_reply *r, unsigned degraded)
{
    static const uint8_t series[TIMINGS] = {
        [TIMING_TERMS] = METRIC_H_QUERY_TERMS,     [TIMING_COLLECT] = METRIC_H_QUERY_COLLECT,
        [TIMING_VECTORS] = METRIC_H_QUERY_VECTORS, [TIMING_SCORE] = METRIC_H_QUERY_SCORE,
        [TIMING_RECORDS] = METRIC_H_QUERY_RECORDS, [TIMING_CONTEXT] = METRIC_H_QUERY_CONTEXT,
        [TIMING_TOTAL] = METRIC_H_QUERY_TOTAL};
    struct metrics *metrics = handler_services(call)->metrics;
    metrics_add(metrics, METRIC_QUERIES, 1);
    metrics_add(metrics, METRIC_QUERY_DEGRADED, (degraded & DEGRADED_BEHIND) != 0);
    metrics_add(metrics, METRIC_QUERY_NO_EMBED, (degraded & DEGRADED_EMBED) != 0);
    metrics_add(metrics, METRIC_QUERY_NO_RERANK, (degraded & DEGRADED_RERANK) != 0);
    metrics_add(metrics, METRIC_QUERY_REINDEX, (degraded & DEGRADED_REINDEX) != 0);
    for (unsigned i = 0; i < TIMINGS; i++)
        if (i != TIMING_VECTORS || r->dense)
            metrics_observe(metrics, (enum metric_histogram)series[i], r->timing_ns[i]);
}

/* What comes after the snapshot. */
enum round { ROUND_WAIT, ROUND_EMBED, ROUND_RERANK, ROUND_REPLY };

static enum err_code reply(struct api_call *call, const struct recall_base *base, bool behind,
                           struct err *err)
{
    struct asking *a = asking_of(call);
    struct recall_reply got = {.seq = 0};
    enum err_code code = recall_run(base, &a->query, call->arena, &got, err);
    if (code != ERR_OK)
        return code;
    a->degraded |= behind ? DEGRADED_BEHIND : 0;
    /* The generation has changed during a call. */
    a->degraded |= a->has_vector && !got.dense ? DEGRADED_REINDEX : 0;
    struct asked asked = {.reply = &got, .degraded = a->degraded, .usage = &a->usage};
    count_query(call, &got, a->degraded);
    return a->use->reply(call, &asked, err);
}

static enum err_code look(struct api_call *call, struct store_txn *txn, enum round *round,
                          struct err *err)
{
    struct asking *a = asking_of(call);
    struct space settings;
    bool behind = false, ask = false;
    enum err_code code = check_seq(call, txn, &behind, err);
    *round = ROUND_WAIT;
    if (code == ERR_OK && behind && !a->waited && param_at(call, QUERY_WAIT_MS)->number != 0)
        return ERR_OK;
    struct recall_base base = {.txn = txn,
                               .space = visit_of(call)->space,
                               .settings = &settings,
                               .clock = handler_services(call)->clock,
                               .tokenizers = handler_services(call)->tokenizers};
    if (code == ERR_OK)
        code = space_get(txn, base.space, &settings, err);
    if (code == ERR_OK)
        code = plan_vector(call, &base, &ask, err);
    *round = ROUND_EMBED;
    if (code != ERR_OK || ask)
        return code;
    set_now(call, &settings, &a->query);
    a->query.dense = a->has_vector ? &a->dense : NULL;
    *round = a->pooled || !wants_rerank(call) ? ROUND_REPLY : ROUND_RERANK;
    return *round == ROUND_RERANK ? gather_pool(call, &base, err) : reply(call, &base, behind, err);
}

static enum step_verdict wait_for_seq(struct api_call *call)
{
    struct err err;
    asking_of(call)->waited = true;
    if (handler_wait_begin(call, &err) != ERR_OK)
        return handler_fail(call, &err);
    return handler_wait(call, param_at(call, QUERY_MIN_SEQ)->number,
                        handler_deadline_ms(call, param_at(call, QUERY_WAIT_MS)->number),
                        round_run);
}

static enum step_verdict round_run(struct step *step)
{
    struct api_call *call = call_of(step);
    struct store_txn *txn = NULL;
    struct err err;
    enum round round = ROUND_REPLY;
    enum err_code code = handler_open(call, &txn, &err);
    if (code == ERR_OK)
        code = look(call, txn, &round, &err);
    store_end(txn);
    if (code != ERR_OK)
        return handler_fail(call, &err);
    switch (round) {
    case ROUND_WAIT: return wait_for_seq(call);
    case ROUND_EMBED: return ask_vector(call);
    case ROUND_RERANK: return rerank_next(call);
    case ROUND_REPLY: break;
    }
    return asking_of(call)->use->next(call);
}

enum step_verdict asking_start(struct step *step, const struct asking_use *use)
{
    struct api_call *call = call_of(step);
    struct param_set *params = &visit_of(call)->params;
    struct err err;
    enum err_code code = ERR_OK;
    if (call->request.body.len != 0)
        code = params_json(call->arena, call->request.body, params, &err);
    if (code == ERR_OK)
        code = params_check(params, &err);
    if (code == ERR_OK)
        code = check_rerank(call, &err);
    if (code != ERR_OK)
        return handler_fail(call, &err);
    struct asking *a = handler_own(call, sizeof *a);
    if (a == NULL)
        return STEP_DONE;
    a->use = use;
    a->query = question(call);
    a->query.marks = use->marks;
    return round_run(step);
}

void **asking_own(struct api_call *call)
{
    return &asking_of(call)->own;
}

void asking_add_usage(struct model_usage *sum, const struct model_usage *more)
{
    sum->calls += more->calls;
    sum->tokens_in += more->tokens_in;
    sum->tokens_out += more->tokens_out;
    sum->estimated = sum->estimated || more->estimated;
}
