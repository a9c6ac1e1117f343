/* The emitter against jansson: what we write it reads back as the same values. */
#include <check.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>

#include "api/json_out.h"
#include "core/base/civil.h"
#include "core/text/utf8.h"

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Characters that have to be escaped or are often got wrong come much more often than the rest. */
static uint32_t random_rune(uint64_t *state)
{
    static const uint32_t odd[] = {'"',    '\\',   '/',    0x7f,   0x80,    0x9f,    0x2027,
                                   0x2028, 0x2029, 0x202a, 0xd7ff, 0xe000,  0xfffd,  0xfffe,
                                   0xffff, 0xfeff, 0x200d, 0xfe0f, 0x1f469, 0x1f3fd, 0x10ffff};
    uint64_t choice = next_random(state) % 4;
    if (choice == 0)
        return (uint32_t)(next_random(state) % 0x20);
    if (choice == 1)
        return odd[next_random(state) % (sizeof odd / sizeof odd[0])];
    if (choice == 2)
        return (uint32_t)(0x20 + next_random(state) % 0x5f);
    uint32_t rune = (uint32_t)(next_random(state) % 0x110000);
    return rune >= 0xd800 && rune < 0xe000 ? 'x' : rune;
}

static void put_rune(struct buf *buf, uint32_t rune)
{
    if (rune < 0x80) {
        buf_u8(buf, (uint8_t)rune);
    } else if (rune < 0x800) {
        buf_u8(buf, (uint8_t)(0xc0 | rune >> 6));
        buf_u8(buf, (uint8_t)(0x80 | (rune & 63)));
    } else if (rune < 0x10000) {
        buf_u8(buf, (uint8_t)(0xe0 | rune >> 12));
        buf_u8(buf, (uint8_t)(0x80 | (rune >> 6 & 63)));
        buf_u8(buf, (uint8_t)(0x80 | (rune & 63)));
    } else {
        buf_u8(buf, (uint8_t)(0xf0 | rune >> 18));
        buf_u8(buf, (uint8_t)(0x80 | (rune >> 12 & 63)));
        buf_u8(buf, (uint8_t)(0x80 | (rune >> 6 & 63)));
        buf_u8(buf, (uint8_t)(0x80 | (rune & 63)));
    }
}

static json_t *load(const struct buf *buf)
{
    json_error_t fault;
    json_t *root = json_loadb(buf->at, buf->len,
                              JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &fault);
    ck_assert_msg(root != NULL, "%s: %.*s", fault.text, (int)buf->len, buf->at);
    return root;
}

static void expect_string(struct str text)
{
    struct buf buf;
    buf_init(&buf, NULL, 1 << 20);
    struct json_out out = json_out_of(&buf);
    out_str(&out, NULL, text);
    ck_assert(buf_ok(&buf));
    json_t *back = load(&buf);
    ck_assert(json_is_string(back));
    ck_assert(str_eq(text, (struct str){json_string_value(back), json_string_length(back)}));
    for (size_t i = 0; i < buf.len; i++) /* nothing that ends a line, in any reader */
        ck_assert((unsigned char)buf.at[i] >= 0x20 && buf.at[i] != 0x7f);
    ck_assert_ptr_null(memmem(buf.at, buf.len, "\xe2\x80\xa8", 3));
    ck_assert_ptr_null(memmem(buf.at, buf.len, "\xe2\x80\xa9", 3));
    json_decref(back);
    buf_fini(&buf);
}

START_TEST(strings_come_back)
{
    uint64_t state = 88172645463325252u;
    struct buf text;
    buf_init(&text, NULL, 1 << 20);
    expect_string(STR(""));
    expect_string(STR("\xe2\x80\xa8"));
    expect_string(STR("a\xe2\x80\xa9z\xe2\x80"
                      "\xa7"));
    for (uint32_t rune = 0; rune < 0x3000; rune++) {
        buf_clear(&text);
        put_rune(&text, rune);
        expect_string(buf_str(&text));
    }
    for (int round = 0; round < 3000; round++) {
        buf_clear(&text);
        for (uint64_t n = next_random(&state) % 40; n != 0; n--)
            put_rune(&text, random_rune(&state));
        ck_assert(utf8_is_valid(buf_str(&text)));
        expect_string(buf_str(&text));
    }
    buf_fini(&text);
}
END_TEST

START_TEST(a_document_of_everything)
{
    struct buf buf;
    buf_init(&buf, NULL, 1 << 20);
    struct json_out out = json_out_of(&buf);
    out_object(&out, NULL);
    out_cstr(&out, "s", "x");
    out_u64(&out, "zero", 0);
    out_u64(&out, "big", INT64_MAX);
    out_i64(&out, "least", INT64_MIN);
    out_bool(&out, "yes", true);
    out_bool(&out, "no", false);
    out_null(&out, "null");
    out_raw(&out, "raw", STR("{\"a\":[1,2]}"));
    out_time(&out, "time", 1683554160000);
    out_time(&out, "never", INT64_MAX);
    out_id(&out, "id", "topic", 3);
    out_lines(&out, "lines", STR("a\nb\n"));
    out_lines(&out, "none", STR(""));
    out_array(&out, "array");
    out_array(&out, NULL);
    out_end(&out);
    out_object(&out, NULL);
    out_end(&out);
    out_end(&out);
    out_end(&out);
    ck_assert_uint_eq(out.depth, 0);
    json_t *got = load(&buf);
    json_t *want = json_loads("{\"s\":\"x\",\"zero\":0,\"big\":9223372036854775807,"
                              "\"least\":-9223372036854775808,\"yes\":true,\"no\":false,"
                              "\"null\":null,\"raw\":{\"a\":[1,2]},"
                              "\"time\":\"2023-05-08T13:56:00Z\",\"never\":null,"
                              "\"id\":\"topic_3\",\"lines\":[\"a\",\"b\"],\"none\":[],"
                              "\"array\":[[],{}]}",
                              0, NULL);
    ck_assert_ptr_nonnull(want);
    ck_assert_msg(json_equal(got, want), "%.*s", (int)buf.len, buf.at);
    json_decref(got);
    json_decref(want);
    buf_fini(&buf);
}
END_TEST

struct real_row {
    double value;
    int digits;
    const char *text;
};

static const struct real_row reals[] = {
    {0.5, 6, "0.5"},      {0, 6, "0"},           {1, 3, "1"},
    {-0.0000001, 6, "0"}, {0.1, 17, NULL},       {123.456, 2, "123.46"},
    {100, 2, "100"},      {-2.5, 1, "-2.5"},     {1e16, 3, "null"},
    {NAN, 3, "null"},     {INFINITY, 3, "null"}, {-INFINITY, 0, "null"},
    {1000, 0, "1000"},
};

START_TEST(reals_are_short_and_finite)
{
    for (size_t i = 0; i < sizeof reals / sizeof reals[0]; i++) {
        struct buf buf;
        buf_init(&buf, NULL, 1 << 20);
        struct json_out out = json_out_of(&buf);
        out_real(&out, NULL, reals[i].value, reals[i].digits);
        json_t *back = load(&buf);
        if (reals[i].text != NULL)
            ck_assert(str_eq(buf_str(&buf), str_of(reals[i].text)));
        else
            ck_assert(fabs(json_number_value(back) - reals[i].value) < 1e-15);
        json_decref(back);
        buf_fini(&buf);
    }
}
END_TEST

START_TEST(reals_are_near_and_without_trailing_zeros)
{
    uint64_t state = 7;
    struct buf buf;
    buf_init(&buf, NULL, 1 << 20);
    for (int round = 0; round < 20000; round++) {
        int digits = (int)(next_random(&state) % 8);
        double value = (double)(int64_t)next_random(&state) / (double)(1ull << 63);
        value *= pow(10, (double)(next_random(&state) % 9));
        if (round % 10 == 0)
            value = round / 1000.0;
        buf_clear(&buf);
        struct json_out out = json_out_of(&buf);
        out_real(&out, NULL, value, digits);
        json_t *back = load(&buf);
        ck_assert_msg(fabs(json_number_value(back) - value) <=
                          0.5 * pow(10, -digits) + fabs(value) * 1e-15,
                      "%.17g, %d digits: %.*s", value, digits, (int)buf.len, buf.at);
        const char *point = memchr(buf.at, '.', buf.len);
        ck_assert(point == NULL || buf.at[buf.len - 1] != '0');
        json_decref(back);
    }
    buf_fini(&buf);
}
END_TEST

static void expect_time(int64_t ms)
{
    char want[RFC3339_MAX];
    struct buf buf;
    buf_init(&buf, NULL, 256);
    struct json_out out = json_out_of(&buf);
    size_t n = rfc3339_format(ms, want);
    out_time(&out, NULL, ms);
    ck_assert(str_eq(str_part(buf_str(&buf), 1, buf.len - 1), (struct str){want, n}));
    buf_fini(&buf);
}

START_TEST(times_are_those_of_civil)
{
    uint64_t state = 3;
    expect_time(0);
    expect_time(-1);
    expect_time(-MS_PER_DAY);
    expect_time(MS_PER_DAY - 1);
    for (int round = 0; round < 20000; round++) {
        int64_t ms = (int64_t)(next_random(&state) % 315000000000000u) - 62000000000000;
        expect_time(round % 3 == 0 ? ms / 1000 * 1000 : ms);
    }
}
END_TEST

START_TEST(the_ceiling_is_told)
{
    struct buf buf;
    buf_init(&buf, NULL, 16);
    struct json_out out = json_out_of(&buf);
    out_array(&out, NULL);
    for (int i = 0; i < 100; i++)
        out_cstr(&out, NULL, "text");
    out_end(&out);
    ck_assert(!buf_ok(&buf));
    ck_assert_uint_le(buf.len, 16);
    buf_fini(&buf);
}
END_TEST

Suite *suite_api_json_out(void);
Suite *suite_api_json_out(void)
{
    Suite *suite = suite_create("api_json_out");
    TCase *tests = tcase_create("json_out");
    tcase_add_test(tests, strings_come_back);
    tcase_add_test(tests, a_document_of_everything);
    tcase_add_test(tests, reals_are_short_and_finite);
    tcase_add_test(tests, reals_are_near_and_without_trailing_zeros);
    tcase_add_test(tests, times_are_those_of_civil);
    tcase_add_test(tests, the_ceiling_is_told);
    suite_add_tcase(suite, tests);
    return suite;
}
