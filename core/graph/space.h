/* A space's settings: the META record (DESIGN 10, PUT /v1/spaces/{s}).
 *
 * On disk: LE64 seq, u8 format, then length-prefixed strings. */
#ifndef HM_CORE_GRAPH_SPACE_H
#define HM_CORE_GRAPH_SPACE_H

#include "core/store.h"

struct space {
    uint64_t seq; /* the batch that wrote this record */
    int64_t created_ms;
    struct str timezone; /* "UTC", "+02:00" or an IANA name (core/base/tz.h) */
    struct str language; /* core/text/token.h; fixed once turns exist */
    uint16_t tokenizer;  /* TOKENIZER_VERSION that indexed it */
};

/* Timezone UTC, language en. */
struct space space_default(int64_t created_ms);
/* True for 1–128 bytes of A–Z a–z 0–9 . _ ~ @ : - that are not "." or "..". */
bool space_name_is_valid(struct str name);
void space_encode(const struct space *space, struct buf *out);
/* Strings borrow from `value`. ERR_INTERNAL when damaged. */
enum err_code space_decode(struct str value, struct space *space, struct err *err) MUST_USE;
/* Reads the record of a live space. ERR_NOT_FOUND when gone. */
enum err_code space_get(struct store_txn *txn, uint64_t id, struct space *space,
                        struct err *err) MUST_USE;

#endif
