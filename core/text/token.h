/* From text to index terms (DESIGN 7, Lexical; PITFALLS 36).
 *
 * Steps: split by script, NFKC and case fold and removal of accents (rune.h), stop words and
 * Snowball stems by language (language.h), hash.
 *
 * - A word is a run of letters, digits and marks of one script; "John's" -> john, and so for 'll,
 *   're, 've, 'd and 'm; other apostrophes inside are dropped, "don't" -> dont (a stop word). In
 *   fr, it and ca what stands before an apostrophe is a word: "l'homme" -> l (a stop word), homm.
 * - Numbers, dates and identifiers keep their digits: `2023`, `3.14`, `1,000` -> 1000, `$200` ->
 *   $200 and 200, `50%` -> 50% and 50, `15km` -> 15km, 15 and km, `2nd` -> 2nd and 2, `3:00` ->
 *   whole and parts, `covid-19` -> covid-19, covid, 19 and covid19, `e-mail` -> e-mail, e, mail and
 *   email, `2023-05-07` -> whole and parts, `C++` and `C#` keep their signs, an e-mail address or
 *   URL is one term and its words, `U.S.` and `p.m.` -> us, pm (never stop words).
 *   A compound is one term plus its parts, in a query too, so each form finds the other. The parts
 *   of a compound are not taken apart again: `15km-run` has 15km and run.
 * - Runs of Han and kana (one script here, since Japanese words mix them), Hangul, Thai, Lao, Khmer
 *   and Myanmar give overlapping bigrams of characters with their marks; when indexing also
 *   unigrams; a single character is a unigram.
 * - Emoji are terms of their own: a grapheme (family, flag) without variation selectors; one with a
 *   skin tone is also found without it.
 * - A Latin word with accents has the stem of the word as it is and, where that differs, the stem
 *   of the word without accents: "mangée" is found by "mangee". In German ü is found as u and ue;
 *   "ß" is ss everywhere. German compounds are found as whole words only: nothing is taken apart.
 * - A word is stemmed in the language when that language uses its script, else in the language that
 *   stands for the script (en, ru, el, ar, hi, hy, ta): "en" stems Russian words as Russian.
 * - Language: an ISO 639-1 code of a Snowball stemmer, "none" (no stems, no stop words), or "auto"
 *   (the Latin words by stop-word counts of the text's first 4 KiB, per call, deterministic; a tie
 *   goes to English first). A query whose language is a tie has the stems of all languages that tie
 *   as parts, at most four forms a word. Default "en".
 *
 * Known limits: no compound splitting, no simplified-traditional or kana-kanji mapping, no
 * transliteration; camelCase is one word; Latin letters in no decomposition but ø ł đ ħ ı æ œ keep
 * their form.
 *
 * Terms are cut at LIMIT_TERM_BYTES before hashing. A term's hash is the low 40 bits of hash64; the
 * token's text is kept for explain, titles and keywords.
 *
 * TOKENIZER_VERSION is stored with a space; a change of the rules raises it.
 *
 * Cost: about 50 ms a megabyte of English (many accents: three times that), 40 bytes of arena a
 * token and its text. Threads: a tokenizer belongs to one step; make one per step (1 µs). */
#ifndef HM_CORE_TEXT_TOKEN_H
#define HM_CORE_TEXT_TOKEN_H

#include "core/base/str.h"

#define TOKENIZER_VERSION 1
#define TERM_MASK ((UINT64_C(1) << 40) - 1)

struct tokenizer;

enum token_use { TOKEN_INDEX, TOKEN_QUERY };

enum token_flag {
    TOKEN_STOP = 1,    /* stop word: not indexed; in a query kept only when nothing else is left */
    TOKEN_PART = 2,    /* part or other spelling of what is also there whole (unigrams too) */
    TOKEN_NUMBER = 4,  /* holds a digit */
    TOKEN_CAPITAL = 8, /* begins with a capital letter that a sentence start does not explain */
};

struct token {
    uint64_t term;     /* hash, 40 bits */
    struct str text;   /* the term after folding and stemming, in the arena */
    uint32_t from, to; /* bytes of the source text it came from */
    uint32_t position; /* word position; parts of one compound share it */
    uint8_t flags;     /* enum token_flag */
};

struct token_list {
    struct token *at;
    size_t n;
};

/* True for "none", "auto" and the codes of the stemmers at hand. */
bool tokenizer_knows(struct str language);
/* Writes "none, auto, ar, …" for messages. */
void tokenizer_languages(char *out, size_t cap);

/* ERR_INVALID when the language is unknown. Free with tokenizer_free. */
enum err_code tokenizer_new(struct str language, struct tokenizer **out, struct err *err) MUST_USE;
void tokenizer_free(struct tokenizer *tokenizer); /* NULL is fine */

/* Tokenizers at rest: what one has learned of a language's words serves the next text, too. Any
 * thread may take one and give it back; a pool that is NULL makes a new one each time. */
struct tokenizers;
struct tokenizers *tokenizers_new(void); /* NULL when memory is short */
void tokenizers_free(struct tokenizers *pool);
enum err_code tokenizers_take(struct tokenizers *pool, struct str language, struct tokenizer **out,
                              struct err *err) MUST_USE;
void tokenizers_give(struct tokenizers *pool, struct tokenizer *tokenizer); /* NULL is fine */

/* All tokens in order of position, stop words included but flagged. `text` is valid UTF-8 (bad
 * bytes are skipped). Everything lives in the arena. ERR_EXHAUSTED when the arena is full. */
enum err_code tokenizer_run(struct tokenizer *tokenizer, struct arena *arena, struct str text,
                            enum token_use use, struct token_list *out, struct err *err) MUST_USE;

/* A term and how often it occurs; sorted by hash, each once. The input of the index. */
struct term_count {
    uint64_t term;
    uint32_t count;
    struct str text;
};

struct term_bag {
    struct term_count *at;
    size_t n;
    uint32_t length; /* sum of counts: the document's length */
};

/* Bags a token list without stop words. `weight` multiplies each count (a title may count 2). */
enum err_code term_bag_of(struct arena *arena, const struct token_list *tokens, uint32_t weight,
                          struct term_bag *out, struct err *err) MUST_USE;
/* The sum of two bags. */
enum err_code term_bag_add(struct arena *arena, const struct term_bag *a, const struct term_bag *b,
                           struct term_bag *out, struct err *err) MUST_USE;

#endif
