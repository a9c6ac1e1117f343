/* A list of LMDB writes in a file: what bench_bare records and replays.
 *
 *   head    magic "hmops 1\n", LE64 number of calls, LE64 number of operations
 *   a call  LE32 connection, LE32 operations, then each operation:
 *           u8 type ('p' put by cursor, 'P' put, 'd' delete), u8 0, LE16 key bytes, LE32 value
 *           bytes, LE32 flags, key, value
 *
 * Calls of one connection stand in the order in which it makes them. */
#ifndef HM_TESTS_BENCH_OPLIST_H
#define HM_TESTS_BENCH_OPLIST_H

#include "core/base/buf.h"

enum { OPLIST_PUT_CURSOR = 'p', OPLIST_PUT = 'P', OPLIST_DEL = 'd' };

struct oplist_op {
    uint8_t type;
    uint32_t flags;
    struct str key, value;
};

/* A call's operations, to be walked by oplist_next(). */
struct oplist_call {
    uint32_t n;
    struct unpack ops;
    size_t bytes; /* of keys and values */
};

/* What is read back, mapped; calls by connection. */
struct oplist {
    void *map;
    size_t map_size;
    uint64_t calls, ops, bytes;
    uint32_t connections;
    struct oplist_call *call; /* connection by connection */
    uint64_t *first;          /* of connection c; [connections] is the end */
};

void oplist_put_op(struct buf *out, const struct oplist_op *op);
bool oplist_next(struct unpack *ops, struct oplist_op *op);
/* False when the file can't be read or is damaged. */
bool oplist_open(const char *path, struct oplist *list);
void oplist_close(struct oplist *list);

#define OPLIST_MAGIC "hmops 1\n"

#endif
