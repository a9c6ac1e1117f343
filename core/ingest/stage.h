/* One unit of stage work of a space, built from a snapshot into one batch (DESIGN 6.2–6.6).
 *
 * Order of events: turns by number, flushes where they were asked for, idle closings by time. A
 * unit goes forward from LOOKED until it closes one episode or reaches the end:
 *
 *   turns > LOOKED --boundary--> no cut: buffers, links, LOOKED
 *                            \-> cut: describe -> topic -> facts -> edges, columns, segment
 *
 * All of it is one batch, so a crash leaves either the whole unit or nothing, and the next run
 * makes the same decision again: cuts depend on the order of turns alone. When there is nothing
 * left but a fold, an expiry or a purge of rows, the unit is that (a maintenance batch).
 *
 * A batch of the lane carries NEED_STAT(CHANGES) and raises it: two holders of a lane would be
 * seen. Ids of episodes, topics, facts and their documents are taken directly from the counters in
 * the snapshot under that same precondition, which the lane makes unconditional in practice. */
#ifndef HM_CORE_INGEST_STAGE_H
#define HM_CORE_INGEST_STAGE_H

#include "core/batch.h"
#include "core/services.h"

struct stage_unit {
    struct batch *batch;         /* NULL: nothing to do now */
    bool more;                   /* probably more to do at once */
    enum store_queue queue;      /* STORE_STAGES or STORE_HOUSEKEEPING */
    enum metric_histogram stage; /* what the time is counted under */
    uint32_t episodes, facts, facts_duplicate, facts_echo, topics_new, topics_joined,
        topics_successor; /* for the counters, after the commit */
};

enum err_code stage_build(struct store_txn *txn, uint64_t space, const struct services *services,
                          struct arena *arena, struct stage_unit *unit, struct err *err) MUST_USE;

#endif
