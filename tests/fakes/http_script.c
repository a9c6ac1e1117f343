#include "tests/fakes/http_script.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    CONNS = 1024,
    REQUESTS = 4096,
    HEAD_MAX = 8192,
    READ_BYTES = 64 << 10,
    SIP_BYTES = 64 << 10,
    SIP_MS = 5,
    WINDOW_BYTES = 64 << 10, /* small: what the system holds for us looks read to the client */
    URL_MAX = 64,
    SLOTS = CONNS + 2, /* of poll(): listener, pipe, connections */
};

enum where { AT_HEAD, AT_BODY, AT_STEPS };

struct conn {
    int fd; /* -1: free */
    enum where where;
    char head[HEAD_MAX + 1];
    size_t head_len;
    size_t body_left;
    int request; /* index of the one in work */
    const struct http_script *script;
    const struct http_step *step;
    size_t sent;        /* of the step's bytes, all times together */
    long long due_ms;   /* of a WAIT or DRIP; 0: not begun */
    unsigned long hold; /* ticket of a HOLD; 0: not at one */
    bool wants_write;
};

struct request {
    char *head;
    size_t body_bytes;
};

struct http_server {
    const struct http_script *scripts;
    int listener, wake[2], port;
    char url[URL_MAX];
    pthread_t thread;
    struct conn *conns;
    pthread_mutex_t lock;
    struct request requests[REQUESTS]; /* locked, as all below */
    unsigned n_requests, n_connections, held, open, most_open;
    unsigned long tickets, released;
    bool stopping;
};

static const struct http_step not_found[] = {
    {HTTP_SEND, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", 0, 0, 0},
    {HTTP_END, NULL, 0, 0, 0},
};
static const struct http_script unknown = {"", not_found, HTTP_READS};

static long long now_ms(void)
{
    struct timespec ts;
    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (long long)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* --- connections --- */

/* One at a HOLD leaves: whoever came after it moves up, unless it had been let go already. Lock
 * held. */
static void drop_ticket(struct http_server *server, const struct conn *conn)
{
    server->held--;
    if (conn->hold <= server->released)
        return;
    for (struct conn *other = server->conns; other < server->conns + CONNS; other++) {
        if (other->fd >= 0 && other->hold > conn->hold)
            other->hold--;
    }
    server->tickets--;
}

static void end_request(struct http_server *server, struct conn *conn)
{
    (void)pthread_mutex_lock(&server->lock);
    if (conn->where != AT_HEAD)
        server->open--;
    if (conn->hold != 0)
        drop_ticket(server, conn);
    (void)pthread_mutex_unlock(&server->lock);
    conn->where = AT_HEAD;
    conn->hold = 0;
    conn->due_ms = 0;
    conn->wants_write = false;
}

static void conn_close(struct http_server *server, struct conn *conn, bool rudely)
{
    struct linger linger = {.l_onoff = 1, .l_linger = 0};
    end_request(server, conn);
    if (rudely)
        (void)setsockopt(conn->fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
    (void)close(conn->fd);
    conn->fd = -1;
}

static void accept_all(struct http_server *server)
{
    for (;;) {
        struct sockaddr_in from;
        socklen_t len = sizeof from;
        int fd =
            accept4(server->listener, (struct sockaddr *)&from, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0)
            return;
        struct conn *conn = server->conns;
        while (conn < server->conns + CONNS && conn->fd >= 0)
            conn++;
        if (conn == server->conns + CONNS) {
            (void)close(fd);
            continue;
        }
        int on = 1;
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        memset(conn, 0, offsetof(struct conn, head));
        conn->fd = fd;
        conn->head_len = 0;
        conn->hold = 0;
        conn->due_ms = 0;
        conn->wants_write = false;
        (void)pthread_mutex_lock(&server->lock);
        server->n_connections++;
        (void)pthread_mutex_unlock(&server->lock);
    }
}

/* --- steps --- */

/* At a HOLD: true when it may go on. */
static bool is_released(struct http_server *server, struct conn *conn)
{
    (void)pthread_mutex_lock(&server->lock);
    if (conn->hold == 0) {
        conn->hold = ++server->tickets;
        server->held++;
    }
    bool released = conn->hold <= server->released;
    if (released) {
        conn->hold = 0;
        server->held--;
    }
    (void)pthread_mutex_unlock(&server->lock);
    return released;
}

static bool is_due(struct conn *conn, int ms)
{
    long long now = now_ms();
    if (conn->due_ms == 0)
        conn->due_ms = now + ms;
    if (now < conn->due_ms)
        return false;
    conn->due_ms = 0;
    return true;
}

/* Sends up to `max` of what is left of the step; false: the connection is gone. */
static bool send_some(struct conn *conn, size_t max)
{
    const struct http_step *step = conn->step;
    size_t n = step->n != 0 ? step->n : strlen(step->bytes);
    size_t total = n * (step->times != 0 ? step->times : 1);
    while (conn->sent < total && max > 0) {
        size_t at = conn->sent % n;
        size_t len = n - at < max ? n - at : max;
        ssize_t put = send(conn->fd, step->bytes + at, len, MSG_NOSIGNAL);
        if (put < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            conn->wants_write = true;
            return true;
        }
        if (put < 0)
            return false;
        conn->sent += (size_t)put;
        max -= (size_t)put;
    }
    conn->wants_write = false;
    if (conn->sent == total) {
        conn->sent = 0;
        conn->step++;
    }
    return true;
}

/* Goes on with the steps until one has to wait. */
static void run_steps(struct http_server *server, struct conn *conn)
{
    while (conn->fd >= 0 && conn->where == AT_STEPS) {
        const struct http_step *step = conn->step;
        bool alive = true;
        switch (step->act) {
        case HTTP_END: end_request(server, conn); return;
        case HTTP_SEND: alive = send_some(conn, SIZE_MAX); break;
        case HTTP_DRIP:
            alive = !is_due(conn, step->ms) || send_some(conn, 1);
            if (alive && conn->due_ms != 0)
                return;
            break;
        case HTTP_WAIT:
            if (!is_due(conn, step->ms))
                return;
            conn->step++;
            break;
        case HTTP_HOLD:
            if (!is_released(server, conn))
                return;
            conn->step++;
            break;
        case HTTP_CLOSE:
        case HTTP_RESET: conn_close(server, conn, step->act == HTTP_RESET); return;
        }
        if (!alive)
            conn_close(server, conn, false);
        else if (conn->wants_write)
            return;
    }
}

/* --- requests --- */

static const struct http_script *script_of(const struct http_server *server, const char *head)
{
    const char *path = strchr(head, ' ');
    if (path == NULL)
        return &unknown;
    path++;
    if (strncmp(path, "http://", 7) == 0) { /* asked as a proxy */
        path = strchr(path + 7, '/');
        if (path == NULL)
            return &unknown;
    }
    size_t len = strcspn(path, " ?-");
    for (const struct http_script *script = server->scripts; script->path != NULL; script++) {
        if (strlen(script->path) == len && strncmp(script->path, path, len) == 0)
            return script;
    }
    return &unknown;
}

static size_t content_length(const char *head)
{
    static const char name[] = "content-length:";
    for (const char *line = head; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncasecmp(line, name, sizeof name - 1) == 0)
            return strtoul(line + sizeof name - 1, NULL, 10);
    }
    return 0;
}

static void begin_request(struct http_server *server, struct conn *conn)
{
    conn->script = script_of(server, conn->head);
    conn->step = conn->script->steps;
    conn->sent = 0;
    conn->due_ms = 0;
    conn->body_left = conn->script->reading == HTTP_DEAF ? 0 : content_length(conn->head);
    conn->where = conn->body_left != 0 ? AT_BODY : AT_STEPS;
    conn->request = -1;
    (void)pthread_mutex_lock(&server->lock);
    if (server->n_requests < REQUESTS) {
        conn->request = (int)server->n_requests;
        server->requests[server->n_requests++].head = strdup(conn->head);
    }
    if (++server->open > server->most_open)
        server->most_open = server->open;
    (void)pthread_mutex_unlock(&server->lock);
}

static void take_body(struct http_server *server, struct conn *conn, size_t n)
{
    conn->body_left -= n;
    conn->due_ms = conn->script->reading == HTTP_SIPS ? now_ms() + SIP_MS : 0;
    if (conn->body_left == 0) {
        conn->where = AT_STEPS;
        conn->due_ms = 0;
    }
    (void)pthread_mutex_lock(&server->lock);
    if (conn->request >= 0)
        server->requests[conn->request].body_bytes += n;
    (void)pthread_mutex_unlock(&server->lock);
}

/* Bytes of heads and bodies; returns how many were used. A head that is too long is cut. */
static size_t take_bytes(struct http_server *server, struct conn *conn, const char *at, size_t n)
{
    if (conn->where == AT_BODY) {
        size_t part = n < conn->body_left ? n : conn->body_left;
        take_body(server, conn, part);
        return part;
    }
    if (conn->head_len < HEAD_MAX)
        conn->head[conn->head_len++] = *at;
    conn->head[conn->head_len] = '\0';
    if (conn->head_len >= 4 && memcmp(conn->head + conn->head_len - 4, "\r\n\r\n", 4) == 0) {
        begin_request(server, conn);
        conn->head_len = 0;
    }
    return 1;
}

static void read_conn(struct http_server *server, struct conn *conn)
{
    static _Thread_local char bytes[READ_BYTES];
    bool sips = conn->where == AT_BODY && conn->script->reading == HTTP_SIPS;
    if (sips && now_ms() < conn->due_ms)
        return;
    conn->due_ms = 0;
    ssize_t n = recv(conn->fd, bytes, sips ? SIP_BYTES : sizeof bytes, 0);
    if (n == 0 || (n < 0 && errno != EAGAIN)) {
        conn_close(server, conn, false);
        return;
    }
    for (ssize_t used = 0; used < n && conn->where != AT_STEPS;)
        used += (ssize_t)take_bytes(server, conn, bytes + used, (size_t)(n - used));
}

/* --- the thread --- */

static short events_of(const struct conn *conn)
{
    /* While steps run nothing is read: a client that writes on finds its socket full. */
    bool reads = conn->where != AT_STEPS && conn->due_ms == 0;
    short events = reads ? POLLIN : POLLRDHUP;
    return (short)(events | (conn->wants_write ? POLLOUT : 0));
}

static int poll_once(struct http_server *server, struct pollfd *slots)
{
    long long now = now_ms(), next = -1;
    slots[0] = (struct pollfd){.fd = server->listener, .events = POLLIN};
    slots[1] = (struct pollfd){.fd = server->wake[0], .events = POLLIN};
    for (int i = 0; i < CONNS; i++) {
        const struct conn *conn = &server->conns[i];
        slots[i + 2] = (struct pollfd){.fd = conn->fd, .events = 0};
        if (conn->fd < 0)
            continue;
        slots[i + 2].events = events_of(conn);
        if (conn->due_ms != 0) {
            long long left = conn->due_ms > now ? conn->due_ms - now : 0;
            next = next < 0 || left < next ? left : next;
        }
    }
    return poll(slots, SLOTS, (int)next);
}

static bool is_stopping(struct http_server *server)
{
    (void)pthread_mutex_lock(&server->lock);
    bool stopping = server->stopping;
    (void)pthread_mutex_unlock(&server->lock);
    return stopping;
}

static void serve_conn(struct http_server *server, struct conn *conn, short got)
{
    if (conn->fd >= 0 && (got & (POLLRDHUP | POLLHUP | POLLERR)) && conn->where == AT_STEPS) {
        conn_close(server, conn, false);
        return;
    }
    bool rested = conn->where == AT_BODY && conn->due_ms != 0; /* between two sips */
    if (conn->fd >= 0 && conn->where != AT_STEPS &&
        (rested || (got & (POLLIN | POLLHUP | POLLERR))))
        read_conn(server, conn);
    if (conn->fd >= 0)
        run_steps(server, conn);
}

static void *serve(void *arg)
{
    struct http_server *server = arg;
    static _Thread_local struct pollfd slots[SLOTS];
    char bytes[64];
    while (!is_stopping(server)) {
        if (poll_once(server, slots) < 0)
            continue;
        if (slots[1].revents != 0)
            (void)!read(server->wake[0], bytes, sizeof bytes);
        for (int i = 0; i < CONNS; i++)
            serve_conn(server, &server->conns[i], slots[i + 2].revents);
        if (slots[0].revents != 0)
            accept_all(server);
    }
    for (int i = 0; i < CONNS; i++) {
        if (server->conns[i].fd >= 0)
            conn_close(server, &server->conns[i], false);
    }
    return NULL;
}

/* --- life --- */

static bool listen_on_loopback(struct http_server *server)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;
    int window = WINDOW_BYTES;
    server->listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (server->listener < 0 ||
        setsockopt(server->listener, SOL_SOCKET, SO_RCVBUF, &window, sizeof window) != 0 ||
        bind(server->listener, (struct sockaddr *)&at, sizeof at) != 0 ||
        listen(server->listener, CONNS) != 0 ||
        getsockname(server->listener, (struct sockaddr *)&at, &len) != 0)
        return false;
    server->port = ntohs(at.sin_port);
    (void)snprintf(server->url, sizeof server->url, "http://127.0.0.1:%d", server->port);
    return pipe2(server->wake, O_NONBLOCK | O_CLOEXEC) == 0;
}

struct http_server *http_script_start(const struct http_script *scripts)
{
    struct http_server *server = calloc(1, sizeof *server);
    if (server == NULL)
        return NULL;
    server->scripts = scripts;
    server->conns = calloc(CONNS, sizeof *server->conns);
    if (server->conns == NULL || !listen_on_loopback(server) ||
        pthread_mutex_init(&server->lock, NULL) != 0) {
        free(server->conns);
        free(server);
        return NULL;
    }
    for (int i = 0; i < CONNS; i++)
        server->conns[i].fd = -1;
    if (pthread_create(&server->thread, NULL, serve, server) != 0)
        abort();
    return server;
}

static void wake(struct http_server *server)
{
    (void)!write(server->wake[1], "", 1);
}

void http_script_stop(struct http_server *server)
{
    (void)pthread_mutex_lock(&server->lock);
    server->stopping = true;
    (void)pthread_mutex_unlock(&server->lock);
    wake(server);
    (void)pthread_join(server->thread, NULL);
    (void)close(server->listener);
    (void)close(server->wake[0]);
    (void)close(server->wake[1]);
    for (unsigned i = 0; i < server->n_requests; i++)
        free(server->requests[i].head);
    (void)pthread_mutex_destroy(&server->lock);
    free(server->conns);
    free(server);
}

int http_script_port(const struct http_server *server)
{
    return server->port;
}

const char *http_script_url(const struct http_server *server)
{
    return server->url;
}

static unsigned read_locked(struct http_server *server, const unsigned *counter)
{
    (void)pthread_mutex_lock(&server->lock);
    unsigned value = *counter;
    (void)pthread_mutex_unlock(&server->lock);
    return value;
}

unsigned http_script_connections(struct http_server *server)
{
    return read_locked(server, &server->n_connections);
}

unsigned http_script_requests(struct http_server *server)
{
    return read_locked(server, &server->n_requests);
}

unsigned http_script_held(struct http_server *server)
{
    return read_locked(server, &server->held);
}

unsigned http_script_most_open(struct http_server *server)
{
    return read_locked(server, &server->most_open);
}

const char *http_script_head(struct http_server *server, unsigned i)
{
    return i < http_script_requests(server) ? server->requests[i].head : "";
}

size_t http_script_body_bytes(struct http_server *server, unsigned i)
{
    (void)pthread_mutex_lock(&server->lock);
    size_t bytes = i < server->n_requests ? server->requests[i].body_bytes : 0;
    (void)pthread_mutex_unlock(&server->lock);
    return bytes;
}

void http_script_release(struct http_server *server, unsigned n)
{
    (void)pthread_mutex_lock(&server->lock);
    server->released += n;
    (void)pthread_mutex_unlock(&server->lock);
    wake(server);
}
