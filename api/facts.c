#include "api/handlers.h"

#include "api/handler.h"
#include "api/list.h"
#include "api/nodes.h"
#include "core/base/limits.h"
#include "core/graph/node_id.h"

const struct param_row facts_list_params[FACTS_LIST_PARAMS] = {
    LIST_ROWS,
    {.name = "session",
     .type = PARAM_TEXT,
     .max = LIMIT_SESSION_BYTES,
     .doc = "from this session; empty: from turns without one"},
    {.name = "speaker", .type = PARAM_TEXT, .max = LIMIT_SPEAKER_BYTES, .doc = "first said by"},
    {.name = "since", .type = PARAM_TIME, .doc = "valid_from, inclusive"},
    {.name = "until", .type = PARAM_TIME, .doc = "valid_from, inclusive"},
    {.name = "episode", .type = PARAM_TEXT, .max = NODE_ID_MAX, .doc = "members of this episode"},
};

/* Facts of one episode follow each other, so the last answer is mostly the next one too. */
struct session_filter {
    struct str session; /* .at NULL: none wanted */
    uint32_t episode;   /* of the last answer; 0 none */
    bool same;
};

static enum err_code is_of_session(struct session_filter *filter, struct store_txn *txn,
                                   uint64_t space, const struct fact *fact, bool *yes,
                                   struct err *err)
{
    enum err_code code = ERR_OK;
    *yes = filter->session.at == NULL;
    for (uint32_t i = 0; code == ERR_OK && !*yes && i < fact->n_episodes; i++) {
        struct episode episode;
        if (filter->episode != fact->episodes[i]) {
            code = episode_get(txn, space, fact->episodes[i], &episode, err);
            if (code != ERR_OK)
                return code;
            filter->same = episode.id != 0 && str_eq(episode.session, filter->session);
            filter->episode = fact->episodes[i];
        }
        *yes = filter->same;
    }
    return code;
}

static bool is_wanted(const struct api_call *call, const struct fact *fact)
{
    const struct param *speaker = param_at(call, FACTS_SPEAKER);
    const struct param *since = param_at(call, FACTS_SINCE), *until = param_at(call, FACTS_UNTIL);
    return (!speaker->given || str_eq(fact->speaker, speaker->text)) &&
           (!since->given || fact->valid_from >= since->time_ms) &&
           (!until->given || fact->valid_from <= until->time_ms);
}

static enum err_code open_source(struct api_call *call, struct list_ids *ids,
                                 const struct list_page *page, struct store_txn *txn,
                                 struct err *err)
{
    const struct param *episode = param_at(call, FACTS_EPISODE);
    uint32_t id;
    if (!episode->given)
        return list_ids_all(ids, page, txn, KIND_FACT, err);
    if (!node_id_parse(episode->text, NODE_EPISODE, &id))
        return err_set_param(err, ERR_INVALID, "episode", "want an id such as episode_5");
    return list_ids_edge(ids, page, txn, KIND_EPISODE_EDGE, id, err);
}

static enum err_code write_fact(struct api_call *call, struct store_txn *txn, struct json_out *out,
                                const struct fact *fact, struct err *err)
{
    struct str *turn_ids = NULL;
    enum err_code code =
        nodes_source_ids(txn, visit_of(call)->space, call->arena, fact, &turn_ids, err);
    if (code != ERR_OK)
        return code;
    nodes_fact(out, fact, NULL, turn_ids);
    out_end(out);
    return ERR_OK;
}

enum err_code facts_list(struct api_call *call, struct store_txn *txn, struct err *err)
{
    struct session_filter filter = {.session = param_at(call, FACTS_SESSION)->text};
    struct list_page page;
    struct list_ids ids = {.txn = txn};
    struct list_record record;
    enum err_code code = list_begin(&page, call, 'f', "facts", err);
    if (code == ERR_OK)
        code = open_source(call, &ids, &page, txn, err);
    while (list_next(&page, &ids, &record, &code, err)) {
        struct fact fact;
        bool wanted = false;
        if (record.value.at == NULL)
            continue;
        code = fact_decode(call->arena, record.value, record.id, &fact, err);
        if (code == ERR_OK && is_wanted(call, &fact))
            code = is_of_session(&filter, txn, visit_of(call)->space, &fact, &wanted, err);
        if (code != ERR_OK || !wanted)
            continue;
        code = write_fact(call, txn, &page.out, &fact, err);
        page.n++;
    }
    if (code == ERR_OK)
        code = list_finish(&page, &ids, err);
    list_ids_close(&ids);
    return code;
}

enum err_code facts_get(struct api_call *call, struct store_txn *txn, struct err *err)
{
    const struct visit *visit = visit_of(call);
    struct fact fact;
    uint32_t id = 0;
    enum err_code code = handler_node_id(visit->id, NODE_FACT, &id, err);
    if (code == ERR_OK)
        code = fact_get(txn, visit->space, id, call->arena, &fact, err);
    if (code == ERR_OK && fact.id == 0)
        code = err_set_param(err, ERR_NOT_FOUND, "fact", "there is no such fact");
    if (code != ERR_OK)
        return code;
    struct json_out out = reply_json(call);
    return write_fact(call, txn, &out, &fact, err);
}
