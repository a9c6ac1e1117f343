#include "core/index/block_int.h"

enum { FIRST_BLOCKS = 32, BLOCK_KEY = 5 };

void blocks__init(struct blocks *blocks, struct store_txn *txn, uint64_t space,
                  enum store_kind kind, struct arena *arena)
{
    *blocks = (struct blocks){.txn = txn, .space = space, .kind = kind, .arena = arena};
}

static bool dir_grow(struct blocks *blocks, struct block_dir *dir, uint32_t block)
{
    size_t cap = dir->cap == 0 ? FIRST_BLOCKS : (size_t)dir->cap * 2;
    if (cap <= block)
        cap = (size_t)block + 1;
    if (cap > UINT32_MAX)
        cap = UINT32_MAX;
    struct str *at = ARENA_ARRAY(blocks->arena, struct str, cap);
    if (at == NULL)
        return false;
    if (dir->cap != 0)
        memcpy(at, dir->at, dir->cap * sizeof *at);
    *dir = (struct block_dir){at, (uint32_t)cap};
    return true;
}

static struct str key_of(char key[BLOCK_KEY], unsigned array, uint32_t block)
{
    key[0] = (char)array;
    be32_set(key + 1, block);
    return (struct str){key, BLOCK_KEY};
}

struct str blocks__fetch(struct blocks *blocks, unsigned array, uint32_t block)
{
    ASSERT(array < BLOCK_ARRAYS);
    struct block_dir *dir = &blocks->dirs[array];
    if (blocks->code != ERR_OK)
        return STR(""); /* I2 */
    if (block >= dir->cap && !dir_grow(blocks, dir, block)) {
        blocks->code = err_set(&blocks->err, ERR_EXHAUSTED, "out of memory while reading an index");
        return STR("");
    }
    char key[BLOCK_KEY];
    struct str value;
    blocks->code = store_get(blocks->txn, blocks->space, blocks->kind, key_of(key, array, block),
                             &value, &blocks->err);
    if (blocks->code != ERR_OK)
        return STR("");
    dir->at[block] = value.at != NULL ? value : STR(""); /* I1 */
    return dir->at[block];
}

static bool note_block(struct blocks *blocks, struct block_dir *dir, const struct store_item *item)
{
    uint32_t block = be32_get(item->key.at + 1);
    if (block >= dir->cap && !dir_grow(blocks, dir, block))
        return false;
    dir->at[block] = item->value;
    return true;
}

void blocks__read_all(struct blocks *blocks, unsigned array)
{
    ASSERT(array < BLOCK_ARRAYS);
    struct store_cursor *cursor = NULL;
    struct store_item item = {STR_NONE, STR_NONE};
    char key[BLOCK_KEY];
    if (blocks->code != ERR_OK)
        return;
    enum err_code rc =
        store_cursor_open(blocks->txn, blocks->space, blocks->kind, &cursor, &blocks->err);
    if (rc == ERR_OK)
        rc = store_cursor_seek(cursor, key_of(key, array, 0), &item, &blocks->err);
    while (rc == ERR_OK && item.key.len == BLOCK_KEY && item.key.at[0] == key[0]) {
        rc = note_block(blocks, &blocks->dirs[array], &item)
                 ? store_cursor_next(cursor, &item, &blocks->err)
                 : err_set(&blocks->err, ERR_EXHAUSTED, "out of memory while reading an index");
    }
    store_cursor_close(cursor);
    blocks->code = rc;
}

enum err_code blocks__error(const struct blocks *blocks, struct err *err)
{
    if (blocks->code != ERR_OK && err != NULL)
        *err = blocks->err;
    return blocks->code;
}
