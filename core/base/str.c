#include "core/base/str.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

int str_cmp(struct str a, struct str b)
{
    size_t n = a.len < b.len ? a.len : b.len;
    int order = n == 0 ? 0 : memcmp(a.at, b.at, n);
    if (order != 0)
        return order;
    return (a.len > b.len) - (a.len < b.len);
}

bool str_ends(struct str s, struct str suffix)
{
    return s.len >= suffix.len && str_eq(str_part(s, s.len - suffix.len, s.len), suffix);
}

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

struct str str_trim(struct str s)
{
    size_t from = 0, to = s.len;
    while (from < to && is_space(s.at[from]))
        from++;
    while (to > from && is_space(s.at[to - 1]))
        to--;
    return str_part(s, from, to);
}

size_t str_index(struct str s, char byte)
{
    const char *hit = s.len == 0 ? NULL : memchr(s.at, byte, s.len);
    return hit == NULL ? s.len : (size_t)(hit - s.at);
}

struct str str_copy(struct arena *arena, struct str s)
{
    char *to = arena_alloc(arena, s.len + 1);
    if (to == NULL)
        return STR_NONE;
    if (s.len != 0)
        memcpy(to, s.at, s.len);
    to[s.len] = '\0';
    return (struct str){to, s.len};
}

struct str str_printf(struct arena *arena, const char *fmt, ...)
{
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    char *to = n < 0 ? NULL : arena_alloc(arena, (size_t)n + 1);
    if (to != NULL)
        (void)vsnprintf(to, (size_t)n + 1, fmt, again);
    va_end(again);
    return to == NULL ? STR_NONE : (struct str){to, (size_t)n};
}

bool str_u64(struct str s, uint64_t max, uint64_t *out)
{
    uint64_t value = 0;
    if (s.len == 0 || s.len > 20)
        return false;
    for (size_t i = 0; i < s.len; i++) {
        if (s.at[i] < '0' || s.at[i] > '9')
            return false;
        uint64_t digit = (uint64_t)(s.at[i] - '0');
        if (__builtin_mul_overflow(value, 10u, &value) ||
            __builtin_add_overflow(value, digit, &value))
            return false;
    }
    *out = value;
    return value <= max;
}

bool str_double(struct str s, double *out)
{
    char text[64];
    if (s.len == 0 || s.len >= sizeof text)
        return false;
    for (size_t i = 0; i < s.len; i++)
        if (strchr("0123456789+-.eE", s.at[i]) == NULL || s.at[i] == '\0')
            return false;
    memcpy(text, s.at, s.len);
    text[s.len] = '\0';
    char *end;
    errno = 0;
    *out = strtod(text, &end);
    return *end == '\0' && end != text && isfinite(*out);
}
