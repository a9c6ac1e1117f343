/* A file of tensors as arbitrary bytes. What is taken for sound must be readable to its last byte,
 * and every tensor must be found by its name. */
#include <stdlib.h>

#include "core/model/builtin/safetensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* In the hope that the compiler does not see that nothing comes of it. */
static uint64_t sum_of(const struct tensor *t)
{
    const uint8_t *at = t->at;
    uint64_t sum = t->rank;
    for (uint64_t i = 0; i < t->bytes; i++)
        sum += at[i];
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err err;
    struct safetensors *file;
    char *copy = malloc(size + 1); /* on a multiple of eight, and with an end that ASan sees */
    if (copy == NULL)
        abort();
    memcpy(copy, data, size);
    enum err_code code = safetensors_of((struct str){copy, size}, "fuzz", &file, &err);
    ASSERT(code == ERR_OK || code == ERR_INVALID);
    if (code == ERR_OK) {
        uint64_t sum = 0;
        safetensors_check(file);
        for (size_t i = 0; i < safetensors_count(file); i++) {
            const struct tensor *t = safetensors_at(file, i);
            ASSERT(safetensors_find(file, t->name) == t);
            sum += sum_of(t);
        }
        ASSERT(sum != UINT64_MAX);
    }
    safetensors_close(file);
    free(copy);
    return 0;
}
