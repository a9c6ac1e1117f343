#include "core/index/fold_int.h"
#include "core/index/lengths_int.h"

/* All segments of a space in key order. */
struct shelf {
    struct arena *arena;
    struct fold_segment *at;
    uint32_t n, cap;
    struct str *parts; /* room for the parts of the segment that is being read */
    uint32_t per_level[SEGMENT_LEVELS];
};

static enum err_code memory(struct err *err)
{
    return err_set(err, ERR_EXHAUSTED, "out of memory while looking for segments to fold");
}

static struct fold_segment *shelf_push(struct shelf *shelf)
{
    if (shelf->n == shelf->cap) {
        uint32_t cap = shelf->cap == 0 ? 64 : shelf->cap * 2;
        struct fold_segment *at = ARENA_ARRAY(shelf->arena, struct fold_segment, cap);
        if (at == NULL)
            return NULL;
        if (shelf->n != 0)
            memcpy(at, shelf->at, shelf->n * sizeof *at);
        shelf->at = at;
        shelf->cap = cap;
    }
    return &shelf->at[shelf->n++];
}

/* Part 0 opens a segment; the others must follow in order and be as many as the header says. */
static enum err_code shelf_add(struct shelf *shelf, const struct store_item *item, struct err *err)
{
    struct segment_part part;
    if (item->key.len != SEGMENT_KEY || !segment__open(item->value, &part))
        return segment__damaged(err);
    const uint8_t *key = (const uint8_t *)item->key.at;
    uint64_t seq = be64_get(key);
    uint32_t number = (uint32_t)key[8] << 8 | key[9];
    struct fold_segment *segment;
    if (number == 0) {
        segment = shelf_push(shelf);
        if (segment == NULL)
            return memory(err);
        *segment = (struct fold_segment){.seq = seq, .head = part.head};
        segment->parts = ARENA_ARRAY(shelf->arena, struct str, part.head.parts);
        if (segment->parts == NULL)
            return memory(err);
        shelf->per_level[part.head.level]++;
    } else if (shelf->n == 0) {
        return segment__damaged(err);
    } else {
        segment = &shelf->at[shelf->n - 1];
    }
    if (segment->seq != seq || number != segment->n_parts || number >= segment->head.parts)
        return segment__damaged(err);
    segment->parts[segment->n_parts++] = item->value;
    segment->bytes += item->value.len;
    return ERR_OK;
}

static enum err_code shelf_read(struct shelf *shelf, struct store_txn *txn, uint64_t space,
                                struct err *err)
{
    struct store_cursor *cursor = NULL;
    struct store_item item;
    enum err_code rc = store_cursor_open(txn, space, KIND_SEGMENT, &cursor, err);
    if (rc != ERR_OK)
        return rc;
    rc = store_cursor_seek(cursor, STR(""), &item, err);
    while (rc == ERR_OK && item.key.at != NULL) {
        rc = shelf_add(shelf, &item, err);
        if (rc == ERR_OK)
            rc = store_cursor_next(cursor, &item, err);
    }
    store_cursor_close(cursor);
    for (uint32_t i = 0; rc == ERR_OK && i < shelf->n; i++) {
        if (shelf->at[i].n_parts != shelf->at[i].head.parts)
            rc = segment__damaged(err);
    }
    return rc;
}

/* Documents of the span that live now. */
static uint32_t count_living(const struct segment_head *head, struct lengths *lengths)
{
    uint32_t living = 0;
    for (unsigned layer = 0; layer < LAYERS; layer++) {
        uint64_t doc = head->base[layer];
        uint64_t end = doc + head->span[layer];
        while (doc < end) {
            uint64_t next = (doc / LENGTH_BLOCK + 1) * LENGTH_BLOCK;
            struct str block =
                lengths__block(lengths, (enum layer)layer, (uint32_t)(doc / LENGTH_BLOCK));
            uint64_t stop = next < end ? next : end;
            for (; doc < stop && doc % LENGTH_BLOCK < block.len; doc++)
                living += block.at[doc % LENGTH_BLOCK] != 0;
            doc = stop;
        }
    }
    return living < head->docs ? living : head->docs;
}

/* The longest run from `from` on of one level that a single fold may take. */
static uint32_t run_length(const struct shelf *shelf, uint32_t from)
{
    uint32_t n = 0;
    uint64_t docs = 0;
    size_t bytes = 0;
    for (uint32_t i = from; i < shelf->n && n < FOLD_SEGMENTS; i++, n++) {
        const struct fold_segment *segment = &shelf->at[i];
        docs += segment->head.docs;
        bytes += segment->bytes;
        if (segment->head.level != shelf->at[from].head.level ||
            (n != 0 && (docs > FOLD_DOCS || bytes > FOLD_BYTES)))
            break;
    }
    return n;
}

/* The oldest run of that level with at least `least` segments. */
static bool pick_run(const struct shelf *shelf, uint8_t level, uint32_t least,
                     struct fold_plan *plan)
{
    for (uint32_t i = 0; i < shelf->n; i++) {
        if (shelf->at[i].head.level != level)
            continue;
        uint32_t n = run_length(shelf, i);
        if (n < least)
            continue;
        *plan = (struct fold_plan){.first = &shelf->at[i], .n = n};
        plan->level = (uint8_t)(level + 1);
        return true;
    }
    return false;
}

/* The oldest folded segment that is more than a quarter dead. */
static void pick_dead(const struct shelf *shelf, struct lengths *lengths, struct fold_plan *plan)
{
    for (uint32_t i = 0; i < shelf->n; i++) {
        const struct fold_segment *segment = &shelf->at[i];
        if (segment->head.level == 0)
            return; /* the rest is small: key order */
        uint64_t dead = segment->head.docs - count_living(&segment->head, lengths);
        if (dead * 4 > segment->head.docs) {
            *plan = (struct fold_plan){.first = segment, .n = 1, .level = segment->head.level};
            return;
        }
    }
}

enum err_code fold__plan(struct store_txn *txn, uint64_t space, struct lengths *lengths,
                         struct arena *arena, struct fold_plan *plan, struct err *err)
{
    *plan = (struct fold_plan){0};
    struct space_stat stat;
    enum err_code rc = store_stat(txn, space, &stat, err);
    if (rc != ERR_OK)
        return rc;
    bool many = stat.v[STAT_SMALL_SEGMENTS] >= FOLD_SEGMENTS;
    if (!many && stat.v[STAT_DEAD_DOCS] == 0)
        return ERR_OK;
    struct shelf shelf = {.arena = arena};
    rc = shelf_read(&shelf, txn, space, err);
    if (rc != ERR_OK)
        return rc;
    bool found = many && shelf.per_level[1] > FOLD_LEVEL_1 && pick_run(&shelf, 1, 2, plan);
    if (!found && !(many && pick_run(&shelf, 0, 1, plan)))
        pick_dead(&shelf, lengths, plan);
    for (uint32_t i = 0; i < plan->n; i++) {
        struct fold_segment *segment = &shelf.at[(size_t)(plan->first - shelf.at) + i];
        segment->living = count_living(&segment->head, lengths);
        plan->dropped += segment->head.docs - segment->living;
        plan->living += segment->living;
    }
    /* A counter that were too low must not make the writer refuse every fold. */
    if (plan->dropped > stat.v[STAT_DEAD_DOCS])
        plan->dropped = stat.v[STAT_DEAD_DOCS];
    return lengths_error(lengths, err);
}
