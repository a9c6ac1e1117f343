#include "core/graph/turn.h"

#include "core/base/limits.h"
#include "core/graph/node_id.h"
#include "core/graph/record_int.h"

/* LE64 seq, LE32 x 3 holes, u8 format, then the rest: the holes come before the format byte because
 * their offsets are fixed. */
void turn_encode(const struct turn *turn, struct buf *out)
{
    ASSERT(turn->text.at == NULL || turn->text.len <= LIMIT_TURN_TEXT_BYTES);
    uint32_t text_len = turn->text.at != NULL ? (uint32_t)turn->text.len : turn->text_len;
    bool inside = text_len <= LIMIT_PART_BYTES;
    ASSERT(!inside || text_len == 0 || turn->text.at != NULL);
    ASSERT(turn->time_source <= TIME_FUTURE);
    buf_u64(out, turn->seq);
    buf_u32(out, turn->doc);
    buf_u32(out, turn->session_no);
    buf_u32(out, turn->speaker_no);
    buf_u8(out, RECORD_FORMAT);
    buf_u16(out, turn->docs);
    buf_u64(out, (uint64_t)turn->time_ms);
    buf_u16(out, (uint16_t)turn->offset_min);
    buf_u64(out, (uint64_t)turn->received_ms);
    buf_u8(out, turn->time_source);
    buf_lstr(out, turn->id);
    buf_lstr(out, turn->session);
    buf_lstr(out, turn->speaker);
    buf_lstr(out, turn->role);
    buf_lstr(out, turn->metadata);
    buf_varint(out, text_len);
    if (inside)
        buf_put(out, turn->text.at, text_len);
}

enum err_code turn_decode(struct str value, uint32_t n, struct turn *turn, struct err *err)
{
    struct unpack u = unpack_of(value);
    *turn = (struct turn){.seq = unpack_u64(&u), .n = n};
    turn->doc = unpack_u32(&u);
    turn->session_no = unpack_u32(&u);
    turn->speaker_no = unpack_u32(&u);
    record_format(&u);
    turn->docs = unpack_u16(&u);
    turn->time_ms = (int64_t)unpack_u64(&u);
    turn->offset_min = (int16_t)unpack_u16(&u);
    turn->received_ms = (int64_t)unpack_u64(&u);
    turn->time_source = unpack_u8(&u);
    turn->id = unpack_lstr(&u);
    turn->session = unpack_lstr(&u);
    turn->speaker = unpack_lstr(&u);
    turn->role = unpack_lstr(&u);
    turn->metadata = unpack_lstr(&u);
    turn->text_len = unpack_varint32(&u);
    if (turn->text_len <= LIMIT_PART_BYTES)
        turn->text = unpack_bytes(&u, turn->text_len);
    if (unpack_done(&u) && turn->time_source <= TIME_FUTURE &&
        turn->text_len <= LIMIT_TURN_TEXT_BYTES)
        return ERR_OK;
    *turn = (struct turn){.text = STR("")};
    return record_damaged(NODE_TURN, n, err);
}

enum err_code turn_get(struct store_txn *txn, uint64_t space, uint32_t n, struct turn *turn,
                       struct err *err)
{
    struct str value;
    *turn = (struct turn){.text = STR("")};
    enum err_code rc = store_get_u32(txn, space, KIND_TURN, n, &value, err);
    if (rc != ERR_OK || value.at == NULL)
        return rc;
    return turn_decode(value, n, turn, err);
}

/* Reads the part with this number; a missing or empty one, or one too long, is damage. */
static enum err_code append_part(struct store_txn *txn, uint64_t space, const struct turn *turn,
                                 uint32_t part, struct buf *text, struct err *err)
{
    char key[8];
    be32_set(key, turn->n);
    be32_set(key + 4, part);
    struct str value;
    enum err_code rc = store_get(txn, space, KIND_TEXT, (struct str){key, sizeof key}, &value, err);
    if (rc != ERR_OK)
        return rc;
    if (value.at == NULL || value.len == 0 || value.len > turn->text_len - text->len)
        return err_set(err, ERR_INTERNAL, "part %u of the text of turn %u is missing or damaged",
                       part, turn->n);
    buf_str_put(text, value);
    return buf_ok(text) ? ERR_OK : record_memory(err);
}

enum err_code turn_load_text(struct store_txn *txn, uint64_t space, struct arena *arena,
                             struct turn *turn, struct err *err)
{
    if (turn->text.at != NULL)
        return ERR_OK;
    struct buf text;
    buf_init(&text, arena, turn->text_len);
    if (buf_grow(&text, turn->text_len) == NULL)
        return record_memory(err);
    buf_clear(&text); /* the room stays: one allocation for all parts */
    for (uint32_t part = 0; text.len < turn->text_len; part++) {
        enum err_code rc = append_part(txn, space, turn, part, &text, err);
        if (rc != ERR_OK)
            return rc;
    }
    turn->text = buf_str(&text);
    return ERR_OK;
}

struct str turn_shown_id(struct arena *arena, const struct turn *turn)
{
    return turn->id.len != 0 ? str_copy(arena, turn->id) : node_id_str(arena, NODE_TURN, turn->n);
}

struct str turn_speaker(const struct turn *turn)
{
    if (turn->speaker.len != 0)
        return turn->speaker;
    return turn->role.len != 0 ? turn->role : STR("user");
}

bool turn_is_machine(const struct turn *turn)
{
    return str_eq(turn->role, STR("assistant")) || str_eq(turn->role, STR("tool")) ||
           str_eq(turn->role, STR("system"));
}
