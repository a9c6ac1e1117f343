/* Shared by the files of storage/ only. */
#ifndef HM_STORAGE_INT_H
#define HM_STORAGE_INT_H

#include <lmdb.h>
#include <pthread.h>
#include <stdatomic.h>

#include "storage/keys.h"
#include "storage/storage.h"

/* The FORMAT row's value. */
struct format_row {
    char magic[8];       /*  0 "hypermem" */
    uint32_t layout;     /*  8 STORAGE_LAYOUT */
    uint32_t tokenizer;  /* 12 TOKENIZER_VERSION that made the data */
    uint64_t next_space; /* 16 next space id, first 1 (S7) */
    uint64_t created_ms; /* 24 */
};
_Static_assert(sizeof(struct format_row) == 32, "layout on disk");
#define STORAGE_MAGIC "hypermem"
enum { STORAGE_LAYOUT = 2 };

/* The REGISTRY row's value; the key is the name. */
struct registry_row {
    uint64_t id;       /* 0 0 = no such space now */
    uint64_t last_seq; /* 8 last seq of earlier lives */
};
_Static_assert(sizeof(struct registry_row) == 16, "layout on disk");

/* A walk over the tree and what is laid over it (over.c): where both sides stand. */
struct over_walk {
    int rc; /* LMDB's last answer */
    MDB_val key, value;
    uint32_t row;             /* index of ours */
    bool took_tree, took_row; /* the last item was of this side, or of both */
    bool forward;
};

struct store_cursor {
    struct store_txn *txn;
    MDB_cursor *mdb;
    struct store_cursor *next; /* in the transaction's list of spare ones */
    char prefix[KEY_PREFIX];
    uint8_t place; /* enum cursor_place */
    /* Only while something is laid over the snapshot: */
    struct key current; /* where it stands */
    struct over_walk walk;
};

struct store_txn {
    struct store *store;
    MDB_env *env;
    MDB_txn *mdb;
    struct store_txn *next;     /* in the pool */
    struct store_cursor *spare; /* renewed instead of allocated */
    unsigned cursors_open;
    struct over *over; /* NULL: nothing is laid over the snapshot */
};

/* Read transactions that are reset and wait for their next use. Guarded by `mutex`, held only to
 * push and pop. */
struct txn_pool {
    pthread_mutex_t mutex;
    struct store_txn *idle;
    MDB_env *env; /* where new ones begin: the main environment, or its read-only stand-in */
    pthread_cond_t switched; /* CLOCK_MONOTONIC */
};

/* Descriptors of DIR/LOCK and of DIR. */
struct dir_lock {
    int file, dir;
};

enum { POOL_SWITCH_MS = 2000 }; /* how long a read waits for the stand-in after MDB_PANIC */

struct store {
    struct storage_options options;
    char *dir;
    const struct log *log;
    const struct clock *clock;
    struct dir_lock lock; /* -1 when read_only */
    MDB_env *env;
    MDB_env *stand_in; /* read-only, after MDB_PANIC; else NULL. The writer's */
    MDB_dbi dbi;
    struct txn_pool pool;
    atomic_uint readers; /* transactions handed out; read by store_health() and storage_close() */
    /* enum store_state. Written by the writer thread and storage_stop(); read by store_submit(),
     * store_begin(), store_health(). */
    atomic_int state;
    atomic_bool stopping;
    struct writer *writer; /* NULL when read_only */
};

/* Beside LMDB's codes (below -30000) and errno's (above 0): a row that LMDB read well is not what
 * we wrote. One space's misfortune, unlike MDB_CORRUPTED. */
enum { STORAGE_DAMAGED = -2 };

/* Maps an LMDB or errno code to one of ours, with what was being done. Not for 0. */
enum err_code storage__error(struct err *err, int rc, const char *doing);
/* Text of such a code. */
const char *storage__text(int rc);

/* --- lock.c --- */
enum err_code lock__take(const char *dir, struct dir_lock *out, struct err *err) MUST_USE;
void lock__release(struct dir_lock lock); /* one of -1 is fine */
/* Makes the names in the directory, and its own, last. 0 or an errno. */
int dir__sync(const char *dir);

/* --- env.c --- */
enum err_code env__open(struct store *store, struct err *err) MUST_USE;
/* A second environment on the same file, read-only and without LMDB's lock file. */
int env__open_stand_in(const struct store *store, MDB_env **out);
enum err_code env__format_check(MDB_val value, const char *dir, struct err *err) MUST_USE;

/* --- txn.c --- */
void pool__init(struct txn_pool *pool, MDB_env *env);
void pool__fini(struct txn_pool *pool);
/* New transactions begin in `env`; those out end where they began. */
void pool__switch(struct txn_pool *pool, MDB_env *env);

/* --- over.c: what is laid over a snapshot --- */
bool over__is_of(const struct over *over, uint64_t space);
/* False when nothing is laid over that row; value->at NULL when it was deleted. */
bool over__get(const struct over *over, const struct key *key, struct str *value);
bool over__stat(const struct over *over, uint64_t space, struct space_stat *stat);
/* First item of the cursor's range from `from` on; the one behind the last item; last item before
 * `from`. They leave the key in cursor->current. */
enum err_code over__seek(struct store_cursor *cursor, const struct key *from,
                         struct store_item *item, struct err *err) MUST_USE;
enum err_code over__next(struct store_cursor *cursor, struct store_item *item,
                         struct err *err) MUST_USE;
enum err_code over__backward(struct store_cursor *cursor, const struct key *from,
                             struct store_item *item, struct err *err) MUST_USE;

/* --- registry.c --- */
/* LMDB code; absent: 0 and *found false. */
int registry__get(MDB_txn *txn, MDB_dbi dbi, struct str name, struct registry_row *row,
                  bool *found);
int registry__put(MDB_txn *txn, MDB_dbi dbi, struct str name, const struct registry_row *row);
int format__get(MDB_txn *txn, MDB_dbi dbi, struct format_row *row);
int format__put(MDB_txn *txn, MDB_dbi dbi, const struct format_row *row);
/* Unpacks a STAT row; false when its length is impossible. */
bool stat__unpack(MDB_val value, struct space_stat *stat);

/* --- writer.c --- */
enum err_code writer__new(struct store *store, struct err *err) MUST_USE;
enum err_code writer__start(struct store *store, struct err *err) MUST_USE;
void writer__stop(struct store *store);
void writer__free(struct store *store);
void writer__figures(struct store *store, struct store_health *health);

/* --- failure.c: what a failed write means, and the probe --- */
enum write_failure { FAIL_BATCH, FAIL_FULL, FAIL_LATCH };
enum write_failure failure__kind(const struct store *store, int rc);
/* Tries to write beside the data and then into it; 0 or the code of what failed. */
int failure__probe(struct store *store);

/* --- purge.c --- */
/* The first deleted space that still has rows; 0: none. */
int purge__first(MDB_txn *txn, MDB_dbi dbi, uint64_t *space);
/* One step in the given write transaction: deletes at most PURGE_ROWS rows of the first dead space.
 * *more: there is more to do; *space: which one it was (0: nothing dead). */
int purge__step(MDB_txn *txn, MDB_dbi dbi, uint64_t *space, bool *more);

#endif
