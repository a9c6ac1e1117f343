/* How long to wait before a call is tried again: exponential with full jitter (each wait is drawn
 * between nothing and the whole span), capped, and never sooner than the provider asked for. Full
 * jitter spreads calls that failed together better than a fixed wait with noise around it. */
#ifndef HM_CORE_MODEL_RETRY_H
#define HM_CORE_MODEL_RETRY_H

#include "core/base/str.h"

enum {
    RETRY_BASE_MS = 500,
    RETRY_CAP_MS = 30000,
    RETRY_AFTER_MAX_MS = 120000, /* asked to wait longer: not a burst, nobody holds a call for it */
    QUOTA_PAUSE_MS = 600000,     /* where an exhausted quota gives no time */
    QUOTA_PAUSE_MAX_MS = 3600000,
    BREAKER_FIRST_MS = 5000,
    BREAKER_MAX_MS = 300000,
};

/* The n-th number of the seed's stream; the same pair gives the same number. */
uint64_t retry_random(uint64_t seed, uint64_t n);
/* Wait after `failures` (>= 1) of one call. `retry_after_ms` < 0: none asked. */
int64_t retry_wait_ms(uint64_t random, uint32_t failures, int64_t retry_after_ms);
/* How long a breaker stays open after having been open for `last_ms` (0: was closed). */
int64_t retry_breaker_ms(int64_t last_ms);
/* The time in a sentence like "Please try again in 1m2.5s" or "retry in 20 seconds", in
 * milliseconds rounded up; -1: it names none. `text` is lower case. */
int64_t retry_told_ms(struct str text);

#endif
