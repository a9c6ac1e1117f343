/* Blocks of rows: their layout, writing them, walking and finding. */
#include "core/index/vectors_int.h"

enum { PAGE_BYTES = 4096, PAGES_LEAST = 6, PAGES_MOST = 7 };

/* Where the values of a block of n rows begin. */
static size_t values_at(uint32_t n)
{
    size_t meta = OVERFLOW_HEAD + BLOCK_HEAD + (size_t)n * 8;
    return (meta + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES - OVERFLOW_HEAD;
}

static size_t block_bytes(uint32_t n, uint32_t stride)
{
    return values_at(n) + (size_t)n * stride;
}

static uint32_t rows_in(uint32_t pages, uint32_t stride)
{
    uint32_t room = pages * PAGE_BYTES - OVERFLOW_HEAD;
    uint32_t n = room / (stride + 8);
    while (n != 0 && block_bytes(n, stride) > room)
        n--;
    return n;
}

uint32_t vectors_block_rows(uint32_t dim)
{
    uint32_t stride = vectors__stride(dim);
    uint32_t least = rows_in(PAGES_LEAST, stride), most = rows_in(PAGES_MOST, stride);
    uint32_t n = most * PAGES_LEAST > least * PAGES_MOST ? most : least;
    ASSERT(n != 0 && n <= BLOCK_ROWS_MAX);
    return n;
}

bool vectors_block_read(struct str value, struct vectors_block *block)
{
    *block = (struct vectors_block){0};
    if (value.len < BLOCK_HEAD || value.at[0] != VECTORS_FORMAT)
        return false;
    uint32_t head = le32_get(value.at);
    uint32_t dim = le32_get(value.at + 4), n = head >> 16;
    unsigned layer = (head >> 8) & 0xff;
    if (layer >= VECTORS_LAYERS || dim == 0 || dim > VECTORS_DIM_MAX || n == 0 ||
        n > BLOCK_ROWS_MAX || value.len != block_bytes(n, vectors__stride(dim)))
        return false;
    *block = (struct vectors_block){
        .layer = (uint8_t)layer,
        .n = n,
        .dim = dim,
        .stride = vectors__stride(dim),
        .nodes = value.at + BLOCK_HEAD,
        .scales = value.at + BLOCK_HEAD + (size_t)n * 4,
        .values = (const int8_t *)value.at + values_at(n),
    };
    return true;
}

/* --- writing --- */

static void encode(char *at, unsigned layer, uint32_t dim, const struct vectors_row *rows,
                   uint32_t n)
{
    uint32_t stride = vectors__stride(dim);
    memset(at, 0, values_at(n));
    le32_set(at, VECTORS_FORMAT | layer << 8 | n << 16);
    le32_set(at + 4, dim);
    char *node = at + BLOCK_HEAD, *scale = node + (size_t)n * 4, *values = at + values_at(n);
    for (uint32_t i = 0; i < n; i++) {
        le32_set(node + (size_t)i * 4, rows[i].node);
        memcpy(scale + (size_t)i * 4, &rows[i].scale, 4);
        memcpy(values + (size_t)i * stride, rows[i].values, stride);
    }
}

void vectors__put_block(struct batch *batch, struct vectors_generation *generation, unsigned layer,
                        uint32_t number, const struct vectors_row *rows, uint32_t n)
{
    char key[VECTORS_KEY];
    size_t size = block_bytes(n, vectors__stride(generation->dim));
    char *value = arena_alloc(batch->arena, size);
    if (value == NULL) {
        batch->failed = true;
        return;
    }
    encode(value, layer, generation->dim, rows, n);
    vectors_key(key, generation->number, layer, number);
    (void)batch_put(batch, KIND_VECTOR, (struct str){key, sizeof key}, (struct str){value, size},
                    0);
    generation->rows[layer] += n;
    generation->blocks[layer]++;
    generation->small[layer] += n < vectors_block_rows(generation->dim);
}

void vectors__put_rows(struct batch *batch, struct vectors_generation *generation, unsigned layer,
                       const uint32_t *numbers, const struct vectors_row *rows, uint32_t n)
{
    uint32_t full = vectors_block_rows(generation->dim);
    for (uint32_t done = 0, block = 0; done < n; done += full, block++) {
        uint32_t part = n - done < full ? n - done : full;
        uint32_t number = numbers != NULL ? numbers[block] : rows[done].node;
        vectors__put_block(batch, generation, layer, number, rows + done, part);
    }
}

/* --- walking --- */

static void keep_in_range(struct vectors_walk *walk)
{
    const struct store_item *item = &walk->item;
    if (item->key.at != NULL &&
        (item->key.len != VECTORS_KEY || memcmp(item->key.at, walk->prefix, VECTORS_KEY - 4) != 0))
        walk->item = (struct store_item){STR_NONE, STR_NONE};
}

enum err_code vectors__walk_open(const struct vectors_view *view, enum store_kind kind,
                                 unsigned layer, struct vectors_walk *walk, struct err *err)
{
    *walk = (struct vectors_walk){.item = {STR_NONE, STR_NONE}};
    vectors_key(walk->prefix, view->generation->number, layer, 0);
    enum err_code rc = store_cursor_open(view->txn, view->space, kind, &walk->cursor, err);
    if (rc == ERR_OK)
        rc = store_cursor_seek(walk->cursor, (struct str){walk->prefix, VECTORS_KEY}, &walk->item,
                               err);
    keep_in_range(walk);
    return rc;
}

enum err_code vectors__walk_next(struct vectors_walk *walk, struct err *err)
{
    enum err_code rc = store_cursor_next(walk->cursor, &walk->item, err);
    keep_in_range(walk);
    return rc;
}

void vectors__walk_close(struct vectors_walk *walk)
{
    store_cursor_close(walk->cursor);
    walk->cursor = NULL;
}

static enum err_code block_of(const struct vectors_view *view, const struct store_item *item,
                              unsigned layer, struct vectors_block *block, struct err *err)
{
    if (!vectors_block_read(item->value, block) || block->layer != layer ||
        block->dim != view->generation->dim)
        return vectors__damaged("block", vectors__number(item->key), err);
    return ERR_OK;
}

enum err_code vectors__walk_block(const struct vectors_view *view, const struct vectors_walk *walk,
                                  struct vectors_block *block, struct err *err)
{
    return block_of(view, &walk->item, (unsigned char)walk->prefix[4], block, err);
}

/* --- finding --- */

enum err_code vectors__finder_open(const struct vectors_view *view, enum layer layer,
                                   struct vectors_finder *finder, struct err *err)
{
    *finder = (struct vectors_finder){.view = view, .layer = layer};
    return store_cursor_open(view->txn, view->space, KIND_VECTOR, &finder->cursor, err);
}

void vectors__finder_close(struct vectors_finder *finder)
{
    store_cursor_close(finder->cursor);
    finder->cursor = NULL;
}

static bool holds(const struct vectors_block *block, uint32_t doc)
{
    return block->n != 0 && vectors_node(block, 0) <= doc &&
           vectors_node(block, block->n - 1) >= doc;
}

static enum err_code seek_block(struct vectors_finder *finder, uint32_t doc, struct err *err)
{
    char key[VECTORS_KEY];
    struct store_item item;
    vectors_key(key, finder->view->generation->number, finder->layer, doc + 1);
    finder->block.n = 0;
    enum err_code rc =
        store_cursor_seek_before(finder->cursor, (struct str){key, sizeof key}, &item, err);
    if (rc != ERR_OK || item.key.at == NULL || item.key.len != VECTORS_KEY ||
        memcmp(item.key.at, key, VECTORS_KEY - 4) != 0)
        return rc;
    return block_of(finder->view, &item, finder->layer, &finder->block, err);
}

enum err_code vectors__find(struct vectors_finder *finder, uint32_t doc, struct vectors_row *row,
                            struct err *err)
{
    enum err_code rc = ERR_OK;
    struct vectors_block *block = &finder->block;
    *row = (struct vectors_row){.node = doc};
    if (!holds(block, doc))
        rc = seek_block(finder, doc, err);
    if (rc != ERR_OK || !holds(block, doc))
        return rc;
    uint32_t low = 0, high = block->n - 1;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (vectors_node(block, middle) < doc)
            low = middle + 1;
        else
            high = middle;
    }
    if (vectors_node(block, low) == doc && vectors_scale(block, low) != 0)
        *row = vectors__row(block, low);
    return ERR_OK;
}

/* --- edge rows in use --- */

enum err_code vectors__parents(const struct vectors_view *view, unsigned layer, uint32_t *n,
                               struct err *err)
{
    struct space_stat stat;
    enum err_code rc = store_stat(view->txn, view->space, &stat, err);
    if (rc == ERR_OK)
        *n = (uint32_t)stat.v[layer == EDGE_FACTS ? STAT_NEXT_EPISODE : STAT_NEXT_TOPIC];
    return rc;
}

static enum err_code note_rows(const struct vectors_block *block, struct vectors_edges *edges,
                               struct err *err)
{
    for (uint32_t i = 0; i < block->n; i++) {
        struct vectors_row row = vectors__row(block, i);
        if (row.node >= edges->n)
            return vectors__damaged("the row of edge", row.node, err);
        edges->at[row.node] = row;
    }
    return ERR_OK;
}

enum err_code vectors__edges_load(const struct vectors_view *view, unsigned layer,
                                  struct vectors_edges *edges, struct err *err)
{
    struct vectors_walk walk;
    struct vectors_block block;
    enum err_code rc = vectors__parents(view, layer, &edges->n, err);
    if (rc != ERR_OK)
        return rc;
    edges->at = ARENA_ARRAY(view->arena, struct vectors_row, edges->n);
    if (edges->at == NULL)
        return vectors__memory(err);
    rc = vectors__walk_open(view, KIND_VECTOR, layer, &walk, err);
    while (rc == ERR_OK && walk.item.key.at != NULL) {
        rc = vectors__walk_block(view, &walk, &block, err);
        if (rc == ERR_OK)
            rc = note_rows(&block, edges, err);
        if (rc == ERR_OK)
            rc = vectors__walk_next(&walk, err);
    }
    vectors__walk_close(&walk);
    return rc;
}
