/* A closed episode, from its turns to everything that remembers it: describe -> topic -> facts. */
#include <stdlib.h>

#include "core/base/limits.h"
#include "core/ingest/describe.h"
#include "core/ingest/facts.h"
#include "core/ingest/index_text.h"
#include "core/ingest/stage_int.h"
#include "core/ingest/topic.h"

enum { RECORD_MAX = 256 * 1024 };

#define RECURS_MS (30 * MS_PER_DAY)

struct closed {
    struct stage_work *w;
    struct dialogue dialogue;
    struct episode episode;
    struct edge_member member; /* as its topics have it */
    struct term_bag bag;
    struct topic_reader reader;
    struct topic_terms terms;
    struct facts facts;
    struct segment_doc topics[LIMIT_TOPICS_PER_EPISODE];
    uint32_t n_topics; /* topic documents, one a topic that was written */
    uint32_t n_new;    /* topics made */
};

/* --- reading --- */

static struct said *find_said(const struct stage_work *w, uint32_t n)
{
    uint32_t low = 0;
    uint32_t high = w->n_said;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (w->said[middle]->turn.n < n)
            low = middle + 1;
        else
            high = middle;
    }
    return low < w->n_said && w->said[low]->turn.n == n ? w->said[low] : NULL;
}

static enum err_code read_turns(struct closed *c, struct said ***out, uint32_t *n, struct err *err)
{
    struct stage_work *w = c->w;
    const struct buffer *closing = &w->closing;
    struct said_numbers list;
    enum err_code rc = said_session(&w->reader, closing->session_no, closing->first_n,
                                    closing->last_n, &list, err);
    if (rc != ERR_OK)
        return rc;
    if (list.n != closing->turns)
        return err_set(err, ERR_INTERNAL, "an episode of %u turns has %u", closing->turns, list.n);
    struct said **turns = ARENA_ARRAY(w->arena, struct said *, list.n);
    if (turns == NULL)
        return stage__memory(err);
    for (uint32_t i = 0; rc == ERR_OK && i < list.n; i++) {
        turns[i] = find_said(w, list.at[i]);
        if (turns[i] == NULL)
            rc = said_read(&w->reader, list.at[i], &turns[i], err);
        if (rc == ERR_OK && turns[i] == NULL)
            rc = err_set(err, ERR_INTERNAL, "turn %u is not there", list.at[i]);
    }
    *out = turns;
    *n = list.n;
    return rc;
}

static enum err_code describe(struct closed *c, struct err *err)
{
    struct description description;
    const struct buffer *closing = &c->w->closing;
    enum err_code rc =
        describe_episode(c->w->arena, &c->dialogue, c->terms.weight, &description, err);
    if (rc != ERR_OK)
        return rc;
    const struct turn *first = &c->dialogue.turns[0]->turn;
    c->episode = (struct episode){.id = (uint32_t)c->w->stat.v[STAT_NEXT_EPISODE],
                                  .doc = (uint32_t)c->w->stat.v[STAT_NEXT_DOC_EPISODE],
                                  .session_no = closing->session_no,
                                  .first_n = closing->first_n,
                                  .last_n = closing->last_n,
                                  .turns = closing->turns,
                                  .start_ms = c->dialogue.start_ms,
                                  .end_ms = c->dialogue.end_ms,
                                  .offset_min = first->offset_min,
                                  .session = first->session,
                                  .title = description.title,
                                  .summary = description.summary,
                                  .participants = description.participants};
    return ERR_OK;
}

/* --- topics --- */

static void put_topic(struct closed *c, const struct topic *topic, unsigned flags)
{
    struct buf record;
    buf_init(&record, c->w->arena, RECORD_MAX);
    topic_encode(topic, &record);
    if (!buf_ok(&record))
        c->w->batch->failed = true;
    else
        (void)batch_put_u32(c->w->batch, KIND_TOPIC, topic->id, buf_str(&record),
                            PUT_STAMP | flags);
    batch_log(c->w->batch, flags == 0 ? CHANGE_ADD : CHANGE_SET, KIND_TOPIC, UINT32_MAX, topic->id,
              1);
}

static int by_start(const void *left, const void *right)
{
    const struct episode *a = *(const struct episode *const *)left;
    const struct episode *b = *(const struct episode *const *)right;
    if (a->start_ms != b->start_ms)
        return a->start_ms < b->start_ms ? -1 : 1;
    return (a->id > b->id) - (a->id < b->id);
}

/* The topic's members, this episode included, in order of time. */
static enum err_code read_members(struct closed *c, const struct edge *edge,
                                  const struct episode ***out, struct err *err)
{
    struct stage_work *w = c->w;
    const struct episode **members = ARENA_ARRAY(w->arena, const struct episode *, edge->n);
    struct episode *stored = ARENA_ARRAY(w->arena, struct episode, edge->n);
    if (members == NULL || stored == NULL)
        return stage__memory(err);
    for (uint32_t i = 0; i < edge->n; i++) {
        members[i] = &c->episode;
        if (edge->at[i].id == c->episode.id)
            continue;
        enum err_code rc = episode_get(w->txn, w->space, edge->at[i].id, &stored[i], err);
        if (rc == ERR_OK && stored[i].id == 0)
            rc = err_set(err, ERR_INTERNAL, "episode %u of a topic is not there", edge->at[i].id);
        if (rc != ERR_OK)
            return rc;
        members[i] = &stored[i];
    }
    qsort(members, edge->n, sizeof(const struct episode *), by_start);
    *out = members;
    return ERR_OK;
}

static void put_edge(struct stage_work *w, enum store_kind kind, uint32_t parent,
                     const struct edge *edge)
{
    struct buf value;
    buf_init(&value, w->arena, 4u << 20);
    edge_encode(edge, &value);
    if (!buf_ok(&value))
        w->batch->failed = true;
    else
        (void)batch_put_u32(w->batch, kind, parent, buf_str(&value), 0);
}

static void put_topic_rows(struct closed *c, const struct topic *topic)
{
    const struct topic_row row = {.doc = topic->doc,
                                  .chain = topic->chain,
                                  .episodes = topic->episodes,
                                  .start_ms = topic->start_ms,
                                  .end_ms = topic->end_ms};
    (void)column_put(c->w->batch, COLUMN_TOPIC, topic->id - 1, &row, 1);
    (void)column_put(c->w->batch, COLUMN_TOPIC_DOC, topic->doc, &topic->id, 1);
}

/* Writes the topic with this episode as a further member of `edge`, under a new document. */
static enum err_code write_topic(struct closed *c, struct topic *topic, struct edge *edge,
                                 unsigned flags, struct err *err)
{
    struct stage_work *w = c->w;
    const struct episode **members = NULL;
    struct segment_doc *doc = &c->topics[c->n_topics];
    enum err_code rc = edge_set(w->arena, edge, c->member, err);
    if (rc == ERR_OK)
        rc = topic_add_keywords(&c->reader, &c->dialogue, &c->terms, topic, err);
    if (rc == ERR_OK)
        rc = read_members(c, edge, &members, err);
    if (rc == ERR_OK)
        rc = describe_topic(w->arena, topic, members, edge->n, err);
    if (rc == ERR_OK)
        rc = index_topic(&w->reader, topic, &doc->bag, err);
    if (rc != ERR_OK)
        return rc;
    doc->layer = LAYER_TOPIC;
    doc->doc = c->n_topics;
    topic->doc = (uint32_t)w->stat.v[STAT_NEXT_DOC_TOPIC] + c->n_topics++;
    topic->episodes = edge->n;
    if (edge->n == 1 || c->episode.start_ms < topic->start_ms)
        topic->start_ms = c->episode.start_ms;
    if (edge->n == 1 || c->episode.end_ms > topic->end_ms)
        topic->end_ms = c->episode.end_ms;
    put_topic(c, topic, flags);
    put_edge(w, KIND_TOPIC_EDGE, topic->id, edge);
    put_topic_rows(c, topic);
    c->episode.topics[c->episode.n_topics++] = topic->id;
    return ERR_OK;
}

static uint32_t next_topic_id(struct closed *c)
{
    return (uint32_t)c->w->stat.v[STAT_NEXT_TOPIC] + c->n_new++;
}

static enum err_code new_topic(struct closed *c, struct err *err)
{
    struct edge edge = {0};
    struct topic topic = {.id = next_topic_id(c)};
    topic.chain = topic.id;
    c->member.role = ROLE_INITIATING;
    c->w->unit->topics_new++;
    return write_topic(c, &topic, &edge, 0, err);
}

/* The line goes on in a topic of its own that starts with the same keywords. */
static enum err_code succeed(struct closed *c, struct topic *full, struct err *err)
{
    struct edge edge = {0};
    struct topic topic = {.id = next_topic_id(c),
                          .chain = full->chain,
                          .previous = full->id,
                          .n_keywords = full->n_keywords,
                          .keywords = full->keywords};
    full->next = topic.id;
    put_topic(c, full, PUT_KEEP);
    c->w->unit->topics_successor++;
    return write_topic(c, &topic, &edge, 0, err);
}

static enum err_code kill_topic_doc(struct closed *c, const struct topic *topic, struct err *err)
{
    uint32_t length = lengths_get(c->w->lengths, LAYER_TOPIC, topic->doc);
    enum err_code rc = lengths_error(c->w->lengths, err);
    if (rc != ERR_OK)
        return rc;
    if (length == 0)
        return err_set(err, ERR_INTERNAL, "the document of topic %u is dead", topic->id);
    rc = stage__docs_forget(c->w, LAYER_TOPIC, topic->doc, err);
    if (rc != ERR_OK)
        return rc;
    return segment_kill(c->w->batch, LAYER_TOPIC, topic->doc, length, err);
}

static enum err_code join(struct closed *c, uint32_t id, double weight, struct err *err)
{
    struct stage_work *w = c->w;
    struct topic topic;
    struct edge edge;
    enum err_code rc = topic_get(w->txn, w->space, id, w->arena, &topic, err);
    if (rc == ERR_OK && topic.id == 0)
        rc = err_set(err, ERR_INTERNAL, "topic %u is not there", id);
    if (rc != ERR_OK)
        return rc;
    c->member.weight = weight_pack(weight);
    c->member.role =
        c->episode.start_ms - topic.end_ms > RECURS_MS ? ROLE_RECURRING : ROLE_DEVELOPING;
    if (topic.episodes >= LIMIT_TOPIC_EPISODES)
        return succeed(c, &topic, err);
    w->unit->topics_joined++;
    rc = kill_topic_doc(c, &topic, err);
    if (rc == ERR_OK)
        rc = edge_get(w->txn, w->space, KIND_TOPIC_EDGE, id, w->arena, &edge, err);
    return rc == ERR_OK ? write_topic(c, &topic, &edge, PUT_KEEP, err) : rc;
}

static enum err_code assign_topics(struct closed *c, struct err *err)
{
    struct topic_choice choice;
    enum err_code rc = topic_choose(&c->reader, &c->dialogue, &c->terms, &choice, err);
    c->member = (struct edge_member){.id = c->episode.id, .weight = weight_pack(1)};
    if (rc == ERR_OK && choice.n == 0)
        rc = new_topic(c, err);
    for (uint32_t i = 0; rc == ERR_OK && i < choice.n; i++)
        rc = join(c, choice.topic[i], choice.weight[i], err);
    return rc;
}

/* --- writing --- */

static void put_episode(struct closed *c)
{
    struct stage_work *w = c->w;
    const struct episode *e = &c->episode;
    struct buf record;
    buf_init(&record, w->arena, RECORD_MAX);
    episode_encode(e, &record);
    if (!buf_ok(&record))
        w->batch->failed = true;
    else
        (void)batch_put_u32(w->batch, KIND_EPISODE, e->id, buf_str(&record), PUT_STAMP);
    batch_log(w->batch, CHANGE_ADD, KIND_EPISODE, UINT32_MAX, e->id, 1);
    const struct episode_row row = {.doc = e->doc,
                                    .session_no = e->session_no,
                                    .topics = {e->topics[0], e->topics[1]},
                                    .first_doc = w->closing.first_doc,
                                    .turns = e->turns,
                                    .start_ms = e->start_ms,
                                    .end_ms = e->end_ms};
    (void)column_put(w->batch, COLUMN_EPISODE, e->id - 1, &row, 1);
    (void)column_put(w->batch, COLUMN_EPISODE_DOC, e->doc, &e->id, 1);
    put_edge(w, KIND_EPISODE_EDGE, e->id, &c->facts.edge);
}

static enum err_code put_segment(struct closed *c, struct err *err)
{
    struct stage_work *w = c->w;
    uint32_t n = c->facts.n + 1 + c->n_topics;
    struct segment_doc *docs = ARENA_ARRAY(w->arena, struct segment_doc, n);
    const uint32_t base[LAYERS] = {[LAYER_FACT] = c->facts.first - 1,
                                   [LAYER_EPISODE] = c->episode.doc,
                                   [LAYER_TOPIC] = (uint32_t)w->stat.v[STAT_NEXT_DOC_TOPIC]};
    if (docs == NULL)
        return stage__memory(err);
    if (c->facts.n != 0)
        memcpy(docs, c->facts.docs, c->facts.n * sizeof *docs);
    docs[c->facts.n] = (struct segment_doc){LAYER_EPISODE, 0, c->bag};
    memcpy(docs + c->facts.n + 1, c->topics, c->n_topics * sizeof *docs);
    return stage__docs_add(w, docs, n, base, err);
}

static void put_counters(struct closed *c)
{
    struct batch *batch = c->w->batch;
    batch_add(batch, STAT_NEXT_EPISODE, 1);
    batch_add(batch, STAT_NEXT_DOC_EPISODE, 1);
    batch_add(batch, STAT_EPISODES, 1);
    batch_add(batch, STAT_NEXT_TOPIC, c->n_new);
    batch_add(batch, STAT_TOPICS, c->n_new);
    batch_add(batch, STAT_NEXT_DOC_TOPIC, c->n_topics);
    batch_add(batch, STAT_NEXT_FACT, c->facts.n);
    batch_add(batch, STAT_FACTS, c->facts.n);
    struct stage_unit *unit = c->w->unit;
    unit->episodes++;
    unit->facts += c->facts.n;
    unit->facts_duplicate += c->facts.repeats;
    unit->facts_echo += c->facts.echoes;
}

enum err_code stage__episode(struct stage_work *w, struct err *err)
{
    struct closed *c = ARENA_NEW(w->arena, struct closed);
    struct said **turns = NULL;
    uint32_t n = 0;
    if (c == NULL)
        return stage__memory(err);
    c->w = w;
    c->reader = (struct topic_reader){&w->reader, w->columns, w->lengths, &w->stat, TOPIC_NO_DOC};
    enum err_code rc = read_turns(c, &turns, &n, err);
    if (rc == ERR_OK)
        rc = dialogue_of(&w->reader, turns, n, &c->dialogue, err);
    if (rc == ERR_OK)
        rc = index_episode(&w->reader, &c->dialogue, &c->bag, err);
    if (rc == ERR_OK)
        rc = topic_weigh(&c->reader, &c->dialogue, &c->bag, &c->terms, err);
    if (rc == ERR_OK)
        rc = describe(c, err);
    if (rc == ERR_OK)
        rc = assign_topics(c, err);
    if (rc == ERR_OK)
        rc = facts_build(w, &c->dialogue, c->episode.id, &c->facts, err);
    if (rc != ERR_OK)
        return rc;
    put_episode(c);
    put_counters(c);
    return put_segment(c, err);
}
