/* Purposes and endpoints: what is shared, what is refused, what makes vectors comparable; and the
 * coercions of chat_json_object(). */
#include <check.h>
#include <jansson.h>
#include <pthread.h>

#include "core/model/chat_json.h"
#include "tests/fakes/model_script.h"

static struct models *must_make(const struct models_options *options)
{
    struct models *models = NULL;
    struct err err = {.code = ERR_OK};
    ck_assert_msg(models_new(options, &models, &err) == ERR_OK, "%s", err.message);
    return models;
}

static void must_refuse(const struct models_options *options, const char *param, const char *said)
{
    struct models *models = NULL;
    struct err err = {.code = ERR_OK};
    ck_assert_int_eq(models_new(options, &models, &err), ERR_INVALID);
    ck_assert_ptr_null(models);
    ck_assert_str_eq(err.param, param);
    ck_assert_msg(strstr(err.message, said) != NULL, "%s", err.message);
}

static struct models_options plain_options(struct script *script)
{
    script_init(script, NULL, 0);
    struct models_options options = script_options(script);
    arena_free(script->arena);
    return options;
}

START_TEST(purposes)
{
    ck_assert_str_eq(model_purpose_slug(PURPOSE_BOUNDARY), "boundary");
    ck_assert_str_eq(model_purpose_slug(PURPOSE_RERANK), "rerank");
    ck_assert_int_eq(model_purpose_kind(PURPOSE_ANSWER), MODEL_CHAT);
    ck_assert_int_eq(model_purpose_kind(PURPOSE_EMBED), MODEL_EMBED);
    ck_assert_str_eq(model_failure_slug(MODEL_FAILURE_TOO_LONG), "too_long");
    ck_assert_str_eq(model_rerank_slug(RERANK_DASHSCOPE), "dashscope");
}
END_TEST

START_TEST(endpoints_are_shared)
{
    struct script script;
    struct models_options options = plain_options(&script);
    options.address[PURPOSE_FACTS].model = STR("large");
    options.address[PURPOSE_ANSWER].api_key = STR("another");
    options.address[PURPOSE_ANSWER].concurrency = 9;
    struct models *models = must_make(&options);
    ck_assert_uint_eq(models_endpoints(models), 5); /* 3 of chat, embed, rerank */
    ck_assert_uint_eq(models_endpoint_of(models, PURPOSE_BOUNDARY),
                      models_endpoint_of(models, PURPOSE_DESCRIBE));
    ck_assert_uint_eq(models_endpoint_of(models, PURPOSE_BOUNDARY),
                      models_endpoint_of(models, PURPOSE_TOPIC));
    ck_assert_uint_ne(models_endpoint_of(models, PURPOSE_BOUNDARY),
                      models_endpoint_of(models, PURPOSE_FACTS));
    ck_assert_uint_ne(models_endpoint_of(models, PURPOSE_BOUNDARY),
                      models_endpoint_of(models, PURPOSE_ANSWER));
    ck_assert_uint_ne(models_endpoint_of(models, PURPOSE_EMBED),
                      models_endpoint_of(models, PURPOSE_BOUNDARY));
    uint32_t answer = models_endpoint_of(models, PURPOSE_ANSWER);
    ck_assert_uint_eq(models_endpoint_slots(models, answer), 9);
    ck_assert(models_has_stages(models));
    ck_assert(str_eq(models_address(models, PURPOSE_FACTS)->model, STR("large")));
    models_free(models);
}
END_TEST

START_TEST(what_is_not_configured_is_not_there)
{
    struct script script;
    struct models_options options = plain_options(&script);
    options.address[PURPOSE_TOPIC].base_url = STR("");
    options.address[PURPOSE_EMBED].base_url = STR_NONE;
    struct models *models = must_make(&options);
    ck_assert(!models_has(models, PURPOSE_TOPIC));
    ck_assert(!models_has(models, PURPOSE_EMBED));
    ck_assert(models_has(models, PURPOSE_FACTS));
    ck_assert(!models_has_stages(models));
    models_free(models);
    models_free(NULL);
}
END_TEST

START_TEST(options_that_are_refused)
{
    struct script script;
    const struct models_options fine = plain_options(&script);
    struct models_options options = fine;
    options.address[PURPOSE_FACTS].base_url = STR("models.test/v1");
    must_refuse(&options, "base_url", "model of facts: base_url: want http://");
    options = fine;
    options.address[PURPOSE_FACTS].base_url = STR("http://me:secret@models.test/v1");
    must_refuse(&options, "base_url", "api_key");
    options = fine;
    options.address[PURPOSE_EMBED].extra_body = STR("[1]");
    must_refuse(&options, "extra_body", "model of embed");
    options.address[PURPOSE_EMBED].extra_body = STR("{\"a\":");
    must_refuse(&options, "extra_body", "JSON object");
    options = fine;
    options.address[PURPOSE_RERANK].api_key = STR("a\r\nX-Evil: 1");
    must_refuse(&options, "api_key", "control");
    static const char *const headers[] = {"no colon", ": x", "X Y: z", "X-Y: a\rb", "X:\x01"};
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
        options = fine;
        options.address[PURPOSE_RERANK].extra_headers = str_of(headers[i]);
        must_refuse(&options, "extra_headers", "Name: value");
    }
}
END_TEST

START_TEST(identity_of_vectors)
{
    struct script script;
    struct buf line;
    uint64_t ids[7];
    struct models_options options = plain_options(&script);
    const struct models_options fine = options;
    struct embed_limits *embed = &options.embed;
    struct model_address *address = &options.address[PURPOSE_EMBED];
    for (unsigned i = 0; i < 7; i++) {
        options = fine;
        if (i == 1)
            address->api_key = STR("another");
        if (i == 2)
            address->model = STR("large");
        if (i == 3)
            address->base_url = STR("http://other.test/v1");
        if (i == 4)
            embed->query_prefix = STR("query:\n\"");
        if (i == 5)
            embed->document_prefix = STR("query:\n\"");
        struct models *models = must_make(&options);
        buf_init(&line, NULL, 4096);
        models_embed_identity(models, i == 6 ? 512 : 384, &line, &ids[i]);
        ck_assert(buf_ok(&line));
        ck_assert(str_index(buf_str(&line), '\n') == line.len);
        ck_assert_ptr_null(memmem(line.at, line.len, "key-of-the-test", 15));
        if (i == 0)
            ck_assert(
                str_eq(buf_str(&line), STR("at=\"models.test/v1\" model=\"small\" dimension=384 "
                                           "query_prefix=\"\" document_prefix=\"\"")));
        buf_fini(&line);
        models_free(models);
    }
    ck_assert(ids[0] == ids[1]); /* who pays does not matter */
    for (unsigned i = 2; i < 7; i++) {
        for (unsigned k = 0; k < i; k++)
            ck_assert(ids[i] != ids[k] || (i == 1 && k == 0));
    }
}
END_TEST

START_TEST(options_are_copied)
{
    struct script script;
    char model[] = "small";
    struct models_options options = plain_options(&script);
    options.address[PURPOSE_EMBED].model = (struct str){model, 5};
    struct models *models = must_make(&options);
    memset(model, 'x', 5);
    ck_assert(str_eq(models_address(models, PURPOSE_EMBED)->model, STR("small")));
    ck_assert_uint_eq(models_embed(models)->batch, 8);
    ck_assert_int_eq(models_rerank(models)->format, RERANK_PROBE);
    models_free(models);
}
END_TEST

/* --- calls of several threads on one endpoint --- */

enum { CALLS = 40 };

static bool write_one(void *arg, unsigned halvings, struct buf *out)
{
    (void)arg;
    buf_printf(out, "%u", halvings);
    return halvings == 0;
}

static const struct chat_prompt prompt = {
    .name = "answer", .version = 1, .system = "Answer.", .max_tokens = 10};

/* Each call of the first round is refused once, then all know that max_tokens is not taken. */
static void run_call(struct models *models, bool first)
{
    static const struct script_reply replies[] = {
        {.status = 400, .body = "{\"error\":{\"message\":\"no max_tokens\"}}"},
        {.status = 200, .body = "{\"choices\":[{\"message\":{\"content\":\"hi\"}}]}"}};
    struct script script;
    struct model_call call;
    struct arena *arena = arena_new(1 << 20);
    ck_assert_ptr_nonnull(arena);
    model_call_init(&call, PURPOSE_ANSWER, arena);
    call.chat = (struct chat_ask){.prompt = &prompt, .write = write_one};
    script_init(&script, replies + !first, 1 + first);
    script_run(&script, models, &call);
    ck_assert_int_eq(call.outcome, ERR_OK);
    ck_assert_uint_eq(script.n_asked, 1 + first);
    script_fini(&script);
    arena_free(arena);
}

static void *run_calls(void *arg)
{
    for (unsigned i = 0; i < CALLS; i++)
        run_call(arg, false);
    return NULL;
}

START_TEST(threads_learn_together)
{
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    struct script script;
    struct models_options options = plain_options(&script);
    struct models *models = must_make(&options);
    run_call(models, true);
    for (unsigned i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, run_calls, models), 0);
    for (unsigned i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    models_free(models);
}
END_TEST

/* --- the object in a reply --- */

static const char schema[] =
    "{\"type\":\"object\",\"properties\":{\"title\":{\"type\":\"string\"},\"facts\":{\"type\":"
    "\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"content\":{\"type\":\"string\"}}}}}"
    "}";

START_TEST(replies_are_fitted_to_the_schema)
{
    static const struct {
        const char *said, *object;
    } cases[] = {
        {"{\"title\":\"t\",\"facts\":[]}", "{\"title\":\"t\",\"facts\":[]}"},
        {"[{\"content\":\"a\"},{\"content\":\"b\"}]",
         "{\"facts\":[{\"content\":\"a\"},{\"content\":\"b\"}]}"},
        {"{\"content\":\"a\"}", "{\"facts\":[{\"content\":\"a\"}]}"},
        {"{\"title\":\"t\",\"facts\":{\"content\":\"a\"}}",
         "{\"title\":\"t\",\"facts\":[{\"content\":\"a\"}]}"},
        {"{\"title\":\"t\",\"facts\":null}", "{\"title\":\"t\",\"facts\":[]}"},
        {"[{\"title\":\"t\",\"facts\":[]}]", "{\"title\":\"t\",\"facts\":[]}"},
        {"[]", "{\"facts\":[]}"},
        {"{\"other\":1}", "{\"other\":1}"},
        {"\"{\\\"title\\\":\\\"t\\\"}\"", "{\"title\":\"t\"}"},
        {"no", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct arena *arena = arena_new(1 << 20);
        struct json_t *object = NULL;
        bool cut = false;
        enum err_code code = chat_json_object(arena, str_of(cases[i].said), schema, &object, &cut);
        ck_assert_int_eq(code, cases[i].object != NULL ? ERR_OK : ERR_UNPROCESSABLE);
        if (code == ERR_OK) {
            json_t *want = json_loads(cases[i].object, 0, NULL);
            ck_assert_msg(json_equal(object, want), "%s", cases[i].said);
            json_decref(want);
        }
        base_json_free(object);
        arena_free(arena);
    }
}
END_TEST

START_TEST(errors_of_every_shape)
{
    static const struct {
        const char *body;
        int status;
        const char *words, *message;
    } cases[] = {
        {"{\"error\":{\"message\":\"Bad Thing\",\"type\":\"t\",\"param\":\"p\",\"code\":\"c\"}}", 0,
         "p", "Bad Thing"},
        {"{\"error\":\"Bad\",\"error_type\":\"Validation\"}", 0, "validation", "Bad"},
        {"[{\"error\":{\"code\":429,\"message\":\"Slow\",\"status\":\"RESOURCE_EXHAUSTED\"}}]", 429,
         "resource_exhausted", "Slow"},
        {"{\"object\":\"error\",\"message\":\"Bad\",\"code\":400}", 400, "bad", "Bad"},
        {"{\"code\":\"InvalidParameter\",\"message\":\"Bad\"}", 0, "invalidparameter", "Bad"},
        {"{\"detail\":\"Not Found\"}", 0, "not found", "Not Found"},
        {"{\"detail\":[{\"loc\":[\"body\",\"top_k\"],\"msg\":\"extra\"}]}", 0, "top_k", "extra"},
        {"{\"errors\":[{\"message\":\"first\"},{\"message\":\"second\"}]}", 0, "second", "first"},
        {"{\"error\":{\"message\":\"Provider\",\"metadata\":{\"raw\":\"Deep Cause\"}}}", 0,
         "deep cause", "Provider"},
        {"Plain\nText", 0, "plain", "Plain Text"},
        {"<html>x</html>", 0, "<html>", ""},
        {"", 0, "", ""},
        {"[1,2]", 0, "", ""},
    };
    struct arena *arena = arena_new(1 << 20);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct model_fault fault;
        ck_assert(base_json_fault(arena, str_of(cases[i].body), &fault));
        ck_assert_int_eq(fault.status, cases[i].status);
        ck_assert_msg(str_eq(fault.message, str_of(cases[i].message)), "%s: %.*s", cases[i].body,
                      STR_FMT(fault.message));
        ck_assert_msg(
            memmem(fault.words.at, fault.words.len, cases[i].words, strlen(cases[i].words)) != NULL,
            "%s: %.*s", cases[i].body, STR_FMT(fault.words));
    }
    arena_free(arena);
}
END_TEST

Suite *suite_models(void)
{
    Suite *suite = suite_create("models");
    TCase *tcase = tcase_create("all");
    tcase_add_test(tcase, purposes);
    tcase_add_test(tcase, endpoints_are_shared);
    tcase_add_test(tcase, what_is_not_configured_is_not_there);
    tcase_add_test(tcase, options_that_are_refused);
    tcase_add_test(tcase, identity_of_vectors);
    tcase_add_test(tcase, options_are_copied);
    tcase_add_test(tcase, threads_learn_together);
    tcase_add_test(tcase, replies_are_fitted_to_the_schema);
    tcase_add_test(tcase, errors_of_every_shape);
    suite_add_tcase(suite, tcase);
    return suite;
}
