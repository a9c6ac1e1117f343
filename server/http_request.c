/* The life of one request, as MHD's callbacks tell it:
 *
 *   on_line       the request line is in          struct http_request is made
 *   on_request 1  the head is in                  admitted, or refused
 *   on_request n  a piece of body                 gathered, or read away
 *   on_request    the body is in                  started; suspended while a worker has it
 *   on_request    after the resume                the reply is queued
 *   on_completed  sent, or the client left        struct http_request goes */
#include <stdlib.h>

#include "core/base/limits.h"
#include "server/http_int.h"

/* MHD keeps a record of each in its pool. When they do not fit, some ways out of it answer nothing
 * and wait for ever. */
enum { PARAMETERS_MAX = 256 };

static bool has_too_many_parameters(struct str target)
{
    unsigned n = 0;
    for (size_t i = 0; i < target.len && n < PARAMETERS_MAX; i++)
        n += target.at[i] == '&';
    return n == PARAMETERS_MAX;
}

void *http__on_line(void *cls, const char *uri, struct MHD_Connection *mhd)
{
    struct http *http = cls;
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    struct http_conn *conn = info != NULL ? info->socket_context : NULL;
    struct str target = str_of(uri != NULL ? uri : "");
    struct http_request *r = conn != NULL ? calloc(1, sizeof *r + target.len + 1) : NULL;
    if (r == NULL)
        return NULL; /* the handler closes the connection */
    ASSERT(conn->request == NULL);
    r->http = http;
    r->conn = conn;
    r->mhd = mhd;
    char *copy = (char *)(r + 1);
    if (target.len != 0)
        memcpy(copy, target.at, target.len);
    r->target = (struct str){copy, target.len};
    r->target_end = target.at + target.len;
    conn->request = r;
    if (conn->phase == PHASE_IDLE)
        http__phase(http, conn, PHASE_RECEIVE);
    if (has_too_many_parameters(target)) {
        http__say_error(http, conn, ERR_INVALID, "there are too many parameters");
        http__shut(conn);
    }
    return r;
}

/* Answers now, although more of the body may come. */
static enum MHD_Result answer_early(struct http_request *r, const struct http_head *head)
{
    r->close = true;
    if (head != NULL && head->expects_continue)
        return http__queue(r);
    http__say(r->conn, r->call);
    http__phase(r->http, r->conn, PHASE_LINGER);
    r->state = REQUEST_LINGER;
    return MHD_YES;
}

static void refuse_size(struct http_request *r)
{
    api_refuse(r->call, ERR_TOO_LARGE, "body", "the body is larger than %u bytes",
               (unsigned)LIMIT_BODY_BYTES);
}

/* The head is in and admitted or refused by api/; decides what becomes of the body. */
static enum MHD_Result plan_body(struct http_request *r, const struct http_head *head)
{
    struct api_call *call = r->call;
    size_t limit = api_body_limit(call);
    if (!call->replied && call->request.has_body && head->content_length > limit) {
        refuse_size(r);
        return answer_early(r, head);
    }
    if (call->replied && call->request.has_body) {
        if (head->expects_continue || head->content_length > DISCARD_BYTES)
            return answer_early(r, head);
        r->state = REQUEST_DISCARD;
        return MHD_YES;
    }
    buf_init(&r->body, call->arena, limit);
    r->state = call->replied ? REQUEST_READY : REQUEST_BODY;
    return MHD_YES;
}

static enum MHD_Result on_head(struct http_request *r, const char *method, const char *version)
{
    struct http *http = r->http;
    struct http_head head = {0};
    r->call = api_call_new(http->options.api);
    if (r->call == NULL)
        return MHD_NO;
    r->call->server = r;
    if (r->conn->surplus && http->connections - http->surplus < http->options.max_connections) {
        r->conn->surplus = false;
        http->surplus--;
        http__phase(http, r->conn, PHASE_RECEIVE);
    }
    if (!http__read_head(r, method, version, &head)) {
        r->close = true;
        return r->call->request.has_body ? answer_early(r, &head) : http__queue(r);
    }
    if (r->conn->surplus) {
        api_refuse(r->call, ERR_UNAVAILABLE, NULL, "too many connections");
        return r->call->request.has_body ? answer_early(r, &head) : http__queue(r);
    }
    return plan_body(r, &head);
}

static enum MHD_Result on_body(struct http_request *r, const char *data, size_t size)
{
    if (r->state == REQUEST_BODY) {
        buf_put(&r->body, data, size);
        if (buf_ok(&r->body))
            return MHD_YES;
        refuse_size(r);
        return answer_early(r, NULL);
    }
    r->discarded += size;
    if (r->state == REQUEST_DISCARD && r->discarded > DISCARD_BYTES)
        return answer_early(r, NULL);
    return r->discarded > LINGER_BYTES ? MHD_NO : MHD_YES;
}

/* On a worker: the mailbox takes the call to the loop. */
static void on_finish(struct step *step)
{
    struct api_call *call = (struct api_call *)(void *)step;
    struct http_request *r = call->server;
    struct http *http = r->http;
    int rc = pthread_mutex_lock(&http->mail_lock);
    ASSERT(rc == 0);
    bool was_empty = http->mail_first == NULL;
    step->next = NULL;
    if (was_empty)
        http->mail_first = step;
    else
        http->mail_last->next = step;
    http->mail_last = step;
    /* Under the lock: once the loop has the last call it may close the handle. */
    if (was_empty)
        (void)uv_async_send(&http->mail);
    rc = pthread_mutex_unlock(&http->mail_lock);
    ASSERT(rc == 0);
}

/* The call goes to the runner with the others of this round of MHD. */
static enum MHD_Result start(struct http_request *r)
{
    struct http *http = r->http;
    struct api_call *call = r->call;
    call->request.body = r->body.at != NULL ? buf_str(&r->body) : STR_NONE;
    api_start(call);
    if (call->replied)
        return http__queue(r);
    call->stream = http__stream;
    r->working = true;
    call->step.finish = on_finish;
    call->step.next = NULL;
    if (http->start_first == NULL)
        http->start_first = &call->step;
    else
        http->start_last->next = &call->step;
    http->start_last = &call->step;
    r->state = REQUEST_WORK;
    http->suspended++;
    http__phase(http, r->conn, PHASE_WORK);
    MHD_suspend_connection(r->mhd);
    return MHD_YES;
}

bool http__submit(struct http *http)
{
    struct step *started = http->start_first;
    http->start_first = http->start_last = NULL;
    if (started == NULL)
        return false;
    struct step *refused = runner_submit_list(http->options.runner, started);
    for (struct step *step = refused; step != NULL;) {
        struct api_call *call = (struct api_call *)(void *)step;
        step = step->next;
        api_refuse(call, ERR_UNAVAILABLE, NULL, "too many requests are waiting for a worker");
        http__resume(http, call);
    }
    return refused != NULL;
}

/* NOLINTNEXTLINE(readability-function-size): the signature is libmicrohttpd's */
enum MHD_Result http__on_request(void *cls, struct MHD_Connection *mhd, const char *url,
                                 const char *method, const char *version, const char *data,
                                 size_t *size, void **context)
{
    (void)cls;
    (void)mhd;
    (void)url;
    struct http_request *r = *context;
    if (r == NULL)
        return MHD_NO;
    if (r->state == REQUEST_LINE)
        return on_head(r, method, version);
    if (*size != 0) {
        size_t taken = *size;
        *size = 0;
        return on_body(r, data, taken);
    }
    switch (r->state) {
    case REQUEST_BODY: return start(r);
    case REQUEST_DISCARD:
    case REQUEST_READY: return http__queue(r);
    case REQUEST_LINE:
    case REQUEST_LINGER:
    case REQUEST_WORK:
    case REQUEST_QUEUED: break;
    }
    return MHD_NO; /* LINGER: answered and read; the others can't be */
}

void http__free_request(struct http_request *r, bool sent)
{
    if (r->call != NULL) {
        api_done(r->call, sent);
        api_call_free(r->call);
    }
    buf_fini(&r->out);
    free(r);
}

static void release(struct http_request *r, bool sent)
{
    ASSERT(r->state != REQUEST_WORK); /* H2 */
    if (http__stream_orphan(r))
        return;
    r->conn->request = NULL;
    http__free_request(r, sent);
}

void http__drop_request(struct http_conn *conn)
{
    if (conn->request != NULL)
        release(conn->request, false);
}

void http__on_completed(void *cls, struct MHD_Connection *mhd, void **context,
                        enum MHD_RequestTerminationCode code)
{
    (void)mhd;
    struct http *http = cls;
    struct http_request *r = *context;
    *context = NULL;
    if (r == NULL)
        return;
    struct http_conn *conn = r->conn;
    release(r, code == MHD_REQUEST_TERMINATED_COMPLETED_OK || r->state == REQUEST_LINGER);
    if (conn->phase != PHASE_SURPLUS)
        http__phase(http, conn, PHASE_IDLE);
    if (http->stopping)
        http__shut(conn);
    else
        http__shut_if_left(conn);
}
