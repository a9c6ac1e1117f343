#include "core/model/ask_answer.h"

#include "core/model/ask_int.h"
#include "core/model/prompts/answer.h"

enum { CONTEXT_LEAST = 400 };

/* The latest lines of at most `max` bytes. */
static struct str latest(struct str context, size_t max)
{
    if (context.len <= max)
        return context;
    struct str tail = str_part(context, context.len - max, context.len);
    return str_part(tail, str_index(tail, '\n') + 1, tail.len);
}

static bool write_ask(void *arg, unsigned halvings, struct buf *out)
{
    struct ask_answer *ask = arg;
    struct ask_key key = ask__key(ask->seed);
    size_t max = halvings < 32 ? ask->context.len >> halvings : 0;
    struct str context = latest(ask->context, max);
    if (halvings != 0 && (max < CONTEXT_LEAST || context.len == 0))
        return false;
    ask__open(out, &key);
    ask__put(out, context, &key, ASK_LINES);
    buf_char(out, '\n');
    ask__close(out, &key);
    buf_str_put(out, STR("Question: "));
    ask__put(out, ask->question, &key, ASK_LINES);
    return true;
}

static bool pass_on(void *arg, struct str piece)
{
    struct ask_answer *ask = arg;
    return ask->piece(ask->piece_arg, piece);
}

void ask_answer(struct model_call *call, struct ask_answer *ask)
{
    ASSERT(call->purpose == PURPOSE_ANSWER && ask->question.len != 0);
    call->chat = (struct chat_ask){.prompt = &prompt_answer,
                                   .write = write_ask,
                                   .piece = ask->piece != NULL ? pass_on : NULL,
                                   .arg = ask};
}

/* --- citations --- */

struct citing {
    struct str text;
    const struct str *ids;
    uint32_t n;
    bool *cited;
    struct ask_citations *out;
};

static size_t skip_blanks(struct str s, size_t i)
{
    while (i < s.len && s.at[i] == ' ')
        i++;
    return i;
}

static bool ends_mark(char c)
{
    return c == ']' || c == ',' || c == ';';
}

/* The id at byte `at` with an end of a mark behind it: a client's id may hold a comma or a bracket
 * itself, so the longest wins. Returns its place, or n. */
static uint32_t id_at(const struct citing *c, size_t at, size_t *end)
{
    uint32_t best = c->n;
    for (uint32_t i = 0; i < c->n; i++) {
        struct str id = c->ids[i];
        if (id.len == 0 || c->text.len - at < id.len || memcmp(c->text.at + at, id.at, id.len) != 0)
            continue;
        size_t behind = skip_blanks(c->text, at + id.len);
        if (behind < c->text.len && ends_mark(c->text.at[behind]) &&
            (best == c->n || id.len > c->ids[best].len)) {
            best = i;
            *end = behind;
        }
    }
    return best;
}

static size_t mark_end(struct str s, size_t i)
{
    while (i < s.len && !ends_mark(s.at[i]) && s.at[i] != '[' && s.at[i] != '\n')
        i++;
    return i;
}

/* One pair of brackets; returns where to go on. `at` is behind the opening one. */
static size_t read_mark(struct citing *c, size_t at)
{
    for (;;) {
        at = skip_blanks(c->text, at);
        size_t end = at;
        uint32_t id = at < c->text.len ? id_at(c, at, &end) : c->n;
        if (id == c->n)
            end = mark_end(c->text, at);
        else if (!c->cited[id])
            c->out->at[c->out->n++] = id;
        if (id != c->n)
            c->cited[id] = true;
        if (end >= c->text.len || (c->text.at[end] != ',' && c->text.at[end] != ';'))
            return end;
        at = end + 1;
    }
}

enum err_code ask_answer_citations(struct arena *arena, struct str text, const struct str *ids,
                                   uint32_t n, struct ask_citations *out, struct err *err)
{
    struct citing c = {.text = text, .ids = ids, .n = n, .out = out};
    *out = (struct ask_citations){.at = ARENA_ARRAY(arena, uint32_t, n)};
    c.cited = ARENA_ARRAY(arena, bool, n);
    if (out->at == NULL || c.cited == NULL)
        return ask__memory(err);
    for (size_t i = 0; i < text.len;) {
        if (text.at[i] == '[')
            i = read_mark(&c, i + 1);
        else
            i++;
    }
    return ERR_OK;
}
