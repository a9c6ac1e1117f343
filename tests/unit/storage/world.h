/* A small, sound memory, written by hand: six turns in two sessions, two episodes, two topics of
 * one line, two facts of which one has a source in both episodes, an open buffer, an unlooked turn.
 *
 *   n        1     2     3     4     5     6
 *   session  A     A     A     B     A     A
 *            `-- episode 1 --´ `e 2´ open  not looked at
 *   fact 1   cites 1 and 4 (episodes 1, 2); fact 2 cites 3 */
#ifndef HM_TESTS_STORE_WORLD_H
#define HM_TESTS_STORE_WORLD_H

#include "core/graph/edge.h"
#include "core/graph/episode.h"
#include "core/graph/fact.h"
#include "core/graph/topic.h"
#include "core/index/column.h"
#include "core/index/segment.h"
#include "core/ingest/boundary.h"
#include "tests/unit/storage/fixture.h"

struct world {
    struct fixture *f;
    uint64_t space;
    uint32_t skip; /* added to every id but turns' and documents' that were given out */
    struct episode episodes[2];
    struct topic topics[2];
    struct fact facts[2];
};

/* `skip`: so many ids of each kind are left out first. */
void world_build(struct world *w, struct fixture *f, const char *name, uint32_t skip);

/* Puts the record as it is now, as a maintenance batch. */
void world_put_episode(struct world *w, uint32_t i);
void world_put_topic(struct world *w, uint32_t i);
void world_put_fact(struct world *w, uint32_t i);
struct str world_text(uint32_t turn); /* of turn 1..6 */

#endif
