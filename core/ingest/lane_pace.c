/* The pace of a space's stages (lane.h). Times are wall time, as in lane_rest.c: a clock that is
 * set back must not make a wait longer than it could have been. */
#include "core/ingest/lane_int.h"

static struct lane_pace *slot_of(struct lanes *lanes, uint64_t space)
{
    return &lanes->pace[space % LANES_MAX];
}

static bool is_ahead(const struct lanes *lanes, const struct lane_pace *pace)
{
    uint64_t now = lanes__now_ms(lanes);
    uint64_t longest = (uint64_t)lanes->services->stage_pace_ms + LANE_PACE_STEP_MS;
    return pace->until_ms > now && pace->until_ms - now <= longest;
}

void lanes__pace_begin(struct lanes *lanes, uint64_t space)
{
    if (lanes->services->stage_pace_ms <= 0)
        return;
    uint64_t until = lanes__now_ms(lanes) + (uint64_t)lanes->services->stage_pace_ms;
    until = (until / LANE_PACE_STEP_MS + 1) * LANE_PACE_STEP_MS;
    *slot_of(lanes, space) = (struct lane_pace){.space = space, .until_ms = until};
}

bool lanes__is_paced(struct lanes *lanes, uint64_t space)
{
    struct lane_pace *pace = slot_of(lanes, space);
    if (pace->space != space || !is_ahead(lanes, pace))
        return false;
    pace->due = true;
    if (pace->until_ms < lanes->next_due_ms)
        lanes->next_due_ms = pace->until_ms;
    return true;
}

bool lanes__pace_end(struct lanes *lanes, uint64_t space)
{
    struct lane_pace *pace = slot_of(lanes, space);
    if (pace->space != space)
        return false;
    bool due = pace->due;
    *pace = (struct lane_pace){.space = 0};
    return due;
}

void lanes_hurry(struct lanes *lanes, uint64_t space)
{
    struct lane_ready ready = {0};
    lanes__lock(lanes);
    struct lane *lane = lanes__find(lanes, space);
    if (lane != NULL && lane->stage != NULL)
        lane->hurry = true;
    else if (lanes__pace_end(lanes, space))
        (void)lanes__start(lanes, space, &ready);
    lanes__unlock(lanes, &ready);
}
