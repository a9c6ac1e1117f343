/* URLs of providers: taken apart, judged, and joined.
 *
 * A base URL is joined with a path segment by segment and never rewritten: what stands in its own
 * path stays (Azure's deployments, gateways), and its query stays at the end (api-version). People
 * also paste the address of the call itself; where the base ends in the words of the call, they are
 * not put there twice.
 *
 *   https://host/v1            + chat/completions -> https://host/v1/chat/completions
 *   https://host/a/v1/?k=1     + embeddings       -> https://host/a/v1/embeddings?k=1
 *   http://host                + v1 + rerank      -> http://host/v1/rerank
 *   http://host/v1/embeddings  + embeddings       -> http://host/v1/embeddings
 *
 * Refused: other schemes, a user or password (a key belongs into api_key, where it is masked), a
 * fragment, white space, control characters, backslashes. All parts borrow. */
#ifndef HM_CORE_MODEL_URL_H
#define HM_CORE_MODEL_URL_H

#include "core/base/buf.h"

struct url {
    struct str origin; /* scheme://host:port, as given */
    struct str host;   /* without brackets and port */
    struct str port;   /* digits; empty: the scheme's own */
    struct str path;   /* with its leading slash; empty when there is none */
    struct str query;  /* with its leading "?", or empty */
    bool is_https;
};

/* False: not a URL that a provider may have; `why` (may be NULL) says what is wrong. */
bool url_parse(struct str text, struct url *url, const char **why);

/* localhost, *.localhost, 127.0.0.0/8, ::1 and its IPv4 forms. */
bool url_is_loopback(struct str host);
/* True when a segment of the path names a version: v1, v2, v1beta. */
bool url_has_version(const struct url *url);
/* Same scheme, host (case ignored) and port, where a missing one is the scheme's. */
bool url_same_origin(const struct url *a, const struct url *b);
/* Base, `before` (may be empty), `path`; both without slashes at their ends. */
void url_join(const struct url *base, struct str before, struct str path, struct buf *out);

#endif
