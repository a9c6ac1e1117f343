/* What the files of lane share. Functions that want the lock held say so; they put the steps that
 * may run into a `ready` list, which lanes__unlock() submits after the lock is given back. */
#ifndef HM_CORE_INGEST_LANE_INT_H
#define HM_CORE_INGEST_LANE_INT_H

#include <pthread.h>

#include "core/ingest/lane.h"
#include "core/ingest/stage.h"

enum {
    LANE_CAP = 1024,    /* stage steps and deletes; a power of two */
    LANE_RESTS = 64,    /* failing spaces that are remembered */
    LANE_CONFLICTS = 8, /* in a row, before it counts as a failure */
    LANE_PAUSE_MS = 1000,
    LANE_PACE_STEP_MS = 25, /* paces end together, so that one scan starts many spaces */
    LANE_REST_MAX_MS = LANE_PAUSE_MS << (LANE_ATTEMPTS - 2),
};
#define LANE_NONE UINT16_MAX

typedef enum err_code stage_build_fn(struct store_txn *txn, uint64_t space,
                                     const struct services *services, struct arena *arena,
                                     struct stage_unit *unit, struct err *err);

struct stage {
    struct step step; /* first: the runtime hands out this pointer */
    struct lanes *lanes;
    struct arena *arena; /* of the unit in work; NULL while queued */
    struct stage_unit unit;
    int64_t start_ns;
    unsigned conflicts;
    bool at_work;   /* a step with a model is under way in the space */
    bool caught_up; /* it ended because nothing was left to do */
    struct stage *next_free;
};

/* A space that is in somebody's hands. */
struct lane {
    uint64_t space; /* 0: free */
    struct step *holder;
    struct step *first, *last; /* waiting deletes, linked by `next` */
    struct stage *stage;
    bool stage_waits; /* the stage step is among those who want the lane */
    bool again;       /* became due while its stage step was queued or running */
    bool hurry;       /* somebody waits for what the stage step does */
    uint16_t next;    /* in the hash chain or the free list */
};

struct lane_rest {
    uint64_t space;    /* 0: free */
    uint64_t until_ms; /* UINT64_MAX: until it changes */
    unsigned attempts;
};

/* A space that the stages have caught up with. */
struct lane_pace {
    uint64_t space; /* 0: free */
    uint64_t until_ms;
    bool due; /* became due meanwhile */
};

struct lanes {
    pthread_mutex_t lock;
    lanes_submit_fn *submit;
    void *arg;
    const struct services *services;
    stage_build_fn *build; /* stage_build; tests put a stand-in */
    bool stopping;
    struct lane lane[LANE_CAP];
    uint16_t bucket[LANE_CAP];
    uint16_t free_lane;
    struct step *parked_first, *parked_last; /* no lane was free */
    struct stage stage[LANES_MAX];
    struct stage *free_stage;
    unsigned stages; /* in use */
    unsigned places; /* stages that may be in use: LANES_MAX, or 1 until a commit succeeds */
    unsigned others; /* steps of others that hold or want a lane */
    bool overflow;
    struct step scan;
    bool scanning, scan_again; /* the scan step is queued or running; asked for meanwhile */
    char scan_from[16];        /* DUE key where the last scan had to stop */
    uint64_t next_due_ms;
    uint64_t pause_until_ms;
    struct lane_rest rest[LANE_RESTS];
    struct lane_pace pace[LANES_MAX]; /* by space; one that is overwritten ends early */
};

struct lane_ready {
    struct step *first, *last;
};

void lanes__lock(struct lanes *lanes);
void lanes__unlock(struct lanes *lanes, struct lane_ready *ready);

enum lane_start { LANE_STARTED, LANE_BUSY, LANE_RESTING, LANE_FULL };
/* Lock held. Gives the space a stage step if there is a place. */
enum lane_start lanes__start(struct lanes *lanes, uint64_t space, struct lane_ready *ready);
/* Lock held. The stage step goes; its lane must have been left. */
void lanes__retire(struct lanes *lanes, struct stage *stage, struct lane_ready *ready);
/* Lock held. Queues a scan when there is overflow and room for it. */
void lanes__scan_if_room(struct lanes *lanes, struct lane_ready *ready);
struct lane *lanes__find(struct lanes *lanes, uint64_t space); /* lock held; may be NULL */

/* lane_rest.c; lock held. */
uint64_t lanes__now_ms(const struct lanes *lanes);
bool lanes__is_paused(const struct lanes *lanes);
void lanes__pause(struct lanes *lanes);
bool lanes__is_resting(struct lanes *lanes, uint64_t space);
/* True when it has no further attempt until it changes. */
bool lanes__rest(struct lanes *lanes, uint64_t space);
void lanes__rest_end(struct lanes *lanes, uint64_t space);
/* A stalled space has changed: one more attempt. */
void lanes__rest_changed(struct lanes *lanes, uint64_t space);
uint64_t lanes__rest_next_ms(const struct lanes *lanes);

/* lane_pace.c; lock held. */
void lanes__pace_begin(struct lanes *lanes, uint64_t space);
/* True when it has to wait; lanes_next_due_ms() says until when. */
bool lanes__is_paced(struct lanes *lanes, uint64_t space);
/* True when it was due. */
bool lanes__pace_end(struct lanes *lanes, uint64_t space);

/* lane_stage.c and lane_scan.c: first functions of the steps. */
enum step_verdict lanes__stage_run(struct step *step);
void lanes__stage_finish(struct step *step);
enum step_verdict lanes__scan_run(struct step *step);
void lanes__scan_finish(struct step *step);

#endif
