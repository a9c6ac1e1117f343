#include <jansson.h>

#include "core/model/builtin/encoder_int.h"

/* --- what all share --- */

typedef enum err_code take_fn(const struct encoder_reading *r, const json_t *root);

static enum err_code wrong(const struct encoder_reading *r, const char *what)
{
    return err_set(r->err, ERR_INVALID, "%s %s", r->name, what);
}

static enum err_code with_root(const struct encoder_reading *r, take_fn *take)
{
    json_error_t fault;
    json_t *root = json_loadb(r->text.at, r->text.len, 0, &fault);
    enum err_code code = root != NULL ? take(r, root) : wrong(r, "is no JSON");
    json_decref(root);
    return code;
}

static enum err_code copy_text(const struct encoder_reading *r, const json_t *value,
                               struct str *out)
{
    if (!json_is_string(value))
        return ERR_OK;
    *out = str_copy(r->arena, (struct str){json_string_value(value), json_string_length(value)});
    if (out->at == NULL)
        return err_set(r->err, ERR_EXHAUSTED, "no memory to read %s", r->name);
    return ERR_OK;
}

/* --- modules.json --- */

/* What follows the last point: packages have moved between releases. */
static const char *short_type(const json_t *module)
{
    const char *type = json_string_value(json_object_get(module, "type"));
    const char *point = type != NULL ? strrchr(type, '.') : NULL;
    return point != NULL ? point + 1 : type;
}

/* A folder inside the model's. */
static bool is_inside(const json_t *path)
{
    const char *text = json_string_value(path);
    return text != NULL && text[0] != '/' && strstr(text, "..") == NULL;
}

static enum err_code take_module(const struct encoder_reading *r, const json_t *module)
{
    const char *type = short_type(module);
    const json_t *path = json_object_get(module, "path");
    if (type == NULL || !is_inside(path))
        return wrong(r, "has a module without type or path");
    if (strcmp(type, "Transformer") == 0)
        return copy_text(r, path, &r->out->transformer);
    if (strcmp(type, "Pooling") == 0)
        return copy_text(r, path, &r->out->pooling_dir);
    if (strcmp(type, "Normalize") == 0)
        return ERR_OK;
    return err_set(r->err, ERR_INVALID, "%s: a module of type '%.60s' is not supported", r->name,
                   type);
}

static enum err_code take_modules(const struct encoder_reading *r, const json_t *root)
{
    size_t i;
    const json_t *module;
    if (json_array_size(root) == 0)
        return wrong(r, "is no list of modules");
    json_array_foreach(root, i, module)
    {
        enum err_code code = take_module(r, module);
        if (code != ERR_OK)
            return code;
    }
    return ERR_OK;
}

enum err_code encoder__read_modules(const struct encoder_reading *r)
{
    return with_root(r, take_modules);
}

/* --- 1_Pooling/config.json --- */

/* The mean over the root of the length has the direction of the mean. */
static const struct {
    const char *key, *word;
    int pooling; /* -1: not supported */
} modes[] = {
    {"pooling_mode_cls_token", "cls", BERT_CLS},
    {"pooling_mode_mean_tokens", "mean", BERT_MEAN},
    {"pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens", BERT_MEAN},
    {"pooling_mode_max_tokens", "max", -1},
    {"pooling_mode_weightedmean_tokens", "weightedmean", -1},
    {"pooling_mode_lasttoken", "lasttoken", -1},
};

static enum err_code take_pooling(const struct encoder_reading *r, const json_t *root)
{
    const char *word = json_string_value(json_object_get(root, "pooling_mode"));
    int chosen = -1;
    unsigned n = 0;
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        if (word != NULL ? strcmp(word, modes[i].word) == 0
                         : json_is_true(json_object_get(root, modes[i].key))) {
            chosen = modes[i].pooling;
            n++;
        }
    }
    if (n != 1 || chosen < 0)
        return wrong(r, "asks for a pooling that is not supported (only mean or cls is)");
    if (json_is_false(json_object_get(root, "include_prompt")))
        return wrong(r, "leaves prompts out of the mean, which is not supported");
    r->out->pooling = (enum bert_pooling)chosen;
    return ERR_OK;
}

enum err_code encoder__read_pooling(const struct encoder_reading *r)
{
    return with_root(r, take_pooling);
}

/* --- the others --- */

static enum err_code take_sentence(const struct encoder_reading *r, const json_t *root)
{
    const json_t *most = json_object_get(root, "max_seq_length");
    json_int_t count = json_integer_value(most);
    if (json_is_integer(most) && (count < 3 || count > 1 << 20))
        return wrong(r, "has a max_seq_length that can't be");
    r->out->max_tokens = (uint32_t)count;
    r->out->lowers = json_is_true(json_object_get(root, "do_lower_case"));
    return ERR_OK;
}

enum err_code encoder__read_sentence(const struct encoder_reading *r)
{
    return with_root(r, take_sentence);
}

/* A tokenizer without a limit says 1e30. */
static enum err_code take_tokenizer(const struct encoder_reading *r, const json_t *root)
{
    const json_t *most = json_object_get(root, "model_max_length");
    double count = json_number_value(most);
    if (json_is_number(most) && count < 3)
        return wrong(r, "has a model_max_length that can't be");
    r->out->tokenizer_max = count < 1e9 ? (uint64_t)count : 0;
    r->out->tokenizer_is_cased = json_is_false(json_object_get(root, "do_lower_case"));
    return ERR_OK;
}

enum err_code encoder__read_tokenizer(const struct encoder_reading *r)
{
    return with_root(r, take_tokenizer);
}

static enum err_code take_prompts(const struct encoder_reading *r, const json_t *root)
{
    const json_t *prompts = json_object_get(root, "prompts");
    const json_t *document = json_object_get(prompts, "document");
    if (document == NULL)
        document = json_object_get(prompts, "passage");
    enum err_code code = copy_text(r, json_object_get(prompts, "query"), &r->out->query_prompt);
    return code == ERR_OK ? copy_text(r, document, &r->out->document_prompt) : code;
}

enum err_code encoder__read_prompts(const struct encoder_reading *r)
{
    return with_root(r, take_prompts);
}
