#include "core/base/clock.h"

#include <time.h>

static int64_t system_now_ms(const struct clock *clock)
{
    (void)clock;
    struct timespec t;
    (void)clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int64_t system_mono_ns(const struct clock *clock)
{
    (void)clock;
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t manual_now_ms(const struct clock *clock)
{
    return clock->fixed_ms;
}

static int64_t manual_mono_ns(const struct clock *clock)
{
    return clock->fixed_ms * 1000000;
}

struct clock clock_system(void)
{
    return (struct clock){.now_ms = system_now_ms, .mono_ns = system_mono_ns};
}

struct clock clock_manual(int64_t fixed_ms)
{
    return (struct clock){.now_ms = manual_now_ms, .mono_ns = manual_mono_ns, .fixed_ms = fixed_ms};
}
