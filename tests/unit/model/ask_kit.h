/* Asks a question without a provider: what would be sent, and what a reply becomes. */
#ifndef HM_TESTS_UNIT_MODEL_ASK_KIT_H
#define HM_TESTS_UNIT_MODEL_ASK_KIT_H

#include "core/model/ask.h"

struct asked {
    struct model_call call;
    struct buf wrong;
    struct err err;
};

void asked_init(struct asked *asked, enum model_purpose purpose);
void asked_fini(struct asked *asked);

/* The user's message; .at NULL: it can't be made smaller. */
struct str asked_write(struct asked *asked, unsigned halvings);
/* `json` has ' in place of ". */
enum err_code asked_read(struct asked *asked, const char *json);
/* The reply is refused with just this sentence. */
void asked_refuses(struct asked *asked, const char *json, const char *wrong);
/* asked_read() while the n-th allocation fails. */
enum err_code asked_read_failing(struct asked *asked, const char *json, unsigned long nth);

void expect_text(struct str got, const char *want);
uint32_t count_of(struct str text, const char *part);

/* 8 May 2023, 13:56 in Berlin, and minutes after it. */
#define MAY_8 INT64_C(1683546960000)
#define MINUTES(n) (INT64_C(60000) * (n))
#define TURN(n, who, what, minutes)                                                                \
    {                                                                                              \
        .number = (n), .speaker = STR(who), .role = STR(""), .text = STR(what),                    \
        .time_ms = MAY_8 + MINUTES(minutes), .offset_min = 120                                     \
    }

#endif
