/* Cursors, and pages over a real store. */
#include "api/list.h"
#include "tests/unit/api/api_kit.h"

START_TEST(cursors_come_back)
{
    struct arena *arena = arena_new(1 << 20);
    static const char *const positions[] = {"a", "ab", "abc", "abcd", "\xff\xfe\xfd", "-_.~@:A"};
    for (size_t i = 0; i < sizeof positions / sizeof positions[0]; i++) {
        struct str position = str_of(positions[i]), back;
        struct err err;
        struct str cursor = list_cursor_make(arena, 't', position);
        for (size_t c = 0; c < cursor.len; c++)
            ck_assert_ptr_null(strchr("+/=&% ", cursor.at[c]));
        ck_assert_int_eq(list_cursor_read(arena, cursor, 't', &back, &err), ERR_OK);
        ck_assert(str_eq(back, position));
        ck_assert_int_eq(list_cursor_read(arena, cursor, 'f', &back, &err), ERR_INVALID);
        for (size_t cut = 0; cut < cursor.len; cut++) { /* never longer than what was read */
            if (list_cursor_read(arena, str_part(cursor, 0, cut), 't', &back, &err) == ERR_OK)
                ck_assert(str_starts(position, back) && back.len < position.len);
        }
    }
    arena_free(arena);
}
END_TEST

START_TEST(bad_cursors)
{
    struct arena *arena = arena_new(1 << 20);
    static const char *const bad[] = {
        "",   "A", "AA", "AAA", "AXQ=", "A+/A", "AnRh", "AXRh\n", "AXRhYR", "\xff\xff\xff\xff",
        "AXR"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct str back;
        struct err err = {.param = ""};
        ck_assert_msg(list_cursor_read(arena, str_of(bad[i]), 't', &back, &err) == ERR_INVALID,
                      "%s", bad[i]);
        ck_assert_str_eq(err.param, "cursor");
    }
    ck_assert(str_eq(list_cursor_make(arena, 't', STR("a")), STR("AXRh")));
    arena_free(arena);
}
END_TEST

static void post_many(struct api_kit *kit, const char *path, int n)
{
    for (int i = 0; i < n; i++) {
        char body[200];
        (void)snprintf(body, sizeof body,
                       "{\"text\":\"turn %d\",\"session\":\"s%d\",\"speaker\":\"p%d\","
                       "\"timestamp\":\"2023-05-%02dT00:00:00Z\"}",
                       i, i % 2, i % 3, i + 1);
        json_decref(api_kit_call(kit, 202, "POST", path, NULL, body));
    }
}

/* Walks all pages; returns the numbers of the turns seen, joined. */
static void walk(struct api_kit *kit, const char *query, char *seen, size_t cap)
{
    char next[512];
    size_t len = 0;
    (void)snprintf(next, sizeof next, "%s", query);
    seen[0] = '\0';
    for (int pages = 0;; pages++) {
        json_t *reply = api_kit_call(kit, 200, "GET", "/v1/spaces/a/turns", next, NULL);
        const json_t *cursor = json_object_get(reply, "next_cursor");
        size_t i;
        json_t *turn;
        json_array_foreach(json_object_get(reply, "turns"), i, turn)
        {
            len += (size_t)snprintf(seen + len, cap - len, "%d ",
                                    (int)json_integer_value(json_object_get(turn, "n")));
        }
        (void)snprintf(next, sizeof next, "%s&cursor=%s", query,
                       cursor != NULL ? json_string_value(cursor) : "");
        bool more = cursor != NULL;
        json_decref(reply);
        if (!more)
            return;
        ck_assert_int_lt(pages, 50);
    }
}

START_TEST(pages_hold_each_turn_once)
{
    static const char *const rows[][2] = {
        {"limit=1000", "1 2 3 4 5 6 7 8 9 10 "},
        {"limit=10", "1 2 3 4 5 6 7 8 9 10 "},
        {"limit=1", "1 2 3 4 5 6 7 8 9 10 "},
        {"limit=3", "1 2 3 4 5 6 7 8 9 10 "},
        {"limit=2&session=s0", "1 3 5 7 9 "},
        {"limit=2&session=s1&speaker=p1", "2 8 "},
        {"limit=2&speaker=p2", "3 6 9 "},
        {"limit=2&session=none", ""},
        {"limit=2&session=", ""},
        {"since=2023-05-03T00:00:00Z&until=2023-05-05T00:00:00Z", "3 4 5 "},
        {"limit=1&since=2023-05-03T02:00:00%2b02:00&until=2023-05-03T00:00:00Z", "3 "},
    };
    struct api_kit kit;
    char seen[200];
    api_kit_init(&kit);
    post_many(&kit, "/v1/spaces/a/turns", 10);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        walk(&kit, rows[i][0], seen, sizeof seen);
        ck_assert_msg(strcmp(seen, rows[i][1]) == 0, "%s: %s", rows[i][0], seen);
    }
    api_kit_fini(&kit);
}
END_TEST

START_TEST(spaces_by_name)
{
    static const char *const names[] = {"B", "a", "a.b", "a:b", "ab", "b"};
    struct api_kit kit;
    api_kit_init(&kit);
    for (size_t i = 0; i < 6; i++) {
        char path[64];
        (void)snprintf(path, sizeof path, "/v1/spaces/%s", names[5 - i]);
        json_decref(api_kit_call(&kit, 201, "PUT", path, NULL, "{}"));
    }
    char next[256] = "limit=4";
    size_t at = 0;
    for (int page = 0; page < 2; page++) {
        json_t *reply = api_kit_call(&kit, 200, "GET", "/v1/spaces", next, NULL);
        size_t i;
        json_t *space;
        json_array_foreach(json_object_get(reply, "spaces"), i, space)
            ck_assert_str_eq(json_string_value(json_object_get(space, "name")), names[at++]);
        const json_t *cursor = json_object_get(reply, "next_cursor");
        ck_assert((cursor != NULL) == (page == 0));
        if (cursor != NULL)
            (void)snprintf(next, sizeof next, "limit=4&cursor=%s", json_string_value(cursor));
        json_decref(reply);
    }
    ck_assert_uint_eq(at, 6);
    json_t *reply = api_kit_call(&kit, 200, "GET", "/v1/spaces", "prefix=a&limit=3", NULL);
    ck_assert_uint_eq(json_array_size(json_object_get(reply, "spaces")), 3);
    ck_assert_ptr_nonnull(json_object_get(reply, "next_cursor"));
    json_decref(reply);
    api_kit_fini(&kit);
}
END_TEST

Suite *suite_api_list(void);
Suite *suite_api_list(void)
{
    Suite *suite = suite_create("api_list");
    TCase *tests = tcase_create("list");
    tcase_add_test(tests, cursors_come_back);
    tcase_add_test(tests, bad_cursors);
    tcase_add_test(tests, pages_hold_each_turn_once);
    tcase_add_test(tests, spaces_by_name);
    suite_add_tcase(suite, tests);
    return suite;
}
