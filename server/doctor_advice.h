/* What to do about a model call that failed: one table of circumstances and sentences. */
#ifndef HM_SERVER_DOCTOR_ADVICE_H
#define HM_SERVER_DOCTOR_ADVICE_H

#include "core/model/call.h"

/* What is known of a call that has ended. */
struct doctor_finding {
    const struct model_call *call;
    const struct model_address *address;
    struct model_learned learned;
    bool in_container;
};

/* One line each, behind `head`. */
void doctor_advise(const struct doctor_finding *finding, const char *head, struct buf *out);
/* Whether this process runs in a container. */
bool doctor_in_container(void);

#endif
