/* A hyperedge: a parent node (the key) and its member nodes, each with a role and an importance
 * weight in [0,1] (paper section 3; DESIGN 1). Two kinds: a topic's episode hyperedge
 * (KIND_TOPIC_EDGE: members are episodes) and an episode's fact hyperedge (KIND_EPISODE_EDGE:
 * members are facts).
 *
 * On disk: 7 bytes a member: LE32 id, u8 role, LE16 weight in 1/65535. So a stored weight is always
 * finite and in range (I4). Members are sorted by id, each once.
 *
 * I1  ids ascend strictly.  I2  every member's record names the parent, and the reverse. */
#ifndef HM_CORE_GRAPH_EDGE_H
#define HM_CORE_GRAPH_EDGE_H

#include "core/store.h"

/* Roles of the paper's research code; topic edges use the first block, episode edges the second. */
#define EDGE_ROLE_TABLE(X)                                                                         \
    X(INITIATING, "initiating")                                                                    \
    X(DEVELOPING, "developing")                                                                    \
    X(CLIMAX, "climax")                                                                            \
    X(CONCLUDING, "concluding")                                                                    \
    X(RECURRING, "recurring")                                                                      \
    X(BACKGROUND, "background")                                                                    \
    X(KEY_MOMENT, "key_moment")                                                                    \
    X(TRANSITION, "transition")                                                                    \
    X(CORE, "core")                                                                                \
    X(CONTEXT, "context")                                                                          \
    X(DETAIL, "detail")                                                                            \
    X(TEMPORAL, "temporal")                                                                        \
    X(SPATIAL, "spatial")                                                                          \
    X(CAUSAL, "causal")

enum edge_role {
#define X(name, slug) ROLE_##name,
    EDGE_ROLE_TABLE(X)
#undef X
        ROLE_COUNT
};

struct edge_member {
    uint32_t id;
    uint8_t role;    /* enum edge_role */
    uint16_t weight; /* 1/65535 */
};

struct edge {
    struct edge_member *at; /* in an arena */
    uint32_t n;
};

const char *edge_role_slug(uint8_t role);
/* NaN gives 0.5, the rest is clamped. */
uint16_t weight_pack(double weight);
double weight_unpack(uint16_t weight);

void edge_encode(const struct edge *edge, struct buf *out);
enum err_code edge_decode(struct arena *arena, struct str value, struct edge *edge,
                          struct err *err) MUST_USE;
/* Absent: ERR_OK with n 0. */
enum err_code edge_get(struct store_txn *txn, uint64_t space, enum store_kind kind, uint32_t parent,
                       struct arena *arena, struct edge *edge, struct err *err) MUST_USE;
/* Adds or replaces one member; the order is kept. ERR_EXHAUSTED when memory is short. */
enum err_code edge_set(struct arena *arena, struct edge *edge, struct edge_member member,
                       struct err *err) MUST_USE;
void edge_remove(struct edge *edge, uint32_t id);
void edge_check(const struct edge *edge);

#endif
