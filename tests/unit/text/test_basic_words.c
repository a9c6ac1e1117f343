#include "core/text/basic_words.h"

#include <check.h>
#include <stdlib.h>

#include "core/base/buf.h"
#include "core/text/basic_int.h"
#include "core/text/utf8.h"
#include "tests/unit/core/model/builtin/golden.h"

enum {
    ALL = BASIC_CLEAN | BASIC_HAN | BASIC_STRIP | BASIC_LOWER,
    CASED = BASIC_CLEAN | BASIC_HAN,
    ACCENTS = CASED | BASIC_LOWER,
};

/* The words with bars between them. */
static void expect(const char *text, unsigned steps, const char *want)
{
    struct arena *arena = arena_new(1 << 20);
    struct basic_words words;
    struct basic_word word;
    struct buf out;
    ck_assert_ptr_nonnull(arena);
    buf_init(&out, arena, 1 << 16);
    basic_words_init(&words, str_of(text), steps, 100);
    while (basic_words_next(&words, &word)) {
        if (out.len != 0)
            buf_char(&out, '|');
        buf_str_put(&out, word.text);
    }
    ck_assert_msg(str_eq(buf_str(&out), str_of(want)), "%s: got %.*s, not %s", text,
                  STR_FMT(buf_str(&out)), want);
    arena_free(arena);
}

START_TEST(texts)
{
    static const struct {
        const char *text;
        unsigned steps;
        const char *want;
    } rows[] = {
        {"", ALL, ""},
        {" \t\r\n ", ALL, ""},
        {"Hello, World!", ALL, "hello|,|world|!"},
        {"Hello, World!", CASED, "Hello|,|World|!"},
        {"don't", ALL, "don|'|t"},
        {"$5.50 a_b ~", ALL, "$|5|.|50|a|_|b|~"},
        {"caf\u00e9 cafe\u0301", ALL, "cafe|cafe"},
        {"CAF\u00c9 CAFE\u0301", ACCENTS, "caf\u00e9|cafe\u0301"},
        {"\u0130I\u0131", ALL, "ii\u0131"},
        {"\u0130", ACCENTS, "i\u0307"},
        {"\u03a3\u0391\u03a3", ALL, "\u03c3\u03b1\u03c3"}, /* no final sigma */
        {"\u6211\u662fx\u4eba", ALL, "\u6211|\u662f|x|\u4eba"},
        {"\u6211\u662fx", ALL & ~(unsigned)BASIC_HAN, "\u6211\u662fx"},
        {"\u304c\u3099", ALL, "\u304b"}, /* its voicing mark is an accent */
        {"\ud55c", ALL, "\u1112\u1161\u11ab"},
        {"\u2260 \u037e", ALL, "=|;"}, /* signs only once they are decomposed */
        {"a\u200bb\u00adc\a"
         "d",
         ALL, "abcd"},
        {"a\u00a0b\u3000c\u2028d", ALL, "a|b|c|d"},
        {"a\vb\xc2\x85"
         "c",
         ALL, "abc"}, /* controls are dropped before blanks are seen */
        {"a\vb\xc2\x85"
         "c",
         BASIC_LOWER, "a|b|c"},
        {"a\ufffdb", ALL, "ab"},
        {"\xff", CASED, ""},
        {"x\xffy", BASIC_LOWER, "x\ufffdy"},
        {"\u0301", ALL, ""},
        {"\u302f\u302e x\U0001d166\u302e\U0001d16d", ALL, /* in canonical order */
         "\u302f\u302e|x\U0001d166\u302e\U0001d16d"},
        {"x\u302e\U0001d165", ALL, "x\U0001d165\u302e"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        expect(rows[i].text, rows[i].steps, rows[i].want);
}
END_TEST

START_TEST(nul_is_a_control)
{
    struct basic_words words;
    struct basic_word word;
    basic_words_init(&words, STR("a\0b \0 c"), ALL, 100);
    ck_assert(basic_words_next(&words, &word));
    ck_assert(str_eq(word.text, STR("ab")));
    ck_assert(basic_words_next(&words, &word));
    ck_assert(str_eq(word.text, STR("c")));
    ck_assert(!basic_words_next(&words, &word));
}
END_TEST

START_TEST(places_in_the_text)
{
    const struct str text = STR("  \u00c9t\u00e9,\u6211\0 x\u0301y");
    static const size_t places[][2] = {{2, 7}, {7, 8}, {8, 11}, {13, 17}};
    struct basic_words words;
    struct basic_word word;
    basic_words_init(&words, text, ALL, 100);
    for (size_t i = 0; i < 4; i++) {
        ck_assert(basic_words_next(&words, &word));
        ck_assert_msg(word.from == places[i][0] && word.to == places[i][1], "word %zu: %zu..%zu", i,
                      word.from, word.to);
    }
    ck_assert(!basic_words_next(&words, &word));
    ck_assert(!basic_words_next(&words, &word));
}
END_TEST

static void put(char *to, struct str bytes)
{
    memcpy(to, bytes.at, bytes.len);
}

/* I.e. characters after all steps, not bytes. */
START_TEST(long_words)
{
    char text[3 * 1100];
    struct basic_words words;
    struct basic_word word;
    for (uint32_t most = 1; most <= BASIC_WORD_CHARS; most = most * 2 + 1) {
        for (uint32_t n = most; n <= most + 1 && n <= 1100; n++) {
            for (uint32_t i = 0; i < n; i++)
                put(text + (size_t)3 * i, STR("\u0e01"));
            basic_words_init(&words, (struct str){text, (size_t)3 * n}, ALL, most);
            ck_assert(basic_words_next(&words, &word));
            ck_assert_uint_eq(word.chars, n);
            ck_assert_uint_eq(word.text.len, n <= most ? (size_t)3 * n : 0);
            ck_assert_uint_eq(word.to, (size_t)3 * n);
            ck_assert(!basic_words_next(&words, &word));
        }
    }
}
END_TEST

/* More marks than are put in order together: all come out, and none is lost. */
START_TEST(many_marks)
{
    char text[1 + 4 * 500];
    struct basic_words words;
    struct basic_word word;
    text[0] = 'x';
    for (size_t i = 0; i < 500; i++)
        put(text + 1 + 4 * i, i % 2 == 0 ? STR("\U0001d16d") : STR("\U0001d165"));
    basic_words_init(&words, (struct str){text, sizeof text}, ALL, BASIC_WORD_CHARS);
    ck_assert(basic_words_next(&words, &word));
    ck_assert_uint_eq(word.chars, 501);
    ck_assert_uint_eq(word.text.len, sizeof text);
    ck_assert(utf8_is_valid(word.text));
    ck_assert(memcmp(word.text.at + 1, "\U0001d165", 4) == 0);
    ck_assert(!basic_words_next(&words, &word));
}
END_TEST

static uint32_t hash_add(uint32_t hash, struct str bytes)
{
    for (size_t i = 0; i < bytes.len; i++)
        hash = (hash ^ (unsigned char)bytes.at[i]) * 0x01000193U;
    return hash;
}

static bool is_left_out(uint32_t cp)
{
    static const uint32_t late[] = {0x1c89, 0xa7cb, 0xa7cc, 0xa7ce, 0xa7d2, 0xa7d4, 0xa7da, 0xa7dc};
    for (size_t i = 0; i < sizeof late / sizeof late[0]; i++)
        if (cp == late[i])
            return true;
    return (cp >= 0xd800 && cp < 0xe000) || (cp >= 0x10d50 && cp < 0x10d66) ||
           (cp >= 0x16ea0 && cp < 0x16eb9);
}

static size_t put_utf8(char *out, uint32_t cp)
{
    if (cp < 0x80) {
        out[0] = (char)cp;
        return 1;
    }
    size_t n = cp < 0x800 ? 2 : cp < 0x10000 ? 3 : 4;
    for (size_t i = n; i-- > 1; cp >>= 6)
        out[i] = (char)(0x80 | (cp & 63));
    out[0] = (char)((0xf00U >> n & 0xf0) | cp);
    return n;
}

static uint32_t hash_of_block(uint32_t first, unsigned steps)
{
    uint32_t hash = 0x811c9dc5U;
    struct basic_words words;
    struct basic_word word;
    for (uint32_t cp = first; cp < first + 0x1000; cp++) {
        char text[6] = "a";
        if (is_left_out(cp))
            continue;
        size_t n = put_utf8(text + 1, cp);
        text[n + 1] = 'b';
        basic_words_init(&words, (struct str){text, n + 2}, steps, 100);
        while (basic_words_next(&words, &word))
            hash = hash_add(hash_add(hash, word.text), STR("\n"));
    }
    return hash;
}

/* Against the reference: tests/data/golden/README.md. */
START_TEST(every_character)
{
    static const unsigned steps[] = {ALL, ACCENTS, CASED};
    struct arena *arena = arena_new(1 << 20);
    ck_assert_ptr_nonnull(arena);
    struct unpack u = unpack_of(golden_bytes(arena, GOLDEN_DIR "/characters.bin"));
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++)
        for (uint32_t first = 0; first < 0x110000; first += 0x1000)
            ck_assert_msg(hash_of_block(first, steps[i]) == unpack_u32(&u),
                          "steps %u, the characters from U+%04X", steps[i], first);
    ck_assert(unpack_done(&u));
    arena_free(arena);
}
END_TEST

static void expect_ascending(const struct basic_range *ranges, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        ck_assert(ranges[i].first <= ranges[i].last);
        ck_assert(i == 0 || ranges[i].first > ranges[i - 1].last + 1);
    }
    ck_assert_uint_eq(ranges[n - 1].first, BASIC_NO_CHARACTER);
}

START_TEST(tables)
{
    expect_ascending(basic__dropped, BASIC_DROPPED);
    expect_ascending(basic__accents, BASIC_ACCENTS);
    expect_ascending(basic__ordered, BASIC_ORDERED);
    expect_ascending(basic__punctuation, BASIC_PUNCTUATION);
}
END_TEST

Suite *suite_basic_words(void)
{
    Suite *suite = suite_create("basic_words");
    TCase *tc = tcase_create("basic_words");
    tcase_add_test(tc, texts);
    tcase_add_test(tc, nul_is_a_control);
    tcase_add_test(tc, places_in_the_text);
    tcase_add_test(tc, long_words);
    tcase_add_test(tc, many_marks);
    tcase_add_test(tc, every_character);
    tcase_add_test(tc, tables);
    suite_add_tcase(suite, tc);
    return suite;
}
