/* The storage port: what core/ needs from a durable, transactional key-value store. storage/
 * implements it on LMDB; core/ knows nothing of that (DESIGN 2, 4).
 *
 * Data. A space is one contiguous range of keys: space id (8 bytes), kind (1 byte), rest. Callers
 * here speak of (space, kind, rest); the prefix is storage's business. Integers inside `rest` are
 * big-endian, so that order is numeric; integers inside values are little-endian. Space 0 is the
 * system's own range. Node ids, turn numbers and document numbers are 32-bit and start at 1
 * (document numbers at 0); 0 means none. Ids are never used again.
 *
 * Reading. A store_txn is a snapshot; everything read borrows from it until store_end(). It belongs
 * to one thread at a time. Never hold one over a wait, a model call or a commit.
 *
 * Writing. Only batches (core/batch.h) write; store_submit() hands one to the writer thread, which
 * applies whole batches in order, several to a durable commit, and calls back afterwards.
 *
 * Errors of a read are real faults (a damaged file); absence is not an error. */
#ifndef HM_CORE_STORE_H
#define HM_CORE_STORE_H

#include "core/base/buf.h"
#include "core/base/err.h"

struct store;
struct store_txn;
struct store_cursor;
struct batch;

/* One row a kind: symbol, letter on disk, key rest, value. R = record that starts with the seq that
 * made it (LE64). b32/b64 big-endian integers. */
#define STORE_KIND_TABLE(X)                                                                        \
    /* in every space */                                                                           \
    X(META, 'M', "", "R space settings (core/graph/space.h)")                                      \
    X(STAT, 'S', "", "counters: LE64 x STAT_COUNT")                                                \
    X(LOG, 'L', "b64 seq", "what the batch changed (core/batch.h); no text")                       \
    X(TURN, 't', "b32 n", "R turn (core/graph/turn.h)")                                            \
    X(TEXT, 'x', "b32 n, b32 part", "a part <= 16 KiB of a long turn's text")                      \
    X(TURN_ID, 'i', "the client's own id", "LE32 n")                                               \
    X(SESSION, 's', "name", "LE32 ordinal")                                                        \
    X(SPEAKER, 'p', "name", "LE32 ordinal")                                                        \
    X(SESSION_TURN, 'q', "b32 session ordinal, b32 n", "empty: a session's turns in order")        \
    X(BUFFER, 'o', "b32 session ordinal", "the open episode (core/ingest/boundary.h)")             \
    X(EPISODE, 'e', "b32 id", "R episode (core/graph/episode.h)")                                  \
    X(TOPIC, 'c', "b32 id", "R topic (core/graph/topic.h)")                                        \
    X(FACT, 'f', "b32 id", "R fact (core/graph/fact.h)")                                           \
    X(TOPIC_EDGE, 'T', "b32 topic id", "episode hyperedge: members (core/graph/edge.h)")           \
    X(EPISODE_EDGE, 'E', "b32 episode id", "fact hyperedge: members")                              \
    X(FACT_NEVER, 'y', "b64 content hash, b32 speaker, b32 from day, b32 to day",                  \
      "empty: a fact that was deleted on request and is never made again")                         \
    X(FACT_SOURCE, 'z', "b32 n, b32 fact id", "empty: a further source of an older fact")          \
    X(HISTORY, 'h', "kind byte, b32 id, b64 seq", "the record that was replaced; empty = blanked") \
    X(SEGMENT, 'g', "b64 seq, b16 part", "inverted index (core/index/segment.h)")                  \
    X(LENGTH, 'n', "layer byte, b32 block", "document lengths, a byte each, 1,024 a value")        \
    X(COLUMN, 'k', "column byte, b32 block", "fixed-width rows (core/index/column.h)")             \
    /* core/index/vectors.h */                                                                     \
    X(GENERATION, 'G', "b32 number", "LE64 version, then what one embedding identity has made")    \
    X(VECTOR, 'v', "b32 generation, layer byte, b32 first", "a block of rows")                     \
    X(VECTOR_SIDE, 'V', "b32 generation, layer byte, b32 block or parent",                         \
      "what nodes have of their edges; members of an edge")                                        \
    X(VECTOR_DIRTY, 'w', "b32 generation, layer byte, b32 first",                                  \
      "LE64 seq: an edge to be computed again, or nodes whose edges are")                          \
    X(JOB, 'j', "b64 seq", "job record (core/ingest/job.h)")                                       \
    X(FLUSH, 'J', "b64 seq", "LE32 last turn before it: a flush not done yet")                     \
    X(WORK, 'W', "b64 seq of a job", "what waits for a model (core/ingest/work.h)")                \
    X(IDEMPOTENCY, 'I', "16 bytes hash of holder, route and key", "api/idempotency.h")             \
    X(EXPIRY, 'X', "b64 ms, kind byte, rest of key", "empty: that row may go at that time")        \
    /* in space 0 */                                                                               \
    X(FORMAT, 'F', "", "format of the files, tokenizer version")                                   \
    X(REGISTRY, 'r', "space name", "LE64 id (0 = deleted), LE64 last seq of earlier lives")        \
    X(DUE, 'd', "b64 ms, b64 space id", "empty: the space has work at that time")                  \
    X(DEAD, 'D', "b64 space id", "empty: a deleted space whose range is being purged")

enum store_kind {
#define X(name, letter, key, value) KIND_##name = letter,
    STORE_KIND_TABLE(X)
#undef X
};

/* A space's counters, one small value that every batch rewrites. New ones go to the end: in rows
 * that are older they are 0. */
#define STAT_TABLE(X)                                                                              \
    X(SEQ)          /* number of the last batch */                                                 \
    X(PROCESSED)    /* processed_seq, DESIGN 1 */                                                  \
    X(NEXT_TURN)    /* next arrival number, first 1 */                                             \
    X(NEXT_EPISODE) /* next ids, first 1 */                                                        \
    X(NEXT_TOPIC)                                                                                  \
    X(NEXT_FACT)                                                                                   \
    X(NEXT_SESSION)                                                                                \
    X(NEXT_SPEAKER)                                                                                \
    X(NEXT_DOC_TURN) /* next document numbers, first 0; a fact's is its id - 1 */                  \
    X(NEXT_DOC_EPISODE)                                                                            \
    X(NEXT_DOC_TOPIC)                                                                              \
    X(TURNS) /* live nodes */                                                                      \
    X(EPISODES)                                                                                    \
    X(TOPICS)                                                                                      \
    X(FACTS)                                                                                       \
    X(DOCS_TURN) /* live indexed documents of a layer: N of BM25 */                                \
    X(DOCS_FACT)                                                                                   \
    X(DOCS_EPISODE)                                                                                \
    X(DOCS_TOPIC)                                                                                  \
    X(LENGTH_TURN) /* sum of the lengths, as quantised in LENGTH, of live documents */             \
    X(LENGTH_FACT)                                                                                 \
    X(LENGTH_EPISODE)                                                                              \
    X(LENGTH_TOPIC)                                                                                \
    X(PENDING)        /* live turns that boundary has not looked at */                             \
    X(UNFINISHED)     /* live turns looked at and closed whose facts are not committed */          \
    X(OPEN)           /* live turns resting in a buffer */                                         \
    X(LOOKED)         /* boundary has looked at every turn n <= this */                            \
    X(FLUSHES)        /* flushes not done yet */                                                   \
    X(LAST_ARRIVAL)   /* server time of the last accepted turn, ms */                              \
    X(IDLE_DUE)       /* when the oldest open buffer may have become idle, ms; 0 = none */         \
    X(EXPIRE_DUE)     /* when the first EXPIRY row is due, ms; 0 = none */                         \
    X(DUE)            /* time of this space's DUE row + 1; 0 = it has none */                      \
    X(SMALL_SEGMENTS) /* segments made by single batches, not folded yet */                        \
    X(DEAD_DOCS)      /* dead documents that segments may still name */                            \
    X(TEXT_BYTES)     /* bytes of live turns' text */                                              \
    X(CHANGES)   /* batches of the space's lane (stages and deletes), see core/ingest/lane.h */    \
    X(CREATED)   /* ms */                                                                          \
    X(WORK_DUE)  /* when the first work with a model is due, ms; 0 = none */                       \
    X(EMBED_DUE) /* when vectors are to be brought up to date, ms; 0 = they are, or not wanted */  \
    X(EMBED_FAILURES) /* failures of that in a row; above 0: EMBED_DUE is not 0 */                 \
    X(VECTORS_DUE)    /* when housekeeping of vectors is due, ms; 0 = none */

enum stat_id {
#define X(name) STAT_##name,
    STAT_TABLE(X)
#undef X
        STAT_COUNT
};

struct space_stat {
    uint64_t v[STAT_COUNT];
};

/* --- reading --- */

/* ERR_UNAVAILABLE when the store is stopping or has no reader slot left. */
enum err_code store_begin(struct store *store, struct store_txn **txn, struct err *err) MUST_USE;
void store_end(struct store_txn *txn); /* NULL is fine */

/* Absent: ERR_OK with value->at NULL. An empty value has a non-NULL `at`. */
enum err_code store_get(struct store_txn *txn, uint64_t space, enum store_kind kind,
                        struct str rest, struct str *value, struct err *err) MUST_USE;
/* The same for keys that are one big-endian 32-bit number. */
enum err_code store_get_u32(struct store_txn *txn, uint64_t space, enum store_kind kind,
                            uint32_t id, struct str *value, struct err *err) MUST_USE;

/* Space id by name; 0 when there is none. */
enum err_code store_space_find(struct store_txn *txn, struct str name, uint64_t *space,
                               struct err *err) MUST_USE;
/* ERR_NOT_FOUND when the space is gone. */
enum err_code store_stat(struct store_txn *txn, uint64_t space, struct space_stat *stat,
                         struct err *err) MUST_USE;

/* Living spaces in name order whose name starts with `prefix` and is greater than `after` (absent:
 * from the first): at most `max` of them, *n written. Names borrow. */
struct store_space {
    struct str name;
    uint64_t id;
};
enum err_code store_spaces_list(struct store_txn *txn, struct str prefix, struct str after,
                                struct store_space *spaces, size_t max, size_t *n,
                                struct err *err) MUST_USE;
/* Estimate, from samples of each kind's rows, of the bytes that a space takes; ~0.2 ms. */
enum err_code store_space_bytes(struct store_txn *txn, uint64_t space, uint64_t *bytes,
                                struct err *err) MUST_USE;

struct store_item {
    struct str key; /* the rest, without space and kind; .at NULL: past the end */
    struct str value;
};

/* A cursor walks one (space, kind) range. Free it before store_end(). */
enum err_code store_cursor_open(struct store_txn *txn, uint64_t space, enum store_kind kind,
                                struct store_cursor **cursor, struct err *err) MUST_USE;
void store_cursor_close(struct store_cursor *cursor); /* NULL is fine */
/* First item whose key >= rest. */
enum err_code store_cursor_seek(struct store_cursor *cursor, struct str rest,
                                struct store_item *item, struct err *err) MUST_USE;
/* Last item of the range whose key < rest (rest absent: the very last). */
enum err_code store_cursor_seek_before(struct store_cursor *cursor, struct str rest,
                                       struct store_item *item, struct err *err) MUST_USE;
enum err_code store_cursor_next(struct store_cursor *cursor, struct store_item *item,
                                struct err *err) MUST_USE;
enum err_code store_cursor_prev(struct store_cursor *cursor, struct store_item *item,
                                struct err *err) MUST_USE;

/* Lays the batch's operations from number `from` on over the snapshot: until store_end() everything
 * that is read of the batch's space is as if they had been applied by a batch `seq`. So who makes
 * several decisions for one batch sees in each what the ones before decided. Records are not
 * stamped, LOG and HISTORY rows and what the writer derives of counters are left out. The batch has
 * no slots, the only fixes are those of its seq in keys; its bytes must last and lie in the arena
 * that all batches of this transaction share. No cursor may be open. After an error the transaction
 * is of no use. */
enum err_code store_lay(struct store_txn *txn, const struct batch *batch, uint32_t from,
                        uint64_t seq, struct err *err) MUST_USE;

/* --- writing --- */

/* The writer's three queues, served in this order; housekeeping at least 1 in 16 (DESIGN 3). */
enum store_queue { STORE_TURNS, STORE_STAGES, STORE_HOUSEKEEPING, STORE_QUEUES };

/* Called on the writer thread after the commit (or the refusal); only hands over. `err` is set when
 * `code` is not ERR_OK and dies with the call. Of a group they come one after the other: while
 * batch->more is set the next one follows at once, so who hands over may gather them. */
typedef void store_done_fn(struct batch *batch, enum err_code code, const struct err *err,
                           void *arg);

/* Hands the batch over; its memory stays alive and untouched until `done`. When the queue is full
 * or the store stops or is latched by a write error: ERR_UNAVAILABLE; disk full: ERR_STORAGE_FULL;
 * then `done` is not called. */
enum err_code store_submit(struct store *store, struct batch *batch, enum store_queue queue,
                           store_done_fn *done, void *arg, struct err *err) MUST_USE;

/* What store_submit() would say now: for work that is paid for before it can be stored. */
enum err_code store_may_submit(struct store *store, enum store_queue queue,
                               struct err *err) MUST_USE;

/* One watcher: called on the writer thread after a commit, once a changed space; only hands over.
 * A dropped space is told with dropped = true. Set before the first submit. */
struct store_change {
    uint64_t space;
    uint64_t seq;
    uint64_t processed;
    uint64_t due_ms; /* 0: due now; UINT64_MAX: no work */
    bool dropped;
};
typedef void store_watch_fn(const struct store_change *change, void *arg);
void store_watch(struct store *store, store_watch_fn *watch, void *arg);

/* --- state of the store, for readiness and metrics --- */

enum store_state { STORE_OK, STORE_FULL, STORE_LATCHED, STORE_STOPPING };
struct store_health {
    enum store_state state;
    uint64_t file_bytes, used_bytes, map_bytes, disk_free_bytes;
    uint64_t readers, queued[STORE_QUEUES];
    uint64_t commits, batches, refused;
    uint64_t commit_ns_total;
};
void store_health(struct store *store, struct store_health *health);

#endif
