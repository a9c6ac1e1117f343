/* Lanes: one structural change of a space at a time (DESIGN 3, Order).
 *
 * Turns are appended by anybody at any time, but what rewrites a space's structure (boundary and
 * the stages behind it, deletes, folds) runs serially per space, so its batches never race each
 * other. A lane is entered by STEP_LANE. Waiting deletes go before stage work. Spaces take turns:
 * a stage step does one unit of work (one episode, one fold), commits, and queues again behind the
 * other spaces.
 *
 * Due work is found in the DUE rows: nothing is scanned at start or while idle. At most LANES_MAX
 * spaces have a stage step at once; the others' DUE rows wait on disk, so memory is bounded. While
 * some wait, each step gives its place up after one unit and the scan goes round, so that no space
 * is served twice before another is served once.
 *
 *   store's watcher --lanes_due--> [lane of a space] --submit--> stage workers
 *   API delete step --STEP_LANE--> lanes_enter ----------------> readers
 *
 * When a unit fails. ERR_CONFLICT: built again, a few times. Disk full, queue full, store latched:
 * all stage work pauses for a second, then one space tries until a commit succeeds. Anything else
 * lies in that space: it rests for 1, 2, 4 … 256 s and after LANE_ATTEMPTS failures until something
 * in it changes. Nothing spins: whatever waits has a time in lanes_next_due_ms().
 *
 * Pace. When the stages have caught up with a space, they look at it again stage_pace_ms later at
 * the earliest: an agent that posts turn by turn makes one piece of work of many turns, not one of
 * each, and the turns are found meanwhile all the same. Whoever waits for the result hurries it.
 *
 * I1  a lane has at most one holder.
 * I2  a space whose DUE row is <= now has a stage step queued or running, or rests, or is paced, or
 *     is counted as overflow, which makes the next free place scan the DUE rows.
 * I3  no memory is taken after lanes_new(), so nothing here can fail; when all lanes are in use a
 *     step is parked until one is free.
 * Threads: all calls from any thread; one lock, never held over a callback or I/O. */
#ifndef HM_CORE_INGEST_LANE_H
#define HM_CORE_INGEST_LANE_H

#include "core/base/step.h"
#include "core/services.h"

enum { LANES_MAX = 256, LANE_ATTEMPTS = 10 };

struct lanes;

/* Hands a step to the pool it names. Called without the lock, also from inside lanes_due(). */
typedef void lanes_submit_fn(struct step *step, void *arg);

struct lanes *lanes_new(lanes_submit_fn *submit, void *arg); /* NULL: no memory */
/* Sets what the stage steps use; before the first lanes_due(). */
void lanes_bind(struct lanes *lanes, const struct services *services);
void lanes_free(struct lanes *lanes); /* all steps must be finished */

/* The space has work now. Called by the store's watcher and by scans. */
void lanes_due(struct lanes *lanes, uint64_t space);
/* Somebody waits for the space's work: no pace for what is due now and what comes next. */
void lanes_hurry(struct lanes *lanes, uint64_t space);
/* Looks for spaces that are due: queues a scan on a stage worker. Called once at start and when the
 * time told by lanes_next_due_ms() has come. */
void lanes_scan(struct lanes *lanes);
/* Wall time of the next DUE row that a scan has seen or a watcher told, or of the next attempt
 * after a failure; UINT64_MAX: none. Stage steps move it too: look at it at least once a second. */
uint64_t lanes_next_due_ms(struct lanes *lanes);
void lanes_note_due(struct lanes *lanes, uint64_t due_ms);
/* A step of others that works for the space could not go on: it rests, or all of them pause. */
void lanes_work_failed(struct lanes *lanes, uint64_t space, const struct err *err);
/* It has committed something: the next failure is the first again. */
void lanes_work_went_on(struct lanes *lanes, uint64_t space);

/* For the runtime. STEP_LANE: leaves the lane that the step holds, if any, and queues for that of
 * lane_space; once granted, lane_held is set and the step is submitted. */
void lanes_enter(struct lanes *lanes, struct step *step);
/* STEP_DONE of a step with lane_held: clears it and passes the lane on; before finish(). */
void lanes_leave(struct lanes *lanes, struct step *step);

/* No new stage step is started; those that run finish their unit. Waiting deletes still run. */
void lanes_stop(struct lanes *lanes);
/* Steps queued or running, those of others that hold or want a lane included; 0 after lanes_stop()
 * means the pools can go. */
unsigned lanes_busy(struct lanes *lanes);
void lanes_check(struct lanes *lanes);

#endif
