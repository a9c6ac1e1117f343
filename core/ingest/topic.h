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
 * Measured with pairwise F1 of topics against the stories of labelled conversations, by episodes
 * (then the mean of ten copies that lack 8 % of their turns), and on the dev data with evidence
 * kept by the ten best topics and the share of the episodes that they hold:
 *
 *   sample       siblings     assistant    two friends  dev, with and without sessions
 *   0.68, 0.50   0.68, 0.61   0.91, 0.79   0.73, 0.66   92.4 %, 38.5 %; 91.2 %, 35.5 %
 *
 * The plateau: BETA 2.3 to 2.5 with KAPPA 0.25 to 0.35, RHO 0.15 to 0.25, NEARLY 0.6 to 0.7 and
 * PROPER_NOUN 1.3 to 1.6, one at a time: sample 0.61 to 0.68, siblings 0.64 to 0.71; up to 5 % on
 * all at once: sample 0.61 to 0.65. FLOOR 0 makes the largest topic grow and 0.02 breaks stories
 * up. With KAPPA 0.1 the ten best topics hold half of all episodes, with BETA 2 and KAPPA 0.5 the
 * sample has 0.61. Counting an episode that shares m words as m / (m + 1) of its likeness was tried
 * with constants of its own: the copies gain nothing (0.63 against 0.64 in the mean), the sample
 * loses 0.1. Fixed thresholds of a cosine fit no two conversations.
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
