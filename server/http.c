#include "server/http.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "server/http_int.h"

enum { RUNS_A_TURN = 8 };

/* --- turns of MHD --- */

static void on_sweep(uv_timer_t *timer);

static void arm_sweep(struct http *http)
{
    int64_t next = http__sweep(http);
    http__accept_if_room(http);
    if (next == INT64_MAX || next >= http->sweep_ms)
        return; /* a timer that rings too early only looks again */
    int64_t wait = next - http__now_ms(http);
    http->sweep_ms = next;
    uv_update_time(http->loop);
    (void)uv_timer_start(&http->sweep_timer, on_sweep, wait > 0 ? (uint64_t)wait : 0, 0);
}

static bool is_pending(struct http *http)
{
    MHD_UNSIGNED_LONG_LONG timeout = 0;
    return MHD_get_timeout(http->daemon, &timeout) == MHD_YES && timeout == 0;
}

static void on_turn_timer(uv_timer_t *timer);

void http__turn_soon(struct http *http)
{
    (void)uv_timer_start(&http->turn_timer, on_turn_timer, 0, 0);
}

/* MHD works, at least twice (the first run only resumes), while it has something at hand; after
 * some rounds the loop's other work gets a chance. */
static void turn(struct http *http)
{
    (void)MHD_run(http->daemon);
    (void)http__submit(http);
    unsigned runs = 1;
    bool answered;
    do {
        (void)MHD_run(http->daemon);
        answered = http__submit(http);
        runs++;
    } while ((answered || is_pending(http)) && runs < RUNS_A_TURN);
    if (answered || is_pending(http))
        http__turn_soon(http);
    arm_sweep(http);
}

static void on_turn_timer(uv_timer_t *timer)
{
    turn(timer->data);
}

static void on_sweep(uv_timer_t *timer)
{
    struct http *http = timer->data;
    http->sweep_ms = INT64_MAX;
    turn(http);
}

static void on_epoll(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    turn(poll->data);
}

void http__resume(struct http *http, struct api_call *call)
{
    struct http_request *r = call->server;
    ASSERT(r->state == REQUEST_WORK && call->replied);
    r->state = REQUEST_READY;
    r->working = false;
    http->suspended--;
    http__phase(http, r->conn, PHASE_SEND);
    MHD_resume_connection(r->mhd);
}

static void on_mail(uv_async_t *async)
{
    struct http *http = async->data;
    int rc = pthread_mutex_lock(&http->mail_lock);
    ASSERT(rc == 0);
    struct step *step = http->mail_first;
    http->mail_first = http->mail_last = NULL;
    rc = pthread_mutex_unlock(&http->mail_lock);
    ASSERT(rc == 0);
    if (step == NULL)
        return;
    while (step != NULL) {
        struct api_call *call = (struct api_call *)(void *)step;
        step = step->next;
        if (call->streaming)
            http__stream_finished(call->server);
        else
            http__resume(http, call);
    }
    turn(http);
}

/* --- start --- */

static void on_mhd_log(void *cls, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));
static void on_mhd_log(void *cls, const char *format, va_list args)
{
    const struct http *http = cls;
    char text[256];
    int n = vsnprintf(text, sizeof text, format, args);
    if (n > 0)
        LOG(http->options.services->log, LOG_DEBUG, "libmicrohttpd",
            F_STR("message", str_trim(str_of(text))));
}

/* Escapes stay as they came: api/ splits the path before it decodes (DESIGN 10). */
static size_t keep_escapes(void *cls, struct MHD_Connection *mhd, char *text)
{
    (void)cls;
    (void)mhd;
    return strlen(text);
}

static enum err_code start_mhd(struct http *http, struct err *err)
{
    unsigned limit = http->options.max_connections + http->surplus_max;
    http->daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_NO_LISTEN_SOCKET | MHD_USE_ERROR_LOG, 0,
        NULL, NULL, http__on_request, http, MHD_OPTION_EXTERNAL_LOGGER, on_mhd_log, http,
        MHD_OPTION_CONNECTION_LIMIT, limit, MHD_OPTION_CONNECTION_TIMEOUT, 0U,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)POOL_BYTES, MHD_OPTION_UNESCAPE_CALLBACK,
        keep_escapes, NULL, MHD_OPTION_URI_LOG_CALLBACK, http__on_line, http,
        MHD_OPTION_NOTIFY_COMPLETED, http__on_completed, http, MHD_OPTION_NOTIFY_CONNECTION,
        http__notify_connection, http, MHD_OPTION_END);
    if (http->daemon == NULL)
        return err_set(err, ERR_UNAVAILABLE, "libmicrohttpd does not start");
    return ERR_OK;
}

static enum err_code start_handles(struct http *http, struct err *err)
{
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    if (info == NULL || uv_poll_init(http->loop, &http->mhd_poll, info->epoll_fd) != 0)
        return err_set(err, ERR_UNAVAILABLE, "libmicrohttpd's descriptor can't be polled");
    http->handles = 1;
    if (uv_poll_init(http->loop, &http->listen_poll, http->listen_fd) != 0)
        return err_set(err, ERR_UNAVAILABLE, "the listening socket can't be polled");
    http->handles = 2;
    if (uv_async_init(http->loop, &http->mail, on_mail) != 0)
        return err_set(err, ERR_UNAVAILABLE, "the loop can't be woken");
    http->handles = 3;
    (void)uv_timer_init(http->loop, &http->turn_timer);
    (void)uv_timer_init(http->loop, &http->sweep_timer);
    http->handles = 5;
    http->mhd_poll.data = http->listen_poll.data = http->mail.data = http;
    http->turn_timer.data = http->sweep_timer.data = http;
    (void)uv_poll_start(&http->mhd_poll, UV_READABLE, on_epoll);
    http__accept_if_room(http);
    return ERR_OK;
}

enum err_code http_open(uv_loop_t *loop, const struct http_options *options, struct http **out,
                        struct err *err)
{
    *out = NULL;
    struct http *http = calloc(1, sizeof *http);
    if (http == NULL)
        return err_set(err, ERR_EXHAUSTED, "out of memory");
    *http = (struct http){.loop = loop, .options = *options, .listen_fd = -1};
    http->sweep_ms = INT64_MAX;
    http->surplus_max = options->max_connections / 8 > 16 ? options->max_connections / 8 : 16;
    for (unsigned i = 0; i < PHASES; i++)
        http->phase[i].limit_ms = INT64_MAX;
    http->phase[PHASE_RECEIVE].limit_ms = options->request_timeout_ms;
    http->phase[PHASE_SEND].limit_ms = options->request_timeout_ms;
    http->phase[PHASE_IDLE].limit_ms = options->idle_timeout_ms;
    http->phase[PHASE_LINGER].limit_ms = LINGER_MS;
    http->phase[PHASE_SURPLUS].limit_ms = SURPLUS_MS;
    int rc = pthread_mutex_init(&http->mail_lock, NULL);
    ASSERT(rc == 0);
    *out = http; /* whatever fails now, http_close() and http_free() undo */
    enum err_code code = net_listen(options->listen, &http->listen_fd, http->url, err);
    if (code == ERR_OK)
        code = start_mhd(http, err);
    if (code == ERR_OK)
        code = start_handles(http, err);
    return code;
}

const char *http_url(const struct http *http)
{
    return http->url;
}

unsigned http_connections(const struct http *http)
{
    return http->connections;
}

unsigned http_suspended(const struct http *http)
{
    return http->suspended + http->orphans;
}

uint64_t http_descriptors(unsigned max_connections)
{
    unsigned surplus = max_connections / 8 > 16 ? max_connections / 8 : 16;
    return (uint64_t)max_connections + surplus + RESERVED_DESCRIPTORS;
}

/* --- stop --- */

void http_quiesce(struct http *http)
{
    http__accept(http);
    http->stopping = true;
    if (http->accepting)
        (void)uv_poll_stop(&http->listen_poll);
    http->accepting = false;
    (void)close(http->listen_fd);
    http->listen_fd = -1;
    for (struct http_conn *conn = http->phase[PHASE_IDLE].first; conn != NULL; conn = conn->next)
        http__shut(conn);
    turn(http);
}

void http_shut(struct http *http)
{
    for (unsigned i = 0; i < PHASES; i++) {
        for (struct http_conn *conn = http->phase[i].first; conn != NULL; conn = conn->next) {
            bool unanswered = i == PHASE_WORK || (i == PHASE_RECEIVE && conn->request != NULL);
            if (unanswered && !conn->shut)
                http__say_error(http, conn, ERR_UNAVAILABLE, "the server is stopping");
            if (!conn->shut)
                http__shut(conn);
        }
    }
    turn(http);
}

void http_close(struct http *http)
{
    uv_handle_t *handles[] = {(uv_handle_t *)&http->mhd_poll, (uv_handle_t *)&http->listen_poll,
                              (uv_handle_t *)&http->mail, (uv_handle_t *)&http->turn_timer,
                              (uv_handle_t *)&http->sweep_timer};
    ASSERT(http->suspended == 0 && http->orphans == 0); /* H4 */
    for (unsigned i = 0; i < http->handles; i++)
        uv_close(handles[i], NULL);
    http->handles = 0;
    if (http->daemon != NULL)
        MHD_stop_daemon(http->daemon);
    http->daemon = NULL;
}

void http_free(struct http *http)
{
    if (http == NULL)
        return;
    ASSERT(http->handles == 0 && http->daemon == NULL);
    if (http->listen_fd >= 0)
        (void)close(http->listen_fd);
    (void)pthread_mutex_destroy(&http->mail_lock);
    free(http);
}
