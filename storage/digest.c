/* fsck --digest: what a space remembers as 128 bits, independent of ids, seq, server times, of how
 * batches were grouped and of folds.
 *
 * Each node is named by the hash of its content, the nodes it points to by their hashes, so the
 * order is bottom up: turns, facts (by their sources), episodes (turns and facts), topics
 * (episodes). A node's postings are part of it: their hashes are summed, since segments hold them
 * in any order. The hashes of a kind are sorted and folded. */
#include <stdio.h>
#include <stdlib.h>

#include "core/graph/space.h"
#include "storage/check_int.h"

struct digest {
    struct check c;
    struct hash128 *postings[LAYERS];                  /* by document */
    struct hash128 *turns, *facts, *episodes, *topics; /* as in c */
    struct hash128 *lines;                             /* of the kind at hand, to be sorted */
    size_t n_lines;
    struct buf buf;
    struct hash128 state;
};

static void quiet(const char *text, void *arg)
{
    (void)text;
    (void)arg;
}

static void put_hash(struct digest *d, struct hash128 hash)
{
    buf_u64(&d->buf, hash.low);
    buf_u64(&d->buf, hash.high);
}

static struct hash128 take_hash(struct digest *d)
{
    return hash128(buf_str(&d->buf));
}

static int hash_cmp(const void *a, const void *b)
{
    const struct hash128 *x = a, *y = b;
    if (x->high != y->high)
        return x->high < y->high ? -1 : 1;
    return (x->low > y->low) - (x->low < y->low);
}

/* Folds n hashes, sorted, into the buffer. */
static void put_sorted(struct digest *d, struct hash128 *hashes, size_t n)
{
    qsort(hashes, n, sizeof *hashes, hash_cmp);
    for (size_t i = 0; i < n; i++)
        put_hash(d, hashes[i]);
}

static void put_postings(struct digest *d, enum layer layer, uint32_t doc, uint32_t n)
{
    for (uint32_t i = doc; i < doc + n && i < d->c.docs[layer].n; i++)
        put_hash(d, d->postings[layer][i]);
}

/* --- postings --- */

static enum err_code add_posting(uint64_t term, enum layer layer, uint32_t doc, uint32_t tf,
                                 void *arg)
{
    struct digest *d = arg;
    uint64_t pair[2] = {term, tf};
    struct hash128 hash = hash128((struct str){(const char *)pair, sizeof pair});
    if (doc < d->c.docs[layer].n) {
        d->postings[layer][doc].low += hash.low;
        d->postings[layer][doc].high += hash.high;
    }
    return ERR_OK;
}

static enum err_code load_postings(struct digest *d, struct err *err)
{
    struct check *c = &d->c;
    struct store_cursor *cursor = NULL;
    struct store_item item;
    for (int layer = 0; layer < LAYERS; layer++) {
        d->postings[layer] =
            check__array(c, c->docs[layer].n + 1u, sizeof *d->postings[layer], err);
        if (d->postings[layer] == NULL)
            return ERR_EXHAUSTED;
    }
    enum err_code code = store_cursor_open(c->txn, c->space, KIND_SEGMENT, &cursor, err);
    if (code == ERR_OK)
        code = store_cursor_next(cursor, &item, err);
    while (code == ERR_OK && item.key.at != NULL) {
        code = segment_walk(item.value, add_posting, d, err);
        if (code == ERR_OK)
            code = store_cursor_next(cursor, &item, err);
    }
    store_cursor_close(cursor);
    return code;
}

/* --- nodes --- */

static enum err_code hash_turn(struct digest *d, uint32_t i, struct err *err)
{
    const struct check_turn *known = &d->c.turns[i];
    struct arena *arena = arena_new(4 << 20);
    struct turn turn;
    if (arena == NULL)
        return err_set(err, ERR_EXHAUSTED, "out of memory");
    enum err_code code = turn_get(d->c.txn, d->c.space, known->n, &turn, err);
    if (code == ERR_OK)
        code = turn_load_text(d->c.txn, d->c.space, arena, &turn, err);
    if (code == ERR_OK) {
        buf_clear(&d->buf);
        buf_lstr(&d->buf, turn.id);
        buf_lstr(&d->buf, turn.session);
        buf_lstr(&d->buf, turn.speaker);
        buf_lstr(&d->buf, turn.role);
        buf_lstr(&d->buf, turn.metadata);
        buf_lstr(&d->buf, turn.text);
        buf_u8(&d->buf, turn.time_source);
        buf_u64(&d->buf, turn.time_source == TIME_RECEIVED ? 0 : (uint64_t)turn.time_ms);
        buf_u16(&d->buf, (uint16_t)turn.offset_min);
        buf_u8(&d->buf, known->open);
        buf_u8(&d->buf, known->episode != 0);
        put_postings(d, LAYER_TURN, turn.doc, turn.docs);
        d->turns[i] = take_hash(d);
    }
    arena_free(arena);
    return code;
}

static struct hash128 turn_hash(const struct digest *d, uint32_t n)
{
    const struct check_turn *turn = check__turn(&d->c, n);
    return turn != NULL ? d->turns[turn - d->c.turns] : (struct hash128){0, 0};
}

static void hash_fact(struct digest *d, uint32_t i)
{
    const struct fact *fact = &d->c.facts[i];
    buf_clear(&d->buf);
    buf_lstr(&d->buf, fact->content);
    buf_lstr(&d->buf, fact->speaker);
    buf_lstr(&d->buf, fact->role);
    buf_lstr(&d->buf, fact->keywords);
    buf_lstr(&d->buf, fact->potential);
    buf_lstr(&d->buf, fact->time_text);
    if (fact->has_time)
        buf_printf(&d->buf, "%d-%d-%d %d-%d-%d %d", (int)fact->from.year, (int)fact->from.month,
                   (int)fact->from.day, (int)fact->to.year, (int)fact->to.month, (int)fact->to.day,
                   (int)fact->grain);
    buf_u16(&d->buf, fact->weight);
    buf_u8(&d->buf, fact->flags);
    buf_u8(&d->buf, fact->valid_to != TIME_NEVER);
    buf_u8(&d->buf, fact->superseded_by != 0);
    for (uint32_t k = 0; k < fact->n_sources; k++)
        put_hash(d, turn_hash(d, fact->sources[k]));
    put_postings(d, LAYER_FACT, fact->id - 1, 1);
    d->facts[i] = take_hash(d);
}

static struct hash128 member_hash(const struct edge_member *member, struct hash128 node)
{
    uint64_t parts[3] = {node.low, node.high, (uint64_t)member->role << 16 | member->weight};
    return hash128((struct str){(const char *)parts, sizeof parts});
}

static void hash_episode(struct digest *d, uint32_t i)
{
    const struct check_episode *episode = &d->c.episodes[i];
    const struct episode *record = &episode->record;
    buf_clear(&d->buf);
    buf_lstr(&d->buf, record->session);
    buf_lstr(&d->buf, record->title);
    buf_lstr(&d->buf, record->summary);
    buf_lstr(&d->buf, record->participants);
    buf_u16(&d->buf, (uint16_t)record->offset_min);
    buf_u8(&d->buf, record->flags);
    buf_u8(&d->buf, record->n_topics);
    for (uint32_t k = 0; k < episode->turns; k++)
        put_hash(d, d->turns[d->c.by_session[episode->first + k]]);
    for (uint32_t k = 0; k < episode->facts.n; k++) {
        const struct fact *fact = check__fact(&d->c, episode->facts.at[k].id);
        if (fact != NULL)
            d->lines[k] = member_hash(&episode->facts.at[k], d->facts[fact - d->c.facts]);
    }
    put_sorted(d, d->lines, episode->facts.n);
    put_postings(d, LAYER_EPISODE, record->doc, 1);
    d->episodes[i] = take_hash(d);
}

static void put_title_of(struct digest *d, uint32_t topic)
{
    const struct check_topic *other = check__topic(&d->c, topic);
    buf_lstr(&d->buf, other != NULL ? other->record.title : STR(""));
}

static void hash_topic(struct digest *d, uint32_t i)
{
    const struct check_topic *topic = &d->c.topics[i];
    const struct topic *record = &topic->record;
    buf_clear(&d->buf);
    buf_lstr(&d->buf, record->title);
    buf_lstr(&d->buf, record->summary);
    buf_u8(&d->buf, record->flags);
    for (uint32_t k = 0; k < record->n_keywords; k++) {
        buf_lstr(&d->buf, record->keywords[k].text);
        buf_u64(&d->buf, record->keywords[k].term);
        buf_put(&d->buf, &record->keywords[k].weight, sizeof record->keywords[k].weight);
    }
    put_title_of(d, record->chain);
    put_title_of(d, record->previous);
    put_title_of(d, record->next);
    for (uint32_t k = 0; k < topic->episodes.n; k++) {
        const struct check_episode *episode = check__episode(&d->c, topic->episodes.at[k].id);
        if (episode != NULL)
            d->lines[k] = member_hash(&topic->episodes.at[k], d->episodes[episode - d->c.episodes]);
    }
    put_sorted(d, d->lines, topic->episodes.n);
    put_postings(d, LAYER_TOPIC, record->doc, 1);
    d->topics[i] = take_hash(d);
}

/* --- all --- */

static enum err_code make_hashes(struct digest *d, struct err *err)
{
    struct check *c = &d->c;
    size_t most = (size_t)c->n_turns + c->n_facts + c->n_episodes + c->n_topics + 1;
    d->turns = check__array(c, c->n_turns + 1u, sizeof *d->turns, err);
    d->facts = check__array(c, c->n_facts + 1u, sizeof *d->facts, err);
    d->episodes = check__array(c, c->n_episodes + 1u, sizeof *d->episodes, err);
    d->topics = check__array(c, c->n_topics + 1u, sizeof *d->topics, err);
    d->lines = check__array(c, most, sizeof *d->lines, err);
    return d->turns != NULL && d->facts != NULL && d->episodes != NULL && d->topics != NULL &&
                   d->lines != NULL
               ? ERR_OK
               : ERR_EXHAUSTED;
}

static enum err_code put_settings(struct digest *d, struct err *err)
{
    struct space space;
    enum err_code code = space_get(d->c.txn, d->c.space, &space, err);
    if (code != ERR_OK)
        return code;
    buf_clear(&d->buf);
    buf_lstr(&d->buf, space.timezone);
    buf_lstr(&d->buf, space.language);
    d->state = take_hash(d);
    return ERR_OK;
}

static void fold(struct digest *d, const char *kind, struct hash128 *hashes, size_t n)
{
    buf_clear(&d->buf);
    put_hash(d, d->state);
    buf_lstr(&d->buf, str_of(kind));
    buf_u64(&d->buf, n);
    put_sorted(d, hashes, n);
    d->state = take_hash(d);
}

static enum err_code hash_all(struct digest *d, struct err *err)
{
    struct check *c = &d->c;
    enum err_code code = make_hashes(d, err);
    if (code == ERR_OK)
        code = load_postings(d, err);
    if (code == ERR_OK)
        code = put_settings(d, err);
    for (uint32_t i = 0; code == ERR_OK && i < c->n_turns; i++)
        code = hash_turn(d, i, err);
    if (code != ERR_OK)
        return code;
    for (uint32_t i = 0; i < c->n_facts; i++)
        hash_fact(d, i);
    for (uint32_t i = 0; i < c->n_episodes; i++)
        hash_episode(d, i);
    for (uint32_t i = 0; i < c->n_topics; i++)
        hash_topic(d, i);
    fold(d, "topics", d->topics, c->n_topics);
    fold(d, "episodes", d->episodes, c->n_episodes);
    fold(d, "facts", d->facts, c->n_facts);
    fold(d, "turns", d->turns, c->n_turns);
    return buf_ok(&d->buf) ? ERR_OK : err_set(err, ERR_EXHAUSTED, "out of memory for the digest");
}

static enum err_code digest_space(struct store *store, struct str name, bool *found,
                                  struct hash128 *out, struct err *err)
{
    static const struct check_sink nowhere = {quiet, NULL};
    struct check_report report = {0};
    struct digest d = {.c = {.sink = &nowhere, .report = &report}};
    buf_init(&d.buf, NULL, (size_t)4 << 30);
    enum err_code code = check__open_space(store, name, &d.c, found, err);
    if (code == ERR_OK && *found) {
        code = store_stat(d.c.txn, d.c.space, &d.c.stat, err);
        if (code == ERR_OK)
            code = check__rows(&d.c, err);
        if (code == ERR_OK)
            code = check__load(&d.c, err);
        if (code == ERR_OK)
            code = check__graph(&d.c, err);
        if (code == ERR_OK)
            code = check__index(&d.c, err);
        if (code == ERR_OK)
            code = hash_all(&d, err);
        check__close_space(&d.c);
        *out = d.state;
    }
    buf_fini(&d.buf);
    return code;
}

enum err_code storage_digest_space(struct store *store, struct str name, struct hash128 *digest,
                                   struct err *err)
{
    bool found;
    enum err_code code = digest_space(store, name, &found, digest, err);
    if (code == ERR_OK && !found)
        return err_set(err, ERR_NOT_FOUND, "there is no such space");
    return code;
}

static enum err_code print_space(struct store *store, struct str name, void *arg, struct err *err)
{
    const struct check_sink *sink = arg;
    struct hash128 digest;
    bool found;
    char line[KEY_REST_MAX + 64];
    enum err_code code = digest_space(store, name, &found, &digest, err);
    if (code != ERR_OK || !found)
        return code;
    (void)snprintf(line, sizeof line, "%.*s %016llx%016llx", STR_FMT(name),
                   (unsigned long long)digest.high, (unsigned long long)digest.low);
    sink->line(line, sink->arg);
    return ERR_OK;
}

enum err_code storage_digest(struct store *store, const struct check_sink *sink, struct err *err)
{
    struct check_sink copy = *sink;
    return check__each_space(store, print_space, &copy, err);
}
