/* Topics, built in (DESIGN 6.4): which story an episode goes on with, decided on index scores.
 *
 * The episode's strongest terms are one query against the episode layer: BM25 of what its words
 * have in common with each earlier episode, as a share of what it would score against itself. A
 * topic's likeness S is the sum over its episodes, each with the weight of its membership, divided
 * by sqrt(n (1 + RHO (n - 1))), the norm of a centroid whose n members have a mean likeness of RHO
 * among themselves. The best topic is joined when it stands out from chance:
 *
 *   S1 >= FLOOR + BETA bg + KAPPA S3
 *
 * bg is the mean likeness of all episodes; S3, the third best topic's, tells how like a topic can
 * be that the episode does not belong to, for it can belong to two. Where everything shares words
 * with everything, both are high and only what stands out joins; a topic that has a third of all
 * episodes lifts bg so far that it stops attracting. The second best is joined too when S2 >=
 * NEARLY S1: an episode may hold two stories.
 *
 * Measured on the sample (pairwise F1 of turns against its stories) and the dev data (evidence kept
 * by the ten best topics, share of the episodes they hold): 0.64; 91 %, 31 %. Without S3 and with
 * BETA 3: 0.56; 92 %, 37 %. The constants lie on a plateau: BETA 1.9 to 2.1, RHO 0.15 to 0.25,
 * NEARLY 0.6 to 0.7, PROPER_NOUN 1.4 to 1.6, k1 0.8 to 1.6 give F1 0.59 to 0.64. Fixed thresholds
 * of a cosine were tried and none fits both conversations.
 *
 *   chain   topic 3 (16 episodes) --next--> topic 9 (4)      counts as one; the 17th member opens a
 *                                                            successor
 *
 * Light words, stop words and names of speakers do not count; proper nouns count half more. Only
 * what is committed decides, with df, N and lengths of living documents, so folds change nothing
 * (invariant 5 of DESIGN 5).
 *
 * Keywords: the 16 terms with the largest sum of weights over the members, at the time each joined.
 * More find no more (32: evidence kept 91 % too) and make the history of a topic longer. */
#ifndef HM_CORE_INGEST_TOPIC_H
#define HM_CORE_INGEST_TOPIC_H

#include "core/graph/edge.h"
#include "core/graph/episode.h"
#include "core/graph/topic.h"
#include "core/index/column.h"
#include "core/index/segment.h"
#include "core/ingest/stage_dialogue.h"

/* What a decision reads. */
struct topic_reader {
    const struct said_reader *said;
    struct columns *columns;
    struct lengths *lengths;
    const struct space_stat *stat;
    uint32_t own_doc; /* of an episode that is written again: its living document, which is not to
                         count; else TOPIC_NO_DOC */
};
#define TOPIC_NO_DOC UINT32_MAX

/* How much each term of a dialogue says, beside its index: (1 + ln turns) idf, 0 for what is no
 * subject. Postings of the episode layer are kept for the decision. */
struct topic_terms {
    float *weight;             /* by dialogue term: what describe.c wants */
    uint32_t *query;           /* dialogue terms that ask, strongest first */
    double *idf;               /* by place in query */
    struct postings *postings; /* by place in query: episode-layer documents */
    uint32_t n_query;
    double episodes; /* N, this one counted */
    double average;  /* length, this one counted */
    uint32_t length; /* of this one's document */
};
enum err_code topic_weigh(const struct topic_reader *reader, const struct dialogue *dialogue,
                          const struct term_bag *bag, struct topic_terms *out,
                          struct err *err) MUST_USE;

/* Topics to join, the last link of each chain; n 0: a new one. */
struct topic_choice {
    uint32_t topic[2];
    double weight[2]; /* of the membership */
    uint32_t n;
};
enum err_code topic_choose(const struct topic_reader *reader, const struct dialogue *dialogue,
                           const struct topic_terms *terms, struct topic_choice *out,
                           struct err *err) MUST_USE;

/* Adds the episode's strongest terms to topic->keywords and cuts them to the heaviest. */
enum err_code topic_add_keywords(const struct topic_reader *reader, const struct dialogue *dialogue,
                                 const struct topic_terms *terms, struct topic *topic,
                                 struct err *err) MUST_USE;

#endif
