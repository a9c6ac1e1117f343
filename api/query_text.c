#include "api/query_text.h"

#include <inttypes.h>

#include "core/recall/fence.h"

/* What both of the fence's markers hold, and nothing else may. */
#define FENCE_WORD "hypermem:memory"

/* One character of it changes, so nothing can grow together behind the change. */
static void put_unfenced(struct buf *out, struct str text)
{
    while (text.len != 0) {
        const char *hit = memmem(text.at, text.len, FENCE_WORD, sizeof FENCE_WORD - 1);
        size_t end = hit == NULL ? text.len : (size_t)(hit - text.at);
        buf_put(out, text.at, end);
        if (hit != NULL)
            buf_str_put(out, STR("hypermem memory"));
        text = str_part(text, hit == NULL ? end : end + sizeof FENCE_WORD - 1, text.len);
    }
}

void query_text(struct buf *out, struct str context, uint64_t marker)
{
    _Static_assert(sizeof FENCE_OPEN > sizeof FENCE_WORD && sizeof FENCE_CLOSE > sizeof FENCE_WORD,
                   "both markers hold the word");
    buf_printf(out, "%s %016" PRIx64 "\n", FENCE_OPEN, marker);
    put_unfenced(out, context);
    if (context.len != 0 && context.at[context.len - 1] != '\n')
        buf_char(out, '\n');
    buf_printf(out, "%016" PRIx64 " %s\n", marker, FENCE_CLOSE);
}
