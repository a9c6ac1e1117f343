/* What the files of recall share: one query in the making. */
#ifndef HM_CORE_RECALL_RECALL_INT_H
#define HM_CORE_RECALL_RECALL_INT_H

#include "core/base/limits.h"
#include "core/index/bm25.h"
#include "core/index/column.h"
#include "core/index/lengths.h"
#include "core/index/segment.h"
#include "core/recall/recall.h"
#include "core/text/date_terms.h"

/* BM25 for every list, and what a list weighs in the sum; measured, see tests/bench/README.md. */
#define RECALL_K1 1.2f
#define RECALL_B 0.6f
#define RECALL_SPEAKER_FACTOR 1.5f
#define RECALL_PRIOR_HALF 10.0f
#define RECALL_PRIOR_UNKNOWN 0.8f
#define RECALL_RRF_K 60.0f

enum {
    RECALL_POOL = 400,     /* facts kept ranked for the context, beyond the reply's */
    RECALL_RECENT = 10,    /* turns in `recent` */
    RECALL_EXPLAIN = 50,   /* candidates a stage that explain shows */
    RECALL_SPEAKERS = 256, /* names looked at when a question is read */
    RECALL_DATES = 16,
    RECALL_MENTIONS = 8,
};

/* What is known of one turn-layer document during a query. Loaded when first touched. */
struct turn_acc {
    float own, w1, w2, w4, date; /* summed over the terms; divided by the reach at the end */
    float tf1, tf2, tf4;         /* of the term at hand; 0 between terms */
    float len1, len2, len4;
    uint32_t prev, next; /* document + 1 */
    uint32_t episode;
    uint32_t length;
    uint8_t loaded, listed, sized; /* flags */
    uint8_t touched;               /* for the term at hand */
};

/* A node that may be shown. */
struct candidate {
    uint32_t id;       /* fact, episode or topic id; turn document in the recent stage */
    uint32_t turn_doc; /* facts: the best source; for ties */
    float score;
    float factor;
    float signal[SIGNALS];
    const char *cut; /* explain: the gate or the filter that keeps it out; NULL: none */
};
struct candidates {
    struct candidate *at;
    uint32_t n, cap;
};

/* A turn of several documents, loaded and cut up once however many of them are shown. */
struct long_turn {
    uint32_t n;
    struct str text;
    struct str *parts;
    uint32_t n_parts;
    struct long_turn *next;
};

struct recall {
    struct store_txn *txn;
    uint64_t space;
    const struct space *settings;
    const struct recall_query *query;
    struct arena *arena;
    struct recall_reply *reply;
    struct space_stat stat;
    struct lengths *lengths;
    struct columns *columns;

    /* terms.c */
    uint64_t terms[LIMIT_QUERY_TERMS]; /* ascending, words only */
    struct str term_text[LIMIT_QUERY_TERMS];
    float idf[LIMIT_QUERY_TERMS]; /* of the turn layer; 0 when the word is nowhere */
    uint32_t n_terms;
    struct date_term dates[RECALL_DATES];
    uint32_t n_dates;
    uint32_t named[RECALL_SPEAKERS]; /* ordinals of the speakers that the question names */
    uint32_t n_named, n_speakers;
    struct str *ignored;
    uint32_t n_ignored;
    uint32_t session_no, speaker_no; /* of the filters */
    bool nothing;                    /* a filter names what is not there */
    float reach;                     /* (k1 + 1) * sum of idf */

    /* score.c */
    struct postings *postings; /* [slot * LAYERS + layer] */
    uint32_t term_slot[LIMIT_QUERY_TERMS];
    uint32_t date_slot[RECALL_DATES];
    struct turn_acc *turns; /* by document */
    uint32_t n_docs;
    uint32_t *touched; /* documents with any score */
    uint32_t n_touched;
    uint32_t cap_touched;
    float *fact_own;        /* by id - 1 */
    float *episode_own;     /* by id - 1 */
    float *topic_own;       /* by id - 1 */
    float *episode_turn;    /* best own score of a turn inside, by id - 1 */
    uint32_t *episode_list; /* ids with any score */
    uint32_t n_episode_list;
    uint32_t *topic_list;
    uint32_t n_topic_list;

    /* records.c */
    struct long_turn *long_turns;

    /* choose.c */
    struct candidates stage[RECALL_STAGES]; /* ranked; best first */
    uint32_t shown[RECALL_STAGES];          /* how many of them the reply has */
    struct candidates cut[RECALL_STAGES];   /* explain only: kept out before ranking */
    struct candidates bare;                 /* turns that no living fact cites; for the context */
    uint8_t *episode_chosen;                /* by id - 1: in the reply's list (strict gate) */
};

enum err_code recall__memory(struct err *err);

/* terms.c: the question's words, dates, names; ordinals of the filters. */
enum err_code recall__read_question(struct recall *r, struct err *err);
bool recall__is_named(const struct recall *r, uint32_t speaker_no);

/* score.c: one pass over the postings; scores of all layers. */
enum err_code recall__score(struct recall *r, int64_t *collected_ns, const struct clock *clock,
                            struct err *err);
/* The document's row, loaded; its text's signals without the fact's own. */
struct turn_acc *recall__turn(struct recall *r, uint32_t doc);

/* choose.c: topics, episodes, facts and recent turns, ranked and cut. */
enum err_code recall__choose(struct recall *r, struct err *err);

/* fuse.c: scores from signals, ranking. `weights` in the order of recall_signal. */
enum err_code recall__rank(struct recall *r, struct candidates *list, const float *weights,
                           uint32_t keep, struct err *err);
enum err_code recall__push(struct recall *r, struct candidates *list, const struct candidate *one,
                           struct err *err);

/* records.c: what is shown, read and filled in. */
enum err_code recall__load(struct recall *r, struct err *err);
/* The shown id of turn n; .at NULL when it is gone. */
enum err_code recall__turn_id(struct recall *r, uint32_t n, struct str *id, struct err *err);
/* The text of one document: its turn's text, or the part of a long one (turn->text stays absent).
 * */
enum err_code recall__part(struct recall *r, struct turn *turn, uint32_t doc, struct str *part,
                           struct err *err);

/* context.c */
enum err_code recall__context(struct recall *r, struct err *err);

/* explain.c */
enum err_code recall__explain(struct recall *r, struct err *err);

#endif
