/* The LOG row: what one batch changed (DESIGN 4). No text, only kinds and ids, so that changes can
 * be streamed, diffed and, later, replicated, and so that a deletion leaves nothing readable here.
 *
 * On disk: u8 format (1), u8 cause (enum batch_cause), varint server time in ms, varint lines, then
 * a line each: u8 change ('+', '*', '-'), u8 kind, varint first id, varint count. */
#ifndef HM_CORE_LOG_ROW_H
#define HM_CORE_LOG_ROW_H

#include "core/batch.h"

struct log_row {
    uint8_t cause;
    uint64_t time_ms;
    uint64_t lines;
    struct unpack rest; /* for log_row_next() */
};

struct log_row_line {
    uint8_t change; /* enum batch_change */
    uint8_t kind;   /* enum store_kind */
    uint32_t first;
    uint32_t count;
};

/* The batch's slots must be resolved. */
void log_row_encode(const struct batch *batch, uint64_t time_ms, struct buf *out);
/* False when damaged. `row` borrows from `value`. */
bool log_row_decode(struct str value, struct log_row *row);
/* The next line; false after the last, or when damaged: then row->rest.bad. */
bool log_row_next(struct log_row *row, struct log_row_line *line);

#endif
