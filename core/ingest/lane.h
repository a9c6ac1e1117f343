/* Lanes: one structural change of a space at a time (DESIGN 3, Order).
 *
 * Turns are appended by anybody at any time, but what rewrites a space's structure (boundary and
 * the stages behind it, deletes, folds) runs serially per space, so its batches never race each
 * other. A lane is entered by STEP_LANE. Waiting deletes go before stage work. Spaces take turns:
 * a stage step does one unit of work (one episode, one fold), commits, and queues again behind the
 * other spaces.
 *
 * Due work is found in the DUE rows: nothing is scanned at start or while idle. At most LANES_MAX
 * spaces have a stage step at once; the others' DUE rows wait on disk, so memory is bounded.
 *
 *   store's watcher --lanes_due--> [lane of a space] --submit--> stage workers
 *   API delete step --STEP_LANE--> lanes_enter ----------------> readers
 *
 * I1  a lane has at most one holder.  I2  a space whose DUE row is <= now has a stage step queued
 * or running, or is counted as overflow, which makes the next free place scan the DUE rows.
 * Threads: all calls from any thread; one lock, never held over a callback or I/O. */
#ifndef HM_CORE_INGEST_LANE_H
#define HM_CORE_INGEST_LANE_H

#include "core/base/step.h"
#include "core/services.h"

enum { LANES_MAX = 256 };

struct lanes;

/* Hands a step to the pool it names. */
typedef void lanes_submit_fn(struct step *step, void *arg);

struct lanes *lanes_new(lanes_submit_fn *submit, void *arg); /* NULL: no memory */
/* Sets what the stage steps use; before the first lanes_due(). */
void lanes_bind(struct lanes *lanes, const struct services *services);
void lanes_free(struct lanes *lanes); /* all steps must be finished */

/* The space has work now. Called by the store's watcher and by scans. */
void lanes_due(struct lanes *lanes, uint64_t space);
/* Looks for spaces that are due: queues a scan on a stage worker. Called once at start and when the
 * time told by lanes_next_due_ms() has come. */
void lanes_scan(struct lanes *lanes);
/* Wall time of the next DUE row that a scan has seen or a watcher told; UINT64_MAX: none. */
uint64_t lanes_next_due_ms(struct lanes *lanes);
void lanes_note_due(struct lanes *lanes, uint64_t due_ms);

/* For the runtime: STEP_LANE and STEP_DONE. */
void lanes_enter(struct lanes *lanes, struct step *step);
void lanes_leave(struct lanes *lanes, struct step *step);

/* No new stage step is started; those that run finish their unit. Waiting deletes still run. */
void lanes_stop(struct lanes *lanes);
/* Steps queued or running; 0 after lanes_stop() means the pools can go. */
unsigned lanes_busy(struct lanes *lanes);

#endif
