#include "storage/keys.h"

void key_set(struct key *key, uint64_t space, unsigned kind, struct str rest)
{
    ASSERT(rest.len <= KEY_REST_MAX);
    be64_set(key->at, space);
    key->at[8] = (char)kind;
    if (rest.len != 0)
        memcpy(key->at + KEY_PREFIX, rest.at, rest.len);
    key->len = KEY_PREFIX + rest.len;
}

void key_set_u32(struct key *key, uint64_t space, unsigned kind, uint32_t id)
{
    be64_set(key->at, space);
    key->at[8] = (char)kind;
    be32_set(key->at + KEY_PREFIX, id);
    key->len = KEY_PREFIX + 4;
}

void key_set_u64(struct key *key, uint64_t space, unsigned kind, uint64_t id)
{
    be64_set(key->at, space);
    key->at[8] = (char)kind;
    be64_set(key->at + KEY_PREFIX, id);
    key->len = KEY_PREFIX + 8;
}

const char *key_kind_name(unsigned kind)
{
    switch (kind) {
#define X(name, letter, rest, value)                                                               \
    case letter: return #name;
        STORE_KIND_TABLE(X)
#undef X
    default: return NULL;
    }
}

bool key_kind_is_system(unsigned kind)
{
    return kind == KIND_FORMAT || kind == KIND_REGISTRY || kind == KIND_DUE || kind == KIND_DEAD;
}
