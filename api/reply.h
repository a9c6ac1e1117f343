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
/* A reply that goes out while it is made: on the loop's thread, with the first piece of it. From
 * then on its status is 200, whatever comes; call->stream() takes the pieces. False: memory. */
bool reply_stream_begin(struct api_call *call, const char *content_type);
/* The end of it, on a worker: a body for what is still to go out, then that it is all. */
struct buf *reply_stream_rest(struct api_call *call);
void reply_stream_end(struct api_call *call);
/* What a client made up may have been cut anywhere: the valid beginning. */
struct str reply_readable(const char *text);
/* The body is written. */
void reply_finish(struct api_call *call, int status);
/* The reply becomes this error. ERR_INTERNAL is logged here, the one place where it is handled. */
void reply_error(struct api_call *call, const struct err *err);

#endif
