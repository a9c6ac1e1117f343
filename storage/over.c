/* What store_lay() laid over a snapshot: the rows of one space as they will be, in key order, and
 * walks over them and the tree at once. A step forward goes on from where both sides stand (nothing
 * is laid while a cursor is open); a step back finds its place anew from the key of the last
 * item. */
#include "core/batch.h"
#include "storage/storage_int.h"

enum { KIND_AT = KEY_PREFIX - 1, FIRST_ROWS = 64 };

/* `key` is the kind and the rest. */
struct over_row {
    struct str key;
    struct str value; /* .at NULL: it was deleted */
};

struct over {
    uint64_t space;
    struct arena *arena;
    struct over_row **rows; /* ascending by key, each key once */
    uint32_t n, cap;
    struct space_stat stat;
};

static enum err_code memory(struct err *err)
{
    return err_set(err, ERR_EXHAUSTED, "out of memory while laying a batch over a snapshot");
}

/* --- rows --- */

/* Of the first row whose key is not less. */
static uint32_t lower(const struct over *over, struct str key)
{
    uint32_t low = 0;
    uint32_t high = over->n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (str_cmp(over->rows[middle]->key, key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_at(const struct over *over, uint32_t i, struct str key)
{
    return i < over->n && str_eq(over->rows[i]->key, key);
}

static bool grow(struct over *over)
{
    if (over->n < over->cap)
        return true;
    uint32_t cap = over->cap == 0 ? FIRST_ROWS : over->cap * 2;
    struct over_row **more = ARENA_ARRAY(over->arena, struct over_row *, cap);
    if (more == NULL)
        return false;
    if (over->n != 0)
        memcpy(more, over->rows, over->n * sizeof(struct over_row *));
    over->rows = more;
    over->cap = cap;
    return true;
}

/* `key` and `value` must last. False when memory is short. */
static bool set_row(struct over *over, struct str key, struct str value)
{
    uint32_t i = lower(over, key);
    if (!is_at(over, i, key)) {
        struct over_row *row = ARENA_NEW(over->arena, struct over_row);
        if (row == NULL || !grow(over))
            return false;
        memmove(over->rows + i + 1, over->rows + i, (over->n - i) * sizeof(struct over_row *));
        over->rows[i] = row;
        over->n++;
    }
    *over->rows[i] = (struct over_row){key, value};
    return true;
}

bool over__is_of(const struct over *over, uint64_t space)
{
    return over->space == space;
}

bool over__get(const struct over *over, const struct key *key, struct str *value)
{
    if (be64_get(key->at) != over->space)
        return false;
    const struct str own = {key->at + KIND_AT, key->len - KIND_AT};
    uint32_t i = lower(over, own);
    if (!is_at(over, i, own))
        return false;
    *value = over->rows[i]->value;
    return true;
}

bool over__stat(const struct over *over, uint64_t space, struct space_stat *stat)
{
    if (space != over->space)
        return false;
    *stat = over->stat;
    return true;
}

/* --- laying --- */

struct laying {
    struct store_txn *txn;
    struct over *over;
    const struct batch *batch;
    uint64_t seq;
};

/* Kind, key and `extra` bytes behind it, in the arena; NULL when memory is short. */
static char *new_key(const struct laying *l, const struct batch_op *op, size_t extra)
{
    char *key = arena_alloc(l->over->arena, 1 + op->key.len + extra);
    if (key == NULL)
        return NULL;
    key[0] = (char)op->kind;
    memcpy(key + 1, op->key.at, op->key.len);
    return key;
}

static enum err_code lay_block(struct laying *l, const struct batch_op *op, uint32_t block,
                               struct str rows, struct err *err)
{
    struct str old;
    size_t from = (size_t)(op->row % op->rows_per_block) * op->width;
    if (block != op->row / op->rows_per_block)
        from = 0;
    struct str key = {new_key(l, op, 4), 1 + op->key.len + 4};
    if (key.at == NULL)
        return memory(err);
    be32_set(key_writable(key.at) + 1 + op->key.len, block);
    enum err_code rc = store_get(l->txn, l->over->space, (enum store_kind)op->kind,
                                 str_part(key, 1, key.len), &old, err);
    if (rc != ERR_OK)
        return rc;
    size_t len = from + rows.len > old.len ? from + rows.len : old.len;
    /* Readers may still borrow the old one. */
    char *value = ARENA_ARRAY(l->over->arena, char, len);
    if (value == NULL)
        return memory(err);
    if (old.len != 0)
        memcpy(value, old.at, old.len);
    memcpy(value + from, rows.at, rows.len);
    return set_row(l->over, key, (struct str){value, len}) ? ERR_OK : memory(err);
}

static enum err_code lay_rows(struct laying *l, const struct batch_op *op, struct err *err)
{
    enum err_code rc = ERR_OK;
    uint32_t row = op->row;
    size_t done = 0;
    while (rc == ERR_OK && done < op->value.len) {
        size_t n = (size_t)(op->rows_per_block - row % op->rows_per_block) * op->width;
        if (n > op->value.len - done)
            n = op->value.len - done;
        rc = lay_block(l, op, row / op->rows_per_block, str_part(op->value, done, done + n), err);
        done += n;
        row += (uint32_t)(n / op->width);
    }
    return rc;
}

static enum err_code lay_op(struct laying *l, const struct batch_op *op, struct str key,
                            struct err *err)
{
    if (op->type == OP_ROWS)
        return lay_rows(l, op, err);
    if (op->type != OP_PUT && op->type != OP_DEL)
        return batch_op_count(op, &l->over->stat)
                   ? ERR_OK
                   : err_set(err, ERR_INTERNAL, "counter %u would fall below 0", op->counter);
    struct str value = op->type == OP_PUT ? op->value : STR_NONE;
    return set_row(l->over, key, value) ? ERR_OK : memory(err);
}

/* The key with the seq where it belongs; .at NULL when memory is short. */
static struct str key_of(const struct laying *l, uint32_t i)
{
    const struct batch *batch = l->batch;
    const struct batch_op *op = &batch->ops.at[i];
    char *key = new_key(l, op, 0);
    for (uint32_t f = 0; key != NULL && f < batch->fixes.n; f++) {
        const struct batch_fix *fix = &batch->fixes.at[f];
        ASSERT(fix->slot == SLOT_SEQ && fix->place == FIX_KEY);
        if (fix->op == i)
            be64_set(key + 1 + fix->offset, l->seq);
    }
    return (struct str){key, 1 + op->key.len};
}

static enum err_code start(struct store_txn *txn, const struct batch *batch, struct err *err)
{
    struct over *over = ARENA_NEW(batch->arena, struct over);
    if (over == NULL)
        return memory(err);
    over->space = batch->space;
    over->arena = batch->arena;
    enum err_code rc = store_stat(txn, batch->space, &over->stat, err);
    if (rc == ERR_OK)
        txn->over = over;
    return rc;
}

enum err_code store_lay(struct store_txn *txn, const struct batch *batch, uint32_t from,
                        uint64_t seq, struct err *err)
{
    ASSERT(batch_ok(batch) && batch->space != 0 && batch->slots.n == 0);
    ASSERT(txn->cursors_open == 0);
    enum err_code rc = txn->over == NULL ? start(txn, batch, err) : ERR_OK;
    if (rc != ERR_OK)
        return rc;
    ASSERT(txn->over != NULL && txn->over->space == batch->space);
    struct laying l = {txn, txn->over, batch, seq};
    for (uint32_t i = from; rc == ERR_OK && i < batch->ops.n; i++) {
        const struct batch_op *op = &batch->ops.at[i];
        struct str key = STR("");
        if (op->type == OP_PUT || op->type == OP_DEL)
            key = key_of(&l, i);
        rc = key.at != NULL ? lay_op(&l, op, key, err) : memory(err);
    }
    return rc;
}

/* --- walks --- */

static struct str rest_of(const struct over_row *row)
{
    return str_part(row->key, 1, row->key.len);
}

/* Our row that comes next; NULL: none in the range. */
static const struct over_row *row_of(const struct store_cursor *cursor)
{
    const struct over *over = cursor->txn->over;
    uint32_t i = cursor->walk.row;
    bool inside = i < over->n && over->rows[i]->key.at[0] == cursor->prefix[KIND_AT];
    return inside ? over->rows[i] : NULL;
}

/* Below 0: LMDB's comes first in key order; 0: it is the same key; above 0: ours. */
static int order_of(const struct over_walk *walk, const struct over_row *row, bool in_tree,
                    bool forward)
{
    if (row == NULL)
        return -1;
    if (!in_tree)
        return 1;
    int order = str_cmp(key_rest(walk->key), rest_of(row));
    return forward ? order : -order;
}

static void step_tree(struct store_cursor *cursor, bool forward)
{
    struct over_walk *walk = &cursor->walk;
    if (walk->rc == 0)
        walk->rc =
            mdb_cursor_get(cursor->mdb, &walk->key, &walk->value, forward ? MDB_NEXT : MDB_PREV);
}

/* Below 0 it is past all rows, too. */
static void step_row(struct store_cursor *cursor, bool forward)
{
    cursor->walk.row += forward ? 1 : UINT32_MAX;
}

/* Takes what comes first, past what was deleted; outside the range .key.at is NULL. Then both sides
 * stand where the walk goes on, but for `took_tree` and `took_row`. */
static enum err_code take(struct store_cursor *cursor, bool forward, struct store_item *item,
                          struct err *err)
{
    struct over_walk *walk = &cursor->walk;
    *item = (struct store_item){STR_NONE, STR_NONE};
    for (;;) {
        const struct over_row *row = row_of(cursor);
        if (walk->rc != 0 && walk->rc != MDB_NOTFOUND)
            return storage__error(err, walk->rc, "read a range");
        bool in_tree = walk->rc == 0 && key_in_range(walk->key, cursor->prefix);
        if (!in_tree && row == NULL)
            return ERR_OK;
        int order = order_of(walk, row, in_tree, forward);
        walk->took_tree = order <= 0;
        walk->took_row = order >= 0;
        if (order < 0)
            *item = (struct store_item){key_rest(walk->key), val_str(walk->value)};
        else if (row->value.at != NULL)
            *item = (struct store_item){rest_of(row), row->value};
        if (item->key.at != NULL)
            return ERR_OK;
        step_row(cursor, forward);
        if (order == 0)
            step_tree(cursor, forward);
    }
}

static void remember(struct store_cursor *cursor, const struct store_item *item)
{
    if (item->key.at != NULL)
        key_set(&cursor->current, be64_get(cursor->prefix), (unsigned char)cursor->prefix[KIND_AT],
                item->key);
}

enum err_code over__seek(struct store_cursor *cursor, const struct key *from,
                         struct store_item *item, struct err *err)
{
    struct key at = *from;
    struct over_walk *walk = &cursor->walk;
    MDB_val key = key_val(&at);
    *walk = (struct over_walk){.forward = true};
    walk->rc = mdb_cursor_get(cursor->mdb, &key, &walk->value, MDB_SET_RANGE);
    if (walk->rc == 0)
        walk->key = key;
    walk->row = lower(cursor->txn->over, (struct str){at.at + KIND_AT, at.len - KIND_AT});
    enum err_code rc = take(cursor, true, item, err);
    remember(cursor, item);
    return rc;
}

enum err_code over__next(struct store_cursor *cursor, struct store_item *item, struct err *err)
{
    struct over_walk *walk = &cursor->walk;
    enum err_code rc = ERR_OK;
    if (!walk->forward) /* it came here backwards: to the same item again */
        rc = over__seek(cursor, &cursor->current, item, err);
    if (rc == ERR_OK && walk->took_tree)
        step_tree(cursor, true);
    if (rc == ERR_OK && walk->took_row)
        step_row(cursor, true);
    if (rc == ERR_OK)
        rc = take(cursor, true, item, err);
    remember(cursor, item);
    return rc;
}

enum err_code over__backward(struct store_cursor *cursor, const struct key *from,
                             struct store_item *item, struct err *err)
{
    struct key at = *from;
    struct over_walk *walk = &cursor->walk;
    *walk = (struct over_walk){.key = key_val(&at)};
    walk->rc = mdb_cursor_get(cursor->mdb, &walk->key, &walk->value, MDB_SET_RANGE);
    walk->rc =
        mdb_cursor_get(cursor->mdb, &walk->key, &walk->value, walk->rc == 0 ? MDB_PREV : MDB_LAST);
    walk->row = lower(cursor->txn->over, (struct str){at.at + KIND_AT, at.len - KIND_AT}) - 1;
    enum err_code rc = take(cursor, false, item, err);
    remember(cursor, item);
    return rc;
}
