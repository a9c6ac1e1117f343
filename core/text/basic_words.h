/* Words as BERT's basic tokenizer cuts them: what comes before WordPiece (core/model/builtin).
 *
 *   text -> [drop controls] -> [blanks around Han] -> [NFD, accents off] -> [lower case] -> words
 *
 * Made to give what the reference tokenizer gives (the Rust library behind the Python ones), so its
 * choices are kept: each character is lowered by itself, with no final sigma; punctuation is every
 * ASCII sign and Unicode's P as of an old edition; accents are the marks that it knows as Mn, of
 * all scripts, vowel signs too. Its classes are frozen here (basic_ranges.c was made by asking it
 * about every character): they must not move with the system's utf8proc, which gives only what
 * never changes, decompositions, combining classes and lower case. Known difference: capitals that
 * came after Unicode 15 (Garay and two more scripts, nine Latin letters) may stay capitals.
 *
 * One pass, without an allocation: a character goes through all steps before the next is read. Of
 * marks that NFD must put in order and that no step drops, 32 in a row are ordered together; more
 * than that no language writes.
 *
 * W1  words come in the order of the text; each is 1..BASIC_WORD_CHARS characters as UTF-8, or
 *     longer and then without its bytes. No byte of the text is looked at twice.
 * Threads: a splitter belongs to one. Cost: 5 ns a byte of ASCII, some 60 ns another character. */
#ifndef HM_CORE_TEXT_BASIC_WORDS_H
#define HM_CORE_TEXT_BASIC_WORDS_H

#include "core/base/str.h"

enum basic_step {
    BASIC_CLEAN = 1, /* drop controls, format characters, private use and U+FFFD */
    BASIC_HAN = 2,   /* each Han character is a word */
    BASIC_STRIP = 4, /* accents off */
    BASIC_LOWER = 8,
};

enum { BASIC_WORD_CHARS = 1024, BASIC_AHEAD = 80, BASIC_MARKS = 32 };

struct basic_word {
    struct str text; /* lives until the next call; .len 0: more characters than were asked for */
    uint32_t chars;
    size_t from, to; /* bytes of the text that it was made of */
};

/* A character on its way. */
struct basic_char {
    uint32_t cp;
    uint32_t class; /* combining class */
    size_t from, to;
};

/* Its members are the splitter's own. */
struct basic_words {
    struct str text;
    size_t at;
    unsigned steps; /* enum basic_step, or-ed */
    uint32_t most;  /* characters of a word that are kept */
    uint32_t next, ahead_n, marks_n;
    struct basic_char ahead[BASIC_AHEAD]; /* through all steps, not yet in a word */
    struct basic_char marks[BASIC_MARKS]; /* waiting for their order */
    char bytes[BASIC_WORD_CHARS * 4];
};

/* `text` is valid UTF-8 and may hold NULs (a byte that is none counts as U+FFFD); it must outlive
 * the splitter. `most` is 1..BASIC_WORD_CHARS. */
void basic_words_init(struct basic_words *words, struct str text, unsigned steps, uint32_t most);
/* False at the end. */
bool basic_words_next(struct basic_words *words, struct basic_word *out);

#endif
