/* Steps that work for an episode, run by a small runtime: no model is configured any more, so each
 * makes its draft built in. */
#include "core/ingest/work.h"

#include "core/ingest/lane_int.h"
#include "core/ingest/work_int.h"
#include "core/model/models.h"
#include "tests/fakes/model_script.h"
#include "tests/unit/ingest/kit_stage.h"

static struct {
    struct lanes *lanes;
    struct works *works;
    struct metrics metrics;
    struct step *first, *last;
    unsigned works_run, stages_run;
} rig;

static void submit(struct step *step, void *arg)
{
    (void)arg;
    step->next = NULL;
    if (rig.first == NULL)
        rig.first = step;
    else
        rig.last->next = step;
    rig.last = step;
}

static void setup(void)
{
    stage_kit_setup();
    memset(&rig, 0, sizeof rig);
    rig.lanes = lanes_new(submit, NULL);
    rig.works = works_new(submit, NULL);
    ck_assert(rig.lanes != NULL && rig.works != NULL);
    stage_kit.services.lanes = rig.lanes;
    stage_kit.services.works = rig.works;
    stage_kit.services.metrics = &rig.metrics;
    lanes_bind(rig.lanes, &stage_kit.services);
    works_bind(rig.works, &stage_kit.services);
}

static void tell_watcher(void)
{
    uint64_t due = stat_now(STAT_DUE);
    if (due != 0 && due - 1 <= (uint64_t)stage_kit.clock.fixed_ms)
        lanes_due(rig.lanes, stage_kit.kit.space);
    else if (due != 0)
        lanes_note_due(rig.lanes, due - 1);
}

static void run_step(struct step *step)
{
    bool is_work = step->finish == work__finish;
    for (;;) {
        switch (step->run(step)) {
        case STEP_COMMIT:
            step->outcome = apply_err(&stage_kit.kit.f, step->batch, &step->err);
            tell_watcher();
            continue;
        case STEP_LANE: lanes_enter(rig.lanes, step); return;
        case STEP_DONE: break;
        default: ck_abort_msg("a verdict that this runtime does not know");
        }
        rig.works_run += is_work;
        rig.stages_run += !is_work && step != &rig.lanes->scan;
        if (step->lane_held)
            lanes_leave(rig.lanes, step);
        step->finish(step);
        return;
    }
}

/* Until nothing is queued; fails when that does not end. */
static void pump(void)
{
    for (unsigned n = 0; rig.first != NULL; n++) {
        struct step *step = rig.first;
        ck_assert_uint_lt(n, 500);
        rig.first = step->next;
        run_step(step);
        lanes_check(rig.lanes);
        works_check(rig.works);
    }
}

/* Time goes on, and each time that was asked for is kept. */
static void live_for(int64_t ms)
{
    int64_t end = stage_kit.clock.fixed_ms + ms;
    while (stage_kit.clock.fixed_ms < end) {
        if (lanes_next_due_ms(rig.lanes) <= (uint64_t)stage_kit.clock.fixed_ms)
            lanes_scan(rig.lanes);
        pump();
        advance(100);
    }
}

static void teardown(void)
{
    ck_assert(works_busy(rig.works) == 0 && lanes_busy(rig.lanes) == 0);
    works_free(rig.works);
    lanes_free(rig.lanes);
    kit_fini(&stage_kit.kit);
}

/* Drafts of so many sessions, closed while there was a model. */
static void draft(unsigned sessions)
{
    struct script script;
    struct models *models;
    struct err err = {0};
    script_init(&script, NULL, 0);
    struct models_options options = script_options(&script);
    ck_assert_int_eq(models_new(&options, &models, &err), ERR_OK);
    stage_kit.services.models = models;
    for (unsigned i = 0; i < sessions; i++)
        (void)say(str_printf(kit_arena(&stage_kit.kit), "s%u", i).at, "Ann",
                  "We paint the garden fence.");
    (void)flush_now(NULL);
    stage_kit.services.models = NULL;
    models_free(models);
    script_fini(&script);
    ck_assert_uint_eq(stat_now(STAT_UNFINISHED), sessions);
}

START_TEST(drafts_are_finished_without_the_model)
{
    draft(40); /* more than a space has places */
    lanes_scan(rig.lanes);
    pump();
    ck_assert_uint_eq(stat_now(STAT_UNFINISHED), 0);
    ck_assert_uint_eq(stat_now(STAT_PROCESSED), stat_now(STAT_SEQ));
    check_space();
}
END_TEST

static void set_turn(struct str record)
{
    char key[4];
    be32_set(key, 1);
    kit_raw(&stage_kit.kit, KIND_TURN, (struct str){key, sizeof key}, record);
}

START_TEST(work_that_always_fails_rests_longer_each_time)
{
    draft(1);
    set_turn(STR("damaged"));
    lanes_scan(rig.lanes);
    live_for(1000 * 1000);
    ck_assert_uint_ge(rig.works_run, 5);
    ck_assert_uint_le(rig.works_run, LANE_ATTEMPTS);
    ck_assert_uint_le(rig.stages_run, 3 * LANE_ATTEMPTS);
    unsigned before = rig.works_run;
    live_for(1000 * 1000); /* stalled until something changes */
    ck_assert_uint_eq(rig.works_run, before);
}
END_TEST

START_TEST(a_space_with_a_call_is_looked_at_in_time)
{
    draft(1);
    struct works_look look;
    struct err err;
    uint64_t space = stage_kit.kit.space;
    struct store_txn *txn = begin(&stage_kit.kit.f);
    ck_assert_uint_eq(works_next_look_ms(rig.works, space), 0);
    ck_assert_int_eq(works_dispatch(rig.works, txn, space, &look, &err), ERR_OK);
    ck_assert(look.at_work && !look.crowded && look.due_ms == 1);
    ck_assert(works_busy(rig.works) == 1 && look.next_ms == stat_now(STAT_EXPIRE_DUE));
    ck_assert_uint_eq(works_next_look_ms(rig.works, space), look.next_ms);
    works_want(rig.works, space);
    ck_assert_uint_eq(works_next_look_ms(rig.works, space), 0);
    ck_assert_uint_eq(works_next_look_ms(rig.works, space + 1), 0);
    store_end(txn);
    pump();
    check_space();
}
END_TEST

Suite *suite_work(void)
{
    Suite *suite = suite_create("work");
    TCase *tc = tcase_create("work");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, drafts_are_finished_without_the_model);
    tcase_add_test(tc, work_that_always_fails_rests_longer_each_time);
    tcase_add_test(tc, a_space_with_a_call_is_looked_at_in_time);
    suite_add_tcase(suite, tc);
    return suite;
}
