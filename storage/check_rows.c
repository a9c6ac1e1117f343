/* fsck: every key has the shape of its kind, and the counters agree with what is there. */
#include "core/base/limits.h"
#include "core/graph/space.h"
#include "core/index/vectors.h"
#include "core/ingest/job.h"
#include "core/log_row.h"
#include "storage/check_int.h"

struct shape {
    uint16_t least, most; /* bytes of the key's rest */
};

static bool shape_of(unsigned kind, struct shape *shape)
{
    enum { NAME = LIMIT_SESSION_BYTES, ID = LIMIT_TURN_ID_BYTES };
    switch (kind) {
    case KIND_META:
    case KIND_STAT: *shape = (struct shape){0, 0}; return true;
    case KIND_TURN:
    case KIND_BUFFER:
    case KIND_EPISODE:
    case KIND_TOPIC:
    case KIND_FACT:
    case KIND_TOPIC_EDGE:
    case KIND_EPISODE_EDGE:
    case KIND_GENERATION: *shape = (struct shape){4, 4}; return true;
    case KIND_LENGTH:
    case KIND_COLUMN: *shape = (struct shape){5, 5}; return true;
    case KIND_LOG:
    case KIND_TEXT:
    case KIND_SESSION_TURN:
    case KIND_FACT_SOURCE:
    case KIND_JOB:
    case KIND_FLUSH:
    case KIND_WORK: *shape = (struct shape){8, 8}; return true;
    case KIND_VECTOR:
    case KIND_VECTOR_SIDE:
    case KIND_VECTOR_DIRTY: *shape = (struct shape){VECTORS_KEY, VECTORS_KEY}; return true;
    case KIND_SEGMENT: *shape = (struct shape){SEGMENT_KEY, SEGMENT_KEY}; return true;
    case KIND_HISTORY: *shape = (struct shape){13, 13}; return true;
    case KIND_IDEMPOTENCY: *shape = (struct shape){16, 16}; return true;
    case KIND_FACT_NEVER: *shape = (struct shape){FACT_KEY, FACT_KEY}; return true;
    case KIND_SESSION:
    case KIND_SPEAKER: *shape = (struct shape){0, NAME}; return true;
    case KIND_TURN_ID: *shape = (struct shape){1, ID}; return true;
    case KIND_EXPIRY: *shape = (struct shape){9, KEY_REST_MAX}; return true;
    default: return false;
    }
}

static void count_row(struct check *c, MDB_val key, MDB_val value)
{
    struct shape shape;
    unsigned kind = key_kind(key);
    size_t rest = key.mv_size - KEY_PREFIX;
    c->report->rows++;
    c->report->bytes += key.mv_size + value.mv_size;
    c->rows[kind]++;
    if (!shape_of(kind, &shape))
        check__problem(c, "a row of unknown kind 0x%02x", kind);
    else if (rest < shape.least || rest > shape.most)
        check__problem(c, "a %s row has a key of %zu bytes", key_kind_name(kind), rest);
}

static enum err_code count_rows(struct check *c, struct err *err)
{
    struct key at;
    MDB_val value;
    MDB_cursor *cursor = NULL;
    key_set(&at, c->space, 0, STR(""));
    MDB_val key = key_val(&at);
    int rc = mdb_cursor_open(c->txn->mdb, c->txn->store->dbi, &cursor);
    if (rc == 0)
        rc = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
    while (rc == 0 && key.mv_size >= KEY_PREFIX && key_space(key) == c->space) {
        count_row(c, key, value);
        rc = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
    }
    if (cursor != NULL)
        mdb_cursor_close(cursor);
    return rc == 0 || rc == MDB_NOTFOUND ? ERR_OK : storage__error(err, rc, "walk a space");
}

/* --- LOG, HISTORY, jobs, expiry --- */

/* I6, S5: seq by seq without a gap; c->base_seq moves along. */
static enum err_code check_log(struct check *c, const struct store_item *item, struct err *err)
{
    (void)err;
    struct log_row row;
    struct log_row_line line;
    if (item->key.len != 8)
        return ERR_OK;
    uint64_t seq = be64_get(item->key.at);
    if (!log_row_decode(item->value, &row)) {
        check__problem(c, "the log row of seq %llu is damaged", (unsigned long long)seq);
        return ERR_OK;
    }
    while (log_row_next(&row, &line)) {
        if (key_kind_name(line.kind) == NULL ||
            (line.change != CHANGE_ADD && line.change != CHANGE_SET && line.change != CHANGE_DEL))
            row.rest.bad = true;
    }
    if (!unpack_done(&row.rest))
        check__problem(c, "the log row of seq %llu is damaged", (unsigned long long)seq);
    return ERR_OK;
}

static enum err_code check_log_range(struct check *c, struct err *err)
{
    struct store_cursor *cursor = NULL;
    struct store_item item = {STR_NONE, STR_NONE};
    uint64_t seq = c->stat.v[STAT_SEQ];
    enum err_code code = check__each(c, KIND_LOG, check_log, err);
    check__equal(c, "the number of log rows", c->rows[KIND_LOG], seq - c->base_seq);
    if (code == ERR_OK)
        code = store_cursor_open(c->txn, c->space, KIND_LOG, &cursor, err);
    if (code == ERR_OK)
        code = store_cursor_next(cursor, &item, err);
    if (code == ERR_OK && item.key.len == 8)
        check__equal(c, "the first log row's seq", be64_get(item.key.at), c->base_seq + 1);
    if (code == ERR_OK)
        code = store_cursor_seek_before(cursor, STR_NONE, &item, err);
    if (code == ERR_OK && item.key.len == 8)
        check__equal(c, "the last log row's seq", be64_get(item.key.at), seq);
    store_cursor_close(cursor);
    return code;
}

static bool has_history(unsigned kind)
{
    return kind == KIND_TURN || kind == KIND_EPISODE || kind == KIND_TOPIC || kind == KIND_FACT;
}

static enum err_code check_history(struct check *c, const struct store_item *item, struct err *err)
{
    (void)err;
    if (item->key.len != 13)
        return ERR_OK;
    uint64_t seq = be64_get(item->key.at + 5);
    if (!has_history((unsigned char)item->key.at[0]) || seq > c->stat.v[STAT_SEQ] ||
        (item->value.len != 0 && (item->value.len < 8 || le64_get(item->value.at) != seq)))
        check__problem(c, "a version of record %u is damaged", be32_get(item->key.at + 1));
    return ERR_OK;
}

static enum err_code check_job(struct check *c, const struct store_item *item, struct err *err)
{
    struct job job;
    if (item->key.len != 8)
        return ERR_OK;
    uint64_t seq = be64_get(item->key.at);
    if (seq > c->stat.v[STAT_SEQ])
        check__problem(c, "job %llu is above the seq", (unsigned long long)seq);
    if (job_decode(item->value, seq, &job, err) != ERR_OK)
        check__problem(c, "%s", err->message);
    return ERR_OK;
}

static enum err_code check_flush(struct check *c, const struct store_item *item, struct err *err)
{
    struct str job;
    enum err_code code = store_get(c->txn, c->space, KIND_JOB, item->key, &job, err);
    if (code == ERR_OK && (job.at == NULL || item->value.len != 4))
        check__problem(c, "a flush has no job or is damaged");
    return code;
}

static enum err_code check_expiry(struct check *c, const struct store_item *item, struct err *err)
{
    (void)err;
    uint64_t due = c->stat.v[STAT_EXPIRE_DUE];
    if (item->key.len >= 9 && (due == 0 || be64_get(item->key.at) < due))
        check__problem(c, "a row expires at %llu, before EXPIRE_DUE",
                       (unsigned long long)be64_get(item->key.at));
    return ERR_OK;
}

/* --- counters --- */

static void check_counters(struct check *c)
{
    const uint64_t *v = c->stat.v;
    check__equal(c, "TURNS", v[STAT_TURNS], c->rows[KIND_TURN]);
    check__equal(c, "EPISODES", v[STAT_EPISODES], c->rows[KIND_EPISODE]);
    check__equal(c, "TOPICS", v[STAT_TOPICS], c->rows[KIND_TOPIC]);
    check__equal(c, "FACTS", v[STAT_FACTS], c->rows[KIND_FACT]);
    check__equal(c, "FLUSHES", v[STAT_FLUSHES], c->rows[KIND_FLUSH]);
    check__equal(c, "the number of session rows", c->rows[KIND_SESSION], v[STAT_NEXT_SESSION] - 1);
    check__equal(c, "the number of speaker rows", c->rows[KIND_SPEAKER], v[STAT_NEXT_SPEAKER] - 1);
    check__equal(c, "the number of rows of a session's turns", c->rows[KIND_SESSION_TURN],
                 c->rows[KIND_TURN]);
    if (v[STAT_PROCESSED] > v[STAT_SEQ])
        check__problem(c, "PROCESSED is above SEQ");
    bool idle = v[STAT_PENDING] == 0 && v[STAT_UNFINISHED] == 0 && v[STAT_FLUSHES] == 0;
    if (idle)
        check__equal(c, "PROCESSED with nothing pending", v[STAT_PROCESSED], v[STAT_SEQ]);
    if (v[STAT_LOOKED] >= v[STAT_NEXT_TURN])
        check__problem(c, "LOOKED is above the last turn");
}

/* S6 from this side: the row that DUE names is there. */
static enum err_code check_due_row(struct check *c, struct err *err)
{
    char rest[16];
    struct str value;
    if (c->stat.v[STAT_DUE] == 0)
        return ERR_OK;
    be64_set(rest, c->stat.v[STAT_DUE] - 1);
    be64_set(rest + 8, c->space);
    enum err_code code =
        store_get(c->txn, 0, KIND_DUE, (struct str){rest, sizeof rest}, &value, err);
    if (code == ERR_OK && value.at == NULL)
        check__problem(c, "the due row is missing");
    return code;
}

static enum err_code check_settings(struct check *c, struct err *err)
{
    struct space space;
    if (space_get(c->txn, c->space, &space, err) != ERR_OK)
        check__problem(c, "%s", err->message);
    else if (space.seq > c->stat.v[STAT_SEQ] || space.seq <= c->base_seq)
        check__problem(c, "the settings' seq is out of range");
    return ERR_OK;
}

enum err_code check__rows(struct check *c, struct err *err)
{
    enum err_code code = count_rows(c, err);
    if (code != ERR_OK)
        return code;
    check_counters(c);
    code = check_log_range(c, err);
    if (code == ERR_OK)
        code = check_due_row(c, err);
    if (code == ERR_OK)
        code = check_settings(c, err);
    if (code == ERR_OK)
        code = check__each(c, KIND_HISTORY, check_history, err);
    if (code == ERR_OK)
        code = check__each(c, KIND_JOB, check_job, err);
    if (code == ERR_OK)
        code = check__each(c, KIND_FLUSH, check_flush, err);
    if (code == ERR_OK)
        code = check__each(c, KIND_EXPIRY, check_expiry, err);
    return code;
}
