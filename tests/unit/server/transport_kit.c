#include "tests/unit/server/transport_kit.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

enum { TICK_MS = 2, PATIENCE_MS = 15000, ARENA_BYTES = 8 << 20, REPLY_MAX = 1 << 20 };

struct rig rig;

static void on_tick(uv_timer_t *timer)
{
    (void)timer; /* its ringing ends one round of the loop */
}

/* What the environment says of proxies is not for these tests. */
static void forget_proxies(void)
{
    static const char *const names[] = {"http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy",
                                        "ALL_PROXY",  "no_proxy",    "NO_PROXY"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        (void)unsetenv(names[i]);
}

void rig_open(const struct http_script *scripts)
{
    static const uint32_t slots[RIG_ENDPOINTS] = {RIG_NARROW_SLOTS, RIG_NARROW_SLOTS,
                                                  RIG_WIDE_SLOTS};
    struct err err;
    (void)signal(SIGPIPE, SIG_IGN);
    forget_proxies();
    rig.clock = clock_system();
    rig.server = http_script_start(scripts);
    ck_assert_ptr_nonnull(rig.server);
    ck_assert_int_eq(uv_loop_init(&rig.loop), 0);
    struct transport_options options = {
        .slots = slots, .n_endpoints = RIG_ENDPOINTS, .clock = &rig.clock};
    ck_assert_int_eq(transport_new(&rig.loop, &options, &rig.carrier, &err), ERR_OK);
    rig.port = transport_port(rig.carrier);
    ck_assert_int_eq(uv_timer_init(&rig.loop, &rig.tick), 0);
    ck_assert_int_eq(uv_timer_start(&rig.tick, on_tick, TICK_MS, TICK_MS), 0);
    rig.patience_ms = clock_mono_ms(&rig.clock) + PATIENCE_MS;
}

void rig_close(void)
{
    transport_stop(rig.carrier);
    AWAIT(transport_idle(rig.carrier));
    transport_close(rig.carrier);
    uv_close((uv_handle_t *)&rig.tick, NULL);
    (void)uv_run(&rig.loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(uv_loop_close(&rig.loop), 0);
    transport_free(rig.carrier);
    http_script_stop(rig.server);
}

void rig_turn(void)
{
    ck_assert_msg(clock_mono_ms(&rig.clock) < rig.patience_ms, "this takes too long");
    (void)uv_run(&rig.loop, UV_RUN_ONCE);
}

static void on_done(struct exchange *x)
{
    struct ask *ask = x->arg;
    ask->done++;
    ask->order = ++rig.ended;
}

void ask_init(struct ask *ask, uint32_t endpoint, const char *path)
{
    memset(ask, 0xa5, sizeof *ask); /* what a transport has to set is full of rubbish before */
    (void)snprintf(ask->url, sizeof ask->url, "%s%s", http_script_url(rig.server), path);
    ask->done = ask->order = 0;
    ask->x.endpoint = endpoint;
    ask->x.method = "POST";
    ask->x.url = ask->url;
    ask->x.headers = NULL;
    ask->x.n_headers = 0;
    ask->x.body = STR("{}");
    ask->x.connect_ms = ask->x.idle_ms = ask->x.total_ms = 0;
    ask->x.reply_max = REPLY_MAX;
    ask->x.arena = arena_new(ARENA_BYTES);
    ask->x.data = NULL;
    ask->x.done = on_done;
    ask->x.arg = ask;
    ck_assert_ptr_nonnull(ask->x.arena);
}

void ask_fini(struct ask *ask)
{
    arena_free(ask->x.arena);
    ask->x.arena = NULL;
}

void ask_start(struct ask *ask)
{
    rig.port->start(rig.port, &ask->x);
}

void ask_cancel(struct ask *ask)
{
    rig.port->cancel(rig.port, &ask->x);
}

void ask_run(struct ask *ask)
{
    unsigned before = ask->done;
    ask_start(ask);
    AWAIT(ask->done != before);
}

void ask_assert_ok(const struct ask *ask, const char *reply)
{
    const struct exchange *x = &ask->x;
    ck_assert_uint_eq(ask->done, 1);
    ck_assert_msg(x->code == ERR_OK, "%s: %s", err_slug(x->code), x->err.message);
    ck_assert_int_eq(x->status, 200);
    ck_assert_msg(str_eq(buf_str(&x->reply), str_of(reply)), "'%.*s'", STR_FMT(buf_str(&x->reply)));
    ck_assert(x->sent && !x->cancelled);
    ck_assert_int_ge(x->queued_ms, 0);
    ck_assert_int_ge(x->took_ms, 0);
    ck_assert_ptr_null(x->handle);
}

void ask_assert_failed(const struct ask *ask, enum err_code code, const char *part)
{
    char peer[32];
    (void)snprintf(peer, sizeof peer, "127.0.0.1:%d: ", http_script_port(rig.server));
    const struct exchange *x = &ask->x;
    ck_assert_uint_eq(ask->done, 1);
    ck_assert_msg(x->code == code, "%s: %s", err_slug(x->code), x->err.message);
    ck_assert_int_eq(x->err.code, code);
    ck_assert_msg(strncmp(x->err.message, peer, strlen(peer)) == 0, "%s", x->err.message);
    ck_assert_msg(strstr(x->err.message + strlen(peer), part) != NULL, "%s", x->err.message);
    ck_assert_ptr_null(x->handle);
}
