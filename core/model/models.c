#include "core/model/models.h"

#include <stdlib.h>

#include "core/base/hash.h"
#include "core/model/models_int.h"

enum { ARENA_BYTES = 4 << 20 };

static const struct {
    const char *slug;
    enum model_kind kind;
} purposes[MODEL_PURPOSES] = {
#define X(name, slug_, kind_) [PURPOSE_##name] = {slug_, MODEL_##kind_},
    MODEL_PURPOSE_TABLE(X)
#undef X
};

static const char *const rerank_slugs[RERANK_FORMATS] = {
    [RERANK_PROBE] = "probe",   [RERANK_COHERE] = "cohere",       [RERANK_TEI] = "tei",
    [RERANK_VOYAGE] = "voyage", [RERANK_DASHSCOPE] = "dashscope", [RERANK_DEEPINFRA] = "deepinfra",
};

const char *model_purpose_slug(enum model_purpose purpose)
{
    return purposes[purpose].slug;
}

enum model_kind model_purpose_kind(enum model_purpose purpose)
{
    return purposes[purpose].kind;
}

const char *model_rerank_slug(enum rerank_format format)
{
    return rerank_slugs[format];
}

/* --- life --- */

static bool copy_all(struct arena *arena, struct str *const *texts, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        *texts[i] = str_copy(arena, texts[i]->at != NULL ? *texts[i] : STR(""));
        if (texts[i]->at == NULL)
            return false;
    }
    return true;
}

static bool copy_options(struct models *models, const struct models_options *options)
{
    models->chat = options->chat;
    models->embed = options->embed;
    models->rerank = options->rerank;
    struct str *const texts[] = {&models->chat.reasoning, &models->embed.query_prefix,
                                 &models->embed.document_prefix};
    bool fine = copy_all(models->arena, texts, 3);
    for (unsigned p = 0; fine && p < MODEL_PURPOSES; p++) {
        struct model_address *a = &models->address[p];
        *a = options->address[p];
        struct str *const parts[] = {&a->base_url, &a->api_key, &a->model, &a->extra_headers,
                                     &a->extra_body};
        fine = copy_all(models->arena, parts, 5);
    }
    return fine;
}

static bool is_same_address(const struct model_address *a, const struct model_address *b)
{
    return a->encoder == b->encoder && str_eq(a->base_url, b->base_url) &&
           str_eq(a->api_key, b->api_key) && str_eq(a->model, b->model) &&
           str_eq(a->extra_headers, b->extra_headers) && str_eq(a->extra_body, b->extra_body);
}

static struct endpoint *find_endpoint(struct models *models, enum model_purpose purpose)
{
    for (uint32_t i = 0; i < models->n; i++) {
        struct endpoint *e = &models->endpoints[i];
        if (e->kind == purposes[purpose].kind &&
            is_same_address(&e->address, &models->address[purpose]))
            return e;
    }
    return NULL;
}

static enum err_code add_purpose(struct models *models, enum model_purpose purpose, struct err *err)
{
    const struct model_address *address = &models->address[purpose];
    if (address->base_url.len == 0 && address->encoder == NULL)
        return ERR_OK;
    ASSERT(address->concurrency >= 1 && address->attempts >= 1);
    models->endpoint[purpose] = find_endpoint(models, purpose);
    if (models->endpoint[purpose] != NULL)
        return ERR_OK;
    struct endpoint *e = &models->endpoints[models->n];
    e->index = models->n;
    e->kind = purposes[purpose].kind;
    e->way.form = e->kind == MODEL_RERANK ? models->rerank.format : RERANK_PROBE;
    enum err_code code = endpoint_init(e, models->arena, address, models->log, err);
    if (code != ERR_OK) {
        err_context(err, "model of %s", purposes[purpose].slug);
        return code;
    }
    models->endpoint[purpose] = e;
    models->n++;
    return ERR_OK;
}

enum err_code models_new(const struct models_options *options, struct models **out, struct err *err)
{
    *out = NULL;
    struct models *models = calloc(1, sizeof *models);
    if (models == NULL)
        return err_set(err, ERR_EXHAUSTED, "out of memory");
    models->arena = arena_new(ARENA_BYTES);
    models->clock = options->clock;
    models->log = options->log;
    models->metrics = options->metrics;
    models->seed = options->seed;
    enum err_code code = ERR_OK;
    if (models->arena == NULL || !copy_options(models, options))
        code = err_set(err, ERR_EXHAUSTED, "out of memory");
    for (unsigned p = 0; code == ERR_OK && p < MODEL_PURPOSES; p++)
        code = add_purpose(models, (enum model_purpose)p, err);
    if (code == ERR_OK)
        *out = models;
    else
        models_free(models);
    return code;
}

void models_stop(struct models *models)
{
    atomic_store_explicit(&models->stopped, true, memory_order_relaxed);
}

void models_free(struct models *models)
{
    if (models == NULL)
        return;
    for (uint32_t i = 0; i < models->n; i++)
        endpoint_fini(&models->endpoints[i]);
    arena_free(models->arena);
    free(models);
}

/* --- what there is --- */

bool models_has(const struct models *models, enum model_purpose purpose)
{
    return models->endpoint[purpose] != NULL;
}

bool models_is_builtin(const struct models *models, enum model_purpose purpose)
{
    return models->address[purpose].encoder != NULL;
}

bool models_has_remote(const struct models *models)
{
    for (unsigned p = 0; p < MODEL_PURPOSES; p++) {
        if (models->endpoint[p] != NULL && !models_is_builtin(models, (enum model_purpose)p))
            return true;
    }
    return false;
}

bool models_has_stages(const struct models *models)
{
    return models_has(models, PURPOSE_BOUNDARY) && models_has(models, PURPOSE_DESCRIBE) &&
           models_has(models, PURPOSE_TOPIC) && models_has(models, PURPOSE_FACTS);
}

const struct model_address *models_address(const struct models *models, enum model_purpose purpose)
{
    return &models->address[purpose];
}

const struct embed_limits *models_embed(const struct models *models)
{
    return &models->embed;
}

const struct rerank_limits *models_rerank(const struct models *models)
{
    return &models->rerank;
}

uint32_t models_endpoints(const struct models *models)
{
    return models->n;
}

uint32_t models_endpoint_slots(const struct models *models, uint32_t endpoint)
{
    ASSERT(endpoint < models->n);
    return models->endpoints[endpoint].address.concurrency;
}

uint32_t models_endpoint_of(const struct models *models, enum model_purpose purpose)
{
    ASSERT(models->endpoint[purpose] != NULL);
    return models->endpoint[purpose]->index;
}

void models_learned(const struct models *models, enum model_purpose purpose,
                    struct model_learned *out)
{
    struct endpoint_way way = endpoint_way(models->endpoint[purpose]);
    *out = (struct model_learned){.version = way.version, .batch = way.batch};
    if (way.proven)
        out->structured = endpoint_rung_slug(way.rung);
    if (way.form != RERANK_PROBE)
        out->rerank = model_rerank_slug(way.form);
    for (unsigned i = 0; i < ENDPOINT_PARAMS; i++) {
        if ((way.dropped >> i & 1) != 0)
            out->dropped[out->n_dropped++] = endpoint_param_name((enum endpoint_param)i);
    }
}
_Static_assert(sizeof((struct model_learned){0}.dropped) / sizeof(char *) >= ENDPOINT_PARAMS,
               "room for all");

static void put_quoted(struct buf *line, const char *name, struct str text)
{
    buf_printf(line, " %s=\"", name);
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.at[i];
        if (c < 0x20 || c == '"' || c == '\\' || c == 0x7f)
            buf_printf(line, "\\x%02x", c);
        else
            buf_char(line, (char)c);
    }
    buf_char(line, '"');
}

static void put_place(struct buf *line, const struct endpoint *e)
{
    if (e->address.encoder != NULL) {
        buf_printf(line, "builtin=\"%016llx\"",
                   (unsigned long long)encoder_about(e->address.encoder)->fingerprint);
        return;
    }
    struct str path = e->url.path;
    while (path.len != 0 && path.at[path.len - 1] == '/')
        path.len--;
    buf_printf(line, "at=\"%.*s%.*s\"", STR_FMT(e->url.host), STR_FMT(path));
}

void models_embed_identity(const struct models *models, uint32_t dimension, struct buf *line,
                           uint64_t *id)
{
    const struct endpoint *e = models->endpoint[PURPOSE_EMBED];
    ASSERT(e != NULL);
    size_t start = line->len;
    put_place(line, e);
    put_quoted(line, "model", e->address.model);
    buf_printf(line, " dimension=%u", dimension);
    put_quoted(line, "query_prefix", models->embed.query_prefix);
    put_quoted(line, "document_prefix", models->embed.document_prefix);
    *id = buf_ok(line) ? hash64(str_part(buf_str(line), start, line->len)) : 0;
}
