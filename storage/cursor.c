#include <errno.h>
#include <stdlib.h>

#include "storage/storage_int.h"

/* LMDB's cursor leaves the range when it passes an end; `place` remembers which end that was, so
 * that a further step stays there and a step back enters the range again. */
enum cursor_place { PLACE_UNSET, PLACE_AT, PLACE_BEFORE, PLACE_AFTER };

enum err_code store_cursor_open(struct store_txn *txn, uint64_t space, enum store_kind kind,
                                struct store_cursor **cursor, struct err *err)
{
    int rc = 0;
    struct store_cursor *taken = txn->spare;
    if (taken != NULL) {
        txn->spare = taken->next;
        rc = mdb_cursor_renew(txn->mdb, taken->mdb);
    } else {
        taken = calloc(1, sizeof *taken);
        rc = taken == NULL ? ENOMEM : mdb_cursor_open(txn->mdb, txn->store->dbi, &taken->mdb);
    }
    *cursor = NULL;
    if (rc != 0) {
        if (taken != NULL && taken->mdb != NULL)
            mdb_cursor_close(taken->mdb);
        free(taken);
        return storage__error(err, rc, "open a cursor");
    }
    taken->txn = txn;
    taken->place = PLACE_UNSET;
    be64_set(taken->prefix, space);
    taken->prefix[8] = (char)kind;
    txn->cursors_open++;
    *cursor = taken;
    return ERR_OK;
}

void store_cursor_close(struct store_cursor *cursor)
{
    if (cursor == NULL)
        return;
    struct store_txn *txn = cursor->txn;
    txn->cursors_open--;
    cursor->next = txn->spare;
    txn->spare = cursor;
}

/* LMDB's answer to a move. */
struct answer {
    int rc;
    MDB_val key, value;
};

static struct answer move(struct store_cursor *cursor, MDB_val key, MDB_cursor_op how)
{
    struct answer answer = {.key = key};
    answer.rc = mdb_cursor_get(cursor->mdb, &answer.key, &answer.value, how);
    return answer;
}

/* Turns the answer into an item; outside the range it is `end`. */
static enum err_code settle(struct store_cursor *cursor, const struct answer *answer,
                            enum cursor_place end, struct store_item *item, struct err *err)
{
    if (answer->rc != 0 && answer->rc != MDB_NOTFOUND)
        return storage__error(err, answer->rc, "read a range");
    if (answer->rc == MDB_NOTFOUND || !key_in_range(answer->key, cursor->prefix)) {
        cursor->place = (uint8_t)end;
        *item = (struct store_item){STR_NONE, STR_NONE};
        return ERR_OK;
    }
    cursor->place = PLACE_AT;
    item->key = key_rest(answer->key);
    item->value = val_str(answer->value);
    return ERR_OK;
}

static void full_key(const struct store_cursor *cursor, struct str rest, struct key *key)
{
    key_set(key, be64_get(cursor->prefix), (unsigned char)cursor->prefix[8], rest);
}

/* --- with something laid over the snapshot (over.c) --- */

static bool is_over(const struct store_cursor *cursor)
{
    return cursor->txn->over != NULL && over__is_of(cursor->txn->over, be64_get(cursor->prefix));
}

static enum err_code forward(struct store_cursor *cursor, const struct key *from,
                             struct store_item *item, struct err *err)
{
    enum err_code rc =
        from != NULL ? over__seek(cursor, from, item, err) : over__next(cursor, item, err);
    cursor->place = item->key.at != NULL ? PLACE_AT : PLACE_AFTER;
    return rc;
}

static enum err_code backward(struct store_cursor *cursor, const struct key *from,
                              struct store_item *item, struct err *err)
{
    enum err_code rc = over__backward(cursor, from, item, err);
    cursor->place = item->key.at != NULL ? PLACE_AT : PLACE_BEFORE;
    return rc;
}

/* --- moves --- */

enum err_code store_cursor_seek(struct store_cursor *cursor, struct str rest,
                                struct store_item *item, struct err *err)
{
    struct key at;
    full_key(cursor, rest, &at);
    if (is_over(cursor))
        return forward(cursor, &at, item, err);
    struct answer answer = move(cursor, key_val(&at), MDB_SET_RANGE);
    return settle(cursor, &answer, PLACE_AFTER, item, err);
}

enum err_code store_cursor_seek_before(struct store_cursor *cursor, struct str rest,
                                       struct store_item *item, struct err *err)
{
    struct key at;
    full_key(cursor, rest, &at);
    if (rest.at == NULL)
        at.at[8]++; /* the end of this kind's range: no kind has the greatest byte */
    if (is_over(cursor))
        return backward(cursor, &at, item, err);
    struct answer answer = move(cursor, key_val(&at), MDB_SET_RANGE);
    if (answer.rc == 0)
        answer = move(cursor, key_val(&at), MDB_PREV);
    else if (answer.rc == MDB_NOTFOUND)
        answer = move(cursor, key_val(&at), MDB_LAST);
    return settle(cursor, &answer, PLACE_BEFORE, item, err);
}

enum err_code store_cursor_next(struct store_cursor *cursor, struct store_item *item,
                                struct err *err)
{
    if (cursor->place == PLACE_UNSET || cursor->place == PLACE_BEFORE)
        return store_cursor_seek(cursor, STR(""), item, err);
    struct answer answer = {.rc = MDB_NOTFOUND};
    if (cursor->place == PLACE_AT && is_over(cursor))
        return forward(cursor, NULL, item, err);
    if (cursor->place == PLACE_AT)
        answer = move(cursor, (MDB_val){0, NULL}, MDB_NEXT);
    return settle(cursor, &answer, PLACE_AFTER, item, err);
}

enum err_code store_cursor_prev(struct store_cursor *cursor, struct store_item *item,
                                struct err *err)
{
    if (cursor->place == PLACE_UNSET || cursor->place == PLACE_AFTER)
        return store_cursor_seek_before(cursor, STR_NONE, item, err);
    struct answer answer = {.rc = MDB_NOTFOUND};
    if (cursor->place == PLACE_AT && is_over(cursor))
        return backward(cursor, &cursor->current, item, err);
    if (cursor->place == PLACE_AT)
        answer = move(cursor, (MDB_val){0, NULL}, MDB_PREV);
    return settle(cursor, &answer, PLACE_BEFORE, item, err);
}
