/* The built-in facts of an episode (DESIGN 6.5): each sentence with content is one.
 *
 *   content   "Caroline: I went to a support group yesterday (7 May 2023)": as it was said, by
 *             whom, relative dates in both forms. A very short answer carries the question in
 *             front of it
 *   time      what its first date means
 *   weight    how much it states: words and their length, more for dates, numbers and names, half
 *             for a question
 *
 * At most LIMIT_FACTS_PER_TURN a turn, more above 2,000 characters: the heaviest. Greetings and
 * acknowledgements give none. An exact repeat (speaker, normalised words, resolved date) becomes a
 * further source of the fact it repeats; one that was deleted on request is never made again. What
 * this server itself recalled is no news: text inside our fence, and a sentence of a machine turn
 * that a different speaker said first.
 *
 * I1  new facts are numbered in the order of documents and sentences, so that a document's are
 *     fact_first .. fact_first + fact_count - 1.
 * I2  a fact's hash covers its words alone; speaker and days are beside it in the key. */
#ifndef HM_CORE_INGEST_FACTS_H
#define HM_CORE_INGEST_FACTS_H

#include "core/graph/edge.h"
#include "core/graph/fact.h"
#include "core/index/segment.h"
#include "core/ingest/stage_int.h"
#include "core/model/ask_facts.h"

#define FACTS_UNCITED_WEIGHT 0.3

struct facts {
    uint32_t first;           /* id of the first new one */
    uint32_t n;               /* new ones */
    struct segment_doc *docs; /* their documents, relative */
    struct edge edge;         /* the episode's fact hyperedge */
    uint32_t repeats, echoes;
    uint32_t superseded; /* stored facts that a new one ended */
};

/* Writes the facts of the dialogue into the batch: records, hash and source rows, columns; sets the
 * turn rows' facts and priors. */
/* `told`: what a model answered; its facts come first, and turns that none of them cites have their
 * built-in ones, with a weight of at most FACTS_UNCITED_WEIGHT. NULL: all is built in. */
enum err_code facts_build(struct stage_work *w, const struct dialogue *dialogue,
                          uint32_t episode_id, const struct ask_facts *told, struct facts *out,
                          struct err *err) MUST_USE;

#endif
