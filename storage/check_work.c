/* fsck: work that waits for a model (core/ingest/work.h). */
#include <stdlib.h>

#include "core/ingest/boundary.h"
#include "core/ingest/work.h"
#include "storage/check_int.h"

static int by_number(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

bool check__is_draft(const struct check *c, uint32_t episode)
{
    return c->n_drafts != 0 &&
           bsearch(&episode, c->drafts, c->n_drafts, sizeof episode, by_number) != NULL;
}

/* Its job says the same. One whose episode was deleted is ended when it is next looked at. */
static enum err_code check_row(struct check *c, const struct store_item *item, struct err *err)
{
    struct work_row row;
    struct job job;
    if (item->key.len != 8)
        return ERR_OK;
    unsigned long long seq = be64_get(item->key.at);
    if (work_get(c->txn, c->space, seq, &row, err) != ERR_OK ||
        job_get(c->txn, c->space, seq, &job, err) != ERR_OK) {
        check__problem(c, "work of job_%llu: %s", seq, err->message);
        return ERR_OK;
    }
    bool ended = job.state == JOB_COMPLETED || job.state == JOB_FAILED;
    if (job.kind != JOB_EPISODE || job.stage != row.stage || ended)
        check__problem(c, "job_%llu does not agree with its work", seq);
    c->drafts[c->n_drafts++] = job.episode;
    return ERR_OK;
}

static enum err_code note_question(struct check *c, const struct store_item *item, struct err *err)
{
    struct buffer buffer;
    if (item->key.len != 4 ||
        buffer_decode(item->value, be32_get(item->key.at), &buffer, err) != ERR_OK)
        return ERR_OK; /* told elsewhere */
    if (buffer.ask_ms != 0 && (uint64_t)buffer.ask_ms < c->work_due)
        c->work_due = (uint64_t)buffer.ask_ms;
    return ERR_OK;
}

enum err_code check__work(struct check *c, struct err *err)
{
    struct work_outlook outlook;
    c->n_drafts = 0;
    c->drafts = check__array(c, c->rows[KIND_WORK] + 1u, sizeof *c->drafts, err);
    if (c->drafts == NULL)
        return ERR_EXHAUSTED;
    enum err_code code = check__each(c, KIND_WORK, check_row, err);
    if (code == ERR_OK && c->n_drafts != 0)
        qsort(c->drafts, c->n_drafts, sizeof *c->drafts, by_number);
    if (code == ERR_OK)
        code = work_outlook(c->txn, c->space, &(struct work_rows){0}, &outlook, err);
    if (code != ERR_OK)
        return code;
    c->work_due = outlook.due_ms;
    code = check__each(c, KIND_BUFFER, note_question, err);
    uint64_t due = c->stat.v[STAT_WORK_DUE];
    if (c->work_due != UINT64_MAX && (due == 0 || due > c->work_due))
        check__problem(c, "WORK_DUE is %llu, but work is due at %llu", (unsigned long long)due,
                       (unsigned long long)c->work_due);
    return code;
}
