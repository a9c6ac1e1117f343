/* The reply to doctor's question of chat models. */
#ifndef HM_SERVER_DOCTOR_JSON_H
#define HM_SERVER_DOCTOR_JSON_H

#include "core/base/buf.h"

struct json_t; /* jansson's */

#define DOCTOR_SUM_SCHEMA                                                                          \
    "{\"type\":\"object\",\"properties\":{\"sum\":{\"type\":\"integer\"}},\"required\":[\"sum\"]," \
    "\"additionalProperties\":false}"

/* ERR_UNPROCESSABLE: `wrong` says why. */
enum err_code doctor_json_sum(const struct json_t *reply, int64_t *sum, struct buf *wrong);

#endif
