#include "tests/unit/storage/world.h"

#include "core/ingest/accept.h"

enum { TURNS = 6, HOUR = 3600 * 1000 };
#define START INT64_C(1683554400000)

static const char *const texts[TURNS] = {
    "Caroline ran the marathon in Boston", "That is wonderful news",
    "Her sister adopted a grey cat",       "Caroline ran the marathon in Boston",
    "We talk about the product launch",    "An unlooked turn at the end",
};

struct str world_text(uint32_t turn)
{
    return str_of(texts[turn - 1]);
}

static int64_t time_of(uint32_t n)
{
    return START + (int64_t)n * HOUR;
}

static void post(struct world *w, const char *name)
{
    struct fixture *f = w->f;
    struct turn_input turns[TURNS];
    memset(turns, 0, sizeof turns);
    for (uint32_t i = 0; i < TURNS; i++) {
        turns[i].id = str_printf(f->arena, "client-%u", i + 1);
        turns[i].session = i == 3 ? STR("B") : STR("A");
        turns[i].speaker = i % 2 == 0 ? STR("Ann") : STR("Bob");
        turns[i].text = world_text(i + 1);
        turns[i].has_time = true;
        turns[i].time_ms = time_of(i + 1);
    }
    struct accept_call call = {.turns = turns, .n = TURNS, .received_ms = START};
    struct space settings = space_default(START);
    struct accept_plan plan;
    struct err err;
    struct store_txn *txn = begin(f);
    enum err_code code =
        accept_build(txn, 0, str_of(name), &settings, &call, f->arena, &plan, &err);
    store_end(txn);
    ck_assert_msg(code == ERR_OK, "%s", err.message);
    ck_assert_int_eq(apply(f, plan.batch), ERR_OK);
    w->space = plan.batch->space;
}

/* --- records --- */

static void put(struct batch *batch, enum store_kind kind, uint32_t id, struct buf *record,
                unsigned flags)
{
    ck_assert(buf_ok(record));
    (void)batch_put_u32(batch, kind, id, buf_str(record), flags);
}

static struct buf record(struct world *w)
{
    struct buf buf;
    buf_init(&buf, w->f->arena, 1 << 20);
    return buf;
}

static struct batch *keep(struct world *w)
{
    return batch_new(w->f->arena, w->space, CAUSE_KEEP);
}

void world_put_episode(struct world *w, uint32_t i)
{
    struct batch *batch = keep(w);
    struct buf buf = record(w);
    episode_encode(&w->episodes[i], &buf);
    put(batch, KIND_EPISODE, w->episodes[i].id, &buf, PUT_STAMP);
    ck_assert_int_eq(apply(w->f, batch), ERR_OK);
}

void world_put_topic(struct world *w, uint32_t i)
{
    struct batch *batch = keep(w);
    struct buf buf = record(w);
    topic_encode(&w->topics[i], &buf);
    put(batch, KIND_TOPIC, w->topics[i].id, &buf, PUT_STAMP);
    ck_assert_int_eq(apply(w->f, batch), ERR_OK);
}

void world_put_fact(struct world *w, uint32_t i)
{
    struct batch *batch = keep(w);
    struct buf buf = record(w);
    fact_encode(&w->facts[i], &buf);
    put(batch, KIND_FACT, w->facts[i].id, &buf, PUT_STAMP);
    ck_assert_int_eq(apply(w->f, batch), ERR_OK);
}

static void make_episodes(struct world *w)
{
    uint32_t skip = w->skip;
    w->episodes[0] = (struct episode){.id = skip + 1,
                                      .doc = skip,
                                      .session_no = 1,
                                      .first_n = 1,
                                      .last_n = 3,
                                      .turns = 3,
                                      .start_ms = time_of(1),
                                      .end_ms = time_of(3),
                                      .n_topics = 1,
                                      .topics = {skip + 1, 0},
                                      .session = STR("A"),
                                      .title = STR("The marathon"),
                                      .summary = STR("A run and a cat"),
                                      .participants = STR("Ann\nBob")};
    w->episodes[1] = (struct episode){.id = skip + 2,
                                      .doc = skip + 1,
                                      .session_no = 2,
                                      .first_n = 4,
                                      .last_n = 4,
                                      .turns = 1,
                                      .start_ms = time_of(4),
                                      .end_ms = time_of(4),
                                      .n_topics = 1,
                                      .topics = {skip + 2, 0},
                                      .session = STR("B"),
                                      .title = STR("Told again"),
                                      .summary = STR("The run"),
                                      .participants = STR("Bob")};
}

static void make_topics(struct world *w)
{
    uint32_t skip = w->skip;
    struct topic_keyword *word = ARENA_NEW(w->f->arena, struct topic_keyword);
    *word = (struct topic_keyword){.text = STR("marathon"), .term = 77, .weight = 1.5f};
    w->topics[0] = (struct topic){.id = skip + 1,
                                  .doc = skip,
                                  .chain = skip + 1,
                                  .next = skip + 2,
                                  .episodes = 1,
                                  .start_ms = time_of(1),
                                  .end_ms = time_of(3),
                                  .title = STR("Running"),
                                  .summary = STR("About running"),
                                  .n_keywords = 1,
                                  .keywords = word};
    w->topics[1] = (struct topic){.id = skip + 2,
                                  .doc = skip + 1,
                                  .chain = skip + 1,
                                  .previous = skip + 1,
                                  .episodes = 1,
                                  .start_ms = time_of(4),
                                  .end_ms = time_of(4),
                                  .title = STR("Running, continued"),
                                  .summary = STR("More running"),
                                  .n_keywords = 0};
}

static void make_facts(struct world *w)
{
    uint32_t skip = w->skip;
    uint32_t *ids = ARENA_ARRAY(w->f->arena, uint32_t, 6);
    ids[0] = 1;
    ids[1] = 4;
    ids[2] = skip + 1;
    ids[3] = skip + 2;
    ids[4] = 3;
    ids[5] = skip + 1;
    w->facts[0] = (struct fact){.id = skip + 1,
                                .speaker_no = 1,
                                .valid_from = time_of(1),
                                .valid_to = TIME_NEVER,
                                .weight = 40000,
                                .flags = FACT_BUILTIN,
                                .hash = 1001,
                                .content = STR("Caroline ran the marathon"),
                                .speaker = STR("Ann"),
                                .role = STR(""),
                                .keywords = STR("run"),
                                .potential = STR(""),
                                .time_text = STR(""),
                                .n_sources = 2,
                                .sources = ids,
                                .n_episodes = 2,
                                .episodes = ids + 2};
    w->facts[1] = w->facts[0];
    w->facts[1].id = skip + 2;
    w->facts[1].valid_from = time_of(3);
    w->facts[1].weight = 30000;
    w->facts[1].hash = 1002;
    w->facts[1].content = STR("The sister adopted a cat");
    w->facts[1].n_sources = w->facts[1].n_episodes = 1;
    w->facts[1].sources = ids + 4;
    w->facts[1].episodes = ids + 5;
}

/* --- rows around them --- */

static void put_edge(struct world *w, struct batch *batch, enum store_kind kind, uint32_t parent,
                     const struct edge_member *members, uint32_t n)
{
    struct edge_member copy[2];
    struct buf buf = record(w);
    memcpy(copy, members, n * sizeof *members);
    edge_encode(&(struct edge){copy, n}, &buf);
    put(batch, kind, parent, &buf, 0);
}

static void put_edges(struct world *w, struct batch *batch)
{
    uint32_t skip = w->skip;
    const struct edge_member all[] = {{skip + 1, ROLE_INITIATING, 65535},
                                      {skip + 2, ROLE_DEVELOPING, 50000},
                                      {skip + 1, ROLE_CORE, 40000},
                                      {skip + 2, ROLE_DETAIL, 30000},
                                      {skip + 1, ROLE_CONTEXT, 40000}};
    put_edge(w, batch, KIND_TOPIC_EDGE, skip + 1, &all[0], 1);
    put_edge(w, batch, KIND_TOPIC_EDGE, skip + 2, &all[1], 1);
    put_edge(w, batch, KIND_EPISODE_EDGE, skip + 1, &all[2], 2);
    put_edge(w, batch, KIND_EPISODE_EDGE, skip + 2, &all[4], 1);
}

static void put_turn_rows(struct world *w, struct batch *batch)
{
    uint32_t skip = w->skip;
    struct turn_row rows[TURNS];
    memset(rows, 0, sizeof rows);
    for (uint32_t i = 0; i < TURNS; i++) {
        rows[i].n = i + 1;
        rows[i].session_no = i == 3 ? 2 : 1;
        rows[i].speaker_no = i % 2 == 0 ? 1 : 2;
        rows[i].time_ms = time_of(i + 1);
        rows[i].episode = i < 3 ? skip + 1 : i == 3 ? skip + 2 : 0;
        rows[i].flags = i < 4 ? TURN_ROW_DONE : 0;
    }
    rows[0].next = rows[2].prev = 2; /* documents + 1: 1 2 3 5 of session A */
    rows[1].prev = 1;
    rows[1].next = rows[4].prev = 3;
    rows[2].next = 5;
    rows[0].fact_first = skip + 1;
    rows[0].fact_count = 1;
    rows[2].fact_first = skip + 2;
    rows[2].fact_count = 1;
    rows[3].flags |= TURN_ROW_MORE;
    (void)column_put(batch, COLUMN_TURN, 0, rows, TURNS);
}

static void put_node_rows(struct world *w, struct batch *batch)
{
    for (uint32_t i = 0; i < 2; i++) {
        const struct episode *e = &w->episodes[i];
        const struct topic *t = &w->topics[i];
        const struct fact *f = &w->facts[i];
        struct episode_row er = {e->doc,   e->session_no, {e->topics[0], 0}, i == 0 ? 0 : 3,
                                 e->turns, e->start_ms,   e->end_ms};
        struct topic_row tr = {t->doc, t->chain, t->episodes, 0, t->start_ms, t->end_ms};
        struct fact_row fr = {i == 0 ? 0 : 2,   w->skip + 1,   1,
                              fact_key_mark(f), f->valid_from, f->valid_to};
        (void)column_put(batch, COLUMN_EPISODE, e->id - 1, &er, 1);
        (void)column_put(batch, COLUMN_TOPIC, t->id - 1, &tr, 1);
        (void)column_put(batch, COLUMN_FACT, f->id - 1, &fr, 1);
        (void)column_put(batch, COLUMN_EPISODE_DOC, e->doc, &e->id, 1);
        (void)column_put(batch, COLUMN_TOPIC_DOC, t->doc, &t->id, 1);
    }
    char source[8];
    be32_set(source, 4);
    be32_set(source + 4, w->skip + 1);
    (void)batch_put(batch, KIND_FACT_SOURCE, (struct str){source, sizeof source}, STR(""), 0);
}

static void put_buffer(struct world *w, struct batch *batch)
{
    struct buffer buffer = {.session_no = 1,
                            .first_n = 5,
                            .last_n = 5,
                            .first_doc = 4,
                            .last_doc = 4,
                            .turns = 1,
                            .tokens = 8,
                            .start_ms = time_of(5),
                            .end_ms = time_of(5),
                            .last_ms = time_of(5),
                            .arrival_ms = START,
                            .state = STR("")};
    struct buf buf = record(w);
    buffer_encode(&buffer, &buf);
    put(batch, KIND_BUFFER, 1, &buf, 0);
}

static void put_index(struct world *w, struct batch *batch)
{
    static struct term_count terms[] = {{11, 2, {NULL, 0}}, {12, 1, {NULL, 0}}, {99, 5, {NULL, 0}}};
    struct segment_doc docs[6];
    static const enum layer layers[] = {LAYER_FACT, LAYER_EPISODE, LAYER_TOPIC};
    for (uint32_t i = 0; i < 6; i++)
        docs[i] = (struct segment_doc){layers[i / 2], i % 2, {terms, 1 + i % 3, 0}};
    for (uint32_t i = 0; i < 6; i++)
        for (size_t k = 0; k < docs[i].bag.n; k++)
            docs[i].bag.length += terms[k].count;
    struct term_count found[2][4]; /* facts also by their hash */
    for (uint32_t i = 0; i < 2; i++) {
        size_t n = docs[i].bag.n;
        memcpy(found[i], terms, n * sizeof terms[0]);
        found[i][n] = (struct term_count){fact_hash_term(w->facts[i].hash), 1, {NULL, 0}};
        docs[i].bag.at = found[i];
        docs[i].bag.n++;
    }
    struct segment_bases bases = {
        {0, w->skip, w->skip, w->skip},
        {SEGMENT_NO_SLOT, SEGMENT_NO_SLOT, SEGMENT_NO_SLOT, SEGMENT_NO_SLOT}};
    struct err err;
    ck_assert_int_eq(segment_add(batch, docs, 6, &bases, &err), ERR_OK);
}

static void put_records(struct world *w, struct batch *batch)
{
    for (uint32_t i = 0; i < 2; i++) {
        struct buf e = record(w), t = record(w), f = record(w);
        episode_encode(&w->episodes[i], &e);
        put(batch, KIND_EPISODE, w->episodes[i].id, &e, PUT_STAMP);
        topic_encode(&w->topics[i], &t);
        put(batch, KIND_TOPIC, w->topics[i].id, &t, PUT_STAMP);
        fact_encode(&w->facts[i], &f);
        put(batch, KIND_FACT, w->facts[i].id, &f, PUT_STAMP);
    }
}

static void put_counters(struct world *w, struct batch *batch)
{
    static const uint8_t nexts[] = {STAT_NEXT_EPISODE, STAT_NEXT_TOPIC, STAT_NEXT_FACT,
                                    STAT_NEXT_DOC_EPISODE, STAT_NEXT_DOC_TOPIC};
    for (size_t i = 0; i < sizeof nexts; i++)
        batch_add(batch, (enum stat_id)nexts[i], w->skip + 2);
    batch_add(batch, STAT_EPISODES, 2);
    batch_add(batch, STAT_TOPICS, 2);
    batch_add(batch, STAT_FACTS, 2);
    batch_add(batch, STAT_PENDING, -5);
    batch_add(batch, STAT_OPEN, 1);
    batch_set(batch, STAT_LOOKED, 5);
}

void world_build(struct world *w, struct fixture *f, const char *name, uint32_t skip)
{
    *w = (struct world){.f = f, .skip = skip};
    post(w, name);
    make_episodes(w);
    make_topics(w);
    make_facts(w);
    struct batch *batch = batch_new(f->arena, w->space, CAUSE_STAGE);
    put_records(w, batch);
    put_edges(w, batch);
    put_turn_rows(w, batch);
    put_node_rows(w, batch);
    put_buffer(w, batch);
    put_index(w, batch);
    put_counters(w, batch);
    ck_assert_int_eq(apply(f, batch), ERR_OK);
}
