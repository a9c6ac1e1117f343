/* Topics that lose episodes: rebuilt from what is left, or gone; lines of topics stay whole. */
#include "core/ingest/remove_int.h"

/* Topics from `id` on belong to a line that now begins with `first`. */
static enum err_code rename_line(struct removal *r, uint32_t id, uint32_t first, struct err *err)
{
    uint64_t left = r->stat.v[STAT_TOPICS];
    while (id != 0) {
        struct remove_topic *topic;
        enum err_code rc = remove__topic(r, id, &topic, err);
        if (rc != ERR_OK)
            return rc;
        if (left-- == 0)
            return err_set(err, ERR_INTERNAL, "the line of topic %u goes in a circle", first);
        topic->topic.chain = first;
        topic->relinked = true;
        id = topic->topic.next;
    }
    return ERR_OK;
}

/* Its neighbours in the line meet. */
static enum err_code unlink_topic(struct removal *r, const struct topic *gone, struct err *err)
{
    struct remove_topic *other;
    enum err_code rc = ERR_OK;
    if (gone->previous != 0) {
        rc = remove__topic(r, gone->previous, &other, err);
        if (rc != ERR_OK)
            return rc;
        other->topic.next = gone->next;
        other->relinked = true;
    }
    if (gone->next == 0)
        return ERR_OK;
    rc = remove__topic(r, gone->next, &other, err);
    if (rc != ERR_OK)
        return rc;
    other->topic.previous = gone->previous;
    other->relinked = true;
    return gone->previous == 0 ? rename_line(r, gone->next, gone->next, err) : ERR_OK;
}

static enum err_code settle_topic(struct removal *r, struct remove_topic *entry, struct err *err)
{
    enum err_code rc = remove__topic_edge(r, entry, err);
    if (rc != ERR_OK)
        return rc;
    entry->gone |= entry->edge.n == 0;
    if (entry->gone)
        return unlink_topic(r, &entry->topic, err);
    entry->rebuilt = true;
    entry->new_doc = (uint32_t)r->stat.v[STAT_NEXT_DOC_TOPIC] + r->new_topic_docs++;
    return ERR_OK;
}

/* A successor began with the keywords of its predecessor, so it is made again too. */
static enum err_code touch_line(struct removal *r, uint32_t id, struct err *err)
{
    uint64_t left = r->stat.v[STAT_TOPICS];
    while (id != 0) {
        struct remove_topic *topic;
        enum err_code rc = remove__topic(r, id, &topic, err);
        if (rc != ERR_OK)
            return rc;
        if (left-- == 0)
            return err_set(err, ERR_INTERNAL, "the line of topic %u goes in a circle", id);
        topic->touched = true;
        id = topic->topic.next;
    }
    return ERR_OK;
}

enum err_code remove__settle_topics(struct removal *r, struct err *err)
{
    enum err_code rc = ERR_OK;
    for (struct remove_node *node = r->topics.first; rc == ERR_OK && node != NULL;
         node = node->next) {
        const struct remove_topic *entry = (const struct remove_topic *)(const void *)node;
        if (entry->touched)
            rc = touch_line(r, entry->topic.next, err);
    }
    for (struct remove_node *node = r->topics.first; rc == ERR_OK && node != NULL;
         node = node->next) {
        struct remove_topic *entry = (struct remove_topic *)(void *)node;
        if (entry->touched)
            rc = settle_topic(r, entry, err);
    }
    return rc;
}

/* --- rebuilding --- */

static enum err_code load_members(struct removal *r, const struct edge *edge,
                                  struct episode **episodes, struct err *err)
{
    *episodes = ARENA_ARRAY(r->arena, struct episode, edge->n);
    if (*episodes == NULL)
        return remove__memory(err);
    for (uint32_t i = 0; i < edge->n; i++) {
        struct remove_episode *entry;
        enum err_code rc = remove__episode(r, edge->at[i].id, &entry, err);
        if (rc != ERR_OK)
            return rc;
        (*episodes)[i] = entry->episode;
    }
    return ERR_OK;
}

static enum err_code rebuild_one(struct removal *r, struct remove_topic *entry, struct err *err)
{
    struct episode *episodes;
    enum err_code rc = load_members(r, &entry->edge, &episodes, err);
    if (rc != ERR_OK)
        return rc;
    struct topic *topic = &entry->topic;
    topic->episodes = entry->edge.n;
    topic->start_ms = episodes[0].start_ms;
    topic->end_ms = episodes[0].end_ms;
    for (uint32_t i = 1; i < entry->edge.n; i++) {
        if (episodes[i].start_ms < topic->start_ms)
            topic->start_ms = episodes[i].start_ms;
        if (episodes[i].end_ms > topic->end_ms)
            topic->end_ms = episodes[i].end_ms;
    }
    topic->title = topic->summary = STR("");
    topic->flags &= (uint8_t)~TOPIC_TOLD;
    topic->n_keywords = 0;
    topic->keywords = NULL;
    return r->ops->topic(&r->rebuild, episodes, entry->edge.n, topic, &entry->bag, err);
}

enum err_code remove__rebuild_topics(struct removal *r, struct err *err)
{
    enum err_code rc = ERR_OK;
    for (struct remove_node *node = r->topics.first; rc == ERR_OK && node != NULL;
         node = node->next) {
        struct remove_topic *entry = (struct remove_topic *)(void *)node;
        if (entry->rebuilt)
            rc = rebuild_one(r, entry, err);
    }
    return rc;
}

/* --- writing --- */

static void write_edge(struct removal *r, const struct remove_topic *entry)
{
    struct buf edge;
    buf_init(&edge, r->arena, REMOVE_RECORD_MAX);
    edge_encode(&entry->edge, &edge);
    if (!buf_ok(&edge))
        r->batch->failed = true;
    (void)batch_put_u32(r->batch, KIND_TOPIC_EDGE, entry->node.id, buf_str(&edge), 0);
}

static void write_record(struct removal *r, const struct remove_topic *entry)
{
    struct buf record;
    buf_init(&record, r->arena, REMOVE_RECORD_MAX);
    topic_encode(&entry->topic, &record);
    if (!buf_ok(&record)) {
        r->batch->failed = true;
        return;
    }
    (void)batch_put_u32(r->batch, KIND_TOPIC, entry->node.id, buf_str(&record),
                        entry->rebuilt ? PUT_STAMP : PUT_STAMP | PUT_KEEP);
    const struct topic *topic = &entry->topic;
    struct topic_row row = {.doc = topic->doc,
                            .chain = topic->chain,
                            .episodes = topic->episodes,
                            .start_ms = topic->start_ms,
                            .end_ms = topic->end_ms};
    (void)column_put(r->batch, COLUMN_TOPIC, entry->node.id - 1, &row, 1);
    batch_log(r->batch, CHANGE_SET, KIND_TOPIC, UINT32_MAX, entry->node.id, 1);
}

static void write_gone(struct removal *r, const struct remove_topic *entry)
{
    uint32_t id = entry->node.id;
    struct topic_row none = {0};
    (void)batch_del_u32(r->batch, KIND_TOPIC, id, 0);
    (void)batch_del_u32(r->batch, KIND_TOPIC_EDGE, id, 0);
    (void)column_put(r->batch, COLUMN_TOPIC, id - 1, &none, 1);
    batch_add(r->batch, STAT_TOPICS, -1);
    batch_log(r->batch, CHANGE_DEL, KIND_TOPIC, UINT32_MAX, id, 1);
}

static enum err_code write_document(struct removal *r, struct remove_topic *entry, struct err *err)
{
    uint32_t none = 0;
    enum err_code rc = remove__kill(r, LAYER_TOPIC, entry->topic.doc, err);
    (void)column_put(r->batch, COLUMN_TOPIC_DOC, entry->topic.doc, &none, 1);
    if (entry->rebuilt) {
        entry->topic.doc = entry->new_doc;
        (void)column_put(r->batch, COLUMN_TOPIC_DOC, entry->new_doc, &entry->node.id, 1);
    }
    return rc;
}

static enum err_code write_topic(struct removal *r, struct remove_topic *entry, struct err *err)
{
    enum err_code rc = ERR_OK;
    if (entry->gone || entry->rebuilt) {
        rc = write_document(r, entry, err);
        if (rc == ERR_OK)
            rc = remove__blank(r, KIND_TOPIC, entry->node.id, err);
    }
    if (entry->gone || entry->rebuilt)
        embed_note_edge(&r->generations, r->batch, KIND_TOPIC_EDGE, entry->node.id, 0);
    if (entry->gone) {
        write_gone(r, entry);
        return rc;
    }
    if (entry->rebuilt)
        write_edge(r, entry);
    if (entry->rebuilt || entry->relinked)
        write_record(r, entry);
    return rc;
}

enum err_code remove__write_topics(struct removal *r, struct err *err)
{
    enum err_code rc = ERR_OK;
    for (struct remove_node *node = r->topics.first; rc == ERR_OK && node != NULL;
         node = node->next)
        rc = write_topic(r, (struct remove_topic *)(void *)node, err);
    batch_add(r->batch, STAT_NEXT_DOC_TOPIC, r->new_topic_docs);
    return rc;
}
