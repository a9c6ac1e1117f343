/* The call machine's own, shared by call*.c.
 *
 *   advance:  READY --build--> SENT --done--> meter, judge --> READY again, now or later, or DONE
 *
 * What depends on the kind of a call is in three functions a kind (chat, embed, rerank). What a
 * reply means is one table (call_judge.c), whose rows are tried in order until one of them has
 * decided. */
#ifndef HM_CORE_MODEL_CALL_INT_H
#define HM_CORE_MODEL_CALL_INT_H

#include "core/model/call.h"
#include "core/model/chat_json.h"
#include "core/model/embed_json.h"
#include "core/model/models_int.h"
#include "core/model/rerank_json.h"
#include "core/model/stream.h"

/* What comes next; PENDING: not decided yet. */
enum call_verdict { CALL_PENDING, CALL_AGAIN, CALL_LATER, CALL_OVER };

/* What reading a 2xx body came to. */
enum call_read {
    READ_DONE,   /* the result is whole */
    READ_MORE,   /* it is fine, and another exchange follows */
    READ_WRONG,  /* understood, but the model must say it again: the kind has decided */
    READ_FAULT,  /* an error inside: state->seen is set, judge it */
    READ_BAD,    /* not understood: seen.fault.message says what; state->bad is the failure */
    READ_FAILED, /* the kind has ended the call */
    READ_MEMORY
};

enum call_shorten { SHORTEN_TOKENS, SHORTEN_ITEMS }; /* too long; too many */

struct call_state;
struct call_kind {
    /* Writes path and body. False: call_fail() was called. */
    bool (*build)(struct call_state *state, struct buf *path, struct buf *body);
    enum call_read (*read)(struct call_state *state);
    /* Makes the next exchange smaller, or gives up an item; decides. False: it can't. */
    bool (*shorten)(struct call_state *state, enum call_shorten why, enum model_failure failure);
    bool (*sends)(const struct call_state *state, enum endpoint_param param);
};
extern const struct call_kind call__chat, call__embed, call__rerank;

/* What is known of the last exchange. */
struct call_seen {
    int status; /* of HTTP, or told inside the body */
    struct model_fault fault;
    int64_t retry_after_ms; /* -1: none */
    bool html;
};

struct call_state {
    struct models *models;
    struct model_call *call;
    struct endpoint *endpoint;
    const struct call_kind *kind;
    struct endpoint_way way; /* how the exchange at hand is spoken */
    bool sent;               /* an exchange is out */
    enum call_verdict verdict;
    uint32_t failures; /* that count against the attempts */
    struct call_seen seen;
    enum model_failure bad;
    bool understood;         /* its reply was what was asked for, whatever the model said */
    struct chat_usage usage; /* of the exchange at hand */
    /* chat */
    struct buf user;
    bool written; /* `user` holds the message for `halvings` */
    unsigned halvings, reasks, budget;
    bool salvage;            /* nothing smaller is possible: what is cut off is used */
    struct str reply, wrong; /* to be asked again */
    struct chat_request request;
    struct chat_stream stream;
    /* embed and rerank: items [at, at + taken) are out, at most `cap` of them */
    uint32_t at, taken, cap, total;
    uint32_t good, bad_run; /* items that went well; single ones refused in a row */
    bool capped;            /* the provider said that there were too many */
    struct embed_request embed;
    /* rerank */
    bool probing;
    struct str *documents;
    uint32_t *place; /* of each document in the caller's list */
    float *raw;
    struct rerank_request rerank;
};

/* Ends the call. `failure` decides the code. */
void call_fail(struct call_state *state, enum model_failure failure, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
/* The same with what the provider said in state->seen. */
void call_fail_seen(struct call_state *state, enum model_failure failure);
void call_done(struct call_state *state);
/* Counts a failure: later, with back-off, or the end. */
void call_retry(struct call_state *state, enum model_failure failure);
/* Another exchange at once; `reason` for the metrics. */
void call_again(struct call_state *state, enum model_failure reason);
int64_t call_now_ms(const struct call_state *state);

/* What of a call to a provider or to a model of this process is counted. */
void call_count(struct call_state *state, bool fine, int64_t took_ns);

/* call_rerank.c. Sets documents, place, raw and total; false: no memory. */
bool call_rerank_documents(struct call_state *state);
/* raw[0 .. total) as the caller's scores. */
void call_rerank_keep(struct call_state *state, bool logits);

/* call_builtin.c: the whole call. */
void call_builtin(struct call_state *state);
/* call_judge.c: what the exchange that has ended means. */
void call_judge(struct call_state *state);

#endif
