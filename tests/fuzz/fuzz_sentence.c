/* The first byte is the size of a part, the rest is the text. */
#include "core/text/sentence.h"
#include "core/text/utf8.h"

static void check_sentences(struct str text)
{
    struct str rest = text, s;
    const struct str names[] = {STR("Mel"), STR("José")};
    const char *at = text.at;
    while (sentence_next(&rest, &s)) {
        ASSERT(s.len > 0 && s.at >= at && s.at + s.len <= text.at + text.len);
        ASSERT(utf8_is_blank((struct str){at, (size_t)(s.at - at)}));
        (void)sentence_is_phatic(s, names, 2);
        (void)sentence_is_greeting(s);
        (void)sentence_is_farewell(s);
        (void)sentence_is_question(s);
        (void)sentence_is_abbreviation(s);
        at = s.at + s.len;
    }
    ASSERT(rest.len == 0);
    ASSERT(utf8_is_blank((struct str){at, (size_t)(text.at + text.len - at)}));
}

static void check_parts(struct str text, size_t max)
{
    struct str rest = text, part;
    size_t sum = 0;
    bool valid = utf8_is_valid(text);
    while (part_next(&rest, max, &part)) {
        ASSERT(part.len > 0 && part.len <= max && part.at == text.at + sum);
        ASSERT(!valid || utf8_is_valid(part));
        sum += part.len;
    }
    ASSERT(sum == text.len);
}

static void check_normal(struct str text)
{
    struct arena *arena = arena_new(64 << 20);
    ASSERT(arena != NULL);
    struct str normal = utf8_normal(arena, text);
    ASSERT(normal.at == NULL || utf8_is_valid(normal));
    (void)utf8_has_control(text);
    arena_free(arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    struct str text = {(const char *)data + 1, size - 1};
    check_sentences(text);
    check_parts(text, 4 + (size_t)data[0]);
    check_normal(text);
    return 0;
}
