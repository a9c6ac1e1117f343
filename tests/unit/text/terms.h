/* What the token tests share: terms as one line of text, and whether two texts find each other. */
#ifndef HM_TESTS_UNIT_TEXT_TERMS_H
#define HM_TESTS_UNIT_TEXT_TERMS_H

#include "core/text/token.h"

enum { TERMS_LINE = 4096, TERMS_ARENA = 8 << 20 };

/* The terms separated by blanks; '!' behind a stop word, '+' behind a part. */
void terms_show(const char *language, const char *text, enum token_use use, char out[TERMS_LINE]);
/* Whether a term of the query that is no stop word is in the text's index. */
bool terms_meet(const char *language, const char *indexed, const char *query);

#endif
