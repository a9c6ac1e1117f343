/* DELETE of a turn, fact, episode or topic: 200 {seq, deleted:{turns,facts,episodes,topics}}.
 *
 *   noun_delete -- LANE of the space --> remove_in_lane -- COMMIT --> removed
 *
 * In the lane no stage rewrites the space meanwhile, so the batch is built once; the lane is left
 * when the step is done. The id is looked up before, so that a wrong one waits for nothing. */
#include "api/handlers.h"

#include "api/handler.h"
#include "api/nodes.h"
#include "core/graph/node_id.h"
#include "core/ingest/remove.h"

const struct param_row topics_delete_params[TOPICS_DELETE_PARAMS] = {
    {.name = "confirm",
     .type = PARAM_TEXT,
     .flags = PARAM_REQUIRED,
     .max = 1024,
     .doc = "the topic's id again"},
};

struct removal {
    enum store_kind kind;
    const char *prefix;
    uint32_t id;
    struct batch *batch;
    struct remove_counts counts;
};

static step_fn remove_in_lane, removed;

static enum err_code find(struct api_call *call, struct removal *removal, struct err *err)
{
    struct visit *visit = visit_of(call);
    struct store_txn *txn = NULL;
    enum err_code code = handler_open(call, &txn, err);
    if (code != ERR_OK)
        return code;
    code = removal->kind == KIND_TURN
               ? nodes_find_turn(txn, visit->space, visit->id, &removal->id, err)
               : handler_node_id(visit->id, removal->prefix, &removal->id, err);
    store_end(txn);
    return code;
}

static enum step_verdict begin(struct step *step, enum store_kind kind, const char *prefix)
{
    struct api_call *call = call_of(step);
    struct removal *removal = handler_own(call, sizeof *removal);
    struct err err;
    if (removal == NULL)
        return STEP_DONE;
    *removal = (struct removal){.kind = kind, .prefix = prefix};
    if (find(call, removal, &err) != ERR_OK)
        return handler_fail(call, &err);
    step->lane_space = visit_of(call)->space;
    step->run = remove_in_lane;
    return STEP_LANE;
}

enum step_verdict turns_delete(struct step *step)
{
    return begin(step, KIND_TURN, NODE_TURN);
}

enum step_verdict facts_delete(struct step *step)
{
    return begin(step, KIND_FACT, NODE_FACT);
}

enum step_verdict episodes_delete(struct step *step)
{
    return begin(step, KIND_EPISODE, NODE_EPISODE);
}

enum step_verdict topics_delete(struct step *step)
{
    struct api_call *call = call_of(step);
    if (str_eq(param_at(call, TOPICS_CONFIRM)->text, visit_of(call)->id))
        return begin(step, KIND_TOPIC, NODE_TOPIC);
    api_refuse(call, ERR_PRECONDITION, "confirm", "confirm is not the topic's id");
    return STEP_DONE;
}

static enum step_verdict remove_in_lane(struct step *step)
{
    struct api_call *call = call_of(step);
    struct removal *removal = visit_of(call)->own;
    const struct services *services = handler_services(call);
    int64_t from = clock_mono_ns(services->clock);
    struct store_txn *txn = NULL;
    struct err err;
    enum err_code code = handler_open(call, &txn, &err);
    if (code == ERR_OK)
        code = remove_build(txn, visit_of(call)->space, removal->kind, removal->id, call->arena,
                            &removal->batch, &removal->counts, &err);
    store_end(txn);
    if (code != ERR_OK)
        return handler_fail(call, &err);
    metrics_observe(services->metrics, METRIC_H_STAGE_REMOVE,
                    clock_mono_ns(services->clock) - from);
    return handler_commit(call, removal->batch, removed);
}

static enum step_verdict removed(struct step *step)
{
    struct api_call *call = call_of(step);
    const struct removal *removal = visit_of(call)->own;
    if (handler_again(call))
        return remove_in_lane(step);
    if (step->outcome != ERR_OK)
        return handler_fail(call, &step->err);
    const struct remove_counts *counts = &removal->counts;
    metrics_add(handler_services(call)->metrics, METRIC_FACTS_DELETED, counts->facts);
    metrics_add(handler_services(call)->metrics, METRIC_EPISODES_DELETED, counts->episodes);
    struct json_out out = reply_json(call);
    out_object(&out, NULL);
    out_u64(&out, "seq", removal->batch->seq);
    out_object(&out, "deleted");
    out_u64(&out, "turns", counts->turns);
    out_u64(&out, "facts", counts->facts);
    out_u64(&out, "episodes", counts->episodes);
    out_u64(&out, "topics", counts->topics);
    out_end(&out);
    out_end(&out);
    return handler_finish(call, 200);
}
