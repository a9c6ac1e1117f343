/* A small map from 64-bit keys to 32-bit numbers: open addressing in an arena, no deletion. */
#ifndef HM_CORE_INGEST_STAGE_MAP_H
#define HM_CORE_INGEST_STAGE_MAP_H

#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/err.h"

struct stage_map_slot {
    uint64_t key;
    uint32_t value;
    bool used;
};

/* All zero: empty. */
struct stage_map {
    struct stage_map_slot *at;
    uint32_t n, cap;
};

/* NULL when the key is not there. */
uint32_t *stage_map_find(const struct stage_map *map, uint64_t key);
/* Sets key = value. False when memory is short. */
bool stage_map_set(struct stage_map *map, struct arena *arena, uint64_t key, uint32_t value);

#endif
