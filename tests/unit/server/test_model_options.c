/* Which address and which key each purpose gets of a configuration. */
#include <check.h>

#include "server/model_options.h"

enum { WORDS_MAX = 16 };

struct loaded {
    struct config *config;
    struct models_options options;
};

/* Words and variables end with NULL. */
static void load(struct loaded *out, char **words, char **env)
{
    struct err err = {.code = ERR_OK};
    struct config_input input = {.words = words, .env = env};
    *out = (struct loaded){.config = NULL};
    ck_assert_msg(config_load(&input, &out->config, &err) == ERR_OK, "%s", err.message);
    model_options_fill(out->config, &out->options);
}

#define LOAD(out, env, ...)                                                                        \
    do {                                                                                           \
        char words_[WORDS_MAX][128] = {__VA_ARGS__};                                               \
        char *at_[WORDS_MAX + 1] = {NULL};                                                         \
        for (int i_ = 0; i_ < WORDS_MAX && words_[i_][0] != '\0'; i_++)                            \
            at_[i_] = words_[i_];                                                                  \
        load(&(out), at_, env);                                                                    \
    } while (0)

static char openai_url[] = "OPENAI_BASE_URL=https://gate.example/v1";
static char openai_key[] = "OPENAI_API_KEY=sk-env";
static char *both[] = {openai_url, openai_key, NULL};
static char *key_only[] = {openai_key, NULL};
static char *none[] = {NULL};

static void expect(const struct loaded *l, enum model_purpose purpose, const char *base_url,
                   const char *key, const char *model)
{
    const struct model_address *a = &l->options.address[purpose];
    ck_assert_msg(str_eq(a->base_url, str_of(base_url)), "%s: %.*s", model_purpose_slug(purpose),
                  STR_FMT(a->base_url));
    ck_assert_msg(str_eq(a->api_key, str_of(key)), "%s: %.*s", model_purpose_slug(purpose),
                  STR_FMT(a->api_key));
    ck_assert_msg(str_eq(a->model, str_of(model)), "%s: %.*s", model_purpose_slug(purpose),
                  STR_FMT(a->model));
}

START_TEST(nothing_by_accident)
{
    struct loaded l;
    LOAD(l, both, "--llm-api-key=sk-1");
    for (unsigned p = 0; p < MODEL_PURPOSES; p++)
        ck_assert_uint_eq(l.options.address[p].base_url.len, 0);
    config_free(l.config);
    LOAD(l, none, "--llm-model=small", "--embed-model=tiny");
    for (unsigned p = 0; p < MODEL_PURPOSES; p++)
        ck_assert_uint_eq(l.options.address[p].base_url.len, 0);
    config_free(l.config);
}
END_TEST

START_TEST(a_model_and_the_environment)
{
    struct loaded l;
    LOAD(l, both, "--llm-model=small", "--embed-model=tiny");
    expect(&l, PURPOSE_BOUNDARY, "https://gate.example/v1", "sk-env", "small");
    expect(&l, PURPOSE_EMBED, "https://gate.example/v1", "sk-env", "tiny");
    expect(&l, PURPOSE_RERANK, "", "", "");
    config_free(l.config);
    /* of one purpose alone */
    LOAD(l, both, "--llm-answer-model=large");
    expect(&l, PURPOSE_BOUNDARY, "", "", "");
    expect(&l, PURPOSE_ANSWER, "https://gate.example/v1", "sk-env", "large");
    config_free(l.config);
}
END_TEST

START_TEST(the_environment_s_key_stays_at_its_host)
{
    struct loaded l;
    LOAD(l, both, "--llm-base-url=https://other.example/v1", "--llm-model=small",
         "--embed-base-url=https://gate.example:443/v2",
         "--rerank-base-url=http://gate.example/v1");
    expect(&l, PURPOSE_FACTS, "https://other.example/v1", "", "small");
    expect(&l, PURPOSE_EMBED, "https://gate.example:443/v2", "sk-env", "");
    expect(&l, PURPOSE_RERANK, "http://gate.example/v1", "", ""); /* not unencrypted */
    config_free(l.config);
    LOAD(l, key_only, "--llm-base-url=https://api.openai.com/v1",
         "--embed-base-url=https://api.openai.com.evil.example/v1");
    expect(&l, PURPOSE_FACTS, "https://api.openai.com/v1", "sk-env", "");
    expect(&l, PURPOSE_EMBED, "https://api.openai.com.evil.example/v1", "", "");
    config_free(l.config);
    LOAD(l, both, "--llm-base-url=https://gate.example/v1", "--llm-api-key=sk-own");
    expect(&l, PURPOSE_FACTS, "https://gate.example/v1", "sk-own", "");
    config_free(l.config);
}
END_TEST

START_TEST(purposes_of_their_own)
{
    struct loaded l;
    LOAD(l, both, "--llm-base-url=http://one.example/v1", "--llm-api-key=sk-one",
         "--llm-model=small", "--llm-extra-headers=X-A: 1|X-B: 2", "--llm-extra-body={\"a\":1}",
         "--llm-facts-base-url=http://two.example/v1", "--llm-topic-base-url=http://one.example/v2",
         "--llm-topic-extra-body={\"b\":2}", "--llm-answer-base-url=http://three.example/v1",
         "--llm-answer-api-key=sk-three", "--llm-answer-model=large",
         "--llm-describe-base-url=https://gate.example/v1");
    const struct model_address *a = l.options.address;
    expect(&l, PURPOSE_BOUNDARY, "http://one.example/v1", "sk-one", "small");
    expect(&l, PURPOSE_FACTS, "http://two.example/v1", "", "small");
    expect(&l, PURPOSE_TOPIC, "http://one.example/v2", "sk-one", "small");
    expect(&l, PURPOSE_ANSWER, "http://three.example/v1", "sk-three", "large");
    expect(&l, PURPOSE_DESCRIBE, "https://gate.example/v1", "sk-env", "small");
    ck_assert(str_eq(a[PURPOSE_BOUNDARY].extra_headers, STR("X-A: 1\nX-B: 2")));
    ck_assert_uint_eq(a[PURPOSE_FACTS].extra_headers.len, 0);
    ck_assert(str_eq(a[PURPOSE_TOPIC].extra_headers, STR("X-A: 1\nX-B: 2")));
    ck_assert(str_eq(a[PURPOSE_TOPIC].extra_body, STR("{\"b\":2}")));
    ck_assert(str_eq(a[PURPOSE_FACTS].extra_body, STR("{\"a\":1}")));
    config_free(l.config);
}
END_TEST

START_TEST(limits)
{
    struct loaded l;
    LOAD(l, none, "--llm-base-url=http://h/v1", "--llm-timeout-ms=5000",
         "--llm-idle-timeout-ms=700", "--llm-concurrency=3", "--llm-attempts=2",
         "--llm-max-tokens=900", "--llm-temperature=", "--llm-reasoning-effort=low",
         "--embed-dimensions=256", "--embed-send-dimensions",
         "--embed-query-prefix=query: ", "--rerank-format=tei", "--rerank-deadline-ms=1500",
         "--rerank-candidates=20");
    const struct model_address *chat = &l.options.address[PURPOSE_TOPIC];
    ck_assert_int_eq(chat->total_ms, 5000);
    ck_assert_int_eq(chat->idle_ms, 700);
    ck_assert_uint_eq(chat->concurrency, 3);
    ck_assert_uint_eq(chat->attempts, 2);
    ck_assert_uint_eq(l.options.chat.max_tokens, 900);
    ck_assert(l.options.chat.temperature < 0);
    ck_assert(str_eq(l.options.chat.reasoning, STR("low")));
    ck_assert_uint_eq(l.options.embed.dimensions, 256);
    ck_assert(l.options.embed.send_dimensions);
    ck_assert(str_eq(l.options.embed.query_prefix, STR("query: ")));
    ck_assert_int_eq(l.options.rerank.format, RERANK_TEI);
    ck_assert_int_eq(l.options.rerank.deadline_ms, 1500);
    ck_assert_uint_eq(l.options.rerank.candidates, 20);
    ck_assert_int_eq(l.options.address[PURPOSE_RERANK].total_ms, 1500);
    ck_assert_uint_ge(l.options.address[PURPOSE_RERANK].attempts, 1);
    config_free(l.config);
    LOAD(l, none, "--llm-temperature=0.3");
    ck_assert_float_eq_tol(l.options.chat.temperature, 0.3F, 1e-6F);
    config_free(l.config);
}
END_TEST

Suite *suite_model_options(void)
{
    Suite *suite = suite_create("model_options");
    TCase *tcase = tcase_create("all");
    tcase_add_test(tcase, nothing_by_accident);
    tcase_add_test(tcase, a_model_and_the_environment);
    tcase_add_test(tcase, the_environment_s_key_stays_at_its_host);
    tcase_add_test(tcase, purposes_of_their_own);
    tcase_add_test(tcase, limits);
    suite_add_tcase(suite, tcase);
    return suite;
}
