#include "tests/bench/plan.h"

#include <inttypes.h>
#include <stdlib.h>

#include "api/json_out.h"
#include "core/base/civil.h"

enum { BODY_MAX = 8 << 20, HEAD_MAX = 4096 };

static const char *const modes[] = {[PLAN_POST] = "post",
                                    [PLAN_FILL] = "fill",
                                    [PLAN_QUERY] = "query",
                                    [PLAN_MIXED] = "mixed",
                                    [PLAN_FILE] = "file"};

bool plan_mode_parse(const char *name, enum plan_mode *mode)
{
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        if (strcmp(modes[i], name) == 0) {
            *mode = (enum plan_mode)i;
            return true;
        }
    }
    return false;
}

/* --- which call --- */

static struct plan_call post_call(const struct plan *plan, uint32_t connection, uint64_t number)
{
    uint32_t calls = (plan->turns_per_space + plan->turns_per_call - 1) / plan->turns_per_call;
    uint64_t space = plan->cycle != 0 ? number % plan->cycle : number / calls;
    uint64_t round = plan->cycle != 0 ? number / plan->cycle : number % calls;
    uint64_t index = connection + plan->connections * space;
    if (plan->spaces != 0 && index >= plan->spaces)
        return (struct plan_call){.kind = CALL_NONE};
    uint32_t done = (uint32_t)round * plan->turns_per_call;
    uint32_t turns = plan->turns_per_call;
    if (plan->cycle == 0 && turns > plan->turns_per_space - done)
        turns = plan->turns_per_space - done;
    return (struct plan_call){.kind = CALL_POST,
                              .space = plan->first_space + plan->stride * (uint32_t)index,
                              .turn = plan->first_turn + done,
                              .turns = turns,
                              .wait = plan->mode == PLAN_FILL && round + 1 == calls};
}

static struct plan_call query_call(const struct plan *plan, uint32_t connection, uint64_t number)
{
    uint64_t index = connection + plan->connections * number;
    if (plan->spaces != 0)
        index %= plan->spaces;
    return (struct plan_call){.kind = CALL_QUERY,
                              .space = plan->first_space + plan->stride * (uint32_t)index,
                              .turns = plan->turns_per_space};
}

struct plan_call plan_call(const struct plan *plan, uint32_t connection, uint64_t number)
{
    switch (plan->mode) {
    case PLAN_POST:
    case PLAN_FILL: return post_call(plan, connection, number);
    case PLAN_MIXED: break;
    default: return query_call(plan, connection, number);
    }
    struct plan_call call = post_call(plan, connection, number / 2);
    if (number % 2 == 0 || call.kind != CALL_POST)
        return call;
    call.kind = CALL_QUERY;
    call.turns += call.turn;
    return call;
}

/* --- as bytes --- */

static void put_turn(struct json_out *out, const struct gen_turn *turn)
{
    out_object(out, NULL);
    out_cstr(out, "id", turn->id);
    out_cstr(out, "session", turn->session);
    out_cstr(out, "speaker", turn->speaker);
    out_str(out, "text", (struct str){turn->text, turn->text_len});
    out_time(out, "timestamp", turn->time_ms);
    out_end(out);
}

static void put_turns(const struct plan *plan, const struct plan_call *call, struct buf *body,
                      uint64_t *text_bytes)
{
    struct gen_turn turn;
    struct json_out out = json_out_of(body);
    out_object(&out, NULL);
    out_array(&out, "turns");
    for (uint32_t i = 0; i < call->turns; i++) {
        gen_turn(&plan->gen, call->space, call->turn + i, &turn);
        *text_bytes += turn.text_len;
        put_turn(&out, &turn);
    }
    out_end(&out);
    out_end(&out);
}

static void put_escaped(struct buf *out, struct str text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.at[i];
        if (c != 0 && strchr(plain, c) != NULL)
            buf_char(out, (char)c);
        else
            buf_printf(out, "%%%02X", c);
    }
}

static void put_query(const struct plan *plan, struct str space, struct str question,
                      struct buf *out)
{
    buf_printf(out, "GET /v1/spaces/%.*s/query?q=", STR_FMT(space));
    put_escaped(out, question);
    if (plan->params[0] != '\0')
        buf_printf(out, "&%s", plan->params);
    buf_str_put(out, STR(" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"));
}

static void put_file_query(const struct plan *plan, uint64_t number, struct buf *out)
{
    struct str line = plan->lines[number % plan->n_lines];
    size_t tab = str_index(line, '\t');
    put_query(plan, str_part(line, 0, tab), str_part(line, tab + 1, line.len), out);
}

static void put_post(const struct plan *plan, const struct plan_call *call, struct buf *out,
                     uint64_t *text_bytes)
{
    char name[GEN_NAME_MAX];
    struct buf body;
    gen_space_name(plan->prefix, call->space, name);
    buf_init(&body, NULL, BODY_MAX);
    put_turns(plan, call, &body, text_bytes);
    buf_printf(out, "POST /v1/spaces/%s/turns%s%s HTTP/1.1\r\n", name,
               call->wait                ? "?wait=true&timeout_ms=300000"
               : plan->params[0] != '\0' ? "?"
                                         : "",
               call->wait ? "" : plan->params);
    buf_printf(out,
               "Host: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
               body.len);
    buf_str_put(out, buf_str(&body));
    out->failed |= body.failed;
    buf_fini(&body);
}

void plan_request(const struct plan *plan, uint32_t connection, uint64_t number, struct buf *out,
                  struct plan_call *call, uint64_t *text_bytes)
{
    *call = plan_call(plan, connection, number);
    if (call->kind == CALL_NONE)
        return;
    if (plan->mode == PLAN_FILE) {
        put_file_query(plan, connection + plan->connections * number, out);
        return;
    }
    if (call->kind == CALL_POST) {
        put_post(plan, call, out, text_bytes);
        return;
    }
    char name[GEN_NAME_MAX], question[GEN_QUESTION_MAX];
    size_t len = gen_space_name(plan->prefix, call->space, name);
    uint64_t draw = gen_hash(connection, number, 11);
    size_t n = gen_question(&plan->gen, call->space, call->turns, draw, question);
    put_query(plan, (struct str){name, len}, (struct str){question, n}, out);
}
