#include "core/ingest/work_admin.h"

#include "core/graph/episode.h"
#include "core/ingest/draft.h"
#include "core/ingest/work.h"

struct admin {
    uint64_t seq;
    struct job *job;
};

static enum err_code find_job(struct stage_work *w, const struct admin *x, struct err *err)
{
    enum err_code rc = job_get(w->txn, w->space, x->seq, x->job, err);
    if (rc != ERR_OK)
        return rc;
    if (x->job->kind != JOB_EPISODE)
        return err_set_param(err, ERR_CONFLICT, "job", "a %s job has no model to wait for",
                             job_kind_slug(x->job->kind));
    return ERR_OK;
}

static enum err_code put_work(struct stage_work *w, const struct work_row *row, struct err *err)
{
    work_put(w->batch, row);
    w->changed = true;
    return stage__outlook(w, &row, 1, err);
}

/* --- retry --- */

/* An episode whose facts are committed holds nothing back. */
static enum err_code first_seq_of(struct stage_work *w, uint32_t id, uint64_t *seq, struct err *err)
{
    struct episode episode;
    struct turn_row row;
    struct turn turn = {.n = 0};
    *seq = UINT64_MAX;
    enum err_code rc = episode_get(w->txn, w->space, id, &episode, err);
    if (rc == ERR_OK && episode.id == 0)
        rc = err_set(err, ERR_NOT_FOUND, "there is no episode_%u any more", id);
    if (rc == ERR_OK)
        rc = turn_get(w->txn, w->space, episode.first_n, &turn, err);
    if (rc != ERR_OK || turn.n == 0)
        return rc;
    columns_turn(w->columns, turn.doc, &row);
    if ((row.flags & TURN_ROW_DONE) == 0)
        *seq = turn.seq;
    return columns_error(w->columns, err);
}

/* It was to go JOB_KEEP_MS after its end. */
static enum err_code keep_record(struct stage_work *w, const struct job *job, struct err *err)
{
    struct buf key;
    buf_init(&key, w->arena, 32);
    char number[8];
    be64_set(number, (uint64_t)(job->updated_ms + JOB_KEEP_MS));
    buf_put(&key, number, sizeof number);
    buf_u8(&key, (uint8_t)KIND_JOB);
    be64_set(number, job->seq);
    buf_put(&key, number, sizeof number);
    if (!buf_ok(&key))
        return stage__memory(err);
    (void)batch_del(w->batch, KIND_EXPIRY, buf_str(&key), 0);
    return ERR_OK;
}

static enum err_code retry(struct stage_work *w, void *arg, struct err *err)
{
    const struct admin *x = arg;
    struct job *job = x->job;
    struct work_row at_work, row = {.seq = x->seq, .stage = JOB_STAGE_DESCRIBE};
    enum err_code rc = find_job(w, x, err);
    if (rc != ERR_OK)
        return rc;
    if (job->state != JOB_FAILED && job->state != JOB_CANCELLED)
        return err_set_param(err, ERR_CONFLICT, "job",
                             "the job is %s; only a failed or cancelled one is retried",
                             job_state_slug(job->state));
    rc = work_get(w->txn, w->space, x->seq, &at_work, err);
    if (rc == ERR_OK && at_work.seq != 0)
        return err_set_param(err, ERR_CONFLICT, "job", "the job is being cancelled");
    if (rc == ERR_OK)
        rc = keep_record(w, job, err);
    if (rc == ERR_OK)
        rc = first_seq_of(w, job->episode, &row.first_seq, err);
    job->state = JOB_PENDING;
    job->stage = JOB_STAGE_DESCRIBE;
    job->attempts = 0;
    job->failing_ms = job->due_ms = 0;
    job->updated_ms = w->now_ms;
    job->error = STR("");
    if (rc != ERR_OK)
        return rc;
    job_put(w->batch, job);
    return put_work(w, &row, err);
}

enum err_code work_retry(const struct stage_base *base, uint64_t seq, struct batch **batch,
                         struct job *job, struct err *err)
{
    struct admin x = {seq, job};
    *job = (struct job){.seq = seq};
    return stage_act(base, retry, &x, batch, err);
}

/* --- cancel --- */

static enum err_code cancel(struct stage_work *w, void *arg, struct err *err)
{
    const struct admin *x = arg;
    struct job *job = x->job;
    struct work_row row;
    enum err_code rc = find_job(w, x, err);
    if (rc == ERR_OK)
        rc = work_get(w->txn, w->space, x->seq, &row, err);
    if (rc != ERR_OK)
        return rc;
    if (row.seq == 0)
        return err_set_param(err, ERR_CONFLICT, "job", "the job is %s; there is nothing to cancel",
                             job_state_slug(job->state));
    job->state = JOB_CANCELLED;
    job->due_ms = 0;
    job->updated_ms = w->now_ms;
    row.due_ms = 0;
    job_put(w->batch, job);
    return put_work(w, &row, err);
}

enum err_code work_cancel(const struct stage_base *base, uint64_t seq, struct batch **batch,
                          struct job *job, struct err *err)
{
    struct admin x = {seq, job};
    *job = (struct job){.seq = seq};
    return stage_act(base, cancel, &x, batch, err);
}

/* --- redo --- */

struct redo {
    const struct work_redo *which;
    uint32_t episode;
};

static enum err_code has_job(struct stage_work *w, const struct work_redo *which, uint32_t episode,
                             bool *has, struct err *err)
{
    struct store_cursor *cursor = NULL;
    struct store_item item;
    *has = false;
    enum err_code rc = store_cursor_open(w->txn, w->space, KIND_WORK, &cursor, err);
    if (rc == ERR_OK)
        rc = store_cursor_seek(cursor, STR(""), &item, err);
    while (rc == ERR_OK && !*has && item.key.len == 8) {
        struct job job;
        if (which->made_after != 0 && be64_get(item.key.at) > which->made_after)
            break;
        rc = job_get(w->txn, w->space, be64_get(item.key.at), &job, err);
        *has = rc == ERR_OK && job.episode == episode;
        if (rc == ERR_OK)
            rc = store_cursor_next(cursor, &item, err);
    }
    store_cursor_close(cursor);
    return rc;
}

static bool is_wanted(const struct work_redo *which, const struct episode *episode)
{
    return which->all || (episode->flags & EPISODE_TOLD) == 0 ||
           (episode->flags & EPISODE_DEGRADED) != 0;
}

static enum err_code find_episode(struct stage_work *w, struct redo *x, struct err *err)
{
    char key[4];
    struct store_cursor *cursor = NULL;
    struct store_item item;
    be32_set(key, x->which->after + 1);
    enum err_code rc = store_cursor_open(w->txn, w->space, KIND_EPISODE, &cursor, err);
    if (rc == ERR_OK)
        rc = store_cursor_seek(cursor, (struct str){key, sizeof key}, &item, err);
    while (rc == ERR_OK && item.key.len == 4 && x->episode == 0) {
        struct episode episode;
        bool has = false;
        rc = episode_decode(item.value, be32_get(item.key.at), &episode, err);
        if (rc == ERR_OK && is_wanted(x->which, &episode)) {
            rc = has_job(w, x->which, episode.id, &has, err);
            x->episode = has ? 0 : episode.id;
        }
        if (rc == ERR_OK)
            rc = store_cursor_next(cursor, &item, err);
    }
    store_cursor_close(cursor);
    return rc;
}

static enum err_code redo(struct stage_work *w, void *arg, struct err *err)
{
    struct redo *x = arg;
    uint64_t first_seq;
    enum err_code rc = find_episode(w, x, err);
    if (rc != ERR_OK || x->episode == 0)
        return rc;
    rc = first_seq_of(w, x->episode, &first_seq, err);
    w->changed = true;
    const struct draft_job job = {
        .episode = x->episode, .first_seq = first_seq, .stage = JOB_STAGE_DESCRIBE};
    return rc == ERR_OK ? draft_put_job(w, &job, NULL, err) : rc;
}

enum err_code work_redo(const struct stage_base *base, const struct work_redo *which,
                        uint32_t *episode, struct batch **batch, struct err *err)
{
    struct redo x = {which, 0};
    enum err_code rc = stage_act(base, redo, &x, batch, err);
    *episode = x.episode;
    return rc;
}
