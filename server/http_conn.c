/* Connections: taking them in, their phases and time limits. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/http_int.h"

int64_t http__now_ms(const struct http *http)
{
    return clock_mono_ms(http->options.services->clock);
}

/* --- phase lists --- */

static void list_remove(struct http *http, struct http_conn *conn)
{
    struct phase_list *list = &http->phase[conn->phase];
    if (conn->prev != NULL)
        conn->prev->next = conn->next;
    else
        list->first = conn->next;
    if (conn->next != NULL)
        conn->next->prev = conn->prev;
    else
        list->last = conn->prev;
    conn->prev = conn->next = NULL;
    list->n--;
}

static void list_append(struct http *http, struct http_conn *conn, enum phase phase)
{
    struct phase_list *list = &http->phase[phase];
    conn->phase = phase;
    conn->since_ms = http__now_ms(http);
    conn->prev = list->last;
    if (list->last != NULL)
        list->last->next = conn;
    else
        list->first = conn;
    list->last = conn;
    list->n++;
}

void http__phase(struct http *http, struct http_conn *conn, enum phase phase)
{
    list_remove(http, conn);
    list_append(http, conn, phase);
}

void http__shut(struct http_conn *conn)
{
    conn->shut = true;
    (void)shutdown(conn->fd, SHUT_RDWR);
}

static bool has_left(const struct http_conn *conn)
{
    char byte;
    return recv(conn->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

void http__shut_if_left(struct http_conn *conn)
{
    if (!conn->shut && has_left(conn))
        http__shut(conn);
}

/* --- MHD tells of connections --- */

static void started(struct http *http, struct MHD_Connection *mhd, void **context)
{
    struct http_conn *conn = calloc(1, sizeof *conn);
    *context = conn;
    if (conn == NULL)
        return; /* http__on_line() closes it */
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
    ASSERT(info != NULL);
    conn->fd = info->connect_fd;
    conn->surplus = http->connections - http->surplus >= http->options.max_connections;
    http->connections++;
    http->surplus += conn->surplus;
    list_append(http, conn, conn->surplus ? PHASE_SURPLUS : PHASE_RECEIVE);
    metrics_add(http->options.services->metrics, METRIC_CONNECTIONS, 1);
}

void http__notify_connection(void *cls, struct MHD_Connection *mhd, void **socket_context,
                             enum MHD_ConnectionNotificationCode code)
{
    struct http *http = cls;
    struct http_conn *conn = *socket_context;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        started(http, mhd, socket_context);
        return;
    }
    if (conn == NULL)
        return;
    /* It was completed before, unless its parameters did not fit into MHD's pool: then MHD answers
     * 431 after the request line and never tells of the end. */
    http__drop_request(conn);
    list_remove(http, conn);
    http->connections--;
    http->surplus -= conn->surplus;
    free(conn);
    *socket_context = NULL;
}

/* --- taking them in --- */

/* The one that has been idle longest makes room; a client may always see an idle connection go. */
static void reclaim(struct http *http)
{
    for (struct http_conn *conn = http->phase[PHASE_IDLE].first; conn != NULL; conn = conn->next) {
        if (http__now_ms(http) - conn->since_ms < RECLAIM_MS)
            return;
        if (!conn->shut) {
            http__shut(conn);
            return;
        }
    }
}

static bool has_room(const struct http *http)
{
    return http->connections < http->options.max_connections + http->surplus_max;
}

/* Out of descriptors or memory: leaves the others in the kernel's queue for a second. */
static void pause_accepting(struct http *http)
{
    LOG(http->options.services->log, LOG_WARN, "accept_failed", F_CSTR("reason", strerror(errno)),
        F_INT("connections", http->connections));
    http->accept_again_ms = http__now_ms(http) + 1000;
}

/* Takes one in; false when there is none now. */
static bool accept_one(struct http *http)
{
    struct sockaddr_storage from;
    socklen_t len = sizeof from;
    int fd = accept4(http->listen_fd, (struct sockaddr *)&from, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
        bool is_client = errno == ECONNABORTED || errno == EINTR || errno == EPERM;
        if (!is_client && errno != EAGAIN)
            pause_accepting(http);
        return is_client;
    }
    if (http->connections - http->surplus >= http->options.max_connections)
        reclaim(http);
    /* It closes the descriptor when it fails. */
    if (MHD_add_connection(http->daemon, fd, (struct sockaddr *)&from, len) != MHD_YES)
        LOG(http->options.services->log, LOG_WARN, "connection_refused",
            F_INT("connections", http->connections));
    return true;
}

void http__accept(struct http *http)
{
    for (unsigned i = 0; i < ACCEPT_BATCH && has_room(http); i++) {
        if (!accept_one(http))
            break;
    }
}

static void on_listen(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    struct http *http = poll->data;
    http__accept(http);
    http__turn_soon(http);
}

void http__accept_if_room(struct http *http)
{
    bool want = http->listen_fd >= 0 && has_room(http) && http->accept_again_ms == 0;
    if (want == http->accepting)
        return;
    http->accepting = want;
    if (want)
        (void)uv_poll_start(&http->listen_poll, UV_READABLE, on_listen);
    else
        (void)uv_poll_stop(&http->listen_poll);
}

/* --- time --- */

static void expire(struct http *http, struct http_conn *conn)
{
    if (conn->phase == PHASE_RECEIVE) {
        metrics_add(http->options.services->metrics, METRIC_TIMEOUTS, 1);
        http__say_error(http, conn, ERR_REQUEST_TIMEOUT, "the request did not arrive in time");
    } else if (conn->phase == PHASE_SURPLUS) {
        http__say_error(http, conn, ERR_UNAVAILABLE, "too many connections");
    }
    http__shut(conn);
}

/* First of a list that is still open: what was shut stays until MHD has seen it. */
static struct http_conn *first_open(const struct phase_list *list)
{
    struct http_conn *conn = list->first;
    while (conn != NULL && conn->shut)
        conn = conn->next;
    return conn;
}

static int64_t sweep_list(struct http *http, struct phase_list *list, int64_t now)
{
    if (list->limit_ms == INT64_MAX)
        return INT64_MAX;
    struct http_conn *conn = first_open(list);
    while (conn != NULL && conn->since_ms + list->limit_ms <= now) {
        expire(http, conn);
        conn = first_open(list);
    }
    return conn == NULL ? INT64_MAX : conn->since_ms + list->limit_ms;
}

/* A client that only ended its direction still gets its reply, if an early one. A model call may
 * begin later than the look that saw it leave, so it is ended at every look. */
static void end_wait_if_left(struct http *http, struct http_conn *conn)
{
    if (conn->request == NULL || (!conn->left && !has_left(conn)))
        return;
    if (!conn->left)
        runner_end_wait(http->options.runner, &conn->request->call->step);
    conn->left = true;
    api_left(conn->request->call);
}

/* Requests that will never be all here, and waits that nobody listens to. */
static int64_t look_who_left(struct http *http, int64_t now)
{
    struct http_conn *receiving = http->phase[PHASE_RECEIVE].first;
    struct http_conn *working = http->phase[PHASE_WORK].first;
    struct http_conn *streaming = http->phase[PHASE_STREAM].first;
    if (receiving == NULL && working == NULL && streaming == NULL)
        return INT64_MAX;
    if (http->looked_ms + LOOK_MS <= now) {
        http->looked_ms = now;
        for (; receiving != NULL; receiving = receiving->next)
            http__shut_if_left(receiving);
        for (; working != NULL; working = working->next)
            end_wait_if_left(http, working);
        for (; streaming != NULL; streaming = streaming->next)
            end_wait_if_left(http, streaming);
    }
    return http->looked_ms + LOOK_MS;
}

int64_t http__sweep(struct http *http)
{
    int64_t now = http__now_ms(http);
    int64_t next = look_who_left(http, now);
    for (unsigned i = 0; i < PHASES; i++) {
        int64_t at = sweep_list(http, &http->phase[i], now);
        next = at < next ? at : next;
    }
    if (http->accept_again_ms != 0 && http->accept_again_ms <= now)
        http->accept_again_ms = 0;
    if (http->accept_again_ms != 0 && http->accept_again_ms < next)
        next = http->accept_again_ms;
    return next;
}
