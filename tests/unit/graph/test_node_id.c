#include "core/graph/node_id.h"

#include <check.h>

START_TEST(ids_come_back)
{
    static const uint32_t ids[] = {1, 9, 10, 412, 4294967295};
    static const char *const prefixes[] = {NODE_TURN, NODE_FACT, NODE_EPISODE, NODE_TOPIC};
    for (size_t p = 0; p < 4; p++) {
        for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
            char text[NODE_ID_MAX];
            uint32_t id = 0;
            size_t len = node_id_write(prefixes[p], ids[i], text);
            ck_assert_uint_eq(len, strlen(text));
            ck_assert(node_id_parse(str_of(text), prefixes[p], &id));
            ck_assert_uint_eq(id, ids[i]);
            ck_assert(!node_id_parse(str_of(text), prefixes[(p + 1) % 4], &id));
            ck_assert(node_id_is_reserved(str_of(text)));
        }
    }
}
END_TEST

START_TEST(other_spellings_are_refused)
{
    static const char *const bad[] = {"",         "turn",    "turn_",           "turn_0",
                                      "turn_01",  "turn_+1", "turn_-1",         "turn_ 1",
                                      "turn_1 ",  "turn_1a", "turn_4294967296", "Turn_1",
                                      "turn-1",   "turn1",   "turns_1",         "xturn_1",
                                      "turn_0x1", "_1",      "turn__1",         "turn_1.0"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        uint32_t id;
        ck_assert_msg(!node_id_parse(str_of(bad[i]), NODE_TURN, &id), "%s", bad[i]);
    }
    uint32_t id;
    ck_assert(!node_id_parse(STR("turn_1\0"), NODE_TURN, &id));
}
END_TEST

START_TEST(what_looks_like_an_id_is_reserved)
{
    static const char *const reserved[] = {"turn_007", "fact_0", "topic_99999999999999999999",
                                           "episode_4294967296"};
    static const char *const open[] = {"",        "turn",      "turn_", "turn_x1",
                                       "turn_1x", "message_1", "Turn_1"};
    for (size_t i = 0; i < sizeof reserved / sizeof reserved[0]; i++)
        ck_assert_msg(node_id_is_reserved(str_of(reserved[i])), "%s", reserved[i]);
    for (size_t i = 0; i < sizeof open / sizeof open[0]; i++)
        ck_assert_msg(!node_id_is_reserved(str_of(open[i])), "%s", open[i]);
}
END_TEST

START_TEST(missing_memory_gives_the_absent_string)
{
    struct arena *arena = arena_new(1 << 16);
    ck_assert(str_eq(node_id_str(arena, NODE_FACT, 88), STR("fact_88")));
    arena_fail_after(arena, 1);
    ck_assert_ptr_null(node_id_str(arena, NODE_FACT, 88).at);
    arena_free(arena);
}
END_TEST

Suite *suite_node_id(void)
{
    Suite *suite = suite_create("node_id");
    TCase *tcase = tcase_create("node_id");
    tcase_add_test(tcase, ids_come_back);
    tcase_add_test(tcase, other_spellings_are_refused);
    tcase_add_test(tcase, what_looks_like_an_id_is_reserved);
    tcase_add_test(tcase, missing_memory_gives_the_absent_string);
    suite_add_tcase(suite, tcase);
    return suite;
}
