#include <stdlib.h>

#include "core/base/hash.h"
#include "core/text/token_int.h"

enum { GUESS_BYTES = 4096, GUESS_WEIGHT = 12 };

/* Visits the blank-separated words of a list. */
static bool list_next(const char **list, struct str *word)
{
    size_t n = strcspn(*list, " ");
    *word = (struct str){*list, n};
    *list += n + ((*list)[n] == ' ');
    return n != 0;
}

/* The language's stop words if the tokenizer wants them; NULL: none. */
static const char *list_of(const struct tokenizer *tokenizer, int language)
{
    const char *list = stopwords_of(language_at((size_t)language)->code);
    if (list == NULL || tokenizer->automatic || language == tokenizer->language)
        return list;
    enum rune_script script = language_at((size_t)language)->script;
    bool own = language_of_script(script) == language;
    return own && !language_writes(tokenizer->language, script) ? list : NULL;
}

static void stop_add(struct tokenizer *tokenizer, struct str word, uint32_t bit)
{
    uint64_t hash = hash64(word);
    size_t i = (size_t)hash & (tokenizer->stop_cap - 1);
    while (tokenizer->stops[i].languages != 0 && tokenizer->stops[i].hash != hash)
        i = (i + 1) & (tokenizer->stop_cap - 1);
    tokenizer->stops[i].hash = hash;
    tokenizer->stops[i].languages |= bit;
}

enum err_code token__stops_new(struct tokenizer *tokenizer, struct err *err)
{
    size_t words = 0;
    struct str word;
    for (size_t l = 0; l < language_count(); l++) {
        const char *list = list_of(tokenizer, (int)l);
        while (list != NULL && list_next(&list, &word))
            words++;
    }
    if (words == 0)
        return ERR_OK;
    tokenizer->stop_cap = 64;
    while (tokenizer->stop_cap < 2 * words)
        tokenizer->stop_cap *= 2;
    tokenizer->stops = calloc(tokenizer->stop_cap, sizeof *tokenizer->stops);
    if (tokenizer->stops == NULL)
        return err_set(err, ERR_EXHAUSTED, "no memory for a tokenizer");
    for (size_t l = 0; l < language_count(); l++) {
        const char *list = list_of(tokenizer, (int)l);
        while (list != NULL && list_next(&list, &word))
            stop_add(tokenizer, word, UINT32_C(1) << l);
    }
    return ERR_OK;
}

uint32_t token__stop_languages(const struct tokenizer *tokenizer, struct str word)
{
    if (tokenizer->stop_cap == 0)
        return 0;
    uint64_t hash = hash64(word);
    size_t i = (size_t)hash & (tokenizer->stop_cap - 1);
    while (tokenizer->stops[i].languages != 0) {
        if (tokenizer->stops[i].hash == hash)
            return tokenizer->stops[i].languages;
        i = (i + 1) & (tokenizer->stop_cap - 1);
    }
    return 0;
}

/* A word that is a stop word of one language says more than one that many share. */
static void count_word(const struct tokenizer *tokenizer, struct str word,
                       unsigned score[LANGUAGE_MAX])
{
    char folded[RUNE_FOLD_MAX];
    size_t n = rune_fold(word, RUNE_KEEP_MARKS, folded, sizeof folded);
    uint32_t languages = token__stop_languages(tokenizer, (struct str){folded, n});
    if (languages == 0)
        return;
    unsigned weight = GUESS_WEIGHT / (unsigned)__builtin_popcount(languages);
    for (size_t l = 0; l < language_count(); l++)
        if ((languages >> l & 1) != 0)
            score[l] += weight + 1;
}

static void count_words(const struct tokenizer *tokenizer, struct str text,
                        unsigned score[LANGUAGE_MAX])
{
    size_t from = 0, i = 0;
    while (i < text.len) {
        struct rune r = rune_at(text, i);
        enum rune_class class = r.len == 0 ? RUNE_OTHER : rune_class(r.cp);
        bool inside = class == RUNE_LETTER || class == RUNE_MARK;
        if (!inside && i > from)
            count_word(tokenizer, str_part(text, from, i), score);
        i += r.len == 0 ? 1 : r.len;
        if (!inside)
            from = i;
    }
    if (i > from)
        count_word(tokenizer, str_part(text, from, i), score);
}

int token__guess(const struct tokenizer *tokenizer, struct str text, uint32_t *also)
{
    unsigned score[LANGUAGE_MAX] = {0};
    size_t best = 0; /* English, when nothing says otherwise */
    count_words(tokenizer, str_part(text, 0, GUESS_BYTES), score);
    for (size_t l = 1; l < language_count(); l++)
        if (language_writes((int)l, SCRIPT_LATIN) && score[l] > score[best])
            best = l;
    *also = 0;
    for (size_t l = 0; l < language_count(); l++)
        if (l != best && score[l] == score[best] && language_writes((int)l, SCRIPT_LATIN) &&
            stopwords_of(language_at(l)->code) != NULL)
            *also |= UINT32_C(1) << l;
    return (int)best;
}
