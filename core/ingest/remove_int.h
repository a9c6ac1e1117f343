/* What the files of remove share: one deletion in the making.
 *
 * Everything that the deletion touches is loaded once into a table by id, changed there, and
 * written at the end; so steps compose (two neighbours that both go, two topics of one line).
 * First the turns that go are gathered (remove.c), then each kind is settled in order: facts,
 * episodes, topics; then all is written. */
#ifndef HM_CORE_INGEST_REMOVE_INT_H
#define HM_CORE_INGEST_REMOVE_INT_H

#include "core/graph/edge.h"
#include "core/graph/fact.h"
#include "core/index/column.h"
#include "core/index/lengths.h"
#include "core/ingest/boundary.h"
#include "core/ingest/embed.h"
#include "core/ingest/rebuild.h"
#include "core/ingest/remove.h"

enum { REMOVE_BUCKETS = 256, REMOVE_RECORD_MAX = 4 << 20 };

struct remove_node {
    uint32_t id;
    struct remove_node *next;  /* in the order they came */
    struct remove_node *chain; /* in their bucket */
};
struct remove_table {
    struct remove_node *bucket[REMOVE_BUCKETS];
    struct remove_node *first, *last;
    uint32_t n;
};

/* A turn that goes. */
struct remove_turn {
    struct remove_node node;
    struct turn turn;
};
/* A row of COLUMN_TURN that changes; its node's id is the document + 1. */
struct remove_row {
    struct remove_node node;
    struct turn_row row;
    bool gone;
};
/* An open buffer that loses turns; by session ordinal. */
struct remove_buffer {
    struct remove_node node;
    struct buffer buffer;
};
/* A source that a fact loses though the turn stays. */
struct remove_drop {
    uint32_t n;
    struct remove_drop *next;
};
/* A fact that loses sources or goes. */
struct remove_fact {
    struct remove_node node;
    struct fact fact;
    struct fact_row row;
    struct remove_drop *drops;
    bool gone;
    bool moved; /* begins with a later turn */
    bool asked; /* itself the object of the request */
};
struct remove_episode {
    struct remove_node node;
    struct episode episode;
    struct edge edge;
    bool edge_read, edge_changed;
    bool lost;     /* some of its turns go */
    bool unlinked; /* its facts are to be made again */
    bool gone;
    bool rebuilt;  /* its text is made again */
    bool relinked; /* its list of topics changed */
    uint32_t first_doc;
    uint32_t new_doc;
    struct turn *turns; /* rebuilt: those that are left */
    uint32_t n_turns;
    struct term_bag bag;
};
struct remove_topic {
    struct remove_node node;
    struct topic topic;
    struct edge edge;
    bool edge_read;
    bool touched; /* a member went or was rebuilt, or that is so before it in the line */
    bool gone;
    bool rebuilt;
    bool relinked; /* its place in the line changed */
    uint32_t new_doc;
    struct term_bag bag;
};

struct remove_ops {
    enum err_code (*episode)(const struct rebuild *rebuild, const struct turn *turns, uint32_t n,
                             struct episode *episode, struct term_bag *bag, struct err *err);
    enum err_code (*topic)(const struct rebuild *rebuild, const struct episode *episodes,
                           uint32_t n, struct topic *topic, struct term_bag *bag, struct err *err);
};

struct removal {
    struct store_txn *txn;
    uint64_t space;
    struct arena *arena;
    const struct remove_ops *ops; /* the real ones; tests put stand-ins */
    struct batch *batch;
    struct space settings;
    struct space_stat stat;
    struct lengths *lengths;
    struct columns *columns;
    struct vectors_generations generations;
    struct remove_table turns, rows, buffers, facts, episodes, topics;
    uint32_t *gone_turns, *gone_facts; /* ascending, once settled */
    uint32_t n_gone_turns, n_gone_facts;
    struct rebuild rebuild;
    uint32_t pending, open, unfinished; /* of the turns that go */
    uint32_t reopened;                  /* turns whose facts are to be made again */
    uint64_t text_bytes;
    uint32_t new_episode_docs, new_topic_docs;
};

enum err_code remove__memory(struct err *err);
/* remove_build() with stand-ins for what other modules do. */
enum err_code remove__build(struct removal *r, enum store_kind kind, uint32_t id,
                            struct remove_counts *counts, struct err *err);

/* remove_table.c */
struct remove_node *remove__find(const struct remove_table *table, uint32_t id);
/* A zeroed node of `size` bytes, added; NULL when memory is short. */
void *remove__add(struct removal *r, struct remove_table *table, uint32_t id, size_t size);
/* Load or find. ERR_INTERNAL when a node that another one names is missing. */
enum err_code remove__row(struct removal *r, uint32_t doc, struct remove_row **row,
                          struct err *err);
enum err_code remove__episode(struct removal *r, uint32_t id, struct remove_episode **episode,
                              struct err *err);
enum err_code remove__episode_edge(struct removal *r, struct remove_episode *episode,
                                   struct err *err);
enum err_code remove__topic(struct removal *r, uint32_t id, struct remove_topic **topic,
                            struct err *err);
enum err_code remove__topic_edge(struct removal *r, struct remove_topic *topic, struct err *err);
/* The living turns of a session in [first_n, last_n] that do not go; at most `cap`. */
struct remove_range {
    uint32_t session_no, first_n, last_n, cap;
    bool texts;
};
enum err_code remove__remaining(struct removal *r, const struct remove_range *range,
                                struct turn **turns, uint32_t *n, struct err *err);
/* Versions of a record lose their content. */
enum err_code remove__blank(struct removal *r, enum store_kind kind, uint32_t id, struct err *err);
/* The document dies, if it lives. */
enum err_code remove__kill(struct removal *r, enum layer layer, uint32_t doc, struct err *err);
void remove__log_sorted(struct removal *r, enum store_kind kind, const uint32_t *ids, uint32_t n);

/* remove_turn.c */
enum err_code remove__take_turn(struct removal *r, const struct turn *turn, struct err *err);
enum err_code remove__settle_buffers(struct removal *r, struct err *err);
enum err_code remove__write_turns(struct removal *r, struct err *err);

/* remove_fact.c */
enum err_code remove__take_fact(struct removal *r, uint32_t id, bool asked,
                                struct remove_fact **entry, struct err *err);
enum err_code remove__take_facts_of_turns(struct removal *r, struct err *err);
/* Facts with the same key, asked for with it: what was over and is said again is a fact of its own,
 * and what is never to be made again must not be there. */
enum err_code remove__take_twins(struct removal *r, const struct remove_fact *entry,
                                 struct err *err) MUST_USE;
/* The episode's turns are sources of nothing any more. */
enum err_code remove__unlink_facts(struct removal *r, uint32_t id, struct err *err);
enum err_code remove__settle_facts(struct removal *r, struct err *err);
enum err_code remove__write_facts(struct removal *r, struct err *err);

/* remove_episode.c */
/* The episode is in no topic any more. */
enum err_code remove__unlink_topics(struct removal *r, uint32_t id, struct err *err);
enum err_code remove__settle_episodes(struct removal *r, struct err *err);
enum err_code remove__rebuild_episodes(struct removal *r, struct err *err);
enum err_code remove__write_episodes(struct removal *r, struct err *err);

/* remove_job.c */
enum err_code remove__end_jobs(struct removal *r, struct err *err) MUST_USE;

/* remove_topic.c */
enum err_code remove__settle_topics(struct removal *r, struct err *err);
enum err_code remove__rebuild_topics(struct removal *r, struct err *err);
enum err_code remove__write_topics(struct removal *r, struct err *err);

#endif
