#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "ask_kit.h"
#include "core/model/ask_facts.h"
#include "core/text/dates.h"

#define NO_FACTS "The reply must be an object with the array facts."
#define NONE_LEFT                                                                                  \
    "Each fact must give in turns the numbers of the turns that it rests on, and tell in content " \
    "what they say, in their words and their language."

struct scene {
    struct asked asked;
    struct tokenizer *tokenizer;
    struct ask_facts ask;
};

static const struct ask_known *known(void)
{
    static struct ask_known rows[2];
    rows[0] = (struct ask_known){.number = 1,
                                 .content = STR("Caroline lives\nin Oslo d6b596af."),
                                 .valid_from = MAY_8 - 7 * MS_PER_DAY,
                                 .offset_min = 120};
    rows[1] =
        (struct ask_known){.number = 2, .content = STR("Melanie has a dog."), .valid_from = MAY_8};
    return rows;
}

static void open_turns(struct scene *s, const struct ask_turn *turns, uint32_t n)
{
    struct err err;
    asked_init(&s->asked, PURPOSE_FACTS);
    ck_assert_int_eq(tokenizer_new(STR("en"), &s->tokenizer, &err), ERR_OK);
    s->ask = (struct ask_facts){.dialogue = {.turns = turns, .n = n},
                                .topic_title = STR("Moving"),
                                .topic_summary = STR("Caroline looks for a flat."),
                                .known = known(),
                                .n_known = 2,
                                .tokenizer = s->tokenizer,
                                .seed = 7};
    ask_facts(&s->asked.call, &s->ask);
    ck_assert_ptr_nonnull(asked_write(&s->asked, 0).at);
}

static const struct ask_turn *moving(void)
{
    static struct ask_turn turns[4];
    turns[0] = (struct ask_turn)TURN(11, "Caroline", "I moved to Bergen last Friday!", 0);
    turns[1] = (struct ask_turn)TURN(12, "Melanie", "Wow Caroline, with all 14 boxes?", 1);
    turns[2] = (struct ask_turn)TURN(13, "Caroline", "Yes, and the piano.", 2);
    turns[3] = (struct ask_turn)TURN(14, "Melanie", "And so it is.", 24 * 60);
    return turns;
}

static void open_scene(struct scene *s)
{
    open_turns(s, moving(), 4);
}

static void close_scene(struct scene *s)
{
    tokenizer_free(s->tokenizer);
    asked_fini(&s->asked);
}

/* Reads a reply of one fact: `content`, turns and further members. */
static enum err_code read_one(struct scene *s, const char *content, const char *turns,
                              const char *more)
{
    struct str json = str_printf(s->asked.call.arena, "{'facts':[{'content':'%s','turns':%s%s}]}",
                                 content, turns, more);
    return asked_read(&s->asked, json.at);
}

static const struct ask_fact *fact_of(struct scene *s, const char *content, const char *turns,
                                      const char *more)
{
    enum err_code code = read_one(s, content, turns, more);
    ck_assert_msg(code == ERR_OK && s->ask.n_facts == 1 && s->ask.unsupported == 0,
                  "%s %s: not taken", content, turns);
    return &s->ask.facts[0];
}

static void expect_unsupported(struct scene *s, const char *content, const char *turns)
{
    ck_assert_msg(read_one(s, content, turns, "") == ERR_UNPROCESSABLE, "taken: %s", content);
    expect_text(buf_str(&s->asked.wrong), NONE_LEFT);
    ck_assert(s->ask.n_facts == 0 && s->ask.unsupported == 1);
}

START_TEST(the_message)
{
    struct scene s;
    open_scene(&s);
    expect_text(asked_write(&s.asked, 0), "<<<d6b596af\n"
                                          "Topic: Moving. Caroline looks for a flat.\n"
                                          "Known facts:\n"
                                          "1 (2023-05-01) Caroline lives in Oslo .\n"
                                          "2 (2023-05-08) Melanie has a dog.\n"
                                          "Dialogue:\n"
                                          "[Mon 2023-05-08 13:56]\n"
                                          "11 Caroline: I moved to Bergen last Friday!\n"
                                          "12 Melanie: Wow Caroline, with all 14 boxes?\n"
                                          "13 Caroline: Yes, and the piano.\n"
                                          "[Tue 2023-05-09 13:56]\n"
                                          "14 Melanie: And so it is.\n"
                                          "d6b596af>>>\n");
    s.ask.n_known = 0;
    struct str got = asked_write(&s.asked, 0);
    ck_assert_uint_eq(count_of(got, "a flat.\nDialogue:\n"), 1);
    close_scene(&s);
}
END_TEST

START_TEST(all_members)
{
    struct scene s;
    open_scene(&s);
    const struct ask_fact *fact =
        fact_of(&s, " Caroline moved to Bergen\\nlast Friday (5 May 2023). ", "[13,11,13]",
                ",'potential':['Where does Caroline live?','When did she move?','Who?','What?'],"
                "'keywords':['Bergen','bergen','move'],'from':'2023-05-05','to':'2023-05-05',"
                "'when':'last Friday','weight':0.9,'role':'core','same_as':0,'supersedes':1");
    expect_text(fact->content, "Caroline moved to Bergen last Friday (5 May 2023).");
    expect_text(fact->potential, "Where does Caroline live?\nWhen did she move?\nWho?");
    expect_text(fact->keywords, "Bergen\nmove");
    expect_text(fact->time_text, "last Friday");
    ck_assert(fact->n_turns == 2 && fact->turns[0] == 11 && fact->turns[1] == 13);
    ck_assert(fact->has_time && fact->grain == DATE_DAY);
    ck_assert(fact->from.year == 2023 && fact->from.month == 5 && fact->from.day == 5);
    ck_assert(fact->to.day == 5 && fabs(fact->weight - 0.9) < 1e-12);
    ck_assert(fact->role == ROLE_CORE && fact->same_as == 0 && fact->supersedes == 1);
    close_scene(&s);
}
END_TEST

START_TEST(bare_facts_get_what_is_missing)
{
    struct scene s;
    open_scene(&s);
    const struct ask_fact *fact = fact_of(&s, "Caroline took a piano", "13", "");
    ck_assert(fact->n_turns == 1 && fact->turns[0] == 13 && !fact->has_time);
    ck_assert(fact->potential.len == 0 && fact->keywords.len == 0 && fact->time_text.len == 0);
    ck_assert(fabs(fact->weight - 0.5) < 1e-12 && fact->role == ROLE_DETAIL);
    fact = fact_of(&s, "Caroline took a piano", "['13']", ",'weight':9,'role':'climax'");
    ck_assert(fabs(fact->weight - 1) < 1e-12 && fact->role == ROLE_DETAIL);
    close_scene(&s);
}
END_TEST

START_TEST(only_known_facts_are_replaced)
{
    struct scene s;
    open_scene(&s);
    const struct ask_fact *fact =
        fact_of(&s, "She moved to Bergen", "[11]", ",'same_as':2,'supersedes':1");
    ck_assert(fact->same_as == 2 && fact->supersedes == 0);
    fact = fact_of(&s, "She moved to Bergen", "[11]", ",'same_as':11,'supersedes':'1'");
    ck_assert(fact->same_as == 0 && fact->supersedes == 1);
    fact = fact_of(&s, "She moved to Bergen", "[11]", ",'same_as':null,'supersedes':3");
    ck_assert(fact->same_as == 0 && fact->supersedes == 0);
    /* Halving sent only the first. */
    ck_assert_ptr_nonnull(asked_write(&s.asked, 1).at);
    fact = fact_of(&s, "She moved to Bergen", "[11]", ",'supersedes':2");
    ck_assert_uint_eq(fact->supersedes, 0);
    fact = fact_of(&s, "She moved to Bergen", "[11,14]", ",'supersedes':1");
    ck_assert(fact->supersedes == 1 && fact->n_turns == 1);
    close_scene(&s);
}
END_TEST

START_TEST(a_fact_has_words_of_its_turns)
{
    struct scene s;
    open_scene(&s);
    fact_of(&s, "Caroline is moving house", "[11]", ""); /* by its stem */
    fact_of(&s, "Melanie counted 14", "[12]", "");       /* a number */
    fact_of(&s, "BERGEN!", "[11]", "");
    fact_of(&s, "There is a piano", "[14,12,13]", ""); /* any of its turns */
    expect_unsupported(&s, "Caroline owns a yacht", "[11,12,13]");
    expect_unsupported(&s, "Caroline met Melanie", "[12]"); /* names alone */
    expect_unsupported(&s, "And so it is with it", "[14]"); /* stop words alone */
    expect_unsupported(&s, "There is a piano", "[11]");     /* another turn's */
    expect_unsupported(&s, "Caroline moved", "[]");
    expect_unsupported(&s, "Caroline moved", "[10,15,'x',null,11.5]");
    expect_unsupported(&s, "Caroline moved", "null");
    expect_unsupported(&s, "", "[11]");
    expect_unsupported(&s, "\\u0000 \\n", "[11]");
    close_scene(&s);
}
END_TEST

START_TEST(words_of_other_scripts)
{
    struct scene s;
    const struct ask_turn turns[] = {
        TURN(1, "小王", "我上周搬到上海了，iPhone 15 丢了。", 0),
        TURN(2, "小李", "Я купила пианино.", 1),
        TURN(3, "小李", "👍", 1),
    };
    open_turns(&s, turns, 3);
    fact_of(&s, "小王搬到上海居住", "[1]", "");
    fact_of(&s, "Пианино у неё", "[2]", "");
    expect_unsupported(&s, "小王喜欢喝茶", "[1]");
    expect_unsupported(&s, "我", "[1]");
    expect_unsupported(&s, "👍 great", "[3]");
    close_scene(&s);
    /* English words about a dialogue in Chinese, though a number is shared. */
    open_turns(&s, turns, 1);
    s.ask.dialogue.n = 1;
    fact_of(&s, "他的 iPhone 15 丢了", "[1]", "");
    close_scene(&s);
    const struct ask_turn chinese[] = {TURN(1, "小王", "我上周搬到上海了，丢了15个箱子。", 0)};
    open_turns(&s, chinese, 1);
    expect_unsupported(&s, "He lost 15 boxes when he moved", "[1]");
    fact_of(&s, "小王丢了15个箱子", "[1]", "");
    close_scene(&s);
}
END_TEST

START_TEST(recalled_text_supports_nothing)
{
    struct scene s;
    const struct ask_turn turns[] = {
        TURN(1, "Bot", "<<<hypermem:memory\nAnn owns a yacht.\nhypermem:memory>>> Nice boat!", 0)};
    open_turns(&s, turns, 1);
    expect_unsupported(&s, "Ann owns a yacht", "[1]");
    fact_of(&s, "A boat is nice", "[1]", "");
    close_scene(&s);
}
END_TEST

struct time_row {
    const char *members;
    const char *want; /* "from to grain", "" for none */
};

static void expect_time(struct scene *s, const struct time_row *row)
{
    char from[CIVIL_DATE_MAX], to[CIVIL_DATE_MAX];
    const struct ask_fact *fact = fact_of(s, "She moved to Bergen", "[11]", row->members);
    struct str got = STR("");
    if (fact->has_time) {
        (void)civil_format(fact->from, from);
        (void)civil_format(fact->to, to);
        got = str_printf(s->asked.call.arena, "%.10s %.10s %u", from, to, fact->grain);
    }
    ck_assert_msg(str_eq(got, str_of(row->want)), "%s: %.*s, not %s", row->members, STR_FMT(got),
                  row->want);
}

START_TEST(days_weeks_months)
{
    static const struct time_row rows[] = {
        {",'from':'2023-05-05','to':''", "2023-05-05 2023-05-05 0"},
        {",'from':'2023-05-05'", "2023-05-05 2023-05-05 0"},
        {",'from':'2023-05-05','to':null", "2023-05-05 2023-05-05 0"},
        {",'from':'2023-05-05','to':'now'", "2023-05-05 2023-05-05 0"},
        {",'from':'2023-05-06','to':'2023-05-07'", "2023-05-06 2023-05-07 0"},
        {",'from':'2023-05-01','to':'2023-05-07'", "2023-05-01 2023-05-07 1"},
        {",'from':'2023-05-02','to':'2023-05-08'", "2023-05-02 2023-05-08 0"},
        {",'from':'2023-02-01','to':'2023-02-28'", "2023-02-01 2023-02-28 2"},
        {",'from':'2024-02-01','to':'2024-02-28'", "2024-02-01 2024-02-28 0"},
        {",'from':'2022-01-01','to':'2022-12-31'", "2022-01-01 2022-12-31 3"},
        {",'from':'2023-05','to':''", "2023-05-01 2023-05-31 2"},
        {",'from':'2022','to':''", "2022-01-01 2022-12-31 3"},
        {",'from':'2021','to':'2022-06'", "2021-01-01 2022-06-30 0"},
        {",'from':'2023-12','to':'2023-12'", "2023-12-01 2023-12-31 2"},
        {",'from':'2023-05-05T10:00:00Z','to':''", "2023-05-05 2023-05-05 0"},
        {",'from':'5 May 2023','to':''", "2023-05-05 2023-05-05 0"},
        {",'from':'1923-05-05','to':''", "1923-05-05 1923-05-05 0"},
    };
    struct scene s;
    open_scene(&s);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        expect_time(&s, &rows[i]);
    close_scene(&s);
}
END_TEST

START_TEST(nonsense_is_no_date)
{
    static const struct time_row rows[] = {
        {"", ""},
        {",'from':'','to':'','when':''", ""},
        {",'from':'','to':'2023-05-05'", ""},
        {",'from':'2023-02-30','to':''", ""},
        {",'from':'2023-13-01','to':''", ""},
        {",'from':'0000-00-00','to':''", ""},
        {",'from':'9999-99','to':''", ""},
        {",'from':'20x3','to':''", ""},
        {",'from':'2023-05-07','to':'2023-05-05'", ""},
        {",'from':'2023-05-07','to':'2023-02-30'", ""},
        {",'from':'1922-05-05','to':''", ""},
        {",'from':'2124-05-05','to':''", ""},
        {",'from':'1922-05-05','to':'2023-05-05'", ""},
        {",'from':'2023-05-05','to':'2124-05-05'", ""},
        {",'from':20230505,'to':[]", ""},
        {",'from':'unknown','to':'null','when':'in my youth'", ""},
    };
    struct scene s;
    open_scene(&s);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        expect_time(&s, &rows[i]);
    expect_text(s.ask.facts[0].time_text, "in my youth");
    close_scene(&s);
}
END_TEST

START_TEST(the_phrase_is_resolved_where_the_dates_are_none)
{
    static const struct time_row rows[] = {
        {",'from':'','to':'','when':'last Friday'", "2023-05-05 2023-05-05 0"},
        {",'from':'2023-02-30','to':'','when':'yesterday'", "2023-05-07 2023-05-07 0"},
        {",'from':'2021-05-07','to':'2020-01-01','when':'last month'", "2023-04-01 2023-04-30 2"},
        {",'from':'last Friday','to':''", "2023-05-05 2023-05-05 0"},
    };
    struct scene s;
    open_scene(&s);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        expect_time(&s, &rows[i]);
    close_scene(&s);
}
END_TEST

START_TEST(days_are_those_of_the_first_turn)
{
    struct scene s;
    struct ask_turn turns[] = {
        TURN(1, "A", "It rained yesterday.", 10 * 60 + 4), /* 9 May there, 8 May in UTC */
        TURN(2, "A", "It rained yesterday.", 5 * 24 * 60),
    };
    open_turns(&s, turns, 2);
    const struct ask_fact *fact = fact_of(&s, "It rained", "[2,1]", ",'when':'yesterday'");
    ck_assert(fact->has_time && fact->from.day == 8);
    fact = fact_of(&s, "It rained", "[2]", ",'when':'yesterday'");
    ck_assert(fact->has_time && fact->from.day == 12);
    close_scene(&s);
}
END_TEST

START_TEST(repeats_inside_a_reply_are_one)
{
    struct scene s;
    open_scene(&s);
    ck_assert_int_eq(asked_read(&s.asked,
                                "{'facts':["
                                "{'content':'The piano moved.','turns':[13],'weight':0.2},"
                                "{'content':'Caroline owns a yacht','turns':[13]},"
                                "{'content':'the  PIANO moved','turns':[11],'weight':0.7}"
                                "]}"),
                     ERR_OK);
    ck_assert(s.ask.n_facts == 1 && s.ask.unsupported == 1);
    const struct ask_fact *fact = &s.ask.facts[0];
    expect_text(fact->content, "The piano moved.");
    ck_assert(fact->n_turns == 2 && fact->turns[0] == 11 && fact->turns[1] == 13);
    ck_assert(fabs(fact->weight - 0.7) < 1e-12);
    close_scene(&s);
}
END_TEST

START_TEST(no_more_than_twelve)
{
    struct scene s;
    struct buf json;
    open_scene(&s);
    buf_init(&json, s.asked.call.arena, 1 << 16);
    buf_str_put(&json, STR("{'facts':["));
    for (int i = 0; i < 100; i++)
        buf_printf(&json, "%s{'content':'Piano number %d','turns':[13]}", i == 0 ? "" : ",", i);
    buf_put(&json, "]}", 3);
    ck_assert_int_eq(asked_read(&s.asked, json.at), ERR_OK);
    ck_assert(s.ask.n_facts == ASK_FACTS_MAX && s.ask.surplus == 100 - ASK_FACTS_MAX);
    expect_text(s.ask.facts[11].content, "Piano number 11");
    close_scene(&s);
}
END_TEST

START_TEST(long_contents_are_clipped)
{
    struct scene s;
    struct buf content;
    open_scene(&s);
    buf_init(&content, s.asked.call.arena, 1 << 16);
    for (int i = 0; i < 100; i++)
        buf_str_put(&content, STR("The piano is loud. "));
    buf_char(&content, '\0');
    const struct ask_fact *fact = fact_of(&s, content.at, "[13]", "");
    ck_assert(fact->content.len <= ASK_CONTENT_BYTES && str_ends(fact->content, STR("loud.")));
    ck_assert_uint_gt(fact->content.len, ASK_CONTENT_BYTES - 20);
    close_scene(&s);
}
END_TEST

START_TEST(other_shapes)
{
    struct scene s;
    open_scene(&s);
    ck_assert_int_eq(asked_read(&s.asked, "{'facts':[]}"), ERR_OK);
    ck_assert_uint_eq(s.ask.n_facts, 0);
    ck_assert_int_eq(asked_read(&s.asked, "[]"), ERR_OK);
    ck_assert_int_eq(asked_read(&s.asked, "[{'content':'A piano','turns':[13]}]"), ERR_OK);
    ck_assert_uint_eq(s.ask.n_facts, 1);
    ck_assert_int_eq(asked_read(&s.asked, "{'facts':{'content':'A piano','turns':[13]}}"), ERR_OK);
    ck_assert_uint_eq(s.ask.n_facts, 1);
    asked_refuses(&s.asked, "{}", NO_FACTS);
    asked_refuses(&s.asked, "null", NO_FACTS);
    asked_refuses(&s.asked, "{'facts':null}", NO_FACTS);
    asked_refuses(&s.asked, "{'facts':'none'}", NO_FACTS);
    asked_refuses(&s.asked, "{'facts':['A piano',null,3,[]]}", NONE_LEFT);
    close_scene(&s);
}
END_TEST

START_TEST(no_memory)
{
    struct scene s;
    const char *json = "{'facts':[{'content':'A piano moved','turns':[13],'when':'today',"
                       "'potential':['Q?'],'keywords':['k']}]}";
    enum err_code code = ERR_EXHAUSTED;
    unsigned long n = 0;
    open_scene(&s);
    while (code == ERR_EXHAUSTED && n < 300)
        code = asked_read_failing(&s.asked, json, ++n);
    ck_assert_int_eq(code, ERR_OK);
    ck_assert_uint_gt(n, 15);
    ck_assert_uint_eq(s.ask.n_facts, 1);
    close_scene(&s);
}
END_TEST

Suite *suite_ask_facts(void)
{
    Suite *suite = suite_create("ask_facts");
    TCase *tc = tcase_create("ask_facts");
    tcase_add_test(tc, the_message);
    tcase_add_test(tc, all_members);
    tcase_add_test(tc, bare_facts_get_what_is_missing);
    tcase_add_test(tc, only_known_facts_are_replaced);
    tcase_add_test(tc, a_fact_has_words_of_its_turns);
    tcase_add_test(tc, words_of_other_scripts);
    tcase_add_test(tc, recalled_text_supports_nothing);
    tcase_add_test(tc, days_weeks_months);
    tcase_add_test(tc, nonsense_is_no_date);
    tcase_add_test(tc, the_phrase_is_resolved_where_the_dates_are_none);
    tcase_add_test(tc, days_are_those_of_the_first_turn);
    tcase_add_test(tc, repeats_inside_a_reply_are_one);
    tcase_add_test(tc, no_more_than_twelve);
    tcase_add_test(tc, long_contents_are_clipped);
    tcase_add_test(tc, other_shapes);
    tcase_add_test(tc, no_memory);
    suite_add_tcase(suite, tc);
    return suite;
}
