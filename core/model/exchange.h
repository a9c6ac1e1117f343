/* One HTTP exchange with a model provider: the port that core/ needs from a transport. server/
 * implements it with libcurl's multi interface on the event loop; core/ knows nothing of that
 * (DESIGN 2).
 *
 *   worker --start()--> [slots of the endpoint] --> loop: connect, send, receive --done()--> worker
 *
 * An exchange that has no free slot of its endpoint waits in arrival order; that time does not
 * count into connect_ms, idle_ms or total_ms. Everything that a policy decides (what to send, what
 * a status means, whether to try again, and when) is core/model/call.h's business, not the
 * transport's: any reply is ERR_OK, whatever its status.
 *
 * Threads and memory. start() and cancel() may be called from any thread. From start() to done()
 * the exchange, its arena and all it points at are the transport's; done() runs on the loop's
 * thread, once, also after a cancel or a stop, and only hands over. `data` runs there too.
 *
 * Security. A URL's host that is a loopback address or "localhost" is never reached through a
 * proxy; redirects are not followed (a key must not travel); no cookie is kept; TLS certificates
 * are verified. Neither URL queries, headers nor bodies are logged above debug, keys never. */
#ifndef HM_CORE_MODEL_EXCHANGE_H
#define HM_CORE_MODEL_EXCHANGE_H

#include "core/base/buf.h"
#include "core/base/err.h"

struct exchange;
typedef void exchange_done_fn(struct exchange *exchange);
/* False: stop receiving; the exchange ends with ERR_UNAVAILABLE. */
typedef bool exchange_data_fn(struct exchange *exchange, struct str bytes);

struct exchange_header {
    struct str name, value; /* no CR, LF or NUL: refused by who builds them */
};

struct exchange {
    /* asked */
    uint32_t endpoint;  /* whose slots; see transport_limit */
    const char *method; /* "POST", "GET" */
    const char *url;    /* absolute, http or https */
    const struct exchange_header *headers;
    uint32_t n_headers;
    struct str body;                       /* .at NULL: none; else sent as application/json */
    int64_t connect_ms, idle_ms, total_ms; /* 0: no limit; idle: without a byte in either way */
    size_t reply_max;                      /* a longer body: ERR_TOO_LARGE */
    struct arena *arena;                   /* the reply's memory */
    exchange_data_fn *data; /* NULL: the body is collected in `reply`. Else a 2xx body comes in
                               pieces as it arrives and only another body is collected; `status`
                               and `content_type` are set before the first piece */
    exchange_done_fn *done;
    void *arg;
    /* answered */
    enum err_code code; /* ERR_OK: there is a status. ERR_UNAVAILABLE: no connection, broken off,
                           stopping. ERR_DEADLINE: a limit of time. ERR_TOO_LARGE */
    struct err err;     /* when code is not ERR_OK; names host and cause, no secret */
    int status;
    struct buf reply;
    char content_type[64];  /* lower case, without parameters; "" when there was none */
    int64_t retry_after_ms; /* Retry-After as seconds or HTTP date, or retry-after-ms; -1: none */
    int64_t queued_ms, took_ms;
    bool sent;      /* the request may have reached the provider */
    bool cancelled; /* cancel() was called */
    /* the transport's */
    struct exchange *next, *previous;
    void *handle;
    int64_t since_ms;
};

struct transport {
    void (*start)(struct transport *transport, struct exchange *exchange);
    /* Ends it soon with ERR_UNAVAILABLE if it is still there; `exchange` is only compared. */
    void (*cancel)(struct transport *transport, struct exchange *exchange);
};

#endif
