/* What a reply means: one table of (status, words) -> what to do. Rows are tried in order; one that
 * can do nothing (the parameter was dropped already, the list can't be halved) passes on. */
#include <ctype.h>

#include "core/model/call_int.h"
#include "core/model/retry.h"

typedef bool judge_fn(struct call_state *s, enum model_failure failure);
typedef const char *const words_list[];

/* --- words, in lower case; an error speaks of something when one of them is in it --- */

static words_list quota_words = {"insufficient_quota",
                                 "insufficient_user_quota",
                                 "exceeded your current quota",
                                 "billing_hard_limit_reached",
                                 "billing_not_active",
                                 "credit balance",
                                 "insufficient balance",
                                 "insufficient_balance",
                                 "balance is insufficient",
                                 "insufficient credits",
                                 "out of credits",
                                 "not enough credits",
                                 "payment required",
                                 "quota exhausted",
                                 "arrearage",
                                 NULL};
static words_list long_words = {"context length",
                                "context_length_exceeded",
                                "context size",
                                "context window",
                                "context limit",
                                "exceed_context_size_error",
                                "maximum context",
                                "max_model_len",
                                "max_position_embeddings",
                                "maximum input length",
                                "maximum sequence length",
                                "input length",
                                "input is too long",
                                "input too long",
                                "prompt is too long",
                                "prompt too long",
                                "text is too long",
                                "string too long",
                                "string_above_max_length",
                                "too many tokens",
                                "too many input tokens",
                                "too large to process",
                                "must have less than",
                                "token limit",
                                "tokens exceed",
                                "maximum number of tokens",
                                "reduce the length",
                                "physical batch size",
                                NULL};
static words_list many_words = {"batch size",
                                "batch_size",
                                "per request",
                                "in one batch",
                                "array too long",
                                "array_above_max_length",
                                "too many inputs",
                                "too many documents",
                                "too many texts",
                                "number of inputs",
                                "number of documents",
                                "at most",
                                NULL};
static words_list format_words = {"response_format",
                                  "response format",
                                  "json_schema",
                                  "json schema",
                                  "json_object",
                                  "json mode",
                                  "structured output",
                                  "structured_output",
                                  "guided_json",
                                  "guided decoding",
                                  "grammar",
                                  "additionalproperties",
                                  "invalid schema",
                                  "invalid_schema",
                                  "unsupported schema",
                                  NULL};
static words_list generation_words = {"json_validate_failed", "failed_generation", NULL};
static words_list model_words = {"model not found",
                                 "model_not_found",
                                 "no such model",
                                 "model does not exist",
                                 "unknown model",
                                 "try pulling it",
                                 NULL};

static bool is_word_character(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static bool has_word(struct str text, const char *word)
{
    size_t len = strlen(word);
    for (size_t i = 0; i + len <= text.len; i++) {
        const char *at = memmem(text.at + i, text.len - i, word, len);
        if (at == NULL)
            return false;
        i = (size_t)(at - text.at);
        bool before = i > 0 && is_word_character(text.at[i - 1]);
        bool behind = i + len < text.len && is_word_character(text.at[i + len]);
        if (!before && !behind)
            return true;
    }
    return false;
}

static bool has_any(struct str text, const char *const *words)
{
    for (; *words != NULL; words++) {
        if (has_word(text, *words))
            return true;
    }
    return false;
}

/* "The model `x` does not exist" */
static bool speaks_of_model(struct str text)
{
    return has_any(text, model_words) ||
           (has_word(text, "model") &&
            (has_word(text, "not found") || has_word(text, "does not exist")));
}

/* --- what to do --- */

static bool act_fail(struct call_state *s, enum model_failure failure)
{
    call_fail_seen(s, failure);
    return true;
}

static bool act_retry(struct call_state *s, enum model_failure failure)
{
    call_retry(s, failure);
    return true;
}

/* A 2xx that was not understood. */
static bool act_unread(struct call_state *s, enum model_failure failure)
{
    (void)failure;
    call_retry(s, s->bad);
    return true;
}

static void pause_endpoint(struct call_state *s, enum model_failure failure)
{
    int64_t pause = s->seen.retry_after_ms > 0 ? s->seen.retry_after_ms : QUOTA_PAUSE_MS;
    pause = pause < QUOTA_PAUSE_MAX_MS ? pause : QUOTA_PAUSE_MAX_MS;
    endpoint_pause(s->endpoint, call_now_ms(s), pause);
    s->call->retry_after_ms = pause;
    call_fail_seen(s, failure);
}

/* Some say "quota" of a limit a minute: who tells a short time to wait means a burst. */
static bool act_quota(struct call_state *s, enum model_failure failure)
{
    int64_t after = s->seen.retry_after_ms;
    if (after >= 0 && after < RETRY_AFTER_MAX_MS)
        return false;
    pause_endpoint(s, failure);
    return true;
}

static bool act_rate(struct call_state *s, enum model_failure failure)
{
    if (s->seen.retry_after_ms >= RETRY_AFTER_MAX_MS)
        pause_endpoint(s, MODEL_FAILURE_QUOTA);
    else
        call_retry(s, failure);
    return true;
}

static bool act_shorten(struct call_state *s, enum model_failure failure)
{
    bool decided = s->kind->shorten(s, SHORTEN_TOKENS, failure);
    if (!decided && failure == MODEL_FAILURE_TOO_LONG)
        return act_fail(s, failure);
    return decided;
}

static bool act_fewer(struct call_state *s, enum model_failure failure)
{
    return s->kind->shorten(s, SHORTEN_ITEMS, failure);
}

static bool lower_rung(struct call_state *s)
{
    bool structured =
        model_purpose_kind(s->call->purpose) == MODEL_CHAT && s->call->chat.prompt->schema != NULL;
    if (!structured || s->way.rung == RUNG_PLAIN)
        return false;
    s->way.rung++;
    s->way.proven = false;
    call_again(s, MODEL_FAILURE_REQUEST);
    return true;
}

static bool act_lower(struct call_state *s, enum model_failure failure)
{
    (void)failure;
    return lower_rung(s);
}

/* A refusal without a reason, on a rung that has never worked here. */
static bool act_lower_unproven(struct call_state *s, enum model_failure failure)
{
    (void)failure;
    return !s->way.proven && lower_rung(s);
}

static bool act_param(struct call_state *s, enum model_failure failure)
{
    (void)failure;
    for (unsigned i = 0; i < ENDPOINT_PARAMS; i++) {
        enum endpoint_param param = (enum endpoint_param)i;
        if (s->kind->sends(s, param) && has_word(s->seen.fault.words, endpoint_param_name(param))) {
            s->way.dropped |= 1U << i;
            call_again(s, MODEL_FAILURE_REQUEST);
            return true;
        }
    }
    return false;
}

static bool act_model(struct call_state *s, enum model_failure failure)
{
    return speaks_of_model(s->seen.fault.words) && act_fail(s, failure);
}

static bool act_version(struct call_state *s, enum model_failure failure)
{
    (void)failure;
    if (s->way.version || url_has_version(&s->endpoint->url))
        return false;
    s->way.version = true;
    call_again(s, MODEL_FAILURE_REQUEST);
    return true;
}

/* A page where JSON is wanted: the address of a web interface. */
static bool act_version_of_page(struct call_state *s, enum model_failure failure)
{
    return s->seen.html && act_version(s, failure);
}

static bool act_form(struct call_state *s, enum model_failure failure)
{
    (void)failure;
    if (!s->probing || s->way.form + 1 >= RERANK_FORMATS)
        return false;
    s->way.form++;
    call_again(s, MODEL_FAILURE_REQUEST);
    return true;
}

/* --- the table --- */

static const struct rule {
    int from, to;             /* status */
    const char *const *words; /* NULL: whatever it says */
    judge_fn *act;
    enum model_failure failure;
} rules[] = {
    {402, 402, NULL, act_quota, MODEL_FAILURE_QUOTA},
    {400, 403, quota_words, act_quota, MODEL_FAILURE_QUOTA},
    {429, 429, quota_words, act_quota, MODEL_FAILURE_QUOTA},
    {402, 402, NULL, act_rate, MODEL_FAILURE_RATE},
    {429, 429, NULL, act_rate, MODEL_FAILURE_RATE},
    {401, 401, NULL, act_fail, MODEL_FAILURE_AUTH},
    {403, 403, NULL, act_fail, MODEL_FAILURE_AUTH},
    {408, 408, NULL, act_retry, MODEL_FAILURE_CONNECT},
    {425, 425, NULL, act_retry, MODEL_FAILURE_CONNECT},
    {424, 424, NULL, act_retry, MODEL_FAILURE_SERVER},
    {400, 400, generation_words, act_retry, MODEL_FAILURE_REPLY},
    {400, 500, long_words, act_shorten, MODEL_FAILURE_TOO_LONG},
    {400, 500, many_words, act_fewer, MODEL_FAILURE_REQUEST},
    {413, 413, NULL, act_fewer, MODEL_FAILURE_TOO_LONG},
    {413, 413, NULL, act_shorten, MODEL_FAILURE_TOO_LONG},
    {400, 500, format_words, act_lower, MODEL_FAILURE_REQUEST},
    {400, 400, NULL, act_param, MODEL_FAILURE_REQUEST},
    {422, 422, NULL, act_param, MODEL_FAILURE_REQUEST},
    {400, 422, NULL, act_model, MODEL_FAILURE_REQUEST},
    {404, 405, NULL, act_version, MODEL_FAILURE_REQUEST},
    {400, 400, NULL, act_form, MODEL_FAILURE_REQUEST},
    {404, 405, NULL, act_form, MODEL_FAILURE_REQUEST},
    {415, 415, NULL, act_form, MODEL_FAILURE_REQUEST},
    {422, 422, NULL, act_form, MODEL_FAILURE_REQUEST},
    {400, 400, NULL, act_lower_unproven, MODEL_FAILURE_REQUEST},
    {422, 422, NULL, act_lower_unproven, MODEL_FAILURE_REQUEST},
    {400, 400, NULL, act_shorten, MODEL_FAILURE_REQUEST},
    {422, 422, NULL, act_shorten, MODEL_FAILURE_REQUEST},
    {501, 501, NULL, act_fail, MODEL_FAILURE_REQUEST},
    {500, 599, NULL, act_retry, MODEL_FAILURE_SERVER},
    {200, 299, NULL, act_version_of_page, MODEL_FAILURE_SERVER},
    {200, 299, NULL, act_form, MODEL_FAILURE_REPLY},
    {200, 299, NULL, act_unread, MODEL_FAILURE_NONE},
    {0, 999, NULL, act_fail, MODEL_FAILURE_REQUEST},
};

static void judge_seen(struct call_state *s)
{
    for (size_t i = 0; s->verdict == CALL_PENDING && i < sizeof rules / sizeof rules[0]; i++) {
        const struct rule *rule = &rules[i];
        bool fits = s->seen.status >= rule->from && s->seen.status <= rule->to &&
                    (rule->words == NULL || has_any(s->seen.fault.words, rule->words));
        if (fits && rule->act(s, rule->failure))
            break;
    }
    ASSERT(s->verdict != CALL_PENDING); /* the last row takes everything */
}

/* --- what was seen --- */

static bool is_html(const struct exchange *x)
{
    struct str body = str_trim(buf_str(&x->reply));
    return strcmp(x->content_type, "text/html") == 0 || (body.len != 0 && body.at[0] == '<');
}

/* A time that stands only in the error's text counts like the header. */
static void see_told_time(struct call_state *s)
{
    if (s->seen.retry_after_ms < 0)
        s->seen.retry_after_ms = retry_told_ms(s->seen.fault.words);
}

static void judge_refusal(struct call_state *s)
{
    struct exchange *x = &s->call->exchange;
    if (!base_json_fault(s->call->arena, buf_str(&x->reply), &s->seen.fault)) {
        call_fail(s, MODEL_FAILURE_MEMORY, "no memory for a reply");
        return;
    }
    see_told_time(s);
    judge_seen(s);
}

/* An error with a status of 2xx: its own number, or what it most likely would have been. */
static void judge_fault_inside(struct call_state *s)
{
    struct str words = s->seen.fault.words;
    int status = s->seen.fault.status;
    if (status == 0 && (has_any(words, quota_words) || has_word(words, "rate_limit_exceeded") ||
                        has_word(words, "rate limit") || has_word(words, "too many requests")))
        status = 429;
    if (status == 0 && (has_word(words, "invalid_request_error") || has_any(words, long_words) ||
                        has_any(words, format_words)))
        status = 400;
    s->seen.status = status != 0 ? status : 502;
    see_told_time(s);
    judge_seen(s);
}

static void judge_body(struct call_state *s)
{
    s->bad = MODEL_FAILURE_SERVER;
    enum call_read read = s->kind->read(s);
    s->understood = read == READ_DONE || read == READ_MORE || read == READ_WRONG;
    if (s->understood)
        endpoint_learn(s->endpoint, &s->way);
    switch (read) {
    case READ_DONE: call_done(s); break;
    case READ_MORE: s->verdict = CALL_AGAIN; break;
    case READ_WRONG:
    case READ_FAILED: ASSERT(s->verdict != CALL_PENDING); break;
    case READ_FAULT: judge_fault_inside(s); break;
    case READ_BAD: judge_seen(s); break;
    case READ_MEMORY: call_fail(s, MODEL_FAILURE_MEMORY, "no memory for a reply"); break;
    }
}

/* --- no reply --- */

/* Nobody listens, or pieces were given that can't be taken back. */
static bool judge_stream(struct call_state *s)
{
    const struct chat_stream *stream = &s->stream;
    struct model_call *call = s->call;
    if (model_purpose_kind(call->purpose) != MODEL_CHAT || call->chat.piece == NULL)
        return false;
    call->chat.text = buf_str(&stream->text);
    call->chat.cut = true;
    if (stream->deaf) {
        call_fail(s, MODEL_FAILURE_STOPPED, "nobody listens to the answer any more");
    } else if (stream->no_memory) {
        call_fail(s, MODEL_FAILURE_MEMORY, "no memory for a reply");
    } else if (stream->text.len != 0) {
        call_fail(s, MODEL_FAILURE_CONNECT, "the answer broke off: %s", call->exchange.err.message);
    } else if (stream->faulty) {
        s->seen.fault = stream->fault;
        judge_fault_inside(s);
    }
    return s->verdict != CALL_PENDING;
}

static void judge_broken(struct call_state *s)
{
    const struct exchange *x = &s->call->exchange;
    int64_t now = call_now_ms(s);
    if (x->cancelled) {
        call_fail(s, MODEL_FAILURE_STOPPED, "cancelled");
        return;
    }
    if (judge_stream(s))
        return;
    if (x->code == ERR_TOO_LARGE) {
        call_fail(s, MODEL_FAILURE_SERVER, "a reply of more than %zu bytes", x->reply_max);
        return;
    }
    if (x->code == ERR_EXHAUSTED) {
        call_fail(s, MODEL_FAILURE_MEMORY, "no memory for a reply");
        return;
    }
    if (s->call->deadline_ms != 0 && now >= s->call->deadline_ms) {
        call_fail(s, MODEL_FAILURE_DEADLINE, "no reply in time");
        return;
    }
    endpoint_unreached(s->endpoint, now);
    s->seen.fault.message = str_of(x->err.message);
    call_retry(s, MODEL_FAILURE_CONNECT);
}

/* A gateway that can't reach what is behind it says so with these. */
static bool is_down(int status)
{
    return status >= 502 && status <= 504;
}

void call_judge(struct call_state *s)
{
    const struct exchange *x = &s->call->exchange;
    s->verdict = CALL_PENDING;
    s->understood = false;
    s->seen = (struct call_seen){.status = x->status,
                                 .fault = {.words = STR(""), .message = STR("")},
                                 .retry_after_ms = x->retry_after_ms};
    if (x->code != ERR_OK) {
        s->seen.status = 0;
        judge_broken(s);
        return;
    }
    s->seen.html = is_html(x);
    if (is_down(x->status))
        endpoint_unreached(s->endpoint, call_now_ms(s));
    else
        endpoint_reached(s->endpoint);
    if (x->status >= 200 && x->status <= 299)
        judge_body(s);
    else
        judge_refusal(s);
}
