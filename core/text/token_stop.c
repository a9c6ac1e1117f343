#include "core/text/token_int.h"

enum { GUESS_BYTES = 4096, GUESS_WEIGHT = 12 };

/* The languages (as bits) in which the folded word is a stop word. */
static uint32_t stop_languages(struct str word)
{
    uint32_t languages = 0;
    for (size_t l = 0; l < language_count(); l++)
        if (stopword_is(language_at(l)->code, word))
            languages |= UINT32_C(1) << l;
    return languages;
}

/* A word that is a stop word of one language says more than one that many share. */
static void count_word(struct str word, unsigned score[LANGUAGE_MAX])
{
    char folded[RUNE_FOLD_MAX];
    size_t n = rune_fold(word, RUNE_KEEP_MARKS, folded, sizeof folded);
    uint32_t languages = stop_languages((struct str){folded, n});
    if (languages == 0)
        return;
    unsigned weight = GUESS_WEIGHT / (unsigned)__builtin_popcount(languages);
    for (size_t l = 0; l < language_count(); l++)
        if ((languages >> l & 1) != 0)
            score[l] += weight + 1;
}

static void count_words(struct str text, unsigned score[LANGUAGE_MAX])
{
    size_t from = 0, i = 0;
    while (i < text.len) {
        struct rune r = rune_at(text, i);
        enum rune_class class = r.len == 0 ? RUNE_OTHER : rune_class(r.cp);
        bool inside = class == RUNE_LETTER || class == RUNE_MARK;
        if (!inside && i > from)
            count_word(str_part(text, from, i), score);
        i += r.len == 0 ? 1 : r.len;
        if (!inside)
            from = i;
    }
    if (i > from)
        count_word(str_part(text, from, i), score);
}

int token__guess(struct str text, uint32_t *also)
{
    unsigned score[LANGUAGE_MAX] = {0};
    size_t best = 0; /* English, when nothing says otherwise */
    count_words(str_part(text, 0, GUESS_BYTES), score);
    for (size_t l = 1; l < language_count(); l++)
        if (language_writes((int)l, SCRIPT_LATIN) && score[l] > score[best])
            best = l;
    *also = 0;
    for (size_t l = 0; l < language_count(); l++)
        if (l != best && score[l] == score[best] && language_writes((int)l, SCRIPT_LATIN) &&
            stopwords_exist(language_at(l)->code))
            *also |= UINT32_C(1) << l;
    return (int)best;
}
