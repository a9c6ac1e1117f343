/* POST answer: a question answered by a chat model from recalled memory (DESIGN 7).
 *
 *   asking.h: wait, embed, recall, rerank -> the context, its lines marked with ids
 *   -> CALL chat -- Accept: text/event-stream --> "delta" events on the loop as they come
 *   -> the reply, or the events "done" or "error"
 *
 * Until the first piece has come a failure is a status like any other; afterwards it is an event.
 *
 *   event: delta                        event: done
 *   data: {"text":"She adopted "}       data: {"citations":[…],"context":{…},"usage":{…},…}
 *
 * Citations are what stands in square brackets in the text, if it was sent. */
#include "api/api_int.h"
#include "api/asking.h"
#include "api/handlers.h"
#include "api/query_reply.h"
#include "core/graph/node_id.h"
#include "core/model/ask_answer.h"

enum { EVENT_BYTES = 16 << 20 };

struct answer {
    struct model_call call;
    struct ask_answer ask;
    struct recall_context context; /* copied */
    struct model_usage usage;
    struct ask_citations citations;
    unsigned degraded;
    uint64_t seq;
};

static step_fn answered;

static struct answer *answer_of(const struct api_call *call)
{
    return visit_of(call)->own;
}

static bool wants_events(const struct api_call *call)
{
    struct str accept = call->request.accept;
    return call->stream != NULL && accept.len != 0 &&
           memmem(accept.at, accept.len, "text/event-stream", 17) != NULL;
}

/* --- from the snapshot --- */

static bool copy_strs(struct arena *arena, struct str **strs, uint32_t n)
{
    struct str *copy = ARENA_ARRAY(arena, struct str, n);
    for (uint32_t i = 0; copy != NULL && i < n; i++) {
        copy[i] = str_copy(arena, (*strs)[i]);
        if (copy[i].at == NULL)
            return false;
    }
    *strs = copy;
    return copy != NULL;
}

/* The text, the numbers and the marks are in the arena; shown ids may be the store's. */
static enum err_code keep_context(struct api_call *call, const struct asked *asked, struct err *err)
{
    struct answer *answer = ARENA_NEW(call->arena, struct answer);
    *asking_own(call) = answer;
    if (answer != NULL) {
        answer->context = asked->reply->context;
        answer->degraded = asked->degraded;
        answer->seq = asked->reply->seq;
        answer->usage = *asked->usage;
    }
    if (answer == NULL ||
        !copy_strs(call->arena, &answer->context.turn_ids, answer->context.n_turn_ids))
        return err_set(err, ERR_EXHAUSTED, "no memory for the answer");
    return ERR_OK;
}

/* --- events --- */

/* Opens an event; its data goes into `out`. */
static struct json_out begin_event(struct buf *buf, const char *name)
{
    buf_printf(buf, "event: %s\ndata: ", name);
    struct json_out out = json_out_of(buf);
    out_object(&out, NULL);
    return out;
}

static void end_event(struct json_out *out)
{
    out_end(out);
    buf_str_put(out->buf, STR("\n\n"));
}

static void put_delta(struct buf *buf, struct str text)
{
    struct json_out out = begin_event(buf, "delta");
    out_str(&out, "text", text);
    end_event(&out);
}

/* chat_piece_fn, on the loop's thread. */
static bool on_piece(void *arg, struct str piece)
{
    struct api_call *call = arg;
    struct buf event;
    buf_init(&event, NULL, EVENT_BYTES);
    put_delta(&event, piece);
    bool fine = buf_ok(&event);
    if (fine && !call->streaming)
        fine = reply_stream_begin(call, "text/event-stream");
    fine = fine && call->stream(call, buf_str(&event));
    buf_fini(&event);
    return fine;
}

/* --- the call --- */

static enum step_verdict ask_model(struct api_call *call)
{
    struct answer *answer = *asking_own(call);
    struct err err;
    const struct model_address *address =
        models_address(handler_services(call)->models, PURPOSE_ANSWER);
    if (handler_wait_begin(call, &err) != ERR_OK)
        return handler_fail(call, &err);
    visit_of(call)->own = answer;
    answer->ask = (struct ask_answer){.question = param_at(call, QUERY_Q)->text,
                                      .context = answer->context.text,
                                      .piece = wants_events(call) ? on_piece : NULL,
                                      .piece_arg = call};
    call->api->random(&answer->ask.seed, sizeof answer->ask.seed);
    model_call_init(&answer->call, PURPOSE_ANSWER, call->arena);
    answer->call.deadline_ms = handler_deadline_ms(call, (uint64_t)address->total_ms);
    ask_answer(&answer->call, &answer->ask);
    return handler_call(call, &answer->call, answered);
}

/* --- the reply --- */

static void write_citations(struct json_out *out, const struct answer *answer)
{
    static const char *const kinds[] = {
        [MARK_TURN] = NODE_TURN, [MARK_FACT] = NODE_FACT, [MARK_EPISODE] = NODE_EPISODE};
    out_array(out, "citations");
    for (uint32_t i = 0; i < answer->citations.n; i++) {
        const struct recall_mark *mark = &answer->context.marks[answer->citations.at[i]];
        out_object(out, NULL);
        out_str(out, "id", mark->id);
        out_cstr(out, "kind", kinds[mark->kind]);
        out_end(out);
    }
    out_end(out);
}

/* What stands beside the text. */
static void write_rest(struct json_out *out, const struct answer *answer)
{
    write_citations(out, answer);
    query_write_context(out, &answer->context);
    out_object(out, "usage");
    out_u64(out, "calls", answer->usage.calls);
    out_u64(out, "tokens_in", answer->usage.tokens_in);
    out_u64(out, "tokens_out", answer->usage.tokens_out);
    out_end(out);
    query_write_degraded(out, answer->degraded);
    out_u64(out, "seq", answer->seq);
}

static void put_done(struct buf *buf, const struct answer *answer)
{
    struct json_out out = begin_event(buf, "done");
    write_rest(&out, answer);
    end_event(&out);
}

static void put_error(struct buf *buf, const struct err *err)
{
    struct json_out out = begin_event(buf, "error");
    out_cstr(&out, "code", err_slug(err->code));
    out_str(&out, "message", reply_readable(err->message));
    out_bool(&out, "retryable", err_is_retryable(err->code));
    end_event(&out);
}

static enum step_verdict end_stream(struct api_call *call, enum err_code code,
                                    const struct err *err)
{
    struct buf *rest = reply_stream_rest(call);
    if (code == ERR_OK)
        put_done(rest, answer_of(call));
    else
        put_error(rest, err);
    reply_stream_end(call);
    return STEP_DONE;
}

/* The model has sent all in one, or nothing. */
static enum step_verdict reply_events(struct api_call *call)
{
    struct answer *answer = answer_of(call);
    struct buf *body = reply_text(call, "text/event-stream");
    reply_header(call, "Cache-Control", STR("no-store"));
    if (answer->call.chat.text.len != 0)
        put_delta(body, answer->call.chat.text);
    put_done(body, answer);
    return handler_finish(call, 200);
}

static enum step_verdict reply_whole(struct api_call *call)
{
    struct answer *answer = answer_of(call);
    struct json_out out = reply_json(call);
    out_object(&out, NULL);
    out_str(&out, "answer", answer->call.chat.text);
    write_rest(&out, answer);
    out_end(&out);
    return handler_finish(call, 200);
}

static enum err_code find_citations(struct api_call *call, struct err *err)
{
    struct answer *answer = answer_of(call);
    const struct recall_context *context = &answer->context;
    struct str *ids = ARENA_ARRAY(call->arena, struct str, context->n_marks);
    if (ids == NULL)
        return err_set(err, ERR_EXHAUSTED, "no memory for the answer");
    for (uint32_t i = 0; i < context->n_marks; i++)
        ids[i] = context->marks[i].id;
    return ask_answer_citations(call->arena, answer->call.chat.text, ids, context->n_marks,
                                &answer->citations, err);
}

static enum step_verdict answered(struct step *step)
{
    struct api_call *call = call_of(step);
    struct answer *answer = answer_of(call);
    struct err err = answer->call.err;
    enum err_code code = answer->call.outcome;
    handler_called(call);
    asking_add_usage(&answer->usage, &answer->call.usage);
    if (code == ERR_OK)
        code = find_citations(call, &err);
    metrics_add(handler_services(call)->metrics,
                code == ERR_OK ? METRIC_ANSWERS_OK : METRIC_ANSWERS_FAILED, 1);
    if (call->streaming)
        return end_stream(call, code, &err);
    if (code != ERR_OK)
        return handler_fail(call, &err);
    return wants_events(call) ? reply_events(call) : reply_whole(call);
}

enum step_verdict answer_post(struct step *step)
{
    static const struct asking_use use = {.marks = true, .reply = keep_context, .next = ask_model};
    struct api_call *call = call_of(step);
    const struct models *models = handler_services(call)->models;
    struct err err;
    if (models != NULL && models_has(models, PURPOSE_ANSWER))
        return asking_start(step, &use);
    (void)err_set(&err, ERR_UNIMPLEMENTED,
                  "answers want a chat model: none is configured (llm_base_url)");
    return handler_fail(call, &err);
}
