/* What steps are handed: the few services of the process, borrowed, alive until the pools have
 * stopped. Everything in it is safe for any thread. */
#ifndef HM_CORE_SERVICES_H
#define HM_CORE_SERVICES_H

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/metrics.h"
#include "core/store.h"

struct lanes;
struct models;
struct tokenizers;
struct transport;
struct works;

struct services {
    struct store *store;
    struct lanes *lanes;
    struct works *works;           /* core/ingest/work.h */
    struct models *models;         /* core/model/models.h; NULL: everything is built in */
    struct transport *transport;   /* for model calls; NULL when no model is remote */
    struct tokenizers *tokenizers; /* core/text/token.h; NULL: one is made for each use */
    const struct clock *clock;
    const struct log *log;
    struct metrics *metrics;
    int64_t stage_pace_ms;     /* see lane.h; 0: off */
    int64_t model_patience_ms; /* a stage whose model fails for so long is made built in */
    int64_t idle_close_ms;     /* server time without a new turn after which a buffer closes */
};

#endif
