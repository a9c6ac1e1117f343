#include "core/index/segment_int.h"

/* One pass over the segments of a space. */
struct collector {
    struct decoder decoder;
    const uint64_t *terms;
    size_t n_terms;
    struct posting_list *lists; /* term * LAYERS + layer */
};

static enum err_code collect_part(struct collector *c, struct str value, struct err *err)
{
    struct segment_part part;
    if (!segment__open(value, &part))
        return segment__damaged(err);
    uint32_t at = 0;
    for (size_t t = 0; t < c->n_terms && at < part.head.terms; t++) {
        at = segment__lower(&part, c->terms[t], at);
        if (at == part.head.terms || segment__term(&part, at) != c->terms[t])
            continue;
        enum err_code rc = segment__decode(&part, at, &c->decoder, c->lists + t * LAYERS, err);
        if (rc != ERR_OK)
            return rc;
    }
    return ERR_OK;
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
        rc = collect_part(c, item.value, err);
        if (rc == ERR_OK)
            rc = store_cursor_next(cursor, &item, err);
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
    if (c.lists == NULL)
        return err_set(err, ERR_EXHAUSTED, "out of memory while reading postings");
    enum err_code rc = collect_all(&c, txn, space, err);
    if (rc == ERR_OK)
        rc = lengths_error(lengths, err);
    for (size_t i = 0; rc == ERR_OK && i < n_terms * LAYERS; i++)
        out[i] = (struct postings){c.lists[i].at, c.lists[i].n};
    return rc;
}
