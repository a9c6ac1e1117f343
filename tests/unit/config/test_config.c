#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/config.h"

enum { WORDS_MAX = 16, OUT_BYTES = 1 << 18 };

/* One load: what goes in, and what came of it. */
struct load {
    char *words[WORDS_MAX];
    char *env[WORDS_MAX];
    struct config_option options[2];
    struct config_input input;
    struct config *config;
    struct err err;
    enum err_code code;
};

static struct load load_with(const char *words, const char *env)
{
    static char copies[2][4096];
    struct load load = {.options = {{.name = "to", .has_value = true}, {.name = "digest"}}};
    const char *texts[2] = {words, env};
    char **lists[2] = {load.words, load.env};
    for (int i = 0; i < 2; i++) {
        (void)snprintf(copies[i], sizeof copies[i], "%s", texts[i]);
        char *rest = copies[i];
        for (int n = 0; rest != NULL && *rest != '\0' && n < WORDS_MAX - 1; n++) {
            lists[i][n] = rest;
            rest = strchr(rest, '|');
            if (rest != NULL)
                *rest++ = '\0';
        }
    }
    return load;
}

/* Words and variables are separated by "|". The result is valid until the next call. */
static void run_load(struct load *load, const char *words, const char *env)
{
    *load = load_with(words, env);
    load->input = (struct config_input){.words = load->words,
                                        .env = load->env,
                                        .options = load->options,
                                        .n_options = 2,
                                        .max_operands = 1};
    load->code = config_load(&load->input, &load->config, &load->err);
}

static struct config *must_load(struct load *load, const char *words, const char *env)
{
    run_load(load, words, env);
    ck_assert_msg(load->code == ERR_OK, "%s", load->err.message);
    return load->config;
}

static void must_fail(const char *words, const char *env, const char *said)
{
    struct load load;
    run_load(&load, words, env);
    ck_assert_msg(load.code != ERR_OK, "'%s' '%s' was taken", words, env);
    ck_assert_ptr_null(load.config);
    ck_assert_msg(strstr(load.err.message, said) != NULL, "'%s' does not say '%s'",
                  load.err.message, said);
}

static void write_file(char path[64], const char *text)
{
    (void)snprintf(path, 64, "/tmp/hmtest-config-XXXXXX");
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    ck_assert_int_eq(close(fd), 0);
}

static void fail_with_file(const char *text, const char *said)
{
    char path[64];
    char words[128];
    write_file(path, text);
    (void)snprintf(words, sizeof words, "--config|%s", path);
    must_fail(words, "", said);
    ck_assert_int_eq(unlink(path), 0);
}

START_TEST(defaults)
{
    struct load load;
    const struct config *config = must_load(&load, "", "");
    ck_assert(str_eq(config->server.listen.host, STR("127.0.0.1")));
    ck_assert_uint_eq(config->server.listen.port, 7070);
    ck_assert(config->server.listen.is_loopback);
    ck_assert_uint_eq(config->server.request_timeout_s, 60);
    ck_assert_uint_eq(config->memory.idle_close_s, 900);
    ck_assert(config->memory.auto_create);
    ck_assert_uint_eq(config->access.api_key.len, 0);
    ck_assert_uint_eq(config->access.allowed_hosts.n, 0);
    ck_assert_int_eq(config->log.level, LOG_INFO);
    ck_assert(!config->log.json);
    ck_assert_int_eq(config->terminal.color, COLOR_AUTO);
    for (unsigned i = 0; i < CONFIG_COUNT; i++)
        ck_assert_int_eq(config->origin[i].source, SOURCE_DEFAULT);
    config_free(load.config);
}
END_TEST

START_TEST(both_flag_forms)
{
    struct load load;
    const struct config *config =
        must_load(&load, "--readers|7|--stage-workers=9|--log-format=json", "");
    ck_assert_uint_eq(config->server.readers, 7);
    ck_assert_uint_eq(config->server.stage_workers, 9);
    ck_assert(config->log.json);
    config_free(load.config);
}
END_TEST

START_TEST(bool_flags)
{
    static const struct {
        const char *words;
        bool value;
    } cases[] = {{"--auto-create", true},
                 {"--auto-create|false", false},
                 {"--auto-create=off", false},
                 {"--auto-create=yes", true},
                 {"--auto-create|0", false},
                 {"--auto-create|operand", true},
                 {"--auto-create|--readers|1", true}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct load load;
        const struct config *config = must_load(&load, cases[i].words, "");
        ck_assert_msg(config->memory.auto_create == cases[i].value, "%s", cases[i].words);
        config_free(load.config);
    }
    must_fail("--auto-create=maybe", "", "true or false");
}
END_TEST

START_TEST(precedence)
{
    char path[64];
    char env[256];
    struct load load;
    write_file(path, "[server]\nreaders = 1\nstage_workers = 1\n; note\nidle_timeout_s = 1\n");
    (void)snprintf(env, sizeof env,
                   "HYPERMEM_CONFIG=%s|HYPERMEM_READERS=2|HYPERMEM_STAGE_WORKERS=2|PATH=/bin",
                   path);
    const struct config *config = must_load(&load, "--readers=3", env);
    ck_assert_uint_eq(config->server.readers, 3);
    ck_assert_uint_eq(config->server.stage_workers, 2);
    ck_assert_uint_eq(config->server.idle_timeout_s, 1);
    ck_assert_int_eq(config->origin[CONFIG_READERS].source, SOURCE_FLAG);
    ck_assert_int_eq(config->origin[CONFIG_STAGE_WORKERS].source, SOURCE_ENV);
    ck_assert_int_eq(config->origin[CONFIG_IDLE_TIMEOUT].source, SOURCE_FILE);
    config_free(load.config);
    ck_assert_int_eq(unlink(path), 0);
}
END_TEST

START_TEST(config_flag_outranks_config_variable)
{
    char one[64];
    char two[64];
    char words[128];
    char env[128];
    struct load load;
    write_file(one, "readers = 1\n");
    write_file(two, "readers = 2\n");
    (void)snprintf(words, sizeof words, "--config=%s", two);
    (void)snprintf(env, sizeof env, "HYPERMEM_CONFIG=%s", one);
    ck_assert_uint_eq(must_load(&load, words, env)->server.readers, 2);
    config_free(load.config);
    ck_assert_int_eq(unlink(one), 0);
    ck_assert_int_eq(unlink(two), 0);
}
END_TEST

START_TEST(empty_variables_are_not_set)
{
    struct load load;
    const struct config *config =
        must_load(&load, "", "HYPERMEM_READERS=|HYPERMEM_API_KEY_FILE=|HYPERMEM_CONFIG=|NO_COLOR=");
    ck_assert_int_eq(config->origin[CONFIG_READERS].source, SOURCE_DEFAULT);
    ck_assert_int_eq(config->terminal.color, COLOR_AUTO);
    config_free(load.config);
}
END_TEST

START_TEST(unknown_names)
{
    must_fail("--data-dri|x", "", "--data-dir");
    must_fail("--LISTEN=x", "", "--listen");
    must_fail("--data_dir=x", "", "--data-dir");
    must_fail("--api-key-fiel=x", "", "--api-key-file");
    must_fail("--readers-file=x", "", "--readers");
    must_fail("--digset", "", "--digest");
    must_fail("--hepl", "", "--help");
    must_fail("", "HYPERMEM_REDAERS=1", "HYPERMEM_READERS");
    must_fail("", "HYPERMEM_CONFG=1", "HYPERMEM_CONFIG");
    must_fail("", "HYPERMEM_", "did you mean");
    must_fail("", "HYPERMEM_api_key=1", "HYPERMEM_API_KEY");
    must_fail("operand|second", "", "second");
}
END_TEST

START_TEST(values_out_of_range)
{
    must_fail("--max-connections=3", "", "from 4 to 65536");
    must_fail("--max-connections=65537", "", "from 4 to 65536");
    must_fail("--max-connections=-5", "", "whole number");
    must_fail("--max-connections=1e3", "", "whole number");
    must_fail("--max-connections=99999999999999999999999", "", "whole number");
    must_fail("--max-connections=", "", "whole number");
    must_fail("--max-connections", "", "wants a value");
    must_fail("--log-level=loud", "", "error, warn, info or debug");
    must_fail("--log-format=xml", "", "text or json");
    must_fail("--color=blue", "", "auto, always or never");
    must_fail("--data-dir=", "", "a path");
    must_fail("--api-key=a\nb", "", "control characters");
    must_fail("--allowed-hosts=a,,b", "", "host names");
    must_fail("--allowed-hosts=a/b", "", "host names");
    must_fail("--allowed-hosts=a:80", "", "without ports");
    must_fail("", "HYPERMEM_READERS=many", "whole number");
    must_fail("--llm-base-url=host/v1", "", "http:// or https://");
    must_fail("--llm-temperature=2.1", "", "decimal number");
    must_fail("--llm-temperature=-1", "", "decimal number");
    must_fail("--llm-temperature=warm", "", "decimal number");
    must_fail("--embed-extra-headers=a\x01", "", "Name: value");
    must_fail("--rerank-format=best", "", "dashscope");
    must_fail("--llm-boundry-model=x", "", "--llm-boundary-model");
}
END_TEST

START_TEST(addresses)
{
    static const struct {
        const char *text, *host;
        unsigned port;
        bool v6, loopback;
    } good[] = {{"127.0.0.1:0", "127.0.0.1", 0, false, true},
                {"127.9.8.7:80", "127.9.8.7", 80, false, true},
                {"localhost:7070", "127.0.0.1", 7070, false, true},
                {"0.0.0.0:65535", "0.0.0.0", 65535, false, false},
                {"192.168.1.10:1", "192.168.1.10", 1, false, false},
                {"[::1]:7070", "::1", 7070, true, true},
                {"[::]:7070", "::", 7070, true, false},
                {"[fe80::1]:7070", "fe80::1", 7070, true, false},
                {"[::ffff:127.0.0.1]:7070", "::ffff:127.0.0.1", 7070, true, false}};
    static const char *const bad[] = {"",
                                      "7070",
                                      ":7070",
                                      "127.0.0.1",
                                      "127.0.0.1:",
                                      "127.1:80",
                                      "127.0.0.256:80",
                                      "127.0.0.1.:80",
                                      "127.0.0.01:80",
                                      "1.2.3.4.5:80",
                                      "::1:7070",
                                      "[::1]",
                                      "[]:80",
                                      "[127.0.0.1]:80",
                                      "host.example:80",
                                      "127.0.0.1:65536",
                                      "127.0.0.1:-1",
                                      "127.0.0.1:8x",
                                      "127.evil.example.com:80",
                                      "[::g]:80"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        struct load load;
        char words[128];
        (void)snprintf(words, sizeof words, "--listen|%s", good[i].text);
        const struct config_address *address = &must_load(&load, words, "")->server.listen;
        ck_assert_msg(str_eq(address->host, str_of(good[i].host)), "%s", good[i].text);
        ck_assert_uint_eq(address->port, good[i].port);
        ck_assert_msg(address->is_ipv6 == good[i].v6, "%s", good[i].text);
        ck_assert_msg(address->is_loopback == good[i].loopback, "%s", good[i].text);
        config_free(load.config);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char words[128];
        (void)snprintf(words, sizeof words, "--listen=%s", bad[i]);
        must_fail(words, "", "ADDRESS:PORT");
    }
}
END_TEST

START_TEST(open_address_wants_a_key)
{
    struct load load;
    struct err err;
    ck_assert_int_eq(config_check_serve(must_load(&load, "", ""), &err), ERR_OK);
    config_free(load.config);
    ck_assert_int_eq(config_check_serve(must_load(&load, "--listen=0.0.0.0:80", ""), &err),
                     ERR_PRECONDITION);
    ck_assert_str_eq(err.param, "api_key");
    config_free(load.config);
    ck_assert_int_eq(
        config_check_serve(must_load(&load, "--listen=0.0.0.0:80|--api-key=k", ""), &err), ERR_OK);
    config_free(load.config);
}
END_TEST

START_TEST(secrets_by_file)
{
    char path[64];
    char text[256];
    struct load load;
    write_file(path, "  s3cret \r\n");
    (void)snprintf(text, sizeof text, "HYPERMEM_API_KEY_FILE=%s", path);
    ck_assert(str_eq(must_load(&load, "", text)->access.api_key, STR("s3cret")));
    config_free(load.config);
    (void)snprintf(text, sizeof text, "--api-key-file|%s", path);
    ck_assert(
        str_eq(must_load(&load, text, "HYPERMEM_API_KEY=other")->access.api_key, STR("s3cret")));
    config_free(load.config);
    (void)snprintf(text, sizeof text, "HYPERMEM_API_KEY=k|HYPERMEM_API_KEY_FILE=%s", path);
    must_fail("", text, "both");
    must_fail("--api-key-file=/nowhere/at/all", "", "/nowhere/at/all");
    must_fail("--api-key-file=/dev/null", "", "is empty");
    must_fail("--api-key-file=/dev/zero", "", "over");
    ck_assert_int_eq(unlink(path), 0);
}
END_TEST

START_TEST(values_of_models)
{
    struct load load;
    const struct config *config =
        must_load(&load, "--llm-base-url|https://h/v1|--llm-temperature=0.25|--rerank-format=tei",
                  "HYPERMEM_LLM_EXTRA_HEADERS=A: 1\nB: 2|HYPERMEM_LLM_FACTS_MODEL=large|"
                  "OPENAI_BASE_URL=|OPENAI_API_BASE=http://old|OPENAI_API_KEY=sk");
    ck_assert(str_eq(config->llm.provider.base_url, STR("https://h/v1")));
    ck_assert(config->llm.temperature == 0.25);
    ck_assert_int_eq(config->rerank.format, CONFIG_RERANK_TEI);
    ck_assert(str_eq(config->llm.provider.extra_headers, STR("A: 1\nB: 2")));
    ck_assert(str_eq(config->llm.facts.model, STR("large")));
    ck_assert(str_eq(config->openai.base_url, STR("http://old")));
    ck_assert(str_eq(config->openai.api_key, STR("sk")));
    config_free(load.config);
    config = must_load(&load, "--llm-temperature=", "");
    ck_assert(config->llm.temperature == -1);
    ck_assert_uint_eq(config->openai.base_url.len, 0);
    config_free(load.config);
}
END_TEST

START_TEST(secrets_are_masked)
{
    char path[64];
    char text[256];
    struct load load;
    write_file(path, "s3cret");
    (void)snprintf(text, sizeof text, "HYPERMEM_API_KEY_FILE=%s", path);
    const char *forms[][2] = {
        {"--api-key|s3cret", ""}, {"", "HYPERMEM_API_KEY=s3cret"}, {"", text}};
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        struct buf out;
        buf_init(&out, NULL, OUT_BYTES);
        config_print(must_load(&load, forms[i][0], forms[i][1]), &out);
        buf_char(&out, '\0');
        ck_assert(buf_ok(&out));
        ck_assert_ptr_null(strstr(out.at, "s3cret"));
        ck_assert_ptr_nonnull(strstr(out.at, "api_key = ********"));
        buf_fini(&out);
        config_free(load.config);
    }
    ck_assert_int_eq(unlink(path), 0);
}
END_TEST

START_TEST(ini_that_is_refused)
{
    fail_with_file("raeders = 1\n", "readers");
    fail_with_file("[server]\n[nowhere]\nreaders = 1\n", "belongs to [server]");
    fail_with_file("[log]\nreaders = 1\n", "belongs to [server]");
    fail_with_file("readers = 1\nreaders = 1\n", ":2: readers is given twice");
    fail_with_file("readers = 1\n  2\n", "given twice");
    fail_with_file("readers\n", ":1: want key = value");
    fail_with_file("readers = x\n", ":1: readers: want a whole number");
    fail_with_file("data_dir = x\nmax_connections = 1\n", ":2: ");
    char wide[400] = "data_dir = ";
    memset(wide + 11, 'x', 300);
    fail_with_file(wide, ":1: a line over");
    must_fail("--config=/nowhere/at/all.ini", "", "/nowhere/at/all.ini");
    must_fail("--config=/tmp", "", "/tmp");
}
END_TEST

START_TEST(ini_with_a_nul)
{
    char path[] = "/tmp/hmtest-config-XXXXXX";
    char words[128];
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, "readers = 1\nx\0y\n", 16), 16);
    ck_assert_int_eq(close(fd), 0);
    (void)snprintf(words, sizeof words, "--config=%s", path);
    must_fail(words, "", ":2: a NUL byte");
    ck_assert_int_eq(unlink(path), 0);
}
END_TEST

START_TEST(options_of_a_command)
{
    struct load load;
    (void)must_load(&load, "file|--to=there|--digest|--readers=2", "");
    ck_assert(str_eq(load.options[0].value, STR("there")));
    ck_assert_ptr_nonnull(load.options[1].value.at);
    ck_assert_uint_eq(load.input.n_operands, 1);
    ck_assert_str_eq(load.input.operand[0], "file");
    config_free(load.config);
    (void)must_load(&load, "--|--digest", "");
    ck_assert_ptr_null(load.options[1].value.at);
    ck_assert_str_eq(load.input.operand[0], "--digest");
    config_free(load.config);
    (void)must_load(&load, "--to|--help|--data-dir|--config", "");
    ck_assert(str_eq(load.options[0].value, STR("--help")));
    ck_assert(!load.input.help);
    ck_assert(str_eq(load.config->storage.data_dir, STR("--config")));
    config_free(load.config);
    must_fail("--digest=yes", "", "takes no value");
    must_fail("--to", "", "wants a value");
}
END_TEST

START_TEST(help_stops_everything)
{
    struct load load;
    (void)must_load(&load, "--help|--nonsense", "");
    ck_assert(load.input.help);
    config_free(load.config);
    (void)must_load(&load, "-h", "");
    ck_assert(load.input.help);
    config_free(load.config);
}
END_TEST

START_TEST(allowed_hosts)
{
    struct load load;
    const struct config_names *names =
        &must_load(&load, "--allowed-hosts| Memory.Example , [FE80::1]", "")->access.allowed_hosts;
    ck_assert_uint_eq(names->n, 2);
    ck_assert(str_eq(names->at[0], STR("memory.example")));
    ck_assert(str_eq(names->at[1], STR("fe80::1")));
    config_free(load.config);
}
END_TEST

START_TEST(no_color)
{
    struct load load;
    ck_assert_int_eq(must_load(&load, "", "NO_COLOR=1")->terminal.color, COLOR_NEVER);
    config_free(load.config);
    ck_assert_int_eq(must_load(&load, "--color=always", "NO_COLOR=1")->terminal.color,
                     COLOR_ALWAYS);
    config_free(load.config);
}
END_TEST

START_TEST(nearest)
{
    static const char *const names[] = {"serve", "fsck", "backup", "restore", "health"};
    ck_assert_str_eq(config_nearest("serv", names, 5), "serve");
    ck_assert_str_eq(config_nearest("FSKC", names, 5), "fsck");
    ck_assert_str_eq(config_nearest("bakcup", names, 5), "backup");
    ck_assert_str_eq(config_nearest("healthcheck", names, 5), "health");
    ck_assert_str_eq(config_nearest("", names, 5), "fsck");
    ck_assert_ptr_null(config_nearest("x", names, 0));
}
END_TEST

/* What is printed from the table names every parameter, and the example loads as it stands. */
START_TEST(prints_from_the_table)
{
    struct buf out;
    char path[64];
    char words[128];
    struct load load;
    buf_init(&out, NULL, OUT_BYTES);
    config_print_help(&out);
    config_print_markdown(&out);
    ck_assert(buf_ok(&out));
    buf_clear(&out);
    config_print_example(&out);
    buf_char(&out, '\0');
    ck_assert(buf_ok(&out));
    write_file(path, out.at);
    (void)snprintf(words, sizeof words, "--config=%s", path);
    (void)must_load(&load, words, "");
    config_free(load.config);
    ck_assert_int_eq(unlink(path), 0);
    buf_fini(&out);
}
END_TEST

Suite *suite_config(void)
{
    Suite *suite = suite_create("config");
    TCase *tcase = tcase_create("config");
    tcase_add_test(tcase, defaults);
    tcase_add_test(tcase, both_flag_forms);
    tcase_add_test(tcase, bool_flags);
    tcase_add_test(tcase, precedence);
    tcase_add_test(tcase, config_flag_outranks_config_variable);
    tcase_add_test(tcase, empty_variables_are_not_set);
    tcase_add_test(tcase, unknown_names);
    tcase_add_test(tcase, values_out_of_range);
    tcase_add_test(tcase, addresses);
    tcase_add_test(tcase, open_address_wants_a_key);
    tcase_add_test(tcase, secrets_by_file);
    tcase_add_test(tcase, values_of_models);
    tcase_add_test(tcase, secrets_are_masked);
    tcase_add_test(tcase, ini_that_is_refused);
    tcase_add_test(tcase, ini_with_a_nul);
    tcase_add_test(tcase, options_of_a_command);
    tcase_add_test(tcase, help_stops_everything);
    tcase_add_test(tcase, allowed_hosts);
    tcase_add_test(tcase, no_color);
    tcase_add_test(tcase, nearest);
    tcase_add_test(tcase, prints_from_the_table);
    suite_add_tcase(suite, tcase);
    return suite;
}
