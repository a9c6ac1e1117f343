/* Cues in the wording of a turn that a conversation begins, goes on after a pause, or ends
 * (DESIGN 6.2). Short generic lists; a text that none of them fits simply gives no cue. */
#ifndef HM_CORE_INGEST_BOUNDARY_CUES_H
#define HM_CORE_INGEST_BOUNDARY_CUES_H

#include "core/base/str.h"

enum boundary_cue {
    CUE_GREETING = 1, /* opens with hey, hello, good morning … */
    CUE_SINCE = 2,    /* "long time no see", "since we last talked" near the beginning */
    CUE_FAREWELL = 4, /* "talk to you soon", "take care" near the end */
    CUE_QUESTION = 8, /* ends with a question mark: the next turn answers it */
    CUE_ASKS = 16,    /* has a question mark anywhere */
    CUE_CHANGE = 32,  /* turns to something else: "by the way", "and how is …" */
};

/* The cues of a turn's text, or'ed. A trailing remark in brackets ("[shares a photo]") is no part
 * of it. */
unsigned boundary_cues(struct str text);

#endif
