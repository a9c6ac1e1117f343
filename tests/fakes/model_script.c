#include "tests/fakes/model_script.h"

#include <stdio.h>

static struct script *script_of(struct transport *transport)
{
    return (struct script *)((char *)transport - offsetof(struct script, transport));
}

static void record(struct script *script, const struct exchange *x)
{
    ASSERT(script->n_asked < SCRIPT_MAX);
    struct script_asked *asked = &script->asked[script->n_asked++];
    *asked = (struct script_asked){
        .url = str_copy(script->arena, str_of(x->url)),
        .body = str_copy(script->arena, x->body),
        .key = STR(""),
        .at_ms = clock_mono_ms(&script->clock),
        .total_ms = x->total_ms,
        .idle_ms = x->idle_ms,
        .endpoint = x->endpoint,
    };
    for (uint32_t i = 0; i < x->n_headers; i++) {
        if (str_eq(x->headers[i].name, STR("Authorization")))
            asked->key = str_copy(script->arena, x->headers[i].value);
    }
}

static void give_pieces(const struct script_reply *reply, struct exchange *x)
{
    for (unsigned i = 0; i < SCRIPT_PIECES && reply->pieces[i] != NULL; i++) {
        if (!x->data(x, str_of(reply->pieces[i]))) {
            x->code = err_set(&x->err, ERR_UNAVAILABLE, "stopped");
            return;
        }
    }
    if (reply->breaks)
        x->code = err_set(&x->err, ERR_UNAVAILABLE, "connection reset");
}

static void start(struct transport *transport, struct exchange *x)
{
    struct script *script = script_of(transport);
    record(script, x);
    ASSERT(script->next < script->n_replies); /* the test expects no further exchange */
    const struct script_reply *reply = &script->replies[script->next++];
    script->clock.fixed_ms += script->took_ms;
    x->took_ms = script->took_ms;
    x->status = reply->status;
    x->cancelled = reply->cancelled;
    x->sent = true;
    x->code = ERR_OK;
    x->retry_after_ms = reply->retry_after_ms != 0 ? reply->retry_after_ms : -1;
    (void)snprintf(x->content_type, sizeof x->content_type, "%s",
                   reply->type != NULL ? reply->type : "application/json");
    buf_init(&x->reply, x->arena, x->reply_max);
    if (reply->status == 0)
        x->code = err_set(&x->err, reply->code != ERR_OK ? reply->code : ERR_UNAVAILABLE,
                          "models.test: connection refused");
    else if (x->data != NULL && reply->status < 300)
        give_pieces(reply, x);
    else
        buf_str_put(&x->reply, str_of(reply->body));
    if (!buf_ok(&x->reply))
        x->code = err_set(&x->err, ERR_EXHAUSTED, "no memory for a reply");
    x->done(x);
}

static void cancel(struct transport *transport, struct exchange *exchange)
{
    (void)transport;
    exchange->cancelled = true;
}

void script_init(struct script *script, const struct script_reply *replies, unsigned n)
{
    *script = (struct script){.transport = {start, cancel},
                              .clock = clock_manual(1700000000000),
                              .took_ms = 10,
                              .arena = arena_new(64 << 20)};
    ASSERT(script->arena != NULL);
    script_add(script, replies, n);
}

void script_fini(struct script *script)
{
    arena_free(script->arena);
}

void script_add(struct script *script, const struct script_reply *replies, unsigned n)
{
    ASSERT(script->n_replies + n <= SCRIPT_MAX);
    for (unsigned i = 0; i < n; i++)
        script->replies[script->n_replies++] = replies[i];
}

static void on_done(struct exchange *x)
{
    *(bool *)x->arg = true;
}

void script_run(struct script *script, struct models *models, struct model_call *call)
{
    for (;;) {
        enum model_next next = model_call_advance(models, call);
        if (next == MODEL_DONE)
            return;
        if (next == MODEL_WAIT) {
            int64_t now = clock_mono_ms(&script->clock);
            ASSERT(script->n_waited < SCRIPT_MAX && call->resume_ms >= now);
            script->waited_ms[script->n_waited++] = call->resume_ms - now;
            script->clock.fixed_ms += call->resume_ms - now;
            continue;
        }
        script->done = false;
        call->exchange.done = on_done;
        call->exchange.arg = &script->done;
        script->transport.start(&script->transport, &call->exchange);
        ASSERT(script->done);
    }
}

struct models_options script_options(const struct script *script)
{
    struct models_options options = {
        .chat = {.temperature = -1, .reasoning = STR("")},
        .embed = {.batch = 8,
                  .batch_tokens = 1000,
                  .text_tokens = 500,
                  .query_prefix = STR(""),
                  .document_prefix = STR("")},
        .rerank = {.format = RERANK_PROBE, .candidates = 10, .chars = 100, .deadline_ms = 60000},
        .clock = &script->clock,
        .seed = 42,
    };
    for (unsigned p = 0; p < MODEL_PURPOSES; p++)
        options.address[p] = (struct model_address){
            .base_url = STR("http://models.test/v1"),
            .api_key = STR("key-of-the-test"),
            .model = STR("small"),
            .connect_ms = 1000,
            .idle_ms = 2000,
            .total_ms = 30000,
            .concurrency = 4,
            .attempts = 3,
        };
    return options;
}
