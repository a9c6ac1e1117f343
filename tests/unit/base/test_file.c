#include "core/base/file.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/hmtest-XXXXXX";
static char path[64];
static struct buf out;
static struct err err;

static void setup(void)
{
    ck_assert_ptr_nonnull(mkdtemp(dir));
    (void)snprintf(path, sizeof path, "%s/file", dir);
    buf_init(&out, NULL, 8);
}

static void teardown(void)
{
    buf_fini(&out);
    (void)unlink(path);
    ck_assert_int_eq(rmdir(dir), 0);
}

static void write_file(const char *bytes)
{
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert(fputs(bytes, file) >= 0);
    ck_assert_int_eq(fclose(file), 0);
}

static void expect_refused(enum err_code code)
{
    ck_assert_int_eq(file_read(path, &out, &err), code);
    ck_assert_int_eq(err.code, code);
    ck_assert_msg(strstr(err.message, path) != NULL, "%s", err.message);
}

START_TEST(bytes)
{
    write_file("12345678");
    ck_assert_int_eq(file_read(path, &out, &err), ERR_OK);
    ck_assert(str_eq(buf_str(&out), STR("12345678")));
}
END_TEST

START_TEST(behind_what_is_there)
{
    write_file("5678");
    buf_str_put(&out, STR("1234"));
    ck_assert_int_eq(file_read(path, &out, &err), ERR_OK);
    ck_assert(str_eq(buf_str(&out), STR("12345678")));
    expect_refused(ERR_INVALID);
}
END_TEST

START_TEST(empty)
{
    write_file("");
    ck_assert_int_eq(file_read(path, &out, &err), ERR_OK);
    ck_assert_uint_eq(out.len, 0);
}
END_TEST

START_TEST(too_large)
{
    write_file("123456789");
    expect_refused(ERR_INVALID);
    ck_assert_uint_eq(out.len, 0);
}
END_TEST

START_TEST(missing)
{
    expect_refused(ERR_NOT_FOUND);
}
END_TEST

START_TEST(no_file)
{
    ck_assert_int_eq(file_read(dir, &out, &err), ERR_INVALID);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    expect_refused(ERR_INVALID); /* and nobody waits for a writer */
}
END_TEST

START_TEST(no_memory)
{
    struct arena *arena = arena_new(4);
    struct buf small;
    ck_assert_ptr_nonnull(arena);
    write_file("12345678");
    buf_init(&small, arena, 100);
    ck_assert_int_eq(file_read(path, &small, &err), ERR_EXHAUSTED);
    arena_free(arena);
}
END_TEST

Suite *suite_file(void)
{
    Suite *suite = suite_create("file");
    TCase *tc = tcase_create("file");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, bytes);
    tcase_add_test(tc, behind_what_is_there);
    tcase_add_test(tc, empty);
    tcase_add_test(tc, too_large);
    tcase_add_test(tc, missing);
    tcase_add_test(tc, no_file);
    tcase_add_test(tc, no_memory);
    suite_add_tcase(suite, tc);
    return suite;
}
