#include "core/base/err.h"

#include <check.h>
#include <signal.h>
#include <string.h>

START_TEST(the_table_is_whole)
{
    for (int a = 0; a < ERR_CODE_COUNT; a++) {
        enum err_code code = (enum err_code)a;
        ck_assert_uint_gt(strlen(err_slug(code)), 0);
        int status = err_http_status(code);
        ck_assert(code == ERR_OK ? status == 200 : status >= 400 && status < 600);
        for (int b = 0; b < a; b++)
            ck_assert_str_ne(err_slug(code), err_slug((enum err_code)b));
    }
    ck_assert_int_eq(ERR_OK, 0);
    ck_assert_int_eq(err_http_status(ERR_EXHAUSTED), 429);
    ck_assert(err_is_retryable(ERR_UNAVAILABLE) && !err_is_retryable(ERR_INVALID));
}
END_TEST

START_TEST(an_error_is_filled)
{
    struct err err;
    memset(&err, 0xff, sizeof err);
    ck_assert_int_eq(err_set(&err, ERR_NOT_FOUND, "no space %s", "x"), ERR_NOT_FOUND);
    ck_assert_int_eq(err.code, ERR_NOT_FOUND);
    ck_assert_str_eq(err.message, "no space x");
    ck_assert_str_eq(err.param, "");
    ck_assert_uint_eq(err.retry_after_s, 0);
    ck_assert_ptr_nonnull(strstr(err.file, "test_err.c"));
    ck_assert_int_gt(err.line, 0);
    ck_assert_int_eq(err_set_param(&err, ERR_INVALID, "turns[3].text", "too long"), ERR_INVALID);
    ck_assert_str_eq(err.param, "turns[3].text");
    ck_assert_int_eq(err_set(NULL, ERR_INVALID, "nobody listens"), ERR_INVALID);
}
END_TEST

START_TEST(an_error_may_quote_itself)
{
    struct err err;
    (void)err_set_param(&err, ERR_INVALID, "q", "inner");
    (void)err_set_param(&err, ERR_INTERNAL, err.param, "outer: %s", err.message);
    ck_assert_str_eq(err.message, "outer: inner");
    ck_assert_str_eq(err.param, "q");
}
END_TEST

START_TEST(context_and_long_texts)
{
    struct err err;
    char text[1000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    (void)err_set(&err, ERR_INTERNAL, "cause");
    err_context(&err, "opening %s", "a file");
    ck_assert_str_eq(err.message, "opening a file: cause");
    (void)err_set_param(&err, ERR_INTERNAL, text, "%s", text);
    ck_assert_uint_eq(strlen(err.message), sizeof err.message - 1);
    ck_assert_uint_eq(strlen(err.param), sizeof err.param - 1);
    err_context(&err, "before");
    ck_assert_uint_lt(strlen(err.message), sizeof err.message);
    ck_assert_int_eq(strncmp(err.message, "before: xxx", 11), 0);
    err_context(&err, "%s", text); /* too long to say anything more */
    ck_assert_int_eq(strncmp(err.message, "before: xxx", 11), 0);
    err_context(NULL, "x");
}
END_TEST

/* However the end falls, the last character is whole. */
START_TEST(a_long_quotation_ends_with_a_whole_character)
{
    static const char *const characters[] = {"x", "\u00e9", "\u5c71", "\U0001f3d4"};
    for (unsigned k = 0; k < sizeof characters / sizeof characters[0]; k++) {
        char text[1001] = "";
        size_t size = strlen(characters[k]);
        for (size_t at = 0; at + size < sizeof text; at += size)
            memcpy(text + at, characters[k], size + 1);
        for (size_t shift = 0; shift < 4; shift++) {
            struct err err;
            (void)err_set_param(&err, ERR_INVALID, text, "%.*s%s", (int)shift, "....", text);
            size_t len = strlen(err.message), param = strlen(err.param);
            ck_assert_uint_eq((len - shift) % size, 0);
            ck_assert_uint_gt(len + size, sizeof err.message - 1);
            ck_assert_uint_eq(param % size, 0);
            ck_assert_uint_gt(param + size, sizeof err.param - 1);
            err_context(&err, "%.*s", (int)shift, "....");
            ck_assert_uint_eq((strlen(err.message) - 2 * shift - 2) % size, 0);
        }
    }
}
END_TEST

START_TEST(a_broken_assert_aborts)
{
    ASSERT(1 + 1 == 3);
}
END_TEST

Suite *suite_err(void)
{
    Suite *suite = suite_create("err");
    TCase *tc = tcase_create("err");
    tcase_add_test(tc, the_table_is_whole);
    tcase_add_test(tc, an_error_is_filled);
    tcase_add_test(tc, an_error_may_quote_itself);
    tcase_add_test(tc, context_and_long_texts);
    tcase_add_test(tc, a_long_quotation_ends_with_a_whole_character);
    tcase_add_test_raise_signal(tc, a_broken_assert_aborts, SIGABRT);
    suite_add_tcase(suite, tc);
    return suite;
}
