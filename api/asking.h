/* A question on its way to what memory holds for it: the steps that query and answer share.
 *
 *   asking_start -- behind min_seq --> WAIT --> again
 *                -- no vector yet ---> CALL embed --> again
 *                -- to be reranked --> recall_pool() --> CALL rerank: facts, episodes, topics --+
 *                                 +-------------------------------------------------------------+
 *                                 v
 *                recall_run() --> use->reply() inside the snapshot --> use->next()
 *
 * Each round opens a snapshot of its own and ends it before it waits or calls. Without models, or
 * with the question's vector in the cache and no reranker, there is one round, one step, one read
 * transaction. A model that fails or is late costs its part of the answer, never the answer:
 * `degraded` names it.
 *
 * Vectors are used when the space's active generation is of the configured model; the dimension is
 * the generation's, since the model's own is not known before it has answered. */
#ifndef HM_API_ASKING_H
#define HM_API_ASKING_H

#include "api/handler.h"
#include "core/model/call.h"
#include "core/recall/recall.h"

struct asked {
    const struct recall_reply *reply; /* borrows from the snapshot */
    unsigned degraded;                /* of enum degraded */
    const struct model_usage *usage;  /* of all model calls so far */
};

struct asking_use {
    bool marks; /* the context's lines end in ids */
    /* Writes or copies what it needs of the reply. */
    enum err_code (*reply)(struct api_call *call, const struct asked *asked, struct err *err);
    /* The snapshot is closed. */
    enum step_verdict (*next)(struct api_call *call);
};

/* First step of the route: reads the body's parameters, then goes on by itself. The parameters are
 * those of query_params, or of answer_params. `use` is constant. */
enum step_verdict asking_start(struct step *step, const struct asking_use *use);

/* The generation that a query of the visit's space may use, NULL: none. `degraded` gets
 * DEGRADED_REINDEX when there should be one. */
enum err_code asking_generation(struct api_call *call, struct store_txn *txn,
                                const struct vectors_generation **usable, unsigned *degraded,
                                struct err *err) MUST_USE;

/* Where use->reply() leaves what use->next() goes on with; it lives in the call's arena. */
void **asking_own(struct api_call *call);
void asking_add_usage(struct model_usage *sum, const struct model_usage *more);

#endif
