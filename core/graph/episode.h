/* An episode: a run of turns of one session that tell one event (paper level 2).
 *
 * Its turns are those of its session with first_n <= n <= last_n (contiguous in arrival order
 * within the session, invariant 1 of DESIGN 5); deleted ones are simply gone. */
#ifndef HM_CORE_GRAPH_EPISODE_H
#define HM_CORE_GRAPH_EPISODE_H

#include "core/store.h"

enum { EPISODE_DEGRADED = 1, EPISODE_TOLD = 2 /* a model wrote its title and summary */ };

struct episode {
    uint64_t seq;
    uint32_t id;  /* from the key */
    uint32_t doc; /* its document in the episode layer; a rewritten text takes a new one */
    uint32_t session_no;
    uint32_t first_n, last_n;
    uint32_t turns;           /* live ones */
    int64_t start_ms, end_ms; /* least and greatest event time of its turns */
    int16_t offset_min;       /* of its first turn: dates are shown in it */
    uint8_t flags;
    uint8_t n_topics; /* 1..LIMIT_TOPICS_PER_EPISODE; 0: a draft (core/ingest/draft.h) */
    uint32_t topics[2];
    struct str session;
    struct str title;
    struct str summary;
    struct str participants; /* names joined by line feeds */
};

void episode_encode(const struct episode *episode, struct buf *out);
enum err_code episode_decode(struct str value, uint32_t id, struct episode *episode,
                             struct err *err) MUST_USE;
/* Absent: ERR_OK with id 0. */
enum err_code episode_get(struct store_txn *txn, uint64_t space, uint32_t id,
                          struct episode *episode, struct err *err) MUST_USE;

#endif
