/* GET and POST query: parameters, the wait for min_seq, one snapshot, the reply (DESIGN 7, 10).
 *
 *   query_any -- behind min_seq, wait_ms --> WAIT --> query_run again --> recall_run() --> reply
 *
 * Without min_seq it is one step and one read transaction. */
#include "api/handlers.h"

#include "api/api_int.h"
#include "api/handler.h"
#include "api/nodes.h"
#include "api/params_json.h"
#include "api/query_text.h"
#include "core/base/limits.h"
#include "core/base/tz.h"
#include "core/graph/node_id.h"
#include "core/recall/recall.h"

static const char *const gates[] = {
    [GATE_SOFT] = "soft", [GATE_STRICT] = "strict", [GATE_STRICT + 1] = NULL};
static const char *const fusions[] = {
    [FUSION_SCORE] = "score", [FUSION_MAX] = "max", [FUSION_RRF] = "rrf", [FUSION_RRF + 1] = NULL};
static const char *const summaries[] = {[SUMMARIES_AUTO] = "auto",
                                        [SUMMARIES_ON] = "on",
                                        [SUMMARIES_OFF] = "off",
                                        [SUMMARIES_OFF + 1] = NULL};
static const char *const reranks[] = {"off", NULL};
enum { FORMAT_JSON, FORMAT_TEXT };
static const char *const formats[] = {
    [FORMAT_JSON] = "json", [FORMAT_TEXT] = "text", [FORMAT_TEXT + 1] = NULL};

const struct param_row query_params[QUERY_PARAMS] = {
    [QUERY_Q] = {.name = "q",
                 .type = PARAM_TEXT,
                 .flags = PARAM_REQUIRED | PARAM_NOT_BLANK,
                 .max = LIMIT_QUERY_BYTES,
                 .doc = "the question"},
    [QUERY_TOPICS] = {.name = "topics",
                      .type = PARAM_UINT,
                      .max = LIMIT_TOPICS,
                      .fallback = 10,
                      .doc = "topics in the reply; 0 skips the stage"},
    [QUERY_EPISODES] = {.name = "episodes",
                        .type = PARAM_UINT,
                        .max = LIMIT_EPISODES,
                        .fallback = 10,
                        .doc = "episodes in the reply; 0 skips the stage"},
    [QUERY_FACTS] = {.name = "facts",
                     .type = PARAM_UINT,
                     .max = LIMIT_FACTS,
                     .fallback = 30,
                     .doc = "facts in the reply"},
    [QUERY_MAX_TOKENS] = {.name = "max_tokens",
                          .type = PARAM_UINT,
                          .max = LIMIT_MAX_TOKENS,
                          .fallback = 2000,
                          .doc = "of context.text, 4 characters each"},
    [QUERY_MIN_SEQ] = {.name = "min_seq",
                       .type = PARAM_UINT,
                       .max = INT64_MAX,
                       .doc = "wait until everything up to this seq is processed"},
    [QUERY_WAIT_MS] = {.name = "wait_ms",
                       .type = PARAM_UINT,
                       .max = LIMIT_WAIT_MS,
                       .fallback = 5000,
                       .doc = "how long min_seq may wait"},
    [QUERY_AS_OF] = {.name = "as_of", .type = PARAM_TIME, .doc = "what was valid then"},
    [QUERY_KNOWN_AT] = {.name = "known_at",
                        .type = PARAM_TIME,
                        .flags = PARAM_UNBUILT,
                        .doc = "what was known then"},
    [QUERY_NOW] = {.name = "now", .type = PARAM_TIME, .doc = "what \"yesterday\" refers to"},
    [QUERY_SINCE] = {.name = "since", .type = PARAM_TIME, .doc = "event time, inclusive"},
    [QUERY_UNTIL] = {.name = "until", .type = PARAM_TIME, .doc = "event time, inclusive"},
    [QUERY_SESSION] = {.name = "session",
                       .type = PARAM_TEXT,
                       .max = LIMIT_SESSION_BYTES,
                       .doc = "of this session only"},
    [QUERY_SPEAKER] = {.name = "speaker",
                       .type = PARAM_TEXT,
                       .max = LIMIT_SPEAKER_BYTES,
                       .doc = "said by this speaker only"},
    [QUERY_GATE] = {.name = "gate",
                    .type = PARAM_CHOICE,
                    .fallback = GATE_SOFT,
                    .choices = gates,
                    .doc = "strict: members of the level above only"},
    [QUERY_FUSION] = {.name = "fusion",
                      .type = PARAM_CHOICE,
                      .fallback = FUSION_SCORE,
                      .choices = fusions,
                      .doc = "how signals are joined"},
    [QUERY_RERANK] = {.name = "rerank",
                      .type = PARAM_CHOICE,
                      .flags = PARAM_UNBUILT,
                      .choices = reranks,
                      .doc = "a rerank model's order"},
    [QUERY_SUMMARIES] = {.name = "summaries",
                         .type = PARAM_CHOICE,
                         .fallback = SUMMARIES_AUTO,
                         .choices = summaries,
                         .doc = "episode summaries in the context"},
    [QUERY_WINDOWS] = {.name = "windows",
                       .type = PARAM_FLAG,
                       .fallback = 1,
                       .doc = "neighbouring turns count"},
    [QUERY_EXPLAIN] = {.name = "explain",
                       .type = PARAM_FLAG,
                       .doc = "show candidates, signals and what cut them"},
    [QUERY_FORMAT] = {.name = "format",
                      .type = PARAM_CHOICE,
                      .fallback = FORMAT_JSON,
                      .choices = formats,
                      .doc = "text: the context alone, fenced"},
};

/* --- the question --- */

static struct recall_query question(const struct api_call *call, const struct space *settings)
{
    const struct param *now = param_at(call, QUERY_NOW), *as_of = param_at(call, QUERY_AS_OF);
    const struct param *since = param_at(call, QUERY_SINCE), *until = param_at(call, QUERY_UNTIL);
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
    q.explain = param_at(call, QUERY_EXPLAIN)->number != 0;
    q.has_since = since->given;
    q.since_ms = since->time_ms;
    q.has_until = until->given;
    q.until_ms = until->time_ms;
    q.has_as_of = as_of->given;
    q.as_of_ms = as_of->time_ms;
    q.now_ms = now->given ? now->time_ms : handler_now_ms(call);
    q.now_offset_min = now->given ? now->offset_min : tz_offset_min(settings->timezone, q.now_ms);
    q.session = param_at(call, QUERY_SESSION)->text;
    q.speaker = param_at(call, QUERY_SPEAKER)->text;
    return q;
}

/* --- the reply --- */

static void write_topics(struct json_out *out, const struct recall_reply *r)
{
    out_array(out, "topics");
    for (uint32_t i = 0; i < r->n_topics; i++) {
        const struct recall_topic *t = &r->topics[i];
        nodes_topic(out, &t->topic, &t->score, t->summary_hidden);
        nodes_ids(out, "episode_ids", NODE_EPISODE, t->episodes, t->n_episodes);
        out_end(out);
    }
    out_end(out);
}

static void write_episodes(struct json_out *out, const struct recall_reply *r)
{
    out_array(out, "episodes");
    for (uint32_t i = 0; i < r->n_episodes; i++) {
        const struct recall_episode *e = &r->episodes[i];
        nodes_episode(out, &e->episode, &e->score, e->summary_hidden);
        nodes_strs(out, "turn_ids", e->turn_ids, e->n_turn_ids);
        out_end(out);
    }
    out_end(out);
}

static void write_facts(struct json_out *out, const struct recall_reply *r)
{
    out_array(out, "facts");
    for (uint32_t i = 0; i < r->n_facts; i++) {
        nodes_fact(out, &r->facts[i].fact, &r->facts[i].score, r->facts[i].turn_ids);
        out_end(out);
    }
    out_end(out);
}

static void write_recent(struct json_out *out, const struct recall_reply *r)
{
    out_array(out, "recent");
    for (uint32_t i = 0; i < r->n_recent; i++) {
        const struct recall_recent *recent = &r->recent[i];
        out_object(out, NULL);
        out_str(out, "id", recent->id);
        out_str(out, "speaker", turn_speaker(&recent->turn));
        out_str(out, "text", recent->text);
        out_time(out, "timestamp", recent->turn.time_ms);
        out_real(out, "score", (double)recent->score, 6);
        out_end(out);
    }
    out_end(out);
}

static void write_context(struct json_out *out, const struct recall_context *context)
{
    out_object(out, "context");
    out_str(out, "text", context->text);
    out_u64(out, "tokens", context->tokens);
    nodes_strs(out, "turn_ids", context->turn_ids, context->n_turn_ids);
    nodes_ids(out, "fact_ids", NODE_FACT, context->fact_ids, context->n_fact_ids);
    nodes_ids(out, "episode_ids", NODE_EPISODE, context->episode_ids, context->n_episode_ids);
    out_end(out);
}

static void write_timings(struct json_out *out, const struct recall_reply *r)
{
    static const char *const names[TIMINGS] = {
        [TIMING_TERMS] = "terms",     [TIMING_COLLECT] = "collect", [TIMING_SCORE] = "score",
        [TIMING_RECORDS] = "records", [TIMING_CONTEXT] = "context", [TIMING_TOTAL] = "total"};
    out_object(out, "timings_ms");
    for (unsigned i = 0; i < TIMINGS; i++)
        out_real(out, names[i], (double)r->timing_ns[i] / 1e6, 3);
    out_end(out);
}

static void write_candidate(struct json_out *out, const char *prefix,
                            const struct recall_candidate *c)
{
    out_object(out, NULL);
    out_id(out, "id", prefix, c->id);
    out_real(out, "score", (double)c->score, 6);
    out_real(out, "factor", (double)c->factor, 4);
    out_object(out, "signals");
    for (unsigned s = 0; s < SIGNALS; s++) {
        if (c->rank[s] == 0)
            continue;
        out_object(out, recall_signal_name((enum recall_signal)s));
        out_real(out, "score", (double)c->signal[s], 6);
        out_u64(out, "rank", c->rank[s]);
        out_end(out);
    }
    out_end(out);
    if (c->cut != NULL)
        out_cstr(out, "cut", c->cut);
    else
        out_null(out, "cut");
    out_end(out);
}

static void write_explain(struct json_out *out, const struct recall_explain *explain)
{
    static const char *const stages[RECALL_STAGES][2] = {
        [STAGE_TOPICS] = {"topics", NODE_TOPIC},
        [STAGE_EPISODES] = {"episodes", NODE_EPISODE},
        [STAGE_FACTS] = {"facts", NODE_FACT},
        [STAGE_RECENT] = {"recent", NODE_TURN}};
    out_object(out, "explain");
    nodes_strs(out, "terms", explain->terms, explain->n_terms);
    nodes_strs(out, "ignored", explain->ignored, explain->n_ignored);
    out_object(out, "stages");
    for (unsigned s = 0; s < RECALL_STAGES; s++) {
        out_array(out, stages[s][0]);
        for (uint32_t i = 0; i < explain->n[s]; i++)
            write_candidate(out, stages[s][1], &explain->stage[s][i]);
        out_end(out);
    }
    out_end(out);
    out_end(out);
}

static void write_json(struct api_call *call, const struct recall_reply *r, bool behind)
{
    struct json_out out = reply_json(call);
    out_object(&out, NULL);
    out_str(&out, "space", visit_of(call)->space_name);
    out_str(&out, "query", param_at(call, QUERY_Q)->text);
    out_u64(&out, "seq", r->seq);
    out_u64(&out, "processed_seq", r->processed_seq);
    out_array(&out, "degraded");
    if (behind)
        out_cstr(&out, NULL, "behind");
    out_end(&out);
    write_topics(&out, r);
    write_episodes(&out, r);
    write_facts(&out, r);
    write_recent(&out, r);
    write_context(&out, &r->context);
    write_timings(&out, r);
    if (r->explain != NULL)
        write_explain(&out, r->explain);
    out_end(&out);
}

static void write_reply(struct api_call *call, const struct recall_reply *r, bool behind)
{
    if (param_at(call, QUERY_FORMAT)->number == FORMAT_JSON) {
        write_json(call, r, behind);
        return;
    }
    uint64_t marker = 0;
    call->api->random(&marker, sizeof marker);
    query_text(reply_text(call, "text/plain; charset=utf-8"), r->context.text, marker);
}

static void count_query(struct api_call *call, const struct recall_reply *r, bool behind)
{
    static const uint8_t series[TIMINGS] = {
        [TIMING_TERMS] = METRIC_H_QUERY_TERMS,     [TIMING_COLLECT] = METRIC_H_QUERY_COLLECT,
        [TIMING_SCORE] = METRIC_H_QUERY_SCORE,     [TIMING_RECORDS] = METRIC_H_QUERY_RECORDS,
        [TIMING_CONTEXT] = METRIC_H_QUERY_CONTEXT, [TIMING_TOTAL] = METRIC_H_QUERY_TOTAL};
    struct metrics *metrics = handler_services(call)->metrics;
    metrics_add(metrics, METRIC_QUERIES, 1);
    metrics_add(metrics, METRIC_QUERY_DEGRADED, behind);
    for (unsigned i = 0; i < TIMINGS; i++)
        metrics_observe(metrics, (enum metric_histogram)series[i], r->timing_ns[i]);
}

/* --- steps --- */

static step_fn query_run;

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

static enum err_code recall(struct api_call *call, struct store_txn *txn, bool behind,
                            struct err *err)
{
    struct space settings;
    struct recall_reply reply = {.seq = 0};
    enum err_code code = space_get(txn, visit_of(call)->space, &settings, err);
    if (code != ERR_OK)
        return code;
    struct recall_query query = question(call, &settings);
    struct recall_base base = {
        .txn = txn,
        .space = visit_of(call)->space,
        .settings = &settings,
        .clock = handler_services(call)->clock,
    };
    code = recall_run(&base, &query, call->arena, &reply, err);
    if (code != ERR_OK)
        return code;
    count_query(call, &reply, behind);
    write_reply(call, &reply, behind);
    return ERR_OK;
}

enum step_verdict query_any(struct step *step)
{
    struct api_call *call = call_of(step);
    struct param_set *params = &visit_of(call)->params;
    struct err err;
    enum err_code code = ERR_OK;
    if (call->request.body.len != 0)
        code = params_json(call->arena, call->request.body, params, &err);
    if (code == ERR_OK)
        code = params_check(params, &err);
    return code == ERR_OK ? query_run(step) : handler_fail(call, &err);
}

static enum step_verdict query_run(struct step *step)
{
    struct api_call *call = call_of(step);
    struct store_txn *txn = NULL;
    struct err err;
    bool behind = false, wait = false;
    enum err_code code = handler_open(call, &txn, &err);
    if (code == ERR_OK)
        code = check_seq(call, txn, &behind, &err);
    /* Having waited once is enough, whatever came of it. */
    wait = behind && !call->waiting && param_at(call, QUERY_WAIT_MS)->number != 0;
    if (code == ERR_OK && !wait)
        code = recall(call, txn, behind, &err);
    store_end(txn);
    if (code == ERR_OK && wait)
        code = handler_wait_begin(call, &err);
    if (code != ERR_OK)
        return handler_fail(call, &err);
    if (!wait)
        return handler_finish(call, 200);
    return handler_wait(call, param_at(call, QUERY_MIN_SEQ)->number,
                        handler_deadline_ms(call, param_at(call, QUERY_WAIT_MS)->number),
                        query_run);
}
