/* A capped arena: one for a request, one for a job.
 *
 * Memory is taken from chunks and given back all at once by arena_free() or arena_reset(). Handlers
 * and stages never free; nothing outlives its arena. When the cap is reached, or the system has no
 * memory, arena_alloc() returns NULL and the caller reports ERR_EXHAUSTED; the cap protects the
 * process from one greedy request. A sanitizer build (HM_ARENA_HEAP) gives each allocation its own
 * heap block, so that overruns and use after the end are seen.
 *
 * I1  used <= cap.   I2  every pointer handed out is aligned to 16 bytes.
 * Threads: one owner at a time; hand-over goes through a queue. */
#ifndef HM_CORE_BASE_ARENA_H
#define HM_CORE_BASE_ARENA_H

#include <stddef.h>

#include "core/base/err.h"

struct arena;

/* Heap-allocates an arena that hands out at most `cap_bytes`; NULL when memory is short. */
struct arena *arena_new(size_t cap_bytes);
void arena_free(struct arena *arena); /* NULL is fine */
/* Takes all back but keeps the first chunk. Everything handed out is dead. */
void arena_reset(struct arena *arena);

/* Uninitialised memory, or NULL. `size` 0 gives a valid unique pointer. */
void *arena_alloc(struct arena *arena, size_t size) __attribute__((malloc, alloc_size(2)));
/* Zeroed array of `count` elements; NULL also when the product overflows. Large arrays (>= 128 KiB)
 * are left to calloc(): fresh pages of the system are zero and cost nothing until they are touched,
 * memory that was used before is cleared. */
void *arena_zalloc(struct arena *arena, size_t count, size_t size)
    __attribute__((malloc, alloc_size(2, 3)));
/* `at`, which has `old` bytes, with `size` >= old: in place when nothing was taken after it and its
 * chunk has room, else a copy. NULL when memory is short; then `at` is as it was. */
void *arena_grow(struct arena *arena, void *at, size_t old, size_t size);
/* A copy of `size` bytes; NULL when memory is short. */
void *arena_copy(struct arena *arena, const void *from, size_t size);

size_t arena_used(const struct arena *arena);
void arena_check(const struct arena *arena);

/* Test hook: the n-th allocation from now on fails (0: none). Only for tests of one thread. */
void arena_fail_after(struct arena *arena, unsigned long n);

#define ARENA_NEW(arena, type) ((type *)arena_zalloc(arena, 1, sizeof(type)))
#define ARENA_ARRAY(arena, type, count) ((type *)arena_zalloc(arena, count, sizeof(type)))

#endif
