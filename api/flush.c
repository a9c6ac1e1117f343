/* POST flush: a durable job, ordered after the turns accepted before it (core/ingest/job.h).
 *
 *   200 {closed, pending_turns, seq, job}   it was waited for and is done
 *   202 the same with closed 0              not waited for, or not done within timeout_ms
 *
 * processed_seq speaks of turns: it may reach the flush's seq while one of several episodes is
 * still to be closed. So the record decides, and flush_reply() waits for the next batch until it
 * says so.
 *
 * The idempotency row needs no payload: the seq in it names the job. */
#include "api/handlers.h"

#include "api/handler.h"
#include "api/params_json.h"
#include "core/base/limits.h"
#include "core/ingest/job.h"

enum { FLUSH_SESSION, FLUSH_BODY };
static const struct param_row body_rows[FLUSH_BODY] = {
    {.name = "session",
     .type = PARAM_TEXT,
     .max = LIMIT_SESSION_BYTES,
     .doc = "close this session only; empty: turns without one"},
};

struct flush {
    struct param_set body;
    struct batch *batch;
    uint64_t seq;
    int64_t until_ms; /* monotonic: when waiting ends */
};

static step_fn flush_build_step, flush_committed, flush_reply;

enum step_verdict flush_post(struct step *step)
{
    struct api_call *call = call_of(step);
    struct flush *flush = handler_own(call, sizeof *flush);
    struct err err;
    if (flush == NULL)
        return STEP_DONE;
    enum err_code code = params_init(call->arena, body_rows, FLUSH_BODY, &flush->body, &err);
    if (code == ERR_OK && call->request.body.len != 0)
        code = params_json(call->arena, call->request.body, &flush->body, &err);
    if (code == ERR_OK && param_at(call, TURNS_WAIT)->number != 0)
        code = handler_wait_begin(call, &err);
    if (code != ERR_OK)
        return handler_fail(call, &err);
    return flush_build_step(step);
}

static enum err_code build(struct api_call *call, struct store_txn *txn, struct flush *flush,
                           struct err *err)
{
    const struct visit *visit = visit_of(call);
    int64_t now = handler_now_ms(call);
    struct str payload;
    flush->batch = NULL;
    enum err_code code = idempotency_find(call, txn, visit->space, &flush->seq, &payload, err);
    if (code != ERR_OK)
        return code;
    if (payload.at != NULL) {
        metrics_add(handler_services(call)->metrics, METRIC_IDEMPOTENT_REPLAYS, 1);
        reply_header(call, "Idempotent-Replayed", STR("true"));
        return ERR_OK;
    }
    code = flush_build(txn, visit->space, flush->body.values[FLUSH_SESSION].text, now, call->arena,
                       &flush->batch, err);
    if (code == ERR_OK && visit->once.wanted) {
        (void)idempotency_put(call, flush->batch, 0, STR(""), now);
        if (!batch_ok(flush->batch))
            code = err_set(err, ERR_EXHAUSTED, "no memory for the idempotency key");
    }
    return code;
}

static enum step_verdict settle(struct api_call *call, struct flush *flush)
{
    if (param_at(call, TURNS_WAIT)->number == 0)
        return flush_reply(&call->step);
    flush->until_ms = handler_deadline_ms(call, param_at(call, TURNS_TIMEOUT_MS)->number);
    return handler_wait(call, flush->seq, flush->until_ms, flush_reply);
}

static enum step_verdict flush_build_step(struct step *step)
{
    struct api_call *call = call_of(step);
    struct flush *flush = visit_of(call)->own;
    struct store_txn *txn = NULL;
    struct err err;
    enum err_code code = handler_open(call, &txn, &err);
    if (code == ERR_OK)
        code = build(call, txn, flush, &err);
    store_end(txn);
    if (code != ERR_OK)
        return handler_fail(call, &err);
    return flush->batch != NULL ? handler_commit(call, flush->batch, flush_committed)
                                : settle(call, flush);
}

static enum step_verdict flush_committed(struct step *step)
{
    struct api_call *call = call_of(step);
    struct flush *flush = visit_of(call)->own;
    if (handler_again(call))
        return flush_build_step(step);
    if (step->outcome != ERR_OK)
        return handler_fail(call, &step->err);
    flush->seq = flush->batch->seq;
    return settle(call, flush);
}

static enum err_code write_reply(struct api_call *call, struct store_txn *txn,
                                 const struct flush *flush, bool *done, uint64_t *seq,
                                 struct err *err)
{
    struct space_stat stat;
    struct job job;
    enum err_code code = store_stat(txn, visit_of(call)->space, &stat, err);
    if (code == ERR_OK)
        code = job_get(txn, visit_of(call)->space, flush->seq, &job, err);
    if (code != ERR_OK)
        return code;
    *done = job.state == JOB_COMPLETED;
    *seq = stat.v[STAT_SEQ];
    struct json_out out = reply_json(call);
    out_object(&out, NULL);
    out_u64(&out, "closed", *done ? job.closed : 0);
    out_u64(&out, "pending_turns", stat.v[STAT_PENDING] + stat.v[STAT_UNFINISHED]);
    out_u64(&out, "seq", flush->seq);
    out_id(&out, "job", "job", flush->seq);
    out_end(&out);
    return ERR_OK;
}

static enum step_verdict flush_reply(struct step *step)
{
    struct api_call *call = call_of(step);
    const struct flush *flush = visit_of(call)->own;
    bool waits = param_at(call, TURNS_WAIT)->number != 0;
    struct store_txn *txn = NULL;
    struct err err;
    bool done = false;
    uint64_t seq = 0;
    enum err_code code = store_begin(handler_services(call)->store, &txn, &err);
    if (code == ERR_OK)
        code = write_reply(call, txn, flush, &done, &seq, &err);
    store_end(txn);
    if (code != ERR_OK)
        return handler_fail(call, &err);
    if (waits && !done && !step->timed_out)
        return handler_wait(call, seq + 1, flush->until_ms, flush_reply);
    handler_job_location(call, flush->seq);
    return handler_finish(call, waits && done ? 200 : 202);
}
