/* The reply of a query, and the parts of it that an answer shares. */
#ifndef HM_API_QUERY_REPLY_H
#define HM_API_QUERY_REPLY_H

#include "api/json_out.h"
#include "api/reply.h"
#include "core/recall/recall.h"

/* What is configured and failed, or is not ready (DESIGN 7); bits. */
enum degraded {
    DEGRADED_BEHIND = 1,  /* min_seq is not processed yet */
    DEGRADED_EMBED = 2,   /* the question has no vector */
    DEGRADED_RERANK = 4,  /* some list has its fused order */
    DEGRADED_REINDEX = 8, /* the space has no vectors of this model yet */
};

/* Whether that was done at all. */
bool query_has_timing(const struct recall_reply *r, enum recall_timing timing);
void query_write_degraded(struct json_out *out, unsigned degraded);
void query_write_context(struct json_out *out, const struct recall_context *context);
/* The whole reply of a query, in the format that was asked for. */
void query_write_reply(struct api_call *call, const struct recall_reply *r, unsigned degraded);

#endif
