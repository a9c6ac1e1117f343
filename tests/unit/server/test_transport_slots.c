/* Who gets a slot when, and how exchanges end from our side: cancels, the stop, many threads. */
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>

#include "tests/unit/server/transport_kit.h"

static const struct http_step ok[] = {RIG_HELLO, RIG_END};
static const struct http_step held[] = {RIG_HOLD, RIG_HELLO, RIG_END};
static const struct http_step stuck[] = {
    {HTTP_SEND, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\none", 0, 0, 0}, RIG_HOLD, RIG_END};

static const struct http_script scripts[] = {
    {"/ok", ok, HTTP_READS},
    {"/held", held, HTTP_READS},
    {"/stuck", stuck, HTTP_READS},
    {NULL, NULL, HTTP_READS},
};

static void setup(void)
{
    rig_open(scripts);
}

static void teardown(void)
{
    rig_close();
}

/* --- slots --- */

enum { SIX = 6 };

static void start_held(struct ask asks[SIX])
{
    for (int i = 0; i < SIX; i++) {
        char path[16];
        (void)snprintf(path, sizeof path, "/held-%u", (unsigned)i % SIX);
        ask_init(&asks[i], RIG_NARROW, path);
        ask_start(&asks[i]);
    }
}

static void fini_all(struct ask asks[SIX])
{
    for (int i = 0; i < SIX; i++)
        ask_fini(&asks[i]);
}

static void assert_asked(unsigned request, const char *path)
{
    const char *head = http_script_head(rig.server, request);
    ck_assert_msg(strstr(head, path) != NULL, "request %u is not %s:\n%s", request, path, head);
}

START_TEST(slots_go_in_order_of_arrival)
{
    struct ask asks[SIX], other;
    start_held(asks);
    AWAIT(http_script_held(rig.server) == RIG_NARROW_SLOTS);
    /* Another endpoint has slots of its own. */
    ask_init(&other, RIG_OTHER, "/ok");
    ask_run(&other);
    ask_assert_ok(&other, "hello");
    ask_fini(&other);
    for (unsigned i = RIG_NARROW_SLOTS; i < SIX; i++) {
        http_script_release(rig.server, 1);
        AWAIT(http_script_requests(rig.server) == i + 2); /* one more, and the other */
        char path[16];
        (void)snprintf(path, sizeof path, "/held-%u ", i);
        assert_asked(i + 1, path);
        AWAIT(http_script_held(rig.server) == RIG_NARROW_SLOTS);
    }
    http_script_release(rig.server, RIG_NARROW_SLOTS);
    AWAIT(asks[SIX - 1].done && asks[SIX - 2].done);
    for (int i = 0; i < SIX; i++)
        ask_assert_ok(&asks[i], "hello");
    ck_assert_uint_eq(http_script_most_open(rig.server), RIG_NARROW_SLOTS + 1);
    fini_all(asks);
}
END_TEST

static unsigned flying(void)
{
    unsigned n = 0;
    for (const struct exchange *x = rig.carrier->flying.first; x != NULL; x = x->next)
        n++;
    return n;
}

/* T3 */
START_TEST(a_wake_up_does_not_take_all)
{
    enum { MANY = 3 * MAIL_BATCH };
    static struct ask asks[MANY];
    for (unsigned i = 0; i < MANY; i++) {
        ask_init(&asks[i], RIG_WIDE, "/held");
        ask_start(&asks[i]);
    }
    unsigned before = 0;
    while (flying() < MANY) {
        rig_turn();
        ck_assert_uint_le(flying() - before, MAIL_BATCH);
        before = flying();
    }
    transport_stop(rig.carrier);
    while (!transport_idle(rig.carrier)) {
        unsigned ended = rig.ended;
        rig_turn();
        ck_assert_uint_le(rig.ended - ended, MAIL_BATCH);
    }
    for (unsigned i = 0; i < MANY; i++)
        ask_fini(&asks[i]);
}
END_TEST

/* The connections of a burst are there for the next one. */
START_TEST(bursts_share_connections)
{
    enum { MANY = 64, TIMES = 3 };
    static struct ask asks[MANY];
    for (unsigned round = 1; round <= TIMES; round++) {
        for (unsigned i = 0; i < MANY; i++) {
            ask_init(&asks[i], RIG_WIDE, "/held");
            ask_start(&asks[i]);
        }
        AWAIT(http_script_held(rig.server) == MANY);
        http_script_release(rig.server, MANY);
        AWAIT(transport_idle(rig.carrier));
        for (unsigned i = 0; i < MANY; i++) {
            ask_assert_ok(&asks[i], "hello");
            ask_fini(&asks[i]);
        }
    }
    ck_assert_uint_eq(http_script_requests(rig.server), TIMES * MANY);
    ck_assert_uint_eq(http_script_connections(rig.server), MANY);
}
END_TEST

static void on_done_again(struct exchange *x)
{
    struct ask *ask = x->arg;
    if (++ask->done < SIX)
        ask_start(ask);
}

START_TEST(the_end_of_one_may_start_another)
{
    struct ask ask;
    ask_init(&ask, RIG_NARROW, "/ok");
    ask.x.done = on_done_again;
    ask_start(&ask);
    AWAIT(ask.done == SIX);
    ck_assert_int_eq(ask.x.status, 200);
    ck_assert_uint_eq(http_script_requests(rig.server), SIX);
    ask_fini(&ask);
}
END_TEST

/* --- cancels --- */

START_TEST(cancelled_in_flight)
{
    struct ask asks[SIX];
    start_held(asks);
    AWAIT(http_script_held(rig.server) == RIG_NARROW_SLOTS);
    ask_cancel(&asks[0]);
    ask_cancel(&asks[0]);
    AWAIT(asks[0].done != 0);
    ask_assert_failed(&asks[0], ERR_UNAVAILABLE, "cancelled");
    ck_assert(asks[0].x.cancelled && asks[0].x.sent);
    /* Its slot goes to the next one. */
    AWAIT(http_script_requests(rig.server) == RIG_NARROW_SLOTS + 1);
    assert_asked(RIG_NARROW_SLOTS, "/held-2 ");
    http_script_release(rig.server, SIX);
    AWAIT(asks[SIX - 1].done != 0 && asks[SIX - 2].done != 0);
    for (int i = 1; i < SIX; i++)
        ask_assert_ok(&asks[i], "hello");
    fini_all(asks);
}
END_TEST

START_TEST(cancelled_in_the_middle_of_a_reply)
{
    struct ask ask;
    ask_init(&ask, RIG_NARROW, "/stuck");
    ask_start(&ask);
    AWAIT(ask.x.reply.len == 3);
    ask_cancel(&ask);
    AWAIT(ask.done != 0);
    ask_assert_failed(&ask, ERR_UNAVAILABLE, "cancelled");
    ask_fini(&ask);
}
END_TEST

static bool cancel_it(struct exchange *x, struct str piece)
{
    ck_assert(str_eq(piece, STR("hello")));
    rig.port->cancel(rig.port, x);
    return true;
}

/* libcurl ends it before the loop has read the cancel. */
START_TEST(cancelled_with_the_last_byte)
{
    struct ask ask;
    ask_init(&ask, RIG_NARROW, "/ok");
    ask.x.data = cancel_it;
    ask_run(&ask);
    ask_assert_failed(&ask, ERR_UNAVAILABLE, "cancelled");
    ck_assert(ask.x.cancelled);
    ask_fini(&ask);
}
END_TEST

START_TEST(cancelled_while_waiting)
{
    struct ask asks[SIX];
    start_held(asks);
    AWAIT(http_script_held(rig.server) == RIG_NARROW_SLOTS);
    ask_cancel(&asks[SIX - 1]); /* the last, one in the middle, the first that waits */
    ask_cancel(&asks[3]);
    ask_cancel(&asks[2]);
    AWAIT(asks[2].done && asks[3].done && asks[SIX - 1].done);
    ask_assert_failed(&asks[2], ERR_UNAVAILABLE, "cancelled");
    ask_assert_failed(&asks[3], ERR_UNAVAILABLE, "cancelled");
    ck_assert(asks[2].x.cancelled && !asks[2].x.sent);
    ck_assert_int_eq(asks[2].x.took_ms, 0);
    ck_assert_uint_eq(asks[0].done + asks[1].done + asks[4].done, 0);
    http_script_release(rig.server, SIX);
    AWAIT(asks[0].done && asks[1].done && asks[4].done);
    ask_assert_ok(&asks[4], "hello");
    ck_assert_uint_eq(http_script_requests(rig.server), 3);
    fini_all(asks);
}
END_TEST

START_TEST(cancelled_at_once_or_too_late)
{
    struct ask ask;
    ask_init(&ask, RIG_NARROW, "/ok");
    ask_start(&ask);
    ask_cancel(&ask); /* before the loop has seen it */
    AWAIT(ask.done != 0);
    ask_assert_failed(&ask, ERR_UNAVAILABLE, "cancelled");
    ck_assert(!ask.x.sent);
    ck_assert_uint_eq(http_script_connections(rig.server), 0);
    ask.done = 0;
    ask_run(&ask);
    ask_assert_ok(&ask, "hello");
    ask_cancel(&ask);
    ask_fini(&ask);
    /* What it points at is only compared: reading a byte of this one would end the test. */
    enum { PAGE = 4096 };
    struct exchange *gone = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(gone, MAP_FAILED);
    rig.port->cancel(rig.port, gone);
    (void)munmap(gone, PAGE);
    rig_turn();
    ck_assert_uint_eq(ask.done, 1);
    ck_assert(!ask.x.cancelled);
}
END_TEST

/* --- the stop --- */

START_TEST(stop_with_exchanges_in_all_states)
{
    struct ask asks[SIX], fresh, cancelled, after;
    start_held(asks);
    AWAIT(http_script_held(rig.server) == RIG_NARROW_SLOTS);
    ask_init(&cancelled, RIG_NARROW, "/ok");
    ask_start(&cancelled);
    ask_cancel(&cancelled);
    ask_cancel(&asks[0]);
    ask_init(&fresh, RIG_OTHER, "/ok");
    ask_start(&fresh);
    transport_stop(rig.carrier);
    ck_assert(!transport_idle(rig.carrier));
    ask_init(&after, RIG_OTHER, "/ok");
    ask_start(&after);
    ck_assert_uint_eq(after.done, 0); /* refused by the loop, not by start() */
    AWAIT(transport_idle(rig.carrier));
    for (int i = 0; i < SIX; i++)
        ask_assert_failed(&asks[i], ERR_UNAVAILABLE, i == 0 ? "cancelled" : "stops");
    ask_assert_failed(&cancelled, ERR_UNAVAILABLE, "cancelled");
    ask_assert_failed(&fresh, ERR_UNAVAILABLE, "stops");
    ask_assert_failed(&after, ERR_UNAVAILABLE, "stops");
    ck_assert(asks[1].x.sent && !asks[1].x.cancelled && !asks[2].x.sent && !fresh.x.sent);
    ck_assert_uint_eq(http_script_requests(rig.server), RIG_NARROW_SLOTS);
    after.done = 0;
    ask_run(&after); /* for as long as the loop runs */
    ask_assert_failed(&after, ERR_UNAVAILABLE, "stops");
    fini_all(asks);
    ask_fini(&fresh);
    ask_fini(&cancelled);
    ask_fini(&after);
}
END_TEST

/* --- threads --- */

enum { THREADS = 4, EACH = 100 };

static atomic_uint alive;

static void on_done_counted(struct exchange *x)
{
    struct ask *ask = x->arg;
    ask->done++;
    atomic_fetch_sub(&alive, 1);
}

static void *start_and_cancel(void *arg)
{
    struct ask *asks = arg;
    for (int i = 0; i < EACH; i++) {
        ask_start(&asks[i]);
        if (i % 2 != 0)
            ask_cancel(&asks[i - i % 4]);
    }
    return NULL;
}

START_TEST(from_many_threads)
{
    static struct ask asks[THREADS][EACH];
    pthread_t threads[THREADS];
    atomic_store(&alive, THREADS * EACH);
    for (int i = 0; i < THREADS; i++) {
        for (int j = 0; j < EACH; j++) {
            ask_init(&asks[i][j], (uint32_t)(j % RIG_ENDPOINTS), "/ok");
            asks[i][j].x.done = on_done_counted;
        }
        ck_assert_int_eq(pthread_create(&threads[i], NULL, start_and_cancel, asks[i]), 0);
    }
    AWAIT(atomic_load(&alive) == 0);
    ck_assert(transport_idle(rig.carrier));
    unsigned answered = 0;
    for (int i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
        for (int j = 0; j < EACH; j++) {
            const struct exchange *x = &asks[i][j].x;
            ck_assert_uint_eq(asks[i][j].done, 1);
            ck_assert_msg(x->code == (x->cancelled ? ERR_UNAVAILABLE : ERR_OK), "%s",
                          x->err.message);
            answered += x->code == ERR_OK;
            ask_fini(&asks[i][j]);
        }
    }
    ck_assert_uint_ge(answered, THREADS * EACH / 2); /* those that nobody cancelled */
}
END_TEST

Suite *suite_transport_slots(void)
{
    Suite *suite = suite_create("transport_slots");
    TCase *tcase = tcase_create("slots");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, slots_go_in_order_of_arrival);
    tcase_add_test(tcase, a_wake_up_does_not_take_all);
    tcase_add_test(tcase, bursts_share_connections);
    tcase_add_test(tcase, the_end_of_one_may_start_another);
    tcase_add_test(tcase, cancelled_in_flight);
    tcase_add_test(tcase, cancelled_in_the_middle_of_a_reply);
    tcase_add_test(tcase, cancelled_with_the_last_byte);
    tcase_add_test(tcase, cancelled_while_waiting);
    tcase_add_test(tcase, cancelled_at_once_or_too_late);
    tcase_add_test(tcase, stop_with_exchanges_in_all_states);
    tcase_add_test(tcase, from_many_threads);
    suite_add_tcase(suite, tcase);
    return suite;
}
