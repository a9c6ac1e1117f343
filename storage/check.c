#include "storage/check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "storage/check_int.h"

#define CHECK_ARENA_BYTES ((size_t)16 << 30)
enum { NAMES_A_PAGE = 256 };

void check__problem(struct check *c, const char *fmt, ...)
{
    c->report->problems++;
    if (c->problems++ >= CHECK_LINES_MAX)
        return;
    char text[400], line[600];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (c->name.at != NULL)
        (void)snprintf(line, sizeof line, "space %.*s (%llu): %s", STR_FMT(c->name),
                       (unsigned long long)c->space, text);
    else
        (void)snprintf(line, sizeof line, "%s", text);
    c->sink->line(line, c->sink->arg);
}

void check__equal(struct check *c, const char *what, uint64_t is, uint64_t should)
{
    if (is != should)
        check__problem(c, "%s is %llu, should be %llu", what, (unsigned long long)is,
                       (unsigned long long)should);
}

enum err_code check__each(struct check *c, enum store_kind kind, check_row_fn *row, struct err *err)
{
    struct store_cursor *cursor = NULL;
    struct store_item item;
    enum err_code code = store_cursor_open(c->txn, c->space, kind, &cursor, err);
    if (code == ERR_OK)
        code = store_cursor_next(cursor, &item, err);
    while (code == ERR_OK && item.key.at != NULL) {
        code = row(c, &item, err);
        if (code == ERR_OK)
            code = store_cursor_next(cursor, &item, err);
    }
    store_cursor_close(cursor);
    return code;
}

void *check__array(struct check *c, size_t n, size_t size, struct err *err)
{
    void *at = arena_zalloc(c->arena, n, size);
    if (at == NULL)
        (void)err_set(err, ERR_EXHAUSTED, "out of memory while checking space %.*s",
                      STR_FMT(c->name));
    return at;
}

/* --- one space --- */

enum err_code check__open_space(struct store *store, struct str name, struct check *c, bool *found,
                                struct err *err)
{
    struct registry_row row = {0, 0};
    *found = false;
    enum err_code code = store_begin(store, &c->txn, err);
    if (code != ERR_OK)
        return code;
    int rc = registry__get(c->txn->mdb, store->dbi, name, &row, found);
    if (rc != 0)
        code = storage__error(err, rc, "look up a space");
    *found = *found && row.id != 0;
    if (code != ERR_OK || !*found)
        goto out;
    c->name = name;
    c->space = row.id;
    c->base_seq = row.last_seq;
    c->problems = 0;
    c->arena = arena_new(CHECK_ARENA_BYTES);
    if (c->arena == NULL)
        code = err_set(err, ERR_EXHAUSTED, "out of memory");
out:
    if (code != ERR_OK || !*found)
        check__close_space(c);
    return code;
}

void check__close_space(struct check *c)
{
    arena_free(c->arena);
    c->arena = NULL;
    store_end(c->txn);
    c->txn = NULL;
}

struct space_run {
    const struct check_sink *sink;
    struct check_report *report;
};

static enum err_code check_loaded(struct check *c, struct err *err)
{
    enum err_code code = check__rows(c, err);
    if (code == ERR_OK)
        code = check__work(c, err);
    if (code == ERR_OK)
        code = check__load(c, err);
    if (code == ERR_OK)
        code = check__graph(c, err);
    if (code == ERR_OK)
        code = check__index(c, err);
    if (code == ERR_OK)
        code = check__columns(c, err);
    if (code == ERR_OK)
        code = check__vectors(c, err);
    if (code == ERR_OK && c->problems > CHECK_LINES_MAX)
        c->sink->line("(further problems of this space are only counted)", c->sink->arg);
    return code;
}

static enum err_code check_space(struct store *store, struct str name, void *arg, struct err *err)
{
    struct space_run *run = arg;
    struct check c = {.sink = run->sink, .report = run->report};
    bool found;
    enum err_code code = check__open_space(store, name, &c, &found, err);
    if (code != ERR_OK || !found)
        return code;
    run->report->spaces++;
    code = store_stat(c.txn, c.space, &c.stat, err);
    if (code == ERR_OK)
        code = check_loaded(&c, err);
    else
        check__problem(&c, "%s", err->message);
    check__close_space(&c);
    if (code == ERR_NOT_FOUND || code == ERR_INTERNAL)
        code = c.problems != 0 ? ERR_OK : code; /* told already; the next space may be sound */
    return code;
}

/* Names of living spaces, a page at a time, copied so that no snapshot outlives the page. */
struct name_page {
    struct arena *arena;
    struct store_space spaces[NAMES_A_PAGE];
    size_t n;
    char last[KEY_REST_MAX];
    struct str after;
};

static enum err_code turn_page(struct store *store, struct name_page *page, struct err *err)
{
    struct store_txn *txn = NULL;
    arena_reset(page->arena);
    enum err_code code = store_begin(store, &txn, err);
    if (code == ERR_OK)
        code =
            store_spaces_list(txn, STR(""), page->after, page->spaces, NAMES_A_PAGE, &page->n, err);
    for (size_t i = 0; code == ERR_OK && i < page->n; i++) {
        struct str name = page->spaces[i].name;
        memcpy(page->last, name.at, name.len);
        page->after = (struct str){page->last, name.len};
        page->spaces[i].name = str_copy(page->arena, name);
        if (page->spaces[i].name.at == NULL)
            code = err_set(err, ERR_EXHAUSTED, "out of memory");
    }
    store_end(txn);
    return code;
}

enum err_code check__each_space(struct store *store, check_space_fn *visit, void *arg,
                                struct err *err)
{
    struct name_page *page = calloc(1, sizeof *page);
    if (page == NULL)
        return err_set(err, ERR_EXHAUSTED, "out of memory");
    page->arena = arena_new((size_t)NAMES_A_PAGE * 2 * KEY_MAX);
    page->n = NAMES_A_PAGE;
    enum err_code code = ERR_OK;
    if (page->arena == NULL)
        code = err_set(err, ERR_EXHAUSTED, "out of memory");
    while (code == ERR_OK && page->n == NAMES_A_PAGE) {
        code = turn_page(store, page, err);
        for (size_t i = 0; code == ERR_OK && i < page->n; i++)
            code = visit(store, page->spaces[i].name, arg, err);
    }
    arena_free(page->arena);
    free(page);
    return code;
}

/* --- the system's rows --- */

static bool has_stat(struct check *c, uint64_t space, struct space_stat *stat)
{
    struct err err;
    return store_stat(c->txn, space, stat, &err) == ERR_OK;
}

static uint64_t next_space(struct check *c)
{
    struct format_row row;
    if (format__get(c->txn->mdb, c->txn->store->dbi, &row) == 0)
        return row.next_space;
    check__problem(c, "the format row is missing");
    return 0;
}

static enum err_code check_registry(struct check *c, const struct store_item *item, struct err *err)
{
    struct space_stat stat;
    struct str meta;
    if (item->value.len != sizeof(struct registry_row)) {
        check__problem(c, "the registry row of %.*s is damaged", STR_FMT(item->key));
        return ERR_OK;
    }
    uint64_t id = le64_get(item->value.at);
    if (id == 0)
        return ERR_OK;
    if (id >= next_space(c)) /* S7 */
        check__problem(c, "space %.*s has id %llu, which was not given out yet", STR_FMT(item->key),
                       (unsigned long long)id);
    if (!has_stat(c, id, &stat))
        check__problem(c, "space %.*s has no counters", STR_FMT(item->key));
    else if (stat.v[STAT_SEQ] < le64_get(item->value.at + 8))
        check__problem(c, "space %.*s has a seq below that of its earlier life",
                       STR_FMT(item->key));
    enum err_code code = store_get(c->txn, id, KIND_META, STR(""), &meta, err);
    if (code == ERR_OK && meta.at == NULL)
        check__problem(c, "space %.*s has no settings", STR_FMT(item->key));
    return code;
}

static enum err_code check_due(struct check *c, const struct store_item *item, struct err *err)
{
    (void)err;
    struct space_stat stat;
    if (item->key.len != 16) {
        check__problem(c, "a due row is damaged");
        return ERR_OK;
    }
    uint64_t space = be64_get(item->key.at + 8);
    if (!has_stat(c, space, &stat) || stat.v[STAT_DUE] != be64_get(item->key.at) + 1) /* S6 */
        check__problem(c, "the due row of space %llu does not agree with its counters",
                       (unsigned long long)space);
    return ERR_OK;
}

static enum err_code check_dead(struct check *c, const struct store_item *item, struct err *err)
{
    (void)err;
    struct space_stat stat;
    if (item->key.len != 8)
        check__problem(c, "a row of a deleted space is damaged");
    else if (has_stat(c, be64_get(item->key.at), &stat)) /* S6 */
        check__problem(c, "space %llu is deleted and still has counters",
                       (unsigned long long)be64_get(item->key.at));
    return ERR_OK;
}

/* Ids that names or DEAD rows account for, ascending. */
struct known_ids {
    uint64_t *at;
    size_t n, cap;
};

static enum err_code know(struct check *c, struct known_ids *ids, uint64_t id, struct err *err)
{
    if (ids->n == ids->cap) {
        size_t cap = ids->cap == 0 ? 1024 : ids->cap * 2;
        uint64_t *at = check__array(c, cap, sizeof *at, err);
        if (at == NULL)
            return ERR_EXHAUSTED;
        if (ids->n != 0)
            memcpy(at, ids->at, ids->n * sizeof *at);
        ids->at = at;
        ids->cap = cap;
    }
    ids->at[ids->n++] = id;
    return ERR_OK;
}

static int id_cmp(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static enum err_code gather_ids(struct check *c, struct known_ids *ids, struct err *err)
{
    struct store_cursor *cursor = NULL;
    struct store_item item;
    static const uint8_t kinds[] = {KIND_REGISTRY, KIND_DEAD};
    enum err_code code = know(c, ids, 0, err);
    for (size_t k = 0; code == ERR_OK && k < 2; k++) {
        code = store_cursor_open(c->txn, 0, (enum store_kind)kinds[k], &cursor, err);
        if (code == ERR_OK)
            code = store_cursor_next(cursor, &item, err);
        while (code == ERR_OK && item.key.at != NULL) {
            if (kinds[k] == KIND_DEAD && item.key.len == 8)
                code = know(c, ids, be64_get(item.key.at), err);
            else if (item.value.len >= 8)
                code = know(c, ids, le64_get(item.value.at), err);
            if (code == ERR_OK)
                code = store_cursor_next(cursor, &item, err);
        }
        store_cursor_close(cursor);
        cursor = NULL;
    }
    if (code == ERR_OK)
        qsort(ids->at, ids->n, sizeof *ids->at, id_cmp);
    return code;
}

/* Jumps from one space's first row to the next one's: rows that belong to nobody. */
static enum err_code check_orphans(struct check *c, struct err *err)
{
    struct known_ids ids = {NULL, 0, 0};
    MDB_cursor *cursor = NULL;
    enum err_code code = gather_ids(c, &ids, err);
    if (code != ERR_OK)
        return code;
    int rc = mdb_cursor_open(c->txn->mdb, c->txn->store->dbi, &cursor);
    uint64_t id = 0;
    while (rc == 0) {
        struct key at;
        MDB_val value;
        key_set(&at, id, 0, STR(""));
        MDB_val key = key_val(&at);
        rc = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
        if (rc != 0)
            break;
        if (key.mv_size < KEY_PREFIX) {
            check__problem(c, "a key of %zu bytes belongs to no space", key.mv_size);
            break;
        }
        id = key_space(key);
        if (bsearch(&id, ids.at, ids.n, sizeof *ids.at, id_cmp) == NULL)
            check__problem(c, "rows of space %llu belong to no name", (unsigned long long)id);
        if (id++ == UINT64_MAX)
            break;
    }
    if (cursor != NULL)
        mdb_cursor_close(cursor);
    return rc == 0 || rc == MDB_NOTFOUND ? ERR_OK : storage__error(err, rc, "walk the spaces");
}

static enum err_code check_system_kinds(struct check *c, struct err *err)
{
    MDB_cursor *cursor = NULL;
    MDB_val key, value;
    int rc = mdb_cursor_open(c->txn->mdb, c->txn->store->dbi, &cursor);
    if (rc == 0)
        rc = mdb_cursor_get(cursor, &key, &value, MDB_FIRST);
    while (rc == 0 && key.mv_size >= KEY_PREFIX && key_space(key) == 0) {
        c->report->rows++;
        c->report->bytes += key.mv_size + value.mv_size;
        if (!key_kind_is_system(key_kind(key)))
            check__problem(c, "a row of kind 0x%02x lies in the system's range", key_kind(key));
        rc = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
    }
    if (cursor != NULL)
        mdb_cursor_close(cursor);
    return rc == 0 || rc == MDB_NOTFOUND ? ERR_OK : storage__error(err, rc, "walk the system");
}

static enum err_code check_system(struct check *c, struct err *err)
{
    enum err_code code = check_system_kinds(c, err);
    if (code == ERR_OK)
        code = check__each(c, KIND_REGISTRY, check_registry, err);
    if (code == ERR_OK)
        code = check__each(c, KIND_DUE, check_due, err);
    if (code == ERR_OK)
        code = check__each(c, KIND_DEAD, check_dead, err);
    if (code == ERR_OK)
        code = check_orphans(c, err);
    return code;
}

enum err_code storage_check(struct store *store, const struct check_sink *sink,
                            struct check_report *report, struct err *err)
{
    *report = (struct check_report){0};
    struct check c = {.sink = sink, .report = report};
    struct space_run run = {sink, report};
    c.arena = arena_new(CHECK_ARENA_BYTES);
    if (c.arena == NULL)
        return err_set(err, ERR_EXHAUSTED, "out of memory");
    enum err_code code = store_begin(store, &c.txn, err);
    if (code == ERR_OK)
        code = check_system(&c, err);
    check__close_space(&c);
    if (code == ERR_OK)
        code = check__each_space(store, check_space, &run, err);
    return code;
}
