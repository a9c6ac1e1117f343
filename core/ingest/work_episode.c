/* Boundary, describe, topic, facts: an episode's job (work.h). One stage a round: read, ask, write.
 *
 * A draft that a rule closed before a model had said where its episodes end is asked about first.
 * Its ends split it one batch each, because a job is named by its batch: the draft keeps the first
 * part, the rest becomes a draft whose job is left alone for SPLIT_MS, and is split further. */
#include "core/graph/space.h"
#include "core/ingest/draft.h"
#include "core/ingest/work_int.h"
#include "core/model/ask_boundary.h"
#include "core/model/ask_describe.h"
#include "core/recall/recall.h"
#include "core/text/utf8.h"

enum { NEAREST_QUERY_BYTES = 1024, SPLIT_MS = 5 * 1000 };

/* What a round asks, in work->arena; nothing of it borrows from a transaction. */
struct asked {
    uint8_t stage;
    struct ask_boundary boundary;
    uint32_t next_end; /* index into boundary.ends */
    uint64_t part;     /* job of the part that is being split; 0: the work's own */
    bool by_rule;      /* the built-in rule splits */
    bool splitting;    /* a batch of it is committed */
    bool built;        /* one is under way, which used so many ends; work->last_seq was seen_seq */
    uint32_t took;
    uint64_t seen_seq;
    struct ask_describe describe;
    struct ask_topic topic;
    struct ask_facts facts;
};

/* --- reading --- */

static struct str keep(struct arena *arena, struct str s, bool *ok)
{
    struct str copy = str_copy(arena, s);
    *ok &= copy.at != NULL;
    return copy;
}

static enum err_code copy_turn(struct work *work, struct store_txn *txn, uint32_t n,
                               struct ask_turn *out, struct err *err)
{
    struct turn turn;
    bool ok = true;
    enum err_code rc = turn_get(txn, work->space, n, &turn, err);
    if (rc == ERR_OK && turn.n == 0)
        rc = err_set(err, ERR_INTERNAL, "turn %u of an episode is not there", n);
    if (rc == ERR_OK)
        rc = turn_load_text(txn, work->space, work->arena, &turn, err);
    if (rc != ERR_OK)
        return rc;
    *out = (struct ask_turn){.number = n,
                             .speaker = keep(work->arena, turn_speaker(&turn), &ok),
                             .role = keep(work->arena, turn.role, &ok),
                             .text = keep(work->arena, turn.text, &ok),
                             .time_ms = turn.time_ms,
                             .offset_min = turn.offset_min};
    return ok ? ERR_OK : work__memory(err);
}

enum err_code work__dialogue(struct work *work, struct store_txn *txn,
                             const struct work_range *range, struct ask_dialogue *out,
                             struct err *err)
{
    const struct said_reader reader = {txn, work->space, work->arena, NULL};
    struct said_numbers list;
    enum err_code rc =
        said_session(&reader, range->session_no, range->first_n, range->last_n, &list, err);
    if (rc != ERR_OK)
        return rc;
    struct ask_turn *turns = ARENA_ARRAY(work->arena, struct ask_turn, list.n);
    if (turns == NULL)
        return work__memory(err);
    for (uint32_t i = 0; rc == ERR_OK && i < list.n; i++)
        rc = copy_turn(work, txn, list.at[i], &turns[i], err);
    *out = (struct ask_dialogue){.turns = turns, .n = list.n};
    return rc;
}

static enum err_code dialogue_of_episode(struct work *work, struct store_txn *txn,
                                         const struct episode *e, struct ask_dialogue *out,
                                         struct err *err)
{
    const struct work_range range = {e->session_no, e->first_n, e->last_n};
    return work__dialogue(work, txn, &range, out, err);
}

/* What memory has that is most like the episode, as a query finds it. */
static enum err_code recall_like(struct work *work, struct store_txn *txn, const struct episode *e,
                                 const struct recall_query *lists, struct recall_reply *reply,
                                 struct err *err)
{
    struct space settings;
    struct recall_query query = *lists;
    struct buf q;
    buf_init(&q, work->arena, NEAREST_QUERY_BYTES + 1);
    buf_str_put(&q, utf8_cut(e->title, NEAREST_QUERY_BYTES / 4));
    buf_char(&q, ' ');
    buf_str_put(&q, utf8_cut(e->summary, NEAREST_QUERY_BYTES / 2));
    if (!buf_ok(&q))
        return work__memory(err);
    query.q = buf_str(&q);
    query.now_ms = e->end_ms;
    query.now_offset_min = e->offset_min;
    query.max_tokens = 0;
    enum err_code rc = space_get(txn, work->space, &settings, err);
    const struct services *services = work->works->services;
    const struct recall_base base = {txn, work->space, &settings, services->clock,
                                     services->tokenizers};
    return rc == ERR_OK ? recall_run(&base, &query, work->arena, reply, err) : rc;
}

/* --- asking --- */

static enum err_code ask_for_ends(struct work *work, struct store_txn *txn, const struct episode *e,
                                  struct asked *a, struct err *err)
{
    enum err_code rc = dialogue_of_episode(work, txn, e, &a->boundary.dialogue, err);
    a->boundary.seed = work__seed(work);
    ask_boundary(&work->call, &a->boundary);
    return rc;
}

static enum err_code ask_for_description(struct work *work, struct store_txn *txn,
                                         const struct episode *e, struct asked *a, struct err *err)
{
    enum err_code rc = dialogue_of_episode(work, txn, e, &a->describe.dialogue, err);
    a->describe.seed = work__seed(work);
    ask_describe(&work->call, &a->describe);
    return rc;
}

static struct str join_keywords(struct arena *arena, const struct topic *topic, bool *ok)
{
    struct buf out;
    buf_init(&out, arena, 1 << 16);
    for (uint32_t i = 0; i < topic->n_keywords; i++) {
        if (i != 0)
            buf_char(&out, '\n');
        buf_str_put(&out, topic->keywords[i].text);
    }
    *ok &= buf_ok(&out);
    return buf_str(&out);
}

static bool is_listed(const struct ask_candidate *list, uint32_t n, uint32_t id)
{
    for (uint32_t i = 0; i < n; i++) {
        if (list[i].number == id)
            return true;
    }
    return false;
}

static enum err_code add_candidate(struct work *work, struct store_txn *txn, uint32_t id,
                                   struct ask_candidate *list, uint32_t *n, struct err *err)
{
    struct topic topic;
    bool ok = true;
    enum err_code rc = topic_last(txn, work->space, id, work->arena, &topic, err);
    if (rc != ERR_OK || topic.id == 0 || is_listed(list, *n, topic.id))
        return rc;
    list[(*n)++] = (struct ask_candidate){.number = topic.id,
                                          .title = keep(work->arena, topic.title, &ok),
                                          .summary = keep(work->arena, topic.summary, &ok),
                                          .keywords = join_keywords(work->arena, &topic, &ok),
                                          .last_ms = topic.end_ms};
    return ok ? ERR_OK : work__memory(err);
}

static enum err_code ask_for_topics(struct work *work, struct store_txn *txn,
                                    const struct episode *e, struct asked *a, struct err *err)
{
    struct recall_reply like = {.seq = 0};
    struct recall_query lists = recall_defaults();
    struct ask_candidate *list = ARENA_ARRAY(work->arena, struct ask_candidate, ASK_CANDIDATES_MAX);
    uint32_t n = 0;
    bool ok = list != NULL;
    if (!ok)
        return work__memory(err);
    lists.topics = ASK_CANDIDATES_MAX;
    lists.facts = 0;
    enum err_code rc = recall_like(work, txn, e, &lists, &like, err);
    for (uint32_t i = 0; rc == ERR_OK && i < like.n_topics && n < ASK_CANDIDATES_MAX; i++)
        rc = add_candidate(work, txn, like.topics[i].topic.id, list, &n, err);
    a->topic = (struct ask_topic){.title = keep(work->arena, e->title, &ok),
                                  .summary = keep(work->arena, e->summary, &ok),
                                  .keywords = STR(""),
                                  .start_ms = e->start_ms,
                                  .offset_min = e->offset_min,
                                  .candidates = list,
                                  .n_candidates = n,
                                  .seed = work__seed(work)};
    ask_topic(&work->call, &a->topic);
    return rc == ERR_OK && !ok ? work__memory(err) : rc;
}

static enum err_code set_topic_text(struct work *work, struct store_txn *txn,
                                    const struct episode *e, struct asked *a, struct err *err)
{
    struct topic topic = {.id = 0};
    bool ok = true;
    a->facts.topic_title = a->facts.topic_summary = STR("");
    if (e->n_topics == 0)
        return ERR_OK;
    enum err_code rc = topic_get(txn, work->space, e->topics[0], work->arena, &topic, err);
    if (rc != ERR_OK || topic.id == 0)
        return rc;
    a->facts.topic_title = keep(work->arena, topic.title, &ok);
    a->facts.topic_summary = keep(work->arena, topic.summary, &ok);
    return ok ? ERR_OK : work__memory(err);
}

static enum err_code set_known(struct work *work, struct store_txn *txn, const struct episode *e,
                               struct asked *a, struct err *err)
{
    struct recall_reply like = {.seq = 0};
    struct recall_query lists = recall_defaults();
    struct ask_known *known = ARENA_ARRAY(work->arena, struct ask_known, ASK_KNOWN_MAX);
    bool ok = known != NULL;
    if (!ok)
        return work__memory(err);
    lists.topics = lists.episodes = 0;
    lists.facts = ASK_KNOWN_MAX;
    enum err_code rc = recall_like(work, txn, e, &lists, &like, err);
    for (uint32_t i = 0; rc == ERR_OK && i < like.n_facts && i < ASK_KNOWN_MAX; i++) {
        const struct fact *fact = &like.facts[i].fact;
        if (fact->valid_to != TIME_NEVER || fact->n_episodes == 0 || fact->episodes[0] == e->id)
            continue; /* what is over repeats nothing; its own are made again */
        known[a->facts.n_known++] =
            (struct ask_known){.number = fact->id,
                               .content = keep(work->arena, fact->content, &ok),
                               .valid_from = fact->valid_from,
                               .offset_min = e->offset_min};
    }
    a->facts.known = known;
    return rc == ERR_OK && !ok ? work__memory(err) : rc;
}

static enum err_code ask_for_facts(struct work *work, struct store_txn *txn,
                                   const struct episode *e, struct asked *a, struct err *err)
{
    struct space settings;
    enum err_code rc = dialogue_of_episode(work, txn, e, &a->facts.dialogue, err);
    if (rc == ERR_OK)
        rc = set_topic_text(work, txn, e, a, err);
    if (rc == ERR_OK)
        rc = set_known(work, txn, e, a, err);
    if (rc == ERR_OK)
        rc = space_get(txn, work->space, &settings, err);
    if (rc == ERR_OK)
        rc = tokenizer_new(settings.language, &work->tokenizer, err);
    a->facts.tokenizer = work->tokenizer;
    a->facts.seed = work__seed(work);
    ask_facts(&work->call, &a->facts);
    return rc;
}

typedef enum err_code ask_fn(struct work *work, struct store_txn *txn, const struct episode *e,
                             struct asked *a, struct err *err);

static ask_fn *const asks[JOB_STAGES] = {[JOB_STAGE_BOUNDARY] = ask_for_ends,
                                         [JOB_STAGE_DESCRIBE] = ask_for_description,
                                         [JOB_STAGE_TOPIC] = ask_for_topics,
                                         [JOB_STAGE_FACTS] = ask_for_facts};
static const enum model_purpose purposes[JOB_STAGES] = {[JOB_STAGE_BOUNDARY] = PURPOSE_BOUNDARY,
                                                        [JOB_STAGE_DESCRIBE] = PURPOSE_DESCRIBE,
                                                        [JOB_STAGE_TOPIC] = PURPOSE_TOPIC,
                                                        [JOB_STAGE_FACTS] = PURPOSE_FACTS};

/* Whether the job's next stage may begin now. */
static enum err_code is_runnable(struct work *work, struct store_txn *txn, bool *yes,
                                 struct err *err)
{
    struct work_row row;
    *yes = false;
    enum err_code rc = work_get(txn, work->space, work->id, &row, err);
    if (rc == ERR_OK && row.seq != 0)
        rc = work_is_runnable(txn, work->space, &row, yes, err);
    *yes = *yes && row.due_ms <= (uint64_t)work__now_ms(work);
    return rc;
}

static enum err_code prepare(struct work *work, struct store_txn *txn, enum work_next *next,
                             struct err *err)
{
    struct job job;
    struct episode e = {.id = 0};
    bool runnable;
    enum err_code rc = is_runnable(work, txn, &runnable, err);
    if (rc != ERR_OK || !runnable)
        return rc;
    rc = job_get(txn, work->space, work->id, &job, err);
    if (rc == ERR_OK)
        rc = episode_get(txn, work->space, job.episode, &e, err);
    struct asked *a = ARENA_NEW(work->arena, struct asked);
    if (rc == ERR_OK && a == NULL)
        rc = work__memory(err);
    if (rc != ERR_OK)
        return rc;
    work->own = a;
    a->stage = job.stage;
    *next = WORK_APPLY;
    const struct models *models = work->works->services->models;
    if (e.id == 0 || job.state == JOB_CANCELLED || models == NULL ||
        !models_has(models, purposes[job.stage]))
        return ERR_OK;
    model_call_init(&work->call, purposes[job.stage], work->arena);
    rc = asks[job.stage](work, txn, &e, a, err);
    *next = WORK_CALL;
    return rc;
}

/* --- writing --- */

struct act {
    struct work *work;
    struct job job;
    struct asked *asked;
    enum work_next next;
};

/* The job's row and what follows from all rows. */
static enum err_code put_work(struct stage_work *w, struct work_row *row, struct err *err)
{
    if (row->stage == JOB_STAGE_NONE)
        work_del(w->batch, row->seq);
    else
        work_put(w->batch, row);
    const struct work_row *rows[] = {row};
    return stage__outlook(w, rows, 1, err);
}

static void end_job(struct stage_work *w, struct job *job, enum job_state state)
{
    char key[8];
    be64_set(key, job->seq);
    job->state = (uint8_t)state;
    job->stage = JOB_STAGE_NONE;
    if (state != JOB_FAILED)
        batch_expire(w->batch, (uint64_t)(w->now_ms + JOB_KEEP_MS), KIND_JOB,
                     (struct str){key, sizeof key});
}

static void count_usage(struct act *x)
{
    const struct model_usage *usage = &x->work->call.usage;
    if (!x->work->asked)
        return;
    x->job.calls += usage->calls;
    x->job.tokens_in += usage->tokens_in;
    x->job.tokens_out += usage->tokens_out;
}

static enum err_code write_answer(struct stage_work *w, struct act *x, struct err *err)
{
    const struct asked *a = x->asked;
    uint32_t id = x->job.episode;
    switch (a->stage) {
    case JOB_STAGE_DESCRIBE:
        return draft_describe(w, id, a->describe.title, a->describe.summary, err);
    case JOB_STAGE_TOPIC: return draft_topics(w, id, &a->topic, err);
    default: return draft_facts(w, id, &a->facts, err);
    }
}

static enum err_code succeeded(struct stage_work *w, struct act *x, struct work_row *row,
                               struct err *err)
{
    struct job *job = &x->job;
    enum err_code rc = write_answer(w, x, err);
    job->attempts = 0;
    job->failing_ms = 0;
    job->due_ms = 0;
    job->error = STR("");
    row->due_ms = 0;
    if (job->stage == JOB_STAGE_FACTS) {
        job->degraded = false;
        end_job(w, job, JOB_COMPLETED);
    } else {
        job->stage++;
        job->state = JOB_RUNNING;
        x->next = WORK_PREPARE;
    }
    return rc;
}

/* Tries again later, or makes the rest without the model. */
static enum err_code did_not(struct stage_work *w, struct act *x, struct work_row *row,
                             struct err *err)
{
    struct job *job = &x->job;
    bool cancelled = job->state == JOB_CANCELLED;
    bool given_up = cancelled || !x->work->asked; /* there is nobody to ask */
    job->attempts++;
    if (job->failing_ms == 0)
        job->failing_ms = w->now_ms;
    const struct work_failure failure =
        work__failure(x->work, job->attempts, job->failing_ms, w->now_ms);
    if (!cancelled)
        job->error =
            x->work->asked ? str_of(x->work->call.err.message) : STR("no chat model is configured");
    if (!given_up && !failure.given_up) {
        job->state = JOB_WAITING;
        job->due_ms = failure.due_ms;
        row->due_ms = (uint64_t)failure.due_ms;
        return ERR_OK;
    }
    if (job->stage == JOB_STAGE_BOUNDARY && !cancelled) {
        x->asked->by_rule = true;
        x->next = WORK_APPLY;
        return ERR_OK;
    }
    bool degraded = x->work->asked;
    enum err_code rc = draft_built_in(w, job->episode, degraded, err);
    job->degraded = degraded;
    job->due_ms = 0;
    end_job(w, job, cancelled ? JOB_CANCELLED : degraded ? JOB_FAILED : JOB_COMPLETED);
    return rc;
}

static enum err_code act(struct stage_work *w, void *arg, struct err *err)
{
    struct act *x = arg;
    struct work *work = x->work;
    struct episode e;
    struct work_row row;
    enum err_code rc = work_get(w->txn, w->space, work->id, &row, err);
    if (rc == ERR_OK && row.seq != 0)
        rc = job_get(w->txn, w->space, work->id, &x->job, err);
    if (rc != ERR_OK || row.seq == 0 || x->job.stage != x->asked->stage)
        return rc;
    rc = episode_get(w->txn, w->space, x->job.episode, &e, err);
    if (rc != ERR_OK)
        return rc;
    count_usage(x);
    x->job.updated_ms = w->now_ms;
    if (e.id == 0)
        end_job(w, &x->job, JOB_CANCELLED); /* deleted meanwhile */
    else if (work->asked && work->call.outcome == ERR_OK && x->job.state != JOB_CANCELLED)
        rc = succeeded(w, x, &row, err);
    else
        rc = did_not(w, x, &row, err);
    row.stage = x->job.stage;
    job_put(w->batch, &x->job);
    w->changed = true;
    return rc == ERR_OK ? put_work(w, &row, err) : rc;
}

/* --- splitting --- */

/* A batch that was refused is built again from the same end. */
static void note_commit(struct work *work)
{
    struct asked *a = work->own;
    if (!a->built || work->last_seq == a->seen_seq)
        return;
    a->built = false;
    a->splitting = true;
    a->part = work->last_seq;
    a->next_end += a->took;
}

/* Those before the first turn that is left cut nothing off. */
static uint32_t next_end(struct work *work, const struct episode *e)
{
    struct asked *a = work->own;
    const struct ask_boundary *b = &a->boundary;
    uint32_t at = a->next_end;
    while (at < b->n_ends && b->ends[at] < e->first_n)
        at++;
    bool none = a->by_rule || at >= b->n_ends;
    a->built = true;
    a->seen_seq = work->last_seq;
    a->took = none ? 0 : at + 1 - a->next_end;
    return none ? 0 : b->ends[at];
}

/* The part's job goes on with describe; what is behind the next end becomes a part of its own. */
static enum err_code split(struct stage_work *w, void *arg, struct err *err)
{
    struct act *x = arg;
    struct asked *a = x->asked;
    struct work_row row;
    uint64_t seq = a->part != 0 ? a->part : x->work->id;
    enum err_code rc = work_get(w->txn, w->space, seq, &row, err);
    if (rc == ERR_OK && row.seq != 0)
        rc = job_get(w->txn, w->space, seq, &x->job, err);
    if (rc != ERR_OK || row.seq == 0 || x->job.stage != JOB_STAGE_BOUNDARY)
        return rc;
    struct episode e;
    rc = episode_get(w->txn, w->space, x->job.episode, &e, err);
    if (rc != ERR_OK)
        return rc;
    /* Of one that was deleted meanwhile nothing is left; prepare() finds that. */
    uint32_t end = next_end(x->work, &e), rest = 0;
    const struct draft_cut cut = {x->job.episode, end, (uint64_t)(w->now_ms + SPLIT_MS)};
    if (a->part == 0)
        count_usage(x);
    x->job.stage = row.stage = JOB_STAGE_DESCRIBE;
    x->job.state = JOB_RUNNING;
    x->job.attempts = 0;
    x->job.failing_ms = x->job.due_ms = 0;
    x->job.updated_ms = w->now_ms;
    row.due_ms = 0;
    if (e.id != 0 && (end != 0 || a->by_rule))
        rc = draft_split(w, &cut, &row, &rest, err);
    job_put(w->batch, &x->job);
    work_put(w->batch, &row);
    w->changed = true;
    x->next = rest != 0 ? WORK_APPLY : WORK_PREPARE;
    const struct work_row *rows[] = {&row};
    return rc == ERR_OK && rest == 0 ? stage__outlook(w, rows, 1, err) : rc;
}

/* False: it is asked again later, or there is nothing to be said of ends. */
static bool may_split(const struct act *x)
{
    const struct asked *a = x->asked;
    return a->stage == JOB_STAGE_BOUNDARY &&
           (a->by_rule || a->splitting || (x->work->asked && x->work->call.outcome == ERR_OK));
}

/* Of a draft that is made again; the same hold of the lane then writes what is new. */
static enum err_code unlink(struct work *work, struct store_txn *txn, struct batch **batch,
                            struct err *err)
{
    const struct asked *a = work->own;
    struct job job;
    struct work_row row;
    enum err_code rc = work_get(txn, work->space, work->id, &row, err);
    if (rc != ERR_OK || row.seq == 0 || a->stage == JOB_STAGE_DESCRIBE)
        return rc;
    rc = job_get(txn, work->space, work->id, &job, err);
    const struct stage_base base = {txn, work->space, work->works->services, work->batch_arena};
    return rc == ERR_OK ? draft_unlink(&base, job.episode, (enum job_stage)a->stage, batch, err)
                        : rc;
}

static enum err_code apply(struct work *work, struct store_txn *txn, struct batch **batch,
                           enum work_next *next, struct err *err)
{
    struct act x = {.work = work, .asked = work->own, .next = WORK_END};
    const struct stage_base base = {txn, work->space, work->works->services, work->batch_arena};
    *next = WORK_APPLY;
    enum err_code rc = ERR_OK;
    note_commit(work);
    if (may_split(&x)) {
        rc = stage_act(&base, split, &x, batch, err);
        *next = x.next;
        return rc;
    }
    if (work->asked && work->call.outcome == ERR_OK)
        rc = unlink(work, txn, batch, err);
    if (rc != ERR_OK || *batch != NULL)
        return rc;
    rc = stage_act(&base, act, &x, batch, err);
    *next = x.next;
    return rc;
}

const struct work_ops work__episode = {prepare, apply, NULL};
