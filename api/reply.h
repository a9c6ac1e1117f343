/* The one writer of replies and errors (DESIGN 10).
 *
 *   {"error":{"code":"not_found","message":"…","param":"…"|null,"retryable":false},
 *    "detail":"…","request_id":"…"}
 *
 * Every reply carries X-Request-ID; 401 WWW-Authenticate, 405 Allow, 429 and 503 Retry-After. A
 * body is written through json_out into call->reply.body; when that buffer has failed at the end
 * the reply becomes an error, never half a body. */
#ifndef HM_API_REPLY_H
#define HM_API_REPLY_H

#include "api/api.h"
#include "api/json_out.h"

enum { REPLY_BYTES_MAX = 64 << 20 };

/* Starts a JSON body: what was written before is dropped. */
struct json_out reply_json(struct api_call *call);
/* Starts a body of another type. */
struct buf *reply_text(struct api_call *call, const char *content_type);
/* `name` is a literal; `value` lives in the call's arena. Too many headers is a bug. */
void reply_header(struct api_call *call, const char *name, struct str value);
/* The body is written. */
void reply_finish(struct api_call *call, int status);
/* The reply becomes this error. ERR_INTERNAL is logged here, the one place where it is handled. */
void reply_error(struct api_call *call, const struct err *err);

#endif
