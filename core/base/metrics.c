#include "core/base/metrics.h"

void metrics_observe_data(struct metric_histogram_data *data, int64_t ns)
{
    uint64_t value = ns < 0 ? 0 : (uint64_t)ns;
    unsigned bucket = 0;
    uint64_t bound = METRIC_FIRST_BUCKET_NS;
    while (bucket < METRIC_BUCKETS - 1 && value > bound) {
        bound *= 2;
        bucket++;
    }
    atomic_fetch_add_explicit(&data->bucket[bucket], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&data->sum_ns, value, memory_order_relaxed);
}
