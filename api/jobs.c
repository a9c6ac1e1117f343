/* Jobs: those with a record (flushes) are listed; a POST's job is derived (core/ingest/job.h) and
 * found by its id. Retry puts a failed flush back; nothing built in fails, so today it says no. */
#include "api/handlers.h"

#include "api/handler.h"
#include "api/list.h"
#include "core/base/limits.h"
#include "core/ingest/job.h"

const struct param_row jobs_list_params[JOBS_LIST_PARAMS] = {LIST_ROWS};

static void write_job(struct json_out *out, const struct job *job)
{
    out_object(out, NULL);
    out_id(out, "id", "job", job->seq);
    out_cstr(out, "kind", job_kind_slug(job->kind));
    out_cstr(out, "state", job_state_slug(job->state));
    out_time(out, "created", job->created_ms);
    out_time(out, "updated", job->updated_ms);
    out_bool(out, "degraded", job->degraded);
    if (job->kind == JOB_FLUSH && job->state == JOB_COMPLETED) {
        out_object(out, "result");
        out_u64(out, "closed", job->closed);
        out_end(out);
    } else {
        out_null(out, "result");
    }
    if (job->error.len != 0)
        out_str(out, "error", job->error);
    out_end(out);
}

/* Keys are 64-bit here, so the pages of api/list.h, whose positions are node ids, do not fit. */
static enum err_code first_seq(struct api_call *call, uint64_t *from, struct err *err)
{
    const struct param *cursor = param_at(call, JOBS_CURSOR);
    struct str position;
    *from = 0;
    if (!cursor->given)
        return ERR_OK;
    enum err_code code = list_cursor_read(call->arena, cursor->text, 'j', &position, err);
    if (code == ERR_OK && position.len != 8)
        code = err_set_param(err, ERR_INVALID, "cursor", "this is no cursor of this list");
    if (code == ERR_OK)
        *from = be64_get(position.at) + 1;
    return code;
}

static enum err_code write_page(struct api_call *call, struct store_cursor *cursor, uint64_t from,
                                struct json_out *out, struct err *err)
{
    uint64_t limit = param_at(call, JOBS_LIMIT)->number, n = 0;
    struct store_item item;
    char key[8];
    be64_set(key, from);
    enum err_code code = store_cursor_seek(cursor, (struct str){key, sizeof key}, &item, err);
    while (code == ERR_OK && item.key.at != NULL && n < limit) {
        struct job job;
        if (item.key.len != sizeof key)
            return err_set(err, ERR_INTERNAL, "a damaged job key");
        memcpy(key, item.key.at, sizeof key);
        code = job_decode(item.value, be64_get(key), &job, err);
        if (code != ERR_OK)
            return code;
        write_job(out, &job);
        n++;
        code = store_cursor_next(cursor, &item, err);
    }
    out_end(out);
    if (code != ERR_OK || item.key.at == NULL)
        return code;
    struct str next = list_cursor_make(call->arena, 'j', (struct str){key, sizeof key});
    if (next.at == NULL)
        return err_set(err, ERR_EXHAUSTED, "no memory for the cursor");
    out_str(out, "next_cursor", next);
    return ERR_OK;
}

enum err_code jobs_list(struct api_call *call, struct store_txn *txn, struct err *err)
{
    struct store_cursor *cursor = NULL;
    uint64_t from;
    enum err_code code = first_seq(call, &from, err);
    if (code == ERR_OK)
        code = store_cursor_open(txn, visit_of(call)->space, KIND_JOB, &cursor, err);
    if (code != ERR_OK)
        return code;
    struct json_out out = reply_json(call);
    out_object(&out, NULL);
    out_array(&out, "jobs");
    code = write_page(call, cursor, from, &out, err);
    store_cursor_close(cursor);
    if (code == ERR_OK)
        out_end(&out);
    return code;
}

static enum err_code find_job(struct api_call *call, struct store_txn *txn, struct job *job,
                              struct err *err)
{
    uint64_t seq = 0;
    enum err_code code = handler_job_id(visit_of(call)->id, &seq, err);
    return code == ERR_OK ? job_get(txn, visit_of(call)->space, seq, job, err) : code;
}

enum err_code jobs_get(struct api_call *call, struct store_txn *txn, struct err *err)
{
    struct job job;
    enum err_code code = find_job(call, txn, &job, err);
    if (code != ERR_OK)
        return code;
    struct json_out out = reply_json(call);
    write_job(&out, &job);
    return ERR_OK;
}

/* --- retry --- */

struct retry {
    struct job job;
    struct batch *batch;
};

static step_fn retried;

/* The flush again, under its old seq, so that its id stays. */
static enum err_code build_retry(struct api_call *call, struct retry *retry, struct err *err)
{
    struct batch *batch = batch_new(call->arena, visit_of(call)->space, CAUSE_JOB);
    struct job *job = &retry->job;
    struct buf record;
    char seq[8], after[4];
    struct str key = {seq, sizeof seq};
    if (batch == NULL)
        return err_set(err, ERR_EXHAUSTED, "no memory for the job");
    be64_set(seq, job->seq);
    le32_set(after, job->after_n);
    job->state = JOB_PENDING;
    job->updated_ms = handler_now_ms(call);
    job->error = STR("");
    buf_init(&record, call->arena, 4096);
    job_encode(job, &record);
    batch_need_absent(batch, KIND_FLUSH, key);
    (void)batch_put(batch, KIND_JOB, key, buf_str(&record), 0);
    (void)batch_put(batch, KIND_FLUSH, key, (struct str){after, sizeof after}, 0);
    batch_add(batch, STAT_FLUSHES, 1);
    retry->batch = batch;
    return buf_ok(&record) && batch_ok(batch)
               ? ERR_OK
               : err_set(err, ERR_EXHAUSTED, "no memory for the job");
}

static enum err_code take_retry(struct api_call *call, struct store_txn *txn, struct retry *retry,
                                struct err *err)
{
    enum err_code code = find_job(call, txn, &retry->job, err);
    if (code != ERR_OK)
        return code;
    if (retry->job.state != JOB_FAILED || retry->job.kind != JOB_FLUSH)
        return err_set_param(err, ERR_CONFLICT, "job",
                             "the job is %s; only a failed one is retried",
                             job_state_slug(retry->job.state));
    return build_retry(call, retry, err);
}

enum step_verdict jobs_retry(struct step *step)
{
    struct api_call *call = call_of(step);
    struct retry *retry = handler_own(call, sizeof *retry);
    struct store_txn *txn = NULL;
    struct err err;
    if (retry == NULL)
        return STEP_DONE;
    enum err_code code = handler_open(call, &txn, &err);
    if (code == ERR_OK)
        code = take_retry(call, txn, retry, &err);
    store_end(txn);
    if (code != ERR_OK)
        return handler_fail(call, &err);
    return handler_commit(call, retry->batch, retried);
}

static enum step_verdict retried(struct step *step)
{
    struct api_call *call = call_of(step);
    const struct retry *retry = visit_of(call)->own;
    if (handler_again(call))
        return jobs_retry(step);
    if (step->outcome != ERR_OK)
        return handler_fail(call, &step->err);
    struct json_out out = reply_json(call);
    write_job(&out, &retry->job);
    handler_job_location(call, retry->job.seq);
    return handler_finish(call, 202);
}
