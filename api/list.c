#include "api/list.h"

#include "core/base/limits.h"

enum { CURSOR_VERSION = 1 };

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/* --- cursors --- */

struct str list_cursor_make(struct arena *arena, char noun, struct str position)
{
    const unsigned char head[2] = {CURSOR_VERSION, (unsigned char)noun};
    struct buf text;
    buf_init(&text, arena, 2048);
    uint32_t bits = 0;
    unsigned have = 0;
    for (size_t i = 0; i < position.len + 2; i++) {
        bits = bits << 8 | (i < 2 ? head[i] : (unsigned char)position.at[i - 2]);
        have += 8;
        while (have >= 6) {
            have -= 6;
            buf_char(&text, digits[bits >> have & 63]);
        }
    }
    if (have != 0)
        buf_char(&text, digits[bits << (6 - have) & 63]);
    return buf_ok(&text) ? buf_str(&text) : STR_NONE;
}

/* The bytes; false when a character is none of ours or bits are left over that no encoder writes.
 * */
static bool decode(struct str cursor, struct buf *bytes)
{
    uint32_t bits = 0;
    unsigned have = 0;
    for (size_t i = 0; i < cursor.len; i++) {
        const char *digit = cursor.at[i] == '\0' ? NULL : strchr(digits, cursor.at[i]);
        if (digit == NULL)
            return false;
        bits = bits << 6 | (uint32_t)(digit - digits);
        have += 6;
        if (have >= 8) {
            have -= 8;
            buf_u8(bytes, (uint8_t)(bits >> have));
        }
    }
    return have < 6 && (bits & ((1u << have) - 1)) == 0;
}

enum err_code list_cursor_read(struct arena *arena, struct str cursor, char noun,
                               struct str *position, struct err *err)
{
    struct buf bytes;
    buf_init(&bytes, arena, 2048);
    bool fine = decode(cursor, &bytes) && bytes.len > 2 && bytes.at[0] == CURSOR_VERSION &&
                bytes.at[1] == noun;
    if (!buf_ok(&bytes))
        return err_set(err, ERR_EXHAUSTED, "no memory for the cursor");
    if (!fine)
        return err_set_param(err, ERR_INVALID, "cursor", "this is no cursor of this list");
    *position = str_part(buf_str(&bytes), 2, bytes.len);
    return ERR_OK;
}

/* --- sources --- */

static struct list_ids source(const struct list_page *page, struct store_txn *txn,
                              enum store_kind kind)
{
    return (struct list_ids){
        .txn = txn, .space = visit_of(page->call)->space, .kind = kind, .after = page->after};
}

enum err_code list_ids_all(struct list_ids *ids, const struct list_page *page,
                           struct store_txn *txn, enum store_kind kind, struct err *err)
{
    *ids = source(page, txn, kind);
    return store_cursor_open(txn, ids->space, kind, &ids->cursor, err);
}

enum err_code list_ids_session(struct list_ids *ids, const struct list_page *page,
                               struct store_txn *txn, struct str session, struct err *err)
{
    struct str value;
    *ids = source(page, txn, KIND_TURN);
    enum err_code code = store_get(txn, ids->space, KIND_SESSION, session, &value, err);
    if (code != ERR_OK || value.len != 4) /* unknown: an edge without members */
        return code;
    ids->session = true;
    ids->session_no = le32_get(value.at);
    return store_cursor_open(txn, ids->space, KIND_SESSION_TURN, &ids->cursor, err);
}

enum err_code list_ids_edge(struct list_ids *ids, const struct list_page *page,
                            struct store_txn *txn, enum store_kind edge_kind, uint32_t parent,
                            struct err *err)
{
    *ids = source(page, txn, edge_kind == KIND_TOPIC_EDGE ? KIND_EPISODE : KIND_FACT);
    return edge_get(txn, ids->space, edge_kind, parent, page->call->arena, &ids->edge, err);
}

void list_ids_close(struct list_ids *ids)
{
    store_cursor_close(ids->cursor);
    ids->cursor = NULL;
}

static enum err_code next_member(struct list_ids *ids, struct list_record *record, struct err *err)
{
    while (ids->edge_at < ids->edge.n && ids->edge.at[ids->edge_at].id <= ids->after)
        ids->edge_at++;
    if (ids->edge_at == ids->edge.n)
        return ERR_OK;
    record->id = ids->edge.at[ids->edge_at++].id;
    return store_get_u32(ids->txn, ids->space, ids->kind, record->id, &record->value, err);
}

static enum err_code step_cursor(struct list_ids *ids, struct store_item *item, struct err *err)
{
    char key[8];
    if (ids->started)
        return store_cursor_next(ids->cursor, item, err);
    ids->started = true;
    size_t at = ids->session ? 4 : 0;
    if (ids->session)
        be32_set(key, ids->session_no);
    be32_set(key + at, ids->after + 1);
    return store_cursor_seek(ids->cursor, (struct str){key, at + 4}, item, err);
}

static enum err_code next_row(struct list_ids *ids, struct list_record *record, struct err *err)
{
    struct store_item item;
    size_t at = ids->session ? 4 : 0;
    if (ids->after == UINT32_MAX)
        return ERR_OK;
    enum err_code code = step_cursor(ids, &item, err);
    if (code != ERR_OK || item.key.at == NULL)
        return code;
    if (item.key.len != at + 4)
        return err_set(err, ERR_INTERNAL, "a damaged key in a list");
    if (ids->session && be32_get(item.key.at) != ids->session_no)
        return ERR_OK;
    record->id = be32_get(item.key.at + at);
    record->value = item.value;
    return ids->session
               ? store_get_u32(ids->txn, ids->space, ids->kind, record->id, &record->value, err)
               : ERR_OK;
}

static enum err_code next(struct list_ids *ids, struct list_record *record, struct err *err)
{
    *record = (struct list_record){0, STR_NONE};
    return ids->cursor != NULL ? next_row(ids, record, err) : next_member(ids, record, err);
}

/* --- pages --- */

enum err_code list_begin(struct list_page *page, struct api_call *call, char noun,
                         const char *array, struct err *err)
{
    const struct param *cursor = param_at(call, LIST_CURSOR);
    *page = (struct list_page){.call = call, .noun = noun};
    page->limit = (uint32_t)param_at(call, LIST_LIMIT)->number;
    if (cursor->given) {
        struct str position = STR_NONE;
        enum err_code code = list_cursor_read(call->arena, cursor->text, noun, &position, err);
        if (code != ERR_OK)
            return code;
        if (position.len != 4)
            return err_set_param(err, ERR_INVALID, "cursor", "this is no cursor of this list");
        page->after = be32_get(position.at);
    }
    page->last = page->after;
    page->out = reply_json(call);
    out_object(&page->out, NULL);
    out_array(&page->out, array);
    return ERR_OK;
}

bool list_next(struct list_page *page, struct list_ids *ids, struct list_record *record,
               enum err_code *code, struct err *err)
{
    if (*code != ERR_OK) /* also before list_begin() has opened the reply */
        return false;
    bool room = page->n < page->limit && page->scanned < LIST_SCAN &&
                page->out.buf->len < LIST_BYTES && buf_ok(page->out.buf);
    if (!room)
        return false;
    *code = next(ids, record, err);
    page->end = *code == ERR_OK && record->id == 0;
    if (*code != ERR_OK || page->end)
        return false;
    page->last = record->id;
    page->scanned++;
    return true;
}

enum err_code list_finish(struct list_page *page, struct list_ids *ids, struct err *err)
{
    struct list_record more = {1, STR_NONE};
    enum err_code code = page->end ? ERR_OK : next(ids, &more, err);
    if (code != ERR_OK)
        return code;
    out_end(&page->out);
    if (!page->end && more.id != 0) {
        char position[4];
        be32_set(position, page->last);
        struct str cursor =
            list_cursor_make(page->call->arena, page->noun, (struct str){position, 4});
        if (cursor.at == NULL)
            return err_set(err, ERR_EXHAUSTED, "no memory for the cursor");
        out_str(&page->out, "next_cursor", cursor);
    }
    out_end(&page->out);
    return ERR_OK;
}
