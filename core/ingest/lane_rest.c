/* Who has to wait after a failure. Times are wall time; a clock that is set back must not make a
 * wait longer than it could have been. */
#include "core/ingest/lane_int.h"

uint64_t lanes__now_ms(const struct lanes *lanes)
{
    int64_t now = clock_now_ms(lanes->services->clock);
    return now > 0 ? (uint64_t)now : 0;
}

static bool is_ahead(const struct lanes *lanes, uint64_t until_ms, uint64_t longest_ms)
{
    uint64_t now = lanes__now_ms(lanes);
    return until_ms > now && until_ms - now <= longest_ms;
}

static void note(struct lanes *lanes, uint64_t due_ms)
{
    if (due_ms < lanes->next_due_ms)
        lanes->next_due_ms = due_ms;
}

bool lanes__is_paused(const struct lanes *lanes)
{
    return lanes->pause_until_ms != 0 && is_ahead(lanes, lanes->pause_until_ms, LANE_PAUSE_MS);
}

void lanes__pause(struct lanes *lanes)
{
    lanes->pause_until_ms = lanes__now_ms(lanes) + LANE_PAUSE_MS;
    lanes->places = 1;
    lanes->overflow = true;
    note(lanes, lanes->pause_until_ms);
}

static struct lane_rest *find(struct lanes *lanes, uint64_t space)
{
    for (size_t i = 0; i < LANE_RESTS; i++) {
        if (lanes->rest[i].space == space)
            return &lanes->rest[i];
    }
    return NULL;
}

bool lanes__is_resting(struct lanes *lanes, uint64_t space)
{
    const struct lane_rest *rest = find(lanes, space);
    return rest != NULL &&
           (rest->until_ms == UINT64_MAX || is_ahead(lanes, rest->until_ms, LANE_REST_MAX_MS));
}

/* A free row, else the one whose wait ends first: that space merely tries again too early. */
static struct lane_rest *row_for(struct lanes *lanes, uint64_t space)
{
    struct lane_rest *row = find(lanes, space);
    if (row != NULL)
        return row;
    row = &lanes->rest[0];
    for (size_t i = 0; i < LANE_RESTS; i++) {
        if (lanes->rest[i].space == 0 || lanes->rest[i].until_ms < row->until_ms)
            row = &lanes->rest[i];
        if (row->space == 0)
            break;
    }
    *row = (struct lane_rest){.space = space};
    return row;
}

bool lanes__rest(struct lanes *lanes, uint64_t space)
{
    struct lane_rest *rest = row_for(lanes, space);
    rest->attempts++;
    if (rest->attempts >= LANE_ATTEMPTS) {
        rest->until_ms = UINT64_MAX;
        return true;
    }
    rest->until_ms = lanes__now_ms(lanes) + ((uint64_t)LANE_PAUSE_MS << (rest->attempts - 1));
    note(lanes, rest->until_ms);
    return false;
}

void lanes__rest_end(struct lanes *lanes, uint64_t space)
{
    struct lane_rest *rest = find(lanes, space);
    if (rest != NULL)
        *rest = (struct lane_rest){0};
}

void lanes__rest_changed(struct lanes *lanes, uint64_t space)
{
    struct lane_rest *rest = find(lanes, space);
    if (rest == NULL || rest->until_ms != UINT64_MAX)
        return;
    rest->attempts = LANE_ATTEMPTS - 1;
    rest->until_ms = 0;
}

uint64_t lanes__rest_next_ms(const struct lanes *lanes)
{
    uint64_t now = lanes__now_ms(lanes);
    uint64_t next = UINT64_MAX;
    for (size_t i = 0; i < LANE_RESTS; i++) {
        const struct lane_rest *rest = &lanes->rest[i];
        if (rest->space != 0 && rest->until_ms > now && rest->until_ms < next)
            next = rest->until_ms;
    }
    return next;
}
