/* Replies: through MHD, or straight to the socket when MHD can't send one any more. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "core/base/fault.h"
#include "server/http_int.h"

static void add_header(struct MHD_Response *response, struct api_call *call, const char *name,
                       struct str value)
{
    struct str text = str_copy(call->arena, value); /* with a NUL behind */
    if (text.at != NULL)
        (void)MHD_add_response_header(response, name, text.at);
}

static struct MHD_Response *make_response(struct api_call *call)
{
    size_t len = 0;
    char *body = buf_take_heap(&call->reply.body, &len);
    if (body == NULL)
        body = calloc(1, 1); /* a reply without a body wants an address all the same */
    struct MHD_Response *response =
        body == NULL ? NULL : MHD_create_response_from_buffer(len, body, MHD_RESPMEM_MUST_FREE);
    if (response == NULL) {
        free(body);
        return NULL;
    }
    if (call->reply.content_type != NULL && call->reply.status != 204)
        (void)MHD_add_response_header(response, "Content-Type", call->reply.content_type);
    for (unsigned i = 0; i < call->reply.n_extra; i++)
        add_header(response, call, call->reply.extra[i].name, call->reply.extra[i].value);
    return response;
}

enum MHD_Result http__queue(struct http_request *r)
{
    struct http *http = r->http;
    bool stream = r->call->streaming;
    ASSERT(stream || r->call->replied); /* a worker may be about to set it */
    (void)fault_point(FAULT_REPLY_BEFORE_SEND);
    struct MHD_Response *response = stream ? http__stream_response(r) : make_response(r->call);
    if (response == NULL)
        return MHD_NO;
    if (r->close || http->stopping || r->conn->surplus)
        (void)MHD_add_response_header(response, "Connection", "close");
    if (!r->working)
        http__phase(http, r->conn, PHASE_SEND);
    r->state = REQUEST_QUEUED;
    enum MHD_Result result = MHD_queue_response(r->mhd, (unsigned)r->call->reply.status, response);
    MHD_destroy_response(response);
    return result;
}

/* Nothing that the peer chose is in it but the request id, which is checked in api/. */
static void write_reply(const struct api_call *call, struct buf *out)
{
    const struct api_reply *reply = &call->reply;
    buf_printf(out, "HTTP/1.1 %d %s\r\nConnection: close\r\nContent-Length: %zu\r\n", reply->status,
               MHD_get_reason_phrase_for((unsigned)reply->status), reply->body.len);
    if (reply->content_type != NULL)
        buf_printf(out, "Content-Type: %s\r\n", reply->content_type);
    for (unsigned i = 0; i < reply->n_extra; i++)
        buf_printf(out, "%s: %.*s\r\n", reply->extra[i].name, STR_FMT(reply->extra[i].value));
    buf_printf(out, "\r\n");
    buf_str_put(out, buf_str(&reply->body));
}

void http__say(struct http_conn *conn, struct api_call *call)
{
    enum { MAX_BYTES = 64 << 10 };
    struct buf out;
    buf_init(&out, call->arena, MAX_BYTES);
    write_reply(call, &out);
    if (!buf_ok(&out) || conn->shut)
        return;
    /* One small write into an empty socket buffer: it fits, or the client is gone. */
    ssize_t sent = send(conn->fd, out.at, out.len, MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)sent;
    (void)shutdown(conn->fd, SHUT_WR);
}

/* A call of our own: for a connection that has none, or whose call is with a worker. */
static void say_error_apart(struct http *http, struct http_conn *conn, enum err_code code,
                            const char *message)
{
    struct api_call *call = api_call_new(http->options.api);
    if (call == NULL)
        return;
    call->request.method = call->request.path = STR("");
    api_admit(call); /* makes the request id; what it replies is replaced */
    api_refuse(call, code, NULL, "%s", message);
    http__say(conn, call);
    api_done(call, true);
    api_call_free(call);
}

void http__say_error(struct http *http, struct http_conn *conn, enum err_code code,
                     const char *message)
{
    struct http_request *r = conn->request;
    if (r == NULL || r->call == NULL || r->state == REQUEST_WORK) {
        say_error_apart(http, conn, code, message);
        return;
    }
    api_refuse(r->call, code, NULL, "%s", message);
    http__say(conn, r->call);
    r->state = REQUEST_LINGER;
}
