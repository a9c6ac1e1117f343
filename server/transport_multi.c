/* libcurl's sockets and its timer on the loop: libcurl says what it waits for, the loop says when
 * it has come. */
#include <stdlib.h>

#include "server/transport_int.h"

enum { STREAMS_MAX = 1000 };

/* Of one socket while libcurl waits for it. */
struct watch {
    uv_poll_t poll; /* first */
    struct carrier *carrier;
    struct watch *next, *previous;
    curl_socket_t fd;
    int events;
};

/* --- watches --- */

static void free_watch(uv_handle_t *handle)
{
    free(handle);
}

static void unwatch(struct watch *watch)
{
    struct carrier *carrier = watch->carrier;
    *(watch->previous != NULL ? &watch->previous->next : &carrier->watches) = watch->next;
    if (watch->next != NULL)
        watch->next->previous = watch->previous;
    uv_close((uv_handle_t *)&watch->poll, free_watch); /* leaves the descriptor alone at once */
}

static struct watch *watch_new(struct carrier *carrier, curl_socket_t fd)
{
    struct watch *watch = calloc(1, sizeof *watch);
    if (watch == NULL)
        return NULL;
    if (uv_poll_init_socket(carrier->loop, &watch->poll, fd) != 0) {
        free(watch);
        return NULL;
    }
    watch->carrier = carrier;
    watch->fd = fd;
    watch->next = carrier->watches;
    if (watch->next != NULL)
        watch->next->previous = watch;
    carrier->watches = watch;
    return watch;
}

/* --- libcurl is told --- */

static void read_messages(struct carrier *carrier)
{
    int left = 0;
    for (;;) {
        const CURLMsg *message = curl_multi_info_read(carrier->multi, &left);
        if (message == NULL)
            return;
        ASSERT(message->msg == CURLMSG_DONE);
        CURLcode rc = message->data.result;
        struct flight *flight = NULL;
        (void)curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &flight);
        transport__settle(flight, rc);
        transport__finish(carrier, flight->exchange);
    }
}

static void act(struct carrier *carrier, curl_socket_t fd, int events)
{
    int running = 0;
    CURLMcode rc = curl_multi_socket_action(carrier->multi, fd, events, &running);
    if (rc != CURLM_OK && carrier->log != NULL)
        LOG(carrier->log, LOG_ERROR, "transport_failed", F_CSTR("cause", curl_multi_strerror(rc)));
    read_messages(carrier);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct watch *watch = (struct watch *)poll;
    int told = (events & UV_READABLE ? CURL_CSELECT_IN : 0) |
               (events & UV_WRITABLE ? CURL_CSELECT_OUT : 0);
    if (status < 0) {
        /* A reply may have come before the socket broke, and reading tells why it did; libuv has
         * stopped watching. */
        told = CURL_CSELECT_IN | CURL_CSELECT_OUT;
        (void)uv_poll_start(poll, watch->events, on_poll);
    }
    act(watch->carrier, watch->fd, told);
}

void transport__on_timer(uv_timer_t *timer)
{
    act(timer->data, CURL_SOCKET_TIMEOUT, 0);
}

/* --- libcurl tells --- */

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *socket_arg)
{
    struct carrier *carrier = arg;
    struct watch *watch = socket_arg;
    if (what == CURL_POLL_REMOVE) {
        if (watch != NULL)
            unwatch(watch);
        return 0;
    }
    if (watch == NULL) {
        watch = watch_new(carrier, fd);
        (void)curl_multi_assign(carrier->multi, fd, watch);
    }
    if (watch != NULL) {
        watch->events =
            (what & CURL_POLL_IN ? UV_READABLE : 0) | (what & CURL_POLL_OUT ? UV_WRITABLE : 0);
        if (uv_poll_start(&watch->poll, watch->events, on_poll) == 0)
            return 0;
    }
    struct flight *flight = NULL;
    (void)curl_easy_getinfo(easy, CURLINFO_PRIVATE, &flight);
    if (flight != NULL && flight->exchange != NULL && flight->exchange->code == ERR_OK) {
        flight->exchange->code = err_set(&flight->exchange->err, ERR_UNAVAILABLE,
                                         "%s: the socket can't be watched", flight->host.peer);
        transport__finish_soon(carrier, flight->exchange);
    }
    return 0; /* anything else would end all other transfers too */
}

static int on_timer_wanted(CURLM *multi, long ms, void *arg)
{
    struct carrier *carrier = arg;
    (void)multi;
    if (ms < 0)
        (void)uv_timer_stop(&carrier->timer);
    else
        (void)uv_timer_start(&carrier->timer, transport__on_timer, (uint64_t)ms, 0);
    return 0;
}

/* --- life --- */

enum err_code transport__multi_init(struct carrier *carrier, long connections, struct err *err)
{
    carrier->multi = curl_multi_init();
    carrier->url = curl_url();
    if (carrier->multi == NULL || carrier->url == NULL)
        return err_set(err, ERR_EXHAUSTED, "out of memory");
    CURLM *multi = carrier->multi;
    (void)curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    (void)curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, carrier);
    (void)curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, on_timer_wanted);
    (void)curl_multi_setopt(multi, CURLMOPT_TIMERDATA, carrier);
    (void)curl_multi_setopt(multi, CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX);
    /* Whatever the server allows; each one above it makes a connection. */
    (void)curl_multi_setopt(multi, CURLMOPT_MAX_CONCURRENT_STREAMS, (long)STREAMS_MAX);
    /* By default it follows the number of transfers, and a burst's end would close what the next
     * one needs. */
    (void)curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, connections);
    return ERR_OK;
}

void transport__multi_fini(struct carrier *carrier)
{
    if (carrier->multi != NULL)
        (void)curl_multi_cleanup(carrier->multi);
    while (carrier->watches != NULL)
        unwatch(carrier->watches);
    curl_url_cleanup(carrier->url);
    carrier->multi = NULL;
    carrier->url = NULL;
}
