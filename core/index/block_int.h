/* Blocked arrays: rows of fixed width, so many to a value, under (kind, array byte, b32 block).
 * What lengths and columns share: a directory of the blocks seen so far, which borrow from the
 * transaction, so that a row costs two loads after the first touch of its block.
 *
 * I1  a directory entry is absent until its block was asked for; a block that is not stored is the
 *     empty string from then on.
 * I2  the first error stays; every block is empty after it. */
#ifndef HM_CORE_INDEX_BLOCK_INT_H
#define HM_CORE_INDEX_BLOCK_INT_H

#include "core/store.h"

enum { BLOCK_ARRAYS = 6 };

struct block_dir {
    struct str *at;
    uint32_t cap;
};

struct blocks {
    struct store_txn *txn;
    uint64_t space;
    enum store_kind kind;
    enum err_code code;
    struct arena *arena;
    struct block_dir dirs[BLOCK_ARRAYS];
    struct err err;
};

void blocks__init(struct blocks *blocks, struct store_txn *txn, uint64_t space,
                  enum store_kind kind, struct arena *arena);
struct str blocks__fetch(struct blocks *blocks, unsigned array, uint32_t block);
/* All stored blocks of the array in one walk. */
void blocks__read_all(struct blocks *blocks, unsigned array);
enum err_code blocks__error(const struct blocks *blocks, struct err *err);

/* May be shorter than a whole block: what is missing is zero. */
static inline struct str blocks__get(struct blocks *blocks, unsigned array, uint32_t block)
{
    const struct block_dir *dir = &blocks->dirs[array];
    if (block < dir->cap && dir->at[block].at != NULL)
        return dir->at[block];
    return blocks__fetch(blocks, array, block);
}

#endif
