/* Deleting on request, cascading as DESIGN 13 (row "delete") says. Runs in the space's lane.
 *
 *   turn ----> its facts: lose a source; without another source they go
 *     |           `--> fact hyperedges, hash and source rows, fact document
 *     +------> its episode: rebuilt from the turns that are left; without any it goes
 *     |           `--> its topics: rebuilt from the episodes that are left; without any they go
 *     |                   |--> later topics of the line: rebuilt, they began with its keywords
 *     |                   `--> previous and next of the line meet; a line without its first topic
 *     is |                        named after the second
 *     `------> its documents' neighbours in the session are linked to each other
 *
 * An open or unlooked turn just goes (its buffer is rewritten). Deleting a fact leaves its
 * FACT_NEVER row, so that no redo makes it again; its episode's text stays. A topic's delete
 * removes the episodes that are in no other topic; an episode's its turns. HISTORY of everything
 * that went or was rebuilt is blanked; the client ids are free. Names of sessions and speakers
 * stay: their ordinals are in use for ever. One batch each; METRIC_*_DELETED is the caller's,
 * after the commit.
 *
 * A fact that loses its first source keeps its wording and takes time and role of the next one. The
 * fact of a short answer quotes the question of the turn before (core/ingest/facts.h): when that
 * turn goes, the answer is no source of it any more.
 * The model's work on an episode that goes ends at once, and its dead letter goes.
 * A turn's row keeps naming facts that are gone: the index knows them as dead.
 *
 * Costs: reads what it changes, the turns of rebuilt episodes and the episodes of rebuilt topics.
 * */
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

/* The topics or the facts of an episode are to be made again by a model: it leaves its topics, its
 * turns are sources of nothing, and with the facts they are unfinished until the next batch. */
struct remove_unlink {
    struct store_txn *txn;
    uint64_t space;
    uint32_t episode;
    bool topics, facts;
};
enum err_code remove_unlink(const struct remove_unlink *what, struct arena *arena,
                            struct batch **batch, struct err *err) MUST_USE;

#endif
