#include <stdlib.h>

#include "tests/unit/ingest/kit_world.h"

static struct world *w;

static void make(unsigned seed, uint32_t turns)
{
    w = calloc(1, sizeof *w);
    ck_assert_ptr_nonnull(w);
    world_init(w, seed, turns);
}

static void setup(void)
{
    make(1, 60);
}

static void teardown(void)
{
    world_fini(w);
    free(w);
}

static enum err_code build(enum store_kind kind, uint32_t id, struct arena *arena,
                           struct batch **batch, struct remove_counts *counts, struct err *err)
{
    struct store_txn *txn = begin(&w->kit.f);
    struct removal *r = ARENA_NEW(arena, struct removal);
    enum err_code rc = ERR_EXHAUSTED;
    *counts = (struct remove_counts){0};
    *batch = NULL;
    if (r != NULL) {
        *r = (struct removal){.txn = txn, .space = w->kit.space, .arena = arena, .ops = &world_ops};
        rc = remove__build(r, kind, id, counts, err);
        if (rc == ERR_OK)
            *batch = r->batch;
    }
    store_end(txn);
    return rc;
}

/* Deletes in both and compares counts and everything. */
static void erase(enum store_kind kind, uint32_t id)
{
    struct arena *arena = arena_new(256 << 20);
    struct batch *batch;
    struct remove_counts counts;
    struct err err = {.code = ERR_OK};
    struct remove_counts before = world_count(w);
    world_delete(w, kind, id);
    struct remove_counts after = world_count(w);
    ck_assert_msg(build(kind, id, arena, &batch, &counts, &err) == ERR_OK, "%s", err.message);
    ck_assert_msg(apply_err(&w->kit.f, batch, &err) == ERR_OK, "%s", err.message);
    ck_assert_uint_eq(counts.turns, before.turns - after.turns);
    ck_assert_uint_eq(counts.facts, before.facts - after.facts);
    ck_assert_uint_eq(counts.episodes, before.episodes - after.episodes);
    ck_assert_uint_eq(counts.topics, before.topics - after.topics);
    arena_free(arena);
}

static void expect(enum store_kind kind, uint32_t id, enum err_code code)
{
    struct arena *arena = arena_new(256 << 20);
    struct batch *batch;
    struct remove_counts counts;
    struct err err = {.code = ERR_OK};
    ck_assert_int_eq(build(kind, id, arena, &batch, &counts, &err), code);
    ck_assert_int_eq(err.code, code);
    ck_assert_ptr_null(batch);
    arena_free(arena);
}

static bool exists(enum store_kind kind, uint32_t id)
{
    switch (kind) {
    case KIND_TURN: return w->turns[id].alive;
    case KIND_FACT: return world_has_fact(w, id);
    case KIND_EPISODE: return world_has_episode(w, id);
    default: return world_has_topic(w, id);
    }
}

/* --- one by one --- */

START_TEST(the_world_is_sound)
{
    world_check(w);
    struct remove_counts counts = world_count(w);
    ck_assert_uint_eq(counts.turns, 60);
    ck_assert_uint_gt(counts.episodes, 10);
    ck_assert_uint_gt(counts.facts, 30);
    ck_assert_uint_gt(counts.topics, 5);
    ck_assert_uint_gt(count_rows(&w->kit.f, w->kit.space, KIND_BUFFER), 0);
}
END_TEST

START_TEST(what_is_not_there)
{
    static const enum store_kind kinds[] = {KIND_TURN, KIND_FACT, KIND_EPISODE, KIND_TOPIC};
    for (size_t i = 0; i < 4; i++) {
        expect(kinds[i], 0, ERR_NOT_FOUND);
        expect(kinds[i], 4000000000u, ERR_NOT_FOUND);
        uint32_t id = 1;
        while (!exists(kinds[i], id))
            id++;
        erase(kinds[i], id);
        expect(kinds[i], id, ERR_NOT_FOUND);
    }
    world_check(w);
    w->kit.space += 1000;
    expect(KIND_TURN, 2, ERR_NOT_FOUND);
}
END_TEST

START_TEST(a_turn_nobody_has_looked_at)
{
    world_post(w);
    uint32_t n = w->n_turns;
    erase(KIND_TURN, n);
    world_check(w);
}
END_TEST

START_TEST(an_open_turn)
{
    for (uint32_t n = 1; n <= w->looked; n++) {
        if (w->turns[n].episode != 0)
            continue;
        erase(KIND_TURN, n);
        world_check(w);
    }
    ck_assert_uint_eq(count_rows(&w->kit.f, w->kit.space, KIND_BUFFER), 0);
    ck_assert_uint_eq(kit_stat(&w->kit).v[STAT_IDLE_DUE], 0);
}
END_TEST

START_TEST(a_deleted_id_is_free_again)
{
    uint32_t n = 1;
    while (!w->turns[n].has_id)
        n++;
    struct str id = str_printf(kit_arena(&w->kit), "client%u", n);
    erase(KIND_TURN, n);
    struct turn_input turn = {.id = id, .text = STR("something else")};
    uint32_t again = kit_say(&w->kit, turn);
    ck_assert_uint_eq(again, w->n_turns + 1); /* numbers are not */
}
END_TEST

START_TEST(a_fact_leaves_its_turns_and_its_hash)
{
    struct space_stat before = kit_stat(&w->kit);
    erase(KIND_FACT, 1);
    erase(KIND_FACT, w->n_facts);
    world_check(w);
    struct space_stat after = kit_stat(&w->kit);
    ck_assert_uint_eq(after.v[STAT_TURNS], before.v[STAT_TURNS]);
    ck_assert_uint_eq(after.v[STAT_FACTS], before.v[STAT_FACTS] - 2);
    ck_assert_uint_eq(after.v[STAT_CHANGES], before.v[STAT_CHANGES] + 2);
    ck_assert_uint_eq(after.v[STAT_SEQ], before.v[STAT_SEQ] + 2);
}
END_TEST

START_TEST(an_episode_and_a_topic)
{
    erase(KIND_EPISODE, 2);
    world_check(w);
    erase(KIND_EPISODE, w->n_episodes);
    world_check(w);
    uint32_t topic = 1;
    while (!world_has_topic(w, topic))
        topic++;
    erase(KIND_TOPIC, topic);
    world_check(w);
}
END_TEST

/* Lines of topics: the first, one in the middle, the last. */
START_TEST(lines_of_topics_stay_whole)
{
    for (uint32_t line = 0; line < w->n_lines; line++) {
        for (uint32_t id = 1; id <= w->n_topics; id++) {
            if (w->topics[id].line != line || !world_has_topic(w, id))
                continue;
            erase(KIND_TOPIC, id);
            world_check(w);
        }
    }
    struct remove_counts counts = world_count(w);
    ck_assert_uint_eq(counts.topics + counts.episodes + counts.facts, 0);
}
END_TEST

START_TEST(an_episode_in_two_topics_survives_one)
{
    uint32_t e = 1;
    while (w->episodes[e].n_topics < 2)
        e++;
    erase(KIND_TOPIC, w->episodes[e].topics[0]);
    ck_assert(world_has_episode(w, e));
    world_check(w);
    erase(KIND_TOPIC, w->episodes[e].topics[1]);
    ck_assert(!world_has_episode(w, e));
    world_check(w);
}
END_TEST

/* Built in, a closed turn has its facts; with a model it may wait for them. */
START_TEST(a_turn_whose_facts_are_not_there_yet)
{
    uint32_t n = w->episodes[1].turns[0];
    struct turn_row row;
    struct store_txn *txn = begin(&w->kit.f);
    columns_turn(columns_new(txn, w->kit.space, kit_arena(&w->kit)), w->turns[n].doc, &row);
    store_end(txn);
    row.flags &= (uint8_t)~TURN_ROW_DONE;
    struct batch *batch = batch_of(&w->kit.f, w->kit.space);
    (void)column_put(batch, COLUMN_TURN, w->turns[n].doc, &row, 1);
    batch_add(batch, STAT_UNFINISHED, 1);
    ck_assert_int_eq(apply(&w->kit.f, batch), ERR_OK);
    erase(KIND_TURN, n);
    world_check(w);
}
END_TEST

/* The answer "Three" quotes the question: without the question it says nothing. */
START_TEST(a_question_takes_what_quotes_it)
{
    uint32_t id = 1;
    while (w->facts[id].asked_by[0] == 0 || w->facts[id].n_sources != 1)
        id++;
    ck_assert(world_has_fact(w, id));
    erase(KIND_TURN, w->facts[id].asked_by[0]);
    ck_assert(!world_has_fact(w, id));
    ck_assert(w->turns[w->facts[id].sources[0]].alive);
    world_check(w);
    expect(KIND_FACT, id, ERR_NOT_FOUND);
}
END_TEST

/* --- the log --- */

START_TEST(the_log_names_what_went)
{
    struct arena *arena = arena_new(64 << 20);
    struct batch *batch;
    struct remove_counts counts;
    struct err err;
    ck_assert_int_eq(build(KIND_EPISODE, 1, arena, &batch, &counts, &err), ERR_OK);
    ck_assert_int_eq(batch->cause, CAUSE_DELETE);
    uint32_t turns = 0, facts = 0, episodes = 0, topics = 0;
    for (uint32_t i = 0; i < batch->logs.n; i++) {
        const struct batch_log *line = &batch->logs.at[i];
        if (line->change != CHANGE_DEL)
            continue;
        turns += line->kind == KIND_TURN ? line->count : 0;
        facts += line->kind == KIND_FACT ? line->count : 0;
        episodes += line->kind == KIND_EPISODE ? line->count : 0;
        topics += line->kind == KIND_TOPIC ? line->count : 0;
    }
    ck_assert(turns == counts.turns && turns == w->episodes[1].n_turns);
    ck_assert(facts == counts.facts && episodes == 1 && topics == counts.topics);
    arena_free(arena);
}
END_TEST

/* --- chance --- */

static uint32_t last_id(enum store_kind kind)
{
    switch (kind) {
    case KIND_TURN: return w->n_turns;
    case KIND_FACT: return w->n_facts;
    case KIND_EPISODE: return w->n_episodes;
    default: return w->n_topics;
    }
}

START_TEST(deletes_by_chance_until_nothing_is_left)
{
    static const enum store_kind kinds[] = {KIND_TURN, KIND_TURN,    KIND_TURN,
                                            KIND_FACT, KIND_EPISODE, KIND_TOPIC};
    make(100 + (unsigned)_i, 30 + (uint32_t)_i * 10);
    world_check(w);
    unsigned deletes = 0;
    for (unsigned tries = 0; world_count(w).turns != 0; tries++) {
        ck_assert_uint_lt(tries, 20000);
        enum store_kind kind = kinds[world_random(w, 6)];
        if (kind == KIND_TOPIC && world_random(w, 4) != 0)
            continue;
        uint32_t id = 1 + world_random(w, last_id(kind));
        if (!exists(kind, id))
            continue;
        erase(kind, id);
        deletes++;
        if (deletes % 3 == 0 || deletes < 6)
            world_check(w);
        if (world_random(w, 8) == 0 && w->n_turns < WORLD_TURNS - 1)
            world_post(w);
    }
    world_check(w);
    ck_assert_uint_gt(deletes, 10);
    struct space_stat stat = kit_stat(&w->kit);
    ck_assert_uint_eq(stat.v[STAT_TEXT_BYTES], 0);
    ck_assert_uint_eq(stat.v[STAT_LENGTH_TURN] + stat.v[STAT_LENGTH_FACT] +
                          stat.v[STAT_LENGTH_EPISODE] + stat.v[STAT_LENGTH_TOPIC],
                      0);
    ck_assert_uint_eq(stat.v[STAT_PROCESSED], stat.v[STAT_SEQ]);
    teardown();
}
END_TEST

/* --- races, damage, memory --- */

START_TEST(two_holders_of_a_lane_would_be_seen)
{
    struct arena *arena = arena_new(64 << 20);
    struct batch *first, *second;
    struct remove_counts counts;
    struct err err;
    ck_assert_int_eq(build(KIND_TURN, 3, arena, &first, &counts, &err), ERR_OK);
    ck_assert_int_eq(build(KIND_TURN, 4, arena, &second, &counts, &err), ERR_OK);
    ck_assert_int_eq(apply(&w->kit.f, first), ERR_OK);
    ck_assert_int_eq(apply(&w->kit.f, second), ERR_CONFLICT);
    arena_free(arena);
    world_delete(w, KIND_TURN, 3);
    world_check(w);
    /* A turn that comes meanwhile is no obstacle. */
    arena = arena_new(64 << 20);
    ck_assert_int_eq(build(KIND_TURN, 4, arena, &second, &counts, &err), ERR_OK);
    world_post(w);
    ck_assert_int_eq(apply(&w->kit.f, second), ERR_OK);
    world_delete(w, KIND_TURN, 4);
    world_check(w);
    arena_free(arena);
}
END_TEST

static void damage(enum store_kind kind, struct str key)
{
    struct batch *batch = batch_of(&w->kit.f, w->kit.space);
    batch_del(batch, kind, key, 0);
    ck_assert_int_eq(apply(&w->kit.f, batch), ERR_OK);
}

START_TEST(damage_is_reported)
{
    uint32_t n = w->episodes[1].turns[0];
    damage(KIND_TOPIC, BE32(w->episodes[1].topics[0]));
    expect(KIND_TURN, n, ERR_INTERNAL);
    damage(KIND_EPISODE, BE32(1));
    expect(KIND_TURN, n, ERR_INTERNAL);
    expect(KIND_EPISODE, 1, ERR_NOT_FOUND);
    uint32_t open = 1;
    while (w->turns[open].episode != 0)
        open++;
    damage(KIND_BUFFER, BE32(w->turns[open].session_no));
    expect(KIND_TURN, open, ERR_INTERNAL);
    kit_raw(&w->kit, KIND_EPISODE, BE32(2), STR("no episode"));
    expect(KIND_EPISODE, 2, ERR_INTERNAL);
    kit_raw(&w->kit, KIND_FACT, BE32(5), STR("no fact"));
    expect(KIND_FACT, 5, ERR_INTERNAL);
    kit_raw(&w->kit, KIND_META, STR(""), STR("no settings"));
    expect(KIND_FACT, 6, ERR_INTERNAL);
}
END_TEST

START_TEST(memory_runs_out)
{
    static const enum store_kind kinds[] = {KIND_TURN, KIND_FACT, KIND_EPISODE, KIND_TOPIC};
    struct space_stat before = kit_stat(&w->kit);
    for (size_t k = 0; k < 4; k++) {
        uint32_t id = kinds[k] == KIND_TURN ? w->episodes[3].turns[0] : 3;
        unsigned long n = 1;
        for (enum err_code rc = ERR_EXHAUSTED; rc != ERR_OK; n += 1 + n / 60) {
            struct arena *arena = arena_new(64 << 20);
            struct batch *batch;
            struct remove_counts counts;
            struct err err = {.code = ERR_OK};
            arena_fail_after(arena, n);
            rc = build(kinds[k], id, arena, &batch, &counts, &err);
            ck_assert_msg(rc == ERR_OK || rc == ERR_EXHAUSTED, "%s", err.message);
            ck_assert_int_eq(batch == NULL, rc != ERR_OK);
            arena_free(arena);
            ck_assert_uint_lt(n, 20000);
        }
        ck_assert_uint_gt(n, 30);
    }
    struct space_stat after = kit_stat(&w->kit);
    ck_assert_mem_eq(&before, &after, sizeof before);
    world_check(w);
}
END_TEST

/* The public entry: what needs no text to be made again. */
START_TEST(remove_build_with_the_real_ops)
{
    struct batch *batch;
    struct remove_counts counts;
    struct err err = {.code = ERR_OK};
    struct store_txn *txn = begin(&w->kit.f);
    ck_assert_int_eq(
        remove_build(txn, w->kit.space, KIND_FACT, 2, kit_arena(&w->kit), &batch, &counts, &err),
        ERR_OK);
    ck_assert_uint_eq(counts.facts, 1);
    ck_assert_int_eq(
        remove_build(txn, w->kit.space, KIND_TOPIC, 999, kit_arena(&w->kit), &batch, &counts, &err),
        ERR_NOT_FOUND);
    ck_assert_ptr_null(batch);
    store_end(txn);
}
END_TEST

Suite *suite_remove(void)
{
    Suite *suite = suite_create("remove");
    TCase *tc = tcase_create("remove");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, the_world_is_sound);
    tcase_add_test(tc, what_is_not_there);
    tcase_add_test(tc, a_turn_nobody_has_looked_at);
    tcase_add_test(tc, an_open_turn);
    tcase_add_test(tc, a_deleted_id_is_free_again);
    tcase_add_test(tc, a_fact_leaves_its_turns_and_its_hash);
    tcase_add_test(tc, an_episode_and_a_topic);
    tcase_add_test(tc, lines_of_topics_stay_whole);
    tcase_add_test(tc, an_episode_in_two_topics_survives_one);
    tcase_add_test(tc, a_turn_whose_facts_are_not_there_yet);
    tcase_add_test(tc, a_question_takes_what_quotes_it);
    tcase_add_test(tc, the_log_names_what_went);
    tcase_add_test(tc, two_holders_of_a_lane_would_be_seen);
    tcase_add_test(tc, damage_is_reported);
    tcase_add_test(tc, memory_runs_out);
    tcase_add_test(tc, remove_build_with_the_real_ops);
    suite_add_tcase(suite, tc);
    TCase *chance = tcase_create("chance");
    tcase_add_loop_test(chance, deletes_by_chance_until_nothing_is_left, 0, 10);
    suite_add_tcase(suite, chance);
    return suite;
}
