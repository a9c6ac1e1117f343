#include "core/graph/space.h"

#include "core/base/limits.h"
#include "core/graph/record_int.h"
#include "core/text/token.h"

struct space space_default(int64_t created_ms)
{
    return (struct space){.created_ms = created_ms,
                          .timezone = STR("UTC"),
                          .language = STR("en"),
                          .tokenizer = TOKENIZER_VERSION};
}

static bool is_name_byte(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr("._~@:-", c) != NULL);
}

bool space_name_is_valid(struct str name)
{
    if (name.len == 0 || name.len > LIMIT_SPACE_NAME_BYTES || str_eq(name, STR(".")) ||
        str_eq(name, STR("..")))
        return false;
    for (size_t i = 0; i < name.len; i++) {
        if (!is_name_byte(name.at[i]))
            return false;
    }
    return true;
}

void space_encode(const struct space *space, struct buf *out)
{
    record_head(out, space->seq);
    buf_u64(out, (uint64_t)space->created_ms);
    buf_u16(out, space->tokenizer);
    buf_lstr(out, space->timezone);
    buf_lstr(out, space->language);
}

enum err_code space_decode(struct str value, struct space *space, struct err *err)
{
    struct unpack u = unpack_of(value);
    *space = (struct space){.seq = record_open(&u)};
    space->created_ms = (int64_t)unpack_u64(&u);
    space->tokenizer = unpack_u16(&u);
    space->timezone = unpack_lstr(&u);
    space->language = unpack_lstr(&u);
    if (unpack_done(&u))
        return ERR_OK;
    *space = space_default(0);
    return err_set(err, ERR_INTERNAL, "the settings of a space are damaged");
}

enum err_code space_get(struct store_txn *txn, uint64_t id, struct space *space, struct err *err)
{
    struct str value;
    enum err_code rc = store_get(txn, id, KIND_META, STR(""), &value, err);
    if (rc != ERR_OK)
        return rc;
    if (value.at == NULL)
        return err_set(err, ERR_NOT_FOUND, "the space does not exist");
    return space_decode(value, space, err);
}
