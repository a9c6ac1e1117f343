/* Light words: they say when, how many or how, but not what a dialogue is about (days, numbers,
 * get, good, thing …). They are indexed like any word and only kept out of titles, keywords and the
 * likeness of topics. A closed list of generic English; elsewhere rarity alone decides. */
#ifndef HM_CORE_INGEST_DESCRIBE_LIGHT_H
#define HM_CORE_INGEST_DESCRIBE_LIGHT_H

#include "core/base/str.h"

/* `word` as written or as indexed; ASCII case is folded. Short numbers and years are light too. */
bool light_word_is(struct str word);

#endif
