/* A fact: an atomic statement with its sources (paper level 1).
 *
 * `time` is what the fact is about (calendar days in its turn's offset), `valid_from` its first
 * source turn's event time. Nothing is overwritten: a superseded fact gets valid_to and
 * superseded_by, and stays. Those of one line are linked both ways; who leaves it joins its
 * neighbours, so that what nothing contradicts any more is valid again.
 *
 * I1  a living fact has >= 1 source turn and is a member of the fact hyperedge of each episode
 * those
 *     turns lie in (invariant 3 of DESIGN 5).
 * I2  its document in the fact layer is id - 1. */
#ifndef HM_CORE_GRAPH_FACT_H
#define HM_CORE_GRAPH_FACT_H

#include "core/base/civil.h"
#include "core/store.h"
#include "core/text/dates.h"

enum { FACT_BUILTIN = 1, FACT_DEGRADED = 2 };
#define TIME_NEVER INT64_MAX
/* The weight of a built-in fact is s / (s + this) for a sentence that states s, and a little more
 * for dates, numbers and names. */
#define FACT_WEIGHT_HALF 24.0

struct fact {
    uint64_t seq;
    uint32_t id; /* from the key */
    uint32_t speaker_no;
    int64_t valid_from;     /* ms */
    int64_t valid_to;       /* TIME_NEVER: still valid */
    uint32_t superseded_by; /* 0 none */
    uint32_t supersedes;    /* the fact that this one has ended; 0 none */
    uint16_t weight;        /* 1/65535, as in its hyperedges */
    uint8_t flags;
    bool has_time;
    struct civil from, to; /* inclusive */
    uint8_t grain;         /* enum date_grain */
    uint64_t hash;         /* of the normalised statement: first part of its key */
    struct str time_text;  /* the phrase, e.g. "last Friday" */
    struct str content;
    struct str speaker; /* as turn_speaker() of its first source */
    struct str role;
    struct str keywords;  /* joined by line feeds */
    struct str potential; /* questions, joined by line feeds; empty without a model */
    uint32_t n_sources;   /* turn numbers, ascending */
    uint32_t *sources;    /* in the arena given to decode */
    uint32_t n_episodes;
    uint32_t *episodes;
};

void fact_encode(const struct fact *fact, struct buf *out);
enum err_code fact_decode(struct arena *arena, struct str value, uint32_t id, struct fact *fact,
                          struct err *err) MUST_USE;
/* Absent: ERR_OK with id 0. */
enum err_code fact_get(struct store_txn *txn, uint64_t space, uint32_t id, struct arena *arena,
                       struct fact *fact, struct err *err) MUST_USE;

/* It was over when something was said at that time: who says it again says something new. */
static inline bool fact_is_over(const struct fact *fact, int64_t said_ms)
{
    return fact->valid_to != TIME_NEVER && fact->valid_to <= said_ms;
}

/* What makes two facts the same: content hash, speaker ordinal, resolved days (0 without a time).
 * Also the key of its FACT_NEVER row. */
enum { FACT_KEY = 20 };
void fact_key(const struct fact *fact, char out[FACT_KEY]);
/* 32 bits of that key, for its column: other facts of the same words are told apart by them. */
uint32_t fact_key_mark(const struct fact *fact);
/* The term under which the index finds the facts with this content hash, beside their words. It
 * counts in no length. The hash is mixed again, since words are terms by the same hash. */
uint64_t fact_hash_term(uint64_t hash);

#endif
