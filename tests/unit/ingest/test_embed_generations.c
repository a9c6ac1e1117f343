/* Generations of vectors follow the provider. */
#include <check.h>

#include "tests/unit/ingest/kit_embed.h"

/* --- generations --- */

START_TEST(another_model_means_another_generation)
{
    talk_unembedded();
    works_sweep(stage_kit.services.works);
    run_all();
    settle_vectors();
    uint32_t first = active_now().number;
    make_models("second");
    kit_model.dim = KIT_DIM + 3;
    works_sweep(stage_kit.services.works);
    run_all();
    expect_complete();
    struct vectors_generation g = active_now();
    ck_assert_uint_ne(g.number, first);
    ck_assert_uint_eq(g.dim, KIT_DIM + 3);
    ck_assert(holds_words(g.line, "model=\"second\""));
    settle_vectors();
    ck_assert_uint_eq(generations_now().n, 1); /* the first has gone */
    expect_vector(LAYER_TURN, 1, "Bob: How do you train for such a long run?");
}
END_TEST

START_TEST(one_that_is_built_for_nobody_is_given_up)
{
    talk_unembedded();
    works_sweep(stage_kit.services.works);
    run_all();
    settle_vectors();
    make_models("second");
    kit_model.breaks_off = true;
    works_sweep(stage_kit.services.works);
    run_all();
    struct vectors_generations all = generations_now();
    ck_assert_uint_eq(all.n, 2);
    ck_assert_int_eq(all.at[0].state, VECTORS_ACTIVE);
    ck_assert_int_eq(all.at[1].state, VECTORS_BUILDING);
    ck_assert_uint_ne(stat_now(STAT_EMBED_DUE), 0);
    make_models(_i == 0 ? "first" : "third");
    run_later(1000);
    expect_complete();
    ck_assert(holds_words(active_now().line, _i == 0 ? "model=\"first\"" : "model=\"third\""));
    settle_vectors();
    ck_assert_uint_eq(generations_now().n, 1);
}
END_TEST

START_TEST(one_that_is_half_built_is_taken_up_again)
{
    talk_unembedded();
    kit_model.breaks_off = true;
    works_sweep(stage_kit.services.works);
    run_all();
    ck_assert_int_eq(generations_now().at[0].state, VECTORS_BUILDING);
    uint64_t stored = counted(METRIC_EMBED_STORED);
    ck_assert_uint_ne(stored, 0);
    run_later(1000);
    expect_complete();
    ck_assert_uint_eq(generations_now().n, 1);
    ck_assert_uint_eq(counted(METRIC_EMBED_STORED), TALK + facts_now() + 2);
}
END_TEST

START_TEST(a_stray_dimension_is_not_stored)
{
    say_all(talk, TALK);
    run_all();
    kit_model.dim = KIT_DIM * 2;
    (void)say("s1", "Ann", "And now to something else.");
    run_all();
    ck_assert_uint_eq(stat_now(STAT_EMBED_FAILURES), 1);
    ck_assert_uint_eq(generations_now().n, 1);
    kit_model.dim = KIT_DIM;
    run_later(1000);
    expect_complete();
    ck_assert_uint_eq(generations_now().n, 1);
    ck_assert_uint_eq(active_now().dim, KIT_DIM);
    expect_vector(LAYER_TURN, 4, "Ann: And now to something else.");
}
END_TEST

START_TEST(a_dimension_that_stays_is_another_identity)
{
    say_all(talk, TALK);
    run_all();
    kit_model.dim = KIT_DIM * 2;
    (void)say("s1", "Ann", "And now to something else.");
    run_all();
    for (unsigned i = 0; i < 8 && stat_now(STAT_EMBED_DUE) != 0; i++)
        run_later(10000);
    expect_complete();
    ck_assert_uint_eq(active_now().dim, KIT_DIM * 2);
    settle_vectors();
    ck_assert_uint_eq(generations_now().n, 1);
}
END_TEST

START_TEST(too_many_dimensions_are_refused)
{
    struct embed_plan plan;
    struct err err;
    kit_model.dim = VECTORS_DIM_MAX + 1;
    say_all(talk, 1);
    run_all();
    ck_assert_uint_eq(generations_now().n, 0);
    ck_assert_uint_eq(stat_now(STAT_EMBED_FAILURES), 1);
    struct store_txn *txn = begin(&stage_kit.kit.f);
    const struct stage_base base = {txn, stage_kit.kit.space, &stage_kit.services,
                                    kit_arena(&stage_kit.kit)};
    ck_assert_int_eq(embed_plan(&base, 0, &plan, &err), ERR_OK);
    ck_assert(plan.current == NULL && plan.stale == NULL);
    store_end(txn);
}
END_TEST

Suite *suite_embed_generations(void)
{
    Suite *suite = suite_create("embed_generations");
    TCase *tcase = tcase_create("embed_generations");
    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, embed_kit_setup, embed_kit_teardown);
    tcase_add_test(tcase, another_model_means_another_generation);
    tcase_add_loop_test(tcase, one_that_is_built_for_nobody_is_given_up, 0, 2);
    tcase_add_test(tcase, one_that_is_half_built_is_taken_up_again);
    tcase_add_test(tcase, a_stray_dimension_is_not_stored);
    tcase_add_test(tcase, a_dimension_that_stays_is_another_identity);
    tcase_add_test(tcase, too_many_dimensions_are_refused);
    suite_add_tcase(suite, tcase);
    return suite;
}
