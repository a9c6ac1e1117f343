/* The question of ask_facts.h. Raise the version with every change of text or schema. */
#ifndef HM_CORE_MODEL_PROMPTS_FACTS_H
#define HM_CORE_MODEL_PROMPTS_FACTS_H

#include "core/model/call.h"
#include "core/model/prompts/data.h"

static const struct chat_prompt prompt_facts = {
    .name = "facts",
    .version = 1,
    .system =
        "You extract from one episode of a conversation the facts that later questions may "
        "need. " PROMPT_DATA PROMPT_DATES "Reply with JSON.\n"
        "facts: at most 12, [] if nothing was stated; nothing that was not said.\n"
        "content: one sentence that stands alone, with who said it and exact names and numbers. "
        "potential: up to 3 questions it answers. keywords: up to 8.\n"
        "turns: numbers of the turns it rests on, an answer's question too.\n"
        "from, to: first and last day it is about, YYYY-MM-DD or \"\". when: that time as said, or "
        "\"\".\n"
        "weight: importance, 0 to 1. role: its part in the episode.\n"
        "same_as: number of a known fact that says the same, else 0. supersedes: number of a known "
        "fact that is no longer true because of it, else 0.\n"
        "Write in the language of the dialogue.",
    .schema = "{\"type\":\"object\",\"properties\":{\"facts\":{\"type\":\"array\",\"items\":"
              "{\"type\":\"object\",\"properties\":{"
              "\"content\":{\"type\":\"string\"},"
              "\"potential\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},"
              "\"keywords\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},"
              "\"turns\":{\"type\":\"array\",\"items\":{\"type\":\"number\"}},"
              "\"from\":{\"type\":\"string\"},"
              "\"to\":{\"type\":\"string\"},"
              "\"when\":{\"type\":\"string\"},"
              "\"weight\":{\"type\":\"number\"},"
              "\"role\":{\"type\":\"string\",\"enum\":[\"core\",\"context\",\"detail\","
              "\"temporal\",\"spatial\",\"causal\"]},"
              "\"same_as\":{\"type\":\"number\"},"
              "\"supersedes\":{\"type\":\"number\"}},"
              "\"required\":[\"content\",\"potential\",\"keywords\",\"turns\",\"from\",\"to\","
              "\"when\",\"weight\",\"role\",\"same_as\",\"supersedes\"],"
              "\"additionalProperties\":false}}},"
              "\"required\":[\"facts\"],\"additionalProperties\":false}",
    .max_tokens = 3000,
};

#endif
