#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "storage/storage_int.h"

void pool__init(struct txn_pool *pool, MDB_env *env)
{
    *pool = (struct txn_pool){.env = env};
    pthread_condattr_t attr;
    int rc = pthread_mutex_init(&pool->mutex, NULL);
    rc = rc != 0 ? rc : pthread_condattr_init(&attr);
    rc = rc != 0 ? rc : pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    rc = rc != 0 ? rc : pthread_cond_init(&pool->switched, &attr);
    ASSERT(rc == 0);
    (void)pthread_condattr_destroy(&attr);
}

static void txn_free(struct store_txn *txn)
{
    while (txn->spare != NULL) {
        struct store_cursor *cursor = txn->spare;
        txn->spare = cursor->next;
        mdb_cursor_close(cursor->mdb);
        free(cursor);
    }
    if (txn->mdb != NULL)
        mdb_txn_abort(txn->mdb);
    free(txn);
}

static struct store_txn *take_all(struct txn_pool *pool, MDB_env *env)
{
    pthread_mutex_lock(&pool->mutex);
    struct store_txn *idle = pool->idle;
    pool->idle = NULL;
    pool->env = env;
    pthread_cond_broadcast(&pool->switched);
    pthread_mutex_unlock(&pool->mutex);
    return idle;
}

void pool__switch(struct txn_pool *pool, MDB_env *env)
{
    struct store_txn *txn = take_all(pool, env);
    while (txn != NULL) {
        struct store_txn *next = txn->next;
        txn_free(txn);
        txn = next;
    }
}

void pool__fini(struct txn_pool *pool)
{
    pool__switch(pool, NULL);
    (void)pthread_cond_destroy(&pool->switched);
    (void)pthread_mutex_destroy(&pool->mutex);
}

/* Between LMDB's panic and the writer's change to the stand-in a read finds neither: it waits for
 * the change. False when it does not come. */
static bool pool_wait_switch(struct txn_pool *pool, const MDB_env *old)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += POOL_SWITCH_MS / 1000;
    pthread_mutex_lock(&pool->mutex);
    int rc = 0;
    while (pool->env == old && rc == 0)
        rc = pthread_cond_timedwait(&pool->switched, &pool->mutex, &until);
    bool switched = pool->env != old;
    pthread_mutex_unlock(&pool->mutex);
    return switched;
}

/* An idle transaction, or NULL and where to begin a new one. */
static struct store_txn *pool_pop(struct txn_pool *pool, MDB_env **env)
{
    pthread_mutex_lock(&pool->mutex);
    struct store_txn *txn = pool->idle;
    if (txn != NULL)
        pool->idle = txn->next;
    *env = pool->env;
    pthread_mutex_unlock(&pool->mutex);
    return txn;
}

static bool pool_push(struct txn_pool *pool, struct store_txn *txn)
{
    pthread_mutex_lock(&pool->mutex);
    bool same = pool->env == txn->env;
    if (same) {
        txn->next = pool->idle;
        pool->idle = txn;
    }
    pthread_mutex_unlock(&pool->mutex);
    return same;
}

static int txn_begin_new(struct store *store, MDB_env *env, struct store_txn **out)
{
    struct store_txn *txn = calloc(1, sizeof *txn);
    if (txn == NULL)
        return ENOMEM;
    txn->store = store;
    txn->env = env;
    int rc = mdb_txn_begin(env, NULL, MDB_RDONLY, &txn->mdb);
    if (rc == MDB_READERS_FULL && storage_reader_check(store) != 0)
        rc = mdb_txn_begin(env, NULL, MDB_RDONLY, &txn->mdb);
    if (rc != 0) {
        free(txn);
        return rc;
    }
    *out = txn;
    return 0;
}

/* `*env` is where it was tried. */
static int begin(struct store *store, struct store_txn **txn, MDB_env **env)
{
    struct store_txn *taken = pool_pop(&store->pool, env);
    int rc = taken != NULL ? mdb_txn_renew(taken->mdb) : txn_begin_new(store, *env, &taken);
    if (rc != 0 && taken != NULL)
        txn_free(taken);
    *txn = rc == 0 ? taken : NULL;
    return rc;
}

enum err_code store_begin(struct store *store, struct store_txn **txn, struct err *err)
{
    *txn = NULL;
    if (atomic_load(&store->stopping))
        return err_set(err, ERR_UNAVAILABLE, "the server is stopping");
    struct store_txn *taken = NULL;
    MDB_env *env;
    int rc = begin(store, &taken, &env);
    if (rc == MDB_PANIC && pool_wait_switch(&store->pool, env))
        rc = begin(store, &taken, &env);
    if (rc != 0) {
        if (rc == MDB_READERS_FULL)
            return err_set(err, ERR_UNAVAILABLE, "too many reads at once (readers_max)");
        return storage__error(err, rc, "begin a read");
    }
    atomic_fetch_add(&store->readers, 1);
    *txn = taken;
    return ERR_OK;
}

void store_end(struct store_txn *txn)
{
    if (txn == NULL)
        return;
    ASSERT(txn->cursors_open == 0);
    struct store *store = txn->store;
    txn->over = NULL;
    mdb_txn_reset(txn->mdb);
    if (!pool_push(&store->pool, txn))
        txn_free(txn);
    atomic_fetch_sub(&store->readers, 1);
}

static enum err_code get(struct store_txn *txn, struct key *key, struct str *value, struct err *err)
{
    if (txn->over != NULL && over__get(txn->over, key, value))
        return ERR_OK;
    MDB_val name = key_val(key);
    MDB_val found;
    int rc = mdb_get(txn->mdb, txn->store->dbi, &name, &found);
    if (rc == MDB_NOTFOUND) {
        *value = STR_NONE;
        return ERR_OK;
    }
    if (rc != 0)
        return storage__error(err, rc, "read a row");
    *value = val_str(found);
    return ERR_OK;
}

enum err_code store_get(struct store_txn *txn, uint64_t space, enum store_kind kind,
                        struct str rest, struct str *value, struct err *err)
{
    struct key key;
    key_set(&key, space, kind, rest);
    return get(txn, &key, value, err);
}

enum err_code store_get_u32(struct store_txn *txn, uint64_t space, enum store_kind kind,
                            uint32_t id, struct str *value, struct err *err)
{
    struct key key;
    key_set_u32(&key, space, kind, id);
    return get(txn, &key, value, err);
}
