#include "api/reply.h"

#include "api/api_int.h"
#include "core/text/utf8.h"

static void clear(struct api_call *call, const char *content_type)
{
    struct api_reply *reply = &call->reply;
    if (reply->body.max == 0)
        buf_init(&reply->body, NULL, REPLY_BYTES_MAX);
    buf_clear(&reply->body);
    reply->content_type = content_type;
}

struct json_out reply_json(struct api_call *call)
{
    clear(call, "application/json");
    return json_out_of(&call->reply.body);
}

struct buf *reply_text(struct api_call *call, const char *content_type)
{
    clear(call, content_type);
    return &call->reply.body;
}

void reply_header(struct api_call *call, const char *name, struct str value)
{
    struct api_reply *reply = &call->reply;
    if (value.at == NULL) /* memory was short: a header less */
        return;
    ASSERT(reply->n_extra < API_EXTRA_HEADERS);
    reply->extra[reply->n_extra++] = (struct api_header){name, value};
}

static void complete(struct api_call *call, int status)
{
    call->reply.status = status;
    reply_header(call, "X-Request-ID", call->request_id);
    api__settle(call);
    call->replied = true;
}

void reply_finish(struct api_call *call, int status)
{
    ASSERT(!call->replied);
    if (buf_ok(&call->reply.body)) {
        complete(call, status);
        return;
    }
    struct err err;
    (void)err_set(&err, ERR_UNAVAILABLE, "no memory for a reply of this size; ask for less");
    reply_error(call, &err);
}

/* Values end in a NUL here: what sends them may not use the call's arena, which a worker may use by
 * then. */
bool reply_stream_begin(struct api_call *call, const char *content_type)
{
    struct str id = str_copy(call->arena, call->request_id);
    if (id.at == NULL)
        return false;
    call->reply.status = 200;
    call->reply.content_type = content_type;
    reply_header(call, "X-Request-ID", id);
    reply_header(call, "Cache-Control", STR("no-store"));
    call->streaming = true;
    return true;
}

struct buf *reply_stream_rest(struct api_call *call)
{
    ASSERT(call->streaming);
    buf_init(&call->reply.body, NULL, REPLY_BYTES_MAX);
    return &call->reply.body;
}

void reply_stream_end(struct api_call *call)
{
    api__settle(call);
    call->replied = true;
}

/* A message may quote a name that a client made up and that was cut to fit. */
struct str reply_readable(const char *text)
{
    struct str s = str_of(text);
    return str_part(s, 0, utf8_valid_len(s));
}

static void write_error(struct api_call *call, const struct err *err)
{
    struct json_out out = reply_json(call);
    out_object(&out, NULL);
    out_object(&out, "error");
    out_cstr(&out, "code", err_slug(err->code));
    out_str(&out, "message", reply_readable(err->message));
    if (err->param[0] != '\0')
        out_str(&out, "param", reply_readable(err->param));
    else
        out_null(&out, "param");
    out_bool(&out, "retryable", err_is_retryable(err->code));
    out_end(&out);
    out_str(&out, "detail", reply_readable(err->message));
    out_str(&out, "request_id", call->request_id);
    out_end(&out);
}

static void add_headers(struct api_call *call, const struct err *err)
{
    if (err->code == ERR_UNAUTHENTICATED)
        reply_header(call, "WWW-Authenticate", STR("Bearer"));
    if (err->code == ERR_EXHAUSTED || err->code == ERR_UNAVAILABLE || err->retry_after_s != 0)
        reply_header(
            call, "Retry-After",
            str_printf(call->arena, "%u", err->retry_after_s != 0 ? err->retry_after_s : 1));
}

void reply_error(struct api_call *call, const struct err *err)
{
    ASSERT(err->code != ERR_OK);
    if (err->code == ERR_INTERNAL)
        log_err(call->api->services->log, LOG_ERROR, "request failed", err);
    /* Only Allow is set before an error on purpose; what a half-made reply had set goes. */
    unsigned kept = 0;
    for (unsigned i = 0; i < call->reply.n_extra; i++)
        if (str_eq(str_of(call->reply.extra[i].name), STR("Allow")))
            call->reply.extra[kept++] = call->reply.extra[i];
    call->reply.n_extra = kept;
    write_error(call, err);
    add_headers(call, err);
    complete(call, err_http_status(err->code));
}
