/* A query: from a question to the memory that matters, coarse to fine (DESIGN 7).
 *
 *   tokens -> one pass over the postings of all layers -> scores of turns, windows, sessions
 *          -> topics -> episodes (members and flat best) -> facts (members and flat best)
 *          -> records of what is shown -> context within max_tokens
 *
 * Two parts are optional. With a vector of the question each list gets a further signal, how near
 * it is (dense.c), and the nearest of each layer are candidates even without a shared word. With
 * scores of a reranker (recall_pool() gives what it is to judge) each list is put into its order
 * (reorder.c), and so gates, lists and context follow it. Without them nothing is different from a
 * build that does not know them.
 *
 * One snapshot, one thread, no record is read before its node is chosen. Scores lie in 0..1, higher
 * is better. Everything in the reply lives in the arena or borrows from the transaction: encode it
 * before store_end(). */
#ifndef HM_CORE_RECALL_RECALL_H
#define HM_CORE_RECALL_RECALL_H

#include "core/graph/episode.h"
#include "core/graph/fact.h"
#include "core/graph/space.h"
#include "core/graph/topic.h"
#include "core/graph/turn.h"
#include "core/index/vectors.h"
#include "core/services.h"

enum recall_gate { GATE_SOFT, GATE_STRICT };
enum recall_fusion { FUSION_SCORE, FUSION_MAX, FUSION_RRF };
enum recall_summaries { SUMMARIES_AUTO, SUMMARIES_ON, SUMMARIES_OFF };

/* What nearness counts in the sum of a list; 0: that layer is not looked at. Turns: of a fact's
 * best source, and of turns that have no fact. */
struct recall_weights {
    float topics, episodes, facts, turns;
};

/* The question as a vector. Takes part if the active generation is of that identity. */
struct recall_dense {
    const float *vector; /* any length above 0 */
    uint32_t dimension;
    uint64_t identity;
    struct recall_weights weights;
    float lambda;           /* of propagation; 0: none */
    enum vectors_join join; /* of the edges of a node */
    const struct kernels *kernels;
};

/* What a reranker said of one list: ids and scores, 0..1; below 0: it said nothing. */
struct recall_order {
    const uint32_t *ids;
    const float *scores;
    uint32_t n;
};

struct recall_query {
    struct str q;
    uint32_t topics, episodes, facts; /* list lengths; 0 empties the list and skips the signal */
    uint32_t max_tokens;              /* of context.text, 4 characters a token; 0: no context */
    bool windows;                     /* +-1, +-2 (and wider) neighbours count */
    enum recall_gate gate;
    enum recall_fusion fusion;
    enum recall_summaries summaries;
    bool explain;
    bool has_since, has_until, has_as_of;
    int64_t since_ms, until_ms; /* event time, inclusive */
    int64_t as_of_ms;
    int64_t now_ms; /* what "yesterday" in the question means */
    int now_offset_min;
    struct str session, speaker;         /* filters; absent: .at NULL */
    const struct recall_dense *dense;    /* NULL: words alone */
    const struct recall_order *reranked; /* [RECALL_STAGES]; NULL: the fused order */
    bool marks;                          /* the context's lines end in ids, see recall_context */
};

struct recall_query recall_defaults(void);

struct recall_topic {
    struct topic topic;
    float score;
    uint32_t *episodes; /* member ids, ascending */
    uint32_t n_episodes;
    bool summary_hidden; /* as_of: the summary holds later members */
};
struct recall_episode {
    struct episode episode;
    float score;
    struct str *turn_ids; /* as shown */
    uint32_t n_turn_ids;
    bool summary_hidden;
};
struct recall_fact {
    struct fact fact;
    float score;
    struct str *turn_ids; /* shown ids of fact.sources, same order */
};
struct recall_recent {
    struct turn turn;
    struct str id;   /* as shown */
    struct str text; /* cut to LIMIT_DOC_BYTES around the best part */
    float score;
};
/* With query.marks each line of the context ends in what it may be cited by: " [turn_12]". */
enum recall_mark_kind { MARK_TURN, MARK_FACT, MARK_EPISODE };
struct recall_mark {
    enum recall_mark_kind kind;
    struct str id; /* as shown */
};
struct recall_context {
    struct str text;
    uint32_t tokens;      /* characters / 4, rounded up */
    struct str *turn_ids; /* shown ids of turns whose whole text is in the text */
    uint32_t n_turn_ids;
    uint32_t *fact_ids, n_fact_ids;
    uint32_t *episode_ids, n_episode_ids;
    struct recall_mark *marks; /* each once, in order; NULL without query.marks */
    uint32_t n_marks;
};

/* explain=true: for each stage its candidates with their signals. */
enum recall_stage { STAGE_TOPICS, STAGE_EPISODES, STAGE_FACTS, STAGE_RECENT, RECALL_STAGES };
/* own: the node's own text; turn: the best source turn (or best turn inside); window1, 2, 4: that
 * turn with so many neighbours on each side; episode: its episode (a topic: its best episode);
 * date: a date of the question is the turn's or is in its text; vector: how near the node's own
 * text is, dense.c; turn_vector: that of a fact's best source turn; rerank: what a reranker said,
 * which decides the order and is not in the sum. */
enum recall_signal {
    SIGNAL_OWN,
    SIGNAL_TURN,
    SIGNAL_WINDOW1,
    SIGNAL_WINDOW2,
    SIGNAL_WINDOW4,
    SIGNAL_EPISODE,
    SIGNAL_DATE,
    SIGNAL_VECTOR,
    SIGNAL_TURN_VECTOR,
    SIGNAL_RERANK,
    SIGNALS
};
const char *recall_signal_name(enum recall_signal signal);
struct recall_candidate {
    uint32_t id; /* of the node; the turn's number in the recent stage */
    float score;
    float factor; /* what the sum of the signals was multiplied with: speaker, prior */
    float signal[SIGNALS];
    uint16_t rank[SIGNALS]; /* 1-based within the stage; 0: no score */
    /* Why it is not in the reply: "gate", "filter", "rank", "chain" (a better link of its chain
     * stands for it); NULL: it is. */
    const char *cut;
};
struct recall_explain {
    struct str *terms;
    uint32_t n_terms;
    struct str *ignored; /* over LIMIT_QUERY_TERMS, stop words */
    uint32_t n_ignored;
    struct recall_candidate *stage[RECALL_STAGES];
    uint32_t n[RECALL_STAGES];
};

enum recall_timing {
    TIMING_EMBED, /* of the question, and of lists; the caller adds both, to the total too */
    TIMING_RERANK,
    TIMING_TERMS,
    TIMING_COLLECT,
    TIMING_VECTORS,
    TIMING_SCORE,
    TIMING_RECORDS,
    TIMING_CONTEXT,
    TIMING_TOTAL,
    TIMINGS
};

struct recall_reply {
    uint64_t seq, processed_seq;
    struct recall_topic *topics;
    struct recall_episode *episodes;
    struct recall_fact *facts;
    struct recall_recent *recent;
    uint32_t n_topics, n_episodes, n_facts, n_recent;
    struct recall_context context;
    struct recall_explain *explain; /* NULL unless asked for */
    bool dense;                     /* vectors took part */
    int64_t timing_ns[TIMINGS];     /* 0: was not done */
};

/* What a query runs on; `settings` are those of the space. */
struct recall_base {
    struct store_txn *txn;
    uint64_t space;
    const struct space *settings;
    const struct clock *clock;
    struct tokenizers *tokenizers; /* may be NULL */
};

enum err_code recall_run(const struct recall_base *base, const struct recall_query *query,
                         struct arena *arena, struct recall_reply *reply, struct err *err) MUST_USE;

/* The question as it is to be embedded: without the names of the space's speakers. A name draws the
 * vector to whatever is about names, greetings first; who said it is for the speaker factor to
 * tell. A question of nothing else stays whole. In the arena, or `q` itself. */
enum err_code recall_embed_text(const struct recall_base *base, struct str q, struct arena *arena,
                                struct str *text, struct err *err) MUST_USE;

/* What a reranker is to judge: the best `most` of each list, with filters and gates applied as
 * recall_run() applies them. */
struct recall_pool {
    uint32_t *ids;
    struct str *documents; /* valid UTF-8 */
    uint32_t n;
};
/* pool[RECALL_STAGES]; that of the recent stage stays empty. It lives in `keep`, all else in
 * `arena`, which may go afterwards. */
struct recall_pools {
    uint32_t most;
    struct arena *keep;
    struct recall_pool *pool;
};
enum err_code recall_pool(const struct recall_base *base, const struct recall_query *query,
                          struct arena *arena, const struct recall_pools *out,
                          struct err *err) MUST_USE;

#endif
