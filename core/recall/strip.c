/* The strip: turns laid out session by session, so that a window is a sum over neighbours.
 *
 *      place     4 5 6 7 8 . . . . 13 14 15 . . . .      a gap of STRIP_REACH places between two
 *      document  0 1 3 4 7         2  5  6               runs: no window reaches over it
 *
 * Documents of one session need not be neighbours; places are. A term's counts are laid down by
 * place, and the blocks that they or their windows lie in are scored whole, in loops that compilers
 * turn into vector code: a third of what it took to go from turn to turn by their links. The last
 * STRIP_REACH places of a gap get scores too, which nobody asks for.
 *
 * A question with common words touches nearly all turns: all get a place, in one walk over their
 * rows. Otherwise those get one that are near a posting: those within STRIP_REACH have a score,
 * those within twice that have a part in the length of their windows. So a rare word costs nothing
 * in a space of any size but the array of turn_info.
 *
 * Sums of counts and of lengths are whole numbers below 2^24, so a window's sum is exact in any
 * order, and scores are the same to the last bit however they are come by. */
#include "core/recall/recall_int.h"

enum {
    SPREAD = 2 * STRIP_REACH,
    ROWS_A_POSTING = 32, /* a row on the way costs so much less than one that is looked for */
};

/* --- places --- */

void recall__turn_load(struct recall *r, struct turn_info *info, uint32_t doc,
                       const struct turn_row *row)
{
    info->episode = row->episode;
    info->length = row->n == 0 ? 0.0f : (float)lengths_get(r->lengths, LAYER_TURN, doc);
    info->flags = row->flags;
    info->prior = row->prior;
    info->named = r->n_named < r->n_speakers && recall__is_named(r, row->speaker_no);
    info->state |= TURN_LOADED;
}

static const struct postings *postings_of(const struct recall *r, uint32_t slot)
{
    return &r->postings[(size_t)slot * LAYERS + LAYER_TURN];
}

/* The turns near a posting, by their links. */
static uint32_t need_around(struct recall *r, uint32_t doc)
{
    uint32_t more = 0;
    for (int side = 0; side < 2; side++) {
        uint32_t at = doc;
        for (int d = 0; d <= SPREAD && at != UINT32_MAX; d++) {
            struct turn_row row;
            columns_turn(r->columns, at, &row);
            more += (r->turns[at].state & TURN_NEEDED) == 0;
            r->turns[at].state |= TURN_NEEDED;
            at = recall__link(r, side == 0 ? row.prev : row.next);
        }
    }
    return more;
}

static uint32_t need_each(struct recall *r, const struct postings *list, bool around)
{
    uint32_t more = 0;
    for (uint32_t i = 0; i < list->n; i++) {
        uint32_t doc = list->at[i].doc;
        if (doc >= r->n_docs)
            continue;
        if (around)
            more += need_around(r, doc);
        more += (r->turns[doc].state & TURN_NEEDED) == 0;
        r->turns[doc].state |= TURN_NEEDED;
    }
    return more;
}

/* How many turns get a place; `*all`: each, and none is marked. */
static uint32_t need(struct recall *r, bool *all)
{
    uint64_t postings = 0;
    uint32_t needed = 0;
    for (uint32_t i = 0; i < r->n_terms; i++)
        postings += postings_of(r, r->term_slot[i])->n;
    for (uint32_t i = 0; i < r->n_dates; i++)
        postings += postings_of(r, r->date_slot[i])->n;
    *all = postings * ROWS_A_POSTING > r->n_docs;
    if (*all)
        return r->n_docs;
    for (uint32_t i = 0; i < r->n_terms; i++)
        needed += need_each(r, postings_of(r, r->term_slot[i]), r->query->windows);
    for (uint32_t i = 0; i < r->n_dates; i++)
        needed += need_each(r, postings_of(r, r->date_slot[i]), false);
    return needed;
}

/* A run of turns that follow each other, from `doc` on. Arrival numbers ascend along a session, so
 * who comes first in the order of documents has nobody before it. */
static uint32_t lay_run(struct recall *r, uint32_t doc, uint32_t place, bool all)
{
    while (doc != UINT32_MAX) {
        struct turn_info *info = &r->turns[doc];
        struct turn_row row;
        if (info->place != 0 || (!all && (info->state & TURN_NEEDED) == 0))
            break;
        if (all && doc % COLUMN_ROWS == 0)
            columns_turn_ahead(r->columns, doc + COLUMN_ROWS);
        columns_turn(r->columns, doc, &row);
        if ((info->state & TURN_LOADED) == 0)
            recall__turn_load(r, info, doc, &row);
        info->place = place;
        r->strip.docs[place++] = doc + 1;
        doc = recall__link(r, row.next);
    }
    return place;
}

static uint32_t lay_out(struct recall *r, bool all)
{
    uint32_t place = STRIP_REACH;
    for (uint32_t doc = 0; doc < r->n_docs; doc++) {
        const struct turn_info *info = &r->turns[doc];
        if (info->place != 0 || (!all && (info->state & TURN_NEEDED) == 0))
            continue;
        uint32_t end = lay_run(r, doc, place, all);
        place = end;
        for (int i = 0; i < STRIP_REACH; i++)
            r->strip.docs[place++] = 0;
    }
    while (place % STRIP_BLOCK != 0)
        r->strip.docs[place++] = 0;
    return place;
}

enum err_code recall__strip_build(struct recall *r, struct err *err)
{
    struct strip *strip = &r->strip;
    bool all;
    uint32_t needed = need(r, &all);
    size_t most = ((size_t)needed * (1 + STRIP_REACH) + STRIP_REACH + STRIP_BLOCK);
    strip->docs = arena_alloc(r->arena, most * sizeof *strip->docs);
    if (strip->docs == NULL || most > UINT32_MAX)
        return recall__memory(err);
    memset(strip->docs, 0, STRIP_REACH * sizeof *strip->docs);
    strip->n = lay_out(r, all);
    size_t blocks = strip->n / STRIP_BLOCK;
    strip->tf = ARENA_ARRAY(r->arena, float, (size_t)strip->n + 2 * STRIP_REACH);
    strip->blocks = arena_alloc(r->arena, blocks * sizeof *strip->blocks);
    strip->state = ARENA_ARRAY(r->arena, uint8_t, blocks + 1);
    if (r->n_dates != 0)
        strip->date = ARENA_ARRAY(r->arena, float, strip->n);
    if (strip->tf == NULL || strip->blocks == NULL || strip->state == NULL ||
        (r->n_dates != 0 && strip->date == NULL))
        return recall__memory(err);
    strip->tf += STRIP_REACH;
    return ERR_OK;
}

/* --- scores --- */

/* The part of bm25_tf()'s denominator that the length makes. */
static inline float norm(const struct bm25 *p, float length)
{
    return p->k1 * (1.0f - p->b + p->b * length / p->avg);
}

static void make_ready(struct recall *r, uint32_t at)
{
    struct strip *strip = &r->strip;
    struct strip_block *block = &strip->blocks[at];
    float lengths[STRIP_BLOCK + 2 * STRIP_REACH], *middle = lengths + STRIP_REACH;
    if ((strip->state[at] & STRIP_READY) != 0)
        return;
    strip->state[at] |= STRIP_READY;
    for (int i = -STRIP_REACH; i < STRIP_BLOCK + STRIP_REACH; i++) {
        int64_t place = (int64_t)at * STRIP_BLOCK + i;
        uint32_t doc = place < 0 || place >= strip->n ? 0 : strip->docs[place];
        middle[i] = doc == 0 ? 0.0f : r->turns[doc - 1].length;
    }
    for (int i = 0; i < STRIP_BLOCK; i++) {
        float sum0 = middle[i], sum1 = sum0 + middle[i - 1] + middle[i + 1];
        float sum2 = sum1 + middle[i - 2] + middle[i + 2];
        float sum4 = sum2 + middle[i - 3] + middle[i + 3] + middle[i - 4] + middle[i + 4];
        block->norm0[i] = norm(&strip->p[0], sum0);
        block->norm1[i] = norm(&strip->p[1], sum1);
        block->norm2[i] = norm(&strip->p[2], sum2);
        block->norm4[i] = norm(&strip->p[3], sum4);
        block->own[i] = block->w1[i] = block->w2[i] = block->w4[i] = 0;
    }
}

/* bm25_tf() with the length's part worked out before; 0 where the term is not. */
static inline float saturate(float tf, float norm_of_length)
{
    return tf * (RECALL_K1 + 1.0f) / (tf + norm_of_length);
}

static void score_own(struct strip_block *restrict block, const float *restrict tf, float idf)
{
    for (int i = 0; i < STRIP_BLOCK; i++)
        block->own[i] += idf * saturate(tf[i], block->norm0[i]);
}

static void score_windows(struct strip_block *restrict block, const float *restrict tf, float idf)
{
    for (int i = 0; i < STRIP_BLOCK; i++) {
        float tf1 = tf[i] + tf[i - 1] + tf[i + 1];
        float tf2 = tf1 + tf[i - 2] + tf[i + 2];
        float tf4 = tf2 + tf[i - 3] + tf[i + 3] + tf[i - 4] + tf[i + 4];
        block->w1[i] += idf * saturate(tf1, block->norm1[i]);
        block->w2[i] += idf * saturate(tf2, block->norm2[i]);
        block->w4[i] += idf * saturate(tf4, block->norm4[i]);
    }
}

static void lay_down(struct recall *r, const struct postings *list)
{
    struct strip *strip = &r->strip;
    for (uint32_t i = 0; i < list->n; i++) {
        uint32_t doc = list->at[i].doc;
        if (doc >= r->n_docs)
            continue;
        uint32_t place = r->turns[doc].place;
        strip->tf[place] = (float)list->at[i].tf;
        strip->state[(place - STRIP_REACH) / STRIP_BLOCK] |= STRIP_DIRTY;
        strip->state[(place + STRIP_REACH) / STRIP_BLOCK] |= STRIP_DIRTY;
    }
}

void recall__strip_term(struct recall *r, const struct postings *list, float idf)
{
    struct strip *strip = &r->strip;
    uint32_t blocks = strip->n / STRIP_BLOCK;
    lay_down(r, list);
    for (uint32_t at = 0; at < blocks; at++) {
        const float *tf = strip->tf + (size_t)at * STRIP_BLOCK;
        if ((strip->state[at] & STRIP_DIRTY) == 0)
            continue;
        make_ready(r, at);
        score_own(&strip->blocks[at], tf, idf);
        if (r->query->windows)
            score_windows(&strip->blocks[at], tf, idf);
    }
    for (uint32_t at = 0; at < blocks; at++) {
        if ((strip->state[at] & STRIP_DIRTY) == 0)
            continue;
        strip->state[at] &= (uint8_t)~STRIP_DIRTY;
        memset(strip->tf + (size_t)at * STRIP_BLOCK, 0, STRIP_BLOCK * sizeof *strip->tf);
    }
}

void recall__strip_date(struct recall *r, const struct postings *list, float share)
{
    for (uint32_t i = 0; i < list->n; i++) {
        uint32_t doc = list->at[i].doc;
        if (doc >= r->n_docs)
            continue;
        uint32_t place = r->turns[doc].place;
        make_ready(r, place / STRIP_BLOCK);
        r->strip.date[place] += share;
    }
}
