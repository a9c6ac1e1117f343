/* One exchange on its easy handle. */
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "server/transport_int.h"

enum {
    FOREVER_MS = INT32_MAX, /* libcurl's 0 would mean five minutes */
    KEEPALIVE_S = 60,       /* shorter than what routers keep a silent connection for */
};

/* --- limits of time --- */

struct limit {
    const char *what; /* for "HOST: WHAT within N ms" */
    int64_t ms, due_ms;
};

/* The limit that is over first; due_ms INT64_MAX: none. */
static struct limit nearest_limit(const struct flight *flight)
{
    const struct exchange *x = flight->exchange;
    struct limit first = {.what = "no end of the reply", .due_ms = INT64_MAX};
    if (x->total_ms > 0) {
        first.ms = x->total_ms;
        first.due_ms = x->since_ms + x->total_ms;
    }
    struct limit other = {"no connection", x->connect_ms, x->since_ms + x->connect_ms};
    if (flight->connected)
        other = (struct limit){"not a byte", x->idle_ms, flight->active_ms + x->idle_ms};
    return other.ms > 0 && other.due_ms < first.due_ms ? other : first;
}

static void on_late(uv_timer_t *timer);

static void arm(struct flight *flight)
{
    struct limit limit = nearest_limit(flight);
    if (limit.due_ms == INT64_MAX) {
        (void)uv_timer_stop(&flight->timer);
        return;
    }
    int64_t left = limit.due_ms - transport__now_ms(flight->carrier);
    (void)uv_timer_start(&flight->timer, on_late, left > 0 ? (uint64_t)left : 0, 0);
}

static void on_late(uv_timer_t *timer)
{
    struct flight *flight = timer->data;
    struct limit limit = nearest_limit(flight);
    if (transport__now_ms(flight->carrier) < limit.due_ms) {
        arm(flight);
        return;
    }
    transport__settle_late(flight, limit.what, limit.ms);
    transport__finish(flight->carrier, flight->exchange);
}

/* --- what libcurl calls --- */

/* NOLINTNEXTLINE(readability-non-const-parameter): the signature is libcurl's */
static int on_connected(void *arg, char *remote_ip, char *local_ip, int remote_port, int local_port)
{
    struct flight *flight = arg;
    (void)remote_ip, (void)local_ip, (void)remote_port, (void)local_port;
    flight->connected = true;
    flight->exchange->sent = true;
    flight->active_ms = transport__now_ms(flight->carrier);
    arm(flight);
    return CURL_PREREQFUNC_OK;
}

static int on_progress(void *arg, curl_off_t down_total, curl_off_t down, curl_off_t up_total,
                       curl_off_t up)
{
    struct flight *flight = arg;
    (void)down_total, (void)up_total;
    if (down + up != flight->bytes) {
        flight->bytes = down + up;
        flight->active_ms = transport__now_ms(flight->carrier);
    }
    return 0;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): the signature is libcurl's */
static size_t on_head(char *line, size_t size, size_t count, void *arg)
{
    struct flight *flight = arg;
    struct carrier *carrier = flight->carrier;
    flight->active_ms = transport__now_ms(carrier);
    transport__read_head(flight, (struct str){line, size * count}, clock_now_ms(carrier->clock));
    return size * count;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): the signature is libcurl's */
static size_t on_body(char *bytes, size_t size, size_t count, void *arg)
{
    struct flight *flight = arg;
    struct str piece = {bytes, size * count};
    flight->active_ms = transport__now_ms(flight->carrier);
    return transport__read_body(flight, piece) ? piece.len : 0;
}

/* --- options --- */

static bool add_line(struct flight *flight, const char *line)
{
    struct curl_slist *longer = curl_slist_append(flight->headers, line);
    if (longer != NULL)
        flight->headers = longer;
    return longer != NULL;
}

/* Asked for by the exchange; *is_type, whether it is its own Content-Type. */
static bool add_header(struct flight *flight, const struct exchange_header *header, bool *is_type)
{
    static const char type[] = "Content-Type";
    if (header->name.len == sizeof type - 1 &&
        strncasecmp(header->name.at, type, sizeof type - 1) == 0)
        *is_type = true;
    /* "Name;" is libcurl's form for an empty value; "Name:" would take the header out. */
    const char *between = header->value.len != 0 ? ": " : ";";
    struct str line = str_printf(flight->exchange->arena, "%.*s%s%.*s", STR_FMT(header->name),
                                 between, STR_FMT(header->value));
    return line.at != NULL && add_line(flight, line.at);
}

static bool add_headers(struct flight *flight)
{
    const struct exchange *x = flight->exchange;
    bool has_type = false;
    for (uint32_t i = 0; i < x->n_headers; i++) {
        if (!add_header(flight, &x->headers[i], &has_type))
            return false;
    }
    /* A form's type is libcurl's idea of any POST. */
    if (!has_type &&
        !add_line(flight, x->body.at != NULL ? "Content-Type: application/json" : "Content-Type:"))
        return false;
    return add_line(flight, "Expect:"); /* it would wait a second for a 100 Continue */
}

/* The same for every exchange. */
static void set_always(const struct flight *flight)
{
    CURL *easy = flight->easy;
    (void)curl_easy_setopt(easy, CURLOPT_PRIVATE, flight);
    (void)curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
#if LIBCURL_VERSION_NUM >= 0x075700
    /* Else the end of an exchange waits for a name server that does not answer. */
    (void)curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
#endif
#if LIBCURL_VERSION_NUM >= 0x075500
    (void)curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
#else
    (void)curl_easy_setopt(easy, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
    (void)curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    (void)curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 2L);
    (void)curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "");
    (void)curl_easy_setopt(easy, CURLOPT_USERAGENT, flight->carrier->agent);
    (void)curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, (long)KEEPALIVE_S);
    (void)curl_easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, (long)KEEPALIVE_S);
}

static void set_callbacks(struct flight *flight)
{
    CURL *easy = flight->easy;
    (void)curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, flight->cause);
    (void)curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, on_connected);
    (void)curl_easy_setopt(easy, CURLOPT_PREREQDATA, flight);
    (void)curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, on_progress);
    (void)curl_easy_setopt(easy, CURLOPT_XFERINFODATA, flight);
    (void)curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
    (void)curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_head);
    (void)curl_easy_setopt(easy, CURLOPT_HEADERDATA, flight);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEDATA, flight);
}

static void set_request(const struct flight *flight)
{
    CURL *easy = flight->easy;
    const struct exchange *x = flight->exchange;
    (void)curl_easy_setopt(easy, CURLOPT_CURLU, flight->url);
    (void)curl_easy_setopt(easy, CURLOPT_HTTPHEADER, flight->headers);
    if (x->body.at != NULL || strcmp(x->method, "POST") == 0) {
        (void)curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)x->body.len);
        (void)curl_easy_setopt(easy, CURLOPT_POSTFIELDS, x->body.at != NULL ? x->body.at : "");
    }
    (void)curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, x->method);
    (void)curl_easy_setopt(easy, CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)x->reply_max);
    long connect_ms =
        x->connect_ms > 0 && x->connect_ms < FOREVER_MS ? (long)x->connect_ms : (long)FOREVER_MS;
    /* Ours is the limit; libcurl divides this among the addresses of a name. */
    (void)curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, connect_ms);
}

static void set_route(const struct flight *flight)
{
    CURL *easy = flight->easy;
    if (flight->host.is_loopback)
        (void)curl_easy_setopt(easy, CURLOPT_PROXY, ""); /* also none of the environment's */
    /* Whoever comes second waits to see whether the first one's connection can be shared. Without
     * TLS that is known only from the first reply: too late, so it is ruled out. */
    (void)curl_easy_setopt(easy, CURLOPT_PIPEWAIT, flight->host.is_tls ? 1L : 0L);
    (void)curl_easy_setopt(easy, CURLOPT_HTTP_VERSION,
                           flight->host.is_tls ? (long)CURL_HTTP_VERSION_2TLS
                                               : (long)CURL_HTTP_VERSION_1_1);
}

/* --- life --- */

static void reset(struct flight *flight)
{
    flight->exchange = NULL;
    flight->host = (struct host){.peer = ""};
    flight->active_ms = 0;
    flight->bytes = 0;
    flight->received = 0;
    flight->connected = flight->exact_retry = false;
    flight->cause[0] = '\0';
}

static void free_flight(uv_handle_t *handle)
{
    free(handle->data);
}

static void flight_close(struct flight *flight)
{
    curl_easy_cleanup(flight->easy);
    curl_url_cleanup(flight->url);
    uv_close((uv_handle_t *)&flight->timer, free_flight);
}

static struct flight *flight_new(struct carrier *carrier)
{
    struct flight *flight = calloc(1, sizeof *flight);
    if (flight == NULL)
        return NULL;
    flight->carrier = carrier;
    flight->easy = curl_easy_init();
    flight->url = curl_url();
    if (flight->easy == NULL || flight->url == NULL) {
        curl_easy_cleanup(flight->easy);
        curl_url_cleanup(flight->url);
        free(flight);
        return NULL;
    }
    (void)uv_timer_init(carrier->loop, &flight->timer);
    flight->timer.data = flight;
    reset(flight);
    return flight;
}

struct flight *transport__flight_take(struct carrier *carrier)
{
    struct flight *flight = carrier->idle;
    if (flight == NULL)
        return flight_new(carrier);
    carrier->idle = flight->next;
    carrier->n_idle--;
    flight->next = NULL;
    return flight;
}

void transport__flight_give(struct flight *flight)
{
    struct carrier *carrier = flight->carrier;
    if (carrier->n_idle == FLIGHTS_KEPT) {
        flight_close(flight);
        return;
    }
    flight->next = carrier->idle;
    carrier->idle = flight;
    carrier->n_idle++;
}

void transport__flights_close(struct carrier *carrier)
{
    while (carrier->idle != NULL) {
        struct flight *flight = carrier->idle;
        carrier->idle = flight->next;
        flight_close(flight);
    }
    carrier->n_idle = 0;
}

static enum err_code prepare(struct flight *flight, struct err *err)
{
    enum err_code code = transport__host(flight->url, flight->exchange->url, &flight->host, err);
    if (code != ERR_OK)
        return code;
    if (!add_headers(flight))
        return err_set(err, ERR_UNAVAILABLE, "%s: out of memory", flight->host.peer);
    set_always(flight);
    set_callbacks(flight);
    set_request(flight);
    set_route(flight);
    CURLMcode rc = curl_multi_add_handle(flight->carrier->multi, flight->easy);
    if (rc != CURLM_OK)
        return err_set(err, ERR_UNAVAILABLE, "%s: %s", flight->host.peer, curl_multi_strerror(rc));
    return ERR_OK;
}

void transport__launch(struct flight *flight)
{
    struct exchange *exchange = flight->exchange;
    exchange->code = prepare(flight, &exchange->err);
    if (exchange->code == ERR_OK)
        arm(flight);
    else
        transport__finish_soon(flight->carrier, exchange);
}

void transport__land(struct flight *flight)
{
    (void)uv_timer_stop(&flight->timer);
    (void)curl_multi_remove_handle(flight->carrier->multi, flight->easy);
    curl_easy_reset(flight->easy); /* what it points at may die */
    curl_slist_free_all(flight->headers);
    flight->headers = NULL;
    flight->leaving = false; /* no list has it any more */
    reset(flight);
    transport__flight_give(flight);
}
