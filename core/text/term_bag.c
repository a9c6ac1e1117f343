#include <stdlib.h>

#include "core/text/token.h"

static uint32_t sum(uint32_t a, uint32_t b)
{
    return a > UINT32_MAX - b ? UINT32_MAX : a + b;
}

static int by_term(const void *left, const void *right)
{
    const struct term_count *a = left, *b = right;
    return (a->term > b->term) - (a->term < b->term);
}

/* Texts are short: most bags have a few dozen terms, for which a call a comparison is too much. */
static void sort(struct term_count *at, size_t n)
{
    enum { FEW = 64 };
    if (n > FEW) {
        qsort(at, n, sizeof *at, by_term);
        return;
    }
    for (size_t i = 1; i < n; i++) {
        struct term_count one = at[i];
        size_t k = i;
        for (; k > 0 && at[k - 1].term > one.term; k--)
            at[k] = at[k - 1];
        at[k] = one;
    }
}

/* Open addressing; a slot is a place in `at` + 1, 0 marks a free one. Terms are hashes already. */
static uint32_t *slot_of(uint32_t *slots, size_t cap, const struct term_count *at, uint64_t term)
{
    size_t i = (size_t)term & (cap - 1);
    while (slots[i] != 0 && at[slots[i] - 1].term != term)
        i = (i + 1) & (cap - 1);
    return &slots[i];
}

enum err_code term_bag_of(struct arena *arena, const struct token_list *tokens, uint32_t weight,
                          struct term_bag *out, struct err *err)
{
    *out = (struct term_bag){NULL, 0, 0};
    if (tokens->n == 0 || weight == 0)
        return ERR_OK;
    size_t cap = 2; /* one slot stays free; a turn may have half a million sentences of one word */
    while (cap < 2 * tokens->n)
        cap *= 2;
    uint32_t *slots = ARENA_ARRAY(arena, uint32_t, cap);
    struct term_count *at = arena_alloc(arena, tokens->n * sizeof *at);
    if (slots == NULL || at == NULL)
        return err_set(err, ERR_EXHAUSTED, "the memory for counting terms is used up");
    for (size_t i = 0; i < tokens->n; i++) {
        const struct token *token = &tokens->at[i];
        if ((token->flags & TOKEN_STOP) != 0)
            continue;
        uint32_t *slot = slot_of(slots, cap, at, token->term);
        if (*slot == 0) {
            at[out->n++] = (struct term_count){token->term, 0, token->text};
            *slot = (uint32_t)out->n;
        }
        at[*slot - 1].count = sum(at[*slot - 1].count, weight);
        out->length = sum(out->length, weight);
    }
    sort(at, out->n);
    out->at = at;
    return ERR_OK;
}

enum err_code term_bag_add(struct arena *arena, const struct term_bag *a, const struct term_bag *b,
                           struct term_bag *out, struct err *err)
{
    struct term_count *at = ARENA_ARRAY(arena, struct term_count, a->n + b->n);
    size_t i = 0, k = 0, n = 0;
    if (at == NULL)
        return err_set(err, ERR_EXHAUSTED, "the memory for counting terms is used up");
    while (i < a->n || k < b->n) {
        bool left = k == b->n || (i < a->n && a->at[i].term <= b->at[k].term);
        bool both = left && k < b->n && a->at[i].term == b->at[k].term;
        at[n] = left ? a->at[i++] : b->at[k++];
        if (both)
            at[n].count = sum(at[n].count, b->at[k++].count);
        n++;
    }
    *out = (struct term_bag){at, n, sum(a->length, b->length)};
    return ERR_OK;
}
