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

/* Open addressing; count 0 marks a free slot. Terms are hashes already. */
static struct term_count *slot_of(struct term_count *slots, size_t cap, uint64_t term)
{
    size_t i = (size_t)term & (cap - 1);
    while (slots[i].count != 0 && slots[i].term != term)
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
    struct term_count *slots = ARENA_ARRAY(arena, struct term_count, cap);
    if (slots == NULL)
        return err_set(err, ERR_EXHAUSTED, "the memory for counting terms is used up");
    for (size_t i = 0; i < tokens->n; i++) {
        const struct token *token = &tokens->at[i];
        if ((token->flags & TOKEN_STOP) != 0)
            continue;
        struct term_count *slot = slot_of(slots, cap, token->term);
        if (slot->count == 0)
            *slot = (struct term_count){token->term, 0, token->text};
        slot->count = sum(slot->count, weight);
        out->length = sum(out->length, weight);
    }
    for (size_t i = 0; i < cap; i++)
        if (slots[i].count != 0)
            slots[out->n++] = slots[i];
    qsort(slots, out->n, sizeof *slots, by_term);
    out->at = slots;
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
