/* What an operator asks of the work with models: to make a dead letter again, to stop waiting, to
 * make episodes again that were made built in. All in the space's lane.
 *
 *   retry    a failed or cancelled job begins again with describe; what it has made serves until
 *            the model's answers replace it
 *   cancel   a job that waits or runs ends at its next turn with the built-in form
 *   redo     a job for one episode that no model told, or only in part */
#ifndef HM_CORE_INGEST_WORK_ADMIN_H
#define HM_CORE_INGEST_WORK_ADMIN_H

#include "core/ingest/stage_int.h"

/* *job: as it is after the commit. ERR_CONFLICT: its state does not allow it. */
enum err_code work_retry(const struct stage_base *base, uint64_t seq, struct batch **batch,
                         struct job *job, struct err *err) MUST_USE;
enum err_code work_cancel(const struct stage_base *base, uint64_t seq, struct batch **batch,
                          struct job *job, struct err *err) MUST_USE;

/* The first episode behind `after` that has no job and, with `all` false, was not told by a model:
 * *episode, 0 when there is none; *batch gives it a job, job_{seq of the batch}. */
struct work_redo {
    uint32_t after;
    bool all;
    uint64_t made_after; /* jobs with a greater seq are of this redo: not looked at; 0: all are */
};
enum err_code work_redo(const struct stage_base *base, const struct work_redo *which,
                        uint32_t *episode, struct batch **batch, struct err *err) MUST_USE;

#endif
