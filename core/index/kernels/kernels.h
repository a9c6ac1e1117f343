/* Kernels: the inner loops of the vector index, one file an instruction set.
 *
 * A table of operations is chosen once, at start, from what the processor and the operating system
 * can do, or by name from configuration; who works with vectors is handed the table. scalar.c is
 * the reference: every other table gives the same integers, and the same floats but for the order
 * of their sums.
 *
 * I1  int8 values are -127 .. 127: two products then fit 16 bits (maddubs), and a value can be
 *     negated.
 * I2  n is at most KERNELS_MAX, so that a sum of products fits 32 bits.
 * I3  any n, any alignment; nothing outside the arrays is touched.
 *
 * Measured and not worth doing: AVX-512 for f32, VNNI for int8, four rows at once (DESIGN 9).
 * Measured and worse: a query as two int8 vectors by maddubs, as exact as one of int16, but twice
 * the instructions, and with rows in the cache it is those that count.
 * Measured and worth doing: asking for each line KERNELS_AHEAD bytes before it is read, across the
 * end of a block, too, because the processor by itself looks ahead no farther than a page. 27 MB in
 * blocks of 27 KB then take 0.56 ms instead of 1.4, 15 MB that just fit the last cache 0.31
 * instead of 0.45, rows in the second cache as long as before. It must be the second cache that is
 * asked to take them: into the first one, it gains a tenth of that. 8 KB ahead are a fifth slower;
 * all lines of a row asked for at once, too. */
#ifndef HM_CORE_INDEX_KERNELS_KERNELS_H
#define HM_CORE_INDEX_KERNELS_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { KERNELS_MAX = 1 << 16, KERNELS_INT8 = 127, KERNELS_AHEAD = 1 << 14 };

/* A query against rows of int8; its values times scale are what it stands for. */
struct kernel_query {
    const int16_t *values;
    size_t n;
    float scale;
};

/* Rows side by side, each as long as the query. */
struct kernel_rows {
    const int8_t *values;
    size_t n;
    const int8_t *next; /* rows that are read after these; only asked for ahead of time */
    size_t next_n;      /* 0: not known, or none */
};

/* What edges add to the scores of nodes, as core/index/vectors.h has it; 0 where there is none. */
struct kernel_sides {
    const float *sums;           /* of q.h_e */
    const float *along, *across; /* |h'|^2 = 1 + lambda (2 along + lambda across) */
    float lambda;
};

struct kernels {
    const char *name;
    int32_t (*dot_i8)(const int8_t *a, const int8_t *b, size_t n);
    /* out[row] = scale * row.query. The length of the query times the length of a row, both as
     * integers, is below 2^31, and then every partial sum is. */
    void (*dot_rows)(const struct kernel_query *query, const struct kernel_rows *rows, float *out);
    float (*dot_i8_f32)(const int8_t *a, const float *b, size_t n);
    float (*dot_f32)(const float *a, const float *b, size_t n);
    /* out = x / scale, rounded to even; returns scale = greatest |x| / 127. A vector with a value
     * that is not finite, or with nothing above KERNELS_LEAST, gives zeros and scale 0. */
    float (*quantise)(const float *x, size_t n, int8_t *out);
    void (*axpy)(float *y, float a, const float *x, size_t n); /* y += a x */
    void (*axpy_i8)(float *y, float a, const int8_t *x, size_t n);
    void (*scale)(float *x, float a, size_t n);
    float (*norm2)(const float *x, size_t n); /* sum of squares */
    /* scores = (scores + lambda sums) / |h'| in double, within -1 and 1; 0 where |h'|^2 is below
     * KERNELS_NORM_LEAST. A score below -1 stays as it is: it is none. */
    void (*propagate)(const struct kernel_sides *sides, float *scores, size_t n);
};

/* Below this 127 / x may overflow. */
#define KERNELS_LEAST 0x1p-100f
/* Below this a node and its edges cancel out. */
#define KERNELS_NORM_LEAST 1e-12

/* "auto" (or NULL): the best that runs here. NULL when there is none of that name or it does not
 * run here. */
const struct kernels *kernels_choose(const char *name);
/* The i-th of all that run here, scalar first; NULL past the end. */
const struct kernels *kernels_at(size_t i);

/* The row to ask for while `row` is read: so many farther, or this one again. */
static inline const int8_t *kernels__ahead(const struct kernel_rows *rows, size_t width, size_t row,
                                           size_t farther)
{
    size_t to = row + farther;
    if (to < rows->n)
        return rows->values + to * width;
    to -= rows->n;
    return to < rows->next_n ? rows->next + to * width : rows->values + row * width;
}

/* The scalar one, for the ends of the others. */
void kernels__propagate(const struct kernel_sides *sides, float *scores, size_t from, size_t n);

extern const struct kernels kernels__scalar;
#if defined(__x86_64__) || defined(__i386__)
extern const struct kernels kernels__avx2;
#endif
#if defined(__aarch64__)
extern const struct kernels kernels__neon;
#endif

/* What the processor runs and the operating system saves the registers of; core/model/builtin
 * chooses its row operations by it, too. AVX2 is with FMA and F16C. */
bool kernels_run_always(void);
bool kernels_run_avx2(void);

#endif
