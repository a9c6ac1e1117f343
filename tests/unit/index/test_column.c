#include "core/index/column.h"

#include <check.h>

#include "tests/unit/index/harness.h"

static bool is_zero(const void *row, size_t size)
{
    const char *at = row;
    for (size_t i = 0; i < size; i++) {
        if (at[i] != 0)
            return false;
    }
    return true;
}

START_TEST(widths_are_the_rows)
{
    ck_assert_uint_eq(column_width(COLUMN_TURN), 40);
    ck_assert_uint_eq(column_width(COLUMN_FACT), 32);
    ck_assert_uint_eq(column_width(COLUMN_EPISODE), 40);
    ck_assert_uint_eq(column_width(COLUMN_TOPIC), 32);
    ck_assert_uint_eq(column_width(COLUMN_EPISODE_DOC), 4);
    ck_assert_uint_eq(column_width(COLUMN_TOPIC_DOC), 4);
}
END_TEST

START_TEST(rows_come_back)
{
    struct err err;
    struct harness *h = harness_new();
    struct arena *arena = arena_new(1 << 22);
    struct batch *batch = batch_new(arena, harness_space(h), CAUSE_KEEP);
    struct turn_row turns[70]; /* three blocks, from the middle of the first */
    memset(turns, 0, sizeof turns);
    for (uint32_t i = 0; i < 70; i++)
        turns[i] = (struct turn_row){.n = i + 1, .next = i, .flags = TURN_ROW_DONE, .time_ms = -5};
    (void)column_put(batch, COLUMN_TURN, 20, turns, 70);
    struct fact_row fact = {.turn_doc = 9, .valid_from = 1, .valid_to = INT64_MAX};
    (void)column_put(batch, COLUMN_FACT, 4, &fact, 1);
    struct episode_row episode = {.doc = 3, .topics = {1, 2}};
    (void)column_put(batch, COLUMN_EPISODE, 0, &episode, 1);
    struct topic_row topic = {.chain = 8, .end_ms = 77};
    (void)column_put(batch, COLUMN_TOPIC, 6400, &topic, 1);
    uint32_t ids[2] = {11, 12};
    (void)column_put(batch, COLUMN_EPISODE_DOC, 31, ids, 2);
    (void)column_put(batch, COLUMN_TOPIC_DOC, 0, &ids[1], 1);
    harness_commit(h, batch);

    struct columns *c = columns_new(harness_begin(h), harness_space(h), arena);
    struct turn_row turn;
    for (uint32_t i = 70; i-- != 0;) {
        columns_turn(c, 20 + i, &turn);
        ck_assert_int_eq(memcmp(&turn, &turns[i], sizeof turn), 0);
    }
    struct fact_row fact2;
    columns_fact(c, 5, &fact2); /* row = id - 1 */
    ck_assert_int_eq(memcmp(&fact2, &fact, sizeof fact), 0);
    struct episode_row episode2;
    columns_episode(c, 1, &episode2);
    ck_assert_int_eq(memcmp(&episode2, &episode, sizeof episode), 0);
    struct topic_row topic2;
    columns_topic(c, 6401, &topic2);
    ck_assert_int_eq(memcmp(&topic2, &topic, sizeof topic), 0);
    ck_assert_uint_eq(columns_episode_of_doc(c, 31), 11);
    ck_assert_uint_eq(columns_episode_of_doc(c, 32), 12);
    ck_assert_uint_eq(columns_topic_of_doc(c, 0), 12);
    ck_assert_int_eq(columns_error(c, &err), ERR_OK);
    arena_free(arena);
    harness_free(h);
}
END_TEST

START_TEST(rows_never_written_are_zero)
{
    struct err err;
    struct harness *h = harness_new();
    struct arena *arena = arena_new(1 << 22);
    struct batch *batch = batch_new(arena, harness_space(h), CAUSE_KEEP);
    struct fact_row fact = {.turn_doc = 9};
    (void)column_put(batch, COLUMN_FACT, 4, &fact, 1);
    harness_commit(h, batch);
    struct columns *c = columns_new(harness_begin(h), harness_space(h), arena);
    const uint32_t ids[] = {0, 1, 4, 6, 32, 33, 1000};
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        memset(&fact, 7, sizeof fact);
        columns_fact(c, ids[i], &fact);
        ck_assert(is_zero(&fact, sizeof fact));
        struct episode_row episode;
        memset(&episode, 7, sizeof episode);
        columns_episode(c, ids[i], &episode);
        ck_assert(is_zero(&episode, sizeof episode));
        struct topic_row topic;
        memset(&topic, 7, sizeof topic);
        columns_topic(c, ids[i], &topic);
        ck_assert(is_zero(&topic, sizeof topic));
    }
    ck_assert_uint_eq(columns_topic_of_doc(c, 5), 0);
    ck_assert_int_eq(columns_error(c, &err), ERR_OK);
    arena_free(arena);
    harness_free(h);
}
END_TEST

START_TEST(rows_are_fixed_by_slots)
{
    struct harness *h = harness_new();
    struct arena *arena = arena_new(1 << 22);
    struct batch *batch = batch_new(arena, harness_space(h), CAUSE_STAGE);
    uint32_t slot = batch_take(batch, STAT_NEXT_FACT, 40);
    struct fact_row rows[40];
    memset(rows, 0, sizeof rows);
    uint32_t op = column_put(batch, COLUMN_FACT, 0, rows, 40);
    batch_fix(batch, op, FIX_ROW, 0, slot, UINT32_MAX); /* id - 1 */
    for (uint32_t i = 0; i < 40; i++)
        batch_fix(batch, op, FIX_VALUE, i * sizeof rows[0], slot, i);
    harness_commit(h, batch);
    struct columns *c = columns_new(harness_begin(h), harness_space(h), arena);
    for (uint32_t i = 0; i < 40; i++) {
        struct fact_row row;
        columns_fact(c, batch->slots.at[slot].value + i, &row);
        ck_assert_uint_eq(row.turn_doc, batch->slots.at[slot].value + i);
    }
    arena_free(arena);
    harness_free(h);
}
END_TEST

START_TEST(missing_memory_is_reported)
{
    struct err err;
    struct harness *h = harness_new();
    struct arena *arena = arena_new(1 << 20);
    arena_fail_after(arena, 1);
    ck_assert_ptr_null(columns_new(harness_begin(h), harness_space(h), arena));
    struct columns *c = columns_new(harness_begin(h), harness_space(h), arena);
    arena_fail_after(arena, 1);
    struct turn_row row = {.n = 3};
    columns_turn(c, 0, &row);
    ck_assert_uint_eq(row.n, 0);
    ck_assert_int_eq(columns_error(c, &err), ERR_EXHAUSTED);
    arena_free(arena);
    harness_free(h);
}
END_TEST

Suite *suite_column(void)
{
    Suite *suite = suite_create("column");
    TCase *tcase = tcase_create("column");
    tcase_add_test(tcase, widths_are_the_rows);
    tcase_add_test(tcase, rows_come_back);
    tcase_add_test(tcase, rows_never_written_are_zero);
    tcase_add_test(tcase, rows_are_fixed_by_slots);
    tcase_add_test(tcase, missing_memory_is_reported);
    suite_add_tcase(suite, tcase);
    return suite;
}
