#include "api/body_json.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/base/limits.h"
#include "core/text/utf8.h"

enum { NAME_SHOWN = 48 };

/* Brackets outside strings; what is malformed is jansson's to find. */
static bool is_too_deep(struct str text)
{
    unsigned depth = 0;
    bool in_string = false;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.at[i];
        if (in_string) {
            if (c == '\\')
                i++;
            else if (c == '"')
                in_string = false;
        } else if (c == '"') {
            in_string = true;
        } else if (c == '{' || c == '[') {
            if (++depth > LIMIT_JSON_DEPTH)
                return true;
        } else if ((c == '}' || c == ']') && depth != 0) {
            depth--;
        }
    }
    return false;
}

static const char *explain(enum json_error_code code)
{
    switch (code) {
    case json_error_duplicate_key: return "the same key twice in one object";
    case json_error_numeric_overflow: return "a number out of range";
    case json_error_invalid_utf8: return "invalid UTF-8";
    case json_error_premature_end_of_input: return "it ends too early";
    case json_error_end_of_input_expected: return "there is text behind its end";
    case json_error_null_byte_in_key: return "a NUL byte in a key";
    default: return "a syntax error";
    }
}

enum err_code body_json_load(struct str text, const char *param, json_t **root, struct err *err)
{
    json_error_t fault;
    *root = NULL;
    if (str_trim(text).len == 0)
        return err_set_param(err, ERR_INVALID, param, "a JSON body is wanted and there is none");
    if (is_too_deep(text))
        return err_set_param(err, ERR_INVALID, param, "nested deeper than %u", LIMIT_JSON_DEPTH);
    *root = json_loadb(text.at, text.len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &fault);
    if (*root != NULL)
        return ERR_OK;
    if (json_error_code(&fault) == json_error_out_of_memory)
        return err_set(err, ERR_EXHAUSTED, "no memory for the body");
    return err_set_param(err, ERR_INVALID, param, "not valid JSON: %s, at line %d, column %d",
                         explain(json_error_code(&fault)), fault.line, fault.column);
}

enum err_code body_json_text(const json_t *value, struct arena *arena, const char *param,
                             struct str *out, struct err *err)
{
    if (!json_is_string(value))
        return err_set_param(err, ERR_INVALID, param, "must be a string");
    *out = str_copy(arena, (struct str){json_string_value(value), json_string_length(value)});
    return out->at != NULL ? ERR_OK : err_set(err, ERR_EXHAUSTED, "no memory for the body");
}

/* One real of jansson's own text, shortened; it stays a real when it is read again. */
static void put_real(struct buf *out, struct str number)
{
    char text[40];
    double value;
    bool same = false;
    if (!str_double(number, &value)) {
        buf_str_put(out, number);
        return;
    }
    for (int digits = 15; digits <= 17 && !same; digits++) {
        double again;
        int n = snprintf(text, sizeof text, "%.*g", digits, value);
        same = n > 0 && str_double(str_of(text), &again) && again == value;
    }
    buf_str_put(out, same ? str_of(text) : number);
    if (same && strpbrk(text, ".e") == NULL)
        buf_str_put(out, STR(".0"));
}

static size_t number_end(struct str text, size_t i, bool *real)
{
    *real = false;
    while (i < text.len && strchr("+-.0123456789eE", text.at[i]) != NULL && text.at[i] != '\0') {
        *real = *real || text.at[i] == '.' || text.at[i] == 'e' || text.at[i] == 'E';
        i++;
    }
    return i;
}

/* Three bytes, e2 80 a8 or a9, which stand in strings only. */
static bool is_separator(struct str text, size_t i)
{
    return i + 2 < text.len && memcmp(text.at + i, "\xe2\x80", 2) == 0 &&
           ((unsigned char)text.at[i + 2] & 0xfe) == 0xa8;
}

/* `text` is JSON as jansson writes it. */
static void put_compact(struct buf *out, struct str text)
{
    bool in_string = false;
    for (size_t i = 0; i < text.len;) {
        char c = text.at[i];
        size_t end = i + 1;
        bool real = false;
        if (in_string && c == '\\')
            end = i + 2;
        else if (c == '"')
            in_string = !in_string;
        else if (!in_string && (c == '-' || (c >= '0' && c <= '9')))
            end = number_end(text, i, &real);
        if (in_string && is_separator(text, i)) {
            end = i + 3;
            buf_printf(out, "\\u%04x", 0x2000u + ((unsigned char)text.at[i + 2] & 0x3fu));
        } else if (real) {
            put_real(out, str_part(text, i, end));
        } else {
            buf_str_put(out, str_part(text, i, end));
        }
        i = end;
    }
}

bool body_json_compact(const json_t *value, struct buf *out)
{
    char *text = json_dumps(value, JSON_COMPACT);
    if (text == NULL)
        return false;
    put_compact(out, str_of(text)); /* a NUL is escaped in it */
    free(text);
    return buf_ok(out);
}

struct str body_json_name(struct str name)
{
    return utf8_cut(name, NAME_SHOWN);
}
