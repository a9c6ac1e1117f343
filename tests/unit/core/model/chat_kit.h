/* A chat question for the tests of the call machine: it wants {"n": number} with n > 0, and its
 * dialogue can be halved `halvings` times. */
#ifndef HM_TESTS_UNIT_CHAT_KIT_H
#define HM_TESTS_UNIT_CHAT_KIT_H

#include "tests/fakes/model_script.h"

struct chat_case {
    struct script script;
    struct models_options options;
    struct models *models;
    struct arena *arena;
    struct model_call call;
    struct metrics *metrics;
    unsigned halvings;    /* that write() allows */
    enum err_code refuse; /* read() ends with this code, if it is not ERR_OK */
    long n;               /* what read() has read */
    char pieces[4096];
    unsigned n_pieces, listens_for; /* piece() says no after so many; 0: never */
    unsigned long fail_after;       /* the allocation of the next call that fails; 0: none */
};

/* Options may be changed between open and the first ask. */
void chat_open(struct chat_case *c, const struct script_reply *replies, unsigned n);
void chat_close(struct chat_case *c);
/* Runs one call: structured, as text, as a stream. */
void chat_ask_object(struct chat_case *c);
void chat_ask_text(struct chat_case *c);
void chat_ask_stream(struct chat_case *c);

/* The call's outcome and how many exchanges all calls of the case have made. */
void chat_expect(const struct chat_case *c, enum model_failure failure, unsigned exchanges);
/* The body of exchange i holds, or does not hold, this. */
void chat_sent(const struct chat_case *c, unsigned i, const char *text);
void chat_not_sent(const struct chat_case *c, unsigned i, const char *text);

/* {"choices":[{"message":{"content":TEXT}, ...}]}; `text` is a JSON string's inside. */
#define SAYS(text)                                                                                 \
    {                                                                                              \
        .status = 200, .body = "{\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\","   \
                               "\"content\":\"" text "\"},\"finish_reason\":\"stop\"}],"           \
                               "\"usage\":{\"prompt_tokens\":11,\"completion_tokens\":7}}"         \
    }
#define CUT(text)                                                                                  \
    {                                                                                              \
        .status = 200, .body = "{\"choices\":[{\"message\":{\"content\":\"" text "\"},"            \
                               "\"finish_reason\":\"length\"}]}"                                   \
    }
#define REFUSES(code, text)                                                                        \
    {                                                                                              \
        .status = code, .body = "{\"error\":{\"message\":\"" text "\"}}"                           \
    }

#endif
