#include "core/index/fold_int.h"

#include <stdlib.h>

/* Reads the parts of one segment in term order. */
struct input {
    const struct fold_segment *segment;
    uint32_t part_no;
    struct segment_part part;
    uint32_t at;   /* the term in it that comes next */
    uint64_t term; /* its hash */
    bool done;
};

struct merge {
    struct arena *arena;
    struct decoder decoder;
    struct input *inputs;
    uint32_t n;
    struct segment_head head; /* of the result */
    struct posting_list lists[LAYERS];
    struct segment_out out;
};

static enum err_code memory(struct err *err)
{
    return err_set(err, ERR_EXHAUSTED, "out of memory while folding index segments");
}

/* Makes `term` the next one, opening parts as needed. */
static enum err_code input_settle(struct input *in, struct err *err)
{
    while (in->at == in->part.head.terms) {
        in->part_no++;
        if (in->part_no >= in->segment->n_parts) {
            in->done = true;
            return ERR_OK;
        }
        in->at = 0;
        if (!segment__open(in->segment->parts[in->part_no], &in->part))
            return segment__damaged(err);
    }
    in->term = segment__term(&in->part, in->at);
    return ERR_OK;
}

static enum err_code input_open(struct input *in, const struct fold_segment *segment,
                                struct err *err)
{
    *in = (struct input){.segment = segment};
    if (!segment__open(segment->parts[0], &in->part))
        return segment__damaged(err);
    return input_settle(in, err);
}

/* Terms of one input must ascend, or the merge would never end well (I1). */
static enum err_code input_next(struct input *in, struct err *err)
{
    uint64_t before = in->term;
    in->at++;
    enum err_code rc = input_settle(in, err);
    if (rc == ERR_OK && !in->done && in->term <= before)
        rc = segment__damaged(err);
    return rc;
}

static bool least_term(const struct merge *m, uint64_t *term)
{
    bool found = false;
    for (uint32_t i = 0; i < m->n; i++) {
        const struct input *in = &m->inputs[i];
        if (in->done || (found && in->term >= *term))
            continue;
        *term = in->term;
        found = true;
    }
    return found;
}

static int by_doc(const void *a, const void *b)
{
    const struct posting *x = a;
    const struct posting *y = b;
    return (x->doc > y->doc) - (x->doc < y->doc);
}

static bool is_ascending(const struct posting_list *list)
{
    for (uint32_t i = 1; i < list->n; i++) {
        if (list->at[i - 1].doc >= list->at[i].doc)
            return false;
    }
    return true;
}

/* Inputs come in order of their documents, so that sorting is for the unforeseen only. A document
 * named twice, or out of the span that its segment tells, is damage. */
static enum err_code order_lists(struct merge *m, struct err *err)
{
    for (unsigned layer = 0; layer < LAYERS; layer++) {
        struct posting_list *list = &m->lists[layer];
        if (!is_ascending(list)) {
            qsort(list->at, list->n, sizeof *list->at, by_doc);
            if (!is_ascending(list))
                return segment__damaged(err); /* I2 */
        }
        uint64_t end = (uint64_t)m->head.base[layer] + m->head.span[layer];
        if (list->n != 0 &&
            (list->at[0].doc < m->head.base[layer] || list->at[list->n - 1].doc >= end))
            return segment__damaged(err);
    }
    return ERR_OK;
}

static enum err_code merge_term(struct merge *m, uint64_t term, struct err *err)
{
    for (unsigned layer = 0; layer < LAYERS; layer++)
        m->lists[layer].n = 0;
    for (uint32_t i = 0; i < m->n; i++) {
        struct input *in = &m->inputs[i];
        if (in->done || in->term != term)
            continue;
        enum err_code rc = segment__decode(&in->part, in->at, &m->decoder, m->lists, err);
        if (rc == ERR_OK)
            rc = input_next(in, err);
        if (rc != ERR_OK)
            return rc;
    }
    enum err_code rc = order_lists(m, err);
    if (rc != ERR_OK)
        return rc;
    uint32_t living = 0;
    for (unsigned layer = 0; layer < LAYERS; layer++)
        living |= m->lists[layer].n;
    if (living != 0)
        segment__out_term(&m->out, term, m->lists, m->head.base);
    return ERR_OK;
}

static enum err_code merge_all(struct merge *m, const struct fold_segment *segments,
                               struct err *err)
{
    m->inputs = ARENA_ARRAY(m->arena, struct input, m->n);
    if (m->inputs == NULL)
        return memory(err);
    for (uint32_t i = 0; i < m->n; i++) {
        enum err_code rc = input_open(&m->inputs[i], &segments[i], err);
        if (rc != ERR_OK)
            return rc;
    }
    segment__out_init(&m->out, m->arena);
    uint64_t term = 0;
    while (least_term(m, &term)) {
        enum err_code rc = merge_term(m, term, err);
        if (rc != ERR_OK)
            return rc;
    }
    return segment__out_finish(&m->out, &m->head) ? ERR_OK : memory(err);
}

/* The hull of the inputs' documents. */
static void join_spans(struct segment_head *to, const struct segment_head *from)
{
    for (unsigned layer = 0; layer < LAYERS; layer++) {
        if (from->span[layer] == 0)
            continue;
        uint64_t base = from->base[layer];
        uint64_t end = base + from->span[layer];
        if (to->span[layer] != 0) {
            uint64_t old_end = (uint64_t)to->base[layer] + to->span[layer];
            base = base < to->base[layer] ? base : to->base[layer];
            end = end > old_end ? end : old_end;
        }
        to->base[layer] = (uint32_t)base;
        to->span[layer] = (uint32_t)(end - base);
    }
}

static struct segment_head result_head(const struct fold_plan *plan,
                                       const struct fold_segment *segments)
{
    struct segment_head head = {.level = plan->level};
    if (plan->n == 1 && segments->head.level == plan->level)
        head.rewritten = (segments->head.rewritten + 1) & 15;
    for (uint32_t i = 0; i < plan->n; i++) {
        join_spans(&head, &segments[i].head);
        head.docs += segments[i].living;
    }
    return head;
}

/* The inputs' keys go, but for those that are written again. */
static void put_result(struct batch *batch, const struct fold_plan *plan,
                       const struct fold_segment *segments, const struct segment_out *out)
{
    char key[SEGMENT_KEY];
    struct str rest = {key, sizeof key};
    uint32_t kept = plan->living != 0 ? out->parts : 0;
    for (uint32_t i = 0; i < plan->n; i++) {
        segment__key(key, segments[i].seq, 0);
        batch_need_version(batch, KIND_SEGMENT, rest, le64_get(segments[i].parts[0].at));
        for (uint32_t part = i == 0 ? kept : 0; part < segments[i].n_parts; part++) {
            segment__key(key, segments[i].seq, part);
            (void)batch_del(batch, KIND_SEGMENT, rest, 0);
        }
    }
    const struct segment_value *value = kept != 0 ? out->first : NULL;
    for (uint32_t part = 0; value != NULL; value = value->next, part++) {
        segment__key(key, segments[0].seq, part);
        (void)batch_put(batch, KIND_SEGMENT, rest, (struct str){value->at, value->len}, 0);
    }
    if (segments[0].head.level == 0)
        batch_add(batch, STAT_SMALL_SEGMENTS, -(int64_t)plan->n);
    batch_add(batch, STAT_DEAD_DOCS, -(int64_t)plan->dropped);
}

enum err_code segment_fold(struct store_txn *txn, uint64_t space, struct batch *batch, bool *did,
                           struct err *err)
{
    *did = false;
    struct merge m = {.arena = batch->arena};
    struct lengths *lengths = lengths_new(txn, space, batch->arena);
    if (lengths == NULL)
        return memory(err);
    m.decoder = (struct decoder){lengths, batch->arena, (1U << LAYERS) - 1};
    struct fold_plan plan;
    enum err_code rc = fold__plan(txn, space, lengths, batch->arena, &plan, err);
    if (rc != ERR_OK || plan.n == 0)
        return rc;
    m.n = plan.n;
    m.head = result_head(&plan, plan.first);
    rc = merge_all(&m, plan.first, err);
    if (rc == ERR_OK)
        rc = lengths_error(lengths, err);
    if (rc != ERR_OK)
        return rc;
    put_result(batch, &plan, plan.first, &m.out);
    *did = batch_ok(batch);
    return *did ? ERR_OK : memory(err);
}
