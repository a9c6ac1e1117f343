#include "tests/unit/text/terms.h"

#include <check.h>
#include <stdio.h>

static struct token_list run(struct arena *arena, const char *language, const char *text,
                             enum token_use use)
{
    struct tokenizer *tokenizer = NULL;
    struct token_list list = {NULL, 0};
    struct err err;
    ck_assert_int_eq(tokenizer_new(str_of(language), &tokenizer, &err), ERR_OK);
    ck_assert_int_eq(tokenizer_run(tokenizer, arena, str_of(text), use, &list, &err), ERR_OK);
    tokenizer_free(tokenizer);
    return list;
}

void terms_show(const char *language, const char *text, enum token_use use, char out[TERMS_LINE])
{
    struct arena *arena = arena_new(TERMS_ARENA);
    struct token_list list = run(arena, language, text, use);
    size_t len = 0;
    out[0] = '\0';
    for (size_t i = 0; i < list.n; i++) {
        const struct token *t = &list.at[i];
        const char *flag = (t->flags & TOKEN_STOP) != 0   ? "!"
                           : (t->flags & TOKEN_PART) != 0 ? "+"
                                                          : "";
        int n = snprintf(out + len, TERMS_LINE - len, "%s%.*s%s", i == 0 ? "" : " ",
                         STR_FMT(t->text), flag);
        ck_assert(n > 0 && (size_t)n < TERMS_LINE - len);
        len += (size_t)n;
    }
    arena_free(arena);
}

bool terms_meet(const char *language, const char *indexed, const char *query)
{
    struct arena *arena = arena_new(TERMS_ARENA);
    struct token_list a = run(arena, language, indexed, TOKEN_INDEX);
    struct token_list b = run(arena, language, query, TOKEN_QUERY);
    bool meet = false;
    for (size_t i = 0; i < b.n; i++)
        for (size_t k = 0; k < a.n; k++)
            if (a.at[k].term == b.at[i].term && ((a.at[k].flags | b.at[i].flags) & TOKEN_STOP) == 0)
                meet = true;
    arena_free(arena);
    return meet;
}
