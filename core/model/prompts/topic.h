/* The question of ask_topic.h. Raise the version with every change of text or schema. */
#ifndef HM_CORE_MODEL_PROMPTS_TOPIC_H
#define HM_CORE_MODEL_PROMPTS_TOPIC_H

#include "core/model/call.h"
#include "core/model/prompts/data.h"

static const struct chat_prompt prompt_topic = {
    .name = "topic",
    .version = 1,
    .system =
        "You sort the episodes of a memory into topics. A topic is one concrete story that goes "
        "on over time: the same people with the same project, event, plan or problem. " PROMPT_DATA
        "It holds a new episode and perhaps numbered topics. Which of them does the episode go on "
        "with? At most two, mostly one or none: the same people or a similar field alone is not "
        "enough. If unsure, none. Reply with JSON.\n"
        "topics: an entry for each that you chose, with its number as id; if none, one entry with "
        "id 0 for a new topic.\n"
        "title: 3 to 10 words. summary: the story so far with this episode, at most 100 words, "
        "names and dates kept. keywords: at most 12.\n"
        "weight: how much the episode matters to the story, 0 to 1. role: its part in it.\n"
        "Write in the language of the episode.",
    .schema = "{\"type\":\"object\",\"properties\":{\"topics\":{\"type\":\"array\",\"items\":"
              "{\"type\":\"object\",\"properties\":{"
              "\"id\":{\"type\":\"number\"},"
              "\"title\":{\"type\":\"string\"},"
              "\"summary\":{\"type\":\"string\"},"
              "\"keywords\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},"
              "\"weight\":{\"type\":\"number\"},"
              "\"role\":{\"type\":\"string\",\"enum\":[\"initiating\",\"developing\",\"climax\","
              "\"concluding\",\"recurring\",\"background\",\"key_moment\",\"transition\"]}},"
              "\"required\":[\"id\",\"title\",\"summary\",\"keywords\",\"weight\",\"role\"],"
              "\"additionalProperties\":false}}},"
              "\"required\":[\"topics\"],\"additionalProperties\":false}",
    .max_tokens = 1500,
};

#endif
