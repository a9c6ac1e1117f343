/* The inside of lengths.h, for the loops that test every posting for life. */
#ifndef HM_CORE_INDEX_LENGTHS_INT_H
#define HM_CORE_INDEX_LENGTHS_INT_H

#include "core/index/block_int.h"
#include "core/index/lengths.h"

struct lengths {
    struct blocks blocks;
};

/* Documents block * LENGTH_BLOCK on; shorter where the rest is 0. */
static inline struct str lengths__block(struct lengths *lengths, enum layer layer, uint32_t block)
{
    return blocks__get(&lengths->blocks, layer, block);
}

#endif
