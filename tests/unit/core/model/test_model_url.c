#include <check.h>

#include "core/model/url.h"

START_TEST(parts)
{
    struct url url;
    ck_assert(url_parse(STR("https://api.example.com:8443/a/v1/?k=1&x=2"), &url, NULL));
    ck_assert(url.is_https);
    ck_assert(str_eq(url.origin, STR("https://api.example.com:8443")));
    ck_assert(str_eq(url.host, STR("api.example.com")));
    ck_assert(str_eq(url.port, STR("8443")));
    ck_assert(str_eq(url.path, STR("/a/v1/")));
    ck_assert(str_eq(url.query, STR("?k=1&x=2")));
    ck_assert(url_parse(STR("HTTP://[::1]:80"), &url, NULL));
    ck_assert(!url.is_https);
    ck_assert(str_eq(url.host, STR("::1")));
    ck_assert(str_eq(url.port, STR("80")));
    ck_assert(str_eq(url.path, STR("")) && str_eq(url.query, STR("")));
    ck_assert(url_parse(STR("http://h?api-version=1"), &url, NULL));
    ck_assert(str_eq(url.host, STR("h")));
    ck_assert(str_eq(url.query, STR("?api-version=1")));
}
END_TEST

START_TEST(refused)
{
    static const char *const bad[] = {
        "",
        "host/v1",
        "ftp://host",
        "http://",
        "http:///v1",
        "http://:80",
        "http://user:secret@host/v1",
        "http://key@host",
        "http://host/v1#part",
        "http://ho st",
        "http://host/a b",
        "http://host\n",
        "http://host\\x",
        "http://host:0",
        "http://host:65536",
        "http://host:8x",
        "http://host:",
        "http://[::1",
        "http://[]",
        "http://[host]",
        "http://[::1]x",
        "http://h\xc3\xb6st",
        "https://ho%20st",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct url url;
        const char *why = NULL;
        ck_assert_msg(!url_parse(str_of(bad[i]), &url, &why), "%s was taken", bad[i]);
        ck_assert_ptr_nonnull(why);
    }
}
END_TEST

START_TEST(loopback)
{
    static const char *const yes[] = {
        "localhost",        "LOCALHOST",        "localhost.",    "a.localhost",
        "127.0.0.1",        "127.9.8.7",        "::1",           "0:0:0:0:0:0:0:1",
        "::ffff:127.0.0.1", "::FFFF:127.1.2.3", "::ffff:7f00:1", "0000::0001"};
    static const char *const no[] = {"host",          "notlocalhost",     "localhost.example",
                                     "128.0.0.1",     "127.evil.com",     "127.0.0.1.example.com",
                                     "127.0.0",       "127.0.0.256",      "::2",
                                     "1::1",          "::ffff:128.0.0.1", "fe80::1",
                                     "::ffff:8f00:1", "::7f00:1"};
    for (size_t i = 0; i < sizeof yes / sizeof yes[0]; i++)
        ck_assert_msg(url_is_loopback(str_of(yes[i])), "%s", yes[i]);
    for (size_t i = 0; i < sizeof no / sizeof no[0]; i++)
        ck_assert_msg(!url_is_loopback(str_of(no[i])), "%s", no[i]);
}
END_TEST

START_TEST(versions)
{
    static const struct {
        const char *url;
        bool has;
    } cases[] = {{"http://h", false},
                 {"http://h/", false},
                 {"http://h/v1", true},
                 {"http://h/V2/", true},
                 {"http://h/v1beta/openai", true},
                 {"http://h/api", false},
                 {"http://v1.example/api", false},
                 {"http://h/very", false},
                 {"http://h/a?v=/v1", false},
                 {"http://h//v3", true},
                 {"http://h/v", false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct url url;
        ck_assert(url_parse(str_of(cases[i].url), &url, NULL));
        ck_assert_msg(url_has_version(&url) == cases[i].has, "%s", cases[i].url);
    }
}
END_TEST

START_TEST(origins)
{
    static const struct {
        const char *a, *b;
        bool same;
    } cases[] = {{"https://h/v1", "https://H:443/x", true},
                 {"http://h:80", "http://h", true},
                 {"http://h", "https://h", false},
                 {"https://h", "https://h:8443", false},
                 {"https://h.example", "https://evil.example", false},
                 {"https://h:443", "http://h:443", false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct url a;
        struct url b;
        ck_assert(url_parse(str_of(cases[i].a), &a, NULL));
        ck_assert(url_parse(str_of(cases[i].b), &b, NULL));
        ck_assert_msg(url_same_origin(&a, &b) == cases[i].same, "%s %s", cases[i].a, cases[i].b);
    }
}
END_TEST

START_TEST(joins)
{
    static const struct {
        const char *base, *before, *path, *joined;
    } cases[] = {
        {"http://h/v1", "", "chat/completions", "http://h/v1/chat/completions"},
        {"http://h/v1/", "", "chat/completions", "http://h/v1/chat/completions"},
        {"http://h", "", "embeddings", "http://h/embeddings"},
        {"http://h/", "v1", "embeddings", "http://h/v1/embeddings"},
        {"http://h/gate/openai", "", "embeddings", "http://h/gate/openai/embeddings"},
        {"https://h/openai/deployments/d?api-version=1", "", "chat/completions",
         "https://h/openai/deployments/d/chat/completions?api-version=1"},
        {"http://h/v1/chat/completions", "", "chat/completions", "http://h/v1/chat/completions"},
        {"http://h/v1/embeddings/", "v1", "embeddings", "http://h/v1/embeddings"},
        {"http://h/prerank", "", "rerank", "http://h/prerank/rerank"},
        {"http://[::1]:8080", "", "rerank", "http://[::1]:8080/rerank"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct url url;
        struct buf out;
        buf_init(&out, NULL, 4096);
        ck_assert(url_parse(str_of(cases[i].base), &url, NULL));
        url_join(&url, str_of(cases[i].before), str_of(cases[i].path), &out);
        ck_assert_msg(str_eq(buf_str(&out), str_of(cases[i].joined)), "%.*s",
                      STR_FMT(buf_str(&out)));
        buf_fini(&out);
    }
}
END_TEST

Suite *suite_model_url(void)
{
    Suite *suite = suite_create("model_url");
    TCase *tcase = tcase_create("all");
    tcase_add_test(tcase, parts);
    tcase_add_test(tcase, refused);
    tcase_add_test(tcase, loopback);
    tcase_add_test(tcase, versions);
    tcase_add_test(tcase, origins);
    tcase_add_test(tcase, joins);
    suite_add_tcase(suite, tcase);
    return suite;
}
