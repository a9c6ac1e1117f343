/* Idempotency-Key on POST (DESIGN 10): the same key and body again gives the same reply, whatever
 * happened to the first one.
 *
 * What is kept is one row in the space's range, written in the batch that has the effect. So there
 * is no moment at which the effect is durable and the key is not: a client that saw no reply, even
 * because of a crash, asks again and gets the receipt of the first call. The row holds no text,
 * only what a reply is rendered from:
 *
 *   key    hash128 of (key holder, route, key), 16 bytes
 *   value  u8 format, 16 bytes hash128 of the body, LE64 length of the body,
 *          LE64 seq of the batch (fixed by the writer), the route's payload
 *
 * It goes after JOB_KEEP_MS through an EXPIRY row. Until then a row counts, even past its time:
 * replacing one whose expiry is due would let that expiry delete the new row.
 *
 * 409 while running: a small set in memory owned by struct api, keyed like the row plus the space's
 * name. A second process can't share the directory, so memory is enough.
 *
 *   idempotency_enter() -> [snapshot] idempotency_find(): replay, 422, or go on
 *                       -> [batch] idempotency_put() -> commit -> reply -> idempotency_leave()
 *
 * Refusals (4xx) keep nothing: they had no effect, and the corrected call may use the key again.
 * Only routes flagged ROUTE_IDEMPOTENT take part; the header is ignored on the others. */
#ifndef HM_API_IDEMPOTENCY_H
#define HM_API_IDEMPOTENCY_H

#include <pthread.h>

#include "api/api.h"
#include "core/base/hash.h"
#include "core/batch.h"

struct idempotency {
    bool wanted;  /* the call has a key */
    bool running; /* it is in the set */
    struct hash128 row;
    struct hash128 place; /* in the set */
    struct hash128 body;
};

/* The set of keys whose calls run now. */
struct idempotency_set {
    pthread_mutex_t mutex;
    struct hash128 *at;
    size_t n, cap;
};

enum { IDEMPOTENCY_SEQ_AT = 25, IDEMPOTENCY_PAYLOAD_AT = 33 };

void idempotency_set_init(struct idempotency_set *set);
void idempotency_set_fini(struct idempotency_set *set);

/* Reads the header and enters the set. ERR_INVALID: no such key can be; ERR_CONFLICT: it runs. */
enum err_code idempotency_enter(struct api_call *call, struct err *err) MUST_USE;
/* Leaves the set; twice is fine. */
void idempotency_leave(struct api_call *call);

/* What the first call left: *payload.at NULL when there is no row (or no key). ERR_UNPROCESSABLE:
 * the key was used with another body. `payload` borrows from the snapshot. */
enum err_code idempotency_find(const struct api_call *call, struct store_txn *txn, uint64_t space,
                               uint64_t *seq, struct str *payload, struct err *err) MUST_USE;
/* Adds the row to the batch that has the effect (or to a maintenance batch when there was none:
 * then `seq` is kept as it is). Returns the operation, for batch_fix() into the payload. */
uint32_t idempotency_put(const struct api_call *call, struct batch *batch, uint64_t seq,
                         struct str payload, int64_t now_ms);

#endif
