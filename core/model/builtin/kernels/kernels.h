/* Row operations of the built-in encoder, one file an instruction set, as core/index/kernels has
 * them: a table is chosen once; scalar.c is the reference, and sums in double.
 *
 * Matrix products of many tokens are OpenBLAS's. What is here is what lies between them, fused so
 * that a row is touched once while it is in the cache, and the products of few rows: OpenBLAS packs
 * its operands anew at each call, which for a question of a dozen tokens costs as much as the
 * product. `product` reads the weights where they are mapped, once.
 *
 * I1  Any n, any alignment of a float; nothing outside the rows is touched.
 * I2  A step is the distance between two rows in elements, at least their length.
 * I3  NaN in a row gives NaN in what is made of it, never a crash.
 *
 * Measured: the product of 12 rows with 1,536 x 384 weights is 1.3 to 1.6 times as fast as
 * OpenBLAS's; from 48 rows on OpenBLAS is ahead. AVX-512 in `product` gave nothing over AVX2 on
 * the processor at hand (two 256-bit units make one of 512). */
#ifndef HM_CORE_MODEL_BUILTIN_KERNELS_KERNELS_H
#define HM_CORE_MODEL_BUILTIN_KERNELS_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum rowop_activation { ROWOP_GELU, ROWOP_GELU_TANH, ROWOP_RELU, ROWOP_ACTIVATIONS };

/* out[row][o] = x[row] . w[o]; with `add` it is added to what is there. */
struct rowop_product {
    const float *x;
    size_t x_step, rows;
    const float *w;
    size_t w_step, outs;
    size_t n; /* length of a row of x and of w */
    float *out;
    size_t out_step;
    bool add;
};

/* out[row] = sum over j < n of p[row][j] v[j], each v of `width` values. */
struct rowop_mix {
    const float *p;
    size_t p_step, rows;
    const float *v;
    size_t v_step, n;
    size_t width;
    float *out;
    size_t out_step;
};

struct rowop_norm {
    const float *gain, *shift; /* n each */
    float epsilon;
};

struct rowops {
    const char *name;
    void (*add)(float *y, const float *x, size_t n); /* y += x */
    void (*scale)(float *x, float by, size_t n);
    /* x = f(x + bias) */
    void (*activate[ROWOP_ACTIVATIONS])(float *x, const float *bias, size_t n);
    /* x = norm(x + bias), to mean 0 and variance 1, then times gain plus shift. n >= 1; bias may
     * be NULL. */
    void (*normalise)(float *x, const float *bias, const struct rowop_norm *norm, size_t n);
    /* x = exp(scale x) / sum; scale >= 0, n >= 1 */
    void (*softmax)(float *x, float scale, size_t n);
    void (*product)(const struct rowop_product *p);
    void (*mix)(const struct rowop_mix *m);
    void (*widen_f16)(float *out, const uint16_t *x, size_t n);
    void (*widen_bf16)(float *out, const uint16_t *x, size_t n);
};

/* "auto" (or NULL): the best that runs here. NULL when there is none of that name or it does not
 * run here. */
const struct rowops *rowops_choose(const char *name);
/* The i-th of all that run here, scalar first; NULL past the end. */
const struct rowops *rowops_at(size_t i);

extern const struct rowops rowops__scalar;
#if defined(__x86_64__) || defined(__i386__)
extern const struct rowops rowops__avx2;
#endif

#endif
