#include "api/handler.h"

#include <inttypes.h>

#include "api/api_int.h"
#include "core/graph/node_id.h"
#include "core/model/call.h"

const struct services *handler_services(const struct api_call *call)
{
    return call->api->services;
}

int64_t handler_now_ms(const struct api_call *call)
{
    return clock_now_ms(handler_services(call)->clock);
}

enum err_code handler_open_any(struct api_call *call, struct store_txn **txn, struct err *err)
{
    struct visit *visit = visit_of(call);
    enum err_code code = store_begin(handler_services(call)->store, txn, err);
    if (code != ERR_OK)
        return code;
    code = store_space_find(*txn, visit->space_name, &visit->space, err);
    if (code != ERR_OK) {
        store_end(*txn);
        *txn = NULL;
    }
    return code;
}

enum err_code handler_open(struct api_call *call, struct store_txn **txn, struct err *err)
{
    enum err_code code = handler_open_any(call, txn, err);
    if (code != ERR_OK || visit_of(call)->space != 0)
        return code;
    store_end(*txn);
    *txn = NULL;
    return err_set_param(err, ERR_NOT_FOUND, "space", "there is no space \"%.*s\"",
                         STR_FMT(visit_of(call)->space_name));
}

void *handler_own(struct api_call *call, size_t size)
{
    void *own = arena_zalloc(call->arena, 1, size);
    visit_of(call)->own = own;
    if (own == NULL)
        api_refuse(call, ERR_EXHAUSTED, NULL, "no memory for the request");
    return own;
}

enum step_verdict handler_fail(struct api_call *call, const struct err *err)
{
    reply_error(call, err);
    return STEP_DONE;
}

enum step_verdict handler_finish(struct api_call *call, int status)
{
    reply_finish(call, status);
    return STEP_DONE;
}

enum step_verdict handler_commit(struct api_call *call, struct batch *batch, step_fn *next)
{
    call->step.batch = batch;
    call->step.queue = STORE_TURNS;
    call->step.run = next;
    return STEP_COMMIT;
}

bool handler_again(struct api_call *call)
{
    struct visit *visit = visit_of(call);
    struct step *step = &call->step;
    if (step->outcome != ERR_CONFLICT && step->outcome != ERR_NOT_FOUND)
        return false;
    if (visit->tries++ < HANDLER_TRIES)
        return true;
    /* The writer applied others' batches each time; this is load, not the client's fault. */
    step->outcome =
        err_set(&step->err, ERR_UNAVAILABLE, "the space changes too fast; nothing was done");
    return false;
}

enum err_code handler_wait_begin(struct api_call *call, struct err *err)
{
    struct api *api = call->api;
    if (call->waiting)
        return ERR_OK;
    unsigned before = atomic_fetch_add_explicit(&api->waiting, 1, memory_order_relaxed);
    if (before >= api->options.waiting_max) {
        atomic_fetch_sub_explicit(&api->waiting, 1, memory_order_relaxed);
        return err_set(err, ERR_EXHAUSTED, "too many requests wait already; ask without waiting");
    }
    call->waiting = true;
    return ERR_OK;
}

int64_t handler_deadline_ms(const struct api_call *call, uint64_t timeout_ms)
{
    return clock_mono_ms(handler_services(call)->clock) + (int64_t)timeout_ms;
}

enum step_verdict handler_wait(struct api_call *call, uint64_t seq, int64_t until_ms, step_fn *next)
{
    struct step *step = &call->step;
    step->wait_space = visit_of(call)->space;
    step->wait_seq = seq;
    step->wait_until_ms = until_ms;
    step->timed_out = false;
    step->run = next;
    return STEP_WAIT;
}

enum step_verdict handler_call(struct api_call *call, struct model_call *model, step_fn *next)
{
    /* Pairs with api_left(), on the loop. */
    atomic_store_explicit(&call->under_way, &model->exchange, memory_order_release);
    call->step.call = model;
    call->step.run = next;
    return STEP_CALL;
}

void handler_called(struct api_call *call)
{
    atomic_store_explicit(&call->under_way, NULL, memory_order_release);
}

enum err_code handler_node_id(struct str shown, const char *prefix, uint32_t *id, struct err *err)
{
    if (node_id_parse(shown, prefix, id))
        return ERR_OK;
    return err_set_param(err, ERR_NOT_FOUND, prefix, "there is no such %s", prefix);
}

enum err_code handler_job_id(struct str shown, uint64_t *seq, struct err *err)
{
    struct str digits = str_part(shown, sizeof "job_" - 1, shown.len);
    bool fine = str_starts(shown, STR("job_")) && digits.len != 0 && digits.at[0] != '0' &&
                str_u64(digits, UINT64_MAX, seq);
    return fine ? ERR_OK : err_set_param(err, ERR_NOT_FOUND, "job", "there is no such job");
}

bool handler_may_create(const struct api_call *call)
{
    return call->api->options.auto_create;
}

void handler_job_location(struct api_call *call, uint64_t seq)
{
    /* A valid name needs no escape in a path. */
    reply_header(call, "Location",
                 str_printf(call->arena, "/v1/spaces/%.*s/jobs/job_%" PRIu64,
                            STR_FMT(visit_of(call)->space_name), seq));
}

enum step_verdict handler_read_step(struct step *step)
{
    struct api_call *call = call_of(step);
    struct store_txn *txn = NULL;
    struct err err;
    enum err_code code = visit_of(call)->space_name.at != NULL
                             ? handler_open(call, &txn, &err)
                             : store_begin(handler_services(call)->store, &txn, &err);
    if (code == ERR_OK)
        code = call->route->read(call, txn, &err);
    store_end(txn);
    return code == ERR_OK ? handler_finish(call, 200) : handler_fail(call, &err);
}
