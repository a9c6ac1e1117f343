/* The transport (core/model/exchange.h) with libcurl's multi interface on the process's loop.
 *
 *   any thread   start() cancel()        loop's thread
 *                  |        |
 *                  v        v       mail    +-----------+  a slot  +--------+ libcurl +---------+
 *              [inbox]  [leaving] --------> | waiting,  | -------> | flying | ------> | done(x) |
 *                           ^               | one FIFO  |          +--------+         +---------+
 *                           |               | an        |               |                  ^
 *                           |               | endpoint  |               |                  |
 *                           |               +-----------+               |                  |
 *                           +------ cancel, stop, no memory ------------+---- one by one --+
 *
 * A flight is an easy handle with its timer; it is used again by later exchanges, as are the
 * connections, which all flights share. One endpoint over TLS that offers HTTP/2 is spoken to over
 * one connection or a few; others get a connection a slot.
 *
 * Invariants
 *   T1  an exchange is in exactly one list: inbox, waiting, flying or leaving.
 *   T2  an exchange waits only while all slots of its endpoint are taken; the slot is free again
 *       before done() is called.
 *   T3  what one wake-up of the loop does is bounded: MAIL_BATCH exchanges are taken from the
 *       inbox and from leaving together; a slot that falls free launches one.
 *   T4  done() is called once for each start(), by the loop's thread, with no lock held, and when
 *       it is called nothing here refers to the exchange any more.
 *
 * Time. Each flight has one timer, armed at the nearest of its limits. Bytes move the idle limit
 * away without touching the timer: when it rings too early it is armed again. Idle time counts from
 * the moment the request begins to be sent; before that connect_ms is the limit, which covers name,
 * connection and TLS.
 *
 * libcurl sends a request again by itself in one case: when a connection that had been idle turns
 * out to be closed before a byte of the reply came. Where a server gives HTTP/2 streams up without
 * warning, libcurl 7.88 may leave one of them silent for good: idle_ms and total_ms should not both
 * be 0.
 *
 * Proxies are libcurl's business: it reads http_proxy (lower case only), https_proxy, all_proxy and
 * no_proxy (both cases). What is a loopback host is decided on the URL as libcurl's own parser
 * reads it, so that 127.1, LOCALHOST. or [0::1] can't be taken for another host.
 *
 * Threads and locks. The lists and the flags beside them have one lock, a leaf, held for a few
 * pointers; a cancel looks through the lists while it holds it. All else is the loop thread's.
 *
 * Order. Start: after the loop, before whoever may start() (runner, doctor). Stop: transport_stop()
 * first, together with the quiesce; the loop runs until transport_idle(); then transport_close(),
 * after which nobody may start() or cancel(), one more run of the loop for the handles (loop_free()
 * does one), transport_free(). SIGPIPE has to be ignored by the process.
 *
 * Rejected: a thread of its own (each exchange would pay two more hand-overs and a second loop);
 * libcurl's own limits for idle (whole seconds) and total time (it would count from another
 * moment); an array of what to cancel (it would need memory at the moment that has none). */
#ifndef HM_SERVER_TRANSPORT_H
#define HM_SERVER_TRANSPORT_H

#include <uv.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/model/exchange.h"

struct carrier; /* `struct transport` is the port */

struct transport_options {
    const uint32_t *slots; /* of each endpoint, how many exchanges at once: at least 1; copied */
    uint32_t n_endpoints;
    const struct clock *clock; /* must move by itself */
    const struct log *log;     /* may be NULL */
};

enum err_code transport_new(uv_loop_t *loop, const struct transport_options *options,
                            struct carrier **out, struct err *err) MUST_USE;
/* The port; lives as long as the carrier. */
struct transport *transport_port(struct carrier *carrier);

/* Ends every exchange, present and future, with ERR_UNAVAILABLE; their done() is called by the
 * loop, soon. On the loop's thread. */
void transport_stop(struct carrier *carrier);
/* No exchange is alive. On the loop's thread. */
bool transport_idle(struct carrier *carrier);
/* Closes connections and handles; the carrier must be idle. On the loop's thread. */
void transport_close(struct carrier *carrier);
/* After the loop has run what transport_close() left it. NULL is fine. */
void transport_free(struct carrier *carrier);

#endif
