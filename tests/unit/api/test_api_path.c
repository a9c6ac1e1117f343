#include <check.h>

#include "api/path.h"
#include "api/routes.h"

struct split_row {
    const char *raw;
    enum err_code code;
    unsigned n;
    const char *last;
};

static const struct split_row splits[] = {
    {"/", ERR_OK, 1, ""},
    {"/v1/spaces", ERR_OK, 2, "spaces"},
    {"/v1/spaces/", ERR_OK, 3, ""},
    {"/v1//x", ERR_OK, 3, "x"},
    {"/a%2Fb", ERR_OK, 1, "a/b"},
    {"/a%2fb", ERR_OK, 1, "a/b"},
    {"/%41", ERR_OK, 1, "A"},
    {"/a+b", ERR_OK, 1, "a+b"},
    {"/%2e%2E", ERR_OK, 1, ".."},
    {"/%E4%BD%A0", ERR_OK, 1, "\xe4\xbd\xa0"},
    {"/a%00b", ERR_INVALID, 0, NULL},
    {"/a%", ERR_INVALID, 0, NULL},
    {"/a%4", ERR_INVALID, 0, NULL},
    {"/a%4g", ERR_INVALID, 0, NULL},
    {"/a%-1", ERR_INVALID, 0, NULL},
    {"/x/%%20", ERR_INVALID, 0, NULL},
    {"", ERR_NOT_FOUND, 0, NULL},
    {"v1/spaces", ERR_NOT_FOUND, 0, NULL},
    {"/1/2/3/4/5/6/7/8", ERR_OK, 8, "8"},
    {"/1/2/3/4/5/6/7/8/9", ERR_NOT_FOUND, 0, NULL},
};

START_TEST(splits_before_it_decodes)
{
    struct arena *arena = arena_new(1 << 20);
    for (size_t i = 0; i < sizeof splits / sizeof splits[0]; i++) {
        const struct split_row *row = &splits[i];
        struct path path;
        struct err err = {.param = ""};
        enum err_code code = path_split(arena, str_of(row->raw), &path, &err);
        ck_assert_msg(code == row->code, "%s: %s", row->raw, err_slug(code));
        if (code != ERR_OK)
            continue;
        ck_assert_uint_eq(path.n, row->n);
        ck_assert_msg(str_eq(path.segment[path.n - 1], str_of(row->last)), "%s", row->raw);
    }
    arena_free(arena);
}
END_TEST

START_TEST(form_decoding_takes_plus_and_nul)
{
    struct arena *arena = arena_new(1 << 20);
    bool ok;
    ck_assert(str_eq(percent_decode(arena, STR("a+b%2Bc"), true, &ok), STR("a b+c")) && ok);
    ck_assert(str_eq(percent_decode(arena, STR("a%00b"), true, &ok), STR("a\0b")) && ok);
    (void)percent_decode(arena, STR("%zz"), true, &ok);
    ck_assert(!ok);
    ck_assert_ptr_nonnull(percent_decode(arena, STR_NONE, true, &ok).at);
    arena_fail_after(arena, 1);
    ck_assert_ptr_null(percent_decode(arena, STR("%41"), true, &ok).at);
    ck_assert(ok);
    arena_free(arena);
}
END_TEST

static const struct route *find(const char *method, const char *raw, struct route_vars *vars,
                                char allow[ROUTE_ALLOW_MAX])
{
    static struct path path;
    struct err err;
    struct arena *arena = arena_new(1 << 20);
    ck_assert_int_eq(path_split(arena, str_of(raw), &path, &err), ERR_OK);
    const struct route *route = routes_find(&path, str_of(method), vars, allow);
    arena_free(arena);
    return route;
}

START_TEST(routes_are_found)
{
    struct route_vars vars;
    char allow[ROUTE_ALLOW_MAX];
    ck_assert_ptr_nonnull(find("GET", "/v1/spaces/a/turns/t", &vars, allow));
    ck_assert(str_eq(vars.space, STR("a")) && str_eq(vars.id, STR("t")));
    ck_assert_ptr_nonnull(find("HEAD", "/healthz", &vars, allow));
    ck_assert_ptr_null(find("GET", "/v1/spaces/a/turns/t/", &vars, allow));
    ck_assert_str_eq(allow, "");
    ck_assert_ptr_null(find("GET", "/v2/spaces", &vars, allow));
    ck_assert_ptr_null(find("BREW", "/v1/spaces/a", &vars, allow));
    ck_assert_str_eq(allow, "PUT, GET, DELETE, HEAD, OPTIONS");
    ck_assert_ptr_null(find("GET", "/v1/spaces/a/flush", &vars, allow));
    ck_assert_str_eq(allow, "POST, OPTIONS");
    ck_assert_ptr_null(find("get", "/healthz", &vars, allow));
}
END_TEST

START_TEST(every_row_is_complete)
{
    for (unsigned i = 0; i < routes_count(); i++) {
        const struct route *route = routes_at(i);
        int forms = (route->answer != NULL) + (route->read != NULL) + (route->step != NULL);
        ck_assert_int_eq(forms, (route->flags & ROUTE_UNBUILT) != 0 ? 0 : 1);
        ck_assert(route->doc != NULL && route->path[0] == '/');
        for (unsigned p = 0; p < route->n_params; p++) {
            const struct param_row *row = &route->params[p];
            ck_assert(row->name != NULL && row->doc != NULL);
            ck_assert(row->type != PARAM_TEXT || row->max != 0);
            ck_assert((row->type == PARAM_CHOICE) == (row->choices != NULL));
            if (row->type == PARAM_UINT)
                ck_assert(row->fallback <= row->max && row->min <= row->max);
            for (unsigned other = 0; other < p; other++)
                ck_assert_str_ne(route->params[other].name, row->name);
        }
    }
}
END_TEST

Suite *suite_api_path(void);
Suite *suite_api_path(void)
{
    Suite *suite = suite_create("api_path");
    TCase *tests = tcase_create("path");
    tcase_add_test(tests, splits_before_it_decodes);
    tcase_add_test(tests, form_decoding_takes_plus_and_nul);
    tcase_add_test(tests, routes_are_found);
    tcase_add_test(tests, every_row_is_complete);
    suite_add_tcase(suite, tests);
    return suite;
}
