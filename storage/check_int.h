/* What the files of fsck and digest share: one space, loaded. */
#ifndef HM_STORAGE_CHECK_INT_H
#define HM_STORAGE_CHECK_INT_H

#include "core/graph/edge.h"
#include "core/graph/episode.h"
#include "core/graph/fact.h"
#include "core/graph/topic.h"
#include "core/graph/turn.h"
#include "core/index/segment.h"
#include "storage/check.h"
#include "storage/storage_int.h"

struct check_turn {
    uint32_t n;
    uint32_t session_no, speaker_no;
    uint32_t doc;
    uint16_t docs;
    bool open;        /* it rests in a buffer */
    uint32_t episode; /* id; 0 none */
    int64_t time_ms;
};

struct check_members {
    struct edge_member *at;
    uint32_t n;
};

struct check_episode {
    struct episode record; /* strings borrow from the transaction */
    struct check_members facts;
    uint32_t first, turns; /* its turns in `by_session` */
};

struct check_topic {
    struct topic record;
    struct check_members episodes;
};

/* Documents of one layer. */
struct check_docs {
    uint32_t n;       /* NEXT_DOC_… */
    uint32_t *owner;  /* node that the record says has this document; 0 none */
    uint8_t *length;  /* LENGTH code */
    uint32_t *tf_sum; /* over all postings */
    uint32_t *ones;   /* postings with tf 1: perhaps dates, which the length does not count */
};

/* By what its hash finds a fact; by document. */
struct check_hash {
    uint64_t term; /* 0: no fact */
    bool found;    /* a posting has it */
};

struct check {
    const struct check_sink *sink;
    struct check_report *report;
    struct store_txn *txn;
    struct arena *arena;
    struct str name;
    uint64_t space;
    uint64_t base_seq; /* last seq of earlier lives */
    uint64_t problems; /* of this space */
    struct space_stat stat;
    uint32_t rows[256];       /* by kind */
    struct check_turn *turns; /* by n */
    uint32_t n_turns;
    uint32_t *by_session;           /* indexes into turns, by (session_no, n) */
    struct check_episode *episodes; /* by id, as the rest */
    uint32_t n_episodes;
    struct check_topic *topics;
    uint32_t n_topics;
    struct fact *facts;
    uint32_t n_facts;
    struct check_docs docs[LAYERS];
    struct check_hash *hashes; /* of the fact layer */
    uint32_t *drafts;          /* episodes with a job, ascending */
    uint32_t n_drafts;
    uint64_t work_due;
};

void check__problem(struct check *c, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Reports unless they are equal. */
void check__equal(struct check *c, const char *what, uint64_t is, uint64_t should);

typedef enum err_code check_row_fn(struct check *c, const struct store_item *item, struct err *err);
/* Calls back for each row of a kind. */
enum err_code check__each(struct check *c, enum store_kind kind, check_row_fn *row,
                          struct err *err) MUST_USE;
/* A zeroed array; NULL and ERR_EXHAUSTED in *err when memory is short. */
void *check__array(struct check *c, size_t n, size_t size, struct err *err);

/* NULL when there is none. */
struct check_turn *check__turn(const struct check *c, uint32_t n);
struct check_episode *check__episode(const struct check *c, uint32_t id);
struct check_topic *check__topic(const struct check *c, uint32_t id);
struct fact *check__fact(const struct check *c, uint32_t id);
const struct edge_member *check__member(const struct check_members *members, uint32_t id);

/* check_rows.c: key shapes and counts; fills `rows`, needs `stat`. */
enum err_code check__rows(struct check *c, struct err *err) MUST_USE;
/* check_load.c: records into the arrays, with what each says for itself. */
enum err_code check__load(struct check *c, struct err *err) MUST_USE;
/* check_work.c: jobs and their work; fills `drafts`. */
enum err_code check__work(struct check *c, struct err *err) MUST_USE;
bool check__is_draft(const struct check *c, uint32_t episode);
/* check_graph.c: invariants 1 to 4. */
enum err_code check__graph(struct check *c, struct err *err) MUST_USE;
/* check_index.c: invariant 5. */
enum err_code check__index(struct check *c, struct err *err) MUST_USE;
/* check_column.c */
enum err_code check__columns(struct check *c, struct err *err) MUST_USE;
/* check_vectors.c; after check__index(), whose documents it uses. */
enum err_code check__vectors(struct check *c, struct err *err) MUST_USE;

/* Opens a snapshot on a space by name; *found false when there is none. */
enum err_code check__open_space(struct store *store, struct str name, struct check *c, bool *found,
                                struct err *err) MUST_USE;
void check__close_space(struct check *c);

/* Calls back for each living space, by name, each in no transaction. */
typedef enum err_code check_space_fn(struct store *store, struct str name, void *arg,
                                     struct err *err);
enum err_code check__each_space(struct store *store, check_space_fn *visit, void *arg,
                                struct err *err) MUST_USE;

#endif
