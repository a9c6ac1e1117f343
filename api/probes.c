/* Probes and version: no key, no secrets. Liveness does no I/O at all (PITFALLS 40): a probe that
 * touches the disk gets healthy processes killed. */
#include "api/handlers.h"

#include "api/api_int.h"
#include "api/gauges.h"
#include "api/handler.h"

void probes_live(struct api_call *call)
{
    struct json_out out = reply_json(call);
    out_object(&out, NULL);
    out_cstr(&out, "status", "live");
    out_end(&out);
    reply_finish(call, 200);
}

void probes_version(struct api_call *call)
{
    struct json_out out = reply_json(call);
    out_object(&out, NULL);
    out_cstr(&out, "name", "hypermem");
    out_str(&out, "version", call->api->options.version);
    out_cstr(&out, "api", "v1");
    out_end(&out);
    reply_finish(call, 200);
}

/* NULL: ready. */
static const char *why_not(const struct api *api, const struct store_health *health,
                           const struct gauges *gauges)
{
    if (atomic_load_explicit(&api->stopping, memory_order_relaxed) ||
        health->state == STORE_STOPPING)
        return "stopping";
    if (health->state == STORE_LATCHED)
        return "a write failed; writes wait for a restart";
    if (health->state == STORE_FULL || health->disk_free_bytes < api->options.ready_min_disk_bytes)
        return "the disk is full or nearly so";
    if (api->options.ready_max_job_age_ms != 0 &&
        gauges->oldest_ms > api->options.ready_max_job_age_ms)
        return "the oldest waiting job is too old";
    return NULL;
}

enum step_verdict probes_ready(struct step *step)
{
    static const char *const states[] = {[STORE_OK] = "ok",
                                         [STORE_FULL] = "full",
                                         [STORE_LATCHED] = "latched",
                                         [STORE_STOPPING] = "stopping"};
    struct api_call *call = call_of(step);
    struct store_health health;
    struct gauges gauges;
    struct err err;
    store_health(handler_services(call)->store, &health);
    if (gauges_read(handler_services(call), &gauges, &err) != ERR_OK)
        return handler_fail(call, &err);
    const char *why = why_not(call->api, &health, &gauges);
    struct json_out out = reply_json(call);
    out_object(&out, NULL);
    out_cstr(&out, "status", why == NULL ? "ready" : "not ready");
    if (why != NULL)
        out_cstr(&out, "reason", why);
    out_cstr(&out, "store", states[health.state]);
    out_u64(&out, "disk_free_bytes", health.disk_free_bytes);
    out_u64(&out, "oldest_job_age_ms", (uint64_t)gauges.oldest_ms);
    out_end(&out);
    return handler_finish(call, why == NULL ? 200 : 503);
}
