#include <stdlib.h>

#include "core/base/hash.h"
#include "core/ingest/facts_int.h"

enum { RECORD_MAX = 1 << 20 };

static struct str key_str(const char *key)
{
    return (struct str){key, FACT_HASH_KEY};
}

/* --- echoes --- */

static enum err_code open_hashes(struct facts_work *f, struct err *err)
{
    if (f->hashes != NULL)
        return ERR_OK;
    return store_cursor_open(f->w->txn, f->w->space, KIND_FACT_HASH, &f->hashes, err);
}

/* Whether the oldest stored fact with this hash is by somebody else. Ids ascend with time; a fact
 * that was deleted has lost its own and counts as the oldest. */
static enum err_code stored_by_other(struct facts_work *f, uint64_t hash, uint32_t speaker,
                                     bool *other, struct err *err)
{
    char prefix[8];
    struct store_item item;
    uint32_t oldest = UINT32_MAX;
    be64_set(prefix, hash);
    enum err_code rc = open_hashes(f, err);
    if (rc == ERR_OK)
        rc = store_cursor_seek(f->hashes, (struct str){prefix, sizeof prefix}, &item, err);
    while (rc == ERR_OK && item.key.at != NULL && item.key.len == FACT_HASH_KEY &&
           be64_get(item.key.at) == hash && item.value.len == 4) {
        uint32_t id = le32_get(item.value.at);
        if (id < oldest) {
            oldest = id;
            *other = be32_get(item.key.at + 8) != speaker;
        }
        rc = store_cursor_next(f->hashes, &item, err);
    }
    return rc;
}

static enum err_code said_by_other(struct facts_work *f, uint64_t hash, uint32_t speaker,
                                   bool *other, struct err *err)
{
    enum err_code rc = stored_by_other(f, hash, speaker, other, err);
    const uint32_t *here = stage_map_find(&f->speaker_of, hash);
    if (rc == ERR_OK && !*other && here != NULL)
        *other = *here != speaker;
    return rc;
}

static enum err_code is_echo(struct facts_work *f, const struct fact_draft *draft,
                             const struct fact *fact, bool *echo, struct err *err)
{
    uint64_t unnamed;
    *echo = false;
    if (!turn_is_machine(&draft->said->turn))
        return ERR_OK;
    enum err_code rc = said_by_other(f, fact->hash, fact->speaker_no, echo, err);
    if (rc != ERR_OK || *echo)
        return rc;
    rc = facts__hash_unnamed(f, draft, &unnamed, err);
    if (rc == ERR_OK && unnamed != 0)
        rc = said_by_other(f, unnamed, fact->speaker_no, echo, err);
    return rc;
}

/* --- repeats --- */

/* True when the number was not there. `ids` has room for one more. */
static bool insert_id(uint32_t *ids, uint32_t *n, uint32_t id)
{
    uint32_t i = *n;
    while (i > 0 && ids[i - 1] > id)
        i--;
    if (i > 0 && ids[i - 1] == id)
        return false;
    memmove(ids + i + 1, ids + i, (*n - i) * sizeof *ids);
    ids[i] = id;
    (*n)++;
    return true;
}

static uint32_t *with_room(struct arena *arena, const uint32_t *ids, uint32_t n)
{
    uint32_t *more = arena_alloc(arena, ((size_t)n + 1) * sizeof *more);
    if (more != NULL && n != 0)
        memcpy(more, ids, n * sizeof *more);
    return more;
}

/* One more turn that says it; false when memory is short. */
static bool add_source(struct facts_work *f, struct fact *fact, uint32_t n, bool *is_new)
{
    struct arena *arena = f->w->arena;
    fact->sources = with_room(arena, fact->sources, fact->n_sources);
    fact->episodes = with_room(arena, fact->episodes, fact->n_episodes);
    if (fact->sources == NULL || fact->episodes == NULL)
        return false;
    *is_new = insert_id(fact->sources, &fact->n_sources, n);
    (void)insert_id(fact->episodes, &fact->n_episodes, f->episode_id);
    return true;
}

static enum err_code note_source(struct facts_work *f, const struct fact_draft *draft,
                                 uint32_t fact_id, struct err *err)
{
    char key[8];
    const struct turn *turn = &draft->said->turn;
    be32_set(key, turn->n);
    be32_set(key + 4, fact_id);
    (void)batch_put(f->w->batch, KIND_FACT_SOURCE, (struct str){key, sizeof key}, STR(""), 0);
    struct turn_row *row = stage__row(f->w, turn->doc);
    if (row == NULL)
        return stage__memory(err);
    row->flags |= TURN_ROW_MORE;
    return ERR_OK;
}

/* Room for one more; NULL when memory is short. */
static struct known_fact *push_known(struct facts_work *f)
{
    if (f->n_known == f->cap_known) {
        uint32_t cap = f->cap_known == 0 ? 16 : f->cap_known * 2;
        struct known_fact *more = ARENA_ARRAY(f->w->arena, struct known_fact, cap);
        if (more == NULL)
            return NULL;
        if (f->n_known != 0)
            memcpy(more, f->known, f->n_known * sizeof *more);
        f->known = more;
        f->cap_known = cap;
    }
    return &f->known[f->n_known];
}

/* The place of the stored fact in f->known. */
static enum err_code load_known(struct facts_work *f, uint32_t id, uint32_t *at, struct err *err)
{
    const uint32_t *there = stage_map_find(&f->known_of, id);
    if (there != NULL) {
        *at = *there;
        return ERR_OK;
    }
    struct known_fact *known = push_known(f);
    if (known == NULL)
        return stage__memory(err);
    enum err_code rc = fact_get(f->w->txn, f->w->space, id, f->w->arena, &known->fact, err);
    if (rc == ERR_OK && known->fact.id == 0)
        rc = err_set(err, ERR_INTERNAL, "a hash row names fact %u, which is not there", id);
    if (rc == ERR_OK && !stage_map_set(&f->known_of, f->w->arena, id, f->n_known))
        rc = stage__memory(err);
    if (rc == ERR_OK)
        *at = f->n_known++;
    return rc;
}

/* The turn that says it again arrived before all others, in a session that was closed later. */
static void begin_with(struct facts_work *f, const struct fact_draft *draft, struct fact *fact)
{
    fact->valid_from = draft->said->turn.time_ms;
    const struct fact_row row = {.turn_doc = draft->said->docs[draft->sentence->doc].doc,
                                 .episode = f->episode_id,
                                 .speaker_no = fact->speaker_no,
                                 .valid_from = fact->valid_from,
                                 .valid_to = fact->valid_to};
    (void)column_put(f->w->batch, COLUMN_FACT, fact->id - 1, &row, 1);
}

static enum err_code repeat_stored(struct facts_work *f, const struct fact_draft *draft,
                                   uint32_t id, struct err *err)
{
    uint32_t at = 0;
    bool is_new = false;
    enum err_code rc = load_known(f, id, &at, err);
    if (rc != ERR_OK)
        return rc;
    struct known_fact *known = &f->known[at];
    if (!add_source(f, &known->fact, draft->said->turn.n, &is_new))
        return stage__memory(err);
    if (!is_new)
        return ERR_OK;
    known->changed = true;
    if (known->fact.sources[0] == draft->said->turn.n)
        begin_with(f, draft, &known->fact);
    return note_source(f, draft, id, err);
}

static enum err_code repeat_fresh(struct facts_work *f, const struct fact_draft *draft,
                                  uint32_t index, struct err *err)
{
    bool is_new = false;
    struct fact *fact = &f->fresh[index];
    if (!add_source(f, fact, draft->said->turn.n, &is_new))
        return stage__memory(err);
    return is_new ? note_source(f, draft, fact->id, err) : ERR_OK;
}

static enum err_code add_fresh(struct facts_work *f, const struct fact_draft *draft,
                               const struct fact *fact, uint64_t key, struct err *err)
{
    ASSERT(f->n_fresh < f->cap_fresh);
    struct fact *own = &f->fresh[f->n_fresh];
    bool is_new;
    *own = *fact;
    f->fresh_doc[f->n_fresh] = draft->said->docs[draft->sentence->doc].doc;
    own->id = f->out->first + f->n_fresh;
    if (!add_source(f, own, draft->said->turn.n, &is_new) ||
        !stage_map_set(&f->fresh_of, f->w->arena, key, f->n_fresh))
        return stage__memory(err);
    if (stage_map_find(&f->speaker_of, fact->hash) == NULL &&
        !stage_map_set(&f->speaker_of, f->w->arena, fact->hash, fact->speaker_no))
        return stage__memory(err);
    f->n_fresh++;
    return ERR_OK;
}

enum err_code facts__settle(struct facts_work *f, const struct fact_draft *draft,
                            const struct fact *fact, enum fact_fate *fate, struct err *err)
{
    char key[FACT_HASH_KEY];
    struct str stored;
    bool echo;
    fact_hash_key(fact, key);
    uint64_t hash = hash64(key_str(key));
    enum err_code rc = is_echo(f, draft, fact, &echo, err);
    if (rc != ERR_OK)
        return rc;
    *fate = FATE_ECHO;
    if (echo)
        return ERR_OK;
    *fate = FATE_REPEAT;
    const uint32_t *here = stage_map_find(&f->fresh_of, hash);
    if (here != NULL)
        return repeat_fresh(f, draft, *here, err);
    rc = store_get(f->w->txn, f->w->space, KIND_FACT_HASH, key_str(key), &stored, err);
    if (rc != ERR_OK)
        return rc;
    if (stored.at == NULL) {
        *fate = FATE_NEW;
        return add_fresh(f, draft, fact, hash, err);
    }
    if (stored.len != 4)
        return err_set(err, ERR_INTERNAL, "a hash row is damaged");
    *fate = le32_get(stored.at) == 0 ? FATE_NEVER : FATE_REPEAT;
    return *fate == FATE_NEVER ? ERR_OK : repeat_stored(f, draft, le32_get(stored.at), err);
}

/* --- saving --- */

static void put_record(struct facts_work *f, const struct fact *fact, unsigned flags)
{
    struct buf record;
    buf_init(&record, f->w->arena, RECORD_MAX);
    fact_encode(fact, &record);
    if (!buf_ok(&record))
        f->w->batch->failed = true;
    else
        (void)batch_put_u32(f->w->batch, KIND_FACT, fact->id, buf_str(&record), PUT_STAMP | flags);
}

static void put_hash(struct facts_work *f, const struct fact *fact)
{
    char key[FACT_HASH_KEY];
    char id[4];
    fact_hash_key(fact, key);
    le32_set(id, fact->id);
    (void)batch_put(f->w->batch, KIND_FACT_HASH, key_str(key), (struct str){id, sizeof id}, 0);
}

static enum edge_role role_of(const struct fact *fact)
{
    if (str_ends(fact->content, STR("?")))
        return ROLE_CONTEXT;
    if (fact->has_time)
        return ROLE_TEMPORAL;
    return weight_unpack(fact->weight) >= 0.65 ? ROLE_CORE : ROLE_DETAIL;
}

static int by_id(const void *left, const void *right)
{
    const struct edge_member *a = left, *b = right;
    return (a->id > b->id) - (a->id < b->id);
}

static enum err_code make_edge(struct facts_work *f, struct err *err)
{
    struct edge *edge = &f->out->edge;
    edge->n = 0;
    edge->at = ARENA_ARRAY(f->w->arena, struct edge_member, (size_t)f->n_fresh + f->n_known);
    if (edge->at == NULL)
        return stage__memory(err);
    for (uint32_t i = 0; i < f->n_known; i++) {
        const struct fact *fact = &f->known[i].fact;
        if (f->known[i].changed)
            edge->at[edge->n++] =
                (struct edge_member){fact->id, (uint8_t)role_of(fact), fact->weight};
    }
    for (uint32_t i = 0; i < f->n_fresh; i++) {
        const struct fact *fact = &f->fresh[i];
        edge->at[edge->n++] = (struct edge_member){fact->id, (uint8_t)role_of(fact), fact->weight};
    }
    if (edge->n != 0)
        qsort(edge->at, edge->n, sizeof *edge->at, by_id);
    return ERR_OK;
}

static enum err_code put_columns(struct facts_work *f, const struct fact_row *rows, struct err *err)
{
    if (f->n_fresh != 0)
        (void)column_put(f->w->batch, COLUMN_FACT, f->out->first - 1, rows, f->n_fresh);
    return batch_ok(f->w->batch) ? ERR_OK : stage__memory(err);
}

enum err_code facts__save(struct facts_work *f, struct err *err)
{
    struct fact_row *rows = ARENA_ARRAY(f->w->arena, struct fact_row, f->n_fresh);
    if (rows == NULL)
        return stage__memory(err);
    for (uint32_t i = 0; i < f->n_fresh; i++) {
        const struct fact *fact = &f->fresh[i];
        put_record(f, fact, 0);
        put_hash(f, fact);
        rows[i] = (struct fact_row){.turn_doc = f->fresh_doc[i],
                                    .episode = f->episode_id,
                                    .speaker_no = fact->speaker_no,
                                    .valid_from = fact->valid_from,
                                    .valid_to = fact->valid_to};
    }
    for (uint32_t i = 0; i < f->n_known; i++) {
        if (!f->known[i].changed)
            continue;
        put_record(f, &f->known[i].fact, PUT_KEEP);
        batch_log(f->w->batch, CHANGE_SET, KIND_FACT, UINT32_MAX, f->known[i].fact.id, 1);
    }
    if (f->n_fresh != 0)
        batch_log(f->w->batch, CHANGE_ADD, KIND_FACT, UINT32_MAX, f->out->first, f->n_fresh);
    enum err_code rc = make_edge(f, err);
    return rc == ERR_OK ? put_columns(f, rows, err) : rc;
}
