/* fsck: invariant 5 of DESIGN 5. Every living node has its document and the reverse; N, total
 * length and each document's length follow from the postings. */
#include "core/index/lengths.h"
#include "storage/check_int.h"

static const char *const layer_names[LAYERS] = {"turn", "fact", "episode", "topic"};

/* What the next document's number follows from; a fact's document is its id - 1. */
static const uint8_t next_number[LAYERS] = {STAT_NEXT_DOC_TURN, STAT_NEXT_FACT,
                                            STAT_NEXT_DOC_EPISODE, STAT_NEXT_DOC_TOPIC};

/* --- whose a document is --- */

static void own(struct check *c, enum layer layer, uint32_t doc, uint32_t n, uint32_t node)
{
    struct check_docs *docs = &c->docs[layer];
    for (uint32_t i = 0; i < n; i++) {
        if (doc + i >= docs->n)
            check__problem(c, "%s_%u has document %u, which was not given out yet",
                           layer_names[layer], node, doc + i);
        else if (docs->owner[doc + i] != 0)
            check__problem(c, "%s_%u and %s_%u have the same document %u", layer_names[layer], node,
                           layer_names[layer], docs->owner[doc + i], doc + i);
        else
            docs->owner[doc + i] = node;
    }
}

static enum err_code make_docs(struct check *c, struct err *err)
{
    for (int layer = 0; layer < LAYERS; layer++) {
        struct check_docs *docs = &c->docs[layer];
        uint64_t n = c->stat.v[next_number[layer]] - (layer == LAYER_FACT);
        docs->n = n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
        docs->owner = check__array(c, docs->n + 1u, sizeof *docs->owner, err);
        docs->length = check__array(c, docs->n + 1u, sizeof *docs->length, err);
        docs->tf_sum = check__array(c, docs->n + 1u, sizeof *docs->tf_sum, err);
        docs->ones = check__array(c, docs->n + 1u, sizeof *docs->ones, err);
        if (docs->owner == NULL || docs->length == NULL || docs->tf_sum == NULL ||
            docs->ones == NULL)
            return ERR_EXHAUSTED;
    }
    for (uint32_t i = 0; i < c->n_turns; i++)
        own(c, LAYER_TURN, c->turns[i].doc, c->turns[i].docs, c->turns[i].n);
    c->hashes = check__array(c, c->docs[LAYER_FACT].n + 1u, sizeof *c->hashes, err);
    if (c->hashes == NULL)
        return ERR_EXHAUSTED;
    for (uint32_t i = 0; i < c->n_facts; i++) {
        uint32_t doc = c->facts[i].id - 1;
        own(c, LAYER_FACT, doc, 1, c->facts[i].id);
        if (doc < c->docs[LAYER_FACT].n)
            c->hashes[doc].term = fact_hash_term(c->facts[i].hash);
    }
    for (uint32_t i = 0; i < c->n_episodes; i++)
        own(c, LAYER_EPISODE, c->episodes[i].record.doc, 1, c->episodes[i].record.id);
    for (uint32_t i = 0; i < c->n_topics; i++)
        own(c, LAYER_TOPIC, c->topics[i].record.doc, 1, c->topics[i].record.id);
    return ERR_OK;
}

/* --- lengths --- */

static enum err_code load_lengths(struct check *c, const struct store_item *item, struct err *err)
{
    (void)err;
    unsigned layer = item->key.len == 5 ? (unsigned char)item->key.at[0] : LAYERS;
    if (layer >= LAYERS || item->value.len > LENGTH_BLOCK) {
        check__problem(c, "a block of lengths is damaged");
        return ERR_OK;
    }
    uint64_t doc = (uint64_t)be32_get(item->key.at + 1) * LENGTH_BLOCK;
    struct check_docs *docs = &c->docs[layer];
    for (size_t i = 0; i < item->value.len; i++, doc++) {
        uint8_t length = (uint8_t)item->value.at[i];
        if (doc < docs->n)
            docs->length[doc] = length;
        else if (length != 0)
            check__problem(c, "a length of %s document %llu, which was not given out yet",
                           layer_names[layer], (unsigned long long)doc);
    }
    return ERR_OK;
}

/* --- postings --- */

struct segments {
    struct check *c;
    uint64_t docs;       /* as the segments' heads say */
    uint64_t small;      /* of level 0 */
    uint32_t parts_left; /* of the segment at hand */
    uint64_t seq;        /* its key */
};

static enum err_code count_posting(uint64_t term, enum layer layer, uint32_t doc, uint32_t tf,
                                   void *arg)
{
    struct check *c = arg;
    if (doc < c->docs[layer].n) {
        if (layer == LAYER_FACT && c->hashes[doc].term == term)
            c->hashes[doc].found = true;
        c->docs[layer].tf_sum[doc] += tf;
        c->docs[layer].ones[doc] += tf == 1;
    } else {
        check__problem(c, "a posting of %s document %u, which was not given out yet",
                       layer_names[layer], doc);
    }
    return ERR_OK;
}

static void check_part(struct segments *s, const struct store_item *item)
{
    struct check *c = s->c;
    struct segment_head head;
    struct err err;
    uint64_t seq = be64_get(item->key.at);
    uint32_t part =
        ((uint32_t)(unsigned char)item->key.at[8] << 8) | (unsigned char)item->key.at[9];
    if (segment_head_read(item->value, &head, &err) != ERR_OK ||
        segment_walk(item->value, count_posting, c, &err) != ERR_OK) {
        check__problem(c, "segment %llu.%u: %s", (unsigned long long)seq, part, err.message);
        return;
    }
    if (part == 0) {
        if (s->parts_left != 0)
            check__problem(c, "segment %llu lacks parts", (unsigned long long)s->seq);
        s->parts_left = head.parts;
        s->seq = seq;
        s->docs += head.docs;
        s->small += head.level == 0;
    }
    if (s->seq != seq || s->parts_left == 0 || part != head.parts - s->parts_left)
        check__problem(c, "segment %llu.%u is out of order", (unsigned long long)seq, part);
    else
        s->parts_left--;
    if (seq > c->stat.v[STAT_SEQ])
        check__problem(c, "segment %llu is above the seq", (unsigned long long)seq);
}

static enum err_code check_segments(struct check *c, struct segments *s, struct err *err)
{
    struct store_cursor *cursor = NULL;
    struct store_item item;
    enum err_code code = store_cursor_open(c->txn, c->space, KIND_SEGMENT, &cursor, err);
    if (code == ERR_OK)
        code = store_cursor_next(cursor, &item, err);
    while (code == ERR_OK && item.key.at != NULL) {
        if (item.key.len == SEGMENT_KEY)
            check_part(s, &item);
        code = store_cursor_next(cursor, &item, err);
    }
    store_cursor_close(cursor);
    if (s->parts_left != 0)
        check__problem(c, "segment %llu lacks parts", (unsigned long long)s->seq);
    return code;
}

/* --- together --- */

/* The length counts words, not dates (core/text/date_terms.h). A date is a posting of 1 in a turn
 * or a fact; an episode sums those of its turns. */
static bool postings_give(const struct check_docs *docs, int layer, uint32_t doc)
{
    uint32_t most = docs->tf_sum[doc];
    if (layer == LAYER_EPISODE)
        return docs->length[doc] <= length_encode(most);
    return docs->length[doc] <= length_encode(most) &&
           docs->length[doc] >= length_encode(most - docs->ones[doc]);
}

static uint64_t check_layer(struct check *c, int layer)
{
    const struct check_docs *docs = &c->docs[layer];
    uint64_t live = 0, total = 0;
    for (uint32_t doc = 0; doc < docs->n; doc++) {
        uint8_t length = docs->length[doc];
        live += length != 0;
        total += length_decode(length);
        if (length == 0 && docs->owner[doc] != 0)
            check__problem(c, "%s_%u is not indexed (document %u)", layer_names[layer],
                           docs->owner[doc], doc);
        else if (length != 0 && docs->owner[doc] == 0)
            check__problem(c, "%s document %u lives and belongs to nothing", layer_names[layer],
                           doc);
        else if (length != 0 && !postings_give(docs, layer, doc))
            check__problem(c, "%s document %u: its postings sum to %u, its length says %u",
                           layer_names[layer], doc, docs->tf_sum[doc], length_decode(length));
    }
    check__equal(c, layer_names[layer], c->stat.v[STAT_DOCS_TURN + layer], live);
    check__equal(c, layer_names[layer], c->stat.v[STAT_LENGTH_TURN + layer], total);
    return live;
}

static void check_hashes(struct check *c)
{
    for (uint32_t i = 0; i < c->n_facts; i++) {
        uint32_t doc = c->facts[i].id - 1;
        if (doc < c->docs[LAYER_FACT].n && !c->hashes[doc].found)
            check__problem(c, "fact_%u is not found by its hash", c->facts[i].id);
    }
}

enum err_code check__index(struct check *c, struct err *err)
{
    struct segments s = {.c = c};
    uint64_t live = 0;
    enum err_code code = make_docs(c, err);
    if (code == ERR_OK)
        code = check__each(c, KIND_LENGTH, load_lengths, err);
    if (code == ERR_OK)
        code = check_segments(c, &s, err);
    for (int layer = 0; code == ERR_OK && layer < LAYERS; layer++)
        live += check_layer(c, layer);
    if (code != ERR_OK)
        return code;
    check_hashes(c);
    check__equal(c, "SMALL_SEGMENTS", c->stat.v[STAT_SMALL_SEGMENTS], s.small);
    check__equal(c, "DEAD_DOCS", c->stat.v[STAT_DEAD_DOCS], s.docs - live);
    return ERR_OK;
}
