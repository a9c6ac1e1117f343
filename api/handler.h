/* What handlers share: the state of one call between its steps, and the few moves that every
 * handler makes (open a snapshot of the space, commit a batch, wait, finish).
 *
 *   read route:  loop --api_start--> reader: handler_read_step -> route->read() -> reply
 *   step route:  loop --api_start--> reader: route->step -> COMMIT/WAIT/LANE … -> handler_finish()
 *
 * A handler never keeps a read transaction across a step: it opens one with handler_open() and ends
 * it before it returns a verdict. After a COMMIT that came back ERR_CONFLICT (or ERR_NOT_FOUND: the
 * space went meanwhile) it builds again from a new snapshot, at most HANDLER_TRIES times.
 *
 * Requests that wait hold no thread but do hold a connection: handler_wait_begin() counts them
 * against options.waiting_max before anything is written, so that a 429 means nothing happened. */
#ifndef HM_API_HANDLER_H
#define HM_API_HANDLER_H

#include "api/idempotency.h"
#include "api/json_out.h"
#include "api/reply.h"
#include "api/routes.h"
#include "core/batch.h"

enum { HANDLER_TRIES = 16 };

struct visit { /* call->state */
    struct str space_name;
    struct str id;  /* the template's other variable */
    uint64_t space; /* set by handler_open() */
    struct param_set params;
    struct idempotency once; /* Idempotency-Key */
    unsigned tries;
    void *own; /* the handler's, in the arena */
};

static inline struct visit *visit_of(const struct api_call *call)
{
    return call->state;
}
static inline struct api_call *call_of(struct step *step)
{
    return (struct api_call *)step; /* a call's first member is its step */
}
static inline const struct param *param_at(const struct api_call *call, unsigned index)
{
    ASSERT(index < visit_of(call)->params.n);
    return &visit_of(call)->params.values[index];
}

/* The process's services, and its wall clock. */
const struct services *handler_services(const struct api_call *call);
int64_t handler_now_ms(const struct api_call *call);

/* Begins a snapshot and finds the space: ERR_NOT_FOUND when there is none. On ERR_OK the caller
 * ends *txn. */
enum err_code handler_open(struct api_call *call, struct store_txn **txn, struct err *err) MUST_USE;
/* The same, but an unknown space is ERR_OK with visit->space 0. */
enum err_code handler_open_any(struct api_call *call, struct store_txn **txn,
                               struct err *err) MUST_USE;

/* The handler's own state, zeroed, also in visit->own. NULL: the reply is an error already. */
void *handler_own(struct api_call *call, size_t size);

/* Replies with the error; STEP_DONE. */
enum step_verdict handler_fail(struct api_call *call, const struct err *err);
/* Completes the reply whose body is written; STEP_DONE. */
enum step_verdict handler_finish(struct api_call *call, int status);
/* Submits; `next` runs when the writer has answered. */
enum step_verdict handler_commit(struct api_call *call, struct batch *batch, step_fn *next);
/* After a COMMIT: true when the batch is to be built again. */
bool handler_again(struct api_call *call);

/* Takes a waiting place: ERR_EXHAUSTED when there is none. It is given back with the reply. */
enum err_code handler_wait_begin(struct api_call *call, struct err *err) MUST_USE;
/* Monotonic ms, `timeout_ms` from now. */
int64_t handler_deadline_ms(const struct api_call *call, uint64_t timeout_ms);
/* Waits for processed_seq >= seq of the visit's space. */
enum step_verdict handler_wait(struct api_call *call, uint64_t seq, int64_t until_ms,
                               step_fn *next);

/* A model call, as STEP_CALL; `next` runs when it is done and calls handler_called() first. Takes
 * no waiting place. When the client leaves meanwhile the call is cancelled: api_left(). */
enum step_verdict handler_call(struct api_call *call, struct model_call *model, step_fn *next);
void handler_called(struct api_call *call);

/* "fact_88" -> 88; what is no such id cannot exist: ERR_NOT_FOUND. */
enum err_code handler_node_id(struct str shown, const char *prefix, uint32_t *id,
                              struct err *err) MUST_USE;
/* "job_12" -> 12. */
enum err_code handler_job_id(struct str shown, uint64_t *seq, struct err *err) MUST_USE;

/* POST turns may create its space (auto_create). */
bool handler_may_create(const struct api_call *call);
/* Location: of the job that the reply names. */
void handler_job_location(struct api_call *call, uint64_t seq);

/* First step of routes with `read`. */
enum step_verdict handler_read_step(struct step *step);

#endif
