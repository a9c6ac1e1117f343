/* What the files of describe share. */
#ifndef HM_CORE_INGEST_DESCRIBE_INT_H
#define HM_CORE_INGEST_DESCRIBE_INT_H

#include "core/ingest/describe.h"

enum { PHRASE_TERMS = 4 };

/* One or more neighbouring words that stand for a subject. */
struct phrase {
    struct str text;
    uint64_t term[PHRASE_TERMS];
    uint32_t n;
    uint32_t count;
};

/* The phrase to show for a term: a capitalised run or repeated pair around it, else its surface. */
struct phrase describe__phrase(const struct dialogue *dialogue, const float *weights,
                               const struct dialogue_term *term);
float describe__weight(const struct dialogue *dialogue, const float *weights, uint64_t term);
/* "7 May 2023". */
void describe__date(struct buf *out, int64_t utc_ms, int offset_min);
/* Appends `text` on one line, cut at a word within `max` bytes with an ellipsis. */
void describe__clip(struct buf *out, struct str text, size_t max);

/* describe_summary.c */
enum err_code describe__summary(struct arena *arena, const struct dialogue *dialogue,
                                const float *weights, struct str *summary,
                                struct err *err) MUST_USE;

#endif
