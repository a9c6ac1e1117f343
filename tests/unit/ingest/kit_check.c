/* Comparing a store with the arrays of a world. */
#include <stdio.h>

#include "core/base/limits.h"
#include "tests/unit/ingest/kit_world.h"

struct check {
    struct world *w;
    struct arena *arena;
    struct store_txn *txn;
    struct columns *columns;
    struct lengths *lengths;
    struct space_stat stat;
    struct err err;
};

static struct str row(struct check *c, enum store_kind kind, struct str key)
{
    struct str value;
    ck_assert_int_eq(store_get(c->txn, c->w->kit.space, kind, key, &value, &c->err), ERR_OK);
    return value;
}

static uint32_t rows(struct check *c, enum store_kind kind)
{
    struct store_cursor *cursor;
    struct store_item item;
    uint32_t n = 0;
    ck_assert_int_eq(store_cursor_open(c->txn, c->w->kit.space, kind, &cursor, &c->err), ERR_OK);
    ck_assert_int_eq(store_cursor_seek(cursor, STR(""), &item, &c->err), ERR_OK);
    for (; item.key.at != NULL; n++)
        ck_assert_int_eq(store_cursor_next(cursor, &item, &c->err), ERR_OK);
    store_cursor_close(cursor);
    return n;
}

static struct str pair(char key[8], uint32_t a, uint32_t b)
{
    be32_set(key, a);
    be32_set(key + 4, b);
    return (struct str){key, 8};
}

/* --- nothing of what is gone is left in a live value --- */

static void check_needles(struct check *c, enum store_kind kind, struct str bytes)
{
    static const char *const words[] = {"tneedle", "fneedle"};
    for (size_t i = 0; i < 2; i++) {
        struct str word = str_of(words[i]);
        struct str rest = bytes;
        const char *at;
        while ((at = memmem(rest.at, rest.len, word.at, word.len)) != NULL) {
            const char *end = bytes.at + bytes.len;
            uint32_t id = 0;
            for (at += word.len; at < end && *at >= '0' && *at <= '9'; at++)
                id = id * 10 + (uint32_t)(*at - '0');
            bool lives = i == 0 ? c->w->turns[id].alive : world_has_fact(c->w, id);
            ck_assert_msg(lives, "%s%u is still in a row of kind %c", words[i], id, kind);
            rest = (struct str){at, (size_t)(end - at)};
        }
    }
}

static void search_kind(struct check *c, enum store_kind kind)
{
    struct store_cursor *cursor;
    struct store_item item;
    ck_assert_int_eq(store_cursor_open(c->txn, c->w->kit.space, kind, &cursor, &c->err), ERR_OK);
    ck_assert_int_eq(store_cursor_seek(cursor, STR(""), &item, &c->err), ERR_OK);
    while (item.key.at != NULL) {
        check_needles(c, kind, item.key);
        check_needles(c, kind, item.value);
        ck_assert_int_eq(store_cursor_next(cursor, &item, &c->err), ERR_OK);
    }
    store_cursor_close(cursor);
}

static void search_all(struct check *c)
{
#define X(name, letter, key, value) search_kind(c, KIND_##name);
    STORE_KIND_TABLE(X)
#undef X
}

/* --- turns --- */

static void check_turn_row(struct check *c, uint32_t n, uint32_t doc, uint32_t prev, uint32_t next)
{
    const struct world *w = c->w;
    const struct world_turn *turn = &w->turns[n];
    struct turn_row r;
    columns_turn(c->columns, doc, &r);
    bool episode = turn->episode != 0;
    ck_assert_uint_eq(r.n, n);
    ck_assert_uint_eq(r.session_no, turn->session_no);
    ck_assert_uint_eq(r.episode, turn->episode);
    ck_assert_uint_eq(r.prev, prev);
    ck_assert_uint_eq(r.next, next);
    ck_assert_uint_eq(r.fact_first, w->doc_fact_first[doc]);
    ck_assert_uint_eq(r.fact_count, w->doc_facts[doc]);
    ck_assert_uint_eq(r.flags & TURN_ROW_DONE, episode ? TURN_ROW_DONE : 0);
    ck_assert_int_eq(r.time_ms, turn->time_ms);
    ck_assert_uint_ne(lengths_get(c->lengths, LAYER_TURN, doc), 0);
}

static void check_turn_gone(struct check *c, uint32_t n)
{
    const struct world_turn *turn = &c->w->turns[n];
    static const struct turn_row none;
    for (uint32_t d = turn->doc; d < turn->doc + turn->docs; d++) {
        struct turn_row r;
        columns_turn(c->columns, d, &r);
        ck_assert_mem_eq(&r, &none, sizeof r);
        ck_assert_uint_eq(lengths_get(c->lengths, LAYER_TURN, d), 0);
    }
    char key[8];
    char id[16];
    be32_set(key, n);
    ck_assert_ptr_null(row(c, KIND_TURN, (struct str){key, 4}).at);
    ck_assert_ptr_null(row(c, KIND_SESSION_TURN, pair(key, turn->session_no, n)).at);
    (void)snprintf(id, sizeof id, "client%u", n);
    ck_assert_ptr_null(row(c, KIND_TURN_ID, str_of(id)).at);
}

/* Documents of a session's living, looked-at turns are one list. */
static void check_links(struct check *c, uint32_t session_no)
{
    const struct world *w = c->w;
    uint32_t before = 0, doc = 0, owner = 0; /* document + 1 */
    for (uint32_t n = 1; n <= w->n_turns + 1; n++) {
        const struct world_turn *turn = n <= w->n_turns ? &w->turns[n] : NULL;
        if (turn != NULL && (turn->session_no != session_no || !turn->alive || !turn->looked))
            continue;
        for (uint32_t i = 0; turn == NULL ? i < 1 : i < turn->docs; i++) {
            uint32_t next = turn == NULL ? 0 : turn->doc + i + 1;
            if (doc != 0)
                check_turn_row(c, owner, doc - 1, before, next);
            before = doc;
            doc = next;
            owner = n;
        }
    }
}

static void check_turns(struct check *c)
{
    const struct world *w = c->w;
    uint32_t alive = 0, ids = 0, parts = 0, pending = 0, open = 0, docs = 0;
    uint64_t bytes = 0, length = 0;
    for (uint32_t n = 1; n <= w->n_turns; n++) {
        const struct world_turn *turn = &w->turns[n];
        if (!turn->alive) {
            check_turn_gone(c, n);
            continue;
        }
        char key[8];
        alive++;
        ids += turn->has_id;
        docs += turn->docs;
        bytes += turn->text.len;
        pending += !turn->looked;
        open += turn->looked && turn->episode == 0;
        if (turn->text.len > LIMIT_PART_BYTES)
            parts += (uint32_t)((turn->text.len + LIMIT_PART_BYTES - 1) / LIMIT_PART_BYTES);
        ck_assert_ptr_nonnull(row(c, KIND_SESSION_TURN, pair(key, turn->session_no, n)).at);
        ck_assert(str_eq(kit_turn(&c->w->kit, n).text, turn->text));
        for (uint32_t d = turn->doc; d < turn->doc + turn->docs; d++)
            length += lengths_get(c->lengths, LAYER_TURN, d);
        if (!turn->looked)
            check_turn_row(c, n, turn->doc, 0, 0);
    }
    for (uint32_t session = 1; session <= WORLD_SESSIONS; session++)
        check_links(c, session);
    ck_assert_uint_eq(rows(c, KIND_TURN), alive);
    ck_assert_uint_eq(rows(c, KIND_SESSION_TURN), alive);
    ck_assert_uint_eq(rows(c, KIND_TURN_ID), ids);
    ck_assert_uint_eq(rows(c, KIND_TEXT), parts);
    ck_assert_uint_eq(c->stat.v[STAT_TURNS], alive);
    ck_assert_uint_eq(c->stat.v[STAT_PENDING], pending);
    ck_assert_uint_eq(c->stat.v[STAT_OPEN], open);
    ck_assert_uint_eq(c->stat.v[STAT_UNFINISHED], 0);
    ck_assert_uint_eq(c->stat.v[STAT_TEXT_BYTES], bytes);
    ck_assert_uint_eq(c->stat.v[STAT_DOCS_TURN], docs);
    ck_assert_uint_eq(c->stat.v[STAT_LENGTH_TURN], length);
    ck_assert_int_eq(c->stat.v[STAT_IDLE_DUE] != 0, open != 0);
}

static void check_buffer(struct check *c, uint32_t session_no, uint32_t *n_buffers)
{
    const struct world *w = c->w;
    struct buffer b, x = {.start_ms = INT64_MAX, .end_ms = INT64_MIN};
    bool whole = true; /* nothing of it was deleted */
    for (uint32_t n = 1; n <= w->looked; n++) {
        const struct world_turn *turn = &w->turns[n];
        if (turn->session_no != session_no || turn->episode != 0)
            continue;
        whole &= turn->alive;
        if (!turn->alive)
            continue;
        if (x.turns++ == 0) {
            x.first_n = n;
            x.first_doc = turn->doc;
        }
        x.last_n = n;
        x.last_doc = turn->doc + turn->docs - 1;
        x.tokens += buffer_tokens(turn->text);
        x.last_ms = turn->time_ms;
        x.start_ms = turn->time_ms < x.start_ms ? turn->time_ms : x.start_ms;
        x.end_ms = turn->time_ms > x.end_ms ? turn->time_ms : x.end_ms;
    }
    ck_assert_int_eq(buffer_get(c->txn, w->kit.space, session_no, &b, &c->err), ERR_OK);
    ck_assert_uint_eq(b.turns, x.turns);
    if (x.turns == 0)
        return;
    (*n_buffers)++;
    ck_assert(b.first_n == x.first_n && b.last_n == x.last_n && b.first_doc == x.first_doc);
    ck_assert(b.last_doc == x.last_doc && b.tokens == x.tokens && b.last_ms == x.last_ms);
    ck_assert(b.start_ms == x.start_ms && b.end_ms == x.end_ms && b.arrival_ms == 4711);
    ck_assert(str_eq(b.state, whole ? STR("state") : STR("")));
}

/* --- facts --- */

static void check_fact_gone(struct check *c, uint32_t id)
{
    static const struct fact_row none;
    struct fact_row r;
    columns_fact(c->columns, id, &r);
    ck_assert_mem_eq(&r, &none, sizeof r);
    ck_assert_uint_eq(lengths_get(c->lengths, LAYER_FACT, id - 1), 0);
}

static uint32_t living(const struct world *w, const uint32_t *from, uint32_t n, uint32_t *out)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (w->turns[from[i]].alive)
            out[found++] = from[i];
    }
    return found;
}

static void check_fact(struct check *c, uint32_t id, uint32_t *source_rows)
{
    const struct world *w = c->w;
    const struct world_fact *f = &w->facts[id];
    struct fact fact;
    struct fact_row r;
    uint32_t sources[WORLD_SOURCES];
    uint32_t n = world_sources(w, id, sources);
    ck_assert_int_eq(fact_get(c->txn, w->kit.space, id, c->arena, &fact, &c->err), ERR_OK);
    ck_assert_uint_eq(fact.id, id);
    ck_assert_uint_eq(fact.n_sources, n);
    ck_assert_mem_eq(fact.sources, sources, n * sizeof sources[0]);
    uint32_t expected = 0;
    for (uint32_t e = 0; e < f->n_episodes; e++) {
        bool in = false;
        for (uint32_t i = 0; i < n; i++)
            in |= w->turns[sources[i]].episode == f->episodes[e];
        if (!in)
            continue;
        ck_assert_uint_lt(expected, fact.n_episodes);
        ck_assert_uint_eq(fact.episodes[expected++], f->episodes[e]);
    }
    ck_assert_uint_eq(fact.n_episodes, expected);
    const struct world_turn *first = &w->turns[sources[0]];
    columns_fact(c->columns, id, &r);
    ck_assert(fact.valid_from == first->time_ms && r.valid_from == first->time_ms);
    ck_assert(r.turn_doc == first->doc && r.episode == first->episode && r.speaker_no == 1);
    ck_assert(str_eq(fact.role, sources[0] % 3 == 0 ? STR("assistant") : STR("user")));
    ck_assert_uint_ne(lengths_get(c->lengths, LAYER_FACT, id - 1), 0);
    for (uint32_t i = 1; i < f->n_sources; i++) {
        char key[8];
        bool alive = false;
        for (uint32_t k = 0; k < n; k++)
            alive |= sources[k] == f->sources[i];
        ck_assert_int_eq(row(c, KIND_FACT_SOURCE, pair(key, f->sources[i], id)).at != NULL, alive);
        *source_rows += alive;
    }
}

static void check_facts(struct check *c)
{
    const struct world *w = c->w;
    uint32_t alive = 0, asked = 0, source_rows = 0;
    for (uint32_t id = 1; id <= w->n_facts; id++) {
        struct fact key_of = {.hash = id * UINT64_C(0x9e3779b97f4a7c15), .speaker_no = 1};
        char key[FACT_KEY];
        fact_key(&key_of, key);
        struct str never = row(c, KIND_FACT_NEVER, (struct str){key, sizeof key});
        asked += w->facts[id].asked;
        if (world_has_fact(w, id)) {
            alive++;
            check_fact(c, id, &source_rows);
            ck_assert_ptr_null(never.at);
        } else {
            check_fact_gone(c, id);
            ck_assert_int_eq(never.at != NULL, w->facts[id].asked);
        }
    }
    ck_assert_uint_eq(rows(c, KIND_FACT), alive);
    ck_assert_uint_eq(rows(c, KIND_FACT_NEVER), asked);
    ck_assert_uint_eq(rows(c, KIND_FACT_SOURCE), source_rows);
    ck_assert_uint_eq(c->stat.v[STAT_FACTS], alive);
    ck_assert_uint_eq(c->stat.v[STAT_DOCS_FACT], alive);
}

/* --- episodes --- */

static struct str summary_of(struct check *c, uint32_t id)
{
    struct buf text;
    buf_init(&text, c->arena, 1 << 16);
    const struct world_episode *e = &c->w->episodes[id];
    for (uint32_t i = 0; i < e->n_turns; i++) {
        if (c->w->turns[e->turns[i]].alive)
            buf_printf(&text, "tneedle%ux;", e->turns[i]);
    }
    return buf_str(&text);
}

static void check_fact_edge(struct check *c, uint32_t id)
{
    const struct world *w = c->w;
    struct edge edge;
    ck_assert_int_eq(
        edge_get(c->txn, w->kit.space, KIND_EPISODE_EDGE, id, c->arena, &edge, &c->err), ERR_OK);
    uint32_t n = 0;
    for (uint32_t f = 1; f <= w->n_facts; f++) {
        bool member = false;
        uint32_t sources[WORLD_SOURCES];
        uint32_t left = world_has_fact(w, f) ? world_sources(w, f, sources) : 0;
        for (uint32_t i = 0; i < left; i++)
            member |= w->turns[sources[i]].episode == id;
        if (!member)
            continue;
        ck_assert_uint_lt(n, edge.n);
        ck_assert_uint_eq(edge.at[n].id, f);
        ck_assert_uint_eq(edge.at[n++].weight, 1000);
    }
    ck_assert_uint_eq(edge.n, n);
}

static void check_episode(struct check *c, uint32_t id)
{
    const struct world *w = c->w;
    struct episode e;
    struct episode_row r;
    uint32_t turns[WORLD_EPISODE_TURNS];
    uint32_t n = living(w, w->episodes[id].turns, w->episodes[id].n_turns, turns);
    ck_assert_int_eq(episode_get(c->txn, w->kit.space, id, &e, &c->err), ERR_OK);
    columns_episode(c->columns, id, &r);
    ck_assert_uint_eq(e.id, id);
    ck_assert(e.turns == n && e.first_n == turns[0] && e.last_n == turns[n - 1]);
    ck_assert(str_eq(e.summary, summary_of(c, id)));
    int64_t start = INT64_MAX, end = INT64_MIN;
    for (uint32_t i = 0; i < n; i++) {
        start = w->turns[turns[i]].time_ms < start ? w->turns[turns[i]].time_ms : start;
        end = w->turns[turns[i]].time_ms > end ? w->turns[turns[i]].time_ms : end;
    }
    ck_assert(e.start_ms == start && e.end_ms == end && r.start_ms == start && r.end_ms == end);
    ck_assert(r.turns == n && r.first_doc == w->turns[turns[0]].doc && r.doc == e.doc);
    ck_assert_uint_eq(r.session_no, e.session_no);
    uint32_t topics = 0;
    for (uint32_t i = 0; i < w->episodes[id].n_topics; i++) {
        if (!w->topics[w->episodes[id].topics[i]].asked) {
            ck_assert_uint_eq(e.topics[topics], w->episodes[id].topics[i]);
            ck_assert_uint_eq(r.topics[topics++], w->episodes[id].topics[i]);
        }
    }
    ck_assert(e.n_topics == topics && topics >= 1);
    ck_assert_uint_eq(columns_episode_of_doc(c->columns, e.doc), id);
    ck_assert_uint_eq(lengths_get(c->lengths, LAYER_EPISODE, e.doc), n);
    check_fact_edge(c, id);
}

static void check_episodes(struct check *c)
{
    const struct world *w = c->w;
    static const struct episode_row none;
    uint32_t alive = 0, docs = 0;
    for (uint32_t id = 1; id <= w->n_episodes; id++) {
        struct episode_row r;
        columns_episode(c->columns, id, &r);
        if (world_has_episode(w, id)) {
            alive++;
            check_episode(c, id);
        } else {
            ck_assert_mem_eq(&r, &none, sizeof r);
        }
    }
    for (uint32_t d = 0; d < c->stat.v[STAT_NEXT_DOC_EPISODE]; d++) {
        bool lives = lengths_get(c->lengths, LAYER_EPISODE, d) != 0;
        docs += lives;
        ck_assert_int_eq(columns_episode_of_doc(c->columns, d) != 0, lives);
    }
    ck_assert_uint_eq(docs, alive);
    ck_assert_uint_eq(rows(c, KIND_EPISODE), alive);
    ck_assert_uint_eq(rows(c, KIND_EPISODE_EDGE), alive);
    ck_assert_uint_eq(c->stat.v[STAT_EPISODES], alive);
    ck_assert_uint_eq(c->stat.v[STAT_DOCS_EPISODE], alive);
}

/* --- topics --- */

static void check_topic(struct check *c, uint32_t id, uint32_t previous, uint32_t chain)
{
    const struct world *w = c->w;
    struct topic t;
    struct topic_row r;
    struct edge edge;
    struct buf text;
    buf_init(&text, c->arena, 1 << 16);
    ck_assert_int_eq(topic_get(c->txn, w->kit.space, id, c->arena, &t, &c->err), ERR_OK);
    ck_assert_int_eq(edge_get(c->txn, w->kit.space, KIND_TOPIC_EDGE, id, c->arena, &edge, &c->err),
                     ERR_OK);
    columns_topic(c->columns, id, &r);
    uint32_t n = 0;
    for (uint32_t i = 0; i < w->topics[id].n_members; i++) {
        uint32_t episode = w->topics[id].members[i];
        if (!world_has_episode(w, episode))
            continue;
        ck_assert_uint_lt(n, edge.n);
        ck_assert_uint_eq(edge.at[n++].id, episode);
        buf_str_put(&text, summary_of(c, episode));
        buf_char(&text, '|');
    }
    ck_assert(t.id == id && edge.n == n && t.episodes == n && r.episodes == n);
    ck_assert(str_eq(t.summary, buf_str(&text)) && str_eq(t.keywords[0].text, buf_str(&text)));
    ck_assert_uint_eq(t.previous, previous);
    ck_assert(t.chain == chain && r.chain == chain && r.doc == t.doc);
    ck_assert(r.start_ms == t.start_ms && r.end_ms == t.end_ms && t.start_ms <= t.end_ms);
    ck_assert_uint_eq(columns_topic_of_doc(c->columns, t.doc), id);
    ck_assert_uint_ne(lengths_get(c->lengths, LAYER_TOPIC, t.doc), 0);
}

static uint32_t next_of(struct check *c, uint32_t id)
{
    struct topic t;
    ck_assert_int_eq(topic_get(c->txn, c->w->kit.space, id, c->arena, &t, &c->err), ERR_OK);
    return t.next;
}

static void check_topics(struct check *c)
{
    const struct world *w = c->w;
    static const struct topic_row none;
    uint32_t alive = 0;
    for (uint32_t line = 0; line < w->n_lines; line++) {
        uint32_t chain = 0, previous = 0;
        for (uint32_t id = 1; id <= w->n_topics; id++) {
            if (w->topics[id].line != line || !world_has_topic(w, id))
                continue;
            alive++;
            chain = chain == 0 ? id : chain;
            check_topic(c, id, previous, chain);
            if (previous != 0)
                ck_assert_uint_eq(next_of(c, previous), id);
            previous = id;
        }
        if (previous != 0)
            ck_assert_uint_eq(next_of(c, previous), 0);
    }
    for (uint32_t id = 1; id <= w->n_topics; id++) {
        struct topic_row r;
        columns_topic(c->columns, id, &r);
        if (!world_has_topic(w, id))
            ck_assert_mem_eq(&r, &none, sizeof r);
    }
    ck_assert_uint_eq(rows(c, KIND_TOPIC), alive);
    ck_assert_uint_eq(rows(c, KIND_TOPIC_EDGE), alive);
    ck_assert_uint_eq(c->stat.v[STAT_TOPICS], alive);
    ck_assert_uint_eq(c->stat.v[STAT_DOCS_TOPIC], alive);
}

void world_check(struct world *w)
{
    struct check c = {.w = w, .arena = arena_new(64 << 20), .txn = begin(&w->kit.f)};
    c.columns = columns_new(c.txn, w->kit.space, c.arena);
    c.lengths = lengths_new(c.txn, w->kit.space, c.arena);
    ck_assert_int_eq(store_stat(c.txn, w->kit.space, &c.stat, &c.err), ERR_OK);
    uint32_t buffers = 0;
    check_turns(&c);
    for (uint32_t session = 1; session <= WORLD_SESSIONS; session++)
        check_buffer(&c, session, &buffers);
    ck_assert_uint_eq(rows(&c, KIND_BUFFER), buffers);
    check_facts(&c);
    check_episodes(&c);
    check_topics(&c);
    search_all(&c);
    ck_assert_int_eq(columns_error(c.columns, &c.err), ERR_OK);
    ck_assert_int_eq(lengths_error(c.lengths, &c.err), ERR_OK);
    store_end(c.txn);
    arena_free(c.arena);
}
