/* Jobs that a client can see (DESIGN 10, jobs). A POST's job is job_{seq} without a record of its
 * own: completed once processed_seq >= seq. Flushes (and later work with models, dead letters)
 * have a JOB record, keyed by the seq of the batch that asked for it; finished ones go after
 * JOB_KEEP_MS.
 *
 * Flush: a durable request, ordered after the turns accepted before it. The batch takes the seq, a
 * FLUSH row (seq -> last turn number before it) and the JOB record. The stage step closes the open
 * buffers when it has looked at all turns up to that number, and completes the record. */
#ifndef HM_CORE_INGEST_JOB_H
#define HM_CORE_INGEST_JOB_H

#include "core/batch.h"

enum job_kind { JOB_TURNS, JOB_FLUSH, JOB_KINDS };
enum job_state { JOB_PENDING, JOB_RUNNING, JOB_WAITING, JOB_COMPLETED, JOB_FAILED, JOB_CANCELLED };

struct job {
    uint64_t seq;  /* from the key: its id is job_{seq} */
    uint8_t kind;  /* enum job_kind */
    uint8_t state; /* enum job_state */
    bool degraded;
    bool all_sessions; /* flush: every session, else `session` */
    int64_t created_ms, updated_ms;
    uint32_t after_n; /* flush: turns up to this are before it */
    uint32_t closed;  /* flush: episodes closed */
    struct str session;
    struct str error; /* why it failed */
};

const char *job_kind_slug(uint8_t kind);
const char *job_state_slug(uint8_t state);
/* After the u8 format: u8 kind, state and flags (1 degraded, 2 all sessions), LE32 after_n (the
 * hole of a new flush) and closed, LE64 created and updated, session and error with their lengths.
 * */
enum { JOB_AFTER_AT = 4 };
void job_encode(const struct job *job, struct buf *out);
/* ERR_INTERNAL when damaged. */
enum err_code job_decode(struct str value, uint64_t seq, struct job *job, struct err *err) MUST_USE;
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
