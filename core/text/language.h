/* Languages: the table of Snowball stemmers, the script each is written in, and stop words.
 *
 * A word is stemmed in the space's language when it is written in that language's script; a word in
 * another script is stemmed in the first language of the table that uses it (Cyrillic: ru). So one
 * space holds several scripts without being told, and index and query agree, word by word. */
#ifndef HM_CORE_TEXT_LANGUAGE_H
#define HM_CORE_TEXT_LANGUAGE_H

#include "core/text/rune.h"

enum { LANGUAGE_MAX = 32, LANGUAGE_NONE = -1 };

struct language {
    char code[3]; /* ISO 639-1 */
    enum rune_script script;
    enum rune_script also; /* SCRIPT_NONE: only one */
    bool elides;           /* l'homme, dell'arte: what stands before the apostrophe is a word */
};

size_t language_count(void);
const struct language *language_at(size_t i);
/* Index in the table, or LANGUAGE_NONE. */
int language_find(struct str code);
/* The language that stands for a script where none is named, or LANGUAGE_NONE. */
int language_of_script(enum rune_script script);
bool language_writes(int language, enum rune_script script);

/* Whether there is a list of stop words for the language. */
bool stopwords_exist(const char *code);
/* `word` is in lower case and composed. */
bool stopword_is(const char *code, struct str word);

#endif
