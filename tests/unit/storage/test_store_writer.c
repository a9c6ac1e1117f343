/* The writer's queues: order, limits, back-pressure, watching, stopping. */
#include <semaphore.h>

#include "tests/unit/storage/fixture.h"

static struct fixture fx;
static uint64_t space;

/* A batch whose callback holds the writer until it is let go, so that what is submitted meanwhile
 * waits in the queues together. */
struct gate {
    sem_t held, go;
};

static void gate_done(struct batch *batch, enum err_code code, const struct err *err, void *arg)
{
    (void)batch;
    (void)err;
    struct gate *gate = arg;
    ck_assert_int_eq(code, ERR_OK);
    (void)sem_post(&gate->held);
    (void)sem_wait(&gate->go);
}

static void gate_close(struct gate *gate)
{
    struct err err;
    (void)sem_init(&gate->held, 0, 0);
    (void)sem_init(&gate->go, 0, 0);
    ck_assert_int_eq(
        store_submit(fx.store, batch_of(&fx, space), STORE_TURNS, gate_done, gate, &err), ERR_OK);
    (void)sem_wait(&gate->held);
}

static void gate_open(struct gate *gate)
{
    (void)sem_post(&gate->go);
}

static void gate_fini(struct gate *gate)
{
    (void)sem_destroy(&gate->held);
    (void)sem_destroy(&gate->go);
}

static void setup(void)
{
    fixture_init(&fx);
    space = make_space(&fx, "s");
}

static void teardown(void)
{
    fixture_fini(&fx);
}

START_TEST(turns_before_stages_before_housekeeping)
{
    enum { EACH = 10 };
    struct gate gate;
    struct ticket t[STORE_QUEUES][EACH];
    gate_close(&gate);
    for (int q = STORE_QUEUES - 1; q >= 0; q--)
        for (unsigned i = 0; i < EACH; i++)
            ticket_submit(&t[q][i], &fx, batch_of(&fx, space), (enum store_queue)q);
    struct store_health health;
    store_health(fx.store, &health);
    for (int q = 0; q < STORE_QUEUES; q++)
        ck_assert_uint_eq(health.queued[q], EACH);
    gate_open(&gate);
    for (int q = 0; q < STORE_QUEUES; q++)
        for (unsigned i = 0; i < EACH; i++)
            ck_assert_int_eq(ticket_wait(&t[q][i]), ERR_OK);
    for (int q = 0; q < STORE_QUEUES; q++)
        for (unsigned i = 1; i < EACH; i++)
            ck_assert_uint_lt(t[q][i - 1].order, t[q][i].order);
    ck_assert_uint_lt(t[STORE_TURNS][EACH - 1].order, t[STORE_STAGES][5].order);
    ck_assert_uint_lt(t[STORE_STAGES][EACH - 1].order, t[STORE_HOUSEKEEPING][2].order);
    gate_fini(&gate);
}
END_TEST

START_TEST(nobody_starves)
{
    enum { TURNS = 200 };
    struct gate gate;
    struct ticket turns[TURNS], stages[4], keep[4];
    gate_close(&gate);
    for (unsigned i = 0; i < TURNS; i++)
        ticket_submit(&turns[i], &fx, batch_of(&fx, space), STORE_TURNS);
    for (unsigned i = 0; i < 4; i++) {
        ticket_submit(&stages[i], &fx, batch_of(&fx, space), STORE_STAGES);
        ticket_submit(&keep[i], &fx, batch_new(fx.arena, space, CAUSE_KEEP), STORE_HOUSEKEEPING);
    }
    gate_open(&gate);
    for (unsigned i = 0; i < TURNS; i++)
        ck_assert_int_eq(ticket_wait(&turns[i]), ERR_OK);
    for (unsigned i = 0; i < 4; i++) {
        ck_assert_int_eq(ticket_wait(&stages[i]), ERR_OK);
        ck_assert_int_eq(ticket_wait(&keep[i]), ERR_OK);
        /* At least 1 in 16 of each while turns are waiting. */
        ck_assert_uint_le(keep[i].order - turns[0].order, 18 * (i + 1));
        ck_assert_uint_le(stages[i].order - turns[0].order, 18 * (i + 1));
    }
    gate_fini(&gate);
}
END_TEST

static uint64_t commits(void)
{
    struct store_health health;
    store_health(fx.store, &health);
    return health.commits;
}

/* Submits n batches of `ops` puts of `bytes` each behind a gate; returns the commits they took. */
static uint64_t commits_of(unsigned n, unsigned ops, size_t bytes)
{
    struct gate gate;
    struct ticket *t = arena_alloc(fx.arena, n * sizeof *t);
    char *value = arena_zalloc(fx.arena, 1, bytes);
    gate_close(&gate);
    uint64_t before = commits();
    for (unsigned i = 0; i < n; i++) {
        struct batch *batch = batch_of(&fx, space);
        for (unsigned k = 0; k < ops; k++)
            (void)batch_put(batch, KIND_TURN, BE32(k), (struct str){value, bytes}, 0);
        ticket_submit(&t[i], &fx, batch, STORE_TURNS);
    }
    gate_open(&gate);
    for (unsigned i = 0; i < n; i++)
        ck_assert_int_eq(ticket_wait(&t[i]), ERR_OK);
    gate_fini(&gate);
    return commits() - before;
}

START_TEST(a_group_is_one_commit_and_has_limits)
{
    fixture_close(&fx);
    fx.clock = clock_manual(1000000); /* no time passes: the limits of size alone */
    fixture_open(&fx);
    ck_assert_uint_eq(commits_of(500, 1, 10), 1);
    ck_assert_uint_eq(commits_of(3, 3000, 10), 2);     /* 4,096 operations */
    ck_assert_uint_eq(commits_of(8, 1, 600 << 10), 2); /* 2 MiB */
    ck_assert_uint_eq(commits_of(1, 9000, 10), 1);     /* a batch is never split */
    struct space_stat stat = stat_of(&fx, space);
    ck_assert_uint_eq(stat.v[STAT_SEQ], 1 + 4 + 500 + 3 + 8 + 1);
}
END_TEST

START_TEST(queues_are_bounded)
{
    fixture_close(&fx);
    fx.options.queue_max = 5;
    fixture_open(&fx);
    struct gate gate;
    struct ticket t[6], stage;
    gate_close(&gate);
    for (unsigned i = 0; i < 6; i++)
        ticket_submit(&t[i], &fx, batch_of(&fx, space), STORE_TURNS);
    ticket_submit(&stage, &fx, batch_of(&fx, space), STORE_STAGES);
    ck_assert_int_eq(t[5].code, ERR_UNAVAILABLE);
    ck_assert_uint_gt(t[5].err.retry_after_s, 0);
    gate_open(&gate);
    for (unsigned i = 0; i < 5; i++)
        ck_assert_int_eq(ticket_wait(&t[i]), ERR_OK);
    ck_assert_int_eq(ticket_wait(&stage), ERR_OK);
    gate_fini(&gate);
}
END_TEST

START_TEST(stopping_applies_what_is_queued)
{
    enum { N = 50 };
    struct gate gate;
    struct ticket t[N];
    gate_close(&gate);
    for (unsigned i = 0; i < N; i++)
        ticket_submit(&t[i], &fx, batch_of(&fx, space), STORE_TURNS);
    gate_open(&gate);
    storage_stop(fx.store);
    for (unsigned i = 0; i < N; i++)
        ck_assert_int_eq(ticket_wait(&t[i]), ERR_OK);
    ck_assert_int_eq(apply(&fx, batch_of(&fx, space)), ERR_UNAVAILABLE);
    struct store_health health;
    store_health(fx.store, &health);
    ck_assert_int_eq(health.state, STORE_STOPPING);
    struct store_txn *txn = NULL;
    struct err err;
    ck_assert_int_eq(store_begin(fx.store, &txn, &err), ERR_UNAVAILABLE);
    storage_stop(fx.store);
    fixture_close(&fx);
    fixture_open(&fx);
    ck_assert_uint_eq(stat_of(&fx, space).v[STAT_SEQ], N + 2);
    gate_fini(&gate);
}
END_TEST

struct watched {
    sem_t seen;
    struct store_change last[8];
    unsigned n;
};

static void watch(const struct store_change *change, void *arg)
{
    struct watched *w = arg;
    if (w->n < 8)
        w->last[w->n++] = *change;
    (void)sem_post(&w->seen);
}

START_TEST(the_watcher_hears_each_changed_space_once_a_commit)
{
    struct watched w = {.n = 0};
    (void)sem_init(&w.seen, 0, 0);
    uint64_t other = make_space(&fx, "other");
    fixture_close(&fx);
    struct err err;
    ck_assert_int_eq(storage_open(&fx.options, &fx.log, &fx.clock, &fx.store, &err), ERR_OK);
    store_watch(fx.store, watch, &w);
    struct gate gate;
    ck_assert_int_eq(storage_start_writer(fx.store, &err), ERR_OK);
    gate_close(&gate); /* seq 2 of `space` */
    struct batch *b[4] = {batch_of(&fx, space), batch_of(&fx, other), batch_of(&fx, space),
                          batch_named(&fx, "other")};
    struct ticket t[4];
    batch_set(b[0], STAT_IDLE_DUE, 5000);
    batch_add(b[2], STAT_PENDING, 1);
    b[3]->drop = true;
    for (unsigned i = 0; i < 4; i++)
        ticket_submit(&t[i], &fx, b[i], STORE_TURNS);
    gate_open(&gate);
    for (unsigned i = 0; i < 4; i++)
        ck_assert_int_eq(ticket_wait(&t[i]), ERR_OK);
    for (unsigned i = 0; i < 3; i++)
        (void)sem_wait(&w.seen);
    fixture_close(&fx);
    ck_assert_uint_eq(w.n, 3);
    ck_assert_uint_eq(w.last[0].seq, 2);
    ck_assert_uint_eq(w.last[0].due_ms, UINT64_MAX);
    ck_assert_uint_eq(w.last[1].space, space);
    ck_assert_uint_eq(w.last[1].seq, 4);
    ck_assert_uint_eq(w.last[1].processed, 3);
    ck_assert_uint_eq(w.last[1].due_ms, 0);
    ck_assert_uint_eq(w.last[2].space, other);
    ck_assert(w.last[2].dropped && !w.last[1].dropped);
    ck_assert_uint_eq(w.last[2].due_ms, UINT64_MAX);
    (void)sem_destroy(&w.seen);
    gate_fini(&gate);
}
END_TEST

enum { SUBMITTERS = 8, PER_THREAD = 200 };

static void *submitter(void *arg)
{
    uint64_t *mine = arg;
    struct arena *arena = arena_new(64 << 20);
    for (unsigned i = 0; i < PER_THREAD; i++) {
        struct ticket t;
        struct batch *batch = batch_new(arena, *mine, CAUSE_TURNS);
        uint32_t n = batch_take(batch, STAT_NEXT_TURN, 1);
        uint32_t op = batch_put(batch, KIND_TURN, STR("...."), STR("________"), PUT_STAMP);
        batch_fix(batch, op, FIX_KEY, 0, n, 0);
        ticket_submit(&t, &fx, batch, STORE_TURNS);
        ck_assert_int_eq(ticket_wait(&t), ERR_OK);
        struct store_txn *txn = begin(&fx);
        struct str value;
        struct err err;
        ck_assert_int_eq(
            store_get_u32(txn, *mine, KIND_TURN, batch->slots.at[n].value, &value, &err), ERR_OK);
        ck_assert_uint_eq(le64_get(value.at), batch->seq); /* what is acknowledged is there */
        store_end(txn);
    }
    arena_free(arena);
    return NULL;
}

START_TEST(many_submitters)
{
    pthread_t threads[SUBMITTERS];
    uint64_t ids[2] = {space, make_space(&fx, "second")};
    for (unsigned i = 0; i < SUBMITTERS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, submitter, &ids[i % 2]), 0);
    for (unsigned i = 0; i < SUBMITTERS; i++)
        (void)pthread_join(threads[i], NULL);
    for (unsigned i = 0; i < 2; i++) {
        ck_assert_uint_eq(count_rows(&fx, ids[i], KIND_TURN), SUBMITTERS / 2 * PER_THREAD);
        ck_assert_uint_eq(stat_of(&fx, ids[i]).v[STAT_SEQ], SUBMITTERS / 2 * PER_THREAD + 1);
    }
    struct store_health health;
    store_health(fx.store, &health);
    ck_assert_uint_eq(health.batches, SUBMITTERS * PER_THREAD + 2);
    ck_assert_uint_le(health.commits, health.batches);
    ck_assert_uint_gt(health.used_bytes, 0);
    ck_assert_uint_ge(health.file_bytes, health.used_bytes);
    ck_assert_uint_gt(health.disk_free_bytes, 0);
}
END_TEST

Suite *suite_store_writer(void)
{
    Suite *suite = suite_create("store_writer");
    TCase *tc = tcase_create("writer");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, turns_before_stages_before_housekeeping);
    tcase_add_test(tc, nobody_starves);
    tcase_add_test(tc, a_group_is_one_commit_and_has_limits);
    tcase_add_test(tc, queues_are_bounded);
    tcase_add_test(tc, stopping_applies_what_is_queued);
    tcase_add_test(tc, the_watcher_hears_each_changed_space_once_a_commit);
    tcase_add_test(tc, many_submitters);
    suite_add_tcase(suite, tc);
    return suite;
}
