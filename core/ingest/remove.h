/* Deleting on request, cascading as DESIGN 13 (row "delete") says. Runs in the space's lane.
 *
 * turn -> its facts without another source -> memberships, postings, columns, hash rows; the
 * episode's and topics' titles, summaries and keywords are rebuilt built-in from what is left; what
 * is empty goes; HISTORY of everything that went or was rebuilt is blanked; the client id is free.
 * An open or unlooked turn just goes (its buffer is rewritten). Deleting a fact keeps its hash row
 * (id 0), so that no redo makes it again. A topic's delete removes the episodes that are in no
 * other topic; an episode's its turns. One batch each. */
#ifndef HM_CORE_INGEST_REMOVE_H
#define HM_CORE_INGEST_REMOVE_H

#include "core/batch.h"
#include "core/services.h"

struct remove_counts {
    uint32_t turns, facts, episodes, topics;
};

/* `kind` is KIND_TURN, KIND_FACT, KIND_EPISODE or KIND_TOPIC. ERR_NOT_FOUND when there is none. */
enum err_code remove_build(struct store_txn *txn, uint64_t space, enum store_kind kind, uint32_t id,
                           struct arena *arena, struct batch **batch, struct remove_counts *counts,
                           struct err *err) MUST_USE;

#endif
