#include "core/index/segment.h"

#include "core/index/segment_int.h"

_Static_assert(STAT_DOCS_TURN + LAYER_TOPIC == STAT_DOCS_TOPIC, "counters follow the layers");
_Static_assert(STAT_LENGTH_TURN + LAYER_TOPIC == STAT_LENGTH_TOPIC, "counters follow the layers");

/* One term of one document; `doc` is its place among all documents of the batch, by layer. */
struct entry {
    uint64_t term;
    uint32_t doc;
    uint32_t tf;
};

struct builder {
    const struct segment_doc **docs; /* by layer, then number */
    size_t n;
    uint32_t start[LAYERS]; /* place of each layer's first document */
    uint32_t span[LAYERS];
    struct entry *entries;
    size_t n_entries;
};

static enum err_code memory(struct err *err)
{
    return err_set(err, ERR_EXHAUSTED, "out of memory while building an index segment");
}

static bool sort_docs(struct builder *b, const struct segment_doc *docs, size_t n,
                      struct arena *arena)
{
    b->n = n;
    b->docs = ARENA_ARRAY(arena, const struct segment_doc *, n);
    if (b->docs == NULL)
        return false;
    for (size_t i = 0; i < n; i++) {
        ASSERT((unsigned)docs[i].layer < LAYERS);
        b->span[docs[i].layer]++;
        b->n_entries += docs[i].bag.n;
    }
    for (unsigned layer = 1; layer < LAYERS; layer++)
        b->start[layer] = b->start[layer - 1] + b->span[layer - 1];
    for (size_t i = 0; i < n; i++) {
        ASSERT(docs[i].doc < b->span[docs[i].layer]);
        size_t place = b->start[docs[i].layer] + docs[i].doc;
        ASSERT(b->docs[place] == NULL);
        b->docs[place] = &docs[i];
    }
    return true;
}

/* Stable by term, a byte of the hash a pass. Returns the array that holds the result. */
static struct entry *radix_sort(struct entry *from, struct entry *to, size_t n)
{
    for (unsigned shift = 0; shift < 40; shift += 8) {
        size_t place[257] = {0};
        for (size_t i = 0; i < n; i++)
            place[(from[i].term >> shift & 255) + 1]++;
        for (unsigned byte = 1; byte < 256; byte++)
            place[byte] += place[byte - 1];
        for (size_t i = 0; i < n; i++)
            to[place[from[i].term >> shift & 255]++] = from[i];
        struct entry *swap = from;
        from = to;
        to = swap;
    }
    return from;
}

static bool is_sorted(const struct entry *at, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (at[i - 1].term > at[i].term)
            return false;
    return true;
}

/* All (term, document) pairs by term, then document. Those of a single document are sorted. */
static bool sort_entries(struct builder *b, struct arena *arena)
{
    struct entry *from = arena_alloc(arena, b->n_entries * sizeof *from);
    struct entry *to = arena_alloc(arena, b->n_entries * sizeof *to);
    if (from == NULL || to == NULL)
        return false;
    struct entry *at = from;
    for (size_t d = 0; d < b->n; d++) {
        const struct term_bag *bag = &b->docs[d]->bag;
        for (size_t i = 0; i < bag->n; i++) {
            ASSERT(i == 0 || bag->at[i - 1].term < bag->at[i].term);
            ASSERT(bag->at[i].count != 0 && bag->at[i].term <= TERM_MASK);
            *at++ = (struct entry){bag->at[i].term, (uint32_t)d, bag->at[i].count};
        }
    }
    b->entries = is_sorted(from, b->n_entries) ? from : radix_sort(from, to, b->n_entries);
    return true;
}

/* Hands the terms to the writer of parts. */
static bool put_terms(const struct builder *b, struct segment_out *out, struct arena *arena)
{
    static const uint32_t no_base[LAYERS] = {0};
    struct posting *room = arena_alloc(arena, b->n * sizeof *room);
    if (room == NULL)
        return false;
    size_t i = 0;
    while (i < b->n_entries) {
        struct posting_list lists[LAYERS] = {{0}};
        struct posting *at = room;
        uint64_t term = b->entries[i].term;
        for (; i < b->n_entries && b->entries[i].term == term; i++) {
            const struct segment_doc *doc = b->docs[b->entries[i].doc];
            struct posting_list *list = &lists[doc->layer];
            if (list->n == 0)
                list->at = at;
            *at++ = (struct posting){doc->doc, b->entries[i].tf};
            list->n++;
        }
        segment__out_term(out, term, lists, no_base);
    }
    return true;
}

static void put_parts(struct batch *batch, const struct segment_out *out,
                      const struct segment_head *head, const struct segment_bases *bases)
{
    uint32_t part = 0;
    for (const struct segment_value *v = out->first; v != NULL; v = v->next, part++) {
        char key[SEGMENT_KEY];
        segment__key(key, 0, part);
        uint32_t op = batch_put(batch, KIND_SEGMENT, (struct str){key, sizeof key},
                                (struct str){v->at, v->len}, 0);
        batch_fix(batch, op, FIX_KEY, 0, SLOT_SEQ, 0);
        for (uint32_t layer = 0; layer < LAYERS; layer++) {
            if (head->span[layer] != 0 && bases->slot[layer] != SEGMENT_NO_SLOT)
                batch_fix(batch, op, FIX_VALUE, SEGMENT_BASE_AT + 4 * layer, bases->slot[layer],
                          bases->base[layer]);
        }
    }
}

static uint32_t stored_length(const struct segment_doc *doc)
{
    return length_quantise(doc->bag.length);
}

static bool put_lengths(struct batch *batch, const struct builder *b, unsigned layer,
                        const struct segment_bases *bases)
{
    uint32_t n = b->span[layer];
    char *rows = arena_alloc(batch->arena, n);
    if (rows == NULL)
        return false;
    int64_t total = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct segment_doc *doc = b->docs[b->start[layer] + i];
        rows[i] = (char)length_encode(doc->bag.length);
        total += stored_length(doc);
    }
    char prefix = (char)layer;
    bool fixed = bases->slot[layer] == SEGMENT_NO_SLOT;
    uint32_t op = batch_rows(batch, KIND_LENGTH, (struct str){&prefix, 1}, LENGTH_BLOCK, 1,
                             fixed ? bases->base[layer] : 0, (struct str){rows, n});
    if (!fixed)
        batch_fix(batch, op, FIX_ROW, 0, bases->slot[layer], bases->base[layer]);
    batch_add(batch, (enum stat_id)(STAT_DOCS_TURN + layer), n);
    batch_add(batch, (enum stat_id)(STAT_LENGTH_TURN + layer), total);
    return true;
}

enum err_code segment_add_lengths(struct batch *batch, const struct segment_doc *docs, size_t n,
                                  const struct segment_bases *bases, struct err *err)
{
    struct builder b = {0};
    if (n == 0)
        return ERR_OK;
    if (!sort_docs(&b, docs, n, batch->arena))
        return memory(err);
    for (unsigned layer = 0; layer < LAYERS; layer++) {
        if (b.span[layer] != 0 && !put_lengths(batch, &b, layer, bases))
            return memory(err);
    }
    return batch_ok(batch) ? ERR_OK : memory(err);
}

enum err_code segment_add_postings(struct batch *batch, const struct segment_doc *docs, size_t n,
                                   const struct segment_bases *bases, struct err *err)
{
    if (n == 0)
        return ERR_OK;
    ASSERT(n <= UINT32_MAX);
    struct builder b = {0};
    struct segment_out out;
    segment__out_init(&out, batch->arena);
    if (!sort_docs(&b, docs, n, batch->arena) || !sort_entries(&b, batch->arena) ||
        !put_terms(&b, &out, batch->arena))
        return memory(err);
    struct segment_head head = {.docs = (uint32_t)n};
    memcpy(head.span, b.span, sizeof head.span);
    for (unsigned layer = 0; layer < LAYERS; layer++) {
        if (b.span[layer] != 0 && bases->slot[layer] == SEGMENT_NO_SLOT)
            head.base[layer] = bases->base[layer];
    }
    if (!segment__out_finish(&out, &head))
        return memory(err);
    put_parts(batch, &out, &head, bases);
    batch_add(batch, STAT_SMALL_SEGMENTS, 1);
    return batch_ok(batch) ? ERR_OK : memory(err);
}

enum err_code segment_add(struct batch *batch, const struct segment_doc *docs, size_t n,
                          const struct segment_bases *bases, struct err *err)
{
    enum err_code rc = segment_add_postings(batch, docs, n, bases, err);
    return rc == ERR_OK ? segment_add_lengths(batch, docs, n, bases, err) : rc;
}

enum err_code segment_kill(struct batch *batch, enum layer layer, uint32_t doc, uint32_t length,
                           struct err *err)
{
    ASSERT((unsigned)layer < LAYERS && length == length_quantise(length));
    char prefix = (char)layer;
    (void)batch_rows(batch, KIND_LENGTH, (struct str){&prefix, 1}, LENGTH_BLOCK, 1, doc, STR("\0"));
    batch_add(batch, (enum stat_id)(STAT_DOCS_TURN + layer), -1);
    batch_add(batch, (enum stat_id)(STAT_LENGTH_TURN + layer), -(int64_t)length);
    batch_add(batch, STAT_DEAD_DOCS, 1);
    return batch_ok(batch) ? ERR_OK : memory(err);
}
