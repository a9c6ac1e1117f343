/* What the files of accept share. */
#ifndef HM_CORE_INGEST_ACCEPT_INT_H
#define HM_CORE_INGEST_ACCEPT_INT_H

#include "core/ingest/accept.h"

/* One call in the making. */
struct accept_work {
    struct store_txn *txn;
    uint64_t space; /* 0: the batch creates it, so nothing is stored yet */
    const struct space *settings;
    const struct accept_call *call;
    struct arena *arena;
    uint32_t *fresh; /* indexes in the call of the new turns, in order */
    uint32_t n_fresh;
    struct space_stat stat; /* zeroed for a space that the batch creates */
    struct accept_plan *plan;
};

enum err_code accept__memory(struct err *err);

/* accept_match.c: how many leading messages the history rule skips; their plan rows are filled. */
enum err_code accept__skip_history(struct accept_work *work, uint32_t *skipped, struct err *err);
/* Fills the plan row of turn `i` when its client id is known already; ERR_CONFLICT when the content
 * differs. */
enum err_code accept__find_duplicate(struct accept_work *work, uint32_t i, bool *found,
                                     struct err *err);

/* accept_batch.c: the batch of the fresh turns. */
enum err_code accept__make_batch(struct accept_work *work, struct str name, struct err *err);

#endif
