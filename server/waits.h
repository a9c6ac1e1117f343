/* Steps that wait until the work of a space has come far enough (STEP_WAIT), found by space.
 *
 *   bucket[hash(space)] -> step -> step -> …   linked by step->next, no memory of their own
 *
 * A waiting step ends here in one of four ways: waits_tell() says that its space's processed_seq
 * has reached wait_seq or that the space is gone, waits_expire() that its time is over,
 * waits_take() that nobody listens any more, or waits_end() that the daemon stops; in the last
 * three timed_out is set. Whoever takes a step out hands it on, and nobody touches it afterwards.
 *
 * I1  a step is in at most one bucket, and that is its space's.
 * I2  next_ms is at most the least wait_until_ms of all steps that wait.
 *
 * Threads: any; one lock (rank: below the pools', above none), never held over a callback. Costs:
 * telling walks one bucket, expiring walks all: a thousand steps are some microseconds. */
#ifndef HM_SERVER_WAITS_H
#define HM_SERVER_WAITS_H

#include "core/base/step.h"

struct waits;

struct waits *waits_new(void);        /* NULL: no memory */
void waits_free(struct waits *waits); /* none may be waiting; NULL is fine */

/* True when it now waits; false when waits_end() was called: the caller goes on with the step. */
bool waits_add(struct waits *waits, struct step *step);
/* Those below return a list linked by step->next, in no order; NULL when there are none. */
struct step *waits_tell(struct waits *waits, uint64_t space, uint64_t processed_seq, bool dropped);
struct step *waits_expire(struct waits *waits, int64_t now_ms);
/* Takes one out as timed out; false when it does not wait. `step` is only compared. */
bool waits_take(struct waits *waits, const struct step *step);
/* All of them, and every later one at once. */
struct step *waits_end(struct waits *waits);

/* Monotonic time at which waits_expire() is next wanted; INT64_MAX: never. */
int64_t waits_next_ms(struct waits *waits);
unsigned waits_count(struct waits *waits);

#endif
