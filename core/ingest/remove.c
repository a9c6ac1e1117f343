#include "core/ingest/remove.h"

#include <stdlib.h>

#include "core/ingest/remove_int.h"

/* --- what the request names --- */

static enum err_code absent(const char *noun, uint32_t id, struct err *err)
{
    return err_set(err, ERR_NOT_FOUND, "there is no %s_%u", noun, id);
}

static enum err_code seed_turn(struct removal *r, uint32_t id, struct err *err)
{
    struct turn turn;
    enum err_code rc = turn_get(r->txn, r->space, id, &turn, err);
    if (rc != ERR_OK)
        return rc;
    return turn.n == 0 ? absent("turn", id, err) : remove__take_turn(r, &turn, err);
}

static enum err_code seed_fact(struct removal *r, uint32_t id, struct err *err)
{
    struct remove_fact *entry;
    enum err_code rc = remove__take_fact(r, id, true, &entry, err);
    if (rc == ERR_OK && entry == NULL)
        return absent("fact", id, err);
    return rc == ERR_OK ? remove__take_twins(r, entry, err) : rc;
}

static enum err_code take_turns_of(struct removal *r, const struct episode *episode,
                                   struct err *err)
{
    struct remove_range range = {.session_no = episode->session_no,
                                 .first_n = episode->first_n,
                                 .last_n = episode->last_n,
                                 .cap = episode->turns};
    struct turn *turns;
    uint32_t n;
    enum err_code rc = remove__remaining(r, &range, &turns, &n, err);
    for (uint32_t i = 0; rc == ERR_OK && i < n; i++)
        rc = remove__take_turn(r, &turns[i], err);
    return rc;
}

static enum err_code seed_episode(struct removal *r, uint32_t id, struct err *err)
{
    struct episode episode;
    enum err_code rc = episode_get(r->txn, r->space, id, &episode, err);
    if (rc != ERR_OK)
        return rc;
    return episode.id == 0 ? absent("episode", id, err) : take_turns_of(r, &episode, err);
}

/* An episode of another topic too stays, and forgets this one. */
static enum err_code leave_topic(struct removal *r, uint32_t episode_id, uint32_t topic_id,
                                 struct err *err)
{
    struct remove_episode *entry;
    enum err_code rc = remove__episode(r, episode_id, &entry, err);
    if (rc != ERR_OK)
        return rc;
    struct episode *episode = &entry->episode;
    if (episode->n_topics < 2)
        return take_turns_of(r, episode, err);
    if (episode->topics[0] == topic_id)
        episode->topics[0] = episode->topics[1];
    episode->topics[1] = 0;
    episode->n_topics = 1;
    entry->relinked = true;
    return ERR_OK;
}

static enum err_code seed_topic(struct removal *r, uint32_t id, struct err *err)
{
    struct topic record;
    enum err_code rc = topic_get(r->txn, r->space, id, r->arena, &record, err);
    if (rc != ERR_OK)
        return rc;
    if (record.id == 0)
        return absent("topic", id, err);
    struct remove_topic *topic;
    rc = remove__topic(r, id, &topic, err);
    if (rc == ERR_OK)
        rc = remove__topic_edge(r, topic, err);
    if (rc != ERR_OK)
        return rc;
    topic->gone = topic->touched = true;
    for (uint32_t i = 0; rc == ERR_OK && i < topic->edge.n; i++)
        rc = leave_topic(r, topic->edge.at[i].id, id, err);
    return rc;
}

static enum err_code seed(struct removal *r, enum store_kind kind, uint32_t id, struct err *err)
{
    switch (kind) {
    case KIND_TURN: return seed_turn(r, id, err);
    case KIND_FACT: return seed_fact(r, id, err);
    case KIND_EPISODE: return seed_episode(r, id, err);
    case KIND_TOPIC: return seed_topic(r, id, err);
    default: err_abort("a kind that can be deleted", __FILE__, __LINE__);
    }
}

/* --- what follows --- */

static int compare_ids(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static bool sort_gone(struct removal *r)
{
    r->gone_turns = ARENA_ARRAY(r->arena, uint32_t, r->turns.n);
    r->gone_facts = ARENA_ARRAY(r->arena, uint32_t, r->facts.n);
    if (r->gone_turns == NULL || r->gone_facts == NULL)
        return false;
    for (struct remove_node *node = r->turns.first; node != NULL; node = node->next)
        r->gone_turns[r->n_gone_turns++] = node->id;
    for (struct remove_node *node = r->facts.first; node != NULL; node = node->next) {
        if (((struct remove_fact *)(void *)node)->gone)
            r->gone_facts[r->n_gone_facts++] = node->id;
    }
    qsort(r->gone_turns, r->n_gone_turns, sizeof *r->gone_turns, compare_ids);
    qsort(r->gone_facts, r->n_gone_facts, sizeof *r->gone_facts, compare_ids);
    r->rebuild = (struct rebuild){.txn = r->txn,
                                  .space = r->space,
                                  .settings = &r->settings,
                                  .arena = r->arena,
                                  .gone_turns = r->gone_turns,
                                  .n_gone_turns = r->n_gone_turns,
                                  .gone_facts = r->gone_facts,
                                  .n_gone_facts = r->n_gone_facts};
    return true;
}

static enum err_code settle(struct removal *r, struct err *err)
{
    enum err_code rc = remove__take_facts_of_turns(r, err);
    if (rc == ERR_OK)
        rc = remove__settle_facts(r, err);
    if (rc == ERR_OK && !sort_gone(r))
        rc = remove__memory(err);
    if (rc == ERR_OK)
        rc = remove__settle_buffers(r, err);
    if (rc == ERR_OK)
        rc = remove__settle_episodes(r, err);
    if (rc == ERR_OK)
        rc = remove__settle_topics(r, err);
    if (rc == ERR_OK)
        rc = remove__rebuild_episodes(r, err);
    if (rc == ERR_OK)
        rc = remove__rebuild_topics(r, err);
    return rc;
}

/* --- the batch --- */

/* The new documents of rebuilt episodes and topics. */
static enum err_code write_segment(struct removal *r, struct err *err)
{
    size_t total = (size_t)r->new_episode_docs + r->new_topic_docs;
    struct segment_doc *docs = ARENA_ARRAY(r->arena, struct segment_doc, total);
    if (docs == NULL)
        return remove__memory(err);
    struct segment_bases bases = {{0}, {0}};
    for (int layer = 0; layer < LAYERS; layer++)
        bases.slot[layer] = SEGMENT_NO_SLOT;
    bases.base[LAYER_EPISODE] = (uint32_t)r->stat.v[STAT_NEXT_DOC_EPISODE];
    bases.base[LAYER_TOPIC] = (uint32_t)r->stat.v[STAT_NEXT_DOC_TOPIC];
    size_t n = 0;
    for (struct remove_node *node = r->episodes.first; node != NULL; node = node->next) {
        const struct remove_episode *entry = (const struct remove_episode *)(const void *)node;
        if (entry->rebuilt)
            docs[n++] = (struct segment_doc){
                LAYER_EPISODE, entry->new_doc - bases.base[LAYER_EPISODE], entry->bag};
    }
    for (struct remove_node *node = r->topics.first; node != NULL; node = node->next) {
        const struct remove_topic *entry = (const struct remove_topic *)(const void *)node;
        if (entry->rebuilt)
            docs[n++] = (struct segment_doc){LAYER_TOPIC, entry->new_doc - bases.base[LAYER_TOPIC],
                                             entry->bag};
    }
    ASSERT(n == total);
    return segment_add(r->batch, docs, n, &bases, err);
}

/* Rows of dead documents are folded away; those of new ones are asked for, or it is found that
 * there is nobody to ask. */
static void note_vectors(struct removal *r)
{
    if (r->generations.n == 0)
        return;
    batch_min(r->batch, STAT_VECTORS_DUE, EMBED_SETTLE_MS);
    if (r->new_episode_docs != 0 || r->new_topic_docs != 0)
        embed_note_docs(r->batch, &r->stat, 0);
}

static enum err_code write(struct removal *r, struct err *err)
{
    note_vectors(r);
    batch_need_stat(r->batch, STAT_CHANGES, r->stat.v[STAT_CHANGES]);
    batch_add(r->batch, STAT_CHANGES, 1);
    enum err_code rc = remove__write_turns(r, err);
    if (rc == ERR_OK)
        rc = remove__write_facts(r, err);
    if (rc == ERR_OK)
        rc = remove__write_episodes(r, err);
    if (rc == ERR_OK)
        rc = remove__write_topics(r, err);
    if (rc == ERR_OK)
        rc = remove__end_jobs(r, err);
    if (rc == ERR_OK)
        rc = write_segment(r, err);
    if (rc == ERR_OK && !batch_ok(r->batch))
        rc = remove__memory(err);
    return rc;
}

static void count(const struct removal *r, struct remove_counts *counts)
{
    *counts = (struct remove_counts){.turns = r->n_gone_turns, .facts = r->n_gone_facts};
    for (struct remove_node *node = r->episodes.first; node != NULL; node = node->next)
        counts->episodes += ((const struct remove_episode *)(const void *)node)->gone;
    for (struct remove_node *node = r->topics.first; node != NULL; node = node->next)
        counts->topics += ((const struct remove_topic *)(const void *)node)->gone;
}

static enum err_code begin(struct removal *r, enum batch_cause cause, struct err *err)
{
    enum err_code rc = store_stat(r->txn, r->space, &r->stat, err);
    if (rc == ERR_OK)
        rc = space_get(r->txn, r->space, &r->settings, err);
    if (rc != ERR_OK)
        return rc;
    r->batch = batch_new(r->arena, r->space, cause);
    r->lengths = lengths_new(r->txn, r->space, r->arena);
    r->columns = columns_new(r->txn, r->space, r->arena);
    bool ok = r->batch != NULL && r->lengths != NULL && r->columns != NULL;
    if (!ok)
        return remove__memory(err);
    return vectors_generations_get(r->txn, r->space, r->arena, &r->generations, err);
}

static enum err_code follow(struct removal *r, struct err *err)
{
    enum err_code rc = settle(r, err);
    if (rc == ERR_OK)
        rc = write(r, err);
    if (rc == ERR_OK)
        DASSERT((batch_check(r->batch), true));
    return rc;
}

enum err_code remove__build(struct removal *r, enum store_kind kind, uint32_t id,
                            struct remove_counts *counts, struct err *err)
{
    enum err_code rc = begin(r, CAUSE_DELETE, err);
    if (rc == ERR_OK)
        rc = seed(r, kind, id, err);
    if (rc == ERR_OK)
        rc = follow(r, err);
    if (rc == ERR_OK)
        count(r, counts);
    return rc;
}

static const struct remove_ops real_ops = {rebuild_episode, rebuild_topic};

/* NOLINTNEXTLINE(readability-function-size): what it reads, what goes, what it makes */
enum err_code remove_build(struct store_txn *txn, uint64_t space, enum store_kind kind, uint32_t id,
                           struct arena *arena, struct batch **batch, struct remove_counts *counts,
                           struct err *err)
{
    *batch = NULL;
    *counts = (struct remove_counts){0};
    struct removal *r = ARENA_NEW(arena, struct removal);
    if (r == NULL)
        return remove__memory(err);
    r->txn = txn;
    r->space = space;
    r->arena = arena;
    r->ops = &real_ops;
    enum err_code rc = remove__build(r, kind, id, counts, err);
    if (rc == ERR_OK)
        *batch = r->batch;
    return rc;
}

enum err_code remove_unlink(const struct remove_unlink *what, struct arena *arena,
                            struct batch **batch, struct err *err)
{
    *batch = NULL;
    struct removal *r = ARENA_NEW(arena, struct removal);
    if (r == NULL)
        return remove__memory(err);
    r->txn = what->txn;
    r->space = what->space;
    r->arena = arena;
    r->ops = &real_ops;
    enum err_code rc = begin(r, CAUSE_STAGE, err);
    if (rc == ERR_OK && what->topics)
        rc = remove__unlink_topics(r, what->episode, err);
    if (rc == ERR_OK && what->facts)
        rc = remove__unlink_facts(r, what->episode, err);
    if (rc == ERR_OK)
        rc = follow(r, err);
    if (rc == ERR_OK)
        *batch = r->batch;
    return rc;
}
