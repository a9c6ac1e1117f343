/* The runner: pools of workers that run steps (core/base/step.h, DESIGN 3).
 *
 *   loop --runner_submit--> [readers queue] --> worker: run() --DONE----> finish()
 *   lanes ----------------> [stages queue]  -->    ^      |---COMMIT--> store_submit … writer --+
 *                                                  |      |---WAIT----> waits … writer, timer --+
 *                                                  |      `---LANE----> lanes … holder leaves --+
 *                                                  +---------------- queued again --------------+
 *
 * Bounds. A step that was taken in is never refused again: being queued takes no memory (the link
 * is in the step), and a writer that has committed must be able to hand its step back. So the bound
 * is on taking in: runner_submit() refuses while `queue_max` steps are queued in the pool. What is
 * alive is bounded by who submits: a connection has one request at a time, and LANES_MAX.
 *
 * Calls. A call to a model of this process takes its thread for as long as it computes. A reader
 * does so itself: somebody waits for the answer. Stage steps hand over to the encoders, a third
 * pool of a few threads, so that texts to be embedded keep neither the stages' workers nor more
 * than those few cores; they go on in their own pool.
 *
 * Wakes. Waking a worker costs as much as its step, so what comes together is handed over together:
 * the answers of a group commit, and the requests that one round of MHD brings, go into a pool
 * under one lock, and the wakes, at most one a worker, follow after it.
 *
 * A wait is registered first and the counters are read afterwards: a commit in between is told by
 * the watcher, a commit before is seen by the read, so no wake-up is lost (R3). The read asks
 * waits_tell() with what it found, the same way as the watcher does: the step itself belongs to
 * somebody else from the moment it waits.
 *
 * Time. The runner has no thread for it: runner_next_ms() tells when runner_tick() is next wanted,
 * and `wake` is called (from any thread, to hand over only) when that moment has become earlier.
 *
 * Invariants
 *   R1  a step is in one place: a queue, a worker, the writer, waits, or lanes.
 *   R2  after a step was handed over nobody but its new holder touches it.
 *   R3  a step whose condition holds is woken, whatever the order of commit and wait.
 *   R4  runner_free() finds both queues empty and no step alive.
 *
 * Threads and locks. Each pool has one lock; rank: pool, waits, lanes are leaves, never held
 * together, never held over run(), finish(), I/O or logging. */
#ifndef HM_SERVER_RUNNER_H
#define HM_SERVER_RUNNER_H

#include "core/base/step.h"
#include "core/ingest/lane.h"
#include "core/services.h"

struct runner;

typedef void runner_wake_fn(void *arg);

struct runner_options {
    unsigned threads[STEP_POOLS];   /* at least 1 */
    unsigned encoders;              /* 0: stage workers carry out such calls themselves */
    unsigned queue_max[STEP_POOLS]; /* queued steps above which runner_submit() refuses */
    const struct clock *clock;
    const struct log *log; /* may be NULL */
    runner_wake_fn *wake;
    void *wake_arg;
};

/* Workers start at once; services come with runner_bind(), before the first step. */
enum err_code runner_new(const struct runner_options *options, struct runner **out,
                         struct err *err) MUST_USE;
/* Makes the runner the store's watcher. `services` is borrowed until runner_free(). */
void runner_bind(struct runner *runner, const struct services *services);

/* Takes a step in. ERR_UNAVAILABLE when the pool is full; then the step is the caller's still. */
enum err_code runner_submit(struct runner *runner, struct step *step, struct err *err) MUST_USE;
/* The same for a list linked by step->next, with one wake for all. Returns the list of those that
 * found their pool full. */
struct step *runner_submit_list(struct runner *runner, struct step *steps) MUST_USE;
/* lanes_submit_fn; arg is the runner. Never refused. */
void runner_submit_lane(struct step *step, void *arg);
/* store_watch_fn; arg is the runner. */
void runner_watch(const struct store_change *change, void *arg);

/* Monotonic ms of the next tick that is wanted; INT64_MAX: none. */
int64_t runner_next_ms(struct runner *runner);
void runner_tick(struct runner *runner);

/* Ends the step's wait as timed out, if it waits; the step must be alive. */
void runner_end_wait(struct runner *runner, struct step *step);
/* Ends every wait, present and future, as timed out, and scans for due work no more. */
void runner_end_waits(struct runner *runner);
unsigned runner_queued(struct runner *runner, enum step_pool pool);
unsigned runner_waiting(struct runner *runner);
/* No step may be alive; joins the workers. NULL is fine. */
void runner_free(struct runner *runner);

#endif
