#include "core/base/err.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct err_row {
    const char *slug;
    int status;
    bool retryable;
};

static const struct err_row rows[ERR_CODE_COUNT] = {
#define X(name, slug_, status_, retryable_) [ERR_##name] = {slug_, status_, retryable_},
    ERR_CODE_TABLE(X)
#undef X
};

/* What was cut to fit ends with a whole character: messages quote text of users, and leave as JSON
 * (RFC 3629, section 3). */
static void end_whole(char *text, size_t len)
{
    size_t at = len;
    while (at > 0 && ((unsigned char)text[at - 1] & 0xc0) == 0x80)
        at--;
    if (at == 0)
        return;
    unsigned char lead = (unsigned char)text[at - 1];
    size_t needs = lead < 0xc0 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if (len - (at - 1) < needs)
        text[at - 1] = '\0';
}

enum err_code err__set(struct err *err, enum err_code code, const char *file, int line,
                       const char *param, const char *fmt, ...)
{
    ASSERT(code > ERR_OK && code < ERR_CODE_COUNT);
    if (err == NULL)
        return code;
    /* The arguments may point into `err` itself, so the text is made beside it first. */
    char message[sizeof err->message];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    end_whole(message, strlen(message));
    char name[sizeof err->param];
    (void)snprintf(name, sizeof name, "%s", param != NULL ? param : "");
    end_whole(name, strlen(name));
    err->code = code;
    err->file = file;
    err->line = line;
    err->retry_after_s = 0;
    memcpy(err->param, name, sizeof name);
    memcpy(err->message, message, sizeof message);
    return code;
}

void err_context(struct err *err, const char *fmt, ...)
{
    if (err == NULL)
        return;
    char text[sizeof err->message];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (n < 0 || (size_t)n + 2 >= sizeof text)
        return;
    (void)snprintf(text + n, sizeof text - (size_t)n, ": %.*s", (int)(sizeof text - (size_t)n - 3),
                   err->message);
    end_whole(text, strlen(text));
    memcpy(err->message, text, sizeof text);
}

const char *err_slug(enum err_code code)
{
    ASSERT(code < ERR_CODE_COUNT);
    return rows[code].slug;
}

int err_http_status(enum err_code code)
{
    ASSERT(code < ERR_CODE_COUNT);
    return rows[code].status;
}

bool err_is_retryable(enum err_code code)
{
    ASSERT(code < ERR_CODE_COUNT);
    return rows[code].retryable;
}

void err_abort(const char *expression, const char *file, int line)
{
    (void)fprintf(stderr, "level=error event=bug assert=\"%s\" at=%s:%d\n", expression, file, line);
    abort();
}
