/* Open episodes: what boundary keeps between two runs (DESIGN 6.2).
 *
 * Each session has its own buffer: the turns of it that boundary has looked at and not yet put into
 * an episode. One BUFFER row a session, absent when nothing is open. Its turns are those of the
 * session with first_n <= n <= last_n; deleted ones are simply gone, so SESSION_TURN rows list
 * them.
 *
 *   SESSION_TURN  ... 12 15 | 17 18 22 | 30 31 ...
 *                  episode     buffer    not looked at yet (n > LOOKED)
 *
 * `state` belongs to the boundary algorithm: it lets a run go on where the last one stopped without
 * reading the buffer again. Empty while turns > 0 means: not known, build it from the turns (a
 * delete leaves it so, since the algorithm's sums cannot be taken back).
 *
 * With a chat model the buffer also says when it is asked where its episodes end: BOUNDARY_ASK new
 * turns after the last question (core/ingest/work.h).
 *
 * On disk, little-endian: u8 format, u32 first_n, last_n, first_doc, last_doc, turns, tokens,
 * u64 start_ms, end_ms, last_ms, arrival_ms, u32 fresh, u8 ask_failures, u64 ask_ms,
 * ask_failing_ms, then varint length and state.
 *
 * I1  turns >= 1; first_n <= last_n; both are living turns.
 * I2  the sum of `turns` over a space's buffers is STAT_OPEN.
 * I3  written in the space's lane only. */
#ifndef HM_CORE_INGEST_BOUNDARY_H
#define HM_CORE_INGEST_BOUNDARY_H

#include "core/batch.h"

enum { BUFFER_STATE_MAX = 16 * 1024, BOUNDARY_ASK = 6 };

struct buffer {
    uint32_t session_no;      /* from the key; 0: there is none */
    uint32_t first_n, last_n; /* arrival numbers of its first and last living turn */
    uint32_t first_doc;       /* first document of the first turn */
    uint32_t last_doc;        /* last document of the last turn: where the next one links to */
    uint32_t turns;           /* living ones */
    uint32_t tokens;          /* sum of buffer_tokens() of their texts */
    int64_t start_ms, end_ms; /* least and greatest event time */
    int64_t last_ms;          /* event time of the last turn */
    int64_t arrival_ms;       /* server time of its last arrival: idle closing counts from here */
    uint32_t fresh;           /* turns since a model was asked last */
    uint8_t ask_failures;     /* of the question, in a row */
    int64_t ask_ms;           /* a model is asked from then on; 0: not yet */
    int64_t ask_failing_ms;   /* time of the first failure; 0: none */
    struct str state;         /* the boundary algorithm's; at most BUFFER_STATE_MAX bytes */
};

/* What a text counts against LIMIT_EPISODE_TOKENS: a quarter of its characters, rounded up. */
uint32_t buffer_tokens(struct str text);

/* One more turn behind the last. */
struct buffer_turn {
    uint32_t n, first_doc, last_doc, tokens;
    int64_t time_ms;
};
void buffer_append(struct buffer *buffer, const struct buffer_turn *turn);
/* All of it becomes *closed; the buffer is empty. */
void buffer_take_all(struct buffer *buffer, struct buffer *closed);

void buffer_encode(const struct buffer *buffer, struct buf *out);
/* `state` borrows from `value`. ERR_INTERNAL when damaged. */
enum err_code buffer_decode(struct str value, uint32_t session_no, struct buffer *buffer,
                            struct err *err) MUST_USE;
/* Absent: ERR_OK with session_no 0. */
enum err_code buffer_get(struct store_txn *txn, uint64_t space, uint32_t session_no,
                         struct buffer *buffer, struct err *err) MUST_USE;
/* The row: written, or deleted when turns is 0. */
void buffer_put(struct batch *batch, const struct buffer *buffer);
void buffer_check(const struct buffer *buffer);

#endif
