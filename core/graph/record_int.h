/* What the record codecs share: head (LE64 seq, u8 format), signed integers, the end check.
 *
 * Decoding is total: any bytes give ERR_INTERNAL or a valid struct. Values that are used as an
 * index or as a bound later (enumerations, counts, dates) are checked here, once. */
#ifndef HM_CORE_GRAPH_RECORD_INT_H
#define HM_CORE_GRAPH_RECORD_INT_H

#include "core/base/buf.h"

enum { RECORD_FORMAT = 1 };

static inline void record_head(struct buf *out, uint64_t seq)
{
    buf_u64(out, seq);
    buf_u8(out, RECORD_FORMAT);
}

static inline void record_format(struct unpack *u)
{
    if (unpack_u8(u) != RECORD_FORMAT)
        u->bad = true;
}

static inline uint64_t record_open(struct unpack *u)
{
    uint64_t seq = unpack_u64(u);
    record_format(u);
    return seq;
}

static inline uint32_t unpack_varint32(struct unpack *u)
{
    uint64_t v = unpack_varint(u);
    if (v > UINT32_MAX) {
        u->bad = true;
        return 0;
    }
    return (uint32_t)v;
}

/* A count of things that take at least `least` bytes each, so that a damaged count cannot ask for
 * more memory than its record justifies. */
static inline uint32_t unpack_count(struct unpack *u, size_t least)
{
    uint32_t n = unpack_varint32(u);
    if (u->bad || n > (size_t)(u->end - u->at) / least) {
        u->bad = true;
        return 0;
    }
    return n;
}

static inline enum err_code record_damaged(const char *what, uint32_t id, struct err *err)
{
    return err_set(err, ERR_INTERNAL, "the record of %s %u is damaged", what, id);
}

static inline enum err_code record_memory(struct err *err)
{
    return err_set(err, ERR_EXHAUSTED, "out of memory while reading a record");
}

#endif
