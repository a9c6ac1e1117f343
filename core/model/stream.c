#include "core/model/stream.h"

#include "core/model/repair.h"

enum { LINE_BYTES = 1 << 20, TEXT_BYTES = 16 << 20 };

void chat_stream_init(struct chat_stream *s, struct arena *arena, chat_piece_fn *piece, void *arg)
{
    *s = (struct chat_stream){.arena = arena, .piece = piece, .arg = arg};
    buf_init(&s->line, arena, TEXT_BYTES);
    buf_init(&s->held, arena, TEXT_BYTES);
    buf_init(&s->text, arena, TEXT_BYTES);
}

static void give(struct chat_stream *s, struct str text)
{
    if (text.len == 0 || s->deaf)
        return;
    buf_str_put(&s->text, text);
    s->no_memory = s->no_memory || !buf_ok(&s->text);
    s->deaf = !s->piece(s->arg, text);
}

void chat_stream_give(struct chat_stream *s, struct str text)
{
    give(s, text);
}

static struct str without_leading_space(struct str text)
{
    while (text.len != 0 && strchr(" \t\r\n", text.at[0]) != NULL && text.at[0] != '\0')
        text = str_part(text, 1, text.len);
    return text;
}

/* The first words: a think block, something that may become one, or the answer. */
static void look_for_block(struct chat_stream *s)
{
    bool more = false;
    struct str text = without_leading_space(buf_str(&s->held));
    size_t open = repair_think_open(text, &more);
    if (open != 0) {
        s->think = THINK_INSIDE;
    } else if (!more && text.len != 0) {
        s->think = THINK_NOT;
        give(s, text);
        buf_clear(&s->held);
    }
}

static void look_for_end(struct chat_stream *s)
{
    struct str text = buf_str(&s->held);
    size_t behind = repair_think_close(text);
    size_t keep = text.len > REPAIR_TAG_MAX ? REPAIR_TAG_MAX : text.len;
    if (behind != 0) {
        keep = text.len - behind;
        s->think = THINK_MAYBE;
    }
    memmove(s->held.at, s->held.at + text.len - keep, keep);
    s->held.len = keep;
    if (behind != 0)
        look_for_block(s);
}

static void take_content(struct chat_stream *s, struct str content)
{
    if (s->think == THINK_NOT) {
        give(s, content);
        return;
    }
    buf_str_put(&s->held, content);
    if (!buf_ok(&s->held)) {
        s->no_memory = true;
        return;
    }
    if (s->think == THINK_MAYBE)
        look_for_block(s);
    /* Blocks may follow each other in one piece. */
    for (size_t before = SIZE_MAX; s->think == THINK_INSIDE && s->held.len < before;) {
        before = s->held.len;
        look_for_end(s);
    }
}

static void take_event(struct chat_stream *s, struct str data)
{
    struct chat_reply chunk;
    bool finished = false;
    if (str_eq(data, STR("[DONE]"))) {
        s->finished = true;
        return;
    }
    if (!chat_json_chunk(s->arena, data, &chunk, &finished)) {
        s->no_memory = true;
        return;
    }
    if (chunk.usage.known)
        s->usage = chunk.usage;
    if (finished) {
        s->finished = true;
        s->finish = chunk.finish;
    }
    if (chunk.shape == CHAT_FAULT) {
        s->faulty = true;
        s->fault = chunk.fault;
    } else if (chunk.shape == CHAT_SAID) {
        take_content(s, chunk.text);
    }
}

static void take_line(struct chat_stream *s, struct str line)
{
    if (str_starts(line, STR("data:")))
        take_event(s, str_trim(str_part(line, 5, line.len)));
}

static void take_lines(struct chat_stream *s)
{
    struct str rest = buf_str(&s->line);
    size_t used = 0;
    while (!s->deaf && !s->no_memory && !s->faulty) {
        size_t end = str_index(rest, '\n');
        if (end == rest.len)
            break;
        take_line(s, str_trim(str_part(rest, 0, end)));
        used += end + 1;
        rest = str_part(rest, end + 1, rest.len);
    }
    if (used != 0) {
        memmove(s->line.at, s->line.at + used, s->line.len - used);
        s->line.len -= used;
    }
    s->no_memory = s->no_memory || (s->form == STREAM_EVENTS && s->line.len > LINE_BYTES);
}

bool chat_stream_take(struct chat_stream *s, struct str bytes)
{
    buf_str_put(&s->line, bytes);
    if (!buf_ok(&s->line)) {
        s->no_memory = true;
        return false;
    }
    struct str text = without_leading_space(buf_str(&s->line));
    if (s->form == STREAM_NEW && text.len != 0) {
        char c = text.at[0];
        s->form = c == '{' || c == '[' || c == '<' ? STREAM_DOCUMENT : STREAM_EVENTS;
    }
    if (s->form == STREAM_EVENTS)
        take_lines(s);
    return !s->deaf && !s->no_memory && !s->faulty;
}

void chat_stream_end(struct chat_stream *s)
{
    if (s->form == STREAM_EVENTS && s->line.len != 0 && !s->faulty)
        take_line(s, str_trim(buf_str(&s->line)));
    if (s->think == THINK_MAYBE)
        give(s, str_trim(buf_str(&s->held)));
}
