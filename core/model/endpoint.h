/* One endpoint: an address of one kind of model, and what was learned of it.
 *
 * The constant part is made by endpoint_init(). The learned part, a "way" to speak to it and the
 * state of its breaker and its quota, has one lock, held for a few instructions and never over
 * logging. A call copies the way when it builds an exchange, changes its copy when the provider
 * objects, and gives it back when an exchange has succeeded with it: so only what works is
 * learned, and calls that learn at once don't overshoot each other.
 *
 *   breaker   closed --BREAKER_FAILURES in a row--> open for 5 s --a probe fails--> twice as long
 *             open   --anything reached the provider--> closed
 *   quota     free --exhausted--> paused until a time --> free
 *
 * A probe that never comes back (its call was given up) blocks nobody: another is let through
 * after the same time again. Threads: any. Memory: the arena given to endpoint_init(). */
#ifndef HM_CORE_MODEL_ENDPOINT_H
#define HM_CORE_MODEL_ENDPOINT_H

#include <pthread.h>

#include "core/model/models.h"
#include "core/model/url.h"

enum chat_rung { RUNG_STRICT, RUNG_SCHEMA, RUNG_OBJECT, RUNG_PLAIN, RUNGS };

/* Parameters that a provider may refuse: symbol, name on the wire. MAX_TOKENS refused means that
 * max_completion_tokens is sent instead, QUERIES that the query is sent once a document. */
#define ENDPOINT_PARAM_TABLE(X)                                                                    \
    X(MAX_TOKENS, "max_tokens")                                                                    \
    X(MAX_COMPLETION_TOKENS, "max_completion_tokens")                                              \
    X(TEMPERATURE, "temperature")                                                                  \
    X(REASONING, "reasoning_effort")                                                               \
    X(STREAM_OPTIONS, "stream_options")                                                            \
    X(ENCODING, "encoding_format")                                                                 \
    X(DIMENSIONS, "dimensions")                                                                    \
    X(TOP_N, "top_n")                                                                              \
    X(TOP_K, "top_k")                                                                              \
    X(RETURN_DOCUMENTS, "return_documents")                                                        \
    X(QUERIES, "queries")

enum endpoint_param {
#define X(symbol, name) PARAM_##symbol,
    ENDPOINT_PARAM_TABLE(X)
#undef X
        ENDPOINT_PARAMS
};

struct endpoint_way {
    enum chat_rung rung;
    bool proven;             /* a structured reply has come on this rung */
    uint32_t dropped;        /* bits of enum endpoint_param */
    bool version;            /* /v1 is added to the base URL */
    enum rerank_format form; /* RERANK_PROBE: not known yet */
    uint32_t batch;          /* texts a request that it takes; 0: as configured */
};

struct endpoint {
    /* constant */
    uint32_t index;
    enum model_kind kind;
    struct model_address address;
    struct url url;
    struct str shown; /* the base URL without its query, for people */
    struct exchange_header *headers;
    uint32_t n_headers;
    const struct log *log;
    /* learned */
    pthread_mutex_t lock;
    struct endpoint_way way;
    uint32_t failures; /* in a row, to reach it */
    bool open, probing, paused;
    int64_t open_ms;                 /* how long it was opened for */
    int64_t open_until, pause_until; /* monotonic ms */
};

/* ERR_INVALID names the member of the address that is wrong: base_url, api_key, extra_headers,
 * extra_body. What `address` points at must live in the arena already. */
enum err_code endpoint_init(struct endpoint *endpoint, struct arena *arena,
                            const struct model_address *address, const struct log *log,
                            struct err *err) MUST_USE;
void endpoint_fini(struct endpoint *endpoint);

struct endpoint_way endpoint_way(struct endpoint *endpoint);
/* What worked; logs what is new. */
void endpoint_learn(struct endpoint *endpoint, const struct endpoint_way *way);

enum admission { ADMITTED, REFUSED_BREAKER, REFUSED_QUOTA };
/* Asked before each exchange. Refused: *left_ms until another try makes sense. */
enum admission endpoint_admit(struct endpoint *endpoint, int64_t now_ms, int64_t *left_ms);
/* The provider answered; whatever it said, it is there. */
void endpoint_reached(struct endpoint *endpoint);
void endpoint_unreached(struct endpoint *endpoint, int64_t now_ms);
void endpoint_pause(struct endpoint *endpoint, int64_t now_ms, int64_t pause_ms);

const char *endpoint_rung_slug(enum chat_rung rung);
const char *endpoint_param_name(enum endpoint_param param);

#endif
