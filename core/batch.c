#include "core/batch.h"

/* Room for one more element; false (and sticky) when memory is short. */
static bool list_grow(struct batch *batch, void **at, uint32_t n, uint32_t *cap, size_t size)
{
    if (n < *cap)
        return true;
    uint32_t want = *cap == 0 ? 16 : *cap * 2;
    void *more = arena_alloc(batch->arena, (size_t)want * size);
    if (more == NULL) {
        batch->failed = true;
        return false;
    }
    if (n != 0)
        memcpy(more, *at, (size_t)n * size);
    *at = more;
    *cap = want;
    return true;
}

#define LIST_PUSH(batch, list, ...)                                                                \
    (list_grow(batch, (void **)&(batch)->list.at, (batch)->list.n, &(batch)->list.cap,             \
               sizeof *(batch)->list.at)                                                           \
         ? ((batch)->list.at[(batch)->list.n] = __VA_ARGS__, (batch)->list.n++)                    \
         : 0)

struct batch *batch_new(struct arena *arena, uint64_t space, enum batch_cause cause)
{
    struct batch *batch = ARENA_NEW(arena, struct batch);
    if (batch == NULL)
        return NULL;
    batch->arena = arena;
    batch->space = space;
    batch->cause = cause;
    batch->has_seq = cause != CAUSE_KEEP;
    return batch;
}

struct batch *batch_new_named(struct arena *arena, struct str name, enum batch_cause cause)
{
    struct batch *batch = batch_new(arena, 0, cause);
    if (batch == NULL)
        return NULL;
    batch->name = str_copy(arena, name);
    batch->failed = batch->name.at == NULL;
    return batch;
}

bool batch_ok(const struct batch *batch)
{
    return !batch->failed;
}

static struct str own(struct batch *batch, struct str s)
{
    struct str copy = str_copy(batch->arena, s);
    if (copy.at == NULL)
        batch->failed = true;
    batch->bytes += s.len;
    return copy;
}

uint32_t batch_put(struct batch *batch, enum store_kind kind, struct str key, struct str value,
                   unsigned flags)
{
    ASSERT((flags & PUT_STAMP) == 0 || value.len >= 8);
    struct batch_op op = {.type = OP_PUT, .flags = (uint8_t)flags, .kind = (uint8_t)kind};
    op.key = own(batch, key);
    op.value = own(batch, value);
    return LIST_PUSH(batch, ops, op);
}

uint32_t batch_put_u32(struct batch *batch, enum store_kind kind, uint32_t id, struct str value,
                       unsigned flags)
{
    char key[4];
    be32_set(key, id);
    return batch_put(batch, kind, (struct str){key, sizeof key}, value, flags);
}

uint32_t batch_del(struct batch *batch, enum store_kind kind, struct str key, unsigned flags)
{
    struct batch_op op = {.type = OP_DEL, .flags = (uint8_t)flags, .kind = (uint8_t)kind};
    op.key = own(batch, key);
    return LIST_PUSH(batch, ops, op);
}

uint32_t batch_del_u32(struct batch *batch, enum store_kind kind, uint32_t id, unsigned flags)
{
    char key[4];
    be32_set(key, id);
    return batch_del(batch, kind, (struct str){key, sizeof key}, flags);
}

/* NOLINTNEXTLINE(readability-function-size): the five that say where, and the rows */
uint32_t batch_rows(struct batch *batch, enum store_kind kind, struct str prefix,
                    uint32_t rows_per_block, uint32_t width, uint32_t row, struct str rows)
{
    ASSERT(width != 0 && rows.len % width == 0);
    struct batch_op op = {.type = OP_ROWS,
                          .kind = (uint8_t)kind,
                          .row = row,
                          .width = width,
                          .rows_per_block = rows_per_block};
    op.key = own(batch, prefix);
    op.value = own(batch, rows);
    return LIST_PUSH(batch, ops, op);
}

static void count(struct batch *batch, enum batch_op_type type, enum stat_id counter, int64_t v)
{
    ASSERT(counter < STAT_COUNT);
    struct batch_op op = {.type = (uint8_t)type, .counter = (uint16_t)counter, .delta = v};
    (void)LIST_PUSH(batch, ops, op);
}

void batch_add(struct batch *batch, enum stat_id counter, int64_t delta)
{
    if (delta != 0)
        count(batch, OP_ADD, counter, delta);
}

void batch_set(struct batch *batch, enum stat_id counter, uint64_t value)
{
    count(batch, OP_SET, counter, (int64_t)value);
}

void batch_min(struct batch *batch, enum stat_id counter, uint64_t value)
{
    count(batch, OP_MIN, counter, (int64_t)value);
}

bool batch_op_count(const struct batch_op *op, struct space_stat *stat)
{
    ASSERT(op->counter < STAT_COUNT);
    uint64_t v = (uint64_t)op->delta;
    uint64_t *counter = &stat->v[op->counter];
    switch (op->type) {
    case OP_SET: *counter = v; return true;
    case OP_MIN:
        if (v != 0 && (*counter == 0 || v < *counter))
            *counter = v;
        return true;
    default:
        ASSERT(op->type == OP_ADD);
        if (op->delta < 0 && 0 - v > *counter)
            return false;
        *counter += v;
        return true;
    }
}

void batch_need_absent(struct batch *batch, enum store_kind kind, struct str key)
{
    struct batch_need need = {.type = NEED_ABSENT, .kind = (uint8_t)kind, .key = own(batch, key)};
    (void)LIST_PUSH(batch, needs, need);
}

void batch_need_version(struct batch *batch, enum store_kind kind, struct str key, uint64_t seq)
{
    struct batch_need need = {
        .type = NEED_VERSION, .kind = (uint8_t)kind, .key = own(batch, key), .version = seq};
    (void)LIST_PUSH(batch, needs, need);
}

void batch_need_stat(struct batch *batch, enum stat_id counter, uint64_t value)
{
    struct batch_need need = {.type = NEED_STAT, .counter = (uint16_t)counter, .version = value};
    (void)LIST_PUSH(batch, needs, need);
}

uint32_t batch_take(struct batch *batch, enum stat_id counter, uint32_t n)
{
    struct batch_slot slot = {.type = SLOT_TAKE, .counter = (uint16_t)counter, .n = n};
    return LIST_PUSH(batch, slots, slot);
}

uint32_t batch_intern(struct batch *batch, enum store_kind kind, struct str key,
                      enum stat_id counter)
{
    for (uint32_t i = 0; i < batch->slots.n; i++) {
        const struct batch_slot *old = &batch->slots.at[i];
        if (old->type == SLOT_INTERN && old->kind == kind && str_eq(old->key, key))
            return i;
    }
    struct batch_slot slot = {.type = SLOT_INTERN,
                              .kind = (uint8_t)kind,
                              .counter = (uint16_t)counter,
                              .key = own(batch, key),
                              .n = 1};
    return LIST_PUSH(batch, slots, slot);
}

void batch_fix(struct batch *batch, uint32_t op, enum batch_place place, uint32_t offset,
               uint32_t slot, uint32_t add)
{
    struct batch_fix fix = {
        .op = op, .offset = offset, .slot = slot, .add = add, .place = (uint8_t)place};
    (void)LIST_PUSH(batch, fixes, fix);
}

void batch_log(struct batch *batch, enum batch_change change, enum store_kind kind, uint32_t slot,
               uint32_t first, uint32_t n)
{
    struct batch_log line = {
        .change = (uint8_t)change, .kind = (uint8_t)kind, .slot = slot, .first = first, .count = n};
    (void)LIST_PUSH(batch, logs, line);
}

void batch_expire(struct batch *batch, uint64_t at_ms, enum store_kind kind, struct str key)
{
    struct buf row;
    buf_init(&row, batch->arena, 512);
    char when[8];
    be64_set(when, at_ms);
    buf_put(&row, when, sizeof when);
    buf_u8(&row, (uint8_t)kind);
    buf_str_put(&row, key);
    if (!buf_ok(&row))
        batch->failed = true;
    (void)batch_put(batch, KIND_EXPIRY, buf_str(&row), STR(""), 0);
    batch_min(batch, STAT_EXPIRE_DUE, at_ms);
}

static void check_fix(const struct batch *batch, const struct batch_fix *fix)
{
    ASSERT(fix->op < batch->ops.n);
    ASSERT(fix->slot == SLOT_SEQ || fix->slot < batch->slots.n);
    const struct batch_op *op = &batch->ops.at[fix->op];
    size_t width = fix->slot == SLOT_SEQ ? 8 : 4;
    if (fix->place == FIX_KEY)
        ASSERT(fix->offset + width <= op->key.len); /* I1 */
    else if (fix->place == FIX_VALUE)
        ASSERT(fix->offset + width <= op->value.len); /* I1 */
    else
        ASSERT(op->type == OP_ROWS && fix->slot != SLOT_SEQ);
}

struct batch_mark batch_mark(const struct batch *batch)
{
    return (struct batch_mark){.ops = batch->ops.n,
                               .needs = batch->needs.n,
                               .slots = batch->slots.n,
                               .fixes = batch->fixes.n,
                               .logs = batch->logs.n,
                               .bytes = batch->bytes,
                               .processed = batch->processed};
}

void batch_rewind(struct batch *batch, const struct batch_mark *mark)
{
    ASSERT(mark->ops <= batch->ops.n && mark->fixes <= batch->fixes.n);
    batch->ops.n = mark->ops;
    batch->needs.n = mark->needs;
    batch->slots.n = mark->slots;
    batch->fixes.n = mark->fixes;
    batch->logs.n = mark->logs;
    batch->bytes = mark->bytes;
    batch->processed = mark->processed;
    batch->failed = false;
}

void batch_check(const struct batch *batch)
{
    if (batch->failed)
        return;
    for (uint32_t i = 0; i < batch->fixes.n; i++)
        check_fix(batch, &batch->fixes.at[i]);
}
