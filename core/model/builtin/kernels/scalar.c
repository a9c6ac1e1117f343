/* The reference. Sums and functions are kept in double, so that what the others lose shows. */
#include <math.h>
#include <string.h>

#include "core/model/builtin/kernels/kernels.h"

static void add(float *y, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] += x[i];
}

static void scale(float *x, float by, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] *= by;
}

static void gelu(float *x, const float *bias, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double v = (double)(x[i] + bias[i]);
        x[i] = (float)(0.5 * v * (1 + erf(v * 0.70710678118654752440)));
    }
}

static void gelu_tanh(float *x, const float *bias, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double v = (double)(x[i] + bias[i]);
        double inner = 0.79788456080286535588 * (v + 0.044715 * v * v * v); /* sqrt(2 / pi) */
        x[i] = (float)(0.5 * v * (1 + tanh(inner)));
    }
}

static void relu(float *x, const float *bias, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        float v = x[i] + bias[i];
        x[i] = v < 0 ? 0 : v;
    }
}

static void normalise(float *x, const float *bias, const struct rowop_norm *norm, size_t n)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++) {
        x[i] += bias != NULL ? bias[i] : 0;
        sum += (double)x[i];
    }
    double mean = sum / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += ((double)x[i] - mean) * ((double)x[i] - mean);
    double by = 1 / sqrt(squares / (double)n + (double)norm->epsilon);
    for (size_t i = 0; i < n; i++)
        x[i] = (float)(((double)x[i] - mean) * by * (double)norm->gain[i] + (double)norm->shift[i]);
}

static void softmax(float *x, float by, size_t n)
{
    double sum = 0;
    float most = x[0];
    for (size_t i = 1; i < n; i++)
        most = x[i] > most ? x[i] : most;
    for (size_t i = 0; i < n; i++)
        sum += exp((double)by * ((double)x[i] - (double)most));
    for (size_t i = 0; i < n; i++)
        x[i] = (float)(exp((double)by * ((double)x[i] - (double)most)) / sum);
}

static void product(const struct rowop_product *p)
{
    for (size_t row = 0; row < p->rows; row++) {
        for (size_t o = 0; o < p->outs; o++) {
            const float *x = p->x + row * p->x_step, *w = p->w + o * p->w_step;
            float *out = p->out + row * p->out_step + o;
            double sum = p->add ? (double)*out : 0;
            for (size_t i = 0; i < p->n; i++)
                sum += (double)x[i] * (double)w[i];
            *out = (float)sum;
        }
    }
}

static void mix(const struct rowop_mix *m)
{
    for (size_t row = 0; row < m->rows; row++) {
        for (size_t c = 0; c < m->width; c++) {
            double sum = 0;
            for (size_t j = 0; j < m->n; j++)
                sum += (double)m->p[row * m->p_step + j] * (double)m->v[j * m->v_step + c];
            m->out[row * m->out_step + c] = (float)sum;
        }
    }
}

static float of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Denormals are numbers of this many 2^-24; the top exponent is infinity or NaN. */
static float of_f16(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, exponent = half >> 10 & 31, rest = half & 1023;
    if (exponent == 0) {
        float small = (float)rest * 0x1p-24f;
        return sign != 0 ? -small : small;
    }
    if (exponent == 31) /* a NaN is made quiet, as the hardware does */
        return of_bits(sign | 0x7f800000 | (rest != 0 ? 0x400000 : 0) | rest << 13);
    return of_bits(sign | (exponent + 112) << 23 | rest << 13);
}

static void widen_f16(float *out, const uint16_t *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = of_f16(x[i]);
}

static void widen_bf16(float *out, const uint16_t *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = of_bits((uint32_t)x[i] << 16);
}

const struct rowops rowops__scalar = {
    .name = "scalar",
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
