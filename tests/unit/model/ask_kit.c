#include "ask_kit.h"

#include <check.h>
#include <jansson.h>

void asked_init(struct asked *asked, enum model_purpose purpose)
{
    struct arena *arena = arena_new(64 << 20);
    ck_assert_ptr_nonnull(arena);
    *asked = (struct asked){.call = {.purpose = purpose, .arena = arena}};
    buf_init(&asked->wrong, arena, 1 << 16);
}

void asked_fini(struct asked *asked)
{
    arena_free(asked->call.arena);
}

struct str asked_write(struct asked *asked, unsigned halvings)
{
    struct buf out;
    buf_init(&out, asked->call.arena, 1 << 22);
    bool yes = asked->call.chat.write(asked->call.chat.arg, halvings, &out);
    ck_assert(buf_ok(&out));
    return yes ? buf_str(&out) : STR_NONE;
}

static json_t *load(struct asked *asked, const char *json)
{
    char *text = arena_copy(asked->call.arena, json, strlen(json) + 1);
    json_error_t fault;
    ck_assert_ptr_nonnull(text);
    for (char *c = text; *c != '\0'; c++) {
        if (*c == '\'')
            *c = '"';
    }
    json_t *root = json_loads(text, JSON_ALLOW_NUL | JSON_DECODE_ANY, &fault);
    ck_assert_msg(root != NULL, "%s: %s", fault.text, text);
    return root;
}

enum err_code asked_read_failing(struct asked *asked, const char *json, unsigned long nth)
{
    struct chat_ask *chat = &asked->call.chat;
    json_t *root = load(asked, json);
    asked->err = (struct err){.code = ERR_OK};
    buf_clear(&asked->wrong);
    arena_fail_after(asked->call.arena, nth);
    enum err_code code = chat->read(chat->arg, root, &asked->wrong, &asked->err);
    arena_fail_after(asked->call.arena, 0);
    json_decref(root); /* nothing may be borrowed from it */
    ck_assert_int_eq(asked->err.code, code);
    return code;
}

enum err_code asked_read(struct asked *asked, const char *json)
{
    enum err_code code = asked_read_failing(asked, json, 0);
    ck_assert_msg(code == ERR_OK || code == ERR_UNPROCESSABLE, "%s: %s", json, asked->err.message);
    ck_assert_int_eq(code == ERR_OK, asked->wrong.len == 0);
    return code;
}

void asked_refuses(struct asked *asked, const char *json, const char *wrong)
{
    ck_assert_msg(asked_read(asked, json) == ERR_UNPROCESSABLE, "taken: %s", json);
    expect_text(buf_str(&asked->wrong), wrong);
    ck_assert_str_eq(asked->err.message, wrong);
}

void expect_text(struct str got, const char *want)
{
    ck_assert_msg(str_eq(got, str_of(want)), "got\n%.*s\nnot\n%s", STR_FMT(got), want);
}

uint32_t count_of(struct str text, const char *part)
{
    uint32_t n = 0;
    size_t len = strlen(part);
    for (size_t i = 0; i + len <= text.len; i++)
        n += memcmp(text.at + i, part, len) == 0;
    return n;
}
