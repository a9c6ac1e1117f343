/* A JSON object as parameters: each member is the row of its name (api/params.h), so that a query's
 * GET and POST, settings and flush bodies share one table of types and ranges each. Strings, whole
 * numbers and booleans where the row's type wants them; null is the same as leaving it out. */
#ifndef HM_API_PARAMS_JSON_H
#define HM_API_PARAMS_JSON_H

#include "api/params.h"

enum err_code params_json(struct arena *arena, struct str body, struct param_set *set,
                          struct err *err) MUST_USE;

#endif
