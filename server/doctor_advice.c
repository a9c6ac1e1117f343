#include "server/doctor_advice.h"

#include <unistd.h>

#include "core/model/url.h"

typedef bool when_fn(const struct doctor_finding *f);

bool doctor_in_container(void)
{
    return access("/.dockerenv", F_OK) == 0 || access("/run/.containerenv", F_OK) == 0;
}

static struct url url_of(const struct doctor_finding *f)
{
    struct url url = {.host = STR("")};
    (void)url_parse(f->address->base_url, &url, NULL);
    return url;
}

static bool is_status(const struct doctor_finding *f, int from, int to)
{
    return f->call->exchange.status >= from && f->call->exchange.status <= to;
}

static bool when_version_was_added(const struct doctor_finding *f)
{
    return f->learned.version;
}

static bool when_path_is_wrong(const struct doctor_finding *f)
{
    return f->call->failure == MODEL_FAILURE_REQUEST && is_status(f, 404, 405);
}

static bool when_container_loopback(const struct doctor_finding *f)
{
    return f->call->failure == MODEL_FAILURE_CONNECT && f->in_container &&
           url_is_loopback(url_of(f).host);
}

static bool when_too_slow(const struct doctor_finding *f)
{
    return f->call->exchange.code == ERR_DEADLINE || f->call->failure == MODEL_FAILURE_DEADLINE;
}

static bool when_not_reached(const struct doctor_finding *f)
{
    return f->call->failure == MODEL_FAILURE_CONNECT && !when_too_slow(f) &&
           !when_container_loopback(f);
}

static bool when_no_key(const struct doctor_finding *f)
{
    return f->call->failure == MODEL_FAILURE_AUTH && f->address->api_key.len == 0;
}

static bool when_wrong_key(const struct doctor_finding *f)
{
    return f->call->failure == MODEL_FAILURE_AUTH && f->address->api_key.len != 0;
}

static bool when_key_in_the_clear(const struct doctor_finding *f)
{
    struct url url = url_of(f);
    return f->address->api_key.len != 0 && !url.is_https && !url_is_loopback(url.host);
}

static bool when_redirected(const struct doctor_finding *f)
{
    return is_status(f, 300, 399);
}

static bool when_quota(const struct doctor_finding *f)
{
    return f->call->failure == MODEL_FAILURE_QUOTA;
}

static bool when_busy(const struct doctor_finding *f)
{
    return f->call->failure == MODEL_FAILURE_RATE;
}

static bool when_server_fails(const struct doctor_finding *f)
{
    return f->call->failure == MODEL_FAILURE_SERVER;
}

static bool when_chat_reply_is_wrong(const struct doctor_finding *f)
{
    return f->call->failure == MODEL_FAILURE_REPLY &&
           model_purpose_kind(f->call->purpose) == MODEL_CHAT;
}

static bool when_embed_reply_is_wrong(const struct doctor_finding *f)
{
    return f->call->failure == MODEL_FAILURE_REPLY &&
           model_purpose_kind(f->call->purpose) == MODEL_EMBED;
}

static const struct {
    when_fn *when;
    const char *advice;
} rules[] = {
    {when_version_was_added, "the base URL lacks /v1: put it at its end"},
    {when_path_is_wrong, "check the path of the base URL (most end in /v1) and the model's name"},
    {when_container_loopback,
     "localhost in a container is the container itself: use the service's name, or "
     "host.docker.internal (Linux: with extra_hosts host.docker.internal:host-gateway)"},
    {when_not_reached, "nothing answers there: check host and port, firewall, and HTTP(S)_PROXY"},
    {when_too_slow, "too slow for the configured time: raise the time-out, or use a smaller model"},
    {when_no_key, "no key is configured: set api_key or api_key_file"},
    {when_wrong_key, "the key is refused: check it, and that it may use this model"},
    {when_key_in_the_clear, "the key travels unencrypted: use https"},
    {when_redirected, "redirects are not followed, so that the key goes nowhere else"},
    {when_quota, "the account has no quota or credit left"},
    {when_busy, "the provider limits the rate right now: try again, or lower the concurrency"},
    {when_server_fails,
     "the server answers, but not as such a server should: is it the right one?"},
    {when_chat_reply_is_wrong,
     "the model does not keep to a JSON schema: use a server with structured output, or a larger "
     "model"},
    {when_embed_reply_is_wrong,
     "check that the model makes embeddings, and dimensions against what it gives"},
};

void doctor_advise(const struct doctor_finding *f, const char *head, struct buf *out)
{
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        if (rules[i].when(f))
            buf_printf(out, "%s%s\n", head, rules[i].advice);
    }
}
