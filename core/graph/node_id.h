/* Ids as clients see them: "topic_3 episode_5 fact_88 turn_412" (DESIGN 10). A prefix here is the
 * word without the underscore. Ids are 1 to UINT32_MAX, written without leading zeros, so that each
 * id has one spelling. */
#ifndef HM_CORE_GRAPH_NODE_ID_H
#define HM_CORE_GRAPH_NODE_ID_H

#include "core/base/str.h"

#define NODE_TURN "turn"
#define NODE_FACT "fact"
#define NODE_EPISODE "episode"
#define NODE_TOPIC "topic"

enum { NODE_ID_MAX = 24 }; /* the longest with its NUL: "episode_4294967295" */

/* False when `shown` is not "<prefix>_<id>". */
bool node_id_parse(struct str shown, const char *prefix, uint32_t *id);
/* Writes "<prefix>_<id>" with a NUL; returns the length without it. */
size_t node_id_write(const char *prefix, uint32_t id, char out[NODE_ID_MAX]);
/* The same in the arena; .at NULL when memory is short. */
struct str node_id_str(struct arena *arena, const char *prefix, uint32_t id);
/* True for one of the four words, an underscore and digits only, also where they are no id of ours
 * ("turn_007"): a client may not use such a name for its own turn. */
bool node_id_is_reserved(struct str text);

#endif
