/* What the files of work share.
 *
 *   work.c            the table of steps that run; dispatch
 *   work_rows.c       WORK rows
 *   work_run.c        the step: prepare -> call -> lane -> apply -> commit -> again or end
 *   work_episode.c    describe, topic, facts of a draft
 *   work_boundary.c   where the episodes of a buffer end
 *   work_embed.c      vectors of what has none
 *   work_sweep.c      at start: spaces that are behind and don't know it */
#ifndef HM_CORE_INGEST_WORK_INT_H
#define HM_CORE_INGEST_WORK_INT_H

#include <pthread.h>
#include <stdatomic.h>

#include "core/base/limits.h"
#include "core/ingest/work.h"
#include "core/model/ask.h"
#include "core/text/token.h"

enum work_kind { WORK_EPISODE, WORK_BOUNDARY, WORK_EMBED, WORK_KINDS };

enum work_next {
    WORK_END,
    WORK_CALL,    /* work->call is set up */
    WORK_APPLY,   /* in the lane, with a fresh snapshot */
    WORK_PREPARE, /* the next stage */
};

struct work {
    struct step step; /* first: the runtime hands out this pointer */
    struct works *works;
    enum work_kind kind;
    uint64_t space;
    uint64_t id;         /* seq of the job; ordinal of the session; 0 */
    struct arena *arena; /* of the question and its answer; made anew for each stage */
    struct arena *batch_arena;
    void *own;                   /* the kind's, in `arena` */
    struct tokenizer *tokenizer; /* of the question's reader; NULL: none */
    struct model_call call;
    bool asked;          /* `call` has an answer or a failure */
    enum work_next next; /* after the commit */
    uint64_t last_seq;   /* of the last batch that was committed */
    unsigned conflicts;
    bool failed;           /* by an error of our own: the space rests */
    atomic_bool cancelled; /* relaxed: set by works_cancel(), seen before the next apply */
    uint64_t random;       /* of the back-off */
    unsigned rounds;       /* questions so far */
    unsigned halvings;     /* of the longest text that is embedded in one piece */
    uint64_t look_ms;      /* works_next_look_ms(); under the lock of works */
    struct work *next_free;
};

/* Turns of one session, as an episode or a buffer has them. */
struct work_range {
    uint32_t session_no, first_n, last_n;
};

/* What a kind does; both get a snapshot that ends when they return, so what the call or a later
 * function reads is copied. ERR_NOT_FOUND: the space is gone; others rest the space. */
struct work_ops {
    /* Sets `call` up (WORK_CALL), or finds that nothing is to be asked (WORK_APPLY, WORK_END). */
    enum err_code (*prepare)(struct work *work, struct store_txn *txn, enum work_next *next,
                             struct err *err);
    /* In the lane. NULL in *batch: nothing changes. *next: what follows the commit. */
    enum err_code (*apply)(struct work *work, struct store_txn *txn, struct batch **batch,
                           enum work_next *next, struct err *err);
    /* Its batch is committed; NULL: nothing is to be done then. */
    void (*done)(struct work *work);
};
extern const struct work_ops work__episode, work__boundary, work__embed;

enum { SWEEP_PAGE = 64 };

struct work_sweep {
    struct step step;    /* first */
    struct works *works; /* NULL: it does not run */
    struct arena *arena; /* of a page */
    char after[LIMIT_SPACE_NAME_BYTES];
    uint32_t after_len; /* of the last space's name; 0: none yet */
    uint64_t spaces[SWEEP_PAGE];
    size_t n, at; /* those to be made due */
    uint64_t marked;
    bool ended; /* that was the last page */
};

struct works {
    pthread_mutex_t lock;
    lanes_submit_fn *submit;
    void *arg;
    const struct services *services;
    struct work work[WORKS_MAX];
    struct work *free;
    unsigned busy;
    unsigned embeds; /* of kind WORK_EMBED */
    struct work_sweep sweep;
    uint64_t secret;  /* of this process: keys of fences in prompts */
    bool overflow;    /* something due was not started for want of a place */
    bool embeds_wait; /* the same of WORK_EMBED */
    bool stopping;
};

/* work_run.c: first function and finish of the step. */
enum step_verdict work__run(struct step *step);
/* work.c */
void work__finish(struct step *step);

/* When a failed stage is tried again, and whether it is given up. */
struct work_failure {
    int64_t due_ms;
    bool given_up;
};
/* `attempts`: failures in a row, this one counted; `failing_ms`: time of the first of them. */
struct work_failure work__failure(struct work *work, uint32_t attempts, int64_t failing_ms,
                                  int64_t now_ms);
int64_t work__now_ms(const struct work *work);
/* A number below `most`, of the back-off. */
uint64_t work__draw(struct work *work, uint64_t most);
/* Other spaces wait for a place to embed in. */
bool work__embeds_wait(struct work *work);
/* For the fence of a prompt: nobody can foresee it. */
uint64_t work__seed(struct work *work);
/* The living turns of the range, copied. */
enum err_code work__dialogue(struct work *work, struct store_txn *txn,
                             const struct work_range *range, struct ask_dialogue *out,
                             struct err *err) MUST_USE;

/* work_rows.c */
enum err_code work__decode(struct str key, struct str value, struct work_row *row,
                           struct err *err) MUST_USE;

enum err_code work__memory(struct err *err);

#endif
