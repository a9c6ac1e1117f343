/* Replies that go out while they are made (api/reply.h, reply_stream_begin()).
 *
 *   WORK, suspended --first piece--> resumed, MHD has a response without a length --+
 *        +------------- nothing to send: suspended again, `paused` <----------------+
 *        | next piece: resumed                        finish(): the rest, then the end
 *        +--> sends --------------------------------------------------> SEND, as any reply
 *
 * Pieces come on the loop's thread; a worker has the step the while and touches neither the
 * connection nor what was sent. When the client leaves first the request outlives its connection
 * (`gone`) until the step is over: the next piece is told that nobody reads on. */
#include <stdlib.h>

#include "server/http_int.h"

enum { STREAM_BYTES = 16 << 20, BLOCK_BYTES = 16 << 10 };

static bool put(struct http_request *r, struct str bytes)
{
    if (r->out.max == 0)
        buf_init(&r->out, NULL, STREAM_BYTES);
    buf_str_put(&r->out, bytes);
    return buf_ok(&r->out);
}

static void resume(struct http_request *r)
{
    r->http->suspended--;
    MHD_resume_connection(r->mhd);
    http__turn_soon(r->http);
}

bool http__stream(struct api_call *call, struct str bytes)
{
    struct http_request *r = call->server;
    if (r->gone || r->conn->left || r->conn->shut || !put(r, bytes))
        return false;
    if (r->state == REQUEST_WORK) {
        r->state = REQUEST_READY;
        http__phase(r->http, r->conn, PHASE_STREAM);
        resume(r);
    } else if (r->paused) {
        r->paused = false;
        resume(r);
    }
    return true;
}

/* MHD wants more to send. */
static ssize_t read_more(void *cls, uint64_t pos, char *to, size_t max)
{
    struct http_request *r = cls;
    size_t n = r->out.len - r->out_at;
    (void)pos;
    if (n != 0) {
        n = n < max ? n : max;
        memcpy(to, r->out.at + r->out_at, n);
        r->out_at += n;
        if (r->out_at == r->out.len) {
            buf_clear(&r->out);
            r->out_at = 0;
        }
        return (ssize_t)n;
    }
    if (!r->working)
        return MHD_CONTENT_READER_END_OF_STREAM;
    r->paused = true;
    r->http->suspended++;
    MHD_suspend_connection(r->mhd);
    return 0;
}

struct MHD_Response *http__stream_response(struct http_request *r)
{
    const struct api_reply *reply = &r->call->reply;
    struct MHD_Response *response =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_BYTES, read_more, r, NULL);
    if (response == NULL)
        return NULL;
    (void)MHD_add_response_header(response, "Content-Type", reply->content_type);
    for (unsigned i = 0; i < reply->n_extra; i++)
        (void)MHD_add_response_header(response, reply->extra[i].name, reply->extra[i].value.at);
    return response;
}

void http__stream_finished(struct http_request *r)
{
    r->working = false;
    if (r->gone) {
        r->http->orphans--;
        http__free_request(r, false);
        return;
    }
    /* What can't be sent whole is cut off, so that nobody takes it for all. */
    if (!put(r, buf_str(&r->call->reply.body)))
        http__shut(r->conn);
    http__phase(r->http, r->conn, PHASE_SEND);
    bool unheard = r->state == REQUEST_WORK; /* the first piece found no listener */
    if (unheard)
        r->state = REQUEST_READY;
    if (unheard || r->paused)
        resume(r);
    r->paused = false;
}

bool http__stream_orphan(struct http_request *r)
{
    if (!r->working)
        return false;
    r->gone = true;
    r->conn->request = NULL;
    r->conn = NULL;
    r->http->orphans++;
    api_left(r->call);
    return true;
}
