#include "core/recall/fence.h"

static const char *find(struct str text, size_t at, struct str marker)
{
    if (at >= text.len)
        return NULL;
    return memmem(text.at + at, text.len - at, marker.at, marker.len);
}

bool fence_find(struct str text, size_t at, struct fence *fence)
{
    const char *open = find(text, at, STR(FENCE_OPEN));
    if (open == NULL)
        return false;
    fence->from = (size_t)(open - text.at);
    const char *close = find(text, fence->from + STR(FENCE_OPEN).len, STR(FENCE_CLOSE));
    fence->to = close == NULL ? text.len : (size_t)(close - text.at) + STR(FENCE_CLOSE).len;
    return true;
}
