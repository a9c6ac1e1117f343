/* Stable hashes: what is written to disk may depend on them for ever (XXH3, stable since 0.8).
 * Not cryptographic: an attacker can make collisions, so nothing security-relevant rests on them.
 * */
#ifndef HM_CORE_BASE_HASH_H
#define HM_CORE_BASE_HASH_H

#include "core/base/str.h"

struct hash128 {
    uint64_t low, high;
};

uint64_t hash64(struct str bytes);
struct hash128 hash128(struct str bytes);
/* Order-dependent combination, for digests: hash of (state, bytes with their length). */
struct hash128 hash128_add(struct hash128 state, struct str bytes);

#endif
