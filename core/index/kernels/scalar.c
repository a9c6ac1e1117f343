/* The reference. Sums are kept in double, so that what the others lose shows. */
#include <math.h>
#include <string.h>

#include "core/index/kernels/kernels.h"

static int32_t dot_i8(const int8_t *a, const int8_t *b, size_t n)
{
    int32_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (int32_t)a[i] * b[i];
    return sum;
}

static void dot_rows(const struct kernel_query *query, const struct kernel_rows *rows, float *out)
{
    for (size_t row = 0; row < rows->n; row++) {
        const int8_t *at = rows->values + row * query->n;
        int32_t sum = 0;
        for (size_t i = 0; i < query->n; i++)
            sum += (int32_t)at[i] * query->values[i];
        out[row] = query->scale * (float)sum;
    }
}

static float dot_i8_f32(const int8_t *a, const float *b, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)a[i] * (double)b[i];
    return (float)sum;
}

static float dot_f32(const float *a, const float *b, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)a[i] * (double)b[i];
    return (float)sum;
}

/* Compared as bits, a NaN is greater than infinity, and that than any number. */
static float greatest(const float *x, size_t n)
{
    uint32_t most = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        bits &= 0x7fffffff;
        most = bits > most ? bits : most;
    }
    float value;
    memcpy(&value, &most, sizeof value);
    return value;
}

static float quantise(const float *x, size_t n, int8_t *out)
{
    float most = greatest(x, n);
    if (!isfinite(most) || most < KERNELS_LEAST) {
        memset(out, 0, n);
        return 0;
    }
    float inverse = (float)KERNELS_INT8 / most;
    for (size_t i = 0; i < n; i++)
        out[i] = (int8_t)lrintf(x[i] * inverse);
    return most / (float)KERNELS_INT8;
}

static void axpy(float *y, float a, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] += a * x[i];
}

static void axpy_i8(float *y, float a, const int8_t *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] += a * (float)x[i];
}

static void scale(float *x, float a, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] *= a;
}

static float norm2(const float *x, size_t n)
{
    return dot_f32(x, x, n);
}

void kernels__propagate(const struct kernel_sides *sides, float *scores, size_t from, size_t n)
{
    const double lambda = (double)sides->lambda;
    for (size_t i = from; i < n; i++) {
        double along = (double)sides->along[i], across = (double)sides->across[i];
        double norm2 = 1 + lambda * (2 * along + lambda * across);
        double x = ((double)scores[i] + lambda * (double)sides->sums[i]) / sqrt(norm2);
        if (norm2 < KERNELS_NORM_LEAST)
            x = 0;
        if (scores[i] >= -1)
            scores[i] = (float)(x > 1 ? 1 : x < -1 ? -1 : x);
    }
}

static void propagate(const struct kernel_sides *sides, float *scores, size_t n)
{
    kernels__propagate(sides, scores, 0, n);
}

const struct kernels kernels__scalar = {
    .name = "scalar",
    .dot_i8 = dot_i8,
    .dot_rows = dot_rows,
    .dot_i8_f32 = dot_i8_f32,
    .dot_f32 = dot_f32,
    .quantise = quantise,
    .axpy = axpy,
    .axpy_i8 = axpy_i8,
    .scale = scale,
    .norm2 = norm2,
    .propagate = propagate,
};
