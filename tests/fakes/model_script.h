/* A model provider for unit tests: a list of replies, given one after the other, and a record of
 * what was asked. It is a transport (core/model/exchange.h) that answers at once, and a clock that
 * moves only when a call waits. */
#ifndef HM_TESTS_FAKES_MODEL_SCRIPT_H
#define HM_TESTS_FAKES_MODEL_SCRIPT_H

#include "core/model/call.h"

enum { SCRIPT_MAX = 64, SCRIPT_PIECES = 16 };

struct script_reply {
    int status; /* 0: no reply, `code` says why */
    const char *body;
    enum err_code code;     /* with status 0; ERR_OK stands for ERR_UNAVAILABLE */
    const char *type;       /* NULL: application/json */
    int64_t retry_after_ms; /* 0: none */
    bool cancelled;
    const char *pieces[SCRIPT_PIECES]; /* instead of `body`, where the call takes pieces */
    bool breaks;                       /* after the pieces the connection is gone */
};

struct script_asked {
    struct str url, body, key; /* key: the Authorization header's value */
    int64_t at_ms, total_ms, idle_ms;
    uint32_t endpoint;
};

struct script {
    struct transport transport;
    struct clock clock;
    struct script_reply replies[SCRIPT_MAX];
    unsigned n_replies, next;
    struct script_asked asked[SCRIPT_MAX];
    unsigned n_asked;
    int64_t waited_ms[SCRIPT_MAX];
    unsigned n_waited;
    int64_t took_ms; /* of each exchange; the clock moves by it */
    struct arena *arena;
    bool done;
};

void script_init(struct script *script, const struct script_reply *replies, unsigned n);
void script_fini(struct script *script);
/* More replies behind those that are left. */
void script_add(struct script *script, const struct script_reply *replies, unsigned n);
/* Runs a call to its end. An exchange without a reply in the script fails the test. */
void script_run(struct script *script, struct models *models, struct model_call *call);

/* Options whose purposes are all at "http://models.test/v1", one attempt a second at most. */
struct models_options script_options(const struct script *script);

#endif
