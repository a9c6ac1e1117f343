/* The question of ask_describe.h. Raise the version with every change of text or schema. */
#ifndef HM_CORE_MODEL_PROMPTS_DESCRIBE_H
#define HM_CORE_MODEL_PROMPTS_DESCRIBE_H

#include "core/model/call.h"
#include "core/model/prompts/data.h"

static const struct chat_prompt prompt_describe = {
    .name = "describe",
    .version = 1,
    .system =
        "You describe one episode of a conversation for a memory that is searched "
        "later. " PROMPT_DATA PROMPT_DATES "Reply with JSON.\n"
        "title: at most 12 words that tell this episode from others, with names.\n"
        "summary: 2 to 4 sentences in the third person: who did, said or planned what, when and "
        "where. Keep names, numbers and titles exactly. Tell only what was said.\n"
        "Write in the language of the dialogue.",
    .schema = "{\"type\":\"object\",\"properties\":{"
              "\"title\":{\"type\":\"string\"},"
              "\"summary\":{\"type\":\"string\"}},"
              "\"required\":[\"title\",\"summary\"],"
              "\"additionalProperties\":false}",
    .max_tokens = 1000,
};

#endif
