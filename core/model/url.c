#include "core/model/url.h"

#include <ctype.h>

static bool fail(const char **why, const char *what)
{
    if (why != NULL)
        *why = what;
    return false;
}

static bool has_odd_character(struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.at[i];
        if (c <= 0x20 || c >= 0x7f || strchr("\"<>\\^`{|}", c) != NULL)
            return true;
    }
    return false;
}

static bool same_ignoring_case(struct str a, struct str b)
{
    if (a.len != b.len)
        return false;
    for (size_t i = 0; i < a.len; i++) {
        if (tolower((unsigned char)a.at[i]) != tolower((unsigned char)b.at[i]))
            return false;
    }
    return true;
}

static bool take_scheme(struct str *rest, bool *is_https)
{
    static const struct {
        struct str text;
        bool is_https;
    } schemes[] = {{{"http://", 7}, false}, {{"https://", 8}, true}};
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
        struct str head = str_part(*rest, 0, schemes[i].text.len);
        if (same_ignoring_case(head, schemes[i].text)) {
            *is_https = schemes[i].is_https;
            *rest = str_part(*rest, head.len, rest->len);
            return true;
        }
    }
    return false;
}

static bool is_host_text(struct str host, bool bracketed)
{
    for (size_t i = 0; i < host.len; i++) {
        unsigned char c = (unsigned char)host.at[i];
        bool fits = bracketed ? isxdigit(c) || c == ':' || c == '.'
                              : isalnum(c) || c == '.' || c == '-' || c == '_';
        if (!fits)
            return false;
    }
    return host.len != 0 && host.len <= 253;
}

/* host, host:port, [v6], [v6]:port */
static bool take_authority(struct str text, struct url *url)
{
    bool bracketed = text.len != 0 && text.at[0] == '[';
    size_t end = bracketed ? str_index(text, ']') : str_index(text, ':');
    if (bracketed && end == text.len)
        return false;
    url->host = str_part(text, bracketed ? 1 : 0, end);
    struct str rest = str_part(text, end + (bracketed ? 1 : 0), text.len);
    url->port = STR("");
    if (rest.len != 0) {
        uint64_t port = 0;
        url->port = str_part(rest, 1, rest.len);
        if (rest.at[0] != ':' || !str_u64(url->port, 65535, &port) || port == 0)
            return false;
    }
    return is_host_text(url->host, bracketed);
}

bool url_parse(struct str text, struct url *url, const char **why)
{
    *url = (struct url){.path = STR(""), .query = STR("")};
    struct str rest = text;
    if (!take_scheme(&rest, &url->is_https))
        return fail(why, "want http:// or https://");
    if (has_odd_character(text))
        return fail(why, "a character that a URL can't have");
    if (str_index(text, '#') != text.len)
        return fail(why, "a fragment (#) has no place here");
    size_t query = str_index(rest, '?');
    url->query = str_part(rest, query, rest.len);
    rest = str_part(rest, 0, query);
    size_t slash = str_index(rest, '/');
    struct str authority = str_part(rest, 0, slash);
    url->path = str_part(rest, slash, rest.len);
    if (str_index(authority, '@') != authority.len)
        return fail(why, "a user or password in the URL; use the api_key parameter");
    if (!take_authority(authority, url))
        return fail(why, "want HOST or HOST:PORT behind the scheme");
    url->origin = str_part(text, 0, (size_t)(authority.at + authority.len - text.at));
    return true;
}

static bool is_loopback_v4(struct str host)
{
    unsigned parts = 0;
    if (!str_starts(host, STR("127.")))
        return false;
    while (host.len != 0) {
        size_t dot = str_index(host, '.');
        uint64_t value = 0;
        if (!str_u64(str_part(host, 0, dot), 255, &value))
            return false;
        parts++;
        host = str_part(host, dot + 1, host.len);
    }
    return parts == 4;
}

/* ::1, ::ffff:127.x.y.z and ::ffff:7fxx:yyyy, however their leading zeros are spelled. */
static bool is_loopback_v6(struct str host)
{
    while (host.len != 0 && (host.at[0] == ':' || host.at[0] == '0'))
        host = str_part(host, 1, host.len);
    if (str_eq(host, STR("1")))
        return true;
    struct str mapped = str_part(host, 5, host.len);
    if (!same_ignoring_case(str_part(host, 0, 5), STR("ffff:")))
        return false;
    return is_loopback_v4(mapped) ||
           (same_ignoring_case(str_part(mapped, 0, 2), STR("7f")) && str_index(mapped, ':') == 4);
}

bool url_is_loopback(struct str host)
{
    if (host.len > 1 && host.at[host.len - 1] == '.')
        host.len--;
    struct str tail = host.len > 10 ? str_part(host, host.len - 10, host.len) : STR("");
    if (same_ignoring_case(host, STR("localhost")) || same_ignoring_case(tail, STR(".localhost")))
        return true;
    return str_index(host, ':') != host.len ? is_loopback_v6(host) : is_loopback_v4(host);
}

/* The next segment that is not empty. */
static bool next_segment(struct str *rest, struct str *segment)
{
    while (rest->len != 0 && rest->at[0] == '/')
        *rest = str_part(*rest, 1, rest->len);
    size_t end = str_index(*rest, '/');
    *segment = str_part(*rest, 0, end);
    *rest = str_part(*rest, end, rest->len);
    return segment->len != 0;
}

static bool is_version(struct str segment)
{
    return segment.len >= 2 && segment.len <= 12 && (segment.at[0] | 0x20) == 'v' &&
           isdigit((unsigned char)segment.at[1]);
}

bool url_has_version(const struct url *url)
{
    struct str rest = url->path, segment;
    while (next_segment(&rest, &segment)) {
        if (is_version(segment))
            return true;
    }
    return false;
}

bool url_same_origin(const struct url *a, const struct url *b)
{
    struct str own = a->is_https ? STR("443") : STR("80");
    struct str port_a = a->port.len != 0 ? a->port : own;
    struct str port_b = b->port.len != 0 ? b->port : own;
    return a->is_https == b->is_https && same_ignoring_case(a->host, b->host) &&
           str_eq(port_a, port_b);
}

/* Whether the path ends in exactly these segments. */
static bool ends_in(struct str path, struct str tail)
{
    if (!str_ends(path, tail) || path.len == tail.len)
        return false;
    return path.at[path.len - tail.len - 1] == '/';
}

void url_join(const struct url *base, struct str before, struct str path, struct buf *out)
{
    struct str own = base->path;
    while (own.len != 0 && own.at[own.len - 1] == '/')
        own.len--;
    buf_str_put(out, base->origin);
    buf_str_put(out, own);
    if (!ends_in(own, path)) {
        if (before.len != 0)
            buf_printf(out, "/%.*s", STR_FMT(before));
        buf_printf(out, "/%.*s", STR_FMT(path));
    }
    buf_str_put(out, base->query);
}
