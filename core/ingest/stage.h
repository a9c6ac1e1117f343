/* Stage work of a space, built from a snapshot into one batch (DESIGN 6.2–6.6).
 *
 * Order of events: turns by number, flushes where they were asked for, idle closings by time. A
 * unit goes forward from LOOKED until it closes one episode or reaches the end:
 *
 *   turns > LOOKED --boundary--> no cut: buffers, links, LOOKED
 *                            \-> cut: describe -> topic -> facts -> edges, columns, segment
 *
 * A batch holds a chain of such units: each reads the snapshot with what the units before it did
 * laid over it (store_lay()), so it decides as if they had been committed, and their pages are
 * written once for all of them. It has one segment for the documents of all, and no HISTORY of what
 * only its own units saw. A chain ends where there is nothing left, or when it is long enough for
 * the writer.
 *
 * All of it is one batch, so a crash leaves either the whole chain or nothing, and the next run
 * makes the same decisions again, in chains of whatever length: cuts depend on the order of turns
 * alone. When there is nothing left but a fold, an expiry or a purge of rows, the batch is that
 * (maintenance).
 *
 * A batch of the lane carries NEED_STAT(CHANGES) and raises it: two holders of a lane would be
 * seen. Ids of episodes, topics, facts and their documents are taken directly from the counters in
 * the snapshot under that same precondition, which the lane makes unconditional in practice. */
#ifndef HM_CORE_INGEST_STAGE_H
#define HM_CORE_INGEST_STAGE_H

#include "core/batch.h"
#include "core/services.h"

/* What is read and with what. */
struct stage_base {
    struct store_txn *txn;
    uint64_t space;
    const struct services *services;
    struct arena *arena;
};

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
