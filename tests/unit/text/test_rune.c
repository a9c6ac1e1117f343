#include "core/text/rune.h"

#include <check.h>

START_TEST(classes)
{
    static const struct {
        uint32_t cp;
        enum rune_class class;
    } rows[] = {
        {'a', RUNE_LETTER},      {'Z', RUNE_LETTER},     {'0', RUNE_DIGIT},
        {' ', RUNE_SPACE},       {0, RUNE_SPACE},        {'$', RUNE_CURRENCY},
        {'.', RUNE_OTHER},       {'_', RUNE_OTHER},      {0xe9, RUNE_LETTER},
        {0xb2, RUNE_DIGIT},      {0x301, RUNE_MARK},     {0xfe0f, RUNE_MARK},
        {0x200d, RUNE_IGNORED},  {0xad, RUNE_IGNORED},   {0x200b, RUNE_SPACE},
        {0x20ac, RUNE_CURRENCY}, {0x4e2d, RUNE_BIGRAM},  {0x3042, RUNE_BIGRAM},
        {0x30fb, RUNE_OTHER},    {0xac00, RUNE_BIGRAM},  {0xe01, RUNE_BIGRAM},
        {0xe31, RUNE_MARK},      {0xff9e, RUNE_MARK},    {0x1161, RUNE_MARK},
        {0x1f600, RUNE_EMOJI},   {0x1f3fd, RUNE_MARK},   {0x1f1e9, RUNE_EMOJI},
        {0x2764, RUNE_EMOJI},    {0xa9, RUNE_OTHER},     {0x3002, RUNE_OTHER},
        {0x3000, RUNE_SPACE},    {0x661, RUNE_DIGIT},    {0x430, RUNE_LETTER},
        {0x3007, RUNE_BIGRAM},   {0x20000, RUNE_BIGRAM}, {0xe000, RUNE_OTHER},
        {0x10ffff, RUNE_OTHER},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        ck_assert_msg(rune_class(rows[i].cp) == rows[i].class, "U+%04X is %d", rows[i].cp,
                      (int)rune_class(rows[i].cp));
}
END_TEST

START_TEST(scripts)
{
    static const struct {
        uint32_t cp;
        enum rune_script script;
    } rows[] = {
        {'a', SCRIPT_LATIN},      {0x1e9e, SCRIPT_LATIN},     {0x3b1, SCRIPT_GREEK},
        {0x44f, SCRIPT_CYRILLIC}, {0x531, SCRIPT_ARMENIAN},   {0x5d0, SCRIPT_HEBREW},
        {0x627, SCRIPT_ARABIC},   {0x905, SCRIPT_DEVANAGARI}, {0xb85, SCRIPT_TAMIL},
        {0x985, SCRIPT_OTHER},    {0x4e00, SCRIPT_HAN},       {0x30a2, SCRIPT_HAN},
        {0xac00, SCRIPT_HANGUL},  {0xe01, SCRIPT_THAI},       {0xe81, SCRIPT_LAO},
        {0x1000, SCRIPT_MYANMAR}, {0x1780, SCRIPT_KHMER},     {0x3fffe, SCRIPT_HAN},
        {0x40000, SCRIPT_OTHER},  {0, SCRIPT_OTHER},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        ck_assert_msg(rune_script(rows[i].cp) == rows[i].script, "U+%04X", rows[i].cp);
}
END_TEST

START_TEST(folds)
{
    static const struct {
        const char *text, *keep, *strip, *umlaut;
    } rows[] = {
        {"Ärger", "ärger", "arger", "aerger"},
        {"Straße", "strasse", "strasse", "strasse"},
        {"Ñandú", "ñandú", "nandu", "nandu"},
        {"ЙОЖ ёлка", "йож ёлка", "йож елка", "йож елка"},
        {"ガギグ", "ガギグ", "ガギグ", "ガギグ"},
        {"ØŁĐ æœı", "øłđ æœı", "old aeoei", "old aeoei"},
        {"ΆΝΘΡΩΠΟΣ", "άνθρωποσ", "ανθρωποσ", "ανθρωποσ"},
        {"①②", "12", "12", "12"},
        {"x\xcc\x88", "ẍ", "x", "x"},
        {"क़लम", "क़लम", "कलम", "कलम"},
        {"ไม้", "ไม้", "ไม้", "ไม้"},
        {"İ", "i̇", "i", "i"},
        {"a‘b’c", "a'b'c", "a'b'c", "a'b'c"},
        {"", "", "", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *want[] = {rows[i].keep, rows[i].strip, rows[i].umlaut};
        for (int how = 0; how < 3; how++) {
            char out[RUNE_FOLD_MAX];
            size_t n = rune_fold(str_of(rows[i].text), (enum rune_fold)how, out, sizeof out);
            ck_assert_msg(str_eq((struct str){out, n}, str_of(want[how])), "%s by %d: %.*s",
                          rows[i].text, how, (int)n, out);
        }
    }
}
END_TEST

START_TEST(folds_end_at_a_character)
{
    char out[5];
    ck_assert_uint_eq(rune_fold(STR("ééé"), RUNE_KEEP_MARKS, out, sizeof out), 4);
    ck_assert_uint_eq(rune_fold(STR("ééé"), RUNE_STRIP, out, sizeof out), 3);
    ck_assert_uint_eq(rune_fold(STR("éé"), RUNE_KEEP_MARKS, out, 1), 0);
}
END_TEST

/* ASCII has a way of its own through the fold; beside another letter it goes with that. */
START_TEST(ascii_folds_alike_on_both_ways)
{
    for (int how = 0; how < 3; how++) {
        for (int c = 0; c < 0x80; c++) {
            char text[] = {'q', (char)c, 'Z', (char)0xc3, (char)0x9f}; /* ß */
            char plain[8], mixed[8];
            size_t n = rune_fold((struct str){text, 3}, (enum rune_fold)how, plain, sizeof plain);
            size_t m = rune_fold((struct str){text, 5}, (enum rune_fold)how, mixed, sizeof mixed);
            ck_assert_msg(n == 3 && m == 5 && memcmp(plain, mixed, 3) == 0, "%#x by %d", c, how);
        }
    }
}
END_TEST

Suite *suite_rune(void)
{
    Suite *suite = suite_create("rune");
    TCase *tc = tcase_create("rune");
    tcase_add_test(tc, classes);
    tcase_add_test(tc, scripts);
    tcase_add_test(tc, folds);
    tcase_add_test(tc, folds_end_at_a_character);
    tcase_add_test(tc, ascii_folds_alike_on_both_ways);
    suite_add_tcase(suite, tc);
    return suite;
}
