/* What safetensors.c and its codec share. */
#ifndef HM_CORE_MODEL_BUILTIN_SAFETENSORS_INT_H
#define HM_CORE_MODEL_BUILTIN_SAFETENSORS_INT_H

#include "core/model/builtin/safetensors.h"

struct safetensors {
    const char *name;     /* of the file, for messages; only while it is opened */
    struct str mapped;    /* what is unmapped at the end; absent: the caller's bytes */
    struct str header;    /* JSON */
    struct str data;      /* I1 */
    struct tensor *table; /* I2 */
    size_t n;
};

/* Fills the table from the header, in its order; each tensor is checked by itself (I1). */
enum err_code safetensors__index(struct safetensors *file, struct err *err);

#endif
