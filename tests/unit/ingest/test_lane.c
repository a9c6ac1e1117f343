#include <stdio.h>
#include <stdlib.h>

#include "core/base/fault.h"
#include "core/ingest/lane_int.h"
#include "tests/unit/storage/fixture.h"

enum { NOW = 1000000 };

/* The test is the runtime: a queue of steps that it runs one by one, and the watcher. */
struct rig {
    struct services services;
    struct fixture f;
    struct clock clock;
    struct metrics metrics;
    struct lanes *lanes;
    struct step *first, *last;
    unsigned queued;
    bool watch; /* tell the lanes of each commit, as the store's watcher would */
    /* What build() does. */
    enum err_code fail;   /* returns this */
    enum err_code refuse; /* its batch is refused with this */
    bool idle;            /* finds nothing */
    bool conflict;        /* its batch conflicts */
    bool keep;            /* a maintenance batch */
    uint64_t fail_space;  /* 0: all */
    uint64_t order[4096]; /* spaces in the order they were built */
    unsigned builds;
    unsigned most;       /* stage steps at once */
    uint64_t due_inside; /* told to be due while it is built */
};

static struct rig *rig;

static enum err_code build(struct store_txn *txn, uint64_t space, const struct services *services,
                           struct arena *arena, struct stage_unit *unit, struct err *err)
{
    struct rig *r = rig;
    ck_assert_ptr_eq(services, &r->services);
    struct space_stat stat;
    ck_assert_uint_lt(r->builds, 4096);
    r->order[r->builds++] = space;
    if (r->lanes->stages > r->most)
        r->most = r->lanes->stages;
    *unit = (struct stage_unit){0};
    if (r->due_inside != 0) {
        lanes_due(r->lanes, r->due_inside);
        r->due_inside = 0;
    }
    bool mine = r->fail_space == 0 || r->fail_space == space;
    if (r->fail != ERR_OK && mine)
        return err_set(err, r->fail, "as the test wants");
    enum err_code rc = store_stat(txn, space, &stat, err);
    if (rc != ERR_OK || r->idle || stat.v[STAT_PENDING] == 0)
        return rc;
    unit->batch = batch_new(arena, space, r->keep ? CAUSE_KEEP : CAUSE_STAGE);
    ck_assert_ptr_nonnull(unit->batch);
    batch_add(unit->batch, STAT_PENDING, -1);
    if (r->conflict && mine)
        batch_need_stat(unit->batch, STAT_CHANGES, 99);
    unit->more = stat.v[STAT_PENDING] > 1;
    unit->queue = r->keep ? STORE_HOUSEKEEPING : STORE_STAGES;
    unit->stage = r->keep ? METRIC_H_STAGE_FOLD : METRIC_H_STAGE_BUILD;
    unit->episodes = 1;
    unit->facts = 2;
    unit->facts_duplicate = 3;
    unit->facts_echo = 4;
    unit->topics_new = 5;
    unit->topics_joined = 6;
    unit->topics_successor = 7;
    return ERR_OK;
}

static void submit(struct step *step, void *arg)
{
    struct rig *r = arg;
    step->next = NULL;
    if (r->first == NULL)
        r->first = step;
    else
        r->last->next = step;
    r->last = step;
    r->queued++;
}

static void tell(struct rig *r, uint64_t space)
{
    struct space_stat stat = stat_of(&r->f, space);
    uint64_t due = stat.v[STAT_DUE];
    if (due == 0)
        return;
    if (due - 1 <= (uint64_t)r->clock.fixed_ms)
        lanes_due(r->lanes, space);
    else
        lanes_note_due(r->lanes, due - 1);
}

static void commit(struct rig *r, struct step *step)
{
    uint64_t space = step->batch->space;
    step->outcome = r->refuse;
    if (r->refuse != ERR_OK)
        err_set(&step->err, r->refuse, "as the test wants");
    else
        step->outcome = apply_err(&r->f, step->batch, &step->err);
    if (step->outcome == ERR_OK && r->watch)
        tell(r, space);
}

static void run_step(struct rig *r, struct step *step)
{
    for (;;) {
        switch (step->run(step)) {
        case STEP_COMMIT: commit(r, step); continue;
        case STEP_LANE: lanes_enter(r->lanes, step); return;
        default: break;
        }
        if (step->lane_held)
            lanes_leave(r->lanes, step);
        step->finish(step);
        return;
    }
}

static bool pump_one(void)
{
    struct step *step = rig->first;
    if (step == NULL)
        return false;
    rig->first = step->next;
    rig->queued--;
    run_step(rig, step);
    lanes_check(rig->lanes);
    return true;
}

static unsigned pump(void)
{
    unsigned steps = 0;
    while (pump_one())
        ck_assert_uint_lt(++steps, 20000);
    return steps;
}

/* A space with so many units of work. */
static uint64_t space_with(const char *name, int64_t units)
{
    struct batch *batch = batch_named(&rig->f, name);
    batch->create = true;
    batch->settings = STR("12345678");
    batch->settings = str_copy(rig->f.arena, batch->settings);
    batch_add(batch, STAT_PENDING, units);
    ck_assert_int_eq(apply(&rig->f, batch), ERR_OK);
    return batch->space;
}

static void add_work(uint64_t space, int64_t units)
{
    struct batch *batch = batch_of(&rig->f, space);
    batch_add(batch, STAT_PENDING, units);
    ck_assert_int_eq(apply(&rig->f, batch), ERR_OK);
    if (rig->watch)
        tell(rig, space);
}

static uint64_t pending(uint64_t space)
{
    return stat_of(&rig->f, space).v[STAT_PENDING];
}

static uint64_t counter(enum metric_counter id)
{
    return atomic_load(&rig->metrics.counter[id]);
}

static void setup(void)
{
    rig = calloc(1, sizeof *rig);
    ck_assert_ptr_nonnull(rig);
    fixture_init(&rig->f);
    rig->clock = clock_manual(NOW);
    rig->watch = true;
    rig->lanes = lanes_new(submit, rig);
    ck_assert_ptr_nonnull(rig->lanes);
    rig->lanes->build = build;
    rig->services = (struct services){.store = rig->f.store,
                                      .lanes = rig->lanes,
                                      .clock = &rig->clock,
                                      .log = &rig->f.log,
                                      .metrics = &rig->metrics};
    lanes_bind(rig->lanes, &rig->services);
}

static void teardown(void)
{
    lanes_free(rig->lanes);
    fixture_fini(&rig->f);
    free(rig);
}

/* --- stage work --- */

START_TEST(work_is_done_unit_by_unit)
{
    uint64_t space = space_with("a", 3);
    lanes_due(rig->lanes, space);
    ck_assert_uint_eq(lanes_busy(rig->lanes), 1);
    lanes_due(rig->lanes, space); /* once is enough */
    ck_assert_uint_eq(rig->queued, 1);
    pump();
    ck_assert_uint_eq(pending(space), 0);
    ck_assert_uint_eq(rig->builds, 3);
    ck_assert_uint_eq(lanes_busy(rig->lanes), 0);
    ck_assert_uint_eq(counter(METRIC_EPISODES_CLOSED), 3);
    ck_assert_uint_eq(counter(METRIC_FACTS_STORED), 6);
    ck_assert_uint_eq(counter(METRIC_FACTS_DUPLICATE), 9);
    ck_assert_uint_eq(counter(METRIC_FACTS_ECHO), 12);
    ck_assert_uint_eq(counter(METRIC_TOPICS_NEW), 15);
    ck_assert_uint_eq(counter(METRIC_TOPICS_JOIN), 18);
    ck_assert_uint_eq(counter(METRIC_TOPICS_SUCCESSOR), 21);
    ck_assert_uint_eq(counter(METRIC_FOLDS), 0);
    ck_assert_uint_eq(lanes_next_due_ms(rig->lanes), UINT64_MAX);
    rig->keep = true;
    add_work(space, 1);
    pump();
    ck_assert_uint_eq(counter(METRIC_FOLDS), 1);
}
END_TEST

START_TEST(spaces_take_turns)
{
    uint64_t spaces[3] = {space_with("a", 3), space_with("b", 3), space_with("c", 3)};
    for (int i = 0; i < 3; i++)
        lanes_due(rig->lanes, spaces[i]);
    pump();
    ck_assert_uint_eq(rig->builds, 9);
    for (unsigned i = 0; i < 9; i++)
        ck_assert_uint_eq(rig->order[i], spaces[i % 3]);
}
END_TEST

START_TEST(what_comes_while_it_runs_is_not_forgotten)
{
    uint64_t space = space_with("a", 1);
    rig->watch = false;
    rig->idle = true;
    rig->due_inside = space; /* after the snapshot, as far as anybody knows */
    lanes_due(rig->lanes, space);
    ck_assert(pump_one());
    ck_assert_uint_eq(rig->builds, 1);
    lanes__rest_end(rig->lanes, space);
    /* It rested, because there was work; told again it works. */
    rig->idle = false;
    lanes_due(rig->lanes, space);
    pump();
    ck_assert_uint_eq(pending(space), 0);

    /* With nothing there the step goes round once more and then rests in peace. */
    unsigned before = rig->builds;
    rig->due_inside = space;
    lanes_due(rig->lanes, space);
    pump();
    ck_assert_uint_eq(rig->builds, before + 2);
    ck_assert_uint_eq(lanes_busy(rig->lanes), 0);
}
END_TEST

/* A space that was caught up with waits for its pace, and no longer: the scan at the time that is
 * told starts it. A clock that is set back must not make the pace longer. */
START_TEST(a_busy_space_is_paced)
{
    uint64_t space = space_with("a", 1);
    rig->services.stage_pace_ms = 250;
    lanes_due(rig->lanes, space);
    (void)pump();
    ck_assert_uint_eq(pending(space), 0);
    add_work(space, 2);
    add_work(space, 3);
    ck_assert_uint_eq(pump(), 0);
    uint64_t until = lanes_next_due_ms(rig->lanes);
    ck_assert_uint_gt(until, NOW + 249);
    ck_assert_uint_le(until, NOW + 250 + LANE_PACE_STEP_MS);
    lanes_scan(rig->lanes); /* too early: it is found and left */
    (void)pump();
    ck_assert_uint_eq(pending(space), 5);
    ck_assert_uint_eq(lanes_next_due_ms(rig->lanes), until);
    rig->clock.fixed_ms = (int64_t)until;
    lanes_scan(rig->lanes);
    (void)pump();
    ck_assert_uint_eq(pending(space), 0);
    rig->clock.fixed_ms -= 100000;
    add_work(space, 1);
    (void)pump();
    ck_assert_uint_eq(pending(space), 0);
}
END_TEST

/* Whoever waits does not wait for the pace: neither when it is due already, nor when it becomes due
 * afterwards, nor when the stage step runs meanwhile. */
START_TEST(who_waits_hurries_a_paced_space)
{
    uint64_t space = space_with("a", 1);
    rig->services.stage_pace_ms = 250;
    lanes_due(rig->lanes, space);
    (void)pump();
    add_work(space, 1);
    ck_assert_uint_eq(rig->queued, 0);
    lanes_hurry(rig->lanes, space);
    (void)pump();
    ck_assert_uint_eq(pending(space), 0);
    lanes_hurry(rig->lanes, space);
    add_work(space, 1);
    (void)pump();
    ck_assert_uint_eq(pending(space), 0);
    lanes_hurry(rig->lanes, space);
    add_work(space, 1); /* queued, not run yet */
    lanes_hurry(rig->lanes, space);
    (void)pump();
    add_work(space, 1);
    (void)pump();
    ck_assert_uint_eq(pending(space), 0);
}
END_TEST

START_TEST(more_spaces_than_places)
{
    enum { N = LANES_MAX + 150, UNITS = 3 };
    static uint64_t spaces[N];
    for (unsigned i = 0; i < N; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "s%u", i);
        spaces[i] = space_with(name, UNITS);
        lanes_due(rig->lanes, spaces[i]);
    }
    ck_assert_uint_eq(lanes_busy(rig->lanes), LANES_MAX);
    pump();
    ck_assert_uint_eq(rig->builds, N * UNITS);
    ck_assert_uint_le(rig->most, LANES_MAX);
    ck_assert_uint_eq(lanes_busy(rig->lanes), 0);
    /* Nobody is served a third time before everybody was served once. */
    static unsigned served[N];
    unsigned once = 0;
    for (unsigned i = 0; i < rig->builds; i++) {
        unsigned k = 0;
        while (spaces[k] != rig->order[i])
            k++;
        served[k]++;
        once += served[k] == 1;
        ck_assert(served[k] < 3 || once == N);
    }
}
END_TEST

/* --- scans --- */

START_TEST(a_scan_finds_what_is_due)
{
    uint64_t a = space_with("a", 2);
    uint64_t b = space_with("b", 1);
    uint64_t c = space_with("c", 0);
    uint64_t d = space_with("d", 0);
    rig->watch = false;
    struct batch *batch = batch_of(&rig->f, c);
    batch_set(batch, STAT_IDLE_DUE, NOW + 5000);
    ck_assert_int_eq(apply(&rig->f, batch), ERR_OK);
    batch = batch_of(&rig->f, d);
    batch_set(batch, STAT_IDLE_DUE, NOW + 9000);
    ck_assert_int_eq(apply(&rig->f, batch), ERR_OK);
    lanes_scan(rig->lanes);
    lanes_scan(rig->lanes); /* while one is queued: it is run once more */
    ck_assert_uint_eq(rig->queued, 1);
    ck_assert_uint_eq(lanes_busy(rig->lanes), 1);
    pump();
    ck_assert_uint_eq(pending(a) + pending(b), 0);
    ck_assert_uint_eq(lanes_next_due_ms(rig->lanes), NOW + 5000);
    lanes_note_due(rig->lanes, NOW + 7000);
    ck_assert_uint_eq(lanes_next_due_ms(rig->lanes), NOW + 5000);
    lanes_note_due(rig->lanes, NOW + 4000);
    ck_assert_uint_eq(lanes_next_due_ms(rig->lanes), NOW + 4000);
    /* At its time c is looked at. Nothing is there to do: so it rests instead of spinning. */
    rig->clock.fixed_ms = NOW + 5000;
    unsigned before = rig->builds;
    lanes_scan(rig->lanes);
    ck_assert_uint_eq(lanes_next_due_ms(rig->lanes), UINT64_MAX);
    pump();
    ck_assert_uint_eq(rig->builds, before + 1);
    ck_assert_uint_eq(rig->order[before], c);
    ck_assert_uint_eq(lanes_next_due_ms(rig->lanes), NOW + 6000);
}
END_TEST

START_TEST(a_scan_that_fails_is_tried_again)
{
    storage_stop(rig->f.store); /* no snapshot can be had */
    lanes_scan(rig->lanes);
    pump();
    ck_assert_uint_eq(lanes_next_due_ms(rig->lanes), NOW + LANE_PAUSE_MS);
    ck_assert_uint_eq(lanes_busy(rig->lanes), 0);
}
END_TEST

/* --- failures --- */

START_TEST(conflicts_are_built_again)
{
    uint64_t space = space_with("a", 1);
    rig->conflict = true;
    lanes_due(rig->lanes, space);
    for (int i = 0; i < 3; i++)
        ck_assert(pump_one());
    ck_assert_uint_eq(counter(METRIC_STAGE_RETRIES), 3);
    rig->conflict = false;
    pump();
    ck_assert_uint_eq(pending(space), 0);
    ck_assert_uint_eq(counter(METRIC_STAGE_FAILURES), 0);
}
END_TEST

START_TEST(conflicts_for_ever_are_a_failure)
{
    uint64_t space = space_with("a", 1);
    rig->conflict = true;
    lanes_due(rig->lanes, space);
    pump();
    ck_assert_uint_eq(rig->builds, LANE_CONFLICTS + 1);
    ck_assert_uint_eq(counter(METRIC_STAGE_FAILURES), 1);
    ck_assert_uint_eq(lanes_next_due_ms(rig->lanes), NOW + 1000);
    lanes_due(rig->lanes, space);
    ck_assert_uint_eq(rig->queued, 0);
}
END_TEST

START_TEST(housekeeping_that_conflicts_is_put_off)
{
    uint64_t space = space_with("a", 1);
    rig->conflict = rig->keep = true;
    lanes_due(rig->lanes, space);
    pump();
    ck_assert_uint_eq(rig->builds, LANE_CONFLICTS + 1);
    ck_assert_uint_eq(counter(METRIC_STAGE_FAILURES), 0);
    ck_assert_uint_eq(lanes_next_due_ms(rig->lanes), NOW + 1000);
    rig->conflict = false;
    lanes_due(rig->lanes, space); /* its turns need not wait */
    pump();
    ck_assert_uint_eq(pending(space), 0);
}
END_TEST

START_TEST(a_failing_space_rests_longer_and_longer)
{
    uint64_t bad = space_with("bad", 1);
    uint64_t good = space_with("good", 1);
    rig->fail = ERR_INTERNAL;
    rig->fail_space = bad;
    lanes_due(rig->lanes, bad);
    pump();
    for (unsigned attempt = 1; attempt < LANE_ATTEMPTS; attempt++) {
        ck_assert_uint_eq(rig->builds, attempt);
        ck_assert_uint_eq(counter(METRIC_STAGE_FAILURES), attempt);
        uint64_t until = lanes_next_due_ms(rig->lanes);
        ck_assert_uint_eq(until, (uint64_t)rig->clock.fixed_ms + (1000u << (attempt - 1)));
        /* Neither a scan nor a new turn wakes it before. */
        rig->clock.fixed_ms = (int64_t)until - 1;
        lanes_due(rig->lanes, bad);
        lanes_scan(rig->lanes);
        unsigned before = rig->builds;
        pump();
        ck_assert_uint_eq(rig->builds, before + (attempt == 1)); /* the good one, once */
        if (attempt == 1) {
            ck_assert_uint_eq(pending(good), 0);
            rig->builds = 1;
        }
        ck_assert_uint_eq(lanes_next_due_ms(rig->lanes), until);
        rig->clock.fixed_ms = (int64_t)until;
        lanes_scan(rig->lanes);
        pump();
    }
    /* Stalled: no time brings it back, a change does, once each. */
    ck_assert_uint_eq(rig->builds, LANE_ATTEMPTS);
    ck_assert_uint_eq(lanes_next_due_ms(rig->lanes), UINT64_MAX);
    rig->clock.fixed_ms += 100000000;
    lanes_scan(rig->lanes);
    pump();
    ck_assert_uint_eq(rig->builds, LANE_ATTEMPTS);
    add_work(bad, 1);
    pump();
    ck_assert_uint_eq(rig->builds, LANE_ATTEMPTS + 1);
    ck_assert_uint_eq(lanes_next_due_ms(rig->lanes), UINT64_MAX);
    rig->fail = ERR_OK;
    add_work(bad, 1);
    pump();
    ck_assert_uint_eq(pending(bad), 0);
}
END_TEST

START_TEST(a_clock_set_back_ends_the_rest)
{
    uint64_t space = space_with("a", 1);
    rig->fail = ERR_INTERNAL;
    lanes_due(rig->lanes, space);
    pump();
    rig->fail = ERR_OK;
    rig->clock.fixed_ms = NOW - LANE_REST_MAX_MS;
    lanes_due(rig->lanes, space);
    pump();
    ck_assert_uint_eq(pending(space), 0);
}
END_TEST

START_TEST(many_failing_spaces)
{
    enum { N = LANE_RESTS + 20 };
    rig->fail = ERR_EXHAUSTED;
    for (unsigned i = 0; i < N; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "s%u", i);
        lanes_due(rig->lanes, space_with(name, 1));
        rig->clock.fixed_ms++;
    }
    pump();
    ck_assert_uint_eq(rig->builds, N);
    rig->fail = ERR_OK;
    for (unsigned i = 0; i < 3; i++) {
        rig->clock.fixed_ms += 1000;
        lanes_scan(rig->lanes);
        pump();
    }
    ck_assert_uint_eq(rig->builds, 2 * N);
}
END_TEST

START_TEST(a_full_disk_pauses_everything)
{
    static const enum err_code codes[] = {ERR_STORAGE_FULL, ERR_UNAVAILABLE};
    for (size_t k = 0; k < 2; k++) {
        uint64_t spaces[3] = {space_with("a", 2), space_with("b", 2), space_with("c", 2)};
        for (int i = 0; i < 3; i++)
            add_work(spaces[i], 0);
        rig->refuse = codes[k];
        unsigned before = rig->builds;
        pump();
        ck_assert_uint_eq(rig->builds, before + 3); /* all were on their way */
        ck_assert_uint_eq(lanes_next_due_ms(rig->lanes),
                          (uint64_t)rig->clock.fixed_ms + LANE_PAUSE_MS);
        lanes_due(rig->lanes, spaces[0]);
        lanes_scan(rig->lanes);
        pump();
        ck_assert_uint_eq(rig->builds, before + 3);
        ck_assert_uint_eq(lanes_next_due_ms(rig->lanes),
                          (uint64_t)rig->clock.fixed_ms + LANE_PAUSE_MS);
        /* Then one tries. */
        for (int i = 1; i < 4; i++) {
            rig->clock.fixed_ms += LANE_PAUSE_MS;
            lanes_scan(rig->lanes);
            pump();
            ck_assert_uint_eq(rig->builds, before + 3 + (unsigned)i);
        }
        rig->refuse = ERR_OK;
        rig->clock.fixed_ms += LANE_PAUSE_MS;
        lanes_scan(rig->lanes);
        pump();
        for (int i = 0; i < 3; i++) {
            ck_assert_uint_eq(pending(spaces[i]), 0);
        }
        ck_assert_uint_eq(lanes_busy(rig->lanes), 0);
        ck_assert_uint_eq(counter(METRIC_STAGE_FAILURES), 0);
        ck_assert_int_eq(drop_space(&rig->f, "a"), ERR_OK);
        ck_assert_int_eq(drop_space(&rig->f, "b"), ERR_OK);
        ck_assert_int_eq(drop_space(&rig->f, "c"), ERR_OK);
    }
}
END_TEST

START_TEST(a_dropped_space_ends_quietly)
{
    uint64_t space = space_with("a", 3);
    lanes_due(rig->lanes, space);
    ck_assert(pump_one());
    ck_assert_int_eq(drop_space(&rig->f, "a"), ERR_OK);
    pump();
    ck_assert_uint_eq(counter(METRIC_STAGE_FAILURES), 0);
    ck_assert_uint_eq(lanes_busy(rig->lanes), 0);
    ck_assert_uint_eq(lanes_next_due_ms(rig->lanes), UINT64_MAX);
}
END_TEST

#ifdef HYPERMEM_FAULTS
START_TEST(fault_points_are_failures_of_the_store)
{
    uint64_t space = space_with("a", 4);
    ck_assert(fault_plan(STR("stage.before_build:1:eio,stage.after_build:2:enospc,"
                             "stage.after_commit:1:eio,fold.before_commit:1:eio")));
    lanes_due(rig->lanes, space);
    pump();
    ck_assert_uint_eq(rig->builds, 0);
    ck_assert_uint_eq(pending(space), 4);
    rig->clock.fixed_ms += LANE_PAUSE_MS;
    lanes_scan(rig->lanes);
    pump();
    ck_assert_uint_eq(pending(space), 3);
    rig->keep = true;
    rig->clock.fixed_ms += LANE_PAUSE_MS;
    lanes_scan(rig->lanes);
    pump();
    ck_assert_uint_eq(pending(space), 3);
    rig->clock.fixed_ms += LANE_PAUSE_MS;
    lanes_scan(rig->lanes);
    pump();
    ck_assert_uint_eq(pending(space), 0);
}
END_TEST
#endif

/* --- deletes --- */

struct work {
    struct step step;
    unsigned runs, finished;
    uint64_t then;  /* another lane to go to */
    unsigned stamp; /* when it ran */
};

static unsigned stamps;

static enum step_verdict work_run(struct step *step)
{
    struct work *work = (struct work *)(void *)step;
    if (!step->lane_held)
        return STEP_LANE;
    work->runs++;
    work->stamp = ++stamps;
    if (work->then != 0) {
        step->lane_space = work->then;
        work->then = 0;
        return STEP_LANE;
    }
    return STEP_DONE;
}

static void work_finish(struct step *step)
{
    ((struct work *)(void *)step)->finished++;
    ck_assert(!step->lane_held);
}

static void work_init(struct work *work, uint64_t space)
{
    *work = (struct work){.step = {.run = work_run, .finish = work_finish, .lane_space = space}};
}

START_TEST(deletes_go_before_stage_work_and_in_order)
{
    uint64_t space = space_with("a", 3);
    struct work works[3];
    lanes_due(rig->lanes, space);
    for (int i = 0; i < 3; i++) {
        work_init(&works[i], space);
        lanes_enter(rig->lanes, &works[i].step);
    }
    ck_assert_uint_eq(lanes_busy(rig->lanes), 4);
    ck_assert_uint_eq(rig->queued, 1); /* one holder */
    ck_assert(pump_one());
    ck_assert_uint_eq(rig->builds, 1);
    for (int i = 0; i < 3; i++) {
        ck_assert_uint_eq(rig->queued, 1);
        ck_assert(pump_one());
        ck_assert_uint_eq(works[i].finished, 1);
    }
    ck_assert_uint_eq(rig->builds, 1);
    pump();
    ck_assert_uint_eq(rig->builds, 3);
    ck_assert_uint_eq(lanes_busy(rig->lanes), 0);
}
END_TEST

START_TEST(stage_work_waits_for_a_delete)
{
    uint64_t space = space_with("a", 1);
    struct work work;
    work_init(&work, space);
    lanes_enter(rig->lanes, &work.step);
    lanes_due(rig->lanes, space);
    ck_assert_uint_eq(rig->queued, 1);
    ck_assert_uint_eq(lanes_busy(rig->lanes), 2);
    ck_assert(pump_one());
    ck_assert_uint_eq(work.finished, 1);
    ck_assert_uint_eq(rig->builds, 0);
    pump();
    ck_assert_uint_eq(rig->builds, 1);
}
END_TEST

START_TEST(a_step_goes_from_lane_to_lane)
{
    struct work a, b, c;
    work_init(&a, 1);
    work_init(&b, 2);
    work_init(&c, 1);
    a.then = 2;
    lanes_enter(rig->lanes, &a.step);
    lanes_enter(rig->lanes, &b.step);
    lanes_enter(rig->lanes, &c.step);
    pump();
    ck_assert(a.finished == 1 && b.finished == 1 && c.finished == 1);
    ck_assert_uint_eq(a.runs, 2);
    ck_assert_uint_eq(lanes_busy(rig->lanes), 0);
    /* To the same lane: behind who waits there. */
    work_init(&a, 1);
    work_init(&b, 1);
    a.then = 1;
    lanes_enter(rig->lanes, &a.step);
    lanes_enter(rig->lanes, &b.step);
    pump();
    ck_assert_uint_lt(b.stamp, a.stamp);
}
END_TEST

START_TEST(more_deletes_than_lanes)
{
    enum { N = LANE_CAP + 300 };
    static struct work works[N];
    uint64_t space = space_with("a", 2);
    for (unsigned i = 0; i < N; i++) {
        work_init(&works[i], 1000 + i);
        lanes_enter(rig->lanes, &works[i].step);
    }
    ck_assert_uint_eq(rig->queued, LANE_CAP);
    ck_assert_uint_eq(lanes_busy(rig->lanes), N);
    lanes_due(rig->lanes, space); /* no lane: overflow */
    ck_assert_uint_eq(rig->queued, LANE_CAP);
    pump();
    for (unsigned i = 0; i < N; i++)
        ck_assert_uint_eq(works[i].finished, 1);
    ck_assert_uint_eq(pending(space), 0);
    ck_assert_uint_eq(lanes_busy(rig->lanes), 0);
}
END_TEST

/* --- the end --- */

START_TEST(stopping)
{
    uint64_t running = space_with("a", 3);
    uint64_t queued = space_with("b", 3);
    uint64_t waiting = space_with("c", 3);
    struct work works[2];
    lanes_due(rig->lanes, running);
    ck_assert(pump_one());
    lanes_due(rig->lanes, queued);
    for (int i = 0; i < 2; i++) {
        work_init(&works[i], waiting);
        lanes_enter(rig->lanes, &works[i].step);
    }
    lanes_due(rig->lanes, waiting);
    lanes_scan(rig->lanes);
    lanes_stop(rig->lanes);
    lanes_due(rig->lanes, space_with("d", 1));
    lanes_scan(rig->lanes);
    lanes_note_due(rig->lanes, 5);
    ck_assert_uint_eq(lanes_next_due_ms(rig->lanes), UINT64_MAX);
    ck_assert_uint_eq(rig->builds, 1);
    pump();
    ck_assert_uint_eq(rig->builds, 1);
    ck_assert(works[0].finished == 1 && works[1].finished == 1);
    ck_assert_uint_eq(lanes_busy(rig->lanes), 0);
}
END_TEST

Suite *suite_lane(void)
{
    Suite *suite = suite_create("lane");
    TCase *tc = tcase_create("lane");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, work_is_done_unit_by_unit);
    tcase_add_test(tc, spaces_take_turns);
    tcase_add_test(tc, what_comes_while_it_runs_is_not_forgotten);
    tcase_add_test(tc, a_busy_space_is_paced);
    tcase_add_test(tc, who_waits_hurries_a_paced_space);
    tcase_add_test(tc, more_spaces_than_places);
    tcase_add_test(tc, a_scan_finds_what_is_due);
    tcase_add_test(tc, a_scan_that_fails_is_tried_again);
    tcase_add_test(tc, conflicts_are_built_again);
    tcase_add_test(tc, conflicts_for_ever_are_a_failure);
    tcase_add_test(tc, housekeeping_that_conflicts_is_put_off);
    tcase_add_test(tc, a_failing_space_rests_longer_and_longer);
    tcase_add_test(tc, a_clock_set_back_ends_the_rest);
    tcase_add_test(tc, many_failing_spaces);
    tcase_add_test(tc, a_full_disk_pauses_everything);
    tcase_add_test(tc, a_dropped_space_ends_quietly);
#ifdef HYPERMEM_FAULTS
    tcase_add_test(tc, fault_points_are_failures_of_the_store);
#endif
    tcase_add_test(tc, deletes_go_before_stage_work_and_in_order);
    tcase_add_test(tc, stage_work_waits_for_a_delete);
    tcase_add_test(tc, a_step_goes_from_lane_to_lane);
    tcase_add_test(tc, more_deletes_than_lanes);
    tcase_add_test(tc, stopping);
    suite_add_tcase(suite, tc);
    return suite;
}
