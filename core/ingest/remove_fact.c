/* Facts that lose sources or go. */
#include "core/ingest/remove_int.h"

/* *entry NULL: there is none with this id (any more). */
enum err_code remove__take_fact(struct removal *r, uint32_t id, bool asked,
                                struct remove_fact **entry, struct err *err)
{
    *entry = (struct remove_fact *)(void *)remove__find(&r->facts, id);
    if (*entry != NULL)
        return ERR_OK;
    struct fact fact;
    enum err_code rc = fact_get(r->txn, r->space, id, r->arena, &fact, err);
    if (rc != ERR_OK || fact.id == 0)
        return rc;
    *entry = remove__add(r, &r->facts, id, sizeof **entry);
    if (*entry == NULL)
        return remove__memory(err);
    (*entry)->fact = fact;
    (*entry)->asked = asked;
    columns_fact(r->columns, id, &(*entry)->row);
    return columns_error(r->columns, err);
}

enum err_code remove__take_twins(struct removal *r, const struct remove_fact *entry,
                                 struct err *err)
{
    char wanted[FACT_KEY], key[FACT_KEY];
    struct postings found[LAYERS];
    const uint64_t term = fact_hash_term(entry->fact.hash);
    fact_key(&entry->fact, wanted);
    enum err_code rc = segment_collect(r->txn, r->space, r->lengths, &term, 1, 1U << LAYER_FACT,
                                       r->arena, found, err);
    for (uint32_t i = 0; rc == ERR_OK && i < found[LAYER_FACT].n; i++) {
        struct remove_fact *twin;
        struct fact fact;
        uint32_t id = found[LAYER_FACT].at[i].doc + 1;
        rc = fact_get(r->txn, r->space, id, r->arena, &fact, err);
        if (rc != ERR_OK || fact.id == 0)
            continue;
        fact_key(&fact, key);
        if (memcmp(key, wanted, sizeof key) == 0)
            rc = remove__take_fact(r, id, true, &twin, err);
    }
    return rc;
}

/* --- facts of a turn --- */

struct facts_of {
    struct removal *r;
    struct store_cursor *sources;
    const struct turn *asker; /* facts of an answer to it; NULL: of a turn that goes */
    struct str asked;         /* its text */
};

static enum err_code see_fact(struct facts_of *x, uint32_t id, uint32_t n, struct err *err);

/* Facts that were made of its documents. */
static enum err_code see_own(struct facts_of *x, const struct turn *turn, struct err *err)
{
    enum err_code rc = ERR_OK;
    for (uint32_t d = 0; rc == ERR_OK && d < turn->docs; d++) {
        struct turn_row row;
        columns_turn(x->r->columns, turn->doc + d, &row);
        for (uint32_t i = 0; rc == ERR_OK && i < row.fact_count; i++)
            rc = see_fact(x, row.fact_first + i, turn->n, err);
    }
    return rc == ERR_OK ? columns_error(x->r->columns, err) : rc;
}

/* Older facts that it repeats. */
static enum err_code see_repeated(struct facts_of *x, uint32_t n, struct err *err)
{
    char prefix[4];
    be32_set(prefix, n);
    struct str start = {prefix, sizeof prefix};
    struct store_item item;
    enum err_code rc = store_cursor_seek(x->sources, start, &item, err);
    while (rc == ERR_OK && item.key.len == 8 && str_starts(item.key, start)) {
        rc = see_fact(x, be32_get(item.key.at + 4), n, err);
        if (rc == ERR_OK)
            rc = store_cursor_next(x->sources, &item, err);
    }
    return rc;
}

static enum err_code see_facts(struct facts_of *x, const struct turn *turn, struct err *err)
{
    enum err_code rc = see_own(x, turn, err);
    return rc == ERR_OK ? see_repeated(x, turn->n, err) : rc;
}

/* The question that a fact carries: "Dave (asked “How many?”): Three". Empty when it has none. */
static struct str question_in(const struct fact *fact)
{
    struct str mark = STR(" (asked “");
    struct str end = STR("”): ");
    struct str rest = str_part(fact->content, fact->speaker.len, fact->content.len);
    if (!str_starts(fact->content, fact->speaker) || !str_starts(rest, mark))
        return STR("");
    rest = str_part(rest, mark.len, rest.len);
    const char *at = memmem(rest.at, rest.len, end.at, end.len);
    return at == NULL ? rest : str_part(rest, 0, (size_t)(at - rest.at));
}

static bool holds(struct str text, struct str part)
{
    return part.len != 0 && memmem(text.at, text.len, part.at, part.len) != NULL;
}

/* Turn `n` is a source of the fact. */
static enum err_code see_fact(struct facts_of *x, uint32_t id, uint32_t n, struct err *err)
{
    struct removal *r = x->r;
    struct remove_fact *entry;
    if (x->asker == NULL)
        return remove__take_fact(r, id, false, &entry, err);
    struct fact fact;
    enum err_code rc = fact_get(r->txn, r->space, id, r->arena, &fact, err);
    if (rc != ERR_OK || fact.id == 0 || !holds(x->asked, question_in(&fact)))
        return rc;
    struct remove_drop *drop = ARENA_NEW(r->arena, struct remove_drop);
    if (drop == NULL)
        return remove__memory(err);
    rc = remove__take_fact(r, id, false, &entry, err);
    if (rc != ERR_OK)
        return rc;
    *drop = (struct remove_drop){n, entry->drops};
    entry->drops = drop;
    return ERR_OK;
}

/* The turn behind one that goes, if it stays and was told in the same episode. */
static enum err_code see_answer(struct facts_of *x, const struct turn *turn, struct err *err)
{
    struct turn_row last;
    struct turn_row next;
    columns_turn(x->r->columns, turn->doc + turn->docs - 1, &last);
    if (last.episode == 0 || last.next == 0)
        return columns_error(x->r->columns, err);
    columns_turn(x->r->columns, last.next - 1, &next);
    if (next.episode != last.episode || remove__find(&x->r->turns, next.n) != NULL)
        return columns_error(x->r->columns, err);
    struct turn asker = *turn;
    struct turn answer;
    enum err_code rc = turn_get(x->r->txn, x->r->space, next.n, &answer, err);
    if (rc != ERR_OK || answer.n == 0)
        return rc;
    rc = turn_load_text(x->r->txn, x->r->space, x->r->arena, &asker, err);
    x->asker = turn;
    x->asked = asker.text;
    if (rc == ERR_OK)
        rc = see_facts(x, &answer, err);
    x->asker = NULL;
    return rc;
}

enum err_code remove__take_facts_of_turns(struct removal *r, struct err *err)
{
    struct facts_of x = {.r = r};
    enum err_code rc = store_cursor_open(r->txn, r->space, KIND_FACT_SOURCE, &x.sources, err);
    for (struct remove_node *node = r->turns.first; rc == ERR_OK && node != NULL;
         node = node->next) {
        const struct turn *turn = &((struct remove_turn *)(void *)node)->turn;
        rc = see_facts(&x, turn, err);
        if (rc == ERR_OK)
            rc = see_answer(&x, turn, err);
    }
    store_cursor_close(x.sources);
    return rc;
}

/* --- facts of an episode that is told again --- */

static enum err_code drop_source(struct removal *r, uint32_t id, uint32_t n, struct err *err)
{
    struct remove_fact *entry;
    enum err_code rc = remove__take_fact(r, id, false, &entry, err);
    if (rc != ERR_OK || entry == NULL)
        return rc;
    struct remove_drop *drop = ARENA_NEW(r->arena, struct remove_drop);
    if (drop == NULL)
        return remove__memory(err);
    *drop = (struct remove_drop){n, entry->drops};
    entry->drops = drop;
    return ERR_OK;
}

static enum err_code drop_repeated(struct removal *r, struct store_cursor *sources, uint32_t n,
                                   struct err *err)
{
    char prefix[4];
    be32_set(prefix, n);
    struct str start = {prefix, sizeof prefix};
    struct store_item item;
    enum err_code rc = store_cursor_seek(sources, start, &item, err);
    while (rc == ERR_OK && item.key.len == 8 && str_starts(item.key, start)) {
        rc = drop_source(r, be32_get(item.key.at + 4), n, err);
        if (rc == ERR_OK)
            rc = store_cursor_next(sources, &item, err);
    }
    return rc;
}

/* Its rows forget what was made of it, and it is unfinished again. */
static enum err_code drop_turn(struct removal *r, struct store_cursor *sources,
                               const struct turn *turn, struct err *err)
{
    enum err_code rc = drop_repeated(r, sources, turn->n, err);
    for (uint32_t d = 0; rc == ERR_OK && d < turn->docs; d++) {
        struct remove_row *entry;
        rc = remove__row(r, turn->doc + d, &entry, err);
        if (rc != ERR_OK)
            return rc;
        struct turn_row *row = &entry->row;
        for (uint32_t i = 0; rc == ERR_OK && i < row->fact_count; i++)
            rc = drop_source(r, row->fact_first + i, turn->n, err);
        row->fact_first = row->fact_count = 0;
        row->prior = 0;
        row->flags &= (uint8_t) ~(TURN_ROW_DONE | TURN_ROW_MORE);
    }
    r->reopened++;
    return rc;
}

static enum err_code drop_turns(struct removal *r, struct store_cursor *sources,
                                const struct episode *episode, struct err *err)
{
    struct remove_range range = {.session_no = episode->session_no,
                                 .first_n = episode->first_n,
                                 .last_n = episode->last_n,
                                 .cap = episode->turns};
    struct turn *turns;
    uint32_t n;
    enum err_code rc = remove__remaining(r, &range, &turns, &n, err);
    for (uint32_t i = 0; rc == ERR_OK && i < n; i++)
        rc = drop_turn(r, sources, &turns[i], err);
    return rc;
}

enum err_code remove__unlink_facts(struct removal *r, uint32_t id, struct err *err)
{
    struct remove_episode *entry;
    struct store_cursor *sources = NULL;
    enum err_code rc = remove__episode(r, id, &entry, err);
    if (rc != ERR_OK)
        return rc;
    entry->unlinked = true;
    rc = store_cursor_open(r->txn, r->space, KIND_FACT_SOURCE, &sources, err);
    if (rc == ERR_OK)
        rc = drop_turns(r, sources, &entry->episode, err);
    store_cursor_close(sources);
    return rc;
}

/* --- settling --- */

/* The first source that is left gives the fact its time, role and place. */
static enum err_code move_first(struct removal *r, struct remove_fact *entry, struct err *err)
{
    struct turn turn;
    enum err_code rc = turn_get(r->txn, r->space, entry->fact.sources[0], &turn, err);
    if (rc != ERR_OK)
        return rc;
    if (turn.n == 0)
        return err_set(err, ERR_INTERNAL, "a source of fact %u is missing", entry->node.id);
    struct turn_row place;
    columns_turn(r->columns, turn.doc, &place);
    entry->moved = true;
    entry->fact.valid_from = turn.time_ms;
    entry->fact.role = turn.role;
    entry->row.turn_doc = turn.doc;
    entry->row.episode = place.episode;
    entry->row.valid_from = turn.time_ms;
    return columns_error(r->columns, err);
}

/* Only a source between the episode's ends can lie in it, so few turns are read. */
static enum err_code has_source_in(struct removal *r, const struct fact *fact,
                                   const struct episode *episode, bool *has, struct err *err)
{
    *has = false;
    for (uint32_t i = 0; i < fact->n_sources && !*has; i++) {
        uint32_t n = fact->sources[i];
        if (n < episode->first_n || n > episode->last_n)
            continue;
        struct turn turn;
        enum err_code rc = turn_get(r->txn, r->space, n, &turn, err);
        if (rc != ERR_OK)
            return rc;
        *has = turn.n != 0 && turn.session_no == episode->session_no;
    }
    return ERR_OK;
}

static enum err_code leave_episode(struct removal *r, struct remove_fact *entry, uint32_t id,
                                   bool *stays, struct err *err)
{
    struct remove_episode *episode;
    *stays = false;
    enum err_code rc = remove__episode(r, id, &episode, err);
    if (rc == ERR_OK && !entry->gone && !episode->lost && !episode->unlinked) {
        *stays = true;
        return ERR_OK;
    }
    if (rc == ERR_OK && !entry->gone)
        rc = has_source_in(r, &entry->fact, &episode->episode, stays, err);
    if (rc != ERR_OK || *stays)
        return rc;
    rc = remove__episode_edge(r, episode, err);
    edge_remove(&episode->edge, entry->node.id);
    episode->edge_changed = true;
    return rc;
}

static bool loses(const struct removal *r, const struct remove_fact *entry, uint32_t n)
{
    for (const struct remove_drop *drop = entry->drops; drop != NULL; drop = drop->next) {
        if (drop->n == n)
            return true;
    }
    return remove__find(&r->turns, n) != NULL;
}

static enum err_code settle_fact(struct removal *r, struct remove_fact *entry, struct err *err)
{
    struct fact *fact = &entry->fact;
    uint32_t first = fact->n_sources != 0 ? fact->sources[0] : 0;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < fact->n_sources; i++) {
        if (!loses(r, entry, fact->sources[i]))
            fact->sources[kept++] = fact->sources[i];
    }
    entry->gone = entry->asked || kept == 0;
    enum err_code rc = ERR_OK;
    if (!entry->gone) { /* those of a fact that goes are needed to find its rows */
        fact->n_sources = kept;
        if (fact->sources[0] != first)
            rc = move_first(r, entry, err);
    }
    uint32_t episodes = 0;
    for (uint32_t i = 0; rc == ERR_OK && i < fact->n_episodes; i++) {
        bool stays;
        rc = leave_episode(r, entry, fact->episodes[i], &stays, err);
        if (stays)
            fact->episodes[episodes++] = fact->episodes[i];
    }
    fact->n_episodes = episodes;
    return rc;
}

/* A fact that goes, or is said again after its end, joins its neighbours in the line of what
 * supersedes what. *entry NULL: that side has none. */
static enum err_code neighbour(struct removal *r, uint32_t id, struct remove_fact **entry,
                               struct err *err)
{
    *entry = NULL;
    return id == 0 ? ERR_OK : remove__take_fact(r, id, false, entry, err);
}

static enum err_code leave_line(struct removal *r, struct remove_fact *entry, struct err *err)
{
    struct fact *fact = &entry->fact;
    struct remove_fact *older, *newer;
    enum err_code rc = neighbour(r, fact->supersedes, &older, err);
    if (rc == ERR_OK)
        rc = neighbour(r, fact->superseded_by, &newer, err);
    if (rc != ERR_OK)
        return rc;
    if (older != NULL && older->fact.superseded_by == fact->id) {
        older->fact.superseded_by = newer != NULL ? newer->node.id : 0;
        older->fact.valid_to = newer != NULL ? newer->fact.valid_from : TIME_NEVER;
        older->row.valid_to = older->fact.valid_to;
    }
    if (newer != NULL && newer->fact.supersedes == fact->id)
        newer->fact.supersedes = older != NULL ? older->node.id : 0;
    fact->supersedes = fact->superseded_by = 0;
    fact->valid_to = entry->row.valid_to = TIME_NEVER;
    return ERR_OK;
}

/* What it has ended was over when it was first said. */
static enum err_code keep_line(struct removal *r, struct remove_fact *entry, struct err *err)
{
    const struct fact *fact = &entry->fact;
    struct remove_fact *older;
    enum err_code rc = neighbour(r, fact->supersedes, &older, err);
    if (rc == ERR_OK && older != NULL && older->fact.superseded_by == fact->id)
        older->fact.valid_to = older->row.valid_to = fact->valid_from;
    return rc;
}

static enum err_code settle_line(struct removal *r, struct remove_fact *entry, struct err *err)
{
    const struct fact *fact = &entry->fact;
    if (entry->gone || fact_is_over(fact, fact->valid_from))
        return leave_line(r, entry, err);
    return entry->moved ? keep_line(r, entry, err) : ERR_OK;
}

enum err_code remove__settle_facts(struct removal *r, struct err *err)
{
    enum err_code rc = ERR_OK;
    for (struct remove_node *node = r->facts.first; rc == ERR_OK && node != NULL; node = node->next)
        rc = settle_fact(r, (struct remove_fact *)(void *)node, err);
    /* Neighbours that are taken here come behind the others: they lose nothing, but are written. */
    for (struct remove_node *node = r->facts.first; rc == ERR_OK && node != NULL; node = node->next)
        rc = settle_line(r, (struct remove_fact *)(void *)node, err);
    return rc;
}

/* --- writing --- */

/* A fact that was deleted on request leaves its key, so that it is never made again. */
static void write_never(struct removal *r, const struct remove_fact *entry)
{
    char key[FACT_KEY];
    fact_key(&entry->fact, key);
    if (entry->asked)
        (void)batch_put(r->batch, KIND_FACT_NEVER, (struct str){key, sizeof key}, STR(""), 0);
}

static void delete_source_row(struct removal *r, uint32_t n, uint32_t fact)
{
    char key[8];
    be32_set(key, n);
    be32_set(key + 4, fact);
    (void)batch_del(r->batch, KIND_FACT_SOURCE, (struct str){key, sizeof key}, 0);
}

static enum err_code write_gone(struct removal *r, struct remove_fact *entry, struct err *err)
{
    uint32_t id = entry->node.id;
    (void)batch_del_u32(r->batch, KIND_FACT, id, 0);
    for (uint32_t i = 0; i < entry->fact.n_sources; i++)
        delete_source_row(r, entry->fact.sources[i], id);
    entry->row = (struct fact_row){0};
    (void)column_put(r->batch, COLUMN_FACT, id - 1, &entry->row, 1);
    write_never(r, entry);
    return remove__kill(r, LAYER_FACT, id - 1, err);
}

static void write_changed(struct removal *r, struct remove_fact *entry)
{
    struct buf record;
    buf_init(&record, r->arena, REMOVE_RECORD_MAX);
    fact_encode(&entry->fact, &record);
    if (!buf_ok(&record)) {
        r->batch->failed = true;
        return;
    }
    (void)batch_put_u32(r->batch, KIND_FACT, entry->node.id, buf_str(&record), PUT_STAMP);
    for (const struct remove_drop *drop = entry->drops; drop != NULL; drop = drop->next)
        delete_source_row(r, drop->n, entry->node.id);
    (void)column_put(r->batch, COLUMN_FACT, entry->node.id - 1, &entry->row, 1);
    batch_log(r->batch, CHANGE_SET, KIND_FACT, UINT32_MAX, entry->node.id, 1);
}

enum err_code remove__write_facts(struct removal *r, struct err *err)
{
    enum err_code rc = ERR_OK;
    for (struct remove_node *node = r->facts.first; rc == ERR_OK && node != NULL;
         node = node->next) {
        struct remove_fact *entry = (struct remove_fact *)(void *)node;
        if (entry->gone)
            rc = write_gone(r, entry, err);
        else
            write_changed(r, entry);
        if (rc == ERR_OK)
            rc = remove__blank(r, KIND_FACT, node->id, err);
    }
    batch_add(r->batch, STAT_FACTS, -(int64_t)r->n_gone_facts);
    remove__log_sorted(r, KIND_FACT, r->gone_facts, r->n_gone_facts);
    return rc;
}
