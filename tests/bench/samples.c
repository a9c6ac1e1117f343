#include "tests/bench/samples.h"

#include <stdlib.h>

enum { UNIT_NS = 100, FIRST_CAP = 1024 };

static bool has_room(struct samples *s)
{
    if (s->n < s->cap)
        return true;
    if (s->cap >= SAMPLES_MAX)
        return false;
    size_t cap = s->cap != 0 ? s->cap * 2 : FIRST_CAP;
    uint32_t *at = realloc(s->at, cap * sizeof *at);
    if (at == NULL)
        return false;
    s->at = at;
    s->cap = cap;
    return true;
}

void samples_add(struct samples *samples, int64_t ns)
{
    int64_t units = ns / UNIT_NS;
    samples->count++;
    if (has_room(samples))
        samples->at[samples->n++] = units > UINT32_MAX ? UINT32_MAX : (uint32_t)units;
}

void samples_free(struct samples *samples)
{
    free(samples->at);
    *samples = (struct samples){0};
}

static int compare(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static double ms(uint32_t units)
{
    return (double)units * UNIT_NS / 1e6;
}

static double percentile(const struct samples *s, double share)
{
    size_t i = (size_t)(share * (double)s->n);
    return ms(s->at[i < s->n ? i : s->n - 1]);
}

void samples_report(struct samples *samples, struct json_out *out, const char *name)
{
    double sum = 0;
    out_object(out, name);
    out_u64(out, "n", samples->count);
    if (samples->n != 0) {
        qsort(samples->at, samples->n, sizeof samples->at[0], compare);
        for (size_t i = 0; i < samples->n; i++)
            sum += ms(samples->at[i]);
        out_real(out, "p50", percentile(samples, 0.50), 4);
        out_real(out, "p90", percentile(samples, 0.90), 4);
        out_real(out, "p99", percentile(samples, 0.99), 4);
        out_real(out, "max", percentile(samples, 1.0), 4);
        out_real(out, "mean", sum / (double)samples->n, 4);
    }
    out_end(out);
}
