/* English words whose forms no stemmer brings together: irregular verbs and plurals ("went" ->
 * "go", "children" -> "child"), and everyday doublets of the same thing ("mom" -> "mother",
 * "photo" -> "photograph"). Applied before the stemmer, to index and question alike. Worth 1.1
 * points of R@10 on the dev data (tests/bench/README.md). */
#ifndef HM_CORE_TEXT_IRREGULAR_H
#define HM_CORE_TEXT_IRREGULAR_H

#include "core/base/str.h"

/* The base of a folded word, or the word itself. */
struct str irregular_base(struct str word);

#endif
