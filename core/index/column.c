#include "core/index/column.h"

#include "core/index/block_int.h"

_Static_assert((int)COLUMNS <= (int)BLOCK_ARRAYS, "every column has a directory");

struct columns {
    struct blocks blocks;
};

uint32_t column_width(enum column column)
{
    static const uint32_t widths[COLUMNS] = {
        [COLUMN_TURN] = sizeof(struct turn_row),       [COLUMN_FACT] = sizeof(struct fact_row),
        [COLUMN_EPISODE] = sizeof(struct episode_row), [COLUMN_TOPIC] = sizeof(struct topic_row),
        [COLUMN_EPISODE_DOC] = sizeof(uint32_t),       [COLUMN_TOPIC_DOC] = sizeof(uint32_t),
    };
    ASSERT(column < COLUMNS);
    return widths[column];
}

uint32_t column_put(struct batch *batch, enum column column, uint32_t row, const void *rows,
                    uint32_t n)
{
    uint32_t width = column_width(column);
    char prefix = (char)column;
    return batch_rows(batch, KIND_COLUMN, (struct str){&prefix, 1}, COLUMN_ROWS, width, row,
                      (struct str){rows, (size_t)n * width});
}

struct columns *columns_new(struct store_txn *txn, uint64_t space, struct arena *arena)
{
    struct columns *c = arena_alloc(arena, sizeof *c);
    if (c != NULL)
        blocks__init(&c->blocks, txn, space, KIND_COLUMN, arena);
    return c;
}

void columns_read_all(struct columns *c, enum column column)
{
    blocks__read_all(&c->blocks, column);
}

/* `width` is a constant at each call, so that the copy is inlined. */
static inline void row_copy(struct columns *c, enum column column, uint32_t row, void *out,
                            size_t width)
{
    struct str block = blocks__get(&c->blocks, column, row / COLUMN_ROWS);
    size_t at = row % COLUMN_ROWS * width;
    if (at + width <= block.len)
        memcpy(out, block.at + at, width);
    else
        memset(out, 0, width);
}

void columns_turn_ahead(const struct columns *c, uint32_t doc)
{
    enum { LINE = 64 };
    const struct block_dir *dir = &c->blocks.dirs[COLUMN_TURN];
    if (doc / COLUMN_ROWS >= dir->cap || dir->at[doc / COLUMN_ROWS].at == NULL)
        return;
    struct str block = dir->at[doc / COLUMN_ROWS];
    for (size_t at = 0; at < block.len; at += LINE)
        __builtin_prefetch(block.at + at);
}

void columns_turn_block(struct columns *c, uint32_t doc, struct turn_row rows[COLUMN_ROWS])
{
    struct str block = blocks__get(&c->blocks, COLUMN_TURN, doc / COLUMN_ROWS);
    size_t size = COLUMN_ROWS * sizeof *rows;
    size_t len = block.len < size ? block.len : size;
    memcpy(rows, block.at, len);
    memset((char *)rows + len, 0, size - len);
}

void columns_turn(struct columns *c, uint32_t doc, struct turn_row *row)
{
    row_copy(c, COLUMN_TURN, doc, row, sizeof *row);
}

/* Ids start at 1, rows at 0; id 0 means none and has no row. */
static inline void row_of_id(struct columns *c, enum column column, uint32_t id, void *out,
                             size_t width)
{
    if (id != 0)
        row_copy(c, column, id - 1, out, width);
    else
        memset(out, 0, width);
}

void columns_fact(struct columns *c, uint32_t fact_id, struct fact_row *row)
{
    row_of_id(c, COLUMN_FACT, fact_id, row, sizeof *row);
}

void columns_episode(struct columns *c, uint32_t episode_id, struct episode_row *row)
{
    row_of_id(c, COLUMN_EPISODE, episode_id, row, sizeof *row);
}

void columns_topic(struct columns *c, uint32_t topic_id, struct topic_row *row)
{
    row_of_id(c, COLUMN_TOPIC, topic_id, row, sizeof *row);
}

uint32_t columns_episode_of_doc(struct columns *c, uint32_t doc)
{
    uint32_t id;
    row_copy(c, COLUMN_EPISODE_DOC, doc, &id, sizeof id);
    return id;
}

uint32_t columns_topic_of_doc(struct columns *c, uint32_t doc)
{
    uint32_t id;
    row_copy(c, COLUMN_TOPIC_DOC, doc, &id, sizeof id);
    return id;
}

enum err_code columns_error(const struct columns *c, struct err *err)
{
    return blocks__error(&c->blocks, err);
}
