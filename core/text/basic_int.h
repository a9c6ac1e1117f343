/* The classes of the reference tokenizer, beyond ASCII. Ascending; the last range is no character,
 * so that a search always ends at one. */
#ifndef HM_CORE_TEXT_BASIC_INT_H
#define HM_CORE_TEXT_BASIC_INT_H

#include <stdint.h>

struct basic_range {
    uint32_t first, last;
};

enum { BASIC_NO_CHARACTER = 0x110000 };

enum { BASIC_DROPPED = 23, BASIC_ACCENTS = 267, BASIC_ORDERED = 24, BASIC_PUNCTUATION = 153 };

extern const struct basic_range basic__dropped[BASIC_DROPPED];
extern const struct basic_range basic__accents[BASIC_ACCENTS];
extern const struct basic_range basic__ordered[BASIC_ORDERED]; /* marks that are no accents */
extern const struct basic_range basic__punctuation[BASIC_PUNCTUATION];

#endif
