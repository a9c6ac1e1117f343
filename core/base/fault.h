/* Named fault points: places where tests kill the process or make an operation fail.
 *
 * Built only with -DHYPERMEM_FAULTS (flavour `fault`); elsewhere fault_point() is a constant. The
 * plan is one string "name:nth:action" (action: kill, enospc, eio), comma-separated, set once at
 * start from the configuration key `fault`. tests/crash lists the names with `hypermemd config
 * --faults`. Names are in one table so that the list cannot lie. */
#ifndef HM_CORE_BASE_FAULT_H
#define HM_CORE_BASE_FAULT_H

#include "core/base/str.h"

#define FAULT_TABLE(X)                                                                             \
    X(WRITER_BEFORE_APPLY, "writer.before_apply")                                                  \
    X(WRITER_MID_APPLY, "writer.mid_apply")                                                        \
    X(WRITER_BEFORE_COMMIT, "writer.before_commit")                                                \
    X(WRITER_AFTER_COMMIT, "writer.after_commit")                                                  \
    X(WRITER_BEFORE_NOTIFY, "writer.before_notify")                                                \
    X(STAGE_BEFORE_BUILD, "stage.before_build")                                                    \
    X(STAGE_AFTER_BUILD, "stage.after_build")                                                      \
    X(STAGE_AFTER_COMMIT, "stage.after_commit")                                                    \
    X(FOLD_BEFORE_COMMIT, "fold.before_commit")                                                    \
    X(PURGE_BEFORE_COMMIT, "purge.before_commit")                                                  \
    X(WORK_BEFORE_CALL, "work.before_call")                                                        \
    X(WORK_AFTER_ANSWER, "work.after_answer")                                                      \
    X(WORK_AFTER_COMMIT, "work.after_commit")                                                      \
    X(REPLY_BEFORE_SEND, "reply.before_send")

enum fault_id {
#define X(id, name) FAULT_##id,
    FAULT_TABLE(X)
#undef X
        FAULT_COUNT
};

#ifdef HYPERMEM_FAULTS
/* Sets the plan; false when a name or an action is unknown. Call once, before threads start. */
bool fault_plan(struct str plan);
/* Counts a visit: returns 0 (go on), ENOSPC or EIO, or kills the process with SIGKILL. */
int fault_point(enum fault_id id);
const char *fault_name(enum fault_id id);
#else
static inline int fault_point(enum fault_id id)
{
    (void)id;
    return 0;
}
#endif

#endif
