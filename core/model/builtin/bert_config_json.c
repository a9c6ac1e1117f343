#include <jansson.h>

#include "core/model/builtin/bert.h"

/* Bounds that keep sizes far from overflow; no published model comes near. */
enum { MOST = 1 << 20, LAYERS_MOST = 256 };

struct field {
    const char *name;
    size_t offset;
    uint32_t usual; /* when it is absent, as in transformers' BertConfig */
    uint32_t most;
};

#define FIELD(name, member, usual, most)                                                           \
    {                                                                                              \
        name, offsetof(struct bert_config, member), usual, most                                    \
    }
static const struct field fields[] = {
    FIELD("vocab_size", vocabulary, 30522, MOST),
    FIELD("hidden_size", hidden, 768, 1 << 14),
    FIELD("num_hidden_layers", layers, 12, LAYERS_MOST),
    FIELD("num_attention_heads", heads, 12, 1 << 10),
    FIELD("intermediate_size", inner, 3072, 1 << 16),
    FIELD("max_position_embeddings", positions, 512, 1 << 16),
    FIELD("type_vocab_size", types, 2, 2),
};

static const struct {
    const char *name;
    enum rowop_activation activation;
} activations[] = {
    {"gelu", ROWOP_GELU},
    {"gelu_new", ROWOP_GELU_TANH},
    {"gelu_pytorch_tanh", ROWOP_GELU_TANH},
    {"relu", ROWOP_RELU},
};

struct reading {
    const json_t *root;
    const char *name;
    struct err *err;
};

static enum err_code read_counts(const struct reading *r, struct bert_config *out)
{
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        const struct field *f = &fields[i];
        const json_t *value = json_object_get(r->root, f->name);
        json_int_t count = value != NULL ? json_integer_value(value) : (json_int_t)f->usual;
        if (count < 1 || count > (json_int_t)f->most)
            return err_set(r->err, ERR_INVALID, "%s: %s is not between 1 and %u", r->name, f->name,
                           f->most);
        uint32_t narrow = (uint32_t)count;
        memcpy((char *)out + f->offset, &narrow, sizeof narrow);
    }
    if (out->hidden % out->heads != 0)
        return err_set(r->err, ERR_INVALID, "%s: hidden_size %u is no multiple of %u heads",
                       r->name, out->hidden, out->heads);
    return ERR_OK;
}

/* Absent is `usual`. */
static const char *word_of(const struct reading *r, const char *name, const char *usual)
{
    const char *word = json_string_value(json_object_get(r->root, name));
    return word != NULL ? word : usual;
}

static enum err_code read_kind(const struct reading *r, struct bert_config *out)
{
    const char *type = word_of(r, "model_type", "");
    const char *places = word_of(r, "position_embedding_type", "absolute");
    const char *act = word_of(r, "hidden_act", "gelu");
    if (strcmp(type, "bert") != 0)
        return err_set(r->err, ERR_INVALID, "%s: model_type '%.40s' is not supported, only 'bert'",
                       r->name, type);
    if (strcmp(places, "absolute") != 0)
        return err_set(r->err, ERR_INVALID,
                       "%s: position_embedding_type '%.40s' is not supported, only 'absolute'",
                       r->name, places);
    if (json_is_true(json_object_get(r->root, "is_decoder")))
        return err_set(r->err, ERR_INVALID, "%s: a decoder is not supported", r->name);
    for (size_t i = 0; i < sizeof activations / sizeof activations[0]; i++) {
        out->activation = activations[i].activation;
        if (strcmp(activations[i].name, act) == 0)
            return ERR_OK;
    }
    return err_set(r->err, ERR_INVALID, "%s: hidden_act '%.40s' is not supported", r->name, act);
}

static enum err_code read_rest(struct arena *arena, const struct reading *r,
                               struct bert_config *out)
{
    const json_t *epsilon = json_object_get(r->root, "layer_norm_eps");
    double value = epsilon != NULL ? json_number_value(epsilon) : 1e-12;
    if (!(value > 0 && value < 1))
        return err_set(r->err, ERR_INVALID, "%s: layer_norm_eps is not between 0 and 1", r->name);
    out->epsilon = (float)value;
    out->origin = str_copy(arena, str_of(word_of(r, "_name_or_path", "")));
    if (out->origin.at == NULL)
        return err_set(r->err, ERR_EXHAUSTED, "no memory to read %s", r->name);
    return ERR_OK;
}

enum err_code bert_config_read(struct arena *arena, struct str text, const char *name,
                               struct bert_config *out, struct err *err)
{
    json_error_t fault;
    json_t *root = json_loadb(text.at, text.len, 0, &fault);
    *out = (struct bert_config){0};
    if (!json_is_object(root)) {
        json_decref(root);
        return err_set(err, ERR_INVALID, "%s is no JSON object", name);
    }
    const struct reading r = {.root = root, .name = name, .err = err};
    enum err_code code = read_kind(&r, out);
    if (code == ERR_OK)
        code = read_counts(&r, out);
    if (code == ERR_OK)
        code = read_rest(arena, &r, out);
    json_decref(root);
    return code;
}
