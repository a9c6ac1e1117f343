#include "core/index/segment_int.h"

/* What a visit is told about, and the callback. */
struct walk {
    const struct segment_part *part;
    segment_visit_fn *visit;
    void *arg;
    uint64_t term;
    const uint8_t *at, *end; /* the term's postings not read yet */
};

/* I2: documents ascend within the layer's span, tf >= 1 and flagged only where it is above 1. */
static enum err_code walk_layer(struct walk *w, enum layer layer, uint32_t count, struct err *err)
{
    uint64_t base = w->part->head.base[layer];
    uint64_t limit = base + w->part->head.span[layer];
    uint64_t doc = base;
    const uint8_t *at = w->at;
    for (uint32_t i = 0; i < count; i++, doc++) {
        uint64_t head;
        uint64_t tf = 1;
        at = varint__get(at, w->end, &head);
        if (at == NULL)
            return segment__damaged(err);
        if ((head & 1) != 0) {
            at = varint__get(at, w->end, &tf);
            if (at == NULL || tf < 2 || tf > UINT32_MAX)
                return segment__damaged(err);
        }
        doc += head >> 1;
        if (doc >= limit || doc > UINT32_MAX)
            return segment__damaged(err);
        if (w->visit == NULL)
            continue;
        enum err_code rc = w->visit(w->term, layer, (uint32_t)doc, (uint32_t)tf, w->arg);
        if (rc != ERR_OK)
            return rc;
    }
    w->at = at;
    return ERR_OK;
}

static enum err_code walk_term(struct walk *w, struct err *err)
{
    unsigned next = 0; /* the least layer that may follow */
    while (w->at < w->end) {
        uint64_t head;
        w->at = varint__get(w->at, w->end, &head);
        if (w->at == NULL)
            return segment__damaged(err);
        enum layer layer = (enum layer)(head & 3);
        uint64_t count = head >> 2;
        if (layer < next || count == 0 || count > (size_t)(w->end - w->at))
            return segment__damaged(err);
        next = layer + 1U;
        enum err_code rc = walk_layer(w, layer, (uint32_t)count, err);
        if (rc != ERR_OK)
            return rc;
    }
    return ERR_OK;
}

enum err_code segment_walk(struct str part, segment_visit_fn *visit, void *arg, struct err *err)
{
    struct segment_part open;
    if (!segment__open(part, &open) || (open.head.terms == 0 && open.bytes != 0))
        return segment__damaged(err);
    struct walk w = {.part = &open, .visit = visit, .arg = arg};
    const uint8_t *reached = open.postings; /* postings lie side by side */
    for (uint32_t i = 0; i < open.head.terms; i++) {
        w.term = segment__term(&open, i);
        if (i != 0 && w.term <= segment__term(&open, i - 1))
            return segment__damaged(err); /* I1 */
        if (!segment__list(&open, i, &w.at, &w.end) || w.at != reached)
            return segment__damaged(err);
        reached = w.end;
        enum err_code rc = walk_term(&w, err);
        if (rc != ERR_OK)
            return rc;
    }
    return ERR_OK;
}
