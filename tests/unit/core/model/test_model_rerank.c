/* Rerank calls: every form of request and reply, the probe, parts, scores. */
#include <check.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>

#include "tests/fakes/model_script.h"

struct rerank_case {
    struct script script;
    struct models_options options;
    struct models *models;
    struct arena *arena;
    struct model_call call;
    unsigned long fail_after;
};

static void open_case(struct rerank_case *c, const struct script_reply *replies, unsigned n)
{
    memset(c, 0, sizeof *c);
    script_init(&c->script, replies, n);
    c->arena = arena_new(16 << 20);
    ck_assert_ptr_nonnull(c->arena);
    c->options = script_options(&c->script);
}

static void close_case(struct rerank_case *c)
{
    models_free(c->models);
    arena_free(c->arena);
    script_fini(&c->script);
}

static const struct str documents[] = {{"cats", 4}, {"", 0}, {"dogs", 4}, {" \t", 2}, {"birds", 5}};

static void ask(struct rerank_case *c, const struct str *texts, uint32_t n)
{
    struct err err = {.code = ERR_OK};
    if (c->models == NULL)
        ck_assert_msg(models_new(&c->options, &c->models, &err) == ERR_OK, "%s", err.message);
    model_call_init(&c->call, PURPOSE_RERANK, c->arena);
    c->call.rerank = (struct rerank_ask){.query = STR("who barks?"), .documents = texts, .n = n};
    arena_fail_after(c->arena, c->fail_after);
    script_run(&c->script, c->models, &c->call);
    arena_fail_after(c->arena, 0);
}

static void expect(const struct rerank_case *c, enum model_failure failure, unsigned exchanges)
{
    ck_assert_msg(c->call.failure == failure, "%s: %s", model_failure_slug(c->call.failure),
                  c->call.err.message);
    ck_assert_uint_eq(c->script.n_asked, exchanges);
    ck_assert_uint_eq(c->script.next, c->script.n_replies);
}

static void expect_score(const struct rerank_case *c, uint32_t i, float score)
{
    ck_assert_msg(fabsf(c->call.rerank.scores[i] - score) < 1e-5F, "%u: %g", i,
                  (double)c->call.rerank.scores[i]);
}

static bool sent(const struct rerank_case *c, unsigned i, const char *text)
{
    struct str body = c->script.asked[i].body;
    return memmem(body.at, body.len, text, strlen(text)) != NULL;
}

#define OPEN(c, ...)                                                                               \
    static const struct script_reply script_[] = {__VA_ARGS__};                                    \
    open_case(&(c), script_, sizeof script_ / sizeof script_[0])
#define GIVES(text)                                                                                \
    {                                                                                              \
        .status = 200, .body = text                                                                \
    }
#define REFUSES(code, text)                                                                        \
    {                                                                                              \
        .status = code, .body = "{\"error\":{\"message\":\"" text "\"}}"                           \
    }
#define THREE                                                                                      \
    "[{\"index\":1,\"relevance_score\":0.9},{\"index\":0,\"relevance_score\":0.2},"                \
    "{\"index\":2,\"relevance_score\":0.1}]"

START_TEST(asked_and_answered)
{
    struct rerank_case c;
    OPEN(c, GIVES("{\"id\":\"x\",\"results\":" THREE ",\"usage\":{\"total_tokens\":9}}"));
    ask(&c, documents, 5);
    expect(&c, MODEL_FAILURE_NONE, 1);
    ck_assert(str_eq(c.script.asked[0].url, STR("http://models.test/v1/rerank")));
    ck_assert(sent(&c, 0,
                   "{\"model\":\"small\",\"query\":\"who barks?\",\"documents\":[\"cats\","
                   "\"dogs\",\"birds\"],\"top_n\":3,\"return_documents\":false}"));
    expect_score(&c, 0, 0.2F);
    expect_score(&c, 1, -1);
    expect_score(&c, 2, 0.9F);
    expect_score(&c, 3, -1);
    expect_score(&c, 4, 0.1F);
    ck_assert_uint_eq(c.call.usage.tokens_in, 9);
    ck_assert_int_eq(c.script.asked[0].total_ms, 30000);
    close_case(&c);
}
END_TEST

START_TEST(forms_of_requests)
{
    static const struct {
        enum rerank_format format;
        const char *url, *body;
    } cases[] = {
        {RERANK_COHERE, "http://models.test/v1/rerank", "\"top_n\":3"},
        {RERANK_TEI, "http://models.test/v1/rerank",
         "{\"query\":\"who barks?\",\"texts\":[\"cats\",\"dogs\",\"birds\"]}"},
        {RERANK_VOYAGE, "http://models.test/v1/rerank",
         "\"documents\":[\"cats\",\"dogs\",\"birds\"],\"top_k\":3}"},
        {RERANK_DASHSCOPE, "http://models.test/v1/services/rerank/text-rerank/text-rerank",
         "\"input\":{\"query\":\"who barks?\",\"documents\":[\"cats\",\"dogs\",\"birds\"]},"
         "\"parameters\":{\"top_n\":3,\"return_documents\":false}}"},
        {RERANK_DEEPINFRA, "http://models.test/v1/inference/org/small%20one",
         "{\"queries\":[\"who barks?\"],\"documents\":[\"cats\",\"dogs\",\"birds\"]}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rerank_case c;
        struct script_reply reply = GIVES("{\"results\":" THREE "}");
        open_case(&c, &reply, 1);
        c.options.rerank.format = cases[i].format;
        c.options.address[PURPOSE_RERANK].model = STR("org/small one");
        ask(&c, documents, 5);
        expect(&c, MODEL_FAILURE_NONE, 1);
        ck_assert_msg(str_eq(c.script.asked[0].url, str_of(cases[i].url)), "%s", cases[i].url);
        ck_assert_msg(sent(&c, 0, cases[i].body), "%.*s", STR_FMT(c.script.asked[0].body));
        close_case(&c);
    }
}
END_TEST

START_TEST(replies_of_every_shape)
{
    static const char *const bodies[] = {
        "{\"results\":" THREE "}",
        "{\"object\":\"list\",\"data\":" THREE ",\"model\":\"m\"}",
        "{\"output\":{\"results\":" THREE "},\"request_id\":\"x\"}",
        THREE,
        "[{\"index\":1,\"score\":0.9,\"text\":\"dogs\"},{\"index\":0,\"score\":0.2},"
        "{\"index\":2,\"score\":0.1}]",
        "{\"scores\":[0.2,0.9,0.1],\"input_tokens\":5}",
        "{\"scores\":[[0.2,0.9,0.1]]}",
        "{\"results\":[{\"index\":1,\"document\":{\"text\":\"dogs\"},\"relevance_score\":0.9},"
        "{\"index\":0,\"relevance_score\":0.2},{\"index\":2,\"relevance_score\":0.1}]}",
    };
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        struct rerank_case c;
        struct script_reply reply = GIVES(bodies[i]);
        open_case(&c, &reply, 1);
        ask(&c, documents, 5);
        expect(&c, MODEL_FAILURE_NONE, 1);
        expect_score(&c, 0, 0.2F);
        expect_score(&c, 2, 0.9F);
        expect_score(&c, 4, 0.1F);
        close_case(&c);
    }
}
END_TEST

START_TEST(replies_that_are_refused)
{
    static const char *const bodies[] = {
        "{\"results\":[{\"index\":3,\"relevance_score\":0.5}]}",
        "{\"results\":[{\"index\":-1,\"relevance_score\":0.5}]}",
        "{\"results\":[{\"relevance_score\":0.5}]}",
        "{\"results\":[{\"index\":0,\"relevance_score\":\"high\"}]}",
        "{\"results\":[{\"index\":0}]}",
        "{\"results\":[]}",
        "{\"scores\":[0.1,0.2]}",
        "{\"answer\":1}",
        "",
    };
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        struct rerank_case c;
        struct script_reply reply = GIVES(bodies[i]);
        open_case(&c, &reply, 1);
        c.options.rerank.format = RERANK_COHERE;
        c.options.address[PURPOSE_RERANK].attempts = 1;
        ask(&c, documents, 5);
        ck_assert_msg(c.call.outcome == ERR_UPSTREAM, "%s", bodies[i]);
        close_case(&c);
    }
}
END_TEST

START_TEST(missing_scores_rank_last)
{
    struct rerank_case c;
    OPEN(c, GIVES("{\"results\":[{\"index\":1,\"relevance_score\":0.9}]}"));
    ask(&c, documents, 5);
    expect(&c, MODEL_FAILURE_NONE, 1);
    expect_score(&c, 0, -1);
    expect_score(&c, 2, 0.9F);
    close_case(&c);
}
END_TEST

START_TEST(logits_become_scores)
{
    struct rerank_case c;
    OPEN(c, GIVES("{\"results\":[{\"index\":0,\"relevance_score\":-2.0},"
                  "{\"index\":1,\"relevance_score\":0.5},{\"index\":2,\"relevance_score\":7}]}"));
    ask(&c, documents, 5);
    expect(&c, MODEL_FAILURE_NONE, 1);
    expect_score(&c, 0, 0.1192029F);
    expect_score(&c, 2, 0.6224593F); /* all of them, or the order would change */
    expect_score(&c, 4, 0.9990889F);
    close_case(&c);
}
END_TEST

START_TEST(probe_finds_the_form_once)
{
    struct rerank_case c;
    OPEN(c, REFUSES(422, "missing field texts"), GIVES("[{\"index\":0,\"score\":0.5}]"),
         GIVES("[{\"index\":0,\"score\":0.5}]"));
    struct model_learned learned;
    c.options.address[PURPOSE_RERANK].base_url = STR("http://models.test/");
    c.script.n_replies = 2;
    ask(&c, documents, 5);
    expect(&c, MODEL_FAILURE_NONE, 2);
    models_learned(c.models, PURPOSE_RERANK, &learned);
    ck_assert_str_eq(learned.rerank, "tei");
    c.script.n_replies = 3;
    ask(&c, documents, 5);
    expect(&c, MODEL_FAILURE_NONE, 3);
    ck_assert(sent(&c, 2, "\"texts\""));
    ck_assert(str_eq(c.script.asked[2].url, STR("http://models.test/rerank")));
    close_case(&c);
}
END_TEST

START_TEST(probe_goes_through_all_forms)
{
    struct rerank_case c;
    OPEN(c, REFUSES(404, "no"), REFUSES(405, "no"), REFUSES(400, "no"), GIVES("{\"hello\":1}"),
         GIVES("{\"scores\":[0.1,0.2,0.3]}"));
    struct model_learned learned;
    ask(&c, documents, 5);
    expect(&c, MODEL_FAILURE_NONE, 5);
    models_learned(c.models, PURPOSE_RERANK, &learned);
    ck_assert_str_eq(learned.rerank, "deepinfra");
    close_case(&c);
    static const struct script_reply none[] = {REFUSES(404, "no"), REFUSES(404, "no"),
                                               REFUSES(404, "no"), REFUSES(404, "no"),
                                               REFUSES(404, "no")};
    open_case(&c, none, 5);
    ask(&c, documents, 5);
    expect(&c, MODEL_FAILURE_REQUEST, 5);
    models_learned(c.models, PURPOSE_RERANK, &learned);
    ck_assert_ptr_null(learned.rerank);
    close_case(&c);
}
END_TEST

START_TEST(a_chosen_form_is_not_probed)
{
    struct rerank_case c;
    OPEN(c, REFUSES(422, "missing field texts"));
    c.options.rerank.format = RERANK_COHERE;
    ask(&c, documents, 5);
    expect(&c, MODEL_FAILURE_REQUEST, 1);
    close_case(&c);
}
END_TEST

START_TEST(parameters_are_dropped)
{
    struct rerank_case c;
    OPEN(c, REFUSES(400, "unknown field: parameter 'return_documents' is not a valid field"),
         REFUSES(400, "Argument 'top_n' is not supported"), GIVES("{\"data\":" THREE "}"));
    ask(&c, documents, 5);
    expect(&c, MODEL_FAILURE_NONE, 3);
    ck_assert(!sent(&c, 2, "top_n"));
    ck_assert(!sent(&c, 2, "return_documents"));
    close_case(&c);
    static const struct script_reply queries[] = {
        REFUSES(422, "queries and documents must have the same length"),
        GIVES("{\"scores\":[0.1,0.2,0.3]}")};
    open_case(&c, queries, 2);
    c.options.rerank.format = RERANK_DEEPINFRA;
    ask(&c, documents, 5);
    expect(&c, MODEL_FAILURE_NONE, 2);
    ck_assert(sent(&c, 1, "\"queries\":[\"who barks?\",\"who barks?\",\"who barks?\"]"));
    close_case(&c);
}
END_TEST

START_TEST(candidates_and_characters_are_capped)
{
    struct rerank_case c;
    OPEN(c, GIVES("{\"results\":[{\"index\":0,\"relevance_score\":1},"
                  "{\"index\":1,\"relevance_score\":0}]}"));
    c.options.rerank.candidates = 2;
    c.options.rerank.chars = 3;
    const struct str texts[] = {STR("\xc3\xa4\xc3\xb6\xc3\xbc\xc3\x9f"), STR("abc"), STR("third")};
    ask(&c, texts, 3);
    expect(&c, MODEL_FAILURE_NONE, 1);
    ck_assert(sent(&c, 0, "[\"\xc3\xa4\xc3\xb6\xc3\xbc\",\"abc\"]"));
    expect_score(&c, 2, -1);
    close_case(&c);
}
END_TEST

START_TEST(too_many_go_in_parts)
{
    struct rerank_case c;
    OPEN(c, REFUSES(413, "batch size 3 > maximum allowed batch size 1"),
         GIVES("{\"results\":[{\"index\":0,\"relevance_score\":-1}]}"),
         GIVES("{\"results\":[{\"index\":0,\"relevance_score\":0.5}]}"),
         GIVES("{\"results\":[{\"index\":0,\"relevance_score\":0.7}]}"));
    struct model_learned learned;
    ask(&c, documents, 5);
    expect(&c, MODEL_FAILURE_NONE, 4);
    expect_score(&c, 0, 0.2689414F); /* a logit in one part makes all of them logits */
    expect_score(&c, 2, 0.6224593F);
    expect_score(&c, 4, 0.6681878F);
    models_learned(c.models, PURPOSE_RERANK, &learned);
    ck_assert_uint_eq(learned.batch, 1);
    close_case(&c);
}
END_TEST

START_TEST(too_long_is_cut)
{
    struct rerank_case c;
    OPEN(c, REFUSES(400, "This model's maximum context length is 8 tokens"),
         GIVES("{\"results\":[{\"index\":0,\"relevance_score\":0.5}]}"));
    c.options.rerank.chars = 4;
    const struct str texts[] = {STR("abcdefgh")};
    ask(&c, texts, 1);
    expect(&c, MODEL_FAILURE_NONE, 2);
    ck_assert(sent(&c, 0, "[\"abcd\"]"));
    ck_assert(sent(&c, 1, "[\"ab\"]"));
    close_case(&c);
}
END_TEST

START_TEST(nothing_to_rank)
{
    struct rerank_case c;
    open_case(&c, NULL, 0);
    ask(&c, documents, 0);
    expect(&c, MODEL_FAILURE_NONE, 0);
    ask(&c, documents + 1, 1);
    expect(&c, MODEL_FAILURE_NONE, 0);
    expect_score(&c, 0, -1);
    close_case(&c);
}
END_TEST

START_TEST(deadline)
{
    struct rerank_case c;
    OPEN(c, {.status = 0}, {.status = 503, .body = "", .retry_after_ms = 5000});
    c.options.rerank.deadline_ms = 3000;
    ask(&c, documents, 5);
    expect(&c, MODEL_FAILURE_DEADLINE, 2);
    ck_assert_int_eq(c.script.asked[0].total_ms, 3000);
    ck_assert_int_lt(c.script.asked[1].total_ms, 3000);
    close_case(&c);
}
END_TEST

START_TEST(memory_may_be_short)
{
    static const struct script_reply replies[] = {
        REFUSES(422, "missing field texts"), REFUSES(413, "batch size"),
        GIVES("[{\"index\":0,\"score\":0.5}]"), GIVES("[{\"index\":0,\"score\":0.5}]"),
        GIVES("[{\"index\":0,\"score\":0.5}]")};
    unsigned failures = 0;
    for (unsigned long n = 1;; n++) {
        struct rerank_case c;
        open_case(&c, replies, 5);
        c.fail_after = n;
        ask(&c, documents, 5);
        bool works = c.call.outcome == ERR_OK;
        ck_assert(works || c.call.outcome == ERR_EXHAUSTED);
        failures += !works;
        close_case(&c);
        if (works)
            break;
        ck_assert_uint_lt(n, 300);
    }
    ck_assert_uint_gt(failures, 10);
}
END_TEST

/* --- jansson's own memory --- */

static unsigned long json_fail_in; /* 0: never */

static void *json_alloc(size_t size)
{
    return json_fail_in != 0 && --json_fail_in == 0 ? NULL : malloc(size);
}

START_TEST(the_parser_s_memory_may_be_short)
{
    /* A document that could not be read counts as none, and is asked for again. */
    static const struct script_reply replies[] = {
        REFUSES(422, "missing field texts"),    GIVES("[{\"index\":0,\"score\":0.5}]"),
        GIVES("[{\"index\":0,\"score\":0.5}]"), GIVES("[{\"index\":0,\"score\":0.5}]"),
        GIVES("[{\"index\":0,\"score\":0.5}]"), GIVES("[{\"index\":0,\"score\":0.5}]")};
    json_set_alloc_funcs(json_alloc, free);
    unsigned failures = 0;
    for (unsigned long n = 1; n < 300; n++) {
        struct rerank_case c;
        open_case(&c, replies, 6);
        struct err err = {.code = ERR_OK};
        ck_assert_int_eq(models_new(&c.options, &c.models, &err), ERR_OK);
        json_fail_in = n;
        ask(&c, documents, 5);
        bool failed = json_fail_in == 0;
        json_fail_in = 0;
        ck_assert(c.call.outcome == ERR_OK || c.call.outcome == ERR_EXHAUSTED);
        failures += failed;
        close_case(&c);
        if (!failed)
            break;
    }
    ck_assert_uint_gt(failures, 20);
    ck_assert_uint_lt(failures, 299);
}
END_TEST

Suite *suite_model_rerank(void)
{
    Suite *suite = suite_create("model_rerank");
    TCase *tcase = tcase_create("all");
    tcase_add_test(tcase, asked_and_answered);
    tcase_add_test(tcase, forms_of_requests);
    tcase_add_test(tcase, replies_of_every_shape);
    tcase_add_test(tcase, replies_that_are_refused);
    tcase_add_test(tcase, missing_scores_rank_last);
    tcase_add_test(tcase, logits_become_scores);
    tcase_add_test(tcase, probe_finds_the_form_once);
    tcase_add_test(tcase, probe_goes_through_all_forms);
    tcase_add_test(tcase, a_chosen_form_is_not_probed);
    tcase_add_test(tcase, parameters_are_dropped);
    tcase_add_test(tcase, candidates_and_characters_are_capped);
    tcase_add_test(tcase, too_many_go_in_parts);
    tcase_add_test(tcase, too_long_is_cut);
    tcase_add_test(tcase, nothing_to_rank);
    tcase_add_test(tcase, deadline);
    tcase_add_test(tcase, memory_may_be_short);
    tcase_add_test(tcase, the_parser_s_memory_may_be_short);
    suite_add_tcase(suite, tcase);
    return suite;
}
