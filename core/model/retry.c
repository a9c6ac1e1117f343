#include "core/model/retry.h"

#include <ctype.h>

enum { TOLD_MAX_MS = 24 * 3600 * 1000 };

uint64_t retry_random(uint64_t seed, uint64_t n)
{
    /* splitmix64 (Steele, Lea, Flood 2014) at position n of the stream */
    uint64_t z = seed + (n + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

int64_t retry_wait_ms(uint64_t random, uint32_t failures, int64_t retry_after_ms)
{
    int64_t span = RETRY_BASE_MS;
    for (uint32_t i = 1; i < failures && span < RETRY_CAP_MS; i++)
        span *= 2;
    span = span < RETRY_CAP_MS ? span : RETRY_CAP_MS;
    int64_t wait = (int64_t)(random % ((uint64_t)span + 1));
    return retry_after_ms > 0 ? retry_after_ms + wait : wait;
}

int64_t retry_breaker_ms(int64_t last_ms)
{
    if (last_ms <= 0)
        return BREAKER_FIRST_MS;
    return last_ms > BREAKER_MAX_MS / 2 ? BREAKER_MAX_MS : last_ms * 2;
}

static bool skip(struct str *rest, const char *word)
{
    struct str text = str_of(word);
    if (!str_starts(*rest, text))
        return false;
    *rest = str_part(*rest, text.len, rest->len);
    return true;
}

/* "12.5" in front; false: no digit. */
static bool take_number(struct str *rest, double *value)
{
    size_t n = 0;
    while (n < rest->len && n < 16 &&
           (isdigit((unsigned char)rest->at[n]) ||
            (rest->at[n] == '.' && n + 1 < rest->len && isdigit((unsigned char)rest->at[n + 1]))))
        n++;
    if (n == 0 || !str_double(str_part(*rest, 0, n), value))
        return false;
    *rest = str_part(*rest, n, rest->len);
    return true;
}

static bool take_unit(struct str *rest, double *ms)
{
    /* The longer spelling of two that begin alike stands first. */
    static const struct {
        const char *word;
        double ms;
    } units[] = {{"milliseconds", 1}, {"ms", 1},          {"minutes", 60000}, {"minute", 60000},
                 {"min", 60000},      {"m", 60000},       {"seconds", 1000},  {"second", 1000},
                 {"sec", 1000},       {"s", 1000},        {"hours", 3600000}, {"hour", 3600000},
                 {"h", 3600000},      {"days", 86400000}, {"day", 86400000}};
    (void)skip(rest, " ");
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (skip(rest, units[i].word)) {
            *ms = units[i].ms;
            return true;
        }
    }
    return false;
}

static int64_t take_span(struct str rest)
{
    double total = 0;
    double value;
    double unit;
    bool any = false;
    while (take_number(&rest, &value) && take_unit(&rest, &unit)) {
        total += value * unit;
        any = true;
        (void)skip(&rest, " ");
    }
    if (!any)
        return -1;
    return total < TOLD_MAX_MS ? (int64_t)(total + 0.999) : TOLD_MAX_MS;
}

int64_t retry_told_ms(struct str text)
{
    static const char *const heads[] = {"try again in ", "retry in ",        "retry after ",
                                        "wait for ",     "retrydelay\": \"", "retrydelay\":\""};
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
        size_t len = strlen(heads[i]);
        const char *at = text.len != 0 ? memmem(text.at, text.len, heads[i], len) : NULL;
        if (at == NULL)
            continue;
        int64_t ms = take_span(str_part(text, (size_t)(at - text.at) + len, text.len));
        if (ms >= 0)
            return ms;
    }
    return -1;
}
