#include "server/doctor_json.h"

#include <jansson.h>

enum err_code doctor_json_sum(const json_t *reply, int64_t *sum, struct buf *wrong)
{
    const json_t *value = json_object_get(reply, "sum");
    if (!json_is_integer(value)) {
        buf_printf(wrong, "sum must be an integer.");
        return ERR_UNPROCESSABLE;
    }
    *sum = json_integer_value(value);
    return ERR_OK;
}
