#include "server/builtin_models.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    /* A call's texts; the encoder packs and cuts them itself. So small that a daemon that is told
     * to stop, and whoever waits for this thread, need not wait for long. */
    BATCH_TEXTS = 32,
    BATCH_TOKENS = 4096,
};

static bool is_none(struct str dir)
{
    return str_eq(dir, STR("none"));
}

/* One that can't be looked at is there, and opening it says why it can't be used. */
static bool is_there(const char *dir)
{
    char file[PATH_MAX];
    struct stat info;
    int n = snprintf(file, sizeof file, "%s/config.json", dir);
    if (n <= 0 || (size_t)n >= sizeof file)
        return false;
    return stat(file, &info) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

/* The directory of the binary; false: the system does not say. */
static bool own_dir(char *dir, size_t size)
{
    ssize_t n = readlink("/proc/self/exe", dir, size - 1);
    if (n <= 0)
        return false;
    dir[n] = '\0';
    char *slash = strrchr(dir, '/');
    if (slash == NULL)
        return false;
    *slash = '\0';
    return true;
}

static bool find_default(const struct config *config, char *found, size_t size)
{
    static const char *const places[] = {"/models/" MODEL_DEFAULT, "/../models/" MODEL_DEFAULT,
                                         "/../share/hypermem/models/" MODEL_DEFAULT};
    char own[PATH_MAX];
    bool known = own_dir(own, sizeof own);
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        const char *base = i == 0 ? config->storage.data_dir.at : own;
        if (i != 0 && !known)
            break;
        int n = snprintf(found, size, "%s%s", base, places[i]);
        if (n > 0 && (size_t)n < size && is_there(found))
            return true;
    }
    return false;
}

static enum err_code open_one(const char *dir, const char *param, struct encoder **out,
                              struct err *err)
{
    enum err_code code = encoder_open(dir, out, err);
    if (code != ERR_OK)
        err_context(err, "%s", param);
    return code;
}

static enum err_code refuse_both(const char *param, struct err *err)
{
    return err_set_param(err, ERR_INVALID, param,
                         "%s: there is an endpoint for the same purpose; give one of them", param);
}

static enum err_code open_embed(const struct config *config, bool has_remote, struct encoder **out,
                                struct err *err)
{
    char found[PATH_MAX];
    struct str dir = config->embed.model_dir;
    if (is_none(dir))
        return ERR_OK;
    if (dir.len != 0 && has_remote)
        return refuse_both("embed_model_dir", err);
    if (dir.len != 0)
        return open_one(dir.at, "embed_model_dir", out, err);
    if (has_remote || !find_default(config, found, sizeof found))
        return ERR_OK;
    return open_one(found, "embed_model_dir", out, err);
}

static enum err_code open_rerank(const struct config *config, bool has_remote, struct encoder **out,
                                 struct err *err)
{
    struct str dir = config->rerank.model_dir;
    if (dir.len == 0 || is_none(dir))
        return ERR_OK;
    if (has_remote)
        return refuse_both("rerank_model_dir", err);
    enum err_code code = open_one(dir.at, "rerank_model_dir", out, err);
    if (code == ERR_OK && !encoder_about(*out)->has_head)
        code = err_set_param(err, ERR_INVALID, "rerank_model_dir",
                             "rerank_model_dir: %s has no classification head: it is no "
                             "cross-encoder",
                             dir.at);
    return code;
}

static void fill_embed(const struct encoder *encoder, struct models_options *options)
{
    const struct encoder_about *about = encoder_about(encoder);
    struct model_address *address = &options->address[PURPOSE_EMBED];
    *address = (struct model_address){
        .encoder = encoder, .model = about->name, .concurrency = 1, .attempts = 1};
    options->embed.batch = BATCH_TEXTS;
    options->embed.batch_tokens = BATCH_TOKENS;
    options->embed.text_tokens = about->max_tokens;
    if (options->embed.query_prefix.len == 0)
        options->embed.query_prefix = about->query_prompt;
    if (options->embed.document_prefix.len == 0)
        options->embed.document_prefix = about->document_prompt;
}

/* Where none is configured, the model's own. */
static enum err_code check_prefix(const struct encoder *encoder, const char *param,
                                  struct str configured, struct str prompt, struct err *err)
{
    uint32_t most = encoder_about(encoder)->prefix_tokens;
    bool own = configured.len == 0;
    if (encoder_count(encoder, own ? prompt : configured) <= most)
        return ERR_OK;
    return err_set_param(err, ERR_INVALID, param, "%s: %smore than %u tokens of the model", param,
                         own ? "the prompt that the model brings has " : "", most);
}

/* What a call could only refuse, each time. */
static enum err_code check_embed(const struct config_embed *config, const struct encoder *encoder,
                                 struct err *err)
{
    const struct encoder_about *about = encoder_about(encoder);
    if (config->dimensions > about->dimension)
        return err_set_param(err, ERR_INVALID, "embed_dimensions",
                             "embed_dimensions: the model has %u", about->dimension);
    enum err_code code =
        check_prefix(encoder, "embed_query_prefix", config->query_prefix, about->query_prompt, err);
    if (code == ERR_OK)
        code = check_prefix(encoder, "embed_document_prefix", config->document_prefix,
                            about->document_prompt, err);
    return code;
}

enum err_code builtin_models_open(const struct config *config, const struct models_options *options,
                                  struct builtin_models *models, struct err *err)
{
    *models = (struct builtin_models){NULL, NULL};
    bool embed = options->address[PURPOSE_EMBED].base_url.len != 0;
    bool rerank = options->address[PURPOSE_RERANK].base_url.len != 0;
    enum err_code code = open_embed(config, embed, &models->embed, err);
    if (code == ERR_OK)
        code = open_rerank(config, rerank, &models->rerank, err);
    if (code == ERR_OK && models->embed != NULL)
        code = check_embed(&config->embed, models->embed, err);
    if (code != ERR_OK)
        builtin_models_close(models);
    return code;
}

void builtin_models_close(struct builtin_models *models)
{
    encoder_close(models->embed);
    encoder_close(models->rerank);
    *models = (struct builtin_models){NULL, NULL};
}

void builtin_models_fill(const struct builtin_models *models, struct models_options *options)
{
    if (models->embed != NULL)
        fill_embed(models->embed, options);
    if (models->rerank != NULL)
        options->address[PURPOSE_RERANK] =
            (struct model_address){.encoder = models->rerank,
                                   .model = encoder_about(models->rerank)->name,
                                   .concurrency = 1,
                                   .attempts = 1};
}
