/* Turns that go: records, rows, links, buffers. */
#include "core/base/limits.h"
#include "core/ingest/remove_int.h"

/* Its neighbours in the session meet; each row is changed in the table, so neighbours that both go
 * compose. */
static enum err_code unlink_doc(struct removal *r, uint32_t doc, struct err *err)
{
    struct remove_row *row;
    enum err_code rc = remove__row(r, doc, &row, err);
    if (rc != ERR_OK)
        return rc;
    row->gone = true;
    struct remove_row *other;
    if (row->row.prev != 0) {
        rc = remove__row(r, row->row.prev - 1, &other, err);
        if (rc != ERR_OK)
            return rc;
        other->row.next = row->row.next;
    }
    if (row->row.next != 0) {
        rc = remove__row(r, row->row.next - 1, &other, err);
        if (rc != ERR_OK)
            return rc;
        other->row.prev = row->row.prev;
    }
    return ERR_OK;
}

static enum err_code take_buffer(struct removal *r, uint32_t session_no, struct err *err)
{
    if (remove__find(&r->buffers, session_no) != NULL)
        return ERR_OK;
    struct buffer buffer;
    enum err_code rc = buffer_get(r->txn, r->space, session_no, &buffer, err);
    if (rc != ERR_OK)
        return rc;
    if (buffer.session_no == 0)
        return err_set(err, ERR_INTERNAL, "the buffer of session %u is missing", session_no);
    struct remove_buffer *entry = remove__add(r, &r->buffers, session_no, sizeof *entry);
    if (entry == NULL)
        return remove__memory(err);
    entry->buffer = buffer;
    return ERR_OK;
}

/* Where the turn stands: not looked at, in a buffer, or in an episode. */
static enum err_code take_place(struct removal *r, const struct turn *turn,
                                const struct turn_row *row, struct err *err)
{
    if (row->episode != 0) {
        r->unfinished += (row->flags & TURN_ROW_DONE) == 0;
        struct remove_episode *episode;
        enum err_code rc = remove__episode(r, row->episode, &episode, err);
        if (rc == ERR_OK)
            episode->lost = true;
        return rc;
    }
    if (turn->n > r->stat.v[STAT_LOOKED]) {
        r->pending++;
        return ERR_OK;
    }
    r->open++;
    return take_buffer(r, turn->session_no, err);
}

enum err_code remove__take_turn(struct removal *r, const struct turn *turn, struct err *err)
{
    if (remove__find(&r->turns, turn->n) != NULL)
        return ERR_OK;
    struct remove_turn *entry = remove__add(r, &r->turns, turn->n, sizeof *entry);
    if (entry == NULL)
        return remove__memory(err);
    entry->turn = *turn;
    r->text_bytes += turn->text_len;
    struct remove_row *first;
    enum err_code rc = remove__row(r, turn->doc, &first, err);
    if (rc == ERR_OK)
        rc = take_place(r, turn, &first->row, err);
    for (uint32_t i = 0; rc == ERR_OK && i < turn->docs; i++)
        rc = unlink_doc(r, turn->doc + i, err);
    return rc;
}

/* --- buffers --- */

/* The arrival stays: somebody was there, and IDLE_DUE was counted from it. */
static enum err_code settle_buffer(struct removal *r, struct remove_buffer *entry, struct err *err)
{
    struct buffer *buffer = &entry->buffer;
    struct remove_range range = {.session_no = buffer->session_no,
                                 .first_n = buffer->first_n,
                                 .last_n = buffer->last_n,
                                 .cap = buffer->turns,
                                 .texts = true};
    struct turn *turns;
    uint32_t n;
    enum err_code rc = remove__remaining(r, &range, &turns, &n, err);
    if (rc != ERR_OK)
        return rc;
    buffer->turns = n;
    if (n == 0)
        return ERR_OK;
    const struct turn *last = &turns[n - 1];
    buffer->first_n = turns[0].n;
    buffer->last_n = last->n;
    buffer->first_doc = turns[0].doc;
    buffer->last_doc = last->doc + last->docs - 1;
    buffer->last_ms = last->time_ms;
    buffer->start_ms = buffer->end_ms = last->time_ms;
    buffer->tokens = 0;
    buffer->state = STR("");
    for (uint32_t i = 0; i < n; i++) {
        buffer->tokens += buffer_tokens(turns[i].text);
        if (turns[i].time_ms < buffer->start_ms)
            buffer->start_ms = turns[i].time_ms;
        if (turns[i].time_ms > buffer->end_ms)
            buffer->end_ms = turns[i].time_ms;
    }
    return ERR_OK;
}

enum err_code remove__settle_buffers(struct removal *r, struct err *err)
{
    enum err_code rc = ERR_OK;
    for (struct remove_node *node = r->buffers.first; rc == ERR_OK && node != NULL;
         node = node->next)
        rc = settle_buffer(r, (struct remove_buffer *)(void *)node, err);
    return rc;
}

/* --- writing --- */

static struct str pair_key(char key[8], uint32_t a, uint32_t b)
{
    be32_set(key, a);
    be32_set(key + 4, b);
    return (struct str){key, 8};
}

static void write_finders(struct removal *r, const struct turn *turn)
{
    char key[8];
    (void)batch_del(r->batch, KIND_SESSION_TURN, pair_key(key, turn->session_no, turn->n), 0);
    if (turn->id.len != 0)
        (void)batch_del(r->batch, KIND_TURN_ID, turn->id, 0);
    if (turn->text_len <= LIMIT_PART_BYTES)
        return;
    for (uint32_t part = 0; part * LIMIT_PART_BYTES < turn->text_len; part++)
        (void)batch_del(r->batch, KIND_TEXT, pair_key(key, turn->n, part), 0);
}

static enum err_code delete_sources(struct removal *r, struct store_cursor *cursor, uint32_t n,
                                    struct err *err)
{
    char prefix[4];
    be32_set(prefix, n);
    struct str start = {prefix, sizeof prefix};
    struct store_item item;
    enum err_code rc = store_cursor_seek(cursor, start, &item, err);
    while (rc == ERR_OK && item.key.at != NULL && str_starts(item.key, start)) {
        (void)batch_del(r->batch, KIND_FACT_SOURCE, item.key, 0);
        rc = store_cursor_next(cursor, &item, err);
    }
    return rc;
}

static enum err_code write_turn(struct removal *r, struct store_cursor *sources,
                                const struct turn *turn, struct err *err)
{
    (void)batch_del_u32(r->batch, KIND_TURN, turn->n, 0);
    write_finders(r, turn);
    enum err_code rc = delete_sources(r, sources, turn->n, err);
    if (rc == ERR_OK)
        rc = remove__blank(r, KIND_TURN, turn->n, err);
    for (uint32_t i = 0; rc == ERR_OK && i < turn->docs; i++)
        rc = remove__kill(r, LAYER_TURN, turn->doc + i, err);
    return rc;
}

static void write_rows(struct removal *r)
{
    for (struct remove_node *node = r->rows.first; node != NULL; node = node->next) {
        struct remove_row *entry = (struct remove_row *)(void *)node;
        if (entry->gone)
            entry->row = (struct turn_row){0};
        (void)column_put(r->batch, COLUMN_TURN, node->id - 1, &entry->row, 1);
    }
}

static void write_counters(struct removal *r)
{
    batch_add(r->batch, STAT_TURNS, -(int64_t)r->turns.n);
    batch_add(r->batch, STAT_PENDING, -(int64_t)r->pending);
    batch_add(r->batch, STAT_OPEN, -(int64_t)r->open);
    batch_add(r->batch, STAT_UNFINISHED, (int64_t)r->reopened - (int64_t)r->unfinished);
    batch_add(r->batch, STAT_TEXT_BYTES, -(int64_t)r->text_bytes);
    if (r->open != 0 && r->stat.v[STAT_OPEN] == r->open)
        batch_set(r->batch, STAT_IDLE_DUE, 0);
}

enum err_code remove__write_turns(struct removal *r, struct err *err)
{
    struct store_cursor *sources = NULL;
    enum err_code rc = store_cursor_open(r->txn, r->space, KIND_FACT_SOURCE, &sources, err);
    for (struct remove_node *node = r->turns.first; rc == ERR_OK && node != NULL; node = node->next)
        rc = write_turn(r, sources, &((struct remove_turn *)(void *)node)->turn, err);
    store_cursor_close(sources);
    if (rc != ERR_OK)
        return rc;
    write_rows(r);
    for (struct remove_node *node = r->buffers.first; node != NULL; node = node->next)
        buffer_put(r->batch, &((struct remove_buffer *)(void *)node)->buffer);
    write_counters(r);
    remove__log_sorted(r, KIND_TURN, r->gone_turns, r->n_gone_turns);
    return ERR_OK;
}
