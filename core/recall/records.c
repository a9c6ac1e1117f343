/* Reading what is shown: only nodes that were chosen. */
#include "core/graph/edge.h"
#include "core/recall/recall_int.h"
#include "core/text/sentence.h"

enum err_code recall__turn_id(struct recall *r, uint32_t n, struct str *id, struct err *err)
{
    struct turn turn;
    *id = STR_NONE;
    enum err_code rc = turn_get(r->txn, r->space, n, &turn, err);
    if (rc != ERR_OK || turn.n == 0)
        return rc;
    *id = turn_shown_id(r->arena, &turn);
    return id->at == NULL ? recall__memory(err) : ERR_OK;
}

static enum err_code load_long(struct recall *r, struct turn turn, struct long_turn **out,
                               struct err *err)
{
    enum err_code rc = turn_load_text(r->txn, r->space, r->arena, &turn, err);
    if (rc != ERR_OK)
        return rc;
    struct long_turn *found = ARENA_NEW(r->arena, struct long_turn);
    struct str *parts = ARENA_ARRAY(r->arena, struct str, turn.docs);
    if (found == NULL || parts == NULL)
        return recall__memory(err);
    *found = (struct long_turn){.n = turn.n, .text = turn.text, .parts = parts};
    struct str rest = turn.text;
    while (found->n_parts < turn.docs && part_next(&rest, LIMIT_DOC_BYTES, &parts[found->n_parts]))
        found->n_parts++;
    found->next = r->long_turns;
    r->long_turns = found;
    *out = found;
    return ERR_OK;
}

enum err_code recall__part(struct recall *r, struct turn *turn, uint32_t doc, struct str *part,
                           struct err *err)
{
    enum err_code rc = ERR_OK;
    if (turn->docs <= 1) {
        rc = turn_load_text(r->txn, r->space, r->arena, turn, err);
        *part = turn->text;
        return rc;
    }
    struct long_turn *at = r->long_turns;
    while (at != NULL && at->n != turn->n)
        at = at->next;
    *part = STR("");
    if (at == NULL)
        rc = load_long(r, *turn, &at, err);
    if (rc == ERR_OK && at != NULL && doc >= turn->doc && doc - turn->doc < at->n_parts)
        *part = at->parts[doc - turn->doc];
    return rc;
}

static bool is_hidden(const struct recall *r, int64_t end_ms)
{
    return r->query->has_as_of && end_ms > r->query->as_of_ms;
}

static enum err_code load_topic(struct recall *r, const struct candidate *c,
                                struct recall_topic *out, struct err *err)
{
    struct edge edge;
    out->score = c->score;
    enum err_code rc = topic_get(r->txn, r->space, c->id, r->arena, &out->topic, err);
    if (rc == ERR_OK)
        rc = edge_get(r->txn, r->space, KIND_TOPIC_EDGE, c->id, r->arena, &edge, err);
    if (rc != ERR_OK)
        return rc;
    out->episodes = ARENA_ARRAY(r->arena, uint32_t, edge.n);
    if (out->episodes == NULL)
        return recall__memory(err);
    for (uint32_t i = 0; i < edge.n; i++)
        out->episodes[i] = edge.at[i].id;
    out->n_episodes = edge.n;
    out->summary_hidden = is_hidden(r, out->topic.end_ms);
    return ERR_OK;
}

static enum err_code add_turn_id(struct recall *r, struct recall_episode *out,
                                 const struct turn *turn, struct err *err)
{
    struct str id = turn_shown_id(r->arena, turn);
    if (id.at == NULL)
        return recall__memory(err);
    out->turn_ids[out->n_turn_ids++] = id;
    return ERR_OK;
}

/* Turns of one session in a row, or nearly: one walk over the records. */
static enum err_code walk_turns(struct recall *r, struct recall_episode *out, struct err *err)
{
    const struct episode *e = &out->episode;
    struct store_cursor *cursor = NULL;
    struct store_item item;
    char key[4];
    be32_set(key, e->first_n);
    enum err_code rc = store_cursor_open(r->txn, r->space, KIND_TURN, &cursor, err);
    if (rc == ERR_OK)
        rc = store_cursor_seek(cursor, (struct str){key, sizeof key}, &item, err);
    while (rc == ERR_OK && item.key.at != NULL && item.key.len == 4 &&
           be32_get(item.key.at) <= e->last_n && out->n_turn_ids < e->turns) {
        struct turn turn;
        rc = turn_decode(item.value, be32_get(item.key.at), &turn, err);
        if (rc == ERR_OK && turn.session_no == e->session_no)
            rc = add_turn_id(r, out, &turn, err);
        if (rc == ERR_OK)
            rc = store_cursor_next(cursor, &item, err);
    }
    store_cursor_close(cursor);
    return rc;
}

/* Turns between many of other sessions: each is looked up. */
static enum err_code find_turns(struct recall *r, struct recall_episode *out, struct err *err)
{
    const struct episode *e = &out->episode;
    struct store_cursor *cursor = NULL;
    struct store_item item;
    char key[8];
    be32_set(key, e->session_no);
    be32_set(key + 4, e->first_n);
    enum err_code rc = store_cursor_open(r->txn, r->space, KIND_SESSION_TURN, &cursor, err);
    if (rc == ERR_OK)
        rc = store_cursor_seek(cursor, (struct str){key, sizeof key}, &item, err);
    while (rc == ERR_OK && item.key.at != NULL && item.key.len == 8 &&
           be32_get(item.key.at) == e->session_no && be32_get(item.key.at + 4) <= e->last_n &&
           out->n_turn_ids < e->turns) {
        struct turn turn;
        rc = turn_get(r->txn, r->space, be32_get(item.key.at + 4), &turn, err);
        if (rc == ERR_OK && turn.n != 0)
            rc = add_turn_id(r, out, &turn, err);
        if (rc == ERR_OK)
            rc = store_cursor_next(cursor, &item, err);
    }
    store_cursor_close(cursor);
    return rc;
}

/* The shown ids of the living turns of an episode, in order. */
static enum err_code load_turn_ids(struct recall *r, struct recall_episode *out, struct err *err)
{
    const struct episode *e = &out->episode;
    out->turn_ids = ARENA_ARRAY(r->arena, struct str, e->turns);
    if (out->turn_ids == NULL)
        return recall__memory(err);
    bool dense = e->last_n - e->first_n < 4 * e->turns;
    return dense ? walk_turns(r, out, err) : find_turns(r, out, err);
}

static enum err_code load_episode(struct recall *r, const struct candidate *c,
                                  struct recall_episode *out, struct err *err)
{
    out->score = c->score;
    enum err_code rc = episode_get(r->txn, r->space, c->id, &out->episode, err);
    if (rc == ERR_OK && out->episode.id != 0)
        rc = load_turn_ids(r, out, err);
    out->summary_hidden = is_hidden(r, out->episode.end_ms);
    return rc;
}

static enum err_code load_fact(struct recall *r, const struct candidate *c, struct recall_fact *out,
                               struct err *err)
{
    out->score = c->score;
    enum err_code rc = fact_get(r->txn, r->space, c->id, r->arena, &out->fact, err);
    if (rc != ERR_OK)
        return rc;
    out->turn_ids = ARENA_ARRAY(r->arena, struct str, out->fact.n_sources);
    if (out->turn_ids == NULL)
        return recall__memory(err);
    for (uint32_t i = 0; rc == ERR_OK && i < out->fact.n_sources; i++)
        rc = recall__turn_id(r, out->fact.sources[i], &out->turn_ids[i], err);
    return rc;
}

static enum err_code load_recent(struct recall *r, const struct candidate *c,
                                 struct recall_recent *out, struct err *err)
{
    struct turn_row row;
    columns_turn(r->columns, c->id, &row);
    out->score = c->score;
    enum err_code rc = turn_get(r->txn, r->space, row.n, &out->turn, err);
    if (rc != ERR_OK || out->turn.n == 0)
        return rc;
    out->id = turn_shown_id(r->arena, &out->turn);
    if (out->id.at == NULL)
        return recall__memory(err);
    return recall__part(r, &out->turn, c->id, &out->text, err);
}

static bool is_shown(const struct recall_reply *reply, uint32_t n)
{
    for (uint32_t i = 0; i < reply->n_recent; i++)
        if (reply->recent[i].turn.n == n)
            return true;
    return false;
}

/* A long turn has several documents: its best one stands for it. */
static enum err_code load_recents(struct recall *r, struct err *err)
{
    const struct candidates *list = &r->stage[STAGE_RECENT];
    enum err_code rc = ERR_OK;
    for (uint32_t i = 0; rc == ERR_OK && i < list->n; i++) {
        struct recall_recent one = {.score = 0};
        if (r->reply->n_recent == r->shown[STAGE_RECENT])
            break;
        rc = load_recent(r, &list->at[i], &one, err);
        if (rc == ERR_OK && one.turn.n != 0 && !is_shown(r->reply, one.turn.n))
            r->reply->recent[r->reply->n_recent++] = one;
    }
    return rc;
}

static enum err_code make_room(struct recall *r, struct err *err)
{
    struct recall_reply *reply = r->reply;
    reply->topics = ARENA_ARRAY(r->arena, struct recall_topic, r->shown[STAGE_TOPICS]);
    reply->episodes = ARENA_ARRAY(r->arena, struct recall_episode, r->shown[STAGE_EPISODES]);
    reply->facts = ARENA_ARRAY(r->arena, struct recall_fact, r->shown[STAGE_FACTS]);
    reply->recent = ARENA_ARRAY(r->arena, struct recall_recent, r->shown[STAGE_RECENT]);
    bool ok = reply->topics != NULL && reply->episodes != NULL && reply->facts != NULL &&
              reply->recent != NULL;
    return ok ? ERR_OK : recall__memory(err);
}

enum err_code recall__load(struct recall *r, struct err *err)
{
    struct recall_reply *reply = r->reply;
    enum err_code rc = make_room(r, err);
    for (uint32_t i = 0; rc == ERR_OK && i < r->shown[STAGE_TOPICS]; i++) {
        rc = load_topic(r, &r->stage[STAGE_TOPICS].at[i], &reply->topics[reply->n_topics], err);
        if (rc == ERR_OK && reply->topics[reply->n_topics].topic.id != 0)
            reply->n_topics++;
    }
    for (uint32_t i = 0; rc == ERR_OK && i < r->shown[STAGE_EPISODES]; i++) {
        rc = load_episode(r, &r->stage[STAGE_EPISODES].at[i], &reply->episodes[reply->n_episodes],
                          err);
        if (rc == ERR_OK && reply->episodes[reply->n_episodes].episode.id != 0)
            reply->n_episodes++;
    }
    for (uint32_t i = 0; rc == ERR_OK && i < r->shown[STAGE_FACTS]; i++) {
        rc = load_fact(r, &r->stage[STAGE_FACTS].at[i], &reply->facts[reply->n_facts], err);
        if (rc == ERR_OK && reply->facts[reply->n_facts].fact.id != 0)
            reply->n_facts++;
    }
    if (rc == ERR_OK)
        rc = load_recents(r, err);
    return rc;
}
