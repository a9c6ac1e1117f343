/* The ini file, through libinih. What the library would silently cut or join is refused here: lines
 * over its buffer, a NUL, a key that comes twice (a continuation line looks like that, too). */
#include "config/config_int.h"

#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <string.h>
#include <unistd.h>

struct reading {
    struct config *config;
    struct str path;
    struct err *err;
    bool seen[CONFIG_COUNT];
};

enum err_code config__read_file(struct arena *arena, struct str path, size_t max,
                                struct str *content, struct err *err)
{
    int fd = open(path.at, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_set(err, ERR_INVALID, "%.*s: %s", STR_FMT(path), strerror(errno));
    char *at = arena_alloc(arena, max + 2);
    size_t len = 0;
    ssize_t got = -1;
    enum err_code code = ERR_OK;
    if (at == NULL) {
        code = err_set(err, ERR_EXHAUSTED, "out of memory");
        goto out;
    }
    do {
        got = read(fd, at + len, max + 1 - len);
        len += got > 0 ? (size_t)got : 0;
    } while ((got > 0 && len <= max) || (got < 0 && errno == EINTR));
    if (got < 0)
        code = err_set(err, ERR_INVALID, "%.*s: %s", STR_FMT(path), strerror(errno));
    else if (len > max)
        code = err_set(err, ERR_INVALID, "%.*s: over %zu bytes", STR_FMT(path), max);
    at[len] = '\0';
    *content = (struct str){at, len};
out:
    (void)close(fd);
    return code;
}

static enum err_code check_text(struct str path, struct str text, struct err *err)
{
    size_t line = 1;
    size_t start = 0;
    for (size_t i = 0; i <= text.len; i++) {
        bool at_end = i == text.len || text.at[i] == '\n';
        if (!at_end && text.at[i] == '\0')
            return err_set(err, ERR_INVALID, "%.*s:%zu: a NUL byte", STR_FMT(path), line);
        if (at_end && i - start > CONFIG_LINE_MAX)
            return err_set(err, ERR_INVALID, "%.*s:%zu: a line over %d bytes", STR_FMT(path), line,
                           (int)CONFIG_LINE_MAX);
        if (at_end) {
            start = i + 1;
            line++;
        }
    }
    return ERR_OK;
}

static enum err_code take(struct reading *r, const char *section, const char *name,
                          const char *value)
{
    struct config_given given = {.source = SOURCE_FILE, .name = r->path, .text = str_of(value)};
    if (!config__find(str_of(name), &given.id, &given.by_file)) {
        struct config_name near = config__nearest_key(name, NULL, NULL);
        return err_set_param(r->err, ERR_INVALID, name, "unknown key %.64s; did you mean %s?", name,
                             near.text);
    }
    const struct config_row *row = &config__rows[given.id];
    if (section[0] != '\0' && strcmp(section, row->group) != 0)
        return err_set_param(r->err, ERR_INVALID, name, "%s stands in [%.64s] but belongs to [%s]",
                             name, section, row->group);
    if (r->seen[given.id])
        return err_set_param(r->err, ERR_INVALID, name, "%s is given twice", name);
    r->seen[given.id] = true;
    return config__set(r->config, &given, r->err);
}

static int on_value(void *user, const char *section, const char *name, const char *value)
{
    struct reading *r = user;
    if (r->err->code != ERR_OK)
        return 1; /* the first error is the one to tell */
    return take(r, section, name, value) == ERR_OK;
}

enum err_code config__read_ini(struct config *config, struct str path, struct err *err)
{
    struct err inner = {.code = ERR_OK};
    struct str text = STR_NONE;
    enum err_code code = config__read_file(config->arena, path, CONFIG_FILE_MAX, &text, err);
    if (code == ERR_OK)
        code = check_text(path, text, err);
    if (code != ERR_OK)
        return code;
    struct reading r = {.config = config, .path = path, .err = &inner};
    int line = ini_parse_string(text.at, on_value, &r);
    if (line == 0)
        return ERR_OK;
    if (inner.code == ERR_OK)
        return err_set(err, ERR_INVALID, "%.*s:%d: want key = value, [section] or a comment",
                       STR_FMT(path), line);
    return err_set_param(err, inner.code, inner.param, "%.*s:%d: %s", STR_FMT(path), line,
                         inner.message);
}
