#include "api/handlers.h"

#include "api/asking.h"
#include "api/handler.h"
#include "api/list.h"
#include "api/params_json.h"
#include "api/query_reply.h"
#include "core/base/limits.h"
#include "core/base/tz.h"
#include "core/graph/space.h"
#include "core/ingest/embed.h"
#include "core/model/models.h"
#include "core/text/token.h"

const struct param_row spaces_list_params[SPACES_LIST_PARAMS] = {
    LIST_ROWS,
    {.name = "prefix",
     .type = PARAM_TEXT,
     .max = LIMIT_SPACE_NAME_BYTES,
     .doc = "only names that begin so"},
};

const struct param_row spaces_delete_params[SPACES_DELETE_PARAMS] = {
    {.name = "confirm",
     .type = PARAM_TEXT,
     .flags = PARAM_REQUIRED,
     .max = 1024,
     .doc = "the space's name again"},
};

enum { SET_TIMEZONE, SET_LANGUAGE, SETTINGS };
static const struct param_row settings_rows[SETTINGS] = {
    {.name = "timezone",
     .type = PARAM_TEXT,
     .max = 64,
     .doc = "of turns without a timestamp: UTC, +02:00 or an IANA name"},
    {.name = "language",
     .type = PARAM_TEXT,
     .max = 16,
     .doc = "ISO 639-1, none or auto; fixed once turns exist"},
};

/* --- writing --- */

static void write_counts(struct json_out *out, const struct space_stat *stat)
{
    out_object(out, "counts");
    out_u64(out, "turns", stat->v[STAT_TURNS]);
    out_u64(out, "facts", stat->v[STAT_FACTS]);
    out_u64(out, "episodes", stat->v[STAT_EPISODES]);
    out_u64(out, "topics", stat->v[STAT_TOPICS]);
    out_end(out);
}

/* What every view of a space shows. */
static void write_stat(struct json_out *out, const struct space_stat *stat)
{
    out_time(out, "created", (int64_t)stat->v[STAT_CREATED]);
    out_u64(out, "seq", stat->v[STAT_SEQ]);
    out_u64(out, "processed_seq", stat->v[STAT_PROCESSED]);
    write_counts(out, stat);
    out_u64(out, "pending_turns", stat->v[STAT_PENDING] + stat->v[STAT_UNFINISHED]);
    out_u64(out, "open_turns", stat->v[STAT_OPEN]);
}

/* {provider, model} of a purpose, null where nothing answers. */
static void write_model(struct json_out *out, const char *name, const struct models *models,
                        enum model_purpose purpose)
{
    if (models == NULL || !models_has(models, purpose)) {
        out_null(out, name);
        return;
    }
    out_object(out, name);
    out_cstr(out, "provider", models_is_builtin(models, purpose) ? "builtin" : "remote");
    out_str(out, "model", models_address(models, purpose)->model);
    out_end(out);
}

/* Providers that answer model calls, and who does each stage. */
static void write_models(struct json_out *out, const struct models *models)
{
    static const enum model_purpose stages[] = {PURPOSE_BOUNDARY, PURPOSE_DESCRIBE, PURPOSE_TOPIC,
                                                PURPOSE_FACTS};
    bool told = models != NULL && models_has_stages(models);
    bool vectors = models != NULL && models_has(models, PURPOSE_EMBED);
    out_cstr(out, "search", vectors ? "words and vectors" : "words");
    out_object(out, "models");
    write_model(out, "chat", models, PURPOSE_ANSWER);
    write_model(out, "embed", models, PURPOSE_EMBED);
    write_model(out, "rerank", models, PURPOSE_RERANK);
    out_end(out);
    out_object(out, "stages");
    for (size_t i = 0; i < sizeof stages / sizeof stages[0]; i++)
        out_cstr(out, model_purpose_slug(stages[i]), told ? "remote" : "builtin");
    out_end(out);
}

static void write_embedded(struct json_out *out, const struct embed_counts *counts)
{
    static const char *const names[LAYERS] = {[LAYER_TURN] = "turns",
                                              [LAYER_FACT] = "facts",
                                              [LAYER_EPISODE] = "episodes",
                                              [LAYER_TOPIC] = "topics"};
    out_object(out, "embedded");
    for (unsigned layer = 0; layer < LAYERS; layer++)
        out_u64(out, names[layer], counts->embedded[layer]);
    out_end(out);
    out_u64(out, "behind", counts->behind);
}

static void write_generation(struct json_out *out, const struct vectors_generation *g,
                             const struct embed_counts *counts)
{
    out_u64(out, "dimension", g->dim);
    out_str(out, "identity", g->line);
    write_embedded(out, counts);
}

/* Vectors of another model are to be replaced also while nobody has begun to. */
static enum err_code is_replaced(const struct stage_base *base, const struct vectors_generation *g,
                                 bool *replaced, struct err *err)
{
    bool ours = true;
    enum err_code code = ERR_OK;
    if (embed_is_on(base->services))
        code = embed_is_ours(base->services->models, g, base->arena, &ours, err);
    *replaced = !ours;
    return code;
}

/* Those that queries use, and beside them those that are to replace them; documents, of which a
 * long turn has several. */
static enum err_code write_vectors(struct json_out *out, const struct stage_base *base,
                                   struct err *err)
{
    struct vectors_generations all;
    struct embed_counts counts, next;
    enum err_code code = vectors_generations_get(base->txn, base->space, base->arena, &all, err);
    const struct vectors_generation *active = vectors_generation_find(&all, VECTORS_ACTIVE);
    const struct vectors_generation *building = vectors_generation_find(&all, VECTORS_BUILDING);
    if (code == ERR_OK)
        code = embed_count(base, active, &counts, err);
    if (code == ERR_OK)
        code = embed_count(base, building, &next, err);
    bool replaced = false;
    if (code == ERR_OK && active != NULL && building == NULL)
        code = is_replaced(base, active, &replaced, err);
    if (code != ERR_OK)
        return code;
    out_object(out, "vectors");
    out_cstr(out, "state", active != NULL ? "active" : building != NULL ? "building" : "none");
    if (active != NULL)
        write_generation(out, active, &counts);
    else if (building != NULL)
        write_generation(out, building, &next);
    else
        write_embedded(out, &counts);
    if (active != NULL && (building != NULL || replaced)) {
        out_object(out, "next");
        if (building != NULL)
            write_generation(out, building, &next);
        else
            write_embedded(out, &next);
        out_end(out);
    }
    out_end(out);
    return ERR_OK;
}

enum err_code spaces_get(struct api_call *call, struct store_txn *txn, struct err *err)
{
    const struct visit *visit = visit_of(call);
    struct space space;
    struct space_stat stat;
    uint64_t bytes = 0;
    const struct vectors_generation *usable = NULL;
    unsigned degraded = 0;
    enum err_code code = space_get(txn, visit->space, &space, err);
    if (code == ERR_OK)
        code = store_stat(txn, visit->space, &stat, err);
    if (code == ERR_OK)
        code = store_space_bytes(txn, visit->space, &bytes, err);
    if (code == ERR_OK)
        code = asking_generation(call, txn, &usable, &degraded, err);
    if (code != ERR_OK)
        return code;
    struct json_out out = reply_json(call);
    out_object(&out, NULL);
    out_str(&out, "name", visit->space_name);
    out_object(&out, "settings");
    out_str(&out, "timezone", space.timezone);
    out_str(&out, "language", space.language);
    out_end(&out);
    write_stat(&out, &stat);
    out_u64(&out, "text_bytes", stat.v[STAT_TEXT_BYTES]);
    out_u64(&out, "bytes", bytes);
    query_write_degraded(&out, degraded);
    write_models(&out, handler_services(call)->models);
    const struct stage_base base = {txn, visit->space, handler_services(call), call->arena};
    code = write_vectors(&out, &base, err);
    if (code == ERR_OK)
        out_end(&out);
    return code;
}

/* --- list --- */

static enum err_code write_space(struct json_out *out, struct store_txn *txn,
                                 const struct store_space *space, struct err *err)
{
    struct space_stat stat;
    enum err_code code = store_stat(txn, space->id, &stat, err);
    if (code != ERR_OK)
        return code;
    out_object(out, NULL);
    out_str(out, "name", space->name);
    write_stat(out, &stat);
    out_end(out);
    return ERR_OK;
}

enum err_code spaces_list(struct api_call *call, struct store_txn *txn, struct err *err)
{
    size_t limit = (size_t)param_at(call, SPACES_LIMIT)->number, n = 0;
    const struct param *cursor = param_at(call, SPACES_CURSOR);
    struct str prefix = param_at(call, SPACES_PREFIX)->text, after = STR_NONE;
    enum err_code code = ERR_OK;
    if (cursor->given)
        code = list_cursor_read(call->arena, cursor->text, 's', &after, err);
    struct store_space *spaces = ARENA_ARRAY(call->arena, struct store_space, limit + 1);
    if (code == ERR_OK && spaces == NULL)
        code = err_set(err, ERR_EXHAUSTED, "no memory for the list");
    if (code == ERR_OK)
        code = store_spaces_list(txn, prefix.at != NULL ? prefix : STR(""), after, spaces,
                                 limit + 1, &n, err);
    struct json_out out = reply_json(call);
    out_object(&out, NULL);
    out_array(&out, "spaces");
    for (size_t i = 0; code == ERR_OK && i < n && i < limit; i++)
        code = write_space(&out, txn, &spaces[i], err);
    if (code != ERR_OK)
        return code;
    out_end(&out);
    if (n > limit) {
        struct str next = list_cursor_make(call->arena, 's', spaces[limit - 1].name);
        if (next.at == NULL)
            return err_set(err, ERR_EXHAUSTED, "no memory for the cursor");
        out_str(&out, "next_cursor", next);
    }
    out_end(&out);
    return ERR_OK;
}

/* --- PUT --- */

struct put {
    struct param_set body;
    bool created;
    struct batch *batch; /* NULL: nothing changes */
};

static step_fn put_build, put_committed;

static enum err_code check_settings(const struct param_set *body, struct err *err)
{
    const struct param *zone = &body->values[SET_TIMEZONE];
    const struct param *language = &body->values[SET_LANGUAGE];
    if (zone->given && tz_check(zone->text, err) != ERR_OK)
        return err_set_param(err, ERR_INVALID, "timezone",
                             "want UTC, an offset such as +02:00, or an IANA name that the system "
                             "knows");
    if (language->given && !tokenizer_knows(language->text)) {
        char known[160];
        tokenizer_languages(known, sizeof known);
        return err_set_param(err, ERR_INVALID, "language", "want one of: %s", known);
    }
    return ERR_OK;
}

enum step_verdict spaces_put(struct step *step)
{
    struct api_call *call = call_of(step);
    struct put *put = handler_own(call, sizeof *put);
    struct err err;
    if (put == NULL)
        return STEP_DONE;
    enum err_code code = params_init(call->arena, settings_rows, SETTINGS, &put->body, &err);
    if (code == ERR_OK && call->request.body.len != 0)
        code = params_json(call->arena, call->request.body, &put->body, &err);
    if (code == ERR_OK)
        code = check_settings(&put->body, &err);
    if (code != ERR_OK)
        return handler_fail(call, &err);
    return put_build(step);
}

static void merge(const struct param_set *body, struct space *space)
{
    if (body->values[SET_TIMEZONE].given)
        space->timezone = body->values[SET_TIMEZONE].text;
    if (body->values[SET_LANGUAGE].given)
        space->language = body->values[SET_LANGUAGE].text;
}

static enum err_code encode(struct arena *arena, const struct space *space, struct str *record,
                            struct err *err)
{
    struct buf buf;
    buf_init(&buf, arena, 4096);
    space_encode(space, &buf);
    *record = buf_str(&buf);
    return buf_ok(&buf) ? ERR_OK : err_set(err, ERR_EXHAUSTED, "no memory for the settings");
}

static enum err_code build_create(struct api_call *call, struct put *put, struct err *err)
{
    struct space space = space_default(handler_now_ms(call));
    struct str record;
    merge(&put->body, &space);
    enum err_code code = encode(call->arena, &space, &record, err);
    if (code != ERR_OK)
        return code;
    put->created = true;
    put->batch = batch_new_named(call->arena, visit_of(call)->space_name, CAUSE_CREATE);
    if (put->batch == NULL || !batch_ok(put->batch))
        return err_set(err, ERR_EXHAUSTED, "no memory for the space");
    put->batch->create = put->batch->create_only = true;
    put->batch->settings = record;
    return ERR_OK;
}

static enum err_code build_change(struct api_call *call, struct store_txn *txn, struct put *put,
                                  struct err *err)
{
    uint64_t id = visit_of(call)->space;
    struct space old, space;
    struct space_stat stat;
    struct str record;
    put->created = false;
    put->batch = NULL;
    enum err_code code = space_get(txn, id, &old, err);
    if (code == ERR_OK)
        code = store_stat(txn, id, &stat, err);
    if (code != ERR_OK)
        return code;
    space = old;
    merge(&put->body, &space);
    bool new_language = !str_eq(space.language, old.language);
    if (new_language && stat.v[STAT_TURNS] != 0)
        return err_set_param(err, ERR_CONFLICT, "language",
                             "the language is fixed once a space has turns");
    if (!new_language && str_eq(space.timezone, old.timezone))
        return ERR_OK;
    code = encode(call->arena, &space, &record, err);
    if (code != ERR_OK)
        return code;
    put->batch = batch_new(call->arena, id, CAUSE_SETTINGS);
    if (put->batch == NULL)
        return err_set(err, ERR_EXHAUSTED, "no memory for the settings");
    batch_need_version(put->batch, KIND_META, STR(""), old.seq);
    if (new_language) /* no turn may slip in under the old one */
        batch_need_stat(put->batch, STAT_NEXT_TURN, stat.v[STAT_NEXT_TURN]);
    (void)batch_put(put->batch, KIND_META, STR(""), record, PUT_STAMP);
    return batch_ok(put->batch) ? ERR_OK
                                : err_set(err, ERR_EXHAUSTED, "no memory for the settings");
}

static enum step_verdict put_build(struct step *step)
{
    struct api_call *call = call_of(step);
    struct put *put = visit_of(call)->own;
    struct store_txn *txn = NULL;
    struct err err;
    enum err_code code = handler_open_any(call, &txn, &err);
    if (code == ERR_OK)
        code = visit_of(call)->space == 0 ? build_create(call, put, &err)
                                          : build_change(call, txn, put, &err);
    store_end(txn);
    if (code != ERR_OK)
        return handler_fail(call, &err);
    step->outcome = ERR_OK;
    return put->batch != NULL ? handler_commit(call, put->batch, put_committed)
                              : put_committed(step);
}

static enum step_verdict put_committed(struct step *step)
{
    struct api_call *call = call_of(step);
    const struct put *put = visit_of(call)->own;
    struct store_txn *txn = NULL;
    struct err err;
    if (handler_again(call))
        return put_build(step);
    if (step->outcome != ERR_OK)
        return handler_fail(call, &step->err);
    enum err_code code = handler_open(call, &txn, &err);
    if (code == ERR_OK)
        code = spaces_get(call, txn, &err);
    store_end(txn);
    return code == ERR_OK ? handler_finish(call, put->created ? 201 : 200)
                          : handler_fail(call, &err);
}

/* --- DELETE --- */

static enum step_verdict delete_committed(struct step *step)
{
    struct api_call *call = call_of(step);
    if (step->outcome != ERR_OK)
        return handler_fail(call, &step->err);
    struct json_out out = reply_json(call);
    out_object(&out, NULL);
    out_u64(&out, "seq", step->batch->seq);
    out_object(&out, "deleted");
    const struct space_stat *stat = &step->batch->stat; /* as it was when it went */
    out_u64(&out, "turns", stat->v[STAT_TURNS]);
    out_u64(&out, "facts", stat->v[STAT_FACTS]);
    out_u64(&out, "episodes", stat->v[STAT_EPISODES]);
    out_u64(&out, "topics", stat->v[STAT_TOPICS]);
    out_end(&out);
    out_end(&out);
    return handler_finish(call, 200);
}

enum step_verdict spaces_delete(struct step *step)
{
    struct api_call *call = call_of(step);
    struct str name = visit_of(call)->space_name;
    struct err err;
    if (!str_eq(param_at(call, SPACES_CONFIRM)->text, name)) {
        api_refuse(call, ERR_PRECONDITION, "confirm", "confirm is not the space's name");
        return STEP_DONE;
    }
    struct batch *batch = batch_new_named(call->arena, name, CAUSE_DROP);
    if (batch == NULL || !batch_ok(batch)) {
        (void)err_set(&err, ERR_EXHAUSTED, "no memory for the request");
        return handler_fail(call, &err);
    }
    batch->drop = true;
    return handler_commit(call, batch, delete_committed);
}
