/* One table of every way a call can fail: symbol, slug shown to clients, HTTP status, retryable.
 * DESIGN 10 fixes slugs and statuses; api/reply.c is the only reader of the last two columns. */
#ifndef HM_CORE_BASE_ERR_CODES_H
#define HM_CORE_BASE_ERR_CODES_H

#define ERR_CODE_TABLE(X)                                                                          \
    X(OK, "ok", 200, false)                                                                        \
    X(INVALID, "invalid_argument", 400, false)                                                     \
    X(UNAUTHENTICATED, "unauthenticated", 401, false)                                              \
    X(DENIED, "permission_denied", 403, false)                                                     \
    X(NOT_FOUND, "not_found", 404, false)                                                          \
    X(METHOD, "method_not_allowed", 405, false)                                                    \
    X(REQUEST_TIMEOUT, "request_timeout", 408, true)                                               \
    X(CONFLICT, "conflict", 409, false)                                                            \
    X(PRECONDITION, "failed_precondition", 412, false)                                             \
    X(TOO_LARGE, "payload_too_large", 413, false)                                                  \
    X(MEDIA_TYPE, "unsupported_media_type", 415, false)                                            \
    X(UNPROCESSABLE, "unprocessable", 422, false)                                                  \
    X(EXHAUSTED, "resource_exhausted", 429, true)                                                  \
    X(INTERNAL, "internal", 500, false)                                                            \
    X(UNIMPLEMENTED, "unimplemented", 501, false)                                                  \
    X(UPSTREAM, "upstream", 502, true)                                                             \
    X(UNAVAILABLE, "unavailable", 503, true)                                                       \
    X(DEADLINE, "deadline_exceeded", 504, true)                                                    \
    X(STORAGE_FULL, "storage_full", 507, true)

#endif
