/* The store's state and sizes, for readiness, metrics and GET of a space. */
#include <limits.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "storage/storage_int.h"

static void file_sizes(struct store *store, struct store_health *health)
{
    struct stat st;
    struct statvfs fs;
    int fd;
    if (mdb_env_get_fd(store->env, &fd) != 0)
        return;
    if (fstat(fd, &st) == 0)
        health->file_bytes = (uint64_t)st.st_size;
    if (fstatvfs(fd, &fs) == 0)
        health->disk_free_bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
}

static void tree_sizes(struct store *store, struct store_health *health)
{
    MDB_envinfo info;
    MDB_stat stat;
    if (mdb_env_info(store->env, &info) == 0)
        health->map_bytes = info.me_mapsize;
    /* The main tree's pages from the newest meta page: nothing is walked. */
    struct store_txn *txn = NULL;
    if (store_begin(store, &txn, NULL) != ERR_OK)
        return;
    if (mdb_stat(txn->mdb, store->dbi, &stat) == 0)
        health->used_bytes =
            (stat.ms_branch_pages + stat.ms_leaf_pages + stat.ms_overflow_pages) * stat.ms_psize;
    store_end(txn);
}

void store_health(struct store *store, struct store_health *health)
{
    *health = (struct store_health){.state = (enum store_state)atomic_load(&store->state)};
    if (atomic_load(&store->stopping) && health->state == STORE_OK)
        health->state = STORE_STOPPING;
    health->readers = atomic_load(&store->readers);
    file_sizes(store, health);
    tree_sizes(store, health);
    if (store->writer != NULL)
        writer__figures(store, health);
}

/* --- a space's bytes --- */

enum { SAMPLE_ROWS = 256, PAGE = 4096, NODE_HEAD = 8 + 2, PAGE_HEAD = 16, IN_PAGE_MAX = 2040 };

/* What a row takes in the tree: a node in a leaf, or a head there and pages of its own. */
static uint64_t row_bytes(const struct store_item *item)
{
    uint64_t node = NODE_HEAD + KEY_PREFIX + item->key.len;
    if (node + item->value.len <= IN_PAGE_MAX)
        return node + item->value.len;
    return node + 8 + (item->value.len + PAGE_HEAD + PAGE - 1) / PAGE * PAGE;
}

/* A key's place in its range as a number: its first bytes after those that all keys share. */
static double key_number(struct str key, size_t skip)
{
    double number = 0;
    for (size_t i = 0; i < 8; i++)
        number = number * 256 + (skip + i < key.len ? (unsigned char)key.at[skip + i] : 0);
    return number;
}

static size_t shared_bytes(struct str a, struct str b)
{
    size_t n = 0;
    while (n < a.len && n < b.len && a.at[n] == b.at[n])
        n++;
    return n;
}

/* Keys from `from` on and below `behind` (absent: all). */
struct key_range {
    struct str from, behind;
};

static bool is_in(const struct store_item *item, const struct key_range *range)
{
    return item->key.at != NULL &&
           (range->behind.at == NULL || str_cmp(item->key, range->behind) < 0);
}

/* The first SAMPLE_ROWS rows are counted; what follows is taken to be as dense as they are. Keys
 * are numbers, given out in order, or hashes, spread evenly; client-chosen names are the exception,
 * and there the estimate may be off. */
static enum err_code range_bytes(struct store_cursor *cursor, const struct key_range *range,
                                 double *bytes, struct err *err)
{
    struct store_item item, last;
    char first[KEY_REST_MAX], end[KEY_REST_MAX];
    size_t n = 0, first_len = 0, end_len = 0;
    uint64_t sum = 0;
    enum err_code code = store_cursor_seek(cursor, range->from, &item, err);
    while (code == ERR_OK && is_in(&item, range) && n < SAMPLE_ROWS) {
        sum += row_bytes(&item);
        if (n++ == 0)
            memcpy(first, item.key.at, first_len = item.key.len);
        memcpy(end, item.key.at, end_len = item.key.len);
        code = store_cursor_next(cursor, &item, err);
    }
    *bytes += (double)sum;
    if (code != ERR_OK || !is_in(&item, range))
        return code;
    code = store_cursor_seek_before(cursor, range->behind, &last, err);
    if (code != ERR_OK)
        return code;
    size_t skip = shared_bytes((struct str){first, first_len}, last.key);
    double from = key_number((struct str){first, first_len}, skip);
    double to = key_number((struct str){end, end_len}, skip);
    double all = key_number(last.key, skip);
    if (to > from && all > to)
        *bytes += (double)sum * (all - to) / (to - from);
    return ERR_OK;
}

/* Where keys begin with a letter that tells sorts of rows apart, each has numbers of its own. */
static bool is_lettered(enum store_kind kind)
{
    return kind == KIND_HISTORY || kind == KIND_LENGTH || kind == KIND_COLUMN;
}

static enum err_code kind_bytes(struct store_cursor *cursor, enum store_kind kind, double *bytes,
                                struct err *err)
{
    if (!is_lettered(kind))
        return range_bytes(cursor, &(struct key_range){STR(""), STR_NONE}, bytes, err);
    char low[1] = {0}, high[1] = {0};
    for (;;) {
        struct store_item item;
        enum err_code code = store_cursor_seek(cursor, (struct str){high, 1}, &item, err);
        if (code != ERR_OK || item.key.at == NULL || (unsigned char)item.key.at[0] == UCHAR_MAX)
            return code;
        low[0] = item.key.at[0];
        high[0] = (char)((unsigned char)low[0] + 1);
        code = range_bytes(cursor, &(struct key_range){{low, 1}, {high, 1}}, bytes, err);
        if (code != ERR_OK)
            return code;
    }
}

/* No estimate is above what the whole file holds. */
static uint64_t held_bytes(struct store_txn *txn)
{
    MDB_stat stat;
    if (mdb_stat(txn->mdb, txn->store->dbi, &stat) != 0)
        return 0;
    return (stat.ms_branch_pages + stat.ms_leaf_pages + stat.ms_overflow_pages) * stat.ms_psize;
}

enum err_code store_space_bytes(struct store_txn *txn, uint64_t space, uint64_t *bytes,
                                struct err *err)
{
    static const uint8_t kinds[] = {
#define X(name, letter, key, value) KIND_##name,
        STORE_KIND_TABLE(X)
#undef X
    };
    enum err_code code = ERR_OK;
    double sum = 0;
    for (size_t i = 0; code == ERR_OK && i < sizeof kinds; i++) {
        struct store_cursor *cursor = NULL;
        code = store_cursor_open(txn, space, (enum store_kind)kinds[i], &cursor, err);
        if (code == ERR_OK)
            code = kind_bytes(cursor, (enum store_kind)kinds[i], &sum, err);
        store_cursor_close(cursor);
    }
    uint64_t held = held_bytes(txn);
    *bytes = sum < (double)held ? (uint64_t)sum : held;
    return code;
}
