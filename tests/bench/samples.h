/* Durations of one run, all kept, so that percentiles are exact. */
#ifndef HM_TESTS_BENCH_SAMPLES_H
#define HM_TESTS_BENCH_SAMPLES_H

#include "api/json_out.h"

/* 2^22 of them: a run ends before more are needed, further ones are only counted. */
enum { SAMPLES_MAX = 1 << 22 };

struct samples {
    uint32_t *at; /* in units of 100 ns: up to 429 s */
    size_t n, cap;
    uint64_t count;
};

void samples_add(struct samples *samples, int64_t ns);
void samples_free(struct samples *samples);
/* {"n", "p50", "p90", "p99", "max", "mean"} in ms; sorts. */
void samples_report(struct samples *samples, struct json_out *out, const char *name);

#endif
