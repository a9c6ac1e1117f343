/* The store on LMDB: what server/ opens, starts, stops and maintains. core/ sees only core/store.h.
 *
 * Picture. One directory, one environment, one unnamed B+tree:
 *
 *   DIR/data.mdb   the tree       DIR/lock.mdb   LMDB's reader table
 *   DIR/LOCK       the writer's lock: an open-file-description lock; its text names the holder
 *
 *   key  = space id (8 bytes, big-endian) . kind (1 byte) . rest      (storage/keys.h)
 *   space 0: FORMAT 'F', REGISTRY 'r' name -> id, DUE 'd', DEAD 'D'   the system's rows
 *   space n: STAT 'S', META 'M', LOG 'L', …                           one contiguous range a space
 *
 * Life. storage_open() takes the lock, opens the environment, verifies the format row;
 * storage_start_writer() starts the one thread that has write transactions; storage_stop() refuses
 * new batches, applies what is queued and joins it; storage_close() needs every store_txn ended.
 *
 * The writer (writer.c) takes batches from three queues, applies as many as are there to one LMDB
 * transaction (apply.c), commits it durably and only then calls back. While it commits, the next
 * group gathers by itself; nothing ever waits to fill a group. A group that fails for a reason that
 * lies in a batch is applied again batch by batch, each in a transaction of its own.
 *
 * When writing fails:
 *   STORE_FULL     no space (ENOSPC, EDQUOT, EFBIG, a full map, and EIO that a full disk explains:
 *                  LMDB reports a short write as EIO). All queued batches are refused with
 *                  ERR_STORAGE_FULL; the writer probes once a second until a write succeeds.
 *                  Deletions are refused too: they need pages before they free any.
 *   STORE_LATCHED  any other write or sync error. After a failed fdatasync a later one may report
 *                  success for pages that were lost, so nothing is written until restart. Reads go
 *                  on; if LMDB itself is in panic, reads move to a second, read-only environment on
 *                  the same file, and when that can't be opened `fatal` is called.
 *
 * Invariants
 *   S1  only the writer thread has write transactions (storage_open() before it starts aside).
 *   S2  a callback is called after the commit that holds its batch, or after its refusal, once.
 *   S3  a refused batch leaves no trace in the tree.
 *   S4  the key of a row starts with its space; ranges of spaces do not interleave.
 *   S5  a space's STAT row agrees with its rows: SEQ - seq of earlier lives = number of LOG rows.
 *   S6  a living space has exactly the DUE row that STAT_DUE says; a dead id has no STAT row.
 *   S7  space ids ascend and are never used again.
 *
 * Threads. store_begin() … store_end() from any thread, each transaction by one at a time;
 * store_submit() from any thread; callbacks and the watcher run on the writer thread.
 *
 * Costs (two cores, data in memory). Read transaction from the pool 80 ns; store_get 0.2 us; cursor
 * open 15 ns, step 12 ns. A turn's batch (8 puts, LOG, STAT) takes 4 us of the writer when all go
 * to one space, 11 us over 100 spaces, 25 us over 1,000, where each dirties pages of its own; then
 * its share of a commit of 0.5 to 2 ms. With 32 submitters that is the speed of the same puts done
 * bare (ratio 0.9 to 1.4), groups of 28 to 32 batches.
 *
 * Rejected: MDB_WRITEMAP (a stray pointer could write the file), a database a space (LMDB copies
 * every handle at each transaction), nested transactions for refusals (they copy the dirty list;
 * checking all preconditions before the first write costs nothing), growing the map (no reader may
 * be inside; reserving address space is free). */
#ifndef HM_STORAGE_STORAGE_H
#define HM_STORAGE_STORAGE_H

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/store.h"

struct storage_options {
    const char *dir;
    unsigned map_size_gib;   /* 0: 1024; halved down to 16 while the system refuses */
    unsigned readers_max;    /* read transactions at once, all processes; 0: 512 */
    unsigned queue_max;      /* batches waiting in each queue; 0: 4,096 */
    bool read_only;          /* beside a running daemon: no lock, no writer */
    uint64_t map_size_bytes; /* tests: instead of map_size_gib, not halved */
    /* The data can no longer even be read: end the process with a status that is not 0. Called on
     * the writer thread. NULL: the process exits with 70 at once. */
    void (*fatal)(void *arg);
    void *fatal_arg;
};

/* `log` and `clock` are borrowed until storage_close(). ERR_CONFLICT: another process holds the
 * directory (the message names it); ERR_DENIED: permissions; ERR_NOT_FOUND: no data there
 * (read_only); ERR_PRECONDITION: not our data, or of a newer version. */
enum err_code storage_open(const struct storage_options *options, const struct log *log,
                           const struct clock *clock, struct store **store,
                           struct err *err) MUST_USE;
enum err_code storage_start_writer(struct store *store, struct err *err) MUST_USE;
/* Refuses further batches and transactions, applies what is queued, joins the writer. Twice is
 * fine. */
void storage_stop(struct store *store);
void storage_close(struct store *store); /* stops first; NULL is fine */

/* --- housekeeping --- */

/* The first due row after (after_ms, after_space), both 0 at the start; *space 0: none. */
enum err_code storage_due_next(struct store_txn *txn, uint64_t after_ms, uint64_t after_space,
                               uint64_t *due_ms, uint64_t *space, struct err *err) MUST_USE;
/* The first deleted space after `after` whose range is not purged yet; *space 0: none. The writer
 * purges by itself, PURGE_ROWS rows a step, served as housekeeping. */
enum err_code storage_dead_next(struct store_txn *txn, uint64_t after, uint64_t *space,
                                struct err *err) MUST_USE;
/* Frees the reader slots of processes that died. For a timer. Returns how many. */
int storage_reader_check(struct store *store);
/* Asks the writer to try a write now when the disk was full; returns at once. */
void storage_probe_write(struct store *store);

enum { PURGE_ROWS = 1024 };

#endif
