#include "core/ingest/stage_map.h"

static struct stage_map_slot *slot_of(const struct stage_map *map, uint64_t key)
{
    uint32_t mask = map->cap - 1;
    uint32_t i = (uint32_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & mask;
    while (map->at[i].used && map->at[i].key != key)
        i = (i + 1) & mask;
    return &map->at[i];
}

uint32_t *stage_map_find(const struct stage_map *map, uint64_t key)
{
    if (map->n == 0)
        return NULL;
    struct stage_map_slot *slot = slot_of(map, key);
    return slot->used ? &slot->value : NULL;
}

static bool grow(struct stage_map *map, struct arena *arena)
{
    struct stage_map more = {.cap = map->cap == 0 ? 64 : map->cap * 2};
    more.at = ARENA_ARRAY(arena, struct stage_map_slot, more.cap);
    if (more.at == NULL)
        return false;
    for (uint32_t i = 0; i < map->cap; i++) {
        if (map->at[i].used)
            *slot_of(&more, map->at[i].key) = map->at[i];
    }
    more.n = map->n;
    *map = more;
    return true;
}

bool stage_map_set(struct stage_map *map, struct arena *arena, uint64_t key, uint32_t value)
{
    if (2 * (map->n + 1) > map->cap && !grow(map, arena))
        return false;
    struct stage_map_slot *slot = slot_of(map, key);
    map->n += !slot->used;
    *slot = (struct stage_map_slot){key, value, true};
    return true;
}
