/* What bert_weights.c and bert_run.c share. */
#ifndef HM_CORE_MODEL_BUILTIN_BERT_INT_H
#define HM_CORE_MODEL_BUILTIN_BERT_INT_H

#include "core/model/builtin/bert.h"

struct bert_linear {
    struct matrix w;
    const float *bias;
};

struct bert_layer {
    struct bert_linear query, key, value, mixed, up, down;
    struct rowop_norm after_attention, after_inner;
};

struct bert {
    struct bert_config config;
    struct linear way;
    struct arena *arena; /* layers; vectors that had to be widened */
    struct matrix words, positions, types;
    struct rowop_norm norm; /* of the embeddings */
    struct bert_layer *layers;
    bool has_head;
    struct bert_linear pooler, classifier;
};

#endif
