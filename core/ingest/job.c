#include "core/ingest/job.h"

#include "core/base/limits.h"
#include "core/log_row.h"
#include "core/text/utf8.h"

enum { JOB_FORMAT = 2, JOB_FLAG_DEGRADED = 1, JOB_FLAG_ALL = 2 };

const char *job_kind_slug(uint8_t kind)
{
    static const char *const slugs[JOB_KINDS] = {
        [JOB_TURNS] = "turns", [JOB_FLUSH] = "flush", [JOB_EPISODE] = "episode"};
    ASSERT(kind < JOB_KINDS);
    return slugs[kind];
}

const char *job_state_slug(uint8_t state)
{
    static const char *const slugs[] = {
        [JOB_PENDING] = "pending",     [JOB_RUNNING] = "running", [JOB_WAITING] = "waiting",
        [JOB_COMPLETED] = "completed", [JOB_FAILED] = "failed",   [JOB_CANCELLED] = "cancelled"};
    ASSERT(state < sizeof slugs / sizeof slugs[0]);
    return slugs[state];
}

const char *job_stage_slug(uint8_t stage)
{
    static const char *const slugs[JOB_STAGES] = {[JOB_STAGE_NONE] = "none",
                                                  [JOB_STAGE_BOUNDARY] = "boundary",
                                                  [JOB_STAGE_DESCRIBE] = "describe",
                                                  [JOB_STAGE_TOPIC] = "topic",
                                                  [JOB_STAGE_FACTS] = "facts"};
    ASSERT(stage < JOB_STAGES);
    return slugs[stage];
}

void job_encode(const struct job *job, struct buf *out)
{
    ASSERT(job->kind < JOB_KINDS && job->state <= JOB_CANCELLED && job->stage < JOB_STAGES);
    buf_u8(out, JOB_FORMAT);
    buf_u8(out, job->kind);
    buf_u8(out, job->state);
    buf_u8(out, (uint8_t)((job->degraded ? JOB_FLAG_DEGRADED : 0) |
                          (job->all_sessions ? JOB_FLAG_ALL : 0)));
    buf_u32(out, job->after_n);
    buf_u32(out, job->closed);
    buf_u64(out, (uint64_t)job->created_ms);
    buf_u64(out, (uint64_t)job->updated_ms);
    buf_u8(out, job->stage);
    buf_u32(out, job->episode);
    buf_u32(out, job->attempts);
    buf_u64(out, (uint64_t)job->failing_ms);
    buf_u64(out, (uint64_t)job->due_ms);
    buf_u32(out, job->calls);
    buf_u64(out, job->tokens_in);
    buf_u64(out, job->tokens_out);
    buf_lstr(out, job->session);
    buf_lstr(out, job->error);
}

enum err_code job_decode(struct str value, uint64_t seq, struct job *job, struct err *err)
{
    struct unpack u = unpack_of(value);
    uint8_t format = unpack_u8(&u);
    *job = (struct job){.seq = seq, .kind = unpack_u8(&u)};
    job->state = unpack_u8(&u);
    uint8_t flags = unpack_u8(&u);
    job->degraded = (flags & JOB_FLAG_DEGRADED) != 0;
    job->all_sessions = (flags & JOB_FLAG_ALL) != 0;
    job->after_n = unpack_u32(&u);
    job->closed = unpack_u32(&u);
    job->created_ms = (int64_t)unpack_u64(&u);
    job->updated_ms = (int64_t)unpack_u64(&u);
    job->stage = unpack_u8(&u);
    job->episode = unpack_u32(&u);
    job->attempts = unpack_u32(&u);
    job->failing_ms = (int64_t)unpack_u64(&u);
    job->due_ms = (int64_t)unpack_u64(&u);
    job->calls = unpack_u32(&u);
    job->tokens_in = unpack_u64(&u);
    job->tokens_out = unpack_u64(&u);
    job->session = unpack_lstr(&u);
    job->error = unpack_lstr(&u);
    if (!unpack_done(&u) || format != JOB_FORMAT || job->kind >= JOB_KINDS ||
        job->state > JOB_CANCELLED || job->stage >= JOB_STAGES)
        return err_set(err, ERR_INTERNAL, "the record of job_%llu is damaged",
                       (unsigned long long)seq);
    return ERR_OK;
}

bool job_keep(struct job *job, struct arena *arena)
{
    job->session = str_copy(arena, job->session);
    job->error = str_copy(arena, job->error);
    return job->session.at != NULL && job->error.at != NULL;
}

static enum err_code get_u64(struct store_txn *txn, uint64_t space, enum store_kind kind,
                             uint64_t number, struct str *value, struct err *err)
{
    char key[8];
    be64_set(key, number);
    return store_get(txn, space, kind, (struct str){key, sizeof key}, value, err);
}

/* A POST's job is read off its LOG row. */
static enum err_code derive(struct store_txn *txn, uint64_t space, uint64_t seq, struct job *job,
                            struct err *err)
{
    struct space_stat stat;
    struct log_row row;
    struct str value;
    enum err_code rc = store_stat(txn, space, &stat, err);
    if (rc == ERR_OK)
        rc = get_u64(txn, space, KIND_LOG, seq, &value, err);
    if (rc != ERR_OK)
        return rc;
    if (value.at == NULL || !log_row_decode(value, &row) || row.cause != CAUSE_TURNS)
        return err_set(err, ERR_NOT_FOUND, "there is no job_%llu", (unsigned long long)seq);
    int64_t created = (int64_t)row.time_ms;
    bool done = stat.v[STAT_PROCESSED] >= seq;
    *job = (struct job){.seq = seq,
                        .kind = JOB_TURNS,
                        .state = done ? JOB_COMPLETED : JOB_PENDING,
                        .created_ms = created,
                        .updated_ms = created,
                        .session = STR(""),
                        .error = STR("")};
    return ERR_OK;
}

enum err_code job_get(struct store_txn *txn, uint64_t space, uint64_t seq, struct job *job,
                      struct err *err)
{
    struct str value;
    enum err_code rc = get_u64(txn, space, KIND_JOB, seq, &value, err);
    if (rc != ERR_OK)
        return rc;
    return value.at != NULL ? job_decode(value, seq, job, err) : derive(txn, space, seq, job, err);
}

static uint32_t put_at(struct batch *batch, struct str key, const struct job *job)
{
    struct buf row;
    buf_init(&row, batch->arena, JOB_ROW_MAX);
    job_encode(job, &row);
    if (!buf_ok(&row))
        batch->failed = true;
    return batch_put(batch, KIND_JOB, key, buf_str(&row), 0);
}

void job_put(struct batch *batch, const struct job *job)
{
    char key[8];
    be64_set(key, job->seq);
    (void)put_at(batch, (struct str){key, sizeof key}, job);
}

uint32_t job_put_new(struct batch *batch, const struct job *job)
{
    char zero[8] = {0};
    uint32_t op = put_at(batch, (struct str){zero, sizeof zero}, job);
    batch_fix(batch, op, FIX_KEY, 0, SLOT_SEQ, 0);
    return op;
}

/* --- flush --- */

static enum err_code memory(struct err *err)
{
    return err_set(err, ERR_EXHAUSTED, "out of memory while making a flush");
}

/* Taking no number tells the next one: the flush comes after whatever was applied before it. */
static void fill_flush(struct batch *batch, const struct job *job)
{
    char zero[8] = {0};
    struct str key = {zero, sizeof zero};
    uint32_t next = batch_take(batch, STAT_NEXT_TURN, 0);
    uint32_t op = job_put_new(batch, job);
    batch_fix(batch, op, FIX_VALUE, JOB_AFTER_AT, next, UINT32_MAX);
    op = batch_put(batch, KIND_FLUSH, key, (struct str){zero, 4}, 0);
    batch_fix(batch, op, FIX_KEY, 0, SLOT_SEQ, 0);
    batch_fix(batch, op, FIX_VALUE, 0, next, UINT32_MAX);
    batch_add(batch, STAT_FLUSHES, 1);
}

/* NOLINTNEXTLINE(readability-function-size): what it reads, when, what it makes */
enum err_code flush_build(struct store_txn *txn, uint64_t space, struct str session, int64_t now_ms,
                          struct arena *arena, struct batch **batch, struct err *err)
{
    *batch = NULL;
    if (session.len > LIMIT_SESSION_BYTES || !utf8_is_valid(session))
        return err_set_param(err, ERR_INVALID, "session", "session is at most %u bytes of UTF-8",
                             LIMIT_SESSION_BYTES);
    struct space_stat stat;
    enum err_code rc = store_stat(txn, space, &stat, err);
    if (rc != ERR_OK)
        return rc;
    struct batch *made = batch_new(arena, space, CAUSE_FLUSH);
    if (made == NULL)
        return memory(err);
    struct job job = {.kind = JOB_FLUSH,
                      .state = JOB_PENDING,
                      .all_sessions = session.at == NULL,
                      .created_ms = now_ms,
                      .updated_ms = now_ms,
                      .session = session};
    fill_flush(made, &job);
    if (!batch_ok(made))
        return memory(err);
    *batch = made;
    return ERR_OK;
}

static enum err_code read_first(struct store_txn *txn, uint64_t space, struct store_cursor *cursor,
                                struct job *job, struct err *err)
{
    struct store_item item;
    struct str value;
    enum err_code rc = store_cursor_seek(cursor, STR(""), &item, err);
    if (rc != ERR_OK || item.key.at == NULL)
        return rc;
    if (item.key.len != 8 || item.value.len != 4)
        return err_set(err, ERR_INTERNAL, "a flush row is damaged");
    uint64_t seq = be64_get(item.key.at);
    rc = get_u64(txn, space, KIND_JOB, seq, &value, err);
    if (rc == ERR_OK)
        rc = job_decode(value, seq, job, err);
    return rc;
}

enum err_code flush_first(struct store_txn *txn, uint64_t space, struct job *job, struct err *err)
{
    *job = (struct job){0};
    struct store_cursor *cursor = NULL;
    enum err_code rc = store_cursor_open(txn, space, KIND_FLUSH, &cursor, err);
    if (rc == ERR_OK)
        rc = read_first(txn, space, cursor, job, err);
    store_cursor_close(cursor);
    return rc;
}

void flush_complete(struct batch *batch, const struct job *job, uint32_t closed, int64_t now_ms)
{
    char key_bytes[8];
    be64_set(key_bytes, job->seq);
    struct str key = {key_bytes, sizeof key_bytes};
    struct job done = *job;
    done.state = JOB_COMPLETED;
    done.closed = closed;
    done.updated_ms = now_ms;
    job_put(batch, &done);
    (void)batch_del(batch, KIND_FLUSH, key, 0);
    batch_add(batch, STAT_FLUSHES, -1);
    batch_expire(batch, (uint64_t)(now_ms + JOB_KEEP_MS), KIND_JOB, key);
}
