#include <check.h>

#include "api/access.h"

struct key_row {
    const char *authorization, *header;
    bool fine;
};

static const struct key_row keys[] = {
    {"Bearer secret", NULL, true},
    {"bearer secret", NULL, true},
    {"BEARER  secret ", NULL, true},
    {"Token secret", NULL, true},
    {NULL, "secret", true},
    {NULL, " secret ", true},
    {"Bearer wrong", "secret", true},
    {"Basic secret", NULL, false},
    {"secret", NULL, false},
    {"Bearer", NULL, false},
    {"Bearer ", NULL, false},
    {"Bearer secre", NULL, false},
    {"Bearer secrets", NULL, false},
    {"Bearer secretsecret", NULL, false},
    {"Bearer Secret", NULL, false},
    {NULL, "", false},
    {NULL, NULL, false},
    {"Bearer x", "y", false},
};

START_TEST(keys_in_all_forms)
{
    struct err err;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        struct api_request request = {.authorization = str_of(keys[i].authorization),
                                      .api_key_header = str_of(keys[i].header)};
        enum err_code code = access_check_key(STR("secret"), &request, &err);
        ck_assert_msg((code == ERR_OK) == keys[i].fine, "%s / %s", keys[i].authorization,
                      keys[i].header);
        ck_assert(code == ERR_OK || code == ERR_UNAUTHENTICATED);
        ck_assert_int_eq(access_check_key(STR(""), &request, &err), ERR_OK);
    }
}
END_TEST

struct host_row {
    const char *host, *origin;
    bool fine;
};

static const struct host_row open_hosts[] = {
    {"localhost", NULL, true},
    {"LocalHost:7070", NULL, true},
    {"localhost.:7070", NULL, true},
    {"127.0.0.1:7070", NULL, true},
    {"127.1.2.3", NULL, true},
    {"[::1]:7070", NULL, true},
    {"[::1]", NULL, true},
    {"memory.example:1", NULL, true},
    {"MEMORY.example", NULL, true},
    {"evil.example", NULL, false},
    {"localhost.evil.example", NULL, false},
    {"127.0.0.1.evil.example", NULL, false},
    {"127.0.0.256", NULL, false},
    {"127.0.0", NULL, false},
    {"127.0.0.1.5", NULL, false},
    {"128.0.0.1", NULL, false},
    {"0.0.0.0", NULL, false},
    {"", NULL, false},
    {NULL, NULL, false},
    {"[::2]:7070", NULL, false},
    {"localhost:7070", "http://localhost:7070", true},
    {"localhost:7070", "HTTP://localhost:7070", false},
    {"localhost:7070", "http://localhost:3000", false},
    {"localhost:7070", "http://localhost", false},
    {"localhost:7070", "http://127.0.0.1:7070", false},
    {"localhost:7070", "https://evil.example", false},
    {"localhost:7070", "null", false},
    {"localhost:7070", "", false},
    {"memory.example", "https://memory.example", true},
};

START_TEST(hosts_and_origins_without_a_key)
{
    static const struct str named[] = {{"memory.example", 14}};
    struct api_options options = {.hosts = named, .n_hosts = 1};
    struct err err;
    for (size_t i = 0; i < sizeof open_hosts / sizeof open_hosts[0]; i++) {
        const struct host_row *row = &open_hosts[i];
        struct api_request request = {.host = str_of(row->host), .origin = str_of(row->origin)};
        enum err_code code = access_check_origin(&options, &request, &err);
        ck_assert_msg((code == ERR_OK) == row->fine, "%s / %s", row->host, row->origin);
        ck_assert(code == ERR_OK || code == ERR_DENIED);
    }
}
END_TEST

START_TEST(with_a_key_any_host_but_no_foreign_origin)
{
    struct api_options options = {.api_key = STR("k")};
    struct api_request request = {.host = STR("anything.example")};
    struct err err;
    ck_assert_int_eq(access_check_origin(&options, &request, &err), ERR_OK);
    request.origin = STR("https://anything.example");
    ck_assert_int_eq(access_check_origin(&options, &request, &err), ERR_OK);
    request.origin = STR("https://evil.example");
    ck_assert_int_eq(access_check_origin(&options, &request, &err), ERR_DENIED);
}
END_TEST

struct type_row {
    const char *type, *encoding;
    bool json, ndjson;
};

static const struct type_row types[] = {
    {"application/json", NULL, true, true},
    {"Application/JSON; charset=UTF-8", NULL, true, true},
    {"application/json;charset=\"utf-8\"", NULL, true, true},
    {"application/json; charset=utf8; x=y", "identity", true, true},
    {"application/x-ndjson", NULL, false, true},
    {"application/x-ndjson; charset=utf-8", "", false, true},
    {"application/json; charset=latin1", NULL, false, false},
    {"application/json; x=y; charset=utf-16", NULL, false, false},
    {"text/plain", NULL, false, false},
    {"text/json", NULL, false, false},
    {"application/jsonx", NULL, false, false},
    {"application/x-www-form-urlencoded", NULL, false, false},
    {"multipart/form-data; boundary=application/json", NULL, false, false},
    {"", NULL, false, false},
    {NULL, NULL, false, false},
    {"application/json", "gzip", false, false},
    {"application/json", "identity, gzip", false, false},
};

START_TEST(types_of_bodies)
{
    struct err err;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        struct api_request request = {.content_type = str_of(types[i].type),
                                      .content_encoding = str_of(types[i].encoding)};
        enum err_code json = access_check_type(&request, false, &err);
        enum err_code lines = access_check_type(&request, true, &err);
        ck_assert_msg((json == ERR_OK) == types[i].json, "%s", types[i].type);
        ck_assert_msg((lines == ERR_OK) == types[i].ndjson, "%s", types[i].type);
        ck_assert(json == ERR_OK || json == ERR_MEDIA_TYPE);
    }
    struct api_request request = {.content_type = STR("application/X-NDJSON;charset=utf-8")};
    ck_assert(access_is_ndjson(&request));
    request.content_type = STR("application/json");
    ck_assert(!access_is_ndjson(&request));
}
END_TEST

Suite *suite_api_access(void);
Suite *suite_api_access(void)
{
    Suite *suite = suite_create("api_access");
    TCase *tests = tcase_create("access");
    tcase_add_test(tests, keys_in_all_forms);
    tcase_add_test(tests, hosts_and_origins_without_a_key);
    tcase_add_test(tests, with_a_key_any_host_but_no_foreign_origin);
    tcase_add_test(tests, types_of_bodies);
    suite_add_tcase(suite, tests);
    return suite;
}
