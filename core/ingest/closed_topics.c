/* The topics of a closed episode: joined, made, continued. */
#include <stdlib.h>

#include "core/ingest/closed.h"
#include "core/ingest/describe.h"
#include "core/ingest/index_text.h"

enum { RECORD_MAX = 256 * 1024 };

#define RECURS_MS (30 * MS_PER_DAY)

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

/* Keywords, title and summary. What a model has written of a topic stays: a list of words is no
 * replacement for it, and the keywords find the new member. */
static enum err_code tell(struct closed *c, struct topic *topic, const struct edge *edge,
                          struct err *err)
{
    const struct episode **members = NULL;
    enum err_code rc = topic_add_keywords(&c->reader, &c->dialogue, &c->terms, topic, err);
    if (c->degraded)
        topic->flags |= TOPIC_DEGRADED;
    if (rc != ERR_OK || (topic->flags & TOPIC_TOLD) != 0)
        return rc;
    rc = read_members(c, edge, &members, err);
    return rc == ERR_OK ? describe_topic(c->w->arena, topic, members, edge->n, err) : rc;
}

/* A keyword's term is that of its first word. */
static enum err_code set_keywords(struct closed *c, struct topic *topic, struct str lines,
                                  struct err *err)
{
    struct arena *arena = c->w->arena;
    topic->n_keywords = 0;
    topic->keywords = ARENA_ARRAY(arena, struct topic_keyword, LIMIT_TOPIC_KEYWORDS);
    if (topic->keywords == NULL)
        return stage__memory(err);
    while (lines.len != 0 && topic->n_keywords < LIMIT_TOPIC_KEYWORDS) {
        struct token_list tokens;
        size_t end = str_index(lines, '\n');
        struct str word = str_part(lines, 0, end);
        enum err_code rc = tokenizer_run(c->w->tokenizer, arena, word, TOKEN_INDEX, &tokens, err);
        if (rc != ERR_OK)
            return rc;
        if (tokens.n != 0)
            topic->keywords[topic->n_keywords++] =
                (struct topic_keyword){word, tokens.at[0].term, 1};
        lines = str_part(lines, end + 1, lines.len);
    }
    return ERR_OK;
}

static enum err_code tell_as(struct closed *c, struct topic *topic,
                             const struct ask_topic_text *text, struct err *err)
{
    topic->title = text->title;
    topic->summary = text->summary;
    topic->flags = TOPIC_TOLD;
    return set_keywords(c, topic, text->keywords, err);
}

/* Writes the topic with this episode as a further member of `edge`, under a new document. `text`
 * NULL: told built in. */
static enum err_code write_topic(struct closed *c, struct topic *topic, struct edge *edge,
                                 const struct ask_topic_text *text, struct err *err)
{
    struct stage_work *w = c->w;
    struct segment_doc *doc = &c->topics[c->n_topics];
    unsigned flags = topic->seq == 0 ? 0 : PUT_KEEP;
    enum err_code rc = edge_set(w->arena, edge, c->member, err);
    if (rc == ERR_OK)
        rc = text != NULL ? tell_as(c, topic, text, err) : tell(c, topic, edge, err);
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
    closed_put_edge(w, KIND_TOPIC_EDGE, topic->id, edge);
    put_topic_rows(c, topic);
    c->episode.topics[c->episode.n_topics++] = topic->id;
    return ERR_OK;
}

static uint32_t next_topic_id(struct closed *c)
{
    return (uint32_t)c->w->stat.v[STAT_NEXT_TOPIC] + c->n_new++;
}

static enum err_code new_topic(struct closed *c, const struct ask_topic_text *text, struct err *err)
{
    struct edge edge = {0};
    struct topic topic = {.id = next_topic_id(c)};
    topic.chain = topic.id;
    if (text == NULL)
        c->member.role = ROLE_INITIATING;
    c->w->unit->topics_new++;
    return write_topic(c, &topic, &edge, text, err);
}

/* The line goes on in a topic of its own that starts with the same keywords. */
static enum err_code succeed(struct closed *c, struct topic *full,
                             const struct ask_topic_text *text, struct err *err)
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
    return write_topic(c, &topic, &edge, text, err);
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

/* c->member.weight is set, and with a `text` its role. */
static enum err_code join(struct closed *c, struct topic *topic, const struct ask_topic_text *text,
                          struct err *err)
{
    struct stage_work *w = c->w;
    struct edge edge;
    if (text == NULL)
        c->member.role =
            c->episode.start_ms - topic->end_ms > RECURS_MS ? ROLE_RECURRING : ROLE_DEVELOPING;
    if (topic->episodes >= LIMIT_TOPIC_EPISODES)
        return succeed(c, topic, text, err);
    w->unit->topics_joined++;
    enum err_code rc = kill_topic_doc(c, topic, err);
    if (rc == ERR_OK)
        rc = edge_get(w->txn, w->space, KIND_TOPIC_EDGE, topic->id, w->arena, &edge, err);
    return rc == ERR_OK ? write_topic(c, topic, &edge, text, err) : rc;
}

static enum err_code join_chosen(struct closed *c, uint32_t id, double weight, struct err *err)
{
    struct topic topic;
    enum err_code rc = topic_get(c->w->txn, c->w->space, id, c->w->arena, &topic, err);
    if (rc == ERR_OK && topic.id == 0)
        rc = err_set(err, ERR_INTERNAL, "topic %u is not there", id);
    c->member.weight = weight_pack(weight);
    return rc == ERR_OK ? join(c, &topic, NULL, err) : rc;
}

enum err_code closed_choose_topics(struct closed *c, struct err *err)
{
    struct topic_choice choice;
    enum err_code rc = topic_choose(&c->reader, &c->dialogue, &c->terms, &choice, err);
    c->member = (struct edge_member){.id = c->episode.id, .weight = weight_pack(1)};
    if (rc == ERR_OK && choice.n == 0)
        rc = new_topic(c, NULL, err);
    for (uint32_t i = 0; rc == ERR_OK && i < choice.n; i++)
        rc = join_chosen(c, choice.topic[i], choice.weight[i], err);
    return rc;
}

static bool is_in(const struct closed *c, uint32_t topic)
{
    return c->episode.n_topics != 0 && c->episode.topics[0] == topic;
}

enum err_code closed_add_topic(struct closed *c, const struct ask_topic_text *text, struct err *err)
{
    struct topic topic = {.id = 0};
    enum err_code rc = ERR_OK;
    c->member = (struct edge_member){
        .id = c->episode.id, .role = text->role, .weight = weight_pack(text->weight)};
    if (text->number != 0) /* what the model chose from may have been continued meanwhile */
        rc = topic_last(c->w->txn, c->w->space, text->number, c->w->arena, &topic, err);
    if (rc != ERR_OK || (topic.id != 0 && is_in(c, topic.id)))
        return rc;
    return topic.id != 0 ? join(c, &topic, text, err) : new_topic(c, text, err);
}
