#include "server/loop.h"

#include <signal.h>
#include <stdlib.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "core/ingest/work.h"
#include "core/model/models.h"
#include "storage/storage.h"

enum {
    STOP_LOOK_MS = 5, /* while stopping */
    GRACE_MS = 5000,
    HASTE_MS = 1000,
    HOUSEKEEP_MS = 60 * 1000,
    TRIM_MS = 10 * 1000,
};

enum stop_state { STOP_NOT, STOP_GRACE, STOP_SHUT };

struct loop {
    uv_loop_t uv;
    uv_async_t wake;
    uv_timer_t tick, stop_look, housekeep, trim;
    uv_signal_t on_term, on_int;
    unsigned signals; /* handles that were made */
    struct loop_parts parts;
    enum stop_state state;
    int64_t grace_ms, deadline_ms; /* monotonic */
};

static int64_t now_ms(const struct loop *loop)
{
    return clock_mono_ms(loop->parts.clock);
}

/* --- the runner's timer --- */

static void on_tick(uv_timer_t *timer);

static void arm_tick(struct loop *loop)
{
    int64_t next = runner_next_ms(loop->parts.runner);
    if (next == INT64_MAX) {
        (void)uv_timer_stop(&loop->tick);
        return;
    }
    int64_t wait = next - now_ms(loop);
    uv_update_time(&loop->uv);
    (void)uv_timer_start(&loop->tick, on_tick, wait > 0 ? (uint64_t)wait : 0, 0);
}

static void on_tick(uv_timer_t *timer)
{
    struct loop *loop = timer->data;
    runner_tick(loop->parts.runner);
    arm_tick(loop);
}

static void on_wake(uv_async_t *async)
{
    struct loop *loop = async->data;
    if (loop->parts.runner != NULL)
        arm_tick(loop);
}

void loop_wake(void *arg)
{
    struct loop *loop = arg;
    (void)uv_async_send(&loop->wake);
}

static void on_housekeep(uv_timer_t *timer)
{
    struct loop *loop = timer->data;
    int freed = storage_reader_check(loop->parts.store);
    if (freed > 0)
        LOG(loop->parts.log, LOG_INFO, "reader_slots_freed", F_INT("count", freed));
}

/* --- stopping --- */

static bool is_idle(const struct loop_parts *parts)
{
    return lanes_busy(parts->lanes) == 0 && works_busy(parts->works) == 0 &&
           (parts->carrier == NULL || transport_idle(parts->carrier));
}

/* What a burst needed (keep_freed_memory() in cmd_serve.c); to take 30 MiB again costs 10 ms. To
 * give it back takes as long and holds the heaps' locks, so it waits until the stages rest. */
static void on_trim(uv_timer_t *timer)
{
    const struct loop *loop = timer->data;
#ifdef __GLIBC__
    if (is_idle(&loop->parts))
        (void)malloc_trim(0);
#else
    (void)loop;
#endif
}

static void look_whether_stopped(uv_timer_t *timer)
{
    struct loop *loop = timer->data;
    int64_t now = now_ms(loop);
    unsigned connections = http_connections(loop->parts.http);
    bool is_done = connections == 0 && is_idle(&loop->parts);
    if (is_done || now >= loop->deadline_ms) {
        uv_stop(&loop->uv);
        return;
    }
    if (loop->state == STOP_GRACE && now >= loop->grace_ms) {
        LOG(loop->parts.log, LOG_WARN, "stop_hastened", F_INT("connections", connections),
            F_INT("suspended", http_suspended(loop->parts.http)));
        loop->state = STOP_SHUT;
        http_shut(loop->parts.http);
    }
}

static void begin_stop(struct loop *loop, int signal_number)
{
    const struct loop_parts *parts = &loop->parts;
    LOG(parts->log, LOG_INFO, "stopping",
        F_CSTR("signal", signal_number == SIGINT ? "SIGINT" : "SIGTERM"),
        F_INT("connections", http_connections(parts->http)));
    int64_t now = now_ms(loop);
    int64_t half = parts->stop_deadline_ms / 2;
    loop->state = STOP_GRACE;
    loop->grace_ms = now + (half < GRACE_MS ? half : GRACE_MS);
    loop->deadline_ms = now + parts->stop_deadline_ms;
    api_set_stopping(parts->api);
    http_quiesce(parts->http);
    lanes_stop(parts->lanes);
    works_stop(parts->works);
    if (parts->models != NULL)
        models_stop(parts->models);
    if (parts->carrier != NULL)
        transport_stop(parts->carrier);
    runner_end_waits(parts->runner);
    (void)uv_timer_start(&loop->stop_look, look_whether_stopped, 0, STOP_LOOK_MS);
}

static void on_signal(uv_signal_t *handle, int number)
{
    struct loop *loop = handle->data;
    if (loop->state == STOP_NOT) {
        begin_stop(loop, number);
        return;
    }
    int64_t now = now_ms(loop);
    loop->grace_ms = now;
    if (loop->deadline_ms > now + HASTE_MS)
        loop->deadline_ms = now + HASTE_MS;
}

/* --- life --- */

enum err_code loop_new(struct loop **out, struct err *err)
{
    *out = NULL;
    struct loop *loop = calloc(1, sizeof *loop);
    if (loop == NULL)
        return err_set(err, ERR_EXHAUSTED, "out of memory");
    int rc = uv_loop_init(&loop->uv);
    if (rc == 0) {
        rc = uv_async_init(&loop->uv, &loop->wake, on_wake);
        if (rc != 0)
            (void)uv_loop_close(&loop->uv);
    }
    if (rc != 0) {
        free(loop);
        return err_set(err, ERR_UNAVAILABLE, "no event loop: %s", uv_strerror(rc));
    }
    loop->wake.data = loop;
    *out = loop;
    return ERR_OK;
}

uv_loop_t *loop_uv(struct loop *loop)
{
    return &loop->uv;
}

static int watch_signal(struct loop *loop, uv_signal_t *handle, int number)
{
    int rc = uv_signal_init(&loop->uv, handle);
    if (rc != 0)
        return rc;
    handle->data = loop;
    loop->signals++;
    return uv_signal_start(handle, on_signal, number);
}

enum err_code loop_run(struct loop *loop, const struct loop_parts *parts, struct err *err)
{
    loop->parts = *parts;
    int rc = watch_signal(loop, &loop->on_term, SIGTERM);
    if (rc == 0)
        rc = watch_signal(loop, &loop->on_int, SIGINT);
    if (rc != 0)
        return err_set(err, ERR_UNAVAILABLE, "signals can't be watched: %s", uv_strerror(rc));
    uv_timer_t *timers[] = {&loop->tick, &loop->stop_look, &loop->housekeep, &loop->trim};
    for (size_t i = 0; i < sizeof timers / sizeof timers[0]; i++) {
        (void)uv_timer_init(&loop->uv, timers[i]);
        timers[i]->data = loop;
    }
    (void)uv_timer_start(&loop->housekeep, on_housekeep, HOUSEKEEP_MS, HOUSEKEEP_MS);
    (void)uv_timer_start(&loop->trim, on_trim, TRIM_MS, TRIM_MS);
    arm_tick(loop);
    (void)uv_run(&loop->uv, UV_RUN_DEFAULT);
    (void)uv_timer_stop(&loop->stop_look);
    return ERR_OK;
}

static bool is_settled(const struct loop *loop)
{
    return http_suspended(loop->parts.http) == 0 && is_idle(&loop->parts);
}

static void on_settle_look(uv_timer_t *timer)
{
    (void)timer; /* its ringing ends one round of the loop */
}

bool loop_settle(struct loop *loop, int64_t ms)
{
    int64_t end = now_ms(loop) + ms;
    (void)uv_timer_start(&loop->stop_look, on_settle_look, STOP_LOOK_MS, STOP_LOOK_MS);
    while (!is_settled(loop) && now_ms(loop) < end)
        (void)uv_run(&loop->uv, UV_RUN_ONCE);
    (void)uv_timer_stop(&loop->stop_look);
    return is_settled(loop);
}

int64_t loop_left_ms(const struct loop *loop)
{
    int64_t left = loop->deadline_ms - now_ms(loop);
    return left > 0 ? left : 0;
}

void loop_free(struct loop *loop)
{
    if (loop == NULL)
        return;
    if (loop->signals > 0)
        uv_close((uv_handle_t *)&loop->on_term, NULL);
    if (loop->signals > 1)
        uv_close((uv_handle_t *)&loop->on_int, NULL);
    if (loop->tick.loop != NULL) {
        uv_close((uv_handle_t *)&loop->tick, NULL);
        uv_close((uv_handle_t *)&loop->stop_look, NULL);
        uv_close((uv_handle_t *)&loop->housekeep, NULL);
        uv_close((uv_handle_t *)&loop->trim, NULL);
    }
    uv_close((uv_handle_t *)&loop->wake, NULL);
    (void)uv_run(&loop->uv, UV_RUN_DEFAULT);
    int rc = uv_loop_close(&loop->uv);
    ASSERT(rc == 0);
    free(loop);
}
