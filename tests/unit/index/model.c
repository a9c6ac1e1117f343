#include "tests/unit/index/model.h"

#include <check.h>
#include <stdlib.h>

enum { SCRATCH = 1 << 28 };

uint64_t rng_next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

uint32_t rng_below(uint64_t *state, uint32_t n)
{
    return (uint32_t)(rng_next(state) % n);
}

void model_init(struct model *m, uint64_t seed, uint32_t vocabulary)
{
    *m = (struct model){.h = harness_new(),
                        .arena = arena_new((size_t)1 << 30),
                        .rng = seed,
                        .vocabulary = vocabulary};
}

void model_fini(struct model *m)
{
    harness_free(m->h);
    arena_free(m->arena);
    free(m->docs);
}

uint64_t model_term(uint32_t i)
{
    uint64_t state = i / 4;
    return (rng_next(&state) & TERM_MASK & ~UINT64_C(3)) | i % 4;
}

static int by_term(const void *a, const void *b)
{
    const struct term_count *x = a;
    const struct term_count *y = b;
    return (x->term > y->term) - (x->term < y->term);
}

struct term_bag model_bag(struct model *m, uint32_t max_terms)
{
    struct term_bag bag = {0};
    uint32_t want = rng_below(&m->rng, max_terms + 1);
    bag.at = ARENA_ARRAY(m->arena, struct term_count, want);
    for (uint32_t i = 0; i < want; i++) {
        uint32_t top = rng_below(&m->rng, m->vocabulary) + 1; /* twice: low numbers are common */
        uint32_t count = rng_below(&m->rng, 4) == 0 ? 2 + rng_below(&m->rng, 200) : 1;
        bag.at[i] =
            (struct term_count){.term = model_term(rng_below(&m->rng, top)), .count = count};
    }
    qsort(bag.at, want, sizeof *bag.at, by_term);
    for (uint32_t i = 0; i < want; i++) {
        if (bag.n != 0 && bag.at[bag.n - 1].term == bag.at[i].term)
            continue;
        bag.at[bag.n++] = bag.at[i];
        bag.length += bag.at[i].count;
    }
    return bag;
}

void model_remember(struct model *m, const struct segment_doc *doc, uint32_t number)
{
    if (m->n == m->cap) {
        m->cap = m->cap == 0 ? 1024 : m->cap * 2;
        m->docs = realloc(m->docs, m->cap * sizeof *m->docs);
        ck_assert_ptr_nonnull(m->docs);
    }
    m->docs[m->n++] = (struct model_doc){.layer = doc->layer, .doc = number, .bag = doc->bag};
}

void model_add_docs(struct model *m, struct segment_doc *docs, size_t n)
{
    static const enum stat_id counters[LAYERS] = {STAT_NEXT_DOC_TURN, STAT_NEXT_FACT,
                                                  STAT_NEXT_DOC_EPISODE, STAT_NEXT_DOC_TOPIC};
    struct err err;
    struct arena *arena = arena_new(SCRATCH);
    struct batch *batch = batch_new(arena, harness_space(m->h), CAUSE_STAGE);
    struct segment_bases bases = {.base = {0, UINT32_MAX, 0, 0}};
    for (unsigned layer = 0; layer < LAYERS; layer++) {
        uint32_t count = 0;
        for (size_t i = 0; i < n; i++)
            count += docs[i].layer == layer;
        bases.slot[layer] =
            count == 0 ? SEGMENT_NO_SLOT : batch_take(batch, counters[layer], count);
    }
    ck_assert_int_eq(segment_add(batch, docs, n, &bases, &err), ERR_OK);
    harness_commit(m->h, batch);
    for (size_t i = 0; i < n; i++) {
        uint32_t first = batch->slots.at[bases.slot[docs[i].layer]].value;
        model_remember(m, &docs[i], first + bases.base[docs[i].layer] + docs[i].doc);
    }
    arena_free(arena);
}

void model_add(struct model *m, const uint32_t n[LAYERS], uint32_t max_terms)
{
    size_t total = 0;
    for (unsigned layer = 0; layer < LAYERS; layer++)
        total += n[layer];
    struct segment_doc *docs = ARENA_ARRAY(m->arena, struct segment_doc, total);
    size_t at = 0;
    for (unsigned layer = LAYERS; layer-- != 0;) { /* not in layer order: it must not matter */
        for (uint32_t i = n[layer]; i-- != 0;)
            docs[at++] = (struct segment_doc){(enum layer)layer, i, model_bag(m, max_terms)};
    }
    model_add_docs(m, docs, total);
}

static void kill_one(struct batch *batch, struct lengths *lengths, struct model_doc *doc)
{
    struct err err;
    uint32_t length = lengths_get(lengths, doc->layer, doc->doc);
    ck_assert_int_eq(segment_kill(batch, doc->layer, doc->doc, length, &err), ERR_OK);
    doc->dead = true;
}

void model_kill_range(struct model *m, size_t from, size_t to)
{
    struct store_txn *txn = harness_begin(m->h);
    struct arena *arena = arena_new(SCRATCH);
    struct batch *batch = batch_new(arena, harness_space(m->h), CAUSE_DELETE);
    struct lengths *lengths = lengths_new(txn, harness_space(m->h), arena);
    for (size_t i = from; i < to; i++) {
        if (!m->docs[i].dead)
            kill_one(batch, lengths, &m->docs[i]);
    }
    harness_commit(m->h, batch);
    arena_free(arena);
}

void model_kill(struct model *m, uint32_t n)
{
    if (m->n == 0)
        return;
    struct store_txn *txn = harness_begin(m->h);
    struct arena *arena = arena_new(SCRATCH);
    struct batch *batch = batch_new(arena, harness_space(m->h), CAUSE_DELETE);
    struct lengths *lengths = lengths_new(txn, harness_space(m->h), arena);
    for (uint32_t i = 0; i < n; i++) {
        struct model_doc *doc = &m->docs[rng_below(&m->rng, (uint32_t)m->n)];
        if (!doc->dead)
            kill_one(batch, lengths, doc);
    }
    harness_commit(m->h, batch);
    arena_free(arena);
}

/* Which segments were folded is the fold's choice, so what it dropped is counted in the bytes: the
 * documents of all headers less those that live. */
bool model_fold(struct model *m)
{
    struct err err;
    bool did = false;
    struct arena *arena = arena_new(SCRATCH);
    struct batch *batch = batch_new(arena, harness_space(m->h), CAUSE_KEEP);
    struct store_txn *txn = harness_begin(m->h);
    ck_assert_int_eq(segment_fold(txn, harness_space(m->h), batch, &did, &err), ERR_OK);
    ck_assert_int_eq(did, batch->ops.n != 0);
    if (did)
        harness_commit(m->h, batch);
    arena_free(arena);
    return did;
}

static int by_doc(const void *a, const void *b)
{
    const struct posting *x = a;
    const struct posting *y = b;
    return (x->doc > y->doc) - (x->doc < y->doc);
}

static uint32_t count_of(const struct term_bag *bag, uint64_t term)
{
    struct term_count key = {.term = term};
    const struct term_count *found = bsearch(&key, bag->at, bag->n, sizeof *bag->at, by_term);
    return bag->n == 0 || found == NULL ? 0 : found->count;
}

/* The list is in order of (batch, layer descending, …), so both sides are sorted by document. */
static void check_list(struct model *m, uint64_t term, enum layer layer, const struct postings *got,
                       struct posting *room)
{
    uint32_t n = 0;
    for (size_t i = 0; i < m->n; i++) {
        const struct model_doc *doc = &m->docs[i];
        uint32_t count = doc->dead || doc->layer != layer ? 0 : count_of(&doc->bag, term);
        if (count != 0)
            room[n++] = (struct posting){doc->doc, count};
    }
    ck_assert_uint_eq(got->n, n);
    if (n == 0)
        return;
    qsort(room, n, sizeof *room, by_doc);
    qsort(got->at, n, sizeof *got->at, by_doc);
    ck_assert_int_eq(memcmp(room, got->at, n * sizeof *room), 0);
}

void model_check_terms(struct model *m, const uint64_t *terms, size_t n, unsigned mask)
{
    struct err err;
    struct store_txn *txn = harness_begin(m->h);
    struct arena *arena = arena_new(SCRATCH);
    struct lengths *lengths = lengths_new(txn, harness_space(m->h), arena);
    struct postings *out = ARENA_ARRAY(arena, struct postings, n * LAYERS);
    struct posting *room = ARENA_ARRAY(arena, struct posting, m->n);
    ck_assert_int_eq(
        segment_collect(txn, harness_space(m->h), lengths, terms, n, mask, arena, out, &err),
        ERR_OK);
    for (size_t t = 0; t < n; t++) {
        for (unsigned layer = 0; layer < LAYERS; layer++) {
            if ((mask >> layer & 1) != 0)
                check_list(m, terms[t], (enum layer)layer, &out[t * LAYERS + layer], room);
            else
                ck_assert_uint_eq(out[t * LAYERS + layer].n, 0);
        }
    }
    arena_free(arena);
}

struct space_stat model_stat(struct model *m)
{
    struct err err;
    struct space_stat stat;
    struct store_txn *txn = harness_begin(m->h);
    ck_assert_int_eq(store_stat(txn, harness_space(m->h), &stat, &err), ERR_OK);
    return stat;
}

static void check_counters(struct model *m)
{
    uint64_t docs[LAYERS] = {0};
    uint64_t length[LAYERS] = {0};
    uint64_t living = 0;
    struct model_levels levels = model_levels(m);
    for (size_t i = 0; i < m->n; i++) {
        const struct model_doc *doc = &m->docs[i];
        docs[doc->layer] += !doc->dead;
        living += !doc->dead;
        length[doc->layer] += doc->dead ? 0 : length_quantise(doc->bag.length);
    }
    struct space_stat stat = model_stat(m);
    for (unsigned layer = 0; layer < LAYERS; layer++) {
        ck_assert_uint_eq(stat.v[STAT_DOCS_TURN + layer], docs[layer]);
        ck_assert_uint_eq(stat.v[STAT_LENGTH_TURN + layer], length[layer]);
    }
    ck_assert_uint_eq(stat.v[STAT_SMALL_SEGMENTS], levels.n[0]);
    ck_assert_uint_eq(stat.v[STAT_DEAD_DOCS], levels.docs - living);
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

void model_check(struct model *m, uint32_t n_terms)
{
    uint64_t terms[64] = {0};
    ck_assert_uint_le(n_terms, 64);
    for (uint32_t i = 0; i < n_terms; i++)
        terms[i] = model_term(rng_below(&m->rng, m->vocabulary + m->vocabulary / 8));
    qsort(terms, n_terms, sizeof *terms, by_number);
    size_t n = 0;
    for (uint32_t i = 0; i < n_terms; i++) {
        if (n == 0 || terms[n - 1] != terms[i])
            terms[n++] = terms[i];
    }
    model_check_terms(m, terms, n, rng_below(&m->rng, 3) == 0 ? rng_below(&m->rng, 16) : 15);
    check_counters(m);
}

struct seen {
    uint64_t last_term;
    bool any; /* a term of this segment */
    unsigned parts, next_part;
};

/* I1 across the parts of a segment. */
static enum err_code see(uint64_t term, enum layer layer, uint32_t doc, uint32_t tf, void *arg)
{
    struct seen *seen = arg;
    (void)layer;
    (void)doc;
    ck_assert_uint_ge(tf, 1);
    ck_assert(!seen->any || term >= seen->last_term);
    seen->last_term = term;
    seen->any = true;
    return ERR_OK;
}

static void for_segments(struct model *m, void (*visit)(const struct store_item *, void *),
                         void *arg)
{
    struct err err;
    struct store_cursor *cursor;
    struct store_item item;
    struct store_txn *txn = harness_begin(m->h);
    ck_assert_int_eq(store_cursor_open(txn, harness_space(m->h), KIND_SEGMENT, &cursor, &err),
                     ERR_OK);
    ck_assert_int_eq(store_cursor_seek(cursor, STR(""), &item, &err), ERR_OK);
    while (item.key.at != NULL) {
        visit(&item, arg);
        ck_assert_int_eq(store_cursor_next(cursor, &item, &err), ERR_OK);
    }
    store_cursor_close(cursor);
}

static void check_bytes(const struct store_item *item, void *arg)
{
    struct err err;
    struct seen *seen = arg;
    struct segment_head head;
    ck_assert_int_eq(segment_head_read(item->value, &head, &err), ERR_OK);
    unsigned part = (unsigned)(uint8_t)item->key.at[8] << 8 | (uint8_t)item->key.at[9];
    if (part == 0) {
        ck_assert_uint_eq(seen->next_part, seen->parts);
        *seen = (struct seen){.parts = head.parts};
    }
    ck_assert_uint_eq(part, seen->next_part);
    ck_assert_uint_eq(head.parts, seen->parts);
    seen->next_part++;
    ck_assert_int_eq(segment_walk(item->value, see, seen, &err), ERR_OK);
    ck_assert_uint_le(item->value.len, SEGMENT_PART_BYTES);
}

static void count_level(const struct store_item *item, void *arg)
{
    struct err err;
    struct segment_head head;
    struct model_levels *levels = arg;
    ck_assert_int_eq(segment_head_read(item->value, &head, &err), ERR_OK);
    levels->parts++;
    if (item->key.at[8] != 0 || item->key.at[9] != 0)
        return;
    levels->n[head.level]++;
    levels->docs += head.docs;
}

struct model_levels model_levels(struct model *m)
{
    struct model_levels levels = {{0}, 0, 0};
    for_segments(m, count_level, &levels);
    return levels;
}

static void check_lengths(struct model *m)
{
    struct err err;
    struct arena *arena = arena_new(SCRATCH);
    struct store_txn *txn = harness_begin(m->h);
    struct lengths *lengths = lengths_new(txn, harness_space(m->h), arena);
    for (size_t i = 0; i < m->n; i++) {
        const struct model_doc *doc = &m->docs[i];
        uint32_t want = doc->dead ? 0 : length_quantise(doc->bag.length);
        ck_assert_uint_eq(lengths_get(lengths, doc->layer, doc->doc), want);
    }
    ck_assert_int_eq(lengths_error(lengths, &err), ERR_OK);
    arena_free(arena);
}

void model_check_all(struct model *m)
{
    struct seen seen = {0};
    uint64_t *terms = malloc(m->vocabulary * sizeof *terms);
    ck_assert_ptr_nonnull(terms);
    for (uint32_t i = 0; i < m->vocabulary; i++)
        terms[i] = model_term(i);
    qsort(terms, m->vocabulary, sizeof *terms, by_number);
    size_t step = 64;
    for (size_t i = 0; i < m->vocabulary; i += step)
        model_check_terms(m, terms + i, m->vocabulary - i < step ? m->vocabulary - i : step, 15);
    free(terms);
    check_lengths(m);
    for_segments(m, check_bytes, &seen);
    ck_assert_uint_eq(seen.next_part, seen.parts);
    check_counters(m);
}
