/* Where the bytes of a data file are: walks every row and sums by kind; prints one object of JSON.
 *
 *   bench_kinds --file DIR/data.mdb     best on a compacted copy (hypermemd backup)
 *
 * A value that does not fit LMDB's node takes overflow pages of its own; any other row lies in a
 * leaf page with a header of 8 bytes, an index of 2 and its bytes rounded up to even. What rows do
 * not explain of the leaf pages is slack: headers of pages and room left by splits. */
#include <lmdb.h>
#include <stdio.h>
#include <sys/stat.h>

#include "api/json_out.h"
#include "storage/keys.h"
#include "tests/bench/args.h"

enum { NODE_HEAD = 8, NODE_INDEX = 2, PAGE_HEAD = 16, KINDS = 256, MAP_LEAST = 1 << 20 };

struct kind {
    uint64_t rows, key_bytes, value_bytes, leaf_bytes, overflow_pages;
};

struct walk {
    struct kind kinds[KINDS];
    uint64_t stat[STAT_COUNT]; /* of all spaces, added */
    uint64_t spaces;
    MDB_stat tree;
    size_t node_max;
};

static void add_stat(struct walk *w, MDB_val value)
{
    const char *at = value.mv_data;
    w->spaces++;
    for (size_t i = 0; i < STAT_COUNT && (i + 1) * 8 <= value.mv_size; i++)
        w->stat[i] += le64_get(at + i * 8);
}

static void add_row(struct walk *w, MDB_val key, MDB_val value)
{
    struct kind *kind = &w->kinds[key_kind(key)];
    size_t node = NODE_HEAD + key.mv_size;
    kind->rows++;
    kind->key_bytes += key.mv_size;
    kind->value_bytes += value.mv_size;
    if (node + value.mv_size > w->node_max) {
        kind->overflow_pages +=
            (PAGE_HEAD + value.mv_size + w->tree.ms_psize - 1) / w->tree.ms_psize;
        node += sizeof(uint64_t); /* the number of the first of these pages */
    } else {
        node += value.mv_size;
    }
    kind->leaf_bytes += (node + 1) / 2 * 2 + NODE_INDEX;
    if (key_kind(key) == KIND_STAT)
        add_stat(w, value);
}

static int walk_rows(struct walk *w, MDB_txn *txn)
{
    MDB_dbi dbi;
    MDB_cursor *cursor = NULL;
    MDB_val key, value;
    int rc = mdb_dbi_open(txn, NULL, 0, &dbi);
    if (rc == 0)
        rc = mdb_stat(txn, dbi, &w->tree);
    if (rc == 0)
        rc = mdb_cursor_open(txn, dbi, &cursor);
    if (rc != 0)
        return rc;
    /* me_nodemax in mdb.c: two rows fit a page. */
    w->node_max = ((w->tree.ms_psize - PAGE_HEAD) / 2 & ~(size_t)1) - sizeof(uint16_t);
    rc = mdb_cursor_get(cursor, &key, &value, MDB_FIRST);
    while (rc == 0) {
        if (key.mv_size >= KEY_PREFIX)
            add_row(w, key, value);
        rc = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
    }
    mdb_cursor_close(cursor);
    return rc == MDB_NOTFOUND ? 0 : rc;
}

static int walk_file(struct walk *w, const char *path)
{
    MDB_env *env = NULL;
    MDB_txn *txn = NULL;
    int rc = mdb_env_create(&env);
    if (rc == 0)
        rc = mdb_env_set_mapsize(env, MAP_LEAST); /* LMDB takes what the file needs */
    if (rc == 0)
        rc = mdb_env_open(env, path, MDB_RDONLY | MDB_NOLOCK | MDB_NOSUBDIR, 0600);
    if (rc == 0)
        rc = mdb_txn_begin(env, NULL, MDB_RDONLY, &txn);
    if (rc == 0)
        rc = walk_rows(w, txn);
    mdb_txn_abort(txn);
    mdb_env_close(env);
    return rc;
}

static void report_kinds(const struct walk *w, struct json_out *out, uint64_t *leaf_bytes)
{
    out_array(out, "kinds");
    for (unsigned i = 0; i < KINDS; i++) {
        const struct kind *kind = &w->kinds[i];
        char letter[2] = {(char)i, '\0'};
        if (kind->rows == 0)
            continue;
        *leaf_bytes += kind->leaf_bytes;
        const char *name = key_kind_name(i);
        out_object(out, NULL);
        out_cstr(out, "letter", letter);
        out_cstr(out, "name", name != NULL ? name : "?");
        out_u64(out, "rows", kind->rows);
        out_u64(out, "key_bytes", kind->key_bytes);
        out_u64(out, "value_bytes", kind->value_bytes);
        out_u64(out, "leaf_bytes", kind->leaf_bytes);
        out_u64(out, "overflow_bytes", kind->overflow_pages * w->tree.ms_psize);
        out_end(out);
    }
    out_end(out);
}

static void report(const struct walk *w, uint64_t file_bytes)
{
    static const struct {
        const char *name;
        enum stat_id id;
    } counts[] = {{"turns", STAT_TURNS},
                  {"facts", STAT_FACTS},
                  {"episodes", STAT_EPISODES},
                  {"topics", STAT_TOPICS},
                  {"text_bytes", STAT_TEXT_BYTES},
                  {"pending", STAT_PENDING},
                  {"unfinished", STAT_UNFINISHED},
                  {"open", STAT_OPEN},
                  {"small_segments", STAT_SMALL_SEGMENTS}};
    struct buf line;
    uint64_t leaf_bytes = 0, page = w->tree.ms_psize;
    buf_init(&line, NULL, 1 << 20);
    struct json_out out = json_out_of(&line);
    out_object(&out, NULL);
    out_u64(&out, "file_bytes", file_bytes);
    out_u64(&out, "spaces", w->spaces);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        out_u64(&out, counts[i].name, w->stat[counts[i].id]);
    out_u64(&out, "page_bytes", page);
    out_u64(&out, "depth", w->tree.ms_depth);
    out_u64(&out, "branch_bytes", w->tree.ms_branch_pages * page);
    out_u64(&out, "leaf_bytes", w->tree.ms_leaf_pages * page);
    out_u64(&out, "overflow_bytes", w->tree.ms_overflow_pages * page);
    report_kinds(w, &out, &leaf_bytes);
    out_u64(&out, "slack_bytes", w->tree.ms_leaf_pages * page - leaf_bytes);
    out_end(&out);
    (void)printf("%.*s\n", STR_FMT(buf_str(&line)));
    buf_fini(&line);
}

int main(int argc, char **argv)
{
    const char *file = NULL;
    const struct arg rows[] = {{.name = "file", .text = &file, .doc = "a data.mdb"}};
    struct stat st;
    static struct walk walk;
    if (!args_parse(argc, argv, rows, 1) || file == NULL)
        return 2;
    int rc = stat(file, &st) == 0 ? walk_file(&walk, file) : -1;
    if (rc != 0) {
        (void)fprintf(stderr, "bench_kinds: %s: %s\n", file,
                      rc > 0 || rc < -1 ? mdb_strerror(rc) : "not there");
        return 1;
    }
    report(&walk, (uint64_t)st.st_size);
    return 0;
}
