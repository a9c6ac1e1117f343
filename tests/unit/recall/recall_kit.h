/* What the tests of recall share: questions to the space of stage_kit, and a reference that
 * computes every list from the texts alone, by brute force, as DESIGN 7 words it. */
#ifndef HM_TESTS_UNIT_RECALL_KIT_H
#define HM_TESTS_UNIT_RECALL_KIT_H

#include "core/recall/recall.h"
#include "core/text/date_terms.h"
#include "tests/unit/ingest/kit_stage.h"

/* --- asking --- */

struct asked {
    struct store_txn *txn;
    struct arena *arena;
    struct space settings;
    struct recall_reply reply;
};

struct recall_query query_of(const char *q); /* the defaults, now KIT_NOW */
/* The reply borrows until asked_end(). */
struct asked ask(const struct recall_query *query);
void asked_end(struct asked *asked);
/* The same, which may fail; the n-th allocation of the query fails (0: none). */
enum err_code ask_failing(const struct recall_query *query, unsigned long nth);
/* The whole reply but its timings as text, in the arena of stage_kit. */
struct str text_of_reply(const struct recall_reply *reply);
struct str ask_text(const struct recall_query *query);

const struct recall_fact *reply_fact(const struct recall_reply *reply, uint32_t id);
const struct recall_candidate *explained(const struct recall_reply *reply, enum recall_stage stage,
                                         uint32_t id);
size_t count_chars(struct str text);
/* How often `part` stands in `text`. */
uint32_t count_in(struct str text, const char *part);
uint32_t speaker_ordinal(const char *name);
void delete_node(enum store_kind kind, uint32_t id);

/* --- the reference --- */

enum { REF_MAX = 2000, REF_TERMS = 16 };

struct ref_doc {
    struct term_bag bag;
    float length; /* as quantised; 0: gone */
};
struct ref_turn { /* by number */
    struct turn turn;
    struct ref_doc doc;
    uint32_t episode;
    uint32_t place; /* in its session */
    float stated;   /* prior: x */
    bool done;
};
struct ref_fact { /* by id */
    struct fact fact;
    struct ref_doc doc;
};
struct ref_episode {
    struct episode episode;
    struct ref_doc doc;
};
struct ref_topic {
    struct topic topic;
    struct ref_doc doc;
};

struct ref {
    struct ref_turn *turns;
    struct ref_fact *facts;
    struct ref_episode *episodes;
    struct ref_topic *topics;
    uint32_t n_turns, n_facts, n_episodes, n_topics; /* greatest */
    float n_docs, avg_turn, avg_fact, avg_episode, avg_topic;
    /* the question */
    uint64_t terms[REF_TERMS];
    float idf[REF_TERMS];
    uint32_t n_terms;
    float reach;
    struct date_term dates[DATE_TERMS_MAX];
    uint32_t n_dates;
    const char *named; /* speaker whom the question names; NULL: none */
    bool windows;
};

/* Reads the whole space. */
void ref_init(struct ref *ref);
/* `words`: those of the question that count; day NULL: it names no date. */
void ref_ask(struct ref *ref, const char *words, const struct civil *day, const char *named);

float ref_turn_score(const struct ref *ref, uint32_t n);
/* Over the turns at most `reach` places away in the session. */
float ref_window(const struct ref *ref, uint32_t n, uint32_t reach);
float ref_date(const struct ref *ref, uint32_t n);
float ref_fact_score(const struct ref *ref, uint32_t id);
float ref_episode_score(const struct ref *ref, uint32_t id);
float ref_topic_score(const struct ref *ref, uint32_t id);
/* Prior and speaker. */
float ref_factor(const struct ref *ref, uint32_t n);
/* What of its score a fact keeps beside turn n when it stands among the first: less than 1 when it
 * was said in several turns and states less than that one. */
enum { REF_FIRST = 30 };
float ref_share(const struct ref *ref, uint32_t id, uint32_t n);
/* That of this candidate. Checks that it is lowered where it must be, and nowhere else. */
float ref_share_of(const struct ref *ref, const struct recall_reply *reply,
                   const struct recall_candidate *c, uint32_t n);
/* All signals of a fact said in turn n, of an episode, of a topic. */
void ref_fact_signals(const struct ref *ref, uint32_t id, uint32_t n, float out[SIGNALS]);
void ref_episode_signals(const struct ref *ref, uint32_t id, float out[SIGNALS]);
void ref_topic_signals(const struct ref *ref, uint32_t id, float out[SIGNALS]);
/* fusion=score. */
float ref_sum(const struct ref *ref, enum recall_stage stage, const float signals[SIGNALS],
              float factor);

/* --- worlds --- */

/* Lines of three people in three sessions that interleave, with words of a small vocabulary, dates,
 * questions, repeats; gaps end episodes. `flush` closes what is open. */
void tell_world(unsigned seed, uint32_t turns, bool flush);

#endif
