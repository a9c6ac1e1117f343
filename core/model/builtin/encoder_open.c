#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/model/builtin/encoder_int.h"

enum {
    ARENA_BYTES = 1 << 20,
    FILES_BYTES = 64 << 20,
    STRIPES = 64, /* of the weights, for the fingerprint */
    STRIPE_BYTES = 4096,
    /* A batch's scratch is held to this, but for one sequence of full length: four workers, their
     * buffers in OpenBLAS and the tokenizer stay below 64 MiB. */
    SCRATCH_BYTES = 6 << 20,
};

struct opening {
    struct encoder *encoder;
    const char *dir;     /* as it was given */
    struct arena *files; /* their texts, until all is open */
    struct encoder_settings settings;
    struct hash128 print;
    struct err *err;
};

/* --- files --- */

static enum err_code path_of(const struct opening *o, struct str folder, const char *file,
                             char path[ENCODER_PATH])
{
    int n = folder.len != 0
                ? snprintf(path, ENCODER_PATH, "%s/%.*s/%s", o->dir, STR_FMT(folder), file)
                : snprintf(path, ENCODER_PATH, "%s/%s", o->dir, file);
    if (n < 0 || n >= ENCODER_PATH)
        return err_set(o->err, ERR_INVALID, "the path of the model is too long");
    return ERR_OK;
}

static void add_print(struct opening *o, struct str bytes)
{
    o->print = hash128_add(o->print, bytes);
}

/* Also into the fingerprint. An absent file is ERR_NOT_FOUND. */
static enum err_code read_file(struct opening *o, struct str folder, const char *file,
                               char path[ENCODER_PATH], struct str *text)
{
    struct buf buf;
    enum err_code code = path_of(o, folder, file, path);
    if (code != ERR_OK)
        return code;
    buf_init(&buf, o->files, ENCODER_FILE_MAX);
    if ((code = file_read(path, &buf, o->err)) != ERR_OK)
        return code;
    *text = buf_str(&buf);
    add_print(o, *text);
    return ERR_OK;
}

/* Files that may be absent. */
static enum err_code read_setting(struct opening *o, struct str folder, const char *file,
                                  encoder_read_fn *read)
{
    char path[ENCODER_PATH];
    struct encoder_reading r = {
        .arena = o->encoder->arena, .name = path, .out = &o->settings, .err = o->err};
    enum err_code code = read_file(o, folder, file, path, &r.text);
    if (code == ERR_NOT_FOUND)
        return ERR_OK;
    return code == ERR_OK ? read(&r) : code;
}

static enum err_code read_settings(struct opening *o)
{
    struct encoder_settings *s = &o->settings;
    const struct str *top = &(const struct str){"", 0};
    const struct {
        const struct str *folder; /* modules.json, read first, says which */
        const char *file;
        encoder_read_fn *read;
    } files[] = {
        {top, "modules.json", encoder__read_modules},
        {&s->pooling_dir, "config.json", encoder__read_pooling},
        {&s->transformer, "sentence_bert_config.json", encoder__read_sentence},
        {&s->transformer, "tokenizer_config.json", encoder__read_tokenizer},
        {top, "config_sentence_transformers.json", encoder__read_prompts},
    };
    enum err_code code = ERR_OK;
    for (size_t i = 0; code == ERR_OK && i < sizeof files / sizeof files[0]; i++) {
        /* without modules.json there is no pooling to be read: the mean, as the reference takes */
        if (files[i].read == encoder__read_pooling && s->pooling_dir.len == 0)
            continue;
        code = read_setting(o, *files[i].folder, files[i].file, files[i].read);
    }
    if (code == ERR_OK && s->lowers && s->tokenizer_is_cased)
        return err_set(o->err, ERR_INVALID,
                       "%s: do_lower_case with a tokenizer that keeps case is not supported",
                       o->dir);
    return code;
}

/* --- the model --- */

static enum err_code open_weights(struct opening *o, const struct bert_config *config)
{
    char path[ENCODER_PATH];
    struct encoder *e = o->encoder;
    enum err_code code = path_of(o, o->settings.transformer, "model.safetensors", path);
    if (code == ERR_OK)
        code = safetensors_open(path, &e->file, o->err);
    return code == ERR_OK ? bert_new(config, e->file, path, &e->bert, o->err) : code;
}

static enum err_code open_tokenizer(struct opening *o, const struct bert_config *config)
{
    char path[ENCODER_PATH];
    struct str text;
    struct encoder *e = o->encoder;
    enum err_code code = path_of(o, o->settings.transformer, ".", path);
    if (code == ERR_OK)
        code = wordpiece_open(path, &e->wordpiece, o->err);
    if (code != ERR_OK)
        return code;
    if (wordpiece_ids(e->wordpiece) > config->vocabulary)
        return err_set(o->err, ERR_INVALID, "%s: the tokenizer has %u ids, the model %u", o->dir,
                       wordpiece_ids(e->wordpiece), config->vocabulary);
    code = read_file(o, o->settings.transformer, "tokenizer.json", path, &text);
    if (code == ERR_NOT_FOUND)
        code = read_file(o, o->settings.transformer, "vocab.txt", path, &text);
    return code;
}

static enum err_code open_model(struct opening *o)
{
    char path[ENCODER_PATH];
    struct str text;
    struct bert_config config;
    enum err_code code = read_file(o, o->settings.transformer, "config.json", path, &text);
    if (code == ERR_OK)
        code = bert_config_read(o->encoder->arena, text, path, &config, o->err);
    if (code == ERR_OK)
        code = open_weights(o, &config);
    return code == ERR_OK ? open_tokenizer(o, &config) : code;
}

/* --- what is said of it --- */

static void print_weights(struct opening *o)
{
    struct str data = safetensors_data(o->encoder->file);
    add_print(o, safetensors_header(o->encoder->file));
    for (size_t i = 0; i < STRIPES; i++) {
        size_t from = data.len / STRIPES * i;
        add_print(o, str_part(data, from, from + STRIPE_BYTES));
    }
}

/* As sentence-transformers: what its own file says, else the least of model and tokenizer. */
static uint32_t max_tokens_of(const struct opening *o)
{
    uint32_t most = bert_config(o->encoder->bert)->positions;
    uint64_t told =
        o->settings.max_tokens != 0 ? o->settings.max_tokens : o->settings.tokenizer_max;
    return told != 0 && told < most ? (uint32_t)told : most;
}

static uint32_t batch_tokens_of(const struct encoder *e, uint32_t longest)
{
    uint32_t tokens = ENCODER_BATCH_TOKENS;
    while (tokens > longest && bert_scratch_bytes(e->bert, tokens, longest) > SCRATCH_BYTES)
        tokens -= 16;
    return tokens > longest ? tokens : longest;
}

static enum err_code name_it(struct opening *o)
{
    char real[PATH_MAX];
    const char *path = realpath(o->dir, real) != NULL ? real : o->dir;
    const char *slash = strrchr(path, '/');
    o->encoder->about.name = str_copy(o->encoder->arena, str_of(slash != NULL ? slash + 1 : path));
    if (o->encoder->about.name.at == NULL)
        return err_set(o->err, ERR_EXHAUSTED, "no memory to open %s", o->dir);
    return ERR_OK;
}

static enum err_code tell(struct opening *o)
{
    struct encoder *e = o->encoder;
    const struct bert_config *config = bert_config(e->bert);
    uint32_t longest = max_tokens_of(o);
    if (longest < 4)
        return err_set(o->err, ERR_INVALID, "%s takes no more than %u tokens", o->dir, longest);
    print_weights(o);
    e->pooling = o->settings.pooling;
    e->batch_tokens = batch_tokens_of(e, longest);
    e->about = (struct encoder_about){
        .origin = config->origin,
        .pooling = e->pooling == BERT_CLS ? "cls" : "mean",
        .dtype = tensor_type_slug(bert_type(e->bert)),
        .kernels = bert_linear(e->bert)->ops->name,
        .blas = bert_linear(e->bert)->blas,
        .dimension = config->hidden,
        .max_tokens = longest,
        .prefix_tokens = (longest - 2) / 2,
        .has_head = bert_has_head(e->bert),
        .fingerprint = o->print.low,
        .file_bytes = safetensors_data(e->file).len,
        .scratch_bytes = bert_scratch_bytes(e->bert, e->batch_tokens, longest),
        .query_prompt = o->settings.query_prompt,
        .document_prompt = o->settings.document_prompt,
    };
    return name_it(o);
}

/* --- life --- */

static enum err_code open_all(struct opening *o)
{
    enum err_code code = read_settings(o);
    if (code == ERR_OK)
        code = open_model(o);
    return code == ERR_OK ? tell(o) : code;
}

enum err_code encoder_open(const char *dir, struct encoder **out, struct err *err)
{
    struct encoder *encoder = calloc(1, sizeof *encoder);
    struct arena *arena = arena_new(ARENA_BYTES), *files = arena_new(FILES_BYTES);
    *out = NULL;
    if (encoder == NULL || arena == NULL || files == NULL) {
        free(encoder);
        arena_free(arena);
        arena_free(files);
        return err_set(err, ERR_EXHAUSTED, "no memory to open %s", dir);
    }
    encoder->arena = arena;
    struct opening o = {.encoder = encoder, .dir = dir, .err = err};
    o.files = files;
    o.settings.query_prompt = o.settings.document_prompt = STR("");
    o.settings.transformer = o.settings.pooling_dir = STR("");
    enum err_code code = open_all(&o);
    arena_free(files);
    if (code != ERR_OK) {
        encoder_close(encoder);
        return code;
    }
    *out = encoder;
    return ERR_OK;
}

void encoder_close(struct encoder *encoder)
{
    if (encoder == NULL)
        return;
    bert_free(encoder->bert);
    safetensors_close(encoder->file);
    wordpiece_free(encoder->wordpiece);
    arena_free(encoder->arena);
    free(encoder);
}

const struct encoder_about *encoder_about(const struct encoder *encoder)
{
    return &encoder->about;
}
