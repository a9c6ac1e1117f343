/* What store_lay() laid over a snapshot: the rows of one space as they will be, in key order, and
 * walks over them and the tree at once. Each step finds its place anew from the key of the last
 * item; LMDB has a short way for a place on the page where its cursor stands. */
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

/* Both sides of a walk: what LMDB answered, and the next row of ours. */
struct sides {
    struct store_cursor *cursor;
    int rc;
    MDB_val key, value;
    const struct over_row *row; /* NULL: none in the range */
};

static struct str rest_of(const struct over_row *row)
{
    return str_part(row->key, 1, row->key.len);
}

static void look(struct sides *s, const struct over *over, uint32_t i)
{
    s->row = i < over->n && over->rows[i]->key.at[0] == s->cursor->prefix[KIND_AT] ? over->rows[i]
                                                                                   : NULL;
}

/* Below 0: LMDB's comes first in key order; 0: it is the same key; above 0: ours. */
static int order_of(const struct sides *s, bool in_tree, bool forward)
{
    if (s->row == NULL)
        return -1;
    if (!in_tree)
        return 1;
    int order = str_cmp(key_rest(s->key), rest_of(s->row));
    return forward ? order : -order;
}

/* Takes what comes first, past what was deleted; outside the range .key.at is NULL. */
static enum err_code take(struct sides *s, uint32_t i, bool forward, struct store_item *item,
                          struct err *err)
{
    const struct over *over = s->cursor->txn->over;
    MDB_cursor_op step = forward ? MDB_NEXT : MDB_PREV;
    *item = (struct store_item){STR_NONE, STR_NONE};
    for (;; look(s, over, i)) {
        if (s->rc != 0 && s->rc != MDB_NOTFOUND)
            return storage__error(err, s->rc, "read a range");
        bool in_tree = s->rc == 0 && key_in_range(s->key, s->cursor->prefix);
        if (!in_tree && s->row == NULL)
            return ERR_OK;
        int order = order_of(s, in_tree, forward);
        if (order < 0) {
            *item = (struct store_item){key_rest(s->key), val_str(s->value)};
            return ERR_OK;
        }
        if (s->row->value.at != NULL) {
            *item = (struct store_item){rest_of(s->row), s->row->value};
            return ERR_OK;
        }
        if (order == 0)
            s->rc = mdb_cursor_get(s->cursor->mdb, &s->key, &s->value, step);
        i = forward ? i + 1 : i - 1; /* below 0 it is past all rows, too */
    }
}

static void remember(struct store_cursor *cursor, const struct store_item *item)
{
    if (item->key.at != NULL)
        key_set(&cursor->current, be64_get(cursor->prefix), (unsigned char)cursor->prefix[KIND_AT],
                item->key);
}

enum err_code over__forward(struct store_cursor *cursor, const struct key *from, bool behind,
                            struct store_item *item, struct err *err)
{
    const struct over *over = cursor->txn->over;
    struct key at = *from;
    struct str own = {at.at + KIND_AT, at.len - KIND_AT};
    struct sides s = {.cursor = cursor, .key = key_val(&at)};
    s.rc = mdb_cursor_get(cursor->mdb, &s.key, &s.value, MDB_SET_RANGE);
    if (behind && s.rc == 0 && str_eq(val_str(s.key), val_str(key_val(&at))))
        s.rc = mdb_cursor_get(cursor->mdb, &s.key, &s.value, MDB_NEXT);
    uint32_t i = lower(over, own);
    i += behind && is_at(over, i, own);
    look(&s, over, i);
    enum err_code rc = take(&s, i, true, item, err);
    remember(cursor, item);
    return rc;
}

enum err_code over__backward(struct store_cursor *cursor, const struct key *from,
                             struct store_item *item, struct err *err)
{
    const struct over *over = cursor->txn->over;
    struct key at = *from;
    struct sides s = {.cursor = cursor, .key = key_val(&at)};
    s.rc = mdb_cursor_get(cursor->mdb, &s.key, &s.value, MDB_SET_RANGE);
    s.rc = mdb_cursor_get(cursor->mdb, &s.key, &s.value, s.rc == 0 ? MDB_PREV : MDB_LAST);
    uint32_t i = lower(over, (struct str){at.at + KIND_AT, at.len - KIND_AT}) - 1;
    look(&s, over, i);
    enum err_code rc = take(&s, i, false, item, err);
    remember(cursor, item);
    return rc;
}
