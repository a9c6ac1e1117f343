#include "core/model/embed_cache.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"

struct entry {
    struct entry *chain;         /* of its slot */
    struct entry *newer, *older; /* NULL at the ends */
    uint64_t hash;
    uint64_t identity;
    uint32_t dimension;
    uint32_t text_len;
    size_t bytes;   /* of all of it */
    float vector[]; /* then the text */
};

struct embed_cache {
    pthread_mutex_t lock;
    struct entry **slots;
    uint32_t n_slots; /* a power of two */
    uint32_t entries, entries_max;
    size_t bytes, bytes_max;
    struct entry *newest, *oldest;
};

static void lock(struct embed_cache *cache)
{
    int rc = pthread_mutex_lock(&cache->lock);
    ASSERT(rc == 0);
}

static void unlock(struct embed_cache *cache)
{
    int rc = pthread_mutex_unlock(&cache->lock);
    ASSERT(rc == 0);
}

static const char *text_of(const struct entry *e)
{
    return (const char *)(e->vector + e->dimension);
}

static uint64_t hash_of(uint64_t identity, struct str text)
{
    return hash64(text) ^ (identity * UINT64_C(0x9e3779b97f4a7c15));
}

struct embed_cache *embed_cache_new(uint32_t entries, size_t bytes)
{
    struct embed_cache *cache = calloc(1, sizeof *cache);
    if (cache == NULL)
        return NULL;
    cache->n_slots = 1;
    while (cache->n_slots < entries)
        cache->n_slots *= 2;
    cache->entries_max = entries;
    cache->bytes_max = bytes;
    cache->slots = calloc(cache->n_slots, sizeof(struct entry *));
    if (cache->slots == NULL) {
        free(cache);
        return NULL;
    }
    int rc = pthread_mutex_init(&cache->lock, NULL);
    ASSERT(rc == 0);
    return cache;
}

void embed_cache_free(struct embed_cache *cache)
{
    if (cache == NULL)
        return;
    for (struct entry *e = cache->newest, *next; e != NULL; e = next) {
        next = e->older;
        free(e);
    }
    free(cache->slots);
    (void)pthread_mutex_destroy(&cache->lock);
    free(cache);
}

/* --- under the lock --- */

static struct entry **slot_of(const struct embed_cache *cache, uint64_t hash)
{
    return &cache->slots[hash & (cache->n_slots - 1)];
}

static struct entry *find(const struct embed_cache *cache, uint64_t identity, struct str text,
                          uint32_t dimension)
{
    uint64_t hash = hash_of(identity, text);
    for (struct entry *e = *slot_of(cache, hash); e != NULL; e = e->chain)
        if (e->hash == hash && e->identity == identity && e->dimension == dimension &&
            e->text_len == text.len && memcmp(text_of(e), text.at, text.len) == 0)
            return e;
    return NULL;
}

static void list_take(struct embed_cache *cache, struct entry *e)
{
    if (e->newer != NULL)
        e->newer->older = e->older;
    else
        cache->newest = e->older;
    if (e->older != NULL)
        e->older->newer = e->newer;
    else
        cache->oldest = e->newer;
}

static void list_put(struct embed_cache *cache, struct entry *e)
{
    e->newer = NULL;
    e->older = cache->newest;
    if (e->older != NULL)
        e->older->newer = e;
    else
        cache->oldest = e;
    cache->newest = e;
}

static void drop(struct embed_cache *cache, struct entry *e)
{
    struct entry **at = slot_of(cache, e->hash);
    while (*at != e)
        at = &(*at)->chain;
    *at = e->chain;
    list_take(cache, e);
    cache->entries--;
    cache->bytes -= e->bytes;
    free(e);
}

static bool is_full(const struct embed_cache *cache, size_t more)
{
    return cache->entries >= cache->entries_max || cache->bytes + more > cache->bytes_max;
}

static void insert(struct embed_cache *cache, struct entry *e)
{
    struct entry *oldest = cache->oldest;
    while (oldest != NULL && is_full(cache, e->bytes)) {
        struct entry *next = oldest->newer;
        drop(cache, oldest);
        oldest = next;
    }
    struct entry **slot = slot_of(cache, e->hash);
    e->chain = *slot;
    *slot = e;
    list_put(cache, e);
    cache->entries++;
    cache->bytes += e->bytes;
}

/* --- from outside --- */

const float *embed_cache_get(struct embed_cache *cache, uint64_t identity, struct str text,
                             uint32_t dimension, struct arena *arena)
{
    float *copy = NULL;
    lock(cache);
    struct entry *e = find(cache, identity, text, dimension);
    if (e != NULL) {
        list_take(cache, e);
        list_put(cache, e);
        copy = arena_copy(arena, e->vector, dimension * sizeof(float));
    }
    unlock(cache);
    return copy;
}

static struct entry *make(uint64_t identity, struct str text, const float *vector,
                          uint32_t dimension)
{
    size_t bytes = sizeof(struct entry) + dimension * sizeof(float) + text.len;
    struct entry *e = malloc(bytes);
    if (e == NULL)
        return NULL;
    *e = (struct entry){.hash = hash_of(identity, text),
                        .identity = identity,
                        .dimension = dimension,
                        .text_len = (uint32_t)text.len,
                        .bytes = bytes};
    memcpy(e->vector, vector, dimension * sizeof(float));
    memcpy(e->vector + dimension, text.at, text.len);
    return e;
}

void embed_cache_put(struct embed_cache *cache, uint64_t identity, struct str text,
                     const float *vector, uint32_t dimension)
{
    struct entry *made = make(identity, text, vector, dimension);
    if (made == NULL || made->bytes > cache->bytes_max) {
        free(made);
        return;
    }
    lock(cache);
    struct entry *old = find(cache, identity, text, dimension);
    if (old != NULL)
        drop(cache, old);
    insert(cache, made);
    unlock(cache);
}

uint32_t embed_cache_entries(struct embed_cache *cache)
{
    lock(cache);
    uint32_t n = cache->entries;
    unlock(cache);
    return n;
}

size_t embed_cache_bytes(struct embed_cache *cache)
{
    lock(cache);
    size_t bytes = cache->bytes;
    unlock(cache);
    return bytes;
}

void embed_cache_check(struct embed_cache *cache)
{
    uint32_t listed = 0, chained = 0;
    size_t bytes = 0;
    lock(cache);
    const struct entry *newer = NULL;
    for (const struct entry *e = cache->newest; e != NULL; newer = e, e = e->older) {
        ASSERT(e->newer == newer);
        listed++;
        bytes += e->bytes;
    }
    ASSERT(cache->oldest == newer);
    for (uint32_t i = 0; i < cache->n_slots; i++)
        for (const struct entry *e = cache->slots[i]; e != NULL; e = e->chain)
            chained++;
    ASSERT(listed == cache->entries && chained == listed && bytes == cache->bytes); /* C1 */
    ASSERT(cache->entries <= cache->entries_max && cache->bytes <= cache->bytes_max);
    unlock(cache);
}
