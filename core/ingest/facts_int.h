/* What the files of facts share: the facts of one episode in the making.
 *
 *   facts.c        which sentences become facts, their weights and priors; the whole
 *   facts_text.c   what a fact says: content, words, keywords, time, hash
 *   facts_told.c   those that a model told
 *   facts_stored.c which stored facts say the same words
 *   facts_known.c  repeats, echoes and facts that were deleted; records and rows */
#ifndef HM_CORE_INGEST_FACTS_INT_H
#define HM_CORE_INGEST_FACTS_INT_H

#include "core/ingest/facts.h"

/* A sentence that may become a fact. */
struct fact_draft {
    const struct said *said;
    const struct said_sentence *sentence; /* NULL: a model told it */
    const struct ask_fact *told;          /* NULL: built in */
    struct str question; /* that it answers in few words; empty: it stands for itself */
    struct term_bag bag;
    uint32_t stated; /* what it adds to the prior: bytes of its terms */
    double weight;
    bool kept;
    struct fact *fact; /* of a kept one, by facts__write_out() */
    uint64_t unnamed;  /* of a kept one by a machine, by facts__hash_unnamed(); 0 none */
};

/* Drafts of one turn. */
struct turn_drafts {
    struct fact_draft *at;
    uint32_t n;
};

/* A fact that is stored already and gets a further source. */
struct known_fact {
    struct fact fact;
    struct fact_row row; /* as stored; with a new beginning when `begun` */
    bool begun;          /* by a turn of this episode that came before its others */
    bool changed;        /* has a further source in this episode */
    bool ended;          /* a new fact supersedes it */
};

/* What the facts of one document come to. */
struct fact_tally {
    uint32_t first, n;
    uint32_t stated;
};

/* What the index says of the hashes that the drafts ask for. */
struct stored_facts {
    uint64_t *terms; /* ascending once they are read, each once */
    uint32_t n, cap;
    struct postings *found; /* term * LAYERS + layer */
    struct store_cursor *never;
    bool has_never; /* facts of this space were deleted on request */
};

struct facts_work {
    struct stage_work *w;
    const struct dialogue *d;
    const struct ask_facts *told; /* NULL: all is built in */
    struct fact_draft
        *told_drafts; /* one a fact of `told`; said NULL: nothing that it cites lives */
    uint32_t episode_id;
    struct facts *out;
    struct fact *fresh;  /* new facts in order of id */
    uint8_t *fresh_role; /* its role in the hyperedge */
    uint32_t *fresh_doc; /* the document that each was made of */
    uint32_t n_fresh, cap_fresh;
    struct known_fact *known;
    uint32_t n_known, cap_known;
    struct stage_map known_of;   /* fact id -> index in known */
    struct stage_map fresh_of;   /* hash of the whole key -> index in fresh */
    struct stage_map speaker_of; /* content hash -> ordinal of who said it first in this episode */
    struct stored_facts stored;
};

/* The document of its turn that a draft was made of, as an index. */
static inline uint32_t fact_draft_doc(const struct fact_draft *draft)
{
    return draft->sentence == NULL ? 0 : draft->sentence->doc;
}

/* facts.c: the same as facts__settle(), and its document and place when it is new. */
enum fact_fate { FATE_NEW, FATE_REPEAT, FATE_ECHO, FATE_NEVER };
enum err_code facts__settle_new(struct facts_work *f, const struct fact_draft *draft,
                                struct fact_tally *tally, enum fact_fate *fate,
                                struct err *err) MUST_USE;

/* facts_told.c: write them out and ask for their hashes; then those whose first turn this is. */
enum err_code facts__told_draft(struct facts_work *f, struct err *err) MUST_USE;
enum err_code facts__told_settle(struct facts_work *f, const struct said *said,
                                 struct fact_tally *tally, struct err *err) MUST_USE;
bool facts__is_cited(const struct facts_work *f, uint32_t n);

/* facts_text.c */
enum err_code facts__draft(struct facts_work *f, struct fact_draft *draft,
                           struct err *err) MUST_USE;
/* Everything of the draft's fact but id, sources and episodes. */
enum err_code facts__write_out(struct facts_work *f, struct fact_draft *draft,
                               struct err *err) MUST_USE;
/* The hash of what a served line "Name: sentence" says without the name; 0 when there is none. */
enum err_code facts__hash_unnamed(struct facts_work *f, struct fact_draft *draft,
                                  struct err *err) MUST_USE;

/* facts_stored.c: first ask for all hashes, then read, then look. */
void facts__stored_ask(struct facts_work *f, uint64_t hash);
enum err_code facts__stored_read(struct facts_work *f, struct err *err) MUST_USE;
/* Whether it was deleted on request. */
enum err_code facts__stored_never(struct facts_work *f, const struct fact *fact, bool *never,
                                  struct err *err) MUST_USE;
/* The living fact with the same key; *id 0: there is none. */
enum err_code facts__stored_same(struct facts_work *f, const struct fact *fact, uint32_t *id,
                                 struct err *err) MUST_USE;
/* Who said the words first; 0: nobody. */
enum err_code facts__stored_first_speaker(struct facts_work *f, uint64_t hash, uint32_t *speaker,
                                          struct err *err) MUST_USE;

/* facts_known.c: what becomes of a drafted fact. */
enum err_code facts__settle(struct facts_work *f, const struct fact_draft *draft,
                            enum fact_fate *fate, struct err *err) MUST_USE;
/* The draft's turn is a further source of a stored fact. */
enum err_code facts__repeat(struct facts_work *f, const struct fact_draft *draft, uint32_t id,
                            struct err *err) MUST_USE;
/* A stored fact; NULL: it is gone. Dies with the next call. */
enum err_code facts__known(struct facts_work *f, uint32_t id, struct known_fact **known,
                           struct err *err) MUST_USE;
enum err_code facts__save(struct facts_work *f, struct err *err) MUST_USE;

#endif
