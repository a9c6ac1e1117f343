/* AVX2 and FMA. Products of int8: |a| times (b with the sign of a), because maddubs wants one side
 * without a sign; a pair's sum is at most 2 * 127 * 127 and does not saturate (I1). */
#if defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>
#include <math.h>
#include <string.h>

#include "core/index/kernels/kernels.h"

enum { STEP = 32, WORDS = 16, FLOATS = 8, DOUBLES = 4 };

static inline __m256i load(const int8_t *at)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)at);
}

/* acc + 8 sums of 4 products each. */
static inline __m256i add_products(__m256i acc, __m256i magnitude, __m256i sign, __m256i b)
{
    __m256i pairs = _mm256_maddubs_epi16(magnitude, _mm256_sign_epi8(b, sign));
    return _mm256_add_epi32(acc, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}

static inline int32_t sum_i32(__m256i v)
{
    __m128i s = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0x4e));
    s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0xb1));
    return _mm_cvtsi128_si32(s);
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
    __m256i even = _mm256_setzero_si256(), odd = even;
    size_t i = 0;
    for (; i + 2 * STEP <= n; i += 2 * STEP) {
        __m256i x = load(a + i), y = load(a + i + STEP);
        even = add_products(even, _mm256_abs_epi8(x), x, load(b + i));
        odd = add_products(odd, _mm256_abs_epi8(y), y, load(b + i + STEP));
    }
    if (i + STEP <= n) {
        __m256i x = load(a + i);
        even = add_products(even, _mm256_abs_epi8(x), x, load(b + i));
        i += STEP;
    }
    return sum_i32(_mm256_add_epi32(even, odd)) + tail_i8(a, b, i, n);
}

/* acc + 8 sums of 2 products each. */
static inline __m256i add_wide(__m256i acc, const int8_t *a, const int16_t *b)
{
    __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)a);
    __m256i words = _mm256_loadu_si256((const __m256i *)(const void *)b);
    return _mm256_add_epi32(acc, _mm256_madd_epi16(_mm256_cvtepi8_epi16(bytes), words));
}

/* Asks for as many bytes at `ahead`, a line of the cache for each that it reads. */
static inline int32_t dot_wide(const int8_t *a, const int16_t *b, size_t n, const int8_t *ahead)
{
    __m256i sums[4] = {_mm256_setzero_si256(), _mm256_setzero_si256(), _mm256_setzero_si256(),
                       _mm256_setzero_si256()};
    size_t i = 0;
    for (; i + 4 * WORDS <= n; i += 4 * WORDS) {
        __builtin_prefetch(ahead + i, 0, 2);
        sums[0] = add_wide(sums[0], a + i, b + i);
        sums[1] = add_wide(sums[1], a + i + WORDS, b + i + WORDS);
        sums[2] = add_wide(sums[2], a + i + 2 * WORDS, b + i + 2 * WORDS);
        sums[3] = add_wide(sums[3], a + i + 3 * WORDS, b + i + 3 * WORDS);
    }
    for (; i + WORDS <= n; i += WORDS)
        sums[0] = add_wide(sums[0], a + i, b + i);
    int32_t sum = sum_i32(
        _mm256_add_epi32(_mm256_add_epi32(sums[0], sums[1]), _mm256_add_epi32(sums[2], sums[3])));
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

static inline float sum_f32(__m256 v)
{
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    s = _mm_add_ss(s, _mm_movehdup_ps(s));
    return _mm_cvtss_f32(s);
}

/* Eight int8 as floats. */
static inline __m256 widen(const int8_t *at)
{
    __m128i bytes = _mm_loadl_epi64((const __m128i *)(const void *)at);
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes));
}

static float dot_i8_f32(const int8_t *a, const float *b, size_t n)
{
    __m256 even = _mm256_setzero_ps(), odd = even;
    size_t i = 0;
    for (; i + 2 * FLOATS <= n; i += 2 * FLOATS) {
        even = _mm256_fmadd_ps(widen(a + i), _mm256_loadu_ps(b + i), even);
        odd = _mm256_fmadd_ps(widen(a + i + FLOATS), _mm256_loadu_ps(b + i + FLOATS), odd);
    }
    float sum = sum_f32(_mm256_add_ps(even, odd));
    for (; i < n; i++)
        sum += (float)a[i] * b[i];
    return sum;
}

static float dot_f32(const float *a, const float *b, size_t n)
{
    __m256 even = _mm256_setzero_ps(), odd = even;
    size_t i = 0;
    for (; i + 2 * FLOATS <= n; i += 2 * FLOATS) {
        even = _mm256_fmadd_ps(_mm256_loadu_ps(a + i), _mm256_loadu_ps(b + i), even);
        odd =
            _mm256_fmadd_ps(_mm256_loadu_ps(a + i + FLOATS), _mm256_loadu_ps(b + i + FLOATS), odd);
    }
    float sum = sum_f32(_mm256_add_ps(even, odd));
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
    const __m256i no_sign = _mm256_set1_epi32(0x7fffffff);
    __m256i most = _mm256_setzero_si256();
    size_t i = 0;
    for (; i + FLOATS <= n; i += FLOATS) {
        __m256i bits = _mm256_castps_si256(_mm256_loadu_ps(x + i));
        most = _mm256_max_epi32(most, _mm256_and_si256(bits, no_sign));
    }
    __m128i m = _mm_max_epi32(_mm256_castsi256_si128(most), _mm256_extracti128_si256(most, 1));
    m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0x4e));
    m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0xb1));
    int32_t top = _mm_cvtsi128_si32(m);
    for (; i < n; i++) {
        int32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        bits &= 0x7fffffff;
        top = bits > top ? bits : top;
    }
    float value;
    memcpy(&value, &top, sizeof value);
    return value;
}

static inline __m256i rounded(const float *x, __m256 inverse)
{
    return _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x), inverse));
}

static float quantise(const float *x, size_t n, int8_t *out)
{
    float most = greatest(x, n);
    if (!isfinite(most) || most < KERNELS_LEAST) {
        memset(out, 0, n);
        return 0;
    }
    float inverse = (float)KERNELS_INT8 / most;
    const __m256 by = _mm256_set1_ps(inverse);
    /* The packs work in each half: this puts the four-byte groups in order again. */
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    size_t i = 0;
    for (; i + STEP <= n; i += STEP) {
        __m256i low = _mm256_packs_epi32(rounded(x + i, by), rounded(x + i + FLOATS, by));
        __m256i high =
            _mm256_packs_epi32(rounded(x + i + 2 * FLOATS, by), rounded(x + i + 3 * FLOATS, by));
        __m256i bytes = _mm256_permutevar8x32_epi32(_mm256_packs_epi16(low, high), order);
        _mm256_storeu_si256((__m256i *)(void *)(out + i), bytes);
    }
    for (; i < n; i++)
        out[i] = (int8_t)lrintf(x[i] * inverse);
    return most / (float)KERNELS_INT8;
}

static void axpy(float *y, float a, const float *x, size_t n)
{
    const __m256 by = _mm256_set1_ps(a);
    size_t i = 0;
    for (; i + FLOATS <= n; i += FLOATS)
        _mm256_storeu_ps(y + i,
                         _mm256_fmadd_ps(by, _mm256_loadu_ps(x + i), _mm256_loadu_ps(y + i)));
    for (; i < n; i++)
        y[i] += a * x[i];
}

static void axpy_i8(float *y, float a, const int8_t *x, size_t n)
{
    const __m256 by = _mm256_set1_ps(a);
    size_t i = 0;
    for (; i + FLOATS <= n; i += FLOATS)
        _mm256_storeu_ps(y + i, _mm256_fmadd_ps(by, widen(x + i), _mm256_loadu_ps(y + i)));
    for (; i < n; i++)
        y[i] += a * (float)x[i];
}

static void scale(float *x, float a, size_t n)
{
    const __m256 by = _mm256_set1_ps(a);
    size_t i = 0;
    for (; i + FLOATS <= n; i += FLOATS)
        _mm256_storeu_ps(x + i, _mm256_mul_ps(by, _mm256_loadu_ps(x + i)));
    for (; i < n; i++)
        x[i] *= a;
}

static inline __m256d doubles(const float *at)
{
    return _mm256_cvtps_pd(_mm_loadu_ps(at));
}

static void propagate(const struct kernel_sides *sides, float *scores, size_t n)
{
    const __m256d lambda = _mm256_set1_pd((double)sides->lambda), one = _mm256_set1_pd(1);
    const __m256d least = _mm256_set1_pd(KERNELS_NORM_LEAST), minus_one = _mm256_set1_pd(-1);
    size_t i = 0;
    for (; i + DOUBLES <= n; i += DOUBLES) {
        __m256d score = doubles(scores + i), along = doubles(sides->along + i);
        __m256d twice = _mm256_add_pd(along, along);
        __m256d part = _mm256_fmadd_pd(lambda, doubles(sides->across + i), twice);
        __m256d norm2 = _mm256_fmadd_pd(lambda, part, one);
        __m256d x = _mm256_fmadd_pd(lambda, doubles(sides->sums + i), score);
        x = _mm256_div_pd(x, _mm256_sqrt_pd(norm2));
        x = _mm256_andnot_pd(_mm256_cmp_pd(norm2, least, _CMP_LT_OQ), x);
        x = _mm256_max_pd(minus_one, _mm256_min_pd(one, x)); /* in this order a NaN stays one */
        x = _mm256_blendv_pd(score, x, _mm256_cmp_pd(score, minus_one, _CMP_GE_OQ));
        _mm_storeu_ps(scores + i, _mm256_cvtpd_ps(x));
    }
    kernels__propagate(sides, scores, i, n);
}

const struct kernels kernels__avx2 = {
    .name = "avx2",
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
