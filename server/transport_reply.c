/* What comes back: heads, bodies, and libcurl's codes as ours. */
#include <stdio.h>
#include <strings.h>

#include "server/transport_int.h"

/* Longer advice is cut, so that adding it to a clock can't overflow. */
#define RETRY_AFTER_MAX_MS (7 * 24 * 3600 * INT64_C(1000))

/* --- heads --- */

static bool is_named(struct str name, const char *want)
{
    return name.at != NULL && name.len == strlen(want) && strncasecmp(name.at, want, name.len) == 0;
}

static int64_t capped(double ms)
{
    return ms < (double)RETRY_AFTER_MAX_MS ? (int64_t)(ms + 0.5) : RETRY_AFTER_MAX_MS;
}

/* Numbers come before dates: libcurl takes eight digits for a date. */
static int64_t retry_after_ms(struct str value, int64_t wall_ms)
{
    enum { DATE_MAX = 64 };
    double seconds;
    char date[DATE_MAX];
    if (str_double(value, &seconds))
        return seconds >= 0 ? capped(seconds * 1000) : -1;
    if (value.len >= sizeof date)
        return -1;
    memcpy(date, value.at, value.len);
    date[value.len] = '\0';
    time_t at = curl_getdate(date, NULL);
    if (at == (time_t)-1)
        return -1;
    int64_t wait_ms = (int64_t)at * 1000 - wall_ms;
    return wait_ms > 0 ? capped((double)wait_ms) : 0;
}

static void read_content_type(struct exchange *x, struct str value)
{
    value = str_trim(str_part(value, 0, str_index(value, ';')));
    size_t n = value.len < sizeof x->content_type ? value.len : sizeof x->content_type - 1;
    for (size_t i = 0; i < n; i++) {
        char c = value.at[i];
        x->content_type[i] = (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    }
    x->content_type[n] = '\0';
}

void transport__read_head(struct flight *flight, struct str line, int64_t wall_ms)
{
    struct exchange *x = flight->exchange;
    double ms;
    if (str_starts(line, STR("HTTP/"))) { /* also of a 100 Continue, whose head is not the last */
        x->content_type[0] = '\0';
        x->retry_after_ms = -1;
        flight->exact_retry = false;
        return;
    }
    size_t colon = str_index(line, ':');
    struct str name = str_part(line, 0, colon);
    struct str value = str_trim(str_part(line, colon + 1, line.len));
    if (is_named(name, "content-type")) {
        read_content_type(x, value);
    } else if (is_named(name, "retry-after-ms") && str_double(value, &ms) && ms >= 0) {
        x->retry_after_ms = capped(ms);
        flight->exact_retry = true;
    } else if (is_named(name, "retry-after") && !flight->exact_retry) {
        x->retry_after_ms = retry_after_ms(value, wall_ms);
    }
}

/* --- bodies --- */

static void read_status(struct flight *flight)
{
    long status = 0;
    (void)curl_easy_getinfo(flight->easy, CURLINFO_RESPONSE_CODE, &status);
    flight->exchange->status = (int)status;
}

static bool too_large(struct flight *flight)
{
    struct exchange *x = flight->exchange;
    x->code = err_set(&x->err, ERR_TOO_LARGE, "%s: the reply is longer than %zu bytes",
                      flight->host.peer, x->reply_max);
    return false;
}

static bool collect(struct flight *flight, struct str piece)
{
    struct exchange *x = flight->exchange;
    buf_str_put(&x->reply, piece);
    if (!buf_ok(&x->reply))
        x->code = err_set(&x->err, ERR_TOO_LARGE, "%s: no memory for a reply of %zu bytes and more",
                          flight->host.peer, flight->received);
    return buf_ok(&x->reply);
}

static bool hand_on(struct flight *flight, struct str piece)
{
    struct exchange *x = flight->exchange;
    bool wanted = x->data(x, piece);
    if (!wanted)
        x->code = err_set(&x->err, ERR_UNAVAILABLE, "%s: nobody listens to the reply any more",
                          flight->host.peer);
    return wanted;
}

bool transport__read_body(struct flight *flight, struct str piece)
{
    struct exchange *x = flight->exchange;
    if (x->code != ERR_OK)
        return false;
    if (flight->received == 0)
        read_status(flight);
    if (piece.len > x->reply_max - flight->received)
        return too_large(flight);
    flight->received += piece.len;
    bool is_streamed = x->data != NULL && x->status / 100 == 2;
    return is_streamed ? hand_on(flight, piece) : collect(flight, piece);
}

/* --- the end --- */

/* How libcurl's codes are told. Codes without a row are ERR_UNAVAILABLE in libcurl's general words:
 * those that it has for one case alone may quote what was sent or came. */
static const struct row {
    CURLcode rc;
    enum err_code code;
    bool has_cause; /* libcurl's words for this one case are better, and hold no secret */
} rows[] = {
    {CURLE_OPERATION_TIMEDOUT, ERR_DEADLINE, true},
    {CURLE_FILESIZE_EXCEEDED, ERR_TOO_LARGE, false},
    {CURLE_COULDNT_RESOLVE_PROXY, ERR_UNAVAILABLE, true},
    {CURLE_COULDNT_RESOLVE_HOST, ERR_UNAVAILABLE, true},
    {CURLE_COULDNT_CONNECT, ERR_UNAVAILABLE, true},
    {CURLE_PROXY, ERR_UNAVAILABLE, true},
    {CURLE_SSL_CONNECT_ERROR, ERR_UNAVAILABLE, true},
    {CURLE_PEER_FAILED_VERIFICATION, ERR_UNAVAILABLE, true},
    {CURLE_SSL_CACERT_BADFILE, ERR_UNAVAILABLE, true},
    {CURLE_SEND_ERROR, ERR_UNAVAILABLE, true},
    {CURLE_RECV_ERROR, ERR_UNAVAILABLE, true},
    {CURLE_GOT_NOTHING, ERR_UNAVAILABLE, true},
    {CURLE_PARTIAL_FILE, ERR_UNAVAILABLE, true},
};

static struct row row_of(CURLcode rc)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].rc == rc)
            return rows[i];
    }
    return (struct row){rc, ERR_UNAVAILABLE, false};
}

static void settle_failed(struct flight *flight, CURLcode rc)
{
    struct exchange *x = flight->exchange;
    struct row row = row_of(rc);
    const char *cause =
        row.has_cause && flight->cause[0] != '\0' ? flight->cause : curl_easy_strerror(rc);
    long os_error = 0;
    (void)curl_easy_getinfo(flight->easy, CURLINFO_OS_ERRNO, &os_error);
    if (rc == CURLE_COULDNT_CONNECT && os_error != 0)
        cause = uv_strerror(uv_translate_sys_error((int)os_error));
    x->code = err_set(&x->err, row.code, "%s: %s", flight->host.peer, cause);
}

void transport__settle(struct flight *flight, CURLcode rc)
{
    struct exchange *x = flight->exchange;
    if (x->code != ERR_OK) /* it was ended from our side */
        return;
    read_status(flight);
    if (rc == CURLE_FILESIZE_EXCEEDED)
        (void)too_large(flight);
    else if (rc == CURLE_OPERATION_TIMEDOUT && !flight->connected)
        transport__settle_late(flight, "no connection", x->connect_ms);
    else if (rc != CURLE_OK)
        settle_failed(flight, rc);
}

void transport__settle_late(struct flight *flight, const char *what, int64_t limit_ms)
{
    struct exchange *x = flight->exchange;
    if (x->code == ERR_OK)
        x->code = err_set(&x->err, ERR_DEADLINE, "%s: %s within %lld ms", flight->host.peer, what,
                          (long long)limit_ms);
}
