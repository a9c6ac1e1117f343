#include "core/model/builtin/linear.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHECK_ROWS = 67, CHECK_OUTS = 96, CHECK_N = 384 };

struct piece {
    const float *w; /* rows of n */
    uint32_t outs, n;
    size_t out_step;
    float *out; /* of its first output */
};

static void by_blas(const struct piece *p, const struct linear_rows *r)
{
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (blasint)r->rows, (blasint)p->outs,
                (blasint)p->n, 1, r->x, (blasint)p->n, p->w, (blasint)p->n, r->add ? 1 : 0, p->out,
                (blasint)p->out_step);
}

static void by_rowops(const struct rowops *ops, const struct piece *p, const struct linear_rows *r)
{
    ops->product(&(struct rowop_product){
        .x = r->x,
        .x_step = p->n,
        .rows = r->rows,
        .w = p->w,
        .w_step = p->n,
        .outs = p->outs,
        .n = p->n,
        .out = p->out,
        .out_step = p->out_step,
        .add = r->add,
    });
}

static void apply_piece(const struct linear *way, const struct piece *p,
                        const struct linear_rows *r)
{
    if (way->blas && r->rows >= LINEAR_FEW_ROWS)
        by_blas(p, r);
    else
        by_rowops(way->ops, p, r);
}

static uint32_t wide_rows(const struct matrix *m)
{
    size_t rows = LINEAR_WIDE_BYTES / (m->n * sizeof(float));
    return rows == 0 ? 1 : rows < m->outs ? (uint32_t)rows : m->outs;
}

size_t linear_wide_bytes(const struct matrix *m)
{
    return m->type == TENSOR_F32 ? 0 : (size_t)wide_rows(m) * m->n * sizeof(float);
}

void linear_widen(const struct rowops *ops, const struct matrix *m, size_t from, size_t n,
                  float *out)
{
    if (m->type == TENSOR_F32)
        memcpy(out, (const float *)m->at + from, n * sizeof *out);
    else if (m->type == TENSOR_F16)
        ops->widen_f16(out, (const uint16_t *)m->at + from, n);
    else
        ops->widen_bf16(out, (const uint16_t *)m->at + from, n);
}

void linear_apply(const struct linear *way, const struct matrix *m, const struct linear_rows *r,
                  float *wide)
{
    struct piece p = {.w = m->at, .outs = m->outs, .n = m->n, .out_step = m->outs, .out = r->out};
    if (m->type == TENSOR_F32) {
        apply_piece(way, &p, r);
        return;
    }
    uint32_t step = wide_rows(m);
    p.w = wide;
    for (uint32_t from = 0; from < m->outs; from += step) {
        p.outs = m->outs - from < step ? m->outs - from : step;
        p.out = r->out + from;
        linear_widen(way->ops, m, (size_t)from * m->n, (size_t)p.outs * m->n, wide);
        apply_piece(way, &p, r);
    }
}

/* --- whether OpenBLAS is sound --- */

/* Both ways must agree on one product; values are small fractions of any sign. */
static bool computes_right(const struct rowops *ops, float *room)
{
    float *x = room, *w = x + CHECK_ROWS * CHECK_N, *first = w + CHECK_OUTS * CHECK_N;
    float *second = first + CHECK_ROWS * CHECK_OUTS;
    uint32_t seed = 1;
    for (size_t i = 0; i < (CHECK_ROWS + CHECK_OUTS) * CHECK_N; i++) {
        seed = seed * 1664525 + 1013904223;
        x[i] = (float)(int32_t)seed / 4294967296.0f;
    }
    const struct linear_rows rows = {.x = x, .rows = CHECK_ROWS, .out = first};
    struct piece p = {.w = w, .outs = CHECK_OUTS, .n = CHECK_N, .out_step = CHECK_OUTS};
    p.out = first;
    by_rowops(ops, &p, &rows);
    p.out = second;
    by_blas(&p, &rows);
    for (size_t i = 0; i < CHECK_ROWS * CHECK_OUTS; i++) {
        if (!(fabsf(first[i] - second[i]) < 1e-3f)) /* also when it is no number */
            return false;
    }
    return true;
}

struct linear linear_choose(const char *name)
{
    struct linear way = {.ops = rowops_choose(name)};
    if (way.ops == NULL || openblas_get_parallel() != OPENBLAS_THREAD)
        return way;
    openblas_set_num_threads(1);
    size_t floats = (CHECK_ROWS + CHECK_OUTS) * CHECK_N + 2 * (size_t)CHECK_ROWS * CHECK_OUTS;
    float *room = calloc(floats, sizeof *room);
    way.blas = room != NULL && computes_right(way.ops, room);
    free(room);
    return way;
}
