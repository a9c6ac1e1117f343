#include "core/ingest/lane.h"

#include <stdlib.h>

#include "core/ingest/lane_int.h"
#include "core/ingest/work.h"

_Static_assert((LANE_CAP & (LANE_CAP - 1)) == 0 && LANE_CAP < LANE_NONE, "buckets are masked");
_Static_assert((int)LANE_CAP > (int)LANES_MAX, "stage steps never take all lanes");

struct lanes *lanes_new(lanes_submit_fn *submit, void *arg)
{
    struct lanes *lanes = calloc(1, sizeof *lanes);
    if (lanes == NULL)
        return NULL;
    if (pthread_mutex_init(&lanes->lock, NULL) != 0) {
        free(lanes);
        return NULL;
    }
    lanes->submit = submit;
    lanes->arg = arg;
    lanes->build = stage_build;
    lanes->places = LANES_MAX;
    lanes->next_due_ms = UINT64_MAX;
    for (size_t i = 0; i < LANE_CAP; i++) {
        lanes->bucket[i] = LANE_NONE;
        lanes->lane[i].next = i + 1 < LANE_CAP ? (uint16_t)(i + 1) : LANE_NONE;
    }
    for (size_t i = LANES_MAX; i-- > 0;) {
        lanes->stage[i].next_free = lanes->free_stage;
        lanes->free_stage = &lanes->stage[i];
    }
    return lanes;
}

void lanes_bind(struct lanes *lanes, const struct services *services)
{
    lanes->services = services;
}

void lanes_free(struct lanes *lanes)
{
    if (lanes == NULL)
        return;
    ASSERT(lanes_busy(lanes) == 0);
    (void)pthread_mutex_destroy(&lanes->lock);
    free(lanes);
}

void lanes__lock(struct lanes *lanes)
{
    int rc = pthread_mutex_lock(&lanes->lock);
    ASSERT(rc == 0);
}

void lanes__unlock(struct lanes *lanes, struct lane_ready *ready)
{
    int rc = pthread_mutex_unlock(&lanes->lock);
    ASSERT(rc == 0);
    while (ready != NULL && ready->first != NULL) {
        struct step *step = ready->first;
        ready->first = step->next;
        step->next = NULL;
        lanes->submit(step, lanes->arg);
    }
}

static void push(struct step **first, struct step **last, struct step *step)
{
    step->next = NULL;
    if (*first == NULL)
        *first = step;
    else
        (*last)->next = step;
    *last = step;
}

static struct step *pop(struct step **first)
{
    struct step *step = *first;
    *first = step->next;
    step->next = NULL;
    return step;
}

/* --- the table of lanes; lock held --- */

static uint16_t *bucket_of(struct lanes *lanes, uint64_t space)
{
    return &lanes->bucket[(space * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (LANE_CAP - 1)];
}

struct lane *lanes__find(struct lanes *lanes, uint64_t space)
{
    for (uint16_t i = *bucket_of(lanes, space); i != LANE_NONE; i = lanes->lane[i].next) {
        if (lanes->lane[i].space == space)
            return &lanes->lane[i];
    }
    return NULL;
}

/* NULL when all are in use. */
static struct lane *find_or_take(struct lanes *lanes, uint64_t space)
{
    struct lane *lane = lanes__find(lanes, space);
    if (lane != NULL || lanes->free_lane == LANE_NONE)
        return lane;
    uint16_t i = lanes->free_lane;
    lane = &lanes->lane[i];
    lanes->free_lane = lane->next;
    uint16_t *bucket = bucket_of(lanes, space);
    *lane = (struct lane){.space = space, .next = *bucket};
    *bucket = i;
    return lane;
}

static void give_back(struct lanes *lanes, struct lane *lane)
{
    uint16_t i = (uint16_t)(lane - lanes->lane);
    uint16_t *link = bucket_of(lanes, lane->space);
    while (*link != i)
        link = &lanes->lane[*link].next;
    *link = lane->next;
    *lane = (struct lane){.next = lanes->free_lane};
    lanes->free_lane = i;
}

/* --- granting; lock held --- */

static void grant(struct lane *lane, struct step *step, struct lane_ready *ready)
{
    ASSERT(lane->holder == NULL); /* I1 */
    lane->holder = step;
    step->lane_held = true;
    push(&ready->first, &ready->last, step);
}

static void want(struct lane *lane, struct step *step, struct lane_ready *ready)
{
    if (lane->holder == NULL)
        grant(lane, step, ready);
    else if (lane->stage != NULL && step == &lane->stage->step)
        lane->stage_waits = true;
    else
        push(&lane->first, &lane->last, step);
}

static void unpark(struct lanes *lanes, struct lane_ready *ready)
{
    while (lanes->parked_first != NULL) {
        struct lane *lane = find_or_take(lanes, lanes->parked_first->lane_space);
        if (lane == NULL)
            return;
        want(lane, pop(&lanes->parked_first), ready);
    }
}

/* The next one who wants a lane that nobody holds; deletes before stage work. */
static void pass_on(struct lanes *lanes, struct lane *lane, struct lane_ready *ready)
{
    if (lane->first != NULL) {
        grant(lane, pop(&lane->first), ready);
    } else if (lane->stage_waits) {
        lane->stage_waits = false;
        grant(lane, &lane->stage->step, ready);
    } else if (lane->stage == NULL) {
        give_back(lanes, lane);
        unpark(lanes, ready);
        lanes__scan_if_room(lanes, ready);
    }
}

/* A step that asks for another lane has overwritten lane_space. */
static struct lane *held_by(struct lanes *lanes, const struct step *step)
{
    struct lane *lane = lanes__find(lanes, step->lane_space);
    for (size_t i = 0; (lane == NULL || lane->holder != step) && i < LANE_CAP; i++)
        lane = &lanes->lane[i];
    ASSERT(lane != NULL && lane->holder == step);
    return lane;
}

static bool is_stage(const struct lanes *lanes, const struct step *step)
{
    const char *at = (const char *)step;
    return at >= (const char *)lanes->stage && at < (const char *)(lanes->stage + LANES_MAX);
}

static void leave(struct lanes *lanes, struct step *step, struct lane_ready *ready)
{
    struct lane *lane = held_by(lanes, step);
    lane->holder = NULL;
    step->lane_held = false;
    if (!is_stage(lanes, step))
        lanes->others--;
    pass_on(lanes, lane, ready);
}

void lanes_enter(struct lanes *lanes, struct step *step)
{
    ASSERT(step->lane_space != 0);
    struct lane_ready ready = {0};
    lanes__lock(lanes);
    if (step->lane_held)
        leave(lanes, step, &ready);
    if (!is_stage(lanes, step))
        lanes->others++;
    struct lane *lane = find_or_take(lanes, step->lane_space);
    if (lane == NULL)
        push(&lanes->parked_first, &lanes->parked_last, step);
    else
        want(lane, step, &ready);
    lanes__unlock(lanes, &ready);
}

void lanes_leave(struct lanes *lanes, struct step *step)
{
    struct lane_ready ready = {0};
    lanes__lock(lanes);
    ASSERT(step->lane_held);
    leave(lanes, step, &ready);
    lanes__unlock(lanes, &ready);
}

/* --- stage steps --- */

static struct stage *stage_take(struct lanes *lanes, uint64_t space)
{
    struct stage *stage = lanes->free_stage;
    lanes->free_stage = stage->next_free;
    lanes->stages++;
    *stage = (struct stage){.lanes = lanes};
    stage->step.run = lanes__stage_run;
    stage->step.finish = lanes__stage_finish;
    stage->step.pool = STEP_STAGES;
    stage->step.lane_space = space;
    return stage;
}

enum lane_start lanes__start(struct lanes *lanes, uint64_t space, struct lane_ready *ready)
{
    struct lane *lane = lanes__find(lanes, space);
    if (lane != NULL && lane->stage != NULL) {
        lane->again = true;
        return LANE_BUSY;
    }
    if (lanes__is_resting(lanes, space) || lanes__is_paced(lanes, space))
        return LANE_RESTING;
    bool room = lanes->stages < lanes->places && !lanes->stopping && !lanes__is_paused(lanes);
    lane = room ? find_or_take(lanes, space) : NULL;
    if (lane == NULL) {
        lanes->overflow = true; /* I2 */
        return LANE_FULL;
    }
    lane->stage = stage_take(lanes, space);
    want(lane, &lane->stage->step, ready);
    return LANE_STARTED;
}

void lanes__retire(struct lanes *lanes, struct stage *stage, struct lane_ready *ready)
{
    struct lane *lane = lanes__find(lanes, stage->step.lane_space);
    ASSERT(lane != NULL && lane->stage == stage && lane->holder != &stage->step);
    lane->stage = NULL;
    lane->stage_waits = false;
    lane->hurry = false;
    stage->next_free = lanes->free_stage;
    lanes->free_stage = stage;
    lanes->stages--;
    if (lane->holder == NULL)
        pass_on(lanes, lane, ready);
    lanes__scan_if_room(lanes, ready);
}

void lanes_due(struct lanes *lanes, uint64_t space)
{
    ASSERT(lanes->services != NULL && space != 0);
    struct lane_ready ready = {0};
    if (lanes->services->works != NULL)
        works_want(lanes->services->works, space);
    lanes__lock(lanes);
    lanes__rest_changed(lanes, space);
    (void)lanes__start(lanes, space, &ready);
    lanes__unlock(lanes, &ready);
}

/* --- scans --- */

static void queue_scan(struct lanes *lanes, struct lane_ready *ready)
{
    lanes->scanning = true;
    lanes->next_due_ms =
        UINT64_MAX; /* what was due is its business now; it will say what is next */
    lanes->scan =
        (struct step){.run = lanes__scan_run, .finish = lanes__scan_finish, .pool = STEP_STAGES};
    push(&ready->first, &ready->last, &lanes->scan);
}

/* Half of the places at once: a scan for each single place would read the same rows again. */
void lanes__scan_if_room(struct lanes *lanes, struct lane_ready *ready)
{
    bool wanted = lanes->overflow && !lanes->stopping && !lanes->scanning;
    if (wanted && lanes->stages <= lanes->places / 2 && !lanes__is_paused(lanes))
        queue_scan(lanes, ready);
}

void lanes_scan(struct lanes *lanes)
{
    ASSERT(lanes->services != NULL);
    struct lane_ready ready = {0};
    lanes__lock(lanes);
    if (lanes->scanning) {
        lanes->scan_again = true;
        lanes->next_due_ms = UINT64_MAX;
    } else if (!lanes->stopping) {
        queue_scan(lanes, &ready);
    }
    lanes__unlock(lanes, &ready);
}

void lanes__scan_finish(struct step *step)
{
    struct lanes *lanes = (struct lanes *)(void *)((char *)step - offsetof(struct lanes, scan));
    struct lane_ready ready = {0};
    lanes__lock(lanes);
    lanes->scanning = false;
    bool again = lanes->scan_again && !lanes->stopping;
    lanes->scan_again = false;
    if (again)
        queue_scan(lanes, &ready);
    else
        lanes__scan_if_room(lanes, &ready);
    lanes__unlock(lanes, &ready);
}

uint64_t lanes_next_due_ms(struct lanes *lanes)
{
    lanes__lock(lanes);
    uint64_t due_ms = lanes->stopping ? UINT64_MAX : lanes->next_due_ms;
    lanes__unlock(lanes, NULL);
    return due_ms;
}

void lanes_note_due(struct lanes *lanes, uint64_t due_ms)
{
    lanes__lock(lanes);
    if (due_ms < lanes->next_due_ms)
        lanes->next_due_ms = due_ms;
    lanes__unlock(lanes, NULL);
}

/* --- end --- */

void lanes_stop(struct lanes *lanes)
{
    struct lane_ready ready = {0};
    lanes__lock(lanes);
    lanes->stopping = true;
    for (size_t i = 0; i < LANE_CAP; i++) {
        if (lanes->lane[i].stage_waits)
            lanes__retire(lanes, lanes->lane[i].stage, &ready);
    }
    lanes__unlock(lanes, &ready);
}

unsigned lanes_busy(struct lanes *lanes)
{
    lanes__lock(lanes);
    unsigned busy = lanes->stages + lanes->others + lanes->scanning;
    lanes__unlock(lanes, NULL);
    return busy;
}

void lanes_check(struct lanes *lanes)
{
    lanes__lock(lanes);
    unsigned stages = 0;
    for (size_t i = 0; i < LANE_CAP; i++) {
        const struct lane *lane = &lanes->lane[i];
        if (lane->space == 0)
            continue;
        ASSERT(lanes__find(lanes, lane->space) == lane);
        ASSERT(lane->holder != NULL || lane->stage != NULL);
        ASSERT(lane->holder == NULL || lane->holder->lane_held); /* I1 */
        ASSERT(lane->holder != NULL || (lane->first == NULL && !lane->stage_waits));
        stages += lane->stage != NULL;
    }
    ASSERT(stages == lanes->stages && stages <= LANES_MAX);
    ASSERT(lanes->parked_first == NULL || lanes->free_lane == LANE_NONE); /* I3 */
    lanes__unlock(lanes, NULL);
}
