#include <check.h>

#include "core/index/lengths_int.h"
#include "tests/unit/index/harness.h"

START_TEST(small_lengths_are_exact)
{
    for (uint32_t length = 1; length < 64; length++) {
        ck_assert_uint_eq(length_encode(length), length);
        ck_assert_uint_eq(length_quantise(length), length);
    }
    ck_assert_uint_eq(length_encode(0), 1); /* a living document is never 0 */
    ck_assert_uint_eq(length_decode(0), 0);
}
END_TEST

START_TEST(codes_follow_the_formula)
{
    for (uint32_t code = 64; code < 256; code++) {
        uint32_t e = (code - 64) / 16;
        uint32_t m = (code - 64) % 16;
        ck_assert_uint_eq(length_decode((uint8_t)code), (16 + m) << (e + 2));
        ck_assert_uint_eq(length_encode(length_decode((uint8_t)code)), code);
        ck_assert_uint_gt(length_decode((uint8_t)code), length_decode((uint8_t)(code - 1)));
    }
}
END_TEST

START_TEST(quantising_is_monotone_and_close)
{
    uint32_t before = 0;
    for (uint32_t length = 1; length < 250000; length++) {
        uint32_t stored = length_quantise(length);
        bool ok = stored >= before && stored <= length && length - stored <= length / 16 &&
                  length_quantise(stored) == stored;
        if (!ok) /* an assertion a turn would take seconds */
            ck_abort_msg("%u became %u after %u", length, stored, before);
        before = stored;
    }
    ck_assert_uint_eq(length_encode(UINT32_MAX), 255);
    ck_assert_uint_eq(length_encode(length_decode(255) + 1), 255);
}
END_TEST

static void put_lengths(struct harness *h, uint32_t first, const char *codes, uint32_t n)
{
    struct arena *arena = arena_new(1 << 20);
    struct batch *batch = batch_new(arena, harness_space(h), CAUSE_KEEP);
    char layer = LAYER_FACT;
    (void)batch_rows(batch, KIND_LENGTH, (struct str){&layer, 1}, LENGTH_BLOCK, 1, first,
                     (struct str){codes, n});
    harness_commit(h, batch);
    arena_free(arena);
}

START_TEST(reader_crosses_blocks)
{
    struct err err;
    struct harness *h = harness_new();
    struct arena *arena = arena_new(1 << 24);
    put_lengths(h, LENGTH_BLOCK - 2, "\x01\x02\x40\xff", 4);
    put_lengths(h, 200 * LENGTH_BLOCK, "\x07", 1);
    struct lengths *lengths = lengths_new(harness_begin(h), harness_space(h), arena);
    ck_assert_uint_eq(lengths_get(lengths, LAYER_FACT, LENGTH_BLOCK - 2), 1);
    ck_assert_uint_eq(lengths_get(lengths, LAYER_FACT, 200 * LENGTH_BLOCK), 7);
    ck_assert_uint_eq(lengths_get(lengths, LAYER_FACT, LENGTH_BLOCK - 1), 2);
    ck_assert_uint_eq(lengths_get(lengths, LAYER_FACT, LENGTH_BLOCK), 64);
    ck_assert_uint_eq(lengths_get(lengths, LAYER_FACT, LENGTH_BLOCK + 1), 31U << 13);
    ck_assert_uint_eq(lengths_get(lengths, LAYER_FACT, 0), 0);
    ck_assert_uint_eq(lengths_get(lengths, LAYER_FACT, LENGTH_BLOCK + 2), 0); /* past the value */
    ck_assert_uint_eq(lengths_get(lengths, LAYER_FACT, 77 * LENGTH_BLOCK), 0);
    ck_assert_uint_eq(lengths_get(lengths, LAYER_TURN, LENGTH_BLOCK), 0);
    ck_assert_int_eq(lengths_error(lengths, &err), ERR_OK);
    arena_free(arena);
    harness_free(h);
}
END_TEST

START_TEST(reader_reports_missing_memory)
{
    struct err err = {0};
    struct harness *h = harness_new();
    struct arena *arena = arena_new(1 << 20);
    put_lengths(h, 0, "\x05", 1);
    arena_fail_after(arena, 1);
    ck_assert_ptr_null(lengths_new(harness_begin(h), harness_space(h), arena));
    struct lengths *lengths = lengths_new(harness_begin(h), harness_space(h), arena);
    arena_fail_after(arena, 1);
    ck_assert_uint_eq(lengths_get(lengths, LAYER_FACT, 0), 0);
    ck_assert_uint_eq(lengths_get(lengths, LAYER_FACT, 0), 0); /* the error stays */
    ck_assert_int_eq(lengths_error(lengths, &err), ERR_EXHAUSTED);
    ck_assert_int_eq(err.code, ERR_EXHAUSTED);
    arena_free(arena);
    harness_free(h);
}
END_TEST

/* A damaged posting may name any document: the directory must not take the machine's memory. */
START_TEST(reader_survives_the_last_document)
{
    struct err err;
    struct harness *h = harness_new();
    struct arena *arena = arena_new(1 << 20);
    struct lengths *lengths = lengths_new(harness_begin(h), harness_space(h), arena);
    ck_assert_uint_eq(lengths_get(lengths, LAYER_TOPIC, UINT32_MAX), 0);
    ck_assert_int_eq(lengths_error(lengths, &err), ERR_EXHAUSTED);
    arena_free(arena);
    harness_free(h);
}
END_TEST

Suite *suite_lengths(void)
{
    Suite *suite = suite_create("lengths");
    TCase *tcase = tcase_create("lengths");
    tcase_add_test(tcase, small_lengths_are_exact);
    tcase_add_test(tcase, codes_follow_the_formula);
    tcase_add_test(tcase, quantising_is_monotone_and_close);
    tcase_add_test(tcase, reader_crosses_blocks);
    tcase_add_test(tcase, reader_reports_missing_memory);
    tcase_add_test(tcase, reader_survives_the_last_document);
    suite_add_tcase(suite, tcase);
    return suite;
}
