#include "api/params.h"

#include <inttypes.h>
#include <stdio.h>

#include "api/path.h"
#include "core/base/civil.h"
#include "core/text/utf8.h"

enum err_code params_init(struct arena *arena, const struct param_row *rows, unsigned n,
                          struct param_set *set, struct err *err)
{
    *set = (struct param_set){.rows = rows, .n = n};
    set->values = ARENA_ARRAY(arena, struct param, n);
    if (set->values == NULL)
        return err_set(err, ERR_EXHAUSTED, "no memory for the parameters");
    for (unsigned i = 0; i < n; i++)
        set->values[i].number = rows[i].fallback;
    return ERR_OK;
}

/* A parameter's name for an error; what a client made up is cut to what the error can hold. */
static enum err_code refuse_name(struct err *err, struct str name, const char *message)
{
    char text[sizeof((struct err *)0)->param];
    struct str cut = utf8_cut(str_part(name, 0, utf8_valid_len(name)), sizeof text - 1);
    (void)snprintf(text, sizeof text, "%.*s", STR_FMT(cut));
    return err_set_param(err, ERR_INVALID, text, "%s", message);
}

enum err_code params_take(struct param_set *set, struct str name, unsigned *index, struct err *err)
{
    for (unsigned i = 0; i < set->n; i++) {
        if (!str_eq(name, str_of(set->rows[i].name)))
            continue;
        if (set->values[i].given)
            return refuse_name(err, name, "this parameter is given twice");
        *index = i;
        return ERR_OK;
    }
    return refuse_name(err, name, "there is no such parameter here");
}

enum err_code params_set_number(struct param_set *set, unsigned index, uint64_t number,
                                struct err *err)
{
    const struct param_row *row = &set->rows[index];
    if (number < row->min || number > row->max)
        return err_set_param(err, ERR_INVALID, row->name,
                             "%s must be between %" PRIu64 " and %" PRIu64, row->name, row->min,
                             row->max);
    set->values[index].given = true;
    set->values[index].number = number;
    return ERR_OK;
}

static enum err_code set_uint(struct param_set *set, unsigned index, struct str text,
                              struct err *err)
{
    uint64_t number;
    const char *name = set->rows[index].name;
    if (!str_u64(text, UINT64_MAX, &number))
        return err_set_param(err, ERR_INVALID, name, "%s must be a whole number, 0 or more", name);
    return params_set_number(set, index, number, err);
}

static enum err_code set_flag(const struct param_row *row, struct param *value, struct str text,
                              struct err *err)
{
    bool yes = str_eq(text, STR("true")) || str_eq(text, STR("1"));
    if (!yes && !str_eq(text, STR("false")) && !str_eq(text, STR("0")))
        return err_set_param(err, ERR_INVALID, row->name, "%s must be true or false", row->name);
    value->number = yes;
    return ERR_OK;
}

static enum err_code set_string(const struct param_row *row, struct param *value, struct str text,
                                struct err *err)
{
    if (!utf8_is_valid(text))
        return err_set_param(err, ERR_INVALID, row->name, "%s is not valid UTF-8", row->name);
    if (text.len > row->max)
        return err_set_param(err, ERR_INVALID, row->name, "%s is longer than %" PRIu64 " bytes",
                             row->name, row->max);
    if ((row->flags & PARAM_NOT_BLANK) != 0 && utf8_is_blank(text))
        return err_set_param(err, ERR_INVALID, row->name, "%s is blank", row->name);
    value->text = text;
    return ERR_OK;
}

enum { OFFSET_TEXT = 6 }; /* "+02:00" */

/* An unescaped "+02:00" arrives as " 02:00": "+" is a blank in a query string, and every client
 * gets this wrong once. No other RFC 3339 text has a blank there. */
static bool parse_time(struct str text, struct param *value)
{
    if (rfc3339_parse(text, &value->time_ms, &value->offset_min))
        return true;
    char copy[64];
    if (text.len <= OFFSET_TEXT || text.len > sizeof copy || text.at[text.len - OFFSET_TEXT] != ' ')
        return false;
    memcpy(copy, text.at, text.len);
    copy[text.len - OFFSET_TEXT] = '+';
    return rfc3339_parse((struct str){copy, text.len}, &value->time_ms, &value->offset_min);
}

static enum err_code set_choice(const struct param_row *row, struct param *value, struct str text,
                                struct err *err)
{
    for (unsigned i = 0; row->choices[i] != NULL; i++) {
        if (str_eq(text, str_of(row->choices[i]))) {
            value->number = i;
            return ERR_OK;
        }
    }
    if ((row->flags & PARAM_UNBUILT) != 0)
        return err_set_param(err, ERR_UNIMPLEMENTED, row->name, "%s: only \"%s\" is built so far",
                             row->name, row->choices[0]);
    char all[128] = "";
    size_t n = 0;
    for (unsigned i = 0; row->choices[i] != NULL && n < sizeof all; i++) {
        int more = snprintf(all + n, sizeof all - n, "%s%s", i == 0 ? "" : ", ", row->choices[i]);
        n += more > 0 ? (size_t)more : 0;
    }
    return err_set_param(err, ERR_INVALID, row->name, "%s must be one of: %s", row->name, all);
}

static enum err_code set_real(const struct param_row *row, struct param *value, struct str text,
                              struct err *err)
{
    if (str_double(text, &value->real) && value->real >= (double)row->min &&
        value->real <= (double)row->max)
        return ERR_OK;
    value->real = 0;
    return err_set_param(err, ERR_INVALID, row->name,
                         "%s must be a number between %" PRIu64 " and %" PRIu64, row->name,
                         row->min, row->max);
}

enum err_code params_set_text(struct param_set *set, unsigned index, struct str text,
                              struct err *err)
{
    const struct param_row *row = &set->rows[index];
    struct param *value = &set->values[index];
    enum err_code code = ERR_OK;
    if (row->type != PARAM_CHOICE && (row->flags & PARAM_UNBUILT) != 0)
        return err_set_param(err, ERR_UNIMPLEMENTED, row->name, "%s is not built yet", row->name);
    switch (row->type) {
    case PARAM_UINT: return set_uint(set, index, text, err);
    case PARAM_FLAG: code = set_flag(row, value, text, err); break;
    case PARAM_TEXT: code = set_string(row, value, text, err); break;
    case PARAM_CHOICE: code = set_choice(row, value, text, err); break;
    case PARAM_REAL: code = set_real(row, value, text, err); break;
    case PARAM_TIME:
        if (!parse_time(text, value))
            code =
                err_set_param(err, ERR_INVALID, row->name,
                              "%s is not an RFC 3339 time such as 2023-05-08T13:56:00Z", row->name);
        break;
    }
    value->given = code == ERR_OK;
    return code;
}

static enum err_code parse_pair(struct arena *arena, struct str pair, struct param_set *set,
                                struct err *err)
{
    size_t equals = str_index(pair, '=');
    bool name_ok, value_ok;
    unsigned index = 0;
    struct str name = percent_decode(arena, str_part(pair, 0, equals), true, &name_ok);
    if (!name_ok)
        return err_set_param(err, ERR_INVALID, "query", "a bad escape in the query string");
    if (name.at == NULL)
        return err_set(err, ERR_EXHAUSTED, "no memory for the parameters");
    enum err_code code = params_take(set, name, &index, err);
    if (code != ERR_OK)
        return code;
    struct str text = percent_decode(arena, str_part(pair, equals + 1, pair.len), true, &value_ok);
    if (!value_ok)
        return refuse_name(err, name, "a bad escape in its value");
    if (text.at == NULL)
        return err_set(err, ERR_EXHAUSTED, "no memory for the parameters");
    return params_set_text(set, index, text, err);
}

enum err_code params_parse(struct arena *arena, struct str query, struct param_set *set,
                           struct err *err)
{
    while (query.len != 0) {
        size_t end = str_index(query, '&');
        struct str pair = str_part(query, 0, end);
        if (pair.len != 0) {
            enum err_code code = parse_pair(arena, pair, set, err);
            if (code != ERR_OK)
                return code;
        }
        query = str_part(query, end + 1, query.len);
    }
    return ERR_OK;
}

enum err_code params_check(const struct param_set *set, struct err *err)
{
    for (unsigned i = 0; i < set->n; i++) {
        const struct param_row *row = &set->rows[i];
        if ((row->flags & PARAM_REQUIRED) != 0 && !set->values[i].given)
            return err_set_param(err, ERR_INVALID, row->name, "%s is missing: %s", row->name,
                                 row->doc);
    }
    return ERR_OK;
}
