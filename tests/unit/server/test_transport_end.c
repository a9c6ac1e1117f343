/* How exchanges end otherwise than by a reply: limits of time and broken connections. Cancels and
 * the stop are in test_transport_slots.c. */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>
#include <semaphore.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/server/transport_kit.h"

#define CHUNKED_HEAD "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

enum { SHORT_MS = 150, DRIP_MS = 40, IDLE_MS = 800, LARGE = 32 << 20 };

static const struct http_step ok[] = {RIG_HELLO, RIG_END};
static const struct http_step held[] = {RIG_HOLD, RIG_HELLO, RIG_END};
static const struct http_step stuck[] = {
    {HTTP_SEND, CHUNKED_HEAD "3\r\none\r\n", 0, 0, 0}, RIG_HOLD, RIG_END};
static const struct http_step slow[] = {
    {HTTP_SEND, "HTTP/1.1 200 OK\r\nContent-Length: 40\r\n\r\n", 0, 0, 0},
    {HTTP_DRIP, "0123456789012345678901234567890123456789", 0, DRIP_MS, 0},
    RIG_END};
static const struct http_step slow_head[] = {
    {HTTP_DRIP, "HTTP/1.1 200 OK\r\nA: b\r\nC: d\r\n", 0, DRIP_MS, 0}, RIG_HELLO, RIG_END};
static const struct http_step silent[] = {{HTTP_CLOSE, NULL, 0, 0, 0}, RIG_END};
static const struct http_step reset[] = {{HTTP_RESET, NULL, 0, 0, 0}, RIG_END};
static const struct http_step cut[] = {
    {HTTP_SEND, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello", 0, 0, 0},
    {HTTP_CLOSE, NULL, 0, 0, 0},
    RIG_END};
static const struct http_step cut_chunk[] = {
    {HTTP_SEND, CHUNKED_HEAD "5\r\nhello\r\n", 0, 0, 0}, {HTTP_CLOSE, NULL, 0, 0, 0}, RIG_END};
static const struct http_step last_of_its_connection[] = {
    RIG_HELLO, {HTTP_CLOSE, NULL, 0, 0, 0}, RIG_END};
static const struct http_step refuse[] = {
    {HTTP_SEND, "HTTP/1.1 413 No\r\nContent-Length: 0\r\n\r\n", 0, 0, 0}, RIG_HOLD, RIG_END};
static const struct http_step no_http[] = {
    {HTTP_SEND, "SSH-2.0-nothing\r\n", 0, 0, 0}, {HTTP_CLOSE, NULL, 0, 0, 0}, RIG_END};

static const struct http_script scripts[] = {
    {"/ok", ok, HTTP_READS},
    {"/held", held, HTTP_READS},
    {"/stuck", stuck, HTTP_READS},
    {"/slow", slow, HTTP_READS},
    {"/slow_head", slow_head, HTTP_READS},
    {"/silent", silent, HTTP_READS},
    {"/reset", reset, HTTP_READS},
    {"/cut", cut, HTTP_READS},
    {"/cut_chunk", cut_chunk, HTTP_READS},
    {"/last", last_of_its_connection, HTTP_READS},
    {"/no_http", no_http, HTTP_READS},
    {"/sips", ok, HTTP_SIPS},
    {"/deaf", held, HTTP_DEAF},
    {"/refuse", refuse, HTTP_DEAF},
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

/* --- limits of time --- */

START_TEST(no_head_in_time)
{
    struct ask ask;
    ask_init(&ask, RIG_NARROW, "/held");
    ask.x.idle_ms = SHORT_MS;
    ask_run(&ask);
    ask_assert_failed(&ask, ERR_DEADLINE, "not a byte within 150 ms");
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
    ask_assert_failed(&ask, ERR_DEADLINE, "not a byte within 150 ms");
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
    ask_assert_failed(&ask, ERR_DEADLINE, "not a byte within 150 ms");
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

START_TEST(slow_to_read_is_not_idle)
{
    struct ask ask;
    ask_init(&ask, RIG_NARROW, "/sips");
    char *body = calloc(1, LARGE / 2);
    ck_assert_ptr_nonnull(body);
    ask.x.body = (struct str){body, LARGE / 2};
    ask.x.idle_ms = IDLE_MS;
    ask_run(&ask);
    ask_assert_ok(&ask, "hello");
    ck_assert_int_gt(ask.x.took_ms, IDLE_MS);
    ck_assert_uint_eq(http_script_body_bytes(rig.server, 0), LARGE / 2);
    free(body);
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
    ask_assert_failed(&ask, ERR_DEADLINE, "no end of the reply within 150 ms");
    ask_fini(&ask);
    ask_init(&ask, RIG_NARROW, "/slow_head");
    ask.x.total_ms = SHORT_MS;
    ask_run(&ask);
    ask_assert_failed(&ask, ERR_DEADLINE, "no end of the reply within 150 ms");
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
    ask_assert_failed(&ask, ERR_UNAVAILABLE, part);
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
    ask.x.connect_ms = 2 * SHORT_MS; /* the server waits for the end of a head */
    ask_run(&ask);
    ask_assert_failed(&ask, ERR_DEADLINE, "no connection within");
    ck_assert(!ask.x.sent);
    ask_fini(&ask);
}
END_TEST

/* tests/fakes/tls_server.py as a process of its own. */
struct tls_server {
    pid_t pid;
    int to, port;
};

static void tls_server_open(struct tls_server *server)
{
    char program[] = "python3", script[] = "tests/fakes/tls_server.py";
    char pem[] = "tests/fakes/self_signed.pem";
    char *argv[] = {program, script, pem, NULL};
    int to[2], from[2];
    char text[16] = "";
    posix_spawn_file_actions_t actions;
    ck_assert_int_eq(pipe2(to, O_CLOEXEC), 0);
    ck_assert_int_eq(pipe2(from, O_CLOEXEC), 0);
    ck_assert_int_eq(posix_spawn_file_actions_init(&actions), 0);
    ck_assert_int_eq(posix_spawn_file_actions_adddup2(&actions, to[0], STDIN_FILENO), 0);
    ck_assert_int_eq(posix_spawn_file_actions_adddup2(&actions, from[1], STDOUT_FILENO), 0);
    ck_assert_int_eq(posix_spawnp(&server->pid, program, &actions, NULL, argv, environ), 0);
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)close(to[0]);
    (void)close(from[1]);
    server->to = to[1];
    FILE *said = fdopen(from[0], "r");
    ck_assert_ptr_nonnull(said);
    ck_assert_ptr_nonnull(fgets(text, sizeof text, said));
    (void)fclose(said);
    server->port = (int)strtol(text, NULL, 10);
    ck_assert_int_gt(server->port, 0);
}

static void tls_server_close(const struct tls_server *server)
{
    int status = -1;
    (void)close(server->to);
    ck_assert_int_eq(waitpid(server->pid, &status, 0), server->pid);
    ck_assert_int_eq(status, 0);
}

START_TEST(certificates_are_verified)
{
    struct tls_server server;
    struct ask ask;
    tls_server_open(&server);
    ask_init(&ask, RIG_NARROW, "");
    (void)snprintf(ask.url, sizeof ask.url, "https://localhost:%d/", server.port);
    ask_run(&ask);
    ck_assert_int_eq(ask.x.code, ERR_UNAVAILABLE);
    ck_assert_msg(strstr(ask.x.err.message, "certificate") != NULL, "%s", ask.x.err.message);
    ck_assert(!ask.x.sent);
    ask_fini(&ask);
    tls_server_close(&server);
}
END_TEST

/* Stands in for the system's, also for libcurl: a name server that does not answer. */
static sem_t name_server;

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): libc reserves its own */
int getaddrinfo(const char *restrict node, const char *restrict service,
                const struct addrinfo *restrict hints, struct addrinfo **restrict out)
{
    if (node == NULL || strcmp(node, "silent.example") != 0) {
        int (*system_one)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
        *(void **)&system_one = dlsym(RTLD_NEXT, "getaddrinfo");
        return system_one(node, service, hints, out);
    }
    (void)sem_wait(&name_server);
    return EAI_AGAIN;
}

/* The loop must not wait for the thread that asks. */
START_TEST(a_name_server_that_does_not_answer)
{
    struct ask ask;
    ck_assert_int_eq(sem_init(&name_server, 0, 0), 0);
    ask_init(&ask, RIG_NARROW, "");
    ask.x.url = "http://silent.example/";
    ask.x.connect_ms = SHORT_MS;
    ask_run(&ask);
    ck_assert_int_eq(ask.x.code, ERR_DEADLINE);
    ck_assert_str_eq(ask.x.err.message, "silent.example:80: no connection within 150 ms");
    ask_start(&ask);
    AWAIT(rig.carrier->flying.first != NULL);
    ask_cancel(&ask);
    AWAIT(ask.done == 2);
    ck_assert_int_eq(ask.x.code, ERR_UNAVAILABLE);
    ask_fini(&ask);
    (void)sem_post(&name_server);
    (void)sem_post(&name_server);
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
    ask_assert_failed(&ask, ERR_UNAVAILABLE, "out of memory");
    ck_assert(!ask.x.sent);
    ask_fini(&ask);
    ask_init(&ask, RIG_NARROW, "/ok"); /* the slot is back */
    ask_run(&ask);
    ask_assert_ok(&ask, "hello");
    ask_fini(&ask);
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
    tcase_add_test(tcase, slow_to_read_is_not_idle);
    tcase_add_test(tcase, slow_is_not_forever);
    tcase_add_test(tcase, waiting_for_a_slot_does_not_count);
    tcase_add_test(tcase, no_connection_in_time);
    tcase_add_test(tcase, a_server_that_breaks_off);
    tcase_add_test(tcase, nobody_listens);
    tcase_add_test(tcase, a_connection_that_was_closed_while_idle);
    tcase_add_loop_test(tcase, urls_that_are_none, 0, sizeof bad_urls / sizeof bad_urls[0]);
    tcase_add_test(tcase, tls_wants_tls);
    tcase_add_test(tcase, certificates_are_verified);
#if LIBCURL_VERSION_NUM >= 0x075700 /* older ones can't but wait */
    tcase_add_test(tcase, a_name_server_that_does_not_answer);
#endif
    tcase_add_test(tcase, no_memory_for_headers);
    suite_add_tcase(suite, tcase);
    return suite;
}
