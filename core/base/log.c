#include "core/base/log.h"

#include <stdio.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/civil.h"

static const char *const level_names[] = {"error", "warn", "info", "debug"};

enum { LINE_MAX_BYTES = 4096 };

/* A line in the making: fixed storage, so logging never fails for want of memory. */
struct line {
    char at[LINE_MAX_BYTES];
    size_t len;
};

static void put(struct line *line, struct str s)
{
    size_t room = sizeof line->at - 1 - line->len; /* one byte for the line feed */
    size_t n = s.len < room ? s.len : room;
    if (n != 0)
        memcpy(line->at + line->len, s.at, n);
    line->len += n;
}

static void put_escaped(struct line *line, struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.at[i];
        char text[8];
        if (c == '"' || c == '\\')
            put(line, (struct str){text, (size_t)snprintf(text, sizeof text, "\\%c", c)});
        else if (c < 0x20 || c == 0x7f)
            put(line, (struct str){text, (size_t)snprintf(text, sizeof text, "\\u%04x", c)});
        else
            put(line, str_part(s, i, i + 1));
    }
}

static bool is_plain(struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.at[i];
        if (c <= 0x20 || c == '"' || c == '=' || c == '\\' || c == 0x7f)
            return false;
    }
    return s.len != 0;
}

static void put_text(const struct log *log, struct line *line, struct str s)
{
    bool quote = log->json || !is_plain(s);
    if (quote)
        put(line, STR("\""));
    put_escaped(line, s);
    if (quote)
        put(line, STR("\""));
}

static void put_key(const struct log *log, struct line *line, const char *key)
{
    if (log->json) {
        put(line, line->len <= 1 ? STR("\"") : STR(",\""));
        put(line, str_of(key));
        put(line, STR("\":"));
        return;
    }
    if (line->len != 0)
        put(line, STR(" "));
    put(line, str_of(key));
    put(line, STR("="));
}

static void put_field(const struct log *log, struct line *line, const struct log_field *f)
{
    char text[48];
    put_key(log, line, f->key);
    if (f->type == LOG_F_STR) {
        put_text(log, line, f->text);
        return;
    }
    int n = f->type == LOG_F_INT ? snprintf(text, sizeof text, "%lld", (long long)f->number)
                                 : snprintf(text, sizeof text, "%.6g", f->real);
    put(line, (struct str){text, n < 0 ? 0 : (size_t)n});
}

void log_line(const struct log *log, enum log_level level, const char *event,
              const struct log_field *fields, size_t n)
{
    if (log == NULL || level > log->level)
        return;
    struct line line;
    line.len = 0;
    char when[RFC3339_MAX];
    size_t when_len = rfc3339_format(clock_now_ms(&log->clock), when);
    const struct log_field head[] = {
        F_STR("time", ((struct str){when, when_len})),
        F_CSTR("level", level_names[level]),
        F_CSTR("event", event),
    };
    if (log->json)
        put(&line, STR("{"));
    for (size_t i = 0; i < sizeof head / sizeof head[0]; i++)
        put_field(log, &line, &head[i]);
    for (size_t i = 0; i < n; i++)
        put_field(log, &line, &fields[i]);
    if (log->json)
        put(&line, STR("}"));
    line.at[line.len++] = '\n';
    /* A log that can't be written must not stop the server. */
    ssize_t written = write(log->fd, line.at, line.len);
    (void)written;
}

void log_err(const struct log *log, enum log_level level, const char *event, const struct err *err)
{
    const char *slash = err->file == NULL ? NULL : strrchr(err->file, '/');
    LOG(log, level, event, F_CSTR("code", err_slug(err->code)), F_CSTR("message", err->message),
        F_CSTR("param", err->param), F_CSTR("file", slash != NULL ? slash + 1 : err->file),
        F_INT("line", err->line));
}

bool log_level_parse(struct str name, enum log_level *level)
{
    for (size_t i = 0; i < sizeof level_names / sizeof level_names[0]; i++)
        if (str_eq(name, str_of(level_names[i]))) {
            *level = (enum log_level)i;
            return true;
        }
    return false;
}
