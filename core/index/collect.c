#include "core/index/segment_int.h"

/* One pass over the segments of a space. Little of a part is read, each piece in another line of
 * memory: so what is next is asked for ahead, the header of the next part and, in the part at hand,
 * every term's place in the table before the first is looked at, then every term's postings. */
struct collector {
    struct decoder decoder;
    const uint64_t *terms;
    size_t n_terms;
    uint32_t *places;           /* by term: where it is in the table of the part at hand */
    struct posting_list *lists; /* term * LAYERS + layer */
};

#define NOT_THERE UINT32_MAX

static void find_terms(struct collector *c, const struct segment_part *part)
{
    const uint8_t *at, *end;
    uint32_t from = 0;
    for (size_t t = 0; t < c->n_terms; t++)
        __builtin_prefetch(part->table + (size_t)segment__guess(part, c->terms[t]) * SEGMENT_ENTRY);
    for (size_t t = 0; t < c->n_terms; t++) {
        from = segment__lower(part, c->terms[t], from);
        bool found = from < part->head.terms && segment__term(part, from) == c->terms[t];
        c->places[t] = found ? from : NOT_THERE;
        if (found && segment__list(part, from, &at, &end))
            __builtin_prefetch(at);
    }
}

static enum err_code collect_part(struct collector *c, struct str value, struct err *err)
{
    struct segment_part part;
    enum err_code rc = ERR_OK;
    if (!segment__open(value, &part))
        return segment__damaged(err);
    find_terms(c, &part);
    for (size_t t = 0; rc == ERR_OK && t < c->n_terms; t++)
        if (c->places[t] != NOT_THERE)
            rc = segment__decode(&part, c->places[t], &c->decoder, c->lists + t * LAYERS, err);
    return rc;
}

static enum err_code collect_all(struct collector *c, struct store_txn *txn, uint64_t space,
                                 struct err *err)
{
    struct store_cursor *cursor = NULL;
    struct store_item item;
    enum err_code rc = store_cursor_open(txn, space, KIND_SEGMENT, &cursor, err);
    if (rc != ERR_OK)
        return rc;
    rc = store_cursor_seek(cursor, STR(""), &item, err);
    while (rc == ERR_OK && item.key.at != NULL) {
        struct str part = item.value;
        rc = store_cursor_next(cursor, &item, err);
        __builtin_prefetch(item.value.at);
        if (rc == ERR_OK)
            rc = collect_part(c, part, err);
    }
    store_cursor_close(cursor);
    return rc;
}

/* NOLINTNEXTLINE(readability-function-size): where it reads, what, and where it goes */
enum err_code segment_collect(struct store_txn *txn, uint64_t space, struct lengths *lengths,
                              const uint64_t *terms, size_t n_terms, unsigned mask,
                              struct arena *arena, struct postings *out, struct err *err)
{
    for (size_t t = 1; t < n_terms; t++)
        ASSERT(terms[t - 1] < terms[t]);
    for (size_t i = 0; i < n_terms * LAYERS; i++)
        out[i] = (struct postings){0};
    struct collector c = {.decoder = {lengths, arena, mask & ((1U << LAYERS) - 1)},
                          .terms = terms,
                          .n_terms = n_terms};
    c.lists = ARENA_ARRAY(arena, struct posting_list, n_terms * LAYERS);
    c.places = ARENA_ARRAY(arena, uint32_t, n_terms);
    if (c.lists == NULL || c.places == NULL)
        return err_set(err, ERR_EXHAUSTED, "out of memory while reading postings");
    enum err_code rc = collect_all(&c, txn, space, err);
    if (rc == ERR_OK)
        rc = lengths_error(lengths, err);
    for (size_t i = 0; rc == ERR_OK && i < n_terms * LAYERS; i++)
        out[i] = (struct postings){c.lists[i].at, c.lists[i].n};
    return rc;
}
