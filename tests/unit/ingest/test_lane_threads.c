/* Lanes under threads: whoever is inside a lane counts itself in. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/ingest/lane_int.h"
#include "tests/unit/storage/fixture.h"

enum { THREADS = 4, SHARED_SPACES = 12, DELETES = 400 };

struct crew {
    pthread_mutex_t lock;
    pthread_cond_t more;
    struct step *first, *last;
    bool end;
    atomic_uint inside[SHARED_SPACES]; /* holders of each lane */
    atomic_uint worked[SHARED_SPACES]; /* units left */
    atomic_uint done;
};

static struct crew *crew;
static struct lanes *lanes;

static void crew_submit(struct step *step, void *arg)
{
    struct crew *c = arg;
    pthread_mutex_lock(&c->lock);
    step->next = NULL;
    if (c->first == NULL)
        c->first = step;
    else
        c->last->next = step;
    c->last = step;
    pthread_cond_signal(&c->more);
    pthread_mutex_unlock(&c->lock);
}

/* Units without a batch: what counts here is who is inside. */
static enum err_code crew_build(struct store_txn *txn, uint64_t space,
                                const struct services *services, struct arena *arena,
                                struct stage_unit *unit, struct err *err)
{
    (void)txn;
    (void)services;
    *unit = (struct stage_unit){0};
    unsigned i = (unsigned)(space - 1);
    if (atomic_fetch_add(&crew->inside[i], 1) != 0)
        abort();
    bool work = atomic_load(&crew->worked[i]) != 0;
    if (work) {
        atomic_fetch_sub(&crew->worked[i], 1);
        unit->batch = batch_new(arena, space, CAUSE_STAGE);
        unit->more = true;
        unit->queue = STORE_STAGES;
    }
    atomic_fetch_sub(&crew->inside[i], 1);
    return unit->batch != NULL || !work ? ERR_OK : err_set(err, ERR_EXHAUSTED, "no memory");
}

static enum step_verdict crew_work(struct step *step)
{
    if (!step->lane_held)
        return STEP_LANE;
    unsigned i = (unsigned)(step->lane_space - 1);
    if (atomic_fetch_add(&crew->inside[i], 1) != 0)
        abort();
    atomic_fetch_sub(&crew->inside[i], 1);
    return STEP_DONE;
}

static void crew_finish(struct step *step)
{
    free(step);
    atomic_fetch_add(&crew->done, 1);
}

static void crew_step(struct step *step)
{
    for (;;) {
        switch (step->run(step)) {
        case STEP_COMMIT: step->outcome = ERR_OK; continue;
        case STEP_LANE: lanes_enter(lanes, step); return;
        default: break;
        }
        if (step->lane_held)
            lanes_leave(lanes, step);
        step->finish(step);
        return;
    }
}

static void *crew_thread(void *arg)
{
    struct crew *c = arg;
    for (;;) {
        pthread_mutex_lock(&c->lock);
        while (c->first == NULL && !c->end)
            pthread_cond_wait(&c->more, &c->lock);
        struct step *step = c->first;
        if (step != NULL)
            c->first = step->next;
        pthread_mutex_unlock(&c->lock);
        if (step == NULL)
            return NULL;
        crew_step(step);
    }
}

static void crew_feed(unsigned seed)
{
    for (unsigned i = 0; i < DELETES; i++) {
        seed = seed * 1103515245u + 12345u;
        unsigned k = seed >> 16 & 0xff;
        uint64_t space = 1 + k % SHARED_SPACES;
        if (i % 4 == 0) {
            atomic_fetch_add(&crew->worked[space - 1], 1);
            lanes_due(lanes, space);
        } else {
            struct step *step = calloc(1, sizeof *step);
            *step = (struct step){.run = crew_work, .finish = crew_finish, .lane_space = space};
            lanes_enter(lanes, step);
        }
        lanes_check(lanes);
    }
}

static bool crew_is_done(void)
{
    if (lanes_busy(lanes) != 0)
        return false;
    for (unsigned i = 0; i < SHARED_SPACES; i++) {
        if (atomic_load(&crew->worked[i]) != 0)
            return false;
    }
    return true;
}

static void make_spaces(struct fixture *f)
{
    for (unsigned i = 0; i < SHARED_SPACES; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "s%u", i);
        ck_assert_uint_eq(make_space(f, name), i + 1);
    }
}

static void end_crew(const pthread_t *threads)
{
    pthread_mutex_lock(&crew->lock);
    crew->end = true;
    pthread_cond_broadcast(&crew->more);
    pthread_mutex_unlock(&crew->lock);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

START_TEST(one_holder_at_a_time)
{
    struct fixture f;
    struct clock clock = clock_system();
    fixture_init(&f);
    make_spaces(&f);
    struct services services = {.store = f.store, .clock = &clock};
    crew = calloc(1, sizeof *crew);
    ck_assert_ptr_nonnull(crew);
    pthread_mutex_init(&crew->lock, NULL);
    pthread_cond_init(&crew->more, NULL);
    lanes = lanes_new(crew_submit, crew);
    lanes->build = crew_build;
    lanes_bind(lanes, &services);
    pthread_t threads[THREADS];
    for (unsigned i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, crew_thread, crew), 0);
    crew_feed(7);
    for (unsigned i = 0; i < 10000 && !crew_is_done(); i++)
        usleep(1000);
    ck_assert(crew_is_done());
    ck_assert_uint_eq(atomic_load(&crew->done), DELETES - DELETES / 4);
    lanes_stop(lanes);
    end_crew(threads);
    ck_assert_uint_eq(lanes_busy(lanes), 0);
    lanes_free(lanes);
    fixture_fini(&f);
    free(crew);
}
END_TEST

Suite *suite_lane_threads(void)
{
    Suite *suite = suite_create("lane_threads");
    TCase *tc = tcase_create("lane_threads");
    tcase_add_test(tc, one_holder_at_a_time);
    suite_add_tcase(suite, tc);
    return suite;
}
