/* A closed episode, from its turns to everything that remembers it: describe -> topic -> facts, all
 * built in and in one batch. */
#include "core/ingest/closed.h"

enum err_code stage__episode(struct stage_work *w, struct err *err)
{
    struct closed *c = ARENA_NEW(w->arena, struct closed);
    if (c == NULL)
        return stage__memory(err);
    enum err_code rc = closed_begin(c, w, err);
    if (rc == ERR_OK)
        rc = closed_choose_topics(c, err);
    if (rc == ERR_OK)
        rc = facts_build(w, &c->dialogue, c->episode.id, NULL, &c->facts, err);
    if (rc != ERR_OK)
        return rc;
    closed_put_edge(w, KIND_EPISODE_EDGE, c->episode.id, &c->facts.edge);
    return closed_write(c, err);
}
