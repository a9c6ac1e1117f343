#include "core/ingest/draft.h"

#include "core/ingest/closed.h"
#include "core/ingest/remove.h"
#include "core/ingest/work.h"

/* --- closing --- */

enum err_code draft_put_job(struct stage_work *w, const struct draft_job *what,
                            const struct work_row *other, struct err *err)
{
    const struct job job = {.kind = JOB_EPISODE,
                            .state = JOB_PENDING,
                            .stage = (uint8_t)what->stage,
                            .episode = what->episode,
                            .due_ms = (int64_t)what->due_ms,
                            .created_ms = w->now_ms,
                            .updated_ms = w->now_ms,
                            .session = STR(""),
                            .error = STR("")};
    (void)job_put_new(w->batch, &job);
    /* The newest of all; which seq it gets the writer knows. */
    const struct work_row row = {UINT64_MAX, what->due_ms, what->first_seq, (uint8_t)what->stage};
    work_put_new(w->batch, &row);
    const struct work_row *rows[] = {other, &row};
    return other != NULL ? stage__outlook(w, rows, 2, err) : stage__outlook(w, rows + 1, 1, err);
}

static enum err_code mark_rows(struct stage_work *w, const struct closed *c, struct err *err)
{
    for (uint32_t t = 0; t < c->dialogue.n_turns; t++) {
        const struct turn *turn = &c->dialogue.turns[t]->turn;
        for (uint32_t i = 0; i < turn->docs; i++) {
            struct turn_row *row = stage__row(w, turn->doc + i);
            if (row == NULL)
                return stage__memory(err);
            row->episode = c->episode.id;
        }
    }
    return ERR_OK;
}

enum err_code draft_close(struct stage_work *w, struct err *err)
{
    const struct edge none = {0};
    struct closed *c = ARENA_NEW(w->arena, struct closed);
    if (c == NULL)
        return stage__memory(err);
    enum err_code rc = closed_begin(c, w, err);
    if (rc == ERR_OK)
        rc = mark_rows(w, c, err);
    if (rc != ERR_OK)
        return rc;
    closed_put_edge(w, KIND_EPISODE_EDGE, c->episode.id, &none);
    batch_add(w->batch, STAT_UNFINISHED, c->episode.turns);
    w->drafted = true;
    bool asks = w->closing.fresh >= BOUNDARY_ASK;
    const struct draft_job job = {.episode = c->episode.id,
                                  .first_seq = c->dialogue.turns[0]->turn.seq,
                                  .stage = asks ? JOB_STAGE_BOUNDARY : JOB_STAGE_DESCRIBE};
    rc = draft_put_job(w, &job, NULL, err);
    return rc == ERR_OK ? closed_write(c, err) : rc;
}

/* --- splitting --- */

/* What is left of the episode; its document and its texts are made anew by the stages that come. */
static void keep_first(struct closed *c, uint32_t n)
{
    struct episode *e = &c->episode;
    e->turns = n;
    e->last_n = c->dialogue.turns[n - 1]->turn.n;
    e->start_ms = e->end_ms = c->dialogue.turns[0]->turn.time_ms;
    for (uint32_t i = 1; i < n; i++) {
        int64_t ms = c->dialogue.turns[i]->turn.time_ms;
        e->start_ms = ms < e->start_ms ? ms : e->start_ms;
        e->end_ms = ms > e->end_ms ? ms : e->end_ms;
    }
}

static enum err_code count_first(struct stage_work *w, const struct closed *c, uint32_t end,
                                 uint32_t *n, struct err *err)
{
    if (end == 0)
        return stage__first_cut(w, c->dialogue.turns, c->dialogue.n_turns, n, err);
    for (*n = 0; *n < c->dialogue.n_turns && c->dialogue.turns[*n]->turn.n <= end;)
        (*n)++;
    return ERR_OK;
}

static enum err_code add_rest(struct stage_work *w, const struct draft_cut *cut,
                              const struct work_row *own, uint32_t *id, struct err *err)
{
    const struct edge none = {0};
    struct closed *rest = ARENA_NEW(w->arena, struct closed);
    if (rest == NULL)
        return stage__memory(err);
    enum err_code rc = closed_begin(rest, w, err);
    if (rc == ERR_OK)
        rc = mark_rows(w, rest, err);
    if (rc != ERR_OK)
        return rc;
    closed_put_edge(w, KIND_EPISODE_EDGE, rest->episode.id, &none);
    *id = rest->episode.id;
    const struct draft_job job = {.episode = rest->episode.id,
                                  .first_seq = rest->dialogue.turns[0]->turn.seq,
                                  .due_ms = cut->due_ms,
                                  .stage = JOB_STAGE_BOUNDARY};
    rc = draft_put_job(w, &job, own, err);
    return rc == ERR_OK ? closed_write(rest, err) : rc;
}

enum err_code draft_split(struct stage_work *w, const struct draft_cut *cut,
                          const struct work_row *own, uint32_t *rest, struct err *err)
{
    uint32_t n = 0;
    struct closed *c = ARENA_NEW(w->arena, struct closed);
    *rest = 0;
    if (c == NULL)
        return stage__memory(err);
    enum err_code rc = closed_resume(c, w, cut->id, err);
    if (rc == ERR_OK)
        rc = count_first(w, c, cut->end, &n, err);
    if (rc != ERR_OK || n == 0 || n == c->dialogue.n_turns)
        return rc;
    w->closing =
        stage__buffer_of(c->episode.session_no, c->dialogue.turns + n, c->dialogue.n_turns - n);
    keep_first(c, n);
    rc = closed_write(c, err);
    return rc == ERR_OK ? add_rest(w, cut, own, rest, err) : rc;
}

/* --- stages --- */

static enum err_code resume(struct stage_work *w, uint32_t id, struct closed **c, struct err *err)
{
    *c = ARENA_NEW(w->arena, struct closed);
    return *c == NULL ? stage__memory(err) : closed_resume(*c, w, id, err);
}

enum err_code draft_describe(struct stage_work *w, uint32_t id, struct str title,
                             struct str summary, struct err *err)
{
    struct closed *c;
    enum err_code rc = resume(w, id, &c, err);
    if (rc != ERR_OK)
        return rc;
    c->episode.title = title;
    c->episode.summary = summary;
    c->episode.flags = (uint8_t)((c->episode.flags & ~EPISODE_DEGRADED) | EPISODE_TOLD);
    return closed_write(c, err);
}

enum err_code draft_topics(struct stage_work *w, uint32_t id, const struct ask_topic *answer,
                           struct err *err)
{
    struct closed *c;
    enum err_code rc = resume(w, id, &c, err);
    if (rc == ERR_OK && c->episode.n_topics != 0)
        return err_set(err, ERR_INTERNAL, "episode %u has topics already", id);
    for (uint32_t i = 0; rc == ERR_OK && i < answer->n_topics; i++)
        rc = closed_add_topic(c, &answer->topics[i], err);
    if (rc == ERR_OK)
        rc = closed_index_again(c, err);
    return rc == ERR_OK ? closed_write(c, err) : rc;
}

/* Whether its facts are committed: then its turns are finished. */
static bool is_done(const struct closed *c)
{
    struct turn_row row;
    columns_turn(c->w->columns, c->first_doc, &row);
    return (row.flags & TURN_ROW_DONE) != 0;
}

static enum err_code add_facts(struct closed *c, const struct ask_facts *answer, struct err *err)
{
    struct stage_work *w = c->w;
    enum err_code rc = facts_build(w, &c->dialogue, c->episode.id, answer, &c->facts, err);
    if (rc != ERR_OK)
        return rc;
    closed_put_edge(w, KIND_EPISODE_EDGE, c->episode.id, &c->facts.edge);
    batch_add(w->batch, STAT_UNFINISHED, -(int64_t)c->episode.turns);
    return ERR_OK;
}

enum err_code draft_facts(struct stage_work *w, uint32_t id, const struct ask_facts *answer,
                          struct err *err)
{
    struct closed *c;
    enum err_code rc = resume(w, id, &c, err);
    if (rc == ERR_OK && is_done(c))
        return err_set(err, ERR_INTERNAL, "episode %u has facts already", id);
    if (rc == ERR_OK)
        rc = add_facts(c, answer, err);
    return rc == ERR_OK ? closed_write(c, err) : rc;
}

enum err_code draft_built_in(struct stage_work *w, uint32_t id, bool degraded, struct err *err)
{
    struct closed *c;
    enum err_code rc = resume(w, id, &c, err);
    if (rc != ERR_OK)
        return rc;
    c->degraded = degraded;
    if (degraded)
        c->episode.flags |= EPISODE_DEGRADED;
    if (c->episode.n_topics == 0)
        rc = closed_choose_topics(c, err);
    if (rc == ERR_OK && !is_done(c))
        rc = add_facts(c, NULL, err);
    return rc == ERR_OK ? closed_write(c, err) : rc;
}

/* --- again --- */

static enum err_code has_facts(struct store_txn *txn, uint64_t space, struct arena *arena,
                               uint32_t id, bool *has, struct err *err)
{
    struct columns *columns = columns_new(txn, space, arena);
    struct episode_row episode;
    struct turn_row turn;
    if (columns == NULL)
        return stage__memory(err);
    columns_episode(columns, id, &episode);
    columns_turn(columns, episode.first_doc, &turn);
    *has = episode.turns != 0 && (turn.flags & TURN_ROW_DONE) != 0;
    return columns_error(columns, err);
}

enum err_code draft_unlink(const struct stage_base *base, uint32_t id, enum job_stage stage,
                           struct batch **batch, struct err *err)
{
    struct remove_unlink what = {.txn = base->txn, .space = base->space, .episode = id};
    struct episode e;
    enum err_code rc = episode_get(base->txn, base->space, id, &e, err);
    if (rc == ERR_OK && stage == JOB_STAGE_FACTS && e.id != 0)
        rc = has_facts(base->txn, base->space, base->arena, id, &what.facts, err);
    what.topics = stage == JOB_STAGE_TOPIC && e.id != 0 && e.n_topics != 0;
    if (rc != ERR_OK || (!what.topics && !what.facts))
        return rc;
    return remove_unlink(&what, base->arena, batch, err);
}
