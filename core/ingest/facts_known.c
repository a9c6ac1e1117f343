#include <stdlib.h>

#include "core/base/hash.h"
#include "core/ingest/facts_int.h"

enum { RECORD_MAX = 1 << 20 };

static uint64_t hash_of_key(const struct fact *fact)
{
    char key[FACT_KEY];
    fact_key(fact, key);
    return hash64((struct str){key, sizeof key});
}

static enum edge_role role_of(const struct fact *fact)
{
    if (str_ends(fact->content, STR("?")))
        return ROLE_CONTEXT;
    if (fact->has_time)
        return ROLE_TEMPORAL;
    return weight_unpack(fact->weight) >= 0.65 ? ROLE_CORE : ROLE_DETAIL;
}

/* --- echoes --- */

static enum err_code said_by_other(struct facts_work *f, uint64_t hash, uint32_t speaker,
                                   bool *other, struct err *err)
{
    uint32_t first;
    enum err_code rc = facts__stored_first_speaker(f, hash, &first, err);
    const uint32_t *here = stage_map_find(&f->speaker_of, hash);
    *other = rc == ERR_OK && first != 0 && first != speaker;
    if (rc == ERR_OK && !*other && here != NULL)
        *other = *here != speaker;
    return rc;
}

static enum err_code is_echo(struct facts_work *f, const struct fact_draft *draft, bool *echo,
                             struct err *err)
{
    *echo = false;
    if (!turn_is_machine(&draft->said->turn))
        return ERR_OK;
    uint32_t speaker = draft->fact->speaker_no;
    enum err_code rc = said_by_other(f, draft->fact->hash, speaker, echo, err);
    if (rc == ERR_OK && !*echo && draft->unnamed != 0)
        rc = said_by_other(f, draft->unnamed, speaker, echo, err);
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
        rc = err_set(err, ERR_INTERNAL, "the index finds fact %u, which is not there", id);
    known->changed = known->ended = known->begun = false;
    columns_fact(f->w->columns, id, &known->row);
    if (rc == ERR_OK)
        rc = columns_error(f->w->columns, err);
    if (rc == ERR_OK && !stage_map_set(&f->known_of, f->w->arena, id, f->n_known))
        rc = stage__memory(err);
    if (rc == ERR_OK)
        *at = f->n_known++;
    return rc;
}

/* The turn that says it again arrived before all others, in a session that was closed later. */
static void begin_with(const struct facts_work *f, const struct fact_draft *draft,
                       struct known_fact *known)
{
    known->fact.valid_from = draft->said->turn.time_ms;
    known->row.turn_doc = draft->said->docs[fact_draft_doc(draft)].doc;
    known->row.episode = f->episode_id;
    known->row.valid_from = known->fact.valid_from;
    known->begun = true;
}

enum err_code facts__known(struct facts_work *f, uint32_t id, struct known_fact **known,
                           struct err *err)
{
    struct fact fact;
    uint32_t at = 0;
    *known = NULL;
    enum err_code rc = fact_get(f->w->txn, f->w->space, id, f->w->arena, &fact, err);
    if (rc != ERR_OK || fact.id == 0)
        return rc;
    rc = load_known(f, id, &at, err);
    if (rc == ERR_OK)
        *known = &f->known[at];
    return rc;
}

enum err_code facts__repeat(struct facts_work *f, const struct fact_draft *draft, uint32_t id,
                            struct err *err)
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
        begin_with(f, draft, known);
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

static enum err_code add_fresh(struct facts_work *f, const struct fact_draft *draft, uint64_t key,
                               struct err *err)
{
    ASSERT(f->n_fresh < f->cap_fresh);
    struct fact *own = &f->fresh[f->n_fresh];
    bool is_new;
    *own = *draft->fact;
    f->fresh_doc[f->n_fresh] = draft->said->docs[fact_draft_doc(draft)].doc;
    f->fresh_role[f->n_fresh] = draft->told != NULL ? draft->told->role : (uint8_t)role_of(own);
    own->id = f->out->first + f->n_fresh;
    if (!add_source(f, own, draft->said->turn.n, &is_new) ||
        !stage_map_set(&f->fresh_of, f->w->arena, key, f->n_fresh))
        return stage__memory(err);
    if (stage_map_find(&f->speaker_of, own->hash) == NULL &&
        !stage_map_set(&f->speaker_of, f->w->arena, own->hash, own->speaker_no))
        return stage__memory(err);
    f->n_fresh++;
    return ERR_OK;
}

enum err_code facts__settle(struct facts_work *f, const struct fact_draft *draft,
                            enum fact_fate *fate, struct err *err)
{
    uint64_t key = hash_of_key(draft->fact);
    uint32_t stored = 0;
    bool echo;
    bool never = false;
    enum err_code rc = is_echo(f, draft, &echo, err);
    *fate = FATE_ECHO;
    if (rc != ERR_OK || echo)
        return rc;
    *fate = FATE_REPEAT;
    const uint32_t *here = stage_map_find(&f->fresh_of, key);
    if (here != NULL)
        return repeat_fresh(f, draft, *here, err);
    rc = facts__stored_never(f, draft->fact, &never, err);
    if (rc == ERR_OK && !never)
        rc = facts__stored_same(f, draft->fact, &stored, err);
    if (rc == ERR_OK && stored != 0)
        return facts__repeat(f, draft, stored, err);
    *fate = never ? FATE_NEVER : FATE_NEW;
    return rc != ERR_OK || never ? rc : add_fresh(f, draft, key, err);
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
        edge->at[edge->n++] = (struct edge_member){fact->id, f->fresh_role[i], fact->weight};
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

/* Stored facts that have a further source, or are over. */
static void save_known(struct facts_work *f)
{
    for (uint32_t i = 0; i < f->n_known; i++) {
        const struct known_fact *known = &f->known[i];
        if (!known->changed && !known->ended)
            continue;
        put_record(f, &known->fact, PUT_KEEP);
        batch_log(f->w->batch, CHANGE_SET, KIND_FACT, UINT32_MAX, known->fact.id, 1);
        if (!known->ended && !known->begun)
            continue;
        struct fact_row row = known->row;
        row.valid_to = known->fact.valid_to;
        (void)column_put(f->w->batch, COLUMN_FACT, known->fact.id - 1, &row, 1);
    }
}

enum err_code facts__save(struct facts_work *f, struct err *err)
{
    struct fact_row *rows = ARENA_ARRAY(f->w->arena, struct fact_row, f->n_fresh);
    if (rows == NULL)
        return stage__memory(err);
    for (uint32_t i = 0; i < f->n_fresh; i++) {
        const struct fact *fact = &f->fresh[i];
        put_record(f, fact, 0);
        rows[i] = (struct fact_row){.turn_doc = f->fresh_doc[i],
                                    .episode = f->episode_id,
                                    .speaker_no = fact->speaker_no,
                                    .key_mark = fact_key_mark(fact),
                                    .valid_from = fact->valid_from,
                                    .valid_to = fact->valid_to};
    }
    save_known(f);
    if (f->n_fresh != 0)
        batch_log(f->w->batch, CHANGE_ADD, KIND_FACT, UINT32_MAX, f->out->first, f->n_fresh);
    enum err_code rc = make_edge(f, err);
    return rc == ERR_OK ? put_columns(f, rows, err) : rc;
}
