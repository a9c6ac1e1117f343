/* A small world of turns, episodes, topics and facts, kept twice: in the store, written as the
 * stages would write it, and as plain arrays. world_check() derives from the arrays all rows that
 * there must be and compares, so a deletion is one change of the arrays and one batch.
 *
 * What exists follows from few things: which turns live, and which facts and topics were deleted on
 * request. A fact exists while one of its sources lives (and the turn that asked, when it quotes
 * one), an episode while one of its turns, a topic while one of its episodes.
 *
 * Every text has a needle of its own, which must be nowhere when its owner is gone. */
#ifndef HM_TESTS_UNIT_INGEST_KIT_WORLD_H
#define HM_TESTS_UNIT_INGEST_KIT_WORLD_H

#include "core/ingest/remove_int.h"
#include "tests/unit/ingest/kit.h"

enum {
    WORLD_TURNS = 160,
    WORLD_FACTS = 400,
    WORLD_EPISODES = 80,
    WORLD_TOPICS = 40,
    WORLD_SESSIONS = 4,
    WORLD_SOURCES = 6,
    WORLD_MEMBERS = 4,
    WORLD_EPISODE_TURNS = 4,
};

struct world_turn { /* by number */
    bool alive;
    bool looked;
    bool has_id;
    uint32_t session_no, doc, docs;
    uint32_t episode; /* 0: in a buffer, or not looked at */
    int64_t time_ms;
    struct str text;
};
struct world_fact {     /* by id */
    bool asked;         /* deleted on request */
    bool quotes_needle; /* what it quotes is that turn's alone, so nothing repeats it */
    uint32_t n_sources, sources[WORLD_SOURCES];
    uint32_t asked_by[WORLD_SOURCES]; /* the turn whose question it quotes; 0: quotes nothing */
    uint32_t n_episodes, episodes[WORLD_SOURCES];
};
struct world_episode { /* by id */
    uint32_t n_turns, turns[WORLD_EPISODE_TURNS];
    uint32_t n_topics, topics[2];
};
struct world_topic { /* by id */
    bool asked;
    uint32_t line; /* topics of one story, in order of their ids */
    uint32_t n_members, members[WORLD_MEMBERS];
};

struct world {
    struct kit kit;
    unsigned seed;
    uint32_t n_turns, n_facts, n_episodes, n_topics, n_lines; /* ids go to n, 0 is unused */
    struct world_turn turns[WORLD_TURNS + 1];
    struct world_fact facts[WORLD_FACTS + 1];
    struct world_episode episodes[WORLD_EPISODES + 1];
    struct world_topic topics[WORLD_TOPICS + 1];
    uint32_t doc_fact_first[WORLD_TURNS * 8], doc_facts[WORLD_TURNS * 8];
    bool doc_more[WORLD_TURNS * 8];
    uint32_t n_docs;
    uint32_t looked; /* LOOKED */
};

/* `turns` are posted to WORLD_SESSIONS sessions; some of the last stay unlooked. */
void world_init(struct world *w, unsigned seed, uint32_t turns);
void world_fini(struct world *w);
uint32_t world_random(struct world *w, uint32_t below);
/* One more turn that nobody has looked at. */
void world_post(struct world *w);

/* Its living sources; returns how many. */
uint32_t world_sources(const struct world *w, uint32_t id, uint32_t out[WORLD_SOURCES]);
bool world_has_fact(const struct world *w, uint32_t id);
bool world_has_episode(const struct world *w, uint32_t id);
bool world_has_topic(const struct world *w, uint32_t id);
struct remove_counts world_count(const struct world *w);

/* Changes the arrays as a deletion must. */
void world_delete(struct world *w, enum store_kind kind, uint32_t id);

/* Compares everything. */
void world_check(struct world *w);

/* Stand-ins for describe and topic: texts that say what they were made of. */
extern const struct remove_ops world_ops;

#endif
