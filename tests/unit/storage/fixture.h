/* A store in a directory of its own, and batches that wait for their answer. */
#ifndef HM_TESTS_STORE_FIXTURE_H
#define HM_TESTS_STORE_FIXTURE_H

#include <check.h>
#include <pthread.h>

#include "core/batch.h"
#include "storage/storage.h"

struct fixture {
    char dir[96];
    struct log log; /* silent; set fd to 2 to watch */
    struct clock clock;
    struct storage_options options;
    struct store *store;
    struct arena *arena;
};

/* A new directory and an open store with a running writer. */
void fixture_init(struct fixture *f);
/* Only the directory; nothing is open. */
void fixture_init_closed(struct fixture *f);
void fixture_fini(struct fixture *f); /* closes and removes the directory */
void fixture_open(struct fixture *f);
void fixture_close(struct fixture *f);

/* One submitted batch and its answer. */
struct ticket {
    struct fixture *fixture;
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    bool done;
    enum err_code code;
    struct err err;
    unsigned order; /* how many were done before it in this process */
};
void ticket_submit(struct ticket *t, struct fixture *f, struct batch *batch,
                   enum store_queue queue);
enum err_code ticket_wait(struct ticket *t);
/* Submits as turns and waits. A refusal by store_submit() itself is returned too. */
enum err_code apply(struct fixture *f, struct batch *batch);
enum err_code apply_err(struct fixture *f, struct batch *batch, struct err *err);

struct batch *batch_of(struct fixture *f, uint64_t space);
struct batch *batch_named(struct fixture *f, const char *name);
/* Creates the space (settings: 8 bytes of room and "settings of NAME"); returns its id. */
uint64_t make_space(struct fixture *f, const char *name);
enum err_code drop_space(struct fixture *f, const char *name);

struct store_txn *begin(struct fixture *f);
uint64_t find_space(struct fixture *f, const char *name);
struct space_stat stat_of(struct fixture *f, uint64_t space);
/* Rows of a (space, kind) range in a snapshot of its own. */
size_t count_rows(struct fixture *f, uint64_t space, enum store_kind kind);
/* Fails unless the row is there with that value. */
void expect_row(struct fixture *f, uint64_t space, enum store_kind kind, struct str key,
                struct str value);
void expect_absent(struct fixture *f, uint64_t space, enum store_kind kind, struct str key);
/* Waits until no deleted space is left to purge. */
void wait_purged(struct fixture *f);
void wait_state(struct fixture *f, enum store_state state);

static inline struct str be32_key(char *room, uint32_t v)
{
    be32_set(room, v);
    return (struct str){room, 4};
}
#define BE32(v) be32_key((char[4]){0}, v)

#endif
