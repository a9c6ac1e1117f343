#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/body_json.h"
#include "api/turns_json.h"
#include "core/base/limits.h"

static enum err_code decode(struct arena *arena, const char *body, bool ndjson,
                            struct turns_body *out, struct err *err)
{
    *err = (struct err){.param = ""};
    return turns_json(arena, str_of(body), ndjson, out, err);
}

START_TEST(all_members_of_a_turn)
{
    struct arena *arena = arena_new(1 << 22);
    struct turns_body body;
    struct err err;
    ck_assert_int_eq(
        decode(arena,
               "{\"turns\":[{\"id\":\"a/1\",\"session\":\"s\",\"speaker\":\"Jon\",\"role\":"
               "\"user\",\"text\":\"caf\\u00e9 \\u0000\",\"timestamp\":"
               "\"2023-05-08T13:56:00+02:00\",\"metadata\":{ \"b\" : [1, 0.1, true], \"a\":null}},"
               "{\"text\":\"two\",\"id\":null,\"session\":null,\"speaker\":null,\"role\":null,"
               "\"timestamp\":null,\"metadata\":null}]}",
               false, &body, &err),
        ERR_OK);
    ck_assert_uint_eq(body.n, 2);
    ck_assert(!body.messages && body.places == NULL);
    const struct turn_input *turn = &body.turns[0];
    ck_assert(str_eq(turn->id, STR("a/1")) && str_eq(turn->session, STR("s")));
    ck_assert(str_eq(turn->speaker, STR("Jon")) && str_eq(turn->role, STR("user")));
    ck_assert(str_eq(turn->text, STR("caf\xc3\xa9 \0")));
    ck_assert(turn->has_time && turn->offset_min == 120);
    ck_assert(str_eq(turn->metadata, STR("{\"b\":[1,0.1,true],\"a\":null}")));
    turn = &body.turns[1];
    ck_assert(!turn->has_time && turn->id.at == NULL && turn->session.at == NULL);
    ck_assert(turn->metadata.at == NULL && str_eq(turn->text, STR("two")));
    arena_free(arena);
}
END_TEST

static void expect_compact(const char *json, const char *want)
{
    struct buf out;
    buf_init(&out, NULL, 1 << 20);
    json_t *value = json_loads(json, JSON_ALLOW_NUL, NULL);
    ck_assert_ptr_nonnull(value);
    ck_assert(body_json_compact(value, &out));
    ck_assert_msg(str_eq(buf_str(&out), str_of(want)), "%s: %.*s", json, (int)out.len, out.at);
    json_t *again = json_loadb(out.at, out.len, JSON_ALLOW_NUL, NULL);
    ck_assert(json_equal(value, again));
    json_decref(again);
    json_decref(value);
    buf_fini(&out);
}

START_TEST(compact_json_keeps_what_it_was)
{
    expect_compact("{ }", "{}");
    expect_compact("{\"b\": 1, \"a\": [ 1.0, -0.5, 0.1, 1e-7, 1E+30 ]}",
                   "{\"b\":1,\"a\":[1.0,-0.5,0.1,1e-07,1e+30]}");
    expect_compact("[0.3333333333333333, 0.1, 12345678901234567.0, -7, 1.7976931348623157e308]",
                   "[0.3333333333333333,0.1,12345678901234568.0,-7,1.7976931348623157e+308]");
    expect_compact("[\"1.50 \\\" 2.50\", \"\\\\\", 2.50, true, null]",
                   "[\"1.50 \\\" 2.50\",\"\\\\\",2.5,true,null]");
    expect_compact("[\"a\\u2028b\\u2029\", \"\xe2\x80\xa7\", \"\\u0000\"]",
                   "[\"a\\u2028b\\u2029\",\"\xe2\x80\xa7\",\"\\u0000\"]");
}
END_TEST

START_TEST(one_turn_and_lines)
{
    struct arena *arena = arena_new(1 << 22);
    struct turns_body body;
    struct err err;
    ck_assert_int_eq(decode(arena, "{\"text\":\"one\",\"id\":\"x\"}", false, &body, &err), ERR_OK);
    ck_assert(body.n == 1 && str_eq(body.turns[0].id, STR("x")));
    ck_assert_int_eq(decode(arena, "\r\n{\"text\":\"1\"}\r\n\n  {\"text\":\"2\"}\n{\"text\":\"3\"}",
                            true, &body, &err),
                     ERR_OK);
    ck_assert(body.n == 3 && str_eq(body.turns[2].text, STR("3")));
    ck_assert_int_eq(decode(arena, "{\"text\":\"a\xe2\x80\xa8z\"}", true, &body, &err), ERR_OK);
    ck_assert_uint_eq(body.n, 1);
    arena_free(arena);
}
END_TEST

START_TEST(messages_of_chat_clients)
{
    struct arena *arena = arena_new(1 << 22);
    struct turns_body body;
    struct err err;
    ck_assert_int_eq(
        decode(arena,
               "{\"session\":\"s\",\"messages\":[{\"role\":\"user\",\"content\":\"hi\",\"name\":"
               "\"Jon\",\"anything\":[1]},{\"role\":\"assistant\",\"content\":null,\"tool_calls\":"
               "[{\"id\":\"c\"}]},{\"role\":\"tool\",\"content\":[{\"type\":\"text\",\"text\":"
               "\"a\"},{\"type\":\"image_url\",\"image_url\":{}},{\"type\":\"text\",\"text\":"
               "\"b\"}],\"tool_call_id\":\"c\"}]}",
               false, &body, &err),
        ERR_OK);
    ck_assert(body.messages && body.n == 2);
    ck_assert(str_eq(body.turns[0].speaker, STR("Jon")));
    ck_assert(str_eq(body.turns[0].session, STR("s")) && str_eq(body.turns[1].session, STR("s")));
    ck_assert(str_eq(body.turns[1].text, STR("a\nb")) && str_eq(body.turns[1].role, STR("tool")));
    ck_assert_ptr_nonnull(body.places);
    ck_assert(body.places[0] == 0 && body.places[1] == 2);
    arena_free(arena);
}
END_TEST

struct bad_row {
    const char *body;
    const char *param;
};

static const struct bad_row bad[] = {
    {"", "body"},
    {" \n", "body"},
    {"{", "body"},
    {"nonsense", "body"},
    {"[]", "body"},
    {"[{\"text\":\"a\"}]", "body"},
    {"{\"turns\":[{\"text\":\"a\"}]", "body"},
    {"{\"turns\":[{\"text\":\"a\"}]}}", "body"},
    {"{\"turns\":[{\"text\":\"a\"}],\"turns\":[]}", "body"},
    {"{\"turns\":[{\"text\":\"a\",\"text\":\"b\"}]}", "body"},
    {"{\"turns\":[{\"text\":\"\\ud83d\"}]}", "body"},
    {"{\"turns\":[{\"text\":\"\xc3\"}]}", "body"},
    {"{\"turns\":[{\"text\":\"a\",\"metadata\":{\"x\":1e999}}]}", "body"},
    {"{\"turns\":[{\"text\":\"a\",\"metadata\":{\"x\":99999999999999999999}}]}", "body"},
    {"{\"turns\":[{\"text\":\"a\",\"metadata\":{\"x\":-Infinity}}]}", "body"},
    {"{}", "turns"},
    {"{\"turns\":[]}", "turns"},
    {"{\"turns\":{}}", "turns"},
    {"{\"turns\":null}", "turns"},
    {"{\"turns\":[{\"text\":\"a\"}],\"session\":\"s\"}", "session"},
    {"{\"turns\":[{\"text\":\"a\"}],\"messages\":[]}", "messages"},
    {"{\"turns\":[{\"text\":\"a\"},5]}", "turns[1]"},
    {"{\"turns\":[{\"text\":\"a\"},{}]}", "turns[1].text"},
    {"{\"turns\":[{\"text\":null}]}", "turns[0].text"},
    {"{\"turns\":[{\"text\":5}]}", "turns[0].text"},
    {"{\"turns\":[{\"text\":[\"a\"]}]}", "turns[0].text"},
    {"{\"turns\":[{\"text\":\"a\",\"id\":5}]}", "turns[0].id"},
    {"{\"turns\":[{\"text\":\"a\",\"id\":\"\"}]}", "turns[0].id"},
    {"{\"turns\":[{\"text\":\"a\",\"session\":1}]}", "turns[0].session"},
    {"{\"turns\":[{\"text\":\"a\",\"speaker\":{}}]}", "turns[0].speaker"},
    {"{\"turns\":[{\"text\":\"a\",\"role\":[]}]}", "turns[0].role"},
    {"{\"turns\":[{\"text\":\"a\",\"timestamp\":1683554160}]}", "turns[0].timestamp"},
    {"{\"turns\":[{\"text\":\"a\",\"timestamp\":\"2023-05-08\"}]}", "turns[0].timestamp"},
    {"{\"turns\":[{\"text\":\"a\",\"timestamp\":\"2023-05-08T13:56:00\"}]}", "turns[0].timestamp"},
    {"{\"turns\":[{\"text\":\"a\",\"timestamp\":\"2023-13-08T13:56:00Z\"}]}", "turns[0].timestamp"},
    {"{\"turns\":[{\"text\":\"a\",\"metadata\":[]}]}", "turns[0].metadata"},
    {"{\"turns\":[{\"text\":\"a\",\"metadata\":\"x\"}]}", "turns[0].metadata"},
    {"{\"turns\":[{\"text\":\"a\",\"content\":\"x\"}]}", "turns[0].content"},
    {"{\"foo\":1}", "turns[0].foo"},
    {"{\"text\":\"a\",\"foo\":1}", "turns[0].foo"},
    {"{\"messages\":[]}", "messages"},
    {"{\"messages\":{}}", "messages"},
    {"{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}],\"model\":\"x\"}", "model"},
    {"{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}],\"session\":5}", "session"},
    {"{\"messages\":[5]}", "messages[0]"},
    {"{\"messages\":[{\"content\":\"a\"}]}", "messages[0].role"},
    {"{\"messages\":[{\"role\":null,\"content\":\"a\"}]}", "messages[0].role"},
    {"{\"messages\":[{\"role\":\"user\"}]}", "messages[0].content"},
    {"{\"messages\":[{\"role\":\"user\",\"content\":null}]}", "messages[0].content"},
    {"{\"messages\":[{\"role\":\"user\",\"content\":5}]}", "messages[0].content"},
    {"{\"messages\":[{\"role\":\"user\",\"content\":[5]}]}", "messages[0].content"},
    {"{\"messages\":[{\"role\":\"user\",\"content\":[{\"text\":\"a\"}]}]}", "messages[0].content"},
    {"{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\"}]}]}",
     "messages[0].content"},
    {"{\"messages\":[{\"role\":\"user\",\"content\":\"a\",\"name\":5}]}", "messages[0].name"},
    {"{\"messages\":[{\"role\":\"assistant\",\"tool_calls\":[1]}]}", "messages"},
};

START_TEST(bad_bodies_are_named)
{
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct arena *arena = arena_new(1 << 22);
        struct turns_body body;
        struct err err;
        enum err_code code = decode(arena, bad[i].body, false, &body, &err);
        ck_assert_msg(code == ERR_INVALID, "%s: %s", bad[i].body, err_slug(code));
        ck_assert_msg(strcmp(err.param, bad[i].param) == 0, "%s names %s: %s", bad[i].body,
                      err.param, err.message);
        arena_free(arena);
    }
}
END_TEST

static const struct bad_row bad_lines[] = {
    {"\n\n", "turns"},
    {"{\"text\":\"a\"}\n{\"text\":\"b\"", "turns[1]"},
    {"{\"text\":\"a\"}\n[]", "turns[1]"},
    {"{\"text\":\"a\"} {\"text\":\"b\"}", "turns[0]"},
    {"{\"text\":\"a\"}\n\n{\"text\":5}", "turns[1].text"},
    {"{\"turns\":[{\"text\":\"a\"}]}", "turns[0].turns"},
};

START_TEST(bad_lines_are_named)
{
    for (size_t i = 0; i < sizeof bad_lines / sizeof bad_lines[0]; i++) {
        struct arena *arena = arena_new(1 << 22);
        struct turns_body body;
        struct err err;
        ck_assert_int_eq(decode(arena, bad_lines[i].body, true, &body, &err), ERR_INVALID);
        ck_assert_str_eq(err.param, bad_lines[i].param);
        arena_free(arena);
    }
}
END_TEST

static char *repeat(const char *head, const char *part, unsigned n, const char *tail)
{
    struct buf buf;
    buf_init(&buf, NULL, 64 << 20);
    buf_str_put(&buf, str_of(head));
    for (unsigned i = 0; i < n; i++)
        buf_str_put(&buf, str_of(part));
    buf_str_put(&buf, str_of(tail));
    buf_char(&buf, '\0');
    size_t len;
    return buf_take_heap(&buf, &len);
}

static void expect(const char *param, char *body, bool ndjson)
{
    struct arena *arena = arena_new(64 << 20);
    struct turns_body out;
    struct err err;
    enum err_code code = decode(arena, body, ndjson, &out, &err);
    ck_assert_int_eq(code, param == NULL ? ERR_OK : ERR_INVALID);
    ck_assert_str_eq(err.param, param == NULL ? "" : param);
    arena_free(arena);
    free(body);
}

START_TEST(counts_depth_and_sizes)
{
    expect(NULL, repeat("{\"turns\":[{\"text\":\"a\"}", ",{\"text\":\"a\"}", 255, "]}"), false);
    expect("turns", repeat("{\"turns\":[{\"text\":\"a\"}", ",{\"text\":\"a\"}", 256, "]}"), false);
    expect("turns", repeat("", "{\"text\":\"a\"}\n", 257, ""), true);
    expect("body", repeat("{\"text\":", "[", 100000, ""), false);
    expect("body", repeat("{\"a\":", "{\"a\":", 64, "1"), false);
    expect("turns[0].metadata",
           repeat("{\"text\":\"a\",\"metadata\":{\"x\":\"", "0123456789", 410, "\"}}"), false);
    expect(NULL, repeat("{\"text\":\"a\",\"metadata\":{\"x\":\"", "0123456789", 408, "\"}}"),
           false);
    /* brackets inside strings are text, however many */
    expect(NULL, repeat("{\"text\":\"\\\"", "[{", 1000, "\"}"), false);
    /* 64 levels are fine: the turn and 63 below */
    char *deep = repeat("{\"text\":\"a\",\"metadata\":{\"x\":", "[", 62, "");
    char *closed = repeat(deep, "]", 62, "}}");
    free(deep);
    expect(NULL, closed, false);
}
END_TEST

START_TEST(memory_may_run_out_anywhere)
{
    static const char body[] =
        "{\"turns\":[{\"id\":\"a\",\"session\":\"s\",\"speaker\":\"Jon\",\"role\":\"user\","
        "\"text\":\"hello\",\"timestamp\":\"2023-05-08T13:56:00Z\",\"metadata\":{\"k\":0.1}}]}";
    enum err_code code = ERR_EXHAUSTED;
    for (unsigned long n = 1; code != ERR_OK; n++) {
        struct arena *arena = arena_new(1 << 20);
        struct turns_body out;
        struct err err;
        arena_fail_after(arena, n);
        code = decode(arena, body, false, &out, &err);
        ck_assert(code == ERR_OK || code == ERR_EXHAUSTED);
        ck_assert_uint_lt(n, 100);
        arena_free(arena);
    }
}
END_TEST

Suite *suite_api_turns_json(void);
Suite *suite_api_turns_json(void)
{
    Suite *suite = suite_create("api_turns_json");
    TCase *tests = tcase_create("turns_json");
    tcase_add_test(tests, all_members_of_a_turn);
    tcase_add_test(tests, compact_json_keeps_what_it_was);
    tcase_add_test(tests, one_turn_and_lines);
    tcase_add_test(tests, messages_of_chat_clients);
    tcase_add_test(tests, bad_bodies_are_named);
    tcase_add_test(tests, bad_lines_are_named);
    tcase_add_test(tests, counts_depth_and_sizes);
    tcase_add_test(tests, memory_may_run_out_anywhere);
    suite_add_tcase(suite, tests);
    return suite;
}
