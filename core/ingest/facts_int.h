/* What the files of facts share: the facts of one episode in the making.
 *
 *   facts.c        which sentences become facts, their weights and priors; the whole
 *   facts_text.c   what a fact says: content, words, keywords, time, hash
 *   facts_known.c  repeats, echoes and facts that were deleted; records and rows */
#ifndef HM_CORE_INGEST_FACTS_INT_H
#define HM_CORE_INGEST_FACTS_INT_H

#include "core/ingest/facts.h"

/* A sentence that may become a fact. */
struct fact_draft {
    const struct said *said;
    const struct said_sentence *sentence;
    struct str question; /* that it answers in few words; empty: it stands for itself */
    struct term_bag bag;
    uint32_t stated; /* what it adds to the prior: bytes of its terms */
    double weight;
    bool kept;
};

/* A fact that is stored already and gets a further source. */
struct known_fact {
    struct fact fact;
    bool changed;
};

struct facts_work {
    struct stage_work *w;
    const struct dialogue *d;
    uint32_t episode_id;
    struct facts *out;
    struct fact *fresh;  /* new facts in order of id */
    uint32_t *fresh_doc; /* the document that each was made of */
    uint32_t n_fresh, cap_fresh;
    struct known_fact *known;
    uint32_t n_known, cap_known;
    struct stage_map known_of;   /* fact id -> index in known */
    struct stage_map fresh_of;   /* hash of the whole key -> index in fresh */
    struct stage_map speaker_of; /* content hash -> ordinal of who said it first in this episode */
    struct store_cursor *hashes; /* of FACT_HASH; opened when first needed */
};

/* facts_text.c */
enum err_code facts__draft(struct facts_work *f, struct fact_draft *draft,
                           struct err *err) MUST_USE;
/* Everything of the fact but id, sources and episodes. */
enum err_code facts__write_out(struct facts_work *f, const struct fact_draft *draft,
                               struct fact *fact, struct err *err) MUST_USE;
/* The hash of what a served line "Name: sentence" says without the name; 0 when there is none. */
enum err_code facts__hash_unnamed(struct facts_work *f, const struct fact_draft *draft,
                                  uint64_t *hash, struct err *err) MUST_USE;

/* facts_known.c: what becomes of a drafted fact. */
enum fact_fate { FATE_NEW, FATE_REPEAT, FATE_ECHO, FATE_NEVER };
enum err_code facts__settle(struct facts_work *f, const struct fact_draft *draft,
                            const struct fact *fact, enum fact_fate *fate,
                            struct err *err) MUST_USE;
enum err_code facts__save(struct facts_work *f, struct err *err) MUST_USE;

#endif
