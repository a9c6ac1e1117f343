/* Texts made again from what a deletion leaves (DESIGN 13, delete): remove.c decides what is left,
 * describe.c and topic.c know how a title, a summary and keywords are made. Built-in forms only, so
 * the result follows from the arguments: what an undisturbed run would have made of the same turns
 * in one go, as far as that is possible.
 *
 * Nothing of the old text may be used: the old title, summary, participants and keywords are not
 * even passed. The snapshot still holds what goes; who reads more than the arguments skips the
 * turns and facts listed as gone. */
#ifndef HM_CORE_INGEST_REBUILD_H
#define HM_CORE_INGEST_REBUILD_H

#include "core/graph/episode.h"
#include "core/graph/space.h"
#include "core/graph/topic.h"
#include "core/graph/turn.h"
#include "core/text/token.h"

struct rebuild {
    struct store_txn *txn;
    uint64_t space;
    const struct space *settings;
    struct arena *arena;
    const uint32_t *gone_turns; /* numbers, ascending */
    uint32_t n_gone_turns;
    const uint32_t *gone_facts; /* ids, ascending */
    uint32_t n_gone_facts;
};

/* `turns`: those that are left, in order, with their texts; at least one. In `episode` every field
 * but title, summary and participants is as it will be; these three are set, in the arena. `bag`:
 * the terms of its new document in the episode layer. */
enum err_code rebuild_episode(const struct rebuild *rebuild, const struct turn *turns, uint32_t n,
                              struct episode *episode, struct term_bag *bag,
                              struct err *err) MUST_USE;

/* `episodes`: the members that are left as they will be, by id; at least one. What a successor took
 * from its predecessor is not to be had again: the line's later topics are rebuilt too. In `topic`
 * every field but title, summary and keywords is as it will be; these are set. `bag`: its document
 * in the topic layer. */
enum err_code rebuild_topic(const struct rebuild *rebuild, const struct episode *episodes,
                            uint32_t n, struct topic *topic, struct term_bag *bag,
                            struct err *err) MUST_USE;

/* For readers of the snapshot. */
static inline bool rebuild_is_gone(const uint32_t *ids, uint32_t n, uint32_t id)
{
    uint32_t low = 0;
    while (low < n) {
        uint32_t middle = low + (n - low) / 2;
        if (ids[middle] == id)
            return true;
        if (ids[middle] < id)
            low = middle + 1;
        else
            n = middle;
    }
    return false;
}

#endif
