#include "api/nodes.h"

#include "core/base/limits.h"
#include "core/graph/node_id.h"

enum { SCORE_DIGITS = 6, WEIGHT_DIGITS = 4 };

static void str_or_null(struct json_out *out, const char *name, struct str value)
{
    if (value.len != 0)
        out_str(out, name, value);
    else
        out_null(out, name);
}

static void id_or_null(struct json_out *out, const char *name, const char *prefix, uint32_t id)
{
    if (id != 0)
        out_id(out, name, prefix, id);
    else
        out_null(out, name);
}

static void put_score(struct json_out *out, const float *score)
{
    if (score != NULL)
        out_real(out, "score", (double)*score, SCORE_DIGITS);
}

void nodes_ids(struct json_out *out, const char *name, const char *prefix, const uint32_t *ids,
               uint32_t n)
{
    out_array(out, name);
    for (uint32_t i = 0; i < n; i++)
        out_id(out, NULL, prefix, ids[i]);
    out_end(out);
}

void nodes_strs(struct json_out *out, const char *name, const struct str *strs, uint32_t n)
{
    out_array(out, name);
    for (uint32_t i = 0; i < n; i++)
        out_str(out, NULL, strs[i]);
    out_end(out);
}

void nodes_edge_ids(struct json_out *out, const char *name, const char *prefix,
                    const struct edge *edge)
{
    out_array(out, name);
    for (uint32_t i = 0; i < edge->n; i++)
        out_id(out, NULL, prefix, edge->at[i].id);
    out_end(out);
}

void nodes_members(struct json_out *out, const struct edge *edge, const char *prefix)
{
    out_array(out, "members");
    for (uint32_t i = 0; i < edge->n; i++) {
        out_object(out, NULL);
        out_id(out, "id", prefix, edge->at[i].id);
        out_cstr(out, "role", edge_role_slug(edge->at[i].role));
        out_real(out, "weight", weight_unpack(edge->at[i].weight), WEIGHT_DIGITS);
        out_end(out);
    }
    out_end(out);
}

/* --- nodes --- */

void nodes_turn(struct json_out *out, struct arena *arena, const struct turn *turn)
{
    static const char *const sources[] = {
        [TIME_GIVEN] = "given", [TIME_RECEIVED] = "received", [TIME_FUTURE] = "future"};
    struct str id = turn_shown_id(arena, turn);
    out_object(out, NULL);
    out_str(out, "id", id.at != NULL ? id : STR(""));
    out_u64(out, "n", turn->n);
    str_or_null(out, "session", turn->session);
    str_or_null(out, "speaker", turn->speaker);
    str_or_null(out, "role", turn->role);
    out_str(out, "text", turn->text);
    out_time(out, "timestamp", turn->time_ms);
    out_i64(out, "offset_min", turn->offset_min);
    out_cstr(out, "time_source", sources[turn->time_source]);
    out_time(out, "received", turn->received_ms);
    if (turn->metadata.len != 0)
        out_raw(out, "metadata", turn->metadata);
    else
        out_null(out, "metadata");
    out_u64(out, "seq", turn->seq);
}

void nodes_topic(struct json_out *out, const struct topic *topic, const float *score, bool hide)
{
    out_object(out, NULL);
    out_id(out, "id", NODE_TOPIC, topic->id);
    out_str(out, "title", topic->title);
    if (hide)
        out_null(out, "summary");
    else
        out_str(out, "summary", topic->summary);
    put_score(out, score);
    if (score != NULL)
        return;
    out_array(out, "keywords");
    for (uint16_t i = 0; i < topic->n_keywords; i++)
        out_str(out, NULL, topic->keywords[i].text);
    out_end(out);
    out_time(out, "start", topic->start_ms);
    out_time(out, "end", topic->end_ms);
    id_or_null(out, "continues", NODE_TOPIC, topic->previous);
    id_or_null(out, "continued_by", NODE_TOPIC, topic->next);
    out_id(out, "chain", NODE_TOPIC, topic->chain);
    out_bool(out, "degraded", (topic->flags & TOPIC_DEGRADED) != 0);
    out_u64(out, "seq", topic->seq);
}

void nodes_episode(struct json_out *out, const struct episode *episode, const float *score,
                   bool hide)
{
    out_object(out, NULL);
    out_id(out, "id", NODE_EPISODE, episode->id);
    out_str(out, "title", episode->title);
    if (hide)
        out_null(out, "summary");
    else
        out_str(out, "summary", episode->summary);
    put_score(out, score);
    out_time(out, "start", episode->start_ms);
    out_time(out, "end", episode->end_ms);
    str_or_null(out, "session", episode->session);
    nodes_ids(out, "topic_ids", NODE_TOPIC, episode->topics, episode->n_topics);
    if (score != NULL)
        return;
    out_lines(out, "participants", episode->participants);
    out_bool(out, "degraded", (episode->flags & EPISODE_DEGRADED) != 0);
    out_u64(out, "seq", episode->seq);
}

/* What the fact is about. */
static void put_time(struct json_out *out, const struct fact *fact)
{
    char date[CIVIL_DATE_MAX];
    if (!fact->has_time) {
        out_null(out, "time");
        return;
    }
    out_object(out, "time");
    out_str(out, "from", (struct str){date, civil_format(fact->from, date)});
    out_str(out, "to", (struct str){date, civil_format(fact->to, date)});
    out_str(out, "text", fact->time_text);
    out_end(out);
}

void nodes_fact(struct json_out *out, const struct fact *fact, const float *score,
                const struct str *turn_ids)
{
    out_object(out, NULL);
    out_id(out, "id", NODE_FACT, fact->id);
    out_str(out, "content", fact->content);
    put_score(out, score);
    out_lines(out, "potential", fact->potential);
    out_lines(out, "keywords", fact->keywords);
    str_or_null(out, "speaker", fact->speaker);
    str_or_null(out, "role", fact->role);
    out_real(out, "weight", weight_unpack(fact->weight), WEIGHT_DIGITS);
    put_time(out, fact);
    out_time(out, "valid_from", fact->valid_from);
    out_time(out, "valid_to", fact->valid_to);
    id_or_null(out, "superseded_by", NODE_FACT, fact->superseded_by);
    nodes_ids(out, "episode_ids", NODE_EPISODE, fact->episodes, fact->n_episodes);
    nodes_strs(out, "turn_ids", turn_ids, fact->n_sources);
    if (score != NULL)
        return;
    out_bool(out, "degraded", (fact->flags & FACT_DEGRADED) != 0);
    out_u64(out, "seq", fact->seq);
}

/* --- what has to be looked up --- */

static enum err_code shown_id(struct store_txn *txn, uint64_t space, struct arena *arena,
                              uint32_t n, struct str *id, struct err *err)
{
    struct turn turn;
    enum err_code code = turn_get(txn, space, n, &turn, err);
    if (code != ERR_OK)
        return code;
    *id = turn.n != 0 ? turn_shown_id(arena, &turn) : node_id_str(arena, NODE_TURN, n);
    return id->at != NULL ? ERR_OK : err_set(err, ERR_EXHAUSTED, "no memory for the ids");
}

enum err_code nodes_source_ids(struct store_txn *txn, uint64_t space, struct arena *arena,
                               const struct fact *fact, struct str **ids, struct err *err)
{
    enum err_code code = ERR_OK;
    *ids = ARENA_ARRAY(arena, struct str, fact->n_sources);
    if (*ids == NULL)
        return err_set(err, ERR_EXHAUSTED, "no memory for the ids");
    for (uint32_t i = 0; code == ERR_OK && i < fact->n_sources; i++)
        code = shown_id(txn, space, arena, fact->sources[i], &(*ids)[i], err);
    return code;
}

enum err_code nodes_episode_turns(struct json_out *out, struct store_txn *txn, uint64_t space,
                                  struct arena *arena, const struct episode *episode,
                                  struct err *err)
{
    struct store_cursor *cursor = NULL;
    struct store_item item;
    char key[8];
    be32_set(key, episode->session_no);
    be32_set(key + 4, episode->first_n);
    out_array(out, "turn_ids");
    enum err_code code = store_cursor_open(txn, space, KIND_SESSION_TURN, &cursor, err);
    if (code == ERR_OK)
        code = store_cursor_seek(cursor, (struct str){key, sizeof key}, &item, err);
    while (code == ERR_OK && item.key.at != NULL && item.key.len == 8 &&
           be32_get(item.key.at) == episode->session_no) {
        uint32_t n = be32_get(item.key.at + 4);
        struct str id;
        if (n > episode->last_n)
            break;
        code = shown_id(txn, space, arena, n, &id, err);
        if (code != ERR_OK)
            break;
        out_str(out, NULL, id);
        code = store_cursor_next(cursor, &item, err);
    }
    store_cursor_close(cursor);
    out_end(out);
    return code;
}

enum err_code nodes_find_turn(struct store_txn *txn, uint64_t space, struct str shown, uint32_t *n,
                              struct err *err)
{
    struct str value = STR_NONE;
    struct turn turn = {.n = 0};
    enum err_code code = ERR_OK;
    if (node_id_parse(shown, NODE_TURN, n)) {
        code = turn_get(txn, space, *n, &turn, err);
    } else if (shown.len <= LIMIT_TURN_ID_BYTES) {
        code = store_get(txn, space, KIND_TURN_ID, shown, &value, err);
        turn.n = *n = value.len == 4 ? le32_get(value.at) : 0;
    }
    if (code == ERR_OK && turn.n == 0)
        code = err_set_param(err, ERR_NOT_FOUND, "turn", "there is no such turn");
    return code;
}
