/* Vectors of a space through the real works, lanes and stages (kit_stage.h), run by one thread. The
 * model is a function, which can fail in every way: it answers the calls themselves. */
#ifndef HM_TESTS_UNIT_INGEST_KIT_EMBED_H
#define HM_TESTS_UNIT_INGEST_KIT_EMBED_H

#include "core/index/vectors.h"
#include "core/ingest/embed.h"
#include "core/ingest/work.h"
#include "core/model/call.h"
#include "tests/unit/ingest/kit_stage.h"

enum { KIT_DIM = 8, ASKED_MAX = 4096, TALK = 4 };

/* How the model behaves, and what it was asked. */
struct kit_model {
    uint32_t dim;
    enum model_failure failure; /* of every call; NONE: it works */
    int64_t retry_after_ms;
    const char *hates;  /* texts with this word have no vector */
    uint32_t text_most; /* longer texts have no vector; 0: no limit */
    bool breaks_off;    /* after the next call one fails */
    uint32_t since;     /* calls since then */
    uint32_t calls;
    uint32_t post_in_call;   /* a turn is accepted while so many more calls are under way */
    uint32_t commits;        /* since the first call */
    uint32_t post_at_commit; /* just before that one a turn is accepted; 0: none */
    uint32_t stop_at_commit; /* the daemon is told to stop while that one is under way; 0: none */
    uint32_t kill_in_call;   /* turn that is deleted meanwhile; 0: none */
    struct str asked[ASKED_MAX];
    uint32_t n_asked;
};
extern struct kit_model kit_model;
extern struct metrics kit_metrics;

/* stage_kit with an embed provider, lanes and works. */
void embed_kit_setup(void);
void embed_kit_teardown(void);
/* Another model behind the same URL. */
void make_models(const char *name);
void provider(bool on);

/* What the daemon does after a commit, or when a due time has come; until nothing is left. */
void run_all(void);
void run_later(int64_t ms);
/* After a stop. */
void restart(void);
/* Until no housekeeping of vectors is left. */
void settle_vectors(void);
void remove_turn(uint32_t n);

/* Four lines of one session. */
extern const struct line talk[TALK];
/* An episode of them with everything that follows, while nobody was there to embed it. */
void talk_unembedded(void);

struct vectors_generations generations_now(void);
struct vectors_generation active_now(void); /* there must be one */
struct embed_counts counts_now(void);
/* All living documents of all layers have been embedded, and nothing is due. */
void expect_complete(void);
uint64_t counted(enum metric_counter id);
bool was_asked(struct str text);
/* What the model gives for a text. */
void vector_of(struct str text, float *out);
/* The row of a document; false: lexical-only. */
bool row_of(enum layer layer, uint32_t doc, float *out);
void expect_vector(enum layer layer, uint32_t doc, const char *text);

#endif
