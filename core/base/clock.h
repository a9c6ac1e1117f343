/* Time is injected: nothing else in core/ asks the system for it, so tests set it.
 *
 * Two clocks: `now_ms` is UTC wall time (milliseconds since 1970), used for what is stored;
 * `mono_ns` never goes back, used for durations and deadlines. */
#ifndef HM_CORE_BASE_CLOCK_H
#define HM_CORE_BASE_CLOCK_H

#include <stdint.h>

struct clock {
    int64_t (*now_ms)(const struct clock *clock);
    int64_t (*mono_ns)(const struct clock *clock);
    int64_t fixed_ms; /* the manual clock's time; ignored by the system clock */
};

struct clock clock_system(void);
/* Stands at `fixed_ms` until its owner changes the field; mono_ns follows it. */
struct clock clock_manual(int64_t fixed_ms);

static inline int64_t clock_now_ms(const struct clock *clock)
{
    return clock->now_ms(clock);
}
static inline int64_t clock_mono_ns(const struct clock *clock)
{
    return clock->mono_ns(clock);
}
static inline int64_t clock_mono_ms(const struct clock *clock)
{
    return clock->mono_ns(clock) / 1000000;
}

#endif
