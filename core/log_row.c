#include "core/log_row.h"

enum { LOG_ROW_FORMAT = 1 };

void log_row_encode(const struct batch *batch, uint64_t time_ms, struct buf *out)
{
    buf_u8(out, LOG_ROW_FORMAT);
    buf_u8(out, (uint8_t)batch->cause);
    buf_varint(out, time_ms);
    buf_varint(out, batch->logs.n);
    for (uint32_t i = 0; i < batch->logs.n; i++) {
        const struct batch_log *line = &batch->logs.at[i];
        uint32_t first = line->first;
        if (line->slot != UINT32_MAX)
            first += batch->slots.at[line->slot].value;
        buf_u8(out, line->change);
        buf_u8(out, line->kind);
        buf_varint(out, first);
        buf_varint(out, line->count);
    }
}

bool log_row_decode(struct str value, struct log_row *row)
{
    struct unpack u = unpack_of(value);
    uint8_t format = unpack_u8(&u);
    row->cause = unpack_u8(&u);
    row->time_ms = unpack_varint(&u);
    row->lines = unpack_varint(&u);
    row->rest = u;
    return !u.bad && format == LOG_ROW_FORMAT && row->cause < CAUSE_COUNT;
}

bool log_row_next(struct log_row *row, struct log_row_line *line)
{
    if (row->lines == 0)
        return false;
    row->lines--;
    line->change = unpack_u8(&row->rest);
    line->kind = unpack_u8(&row->rest);
    uint64_t first = unpack_varint(&row->rest);
    uint64_t count = unpack_varint(&row->rest);
    if (first > UINT32_MAX || count > UINT32_MAX)
        row->rest.bad = true;
    line->first = (uint32_t)first;
    line->count = (uint32_t)count;
    return !row->rest.bad;
}
