/* Drafts: what becomes of an episode between its stages, and of jobs that an operator touches. The
 * model's answers are made here; fsck looks at the space after each step. */
#include "core/ingest/draft.h"

#include <stdlib.h>

#include "core/ingest/remove.h"
#include "core/ingest/upkeep.h"
#include "core/ingest/work.h"
#include "core/ingest/work_admin.h"
#include "core/model/models.h"
#include "tests/fakes/model_script.h"
#include "tests/unit/ingest/kit_stage.h"

static struct script script;
static struct models *models;
static struct metrics metrics;

static void setup(void)
{
    struct err err = {0};
    stage_kit_setup();
    script_init(&script, NULL, 0);
    struct models_options options = script_options(&script);
    ck_assert_msg(models_new(&options, &models, &err) == ERR_OK, "%s", err.message);
    metrics = (struct metrics){0};
    stage_kit.services.models = models;
    stage_kit.services.metrics = &metrics;
}

static void teardown(void)
{
    stage_kit_teardown();
    models_free(models);
    script_fini(&script);
}

/* --- one act --- */

struct doing {
    stage_act_fn *act;
    void *arg;
    unsigned long fail_at; /* allocation that fails; 0: none */
};

static enum err_code build_act(const struct doing *what, struct arena *arena, struct batch **batch,
                               struct err *err)
{
    struct store_txn *txn = begin(&stage_kit.kit.f);
    const struct stage_base base = {txn, stage_kit.kit.space, &stage_kit.services, arena};
    if (what->fail_at != 0)
        arena_fail_after(arena, what->fail_at);
    enum err_code rc = stage_act(&base, what->act, what->arg, batch, err);
    store_end(txn);
    return rc;
}

static void commit(struct batch *batch)
{
    struct err err = {0};
    ck_assert_ptr_nonnull(batch);
    ck_assert_msg(apply_err(&stage_kit.kit.f, batch, &err) == ERR_OK, "%s", err.message);
}

/* First with memory that runs out at one place after the other, then in earnest. */
static void act(stage_act_fn *fn, void *arg)
{
    struct doing what = {fn, arg, 1};
    enum err_code rc = ERR_EXHAUSTED;
    for (unsigned step = 1; rc != ERR_OK; what.fail_at += step, step += what.fail_at > 40) {
        struct arena *arena = arena_new(ARENA_STAGE_BYTES);
        struct batch *batch = NULL;
        struct err err = {0};
        rc = build_act(&what, arena, &batch, &err);
        ck_assert_msg(rc == ERR_OK || (rc == ERR_EXHAUSTED && batch == NULL), "%lu: %s",
                      what.fail_at, err.message);
        arena_free(arena);
    }
    ck_assert_uint_gt(what.fail_at, 10);
    struct arena *arena = arena_new(ARENA_STAGE_BYTES);
    struct batch *batch = NULL;
    struct err err = {0};
    what.fail_at = 0;
    rc = build_act(&what, arena, &batch, &err);
    ck_assert_msg(rc == ERR_OK, "%s:%d: %s", err.file, err.line, err.message);
    commit(batch);
    arena_free(arena);
}

/* --- jobs --- */

static uint64_t job_of(uint32_t episode)
{
    uint64_t found = 0;
    struct err err;
    struct store_txn *txn = begin(&stage_kit.kit.f);
    for (uint64_t seq = 1; seq <= stat_now(STAT_SEQ); seq++) {
        struct job job;
        if (job_get(txn, stage_kit.kit.space, seq, &job, &err) == ERR_OK &&
            job.kind == JOB_EPISODE && job.episode == episode)
            found = seq;
    }
    store_end(txn);
    ck_assert_uint_ne(found, 0);
    return found;
}

static struct job job_now(uint64_t seq)
{
    struct job job;
    struct err err;
    struct store_txn *txn = begin(&stage_kit.kit.f);
    ck_assert_int_eq(job_get(txn, stage_kit.kit.space, seq, &job, &err), ERR_OK);
    store_end(txn);
    job.session = job.error = STR("");
    return job;
}

/* Its job's rows, in the act that takes it on. */
static enum err_code move_job(struct stage_work *w, uint32_t episode, enum job_stage stage,
                              enum job_state state, struct err *err)
{
    uint64_t seq = job_of(episode);
    struct work_row row;
    struct job job = job_now(seq);
    enum err_code rc = work_get(w->txn, w->space, seq, &row, err);
    if (rc != ERR_OK)
        return rc;
    row.stage = (uint8_t)stage;
    char key[8];
    struct buf record;
    be64_set(key, seq);
    job.stage = (uint8_t)stage;
    job.state = (uint8_t)state;
    job.updated_ms = w->now_ms;
    buf_init(&record, w->arena, JOB_ROW_MAX);
    job_encode(&job, &record);
    if (!buf_ok(&record))
        return stage__memory(err);
    (void)batch_put(w->batch, KIND_JOB, (struct str){key, sizeof key}, buf_str(&record), 0);
    if (stage == JOB_STAGE_NONE)
        work_del(w->batch, seq);
    else
        work_put(w->batch, &row);
    if (state == JOB_CANCELLED)
        batch_expire(w->batch, (uint64_t)(w->now_ms + 24 * HOUR_MS), KIND_JOB,
                     (struct str){key, sizeof key});
    const struct work_row *rows[] = {&row};
    w->changed = true;
    return stage__outlook(w, rows, 1, err);
}

/* --- stages --- */

static enum err_code act_describe(struct stage_work *w, void *arg, struct err *err)
{
    uint32_t id = *(const uint32_t *)arg;
    enum err_code rc = draft_describe(w, id, STR("Told title"), STR("Told summary"), err);
    return rc == ERR_OK ? move_job(w, id, JOB_STAGE_TOPIC, JOB_RUNNING, err) : rc;
}

static enum err_code act_topics(struct stage_work *w, void *arg, struct err *err)
{
    uint32_t id = *(const uint32_t *)arg;
    struct ask_topic answer = {.n_topics = 1};
    answer.topics[0] = (struct ask_topic_text){.number = 77, /* gone: a new one */
                                               .title = STR("A story"),
                                               .summary = STR("What goes on"),
                                               .keywords = STR("garden\nfence"),
                                               .weight = 0.5};
    enum err_code rc = draft_topics(w, id, &answer, err);
    return rc == ERR_OK ? move_job(w, id, JOB_STAGE_FACTS, JOB_RUNNING, err) : rc;
}

struct told {
    uint32_t episode;
    struct ask_facts answer;
};

static enum err_code act_facts(struct stage_work *w, void *arg, struct err *err)
{
    const struct told *told = arg;
    enum err_code rc = draft_facts(w, told->episode, &told->answer, err);
    return rc == ERR_OK ? move_job(w, told->episode, JOB_STAGE_NONE, JOB_COMPLETED, err) : rc;
}

static enum err_code act_built_in(struct stage_work *w, void *arg, struct err *err)
{
    uint32_t id = *(const uint32_t *)arg;
    enum err_code rc = draft_built_in(w, id, true, err);
    return rc == ERR_OK ? move_job(w, id, JOB_STAGE_NONE, JOB_CANCELLED, err) : rc;
}

/* Describe and topic of a draft. */
static void tell(uint32_t episode)
{
    act(act_describe, &episode);
    check_space();
    act(act_topics, &episode);
    check_space();
}

static struct ask_fact fact_of(const char *content, uint32_t *turn)
{
    return (struct ask_fact){.content = str_of(content),
                             .potential = STR("Why?"),
                             .keywords = STR("garden"),
                             .turns = turn,
                             .n_turns = 1,
                             .time_text = STR(""),
                             .weight = 0.7,
                             .role = ROLE_CORE};
}

static void tell_fact(uint32_t episode, struct ask_fact fact)
{
    struct told told = {.episode = episode, .answer = {.facts = &fact, .n_facts = 1}};
    act(act_facts, &told);
    check_space();
}

/* One turn, flushed: a draft; *turn: its number. */
static uint32_t draft_of(const char *session, const char *speaker, const char *text, uint32_t *turn)
{
    *turn = say(session, speaker, text);
    (void)flush_now(session);
    return (uint32_t)stat_now(STAT_NEXT_EPISODE) - 1;
}

/* A whole episode with one told fact; returns the fact's id. */
static uint32_t told_episode(const char *session, const char *speaker, struct ask_fact *fact)
{
    uint32_t turn,
        id = draft_of(session, speaker, "The fence needs paint, said the neighbour.", &turn);
    fact->turns = &turn;
    tell(id);
    uint32_t first = (uint32_t)stat_now(STAT_NEXT_FACT);
    tell_fact(id, *fact);
    return first;
}

START_TEST(a_draft_becomes_an_episode)
{
    uint32_t turn, id = draft_of("a", "Ann", "We paint the garden fence.", &turn);
    ck_assert_uint_eq(episode_now(id).n_topics, 0);
    ck_assert_uint_eq(stat_now(STAT_UNFINISHED), 1);
    ck_assert_uint_lt(stat_now(STAT_PROCESSED), stat_now(STAT_SEQ));
    tell(id);
    ck_assert(holds_words(episode_now(id).title, "Told title"));
    ck_assert(holds_words(topic_now(episode_now(id).topics[0]).title, "A story"));
    ck_assert_uint_eq(stat_now(STAT_UNFINISHED), 1);
    tell_fact(id, fact_of("Ann paints the fence", &turn));
    ck_assert_uint_eq(stat_now(STAT_UNFINISHED), 0);
    ck_assert_uint_eq(stat_now(STAT_PROCESSED), stat_now(STAT_SEQ));
    ck_assert_uint_eq(facts_now(), 1);
    ck_assert_uint_eq(stat_now(STAT_WORK_DUE), 0);
}
END_TEST

START_TEST(a_draft_is_finished_built_in)
{
    uint32_t turn, id = draft_of("a", "Ann", "We paint the garden fence.", &turn);
    act(act_built_in, &id);
    ck_assert_uint_eq(episode_now(id).n_topics, 1);
    ck_assert((episode_now(id).flags & EPISODE_DEGRADED) != 0);
    ck_assert_uint_eq(stat_now(STAT_UNFINISHED), 0);
    ck_assert_uint_ge(facts_now(), 1);
}
END_TEST

/* --- facts --- */

START_TEST(a_correction_ends_the_older_fact)
{
    struct ask_fact fact = fact_of("The party is on Friday", NULL);
    uint32_t old = told_episode("a", "Ann", &fact);
    fact = fact_of("The party is on Saturday", NULL);
    fact.supersedes = old;
    uint32_t new = told_episode("b", "Ann", &fact);
    ck_assert_uint_eq(fact_now(old).superseded_by, new);
    ck_assert_uint_eq(fact_now(new).supersedes, old);
    ck_assert(fact_now(old).valid_to == fact_now(new).valid_from);
    /* it is over: a second one ends it no more */
    fact = fact_of("The party is on Sunday", NULL);
    fact.supersedes = old;
    uint32_t third = told_episode("c", "Ann", &fact);
    ck_assert_uint_eq(fact_now(old).superseded_by, new);
    ck_assert_uint_eq(fact_now(third).supersedes, 0);
    /* Friday after all: what was over and is said again is a fact of its own, not a source */
    fact = fact_of("The party is on Friday", NULL);
    fact.supersedes = new;
    uint32_t again = told_episode("d", "Ann", &fact);
    ck_assert_uint_ne(again, old);
    ck_assert_uint_eq(fact_now(old).n_sources, 1);
    ck_assert_uint_eq(fact_now(new).superseded_by, again);
    ck_assert(fact_now(again).valid_to == TIME_NEVER);
}
END_TEST

START_TEST(a_machine_ends_nothing_that_a_person_said)
{
    struct ask_fact fact = fact_of("The party is on Friday", NULL);
    uint32_t old = told_episode("a", "Ann", &fact);
    fact = fact_of("The party is on Monday", NULL);
    fact.supersedes = old;
    uint32_t machine = told_episode("b", "assistant", &fact);
    ck_assert_uint_eq(fact_now(old).superseded_by, 0);
    ck_assert_uint_eq(fact_now(machine).supersedes, 0);
    /* but a person ends what a machine said */
    fact = fact_of("The party is on Tuesday", NULL);
    fact.supersedes = machine;
    uint32_t person = told_episode("c", "Ann", &fact);
    ck_assert_uint_eq(fact_now(machine).superseded_by, person);
}
END_TEST

START_TEST(an_older_statement_ends_no_newer_one)
{
    struct ask_fact fact = fact_of("The party is on Friday", NULL);
    uint32_t newer = told_episode("a", "Ann", &fact);
    stage_kit.time_ms -= 2 * HOUR_MS;
    fact = fact_of("The party is on Thursday", NULL);
    fact.supersedes = newer;
    uint32_t older = told_episode("b", "Ann", &fact);
    ck_assert_uint_eq(fact_now(newer).superseded_by, 0);
    ck_assert_uint_eq(fact_now(older).supersedes, 0);
}
END_TEST

START_TEST(the_same_fact_is_a_source_and_a_lost_one_is_new)
{
    struct ask_fact fact = fact_of("Ann likes tea", NULL);
    uint32_t first = told_episode("a", "Ann", &fact);
    fact = fact_of("Ann is fond of tea", NULL);
    fact.same_as = first;
    uint32_t none = told_episode("b", "Ann", &fact);
    ck_assert_uint_eq(stat_now(STAT_NEXT_FACT), none); /* nothing new */
    ck_assert_uint_eq(fact_now(first).n_sources, 2);
    ck_assert_uint_eq(fact_now(first).n_episodes, 2);
    fact.same_as = 99; /* deleted since */
    fact.supersedes = 98;
    uint32_t lost = told_episode("c", "Ann", &fact);
    ck_assert_uint_eq(fact_now(lost).n_sources, 1);
    ck_assert_uint_eq(fact_now(lost).supersedes, 0);
}
END_TEST

START_TEST(what_a_machine_repeats_is_no_source)
{
    struct ask_fact fact = fact_of("Ann likes tea", NULL);
    uint32_t first = told_episode("a", "Ann", &fact);
    fact = fact_of("Ann likes tea, as she said", NULL);
    fact.same_as = first;
    uint32_t none = told_episode("b", "assistant", &fact);
    ck_assert_uint_eq(stat_now(STAT_NEXT_FACT), none);
    ck_assert_uint_eq(fact_now(first).n_sources, 1);
    ck_assert_uint_eq(stat_now(STAT_UNFINISHED), 0);
}
END_TEST

START_TEST(turns_that_are_gone_are_not_cited)
{
    uint32_t turn, id = draft_of("a", "Ann", "We paint the garden fence.", &turn);
    tell(id);
    uint32_t cited[2] = {turn + 7, turn + 9};
    struct ask_fact fact = fact_of("Nobody said so", cited);
    fact.n_turns = 2;
    tell_fact(id, fact);
    ck_assert_uint_eq(fact_with("Nobody said so"), 0);
    ck_assert_uint_ne(fact_with("fence"), 0); /* the turn has its own */
}
END_TEST

/* --- the line of what supersedes what, when one goes --- */

static void delete_node(enum store_kind kind, uint32_t id)
{
    struct arena *arena = arena_new(ARENA_STAGE_BYTES);
    struct remove_counts counts;
    struct batch *batch;
    struct err err = {0};
    struct store_txn *txn = begin(&stage_kit.kit.f);
    enum err_code rc =
        remove_build(txn, stage_kit.kit.space, kind, id, arena, &batch, &counts, &err);
    store_end(txn);
    ck_assert_msg(rc == ERR_OK, "%s", err.message);
    commit(batch);
    arena_free(arena);
    check_space();
}

static void make_line(uint32_t fact[3])
{
    static const char *const days[] = {"Friday", "Saturday", "Sunday"};
    for (int i = 0; i < 3; i++) {
        const char session[] = {(char)('a' + i), '\0'};
        struct str text = str_printf(kit_arena(&stage_kit.kit), "The party is on %s", days[i]);
        struct ask_fact told = fact_of("", NULL);
        told.content = text;
        told.supersedes = i == 0 ? 0 : fact[i - 1];
        fact[i] = told_episode(session, "Ann", &told);
    }
}

START_TEST(who_leaves_the_line_joins_its_neighbours)
{
    uint32_t fact[3];
    make_line(fact);
    delete_node(KIND_FACT, fact[1]);
    ck_assert_uint_eq(fact_now(fact[0]).superseded_by, fact[2]);
    ck_assert_uint_eq(fact_now(fact[2]).supersedes, fact[0]);
    ck_assert(fact_now(fact[0]).valid_to == fact_now(fact[2]).valid_from);
    delete_node(KIND_FACT, fact[2]);
    ck_assert_uint_eq(fact_now(fact[0]).superseded_by, 0);
    ck_assert(fact_now(fact[0]).valid_to == TIME_NEVER);
}
END_TEST

START_TEST(a_deleted_correction_corrects_nothing)
{
    uint32_t fact[3];
    make_line(fact);
    delete_node(KIND_EPISODE, fact_now(fact[2]).episodes[0]);
    ck_assert(fact_now(fact[1]).valid_to == TIME_NEVER);
    delete_node(KIND_TURN, fact_now(fact[0]).sources[0]);
    ck_assert_uint_eq(fact_now(fact[1]).supersedes, 0);
}
END_TEST

START_TEST(a_fact_that_is_deleted_takes_its_twin_along)
{
    struct ask_fact fact = fact_of("The party is on Friday", NULL);
    uint32_t old = told_episode("a", "Ann", &fact);
    fact = fact_of("The party is on Saturday", NULL);
    fact.supersedes = old;
    uint32_t new = told_episode("b", "Ann", &fact);
    fact = fact_of("The party is on Friday", NULL);
    fact.supersedes = new;
    (void)told_episode("c", "Ann", &fact);
    uint32_t before = facts_now();
    delete_node(KIND_FACT, old);
    ck_assert_uint_eq(facts_now(), before - 2);
    ck_assert(fact_now(new).valid_to == TIME_NEVER);
    fact = fact_of("The party is on Friday", NULL);
    uint32_t next = told_episode("d", "Ann", &fact);
    ck_assert_uint_eq(stat_now(STAT_NEXT_FACT), next); /* never again */
}
END_TEST

/* --- again --- */

static void unlink_episode(uint32_t id, bool topics)
{
    struct arena *arena = arena_new(ARENA_STAGE_BYTES);
    struct batch *batch;
    struct err err = {0};
    struct store_txn *txn = begin(&stage_kit.kit.f);
    const struct remove_unlink what = {.txn = txn,
                                       .space = stage_kit.kit.space,
                                       .episode = id,
                                       .topics = topics,
                                       .facts = !topics};
    enum err_code rc = remove_unlink(&what, arena, &batch, &err);
    store_end(txn);
    ck_assert_msg(rc == ERR_OK, "%s", err.message);
    commit(batch);
    arena_free(arena);
}

static uint64_t redo(bool all)
{
    struct arena *arena = arena_new(ARENA_STAGE_BYTES);
    struct batch *batch;
    struct err err = {0};
    uint32_t episode;
    struct store_txn *txn = begin(&stage_kit.kit.f);
    const struct stage_base base = {txn, stage_kit.kit.space, &stage_kit.services, arena};
    const struct work_redo which = {.after = 0, .all = all};
    enum err_code rc = work_redo(&base, &which, &episode, &batch, &err);
    store_end(txn);
    ck_assert_msg(rc == ERR_OK, "%s", err.message);
    if (batch != NULL)
        commit(batch);
    arena_free(arena);
    return episode;
}

START_TEST(facts_with_sources_elsewhere_stay)
{
    struct ask_fact fact = fact_of("Ann likes tea", NULL);
    uint32_t shared = told_episode("a", "Ann", &fact);
    fact.same_as = shared;
    (void)told_episode("b", "Ann", &fact);
    ck_assert_uint_eq(redo(true), 1);
    ck_assert_uint_eq(redo(false), 0); /* both are told, the first has its job */
    unlink_episode(1, false);
    check_space();
    ck_assert_uint_eq(fact_now(shared).n_sources, 1);
    ck_assert_uint_eq(fact_now(shared).episodes[0], 2);
    ck_assert_uint_eq(stat_now(STAT_UNFINISHED), 1);
    unlink_episode(1, true);
    check_space();
    ck_assert_uint_eq(episode_now(1).n_topics, 0);
    uint32_t id = 1, turn = 1;
    tell(id);
    tell_fact(id, fact_of("Ann drinks tea", &turn));
    ck_assert_uint_eq(stat_now(STAT_UNFINISHED), 0);
}
END_TEST

static enum err_code retry(uint64_t seq)
{
    struct arena *arena = arena_new(ARENA_STAGE_BYTES);
    struct batch *batch = NULL;
    struct err err = {0};
    struct job job;
    struct store_txn *txn = begin(&stage_kit.kit.f);
    const struct stage_base base = {txn, stage_kit.kit.space, &stage_kit.services, arena};
    enum err_code rc = work_retry(&base, seq, &batch, &job, &err);
    store_end(txn);
    if (rc == ERR_OK)
        commit(batch);
    arena_free(arena);
    return rc;
}

static bool has_record(uint64_t seq)
{
    char key[8];
    struct str value;
    struct err err;
    be64_set(key, seq);
    struct store_txn *txn = begin(&stage_kit.kit.f);
    ck_assert_int_eq(
        store_get(txn, stage_kit.kit.space, KIND_JOB, (struct str){key, sizeof key}, &value, &err),
        ERR_OK);
    store_end(txn);
    return value.at != NULL;
}

START_TEST(a_job_that_is_tried_again_is_kept)
{
    uint32_t turn, id = draft_of("a", "Ann", "We paint the garden fence.", &turn);
    act(act_built_in, &id); /* cancelled: its record goes in a day */
    uint64_t seq = job_of(id);
    advance(HOUR_MS);
    ck_assert_int_eq(retry(seq), ERR_OK);
    ck_assert_int_eq(retry(seq), ERR_CONFLICT);
    check_space();
    advance(48 * HOUR_MS);
    (void)run_stages();
    ck_assert(has_record(seq));
    check_space();
}
END_TEST

START_TEST(a_deleted_episode_ends_its_job)
{
    uint32_t turn, id = draft_of("a", "Ann", "We paint the garden fence.", &turn);
    uint64_t seq = job_of(id);
    delete_node(KIND_EPISODE, id);
    ck_assert_uint_eq(stat_now(STAT_WORK_DUE), 1);
    ck_assert(has_record(seq));
}
END_TEST

/* --- splitting --- */

struct splitting {
    uint32_t id, end, rest;
};

static enum err_code act_split(struct stage_work *w, void *arg, struct err *err)
{
    struct splitting *x = arg;
    struct work_row own;
    const struct draft_cut cut = {x->id, x->end, (uint64_t)w->now_ms + 5000};
    enum err_code rc = work_get(w->txn, w->space, job_of(x->id), &own, err);
    own.stage = JOB_STAGE_DESCRIBE;
    if (rc == ERR_OK)
        rc = move_job(w, x->id, JOB_STAGE_DESCRIBE, JOB_RUNNING, err);
    return rc == ERR_OK ? draft_split(w, &cut, &own, &x->rest, err) : rc;
}

START_TEST(a_draft_is_split)
{
    uint32_t first = 0;
    for (int i = 0; i < 9; i++) {
        uint32_t n = say("a", i % 2 == 0 ? "Ann" : "Bob", "We paint the garden fence again.");
        first = first == 0 ? n : first;
    }
    (void)flush_now("a");
    ck_assert_uint_eq(job_now(job_of(1)).stage, JOB_STAGE_BOUNDARY);
    struct splitting x = {.id = 1, .end = first + 3};
    act(act_split, &x);
    check_space();
    ck_assert_uint_eq(x.rest, 2);
    ck_assert(episode_now(1).turns == 4 && episode_now(2).turns == 5);
    ck_assert_uint_eq(job_now(job_of(2)).stage, JOB_STAGE_BOUNDARY);
    /* ends outside cut nothing */
    x = (struct splitting){.id = 2, .end = first + 20};
    act(act_split, &x);
    ck_assert_uint_eq(x.rest, 0);
    ck_assert_uint_eq(episodes_now(), 2);
}
END_TEST

/* --- rows --- */

static enum err_code act_rows(struct stage_work *w, void *arg, struct err *err)
{
    (void)err;
    const struct work_row *rows = arg;
    for (; rows->seq != 0; rows++)
        work_put(w->batch, rows);
    w->changed = w->outlook_known = true;
    w->work_seq = UINT64_MAX;
    return ERR_OK;
}

static struct work_outlook outlook_of(const struct work_row *const *instead, unsigned n)
{
    struct work_outlook outlook;
    struct err err;
    const struct work_rows rows = {instead, n};
    struct store_txn *txn = begin(&stage_kit.kit.f);
    ck_assert_int_eq(work_outlook(txn, stage_kit.kit.space, &rows, &outlook, &err), ERR_OK);
    store_end(txn);
    return outlook;
}

START_TEST(rows_instead)
{
    (void)say("a", "Ann", "We paint.");
    struct work_row stored[] = {
        {.seq = 10, .due_ms = 500, .first_seq = 7, .stage = JOB_STAGE_DESCRIBE},
        {.seq = 20, .due_ms = 300, .first_seq = 5, .stage = JOB_STAGE_TOPIC},
        {.seq = 30, .due_ms = 900, .first_seq = 9, .stage = JOB_STAGE_FACTS},
        {.seq = 0}};
    struct arena *arena = arena_new(ARENA_STAGE_BYTES);
    struct batch *batch;
    struct err err = {0};
    const struct doing what = {act_rows, stored, 0};
    ck_assert_int_eq(build_act(&what, arena, &batch, &err), ERR_OK);
    commit(batch);
    arena_free(arena);
    struct work_outlook outlook = outlook_of(NULL, 0);
    ck_assert(outlook.due_ms == 500 && outlook.first_seq == 5); /* the topic waits behind 10 */
    const struct work_row past = {
        .seq = 10, .due_ms = 500, .first_seq = 7, .stage = JOB_STAGE_FACTS};
    const struct work_row gone = {.seq = 20}, more = {UINT64_MAX, 0, 2, JOB_STAGE_BOUNDARY};
    const struct work_row early = {.seq = 5, .due_ms = 8, .first_seq = 6, .stage = JOB_STAGE_FACTS};
    const struct work_row *one[] = {&past};
    outlook = outlook_of(one, 1);
    ck_assert(outlook.due_ms == 300 && outlook.first_seq == 5);
    const struct work_row *two[] = {&gone, &more};
    outlook = outlook_of(two, 2);
    ck_assert(outlook.due_ms == 1 && outlook.first_seq == 2); /* 0: at once */
    const struct work_row *three[] = {&early, &gone};
    outlook = outlook_of(three, 2);
    ck_assert(outlook.due_ms == 8 && outlook.first_seq == 6);
    const struct work_row ten = {.seq = 10}, thirty = {.seq = 30};
    const struct work_row *all[] = {&ten, &gone, &thirty};
    outlook = outlook_of(all, 3);
    ck_assert(outlook.due_ms == UINT64_MAX && outlook.first_seq == UINT64_MAX);
}
END_TEST

Suite *suite_draft(void)
{
    Suite *suite = suite_create("draft");
    TCase *tc = tcase_create("draft");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_draft_becomes_an_episode);
    tcase_add_test(tc, a_draft_is_finished_built_in);
    tcase_add_test(tc, a_correction_ends_the_older_fact);
    tcase_add_test(tc, a_machine_ends_nothing_that_a_person_said);
    tcase_add_test(tc, an_older_statement_ends_no_newer_one);
    tcase_add_test(tc, the_same_fact_is_a_source_and_a_lost_one_is_new);
    tcase_add_test(tc, what_a_machine_repeats_is_no_source);
    tcase_add_test(tc, turns_that_are_gone_are_not_cited);
    tcase_add_test(tc, who_leaves_the_line_joins_its_neighbours);
    tcase_add_test(tc, a_deleted_correction_corrects_nothing);
    tcase_add_test(tc, a_fact_that_is_deleted_takes_its_twin_along);
    tcase_add_test(tc, facts_with_sources_elsewhere_stay);
    tcase_add_test(tc, a_job_that_is_tried_again_is_kept);
    tcase_add_test(tc, a_deleted_episode_ends_its_job);
    tcase_add_test(tc, a_draft_is_split);
    suite_add_tcase(suite, tc);
    tc = tcase_create("rows"); /* of no job: fsck would not like them */
    tcase_add_checked_fixture(tc, stage_kit_setup, NULL);
    tcase_add_test(tc, rows_instead);
    suite_add_tcase(suite, tc);
    return suite;
}
