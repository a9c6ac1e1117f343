/* Shared by models.c and the files of the call machine, nobody else. */
#ifndef HM_CORE_MODEL_MODELS_INT_H
#define HM_CORE_MODEL_MODELS_INT_H

#include <stdatomic.h>

#include "core/model/endpoint.h"

struct models {
    struct arena *arena;
    struct model_address address[MODEL_PURPOSES];
    struct endpoint *endpoint[MODEL_PURPOSES]; /* NULL: the purpose has no model */
    struct endpoint endpoints[MODEL_PURPOSES];
    uint32_t n;
    struct chat_limits chat;
    struct embed_limits embed;
    struct rerank_limits rerank;
    const struct clock *clock;
    const struct log *log;
    struct metrics *metrics;
    atomic_bool stopped; /* relaxed: seen at the next advance of each call */
    uint64_t seed;
    atomic_uint_fast64_t draws; /* numbers taken from the seed's stream; any order will do */
};

#endif
