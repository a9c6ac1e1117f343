/* Jobs: those with a record (flushes, episodes that models work on, dead letters) are listed; a
 * POST's job is derived (core/ingest/job.h) and found by its id. What changes an episode's job
 * runs in the space's lane (core/ingest/work_admin.h). */
#include "api/handlers.h"

#include "api/handler.h"
#include "api/list.h"
#include "core/base/limits.h"
#include "core/ingest/job.h"
#include "core/ingest/work.h"
#include "core/ingest/work_admin.h"
#include "core/model/models.h"

static const char *const states[] = {"pending", "running",   "waiting", "completed",
                                     "failed",  "cancelled", NULL};

const struct param_row jobs_list_params[JOBS_LIST_PARAMS] = {
    LIST_ROWS,
    [JOBS_STATE] = {.name = "state",
                    .type = PARAM_CHOICE,
                    .choices = states,
                    .doc = "only these; failed: the dead letters"},
};

/* What a model was asked for the episode, and how that went. */
static void write_episode_work(struct json_out *out, const struct job *job)
{
    out_id(out, "episode", "episode", job->episode);
    if (job->stage != JOB_STAGE_NONE)
        out_cstr(out, "stage", job_stage_slug(job->stage));
    else
        out_null(out, "stage");
    out_u64(out, "attempts", job->attempts);
    if (job->due_ms != 0)
        out_time(out, "next_attempt", job->due_ms);
    else
        out_null(out, "next_attempt");
    out_object(out, "usage");
    out_u64(out, "calls", job->calls);
    out_u64(out, "tokens_in", job->tokens_in);
    out_u64(out, "tokens_out", job->tokens_out);
    out_end(out);
}

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
    if (job->kind == JOB_EPISODE)
        write_episode_work(out, job);
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
    const struct param *state = param_at(call, JOBS_STATE);
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
        if (!state->given || job.state == state->number) {
            write_job(out, &job);
            n++;
        }
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

/* --- retry, cancel --- */

/* A change of one job: a flush's by itself, an episode's in the lane. */
typedef enum err_code change_fn(const struct stage_base *base, uint64_t seq, struct batch **batch,
                                struct job *job, struct err *err);

struct change {
    struct job job;
    change_fn *of_episode;
    struct batch *batch;
};

static step_fn change_flush, change_in_lane, changed;

/* The flush again, under its old seq, so that its id stays. */
static enum err_code build_flush(struct api_call *call, struct change *change, struct err *err)
{
    struct batch *batch = batch_new(call->arena, visit_of(call)->space, CAUSE_JOB);
    struct job *job = &change->job;
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
    buf_init(&record, call->arena, JOB_ROW_MAX);
    job_encode(job, &record);
    batch_need_absent(batch, KIND_FLUSH, key);
    (void)batch_put(batch, KIND_JOB, key, buf_str(&record), 0);
    (void)batch_put(batch, KIND_FLUSH, key, (struct str){after, sizeof after}, 0);
    batch_add(batch, STAT_FLUSHES, 1);
    change->batch = batch;
    return buf_ok(&record) && batch_ok(batch)
               ? ERR_OK
               : err_set(err, ERR_EXHAUSTED, "no memory for the job");
}

static enum err_code take_flush(struct api_call *call, struct store_txn *txn, struct change *change,
                                struct err *err)
{
    enum err_code code = find_job(call, txn, &change->job, err);
    if (code != ERR_OK)
        return code;
    if (change->of_episode == work_cancel)
        return err_set_param(err, ERR_CONFLICT, "job", "a %s job can't be cancelled",
                             job_kind_slug(change->job.kind));
    if (change->job.state != JOB_FAILED || change->job.kind != JOB_FLUSH)
        return err_set_param(err, ERR_CONFLICT, "job",
                             "the job is %s; only a failed one is retried",
                             job_state_slug(change->job.state));
    return build_flush(call, change, err);
}

static enum step_verdict change_flush(struct step *step)
{
    struct api_call *call = call_of(step);
    struct change *change = visit_of(call)->own;
    struct store_txn *txn = NULL;
    struct err err;
    enum err_code code = handler_open(call, &txn, &err);
    if (code == ERR_OK)
        code = take_flush(call, txn, change, &err);
    store_end(txn);
    return code == ERR_OK ? handler_commit(call, change->batch, changed) : handler_fail(call, &err);
}

static enum step_verdict change_in_lane(struct step *step)
{
    struct api_call *call = call_of(step);
    struct change *change = visit_of(call)->own;
    struct store_txn *txn = NULL;
    uint64_t seq = change->job.seq;
    struct err err;
    enum err_code code = handler_open(call, &txn, &err);
    const struct stage_base base = {txn, visit_of(call)->space, handler_services(call),
                                    call->arena};
    if (code == ERR_OK)
        code = change->of_episode(&base, seq, &change->batch, &change->job, &err);
    if (code == ERR_OK && !job_keep(&change->job, call->arena))
        code = err_set(&err, ERR_EXHAUSTED, "no memory for the job");
    store_end(txn);
    return code == ERR_OK ? handler_commit(call, change->batch, changed) : handler_fail(call, &err);
}

static enum step_verdict change_job(struct step *step, change_fn *of_episode)
{
    struct api_call *call = call_of(step);
    struct change *change = handler_own(call, sizeof *change);
    struct store_txn *txn = NULL;
    struct err err;
    if (change == NULL)
        return STEP_DONE;
    change->of_episode = of_episode;
    enum err_code code = handler_open(call, &txn, &err);
    if (code == ERR_OK)
        code = find_job(call, txn, &change->job, &err);
    bool in_lane = code == ERR_OK && change->job.kind == JOB_EPISODE;
    store_end(txn);
    if (code != ERR_OK)
        return handler_fail(call, &err);
    if (!in_lane)
        return change_flush(step);
    step->lane_space = visit_of(call)->space;
    step->run = change_in_lane;
    return STEP_LANE;
}

enum step_verdict jobs_retry(struct step *step)
{
    return change_job(step, work_retry);
}

enum step_verdict jobs_cancel(struct step *step)
{
    return change_job(step, work_cancel);
}

static enum step_verdict changed(struct step *step)
{
    struct api_call *call = call_of(step);
    const struct change *change = visit_of(call)->own;
    bool of_episode = change->job.kind == JOB_EPISODE;
    if (handler_again(call))
        return of_episode ? change_in_lane(step) : change_flush(step);
    if (step->outcome != ERR_OK)
        return handler_fail(call, &step->err);
    if (of_episode && change->of_episode == work_cancel)
        works_cancel(handler_services(call)->works, visit_of(call)->space, change->job.seq);
    struct json_out out = reply_json(call);
    write_job(&out, &change->job);
    handler_job_location(call, change->job.seq);
    return handler_finish(call, 202);
}

/* --- redo --- */

enum { REDO_UNBUILT, REDO_ALL };
static const char *const redos[] = {
    [REDO_UNBUILT] = "untold", [REDO_ALL] = "all", [REDO_ALL + 1] = NULL};

const struct param_row redo_params[REDO_PARAMS] = {
    [REDO_EPISODES] = {.name = "episodes",
                       .type = PARAM_CHOICE,
                       .fallback = REDO_UNBUILT,
                       .choices = redos,
                       .doc = "untold: those that no model told, or only in part; all"},
};

struct redo {
    struct work_redo which;
    uint32_t episode;
    uint64_t jobs;
    struct batch *batch;
};

static step_fn redo_in_lane, redone;

/* One batch an episode: its job is named by the batch's seq. */
enum step_verdict spaces_redo(struct step *step)
{
    struct api_call *call = call_of(step);
    struct redo *redo = handler_own(call, sizeof *redo);
    struct store_txn *txn = NULL;
    struct err err;
    if (redo == NULL)
        return STEP_DONE;
    const struct models *models = handler_services(call)->models;
    if (models == NULL || !models_has_stages(models)) {
        api_refuse(call, ERR_UNIMPLEMENTED, NULL, "no chat model is configured");
        return STEP_DONE;
    }
    redo->which.all = param_at(call, REDO_EPISODES)->number == REDO_ALL;
    if (handler_open(call, &txn, &err) != ERR_OK)
        return handler_fail(call, &err);
    store_end(txn);
    step->lane_space = visit_of(call)->space;
    step->run = redo_in_lane;
    return STEP_LANE;
}

static enum step_verdict redo_in_lane(struct step *step)
{
    struct api_call *call = call_of(step);
    struct redo *redo = visit_of(call)->own;
    struct store_txn *txn = NULL;
    struct err err;
    enum err_code code = handler_open(call, &txn, &err);
    const struct stage_base base = {txn, visit_of(call)->space, handler_services(call),
                                    call->arena};
    if (code == ERR_OK)
        code = work_redo(&base, &redo->which, &redo->episode, &redo->batch, &err);
    store_end(txn);
    if (code != ERR_OK)
        return handler_fail(call, &err);
    if (redo->batch != NULL)
        return handler_commit(call, redo->batch, redone);
    struct json_out out = reply_json(call);
    out_object(&out, NULL);
    out_u64(&out, "jobs", redo->jobs);
    out_end(&out);
    return handler_finish(call, 202);
}

static enum step_verdict redone(struct step *step)
{
    struct api_call *call = call_of(step);
    struct redo *redo = visit_of(call)->own;
    if (handler_again(call))
        return redo_in_lane(step);
    if (step->outcome != ERR_OK)
        return handler_fail(call, &step->err);
    visit_of(call)->tries = 0;
    /* The lane is held, so that all jobs from here on are made here, for episodes behind us. */
    if (redo->jobs == 0)
        redo->which.made_after = redo->batch->seq;
    redo->jobs++;
    redo->which.after = redo->episode;
    return redo_in_lane(step);
}
