#include "tests/unit/ingest/kit_stage.h"

#include <stdio.h>

#include "core/base/limits.h"
#include "storage/check.h"

struct stage_kit stage_kit;

void stage_kit_setup(void)
{
    stage_kit = (struct stage_kit){.time_ms = KIT_NOW, .clock = clock_manual(KIT_NOW)};
    kit_init(&stage_kit.kit);
    stage_kit.services = (struct services){.store = stage_kit.kit.f.store,
                                           .clock = &stage_kit.clock,
                                           .log = &stage_kit.kit.f.log,
                                           .idle_close_ms = KIT_IDLE_MS};
}

static void print_line(const char *text, void *arg)
{
    (void)arg;
    printf("%s\n", text);
    (void)fflush(stdout);
}

void check_space(void)
{
    struct check_report report;
    struct err err;
    const struct check_sink sink = {print_line, NULL};
    ck_assert_msg(storage_check(stage_kit.kit.f.store, &sink, &report, &err) == ERR_OK, "%s",
                  err.message);
    ck_assert_uint_eq(report.problems, 0);
}

void stage_kit_teardown(void)
{
    if (stage_kit.kit.f.store != NULL)
        check_space();
    kit_fini(&stage_kit.kit);
}

struct hash128 digest_now(void)
{
    struct hash128 digest;
    struct err err;
    ck_assert_msg(storage_digest_space(stage_kit.kit.f.store, STR("s"), &digest, &err) == ERR_OK,
                  "%s", err.message);
    return digest;
}

/* --- in --- */

static bool is_role(const char *speaker)
{
    static const char *const roles[] = {"user", "assistant", "tool", "system"};
    for (size_t i = 0; i < sizeof roles / sizeof roles[0]; i++) {
        if (strcmp(roles[i], speaker) == 0)
            return true;
    }
    return false;
}

struct turn_input turn_of_line(const struct line *line, int64_t time_ms)
{
    bool role = is_role(line->speaker);
    return (struct turn_input){.session = line->session != NULL ? str_of(line->session) : STR_NONE,
                               .speaker = role ? STR_NONE : str_of(line->speaker),
                               .role = role ? str_of(line->speaker) : STR_NONE,
                               .text = str_of(line->text),
                               .has_time = true,
                               .time_ms = time_ms};
}

uint32_t say_at(const char *session, const char *speaker, const char *text, int64_t time_ms)
{
    const struct line line = {session, speaker, text};
    stage_kit.time_ms = time_ms + MINUTE_MS;
    stage_kit.kit.now_ms = stage_kit.clock.fixed_ms;
    return kit_say(&stage_kit.kit, turn_of_line(&line, time_ms));
}

uint32_t say(const char *session, const char *speaker, const char *text)
{
    return say_at(session, speaker, text, stage_kit.time_ms);
}

void say_all(const struct line *lines, uint32_t n)
{
    struct turn_input turns[LIMIT_TURNS_PER_CALL];
    struct accept_plan plan;
    ck_assert_uint_le(n, LIMIT_TURNS_PER_CALL);
    for (uint32_t i = 0; i < n; i++, stage_kit.time_ms += MINUTE_MS)
        turns[i] = turn_of_line(&lines[i], stage_kit.time_ms);
    stage_kit.kit.now_ms = stage_kit.clock.fixed_ms;
    enum err_code rc = kit_post(&stage_kit.kit, turns, n, false, &plan);
    ck_assert_msg(rc == ERR_OK, "%s: %s", stage_kit.kit.err.param, stage_kit.kit.err.message);
}

void advance(int64_t ms)
{
    stage_kit.clock.fixed_ms += ms;
    stage_kit.kit.now_ms = stage_kit.clock.fixed_ms;
}

/* --- the stages --- */

bool run_unit(void)
{
    struct arena *arena = arena_new(ARENA_STAGE_BYTES);
    struct stage_unit unit;
    struct err err = {.code = ERR_OK};
    struct store_txn *txn = begin(&stage_kit.kit.f);
    enum err_code rc =
        stage_build(txn, stage_kit.kit.space, &stage_kit.services, arena, &unit, &err);
    store_end(txn);
    ck_assert_msg(rc == ERR_OK, "%s:%d: %s", err.file, err.line, err.message);
    bool did = unit.batch != NULL;
    if (did) {
        rc = apply_err(&stage_kit.kit.f, unit.batch, &err);
        ck_assert_msg(rc == ERR_OK, "%s", err.message);
        stage_kit.units++;
        stage_kit.sum.episodes += unit.episodes;
        stage_kit.sum.facts += unit.facts;
        stage_kit.sum.facts_duplicate += unit.facts_duplicate;
        stage_kit.sum.facts_echo += unit.facts_echo;
        stage_kit.sum.topics_new += unit.topics_new;
        stage_kit.sum.topics_joined += unit.topics_joined;
        stage_kit.sum.topics_successor += unit.topics_successor;
    }
    arena_free(arena);
    return did;
}

uint32_t run_stages(void)
{
    uint32_t before = stage_kit.sum.episodes;
    unsigned units = 0;
    while (run_unit())
        ck_assert_uint_lt(units++, 100000);
    return stage_kit.sum.episodes - before;
}

struct job flush_now(const char *session)
{
    struct arena *arena = kit_arena(&stage_kit.kit);
    struct store_txn *txn = begin(&stage_kit.kit.f);
    struct batch *batch;
    struct job job;
    struct err err;
    struct str name = session != NULL ? str_of(session) : STR_NONE;
    ck_assert_int_eq(
        flush_build(txn, stage_kit.kit.space, name, stage_kit.clock.fixed_ms, arena, &batch, &err),
        ERR_OK);
    store_end(txn);
    ck_assert_int_eq(apply(&stage_kit.kit.f, batch), ERR_OK);
    run_stages();
    txn = begin(&stage_kit.kit.f);
    ck_assert_int_eq(job_get(txn, stage_kit.kit.space, batch->seq, &job, &err), ERR_OK);
    store_end(txn);
    job.session = job.error = STR_NONE; /* they borrowed */
    return job;
}

/* --- out --- */

uint64_t stat_now(enum stat_id id)
{
    return kit_stat(&stage_kit.kit).v[id];
}

uint32_t episodes_now(void)
{
    return (uint32_t)stat_now(STAT_EPISODES);
}

uint32_t topics_now(void)
{
    return (uint32_t)stat_now(STAT_TOPICS);
}

uint32_t facts_now(void)
{
    return (uint32_t)stat_now(STAT_FACTS);
}

/* A copy of a record that outlives its transaction. */
static struct str record(enum store_kind kind, uint32_t id)
{
    struct str value;
    struct err err;
    struct store_txn *txn = begin(&stage_kit.kit.f);
    ck_assert_int_eq(store_get_u32(txn, stage_kit.kit.space, kind, id, &value, &err), ERR_OK);
    ck_assert_msg(value.at != NULL, "no record %c %u", kind, id);
    struct str copy = str_copy(kit_arena(&stage_kit.kit), value);
    store_end(txn);
    return copy;
}

struct episode episode_now(uint32_t id)
{
    struct episode episode;
    struct err err;
    ck_assert_int_eq(episode_decode(record(KIND_EPISODE, id), id, &episode, &err), ERR_OK);
    return episode;
}

struct topic topic_now(uint32_t id)
{
    struct topic topic;
    struct err err;
    struct arena *arena = kit_arena(&stage_kit.kit);
    ck_assert_int_eq(topic_decode(arena, record(KIND_TOPIC, id), id, &topic, &err), ERR_OK);
    return topic;
}

struct fact fact_now(uint32_t id)
{
    struct fact fact;
    struct err err;
    struct arena *arena = kit_arena(&stage_kit.kit);
    ck_assert_int_eq(fact_decode(arena, record(KIND_FACT, id), id, &fact, &err), ERR_OK);
    return fact;
}

struct edge edge_now(enum store_kind kind, uint32_t parent)
{
    struct edge edge;
    struct err err;
    struct arena *arena = kit_arena(&stage_kit.kit);
    ck_assert_int_eq(edge_decode(arena, record(kind, parent), &edge, &err), ERR_OK);
    return edge;
}

bool holds_words(struct str text, const char *words)
{
    return text.len != 0 && memmem(text.at, text.len, words, strlen(words)) != NULL;
}

uint32_t fact_with(const char *words)
{
    uint32_t last = (uint32_t)stat_now(STAT_NEXT_FACT);
    for (uint32_t id = 1; id < last; id++) {
        if (holds_words(fact_now(id).content, words))
            return id;
    }
    return 0;
}
