/* Base rows of new documents. */
#include <math.h>

#include "core/index/vectors_int.h"

/* Scaled to length 1, whatever length it had. */
static float quantise(const struct kernels *kernels, const float *row, uint32_t dim, int8_t *out)
{
    if (kernels->quantise(row, dim, out) == 0)
        return 0;
    return (float)(1 / sqrt((double)kernels->dot_i8(out, out, dim)));
}

/* `values` is a stride of zeros. False: it is no vector. */
static bool make_row(const struct vectors_docs *docs, uint32_t i, const struct kernels *kernels,
                     uint32_t dim, struct vectors_row *row, int8_t *values)
{
    *row = (struct vectors_row){.node = docs->docs[i], .values = values};
    if (docs->is_lexical != NULL && docs->is_lexical[i])
        return true;
    row->scale = quantise(kernels, docs->rows + (size_t)i * dim, dim, values);
    return row->scale != 0;
}

static void docs_check(const struct vectors_generation *generation, const struct vectors_docs *docs)
{
    ASSERT(docs->layer < LAYERS && docs->n <= VECTORS_ADD_MAX);
    uint32_t least = generation->embedded[docs->layer];
    for (uint32_t i = 0; i < docs->n; i++) {
        ASSERT(docs->docs[i] >= least); /* I2 */
        least = docs->docs[i] + 1;
    }
    ASSERT(docs->upto >= least);
}

enum err_code vectors_add(struct vectors_generation *generation, const struct kernels *kernels,
                          struct batch *batch, const struct vectors_docs *docs, struct err *err)
{
    docs_check(generation, docs);
    uint32_t stride = vectors__stride(generation->dim);
    struct vectors_row *rows = ARENA_ARRAY(batch->arena, struct vectors_row, docs->n);
    int8_t *values = arena_zalloc(batch->arena, docs->n, stride);
    if (rows == NULL || values == NULL)
        return vectors__memory(err);
    for (uint32_t i = 0; i < docs->n; i++) {
        if (!make_row(docs, i, kernels, generation->dim, &rows[i], values + (size_t)i * stride))
            return err_set(err, ERR_INVALID,
                           "the vector of document %u is not finite, or is nothing", docs->docs[i]);
    }
    vectors__put_rows(batch, generation, docs->layer, NULL, rows, docs->n);
    generation->embedded[docs->layer] = docs->upto;
    if (docs->n != 0 && (docs->layer == LAYER_FACT || docs->layer == LAYER_EPISODE)) {
        uint32_t first = docs->docs[0], last = docs->docs[docs->n - 1];
        (void)vectors__mark(batch, generation->number, docs->layer, first, last - first + 1);
    }
    return batch_ok(batch) ? ERR_OK : vectors__memory(err);
}
