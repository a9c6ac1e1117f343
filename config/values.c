/* Text to values, a function a type. */
#include "config/config_int.h"

#include <ctype.h>

typedef bool parse_fn(struct config *config, const struct config_row *row, struct str text,
                      void *member);

static bool has_control(struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.at[i];
        if (c < 0x20 || c == 0x7f)
            return true;
    }
    return false;
}

static bool parse_text(struct config *config, const struct config_row *row, struct str text,
                       void *member)
{
    if (text.len > row->max || has_control(text))
        return false;
    *(struct str *)member = str_copy(config->arena, text);
    return true;
}

static bool parse_path(struct config *config, const struct config_row *row, struct str text,
                       void *member)
{
    (void)row;
    if (text.len == 0 || has_control(text))
        return false;
    *(struct str *)member = str_copy(config->arena, text);
    return true;
}

static bool parse_uint(struct config *config, const struct config_row *row, struct str text,
                       void *member)
{
    (void)config;
    uint64_t value = 0;
    if (!str_u64(text, row->max, &value) || value < row->min)
        return false;
    *(uint64_t *)member = value;
    return true;
}

static bool is_any(struct str text, const char *const *names)
{
    for (; *names != NULL; names++) {
        if (str_eq(text, str_of(*names)))
            return true;
    }
    return false;
}

static bool parse_bool(struct config *config, const struct config_row *row, struct str text,
                       void *member)
{
    static const char *const yes[] = {"true", "yes", "on", "1", NULL};
    static const char *const no[] = {"false", "no", "off", "0", NULL};
    (void)config;
    (void)row;
    *(bool *)member = is_any(text, yes);
    return *(bool *)member || is_any(text, no);
}

static bool is_ipv4(struct str host)
{
    for (unsigned part = 0; part < 4; part++) {
        size_t dot = str_index(host, '.');
        uint64_t value = 0;
        struct str digits = str_part(host, 0, dot);
        bool is_last = dot == host.len;
        if (digits.len > 3 || (digits.len > 1 && digits.at[0] == '0') ||
            !str_u64(digits, 255, &value) || is_last != (part == 3))
            return false;
        host = str_part(host, dot + 1, host.len);
    }
    return true;
}

/* Only the characters are looked at: what the address means is the server's to find out. */
static bool is_ipv6_like(struct str host)
{
    bool colon = false;
    for (size_t i = 0; i < host.len; i++) {
        unsigned char c = (unsigned char)host.at[i];
        if (!isxdigit(c) && c != ':' && c != '.')
            return false;
        colon = colon || c == ':';
    }
    return colon && host.len <= 45;
}

static bool parse_address(struct config *config, const struct config_row *row, struct str text,
                          void *member)
{
    (void)row;
    size_t colon = text.len;
    while (colon > 0 && text.at[colon - 1] != ':')
        colon--;
    uint64_t port = 0;
    if (colon < 2 || !str_u64(str_part(text, colon, text.len), 65535, &port))
        return false;
    struct str host = str_part(text, 0, colon - 1);
    struct config_address address = {.port = (uint16_t)port};
    if (str_eq(host, STR("localhost")))
        host = STR("127.0.0.1");
    if (host.len > 2 && host.at[0] == '[' && host.at[host.len - 1] == ']') {
        host = str_part(host, 1, host.len - 1);
        address.is_ipv6 = true;
        address.is_loopback = str_eq(host, STR("::1"));
    } else {
        address.is_loopback = str_starts(host, STR("127."));
    }
    if (address.is_ipv6 ? !is_ipv6_like(host) : !is_ipv4(host))
        return false;
    address.text = str_copy(config->arena, text);
    address.host = str_copy(config->arena, host);
    *(struct config_address *)member = address;
    return true;
}

/* A name or an IPv4 address, or an IPv6 address in brackets; never with a port. */
static bool is_host_name(struct str name)
{
    if (name.len > 2 && name.at[0] == '[' && name.at[name.len - 1] == ']')
        return is_ipv6_like(str_part(name, 1, name.len - 1));
    for (size_t i = 0; i < name.len; i++) {
        unsigned char c = (unsigned char)name.at[i];
        if (!isalnum(c) && c != '.' && c != '-' && c != '_')
            return false;
    }
    return name.len != 0 && name.len <= 253;
}

/* .at is NULL when memory is short. */
static struct str lower(struct arena *arena, struct str text)
{
    char *at = arena_alloc(arena, text.len);
    for (size_t i = 0; at != NULL && i < text.len; i++)
        at[i] = (char)tolower((unsigned char)text.at[i]);
    return (struct str){at, text.len};
}

static bool parse_names(struct config *config, const struct config_row *row, struct str text,
                        void *member)
{
    (void)row;
    size_t commas = 0;
    for (size_t i = 0; i < text.len; i++)
        commas += text.at[i] == ',';
    if (commas >= CONFIG_HOSTS_MAX)
        return false;
    struct config_names names = {.at = ARENA_ARRAY(config->arena, struct str, commas + 1)};
    if (names.at == NULL)
        return false;
    while (text.len != 0) {
        size_t comma = str_index(text, ',');
        struct str name = str_trim(str_part(text, 0, comma));
        if (!is_host_name(name))
            return false;
        if (name.at[0] == '[')
            name = str_part(name, 1, name.len - 1);
        name = lower(config->arena, name);
        if (name.at == NULL)
            return false;
        names.at[names.n++] = name;
        text = str_part(text, comma + 1, text.len);
    }
    *(struct config_names *)member = names;
    return true;
}

static bool parse_level(struct config *config, const struct config_row *row, struct str text,
                        void *member)
{
    (void)config;
    (void)row;
    return log_level_parse(text, member);
}

static bool parse_format(struct config *config, const struct config_row *row, struct str text,
                         void *member)
{
    (void)config;
    (void)row;
    *(bool *)member = str_eq(text, STR("json"));
    return *(bool *)member || str_eq(text, STR("text"));
}

static bool parse_color(struct config *config, const struct config_row *row, struct str text,
                        void *member)
{
    static const char *const names[] = {"auto", "always", "never"};
    (void)config;
    (void)row;
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (str_eq(text, str_of(names[i]))) {
            *(enum config_color *)member = (enum config_color)i;
            return true;
        }
    }
    return false;
}

static bool parse_real(struct config *config, const struct config_row *row, struct str text,
                       void *member)
{
    (void)config;
    double value = -1;
    if (text.len != 0 &&
        (!str_double(text, &value) || value < (double)row->min || value > (double)row->max))
        return false;
    *(double *)member = value;
    return true;
}

/* What else a URL must be is told by whoever uses it. */
static bool parse_url(struct config *config, const struct config_row *row, struct str text,
                      void *member)
{
    bool fits =
        text.len == 0 || str_starts(text, STR("http://")) || str_starts(text, STR("https://"));
    return fits && parse_text(config, row, text, member);
}

static bool parse_headers(struct config *config, const struct config_row *row, struct str text,
                          void *member)
{
    char *at = arena_alloc(config->arena, text.len + 1);
    if (at == NULL || text.len > row->max)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.at[i];
        if ((c < 0x20 && c != '\n' && c != '\r' && c != '\t') || c == 0x7f)
            return false;
        at[i] = (char)c;
        if (c == '|' || c == '\r')
            at[i] = '\n';
    }
    at[text.len] = '\0';
    *(struct str *)member = (struct str){at, text.len};
    return true;
}

static bool parse_rerank(struct config *config, const struct config_row *row, struct str text,
                         void *member)
{
    static const char *const names[] = {
        [CONFIG_RERANK_PROBE] = "probe",
        [CONFIG_RERANK_COHERE] = "cohere",
        [CONFIG_RERANK_TEI] = "tei",
        [CONFIG_RERANK_VOYAGE] = "voyage",
        [CONFIG_RERANK_DASHSCOPE] = "dashscope",
        [CONFIG_RERANK_DEEPINFRA] = "deepinfra",
    };
    (void)config;
    (void)row;
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (str_eq(text, str_of(names[i]))) {
            *(enum config_rerank_format *)member = (enum config_rerank_format)i;
            return true;
        }
    }
    return false;
}

static const struct {
    parse_fn *parse;
    const char *want;
} types[TYPE_COUNT] = {
    [TYPE_TEXT] = {parse_text, "text without control characters, not too long"},
    [TYPE_PATH] = {parse_path, "a path"},
    [TYPE_UINT] = {parse_uint, NULL},
    [TYPE_BOOL] = {parse_bool, "true or false"},
    [TYPE_ADDRESS] = {parse_address, "ADDRESS:PORT, such as 127.0.0.1:7070 or [::1]:7070"},
    [TYPE_NAMES] = {parse_names, "at most 64 host names without ports, comma-separated"},
    [TYPE_LEVEL] = {parse_level, "error, warn, info or debug"},
    [TYPE_FORMAT] = {parse_format, "text or json"},
    [TYPE_COLOR] = {parse_color, "auto, always or never"},
    [TYPE_REAL] = {parse_real, "a decimal number in its range, or nothing"},
    [TYPE_URL] = {parse_url, "http:// or https://, without control characters"},
    [TYPE_HEADERS] = {parse_headers, "Name: value, several separated by |"},
    [TYPE_RERANK] = {parse_rerank, "probe, cohere, tei, voyage, dashscope or deepinfra"},
};

enum err_code config__parse(struct config *config, const struct config_row *row, struct str text,
                            struct err *err)
{
    void *member = (char *)config + row->offset;
    if (types[row->type].parse(config, row, text, member))
        return ERR_OK;
    if (row->type == TYPE_UINT)
        return err_set_param(err, ERR_INVALID, row->key,
                             "%s: want a whole number from %llu to %llu", row->key,
                             (unsigned long long)row->min, (unsigned long long)row->max);
    return err_set_param(err, ERR_INVALID, row->key, "%s: want %s", row->key,
                         types[row->type].want);
}
