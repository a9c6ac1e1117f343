/* Keys on disk: offset 0 space id (8 bytes, big-endian), 8 kind (enum store_kind), 9 rest.
 *
 * LMDB compares keys as bytes, a prefix first: so a space, and a kind within it, is one contiguous
 * range. A key has at most KEY_MAX bytes (LMDB's compiled-in limit); every client-chosen part is
 * limited far below that at the edge, so a longer one is a bug. */
#ifndef HM_STORAGE_KEYS_H
#define HM_STORAGE_KEYS_H

#include <lmdb.h>

#include "core/store.h"

enum { KEY_PREFIX = 9, KEY_MAX = 511, KEY_REST_MAX = KEY_MAX - KEY_PREFIX };

struct key {
    size_t len;
    char at[KEY_MAX + 1];
};

/* `kind` may be one past a real kind: the end of that kind's range. */
void key_set(struct key *key, uint64_t space, unsigned kind, struct str rest);
void key_set_u32(struct key *key, uint64_t space, unsigned kind, uint32_t id);
void key_set_u64(struct key *key, uint64_t space, unsigned kind, uint64_t id);

static inline MDB_val key_val(struct key *key)
{
    return (MDB_val){key->len, key->at};
}
static inline struct str val_str(MDB_val val)
{
    return (struct str){val.mv_data != NULL ? val.mv_data : "", val.mv_size};
}
/* The same pointer, writable: for LMDB, which takes void * and never writes through it, and for the
 * bytes that a batch owns. */
static inline char *key_writable(const char *at)
{
    char *same;
    memcpy(&same, &at, sizeof same);
    return same;
}
static inline MDB_val str_val(struct str s)
{
    return (MDB_val){s.len, key_writable(s.at)};
}

/* True when `full` lies in the (space, kind) range that `prefix` (KEY_PREFIX bytes) names. */
static inline bool key_in_range(MDB_val full, const char *prefix)
{
    return full.mv_size >= KEY_PREFIX && memcmp(full.mv_data, prefix, KEY_PREFIX) == 0;
}
static inline struct str key_rest(MDB_val full)
{
    return (struct str){(const char *)full.mv_data + KEY_PREFIX, full.mv_size - KEY_PREFIX};
}
static inline uint64_t key_space(MDB_val full)
{
    return be64_get(full.mv_data);
}
static inline unsigned key_kind(MDB_val full)
{
    return ((const unsigned char *)full.mv_data)[8];
}

/* The kind's symbol ("TURN"), NULL when there is no such kind. */
const char *key_kind_name(unsigned kind);
/* True for the kinds of the system's own range. */
bool key_kind_is_system(unsigned kind);

#endif
