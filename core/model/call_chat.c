/* Chat calls: one question, its structured reply or its text, asked again, halved, streamed. */
#include "core/model/call_int.h"
#include "core/model/repair.h"
#include "core/model/tokens.h"
#include "core/text/utf8.h"

enum { WRONG_BYTES = 1024, BUDGETS = 2 /* doublings of max_tokens */ };

static uint32_t max_tokens(const struct call_state *s)
{
    const struct chat_limits *limits = &s->models->chat;
    uint32_t base = limits->max_tokens != 0 ? limits->max_tokens : s->call->chat.prompt->max_tokens;
    return base << s->budget;
}

/* The user's message for the present number of halvings. */
static bool write_user(struct call_state *s)
{
    struct chat_ask *ask = &s->call->chat;
    buf_init(&s->user, s->call->arena, MODEL_BODY_MAX);
    s->written = ask->write(ask->arg, s->halvings, &s->user);
    return s->written;
}

static bool on_data(struct exchange *exchange, struct str bytes)
{
    struct model_call *call =
        (struct model_call *)((char *)exchange - offsetof(struct model_call, exchange));
    return chat_stream_take(&call->state->stream, bytes);
}

static bool build(struct call_state *s, struct buf *path, struct buf *body)
{
    const struct chat_ask *ask = &s->call->chat;
    if (!s->written && !write_user(s)) {
        call_fail(s, MODEL_FAILURE_TOO_LONG, "the question can't be written");
        return false;
    }
    s->request = (struct chat_request){
        .model = s->endpoint->address.model,
        .name = ask->prompt->name,
        .system = ask->prompt->system,
        .schema = ask->prompt->schema,
        .user = buf_str(&s->user),
        .reply = s->reply,
        .wrong = s->wrong,
        .max_tokens = max_tokens(s),
        .temperature = s->models->chat.temperature,
        .reasoning = s->models->chat.reasoning,
        .stream = ask->piece != NULL,
        .way = s->way,
        .extra = s->endpoint->address.extra_body,
    };
    if (!buf_ok(&s->user) || !chat_json_write(&s->request, body)) {
        call_fail(s, MODEL_FAILURE_MEMORY, "no memory for a request");
        return false;
    }
    if (ask->piece != NULL) {
        chat_stream_init(&s->stream, s->call->arena, ask->piece, ask->arg);
        s->call->exchange.data = on_data;
    }
    buf_str_put(path, STR("chat/completions"));
    return true;
}

static void take_usage(struct call_state *s, const struct chat_usage *told, struct str text)
{
    s->usage = *told;
    if (told->known)
        return;
    s->usage.in = model_tokens(str_of(s->request.system)) + model_tokens(s->request.user);
    s->usage.out = model_tokens(text);
}

/* --- smaller --- */

static bool shorten(struct call_state *s, enum call_shorten why, enum model_failure failure)
{
    /* More than one item a request is nothing that a chat has. */
    if (why == SHORTEN_ITEMS || failure == MODEL_FAILURE_REQUEST)
        return false;
    if (s->halvings >= MODEL_HALVINGS)
        return false;
    s->halvings++;
    if (!write_user(s))
        return false;
    s->reply = STR_NONE; /* of the longer question */
    call_again(s, MODEL_FAILURE_TOO_LONG);
    return true;
}

/* The reply ended at max_tokens with nothing but thoughts. */
static bool grow_budget(struct call_state *s)
{
    if (s->budget >= BUDGETS || max_tokens(s) == 0)
        return false;
    s->budget++;
    call_again(s, MODEL_FAILURE_TOO_LONG);
    return true;
}

/* --- asked again --- */

static enum call_read ask_again(struct call_state *s, struct str said, struct str wrong)
{
    if (s->salvage) {
        call_fail(s, MODEL_FAILURE_TOO_LONG, "the reply is cut off however short the question is");
        return READ_FAILED;
    }
    if (s->reasks >= MODEL_REASKS) {
        call_fail(s, MODEL_FAILURE_REPLY, "%u replies did not pass the check; the last: %.*s",
                  s->reasks + 1, STR_FMT(utf8_cut(wrong, 120)));
        return READ_WRONG;
    }
    s->reasks++;
    s->reply = said;
    s->wrong = str_copy(s->call->arena, wrong);
    if (s->wrong.at == NULL)
        return READ_MEMORY;
    call_again(s, MODEL_FAILURE_REPLY);
    return READ_WRONG;
}

static enum call_read check(struct call_state *s, struct str said, const struct json_t *object)
{
    struct chat_ask *ask = &s->call->chat;
    struct err err = {.code = ERR_OK};
    struct buf wrong;
    buf_init(&wrong, s->call->arena, WRONG_BYTES);
    enum err_code code = ask->read(ask->arg, object, &wrong, &err);
    if (code == ERR_OK) {
        s->way.proven = true;
        return READ_DONE;
    }
    if (code == ERR_UNPROCESSABLE)
        return ask_again(s, said, buf_str(&wrong));
    call_fail(s, code == ERR_EXHAUSTED ? MODEL_FAILURE_MEMORY : MODEL_FAILURE_REPLY, "%s",
              err.message);
    s->call->outcome = s->call->err.code = code;
    return READ_FAILED;
}

/* A reply that was cut off: more room for an empty one, else a shorter question, else what there
 * is. True: decided. */
static bool is_asked_shorter(struct call_state *s, struct str said)
{
    if (said.len == 0 && grow_budget(s))
        return true;
    if (shorten(s, SHORTEN_TOKENS, MODEL_FAILURE_TOO_LONG))
        return true;
    s->salvage = true;
    return false;
}

static enum call_read read_object(struct call_state *s, struct str said, enum chat_finish finish)
{
    struct json_t *object = NULL;
    bool cut = false;
    enum err_code code = chat_json_object(s->call->arena, said, s->request.schema, &object, &cut);
    enum call_read read = READ_MEMORY;
    bool broken_off = finish == FINISH_LENGTH && (code == ERR_UNPROCESSABLE || cut);
    if (broken_off && is_asked_shorter(s, repair_think(s->call->arena, said)))
        read = READ_WRONG;
    else if (code == ERR_OK)
        read = check(s, said, object);
    else if (code == ERR_UNPROCESSABLE)
        read = ask_again(s, said, STR("there is no JSON object in it."));
    base_json_free(object);
    return read;
}

/* --- replies --- */

static enum call_read bad(struct call_state *s, enum model_failure failure, struct str what)
{
    s->bad = failure;
    s->seen.fault.message = what;
    return READ_BAD;
}

static enum call_read read_empty(struct call_state *s, enum chat_finish finish)
{
    if (finish == FINISH_FILTER) {
        call_fail(s, MODEL_FAILURE_REPLY, "the provider's content filter withheld the reply");
        return READ_FAILED;
    }
    if (finish == FINISH_LENGTH && is_asked_shorter(s, STR("")))
        return READ_WRONG;
    return bad(s, MODEL_FAILURE_REPLY, STR("an empty reply"));
}

static enum call_read read_text(struct call_state *s, struct str said, enum chat_finish finish)
{
    struct chat_ask *ask = &s->call->chat;
    ask->text = repair_think(s->call->arena, said);
    ask->cut = finish == FINISH_LENGTH;
    if (ask->text.at == NULL)
        return READ_MEMORY;
    if (ask->text.len == 0)
        return read_empty(s, finish);
    if (ask->piece != NULL)
        chat_stream_give(&s->stream, ask->text);
    return READ_DONE;
}

static enum call_read read_document(struct call_state *s, struct str body)
{
    struct chat_reply reply;
    if (!chat_json_read(s->call->arena, body, &reply))
        return READ_MEMORY;
    if (reply.shape == CHAT_FAULT) {
        s->seen.fault = reply.fault;
        return READ_FAULT;
    }
    if (reply.shape == CHAT_BROKEN)
        return bad(s, MODEL_FAILURE_SERVER,
                   s->seen.html ? STR("an HTML page where JSON was wanted")
                                : STR("a reply that is no chat completion"));
    take_usage(s, &reply.usage, reply.text);
    if (reply.shape == CHAT_EMPTY)
        return read_empty(s, reply.finish);
    return s->request.schema != NULL ? read_object(s, reply.text, reply.finish)
                                     : read_text(s, reply.text, reply.finish);
}

static enum call_read read_stream(struct call_state *s)
{
    struct chat_stream *stream = &s->stream;
    chat_stream_end(stream);
    if (stream->no_memory)
        return READ_MEMORY;
    if (stream->form != STREAM_EVENTS) {
        struct str body = str_trim(buf_str(&stream->line));
        s->seen.html = s->seen.html || (body.len != 0 && body.at[0] == '<');
        return read_document(s, body);
    }
    take_usage(s, &stream->usage, buf_str(&stream->text));
    s->call->chat.text = str_trim(buf_str(&stream->text));
    s->call->chat.cut = stream->finish == FINISH_LENGTH || !stream->finished;
    if (stream->faulty && stream->text.len == 0) {
        s->seen.fault = stream->fault;
        return READ_FAULT;
    }
    if (stream->faulty) {
        call_fail(s, MODEL_FAILURE_SERVER, "the answer broke off: %.*s",
                  STR_FMT(stream->fault.message));
        return READ_FAILED;
    }
    return stream->text.len != 0 ? READ_DONE : read_empty(s, stream->finish);
}

static enum call_read read(struct call_state *s)
{
    return s->call->chat.piece != NULL ? read_stream(s)
                                       : read_document(s, buf_str(&s->call->exchange.reply));
}

static bool sends(const struct call_state *s, enum endpoint_param param)
{
    return chat_json_sends(&s->request, param);
}

const struct call_kind call__chat = {build, read, shorten, sends};
