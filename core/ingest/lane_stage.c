/* The stage step: builds one unit of a space's work and commits it. */
#include <inttypes.h>

#include "core/base/fault.h"
#include "core/base/limits.h"
#include "core/ingest/lane_int.h"
#include "core/ingest/work.h"

static enum step_verdict committed(struct step *step);

static void drop_unit(struct stage *stage)
{
    arena_free(stage->arena);
    stage->arena = NULL;
    stage->unit = (struct stage_unit){0};
    stage->step.batch = NULL;
}

static enum err_code at_fault_point(enum fault_id id, struct err *err)
{
    int fault = fault_point(id);
    return fault == 0 ? ERR_OK : err_set(err, ERR_UNAVAILABLE, "fault point gave %d", fault);
}

/* --- after a failure --- */

static void log_failure(const struct lanes *lanes, uint64_t space, const char *event,
                        const struct err *err)
{
    const struct log *log = lanes->services->log;
    if (log == NULL)
        return;
    LOG(log, LOG_WARN, event, F_INT("space", space), F_CSTR("code", err_slug(err->code)),
        F_CSTR("message", err->message), F_CSTR("file", err->file), F_INT("line", err->line));
}

/* What is wrong with the store is wrong for every space. */
static bool is_of_store(enum err_code code)
{
    return code == ERR_STORAGE_FULL || code == ERR_UNAVAILABLE;
}

static void pause_all(struct lanes *lanes, uint64_t space, const struct err *err)
{
    lanes__lock(lanes);
    bool is_news = !lanes->stopping && !lanes__is_paused(lanes);
    lanes__pause(lanes);
    lanes__unlock(lanes, NULL);
    if (is_news)
        log_failure(lanes, space, "stages_paused", err);
}

static void rest_space(struct lanes *lanes, uint64_t space, const struct err *err)
{
    lanes__lock(lanes);
    bool stalled = lanes__rest(lanes, space);
    lanes__unlock(lanes, NULL);
    metrics_add(lanes->services->metrics, METRIC_STAGE_FAILURES, 1);
    log_failure(lanes, space, stalled ? "stage_stalled" : "stage_failed", err);
}

void lanes_work_failed(struct lanes *lanes, uint64_t space, const struct err *err)
{
    if (is_of_store(err->code))
        pause_all(lanes, space, err);
    else
        rest_space(lanes, space, err);
}

void lanes_work_went_on(struct lanes *lanes, uint64_t space)
{
    lanes__lock(lanes);
    lanes__rest_end(lanes, space);
    lanes__unlock(lanes, NULL);
}

static void end_rest(struct stage *stage)
{
    lanes_work_went_on(stage->lanes, stage->step.lane_space);
}

static enum step_verdict failed(struct stage *stage, const struct err *err)
{
    drop_unit(stage);
    if (err->code == ERR_NOT_FOUND) /* the space was dropped meanwhile */
        end_rest(stage);
    else
        lanes_work_failed(stage->lanes, stage->step.lane_space, err);
    return STEP_DONE;
}

/* --- building --- */

/* A DUE row that stays due without any work would be found by every scan. */
static enum err_code check_nothing(struct stage *stage, struct store_txn *txn, struct err *err)
{
    struct space_stat stat;
    enum err_code rc = store_stat(txn, stage->step.lane_space, &stat, err);
    uint64_t due = stat.v[STAT_DUE];
    if (rc != ERR_OK || due == 0 || due - 1 > lanes__now_ms(stage->lanes))
        return rc;
    return err_set(err, ERR_INTERNAL, "there is no work though some is due");
}

/* What was to be done at the time that is written down is gone, or is to be done later. */
static enum err_code correct_due(struct stage *stage, struct store_txn *txn, uint64_t due_ms,
                                 struct err *err)
{
    struct space_stat stat;
    uint64_t space = stage->step.lane_space;
    enum err_code rc = store_stat(txn, space, &stat, err);
    struct batch *batch = rc == ERR_OK ? batch_new(stage->arena, space, CAUSE_KEEP) : NULL;
    if (rc != ERR_OK)
        return rc;
    if (batch == NULL)
        return err_set(err, ERR_EXHAUSTED, "out of memory for a stage");
    batch_need_stat(batch, STAT_CHANGES, stat.v[STAT_CHANGES]);
    batch_add(batch, STAT_CHANGES, 1);
    batch_set(batch, STAT_WORK_DUE, due_ms);
    if (!batch_ok(batch))
        return err_set(err, ERR_EXHAUSTED, "out of memory for a stage");
    stage->unit = (struct stage_unit){
        .batch = batch, .queue = STORE_STAGES, .stage = METRIC_H_STAGE_BUILD, .more = true};
    return ERR_OK;
}

/* Starts what waits for a model; then a space that has nothing else to do is no riddle. */
static enum err_code dispatch(struct stage *stage, struct store_txn *txn, struct err *err)
{
    struct lanes *lanes = stage->lanes;
    struct works *works = lanes->services->works;
    struct works_look look = {.next_ms = UINT64_MAX};
    struct space_stat stat;
    enum err_code rc = store_stat(txn, stage->step.lane_space, &stat, err);
    if (rc == ERR_OK && works != NULL)
        rc = works_dispatch(works, txn, stage->step.lane_space, &look, err);
    if (rc != ERR_OK)
        return rc;
    if (look.at_work && look.next_ms != UINT64_MAX)
        lanes_note_due(lanes, look.next_ms);
    if (stage->unit.batch != NULL || look.crowded)
        return ERR_OK;
    if (works != NULL && look.due_ms != stat.v[STAT_WORK_DUE])
        return correct_due(stage, txn, look.due_ms, err);
    stage->at_work = look.at_work;
    return look.at_work ? ERR_OK : check_nothing(stage, txn, err);
}

static enum err_code build(struct stage *stage, struct err *err)
{
    const struct services *services = stage->lanes->services;
    enum err_code rc = at_fault_point(FAULT_STAGE_BEFORE_BUILD, err);
    if (rc != ERR_OK)
        return rc;
    stage->arena = arena_new(ARENA_STAGE_BYTES);
    if (stage->arena == NULL)
        return err_set(err, ERR_EXHAUSTED, "out of memory for a stage");
    struct store_txn *txn = NULL;
    rc = store_begin(services->store, &txn, err);
    if (rc != ERR_OK)
        return rc;
    rc =
        stage->lanes->build(txn, stage->step.lane_space, services, stage->arena, &stage->unit, err);
    if (rc == ERR_OK)
        rc = dispatch(stage, txn, err);
    store_end(txn);
    if (rc != ERR_OK || stage->unit.batch == NULL)
        return rc;
    ASSERT(batch_ok(stage->unit.batch));
    if (stage->unit.queue == STORE_HOUSEKEEPING)
        return at_fault_point(FAULT_FOLD_BEFORE_COMMIT, err);
    return at_fault_point(FAULT_STAGE_AFTER_BUILD, err);
}

/* False when the daemon stops. What becomes due from here on is seen by the snapshot or by
 * `again`. */
static bool begin_unit(struct stage *stage)
{
    struct lanes *lanes = stage->lanes;
    lanes__lock(lanes);
    lanes__find(lanes, stage->step.lane_space)->again = false;
    bool go = !lanes->stopping;
    lanes__unlock(lanes, NULL);
    return go;
}

enum step_verdict lanes__stage_run(struct step *step)
{
    struct stage *stage = (struct stage *)(void *)step;
    if (!begin_unit(stage))
        return STEP_DONE;
    stage->start_ns = clock_mono_ns(stage->lanes->services->clock);
    struct err err = {0};
    if (build(stage, &err) != ERR_OK)
        return failed(stage, &err);
    if (stage->unit.batch == NULL) {
        if (!stage->at_work) /* else its commit will show */
            end_rest(stage);
        drop_unit(stage);
        stage->caught_up = true;
        return STEP_DONE;
    }
    step->batch = stage->unit.batch;
    step->queue = stage->unit.queue;
    step->run = committed;
    return STEP_COMMIT;
}

/* --- after the commit --- */

static void count_unit(const struct stage *stage)
{
    const struct services *services = stage->lanes->services;
    struct metrics *metrics = services->metrics;
    const struct stage_unit *unit = &stage->unit;
    metrics_observe(metrics, unit->stage, clock_mono_ns(services->clock) - stage->start_ns);
    metrics_add(metrics, METRIC_EPISODES_CLOSED, unit->episodes);
    metrics_add(metrics, METRIC_FACTS_STORED, unit->facts);
    metrics_add(metrics, METRIC_FACTS_DUPLICATE, unit->facts_duplicate);
    metrics_add(metrics, METRIC_FACTS_ECHO, unit->facts_echo);
    metrics_add(metrics, METRIC_TOPICS_NEW, unit->topics_new);
    metrics_add(metrics, METRIC_TOPICS_JOIN, unit->topics_joined);
    metrics_add(metrics, METRIC_TOPICS_SUCCESSOR, unit->topics_successor);
    metrics_add(metrics, METRIC_FOLDS, unit->stage == METRIC_H_STAGE_FOLD);
}

/* While others wait for a place, this one is given up: the DUE row brings the space back. */
static enum step_verdict next_unit(struct stage *stage)
{
    struct lanes *lanes = stage->lanes;
    lanes__lock(lanes);
    bool go = !lanes->stopping && !lanes->overflow;
    lanes__unlock(lanes, NULL);
    drop_unit(stage);
    stage->step.run = lanes__stage_run;
    return go ? STEP_LANE : STEP_DONE;
}

static enum step_verdict succeeded(struct stage *stage)
{
    struct lanes *lanes = stage->lanes;
    count_unit(stage);
    stage->conflicts = 0;
    lanes__lock(lanes);
    lanes->places = LANES_MAX;
    lanes__rest_end(lanes, stage->step.lane_space);
    lanes__unlock(lanes, NULL);
    (void)fault_point(FAULT_STAGE_AFTER_COMMIT);
    if (stage->unit.more)
        return next_unit(stage);
    drop_unit(stage);
    stage->caught_up = true;
    return STEP_DONE;
}

/* Housekeeping that a busy space always overtakes is nobody's fault and must not make its turns
 * wait. */
static enum step_verdict put_off(struct stage *stage)
{
    struct lanes *lanes = stage->lanes;
    lanes_note_due(lanes, lanes__now_ms(lanes) + LANE_PAUSE_MS);
    drop_unit(stage);
    return STEP_DONE;
}

static enum step_verdict committed(struct step *step)
{
    struct stage *stage = (struct stage *)(void *)step;
    if (step->outcome == ERR_OK)
        return succeeded(stage);
    if (step->outcome != ERR_CONFLICT)
        return failed(stage, &step->err);
    metrics_add(stage->lanes->services->metrics, METRIC_STAGE_RETRIES, 1);
    stage->conflicts++;
    if (stage->conflicts <= LANE_CONFLICTS)
        return next_unit(stage);
    if (stage->unit.queue == STORE_HOUSEKEEPING)
        return put_off(stage);
    return failed(stage, &step->err);
}

/* The lane was left already. */
void lanes__stage_finish(struct step *step)
{
    struct stage *stage = (struct stage *)(void *)step;
    struct lanes *lanes = stage->lanes;
    uint64_t space = step->lane_space;
    ASSERT(stage->arena == NULL);
    struct lane_ready ready = {0};
    lanes__lock(lanes);
    /* With overflow a scan comes anyway, and the place is for another space. */
    const struct lane *lane = lanes__find(lanes, space);
    bool due = lane->again && !lanes->stopping;
    bool again = due && !lanes->overflow;
    if (stage->caught_up && !lane->hurry)
        lanes__pace_begin(lanes, space);
    lanes__retire(lanes, stage, &ready);
    bool begun = again && lanes__start(lanes, space, &ready) == LANE_STARTED;
    if (due && !begun && lanes->services->works != NULL)
        works_want(lanes->services->works, space); /* for the scan that comes instead */
    lanes__unlock(lanes, &ready);
}
