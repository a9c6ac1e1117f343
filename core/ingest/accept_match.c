/* Duplicates: by client id, within the call, and by the history rule for messages. */
#include <stdio.h>

#include "core/base/limits.h"
#include "core/ingest/accept_int.h"

/* Fewer messages than this are skipped only when they are the whole history of the session. */
enum { HISTORY_MIN = 3 };

static bool same_names(struct str speaker, struct str role, struct str session, struct str metadata,
                       const struct turn_input *turn)
{
    return str_eq(speaker, turn->speaker) && str_eq(role, turn->role) &&
           str_eq(session, turn->session) && str_eq(metadata, turn->metadata);
}

/* Long texts are compared part by part, in place: copying a session's tail could take all of the
 * request's memory. */
static enum err_code same_parts(const struct accept_work *work, uint32_t n, struct str text,
                                bool *same, struct err *err)
{
    for (uint32_t part = 0; text.len != 0; part++) {
        char key[8];
        be32_set(key, n);
        be32_set(key + 4, part);
        struct str value;
        enum err_code rc = store_get(work->txn, work->space, KIND_TEXT,
                                     (struct str){key, sizeof key}, &value, err);
        if (rc != ERR_OK)
            return rc;
        if (value.len == 0)
            return err_set(err, ERR_INTERNAL, "part %u of the text of turn %u is missing", part, n);
        *same = str_starts(text, value);
        if (!*same)
            return ERR_OK;
        text = str_part(text, value.len, text.len);
    }
    *same = true;
    return ERR_OK;
}

static enum err_code same_stored(const struct accept_work *work, const struct turn *stored,
                                 const struct turn_input *turn, bool *same, struct err *err)
{
    *same = false;
    if (stored->text_len != turn->text.len ||
        !same_names(stored->speaker, stored->role, stored->session, stored->metadata, turn))
        return ERR_OK;
    if (turn->has_time && stored->time_source != TIME_RECEIVED && stored->time_ms != turn->time_ms)
        return ERR_OK;
    if (stored->text.at == NULL)
        return same_parts(work, stored->n, turn->text, same, err);
    *same = str_eq(stored->text, turn->text);
    return ERR_OK;
}

static bool same_input(const struct turn_input *a, const struct turn_input *b)
{
    if (a->has_time && b->has_time && a->time_ms != b->time_ms)
        return false;
    return same_names(a->speaker, a->role, a->session, a->metadata, b) && str_eq(a->text, b->text);
}

/* --- by client id --- */

static enum err_code conflict(const struct accept_call *call, uint32_t i, const char *where,
                              struct err *err)
{
    char param[64];
    (void)snprintf(param, sizeof param, "%s[%u].id", call->messages ? "messages" : "turns", i);
    return err_set_param(err, ERR_CONFLICT, param, "this id has other content %s", where);
}

static enum err_code find_in_call(struct accept_work *work, uint32_t i, bool *found,
                                  struct err *err)
{
    const struct turn_input *turns = work->call->turns;
    for (uint32_t j = 0; j < i; j++) {
        if (!str_eq(turns[j].id, turns[i].id))
            continue;
        if (!same_input(&turns[j], &turns[i]))
            return conflict(work->call, i, "earlier in the call", err);
        work->plan->turns[i] = work->plan->turns[j];
        work->plan->turns[i].duplicate = true;
        *found = true;
        return ERR_OK;
    }
    return ERR_OK;
}

static enum err_code find_in_store(struct accept_work *work, uint32_t i, bool *found,
                                   struct err *err)
{
    const struct turn_input *turn = &work->call->turns[i];
    struct str value;
    enum err_code rc = store_get(work->txn, work->space, KIND_TURN_ID, turn->id, &value, err);
    if (rc != ERR_OK || value.at == NULL)
        return rc;
    uint32_t n = value.len == 4 ? le32_get(value.at) : 0;
    struct turn stored;
    rc = turn_get(work->txn, work->space, n, &stored, err);
    if (rc != ERR_OK)
        return rc;
    if (stored.n == 0)
        return err_set(err, ERR_INTERNAL, "the id row of turn %u names no turn", n);
    bool same;
    rc = same_stored(work, &stored, turn, &same, err);
    if (rc != ERR_OK)
        return rc;
    if (!same)
        return conflict(work->call, i, "in the space", err);
    work->plan->turns[i] = (struct accepted_turn){.duplicate = true, .n = n};
    *found = true;
    return ERR_OK;
}

enum err_code accept__find_duplicate(struct accept_work *work, uint32_t i, bool *found,
                                     struct err *err)
{
    *found = false;
    if (work->call->turns[i].id.len == 0)
        return ERR_OK;
    enum err_code rc = find_in_call(work, i, found, err);
    if (rc == ERR_OK && !*found && work->space != 0)
        rc = find_in_store(work, i, found, err);
    return rc;
}

/* --- history of messages --- */

struct tail {
    struct turn *turns; /* newest first */
    uint32_t n;
    bool is_whole; /* the session has no other turns */
};

/* The history rule is for clients that resend what they sent before and know no ids. */
static bool rule_applies(const struct accept_work *work)
{
    if (!work->call->messages || work->space == 0 || work->call->n < 2)
        return false;
    for (uint32_t i = 0; i < work->call->n; i++) {
        if (work->call->turns[i].id.len != 0)
            return false;
    }
    return true;
}

static bool is_of_session(const struct store_item *item, uint32_t session_no)
{
    return item->key.at != NULL && item->key.len == 8 && be32_get(item->key.at) == session_no;
}

static enum err_code walk_tail(struct accept_work *work, struct store_cursor *cursor,
                               uint32_t session_no, struct tail *tail, struct err *err)
{
    char after[8];
    be32_set(after, session_no);
    be32_set(after + 4, UINT32_MAX);
    struct store_item item;
    enum err_code rc =
        store_cursor_seek_before(cursor, (struct str){after, sizeof after}, &item, err);
    while (rc == ERR_OK && is_of_session(&item, session_no)) {
        if (tail->n == work->call->n)
            return ERR_OK;
        uint32_t n = be32_get(item.key.at + 4);
        rc = turn_get(work->txn, work->space, n, &tail->turns[tail->n], err);
        if (rc != ERR_OK)
            return rc;
        if (tail->turns[tail->n].n == 0)
            return err_set(err, ERR_INTERNAL, "turn %u of a session is missing", n);
        tail->n++;
        rc = store_cursor_prev(cursor, &item, err);
    }
    tail->is_whole = true;
    return rc;
}

/* At most as many turns as the call has; none when the session is new. */
static enum err_code read_tail(struct accept_work *work, struct tail *tail, struct err *err)
{
    *tail = (struct tail){0};
    struct str session = work->call->turns[0].session;
    if (session.at == NULL)
        session = STR("");
    struct str value;
    enum err_code rc = store_get(work->txn, work->space, KIND_SESSION, session, &value, err);
    if (rc != ERR_OK || value.len != 4)
        return rc;
    tail->turns = ARENA_ARRAY(work->arena, struct turn, work->call->n);
    if (tail->turns == NULL)
        return accept__memory(err);
    struct store_cursor *cursor = NULL;
    rc = store_cursor_open(work->txn, work->space, KIND_SESSION_TURN, &cursor, err);
    if (rc == ERR_OK)
        rc = walk_tail(work, cursor, le32_get(value.at), tail, err);
    store_cursor_close(cursor);
    return rc;
}

/* Are the first k messages the last k turns? From the end: that is where they differ soonest. */
static enum err_code run_matches(const struct accept_work *work, const struct tail *tail,
                                 uint32_t k, bool *matches, struct err *err)
{
    *matches = true;
    for (uint32_t back = 0; back < k && *matches; back++) {
        enum err_code rc =
            same_stored(work, &tail->turns[back], &work->call->turns[k - 1 - back], matches, err);
        if (rc != ERR_OK)
            return rc;
    }
    return ERR_OK;
}

static bool run_counts(const struct accept_work *work, const struct tail *tail, uint32_t k)
{
    return k >= HISTORY_MIN || (tail->is_whole && k == tail->n && k < work->call->n);
}

static bool fill_skipped(struct accept_work *work, const struct tail *tail, uint32_t k)
{
    for (uint32_t i = 0; i < k; i++) {
        const struct turn *stored = &tail->turns[k - 1 - i];
        struct str id = turn_shown_id(work->arena, stored);
        if (id.at == NULL)
            return false;
        work->plan->turns[i] = (struct accepted_turn){.duplicate = true, .n = stored->n, .id = id};
    }
    return true;
}

enum err_code accept__skip_history(struct accept_work *work, uint32_t *skipped, struct err *err)
{
    *skipped = 0;
    if (!rule_applies(work))
        return ERR_OK;
    struct tail tail;
    enum err_code rc = read_tail(work, &tail, err);
    for (uint32_t k = tail.n; rc == ERR_OK && k != 0; k--) {
        if (!run_counts(work, &tail, k))
            continue;
        bool matches;
        rc = run_matches(work, &tail, k, &matches, err);
        if (rc != ERR_OK || !matches)
            continue;
        *skipped = k;
        return fill_skipped(work, &tail, k) ? ERR_OK : accept__memory(err);
    }
    return rc;
}
