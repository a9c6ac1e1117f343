/* The first byte chooses the language and the use, the rest is the text. */
#include <stdlib.h>

#include "core/base/hash.h"
#include "core/base/limits.h"
#include "core/text/token.h"

static const char *const languages[] = {"en", "auto", "de", "fr", "ru", "none", "sr", "hi"};

static void check_list(struct str text, const struct token_list *list)
{
    for (size_t i = 0; i < list->n; i++) {
        const struct token *t = &list->at[i];
        ASSERT(t->from < t->to && t->to <= text.len);
        ASSERT(t->text.len > 0 && t->text.len <= LIMIT_TERM_BYTES);
        ASSERT(t->term == (hash64(t->text) & TERM_MASK));
        ASSERT(i == 0 || t->position >= t[-1].position);
    }
}

static void check_bag(struct arena *arena, const struct token_list *list)
{
    struct term_bag bag, twice;
    struct err err;
    if (term_bag_of(arena, list, 1, &bag, &err) != ERR_OK ||
        term_bag_add(arena, &bag, &bag, &twice, &err) != ERR_OK)
        return;
    ASSERT(twice.n == bag.n && twice.length == 2 * bag.length);
    for (size_t i = 0; i < bag.n; i++)
        ASSERT(twice.at[i].count == 2 * bag.at[i].count &&
               (i == 0 || bag.at[i - 1].term < bag.at[i].term));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    struct str text = {(const char *)data + 1, size - 1};
    enum token_use use = (data[0] & 0x80) != 0 ? TOKEN_QUERY : TOKEN_INDEX;
    struct tokenizer *tokenizer = NULL;
    struct token_list list;
    struct err err;
    if (tokenizer_new(str_of(languages[data[0] & 7]), &tokenizer, &err) != ERR_OK)
        return 0;
    struct arena *arena = arena_new(64 << 20);
    ASSERT(arena != NULL);
    if (tokenizer_run(tokenizer, arena, text, use, &list, &err) == ERR_OK) {
        check_list(text, &list);
        check_bag(arena, &list);
    }
    arena_free(arena);
    tokenizer_free(tokenizer);
    return 0;
}
