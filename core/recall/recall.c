#include "core/recall/recall_int.h"

struct recall_query recall_defaults(void)
{
    return (struct recall_query){
        .topics = 10, .episodes = 10, .facts = 30, .max_tokens = 2000, .windows = true};
}

/* Notes the time since `*since` under a stage and starts the next. */
static void lap(struct recall *r, const struct clock *clock, enum recall_timing stage,
                int64_t *since)
{
    int64_t now = clock_mono_ns(clock);
    r->reply->timing_ns[stage] += now - *since;
    *since = now;
}

/* Scores and ranks. */
static enum err_code run_lists(struct recall *r, const struct clock *clock, struct err *err)
{
    int64_t since = clock_mono_ns(clock), collected = since;
    enum err_code rc = recall__read_question(r, err);
    lap(r, clock, TIMING_TERMS, &since);
    if (rc == ERR_OK && !r->nothing)
        rc = recall__score(r, &collected, clock, err);
    if (collected > since) {
        r->reply->timing_ns[TIMING_COLLECT] = collected - since;
        since = collected;
    }
    lap(r, clock, TIMING_SCORE, &since);
    if (rc == ERR_OK && !r->nothing && r->generation != NULL) {
        rc = recall__dense_score(r, err);
        lap(r, clock, TIMING_VECTORS, &since);
    }
    if (rc == ERR_OK && !r->nothing)
        rc = recall__choose(r, err);
    lap(r, clock, TIMING_SCORE, &since);
    return rc;
}

/* Reads what is shown. */
static enum err_code run_records(struct recall *r, const struct clock *clock, struct err *err)
{
    int64_t since = clock_mono_ns(clock);
    enum err_code rc = recall__load(r, err);
    lap(r, clock, TIMING_RECORDS, &since);
    if (rc == ERR_OK)
        rc = recall__context(r, err);
    if (rc == ERR_OK && r->query->explain)
        rc = recall__explain(r, err);
    lap(r, clock, TIMING_CONTEXT, &since);
    return rc;
}

static enum err_code begin(const struct recall_base *base, const struct recall_query *query,
                           struct arena *arena, struct recall **out, struct err *err)
{
    struct recall *r = ARENA_NEW(arena, struct recall);
    *out = r;
    if (r == NULL)
        return recall__memory(err);
    r->txn = base->txn;
    r->space = base->space;
    r->settings = base->settings;
    r->tokenizers = base->tokenizers;
    r->query = query;
    r->arena = arena;
    r->lengths = lengths_new(r->txn, r->space, arena);
    r->columns = columns_new(r->txn, r->space, arena);
    if (r->lengths == NULL || r->columns == NULL)
        return recall__memory(err);
    return store_stat(r->txn, r->space, &r->stat, err);
}

static enum err_code read_errors(const struct recall *r, struct err *err)
{
    enum err_code rc = lengths_error(r->lengths, err);
    return rc == ERR_OK ? columns_error(r->columns, err) : rc;
}

enum err_code recall_run(const struct recall_base *base, const struct recall_query *query,
                         struct arena *arena, struct recall_reply *reply, struct err *err)
{
    const struct clock *clock = base->clock;
    struct recall *r = NULL;
    int64_t start = clock_mono_ns(clock);
    *reply = (struct recall_reply){.seq = 0};
    enum err_code rc = begin(base, query, arena, &r, err);
    if (rc != ERR_OK)
        return rc;
    r->reply = reply;
    rc = recall__dense_open(r, err);
    if (rc == ERR_OK)
        rc = run_lists(r, clock, err);
    if (rc == ERR_OK)
        rc = run_records(r, clock, err);
    if (rc == ERR_OK)
        rc = read_errors(r, err);
    reply->seq = r->stat.v[STAT_SEQ];
    reply->processed_seq = r->stat.v[STAT_PROCESSED];
    reply->timing_ns[TIMING_TOTAL] = clock_mono_ns(clock) - start;
    return rc;
}

enum err_code recall_pool(const struct recall_base *base, const struct recall_query *query,
                          struct arena *arena, const struct recall_pools *out, struct err *err)
{
    struct recall *r = NULL;
    struct recall_reply reply = {.seq = 0};
    enum err_code rc = begin(base, query, arena, &r, err);
    if (rc != ERR_OK)
        return rc;
    r->reply = &reply;
    rc = recall__dense_open(r, err);
    if (rc == ERR_OK)
        rc = run_lists(r, base->clock, err);
    if (rc == ERR_OK)
        rc = recall__pool(r, out->most, out->keep, out->pool, err);
    return rc == ERR_OK ? read_errors(r, err) : rc;
}
