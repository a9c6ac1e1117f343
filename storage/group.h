/* A group: the batches of one write transaction, and what the writer knows of their spaces.
 *
 * Counters of each space are read once a group, kept here while its batches apply, and written
 * once at the end, with the DUE row when that moved: ten batches of one space cost one STAT row.
 *
 *   G1  a space is in the table at most once; `index` finds it by id.
 *   G2  what a refused batch would have changed never reaches the table or the tree: everything
 *       that can refuse is decided on a copy of the counters before the first write.
 *
 * Only the writer thread comes here. */
#ifndef HM_STORAGE_GROUP_H
#define HM_STORAGE_GROUP_H

#include "core/batch.h"
#include "storage/storage_int.h"

enum { GROUP_OPS = 4096, GROUP_BYTES = 2 << 20, GROUP_MS = 10 };
/* A batch counts as one operation at least, so a group has no more spaces than this. */
enum { GROUP_SPACES = GROUP_OPS + 1, GROUP_INDEX = 16384 };
_Static_assert(GROUP_INDEX > 2 * GROUP_SPACES, "the index stays sparse");

struct group_space {
    uint64_t id;
    struct space_stat stat;
    uint64_t due_row; /* STAT_DUE as it is in the tree */
    uint32_t slot;    /* its place in `index` */
    bool touched;     /* a batch was applied */
    bool dropped;
};

struct group {
    struct store *store;
    MDB_txn *txn;
    MDB_cursor *cursor;  /* the one write cursor: neighbouring keys cost no search from the root */
    struct buf scratch;  /* rows in the making; heap */
    struct arena *arena; /* refusals */
    struct group_space *spaces;
    uint16_t *index; /* position in `spaces` + 1 by hash of the id; 0 free */
    uint32_t n_spaces;
    bool dropped; /* some space was deleted: there is something to purge */
    /* Batches taken, in order. */
    struct batch *first, **last;
    uint32_t batches, ops;
    size_t bytes;
};

enum err_code group__init(struct group *group, struct store *store, struct err *err) MUST_USE;
void group__fini(struct group *group);

/* LMDB codes, as all below. */
int group__begin(struct group *group);
/* Counters and DUE rows, then the durable commit. The transaction is gone afterwards in any case;
 * the table of spaces stays for the watcher when it succeeds. */
int group__commit(struct group *group);
/* The table of spaces goes, the batches stay. */
void group__abort(struct group *group);
/* After commit or abort, when nobody looks at batches, refusals or spaces any more. */
void group__clear(struct group *group);
void group__join(struct group *group, struct batch *batch);
void group__check(const struct group *group); /* G1 */

/* The space's entry; *out NULL when it has no STAT row. */
int group__space(struct group *group, uint64_t id, struct group_space **out);
/* An entry for a space that is being created. */
struct group_space *group__space_new(struct group *group, uint64_t id);

/* Applies one batch. 0: look at batch->outcome, ERR_OK or refused (S3); else the transaction is
 * spoilt and must be aborted. */
int apply__batch(struct group *group, struct batch *batch);

#endif
