#include "core/ingest/closed.h"

#include "core/ingest/describe.h"
#include "core/ingest/index_text.h"

enum { RECORD_MAX = 256 * 1024 };

/* --- reading --- */

static struct said *find_said(const struct stage_reading *r, uint32_t n)
{
    uint32_t low = 0;
    uint32_t high = r->n_said;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (r->said[middle]->turn.n < n)
            low = middle + 1;
        else
            high = middle;
    }
    return low < r->n_said && r->said[low]->turn.n == n ? r->said[low] : NULL;
}

static enum err_code read_turns(struct closed *c, struct said ***out, uint32_t *n, struct err *err)
{
    struct stage_work *w = c->w;
    const struct episode *e = &c->episode;
    struct said_numbers list;
    enum err_code rc = said_session(&w->reader, e->session_no, e->first_n, e->last_n, &list, err);
    if (rc != ERR_OK)
        return rc;
    if (list.n != e->turns)
        return err_set(err, ERR_INTERNAL, "an episode of %u turns has %u", e->turns, list.n);
    struct said **turns = ARENA_ARRAY(w->arena, struct said *, list.n);
    if (turns == NULL)
        return stage__memory(err);
    for (uint32_t i = 0; rc == ERR_OK && i < list.n; i++) {
        turns[i] = find_said(w->reading, list.at[i]);
        if (turns[i] == NULL)
            rc = said_read(&w->reader, list.at[i], &turns[i], err);
        if (rc == ERR_OK && turns[i] == NULL)
            rc = err_set(err, ERR_INTERNAL, "turn %u is not there", list.at[i]);
    }
    *out = turns;
    *n = list.n;
    return rc;
}

/* Turns, dialogue, words, and how much each word says. */
static enum err_code read_dialogue(struct closed *c, struct err *err)
{
    struct stage_work *w = c->w;
    struct said **turns = NULL;
    uint32_t n = 0;
    enum err_code rc = read_turns(c, &turns, &n, err);
    if (rc == ERR_OK)
        rc = dialogue_of(&w->reader, turns, n, &c->dialogue, err);
    if (rc == ERR_OK)
        rc = index_episode(&w->reader, &c->dialogue, &c->bag, err);
    if (rc == ERR_OK)
        rc = topic_weigh(&c->reader, &c->dialogue, &c->bag, &c->terms, err);
    if (rc != ERR_OK)
        return rc;
    ASSERT(turns != NULL && n != 0);
    c->first_doc = turns[0]->turn.doc;
    return ERR_OK;
}

static void start(struct closed *c, struct stage_work *w)
{
    *c = (struct closed){.w = w,
                         .reader = {&w->reader, w->columns, w->lengths, &w->stat, TOPIC_NO_DOC},
                         .facts = {.first = (uint32_t)w->stat.v[STAT_NEXT_FACT]}};
}

enum err_code closed_begin(struct closed *c, struct stage_work *w, struct err *err)
{
    struct description description;
    const struct buffer *closing = &w->closing;
    start(c, w);
    c->is_new = c->has_doc = true;
    c->episode = (struct episode){.id = (uint32_t)w->stat.v[STAT_NEXT_EPISODE],
                                  .doc = (uint32_t)w->stat.v[STAT_NEXT_DOC_EPISODE],
                                  .session_no = closing->session_no,
                                  .first_n = closing->first_n,
                                  .last_n = closing->last_n,
                                  .turns = closing->turns};
    enum err_code rc = read_dialogue(c, err);
    if (rc == ERR_OK)
        rc = describe_episode(w->arena, &c->dialogue, c->terms.weight, &description, err);
    if (rc != ERR_OK)
        return rc;
    const struct turn *first = &c->dialogue.turns[0]->turn;
    c->episode.start_ms = c->dialogue.start_ms;
    c->episode.end_ms = c->dialogue.end_ms;
    c->episode.offset_min = first->offset_min;
    c->episode.session = first->session;
    c->episode.title = description.title;
    c->episode.summary = description.summary;
    c->episode.participants = description.participants;
    return ERR_OK;
}

enum err_code closed_resume(struct closed *c, struct stage_work *w, uint32_t id, struct err *err)
{
    start(c, w);
    enum err_code rc = episode_get(w->txn, w->space, id, &c->episode, err);
    if (rc == ERR_OK && c->episode.id == 0)
        rc = err_set(err, ERR_INTERNAL, "episode %u is not there", id);
    c->reader.own_doc = c->episode.doc;
    return rc == ERR_OK ? read_dialogue(c, err) : rc;
}

enum err_code closed_index_again(struct closed *c, struct err *err)
{
    struct stage_work *w = c->w;
    uint32_t length = lengths_get(w->lengths, LAYER_EPISODE, c->episode.doc);
    uint32_t none = 0;
    enum err_code rc = lengths_error(w->lengths, err);
    if (rc == ERR_OK && length == 0)
        rc = err_set(err, ERR_INTERNAL, "the document of episode %u is dead", c->episode.id);
    if (rc == ERR_OK)
        rc = stage__docs_forget(w, LAYER_EPISODE, c->episode.doc, err);
    if (rc == ERR_OK)
        rc = segment_kill(w->batch, LAYER_EPISODE, c->episode.doc, length, err);
    if (rc == ERR_OK)
        rc = index_told_episode(&w->reader, &c->dialogue, &c->episode, &c->bag, err);
    (void)column_put(w->batch, COLUMN_EPISODE_DOC, c->episode.doc, &none, 1);
    for (unsigned i = 0; i < c->episode.n_topics; i++)
        embed_note_edge(&w->generations, w->batch, KIND_TOPIC_EDGE, c->episode.topics[i],
                        w->now_ms);
    c->episode.doc = (uint32_t)w->stat.v[STAT_NEXT_DOC_EPISODE];
    c->has_doc = true;
    return rc;
}

/* --- writing --- */

void closed_put_edge(struct stage_work *w, enum store_kind kind, uint32_t parent,
                     const struct edge *edge)
{
    struct buf value;
    buf_init(&value, w->arena, 4u << 20);
    edge_encode(edge, &value);
    if (!buf_ok(&value))
        w->batch->failed = true;
    else
        (void)batch_put_u32(w->batch, kind, parent, buf_str(&value), 0);
    embed_note_edge(&w->generations, w->batch, kind, parent, w->now_ms);
}

static void put_record(struct closed *c)
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
    batch_log(w->batch, c->is_new ? CHANGE_ADD : CHANGE_SET, KIND_EPISODE, UINT32_MAX, e->id, 1);
    const struct episode_row row = {.doc = e->doc,
                                    .session_no = e->session_no,
                                    .topics = {e->topics[0], e->topics[1]},
                                    .first_doc = c->first_doc,
                                    .turns = e->turns,
                                    .start_ms = e->start_ms,
                                    .end_ms = e->end_ms};
    (void)column_put(w->batch, COLUMN_EPISODE, e->id - 1, &row, 1);
    if (c->has_doc)
        (void)column_put(w->batch, COLUMN_EPISODE_DOC, e->doc, &e->id, 1);
}

static enum err_code put_docs(struct closed *c, struct err *err)
{
    struct stage_work *w = c->w;
    uint32_t n = 0;
    struct segment_doc *docs =
        ARENA_ARRAY(w->arena, struct segment_doc, (size_t)c->facts.n + 1 + c->n_topics);
    const uint32_t base[LAYERS] = {[LAYER_FACT] = c->facts.first - 1,
                                   [LAYER_EPISODE] = c->episode.doc,
                                   [LAYER_TOPIC] = (uint32_t)w->stat.v[STAT_NEXT_DOC_TOPIC]};
    if (docs == NULL)
        return stage__memory(err);
    for (; n < c->facts.n; n++)
        docs[n] = c->facts.docs[n];
    if (c->has_doc)
        docs[n++] = (struct segment_doc){LAYER_EPISODE, 0, c->bag};
    for (uint32_t i = 0; i < c->n_topics; i++)
        docs[n++] = c->topics[i];
    return n == 0 ? ERR_OK : stage__docs_add(w, docs, n, base, err);
}

static void put_counters(struct closed *c)
{
    struct batch *batch = c->w->batch;
    batch_add(batch, STAT_NEXT_EPISODE, c->is_new);
    batch_add(batch, STAT_EPISODES, c->is_new);
    batch_add(batch, STAT_NEXT_DOC_EPISODE, c->has_doc);
    batch_add(batch, STAT_NEXT_TOPIC, c->n_new);
    batch_add(batch, STAT_TOPICS, c->n_new);
    batch_add(batch, STAT_NEXT_DOC_TOPIC, c->n_topics);
    batch_add(batch, STAT_NEXT_FACT, c->facts.n);
    batch_add(batch, STAT_FACTS, c->facts.n);
    struct stage_unit *unit = c->w->unit;
    unit->episodes += c->is_new;
    unit->facts += c->facts.n;
    unit->facts_duplicate += c->facts.repeats;
    unit->facts_echo += c->facts.echoes;
}

enum err_code closed_write(struct closed *c, struct err *err)
{
    put_record(c);
    put_counters(c);
    return put_docs(c, err);
}
