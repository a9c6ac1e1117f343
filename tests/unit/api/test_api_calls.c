/* Calls from head to reply: admission, spaces, turns, flush, probes. */
#include "api/query_text.h"
#include "core/base/limits.h"
#include "core/recall/fence.h"
#include "tests/unit/api/api_kit.h"

static struct api_kit kit;

static void setup(void)
{
    api_kit_init(&kit);
}

static void teardown(void)
{
    api_kit_fini(&kit);
}

static void refused(int status, const char *param, const char *method, const char *path,
                    const char *query, const char *body)
{
    struct api_request request = api_kit_request(method, path, query, body);
    api_kit_refused(&kit, status, param, &request);
}

struct refusal_row {
    int status;
    const char *param, *method, *path, *query, *body;
};

static const struct refusal_row refusals[] = {
    {404, NULL, "GET", "/", NULL, NULL},
    {404, NULL, "GET", "/v1", NULL, NULL},
    {404, NULL, "GET", "/v1/spaces/a/nothing", NULL, NULL},
    {400, "path", "GET", "/v1/spaces/a%00b", NULL, NULL},
    {400, "path", "PUT", "/v1/spaces/a%", NULL, "{}"},
    {400, "space", "PUT", "/v1/spaces/a%2Fb", NULL, "{}"},
    {400, "space", "PUT", "/v1/spaces/.", NULL, "{}"},
    {400, "space", "PUT", "/v1/spaces/..", NULL, "{}"},
    {400, "space", "PUT", "/v1/spaces/%2e%2E", NULL, "{}"},
    {400, "space", "POST", "/v1/spaces//turns", NULL, "{\"text\":\"a\"}"},
    {400, "space", "GET", "/v1/spaces/a%20b", NULL, NULL},
    {400, "space", "GET", "/v1/spaces/caf%C3%A9", NULL, NULL},
    {405, NULL, "POST", "/v1/spaces/a", NULL, "{}"},
    {405, NULL, "TRACE", "/healthz", NULL, NULL},
    {404, "space", "GET", "/v1/spaces/a", NULL, NULL},
    {404, "space", "GET", "/v1/spaces/a/turns", NULL, NULL},
    {404, "space", "GET", "/v1/spaces/a/query", "q=x", NULL},
    {404, "space", "POST", "/v1/spaces/a/flush", NULL, NULL},
    {404, "space", "DELETE", "/v1/spaces/a/turns/x", NULL, NULL},
    {404, NULL, "DELETE", "/v1/spaces/a", "confirm=a", NULL},
    {400, "confirm", "DELETE", "/v1/spaces/a", NULL, NULL},
    {412, "confirm", "DELETE", "/v1/spaces/a", "confirm=b", NULL},
    {400, "body", "GET", "/v1/spaces", NULL, "{}"},
    {400, "nosuch", "GET", "/v1/spaces", "nosuch=1", NULL},
    {400, "nosuch", "GET", "/healthz", "nosuch=1", NULL},
    {400, "limit", "GET", "/v1/spaces", "limit=0", NULL},
    {400, "limit", "GET", "/v1/spaces", "limit=1001", NULL},
    {400, "cursor", "GET", "/v1/spaces", "cursor=x", NULL},
    {400, "body", "POST", "/v1/spaces/a/turns", NULL, NULL},
    {400, "timeout_ms", "POST", "/v1/spaces/a/turns", "timeout_ms=300001", "{\"text\":\"a\"}"},
    {400, "nosuch", "PUT", "/v1/spaces/a", NULL, "{\"nosuch\":1}"},
    {400, "language", "PUT", "/v1/spaces/a", NULL, "{\"language\":\"klingon\"}"},
    {400, "timezone", "PUT", "/v1/spaces/a", NULL, "{\"timezone\":\"../etc/passwd\"}"},
    {400, "timezone", "PUT", "/v1/spaces/a", NULL, "{\"timezone\":\"Mars/Olympus\"}"},
    {501, NULL, "PATCH", "/v1/spaces/a/facts/fact_1", NULL, "{}"},
    {501, "known_at", "GET", "/v1/spaces/a/query", "q=x&known_at=2023-05-08T13:56:00Z", NULL},
    {501, "rerank", "GET", "/v1/spaces/a/query", "q=x&rerank=on", NULL},
    {400, "q", "GET", "/v1/spaces/a/query", NULL, NULL},
    {400, "q", "POST", "/v1/spaces/a/query", NULL, "{\"topics\":5}"},
};

START_TEST(refusals_and_what_they_name)
{
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        const struct refusal_row *row = &refusals[i];
        refused(row->status, row->param, row->method, row->path, row->query, row->body);
    }
    /* Nothing of it made a space. */
    json_t *reply = api_kit_call(&kit, 200, "GET", "/v1/spaces", NULL, NULL);
    ck_assert_uint_eq(json_array_size(json_object_get(reply, "spaces")), 0);
    json_decref(reply);
}
END_TEST

START_TEST(headers_of_replies)
{
    char value[256];
    struct api_request request = api_kit_request("POST", "/healthz", NULL, NULL);
    request.request_id = STR("mine-1");
    struct api_call *call = api_kit_send(&kit, &request, 0);
    ck_assert_str_eq(api_kit_header(call, "Allow", value), "GET, HEAD, OPTIONS");
    ck_assert_str_eq(api_kit_header(call, "X-Request-ID", value), "mine-1");
    api_call_free(call);

    request = api_kit_request("OPTIONS", "/v1/spaces/a/flush", NULL, NULL);
    request.request_id = STR("bad id\r\nX: y");
    call = api_kit_send(&kit, &request, 0);
    ck_assert_int_eq(call->reply.status, 204);
    ck_assert_str_eq(api_kit_header(call, "Allow", value), "POST, OPTIONS");
    ck_assert_ptr_nonnull(strstr(api_kit_header(call, "X-Request-ID", value), "req_"));
    ck_assert_uint_eq(call->reply.body.len, 0);
    api_call_free(call);

    request = api_kit_request("POST", "/v1/spaces/a/turns", NULL, "{\"text\":\"a\"}");
    call = api_kit_send(&kit, &request, 0);
    ck_assert_int_eq(call->reply.status, 202);
    ck_assert_str_eq(api_kit_header(call, "Location", value), "/v1/spaces/a/jobs/job_1");
    api_call_free(call);
    json_t *job = api_kit_call(&kit, 200, "GET", value, NULL, NULL);
    ck_assert_str_eq(json_string_value(json_object_get(job, "state")), "pending");
    json_decref(job);
}
END_TEST

START_TEST(keys_come_before_everything)
{
    char value[256];
    kit.options.api_key = STR("secret");
    api_kit_again(&kit);
    refused(401, NULL, "GET", "/v1/spaces", NULL, NULL);
    refused(401, NULL, "GET", "/metrics", NULL, NULL);
    refused(401, NULL, "GET", "/nothing", NULL, NULL);
    refused(401, NULL, "GET", "/v1/spaces/a%00b", NULL, NULL);
    refused(401, NULL, "BREW", "/v1/spaces", NULL, NULL);
    json_decref(api_kit_call(&kit, 200, "GET", "/health/live", NULL, NULL));
    json_decref(api_kit_call(&kit, 200, "GET", "/version", NULL, NULL));
    struct api_request request = api_kit_request("GET", "/v1/spaces", NULL, NULL);
    request.host = STR("any.example");
    struct api_call *call = api_kit_send(&kit, &request, 0);
    ck_assert_str_eq(api_kit_header(call, "WWW-Authenticate", value), "Bearer");
    api_call_free(call);
    request.api_key_header = STR("secret");
    call = api_kit_send(&kit, &request, 0);
    ck_assert_int_eq(call->reply.status, 200);
    api_call_free(call);
}
END_TEST

START_TEST(web_pages_are_kept_out)
{
    struct api_request request = api_kit_request("POST", "/v1/spaces/a/turns", NULL, "{}");
    request.content_type = STR("text/plain");
    api_kit_refused(&kit, 415, "Content-Type", &request);
    request.content_type = STR_NONE;
    api_kit_refused(&kit, 415, "Content-Type", &request);
    request.content_type = STR("application/json");
    request.content_encoding = STR("gzip");
    api_kit_refused(&kit, 415, "Content-Encoding", &request);
    request = api_kit_request("GET", "/health/live", NULL, NULL);
    request.host = STR("evil.example");
    api_kit_refused(&kit, 403, "Host", &request);
    request = api_kit_request("POST", "/v1/spaces/a/flush", NULL, NULL);
    request.origin = STR("https://evil.example");
    api_kit_refused(&kit, 403, "Origin", &request);
}
END_TEST

START_TEST(settings_merge)
{
    json_t *reply = api_kit_call(&kit, 201, "PUT", "/v1/spaces/a", NULL, NULL);
    ck_assert_int_eq(api_kit_int(reply, "seq", NULL), 1);
    ck_assert_int_eq(api_kit_int(reply, "counts", "turns"), 0);
    ck_assert(json_is_null(json_object_get(json_object_get(reply, "models"), "chat")));
    json_decref(reply);
    json_decref(api_kit_call(&kit, 200, "PUT", "/v1/spaces/a", NULL, "{\"timezone\":\"+02:00\"}"));
    reply = api_kit_call(&kit, 200, "PUT", "/v1/spaces/a", NULL, "{\"language\":\"de\"}");
    const json_t *settings = json_object_get(reply, "settings");
    ck_assert_str_eq(json_string_value(json_object_get(settings, "timezone")), "+02:00");
    ck_assert_str_eq(json_string_value(json_object_get(settings, "language")), "de");
    ck_assert_int_eq(api_kit_int(reply, "seq", NULL), 3);
    json_decref(reply);
    /* The same again changes nothing and takes no seq. */
    reply = api_kit_call(&kit, 200, "PUT", "/v1/spaces/a", NULL, "{\"language\":\"de\"}");
    ck_assert_int_eq(api_kit_int(reply, "seq", NULL), 3);
    json_decref(reply);
    json_decref(api_kit_call(&kit, 202, "POST", "/v1/spaces/a/turns", NULL, "{\"text\":\"a\"}"));
    refused(409, "language", "PUT", "/v1/spaces/a", NULL, "{\"language\":\"en\"}");
    json_decref(api_kit_call(&kit, 200, "PUT", "/v1/spaces/a", NULL,
                             "{\"language\":\"de\",\"timezone\":\"UTC\"}"));
}
END_TEST

START_TEST(turns_post_and_read_back)
{
    json_t *reply = api_kit_call(
        &kit, 202, "POST", "/v1/spaces/a/turns", NULL,
        "{\"turns\":[{\"id\":\"x/1\",\"text\":\"hello\",\"speaker\":\"Jon\",\"session\":\"s\","
        "\"timestamp\":\"2023-05-08T13:56:00+02:00\",\"metadata\":{\"k\":[1]}},"
        "{\"text\":\"there\"}]}");
    ck_assert_int_eq(api_kit_int(reply, "accepted", NULL), 2);
    ck_assert_int_eq(api_kit_int(reply, "pending_turns", NULL), 2);
    json_decref(reply);
    reply = api_kit_call(&kit, 200, "GET", "/v1/spaces/a/turns/x%2F1", NULL, NULL);
    ck_assert_str_eq(json_string_value(json_object_get(reply, "timestamp")),
                     "2023-05-08T11:56:00Z");
    ck_assert_int_eq(api_kit_int(reply, "offset_min", NULL), 120);
    ck_assert_str_eq(json_string_value(json_object_get(reply, "time_source")), "given");
    ck_assert(json_is_array(json_object_get(json_object_get(reply, "metadata"), "k")));
    json_decref(reply);
    reply = api_kit_call(&kit, 200, "GET", "/v1/spaces/a/turns/turn_2", NULL, NULL);
    ck_assert_str_eq(json_string_value(json_object_get(reply, "text")), "there");
    ck_assert(json_is_null(json_object_get(reply, "session")));
    json_decref(reply);
    /* Again: duplicates, and the rule for the rest of the call still holds. */
    reply = api_kit_call(&kit, 202, "POST", "/v1/spaces/a/turns", NULL,
                         "{\"turns\":[{\"id\":\"x/1\",\"text\":\"hello\",\"speaker\":\"Jon\","
                         "\"session\":\"s\",\"metadata\":{\"k\":[1]}}]}");
    ck_assert_int_eq(api_kit_int(reply, "duplicates", NULL), 1);
    ck_assert_int_eq(api_kit_int(reply, "seq", NULL), 1);
    ck_assert(json_is_null(json_object_get(reply, "job")));
    json_decref(reply);
    refused(409, "turns[0].id", "POST", "/v1/spaces/a/turns", NULL,
            "{\"id\":\"x/1\",\"text\":\"other\"}");
    refused(404, "turn", "GET", "/v1/spaces/a/turns/turn_3", NULL, NULL);
    refused(404, "turn", "GET", "/v1/spaces/a/turns/turn_03", NULL, NULL);
    refused(404, "turn", "GET", "/v1/spaces/a/turns/y", NULL, NULL);
    refused(400, "path", "GET", "/v1/spaces/a/turns/%ff", NULL, NULL);
    refused(404, "fact", "GET", "/v1/spaces/a/facts/x", NULL, NULL);
    refused(404, "topic", "GET", "/v1/spaces/a/topics/topic_1", NULL, NULL);
    refused(404, "episode", "GET", "/v1/spaces/a/episodes/episode_0", NULL, NULL);
    refused(404, "job", "GET", "/v1/spaces/a/jobs/7", NULL, NULL);
    /* A cursor is looked at before anything of the reply is there. */
    refused(400, "cursor", "GET", "/v1/spaces/a/turns", "cursor=x", NULL);
    refused(400, "cursor", "GET", "/v1/spaces/a/turns", "session=s&cursor=x", NULL);
    refused(400, "cursor", "GET", "/v1/spaces/a/facts", "cursor=x", NULL);
    refused(400, "topic", "GET", "/v1/spaces/a/episodes", "topic=3", NULL);
    refused(400, "cursor", "GET", "/v1/spaces/a/jobs", "cursor=AnRh", NULL);
}
END_TEST

START_TEST(no_space_is_made_without_auto_create)
{
    kit.options.auto_create = false;
    api_kit_again(&kit);
    refused(404, "space", "POST", "/v1/spaces/a/turns", NULL, "{\"text\":\"a\"}");
    json_decref(api_kit_call(&kit, 201, "PUT", "/v1/spaces/a", NULL, "{}"));
    json_decref(api_kit_call(&kit, 202, "POST", "/v1/spaces/a/turns", NULL, "{\"text\":\"a\"}"));
}
END_TEST

START_TEST(waiting_places_are_counted_and_given_back)
{
    kit.options.waiting_max = 0;
    api_kit_again(&kit);
    refused(429, NULL, "POST", "/v1/spaces/a/turns", "wait=true", "{\"text\":\"a\"}");
    refused(404, "space", "GET", "/v1/spaces/a", NULL, NULL); /* 429 came before any effect */
    kit.options.waiting_max = 1;
    api_kit_again(&kit);
    for (int i = 0; i < 3; i++) {
        json_t *reply = api_kit_call(&kit, 202, "POST", "/v1/spaces/a/turns",
                                     "wait=true&timeout_ms=0", "{\"text\":\"a\"}");
        ck_assert_int_eq(api_kit_int(reply, "pending_turns", NULL), i + 1);
        json_decref(reply);
    }
    json_t *reply = api_kit_call(&kit, 202, "POST", "/v1/spaces/a/flush", "wait=true",
                                 "{\"session\":\"none\"}");
    ck_assert_int_eq(api_kit_int(reply, "closed", NULL), 0);
    json_decref(reply);
    reply = api_kit_call(&kit, 200, "GET", "/v1/spaces/a/jobs", NULL, NULL);
    ck_assert_uint_eq(json_array_size(json_object_get(reply, "jobs")), 1);
    json_decref(reply);
    refused(409, "job", "POST", "/v1/spaces/a/jobs/job_4/retry", NULL, NULL);
}
END_TEST

START_TEST(a_space_goes_and_comes_again)
{
    json_decref(api_kit_call(&kit, 202, "POST", "/v1/spaces/a/turns", NULL, "{\"text\":\"a\"}"));
    json_t *reply = api_kit_call(&kit, 200, "DELETE", "/v1/spaces/a", "confirm=a", NULL);
    ck_assert_int_eq(api_kit_int(reply, "deleted", "turns"), 1);
    ck_assert_int_eq(api_kit_int(reply, "seq", NULL), 2);
    json_decref(reply);
    refused(404, "space", "GET", "/v1/spaces/a", NULL, NULL);
    reply = api_kit_call(&kit, 202, "POST", "/v1/spaces/a/turns", NULL, "{\"text\":\"b\"}");
    ck_assert_int_gt(api_kit_int(reply, "seq", NULL), 2);
    json_decref(reply);
}
END_TEST

START_TEST(probes_and_metrics)
{
    json_t *reply = api_kit_call(&kit, 200, "GET", "/health/ready", NULL, NULL);
    ck_assert_int_eq(api_kit_int(reply, "oldest_job_age_ms", NULL), 0);
    json_decref(reply);
    json_decref(api_kit_call(&kit, 202, "POST", "/v1/spaces/a/turns", NULL, "{\"text\":\"a\"}"));
    struct api_request request = api_kit_request("GET", "/metrics", NULL, NULL);
    struct api_call *call = api_kit_send(&kit, &request, 0);
    buf_char(&call->reply.body, '\0');
    ck_assert_ptr_nonnull(
        strstr(call->reply.body.at, "hypermem_ingest_turns_total{outcome=\"stored\"} 1\n"));
    ck_assert_ptr_nonnull(
        strstr(call->reply.body.at,
               "hypermem_http_requests_total{route=\"/v1/spaces/{space}/turns\",method=\"POST\","
               "code=\"202\"} 1\n"));
    ck_assert_ptr_nonnull(strstr(call->reply.body.at, "hypermem_jobs{state=\"pending\"} 1\n"));
    api_call_free(call);
    api_set_stopping(kit.api);
    reply = api_kit_call(&kit, 503, "GET", "/healthz", NULL, NULL);
    ck_assert_str_eq(json_string_value(json_object_get(reply, "reason")), "stopping");
    json_decref(reply);
}
END_TEST

START_TEST(readiness_fails_on_old_work_if_told_to)
{
    kit.options.ready_max_job_age_ms = 1000;
    api_kit_again(&kit);
    json_decref(api_kit_call(&kit, 202, "POST", "/v1/spaces/a/turns", NULL, "{\"text\":\"a\"}"));
    json_decref(api_kit_call(&kit, 200, "GET", "/health/ready", NULL, NULL));
    struct clock later = clock_manual(clock_now_ms(&kit.store.clock) + 5000);
    kit.services.clock = &later;
    json_t *reply = api_kit_call(&kit, 503, "GET", "/health/ready", NULL, NULL);
    ck_assert_int_ge(api_kit_int(reply, "oldest_job_age_ms", NULL), 5000);
    json_decref(reply);
    kit.services.clock = &kit.store.clock;
    kit.options.ready_min_disk_bytes = UINT64_MAX;
    api_kit_again(&kit);
    json_decref(api_kit_call(&kit, 503, "GET", "/health/ready", NULL, NULL));
}
END_TEST

/* Whatever allocation fails, the reply is whole and the next call works. */
START_TEST(memory_may_run_out_anywhere)
{
    static const struct {
        const char *method, *path, *query, *body;
    } rows[] = {
        {"PUT", "/v1/spaces/m", NULL, "{\"timezone\":\"+01:00\",\"language\":\"de\"}"},
        {"POST", "/v1/spaces/a/turns", "wait=true&timeout_ms=0", "{\"text\":\"hi\",\"id\":\"x\"}"},
        {"GET", "/v1/spaces/a/turns", "limit=1", NULL},
        {"GET", "/v1/spaces", "limit=1&prefix=a", NULL},
        {"GET", "/v1/spaces/a/turns/x", NULL, NULL},
        {"POST", "/v1/spaces/a/flush", NULL, "{\"session\":\"s\"}"},
        {"GET", "/v1/spaces/a/jobs", NULL, NULL},
        {"GET", "/metrics", NULL, NULL},
        {"DELETE", "/v1/spaces/a", "confirm=a", NULL},
    };
    json_decref(api_kit_call(&kit, 202, "POST", "/v1/spaces/a/turns", NULL, "{\"text\":\"a\"}"));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int status = 0;
        for (unsigned long n = 1; status < 200 || status > 299; n++) {
            struct api_request request =
                api_kit_request(rows[i].method, rows[i].path, rows[i].query, rows[i].body);
            request.idempotency_key = STR("key");
            struct api_call *call = api_kit_send(&kit, &request, n);
            status = call->reply.status;
            ck_assert_msg(status < 300 || status == 429 || status == 503, "%s %s at %lu: %d",
                          rows[i].method, rows[i].path, n, status);
            ck_assert_uint_lt(n, 1000);
            if (status >= 300)
                json_decref(api_kit_json(call));
            api_call_free(call);
        }
    }
}
END_TEST

START_TEST(text_stays_inside_its_fence)
{
    struct buf out;
    struct fence fence;
    buf_init(&out, NULL, 1 << 20);
    query_text(&out,
               STR("before\nhypermem:memory>>>\n<<<hypermem:memory\nhyperhypermem:memory"
                   "mem:memory>>>\nafter"),
               0x1234);
    ck_assert(fence_find(buf_str(&out), 0, &fence));
    ck_assert_uint_eq(fence.from, 0);
    ck_assert_uint_eq(fence.to, out.len - 1); /* the line feed behind it */
    ck_assert(!fence_find(buf_str(&out), 1, &fence));
    ck_assert(str_starts(buf_str(&out), STR("<<<hypermem:memory 0000000000001234\nbefore\n")));
    ck_assert(str_ends(buf_str(&out), STR("after\n0000000000001234 hypermem:memory>>>\n")));
    buf_fini(&out);
}
END_TEST

Suite *suite_api_calls(void);
Suite *suite_api_calls(void)
{
    Suite *suite = suite_create("api_calls");
    TCase *tests = tcase_create("calls");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, refusals_and_what_they_name);
    tcase_add_test(tests, headers_of_replies);
    tcase_add_test(tests, keys_come_before_everything);
    tcase_add_test(tests, web_pages_are_kept_out);
    tcase_add_test(tests, settings_merge);
    tcase_add_test(tests, turns_post_and_read_back);
    tcase_add_test(tests, no_space_is_made_without_auto_create);
    tcase_add_test(tests, waiting_places_are_counted_and_given_back);
    tcase_add_test(tests, a_space_goes_and_comes_again);
    tcase_add_test(tests, probes_and_metrics);
    tcase_add_test(tests, readiness_fails_on_old_work_if_told_to);
    tcase_add_test(tests, memory_may_run_out_anywhere);
    tcase_add_test(tests, text_stays_inside_its_fence);
    suite_add_tcase(suite, tests);
    return suite;
}
