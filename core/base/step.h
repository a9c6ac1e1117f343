/* Steps: what a worker runs (DESIGN 3, "Handlers and stages are steps").
 *
 * A step is a plain synchronous function on a worker thread. It returns what it needs next and sets
 * `run` to the function that continues; nobody holds a thread while waiting. A struct step is the
 * first member of the struct that carries the work's own state (an API call, a stage of a space).
 *
 *   STEP_DONE    finished: the runtime leaves the lane if one is held and calls finish()
 *   STEP_COMMIT  submit `batch` to `queue`; when the writer has answered, `outcome` (and `err`) are
 *                set and run() is called again on a worker of the same pool. Refusals that name a
 *                full queue or disk come back the same way
 *   STEP_WAIT    until processed_seq of wait_space >= wait_seq, or the space is dropped, or
 *                wait_until_ms (monotonic) passes: then timed_out is true. wait_space 0: the time
 *                alone
 *   STEP_CALL    carry out `call` (core/model/call.h): run() is called when it is done, on a worker
 *                of the same pool. A lane that is held is left first
 *   STEP_LANE    wait for the lane of lane_space (core/ingest/lane.h): run() is called when nobody
 *                else holds it. It is held, across commits and waits, until STEP_DONE, STEP_CALL or
 *                another STEP_LANE (which leaves it and queues again: how a long work yields)
 *
 * No read transaction is open when a step returns. Steps of one pool run in parallel; a step runs
 * on one thread at a time, and the hand-over makes its memory visible. */
#ifndef HM_CORE_BASE_STEP_H
#define HM_CORE_BASE_STEP_H

#include "core/base/err.h"
#include "core/store.h"

enum step_verdict { STEP_DONE, STEP_COMMIT, STEP_WAIT, STEP_CALL, STEP_LANE };
enum step_pool { STEP_READERS, STEP_STAGES, STEP_POOLS };

struct model_call;
struct step;
typedef enum step_verdict step_fn(struct step *step);

struct step {
    step_fn *run;                      /* next function; set before it is handed over */
    void (*finish)(struct step *step); /* once, on a worker, after STEP_DONE */
    enum step_pool pool;
    /* STEP_COMMIT */
    struct batch *batch;
    enum store_queue queue;
    enum err_code outcome; /* ERR_OK, or why the batch was refused */
    struct err err;        /* set when outcome is not ERR_OK */
    /* STEP_WAIT */
    uint64_t wait_space, wait_seq;
    int64_t wait_until_ms;
    bool timed_out;
    /* STEP_CALL */
    struct model_call *call; /* in work while it is not NULL; the runtime sets it to NULL */
    /* STEP_LANE */
    uint64_t lane_space; /* 0: holds none and wants none */
    bool lane_held;      /* the runtime's */
    struct step *next;   /* the runtime's link */
};

#endif
