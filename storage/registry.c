/* Names, counters and the rows of space 0, as readers see them. */
#include "storage/storage_int.h"

int registry__get(MDB_txn *txn, MDB_dbi dbi, struct str name, struct registry_row *row, bool *found)
{
    struct key at;
    MDB_val value;
    key_set(&at, 0, KIND_REGISTRY, name);
    MDB_val key = key_val(&at);
    int rc = mdb_get(txn, dbi, &key, &value);
    *found = rc == 0;
    if (rc != 0)
        return rc == MDB_NOTFOUND ? 0 : rc;
    if (value.mv_size != sizeof *row)
        return STORAGE_DAMAGED;
    memcpy(row, value.mv_data, sizeof *row);
    return 0;
}

int registry__put(MDB_txn *txn, MDB_dbi dbi, struct str name, const struct registry_row *row)
{
    struct key at;
    key_set(&at, 0, KIND_REGISTRY, name);
    MDB_val key = key_val(&at);
    MDB_val value = str_val((struct str){(const char *)row, sizeof *row});
    return mdb_put(txn, dbi, &key, &value, 0);
}

int format__get(MDB_txn *txn, MDB_dbi dbi, struct format_row *row)
{
    struct key at;
    MDB_val value;
    key_set(&at, 0, KIND_FORMAT, STR(""));
    MDB_val key = key_val(&at);
    int rc = mdb_get(txn, dbi, &key, &value);
    if (rc != 0)
        return rc;
    if (value.mv_size < sizeof *row)
        return STORAGE_DAMAGED;
    memcpy(row, value.mv_data, sizeof *row);
    return 0;
}

int format__put(MDB_txn *txn, MDB_dbi dbi, const struct format_row *row)
{
    struct key at;
    key_set(&at, 0, KIND_FORMAT, STR(""));
    MDB_val key = key_val(&at);
    MDB_val value = str_val((struct str){(const char *)row, sizeof *row});
    return mdb_put(txn, dbi, &key, &value, 0);
}

bool stat__unpack(MDB_val value, struct space_stat *stat)
{
    /* A counter that was added to the table since is 0 in older rows. */
    if (value.mv_size > sizeof *stat || value.mv_size % sizeof stat->v[0] != 0)
        return false;
    *stat = (struct space_stat){{0}};
    memcpy(stat, value.mv_data, value.mv_size);
    return true;
}

enum err_code store_space_find(struct store_txn *txn, struct str name, uint64_t *space,
                               struct err *err)
{
    struct registry_row row = {0, 0};
    bool found = false;
    *space = 0;
    if (name.len > KEY_REST_MAX) /* longer than a name can be, so there is none */
        return ERR_OK;
    int rc = registry__get(txn->mdb, txn->store->dbi, name, &row, &found);
    if (rc != 0)
        return storage__error(err, rc, "look up a space");
    *space = found ? row.id : 0;
    return ERR_OK;
}

enum err_code store_stat(struct store_txn *txn, uint64_t space, struct space_stat *stat,
                         struct err *err)
{
    struct key at;
    MDB_val value;
    if (txn->over != NULL && over__stat(txn->over, space, stat))
        return ERR_OK;
    key_set(&at, space, KIND_STAT, STR(""));
    MDB_val key = key_val(&at);
    int rc = mdb_get(txn->mdb, txn->store->dbi, &key, &value);
    if (rc == MDB_NOTFOUND)
        return err_set(err, ERR_NOT_FOUND, "the space is gone");
    if (rc != 0)
        return storage__error(err, rc, "read counters");
    if (!stat__unpack(value, stat))
        return storage__error(err, STORAGE_DAMAGED, "read counters");
    return ERR_OK;
}

/* NOLINTNEXTLINE(readability-function-size): what is asked for, from where, and where it goes */
enum err_code store_spaces_list(struct store_txn *txn, struct str prefix, struct str after,
                                struct store_space *spaces, size_t max, size_t *n, struct err *err)
{
    struct store_cursor *cursor = NULL;
    struct store_item item;
    *n = 0;
    enum err_code code = store_cursor_open(txn, 0, KIND_REGISTRY, &cursor, err);
    if (code != ERR_OK)
        return code;
    bool go_on = after.at != NULL && str_cmp(after, prefix) >= 0;
    code = store_cursor_seek(cursor, go_on ? after : prefix, &item, err);
    if (code == ERR_OK && go_on && item.key.at != NULL && str_eq(item.key, after))
        code = store_cursor_next(cursor, &item, err);
    while (code == ERR_OK && *n < max && item.key.at != NULL && str_starts(item.key, prefix)) {
        /* A damaged row is no space; fsck tells of it. */
        bool sound = item.value.len == sizeof(struct registry_row);
        uint64_t id = sound ? le64_get(item.value.at) : 0;
        if (id != 0)
            spaces[(*n)++] = (struct store_space){item.key, id};
        code = store_cursor_next(cursor, &item, err);
    }
    store_cursor_close(cursor);
    return code;
}

enum err_code storage_due_next(struct store_txn *txn, uint64_t after_ms, uint64_t after_space,
                               uint64_t *due_ms, uint64_t *space, struct err *err)
{
    struct store_cursor *cursor = NULL;
    struct store_item item;
    char from[16];
    *space = 0;
    enum err_code code = store_cursor_open(txn, 0, KIND_DUE, &cursor, err);
    if (code != ERR_OK)
        return code;
    be64_set(from, after_ms);
    be64_set(from + 8, after_space + 1);
    code = store_cursor_seek(cursor, (struct str){from, sizeof from}, &item, err);
    if (code == ERR_OK && item.key.at != NULL) {
        if (item.key.len == sizeof from) {
            *due_ms = be64_get(item.key.at);
            *space = be64_get(item.key.at + 8);
        } else {
            code = storage__error(err, STORAGE_DAMAGED, "list due spaces");
        }
    }
    store_cursor_close(cursor);
    return code;
}

enum err_code storage_dead_next(struct store_txn *txn, uint64_t after, uint64_t *space,
                                struct err *err)
{
    struct store_cursor *cursor = NULL;
    struct store_item item;
    char from[8];
    *space = 0;
    enum err_code code = store_cursor_open(txn, 0, KIND_DEAD, &cursor, err);
    if (code != ERR_OK)
        return code;
    be64_set(from, after + 1);
    code = store_cursor_seek(cursor, (struct str){from, sizeof from}, &item, err);
    if (code == ERR_OK && item.key.at != NULL) {
        if (item.key.len == sizeof from)
            *space = be64_get(item.key.at);
        else
            code = storage__error(err, STORAGE_DAMAGED, "list deleted spaces");
    }
    store_cursor_close(cursor);
    return code;
}
