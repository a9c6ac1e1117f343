/* Topic: which stories an episode goes on with, and how they read with it (DESIGN 6.4). Choice,
 * new title, summary and keywords, and the member's weight and role are one answer.
 *
 * The paper's three cases are told apart in `outcome`. Where there was no candidate the reply can
 * only mean a new topic, whatever id it gives. Else ids that were not sent are dropped, and a reply
 * that has no other is told so. A new topic beside one that is joined is dropped too; of more than
 * two the heaviest stay.
 *
 * Halving sends fewer candidates, the last ones (the least alike) go first; then less of each
 * text. */
#ifndef HM_CORE_MODEL_ASK_TOPIC_H
#define HM_CORE_MODEL_ASK_TOPIC_H

#include "core/base/limits.h"
#include "core/graph/edge.h"
#include "core/model/ask.h"

enum {
    ASK_CANDIDATES_MAX = 8,
    ASK_TOPIC_TITLE_BYTES = 120,
    ASK_TOPIC_SUMMARY_BYTES = 900,
    ASK_TOPIC_KEYWORDS = 12,
    ASK_KEYWORD_BYTES = 48,
};

/* A topic that may be joined; best first. */
struct ask_candidate {
    uint32_t number; /* what the model calls it; > 0, each once */
    struct str title, summary;
    struct str keywords; /* joined by line feeds */
    int64_t last_ms;     /* of its latest episode */
};

enum ask_topic_outcome {
    ASK_TOPIC_ALONE, /* there was no candidate */
    ASK_TOPIC_NEW,   /* none fits */
    ASK_TOPIC_FITS,
};

/* How a topic reads with the episode in it. */
struct ask_topic_text {
    uint32_t number; /* of a candidate; 0: a new topic */
    struct str title, summary;
    struct str keywords; /* joined by line feeds */
    double weight;       /* of the episode in it, 0..1 */
    uint8_t role;        /* ROLE_INITIATING .. ROLE_TRANSITION */
};

struct ask_topic {
    struct str title, summary;
    struct str keywords; /* joined by line feeds */
    int64_t start_ms;    /* of the episode */
    int16_t offset_min;
    const struct ask_candidate *candidates;
    uint32_t n_candidates; /* <= ASK_CANDIDATES_MAX */
    uint64_t seed;         /* of the fence's key: random */
    /* out */
    enum ask_topic_outcome outcome;
    struct ask_topic_text topics[LIMIT_TOPICS_PER_EPISODE];
    uint32_t n_topics; /* >= 1 */
    uint32_t sent;     /* candidates that were sent */
    struct arena *arena;
};

/* call->purpose is PURPOSE_TOPIC. */
void ask_topic(struct model_call *call, struct ask_topic *ask);

#endif
