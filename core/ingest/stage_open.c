#include "core/ingest/boundary_cues.h"
#include "core/ingest/stage_int.h"

/* An empty one; NULL when memory is short. */
static struct open_buffer *push(struct stage_work *w, uint32_t session_no)
{
    if (w->n_open == w->cap_open) {
        uint32_t cap = w->cap_open == 0 ? 16 : w->cap_open * 2;
        struct open_buffer **more = ARENA_ARRAY(w->arena, struct open_buffer *, cap);
        if (more == NULL)
            return NULL;
        if (w->n_open != 0)
            memcpy(more, w->open, w->n_open * sizeof(struct open_buffer *));
        w->open = more;
        w->cap_open = cap;
    }
    struct open_buffer *open = ARENA_NEW(w->arena, struct open_buffer);
    if (open == NULL || !stage_map_set(&w->open_of, w->arena, session_no, w->n_open))
        return NULL;
    open->buffer.session_no = session_no;
    w->open[w->n_open++] = open;
    return open;
}

static void note_least(struct stage_work *w, const struct buffer *buffer)
{
    if (buffer->end_ms < w->least_end_ms)
        w->least_end_ms = buffer->end_ms;
    if (buffer->arrival_ms < w->least_arrival_ms)
        w->least_arrival_ms = buffer->arrival_ms;
}

static enum err_code read_all(struct stage_work *w, struct store_cursor *cursor, struct err *err)
{
    struct store_item item;
    enum err_code rc = store_cursor_seek(cursor, STR(""), &item, err);
    while (rc == ERR_OK && item.key.at != NULL) {
        if (item.key.len != 4)
            return err_set(err, ERR_INTERNAL, "a buffer has a wrong key");
        uint32_t session_no = be32_get(item.key.at);
        struct open_buffer *open = push(w, session_no);
        if (open == NULL)
            return stage__memory(err);
        rc = buffer_decode(item.value, session_no, &open->buffer, err);
        if (rc != ERR_OK)
            return rc;
        note_least(w, &open->buffer);
        rc = store_cursor_next(cursor, &item, err);
    }
    return rc;
}

enum err_code stage__open_all(struct stage_work *w, struct err *err)
{
    w->least_end_ms = w->least_arrival_ms = INT64_MAX;
    if (w->stat.v[STAT_OPEN] == 0)
        return ERR_OK;
    struct store_cursor *cursor = NULL;
    enum err_code rc = store_cursor_open(w->txn, w->space, KIND_BUFFER, &cursor, err);
    if (rc == ERR_OK)
        rc = read_all(w, cursor, err);
    store_cursor_close(cursor);
    return rc;
}

enum err_code stage__open_get(struct stage_work *w, uint32_t session_no, struct open_buffer **out,
                              struct err *err)
{
    const uint32_t *known = stage_map_find(&w->open_of, session_no);
    if (known != NULL) {
        *out = w->open[*known];
        return ERR_OK;
    }
    *out = push(w, session_no);
    if (*out == NULL)
        return stage__memory(err);
    (*out)->loaded = true;
    boundary_start(&(*out)->rule);
    return ERR_OK;
}

struct buffer stage__buffer_of(uint32_t session_no, struct said *const *turns, uint32_t n)
{
    struct buffer part = {.session_no = session_no, .state = STR("")};
    for (uint32_t i = 0; i < n; i++) {
        const struct turn *turn = &turns[i]->turn;
        buffer_append(&part, &(struct buffer_turn){.n = turn->n,
                                                   .first_doc = turn->doc,
                                                   .last_doc = turn->doc + turn->docs - 1,
                                                   .tokens = buffer_tokens(turn->text),
                                                   .time_ms = turn->time_ms});
    }
    return part;
}

struct open_buffer *stage__open_first(struct stage_work *w, stage_due_fn *is_due, const void *arg)
{
    struct open_buffer *first = NULL;
    for (uint32_t i = 0; i < w->n_open; i++) {
        struct open_buffer *open = w->open[i];
        if (open->buffer.turns != 0 && is_due(open, arg) &&
            (first == NULL || open->buffer.first_n < first->buffer.first_n))
            first = open;
    }
    return first;
}

/* --- the boundary's state --- */

static uint32_t count_words(const struct said *said)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < said->n_docs; i++) {
        const struct token_list *tokens = &said->docs[i].tokens;
        for (size_t k = 0; k < tokens->n; k++)
            n += (tokens->at[k].flags & TOKEN_PART) == 0;
    }
    return n;
}

enum err_code stage__features(struct stage_work *w, const struct said *said,
                              struct boundary_turn *out, struct err *err)
{
    const struct turn *turn = &said->turn;
    struct token_list *parts = ARENA_ARRAY(w->arena, struct token_list, said->n_docs);
    if (parts == NULL)
        return stage__memory(err);
    for (uint32_t i = 0; i < said->n_docs; i++)
        parts[i] = said->docs[i].tokens;
    unsigned flags = boundary_cues(turn->text);
    if (turn_is_machine(turn))
        flags |= BOUNDARY_MACHINE;
    *out = (struct boundary_turn){.n = turn->n,
                                  .first_doc = turn->doc,
                                  .last_doc = turn->doc + turn->docs - 1,
                                  .tokens = buffer_tokens(turn->text),
                                  .words = count_words(said),
                                  .time_ms = turn->time_ms,
                                  .flags = (uint8_t)flags};
    return cohesion_turn_of(w->arena, parts, said->n_docs, &out->terms, err);
}

enum err_code stage__add_names(struct stage_work *w, const struct said *said, struct boundary *rule,
                               struct err *err)
{
    struct token_list words;
    enum err_code rc =
        tokenizer_run(w->tokenizer, w->arena, turn_speaker(&said->turn), TOKEN_INDEX, &words, err);
    for (size_t i = 0; rc == ERR_OK && i < words.n; i++) {
        if ((words.at[i].flags & TOKEN_STOP) == 0)
            boundary_add_name(rule, words.at[i].term);
    }
    return rc;
}

static enum err_code replay_turn(struct stage_work *w, struct open_buffer *open,
                                 struct buffer *counted, uint32_t n, struct err *err)
{
    struct said *said;
    struct boundary_turn turn;
    enum err_code rc = said_read(&w->reader, n, &said, err);
    if (rc == ERR_OK && said == NULL)
        rc = err_set(err, ERR_INTERNAL, "turn %u of a buffer is not there", n);
    if (rc == ERR_OK)
        rc = stage__add_names(w, said, &open->rule, err);
    if (rc == ERR_OK)
        rc = stage__features(w, said, &turn, err);
    if (rc == ERR_OK)
        boundary_replay(&open->rule, counted, &turn);
    return rc;
}

static enum err_code replay(struct stage_work *w, struct open_buffer *open, struct err *err)
{
    struct said_numbers list;
    struct buffer counted = {.session_no = open->buffer.session_no};
    enum err_code rc = said_session(&w->reader, open->buffer.session_no, open->buffer.first_n,
                                    open->buffer.last_n, &list, err);
    boundary_start(&open->rule);
    for (uint32_t i = 0; rc == ERR_OK && i < list.n; i++)
        rc = replay_turn(w, open, &counted, list.at[i], err);
    if (rc == ERR_OK &&
        (counted.turns != open->buffer.turns || counted.first_n != open->buffer.first_n ||
         counted.last_n != open->buffer.last_n))
        rc = err_set(err, ERR_INTERNAL, "the buffer of session %u does not agree with its turns",
                     open->buffer.session_no);
    return rc;
}

enum err_code stage__open_load(struct stage_work *w, struct open_buffer *open, struct err *err)
{
    bool known;
    if (open->loaded)
        return ERR_OK;
    enum err_code rc = boundary_decode(&open->buffer, w->arena, &open->rule, &known, err);
    if (rc == ERR_OK && !known)
        rc = replay(w, open, err);
    open->loaded = rc == ERR_OK;
    return rc;
}

enum err_code stage__first_cut(struct stage_work *w, struct said *const *turns, uint32_t n,
                               uint32_t *count, struct err *err)
{
    struct boundary rule;
    struct buffer buffer = {.session_no = 1};
    enum err_code rc = ERR_OK;
    boundary_start(&rule);
    *count = 0;
    for (uint32_t i = 0; rc == ERR_OK && *count == 0 && i < n; i++) {
        struct boundary_turn turn;
        rc = stage__add_names(w, turns[i], &rule, err);
        if (rc == ERR_OK)
            rc = stage__features(w, turns[i], &turn, err);
        if (rc != ERR_OK)
            return rc;
        boundary_append(&rule, &buffer, &turn);
        *count = boundary_cut(&rule, &buffer, false);
    }
    return rc;
}

enum err_code stage__open_write(struct stage_work *w, struct err *err)
{
    for (uint32_t i = 0; i < w->n_open; i++) {
        struct open_buffer *open = w->open[i];
        if (!open->changed)
            continue;
        enum err_code rc = ERR_OK;
        if (open->buffer.turns != 0 && !w->by_model)
            rc = boundary_encode(&open->rule, w->arena, &open->buffer, err);
        if (rc != ERR_OK)
            return rc;
        buffer_put(w->batch, &open->buffer);
    }
    return ERR_OK;
}

/* When stage work is due again for the buffers' sake: 1 when a gap can be decided at once. */
uint64_t stage__open_due(const struct stage_work *w)
{
    int64_t least = INT64_MAX;
    for (uint32_t i = 0; i < w->n_open; i++) {
        const struct open_buffer *open = w->open[i];
        if (open->buffer.turns == 0)
            continue;
        if (open->changed && !w->by_model && boundary_has_cut(&open->rule, &open->buffer))
            return STAGE_DUE_NOW;
        int64_t at = open->buffer.arrival_ms + w->services->idle_close_ms;
        if (at < least)
            least = at;
    }
    if (least == INT64_MAX)
        return 0;
    return least > STAGE_DUE_NOW ? (uint64_t)least : STAGE_DUE_NOW + 1;
}
