/* Calls whose provider is busy, down or out of quota: waiting, breaker, pause, deadline. */
#include <check.h>
#include <stdio.h>
#include <unistd.h>

#include "core/model/retry.h"
#include "tests/unit/core/model/chat_kit.h"

#define OPEN(c, ...)                                                                               \
    static const struct script_reply script_[] = {__VA_ARGS__};                                    \
    chat_open(&(c), script_, sizeof script_ / sizeof script_[0])
#define FINE SAYS("{\\\"n\\\":3}")
#define DOWN                                                                                       \
    {                                                                                              \
        .status = 0                                                                                \
    }

static void add(struct chat_case *c, struct script_reply reply, unsigned times)
{
    for (unsigned i = 0; i < times; i++)
        script_add(&c->script, &reply, 1);
}

static void pass(struct chat_case *c, int64_t ms)
{
    c->script.clock.fixed_ms += ms;
}

START_TEST(busy_is_waited_for)
{
    static const struct script_reply busy[] = {
        {.status = 408, .body = ""},
        {.status = 429, .body = ""},
        {.status = 424, .body = ""},
        {.status = 500, .body = ""},
        {.status = 503, .body = ""},
        {.status = 529, .body = "{\"type\":\"overloaded\"}"},
        {.status = 400, .body = "{\"error\":{\"code\":\"json_validate_failed\"}}"},
        {.status = 0},
        {.status = 0, .code = ERR_DEADLINE}};
    for (size_t i = 0; i < sizeof busy / sizeof busy[0]; i++) {
        struct chat_case c;
        chat_open(&c, &busy[i], 1);
        add(&c, busy[i], 1);
        add(&c, (struct script_reply)FINE, 1);
        chat_ask_object(&c);
        chat_expect(&c, MODEL_FAILURE_NONE, 3);
        ck_assert_uint_eq(c.script.n_waited, 2);
        ck_assert_int_le(c.script.waited_ms[0], RETRY_BASE_MS);
        ck_assert_int_le(c.script.waited_ms[1], 2 * RETRY_BASE_MS);
        chat_close(&c);
    }
}
END_TEST

START_TEST(attempts_end)
{
    static const struct {
        struct script_reply reply;
        enum model_failure failure;
        enum err_code code;
    } cases[] = {{{.status = 429, .body = ""}, MODEL_FAILURE_RATE, ERR_UNAVAILABLE},
                 {{.status = 500, .body = ""}, MODEL_FAILURE_SERVER, ERR_UPSTREAM},
                 {{.status = 0}, MODEL_FAILURE_CONNECT, ERR_UNAVAILABLE},
                 {{.status = 200, .body = "{}"}, MODEL_FAILURE_SERVER, ERR_UPSTREAM},
                 {{.status = 200, .body = "{\"choices\":[]}"}, MODEL_FAILURE_REPLY, ERR_UPSTREAM}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct chat_case c;
        chat_open(&c, &cases[i].reply, 1);
        add(&c, cases[i].reply, 2);
        chat_ask_object(&c);
        chat_expect(&c, cases[i].failure, 3);
        ck_assert_int_eq(c.call.outcome, cases[i].code);
        ck_assert_uint_eq(c.script.n_waited, 2);
        chat_close(&c);
    }
}
END_TEST

START_TEST(not_worth_another_try)
{
    static const struct {
        int status;
        const char *body;
        enum model_failure failure;
    } cases[] = {
        {401, "{\"error\":{\"message\":\"Incorrect API key provided\"}}", MODEL_FAILURE_AUTH},
        {403, "forbidden", MODEL_FAILURE_AUTH},
        {404, "{\"error\":{\"message\":\"The model `small` does not exist\"}}",
         MODEL_FAILURE_REQUEST},
        {409, "", MODEL_FAILURE_REQUEST},
        {301, "", MODEL_FAILURE_REQUEST},
        {501, "{\"error\":{\"message\":\"This server does not support chat\"}}",
         MODEL_FAILURE_REQUEST},
        {402, "", MODEL_FAILURE_QUOTA},
        {400, "{\"error\":{\"message\":\"Your credit balance is too low\"}}", MODEL_FAILURE_QUOTA},
        {429, "{\"error\":{\"code\":\"insufficient_quota\",\"message\":\"You exceeded it\"}}",
         MODEL_FAILURE_QUOTA},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct chat_case c;
        struct script_reply reply = {.status = cases[i].status, .body = cases[i].body};
        chat_open(&c, &reply, 1);
        chat_ask_object(&c);
        chat_expect(&c, cases[i].failure, 1);
        char status[16];
        (void)snprintf(status, sizeof status, "status %d", cases[i].status);
        ck_assert_ptr_nonnull(strstr(c.call.err.message, status));
        chat_close(&c);
    }
}
END_TEST

START_TEST(retry_after_is_kept)
{
    struct chat_case c;
    OPEN(c, {.status = 429, .body = "", .retry_after_ms = 9000},
         {.status = 503, .body = "", .retry_after_ms = 4000}, FINE);
    chat_ask_object(&c);
    chat_expect(&c, MODEL_FAILURE_NONE, 3);
    ck_assert_int_ge(c.script.waited_ms[0], 9000);
    ck_assert_int_ge(c.script.waited_ms[1], 4000);
    ck_assert_int_eq(c.call.retry_after_ms, 0);
    chat_close(&c);
    /* an hour is not waited for by a call */
    static const struct script_reply hour[] = {
        {.status = 503, .body = "", .retry_after_ms = 3600000}};
    chat_open(&c, hour, 1);
    chat_ask_object(&c);
    chat_expect(&c, MODEL_FAILURE_SERVER, 1);
    ck_assert_int_eq(c.call.retry_after_ms, 3600000);
    ck_assert_uint_eq(c.call.err.retry_after_s, 3600);
    chat_close(&c);
}
END_TEST

START_TEST(a_quota_of_a_minute_is_a_burst)
{
    struct chat_case c;
    OPEN(c,
         {.status = 429,
          .body = "[{\"error\":{\"code\":429,\"message\":\"You exceeded your current quota\","
                  "\"details\":[{\"retryDelay\":\"23s\"}]}}]"},
         {.status = 429,
          .body = "{\"error\":{\"message\":\"exceeded your current quota. Please try again in "
                  "20s.\"}}"},
         FINE);
    chat_ask_object(&c);
    chat_expect(&c, MODEL_FAILURE_NONE, 3);
    ck_assert_int_ge(c.script.waited_ms[0], 23000);
    ck_assert_int_ge(c.script.waited_ms[1], 20000);
    chat_close(&c);
}
END_TEST

START_TEST(an_exhausted_quota_pauses_the_endpoint)
{
    struct chat_case c;
    OPEN(c, {.status = 429, .body = "", .retry_after_ms = 300000});
    chat_ask_object(&c);
    chat_expect(&c, MODEL_FAILURE_QUOTA, 1);
    ck_assert_int_eq(c.call.retry_after_ms, 300000);
    pass(&c, 100000);
    chat_ask_text(&c); /* another purpose, the same endpoint */
    chat_expect(&c, MODEL_FAILURE_QUOTA, 1);
    ck_assert_int_eq(c.call.outcome, ERR_UNAVAILABLE);
    ck_assert_int_eq(c.call.retry_after_ms, 200000);
    pass(&c, 200000);
    add(&c, (struct script_reply)FINE, 1);
    chat_ask_object(&c);
    chat_expect(&c, MODEL_FAILURE_NONE, 2);
    chat_close(&c);
}
END_TEST

START_TEST(another_model_is_another_endpoint)
{
    struct chat_case c;
    OPEN(c, {.status = 402, .body = ""}, SAYS("Three."));
    c.options.address[PURPOSE_ANSWER].model = STR("large");
    c.script.n_replies = 1;
    chat_ask_object(&c);
    chat_expect(&c, MODEL_FAILURE_QUOTA, 1);
    c.script.n_replies = 2;
    chat_ask_text(&c);
    chat_expect(&c, MODEL_FAILURE_NONE, 2);
    ck_assert_uint_ne(c.script.asked[0].endpoint, c.script.asked[1].endpoint);
    chat_close(&c);
}
END_TEST

START_TEST(breaker)
{
    struct chat_case c;
    OPEN(c, DOWN, DOWN, DOWN, DOWN, DOWN);
    c.options.address[PURPOSE_FACTS].attempts = 5;
    chat_ask_object(&c);
    chat_expect(&c, MODEL_FAILURE_CONNECT, 5);
    chat_ask_object(&c); /* open: not tried */
    chat_expect(&c, MODEL_FAILURE_BREAKER, 5);
    ck_assert_int_gt(c.call.retry_after_ms, 0);
    ck_assert_int_le(c.call.retry_after_ms, BREAKER_FIRST_MS);
    ck_assert_uint_eq(c.call.usage.calls, 0);
    pass(&c, BREAKER_FIRST_MS);
    add(&c, (struct script_reply)DOWN, 1); /* the probe fails: twice as long */
    chat_ask_object(&c);
    chat_expect(&c, MODEL_FAILURE_BREAKER, 6);
    pass(&c, BREAKER_FIRST_MS);
    chat_ask_object(&c);
    chat_expect(&c, MODEL_FAILURE_BREAKER, 6);
    pass(&c, BREAKER_FIRST_MS);
    add(&c, (struct script_reply)REFUSES(401, "who?"), 1); /* it is there again */
    chat_ask_object(&c);
    chat_expect(&c, MODEL_FAILURE_AUTH, 7);
    add(&c, (struct script_reply)FINE, 1);
    chat_ask_object(&c);
    chat_expect(&c, MODEL_FAILURE_NONE, 8);
    /* closed: five more in a row to open it */
    add(&c, (struct script_reply)DOWN, 4);
    add(&c, (struct script_reply)FINE, 1);
    chat_ask_object(&c);
    chat_expect(&c, MODEL_FAILURE_NONE, 13);
    chat_close(&c);
}
END_TEST

START_TEST(a_breaker_lets_one_probe_through)
{
    struct chat_case c;
    OPEN(c, {.status = 502, .body = ""}, {.status = 503, .body = ""}, {.status = 504, .body = ""},
         DOWN, DOWN);
    c.options.address[PURPOSE_FACTS].attempts = 5;
    chat_ask_object(&c);
    chat_expect(&c, MODEL_FAILURE_CONNECT, 5);
    pass(&c, BREAKER_FIRST_MS);
    /* a probe that never comes back */
    struct model_call lost;
    model_call_init(&lost, PURPOSE_FACTS, c.arena);
    lost.chat = c.call.chat;
    ck_assert_int_eq(model_call_advance(c.models, &lost), MODEL_EXCHANGE);
    chat_ask_object(&c);
    chat_expect(&c, MODEL_FAILURE_BREAKER, 5);
    pass(&c, BREAKER_FIRST_MS);
    add(&c, (struct script_reply)FINE, 1);
    chat_ask_object(&c);
    chat_expect(&c, MODEL_FAILURE_NONE, 6);
    chat_close(&c);
}
END_TEST

START_TEST(deadlines)
{
    struct chat_case c;
    OPEN(c, FINE, {.status = 429, .body = "", .retry_after_ms = 8000}, DOWN);
    c.call.deadline_ms = clock_mono_ms(&c.script.clock) + 5000;
    c.script.n_replies = 1;
    chat_ask_object(&c);
    chat_expect(&c, MODEL_FAILURE_NONE, 1);
    ck_assert_int_eq(c.script.asked[0].total_ms, 5000);
    c.script.n_replies = 2;
    chat_ask_object(&c); /* the wait would end too late: no wait */
    chat_expect(&c, MODEL_FAILURE_DEADLINE, 2);
    ck_assert_int_eq(c.call.outcome, ERR_DEADLINE);
    ck_assert_uint_eq(c.script.n_waited, 0);
    c.script.n_replies = 3;
    c.script.took_ms = 6000;
    chat_ask_object(&c);
    chat_expect(&c, MODEL_FAILURE_DEADLINE, 3);
    chat_ask_object(&c); /* over before it has begun */
    chat_expect(&c, MODEL_FAILURE_DEADLINE, 3);
    chat_close(&c);
}
END_TEST

START_TEST(cancelled)
{
    struct chat_case c;
    OPEN(c, {.status = 0, .cancelled = true});
    chat_ask_object(&c);
    chat_expect(&c, MODEL_FAILURE_STOPPED, 1);
    chat_close(&c);
}
END_TEST

START_TEST(replies_without_an_end)
{
    struct chat_case c;
    OPEN(c, {.status = 0, .code = ERR_TOO_LARGE});
    chat_ask_object(&c);
    chat_expect(&c, MODEL_FAILURE_SERVER, 1);
    chat_close(&c);
}
END_TEST

START_TEST(waits_are_the_seed_s)
{
    int64_t waited[3][2];
    for (unsigned i = 0; i < 3; i++) {
        struct chat_case c;
        OPEN(c, DOWN, DOWN, FINE);
        c.options.seed = i / 2;
        chat_ask_object(&c);
        memcpy(waited[i], c.script.waited_ms, sizeof waited[i]);
        chat_close(&c);
    }
    ck_assert(memcmp(waited[0], waited[1], sizeof waited[0]) == 0);
    ck_assert(memcmp(waited[0], waited[2], sizeof waited[0]) != 0);
}
END_TEST

START_TEST(no_key_in_messages)
{
    struct chat_case c;
    OPEN(c, REFUSES(401, "wrong key key-of-the-test, again: key-of-the-test"),
         REFUSES(401, "0123456789012345678901234567890123456789012345678901234567890123456789"
                      "0123456789012345678901234567890123456789012345678901234567890123456789"
                      "0123456789 key-of-the-test"));
    c.script.n_replies = 1;
    chat_ask_object(&c);
    chat_expect(&c, MODEL_FAILURE_AUTH, 1);
    ck_assert_ptr_null(strstr(c.call.err.message, "key-of-the"));
    ck_assert_ptr_nonnull(strstr(c.call.err.message, "wrong key ***"));
    c.script.n_replies = 2;
    chat_ask_object(&c); /* also not the part of it that a cut message ends with */
    chat_expect(&c, MODEL_FAILURE_AUTH, 2);
    ck_assert_ptr_null(strstr(c.call.err.message, "key-"));
    chat_close(&c);
}
END_TEST

/* What is logged: which events, and no key, question or answer. */
START_TEST(log_lines)
{
    int fds[2];
    char text[16384];
    struct chat_case c;
    OPEN(c, DOWN, DOWN, DOWN, DOWN, DOWN, REFUSES(400, "no max_tokens"), FINE,
         {.status = 402, .body = ""}, FINE);
    ck_assert_int_eq(pipe(fds), 0);
    struct log log = {.fd = fds[1], .level = LOG_DEBUG, .clock = c.script.clock};
    c.options.log = &log;
    c.options.address[PURPOSE_FACTS].attempts = 5;
    c.options.address[PURPOSE_FACTS].base_url = STR("http://models.test/v1?secret=in-the-query");
    c.script.n_replies = 5;
    chat_ask_object(&c);
    pass(&c, BREAKER_FIRST_MS);
    c.script.n_replies = 8;
    chat_ask_object(&c);
    chat_ask_object(&c);
    pass(&c, QUOTA_PAUSE_MS);
    c.script.n_replies = 9;
    chat_ask_object(&c);
    chat_expect(&c, MODEL_FAILURE_NONE, 9);
    ssize_t len = read(fds[0], text, sizeof text - 1);
    ck_assert_int_gt(len, 0);
    text[len] = '\0';
    static const char *const wanted[] = {"event=model_exchange",
                                         "event=model_breaker_open",
                                         "event=model_breaker_closed",
                                         "event=model_quota_pause",
                                         "event=model_quota_pause_over",
                                         "event=model_learned",
                                         "value=max_tokens",
                                         "purpose=facts"};
    static const char *const not_wanted[] = {"key-of-the-test", "how many", "You count",
                                             "in-the-query", "choices"};
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        ck_assert_msg(strstr(text, wanted[i]) != NULL, "no %s in %s", wanted[i], text);
    for (size_t i = 0; i < sizeof not_wanted / sizeof not_wanted[0]; i++)
        ck_assert_msg(strstr(text, not_wanted[i]) == NULL, "%s in %s", not_wanted[i], text);
    unsigned exchanges = 0;
    for (const char *at = text; (at = strstr(at, "event=model_exchange")) != NULL; at++)
        exchanges++;
    ck_assert_uint_eq(exchanges, 9);
    chat_close(&c);
    ck_assert_int_eq(close(fds[0]), 0);
    ck_assert_int_eq(close(fds[1]), 0);
}
END_TEST

Suite *suite_model_retries(void)
{
    Suite *suite = suite_create("model_retries");
    TCase *tcase = tcase_create("all");
    tcase_add_test(tcase, busy_is_waited_for);
    tcase_add_test(tcase, attempts_end);
    tcase_add_test(tcase, not_worth_another_try);
    tcase_add_test(tcase, retry_after_is_kept);
    tcase_add_test(tcase, a_quota_of_a_minute_is_a_burst);
    tcase_add_test(tcase, an_exhausted_quota_pauses_the_endpoint);
    tcase_add_test(tcase, another_model_is_another_endpoint);
    tcase_add_test(tcase, breaker);
    tcase_add_test(tcase, a_breaker_lets_one_probe_through);
    tcase_add_test(tcase, deadlines);
    tcase_add_test(tcase, cancelled);
    tcase_add_test(tcase, replies_without_an_end);
    tcase_add_test(tcase, waits_are_the_seed_s);
    tcase_add_test(tcase, no_key_in_messages);
    tcase_add_test(tcase, log_lines);
    suite_add_tcase(suite, tcase);
    return suite;
}
