#include "api/params_json.h"

#include "api/body_json.h"

static enum err_code set_integer(struct param_set *set, unsigned index, const json_t *value,
                                 struct err *err)
{
    json_int_t number = json_integer_value(value);
    const char *name = set->rows[index].name;
    if (number < 0)
        return err_set_param(err, ERR_INVALID, name, "%s must be 0 or more", name);
    return params_set_number(set, index, (uint64_t)number, err);
}

static enum err_code set_real(struct arena *arena, const json_t *value, struct param_set *set,
                              unsigned index, struct err *err)
{
    const char *name = set->rows[index].name;
    if (!json_is_number(value))
        return err_set_param(err, ERR_INVALID, name, "%s must be a number", name);
    struct str text = str_printf(arena, "%.17g", json_number_value(value));
    if (text.at == NULL)
        return err_set(err, ERR_EXHAUSTED, "no memory for the parameters");
    return params_set_text(set, index, text, err);
}

static enum err_code set_member(struct arena *arena, const json_t *value, struct param_set *set,
                                unsigned index, struct err *err)
{
    const struct param_row *row = &set->rows[index];
    bool unbuilt = row->type != PARAM_CHOICE && (row->flags & PARAM_UNBUILT) != 0;
    if (json_is_null(value))
        return ERR_OK;
    if (row->type == PARAM_UINT && !unbuilt) {
        if (json_is_integer(value))
            return set_integer(set, index, value, err);
        return err_set_param(err, ERR_INVALID, row->name, "%s must be a whole number", row->name);
    }
    if (row->type == PARAM_FLAG && !unbuilt) {
        if (json_is_boolean(value))
            return params_set_text(set, index, json_is_true(value) ? STR("true") : STR("false"),
                                   err);
        return err_set_param(err, ERR_INVALID, row->name, "%s must be true or false", row->name);
    }
    if (row->type == PARAM_REAL && !unbuilt)
        return set_real(arena, value, set, index, err);
    struct str text = STR("");
    enum err_code code = unbuilt ? ERR_OK : body_json_text(value, arena, row->name, &text, err);
    return code == ERR_OK ? params_set_text(set, index, text, err) : code;
}

enum err_code params_json(struct arena *arena, struct str body, struct param_set *set,
                          struct err *err)
{
    json_t *root = NULL;
    enum err_code code = body_json_load(body, "body", &root, err);
    if (code == ERR_OK && !json_is_object(root))
        code = err_set_param(err, ERR_INVALID, "body", "the body must be a JSON object");
    if (code == ERR_OK) {
        const char *name;
        json_t *value;
        json_object_foreach(root, name, value)
        {
            unsigned index = 0;
            code = params_take(set, str_of(name), &index, err);
            if (code == ERR_OK)
                code = set_member(arena, value, set, index, err);
            if (code != ERR_OK)
                break;
        }
    }
    json_decref(root);
    return code;
}
