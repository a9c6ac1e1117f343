/* The head of a request: from MHD's fields to struct api_request, and every shape refused that two
 * readers of the same bytes could take differently (http.h, Strictness). */
#include <stddef.h>
#include <strings.h>

#include "server/http_int.h"

/* What is known of the fields while MHD walks over them. */
struct walk {
    struct http_request *r;
    struct http_head *head;
    const char *expected; /* where the next field must begin: nothing may hide in between */
    unsigned hosts, lengths, encodings;
    const char *bad; /* why the head is refused; NULL: it is fine so far */
};

static const struct {
    const char *name;
    size_t offset;
    bool once;
} fields[] = {
    {"Authorization", offsetof(struct api_request, authorization), true},
    {"X-API-Key", offsetof(struct api_request, api_key_header), true},
    {"Content-Type", offsetof(struct api_request, content_type), true},
    {"Content-Encoding", offsetof(struct api_request, content_encoding), true},
    {"Host", offsetof(struct api_request, host), true},
    {"Origin", offsetof(struct api_request, origin), true},
    {"Idempotency-Key", offsetof(struct api_request, idempotency_key), true},
    {"X-Request-ID", offsetof(struct api_request, request_id), false},
    {"Accept", offsetof(struct api_request, accept), false},
};

static bool is_field_name(struct str name)
{
    static const char marks[] = "!#$%&'*+-.^_`|~";
    for (size_t i = 0; i < name.len; i++) {
        char c = name.at[i];
        bool alnum = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
        if (!alnum && (c == '\0' || strchr(marks, c) == NULL))
            return false;
    }
    return name.len != 0;
}

static bool is_field_value(struct str value)
{
    for (size_t i = 0; i < value.len; i++) {
        unsigned char c = (unsigned char)value.at[i];
        if ((c < 0x20 && c != '\t') || c == 0x7f)
            return false;
    }
    return true;
}

static bool is_named(struct str name, const char *known)
{
    return name.len == strlen(known) && strncasecmp(name.at, known, name.len) == 0;
}

static void take_known(struct walk *walk, struct str name, struct str value)
{
    struct api_request *request = &walk->r->call->request;
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        if (!is_named(name, fields[i].name))
            continue;
        struct str *slot = (struct str *)(void *)((char *)request + fields[i].offset);
        if (slot->at != NULL && fields[i].once)
            walk->bad = "a header that may stand once stands twice";
        else if (slot->at == NULL)
            *slot = str_copy(walk->r->call->arena, str_trim(value));
    }
}

static void take_framing(struct walk *walk, struct str name, struct str value)
{
    if (is_named(name, "Host")) {
        walk->hosts++;
    } else if (is_named(name, "Content-Length")) {
        walk->lengths++;
        if (!str_u64(value, UINT64_MAX, &walk->head->content_length))
            walk->bad = "Content-Length is not a number";
    } else if (is_named(name, "Transfer-Encoding")) {
        walk->encodings++;
        walk->head->chunked = true;
        if (!is_named(value, "chunked"))
            walk->bad = "the only Transfer-Encoding is chunked";
    } else if (is_named(name, "Expect")) {
        walk->head->expects_continue = is_named(value, "100-continue");
    }
}

/* A line ends in CR LF, both of which MHD has made NUL. A NUL of the client's own would hide the
 * rest of its line; then the next field does not begin right behind this one. */
static bool ends_well(struct str value)
{
    return value.at[value.len] == '\0' && value.at[value.len + 1] == '\0';
}

static enum MHD_Result on_field(void *cls, enum MHD_ValueKind kind, const char *key,
                                size_t key_size, const char *value, size_t value_size)
{
    (void)kind;
    struct walk *walk = cls;
    struct str name = {key, key_size};
    struct str text = {value != NULL ? value : "", value_size};
    if (key != walk->expected || value == NULL || !ends_well(text)) {
        walk->bad = "a header line that is folded, has a NUL, or does not end in CR LF";
        return MHD_NO;
    }
    walk->expected = value + value_size + 2;
    if (!is_field_name(name) || !is_field_value(text)) {
        walk->bad = "a header with bytes that may not stand there";
        return MHD_NO;
    }
    take_framing(walk, name, text);
    take_known(walk, name, text);
    return walk->bad == NULL ? MHD_YES : MHD_NO;
}

/* The empty line must follow the last field. */
static bool is_at_end(const struct walk *walk, const char *method)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(walk->r->mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    return info != NULL && walk->expected + 2 == method + info->header_size;
}

static void read_fields(struct walk *walk, const char *method, const char *version)
{
    bool is_1_1 = strcmp(version, "HTTP/1.0") != 0;
    walk->expected = version + strlen(version) + 2;
    (void)MHD_get_connection_values_n(walk->r->mhd, MHD_HEADER_KIND, on_field, walk);
    if (walk->bad != NULL)
        return;
    if (!is_at_end(walk, method))
        walk->bad = "a header line that is folded, has a NUL, or does not end in CR LF";
    else if (walk->hosts > 1 || (is_1_1 && walk->hosts == 0))
        walk->bad = "want one Host header";
    else if (walk->lengths > 1)
        walk->bad = "Content-Length stands twice";
    else if (walk->encodings > 1 || (walk->encodings == 1 && !is_1_1))
        walk->bad = "Transfer-Encoding stands twice, or in HTTP/1.0";
    else if (walk->encodings == 1 && walk->lengths == 1)
        walk->bad = "Content-Length and Transfer-Encoding exclude each other";
}

/* Takes scheme and host off an absolute target, which must be the one in Host. */
static const char *take_absolute(struct str *target, struct str host)
{
    size_t scheme = 0;
    if (strncasecmp(target->at, "http://", 7) == 0)
        scheme = 7;
    else if (strncasecmp(target->at, "https://", 8) == 0)
        scheme = 8;
    if (scheme == 0)
        return "the target is neither a path nor a URL";
    struct str rest = str_part(*target, scheme, target->len);
    size_t slash = str_index(rest, '/');
    size_t mark = str_index(rest, '?');
    size_t end = slash < mark ? slash : mark;
    if (end != host.len || strncasecmp(rest.at, host.at, end) != 0)
        return "the target's host is not that of the Host header";
    *target = str_part(rest, end, rest.len);
    return NULL;
}

static const char *read_target(struct http_request *r, const char *method, const char *version)
{
    struct str target = r->target;
    /* The version stands right behind the target's end, unless a NUL has ended it before. */
    if (version != r->target_end + 1)
        return "the request line is not METHOD TARGET HTTP/1.1";
    for (size_t i = 0; i < target.len; i++) {
        unsigned char c = (unsigned char)target.at[i];
        if (c <= 0x20 || c >= 0x7f || c == '#')
            return "the target has bytes that may not stand there";
    }
    struct api_request *request = &r->call->request;
    bool is_star = str_eq(target, STR("*")) && strcmp(method, "OPTIONS") == 0;
    if (target.len == 0)
        return "the target is empty";
    if (target.at[0] != '/' && !is_star) {
        const char *bad = take_absolute(&target, request->host);
        if (bad != NULL)
            return bad;
    }
    size_t mark = str_index(target, '?');
    struct str path = mark == 0 ? STR("/") : str_part(target, 0, mark);
    request->path = str_copy(r->call->arena, path);
    request->query = str_copy(r->call->arena, str_part(target, mark + 1, target.len));
    return NULL;
}

static bool is_known_method(const char *method)
{
    static const char *const known[] = {"GET",    "HEAD",    "POST",  "PUT",    "PATCH",
                                        "DELETE", "OPTIONS", "TRACE", "CONNECT"};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(method, known[i]) == 0)
            return true;
    }
    return false;
}

bool http__read_head(struct http_request *r, const char *method, const char *version,
                     struct http_head *head)
{
    struct api_call *call = r->call;
    struct walk walk = {.r = r, .head = head};
    call->request.method = str_copy(call->arena, str_of(method));
    read_fields(&walk, method, version);
    const char *bad = walk.bad != NULL ? walk.bad : read_target(r, method, version);
    call->request.has_body = head->chunked || head->content_length != 0;
    bool is_unknown = bad == NULL && !is_known_method(method);
    api_admit(call);
    if (bad != NULL)
        api_refuse(call, ERR_INVALID, NULL, "%s", bad);
    else if (is_unknown)
        api_refuse(call, ERR_UNIMPLEMENTED, NULL, "there is no such method");
    return bad == NULL && !is_unknown;
}
