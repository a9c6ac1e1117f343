#include "tests/bench/load.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { REPLY_MAX = 64 << 20, READ_BYTES = 64 << 10, EVENTS = 256 };

struct connection {
    int fd;
    uint32_t index;
    bool busy, wants_write, answered_before;
    uint64_t number; /* of its next call */
    struct plan_call call;
    int64_t start_ns;
    size_t written;
    struct buf request, reply;
};

struct load {
    const struct load_options *options;
    struct load_result *result;
    struct connection *connections;
    int epoll;
    uint32_t busy;
    uint64_t started, finished;
    int64_t begin_ns; /* of what is measured; 0: still warming up */
    int64_t last_ns;  /* of the last reply */
};

static int64_t now_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void note_error(struct load *l, const char *what, const char *detail)
{
    struct load_result *r = l->result;
    r->errors++;
    if (r->first_error[0] == '\0')
        (void)snprintf(r->first_error, sizeof r->first_error, "%s: %s", what, detail);
}

/* --- a connection --- */

static bool connection_open(struct load *l, struct connection *c)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons(l->options->port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int one = 1;
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = c->index};
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (c->fd < 0)
        return false;
    /* Blocking connect: on loopback it is a matter of the listen queue. */
    bool ok = connect(c->fd, (struct sockaddr *)&to, sizeof to) == 0 &&
              setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) == 0 &&
              epoll_ctl(l->epoll, EPOLL_CTL_ADD, c->fd, &event) == 0;
    if (!ok) {
        (void)close(c->fd);
        c->fd = -1;
    }
    c->answered_before = c->wants_write = false;
    return ok;
}

static void connection_close(struct connection *c)
{
    if (c->fd >= 0)
        (void)close(c->fd);
    c->fd = -1;
}

static void want_write(struct load *l, struct connection *c, bool wanted)
{
    if (c->wants_write == wanted)
        return;
    struct epoll_event event = {.events = EPOLLIN | (wanted ? EPOLLOUT : 0u), .data.u32 = c->index};
    (void)epoll_ctl(l->epoll, EPOLL_CTL_MOD, c->fd, &event);
    c->wants_write = wanted;
}

/* False when the connection is broken. */
static bool write_some(struct load *l, struct connection *c)
{
    while (c->written < c->request.len) {
        ssize_t n = send(c->fd, c->request.at + c->written, c->request.len - c->written,
                         MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            break;
        if (n < 0)
            return false;
        c->written += (size_t)n;
    }
    want_write(l, c, c->written < c->request.len);
    return true;
}

/* --- calls --- */

static bool may_start(const struct load *l)
{
    const struct load_options *o = l->options;
    if (o->calls != 0 && l->started >= o->calls)
        return false;
    return o->millis == 0 || l->begin_ns == 0 ||
           now_ns() - l->begin_ns < (int64_t)o->millis * 1000000;
}

static void end_call(struct load *l, struct connection *c)
{
    c->busy = false;
    l->busy--;
}

/* Sends the request that lies in c->request, on a new connection when the old one is gone. */
static void send_request(struct load *l, struct connection *c)
{
    c->written = 0;
    buf_clear(&c->reply);
    if ((c->fd >= 0 || connection_open(l, c)) && write_some(l, c))
        return;
    note_error(l, "can't send", strerror(errno));
    connection_close(c);
    end_call(l, c);
}

static void start_call(struct load *l, struct connection *c)
{
    struct load_result *r = l->result;
    if (!may_start(l))
        return;
    buf_clear(&c->request);
    plan_request(l->options->plan, c->index, c->number, &c->request, &c->call, &r->text_bytes);
    if (c->call.kind == CALL_NONE)
        return;
    if (!buf_ok(&c->request)) {
        note_error(l, "can't build a request", "out of memory");
        return;
    }
    c->number++;
    c->busy = true;
    l->busy++;
    l->started++;
    r->sent_bytes += c->request.len;
    c->start_ns = now_ns();
    send_request(l, c);
}

/* Figures of the warm-up are thrown away. */
static void end_warmup(struct load *l, int64_t now)
{
    struct load_result *r = l->result;
    load_result_free(r);
    *r = (struct load_result){0};
    l->begin_ns = now;
}

/* --- replies --- */

/* Bytes of the whole reply: head and body; 0: the head is not there yet; SIZE_MAX: no reply that
 * this program reads. */
static size_t reply_size(struct buf *reply, size_t *head)
{
    static const char length[] = "\r\ncontent-length:";
    struct str all = buf_str(reply);
    const char *end = memmem(all.at, all.len, "\r\n\r\n", 4);
    if (end == NULL)
        return all.len > READ_BYTES ? SIZE_MAX : 0;
    *head = (size_t)(end - all.at) + 4;
    for (size_t i = 0; i + sizeof length < *head; i++) {
        if (strncasecmp(all.at + i, length, sizeof length - 1) == 0)
            return *head + strtoull(all.at + i + sizeof length - 1, NULL, 10);
    }
    return SIZE_MAX;
}

/* The "total" of "timings_ms", which stands near the end; -1: there is none. */
static double server_ms(struct str body)
{
    const struct str key = STR("\"timings_ms\":{");
    for (size_t i = body.len; i-- > 0;) {
        if (body.at[i] != '"' || !str_starts(str_part(body, i, body.len), key))
            continue;
        struct str rest = str_part(body, i, body.len);
        const char *total = memmem(rest.at, rest.len, "\"total\":", 8);
        return total != NULL ? strtod(total + 8, NULL) : -1;
    }
    return -1;
}

static void take_reply(struct load *l, struct connection *c, size_t head, int64_t now)
{
    struct load_result *r = l->result;
    struct str all = buf_str(&c->reply);
    int status = all.len > 12 ? (int)strtol(all.at + 9, NULL, 10) : 0;
    bool fine = status >= 200 && status < 300;
    if (!fine) {
        char text[200];
        (void)snprintf(text, sizeof text, "%.*s", STR_FMT(str_part(all, head, head + 190)));
        note_error(l, "refused", text);
    }
    r->received_bytes += all.len;
    r->calls++;
    l->finished++;
    l->last_ns = now;
    samples_add(c->call.kind == CALL_POST ? &r->post : &r->query, now - c->start_ns);
    if (c->call.kind == CALL_POST && fine)
        r->turns += c->call.turns;
    double ms = c->call.kind == CALL_QUERY ? server_ms(str_part(all, head, all.len)) : -1;
    if (ms >= 0)
        samples_add(&r->server, (int64_t)(ms * 1e6));
    if (l->begin_ns == 0 && l->finished >= l->options->warmup)
        end_warmup(l, now);
}

/* The server closed: fine between two requests, also when it had not seen the one on its way. */
static void lost(struct load *l, struct connection *c)
{
    bool again = c->busy && c->reply.len == 0 && c->answered_before;
    connection_close(c);
    if (!c->busy)
        return;
    if (again) {
        l->result->reconnects++;
        send_request(l, c);
        return;
    }
    note_error(l, "broken", "the server closed in mid-reply");
    end_call(l, c);
}

/* 1: some bytes came, 0: none now, -1: closed. */
static int read_some(struct connection *c)
{
    char *at = buf_grow(&c->reply, READ_BYTES);
    if (at == NULL)
        return -1;
    ssize_t n = recv(c->fd, at, READ_BYTES, MSG_DONTWAIT);
    c->reply.len -= READ_BYTES - (size_t)(n > 0 ? n : 0);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        return 0;
    return n > 0 ? 1 : -1;
}

static void on_readable(struct load *l, struct connection *c)
{
    size_t head = 0;
    int got = read_some(c);
    if (got < 0) {
        lost(l, c);
        return;
    }
    if (got == 0 || !c->busy)
        return;
    size_t size = reply_size(&c->reply, &head);
    if (size == SIZE_MAX) {
        note_error(l, "unreadable", "a reply without Content-Length");
        connection_close(c);
        end_call(l, c);
        return;
    }
    if (size == 0 || c->reply.len < size)
        return;
    end_call(l, c);
    c->answered_before = true;
    take_reply(l, c, head, now_ns());
    start_call(l, c);
}

static void on_event(struct load *l, const struct epoll_event *event)
{
    struct connection *c = &l->connections[event->data.u32];
    if (c->fd >= 0 && (event->events & EPOLLOUT) != 0 && !write_some(l, c))
        lost(l, c);
    else if (c->fd >= 0 && (event->events & ~(uint32_t)EPOLLOUT) != 0)
        on_readable(l, c);
}

/* --- the run --- */

static bool open_all(struct load *l)
{
    uint32_t n = l->options->plan->connections;
    l->epoll = epoll_create1(EPOLL_CLOEXEC);
    l->connections = calloc(n, sizeof *l->connections);
    if (l->epoll < 0 || l->connections == NULL)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        struct connection *c = &l->connections[i];
        c->index = i;
        c->fd = -1;
        buf_init(&c->request, NULL, REPLY_MAX);
        buf_init(&c->reply, NULL, REPLY_MAX);
    }
    for (uint32_t i = 0; i < n; i++) {
        if (!connection_open(l, &l->connections[i]))
            return false;
    }
    return true;
}

static void close_all(struct load *l)
{
    for (uint32_t i = 0; l->connections != NULL && i < l->options->plan->connections; i++) {
        connection_close(&l->connections[i]);
        buf_fini(&l->connections[i].request);
        buf_fini(&l->connections[i].reply);
    }
    free(l->connections);
    if (l->epoll >= 0)
        (void)close(l->epoll);
}

bool load_run(const struct load_options *options, struct load_result *result)
{
    struct epoll_event events[EVENTS];
    struct load l = {.options = options, .result = result, .epoll = -1};
    *result = (struct load_result){0};
    ASSERT(options->plan->connections >= 1 && options->plan->connections <= LOAD_CONNECTIONS_MAX);
    bool ok = open_all(&l);
    if (!ok)
        note_error(&l, "can't connect", strerror(errno));
    l.last_ns = now_ns();
    if (options->warmup == 0)
        l.begin_ns = l.last_ns;
    for (uint32_t i = 0; ok && i < options->plan->connections; i++)
        start_call(&l, &l.connections[i]);
    while (l.busy != 0) {
        int n = epoll_wait(l.epoll, events, EVENTS, LOAD_STALL_MS);
        if (n == 0 || (n < 0 && errno != EINTR)) {
            note_error(&l, "stalled", "no reply for a long time");
            break;
        }
        for (int i = 0; i < n; i++)
            on_event(&l, &events[i]);
    }
    result->elapsed_ns = l.last_ns - (l.begin_ns != 0 ? l.begin_ns : l.last_ns);
    close_all(&l);
    return ok;
}

void load_result_free(struct load_result *result)
{
    samples_free(&result->post);
    samples_free(&result->query);
    samples_free(&result->server);
}
