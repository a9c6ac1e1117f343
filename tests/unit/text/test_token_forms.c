/* One form in the text, another in the query: they find each other, or do not. */
#include <check.h>
#include <stdio.h>

#include "tests/unit/text/terms.h"

struct pair {
    const char *language, *a, *b;
};

START_TEST(forms_that_meet)
{
    static const struct pair rows[] = {
        {"en", "15km", "15 km"},
        {"en", "$200", "200"},
        {"en", "200€", "€200"},
        {"en", "50%", "50"},
        {"en", "1,000", "1000"},
        {"en", "covid-19", "covid 19"},
        {"en", "covid-19", "covid19"},
        {"en", "covid-19", "COVID"},
        {"en", "e-mail", "email"},
        {"en", "e-mails", "email"},
        {"en", "C++", "c++"},
        {"en", "C#", "c#"},
        {"en", "john.doe@example.com", "doe"},
        {"en", "john.doe@example.com", "example.com"},
        {"en", "https://example.com/painting/7", "paintings"},
        {"en", "2023-05-07", "2023"},
        {"en", "2023-05-07", "2023-05-07"},
        {"en", "3 p.m.", "pm"},
        {"en", "U.S.A.", "USA"},
        {"en", "2nd", "2"},
        {"en", "John's", "john"},
        {"en", "O'Brien", "obrien"},
        {"en", "café", "cafe"},
        {"en", "Ångström", "angstrom"},
        {"en", "running", "runs"},
        {"en", "ＡＢＣ", "abc"},
        {"en", "👍🏽", "👍"},
        {"en", "👍🏽", "👍🏿"},
        {"en", "❤️", "❤"},
        {"en", "👨‍👩‍👧", "👨‍👩‍👧"},
        {"en", "🇩🇪", "🇩🇪"},
        {"en", "我住在北京", "北京"},
        {"en", "我住在北京", "京"},
        {"en", "東京タワーへ行った", "タワー"},
        {"en", "ｶﾀｶﾅ", "カタカナ"},
        {"en", "서울에 살아요", "서울"},
        {"en", "ฉันรักภาษาไทย", "ภาษา"},
        {"en", "كِتَابٌ جميل", "كتاب"},
        {"en", "كــتاب", "كتاب"},
        {"en", "أحمد", "احمد"},
        {"en", "быстрая ёлка", "елки"},
        {"en", "٢٠٢٣", "2023"},
        {"de", "Häuser", "Haus"},
        {"de", "Häuser", "hauser"},
        {"de", "Müller", "Mueller"},
        {"de", "Mueller", "Müller"},
        {"de", "Müller", "Muller"},
        {"de", "Straße", "strasse"},
        {"de", "Donaudampfschifffahrtsgesellschaft", "donaudampfschifffahrtsgesellschaft"},
        {"de", "Blumentöpfe", "Blumentopfe"},
        {"de", "Blumentöpfe", "Blumentöpfe"},
        {"fr", "mangée", "mangee"},
        {"fr", "l'homme", "homme"},
        {"es", "canciones", "canción"},
        {"auto", "Wir waren in den alten Häusern", "Häuser"},
        {"auto", "Wir waren in den alten Häusern", "Haus"},
        {"auto", "The houses are old", "house"},
        {"none", "Running", "running"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ck_assert_msg(terms_meet(rows[i].language, rows[i].a, rows[i].b), "%s in %s", rows[i].b,
                      rows[i].a);
        if (strstr(rows[i].a, rows[i].b) == NULL) /* a single character finds its run only so */
            ck_assert_msg(terms_meet(rows[i].language, rows[i].b, rows[i].a), "%s in %s", rows[i].a,
                          rows[i].b);
    }
}
END_TEST

START_TEST(forms_that_do_not)
{
    static const struct pair rows[] = {
        {"en", "C++", "C#"},
        {"en", "C++", "c"},
        {"en", "15km", "16mi"},
        {"en", "2023", "2024"},
        {"en", "the of and", "the of and"},
        {"en", "she'll", "shell"},
        {"en", "we'll", "wells"},
        {"en", "北京", "京北"},
        {"en", "🇩🇪", "🇫🇷"},
        {"en", "👨‍👩‍👧", "👨‍👩‍👦"},
        {"en", "ガ", "カ"},
        {"none", "running", "runs"},
        {"de", "schön", "schon"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        ck_assert_msg(!terms_meet(rows[i].language, rows[i].a, rows[i].b), "%s in %s", rows[i].b,
                      rows[i].a);
}
END_TEST

/* The length of an index entry must not depend on how the text is cut into calls. */
START_TEST(order_of_calls_is_without_effect)
{
    struct arena *arena = arena_new(TERMS_ARENA);
    struct tokenizer *tokenizer;
    struct token_list first, again, other;
    ck_assert_int_eq(tokenizer_new(STR("auto"), &tokenizer, NULL), ERR_OK);
    struct str text = STR("Wir waren in den Häusern");
    ck_assert_int_eq(tokenizer_run(tokenizer, arena, text, TOKEN_INDEX, &first, NULL), ERR_OK);
    ck_assert_int_eq(
        tokenizer_run(tokenizer, arena, STR("The houses are old"), TOKEN_INDEX, &other, NULL),
        ERR_OK);
    ck_assert_int_eq(tokenizer_run(tokenizer, arena, text, TOKEN_INDEX, &again, NULL), ERR_OK);
    ck_assert_uint_eq(first.n, again.n);
    for (size_t i = 0; i < first.n; i++)
        ck_assert(first.at[i].term == again.at[i].term);
    tokenizer_free(tokenizer);
    arena_free(arena);
}
END_TEST

Suite *suite_token_forms(void)
{
    Suite *suite = suite_create("token_forms");
    TCase *tc = tcase_create("token_forms");
    tcase_add_test(tc, forms_that_meet);
    tcase_add_test(tc, forms_that_do_not);
    tcase_add_test(tc, order_of_calls_is_without_effect);
    suite_add_tcase(suite, tc);
    return suite;
}
