/* One sample of each record, and its codec behind one pair of functions, so that the same tests run
 * over all of them. */
#ifndef HM_TESTS_UNIT_GRAPH_RECORDS_H
#define HM_TESTS_UNIT_GRAPH_RECORDS_H

#include "core/graph/edge.h"
#include "core/graph/episode.h"
#include "core/graph/fact.h"
#include "core/graph/space.h"
#include "core/graph/topic.h"
#include "core/graph/turn.h"

struct record_codec {
    const char *name;
    /* Encodes the full sample, or one with nothing in it. */
    void (*sample)(bool full, struct buf *out);
    /* Decodes, and encodes what came out into `again`. */
    enum err_code (*decode)(struct arena *arena, struct str value, struct buf *again,
                            struct err *err);
};

extern const struct record_codec record_codecs[];
extern const size_t n_record_codecs;

struct space sample_space(void);
struct turn sample_turn(void);
struct edge sample_edge(void);
struct episode sample_episode(void);
struct topic sample_topic(void);
struct fact sample_fact(void);

#endif
