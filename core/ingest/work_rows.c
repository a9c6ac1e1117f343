#include "core/ingest/work_int.h"

enum { ROW_KEY = 8, ROW_BYTES = 17 };

static uint32_t put(struct batch *batch, const struct work_row *row)
{
    char key[ROW_KEY], value[ROW_BYTES];
    ASSERT(row->stage != JOB_STAGE_NONE && row->stage < JOB_STAGES);
    be64_set(key, row->seq);
    le64_set(value, row->due_ms);
    le64_set(value + 8, row->first_seq);
    value[16] = (char)row->stage;
    return batch_put(batch, KIND_WORK, (struct str){key, sizeof key},
                     (struct str){value, sizeof value}, 0);
}

void work_put(struct batch *batch, const struct work_row *row)
{
    (void)put(batch, row);
}

void work_put_new(struct batch *batch, const struct work_row *row)
{
    batch_fix(batch, put(batch, row), FIX_KEY, 0, SLOT_SEQ, 0);
}

void work_del(struct batch *batch, uint64_t seq)
{
    char key[ROW_KEY];
    be64_set(key, seq);
    (void)batch_del(batch, KIND_WORK, (struct str){key, sizeof key}, 0);
}

enum err_code work__decode(struct str key, struct str value, struct work_row *row, struct err *err)
{
    if (key.len != ROW_KEY || value.len != ROW_BYTES)
        return err_set(err, ERR_INTERNAL, "a work row is damaged");
    *row = (struct work_row){.seq = be64_get(key.at),
                             .due_ms = le64_get(value.at),
                             .first_seq = le64_get(value.at + 8),
                             .stage = (uint8_t)value.at[16]};
    if (row->stage == JOB_STAGE_NONE || row->stage >= JOB_STAGES)
        return err_set(err, ERR_INTERNAL, "a work row is damaged");
    return ERR_OK;
}

enum err_code work_get(struct store_txn *txn, uint64_t space, uint64_t seq, struct work_row *row,
                       struct err *err)
{
    char key[ROW_KEY];
    struct str value;
    *row = (struct work_row){0};
    be64_set(key, seq);
    enum err_code rc = store_get(txn, space, KIND_WORK, (struct str){key, sizeof key}, &value, err);
    if (rc != ERR_OK || value.at == NULL)
        return rc;
    return work__decode((struct str){key, sizeof key}, value, row, err);
}

static enum err_code has_older_topic(struct store_cursor *cursor, uint64_t seq, bool *has,
                                     struct err *err)
{
    struct store_item item = {STR_NONE, STR_NONE};
    enum err_code rc = store_cursor_seek(cursor, STR(""), &item, err);
    *has = false;
    while (rc == ERR_OK && item.key.at != NULL && !*has) {
        struct work_row row = {.seq = 0};
        rc = work__decode(item.key, item.value, &row, err);
        if (rc != ERR_OK || row.seq >= seq)
            return rc;
        *has = row.stage <= JOB_STAGE_TOPIC;
        rc = store_cursor_next(cursor, &item, err);
    }
    return rc;
}

enum err_code work_is_runnable(struct store_txn *txn, uint64_t space, const struct work_row *row,
                               bool *yes, struct err *err)
{
    struct store_cursor *cursor = NULL;
    bool waits = false;
    if (row->stage != JOB_STAGE_TOPIC) {
        *yes = true;
        return ERR_OK;
    }
    enum err_code rc = store_cursor_open(txn, space, KIND_WORK, &cursor, err);
    if (rc == ERR_OK)
        rc = has_older_topic(cursor, row->seq, &waits, err);
    store_cursor_close(cursor);
    *yes = !waits;
    return rc;
}

/* --- outlook --- */

struct look {
    struct work_outlook *out;
    struct work_rows left; /* those that are still to come */
    bool topics_wait;      /* something older has not passed its topic */
};

/* Rows in the order of their jobs; a topic is assigned only behind everything older. */
static void look_at(struct look *look, const struct work_row *row)
{
    struct work_outlook *out = look->out;
    bool waits = row->stage == JOB_STAGE_TOPIC && look->topics_wait;
    uint64_t due = row->due_ms == 0 ? 1 : row->due_ms;
    if (row->stage == JOB_STAGE_NONE)
        return;
    if (row->stage <= JOB_STAGE_TOPIC)
        look->topics_wait = true;
    if (!waits && due < out->due_ms)
        out->due_ms = due;
    if (row->first_seq < out->first_seq)
        out->first_seq = row->first_seq;
}

/* Those that come before `seq`, or in its place. True: in its place. */
static bool look_instead(struct look *look, uint64_t seq)
{
    bool replaced = false;
    while (look->left.n != 0 && look->left.instead[0]->seq <= seq) {
        replaced = look->left.instead[0]->seq == seq;
        look_at(look, look->left.instead[0]);
        look->left.instead++;
        look->left.n--;
    }
    return replaced;
}

static enum err_code walk(struct store_cursor *cursor, struct look *look, struct err *err)
{
    struct store_item item = {STR_NONE, STR_NONE};
    enum err_code rc = store_cursor_seek(cursor, STR(""), &item, err);
    while (rc == ERR_OK && item.key.at != NULL) {
        struct work_row row = {.seq = 0};
        rc = work__decode(item.key, item.value, &row, err);
        if (rc != ERR_OK)
            return rc;
        if (!look_instead(look, row.seq))
            look_at(look, &row);
        rc = store_cursor_next(cursor, &item, err);
    }
    (void)look_instead(look, UINT64_MAX);
    return rc;
}

enum err_code work_outlook(struct store_txn *txn, uint64_t space, const struct work_rows *rows,
                           struct work_outlook *out, struct err *err)
{
    struct store_cursor *cursor = NULL;
    struct look look = {.out = out, .left = *rows};
    *out = (struct work_outlook){.due_ms = UINT64_MAX, .first_seq = UINT64_MAX};
    enum err_code rc = store_cursor_open(txn, space, KIND_WORK, &cursor, err);
    if (rc == ERR_OK)
        rc = walk(cursor, &look, err);
    store_cursor_close(cursor);
    return rc;
}
