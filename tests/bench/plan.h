/* What each connection of a load asks next: a function of (connection, number of its call), so that
 * the same plan can be sent over HTTP (bench_load) and be replayed bare (bench_bare).
 *
 * A call touches one space, counted by an index from 0; its number is first_space + stride * index,
 * its name <prefix><number>.
 *
 *   PLAN_POST   the connection tells one conversation after another, turns_per_space turns each,
 *               turns_per_call a call; its k-th space has index connection + connections * k. With
 *               `cycle` it goes round that many spaces of its own, one call in each, instead
 *   PLAN_FILL   the same, and the last call of each space waits until nothing is pending
 *   PLAN_QUERY  a question a call; call j of connection c asks the space with the index
 *               (c + connections * j) % spaces, of which it knows that it holds turns_per_space
 *               turns
 *   PLAN_MIXED  posts and questions in turn, each question to the space last written
 *   PLAN_FILE   questions from a file, round and round: lines "space<TAB>question" */
#ifndef HM_TESTS_BENCH_PLAN_H
#define HM_TESTS_BENCH_PLAN_H

#include "core/base/buf.h"
#include "tests/bench/gen.h"

enum plan_mode { PLAN_POST, PLAN_FILL, PLAN_QUERY, PLAN_MIXED, PLAN_FILE };
enum call_kind { CALL_POST, CALL_QUERY, CALL_NONE };

struct plan {
    enum plan_mode mode;
    struct gen gen;
    const char *prefix;
    const char *params; /* appended to the path of each call, without the first '&' or '?' */
    uint32_t connections;
    uint32_t turns_per_call, turns_per_space;
    uint32_t spaces; /* indexes are below it; 0: any */
    uint32_t first_space, stride;
    uint32_t first_turn; /* number of the first turn that is posted to a space */
    uint32_t cycle;
    const struct str *lines; /* PLAN_FILE */
    uint32_t n_lines;
};

/* One call as the plan has it, without bytes. */
struct plan_call {
    enum call_kind kind;  /* CALL_NONE: this connection has nothing more to do */
    uint32_t space;       /* its number */
    uint32_t turn, turns; /* POST: first turn and how many; query: the space holds `turns` */
    bool wait;
};

bool plan_mode_parse(const char *name, enum plan_mode *mode);
struct plan_call plan_call(const struct plan *plan, uint32_t connection, uint64_t number);

/* Call `number` as an HTTP request; *call tells what it is. *text_bytes grows by the turns'
 * text. */
void plan_request(const struct plan *plan, uint32_t connection, uint64_t number, struct buf *out,
                  struct plan_call *call, uint64_t *text_bytes);

#endif
