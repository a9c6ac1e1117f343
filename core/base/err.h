/* Errors as values (STYLE 6).
 *
 * A fallible function returns an `enum err_code` (ERR_OK is 0) and fills its last parameter, a
 * `struct err`, when it fails. The error is set where it is known, gets context at most once, and
 * is logged once where it is handled. Messages are for people: they name the parameter, never
 * contain dialogue text, keys or secrets.
 *
 * Three words: refuse (input: ERR_INVALID and the like), report (environment: ERR_UNAVAILABLE,
 * ERR_STORAGE_FULL, ERR_INTERNAL), abort (bug: ASSERT). */
#ifndef HM_CORE_BASE_ERR_H
#define HM_CORE_BASE_ERR_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/err_codes.h"

#define MUST_USE __attribute__((warn_unused_result))
#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))

enum err_code {
#define X(name, slug, status, retryable) ERR_##name,
    ERR_CODE_TABLE(X)
#undef X
        ERR_CODE_COUNT
};

struct err {
    enum err_code code;
    const char *file; /* where it was set; a string literal */
    int line;
    unsigned retry_after_s; /* 0: no advice */
    char param[96];         /* the request parameter at fault, "" when none (e.g. turns[3].text) */
    char message[256];      /* one sentence, no full stop */
};

/* Sets `err` (NULL is allowed and ignored) and returns `code`, so that
 * `return err_set(err, ERR_INVALID, …)` is one line. */
#define err_set(err, code, ...) err__set(err, code, __FILE__, __LINE__, NULL, __VA_ARGS__)
/* The same, naming the parameter at fault. `param` may be built with err_param(). */
#define err_set_param(err, code, param, ...)                                                       \
    err__set(err, code, __FILE__, __LINE__, param, __VA_ARGS__)

enum err_code err__set(struct err *err, enum err_code code, const char *file, int line,
                       const char *param, const char *fmt, ...) PRINTF_LIKE(6, 7);

/* Prefixes the message with "<context>: ". At most once on the way up. */
void err_context(struct err *err, const char *fmt, ...) PRINTF_LIKE(2, 3);

const char *err_slug(enum err_code code);
int err_http_status(enum err_code code);
bool err_is_retryable(enum err_code code);

/* ASSERT stays in release builds: for bugs only, never for input or I/O. DASSERT is for the costly
 * ones and vanishes under NDEBUG. Both cite the invariant they defend in a comment. */
void err_abort(const char *expression, const char *file, int line) __attribute__((noreturn));
#define ASSERT(x) ((x) ? (void)0 : err_abort(#x, __FILE__, __LINE__))
#ifdef NDEBUG
#define DASSERT(x) ((void)sizeof(x))
#else
#define DASSERT(x) ASSERT(x)
#endif

#endif
