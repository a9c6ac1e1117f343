/* What readiness and metrics read at the moment they are asked: due work, its age, the process. No
 * state is kept; everything is bounded, whatever the number of spaces.
 *
 * Due work is found in the DUE rows (space 0). A row due "now" tells no time, so the age of the
 * oldest waiting work is that of the first turn which boundary has not looked at, or of the first
 * job that waits for a model, over at most GAUGES_SPACES spaces that are due or will be soon: a job
 * whose model fails is tried again within GAUGES_AHEAD_MS or when its provider says. */
#ifndef HM_API_GAUGES_H
#define HM_API_GAUGES_H

#include "core/services.h"

enum { GAUGES_SPACES = 1000, GAUGES_AHEAD_MS = 5 * 60 * 1000 };

struct gauges {
    uint64_t due;      /* spaces with work to do now; counted up to GAUGES_SPACES */
    uint64_t running;  /* steps of stages and of work with models, queued or running */
    int64_t oldest_ms; /* age of the oldest turn or job that waits; 0: none */
};

enum err_code gauges_read(const struct services *services, struct gauges *gauges,
                          struct err *err) MUST_USE;

/* From /proc/self; 0 for what can't be read. */
struct gauges_process {
    double cpu_s, start_s;
    uint64_t resident_bytes, virtual_bytes, private_bytes, open_fds, max_fds, threads;
};
void gauges_process(struct gauges_process *process);

#endif
