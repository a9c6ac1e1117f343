#include "core/index/lengths_int.h"
#include "core/index/segment_int.h"

enum { FIRST_POSTINGS = 32 };

enum err_code segment__damaged(struct err *err)
{
    return err_set(err, ERR_INTERNAL, "an index segment is damaged");
}

bool segment__open(struct str value, struct segment_part *part)
{
    *part = (struct segment_part){0};
    const uint8_t *at = (const uint8_t *)value.at;
    if (value.len < SEGMENT_HEAD || at[0] != SEGMENT_FORMAT)
        return false;
    struct segment_head *head = &part->head;
    head->level = at[1] & 15;
    head->rewritten = at[1] >> 4;
    head->parts = (uint16_t)(at[2] | at[3] << 8);
    head->terms = le32_get(at + 4);
    head->docs = le32_get(at + 8);
    memcpy(head->base, at + SEGMENT_BASE_AT, sizeof head->base);
    memcpy(head->span, at + SEGMENT_SPAN_AT, sizeof head->span);
    size_t rest = value.len - SEGMENT_HEAD;
    if (head->level >= SEGMENT_LEVELS || head->parts == 0 || head->terms > rest / SEGMENT_ENTRY)
        return false;
    part->table = at + SEGMENT_HEAD;
    part->postings = part->table + (size_t)head->terms * SEGMENT_ENTRY;
    part->bytes = rest - (size_t)head->terms * SEGMENT_ENTRY;
    return true;
}

enum err_code segment_head_read(struct str part, struct segment_head *head, struct err *err)
{
    struct segment_part open;
    bool ok = segment__open(part, &open);
    *head = open.head;
    return ok ? ERR_OK : segment__damaged(err);
}

struct segment_search segment__search(const struct segment_part *part)
{
    uint32_t n = part->head.terms;
    uint64_t first = n == 0 ? 0 : segment__term(part, 0);
    uint64_t last = n == 0 ? 0 : segment__term(part, n - 1);
    double slope = last > first ? (double)(n - 1) / (double)(last - first) : 0;
    return (struct segment_search){.part = part, .first = first, .last = last, .slope = slope};
}

uint32_t segment__guess(const struct segment_search *search, uint64_t term)
{
    if (term <= search->first)
        return 0;
    if (term > search->last)
        return search->part->head.terms;
    return (uint32_t)((double)(term - search->first) * search->slope);
}

/* Terms are hashes, so the guess is off by about the root of their number. */
uint32_t segment__lower(const struct segment_search *search, uint64_t term, uint32_t from)
{
    enum { NEAR = 32 };
    const struct segment_part *part = search->part;
    uint32_t guess = segment__guess(search, term);
    uint32_t low = from;
    uint32_t high = part->head.terms;
    if (guess > NEAR + low && guess - NEAR < high && segment__term(part, guess - NEAR) < term)
        low = guess - NEAR + 1;
    if (guess + NEAR < high && segment__term(part, guess + NEAR) >= term)
        high = guess + NEAR;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (segment__term(part, middle) < term)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool segment__list(const struct segment_part *part, uint32_t i, const uint8_t **at,
                   const uint8_t **end)
{
    const uint8_t *entry = part->table + (size_t)i * SEGMENT_ENTRY;
    size_t from = le64_get(entry) & SEGMENT_OFFSET_MASK;
    size_t to = part->bytes;
    if (i + 1 < part->head.terms)
        to = le64_get(entry + SEGMENT_ENTRY) & SEGMENT_OFFSET_MASK;
    *at = part->postings + (from < part->bytes ? from : 0);
    *end = part->postings + (to <= part->bytes ? to : 0);
    return *at < *end;
}

bool posting_list__reserve(struct posting_list *list, struct arena *arena, uint32_t more)
{
    if (more <= list->cap - list->n)
        return true;
    size_t cap = list->cap == 0 ? FIRST_POSTINGS : (size_t)list->cap * 2;
    if (cap < (size_t)list->n + more)
        cap = (size_t)list->n + more;
    if (cap > UINT32_MAX)
        return false;
    struct posting *at = arena_alloc(arena, cap * sizeof *at);
    if (at == NULL)
        return false;
    if (list->n != 0)
        memcpy(at, list->at, list->n * sizeof *at);
    list->at = at;
    list->cap = (uint32_t)cap;
    return true;
}

/* What is left of a term's postings. */
struct bytes {
    const uint8_t *at, *end;
};

/* Over `count` postings. False when damaged. */
static bool skip_postings(struct bytes *in, uint32_t count)
{
    const uint8_t *at = in->at;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t head;
        uint64_t tf;
        at = varint__get(at, in->end, &head);
        if (at != NULL && (head & 1) != 0)
            at = varint__get(at, in->end, &tf);
        if (at == NULL)
            return false;
    }
    in->at = at;
    return true;
}

/* Decodes `count` postings, for which the list has room, and keeps the living. False when
 * damaged. */
static bool take_living(struct bytes *in, uint32_t count, uint64_t doc, struct lengths *lengths,
                        enum layer layer, struct posting_list *list)
{
    const uint8_t *at = in->at;
    struct posting *out = list->at + list->n;
    struct str block = STR("");
    uint64_t block_no = UINT64_MAX;
    for (uint32_t i = 0; i < count; i++, doc++) {
        uint64_t head;
        uint64_t tf = 1;
        at = varint__get(at, in->end, &head);
        if (at != NULL && (head & 1) != 0)
            at = varint__get(at, in->end, &tf);
        if (at == NULL)
            return false;
        doc += head >> 1;
        if (doc > UINT32_MAX || tf == 0 || tf > UINT32_MAX)
            return false;
        if (doc / LENGTH_BLOCK != block_no) {
            block_no = doc / LENGTH_BLOCK;
            block = lengths__block(lengths, layer, (uint32_t)block_no);
        }
        size_t in_block = doc % LENGTH_BLOCK;
        *out = (struct posting){(uint32_t)doc, (uint32_t)tf};
        out += in_block < block.len && block.at[in_block] != 0;
    }
    list->n = (uint32_t)(out - list->at);
    in->at = at;
    return true;
}

enum err_code segment__decode(const struct segment_part *part, uint32_t i,
                              const struct decoder *decoder, struct posting_list *lists,
                              struct err *err)
{
    struct bytes in;
    if (!segment__list(part, i, &in.at, &in.end))
        return segment__damaged(err);
    while (in.at < in.end) {
        uint64_t head;
        in.at = varint__get(in.at, in.end, &head);
        if (in.at == NULL || head >> 2 == 0 || head >> 2 > (size_t)(in.end - in.at))
            return segment__damaged(err);
        enum layer layer = (enum layer)(head & 3);
        uint32_t count = (uint32_t)(head >> 2);
        struct posting_list *list = &lists[layer];
        if (decoder->mask >> layer == 0)
            return ERR_OK; /* layers ascend: nothing more is wanted */
        bool wanted = (decoder->mask >> layer & 1) != 0;
        if (wanted && !posting_list__reserve(list, decoder->arena, count))
            return err_set(err, ERR_EXHAUSTED, "out of memory while reading postings");
        bool ok =
            wanted ? take_living(&in, count, part->head.base[layer], decoder->lengths, layer, list)
                   : skip_postings(&in, count);
        if (!ok)
            return segment__damaged(err);
    }
    return ERR_OK;
}
