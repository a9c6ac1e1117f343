/* The inside of struct api: what outlives a call. Made by api_new(), constant but for the counters
 * and the set, which are safe for any thread. */
#ifndef HM_API_API_INT_H
#define HM_API_API_INT_H

#include <stdatomic.h>

#include "api/api.h"
#include "api/idempotency.h"

/* Statuses that are counted apart; everything else counts as the last, "other". */
#define API_STATUS_TABLE(X)                                                                        \
    X(200)                                                                                         \
    X(201)                                                                                         \
    X(202)                                                                                         \
    X(204)                                                                                         \
    X(400)                                                                                         \
    X(401)                                                                                         \
    X(403)                                                                                         \
    X(404)                                                                                         \
    X(405)                                                                                         \
    X(408)                                                                                         \
    X(409)                                                                                         \
    X(412)                                                                                         \
    X(413)                                                                                         \
    X(415)                                                                                         \
    X(422)                                                                                         \
    X(429)                                                                                         \
    X(500)                                                                                         \
    X(501)                                                                                         \
    X(502)                                                                                         \
    X(503)                                                                                         \
    X(504)                                                                                         \
    X(507)

enum api_status {
#define X(status) API_STATUS_##status,
    API_STATUS_TABLE(X)
#undef X
        API_STATUS_OTHER,
    API_STATUSES
};

struct api_series {
    atomic_uint_fast64_t by_status[API_STATUSES];
    struct metric_histogram_data time;
};

/* Memory of calls that are over, for the next ones: as many as are mostly in flight. A sanitizer
 * build wants every call's memory to end with it. */
#ifdef HM_ARENA_HEAP
enum { API_KEEPS_ARENAS = 0 };
#else
enum { API_KEEPS_ARENAS = 1 };
#endif
enum { API_SPARE_ARENAS = 64 };

struct api {
    struct api_options options; /* strings in the arena */
    const struct services *services;
    struct arena *arena;
    struct arena *spare[API_SPARE_ARENAS]; /* the loop's, which makes and frees calls */
    unsigned n_spare;
    struct api_series *series; /* one a route, then one for what matched none */
    struct idempotency_set running;
    struct embed_cache *questions; /* core/model/embed_cache.h; NULL without an embedding model */
    atomic_uint waiting;           /* <= options.waiting_max; see handler_wait_begin() */
    atomic_uint inflight;          /* calls alive */
    atomic_bool stopping;          /* set by api_set_stopping(), read by the readiness probe */
    atomic_uint_fast64_t ids;      /* request ids made */
    uint64_t id_seed;
    /* Unguessable bytes (fence markers); tests set their own. */
    void (*random)(void *bytes, size_t n);
};

/* Gives back what a call holds beyond its own memory: waiting place, idempotency key. */
void api__settle(struct api_call *call);

#endif
