#include "core/base/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGN = 16, FIRST_CHUNK = 16 * 1024, BIG = 128 * 1024 };

struct chunk {
    struct chunk *next;
    size_t size; /* usable bytes */
    size_t used;
    size_t pad; /* keeps `bytes` aligned */
    uint8_t bytes[];
};

_Static_assert(offsetof(struct chunk, bytes) % ALIGN == 0, "chunk payload must be aligned");

struct arena {
    struct chunk *head; /* the chunk that small allocations come from */
    size_t cap;
    size_t used;
    unsigned long fail_in; /* 0: never */
};

struct arena *arena_new(size_t cap_bytes)
{
    struct arena *arena = calloc(1, sizeof *arena);
    if (arena == NULL)
        return NULL;
    arena->cap = cap_bytes;
    return arena;
}

static void free_chunks(struct chunk *chunk)
{
    while (chunk != NULL) {
        struct chunk *next = chunk->next;
        free(chunk);
        chunk = next;
    }
}

void arena_free(struct arena *arena)
{
    if (arena == NULL)
        return;
    free_chunks(arena->head);
    free(arena);
}

void arena_reset(struct arena *arena)
{
    struct chunk *keep = NULL;
    if (arena->head != NULL && arena->head->size <= FIRST_CHUNK * 4u) {
        keep = arena->head;
        free_chunks(keep->next);
        keep->next = NULL;
        keep->used = 0;
    } else {
        free_chunks(arena->head);
    }
    arena->head = keep;
    arena->used = 0;
}

static bool may_take(struct arena *arena, size_t size)
{
    if (arena->fail_in != 0 && --arena->fail_in == 0)
        return false;
    return size <= arena->cap - arena->used;
}

/* A chunk of its own for a big block goes behind the head, which keeps its free tail. */
static struct chunk *chunk_new(struct arena *arena, size_t size, bool zero)
{
    size_t bytes = sizeof(struct chunk) + size;
    struct chunk *chunk = zero ? calloc(1, bytes) : malloc(bytes);
    if (chunk == NULL)
        return NULL;
    chunk->size = size;
    chunk->used = 0;
    chunk->pad = 0;
    chunk->next = NULL;
    if (size >= BIG && arena->head != NULL) {
        chunk->next = arena->head->next;
        arena->head->next = chunk;
    } else {
        chunk->next = arena->head;
        arena->head = chunk;
    }
    return chunk;
}

static size_t next_chunk_size(const struct arena *arena, size_t need)
{
#ifdef HM_ARENA_HEAP
    (void)arena;
    return need;
#else
    size_t size = arena->head == NULL ? FIRST_CHUNK : arena->head->size * 2;
    if (size < FIRST_CHUNK)
        size = FIRST_CHUNK;
    if (size > BIG / 2)
        size = BIG / 2;
    return need > size ? need : size;
#endif
}

static size_t aligned(size_t size)
{
    return (size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
}

static void *take(struct arena *arena, size_t size, bool zero)
{
    if (size > SIZE_MAX - ALIGN)
        return NULL;
    size = aligned(size);
    if (size == 0)
        size = ALIGN;
    if (!may_take(arena, size))
        return NULL;
    struct chunk *chunk = arena->head;
    bool fresh = chunk == NULL || chunk->size - chunk->used < size || size >= BIG;
    if (fresh) {
        size_t want = size >= BIG ? size : next_chunk_size(arena, size);
        chunk = chunk_new(arena, want, zero && size >= BIG);
        if (chunk == NULL)
            return NULL;
    }
    void *at = chunk->bytes + chunk->used;
    chunk->used += size;
    arena->used += size;
    if (zero && size < BIG)
        memset(at, 0, size);
    return at;
}

void *arena_alloc(struct arena *arena, size_t size)
{
    return take(arena, size, false);
}

void *arena_zalloc(struct arena *arena, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        return NULL;
    return take(arena, bytes, true);
}

/* Whether the block is the last of the head chunk and `size` bytes fit there. */
static bool fits_in_place(const struct arena *arena, const void *at, size_t old, size_t size)
{
    const struct chunk *chunk = arena->head;
    if (chunk == NULL || old == 0 || size > chunk->size || aligned(old) > chunk->used)
        return false;
    size_t from = chunk->used - aligned(old);
    return (const uint8_t *)at == chunk->bytes + from && aligned(size) <= chunk->size - from;
}

void *arena_grow(struct arena *arena, void *at, size_t old, size_t size)
{
    ASSERT(size >= old);
    if (fits_in_place(arena, at, old, size)) {
        size_t more = aligned(size) - aligned(old);
        if (!may_take(arena, more))
            return NULL;
        arena->head->used += more;
        arena->used += more;
        return at;
    }
    void *to = arena_alloc(arena, size);
    if (to != NULL && old != 0)
        memcpy(to, at, old);
    return to;
}

void *arena_copy(struct arena *arena, const void *from, size_t size)
{
    void *to = arena_alloc(arena, size);
    if (to != NULL && size != 0)
        memcpy(to, from, size);
    return to;
}

size_t arena_used(const struct arena *arena)
{
    return arena->used;
}

void arena_check(const struct arena *arena)
{
    size_t sum = 0;
    for (const struct chunk *c = arena->head; c != NULL; c = c->next) {
        ASSERT(c->used <= c->size);
        sum += c->used;
    }
    ASSERT(sum == arena->used && arena->used <= arena->cap); /* I1 */
}

void arena_fail_after(struct arena *arena, unsigned long n)
{
    arena->fail_in = n;
}
