/* Replays an oplist bare: one closed-loop thread a connection hands each of its calls to one writer
 * thread, which applies what has gathered to one LMDB transaction, commits it durably and wakes
 * them; limits of a group and flags of the environment are those of the daemon (storage/). Nothing
 * is read, parsed or built on the way. */
#ifndef HM_TESTS_BENCH_REPLAY_H
#define HM_TESTS_BENCH_REPLAY_H

#include "tests/bench/oplist.h"
#include "tests/bench/samples.h"

struct replay_result {
    struct samples call; /* from hand-over to waking */
    uint64_t calls, commits;
    uint64_t written_bytes; /* that LMDB handed to write() and its kin */
    int64_t elapsed_ns;
    int rc; /* LMDB's or errno's; 0: all went well */
};

/* `dir` exists and is empty. */
void replay_run(const struct oplist *list, const char *dir, struct replay_result *result);

#endif
