/* The API as the server sees it: requests in, replies out, no sockets (DESIGN 10).
 *
 *   server/http.c                      api/                                   workers
 *   headers are in --api_call_new--> api_admit(): route, access, type  -- refused: reply at once
 *   body is in ------------------->  api_start(): sets step.run ------> handler steps … DONE
 *   finish() on a worker --mailbox-> the loop sends call->reply, then api_call_free()
 *
 * api_admit() runs on the loop: no disk, no large JSON. An inline route (probes, version) has its
 * reply when api_start() returns. Every error body is made by one writer, api/reply.c.
 *
 * Paths come undecoded: they are split at "/" first and each segment is decoded after; a bad
 * escape, %00, or an encoded slash in a space name is 400 and touches nothing.
 *
 * Ownership: a call owns its arena, its body and its reply. Threads: one at a time. */
#ifndef HM_API_API_H
#define HM_API_API_H

#include <stdatomic.h>

#include "core/base/buf.h"
#include "core/base/step.h"
#include "core/recall/recall.h"
#include "core/services.h"

struct api;
struct exchange;
struct route;

/* How vectors take part in a query; from the configuration. */
struct api_recall {
    struct recall_weights weights;
    float lambda;
    enum vectors_join join;
    const struct kernels *kernels;
    int64_t embed_deadline_ms; /* of a question's own vector */
};

struct api_options {
    struct str api_key;      /* empty: open on loopback */
    struct str const *hosts; /* names allowed in Host without a key, beside loopback ones and the
                                   listen address; lower case, without port */
    unsigned n_hosts;
    bool auto_create;             /* POST turns creates the space */
    int64_t ready_max_job_age_ms; /* 0: the age is told but fails nothing */
    uint64_t ready_min_disk_bytes;
    unsigned waiting_max; /* requests that may wait (wait=true, min_seq) at once: half the
                                   connection limit; above it 429 */
    struct str version;   /* of the build */
    struct api_recall recall;
};

/* What the HTTP adapter read; strings live in the call's arena. */
struct api_request {
    struct str method; /* as sent */
    struct str path;   /* up to "?", undecoded */
    struct str query;  /* behind "?", undecoded; empty: none */
    struct str body;
    struct str authorization, api_key_header, content_type, content_encoding, host, origin;
    struct str idempotency_key, request_id, accept;
    bool has_body; /* Content-Length > 0 or chunked */
};

enum { API_EXTRA_HEADERS = 6 };
struct api_header {
    const char *name;
    struct str value;
};
struct api_reply {
    int status;
    const char *content_type;
    struct buf body;                            /* heap */
    struct api_header extra[API_EXTRA_HEADERS]; /* Allow, Retry-After, Location, … */
    unsigned n_extra;
};

struct api_call {
    struct step step; /* first: a call is a step */
    struct api *api;
    struct arena *arena;
    struct api_request request;
    struct api_reply reply;
    const struct route *route;
    struct str request_id; /* echoed or made */
    int64_t started_ns;
    bool replied;   /* reply is complete */
    bool streaming; /* its head has gone out; see reply_stream_begin() */
    bool waiting;   /* counted in waiting_max */
    void *state;    /* the handler's own, in the arena */
    void *server;   /* the adapter's own */
    /* The adapter's: a piece of a streamed reply, on the loop's thread. False: nobody reads on. */
    bool (*stream)(struct api_call *call, struct str bytes);
    _Atomic(struct exchange *) under_way; /* of the model call at hand; only compared */
};

enum err_code api_new(const struct api_options *options, const struct services *services,
                      struct api **api, struct err *err) MUST_USE;
void api_free(struct api *api);

/* A call with an arena; NULL when memory is short. */
struct api_call *api_call_new(struct api *api);
void api_call_free(struct api_call *call);

/* Headers are in: finds the route and checks access. On refusal the reply is complete (replied) and
 * the body need not be read. */
void api_admit(struct api_call *call);
/* Largest body this route takes, in bytes; 0: none. After api_admit(). */
size_t api_body_limit(const struct api_call *call);
/* The body is in. Either replied (inline), or step.run and step.pool are set and the call is to be
 * submitted to the runtime. */
void api_start(struct api_call *call);
/* Makes the reply an error: for the adapter (413, 408, 503 …) and for handlers. */
void api_refuse(struct api_call *call, enum err_code code, const char *param, const char *fmt, ...)
    PRINTF_LIKE(4, 5);
/* The client has left while a step is under way: a model call of it is cancelled. On the loop's
 * thread, again and again until the call is over. */
void api_left(struct api_call *call);
/* The reply was handed to the client (or it left): counts metrics, logs one line at debug, and at
 * warn when it is a 5xx. */
void api_done(struct api_call *call, bool sent);

/* For readiness: the server is stopping. */
void api_set_stopping(struct api *api);

#endif
