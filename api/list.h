/* Pages: every list has `limit` and an opaque `cursor`, and no page costs more than a bounded scan
 * (DESIGN 10; PITFALLS 38).
 *
 *   {"turns":[…], "next_cursor":"…"}          no next_cursor on the last page
 *
 * A cursor is base64url of a version byte, a letter for the noun and the position behind which the
 * next page begins (an id, or a name). Ids only grow and names are sorted, so what is added or
 * deleted between two pages never shifts the others; there is no cap on depth. A page ends at
 * `limit` records, or when LIST_SCAN records were looked at, or LIST_BYTES were written: then it is
 * short and still has a next_cursor.
 *
 * Ids come from one of three places: all records of a kind, the turns of a session, the members of
 * a hyperedge. */
#ifndef HM_API_LIST_H
#define HM_API_LIST_H

#include "api/handler.h"
#include "core/graph/edge.h"

enum { LIST_SCAN = 20000, LIST_BYTES = 8 << 20, LIST_DEFAULT = 100 };

/* The first two parameter rows of every list. */
#define LIST_ROWS                                                                                  \
    {.name = "limit",                                                                              \
     .type = PARAM_UINT,                                                                           \
     .min = 1,                                                                                     \
     .max = LIMIT_LIST,                                                                            \
     .fallback = LIST_DEFAULT,                                                                     \
     .doc = "records a page"},                                                                     \
    {                                                                                              \
        .name = "cursor", .type = PARAM_TEXT, .max = 1024, .doc = "next_cursor of the last page"   \
    }
enum { LIST_LIMIT, LIST_CURSOR };

/* A cursor's text; .at NULL when memory is short. */
struct str list_cursor_make(struct arena *arena, char noun, struct str position);
/* ERR_INVALID: not one of ours, or of another list. */
enum err_code list_cursor_read(struct arena *arena, struct str cursor, char noun,
                               struct str *position, struct err *err) MUST_USE;

/* Where ids come from, in ascending order, beginning behind the cursor. */
struct list_ids {
    struct store_txn *txn;
    uint64_t space;
    enum store_kind kind;        /* of the records */
    struct store_cursor *cursor; /* NULL: from the edge */
    bool session;                /* keys are those of SESSION_TURN */
    uint32_t session_no;
    uint32_t after;
    bool started;
    struct edge edge;
    uint32_t edge_at;
};

struct list_record {
    uint32_t id;      /* 0: the end */
    struct str value; /* absent when an edge names what is gone */
};

struct list_page {
    struct api_call *call;
    struct json_out out;
    char noun;
    uint32_t limit;
    uint32_t after; /* from the cursor */
    uint32_t n;     /* written */
    uint32_t scanned;
    uint32_t last; /* looked at */
    bool end;
};

/* Reads limit and cursor and opens the reply's array. */
enum err_code list_begin(struct list_page *page, struct api_call *call, char noun,
                         const char *array, struct err *err) MUST_USE;
/* Sources; close with list_ids_close(). */
enum err_code list_ids_all(struct list_ids *ids, const struct list_page *page,
                           struct store_txn *txn, enum store_kind kind, struct err *err) MUST_USE;
enum err_code list_ids_session(struct list_ids *ids, const struct list_page *page,
                               struct store_txn *txn, struct str session, struct err *err) MUST_USE;
/* `edge_kind` is KIND_TOPIC_EDGE (records are episodes) or KIND_EPISODE_EDGE (facts). */
enum err_code list_ids_edge(struct list_ids *ids, const struct list_page *page,
                            struct store_txn *txn, enum store_kind edge_kind, uint32_t parent,
                            struct err *err) MUST_USE;
void list_ids_close(struct list_ids *ids);

/* The next record to look at; false at the end of the page or of the records. */
bool list_next(struct list_page *page, struct list_ids *ids, struct list_record *record,
               enum err_code *code, struct err *err);
/* Closes the array and writes next_cursor if there is more. */
enum err_code list_finish(struct list_page *page, struct list_ids *ids, struct err *err) MUST_USE;

#endif
