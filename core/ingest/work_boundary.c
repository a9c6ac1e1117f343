/* Where the episodes of a session's buffer end, asked of a model (work.h, DESIGN 6.2). One question
 * over the whole buffer; its answer closes one draft a batch. What changed the buffer meanwhile (a
 * flush, a gap, a hard cut, a deletion) stands: ends are turn numbers, and those that are no longer
 * in the buffer are left out. */
#include "core/ingest/boundary_cues.h"
#include "core/ingest/draft.h"
#include "core/ingest/work_int.h"
#include "core/model/ask_boundary.h"

struct asked {
    struct ask_boundary ask;
    uint32_t last_n;   /* of the buffer when it was asked about */
    uint32_t next_end; /* index into ask.ends */
    bool by_rule;      /* the model failed for good: the built-in cuts, one a batch */
};

static bool has_model(const struct work *work)
{
    const struct models *models = work->works->services->models;
    return models != NULL && models_has(models, PURPOSE_BOUNDARY);
}

static enum err_code prepare(struct work *work, struct store_txn *txn, enum work_next *next,
                             struct err *err)
{
    struct buffer buffer;
    enum err_code rc = buffer_get(txn, work->space, (uint32_t)work->id, &buffer, err);
    int64_t now = work__now_ms(work);
    if (rc != ERR_OK || buffer.session_no == 0 || buffer.ask_ms == 0 || buffer.ask_ms > now)
        return rc;
    struct asked *a = ARENA_NEW(work->arena, struct asked);
    if (a == NULL)
        return work__memory(err);
    work->own = a;
    a->last_n = buffer.last_n;
    *next = WORK_APPLY;
    if (!has_model(work))
        return ERR_OK;
    const struct work_range range = {buffer.session_no, buffer.first_n, buffer.last_n};
    rc = work__dialogue(work, txn, &range, &a->ask.dialogue, err);
    if (rc != ERR_OK)
        return rc;
    a->ask.seed = work__seed(work);
    model_call_init(&work->call, PURPOSE_BOUNDARY, work->arena);
    ask_boundary(&work->call, &a->ask);
    *next = WORK_CALL;
    return ERR_OK;
}

/* --- cutting --- */

struct cut {
    struct work *work;
    struct asked *asked;
    enum work_next next;
};

/* The buffer's living turns. */
static enum err_code read_turns(struct stage_work *w, const struct buffer *buffer,
                                struct said ***out, uint32_t *n, struct err *err)
{
    struct said_numbers list;
    enum err_code rc =
        said_session(&w->reader, buffer->session_no, buffer->first_n, buffer->last_n, &list, err);
    if (rc != ERR_OK)
        return rc;
    *n = 0;
    *out = ARENA_ARRAY(w->arena, struct said *, list.n);
    if (*out == NULL)
        return stage__memory(err);
    for (; rc == ERR_OK && *n < list.n; (*n)++) {
        rc = said_read(&w->reader, list.at[*n], &(*out)[*n], err);
        if (rc == ERR_OK && (*out)[*n] == NULL)
            rc = err_set(err, ERR_INTERNAL, "turn %u of a buffer is not there", list.at[*n]);
    }
    return rc;
}

/* The first `n` turns become a draft, the rest stays. */
static enum err_code close_first(struct stage_work *w, struct open_buffer *open,
                                 struct said *const *turns, uint32_t total, uint32_t n,
                                 struct err *err)
{
    struct buffer whole = open->buffer;
    w->closing = stage__buffer_of(whole.session_no, turns, n);
    open->buffer = stage__buffer_of(whole.session_no, turns + n, total - n);
    w->closing.arrival_ms = open->buffer.arrival_ms = whole.arrival_ms;
    open->buffer.fresh = whole.fresh;
    open->buffer.ask_ms = whole.ask_ms;
    w->opened -= n;
    return draft_close(w, err);
}

/* How many of the turns the next end closes; 0: none is left that lies in the buffer. */
static uint32_t turns_of_next_end(struct asked *a, struct said *const *turns, uint32_t n)
{
    uint32_t count = 0;
    while (count == 0 && a->next_end < a->ask.n_ends) {
        uint32_t end = a->ask.ends[a->next_end++];
        bool inside = n != 0 && end >= turns[0]->turn.n && end <= turns[n - 1]->turn.n;
        for (uint32_t i = 0; inside && i < n && turns[i]->turn.n <= end; i++)
            count++;
    }
    return count;
}

static void no_more_questions(struct open_buffer *open, const struct asked *a,
                              struct said *const *turns, uint32_t n, int64_t now_ms)
{
    struct buffer *buffer = &open->buffer;
    buffer->fresh = 0;
    for (uint32_t i = 0; i < n; i++)
        buffer->fresh += turns[i]->turn.n > a->last_n;
    buffer->ask_ms = buffer->fresh >= BOUNDARY_ASK ? now_ms : 0;
    buffer->ask_failures = 0;
    buffer->ask_failing_ms = 0;
}

static enum err_code cut_once(struct stage_work *w, struct cut *x, struct open_buffer *open,
                              struct err *err)
{
    struct said **turns;
    uint32_t n, count = 0;
    enum err_code rc = read_turns(w, &open->buffer, &turns, &n, err);
    if (rc == ERR_OK && x->asked->by_rule)
        rc = stage__first_cut(w, turns, n, &count, err);
    else if (rc == ERR_OK)
        count = turns_of_next_end(x->asked, turns, n);
    if (rc != ERR_OK)
        return rc;
    if (count == 0) {
        no_more_questions(open, x->asked, turns, n, w->now_ms);
        return ERR_OK;
    }
    x->next = WORK_APPLY;
    return close_first(w, open, turns, n, count, err);
}

/* Later again, or as the rule has it. */
static void did_not(struct stage_work *w, struct cut *x, struct open_buffer *open)
{
    struct buffer *buffer = &open->buffer;
    if (buffer->ask_failures < UINT8_MAX)
        buffer->ask_failures++;
    if (buffer->ask_failing_ms == 0)
        buffer->ask_failing_ms = w->now_ms;
    const struct work_failure failure =
        work__failure(x->work, buffer->ask_failures, buffer->ask_failing_ms, w->now_ms);
    if (failure.given_up || !x->work->asked)
        x->asked->by_rule = true;
    else
        buffer->ask_ms = failure.due_ms;
}

static enum err_code act(struct stage_work *w, void *arg, struct err *err)
{
    struct cut *x = arg;
    struct open_buffer *open = NULL;
    enum err_code rc = stage__open_get(w, (uint32_t)x->work->id, &open, err);
    if (rc != ERR_OK || open->buffer.turns == 0)
        return rc;
    bool answered = x->work->asked && x->work->call.outcome == ERR_OK;
    open->changed = w->changed = true;
    if (!answered && !x->asked->by_rule) {
        did_not(w, x, open);
        if (!x->asked->by_rule)
            return ERR_OK;
    }
    return cut_once(w, x, open, err);
}

static enum err_code apply(struct work *work, struct store_txn *txn, struct batch **batch,
                           enum work_next *next, struct err *err)
{
    struct cut x = {.work = work, .asked = work->own, .next = WORK_END};
    const struct stage_base base = {txn, work->space, work->works->services, work->batch_arena};
    enum err_code rc = stage_act(&base, act, &x, batch, err);
    *next = x.next;
    return rc;
}

const struct work_ops work__boundary = {prepare, apply, NULL};
