/* Vectors are brought up to date, whatever the model does. */
#include <check.h>
#include <math.h>
#include <stdio.h>

#include "core/ingest/embed_text.h"
#include "core/model/tokens.h"
#include "tests/unit/ingest/kit_embed.h"

/* --- what it does --- */

START_TEST(every_layer_gets_vectors)
{
    say_all(talk, TALK);
    run_all();
    ck_assert_uint_eq(kit_model.calls, 1); /* the turns, while they rest in their buffer */
    expect_complete();
    (void)flush_now(NULL);
    ck_assert_uint_ne(stat_now(STAT_EMBED_DUE), 0);
    run_all();
    expect_complete();
    ck_assert_uint_eq(counted(METRIC_EMBED_STORED), TALK + facts_now() + 2);
    ck_assert_uint_eq(counted(METRIC_EMBED_FAILED), 0);
    ck_assert_uint_ne(stat_now(STAT_VECTORS_DUE), 0);
    settle_vectors();
    struct vectors_generation g = active_now();
    ck_assert_uint_eq(g.dim, KIT_DIM);
    ck_assert_uint_eq(g.edges[0], 1);
    ck_assert_uint_eq(g.edges[1], 1);
    ck_assert(holds_words(g.line, "model=\"first\""));
    expect_vector(LAYER_TURN, 1, "Bob: How do you train for such a long run?");
    struct fact fact = fact_now(1);
    ck_assert(was_asked(fact.content));
}
END_TEST

START_TEST(nothing_happens_without_a_provider)
{
    provider(false);
    say_all(talk, TALK);
    ck_assert_uint_eq(stat_now(STAT_EMBED_DUE), 0);
    (void)flush_now(NULL);
    run_all();
    works_sweep(stage_kit.services.works);
    ck_assert_uint_eq(works_busy(stage_kit.services.works), 0);
    ck_assert_uint_eq(stat_now(STAT_EMBED_DUE), 0);
    ck_assert_uint_eq(stat_now(STAT_VECTORS_DUE), 0);
    ck_assert_uint_eq(generations_now().n, 0);
    ck_assert_uint_eq(kit_model.calls, 0);
    ck_assert_uint_eq(counted(METRIC_EMBED_STORED), 0);
}
END_TEST

START_TEST(a_provider_that_comes_late_finds_the_space)
{
    talk_unembedded();
    run_all();
    ck_assert_uint_eq(generations_now().n, 0);
    works_sweep(stage_kit.services.works);
    run_all();
    expect_complete();
    settle_vectors();
    uint32_t calls = kit_model.calls;
    works_sweep(stage_kit.services.works); /* the next start */
    run_all();
    ck_assert_uint_eq(kit_model.calls, calls);
    ck_assert_uint_eq(stat_now(STAT_EMBED_DUE), 0);
}
END_TEST

START_TEST(a_provider_that_goes_leaves_no_due_time)
{
    kit_model.failure = MODEL_FAILURE_CONNECT;
    say_all(talk, TALK);
    run_all();
    ck_assert_uint_eq(stat_now(STAT_EMBED_FAILURES), 1);
    provider(false);
    run_later(3600 * 1000);
    ck_assert_uint_eq(stat_now(STAT_EMBED_DUE), 0);
    ck_assert_uint_eq(stat_now(STAT_EMBED_FAILURES), 0);
    provider(true);
}
END_TEST

/* --- when the endpoint fails --- */

START_TEST(an_outage_is_waited_for)
{
    uint64_t last_wait = 0;
    kit_model.failure = MODEL_FAILURE_CONNECT;
    say_all(talk, TALK);
    run_all();
    for (uint32_t failures = 1; failures <= 14; failures++) {
        uint64_t now = (uint64_t)stage_kit.clock.fixed_ms;
        uint64_t due = stat_now(STAT_EMBED_DUE);
        uint64_t most = failures < 10 ? UINT64_C(1000) << (failures - 1) : 300000;
        ck_assert_uint_eq(stat_now(STAT_EMBED_FAILURES), failures);
        ck_assert_uint_eq(kit_model.calls, failures);
        most = most < 300000 ? most : 300000;
        ck_assert(due > now + most / 2 && due <= now + most);
        last_wait = due - now;
        (void)say("s1", "Ann", "Are you still there?"); /* does not make it earlier (E2) */
        run_all();
        ck_assert_uint_eq(stat_now(STAT_EMBED_DUE), due);
        ck_assert_uint_eq(kit_model.calls, failures);
        run_later((int64_t)(due - (uint64_t)stage_kit.clock.fixed_ms));
    }
    ck_assert_uint_gt(last_wait, 150000);
    ck_assert_uint_eq(stat_now(STAT_PENDING), 0); /* nothing else waits */
    (void)flush_now(NULL);
    ck_assert_uint_ne(facts_now(), 0);
    kit_model.failure = MODEL_FAILURE_NONE;
    run_later(300000);
    expect_complete();
}
END_TEST

START_TEST(retry_after_is_honoured)
{
    kit_model.failure = MODEL_FAILURE_RATE;
    kit_model.retry_after_ms = 3600 * 1000;
    say_all(talk, TALK);
    run_all();
    uint64_t wait = stat_now(STAT_EMBED_DUE) - (uint64_t)stage_kit.clock.fixed_ms;
    ck_assert(wait >= 3600 * 1000 && wait <= 3600 * 1000 + 1000);
    kit_model.failure = MODEL_FAILURE_NONE;
    run_later(3600 * 1000 - 1);
    ck_assert_uint_eq(kit_model.calls, 1);
    run_later(1001);
    expect_complete();
}
END_TEST

START_TEST(a_stop_is_no_failure)
{
    kit_model.failure = MODEL_FAILURE_STOPPED;
    say_all(talk, TALK);
    works_stop(stage_kit.services.works);
    run_all();
    ck_assert_uint_eq(stat_now(STAT_EMBED_FAILURES), 0);
    ck_assert_uint_ne(stat_now(STAT_EMBED_DUE), 0);
}
END_TEST

/* --- when texts fail --- */

START_TEST(a_text_that_fails_alone_is_lexical)
{
    float row[KIT_DIM];
    kit_model.hates = "knees";
    say_all(talk, TALK);
    run_all();
    expect_complete();
    ck_assert(!row_of(LAYER_TURN, 3, row));
    ck_assert(row_of(LAYER_TURN, 2, row));
    ck_assert_uint_eq(counted(METRIC_EMBED_STORED), 3);
    ck_assert_uint_eq(counted(METRIC_EMBED_FAILED), 1);
    ck_assert_uint_eq(kit_model.calls, 1);
}
END_TEST

/* Whose fault is it? A plain sentence tells. */
START_TEST(a_lone_text_that_fails_does_not_block)
{
    float row[KIT_DIM];
    kit_model.hates = "knees";
    (void)say("s1", "Bob", "My knees would never forgive me for that.");
    run_all();
    ck_assert_uint_eq(stat_now(STAT_EMBED_FAILURES), 1);
    ck_assert_uint_eq(generations_now().n, 0);
    run_later(1000);
    ck_assert_uint_eq(kit_model.calls, 2);
    expect_complete();
    ck_assert(!row_of(LAYER_TURN, 0, row));
    ck_assert_uint_eq(counted(METRIC_EMBED_FAILED), 1);
}
END_TEST

/* Words of `n` sentences, each its own. */
static const char *long_text(uint32_t n)
{
    struct buf out;
    buf_init(&out, kit_arena(&stage_kit.kit), 1 << 20);
    for (uint32_t i = 0; i < n; i++)
        buf_printf(&out, "Sentence number %u speaks of plan %u. ", i, i * 7);
    buf_char(&out, '\0');
    return buf_str(&out).at;
}

START_TEST(long_texts_are_embedded_in_pieces)
{
    const char *text = long_text(60);
    float want[KIT_DIM] = {0}, have[KIT_DIM], piece[KIT_DIM];
    double sum = 0;
    (void)say("s1", "Ann", text);
    run_all();
    expect_complete();
    ck_assert_uint_gt(kit_model.n_asked, 5);
    ck_assert_uint_eq(counted(METRIC_EMBED_STORED), 1);
    for (uint32_t i = 0; i < kit_model.n_asked; i++) {
        ck_assert_uint_le(model_tokens(kit_model.asked[i]), 64);
        vector_of(kit_model.asked[i], piece);
        for (uint32_t k = 0; k < KIT_DIM; k++)
            want[k] += piece[k];
    }
    for (uint32_t k = 0; k < KIT_DIM; k++)
        sum += (double)want[k] * (double)want[k];
    ck_assert(row_of(LAYER_TURN, 0, have));
    for (uint32_t k = 0; k < KIT_DIM; k++)
        ck_assert(fabs((double)want[k] / sqrt(sum) - (double)have[k]) < 0.01);
}
END_TEST

START_TEST(what_is_too_long_is_cut_smaller)
{
    float row[KIT_DIM];
    kit_model.text_most = 120;
    (void)say("s1", "Ann", long_text(10));
    (void)say("s1", "Bob", "A short one.");
    run_all();
    expect_complete();
    ck_assert(row_of(LAYER_TURN, 0, row));
    ck_assert_uint_eq(counted(METRIC_EMBED_FAILED), 0);
    ck_assert_uint_gt(kit_model.calls, 1);
}
END_TEST

START_TEST(parts_of_a_long_turn_are_documents)
{
    (void)say("s1", "Ann", long_text(300)); /* some 12 KiB */
    run_all();
    expect_complete();
    ck_assert_uint_gt(stat_now(STAT_DOCS_TURN), 2);
    for (uint32_t i = 0; i < 300; i++) {
        char words[64];
        (void)snprintf(words, sizeof words, "Sentence number %u speaks", i);
        bool found = false;
        for (uint32_t k = 0; k < kit_model.n_asked; k++)
            found = found || holds_words(kit_model.asked[k], words);
        ck_assert_msg(found, "%s", words);
    }
}
END_TEST

START_TEST(cutting_keeps_limit_and_words)
{
    static const char *const texts[] = {
        "", " \n ", "One. Two. Three. Four. Five. Six. Seven.",
        "漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};
    struct str pieces[EMBED_PIECES_MAX];
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        for (uint32_t tokens = 1; tokens < 40; tokens++) {
            uint32_t n = embed_cut(str_of(texts[i]), tokens, pieces);
            size_t len = 0;
            for (uint32_t k = 0; k < n; k++) {
                ck_assert_uint_ne(pieces[k].len, 0);
                ck_assert(model_tokens(pieces[k]) <= tokens || pieces[k].len <= 16);
                len += pieces[k].len;
            }
            ck_assert_uint_eq(n != 0, str_trim(str_of(texts[i])).len != 0);
            ck_assert(n < EMBED_PIECES_MAX ? len + 2 * n >= str_trim(str_of(texts[i])).len
                                           : len != 0);
        }
    }
}
END_TEST

/* --- meanwhile --- */

START_TEST(turns_that_come_meanwhile_are_embedded_too)
{
    kit_model.post_in_call = 3;
    say_all(talk, TALK);
    run_all();
    expect_complete();
    ck_assert_uint_eq(stat_now(STAT_TURNS), TALK + 3);
    ck_assert_uint_eq(counted(METRIC_EMBED_STORED), TALK + 3);
}
END_TEST

/* Between the snapshot that saw nothing more to do and its commit. */
START_TEST(a_turn_that_slips_in_is_embedded_too)
{
    kit_model.post_at_commit = 1 + (uint32_t)_i;
    say_all(talk, TALK);
    run_all();
    ck_assert_uint_ge(kit_model.commits, kit_model.post_at_commit);
    expect_complete();
    ck_assert_uint_eq(counted(METRIC_EMBED_STORED), TALK + 1);
}
END_TEST

/* The answer is written all the same, with what is left. */
START_TEST(a_refused_batch_is_built_again)
{
    say_all(talk, TALK);
    run_all();
    (void)say("s1", "Ann", "Where were we?");
    kit_model.commits = 0;
    kit_model.post_at_commit = 1 + (uint32_t)_i;
    run_all();
    ck_assert_uint_ge(kit_model.commits, kit_model.post_at_commit);
    expect_complete();
    ck_assert_uint_eq(kit_model.n_asked, TALK + 2);
    ck_assert_uint_eq(counted(METRIC_EMBED_STORED), TALK + 2);
}
END_TEST

/* Turns don't rest for it. */
START_TEST(a_record_that_is_gone_is_waited_for)
{
    say_all(talk, TALK);
    struct batch *batch = batch_of(&stage_kit.kit.f, stage_kit.kit.space);
    char *record = NULL;
    size_t len = 0;
    struct str value;
    struct err err;
    struct store_txn *txn = begin(&stage_kit.kit.f);
    ck_assert_int_eq(store_get_u32(txn, stage_kit.kit.space, KIND_TURN, 3, &value, &err), ERR_OK);
    len = value.len;
    record = arena_copy(kit_arena(&stage_kit.kit), value.at, len);
    store_end(txn);
    run_unit(); /* boundary has looked at it */
    (void)batch_del_u32(batch, KIND_TURN, 3, 0);
    ck_assert_int_eq(apply(&stage_kit.kit.f, batch), ERR_OK);
    run_all();
    ck_assert_uint_eq(kit_model.calls, 0);
    ck_assert_uint_eq(stat_now(STAT_EMBED_FAILURES), 1);
    batch = batch_of(&stage_kit.kit.f, stage_kit.kit.space);
    (void)batch_put_u32(batch, KIND_TURN, 3, (struct str){record, len}, 0);
    ck_assert_int_eq(apply(&stage_kit.kit.f, batch), ERR_OK);
    run_later(1000);
    expect_complete();
}
END_TEST

/* Whatever is committed last, what is left is due. */
START_TEST(a_stop_between_two_commits_loses_nothing)
{
    kit_model.stop_at_commit = 1 + (uint32_t)_i;
    say_all(talk, TALK);
    run_all();
    ck_assert_uint_eq(kit_model.commits, kit_model.stop_at_commit);
    check_space();
    restart();
    run_all();
    expect_complete();
    ck_assert_uint_eq(stat_now(STAT_EMBED_DUE), 0);
}
END_TEST

START_TEST(what_dies_meanwhile_gets_no_row)
{
    say_all(talk, TALK);
    run_all();
    (void)flush_now(NULL);
    kit_model.kill_in_call = 2;
    run_all();
    expect_complete();
    settle_vectors();
    ck_assert_uint_eq(stat_now(STAT_TURNS), TALK - 1);
    ck_assert_uint_eq(counted(METRIC_EMBED_STORED), TALK + facts_now() + 2);
}
END_TEST

START_TEST(deletes_settle_and_fold)
{
    say_all(talk, TALK);
    (void)flush_now(NULL);
    run_all();
    settle_vectors();
    ck_assert_uint_eq(active_now().edges[0], 1);
    for (uint32_t n = 1; n <= TALK; n++)
        remove_turn(n);
    run_all();
    settle_vectors();
    struct vectors_generation g = active_now();
    ck_assert_uint_eq(g.edges[0] + g.edges[1], 0);
    ck_assert_uint_eq(stat_now(STAT_EMBED_DUE), 0);
    check_space();
}
END_TEST

/* --- all together --- */

START_TEST(random_days)
{
    uint64_t random = (uint64_t)_i * 7919 + 1;
    uint32_t said = 0;
    for (unsigned step = 0; step < 120; step++) {
        char text[128];
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
        unsigned what = (unsigned)(random >> 33) % 12;
        unsigned some = (unsigned)(random >> 40) % 1000;
        (void)snprintf(text, sizeof text, "The plan %u of the club in town %u is fine.", step,
                       some);
        if (what < 5)
            said = say(what < 3 ? "s1" : "s2", what % 2 ? "Ann" : "Bob", text);
        else if (what == 5)
            (void)(said != 0 && (flush_now(NULL), true));
        else if (what == 6 && said != 0 && kit_turn(&stage_kit.kit, 1 + some % said).n != 0)
            remove_turn(1 + some % said);
        else if (what == 7)
            kit_model.failure = some % 2 ? MODEL_FAILURE_SERVER : MODEL_FAILURE_NONE;
        else if (what == 8)
            kit_model.hates = some % 3 == 0 ? "town 7" : NULL;
        else if (what == 9 && some % 4 == 0)
            make_models(some % 8 == 0 ? "first" : "second");
        if (what >= 9 && said != 0)
            run_later(some * 5);
    }
    kit_model.failure = MODEL_FAILURE_NONE;
    kit_model.hates = NULL;
    (void)say("s1", "Ann", "This is the end.");
    (void)flush_now(NULL);
    for (unsigned i = 0; i < 5; i++)
        run_later(400000);
    works_sweep(stage_kit.services.works);
    run_all();
    settle_vectors();
    expect_complete();
    ck_assert_uint_eq(generations_now().n, 1);
}
END_TEST

START_TEST(missing_memory_is_reported)
{
    struct embed_plan plan;
    struct embed_counts counts;
    say_all(talk, TALK);
    run_all();
    enum err_code rc = ERR_EXHAUSTED;
    for (unsigned long n = 1; rc != ERR_OK; n++) {
        struct arena *arena = arena_new(4 << 20);
        struct store_txn *txn = begin(&stage_kit.kit.f);
        const struct stage_base base = {txn, stage_kit.kit.space, &stage_kit.services, arena};
        struct embed_reader reader;
        struct str text;
        struct err err = {.code = ERR_OK};
        arena_fail_after(arena, n);
        rc = embed_plan(&base, 0, &plan, &err);
        if (rc == ERR_OK)
            rc = embed_count(&base, plan.current, &counts, &err);
        if (rc == ERR_OK && !embed_reader_init(&reader, &base))
            rc = ERR_EXHAUSTED;
        if (rc == ERR_OK)
            rc = embed_text(&reader, LAYER_TURN, 0, &text, &err);
        ck_assert(rc == ERR_OK || rc == ERR_EXHAUSTED);
        store_end(txn);
        arena_free(arena);
        ck_assert_uint_lt(n, 300);
    }
    ck_assert_uint_eq(counts.behind, 0);
}
END_TEST

Suite *suite_embed(void)
{
    Suite *suite = suite_create("embed");
    TCase *tcase = tcase_create("embed");
    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, embed_kit_setup, embed_kit_teardown);
    tcase_add_test(tcase, every_layer_gets_vectors);
    tcase_add_test(tcase, nothing_happens_without_a_provider);
    tcase_add_test(tcase, a_provider_that_comes_late_finds_the_space);
    tcase_add_test(tcase, a_provider_that_goes_leaves_no_due_time);
    tcase_add_test(tcase, an_outage_is_waited_for);
    tcase_add_test(tcase, retry_after_is_honoured);
    tcase_add_test(tcase, a_stop_is_no_failure);
    tcase_add_test(tcase, a_text_that_fails_alone_is_lexical);
    tcase_add_test(tcase, a_lone_text_that_fails_does_not_block);
    tcase_add_test(tcase, long_texts_are_embedded_in_pieces);
    tcase_add_test(tcase, what_is_too_long_is_cut_smaller);
    tcase_add_test(tcase, parts_of_a_long_turn_are_documents);
    tcase_add_test(tcase, cutting_keeps_limit_and_words);
    tcase_add_test(tcase, turns_that_come_meanwhile_are_embedded_too);
    tcase_add_loop_test(tcase, a_turn_that_slips_in_is_embedded_too, 0, 3);
    tcase_add_loop_test(tcase, a_refused_batch_is_built_again, 0, 2);
    tcase_add_test(tcase, a_record_that_is_gone_is_waited_for);
    tcase_add_loop_test(tcase, a_stop_between_two_commits_loses_nothing, 0, 3);
    tcase_add_test(tcase, what_dies_meanwhile_gets_no_row);
    tcase_add_test(tcase, deletes_settle_and_fold);
    tcase_add_loop_test(tcase, random_days, 0, 12);
    tcase_add_test(tcase, missing_memory_is_reported);
    suite_add_tcase(suite, tcase);
    return suite;
}
