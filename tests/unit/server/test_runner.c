/* The runner with a real store and real lanes. Threads of the pools run the steps; the test's own
 * thread plays the loop: it ticks until what it waits for has happened. */
#include <check.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "server/runner.h"
#include "tests/unit/storage/fixture.h"

enum { DEADLINE_MS = 15000, THREADS = 3, QUEUE_MAX = 64 };

static struct fixture fixture;
static struct clock clock_now;
static struct runner *runner;
static struct lanes *lanes;
static struct services services;
static struct metrics metrics;
static atomic_uint wakes;
static atomic_uint finished;

static void on_wake(void *arg)
{
    (void)arg;
    atomic_fetch_add(&wakes, 1);
}

static void setup(void)
{
    struct err err;
    fixture_init(&fixture);
    clock_now = clock_system();
    struct runner_options options = {.threads = {THREADS, THREADS},
                                     .queue_max = {QUEUE_MAX, QUEUE_MAX},
                                     .clock = &clock_now,
                                     .log = &fixture.log,
                                     .wake = on_wake};
    ck_assert_int_eq(runner_new(&options, &runner, &err), ERR_OK);
    lanes = lanes_new(runner_submit_lane, runner);
    ck_assert_ptr_nonnull(lanes);
    services = (struct services){.store = fixture.store,
                                 .lanes = lanes,
                                 .clock = &clock_now,
                                 .log = &fixture.log,
                                 .metrics = &metrics,
                                 .idle_close_ms = 900000};
    lanes_bind(lanes, &services);
    runner_bind(runner, &services);
    atomic_store(&finished, 0);
}

static void teardown(void)
{
    lanes_stop(lanes);
    runner_end_waits(runner);
    storage_stop(fixture.store);
    runner_free(runner);
    lanes_free(lanes);
    fixture_fini(&fixture);
}

/* Ticks until `n` steps have finished. */
static void await(unsigned n)
{
    int64_t end = clock_mono_ms(&clock_now) + DEADLINE_MS;
    while (atomic_load(&finished) < n) {
        ck_assert_msg(clock_mono_ms(&clock_now) < end, "%u of %u steps finished",
                      atomic_load(&finished), n);
        if (runner_next_ms(runner) <= clock_mono_ms(&clock_now))
            runner_tick(runner);
        (void)sched_yield();
    }
}

static void await_wake(unsigned before)
{
    int64_t end = clock_mono_ms(&clock_now) + DEADLINE_MS;
    while (atomic_load(&wakes) == before) {
        ck_assert_msg(clock_mono_ms(&clock_now) < end, "nobody was woken");
        (void)sched_yield();
    }
}

static void await_waiting(unsigned n)
{
    int64_t end = clock_mono_ms(&clock_now) + DEADLINE_MS;
    while (runner_waiting(runner) != n) {
        ck_assert_msg(clock_mono_ms(&clock_now) < end, "%u waiting", runner_waiting(runner));
        (void)sched_yield();
    }
}

struct job {
    struct step step; /* first */
    struct arena *arena;
    unsigned runs;
    int *inside; /* of a lane's test: written by the holder only */
    enum err_code seen;
    bool timed_out;
};

static void job_finish(struct step *step)
{
    (void)step;
    atomic_fetch_add(&finished, 1);
}

static void job_start(struct job *job, step_fn *run, enum step_pool pool)
{
    struct err err;
    job->step.run = run;
    job->step.finish = job_finish;
    job->step.pool = pool;
    enum err_code code = runner_submit(runner, &job->step, &err);
    ck_assert_msg(code == ERR_OK, "%s", err.message);
}

/* --- plain steps --- */

static enum step_verdict run_once(struct step *step)
{
    ((struct job *)(void *)step)->runs++;
    return STEP_DONE;
}

START_TEST(steps_run_once)
{
    enum { N = 60 };
    static struct job jobs[N];
    for (unsigned i = 0; i < N; i++)
        job_start(&jobs[i], run_once, i % 2 != 0 ? STEP_STAGES : STEP_READERS);
    await(N);
    for (unsigned i = 0; i < N; i++)
        ck_assert_uint_eq(jobs[i].runs, 1);
}
END_TEST

static atomic_bool gate;

static enum step_verdict run_behind_gate(struct step *step)
{
    while (!atomic_load(&gate))
        (void)sched_yield();
    return run_once(step);
}

START_TEST(full_queue_refuses_new_steps)
{
    static struct job jobs[THREADS + QUEUE_MAX + 1];
    struct err err;
    atomic_store(&gate, false);
    for (unsigned i = 0; i < THREADS; i++)
        job_start(&jobs[i], run_behind_gate, STEP_READERS);
    while (runner_queued(runner, STEP_READERS) != 0)
        (void)sched_yield();
    for (unsigned i = THREADS; i < THREADS + QUEUE_MAX; i++)
        job_start(&jobs[i], run_behind_gate, STEP_READERS);
    struct job *last = &jobs[THREADS + QUEUE_MAX];
    last->step = (struct step){.run = run_once, .finish = job_finish, .pool = STEP_READERS};
    ck_assert_int_eq(runner_submit(runner, &last->step, &err), ERR_UNAVAILABLE);
    ck_assert_uint_gt(err.retry_after_s, 0);
    atomic_store(&gate, true);
    await(THREADS + QUEUE_MAX);
    ck_assert_uint_eq(last->runs, 0);
}
END_TEST

START_TEST(a_list_is_taken_in_as_far_as_there_is_room)
{
    enum { MORE = 5, N = THREADS + QUEUE_MAX + MORE };
    static struct job jobs[N];
    static struct job other;
    atomic_store(&gate, false);
    for (unsigned i = 0; i < THREADS; i++)
        job_start(&jobs[i], run_behind_gate, STEP_READERS);
    while (runner_queued(runner, STEP_READERS) != 0)
        (void)sched_yield();
    for (unsigned i = THREADS; i < N; i++)
        jobs[i].step = (struct step){.run = run_once,
                                     .finish = job_finish,
                                     .pool = STEP_READERS,
                                     .next = i + 1 < N ? &jobs[i + 1].step : NULL};
    /* One of the other pool, in the middle, goes through. */
    other.step = jobs[THREADS].step;
    other.step.pool = STEP_STAGES;
    jobs[THREADS].step.next = &other.step;
    struct step *refused = runner_submit_list(runner, &jobs[THREADS].step);
    for (unsigned i = N - MORE; i < N; i++, refused = refused->next)
        ck_assert_ptr_eq(refused, &jobs[i].step);
    ck_assert_ptr_null(refused);
    ck_assert_uint_eq(runner_queued(runner, STEP_READERS), QUEUE_MAX);
    atomic_store(&gate, true);
    await(N - MORE + 1);
    ck_assert_uint_eq(other.runs, 1);
    for (unsigned i = 0; i < N; i++)
        ck_assert_uint_eq(jobs[i].runs, i < N - MORE ? 1 : 0);
    ck_assert_ptr_null(runner_submit_list(runner, NULL));
}
END_TEST

/* --- commits --- */

static enum step_verdict after_commit(struct step *step)
{
    struct job *job = (struct job *)(void *)step;
    job->runs++;
    job->seen = step->outcome;
    return STEP_DONE;
}

static enum step_verdict create_space(struct step *step)
{
    struct job *job = (struct job *)(void *)step;
    job->arena = arena_new(1 << 20);
    step->batch = batch_new_named(job->arena, STR("made"), CAUSE_CREATE);
    step->batch->create = step->batch->create_only = true;
    step->batch->has_seq = true;
    step->batch->settings = str_copy(job->arena, STR("12345678settings"));
    step->queue = STORE_TURNS;
    step->run = after_commit;
    return STEP_COMMIT;
}

static enum step_verdict add_to_space(struct step *step)
{
    struct job *job = (struct job *)(void *)step;
    job->arena = arena_new(1 << 20);
    step->batch = batch_new_named(job->arena, STR("made"), CAUSE_SETTINGS);
    step->queue = step->pool == STEP_READERS ? STORE_TURNS : STORE_STAGES;
    step->run = after_commit;
    return STEP_COMMIT;
}

/* While one commits the others gather, so that groups of both pools are told at once. */
START_TEST(groups_come_back_to_their_pools)
{
    enum { N = 60 };
    static struct job jobs[N];
    struct job first = {.runs = 0};
    job_start(&first, create_space, STEP_READERS);
    await(1);
    for (unsigned i = 0; i < N; i++)
        job_start(&jobs[i], add_to_space, i % 3 == 0 ? STEP_STAGES : STEP_READERS);
    await(1 + N);
    uint64_t seqs = 0;
    for (unsigned i = 0; i < N; i++) {
        ck_assert_uint_eq(jobs[i].runs, 1);
        ck_assert_int_eq(jobs[i].seen, ERR_OK);
        seqs += jobs[i].step.batch->seq;
        arena_free(jobs[i].arena);
    }
    ck_assert_uint_eq(seqs, N * (uint64_t)(2 + N + 1) / 2); /* 2 to N + 1, each once */
    arena_free(first.arena);
}
END_TEST

START_TEST(commits_come_back_with_their_outcome)
{
    struct job first = {.runs = 0};
    struct job second = {.runs = 0};
    job_start(&first, create_space, STEP_READERS);
    await(1);
    ck_assert_int_eq(first.seen, ERR_OK);
    ck_assert_uint_eq(first.step.batch->seq, 1);
    job_start(&second, create_space, STEP_STAGES);
    await(2);
    ck_assert_int_eq(second.seen, ERR_CONFLICT);
    ck_assert_int_eq(second.step.err.code, ERR_CONFLICT);
    arena_free(first.arena);
    arena_free(second.arena);
}
END_TEST

START_TEST(commit_after_the_store_has_stopped)
{
    struct job job = {.runs = 0};
    storage_stop(fixture.store);
    job_start(&job, create_space, STEP_READERS);
    await(1);
    ck_assert_int_eq(job.seen, ERR_UNAVAILABLE);
    ck_assert_uint_eq(job.runs, 1);
    arena_free(job.arena);
}
END_TEST

/* --- waits --- */

static enum step_verdict after_wait(struct step *step)
{
    struct job *job = (struct job *)(void *)step;
    job->runs++;
    job->timed_out = step->timed_out;
    return STEP_DONE;
}

static enum step_verdict wait_first(struct step *step)
{
    step->run = after_wait;
    return STEP_WAIT;
}

static void job_wait(struct job *job, uint64_t space, uint64_t seq, int64_t ms)
{
    *job = (struct job){.runs = 0};
    job->step.wait_space = space;
    job->step.wait_seq = seq;
    job->step.wait_until_ms = clock_mono_ms(&clock_now) + ms;
    job_start(job, wait_first, STEP_READERS);
}

static void touch(uint64_t space)
{
    struct batch *batch = batch_of(&fixture, space);
    (void)batch_put(batch, KIND_TURN_ID, STR("touched"), STR("1234"), 0);
    ck_assert_int_eq(apply(&fixture, batch), ERR_OK);
}

START_TEST(wait_for_what_is_there)
{
    struct job job;
    uint64_t space = make_space(&fixture, "a");
    job_wait(&job, space, stat_of(&fixture, space).v[STAT_SEQ], DEADLINE_MS);
    await(1);
    ck_assert(!job.timed_out);
}
END_TEST

START_TEST(wait_for_a_commit)
{
    struct job job;
    struct job other;
    uint64_t space = make_space(&fixture, "a");
    uint64_t seq = stat_of(&fixture, space).v[STAT_SEQ];
    job_wait(&job, space, seq + 1, DEADLINE_MS);
    job_wait(&other, space, seq + 1000, DEADLINE_MS);
    await_waiting(2);
    touch(make_space(&fixture, "b"));
    ck_assert_uint_eq(runner_waiting(runner), 2);
    touch(space);
    await(1);
    ck_assert(!job.timed_out);
    ck_assert_uint_eq(runner_waiting(runner), 1);
    runner_end_waits(runner);
    await(2);
    ck_assert(other.timed_out);
}
END_TEST

START_TEST(wait_runs_out)
{
    struct job job;
    uint64_t space = make_space(&fixture, "a");
    unsigned before = atomic_load(&wakes);
    job_wait(&job, space, 1000, 20);
    await_wake(before); /* before this thread looks by itself: who knows the time is not woken */
    await(1);
    ck_assert(job.timed_out);
    ck_assert_int_ge(clock_mono_ms(&clock_now), job.step.wait_until_ms);
}
END_TEST

START_TEST(wait_that_nobody_listens_to)
{
    struct job job;
    struct job other;
    uint64_t space = make_space(&fixture, "a");
    job_wait(&job, space, 1000, DEADLINE_MS);
    job_wait(&other, space, 1000, DEADLINE_MS);
    await_waiting(2);
    runner_end_wait(runner, &job.step);
    await(1);
    ck_assert(job.timed_out);
    ck_assert_uint_eq(runner_waiting(runner), 1);
    runner_end_wait(runner, &job.step);
    ck_assert_uint_eq(runner_waiting(runner), 1);
    runner_end_waits(runner);
    await(2);
}
END_TEST

START_TEST(wait_for_a_space_that_goes)
{
    struct job job;
    uint64_t space = make_space(&fixture, "a");
    job_wait(&job, space, 1000, DEADLINE_MS);
    await_waiting(1);
    ck_assert_int_eq(drop_space(&fixture, "a"), ERR_OK);
    await(1);
    ck_assert(!job.timed_out);
    job_wait(&job, space, 1000, DEADLINE_MS);
    await(2);
    ck_assert(!job.timed_out);
}
END_TEST

/* R3: the commit happens before, between, or after registering and reading; none may be missed. */
START_TEST(no_wake_up_is_lost)
{
    enum { ROUNDS = 300 };
    uint64_t space = make_space(&fixture, "a");
    uint64_t seq = stat_of(&fixture, space).v[STAT_SEQ];
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct job job;
        job_wait(&job, space, seq + i + 1, DEADLINE_MS);
        touch(space);
        await(i + 1);
        ck_assert_msg(!job.timed_out, "round %u", i);
    }
}
END_TEST

/* --- lanes --- */

static enum step_verdict leave_lane(struct step *step)
{
    struct job *job = (struct job *)(void *)step;
    job->runs++;
    ck_assert(step->lane_held);
    --*job->inside;
    return STEP_DONE;
}

static enum step_verdict in_lane(struct step *step)
{
    struct job *job = (struct job *)(void *)step;
    ck_assert(step->lane_held);
    /* Plain memory: two holders at once would be a data race, too. */
    ck_assert_int_eq(++*job->inside, 1);
    step->wait_seq = 0; /* reached at once: the lane is held across the wait */
    step->wait_space = step->lane_space;
    step->wait_until_ms = INT64_MAX;
    step->run = leave_lane;
    return STEP_WAIT;
}

static enum step_verdict enter_lane(struct step *step)
{
    step->run = in_lane;
    return STEP_LANE;
}

START_TEST(a_lane_has_one_holder)
{
    enum { N = 40 };
    static struct job jobs[N];
    static int inside[2];
    uint64_t spaces[2] = {make_space(&fixture, "a"), make_space(&fixture, "b")};
    for (unsigned i = 0; i < N; i++) {
        jobs[i] = (struct job){.inside = &inside[i % 2]};
        jobs[i].step.lane_space = spaces[i % 2];
        job_start(&jobs[i], enter_lane, STEP_READERS);
    }
    await(N);
    for (unsigned i = 0; i < N; i++)
        ck_assert_uint_eq(jobs[i].runs, 1);
    ck_assert_uint_eq(lanes_busy(lanes), 0);
}
END_TEST

Suite *suite_runner(void)
{
    Suite *suite = suite_create("runner");
    TCase *tcase = tcase_create("runner");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, steps_run_once);
    tcase_add_test(tcase, full_queue_refuses_new_steps);
    tcase_add_test(tcase, a_list_is_taken_in_as_far_as_there_is_room);
    tcase_add_test(tcase, groups_come_back_to_their_pools);
    tcase_add_test(tcase, commits_come_back_with_their_outcome);
    tcase_add_test(tcase, commit_after_the_store_has_stopped);
    tcase_add_test(tcase, wait_for_what_is_there);
    tcase_add_test(tcase, wait_for_a_commit);
    tcase_add_test(tcase, wait_runs_out);
    tcase_add_test(tcase, wait_that_nobody_listens_to);
    tcase_add_test(tcase, wait_for_a_space_that_goes);
    tcase_add_test(tcase, no_wake_up_is_lost);
    tcase_add_test(tcase, a_lane_has_one_holder);
    suite_add_tcase(suite, tcase);
    return suite;
}
