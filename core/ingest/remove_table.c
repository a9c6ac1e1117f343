/* Tables of what a deletion touches, and what more than one step needs. */
#include "core/ingest/remove_int.h"

enum err_code remove__memory(struct err *err)
{
    return err_set(err, ERR_EXHAUSTED, "out of memory while deleting");
}

static struct remove_node **bucket_of(struct remove_table *table, uint32_t id)
{
    return &table->bucket[id % REMOVE_BUCKETS];
}

struct remove_node *remove__find(const struct remove_table *table, uint32_t id)
{
    struct remove_node *node = table->bucket[id % REMOVE_BUCKETS];
    while (node != NULL && node->id != id)
        node = node->chain;
    return node;
}

void *remove__add(struct removal *r, struct remove_table *table, uint32_t id, size_t size)
{
    struct remove_node *node = arena_zalloc(r->arena, 1, size);
    if (node == NULL)
        return NULL;
    node->id = id;
    struct remove_node **bucket = bucket_of(table, id);
    node->chain = *bucket;
    *bucket = node;
    if (table->last == NULL)
        table->first = node;
    else
        table->last->next = node;
    table->last = node;
    table->n++;
    return node;
}

enum err_code remove__row(struct removal *r, uint32_t doc, struct remove_row **row, struct err *err)
{
    *row = (struct remove_row *)(void *)remove__find(&r->rows, doc + 1);
    if (*row != NULL)
        return ERR_OK;
    *row = remove__add(r, &r->rows, doc + 1, sizeof **row);
    if (*row == NULL)
        return remove__memory(err);
    columns_turn(r->columns, doc, &(*row)->row);
    return columns_error(r->columns, err);
}

enum err_code remove__episode(struct removal *r, uint32_t id, struct remove_episode **episode,
                              struct err *err)
{
    *episode = (struct remove_episode *)(void *)remove__find(&r->episodes, id);
    if (*episode != NULL)
        return ERR_OK;
    struct episode record;
    enum err_code rc = episode_get(r->txn, r->space, id, &record, err);
    if (rc != ERR_OK)
        return rc;
    if (record.id == 0)
        return err_set(err, ERR_INTERNAL, "episode %u is missing", id);
    *episode = remove__add(r, &r->episodes, id, sizeof **episode);
    if (*episode == NULL)
        return remove__memory(err);
    (*episode)->episode = record;
    return ERR_OK;
}

enum err_code remove__episode_edge(struct removal *r, struct remove_episode *episode,
                                   struct err *err)
{
    if (episode->edge_read)
        return ERR_OK;
    episode->edge_read = true;
    return edge_get(r->txn, r->space, KIND_EPISODE_EDGE, episode->node.id, r->arena, &episode->edge,
                    err);
}

enum err_code remove__topic(struct removal *r, uint32_t id, struct remove_topic **topic,
                            struct err *err)
{
    *topic = (struct remove_topic *)(void *)remove__find(&r->topics, id);
    if (*topic != NULL)
        return ERR_OK;
    struct topic record;
    enum err_code rc = topic_get(r->txn, r->space, id, r->arena, &record, err);
    if (rc != ERR_OK)
        return rc;
    if (record.id == 0)
        return err_set(err, ERR_INTERNAL, "topic %u is missing", id);
    *topic = remove__add(r, &r->topics, id, sizeof **topic);
    if (*topic == NULL)
        return remove__memory(err);
    (*topic)->topic = record;
    return ERR_OK;
}

enum err_code remove__topic_edge(struct removal *r, struct remove_topic *topic, struct err *err)
{
    if (topic->edge_read)
        return ERR_OK;
    topic->edge_read = true;
    return edge_get(r->txn, r->space, KIND_TOPIC_EDGE, topic->node.id, r->arena, &topic->edge, err);
}

/* --- turns that are left --- */

static enum err_code load_turn(struct removal *r, uint32_t n, bool text, struct turn *turn,
                               struct err *err)
{
    enum err_code rc = turn_get(r->txn, r->space, n, turn, err);
    if (rc == ERR_OK && turn->n == 0)
        return err_set(err, ERR_INTERNAL, "turn %u of a session is missing", n);
    if (rc == ERR_OK && text)
        rc = turn_load_text(r->txn, r->space, r->arena, turn, err);
    return rc;
}

static enum err_code walk_range(struct removal *r, const struct remove_range *range,
                                struct store_cursor *cursor, struct turn *turns, uint32_t *n,
                                struct err *err)
{
    char from[8];
    be32_set(from, range->session_no);
    be32_set(from + 4, range->first_n);
    struct store_item item;
    enum err_code rc = store_cursor_seek(cursor, (struct str){from, sizeof from}, &item, err);
    while (rc == ERR_OK && item.key.len == 8 && be32_get(item.key.at) == range->session_no) {
        uint32_t turn = be32_get(item.key.at + 4);
        if (turn > range->last_n)
            break;
        if (remove__find(&r->turns, turn) == NULL) {
            if (*n == range->cap)
                return err_set(err, ERR_INTERNAL, "session %u has more turns than were counted",
                               range->session_no);
            rc = load_turn(r, turn, range->texts, &turns[*n], err);
            (*n)++;
        }
        if (rc == ERR_OK)
            rc = store_cursor_next(cursor, &item, err);
    }
    return rc;
}

enum err_code remove__remaining(struct removal *r, const struct remove_range *range,
                                struct turn **turns, uint32_t *n, struct err *err)
{
    *n = 0;
    *turns = ARENA_ARRAY(r->arena, struct turn, range->cap);
    if (*turns == NULL)
        return remove__memory(err);
    struct store_cursor *cursor = NULL;
    enum err_code rc = store_cursor_open(r->txn, r->space, KIND_SESSION_TURN, &cursor, err);
    if (rc == ERR_OK)
        rc = walk_range(r, range, cursor, *turns, n, err);
    store_cursor_close(cursor);
    return rc;
}

/* --- history, documents, log --- */

static enum err_code blank_all(struct removal *r, struct store_cursor *cursor, struct str prefix,
                               struct err *err)
{
    struct store_item item;
    enum err_code rc = store_cursor_seek(cursor, prefix, &item, err);
    while (rc == ERR_OK && item.key.at != NULL && str_starts(item.key, prefix)) {
        if (item.value.len != 0)
            (void)batch_put(r->batch, KIND_HISTORY, item.key, STR(""), 0);
        rc = store_cursor_next(cursor, &item, err);
    }
    return rc;
}

enum err_code remove__blank(struct removal *r, enum store_kind kind, uint32_t id, struct err *err)
{
    char prefix[5] = {(char)kind};
    be32_set(prefix + 1, id);
    struct store_cursor *cursor = NULL;
    enum err_code rc = store_cursor_open(r->txn, r->space, KIND_HISTORY, &cursor, err);
    if (rc == ERR_OK)
        rc = blank_all(r, cursor, (struct str){prefix, sizeof prefix}, err);
    store_cursor_close(cursor);
    return rc;
}

enum err_code remove__kill(struct removal *r, enum layer layer, uint32_t doc, struct err *err)
{
    uint32_t length = lengths_get(r->lengths, layer, doc);
    enum err_code rc = lengths_error(r->lengths, err);
    if (rc != ERR_OK || length == 0)
        return rc;
    return segment_kill(r->batch, layer, doc, length, err);
}

void remove__log_sorted(struct removal *r, enum store_kind kind, const uint32_t *ids, uint32_t n)
{
    uint32_t i = 0;
    while (i < n) {
        uint32_t run = 1;
        while (i + run < n && ids[i + run] == ids[i] + run)
            run++;
        batch_log(r->batch, CHANGE_DEL, kind, UINT32_MAX, ids[i], run);
        i += run;
    }
}
