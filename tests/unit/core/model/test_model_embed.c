/* Embedding calls: shapes of replies, batches, texts that fail alone. */
#include <check.h>
#include <math.h>
#include <stdio.h>

#include "tests/fakes/model_script.h"

enum { TEXTS = 12 };

struct embed_case {
    struct script script;
    struct models_options options;
    struct models *models;
    struct arena *arena;
    struct model_call call;
    unsigned long fail_after;
};

static void open_case(struct embed_case *c, const struct script_reply *replies, unsigned n)
{
    memset(c, 0, sizeof *c);
    script_init(&c->script, replies, n);
    c->arena = arena_new(16 << 20);
    ck_assert_ptr_nonnull(c->arena);
    c->options = script_options(&c->script);
}

static void close_case(struct embed_case *c)
{
    models_free(c->models);
    arena_free(c->arena);
    script_fini(&c->script);
}

static void ask(struct embed_case *c, const struct str *texts, uint32_t n, bool is_query)
{
    struct err err = {.code = ERR_OK};
    if (c->models == NULL)
        ck_assert_msg(models_new(&c->options, &c->models, &err) == ERR_OK, "%s", err.message);
    model_call_init(&c->call, PURPOSE_EMBED, c->arena);
    c->call.embed = (struct embed_ask){.texts = texts, .n = n, .is_query = is_query};
    arena_fail_after(c->arena, c->fail_after);
    script_run(&c->script, c->models, &c->call);
    arena_fail_after(c->arena, 0);
}

static const struct str words[TEXTS] = {{"aa", 2}, {"bb", 2}, {"cc", 2}, {"dd", 2},
                                        {"ee", 2}, {"ff", 2}, {"gg", 2}, {"hh", 2},
                                        {"ii", 2}, {"jj", 2}, {"kk", 2}, {"ll", 2}};

static void expect(const struct embed_case *c, enum model_failure failure, unsigned exchanges)
{
    ck_assert_msg(c->call.failure == failure, "%s: %s", model_failure_slug(c->call.failure),
                  c->call.err.message);
    ck_assert_uint_eq(c->script.n_asked, exchanges);
    ck_assert_uint_eq(c->script.next, c->script.n_replies);
}

static void expect_vector(const struct embed_case *c, uint32_t i, float x, float y)
{
    const float *vector = c->call.embed.vectors + (size_t)i * c->call.embed.dimension;
    ck_assert_msg(fabsf(vector[0] - x) < 1e-6F && fabsf(vector[1] - y) < 1e-6F, "%u: %g %g", i,
                  (double)vector[0], (double)vector[1]);
}

static bool sent(const struct embed_case *c, unsigned i, const char *text)
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
#define ONE "{\"embedding\":[3,4]}"
#define TWO ONE "," ONE
#define FOUR TWO "," TWO

START_TEST(asked_and_answered)
{
    struct embed_case c;
    OPEN(c, GIVES("{\"object\":\"list\",\"data\":[{\"object\":\"embedding\",\"index\":1,"
                  "\"embedding\":[0,-2]},{\"index\":0,\"embedding\":[3,4]}],\"model\":\"small\","
                  "\"usage\":{\"prompt_tokens\":8,\"total_tokens\":8}}"));
    c.options.embed.document_prefix = STR("passage: ");
    c.options.embed.query_prefix = STR("query: ");
    ask(&c, words, 2, false);
    expect(&c, MODEL_FAILURE_NONE, 1);
    ck_assert(str_eq(c.script.asked[0].url, STR("http://models.test/v1/embeddings")));
    ck_assert(sent(&c, 0,
                   "{\"model\":\"small\",\"input\":[\"passage: aa\",\"passage: bb\"],"
                   "\"encoding_format\":\"float\"}"));
    ck_assert_uint_eq(c.call.embed.dimension, 2);
    ck_assert_uint_eq(c.call.embed.failed, 0);
    expect_vector(&c, 0, 0.6F, 0.8F);
    expect_vector(&c, 1, 0, -1);
    ck_assert_uint_eq(c.call.usage.tokens_in, 8);
    close_case(&c);
}
END_TEST

START_TEST(queries_have_their_prefix)
{
    struct embed_case c;
    OPEN(c, GIVES("{\"data\":[" ONE "]}"));
    c.options.embed.query_prefix = STR("query: ");
    c.options.embed.dimensions = 2;
    c.options.embed.send_dimensions = true;
    c.options.address[PURPOSE_EMBED].extra_body = STR("{\"truncate\":true}");
    ask(&c, words, 1, true);
    expect(&c, MODEL_FAILURE_NONE, 1);
    ck_assert(sent(&c, 0, "\"input\":[\"query: aa\"]"));
    ck_assert(sent(&c, 0, "\"dimensions\":2"));
    ck_assert(sent(&c, 0, "\"truncate\":true"));
    ck_assert(c.call.usage.estimated);
    close_case(&c);
}
END_TEST

START_TEST(replies_of_every_shape)
{
    static const char *const bodies[] = {
        "{\"data\":[{\"index\":0,\"embedding\":[3,4]},{\"index\":1,\"embedding\":[0,1]}]}",
        "{\"data\":[{\"index\":1,\"embedding\":[0,1]},{\"index\":0,\"embedding\":[3,4]}]}",
        "{\"data\":[{\"embedding\":[3,4]},{\"embedding\":[0,1]}]}",
        /* little-endian floats: 3.0, 4.0 and 0.0, 1.0 */
        "{\"data\":[{\"index\":0,\"embedding\":\"AABAQAAAgEA=\"},"
        "{\"index\":1,\"embedding\":\"AAAAAAAAgD8\"}]}",
        "{\"data\":[{\"index\":0,\"embedding\":\"AABAQAAAgEA=\"},"
        "{\"index\":1,\"embedding\":[0,1]}]}",
        "[[3,4],[0,1]]",
        "{\"model\":\"m\",\"embeddings\":[[3,4],[0,1]]}",
        "{\"embeddings\":{\"float\":[[3,4],[0,1]]}}",
        "[{\"index\":0,\"embedding\":[[3,4]]},{\"index\":1,\"embedding\":[[0,1]]}]",
    };
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        struct embed_case c;
        struct script_reply reply = GIVES(bodies[i]);
        open_case(&c, &reply, 1);
        ask(&c, words, 2, false);
        expect(&c, MODEL_FAILURE_NONE, 1);
        expect_vector(&c, 0, 0.6F, 0.8F);
        expect_vector(&c, 1, 0, 1);
        close_case(&c);
    }
}
END_TEST

START_TEST(replies_that_are_refused)
{
    static const char *const bodies[] = {
        "[[3,4]]",             /* too few */
        "[[3,4],[3,4],[3,4]]", /* too many */
        "{\"data\":[{\"index\":0,\"embedding\":[1,2]},{\"index\":0,\"embedding\":[1,2]}]}",
        "{\"data\":[{\"index\":1,\"embedding\":[1,2]},{\"index\":2,\"embedding\":[1,2]}]}",
        "{\"data\":[{\"index\":-1,\"embedding\":[1,2]},{\"index\":1,\"embedding\":[1,2]}]}",
        "{\"data\":[{\"embedding\":[1,2]},{\"embedding\":[1,2,3]}]}", /* two dimensions */
        "{\"data\":[{\"embedding\":[]},{\"embedding\":[]}]}",
        "{\"data\":[{\"embedding\":[1,\"2\"]},{\"embedding\":[1,2]}]}",
        "{\"data\":[{\"embedding\":\"AABAQAAAgEA=\"},{\"embedding\":\"AABAQ!AAgEA=\"}]}",
        "{\"data\":[{\"embedding\":\"AABAQAAA\"},{\"embedding\":\"AABAQAAA\"}]}", /* 6 bytes */
        "{\"data\":[{\"vector\":[1,2]},{\"vector\":[1,2]}]}",
        "{\"data\":{}}",
        "{}",
        "",
        "<html></html>",
    };
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        struct embed_case c;
        struct script_reply reply = GIVES(bodies[i]);
        open_case(&c, &reply, 1);
        c.options.address[PURPOSE_EMBED].attempts = 1;
        ask(&c, words, 2, false);
        ck_assert_msg(c.call.outcome == ERR_UPSTREAM, "%s", bodies[i]);
        ck_assert(c.call.failure == MODEL_FAILURE_REPLY || c.call.failure == MODEL_FAILURE_SERVER);
        close_case(&c);
    }
}
END_TEST

START_TEST(vectors_without_a_direction_fail_alone)
{
    struct embed_case c;
    /* zeros; a NaN as null; base64 of NaN and 1.0, and of infinity */
    OPEN(c, GIVES("{\"data\":[{\"embedding\":[0,0]},{\"embedding\":[3,4]},"
                  "{\"embedding\":[null,1]},{\"embedding\":\"AADAfwAAgD8=\"},"
                  "{\"embedding\":\"AACAfwAAgD8=\"}]}"));
    ask(&c, words, 5, false);
    expect(&c, MODEL_FAILURE_NONE, 1);
    ck_assert_uint_eq(c.call.embed.failed, 4);
    expect_vector(&c, 0, 0, 0);
    expect_vector(&c, 1, 0.6F, 0.8F);
    for (uint32_t i = 2; i < 5; i++)
        expect_vector(&c, i, 0, 0);
    close_case(&c);
}
END_TEST

START_TEST(vectors_are_cut_and_normalised)
{
    struct embed_case c;
    OPEN(c, GIVES("{\"data\":[{\"embedding\":[3,4,12,84]}]}"),
         GIVES("{\"data\":[{\"embedding\":[3]}]}"));
    c.options.embed.dimensions = 2;
    c.options.address[PURPOSE_EMBED].attempts = 1;
    c.script.n_replies = 1;
    ask(&c, words, 1, false);
    expect(&c, MODEL_FAILURE_NONE, 1);
    ck_assert_uint_eq(c.call.embed.dimension, 2);
    expect_vector(&c, 0, 0.6F, 0.8F);
    ck_assert(!sent(&c, 0, "dimensions"));
    c.script.n_replies = 2;
    ask(&c, words, 1, false);
    expect(&c, MODEL_FAILURE_REPLY, 2);
    ck_assert_ptr_nonnull(strstr(c.call.err.message, "shorter than the configured"));
    close_case(&c);
}
END_TEST

START_TEST(batches_by_count_and_tokens)
{
    struct embed_case c;
    OPEN(c, GIVES("[[1,0],[1,0],[1,0]]"), GIVES("[[1,0]]"), GIVES("[[0,1],[0,1]]"));
    c.options.embed.batch = 3;
    c.options.embed.batch_tokens = 10;
    const struct str texts[] = {{"aa", 2},
                                {"bb", 2},
                                {"cc", 2},
                                {"a text of far more than ten tokens, alone in its batch", 54},
                                {"a text of 5 tokens..", 20},
                                {"a text of 5 tokens..", 20}};
    ask(&c, texts, 6, false);
    expect(&c, MODEL_FAILURE_NONE, 3);
    ck_assert(sent(&c, 0, "[\"aa\",\"bb\",\"cc\"]"));
    expect_vector(&c, 3, 1, 0);
    expect_vector(&c, 5, 0, 1);
    ck_assert_uint_eq(c.call.usage.calls, 3);
    close_case(&c);
}
END_TEST

START_TEST(a_batch_too_large_is_halved_and_remembered)
{
    struct embed_case c;
    OPEN(c, REFUSES(400, "batch size is invalid, it should not be larger than 10"),
         GIVES("{\"data\":[" FOUR "]}"), GIVES("{\"data\":[" FOUR "]}"),
         GIVES("{\"data\":[" FOUR "]}"), GIVES("{\"data\":[" FOUR "]}"),
         GIVES("{\"data\":[" FOUR "]}"), GIVES("{\"data\":[" FOUR "]}"));
    struct model_learned learned;
    c.script.n_replies = 4;
    ask(&c, words, TEXTS, false);
    expect(&c, MODEL_FAILURE_NONE, 4);
    models_learned(c.models, PURPOSE_EMBED, &learned);
    ck_assert_uint_eq(learned.batch, 4);
    c.script.n_replies = 7;
    ask(&c, words, TEXTS, false);
    expect(&c, MODEL_FAILURE_NONE, 7);
    close_case(&c);
}
END_TEST

START_TEST(one_text_too_long_fails_alone)
{
    struct embed_case c;
    OPEN(c, REFUSES(400, "the input length exceeds the context length"), /* aa bb cc dd */
         GIVES("{\"data\":[" TWO "]}"),                                  /* aa bb */
         REFUSES(413, "inputs must have less than 512 tokens"),          /* cc dd */
         REFUSES(413, "inputs must have less than 512 tokens"),          /* cc */
         GIVES("{\"data\":[" ONE "]}"));                                 /* dd */
    struct model_learned learned;
    ask(&c, words, 4, false);
    expect(&c, MODEL_FAILURE_NONE, 5);
    ck_assert_uint_eq(c.call.embed.failed, 1);
    expect_vector(&c, 1, 0.6F, 0.8F);
    expect_vector(&c, 2, 0, 0);
    expect_vector(&c, 3, 0.6F, 0.8F);
    models_learned(c.models, PURPOSE_EMBED, &learned);
    ck_assert_uint_eq(learned.batch, 0); /* a matter of one text, not of a batch */
    close_case(&c);
}
END_TEST

START_TEST(a_first_text_that_fails)
{
    struct embed_case c;
    OPEN(c, REFUSES(400, "odd input"), REFUSES(400, "odd input"), GIVES("{\"data\":[" ONE "]}"));
    ask(&c, words, 2, false);
    expect(&c, MODEL_FAILURE_NONE, 3);
    ck_assert_uint_eq(c.call.embed.failed, 1);
    expect_vector(&c, 0, 0, 0);
    expect_vector(&c, 1, 0.6F, 0.8F);
    close_case(&c);
}
END_TEST

START_TEST(a_request_that_is_wrong_ends_early)
{
    struct embed_case c;
    OPEN(c, REFUSES(400, "no"), REFUSES(400, "no"), REFUSES(400, "no"), REFUSES(400, "no"),
         REFUSES(400, "no"), REFUSES(400, "no"));
    ask(&c, words, 8, false);
    expect(&c, MODEL_FAILURE_REQUEST, 6); /* 8, 4, 2, and three single ones */
    close_case(&c);
    static const struct script_reply single[] = {REFUSES(400, "no")};
    open_case(&c, single, 1);
    ask(&c, words, 1, true);
    expect(&c, MODEL_FAILURE_REQUEST, 1);
    close_case(&c);
    static const struct script_reply missing[] = {REFUSES(404, "The model small does not exist")};
    open_case(&c, missing, 1);
    ask(&c, words, 8, false);
    expect(&c, MODEL_FAILURE_REQUEST, 1);
    close_case(&c);
}
END_TEST

START_TEST(all_texts_fail)
{
    struct embed_case c;
    OPEN(c, GIVES("[[0,0],[0,0]]"));
    ask(&c, words, 2, false);
    expect(&c, MODEL_FAILURE_REPLY, 1);
    close_case(&c);
}
END_TEST

START_TEST(parameters_are_dropped)
{
    struct embed_case c;
    OPEN(c, REFUSES(400, "this model does not support dimensions"),
         REFUSES(400, "unknown field: encoding_format"), GIVES("{\"data\":[" ONE "]}"));
    c.options.embed.dimensions = 2;
    c.options.embed.send_dimensions = true;
    ask(&c, words, 1, false);
    expect(&c, MODEL_FAILURE_NONE, 3);
    ck_assert(!sent(&c, 1, "dimensions"));
    ck_assert(sent(&c, 1, "encoding_format"));
    ck_assert(!sent(&c, 2, "encoding_format"));
    close_case(&c);
}
END_TEST

START_TEST(dimensions_may_not_change_on_the_way)
{
    struct embed_case c;
    OPEN(c, GIVES("[[1,0]]"), GIVES("[[1,0,0]]"));
    c.options.embed.batch = 1;
    c.options.address[PURPOSE_EMBED].attempts = 1;
    ask(&c, words, 2, false);
    expect(&c, MODEL_FAILURE_REPLY, 2);
    close_case(&c);
}
END_TEST

START_TEST(waits_between_batches)
{
    struct embed_case c;
    OPEN(c, GIVES("[[1,0]]"), {.status = 429, .body = "", .retry_after_ms = 3000},
         GIVES("[[0,1]]"));
    c.options.embed.batch = 1;
    ask(&c, words, 2, false);
    expect(&c, MODEL_FAILURE_NONE, 3);
    ck_assert_uint_eq(c.script.n_waited, 1);
    ck_assert_int_ge(c.script.waited_ms[0], 3000);
    expect_vector(&c, 0, 1, 0);
    expect_vector(&c, 1, 0, 1);
    close_case(&c);
}
END_TEST

START_TEST(an_error_inside_200)
{
    struct embed_case c;
    OPEN(c, REFUSES(200, "overloaded"), GIVES("[[1,0]]"));
    ask(&c, words, 1, false);
    expect(&c, MODEL_FAILURE_NONE, 2);
    close_case(&c);
}
END_TEST

START_TEST(memory_may_be_short)
{
    static const struct script_reply replies[] = {
        REFUSES(413, ""), GIVES("{\"data\":[{\"embedding\":\"AABAQAAAgEA=\"}]}"),
        GIVES("{\"data\":[" ONE "]}")};
    unsigned failures = 0;
    for (unsigned long n = 1;; n++) {
        struct embed_case c;
        open_case(&c, replies, 3);
        c.options.embed.document_prefix = STR("passage: ");
        c.fail_after = n;
        ask(&c, words, 2, false);
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

Suite *suite_model_embed(void)
{
    Suite *suite = suite_create("model_embed");
    TCase *tcase = tcase_create("all");
    tcase_add_test(tcase, asked_and_answered);
    tcase_add_test(tcase, queries_have_their_prefix);
    tcase_add_test(tcase, replies_of_every_shape);
    tcase_add_test(tcase, replies_that_are_refused);
    tcase_add_test(tcase, vectors_without_a_direction_fail_alone);
    tcase_add_test(tcase, vectors_are_cut_and_normalised);
    tcase_add_test(tcase, batches_by_count_and_tokens);
    tcase_add_test(tcase, a_batch_too_large_is_halved_and_remembered);
    tcase_add_test(tcase, one_text_too_long_fails_alone);
    tcase_add_test(tcase, a_first_text_that_fails);
    tcase_add_test(tcase, a_request_that_is_wrong_ends_early);
    tcase_add_test(tcase, all_texts_fail);
    tcase_add_test(tcase, parameters_are_dropped);
    tcase_add_test(tcase, dimensions_may_not_change_on_the_way);
    tcase_add_test(tcase, waits_between_batches);
    tcase_add_test(tcase, an_error_inside_200);
    tcase_add_test(tcase, memory_may_be_short);
    suite_add_tcase(suite, tcase);
    return suite;
}
