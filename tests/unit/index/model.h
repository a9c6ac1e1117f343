/* The reference that segments are compared with: all documents in one list, searched one by one. */
#ifndef HM_TESTS_UNIT_INDEX_MODEL_H
#define HM_TESTS_UNIT_INDEX_MODEL_H

#include "core/index/lengths.h"
#include "core/index/segment.h"
#include "tests/unit/index/harness.h"

uint64_t rng_next(uint64_t *state);
uint32_t rng_below(uint64_t *state, uint32_t n);

struct model_doc {
    enum layer layer;
    uint32_t doc;
    bool dead;
    struct term_bag bag;
};

struct model {
    struct harness *h;
    struct arena *arena; /* holds the documents */
    uint64_t rng;
    uint32_t vocabulary; /* terms are model_term(0 .. vocabulary - 1), the first ones common */
    struct model_doc *docs;
    size_t n, cap;
};

void model_init(struct model *m, uint64_t seed, uint32_t vocabulary);
void model_fini(struct model *m);
/* Spread over the 40 bits of a hash; four each are neighbours. */
uint64_t model_term(uint32_t i);
/* At most `max_terms` random terms; sometimes none. */
struct term_bag model_bag(struct model *m, uint32_t max_terms);

/* Commits `n[layer]` random documents of each layer as one batch, and remembers them. */
void model_add(struct model *m, const uint32_t n[LAYERS], uint32_t max_terms);
/* Commits these documents; numbers are taken as the ingest stages take them. */
void model_add_docs(struct model *m, struct segment_doc *docs, size_t n);
/* Kills up to `n` random living documents in one batch. */
void model_kill(struct model *m, uint32_t n);
/* Kills all of docs[from .. to) that live. */
void model_kill_range(struct model *m, size_t from, size_t to);
/* Notes a document that the test wrote by itself. */
void model_remember(struct model *m, const struct segment_doc *doc, uint32_t number);
/* Commits one folding step; false when there was nothing to do. */
bool model_fold(struct model *m);

/* Compares what is collected for these terms with the list. */
void model_check_terms(struct model *m, const uint64_t *terms, size_t n, unsigned mask);
/* A few random terms (some of them absent), and every counter. */
void model_check(struct model *m, uint32_t n_terms);
/* Every document's length, every term, every segment's bytes. */
void model_check_all(struct model *m);
struct space_stat model_stat(struct model *m);

struct model_levels {
    uint32_t n[3]; /* segments of each level */
    uint32_t parts;
    uint64_t docs; /* as the headers say */
};
struct model_levels model_levels(struct model *m);

#endif
