/* A model call: one question to a provider, from its request to a result that was checked, across
 * as many HTTP exchanges as that takes (WIRE D8-D10, DESIGN 13 "model is down", "bad JSON").
 *
 * A call is a small machine without a thread. Whoever runs it (the runner for STEP_CALL, doctor in
 * its own loop) does what it says and asks again:
 *
 *   model_call_advance() -> EXCHANGE  hand call->exchange to the transport; when it is done, again
 *                        -> WAIT      again at call->resume_ms (monotonic); no slot is held
 *                        -> DONE      call->outcome and the result are set
 *
 * What it does by itself, each remembered by the endpoint where it holds for later calls:
 *   - ladder of structured output: json_schema strict -> json_schema -> json_object -> plain; a
 *     400 or 422 that speaks of the format goes one rung down
 *   - a 400 or 422 that names a parameter (max_tokens, temperature, ...) drops or renames it, once
 *   - 404 with a base URL whose path has no version segment: adds /v1, once
 *   - 408, 429, 5xx, no connection: full-jitter back-off, capped, at least Retry-After; a burst
 *     (429 with a short or no Retry-After) pauses this call, an exhausted quota (its error code or
 *     a Retry-After of minutes) the whole endpoint, and calls fail at once meanwhile
 *   - BREAKER_FAILURES exchanges in a row that fail to reach the endpoint (a gateway's 502 to 504
 *     count) open its breaker: calls fail at once for a while that doubles, then one probe goes
 *     through
 *   - context too long (400/413 that says so, finish_reason length): the input is halved by
 *     chat.write with one more halving, or the batch of texts is cut in two; a reply that is cut
 *     off with nothing but thoughts in it gets twice the room first
 *   - the reply: error object inside 200, HTML, empty choices, null content, parts arrays,
 *     reasoning fields, closed and unclosed think blocks, code fences, trailing commas, a truncated
 *     tail; then chat.read checks the object, and what is wrong is asked again, <= REASKS times
 *   - vectors: count, order by index, one dimension, finite, norm > 0; base64 or numbers by the
 *     JSON's type; cut to `dimensions`, normalised
 *   - scores: by index, missing ones last, a sigmoid when any lies outside 0..1
 *
 * What it mends (a rung, a parameter, /v1, a form, a halving, asking again) costs no attempt, since
 * each is bounded by itself; failures do. exchange.done and exchange.arg are the runner's, and
 * kept.
 *
 * A model that is built in (builtin/encoder.h) has no exchanges: its call is done at the first
 * advance, which takes as long as the texts want, on the thread that advances it.
 *
 * Threads: one owner at a time. Memory: everything lives in call->arena, so a call that waits or is
 * done may be dropped. */
#ifndef HM_CORE_MODEL_CALL_H
#define HM_CORE_MODEL_CALL_H

#include "core/model/models.h"

struct json_t; /* jansson's */

enum { MODEL_REASKS = 2, MODEL_HALVINGS = 4, MODEL_BREAKER_FAILURES = 5 };

/* --- chat --- */

struct chat_prompt {
    const char *name;   /* the purpose's slug */
    uint32_t version;   /* raised when the text changes; kept in job records */
    const char *system; /* our instructions */
    const char *schema; /* JSON schema of the reply (object, array, string, number, boolean, enum
                           only; every property required, additionalProperties false); NULL: text */
    uint32_t max_tokens;
};

/* Writes the user's message. `halvings`: how often the dialogue in it must be halved, 0: whole.
 * False: it can't be made smaller. */
typedef bool chat_write_fn(void *arg, unsigned halvings, struct buf *out);
/* Reads the reply into arg's own result. ERR_UNPROCESSABLE: `wrong` says in a sentence or two what
 * the model must do differently; other codes end the call. `reply` dies with the call. */
typedef enum err_code chat_read_fn(void *arg, const struct json_t *reply, struct buf *wrong,
                                   struct err *err);
/* A piece of a streamed answer, on the loop's thread; false: nobody listens any more. */
typedef bool chat_piece_fn(void *arg, struct str piece);

struct chat_ask {
    const struct chat_prompt *prompt;
    chat_write_fn *write;
    chat_read_fn *read; /* prompt->schema != NULL */
    chat_piece_fn
        *piece; /* NULL: not streamed. Once a piece was given the call is not tried again */
    void *arg;
    struct str text; /* out, prompt->schema == NULL: the whole text */
    bool cut;        /* out: finish_reason length, the text ends early */
};

/* --- embed --- */

struct embed_ask {
    const struct str *texts; /* none empty */
    uint32_t n;
    bool is_query;      /* which prefix */
    uint32_t dimension; /* out */
    float *vectors;     /* out: n unit vectors of `dimension`; a text that failed alone has zeros */
    uint32_t failed;    /* out: how many have */
};

/* --- rerank --- */

struct rerank_ask {
    struct str query;
    const struct str *documents; /* at most limits.candidates; empty ones rank last */
    uint32_t n;
    float *scores; /* out: 0..1 each; -1: the provider left it out */
};

/* Why a call failed, for metrics, jobs and doctor. */
#define MODEL_FAILURE_TABLE(X)                                                                     \
    X(NONE, "none")                                                                                \
    X(CONNECT, "connect")   /* no connection, broken off, time-out */                              \
    X(AUTH, "auth")         /* 401, 403 */                                                         \
    X(RATE, "rate")         /* 429, burst */                                                       \
    X(QUOTA, "quota")       /* nothing more until somebody pays */                                 \
    X(SERVER, "server")     /* 5xx, error object, HTML */                                          \
    X(REQUEST, "request")   /* 4xx that nothing could mend: wrong model, wrong path */             \
    X(TOO_LONG, "too_long") /* could not be halved any further */                                  \
    X(REPLY, "reply")       /* replies that never passed the check */                              \
    X(BREAKER, "breaker")   /* not tried: the endpoint was down a moment ago */                    \
    X(STOPPED, "stopped")   /* the daemon stops, cancelled, nobody waits */                        \
    X(DEADLINE, "deadline") /* the call's own */                                                   \
    X(MEMORY, "memory")     /* the call's arena is full */

enum model_failure {
#define X(name, slug) MODEL_FAILURE_##name,
    MODEL_FAILURE_TABLE(X)
#undef X
        MODEL_FAILURES
};
const char *model_failure_slug(enum model_failure failure);

struct model_usage {
    uint32_t calls;                 /* exchanges that reached the provider */
    uint64_t tokens_in, tokens_out; /* as reported; estimated where the reply has no usage */
    bool estimated;
};

enum model_next { MODEL_DONE, MODEL_EXCHANGE, MODEL_WAIT };

struct model_call {
    /* asked */
    enum model_purpose purpose; /* decides which of the three below is read */
    struct chat_ask chat;
    struct embed_ask embed;
    struct rerank_ask rerank;
    struct arena *arena;
    int64_t deadline_ms; /* monotonic; 0: none. Exchanges end by then */
    /* answered */
    enum err_code outcome; /* ERR_UPSTREAM, ERR_UNAVAILABLE, ERR_DEADLINE, ERR_EXHAUSTED (memory) */
    struct err err;
    enum model_failure failure;
    int64_t retry_after_ms; /* advice for the next call, 0: none */
    struct model_usage usage;
    /* what to do */
    struct exchange exchange;
    int64_t resume_ms;
    /* the machine's own; core/model/call_int.h */
    struct call_state *state;
};

/* Zeroes everything but what the caller sets afterwards. */
void model_call_init(struct model_call *call, enum model_purpose purpose, struct arena *arena);
enum model_next model_call_advance(struct models *models, struct model_call *call);
/* For whoever can't carry the exchange out for want of memory: the call ends with ERR_EXHAUSTED at
 * its next advance. */
void model_call_give_up(struct model_call *call);

#endif
