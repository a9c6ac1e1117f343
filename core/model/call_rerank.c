/* Rerank calls: one query against documents, in parts where the provider takes fewer. Scores are
 * made comparable at the end, over all parts. */
#include "core/model/call_int.h"
#include "core/model/tokens.h"
#include "core/text/rune.h"
#include "core/text/utf8.h"

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* At most `most` characters. */
static struct str cut_characters(struct str text, uint32_t most)
{
    size_t at = 0;
    for (uint32_t n = 0; n < most && at < text.len; n++) {
        struct rune rune = rune_at(text, at);
        at += rune.len != 0 ? rune.len : 1;
    }
    return at < text.len ? utf8_cut(text, at) : text;
}

/* The documents that are sent: not blank, as many as the limit allows. */
static bool prepare(struct call_state *s)
{
    struct rerank_ask *ask = &s->call->rerank;
    struct arena *arena = s->call->arena;
    uint32_t limit = s->models->rerank.candidates;
    size_t n = ask->n != 0 ? ask->n : 1;
    s->documents = ARENA_ARRAY(arena, struct str, n);
    s->place = ARENA_ARRAY(arena, uint32_t, n);
    s->raw = ARENA_ARRAY(arena, float, n);
    ask->scores = ARENA_ARRAY(arena, float, n);
    if (s->documents == NULL || s->place == NULL || s->raw == NULL || ask->scores == NULL)
        return false;
    for (uint32_t i = 0; i < ask->n; i++) {
        ask->scores[i] = -1;
        if (utf8_is_blank(ask->documents[i]) || (limit != 0 && s->total >= limit))
            continue;
        s->raw[s->total] = RERANK_MISSING;
        s->place[s->total++] = i;
    }
    s->cap = s->total;
    return true;
}

static void cut_documents(struct call_state *s)
{
    uint32_t chars = s->models->rerank.chars;
    uint32_t most = chars != 0 ? chars : UINT32_MAX;
    most = most >> s->halvings != 0 ? most >> s->halvings : 1;
    for (uint32_t i = s->at; i < s->total; i++)
        s->documents[i] = cut_characters(s->call->rerank.documents[s->place[i]], most);
}

bool call_rerank_documents(struct call_state *s)
{
    if (s->documents == NULL && !prepare(s))
        return false;
    cut_documents(s);
    return true;
}

static bool build(struct call_state *s, struct buf *path, struct buf *body)
{
    if (!call_rerank_documents(s)) {
        call_fail(s, MODEL_FAILURE_MEMORY, "no memory for a request");
        return false;
    }
    if (s->at == s->total) {
        call_done(s); /* nothing to rank */
        return false;
    }
    s->taken = least(s->total - s->at, s->cap);
    if (s->way.batch != 0)
        s->taken = least(s->taken, s->way.batch);
    s->rerank = (struct rerank_request){
        .model = s->endpoint->address.model,
        .query = s->call->rerank.query,
        .documents = s->documents + s->at,
        .n = s->taken,
        .way = s->way,
        .extra = s->endpoint->address.extra_body,
    };
    (void)rerank_json_path(s->way.form, s->endpoint->address.model, path);
    if (rerank_json_write(&s->rerank, body))
        return true;
    call_fail(s, MODEL_FAILURE_MEMORY, "no memory for a request");
    return false;
}

static bool is_outside(float score)
{
    return score != RERANK_MISSING && (score < 0 || score > 1);
}

void call_rerank_keep(struct call_state *s, bool logits)
{
    float *scores = s->call->rerank.scores;
    for (uint32_t i = 0; i < s->total; i++) {
        float score = s->raw[i];
        if (score == RERANK_MISSING)
            continue;
        scores[s->place[i]] = logits ? (float)(1 / (1 + exp(-(double)score))) : score;
    }
}

/* Logits of any part make all of them logits. */
static void finish(struct call_state *s)
{
    bool logits = false;
    for (uint32_t i = 0; i < s->total; i++)
        logits = logits || is_outside(s->raw[i]);
    call_rerank_keep(s, logits);
}

static enum call_read bad(struct call_state *s, enum model_failure failure, const char *what)
{
    s->bad = failure;
    s->seen.fault.message = str_of(what);
    return READ_BAD;
}

static void take_usage(struct call_state *s, const struct chat_usage *told)
{
    s->usage = *told;
    for (uint32_t i = 0; !told->known && i < s->taken; i++)
        s->usage.in += model_tokens(s->rerank.query) + model_tokens(s->rerank.documents[i]);
}

static enum call_read read(struct call_state *s)
{
    struct rerank_reply reply;
    struct str body = buf_str(&s->call->exchange.reply);
    if (!rerank_json_read(s->call->arena, body, s->taken, s->raw + s->at, &reply))
        return READ_MEMORY;
    if (reply.shape == RERANKED_FAULT) {
        s->seen.fault = reply.fault;
        return READ_FAULT;
    }
    if (reply.shape == RERANKED_BROKEN)
        return bad(s, MODEL_FAILURE_SERVER,
                   s->seen.html ? "an HTML page where JSON was wanted" : "a reply without scores");
    if (reply.shape == RERANKED_WRONG)
        return bad(s, MODEL_FAILURE_REPLY, reply.wrong);
    take_usage(s, &reply.usage);
    s->at += s->taken;
    if (s->capped)
        s->way.batch = s->taken;
    s->capped = false;
    if (s->at < s->total)
        return READ_MORE;
    finish(s);
    return READ_DONE;
}

static bool shorten(struct call_state *s, enum call_shorten why, enum model_failure failure)
{
    if (failure == MODEL_FAILURE_REQUEST && why == SHORTEN_TOKENS)
        return false; /* a refusal without a reason: shorter documents would not help */
    if (why == SHORTEN_ITEMS && s->taken > 1) {
        s->cap = s->taken / 2;
        s->capped = true;
    } else if (why == SHORTEN_TOKENS && s->halvings < MODEL_HALVINGS) {
        s->halvings++;
    } else {
        return false;
    }
    call_again(s, MODEL_FAILURE_TOO_LONG);
    return true;
}

static bool sends(const struct call_state *s, enum endpoint_param param)
{
    return rerank_json_sends(&s->rerank, param);
}

const struct call_kind call__rerank = {build, read, shorten, sends};
