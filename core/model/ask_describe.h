/* Describe: title and summary of one episode (DESIGN 6.3). The summary tells who did what and when,
 * with relative dates in both forms, each counted from its own turn.
 *
 * Halving cuts each turn's text first, for the point of a turn mostly stands at its beginning, and
 * then drops turns from the middle: how an episode begins and ends tells most of what it is. */
#ifndef HM_CORE_MODEL_ASK_DESCRIBE_H
#define HM_CORE_MODEL_ASK_DESCRIBE_H

#include "core/model/ask.h"

enum { ASK_TITLE_BYTES = 120, ASK_SUMMARY_BYTES = 800 };

struct ask_describe {
    struct ask_dialogue dialogue;
    uint64_t seed; /* of the fence's key: random */
    /* out, neither empty */
    struct str title, summary;
    struct arena *arena;
};

/* call->purpose is PURPOSE_DESCRIBE. */
void ask_describe(struct model_call *call, struct ask_describe *ask);

#endif
