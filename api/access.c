#include "api/access.h"

static unsigned char lower(char c)
{
    unsigned char u = (unsigned char)c;
    return u >= 'A' && u <= 'Z' ? (unsigned char)(u + 32) : u;
}

/* ASCII case folded: tokens of HTTP headers. */
static bool is_word(struct str s, struct str word)
{
    if (s.len != word.len)
        return false;
    for (size_t i = 0; i < s.len; i++)
        if (lower(s.at[i]) != lower(word.at[i]))
            return false;
    return true;
}

/* The time depends on what was sent, not on how much of it is right. */
static bool is_key(struct str key, struct str sent)
{
    volatile unsigned char differs = key.len == sent.len ? 0 : 1;
    for (size_t i = 0; i < sent.len; i++)
        differs = (unsigned char)(differs | (sent.at[i] ^ key.at[i % key.len]));
    return differs == 0;
}

/* What follows the scheme, or the absent string. */
static struct str credential(struct str authorization)
{
    size_t blank = str_index(authorization, ' ');
    struct str scheme = str_part(authorization, 0, blank);
    if (!is_word(scheme, STR("Bearer")) && !is_word(scheme, STR("Token")))
        return STR_NONE;
    return str_trim(str_part(authorization, blank, authorization.len));
}

enum err_code access_check_key(struct str key, const struct api_request *request, struct err *err)
{
    static const char forms[] =
        "send the API key as \"Authorization: Bearer KEY\", \"Authorization: Token KEY\" or "
        "\"X-API-Key: KEY\"";
    if (key.len == 0)
        return ERR_OK;
    struct str sent = credential(request->authorization);
    if (sent.len != 0 && is_key(key, sent))
        return ERR_OK;
    sent = str_trim(request->api_key_header);
    if (sent.len != 0 && is_key(key, sent))
        return ERR_OK;
    return err_set(err, ERR_UNAUTHENTICATED, "%s", forms);
}

/* "name:7070" and "[::1]:7070" without port and brackets. */
static struct str host_name(struct str authority)
{
    if (authority.len != 0 && authority.at[0] == '[') {
        size_t end = str_index(authority, ']');
        return str_part(authority, 1, end);
    }
    struct str name = str_part(authority, 0, str_index(authority, ':'));
    return str_ends(name, STR(".")) ? str_part(name, 0, name.len - 1) : name;
}

/* 127.x.y.z, each a number of one to three digits up to 255. */
static bool is_loopback_v4(struct str name)
{
    unsigned parts = 0;
    for (; parts < 4; parts++) {
        uint64_t number;
        size_t end = str_index(name, '.');
        struct str part = str_part(name, 0, end);
        if (part.len > 3 || !str_u64(part, 255, &number) || (parts == 0 && number != 127))
            return false;
        if (end == name.len)
            break;
        name = str_part(name, end + 1, name.len);
    }
    return parts == 3;
}

static bool is_our_host(const struct api_options *options, struct str host)
{
    struct str name = host_name(host);
    if (is_word(name, STR("localhost")) || str_eq(name, STR("::1")) || is_loopback_v4(name))
        return true;
    for (unsigned i = 0; i < options->n_hosts; i++)
        if (is_word(name, options->hosts[i]))
            return true;
    return false;
}

/* What a browser sends for a page that we served: the scheme, then what it puts in Host. */
static bool is_our_origin(struct str origin, struct str host)
{
    struct str rest = STR_NONE;
    if (str_starts(origin, STR("http://")))
        rest = str_part(origin, sizeof "http://" - 1, origin.len);
    else if (str_starts(origin, STR("https://")))
        rest = str_part(origin, sizeof "https://" - 1, origin.len);
    return rest.len != 0 && is_word(rest, host);
}

enum err_code access_check_origin(const struct api_options *options,
                                  const struct api_request *request, struct err *err)
{
    if (options->api_key.len == 0 && !is_our_host(options, request->host))
        return err_set_param(err, ERR_DENIED, "Host",
                             "this host name is not one of ours; add it to the allowed hosts");
    if (request->origin.at != NULL && !is_our_origin(request->origin, request->host))
        return err_set_param(err, ERR_DENIED, "Origin", "web pages of other origins may not call");
    return ERR_OK;
}

static struct str media_type(struct str content_type)
{
    return str_trim(str_part(content_type, 0, str_index(content_type, ';')));
}

bool access_is_ndjson(const struct api_request *request)
{
    return is_word(media_type(request->content_type), STR("application/x-ndjson"));
}

static struct str unquoted(struct str value)
{
    bool quoted = value.len >= 2 && value.at[0] == '"' && value.at[value.len - 1] == '"';
    return quoted ? str_part(value, 1, value.len - 1) : value;
}

/* No charset, or UTF-8. Other parameters of the type mean nothing to us. */
static bool charset_is_fine(struct str content_type)
{
    size_t at = str_index(content_type, ';');
    while (at < content_type.len) {
        struct str rest = str_part(content_type, at + 1, content_type.len);
        struct str pair = str_part(rest, 0, str_index(rest, ';'));
        size_t equals = str_index(pair, '=');
        struct str value = unquoted(str_trim(str_part(pair, equals + 1, pair.len)));
        if (is_word(str_trim(str_part(pair, 0, equals)), STR("charset")) &&
            !is_word(value, STR("utf-8")) && !is_word(value, STR("utf8")))
            return false;
        at += 1 + pair.len;
    }
    return true;
}

enum err_code access_check_type(const struct api_request *request, bool ndjson, struct err *err)
{
    struct str encoding = str_trim(request->content_encoding);
    if (encoding.len != 0 && !is_word(encoding, STR("identity")))
        return err_set_param(err, ERR_MEDIA_TYPE, "Content-Encoding",
                             "encoded bodies are not taken; send it plain");
    struct str type = media_type(request->content_type);
    bool fine = is_word(type, STR("application/json")) ||
                (ndjson && is_word(type, STR("application/x-ndjson")));
    if (!fine)
        return err_set_param(err, ERR_MEDIA_TYPE, "Content-Type",
                             ndjson ? "want application/json or application/x-ndjson"
                                    : "want application/json");
    if (!charset_is_fine(request->content_type))
        return err_set_param(err, ERR_MEDIA_TYPE, "Content-Type", "want UTF-8");
    return ERR_OK;
}
