/* The wire forms of rerankers, both ways (WIRE D9).
 *
 * A reply is read whatever form was asked in: its list under `results`, `data`, `output.results`,
 * `scores` or bare; a score under relevance_score or score, placed by `index`, by its position only
 * where the list is of plain numbers. What is missing stays RERANK_MISSING. */
#ifndef HM_CORE_MODEL_RERANK_JSON_H
#define HM_CORE_MODEL_RERANK_JSON_H

#include <math.h>

#include "core/model/chat_json.h"

struct rerank_request {
    struct str model, query;
    const struct str *documents;
    uint32_t n;
    struct endpoint_way way; /* way.form is not RERANK_PROBE */
    struct str extra;
};
bool rerank_json_write(const struct rerank_request *request, struct buf *out);
bool rerank_json_sends(const struct rerank_request *request, enum endpoint_param param);
/* The path of the form behind the base URL. */
bool rerank_json_path(enum rerank_format form, struct str model, struct buf *out);

enum rerank_shape { RERANKED_BROKEN, RERANKED_FAULT, RERANKED_WRONG, RERANKED_SCORES };
#define RERANK_MISSING (-HUGE_VALF)

struct rerank_reply {
    enum rerank_shape shape;
    const char *wrong; /* RERANKED_WRONG: in a few words */
    struct chat_usage usage;
    struct model_fault fault;
};
/* Raw scores into scores[n]. False: memory is short. */
bool rerank_json_read(struct arena *arena, struct str body, uint32_t n, float *scores,
                      struct rerank_reply *out);

#endif
