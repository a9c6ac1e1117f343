/* The reference that the vector index is compared with: facts, episodes, topics and their
 * hyperedges in plain arrays, h' materialised in double for every node, one by one.
 *
 * The memory is written as the ingest stages write it, as far as vectors look at it: records of
 * facts, columns of episodes, lengths, hyperedges, counters. Node i's vector is a function of its
 * layer and document. */
#ifndef HM_TESTS_UNIT_INDEX_VMODEL_H
#define HM_TESTS_UNIT_INDEX_VMODEL_H

#include "core/graph/edge.h"
#include "core/index/vectors.h"
#include "tests/unit/index/harness.h"
#include "tests/unit/index/model.h"

enum { VM_NODES = 40000, VM_MEMBERS = 512, VM_LINKS = 130 };

enum vm_vector { VM_WAITS, VM_LEXICAL, VM_HAS };

struct vm_doc {
    bool lives;
    uint8_t vector; /* enum vm_vector */
};

struct vm_fact {
    uint32_t n;
    uint32_t episodes[VM_LINKS];
};

struct vm_episode {
    bool lives;
    uint32_t doc;
    uint32_t topics[2];
};

struct vm_edge {
    uint32_t n;
    struct edge_member *at; /* VM_MEMBERS of them; NULL: never had any */
};

struct vmodel {
    struct harness *h;
    struct arena *arena; /* of one commit or one check */
    const struct kernels *kernels;
    uint64_t rng;
    uint32_t dim;
    uint32_t generation;
    struct vm_doc *docs[LAYERS]; /* by document */
    uint32_t n_docs[LAYERS];
    struct vm_fact *facts;       /* by id */
    struct vm_episode *episodes; /* by id; n_episodes - 1 of them */
    uint32_t n_episodes, n_topics;
    struct vm_edge *edges[2]; /* by parent: facts of episodes, episodes of topics */
    /* What belongs to the batch at hand. */
    struct batch *batch;
    struct vectors_generations all;
};

/* With a generation of `dim`, active. */
void vmodel_init(struct vmodel *m, uint64_t seed, uint32_t dim);
void vmodel_fini(struct vmodel *m);

/* A batch is built by what lies between these two. */
void vmodel_begin(struct vmodel *m);
void vmodel_commit(struct vmodel *m);

/* Each changes the model and adds to the batch, marks included. */
uint32_t vmodel_add_episode(struct vmodel *m, uint32_t topic_a, uint32_t topic_b); /* 0: none */
uint32_t vmodel_add_topic(struct vmodel *m);
uint32_t vmodel_add_fact(struct vmodel *m, uint32_t episode, uint16_t weight);
void vmodel_add_turn(struct vmodel *m);
void vmodel_join(struct vmodel *m, uint32_t fact, uint32_t episode, uint16_t weight);
void vmodel_leave(struct vmodel *m, uint32_t fact, uint32_t episode);
void vmodel_weigh(struct vmodel *m, unsigned edge_layer, uint32_t parent, uint32_t member,
                  uint16_t weight);
void vmodel_kill_fact(struct vmodel *m, uint32_t fact);
void vmodel_kill_episode(struct vmodel *m, uint32_t episode);    /* facts in it alone go, too */
void vmodel_rewrite_episode(struct vmodel *m, uint32_t episode); /* takes a new document */

bool vmodel_lives(const struct vmodel *m, enum layer layer, uint32_t doc);

/* --- the index; each commits by itself --- */

/* Reads the generation and opens a view on a new snapshot. */
void vmodel_view(struct vmodel *m, struct vectors_view *view);
/* Vectors for at most n waiting documents; every `lexical`th has none (0: all have). */
void vmodel_embed(struct vmodel *m, enum layer layer, uint32_t n, uint32_t lexical);
void vmodel_embed_all(struct vmodel *m);
bool vmodel_settle(struct vmodel *m); /* false: nothing to do */
bool vmodel_fold(struct vmodel *m);
void vmodel_settle_all(struct vmodel *m);

/* --- the reference --- */

/* What a model would give for it. */
void vmodel_raw(const struct vmodel *m, unsigned layer, uint32_t doc, float *out);
/* Counters, rows, members, sides, and the scores of `queries` random queries, both modes and both
 * joins. There must be no marks. Returns the greatest error of VECTORS_FAST. */
double vmodel_check(struct vmodel *m, uint32_t queries);

#endif
