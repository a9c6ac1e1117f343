/* The process's one event loop (libuv): signals, the runner's timer, and the stop.
 *
 * A stop (SIGTERM, SIGINT) goes in DESIGN 12's order. The loop's part of it:
 *
 *   signal   quiesce: no further connection, idle ones go; lanes start nothing new; waits end;
 *            requests in flight are answered, each with Connection: close
 *   grace    5 s (or half the deadline) later, or at a second signal: 503 for what is left, shut
 *   end      no connection, no suspended request, no lane busy; or the deadline
 *
 * and then loop_run() returns to cmd_serve.c, which drains the writer and takes the rest apart.
 *
 * Idle, the loop wakes once a minute to free reader slots of dead processes. Threads: one; only
 * loop_wake() may be called from others. */
#ifndef HM_SERVER_LOOP_H
#define HM_SERVER_LOOP_H

#include <uv.h>

#include "server/http.h"
#include "server/runner.h"
#include "server/transport.h"

struct loop;

/* What the loop drives; borrowed while it runs. */
struct loop_parts {
    struct runner *runner;
    struct http *http;
    struct lanes *lanes;
    struct works *works;
    struct models *models;   /* NULL: none */
    struct carrier *carrier; /* of their calls; NULL without models */
    struct api *api;
    struct store *store;
    const struct clock *clock;
    const struct log *log;
    int64_t stop_deadline_ms; /* of the whole stop */
};

enum err_code loop_new(struct loop **out, struct err *err) MUST_USE;
uv_loop_t *loop_uv(struct loop *loop);
/* runner_wake_fn; arg is the loop. From any thread. */
void loop_wake(void *arg);
/* Runs until a signal's stop has come to its end. */
enum err_code loop_run(struct loop *loop, const struct loop_parts *parts, struct err *err) MUST_USE;
/* Goes on until no request is suspended and no lane busy, for at most `ms`; false: some are. */
bool loop_settle(struct loop *loop, int64_t ms);
/* After loop_run(): milliseconds left of the stop's deadline, at least 0. */
int64_t loop_left_ms(const struct loop *loop);
/* Runs what closed handles still have to tell, then frees. NULL is fine. */
void loop_free(struct loop *loop);

#endif
