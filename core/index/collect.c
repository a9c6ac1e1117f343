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

static void note_place(struct collector *c, const struct segment_part *part, size_t t,
                       uint32_t place)
{
    const uint8_t *at, *end;
    bool found = place < part->head.terms && segment__term(part, place) == c->terms[t];
    c->places[t] = found ? place : NOT_THERE;
    if (found && segment__list(part, place, &at, &end))
        __builtin_prefetch(at);
}

/* One pass over a table that has not many more terms than are asked for. */
static void merge_terms(struct collector *c, const struct segment_part *part)
{
    uint32_t place = 0;
    for (size_t t = 0; t < c->n_terms; t++) {
        while (place < part->head.terms && segment__term(part, place) < c->terms[t])
            place++;
        note_place(c, part, t, place);
    }
}

static void search_terms(struct collector *c, const struct segment_part *part)
{
    const struct segment_search search = segment__search(part);
    uint32_t place = 0;
    for (size_t t = 0; t < c->n_terms; t++)
        __builtin_prefetch(part->table +
                           (size_t)segment__guess(&search, c->terms[t]) * SEGMENT_ENTRY);
    for (size_t t = 0; t < c->n_terms; t++) {
        place = segment__lower(&search, c->terms[t], place);
        note_place(c, part, t, place);
    }
}

/* Most small segments are of a call of turns and have one layer. */
static bool has_wanted_layer(const struct collector *c, const struct segment_head *head)
{
    unsigned layers = 0;
    for (unsigned layer = 0; layer < LAYERS; layer++)
        layers |= (unsigned)(head->span[layer] != 0) << layer;
    return (layers & c->decoder.mask) != 0;
}

static enum err_code collect_part(struct collector *c, struct str value, struct err *err)
{
    enum { MERGE_RATIO = 8 }; /* a search costs about so many steps of a merge */
    struct segment_part part;
    enum err_code rc = ERR_OK;
    if (!segment__open(value, &part))
        return segment__damaged(err);
    if (!has_wanted_layer(c, &part.head))
        return ERR_OK;
    if (part.head.terms / MERGE_RATIO <= c->n_terms)
        merge_terms(c, &part);
    else
        search_terms(c, &part);
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
