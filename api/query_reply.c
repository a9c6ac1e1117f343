#include "api/query_reply.h"

#include "api/api_int.h"
#include "api/handler.h"
#include "api/handlers.h"
#include "api/nodes.h"
#include "api/query_text.h"
#include "core/graph/node_id.h"

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

void query_write_context(struct json_out *out, const struct recall_context *context)
{
    out_object(out, "context");
    out_str(out, "text", context->text);
    out_u64(out, "tokens", context->tokens);
    nodes_strs(out, "turn_ids", context->turn_ids, context->n_turn_ids);
    nodes_ids(out, "fact_ids", NODE_FACT, context->fact_ids, context->n_fact_ids);
    nodes_ids(out, "episode_ids", NODE_EPISODE, context->episode_ids, context->n_episode_ids);
    out_end(out);
}

bool query_has_timing(const struct recall_reply *r, enum recall_timing timing)
{
    switch (timing) {
    case TIMING_EMBED:
    case TIMING_RERANK: return r->timing_ns[timing] != 0;
    case TIMING_VECTORS: return r->dense;
    default: return true;
    }
}

static void write_timings(struct json_out *out, const struct recall_reply *r)
{
    static const char *const names[TIMINGS] = {
        [TIMING_EMBED] = "embed",     [TIMING_RERANK] = "rerank",   [TIMING_TERMS] = "terms",
        [TIMING_COLLECT] = "collect", [TIMING_VECTORS] = "vectors", [TIMING_SCORE] = "score",
        [TIMING_RECORDS] = "records", [TIMING_CONTEXT] = "context", [TIMING_TOTAL] = "total"};
    out_object(out, "timings_ms");
    for (unsigned i = 0; i < TIMINGS; i++)
        if (query_has_timing(r, (enum recall_timing)i))
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

void query_write_degraded(struct json_out *out, unsigned degraded)
{
    static const struct {
        unsigned bit;
        const char *name;
    } reasons[] = {{DEGRADED_BEHIND, "behind"},
                   {DEGRADED_EMBED, "embed"},
                   {DEGRADED_RERANK, "rerank"},
                   {DEGRADED_REINDEX, "reindex"}};
    out_array(out, "degraded");
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
        if ((degraded & reasons[i].bit) != 0)
            out_cstr(out, NULL, reasons[i].name);
    out_end(out);
}

static void write_json(struct api_call *call, const struct recall_reply *r, unsigned degraded)
{
    struct json_out out = reply_json(call);
    out_object(&out, NULL);
    out_str(&out, "space", visit_of(call)->space_name);
    out_str(&out, "query", param_at(call, QUERY_Q)->text);
    out_u64(&out, "seq", r->seq);
    out_u64(&out, "processed_seq", r->processed_seq);
    query_write_degraded(&out, degraded);
    write_topics(&out, r);
    write_episodes(&out, r);
    write_facts(&out, r);
    write_recent(&out, r);
    query_write_context(&out, &r->context);
    write_timings(&out, r);
    if (r->explain != NULL)
        write_explain(&out, r->explain);
    out_end(&out);
}

void query_write_reply(struct api_call *call, const struct recall_reply *r, unsigned degraded)
{
    if (param_at(call, QUERY_FORMAT)->number == FORMAT_JSON) {
        write_json(call, r, degraded);
        return;
    }
    uint64_t marker = 0;
    call->api->random(&marker, sizeof marker);
    query_text(reply_text(call, "text/plain; charset=utf-8"), r->context.text, marker);
}
