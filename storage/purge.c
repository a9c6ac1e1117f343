/* A deleted space's range goes in bounded steps, each a commit of its own between other work. The
 * DEAD row goes with the last of them, so a crash at any point resumes. */
#include "core/base/fault.h"
#include "storage/storage_int.h"

/* The first DEAD row; *space 0 when there is none. */
static int first_dead(MDB_cursor *cursor, uint64_t *space)
{
    struct key at;
    MDB_val value;
    *space = 0;
    key_set(&at, 0, KIND_DEAD, STR(""));
    MDB_val key = key_val(&at);
    int rc = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
    if (rc == MDB_NOTFOUND)
        return 0;
    if (rc == 0 && key_in_range(key, at.at)) {
        if (key.mv_size != KEY_PREFIX + 8)
            return STORAGE_DAMAGED;
        *space = be64_get(key_rest(key).at);
    }
    return rc;
}

static int delete_rows(MDB_cursor *cursor, uint64_t space, unsigned max, bool *more)
{
    struct key at;
    MDB_val value;
    key_set(&at, space, 0, STR(""));
    MDB_val key = key_val(&at);
    int rc = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
    unsigned n = 0;
    while (rc == 0 && n < max && key_space(key) == space) {
        rc = mdb_cursor_del(cursor, 0);
        n++;
        if (rc == 0)
            rc = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
    }
    *more = rc == 0 && key_space(key) == space;
    return rc == MDB_NOTFOUND ? 0 : rc;
}

int purge__first(MDB_txn *txn, MDB_dbi dbi, uint64_t *space)
{
    MDB_cursor *cursor = NULL;
    int rc = mdb_cursor_open(txn, dbi, &cursor);
    if (rc != 0)
        return rc;
    rc = first_dead(cursor, space);
    mdb_cursor_close(cursor);
    return rc;
}

int purge__step(MDB_txn *txn, MDB_dbi dbi, uint64_t *space, bool *more)
{
    MDB_cursor *cursor = NULL;
    *more = false;
    *space = 0;
    int rc = mdb_cursor_open(txn, dbi, &cursor);
    if (rc != 0)
        return rc;
    rc = first_dead(cursor, space);
    if (rc != 0 || *space == 0)
        goto out;
    rc = delete_rows(cursor, *space, PURGE_ROWS, more);
    if (rc != 0)
        goto out;
    if (!*more) {
        struct key at;
        key_set_u64(&at, 0, KIND_DEAD, *space);
        MDB_val key = key_val(&at);
        rc = mdb_del(txn, dbi, &key, NULL);
        *more = true; /* perhaps another space; the next step finds out */
    }
    if (rc == 0)
        rc = fault_point(FAULT_PURGE_BEFORE_COMMIT);
out:
    mdb_cursor_close(cursor);
    return rc;
}
