/* The API without sockets: calls go through api_admit() and api_start(), and their steps run here
 * on one thread against a real store with its writer. No stage runs, so what is accepted stays
 * pending; a WAIT looks once and times out. */
#ifndef HM_TESTS_API_KIT_H
#define HM_TESTS_API_KIT_H

#include <jansson.h>

#include "api/api.h"
#include "tests/unit/storage/fixture.h"

struct api_kit {
    struct fixture store; /* first: tests use it as one */
    struct metrics *metrics;
    struct services services;
    struct lanes *lanes;
    struct works *works;
    struct api_options options;
    struct api *api;
};

void api_kit_init(struct api_kit *kit);
void api_kit_fini(struct api_kit *kit);
/* Makes the API again with what is in kit->options. */
void api_kit_again(struct api_kit *kit);

/* A request with Host localhost, to be changed before it is sent. The body is JSON when not NULL.
 * */
struct api_request api_kit_request(const char *method, const char *path, const char *query,
                                   const char *body);
/* Runs it to its reply. `fail_at` > 0: that allocation of the call fails. */
struct api_call *api_kit_send(struct api_kit *kit, const struct api_request *request,
                              unsigned long fail_at);
/* Both; ends the test when the status is another. Returns the JSON of the reply (json_decref). */
json_t *api_kit_call(struct api_kit *kit, int status, const char *method, const char *path,
                     const char *query, const char *body);
/* The same for a refusal, checked to name `param` (NULL: none). */
void api_kit_refused(struct api_kit *kit, int status, const char *param,
                     const struct api_request *request);
json_t *api_kit_json(const struct api_call *call);
const char *api_kit_header(const struct api_call *call, const char *name, char out[256]);
/* reply["a"]["b"] as a number. */
json_int_t api_kit_int(const json_t *reply, const char *outer, const char *inner);

#endif
