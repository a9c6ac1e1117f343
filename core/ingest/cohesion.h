/* Lexical cohesion: how much of what follows a gap repeats the words before it (after Hearst 1997,
 * TextTiling, with coverage instead of cosine). No index and no idf: a decision needs a handful of
 * turns only, so it can be made while they arrive and does not depend on what else is stored.
 *
 *   cohesion(L; R) = (occurrences in R of terms that occur in L + K usual) / (occurrences in R + K)
 *
 * Stop words, parts of compounds, light words (describe_light.h) and the names of those who speak
 * do not count. Few words say little, so the value is drawn towards what is usual. */
#ifndef HM_CORE_INGEST_COHESION_H
#define HM_CORE_INGEST_COHESION_H

#include "core/text/token.h"

enum { COHESION_TERMS = 240 }; /* distinct terms kept of a turn: the first ones of a long text */

struct cohesion_term {
    uint64_t term;
    uint8_t count; /* at most 255 */
};

/* Of one turn; ascending by term, each once. */
struct cohesion_turn {
    struct cohesion_term *at;
    uint32_t n;
};

struct cohesion_names {
    const uint64_t *at;
    uint32_t n;
};

/* The terms of a turn whose text was tokenised in `n` parts. ERR_EXHAUSTED when memory is short. */
enum err_code cohesion_turn_of(struct arena *arena, const struct token_list *parts, size_t n,
                               struct cohesion_turn *out, struct err *err) MUST_USE;

/* `left` turns before the gap and `right` turns behind it are consecutive in `turns`. */
struct cohesion_gap {
    const struct cohesion_turn *const *turns;
    uint32_t left, right;
    struct cohesion_names names;
};
double cohesion(const struct cohesion_gap *gap, double usual);

#endif
