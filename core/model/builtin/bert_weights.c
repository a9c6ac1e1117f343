#include <stdio.h>
#include <stdlib.h>

#include "core/model/builtin/bert_int.h"

/* Layers and vectors that were half precision; a large model has 2 MiB of them. */
enum { ARENA_BYTES = 64 << 20, NAME_MAX_BYTES = 128 };

struct opening {
    struct bert *bert;
    const struct safetensors *file;
    const char *name;   /* of the file */
    const char *prefix; /* of every tensor's name */
    int layer;          /* -1: none */
    struct err *err;
};

/* --- one tensor --- */

/* "{prefix}encoder.layer.{i}.{name}", or without the middle outside of a layer. */
static const struct tensor *look_up(const struct opening *o, const char *name)
{
    char full[NAME_MAX_BYTES];
    if (o->layer >= 0)
        (void)snprintf(full, sizeof full, "%sencoder.layer.%d.%s", o->prefix, o->layer, name);
    else
        (void)snprintf(full, sizeof full, "%s%s", o->prefix, name);
    return safetensors_find(o->file, str_of(full));
}

static enum err_code missing(const struct opening *o, const char *name)
{
    if (o->layer < 0)
        return err_set(o->err, ERR_INVALID, "%s: tensor '%s%s' is missing", o->name, o->prefix,
                       name);
    return err_set(o->err, ERR_INVALID, "%s: tensor '%s' of layer %d is missing", o->name, name,
                   o->layer);
}

static enum err_code take_matrix(const struct opening *o, const char *name, struct matrix *m)
{
    const struct tensor *t = look_up(o, name);
    if (t == NULL)
        return missing(o, name);
    if (t->type == TENSOR_OTHER)
        return err_set(o->err, ERR_INVALID, "%s: tensor '%.80s' is neither F32 nor F16 nor BF16",
                       o->name, t->name.at);
    if (t->rank != 2 || t->shape[0] != m->outs || t->shape[1] != m->n)
        return err_set(o->err, ERR_INVALID, "%s: tensor '%.80s' is not %u x %u", o->name,
                       t->name.at, m->outs, m->n);
    m->at = t->at;
    m->type = t->type;
    return ERR_OK;
}

/* Left in the file when it is f32. `older`: another name of the same, or NULL. */
static enum err_code take_vector(const struct opening *o, const char *name, const char *older,
                                 uint32_t n, const float **out)
{
    const struct tensor *t = look_up(o, name);
    if (t == NULL && older != NULL)
        t = look_up(o, older);
    if (t == NULL)
        return missing(o, name);
    if (t->type == TENSOR_OTHER || t->rank != 1 || t->shape[0] != n)
        return err_set(o->err, ERR_INVALID, "%s: tensor '%.80s' is no vector of %u numbers",
                       o->name, t->name.at, n);
    *out = t->at;
    if (t->type == TENSOR_F32)
        return ERR_OK;
    float *wide = arena_alloc(o->bert->arena, n * sizeof *wide);
    if (wide == NULL)
        return err_set(o->err, ERR_EXHAUSTED, "no memory to open %s", o->name);
    const struct matrix m = {.at = t->at, .type = t->type, .outs = 1, .n = n};
    linear_widen(o->bert->way.ops, &m, 0, n, wide);
    *out = wide;
    return ERR_OK;
}

/* --- their groups --- */

static enum err_code take_linear(const struct opening *o, const char *name, uint32_t outs,
                                 uint32_t n, struct bert_linear *l)
{
    char full[NAME_MAX_BYTES];
    l->w = (struct matrix){.outs = outs, .n = n};
    (void)snprintf(full, sizeof full, "%s.weight", name);
    enum err_code code = take_matrix(o, full, &l->w);
    if (code != ERR_OK)
        return code;
    (void)snprintf(full, sizeof full, "%s.bias", name);
    return take_vector(o, full, NULL, outs, &l->bias);
}

/* TensorFlow's checkpoints called them gamma and beta. */
static enum err_code take_norm(const struct opening *o, const char *name, struct rowop_norm *norm)
{
    char full[NAME_MAX_BYTES], older[NAME_MAX_BYTES];
    uint32_t n = o->bert->config.hidden;
    norm->epsilon = o->bert->config.epsilon;
    (void)snprintf(full, sizeof full, "%s.weight", name);
    (void)snprintf(older, sizeof older, "%s.gamma", name);
    enum err_code code = take_vector(o, full, older, n, &norm->gain);
    if (code != ERR_OK)
        return code;
    (void)snprintf(full, sizeof full, "%s.bias", name);
    (void)snprintf(older, sizeof older, "%s.beta", name);
    return take_vector(o, full, older, n, &norm->shift);
}

static enum err_code take_layer(const struct opening *o, struct bert_layer *l)
{
    uint32_t hidden = o->bert->config.hidden, inner = o->bert->config.inner;
    const struct {
        const char *name;
        uint32_t outs, n;
        struct bert_linear *to;
    } rows[] = {
        {"attention.self.query", hidden, hidden, &l->query},
        {"attention.self.key", hidden, hidden, &l->key},
        {"attention.self.value", hidden, hidden, &l->value},
        {"attention.output.dense", hidden, hidden, &l->mixed},
        {"intermediate.dense", inner, hidden, &l->up},
        {"output.dense", hidden, inner, &l->down},
    };
    enum err_code code = ERR_OK;
    for (size_t i = 0; code == ERR_OK && i < sizeof rows / sizeof rows[0]; i++)
        code = take_linear(o, rows[i].name, rows[i].outs, rows[i].n, rows[i].to);
    if (code == ERR_OK)
        code = take_norm(o, "attention.output.LayerNorm", &l->after_attention);
    if (code == ERR_OK)
        code = take_norm(o, "output.LayerNorm", &l->after_inner);
    return code;
}

static enum err_code take_embeddings(struct opening *o)
{
    struct bert *bert = o->bert;
    const struct bert_config *c = &bert->config;
    bert->words = (struct matrix){.outs = c->vocabulary, .n = c->hidden};
    bert->positions = (struct matrix){.outs = c->positions, .n = c->hidden};
    bert->types = (struct matrix){.outs = c->types, .n = c->hidden};
    o->layer = -1;
    enum err_code code = take_matrix(o, "embeddings.word_embeddings.weight", &bert->words);
    if (code == ERR_OK)
        code = take_matrix(o, "embeddings.position_embeddings.weight", &bert->positions);
    if (code == ERR_OK)
        code = take_matrix(o, "embeddings.token_type_embeddings.weight", &bert->types);
    if (code == ERR_OK)
        code = take_norm(o, "embeddings.LayerNorm", &bert->norm);
    return code;
}

/* A classifier of several labels is of no use here, and neither is one without a pooler. */
static enum err_code take_head(struct opening *o)
{
    uint32_t hidden = o->bert->config.hidden;
    const struct tensor *labels = safetensors_find(o->file, STR("classifier.weight"));
    o->layer = -1;
    if (labels == NULL || labels->rank != 2 || labels->shape[0] != 1 ||
        look_up(o, "pooler.dense.weight") == NULL)
        return ERR_OK;
    enum err_code code = take_linear(o, "pooler.dense", hidden, hidden, &o->bert->pooler);
    o->prefix = "";
    if (code == ERR_OK)
        code = take_linear(o, "classifier", 1, hidden, &o->bert->classifier);
    o->bert->has_head = code == ERR_OK;
    return code;
}

static enum err_code take_all(struct opening *o)
{
    uint32_t n = o->bert->config.layers;
    o->bert->layers = ARENA_ARRAY(o->bert->arena, struct bert_layer, n);
    if (o->bert->layers == NULL)
        return err_set(o->err, ERR_EXHAUSTED, "no memory to open %s", o->name);
    enum err_code code = take_embeddings(o);
    for (uint32_t i = 0; code == ERR_OK && i < n; i++) {
        o->layer = (int)i;
        code = take_layer(o, &o->bert->layers[i]);
    }
    return code == ERR_OK ? take_head(o) : code;
}

enum err_code bert_new(const struct bert_config *config, const struct safetensors *file,
                       const char *name, struct bert **out, struct err *err)
{
    struct bert *bert = calloc(1, sizeof *bert);
    struct arena *arena = arena_new(ARENA_BYTES);
    *out = NULL;
    if (bert == NULL || arena == NULL) {
        free(bert);
        arena_free(arena);
        return err_set(err, ERR_EXHAUSTED, "no memory to open %s", name);
    }
    bert->config = *config;
    bert->arena = arena;
    bert->way = linear_choose(NULL);
    struct opening o = {.bert = bert, .file = file, .name = name, .prefix = "", .err = err};
    if (safetensors_find(file, STR("bert.embeddings.word_embeddings.weight")) != NULL)
        o.prefix = "bert.";
    enum err_code code = take_all(&o);
    if (code != ERR_OK) {
        bert_free(bert);
        return code;
    }
    *out = bert;
    return ERR_OK;
}

void bert_free(struct bert *bert)
{
    if (bert == NULL)
        return;
    arena_free(bert->arena);
    free(bert);
}

const struct bert_config *bert_config(const struct bert *bert)
{
    return &bert->config;
}

const struct linear *bert_linear(const struct bert *bert)
{
    return &bert->way;
}

enum tensor_type bert_type(const struct bert *bert)
{
    return bert->layers[0].up.w.type;
}

bool bert_has_head(const struct bert *bert)
{
    return bert->has_head;
}

void bert_set_linear(struct bert *bert, struct linear way)
{
    bert->way = way;
}
