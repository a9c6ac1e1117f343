/* A small HTTP client for the subcommands that talk to a daemon (health, demo): libcurl's easy
 * interface, one connection kept open, one request at a time. No proxy, no redirect, no cookie, and
 * nothing of libcurl reads the environment.
 *
 * Threads: one. Errors: ERR_UNAVAILABLE when the daemon can't be reached, ERR_DEADLINE when the
 * time is over; any reply is ERR_OK, whatever its status. */
#ifndef HM_SERVER_HTTP_CLIENT_H
#define HM_SERVER_HTTP_CLIENT_H

#include "core/base/buf.h"

struct http_client;

/* `url`: scheme, host and port, perhaps a path before ours. `key` may be empty. */
enum err_code http_client_new(struct str url, struct str key, struct http_client **out,
                              struct err *err) MUST_USE;
void http_client_free(struct http_client *client); /* NULL is fine */

struct http_exchange {
    const char *method;
    const char *path; /* escaped already, begins with "/" */
    struct str body;  /* JSON; .at NULL: none */
    int64_t timeout_ms;
    struct buf *reply;      /* cleared, then the body */
    int status;             /* out */
    unsigned retry_after_s; /* out; 0: not told */
};
enum err_code http_client_call(struct http_client *client, struct http_exchange *x,
                               struct err *err) MUST_USE;

/* As one path segment or query value; .at NULL when memory is short. */
struct str http_client_escape(struct http_client *client, struct arena *arena, struct str text);

#endif
