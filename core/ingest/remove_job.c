/* Jobs of episodes that go: what waits is ended at once, by its own step; a dead letter goes too.
 * */
#include "core/ingest/remove_int.h"
#include "core/ingest/work.h"

static bool is_of_gone(const struct removal *r, const struct job *job)
{
    const struct remove_episode *entry =
        (const struct remove_episode *)(const void *)remove__find(&r->episodes, job->episode);
    return job->kind == JOB_EPISODE && entry != NULL && entry->gone;
}

static enum err_code end_job(struct removal *r, struct str key, const struct job *job,
                             struct err *err)
{
    struct work_row row;
    if (job->state == JOB_FAILED) {
        (void)batch_del(r->batch, KIND_JOB, key, 0);
        return ERR_OK;
    }
    enum err_code rc = work_get(r->txn, r->space, job->seq, &row, err);
    if (rc != ERR_OK || row.seq == 0)
        return rc;
    row.due_ms = 0;
    work_put(r->batch, &row);
    batch_set(r->batch, STAT_WORK_DUE, 1);
    return ERR_OK;
}

static enum err_code walk(struct removal *r, struct store_cursor *cursor, struct err *err)
{
    struct store_item item;
    enum err_code rc = store_cursor_seek(cursor, STR(""), &item, err);
    while (rc == ERR_OK && item.key.len == 8) {
        struct job job;
        rc = job_decode(item.value, be64_get(item.key.at), &job, err);
        if (rc == ERR_OK && is_of_gone(r, &job))
            rc = end_job(r, item.key, &job, err);
        if (rc == ERR_OK)
            rc = store_cursor_next(cursor, &item, err);
    }
    return rc;
}

enum err_code remove__end_jobs(struct removal *r, struct err *err)
{
    struct store_cursor *cursor = NULL;
    bool any = false;
    for (struct remove_node *node = r->episodes.first; node != NULL; node = node->next)
        any |= ((const struct remove_episode *)(const void *)node)->gone;
    if (!any)
        return ERR_OK;
    enum err_code rc = store_cursor_open(r->txn, r->space, KIND_JOB, &cursor, err);
    if (rc == ERR_OK)
        rc = walk(r, cursor, err);
    store_cursor_close(cursor);
    return rc;
}
