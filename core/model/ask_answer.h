/* Answer: a question answered from recalled memory, in the question's language (DESIGN 7). The
 * reply is plain text, streamed if somebody listens, with marks of what it rests on:
 *
 *   She adopted Rex on 1 March 2026 [fact_12, turn_3].
 *
 * The context's lines carry those ids in square brackets; who builds it puts them there. The text
 * is handed on as it is, marks included; ask_answer_citations() lists what they name, only ids that
 * were sent. The question is the one thing that stands outside the fence.
 *
 * Halving keeps the latest lines: a context is in order of time, and what is newer holds where
 * memories disagree. */
#ifndef HM_CORE_MODEL_ASK_ANSWER_H
#define HM_CORE_MODEL_ASK_ANSWER_H

#include "core/model/ask.h"

struct ask_answer {
    struct str question;  /* valid UTF-8, not blank */
    struct str context;   /* valid UTF-8 */
    uint64_t seed;        /* of the fence's key: random */
    chat_piece_fn *piece; /* NULL: not streamed */
    void *piece_arg;
};

/* call->purpose is PURPOSE_ANSWER. The text is call->chat.text. */
void ask_answer(struct model_call *call, struct ask_answer *ask);

/* Indexes into `ids` of what the text cites, each once, in order of appearance. At most `n`.
 * ERR_EXHAUSTED when the arena is full. */
struct ask_citations {
    uint32_t *at;
    uint32_t n;
};
enum err_code ask_answer_citations(struct arena *arena, struct str text, const struct str *ids,
                                   uint32_t n, struct ask_citations *out, struct err *err) MUST_USE;

#endif
