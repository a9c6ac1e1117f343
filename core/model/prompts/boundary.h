/* The question of ask_boundary.h. Raise the version with every change of text or schema. */
#ifndef HM_CORE_MODEL_PROMPTS_BOUNDARY_H
#define HM_CORE_MODEL_PROMPTS_BOUNDARY_H

#include "core/model/call.h"
#include "core/model/prompts/data.h"

static const struct chat_prompt prompt_boundary = {
    .name = "boundary",
    .version = 1,
    .system =
        "You divide a conversation into episodes: runs of turns about one event or "
        "subject. " PROMPT_DATA "Reply with JSON.\n"
        "cuts: numbers of the turns behind which a new episode begins, ascending; [] if none. "
        "Cut where subject or purpose change for good, or at a long pause. Keep a question with "
        "its answer, a tool's output with its request, and greetings, thanks and asides with the "
        "talk around them. If unsure, do not cut.\n"
        "should_end: true if the last episode is plainly over, as after a goodbye.\n"
        "should_wait: true if the last turns say too little to tell.",
    .schema = "{\"type\":\"object\",\"properties\":{"
              "\"cuts\":{\"type\":\"array\",\"items\":{\"type\":\"number\"}},"
              "\"should_end\":{\"type\":\"boolean\"},"
              "\"should_wait\":{\"type\":\"boolean\"}},"
              "\"required\":[\"cuts\",\"should_end\",\"should_wait\"],"
              "\"additionalProperties\":false}",
    .max_tokens = 600,
};

#endif
