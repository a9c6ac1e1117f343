#include "core/text/language.h"

/* In the order in which they win ties; the first with a script stands for it. */
static const struct language languages[] = {
    {"en", SCRIPT_LATIN, SCRIPT_NONE, false},      {"de", SCRIPT_LATIN, SCRIPT_NONE, false},
    {"fr", SCRIPT_LATIN, SCRIPT_NONE, true},       {"es", SCRIPT_LATIN, SCRIPT_NONE, false},
    {"it", SCRIPT_LATIN, SCRIPT_NONE, true},       {"pt", SCRIPT_LATIN, SCRIPT_NONE, false},
    {"nl", SCRIPT_LATIN, SCRIPT_NONE, false},      {"ru", SCRIPT_CYRILLIC, SCRIPT_NONE, false},
    {"sv", SCRIPT_LATIN, SCRIPT_NONE, false},      {"da", SCRIPT_LATIN, SCRIPT_NONE, false},
    {"no", SCRIPT_LATIN, SCRIPT_NONE, false},      {"fi", SCRIPT_LATIN, SCRIPT_NONE, false},
    {"ar", SCRIPT_ARABIC, SCRIPT_NONE, false},     {"ca", SCRIPT_LATIN, SCRIPT_NONE, true},
    {"el", SCRIPT_GREEK, SCRIPT_NONE, false},      {"eu", SCRIPT_LATIN, SCRIPT_NONE, false},
    {"ga", SCRIPT_LATIN, SCRIPT_NONE, false},      {"hi", SCRIPT_DEVANAGARI, SCRIPT_NONE, false},
    {"hu", SCRIPT_LATIN, SCRIPT_NONE, false},      {"hy", SCRIPT_ARMENIAN, SCRIPT_NONE, false},
    {"id", SCRIPT_LATIN, SCRIPT_NONE, false},      {"lt", SCRIPT_LATIN, SCRIPT_NONE, false},
    {"ne", SCRIPT_DEVANAGARI, SCRIPT_NONE, false}, {"ro", SCRIPT_LATIN, SCRIPT_NONE, false},
    {"sr", SCRIPT_CYRILLIC, SCRIPT_LATIN, false},  {"ta", SCRIPT_TAMIL, SCRIPT_NONE, false},
    {"tr", SCRIPT_LATIN, SCRIPT_NONE, false},      {"yi", SCRIPT_HEBREW, SCRIPT_NONE, false},
};

_Static_assert(sizeof languages / sizeof languages[0] <= LANGUAGE_MAX, "one bit a language");

size_t language_count(void)
{
    return sizeof languages / sizeof languages[0];
}

const struct language *language_at(size_t i)
{
    ASSERT(i < language_count());
    return &languages[i];
}

int language_find(struct str code)
{
    for (size_t i = 0; i < language_count(); i++)
        if (str_eq(code, str_of(languages[i].code)))
            return (int)i;
    return LANGUAGE_NONE;
}

bool language_writes(int language, enum rune_script script)
{
    return language != LANGUAGE_NONE && script != SCRIPT_NONE &&
           (languages[language].script == script || languages[language].also == script);
}

int language_of_script(enum rune_script script)
{
    /* Hebrew letters are mostly Hebrew, which has no stemmer; Yiddish must be asked for. */
    if (script == SCRIPT_HEBREW)
        return LANGUAGE_NONE;
    for (size_t i = 0; i < language_count(); i++)
        if (languages[i].script == script)
            return (int)i;
    return LANGUAGE_NONE;
}
