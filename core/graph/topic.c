#include "core/graph/topic.h"

#include <math.h>

#include "core/base/limits.h"
#include "core/graph/node_id.h"
#include "core/graph/record_int.h"

enum { KEYWORD_BYTES = 1 + 8 + 4 }; /* the least that one takes */

static bool weight_is_valid(float weight)
{
    return isfinite(weight) && weight > 0;
}

void topic_encode(const struct topic *topic, struct buf *out)
{
    ASSERT(topic->n_keywords <= LIMIT_TOPIC_KEYWORDS);
    record_head(out, topic->seq);
    buf_u32(out, topic->doc);
    buf_u32(out, topic->chain);
    buf_u32(out, topic->previous);
    buf_u32(out, topic->next);
    buf_u32(out, topic->episodes);
    buf_u64(out, (uint64_t)topic->start_ms);
    buf_u64(out, (uint64_t)topic->end_ms);
    buf_u8(out, topic->flags);
    buf_lstr(out, topic->title);
    buf_lstr(out, topic->summary);
    buf_varint(out, topic->n_keywords);
    for (uint16_t i = 0; i < topic->n_keywords; i++) {
        const struct topic_keyword *word = &topic->keywords[i];
        ASSERT(weight_is_valid(word->weight));
        buf_lstr(out, word->text);
        buf_u64(out, word->term);
        buf_put(out, &word->weight, sizeof word->weight);
    }
}

static enum err_code keywords_decode(struct arena *arena, struct unpack *u, struct topic *topic,
                                     struct err *err)
{
    uint32_t n = unpack_count(u, KEYWORD_BYTES);
    if (n > LIMIT_TOPIC_KEYWORDS)
        u->bad = true;
    if (u->bad)
        return ERR_OK;
    topic->keywords = ARENA_ARRAY(arena, struct topic_keyword, n);
    if (topic->keywords == NULL)
        return record_memory(err);
    for (uint32_t i = 0; i < n; i++) {
        struct topic_keyword *word = &topic->keywords[i];
        word->text = unpack_lstr(u);
        word->term = unpack_u64(u);
        uint32_t bits = unpack_u32(u);
        memcpy(&word->weight, &bits, sizeof bits);
        if (!weight_is_valid(word->weight))
            u->bad = true;
    }
    topic->n_keywords = (uint16_t)n;
    return ERR_OK;
}

enum err_code topic_decode(struct arena *arena, struct str value, uint32_t id, struct topic *topic,
                           struct err *err)
{
    struct unpack u = unpack_of(value);
    *topic = (struct topic){.seq = record_open(&u), .id = id};
    topic->doc = unpack_u32(&u);
    topic->chain = unpack_u32(&u);
    topic->previous = unpack_u32(&u);
    topic->next = unpack_u32(&u);
    topic->episodes = unpack_u32(&u);
    topic->start_ms = (int64_t)unpack_u64(&u);
    topic->end_ms = (int64_t)unpack_u64(&u);
    topic->flags = unpack_u8(&u);
    topic->title = unpack_lstr(&u);
    topic->summary = unpack_lstr(&u);
    enum err_code rc = keywords_decode(arena, &u, topic, err);
    if (rc == ERR_OK && !unpack_done(&u))
        rc = record_damaged(NODE_TOPIC, id, err);
    if (rc != ERR_OK)
        *topic = (struct topic){0};
    return rc;
}

enum err_code topic_get(struct store_txn *txn, uint64_t space, uint32_t id, struct arena *arena,
                        struct topic *topic, struct err *err)
{
    struct str value;
    *topic = (struct topic){0};
    enum err_code rc = store_get_u32(txn, space, KIND_TOPIC, id, &value, err);
    if (rc != ERR_OK || value.at == NULL)
        return rc;
    return topic_decode(arena, value, id, topic, err);
}

enum err_code topic_last(struct store_txn *txn, uint64_t space, uint32_t id, struct arena *arena,
                         struct topic *topic, struct err *err)
{
    enum err_code rc = topic_get(txn, space, id, arena, topic, err);
    while (rc == ERR_OK && topic->id != 0 && topic->next != 0)
        rc = topic_get(txn, space, topic->next, arena, topic, err);
    return rc;
}
