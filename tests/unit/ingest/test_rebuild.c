#include "core/ingest/rebuild.h"

#include <stdlib.h>

#include "core/base/limits.h"
#include "core/ingest/remove.h"
#include "storage/check.h"
#include "tests/unit/ingest/kit_stage.h"

static void tell_story(void)
{
    (void)say("a", "Ann", "My greyhound Turnip stole a salmon from the market.");
    (void)say("a", "Bob", "The fishmonger Bertram was furious about the salmon.");
    (void)say("a", "Ann", "Turnip slept under the piano afterwards.");
    (void)flush_now(NULL);
    (void)say_at("b", "Ann", "The vet weighed Turnip, 23 kilos of greyhound.",
                 KIT_NOW + 72 * HOUR_MS);
    (void)flush_now(NULL);
}

/* The arguments as remove.c makes them, in one snapshot. */
struct scene {
    struct store_txn *txn;
    struct space settings;
    struct arena *arena;
    struct rebuild rebuild;
    struct err err;
};

static void open_scene(struct scene *s)
{
    *s = (struct scene){.txn = begin(&stage_kit.kit.f), .arena = arena_new(256 << 20)};
    ck_assert_int_eq(space_get(s->txn, stage_kit.kit.space, &s->settings, &s->err), ERR_OK);
    s->rebuild = (struct rebuild){
        .txn = s->txn, .space = stage_kit.kit.space, .settings = &s->settings, .arena = s->arena};
}

static void close_scene(struct scene *s)
{
    store_end(s->txn);
    arena_free(s->arena);
}

static struct turn turn_at(struct scene *s, uint32_t n)
{
    struct turn turn;
    ck_assert_int_eq(turn_get(s->txn, stage_kit.kit.space, n, &turn, &s->err), ERR_OK);
    ck_assert_int_eq(turn_load_text(s->txn, stage_kit.kit.space, s->arena, &turn, &s->err), ERR_OK);
    return turn;
}

START_TEST(an_unchanged_episode_stays_the_same)
{
    tell_story();
    struct scene s;
    open_scene(&s);
    struct episode stored = episode_now(1);
    struct episode episode = stored;
    episode.title = episode.summary = episode.participants = STR_NONE;
    struct turn turns[3] = {turn_at(&s, 1), turn_at(&s, 2), turn_at(&s, 3)};
    struct term_bag bag;
    ck_assert_int_eq(rebuild_episode(&s.rebuild, turns, 3, &episode, &bag, &s.err), ERR_OK);
    ck_assert(str_eq(episode.participants, stored.participants));
    ck_assert(str_starts(episode.title, STR("Ann and Bob: ")));
    ck_assert(holds_words(episode.title, "salmon"));
    ck_assert(str_starts(episode.summary, STR("8 May 2023. ")));
    ck_assert_uint_gt(bag.n, 8);
    close_scene(&s);
}
END_TEST

START_TEST(what_went_leaves_no_word)
{
    tell_story();
    struct scene s;
    open_scene(&s);
    struct episode episode = episode_now(1);
    struct turn turns[2] = {turn_at(&s, 1), turn_at(&s, 3)};
    uint32_t gone = 2;
    s.rebuild.gone_turns = &gone;
    s.rebuild.n_gone_turns = 1;
    struct term_bag bag, topic_bag;
    ck_assert_int_eq(rebuild_episode(&s.rebuild, turns, 2, &episode, &bag, &s.err), ERR_OK);
    ck_assert(str_eq(episode.participants, STR("Ann")));
    ck_assert(!holds_words(episode.title, "Bertram"));
    ck_assert(!holds_words(episode.summary, "Bertram"));
    struct topic topic = topic_now(episode.topics[0]);
    topic.title = topic.summary = STR_NONE;
    ck_assert_int_eq(rebuild_topic(&s.rebuild, &episode, 1, &topic, &topic_bag, &s.err), ERR_OK);
    ck_assert_uint_gt(topic.n_keywords, 2);
    for (uint16_t i = 0; i < topic.n_keywords; i++)
        ck_assert(!holds_words(topic.keywords[i].text, "Bertram"));
    ck_assert(!holds_words(topic.summary, "Bertram"));
    ck_assert_uint_gt(topic_bag.n, 2);
    close_scene(&s);
}
END_TEST

static void no_line(const char *text, void *arg)
{
    (void)text;
    (void)arg;
}

static uint64_t hits(const char *words)
{
    struct find_report report;
    struct err err;
    const struct check_sink quiet = {no_line, NULL};
    ck_assert_int_eq(
        storage_find(stage_kit.kit.f.store, str_of(words), false, &quiet, &report, &err), ERR_OK);
    return report.hits;
}

static void erase(enum store_kind kind, uint32_t id)
{
    struct arena *arena = arena_new(256 << 20);
    struct store_txn *txn = begin(&stage_kit.kit.f);
    struct batch *batch;
    struct remove_counts counts;
    struct err err;
    enum err_code rc =
        remove_build(txn, stage_kit.kit.space, kind, id, arena, &batch, &counts, &err);
    store_end(txn);
    ck_assert_msg(rc == ERR_OK, "%s:%d: %s", err.file, err.line, err.message);
    rc = apply_err(&stage_kit.kit.f, batch, &err);
    ck_assert_msg(rc == ERR_OK, "%s", err.message);
    arena_free(arena);
    check_space();
}

START_TEST(deleting_a_turn_rebuilds)
{
    tell_story();
    ck_assert_uint_ne(hits("Bertram"), 0);
    erase(KIND_TURN, 2);
    ck_assert_uint_eq(hits("Bertram"), 0);
    struct episode episode = episode_now(1);
    ck_assert_uint_eq(episode.turns, 2);
    ck_assert(str_eq(episode.participants, STR("Ann")));
    ck_assert(holds_words(episode.title, "salmon"));
    /* And the stages go on. */
    (void)say_at("c", "Ann", "Turnip the greyhound stole another salmon.", KIT_NOW + 144 * HOUR_MS);
    (void)flush_now(NULL);
    ck_assert_uint_eq(episodes_now(), 3);
}
END_TEST

START_TEST(deleting_from_an_open_buffer_goes_on)
{
    for (int i = 0; i < 6; i++)
        (void)say("a", "Ann", i == 3 ? "Bertram was furious." : "The salmon was fresh and pink.");
    run_stages();
    ck_assert_uint_eq(stat_now(STAT_OPEN), 6);
    erase(KIND_TURN, 4);
    ck_assert_uint_eq(hits("Bertram"), 0);
    for (int i = 0; i < 6; i++)
        (void)say("a", "Bob", "Violins need rosin and patience.");
    run_stages();
    (void)flush_now(NULL);
    ck_assert_uint_eq(stat_now(STAT_OPEN), 0);
    uint32_t turns = 0;
    for (uint32_t id = 1; id <= episodes_now(); id++)
        turns += episode_now(id).turns;
    ck_assert_uint_eq(turns, 11);
}
END_TEST

START_TEST(deleting_all_of_it)
{
    tell_story();
    erase(KIND_EPISODE, 1);
    ck_assert_uint_eq(hits("Bertram"), 0);
    ck_assert_uint_eq(episodes_now(), 1);
    erase(KIND_TURN, 4);
    ck_assert_uint_eq(episodes_now() + topics_now() + facts_now(), 0);
    ck_assert_uint_eq(hits("Turnip"), 0);
    tell_story(); /* again, as if nothing had been */
    ck_assert_uint_eq(episodes_now(), 2);
}
END_TEST

START_TEST(memory_runs_out)
{
    tell_story();
    struct scene s;
    open_scene(&s);
    struct turn turns[3] = {turn_at(&s, 1), turn_at(&s, 2), turn_at(&s, 3)};
    struct episode members[2] = {episode_now(1), episode_now(2)};
    struct topic topic = topic_now(1);
    enum err_code rc = ERR_EXHAUSTED;
    for (unsigned long n = 1; rc != ERR_OK; n += 1 + n / 8) {
        struct arena *arena = arena_new(256 << 20);
        struct term_bag bag;
        s.rebuild.arena = arena;
        arena_fail_after(arena, n);
        rc = rebuild_episode(&s.rebuild, turns, 3, &members[0], &bag, &s.err);
        if (rc == ERR_OK) {
            members[0] = episode_now(1);
            arena_fail_after(arena, n);
            rc = rebuild_topic(&s.rebuild, members, 2, &topic, &bag, &s.err);
        }
        ck_assert(rc == ERR_OK || rc == ERR_EXHAUSTED);
        members[0] = episode_now(1);
        arena_free(arena);
        ck_assert_uint_lt(n, 100000);
    }
    close_scene(&s);
}
END_TEST

Suite *suite_rebuild(void)
{
    Suite *suite = suite_create("rebuild");
    TCase *tcase = tcase_create("rebuild");
    tcase_add_checked_fixture(tcase, stage_kit_setup, stage_kit_teardown);
    tcase_add_test(tcase, an_unchanged_episode_stays_the_same);
    tcase_add_test(tcase, what_went_leaves_no_word);
    tcase_add_test(tcase, deleting_a_turn_rebuilds);
    tcase_add_test(tcase, deleting_from_an_open_buffer_goes_on);
    tcase_add_test(tcase, deleting_all_of_it);
    tcase_add_test(tcase, memory_runs_out);
    suite_add_tcase(suite, tcase);
    return suite;
}
