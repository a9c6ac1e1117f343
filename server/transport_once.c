#include "server/transport_once.h"

#include <ctype.h>
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <time.h>

#include "core/model/url.h"

struct transport_once {
    struct transport port;
    CURL *curl;
};

/* One exchange on its way. */
struct once {
    CURL *curl;
    struct exchange *x;
    struct curl_slist *headers;
    bool refused; /* data() said no */
};

static int64_t now_ms(void)
{
    struct timespec ts;
    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static bool add_line(struct once *o, const char *line)
{
    struct curl_slist *longer = curl_slist_append(o->headers, line);
    if (longer != NULL)
        o->headers = longer;
    return longer != NULL;
}

static bool add_headers(struct once *o)
{
    const struct exchange *x = o->x;
    bool fine = add_line(o, "Expect:");
    if (fine && x->body.at != NULL)
        fine = add_line(o, "Content-Type: application/json");
    for (uint32_t i = 0; fine && i < x->n_headers; i++) {
        const struct exchange_header *h = &x->headers[i];
        /* libcurl sends a header without a value only when it ends in a semicolon. */
        struct str line = str_printf(x->arena, h->value.len != 0 ? "%.*s: %.*s" : "%.*s;%.*s",
                                     STR_FMT(h->name), STR_FMT(h->value));
        fine = line.at != NULL && add_line(o, line.at);
    }
    return fine;
}

static size_t on_body(char *bytes, size_t size, size_t count, void *arg)
{
    struct once *o = arg;
    struct exchange *x = o->x;
    size_t len = size * count;
    long status = 0;
    (void)curl_easy_getinfo(o->curl, CURLINFO_RESPONSE_CODE, &status);
    if (x->data != NULL && status >= 200 && status <= 299) {
        o->refused = !x->data(x, (struct str){bytes, len});
        return o->refused ? 0 : len;
    }
    buf_put(&x->reply, bytes, len);
    return buf_ok(&x->reply) ? len : 0;
}

/* retry-after-ms; Retry-After is libcurl's to read. */
static size_t on_header(char *bytes, size_t size, size_t count, void *arg)
{
    struct once *o = arg;
    struct str line = {bytes, size * count};
    size_t colon = str_index(line, ':');
    uint64_t ms = 0;
    if (colon == 14 && strncasecmp(bytes, "retry-after-ms", 14) == 0 &&
        str_u64(str_trim(str_part(line, colon + 1, line.len)), INT32_MAX, &ms))
        o->x->retry_after_ms = (int64_t)ms;
    return line.len;
}

static bool is_loopback(const char *text)
{
    struct url url;
    return url_parse(str_of(text), &url, NULL) && url_is_loopback(url.host);
}

static void set_limits(CURL *curl, const struct exchange *x)
{
    (void)curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)x->connect_ms);
    (void)curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)x->total_ms);
    if (x->idle_ms != 0) {
        (void)curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
        (void)curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, (long)((x->idle_ms + 999) / 1000));
    }
}

static void set_request(struct once *o)
{
    CURL *curl = o->curl;
    const struct exchange *x = o->x;
    curl_easy_reset(curl);
    (void)curl_easy_setopt(curl, CURLOPT_URL, x->url);
    (void)curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, x->method);
    (void)curl_easy_setopt(curl, CURLOPT_HTTPHEADER, o->headers);
    (void)curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
    (void)curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L);
    (void)curl_easy_setopt(curl, CURLOPT_USERAGENT, "hypermemd");
    (void)curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
    (void)curl_easy_setopt(curl, CURLOPT_WRITEDATA, o);
    (void)curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
    (void)curl_easy_setopt(curl, CURLOPT_HEADERDATA, o);
    if (is_loopback(x->url))
        (void)curl_easy_setopt(curl, CURLOPT_PROXY, "");
    if (x->body.at != NULL) {
        (void)curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)x->body.len);
        (void)curl_easy_setopt(curl, CURLOPT_POSTFIELDS, x->body.at);
    }
    set_limits(curl, x);
}

static void read_type(CURL *curl, struct exchange *x)
{
    char *type = NULL;
    (void)curl_easy_getinfo(curl, CURLINFO_CONTENT_TYPE, &type);
    struct str text = str_of(type);
    text = str_trim(str_part(text, 0, str_index(text, ';')));
    size_t n = text.len < sizeof x->content_type - 1 ? text.len : sizeof x->content_type - 1;
    for (size_t i = 0; i < n; i++)
        x->content_type[i] = (char)tolower((unsigned char)text.at[i]);
    x->content_type[n] = '\0';
}

static void read_result(struct once *o, CURLcode rc)
{
    struct exchange *x = o->x;
    struct url url = {.host = STR("")};
    long status = 0;
    curl_off_t after = 0;
    (void)url_parse(str_of(x->url), &url, NULL);
    (void)curl_easy_getinfo(o->curl, CURLINFO_RESPONSE_CODE, &status);
    (void)curl_easy_getinfo(o->curl, CURLINFO_RETRY_AFTER, &after);
    x->status = (int)status;
    if (after > 0 && x->retry_after_ms < 0)
        x->retry_after_ms = (int64_t)after * 1000;
    read_type(o->curl, x);
    if (o->refused)
        x->code = err_set(&x->err, ERR_UNAVAILABLE, "stopped by who listens");
    else if (!buf_ok(&x->reply))
        x->code =
            err_set(&x->err, ERR_TOO_LARGE, "%.*s: the reply is too large", STR_FMT(url.host));
    else if (rc == CURLE_OPERATION_TIMEDOUT)
        x->code = err_set(&x->err, ERR_DEADLINE, "%.*s: no reply within %lld ms", STR_FMT(url.host),
                          (long long)x->took_ms);
    else if (rc != CURLE_OK)
        x->code = err_set(&x->err, ERR_UNAVAILABLE, "%.*s: %s", STR_FMT(url.host),
                          curl_easy_strerror(rc));
    else
        x->code = ERR_OK;
}

static void start(struct transport *port, struct exchange *x)
{
    struct transport_once *once =
        (struct transport_once *)((char *)port - offsetof(struct transport_once, port));
    struct once o = {.curl = once->curl, .x = x};
    int64_t since = now_ms();
    x->status = 0;
    x->retry_after_ms = -1;
    x->cancelled = false;
    buf_init(&x->reply, x->arena, x->reply_max);
    if (add_headers(&o)) {
        set_request(&o);
        CURLcode rc = curl_easy_perform(o.curl);
        x->took_ms = now_ms() - since;
        x->sent = rc != CURLE_COULDNT_CONNECT && rc != CURLE_COULDNT_RESOLVE_HOST;
        read_result(&o, rc);
    } else {
        x->code = err_set(&x->err, ERR_EXHAUSTED, "out of memory");
    }
    curl_slist_free_all(o.headers);
    x->done(x);
}

static void cancel(struct transport *port, struct exchange *x)
{
    (void)port;
    (void)x;
}

enum err_code transport_once_new(struct transport_once **out, struct err *err)
{
    *out = NULL;
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return err_set(err, ERR_UNAVAILABLE, "libcurl does not start");
    struct transport_once *once = calloc(1, sizeof *once);
    if (once != NULL)
        once->curl = curl_easy_init();
    if (once == NULL || once->curl == NULL) {
        free(once);
        curl_global_cleanup();
        return err_set(err, ERR_EXHAUSTED, "out of memory");
    }
    once->port = (struct transport){start, cancel};
    *out = once;
    return ERR_OK;
}

void transport_once_free(struct transport_once *once)
{
    if (once == NULL)
        return;
    curl_easy_cleanup(once->curl);
    free(once);
    curl_global_cleanup();
}

struct transport *transport_once_port(struct transport_once *once)
{
    return &once->port;
}
