#include "core/graph/node_id.h"

#include <stdio.h>

/* What follows "<prefix>_"; absent when `text` does not start so. */
static struct str after_prefix(struct str text, const char *prefix)
{
    struct str word = str_of(prefix);
    if (!str_starts(text, word) || text.len == word.len || text.at[word.len] != '_')
        return STR_NONE;
    return str_part(text, word.len + 1, text.len);
}

bool node_id_parse(struct str shown, const char *prefix, uint32_t *id)
{
    uint64_t value;
    struct str digits = after_prefix(shown, prefix);
    if (digits.len == 0 || digits.at[0] == '0' || !str_u64(digits, UINT32_MAX, &value))
        return false;
    *id = (uint32_t)value;
    return true;
}

size_t node_id_write(const char *prefix, uint32_t id, char out[NODE_ID_MAX])
{
    int n = snprintf(out, NODE_ID_MAX, "%s_%u", prefix, id);
    ASSERT(n > 0 && n < NODE_ID_MAX);
    return (size_t)n;
}

struct str node_id_str(struct arena *arena, const char *prefix, uint32_t id)
{
    char text[NODE_ID_MAX];
    size_t len = node_id_write(prefix, id, text);
    return str_copy(arena, (struct str){text, len});
}

bool node_id_is_reserved(struct str text)
{
    static const char *const prefixes[] = {NODE_TURN, NODE_FACT, NODE_EPISODE, NODE_TOPIC};
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
        struct str digits = after_prefix(text, prefixes[i]);
        size_t n = 0;
        while (n < digits.len && digits.at[n] >= '0' && digits.at[n] <= '9')
            n++;
        if (digits.len != 0 && n == digits.len)
            return true;
    }
    return false;
}
