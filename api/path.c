#include "api/path.h"

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    char lower = (char)(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

static bool is_plain(struct str raw, bool form)
{
    return str_index(raw, '%') == raw.len && (!form || str_index(raw, '+') == raw.len);
}

struct str percent_decode(struct arena *arena, struct str raw, bool form, bool *ok)
{
    *ok = true;
    if (is_plain(raw, form))
        return raw.at != NULL ? raw : STR("");
    char *to = arena_alloc(arena, raw.len);
    if (to == NULL)
        return STR_NONE;
    size_t n = 0;
    for (size_t i = 0; i < raw.len; i++) {
        char c = raw.at[i];
        if (c == '%') {
            int high = i + 2 < raw.len ? hex_value(raw.at[i + 1]) : -1;
            int low = i + 2 < raw.len ? hex_value(raw.at[i + 2]) : -1;
            if (high < 0 || low < 0) {
                *ok = false;
                return STR_NONE;
            }
            c = (char)(high * 16 + low);
            i += 2;
        } else if (form && c == '+') {
            c = ' ';
        }
        to[n++] = c;
    }
    return (struct str){to, n};
}

static enum err_code decode_segment(struct arena *arena, struct str raw, struct str *segment,
                                    struct err *err)
{
    bool ok;
    *segment = percent_decode(arena, raw, false, &ok);
    if (!ok)
        return err_set_param(err, ERR_INVALID, "path", "a bad escape in the path");
    if (segment->at == NULL)
        return err_set(err, ERR_EXHAUSTED, "no memory for the path");
    if (str_index(*segment, '\0') != segment->len)
        return err_set_param(err, ERR_INVALID, "path", "a NUL byte in the path");
    return ERR_OK;
}

enum err_code path_split(struct arena *arena, struct str raw, struct path *path, struct err *err)
{
    path->n = 0;
    if (raw.len == 0 || raw.at[0] != '/')
        return err_set(err, ERR_NOT_FOUND, "there is nothing at this path");
    struct str rest = str_part(raw, 1, raw.len);
    for (;;) {
        if (path->n == PATH_SEGMENTS)
            return err_set(err, ERR_NOT_FOUND, "there is nothing at this path");
        size_t end = str_index(rest, '/');
        enum err_code code =
            decode_segment(arena, str_part(rest, 0, end), &path->segment[path->n], err);
        if (code != ERR_OK)
            return code;
        path->n++;
        if (end == rest.len)
            return ERR_OK;
        rest = str_part(rest, end + 1, rest.len);
    }
}
