/* Embedding calls: texts in batches, each as large as the limits and the provider allow. What a
 * batch is too much for is cut in two, down to the text that can't be embedded, which alone fails
 * (PITFALLS 31); batches grow again after it. */
#include "core/model/call_int.h"
#include "core/model/tokens.h"

/* So many single texts refused in a row, before any went well or later: not the texts' fault. */
enum { BAD_RUN_FIRST = 3, BAD_RUN = 16 };

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* How many texts the next request takes. */
static uint32_t next_batch(struct call_state *s)
{
    const struct embed_limits *limits = &s->models->embed;
    const struct embed_ask *ask = &s->call->embed;
    uint32_t most = least(ask->n - s->at, limits->batch != 0 ? limits->batch : 1);
    if (s->way.batch != 0)
        most = least(most, s->way.batch);
    if (s->cap != 0)
        most = least(most, s->cap);
    struct str prefix = ask->is_query ? limits->query_prefix : limits->document_prefix;
    uint64_t tokens = 0;
    uint32_t n = 0;
    while (n < most) {
        tokens += model_tokens(prefix) + model_tokens(ask->texts[s->at + n]);
        if (n != 0 && tokens > limits->batch_tokens)
            break;
        n++;
    }
    return n;
}

static bool build(struct call_state *s, struct buf *path, struct buf *body)
{
    const struct embed_limits *limits = &s->models->embed;
    const struct embed_ask *ask = &s->call->embed;
    s->taken = next_batch(s);
    s->embed = (struct embed_request){
        .model = s->endpoint->address.model,
        .texts = ask->texts + s->at,
        .n = s->taken,
        .prefix = ask->is_query ? limits->query_prefix : limits->document_prefix,
        .dimensions = limits->send_dimensions ? limits->dimensions : 0,
        .way = s->way,
        .extra = s->endpoint->address.extra_body,
    };
    buf_str_put(path, STR("embeddings"));
    if (embed_json_write(&s->embed, body))
        return true;
    call_fail(s, MODEL_FAILURE_MEMORY, "no memory for a request");
    return false;
}

/* All texts were looked at; those that failed have zeros. */
static enum call_read finish(struct call_state *s)
{
    struct embed_ask *ask = &s->call->embed;
    if (s->at < ask->n)
        return READ_MORE;
    if (s->good != 0)
        return READ_DONE;
    call_fail(s, MODEL_FAILURE_REPLY, "no text could be embedded");
    return READ_FAILED;
}

static enum call_read bad(struct call_state *s, const char *what)
{
    s->bad = MODEL_FAILURE_REPLY;
    s->seen.fault.message = str_of(what);
    return READ_BAD;
}

static enum call_read keep(struct call_state *s, const struct embed_reply *reply)
{
    struct embed_ask *ask = &s->call->embed;
    if (ask->vectors == NULL) {
        ask->dimension = reply->dimension;
        ask->vectors = ARENA_ARRAY(s->call->arena, float, (size_t)ask->n * reply->dimension);
        if (ask->vectors == NULL)
            return READ_MEMORY;
    }
    if (ask->dimension != reply->dimension)
        return bad(s, "vectors of another dimension than before");
    memcpy(ask->vectors + (size_t)s->at * ask->dimension, reply->vectors,
           (size_t)s->taken * ask->dimension * sizeof(float));
    ask->failed += reply->failed;
    s->good += s->taken - reply->failed;
    s->at += s->taken;
    if (s->capped)
        s->way.batch = s->taken;
    s->capped = false;
    if (s->cap != 0)
        s->cap = s->cap < UINT32_MAX / 2 ? s->cap * 2 : s->cap;
    s->bad_run = 0;
    return finish(s);
}

static void take_usage(struct call_state *s, const struct chat_usage *told)
{
    s->usage = *told;
    for (uint32_t i = 0; !told->known && i < s->taken; i++)
        s->usage.in += model_tokens(s->embed.texts[i]);
}

static enum call_read read(struct call_state *s)
{
    struct embed_reply reply;
    struct str body = buf_str(&s->call->exchange.reply);
    if (!embed_json_read(s->call->arena, body, s->taken, s->models->embed.dimensions, &reply))
        return READ_MEMORY;
    if (reply.shape == EMBED_FAULT) {
        s->seen.fault = reply.fault;
        return READ_FAULT;
    }
    if (reply.shape == EMBED_VECTORS) {
        take_usage(s, &reply.usage);
        return keep(s, &reply);
    }
    enum call_read read = bad(s, reply.shape == EMBED_WRONG ? reply.wrong
                                 : s->seen.html             ? "an HTML page where JSON was wanted"
                                                            : "a reply without embeddings");
    if (reply.shape == EMBED_BROKEN)
        s->bad = MODEL_FAILURE_SERVER;
    return read;
}

/* The text that stands alone can't be embedded. */
static bool give_up_text(struct call_state *s, enum model_failure failure)
{
    s->bad_run++;
    uint32_t most = s->good == 0 ? BAD_RUN_FIRST : BAD_RUN;
    if (s->bad_run >= most || (s->good == 0 && s->at + 1 == s->call->embed.n))
        return false;
    s->call->embed.failed++;
    s->at++;
    if (s->at < s->call->embed.n)
        call_again(s, failure);
    else
        call_done(s);
    return true;
}

static bool shorten(struct call_state *s, enum call_shorten why, enum model_failure failure)
{
    if (s->taken == 1)
        return why == SHORTEN_TOKENS && give_up_text(s, failure);
    s->cap = s->taken / 2;
    s->capped = why == SHORTEN_ITEMS;
    call_again(s, MODEL_FAILURE_TOO_LONG);
    return true;
}

static bool sends(const struct call_state *s, enum endpoint_param param)
{
    return embed_json_sends(&s->embed, param);
}

const struct call_kind call__embed = {build, read, shorten, sends};
