/* AVX2, FMA and F16C. Rows are walked eight floats at a time; what is left over is one more step
 * with a mask, so that every operation is written once, as a function of eight lanes. */
#if defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
#include <immintrin.h>
#include <math.h>

#include "core/model/builtin/kernels/kernels.h"

enum { LANES = 8, ROWS = 3, OUTS = 4 };

#define INLINE static inline __attribute__((always_inline))

/* The first n < 8 lanes. */
INLINE __m256i lanes(size_t n)
{
    const __m256i count = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), count);
}

INLINE float sum_of(__m256 v)
{
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}

INLINE float most_of(__m256 v)
{
    __m128 s = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    s = _mm_max_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_max_ss(s, _mm_movehdup_ps(s)));
}

INLINE __m256 all(float x)
{
    return _mm256_set1_ps(x);
}

static void add(float *y, const float *x, size_t n)
{
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        _mm256_storeu_ps(y + i, _mm256_add_ps(_mm256_loadu_ps(y + i), _mm256_loadu_ps(x + i)));
    for (; i < n; i++)
        y[i] += x[i];
}

static void scale(float *x, float by, size_t n)
{
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        _mm256_storeu_ps(x + i, _mm256_mul_ps(_mm256_loadu_ps(x + i), all(by)));
    for (; i < n; i++)
        x[i] *= by;
}

/* --- functions of eight lanes --- */

/* exp(x) = 2^k exp(r), |r| <= ln(2) / 2, by Taylor's series to the seventh power: relative error
 * below 1e-7. Held between 2^-126 and 2^127; operands stand so that a NaN stays one. */
INLINE __m256 exp8(__m256 x)
{
    x = _mm256_min_ps(all(88.0f), _mm256_max_ps(all(-87.3f), x));
    __m256 k = _mm256_round_ps(_mm256_mul_ps(x, all(1.44269504f)),
                               _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    /* ln(2) in two parts; the first has few bits, so that k times it is exact */
    __m256 r = _mm256_fnmadd_ps(k, all(0x1.62e4p-1f), x);
    r = _mm256_fnmadd_ps(k, all(0x1.7f7d1cp-20f), r);
    __m256 p = all(1.0f / 5040);
    p = _mm256_fmadd_ps(p, r, all(1.0f / 720));
    p = _mm256_fmadd_ps(p, r, all(1.0f / 120));
    p = _mm256_fmadd_ps(p, r, all(1.0f / 24));
    p = _mm256_fmadd_ps(p, r, all(1.0f / 6));
    p = _mm256_fmadd_ps(p, r, all(0.5f));
    p = _mm256_fmadd_ps(p, r, all(1));
    p = _mm256_fmadd_ps(p, r, all(1));
    __m256i power =
        _mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(k), _mm256_set1_epi32(127)), 23);
    return _mm256_mul_ps(p, _mm256_castsi256_ps(power));
}

/* Abramowitz and Stegun 7.1.26: 1 - erf(|x|) = (a1 t + ... + a5 t^5) exp(-x^2), t = 1/(1 + p |x|),
 * error below 1.5e-7. */
INLINE __m256 gelu8(__m256 v)
{
    const __m256 sign = all(-0.0f);
    __m256 x = _mm256_mul_ps(v, all(0.70710678f));
    __m256 magnitude = _mm256_andnot_ps(sign, x);
    __m256 t = _mm256_div_ps(all(1), _mm256_fmadd_ps(all(0.3275911f), magnitude, all(1)));
    __m256 p = all(1.061405429f);
    p = _mm256_fmadd_ps(p, t, all(-1.453152027f));
    p = _mm256_fmadd_ps(p, t, all(1.421413741f));
    p = _mm256_fmadd_ps(p, t, all(-0.284496736f));
    p = _mm256_fmadd_ps(p, t, all(0.254829592f));
    __m256 rest = _mm256_mul_ps(_mm256_mul_ps(p, t), exp8(_mm256_fnmadd_ps(x, x, all(0))));
    __m256 erf = _mm256_sub_ps(all(1), rest);
    erf = _mm256_or_ps(erf, _mm256_and_ps(sign, x));
    __m256 half = _mm256_mul_ps(v, all(0.5f));
    return _mm256_fmadd_ps(half, erf, half);
}

/* 1 + tanh(u) = 2 - 2 / (exp(2 u) + 1) */
INLINE __m256 gelu_tanh8(__m256 v)
{
    __m256 cube = _mm256_mul_ps(_mm256_mul_ps(v, v), v);
    __m256 twice = _mm256_mul_ps(_mm256_fmadd_ps(cube, all(0.044715f), v), all(1.59576912f));
    __m256 part = _mm256_div_ps(v, _mm256_add_ps(exp8(twice), all(1)));
    return _mm256_sub_ps(v, part);
}

INLINE __m256 relu8(__m256 v)
{
    return _mm256_max_ps(all(0), v);
}

#define ACTIVATION(name)                                                                           \
    static void name(float *x, const float *bias, size_t n)                                        \
    {                                                                                              \
        size_t i = 0;                                                                              \
        for (; i + LANES <= n; i += LANES)                                                         \
            _mm256_storeu_ps(                                                                      \
                x + i, name##8(_mm256_add_ps(_mm256_loadu_ps(x + i), _mm256_loadu_ps(bias + i)))); \
        if (i < n) {                                                                               \
            __m256i some = lanes(n - i);                                                           \
            __m256 v = _mm256_add_ps(_mm256_maskload_ps(x + i, some),                              \
                                     _mm256_maskload_ps(bias + i, some));                          \
            _mm256_maskstore_ps(x + i, some, name##8(v));                                          \
        }                                                                                          \
    }
ACTIVATION(gelu)
ACTIVATION(gelu_tanh)
ACTIVATION(relu)

/* --- rows --- */

static float sum_row(const float *x, size_t n)
{
    __m256 even = all(0), odd = all(0);
    size_t i = 0;
    for (; i + 2 * LANES <= n; i += 2 * LANES) {
        even = _mm256_add_ps(even, _mm256_loadu_ps(x + i));
        odd = _mm256_add_ps(odd, _mm256_loadu_ps(x + i + LANES));
    }
    float sum = sum_of(_mm256_add_ps(even, odd));
    for (; i < n; i++)
        sum += x[i];
    return sum;
}

static float sum_squares(const float *x, float mean, size_t n)
{
    __m256 even = all(0), odd = all(0);
    size_t i = 0;
    for (; i + 2 * LANES <= n; i += 2 * LANES) {
        __m256 a = _mm256_sub_ps(_mm256_loadu_ps(x + i), all(mean));
        __m256 b = _mm256_sub_ps(_mm256_loadu_ps(x + i + LANES), all(mean));
        even = _mm256_fmadd_ps(a, a, even);
        odd = _mm256_fmadd_ps(b, b, odd);
    }
    float sum = sum_of(_mm256_add_ps(even, odd));
    for (; i < n; i++)
        sum += (x[i] - mean) * (x[i] - mean);
    return sum;
}

static void normalise(float *x, const float *bias, const struct rowop_norm *norm, size_t n)
{
    if (bias != NULL)
        add(x, bias, n);
    float mean = sum_row(x, n) / (float)n;
    float by = 1 / sqrtf(sum_squares(x, mean, n) / (float)n + norm->epsilon);
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        __m256 gain = _mm256_mul_ps(_mm256_loadu_ps(norm->gain + i), all(by));
        __m256 v = _mm256_sub_ps(_mm256_loadu_ps(x + i), all(mean));
        _mm256_storeu_ps(x + i, _mm256_fmadd_ps(v, gain, _mm256_loadu_ps(norm->shift + i)));
    }
    for (; i < n; i++)
        x[i] = (x[i] - mean) * by * norm->gain[i] + norm->shift[i];
}

static float greatest(const float *x, size_t n)
{
    float most = x[0];
    size_t i = 0;
    if (n >= LANES) {
        __m256 v = _mm256_loadu_ps(x);
        for (i = LANES; i + LANES <= n; i += LANES)
            v = _mm256_max_ps(v, _mm256_loadu_ps(x + i));
        most = most_of(v);
    }
    for (; i < n; i++)
        most = x[i] > most ? x[i] : most;
    return most;
}

static void softmax(float *x, float by, size_t n)
{
    const __m256 most = all(greatest(x, n));
    __m256 sum = all(0);
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        __m256 v = exp8(_mm256_mul_ps(_mm256_sub_ps(_mm256_loadu_ps(x + i), most), all(by)));
        _mm256_storeu_ps(x + i, v);
        sum = _mm256_add_ps(sum, v);
    }
    if (i < n) {
        __m256i some = lanes(n - i);
        __m256 v =
            exp8(_mm256_mul_ps(_mm256_sub_ps(_mm256_maskload_ps(x + i, some), most), all(by)));
        v = _mm256_and_ps(v, _mm256_castsi256_ps(some));
        _mm256_maskstore_ps(x + i, some, v);
        sum = _mm256_add_ps(sum, v);
    }
    scale(x, 1 / sum_of(sum), n);
}

/* --- products of few rows --- */

INLINE __m128 sums_of(const __m256 *v)
{
    __m256 pairs = _mm256_hadd_ps(_mm256_hadd_ps(v[0], v[1]), _mm256_hadd_ps(v[2], v[3]));
    return _mm_add_ps(_mm256_castps256_ps128(pairs), _mm256_extractf128_ps(pairs, 1));
}

/* Three rows of x with four of w; rows that are not there stand for the last one. */
struct tile {
    const float *x[ROWS], *w[OUTS];
    __m256 sum[ROWS][OUTS];
};

INLINE void step_tile(struct tile *t, const __m256 *x, const __m256 *w)
{
#pragma GCC unroll 4
    for (int o = 0; o < OUTS; o++) {
#pragma GCC unroll 3
        for (int row = 0; row < ROWS; row++)
            t->sum[row][o] = _mm256_fmadd_ps(x[row], w[o], t->sum[row][o]);
    }
}

/* `ahead`: the next four rows of w lie behind these and are asked for meanwhile; the processor's
 * own guess ends with a row. */
INLINE void fill_tile(struct tile *t, size_t n, const bool ahead)
{
    const float *x0 = t->x[0], *x1 = t->x[1], *x2 = t->x[2];
    const float *w0 = t->w[0], *w1 = t->w[1], *w2 = t->w[2], *w3 = t->w[3];
    __m256 a0 = all(0), a1 = a0, a2 = a0, b0 = a0, b1 = a0, b2 = a0;
    __m256 c0 = a0, c1 = a0, c2 = a0, d0 = a0, d1 = a0, d2 = a0;
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        if (ahead) {
            const char *next = (const char *)(w0 + OUTS * n + OUTS * i);
            _mm_prefetch(next, _MM_HINT_T0);
            _mm_prefetch(next + 64, _MM_HINT_T0);
        }
        __m256 u = _mm256_loadu_ps(x0 + i), v = _mm256_loadu_ps(x1 + i);
        __m256 z = _mm256_loadu_ps(x2 + i), w = _mm256_loadu_ps(w0 + i);
        a0 = _mm256_fmadd_ps(u, w, a0);
        a1 = _mm256_fmadd_ps(v, w, a1);
        a2 = _mm256_fmadd_ps(z, w, a2);
        w = _mm256_loadu_ps(w1 + i);
        b0 = _mm256_fmadd_ps(u, w, b0);
        b1 = _mm256_fmadd_ps(v, w, b1);
        b2 = _mm256_fmadd_ps(z, w, b2);
        w = _mm256_loadu_ps(w2 + i);
        c0 = _mm256_fmadd_ps(u, w, c0);
        c1 = _mm256_fmadd_ps(v, w, c1);
        c2 = _mm256_fmadd_ps(z, w, c2);
        w = _mm256_loadu_ps(w3 + i);
        d0 = _mm256_fmadd_ps(u, w, d0);
        d1 = _mm256_fmadd_ps(v, w, d1);
        d2 = _mm256_fmadd_ps(z, w, d2);
    }
    const __m256 sums[ROWS][OUTS] = {{a0, b0, c0, d0}, {a1, b1, c1, d1}, {a2, b2, c2, d2}};
    for (int row = 0; row < ROWS; row++) {
        for (int o = 0; o < OUTS; o++)
            t->sum[row][o] = sums[row][o];
    }
    if (i < n) {
        const __m256i some = lanes(n - i);
        const __m256 x[ROWS] = {_mm256_maskload_ps(x0 + i, some), _mm256_maskload_ps(x1 + i, some),
                                _mm256_maskload_ps(x2 + i, some)};
        const __m256 w[OUTS] = {_mm256_maskload_ps(w0 + i, some), _mm256_maskload_ps(w1 + i, some),
                                _mm256_maskload_ps(w2 + i, some), _mm256_maskload_ps(w3 + i, some)};
        step_tile(t, x, w);
    }
}

INLINE void store_tile(const struct tile *t, const struct rowop_product *p, size_t row, size_t out)
{
    size_t rows = p->rows - row < ROWS ? p->rows - row : ROWS, outs = p->outs - out;
    for (size_t r = 0; r < rows; r++) {
        float *to = p->out + (row + r) * p->out_step + out;
        __m128 sums = sums_of(t->sum[r]);
        if (outs >= OUTS) {
            _mm_storeu_ps(to, p->add ? _mm_add_ps(sums, _mm_loadu_ps(to)) : sums);
            continue;
        }
        float some[OUTS];
        _mm_storeu_ps(some, sums);
        for (size_t o = 0; o < outs; o++)
            to[o] = p->add ? to[o] + some[o] : some[o];
    }
}

static void product(const struct rowop_product *p)
{
    struct tile t;
    for (size_t out = 0; out < p->outs; out += OUTS) {
        for (size_t o = 0; o < OUTS; o++)
            t.w[o] = p->w + (out + o < p->outs ? out + o : p->outs - 1) * p->w_step;
        for (size_t row = 0; row < p->rows; row += ROWS) {
            for (size_t r = 0; r < ROWS; r++)
                t.x[r] = p->x + (row + r < p->rows ? row + r : p->rows - 1) * p->x_step;
            if (row == 0 && p->w_step == p->n && out + 2 * OUTS <= p->outs)
                fill_tile(&t, p->n, true);
            else
                fill_tile(&t, p->n, false);
            store_tile(&t, p, row, out);
        }
    }
}

/* --- weighted sums of rows --- */

/* Columns c .. c + 31 of up to three rows. */
INLINE void mix_wide(const struct rowop_mix *m, size_t row, size_t c)
{
    size_t rows = m->rows - row < ROWS ? m->rows - row : ROWS;
    const float *p0 = m->p + row * m->p_step, *p1 = p0 + (rows > 1 ? m->p_step : 0);
    const float *p2 = p1 + (rows > 2 ? m->p_step : 0), *v = m->v + c;
    __m256 a0 = all(0), a1 = a0, a2 = a0, b0 = a0, b1 = a0, b2 = a0;
    __m256 c0 = a0, c1 = a0, c2 = a0, d0 = a0, d1 = a0, d2 = a0;
    for (size_t j = 0; j < m->n; j++, v += m->v_step) {
        __m256 x = all(p0[j]), y = all(p1[j]), z = all(p2[j]), w = _mm256_loadu_ps(v);
        a0 = _mm256_fmadd_ps(x, w, a0);
        a1 = _mm256_fmadd_ps(y, w, a1);
        a2 = _mm256_fmadd_ps(z, w, a2);
        w = _mm256_loadu_ps(v + LANES);
        b0 = _mm256_fmadd_ps(x, w, b0);
        b1 = _mm256_fmadd_ps(y, w, b1);
        b2 = _mm256_fmadd_ps(z, w, b2);
        w = _mm256_loadu_ps(v + 2 * LANES);
        c0 = _mm256_fmadd_ps(x, w, c0);
        c1 = _mm256_fmadd_ps(y, w, c1);
        c2 = _mm256_fmadd_ps(z, w, c2);
        w = _mm256_loadu_ps(v + 3 * LANES);
        d0 = _mm256_fmadd_ps(x, w, d0);
        d1 = _mm256_fmadd_ps(y, w, d1);
        d2 = _mm256_fmadd_ps(z, w, d2);
    }
    const __m256 sums[ROWS][OUTS] = {{a0, b0, c0, d0}, {a1, b1, c1, d1}, {a2, b2, c2, d2}};
    for (size_t r = 0; r < rows; r++) {
        float *out = m->out + (row + r) * m->out_step + c;
        for (int k = 0; k < OUTS; k++)
            _mm256_storeu_ps(out + (size_t)k * LANES, sums[r][k]);
    }
}

/* At most eight columns of one row. */
INLINE void mix_narrow(const struct rowop_mix *m, size_t row, size_t c)
{
    const __m256i some = lanes(m->width - c < LANES ? m->width - c : LANES);
    const float *p = m->p + row * m->p_step;
    __m256 sum = all(0);
    for (size_t j = 0; j < m->n; j++)
        sum = _mm256_fmadd_ps(all(p[j]), _mm256_maskload_ps(m->v + j * m->v_step + c, some), sum);
    _mm256_maskstore_ps(m->out + row * m->out_step + c, some, sum);
}

static void mix(const struct rowop_mix *m)
{
    size_t wide = m->width / (OUTS * LANES) * (OUTS * LANES);
    for (size_t row = 0; row < m->rows; row += ROWS) {
        for (size_t c = 0; c < wide; c += (size_t)OUTS * LANES)
            mix_wide(m, row, c);
    }
    for (size_t row = 0; row < m->rows && wide < m->width; row++) {
        for (size_t c = wide; c < m->width; c += LANES)
            mix_narrow(m, row, c);
    }
}

/* --- half precision --- */

static void widen_f16(float *out, const uint16_t *x, size_t n)
{
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        __m128i halves = _mm_loadu_si128((const __m128i *)(const void *)(x + i));
        _mm256_storeu_ps(out + i, _mm256_cvtph_ps(halves));
    }
    for (; i < n; i++)
        out[i] = _cvtsh_ss(x[i]);
}

static void widen_bf16(float *out, const uint16_t *x, size_t n)
{
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        __m128i halves = _mm_loadu_si128((const __m128i *)(const void *)(x + i));
        __m256i bits = _mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16);
        _mm256_storeu_ps(out + i, _mm256_castsi256_ps(bits));
    }
    for (; i < n; i++)
        out[i] = _mm_cvtss_f32(_mm_castsi128_ps(_mm_cvtsi32_si128((int)((uint32_t)x[i] << 16))));
}

const struct rowops rowops__avx2 = {
    .name = "avx2",
    .add = add,
    .scale = scale,
    .activate = {[ROWOP_GELU] = gelu, [ROWOP_GELU_TANH] = gelu_tanh, [ROWOP_RELU] = relu},
    .normalise = normalise,
    .softmax = softmax,
    .product = product,
    .mix = mix,
    .widen_f16 = widen_f16,
    .widen_bf16 = widen_bf16,
};
#else
#include "core/model/builtin/kernels/kernels.h"
#endif
