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

static enum err_code run_stages(struct recall *r, const struct clock *clock, struct err *err)
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
    if (rc == ERR_OK && !r->nothing)
        rc = recall__choose(r, err);
    lap(r, clock, TIMING_SCORE, &since);
    if (rc == ERR_OK)
        rc = recall__load(r, err);
    lap(r, clock, TIMING_RECORDS, &since);
    if (rc == ERR_OK)
        rc = recall__context(r, err);
    if (rc == ERR_OK && r->query->explain)
        rc = recall__explain(r, err);
    lap(r, clock, TIMING_CONTEXT, &since);
    return rc;
}

enum err_code recall_run(const struct recall_base *base, const struct recall_query *query,
                         struct arena *arena, struct recall_reply *reply, struct err *err)
{
    const struct clock *clock = base->clock;
    struct store_txn *txn = base->txn;
    struct recall *r = ARENA_NEW(arena, struct recall);
    int64_t start = clock_mono_ns(clock);
    *reply = (struct recall_reply){.seq = 0};
    if (r == NULL)
        return recall__memory(err);
    r->txn = txn;
    r->space = base->space;
    r->settings = base->settings;
    r->query = query;
    r->arena = arena;
    r->reply = reply;
    r->lengths = lengths_new(txn, base->space, arena);
    r->columns = columns_new(txn, base->space, arena);
    if (r->lengths == NULL || r->columns == NULL)
        return recall__memory(err);
    enum err_code rc = store_stat(txn, base->space, &r->stat, err);
    if (rc == ERR_OK)
        rc = run_stages(r, clock, err);
    if (rc == ERR_OK)
        rc = lengths_error(r->lengths, err);
    if (rc == ERR_OK)
        rc = columns_error(r->columns, err);
    reply->seq = r->stat.v[STAT_SEQ];
    reply->processed_seq = r->stat.v[STAT_PROCESSED];
    reply->timing_ns[TIMING_TOTAL] = clock_mono_ns(clock) - start;
    return rc;
}
