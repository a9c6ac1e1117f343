#include "core/ingest/cohesion.h"

#include <stdlib.h>

#include "core/ingest/describe_light.h"

/* K of the header: so many occurrences of a usual gap are added. */
#define SHRINKAGE 3.0

enum { SLOTS = 512 }; /* a power of two, more than twice COHESION_TERMS */
_Static_assert(SLOTS > 2 * COHESION_TERMS, "the table is never full");

static int by_term(const void *left, const void *right)
{
    const struct cohesion_term *a = left, *b = right;
    return (a->term > b->term) - (a->term < b->term);
}

static struct cohesion_term *slot_of(struct cohesion_term *slots, uint64_t term)
{
    size_t i = (size_t)term & (SLOTS - 1);
    while (slots[i].count != 0 && slots[i].term != term)
        i = (i + 1) & (SLOTS - 1);
    return &slots[i];
}

static uint32_t count_part(struct cohesion_term *slots, uint32_t n, const struct token_list *part)
{
    for (size_t i = 0; i < part->n; i++) {
        const struct token *token = &part->at[i];
        if ((token->flags & (TOKEN_STOP | TOKEN_PART)) != 0)
            continue;
        struct cohesion_term *slot = slot_of(slots, token->term);
        if (slot->count == 0) {
            if (n == COHESION_TERMS || light_word_is(token->text))
                continue;
            slot->term = token->term;
            n++;
        }
        if (slot->count < UINT8_MAX)
            slot->count++;
    }
    return n;
}

enum err_code cohesion_turn_of(struct arena *arena, const struct token_list *parts, size_t n,
                               struct cohesion_turn *out, struct err *err)
{
    struct cohesion_term slots[SLOTS] = {{0}};
    uint32_t found = 0;
    for (size_t i = 0; i < n; i++)
        found = count_part(slots, found, &parts[i]);
    out->n = 0;
    out->at = ARENA_ARRAY(arena, struct cohesion_term, found);
    if (out->at == NULL)
        return err_set(err, ERR_EXHAUSTED, "out of memory for a turn's terms");
    for (size_t i = 0; i < SLOTS; i++) {
        if (slots[i].count != 0)
            out->at[out->n++] = slots[i];
    }
    qsort(out->at, out->n, sizeof *out->at, by_term);
    return ERR_OK;
}

static bool has_term(const struct cohesion_turn *turn, uint64_t term)
{
    uint32_t low = 0;
    uint32_t high = turn->n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (turn->at[middle].term < term)
            low = middle + 1;
        else
            high = middle;
    }
    return low < turn->n && turn->at[low].term == term;
}

static bool is_name(const struct cohesion_names *names, uint64_t term)
{
    for (uint32_t i = 0; i < names->n; i++) {
        if (names->at[i] == term)
            return true;
    }
    return false;
}

static bool any_has(const struct cohesion_turn *const *turns, uint32_t n, uint64_t term)
{
    for (uint32_t i = 0; i < n; i++) {
        if (has_term(turns[i], term))
            return true;
    }
    return false;
}

double cohesion(const struct cohesion_gap *gap, double usual)
{
    uint32_t all = 0;
    uint32_t shared = 0;
    for (uint32_t i = gap->left; i < gap->left + gap->right; i++) {
        for (uint32_t k = 0; k < gap->turns[i]->n; k++) {
            const struct cohesion_term *t = &gap->turns[i]->at[k];
            if (is_name(&gap->names, t->term))
                continue;
            all += t->count;
            if (any_has(gap->turns, gap->left, t->term))
                shared += t->count;
        }
    }
    return (shared + SHRINKAGE * usual) / (all + SHRINKAGE);
}
