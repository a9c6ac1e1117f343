#include "core/model/call.h"

#include <stdarg.h>
#include <stdio.h>

#include "core/model/call_int.h"
#include "core/model/retry.h"

enum { PATH_BYTES = 4096, KEY_SHOWN = 4 };

static const char *const failure_slugs[MODEL_FAILURES] = {
#define X(name, slug) [MODEL_FAILURE_##name] = slug,
    MODEL_FAILURE_TABLE(X)
#undef X
};

static const enum err_code failure_codes[MODEL_FAILURES] = {
    [MODEL_FAILURE_NONE] = ERR_OK,
    [MODEL_FAILURE_CONNECT] = ERR_UNAVAILABLE,
    [MODEL_FAILURE_AUTH] = ERR_UPSTREAM,
    [MODEL_FAILURE_RATE] = ERR_UNAVAILABLE,
    [MODEL_FAILURE_QUOTA] = ERR_UNAVAILABLE,
    [MODEL_FAILURE_SERVER] = ERR_UPSTREAM,
    [MODEL_FAILURE_REQUEST] = ERR_UPSTREAM,
    [MODEL_FAILURE_TOO_LONG] = ERR_UPSTREAM,
    [MODEL_FAILURE_REPLY] = ERR_UPSTREAM,
    [MODEL_FAILURE_BREAKER] = ERR_UNAVAILABLE,
    [MODEL_FAILURE_STOPPED] = ERR_UNAVAILABLE,
    [MODEL_FAILURE_DEADLINE] = ERR_DEADLINE,
    [MODEL_FAILURE_MEMORY] = ERR_EXHAUSTED,
};

static const struct call_kind *const kinds[MODEL_KINDS] = {
    [MODEL_CHAT] = &call__chat,
    [MODEL_EMBED] = &call__embed,
    [MODEL_RERANK] = &call__rerank,
};

/* Counters of a purpose. */
static const struct {
    enum metric_counter ok, error, in, out;
    enum metric_histogram time;
} meters[MODEL_PURPOSES] = {
#define X(name, slug, kind)                                                                        \
    [PURPOSE_##name] = {METRIC_LLM_OK_##name, METRIC_LLM_ERROR_##name, METRIC_LLM_IN_##name,       \
                        METRIC_LLM_OUT_##name, METRIC_H_LLM_##name},
    MODEL_PURPOSE_TABLE(X)
#undef X
};

static const enum metric_counter retry_meters[MODEL_FAILURES] = {
    [MODEL_FAILURE_CONNECT] = METRIC_LLM_RETRY_CONNECT,
    [MODEL_FAILURE_RATE] = METRIC_LLM_RETRY_RATE,
    [MODEL_FAILURE_SERVER] = METRIC_LLM_RETRY_SERVER,
    [MODEL_FAILURE_REQUEST] = METRIC_LLM_RETRY_MENDED,
    [MODEL_FAILURE_TOO_LONG] = METRIC_LLM_RETRY_TOO_LONG,
    [MODEL_FAILURE_REPLY] = METRIC_LLM_RETRY_REPLY,
};

const char *model_failure_slug(enum model_failure failure)
{
    return failure_slugs[failure];
}

void model_call_init(struct model_call *call, enum model_purpose purpose, struct arena *arena)
{
    memset(call, 0, sizeof *call);
    call->purpose = purpose;
    call->arena = arena;
}

int64_t call_now_ms(const struct call_state *s)
{
    return clock_mono_ms(s->models->clock);
}

/* --- verdicts --- */

/* Providers repeat a wrong key in their errors; ours are logged. */
static void hide_key(struct err *err, struct str key)
{
    char *at = err->message;
    if (key.len < 8)
        return;
    while ((at = memmem(at, strlen(at), key.at, key.len)) != NULL)
        memset(at, '*', key.len);
    /* or the part of it that a cut has left */
    size_t len = strlen(err->message);
    for (size_t n = len < key.len ? len : key.len; n >= KEY_SHOWN; n--) {
        if (memcmp(err->message + len - n, key.at, n) == 0)
            memset(err->message + len - n, '*', n);
    }
}

void call_fail(struct call_state *s, enum model_failure failure, const char *fmt, ...)
{
    struct model_call *call = s->call;
    char what[sizeof call->err.message];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(what, sizeof what, fmt, args);
    va_end(args);
    call->failure = failure;
    call->outcome = err_set(&call->err, failure_codes[failure], "%.*s: %s",
                            STR_FMT(str_part(s->endpoint->shown, 0, 80)), what);
    call->err.retry_after_s = (unsigned)((call->retry_after_ms + 999) / 1000);
    hide_key(&call->err, s->endpoint->address.api_key);
    s->verdict = CALL_OVER;
}

void call_fail_seen(struct call_state *s, enum model_failure failure)
{
    struct str said = s->seen.fault.message;
    if (said.len == 0 && s->seen.html)
        said = STR("an HTML page");
    if (s->seen.status >= 300 && s->seen.status <= 399)
        said = STR("a redirect, which is not followed; give the address it leads to");
    if (s->seen.status == 0)
        call_fail(s, failure, "%.*s", STR_FMT(said));
    else
        call_fail(s, failure, "status %d%s%.*s", s->seen.status, said.len != 0 ? ": " : "",
                  STR_FMT(said));
}

void call_done(struct call_state *s)
{
    s->call->outcome = ERR_OK;
    s->call->failure = MODEL_FAILURE_NONE;
    s->call->retry_after_ms = 0;
    s->verdict = CALL_OVER;
}

static void count_retry(struct call_state *s, enum model_failure reason)
{
    metrics_add(s->models->metrics, retry_meters[reason], 1);
}

void call_again(struct call_state *s, enum model_failure reason)
{
    count_retry(s, reason);
    s->verdict = CALL_AGAIN;
}

static uint64_t draw(struct models *models)
{
    uint64_t n = atomic_fetch_add_explicit(&models->draws, 1, memory_order_relaxed);
    return retry_random(models->seed, n);
}

void call_retry(struct call_state *s, enum model_failure failure)
{
    struct model_call *call = s->call;
    int64_t after = s->seen.retry_after_ms;
    s->failures++;
    call->retry_after_ms = after > 0 ? after : 0;
    if (s->failures >= s->models->address[call->purpose].attempts || after > RETRY_AFTER_MAX_MS) {
        call_fail_seen(s, failure);
        return;
    }
    call->resume_ms = call_now_ms(s) + retry_wait_ms(draw(s->models), s->failures, after);
    if (call->deadline_ms != 0 && call->resume_ms >= call->deadline_ms) {
        call_fail_seen(s, MODEL_FAILURE_DEADLINE);
        return;
    }
    count_retry(s, failure);
    s->verdict = CALL_LATER;
}

/* --- an exchange --- */

static bool is_admitted(struct call_state *s)
{
    struct model_call *call = s->call;
    int64_t now = call_now_ms(s);
    int64_t left = 0;
    if (call->deadline_ms != 0 && now >= call->deadline_ms) {
        call_fail(s, MODEL_FAILURE_DEADLINE, "the call's time is over");
        return false;
    }
    enum admission answer = endpoint_admit(s->endpoint, now, &left);
    if (answer == ADMITTED)
        return true;
    call->retry_after_ms = left;
    if (answer == REFUSED_QUOTA)
        call_fail(s, MODEL_FAILURE_QUOTA, "its quota is exhausted; tried again in %lld s",
                  (long long)((left + 999) / 1000));
    else
        call_fail(s, MODEL_FAILURE_BREAKER, "it could not be reached; tried again in %lld s",
                  (long long)((left + 999) / 1000));
    return false;
}

/* What others have learned meanwhile, and what this call is trying. */
static void merge_way(struct call_state *s)
{
    struct endpoint_way known = endpoint_way(s->endpoint);
    struct endpoint_way *own = &s->way;
    if (known.rung >= own->rung) {
        own->rung = known.rung;
        own->proven = known.proven;
    }
    own->dropped |= known.dropped;
    own->version = own->version || known.version;
    if (known.batch != 0 && (own->batch == 0 || known.batch < own->batch))
        own->batch = known.batch;
    if (known.form != RERANK_PROBE) {
        own->form = known.form;
        s->probing = false;
    } else if (s->kind == &call__rerank && own->form == RERANK_PROBE) {
        own->form = RERANK_COHERE;
        s->probing = true;
    }
}

static int64_t least_limit(int64_t limit, int64_t left)
{
    return limit == 0 || left < limit ? left : limit;
}

static void set_limits(struct call_state *s)
{
    struct exchange *x = &s->call->exchange;
    const struct model_address *address = &s->models->address[s->call->purpose];
    x->connect_ms = address->connect_ms;
    x->total_ms = address->total_ms;
    x->idle_ms = x->data != NULL ? address->idle_ms : 0;
    if (s->call->deadline_ms != 0)
        x->total_ms = least_limit(x->total_ms, s->call->deadline_ms - call_now_ms(s));
}

/* done and arg are whoever runs the call. */
static void set_exchange(struct call_state *s, struct str url, struct str body)
{
    struct model_call *call = s->call;
    struct exchange *x = &call->exchange;
    exchange_done_fn *done = x->done;
    void *arg = x->arg;
    exchange_data_fn *data = x->data;
    *x = (struct exchange){
        .endpoint = s->endpoint->index,
        .method = "POST",
        .url = url.at,
        .headers = s->endpoint->headers,
        .n_headers = s->endpoint->n_headers,
        .body = body,
        .reply_max = MODEL_BODY_MAX,
        .arena = call->arena,
        .data = data,
        .done = done,
        .arg = arg,
        .retry_after_ms = -1,
    };
    buf_init(&x->reply, call->arena, MODEL_BODY_MAX);
    set_limits(s);
}

static void build(struct call_state *s)
{
    struct arena *arena = s->call->arena;
    struct buf path;
    struct buf body;
    struct buf url;
    buf_init(&path, arena, PATH_BYTES);
    buf_init(&body, arena, MODEL_BODY_MAX);
    buf_init(&url, arena, PATH_BYTES * 4);
    s->call->exchange.data = NULL;
    if (!s->kind->build(s, &path, &body))
        return;
    url_join(&s->endpoint->url, s->way.version ? STR("v1") : STR(""), buf_str(&path), &url);
    buf_char(&url, '\0');
    if (!buf_ok(&path) || !buf_ok(&body) || !buf_ok(&url)) {
        call_fail(s, MODEL_FAILURE_MEMORY, "no memory for a request");
        return;
    }
    s->usage = (struct chat_usage){.known = false};
    set_exchange(s, buf_str(&url), buf_str(&body));
}

void call_count(struct call_state *s, bool fine, int64_t took_ns)
{
    enum model_purpose purpose = s->call->purpose;
    struct metrics *metrics = s->models->metrics;
    metrics_add(metrics, fine ? meters[purpose].ok : meters[purpose].error, 1);
    metrics_add(metrics, meters[purpose].in, s->usage.in);
    metrics_add(metrics, meters[purpose].out, s->usage.out);
    metrics_observe(metrics, meters[purpose].time, took_ns);
}

/* Counts, and one debug line; no body, no key. */
static void meter(struct call_state *s)
{
    struct model_call *call = s->call;
    const struct exchange *x = &call->exchange;
    bool fine = s->understood;
    call_count(s, fine, x->took_ms * 1000000);
    call->usage.calls += x->code == ERR_OK || x->sent;
    call->usage.tokens_in += s->usage.in;
    call->usage.tokens_out += s->usage.out;
    call->usage.estimated = call->usage.estimated || (s->usage.in != 0 && !s->usage.known);
    if (s->models->log != NULL)
        LOG(s->models->log, LOG_DEBUG, "model_exchange",
            F_CSTR("purpose", model_purpose_slug(call->purpose)),
            F_STR("endpoint", s->endpoint->shown), F_INT("status", x->status),
            F_INT("ms", x->took_ms), F_INT("queued_ms", x->queued_ms),
            F_INT("tokens_in", s->usage.in), F_INT("tokens_out", s->usage.out),
            F_CSTR("failure", fine ? "" : failure_slugs[call->failure]));
}

static enum model_next begin(struct models *models, struct model_call *call)
{
    struct endpoint *endpoint = models->endpoint[call->purpose];
    ASSERT(endpoint != NULL); /* models_has() was asked */
    struct call_state *s = ARENA_NEW(call->arena, struct call_state);
    if (s == NULL) {
        call->failure = MODEL_FAILURE_MEMORY;
        call->outcome = err_set(&call->err, ERR_EXHAUSTED, "no memory for a model call");
        return MODEL_DONE;
    }
    call->state = s;
    s->models = models;
    s->call = call;
    s->endpoint = endpoint;
    s->kind = kinds[model_purpose_kind(call->purpose)];
    if (s->kind == &call__rerank && call->deadline_ms == 0 && models->rerank.deadline_ms != 0)
        call->deadline_ms = call_now_ms(s) + models->rerank.deadline_ms;
    return MODEL_EXCHANGE;
}

void model_call_give_up(struct model_call *call)
{
    call->state->sent = false;
    call_fail(call->state, MODEL_FAILURE_MEMORY, "no memory for a request");
}

enum model_next model_call_advance(struct models *models, struct model_call *call)
{
    if (call->state == NULL && begin(models, call) == MODEL_DONE)
        return MODEL_DONE;
    struct call_state *s = call->state;
    if (s->verdict == CALL_OVER) /* given up */
        return MODEL_DONE;
    if (atomic_load_explicit(&models->stopped, memory_order_relaxed)) {
        call_fail(s, MODEL_FAILURE_STOPPED, "the daemon stops");
        return MODEL_DONE;
    }
    if (s->sent) {
        s->sent = false;
        call_judge(s);
        meter(s);
        if (s->verdict == CALL_OVER)
            return MODEL_DONE;
        if (s->verdict == CALL_LATER)
            return MODEL_WAIT;
    }
    if (s->endpoint->address.encoder != NULL) {
        call_builtin(s);
        return MODEL_DONE;
    }
    s->verdict = CALL_PENDING;
    if (is_admitted(s)) {
        merge_way(s);
        build(s);
    }
    if (s->verdict == CALL_OVER)
        return MODEL_DONE;
    s->sent = true;
    return MODEL_EXCHANGE;
}
