/* Deleting what the real stages made: after each delete fsck is clean and no live value holds what
 * went, whatever was made again from the rest. */
#include <stdio.h>
#include <stdlib.h>

#include "core/ingest/job.h"
#include "core/ingest/remove.h"
#include "core/ingest/stage.h"
#include "storage/check.h"
#include "tests/unit/ingest/kit.h"

enum { TURNS = 90, SESSIONS = 3 };

static struct kit kit;
static struct clock clock_now;
static unsigned seed;

static void setup(void)
{
    kit_init(&kit);
    clock_now = clock_manual(KIT_NOW + 1000000);
}

static void teardown(void)
{
    kit_fini(&kit);
}

static uint32_t chance(uint32_t below)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % below;
}

/* --- a dialogue --- */

static const char *const stories[] = {"marathon training", "garden fence", "violin lessons",
                                      "office move"};

/* Questions and their short answers, sentences that come again, and a needle in most turns. */
static struct str line_of(uint32_t n)
{
    struct arena *arena = kit_arena(&kit);
    const char *story = stories[(n / 9) % 4];
    switch (n % 6) {
    case 0: return str_printf(arena, "How is the %s with needle%ux going?", story, n);
    case 1: return STR("Three times now.");
    case 2: return str_printf(arena, "The %s took needle%ux hours yesterday. I like it.", story, n);
    case 3: return STR("I bought new shoes for it. Any news from Peter?");
    case 4: return STR("Three times now.");
    default:
        return str_printf(arena, "On 3 May 2023 the %s cost $%u and Needle%ux helped.", story,
                          100 + n, n);
    }
}

static void post_all(void)
{
    static const char *const sessions[SESSIONS] = {"", "a", "b"};
    for (uint32_t n = 1; n <= TURNS; n++) {
        int64_t gap = n % 15 == 0 ? 10 * 3600000 : 60000;
        kit.now_ms += gap / 100;
        ck_assert_uint_eq(
            kit_say(&kit, (struct turn_input){.text = line_of(n),
                                              .session = str_of(sessions[(n / 6) % SESSIONS]),
                                              .speaker = n % 2 == 0 ? STR("Ann") : STR("Bob"),
                                              .has_time = true,
                                              .time_ms = KIT_NOW + (int64_t)n * 60000 +
                                                         (int64_t)(n / 15) * 10 * 3600000}),
            n);
    }
}

static void run_stages(void)
{
    struct services services = {
        .store = kit.f.store, .clock = &clock_now, .idle_close_ms = INT64_C(1) << 40};
    for (unsigned i = 0; i < 2000; i++) {
        struct arena *arena = arena_new(256 << 20);
        struct stage_unit unit;
        struct err err = {.code = ERR_OK};
        struct store_txn *txn = begin(&kit.f);
        enum err_code rc = stage_build(txn, kit.space, &services, arena, &unit, &err);
        store_end(txn);
        ck_assert_msg(rc == ERR_OK, "%s", err.message);
        bool done = unit.batch == NULL;
        if (!done)
            ck_assert_msg(apply_err(&kit.f, unit.batch, &err) == ERR_OK, "%s", err.message);
        arena_free(arena);
        if (done)
            return;
    }
    ck_abort_msg("the stages do not come to an end");
}

static void flush_all(void)
{
    struct batch *batch;
    struct err err;
    struct store_txn *txn = begin(&kit.f);
    ck_assert_int_eq(
        flush_build(txn, kit.space, STR_NONE, kit.now_ms, kit_arena(&kit), &batch, &err), ERR_OK);
    store_end(txn);
    ck_assert_int_eq(apply(&kit.f, batch), ERR_OK);
    run_stages();
}

/* --- checks --- */

static void print(const char *text, void *arg)
{
    (void)arg;
    (void)fprintf(stderr, "%s\n", text);
}

static void expect_clean(void)
{
    struct check_sink sink = {print, NULL};
    struct check_report report;
    struct err err;
    ck_assert_int_eq(storage_check(kit.f.store, &sink, &report, &err), ERR_OK);
    ck_assert_uint_eq(report.problems, 0);
}

static void ignore(const char *text, void *arg)
{
    (void)text;
    (void)arg;
}

static uint64_t hits_of(const char *text)
{
    struct check_sink sink = {ignore, NULL};
    struct find_report report;
    struct err err;
    ck_assert_int_eq(storage_find(kit.f.store, str_of(text), false, &sink, &report, &err), ERR_OK);
    return report.hits;
}

static void expect_not_found(const char *text)
{
    ck_assert_msg(hits_of(text) == 0, "%s is still there", text);
}

static void expect_no_needles(void)
{
    for (uint32_t n = 1; n <= TURNS; n++) {
        if (kit_turn(&kit, n).n != 0)
            continue;
        char needle[16];
        (void)snprintf(needle, sizeof needle, "needle%ux", n);
        expect_not_found(needle);
        needle[0] = 'N';
        expect_not_found(needle);
    }
}

static bool try_delete(enum store_kind kind, uint32_t id)
{
    struct arena *arena = arena_new(256 << 20);
    struct batch *batch;
    struct remove_counts counts;
    struct err err = {.code = ERR_OK};
    struct store_txn *txn = begin(&kit.f);
    enum err_code rc = remove_build(txn, kit.space, kind, id, arena, &batch, &counts, &err);
    store_end(txn);
    if (rc == ERR_OK)
        rc = apply_err(&kit.f, batch, &err);
    ck_assert_msg(rc == ERR_OK || rc == ERR_NOT_FOUND, "%s", err.message);
    arena_free(arena);
    return rc == ERR_OK;
}

static void delete_some(unsigned wanted)
{
    static const enum store_kind kinds[] = {KIND_TURN, KIND_TURN, KIND_TURN,
                                            KIND_FACT, KIND_FACT, KIND_EPISODE};
    unsigned deleted = 0;
    for (unsigned tries = 0; tries < 4000 && deleted < wanted; tries++) {
        enum store_kind kind = chance(40) == 0 ? KIND_TOPIC : kinds[chance(6)];
        if (!try_delete(kind, 1 + chance(TURNS)))
            continue;
        deleted++;
        expect_clean();
        if (deleted % 5 == 0)
            expect_no_needles();
        run_stages();
    }
    ck_assert_uint_eq(deleted, wanted);
    expect_no_needles();
}

START_TEST(what_the_stages_made)
{
    seed = 1 + (unsigned)_i;
    post_all();
    run_stages();
    expect_clean();
    ck_assert_uint_gt(kit_stat(&kit).v[STAT_EPISODES], 3);
    ck_assert_uint_gt(kit_stat(&kit).v[STAT_FACTS], 30);
    ck_assert_uint_gt(kit_stat(&kit).v[STAT_OPEN], 0);
    ck_assert_uint_gt(hits_of("(asked “"), 5);
    delete_some(8); /* with open buffers */
    flush_all();
    expect_clean();
    ck_assert_uint_eq(kit_stat(&kit).v[STAT_OPEN], 0);
    delete_some(40);
    for (uint32_t n = 1; n <= TURNS; n++)
        (void)try_delete(KIND_TURN, n);
    expect_clean();
    expect_not_found("needle");
    expect_not_found("marathon");
    struct space_stat stat = kit_stat(&kit);
    ck_assert_uint_eq(stat.v[STAT_TURNS] + stat.v[STAT_EPISODES] + stat.v[STAT_TOPICS] +
                          stat.v[STAT_FACTS] + stat.v[STAT_TEXT_BYTES],
                      0);
}
END_TEST

Suite *suite_remove_real(void)
{
    Suite *suite = suite_create("remove_real");
    TCase *tc = tcase_create("remove_real");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, what_the_stages_made, 0, 3);
    suite_add_tcase(suite, tc);
    return suite;
}
