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

void recall__turn_load(struct recall *r, struct turn_info *info, const struct turn_row *row,
                       uint32_t length)
{
    info->episode = row->episode;
    info->length = row->n == 0 ? 0.0f : (float)length;
    info->flags = row->flags;
    info->prior = row->prior;
    info->named = r->n_named < r->n_speakers && recall__is_named(r, row->speaker_no);
    info->state |= TURN_LOADED;
}

/* Loads a turn that gets a place; until then the link to the next one stands there. */
static void need(struct recall *r, uint32_t doc, const struct turn_row *row, uint32_t length)
{
    struct turn_info *info = &r->turns[doc];
    recall__turn_load(r, info, row, length);
    info->place = row->next;
    info->state |= TURN_NEEDED;
}

static const struct postings *postings_of(const struct recall *r, uint32_t slot)
{
    return &r->postings[(size_t)slot * LAYERS + LAYER_TURN];
}

static uint64_t count_postings(const struct recall *r)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < r->n_terms; i++)
        n += postings_of(r, r->term_slot[i])->n;
    for (uint32_t i = 0; i < r->n_dates; i++)
        n += postings_of(r, r->date_slot[i])->n;
    return n;
}

static uint32_t need_all(struct recall *r)
{
    _Static_assert(LENGTH_BLOCK % COLUMN_ROWS == 0, "rows of a block have their lengths in one");
    for (uint32_t doc = 0; doc < r->n_docs; doc += COLUMN_ROWS) {
        struct turn_row rows[COLUMN_ROWS];
        struct str codes = lengths_codes(r->lengths, LAYER_TURN, doc / LENGTH_BLOCK);
        columns_turn_ahead(r->columns, doc + COLUMN_ROWS);
        columns_turn_block(r->columns, doc, rows);
        for (uint32_t i = 0; i < COLUMN_ROWS && doc + i < r->n_docs; i++) {
            uint32_t at = doc % LENGTH_BLOCK + i;
            need(r, doc + i, &rows[i], at < codes.len ? length_decode((uint8_t)codes.at[at]) : 0);
        }
    }
    return r->n_docs;
}

/* Reads a turn's row, and marks it when it is new; then counts it. */
static uint32_t need_row(struct recall *r, uint32_t doc, struct turn_row *row)
{
    columns_turn(r->columns, doc, row);
    if ((r->turns[doc].state & TURN_NEEDED) != 0)
        return 0;
    need(r, doc, row, lengths_get(r->lengths, LAYER_TURN, doc));
    return 1;
}

/* The turns at most `reach` links away. How many of them are new. */
static uint32_t need_around(struct recall *r, uint32_t doc, int reach)
{
    struct turn_row row;
    uint32_t more = 0, at = doc;
    for (int d = 0; d <= reach && at != UINT32_MAX; d++) {
        more += need_row(r, at, &row);
        at = recall__link(r, row.prev);
    }
    at = doc;
    for (int d = 0; d < reach; d++) {
        at = recall__link(r, r->turns[at].place);
        if (at == UINT32_MAX)
            break;
        if ((r->turns[at].state & TURN_NEEDED) == 0)
            more += need_row(r, at, &row);
    }
    return more;
}

static uint32_t need_each(struct recall *r, const struct postings *list, int reach)
{
    uint32_t more = 0;
    for (uint32_t i = 0; i < list->n; i++)
        if (list->at[i].doc < r->n_docs)
            more += need_around(r, list->at[i].doc, reach);
    return more;
}

/* Marks who gets a place; how many. */
static uint32_t need_some(struct recall *r)
{
    uint32_t needed = 0;
    for (uint32_t i = 0; i < r->n_terms; i++)
        needed += need_each(r, postings_of(r, r->term_slot[i]), r->query->windows ? SPREAD : 0);
    for (uint32_t i = 0; i < r->n_dates; i++)
        needed += need_each(r, postings_of(r, r->date_slot[i]), 0);
    return needed;
}

/* A run of turns that follow each other, from `doc` on. Arrival numbers ascend along a session, so
 * who comes first in the order of documents has nobody before it. */
static uint32_t lay_run(struct recall *r, uint32_t doc, uint32_t place)
{
    struct strip *strip = &r->strip;
    while (doc != UINT32_MAX) {
        struct turn_info *info = &r->turns[doc];
        if ((info->state & (TURN_NEEDED | TURN_LAID)) != TURN_NEEDED)
            break;
        strip->docs[place] = doc + 1;
        strip->lengths[place] = info->length;
        if ((info->flags & TURN_ROW_DONE) == 0)
            strip->state[place / STRIP_BLOCK] |= STRIP_RECENT;
        doc = recall__link(r, info->place);
        info->place = place++;
        info->state |= TURN_LAID;
    }
    return place;
}

static uint32_t lay_gap(struct strip *strip, uint32_t place, uint32_t end)
{
    for (; place < end; place++) {
        strip->docs[place] = 0;
        strip->lengths[place] = 0;
    }
    return place;
}

static void lay_out(struct recall *r)
{
    struct strip *strip = &r->strip;
    uint32_t place = lay_gap(strip, 0, STRIP_REACH);
    for (uint32_t doc = 0; doc < r->n_docs; doc++) {
        uint32_t end = lay_run(r, doc, place);
        if (end != place)
            place = lay_gap(strip, end, end + STRIP_REACH);
    }
    strip->n = (place + STRIP_BLOCK - 1) / STRIP_BLOCK * STRIP_BLOCK;
    (void)lay_gap(strip, place, strip->n + STRIP_REACH);
}

enum err_code recall__strip_build(struct recall *r, struct err *err)
{
    struct strip *strip = &r->strip;
    bool all = count_postings(r) * ROWS_A_POSTING > r->n_docs;
    uint64_t needed = all ? need_all(r) : need_some(r);
    uint64_t most = needed * (1 + STRIP_REACH) + STRIP_BLOCK + 2 * STRIP_REACH;
    if (most > UINT32_MAX)
        return recall__memory(err);
    strip->docs = arena_alloc(r->arena, most * sizeof *strip->docs);
    strip->lengths = arena_alloc(r->arena, (most + STRIP_REACH) * sizeof *strip->lengths);
    strip->state = ARENA_ARRAY(r->arena, uint8_t, most / STRIP_BLOCK + 1);
    if (strip->docs == NULL || strip->lengths == NULL || strip->state == NULL)
        return recall__memory(err);
    memset(strip->lengths, 0, STRIP_REACH * sizeof *strip->lengths);
    strip->lengths += STRIP_REACH;
    lay_out(r);
    strip->tf = ARENA_ARRAY(r->arena, float, (size_t)strip->n + 2 * STRIP_REACH);
    strip->blocks = arena_alloc(r->arena, strip->n / STRIP_BLOCK * sizeof *strip->blocks);
    if (r->n_dates != 0)
        strip->date = ARENA_ARRAY(r->arena, float, strip->n);
    if (strip->tf == NULL || strip->blocks == NULL || (r->n_dates != 0 && strip->date == NULL))
        return recall__memory(err);
    strip->tf += STRIP_REACH;
    return ERR_OK;
}

/* --- scores --- */

/* `length` has STRIP_REACH more on either side. */
static void set_norms(struct strip_block *restrict block, const float *restrict length,
                      const struct bm25 p[4])
{
    const struct bm25 p0 = p[0], p1 = p[1], p2 = p[2], p4 = p[3];
    for (int i = 0; i < STRIP_BLOCK; i++) {
        float sum1 = length[i] + length[i - 1] + length[i + 1];
        float sum2 = sum1 + length[i - 2] + length[i + 2];
        float sum4 = sum2 + length[i - 3] + length[i + 3] + length[i - 4] + length[i + 4];
        block->norm0[i] = bm25_norm(&p0, length[i]);
        block->norm1[i] = bm25_norm(&p1, sum1);
        block->norm2[i] = bm25_norm(&p2, sum2);
        block->norm4[i] = bm25_norm(&p4, sum4);
    }
}

static void make_ready(struct strip *strip, uint32_t at)
{
    struct strip_block *block = &strip->blocks[at];
    if ((strip->state[at] & STRIP_READY) != 0)
        return;
    strip->state[at] |= STRIP_READY;
    set_norms(block, strip->lengths + (size_t)at * STRIP_BLOCK, strip->p);
    memset(block, 0, offsetof(struct strip_block, norm0));
}

static void score_own(struct strip_block *restrict block, const float *restrict tf, float idf)
{
    for (int i = 0; i < STRIP_BLOCK; i++)
        block->own[i] += idf * bm25_saturate(RECALL_K1, tf[i], block->norm0[i]);
}

static void score_windows(struct strip_block *restrict block, const float *restrict tf, float idf)
{
    for (int i = 0; i < STRIP_BLOCK; i++) {
        float tf1 = tf[i] + tf[i - 1] + tf[i + 1];
        float tf2 = tf1 + tf[i - 2] + tf[i + 2];
        float tf4 = tf2 + tf[i - 3] + tf[i + 3] + tf[i - 4] + tf[i + 4];
        block->w1[i] += idf * bm25_saturate(RECALL_K1, tf1, block->norm1[i]);
        block->w2[i] += idf * bm25_saturate(RECALL_K1, tf2, block->norm2[i]);
        block->w4[i] += idf * bm25_saturate(RECALL_K1, tf4, block->norm4[i]);
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
        make_ready(strip, at);
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
        make_ready(&r->strip, place / STRIP_BLOCK);
        r->strip.date[place] += share;
    }
}
