/* A part of a segment as arbitrary bytes: the walk, the search and the decoding of postings as a
 * query does it. What the walk finds sound must decode to as many postings. */
#include <stdlib.h>

#include "core/index/lengths_int.h"
#include "core/index/segment_int.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ARENA_BYTES = 256 << 20, LIVING_BLOCKS = 4 };

/* The first documents live; the sticky error keeps the rest from being fetched, as there is no
 * store. */
static void fake_lengths(struct lengths *lengths, struct str *dirs, const char *block)
{
    *lengths = (struct lengths){.blocks = {.kind = KIND_LENGTH, .code = ERR_INTERNAL}};
    for (size_t i = 0; i < LIVING_BLOCKS; i++)
        dirs[i] = (struct str){block, i + 1 == LIVING_BLOCKS ? 100 : LENGTH_BLOCK};
    for (size_t layer = 0; layer < LAYERS; layer++)
        lengths->blocks.dirs[layer] = (struct block_dir){dirs, LIVING_BLOCKS};
}

static enum err_code count_living(uint64_t term, enum layer layer, uint32_t doc, uint32_t tf,
                                  void *arg)
{
    uint64_t *living = arg;
    ASSERT(term <= TERM_MASK && layer < LAYERS && tf >= 1);
    *living += doc < (LIVING_BLOCKS - 1) * LENGTH_BLOCK + 100;
    return ERR_OK;
}

/* Every term; returns how many living postings there are, or UINT64_MAX after damage. */
static uint64_t decode_all(const struct segment_part *part, unsigned mask, struct arena *arena,
                           struct lengths *lengths)
{
    uint64_t living = 0;
    const struct decoder decoder = {lengths, arena, mask};
    for (uint32_t i = 0; i < part->head.terms; i++) {
        struct err err;
        struct posting_list lists[LAYERS] = {{0}};
        if (segment__decode(part, i, &decoder, lists, &err) != ERR_OK)
            return UINT64_MAX;
        for (unsigned layer = 0; layer < LAYERS; layer++) {
            ASSERT((mask >> layer & 1) != 0 || lists[layer].n == 0);
            living += lists[layer].n;
        }
    }
    return living;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char block[LENGTH_BLOCK];
    struct err err;
    struct str dirs[LIVING_BLOCKS];
    struct lengths lengths;
    struct segment_part part;
    struct segment_head head;
    uint64_t living = 0;
    struct str value = {(const char *)data, size};
    memset(block, 1, sizeof block);
    fake_lengths(&lengths, dirs, block);
    bool sound = segment_walk(value, count_living, &living, &err) == ERR_OK;
    bool opens = segment__open(value, &part);
    ASSERT((segment_head_read(value, &head, &err) == ERR_OK) == opens && (opens || !sound));
    struct arena *arena = arena_new(ARENA_BYTES);
    if (arena == NULL)
        abort();
    if (opens) {
        uint64_t decoded = decode_all(&part, 15, arena, &lengths);
        ASSERT(!sound || decoded == living);
        (void)decode_all(&part, 5, arena, &lengths);
        const struct segment_search search = segment__search(&part);
        for (uint32_t i = 0; sound && i < part.head.terms; i++)
            ASSERT(segment__lower(&search, segment__term(&part, i), 0) == i);
    }
    arena_free(arena);
    return 0;
}
