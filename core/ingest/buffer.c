#include "core/base/limits.h"
#include "core/ingest/boundary.h"

enum { BUFFER_FORMAT = 2, BUFFER_FIXED = 1 + 6 * 4 + 4 * 8 + 4 + 1 + 2 * 8 };

uint32_t buffer_tokens(struct str text)
{
    ASSERT(text.len <= LIMIT_TURN_TEXT_BYTES);
    uint32_t characters = 0;
    for (size_t i = 0; i < text.len; i++)
        characters += ((uint8_t)text.at[i] & 0xc0) != 0x80;
    return (characters + 3) / 4;
}

void buffer_append(struct buffer *buffer, const struct buffer_turn *turn)
{
    if (buffer->turns == 0) {
        buffer->first_n = turn->n;
        buffer->first_doc = turn->first_doc;
        buffer->start_ms = buffer->end_ms = turn->time_ms;
        buffer->tokens = 0;
    }
    buffer->last_n = turn->n;
    buffer->last_doc = turn->last_doc;
    buffer->last_ms = turn->time_ms;
    if (turn->time_ms < buffer->start_ms)
        buffer->start_ms = turn->time_ms;
    if (turn->time_ms > buffer->end_ms)
        buffer->end_ms = turn->time_ms;
    buffer->tokens += turn->tokens;
    buffer->turns++;
}

void buffer_take_all(struct buffer *buffer, struct buffer *closed)
{
    *closed = *buffer;
    closed->state = STR("");
    *buffer = (struct buffer){
        .session_no = buffer->session_no, .arrival_ms = buffer->arrival_ms, .state = STR("")};
}

void buffer_check(const struct buffer *buffer)
{
    ASSERT(buffer->session_no != 0);
    ASSERT(buffer->turns >= 1 && buffer->first_n >= 1);            /* I1 */
    ASSERT(buffer->first_n <= buffer->last_n);                     /* I1 */
    ASSERT(buffer->turns <= buffer->last_n - buffer->first_n + 1); /* I1 */
    ASSERT(buffer->first_doc <= buffer->last_doc);
    ASSERT(buffer->start_ms <= buffer->last_ms && buffer->last_ms <= buffer->end_ms);
    ASSERT(buffer->state.len <= BUFFER_STATE_MAX);
}

void buffer_encode(const struct buffer *buffer, struct buf *out)
{
    buffer_check(buffer);
    buf_u8(out, BUFFER_FORMAT);
    buf_u32(out, buffer->first_n);
    buf_u32(out, buffer->last_n);
    buf_u32(out, buffer->first_doc);
    buf_u32(out, buffer->last_doc);
    buf_u32(out, buffer->turns);
    buf_u32(out, buffer->tokens);
    buf_u64(out, (uint64_t)buffer->start_ms);
    buf_u64(out, (uint64_t)buffer->end_ms);
    buf_u64(out, (uint64_t)buffer->last_ms);
    buf_u64(out, (uint64_t)buffer->arrival_ms);
    buf_u32(out, buffer->fresh);
    buf_u8(out, buffer->ask_failures);
    buf_u64(out, (uint64_t)buffer->ask_ms);
    buf_u64(out, (uint64_t)buffer->ask_failing_ms);
    buf_lstr(out, buffer->state);
}

/* A damaged row is reported, never asserted on. */
static bool is_sound(const struct buffer *b)
{
    return b->turns >= 1 && b->first_n >= 1 && b->first_n <= b->last_n &&
           b->turns <= b->last_n - b->first_n + 1 && b->first_doc <= b->last_doc &&
           b->start_ms <= b->last_ms && b->last_ms <= b->end_ms && b->state.len <= BUFFER_STATE_MAX;
}

enum err_code buffer_decode(struct str value, uint32_t session_no, struct buffer *buffer,
                            struct err *err)
{
    struct unpack u = unpack_of(value);
    uint8_t format = unpack_u8(&u);
    buffer->session_no = session_no;
    buffer->first_n = unpack_u32(&u);
    buffer->last_n = unpack_u32(&u);
    buffer->first_doc = unpack_u32(&u);
    buffer->last_doc = unpack_u32(&u);
    buffer->turns = unpack_u32(&u);
    buffer->tokens = unpack_u32(&u);
    buffer->start_ms = (int64_t)unpack_u64(&u);
    buffer->end_ms = (int64_t)unpack_u64(&u);
    buffer->last_ms = (int64_t)unpack_u64(&u);
    buffer->arrival_ms = (int64_t)unpack_u64(&u);
    buffer->fresh = unpack_u32(&u);
    buffer->ask_failures = unpack_u8(&u);
    buffer->ask_ms = (int64_t)unpack_u64(&u);
    buffer->ask_failing_ms = (int64_t)unpack_u64(&u);
    buffer->state = unpack_lstr(&u);
    if (!unpack_done(&u) || format != BUFFER_FORMAT || !is_sound(buffer))
        return err_set(err, ERR_INTERNAL, "buffer of session %u is damaged", session_no);
    return ERR_OK;
}

enum err_code buffer_get(struct store_txn *txn, uint64_t space, uint32_t session_no,
                         struct buffer *buffer, struct err *err)
{
    *buffer = (struct buffer){0};
    struct str value;
    enum err_code rc = store_get_u32(txn, space, KIND_BUFFER, session_no, &value, err);
    if (rc != ERR_OK || value.at == NULL)
        return rc;
    return buffer_decode(value, session_no, buffer, err);
}

void buffer_put(struct batch *batch, const struct buffer *buffer)
{
    if (buffer->turns == 0) {
        (void)batch_del_u32(batch, KIND_BUFFER, buffer->session_no, 0);
        return;
    }
    struct buf row;
    buf_init(&row, batch->arena, BUFFER_FIXED + 10 + BUFFER_STATE_MAX);
    buffer_encode(buffer, &row);
    if (!buf_ok(&row))
        batch->failed = true;
    else
        (void)batch_put_u32(batch, KIND_BUFFER, buffer->session_no, buf_str(&row), 0);
}
