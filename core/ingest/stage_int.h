/* What the files of stage share: the units of a space's work in the making, a chain of them to a
 * batch (stage.h).
 *
 *   stage.c           the chain and its units: what is to be done, counters, batch
 *   stage_docs.c      documents of all units of a chain, for one segment
 *   stage_open.c      the table of open buffers
 *   stage_walk.c      events in order: turns, flushes, idleness -> an episode to close, or none
 *   stage_rows.c      rows of COLUMN_TURN that the unit changes, written once each
 *   stage_episode.c   the closed episode: describe -> topic -> facts -> batch
 *   draft.c           the same with a model: closed as a draft, finished by work.h
 *   facts*.c, topic*.c, describe*.c   the stages themselves */
#ifndef HM_CORE_INGEST_STAGE_INT_H
#define HM_CORE_INGEST_STAGE_INT_H

#include "core/graph/space.h"
#include "core/index/column.h"
#include "core/index/lengths.h"
#include "core/index/segment.h"
#include "core/ingest/boundary_rule.h"
#include "core/ingest/embed.h"
#include "core/ingest/job.h"
#include "core/ingest/stage.h"
#include "core/ingest/stage_dialogue.h"
#include "core/ingest/stage_map.h"

/* A session's buffer in this unit. */
struct open_buffer {
    struct buffer buffer;
    struct boundary rule; /* valid when `loaded` */
    bool loaded;
    bool changed;
};

struct row_edit {
    uint32_t doc;
    struct turn_row row;
};

/* The documents of a chain. Those of a layer are consecutive over its units. */
struct stage_docs {
    struct segment_doc *at; /* numbered from `base` on */
    uint32_t n, cap;
    uint32_t last;  /* of the last unit: at[last] .. at[n - 1] */
    uint32_t *dead; /* indices of those that need no postings */
    uint32_t n_dead, cap_dead;
    bool has[LAYERS];
    uint32_t base[LAYERS];
};

/* What the units of a chain need not make anew: a closing unit looks at turns that an earlier one
 * has read, and the words of a conversation come again. */
struct stage_reading {
    struct tokenizer *tokenizer; /* NULL until the first unit has one; the chain's to give back */
    struct said **said;          /* turns that boundary has looked at, by n */
    uint32_t n_said, cap_said;
};

/* Of one unit; `txn` shows what the units before it did. */
struct stage_work {
    struct store_txn *txn;
    uint64_t space;
    const struct services *services;
    struct arena *arena; /* the chain's, as are the next four */
    struct stage_unit *unit;
    struct batch *batch;
    struct stage_docs *docs;
    struct stage_reading *reading;
    struct space_stat stat; /* of the snapshot */
    struct space settings;
    struct tokenizer *tokenizer;
    struct said_reader reader;
    struct columns *columns;
    struct lengths *lengths;
    struct vectors_generations generations; /* n 0: hyperedges have no vectors */
    int64_t now_ms;
    bool by_model; /* a chat model says where episodes end and what they are */

    /* stage_open.c */
    struct open_buffer **open; /* those with turns > 0, and emptied ones that must be written */
    uint32_t n_open, cap_open;
    struct stage_map open_of; /* session ordinal -> index */
    int64_t least_end_ms;     /* no buffer ends before it */
    int64_t least_arrival_ms; /* no buffer's last arrival is before it */

    /* stage_walk.c */
    uint32_t looked;       /* boundary has looked at every turn n <= this */
    uint32_t n_looked;     /* how many living ones in this unit */
    size_t looked_bytes;   /* their text */
    int64_t opened;        /* change of STAT_OPEN */
    uint64_t next_seq;     /* of the first turn that was not looked at; 0: there is none */
    struct buffer closing; /* turns > 0: the episode to build */
    bool changed;          /* there is something to commit */
    bool drafted;          /* an episode became a draft */
    bool outlook_known;
    uint64_t work_seq; /* stage__outlook(); UINT64_MAX: nothing waits */

    /* stage_rows.c */
    struct row_edit *rows;
    uint32_t n_rows, cap_rows;
    struct stage_map row_of;
};

enum err_code stage__memory(struct err *err);

/* STAT_IDLE_DUE when a gap of some buffer can be decided without anything new. */
enum { STAGE_DUE_NOW = 1 };

/* stage_open.c */
enum err_code stage__open_all(struct stage_work *w, struct err *err) MUST_USE;
/* The session's buffer; made (empty) when there is none. */
enum err_code stage__open_get(struct stage_work *w, uint32_t session_no, struct open_buffer **out,
                              struct err *err) MUST_USE;
/* Reads the boundary's state, or makes it from the buffer's turns. */
enum err_code stage__open_load(struct stage_work *w, struct open_buffer *open,
                               struct err *err) MUST_USE;
/* Turns of one session as a buffer that nothing has looked at. */
struct buffer stage__buffer_of(uint32_t session_no, struct said *const *turns, uint32_t n);
/* The one that began first among those that `is_due`; NULL: none. */
typedef bool stage_due_fn(const struct open_buffer *open, const void *arg);
struct open_buffer *stage__open_first(struct stage_work *w, stage_due_fn *is_due, const void *arg);
enum err_code stage__open_write(struct stage_work *w, struct err *err) MUST_USE;
/* STAT_IDLE_DUE as it will be. */
uint64_t stage__open_due(const struct stage_work *w);
/* What the boundary wants to know of a turn, and the terms of its speaker's name. */
enum err_code stage__features(struct stage_work *w, const struct said *said,
                              struct boundary_turn *out, struct err *err) MUST_USE;
enum err_code stage__add_names(struct stage_work *w, const struct said *said, struct boundary *rule,
                               struct err *err) MUST_USE;

/* The first cut that the built-in rule makes in these turns of a session; 0: none. */
enum err_code stage__first_cut(struct stage_work *w, struct said *const *turns, uint32_t n,
                               uint32_t *count, struct err *err) MUST_USE;

/* stage_walk.c: goes on until an episode is to be closed or nothing is left. */
enum err_code stage__walk(struct stage_work *w, struct err *err) MUST_USE;

/* stage.c: when work with models is next due and what holds processed_seq back, with rows as in
 * work_outlook(). */
struct work_row;
enum err_code stage__outlook(struct stage_work *w, const struct work_row *const *rows, unsigned n,
                             struct err *err) MUST_USE;

/* A batch that does one thing in a space's lane, with all that a unit has at hand. NULL: `act`
 * changed nothing (w->changed). */
typedef enum err_code stage_act_fn(struct stage_work *w, void *arg, struct err *err);
enum err_code stage_act(const struct stage_base *base, stage_act_fn *act, void *arg,
                        struct batch **batch, struct err *err) MUST_USE;

/* stage_rows.c: the row as it will be; NULL when memory is short. The pointer dies with the next
 * call. */
struct turn_row *stage__row(struct stage_work *w, uint32_t doc);
enum err_code stage__rows_write(struct stage_work *w, struct err *err) MUST_USE;

/* stage_docs.c: the documents of this unit, numbered relative to `base` of their layer. At most one
 * call a unit. */
enum err_code stage__docs_add(struct stage_work *w, const struct segment_doc *docs, uint32_t n,
                              const uint32_t base[LAYERS], struct err *err) MUST_USE;
/* A document died. If it is of an earlier unit of this chain, its postings are not needed. */
enum err_code stage__docs_forget(struct stage_work *w, enum layer layer, uint32_t doc,
                                 struct err *err) MUST_USE;
/* The postings: those of the last unit, or of all. Their batch has no other. */
enum err_code stage__docs_write(const struct stage_docs *docs, bool all, struct batch *batch,
                                struct err *err) MUST_USE;

/* stage_episode.c: everything that follows from w->closing. */
enum err_code stage__episode(struct stage_work *w, struct err *err) MUST_USE;

#endif
