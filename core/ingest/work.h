/* Work that waits for a model: the stages of closed episodes, boundary questions (DESIGN 6).
 *
 * With a chat model an episode is closed as a draft, found by its words at once, and a durable job
 * takes it on: describe -> topic -> facts, one model call and one batch each.
 *
 *   closing batch   episode (draft: no topic, no facts), JOB record, WORK row
 *        |
 *        |  +------------------ a work step, no lane, no transaction over the call --------------+
 *        +->| prepare: snapshot -> question | CALL | LANE | apply: snapshot -> batch | COMMIT    |
 *           +------------------------------------------------------------------------------------+
 *                once a stage; topic in closing order: only the first job of the space that has
 *                not passed it yet is runnable (DESIGN 3, Order)
 *
 * A boundary question of a session is the same without a job: its due time stands in the BUFFER
 * row, and its answer closes drafts, one batch a cut.
 *
 * Vectors are brought up to date the same way, without a job: one step a space, whose due time is
 * STAT_EMBED_DUE (embed.h). EMBEDS_MAX at once, so that they leave places for the others. With an
 * outage the due time moves away; it is never given up.
 *
 * When a model fails. A model call has tried what it can (core/model/call.h). Then the row gets a
 * later due time (doubled each time, full jitter, at least what the provider asked for) and the
 * step ends: nothing is held. After WORK_ATTEMPTS failures in a row, or model_patience_ms after the
 * first of them, the built-in form is committed, marked degraded, and the job stays as a dead
 * letter that a call can retry. So nothing behind it starves and no turn is lost.
 *
 * Found again. WORK rows and BUFFER rows are what is due; STAT_WORK_DUE is the least due time of
 * those that are runnable, and the space's DUE row follows from it, so a start scans nothing. The
 * lane's stage step, which looks at the space anyway, dispatches what is due and not yet running;
 * when a step ends, the batch it has committed makes the space due and brings the next.
 *
 * WORK row: key b64 job seq; value LE64 due ms (0: at once), LE64 seq of the first turn's batch
 * (what holds processed_seq back), u8 stage.
 *
 * W1  at most one step a row, one to embed a space, EMBEDS_MAX of those, WORKS_MAX in all,
 *     WORKS_PER_SPACE a space.
 * W2  WORK rows and the stages of jobs are written in the space's lane only.
 * W3  no memory but the step's own arena; a table of WORKS_MAX places is made once.
 * Threads: any; one lock, a leaf. */
#ifndef HM_CORE_INGEST_WORK_H
#define HM_CORE_INGEST_WORK_H

#include "core/base/step.h"
#include "core/ingest/job.h"
#include "core/ingest/lane.h"

enum { WORKS_MAX = 256, WORKS_PER_SPACE = 16, EMBEDS_MAX = 32, WORK_ATTEMPTS = 6 };

struct works;

struct works *works_new(lanes_submit_fn *submit, void *arg); /* NULL: no memory */
void works_bind(struct works *works, const struct services *services);
void works_free(struct works *works); /* all steps must be finished; NULL is fine */

/* Starts what is due in the space and not running. For the lane's stage step, which holds the lane.
 *
 * While a call is under way its row stays due, and so does the space. A scan need not look at it
 * for that, but must for everything else: each step knows when its space is to be looked at next
 * (what was not yet due at the last dispatch; at once when something has changed since). */
struct works_look {
    uint64_t due_ms;  /* STAT_WORK_DUE as it should be; 0: nothing waits */
    uint64_t next_ms; /* when to look at the space again, whatever runs; UINT64_MAX: never */
    bool at_work;     /* some step of the space is queued or running: its end looks at it again */
    bool crowded;     /* something due has found no place: it is looked for when one is free */
};
enum err_code works_dispatch(struct works *works, struct store_txn *txn, uint64_t space,
                             struct works_look *look, struct err *err) MUST_USE;
/* Something in the space has changed that may not have been seen by the last dispatch. */
void works_want(struct works *works, uint64_t space);
/* When a scan must look at the space though its DUE row is old; 0: now. */
uint64_t works_next_look_ms(struct works *works, uint64_t space);
/* Finds the spaces whose vectors are behind though nothing says so: once, at start, behind
 * everything else. Nothing is done without an embed provider. */
void works_sweep(struct works *works);
/* For a scan: nothing but vectors is due in the space, and all places for those are taken. Who
 * frees them looks for it. */
bool works_embed_later(struct works *works, struct store_txn *txn, uint64_t space, uint64_t now_ms);
/* Cancels the step of a job, if one runs: its call ends, its answer is dropped. */
void works_cancel(struct works *works, uint64_t space, uint64_t seq);
/* No new step is started; those that run end at their next turn. */
void works_stop(struct works *works);
unsigned works_busy(struct works *works);
void works_check(struct works *works);

/* --- rows --- */

struct work_row {
    uint64_t seq;       /* of its job */
    uint64_t due_ms;    /* 0: at once */
    uint64_t first_seq; /* of the batch that brought the episode's first turn */
    uint8_t stage;      /* enum job_stage: what comes next */
};

void work_put(struct batch *batch, const struct work_row *row);
/* The same with the batch's own seq as its key. */
void work_put_new(struct batch *batch, const struct work_row *row);
void work_del(struct batch *batch, uint64_t seq);
/* Absent: ERR_OK with seq 0. */
enum err_code work_get(struct store_txn *txn, uint64_t space, uint64_t seq, struct work_row *row,
                       struct err *err) MUST_USE;

/* Whether its stage may begin: a topic is assigned behind everything older. */
enum err_code work_is_runnable(struct store_txn *txn, uint64_t space, const struct work_row *row,
                               bool *yes, struct err *err) MUST_USE;

/* What the rows of a space come to. */
struct work_outlook {
    uint64_t due_ms;    /* least of the runnable ones, 0 becomes 1; UINT64_MAX: none */
    uint64_t first_seq; /* least; UINT64_MAX: none */
};
/* As they will be: each of `n` rows in `instead`, ascending by seq, replaces the row of its seq
 * (stage JOB_STAGE_NONE: it goes), and is added when there is none. */
struct work_rows {
    const struct work_row *const *instead;
    unsigned n;
};
enum err_code work_outlook(struct store_txn *txn, uint64_t space, const struct work_rows *rows,
                           struct work_outlook *out, struct err *err) MUST_USE;

#endif
