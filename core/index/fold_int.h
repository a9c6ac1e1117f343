/* The inside of folding: which segments are folded (fold_plan.c), and how (fold.c). */
#ifndef HM_CORE_INDEX_FOLD_INT_H
#define HM_CORE_INDEX_FOLD_INT_H

#include "core/index/segment_int.h"

struct fold_segment {
    uint64_t seq;
    struct segment_head head;
    struct str *parts; /* borrowed from the transaction */
    uint32_t n_parts;
    size_t bytes;
    uint32_t living; /* documents; set for what is folded only */
};

struct fold_plan {
    const struct fold_segment *first; /* a run of segments in key order */
    uint32_t n;                       /* 0: nothing to do */
    uint8_t level;                    /* of the result */
    uint64_t dropped;                 /* dead documents that the run still names */
    uint64_t living;                  /* the others */
};

enum err_code fold__plan(struct store_txn *txn, uint64_t space, struct lengths *lengths,
                         struct arena *arena, struct fold_plan *plan, struct err *err) MUST_USE;

#endif
