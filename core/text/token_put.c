#include <libstemmer.h>
#include <stdlib.h>

#include "core/base/hash.h"
#include "core/base/limits.h"
#include "core/text/irregular.h"
#include "core/text/token_int.h"
#include "core/text/utf8.h"

enum { TEXT_BLOCK = 4096, FORMS_MAX = 4 };

/* The different terms that one word is found under; the first is the word's own. */
struct forms {
    char text[FORMS_MAX][LIMIT_TERM_BYTES];
    size_t len[FORMS_MAX];
    size_t n;
};

static struct str term_cut(struct str term)
{
    while (term.len > LIMIT_TERM_BYTES) {
        size_t n = LIMIT_TERM_BYTES;
        while (n > 0 && ((unsigned char)term.at[n] & 0xc0) == 0x80)
            n--;
        term.len = n;
    }
    return term;
}

/* Term texts are small and many: they are cut from blocks, not allocated one by one. */
static char *text_room(struct token_run *run, size_t n)
{
    if (n > run->bytes_left) {
        size_t block = run->text.len + LIMIT_TERM_BYTES;
        if (block > TEXT_BLOCK)
            block = TEXT_BLOCK;
        run->bytes = arena_alloc(run->arena, block);
        run->bytes_left = run->bytes == NULL ? 0 : block;
        if (run->bytes == NULL)
            return NULL;
    }
    char *at = run->bytes;
    run->bytes += n;
    run->bytes_left -= n;
    return at;
}

static bool has_room(struct token_run *run)
{
    if (run->n < run->cap)
        return true;
    size_t cap = run->cap == 0 ? run->text.len / 5 + 4 : run->cap * 2;
    struct token *at = arena_alloc(run->arena, cap * sizeof *at);
    if (at == NULL)
        return false;
    if (run->n != 0)
        memcpy(at, run->at, run->n * sizeof *at);
    run->at = at;
    run->cap = cap;
    return true;
}

void token__put(struct token_run *run, struct str term, uint32_t from, uint32_t to, unsigned flags)
{
    term = term_cut(term);
    if (term.len == 0 || run->failed)
        return;
    char *text = has_room(run) ? text_room(run, term.len) : NULL;
    if (text == NULL) {
        run->failed = true;
        return;
    }
    memcpy(text, term.at, term.len);
    struct str copy = {text, term.len};
    run->at[run->n++] = (struct token){.term = hash64(copy) & TERM_MASK,
                                       .text = copy,
                                       .from = from,
                                       .to = to,
                                       .position = run->position,
                                       .flags = (uint8_t)flags};
}

static bool is_language(int language, const char *code)
{
    return language != LANGUAGE_NONE && strcmp(language_at((size_t)language)->code, code) == 0;
}

/* The stem, valid until the next stem of that language. */
static struct str stem_new(struct token_run *run, int language, struct str word)
{
    if (is_language(language, "en"))
        word = irregular_base(word);
    struct sb_stemmer **stemmer = &run->tokenizer->stemmers[language];
    if (*stemmer == NULL)
        *stemmer = sb_stemmer_new(language_at((size_t)language)->code, NULL);
    const sb_symbol *at = NULL;
    if (*stemmer != NULL)
        at = sb_stemmer_stem(*stemmer, (const sb_symbol *)word.at, (int)word.len);
    if (at == NULL) {
        run->failed = true;
        return word;
    }
    struct str out = {(const char *)at, (size_t)sb_stemmer_length(*stemmer)};
    return out.len == 0 ? word : out;
}

/* The slot of a word, its own or one to take over; NULL: this word is not kept. */
static struct stem_slot *stem_slot(struct tokenizer *tokenizer, struct str word)
{
    if (word.len > STEM_BYTES)
        return NULL;
    if (tokenizer->stems == NULL) {
        if (++tokenizer->stemmed < STEM_MEMORY_AFTER)
            return NULL;
        tokenizer->stems = calloc(STEM_SLOTS, sizeof *tokenizer->stems);
        if (tokenizer->stems == NULL)
            return NULL; /* then they are made anew each time */
    }
    return &tokenizer->stems[hash64(word) % STEM_SLOTS];
}

/* What is known of a word, or found out now; NULL: it is not kept. */
static const struct stem_slot *know(struct token_run *run, int language, struct str word)
{
    struct stem_slot *slot = word.len == 0 ? NULL : stem_slot(run->tokenizer, word);
    if (slot == NULL ||
        (slot->language == language + 1 && str_eq(word, (struct str){slot->word, slot->len})))
        return slot;
    struct str out = stem_new(run, language, word);
    if (out.len > STEM_BYTES || run->failed)
        return NULL;
    slot->language = (uint8_t)(language + 1);
    slot->stop = stopword_is(language_at((size_t)language)->code, word);
    slot->len = (uint8_t)word.len;
    slot->stem_len = (uint8_t)out.len;
    memcpy(slot->word, word.at, word.len);
    memcpy(slot->stem, out.at, out.len);
    return slot;
}

/* The stem, valid until the next one; what is too long to be a word stays. */
static struct str stem(struct token_run *run, int language, struct str word)
{
    if (language == LANGUAGE_NONE || word.len > LIMIT_TERM_BYTES || word.len == 0)
        return word;
    const struct stem_slot *slot = know(run, language, word);
    return slot != NULL ? (struct str){slot->stem, slot->stem_len} : stem_new(run, language, word);
}

static void forms_add(struct forms *forms, struct str form)
{
    form = term_cut(form);
    for (size_t i = 0; i < forms->n; i++)
        if (str_eq(form, (struct str){forms->text[i], forms->len[i]}))
            return;
    if (forms->n == FORMS_MAX)
        return;
    memcpy(forms->text[forms->n], form.at, form.len);
    forms->len[forms->n++] = form.len;
}

/* Accents matter to a stemmer ("mangée" -> "mang") but not to everybody who types: a word with
 * accents is found under its stem without them, and under the stem that it has without them. */
static void add_accented(struct token_run *run, struct forms *forms, struct str word, int language)
{
    char folded[RUNE_FOLD_MAX];
    size_t n = rune_fold(stem(run, language, word), RUNE_STRIP, folded, sizeof folded);
    forms_add(forms, (struct str){folded, n});
    n = rune_fold(word, RUNE_STRIP, folded, sizeof folded);
    forms_add(forms, stem(run, language, (struct str){folded, n}));
    if (is_language(language, "de")) {
        n = rune_fold(word, RUNE_UMLAUT, folded, sizeof folded);
        forms_add(forms, stem(run, language, (struct str){folded, n}));
    }
}

static bool is_name_in_capitals(const struct token_run *run, const struct token_word *word)
{
    return word->shouted && run->has_lower &&
           (str_eq(word->text, STR("us")) || str_eq(word->text, STR("it")) ||
            str_eq(word->text, STR("who")));
}

static void put_stop_word(struct token_run *run, const struct token_word *word)
{
    char folded[RUNE_FOLD_MAX];
    struct str term = word->text;
    if (!word->ascii)
        term = (struct str){folded, rune_fold(term, RUNE_STRIP, folded, sizeof folded)};
    token__put(run, term, word->from, word->to, word->flags | TOKEN_STOP);
}

void token__put_word(struct token_run *run, const struct token_word *word)
{
    int language = token__language(run, word->script);
    const struct stem_slot *slot = NULL;
    if (language != LANGUAGE_NONE) {
        slot = know(run, language, word->text);
        bool stop = slot != NULL ? slot->stop
                                 : stopword_is(language_at((size_t)language)->code, word->text);
        if (stop && !is_name_in_capitals(run, word)) {
            put_stop_word(run, word);
            return;
        }
    }
    bool latin = word->script == SCRIPT_LATIN;
    if (word->ascii && run->also == 0) {
        struct str term = slot != NULL ? (struct str){slot->stem, slot->stem_len}
                                       : stem(run, language, word->text);
        token__put(run, term, word->from, word->to, word->flags);
        return;
    }
    char folded[RUNE_FOLD_MAX];
    size_t n = rune_fold(word->text, RUNE_STRIP, folded, sizeof folded);
    struct str plain = {folded, n};
    struct forms forms = {.n = 0};
    if (latin && !word->ascii)
        add_accented(run, &forms, word->text, language);
    forms_add(&forms, stem(run, language, plain));
    for (size_t l = 0; latin && l < language_count(); l++)
        if ((run->also >> l & 1) != 0)
            forms_add(&forms, stem(run, (int)l, plain));
    for (size_t i = 0; i < forms.n; i++)
        token__put(run, (struct str){forms.text[i], forms.len[i]}, word->from, word->to,
                   word->flags | (i == 0 ? 0 : TOKEN_PART));
}
