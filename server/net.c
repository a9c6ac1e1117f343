#include "server/net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BACKLOG = 4096 }; /* the system cuts it to net.core.somaxconn */

union net_address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static bool fill(const struct config_address *address, union net_address *out, socklen_t *len)
{
    memset(out, 0, sizeof *out);
    if (address->is_ipv6) {
        out->v6.sin6_family = AF_INET6;
        out->v6.sin6_port = htons(address->port);
        *len = sizeof out->v6;
        return inet_pton(AF_INET6, address->host.at, &out->v6.sin6_addr) == 1;
    }
    out->v4.sin_family = AF_INET;
    out->v4.sin_port = htons(address->port);
    *len = sizeof out->v4;
    return inet_pton(AF_INET, address->host.at, &out->v4.sin_addr) == 1;
}

static enum err_code report(const struct config_address *address, struct err *err)
{
    int reason = errno;
    return err_set_param(err, reason == EACCES ? ERR_DENIED : ERR_UNAVAILABLE, "listen",
                         "can't listen on %.*s: %s", STR_FMT(address->text), strerror(reason));
}

static void print_url(const struct config_address *address, unsigned port, char url[NET_URL_MAX])
{
    (void)snprintf(url, NET_URL_MAX, address->is_ipv6 ? "http://[%.*s]:%u" : "http://%.*s:%u",
                   STR_FMT(address->host), port);
}

static bool bind_and_listen(int fd, union net_address *at, socklen_t len)
{
    static const int on = 1;
    static const int off = 0;
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0)
        return false;
    /* [::] takes IPv4 clients, too. */
    if (at->any.sa_family == AF_INET6 &&
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off) != 0)
        return false;
    return bind(fd, &at->any, len) == 0 && listen(fd, BACKLOG) == 0 &&
           getsockname(fd, &at->any, &len) == 0;
}

enum err_code net_listen(const struct config_address *address, int *out, char url[NET_URL_MAX],
                         struct err *err)
{
    union net_address at;
    socklen_t len = 0;
    *out = -1;
    if (!fill(address, &at, &len))
        return err_set_param(err, ERR_INVALID, "listen", "listen: %.*s is no address",
                             STR_FMT(address->host));
    int fd = socket(at.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return report(address, err);
    if (!bind_and_listen(fd, &at, len)) {
        enum err_code code = report(address, err);
        (void)close(fd);
        return code;
    }
    print_url(address, ntohs(address->is_ipv6 ? at.v6.sin6_port : at.v4.sin_port), url);
    *out = fd;
    return ERR_OK;
}

void net_local_url(const struct config_address *address, char url[NET_URL_MAX])
{
    struct config_address local = *address;
    if (str_eq(address->host, STR("0.0.0.0")))
        local.host = STR("127.0.0.1");
    else if (str_eq(address->host, STR("::")))
        local.host = STR("::1");
    print_url(&local, address->port, url);
}

uint64_t net_raise_descriptors(uint64_t want)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return 1024;
    if (limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < want) {
        struct rlimit raised = limit;
        raised.rlim_cur =
            limit.rlim_max == RLIM_INFINITY || limit.rlim_max > want ? want : limit.rlim_max;
        if (setrlimit(RLIMIT_NOFILE, &raised) == 0)
            limit = raised;
    }
    return limit.rlim_cur == RLIM_INFINITY ? UINT64_MAX : limit.rlim_cur;
}
