#include "core/graph/edge.h"

#include <check.h>
#include <math.h>

START_TEST(weights_are_clamped)
{
    ck_assert_uint_eq(weight_pack(0), 0);
    ck_assert_uint_eq(weight_pack(1), 65535);
    ck_assert_uint_eq(weight_pack(-3), 0);
    ck_assert_uint_eq(weight_pack(7), 65535);
    ck_assert_uint_eq(weight_pack(INFINITY), 65535);
    ck_assert_uint_eq(weight_pack(-INFINITY), 0);
    ck_assert_uint_eq(weight_pack(NAN), weight_pack(0.5));
    for (uint32_t w = 0; w <= 65535; w++)
        ck_assert_uint_eq(weight_pack(weight_unpack((uint16_t)w)), w);
}
END_TEST

START_TEST(roles_have_names)
{
    ck_assert_str_eq(edge_role_slug(ROLE_INITIATING), "initiating");
    ck_assert_str_eq(edge_role_slug(ROLE_KEY_MOMENT), "key_moment");
    ck_assert_str_eq(edge_role_slug(ROLE_CAUSAL), "causal");
}
END_TEST

/* Members are set and removed at random; a table of all ids is the reference. */
START_TEST(members_stay_sorted_and_single)
{
    enum { IDS = 40 };
    struct err err;
    struct arena *arena = arena_new(1 << 24);
    struct edge edge = {0};
    uint16_t weights[IDS] = {0}; /* 0: not a member */
    uint64_t state = 3;
    for (int step = 0; step < 5000; step++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        uint32_t id = 1 + (uint32_t)(state >> 33) % (IDS - 1);
        uint16_t weight = (uint16_t)(state >> 20 | 1);
        if (step % 3 == 0) {
            edge_remove(&edge, id);
            weights[id] = 0;
        } else {
            struct edge_member member = {id, ROLE_CORE, weight};
            ck_assert_int_eq(edge_set(arena, &edge, member, &err), ERR_OK);
            weights[id] = weight;
        }
        edge_check(&edge);
        uint32_t n = 0;
        for (uint32_t i = 1; i < IDS; i++) {
            if (weights[i] == 0)
                continue;
            ck_assert(n < edge.n && edge.at[n].id == i && edge.at[n].weight == weights[i]);
            n++;
        }
        ck_assert_uint_eq(n, edge.n);
    }
    arena_free(arena);
}
END_TEST

START_TEST(a_failed_set_changes_nothing)
{
    struct err err;
    struct arena *arena = arena_new(1 << 16);
    struct edge edge = {0};
    ck_assert_int_eq(edge_set(arena, &edge, (struct edge_member){5, ROLE_CORE, 1}, &err), ERR_OK);
    arena_fail_after(arena, 1);
    ck_assert_int_eq(edge_set(arena, &edge, (struct edge_member){4, ROLE_CORE, 1}, &err),
                     ERR_EXHAUSTED);
    ck_assert(edge.n == 1 && edge.at[0].id == 5);
    arena_free(arena);
}
END_TEST

/* An id of 0, one that does not ascend, and a role that there is not. */
START_TEST(damaged_members_are_refused)
{
    static const struct edge_member bad[][2] = {{{0, 0, 0}, {1, 0, 0}},
                                                {{2, 0, 0}, {2, 0, 0}},
                                                {{3, 0, 0}, {2, 0, 0}},
                                                {{1, ROLE_COUNT, 0}, {2, 0, 0}}};
    struct err err;
    struct arena *arena = arena_new(1 << 16);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct edge edge;
        struct buf out;
        buf_init(&out, arena, 64);
        for (int m = 0; m < 2; m++) {
            buf_u32(&out, bad[i][m].id);
            buf_u8(&out, bad[i][m].role);
            buf_u16(&out, bad[i][m].weight);
        }
        ck_assert_int_eq(edge_decode(arena, buf_str(&out), &edge, &err), ERR_INTERNAL);
        ck_assert(edge.n == 0 && edge.at == NULL);
    }
    arena_free(arena);
}
END_TEST

Suite *suite_edge(void)
{
    Suite *suite = suite_create("edge");
    TCase *tcase = tcase_create("edge");
    tcase_add_test(tcase, weights_are_clamped);
    tcase_add_test(tcase, roles_have_names);
    tcase_add_test(tcase, members_stay_sorted_and_single);
    tcase_add_test(tcase, a_failed_set_changes_nothing);
    tcase_add_test(tcase, damaged_members_are_refused);
    suite_add_tcase(suite, tcase);
    return suite;
}
