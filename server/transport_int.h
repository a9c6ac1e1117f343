/* Shared by the transport_*.c files, nobody else.
 *
 *   transport.c         life, lists, slots, stop
 *   transport_multi.c   libcurl's sockets and timer on the loop
 *   transport_flight.c  one exchange on its easy handle: options, callbacks, limits of time
 *   transport_reply.c   what came: heads, and libcurl's codes as ours
 *   transport_host.c    which host a URL names */
#ifndef HM_SERVER_TRANSPORT_INT_H
#define HM_SERVER_TRANSPORT_INT_H

#include <curl/curl.h>
#include <pthread.h>

#include "server/transport.h"

enum {
    MAIL_BATCH = 32,    /* exchanges launched or ended a wake-up; each takes some 50 us */
    FLIGHTS_KEPT = 256, /* without an exchange; a few KiB each */
    PEER_MAX = 128,
    AGENT_MAX = 96,
};

struct exchange_list {
    struct exchange *first, *last;
};

struct endpoint {
    struct exchange_list waiting; /* locked */
    uint32_t slots, running;
};

/* Who is at the other end of a URL. */
struct host {
    char peer[PEER_MAX]; /* host:port, for messages */
    bool is_tls;
    bool is_loopback;
};

struct flight {
    struct carrier *carrier;
    struct flight *next; /* while idle */
    struct exchange *exchange;
    CURL *easy;
    CURLU *url;
    struct curl_slist *headers;
    uv_timer_t timer;
    struct host host;
    int64_t active_ms; /* the last byte in either way, monotonic */
    int64_t bytes;     /* as libcurl last told, both ways together */
    size_t received;   /* of the body, decoded */
    bool leaving;      /* locked: which list the exchange is in */
    bool connected;    /* idle_ms holds, no longer connect_ms */
    bool exact_retry;  /* retry_after_ms came in milliseconds, which wins */
    char cause[CURL_ERROR_SIZE];
};

struct watch;

struct carrier {
    struct transport port; /* first */
    uv_loop_t *loop;
    const struct clock *clock;
    const struct log *log;
    CURLM *multi;
    CURLU *url; /* scratch */
    uv_async_t mail;
    uv_timer_t timer; /* libcurl's */
    struct watch *watches;
    struct flight *idle;
    unsigned n_idle;
    char agent[AGENT_MAX];
    pthread_mutex_t lock;
    struct exchange_list inbox, flying, leaving; /* locked */
    uint32_t alive;                              /* locked: in any list */
    bool stopping;                               /* locked */
    uint32_t n_endpoints;
    struct endpoint endpoints[];
};

static inline int64_t transport__now_ms(const struct carrier *carrier)
{
    return clock_mono_ms(carrier->clock);
}

/* transport.c */
/* The exchange is over, its code and err are set: gives its slot back, calls done(), and launches
 * who waits for the slot. Not inside a callback of libcurl. */
void transport__finish(struct carrier *carrier, struct exchange *exchange);
/* The same for inside one, or where the work of a wake-up must stay bounded: the loop will. */
void transport__finish_soon(struct carrier *carrier, struct exchange *exchange);

/* transport_multi.c */
enum err_code transport__multi_init(struct carrier *carrier, long connections,
                                    struct err *err) MUST_USE;
void transport__multi_fini(struct carrier *carrier);
void transport__on_timer(uv_timer_t *timer);

/* transport_flight.c */
/* An idle one; NULL: no memory. */
struct flight *transport__flight_take(struct carrier *carrier);
void transport__flight_give(struct flight *flight);
void transport__flights_close(struct carrier *carrier);
/* Hands the flight's exchange to libcurl; a failure ends it soon. */
void transport__launch(struct flight *flight);
/* Takes the flight from libcurl and its exchange from the flight. */
void transport__land(struct flight *flight);

/* transport_reply.c */
/* A line of a head; wall_ms is now. */
void transport__read_head(struct flight *flight, struct str line, int64_t wall_ms);
/* A piece of a body; false: no more of it, the exchange has its code. */
bool transport__read_body(struct flight *flight, struct str piece);
/* What libcurl says of a flight that it has ended. */
void transport__settle(struct flight *flight, CURLcode rc);
/* A limit of time is over: "PEER: WHAT within N ms". */
void transport__settle_late(struct flight *flight, const char *what, int64_t limit_ms);

/* transport_host.c */
enum err_code transport__host(CURLU *parser, const char *url, struct host *out, struct err *err);

#endif
