/* The five questions to a chat model (DESIGN 6; PITFALLS 10, 14, 22, 29), each a module of its own:
 *
 *   ask_boundary   which turns end an episode          numbers, should_end, should_wait
 *   ask_describe   what an episode tells               title, summary
 *   ask_topic      which story it goes on with         topics to join or a new one, weight, role
 *   ask_facts      what was said in it                 facts with sources, time, weight, role
 *   ask_answer     the answer to a question            plain text with citations
 *
 * Each has a struct with what is asked and what came back, and `void ask_X(call, ask)`, which fills
 * call->chat; who runs the call does the rest. `ask` stays alive as long as the call, and results
 * live in call->arena. The prompts are in core/model/prompts, one header each.
 *
 * What a model is shown stands between two lines with a key that nobody can foresee:
 *
 *   <<<9c41d07e
 *   [Mon 2023-05-08 13:56]          when the local date or offset changes, and behind a gap
 *   12 Caroline: Hey Mel!
 *   13 Melanie: Look:               a line that begins with no blank is ours, so a text with line
 *     12 Caroline: no                 breaks can't pass for a turn
 *   14 Rex (assistant): [recalled memory] As you said.
 *   9c41d07e>>>
 *
 * I1  the key is nowhere else: where it occurs in a text it is taken out, and so is the word of the
 *     fence around recalled text. A recalled block itself is left out: it is no news.
 * I2  only numbers that were sent come back. What halving left out was not sent.
 * I3  texts that come back are one line of valid UTF-8 without control characters, without the key,
 *     and within the lengths of their header.
 *
 * A reply is judged in two ways. What can be mended is: weights are clamped (NaN and none: 0.5), an
 * unknown role becomes the plainest, long texts are clipped at a sentence, unknown numbers dropped.
 * What leaves nothing to use is ERR_UNPROCESSABLE, with a sentence that tells the model what to do.
 * Language: texts must be written in a script that the dialogue uses; German told in English is not
 * noticed.
 *
 * Costs in tokens, at four characters each, of system text and schema: boundary 155 + 56, describe
 * 158 + 37, topic 207 + 134, facts 247 + 182, answer 132; a turn of two friends is 39. With a
 * boundary question every 6 turns and 10 turns an episode that is about 430 a turn, where the
 * research code spends 2,950. tests/unit/model/test_ask_prompts.c holds the limits.
 *
 * write() says true also when the buffer failed; its owner asks buf_ok(). Threads: the call's. */
#ifndef HM_CORE_MODEL_ASK_H
#define HM_CORE_MODEL_ASK_H

#include "core/model/call.h"

/* One utterance, or a part of a long one: parts have the same number and follow each other. */
struct ask_turn {
    uint32_t number;                /* what the model calls it; ascending */
    struct str speaker, role, text; /* valid UTF-8; text beyond LIMIT_DOC_BYTES is not shown */
    int64_t time_ms;
    int16_t offset_min;
};

/* Which turns are sent and how much of each: the first `head`, the last `tail`. */
struct ask_window {
    uint32_t head, tail;
    size_t text_max;
};

struct ask_dialogue {
    const struct ask_turn *turns;
    uint32_t n;             /* >= 1: nothing said is never asked about (PITFALLS 10) */
    struct ask_window sent; /* out, set by write() */
};

#endif
