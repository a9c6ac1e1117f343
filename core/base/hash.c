#include "core/base/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t hash64(struct str bytes)
{
    return XXH3_64bits(bytes.at, bytes.len);
}

struct hash128 hash128(struct str bytes)
{
    XXH128_hash_t h = XXH3_128bits(bytes.at, bytes.len);
    return (struct hash128){h.low64, h.high64};
}

struct hash128 hash128_add(struct hash128 state, struct str bytes)
{
    uint64_t parts[5] = {state.low, state.high, bytes.len, 0, 0};
    struct hash128 h = hash128(bytes);
    parts[3] = h.low;
    parts[4] = h.high;
    return hash128((struct str){(const char *)parts, sizeof parts});
}
