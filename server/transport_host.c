/* Which host a URL names, as libcurl will understand it. */
#include <arpa/inet.h>
#include <stdio.h>
#include <strings.h>

#include "server/transport_int.h"

static bool is_loopback_v6(const struct in6_addr *address)
{
    enum { MAPPED_V4_AT = 12, LOOPBACK_NET = 127 };
    return IN6_IS_ADDR_LOOPBACK(address) ||
           (IN6_IS_ADDR_V4MAPPED(address) && address->s6_addr[MAPPED_V4_AT] == LOOPBACK_NET);
}

/* localhost, *.localhost, with a dot behind or not. */
static bool is_loopback_name(struct str name)
{
    static const char localhost[] = "localhost";
    const size_t len = sizeof localhost - 1;
    if (name.len != 0 && name.at[name.len - 1] == '.')
        name.len--;
    if (name.len < len || strncasecmp(name.at + name.len - len, localhost, len) != 0)
        return false;
    return name.len == len || name.at[name.len - len - 1] == '.';
}

static bool is_loopback(struct str host)
{
    char text[INET6_ADDRSTRLEN];
    struct in_addr v4;
    struct in6_addr v6;
    if (str_starts(host, STR("[")) && str_ends(host, STR("]")))
        host = str_part(host, 1, host.len - 1);
    if (host.len >= sizeof text)
        return is_loopback_name(host);
    memcpy(text, host.at, host.len);
    text[host.len] = '\0';
    if (inet_pton(AF_INET, text, &v4) == 1)
        return ntohl(v4.s_addr) >> 24 == 127;
    if (inet_pton(AF_INET6, text, &v6) == 1)
        return is_loopback_v6(&v6);
    return is_loopback_name(host);
}

static bool has_part(CURLU *parser, CURLUPart part, unsigned flags, char **out)
{
    return curl_url_get(parser, part, out, flags) == CURLUE_OK && *out != NULL;
}

static bool read_parts(CURLU *parser, struct host *out)
{
    char *scheme = NULL, *host = NULL, *port = NULL;
    bool ok = has_part(parser, CURLUPART_SCHEME, 0, &scheme) &&
              has_part(parser, CURLUPART_HOST, 0, &host) &&
              has_part(parser, CURLUPART_PORT, CURLU_DEFAULT_PORT, &port);
    if (ok) {
        (void)snprintf(out->peer, sizeof out->peer, "%s:%s", host, port);
        out->is_tls = strcasecmp(scheme, "https") == 0;
        out->is_loopback = is_loopback(str_of(host));
        ok = out->is_tls || strcasecmp(scheme, "http") == 0;
    }
    curl_free(scheme);
    curl_free(host);
    curl_free(port);
    return ok;
}

enum err_code transport__host(CURLU *parser, const char *url, struct host *out, struct err *err)
{
    CURLUcode rc = curl_url_set(parser, CURLUPART_URL, url, 0);
    if (rc == CURLUE_OK && read_parts(parser, out))
        return ERR_OK;
    return err_set(err, ERR_UNAVAILABLE, "the URL can't be used: %s",
                   rc != CURLUE_OK ? curl_url_strerror(rc) : "want http:// or https://");
}
