/* Facts: the statements of one episode (DESIGN 6.5), with what they rest on, what they are about in
 * time, their weight and role, and what they repeat or replace, all in one answer.
 *
 * A fact must cite turns that were sent and share a word with them, else it is dropped and counted
 * as unsupported (PITFALLS 10). A shared word has three letters or more, or is a number, or two
 * characters of a script without blanks; stop words and speakers' names do not count. So does one
 * that is written in a script nobody spoke in. A fact that says the same as an earlier one of the
 * reply only adds its turns to it. A reply without facts is fine; one whose facts all fall is told
 * so.
 *
 * Days are those of the first cited turn's own time and offset. from and to are read first; where
 * they are no dates, the phrase is resolved. What is no date, ends before it begins, or lies more
 * than 100 years from the turn is no date: a fact without a time, never an error (PITFALLS 13).
 *
 * same_as wins over supersedes: what says the same replaces nothing.
 *
 * Halving keeps the first turns, then less of the text, and fewer known facts: turns without a fact
 * of the model get built-in ones anyway, so which part is kept matters little, and one end is kept
 * whole so that answers stay with their questions. */
#ifndef HM_CORE_MODEL_ASK_FACTS_H
#define HM_CORE_MODEL_ASK_FACTS_H

#include "core/base/civil.h"
#include "core/graph/edge.h"
#include "core/model/ask.h"
#include "core/text/token.h"

enum {
    ASK_FACTS_MAX = 12,
    ASK_KNOWN_MAX = 20,
    ASK_CONTENT_BYTES = 480,
    ASK_POTENTIAL_MAX = 3,
    ASK_POTENTIAL_BYTES = 160,
    ASK_FACT_KEYWORDS = 8,
    ASK_FACT_KEYWORD_BYTES = 48,
    ASK_TIME_BYTES = 96,
};

/* A fact that is stored already; nearest first. */
struct ask_known {
    uint32_t number; /* what the model calls it; > 0, each once */
    struct str content;
    int64_t valid_from; /* ms */
    int16_t offset_min;
};

struct ask_fact {
    struct str content;
    struct str potential; /* questions, joined by line feeds */
    struct str keywords;  /* joined by line feeds */
    uint32_t *turns;      /* numbers, ascending, >= 1 */
    uint32_t n_turns;
    bool has_time;
    struct civil from, to;
    uint8_t grain;        /* enum date_grain */
    struct str time_text; /* the phrase; may be there without a time */
    double weight;        /* 0..1 */
    uint8_t role;         /* ROLE_CORE .. ROLE_CAUSAL */
    uint32_t same_as;     /* number of a known fact, 0: none */
    uint32_t supersedes;  /* the same; 0 where same_as is not */
};

struct ask_facts {
    struct ask_dialogue dialogue;
    struct str topic_title, topic_summary;
    const struct ask_known *known;
    uint32_t n_known;            /* <= ASK_KNOWN_MAX */
    struct tokenizer *tokenizer; /* the space's; this thread's while the reply is read */
    uint64_t seed;               /* of the fence's key: random */
    /* out */
    struct ask_fact *facts;
    uint32_t n_facts;     /* <= ASK_FACTS_MAX */
    uint32_t unsupported; /* dropped */
    uint32_t surplus;     /* beyond ASK_FACTS_MAX */
    uint32_t sent_known;  /* known facts that were sent */
    struct arena *arena;
};

/* call->purpose is PURPOSE_FACTS. */
void ask_facts(struct model_call *call, struct ask_facts *ask);

#endif
