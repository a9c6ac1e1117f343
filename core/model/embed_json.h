/* The wire form of /embeddings, both ways (WIRE D10).
 *
 * A reply's vectors are floats as numbers or as base64 of little-endian floats, told by the type of
 * the JSON, never by what was asked for. They come under `data`, `embeddings` or as a bare list; by
 * `index` where that is there. What is read is checked: as many as texts, indices a permutation,
 * one dimension. A vector that is not finite or has no length is a failed item. */
#ifndef HM_CORE_MODEL_EMBED_JSON_H
#define HM_CORE_MODEL_EMBED_JSON_H

#include "core/model/chat_json.h"

struct embed_request {
    struct str model;
    const struct str *texts;
    uint32_t n;
    struct str prefix;
    uint32_t dimensions; /* 0: not sent */
    struct endpoint_way way;
    struct str extra;
};
bool embed_json_write(const struct embed_request *request, struct buf *out);
bool embed_json_sends(const struct embed_request *request, enum endpoint_param param);

enum embed_shape { EMBED_BROKEN, EMBED_FAULT, EMBED_WRONG, EMBED_VECTORS };

struct embed_reply {
    enum embed_shape shape;
    const char *wrong;  /* EMBED_WRONG: in a few words */
    uint32_t dimension; /* EMBED_VECTORS; at most EMBED_DIMENSION_MAX */
    float *vectors;     /* n of them, unit length; of a failed item all zeros */
    uint32_t failed;
    struct chat_usage usage;
    struct model_fault fault;
};
enum { EMBED_DIMENSION_MAX = 65536 };
/* `keep`: vectors are cut to so many numbers; 0: all. False: memory is short. */
bool embed_json_read(struct arena *arena, struct str body, uint32_t n, uint32_t keep,
                     struct embed_reply *out);

#endif
