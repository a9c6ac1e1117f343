#include <check.h>
#include <jansson.h>

#include "core/base/limits.h"
#include "core/model/repair.h"

enum { ARENA_BYTES = 8 << 20 };

struct expected {
    const char *said, *json; /* json NULL: there is none */
    bool cut;
};

static void expect(const struct expected *c)
{
    struct arena *arena = arena_new(ARENA_BYTES);
    struct repaired got = {.json = STR_NONE};
    enum err_code code = repair_json(arena, str_of(c->said), &got);
    if (c->json == NULL) {
        ck_assert_msg(code == ERR_UNPROCESSABLE, "%s: %.*s", c->said, STR_FMT(got.json));
        arena_free(arena);
        return;
    }
    ck_assert_msg(code == ERR_OK, "%s", c->said);
    json_t *have = json_loadb(got.json.at, got.json.len, 0, NULL);
    json_t *want = json_loads(c->json, 0, NULL);
    ck_assert_msg(want != NULL, "%s", c->json);
    ck_assert_msg(have != NULL && json_equal(have, want), "%s: %.*s", c->said, STR_FMT(got.json));
    ck_assert_msg(got.cut == c->cut, "%s: cut", c->said);
    json_decref(have);
    json_decref(want);
    arena_free(arena);
}

#define EXPECT_ALL(cases)                                                                          \
    for (size_t i_ = 0; i_ < sizeof(cases) / sizeof(cases)[0]; i_++)                               \
    expect(&(cases)[i_])

START_TEST(what_stands_around)
{
    static const struct expected cases[] = {
        {"{\"a\":1}", "{\"a\":1}", false},
        {"  {\"a\":1}\n\n", "{\"a\":1}", false},
        {"Sure! {\"a\":1} Anything else?", "{\"a\":1}", false},
        {"```json\n{\"a\":1}\n```", "{\"a\":1}", false},
        {"```\n{\"a\":1}", "{\"a\":1}", false},
        {"Of {x} I say:\n```json\n{\"a\":1}\n```\n", "{\"a\":1}", false},
        {"The set {a, b} and the note [1]: {\"a\":1}", "{\"a\":1}", false},
        {"<think>{\"a\":0}</think>{\"a\":1}", "{\"a\":1}", false},
        {"<THINK>{\"a\":0}</Think>\n```json\n{\"a\":1}```", "{\"a\":1}", false},
        {"maybe {\"a\":0}? no.</think>{\"a\":1}", "{\"a\":1}", false},
        {"<thinking>x</thinking><reasoning>y</reasoning>{\"a\":1}", "{\"a\":1}", false},
        {"<|channel|>analysis<|message|>{}<|end|><|channel|>final<|message|>{\"a\":1}", "{\"a\":1}",
         false},
        {"\xe2\x97\x81think\xe2\x96\xb7{}\xe2\x97\x81/think\xe2\x96\xb7{\"a\":1}", "{\"a\":1}",
         false},
        {"<think>{\"a\":1}", NULL, false},
        {"{\"a\":\"he said <think> twice\"}", "{\"a\":\"he said <think> twice\"}", false},
        {"[{\"a\":1},{\"a\":2}]", "[{\"a\":1},{\"a\":2}]", false},
        {"Facts: [\"x\", \"y\"]", "[\"x\",\"y\"]", false},
        {"{}", "{}", false},
        {"[]", "[]", false},
        {"{x} then {\"a\":1}", "{\"a\":1}", false},
        {"I can't help with that.", NULL, false},
        {"<html><body>502</body></html>", NULL, false},
        {"", NULL, false},
        {"[1]", NULL, false},
    };
    EXPECT_ALL(cases);
}
END_TEST

START_TEST(what_is_broken_inside)
{
    static const struct expected cases[] = {
        {"{\"a\":[1,2,],}", "{\"a\":[1,2]}", false},
        {"{\"a\":1,,\"b\":2}", "{\"a\":1,\"b\":2}", false},
        {"{\"a\":1 \"b\":2}", "{\"a\":\"1 \\\"b\\\":2\"}", false},
        {"{\"a\":\"x\"\n \"b\":\"y\"}", "{\"a\":\"x\",\"b\":\"y\"}", false},
        {"{\"a\":[\"x\"\n\"y\"]}", "{\"a\":[\"x\",\"y\"]}", false},
        {"{\"a\":[{\"b\":1} {\"b\":2}]}", "{\"a\":[{\"b\":1},{\"b\":2}]}", false},
        {"{'a':'it''s','b':'it's'}", "{\"a\":\"it''s\",\"b\":\"it's\"}", false},
        {"{\xe2\x80\x9c"
         "a\xe2\x80\x9d: \xe2\x80\x9cx\xe2\x80\x9d}",
         "{\"a\":\"x\"}", false},
        {"{a: 1, b_2: word, c: two words}", "{\"a\":1,\"b_2\":\"word\",\"c\":\"two words\"}",
         false},
        {"{\"a\":True,\"b\":False,\"c\":None,\"d\":NaN,\"e\":undefined}",
         "{\"a\":true,\"b\":false,\"c\":null,\"d\":null,\"e\":null}", false},
        {"{\"a\":+5,\"b\":.5,\"c\":007,\"d\":5.,\"e\":50%}",
         "{\"a\":5,\"b\":0.5,\"c\":7,\"d\":5,\"e\":\"50%\"}", false},
        {"{\"a\":1, // one\n /* two */ \"b\":2}", "{\"a\":1,\"b\":2}", false},
        {"{\"a\":\"he said \"hi\" to me\"}", "{\"a\":\"he said \\\"hi\\\" to me\"}", false},
        {"{\"a\":\"say \"hi\", then go\",\"b\":1}", "{\"a\":\"say \\\"hi\\\", then go\",\"b\":1}",
         false},
        {"{\"a\":\"x\ny\tz\"}", "{\"a\":\"x\\ny\\tz\"}", false},
        {"{\"a\":\"\\u12 \\x \\_ \\'\"}", "{\"a\":\"\\\\u12 \\\\x \\\\_ '\"}", false},
        {"{\"a\":\"\\ud800x\\udc00\\u0000\"}", "{\"a\":\"\\ufffdx\\ufffd\\ufffd\"}", false},
        {"{\"a\":\"\\ud83d\\ude00\"}", "{\"a\":\"\\ud83d\\ude00\"}", false},
        {"{\"a\":\"\xff\xc3\"}", "{\"a\":\"\\ufffd\\ufffd\"}", false},
        {"{\"a\":[1,2},\"b\":3}", "{\"a\":[1,2]}", false},
        {"{\"a\":1]}", "{\"a\":1}", false},
        {"{\"a\":1}}}", "{\"a\":1}", false},
        {"{\"a\":,\"b\":1}", "{\"b\":1}", false},
        {"{\"a\"=>1,\"b\"=2}", "{\"a\":1,\"b\":2}", false},
        {"{\"a\":123456789012345678901}", "{\"a\":1.2345678901234568e+20}", false},
        {"{\"a\":9223372036854775807}", "{\"a\":9223372036854775807}", false},
    };
    EXPECT_ALL(cases);
}
END_TEST

START_TEST(what_ends_too_early)
{
    static const struct expected cases[] = {
        {"{\"t\":\"x\",\"f\":[{\"c\":\"a\"},{\"c\":\"b", "{\"t\":\"x\",\"f\":[{\"c\":\"a\"}]}",
         true},
        {"{\"t\":\"x\",\"f\":[{\"c\":\"a\",\"k\":[\"b\"]},{\"c\":\"b\",\"k\":[\"c",
         "{\"t\":\"x\",\"f\":[{\"c\":\"a\",\"k\":[\"b\"]}]}", true},
        {"{\"f\":[{\"c\":\"a\"},", "{\"f\":[{\"c\":\"a\"}]}", true},
        {"{\"f\":[{\"c\":\"a\"}", "{\"f\":[{\"c\":\"a\"}]}", true},
        {"{\"t\":\"x\",\"s\":\"abc de", "{\"t\":\"x\",\"s\":\"abc de\"}", true},
        {"{\"t\":\"x\",\"s\":\"abc\\", "{\"t\":\"x\",\"s\":\"abc\"}", true},
        {"{\"t\":\"x\",\"s", "{\"t\":\"x\"}", true},
        {"{\"t\":\"x\",\"s\"", "{\"t\":\"x\"}", true},
        {"{\"t\":\"x\",\"s\":", "{\"t\":\"x\"}", true},
        {"{\"t\":\"x\",\"n\":12", "{\"t\":\"x\"}", true},
        {"{\"t\":\"x\",\"n\":tru", "{\"t\":\"x\"}", true},
        {"{\"k\":[\"a\",\"b\",\"c", "{\"k\":[\"a\",\"b\"]}", true},
        {"{\"k\":[1,2,3", "{\"k\":[1,2]}", true},
        {"{\"t\":\"x\"", "{\"t\":\"x\"}", true},
        {"{\"t\":\"x\" /* no", "{\"t\":\"x\"}", true},
        {"{", NULL, true},
        {"{\"t", NULL, true},
    };
    EXPECT_ALL(cases);
}
END_TEST

START_TEST(depth_is_limited)
{
    char text[400];
    struct arena *arena = arena_new(ARENA_BYTES);
    struct repaired got;
    for (unsigned depth = LIMIT_JSON_DEPTH - 1; depth <= LIMIT_JSON_DEPTH; depth++) {
        /* one object and `depth` lists in it */
        size_t n = (size_t)snprintf(text, sizeof text, "{\"a\":");
        memset(text + n, '[', depth);
        n += depth;
        text[n++] = '1';
        memset(text + n, ']', depth);
        n += depth;
        text[n++] = '}';
        enum err_code code = repair_json(arena, (struct str){text, n}, &got);
        ck_assert_int_eq(code == ERR_OK && !got.cut, depth < LIMIT_JSON_DEPTH);
    }
    arena_free(arena);
}
END_TEST

START_TEST(think_blocks)
{
    static const struct {
        const char *said, *left;
    } cases[] = {{"plain", "plain"},
                 {" \n plain ", "plain"},
                 {"<think>x</think>answer", "answer"},
                 {"<think>\nx\n</think>\n\nanswer\n", "answer"},
                 {"a <think>x</think> b", "a  b"},
                 {"x</think>answer", "answer"},
                 {"<think>x", ""},
                 {"answer<think>x", "answer"},
                 {"<think>a<think>b</think>c</think>d", "d"},
                 {"<Reasoning>x</REASONING>y", "y"},
                 {"1 < 2 and <b>bold</b>", "1 < 2 and <b>bold</b>"},
                 {"\xe2\x80\x9cquoted\xe2\x80\x9d", "\xe2\x80\x9cquoted\xe2\x80\x9d"},
                 {"", ""}};
    struct arena *arena = arena_new(ARENA_BYTES);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct str left = repair_think(arena, str_of(cases[i].said));
        ck_assert_msg(left.at != NULL && str_eq(left, str_of(cases[i].left)), "%s: %.*s",
                      cases[i].said, STR_FMT(left));
    }
    arena_free(arena);
}
END_TEST

START_TEST(memory_may_be_short)
{
    static const char said[] = "<think>x</think> {\"a\":[{'b':\"\n\"},]}";
    unsigned failures = 0;
    for (unsigned long n = 1;; n++) {
        struct arena *arena = arena_new(ARENA_BYTES);
        struct repaired got;
        arena_fail_after(arena, n);
        enum err_code code = repair_json(arena, str_of(said), &got);
        arena_free(arena);
        if (code == ERR_OK)
            break;
        ck_assert_int_eq(code, ERR_EXHAUSTED);
        failures++;
    }
    ck_assert_uint_ge(failures, 2);
}
END_TEST

Suite *suite_model_repair(void)
{
    Suite *suite = suite_create("model_repair");
    TCase *tcase = tcase_create("all");
    tcase_add_test(tcase, what_stands_around);
    tcase_add_test(tcase, what_is_broken_inside);
    tcase_add_test(tcase, what_ends_too_early);
    tcase_add_test(tcase, depth_is_limited);
    tcase_add_test(tcase, think_blocks);
    tcase_add_test(tcase, memory_may_be_short);
    suite_add_tcase(suite, tcase);
    return suite;
}
