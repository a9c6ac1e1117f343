/* Making a world and changing its arrays. */
#include "tests/unit/ingest/kit_world.h"

#include <stdio.h>
#include <stdlib.h>

uint32_t world_random(struct world *w, uint32_t below)
{
    w->seed = w->seed * 1664525u + 1013904223u;
    return (w->seed >> 8) % below;
}

/* --- what exists --- */

static bool has_living(const struct world *w, const uint32_t *turns, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (w->turns[turns[i]].alive)
            return true;
    }
    return false;
}

uint32_t world_sources(const struct world *w, uint32_t id, uint32_t out[WORLD_SOURCES])
{
    const struct world_fact *f = &w->facts[id];
    uint32_t n = 0;
    for (uint32_t i = 0; i < f->n_sources; i++) {
        bool asked = f->asked_by[i] == 0 || w->turns[f->asked_by[i]].alive;
        if (asked && w->turns[f->sources[i]].alive)
            out[n++] = f->sources[i];
    }
    return n;
}

bool world_has_fact(const struct world *w, uint32_t id)
{
    uint32_t sources[WORLD_SOURCES];
    return !w->facts[id].asked && world_sources(w, id, sources) != 0;
}

bool world_has_episode(const struct world *w, uint32_t id)
{
    return has_living(w, w->episodes[id].turns, w->episodes[id].n_turns);
}

bool world_has_topic(const struct world *w, uint32_t id)
{
    for (uint32_t i = 0; i < w->topics[id].n_members; i++) {
        if (!w->topics[id].asked && world_has_episode(w, w->topics[id].members[i]))
            return true;
    }
    return false;
}

struct remove_counts world_count(const struct world *w)
{
    struct remove_counts counts = {0};
    for (uint32_t i = 1; i <= w->n_turns; i++)
        counts.turns += w->turns[i].alive;
    for (uint32_t i = 1; i <= w->n_facts; i++)
        counts.facts += world_has_fact(w, i);
    for (uint32_t i = 1; i <= w->n_episodes; i++)
        counts.episodes += world_has_episode(w, i);
    for (uint32_t i = 1; i <= w->n_topics; i++)
        counts.topics += world_has_topic(w, i);
    return counts;
}

static void delete_episode(struct world *w, uint32_t id)
{
    for (uint32_t i = 0; i < w->episodes[id].n_turns; i++)
        w->turns[w->episodes[id].turns[i]].alive = false;
}

static void delete_topic(struct world *w, uint32_t id)
{
    for (uint32_t i = 0; i < w->topics[id].n_members; i++) {
        uint32_t episode = w->topics[id].members[i];
        bool elsewhere = false;
        for (uint32_t t = 0; t < w->episodes[episode].n_topics; t++) {
            uint32_t other = w->episodes[episode].topics[t];
            elsewhere |= other != id && world_has_topic(w, other);
        }
        if (!elsewhere)
            delete_episode(w, episode);
    }
    w->topics[id].asked = true;
}

void world_delete(struct world *w, enum store_kind kind, uint32_t id)
{
    if (kind == KIND_TURN)
        w->turns[id].alive = false;
    else if (kind == KIND_FACT)
        w->facts[id].asked = true;
    else if (kind == KIND_EPISODE)
        delete_episode(w, id);
    else
        delete_topic(w, id);
}

/* --- stand-ins --- */

/* Quotes the beginning of each turn, which holds its needle. */
static enum err_code fake_episode(const struct rebuild *rebuild, const struct turn *turns,
                                  uint32_t n, struct episode *episode, struct term_bag *bag,
                                  struct err *err)
{
    struct buf text;
    buf_init(&text, rebuild->arena, 1 << 16);
    for (uint32_t i = 0; i < n; i++) {
        ck_assert_ptr_nonnull(turns[i].text.at);
        ck_assert(!rebuild_is_gone(rebuild->gone_turns, rebuild->n_gone_turns, turns[i].n));
        buf_str_put(&text, str_part(turns[i].text, 0, str_index(turns[i].text, '.')));
        buf_char(&text, ';');
    }
    bag->n = n;
    bag->length = n;
    bag->at = ARENA_ARRAY(rebuild->arena, struct term_count, n);
    if (!buf_ok(&text) || bag->at == NULL)
        return err_set(err, ERR_EXHAUSTED, "no memory for an episode");
    for (uint32_t i = 0; i < n; i++)
        bag->at[i] = (struct term_count){.term = turns[i].n, .count = 1};
    episode->title = str_printf(rebuild->arena, "%u turns", n);
    episode->summary = buf_str(&text);
    episode->participants = STR("Ann\nBob");
    return episode->title.at != NULL ? ERR_OK : err_set(err, ERR_EXHAUSTED, "no memory");
}

static enum err_code fake_topic(const struct rebuild *rebuild, const struct episode *episodes,
                                uint32_t n, struct topic *topic, struct term_bag *bag,
                                struct err *err)
{
    struct buf text;
    buf_init(&text, rebuild->arena, 1 << 16);
    for (uint32_t i = 0; i < n; i++) {
        ck_assert_uint_ne(episodes[i].summary.len, 0);
        buf_str_put(&text, episodes[i].summary);
        buf_char(&text, '|');
    }
    topic->keywords = ARENA_ARRAY(rebuild->arena, struct topic_keyword, 1);
    bag->n = bag->length = 1;
    bag->at = ARENA_ARRAY(rebuild->arena, struct term_count, 1);
    topic->title = str_printf(rebuild->arena, "%u episodes", n);
    if (!buf_ok(&text) || topic->keywords == NULL || bag->at == NULL || topic->title.at == NULL)
        return err_set(err, ERR_EXHAUSTED, "no memory for a topic");
    bag->at[0] = (struct term_count){.term = 5, .count = 1};
    topic->n_keywords = 1;
    topic->keywords[0] = (struct topic_keyword){buf_str(&text), 5, 1.0f};
    topic->summary = buf_str(&text);
    return ERR_OK;
}

const struct remove_ops world_ops = {fake_episode, fake_topic};

/* --- turns --- */

static const char *const sessions[WORLD_SESSIONS] = {"", "one", "two", "three"};

static struct str text_of(struct world *w, uint32_t n)
{
    struct buf text;
    buf_init(&text, kit_arena(&w->kit), 1 << 20);
    buf_printf(&text, "tneedle%ux. ", n);
    uint32_t sentences = world_random(w, 12) == 0 ? 700 : world_random(w, 4);
    for (uint32_t i = 0; i < sentences; i++)
        buf_printf(&text, "Turn %u goes on and on %u. ", n, i);
    buf_printf(&text, "Any news?");
    return buf_str(&text);
}

void world_post(struct world *w)
{
    uint32_t n = w->n_turns + 1;
    ck_assert_uint_le(n, WORLD_TURNS);
    struct world_turn *turn = &w->turns[n];
    uint32_t session = world_random(w, WORLD_SESSIONS);
    turn->text = text_of(w, n);
    turn->time_ms = KIT_NOW + (int64_t)n * 60000 - (int64_t)world_random(w, 300000);
    turn->has_id = world_random(w, 2) == 0;
    struct turn_input input = {.session = str_of(sessions[session]),
                               .speaker = n % 2 == 0 ? STR("Ann") : STR("Bob"),
                               .role = n % 3 == 0 ? STR("assistant") : STR("user"),
                               .text = turn->text,
                               .has_time = true,
                               .time_ms = turn->time_ms};
    if (turn->has_id)
        input.id = str_printf(kit_arena(&w->kit), "client%u", n);
    ck_assert_uint_eq(kit_say(&w->kit, input), n);
    struct turn stored = kit_turn(&w->kit, n);
    turn->alive = true;
    turn->session_no = stored.session_no;
    turn->doc = stored.doc;
    turn->docs = stored.docs;
    w->n_docs = stored.doc + stored.docs;
    w->n_turns = n;
    ck_assert_uint_le(w->n_docs, WORLD_TURNS * 8);
}

/* --- arrays of what is above the turns --- */

/* Runs of 1 to 4 turns of each session are episodes; some at its end stay open. */
static void make_episodes(struct world *w)
{
    for (uint32_t session = 1; session <= WORLD_SESSIONS; session++) {
        uint32_t open = world_random(w, 4);
        uint32_t left = 0;
        for (uint32_t n = 1; n <= w->looked; n++)
            left += w->turns[n].session_no == session;
        uint32_t room = 0;
        for (uint32_t n = 1; n <= w->looked && left > open; n++) {
            if (w->turns[n].session_no != session)
                continue;
            if (room == 0) {
                w->n_episodes++;
                room = 1 + world_random(w, WORLD_EPISODE_TURNS);
            }
            struct world_episode *episode = &w->episodes[w->n_episodes];
            episode->turns[episode->n_turns++] = n;
            w->turns[n].episode = w->n_episodes;
            room--;
            left--;
        }
    }
    ck_assert_uint_le(w->n_episodes, WORLD_EPISODES);
}

static void join(struct world *w, uint32_t episode, uint32_t line)
{
    uint32_t topic = 0;
    for (uint32_t t = 1; t <= w->n_topics; t++) {
        if (w->topics[t].line == line && w->topics[t].n_members < WORLD_MEMBERS)
            topic = t;
    }
    if (topic == 0) {
        topic = ++w->n_topics;
        w->topics[topic].line = line;
    }
    ck_assert_uint_le(w->n_topics, WORLD_TOPICS);
    w->topics[topic].members[w->topics[topic].n_members++] = episode;
    w->episodes[episode].topics[w->episodes[episode].n_topics++] = topic;
}

static void make_topics(struct world *w)
{
    w->n_lines = 3 + w->n_episodes / 12;
    for (uint32_t e = 1; e <= w->n_episodes; e++) {
        uint32_t first = world_random(w, w->n_lines);
        join(w, e, first);
        if (world_random(w, 3) == 0)
            join(w, e, (first + 1) % w->n_lines);
    }
}

/* The turn before it in its episode; 0: it is the first. */
static uint32_t turn_before(const struct world *w, uint32_t n)
{
    const struct world_episode *e = &w->episodes[w->turns[n].episode];
    uint32_t i = 0;
    while (e->turns[i] != n)
        i++;
    return i == 0 ? 0 : e->turns[i - 1];
}

static void add_source(struct world *w, uint32_t fact, uint32_t n, uint32_t asked_by)
{
    struct world_fact *f = &w->facts[fact];
    f->asked_by[f->n_sources] = asked_by;
    f->sources[f->n_sources++] = n;
    uint32_t episode = w->turns[n].episode;
    for (uint32_t i = 0; i < f->n_episodes; i++) {
        if (f->episodes[i] == episode)
            return;
    }
    f->episodes[f->n_episodes++] = episode;
}

/* A turn repeats an older fact: its sources must ascend. */
static void repeat_some(struct world *w, uint32_t n)
{
    if (w->n_facts == 0 || world_random(w, 2) == 0)
        return;
    uint32_t fact = 1 + world_random(w, w->n_facts);
    struct world_fact *f = &w->facts[fact];
    uint32_t before = f->asked_by[0] != 0 ? turn_before(w, n) : 0;
    if (f->n_sources == WORLD_SOURCES || f->sources[f->n_sources - 1] >= n || f->quotes_needle ||
        (f->asked_by[0] != 0 && before == 0))
        return;
    add_source(w, fact, n, before);
    w->doc_more[w->turns[n].doc] = true;
}

static void make_fact(struct world *w, uint32_t n)
{
    uint32_t before = world_random(w, 3) == 0 ? turn_before(w, n) : 0;
    w->n_facts++;
    w->facts[w->n_facts].quotes_needle = before != 0 && world_random(w, 2) == 0;
    add_source(w, w->n_facts, n, before);
}

static void make_facts(struct world *w)
{
    for (uint32_t n = 1; n <= w->looked; n++) {
        if (w->turns[n].episode == 0)
            continue;
        for (uint32_t d = w->turns[n].doc; d < w->turns[n].doc + w->turns[n].docs; d++) {
            uint32_t made = world_random(w, 3);
            w->doc_facts[d] = made;
            w->doc_fact_first[d] = made == 0 ? 0 : w->n_facts + 1;
            for (uint32_t i = 0; i < made; i++)
                make_fact(w, n);
        }
        ck_assert_uint_lt(w->n_facts, WORLD_FACTS - 2 * 8);
        repeat_some(w, n);
        repeat_some(w, n);
    }
}

/* --- writing it as the stages would --- */

static void put_record(struct batch *batch, enum store_kind kind, uint32_t id, struct buf *record)
{
    ck_assert(buf_ok(record));
    /* Twice: the first version goes to the history. */
    (void)batch_put_u32(batch, kind, id, buf_str(record), PUT_STAMP | PUT_KEEP);
    buf_clear(record);
}

static struct rebuild rebuild_of(struct world *w, struct store_txn *txn)
{
    return (struct rebuild){.txn = txn,
                            .space = w->kit.space,
                            .settings = &w->kit.settings,
                            .arena = kit_arena(&w->kit)};
}

struct writer {
    struct world *w;
    struct batch *batch;
    struct rebuild rebuild;
    struct segment_doc docs[WORLD_FACTS + WORLD_EPISODES + WORLD_TOPICS];
    size_t n_docs;
    struct episode episodes[WORLD_EPISODES + 1];
    struct topic topics[WORLD_TOPICS + 1];
    struct buf record;
};

static void add_doc(struct writer *x, enum layer layer, uint32_t doc, struct term_bag bag)
{
    x->docs[x->n_docs++] = (struct segment_doc){layer, doc, bag};
}

static void write_rows(struct writer *x)
{
    struct world *w = x->w;
    uint32_t last[WORLD_SESSIONS + 1] = {0}; /* document + 1 */
    struct turn_row *rows = ARENA_ARRAY(kit_arena(&w->kit), struct turn_row, w->n_docs);
    uint32_t n_rows = 0;
    for (uint32_t n = 1; n <= w->looked; n++) {
        const struct world_turn *turn = &w->turns[n];
        for (uint32_t d = turn->doc; d < turn->doc + turn->docs; d++) {
            uint32_t prev = last[turn->session_no];
            rows[d] =
                (struct turn_row){.n = n,
                                  .session_no = turn->session_no,
                                  .speaker_no = kit_turn(&w->kit, n).speaker_no,
                                  .prev = prev,
                                  .episode = turn->episode,
                                  .fact_first = w->doc_fact_first[d],
                                  .fact_count = (uint16_t)w->doc_facts[d],
                                  .flags = (uint8_t)((turn->episode != 0 ? TURN_ROW_DONE : 0) |
                                                     (d != turn->doc ? TURN_ROW_LATER : 0) |
                                                     (w->doc_more[d] ? TURN_ROW_MORE : 0)),
                                  .time_ms = turn->time_ms};
            if (prev != 0)
                rows[prev - 1].next = d + 1;
            last[turn->session_no] = d + 1;
            n_rows = d + 1;
        }
    }
    (void)column_put(x->batch, COLUMN_TURN, 0, rows, n_rows);
}

static struct str content_of(struct world *w, uint32_t id)
{
    const struct world_fact *f = &w->facts[id];
    struct arena *arena = kit_arena(&w->kit);
    if (f->asked_by[0] == 0)
        return str_printf(arena, "Bob: fneedle%ux", id);
    if (!f->quotes_needle)
        return str_printf(arena, "Bob (asked “Any news?”): fneedle%ux", id);
    return str_printf(arena, "Bob (asked “tneedle%ux.”): fneedle%ux", f->asked_by[0], id);
}

static void write_fact(struct writer *x, uint32_t id)
{
    struct world *w = x->w;
    const struct world_fact *f = &w->facts[id];
    const struct world_turn *first = &w->turns[f->sources[0]];
    struct arena *arena = kit_arena(&w->kit);
    struct fact fact = {.speaker_no = 1,
                        .valid_from = first->time_ms,
                        .valid_to = TIME_NEVER,
                        .weight = 1000,
                        .flags = FACT_BUILTIN,
                        .hash = id * UINT64_C(0x9e3779b97f4a7c15),
                        .content = content_of(w, id),
                        .speaker = STR("Bob"),
                        .role = f->sources[0] % 3 == 0 ? STR("assistant") : STR("user"),
                        .n_sources = f->n_sources,
                        .sources = arena_copy(arena, f->sources, sizeof f->sources),
                        .n_episodes = f->n_episodes,
                        .episodes = arena_copy(arena, f->episodes, sizeof f->episodes)};
    fact_encode(&fact, &x->record);
    put_record(x->batch, KIND_FACT, id, &x->record);
    struct fact_row row = {.turn_doc = first->doc,
                           .episode = first->episode,
                           .speaker_no = 1,
                           .key_mark = fact_key_mark(&fact),
                           .valid_from = first->time_ms,
                           .valid_to = TIME_NEVER};
    (void)column_put(x->batch, COLUMN_FACT, id - 1, &row, 1);
    char key[8];
    for (uint32_t i = 1; i < f->n_sources; i++) {
        be32_set(key, f->sources[i]);
        be32_set(key + 4, id);
        (void)batch_put(x->batch, KIND_FACT_SOURCE, (struct str){key, 8}, STR(""), 0);
    }
    struct term_bag bag = {ARENA_ARRAY(arena, struct term_count, 2), 2, 1 + id % 100};
    bag.at[0] = (struct term_count){.term = 1000 + id, .count = 1 + id % 100};
    bag.at[1] = (struct term_count){.term = fact_hash_term(fact.hash), .count = 1};
    ck_assert_uint_lt(bag.at[0].term, bag.at[1].term);
    add_doc(x, LAYER_FACT, id - 1, bag);
}

static void write_edge(struct writer *x, enum store_kind kind, uint32_t parent,
                       const struct edge *edge)
{
    edge_encode(edge, &x->record);
    (void)batch_put_u32(x->batch, kind, parent, buf_str(&x->record), 0);
    buf_clear(&x->record);
}

static void write_episode(struct writer *x, uint32_t id)
{
    struct world *w = x->w;
    const struct world_episode *e = &w->episodes[id];
    struct turn turns[WORLD_EPISODE_TURNS];
    struct episode *episode = &x->episodes[id];
    *episode = (struct episode){.id = id,
                                .doc = id - 1,
                                .session_no = w->turns[e->turns[0]].session_no,
                                .first_n = e->turns[0],
                                .last_n = e->turns[e->n_turns - 1],
                                .turns = e->n_turns,
                                .start_ms = INT64_MAX,
                                .end_ms = INT64_MIN,
                                .n_topics = (uint8_t)e->n_topics,
                                .topics = {e->topics[0], e->topics[1]}};
    for (uint32_t i = 0; i < e->n_turns; i++) {
        turns[i] = kit_turn(&w->kit, e->turns[i]);
        int64_t ms = turns[i].time_ms;
        episode->start_ms = ms < episode->start_ms ? ms : episode->start_ms;
        episode->end_ms = ms > episode->end_ms ? ms : episode->end_ms;
    }
    struct term_bag bag;
    struct err err;
    ck_assert_int_eq(fake_episode(&x->rebuild, turns, e->n_turns, episode, &bag, &err), ERR_OK);
    episode_encode(episode, &x->record);
    put_record(x->batch, KIND_EPISODE, id, &x->record);
    struct episode_row row = {.doc = id - 1,
                              .session_no = episode->session_no,
                              .topics = {e->topics[0], e->topics[1]},
                              .first_doc = w->turns[e->turns[0]].doc,
                              .turns = e->n_turns,
                              .start_ms = episode->start_ms,
                              .end_ms = episode->end_ms};
    (void)column_put(x->batch, COLUMN_EPISODE, id - 1, &row, 1);
    (void)column_put(x->batch, COLUMN_EPISODE_DOC, id - 1, &id, 1);
    add_doc(x, LAYER_EPISODE, id - 1, bag);
    struct edge edge = {0};
    for (uint32_t f = 1; f <= w->n_facts; f++) {
        for (uint32_t i = 0; i < w->facts[f].n_episodes; i++) {
            if (w->facts[f].episodes[i] == id)
                ck_assert_int_eq(edge_set(kit_arena(&w->kit), &edge,
                                          (struct edge_member){f, ROLE_CORE, 1000}, &err),
                                 ERR_OK);
        }
    }
    write_edge(x, KIND_EPISODE_EDGE, id, &edge);
}

/* A successor begins with what its predecessor has. */
static void inherit(struct writer *x, struct topic *topic)
{
    if (topic->previous == 0)
        return;
    const struct topic *from = &x->topics[topic->previous];
    struct topic_keyword *all =
        ARENA_ARRAY(kit_arena(&x->w->kit), struct topic_keyword, from->n_keywords + 1u);
    all[0] = topic->keywords[0];
    memcpy(all + 1, from->keywords, from->n_keywords * sizeof *all);
    topic->keywords = all;
    topic->n_keywords = (uint16_t)(from->n_keywords + 1);
}

static void write_topic(struct writer *x, uint32_t id)
{
    struct world *w = x->w;
    const struct world_topic *t = &w->topics[id];
    struct episode members[WORLD_MEMBERS];
    struct topic topic = {.doc = id - 1, .episodes = t->n_members, .chain = id};
    topic.start_ms = INT64_MAX;
    topic.end_ms = INT64_MIN;
    struct edge edge = {0};
    struct err err;
    for (uint32_t i = 0; i < t->n_members; i++) {
        members[i] = x->episodes[t->members[i]];
        if (members[i].start_ms < topic.start_ms)
            topic.start_ms = members[i].start_ms;
        if (members[i].end_ms > topic.end_ms)
            topic.end_ms = members[i].end_ms;
        ck_assert_int_eq(edge_set(kit_arena(&w->kit), &edge,
                                  (struct edge_member){t->members[i], ROLE_DEVELOPING, 500}, &err),
                         ERR_OK);
    }
    for (uint32_t other = w->n_topics; other != 0; other--) {
        if (w->topics[other].line != t->line)
            continue;
        if (other < id && topic.previous == 0)
            topic.previous = other;
        if (other > id)
            topic.next = other;
        if (other < topic.chain)
            topic.chain = other;
    }
    struct term_bag bag;
    ck_assert_int_eq(fake_topic(&x->rebuild, members, t->n_members, &topic, &bag, &err), ERR_OK);
    inherit(x, &topic);
    x->topics[id] = topic;
    topic_encode(&topic, &x->record);
    put_record(x->batch, KIND_TOPIC, id, &x->record);
    struct topic_row row = {.doc = id - 1,
                            .chain = topic.chain,
                            .episodes = t->n_members,
                            .start_ms = topic.start_ms,
                            .end_ms = topic.end_ms};
    (void)column_put(x->batch, COLUMN_TOPIC, id - 1, &row, 1);
    (void)column_put(x->batch, COLUMN_TOPIC_DOC, id - 1, &id, 1);
    add_doc(x, LAYER_TOPIC, id - 1, bag);
    write_edge(x, KIND_TOPIC_EDGE, id, &edge);
}

static uint32_t write_buffer(struct writer *x, uint32_t session_no)
{
    struct world *w = x->w;
    struct buffer b = {.session_no = session_no,
                       .start_ms = INT64_MAX,
                       .end_ms = INT64_MIN,
                       .arrival_ms = 4711,
                       .state = STR("state")};
    for (uint32_t n = 1; n <= w->looked; n++) {
        const struct world_turn *turn = &w->turns[n];
        if (turn->session_no != session_no || turn->episode != 0)
            continue;
        if (b.turns++ == 0) {
            b.first_n = n;
            b.first_doc = turn->doc;
        }
        b.last_n = n;
        b.last_doc = turn->doc + turn->docs - 1;
        b.tokens += buffer_tokens(turn->text);
        b.last_ms = turn->time_ms;
        b.start_ms = turn->time_ms < b.start_ms ? turn->time_ms : b.start_ms;
        b.end_ms = turn->time_ms > b.end_ms ? turn->time_ms : b.end_ms;
    }
    if (b.turns != 0)
        buffer_put(x->batch, &b);
    return b.turns;
}

static void write_counters(struct writer *x, uint32_t open)
{
    struct world *w = x->w;
    batch_add(x->batch, STAT_PENDING, -(int64_t)w->looked);
    batch_add(x->batch, STAT_OPEN, open);
    batch_set(x->batch, STAT_LOOKED, w->looked);
    batch_set(x->batch, STAT_FACTS, w->n_facts);
    batch_set(x->batch, STAT_EPISODES, w->n_episodes);
    batch_set(x->batch, STAT_TOPICS, w->n_topics);
    batch_set(x->batch, STAT_NEXT_FACT, w->n_facts + 1);
    batch_set(x->batch, STAT_NEXT_EPISODE, w->n_episodes + 1);
    batch_set(x->batch, STAT_NEXT_TOPIC, w->n_topics + 1);
    batch_set(x->batch, STAT_NEXT_DOC_EPISODE, w->n_episodes);
    batch_set(x->batch, STAT_NEXT_DOC_TOPIC, w->n_topics);
    batch_set(x->batch, STAT_IDLE_DUE, open != 0 ? UINT64_C(1) << 50 : 0);
    batch_add(x->batch, STAT_CHANGES, 1);
}

static void write_all(struct world *w, bool documents)
{
    struct err err = {.code = ERR_OK};
    struct store_txn *txn = begin(&w->kit.f);
    struct writer *x = calloc(1, sizeof *x);
    ck_assert_ptr_nonnull(x);
    x->w = w;
    x->batch = batch_new(kit_arena(&w->kit), w->kit.space, CAUSE_STAGE);
    x->rebuild = rebuild_of(w, txn);
    buf_init(&x->record, kit_arena(&w->kit), 1 << 20);
    write_rows(x);
    for (uint32_t id = 1; id <= w->n_facts; id++)
        write_fact(x, id);
    for (uint32_t id = 1; id <= w->n_episodes; id++)
        write_episode(x, id);
    for (uint32_t id = 1; id <= w->n_topics; id++)
        write_topic(x, id);
    uint32_t open = 0;
    for (uint32_t session = 1; session <= WORLD_SESSIONS; session++)
        open += write_buffer(x, session);
    if (documents) {
        struct segment_bases bases = {
            .slot = {SEGMENT_NO_SLOT, SEGMENT_NO_SLOT, SEGMENT_NO_SLOT, SEGMENT_NO_SLOT}};
        ck_assert_int_eq(segment_add(x->batch, x->docs, x->n_docs, &bases, &err), ERR_OK);
        write_counters(x, open);
    }
    store_end(txn);
    ck_assert_msg(apply_err(&w->kit.f, x->batch, &err) == ERR_OK, "%s", err.message);
    free(x);
}

void world_init(struct world *w, unsigned seed, uint32_t turns)
{
    *w = (struct world){.seed = seed};
    kit_init(&w->kit);
    for (uint32_t i = 0; i < turns; i++)
        world_post(w);
    w->looked = turns - world_random(w, 6);
    for (uint32_t n = 1; n <= w->looked; n++)
        w->turns[n].looked = true;
    make_episodes(w);
    make_topics(w);
    make_facts(w);
    write_all(w, true);
    write_all(w, false); /* once more: the versions before are history */
}

void world_fini(struct world *w)
{
    kit_fini(&w->kit);
}
