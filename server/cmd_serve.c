/* serve: the daemon. Here, in one place, stands in which order its parts start and stop.
 *
 *   log, faults, signals -> store (lock, map, writer) -> loop -> models, transport -> runner
 *   -> lanes, works -> api -> http
 *
 * and the stop in reverse, after the loop has answered or ended every request (server/loop.h):
 * drain the writer, then MHD, pools, environment. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "core/base/fault.h"
#include "core/ingest/work.h"
#include "core/text/token.h"
#include "server/builtin_models.h"
#include "server/cmd.h"
#include "server/loop.h"
#include "server/model_options.h"
#include "server/transport.h"
#include "server/version.h"
#include "storage/storage.h"

enum {
    LEAST_CONNECTIONS = 4,
    STAGES_QUEUE_MAX = 4096,
    SETTLE_MS = 2000, /* for what the drained writer has answered */
    TAIL_MS = 500,
};

struct daemon {
    const struct config *config;
    struct clock clock;
    struct log log;
    struct metrics *metrics;
    struct store *store;
    struct services services;
    struct loop *loop;
    struct models *models; /* NULL: all is built in */
    struct builtin_models builtin;
    struct carrier *carrier; /* of the calls of those that are remote */
    struct runner *runner;
    struct lanes *lanes;
    struct works *works;
    struct tokenizers *tokenizers;
    struct api *api;
    struct http *http;
    unsigned max_connections;
};

static unsigned cores(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (unsigned)n : 1;
}

static unsigned threads_of(uint64_t configured)
{
    return configured != 0 ? (unsigned)configured : cores();
}

/* Half of the cores, so that what is behind on vectors leaves the others to whoever asks. */
static unsigned encoders_of(const struct daemon *d)
{
    uint64_t configured = d->config->server.encoders;
    unsigned half = cores() / 2 != 0 ? cores() / 2 : 1;
    if (d->builtin.embed == NULL)
        return 0;
    return configured != 0 ? (unsigned)configured : half;
}

/* --- start --- */

/* A query of a large space takes some MiB and gives them back at its end, and the stages' batches
 * that wait for a commit hold some tens. By default what is freed then goes back to the system, and
 * the next query spends a quarter of its time on page faults, the stages a tenth; so each worker's
 * heap keeps up to KEPT_BYTES. What is free goes back every ten seconds (loop.c). */
static void keep_freed_memory(void)
{
#ifdef __GLIBC__
    enum { MAPPED_BYTES = 8 << 20, KEPT_BYTES = 32 << 20 };
    (void)mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES);
    (void)mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
#endif
}

static enum err_code plan_faults(const struct daemon *d, struct err *err)
{
#ifdef HYPERMEM_FAULTS
    if (d->config->fault.len != 0 && !fault_plan(d->config->fault))
        return err_set_param(err, ERR_INVALID, "fault", "fault: unknown point or action in %.*s",
                             STR_FMT(d->config->fault));
#else
    (void)d;
    (void)err;
#endif
    return ERR_OK;
}

/* Only where there is a model; without an endpoint nothing is made that could talk to a network. */
static enum err_code make_models(struct daemon *d, struct err *err)
{
    struct models_options options;
    bool any = false;
    model_options_fill(d->config, &options);
    options.clock = &d->clock;
    options.log = &d->log;
    options.metrics = d->metrics;
    if (getrandom(&options.seed, sizeof options.seed, 0) != sizeof options.seed)
        return err_set(err, ERR_UNAVAILABLE, "the system gives no random numbers");
    enum err_code code = builtin_models_open(d->config, &options, &d->builtin, err);
    if (code != ERR_OK)
        return code;
    builtin_models_fill(&d->builtin, &options);
    for (unsigned i = 0; i < MODEL_PURPOSES; i++)
        any |= options.address[i].base_url.len != 0 || options.address[i].encoder != NULL;
    return any ? models_new(&options, &d->models, err) : ERR_OK;
}

/* Exchanges with models that may be under way at once, a descriptor each. */
static unsigned model_slots(const struct daemon *d, uint32_t slots[MODEL_PURPOSES])
{
    unsigned sum = 0;
    bool remote = d->models != NULL && models_has_remote(d->models);
    for (uint32_t i = 0; remote && i < models_endpoints(d->models); i++) {
        slots[i] = models_endpoint_slots(d->models, i);
        sum += slots[i];
    }
    return sum;
}

static enum err_code start_transport(struct daemon *d, struct err *err)
{
    uint32_t slots[MODEL_PURPOSES];
    struct transport_options options = {.slots = slots, .clock = &d->clock, .log = &d->log};
    if (model_slots(d, slots) == 0)
        return ERR_OK;
    options.n_endpoints = models_endpoints(d->models);
    return transport_new(loop_uv(d->loop), &options, &d->carrier, err);
}

/* As many connections as are asked for, or as the descriptors allow. */
static void limit_connections(struct daemon *d)
{
    unsigned wanted = (unsigned)d->config->server.max_connections;
    uint32_t slots[MODEL_PURPOSES];
    unsigned calls = model_slots(d, slots);
    uint64_t descriptors = net_raise_descriptors(http_descriptors(wanted) + calls);
    d->max_connections = wanted;
    while (d->max_connections > LEAST_CONNECTIONS &&
           http_descriptors(d->max_connections) + calls > descriptors)
        d->max_connections--;
    if (d->max_connections < wanted)
        LOG(&d->log, LOG_WARN, "connections_limited", F_INT("max_connections", d->max_connections),
            F_INT("wanted", wanted), F_INT("descriptors", descriptors));
}

static enum err_code open_store(struct daemon *d, struct err *err)
{
    struct storage_options options = {
        .dir = d->config->storage.data_dir.at,
        .map_size_gib = (unsigned)d->config->storage.map_size_gib,
    };
    return storage_open(&options, &d->log, &d->clock, &d->store, err);
}

static enum err_code start_runner(struct daemon *d, struct err *err)
{
    const struct config_server *server = &d->config->server;
    struct runner_options options = {
        .threads = {[STEP_READERS] = threads_of(server->readers),
                    [STEP_STAGES] = threads_of(server->stage_workers)},
        .queue_max = {[STEP_READERS] = d->max_connections, [STEP_STAGES] = STAGES_QUEUE_MAX},
        .encoders = encoders_of(d),
        .clock = &d->clock,
        .log = &d->log,
        .wake = loop_wake,
        .wake_arg = d->loop,
    };
    enum err_code code = runner_new(&options, &d->runner, err);
    if (code != ERR_OK)
        return code;
    d->lanes = lanes_new(runner_submit_lane, d->runner);
    d->works = works_new(runner_submit_lane, d->runner);
    d->tokenizers = tokenizers_new();
    if (d->lanes == NULL || d->works == NULL || d->tokenizers == NULL)
        return err_set(err, ERR_EXHAUSTED, "out of memory");
    d->services = (struct services){
        .store = d->store,
        .lanes = d->lanes,
        .works = d->works,
        .models = d->models,
        .transport = d->carrier != NULL ? transport_port(d->carrier) : NULL,
        .tokenizers = d->tokenizers,
        .clock = &d->clock,
        .log = &d->log,
        .metrics = d->metrics,
        .model_patience_ms = (int64_t)d->config->llm.patience_s * 1000,
        .idle_close_ms = (int64_t)d->config->memory.idle_close_s * 1000,
        .stage_pace_ms = (int64_t)d->config->memory.stage_pace_ms,
    };
    lanes_bind(d->lanes, &d->services);
    works_bind(d->works, &d->services);
    runner_bind(d->runner, &d->services);
    return storage_start_writer(d->store, err);
}

static float weight_of(double configured)
{
    return configured > 0 ? (float)configured : 0;
}

static struct api_recall recall_of(const struct config *config)
{
    const struct config_recall *recall = &config->recall;
    return (struct api_recall){
        .weights = {.topics = weight_of(recall->weight_topics),
                    .episodes = weight_of(recall->weight_episodes),
                    .facts = weight_of(recall->weight_facts),
                    .turns = weight_of(recall->weight_turns)},
        .lambda = weight_of(recall->lambda),
        .join = recall->edge_mean ? VECTORS_MEAN : VECTORS_SUM,
        .kernels = kernels_choose(NULL),
        .embed_deadline_ms = (int64_t)config->embed.query_deadline_ms,
    };
}

static enum err_code start_api(struct daemon *d, struct err *err)
{
    const struct config *config = d->config;
    /* Without a key, the listen address is a name that a client may use. */
    struct str hosts[1 + CONFIG_HOSTS_MAX];
    unsigned n = 0;
    hosts[n++] = config->server.listen.host;
    for (unsigned i = 0; i < config->access.allowed_hosts.n; i++)
        hosts[n++] = config->access.allowed_hosts.at[i];
    struct api_options options = {
        .api_key = config->access.api_key,
        .hosts = hosts,
        .n_hosts = n,
        .auto_create = config->memory.auto_create,
        .ready_max_job_age_ms = (int64_t)config->health.ready_max_job_age_s * 1000,
        .ready_min_disk_bytes = config->health.ready_min_disk_mib << 20,
        .waiting_max = d->max_connections / 2,
        .version = str_of(server_version()),
        .recall = recall_of(config),
    };
    return api_new(&options, &d->services, &d->api, err);
}

static enum err_code start_http(struct daemon *d, struct err *err)
{
    const struct config_server *server = &d->config->server;
    struct http_options options = {
        .listen = &server->listen,
        .max_connections = d->max_connections,
        .request_timeout_ms = (int64_t)server->request_timeout_s * 1000,
        .idle_timeout_ms = (int64_t)server->idle_timeout_s * 1000,
        .api = d->api,
        .runner = d->runner,
        .services = &d->services,
    };
    return http_open(loop_uv(d->loop), &options, &d->http, err);
}

static enum err_code start(struct daemon *d, struct err *err)
{
    enum err_code code = config_check_serve(d->config, err);
    if (code == ERR_OK)
        code = plan_faults(d, err);
    if (code != ERR_OK)
        return code;
    (void)signal(SIGPIPE, SIG_IGN);
    d->metrics = calloc(1, sizeof *d->metrics);
    if (d->metrics == NULL)
        return err_set(err, ERR_EXHAUSTED, "out of memory");
    code = make_models(d, err);
    if (code != ERR_OK)
        return code;
    limit_connections(d);
    code = open_store(d, err);
    if (code == ERR_OK)
        code = loop_new(&d->loop, err);
    if (code == ERR_OK)
        code = start_transport(d, err);
    if (code == ERR_OK)
        code = start_runner(d, err);
    if (code == ERR_OK)
        code = start_api(d, err);
    if (code == ERR_OK)
        code = start_http(d, err);
    if (code != ERR_OK)
        return code;
    lanes_scan(d->lanes);
    works_sweep(d->works);
    return ERR_OK;
}

/* Who answers by meaning. Said once: without an encoder a memory is searched by its words. */
static void announce_search(const struct daemon *d)
{
    const struct model_address *address = d->models != NULL && models_has(d->models, PURPOSE_EMBED)
                                              ? models_address(d->models, PURPOSE_EMBED)
                                              : NULL;
    if (d->config->embed.provider.model.len != 0 && (address == NULL || address->encoder != NULL))
        LOG(&d->log, LOG_WARN, "embed_model_unused",
            F_STR("embed_model", d->config->embed.provider.model),
            F_CSTR("hint", "it names a model of an endpoint, and there is no embed_base_url"));
    if (address == NULL) {
        LOG(&d->log, LOG_INFO, "search", F_CSTR("by", "words"),
            F_CSTR("hint",
                   str_eq(d->config->embed.model_dir, STR("none"))
                       ? "embed_model_dir is none"
                       : "no encoder: see embed_model_dir and embed_base_url, or make model"));
        return;
    }
    LOG(&d->log, LOG_INFO, "search", F_CSTR("by", "words and vectors"),
        F_CSTR("encoder", address->encoder != NULL ? "builtin" : "remote"),
        F_STR("model", address->model), F_INT("encoders", encoders_of(d)));
}

static void announce(const struct daemon *d)
{
    const struct config_server *server = &d->config->server;
    announce_search(d);
    LOG(&d->log, LOG_INFO, "listening", F_CSTR("url", http_url(d->http)),
        F_CSTR("version", server_version()), F_STR("data_dir", d->config->storage.data_dir),
        F_INT("max_connections", d->max_connections), F_INT("readers", threads_of(server->readers)),
        F_INT("stage_workers", threads_of(server->stage_workers)),
        F_CSTR("key", d->config->access.api_key.len != 0 ? "required" : "none"));
    (void)printf("listening on %s\n", http_url(d->http));
    (void)fflush(stdout);
}

/* --- stop --- */

/* Work that does not end in time is cut off: what was acknowledged is on disk, and jobs are rows
 * that the next start finds. A thread can't be stopped from outside, so the process goes. */
static void leave_now(const struct daemon *d)
{
    LOG(&d->log, LOG_WARN, "stopped_with_work_left", F_INT("suspended", http_suspended(d->http)),
        F_INT("lanes", lanes_busy(d->lanes)), F_INT("works", works_busy(d->works)));
    _exit(EXIT_FINE);
}

static void drain(struct daemon *d)
{
    storage_stop(d->store);
    int64_t left = loop_left_ms(d->loop);
    if (!loop_settle(d->loop, left < SETTLE_MS ? left + TAIL_MS : SETTLE_MS))
        leave_now(d);
}

/* Also of a start that has failed half-way. */
static void take_apart(struct daemon *d)
{
    if (d->store != NULL)
        storage_stop(d->store);
    if (d->http != NULL)
        http_close(d->http);
    runner_free(d->runner);
    works_free(d->works);
    lanes_free(d->lanes);
    tokenizers_free(d->tokenizers);
    api_free(d->api);
    if (d->carrier != NULL)
        transport_close(d->carrier);
    loop_free(d->loop);
    transport_free(d->carrier);
    models_free(d->models);
    builtin_models_close(&d->builtin);
    http_free(d->http);
    storage_close(d->store);
    free(d->metrics);
}

static enum err_code run(struct daemon *d, struct err *err)
{
    struct loop_parts parts = {
        .runner = d->runner,
        .http = d->http,
        .lanes = d->lanes,
        .works = d->works,
        .models = d->models,
        .carrier = d->carrier,
        .api = d->api,
        .store = d->store,
        .clock = &d->clock,
        .log = &d->log,
        .stop_deadline_ms = (int64_t)d->config->server.shutdown_timeout_s * 1000,
    };
    announce(d);
    enum err_code code = loop_run(d->loop, &parts, err);
    if (code == ERR_OK)
        drain(d);
    return code;
}

int cmd_serve(const struct cmd_call *call)
{
    struct err err = {.code = ERR_OK};
    struct daemon d = {.config = call->config, .clock = clock_system()};
    d.log = (struct log){.fd = STDERR_FILENO,
                         .level = call->config->log.level,
                         .json = call->config->log.json,
                         .clock = d.clock};
    keep_freed_memory();
    enum err_code code = start(&d, &err);
    if (code == ERR_OK)
        code = run(&d, &err);
    if (code != ERR_OK)
        log_err(&d.log, LOG_ERROR, "start_failed", &err);
    take_apart(&d);
    if (code == ERR_OK)
        LOG(&d.log, LOG_INFO, "stopped", F_INT("status", 0));
    return code == ERR_OK ? EXIT_FINE : EXIT_FAILED;
}
