/* The HTTP adapter: libmicrohttpd in external-epoll mode on the libuv loop (DESIGN 12).
 *
 *   listening socket --accept--> MHD --head--> http_request.c: shape, api_admit
 *                                     --body--> at most api_body_limit
 *                                     --all---> api_start -- inline --> reply
 *                                                  |-- step --> suspend, runner_submit_list
 *   worker: finish() --mailbox, uv_async--> loop: resume, MHD_run twice --> reply
 *
 * Connections. We accept ourselves and hand descriptors to MHD, so that we know each and can refuse
 * politely: up to max_connections are served; some more are taken in to be told 503 and
 * Retry-After; the rest wait in the kernel's queue. When full, the connection that has been idle
 * longest goes first. A connection is in one phase, and each phase is a list in order of entering
 * with one time limit, so the first of each list is the next to expire and one timer serves all:
 *
 *   RECEIVE  head and body are coming            request_timeout: 408, then close
 *   WORK     with a worker; suspended in MHD     none: steps have their own deadlines
 *   STREAM   a reply is going out while a step makes it (http_stream.c)   none: as WORK
 *   SEND     the reply is going out              request_timeout: close
 *   IDLE     between two requests                idle_timeout: close
 *   LINGER   refused early; upload is read away  LINGER_MS: close
 *   SURPLUS  over the limit, to be refused       SURPLUS_MS: close
 *
 * MHD's own time-outs are off: they begin anew with every byte. Once a second, while there are any,
 * connections in RECEIVE, WORK and STREAM are looked at for clients that have left: an unfinished
 * request goes, a wait or a model call ends early (its reply goes out: who only ended his direction
 * may still read it).
 *
 * A reply before the body has been read. MHD would close and the kernel would reset the connection
 * under a client that is still sending, which then never sees the reply. So we write it to the
 * socket ourselves (nothing of this request was sent before) and read the rest away for a while.
 * Where the client waits for "100 Continue" MHD replies and closes.
 *
 * Strictness. What makes two readers of the same bytes disagree is refused with 400 and closed:
 * two Content-Length, Content-Length with Transfer-Encoding, a coding other than chunked, no or two
 * Hosts (HTTP/1.1), a target of another host, control bytes or NUL in target or headers, folded
 * lines, white space in field names, bare LF. Methods nobody knows are 501.
 *
 * Invariants
 *   H1  all calls of MHD and all state here are on the loop's thread; workers touch the mailbox.
 *   H2  a suspended connection has its call with the runner, in the mailbox, or, while MHD runs, in
 *       the list of those that are about to be submitted. A request is freed when both its
 *       connection and its step are done with it.
 *   H3  every connection is in exactly one phase list; connections = sum of the lists.
 *   H4  http_close() finds no suspended connection (MHD would abort).
 *
 * Rejected: MHD's epoll thread (stalls at some 128 ready connections), its listening socket (closes
 * without a word when full), MHD_OPTION_CONNECTION_TIMEOUT (an idle time-out). */
#ifndef HM_SERVER_HTTP_H
#define HM_SERVER_HTTP_H

#include <uv.h>

#include "api/api.h"
#include "server/net.h"
#include "server/runner.h"

struct http;

struct http_options {
    const struct config_address *listen;
    unsigned max_connections;
    int64_t request_timeout_ms, idle_timeout_ms;
    struct api *api;
    struct runner *runner;
    const struct services *services;
};

/* Binds and listens; requests are taken once the loop runs. */
enum err_code http_open(uv_loop_t *loop, const struct http_options *options, struct http **out,
                        struct err *err) MUST_USE;
const char *http_url(const struct http *http);

/* --- stopping, in this order --- */

/* Takes in what waits in the kernel's queue, then no more; idle connections go, replies close. */
void http_quiesce(struct http *http);
/* Tells every request that is not answered 503 and shuts all descriptors. */
void http_shut(struct http *http);
unsigned http_connections(const struct http *http);
unsigned http_suspended(const struct http *http); /* requests with steps, connected or not */
/* Closes the handles; run the loop afterwards until nothing is left, then http_free(). */
void http_close(struct http *http);
void http_free(struct http *http); /* NULL is fine */

/* Descriptors that a limit of `max_connections` takes, the process's others included. */
uint64_t http_descriptors(unsigned max_connections);

#endif
