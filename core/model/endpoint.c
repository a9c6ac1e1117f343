#include "core/model/endpoint.h"

#include <ctype.h>
#include <stdio.h>
#include <strings.h>

#include "core/model/base_json.h"
#include "core/model/call.h"
#include "core/model/retry.h"

static const char *const rung_slugs[RUNGS] = {
    [RUNG_STRICT] = "json_schema strict",
    [RUNG_SCHEMA] = "json_schema",
    [RUNG_OBJECT] = "json_object",
    [RUNG_PLAIN] = "plain",
};

static const char *const param_names[ENDPOINT_PARAMS] = {
#define X(symbol, name) [PARAM_##symbol] = name,
    ENDPOINT_PARAM_TABLE(X)
#undef X
};

const char *endpoint_rung_slug(enum chat_rung rung)
{
    return rung_slugs[rung];
}

const char *endpoint_param_name(enum endpoint_param param)
{
    return param_names[param];
}

/* --- the constant part --- */

static bool is_header_name(struct str name)
{
    for (size_t i = 0; i < name.len; i++) {
        unsigned char c = (unsigned char)name.at[i];
        if (!isalnum(c) && strchr("!#$%&'*+-.^_`|~", c) == NULL)
            return false;
    }
    return name.len != 0;
}

static bool is_header_value(struct str value)
{
    for (size_t i = 0; i < value.len; i++) {
        unsigned char c = (unsigned char)value.at[i];
        if ((c < 0x20 && c != '\t') || c == 0x7f)
            return false;
    }
    return true;
}

static bool is_authorization(struct str name)
{
    return name.len == 13 && strncasecmp(name.at, "authorization", 13) == 0;
}

static enum err_code add_key(struct endpoint *e, struct arena *arena, struct err *err)
{
    struct str key = e->address.api_key;
    if (!is_header_value(key))
        return err_set_param(err, ERR_INVALID, "api_key", "api_key: a control character in it");
    if (key.len == 0)
        return ERR_OK;
    struct str value = str_printf(arena, "Bearer %.*s", STR_FMT(key));
    if (value.at == NULL)
        return err_set(err, ERR_EXHAUSTED, "out of memory");
    e->headers[e->n_headers++] = (struct exchange_header){STR("Authorization"), value};
    return ERR_OK;
}

/* "Name: value" */
static enum err_code add_header(struct endpoint *e, struct str line, struct err *err)
{
    size_t colon = str_index(line, ':');
    struct str name = str_trim(str_part(line, 0, colon));
    struct str value = str_trim(str_part(line, colon + 1, line.len));
    if (colon == line.len || !is_header_name(name) || !is_header_value(value))
        return err_set_param(err, ERR_INVALID, "extra_headers",
                             "extra_headers: want \"Name: value\" without control characters");
    /* One of our own instead of the key's, which stands first. */
    bool replaces = is_authorization(name) && e->address.api_key.len != 0;
    e->headers[replaces ? 0 : e->n_headers++] = (struct exchange_header){name, value};
    return ERR_OK;
}

static enum err_code add_headers(struct endpoint *e, struct arena *arena, struct err *err)
{
    struct str rest = e->address.extra_headers;
    size_t lines = 2;
    for (size_t i = 0; i < rest.len; i++)
        lines += rest.at[i] == '\n';
    e->headers = ARENA_ARRAY(arena, struct exchange_header, lines);
    if (e->headers == NULL)
        return err_set(err, ERR_EXHAUSTED, "out of memory");
    enum err_code code = add_key(e, arena, err);
    while (code == ERR_OK && rest.len != 0) {
        size_t end = str_index(rest, '\n');
        struct str line = str_trim(str_part(rest, 0, end));
        rest = str_part(rest, end + 1, rest.len);
        if (line.len != 0)
            code = add_header(e, line, err);
    }
    return code;
}

static enum err_code init_lock(struct endpoint *e, struct err *err)
{
    if (pthread_mutex_init(&e->lock, NULL) != 0)
        return err_set(err, ERR_EXHAUSTED, "no lock for an endpoint");
    return ERR_OK;
}

enum err_code endpoint_init(struct endpoint *e, struct arena *arena,
                            const struct model_address *address, const struct log *log,
                            struct err *err)
{
    const char *why = NULL;
    e->address = *address;
    e->log = log;
    if (address->encoder != NULL) {
        e->shown = address->model;
        return init_lock(e, err);
    }
    if (!url_parse(address->base_url, &e->url, &why))
        return err_set_param(err, ERR_INVALID, "base_url", "base_url: %s", why);
    if (address->extra_body.len != 0 && !base_json_is_object(address->extra_body))
        return err_set_param(err, ERR_INVALID, "extra_body", "extra_body: want a JSON object");
    e->shown = str_printf(arena, "%.*s%.*s", STR_FMT(e->url.origin), STR_FMT(e->url.path));
    if (e->shown.at == NULL)
        return err_set(err, ERR_EXHAUSTED, "out of memory");
    enum err_code code = add_headers(e, arena, err);
    return code == ERR_OK ? init_lock(e, err) : code;
}

void endpoint_fini(struct endpoint *e)
{
    (void)pthread_mutex_destroy(&e->lock);
}

/* --- the learned part --- */

static void lock(struct endpoint *e)
{
    int rc = pthread_mutex_lock(&e->lock);
    ASSERT(rc == 0);
}

static void unlock(struct endpoint *e)
{
    int rc = pthread_mutex_unlock(&e->lock);
    ASSERT(rc == 0);
}

struct endpoint_way endpoint_way(struct endpoint *e)
{
    lock(e);
    struct endpoint_way way = e->way;
    unlock(e);
    return way;
}

static void tell(const struct endpoint *e, const char *what, const char *value)
{
    if (e->log != NULL)
        LOG(e->log, LOG_INFO, "model_learned", F_STR("endpoint", e->shown), F_CSTR("what", what),
            F_CSTR("value", value));
}

static void tell_new(const struct endpoint *e, const struct endpoint_way *was,
                     const struct endpoint_way *now)
{
    char number[16];
    if (now->proven && (!was->proven || now->rung != was->rung))
        tell(e, "structured_output", rung_slugs[now->rung]);
    for (unsigned i = 0; i < ENDPOINT_PARAMS; i++) {
        if (((now->dropped & ~was->dropped) >> i & 1) != 0)
            tell(e, "dropped", param_names[i]);
    }
    if (now->version && !was->version)
        tell(e, "base_url", "has /v1 added");
    if (now->form != was->form)
        tell(e, "rerank_format", model_rerank_slug(now->form));
    if (now->batch != was->batch) {
        (void)snprintf(number, sizeof number, "%u", now->batch);
        tell(e, "batch", number);
    }
}

void endpoint_learn(struct endpoint *e, const struct endpoint_way *way)
{
    lock(e);
    struct endpoint_way was = e->way;
    if (way->rung > e->way.rung || (way->rung == e->way.rung && way->proven)) {
        e->way.rung = way->rung;
        e->way.proven = way->proven;
    }
    e->way.dropped |= way->dropped;
    e->way.version = e->way.version || way->version;
    e->way.form = way->form;
    if (way->batch != 0 && (e->way.batch == 0 || way->batch < e->way.batch))
        e->way.batch = way->batch;
    struct endpoint_way now = e->way;
    unlock(e);
    tell_new(e, &was, &now);
}

static void warn(const struct endpoint *e, const char *event, int64_t ms)
{
    if (e->log != NULL)
        LOG(e->log, LOG_WARN, event, F_STR("endpoint", e->shown), F_INT("ms", ms));
}

enum admission endpoint_admit(struct endpoint *e, int64_t now_ms, int64_t *left_ms)
{
    enum admission answer = ADMITTED;
    bool pause_over = false;
    *left_ms = 0;
    lock(e);
    if (e->paused && now_ms < e->pause_until) {
        answer = REFUSED_QUOTA;
        *left_ms = e->pause_until - now_ms;
    } else if (e->open && now_ms < e->open_until) {
        answer = REFUSED_BREAKER;
        *left_ms = e->open_until - now_ms;
    } else {
        pause_over = e->paused;
        e->paused = false;
        if (e->open) {
            e->probing = true;
            e->open_until = now_ms + e->open_ms;
        }
    }
    unlock(e);
    if (pause_over)
        warn(e, "model_quota_pause_over", 0);
    return answer;
}

void endpoint_reached(struct endpoint *e)
{
    lock(e);
    bool was_open = e->open;
    e->failures = 0;
    e->open = e->probing = false;
    e->open_ms = 0;
    unlock(e);
    if (was_open)
        warn(e, "model_breaker_closed", 0);
}

void endpoint_unreached(struct endpoint *e, int64_t now_ms)
{
    bool opens = false;
    lock(e);
    e->failures++;
    if (e->open ? e->probing : e->failures >= MODEL_BREAKER_FAILURES) {
        opens = true;
        e->open_ms = retry_breaker_ms(e->open_ms);
        e->open_until = now_ms + e->open_ms;
        e->open = true;
        e->probing = false;
    }
    int64_t ms = e->open_ms;
    unlock(e);
    if (opens)
        warn(e, "model_breaker_open", ms);
}

void endpoint_pause(struct endpoint *e, int64_t now_ms, int64_t pause_ms)
{
    lock(e);
    bool begins = !e->paused;
    if (begins || e->pause_until < now_ms + pause_ms)
        e->pause_until = now_ms + pause_ms;
    e->paused = true;
    unlock(e);
    if (begins)
        warn(e, "model_quota_pause", pause_ms);
}
