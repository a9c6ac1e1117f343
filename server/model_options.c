#include "server/model_options.h"

#include "core/model/url.h"

enum { CONNECT_MS = 10000, RERANK_ATTEMPTS = 2 };

static const struct str openai_origin = {"https://api.openai.com", 22};

static bool is_same_origin(struct str a, struct str b)
{
    struct url left;
    struct url right;
    return url_parse(a, &left, NULL) && url_parse(b, &right, NULL) &&
           url_same_origin(&left, &right);
}

/* The key of the environment, where it belongs. */
static struct str openai_key(const struct config_openai *openai, struct str base_url)
{
    struct str origin = openai->base_url.len != 0 ? openai->base_url : openai_origin;
    return is_same_origin(base_url, origin) ? openai->api_key : STR("");
}

static struct str base_or_openai(const struct config_openai *openai, struct str base_url,
                                 struct str model)
{
    if (base_url.len != 0)
        return base_url;
    return model.len != 0 ? openai->base_url : STR("");
}

static struct model_address address_of(const struct config_provider *provider,
                                       const struct config_openai *openai)
{
    struct str base_url = base_or_openai(openai, provider->base_url, provider->model);
    return (struct model_address){
        .base_url = base_url,
        .api_key = provider->api_key.len != 0 ? provider->api_key : openai_key(openai, base_url),
        .model = provider->model,
        .extra_headers = provider->extra_headers,
        .extra_body = provider->extra_body,
        .connect_ms = CONNECT_MS,
        .total_ms = (int64_t)provider->timeout_ms,
        .concurrency = (uint32_t)provider->concurrency,
        .attempts = (uint32_t)provider->attempts,
    };
}

/* llm's address with what the purpose has of its own over it. */
static struct model_address address_of_purpose(const struct config *config,
                                               const struct config_purpose *own)
{
    struct model_address address = address_of(&config->llm.provider, &config->openai);
    struct str model = own->model.len != 0 ? own->model : address.model;
    struct str base_url = base_or_openai(
        &config->openai, own->base_url.len != 0 ? own->base_url : address.base_url, model);
    bool moved = !is_same_origin(base_url, address.base_url);
    address.idle_ms = (int64_t)config->llm.idle_timeout_ms;
    address.base_url = base_url;
    address.model = model;
    if (moved) {
        address.api_key = openai_key(&config->openai, base_url);
        address.extra_headers = STR("");
    }
    if (own->api_key.len != 0)
        address.api_key = own->api_key;
    if (own->extra_body.len != 0)
        address.extra_body = own->extra_body;
    return address;
}

static struct model_address address_of_rerank(const struct config *config)
{
    struct model_address address = address_of(&config->rerank.provider, &config->openai);
    address.total_ms = (int64_t)config->rerank.deadline_ms;
    address.attempts = RERANK_ATTEMPTS;
    return address;
}

static struct embed_limits embed_of(const struct config_embed *embed)
{
    return (struct embed_limits){
        .batch = (uint32_t)embed->batch,
        .batch_tokens = (uint32_t)embed->batch_tokens,
        .text_tokens = (uint32_t)embed->text_tokens,
        .dimensions = (uint32_t)embed->dimensions,
        .send_dimensions = embed->send_dimensions,
        .query_prefix = embed->query_prefix,
        .document_prefix = embed->document_prefix,
    };
}

static enum rerank_format format_of(enum config_rerank_format format)
{
    static const enum rerank_format formats[] = {
        [CONFIG_RERANK_PROBE] = RERANK_PROBE,
        [CONFIG_RERANK_COHERE] = RERANK_COHERE,
        [CONFIG_RERANK_TEI] = RERANK_TEI,
        [CONFIG_RERANK_VOYAGE] = RERANK_VOYAGE,
        [CONFIG_RERANK_DASHSCOPE] = RERANK_DASHSCOPE,
        [CONFIG_RERANK_DEEPINFRA] = RERANK_DEEPINFRA,
    };
    return formats[format];
}

void model_options_fill(const struct config *config, struct models_options *out)
{
    const struct config_llm *llm = &config->llm;
    const struct config_purpose *const own[] = {
        [PURPOSE_BOUNDARY] = &llm->boundary, [PURPOSE_DESCRIBE] = &llm->describe,
        [PURPOSE_TOPIC] = &llm->topic,       [PURPOSE_FACTS] = &llm->facts,
        [PURPOSE_ANSWER] = &llm->answer,
    };
    for (unsigned p = 0; p < sizeof own / sizeof own[0]; p++)
        out->address[p] = address_of_purpose(config, own[p]);
    out->address[PURPOSE_EMBED] = address_of(&config->embed.provider, &config->openai);
    out->address[PURPOSE_RERANK] = address_of_rerank(config);
    out->chat = (struct chat_limits){
        .max_tokens = (uint32_t)llm->max_tokens,
        .temperature = (float)llm->temperature,
        .reasoning = llm->reasoning_effort,
    };
    out->embed = embed_of(&config->embed);
    out->rerank = (struct rerank_limits){
        .format = format_of(config->rerank.format),
        .candidates = (uint32_t)config->rerank.candidates,
        .chars = (uint32_t)config->rerank.chars,
        .deadline_ms = (int64_t)config->rerank.deadline_ms,
    };
}
