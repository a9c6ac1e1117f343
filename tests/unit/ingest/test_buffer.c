#include "core/base/limits.h"
#include "core/ingest/boundary.h"
#include "tests/unit/ingest/kit.h"

static struct kit kit;

static void setup(void)
{
    kit_init(&kit);
    kit_say(&kit, (struct turn_input){.text = STR("hello")});
}

static void teardown(void)
{
    kit_fini(&kit);
}

static struct buffer sample(void)
{
    return (struct buffer){.session_no = 7,
                           .first_n = 10,
                           .last_n = 15,
                           .first_doc = 9,
                           .last_doc = 20,
                           .turns = 4,
                           .tokens = 123,
                           .start_ms = -5,
                           .end_ms = 900,
                           .last_ms = 800,
                           .arrival_ms = 1000,
                           .state = STR("s\0t")};
}

START_TEST(tokens_are_a_quarter_of_the_characters)
{
    ck_assert_uint_eq(buffer_tokens(STR("")), 0);
    ck_assert_uint_eq(buffer_tokens(STR_NONE), 0);
    ck_assert_uint_eq(buffer_tokens(STR("a")), 1);
    ck_assert_uint_eq(buffer_tokens(STR("abcd")), 1);
    ck_assert_uint_eq(buffer_tokens(STR("abcde")), 2);
    /* Four characters of three bytes each. */
    ck_assert_uint_eq(buffer_tokens(STR("\xe4\xb8\xad\xe6\x96\x87\xe4\xb8\xad\xe6\x96\x87")), 1);
    ck_assert_uint_eq(buffer_tokens(kit_text(&kit, 'a', LIMIT_TURN_TEXT_BYTES)),
                      LIMIT_TURN_TEXT_BYTES / 4);
}
END_TEST

START_TEST(a_row_is_put_got_and_deleted)
{
    struct buffer b = sample();
    struct buffer back;
    struct err err;
    struct batch *batch = batch_of(&kit.f, kit.space);
    buffer_put(batch, &b);
    ck_assert_int_eq(apply(&kit.f, batch), ERR_OK);
    struct store_txn *txn = begin(&kit.f);
    ck_assert_int_eq(buffer_get(txn, kit.space, 7, &back, &err), ERR_OK);
    ck_assert(back.session_no == 7 && back.first_n == 10 && back.last_n == 15);
    ck_assert(back.first_doc == 9 && back.last_doc == 20 && back.turns == 4);
    ck_assert(back.tokens == 123 && back.start_ms == -5 && back.end_ms == 900);
    ck_assert(back.last_ms == 800 && back.arrival_ms == 1000);
    ck_assert(str_eq(back.state, b.state));
    ck_assert_int_eq(buffer_get(txn, kit.space, 8, &back, &err), ERR_OK);
    ck_assert_uint_eq(back.session_no, 0);
    store_end(txn);
    batch = batch_of(&kit.f, kit.space);
    b.turns = 0;
    buffer_put(batch, &b);
    ck_assert_int_eq(apply(&kit.f, batch), ERR_OK);
    ck_assert_uint_eq(count_rows(&kit.f, kit.space, KIND_BUFFER), 0);
}
END_TEST

START_TEST(damage_is_reported)
{
    struct buffer b = sample();
    struct buffer back;
    struct err err;
    struct buf row;
    buf_init(&row, kit_arena(&kit), 1 << 20);
    buffer_encode(&b, &row);
    ck_assert_int_eq(buffer_decode(buf_str(&row), 7, &back, &err), ERR_OK);
    for (size_t len = 0; len < row.len; len++)
        ck_assert_int_eq(buffer_decode((struct str){row.at, len}, 7, &back, &err), ERR_INTERNAL);
    static const struct {
        size_t at;
        uint32_t value;
    } wrong[] = {{1, 16}, {1, 0}, {5, 9}, {9, 21}, {17, 0}, {17, 7}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        uint32_t was = le32_get(row.at + wrong[i].at);
        le32_set(row.at + wrong[i].at, wrong[i].value);
        ck_assert_int_eq(buffer_decode(buf_str(&row), 7, &back, &err), ERR_INTERNAL);
        le32_set(row.at + wrong[i].at, was);
    }
    row.at[0] = 3;
    ck_assert_int_eq(buffer_decode(buf_str(&row), 7, &back, &err), ERR_INTERNAL);
    /* More state than a run may leave. */
    buf_clear(&row);
    b.state = STR("");
    buffer_encode(&b, &row);
    row.len--;
    buf_lstr(&row, kit_text(&kit, 'x', BUFFER_STATE_MAX + 1));
    ck_assert_int_eq(buffer_decode(buf_str(&row), 7, &back, &err), ERR_INTERNAL);
}
END_TEST

START_TEST(memory_runs_out)
{
    struct buffer b = sample();
    for (unsigned long n = 1; n < 20; n++) {
        struct arena *arena = arena_new(1 << 20);
        struct batch *batch = batch_new(arena, kit.space, CAUSE_STAGE);
        arena_fail_after(arena, n);
        buffer_put(batch, &b);
        ck_assert_int_eq(batch_ok(batch), n > 4);
        arena_free(arena);
    }
}
END_TEST

Suite *suite_buffer(void)
{
    Suite *suite = suite_create("buffer");
    TCase *tc = tcase_create("buffer");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, tokens_are_a_quarter_of_the_characters);
    tcase_add_test(tc, a_row_is_put_got_and_deleted);
    tcase_add_test(tc, damage_is_reported);
    tcase_add_test(tc, memory_runs_out);
    suite_add_tcase(suite, tc);
    return suite;
}
