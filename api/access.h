/* Who may call (DESIGN 10, Access). Pure functions of the headers, so that tests need no server.
 *
 * With a key: Authorization "Bearer KEY" or "Token KEY", or X-API-Key, compared in constant time.
 * Without: the daemon listens on loopback only, and since any web page can make a browser send
 * requests there, Host must be a loopback name or a configured one (no DNS rebinding), Origin must
 * be our own, and a body must have a type that a form cannot send. */
#ifndef HM_API_ACCESS_H
#define HM_API_ACCESS_H

#include "api/api.h"

/* ERR_UNAUTHENTICATED unless one of the headers carries the key. An empty key lets all pass. */
enum err_code access_check_key(struct str key, const struct api_request *request,
                               struct err *err) MUST_USE;
/* ERR_DENIED: Host (checked only without a key) or Origin is foreign. */
enum err_code access_check_origin(const struct api_options *options,
                                  const struct api_request *request, struct err *err) MUST_USE;
/* ERR_MEDIA_TYPE: not application/json (or, when `ndjson`, application/x-ndjson), a charset other
 * than UTF-8, or an encoded body. */
enum err_code access_check_type(const struct api_request *request, bool ndjson,
                                struct err *err) MUST_USE;
/* True when the body is NDJSON by its type. */
bool access_is_ndjson(const struct api_request *request);

#endif
