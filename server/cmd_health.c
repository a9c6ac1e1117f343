/* health: is the daemon of this configuration ready? For a container's HEALTHCHECK. */
#include <stdio.h>

#include "server/cmd.h"
#include "server/http_client.h"
#include "server/net.h"

enum { TIMEOUT_MS = 3000, REPLY_BYTES = 64 << 10 };

static enum err_code ask(struct str url, struct buf *reply, struct err *err)
{
    struct http_client *client = NULL;
    struct http_exchange x = {
        .method = "GET", .path = "/health/ready", .timeout_ms = TIMEOUT_MS, .reply = reply};
    enum err_code code = http_client_new(url, STR(""), &client, err);
    if (code == ERR_OK)
        code = http_client_call(client, &x, err);
    if (code == ERR_OK && x.status != 200)
        code = err_set(err, ERR_UNAVAILABLE, "%.*s answers %d: %.*s", STR_FMT(url), x.status,
                       STR_FMT(str_part(buf_str(reply), 0, 160)));
    http_client_free(client);
    return code;
}

int cmd_health(const struct cmd_call *call)
{
    char local[NET_URL_MAX];
    struct err err = {.code = ERR_OK};
    struct buf reply;
    net_local_url(&call->config->server.listen, local);
    struct str url = cmd_option(call, "url");
    buf_init(&reply, NULL, REPLY_BYTES);
    enum err_code code = ask(url.at != NULL ? url : str_of(local), &reply, &err);
    int status = code == ERR_OK ? EXIT_FINE : cmd_fail("health", &err);
    if (code == ERR_OK)
        (void)printf("%.*s\n", STR_FMT(buf_str(&reply)));
    buf_fini(&reply);
    return status;
}
