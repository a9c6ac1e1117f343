/* Facts that are stored already, found by what they say: the fact layer of the index has the hash
 * of each as a term. All that an episode asks for is read in one pass over the segments; the
 * answers are few, and the records have the last word. */
#include <stdlib.h>

#include "core/ingest/facts_int.h"

static int by_value(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

void facts__stored_ask(struct facts_work *f, uint64_t hash)
{
    struct stored_facts *s = &f->stored;
    ASSERT(s->n < s->cap);
    s->terms[s->n++] = fact_hash_term(hash);
}

static void sort_terms(struct stored_facts *s)
{
    uint32_t n = 0;
    qsort(s->terms, s->n, sizeof *s->terms, by_value);
    for (uint32_t i = 0; i < s->n; i++) {
        if (n == 0 || s->terms[n - 1] != s->terms[i])
            s->terms[n++] = s->terms[i];
    }
    s->n = n;
}

enum err_code facts__stored_read(struct facts_work *f, struct err *err)
{
    struct stored_facts *s = &f->stored;
    struct stage_work *w = f->w;
    struct store_item item = {STR_NONE, STR_NONE};
    if (s->n != 0)
        sort_terms(s);
    s->found = ARENA_ARRAY(w->arena, struct postings, (size_t)s->n * LAYERS);
    if (s->found == NULL)
        return stage__memory(err);
    enum err_code rc = store_cursor_open(w->txn, w->space, KIND_FACT_NEVER, &s->never, err);
    if (rc == ERR_OK)
        rc = store_cursor_seek(s->never, STR(""), &item, err);
    s->has_never = item.key.at != NULL;
    if (rc != ERR_OK || w->stat.v[STAT_FACTS] == 0)
        return rc;
    return segment_collect(w->txn, w->space, w->lengths, s->terms, s->n, 1U << LAYER_FACT, w->arena,
                           s->found, err);
}

static struct postings list_of(const struct stored_facts *s, uint64_t hash)
{
    const uint64_t term = fact_hash_term(hash);
    const uint64_t *at = s->n == 0 ? NULL : bsearch(&term, s->terms, s->n, sizeof term, by_value);
    ASSERT(at != NULL);
    return s->found[(size_t)(at - s->terms) * LAYERS + LAYER_FACT];
}

/* --- the same fact --- */

enum err_code facts__stored_never(struct facts_work *f, const struct fact *fact, bool *never,
                                  struct err *err)
{
    char key[FACT_KEY];
    struct str row = STR_NONE;
    enum err_code rc = ERR_OK;
    fact_key(fact, key);
    if (f->stored.has_never)
        rc = store_get(f->w->txn, f->w->space, KIND_FACT_NEVER, (struct str){key, sizeof key}, &row,
                       err);
    *never = row.at != NULL;
    return rc;
}

static enum err_code is_same(struct facts_work *f, const struct fact *fact, uint32_t id, bool *same,
                             struct err *err)
{
    char wanted[FACT_KEY];
    char has[FACT_KEY];
    struct fact stored;
    struct fact_row row;
    *same = false;
    columns_fact(f->w->columns, id, &row);
    if (row.speaker_no != fact->speaker_no || row.key_mark != fact_key_mark(fact))
        return columns_error(f->w->columns, err);
    enum err_code rc = fact_get(f->w->txn, f->w->space, id, f->w->arena, &stored, err);
    if (rc != ERR_OK || stored.id == 0)
        return rc;
    fact_key(fact, wanted);
    fact_key(&stored, has);
    *same = memcmp(wanted, has, sizeof has) == 0 && !fact_is_over(&stored, fact->valid_from);
    return ERR_OK;
}

enum err_code facts__stored_same(struct facts_work *f, const struct fact *fact, uint32_t *id,
                                 struct err *err)
{
    const struct postings list = list_of(&f->stored, fact->hash);
    enum err_code rc = ERR_OK;
    bool same = false;
    *id = 0;
    for (uint32_t i = 0; rc == ERR_OK && !same && i < list.n; i++) {
        *id = list.at[i].doc + 1;
        rc = is_same(f, fact, *id, &same, err);
    }
    if (!same)
        *id = 0;
    return rc;
}

/* --- who said it first --- */

/* A fact that was deleted has lost its id and counts as the oldest. */
static enum err_code deleted_speaker(struct facts_work *f, uint64_t hash, uint32_t *speaker,
                                     struct err *err)
{
    char prefix[8];
    struct store_item item;
    be64_set(prefix, hash);
    enum err_code rc =
        store_cursor_seek(f->stored.never, (struct str){prefix, sizeof prefix}, &item, err);
    if (rc == ERR_OK && item.key.at != NULL && item.key.len == FACT_KEY &&
        be64_get(item.key.at) == hash)
        *speaker = be32_get(item.key.at + 8);
    return rc;
}

/* The posting with the least document above *doc; false: there is none. */
static bool next_doc(struct postings list, uint64_t *after, uint32_t *doc)
{
    bool found = false;
    for (uint32_t i = 0; i < list.n; i++) {
        if (list.at[i].doc >= *after && (!found || list.at[i].doc < *doc)) {
            *doc = list.at[i].doc;
            found = true;
        }
    }
    *after = (uint64_t)*doc + 1;
    return found;
}

enum err_code facts__stored_first_speaker(struct facts_work *f, uint64_t hash, uint32_t *speaker,
                                          struct err *err)
{
    const struct postings list = list_of(&f->stored, hash);
    uint64_t after = 0;
    uint32_t doc = 0;
    *speaker = 0;
    enum err_code rc = f->stored.has_never ? deleted_speaker(f, hash, speaker, err) : ERR_OK;
    while (rc == ERR_OK && *speaker == 0 && next_doc(list, &after, &doc)) {
        struct fact stored;
        rc = fact_get(f->w->txn, f->w->space, doc + 1, f->w->arena, &stored, err);
        if (rc == ERR_OK && stored.id != 0 && stored.hash == hash)
            *speaker = stored.speaker_no;
    }
    return rc;
}
