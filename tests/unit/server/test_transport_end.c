/* How exchanges end otherwise than by a reply: limits of time, broken connections, cancels, the
 * stop; and who gets a slot when. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/unit/server/transport_kit.h"

#define HELLO RIG_REPLY("5", "hello")
#define HOLD                                                                                       \
    {                                                                                              \
        HTTP_HOLD, NULL, 0, 0, 0                                                                   \
    }
#define CHUNKED_HEAD "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

enum { SHORT_MS = 150, DRIP_MS = 40, IDLE_MS = 800, LARGE = 32 << 20 };

static const struct http_step ok[] = {HELLO, RIG_END};
static const struct http_step held[] = {HOLD, HELLO, RIG_END};
static const struct http_step stuck[] = {
    {HTTP_SEND, CHUNKED_HEAD "3\r\none\r\n", 0, 0, 0}, HOLD, RIG_END};
static const struct http_step slow[] = {
    {HTTP_SEND, "HTTP/1.1 200 OK\r\nContent-Length: 40\r\n\r\n", 0, 0, 0},
    {HTTP_DRIP, "0123456789012345678901234567890123456789", 0, DRIP_MS, 0},
    RIG_END};
static const struct http_step slow_head[] = {
    {HTTP_DRIP, "HTTP/1.1 200 OK\r\nA: b\r\nC: d\r\n", 0, DRIP_MS, 0}, HELLO, RIG_END};
static const struct http_step silent[] = {{HTTP_CLOSE, NULL, 0, 0, 0}, RIG_END};
static const struct http_step reset[] = {{HTTP_RESET, NULL, 0, 0, 0}, RIG_END};
static const struct http_step cut[] = {
    {HTTP_SEND, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello", 0, 0, 0},
    {HTTP_CLOSE, NULL, 0, 0, 0},
    RIG_END};
static const struct http_step cut_chunk[] = {
    {HTTP_SEND, CHUNKED_HEAD "5\r\nhello\r\n", 0, 0, 0}, {HTTP_CLOSE, NULL, 0, 0, 0}, RIG_END};
static const struct http_step last_of_its_connection[] = {
    HELLO, {HTTP_CLOSE, NULL, 0, 0, 0}, RIG_END};
static const struct http_step refuse[] = {
    {HTTP_SEND, "HTTP/1.1 413 No\r\nContent-Length: 0\r\n\r\n", 0, 0, 0}, HOLD, RIG_END};
static const struct http_step no_http[] = {
    {HTTP_SEND, "SSH-2.0-nothing\r\n", 0, 0, 0}, {HTTP_CLOSE, NULL, 0, 0, 0}, RIG_END};

static const struct http_script scripts[] = {
    {"/ok", ok, false},
    {"/held", held, false},
    {"/stuck", stuck, false},
    {"/slow", slow, false},
    {"/slow_head", slow_head, false},
    {"/silent", silent, false},
    {"/reset", reset, false},
    {"/cut", cut, false},
    {"/cut_chunk", cut_chunk, false},
    {"/last", last_of_its_connection, false},
    {"/no_http", no_http, false},
    {"/deaf", held, true},
    {"/refuse", refuse, true},
    {NULL, NULL, false},
};

static void setup(void)
{
    rig_open(scripts);
}

static void teardown(void)
{
    rig_close();
}

/* `part` is in the message, behind the peer's name. */
static void assert_failed(const struct ask *ask, enum err_code code, const char *part)
{
    char peer[32];
    (void)snprintf(peer, sizeof peer, "127.0.0.1:%d: ", http_script_port(rig.server));
    const struct exchange *x = &ask->x;
    ck_assert_uint_eq(ask->done, 1);
    ck_assert_msg(x->code == code, "%s: %s", err_slug(x->code), x->err.message);
    ck_assert_int_eq(x->err.code, code);
    ck_assert_msg(strncmp(x->err.message, peer, strlen(peer)) == 0, "%s", x->err.message);
    ck_assert_msg(strstr(x->err.message + strlen(peer), part) != NULL, "%s", x->err.message);
    ck_assert_ptr_null(x->handle);
}

/* --- limits of time --- */

START_TEST(no_head_in_time)
{
    struct ask ask;
    ask_init(&ask, RIG_NARROW, "/held");
    ask.x.idle_ms = SHORT_MS;
    ask_run(&ask);
    assert_failed(&ask, ERR_DEADLINE, "not a byte within 150 ms");
    ck_assert(ask.x.sent);
    ck_assert_int_ge(ask.x.took_ms, SHORT_MS);
    ask_fini(&ask);
}
END_TEST

START_TEST(a_body_that_stops)
{
    struct ask ask;
    ask_init(&ask, RIG_NARROW, "/stuck");
    ask.x.idle_ms = SHORT_MS;
    ask_run(&ask);
    assert_failed(&ask, ERR_DEADLINE, "not a byte within 150 ms");
    ck_assert_uint_eq(ask.x.reply.len, 3);
    ask_fini(&ask);
}
END_TEST

START_TEST(a_server_that_does_not_read)
{
    struct ask ask;
    ask_init(&ask, RIG_NARROW, "/deaf");
    char *body = calloc(1, LARGE);
    ck_assert_ptr_nonnull(body);
    ask.x.body = (struct str){body, LARGE};
    ask.x.idle_ms = SHORT_MS;
    ask_run(&ask);
    assert_failed(&ask, ERR_DEADLINE, "not a byte within 150 ms");
    free(body);
    ask_fini(&ask);
}
END_TEST

/* What it answers before it has read all is the reply. */
START_TEST(a_server_that_has_seen_enough)
{
    struct ask ask;
    ask_init(&ask, RIG_NARROW, "/refuse");
    char *body = calloc(1, LARGE);
    ck_assert_ptr_nonnull(body);
    ask.x.body = (struct str){body, LARGE};
    ask_run(&ask);
    ck_assert_msg(ask.x.code == ERR_OK, "%s", ask.x.err.message);
    ck_assert_int_eq(ask.x.status, 413);
    free(body);
    ask_fini(&ask);
}
END_TEST

/* Each byte puts the idle limit off: all of it takes twice as long. */
START_TEST(slow_is_not_idle)
{
    struct ask ask;
    ask_init(&ask, RIG_NARROW, "/slow");
    ask.x.idle_ms = IDLE_MS;
    ask_run(&ask);
    ask_assert_ok(&ask, "0123456789012345678901234567890123456789");
    ck_assert_int_gt(ask.x.took_ms, IDLE_MS);
    ask_fini(&ask);
}
END_TEST

START_TEST(slow_is_not_forever)
{
    struct ask ask;
    ask_init(&ask, RIG_NARROW, "/slow");
    ask.x.idle_ms = IDLE_MS;
    ask.x.total_ms = SHORT_MS;
    ask_run(&ask);
    assert_failed(&ask, ERR_DEADLINE, "no end of the reply within 150 ms");
    ask_fini(&ask);
    ask_init(&ask, RIG_NARROW, "/slow_head");
    ask.x.total_ms = SHORT_MS;
    ask_run(&ask);
    assert_failed(&ask, ERR_DEADLINE, "no end of the reply within 150 ms");
    ask_fini(&ask);
}
END_TEST

START_TEST(waiting_for_a_slot_does_not_count)
{
    struct ask first[RIG_NARROW_SLOTS], second;
    for (int i = 0; i < RIG_NARROW_SLOTS; i++) {
        ask_init(&first[i], RIG_NARROW, "/held");
        ask_start(&first[i]);
    }
    AWAIT(http_script_held(rig.server) == RIG_NARROW_SLOTS);
    ask_init(&second, RIG_NARROW, "/ok");
    second.x.connect_ms = second.x.idle_ms = second.x.total_ms = 4 * SHORT_MS;
    ask_start(&second);
    int64_t late_ms = clock_mono_ms(&rig.clock) + 5 * SHORT_MS;
    AWAIT(clock_mono_ms(&rig.clock) > late_ms);
    ck_assert_uint_eq(second.done, 0);
    http_script_release(rig.server, RIG_NARROW_SLOTS);
    AWAIT(second.done != 0);
    ask_assert_ok(&second, "hello");
    ck_assert_int_ge(second.x.queued_ms, 5 * SHORT_MS);
    ck_assert_int_lt(second.x.took_ms, 4 * SHORT_MS);
    AWAIT(first[0].done && first[1].done);
    for (int i = 0; i < RIG_NARROW_SLOTS; i++)
        ask_fini(&first[i]);
    ask_fini(&second);
}
END_TEST

/* A listener whose queue is full: the next connection's first packet is dropped. */
struct full_listener {
    int fd, fillers[8], port;
};

static void full_listener_open(struct full_listener *full)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;
    full->fd = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(full->fd, (struct sockaddr *)&at, sizeof at), 0);
    ck_assert_int_eq(listen(full->fd, 0), 0);
    ck_assert_int_eq(getsockname(full->fd, (struct sockaddr *)&at, &len), 0);
    full->port = ntohs(at.sin_port);
    for (size_t i = 0; i < sizeof full->fillers / sizeof full->fillers[0]; i++) {
        full->fillers[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        (void)connect(full->fillers[i], (struct sockaddr *)&at, sizeof at);
    }
}

static void full_listener_close(const struct full_listener *full)
{
    for (size_t i = 0; i < sizeof full->fillers / sizeof full->fillers[0]; i++)
        (void)close(full->fillers[i]);
    (void)close(full->fd);
}

START_TEST(no_connection_in_time)
{
    struct full_listener full;
    struct ask ask;
    full_listener_open(&full);
    ask_init(&ask, RIG_NARROW, "");
    (void)snprintf(ask.url, sizeof ask.url, "http://127.0.0.1:%d/", full.port);
    ask.x.connect_ms = SHORT_MS;
    ask.x.idle_ms = 1; /* counts from the connection on */
    ask_run(&ask);
    ck_assert_int_eq(ask.x.code, ERR_DEADLINE);
    ck_assert_msg(strstr(ask.x.err.message, ": no connection within 150 ms") != NULL, "%s",
                  ask.x.err.message);
    ck_assert(!ask.x.sent);
    ck_assert_int_ge(ask.x.took_ms, SHORT_MS);
    ask.done = 0;
    ask.x.connect_ms = 0;
    ask.x.total_ms = SHORT_MS;
    ask_run(&ask);
    ck_assert_int_eq(ask.x.code, ERR_DEADLINE);
    ck_assert_ptr_nonnull(strstr(ask.x.err.message, "no end of the reply"));
    ask_fini(&ask);
    full_listener_close(&full);
}
END_TEST

/* --- broken connections --- */

static void assert_breaks(const char *path, const char *part)
{
    struct ask ask;
    ask_init(&ask, RIG_NARROW, path);
    ask_run(&ask);
    assert_failed(&ask, ERR_UNAVAILABLE, part);
    ck_assert(ask.x.sent);
    ask_fini(&ask);
}

START_TEST(a_server_that_breaks_off)
{
    assert_breaks("/silent", "Empty reply");
    assert_breaks("/reset", "reset");
    assert_breaks("/cut", "closed");
    assert_breaks("/cut_chunk", "");
    assert_breaks("/no_http", "");
}
END_TEST

START_TEST(nobody_listens)
{
    struct full_listener closed;
    struct ask ask;
    full_listener_open(&closed);
    full_listener_close(&closed);
    ask_init(&ask, RIG_NARROW, "");
    (void)snprintf(ask.url, sizeof ask.url, "http://me:pass@127.0.0.1:%d/a?key=secret",
                   closed.port);
    struct exchange_header header = {STR("Authorization"), STR("Bearer secret")};
    ask.x.headers = &header;
    ask.x.n_headers = 1;
    ask_run(&ask);
    char message[64];
    (void)snprintf(message, sizeof message, "127.0.0.1:%d: connection refused", closed.port);
    ck_assert_int_eq(ask.x.code, ERR_UNAVAILABLE);
    ck_assert_str_eq(ask.x.err.message, message);
    ck_assert(!ask.x.sent);
    ck_assert_int_eq(ask.x.status, 0);
    ask_fini(&ask);
}
END_TEST

/* What it still had open is closed on the other side meanwhile. */
START_TEST(a_connection_that_was_closed_while_idle)
{
    enum { TIMES = 3 };
    for (int i = 0; i < TIMES; i++) {
        struct ask ask;
        ask_init(&ask, RIG_NARROW, "/last");
        ask_run(&ask);
        ask_assert_ok(&ask, "hello");
        ask_fini(&ask);
    }
    ck_assert_uint_eq(http_script_connections(rig.server), TIMES);
}
END_TEST

static const char *const bad_urls[] = {
    "", "nonsense", "127.0.0.1:1/", "file:///etc/passwd", "ftp://127.0.0.1/", "http://",
};

START_TEST(urls_that_are_none)
{
    struct ask ask;
    ask_init(&ask, RIG_NARROW, "");
    ask.x.url = bad_urls[_i];
    ask_run(&ask);
    ck_assert_int_eq(ask.x.code, ERR_UNAVAILABLE);
    ck_assert_ptr_nonnull(strstr(ask.x.err.message, "the URL can't be used"));
    ck_assert(!ask.x.sent);
    ask_fini(&ask);
}
END_TEST

START_TEST(tls_wants_tls)
{
    struct ask ask;
    ask_init(&ask, RIG_NARROW, "");
    (void)snprintf(ask.url, sizeof ask.url, "https://127.0.0.1:%d/ok",
                   http_script_port(rig.server));
    ask.x.connect_ms = 10 * SHORT_MS; /* the server waits for the end of a head */
    ask_run(&ask);
    assert_failed(&ask, ERR_DEADLINE, "no connection within");
    ck_assert(!ask.x.sent);
    ask_fini(&ask);
}
END_TEST

START_TEST(no_memory_for_headers)
{
    struct exchange_header header = {STR("A"), STR("b")};
    struct ask ask;
    ask_init(&ask, RIG_NARROW, "/ok");
    ask.x.headers = &header;
    ask.x.n_headers = 1;
    arena_fail_after(ask.x.arena, 1);
    ask_run(&ask);
    assert_failed(&ask, ERR_UNAVAILABLE, "out of memory");
    ck_assert(!ask.x.sent);
    ask_fini(&ask);
    ask_init(&ask, RIG_NARROW, "/ok"); /* the slot is back */
    ask_run(&ask);
    ask_assert_ok(&ask, "hello");
    ask_fini(&ask);
}
END_TEST

/* --- slots --- */

enum { SIX = 6 };

static void start_held(struct ask asks[SIX])
{
    for (int i = 0; i < SIX; i++) {
        char path[16];
        (void)snprintf(path, sizeof path, "/held-%d", i);
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
    assert_failed(&asks[0], ERR_UNAVAILABLE, "cancelled");
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
    assert_failed(&ask, ERR_UNAVAILABLE, "cancelled");
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
    assert_failed(&asks[2], ERR_UNAVAILABLE, "cancelled");
    assert_failed(&asks[3], ERR_UNAVAILABLE, "cancelled");
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
    assert_failed(&ask, ERR_UNAVAILABLE, "cancelled");
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
        assert_failed(&asks[i], ERR_UNAVAILABLE, i == 0 ? "cancelled" : "stops");
    assert_failed(&cancelled, ERR_UNAVAILABLE, "cancelled");
    assert_failed(&fresh, ERR_UNAVAILABLE, "stops");
    assert_failed(&after, ERR_UNAVAILABLE, "stops");
    ck_assert(asks[1].x.sent && !asks[1].x.cancelled && !asks[2].x.sent && !fresh.x.sent);
    ck_assert_uint_eq(http_script_requests(rig.server), RIG_NARROW_SLOTS);
    after.done = 0;
    ask_run(&after); /* for as long as the loop runs */
    assert_failed(&after, ERR_UNAVAILABLE, "stops");
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

Suite *suite_transport_end(void)
{
    Suite *suite = suite_create("transport_end");
    TCase *tcase = tcase_create("end");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, no_head_in_time);
    tcase_add_test(tcase, a_body_that_stops);
    tcase_add_test(tcase, a_server_that_does_not_read);
    tcase_add_test(tcase, a_server_that_has_seen_enough);
    tcase_add_test(tcase, slow_is_not_idle);
    tcase_add_test(tcase, slow_is_not_forever);
    tcase_add_test(tcase, waiting_for_a_slot_does_not_count);
    tcase_add_test(tcase, no_connection_in_time);
    tcase_add_test(tcase, a_server_that_breaks_off);
    tcase_add_test(tcase, nobody_listens);
    tcase_add_test(tcase, a_connection_that_was_closed_while_idle);
    tcase_add_loop_test(tcase, urls_that_are_none, 0, sizeof bad_urls / sizeof bad_urls[0]);
    tcase_add_test(tcase, tls_wants_tls);
    tcase_add_test(tcase, no_memory_for_headers);
    tcase_add_test(tcase, slots_go_in_order_of_arrival);
    tcase_add_test(tcase, a_wake_up_does_not_take_all);
    tcase_add_test(tcase, the_end_of_one_may_start_another);
    tcase_add_test(tcase, cancelled_in_flight);
    tcase_add_test(tcase, cancelled_in_the_middle_of_a_reply);
    tcase_add_test(tcase, cancelled_while_waiting);
    tcase_add_test(tcase, cancelled_at_once_or_too_late);
    tcase_add_test(tcase, stop_with_exchanges_in_all_states);
    tcase_add_test(tcase, from_many_threads);
    suite_add_tcase(suite, tcase);
    return suite;
}
