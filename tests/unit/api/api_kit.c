#include "tests/unit/api/api_kit.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/ingest/lane.h"
#include "core/ingest/work.h"

static void drop_step(struct step *step, void *arg)
{
    (void)step;
    (void)arg;
}

void api_kit_again(struct api_kit *kit)
{
    struct err err;
    api_free(kit->api);
    ck_assert_int_eq(api_new(&kit->options, &kit->services, &kit->api, &err), ERR_OK);
}

void api_kit_init(struct api_kit *kit)
{
    *kit = (struct api_kit){.api = NULL};
    fixture_init(&kit->store);
    kit->metrics = calloc(1, sizeof *kit->metrics);
    kit->lanes = lanes_new(drop_step, NULL);
    kit->works = works_new(drop_step, NULL);
    kit->services = (struct services){.store = kit->store.store,
                                      .lanes = kit->lanes,
                                      .works = kit->works,
                                      .clock = &kit->store.clock,
                                      .log = &kit->store.log,
                                      .metrics = kit->metrics};
    kit->options =
        (struct api_options){.auto_create = true, .waiting_max = 2, .version = STR("test")};
    api_kit_again(kit);
}

void api_kit_fini(struct api_kit *kit)
{
    api_free(kit->api);
    fixture_fini(&kit->store);
    works_free(kit->works);
    lanes_free(kit->lanes);
    free(kit->metrics);
}

struct api_request api_kit_request(const char *method, const char *path, const char *query,
                                   const char *body)
{
    struct api_request request = {.method = str_of(method),
                                  .path = str_of(path),
                                  .query = query != NULL ? str_of(query) : STR(""),
                                  .host = STR("localhost:7070")};
    if (body != NULL) {
        request.body = str_of(body);
        request.has_body = true;
        request.content_type = STR("application/json");
    }
    return request;
}

static void wait_once(struct api_kit *kit, struct step *step)
{
    struct space_stat stat = stat_of(&kit->store, step->wait_space);
    step->timed_out = stat.v[STAT_PROCESSED] < step->wait_seq;
}

static void commit(struct api_kit *kit, struct step *step)
{
    struct ticket ticket;
    ticket_submit(&ticket, &kit->store, step->batch, step->queue);
    step->outcome = ticket_wait(&ticket);
    step->err = ticket.err;
}

static void run(struct api_kit *kit, struct step *step)
{
    for (;;) {
        switch (step->run(step)) {
        case STEP_DONE: return;
        case STEP_COMMIT: commit(kit, step); break;
        case STEP_WAIT: wait_once(kit, step); break;
        case STEP_LANE: break;
        case STEP_CALL: ck_abort_msg("no model is configured here");
        }
    }
}

struct api_call *api_kit_send(struct api_kit *kit, const struct api_request *request,
                              unsigned long fail_at)
{
    struct api_call *call = api_call_new(kit->api);
    ck_assert_ptr_nonnull(call);
    call->request = *request;
    arena_fail_after(call->arena, fail_at);
    api_admit(call);
    if (!call->replied) {
        ck_assert(request->body.len <= api_body_limit(call));
        api_start(call);
    }
    if (!call->replied)
        run(kit, &call->step);
    arena_fail_after(call->arena, 0);
    ck_assert(call->replied);
    api_done(call, true);
    return call;
}

json_t *api_kit_json(const struct api_call *call)
{
    json_error_t fault;
    json_t *root = json_loadb(call->reply.body.at, call->reply.body.len,
                              JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &fault);
    ck_assert_msg(root != NULL, "%s in %.*s", fault.text, (int)call->reply.body.len,
                  call->reply.body.at);
    return root;
}

json_t *api_kit_call(struct api_kit *kit, int status, const char *method, const char *path,
                     const char *query, const char *body)
{
    struct api_request request = api_kit_request(method, path, query, body);
    struct api_call *call = api_kit_send(kit, &request, 0);
    ck_assert_msg(call->reply.status == status, "%s %s?%s: %d %.*s", method, path,
                  query != NULL ? query : "", call->reply.status, (int)call->reply.body.len,
                  call->reply.body.at);
    json_t *reply = api_kit_json(call);
    api_call_free(call);
    return reply;
}

void api_kit_refused(struct api_kit *kit, int status, const char *param,
                     const struct api_request *request)
{
    struct api_call *call = api_kit_send(kit, request, 0);
    json_t *reply = api_kit_json(call);
    const json_t *error = json_object_get(reply, "error");
    const json_t *named = json_object_get(error, "param");
    ck_assert_msg(call->reply.status == status, "want %d, got %d %.*s", status, call->reply.status,
                  (int)call->reply.body.len, call->reply.body.at);
    if (param != NULL)
        ck_assert_str_eq(json_is_string(named) ? json_string_value(named) : "(none)", param);
    else
        ck_assert(json_is_null(named));
    ck_assert(json_is_string(json_object_get(error, "code")));
    ck_assert(json_string_length(json_object_get(error, "message")) > 0);
    ck_assert(json_is_boolean(json_object_get(error, "retryable")));
    ck_assert(json_is_string(json_object_get(reply, "detail")));
    ck_assert(json_string_length(json_object_get(reply, "request_id")) > 0);
    json_decref(reply);
    api_call_free(call);
}

const char *api_kit_header(const struct api_call *call, const char *name, char out[256])
{
    for (unsigned i = 0; i < call->reply.n_extra; i++) {
        if (strcmp(call->reply.extra[i].name, name) != 0)
            continue;
        (void)snprintf(out, 256, "%.*s", STR_FMT(call->reply.extra[i].value));
        return out;
    }
    return NULL;
}

json_int_t api_kit_int(const json_t *reply, const char *outer, const char *inner)
{
    const json_t *value = json_object_get(reply, outer);
    if (inner != NULL)
        value = json_object_get(value, inner);
    ck_assert_msg(json_is_integer(value), "no number %s.%s", outer, inner != NULL ? inner : "");
    return json_integer_value(value);
}
