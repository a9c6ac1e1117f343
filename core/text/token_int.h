/* Shared by the files of the tokenizer:
 *   token.c        the tokenizer's life, bags
 *   token_pool.c   tokenizers at rest
 *   token_stop.c   the guess of a text's language by its stop words
 *   token_put.c    a folded word becomes tokens: stop word or stems
 *   token_word.c   a word, number or compound is found in the text and handed to token_put.c
 *   token_scan.c   one pass over the text: words, bigram runs, emoji, sentence starts */
#ifndef HM_CORE_TEXT_TOKEN_INT_H
#define HM_CORE_TEXT_TOKEN_INT_H

#include "core/text/language.h"
#include "core/text/token.h"

struct sb_stemmer;

/* Words that came before, for a tokenizer that runs over many texts: those of a conversation repeat
 * their words, and a stem costs as much as all else that is done to a word. A slot is the word's by
 * hash; a later word takes it over. */
enum { STEM_SLOTS = 1024, STEM_BYTES = 15, STEM_MEMORY_AFTER = 64 };
struct stem_slot {
    uint8_t language; /* + 1; 0: free */
    bool stop;        /* it is a stop word of that language */
    uint8_t len, stem_len;
    char word[STEM_BYTES], stem[STEM_BYTES];
};

struct tokenizer {
    int language;                              /* LANGUAGE_NONE: "none" */
    bool automatic;                            /* "auto": `language` is chosen per call */
    struct sb_stemmer *stemmers[LANGUAGE_MAX]; /* made when first needed */
    struct stem_slot *stems;                   /* STEM_SLOTS; made when it pays */
    uint32_t stemmed;                          /* words, until then */
};

/* One call of tokenizer_run. `failed` is sticky, like a buffer's. */
struct token_run {
    struct tokenizer *tokenizer;
    struct arena *arena;
    struct str text;
    enum token_use use;
    int language;   /* of this text */
    uint32_t also;  /* a query whose language is a tie: the other languages, as bits */
    bool has_lower; /* the text has a small letter: capitals mean something */

    struct token *at;
    size_t n, cap;
    char *bytes; /* the rest of the block that term texts are cut from */
    size_t bytes_left;
    uint32_t position;
    bool sentence_start; /* no word yet since the last sentence end */
    bool failed;
};

/* A folded word on its way to the list. */
struct token_word {
    struct str text; /* case folded, composed, marks kept */
    enum rune_script script;
    bool ascii;
    bool shouted; /* two or more letters, all capitals */
    uint32_t from, to;
    unsigned flags; /* enum token_flag */
};

/* The language of the Latin words of a text by its stop words; `*also` gets those that tie. */
int token__guess(struct str text, uint32_t *also);
/* What a word of that script is stemmed in. */
int token__language(const struct token_run *run, enum rune_script script);

/* A term as it is. */
void token__put(struct token_run *run, struct str term, uint32_t from, uint32_t to, unsigned flags);
/* A word of letters: one token when it is a stop word, else its stem and other spellings. */
void token__put_word(struct token_run *run, const struct token_word *word);

/* The word, number, compound or URL at `i`, after a currency sign or "". Returns where it ends. */
size_t token__word(struct token_run *run, size_t i, struct str sign);

void token__scan(struct token_run *run);

#endif
