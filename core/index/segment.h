/* Segments of the inverted index (DESIGN 9).
 *
 * Each batch adds one immutable segment with all layers' postings of that batch; housekeeping folds
 * FOLD_SEGMENTS small ones into one. A query reads a space's segments through one cursor. Deletes
 * are tombstones in the LENGTH array (length 0 = dead); a fold drops the dead.
 *
 * Layers: turns, facts, episodes, topics, each with its own document numbers. A document's number
 * is given once and never used again; text that is rewritten (a topic after a join) takes a new
 * number and the old one dies. Episode and topic numbers are mapped to ids by columns; a fact's is
 * id - 1.
 *
 * On disk (value of KIND_SEGMENT, key b64 seq, b16 part), all little-endian:
 *    0  u8  format (1)
 *    1  u8  low 4 bits: level, 0 made by a batch, 1 folded, 2 folded again; high 4 bits: how often
 *           it was rewritten without its dead, modulo 16
 *    2  u16 parts of this segment
 *    4  u32 terms in this part
 *    8  u32 documents in the segment that lived when it was made, or died in the batch that made it
 *   12  u32 x 4  base document number of each layer (holes for the writer's slots)
 *   28  u32 x 4  span of each layer: its documents are base .. base + span - 1, with gaps once
 *           folded
 *   44  u32 reserved, 0
 *   48  terms x u64: hash << 24 | offset of its postings from the end of this table; ascending
 *       postings: for each layer that has any, in order: varint(count << 2 | layer), then count
 *       times varint((gap << 1) | (tf > 1)) [varint tf], gap from the number before + 1 (the first:
 *       from the base).
 * Bytes 0 to 7 change whenever a fold replaces a segment, so a batch that was built on the old one
 * is refused by NEED_VERSION. Header and table repeat in each part; only `terms` differs.
 *
 * A segment over SEGMENT_PART_BYTES is several parts, split by term. The value stays within 7
 * pages (DESIGN 9, traps), but for a single term whose postings alone are more: at 2 bytes each
 * more than 12,000 documents, and folds stay below FOLD_DOCS.
 *
 * A fold takes neighbours in key order, of one level, the oldest first; numbers are handed out in
 * the order of seqs. So the small ones come last in key order, spans of different segments do not
 * overlap, and a fold's key, the lowest seq of what it replaces, is never asked for again. If that
 * were broken, choosing and counting would suffer, not answers: whether a document lives is asked
 * of LENGTH alone.
 *
 * I1  terms ascend strictly within and across the parts of a segment.
 * I2  per term and layer documents ascend strictly; tf >= 1.
 * I3  a built-in decision depends on live postings only, so folding changes no answer. */
#ifndef HM_CORE_INDEX_SEGMENT_H
#define HM_CORE_INDEX_SEGMENT_H

#include "core/batch.h"
#include "core/text/token.h"

enum layer { LAYER_TURN, LAYER_FACT, LAYER_EPISODE, LAYER_TOPIC, LAYERS };
enum {
    SEGMENT_BASE_AT = 12,
    SEGMENT_SPAN_AT = 28,
    SEGMENT_HEAD = 48,
    SEGMENT_PART_BYTES = 24 * 1024,
    SEGMENT_KEY = 10
};

/* One document to be indexed; `doc` is relative to the layer's base of this segment. */
struct segment_doc {
    enum layer layer;
    uint32_t doc;
    struct term_bag bag;
};

/* Adds to the batch: the segment, its LENGTH rows, and the counters DOCS_*, LENGTH_*,
 * SMALL_SEGMENTS. `base[layer]` is the first document number; where `slot[layer]` is not
 * SEGMENT_NO_SLOT the number is that slot's value + base instead, modulo 2^32 (facts, whose
 * document is id - 1: base UINT32_MAX). Documents of one layer are consecutive from 0. Without
 * documents nothing is written; documents without any term still make a segment, so that DEAD_DOCS
 * is exact. At most one call a batch: the segment's key is the batch's seq. */
#define SEGMENT_NO_SLOT UINT32_MAX
struct segment_bases {
    uint32_t base[LAYERS];
    uint32_t slot[LAYERS];
};
enum err_code segment_add(struct batch *batch, const struct segment_doc *docs, size_t n,
                          const struct segment_bases *bases, struct err *err) MUST_USE;
/* Its two halves, for a batch that learns of its documents by and by: LENGTH rows, DOCS_* and
 * LENGTH_* as often as there are further documents, each time with their own bases; postings and
 * SMALL_SEGMENTS once, of all of them. One that died in between keeps its place, with an empty
 * bag. */
enum err_code segment_add_lengths(struct batch *batch, const struct segment_doc *docs, size_t n,
                                  const struct segment_bases *bases, struct err *err) MUST_USE;
enum err_code segment_add_postings(struct batch *batch, const struct segment_doc *docs, size_t n,
                                   const struct segment_bases *bases, struct err *err) MUST_USE;

/* Marks a living document dead: its LENGTH row and the counters. `length` is what lengths_get()
 * says. */
enum err_code segment_kill(struct batch *batch, enum layer layer, uint32_t doc, uint32_t length,
                           struct err *err) MUST_USE;

struct posting {
    uint32_t doc;
    uint32_t tf;
};
struct postings {
    struct posting *at; /* in document order only within a segment; each document once */
    uint32_t n;         /* live documents: the document frequency */
};

struct lengths;

/* One pass over all segments of the space: the live postings of each term in each layer of `mask`
 * (bit 1 << layer). out[term * LAYERS + layer], in the arena. `terms` ascend strictly. */
enum err_code segment_collect(struct store_txn *txn, uint64_t space, struct lengths *lengths,
                              const uint64_t *terms, size_t n_terms, unsigned mask,
                              struct arena *arena, struct postings *out, struct err *err) MUST_USE;

/* Housekeeping, one step a call, built into an empty maintenance batch; `*did` false and nothing
 * built when there is nothing to do. The first of these that is due:
 *   more than FOLD_LEVEL_1 segments of level 1: the oldest FOLD_SEGMENTS become one of level 2;
 *   FOLD_SEGMENTS small ones: the oldest become one of level 1;
 *   one of level 1 or 2 has more than a quarter of its documents dead: it is rewritten.
 * A fold takes fewer where FOLD_DOCS or FOLD_BYTES would be passed, so that no batch stops the
 * writer for long. Costs one walk over all headers (~0.1 ms at 300), and nothing but a counter's
 * read where there are few small segments and no dead. Level 2 begins early because a query looks
 * each of its words up in each segment: in a space of 41,000 turns 0.2 ms of 2.6 are saved, and
 * writing each document once more is 0.8 KB an episode there, within what 240 KB vary by. A second
 * fold built on the same snapshot is refused with ERR_CONFLICT. Scratch memory is the batch's
 * arena. */
enum { FOLD_LEVEL_1 = 32, FOLD_DOCS = 10240, FOLD_BYTES = 1 << 20 };
enum err_code segment_fold(struct store_txn *txn, uint64_t space, struct batch *batch, bool *did,
                           struct err *err) MUST_USE;

/* The header of a part, for fsck and statistics. ERR_INTERNAL when damaged. */
struct segment_head {
    uint8_t level;
    uint8_t rewritten; /* modulo 16 */
    uint16_t parts;
    uint32_t terms; /* in this part */
    uint32_t docs;
    uint32_t base[LAYERS];
    uint32_t span[LAYERS];
};
enum err_code segment_head_read(struct str part, struct segment_head *head,
                                struct err *err) MUST_USE;

/* Decodes and verifies one part (I1, I2), for fsck and tests; calls back for each posting, dead or
 * alive (`visit` NULL: none). */
typedef enum err_code segment_visit_fn(uint64_t term, enum layer layer, uint32_t doc, uint32_t tf,
                                       void *arg);
enum err_code segment_walk(struct str part, segment_visit_fn *visit, void *arg,
                           struct err *err) MUST_USE;

#endif
