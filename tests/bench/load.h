/* A closed-loop HTTP/1.1 load: N keep-alive connections to 127.0.0.1, each with one request under
 * way; the next is sent when the reply to the last has come whole. One thread, epoll.
 *
 *      plan_request() -> write -> … -> read -> head, Content-Length body -> samples -> next
 *
 * Bounds: a number of calls, a time, and no reply for LOAD_STALL_MS ends the run with an error. A
 * connection that the server closes between two requests is opened again and counted.
 *
 * An error is a reply that is not 2xx, or a connection that broke in mid-request. */
#ifndef HM_TESTS_BENCH_LOAD_H
#define HM_TESTS_BENCH_LOAD_H

#include "tests/bench/plan.h"
#include "tests/bench/samples.h"

enum { LOAD_STALL_MS = 330000, LOAD_CONNECTIONS_MAX = 4096 };

struct load_options {
    const struct plan *plan;
    uint16_t port;
    uint64_t calls;  /* at most that many are started, warm-up included; 0: any */
    uint32_t millis; /* none is started later than that after the warm-up; 0: any */
    uint64_t warmup; /* calls before anything is measured */
};

struct load_result {
    struct samples post, query;                /* what the client saw */
    struct samples server;                     /* timings_ms.total of query replies */
    uint64_t calls, turns, errors, reconnects; /* finished after the warm-up */
    uint64_t text_bytes, sent_bytes, received_bytes;
    int64_t elapsed_ns; /* from the end of the warm-up to the last reply */
    char first_error[256];
};

/* False when the load could not be run at all; first_error says why. */
bool load_run(const struct load_options *options, struct load_result *result);
void load_result_free(struct load_result *result);

#endif
