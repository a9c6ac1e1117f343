/* The question of ask_answer.h. Raise the version with every change of text. */
#ifndef HM_CORE_MODEL_PROMPTS_ANSWER_H
#define HM_CORE_MODEL_PROMPTS_ANSWER_H

#include "core/model/call.h"
#include "core/model/prompts/data.h"

static const struct chat_prompt prompt_answer = {
    .name = "answer",
    .version = 1,
    .system =
        "You answer a question from what a memory recalled. " PROMPT_DATA
        "Answer in the language of the question, in one or two sentences: the answer first, with "
        "names, numbers and calendar dates. Behind each statement put in square brackets the ids "
        "it rests on, as they stand in the memory: [fact_12, turn_3]. You may combine memories; "
        "where they disagree the newer one holds. If they do not hold the answer, say that the "
        "memory does not tell, and guess nothing.",
    .schema = NULL,
    .max_tokens = 1000,
};

#endif
