#include <stdio.h>
#include <stdlib.h>

#include "server/transport_int.h"
#include "server/version.h"

static void lock(struct carrier *carrier)
{
    int rc = pthread_mutex_lock(&carrier->lock);
    ASSERT(rc == 0);
}

static void unlock(struct carrier *carrier)
{
    int rc = pthread_mutex_unlock(&carrier->lock);
    ASSERT(rc == 0);
}

/* --- lists; the lock is held --- */

static void append(struct exchange_list *list, struct exchange *exchange)
{
    exchange->next = NULL;
    exchange->previous = list->last;
    *(list->last != NULL ? &list->last->next : &list->first) = exchange;
    list->last = exchange;
}

static void take_out(struct exchange_list *list, struct exchange *exchange)
{
    *(exchange->previous != NULL ? &exchange->previous->next : &list->first) = exchange->next;
    *(exchange->next != NULL ? &exchange->next->previous : &list->last) = exchange->previous;
    exchange->next = exchange->previous = NULL;
}

static bool holds(const struct exchange_list *list, const struct exchange *exchange)
{
    const struct exchange *at = list->first;
    while (at != NULL && at != exchange)
        at = at->next;
    return at != NULL;
}

static void leave(struct carrier *carrier, struct exchange_list *list, struct exchange *exchange)
{
    struct flight *flight = exchange->handle;
    if (flight != NULL)
        flight->leaving = true;
    take_out(list, exchange);
    append(&carrier->leaving, exchange);
}

static void leave_all(struct carrier *carrier, struct exchange_list *list)
{
    while (list->first != NULL)
        leave(carrier, list, list->first);
}

/* --- the port --- */

static void start(struct transport *port, struct exchange *exchange)
{
    struct carrier *carrier = (struct carrier *)port;
    ASSERT(exchange->endpoint < carrier->n_endpoints);
    exchange->code = ERR_OK;
    exchange->status = 0;
    buf_init(&exchange->reply, exchange->arena, exchange->reply_max);
    exchange->content_type[0] = '\0';
    exchange->retry_after_ms = -1;
    exchange->queued_ms = exchange->took_ms = 0;
    exchange->sent = exchange->cancelled = false;
    exchange->handle = NULL;
    exchange->since_ms = transport__now_ms(carrier);
    lock(carrier);
    append(&carrier->inbox, exchange);
    carrier->alive++;
    unlock(carrier);
    (void)uv_async_send(&carrier->mail);
}

/* Which of the lists that are not over yet has it; NULL: none. Lock held. */
static struct exchange_list *find(struct carrier *carrier, const struct exchange *exchange)
{
    if (holds(&carrier->flying, exchange))
        return &carrier->flying;
    if (holds(&carrier->inbox, exchange))
        return &carrier->inbox;
    for (uint32_t i = 0; i < carrier->n_endpoints; i++) {
        if (holds(&carrier->endpoints[i].waiting, exchange))
            return &carrier->endpoints[i].waiting;
    }
    return NULL;
}

static void cancel(struct transport *port, struct exchange *exchange)
{
    struct carrier *carrier = (struct carrier *)port;
    lock(carrier);
    struct exchange_list *list = find(carrier, exchange);
    if (list != NULL) {
        exchange->cancelled = true;
        leave(carrier, list, exchange);
    }
    unlock(carrier);
    if (list != NULL)
        (void)uv_async_send(&carrier->mail);
}

/* --- slots --- */

/* Gives the next exchange of an endpoint to `flight`, which may be NULL for want of memory: then
 * the exchange leaves. False: there was none. */
static bool board(struct carrier *carrier, struct endpoint *endpoint, struct flight *flight)
{
    lock(carrier);
    struct exchange *exchange = endpoint->waiting.first;
    if (exchange != NULL) {
        take_out(&endpoint->waiting, exchange);
        exchange->handle = flight;
        append(flight != NULL ? &carrier->flying : &carrier->leaving, exchange);
    }
    unlock(carrier);
    if (exchange == NULL)
        return false;
    if (flight == NULL) {
        exchange->code = err_set(&exchange->err, ERR_UNAVAILABLE, "out of memory");
        (void)uv_async_send(&carrier->mail);
        return true;
    }
    flight->exchange = exchange;
    int64_t now_ms = transport__now_ms(carrier);
    exchange->queued_ms = now_ms - exchange->since_ms;
    exchange->since_ms = now_ms;
    return true;
}

/* One at most: each arrival and each end of an exchange calls this once, which is enough (T2). */
static void launch_next(struct carrier *carrier, struct endpoint *endpoint)
{
    if (endpoint->running == endpoint->slots)
        return;
    struct flight *flight = transport__flight_take(carrier);
    if (!board(carrier, endpoint, flight)) {
        if (flight != NULL)
            transport__flight_give(flight);
        return;
    }
    if (flight != NULL) {
        endpoint->running++;
        transport__launch(flight);
    }
}

/* Why it ends from our side, where that is not said yet. */
static void settle_ended(struct carrier *carrier, struct exchange *exchange)
{
    if (exchange->code != ERR_OK)
        return;
    const char *why = exchange->cancelled ? "cancelled" : "the daemon stops";
    const struct flight *flight = exchange->handle;
    struct host host;
    if (flight != NULL)
        host = flight->host;
    else if (transport__host(carrier->url, exchange->url, &host, NULL) != ERR_OK)
        host.peer[0] = '\0';
    const char *colon = host.peer[0] != '\0' ? ": " : "";
    exchange->code = err_set(&exchange->err, ERR_UNAVAILABLE, "%s%s%s", host.peer, colon, why);
}

static void log_exchange(const struct carrier *carrier, const struct exchange *exchange)
{
    const struct flight *flight = exchange->handle;
    if (carrier->log == NULL || carrier->log->level < LOG_DEBUG || flight == NULL)
        return;
    LOG(carrier->log, LOG_DEBUG, "exchange", F_CSTR("peer", flight->host.peer),
        F_CSTR("code", err_slug(exchange->code)), F_INT("status", exchange->status),
        F_INT("queued_ms", exchange->queued_ms), F_INT("took_ms", exchange->took_ms));
}

void transport__finish(struct carrier *carrier, struct exchange *exchange)
{
    struct endpoint *endpoint = &carrier->endpoints[exchange->endpoint];
    struct flight *flight = exchange->handle;
    lock(carrier);
    bool leaving = flight == NULL || flight->leaving;
    take_out(leaving ? &carrier->leaving : &carrier->flying, exchange);
    ASSERT(carrier->alive > 0);
    carrier->alive--;
    unlock(carrier);
    if (exchange->cancelled) /* even if its reply has come in the meantime */
        settle_ended(carrier, exchange);
    int64_t *ms = flight != NULL ? &exchange->took_ms : &exchange->queued_ms;
    *ms = transport__now_ms(carrier) - exchange->since_ms;
    log_exchange(carrier, exchange);
    if (flight != NULL) {
        transport__land(flight);
        exchange->handle = NULL;
        endpoint->running--;
    }
    exchange->done(exchange);
    launch_next(carrier, endpoint);
}

void transport__finish_soon(struct carrier *carrier, struct exchange *exchange)
{
    const struct flight *flight = exchange->handle;
    lock(carrier);
    if (!flight->leaving)
        leave(carrier, &carrier->flying, exchange);
    unlock(carrier);
    (void)uv_async_send(&carrier->mail);
}

/* --- mail --- */

/* Ends one exchange, or takes one in; false: there is none. */
static bool serve_one(struct carrier *carrier)
{
    lock(carrier);
    struct exchange *over = carrier->leaving.first;
    struct exchange *fresh = over == NULL ? carrier->inbox.first : NULL;
    if (fresh != NULL) {
        take_out(&carrier->inbox, fresh);
        append(carrier->stopping ? &carrier->leaving : &carrier->endpoints[fresh->endpoint].waiting,
               fresh);
    }
    uint32_t endpoint = fresh != NULL ? fresh->endpoint : 0; /* a cancel may end it any time */
    unlock(carrier);
    if (over != NULL) {
        settle_ended(carrier, over);
        transport__finish(carrier, over);
    } else if (fresh != NULL) {
        launch_next(carrier, &carrier->endpoints[endpoint]);
    }
    return over != NULL || fresh != NULL;
}

static void on_mail(uv_async_t *async)
{
    struct carrier *carrier = async->data;
    for (int i = 0; i < MAIL_BATCH; i++) {
        if (!serve_one(carrier))
            return;
    }
    (void)uv_async_send(async);
}

/* --- life --- */

static enum err_code init_loop_parts(struct carrier *carrier, struct err *err)
{
    int rc = uv_async_init(carrier->loop, &carrier->mail, on_mail);
    if (rc != 0)
        return err_set(err, ERR_UNAVAILABLE, "no transport: %s", uv_strerror(rc));
    (void)uv_timer_init(carrier->loop, &carrier->timer);
    carrier->mail.data = carrier->timer.data = carrier;
    return ERR_OK;
}

/* What can be taken back without the loop comes first. */
static enum err_code init(struct carrier *carrier, long connections, struct err *err)
{
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return err_set(err, ERR_UNAVAILABLE, "libcurl does not start");
    if (pthread_mutex_init(&carrier->lock, NULL) != 0) {
        curl_global_cleanup();
        return err_set(err, ERR_EXHAUSTED, "out of memory");
    }
    enum err_code code = transport__multi_init(carrier, connections, err);
    if (code == ERR_OK)
        code = init_loop_parts(carrier, err);
    if (code != ERR_OK) {
        transport__multi_fini(carrier);
        (void)pthread_mutex_destroy(&carrier->lock);
        curl_global_cleanup();
    }
    return code;
}

enum err_code transport_new(uv_loop_t *loop, const struct transport_options *options,
                            struct carrier **out, struct err *err)
{
    *out = NULL;
    size_t bytes = options->n_endpoints * sizeof(struct endpoint);
    struct carrier *carrier = calloc(1, sizeof *carrier + bytes);
    if (carrier == NULL)
        return err_set(err, ERR_EXHAUSTED, "out of memory");
    carrier->port = (struct transport){.start = start, .cancel = cancel};
    carrier->loop = loop;
    carrier->clock = options->clock;
    carrier->log = options->log;
    carrier->n_endpoints = options->n_endpoints;
    long connections = 0;
    for (uint32_t i = 0; i < options->n_endpoints; i++) {
        ASSERT(options->slots[i] > 0);
        carrier->endpoints[i].slots = options->slots[i];
        connections += options->slots[i];
    }
    (void)snprintf(carrier->agent, sizeof carrier->agent, "hypermemd/%s", server_version());
    enum err_code code = init(carrier, connections, err);
    if (code != ERR_OK) {
        free(carrier);
        return code;
    }
    *out = carrier;
    return ERR_OK;
}

struct transport *transport_port(struct carrier *carrier)
{
    return &carrier->port;
}

void transport_stop(struct carrier *carrier)
{
    lock(carrier);
    carrier->stopping = true;
    leave_all(carrier, &carrier->flying);
    for (uint32_t i = 0; i < carrier->n_endpoints; i++)
        leave_all(carrier, &carrier->endpoints[i].waiting);
    leave_all(carrier, &carrier->inbox);
    unlock(carrier);
    (void)uv_async_send(&carrier->mail);
}

bool transport_idle(struct carrier *carrier)
{
    lock(carrier);
    bool idle = carrier->alive == 0;
    unlock(carrier);
    return idle;
}

void transport_close(struct carrier *carrier)
{
    ASSERT(transport_idle(carrier));
    transport__flights_close(carrier);
    transport__multi_fini(carrier);
    uv_close((uv_handle_t *)&carrier->timer, NULL);
    uv_close((uv_handle_t *)&carrier->mail, NULL);
}

void transport_free(struct carrier *carrier)
{
    if (carrier == NULL)
        return;
    (void)pthread_mutex_destroy(&carrier->lock);
    free(carrier);
    curl_global_cleanup();
}
