/* Jobs that a client can see (DESIGN 10, jobs). A POST's job is job_{seq} without a record of its
 * own: completed once processed_seq >= seq. Flushes and episodes that models work on have a JOB
 * record, keyed by the seq of the batch that asked for it; finished ones go after JOB_KEEP_MS,
 * failed ones (dead letters) stay until they are retried or their episode goes.
 *
 * Flush: a durable request, ordered after the turns accepted before it. The batch takes the seq, a
 * FLUSH row (seq -> last turn number before it) and the JOB record. The stage step closes the open
 * buffers when it has looked at all turns up to that number, and completes the record. */
#ifndef HM_CORE_INGEST_JOB_H
#define HM_CORE_INGEST_JOB_H

#include "core/batch.h"

enum job_kind { JOB_TURNS, JOB_FLUSH, JOB_EPISODE, JOB_KINDS };
enum job_state { JOB_PENDING, JOB_RUNNING, JOB_WAITING, JOB_COMPLETED, JOB_FAILED, JOB_CANCELLED };
/* What an episode's job does next. */
enum job_stage {
    JOB_STAGE_NONE,
    JOB_STAGE_BOUNDARY,
    JOB_STAGE_DESCRIBE,
    JOB_STAGE_TOPIC,
    JOB_STAGE_FACTS,
    JOB_STAGES
};

struct job {
    uint64_t seq;  /* from the key: its id is job_{seq} */
    uint8_t kind;  /* enum job_kind */
    uint8_t state; /* enum job_state */
    bool degraded;
    bool all_sessions; /* flush: every session, else `session` */
    int64_t created_ms, updated_ms;
    uint32_t after_n; /* flush: turns up to this are before it */
    uint32_t closed;  /* flush: episodes closed */
    /* episode: its work with models (core/ingest/work.h) */
    uint8_t stage;      /* enum job_stage */
    uint32_t episode;   /* id */
    uint32_t attempts;  /* failures of this stage in a row */
    int64_t failing_ms; /* time of the first of them; 0: none */
    int64_t due_ms;     /* not before; 0: at once */
    uint32_t calls;     /* model calls that reached a provider, in all */
    uint64_t tokens_in, tokens_out;
    struct str session;
    struct str error; /* why it failed, or failed last */
};

const char *job_kind_slug(uint8_t kind);
const char *job_state_slug(uint8_t state);
const char *job_stage_slug(uint8_t stage);
/* After the u8 format: u8 kind, state and flags (1 degraded, 2 all sessions), LE32 after_n (the
 * hole of a new flush) and closed, LE64 created and updated, u8 stage, LE32 episode and attempts,
 * LE64 failing and due, LE32 calls, LE64 tokens in and out, session and error with their lengths.
 */
enum { JOB_AFTER_AT = 4, JOB_ROW_MAX = 4096 };
void job_encode(const struct job *job, struct buf *out);
/* ERR_INTERNAL when damaged. */
enum err_code job_decode(struct str value, uint64_t seq, struct job *job, struct err *err) MUST_USE;
/* Adds its record to the batch, which has failed when memory is short. A new one gets the batch's
 * seq as its own and returns the op, for further fixes. */
void job_put(struct batch *batch, const struct job *job);
uint32_t job_put_new(struct batch *batch, const struct job *job);
/* Its strings, copied; false when memory is short. */
bool job_keep(struct job *job, struct arena *arena);
/* Record, or the derived job of a POST. Unknown seq: ERR_NOT_FOUND. */
enum err_code job_get(struct store_txn *txn, uint64_t space, uint64_t seq, struct job *job,
                      struct err *err) MUST_USE;

/* The batch of a flush; `session` absent: all sessions, empty: the turns without one. After the
 * commit the job is job_{batch->seq}. ERR_INVALID: no session can have that name; ERR_NOT_FOUND:
 * the space is gone. A session that nobody knows makes a job that closes nothing. */
enum err_code flush_build(struct store_txn *txn, uint64_t space, struct str session, int64_t now_ms,
                          struct arena *arena, struct batch **batch, struct err *err) MUST_USE;

/* For the stage step: the oldest flush that is not done; seq 0: none. Strings borrow. */
enum err_code flush_first(struct store_txn *txn, uint64_t space, struct job *job,
                          struct err *err) MUST_USE;
/* Adds to the batch that the flush is done: record, row, counter, expiry. */
void flush_complete(struct batch *batch, const struct job *job, uint32_t closed, int64_t now_ms);

#endif
