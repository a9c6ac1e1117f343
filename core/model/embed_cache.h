/* Vectors of questions, so that what is asked again is not embedded again (DESIGN 7).
 *
 *   identity of the generation, text --> [hash table] --> entry: text, vector
 *                                        newest <-> ... <-> oldest, which goes first
 *
 * Bounded by entries and by bytes; in memory only. An identity names model, dimension and prefixes,
 * so a vector of another model is never found.
 *
 * C1  every entry is in one chain of the table and in the list; bytes is the sum over the list.
 * Threads: any; one lock, a leaf, held for a look-up and a copy (a few microseconds at 4 KiB). */
#ifndef HM_CORE_MODEL_EMBED_CACHE_H
#define HM_CORE_MODEL_EMBED_CACHE_H

#include "core/base/arena.h"
#include "core/base/str.h"

struct embed_cache;

enum { EMBED_CACHE_ENTRIES = 4096 };
#define EMBED_CACHE_BYTES ((size_t)64 << 20)

/* NULL when memory is short. Both limits at least 1. */
struct embed_cache *embed_cache_new(uint32_t entries, size_t bytes);
void embed_cache_free(struct embed_cache *cache); /* NULL is fine */

/* A copy in the arena; NULL: not there, or no memory. */
const float *embed_cache_get(struct embed_cache *cache, uint64_t identity, struct str text,
                             uint32_t dimension, struct arena *arena);
/* Copies; what can't be kept for want of memory is not kept. */
void embed_cache_put(struct embed_cache *cache, uint64_t identity, struct str text,
                     const float *vector, uint32_t dimension);

uint32_t embed_cache_entries(struct embed_cache *cache);
size_t embed_cache_bytes(struct embed_cache *cache);
void embed_cache_check(struct embed_cache *cache);

#endif
