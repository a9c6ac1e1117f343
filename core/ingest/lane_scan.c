/* The scan: gives spaces whose DUE row has come a stage step, as many as there are places. */
#include <string.h>

#include "core/ingest/lane_int.h"
#include "core/ingest/work.h"

enum { DUE_KEY = 16 };

struct scan {
    struct lanes *lanes;
    struct store_txn *txn;
    struct store_cursor *cursor;
    uint64_t now_ms;
    bool full; /* no place left */
};

/* A row with a time may be of work that is running: its end looks at the space again. Turns and
 * flushes have no time, and are always begun. */
static bool is_at_work(const struct scan *scan, const struct store_item *item)
{
    struct works *works = scan->lanes->services->works;
    uint64_t space = be64_get(item->key.at + 8);
    if (works == NULL || be64_get(item->key.at) == 0)
        return false;
    uint64_t look_ms = works_next_look_ms(works, space);
    if (look_ms <= scan->now_ms)
        return works_embed_later(works, scan->txn, space, scan->now_ms);
    lanes_note_due(scan->lanes, look_ms);
    return true;
}

static enum lane_start start(struct scan *scan, const struct store_item *item)
{
    struct lanes *lanes = scan->lanes;
    struct lane_ready ready = {0};
    if (is_at_work(scan, item))
        return LANE_BUSY;
    lanes__lock(lanes);
    enum lane_start result = lanes__start(lanes, be64_get(item->key.at + 8), &ready);
    if (result == LANE_FULL)
        memcpy(lanes->scan_from, item->key.at, DUE_KEY);
    lanes__unlock(lanes, &ready);
    return result;
}

/* Rows from `from` on and before `to` (absent: all) that are due. */
static enum err_code walk(struct scan *scan, struct str from, struct str to, struct err *err)
{
    struct store_item item;
    enum err_code rc = store_cursor_seek(scan->cursor, from, &item, err);
    while (rc == ERR_OK && item.key.at != NULL) {
        if (item.key.len != DUE_KEY)
            return err_set(err, ERR_INTERNAL, "a due row has a key of %zu bytes", item.key.len);
        if (to.at != NULL && str_cmp(item.key, to) >= 0)
            return ERR_OK;
        uint64_t due_ms = be64_get(item.key.at);
        if (due_ms > scan->now_ms) {
            lanes_note_due(scan->lanes, due_ms);
            return ERR_OK;
        }
        scan->full = start(scan, &item) == LANE_FULL;
        if (scan->full)
            return ERR_OK;
        rc = store_cursor_next(scan->cursor, &item, err);
    }
    return rc;
}

/* Round about from where the last scan stopped. */
static enum err_code walk_round(struct scan *scan, struct str from, struct err *err)
{
    enum err_code rc = walk(scan, from, STR_NONE, err);
    if (rc == ERR_OK && !scan->full)
        rc = walk(scan, STR(""), from, err);
    return rc;
}

static enum err_code scan_due(struct scan *scan, struct str from, struct err *err)
{
    enum err_code rc = store_begin(scan->lanes->services->store, &scan->txn, err);
    if (rc == ERR_OK)
        rc = store_cursor_open(scan->txn, 0, KIND_DUE, &scan->cursor, err);
    if (rc == ERR_OK)
        rc = walk_round(scan, from, err);
    store_cursor_close(scan->cursor);
    store_end(scan->txn);
    return rc;
}

/* What is told from here on comes after the snapshot, or is in it. */
static bool begin(struct scan *scan, char from[DUE_KEY])
{
    struct lanes *lanes = scan->lanes;
    lanes__lock(lanes);
    bool go = !lanes->stopping && !lanes__is_paused(lanes);
    if (go) {
        lanes->overflow = false;
        lanes->next_due_ms = lanes__rest_next_ms(lanes);
        scan->now_ms = lanes__now_ms(lanes);
        memcpy(from, lanes->scan_from, DUE_KEY);
        memset(lanes->scan_from, 0, DUE_KEY);
    } else if (!lanes->stopping && lanes->pause_until_ms < lanes->next_due_ms) {
        lanes->next_due_ms = lanes->pause_until_ms;
    }
    lanes__unlock(lanes, NULL);
    return go;
}

enum step_verdict lanes__scan_run(struct step *step)
{
    struct scan scan = {.lanes =
                            (struct lanes *)(void *)((char *)step - offsetof(struct lanes, scan))};
    char from[DUE_KEY];
    if (!begin(&scan, from))
        return STEP_DONE;
    struct err err = {0};
    if (scan_due(&scan, (struct str){from, DUE_KEY}, &err) == ERR_OK)
        return STEP_DONE;
    lanes__lock(scan.lanes);
    bool stopping = scan.lanes->stopping;
    lanes__pause(scan.lanes);
    lanes__unlock(scan.lanes, NULL);
    if (scan.lanes->services->log != NULL && !stopping)
        log_err(scan.lanes->services->log, LOG_WARN, "due_scan_failed", &err);
    return STEP_DONE;
}
