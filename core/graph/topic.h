/* A topic: a story that goes on over weeks (paper level 3). Its episodes are the members of its
 * episode hyperedge. At LIMIT_TOPIC_EPISODES members a successor is opened; `chain` is the id of
 * the first topic of the line, and a chain counts as one topic in retrieval. */
#ifndef HM_CORE_GRAPH_TOPIC_H
#define HM_CORE_GRAPH_TOPIC_H

#include "core/store.h"

enum { TOPIC_DEGRADED = 1, TOPIC_TOLD = 2 /* a model wrote its title and summary */ };

struct topic_keyword {
    struct str text; /* as shown */
    uint64_t term;   /* hash, 40 bits; what the built-in decision compares */
    float weight;    /* > 0; the built-in decision's, e.g. tf-idf mass */
};

struct topic {
    uint64_t seq;
    uint32_t id;       /* from the key */
    uint32_t doc;      /* its document in the topic layer; each rewriting takes a new one */
    uint32_t chain;    /* first topic of the line; its own id when it has no predecessor */
    uint32_t previous; /* `continues` that topic; 0 none */
    uint32_t next;     /* continued by; 0 none */
    uint32_t episodes; /* members of its hyperedge */
    int64_t start_ms, end_ms;
    uint8_t flags;
    struct str title;
    struct str summary;
    uint16_t n_keywords;            /* <= LIMIT_TOPIC_KEYWORDS, heaviest first */
    struct topic_keyword *keywords; /* in the arena given to decode */
};

void topic_encode(const struct topic *topic, struct buf *out);
enum err_code topic_decode(struct arena *arena, struct str value, uint32_t id, struct topic *topic,
                           struct err *err) MUST_USE;
/* Absent: ERR_OK with id 0. */
enum err_code topic_get(struct store_txn *txn, uint64_t space, uint32_t id, struct arena *arena,
                        struct topic *topic, struct err *err) MUST_USE;
/* The last link of the chain from `id` on: the one that can be joined. Absent: id 0. */
enum err_code topic_last(struct store_txn *txn, uint64_t space, uint32_t id, struct arena *arena,
                         struct topic *topic, struct err *err) MUST_USE;

#endif
