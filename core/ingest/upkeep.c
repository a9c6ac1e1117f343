#include "core/ingest/upkeep.h"

#include "core/index/segment.h"

enum { EXPIRY_HEAD = 9 }; /* b64 ms, kind byte; then the key of the row that goes */

static enum err_code memory(struct err *err)
{
    return err_set(err, ERR_EXHAUSTED, "out of memory for housekeeping");
}

static enum err_code build_fold(struct store_txn *txn, const struct space_stat *stat,
                                struct batch *batch, struct stage_unit *unit, struct err *err)
{
    bool did = false;
    enum err_code rc = segment_fold(txn, batch->space, batch, &did, err);
    if (rc != ERR_OK || !did)
        return rc;
    if (!batch_ok(batch))
        return memory(err);
    unit->batch = batch;
    unit->queue = STORE_HOUSEKEEPING;
    unit->stage = METRIC_H_STAGE_FOLD;
    unit->more = stat->v[STAT_SMALL_SEGMENTS] >= 2 * FOLD_SEGMENTS;
    return ERR_OK;
}

/* --- expiry --- */

struct expiry {
    struct batch *batch;
    uint64_t now_ms;
    uint64_t next_ms; /* of the first row that is left; 0: none */
};

static enum err_code take_rows(struct expiry *x, struct store_cursor *cursor, struct err *err)
{
    struct store_item item;
    enum err_code rc = store_cursor_seek(cursor, STR(""), &item, err);
    for (unsigned rows = 0; rc == ERR_OK && item.key.at != NULL; rows++) {
        if (item.key.len < EXPIRY_HEAD)
            return err_set(err, ERR_INTERNAL, "an expiry row has a key of %zu bytes", item.key.len);
        uint64_t ms = be64_get(item.key.at);
        if (ms > x->now_ms || rows == UPKEEP_ROWS) {
            x->next_ms = ms;
            return ERR_OK;
        }
        (void)batch_del(x->batch, (enum store_kind)(uint8_t)item.key.at[8],
                        str_part(item.key, EXPIRY_HEAD, item.key.len), 0);
        (void)batch_del(x->batch, KIND_EXPIRY, item.key, 0);
        rc = store_cursor_next(cursor, &item, err);
    }
    return rc;
}

static enum err_code build_expiry(struct store_txn *txn, const struct space_stat *stat,
                                  struct expiry *x, struct stage_unit *unit, struct err *err)
{
    struct store_cursor *cursor = NULL;
    enum err_code rc = store_cursor_open(txn, x->batch->space, KIND_EXPIRY, &cursor, err);
    if (rc == ERR_OK)
        rc = take_rows(x, cursor, err);
    store_cursor_close(cursor);
    if (rc != ERR_OK)
        return rc;
    if (x->next_ms == 0)
        batch_need_stat(x->batch, STAT_SEQ, stat->v[STAT_SEQ]);
    batch_set(x->batch, STAT_EXPIRE_DUE, x->next_ms);
    if (!batch_ok(x->batch))
        return memory(err);
    unit->batch = x->batch;
    unit->queue = STORE_HOUSEKEEPING;
    unit->stage = METRIC_H_STAGE_REMOVE;
    unit->more = x->next_ms != 0 && x->next_ms <= x->now_ms;
    return ERR_OK;
}

enum err_code upkeep_build(const struct stage_base *base, int64_t now_ms, struct stage_unit *unit,
                           struct err *err)
{
    *unit = (struct stage_unit){0};
    struct space_stat stat;
    struct store_txn *txn = base->txn;
    enum err_code rc = store_stat(txn, base->space, &stat, err);
    if (rc != ERR_OK)
        return rc;
    struct batch *batch = batch_new(base->arena, base->space, CAUSE_KEEP);
    if (batch == NULL)
        return memory(err);
    rc = build_fold(txn, &stat, batch, unit, err);
    if (rc == ERR_OK && unit->batch == NULL)
        rc = upkeep__vectors(base, &stat, now_ms, unit, err);
    if (rc != ERR_OK || unit->batch != NULL)
        return rc;
    uint64_t due = stat.v[STAT_EXPIRE_DUE];
    if (due == 0 || now_ms < 0 || due > (uint64_t)now_ms)
        return ERR_OK;
    struct expiry x = {.batch = batch, .now_ms = (uint64_t)now_ms};
    return build_expiry(txn, &stat, &x, unit, err);
}
