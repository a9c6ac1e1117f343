#include "core/text/utf8.h"

#include <check.h>
#include <stdlib.h>

START_TEST(validity)
{
    const struct {
        struct str bytes;
        size_t valid;
    } rows[] = {
        {STR(""), 0},
        {STR("ascii only, longer than eight"), 29},
        {STR("nul\0inside"), 10},
        {STR("\xc2\x80\xdf\xbf"), 4},
        {STR("\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf"), 12},
        {STR("\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"), 8},
        {STR("ok\x80"), 2},   /* a tail without a head */
        {STR("ok\xc2"), 2},   /* a head without a tail */
        {STR("\xc0\x80"), 0}, /* overlong NUL */
        {STR("\xc1\xbf"), 0},
        {STR("\xe0\x9f\xbf"), 0}, /* overlong */
        {STR("\xf0\x8f\xbf\xbf"), 0},
        {STR("12345678\xed\xa0\x80"), 8}, /* surrogate */
        {STR("\xed\xbf\xbf"), 0},
        {STR("\xf4\x90\x80\x80"), 0}, /* above U+10FFFF */
        {STR("\xf8\x88\x80\x80\x80"), 0},
        {STR("\xff"), 0},
        {STR("\xe2\x82"), 0},
        {STR("\xf0\x9f\x98"), 0},
        {STR("\xe2\x28\xa1"), 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ck_assert_msg(utf8_valid_len(rows[i].bytes) == rows[i].valid, "row %zu", i);
        ck_assert(utf8_is_valid(rows[i].bytes) == (rows[i].valid == rows[i].bytes.len));
    }
    ck_assert(utf8_is_valid(STR_NONE));
}
END_TEST

/* Every code point, against the definition. */
START_TEST(every_code_point)
{
    size_t wrong = 0;
    for (uint32_t cp = 0; cp < 0x110000; cp++) {
        char b[4];
        size_t n = 1;
        if (cp < 0x80) {
            b[0] = (char)cp;
        } else if (cp < 0x800) {
            b[0] = (char)(0xc0 | cp >> 6);
            b[1] = (char)(0x80 | (cp & 63));
            n = 2;
        } else if (cp < 0x10000) {
            b[0] = (char)(0xe0 | cp >> 12);
            b[1] = (char)(0x80 | (cp >> 6 & 63));
            b[2] = (char)(0x80 | (cp & 63));
            n = 3;
        } else {
            b[0] = (char)(0xf0 | cp >> 18);
            b[1] = (char)(0x80 | (cp >> 12 & 63));
            b[2] = (char)(0x80 | (cp >> 6 & 63));
            b[3] = (char)(0x80 | (cp & 63));
            n = 4;
        }
        bool surrogate = cp >= 0xd800 && cp <= 0xdfff;
        wrong += utf8_is_valid((struct str){b, n}) == surrogate;
        wrong += utf8_valid_len((struct str){b, n - 1}) != 0;
    }
    ck_assert_uint_eq(wrong, 0);
}
END_TEST

START_TEST(cuts)
{
    static const struct {
        const char *text;
        size_t max, len;
    } rows[] = {
        {"abc", 5, 3},
        {"abc", 3, 3},
        {"abc", 2, 2},
        {"abc", 0, 0},
        {"aé", 2, 1},
        {"éé", 3, 2},
        {"€", 2, 0},
        {"ab😀", 5, 2},
        {"xe\xcc\x81z", 2, 1}, /* e and its accent stay together */
        {"e\xcc\x81", 1, 1},   /* where that is possible */
        {"ab👍🏽", 6, 2},
        {"a👨‍👩‍👧z", 15, 1},
        {"👍🏽ab", 9, 9},
        {"🇩🇪🇫🇷", 12, 8},
        {"❤️❤️", 9, 6},
        {"日本語", 7, 6},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct str cut = utf8_cut(str_of(rows[i].text), rows[i].max);
        ck_assert_msg(cut.len == rows[i].len, "%s at %zu: %zu", rows[i].text, rows[i].max, cut.len);
    }
}
END_TEST

static void repeat(char *to, struct str s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        memcpy(to + s.len * i, s.at, s.len);
}

START_TEST(cuts_of_a_long_grapheme_end)
{
    enum { N = 5000 };
    char *text = malloc(2 * N + 1);
    text[0] = 'e';
    repeat(text + 1, STR("\xcc\x81"), N);
    for (size_t max = 1; max < 2 * N; max += 97) {
        struct str cut = utf8_cut((struct str){text, 2 * N + 1}, max);
        ck_assert(cut.len > 0 && cut.len <= max && utf8_is_valid(cut));
    }
    free(text);
}
END_TEST

START_TEST(blanks)
{
    static const char *const blank[] = {"",
                                        " ",
                                        "\t\r\n",
                                        "\xc2\xa0",
                                        "\xe3\x80\x80",
                                        "\xe2\x80\x8b\xef\xbb\xbf",
                                        "\xe2\x80\xa8",
                                        "\x01\x7f",
                                        "\xe2\x80\x8e\xc2\xad"};
    static const char *const not_blank[] = {".", " a", "\xff", "👍", "0", "\xcc\x81"};
    for (size_t i = 0; i < sizeof blank / sizeof blank[0]; i++)
        ck_assert_msg(utf8_is_blank(str_of(blank[i])), "blank %zu", i);
    for (size_t i = 0; i < sizeof not_blank / sizeof not_blank[0]; i++)
        ck_assert_msg(!utf8_is_blank(str_of(not_blank[i])), "not blank %zu", i);
    ck_assert(utf8_is_blank(STR("\0 \0")));
}
END_TEST

START_TEST(control)
{
    ck_assert(!utf8_has_control(STR("")));
    ck_assert(!utf8_has_control(STR("plain é 日本")));
    ck_assert(utf8_has_control(STR("a\nb")));
    ck_assert(utf8_has_control(STR("a\0b")));
    ck_assert(utf8_has_control(STR("\x7f")));
    ck_assert(utf8_has_control(STR("\xc2\x85")));
    ck_assert(!utf8_has_control(STR("\xc2\xa0")));
}
END_TEST

START_TEST(normal_form)
{
    static const struct {
        const char *text, *normal;
    } rows[] = {
        {"Hello World", "hello world"},
        {"  Hello\t\n  WORLD!! ", "hello world"},
        {"\"Café\"", "cafe"},
        {"Cafe\xcc\x81", "cafe"},
        {"Don’t stop", "don't stop"},
        {"ＡＢＣ１２３", "abc123"},
        {"東京。", "東京"},
        {"ｶﾞ", "ガ"},
        {"كــتابٌ", "كتاب"},
        {"Straße", "strasse"},
        {"a - b", "a - b"},
        {"C++", "c"},
        {"...", "..."},
        {"", ""},
        {"  ", ""},
        {"👍🏽!", "👍🏽"},
        {"\xe2\x80\x8bx\xef\xbb\xbf", "x"},
    };
    struct arena *arena = arena_new(1 << 20);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct str n = utf8_normal(arena, str_of(rows[i].text));
        ck_assert_msg(str_eq(n, str_of(rows[i].normal)), "\"%s\" gives \"%.*s\"", rows[i].text,
                      STR_FMT(n));
        struct str again = utf8_normal(arena, n);
        ck_assert_msg(str_eq(n, again), "\"%s\" twice", rows[i].text);
    }
    arena_free(arena);
}
END_TEST

START_TEST(normal_form_of_long_text)
{
    enum { N = 20000 };
    struct arena *arena = arena_new(16 << 20);
    char *text = malloc(3 * N);
    repeat(text, STR("本"), N);
    struct str n = utf8_normal(arena, (struct str){text, 3 * N});
    ck_assert(str_eq(n, (struct str){text, 3 * N}));
    /* U+FDFA opens into eighteen letters. */
    repeat(text, STR("\xef\xb7\xba"), N);
    n = utf8_normal(arena, (struct str){text, 3 * N});
    ck_assert(n.at != NULL && n.len > 20 * (size_t)N);
    free(text);
    arena_free(arena);
}
END_TEST

START_TEST(normal_form_without_memory)
{
    struct arena *arena = arena_new(1 << 20);
    bool done = false;
    for (unsigned long n = 1; !done; n++) {
        arena_fail_after(arena, n);
        done = utf8_normal(arena, STR("Some Text, Größe")).at != NULL;
        ck_assert(n < 20);
    }
    arena_free(arena);
}
END_TEST

Suite *suite_utf8(void)
{
    Suite *suite = suite_create("utf8");
    TCase *tc = tcase_create("utf8");
    tcase_add_test(tc, validity);
    tcase_add_test(tc, every_code_point);
    tcase_add_test(tc, cuts);
    tcase_add_test(tc, cuts_of_a_long_grapheme_end);
    tcase_add_test(tc, blanks);
    tcase_add_test(tc, control);
    tcase_add_test(tc, normal_form);
    tcase_add_test(tc, normal_form_of_long_text);
    tcase_add_test(tc, normal_form_without_memory);
    suite_add_tcase(suite, tc);
    return suite;
}
