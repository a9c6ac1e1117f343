/* What the transport sends and what it makes of what comes. Ends and limits are in
 * test_transport_end.c, slots, cancels and the stop in test_transport_slots.c. */
#include <stdlib.h>
#include <sys/resource.h>

#include "tests/unit/server/transport_kit.h"

/* --- scripts --- */

#define GZIP_HEAD "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n"
#define TYPED(type) "HTTP/1.1 200 OK\r\nContent-Type: " type "\r\nContent-Length: 0\r\n\r\n"

static const char gzipped[] =
    GZIP_HEAD "Content-Length: 49\r\n\r\n"
              "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xcb\x48\xcd\xc9\xc9\x57\x48\x2b\xca\xcf\x55"
              "\x48\x54\x48\xce\xcf\x2d\x28\x4a\x2d\x2e\x4e\x4d\x51\x28\x4a\x2d\xc8\xa9\x04\x00\x2b"
              "\xf3\x10\x3f\x1d\x00\x00\x00";
/* 100,000 zeros */
static const char bomb[] =
    GZIP_HEAD "Content-Length: 132\r\n\r\n"
              "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xed\xc1\x31\x01\x00\x00\x00\xc2\xa0"
              "\xf5\x4f\x6d\x0d\x0f\xa0\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
              "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
              "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
              "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
              "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
              "\x00\x00\x00\x00\x00\x00\x00\x80\x57\x03\x7d\x95\x11\xd4\xa0\x86\x01\x00";

static const struct http_step ok[] = {RIG_HELLO, RIG_END};
static const struct http_step typed[] = {
    {HTTP_SEND, TYPED("Application/JSON ; charset=utf-8"), 0, 0, 0}, RIG_END};
static const struct http_step long_type[] = {
    {HTTP_SEND,
     TYPED("application/"
           "vnd.a-name-that-is-longer-than-anybody-would-ever-want-to-write-or-read+json"),
     0, 0, 0},
    RIG_END};
static const struct http_step failed[] = {
    {HTTP_SEND, "HTTP/1.1 500 Oh\r\nContent-Length: 4\r\n\r\noops", 0, 0, 0}, RIG_END};
static const struct http_step moved[] = {
    {HTTP_SEND,
     "HTTP/1.1 302 Found\r\nLocation: /ok\r\nSet-Cookie: a=b; Path=/\r\nContent-Length: 0\r\n\r\n",
     0, 0, 0},
    RIG_END};
static const struct http_step squeezed[] = {{HTTP_SEND, gzipped, sizeof gzipped - 1, 0, 0},
                                            RIG_END};
static const struct http_step swollen[] = {{HTTP_SEND, bomb, sizeof bomb - 1, 0, 0}, RIG_END};
static const struct http_step early_hints[] = {
    {HTTP_SEND, "HTTP/1.1 103 Early Hints\r\nRetry-After: 9\r\nContent-Type: a/b\r\n\r\n", 0, 0, 0},
    RIG_HELLO,
    RIG_END};
static const struct http_step in_pieces[] = {
    {HTTP_SEND,
     "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
     "3\r\none\r\n",
     0, 0, 0},
    {HTTP_HOLD, NULL, 0, 0, 0},
    {HTTP_SEND, "3\r\ntwo\r\n", 0, 0, 0},
    {HTTP_HOLD, NULL, 0, 0, 0},
    {HTTP_SEND, "5\r\nthree\r\n0\r\n\r\n", 0, 0, 0},
    RIG_END};
static const struct http_step endless[] = {
    {HTTP_SEND, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", 0, 0, 0},
    {HTTP_SEND, "10\r\n0123456789abcdef\r\n", 0, 0, 1 << 20},
    RIG_END};
static const struct http_step vast[] = {
    {HTTP_SEND, "HTTP/1.1 200 OK\r\nContent-Length: 999999999\r\n\r\n", 0, 0, 0},
    {HTTP_HOLD, NULL, 0, 0, 0},
    RIG_END};
static const struct http_step a_second[] = {{HTTP_WAIT, NULL, 0, 1000, 0}, RIG_HELLO, RIG_END};

static const struct http_script scripts[] = {
    {"/ok", ok, HTTP_READS},
    {"/typed", typed, HTTP_READS},
    {"/long_type", long_type, HTTP_READS},
    {"/failed", failed, HTTP_READS},
    {"/moved", moved, HTTP_READS},
    {"/squeezed", squeezed, HTTP_READS},
    {"/swollen", swollen, HTTP_READS},
    {"/early_hints", early_hints, HTTP_READS},
    {"/in_pieces", in_pieces, HTTP_READS},
    {"/endless", endless, HTTP_READS},
    {"/vast", vast, HTTP_READS},
    {"/a_second", a_second, HTTP_READS},
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

static void assert_sent(unsigned request, const char *part)
{
    const char *head = http_script_head(rig.server, request);
    ck_assert_msg(strstr(head, part) != NULL, "no '%s' in:\n%s", part, head);
}

static void assert_not_sent(unsigned request, const char *part)
{
    const char *head = http_script_head(rig.server, request);
    ck_assert_msg(*head != '\0' && strstr(head, part) == NULL, "'%s' in:\n%s", part, head);
}

/* --- requests --- */

START_TEST(a_post)
{
    struct ask ask;
    ask_init(&ask, RIG_NARROW, "/ok?a=b%20c");
    ask.x.body = STR("{\"a\":1}");
    ask_run(&ask);
    ask_assert_ok(&ask, "hello");
    ck_assert_str_eq(ask.x.content_type, "");
    ck_assert_int_eq(ask.x.retry_after_ms, -1);
    assert_sent(0, "POST /ok?a=b%20c HTTP/1.1\r\n");
    assert_sent(0, "\r\nContent-Type: application/json\r\n");
    assert_sent(0, "\r\nContent-Length: 7\r\n");
    assert_sent(0, "\r\nUser-Agent: hypermemd/");
    assert_sent(0, "gzip");
    assert_not_sent(0, "Expect");
    ck_assert_uint_eq(http_script_body_bytes(rig.server, 0), 7);
    ask_fini(&ask);
}
END_TEST

START_TEST(requests_without_a_body)
{
    struct ask ask;
    ask_init(&ask, RIG_NARROW, "/ok");
    ask.x.method = "GET";
    ask.x.body = STR_NONE;
    ask_run(&ask);
    ask_assert_ok(&ask, "hello");
    assert_sent(0, "GET /ok HTTP/1.1\r\n");
    assert_not_sent(0, "Content-");
    ask.done = 0;
    ask.x.method = "POST";
    ask_run(&ask);
    ask_assert_ok(&ask, "hello");
    assert_sent(1, "POST /ok HTTP/1.1\r\n");
    assert_sent(1, "\r\nContent-Length: 0\r\n");
    assert_not_sent(1, "Content-Type");
    ask_fini(&ask);
}
END_TEST

START_TEST(given_headers_win)
{
    struct exchange_header headers[] = {{STR("content-type"), STR("application/x-ndjson")},
                                        {STR("User-Agent"), STR("me")},
                                        {STR("Authorization"), STR("Bearer key")},
                                        {STR("X-Empty"), STR("")}};
    struct ask ask;
    ask_init(&ask, RIG_NARROW, "/ok");
    ask.x.headers = headers;
    ask.x.n_headers = sizeof headers / sizeof headers[0];
    ask_run(&ask);
    ask_assert_ok(&ask, "hello");
    assert_sent(0, "\r\ncontent-type: application/x-ndjson\r\n");
    assert_sent(0, "\r\nUser-Agent: me\r\n");
    assert_sent(0, "\r\nAuthorization: Bearer key\r\n");
    assert_sent(0, "\r\nX-Empty:");
    assert_not_sent(0, "application/json");
    assert_not_sent(0, "hypermemd");
    /* Nothing of it is left for the next one on the same handle. */
    ask.done = 0;
    ask.x.n_headers = 0;
    ask_run(&ask);
    assert_not_sent(1, "Authorization");
    assert_not_sent(1, "X-Empty");
    assert_sent(1, "application/json");
    ask_fini(&ask);
}
END_TEST

START_TEST(a_large_body_is_sent_at_once)
{
    enum { BYTES = 3 << 20 };
    struct ask ask;
    ask_init(&ask, RIG_NARROW, "/ok");
    char *body = calloc(1, BYTES);
    ck_assert_ptr_nonnull(body);
    ask.x.body = (struct str){body, BYTES};
    ask_run(&ask);
    ask_assert_ok(&ask, "hello");
    assert_not_sent(0, "Expect");
    ck_assert_uint_eq(http_script_body_bytes(rig.server, 0), BYTES);
    free(body);
    ask_fini(&ask);
}
END_TEST

START_TEST(one_connection_serves_many)
{
    enum { TIMES = 5 };
    for (int i = 0; i < TIMES; i++) {
        struct ask ask;
        ask_init(&ask, RIG_NARROW, "/ok");
        ask_run(&ask);
        ask_assert_ok(&ask, "hello");
        ask_fini(&ask);
    }
    ck_assert_uint_eq(http_script_requests(rig.server), TIMES);
    ck_assert_uint_eq(http_script_connections(rig.server), 1);
}
END_TEST

/* --- replies --- */

START_TEST(any_status_is_a_reply)
{
    struct ask ask;
    ask_init(&ask, RIG_NARROW, "/failed");
    ask_run(&ask);
    ck_assert_int_eq(ask.x.code, ERR_OK);
    ck_assert_int_eq(ask.x.status, 500);
    ck_assert(str_eq(buf_str(&ask.x.reply), STR("oops")));
    ask_fini(&ask);
}
END_TEST

START_TEST(no_redirect_and_no_cookie)
{
    struct ask ask;
    ask_init(&ask, RIG_NARROW, "/moved");
    ask_run(&ask);
    ck_assert_int_eq(ask.x.code, ERR_OK);
    ck_assert_int_eq(ask.x.status, 302);
    ck_assert_uint_eq(ask.x.reply.len, 0);
    ck_assert_uint_eq(http_script_requests(rig.server), 1);
    ask_run(&ask);
    assert_not_sent(1, "Cookie");
    ask_fini(&ask);
}
END_TEST

START_TEST(content_types)
{
    struct ask ask;
    ask_init(&ask, RIG_NARROW, "/typed");
    ask_run(&ask);
    ck_assert_str_eq(ask.x.content_type, "application/json");
    ask_fini(&ask);
    ask_init(&ask, RIG_NARROW, "/long_type");
    ask_run(&ask);
    ck_assert_int_eq(ask.x.code, ERR_OK);
    ck_assert_str_eq(ask.x.content_type,
                     "application/vnd.a-name-that-is-longer-than-anybody-would-ever-w");
    ask_fini(&ask);
}
END_TEST

START_TEST(heads_before_the_last_do_not_count)
{
    struct ask ask;
    ask_init(&ask, RIG_NARROW, "/early_hints");
    ask_run(&ask);
    ask_assert_ok(&ask, "hello");
    ck_assert_str_eq(ask.x.content_type, "");
    ck_assert_int_eq(ask.x.retry_after_ms, -1);
    ask_fini(&ask);
}
END_TEST

START_TEST(gzip)
{
    struct ask ask;
    ask_init(&ask, RIG_NARROW, "/squeezed");
    ask_run(&ask);
    ask_assert_ok(&ask, "hello from a compressed reply");
    ask_fini(&ask);
}
END_TEST

static void assert_too_large(const char *path, size_t reply_max, const char *part)
{
    struct ask ask;
    ask_init(&ask, RIG_NARROW, path);
    ask.x.reply_max = reply_max;
    ask_run(&ask);
    ck_assert_int_eq(ask.x.code, ERR_TOO_LARGE);
    ck_assert_msg(strstr(ask.x.err.message, part) != NULL, "%s", ask.x.err.message);
    ck_assert(ask.x.sent);
    ask_fini(&ask);
}

START_TEST(replies_have_a_limit)
{
    assert_too_large("/ok", 4, "longer than 4 bytes");
    assert_too_large("/endless", 100000, "longer than 100000 bytes");
    assert_too_large("/swollen", 99999, "longer than 99999 bytes");
    assert_too_large("/vast", 1 << 20, "longer than"); /* told by the head alone */
    struct ask ask;
    ask_init(&ask, RIG_NARROW, "/swollen");
    ask.x.reply_max = 100000;
    ask_run(&ask);
    ck_assert_msg(ask.x.code == ERR_OK, "%s", ask.x.err.message);
    ck_assert_uint_eq(ask.x.reply.len, 100000);
    ask_fini(&ask);
}
END_TEST

START_TEST(memory_for_a_reply_ends)
{
    struct ask ask;
    ask_init(&ask, RIG_NARROW, "/endless");
    arena_free(ask.x.arena);
    ask.x.arena = arena_new(64 << 10);
    ask.x.reply_max = 64 << 20;
    ask_run(&ask);
    ck_assert_int_eq(ask.x.code, ERR_TOO_LARGE);
    ck_assert_ptr_nonnull(strstr(ask.x.err.message, "no memory"));
    ask_fini(&ask);
}
END_TEST

/* --- streaming --- */

struct heard {
    struct ask ask; /* first */
    char text[64];
    size_t len;
    unsigned pieces, wanted;
    int status;
    char type[64];
};

static bool hear(struct exchange *x, struct str piece)
{
    struct heard *heard = x->arg;
    ck_assert_uint_le(heard->len + piece.len, sizeof heard->text);
    memcpy(heard->text + heard->len, piece.at, piece.len);
    heard->len += piece.len;
    heard->status = x->status;
    memcpy(heard->type, x->content_type, sizeof heard->type);
    return ++heard->pieces != heard->wanted;
}

static void heard_init(struct heard *heard, const char *path)
{
    memset(heard, 0, sizeof *heard);
    ask_init(&heard->ask, RIG_NARROW, path);
    heard->ask.x.data = hear;
}

START_TEST(pieces_come_as_they_arrive)
{
    struct heard heard;
    heard_init(&heard, "/in_pieces");
    ask_start(&heard.ask);
    AWAIT(heard.len == 3);
    ck_assert_int_eq(memcmp(heard.text, "one", 3), 0);
    ck_assert_int_eq(heard.status, 200); /* known by the first piece */
    ck_assert_str_eq(heard.type, "text/event-stream");
    http_script_release(rig.server, 1);
    AWAIT(heard.len == 6);
    ck_assert_uint_eq(heard.ask.done, 0);
    http_script_release(rig.server, 1);
    AWAIT(heard.ask.done != 0);
    ask_assert_ok(&heard.ask, "");
    ck_assert_uint_eq(heard.pieces, 3);
    ck_assert_int_eq(memcmp(heard.text, "onetwothree", heard.len), 0);
    ask_fini(&heard.ask);
}
END_TEST

START_TEST(a_listener_may_leave)
{
    struct heard heard;
    heard_init(&heard, "/in_pieces");
    heard.wanted = 2;
    ask_start(&heard.ask);
    http_script_release(rig.server, 1);
    AWAIT(heard.ask.done != 0);
    ck_assert_int_eq(heard.ask.x.code, ERR_UNAVAILABLE);
    ck_assert_ptr_nonnull(strstr(heard.ask.x.err.message, "listens"));
    ck_assert_uint_eq(heard.pieces, 2);
    ask_fini(&heard.ask);
}
END_TEST

START_TEST(only_good_replies_are_streamed)
{
    struct heard heard;
    heard_init(&heard, "/failed");
    ask_run(&heard.ask);
    ck_assert_int_eq(heard.ask.x.status, 500);
    ck_assert_uint_eq(heard.pieces, 0);
    ck_assert(str_eq(buf_str(&heard.ask.x.reply), STR("oops")));
    ask_fini(&heard.ask);
    heard_init(&heard, "/ok");
    heard.ask.x.reply_max = 4; /* holds for what is streamed too */
    ask_run(&heard.ask);
    ck_assert_int_eq(heard.ask.x.code, ERR_TOO_LARGE);
    ck_assert_uint_eq(heard.pieces, 0);
    ask_fini(&heard.ask);
}
END_TEST

/* --- Retry-After --- */

#define WALL_MS INT64_C(1772445600000) /* Mon, 02 Mar 2026 10:00:00 GMT */
#define WEEK_MS INT64_C(604800000)

static const struct {
    const char *head;
    int64_t ms;
} advice[] = {
    {"Retry-After: 7", 7000},
    {"retry-after:0", 0},
    {"Retry-After: 0.25", 250},
    {"Retry-After: 1e99", WEEK_MS},
    {"Retry-After: 99999999999999999999", WEEK_MS},
    {"Retry-After: -3", -1},
    {"Retry-After: soon", -1},
    {"Retry-After:", -1},
    {"Retry-After: Mon, 02 Mar 2026 10:02:03 GMT", 123000},
    {"Retry-After: Monday, 02-Mar-26 10:00:01 GMT", 1000},
    {"Retry-After: Mon Mar  2 10:00:05 2026", 5000},
    {"Retry-After: Sun, 01 Mar 2026 10:00:00 GMT", 0},
    {"Retry-After: Mon, 02 Mar 2027 10:00:00 GMT", WEEK_MS},
    {"retry-after-ms: 1250.4", 1250},
    {"retry-after-ms: 90\r\nRetry-After: 7", 90},
    {"Retry-After: 7\r\nretry-after-ms: 90", 90},
    {"Retry-After: 7\r\nretry-after-ms: never", 7000},
    {"X-Retry-After: 7", -1},
};

static int64_t wall(const struct clock *clock)
{
    (void)clock;
    return WALL_MS;
}

START_TEST(retry_after)
{
    char reply[256];
    struct http_step steps[] = {{HTTP_SEND, reply, 0, 0, 0}, RIG_END};
    struct http_script script[] = {{"/limit", steps, HTTP_READS}, {NULL, NULL, HTTP_READS}};
    (void)snprintf(reply, sizeof reply, "HTTP/1.1 429 Slow\r\n%s\r\nContent-Length: 0\r\n\r\n",
                   advice[_i].head);
    rig_open(script);
    rig.clock.now_ms = wall;
    struct ask ask;
    ask_init(&ask, RIG_NARROW, "/limit");
    ask_run(&ask);
    ck_assert_int_eq(ask.x.status, 429);
    ck_assert_msg(ask.x.retry_after_ms == advice[_i].ms, "%s: %lld", advice[_i].head,
                  (long long)ask.x.retry_after_ms);
    ask_fini(&ask);
    rig_close();
}
END_TEST

/* --- hosts and proxies --- */

static const struct {
    const char *url, *peer; /* NULL: refused */
    bool is_loopback;
} hosts[] = {
    {"http://127.0.0.1:8080/v1", "127.0.0.1:8080", true},
    {"http://127.8.9.10/", "127.8.9.10:80", true},
    {"https://localhost", "localhost:443", true},
    {"http://LocalHost./", "LocalHost.:80", true},
    {"http://llm.localhost:1/", "llm.localhost:1", true},
    {"http://[::1]:99/", "[::1]:99", true},
    {"http://[0:0:0:0:0:0:0:1]/", NULL, true},
    {"http://[::ffff:127.0.0.1]/", NULL, true},
    {"http://user:pass@127.0.0.1/", "127.0.0.1:80", true},
    {"http://127.1/", NULL, true},
    {"http://0x7f000001/", NULL, true},
    {"http://128.0.0.1/", "128.0.0.1:80", false},
    {"http://127.0.0.1.example.com/", "127.0.0.1.example.com:80", false},
    {"http://localhost.example.com/", "localhost.example.com:80", false},
    {"http://notlocalhost/", "notlocalhost:80", false},
    {"http://localhost@example.com/", "example.com:80", false},
    {"https://api.example.com/v1?key=127.0.0.1", "api.example.com:443", false},
    {"http://[2001:db8::1]/", "[2001:db8::1]:80", false},
    {"http://10.0.0.1/", "10.0.0.1:80", false},
};

START_TEST(which_hosts_are_loopback)
{
    CURLU *parser = curl_url();
    struct host host = {.peer = ""};
    struct err err;
    ck_assert_int_eq(transport__host(parser, hosts[_i].url, &host, &err), ERR_OK);
    ck_assert_msg(host.is_loopback == hosts[_i].is_loopback, "%s", hosts[_i].url);
    ck_assert_int_eq(host.is_tls, strncmp(hosts[_i].url, "https", 5) == 0);
    if (hosts[_i].peer != NULL)
        ck_assert_str_eq(host.peer, hosts[_i].peer);
    curl_url_cleanup(parser);
}
END_TEST

/* The scripted server plays the proxy too: what is asked of a proxy has the whole URL. */
START_TEST(loopback_has_no_proxy)
{
    static const char *const names[] = {"127.0.0.1", "127.1", "localhost", "LOCALHOST"};
    char proxy[64];
    struct ask ask;
    rig_open(scripts);
    (void)snprintf(proxy, sizeof proxy, "http://127.0.0.1:%d", http_script_port(rig.server));
    ck_assert_int_eq(setenv("http_proxy", proxy, 1), 0);
    ck_assert_int_eq(setenv("all_proxy", proxy, 1), 0);
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        ask_init(&ask, RIG_NARROW, "");
        (void)snprintf(ask.url, sizeof ask.url, "http://%s:%d/ok", names[i],
                       http_script_port(rig.server));
        ask_run(&ask);
        ask_assert_ok(&ask, "hello");
        assert_sent(i, "POST /ok HTTP/1.1\r\n");
        ask_fini(&ask);
    }
    ask_init(&ask, RIG_NARROW, "");
    (void)snprintf(ask.url, sizeof ask.url, "http://192.0.2.1/ok");
    ask_run(&ask);
    ask_assert_ok(&ask, "hello");
    assert_sent(sizeof names / sizeof names[0], "POST http://192.0.2.1/ok HTTP/1.1\r\n");
    ask_fini(&ask);
    rig_close();
}
END_TEST

/* --- many --- */

static bool all_done(const struct ask *asks, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        if (asks[i].done == 0)
            return false;
    }
    return true;
}

/* The CPU that 256 exchanges of a second take on the loop's thread: 20 % of a core at most, which
 * no polling loop could keep. Sanitizers have their own measure. */
START_TEST(many_in_flight)
{
    enum { MANY = RIG_WIDE_SLOTS, CPU_US = 200000 };
    static struct ask asks[MANY];
    struct rusage before, after;
    const char *slow = getenv("HMTEST_SLOW");
    long factor = slow != NULL && strcmp(slow, "1") != 0 ? 10 : 1;
    for (unsigned i = 0; i < MANY; i++)
        ask_init(&asks[i], RIG_WIDE, "/a_second");
    (void)uv_timer_stop(&rig.tick); /* the rig's own polling does not count */
    (void)getrusage(RUSAGE_THREAD, &before);
    for (unsigned i = 0; i < MANY; i++)
        ask_start(&asks[i]);
    AWAIT(all_done(asks, MANY));
    (void)getrusage(RUSAGE_THREAD, &after);
    for (unsigned i = 0; i < MANY; i++) {
        ask_assert_ok(&asks[i], "hello");
        ask_fini(&asks[i]);
    }
    ck_assert_uint_eq(http_script_most_open(rig.server), MANY);
    ck_assert_uint_eq(http_script_connections(rig.server), MANY);
    long us = (after.ru_utime.tv_sec - before.ru_utime.tv_sec) * 1000000 +
              (after.ru_utime.tv_usec - before.ru_utime.tv_usec) +
              (after.ru_stime.tv_sec - before.ru_stime.tv_sec) * 1000000 +
              (after.ru_stime.tv_usec - before.ru_stime.tv_usec);
    ck_assert_msg(us < CPU_US * factor, "%ld us of CPU", us);
}
END_TEST

Suite *suite_transport(void)
{
    Suite *suite = suite_create("transport");
    TCase *tcase = tcase_create("talk");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, a_post);
    tcase_add_test(tcase, requests_without_a_body);
    tcase_add_test(tcase, given_headers_win);
    tcase_add_test(tcase, a_large_body_is_sent_at_once);
    tcase_add_test(tcase, one_connection_serves_many);
    tcase_add_test(tcase, any_status_is_a_reply);
    tcase_add_test(tcase, no_redirect_and_no_cookie);
    tcase_add_test(tcase, content_types);
    tcase_add_test(tcase, heads_before_the_last_do_not_count);
    tcase_add_test(tcase, gzip);
    tcase_add_test(tcase, replies_have_a_limit);
    tcase_add_test(tcase, memory_for_a_reply_ends);
    tcase_add_test(tcase, pieces_come_as_they_arrive);
    tcase_add_test(tcase, a_listener_may_leave);
    tcase_add_test(tcase, only_good_replies_are_streamed);
    tcase_add_test(tcase, many_in_flight);
    suite_add_tcase(suite, tcase);
    tcase = tcase_create("own rig");
    tcase_add_loop_test(tcase, retry_after, 0, sizeof advice / sizeof advice[0]);
    tcase_add_loop_test(tcase, which_hosts_are_loopback, 0, sizeof hosts / sizeof hosts[0]);
    tcase_add_test(tcase, loopback_has_no_proxy);
    suite_add_tcase(suite, tcase);
    return suite;
}
