#include "core/ingest/rebuild.h"

#include <stdlib.h>

#include "core/index/column.h"
#include "core/index/lengths.h"
#include "core/ingest/describe.h"
#include "core/ingest/index_text.h"
#include "core/ingest/topic.h"

static enum err_code memory(struct err *err)
{
    return err_set(err, ERR_EXHAUSTED, "out of memory while a text is made again");
}

/* What every reading here needs. */
struct again {
    const struct rebuild *r;
    struct space_stat stat;
    struct said_reader reader;
    struct topic_reader topics;
};

static enum err_code start(const struct rebuild *r, struct again *a, struct err *err)
{
    *a = (struct again){.r = r, .reader = {r->txn, r->space, r->arena, NULL}};
    enum err_code rc = store_stat(r->txn, r->space, &a->stat, err);
    if (rc == ERR_OK)
        rc = tokenizer_new(r->settings->language, &a->reader.tokenizer, err);
    if (rc != ERR_OK)
        return rc;
    a->topics = (struct topic_reader){.said = &a->reader,
                                      .columns = columns_new(r->txn, r->space, r->arena),
                                      .lengths = lengths_new(r->txn, r->space, r->arena),
                                      .stat = &a->stat};
    return a->topics.columns != NULL && a->topics.lengths != NULL ? ERR_OK : memory(err);
}

static void finish(struct again *a)
{
    tokenizer_free(a->reader.tokenizer);
}

/* A dialogue with what its terms weigh beside the other episodes. */
struct weighed {
    struct dialogue dialogue;
    struct term_bag bag;
    struct topic_terms terms;
};

static enum err_code weigh(struct again *a, uint32_t episode_id, struct said **turns, uint32_t n,
                           struct weighed *out, struct err *err)
{
    struct episode_row row;
    columns_episode(a->topics.columns, episode_id, &row);
    /* Its old document does not count beside the new one. */
    bool lives = row.turns != 0 && lengths_get(a->topics.lengths, LAYER_EPISODE, row.doc) != 0;
    a->topics.own_doc = lives ? row.doc : TOPIC_NO_DOC;
    enum err_code rc = columns_error(a->topics.columns, err);
    if (rc == ERR_OK)
        rc = lengths_error(a->topics.lengths, err);
    if (rc == ERR_OK)
        rc = dialogue_of(&a->reader, turns, n, &out->dialogue, err);
    if (rc == ERR_OK)
        rc = index_episode(&a->reader, &out->dialogue, &out->bag, err);
    if (rc == ERR_OK)
        rc = topic_weigh(&a->topics, &out->dialogue, &out->bag, &out->terms, err);
    return rc;
}

/* --- episodes --- */

static enum err_code make_episode(struct again *a, const struct turn *turns, uint32_t n,
                                  struct episode *episode, struct term_bag *bag, struct err *err)
{
    struct weighed weighed;
    struct description description;
    struct said **said = ARENA_ARRAY(a->r->arena, struct said *, n);
    enum err_code rc = said != NULL ? ERR_OK : memory(err);
    for (uint32_t i = 0; rc == ERR_OK && i < n; i++)
        rc = said_of(&a->reader, &turns[i], &said[i], err);
    if (rc == ERR_OK)
        rc = weigh(a, episode->id, said, n, &weighed, err);
    if (rc == ERR_OK)
        rc = describe_episode(a->r->arena, &weighed.dialogue, weighed.terms.weight, &description,
                              err);
    if (rc != ERR_OK)
        return rc;
    episode->title = description.title;
    episode->summary = description.summary;
    episode->participants = description.participants;
    *bag = weighed.bag;
    return ERR_OK;
}

enum err_code rebuild_episode(const struct rebuild *r, const struct turn *turns, uint32_t n,
                              struct episode *episode, struct term_bag *bag, struct err *err)
{
    struct again a;
    enum err_code rc = start(r, &a, err);
    if (rc == ERR_OK)
        rc = make_episode(&a, turns, n, episode, bag, err);
    finish(&a);
    return rc;
}

/* --- topics --- */

/* The member's turns that are left. */
static enum err_code read_member(struct again *a, const struct episode *episode, struct said ***out,
                                 uint32_t *n, struct err *err)
{
    const struct rebuild *r = a->r;
    struct said_numbers list;
    *n = 0;
    enum err_code rc = said_session(&a->reader, episode->session_no, episode->first_n,
                                    episode->last_n, &list, err);
    if (rc != ERR_OK)
        return rc;
    *out = ARENA_ARRAY(r->arena, struct said *, list.n);
    if (*out == NULL)
        return memory(err);
    for (uint32_t i = 0; rc == ERR_OK && i < list.n; i++) {
        if (rebuild_is_gone(r->gone_turns, r->n_gone_turns, list.at[i]))
            continue;
        rc = said_read(&a->reader, list.at[i], &(*out)[*n], err);
        *n += rc == ERR_OK && (*out)[*n] != NULL;
    }
    return rc;
}

static enum err_code add_member(struct again *a, const struct episode *episode, struct topic *topic,
                                struct err *err)
{
    struct said **turns = NULL;
    struct weighed weighed;
    uint32_t n;
    enum err_code rc = read_member(a, episode, &turns, &n, err);
    if (rc != ERR_OK || n == 0)
        return rc;
    rc = weigh(a, episode->id, turns, n, &weighed, err);
    if (rc != ERR_OK)
        return rc;
    return topic_add_keywords(&a->topics, &weighed.dialogue, &weighed.terms, topic, err);
}

static int by_start(const void *left, const void *right)
{
    const struct episode *a = *(const struct episode *const *)left;
    const struct episode *b = *(const struct episode *const *)right;
    if (a->start_ms != b->start_ms)
        return a->start_ms < b->start_ms ? -1 : 1;
    return (a->id > b->id) - (a->id < b->id);
}

static enum err_code make_topic(struct again *a, const struct episode *episodes, uint32_t n,
                                struct topic *topic, struct term_bag *bag, struct err *err)
{
    const struct episode **members = ARENA_ARRAY(a->r->arena, const struct episode *, n);
    enum err_code rc = members != NULL ? ERR_OK : memory(err);
    topic->n_keywords = 0;
    topic->keywords = NULL;
    for (uint32_t i = 0; rc == ERR_OK && i < n; i++) {
        members[i] = &episodes[i];
        rc = add_member(a, &episodes[i], topic, err);
    }
    if (rc != ERR_OK)
        return rc;
    qsort(members, n, sizeof(const struct episode *), by_start);
    rc = describe_topic(a->r->arena, topic, members, n, err);
    return rc == ERR_OK ? index_topic(&a->reader, topic, bag, err) : rc;
}

enum err_code rebuild_topic(const struct rebuild *r, const struct episode *episodes, uint32_t n,
                            struct topic *topic, struct term_bag *bag, struct err *err)
{
    struct again a;
    enum err_code rc = start(r, &a, err);
    if (rc == ERR_OK)
        rc = make_topic(&a, episodes, n, topic, bag, err);
    finish(&a);
    return rc;
}
