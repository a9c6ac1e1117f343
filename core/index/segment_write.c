#include "core/index/segment_int.h"

/* Longer lists could not be told by an offset anyway. */
enum { POSTINGS_MAX = 1 << SEGMENT_OFFSET_BITS };

void segment__key(char key[SEGMENT_KEY], uint64_t seq, uint32_t part)
{
    be64_set(key, seq);
    key[8] = (char)(part >> 8);
    key[9] = (char)part;
}

void segment__out_init(struct segment_out *out, struct arena *arena)
{
    *out = (struct segment_out){.arena = arena};
    buf_init(&out->table, arena, POSTINGS_MAX);
    buf_init(&out->postings, arena, POSTINGS_MAX);
}

/* Makes a part of the table and the first `len` bytes of postings, and empties both. */
static void cut_part(struct segment_out *out, size_t len)
{
    struct segment_value *value = ARENA_NEW(out->arena, struct segment_value);
    size_t table = out->table.len;
    char *at = arena_alloc(out->arena, SEGMENT_HEAD + table + len);
    if (value == NULL || at == NULL) {
        out->failed = true;
        return;
    }
    memset(at, 0, SEGMENT_HEAD);
    if (table != 0)
        memcpy(at + SEGMENT_HEAD, out->table.at, table);
    if (len != 0)
        memcpy(at + SEGMENT_HEAD + table, out->postings.at, len);
    *value = (struct segment_value){
        .at = at, .len = SEGMENT_HEAD + table + len, .terms = (uint32_t)(table / SEGMENT_ENTRY)};
    if (out->last == NULL)
        out->first = value;
    else
        out->last->next = value;
    out->last = value;
    out->parts++;
    size_t rest = out->postings.len - len;
    if (rest != 0)
        memmove(out->postings.at, out->postings.at + len, rest);
    out->postings.len = rest;
    out->table.len = 0;
}

static void put_layer(struct buf *out, enum layer layer, const struct posting_list *list,
                      uint32_t base)
{
    size_t room = VARINT_MAX + (size_t)list->n * (2 * VARINT_MAX);
    size_t start = out->len;
    uint8_t *at = (uint8_t *)buf_grow(out, room);
    if (at == NULL)
        return;
    const uint8_t *first = at;
    at = varint__put(at, (uint64_t)list->n << 2 | layer);
    uint32_t next = base;
    for (uint32_t i = 0; i < list->n; i++) {
        struct posting p = list->at[i];
        DASSERT(p.doc >= next && p.tf >= 1); /* I2 */
        at = varint__put(at, (uint64_t)(p.doc - next) << 1 | (p.tf > 1));
        if (p.tf > 1)
            at = varint__put(at, p.tf);
        next = p.doc + 1;
    }
    out->len = start + (size_t)(at - first);
}

void segment__out_term(struct segment_out *out, uint64_t term, const struct posting_list *lists,
                       const uint32_t *base)
{
    ASSERT(term <= TERM_MASK);
    size_t start = out->postings.len;
    for (unsigned layer = 0; layer < LAYERS; layer++) {
        if (lists[layer].n != 0)
            put_layer(&out->postings, (enum layer)layer, &lists[layer], base[layer]);
    }
    if (!buf_ok(&out->postings) || out->failed)
        return;
    ASSERT(out->postings.len > start);
    size_t size = SEGMENT_HEAD + out->table.len + SEGMENT_ENTRY + out->postings.len;
    if (size > SEGMENT_PART_BYTES && out->table.len != 0) {
        cut_part(out, start);
        start = 0;
    }
    buf_u64(&out->table, term << SEGMENT_OFFSET_BITS | start);
}

bool segment__out_finish(struct segment_out *out, struct segment_head *head)
{
    if (!buf_ok(&out->table) || !buf_ok(&out->postings) || out->failed)
        return false;
    if (out->table.len != 0 || out->first == NULL)
        cut_part(out, out->postings.len);
    if (out->failed || out->parts > UINT16_MAX)
        return false;
    head->parts = (uint16_t)out->parts;
    for (struct segment_value *value = out->first; value != NULL; value = value->next) {
        value->at[0] = SEGMENT_FORMAT;
        value->at[1] = (char)(head->level | head->rewritten << 4);
        memcpy(value->at + 2, &head->parts, 2);
        le32_set(value->at + 4, value->terms);
        le32_set(value->at + 8, head->docs);
        memcpy(value->at + SEGMENT_BASE_AT, head->base, sizeof head->base);
        memcpy(value->at + SEGMENT_SPAN_AT, head->span, sizeof head->span);
    }
    return true;
}
