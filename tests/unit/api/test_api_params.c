#include <check.h>

#include "api/params.h"
#include "api/params_json.h"

static const char *const colours[] = {"red", "blue", NULL};
static const char *const modes[] = {"off", NULL};

enum { P_Q, P_N, P_WAIT, P_WHEN, P_COLOUR, P_MODE, P_LATER, P_SHARE, PARAMS };
static const struct param_row rows[PARAMS] = {
    {.name = "q", .type = PARAM_TEXT, .flags = PARAM_REQUIRED | PARAM_NOT_BLANK, .max = 8},
    {.name = "n", .type = PARAM_UINT, .min = 1, .max = 100, .fallback = 10},
    {.name = "wait", .type = PARAM_FLAG},
    {.name = "when", .type = PARAM_TIME},
    {.name = "colour", .type = PARAM_CHOICE, .choices = colours, .fallback = 1},
    {.name = "mode", .type = PARAM_CHOICE, .flags = PARAM_UNBUILT, .choices = modes},
    {.name = "later", .type = PARAM_TIME, .flags = PARAM_UNBUILT},
    {.name = "share", .type = PARAM_REAL, .max = 3},
};

static enum err_code parse(struct arena *arena, const char *query, struct param_set *set,
                           struct err *err)
{
    *err = (struct err){.param = ""};
    ck_assert_int_eq(params_init(arena, rows, PARAMS, set, err), ERR_OK);
    enum err_code code = params_parse(arena, str_of(query), set, err);
    return code == ERR_OK ? params_check(set, err) : code;
}

START_TEST(good_values)
{
    struct arena *arena = arena_new(1 << 20);
    struct param_set set;
    struct err err;
    ck_assert_int_eq(parse(arena, "&&q=a+%C3%A9&&", &set, &err), ERR_OK);
    ck_assert(str_eq(set.values[P_Q].text, STR("a \xc3\xa9")));
    ck_assert_uint_eq(set.values[P_N].number, 10);
    ck_assert_uint_eq(set.values[P_COLOUR].number, 1);
    ck_assert(!set.values[P_N].given && set.values[P_Q].given && !set.values[P_WHEN].given);

    ck_assert_int_eq(parse(arena,
                           "n=100&wait=true&q=x%00y&colour=red&mode=off&"
                           "when=2023-05-08T13:56:00+02:00",
                           &set, &err),
                     ERR_OK);
    ck_assert_uint_eq(set.values[P_N].number, 100);
    ck_assert_uint_eq(set.values[P_WAIT].number, 1);
    ck_assert_uint_eq(set.values[P_COLOUR].number, 0);
    ck_assert_int_eq(set.values[P_WHEN].offset_min, 120);
    ck_assert_uint_eq(set.values[P_Q].text.len, 3);

    ck_assert_int_eq(parse(arena, "q=x&when=2023-05-08T13%3A56%3A00%2B02%3A00&wait=0", &set, &err),
                     ERR_OK);
    ck_assert_int_eq(set.values[P_WHEN].offset_min, 120);
    ck_assert_uint_eq(set.values[P_WAIT].number, 0);
    arena_free(arena);
}
END_TEST

START_TEST(real_numbers)
{
    static const char *const bad[] = {"q=x&share=3.01", "q=x&share=-0.1",  "q=x&share=nan",
                                      "q=x&share=",     "q=x&share=1,5",   "q=x&share=inf",
                                      "q=x&share=1e9",  "q=x&share=0x1p1", "q=x&share=1 "};
    static const char *const bad_json[] = {"{\"q\":\"x\",\"share\":\"1\"}",
                                           "{\"q\":\"x\",\"share\":true}",
                                           "{\"q\":\"x\",\"share\":3.5}"};
    struct arena *arena = arena_new(1 << 20);
    struct param_set set;
    struct err err;
    ck_assert_int_eq(parse(arena, "q=x", &set, &err), ERR_OK);
    ck_assert(!set.values[P_SHARE].given && set.values[P_SHARE].real == 0);
    ck_assert_int_eq(parse(arena, "q=x&share=2.5e-1", &set, &err), ERR_OK);
    ck_assert(set.values[P_SHARE].given && set.values[P_SHARE].real == 0.25);
    ck_assert_int_eq(parse(arena, "q=x&share=3", &set, &err), ERR_OK);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ck_assert_int_eq(parse(arena, bad[i], &set, &err), ERR_INVALID);
        ck_assert_str_eq(err.param, "share");
    }
    ck_assert_int_eq(params_init(arena, rows, PARAMS, &set, &err), ERR_OK);
    ck_assert_int_eq(params_json(arena, STR("{\"q\":\"x\",\"share\":0.75}"), &set, &err), ERR_OK);
    ck_assert(set.values[P_SHARE].real == 0.75);
    for (size_t i = 0; i < sizeof bad_json / sizeof bad_json[0]; i++) {
        ck_assert_int_eq(params_init(arena, rows, PARAMS, &set, &err), ERR_OK);
        ck_assert_int_eq(params_json(arena, str_of(bad_json[i]), &set, &err), ERR_INVALID);
        ck_assert_str_eq(err.param, "share");
    }
    arena_free(arena);
}
END_TEST

struct bad_row {
    const char *query;
    const char *param;
    enum err_code code;
};

static const struct bad_row bad[] = {
    {"", "q", ERR_INVALID},
    {"q=", "q", ERR_INVALID},
    {"q=+%09", "q", ERR_INVALID},
    {"q=123456789", "q", ERR_INVALID},
    {"q=%ff", "q", ERR_INVALID},
    {"q=%ed%a0%80", "q", ERR_INVALID},
    {"q=%4", "q", ERR_INVALID},
    {"q=a&q=b", "q", ERR_INVALID},
    {"q=a&n=0", "n", ERR_INVALID},
    {"q=a&n=101", "n", ERR_INVALID},
    {"q=a&n=-1", "n", ERR_INVALID},
    {"q=a&n=", "n", ERR_INVALID},
    {"q=a&n", "n", ERR_INVALID},
    {"q=a&n=1.0", "n", ERR_INVALID},
    {"q=a&n=1e1", "n", ERR_INVALID},
    {"q=a&n=0x10", "n", ERR_INVALID},
    {"q=a&n=99999999999999999999999", "n", ERR_INVALID},
    {"q=a&wait=yes", "wait", ERR_INVALID},
    {"q=a&wait=", "wait", ERR_INVALID},
    {"q=a&when=yesterday", "when", ERR_INVALID},
    {"q=a&when=2023-02-30T00:00:00Z", "when", ERR_INVALID},
    {"q=a&when=2023-05-08", "when", ERR_INVALID},
    {"q=a&colour=green", "colour", ERR_INVALID},
    {"q=a&colour=RED", "colour", ERR_INVALID},
    {"q=a&mode=on", "mode", ERR_UNIMPLEMENTED},
    {"q=a&later=2023-05-08T13:56:00Z", "later", ERR_UNIMPLEMENTED},
    {"q=a&later=rubbish", "later", ERR_UNIMPLEMENTED},
    {"q=a&nosuch=1", "nosuch", ERR_INVALID},
    {"q=a&Q=1", "Q", ERR_INVALID},
    {"q=a&%6=1", "query", ERR_INVALID},
    {"q=a&=1", "", ERR_INVALID},
};

START_TEST(bad_values_are_named)
{
    struct arena *arena = arena_new(1 << 20);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct param_set set;
        struct err err;
        enum err_code code = parse(arena, bad[i].query, &set, &err);
        ck_assert_msg(code == bad[i].code, "%s: %s", bad[i].query, err_slug(code));
        ck_assert_msg(strcmp(err.param, bad[i].param) == 0, "%s names %s", bad[i].query, err.param);
    }
    arena_free(arena);
}
END_TEST

START_TEST(a_name_that_a_client_made_up_is_cut)
{
    struct arena *arena = arena_new(1 << 20);
    struct param_set set;
    struct err err;
    char query[512] = "q=a&";
    for (int i = 0; i < 100; i++)
        (void)strncat(query, "%C3", 4);
    ck_assert_int_eq(parse(arena, query, &set, &err), ERR_INVALID);
    ck_assert_str_eq(err.param, "");
    query[4] = '\0';
    for (int i = 0; i < 50; i++)
        (void)strncat(query, "%C3%A9", 7);
    ck_assert_int_eq(parse(arena, query, &set, &err), ERR_INVALID);
    ck_assert_uint_eq(strlen(err.param) % 2, 0);
    ck_assert_uint_gt(strlen(err.param), 80);
    arena_free(arena);
}
END_TEST

static enum err_code parse_json(struct arena *arena, const char *body, struct param_set *set,
                                struct err *err)
{
    *err = (struct err){.param = ""};
    ck_assert_int_eq(params_init(arena, rows, PARAMS, set, err), ERR_OK);
    enum err_code code = params_json(arena, str_of(body), set, err);
    return code == ERR_OK ? params_check(set, err) : code;
}

START_TEST(json_takes_the_same_rows)
{
    struct arena *arena = arena_new(1 << 20);
    struct param_set set;
    struct err err;
    ck_assert_int_eq(parse_json(arena,
                                "{\"q\":\"a\\u0000\",\"n\":7,\"wait\":true,\"colour\":\"blue\","
                                "\"when\":\"2023-05-08T13:56:00Z\",\"mode\":null}",
                                &set, &err),
                     ERR_OK);
    ck_assert(str_eq(set.values[P_Q].text, STR("a\0")));
    ck_assert_uint_eq(set.values[P_N].number, 7);
    ck_assert(set.values[P_WAIT].number == 1 && set.values[P_WHEN].given);
    ck_assert(!set.values[P_MODE].given);
    arena_free(arena);
}
END_TEST

static const struct bad_row bad_json[] = {
    {"{}", "q", ERR_INVALID},
    {"{\"q\":1}", "q", ERR_INVALID},
    {"{\"q\":\"\"}", "q", ERR_INVALID},
    {"{\"q\":\"a\",\"n\":\"7\"}", "n", ERR_INVALID},
    {"{\"q\":\"a\",\"n\":7.0}", "n", ERR_INVALID},
    {"{\"q\":\"a\",\"n\":-7}", "n", ERR_INVALID},
    {"{\"q\":\"a\",\"n\":101}", "n", ERR_INVALID},
    {"{\"q\":\"a\",\"wait\":1}", "wait", ERR_INVALID},
    {"{\"q\":\"a\",\"wait\":\"true\"}", "wait", ERR_INVALID},
    {"{\"q\":\"a\",\"colour\":\"green\"}", "colour", ERR_INVALID},
    {"{\"q\":\"a\",\"mode\":\"on\"}", "mode", ERR_UNIMPLEMENTED},
    {"{\"q\":\"a\",\"later\":5}", "later", ERR_UNIMPLEMENTED},
    {"{\"q\":\"a\",\"nosuch\":1}", "nosuch", ERR_INVALID},
    {"{\"q\":\"a\",\"q\":\"b\"}", "body", ERR_INVALID},
    {"[]", "body", ERR_INVALID},
    {"\"q\"", "body", ERR_INVALID},
    {"", "body", ERR_INVALID},
    {"{\"q\":\"a\"} x", "body", ERR_INVALID},
    {"{\"q\":\"a\"", "body", ERR_INVALID},
    {"{\"q\":NaN}", "body", ERR_INVALID},
    {"{\"q\":\"a\",\"n\":123456789012345678901234567890}", "body", ERR_INVALID},
    {"{\"q\":\"\\ud800\"}", "body", ERR_INVALID},
    {"{\"q\":\"\\udc00\\ud800\"}", "body", ERR_INVALID},
    {"{\"q\":\"\xff\"}", "body", ERR_INVALID},
    {"{\"\\u0000\":1}", "body", ERR_INVALID},
};

START_TEST(bad_json_is_named)
{
    struct arena *arena = arena_new(1 << 20);
    for (size_t i = 0; i < sizeof bad_json / sizeof bad_json[0]; i++) {
        struct param_set set;
        struct err err;
        enum err_code code = parse_json(arena, bad_json[i].query, &set, &err);
        ck_assert_msg(code == bad_json[i].code, "%s: %s", bad_json[i].query, err_slug(code));
        ck_assert_msg(strcmp(err.param, bad_json[i].param) == 0, "%s names %s", bad_json[i].query,
                      err.param);
    }
    arena_free(arena);
}
END_TEST

Suite *suite_api_params(void);
Suite *suite_api_params(void)
{
    Suite *suite = suite_create("api_params");
    TCase *tests = tcase_create("params");
    tcase_add_test(tests, good_values);
    tcase_add_test(tests, real_numbers);
    tcase_add_test(tests, bad_values_are_named);
    tcase_add_test(tests, a_name_that_a_client_made_up_is_cut);
    tcase_add_test(tests, json_takes_the_same_rows);
    tcase_add_test(tests, bad_json_is_named);
    suite_add_tcase(suite, tests);
    return suite;
}
