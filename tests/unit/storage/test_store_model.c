/* Ten thousand random batches against a plain sorted array. Batches are in flight together, so
 * groups form; their answers, every row, every counter and random cursor walks must agree. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/unit/storage/fixture.h"

enum { NAMES = 6, STEPS = 10000, FLIGHT = 24, KEY_BYTES = 24, BLOCK = 4, WIDTH = 3, OPS = 6 };

struct row {
    uint64_t space;
    uint8_t kind;
    uint8_t key_len;
    char key[KEY_BYTES];
    size_t len;
    char *value;
};

struct life {
    uint64_t id; /* 0: no such space */
    uint64_t base, seq;
    uint64_t turns, idle, next_turn, next_session;
};

struct op {
    enum { PUT, DEL, ROWS, ADD, MIN, TAKE, INTERN, OPS_KINDS } what;
    uint8_t kind;
    unsigned flags;
    struct str key;
    struct str value;
    int64_t number;
};

struct plan {
    unsigned name;
    uint64_t id; /* addressed by id instead of by name, when not 0 */
    bool create, create_only, drop;
    int need; /* 0 none, 1 absent, 2 version, 3 counter */
    uint64_t need_value;
    struct str need_key;
    struct op ops[OPS];
    size_t n;
};

static struct fixture fx;
static uint64_t seed;
static struct row *rows;
static size_t n_rows, cap_rows;
static struct life lives[NAMES];
static uint64_t last_id;

static uint32_t rnd(uint32_t below)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(seed >> 33) % below;
}

/* --- the reference --- */

static int row_cmp(const struct row *row, uint64_t space, unsigned kind, struct str key)
{
    if (row->space != space)
        return row->space < space ? -1 : 1;
    if (row->kind != kind)
        return row->kind < kind ? -1 : 1;
    return str_cmp((struct str){row->key, row->key_len}, key);
}

static size_t lower(uint64_t space, unsigned kind, struct str key)
{
    size_t from = 0, to = n_rows;
    while (from < to) {
        size_t mid = from + (to - from) / 2;
        if (row_cmp(&rows[mid], space, kind, key) < 0)
            from = mid + 1;
        else
            to = mid;
    }
    return from;
}

static struct row *find(uint64_t space, unsigned kind, struct str key)
{
    size_t i = lower(space, kind, key);
    return i < n_rows && row_cmp(&rows[i], space, kind, key) == 0 ? &rows[i] : NULL;
}

static void model_del(uint64_t space, unsigned kind, struct str key)
{
    struct row *row = find(space, kind, key);
    if (row == NULL)
        return;
    free(row->value);
    memmove(row, row + 1, (size_t)(&rows[n_rows] - (row + 1)) * sizeof *row);
    n_rows--;
}

static void model_put(uint64_t space, unsigned kind, struct str key, struct str value)
{
    char *copy = malloc(value.len + 1);
    memcpy(copy, value.at, value.len);
    model_del(space, kind, key);
    if (n_rows == cap_rows) {
        cap_rows = cap_rows == 0 ? 256 : cap_rows * 2;
        struct row *more = realloc(rows, cap_rows * sizeof *rows);
        ck_assert_ptr_nonnull(more);
        rows = more;
    }
    size_t i = lower(space, kind, key);
    memmove(&rows[i + 1], &rows[i], (n_rows - i) * sizeof *rows);
    n_rows++;
    rows[i] = (struct row){.space = space, .kind = (uint8_t)kind, .key_len = (uint8_t)key.len};
    memcpy(rows[i].key, key.at, key.len);
    rows[i].len = value.len;
    rows[i].value = copy;
}

static void model_keep(const struct life *life, const struct op *op)
{
    struct row *old = find(life->id, op->kind, op->key);
    if (old == NULL || old->len < 8 || le64_get(old->value) == life->seq)
        return;
    char key[13];
    key[0] = (char)op->kind;
    memcpy(key + 1, op->key.at, 4);
    be64_set(key + 5, le64_get(old->value));
    char *value = memcpy(malloc(old->len), old->value, old->len);
    model_put(life->id, KIND_HISTORY, (struct str){key, 13}, (struct str){value, old->len});
    free(value);
}

static void model_rows(const struct life *life, const struct op *op)
{
    for (size_t i = 0; i < op->value.len / WIDTH; i++) {
        size_t at = (size_t)op->number + i;
        char key[5] = {op->key.at[0]};
        be32_set(key + 1, (uint32_t)(at / BLOCK));
        char block[BLOCK * WIDTH] = {0};
        size_t len = (at % BLOCK + 1) * WIDTH;
        struct row *old = find(life->id, op->kind, (struct str){key, 5});
        if (old != NULL) {
            memcpy(block, old->value, old->len);
            len = old->len > len ? old->len : len;
        }
        memcpy(block + at % BLOCK * WIDTH, op->value.at + i * WIDTH, WIDTH);
        model_put(life->id, op->kind, (struct str){key, 5}, (struct str){block, len});
    }
}

static void model_op(struct life *life, const struct op *op)
{
    char stamped[64];
    if ((op->flags & PUT_KEEP) != 0)
        model_keep(life, op);
    switch (op->what) {
    case PUT:
        memcpy(stamped, op->value.at, op->value.len);
        if ((op->flags & PUT_STAMP) != 0)
            le64_set(stamped, life->seq);
        model_put(life->id, op->kind, op->key, (struct str){stamped, op->value.len});
        break;
    case DEL: model_del(life->id, op->kind, op->key); break;
    case ROWS: model_rows(life, op); break;
    default: break;
    }
}

static bool model_need(const struct plan *plan, const struct life *life)
{
    struct row *row = find(life->id, KIND_TOPIC, plan->need_key);
    switch (plan->need) {
    case 1: return row == NULL;
    case 2: return row != NULL && le64_get(row->value) == plan->need_value;
    case 3: return life->turns == plan->need_value;
    default: return true;
    }
}

/* Numbers and counters first, as the writer does; false when a counter would fall below zero. */
static bool model_numbers(struct life *life, const struct plan *plan)
{
    char ordinal[4];
    struct life after = *life;
    for (size_t i = 0; i < plan->n; i++) {
        const struct op *op = &plan->ops[i];
        if (op->what == TAKE)
            after.next_turn += (uint64_t)op->number;
        if (op->what == MIN && (after.idle == 0 || (uint64_t)op->number < after.idle))
            after.idle = (uint64_t)op->number;
        if (op->what == ADD && op->number < 0 && (uint64_t)-op->number > after.turns)
            return false;
        if (op->what == ADD)
            after.turns += (uint64_t)op->number;
    }
    *life = after;
    for (size_t i = 0; i < plan->n; i++) {
        const struct op *op = &plan->ops[i];
        if (op->what != INTERN || find(life->id, KIND_SESSION, op->key) != NULL)
            continue;
        le32_set(ordinal, (uint32_t)life->next_session++);
        model_put(life->id, KIND_SESSION, op->key, (struct str){ordinal, 4});
    }
    return true;
}

static void model_drop(struct life *life)
{
    size_t keep = 0;
    for (size_t i = 0; i < n_rows; i++) {
        if (rows[i].space == life->id)
            free(rows[i].value);
        else
            rows[keep++] = rows[i];
    }
    n_rows = keep;
    *life = (struct life){.base = life->seq};
}

static enum err_code model_apply(const struct plan *plan)
{
    struct life *life = &lives[plan->name];
    if (plan->id != 0 && plan->id != life->id)
        return ERR_NOT_FOUND;
    if (plan->create_only && life->id != 0)
        return ERR_CONFLICT;
    if (life->id == 0 && !plan->create && !plan->create_only)
        return ERR_NOT_FOUND;
    struct life after = *life;
    if (life->id == 0)
        after = (struct life){.id = last_id + 1,
                              .base = life->base,
                              .seq = life->base,
                              .next_turn = 1,
                              .next_session = 1};
    if (!model_need(plan, &after))
        return ERR_CONFLICT;
    if (!model_numbers(&after, plan))
        return ERR_INTERNAL;
    last_id = after.id > last_id ? after.id : last_id;
    after.seq++;
    *life = after;
    for (size_t i = 0; i < plan->n; i++)
        model_op(life, &plan->ops[i]);
    if (plan->drop)
        model_drop(life);
    return ERR_OK;
}

/* --- random plans --- */

static struct str text(size_t len)
{
    char bytes[40];
    for (size_t i = 0; i < len; i++)
        bytes[i] = (char)rnd(256);
    return str_copy(fx.arena, (struct str){bytes, len});
}

static struct str topic_key(void)
{
    char key[4];
    be32_set(key, rnd(12));
    return str_copy(fx.arena, (struct str){key, 4});
}

static struct op random_op(void)
{
    struct op op = {.what = (unsigned)rnd(OPS_KINDS), .kind = KIND_TURN_ID};
    switch (op.what) {
    case PUT:
    case DEL:
        op.key = str_part(STR("aaaa"), 0, rnd(5));
        op.value = text(rnd(30));
        if (rnd(2) == 0) {
            op.kind = KIND_TOPIC;
            op.key = topic_key();
            op.value = text(8 + rnd(30));
            op.flags = (op.what == PUT ? PUT_STAMP : 0u) | PUT_KEEP;
        }
        break;
    case ROWS:
        op.kind = KIND_COLUMN;
        op.key = rnd(2) == 0 ? STR("\1") : STR("\2");
        op.number = (int64_t)rnd(40);
        op.value = text(WIDTH * (1 + rnd(9)));
        break;
    case ADD: op.number = (int64_t)rnd(20) - 8; break;
    case MIN: op.number = 1 + (int64_t)rnd(100000); break;
    case TAKE: op.number = 1 + (int64_t)rnd(4); break;
    default: op.key = str_part(STR("sssssssss"), 0, rnd(9)); break;
    }
    return op;
}

static struct plan random_plan(void)
{
    struct plan plan = {.name = rnd(NAMES), .n = rnd(OPS + 1)};
    unsigned how = rnd(20);
    plan.create = how < 8;
    plan.create_only = how == 8;
    if (how > 14)
        plan.id = rnd(8) == 0 ? 1 + rnd((uint32_t)last_id + 1) : lives[plan.name].id;
    for (unsigned n = 0; plan.id != 0 && n < NAMES; n++)
        if (lives[n].id == plan.id)
            plan.name = n;
    const struct life *life = &lives[plan.name];
    plan.drop = plan.id == 0 && rnd(40) == 0;
    for (size_t i = 0; i < plan.n; i++)
        plan.ops[i] = random_op();
    plan.need = rnd(5) == 0 ? 1 + (int)rnd(3) : 0;
    plan.need_key = topic_key();
    const struct row *row = find(life->id, KIND_TOPIC, plan.need_key);
    plan.need_value = plan.need == 3 ? life->turns : row != NULL ? le64_get(row->value) : 1;
    plan.need_value += rnd(4) == 0;
    return plan;
}

static struct batch *build(const struct plan *plan)
{
    char name[8];
    (void)snprintf(name, sizeof name, "n%u", plan->name);
    struct batch *batch = plan->id != 0 ? batch_of(&fx, plan->id) : batch_named(&fx, name);
    batch->create = plan->create;
    batch->create_only = plan->create_only;
    batch->drop = plan->drop;
    batch->settings = str_copy(fx.arena, STR("        "));
    if (plan->need == 1)
        batch_need_absent(batch, KIND_TOPIC, plan->need_key);
    if (plan->need == 2)
        batch_need_version(batch, KIND_TOPIC, plan->need_key, plan->need_value);
    if (plan->need == 3)
        batch_need_stat(batch, STAT_TURNS, plan->need_value);
    for (size_t i = 0; i < plan->n; i++) {
        const struct op *op = &plan->ops[i];
        enum store_kind kind = (enum store_kind)op->kind;
        switch (op->what) {
        case PUT: (void)batch_put(batch, kind, op->key, op->value, op->flags); break;
        case DEL: (void)batch_del(batch, kind, op->key, op->flags); break;
        case ROWS:
            (void)batch_rows(batch, kind, op->key, BLOCK, WIDTH, (uint32_t)op->number, op->value);
            break;
        case ADD: batch_add(batch, STAT_TURNS, op->number); break;
        case MIN: batch_min(batch, STAT_IDLE_DUE, (uint64_t)op->number); break;
        case TAKE: (void)batch_take(batch, STAT_NEXT_TURN, (uint32_t)op->number); break;
        default: (void)batch_intern(batch, KIND_SESSION, op->key, STAT_NEXT_SESSION); break;
        }
    }
    return batch;
}

/* --- comparing --- */

static void compare_range(struct store_txn *txn, uint64_t space, enum store_kind kind)
{
    struct store_cursor *cursor = NULL;
    struct store_item item;
    struct err err;
    size_t i = lower(space, kind, STR(""));
    ck_assert_int_eq(store_cursor_open(txn, space, kind, &cursor, &err), ERR_OK);
    ck_assert_int_eq(store_cursor_next(cursor, &item, &err), ERR_OK);
    for (; i < n_rows && rows[i].space == space && rows[i].kind == kind; i++) {
        ck_assert_ptr_nonnull(item.key.at);
        ck_assert(str_eq(item.key, (struct str){rows[i].key, rows[i].key_len}));
        ck_assert(str_eq(item.value, (struct str){rows[i].value, rows[i].len}));
        ck_assert_int_eq(store_cursor_next(cursor, &item, &err), ERR_OK);
    }
    ck_assert_ptr_null(item.key.at);
    store_cursor_close(cursor);
}

static void compare_counters(struct store_txn *txn, const struct life *life)
{
    struct space_stat stat;
    struct err err;
    ck_assert_int_eq(store_stat(txn, life->id, &stat, &err), ERR_OK);
    ck_assert_uint_eq(stat.v[STAT_SEQ], life->seq);
    ck_assert_uint_eq(stat.v[STAT_TURNS], life->turns);
    ck_assert_uint_eq(stat.v[STAT_IDLE_DUE], life->idle);
    ck_assert_uint_eq(stat.v[STAT_NEXT_TURN], life->next_turn);
    ck_assert_uint_eq(stat.v[STAT_NEXT_SESSION], life->next_session);
    ck_assert_uint_eq(stat.v[STAT_DUE], life->idle != 0 ? life->idle + 1 : 0);
}

static void compare_all(void)
{
    static const uint8_t kinds[] = {KIND_TURN_ID, KIND_TOPIC, KIND_COLUMN, KIND_SESSION,
                                    KIND_HISTORY};
    size_t due = 0;
    struct store_txn *txn = begin(&fx);
    for (unsigned n = 0; n < NAMES; n++) {
        char name[8];
        uint64_t id = 0;
        struct err err;
        (void)snprintf(name, sizeof name, "n%u", n);
        ck_assert_int_eq(store_space_find(txn, str_of(name), &id, &err), ERR_OK);
        ck_assert_uint_eq(id, lives[n].id);
        if (id == 0)
            continue;
        compare_counters(txn, &lives[n]);
        due += lives[n].idle != 0;
        for (size_t k = 0; k < sizeof kinds; k++)
            compare_range(txn, id, (enum store_kind)kinds[k]);
    }
    store_end(txn);
    for (unsigned n = 0; n < NAMES; n++)
        if (lives[n].id != 0)
            ck_assert_uint_eq(count_rows(&fx, lives[n].id, KIND_LOG), lives[n].seq - lives[n].base);
    ck_assert_uint_eq(count_rows(&fx, 0, KIND_DUE), due);
}

static void compare_seeks(void)
{
    struct store_txn *txn = begin(&fx);
    for (unsigned i = 0; i < 50; i++) {
        struct store_cursor *cursor = NULL;
        struct store_item item;
        struct err err;
        uint64_t space = lives[rnd(NAMES)].id;
        if (space == 0)
            continue;
        struct str key = topic_key();
        ck_assert_int_eq(store_cursor_open(txn, space, KIND_TOPIC, &cursor, &err), ERR_OK);
        bool before = rnd(2) == 0;
        size_t at = lower(space, KIND_TOPIC, key);
        if (before) {
            ck_assert_int_eq(store_cursor_seek_before(cursor, key, &item, &err), ERR_OK);
            at = at == 0 ? n_rows : at - 1;
        } else {
            ck_assert_int_eq(store_cursor_seek(cursor, key, &item, &err), ERR_OK);
        }
        bool there = at < n_rows && rows[at].space == space && rows[at].kind == KIND_TOPIC;
        ck_assert(there == (item.key.at != NULL));
        if (there)
            ck_assert(str_eq(item.value, (struct str){rows[at].value, rows[at].len}));
        store_cursor_close(cursor);
    }
    store_end(txn);
}

static void fly(unsigned n)
{
    struct ticket tickets[FLIGHT];
    enum err_code want[FLIGHT];
    for (unsigned i = 0; i < n; i++) {
        struct plan plan = random_plan();
        struct batch *batch = build(&plan);
        want[i] = model_apply(&plan);
        ticket_submit(&tickets[i], &fx, batch, STORE_TURNS);
    }
    for (unsigned i = 0; i < n; i++)
        ck_assert_int_eq(ticket_wait(&tickets[i]), want[i]);
    arena_reset(fx.arena);
}

START_TEST(agrees_with_the_reference)
{
    seed = (uint64_t)_i * 977 + 1;
    fixture_init(&fx);
    unsigned step = 0, round = 0;
    while (step < STEPS / 4) {
        unsigned n = 1 + rnd(FLIGHT);
        fly(n);
        step += n;
        if (++round % 20 == 0) {
            compare_all();
            compare_seeks();
        }
        if (round % 70 == 0) {
            fixture_close(&fx);
            fixture_open(&fx);
        }
    }
    compare_all();
    for (size_t i = 0; i < n_rows; i++)
        free(rows[i].value);
    free(rows);
    fixture_fini(&fx);
}
END_TEST

Suite *suite_store_model(void)
{
    Suite *suite = suite_create("store_model");
    TCase *tc = tcase_create("model");
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, agrees_with_the_reference, 0, 4);
    suite_add_tcase(suite, tc);
    return suite;
}
