/* One batch in the group's transaction. First everything that can refuse it, on a copy of the
 * space's counters and with reads only; from the first write on only a fault of the environment can
 * stop it, and that spoils the whole transaction (S3, G2). */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "core/base/fault.h"
#include "core/log_row.h"
#include "storage/group.h"

enum { REFUSED = -1 }; /* see STORAGE_DAMAGED */

struct apply {
    struct group *group;
    struct batch *batch;
    struct group_space *space; /* NULL while it is still to be created */
    uint64_t id;
    struct space_stat stat;        /* as it will be */
    uint64_t ordinals[STAT_COUNT]; /* the counters before the slots: tells new names from old */
    bool creates;
    struct format_row format;     /* creates: as it will be */
    struct registry_row registry; /* creates, drops */
};

/* Batches own their bytes (I2 of batch.h); fixes and stamps are meant to write into them. */
static char *writable(struct str s)
{
    return key_writable(s.at);
}

static int refuse(struct apply *a, enum err_code code, const char *fmt, ...) PRINTF_LIKE(3, 4);
static int refuse(struct apply *a, enum err_code code, const char *fmt, ...)
{
    static const struct err no_memory = {.code = ERR_UNAVAILABLE,
                                         .message = "refused, and no memory to say why"};
    char text[sizeof no_memory.message];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    struct err *err = ARENA_NEW(a->group->arena, struct err);
    (void)err_set(err, code, "%s", text);
    a->batch->outcome = code;
    a->batch->refusal = err != NULL ? err : &no_memory;
    return REFUSED;
}

/* --- what can refuse --- */

static int plan_create(struct apply *a, const struct registry_row *earlier)
{
    struct batch *batch = a->batch;
    if (batch->settings.len < 8)
        return refuse(a, ERR_INTERNAL, "a space is to be created without settings");
    int rc = format__get(a->group->txn, a->group->store->dbi, &a->format);
    if (rc != 0)
        return rc;
    a->creates = true;
    a->id = a->format.next_space++;
    a->registry = (struct registry_row){.id = a->id, .last_seq = earlier->last_seq};
    a->stat = (struct space_stat){{0}};
    a->stat.v[STAT_SEQ] = a->stat.v[STAT_PROCESSED] = earlier->last_seq;
    static const uint8_t from_one[] = {STAT_NEXT_TURN, STAT_NEXT_EPISODE, STAT_NEXT_TOPIC,
                                       STAT_NEXT_FACT, STAT_NEXT_SESSION, STAT_NEXT_SPEAKER};
    for (size_t i = 0; i < sizeof from_one; i++)
        a->stat.v[from_one[i]] = 1;
    a->stat.v[STAT_CREATED] = (uint64_t)clock_now_ms(a->group->store->clock);
    return 0;
}

static int resolve_name(struct apply *a)
{
    struct batch *batch = a->batch;
    struct registry_row row = {0, 0};
    bool found = false;
    int rc = registry__get(a->group->txn, a->group->store->dbi, batch->name, &row, &found);
    if (rc != 0)
        return rc;
    a->registry = row;
    if (row.id != 0) {
        if (batch->create_only)
            return refuse(a, ERR_CONFLICT, "the space exists already");
        a->id = row.id;
        return 0;
    }
    if (!batch->create && !batch->create_only)
        return refuse(a, ERR_NOT_FOUND, "there is no such space");
    return plan_create(a, &row);
}

static int resolve(struct apply *a)
{
    struct batch *batch = a->batch;
    int rc = 0;
    a->id = batch->space;
    if (batch->space == 0)
        rc = resolve_name(a);
    else if (batch->drop)
        return refuse(a, ERR_INTERNAL, "a space is deleted by its name");
    if (rc != 0 || a->creates)
        return rc;
    rc = group__space(a->group, a->id, &a->space);
    if (rc != 0)
        return rc;
    if (a->space == NULL || a->space->dropped)
        return refuse(a, ERR_NOT_FOUND, "the space is gone");
    a->stat = a->space->stat;
    return 0;
}

static int get(struct apply *a, unsigned kind, struct str rest, struct str *value)
{
    struct key at;
    MDB_val found;
    *value = STR_NONE;
    if (a->space == NULL)
        return 0;
    key_set(&at, a->id, kind, rest);
    MDB_val key = key_val(&at);
    int rc = mdb_cursor_get(a->group->cursor, &key, &found, MDB_SET);
    if (rc == 0)
        *value = val_str(found);
    return rc == MDB_NOTFOUND ? 0 : rc;
}

static int check_need(struct apply *a, const struct batch_need *need)
{
    static const char changed[] = "the space changed meanwhile";
    if (need->type == NEED_STAT) {
        ASSERT(need->counter < STAT_COUNT);
        return a->stat.v[need->counter] == need->version ? 0 : refuse(a, ERR_CONFLICT, changed);
    }
    struct str value;
    int rc = get(a, need->kind, need->key, &value);
    if (rc != 0)
        return rc;
    bool holds = need->type == NEED_ABSENT ? value.at == NULL
                                           : value.len >= 8 && le64_get(value.at) == need->version;
    return holds ? 0 : refuse(a, ERR_CONFLICT, changed);
}

static int plan_slot(struct apply *a, struct batch_slot *slot)
{
    ASSERT(slot->counter < STAT_COUNT);
    uint64_t *counter = &a->stat.v[slot->counter];
    if (slot->type == SLOT_INTERN) {
        struct str value;
        int rc = get(a, slot->kind, slot->key, &value);
        if (rc != 0)
            return rc;
        if (value.at != NULL) {
            slot->value = value.len == 4 ? le32_get(value.at) : 0;
            return slot->value != 0 ? 0 : STORAGE_DAMAGED;
        }
    }
    uint32_t n = slot->type == SLOT_INTERN ? 1 : slot->n;
    if (*counter > UINT32_MAX || n > UINT32_MAX - *counter)
        return refuse(a, ERR_EXHAUSTED, "the space has used up its numbers");
    slot->value = (uint32_t)*counter;
    *counter += n;
    return 0;
}

static bool is_counter(const struct batch_op *op)
{
    return op->type == OP_ADD || op->type == OP_SET || op->type == OP_MIN;
}

static int plan_counters(struct apply *a)
{
    for (uint32_t i = 0; i < a->batch->ops.n; i++) {
        const struct batch_op *op = &a->batch->ops.at[i];
        if (!is_counter(op))
            continue;
        if (!batch_op_count(op, &a->stat))
            return refuse(a, ERR_INTERNAL, "counter %u would fall below 0", op->counter);
    }
    return 0;
}

/* The least time that is not 0. */
static uint64_t first_due(const uint64_t *v)
{
    static const enum stat_id times[] = {STAT_IDLE_DUE, STAT_WORK_DUE, STAT_EXPIRE_DUE,
                                         STAT_EMBED_DUE, STAT_VECTORS_DUE};
    uint64_t first = 0;
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        uint64_t due = v[times[i]];
        if (due != 0 && (first == 0 || due < first))
            first = due;
    }
    return first;
}

/* batch.h, "Derived by the writer". */
static void derive(struct apply *a)
{
    uint64_t *v = a->stat.v;
    bool now = v[STAT_PENDING] != 0 || v[STAT_FLUSHES] != 0;
    if (a->batch->has_seq) {
        if (!now && v[STAT_UNFINISHED] == 0)
            v[STAT_PROCESSED] = v[STAT_SEQ];
        else if (a->batch->processed > v[STAT_PROCESSED])
            v[STAT_PROCESSED] = a->batch->processed;
        ASSERT(a->batch->processed <= v[STAT_SEQ]);
    }
    uint64_t due = first_due(v);
    if (now || v[STAT_SMALL_SEGMENTS] >= FOLD_SEGMENTS)
        v[STAT_DUE] = 1;
    else
        v[STAT_DUE] = due != 0 ? due + 1 : 0;
}

static int plan(struct apply *a)
{
    struct batch *batch = a->batch;
    int rc = resolve(a);
    for (uint32_t i = 0; rc == 0 && i < batch->needs.n; i++)
        rc = check_need(a, &batch->needs.at[i]);
    memcpy(a->ordinals, a->stat.v, sizeof a->ordinals);
    for (uint32_t i = 0; rc == 0 && i < batch->slots.n; i++)
        rc = plan_slot(a, &batch->slots.at[i]);
    if (rc == 0)
        rc = plan_counters(a);
    if (rc != 0)
        return rc;
    if (batch->has_seq)
        a->stat.v[STAT_SEQ]++;
    batch->seq = a->stat.v[STAT_SEQ];
    derive(a);
    return 0;
}

/* --- what writes --- */

static int put(struct apply *a, unsigned kind, struct str rest, struct str value)
{
    struct key at;
    key_set(&at, a->id, kind, rest);
    MDB_val key = key_val(&at);
    MDB_val data = str_val(value);
    return mdb_cursor_put(a->group->cursor, &key, &data, 0);
}

static int put_system(struct apply *a, unsigned kind, uint64_t id)
{
    struct key at;
    key_set_u64(&at, 0, kind, id);
    MDB_val key = key_val(&at);
    MDB_val empty = str_val(STR(""));
    return mdb_put(a->group->txn, a->group->store->dbi, &key, &empty, 0);
}

static int del(struct apply *a, unsigned kind, struct str rest)
{
    struct key at;
    key_set(&at, a->id, kind, rest);
    MDB_val key = key_val(&at);
    MDB_val value;
    int rc = mdb_cursor_get(a->group->cursor, &key, &value, MDB_SET);
    if (rc == 0)
        rc = mdb_cursor_del(a->group->cursor, 0);
    return rc == MDB_NOTFOUND ? 0 : rc;
}

static int write_create(struct apply *a)
{
    struct store *store = a->group->store;
    struct batch *batch = a->batch;
    int rc = format__put(a->group->txn, store->dbi, &a->format);
    if (rc == 0)
        rc = registry__put(a->group->txn, store->dbi, batch->name, &a->registry);
    if (rc != 0)
        return rc;
    a->space = group__space_new(a->group, a->id);
    le64_set(writable(batch->settings), batch->seq);
    return put(a, KIND_META, STR(""), batch->settings);
}

static int write_names(struct apply *a)
{
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < a->batch->slots.n; i++) {
        const struct batch_slot *slot = &a->batch->slots.at[i];
        if (slot->type != SLOT_INTERN || slot->value < a->ordinals[slot->counter])
            continue;
        char ordinal[4];
        le32_set(ordinal, slot->value);
        rc = put(a, slot->kind, slot->key, (struct str){ordinal, sizeof ordinal});
    }
    return rc;
}

static void fix_all(struct batch *batch)
{
    for (uint32_t i = 0; i < batch->ops.n; i++)
        batch->ops.at[i].row_fixed = batch->ops.at[i].row;
    for (uint32_t i = 0; i < batch->fixes.n; i++) {
        const struct batch_fix *fix = &batch->fixes.at[i];
        struct batch_op *op = &batch->ops.at[fix->op];
        bool seq = fix->slot == SLOT_SEQ;
        uint32_t number = seq ? 0 : batch->slots.at[fix->slot].value + fix->add;
        if (fix->place == FIX_ROW)
            op->row_fixed = number;
        else if (fix->place == FIX_KEY && seq)
            be64_set(writable(op->key) + fix->offset, batch->seq);
        else if (fix->place == FIX_KEY)
            be32_set(writable(op->key) + fix->offset, number);
        else if (seq)
            le64_set(writable(op->value) + fix->offset, batch->seq);
        else
            le32_set(writable(op->value) + fix->offset, number);
    }
}

/* The version that is about to go becomes a HISTORY row under its own seq. One that this same batch
 * made was never seen by anybody. */
static int keep_old(struct apply *a, const struct batch_op *op)
{
    struct str old;
    int rc = get(a, op->kind, op->key, &old);
    if (rc != 0 || old.at == NULL || old.len < 8)
        return rc;
    uint64_t seq = le64_get(old.at);
    if (a->batch->has_seq && seq == a->batch->seq)
        return 0;
    ASSERT(op->key.len == 4);
    char rest[13];
    rest[0] = (char)op->kind;
    memcpy(rest + 1, op->key.at, 4);
    be64_set(rest + 5, seq);
    /* The old value may lie in a page that the put moves. */
    struct buf *copy = &a->group->scratch;
    buf_clear(copy);
    buf_str_put(copy, old);
    if (!buf_ok(copy))
        return ENOMEM;
    return put(a, KIND_HISTORY, (struct str){rest, sizeof rest}, buf_str(copy));
}

/* Rows [from, from + n) of one block: read, modify, write. */
static int write_block(struct apply *a, const struct batch_op *op, uint32_t block, struct str rows,
                       size_t from)
{
    char rest[KEY_REST_MAX];
    ASSERT(op->key.len + 4 <= sizeof rest);
    memcpy(rest, op->key.at, op->key.len);
    be32_set(rest + op->key.len, block);
    struct str key = {rest, op->key.len + 4};
    struct str old;
    int rc = get(a, op->kind, key, &old);
    if (rc != 0)
        return rc;
    size_t len = from + rows.len > old.len ? from + rows.len : old.len;
    struct buf *value = &a->group->scratch;
    buf_clear(value);
    char *at = buf_grow(value, len);
    if (at == NULL)
        return ENOMEM;
    if (old.len != 0)
        memcpy(at, old.at, old.len);
    memset(at + old.len, 0, len - old.len);
    memcpy(at + from, rows.at, rows.len);
    return put(a, op->kind, key, buf_str(value));
}

static int write_rows(struct apply *a, const struct batch_op *op)
{
    size_t width = op->width;
    uint32_t row = op->row_fixed;
    size_t done = 0;
    int rc = 0;
    while (rc == 0 && done < op->value.len) {
        uint32_t in_block = row % op->rows_per_block;
        size_t n = (op->rows_per_block - in_block) * width;
        if (n > op->value.len - done)
            n = op->value.len - done;
        rc = write_block(a, op, row / op->rows_per_block, str_part(op->value, done, done + n),
                         in_block * width);
        done += n;
        row += (uint32_t)(n / width);
    }
    return rc;
}

static int write_op(struct apply *a, const struct batch_op *op)
{
    int rc = 0;
    if ((op->flags & PUT_KEEP) != 0)
        rc = keep_old(a, op);
    if (rc != 0)
        return rc;
    switch (op->type) {
    case OP_PUT:
        if ((op->flags & PUT_STAMP) != 0)
            le64_set(writable(op->value), a->batch->seq);
        return put(a, op->kind, op->key, op->value);
    case OP_DEL: return del(a, op->kind, op->key);
    case OP_ROWS: return write_rows(a, op);
    default: return 0;
    }
}

static int write_ops(struct apply *a)
{
    int rc = 0;
    uint32_t n = a->batch->ops.n;
    for (uint32_t i = 0; rc == 0 && i < n; i++) {
        if (i == n / 2)
            rc = fault_point(FAULT_WRITER_MID_APPLY);
        if (rc == 0)
            rc = write_op(a, &a->batch->ops.at[i]);
    }
    return rc;
}

static int write_log(struct apply *a)
{
    char seq[8];
    struct buf *row = &a->group->scratch;
    buf_clear(row);
    log_row_encode(a->batch, (uint64_t)clock_now_ms(a->group->store->clock), row);
    if (!buf_ok(row))
        return ENOMEM;
    be64_set(seq, a->batch->seq);
    return put(a, KIND_LOG, (struct str){seq, sizeof seq}, buf_str(row));
}

/* The name and the counters go at once; the range follows in steps (purge.c). */
static int write_drop(struct apply *a)
{
    struct group *group = a->group;
    a->registry = (struct registry_row){.id = 0, .last_seq = a->batch->seq};
    int rc = registry__put(group->txn, group->store->dbi, a->batch->name, &a->registry);
    if (rc == 0)
        rc = put_system(a, KIND_DEAD, a->id);
    if (rc == 0)
        rc = del(a, KIND_STAT, STR(""));
    a->space->dropped = true;
    group->dropped = true;
    return rc;
}

static int write(struct apply *a)
{
    int rc = a->creates ? write_create(a) : 0;
    if (rc == 0)
        rc = write_names(a);
    if (rc == 0) {
        fix_all(a->batch);
        rc = write_ops(a);
    }
    if (rc == 0 && a->batch->has_seq)
        rc = write_log(a);
    if (rc == 0 && a->batch->drop)
        rc = write_drop(a);
    return rc;
}

int apply__batch(struct group *group, struct batch *batch)
{
    struct apply a = {.group = group, .batch = batch};
    batch->outcome = ERR_OK;
    batch->refusal = NULL;
    int rc = plan(&a);
    if (rc == STORAGE_DAMAGED)
        rc = refuse(&a, ERR_INTERNAL, "%s", storage__text(rc));
    if (rc == REFUSED)
        return 0;
    if (rc == 0)
        rc = write(&a);
    if (rc != 0)
        return rc;
    a.space->stat = a.stat;
    a.space->touched = true;
    batch->stat = a.stat;
    batch->applied_to = a.id;
    return 0;
}
