#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <strings.h>

#include "core/base/limits.h"
#include "core/graph/edge.h"
#include "core/model/ask_int.h"
#include "core/text/utf8.h"

enum { LINES_MAX = 16, WRONG_BYTES = 256 };

enum err_code ask__wrong(const struct ask_reader *r, const char *fmt, ...)
{
    char text[WRONG_BYTES];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    buf_clear(r->wrong);
    buf_str_put(r->wrong, str_of(text));
    return err_set(r->err, ERR_UNPROCESSABLE, "%s", text);
}

enum err_code ask__memory(struct err *err)
{
    return err_set(err, ERR_EXHAUSTED, "no memory for a model's reply");
}

/* --- structure --- */

bool ask__items(const json_t *reply, const char *name, struct ask_items *items)
{
    const json_t *value = json_is_array(reply) ? reply : json_object_get(reply, name);
    *items = (struct ask_items){.array = json_is_array(value) ? value : NULL, .only = value};
    items->n = json_is_array(value) ? json_array_size(value) : 1;
    return json_is_array(value) || json_is_object(value);
}

const json_t *ask__item(const struct ask_items *items, size_t i)
{
    return items->array != NULL ? json_array_get(items->array, i) : items->only;
}

const json_t *ask__member(const json_t *object, const char *name)
{
    return json_object_get(object, name);
}

/* --- numbers --- */

static bool number_of(const json_t *value, double *out)
{
    if (json_is_number(value)) {
        *out = json_number_value(value);
        return isfinite(*out);
    }
    struct str text = {json_string_value(value), json_string_length(value)};
    return json_is_string(value) && str_double(str_trim(text), out);
}

bool ask__whole(const json_t *value, uint32_t *out)
{
    double number;
    if (!number_of(value, &number) || number < 0 || number > UINT32_MAX || number != floor(number))
        return false;
    *out = (uint32_t)number;
    return true;
}

double ask__weight(const json_t *value)
{
    double weight;
    if (!number_of(value, &weight))
        return 0.5;
    return weight < 0 ? 0 : weight > 1 ? 1 : weight;
}

bool ask__truth(const json_t *value, bool *out)
{
    double number;
    if (json_is_boolean(value)) {
        *out = json_is_true(value);
        return true;
    }
    if (number_of(value, &number)) {
        *out = number != 0;
        return true;
    }
    const char *word = json_string_value(value);
    if (word == NULL || (strcasecmp(word, "true") != 0 && strcasecmp(word, "false") != 0))
        return false;
    *out = strcasecmp(word, "true") == 0;
    return true;
}

uint8_t ask__role(const json_t *value, uint8_t first, uint8_t last, uint8_t other)
{
    const char *slug = json_string_value(value);
    for (uint8_t role = first; slug != NULL && role <= last; role++) {
        if (strcasecmp(slug, edge_role_slug(role)) == 0)
            return role;
    }
    return other;
}

/* --- texts --- */

struct str ask__line(const struct ask_reader *r, const json_t *value, size_t max)
{
    struct buf out;
    if (!json_is_string(value))
        return STR("");
    struct str text = {json_string_value(value), json_string_length(value)};
    buf_init(&out, r->arena, text.len + 1);
    ask__put(&out, text, &r->key, ASK_ONE_LINE);
    return buf_ok(&out) ? ask__clip(buf_str(&out), max) : STR_NONE;
}

struct lines {
    struct str at[LINES_MAX], normal[LINES_MAX];
    uint32_t n;
};

static enum err_code add_line(const struct ask_reader *r, struct lines *lines, struct str line)
{
    struct str normal = line.at == NULL ? line : utf8_normal(r->arena, line);
    if (normal.at == NULL)
        return ask__memory(r->err);
    for (uint32_t i = 0; i < lines->n; i++) {
        if (str_eq(lines->normal[i], normal))
            return ERR_OK;
    }
    if (normal.len != 0) {
        lines->at[lines->n] = line;
        lines->normal[lines->n++] = normal;
    }
    return ERR_OK;
}

static struct str joined(struct arena *arena, const struct lines *lines)
{
    struct buf out;
    size_t room = 1;
    for (uint32_t i = 0; i < lines->n; i++)
        room += lines->at[i].len + 1;
    buf_init(&out, arena, room);
    for (uint32_t i = 0; i < lines->n; i++) {
        if (i != 0)
            buf_char(&out, '\n');
        buf_str_put(&out, lines->at[i]);
    }
    return buf_ok(&out) ? buf_str(&out) : STR_NONE;
}

struct str ask__lines(const struct ask_reader *r, const json_t *value, uint32_t cap, size_t max)
{
    struct lines lines = {.n = 0};
    size_t n = json_is_array(value) ? json_array_size(value) : json_is_string(value);
    ASSERT(cap <= LINES_MAX);
    for (size_t i = 0; i < n && lines.n < cap; i++) {
        const json_t *item = json_is_array(value) ? json_array_get(value, i) : value;
        if (add_line(r, &lines, ask__line(r, item, max)) != ERR_OK)
            return STR_NONE;
    }
    return joined(r->arena, &lines);
}
