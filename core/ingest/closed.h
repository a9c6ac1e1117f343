/* A closed episode in the making: what the built-in road (stage_episode.c: all at once) and drafts
 * (draft.c: stage by stage) have in common.
 *
 *   closed.c          its turns, its dialogue, built-in title and summary; record, row, document
 *   closed_topics.c   memberships: the built-in choice, or a model's
 *   facts.h           its facts
 *
 * Fill it with closed_begin() or closed_resume(), add topics and facts, then write. */
#ifndef HM_CORE_INGEST_CLOSED_H
#define HM_CORE_INGEST_CLOSED_H

#include "core/base/limits.h"
#include "core/ingest/facts.h"
#include "core/ingest/stage_int.h"
#include "core/ingest/topic.h"
#include "core/model/ask_topic.h"

struct closed {
    struct stage_work *w;
    struct dialogue dialogue;
    struct episode episode;
    uint32_t first_doc;        /* turn layer */
    struct edge_member member; /* as its topics have it */
    struct term_bag bag;       /* of its document */
    struct topic_reader reader;
    struct topic_terms terms;
    struct facts facts;
    struct segment_doc topics[LIMIT_TOPICS_PER_EPISODE];
    uint32_t n_topics; /* topic documents, one a topic that was written */
    uint32_t n_new;    /* topics made */
    bool is_new;       /* the episode has no record yet */
    bool has_doc;      /* its document is written, again or for the first time */
    bool degraded;     /* a model should have made what is made built in */
};

/* Of w->closing: a new episode with a built-in title and summary, a new document. */
enum err_code closed_begin(struct closed *c, struct stage_work *w, struct err *err) MUST_USE;
/* Of an episode that is stored. */
enum err_code closed_resume(struct closed *c, struct stage_work *w, uint32_t id,
                            struct err *err) MUST_USE;
/* It takes a new document, with the words of its title and summary beside those of its dialogue. */
enum err_code closed_index_again(struct closed *c, struct err *err) MUST_USE;

/* Chooses and writes its topics, built in. */
enum err_code closed_choose_topics(struct closed *c, struct err *err) MUST_USE;
/* Writes one as a model has it; a topic that is gone becomes a new one. */
enum err_code closed_add_topic(struct closed *c, const struct ask_topic_text *text,
                               struct err *err) MUST_USE;

/* Record, row and document of the episode, documents of its topics and facts, counters. */
enum err_code closed_write(struct closed *c, struct err *err) MUST_USE;
void closed_put_edge(struct stage_work *w, enum store_kind kind, uint32_t parent,
                     const struct edge *edge);

#endif
