/* GET /metrics: Prometheus text. Counters and histograms come from the tables of
 * core/base/metrics.h and from the series by route kept here; gauges are read now. Labels are
 * bounded by tables: never a space (PITFALLS 39). */
#include <inttypes.h>
#include <stdatomic.h>

#include "api/api_int.h"
#include "api/gauges.h"
#include "api/handler.h"
#include "api/handlers.h"

static uint64_t load(const atomic_uint_fast64_t *value)
{
    return atomic_load_explicit(value, memory_order_relaxed);
}

static void head(struct buf *out, const char *name, const char *type, const char *help)
{
    buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void gauge(struct buf *out, const char *name, const char *help, double value)
{
    head(out, name, "gauge", help);
    buf_printf(out, "%s %.17g\n", name, value);
}

static void counter(struct buf *out, const char *name, const char *help, double value)
{
    head(out, name, "counter", help);
    buf_printf(out, "%s %.17g\n", name, value);
}

/* --- tables --- */

struct row {
    const char *name, *labels, *help;
};

static const struct row counters[METRIC_COUNTERS] = {
#define X(id, name_, labels_, help_) [METRIC_##id] = {name_, labels_, help_},
    METRIC_COUNTER_TABLE(X)
#undef X
};

static const struct row histograms[METRIC_HISTOGRAMS] = {
#define X(id, name_, labels_, help_) [METRIC_H_##id] = {name_, labels_, help_},
    METRIC_HISTOGRAM_TABLE(X)
#undef X
};

static void put_counters(struct buf *out, const struct metrics *metrics)
{
    for (unsigned i = 0; i < METRIC_COUNTERS; i++) {
        const struct row *row = &counters[i];
        if (row->help[0] != '\0')
            head(out, row->name, "counter", row->help);
        bool labels = row->labels[0] != '\0';
        buf_printf(out, "%s%s%s%s %" PRIu64 "\n", row->name, labels ? "{" : "", row->labels,
                   labels ? "}" : "", (uint64_t)load(&metrics->counter[i]));
    }
}

/* Cumulative, as Prometheus wants them; the sum and the count are read once each. */
static void put_histogram(struct buf *out, const char *name, const char *labels,
                          const struct metric_histogram_data *data)
{
    const char *comma = labels[0] != '\0' ? "," : "";
    uint64_t total = 0;
    uint64_t bound_ns = METRIC_FIRST_BUCKET_NS;
    for (unsigned i = 0; i < METRIC_BUCKETS; i++, bound_ns *= 2) {
        total += load(&data->bucket[i]);
        if (i + 1 < METRIC_BUCKETS)
            buf_printf(out, "%s_bucket{%s%sle=\"%g\"} %" PRIu64 "\n", name, labels, comma,
                       (double)bound_ns / 1e9, total);
    }
    buf_printf(out, "%s_bucket{%s%sle=\"+Inf\"} %" PRIu64 "\n", name, labels, comma, total);
    const char *open = labels[0] != '\0' ? "{" : "", *close = labels[0] != '\0' ? "}" : "";
    buf_printf(out, "%s_sum%s%s%s %.9g\n", name, open, labels, close,
               (double)load(&data->sum_ns) / 1e9);
    buf_printf(out, "%s_count%s%s%s %" PRIu64 "\n", name, open, labels, close, total);
}

static void put_histograms(struct buf *out, const struct metrics *metrics)
{
    for (unsigned i = 0; i < METRIC_HISTOGRAMS; i++) {
        const struct row *row = &histograms[i];
        if (row->help[0] != '\0')
            head(out, row->name, "histogram", row->help);
        put_histogram(out, row->name, row->labels, &metrics->histogram[i]);
    }
}

/* --- by route --- */

static const char *const status_names[API_STATUSES] = {
#define X(status) [API_STATUS_##status] = #status,
    API_STATUS_TABLE(X)
#undef X
        [API_STATUS_OTHER] = "other",
};

static void put_requests(struct buf *out, const struct api *api)
{
    head(out, "hypermem_http_requests_total", "counter", "Requests by route, method and code");
    for (unsigned i = 0; i <= routes_count(); i++) {
        const struct route *route = i < routes_count() ? routes_at(i) : NULL;
        for (unsigned s = 0; s < API_STATUSES; s++) {
            uint64_t n = load(&api->series[i].by_status[s]);
            if (n != 0)
                buf_printf(out,
                           "hypermem_http_requests_total{route=\"%s\",method=\"%s\","
                           "code=\"%s\"} %" PRIu64 "\n",
                           route != NULL ? route->path : "none",
                           route != NULL ? route->method : "other", status_names[s], n);
        }
    }
}

static void put_durations(struct buf *out, const struct api *api, struct arena *arena)
{
    head(out, "hypermem_http_request_duration_seconds", "histogram",
         "Time from head to reply by route");
    for (unsigned i = 0; i < routes_count(); i++) {
        const struct route *route = routes_at(i);
        uint64_t n = 0;
        for (unsigned b = 0; b < METRIC_BUCKETS; b++)
            n += load(&api->series[i].time.bucket[b]);
        struct str labels =
            str_printf(arena, "route=\"%s\",method=\"%s\"", route->path, route->method);
        if (n != 0 && labels.at != NULL)
            put_histogram(out, "hypermem_http_request_duration_seconds", labels.at,
                          &api->series[i].time);
    }
}

/* --- gauges --- */

static void put_store(struct buf *out, struct store *store)
{
    static const char *const queues[STORE_QUEUES] = {"turns", "stages", "housekeeping"};
    struct store_health h;
    store_health(store, &h);
    head(out, "hypermem_store_bytes", "gauge", "Bytes of the data file and of its map");
    buf_printf(out, "hypermem_store_bytes{kind=\"file\"} %" PRIu64 "\n", h.file_bytes);
    buf_printf(out, "hypermem_store_bytes{kind=\"used\"} %" PRIu64 "\n", h.used_bytes);
    buf_printf(out, "hypermem_store_bytes{kind=\"map\"} %" PRIu64 "\n", h.map_bytes);
    buf_printf(out, "hypermem_store_bytes{kind=\"disk_free\"} %" PRIu64 "\n", h.disk_free_bytes);
    gauge(out, "hypermem_store_map_used_ratio", "Part of the map that is in use",
          h.map_bytes == 0 ? 0 : (double)h.used_bytes / (double)h.map_bytes);
    gauge(out, "hypermem_store_readers", "Read transactions open or kept", (double)h.readers);
    gauge(out, "hypermem_store_writable", "1 when writes are taken", h.state == STORE_OK);
    head(out, "hypermem_store_queue", "gauge", "Batches that wait for the writer");
    for (unsigned i = 0; i < STORE_QUEUES; i++)
        buf_printf(out, "hypermem_store_queue{queue=\"%s\"} %" PRIu64 "\n", queues[i], h.queued[i]);
    counter(out, "hypermem_store_commits_total", "Durable commits", (double)h.commits);
    counter(out, "hypermem_store_batches_total", "Batches applied", (double)h.batches);
    counter(out, "hypermem_store_refused_total", "Batches refused", (double)h.refused);
    counter(out, "hypermem_store_commit_seconds_total", "Time spent in commits",
            (double)h.commit_ns_total / 1e9);
}

static void put_jobs(struct buf *out, const struct gauges *gauges)
{
    head(out, "hypermem_jobs", "gauge", "Spaces with background work, by state");
    buf_printf(out, "hypermem_jobs{state=\"pending\"} %" PRIu64 "\n", gauges->due);
    buf_printf(out, "hypermem_jobs{state=\"running\"} %" PRIu64 "\n", gauges->running);
    gauge(out, "hypermem_job_oldest_pending_seconds", "Age of the oldest turn not looked at",
          (double)gauges->oldest_ms / 1000);
}

static void put_process(struct buf *out)
{
    struct gauges_process p;
    gauges_process(&p);
    counter(out, "process_cpu_seconds_total", "CPU time, user and system", p.cpu_s);
    gauge(out, "process_start_time_seconds", "Start, Unix time", p.start_s);
    gauge(out, "process_resident_memory_bytes", "Resident memory, page cache of the map included",
          (double)p.resident_bytes);
    gauge(out, "process_private_memory_bytes", "Resident anonymous memory",
          (double)p.private_bytes);
    gauge(out, "process_virtual_memory_bytes", "Address space, the reserved map included",
          (double)p.virtual_bytes);
    gauge(out, "process_open_fds", "Open descriptors", (double)p.open_fds);
    gauge(out, "process_max_fds", "Limit of descriptors", (double)p.max_fds);
    gauge(out, "process_threads", "Threads", (double)p.threads);
}

enum step_verdict metrics_get(struct step *step)
{
    struct api_call *call = call_of(step);
    struct api *api = call->api;
    struct gauges gauges;
    struct err err;
    if (gauges_read(api->services, &gauges, &err) != ERR_OK)
        return handler_fail(call, &err);
    struct buf *out = reply_text(call, "text/plain; version=0.0.4; charset=utf-8");
    head(out, "hypermem_build_info", "gauge", "Always 1; the version is in the label");
    buf_printf(out, "hypermem_build_info{version=\"%.*s\"} 1\n", STR_FMT(api->options.version));
    put_requests(out, api);
    put_durations(out, api, call->arena);
    gauge(out, "hypermem_http_inflight_requests", "Requests being answered",
          (double)atomic_load_explicit(&api->inflight, memory_order_relaxed));
    gauge(out, "hypermem_http_waiting_requests", "Requests that wait for processing",
          (double)atomic_load_explicit(&api->waiting, memory_order_relaxed));
    put_counters(out, api->services->metrics);
    put_histograms(out, api->services->metrics);
    put_jobs(out, &gauges);
    put_store(out, api->services->store);
    put_process(out);
    return handler_finish(call, 200);
}
