#include "core/base/arena.h"

#include <check.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>

START_TEST(blocks_are_aligned_and_apart)
{
    struct arena *arena = arena_new(1 << 20);
    uint8_t *blocks[200];
    size_t sizes[200];
    for (size_t i = 0; i < 200; i++) {
        sizes[i] = i * 7 % 300;
        blocks[i] = arena_alloc(arena, sizes[i]);
        ck_assert_ptr_nonnull(blocks[i]);
        ck_assert_uint_eq((uintptr_t)blocks[i] % 16, 0); /* I2 */
        memset(blocks[i], (int)i, sizes[i]);
        arena_check(arena);
    }
    for (size_t i = 0; i < 200; i++)
        for (size_t k = 0; k < sizes[i]; k++)
            ck_assert_uint_eq(blocks[i][k], (uint8_t)i);
    arena_free(arena);
}
END_TEST

START_TEST(empty_blocks_are_unique)
{
    struct arena *arena = arena_new(1024);
    void *a = arena_alloc(arena, 0), *b = arena_alloc(arena, 0);
    ck_assert_ptr_nonnull(a);
    ck_assert_ptr_ne(a, b);
    arena_free(arena);
    arena_free(NULL);
}
END_TEST

START_TEST(the_cap_holds)
{
    volatile size_t huge = SIZE_MAX; /* or the compiler sees that it cannot succeed */
    struct arena *arena = arena_new(1000);
    ck_assert_ptr_nonnull(arena_alloc(arena, 500));
    ck_assert_ptr_null(arena_alloc(arena, 600));
    ck_assert_ptr_nonnull(arena_alloc(arena, 400)); /* a refusal takes nothing */
    ck_assert_uint_le(arena_used(arena), 1000);
    ck_assert_ptr_null(arena_alloc(arena, 1000));
    ck_assert_ptr_null(arena_alloc(arena, huge));
    ck_assert_ptr_null(arena_alloc(arena, huge - 8));
    arena_check(arena);
    arena_free(arena);
    arena = arena_new(0);
    ck_assert_ptr_null(arena_alloc(arena, 0));
    arena_free(arena);
}
END_TEST

START_TEST(zeroed_arrays)
{
    volatile size_t huge = SIZE_MAX / 2;
    struct arena *arena = arena_new(8 << 20);
    for (int round = 0; round < 2; round++) {
        uint8_t *dirty = arena_alloc(arena, 4000);
        memset(dirty, 0xff, 4000);
        arena_reset(arena);
        uint8_t *small = arena_zalloc(arena, 100, 30), *big = arena_zalloc(arena, 1000, 300);
        size_t sum = 0;
        for (size_t i = 0; i < 3000; i++)
            sum += small[i];
        for (size_t i = 0; i < 300000; i++)
            sum += big[i];
        ck_assert_uint_eq(sum, 0);
        ck_assert_uint_eq((uintptr_t)big % 16, 0);
    }
    ck_assert_ptr_null(arena_zalloc(arena, huge, 3)); /* the product overflows */
    arena_check(arena);
    arena_free(arena);
}
END_TEST

START_TEST(copies)
{
    struct arena *arena = arena_new(100);
    char *copy = arena_copy(arena, "hello", 6);
    ck_assert_str_eq(copy, "hello");
    ck_assert_ptr_nonnull(arena_copy(arena, NULL, 0));
    ck_assert_ptr_null(arena_copy(arena, "x", 1000));
    arena_free(arena);
}
END_TEST

START_TEST(blocks_grow)
{
    struct arena *arena = arena_new(64 * 1024);
    char *at = arena_alloc(arena, 100);
    memset(at, 'a', 100);
    for (size_t size = 100; size < 1000; size += 50) {
        at = arena_grow(arena, at, size, size + 50);
        ck_assert_ptr_nonnull(at);
        memset(at + size, 'a', 50);
        arena_check(arena);
    }
    char *behind = arena_alloc(arena, 16);
    memset(behind, 'b', 16);
    char *moved = arena_grow(arena, at, 1000, 1001);
    ck_assert_ptr_nonnull(moved);
    ck_assert_ptr_ne(moved, at); /* something was taken after it */
    moved[1000] = 'c';
    for (size_t i = 0; i < 1000; i++)
        ck_assert(at[i] == 'a' && moved[i] == 'a');
    for (size_t i = 0; i < 16; i++)
        ck_assert_int_eq(behind[i], 'b');
    ck_assert_ptr_null(arena_grow(arena, moved, 1001, 64 * 1024)); /* the cap */
    ck_assert_int_eq(moved[1000], 'c');
    ck_assert_ptr_nonnull(arena_grow(arena, NULL, 0, 10));
    arena_fail_after(arena, 1);
    ck_assert_ptr_null(arena_grow(arena, moved, 1001, 1100));
    arena_check(arena);
    arena_free(arena);
}
END_TEST

START_TEST(reset_takes_all_back)
{
    struct arena *arena = arena_new(1 << 20);
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < 100; i++)
            ck_assert_ptr_nonnull(arena_alloc(arena, 5000));
        ck_assert_ptr_nonnull(arena_alloc(arena, 300000));
        arena_check(arena);
        arena_reset(arena);
        ck_assert_uint_eq(arena_used(arena), 0);
        arena_check(arena);
    }
    arena_reset(arena);
    arena_free(arena);
}
END_TEST

START_TEST(the_nth_allocation_fails)
{
    struct arena *arena = arena_new(1 << 20);
    arena_fail_after(arena, 3);
    ck_assert_ptr_nonnull(arena_alloc(arena, 1));
    ck_assert_ptr_nonnull(arena_zalloc(arena, 1, 1));
    ck_assert_ptr_null(arena_copy(arena, "x", 1));
    ck_assert_ptr_nonnull(arena_alloc(arena, 1)); /* once */
    arena_fail_after(arena, 1);
    ck_assert_ptr_null(arena_alloc(arena, 1));
    arena_free(arena);
}
END_TEST

Suite *suite_arena(void)
{
    Suite *suite = suite_create("arena");
    TCase *tc = tcase_create("arena");
    tcase_add_test(tc, blocks_are_aligned_and_apart);
    tcase_add_test(tc, empty_blocks_are_unique);
    tcase_add_test(tc, the_cap_holds);
    tcase_add_test(tc, zeroed_arrays);
    tcase_add_test(tc, copies);
    tcase_add_test(tc, blocks_grow);
    tcase_add_test(tc, reset_takes_all_back);
    tcase_add_test(tc, the_nth_allocation_fails);
    suite_add_tcase(suite, tc);
    return suite;
}
