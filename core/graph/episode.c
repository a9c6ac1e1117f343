#include "core/graph/episode.h"

#include "core/base/limits.h"
#include "core/graph/node_id.h"
#include "core/graph/record_int.h"

void episode_encode(const struct episode *episode, struct buf *out)
{
    ASSERT(episode->n_topics <= LIMIT_TOPICS_PER_EPISODE);
    record_head(out, episode->seq);
    buf_u32(out, episode->doc);
    buf_u32(out, episode->session_no);
    buf_u32(out, episode->first_n);
    buf_u32(out, episode->last_n);
    buf_u32(out, episode->turns);
    buf_u64(out, (uint64_t)episode->start_ms);
    buf_u64(out, (uint64_t)episode->end_ms);
    buf_u16(out, (uint16_t)episode->offset_min);
    buf_u8(out, episode->flags);
    buf_u8(out, episode->n_topics);
    buf_u32(out, episode->topics[0]);
    buf_u32(out, episode->topics[1]);
    buf_lstr(out, episode->session);
    buf_lstr(out, episode->title);
    buf_lstr(out, episode->summary);
    buf_lstr(out, episode->participants);
}

enum err_code episode_decode(struct str value, uint32_t id, struct episode *episode,
                             struct err *err)
{
    struct unpack u = unpack_of(value);
    *episode = (struct episode){.seq = record_open(&u), .id = id};
    episode->doc = unpack_u32(&u);
    episode->session_no = unpack_u32(&u);
    episode->first_n = unpack_u32(&u);
    episode->last_n = unpack_u32(&u);
    episode->turns = unpack_u32(&u);
    episode->start_ms = (int64_t)unpack_u64(&u);
    episode->end_ms = (int64_t)unpack_u64(&u);
    episode->offset_min = (int16_t)unpack_u16(&u);
    episode->flags = unpack_u8(&u);
    episode->n_topics = unpack_u8(&u);
    episode->topics[0] = unpack_u32(&u);
    episode->topics[1] = unpack_u32(&u);
    episode->session = unpack_lstr(&u);
    episode->title = unpack_lstr(&u);
    episode->summary = unpack_lstr(&u);
    episode->participants = unpack_lstr(&u);
    if (unpack_done(&u) && episode->n_topics <= LIMIT_TOPICS_PER_EPISODE)
        return ERR_OK;
    *episode = (struct episode){0};
    return record_damaged(NODE_EPISODE, id, err);
}

enum err_code episode_get(struct store_txn *txn, uint64_t space, uint32_t id,
                          struct episode *episode, struct err *err)
{
    struct str value;
    *episode = (struct episode){0};
    enum err_code rc = store_get_u32(txn, space, KIND_EPISODE, id, &value, err);
    if (rc != ERR_OK || value.at == NULL)
        return rc;
    return episode_decode(value, id, episode, err);
}
