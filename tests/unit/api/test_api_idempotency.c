/* Idempotency-Key over a real store: what a client that saw no reply gets when it asks again. */
#include "api/handler.h"
#include "core/base/limits.h"
#include "tests/unit/api/api_kit.h"

static struct api_request post(const char *path, const char *key, const char *body)
{
    struct api_request request = api_kit_request("POST", path, NULL, body);
    request.idempotency_key = str_of(key);
    return request;
}

/* The reply's body, which has to be the same again but for pending_turns. */
static json_t *ask(struct api_kit *kit, const struct api_request *request, int status,
                   bool replayed)
{
    char value[256];
    struct api_call *call = api_kit_send(kit, request, 0);
    ck_assert_msg(call->reply.status == status, "%d %.*s", call->reply.status,
                  (int)call->reply.body.len, call->reply.body.at);
    const char *told = api_kit_header(call, "Idempotent-Replayed", value);
    ck_assert((told != NULL) == replayed);
    json_t *reply = api_kit_json(call);
    json_object_del(reply, "pending_turns");
    api_call_free(call);
    return reply;
}

static void expect_replay(struct api_kit *kit, const struct api_request *request, int status)
{
    json_t *first = ask(kit, request, status, false);
    json_t *again = ask(kit, request, status, true);
    json_t *third = ask(kit, request, status, true);
    ck_assert_msg(json_equal(first, again), "%s", json_dumps(again, 0));
    ck_assert(json_equal(first, third));
    json_decref(first);
    json_decref(again);
    json_decref(third);
}

static const char turns_path[] = "/v1/spaces/a/turns";

START_TEST(turns_are_stored_once)
{
    struct api_kit kit;
    api_kit_init(&kit);
    struct api_request request =
        post(turns_path, "k1",
             "{\"turns\":[{\"text\":\"one\"},{\"text\":\"two\",\"id\":\"x\"},{\"text\":\"three\"},"
             "{\"text\":\"two\",\"id\":\"x\"}]}");
    expect_replay(&kit, &request, 202);
    uint64_t space = find_space(&kit.store, "a");
    ck_assert_uint_eq(stat_of(&kit.store, space).v[STAT_TURNS], 3);
    ck_assert_uint_eq(stat_of(&kit.store, space).v[STAT_SEQ], 1);
    /* Another key: the turns without ids are new, the one with an id is not. */
    request.idempotency_key = STR("k2");
    expect_replay(&kit, &request, 202);
    ck_assert_uint_eq(stat_of(&kit.store, space).v[STAT_TURNS], 5);
    ck_assert_uint_eq(count_rows(&kit.store, space, KIND_IDEMPOTENCY), 2);
    ck_assert_uint_eq(count_rows(&kit.store, space, KIND_EXPIRY), 2);
    ck_assert_uint_eq(kit.metrics->counter[METRIC_IDEMPOTENT_REPLAYS], 4);
    api_kit_fini(&kit);
}
END_TEST

START_TEST(duplicates_alone_take_no_seq_but_keep_the_key)
{
    struct api_kit kit;
    api_kit_init(&kit);
    json_decref(api_kit_call(&kit, 202, "POST", turns_path, NULL, "{\"text\":\"a\",\"id\":\"x\"}"));
    struct api_request request = post(turns_path, "k", "{\"text\":\"a\",\"id\":\"x\"}");
    expect_replay(&kit, &request, 202);
    ck_assert_uint_eq(stat_of(&kit.store, find_space(&kit.store, "a")).v[STAT_SEQ], 1);
    request.body = STR("{\"text\":\"b\"}");
    api_kit_refused(&kit, 422, "Idempotency-Key", &request);
    api_kit_fini(&kit);
}
END_TEST

START_TEST(messages_that_repeat_a_history)
{
    struct api_kit kit;
    api_kit_init(&kit);
    json_decref(api_kit_call(&kit, 202, "POST", turns_path, NULL,
                             "{\"turns\":[{\"role\":\"user\",\"text\":\"a\",\"id\":\"mine\"}]}"));
    struct api_request request = post(turns_path, "k",
                                      "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"},"
                                      "{\"role\":\"assistant\",\"content\":\"b\"}]}");
    expect_replay(&kit, &request, 202);
    api_kit_fini(&kit);
}
END_TEST

START_TEST(another_body_is_refused)
{
    struct api_kit kit;
    api_kit_init(&kit);
    struct api_request request = post(turns_path, "k", "{\"text\":\"a\"}");
    json_decref(ask(&kit, &request, 202, false));
    request.body = STR("{\"text\":\"b\"}");
    api_kit_refused(&kit, 422, "Idempotency-Key", &request);
    request.body = STR("{\"text\":\"a\"} ");
    api_kit_refused(&kit, 422, "Idempotency-Key", &request);
    /* Same key in another space, and on another route: other keys. */
    request.path = STR("/v1/spaces/b/turns");
    json_decref(ask(&kit, &request, 202, false));
    struct api_request flush = post("/v1/spaces/a/flush", "k", "{}");
    expect_replay(&kit, &flush, 202);
    api_kit_fini(&kit);
}
END_TEST

START_TEST(refusals_keep_nothing)
{
    struct api_kit kit;
    api_kit_init(&kit);
    struct api_request request = post(turns_path, "k", "{\"text\":\"\"}");
    api_kit_refused(&kit, 400, "turns[0].text", &request);
    request.body = STR("{\"text\":\"a\"}");
    json_decref(ask(&kit, &request, 202, false));
    api_kit_fini(&kit);
}
END_TEST

START_TEST(holders_of_other_keys_are_others)
{
    struct api_kit kit;
    api_kit_init(&kit);
    struct api_request request = post(turns_path, "k", "{\"text\":\"a\"}");
    json_decref(ask(&kit, &request, 202, false));
    kit.options.api_key = STR("secret");
    api_kit_again(&kit);
    request.authorization = STR("Bearer secret");
    json_decref(ask(&kit, &request, 202, false));
    api_kit_fini(&kit);
}
END_TEST

START_TEST(keys_that_cannot_be)
{
    static const char *const bad[] = {"", " ", "a b", "caf\xc3\xa9", "a\tb"};
    struct api_kit kit;
    char longest[LIMIT_IDEMPOTENCY_KEY_BYTES + 2];
    api_kit_init(&kit);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct api_request request = post(turns_path, bad[i], "{\"text\":\"a\"}");
        api_kit_refused(&kit, 400, "Idempotency-Key", &request);
    }
    memset(longest, 'k', sizeof longest);
    struct api_request request = post(turns_path, "", "{\"text\":\"a\"}");
    request.idempotency_key = (struct str){longest, sizeof longest - 1};
    api_kit_refused(&kit, 400, "Idempotency-Key", &request);
    request.idempotency_key.len--;
    json_decref(ask(&kit, &request, 202, false));
    api_kit_fini(&kit);
}
END_TEST

START_TEST(one_that_runs_is_a_conflict)
{
    struct api_kit kit;
    struct err err;
    api_kit_init(&kit);
    struct api_request request = post(turns_path, "k", "{\"text\":\"a\"}");
    struct api_call *running = api_call_new(kit.api);
    running->request = request;
    api_admit(running);
    ck_assert(!running->replied);
    ck_assert_int_eq(idempotency_enter(running, &err), ERR_OK);
    api_kit_refused(&kit, 409, "Idempotency-Key", &request);
    request.path = STR("/v1/spaces/b/turns");
    json_decref(ask(&kit, &request, 202, false));
    idempotency_leave(running);
    idempotency_leave(running);
    request.path = str_of(turns_path);
    json_decref(ask(&kit, &request, 202, false));
    api_call_free(running);
    api_kit_fini(&kit);
}
END_TEST

START_TEST(a_store_that_was_closed_still_knows)
{
    struct api_kit kit;
    api_kit_init(&kit);
    struct api_request request = post(turns_path, "k", "{\"text\":\"a\"}");
    json_t *first = ask(&kit, &request, 202, false);
    fixture_close(&kit.store);
    fixture_open(&kit.store);
    kit.services.store = kit.store.store;
    json_t *again = ask(&kit, &request, 202, true);
    ck_assert(json_equal(first, again));
    json_decref(first);
    json_decref(again);
    api_kit_fini(&kit);
}
END_TEST

Suite *suite_api_idempotency(void);
Suite *suite_api_idempotency(void)
{
    Suite *suite = suite_create("api_idempotency");
    TCase *tests = tcase_create("idempotency");
    tcase_add_test(tests, turns_are_stored_once);
    tcase_add_test(tests, duplicates_alone_take_no_seq_but_keep_the_key);
    tcase_add_test(tests, messages_that_repeat_a_history);
    tcase_add_test(tests, another_body_is_refused);
    tcase_add_test(tests, refusals_keep_nothing);
    tcase_add_test(tests, holders_of_other_keys_are_others);
    tcase_add_test(tests, keys_that_cannot_be);
    tcase_add_test(tests, one_that_runs_is_a_conflict);
    tcase_add_test(tests, a_store_that_was_closed_still_knows);
    suite_add_tcase(suite, tests);
    return suite;
}
