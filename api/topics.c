#include "api/handlers.h"

#include "api/handler.h"
#include "api/list.h"
#include "api/nodes.h"
#include "core/base/limits.h"
#include "core/graph/node_id.h"

const struct param_row topics_list_params[TOPICS_LIST_PARAMS] = {LIST_ROWS};

/* The object is left open. */
static enum err_code write_topic(struct api_call *call, struct store_txn *txn, struct json_out *out,
                                 const struct topic *topic, struct edge *edge, struct err *err)
{
    enum err_code code =
        edge_get(txn, visit_of(call)->space, KIND_TOPIC_EDGE, topic->id, call->arena, edge, err);
    if (code != ERR_OK)
        return code;
    nodes_topic(out, topic, NULL, false);
    nodes_edge_ids(out, "episode_ids", NODE_EPISODE, edge);
    return ERR_OK;
}

enum err_code topics_list(struct api_call *call, struct store_txn *txn, struct err *err)
{
    struct list_page page;
    struct list_ids ids = {.txn = txn};
    struct list_record record;
    enum err_code code = list_begin(&page, call, 'c', "topics", err);
    if (code == ERR_OK)
        code = list_ids_all(&ids, &page, txn, KIND_TOPIC, err);
    while (list_next(&page, &ids, &record, &code, err)) {
        struct topic topic;
        struct edge edge;
        code = topic_decode(call->arena, record.value, record.id, &topic, err);
        if (code == ERR_OK)
            code = write_topic(call, txn, &page.out, &topic, &edge, err);
        if (code != ERR_OK)
            break;
        out_end(&page.out);
        page.n++;
    }
    if (code == ERR_OK)
        code = list_finish(&page, &ids, err);
    list_ids_close(&ids);
    return code;
}

enum err_code topics_get(struct api_call *call, struct store_txn *txn, struct err *err)
{
    const struct visit *visit = visit_of(call);
    struct topic topic;
    struct edge edge;
    uint32_t id = 0;
    enum err_code code = handler_node_id(visit->id, NODE_TOPIC, &id, err);
    if (code == ERR_OK)
        code = topic_get(txn, visit->space, id, call->arena, &topic, err);
    if (code == ERR_OK && topic.id == 0)
        code = err_set_param(err, ERR_NOT_FOUND, "topic", "there is no such topic");
    if (code != ERR_OK)
        return code;
    struct json_out out = reply_json(call);
    code = write_topic(call, txn, &out, &topic, &edge, err);
    if (code != ERR_OK)
        return code;
    nodes_members(&out, &edge, NODE_EPISODE);
    out_end(&out);
    return ERR_OK;
}
