/* The built-in boundary of one session's buffer (DESIGN 6.2).
 *
 * Gap g lies before turn g. Gaps are decided strictly in order, each when turn g + BOUNDARY_AHEAD
 * is there, so a decision depends on the order of turns alone and not on how many had arrived when
 * it was made. With n = turns of the open episode before g, the first rule that fires:
 *
 *   n >= LIMIT_EPISODE_TURNS, or tokens of those turns and g > LIMIT_EPISODE_TOKENS   cut
 *   n < 3, or g is by assistant, tool or system    no cut: an answer stays with its question
 *   g opens a conversation                         cut
 *   u(g) > 0, no u(j) of g+1 … g+3 is greater and none of these opens one             cut
 *
 *   u(j) = 2 min(1.5, words(j) / mean) + 0.7 change(j) + asks(j) - 2 asks(j-1)
 *          - 12 cohesion(2 turns before j; 2 from j on) + 0.1 (n(j) - 5) - 1.5
 *
 * A subject is opened by a turn that is long for this talk, not said right behind a question, often
 * itself asking or changing the subject in words ("by the way"), and shares few words with the two
 * turns before; the longer the episode, the sooner. u of a machine's turn is -infinity, and its
 * length is no part of the mean: that is of the turns of people since the buffer was empty, up to
 * g + BOUNDARY_AHEAD, and 4 of 15 words.
 *
 * What needs clocks (gaps of 6 hours, another session's turn, idleness) and the turn that is too
 * long for company are seen by stage_walk.c when a turn arrives: they close the whole buffer. Gaps
 * that still wait are then decided with the turns that are there, if these leave a tail of two.
 *
 * Measured against the stories of labelled conversations (F1 of the cuts, one turn aside allowed;
 * then the mean of ten copies that lack 8 % of their turns): the sample 0.63, 0.63; siblings who
 * text 0.71, 0.72; a user and an assistant 0.94, 0.83; two friends, whom nobody looked at before
 * the weights were fixed, 0.80, 0.80. A dip of the cohesion of 4 turns and 2 below its mean, with
 * the same cues: 0.59, 0.58; 0.47, 0.52; 0.69, 0.53; 0.83, 0.73. All weights off by up to 5 % at
 * once lower the F1 of topics (topic.h) by at most 0.07; by up to 15 %, the sample's has a mean of
 * 0.59 and a least of 0.46, the means of the others move by 0.05. Rarity of words, longer windows
 * and a plan over the whole buffer gain nothing. Sessions run together without a pause are told
 * apart less well by this: mostly no turn opens anything there.
 *
 *   buffer    a b c d e f g h i | j k l m        next = 9: the gap before j
 *   kept                    h i j k l m          2 before the gap and all behind it
 *
 * `state` of struct buffer holds all this, little-endian: u8 version, u8 names, u8 kept, u16 next,
 * u64 words, u32 count, names x 5 bytes, then each kept turn: u32 n, first_doc, last_doc, tokens,
 * words, u64 time_ms, u8 flags, u8 terms, terms x (5 bytes hash, u8 count). The mean starts anew
 * when the buffer has been empty. A state of version 1 is made again from the turns.
 *
 * I1  1 <= next <= turns; kept are the last n_kept turns of the buffer, and reach back to
 *     max(0, next - BOUNDARY_WINDOW).
 * I2  at most BOUNDARY_AHEAD - 1 turns lie behind turn `next` once boundary_cut() found no cut. */
#ifndef HM_CORE_INGEST_BOUNDARY_RULE_H
#define HM_CORE_INGEST_BOUNDARY_RULE_H

#include "core/ingest/boundary.h"
#include "core/ingest/cohesion.h"

enum {
    BOUNDARY_WINDOW = 2, /* turns before a gap that are compared … */
    BOUNDARY_BEHIND = 2, /* … with so many behind it */
    BOUNDARY_AHEAD = 4,  /* turns after g that must be there */
    BOUNDARY_KEPT = BOUNDARY_WINDOW + BOUNDARY_AHEAD + 1,
    BOUNDARY_NAMES = 16,
};

/* A flag beside the cues of boundary_cues.h: role assistant, tool or system. */
enum { BOUNDARY_MACHINE = 128 };

struct boundary_turn {
    uint32_t n;
    uint32_t first_doc, last_doc;
    uint32_t tokens; /* what it counts against LIMIT_EPISODE_TOKENS */
    uint32_t words;  /* all of them, stop words too */
    int64_t time_ms;
    uint8_t flags; /* cues and BOUNDARY_MACHINE */
    struct cohesion_turn terms;
};

struct boundary {
    uint64_t words; /* of the turns of people since the buffer was empty, with a prior */
    uint32_t count; /* those turns */
    uint32_t next;  /* index in the buffer of the turn behind the first undecided gap */
    uint32_t n_names;
    uint64_t names[BOUNDARY_NAMES]; /* terms of the speakers' names */
    uint32_t n_kept;
    struct boundary_turn kept[BOUNDARY_KEPT];
};

/* Of an empty buffer. */
void boundary_start(struct boundary *b);
/* Takes the state of `buffer` apart. False: it is not known (after a delete); start an empty
 * buffer and bring its turns in with boundary_replay(). */
enum err_code boundary_decode(const struct buffer *buffer, struct arena *arena, struct boundary *b,
                              bool *known, struct err *err) MUST_USE;
/* Sets buffer->state, in the arena. */
enum err_code boundary_encode(const struct boundary *b, struct arena *arena, struct buffer *buffer,
                              struct err *err) MUST_USE;

void boundary_add_name(struct boundary *b, uint64_t term);
/* One more turn behind the buffer's last; both are changed. */
void boundary_append(struct boundary *b, struct buffer *buffer, const struct boundary_turn *turn);
/* The same for a turn whose gap was decided against a cut when it came: for the turns of a buffer
 * whose state is not known. */
void boundary_replay(struct boundary *b, struct buffer *buffer, const struct boundary_turn *turn);
/* Decides what can be decided; `closing`: nothing more will come, so no gap waits. Returns the
 * length in turns of the episode that is cut off, 0 when there is none (yet). */
uint32_t boundary_cut(struct boundary *b, const struct buffer *buffer, bool closing);
/* True when boundary_cut() would find one without anything new. */
bool boundary_has_cut(const struct boundary *b, const struct buffer *buffer);
/* Moves the first `turns` turns out of the buffer into *closed (times of the episode are not set:
 * they are read from its turns). */
void boundary_take(struct boundary *b, struct buffer *buffer, uint32_t turns,
                   struct buffer *closed);
void boundary_check(const struct boundary *b, const struct buffer *buffer);

#endif
