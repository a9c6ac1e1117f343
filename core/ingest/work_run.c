/* The step of a work: prepare -> call -> lane -> apply -> commit -> again or end. */
#include "core/base/fault.h"
#include "core/base/hash.h"
#include "core/base/limits.h"
#include "core/ingest/lane.h"
#include "core/ingest/work_int.h"

enum {
    CONFLICTS = 8,
    BACKOFF_FIRST_MS = 1000,
    BACKOFF_LAST_MS = 120 * 1000,
};

static const struct work_ops *const ops[WORK_KINDS] = {[WORK_EPISODE] = &work__episode,
                                                       [WORK_BOUNDARY] = &work__boundary,
                                                       [WORK_EMBED] = &work__embed};

static enum step_verdict prepare(struct step *step), apply(struct step *step),
    committed(struct step *step), answered(struct step *step);

static bool is_over(struct work *work)
{
    struct works *works = work->works;
    (void)pthread_mutex_lock(&works->lock);
    bool stopping = works->stopping;
    (void)pthread_mutex_unlock(&works->lock);
    return stopping || atomic_load_explicit(&work->cancelled, memory_order_relaxed);
}

int64_t work__now_ms(const struct work *work)
{
    return clock_now_ms(work->works->services->clock);
}

static uint64_t draw(struct work *work)
{
    work->random = work->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return work->random >> 33;
}

uint64_t work__draw(struct work *work, uint64_t most)
{
    return draw(work) % most;
}

uint64_t work__seed(struct work *work)
{
    uint64_t mix[3] = {draw(work), (uint64_t)clock_mono_ns(work->works->services->clock),
                       work->works->secret};
    return hash64((struct str){(const char *)mix, sizeof mix});
}

struct work_failure work__failure(struct work *work, uint32_t attempts, int64_t failing_ms,
                                  int64_t now_ms)
{
    const struct model_call *call = &work->call;
    unsigned doublings = attempts > 1 ? (attempts - 1 < 8 ? attempts - 1 : 8) : 0;
    int64_t most = (int64_t)BACKOFF_FIRST_MS << doublings;
    if (most > BACKOFF_LAST_MS)
        most = BACKOFF_LAST_MS;
    int64_t wait = 1 + (int64_t)(draw(work) % (uint64_t)most);
    if (wait < call->retry_after_ms)
        wait = call->retry_after_ms;
    int64_t patience = work->works->services->model_patience_ms;
    return (struct work_failure){.due_ms = now_ms + wait,
                                 .given_up = attempts >= WORK_ATTEMPTS ||
                                             now_ms + wait - failing_ms > patience};
}

/* --- errors of our own --- */

/* The space rests as after a stage step that failed; its rows are found again. */
static enum step_verdict failed(struct work *work, const struct err *err)
{
    if (err->code != ERR_NOT_FOUND) {
        work->failed = true;
        lanes_work_failed(work->works->services->lanes, work->space, err);
    }
    return STEP_DONE;
}

static enum err_code at_fault_point(enum fault_id id, struct err *err)
{
    int fault = fault_point(id);
    return fault == 0 ? ERR_OK : err_set(err, ERR_UNAVAILABLE, "fault point gave %d", fault);
}

/* --- the steps --- */

static enum step_verdict want_lane(struct work *work)
{
    work->step.lane_space = work->space;
    work->step.run = apply;
    return STEP_LANE;
}

static enum err_code renew(struct arena **arena, struct err *err)
{
    if (*arena == NULL)
        *arena = arena_new(ARENA_STAGE_BYTES);
    else
        arena_reset(*arena);
    return *arena == NULL ? work__memory(err) : ERR_OK;
}

static enum step_verdict prepare(struct step *step)
{
    struct work *work = (struct work *)(void *)step;
    struct err err = {0};
    struct store_txn *txn = NULL;
    enum work_next next = WORK_END;
    if (is_over(work))
        return STEP_DONE;
    work->asked = false;
    work->conflicts = 0;
    tokenizer_free(work->tokenizer);
    work->tokenizer = NULL;
    enum err_code rc = renew(&work->arena, &err);
    if (rc == ERR_OK)
        rc = store_begin(work->works->services->store, &txn, &err);
    if (rc == ERR_OK)
        rc = ops[work->kind]->prepare(work, txn, &next, &err);
    store_end(txn);
    if (rc != ERR_OK)
        return failed(work, &err);
    if (next == WORK_END)
        return STEP_DONE;
    if (next == WORK_APPLY)
        return want_lane(work);
    ASSERT(next == WORK_CALL);
    rc = store_may_submit(work->works->services->store, STORE_STAGES, &err);
    if (rc != ERR_OK || at_fault_point(FAULT_WORK_BEFORE_CALL, &err) != ERR_OK)
        return failed(work, &err);
    step->call = &work->call;
    step->run = answered;
    return STEP_CALL;
}

static enum step_verdict answered(struct step *step)
{
    struct work *work = (struct work *)(void *)step;
    struct err err = {0};
    work->asked = true;
    if (at_fault_point(FAULT_WORK_AFTER_ANSWER, &err) != ERR_OK)
        return failed(work, &err);
    /* Nothing was wrong with the provider: the next start asks again. */
    if (is_over(work) || work->call.failure == MODEL_FAILURE_STOPPED)
        return STEP_DONE;
    return want_lane(work);
}

static enum step_verdict apply(struct step *step)
{
    struct work *work = (struct work *)(void *)step;
    struct err err = {0};
    struct store_txn *txn = NULL;
    struct batch *batch = NULL;
    if (is_over(work))
        return STEP_DONE;
    enum err_code rc = renew(&work->batch_arena, &err);
    if (rc == ERR_OK)
        rc = store_begin(work->works->services->store, &txn, &err);
    work->next = WORK_END;
    if (rc == ERR_OK)
        rc = ops[work->kind]->apply(work, txn, &batch, &work->next, &err);
    store_end(txn);
    if (rc == ERR_OK && batch != NULL && !batch_ok(batch))
        rc = work__memory(&err);
    if (rc != ERR_OK)
        return failed(work, &err);
    if (batch == NULL)
        return work->next == WORK_PREPARE ? prepare(step) : STEP_DONE;
    step->batch = batch;
    step->queue = STORE_STAGES;
    step->run = committed;
    return STEP_COMMIT;
}

/* What this batch made runnable is not paced: each topic waits for the one before it. */
static void look_again(struct work *work)
{
    struct lanes *lanes = work->works->services->lanes;
    lanes_hurry(lanes, work->space);
    lanes_due(lanes, work->space);
}

static enum step_verdict committed(struct step *step)
{
    struct work *work = (struct work *)(void *)step;
    if (step->outcome == ERR_OK) {
        work->last_seq = step->batch->seq;
        lanes_work_went_on(work->works->services->lanes, work->space);
        (void)fault_point(FAULT_WORK_AFTER_COMMIT);
    }
    step->batch = NULL;
    if (step->outcome == ERR_CONFLICT && work->conflicts++ < CONFLICTS)
        return apply(step);
    if (step->outcome != ERR_OK)
        return failed(work, &step->err);
    if (work->kind != WORK_EMBED)
        look_again(work);
    if (ops[work->kind]->done != NULL)
        ops[work->kind]->done(work);
    if (work->next == WORK_APPLY)
        return apply(step);
    return work->next == WORK_PREPARE ? prepare(step) : STEP_DONE;
}

enum step_verdict work__run(struct step *step)
{
    return prepare(step);
}
