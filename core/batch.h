/* A batch: one atomic change of one space, built on a worker, applied by the writer (DESIGN 4).
 *
 * It is preconditions plus operations. The writer, inside its transaction and in queue order,
 * checks the preconditions, resolves the slots (ids, arrival numbers, ordinals), fixes them into
 * keys and values, applies the operations, gives the batch the space's next seq, writes its LOG
 * row and the counters. A precondition that fails refuses this batch alone with ERR_CONFLICT; its
 * owner reads again and builds a new one.
 *
 * Slots. What only the writer can know when it applies (the next turn number, the ordinal of a
 * name) is a slot. Keys and values carry a hole of 4 bytes for it; batch_fix() says: there goes
 * slot + add, big-endian in keys, little-endian in values. Fixing is repeatable, because a group
 * that fails is applied again batch by batch.
 *
 * Derived by the writer after the operations of every batch that has a seq, so that no builder can
 * forget it:
 *   PROCESSED  = SEQ when PENDING, UNFINISHED and FLUSHES are 0, else max(old, batch.processed)
 *   DUE        = 0 (now) when PENDING or FLUSHES > 0 or SMALL_SEGMENTS >= FOLD_SEGMENTS, else the
 *                least of IDLE_DUE, WORK_DUE, EXPIRE_DUE, EMBED_DUE and VECTORS_DUE that is not 0;
 *                the DUE row follows.
 * Maintenance batches (has_seq false) change no answer, have no seq and no LOG row; DUE is derived
 * for them too.
 *
 * I1  after batch_ok() every fix lies inside its key or value.
 * I2  an operation's bytes live in the batch's arena and are not shared with another batch.
 *
 * Failure is sticky as in buf.h: ask batch_ok() once before submitting. */
#ifndef HM_CORE_BATCH_H
#define HM_CORE_BATCH_H

#include "core/store.h"

/* Why the batch was made; stored in its LOG row. */
#define BATCH_CAUSE_TABLE(X)                                                                       \
    X(CREATE, "create")     /* a space came to be */                                               \
    X(SETTINGS, "settings") /* its settings changed */                                             \
    X(TURNS, "turns")       /* turns were accepted */                                              \
    X(FLUSH, "flush")       /* a flush was asked for */                                            \
    X(STAGE, "stage")       /* boundary progress, an episode with its facts */                     \
    X(DELETE, "delete")     /* something was deleted on request */                                 \
    X(JOB, "job")           /* a job was retried or cancelled */                                   \
    X(DROP, "drop")         /* the space was deleted */                                            \
    X(KEEP, "keep")         /* maintenance: fold, purge, expiry */

enum batch_cause {
#define X(name, slug) CAUSE_##name,
    BATCH_CAUSE_TABLE(X)
#undef X
        CAUSE_COUNT
};

enum batch_op_type {
    OP_PUT,  /* key = value */
    OP_DEL,  /* key must not exist afterwards; absent is fine */
    OP_ROWS, /* n rows of `width` bytes from row `row` on in a blocked array */
    OP_ADD,  /* counter += delta */
    OP_SET,  /* counter = delta */
    OP_MIN,  /* counter = least of the two that is not 0 */
};

enum batch_flag {
    PUT_STAMP = 1, /* the batch's seq goes into the first 8 bytes of the value */
    PUT_KEEP = 2,  /* the value that is replaced or deleted becomes a HISTORY row (key: b32 id) */
};

struct batch_op {
    uint8_t type;
    uint8_t flags;
    uint8_t kind;     /* enum store_kind */
    uint16_t counter; /* OP_ADD, OP_SET, OP_MIN */
    struct str key;   /* rest; for OP_ROWS the part before the block number */
    struct str value; /* for OP_ROWS n * width bytes */
    int64_t delta;
    uint32_t row, width, rows_per_block; /* OP_ROWS */
    uint32_t row_fixed;                  /* OP_ROWS: row after fixing; the writer's */
};

enum batch_need_type {
    NEED_ABSENT,  /* the key does not exist */
    NEED_VERSION, /* the key exists and its record was made by seq `version` */
    NEED_STAT,    /* counter `counter` equals `version` */
};

struct batch_need {
    uint8_t type;
    uint8_t kind;
    uint16_t counter;
    struct str key;
    uint64_t version;
};

enum batch_slot_type {
    SLOT_TAKE,   /* takes `n` numbers of a counter; value = the first */
    SLOT_INTERN, /* ordinal of a name (kind, key); a new name takes the counter's next number */
};

struct batch_slot {
    uint8_t type;
    uint8_t kind;
    uint16_t counter;
    struct str key;
    uint32_t n;
    uint32_t value; /* the writer's answer, valid in `done` */
};

/* FIX_ROW: the operation's first row becomes slot + add; `row` and `offset` as given are ignored */
enum batch_place { FIX_KEY, FIX_VALUE, FIX_ROW };
#define SLOT_SEQ UINT32_MAX /* fixes the batch's seq, 8 bytes */

struct batch_fix {
    uint32_t op;
    uint32_t offset;
    uint32_t slot; /* index, or SLOT_SEQ */
    uint32_t add;
    uint8_t place;
};

/* A line of the LOG row: `count` ids of a kind from `first` on (fixed by `slot`, or absolute). */
enum batch_change { CHANGE_ADD = '+', CHANGE_SET = '*', CHANGE_DEL = '-' };
struct batch_log {
    uint8_t change;
    uint8_t kind;
    uint32_t slot; /* UINT32_MAX: first is absolute */
    uint32_t first;
    uint32_t count;
};

#define BATCH_LIST(type)                                                                           \
    struct {                                                                                       \
        type *at;                                                                                  \
        uint32_t n, cap;                                                                           \
    }

struct batch {
    struct arena *arena;
    uint64_t space; /* 0: resolved by `name` when applied */
    enum batch_cause cause;
    bool has_seq;
    bool failed;      /* memory ran out while building */
    bool create;      /* make the space `name` if it does not exist (value: `settings`) */
    bool create_only; /* and refuse with ERR_CONFLICT when it does */
    bool drop;        /* delete the space: its name at once, its range later */
    struct str name;
    struct str settings; /* META record for a created space */
    uint64_t processed;  /* see above; 0 when the batch settles nothing */
    BATCH_LIST(struct batch_op) ops;
    BATCH_LIST(struct batch_need) needs;
    BATCH_LIST(struct batch_slot) slots;
    BATCH_LIST(struct batch_fix) fixes;
    BATCH_LIST(struct batch_log) logs;
    size_t bytes; /* of all keys and values: for the writer's group limit */
    /* Receipt, filled by the writer before `done`. */
    uint64_t seq;
    struct space_stat stat; /* after the batch */
    /* The writer's. */
    struct batch *next;
    enum store_queue queue;
    store_done_fn *done;
    void *done_arg;
    enum err_code outcome;
    uint64_t applied_to;       /* the space's id; `space` has it too once it is committed */
    bool more;                 /* in `done`: the next of the same commit follows at once */
    const struct err *refusal; /* why, when outcome is not ERR_OK; dies after `done` */
};

enum { FOLD_SEGMENTS = 32 };

/* NULL when memory is short. */
struct batch *batch_new(struct arena *arena, uint64_t space, enum batch_cause cause);
struct batch *batch_new_named(struct arena *arena, struct str name, enum batch_cause cause);
bool batch_ok(const struct batch *batch);

/* Keys and values are copied into the arena (fixes write into them). Returns the operation's index
 * for batch_fix(). */
uint32_t batch_put(struct batch *batch, enum store_kind kind, struct str key, struct str value,
                   unsigned flags);
uint32_t batch_put_u32(struct batch *batch, enum store_kind kind, uint32_t id, struct str value,
                       unsigned flags);
uint32_t batch_del(struct batch *batch, enum store_kind kind, struct str key, unsigned flags);
uint32_t batch_del_u32(struct batch *batch, enum store_kind kind, uint32_t id, unsigned flags);
/* Rows in a blocked array under (kind, prefix): row r lies in block r / rows_per_block. Missing
 * rows before it are zero. */
uint32_t batch_rows(struct batch *batch, enum store_kind kind, struct str prefix,
                    uint32_t rows_per_block, uint32_t width, uint32_t row, struct str rows);
void batch_add(struct batch *batch, enum stat_id counter, int64_t delta);
void batch_set(struct batch *batch, enum stat_id counter, uint64_t value);
void batch_min(struct batch *batch, enum stat_id counter, uint64_t value);

void batch_need_absent(struct batch *batch, enum store_kind kind, struct str key);
void batch_need_version(struct batch *batch, enum store_kind kind, struct str key, uint64_t seq);
void batch_need_stat(struct batch *batch, enum stat_id counter, uint64_t value);

uint32_t batch_take(struct batch *batch, enum stat_id counter, uint32_t n);
/* The same (kind, key) asked twice gives the same slot. */
uint32_t batch_intern(struct batch *batch, enum store_kind kind, struct str key,
                      enum stat_id counter);
void batch_fix(struct batch *batch, uint32_t op, enum batch_place place, uint32_t offset,
               uint32_t slot, uint32_t add);
void batch_log(struct batch *batch, enum batch_change change, enum store_kind kind, uint32_t slot,
               uint32_t first, uint32_t n);
/* A row that goes at `at_ms`: an EXPIRY row and the counter. */
void batch_expire(struct batch *batch, uint64_t at_ms, enum store_kind kind, struct str key);

/* What the operation makes of its counter; false, and nothing changed, when that would fall below
 * 0. Only for OP_ADD, OP_SET and OP_MIN. */
bool batch_op_count(const struct batch_op *op, struct space_stat *stat) MUST_USE;

/* A place in a batch to come back to: what was added behind it goes, also a failure. */
struct batch_mark {
    uint32_t ops, needs, slots, fixes, logs;
    size_t bytes;
    uint64_t processed;
};
struct batch_mark batch_mark(const struct batch *batch);
void batch_rewind(struct batch *batch, const struct batch_mark *mark);

void batch_check(const struct batch *batch);

#endif
