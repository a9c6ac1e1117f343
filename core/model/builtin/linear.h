/* Products of activations with weights as the file has them: rows of outputs, f32, f16 or bf16.
 *
 *   out[row][o] (+)= x[row] . w[o]
 *
 * Many rows go to OpenBLAS, few to rowops.product (kernels.h says why and where the border lies).
 * Half-precision weights are widened a block of rows at a time into the caller's scratch.
 *
 * OpenBLAS is used only where it can be trusted, else rowops.product does all, at three quarters
 * of the speed. It must be the flavour with POSIX threads, whose buffers have locks: that of
 * Debian "serial" has none, so two workers could be given one buffer, and that with OpenMP counts
 * on OpenMP's threads. And it must compute right: some old releases don't on processors newer than
 * they are, so one product is checked when a model is opened. It is told to use one thread: threads
 * are the workers' (DESIGN 3). */
#ifndef HM_CORE_MODEL_BUILTIN_LINEAR_H
#define HM_CORE_MODEL_BUILTIN_LINEAR_H

#include "core/model/builtin/kernels/kernels.h"
#include "core/model/builtin/safetensors.h"

/* From so many rows on OpenBLAS is faster. */
enum { LINEAR_FEW_ROWS = 48, LINEAR_WIDE_BYTES = 1 << 20 };

struct linear {
    const struct rowops *ops;
    bool blas;
};

/* Weights that stay in the file. */
struct matrix {
    const void *at;
    enum tensor_type type; /* never TENSOR_OTHER */
    uint32_t outs, n;
};

struct linear_rows {
    const float *x; /* rows of matrix.n */
    uint32_t rows;
    float *out; /* rows of matrix.outs */
    bool add;
};

/* Chooses the row operations ("auto", "scalar", "avx2") and sees whether OpenBLAS is sound. */
struct linear linear_choose(const char *name);
/* `wide`: LINEAR_WIDE_BYTES of scratch, or one row of the matrix if that is more; not needed for
 * f32. */
void linear_apply(const struct linear *way, const struct matrix *m, const struct linear_rows *r,
                  float *wide);
size_t linear_wide_bytes(const struct matrix *m); /* 0 for f32 */
/* n values of any type as f32, beginning with the `from`-th. */
void linear_widen(const struct rowops *ops, const struct matrix *m, size_t from, size_t n,
                  float *out);

#endif
