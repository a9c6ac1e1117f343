#include "core/index/vectors_int.h"

enum { RECORD_FIRST = 8 }; /* LE64 version before the format byte */

enum err_code vectors__damaged(const char *what, uint32_t number, struct err *err)
{
    return err_set(err, ERR_INTERNAL, "%s %u of the vector index is damaged", what, number);
}

enum err_code vectors__memory(struct err *err)
{
    return err_set(err, ERR_EXHAUSTED, "out of memory in the vector index");
}

void vectors_key(char key[VECTORS_KEY], uint32_t generation, unsigned layer, uint32_t number)
{
    be32_set(key, generation);
    key[4] = (char)layer;
    be32_set(key + 5, number);
}

/* --- the record --- */

static void encode(const struct vectors_generation *g, struct buf *out)
{
    buf_u64(out, g->version);
    buf_u8(out, VECTORS_FORMAT);
    buf_u8(out, g->state);
    buf_u32(out, g->dim);
    buf_u64(out, g->identity);
    for (unsigned layer = 0; layer < LAYERS; layer++)
        buf_u32(out, g->embedded[layer]);
    for (unsigned layer = 0; layer < VECTORS_LAYERS; layer++) {
        buf_u32(out, g->rows[layer]);
        buf_u32(out, g->blocks[layer]);
        buf_u32(out, g->small[layer]);
    }
    for (unsigned i = 0; i < 2; i++) {
        buf_u32(out, g->edges[i]);
        buf_u32(out, g->next_block[i]);
    }
    buf_lstr(out, g->line);
}

static enum err_code decode(struct str value, uint32_t number, struct vectors_generation *g,
                            struct err *err)
{
    struct unpack u = unpack_of(value);
    *g = (struct vectors_generation){.number = number, .version = unpack_u64(&u)};
    bool format = unpack_u8(&u) == VECTORS_FORMAT;
    g->state = unpack_u8(&u);
    g->dim = unpack_u32(&u);
    g->identity = unpack_u64(&u);
    for (unsigned layer = 0; layer < LAYERS; layer++)
        g->embedded[layer] = unpack_u32(&u);
    for (unsigned layer = 0; layer < VECTORS_LAYERS; layer++) {
        g->rows[layer] = unpack_u32(&u);
        g->blocks[layer] = unpack_u32(&u);
        g->small[layer] = unpack_u32(&u);
    }
    for (unsigned i = 0; i < 2; i++) {
        g->edges[i] = unpack_u32(&u);
        g->next_block[i] = unpack_u32(&u);
    }
    g->line = unpack_lstr(&u);
    if (!unpack_done(&u) || !format || g->state >= VECTORS_STATES || g->dim == 0 ||
        g->dim > VECTORS_DIM_MAX)
        return vectors__damaged("generation", number, err);
    return ERR_OK;
}

static void put(const struct vectors_generation *g, struct batch *batch)
{
    struct buf value;
    buf_init(&value, batch->arena, RECORD_FIRST + VECTORS_LINE_MAX + 256);
    encode(g, &value);
    if (!buf_ok(&value))
        batch->failed = true;
    else
        (void)batch_put_u32(batch, KIND_GENERATION, g->number, buf_str(&value), 0);
}

void vectors_save(struct vectors_generation *generation, struct batch *batch)
{
    char key[4];
    be32_set(key, generation->number);
    batch_need_version(batch, KIND_GENERATION, (struct str){key, sizeof key}, generation->version);
    generation->version++;
    put(generation, batch);
}

/* --- all of a space --- */

static enum err_code count_all(struct store_cursor *cursor, uint32_t *n, struct err *err)
{
    struct store_item item;
    *n = 0;
    enum err_code rc = store_cursor_seek(cursor, STR(""), &item, err);
    for (; rc == ERR_OK && item.key.at != NULL; ++*n)
        rc = store_cursor_next(cursor, &item, err);
    return rc;
}

static enum err_code read_all(struct store_cursor *cursor, struct vectors_generations *all,
                              struct err *err)
{
    struct store_item item;
    enum err_code rc = store_cursor_seek(cursor, STR(""), &item, err);
    for (uint32_t i = 0; rc == ERR_OK && i < all->n; i++) {
        if (item.key.len != 4)
            return vectors__damaged("generation", i, err);
        rc = decode(item.value, be32_get(item.key.at), &all->at[i], err);
        if (rc == ERR_OK)
            rc = store_cursor_next(cursor, &item, err);
    }
    return rc;
}

enum err_code vectors_generations_get(struct store_txn *txn, uint64_t space, struct arena *arena,
                                      struct vectors_generations *all, struct err *err)
{
    struct store_cursor *cursor = NULL;
    *all = (struct vectors_generations){NULL, 0};
    enum err_code rc = store_cursor_open(txn, space, KIND_GENERATION, &cursor, err);
    if (rc == ERR_OK)
        rc = count_all(cursor, &all->n, err);
    if (rc != ERR_OK || all->n == 0)
        goto out;
    all->at = ARENA_ARRAY(arena, struct vectors_generation, all->n);
    rc = all->at != NULL ? read_all(cursor, all, err) : vectors__memory(err);
out:
    store_cursor_close(cursor);
    if (rc != ERR_OK)
        all->n = 0;
    return rc;
}

struct vectors_generation *vectors_generation_find(const struct vectors_generations *all,
                                                   enum vectors_state state)
{
    for (uint32_t i = 0; i < all->n; i++) {
        if (all->at[i].state == state)
            return &all->at[i];
    }
    return NULL;
}

/* --- life --- */

static uint32_t next_number(const struct vectors_generations *all)
{
    return all->n != 0 ? all->at[all->n - 1].number + 1 : 1;
}

static void need_no_other(const struct vectors_generations *all, struct batch *batch)
{
    char key[4];
    for (uint32_t i = 0; i < batch->needs.n; i++) {
        const struct batch_need *need = &batch->needs.at[i];
        if (need->type == NEED_ABSENT && need->kind == KIND_GENERATION)
            return;
    }
    be32_set(key, next_number(all));
    batch_need_absent(batch, KIND_GENERATION, (struct str){key, sizeof key});
}

enum err_code vectors_start(const struct vectors_generations *all, struct batch *batch,
                            const struct vectors_identity *identity, struct err *err)
{
    ASSERT(identity->dim != 0 && identity->dim <= VECTORS_DIM_MAX);
    ASSERT(identity->line.len <= VECTORS_LINE_MAX);
    if (vectors_generation_find(all, VECTORS_BUILDING) != NULL)
        return err_set(err, ERR_PRECONDITION, "a generation of vectors is being built already");
    struct vectors_generation g = {
        .number = next_number(all),
        .version = 1,
        .identity = identity->hash,
        .line = identity->line,
        .dim = identity->dim,
        .state = VECTORS_BUILDING,
    };
    need_no_other(all, batch);
    put(&g, batch);
    return batch_ok(batch) ? ERR_OK : vectors__memory(err);
}

enum err_code vectors_activate(const struct vectors_generations *all, struct batch *batch,
                               struct err *err)
{
    struct vectors_generation *next = vectors_generation_find(all, VECTORS_BUILDING);
    struct vectors_generation *active = vectors_generation_find(all, VECTORS_ACTIVE);
    if (next == NULL)
        return err_set(err, ERR_PRECONDITION, "no generation of vectors is being built");
    next->state = VECTORS_ACTIVE;
    vectors_save(next, batch);
    if (active != NULL) {
        active->state = VECTORS_OLD;
        vectors_save(active, batch);
    }
    return batch_ok(batch) ? ERR_OK : vectors__memory(err);
}

enum err_code vectors_abandon(const struct vectors_generations *all, struct batch *batch,
                              struct err *err)
{
    struct vectors_generation *g = vectors_generation_find(all, VECTORS_BUILDING);
    if (g == NULL)
        return err_set(err, ERR_PRECONDITION, "no generation of vectors is being built");
    g->state = VECTORS_OLD;
    vectors_save(g, batch);
    return batch_ok(batch) ? ERR_OK : vectors__memory(err);
}

/* --- marks --- */

uint32_t vectors__mark(struct batch *batch, uint32_t generation, unsigned layer, uint32_t first,
                       uint32_t count)
{
    char key[VECTORS_KEY], value[MARK_BYTES] = {0};
    size_t len = vectors__is_edge(layer) ? 8 : MARK_BYTES;
    vectors_key(key, generation, layer, first);
    le32_set(value + 8, count);
    return batch_put(batch, KIND_VECTOR_DIRTY, (struct str){key, sizeof key},
                     (struct str){value, len}, PUT_STAMP);
}

void vectors_edge_dirty(const struct vectors_generations *all, struct batch *batch,
                        enum store_kind kind, uint32_t parent, uint32_t slot)
{
    ASSERT(batch->has_seq && (kind == KIND_EPISODE_EDGE || kind == KIND_TOPIC_EDGE));
    unsigned layer = kind == KIND_EPISODE_EDGE ? EDGE_FACTS : EDGE_EPISODES;
    need_no_other(all, batch);
    for (uint32_t i = 0; i < all->n; i++) {
        if (all->at[i].state == VECTORS_OLD)
            continue;
        uint32_t op = vectors__mark(batch, all->at[i].number, layer, parent, 0);
        if (slot != VECTORS_NO_SLOT && batch_ok(batch))
            batch_fix(batch, op, FIX_KEY, VECTORS_KEY - 4, slot, parent);
    }
}
