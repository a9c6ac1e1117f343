/* Boundary: where the episodes of a session's buffer end (DESIGN 6.2; paper section 3, should_end
 * and should_wait). One question over the whole numbered buffer instead of one a turn.
 *
 *   turns      1 2 3 4 | 5 6 7 8 9 | 10 11 12        cuts [4, 9], should_end false
 *   ends       4, 9                                  10.. stay in the buffer
 *
 * The last turn is among `ends` only if the model says that the last episode is over and that it
 * could tell. A cut behind an unknown turn, and more cuts than half the turns, are told to the
 * model.
 *
 * Halving keeps the latest turns (two at least), then less of each text: the earlier ones were in
 * an earlier question that found no end among them. Who asked may ask about the rest later. */
#ifndef HM_CORE_MODEL_ASK_BOUNDARY_H
#define HM_CORE_MODEL_ASK_BOUNDARY_H

#include "core/model/ask.h"

struct ask_boundary {
    struct ask_dialogue dialogue;
    uint64_t seed; /* of the fence's key: random */
    /* out */
    uint32_t *ends; /* numbers of turns, ascending */
    uint32_t n_ends;
    bool should_end;  /* the last episode is over */
    bool should_wait; /* the last turns say too little; then should_end is false */
    struct arena *arena;
};

/* call->purpose is PURPOSE_BOUNDARY. */
void ask_boundary(struct model_call *call, struct ask_boundary *ask);

#endif
