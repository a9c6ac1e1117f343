#include <check.h>

#include "core/text/irregular.h"

Suite *suite_irregular(void);

START_TEST(test_forms)
{
    static const char *const pairs[][2] = {{"went", "go"},        {"bought", "buy"},
                                           {"children", "child"}, {"mom", "mother"},
                                           {"written", "write"},  {"worse", "bad"}};
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        ck_assert(str_eq(irregular_base(str_of(pairs[i][0])), str_of(pairs[i][1])));
}
END_TEST

START_TEST(test_other_words_stay)
{
    static const char *const words[] = {"", "a", "marathon", "zzz", "wentt", "wen"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        ck_assert(str_eq(irregular_base(str_of(words[i])), str_of(words[i])));
}
END_TEST

Suite *suite_irregular(void)
{
    Suite *suite = suite_create("irregular");
    TCase *tcase = tcase_create("base");
    tcase_add_test(tcase, test_forms);
    tcase_add_test(tcase, test_other_words_stay);
    suite_add_tcase(suite, tcase);
    return suite;
}
