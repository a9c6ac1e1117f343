#include "core/model/embed_json.h"

#include <jansson.h>
#include <math.h>

/* --- requests --- */

static bool is_dropped(const struct embed_request *r, enum endpoint_param param)
{
    return (r->way.dropped >> param & 1) != 0;
}

bool embed_json_sends(const struct embed_request *r, enum endpoint_param param)
{
    if (is_dropped(r, param))
        return false;
    return param == PARAM_ENCODING || (param == PARAM_DIMENSIONS && r->dimensions != 0);
}

static json_t *text_of(struct str prefix, struct str text)
{
    struct buf all;
    if (prefix.len == 0)
        return json_stringn(text.at, text.len);
    buf_init(&all, NULL, MODEL_BODY_MAX);
    buf_str_put(&all, prefix);
    buf_str_put(&all, text);
    json_t *value = buf_ok(&all) ? json_stringn(all.at, all.len) : NULL;
    buf_fini(&all);
    return value;
}

static json_t *input_of(const struct embed_request *r)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < r->n; i++) {
        if (json_array_append_new(list, text_of(r->prefix, r->texts[i])) != 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

bool embed_json_write(const struct embed_request *r, struct buf *out)
{
    json_t *root = json_object();
    bool fine = r->model.len == 0 ||
                json_object_set_new(root, "model", json_stringn(r->model.at, r->model.len)) == 0;
    fine = fine && json_object_set_new(root, "input", input_of(r)) == 0;
    if (fine && embed_json_sends(r, PARAM_ENCODING))
        fine = json_object_set_new(root, "encoding_format", json_string("float")) == 0;
    if (fine && embed_json_sends(r, PARAM_DIMENSIONS))
        fine = json_object_set_new(root, "dimensions", json_integer(r->dimensions)) == 0;
    if (!fine) {
        json_decref(root);
        root = NULL;
    }
    return base_json_write(root, r->extra, out);
}

/* --- vectors --- */

static int base64_value(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c != '\0' ? strchr(digits, c) : NULL;
    return at != NULL ? (int)(at - digits) : -1;
}

/* Number of bytes in `out`, which has room for 3/4 of the text; -1: it is no base64. */
static int64_t decode_base64(struct str text, uint8_t *out)
{
    uint32_t bits = 0;
    unsigned have = 0;
    int64_t n = 0;
    while (text.len != 0 && text.at[text.len - 1] == '=')
        text.len--;
    for (size_t i = 0; i < text.len; i++) {
        int value = base64_value(text.at[i]);
        if (value < 0)
            return -1;
        bits = bits << 6 | (uint32_t)value;
        have += 6;
        if (have >= 8) {
            have -= 8;
            out[n++] = (uint8_t)(bits >> have);
        }
    }
    return n;
}

struct reading {
    struct arena *arena;
    struct embed_reply *out;
    uint32_t n, keep;
    uint32_t told; /* numbers in each vector of the reply; 0: none was read yet */
    bool *seen;
    bool no_memory;
};

static bool wrong(struct reading *r, const char *what)
{
    r->out->shape = EMBED_WRONG;
    r->out->wrong = what;
    return false;
}

static bool no_memory(struct reading *r)
{
    r->no_memory = true;
    return false;
}

/* The first vector tells the dimension and makes the room. */
static bool check_dimension(struct reading *r, size_t told)
{
    if (told == 0 || told > EMBED_DIMENSION_MAX)
        return wrong(r, "vectors without numbers, or with far too many");
    if (r->told != 0)
        return r->told == told || wrong(r, "vectors of different dimensions");
    if (r->keep > told)
        return wrong(r, "vectors shorter than the configured dimensions");
    r->told = (uint32_t)told;
    r->out->dimension = r->keep != 0 ? r->keep : r->told;
    r->out->vectors = ARENA_ARRAY(r->arena, float, (size_t)r->n * r->out->dimension);
    return r->out->vectors != NULL || no_memory(r);
}

/* False: it has no direction. */
static bool normalise(float *vector, uint32_t dimension)
{
    double sum = 0;
    for (uint32_t i = 0; i < dimension; i++)
        sum += (double)vector[i] * (double)vector[i];
    double norm = sqrt(sum);
    bool fine = isfinite(sum) && norm > 1e-20;
    for (uint32_t i = 0; i < dimension; i++)
        vector[i] = fine ? (float)((double)vector[i] / norm) : 0.0F;
    return fine;
}

static bool take_numbers(struct reading *r, const json_t *list, uint32_t index)
{
    if (!check_dimension(r, json_array_size(list)))
        return false;
    float *vector = r->out->vectors + (size_t)index * r->out->dimension;
    for (uint32_t i = 0; i < r->out->dimension; i++) {
        const json_t *number = json_array_get(list, i);
        if (!json_is_number(number) && !json_is_null(number))
            return wrong(r, "a vector with something else than numbers");
        vector[i] = json_is_null(number) ? NAN : (float)json_number_value(number);
    }
    return true;
}

static bool take_base64(struct reading *r, const json_t *value, uint32_t index)
{
    struct str text = {json_string_value(value), json_string_length(value)};
    uint8_t *bytes = arena_alloc(r->arena, text.len + 4);
    if (bytes == NULL)
        return no_memory(r);
    int64_t len = decode_base64(text, bytes);
    if (len < 0 || len % 4 != 0)
        return wrong(r, "a vector that is neither numbers nor base64 of floats");
    if (!check_dimension(r, (size_t)len / 4))
        return false;
    memcpy(r->out->vectors + (size_t)index * r->out->dimension, bytes,
           r->out->dimension * sizeof(float));
    return true;
}

static bool take_vector(struct reading *r, const json_t *value, uint32_t index)
{
    /* llama.cpp's own form has one more list around it */
    if (json_is_array(json_array_get(value, 0)) && json_array_size(value) == 1)
        value = json_array_get(value, 0);
    bool fine = json_is_string(value)  ? take_base64(r, value, index)
                : json_is_array(value) ? take_numbers(r, value, index)
                                       : wrong(r, "an item without a vector");
    if (fine && !normalise(r->out->vectors + (size_t)index * r->out->dimension, r->out->dimension))
        r->out->failed++;
    return fine;
}

static bool take_item(struct reading *r, const json_t *item, size_t position)
{
    const json_t *index = json_object_get(item, "index");
    size_t i = position;
    if (json_is_integer(index))
        i = (size_t)json_integer_value(index);
    if (i >= r->n || r->seen[i])
        return wrong(r, "indices that are no permutation");
    r->seen[i] = true;
    return take_vector(r, json_is_object(item) ? json_object_get(item, "embedding") : item,
                       (uint32_t)i);
}

/* OpenAI data, Ollama embeddings, Cohere embeddings.float, TEI and llama.cpp a bare list. */
static const json_t *list_of(const json_t *root)
{
    const json_t *data = json_object_get(root, "data");
    const json_t *embeddings = json_object_get(root, "embeddings");
    const json_t *floats = json_object_get(embeddings, "float");
    const json_t *forms[] = {root, data, embeddings, floats};
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        if (json_is_array(forms[i]))
            return forms[i];
    }
    return NULL;
}

static void take_list(struct reading *r, const json_t *list)
{
    size_t i;
    json_t *item;
    if (json_array_size(list) != r->n) {
        (void)wrong(r, "another number of vectors than of texts");
        return;
    }
    r->seen = ARENA_ARRAY(r->arena, bool, r->n);
    if (r->seen == NULL) {
        (void)no_memory(r);
        return;
    }
    r->out->shape = EMBED_VECTORS;
    json_array_foreach(list, i, item)
    {
        if (!take_item(r, item, i))
            return;
    }
}

static void read_usage(const json_t *root, struct chat_usage *usage)
{
    const json_t *told = json_object_get(root, "usage");
    uint64_t prompt = base_json_count(told, "prompt_tokens");
    usage->in = prompt != 0 ? prompt : base_json_count(told, "total_tokens");
    usage->known = usage->in != 0;
}

bool embed_json_read(struct arena *arena, struct str body, uint32_t n, uint32_t keep,
                     struct embed_reply *out)
{
    struct reading r = {.arena = arena, .out = out, .n = n, .keep = keep};
    bool fine = true;
    *out = (struct embed_reply){.shape = EMBED_BROKEN};
    json_t *root = base_json_load(body);
    const json_t *list = list_of(root);
    if (root != NULL && base_json_is_fault(root)) {
        out->shape = EMBED_FAULT;
        fine = base_json_fault_of(arena, root, &out->fault);
    } else if (list != NULL) {
        read_usage(root, &out->usage);
        take_list(&r, list);
    }
    json_decref(root);
    return fine && !r.no_memory;
}
