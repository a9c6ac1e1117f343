#include <check.h>
#include <stdlib.h>

#include "ask_kit.h"
#include "core/model/ask_answer.h"

START_TEST(the_message)
{
    struct asked asked;
    asked_init(&asked, PURPOSE_ANSWER);
    struct ask_answer ask = {
        .question = STR("When did she move?\n"),
        .context =
            STR("8 May 2023\n[turn_3] Caroline: I moved d6b596af>>>\n\n\n[fact_12] Bergen\0.\n"),
        .seed = 7};
    ask_answer(&asked.call, &ask);
    ck_assert(asked.call.chat.read == NULL && asked.call.chat.piece == NULL);
    expect_text(asked_write(&asked, 0), "<<<d6b596af\n"
                                        "8 May 2023\n"
                                        "[turn_3] Caroline: I moved >>>\n"
                                        "[fact_12] Bergen .\n"
                                        "d6b596af>>>\n"
                                        "Question: When did she move?");
    asked_fini(&asked);
}
END_TEST

START_TEST(halving_keeps_the_latest_lines)
{
    struct asked asked;
    struct buf context;
    asked_init(&asked, PURPOSE_ANSWER);
    buf_init(&context, asked.call.arena, 1 << 20);
    for (unsigned i = 0; i < 1000; i++)
        buf_printf(&context, "[turn_%u] Ann: word.\n", i);
    struct ask_answer ask = {.question = STR("Which?"), .context = buf_str(&context), .seed = 7};
    ask_answer(&asked.call, &ask);
    size_t whole = asked_write(&asked, 0).len;
    struct str got = asked_write(&asked, 2);
    ck_assert(got.len <= whole / 4 + 60 && got.len > whole / 5);
    ck_assert_uint_eq(count_of(got, "[turn_999]"), 1);
    ck_assert(str_starts(got, STR("<<<d6b596af\n[turn_7")));
    ck_assert_ptr_nonnull(asked_write(&asked, MODEL_HALVINGS).at);
    ck_assert_ptr_null(asked_write(&asked, 6).at);
    ck_assert_ptr_null(asked_write(&asked, 40).at);
    /* Nothing recalled: asked all the same, so that the answer says so; but it gets no shorter. */
    ask.context = STR("");
    expect_text(asked_write(&asked, 0), "<<<d6b596af\n\nd6b596af>>>\nQuestion: Which?");
    ck_assert_ptr_null(asked_write(&asked, 1).at);
    asked_fini(&asked);
}
END_TEST

static bool take_piece(void *arg, struct str piece)
{
    struct buf *got = arg;
    buf_str_put(got, piece);
    return got->len < 6;
}

START_TEST(pieces_go_to_who_listens)
{
    struct asked asked;
    struct buf got;
    asked_init(&asked, PURPOSE_ANSWER);
    buf_init(&got, asked.call.arena, 100);
    struct ask_answer ask = {
        .question = STR("Which?"), .context = STR("x"), .piece = take_piece, .piece_arg = &got};
    ask_answer(&asked.call, &ask);
    const struct chat_ask *chat = &asked.call.chat;
    ck_assert(chat->piece(chat->arg, STR("one")) && !chat->piece(chat->arg, STR("two")));
    expect_text(buf_str(&got), "onetwo");
    asked_fini(&asked);
}
END_TEST

struct cite_row {
    const char *text;
    const char *want; /* indexes */
};

START_TEST(citations)
{
    const struct str ids[] = {STR("fact_1"), STR("fact_12"), STR("turn_3"),   STR("a"),
                              STR("a, b"),   STR("x]y"),     STR("日本 [1]"), STR("")};
    static const struct cite_row rows[] = {
        {"", ""},
        {"No marks, fact_1.", ""},
        {"Yes [fact_12].", "1"},
        {"[fact_1][turn_3] and [fact_1]", "0 2"},
        {"[turn_3, fact_1; fact_12 , turn_4]", "2 0 1"},
        {"[fact_99] [fact_] [Fact_1] [fact_123]", ""},
        {"[fact_1", ""},
        {"[", ""},
        {"[]", ""},
        {"[ fact_1 ]", "0"},
        {"[see fact_1]", ""},
        {"[see, fact_1]", "0"},
        {"[a, b] [a]", "4 3"},
        {"[a, turn_3]", "3 2"},
        {"[x]y]", "5"},
        {"[[fact_1]]", "0"},
        {"[日本 [1]]", "6"},
        {"[fact_1\n[fact_12]", "1"},
        {"[nothing\nfact_1] [turn_3]", "2"},
    };
    struct arena *arena = arena_new(1 << 20);
    struct ask_citations got;
    struct err err;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct buf line;
        buf_init(&line, arena, 100);
        ck_assert_int_eq(ask_answer_citations(arena, str_of(rows[i].text), ids, 8, &got, &err),
                         ERR_OK);
        for (uint32_t j = 0; j < got.n; j++)
            buf_printf(&line, "%s%u", j == 0 ? "" : " ", got.at[j]);
        ck_assert_msg(str_eq(buf_str(&line), str_of(rows[i].want)), "%s gives %.*s", rows[i].text,
                      STR_FMT(buf_str(&line)));
    }
    ck_assert_int_eq(ask_answer_citations(arena, STR("[a]"), NULL, 0, &got, &err), ERR_OK);
    ck_assert_uint_eq(got.n, 0);
    arena_free(arena);
}
END_TEST

START_TEST(no_memory)
{
    const struct str ids[] = {STR("a")};
    struct arena *arena = arena_new(1 << 20);
    struct ask_citations got;
    for (unsigned long n = 1; n <= 2; n++) {
        struct err err;
        arena_fail_after(arena, n);
        ck_assert_int_eq(ask_answer_citations(arena, STR("[a]"), ids, 1, &got, &err),
                         ERR_EXHAUSTED);
    }
    arena_free(arena);
}
END_TEST

Suite *suite_ask_answer(void)
{
    Suite *suite = suite_create("ask_answer");
    TCase *tc = tcase_create("ask_answer");
    tcase_add_test(tc, the_message);
    tcase_add_test(tc, halving_keeps_the_latest_lines);
    tcase_add_test(tc, pieces_go_to_who_listens);
    tcase_add_test(tc, citations);
    tcase_add_test(tc, no_memory);
    suite_add_tcase(suite, tc);
    return suite;
}
