#include "core/base/log.h"

#include <check.h>
#include <unistd.h>

enum { LINE = 8192 };

/* A logger into a pipe; what was written is read back by read_lines(). */
struct pipe_log {
    struct log log;
    int read_fd;
};

static struct pipe_log open_log(bool json, enum log_level level)
{
    int fds[2];
    ck_assert_int_eq(pipe(fds), 0);
    struct pipe_log p = {.read_fd = fds[0]};
    p.log = (struct log){
        .fd = fds[1], .level = level, .json = json, .clock = clock_manual(INT64_C(1683554160000))};
    return p;
}

static void check_lines(struct pipe_log *p, const char *expected)
{
    char text[LINE];
    (void)close(p->log.fd);
    ssize_t n = read(p->read_fd, text, sizeof text - 1);
    (void)close(p->read_fd);
    ck_assert_int_ge(n, 0);
    text[n] = '\0';
    ck_assert_str_eq(text, expected);
}

START_TEST(logfmt)
{
    struct pipe_log p = open_log(false, LOG_INFO);
    LOG(&p.log, LOG_INFO, "listening", F_CSTR("address", "127.0.0.1"), F_INT("port", 7070),
        F_FLOAT("ratio", 0.5));
    LOG(&p.log, LOG_WARN, "odd", F_CSTR("text", "a b=\"c\"\n\\"), F_CSTR("empty", ""),
        F_STR("none", STR_NONE));
    LOG(&p.log, LOG_DEBUG, "hidden", F_INT("x", 1));
    check_lines(&p, "time=2023-05-08T13:56:00Z level=info event=listening address=127.0.0.1 "
                    "port=7070 ratio=0.5\n"
                    "time=2023-05-08T13:56:00Z level=warn event=odd "
                    "text=\"a b=\\\"c\\\"\\u000a\\\\\" empty=\"\" none=\"\"\n");
}
END_TEST

START_TEST(json_lines)
{
    struct pipe_log p = open_log(true, LOG_DEBUG);
    LOG(&p.log, LOG_DEBUG, "it", F_CSTR("text", "q\"\t\x7f"), F_INT("n", -3), F_FLOAT("f", 1.25),
        F_CSTR("utf8", "é"));
    check_lines(&p, "{\"time\":\"2023-05-08T13:56:00Z\",\"level\":\"debug\",\"event\":\"it\","
                    "\"text\":\"q\\\"\\u0009\\u007f\",\"n\":-3,\"f\":1.25,\"utf8\":\"é\"}\n");
}
END_TEST

START_TEST(errors_have_their_place)
{
    struct pipe_log p = open_log(false, LOG_ERROR);
    struct err err;
    (void)err_set_param(&err, ERR_INVALID, "q", "blank text");
    err.line = 12;
    log_err(&p.log, LOG_ERROR, "refused", &err);
    log_err(&p.log, LOG_WARN, "refused", &err);
    check_lines(&p, "time=2023-05-08T13:56:00Z level=error event=refused code=invalid_argument "
                    "message=\"blank text\" param=q file=test_log.c line=12\n");
}
END_TEST

START_TEST(long_lines_are_cut_and_end)
{
    struct pipe_log p = open_log(false, LOG_INFO);
    char text[LINE], got[LINE];
    memset(text, 'x', sizeof text);
    LOG(&p.log, LOG_INFO, "long", F_STR("text", ((struct str){text, sizeof text})));
    (void)close(p.log.fd);
    ssize_t n = read(p.read_fd, got, sizeof got);
    (void)close(p.read_fd);
    ck_assert_int_eq(n, 4096);
    ck_assert_int_eq(got[4095], '\n');
    ck_assert_ptr_null(memchr(got, '\n', 4095));
}
END_TEST

START_TEST(no_logger_and_no_reader)
{
    LOG((const struct log *)NULL, LOG_ERROR, "nobody", F_INT("x", 1));
    struct log closed = {.fd = -1, .level = LOG_INFO, .clock = clock_system()};
    LOG(&closed, LOG_INFO, "lost", F_INT("x", 1));
}
END_TEST

START_TEST(level_names)
{
    enum log_level level;
    ck_assert(log_level_parse(STR("error"), &level) && level == LOG_ERROR);
    ck_assert(log_level_parse(STR("debug"), &level) && level == LOG_DEBUG);
    ck_assert(!log_level_parse(STR("loud"), &level) && !log_level_parse(STR(""), &level));
}
END_TEST

START_TEST(clocks)
{
    struct clock c = clock_system();
    int64_t mono = clock_mono_ns(&c);
    ck_assert(clock_now_ms(&c) > INT64_C(1600000000000));
    ck_assert(clock_mono_ns(&c) >= mono);
    c = clock_manual(5000);
    ck_assert_int_eq(clock_now_ms(&c), 5000);
    ck_assert_int_eq(clock_mono_ms(&c), 5000);
    c.fixed_ms = 6000;
    ck_assert_int_eq(clock_now_ms(&c), 6000);
    ck_assert(clock_mono_ns(&c) == INT64_C(6000000000));
}
END_TEST

Suite *suite_log(void)
{
    Suite *suite = suite_create("log");
    TCase *tc = tcase_create("log");
    tcase_add_test(tc, logfmt);
    tcase_add_test(tc, json_lines);
    tcase_add_test(tc, errors_have_their_place);
    tcase_add_test(tc, long_lines_are_cut_and_end);
    tcase_add_test(tc, no_logger_and_no_reader);
    tcase_add_test(tc, level_names);
    tcase_add_test(tc, clocks);
    suite_add_tcase(suite, tc);
    return suite;
}
