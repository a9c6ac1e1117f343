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
    RECALL_REPEATS = 30,          /* places of the facts' list that are free of mere phrases */
    RECALL_NEAREST = RECALL_POOL, /* of each layer, that are candidates by their vector alone */
};

/* What is known of one turn-layer document during a query: four to a line of the cache. */
struct turn_info {
    uint32_t place; /* in the strip; 0: it has none */
    uint32_t episode;
    float length;  /* 0: dead */
    uint8_t state; /* enum turn_state */
    uint8_t flags; /* of its row */
    uint8_t prior; /* of its row */
    uint8_t named; /* 1: the question names who said it */
};
enum turn_state {
    TURN_LOADED = 1,  /* what its row says */
    TURN_NEEDED = 2,  /* gets a place */
    TURN_LAID = 4,    /* has it */
    TURN_OFFERED = 8, /* without being touched */
    TURN_WEIGHED = 16 /* for the context */
};
_Static_assert(sizeof(struct turn_info) == 16, "four to a line of the cache");

enum { STRIP_BLOCK = 64, STRIP_REACH = 4 };

/* Scores of so many places, summed over the terms; divided by the reach at the end. The norms are
 * what the length adds to the denominator of BM25, in the turn and in the windows. */
struct strip_block {
    float own[STRIP_BLOCK], w1[STRIP_BLOCK], w2[STRIP_BLOCK], w4[STRIP_BLOCK];
    float norm0[STRIP_BLOCK], norm1[STRIP_BLOCK], norm2[STRIP_BLOCK], norm4[STRIP_BLOCK];
};

/* Turns side by side as in their sessions, so that windows are sums over neighbours; strip.c. */
struct strip {
    uint32_t n;     /* places, a multiple of STRIP_BLOCK */
    uint32_t *docs; /* by place: document + 1; 0: a gap */
    float *lengths; /* by place; as the next, 0 for STRIP_REACH places before and behind */
    float *tf;      /* by place, of the term at hand; all 0 between terms */
    float *date;    /* by place; NULL: the question has no date */
    struct strip_block *blocks; /* n / STRIP_BLOCK */
    uint8_t *state;             /* of each block: enum strip_state */
    struct bm25 p[4];           /* of the turn and of windows of 1, 2, 4 neighbours */
};
enum strip_state {
    STRIP_READY = 1, /* norms and scores are there; what is not ready has no score */
    STRIP_DIRTY = 2, /* the term at hand is in it, or near */
    STRIP_RECENT = 4 /* one of its turns has no facts yet */
};

/* A node that may be shown. */
struct candidate {
    uint32_t id;       /* fact, episode or topic id; turn document in the recent stage */
    uint32_t turn_doc; /* facts: the best source; for ties */
    uint32_t group;    /* of one group only the best counts: chain, fact, turn */
    float score;
    float factor;
    float signal[SIGNALS];
    float worth;     /* with a reranker's order: the fused score of its place; for the context */
    const char *cut; /* explain: the gate or the filter that keeps it out; NULL: none */
};

/* The best `keep` of what is pushed. With fusion=score a candidate's score is known at once and
 * `at` is a heap, the worst on top; the other fusions need all candidates first. */
struct candidates {
    struct candidate *at;
    const float *weights; /* in the order of recall_signal */
    uint32_t n, cap;
    uint32_t keep;
    float whole;    /* the most that a score can be, before it is divided by this */
    float hopeless; /* sums times factor below this can't come in; 0 while there is room */
    bool at_once;
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
    struct tokenizers *tokenizers;
    const struct recall_query *query;
    struct arena *arena;
    struct recall_reply *reply;
    struct space_stat stat;
    struct lengths *lengths;
    struct columns *columns;
    const struct vectors_generation *generation; /* NULL: words alone */
    float weights[RECALL_STAGES][SIGNALS];

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
    bool filtered;                   /* there is any filter */
    float reach;                     /* (k1 + 1) * sum of idf */

    /* score.c */
    struct postings *postings; /* [slot * LAYERS + layer] */
    uint32_t term_slot[LIMIT_QUERY_TERMS];
    uint32_t date_slot[RECALL_DATES];
    struct turn_info *turns; /* by document */
    uint32_t n_docs;
    struct strip strip;
    float *fact_own;     /* by id - 1 */
    float *episode_own;  /* by id - 1 */
    float *topic_own;    /* by id - 1 */
    float *episode_turn; /* best own score of a turn inside that passes, by id - 1 */
    uint32_t *fact_list; /* ids with any own score, and so on */
    uint32_t n_fact_list;
    uint32_t *episode_list;
    uint32_t n_episode_list;
    uint32_t *topic_list;
    uint32_t n_topic_list;
    float best_fact; /* greatest of fact_own */

    /* dense.c; .n 0: the layer was not looked at */
    struct vectors_scores nearness[LAYERS];            /* by document; 0..1, what a cosine counts */
    float nearest_fact, nearest_turn, nearest_episode; /* greatest of them */

    /* records.c */
    struct long_turn *long_turns;

    /* choose.c, choose_facts.c */
    struct candidates stage[RECALL_STAGES]; /* ranked; best first */
    uint32_t shown[RECALL_STAGES];          /* how many of them the reply has */
    struct candidates cut[RECALL_STAGES];   /* explain only: kept out before ranking */
    struct candidates parts;                /* documents of recent turns; for the context */
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
void recall__turn_load(struct recall *r, struct turn_info *info, const struct turn_row *row,
                       uint32_t length);
/* What is known of a document, loaded. */
static inline struct turn_info *recall__turn(struct recall *r, uint32_t doc)
{
    struct turn_info *info = &r->turns[doc];
    struct turn_row row;
    if ((info->state & TURN_LOADED) == 0) {
        columns_turn(r->columns, doc, &row);
        recall__turn_load(r, info, &row, lengths_get(r->lengths, LAYER_TURN, doc));
    }
    return info;
}
/* The document that a link of a turn row names, or UINT32_MAX. */
static inline uint32_t recall__link(const struct recall *r, uint32_t link)
{
    return link == 0 || link > r->n_docs ? UINT32_MAX : link - 1;
}

/* strip.c: turns and windows. recall__strip_build() wants the postings; the others a strip. */
enum err_code recall__strip_build(struct recall *r, struct err *err);
void recall__strip_term(struct recall *r, const struct postings *list, float idf);
void recall__strip_date(struct recall *r, const struct postings *list, float share);
/* True when a place has any score: a word is in its turn or a window of it, or a date. */
static inline bool recall__is_touched(const struct strip *strip, uint32_t place)
{
    const struct strip_block *block = &strip->blocks[place / STRIP_BLOCK];
    uint32_t i = place % STRIP_BLOCK;
    return (strip->state[place / STRIP_BLOCK] & STRIP_READY) != 0 &&
           (block->own[i] > 0 || block->w4[i] > 0 ||
            (strip->date != NULL && strip->date[place] > 0));
}

/* dense.c: the vectors' part. recall__dense_open() finds the generation, or that there is none. */
enum err_code recall__dense_open(struct recall *r, struct err *err);
enum err_code recall__dense_score(struct recall *r, struct err *err);
/* 0: it has no vector, or one that is no nearer than most. */
static inline float recall__nearness(const struct recall *r, enum layer layer, uint32_t doc)
{
    const struct vectors_scores *scores = &r->nearness[layer];
    return doc < scores->n ? scores->at[doc] : 0;
}
/* The documents of a layer that are nearest to the question, RECALL_NEAREST at most, among those
 * that `fits` lets through (NULL: all); in no order. */
typedef enum err_code recall_fits_fn(struct recall *r, uint32_t doc, const void *arg, bool *fits,
                                     struct err *err);
struct nearest {
    uint32_t *docs;
    uint32_t n;
};
enum err_code recall__nearest(struct recall *r, enum layer layer, recall_fits_fn *fits,
                              const void *arg, struct nearest *out, struct err *err);

/* filter.c: what the filters let through, before every cut and in every layer. A turn that passes
 * lets its episode pass, an episode its topic. */
bool recall__turn_passes(const struct recall *r, const struct turn_row *row);
bool recall__episode_passes(struct recall *r, uint32_t id, const struct episode_row *row);
enum err_code recall__topic_passes(struct recall *r, uint32_t id, bool *passes, struct err *err);

/* choose.c: topics, episodes, facts and recent turns, ranked and cut. */
enum err_code recall__choose(struct recall *r, struct err *err);
/* A candidate that a filter or the gate keeps out (`cut`) is remembered only when it is to be
 * explained. */
enum err_code recall__offer(struct recall *r, enum recall_stage stage, struct candidate *c,
                            const char *cut, struct err *err);
/* choose_facts.c: the last two. */
enum err_code recall__choose_facts(struct recall *r, struct err *err);

/* fuse.c: scores from signals, ranking. */
/* Fills in r->weights. */
void recall__set_weights(struct recall *r);
void recall__list_init(const struct recall *r, struct candidates *list, enum recall_stage stage,
                       uint32_t keep);
enum err_code recall__push(struct recall *r, struct candidates *list, const struct candidate *one,
                           struct err *err);
/* The same for a candidate whose group may be in the list already: the better one stays. */
enum err_code recall__push_again(struct recall *r, struct candidates *list,
                                 const struct candidate *one, struct err *err);
/* True when a candidate whose weighed signals add up to at most `sum` can't come into the list. */
static inline bool recall__is_hopeless(const struct candidates *list, float sum, float factor)
{
    return sum * factor < list->hopeless;
}
/* Orders the list, best first; of each group (all <= `groups`; 0: there are none) one stays. */
enum err_code recall__rank(struct recall *r, struct candidates *list, uint32_t groups,
                           struct err *err);

/* Multiplies the score of one of a ranked list by `share` < 1, and moves it to where it belongs. */
void recall__lower(struct candidates *list, uint32_t at, float share);

/* reorder.c: puts a ranked list into the reranker's order, if there is one. */
enum err_code recall__reorder(struct recall *r, enum recall_stage stage, struct err *err);
enum err_code recall__pool(struct recall *r, uint32_t most, struct arena *keep,
                           struct recall_pool *pool, struct err *err);

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
