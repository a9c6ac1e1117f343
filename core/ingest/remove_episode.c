/* Episodes that lose turns: rebuilt from what is left, or gone. */
#include "core/ingest/remove_int.h"

/* Its topics lose it, or at least its old text. */
static enum err_code touch_topics(struct removal *r, const struct remove_episode *entry,
                                  struct err *err)
{
    enum err_code rc = ERR_OK;
    for (uint32_t i = 0; rc == ERR_OK && i < entry->episode.n_topics; i++) {
        struct remove_topic *topic;
        rc = remove__topic(r, entry->episode.topics[i], &topic, err);
        if (rc != ERR_OK)
            return rc;
        topic->touched = true;
        rc = remove__topic_edge(r, topic, err);
        if (rc == ERR_OK && entry->gone)
            edge_remove(&topic->edge, entry->node.id);
    }
    return rc;
}

enum err_code remove__unlink_topics(struct removal *r, uint32_t id, struct err *err)
{
    struct remove_episode *entry;
    enum err_code rc = remove__episode(r, id, &entry, err);
    for (uint32_t i = 0; rc == ERR_OK && i < entry->episode.n_topics; i++) {
        struct remove_topic *topic;
        rc = remove__topic(r, entry->episode.topics[i], &topic, err);
        if (rc == ERR_OK)
            rc = remove__topic_edge(r, topic, err);
        if (rc != ERR_OK)
            return rc;
        topic->touched = true;
        edge_remove(&topic->edge, id);
    }
    if (rc != ERR_OK)
        return rc;
    entry->episode.n_topics = 0;
    entry->episode.topics[0] = entry->episode.topics[1] = 0;
    entry->relinked = true;
    return ERR_OK;
}

static void refit(struct remove_episode *entry)
{
    struct episode *episode = &entry->episode;
    const struct turn *turns = entry->turns;
    episode->turns = entry->n_turns;
    episode->first_n = turns[0].n;
    episode->last_n = turns[entry->n_turns - 1].n;
    episode->offset_min = turns[0].offset_min;
    episode->start_ms = episode->end_ms = turns[0].time_ms;
    for (uint32_t i = 1; i < entry->n_turns; i++) {
        if (turns[i].time_ms < episode->start_ms)
            episode->start_ms = turns[i].time_ms;
        if (turns[i].time_ms > episode->end_ms)
            episode->end_ms = turns[i].time_ms;
    }
    episode->title = episode->summary = episode->participants = STR("");
    episode->flags &= (uint8_t)~EPISODE_TOLD;
    entry->first_doc = turns[0].doc;
}

static enum err_code settle_episode(struct removal *r, struct remove_episode *entry,
                                    struct err *err)
{
    const struct episode *episode = &entry->episode;
    struct remove_range range = {.session_no = episode->session_no,
                                 .first_n = episode->first_n,
                                 .last_n = episode->last_n,
                                 .cap = episode->turns,
                                 .texts = true};
    enum err_code rc = remove__remaining(r, &range, &entry->turns, &entry->n_turns, err);
    if (rc != ERR_OK)
        return rc;
    entry->gone = entry->n_turns == 0;
    entry->rebuilt = !entry->gone;
    if (entry->rebuilt) {
        refit(entry);
        entry->new_doc = (uint32_t)r->stat.v[STAT_NEXT_DOC_EPISODE] + r->new_episode_docs++;
    }
    return touch_topics(r, entry, err);
}

enum err_code remove__settle_episodes(struct removal *r, struct err *err)
{
    enum err_code rc = ERR_OK;
    for (struct remove_node *node = r->episodes.first; rc == ERR_OK && node != NULL;
         node = node->next) {
        struct remove_episode *entry = (struct remove_episode *)(void *)node;
        if (entry->lost)
            rc = settle_episode(r, entry, err);
    }
    return rc;
}

enum err_code remove__rebuild_episodes(struct removal *r, struct err *err)
{
    enum err_code rc = ERR_OK;
    for (struct remove_node *node = r->episodes.first; rc == ERR_OK && node != NULL;
         node = node->next) {
        struct remove_episode *entry = (struct remove_episode *)(void *)node;
        if (entry->rebuilt)
            rc = r->ops->episode(&r->rebuild, entry->turns, entry->n_turns, &entry->episode,
                                 &entry->bag, err);
    }
    return rc;
}

/* --- writing --- */

static void write_edge(struct removal *r, const struct remove_episode *entry)
{
    if (entry->gone) {
        (void)batch_del_u32(r->batch, KIND_EPISODE_EDGE, entry->node.id, 0);
        return;
    }
    struct buf edge;
    buf_init(&edge, r->arena, REMOVE_RECORD_MAX);
    edge_encode(&entry->edge, &edge);
    if (!buf_ok(&edge))
        r->batch->failed = true;
    (void)batch_put_u32(r->batch, KIND_EPISODE_EDGE, entry->node.id, buf_str(&edge), 0);
}

/* The old version is kept where nothing of its text went. */
static void write_record(struct removal *r, const struct remove_episode *entry)
{
    struct buf record;
    buf_init(&record, r->arena, REMOVE_RECORD_MAX);
    episode_encode(&entry->episode, &record);
    if (!buf_ok(&record)) {
        r->batch->failed = true;
        return;
    }
    (void)batch_put_u32(r->batch, KIND_EPISODE, entry->node.id, buf_str(&record),
                        entry->rebuilt ? PUT_STAMP : PUT_STAMP | PUT_KEEP);
    batch_log(r->batch, CHANGE_SET, KIND_EPISODE, UINT32_MAX, entry->node.id, 1);
}

static void write_column(struct removal *r, const struct remove_episode *entry)
{
    struct episode_row row;
    columns_episode(r->columns, entry->node.id, &row);
    const struct episode *episode = &entry->episode;
    if (entry->gone) {
        row = (struct episode_row){0};
    } else {
        row.doc = episode->doc;
        row.topics[0] = episode->n_topics > 0 ? episode->topics[0] : 0;
        row.topics[1] = episode->n_topics > 1 ? episode->topics[1] : 0;
        row.turns = episode->turns;
        row.start_ms = episode->start_ms;
        row.end_ms = episode->end_ms;
        if (entry->rebuilt)
            row.first_doc = entry->first_doc;
    }
    (void)column_put(r->batch, COLUMN_EPISODE, entry->node.id - 1, &row, 1);
}

/* The old document dies; a rebuilt episode takes its new one. */
static enum err_code write_document(struct removal *r, struct remove_episode *entry,
                                    struct err *err)
{
    uint32_t none = 0;
    enum err_code rc = remove__kill(r, LAYER_EPISODE, entry->episode.doc, err);
    (void)column_put(r->batch, COLUMN_EPISODE_DOC, entry->episode.doc, &none, 1);
    if (entry->rebuilt) {
        entry->episode.doc = entry->new_doc;
        (void)column_put(r->batch, COLUMN_EPISODE_DOC, entry->new_doc, &entry->node.id, 1);
    }
    return rc;
}

static enum err_code write_episode(struct removal *r, struct remove_episode *entry, struct err *err)
{
    enum err_code rc = ERR_OK;
    if (entry->gone || entry->rebuilt) {
        rc = write_document(r, entry, err);
        if (rc == ERR_OK)
            rc = remove__blank(r, KIND_EPISODE, entry->node.id, err);
    }
    if (entry->gone) {
        (void)batch_del_u32(r->batch, KIND_EPISODE, entry->node.id, 0);
        batch_add(r->batch, STAT_EPISODES, -1);
        batch_log(r->batch, CHANGE_DEL, KIND_EPISODE, UINT32_MAX, entry->node.id, 1);
    } else if (entry->rebuilt || entry->relinked) {
        write_record(r, entry);
    }
    if (entry->gone || entry->rebuilt || entry->relinked)
        write_column(r, entry);
    if (entry->gone || entry->edge_changed) {
        write_edge(r, entry);
        embed_note_edge(&r->generations, r->batch, KIND_EPISODE_EDGE, entry->node.id, 0);
    }
    return rc;
}

enum err_code remove__write_episodes(struct removal *r, struct err *err)
{
    enum err_code rc = ERR_OK;
    for (struct remove_node *node = r->episodes.first; rc == ERR_OK && node != NULL;
         node = node->next)
        rc = write_episode(r, (struct remove_episode *)(void *)node, err);
    if (rc == ERR_OK)
        rc = columns_error(r->columns, err);
    batch_add(r->batch, STAT_NEXT_DOC_EPISODE, r->new_episode_docs);
    return rc;
}
