/* Think blocks: what a reasoning model says before it answers. */
#include "core/model/repair.h"

#include <ctype.h>

/* A close without an open also ends a block: chat templates put the opening tag into the prompt. */
static const struct {
    struct str open, close;
} tags[] = {
    {{"<think>", 7}, {"</think>", 8}},
    {{"<thinking>", 10}, {"</thinking>", 11}},
    {{"<thought>", 9}, {"</thought>", 10}},
    {{"<reasoning>", 11}, {"</reasoning>", 12}},
    {{"\xe2\x97\x81think\xe2\x96\xb7", 11}, {"\xe2\x97\x81/think\xe2\x96\xb7", 12}},
    {{"<|channel|>analysis<|message|>", 30}, {"<|channel|>final<|message|>", 27}},
};

static bool starts_ignoring_case(struct str text, struct str head)
{
    for (size_t i = 0; i < head.len; i++) {
        if (i >= text.len || tolower((unsigned char)text.at[i]) != head.at[i])
            return false;
    }
    return true;
}

enum tag_kind { TAG_NONE, TAG_OPEN, TAG_CLOSE };

static enum tag_kind tag_at(struct str text, size_t *len)
{
    for (size_t i = 0; i < sizeof tags / sizeof tags[0]; i++) {
        bool closes = starts_ignoring_case(text, tags[i].close);
        if (closes || starts_ignoring_case(text, tags[i].open)) {
            *len = closes ? tags[i].close.len : tags[i].open.len;
            return closes ? TAG_CLOSE : TAG_OPEN;
        }
    }
    return TAG_NONE;
}

static bool may_be_tag(char c)
{
    return c == '<' || c == '\xe2';
}

struct str repair_think(struct arena *arena, struct str text)
{
    struct buf out;
    bool inside = false;
    bool any = false;
    size_t len = 0;
    buf_init(&out, arena, text.len + 1);
    for (size_t i = 0; i < text.len;) {
        struct str rest = str_part(text, i, text.len);
        enum tag_kind kind = may_be_tag(text.at[i]) ? tag_at(rest, &len) : TAG_NONE;
        if (kind == TAG_NONE) {
            if (!inside)
                buf_char(&out, text.at[i]);
            i++;
            continue;
        }
        if (kind == TAG_CLOSE && !inside)
            buf_clear(&out);
        inside = kind == TAG_OPEN;
        any = true;
        i += len;
    }
    if (!any)
        return str_trim(text.at != NULL ? text : STR(""));
    return buf_ok(&out) ? str_trim(buf_str(&out)) : STR_NONE;
}

size_t repair_think_open(struct str text, bool *more)
{
    *more = false;
    for (size_t i = 0; i < sizeof tags / sizeof tags[0]; i++) {
        struct str open = tags[i].open;
        if (starts_ignoring_case(text, open))
            return open.len;
        *more = *more ||
                (text.len < open.len && starts_ignoring_case(text, str_part(open, 0, text.len)));
    }
    return 0;
}

size_t repair_think_close(struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        size_t len = 0;
        if (may_be_tag(text.at[i]) && tag_at(str_part(text, i, text.len), &len) == TAG_CLOSE)
            return i + len;
    }
    return 0;
}
