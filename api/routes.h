/* One table of routes: the only place that says which calls there are (STYLE 5). A row points at
 * the handler's first function, in one of three forms:
 *
 *   answer  inline on the loop, no I/O (probes, version)
 *   read    one read transaction on a reader, then the reply; 404 for an unknown space is done here
 *   step    steps of its own (core/base/step.h)
 *
 * Template segments in braces are variables: {space} is a space's name, {turn} {topic} {episode}
 * {fact} {job} an id; at most one beside {space}. To add a call: a row here, the function in the
 * file of its noun, its prototype in api/handlers.h. Metrics by route follow from the row. */
#ifndef HM_API_ROUTES_H
#define HM_API_ROUTES_H

#include "api/api.h"
#include "api/params.h"
#include "api/path.h"

enum route_flag {
    ROUTE_OPEN = 1,       /* needs no key */
    ROUTE_NDJSON = 2,     /* takes application/x-ndjson beside JSON */
    ROUTE_IDEMPOTENT = 4, /* honours Idempotency-Key */
    ROUTE_UNBUILT = 8,    /* documented, answers 501 */
    ROUTE_BODY = 16,      /* takes a JSON body of at most LIMIT_BODY_BYTES */
};

typedef void route_answer_fn(struct api_call *call);
typedef enum err_code route_read_fn(struct api_call *call, struct store_txn *txn, struct err *err);

struct route {
    const char *method;
    const char *path; /* template */
    route_answer_fn *answer;
    route_read_fn *read;
    step_fn *step;
    unsigned flags;
    enum step_pool pool;
    const struct param_row *params;
    unsigned n_params;
    const char *doc;
};

/* What the variables of a template stood for; .at NULL: not in the template. */
struct route_vars {
    struct str space;
    struct str id;
};

enum { ROUTE_ALLOW_MAX = 64 };

unsigned routes_count(void);
const struct route *routes_at(unsigned index);
/* Row of the path and method (HEAD finds GET). NULL with allow[0] == 0: no such path; NULL with a
 * list such as "GET, HEAD, OPTIONS" in `allow`: no such method on it. */
const struct route *routes_find(const struct path *path, struct str method, struct route_vars *vars,
                                char allow[ROUTE_ALLOW_MAX]);

#endif
