/* Calls to a model of this process: done at their first advance, on the caller's thread. What they
 * give is what a provider's reply is read to: unit vectors, cut to `dimensions`; scores 0..1. */
#include <math.h>

#include "core/model/call_int.h"

static bool is_over(void *arg)
{
    const struct call_state *s = arg;
    return atomic_load_explicit(&s->models->stopped, memory_order_relaxed) ||
           (s->call->deadline_ms != 0 && call_now_ms(s) >= s->call->deadline_ms);
}

static void fail(struct call_state *s, const struct err *err)
{
    if (err->code != ERR_UNAVAILABLE)
        call_fail(s, err->code == ERR_EXHAUSTED ? MODEL_FAILURE_MEMORY : MODEL_FAILURE_REPLY, "%s",
                  err->message);
    else if (atomic_load_explicit(&s->models->stopped, memory_order_relaxed))
        call_fail(s, MODEL_FAILURE_STOPPED, "the daemon stops");
    else
        call_fail(s, MODEL_FAILURE_DEADLINE, "the call's time is over");
}

/* --- embed --- */

/* The first `keep` of each vector, as unit vectors again; rows move together. */
static void cut_vectors(float *vectors, uint32_t n, uint32_t dimension, uint32_t keep)
{
    for (uint32_t i = 0; i < n; i++) {
        const float *from = vectors + (size_t)i * dimension;
        float *to = vectors + (size_t)i * keep;
        double sum = 0;
        for (uint32_t k = 0; k < keep; k++)
            sum += (double)from[k] * (double)from[k];
        double scale = sum > 0 ? 1 / sqrt(sum) : 0;
        for (uint32_t k = 0; k < keep; k++)
            to[k] = (float)((double)from[k] * scale);
    }
}

static enum err_code embed(struct call_state *s, struct err *err)
{
    const struct embed_limits *limits = &s->models->embed;
    const struct encoder *encoder = s->endpoint->address.encoder;
    uint32_t dimension = encoder_about(encoder)->dimension;
    struct embed_ask *ask = &s->call->embed;
    struct encoder_texts texts = {
        .texts = ask->texts,
        .n = ask->n,
        .prefix = ask->is_query ? limits->query_prefix : limits->document_prefix,
        .stop = is_over,
        .arg = s,
        .vectors = ARENA_ARRAY(s->call->arena, float, (size_t)ask->n *dimension),
    };
    if (texts.vectors == NULL)
        return err_set(err, ERR_EXHAUSTED, "no memory for vectors");
    enum err_code code = encoder_embed(encoder, &texts, err);
    if (code != ERR_OK)
        return code;
    s->usage = (struct chat_usage){.known = true, .in = texts.tokens};
    ask->vectors = texts.vectors;
    ask->failed = texts.failed;
    ask->dimension = limits->dimensions != 0 ? limits->dimensions : dimension;
    if (ask->dimension != dimension)
        cut_vectors(ask->vectors, ask->n, dimension, ask->dimension);
    return ERR_OK;
}

/* --- rerank --- */

static enum err_code rerank(struct call_state *s, struct err *err)
{
    if (!call_rerank_documents(s))
        return err_set(err, ERR_EXHAUSTED, "no memory for scores");
    if (s->total == 0)
        return ERR_OK;
    struct encoder_pairs pairs = {.query = s->call->rerank.query,
                                  .documents = s->documents,
                                  .n = s->total,
                                  .stop = is_over,
                                  .arg = s,
                                  .logits = s->raw};
    enum err_code code = encoder_score(s->endpoint->address.encoder, &pairs, err);
    if (code != ERR_OK)
        return code;
    s->usage = (struct chat_usage){.known = true, .in = pairs.tokens};
    call_rerank_keep(s, true);
    return ERR_OK;
}

void call_builtin(struct call_state *s)
{
    struct err err = {.code = ERR_OK};
    int64_t start_ns = clock_mono_ns(s->models->clock);
    enum err_code code = s->kind == &call__embed ? embed(s, &err) : rerank(s, &err);
    if (code == ERR_OK)
        call_done(s);
    else
        fail(s, &err);
    call_count(s, code == ERR_OK, clock_mono_ns(s->models->clock) - start_ns);
}
