/* How turns, episodes, topics and facts look in JSON: one place, so that a list, a single node and
 * a query's reply show the same members in the same form (DESIGN 10). A query adds `score`; `seq`
 * and what only the store's owner asks for stand in lists and single nodes.
 *
 * Numbers here are ids as shown; times RFC 3339 UTC, but a fact's time.from and time.to, which are
 * calendar dates of its turn's own offset. */
#ifndef HM_API_NODES_H
#define HM_API_NODES_H

#include "api/json_out.h"
#include "core/graph/edge.h"
#include "core/graph/episode.h"
#include "core/graph/fact.h"
#include "core/graph/topic.h"
#include "core/graph/turn.h"

/* One open object each; the caller may add members and closes it with out_end(). */
void nodes_turn(struct json_out *out, struct arena *arena, const struct turn *turn);
/* `score` NULL: not in a query. `hide` leaves the summary out as null (as_of). */
void nodes_topic(struct json_out *out, const struct topic *topic, const float *score, bool hide);
void nodes_episode(struct json_out *out, const struct episode *episode, const float *score,
                   bool hide);
/* `turn_ids` are the shown ids of fact->sources, in their order. */
void nodes_fact(struct json_out *out, const struct fact *fact, const float *score,
                const struct str *turn_ids);

/* "name":["episode_1", …] */
void nodes_ids(struct json_out *out, const char *name, const char *prefix, const uint32_t *ids,
               uint32_t n);
void nodes_strs(struct json_out *out, const char *name, const struct str *strs, uint32_t n);
/* The hyperedge: "name_ids":[…] is nodes_ids() of its members; this is
 * "members":[{"id","role","weight"}, …]. */
void nodes_members(struct json_out *out, const struct edge *edge, const char *prefix);
void nodes_edge_ids(struct json_out *out, const char *name, const char *prefix,
                    const struct edge *edge);

/* Shown ids of a fact's sources, in the arena; a source that is gone is shown by its number. */
enum err_code nodes_source_ids(struct store_txn *txn, uint64_t space, struct arena *arena,
                               const struct fact *fact, struct str **ids, struct err *err) MUST_USE;
/* "turn_ids":[…] of an episode, read from its session's row. */
enum err_code nodes_episode_turns(struct json_out *out, struct store_txn *txn, uint64_t space,
                                  struct arena *arena, const struct episode *episode,
                                  struct err *err) MUST_USE;
/* The turn with this shown id, the client's or ours. ERR_NOT_FOUND when there is none. */
enum err_code nodes_find_turn(struct store_txn *txn, uint64_t space, struct str shown, uint32_t *n,
                              struct err *err) MUST_USE;

#endif
