#include "core/base/limits.h"
#include "core/ingest/stage_int.h"

enum {
    UNIT_TURNS = 256,        /* looked at in one unit without a cut */
    UNIT_BYTES = 512 * 1024, /* of their text */
};

/* --- what was read --- */

static enum err_code keep_said(struct stage_work *w, struct said *said, struct err *err)
{
    struct stage_reading *r = w->reading;
    if (r->n_said == r->cap_said) {
        uint32_t cap = r->cap_said == 0 ? 64 : r->cap_said * 2;
        struct said **more = ARENA_ARRAY(w->arena, struct said *, cap);
        if (more == NULL)
            return stage__memory(err);
        if (r->n_said != 0)
            memcpy(more, r->said, r->n_said * sizeof(struct said *));
        r->said = more;
        r->cap_said = cap;
    }
    r->said[r->n_said++] = said;
    return ERR_OK;
}

/* --- closing --- */

/* The first `turns` turns of the buffer are the episode of this unit. */
static void take(struct stage_work *w, struct open_buffer *open, uint32_t turns)
{
    ASSERT(w->closing.turns == 0);
    if (w->by_model)
        buffer_take_all(&open->buffer, &w->closing);
    else
        boundary_take(&open->rule, &open->buffer, turns, &w->closing);
    open->changed = true;
    w->opened -= turns;
    w->changed = true;
}

/* Nothing more will come to this buffer: what is left of it, up to the next certain cut. */
static enum err_code close_rest(struct stage_work *w, struct open_buffer *open, struct err *err)
{
    if (w->by_model) {
        take(w, open, open->buffer.turns);
        return ERR_OK;
    }
    enum err_code rc = stage__open_load(w, open, err);
    if (rc != ERR_OK)
        return rc;
    uint32_t turns = boundary_cut(&open->rule, &open->buffer, true);
    take(w, open, turns != 0 ? turns : open->buffer.turns);
    return ERR_OK;
}

/* --- what makes a buffer close --- */

struct arrival {
    const struct turn *turn;
    int64_t idle_close_ms;
};

static bool is_left_behind(const struct open_buffer *open, const void *arg)
{
    const struct arrival *a = arg;
    return open->buffer.session_no != a->turn->session_no &&
           a->turn->time_ms - open->buffer.end_ms >= GAP_MS;
}

static bool was_idle(const struct open_buffer *open, const void *arg)
{
    const struct arrival *a = arg;
    return a->turn->received_ms - open->buffer.arrival_ms >= a->idle_close_ms;
}

/* A buffer that the clock had closed before this turn came, or that its time tells is over. */
static struct open_buffer *closed_by(struct stage_work *w, const struct turn *turn)
{
    const struct arrival arrival = {turn, w->services->idle_close_ms};
    struct open_buffer *open = NULL;
    if (w->n_open == 0)
        return NULL;
    if (turn->received_ms - w->least_arrival_ms >= arrival.idle_close_ms)
        open = stage__open_first(w, was_idle, &arrival);
    if (open == NULL && turn->time_ms - w->least_end_ms >= GAP_MS)
        open = stage__open_first(w, is_left_behind, &arrival);
    return open;
}

static bool is_apart(const struct buffer *buffer, const struct turn *turn)
{
    int64_t gap = turn->time_ms - buffer->last_ms;
    return buffer->turns != 0 && (gap >= GAP_MS || gap <= -GAP_MS);
}

/* --- one turn --- */

/* Last document of the session's turn before n, + 1; 0: none. */
static enum err_code find_previous(struct stage_work *w, const struct turn *turn, uint32_t *link,
                                   struct err *err)
{
    char key[8];
    struct store_item item;
    struct store_cursor *cursor = NULL;
    struct turn before = {.n = 0};
    be32_set(key, turn->session_no);
    be32_set(key + 4, turn->n);
    enum err_code rc = store_cursor_open(w->txn, w->space, KIND_SESSION_TURN, &cursor, err);
    if (rc == ERR_OK)
        rc = store_cursor_seek_before(cursor, (struct str){key, sizeof key}, &item, err);
    if (rc == ERR_OK && item.key.len == 8 && be32_get(item.key.at) == turn->session_no)
        rc = turn_get(w->txn, w->space, be32_get(item.key.at + 4), &before, err);
    store_cursor_close(cursor);
    *link = before.n == 0 ? 0 : before.doc + before.docs;
    return rc;
}

static bool set_link(struct stage_work *w, uint32_t left, uint32_t right)
{
    struct turn_row *row = stage__row(w, left);
    if (row == NULL)
        return false;
    row->next = right + 1;
    row = stage__row(w, right);
    if (row == NULL)
        return false;
    row->prev = left + 1;
    return true;
}

static enum err_code link_turn(struct stage_work *w, const struct buffer *buffer,
                               const struct turn *turn, struct err *err)
{
    uint32_t link = buffer->turns != 0 ? buffer->last_doc + 1 : 0;
    enum err_code rc = ERR_OK;
    if (buffer->turns == 0)
        rc = find_previous(w, turn, &link, err);
    if (rc != ERR_OK)
        return rc;
    bool ok = link == 0 || set_link(w, link - 1, turn->doc);
    for (uint32_t i = 1; ok && i < turn->docs; i++)
        ok = set_link(w, turn->doc + i - 1, turn->doc + i);
    return ok ? ERR_OK : stage__memory(err);
}

/* The built-in rule sees the turn. */
static enum err_code append_by_rule(struct stage_work *w, struct open_buffer *open,
                                    const struct said *said, struct err *err)
{
    struct boundary_turn turn;
    enum err_code rc = stage__open_load(w, open, err);
    if (rc == ERR_OK)
        rc = stage__add_names(w, said, &open->rule, err);
    if (rc == ERR_OK)
        rc = stage__features(w, said, &turn, err);
    if (rc == ERR_OK)
        boundary_append(&open->rule, &open->buffer, &turn);
    return rc;
}

/* A model is asked when enough is new. */
static void append_for_model(struct stage_work *w, struct buffer *buffer, const struct turn *turn)
{
    buffer_append(buffer, &(struct buffer_turn){.n = turn->n,
                                                .first_doc = turn->doc,
                                                .last_doc = turn->doc + turn->docs - 1,
                                                .tokens = buffer_tokens(turn->text),
                                                .time_ms = turn->time_ms});
    buffer->state = STR(""); /* of the rule: not known */
    buffer->fresh++;
    if (buffer->fresh >= BOUNDARY_ASK && buffer->ask_ms == 0)
        buffer->ask_ms = w->now_ms;
}

static enum err_code append(struct stage_work *w, struct open_buffer *open, struct said *said,
                            struct err *err)
{
    enum err_code rc = link_turn(w, &open->buffer, &said->turn, err);
    if (rc == ERR_OK)
        rc = keep_said(w, said, err);
    if (rc == ERR_OK && w->by_model)
        append_for_model(w, &open->buffer, &said->turn);
    else if (rc == ERR_OK)
        rc = append_by_rule(w, open, said, err);
    if (rc != ERR_OK)
        return rc;
    open->buffer.arrival_ms = said->turn.received_ms;
    open->changed = true;
    if (open->buffer.end_ms < w->least_end_ms)
        w->least_end_ms = open->buffer.end_ms;
    if (open->buffer.arrival_ms < w->least_arrival_ms)
        w->least_arrival_ms = open->buffer.arrival_ms;
    w->looked = said->turn.n;
    w->n_looked++;
    w->looked_bytes += said->turn.text_len;
    w->opened++;
    w->changed = true;
    return ERR_OK;
}

/* The hard cut, whatever a model may say: turns of an episode that can't grow. */
static uint32_t full_length(const struct buffer *buffer)
{
    bool full = buffer->turns >= LIMIT_EPISODE_TURNS || buffer->tokens >= LIMIT_EPISODE_TOKENS;
    return full ? buffer->turns : 0;
}

/* Either closes a buffer, and the turn comes again in the next unit, or takes the turn in. */
static enum err_code look_at(struct stage_work *w, struct turn *turn, struct err *err)
{
    struct open_buffer *open = closed_by(w, turn);
    struct said *said;
    if (open != NULL)
        return close_rest(w, open, err);
    enum err_code rc = stage__open_get(w, turn->session_no, &open, err);
    if (rc == ERR_OK)
        rc = turn_load_text(w->txn, w->space, w->arena, turn, err);
    if (rc != ERR_OK)
        return rc;
    bool alone = buffer_tokens(turn->text) > LIMIT_EPISODE_TOKENS;
    if (open->buffer.turns != 0 && (alone || is_apart(&open->buffer, turn)))
        return close_rest(w, open, err);
    rc = said_of(&w->reader, turn, &said, err);
    if (rc == ERR_OK)
        rc = append(w, open, said, err);
    if (rc != ERR_OK)
        return rc;
    uint32_t turns =
        w->by_model ? full_length(&open->buffer) : boundary_cut(&open->rule, &open->buffer, false);
    if (turns != 0)
        take(w, open, turns);
    return ERR_OK;
}

/* --- flushes --- */

static bool is_flushed(const struct open_buffer *open, const void *arg)
{
    const uint32_t *session_no = arg;
    return session_no == NULL || open->buffer.session_no == *session_no;
}

static void note_flush(struct stage_work *w, const struct job *flush)
{
    char key[8];
    struct job job = *flush;
    struct buf row;
    be64_set(key, job.seq);
    buf_init(&row, w->arena, 4096);
    job.state = JOB_RUNNING;
    job.updated_ms = w->now_ms;
    job_encode(&job, &row);
    if (!buf_ok(&row))
        w->batch->failed = true;
    (void)batch_put(w->batch, KIND_JOB, (struct str){key, sizeof key}, buf_str(&row), 0);
}

/* Closes one buffer, or finds that none is left and ends the flush; the last one does both. */
static enum err_code do_flush(struct stage_work *w, struct job *flush, struct err *err)
{
    struct str value;
    uint32_t session_no = 0;
    enum err_code rc = ERR_OK;
    if (!flush->all_sessions)
        rc = store_get(w->txn, w->space, KIND_SESSION, flush->session, &value, err);
    if (rc == ERR_OK && !flush->all_sessions && value.len == 4)
        session_no = le32_get(value.at);
    const uint32_t *only = flush->all_sessions ? NULL : &session_no;
    struct open_buffer *open = stage__open_first(w, is_flushed, only);
    if (rc == ERR_OK && open != NULL) {
        rc = close_rest(w, open, err);
        flush->closed++;
    }
    if (rc != ERR_OK)
        return rc;
    w->changed = true;
    if (stage__open_first(w, is_flushed, only) != NULL)
        note_flush(w, flush);
    else
        flush_complete(w->batch, flush, flush->closed, w->now_ms);
    return ERR_OK;
}

/* --- the walk --- */

static bool can_cut(const struct open_buffer *open, const void *arg)
{
    (void)arg;
    return open->loaded && boundary_has_cut(&open->rule, &open->buffer);
}

/* An earlier unit closed one episode and left a gap undecided that needs no further turn. */
static enum err_code finish_cuts(struct stage_work *w, struct err *err)
{
    enum err_code rc = ERR_OK;
    for (uint32_t i = 0; rc == ERR_OK && i < w->n_open; i++)
        rc = stage__open_load(w, w->open[i], err);
    struct open_buffer *open = rc == ERR_OK ? stage__open_first(w, can_cut, NULL) : NULL;
    if (open != NULL)
        take(w, open, boundary_cut(&open->rule, &open->buffer, false));
    return rc;
}

static enum err_code close_idle(struct stage_work *w, struct err *err)
{
    const struct turn now = {.received_ms = w->now_ms};
    const struct arrival arrival = {&now, w->services->idle_close_ms};
    struct open_buffer *open = stage__open_first(w, was_idle, &arrival);
    return open == NULL ? ERR_OK : close_rest(w, open, err);
}

static bool is_full(const struct stage_work *w)
{
    return w->n_looked >= UNIT_TURNS || w->looked_bytes >= UNIT_BYTES;
}

/* Turns up to the one that closes an episode, or the flush's place, or the end. */
static enum err_code walk_turns(struct stage_work *w, struct store_cursor *cursor,
                                struct job *flush, struct err *err)
{
    char key[4];
    struct store_item item;
    be32_set(key, w->looked + 1);
    enum err_code rc = store_cursor_seek(cursor, (struct str){key, sizeof key}, &item, err);
    while (rc == ERR_OK) {
        struct turn turn = {.n = 0};
        if (item.key.at != NULL)
            rc = turn_decode(item.value, be32_get(item.key.at), &turn, err);
        if (rc != ERR_OK)
            return rc;
        w->next_seq = turn.seq;
        bool flushes = flush->seq != 0 && (turn.n == 0 || flush->after_n < turn.n);
        if (w->closing.turns != 0 || (turn.n != 0 && !flushes && is_full(w)))
            break;
        if (flushes)
            return do_flush(w, flush, err);
        if (turn.n == 0)
            return close_idle(w, err);
        rc = look_at(w, &turn, err);
        if (rc == ERR_OK && w->looked == turn.n)
            rc = store_cursor_next(cursor, &item, err);
    }
    return rc;
}

enum err_code stage__walk(struct stage_work *w, struct err *err)
{
    struct job flush = {.seq = 0};
    struct store_cursor *cursor = NULL;
    enum err_code rc = ERR_OK;
    if (w->stat.v[STAT_IDLE_DUE] == STAGE_DUE_NOW && !w->by_model)
        rc = finish_cuts(w, err);
    if (rc == ERR_OK && w->stat.v[STAT_FLUSHES] != 0)
        rc = flush_first(w->txn, w->space, &flush, err);
    if (rc == ERR_OK)
        rc = store_cursor_open(w->txn, w->space, KIND_TURN, &cursor, err);
    if (rc == ERR_OK)
        rc = walk_turns(w, cursor, &flush, err);
    store_cursor_close(cursor);
    return rc;
}
