#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/text/token.h"
#include "storage/storage_int.h"

enum { MAP_GIB_DEFAULT = 1024, MAP_GIB_LEAST = 16, READERS_DEFAULT = 512, QUEUE_DEFAULT = 4096 };
#define GIB (UINT64_C(1) << 30)

static unsigned env_flags(const struct store *store)
{
    unsigned flags = MDB_NOTLS | MDB_NORDAHEAD;
    if (store->options.read_only)
        flags |= MDB_RDONLY;
#ifdef HYPERMEM_TEST_NOSYNC
    flags |= MDB_NOSYNC; /* only to prove that the crash suite notices */
#endif
    return flags;
}

/* An environment that failed to open can only be closed, so each size tries with a new one. */
static int try_open(const struct store *store, uint64_t map_bytes, unsigned flags, MDB_env **out)
{
    MDB_env *env = NULL;
    int rc = mdb_env_create(&env);
    if (rc != 0)
        return rc;
    rc = mdb_env_set_mapsize(env, (size_t)map_bytes);
    if (rc == 0)
        rc = mdb_env_set_maxreaders(env, store->options.readers_max);
    if (rc == 0)
        rc = mdb_env_open(env, store->dir, flags, 0600);
    if (rc != 0) {
        mdb_env_close(env);
        return rc;
    }
    *out = env;
    return 0;
}

/* ENOMEM is the kernel's refusal, EINVAL Valgrind's. */
static bool is_map_refused(int rc)
{
    return rc == ENOMEM || rc == EINVAL;
}

static int open_halving(const struct store *store, unsigned flags, MDB_env **env)
{
    if (store->options.map_size_bytes != 0)
        return try_open(store, store->options.map_size_bytes, flags, env);
    uint64_t gib = store->options.map_size_gib;
    int rc = try_open(store, gib * GIB, flags, env);
    while (is_map_refused(rc) && gib > MAP_GIB_LEAST) {
        gib = gib / 2 < MAP_GIB_LEAST ? MAP_GIB_LEAST : gib / 2;
        rc = try_open(store, gib * GIB, flags, env);
    }
    return rc;
}

int env__open_stand_in(const struct store *store, MDB_env **out)
{
    MDB_env *env = NULL;
    MDB_txn *txn = NULL;
    MDB_dbi dbi;
    /* No lock file: this process holds the directory and its writer has stopped for good, so
     * nothing can change under these readers. */
    int rc = open_halving(store, env_flags(store) | MDB_RDONLY | MDB_NOLOCK, &env);
    if (rc != 0)
        return rc;
    rc = mdb_txn_begin(env, NULL, MDB_RDONLY, &txn);
    if (rc == 0)
        rc = mdb_dbi_open(txn, NULL, 0, &dbi); /* without it the tree has no comparison */
    if (rc == 0)
        rc = mdb_txn_commit(txn);
    else
        mdb_txn_abort(txn);
    if (rc != 0) {
        mdb_env_close(env);
        return rc;
    }
    ASSERT(dbi == store->dbi); /* the unnamed tree has one handle in every environment */
    *out = env;
    return 0;
}

enum err_code env__format_check(MDB_val value, const char *dir, struct err *err)
{
    struct format_row row;
    if (value.mv_size < sizeof row || memcmp(value.mv_data, STORAGE_MAGIC, sizeof row.magic) != 0)
        return err_set(err, ERR_PRECONDITION, "%s holds no hypermem data", dir);
    memcpy(&row, value.mv_data, sizeof row);
    if (row.layout != STORAGE_LAYOUT)
        return err_set(err, ERR_PRECONDITION,
                       "%s is in data format %u, this version reads %u: use the version of "
                       "hypermem that wrote it, or a newer one",
                       dir, row.layout, (unsigned)STORAGE_LAYOUT);
    if (row.tokenizer > TOKENIZER_VERSION)
        return err_set(err, ERR_PRECONDITION,
                       "%s was indexed by tokenizer %u, this version has %u: use a newer hypermem",
                       dir, row.tokenizer, (unsigned)TOKENIZER_VERSION);
    return ERR_OK;
}

/* An empty tree gets its format row; one that has rows must already have it. */
static enum err_code format_settle(struct store *store, MDB_txn *txn, struct err *err)
{
    struct key key;
    MDB_val value;
    key_set(&key, 0, KIND_FORMAT, STR(""));
    MDB_val name = key_val(&key);
    int rc = mdb_get(txn, store->dbi, &name, &value);
    if (rc == 0)
        return env__format_check(value, store->dir, err);
    if (rc != MDB_NOTFOUND)
        return storage__error(err, rc, "read the format row");
    MDB_stat stat;
    rc = mdb_stat(txn, store->dbi, &stat);
    if (rc != 0)
        return storage__error(err, rc, "read the format row");
    if (stat.ms_entries != 0 || store->options.read_only)
        return err_set(err, ERR_PRECONDITION, "%s holds no hypermem data", store->dir);
    struct format_row row = {.layout = STORAGE_LAYOUT,
                             .tokenizer = TOKENIZER_VERSION,
                             .next_space = 1,
                             .created_ms = (uint64_t)clock_now_ms(store->clock)};
    memcpy(row.magic, STORAGE_MAGIC, sizeof row.magic);
    rc = format__put(txn, store->dbi, &row);
    return rc == 0 ? ERR_OK : storage__error(err, rc, "write the format row");
}

static enum err_code settle(struct store *store, struct err *err)
{
    MDB_txn *txn = NULL;
    enum err_code code = ERR_OK;
    int rc = mdb_txn_begin(store->env, NULL, store->options.read_only ? MDB_RDONLY : 0, &txn);
    if (rc == 0)
        rc = mdb_dbi_open(txn, NULL, 0, &store->dbi);
    if (rc != 0) {
        code = storage__error(err, rc, "open the data");
        goto out;
    }
    code = format_settle(store, txn, err);
    if (code != ERR_OK)
        goto out;
    rc = mdb_txn_commit(txn);
    txn = NULL;
    if (rc == 0 && !store->options.read_only)
        rc = dir__sync(store->dir); /* perhaps the files are new */
    if (rc != 0)
        code = storage__error(err, rc, "write the format row");
out:
    if (txn != NULL)
        mdb_txn_abort(txn);
    return code;
}

/* LMDB's own text for these is true but does not help whoever reads it. */
static enum err_code open_failed(const struct store *store, int rc, struct err *err)
{
    const char *dir = store->dir;
    if (rc == ENOENT)
        return err_set(err, ERR_NOT_FOUND, "there is no hypermem data in %s", dir);
    if (rc == MDB_INVALID || rc == MDB_VERSION_MISMATCH)
        return err_set(err, ERR_PRECONDITION, "%s/data.mdb is damaged or no hypermem file (%s)",
                       dir, mdb_strerror(rc));
    if (rc == EACCES || rc == EPERM || rc == EROFS)
        return err_set(err, ERR_DENIED, "no permission to %s the data directory %s (%s)",
                       store->options.read_only ? "read" : "write", dir, mdb_strerror(rc));
    unsigned gib =
        store->options.map_size_gib < MAP_GIB_LEAST ? store->options.map_size_gib : MAP_GIB_LEAST;
    if (is_map_refused(rc))
        return err_set(err, ERR_UNAVAILABLE,
                       "the system refuses %u GiB of address space for the data (map_size_gib): %s",
                       gib, mdb_strerror(rc));
    return storage__error(err, rc, dir);
}

static enum err_code directory_settle(const struct store *store, struct err *err)
{
    const char *dir = store->dir;
    struct stat st;
    bool made = !store->options.read_only && mkdir(dir, 0700) == 0;
    if (!made && errno == EROFS)
        return open_failed(store, EROFS, err);
    if (stat(dir, &st) != 0)
        return errno == ENOENT && !store->options.read_only
                   ? err_set(err, ERR_NOT_FOUND,
                             "can't create the data directory %s: its parent does not exist", dir)
                   : open_failed(store, errno, err);
    if (!S_ISDIR(st.st_mode))
        return err_set(err, ERR_INVALID, "%s is not a directory", dir);
    int mode = store->options.read_only ? R_OK | X_OK : R_OK | W_OK | X_OK;
    if (access(dir, mode) != 0)
        return open_failed(store, errno, err);
    return ERR_OK;
}

enum err_code env__open(struct store *store, struct err *err)
{
    int rc = open_halving(store, env_flags(store), &store->env);
    if (rc != 0)
        return open_failed(store, rc, err);
    int dead = 0;
    rc = mdb_reader_check(store->env, &dead);
    if (rc != 0)
        return storage__error(err, rc, "clear stale readers");
    return settle(store, err);
}

static void log_opened(const struct store *store)
{
    MDB_envinfo info;
    if (mdb_env_info(store->env, &info) != 0)
        return;
    LOG(store->log, LOG_INFO, "storage_opened", F_CSTR("dir", store->dir),
        F_INT("map_gib", info.me_mapsize / GIB), F_INT("read_only", store->options.read_only));
    if (store->options.map_size_bytes == 0 && info.me_mapsize < store->options.map_size_gib * GIB)
        LOG(store->log, LOG_WARN, "map_halved", F_INT("wanted_gib", store->options.map_size_gib),
            F_INT("map_gib", info.me_mapsize / GIB));
}

static struct store *store_new(const struct storage_options *options, const struct log *log,
                               const struct clock *clock)
{
    struct store *store = calloc(1, sizeof *store);
    if (store == NULL)
        return NULL;
    store->options = *options;
    if (store->options.map_size_gib == 0)
        store->options.map_size_gib = MAP_GIB_DEFAULT;
    if (store->options.readers_max == 0)
        store->options.readers_max = READERS_DEFAULT;
    if (store->options.queue_max == 0)
        store->options.queue_max = QUEUE_DEFAULT;
    store->log = log;
    store->clock = clock;
    store->lock = (struct dir_lock){-1, -1};
    store->dir = strdup(options->dir);
    if (store->dir == NULL) {
        free(store);
        return NULL;
    }
    pool__init(&store->pool, NULL);
    return store;
}

enum err_code storage_open(const struct storage_options *options, const struct log *log,
                           const struct clock *clock, struct store **store, struct err *err)
{
    *store = NULL;
    struct store *opened = store_new(options, log, clock);
    if (opened == NULL)
        return err_set(err, ERR_UNAVAILABLE, "out of memory");
    enum err_code code = directory_settle(opened, err);
    if (code == ERR_OK && !options->read_only)
        code = lock__take(opened->dir, &opened->lock, err);
    if (code == ERR_OK)
        code = env__open(opened, err);
    if (code == ERR_OK && !options->read_only)
        code = writer__new(opened, err);
    if (code != ERR_OK) {
        storage_close(opened);
        return code;
    }
    pool__switch(&opened->pool, opened->env);
    log_opened(opened);
    *store = opened;
    return ERR_OK;
}

enum err_code storage_start_writer(struct store *store, struct err *err)
{
    ASSERT(!store->options.read_only);
    return writer__start(store, err);
}

void storage_stop(struct store *store)
{
    atomic_store(&store->stopping, true);
    if (store->writer != NULL)
        writer__stop(store);
}

void storage_close(struct store *store)
{
    if (store == NULL)
        return;
    storage_stop(store);
    ASSERT(atomic_load(&store->readers) == 0);
    pool__fini(&store->pool);
    writer__free(store);
    if (store->stand_in != NULL)
        mdb_env_close(store->stand_in);
    if (store->env != NULL)
        mdb_env_close(store->env);
    lock__release(store->lock); /* last: from here on another process may open the data */
    free(store->dir);
    free(store);
}

int storage_reader_check(struct store *store)
{
    int dead = 0;
    int rc = mdb_reader_check(store->env, &dead);
    if (rc != 0)
        LOG(store->log, LOG_WARN, "reader_check_failed", F_CSTR("cause", mdb_strerror(rc)));
    else if (dead != 0)
        LOG(store->log, LOG_WARN, "dead_readers_cleared", F_INT("slots", dead));
    return dead;
}
