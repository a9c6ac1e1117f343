/* Strings are {at, len}: bytes, not terminated, NUL allowed inside. A `struct str` borrows; who
 * owns the bytes is said where one is handed over (mostly an arena or a read transaction). */
#ifndef HM_CORE_BASE_STR_H
#define HM_CORE_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/base/arena.h"

struct str {
    const char *at; /* NULL only for the absent string */
    size_t len;
};

#define STR(literal) ((struct str){"" literal, sizeof(literal) - 1})
#define STR_NONE ((struct str){NULL, 0})
/* For printf: printf("%.*s", STR_FMT(s)). */
#define STR_FMT(s) (int)(s).len, ((s).at != NULL ? (s).at : "")

static inline struct str str_of(const char *text)
{
    return (struct str){text, text != NULL ? strlen(text) : 0};
}

static inline bool str_eq(struct str a, struct str b)
{
    if (a.len != b.len)
        return false;
    /* An absent string has no length; said for those who read code without running it. */
    return a.len == 0 || (a.at != NULL && b.at != NULL && memcmp(a.at, b.at, a.len) == 0);
}

/* Byte order; a prefix sorts first. */
int str_cmp(struct str a, struct str b);
/* Part [from, to) of s; bounds are clamped. */
static inline struct str str_part(struct str s, size_t from, size_t to)
{
    if (to > s.len)
        to = s.len;
    if (from > to)
        from = to;
    /* The absent string has no length, so nothing is added to its NULL. */
    return (struct str){from == 0 ? s.at : s.at + from, to - from};
}
static inline bool str_starts(struct str s, struct str prefix)
{
    return s.len >= prefix.len && str_eq(str_part(s, 0, prefix.len), prefix);
}
bool str_ends(struct str s, struct str suffix);
/* Without ASCII white space at both ends. */
struct str str_trim(struct str s);
/* Index of the first `byte`, or s.len. */
size_t str_index(struct str s, char byte);

/* Copies into the arena, with a NUL behind that is not counted; .at is NULL when memory is short.
 * */
struct str str_copy(struct arena *arena, struct str s);
/* Formatted into the arena; .at is NULL when memory is short. */
struct str str_printf(struct arena *arena, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Decimal digits only, no sign, whole string; false when not a number or above `max`. */
bool str_u64(struct str s, uint64_t max, uint64_t *out);
/* Finite decimal number, whole string (C locale). */
bool str_double(struct str s, double *out);

#endif
