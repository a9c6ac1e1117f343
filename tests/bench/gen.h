/* Seeded spaces, turns and questions for the benchmarks: the same seed gives the same text on every
 * machine, and any turn can be made without those before it.
 *
 * A space is a conversation of two people over months: sessions of `turns_per_session` turns, one
 * to three days apart, each about one or two of the space's own eight subjects. A turn is a few
 * sentences with names, places, dates and amounts; its nouns, verbs and adjectives are drawn with
 * Zipf frequencies (rank = V^u), half of the nouns from the session's subject. Common ranks are
 * English words, rare ones are made of syllables, so a large space has a vocabulary of thousands.
 * About one sentence in ten says nothing ("Sounds good, thanks!").
 *
 *   G1  gen_turn(g, space, n) depends on g's members, space and n alone.
 *   G2  the times of a space ascend with n; a session begins >= 12 h after the one before.
 *
 * Threads: pure functions. */
#ifndef HM_TESTS_BENCH_GEN_H
#define HM_TESTS_BENCH_GEN_H

#include "core/base/str.h"

enum {
    GEN_TEXT_MAX = 8192,
    GEN_NAME_MAX = 24,
    GEN_QUESTION_MAX = 256,
    GEN_SESSION_MAX = 16,
    GEN_SESSION_TURNS = 1000, /* at most, so that sessions do not overlap (G2) */
};

struct gen {
    uint64_t seed;
    uint32_t text_bytes; /* mean length of a turn's text; at most GEN_TEXT_MAX / 2 */
    uint32_t turns_per_session;
};

struct gen_turn {
    char id[GEN_NAME_MAX];
    char session[GEN_SESSION_MAX];
    const char *speaker;
    int64_t time_ms;
    size_t text_len;
    char text[GEN_TEXT_MAX];
};

/* `n` counts from 0. */
void gen_turn(const struct gen *gen, uint32_t space, uint32_t n, struct gen_turn *turn);
/* "<prefix><space>" in six digits or more; returns the length. */
size_t gen_space_name(const char *prefix, uint32_t space, char out[GEN_NAME_MAX]);
/* A question about one of the first `turns` turns (> 0) of the space; `draw` picks which. */
size_t gen_question(const struct gen *gen, uint32_t space, uint32_t turns, uint64_t draw,
                    char out[GEN_QUESTION_MAX]);
/* The generator's random numbers, for who needs more of them: a hash of three numbers. */
uint64_t gen_hash(uint64_t a, uint64_t b, uint64_t c);

#endif
