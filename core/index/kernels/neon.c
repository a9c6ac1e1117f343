/* NEON, as every 64-bit ARM has it; nothing elsewhere. Products of int8 are widened to 16 bits and
 * added in pairs to 32: a pair's sum fits (I1), and no optional instruction is needed. */
#if defined(__aarch64__)
#include <arm_neon.h>
#include <math.h>
#include <string.h>

#include "core/index/kernels/kernels.h"

enum { STEP = 16, FLOATS = 4 };

static inline int32x4_t add_products(int32x4_t acc, int8x16_t a, int8x16_t b)
{
    int16x8_t low = vmull_s8(vget_low_s8(a), vget_low_s8(b));
    int16x8_t high = vmull_s8(vget_high_s8(a), vget_high_s8(b));
    return vpadalq_s16(vpadalq_s16(acc, low), high);
}

static inline int32_t tail_i8(const int8_t *a, const int8_t *b, size_t from, size_t n)
{
    int32_t sum = 0;
    for (size_t i = from; i < n; i++)
        sum += (int32_t)a[i] * b[i];
    return sum;
}

static int32_t dot_i8(const int8_t *a, const int8_t *b, size_t n)
{
    int32x4_t even = vdupq_n_s32(0), odd = even;
    size_t i = 0;
    for (; i + 2 * STEP <= n; i += 2 * STEP) {
        even = add_products(even, vld1q_s8(a + i), vld1q_s8(b + i));
        odd = add_products(odd, vld1q_s8(a + i + STEP), vld1q_s8(b + i + STEP));
    }
    if (i + STEP <= n) {
        even = add_products(even, vld1q_s8(a + i), vld1q_s8(b + i));
        i += STEP;
    }
    return vaddvq_s32(vaddq_s32(even, odd)) + tail_i8(a, b, i, n);
}

static inline void add_wide(int32x4_t sums[2], const int8_t *a, const int16_t *b)
{
    int8x16_t x = vld1q_s8(a);
    int16x8_t low = vmovl_s8(vget_low_s8(x)), high = vmovl_s8(vget_high_s8(x));
    int16x8_t first = vld1q_s16(b), second = vld1q_s16(b + STEP / 2);
    sums[0] = vmlal_s16(sums[0], vget_low_s16(low), vget_low_s16(first));
    sums[1] = vmlal_s16(sums[1], vget_high_s16(low), vget_high_s16(first));
    sums[0] = vmlal_s16(sums[0], vget_low_s16(high), vget_low_s16(second));
    sums[1] = vmlal_s16(sums[1], vget_high_s16(high), vget_high_s16(second));
}

/* Asks for as many bytes at `ahead`, a line of the cache for each that it reads. */
static inline int32_t dot_wide(const int8_t *a, const int16_t *b, size_t n, const int8_t *ahead)
{
    int32x4_t sums[2] = {vdupq_n_s32(0), vdupq_n_s32(0)};
    size_t i = 0;
    for (; i + 4 * STEP <= n; i += 4 * STEP) {
        __builtin_prefetch(ahead + i, 0, 2);
        for (size_t k = i; k < i + 4 * STEP; k += STEP)
            add_wide(sums, a + k, b + k);
    }
    for (; i + STEP <= n; i += STEP)
        add_wide(sums, a + i, b + i);
    int32_t sum = vaddvq_s32(vaddq_s32(sums[0], sums[1]));
    for (; i < n; i++)
        sum += (int32_t)a[i] * b[i];
    return sum;
}

static void dot_rows(const struct kernel_query *query, const struct kernel_rows *rows, float *out)
{
    const size_t width = query->n, farther = width != 0 ? KERNELS_AHEAD / width : 0;
    for (size_t row = 0; row < rows->n; row++) {
        const int8_t *at = rows->values + row * width;
        const int8_t *ahead = kernels__ahead(rows, width, row, farther);
        out[row] = query->scale * (float)dot_wide(at, query->values, width, ahead);
    }
}

/* --- floats --- */

/* Eight int8 as floats. */
static inline float32x4x2_t widen(const int8_t *at)
{
    int16x8_t wide = vmovl_s8(vld1_s8(at));
    float32x4x2_t out;
    out.val[0] = vcvtq_f32_s32(vmovl_s16(vget_low_s16(wide)));
    out.val[1] = vcvtq_f32_s32(vmovl_s16(vget_high_s16(wide)));
    return out;
}

static float dot_i8_f32(const int8_t *a, const float *b, size_t n)
{
    float32x4_t even = vdupq_n_f32(0), odd = even;
    size_t i = 0;
    for (; i + 2 * FLOATS <= n; i += 2 * FLOATS) {
        float32x4x2_t x = widen(a + i);
        even = vfmaq_f32(even, x.val[0], vld1q_f32(b + i));
        odd = vfmaq_f32(odd, x.val[1], vld1q_f32(b + i + FLOATS));
    }
    float sum = vaddvq_f32(vaddq_f32(even, odd));
    for (; i < n; i++)
        sum += (float)a[i] * b[i];
    return sum;
}

static float dot_f32(const float *a, const float *b, size_t n)
{
    float32x4_t even = vdupq_n_f32(0), odd = even;
    size_t i = 0;
    for (; i + 2 * FLOATS <= n; i += 2 * FLOATS) {
        even = vfmaq_f32(even, vld1q_f32(a + i), vld1q_f32(b + i));
        odd = vfmaq_f32(odd, vld1q_f32(a + i + FLOATS), vld1q_f32(b + i + FLOATS));
    }
    float sum = vaddvq_f32(vaddq_f32(even, odd));
    for (; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

static float norm2(const float *x, size_t n)
{
    return dot_f32(x, x, n);
}

/* Compared as bits, a NaN is greater than infinity, and that than any number. */
static float greatest(const float *x, size_t n)
{
    uint32x4_t most = vdupq_n_u32(0);
    size_t i = 0;
    for (; i + FLOATS <= n; i += FLOATS) {
        uint32x4_t bits = vreinterpretq_u32_f32(vld1q_f32(x + i));
        most = vmaxq_u32(most, vandq_u32(bits, vdupq_n_u32(0x7fffffff)));
    }
    uint32_t top = vmaxvq_u32(most);
    for (; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        bits &= 0x7fffffff;
        top = bits > top ? bits : top;
    }
    float value;
    memcpy(&value, &top, sizeof value);
    return value;
}

static inline int16x8_t rounded(const float *x, float inverse)
{
    int32x4_t low = vcvtnq_s32_f32(vmulq_n_f32(vld1q_f32(x), inverse));
    int32x4_t high = vcvtnq_s32_f32(vmulq_n_f32(vld1q_f32(x + FLOATS), inverse));
    return vcombine_s16(vqmovn_s32(low), vqmovn_s32(high));
}

static float quantise(const float *x, size_t n, int8_t *out)
{
    float most = greatest(x, n);
    if (!isfinite(most) || most < KERNELS_LEAST) {
        memset(out, 0, n);
        return 0;
    }
    float inverse = (float)KERNELS_INT8 / most;
    size_t i = 0;
    for (; i + 2 * FLOATS <= n; i += 2 * FLOATS)
        vst1_s8(out + i, vqmovn_s16(rounded(x + i, inverse)));
    for (; i < n; i++)
        out[i] = (int8_t)lrintf(x[i] * inverse);
    return most / (float)KERNELS_INT8;
}

static void axpy(float *y, float a, const float *x, size_t n)
{
    size_t i = 0;
    for (; i + FLOATS <= n; i += FLOATS)
        vst1q_f32(y + i, vfmaq_n_f32(vld1q_f32(y + i), vld1q_f32(x + i), a));
    for (; i < n; i++)
        y[i] += a * x[i];
}

static void axpy_i8(float *y, float a, const int8_t *x, size_t n)
{
    size_t i = 0;
    for (; i + 2 * FLOATS <= n; i += 2 * FLOATS) {
        float32x4x2_t wide = widen(x + i);
        vst1q_f32(y + i, vfmaq_n_f32(vld1q_f32(y + i), wide.val[0], a));
        vst1q_f32(y + i + FLOATS, vfmaq_n_f32(vld1q_f32(y + i + FLOATS), wide.val[1], a));
    }
    for (; i < n; i++)
        y[i] += a * (float)x[i];
}

static void scale(float *x, float a, size_t n)
{
    size_t i = 0;
    for (; i + FLOATS <= n; i += FLOATS)
        vst1q_f32(x + i, vmulq_n_f32(vld1q_f32(x + i), a));
    for (; i < n; i++)
        x[i] *= a;
}

/* Two at once gain nothing over one after the other: it is the roots that take the time. */
static void propagate(const struct kernel_sides *sides, float *scores, size_t n)
{
    kernels__propagate(sides, scores, 0, n);
}

const struct kernels kernels__neon = {
    .name = "neon",
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
#else
#include "core/index/kernels/kernels.h"
#endif
