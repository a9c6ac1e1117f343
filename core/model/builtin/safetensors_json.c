#include <jansson.h>
#include <stdlib.h>

#include "core/model/builtin/safetensors_int.h"

/* Sizes of those that are of no use here are known for the check only; of types that came after
 * this was written only the place is checked. */
static const struct {
    const char *name;
    enum tensor_type type;
    size_t size;
} types[] = {
    {"F32", TENSOR_F32, 4},    {"F16", TENSOR_F16, 2},   {"BF16", TENSOR_BF16, 2},
    {"F64", TENSOR_OTHER, 8},  {"I64", TENSOR_OTHER, 8}, {"U64", TENSOR_OTHER, 8},
    {"I32", TENSOR_OTHER, 4},  {"U32", TENSOR_OTHER, 4}, {"I16", TENSOR_OTHER, 2},
    {"U16", TENSOR_OTHER, 2},  {"I8", TENSOR_OTHER, 1},  {"U8", TENSOR_OTHER, 1},
    {"BOOL", TENSOR_OTHER, 1},
};
enum { TYPES = sizeof types / sizeof types[0] };

struct entry {
    const struct safetensors *file;
    const char *name;
    const json_t *told;
    size_t element; /* bytes; 0: not known */
};

static enum err_code wrong(const struct entry *e, const char *what, struct err *err)
{
    return err_set(err, ERR_INVALID, "%s: tensor '%.60s' %s", e->file->name, e->name, what);
}

static enum err_code read_type(struct entry *e, struct tensor *t, struct err *err)
{
    const char *name = json_string_value(json_object_get(e->told, "dtype"));
    if (name == NULL)
        return wrong(e, "has no dtype", err);
    t->type = TENSOR_OTHER;
    for (size_t i = 0; i < TYPES; i++) {
        if (strcmp(types[i].name, name) == 0) {
            t->type = types[i].type;
            e->element = types[i].size;
        }
    }
    return ERR_OK;
}

/* A count that is none gives false. */
static bool count_of(const json_t *value, uint64_t *out)
{
    json_int_t count = json_integer_value(value);
    *out = count >= 0 ? (uint64_t)count : 0;
    return json_is_integer(value) && count >= 0;
}

/* Elements; the product is checked at each step. */
static enum err_code read_shape(const struct entry *e, struct tensor *t, uint64_t *elements,
                                struct err *err)
{
    const json_t *shape = json_object_get(e->told, "shape"), *value;
    size_t i;
    if (!json_is_array(shape) || json_array_size(shape) > TENSOR_RANK_MAX)
        return wrong(e, "has no shape, or one of too many dimensions", err);
    t->rank = (uint32_t)json_array_size(shape);
    *elements = 1;
    json_array_foreach(shape, i, value)
    {
        if (!count_of(value, &t->shape[i]) ||
            __builtin_mul_overflow(*elements, t->shape[i], elements))
            return wrong(e, "has a shape that can't be", err);
    }
    return ERR_OK;
}

static enum err_code read_place(const struct entry *e, struct tensor *t, struct err *err)
{
    const json_t *offsets = json_object_get(e->told, "data_offsets");
    uint64_t begin, end;
    if (json_array_size(offsets) != 2 || !count_of(json_array_get(offsets, 0), &begin) ||
        !count_of(json_array_get(offsets, 1), &end) || begin > end)
        return wrong(e, "has no data_offsets", err);
    if (end > e->file->data.len)
        return wrong(e, "ends behind the end of the file", err);
    t->at = e->file->data.at + begin;
    t->bytes = end - begin;
    return ERR_OK;
}

static enum err_code read_tensor(struct entry *e, struct tensor *t, struct err *err)
{
    uint64_t elements = 0, bytes;
    enum err_code code = json_is_object(e->told) ? ERR_OK : wrong(e, "is no object", err);
    if (code == ERR_OK)
        code = read_type(e, t, err);
    if (code == ERR_OK)
        code = read_shape(e, t, &elements, err);
    if (code == ERR_OK)
        code = read_place(e, t, err);
    if (code != ERR_OK || e->element == 0)
        return code;
    if (__builtin_mul_overflow(elements, e->element, &bytes) || bytes != t->bytes)
        return wrong(e, "has another size than its shape and type say", err);
    if ((uintptr_t)t->at % e->element != 0)
        return wrong(e, "does not lie on a multiple of its element's size", err);
    return ERR_OK;
}

static enum err_code add_tensor(struct safetensors *file, const char *name, const json_t *told,
                                struct err *err)
{
    struct entry e = {.file = file, .name = name, .told = told};
    struct tensor *t = &file->table[file->n];
    enum err_code code = read_tensor(&e, t, err);
    if (code != ERR_OK)
        return code;
    char *kept = strdup(name);
    if (kept == NULL)
        return err_set(err, ERR_EXHAUSTED, "no memory to open %s", file->name);
    t->name = str_of(kept);
    file->n++;
    return ERR_OK;
}

static enum err_code add_all(struct safetensors *file, json_t *root, struct err *err)
{
    const char *name;
    json_t *told;
    size_t n = json_object_size(root);
    if (!json_is_object(root) || n > TENSORS_MAX)
        return err_set(err, ERR_INVALID, "%s: the header is no list of tensors", file->name);
    file->table = calloc(n + 1, sizeof *file->table);
    if (file->table == NULL)
        return err_set(err, ERR_EXHAUSTED, "no memory to open %s", file->name);
    json_object_foreach(root, name, told)
    {
        enum err_code code =
            strcmp(name, "__metadata__") != 0 ? add_tensor(file, name, told, err) : ERR_OK;
        if (code != ERR_OK)
            return code;
    }
    return ERR_OK;
}

enum err_code safetensors__index(struct safetensors *file, struct err *err)
{
    json_error_t fault;
    json_t *root = json_loadb(file->header.at, file->header.len, JSON_REJECT_DUPLICATES, &fault);
    if (root == NULL)
        return err_set(err, ERR_INVALID, "%s: the header is no JSON: %.120s", file->name,
                       fault.text);
    enum err_code code = add_all(file, root, err);
    json_decref(root);
    return code;
}
