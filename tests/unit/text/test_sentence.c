#include "core/text/sentence.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/text/utf8.h"

struct cut {
    const char *text, *sentences; /* separated by '|' */
};

static void check_cut(const struct cut *row)
{
    char line[2048] = "";
    size_t len = 0;
    struct str rest = str_of(row->text), s;
    while (sentence_next(&rest, &s))
        len += (size_t)snprintf(line + len, sizeof line - len, "%s%.*s", len == 0 ? "" : "|",
                                STR_FMT(s));
    ck_assert_msg(strcmp(line, row->sentences) == 0, "\"%s\"\n gives \"%s\"\n not   \"%s\"",
                  row->text, line, row->sentences);
    ck_assert_uint_eq(rest.len, 0);
}

static void check_cuts(const struct cut *rows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        check_cut(&rows[i]);
}

#define CHECK_CUTS(rows) check_cuts(rows, sizeof(rows) / sizeof(rows)[0])

START_TEST(stops_end_sentences)
{
    static const struct cut rows[] = {
        {"", ""},
        {"  \n ", ""},
        {"One", "One"},
        {"One. Two! Three? Four", "One.|Two!|Three?|Four"},
        {"What?! Really... Yes", "What?!|Really...|Yes"},
        {"well... maybe so… then", "well... maybe so… then"},
        {"He said \"Stop.\" Then he left.", "He said \"Stop.\"|Then he left."},
        {"(Really.) Yes. “Ok.” No.", "(Really.)|Yes.|“Ok.”|No."},
        {"ok.Then", "ok.Then"},
        {"a.\"B", "a.\"B"},
        {"the end.(sic)", "the end.|(sic)"},
        {"Hi!你好", "Hi!|你好"},
        {"Bold.** Next", "Bold.**|Next"},
        {"! ? .", "!|?|."},
    };
    CHECK_CUTS(rows);
}
END_TEST

START_TEST(points_inside_do_not)
{
    static const struct cut rows[] = {
        {"Mr. Smith met Dr. Who. Ok.", "Mr. Smith met Dr. Who.|Ok."},
        {"e.g. this, i.e. that. Then", "e.g. this, i.e. that.|Then"},
        {"In the U.S. Army. Yes.", "In the U.S. Army.|Yes."},
        {"J. R. R. Tolkien wrote.", "J. R. R. Tolkien wrote."},
        {"So do I. Then we left.", "So do I.|Then we left."},
        {"It costs 3.50 now. Ok", "It costs 3.50 now.|Ok"},
        {"See https://a.b/c?d=e. Then", "See https://a.b/c?d=e.|Then"},
        {"Mail a.b@c.de! Now", "Mail a.b@c.de!|Now"},
        {"At 3 p.m. we left. At 4 p.m. We ate.", "At 3 p.m. we left.|At 4 p.m.|We ate."},
        {"No. I won't.", "No.|I won't."},
        {"No. 5 is alive. Fig. 2 shows it.", "No. 5 is alive.|Fig. 2 shows it."},
        {"I have 9. Then we left.", "I have 9.|Then we left."},
        {"Am 7. Mai 2023 war es warm. Ja.", "Am 7. Mai 2023 war es warm.|Ja."},
        {"z.B. so. Gut.", "z.B. so.|Gut."},
        {"Version 1.2.3 is out. Ok.", "Version 1.2.3 is out.|Ok."},
    };
    CHECK_CUTS(rows);
}
END_TEST

START_TEST(lines_and_lists)
{
    static const struct cut rows[] = {
        {"one\ntwo\r\nthree", "one|two|three"},
        {"- milk\n- eggs, bread\n", "- milk|- eggs, bread"},
        {"1. First thing\n2. Second. More\n10. Tenth", "1. First thing|2. Second.|More|10. Tenth"},
        {"a\xe2\x80\xa8"
         "b\xc2\x85"
         "c",
         "a|b|c"},
    };
    CHECK_CUTS(rows);
}
END_TEST

START_TEST(other_scripts)
{
    static const struct cut rows[] = {
        {"今天很好。明天见！好吗？", "今天很好。|明天见！|好吗？"},
        {"「そうです。」と言った。", "「そうです。」|と言った。"},
        {"यह है। वह है।", "यह है।|वह है।"},
        {"هل تعرف؟ نعم. لا۔ آخر", "هل تعرف؟|نعم.|لا۔|آخر"},
        {"안녕하세요. 반가워요!", "안녕하세요.|반가워요!"},
        {"สวัสดีครับ ผมชื่อสมชาย", "สวัสดีครับ ผมชื่อสมชาย"},
    };
    CHECK_CUTS(rows);
}
END_TEST

START_TEST(emoji_go_with_the_sentence_before)
{
    static const struct cut rows[] = {
        {"Great! 😊 Next one. 👍🏽👍 End", "Great! 😊|Next one. 👍🏽👍|End"},
        {"Wow!😊 Yes", "Wow!😊|Yes"},
        {"Love it ❤️ and you. ❤️", "Love it ❤️ and you. ❤️"},
        {"Done.\n😊", "Done.|😊"},
        {"👨‍👩‍👧! ok", "👨‍👩‍👧!|ok"},
    };
    CHECK_CUTS(rows);
}
END_TEST

START_TEST(thai_is_cut_at_spaces)
{
    char text[1200] = "", *end = text;
    for (int i = 0; i < 40; i++)
        end +=
            snprintf(end, sizeof text - (size_t)(end - text), "ภาษาไทย%s", i % 5 == 4 ? " " : "");
    struct str rest = str_of(text), s;
    size_t n = 0, bytes = 0;
    while (sentence_next(&rest, &s)) {
        ck_assert(s.len <= 350);
        bytes += s.len;
        n++;
    }
    ck_assert_uint_ge(n, 3);
    ck_assert_uint_ge(bytes, 40 * 21);
}
END_TEST

/* What is not blank is in exactly one sentence, in order. */
static void check_cover(struct str text)
{
    struct str rest = text, s;
    const char *at = text.at;
    while (sentence_next(&rest, &s)) {
        ck_assert(s.at >= at && s.len > 0 && s.at + s.len <= text.at + text.len);
        ck_assert(utf8_is_blank((struct str){at, (size_t)(s.at - at)}));
        at = s.at + s.len;
    }
    ck_assert(utf8_is_blank((struct str){at, (size_t)(text.at + text.len - at)}));
}

static const char *const pieces[] = {
    "a", "Mr.", " ", "\n", ".",    "!",    "?",  "…",    "。",       "\"",           ")", "😊", "1.",
    "3", "é",   "ไ", "你", "\xff", "e.g.", ". ", "U.S.", "\xcc\x81", "\xe2\x80\x8d", "("};

START_TEST(random_texts_are_covered)
{
    uint32_t seed = 12345;
    for (int round = 0; round < 3000; round++) {
        char text[256];
        size_t len = 0;
        for (int i = 0; i < 30; i++) {
            seed = seed * 1664525u + 1013904223u;
            struct str piece = str_of(pieces[(seed >> 16) % (sizeof pieces / sizeof pieces[0])]);
            memcpy(text + len, piece.at, piece.len);
            len += piece.len;
        }
        struct str s = {text, len};
        check_cover(s);
        struct str rest = s, part;
        size_t sum = 0, max = 4 + (seed >> 20) % 40;
        while (part_next(&rest, max, &part)) {
            ck_assert(part.len > 0 && part.len <= max && part.at == text + sum);
            sum += part.len;
        }
        ck_assert_uint_eq(sum, len);
    }
}
END_TEST

START_TEST(parts_end_where_sentences_do)
{
    struct str rest = STR("One is here. Two is longer. Three"), part;
    ck_assert(part_next(&rest, 18, &part));
    ck_assert(str_eq(part, STR("One is here. ")));
    ck_assert(part_next(&rest, 18, &part));
    ck_assert(str_eq(part, STR("Two is longer. ")));
    ck_assert(part_next(&rest, 18, &part));
    ck_assert(str_eq(part, STR("Three")));
    ck_assert(!part_next(&rest, 18, &part));
    rest = STR("no stop at all in here");
    ck_assert(part_next(&rest, 10, &part));
    ck_assert(str_eq(part, STR("no stop ")));
    rest = STR("日本語日本語");
    ck_assert(part_next(&rest, 10, &part));
    ck_assert_uint_eq(part.len, 9);
    rest = STR("It is 3.50 and more. Yes");
    ck_assert(part_next(&rest, 8, &part));
    ck_assert(str_eq(part, STR("It is "))); /* "3." is no end */
}
END_TEST

START_TEST(a_part_takes_as_many_sentences_as_fit)
{
    struct str rest = STR("A b. C d. E f. G h. I j."), part;
    ck_assert(part_next(&rest, 12, &part));
    ck_assert(str_eq(part, STR("A b. C d. ")));
}
END_TEST

START_TEST(a_megabyte_without_an_end_is_linear)
{
    enum { N = 1 << 20 };
    char *text = malloc(N);
    memset(text, 'x', N);
    struct str rest = {text, N}, part;
    size_t parts = 0;
    while (part_next(&rest, 4096, &part))
        parts++;
    ck_assert_uint_eq(parts, 256);
    memset(text, '.', N);
    rest = (struct str){text, N};
    for (parts = 0; part_next(&rest, 4096, &part);)
        parts++;
    ck_assert_uint_ge(parts, 256);
    free(text);
}
END_TEST

START_TEST(questions)
{
    static const char *const yes[] = {"Why?",   "Why? ",  "Why?\"",   "Why? 😊",      "为什么？",
                                      "لماذا؟", "What?!", "Warum ?)", "Why?👍🏽"};
    static const char *const no[] = {"", "Why.", "Why? No", "?a", "!"};
    for (size_t i = 0; i < sizeof yes / sizeof yes[0]; i++)
        ck_assert_msg(sentence_is_question(str_of(yes[i])), "%s", yes[i]);
    for (size_t i = 0; i < sizeof no / sizeof no[0]; i++)
        ck_assert_msg(!sentence_is_question(str_of(no[i])), "%s", no[i]);
}
END_TEST

START_TEST(abbreviations)
{
    ck_assert(sentence_is_abbreviation(STR("Mr")) && sentence_is_abbreviation(STR("dr")));
    ck_assert(sentence_is_abbreviation(STR("J")) && sentence_is_abbreviation(STR("É")));
    ck_assert(!sentence_is_abbreviation(STR("I")) && !sentence_is_abbreviation(STR("")));
    ck_assert(!sentence_is_abbreviation(STR("dog")) && !sentence_is_abbreviation(STR("j")));
}
END_TEST

Suite *suite_sentence(void)
{
    Suite *suite = suite_create("sentence");
    TCase *tc = tcase_create("sentence");
    tcase_add_test(tc, stops_end_sentences);
    tcase_add_test(tc, points_inside_do_not);
    tcase_add_test(tc, lines_and_lists);
    tcase_add_test(tc, other_scripts);
    tcase_add_test(tc, emoji_go_with_the_sentence_before);
    tcase_add_test(tc, thai_is_cut_at_spaces);
    tcase_add_test(tc, random_texts_are_covered);
    tcase_add_test(tc, parts_end_where_sentences_do);
    tcase_add_test(tc, a_part_takes_as_many_sentences_as_fit);
    tcase_add_test(tc, a_megabyte_without_an_end_is_linear);
    tcase_add_test(tc, questions);
    tcase_add_test(tc, abbreviations);
    suite_add_tcase(suite, tc);
    return suite;
}
