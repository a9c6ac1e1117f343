/* Every record decoder on arbitrary bytes: the first byte picks one. What decodes must encode to
 * bytes that decode to the same. */
#include <stdlib.h>

#include "core/graph/edge.h"
#include "core/graph/episode.h"
#include "core/graph/fact.h"
#include "core/graph/space.h"
#include "core/graph/topic.h"
#include "core/graph/turn.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ARENA_BYTES = 64 << 20, RECORD_BYTES = 16 << 20, CODECS = 6 };

/* Decodes with codec `which` and encodes what came out. */
static enum err_code recode(unsigned which, struct arena *arena, struct str value, struct buf *out)
{
    struct err err = {0};
    enum err_code rc;
    union {
        struct space space;
        struct turn turn;
        struct edge edge;
        struct episode episode;
        struct topic topic;
        struct fact fact;
    } record;
    switch (which) {
    case 0:
        if ((rc = space_decode(value, &record.space, &err)) == ERR_OK)
            space_encode(&record.space, out);
        break;
    case 1:
        if ((rc = turn_decode(value, 1, &record.turn, &err)) == ERR_OK)
            turn_encode(&record.turn, out);
        break;
    case 2:
        if ((rc = edge_decode(arena, value, &record.edge, &err)) == ERR_OK)
            edge_encode(&record.edge, out);
        break;
    case 3:
        if ((rc = episode_decode(value, 1, &record.episode, &err)) == ERR_OK)
            episode_encode(&record.episode, out);
        break;
    case 4:
        if ((rc = topic_decode(arena, value, 1, &record.topic, &err)) == ERR_OK)
            topic_encode(&record.topic, out);
        break;
    default:
        if ((rc = fact_decode(arena, value, 1, &record.fact, &err)) == ERR_OK)
            fact_encode(&record.fact, out);
        break;
    }
    ASSERT(rc == err.code && (rc == ERR_OK || rc == ERR_INTERNAL || rc == ERR_EXHAUSTED));
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    struct arena *arena = arena_new(ARENA_BYTES);
    if (arena == NULL)
        abort();
    struct buf first;
    struct buf second;
    buf_init(&first, arena, RECORD_BYTES);
    buf_init(&second, arena, RECORD_BYTES);
    unsigned which = data[0] % CODECS;
    struct str value = {(const char *)data + 1, size - 1};
    if (recode(which, arena, value, &first) == ERR_OK && buf_ok(&first)) {
        ASSERT(recode(which, arena, buf_str(&first), &second) == ERR_OK);
        ASSERT(!buf_ok(&second) || str_eq(buf_str(&first), buf_str(&second)));
    }
    arena_free(arena);
    return 0;
}
