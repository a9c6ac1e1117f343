/* POST turns, step by step (DESIGN 6.1):
 *
 *   turns_post      decode the body                     -- refused: 400, 413 by the adapter
 *   post_build      snapshot: space, key seen before?, accept_build()
 *                     |-- key seen: the receipt from its row ---------------+
 *                     |-- nothing new: receipt with the current seq --------+
 *   post_committed  conflict: post_build again                             |
 *                   receipt: numbers and ids                               v
 *   post_settle     wait for processed_seq, if asked to -----------> post_reply
 *
 * The idempotency row's payload: LE32 number of the first new turn (fixed by the writer), varint
 * count, then a varint a turn: 4 * (its number, or its index among the new ones) + 2 if that is an
 * index + 1 if it is a duplicate. Ids are not in it: the same body brings them again. */
#include "api/handlers.h"

#include "api/access.h"
#include "api/handler.h"
#include "api/list.h"
#include "api/nodes.h"
#include "api/turns_json.h"
#include "core/base/limits.h"
#include "core/graph/node_id.h"
#include "core/ingest/accept.h"
#include "core/ingest/embed.h"

enum { DEFAULT_WAIT_MS = 30000 };

const struct param_row turns_post_params[TURNS_POST_PARAMS] = {
    {.name = "wait", .type = PARAM_FLAG, .doc = "reply when nothing of the call is pending"},
    {.name = "timeout_ms",
     .type = PARAM_UINT,
     .max = LIMIT_WAIT_MS,
     .fallback = DEFAULT_WAIT_MS,
     .doc = "of wait"},
};

const struct param_row turns_list_params[TURNS_LIST_PARAMS] = {
    LIST_ROWS,
    {.name = "session",
     .type = PARAM_TEXT,
     .max = LIMIT_SESSION_BYTES,
     .doc = "of this session; empty: of turns without one"},
    {.name = "speaker",
     .type = PARAM_TEXT,
     .max = LIMIT_SPEAKER_BYTES,
     .doc = "speaker, or role where no speaker was given"},
    {.name = "since", .type = PARAM_TIME, .doc = "event time, inclusive"},
    {.name = "until", .type = PARAM_TIME, .doc = "event time, inclusive"},
};

/* --- POST --- */

struct post {
    struct turns_body body;
    struct accept_plan plan;
    uint64_t seq;
    uint64_t pending;
    bool embeds;   /* vectors are still to come */
    bool has_job;  /* the call (or the one it repeats) stored something */
    bool replayed; /* the reply comes from an idempotency row */
};

static step_fn post_build, post_committed, post_settle, post_woken;

/* Where the space stands when the reply is written. */
static void note_state(struct post *post, const struct space_stat *stat)
{
    post->pending = stat->v[STAT_PENDING] + stat->v[STAT_UNFINISHED];
    post->embeds = stat->v[STAT_EMBED_DUE] != 0;
}

static enum err_code check_turns(const struct turns_body *body, struct err *err)
{
    enum err_code code = ERR_OK;
    for (uint32_t i = 0; body->places != NULL && code == ERR_OK && i < body->n; i++)
        code = accept_check_turn(&body->turns[i], "messages", body->places[i], err);
    return code;
}

enum step_verdict turns_post(struct step *step)
{
    struct api_call *call = call_of(step);
    struct post *post = handler_own(call, sizeof *post);
    struct err err;
    if (post == NULL)
        return STEP_DONE;
    enum err_code code = turns_json(call->arena, call->request.body,
                                    access_is_ndjson(&call->request), &post->body, &err);
    if (code == ERR_OK) /* only where turns were left out: accept_build() checks all, by position */
        code = check_turns(&post->body, &err);
    if (code == ERR_OK && param_at(call, TURNS_WAIT)->number != 0)
        code = handler_wait_begin(call, &err);
    if (code != ERR_OK) {
        metrics_add(handler_services(call)->metrics, METRIC_TURNS_REFUSED, post->body.n);
        return handler_fail(call, &err);
    }
    return post_build(step);
}

/* --- idempotency --- */

static struct str payload_of(const struct post *post, struct arena *arena)
{
    struct buf payload;
    uint32_t n = post->plan.accepted + post->plan.duplicates;
    buf_init(&payload, arena, 16 + n * 8);
    buf_u32(&payload, 0);
    buf_varint(&payload, n);
    for (uint32_t i = 0; i < n; i++) {
        const struct accepted_turn *turn = &post->plan.turns[i];
        buf_varint(&payload, (uint64_t)turn->n * 4 + (turn->is_index ? 2 : 0) + turn->duplicate);
    }
    return buf_ok(&payload) ? buf_str(&payload) : STR_NONE;
}

/* Puts the key's row into the batch; without a batch (all duplicates) into one of its own, which
 * changes no answer and so takes no seq. */
static enum err_code keep_key(struct api_call *call, struct post *post, struct err *err)
{
    struct visit *visit = visit_of(call);
    struct accept_plan *plan = &post->plan;
    if (!visit->once.wanted)
        return ERR_OK;
    struct str payload = payload_of(post, call->arena);
    bool fresh = plan->batch != NULL;
    if (!fresh)
        plan->batch = batch_new(call->arena, visit->space, CAUSE_KEEP);
    if (payload.at == NULL || plan->batch == NULL)
        return err_set(err, ERR_EXHAUSTED, "no memory for the idempotency key");
    uint32_t op = idempotency_put(call, plan->batch, post->seq, payload, handler_now_ms(call));
    if (fresh)
        batch_fix(plan->batch, op, FIX_VALUE, IDEMPOTENCY_PAYLOAD_AT, plan->slot, 0);
    return batch_ok(plan->batch) ? ERR_OK
                                 : err_set(err, ERR_EXHAUSTED, "no memory for the idempotency key");
}

/* The id that a repeated turn shows: the body's, else what is stored, else its number. */
static enum err_code replayed_id(struct api_call *call, struct store_txn *txn, struct str given,
                                 struct accepted_turn *turn, struct err *err)
{
    struct turn stored;
    turn->id = given;
    if (given.len != 0)
        return ERR_OK;
    enum err_code code = turn_get(txn, visit_of(call)->space, turn->n, &stored, err);
    if (code != ERR_OK)
        return code;
    turn->id = stored.n != 0 ? turn_shown_id(call->arena, &stored)
                             : node_id_str(call->arena, NODE_TURN, turn->n);
    return turn->id.at != NULL ? ERR_OK : err_set(err, ERR_EXHAUSTED, "no memory for the reply");
}

static enum err_code replay(struct api_call *call, struct store_txn *txn, struct post *post,
                            struct str payload, struct err *err)
{
    struct accept_plan *plan = &post->plan;
    struct unpack u = unpack_of(payload);
    uint32_t first = unpack_u32(&u);
    uint64_t n = unpack_varint(&u);
    *plan = (struct accept_plan){.turns = ARENA_ARRAY(call->arena, struct accepted_turn, n)};
    if (plan->turns == NULL)
        return err_set(err, ERR_EXHAUSTED, "no memory for the reply");
    enum err_code code = ERR_OK;
    for (uint32_t i = 0; code == ERR_OK && i < n; i++) {
        uint64_t row = unpack_varint(&u);
        struct accepted_turn *turn = &plan->turns[i];
        turn->duplicate = (row & 1) != 0;
        turn->n = (uint32_t)(row / 4) + ((row & 2) != 0 ? first : 0);
        plan->accepted += !turn->duplicate;
        plan->duplicates += turn->duplicate;
        code = replayed_id(call, txn, post->body.turns[i].id, turn, err);
    }
    if (code == ERR_OK && (!unpack_done(&u) || n != post->body.n))
        code = err_set(err, ERR_INTERNAL, "a damaged idempotency row");
    post->has_job = plan->accepted != 0;
    post->replayed = true;
    metrics_add(handler_services(call)->metrics, METRIC_IDEMPOTENT_REPLAYS, 1);
    reply_header(call, "Idempotent-Replayed", STR("true"));
    return code;
}

/* --- build, commit --- */

static enum err_code build_new(struct api_call *call, struct store_txn *txn, struct post *post,
                               struct err *err)
{
    struct visit *visit = visit_of(call);
    struct accept_call accept = {.turns = post->body.turns,
                                 .n = post->body.n,
                                 .messages = post->body.messages,
                                 .received_ms = handler_now_ms(call),
                                 .embeds = embed_is_on(handler_services(call)),
                                 .tokenizers = handler_services(call)->tokenizers};
    struct space settings = space_default(accept.received_ms);
    struct space_stat stat = {{0}};
    enum err_code code = ERR_OK;
    if (visit->space != 0)
        code = store_stat(txn, visit->space, &stat, err);
    if (code == ERR_OK)
        code =
            accept_build(txn, visit->space, visit->space_name, visit->space != 0 ? NULL : &settings,
                         &accept, call->arena, &post->plan, err);
    if (code != ERR_OK)
        return code;
    post->seq = stat.v[STAT_SEQ];
    note_state(post, &stat);
    post->has_job = post->plan.batch != NULL;
    return keep_key(call, post, err);
}

static enum err_code build(struct api_call *call, struct store_txn *txn, struct post *post,
                           struct err *err)
{
    struct visit *visit = visit_of(call);
    struct str payload;
    struct space_stat stat;
    if (visit->space == 0 && !handler_may_create(call))
        return err_set_param(err, ERR_NOT_FOUND, "space", "there is no space \"%.*s\"",
                             STR_FMT(visit->space_name));
    enum err_code code = idempotency_find(call, txn, visit->space, &post->seq, &payload, err);
    if (code != ERR_OK)
        return code;
    if (payload.at == NULL)
        return build_new(call, txn, post, err);
    code = store_stat(txn, visit->space, &stat, err);
    if (code != ERR_OK)
        return code;
    note_state(post, &stat);
    return replay(call, txn, post, payload, err);
}

static enum step_verdict post_build(struct step *step)
{
    struct api_call *call = call_of(step);
    struct post *post = visit_of(call)->own;
    struct store_txn *txn = NULL;
    struct err err;
    enum err_code code = handler_open_any(call, &txn, &err);
    if (code == ERR_OK)
        code = build(call, txn, post, &err);
    store_end(txn);
    if (code != ERR_OK) {
        metrics_add(handler_services(call)->metrics, METRIC_TURNS_REFUSED, post->body.n);
        return handler_fail(call, &err);
    }
    if (post->plan.batch != NULL)
        return handler_commit(call, post->plan.batch, post_committed);
    return post_settle(step);
}

static void count_stored(struct api_call *call, const struct post *post)
{
    struct metrics *metrics = handler_services(call)->metrics;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < post->body.n; i++)
        bytes += post->plan.turns[i].duplicate ? 0 : post->body.turns[i].text.len;
    metrics_add(metrics, METRIC_TURNS_STORED, post->plan.accepted);
    metrics_add(metrics, METRIC_TURNS_DUPLICATE, post->plan.duplicates);
    metrics_add(metrics, METRIC_TEXT_BYTES, bytes);
}

static enum step_verdict post_committed(struct step *step)
{
    struct api_call *call = call_of(step);
    struct post *post = visit_of(call)->own;
    struct batch *batch = post->plan.batch;
    if (handler_again(call))
        return post_build(step);
    if (step->outcome != ERR_OK)
        return handler_fail(call, &step->err);
    visit_of(call)->space = batch->applied_to;
    if (batch->has_seq) {
        post->seq = batch->seq;
        if (!accept_receipt(call->arena, &post->plan)) {
            /* The turns are stored; a client that asks again is told so. */
            (void)err_set(&step->err, ERR_UNAVAILABLE, "stored, but no memory for the reply");
            return handler_fail(call, &step->err);
        }
    }
    note_state(post, &batch->stat);
    return post_settle(step);
}

/* --- wait, reply --- */

/* Words find a turn from its commit on; this says whether its meaning does. */
static const char *vectors_word(const struct api_call *call, const struct post *post)
{
    if (!embed_is_on(handler_services(call)))
        return "off";
    return post->embeds ? "pending" : "ready";
}

static enum step_verdict post_reply(struct api_call *call, const struct post *post)
{
    struct json_out out = reply_json(call);
    out_object(&out, NULL);
    out_u64(&out, "accepted", post->plan.accepted);
    out_u64(&out, "duplicates", post->plan.duplicates);
    out_u64(&out, "seq", post->seq);
    out_u64(&out, "pending_turns", post->pending);
    out_cstr(&out, "vectors", vectors_word(call, post));
    out_array(&out, "turns");
    for (uint32_t i = 0; i < post->plan.accepted + post->plan.duplicates; i++) {
        const struct accepted_turn *turn = &post->plan.turns[i];
        out_object(&out, NULL);
        out_str(&out, "id", turn->id);
        out_u64(&out, "n", turn->n);
        if (turn->duplicate)
            out_bool(&out, "duplicate", true);
        out_end(&out);
    }
    out_end(&out);
    if (post->has_job) {
        out_id(&out, "job", "job", post->seq);
        handler_job_location(call, post->seq);
    } else {
        out_null(&out, "job");
    }
    out_end(&out);
    return handler_finish(call, 202);
}

static enum step_verdict post_settle(struct step *step)
{
    struct api_call *call = call_of(step);
    const struct post *post = visit_of(call)->own;
    if (!post->replayed)
        count_stored(call, post);
    if (param_at(call, TURNS_WAIT)->number == 0)
        return post_reply(call, post);
    return handler_wait(call, post->seq,
                        handler_deadline_ms(call, param_at(call, TURNS_TIMEOUT_MS)->number),
                        post_woken);
}

static enum step_verdict post_woken(struct step *step)
{
    struct api_call *call = call_of(step);
    struct post *post = visit_of(call)->own;
    struct store_txn *txn = NULL;
    struct space_stat stat = {{0}};
    struct err err;
    enum err_code code = store_begin(handler_services(call)->store, &txn, &err);
    if (code == ERR_OK)
        code = store_stat(txn, visit_of(call)->space, &stat, &err);
    store_end(txn);
    if (code == ERR_NOT_FOUND) /* deleted while we waited: nothing of it is pending */
        stat = (struct space_stat){{0}};
    else if (code != ERR_OK)
        return handler_fail(call, &err);
    note_state(post, &stat);
    return post_reply(call, post);
}

/* --- list, one --- */

static enum err_code write_turn(struct api_call *call, struct store_txn *txn, struct json_out *out,
                                struct turn *turn, struct err *err)
{
    enum err_code code = turn_load_text(txn, visit_of(call)->space, call->arena, turn, err);
    if (code != ERR_OK)
        return code;
    nodes_turn(out, call->arena, turn);
    out_end(out);
    return ERR_OK;
}

static bool is_wanted(const struct api_call *call, const struct turn *turn)
{
    const struct param *speaker = param_at(call, TURNS_SPEAKER);
    const struct param *since = param_at(call, TURNS_SINCE), *until = param_at(call, TURNS_UNTIL);
    return (!speaker->given || str_eq(turn_speaker(turn), speaker->text)) &&
           (!since->given || turn->time_ms >= since->time_ms) &&
           (!until->given || turn->time_ms <= until->time_ms);
}

enum err_code turns_list(struct api_call *call, struct store_txn *txn, struct err *err)
{
    const struct param *session = param_at(call, TURNS_SESSION);
    struct list_page page;
    struct list_ids ids = {.txn = txn};
    struct list_record record;
    enum err_code code = list_begin(&page, call, 't', "turns", err);
    if (code == ERR_OK)
        code = session->given ? list_ids_session(&ids, &page, txn, session->text, err)
                              : list_ids_all(&ids, &page, txn, KIND_TURN, err);
    while (list_next(&page, &ids, &record, &code, err)) {
        struct turn turn;
        if (record.value.at == NULL)
            continue;
        code = turn_decode(record.value, record.id, &turn, err);
        if (code != ERR_OK || !is_wanted(call, &turn))
            continue;
        code = write_turn(call, txn, &page.out, &turn, err);
        page.n++;
    }
    if (code == ERR_OK)
        code = list_finish(&page, &ids, err);
    list_ids_close(&ids);
    return code;
}

enum err_code turns_get(struct api_call *call, struct store_txn *txn, struct err *err)
{
    const struct visit *visit = visit_of(call);
    struct turn turn;
    uint32_t n;
    enum err_code code = nodes_find_turn(txn, visit->space, visit->id, &n, err);
    if (code == ERR_OK)
        code = turn_get(txn, visit->space, n, &turn, err);
    if (code == ERR_OK && turn.n == 0)
        code = err_set(err, ERR_INTERNAL, "the id row of turn %u names no turn", n);
    if (code != ERR_OK)
        return code;
    struct json_out out = reply_json(call);
    return write_turn(call, txn, &out, &turn, err);
}
