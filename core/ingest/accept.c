#include "core/ingest/accept.h"

#include <stdio.h>

#include "core/base/limits.h"
#include "core/graph/node_id.h"
#include "core/ingest/accept_int.h"
#include "core/text/utf8.h"

enum { PARAM_MAX = 64 };

enum err_code accept__memory(struct err *err)
{
    return err_set(err, ERR_EXHAUSTED, "out of memory while taking turns");
}

static const char *noun_of(const struct accept_call *call)
{
    return call->messages ? "messages" : "turns";
}

/* --- one turn --- */

struct field {
    const char *turn_name;    /* as the member of a turn is called */
    const char *message_name; /* and of a message */
    size_t offset;            /* in struct turn_input */
    size_t max;
    bool is_line; /* shown as a name: no control characters */
};

static const struct field fields[] = {
    {"id", "id", offsetof(struct turn_input, id), LIMIT_TURN_ID_BYTES, true},
    {"session", "session", offsetof(struct turn_input, session), LIMIT_SESSION_BYTES, true},
    {"speaker", "name", offsetof(struct turn_input, speaker), LIMIT_SPEAKER_BYTES, true},
    {"role", "role", offsetof(struct turn_input, role), LIMIT_ROLE_BYTES, true},
    {"text", "content", offsetof(struct turn_input, text), LIMIT_TURN_TEXT_BYTES, false},
    {"metadata", "metadata", offsetof(struct turn_input, metadata), LIMIT_METADATA_BYTES, false},
};

/* Why the value is refused; NULL when it is fine. */
static const char *fault_of(struct str value, bool is_line)
{
    if (!utf8_is_valid(value))
        return "is not valid UTF-8";
    if (is_line && utf8_has_control(value))
        return "holds a control character";
    return NULL;
}

static const char *param_of(char param[PARAM_MAX], const char *noun, uint32_t index,
                            const char *name)
{
    (void)snprintf(param, PARAM_MAX, "%s[%u].%s", noun, index, name);
    return param;
}

enum err_code accept_check_turn(const struct turn_input *turn, const char *noun, uint32_t index,
                                struct err *err)
{
    bool message = strcmp(noun, "messages") == 0;
    char param[PARAM_MAX];
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        const struct field *field = &fields[i];
        struct str value;
        memcpy(&value, (const char *)turn + field->offset, sizeof value);
        const char *name = message ? field->message_name : field->turn_name;
        if (value.len > field->max)
            return err_set_param(err, ERR_INVALID, param_of(param, noun, index, name),
                                 "%s is over %zu bytes", name, field->max);
        const char *fault = fault_of(value, field->is_line);
        if (fault != NULL)
            return err_set_param(err, ERR_INVALID, param_of(param, noun, index, name), "%s %s",
                                 name, fault);
    }
    if (utf8_is_blank(turn->text))
        return err_set_param(err, ERR_INVALID,
                             param_of(param, noun, index, message ? "content" : "text"),
                             "a turn needs text that is not blank");
    if (node_id_is_reserved(turn->id))
        return err_set_param(err, ERR_INVALID, param_of(param, noun, index, "id"),
                             "ids of the form turn_1, fact_1, episode_1 and topic_1 are reserved");
    return ERR_OK;
}

/* --- a call --- */

static enum err_code check_call(const struct accept_call *call, struct err *err)
{
    const char *noun = noun_of(call);
    if (call->n == 0)
        return err_set_param(err, ERR_INVALID, noun, "there is no turn in the call");
    if (call->n > LIMIT_TURNS_PER_CALL)
        return err_set_param(err, ERR_INVALID, noun, "at most %u turns a call",
                             LIMIT_TURNS_PER_CALL);
    for (uint32_t i = 0; i < call->n; i++) {
        enum err_code rc = accept_check_turn(&call->turns[i], noun, i, err);
        if (rc != ERR_OK)
            return rc;
    }
    return ERR_OK;
}

/* Sorts the call into duplicates and new turns. */
static enum err_code sort_out(struct accept_work *work, struct err *err)
{
    uint32_t skipped = 0;
    enum err_code rc = accept__skip_history(work, &skipped, err);
    for (uint32_t i = skipped; rc == ERR_OK && i < work->call->n; i++) {
        bool found = false;
        rc = accept__find_duplicate(work, i, &found, err);
        if (rc != ERR_OK || found)
            continue;
        work->plan->turns[i] = (struct accepted_turn){.is_index = true, .n = work->n_fresh};
        work->fresh[work->n_fresh++] = i;
    }
    work->plan->accepted = work->n_fresh;
    work->plan->duplicates = work->call->n - work->n_fresh;
    return rc;
}

/* Ids of turns that had one are shown as they are. */
static bool copy_ids(const struct accept_work *work)
{
    for (uint32_t i = 0; i < work->call->n; i++) {
        struct str id = work->call->turns[i].id;
        struct accepted_turn *turn = &work->plan->turns[i];
        if (id.len != 0)
            turn->id = str_copy(work->arena, id);
        if (id.len != 0 && turn->id.at == NULL)
            return false;
    }
    return true;
}

/* NOLINTNEXTLINE(readability-function-size): what it reads, where it goes, what it makes */
enum err_code accept_build(struct store_txn *txn, uint64_t space, struct str name,
                           const struct space *settings, const struct accept_call *call,
                           struct arena *arena, struct accept_plan *plan, struct err *err)
{
    *plan = (struct accept_plan){0};
    enum err_code rc = check_call(call, err);
    if (rc != ERR_OK)
        return rc;
    struct space stored;
    if (settings == NULL) {
        ASSERT(space != 0);
        rc = space_get(txn, space, &stored, err);
        if (rc != ERR_OK)
            return rc;
        settings = &stored;
    }
    plan->turns = ARENA_ARRAY(arena, struct accepted_turn, call->n);
    struct accept_work work = {.txn = txn,
                               .space = space,
                               .settings = settings,
                               .call = call,
                               .arena = arena,
                               .fresh = ARENA_ARRAY(arena, uint32_t, call->n),
                               .plan = plan};
    if (plan->turns == NULL || work.fresh == NULL)
        return accept__memory(err);
    rc = sort_out(&work, err);
    if (rc == ERR_OK && !copy_ids(&work))
        rc = accept__memory(err);
    if (rc == ERR_OK && work.n_fresh != 0)
        rc = accept__make_batch(&work, name, err);
    return rc;
}

bool accept_receipt(struct arena *arena, struct accept_plan *plan)
{
    if (plan->batch == NULL)
        return true;
    uint32_t first = plan->batch->slots.at[plan->slot].value;
    for (uint32_t i = 0; i < plan->accepted + plan->duplicates; i++) {
        struct accepted_turn *turn = &plan->turns[i];
        if (turn->is_index) {
            turn->n += first;
            turn->is_index = false;
        }
        if (turn->id.len == 0)
            turn->id = node_id_str(arena, NODE_TURN, turn->n);
        if (turn->id.at == NULL)
            return false;
    }
    return true;
}
