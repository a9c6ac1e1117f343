/* Characters: decoding, what kind a character is, and the fold under which two spellings are one
 * term. With basic_words.h the only user of utf8proc.
 *
 * Decoding is strict (RFC 3629). Classes are coarse on purpose: they say what the tokenizer and the
 * sentence splitter need and no more.
 *
 * The fold is NFKC, case folded, digits of all scripts as ASCII digits, the curly apostrophe
 * straight, the tatweel and everything invisible dropped. RUNE_STRIP drops marks too, but only
 * where they are accents: on Latin, Greek and Hebrew letters all, on Cyrillic the stress and the
 * dots of ё, in Arabic the vowel signs and hamzas, in Devanagari the nukta. The marks of й, of kana
 * and of the Indic and Thai vowels are letters to their readers and stay. It also opens the Latin
 * letters that have no decomposition: ø o, ł l, đ d, ħ h, ı i, æ ae, œ oe. RUNE_UMLAUT is
 * RUNE_STRIP, except that ä ö ü become ae oe ue, as Germans write without the key. */
#ifndef HM_CORE_TEXT_RUNE_H
#define HM_CORE_TEXT_RUNE_H

#include "core/base/str.h"

enum rune_class {
    RUNE_OTHER,    /* punctuation and symbols */
    RUNE_SPACE,    /* white space, controls, the zero width space */
    RUNE_LETTER,   /* of a script that separates words */
    RUNE_BIGRAM,   /* a letter of Han, kana, Hangul, Thai, Lao, Khmer or Myanmar */
    RUNE_DIGIT,    /* decimal digits of any script, superscripts, fractions */
    RUNE_MARK,     /* combining */
    RUNE_IGNORED,  /* soft hyphen, joiners, variation selectors */
    RUNE_CURRENCY, /* $ € … */
    RUNE_EMOJI,    /* a pictograph or a regional indicator */
};

enum rune_script {
    SCRIPT_NONE,
    SCRIPT_LATIN,
    SCRIPT_GREEK,
    SCRIPT_CYRILLIC,
    SCRIPT_ARMENIAN,
    SCRIPT_HEBREW,
    SCRIPT_ARABIC,
    SCRIPT_DEVANAGARI,
    SCRIPT_TAMIL,
    SCRIPT_OTHER,
    SCRIPT_HAN, /* with kana and bopomofo: Japanese words mix them */
    SCRIPT_HANGUL,
    SCRIPT_THAI,
    SCRIPT_LAO,
    SCRIPT_MYANMAR,
    SCRIPT_KHMER,
    SCRIPT_COUNT
};

enum rune_fold { RUNE_KEEP_MARKS, RUNE_STRIP, RUNE_UMLAUT };

struct rune {
    uint32_t cp;
    unsigned len; /* bytes, 0: at the end or invalid */
};

/* Classes of ASCII, and what is beyond it: most text needs only the former, so that it is asked
 * here, without a call. */
extern const uint8_t rune__ascii_class[128];
struct rune rune__decode(struct str s, size_t at);
enum rune_class rune__wide_class(uint32_t cp);

/* The character at byte `at`; .len 0 at the end and where the bytes are not UTF-8. */
static inline struct rune rune_at(struct str s, size_t at)
{
    if (at < s.len && (unsigned char)s.at[at] < 0x80)
        return (struct rune){(unsigned char)s.at[at], 1};
    return rune__decode(s, at);
}
static inline enum rune_class rune_class(uint32_t cp)
{
    return cp < 0x80 ? (enum rune_class)rune__ascii_class[cp] : rune__wide_class(cp);
}
enum rune_script rune_script(uint32_t cp); /* SCRIPT_OTHER for a letter in no table */
bool rune_is_capital(uint32_t cp);
/* ' and its typographic forms. */
bool rune_is_apostrophe(uint32_t cp);
/* Whether a grapheme goes on with `cp`, which follows `previous`; `*state` starts as 0. */
bool rune_joins(uint32_t previous, uint32_t cp, int32_t *state);
bool rune_is_skin_tone(uint32_t cp);

/* Folds at most RUNE_FOLD_MAX bytes of valid UTF-8 into `out` and returns the length; what does
 * not fit is cut at a character. */
enum { RUNE_FOLD_MAX = 256 };
size_t rune_fold(struct str s, enum rune_fold how, char *out, size_t cap);

#endif
