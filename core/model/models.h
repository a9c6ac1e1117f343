/* The models that this process may call: endpoints, what they are for, and what was learned of them
 * (DESIGN 1 provider; WIRE D8-D10).
 *
 *   purpose ----------> endpoint: address + limits (const) | learned state (locked)
 *   boundary describe                                        rung of the ladder, rejected
 *   topic facts answer   chat, or an override of it          parameters, "/v1" to be added,
 *   embed                embed                               breaker, quota pause
 *   rerank               rerank
 *
 * An endpoint that several purposes share is one: purposes of one kind whose address is the same
 * (URL, key, model, headers, body) learn together and share slots. Another model at the same URL
 * is another endpoint: which parameters are refused is the model's. What was learned lives in
 * memory only: a restart learns anew, at a price of one or two refused calls.
 *
 * Threads: any; the learned state has one lock an endpoint, held for a few instructions. Memory:
 * models_new() copies what it is given. */
#ifndef HM_CORE_MODEL_MODELS_H
#define HM_CORE_MODEL_MODELS_H

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/metrics.h"
#include "core/model/builtin/encoder.h"
#include "core/model/exchange.h"

#define MODEL_PURPOSE_TABLE(X)                                                                     \
    X(BOUNDARY, "boundary", CHAT)                                                                  \
    X(DESCRIBE, "describe", CHAT)                                                                  \
    X(TOPIC, "topic", CHAT)                                                                        \
    X(FACTS, "facts", CHAT)                                                                        \
    X(ANSWER, "answer", CHAT)                                                                      \
    X(EMBED, "embed", EMBED)                                                                       \
    X(RERANK, "rerank", RERANK)

enum model_kind { MODEL_CHAT, MODEL_EMBED, MODEL_RERANK, MODEL_KINDS };
enum model_purpose {
#define X(name, slug, kind) PURPOSE_##name,
    MODEL_PURPOSE_TABLE(X)
#undef X
        MODEL_PURPOSES
};

enum rerank_format {
    RERANK_PROBE, /* tries the forms below in turn, once, and remembers */
    /* {model, query, documents, top_n}; Jina, vLLM, llama.cpp, Infinity, SiliconFlow */
    RERANK_COHERE,
    RERANK_TEI,    /* {query, texts} -> [{index, score}] */
    RERANK_VOYAGE, /* {model, query, documents, top_k} -> data */
    /* base URL .../api/v1: {model, input:{query, documents}, parameters} -> output.results */
    RERANK_DASHSCOPE,
    RERANK_DEEPINFRA, /* base URL .../v1: inference/{model}, {queries, documents} -> scores */
    RERANK_FORMATS
};
const char *model_rerank_slug(enum rerank_format format);

/* Where a model is and how it is spoken to. Empty strings: not given. */
struct model_address {
    /* In this process, of MODEL_EMBED and MODEL_RERANK; NULL: remote. Borrowed, it outlives the
     * models. Then of the others only `model` counts, a name for people. */
    const struct encoder *encoder;
    struct str base_url; /* "https://host/v1"; path segments are joined to it, never replaced */
    struct str api_key;  /* sent as Authorization: Bearer */
    struct str model;
    struct str extra_headers;     /* "Name: value" lines joined by line feeds */
    struct str extra_body;        /* a JSON object whose members are added to each request */
    int64_t connect_ms, total_ms; /* of one exchange */
    int64_t idle_ms;              /* between two pieces of a streamed reply; others have none */
    uint32_t concurrency;         /* exchanges at once, >= 1; of the first purpose of an endpoint */
    uint32_t attempts; /* failures of a call at most, >= 1. What a call mends (a rung, a parameter,
                          /v1, halving, asking again) does not count: each is bounded by itself */
};

struct chat_limits {
    uint32_t max_tokens;  /* of a reply; 0: what the purpose asks for */
    float temperature;    /* < 0: not sent */
    struct str reasoning; /* reasoning_effort; empty: not sent */
};

struct embed_limits {
    uint32_t batch, batch_tokens; /* texts and estimated tokens a request */
    uint32_t text_tokens;         /* a longer text is cut into pieces by the caller */
    uint32_t dimensions;          /* 0: the model's own; else vectors are cut and normalised here */
    bool send_dimensions;         /* ask the server for that many as well */
    struct str query_prefix, document_prefix; /* put before each text, as they are */
};

struct rerank_limits {
    enum rerank_format format;
    uint32_t candidates; /* documents a call */
    uint32_t chars;      /* of a document; longer ones are cut */
    int64_t deadline_ms; /* of the whole call; then the fused order stands */
};

struct models_options {
    /* base_url empty and encoder NULL: the purpose has no model */
    struct model_address address[MODEL_PURPOSES];
    struct chat_limits chat;
    struct embed_limits embed;
    struct rerank_limits rerank;
    const struct clock *clock;
    const struct log *log;   /* may be NULL */
    struct metrics *metrics; /* may be NULL */
    uint64_t seed;           /* of the jitter */
};

struct models;

/* ERR_INVALID names the parameter: a URL that is none, an extra body that is no JSON object, a
 * header with a line break. */
enum err_code models_new(const struct models_options *options, struct models **out,
                         struct err *err) MUST_USE;
/* The daemon stops: every call, present and future, ends at its next advance with
 * MODEL_FAILURE_STOPPED. The transport ends the exchanges that are under way. */
void models_stop(struct models *models);
void models_free(struct models *models); /* no call may be alive; NULL is fine */

bool models_has(const struct models *models, enum model_purpose purpose);
/* It runs in this process: its calls are done at their first advance, on the caller's thread. */
bool models_is_builtin(const struct models *models, enum model_purpose purpose);
/* Some model is spoken to over the network. */
bool models_has_remote(const struct models *models);
/* True when chat serves the stages: boundary, describe, topic and facts all have a model. */
bool models_has_stages(const struct models *models);
const struct model_address *models_address(const struct models *models, enum model_purpose purpose);
const struct embed_limits *models_embed(const struct models *models);
const struct rerank_limits *models_rerank(const struct models *models);

/* For the transport: how many exchanges at once each endpoint may have. */
uint32_t models_endpoints(const struct models *models);
uint32_t models_endpoint_slots(const struct models *models, uint32_t endpoint);

/* Which of them a purpose uses; the purpose must have a model. */
uint32_t models_endpoint_of(const struct models *models, enum model_purpose purpose);

/* What was learned of a purpose's endpoint, for people. */
struct model_learned {
    const char *structured;  /* the rung of the ladder; NULL: no structured reply came yet */
    const char *rerank;      /* the form; NULL: not known, or no reranker */
    const char *dropped[16]; /* parameters that the provider refused */
    uint32_t n_dropped;
    bool version;   /* /v1 is added to the base URL */
    uint32_t batch; /* texts a request that it takes; 0: no limit was met */
};
void models_learned(const struct models *models, enum model_purpose purpose,
                    struct model_learned *out);

/* What makes vectors comparable (DESIGN 1, generation), as one line without secrets: base URL's
 * host and path, or the fingerprint of a model that is built in; model, dimension, prefixes. 64-bit
 * hash of it in *id. `dimension` as it was observed. */
void models_embed_identity(const struct models *models, uint32_t dimension, struct buf *line,
                           uint64_t *id);

const char *model_purpose_slug(enum model_purpose purpose);
enum model_kind model_purpose_kind(enum model_purpose purpose);

#endif
