#include <check.h>
#include <stdlib.h>

#include "ask_kit.h"
#include "core/model/ask_describe.h"
#include "core/text/utf8.h"

#define MISSING "The reply must be an object with the strings title and summary, neither empty."
#define LANGUAGE "Write title and summary in the language of the dialogue."

struct scene {
    struct asked asked;
    struct ask_turn turns[2];
    struct ask_describe ask;
};

static void open_scene(struct scene *s, struct str first, struct str second)
{
    asked_init(&s->asked, PURPOSE_DESCRIBE);
    s->turns[0] = (struct ask_turn)TURN(1, "Caroline", "", 0);
    s->turns[1] = (struct ask_turn)TURN(2, "Melanie", "", 1);
    s->turns[0].text = first;
    s->turns[1].text = second;
    s->ask = (struct ask_describe){.dialogue = {.turns = s->turns, .n = 2}, .seed = 7};
    ask_describe(&s->asked.call, &s->ask);
    ck_assert_ptr_nonnull(asked_write(&s->asked, 0).at);
}

static void open_english(struct scene *s)
{
    open_scene(s, STR("I went to a support group yesterday."), STR("How was it?"));
}

START_TEST(the_message)
{
    struct scene s;
    open_english(&s);
    expect_text(asked_write(&s.asked, 0), "<<<d6b596af\n"
                                          "[Mon 2023-05-08 13:56]\n"
                                          "1 Caroline: I went to a support group yesterday.\n"
                                          "2 Melanie: How was it?\n"
                                          "d6b596af>>>\n");
    asked_fini(&s.asked);
}
END_TEST

START_TEST(title_and_summary)
{
    struct scene s;
    open_english(&s);
    ck_assert_int_eq(asked_read(&s.asked, "{'title':'Caroline visits a support group','summary':"
                                          "'Caroline went yesterday (7 May 2023).'}"),
                     ERR_OK);
    expect_text(s.ask.title, "Caroline visits a support group");
    expect_text(s.ask.summary, "Caroline went yesterday (7 May 2023).");
    asked_fini(&s.asked);
}
END_TEST

START_TEST(texts_are_one_clean_line)
{
    struct scene s;
    open_english(&s);
    ck_assert_int_eq(
        asked_read(&s.asked,
                   "{'title':'  A\\u0000 \\u001b[31mtitle\\n\\u2028of d6b596af>>> two ','summary':"
                   "'<<<hypermem:memory\\r\\n\\u0085\\ud83d\\ude00 \\u0007said\\tit'}"),
        ERR_OK);
    expect_text(s.ask.title, "A [31mtitle of >>> two");
    expect_text(s.ask.summary, "<<< \xf0\x9f\x98\x80 said it");
    asked_fini(&s.asked);
}
END_TEST

static struct str long_reply(struct arena *arena, const char *title, unsigned titles,
                             const char *sentence, unsigned sentences)
{
    struct buf out;
    buf_init(&out, arena, 1 << 20);
    buf_str_put(&out, STR("{'title':'"));
    for (unsigned i = 0; i < titles; i++)
        buf_str_put(&out, str_of(title));
    buf_str_put(&out, STR("','summary':'"));
    for (unsigned i = 0; i < sentences; i++)
        buf_str_put(&out, str_of(sentence));
    buf_put(&out, "'}", 3);
    ck_assert(buf_ok(&out));
    return buf_str(&out);
}

START_TEST(long_texts_are_clipped)
{
    struct scene s;
    open_english(&s);
    struct str json = long_reply(s.asked.call.arena, "Dr. Who is title ", 100,
                                 "This is what they said about it. ", 100);
    ck_assert_int_eq(asked_read(&s.asked, json.at), ERR_OK);
    ck_assert_uint_le(s.ask.title.len, ASK_TITLE_BYTES);
    ck_assert_uint_gt(s.ask.title.len, ASK_TITLE_BYTES - 20);
    ck_assert_uint_le(s.ask.summary.len, ASK_SUMMARY_BYTES);
    ck_assert_uint_gt(s.ask.summary.len, ASK_SUMMARY_BYTES - 40);
    ck_assert(str_ends(s.ask.summary, STR("it.")));
    ck_assert(!str_ends(s.ask.title, STR(" ")));
    asked_fini(&s.asked);
}
END_TEST

START_TEST(an_early_sentence_is_not_all)
{
    struct scene s;
    open_english(&s);
    struct buf json;
    buf_init(&json, s.asked.call.arena, 1 << 12);
    buf_str_put(&json, STR("{'title':'Stop! "));
    for (int i = 0; i < 40; i++)
        buf_str_put(&json, STR("and go on "));
    buf_put(&json, "','summary':'S.'}", 18);
    ck_assert_int_eq(asked_read(&s.asked, json.at), ERR_OK);
    ck_assert(s.ask.title.len > ASK_TITLE_BYTES - 10 && s.ask.title.len <= ASK_TITLE_BYTES);
    ck_assert(str_starts(s.ask.title, STR("Stop! and go on and")));
    asked_fini(&s.asked);
}
END_TEST

START_TEST(without_blanks_a_character_is_kept_whole)
{
    struct scene s;
    open_scene(&s, STR("我昨天去了北京的故宫博物院，非常有意思。"), STR("真的吗？"));
    struct str json = long_reply(s.asked.call.arena, "故宫博物院", 30, "她昨天去了北京。", 90);
    ck_assert_int_eq(asked_read(&s.asked, json.at), ERR_OK);
    ck_assert(utf8_is_valid(s.ask.title) && utf8_is_valid(s.ask.summary));
    ck_assert_uint_eq(s.ask.title.len, ASK_TITLE_BYTES);
    ck_assert(str_ends(s.ask.summary, STR("。")));
    ck_assert_uint_gt(s.ask.summary.len, ASK_SUMMARY_BYTES - 30);
    asked_fini(&s.asked);
}
END_TEST

START_TEST(wrong_replies_are_told)
{
    struct scene s;
    open_english(&s);
    asked_refuses(&s.asked, "[]", MISSING);
    asked_refuses(&s.asked, "3", MISSING);
    asked_refuses(&s.asked, "{}", MISSING);
    asked_refuses(&s.asked, "{'title':'A'}", MISSING);
    asked_refuses(&s.asked, "{'title':'A','summary':''}", MISSING);
    asked_refuses(&s.asked, "{'title':' \\u200b ','summary':'B'}", MISSING);
    asked_refuses(&s.asked, "{'title':'d6b596af','summary':'B'}", MISSING);
    asked_refuses(&s.asked, "{'title':['A'],'summary':'B'}", MISSING);
    asked_refuses(&s.asked, "{'properties':{'title':{'type':'string'}}}", MISSING);
    asked_fini(&s.asked);
}
END_TEST

START_TEST(another_script_is_told)
{
    struct scene s;
    open_english(&s);
    asked_refuses(&s.asked, "{'title':'支援小组','summary':'她昨天去了一个支援小组，感觉很好。'}",
                  LANGUAGE);
    asked_fini(&s.asked);
    open_scene(&s, STR("Вчера я ходила на встречу группы поддержки."), STR("Как прошло?"));
    asked_refuses(&s.asked, "{'title':'Support group','summary':'Caroline went there.'}", LANGUAGE);
    ck_assert_int_eq(asked_read(&s.asked, "{'title':'Caroline','summary':"
                                          "'Caroline ходила на встречу вчера (7 мая 2023).'}"),
                     ERR_OK);
    asked_fini(&s.asked);
    /* Where both are spoken both are fine; a dialogue without letters says nothing. */
    open_scene(&s, STR("我在学 machine learning 和 statistics"), STR("好"));
    ck_assert_int_eq(asked_read(&s.asked, "{'title':'Learning','summary':'She studies.'}"), ERR_OK);
    asked_fini(&s.asked);
    open_scene(&s, STR("👍"), STR("12"));
    ck_assert_int_eq(asked_read(&s.asked, "{'title':'Approval','summary':'A thumb went up.'}"),
                     ERR_OK);
    asked_fini(&s.asked);
}
END_TEST

START_TEST(no_memory)
{
    struct scene s;
    const char *json = "{'title':'A title','summary':'A summary.'}";
    enum err_code code = ERR_EXHAUSTED;
    unsigned long n = 0;
    open_english(&s);
    while (code == ERR_EXHAUSTED && n < 50)
        code = asked_read_failing(&s.asked, json, ++n);
    ck_assert_int_eq(code, ERR_OK);
    ck_assert_uint_eq(n, 3);
    asked_fini(&s.asked);
}
END_TEST

Suite *suite_ask_describe(void)
{
    Suite *suite = suite_create("ask_describe");
    TCase *tc = tcase_create("ask_describe");
    tcase_add_test(tc, the_message);
    tcase_add_test(tc, title_and_summary);
    tcase_add_test(tc, texts_are_one_clean_line);
    tcase_add_test(tc, long_texts_are_clipped);
    tcase_add_test(tc, an_early_sentence_is_not_all);
    tcase_add_test(tc, without_blanks_a_character_is_kept_whole);
    tcase_add_test(tc, wrong_replies_are_told);
    tcase_add_test(tc, another_script_is_told);
    tcase_add_test(tc, no_memory);
    suite_add_tcase(suite, tc);
    return suite;
}
