/* Structured log lines on one descriptor: `key=value` (logfmt) or JSON, four levels.
 *
 * One call, one line, one write(2): lines of different threads never mix. Never log bodies, keys,
 * prompts or remembered text above debug (STYLE 16). The logger is handed to whoever needs it;
 * there is no global one.
 *
 *   LOG(log, LOG_INFO, "listening", F_STR("address", addr), F_UINT("port", port)); */
#ifndef HM_CORE_BASE_LOG_H
#define HM_CORE_BASE_LOG_H

#include "core/base/clock.h"
#include "core/base/str.h"

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

struct log {
    int fd;
    enum log_level level; /* lines above it are dropped */
    bool json;
    struct clock clock;
};

struct log_field {
    const char *key;
    enum { LOG_F_STR, LOG_F_INT, LOG_F_FLOAT } type;
    struct str text;
    int64_t number;
    double real;
};

#define F_STR(k, v) ((struct log_field){.key = (k), .type = LOG_F_STR, .text = (v)})
#define F_CSTR(k, v) F_STR(k, str_of(v))
#define F_INT(k, v) ((struct log_field){.key = (k), .type = LOG_F_INT, .number = (int64_t)(v)})
#define F_FLOAT(k, v) ((struct log_field){.key = (k), .type = LOG_F_FLOAT, .real = (v)})

/* At least one field. */
#define LOG(log, level_, event, ...)                                                               \
    do {                                                                                           \
        const struct log_field fields_[] = {__VA_ARGS__};                                          \
        log_line(log, level_, event, fields_, sizeof fields_ / sizeof fields_[0]);                 \
    } while (0)

void log_line(const struct log *log, enum log_level level, const char *event,
              const struct log_field *fields, size_t n);
/* The one place where an error is logged: event, code, message, param, place. */
void log_err(const struct log *log, enum log_level level, const char *event, const struct err *err);

bool log_level_parse(struct str name, enum log_level *level);

#endif
