#include "server/http_client.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>

struct http_client {
    CURL *curl;
    struct curl_slist *headers;
    char *url; /* without a slash at the end */
};

static bool add_header(struct http_client *client, const char *line)
{
    struct curl_slist *longer = curl_slist_append(client->headers, line);
    if (longer == NULL)
        return false;
    client->headers = longer;
    return true;
}

static bool prepare(struct http_client *client, struct str url, struct str key)
{
    enum { LINE_MAX_BYTES = 2048 };
    char line[LINE_MAX_BYTES];
    while (url.len != 0 && url.at[url.len - 1] == '/')
        url.len--;
    client->url = strndup(url.at, url.len);
    client->curl = curl_easy_init();
    if (client->url == NULL || client->curl == NULL)
        return false;
    (void)snprintf(line, sizeof line, "Authorization: Bearer %.*s", STR_FMT(key));
    return (key.len == 0 || add_header(client, line)) &&
           add_header(client, "Content-Type: application/json") && add_header(client, "Expect:");
}

enum err_code http_client_new(struct str url, struct str key, struct http_client **out,
                              struct err *err)
{
    *out = NULL;
    if (!str_starts(url, STR("http://")) && !str_starts(url, STR("https://")))
        return err_set(err, ERR_INVALID, "%.*s: want http://HOST:PORT", STR_FMT(url));
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return err_set(err, ERR_UNAVAILABLE, "libcurl does not start");
    struct http_client *client = calloc(1, sizeof *client);
    if (client == NULL) {
        curl_global_cleanup();
        return err_set(err, ERR_EXHAUSTED, "out of memory");
    }
    if (!prepare(client, url, key)) {
        http_client_free(client);
        return err_set(err, ERR_EXHAUSTED, "out of memory");
    }
    *out = client;
    return ERR_OK;
}

void http_client_free(struct http_client *client)
{
    if (client == NULL)
        return;
    curl_easy_cleanup(client->curl);
    curl_slist_free_all(client->headers);
    free(client->url);
    free(client);
    curl_global_cleanup();
}

static size_t on_data(char *data, size_t size, size_t count, void *arg)
{
    struct buf *reply = arg;
    buf_put(reply, data, size * count);
    return buf_ok(reply) ? size * count : 0;
}

static void set_request(CURL *curl, const struct http_client *client, const char *url,
                        const struct http_exchange *x)
{
    curl_easy_reset(curl);
    (void)curl_easy_setopt(curl, CURLOPT_URL, url);
    (void)curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, x->method);
    (void)curl_easy_setopt(curl, CURLOPT_HTTPHEADER, client->headers);
    (void)curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)x->timeout_ms);
    (void)curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(curl, CURLOPT_PROXY, "");
    (void)curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L);
    (void)curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_data);
    (void)curl_easy_setopt(curl, CURLOPT_WRITEDATA, x->reply);
    if (x->body.at != NULL) {
        (void)curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)x->body.len);
        (void)curl_easy_setopt(curl, CURLOPT_POSTFIELDS, x->body.at);
    }
}

enum err_code http_client_call(struct http_client *client, struct http_exchange *x, struct err *err)
{
    size_t url_bytes = strlen(client->url) + strlen(x->path) + 1;
    char *url = malloc(url_bytes);
    if (url == NULL)
        return err_set(err, ERR_EXHAUSTED, "out of memory");
    (void)snprintf(url, url_bytes, "%s%s", client->url, x->path);
    buf_clear(x->reply);
    set_request(client->curl, client, url, x);
    CURLcode rc = curl_easy_perform(client->curl);
    free(url);
    if (rc == CURLE_OPERATION_TIMEDOUT)
        return err_set(err, ERR_DEADLINE, "%s: no reply within %lld ms", client->url,
                       (long long)x->timeout_ms);
    if (rc != CURLE_OK)
        return err_set(err, ERR_UNAVAILABLE, "%s: %s", client->url, curl_easy_strerror(rc));
    long status = 0;
    curl_off_t retry_after = 0;
    (void)curl_easy_getinfo(client->curl, CURLINFO_RESPONSE_CODE, &status);
    (void)curl_easy_getinfo(client->curl, CURLINFO_RETRY_AFTER, &retry_after);
    x->status = (int)status;
    x->retry_after_s = retry_after > 0 && retry_after < 3600 ? (unsigned)retry_after : 0;
    return ERR_OK;
}

struct str http_client_escape(struct http_client *client, struct arena *arena, struct str text)
{
    if (text.len == 0)
        return str_copy(arena, STR("")); /* to libcurl 0 means: measure it */
    char *escaped = curl_easy_escape(client->curl, text.at, (int)text.len);
    if (escaped == NULL)
        return STR_NONE;
    struct str copy = str_copy(arena, str_of(escaped));
    curl_free(escaped);
    return copy;
}
