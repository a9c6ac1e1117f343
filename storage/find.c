/* fsck --find: does any living row, or any page of the file, still hold this text? Byte by byte. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/check.h"
#include "storage/storage_int.h"

enum { ROWS_A_SNAPSHOT = 100000, CHUNK_BYTES = 1 << 20, PAIR = 8 };

struct find {
    struct str text;
    const struct check_sink *sink;
    struct find_report *report;
    /* The end of the last part of a long text, in case the text goes on in the next one. */
    char *tail; /* text.len - 1 bytes, then room for as many */
    size_t tail_len;
    uint64_t tail_space;
    uint32_t tail_n, tail_part;
};

static uint64_t count_in(struct str text, const char *at, size_t len)
{
    uint64_t n = 0;
    while (len >= text.len) {
        const char *hit = memmem(at, len, text.at, text.len);
        if (hit == NULL)
            break;
        n++;
        len -= (size_t)(hit - at) + 1;
        at = hit + 1;
    }
    return n;
}

/* Hits that begin in the part before and end in this one. */
static uint64_t count_across(struct find *f, MDB_val key, MDB_val value)
{
    struct str rest = key_rest(key);
    if (key_kind(key) != KIND_TEXT || rest.len != PAIR || f->text.len < 2) {
        f->tail_len = 0;
        return 0;
    }
    uint64_t hits = 0;
    uint32_t n = be32_get(rest.at), part = be32_get(rest.at + 4);
    size_t most = f->text.len - 1;
    size_t head = value.mv_size < most ? value.mv_size : most;
    bool follows = f->tail_len != 0 && f->tail_space == key_space(key) && f->tail_n == n &&
                   f->tail_part + 1 == part;
    if (follows) {
        memcpy(f->tail + f->tail_len, value.mv_data, head);
        hits = count_in(f->text, f->tail, f->tail_len + head);
    }
    f->tail_len = head;
    memcpy(f->tail, (const char *)value.mv_data + value.mv_size - head, head);
    f->tail_space = key_space(key);
    f->tail_n = n;
    f->tail_part = part;
    return hits;
}

static void find_in_row(struct find *f, MDB_val key, MDB_val value)
{
    uint64_t hits = count_in(f->text, value.mv_data, value.mv_size);
    if (key.mv_size >= KEY_PREFIX) {
        struct str rest = key_rest(key);
        hits += count_in(f->text, rest.at, rest.len) + count_across(f, key, value);
    }
    if (hits == 0)
        return;
    f->report->hits += hits;
    f->report->rows++;
    const char *kind = key.mv_size >= KEY_PREFIX ? key_kind_name(key_kind(key)) : NULL;
    char line[160];
    (void)snprintf(line, sizeof line, "%llu in a row of kind %s of space %llu",
                   (unsigned long long)hits, kind != NULL ? kind : "unknown",
                   (unsigned long long)(key.mv_size >= 8 ? key_space(key) : 0));
    f->sink->line(line, f->sink->arg);
}

/* At most ROWS_A_SNAPSHOT rows from `at` on; `at` becomes the next one's key. */
static enum err_code find_some(struct store *store, struct find *f, struct key *at, bool *more,
                               struct err *err)
{
    struct store_txn *txn = NULL;
    MDB_cursor *cursor = NULL;
    MDB_val value;
    enum err_code code = store_begin(store, &txn, err);
    if (code != ERR_OK)
        return code;
    MDB_val key = key_val(at);
    int rc = mdb_cursor_open(txn->mdb, store->dbi, &cursor);
    if (rc == 0)
        rc = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
    for (unsigned n = 0; rc == 0 && n < ROWS_A_SNAPSHOT; n++) {
        find_in_row(f, key, value);
        rc = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
    }
    *more = rc == 0;
    if (rc == 0 && key.mv_size <= KEY_MAX) {
        at->len = key.mv_size;
        memcpy(at->at, key.mv_data, key.mv_size);
    }
    if (rc != 0 && rc != MDB_NOTFOUND)
        code = storage__error(err, rc, "search the data");
    if (cursor != NULL)
        mdb_cursor_close(cursor);
    store_end(txn);
    return code;
}

/* --- raw --- */

/* Counts in the file's bytes [from, to). */
static int count_in_file(int fd, struct str text, uint64_t from, uint64_t to, char *room,
                         uint64_t *hits)
{
    size_t kept = 0;
    while (from < to) {
        size_t want = to - from < CHUNK_BYTES ? (size_t)(to - from) : CHUNK_BYTES;
        ssize_t got = pread(fd, room + kept, want, (off_t)from);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return errno;
        if (got == 0)
            break;
        size_t len = kept + (size_t)got;
        *hits += count_in(text, room, len);
        kept = len < text.len - 1 ? len : text.len - 1;
        memmove(room, room + len - kept, kept);
        from += (uint64_t)got;
    }
    return 0;
}

static int pgno_cmp(const void *a, const void *b)
{
    const size_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

struct pages {
    size_t *at;
    size_t n, cap;
};

/* One row of LMDB's list of free pages: a count and so many page numbers. */
static int add_pages(struct pages *pages, MDB_val value)
{
    size_t count = 0;
    if (value.mv_size >= sizeof count)
        memcpy(&count, value.mv_data, sizeof count);
    if (count == 0)
        return 0;
    if (count > value.mv_size / sizeof count - 1)
        return MDB_CORRUPTED;
    if (pages->n + count > pages->cap) {
        size_t cap = (pages->n + count) * 2;
        size_t *at = realloc(pages->at, cap * sizeof *at);
        if (at == NULL)
            return ENOMEM;
        pages->at = at;
        pages->cap = cap;
    }
    memcpy(pages->at + pages->n, (const char *)value.mv_data + sizeof count, count * sizeof count);
    pages->n += count;
    return 0;
}

/* The list is LMDB's first tree. */
static int load_free(struct store_txn *txn, struct pages *pages)
{
    MDB_cursor *cursor = NULL;
    MDB_val key, value;
    int rc = mdb_cursor_open(txn->mdb, 0, &cursor);
    if (rc != 0)
        return rc;
    rc = mdb_cursor_get(cursor, &key, &value, MDB_FIRST);
    while (rc == 0) {
        rc = add_pages(pages, value);
        if (rc == 0)
            rc = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
    }
    mdb_cursor_close(cursor);
    return rc == MDB_NOTFOUND ? 0 : rc;
}

/* A value of several pages is whole only if a run of neighbours is read as one. */
static int find_in_pages(struct find *f, struct pages *pages, unsigned size, int fd, char *room)
{
    int rc = 0;
    if (pages->n != 0)
        qsort(pages->at, pages->n, sizeof *pages->at, pgno_cmp);
    for (size_t i = 0, end; rc == 0 && i < pages->n; i = end) {
        for (end = i + 1; end < pages->n && pages->at[end] == pages->at[end - 1] + 1; end++)
            ;
        rc = count_in_file(fd, f->text, pages->at[i] * size, (pages->at[end - 1] + 1) * size, room,
                           &f->report->free_hits);
    }
    return rc;
}

static int find_free(struct find *f, struct store_txn *txn, int fd, char *room)
{
    MDB_stat tree = {0};
    MDB_envinfo info = {0};
    struct stat file = {0};
    struct pages pages = {NULL, 0, 0};
    int rc = mdb_stat(txn->mdb, txn->store->dbi, &tree);
    if (rc == 0)
        rc = mdb_env_info(txn->env, &info);
    if (rc == 0 && fstat(fd, &file) != 0)
        rc = errno;
    if (rc == 0)
        rc = load_free(txn, &pages);
    if (rc == 0)
        rc = find_in_pages(f, &pages, tree.ms_psize, fd, room);
    uint64_t used = (info.me_last_pgno + 1) * tree.ms_psize;
    uint64_t size = (uint64_t)file.st_size;
    if (rc == 0 && size > used)
        rc = count_in_file(fd, f->text, used, size, room, &f->report->free_hits);
    if (rc == 0)
        rc = count_in_file(fd, f->text, 0, size, room, &f->report->file_hits);
    free(pages.at);
    return rc;
}

static enum err_code find_raw(struct store *store, struct find *f, struct err *err)
{
    struct store_txn *txn = NULL;
    int fd;
    char *room = malloc(CHUNK_BYTES + f->text.len);
    if (room == NULL)
        return err_set(err, ERR_EXHAUSTED, "out of memory");
    enum err_code code = store_begin(store, &txn, err);
    if (code == ERR_OK) {
        int rc = mdb_env_get_fd(txn->env, &fd);
        if (rc == 0)
            rc = find_free(f, txn, fd, room);
        if (rc != 0)
            code = storage__error(err, rc, "search the file");
    }
    store_end(txn);
    free(room);
    return code;
}

enum err_code storage_find(struct store *store, struct str text, bool raw,
                           const struct check_sink *sink, struct find_report *report,
                           struct err *err)
{
    *report = (struct find_report){0};
    if (text.len == 0)
        return err_set(err, ERR_INVALID, "there is nothing to find");
    struct find f = {.text = text, .sink = sink, .report = report};
    struct key at = {.len = 1, .at = {0}};
    bool more = true;
    f.tail = malloc(2 * text.len);
    if (f.tail == NULL)
        return err_set(err, ERR_EXHAUSTED, "out of memory");
    enum err_code code = ERR_OK;
    while (code == ERR_OK && more)
        code = find_some(store, &f, &at, &more, err);
    if (code == ERR_OK && raw)
        code = find_raw(store, &f, err);
    free(f.tail);
    return code;
}
