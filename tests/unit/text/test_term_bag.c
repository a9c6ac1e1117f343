#include <check.h>

#include "core/base/hash.h"
#include "core/text/token.h"
#include "tests/unit/text/terms.h"

static struct term_bag bag(struct arena *arena, const char *text, uint32_t weight)
{
    struct tokenizer *tokenizer;
    struct token_list list;
    struct term_bag out;
    ck_assert_int_eq(tokenizer_new(STR("en"), &tokenizer, NULL), ERR_OK);
    ck_assert_int_eq(tokenizer_run(tokenizer, arena, str_of(text), TOKEN_INDEX, &list, NULL),
                     ERR_OK);
    ck_assert_int_eq(term_bag_of(arena, &list, weight, &out, NULL), ERR_OK);
    tokenizer_free(tokenizer);
    return out;
}

static uint32_t count_of(const struct term_bag *b, const char *term)
{
    for (size_t i = 0; i < b->n; i++)
        if (b->at[i].term == (hash64(str_of(term)) & TERM_MASK))
            return b->at[i].count;
    return 0;
}

static void check_bag(const struct term_bag *b)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < b->n; i++) {
        sum += b->at[i].count;
        ck_assert(i == 0 || b->at[i - 1].term < b->at[i].term);
        ck_assert(b->at[i].term == (hash64(b->at[i].text) & TERM_MASK));
    }
    ck_assert_uint_eq(sum, b->length);
}

START_TEST(terms_are_counted)
{
    struct arena *arena = arena_new(TERMS_ARENA);
    struct term_bag b = bag(arena, "the dog and the dogs saw 15km of cats", 1);
    check_bag(&b);
    ck_assert_uint_eq(count_of(&b, "dog"), 2);
    ck_assert_uint_eq(count_of(&b, "cat"), 1);
    ck_assert_uint_eq(count_of(&b, "15km"), 1);
    ck_assert_uint_eq(count_of(&b, "15"), 1);
    ck_assert_uint_eq(count_of(&b, "the"), 0);
    ck_assert_uint_eq(b.length, 7);
    arena_free(arena);
}
END_TEST

START_TEST(weights_multiply)
{
    struct arena *arena = arena_new(TERMS_ARENA);
    struct term_bag b = bag(arena, "dog dog cat", 2);
    check_bag(&b);
    ck_assert_uint_eq(count_of(&b, "dog"), 4);
    ck_assert_uint_eq(b.length, 6);
    b = bag(arena, "dog dog", UINT32_MAX); /* saturates */
    ck_assert_uint_eq(count_of(&b, "dog"), UINT32_MAX);
    b = bag(arena, "dog", 0);
    ck_assert_uint_eq(b.n, 0);
    b = bag(arena, "the of", 1);
    ck_assert_uint_eq(b.n + b.length, 0);
    b = bag(arena, "", 1);
    ck_assert_uint_eq(b.n + b.length, 0);
    arena_free(arena);
}
END_TEST

START_TEST(bags_are_added)
{
    struct arena *arena = arena_new(TERMS_ARENA);
    struct term_bag a = bag(arena, "dog cat horse", 1), b = bag(arena, "cat mouse cat", 1), sum;
    struct term_bag none = {NULL, 0, 0};
    ck_assert_int_eq(term_bag_add(arena, &a, &b, &sum, NULL), ERR_OK);
    check_bag(&sum);
    ck_assert_uint_eq(sum.n, 4);
    ck_assert_uint_eq(sum.length, 6);
    ck_assert_uint_eq(count_of(&sum, "cat"), 3);
    ck_assert_int_eq(term_bag_add(arena, &none, &b, &sum, NULL), ERR_OK);
    check_bag(&sum);
    ck_assert_uint_eq(sum.n, b.n);
    ck_assert_int_eq(term_bag_add(arena, &none, &none, &sum, NULL), ERR_OK);
    ck_assert_uint_eq(sum.n + sum.length, 0);
    arena_free(arena);
}
END_TEST

START_TEST(missing_memory_is_reported)
{
    struct arena *arena = arena_new(TERMS_ARENA);
    struct term_bag a = bag(arena, "dog cat", 1), sum;
    struct err err;
    struct token token = {.term = 1, .text = STR("x")};
    struct token_list list = {&token, 1};
    arena_fail_after(arena, 1);
    ck_assert_int_eq(term_bag_of(arena, &list, 1, &sum, &err), ERR_EXHAUSTED);
    arena_fail_after(arena, 1);
    ck_assert_int_eq(term_bag_add(arena, &a, &a, &sum, &err), ERR_EXHAUSTED);
    arena_free(arena);
}
END_TEST

Suite *suite_term_bag(void)
{
    Suite *suite = suite_create("term_bag");
    TCase *tc = tcase_create("term_bag");
    tcase_add_test(tc, terms_are_counted);
    tcase_add_test(tc, weights_multiply);
    tcase_add_test(tc, bags_are_added);
    tcase_add_test(tc, missing_memory_is_reported);
    suite_add_tcase(suite, tc);
    return suite;
}
