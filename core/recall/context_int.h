/* The inside of the context: units of text in the order of time, their exact length. */
#ifndef HM_CORE_RECALL_CONTEXT_INT_H
#define HM_CORE_RECALL_CONTEXT_INT_H

#include "core/recall/recall_int.h"

enum unit_kind { UNIT_SUMMARY, UNIT_TURN, UNIT_FACT };

struct summary; /* context_summary.c */

struct unit {
    enum unit_kind kind;
    bool late;      /* came in when summaries stood already */
    uint32_t id;    /* episode, turn document, fact */
    uint32_t n;     /* turn number; 0 for a summary */
    uint32_t parts; /* documents of the turn */
    int64_t time_ms;
    int64_t day; /* local, since 1970 */
    struct str speaker, text, shown_id;
    struct str mark; /* query.marks: " [turn_12]" behind the text; empty without */
    size_t mark_chars;
    struct summary *summary; /* of a UNIT_SUMMARY */
    size_t speaker_chars, text_chars, day_chars;
};

struct pack {
    struct recall *r;
    struct unit **units; /* in order of time */
    uint32_t n, cap;
    size_t used;  /* characters, each line with its line feed */
    size_t limit; /* characters of the whole text */
    bool late;    /* of units to come */
};

enum { CONTEXT_DAY_MAX = 40 };

/* "8 May 2023" */
size_t context__write_day(int64_t day, char out[CONTEXT_DAY_MAX]);
int64_t context__day(int64_t time_ms, int offset_min);
/* With query.marks: what the unit's line ends in, its id being that or that of its kind. */
enum err_code context__mark(const struct recall *r, struct unit *unit, struct err *err);
/* Fills in day and lengths. */
void context__measure(struct unit *unit, int offset_min);
/* Puts a copy of the unit where it belongs if the whole still fits; `*added` says so. */
enum err_code context__add(struct pack *p, const struct unit *unit, bool *added, struct err *err);

/* context_summary.c: one-line summaries of the reply's episodes, within a share of the whole. */
bool context__wants_summaries(const struct recall_query *q);
size_t context__summary_chars(size_t whole);
enum err_code context__add_summaries(struct pack *p, struct err *err);
/* Takes out of the summaries what came in as a turn after them (I2). */
enum err_code context__trim_summaries(struct pack *p, struct err *err);

#endif
