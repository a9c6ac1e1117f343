#include "tests/unit/core/model/chat_kit.h"

#include <check.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

static const struct chat_prompt object_prompt = {
    .name = "facts",
    .version = 1,
    .system = "You count.",
    .schema = "{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}},"
              "\"required\":[\"n\"],\"additionalProperties\":false}",
    .max_tokens = 100,
};
static const struct chat_prompt text_prompt = {
    .name = "answer", .version = 1, .system = "You answer.", .max_tokens = 100};

static bool write_question(void *arg, unsigned halvings, struct buf *out)
{
    const struct chat_case *c = arg;
    if (halvings > c->halvings)
        return false;
    buf_printf(out, "how many? part %u", halvings);
    return true;
}

static enum err_code read_number(void *arg, const struct json_t *reply, struct buf *wrong,
                                 struct err *err)
{
    struct chat_case *c = arg;
    const json_t *n = json_object_get(reply, "n");
    if (c->refuse != ERR_OK)
        return err_set(err, c->refuse, "the test refuses");
    if (!json_is_integer(n) || json_integer_value(n) <= 0) {
        buf_printf(wrong, "n must be above 0.");
        return ERR_UNPROCESSABLE;
    }
    c->n = (long)json_integer_value(n);
    return ERR_OK;
}

static bool take_piece(void *arg, struct str piece)
{
    struct chat_case *c = arg;
    size_t len = strlen(c->pieces);
    ck_assert_uint_lt(len + piece.len + 2, sizeof c->pieces);
    (void)snprintf(c->pieces + len, sizeof c->pieces - len, "%.*s|", STR_FMT(piece));
    c->n_pieces++;
    return c->listens_for == 0 || c->n_pieces < c->listens_for;
}

void chat_open(struct chat_case *c, const struct script_reply *replies, unsigned n)
{
    memset(c, 0, sizeof *c);
    script_init(&c->script, replies, n);
    c->metrics = calloc(1, sizeof *c->metrics);
    c->arena = arena_new(16 << 20);
    ck_assert(c->metrics != NULL && c->arena != NULL);
    c->options = script_options(&c->script);
    c->options.metrics = c->metrics;
    c->halvings = 10;
}

void chat_close(struct chat_case *c)
{
    models_free(c->models);
    arena_free(c->arena);
    script_fini(&c->script);
    free(c->metrics);
}

static void ask(struct chat_case *c, enum model_purpose purpose, const struct chat_prompt *prompt,
                chat_piece_fn *piece)
{
    struct err err = {.code = ERR_OK};
    if (c->models == NULL)
        ck_assert_msg(models_new(&c->options, &c->models, &err) == ERR_OK, "%s", err.message);
    int64_t deadline = c->call.deadline_ms;
    c->n = 0;
    c->n_pieces = 0;
    c->pieces[0] = '\0';
    model_call_init(&c->call, purpose, c->arena);
    c->call.deadline_ms = deadline;
    c->call.chat = (struct chat_ask){
        .prompt = prompt, .write = write_question, .read = read_number, .piece = piece, .arg = c};
    arena_fail_after(c->arena, c->fail_after);
    script_run(&c->script, c->models, &c->call);
    arena_fail_after(c->arena, 0);
}

void chat_ask_object(struct chat_case *c)
{
    ask(c, PURPOSE_FACTS, &object_prompt, NULL);
}

void chat_ask_text(struct chat_case *c)
{
    ask(c, PURPOSE_ANSWER, &text_prompt, NULL);
}

void chat_ask_stream(struct chat_case *c)
{
    ask(c, PURPOSE_ANSWER, &text_prompt, take_piece);
}

void chat_expect(const struct chat_case *c, enum model_failure failure, unsigned exchanges)
{
    ck_assert_msg(c->call.failure == failure, "%s: %s", model_failure_slug(c->call.failure),
                  c->call.err.message);
    ck_assert_int_eq(c->call.outcome == ERR_OK, failure == MODEL_FAILURE_NONE);
    ck_assert_uint_eq(c->script.n_asked, exchanges);
    ck_assert_uint_eq(c->script.next, c->script.n_replies);
}

static bool holds(const struct chat_case *c, unsigned i, const char *text)
{
    ck_assert_uint_lt(i, c->script.n_asked);
    struct str body = c->script.asked[i].body;
    return memmem(body.at, body.len, text, strlen(text)) != NULL;
}

void chat_sent(const struct chat_case *c, unsigned i, const char *text)
{
    ck_assert_msg(holds(c, i, text), "%.*s holds no %s", STR_FMT(c->script.asked[i].body), text);
}

void chat_not_sent(const struct chat_case *c, unsigned i, const char *text)
{
    ck_assert_msg(!holds(c, i, text), "%.*s holds %s", STR_FMT(c->script.asked[i].body), text);
}
