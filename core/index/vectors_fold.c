/* Housekeeping of blocks: packing small ones, dropping the dead; and the end of an old generation.
 */
#include "core/index/vectors_int.h"

struct fold_block {
    uint32_t number;
    struct vectors_block block;
    uint32_t living;
    size_t bytes;
};

struct fold {
    const struct vectors_view *view;
    struct batch *batch;
    struct vectors_generation generation; /* as it will be */
    unsigned layer;
    struct fold_block *blocks;
    uint32_t n;
    struct vectors_edges edges; /* edge layers: rows in use, of edges with members */
};

/* --- which layer is due --- */

/* At least so many rows are dead: documents that wait for their vectors hide some. */
static uint32_t dead_rows(const struct vectors_generation *g, const struct space_stat *stat,
                          unsigned layer)
{
    uint64_t living =
        vectors__is_edge(layer) ? g->edges[layer - EDGE_FACTS] : stat->v[STAT_DOCS_TURN + layer];
    return g->rows[layer] > living ? (uint32_t)(g->rows[layer] - living) : 0;
}

static bool is_due(const struct vectors_generation *g, const struct space_stat *stat,
                   unsigned layer)
{
    uint32_t full = vectors_block_rows(g->dim);
    return g->small[layer] >= FOLD_SMALL || dead_rows(g, stat, layer) > full / 4;
}

/* --- what is there --- */

/* Rows of edges without members are in use no more. */
static enum err_code load_edges(struct fold *f, struct err *err)
{
    struct vectors_walk walk;
    struct vectors_edges all;
    f->edges = (struct vectors_edges){NULL, 0};
    enum err_code rc = vectors__edges_load(f->view, f->layer, &all, err);
    if (rc != ERR_OK)
        return rc;
    f->edges.at = ARENA_ARRAY(f->view->arena, struct vectors_row, all.n);
    if (f->edges.at == NULL)
        return vectors__memory(err);
    f->edges.n = all.n;
    rc = vectors__walk_open(f->view, KIND_VECTOR_SIDE, f->layer, &walk, err);
    while (rc == ERR_OK && walk.item.key.at != NULL) {
        uint32_t parent = vectors__number(walk.item.key);
        if (parent < all.n)
            f->edges.at[parent] = all.at[parent];
        rc = vectors__walk_next(&walk, err);
    }
    vectors__walk_close(&walk);
    return rc;
}

static bool lives(const struct fold *f, const struct vectors_row *row)
{
    if (!vectors__is_edge(f->layer))
        return lengths_get(f->view->lengths, (enum layer)f->layer, row->node) != 0;
    return row->node < f->edges.n && f->edges.at[row->node].values == row->values;
}

static void count_living(const struct fold *f, struct fold_block *b)
{
    for (uint32_t i = 0; i < b->block.n; i++) {
        struct vectors_row row = vectors__row(&b->block, i);
        b->living += lives(f, &row);
    }
}

static enum err_code load_blocks(struct fold *f, struct err *err)
{
    struct vectors_walk walk;
    uint32_t cap = f->generation.blocks[f->layer];
    f->n = 0;
    f->blocks = ARENA_ARRAY(f->view->arena, struct fold_block, cap);
    if (f->blocks == NULL)
        return vectors__memory(err);
    enum err_code rc = vectors__walk_open(f->view, KIND_VECTOR, f->layer, &walk, err);
    while (rc == ERR_OK && walk.item.key.at != NULL) {
        if (f->n == cap) {
            rc = vectors__damaged("the number of blocks of generation", f->generation.number, err);
            break;
        }
        struct fold_block *b = &f->blocks[f->n++];
        b->number = vectors__number(walk.item.key);
        b->bytes = walk.item.value.len;
        rc = vectors__walk_block(f->view, &walk, &b->block, err);
        if (rc != ERR_OK)
            break;
        count_living(f, b);
        rc = vectors__walk_next(&walk, err);
    }
    vectors__walk_close(&walk);
    return rc == ERR_OK ? lengths_error(f->view->lengths, err) : rc;
}

/* --- which blocks --- */

struct fold_run {
    uint32_t first, n; /* n 0: none */
};

static bool is_small(const struct fold *f, uint32_t i)
{
    return f->blocks[i].block.n < vectors_block_rows(f->generation.dim);
}

/* From one small block to another, with what lies between, within VECTORS_FOLD_BYTES: the run with
 * the most small ones; the first of them if there are several. */
static struct fold_run small_run(const struct fold *f)
{
    struct fold_run best = {0, 0};
    uint32_t most = 1;
    for (uint32_t first = 0; first < f->n; first++) {
        uint32_t small = 0;
        size_t bytes = 0;
        for (uint32_t i = first; is_small(f, first) && i < f->n; i++) {
            bytes += f->blocks[i].bytes;
            if (bytes > VECTORS_FOLD_BYTES)
                break;
            small += is_small(f, i);
            if (is_small(f, i) && small > most) {
                most = small;
                best = (struct fold_run){first, i + 1 - first};
            }
        }
    }
    return best;
}

static struct fold_run dead_run(const struct fold *f)
{
    for (uint32_t i = 0; i < f->n; i++) {
        const struct fold_block *b = &f->blocks[i];
        if ((b->block.n - b->living) * 4 > b->block.n)
            return (struct fold_run){i, 1};
    }
    return (struct fold_run){0, 0};
}

static struct fold_run choose(const struct fold *f)
{
    struct fold_run run = {0, 0};
    if (f->generation.small[f->layer] >= FOLD_SMALL)
        run = small_run(f);
    return run.n != 0 ? run : dead_run(f);
}

/* --- folding --- */

static void remove_block(struct fold *f, const struct fold_block *b)
{
    char key[VECTORS_KEY];
    struct vectors_generation *g = &f->generation;
    vectors_key(key, g->number, f->layer, b->number);
    (void)batch_del(f->batch, KIND_VECTOR, (struct str){key, sizeof key}, 0);
    g->rows[f->layer] -= b->block.n;
    g->blocks[f->layer]--;
    g->small[f->layer] -= b->block.n < vectors_block_rows(g->dim);
}

/* Edge blocks keep the numbers of the first that went: of two rows of an edge the later one must
 * stay in the later block. */
static enum err_code fold_run(struct fold *f, struct fold_run run, struct err *err)
{
    size_t most = 0;
    for (uint32_t i = 0; i < run.n; i++)
        most += f->blocks[run.first + i].block.n;
    struct vectors_row *rows = ARENA_ARRAY(f->view->arena, struct vectors_row, most);
    uint32_t *numbers = ARENA_ARRAY(f->view->arena, uint32_t, run.n);
    if (rows == NULL || numbers == NULL)
        return vectors__memory(err);
    uint32_t n = 0;
    for (uint32_t b = 0; b < run.n; b++) {
        const struct fold_block *block = &f->blocks[run.first + b];
        numbers[b] = block->number;
        remove_block(f, block);
        for (uint32_t i = 0; i < block->block.n; i++) {
            rows[n] = vectors__row(&block->block, i);
            n += lives(f, &rows[n]);
        }
    }
    vectors__put_rows(f->batch, &f->generation, f->layer,
                      vectors__is_edge(f->layer) ? numbers : NULL, rows, n);
    vectors_save(&f->generation, f->batch);
    return batch_ok(f->batch) ? ERR_OK : vectors__memory(err);
}

static enum err_code fold_layer(struct fold *f, bool *did, struct err *err)
{
    enum err_code rc = ERR_OK;
    if (vectors__is_edge(f->layer))
        rc = load_edges(f, err);
    if (rc == ERR_OK)
        rc = load_blocks(f, err);
    if (rc != ERR_OK)
        return rc;
    struct fold_run run = choose(f);
    if (run.n == 0)
        return ERR_OK;
    rc = fold_run(f, run, err);
    *did = rc == ERR_OK;
    return rc;
}

enum err_code vectors_fold(const struct vectors_view *view, struct batch *batch, bool *did,
                           struct err *err)
{
    struct fold f = {.view = view, .batch = batch, .generation = *view->generation};
    struct space_stat stat;
    *did = false;
    enum err_code rc = store_stat(view->txn, view->space, &stat, err);
    for (f.layer = 0; rc == ERR_OK && !*did && f.layer < VECTORS_LAYERS; f.layer++) {
        if (is_due(&f.generation, &stat, f.layer))
            rc = fold_layer(&f, did, err);
    }
    return rc;
}

/* --- the end of a generation --- */

struct drop {
    struct store_txn *txn;
    uint64_t space;
    struct batch *batch;
    const struct vectors_generations *all;
    uint32_t rows;
};

static bool is_known(const struct drop *d, uint32_t number)
{
    for (uint32_t i = 0; i < d->all->n; i++) {
        if (d->all->at[i].number == number)
            return d->all->at[i].state != VECTORS_OLD;
    }
    return false;
}

/* Behind all rows of a generation. */
static enum err_code pass_by(struct store_cursor *cursor, uint32_t number, struct store_item *item,
                             struct err *err)
{
    char key[VECTORS_KEY];
    vectors_key(key, number + 1, 0, 0);
    return store_cursor_seek(cursor, (struct str){key, sizeof key}, item, err);
}

/* Up to DROP_ROWS rows in all. One that was given up is younger than the one that is active. */
static enum err_code drop_kind(struct drop *d, enum store_kind kind, struct err *err)
{
    struct store_cursor *cursor = NULL;
    struct store_item item;
    enum err_code rc = store_cursor_open(d->txn, d->space, kind, &cursor, err);
    if (rc == ERR_OK)
        rc = store_cursor_seek(cursor, STR(""), &item, err);
    while (rc == ERR_OK && item.key.at != NULL && d->rows < DROP_ROWS) {
        if (item.key.len != VECTORS_KEY) {
            rc = err_set(err, ERR_INTERNAL, "a row of the vector index has a key of %zu bytes",
                         item.key.len);
            break;
        }
        uint32_t number = be32_get(item.key.at);
        if (is_known(d, number)) {
            rc = pass_by(cursor, number, &item, err);
            continue;
        }
        (void)batch_del(d->batch, kind, item.key, 0);
        d->rows++;
        rc = store_cursor_next(cursor, &item, err);
    }
    store_cursor_close(cursor);
    return rc;
}

static void drop_record(struct drop *d, const struct vectors_generation *old)
{
    char key[4];
    struct str rest = {key, sizeof key};
    be32_set(key, old->number);
    batch_need_version(d->batch, KIND_GENERATION, rest, old->version);
    (void)batch_del(d->batch, KIND_GENERATION, rest, 0);
    d->rows++;
}

enum err_code vectors_drop(struct store_txn *txn, uint64_t space,
                           const struct vectors_generations *all, struct batch *batch, bool *did,
                           struct err *err)
{
    static const uint8_t kinds[] = {KIND_VECTOR, KIND_VECTOR_SIDE, KIND_VECTOR_DIRTY};
    struct drop d = {.txn = txn, .space = space, .batch = batch, .all = all};
    const struct vectors_generation *old = vectors_generation_find(all, VECTORS_OLD);
    enum err_code rc = ERR_OK;
    *did = false;
    for (size_t i = 0; rc == ERR_OK && i < sizeof kinds; i++)
        rc = drop_kind(&d, (enum store_kind)kinds[i], err);
    if (rc != ERR_OK)
        return rc;
    if (old != NULL && d.rows < DROP_ROWS)
        drop_record(&d, old);
    *did = d.rows != 0 && batch_ok(batch);
    return batch_ok(batch) ? ERR_OK : vectors__memory(err);
}
