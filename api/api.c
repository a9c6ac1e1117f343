#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "api/access.h"
#include "api/api_int.h"
#include "api/handler.h"
#include "core/base/limits.h"
#include "core/graph/space.h"
#include "core/model/embed_cache.h"
#include "core/model/models.h"
#include "core/text/utf8.h"

enum { OPTIONS_BYTES = 1 << 20, REQUEST_ID_MAX = 128 };

/* --- life --- */

static void random_bytes(void *bytes, size_t n)
{
    /* Up to 256 bytes come whole once the pool is seeded, which it is long before we run. */
    ssize_t got = getrandom(bytes, n, 0);
    ASSERT(got == (ssize_t)n);
}

static bool copy_options(struct api *api, const struct api_options *options)
{
    api->options = *options;
    api->options.api_key = str_copy(api->arena, options->api_key);
    api->options.version = str_copy(api->arena, options->version);
    struct str *hosts = ARENA_ARRAY(api->arena, struct str, options->n_hosts);
    if (hosts == NULL || api->options.api_key.at == NULL || api->options.version.at == NULL)
        return false;
    for (unsigned i = 0; i < options->n_hosts; i++) {
        hosts[i] = str_copy(api->arena, options->hosts[i]);
        if (hosts[i].at == NULL)
            return false;
    }
    api->options.hosts = hosts;
    return true;
}

/* Only where there is something to remember. */
static bool make_cache(struct api *api)
{
    const struct models *models = api->services->models;
    if (models == NULL || !models_has(models, PURPOSE_EMBED))
        return true;
    api->questions = embed_cache_new(EMBED_CACHE_ENTRIES, EMBED_CACHE_BYTES);
    return api->questions != NULL;
}

enum err_code api_new(const struct api_options *options, const struct services *services,
                      struct api **api, struct err *err)
{
    struct api *made = calloc(1, sizeof *made);
    *api = NULL;
    if (made == NULL)
        return err_set(err, ERR_EXHAUSTED, "no memory for the API");
    idempotency_set_init(&made->running);
    made->services = services;
    made->random = random_bytes;
    made->random(&made->id_seed, sizeof made->id_seed);
    made->arena = arena_new(OPTIONS_BYTES);
    made->series = calloc(routes_count() + 1, sizeof *made->series);
    if (made->arena == NULL || made->series == NULL || !copy_options(made, options) ||
        !make_cache(made)) {
        api_free(made);
        return err_set(err, ERR_EXHAUSTED, "no memory for the API");
    }
    *api = made;
    return ERR_OK;
}

void api_free(struct api *api)
{
    if (api == NULL)
        return;
    ASSERT(api->inflight == 0);
    idempotency_set_fini(&api->running);
    while (api->n_spare != 0)
        arena_free(api->spare[--api->n_spare]);
    arena_free(api->arena);
    embed_cache_free(api->questions);
    free(api->series);
    free(api);
}

static struct arena *take_arena(struct api *api)
{
    return api->n_spare != 0 ? api->spare[--api->n_spare] : arena_new(ARENA_REQUEST_BYTES);
}

static void give_arena(struct api *api, struct arena *arena)
{
    if (!API_KEEPS_ARENAS || api->n_spare == API_SPARE_ARENAS) {
        arena_free(arena);
        return;
    }
    arena_reset(arena);
    api->spare[api->n_spare++] = arena;
}

struct api_call *api_call_new(struct api *api)
{
    struct arena *arena = take_arena(api);
    struct api_call *call = arena == NULL ? NULL : ARENA_NEW(arena, struct api_call);
    if (call == NULL) {
        arena_free(arena);
        return NULL;
    }
    call->api = api;
    call->arena = arena;
    call->started_ns = clock_mono_ns(api->services->clock);
    call->request_id = STR("");
    atomic_fetch_add_explicit(&api->inflight, 1, memory_order_relaxed);
    return call;
}

void api__settle(struct api_call *call)
{
    idempotency_leave(call);
    if (call->waiting) {
        call->waiting = false;
        atomic_fetch_sub_explicit(&call->api->waiting, 1, memory_order_relaxed);
    }
}

void api_call_free(struct api_call *call)
{
    if (call == NULL)
        return;
    api__settle(call);
    atomic_fetch_sub_explicit(&call->api->inflight, 1, memory_order_relaxed);
    buf_fini(&call->reply.body);
    give_arena(call->api, call->arena); /* the call itself lies in it */
}

void api_set_stopping(struct api *api)
{
    atomic_store_explicit(&api->stopping, true, memory_order_relaxed);
}

/* --- admission --- */

/* What is echoed must be fit for a header and a log line. */
static bool id_is_fit(struct str id)
{
    if (id.len == 0 || id.len > REQUEST_ID_MAX)
        return false;
    for (size_t i = 0; i < id.len; i++)
        if (id.at[i] < '!' || id.at[i] > '~')
            return false;
    return true;
}

/* Unique, not secret: a counter, mixed (splitmix64) so that ids of two runs do not look alike. */
static struct str make_id(struct api_call *call)
{
    struct api *api = call->api;
    uint64_t n = atomic_fetch_add_explicit(&api->ids, 1, memory_order_relaxed);
    uint64_t z = api->id_seed + (n + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    struct str id = str_printf(call->arena, "req_%016" PRIx64, z ^ (z >> 31));
    return id.at != NULL ? id : STR("req_none");
}

static enum err_code take_vars(struct visit *visit, const struct route_vars *vars, struct err *err)
{
    if (vars->space.at != NULL && !space_name_is_valid(vars->space))
        return err_set_param(err, ERR_INVALID, "space",
                             "a space's name is 1 to %u of A-Z a-z 0-9 . _ ~ @ : - and neither "
                             "\".\" nor \"..\"",
                             LIMIT_SPACE_NAME_BYTES);
    if (vars->id.at != NULL && (vars->id.len == 0 || !utf8_is_valid(vars->id)))
        return err_set_param(err, ERR_INVALID, "path", "the id in the path is not valid");
    visit->space_name = vars->space;
    visit->id = vars->id;
    return ERR_OK;
}

static enum err_code check_body(const struct api_call *call, struct err *err)
{
    const struct route *route = call->route;
    if (!call->request.has_body)
        return ERR_OK;
    if ((route->flags & ROUTE_BODY) == 0)
        return err_set_param(err, ERR_INVALID, "body", "this call takes no body");
    return access_check_type(&call->request, (route->flags & ROUTE_NDJSON) != 0, err);
}

static enum err_code no_route(struct api_call *call, const char *allow, struct err *err)
{
    if (allow[0] == '\0')
        return err_set(err, ERR_NOT_FOUND, "there is nothing at this path");
    reply_header(call, "Allow", str_copy(call->arena, str_of(allow)));
    return err_set(err, ERR_METHOD, "this path has no such method; it has %s", allow);
}

/* The order is part of the contract: who may call comes before what is there, so that without a key
 * nothing can be told apart. */
static enum err_code admit(struct api_call *call, struct err *err)
{
    const struct api_options *options = &call->api->options;
    struct path path;
    struct route_vars vars = {STR_NONE, STR_NONE};
    char allow[ROUTE_ALLOW_MAX];
    enum err_code code = access_check_origin(options, &call->request, err);
    if (code != ERR_OK)
        return code;
    enum err_code split = path_split(call->arena, call->request.path, &path, err);
    if (split == ERR_OK)
        call->route = routes_find(&path, call->request.method, &vars, allow);
    if (call->route == NULL || (call->route->flags & ROUTE_OPEN) == 0) {
        struct err denied;
        if (access_check_key(options->api_key, &call->request, &denied) != ERR_OK) {
            *err = denied;
            return denied.code;
        }
    }
    if (split != ERR_OK)
        return split;
    code = take_vars(call->state, &vars, err);
    if (code != ERR_OK)
        return code;
    if (call->route == NULL)
        return no_route(call, allow, err);
    if ((call->route->flags & ROUTE_UNBUILT) != 0)
        return err_set(err, ERR_UNIMPLEMENTED, "this call is not built yet");
    return check_body(call, err);
}

/* OPTIONS tells the methods of a path and nothing else: no CORS (PITFALLS 18), so no key. */
static bool answer_options(struct api_call *call)
{
    struct path path;
    struct route_vars vars;
    struct err err;
    char allow[ROUTE_ALLOW_MAX] = "GET, HEAD, PUT, POST, PATCH, DELETE, OPTIONS";
    if (!str_eq(call->request.method, STR("OPTIONS")) ||
        access_check_origin(&call->api->options, &call->request, &err) != ERR_OK)
        return false;
    if (!str_eq(call->request.path, STR("*")) &&
        (path_split(call->arena, call->request.path, &path, &err) != ERR_OK ||
         routes_find(&path, call->request.method, &vars, allow) != NULL || allow[0] == '\0'))
        return false;
    (void)reply_text(call, "text/plain");
    reply_header(call, "Allow", str_copy(call->arena, str_of(allow)));
    reply_finish(call, 204);
    return true;
}

void api_admit(struct api_call *call)
{
    struct err err;
    call->request_id =
        id_is_fit(call->request.request_id) ? call->request.request_id : make_id(call);
    call->state = ARENA_NEW(call->arena, struct visit);
    if (call->state == NULL) {
        api_refuse(call, ERR_UNAVAILABLE, NULL, "no memory for the request");
        return;
    }
    if (!answer_options(call) && admit(call, &err) != ERR_OK)
        reply_error(call, &err);
}

size_t api_body_limit(const struct api_call *call)
{
    bool takes = call->route != NULL && (call->route->flags & ROUTE_BODY) != 0;
    return takes ? LIMIT_BODY_BYTES : 0;
}

/* --- start --- */

/* The key is looked up where the body's hash costs no loop time. */
static enum step_verdict enter_once(struct step *step)
{
    struct api_call *call = call_of(step);
    struct err err;
    if (idempotency_enter(call, &err) != ERR_OK)
        return handler_fail(call, &err);
    step->run = call->route->step;
    return step->run(step);
}

static step_fn *first_step(const struct route *route)
{
    if (route->read != NULL)
        return handler_read_step;
    return (route->flags & ROUTE_IDEMPOTENT) != 0 ? enter_once : route->step;
}

void api_start(struct api_call *call)
{
    const struct route *route = call->route;
    struct visit *visit = visit_of(call);
    struct err err;
    ASSERT(!call->replied && route != NULL);
    if (call->request.body.len > api_body_limit(call)) {
        api_refuse(call, ERR_TOO_LARGE, "body", "the body is larger than %u bytes",
                   LIMIT_BODY_BYTES);
        return;
    }
    enum err_code code =
        params_init(call->arena, route->params, route->n_params, &visit->params, &err);
    if (code == ERR_OK)
        code = params_parse(call->arena, call->request.query, &visit->params, &err);
    if (code == ERR_OK && call->request.body.len == 0)
        code = params_check(&visit->params, &err);
    if (code != ERR_OK) {
        reply_error(call, &err);
    } else if (route->answer != NULL) {
        route->answer(call);
    } else {
        call->step.pool = route->pool;
        call->step.run = first_step(route);
    }
}

/* --- end --- */

void api_left(struct api_call *call)
{
    const struct services *services = call->api->services;
    struct exchange *exchange = atomic_load_explicit(&call->under_way, memory_order_acquire);
    /* A model of this process has none, and is done in a moment. */
    if (exchange != NULL && services->transport != NULL)
        services->transport->cancel(services->transport, exchange);
}

void api_refuse(struct api_call *call, enum err_code code, const char *param, const char *fmt, ...)
{
    struct err err;
    char message[sizeof err.message];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    (void)err_set_param(&err, code, param, "%s", message);
    reply_error(call, &err);
}

static enum api_status status_index(int status)
{
    switch (status) {
#define X(code)                                                                                    \
    case code: return API_STATUS_##code;
        API_STATUS_TABLE(X)
#undef X
    default: return API_STATUS_OTHER;
    }
}

static void count(struct api_call *call, bool sent, int64_t ns)
{
    struct metrics *metrics = call->api->services->metrics;
    unsigned index = call->route != NULL ? (unsigned)(call->route - routes_at(0)) : routes_count();
    struct api_series *series = &call->api->series[index];
    atomic_fetch_add_explicit(&series->by_status[status_index(call->reply.status)], 1,
                              memory_order_relaxed);
    metrics_observe_data(&series->time, ns);
    if (!sent)
        metrics_add(metrics, METRIC_ABORTED, 1);
    if (call->reply.status == 429)
        metrics_add(metrics, METRIC_REJECTED_SPACE, 1);
    if (call->reply.status == 503)
        metrics_add(metrics, METRIC_REJECTED_SERVER, 1);
}

void api_done(struct api_call *call, bool sent)
{
    const struct log *log = call->api->services->log;
    int64_t ns = clock_mono_ns(call->api->services->clock) - call->started_ns;
    int status = call->reply.status;
    count(call, sent, ns);
    enum log_level level = status >= 500 && status != 501 ? LOG_WARN : LOG_DEBUG;
    if (level <= log->level)
        LOG(log, level, "request", F_STR("method", call->request.method),
            F_CSTR("route", call->route != NULL ? call->route->path : "none"),
            F_INT("status", status), F_FLOAT("ms", (double)ns / 1e6),
            F_STR("request_id", call->request_id), F_CSTR("sent", sent ? "true" : "false"));
}
