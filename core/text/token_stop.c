#include <stdlib.h>

#include "core/text/token_int.h"

enum { GUESS_BYTES = 4096, GUESS_WEIGHT = 12 };

static uint32_t slot_hash(struct str word)
{
    uint32_t hash = (uint32_t)word.len;
    for (size_t i = 0; i < word.len; i++)
        hash = hash * 31 + (unsigned char)word.at[i];
    return hash ^ hash >> 15;
}

/* The word's slot, or the free one where it would go. */
static struct stop_slot *slot_of(struct stop_set *set, struct str word)
{
    uint32_t i = slot_hash(word) & set->mask;
    for (; set->slots[i].len != 0; i = (i + 1) & set->mask) {
        const struct stop_slot *slot = &set->slots[i];
        if (slot->len == word.len && memcmp(set->list + slot->at, word.at, word.len) == 0)
            break;
    }
    return &set->slots[i];
}

static void set_fill(struct stop_set *set, size_t len)
{
    for (size_t from = 0, i = 0; i <= len; i++) {
        if (i < len && set->list[i] != ' ')
            continue;
        struct stop_slot slot = {(uint16_t)from, (uint16_t)(i - from)};
        if (i > from)
            *slot_of(set, (struct str){set->list + from, i - from}) = slot;
        from = i + 1;
    }
}

/* NULL when memory is short. A word takes two bytes of the list at least. */
static struct stop_set *set_new(const char *list)
{
    size_t len = strlen(list), slots = 64;
    ASSERT(len <= UINT16_MAX);
    while (slots <= len)
        slots *= 2;
    struct stop_set *set = calloc(1, sizeof *set + slots * sizeof set->slots[0]);
    if (set == NULL)
        return NULL;
    set->list = list;
    set->mask = (uint32_t)slots - 1;
    set_fill(set, len);
    return set;
}

/* False when memory is short; a language without a list has no set. */
static bool make_set(struct tokenizer *tokenizer, int language)
{
    const char *list = stopwords_of(language_at((size_t)language)->code);
    if (list != NULL && tokenizer->stops[language] == NULL)
        tokenizer->stops[language] = set_new(list);
    return list == NULL || tokenizer->stops[language] != NULL;
}

enum err_code token__stops_new(struct tokenizer *tokenizer, struct err *err)
{
    for (size_t l = 0; tokenizer->automatic && l < language_count(); l++)
        if (!make_set(tokenizer, (int)l))
            return err_set(err, ERR_EXHAUSTED, "no memory for a tokenizer");
    return ERR_OK;
}

bool token__is_stop(struct token_run *run, int language, struct str word)
{
    struct tokenizer *tokenizer = run->tokenizer;
    if (tokenizer->stops[language] == NULL && !make_set(tokenizer, language))
        run->failed = true;
    struct stop_set *set = tokenizer->stops[language];
    return set != NULL && slot_of(set, word)->len != 0;
}

/* The languages (as bits) in which the folded word is a stop word. */
static uint32_t stop_languages(const struct tokenizer *tokenizer, struct str word)
{
    uint32_t languages = 0;
    for (size_t l = 0; l < language_count(); l++) {
        struct stop_set *set = tokenizer->stops[l];
        if (set != NULL && slot_of(set, word)->len != 0)
            languages |= UINT32_C(1) << l;
    }
    return languages;
}

/* A word that is a stop word of one language says more than one that many share. */
static void count_word(const struct tokenizer *tokenizer, struct str word,
                       unsigned score[LANGUAGE_MAX])
{
    char folded[RUNE_FOLD_MAX];
    size_t n = rune_fold(word, RUNE_KEEP_MARKS, folded, sizeof folded);
    uint32_t languages = stop_languages(tokenizer, (struct str){folded, n});
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
