/* Columns: fixed-width rows beside the records, so that a query scores and filters without reading
 * a record (DESIGN 7: no stage walks records). COLUMN_ROWS rows to a value (KIND_COLUMN, key column
 * byte, b32 block); a row that was never written is all zero. They repeat what the records say;
 * fsck compares.
 *
 * COLUMN_TURN         by turn-layer document
 * COLUMN_FACT         by fact id - 1
 * COLUMN_EPISODE      by episode id - 1
 * COLUMN_TOPIC        by topic id - 1
 * COLUMN_EPISODE_DOC  by episode-layer document: the episode's id (u32)
 * COLUMN_TOPIC_DOC    by topic-layer document: the topic's id (u32) */
#ifndef HM_CORE_INDEX_COLUMN_H
#define HM_CORE_INDEX_COLUMN_H

#include "core/batch.h"

enum column {
    COLUMN_TURN,
    COLUMN_FACT,
    COLUMN_EPISODE,
    COLUMN_TOPIC,
    COLUMN_EPISODE_DOC,
    COLUMN_TOPIC_DOC,
    COLUMNS
};
enum { COLUMN_ROWS = 32 };

enum {
    TURN_ROW_DONE = 1, /* its episode's facts are committed: no longer `recent` */
    TURN_ROW_MORE = 2, /* FACT_SOURCE rows name further facts of this turn */
    TURN_ROW_LATER = 4 /* not the first document of its turn */
};

/* Links are document + 1 within the session in arrival order, 0 none; boundary sets them when it
 * looks at the turn. Deleted turns are unlinked. */
struct turn_row {
    uint32_t n;
    uint32_t session_no;
    uint32_t speaker_no;
    uint32_t prev, next;
    uint32_t episode;    /* id; 0 while it rests in a buffer */
    uint32_t fact_first; /* facts made of this document: ids fact_first .. + fact_count - 1 */
    uint16_t fact_count; /* deleted ones among them are dead in the index */
    uint8_t flags;
    uint8_t prior; /* how much its facts state: sum over the distinct terms of its facts of
                              min(8, bytes of the term), facts that are questions half, speakers'
                              names not; at most 255. Set with TURN_ROW_DONE; recall/score.c */
    int64_t time_ms;
};
struct fact_row {
    uint32_t turn_doc; /* of its first living source */
    uint32_t episode;  /* of that turn */
    uint32_t speaker_no;
    uint32_t key_mark; /* fact_key_mark() */
    int64_t valid_from, valid_to;
};
struct episode_row {
    uint32_t doc;
    uint32_t session_no;
    uint32_t topics[2];
    uint32_t first_doc; /* turn layer */
    uint32_t turns;     /* 0: the episode is gone */
    int64_t start_ms, end_ms;
};
struct topic_row {
    uint32_t doc;
    uint32_t chain;
    uint32_t episodes; /* 0: the topic is gone */
    uint32_t reserved;
    int64_t start_ms, end_ms;
};
_Static_assert(sizeof(struct turn_row) == 40, "layout on disk");
_Static_assert(sizeof(struct fact_row) == 32, "layout on disk");
_Static_assert(sizeof(struct episode_row) == 40, "layout on disk");
_Static_assert(sizeof(struct topic_row) == 32, "layout on disk");

uint32_t column_width(enum column column);

/* Writes `n` rows from `row` on; returns the operation for batch_fix() (FIX_ROW and FIX_VALUE). */
uint32_t column_put(struct batch *batch, enum column column, uint32_t row, const void *rows,
                    uint32_t n);

struct columns;
struct columns *columns_new(struct store_txn *txn, uint64_t space, struct arena *arena);
/* Reads a whole column's blocks in one walk, a twentieth of what it costs to find each by its key;
 * for who will touch many. Changes no answer. */
void columns_read_all(struct columns *c, enum column column);
/* Asks the processor for the block of rows that holds one that will be read soon, when the block
 * is known. */
void columns_turn_ahead(const struct columns *c, uint32_t doc);
/* Copies out the COLUMN_ROWS rows of the block that holds `doc`; zero where never written. */
void columns_turn_block(struct columns *c, uint32_t doc, struct turn_row rows[COLUMN_ROWS]);
/* Copies the row out; zero when it was never written. Read errors stay: columns_error(). */
void columns_turn(struct columns *c, uint32_t doc, struct turn_row *row);
void columns_fact(struct columns *c, uint32_t fact_id, struct fact_row *row);
void columns_episode(struct columns *c, uint32_t episode_id, struct episode_row *row);
void columns_topic(struct columns *c, uint32_t topic_id, struct topic_row *row);
uint32_t columns_episode_of_doc(struct columns *c, uint32_t doc);
uint32_t columns_topic_of_doc(struct columns *c, uint32_t doc);
enum err_code columns_error(const struct columns *c, struct err *err) MUST_USE;

#endif
