#include "api/handlers.h"

#include "api/handler.h"
#include "api/list.h"
#include "api/nodes.h"
#include "core/base/limits.h"
#include "core/graph/node_id.h"

const struct param_row episodes_list_params[EPISODES_LIST_PARAMS] = {
    LIST_ROWS,
    {.name = "session",
     .type = PARAM_TEXT,
     .max = LIMIT_SESSION_BYTES,
     .doc = "of this session; empty: of turns without one"},
    {.name = "speaker", .type = PARAM_TEXT, .max = LIMIT_SPEAKER_BYTES, .doc = "took part"},
    {.name = "since", .type = PARAM_TIME, .doc = "not over before, inclusive"},
    {.name = "until", .type = PARAM_TIME, .doc = "not begun after, inclusive"},
    {.name = "topic", .type = PARAM_TEXT, .max = NODE_ID_MAX, .doc = "members of this topic"},
};

static bool took_part(struct str participants, struct str name)
{
    while (participants.len != 0) {
        size_t end = str_index(participants, '\n');
        if (str_eq(str_part(participants, 0, end), name))
            return true;
        participants = str_part(participants, end + 1, participants.len);
    }
    return false;
}

static bool is_wanted(const struct api_call *call, const struct episode *episode)
{
    const struct param *session = param_at(call, EPISODES_SESSION);
    const struct param *speaker = param_at(call, EPISODES_SPEAKER);
    const struct param *since = param_at(call, EPISODES_SINCE);
    const struct param *until = param_at(call, EPISODES_UNTIL);
    return (!session->given || str_eq(episode->session, session->text)) &&
           (!speaker->given || took_part(episode->participants, speaker->text)) &&
           (!since->given || episode->end_ms >= since->time_ms) &&
           (!until->given || episode->start_ms <= until->time_ms);
}

static enum err_code open_source(struct api_call *call, struct list_ids *ids,
                                 const struct list_page *page, struct store_txn *txn,
                                 struct err *err)
{
    const struct param *topic = param_at(call, EPISODES_TOPIC);
    uint32_t id;
    if (!topic->given)
        return list_ids_all(ids, page, txn, KIND_EPISODE, err);
    if (!node_id_parse(topic->text, NODE_TOPIC, &id))
        return err_set_param(err, ERR_INVALID, "topic", "want an id such as topic_3");
    return list_ids_edge(ids, page, txn, KIND_TOPIC_EDGE, id, err);
}

enum err_code episodes_list(struct api_call *call, struct store_txn *txn, struct err *err)
{
    struct list_page page;
    struct list_ids ids = {.txn = txn};
    struct list_record record;
    enum err_code code = list_begin(&page, call, 'e', "episodes", err);
    if (code == ERR_OK)
        code = open_source(call, &ids, &page, txn, err);
    while (list_next(&page, &ids, &record, &code, err)) {
        struct episode episode;
        if (record.value.at == NULL)
            continue;
        code = episode_decode(record.value, record.id, &episode, err);
        if (code != ERR_OK || !is_wanted(call, &episode))
            continue;
        nodes_episode(&page.out, &episode, NULL, false);
        code =
            nodes_episode_turns(&page.out, txn, visit_of(call)->space, call->arena, &episode, err);
        out_end(&page.out);
        page.n++;
    }
    if (code == ERR_OK)
        code = list_finish(&page, &ids, err);
    list_ids_close(&ids);
    return code;
}

enum err_code episodes_get(struct api_call *call, struct store_txn *txn, struct err *err)
{
    const struct visit *visit = visit_of(call);
    struct episode episode;
    struct edge edge;
    uint32_t id = 0;
    enum err_code code = handler_node_id(visit->id, NODE_EPISODE, &id, err);
    if (code == ERR_OK)
        code = episode_get(txn, visit->space, id, &episode, err);
    if (code == ERR_OK && episode.id == 0)
        code = err_set_param(err, ERR_NOT_FOUND, "episode", "there is no such episode");
    if (code == ERR_OK)
        code = edge_get(txn, visit->space, KIND_EPISODE_EDGE, id, call->arena, &edge, err);
    if (code != ERR_OK)
        return code;
    struct json_out out = reply_json(call);
    nodes_episode(&out, &episode, NULL, false);
    code = nodes_episode_turns(&out, txn, visit->space, call->arena, &episode, err);
    nodes_edge_ids(&out, "fact_ids", NODE_FACT, &edge);
    nodes_members(&out, &edge, NODE_FACT);
    out_end(&out);
    return code;
}
