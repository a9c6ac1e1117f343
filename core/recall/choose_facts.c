/* Facts, recent turns and turns without a fact (DESIGN 7, "What is scored").
 *
 * All facts of a turn share its signals, and have their own text's. A fact's factor is its turn's:
 * how much the turn states (prior), and whether the question names who said it. What a factor of 0
 * makes worthless is not offered. Who is offered:
 *
 *   touched turns       a word of the question is in the turn or its windows, or a date
 *   of whole episodes   turns without a word, in an episode that matches: they have its score
 *   by their own text   facts whose turn has no word of it ("asked …", a resolved date)
 *   by their vector     the facts and turns nearest to the question, without any word of it
 *   once more           facts first said elsewhere that a touched turn repeats
 *
 * The second and third are skipped where even the best of them could not come into the list, which
 * in a large space is nearly always. */
#include "core/recall/recall_int.h"

/* Turns that repeat facts; looked at last, when their first sources are in the list. */
struct again {
    uint32_t *docs;
    uint32_t n;
};

struct offering {
    struct recall *r;
    struct again again;
    float best_episode;
    float most_factor;
    float most_vector; /* what vectors can add to a sum */
};

static float prior_of(const struct turn_info *info)
{
    return info->prior == 0 && (info->flags & TURN_ROW_DONE) == 0
               ? RECALL_PRIOR_UNKNOWN
               : (float)info->prior / ((float)info->prior + RECALL_PRIOR_HALF);
}

static float factor_of(const struct turn_info *info)
{
    return info->named ? prior_of(info) * RECALL_SPEAKER_FACTOR : prior_of(info);
}

static float episode_signal(const struct recall *r, uint32_t episode)
{
    if (episode == 0 || r->query->episodes == 0 || episode >= r->stat.v[STAT_NEXT_EPISODE])
        return 0;
    return r->episode_own[episode - 1] / r->reach;
}

static void turn_signals(const struct recall *r, const struct turn_info *info, struct candidate *c)
{
    const struct strip *strip = &r->strip;
    c->signal[SIGNAL_EPISODE] = episode_signal(r, info->episode);
    c->signal[SIGNAL_TURN_VECTOR] = recall__nearness(r, LAYER_TURN, c->turn_doc);
    if (info->place == 0 || !recall__is_touched(strip, info->place))
        return;
    const struct strip_block *block = &strip->blocks[info->place / STRIP_BLOCK];
    uint32_t i = info->place % STRIP_BLOCK;
    c->signal[SIGNAL_TURN] = block->own[i] / r->reach;
    c->signal[SIGNAL_WINDOW1] = block->w1[i] / r->reach;
    c->signal[SIGNAL_WINDOW2] = block->w2[i] / r->reach;
    c->signal[SIGNAL_WINDOW4] = block->w4[i] / r->reach;
    c->signal[SIGNAL_DATE] = strip->date != NULL ? strip->date[info->place] : 0;
}

/* What the signals that a turn's facts share add up to. */
static float shared_sum(const struct recall *r, const struct candidate *c)
{
    const float *weights = r->weights[STAGE_FACTS];
    float sum = 0;
    for (int s = 0; s < SIGNALS; s++)
        sum += s == SIGNAL_OWN || s == SIGNAL_VECTOR ? 0 : weights[s] * c->signal[s];
    return sum;
}

static float own_sum(const struct recall *r, float own)
{
    return r->weights[STAGE_FACTS][SIGNAL_OWN] * own / r->reach;
}

static float fact_sum(const struct recall *r, uint32_t id)
{
    return own_sum(r, r->fact_own[id - 1]) +
           r->weights[STAGE_FACTS][SIGNAL_VECTOR] * recall__nearness(r, LAYER_FACT, id - 1);
}

/* The most that a fact's own vector adds to a sum, or a turn's that stands for itself. */
static float most_near(const struct recall *r)
{
    float nearest = r->nearest_fact > r->nearest_turn ? r->nearest_fact : r->nearest_turn;
    return r->weights[STAGE_FACTS][SIGNAL_VECTOR] * nearest;
}

/* A turn's nearness is its own where it stands for itself. */
static struct candidate bare_turn(const struct candidate *turn)
{
    struct candidate c = *turn;
    c.signal[SIGNAL_VECTOR] = c.signal[SIGNAL_TURN_VECTOR];
    c.signal[SIGNAL_TURN_VECTOR] = 0;
    return c;
}

static bool is_valid_at(struct recall *r, uint32_t id)
{
    struct fact_row row;
    if (!r->query->has_as_of)
        return true;
    columns_fact(r->columns, id, &row);
    return row.valid_from <= r->query->as_of_ms && r->query->as_of_ms < row.valid_to;
}

static bool is_alive(struct recall *r, uint32_t id)
{
    return id != 0 && id < r->stat.v[STAT_NEXT_FACT] &&
           lengths_get(r->lengths, LAYER_FACT, id - 1) != 0;
}

static enum err_code offer_fact(struct recall *r, const struct candidate *turn, uint32_t id,
                                bool again, struct err *err)
{
    struct candidate c = *turn;
    c.id = c.group = id;
    c.signal[SIGNAL_OWN] = r->fact_own[id - 1] / r->reach;
    c.signal[SIGNAL_VECTOR] = recall__nearness(r, LAYER_FACT, id - 1);
    if (turn->cut != NULL || !is_valid_at(r, id))
        return recall__offer(r, STAGE_FACTS, &c, turn->cut != NULL ? turn->cut : "filter", err);
    return again ? recall__push_again(r, &r->stage[STAGE_FACTS], &c, err)
                 : recall__push(r, &r->stage[STAGE_FACTS], &c, err);
}

/* Facts first said elsewhere that this turn repeats. */
static enum err_code offer_repeats(struct recall *r, const struct candidate *turn, uint32_t n,
                                   struct err *err)
{
    struct store_cursor *cursor = NULL;
    struct store_item item;
    char key[4];
    be32_set(key, n);
    enum err_code rc = store_cursor_open(r->txn, r->space, KIND_FACT_SOURCE, &cursor, err);
    if (rc == ERR_OK)
        rc = store_cursor_seek(cursor, (struct str){key, sizeof key}, &item, err);
    while (rc == ERR_OK && item.key.at != NULL && item.key.len == 8 && be32_get(item.key.at) == n) {
        uint32_t id = be32_get(item.key.at + 4);
        if (is_alive(r, id))
            rc = offer_fact(r, turn, id, true, err);
        if (rc == ERR_OK)
            rc = store_cursor_next(cursor, &item, err);
    }
    store_cursor_close(cursor);
    return rc;
}

/* Why the facts of a turn can't be in the reply; NULL: they can. */
static const char *turn_cut(const struct recall *r, const struct turn_row *row)
{
    bool gated = r->query->gate == GATE_STRICT && r->query->episodes != 0 &&
                 (row->flags & TURN_ROW_DONE) != 0;
    if (r->filtered && !recall__turn_passes(r, row))
        return "filter";
    if (gated && (row->episode == 0 || row->episode >= r->stat.v[STAT_NEXT_EPISODE] ||
                  !r->episode_chosen[row->episode - 1]))
        return "gate";
    return NULL;
}

static bool remember(struct recall *r, struct again *again, uint32_t doc)
{
    if (again->docs == NULL)
        again->docs = arena_alloc(r->arena, sizeof(uint32_t) * (size_t)r->n_docs);
    if (again->docs == NULL)
        return false;
    again->docs[again->n++] = doc;
    return true;
}

/* The facts made of this document; a turn that no living fact cites stands for itself. */
static enum err_code offer_facts(struct offering *o, const struct candidate *turn,
                                 const struct turn_row *row, struct err *err)
{
    struct recall *r = o->r;
    const struct candidates *list = &r->stage[STAGE_FACTS];
    float shared = shared_sum(r, turn);
    enum err_code rc = ERR_OK;
    uint32_t last = row->fact_first + row->fact_count, living = 0;
    for (uint32_t id = row->fact_first; rc == ERR_OK && id < last; id++) {
        if (!is_alive(r, id))
            continue;
        living++;
        float sum = shared + fact_sum(r, id);
        if (r->generation != NULL && sum <= 0)
            continue; /* it only stands beside one that is near */
        if (turn->cut != NULL || !recall__is_hopeless(list, sum, turn->factor))
            rc = offer_fact(r, turn, id, false, err);
    }
    if (rc == ERR_OK && (row->flags & TURN_ROW_MORE) != 0)
        return remember(r, &o->again, turn->turn_doc) ? ERR_OK : recall__memory(err);
    if (rc == ERR_OK && turn->cut == NULL && living == 0) {
        struct candidate bare = bare_turn(turn);
        rc = recall__push(r, &r->bare, &bare, err);
    }
    return rc;
}

static enum err_code offer_recent(struct recall *r, const struct candidate *turn, uint32_t n,
                                  struct err *err)
{
    struct candidate c = bare_turn(turn);
    c.group = n;
    if (c.cut != NULL)
        return recall__offer(r, STAGE_RECENT, &c, c.cut, err);
    enum err_code rc = recall__push_again(r, &r->stage[STAGE_RECENT], &c, err);
    return rc == ERR_OK ? recall__push(r, &r->parts, &c, err) : rc;
}

/* True when no fact of the turn can come into the list. Only turns with facts: the others are few,
 * and explain wants to know what the filters cut. */
static bool is_hopeless(const struct recall *r, const struct turn_info *info,
                        const struct candidate *c)
{
    float most = shared_sum(r, c) + own_sum(r, r->best_fact) + most_near(r);
    return (info->flags & TURN_ROW_DONE) != 0 && !r->query->explain &&
           recall__is_hopeless(&r->stage[STAGE_FACTS], most, c->factor);
}

/* False: it can't be in the reply. */
static bool weigh_turn(struct recall *r, uint32_t doc, struct turn_row *row, struct candidate *c)
{
    const struct turn_info *info = recall__turn(r, doc);
    *c = (struct candidate){.id = doc, .turn_doc = doc, .factor = factor_of(info)};
    if (info->length == 0 || c->factor == 0)
        return false;
    turn_signals(r, info, c);
    if (is_hopeless(r, info, c))
        return false;
    columns_turn(r->columns, doc, row);
    c->cut = turn_cut(r, row);
    return c->cut == NULL || r->query->explain;
}

static enum err_code offer_turn(struct offering *o, uint32_t doc, struct err *err)
{
    struct turn_row row;
    struct candidate c;
    if (!weigh_turn(o->r, doc, &row, &c))
        return ERR_OK;
    if ((row.flags & TURN_ROW_DONE) == 0)
        return offer_recent(o->r, &c, row.n, err);
    return offer_facts(o, &c, &row, err);
}

static enum err_code offer_untouched(struct offering *o, uint32_t doc, struct err *err)
{
    struct turn_info *info = recall__turn(o->r, doc);
    if ((info->state & TURN_OFFERED) != 0 ||
        (info->place != 0 && recall__is_touched(&o->r->strip, info->place)))
        return ERR_OK;
    info->state |= TURN_OFFERED;
    return offer_turn(o, doc, err);
}

/* The other turns of an episode that matches as a whole have its score. */
static enum err_code offer_episode_turns(struct offering *o, uint32_t id, struct err *err)
{
    struct recall *r = o->r;
    struct episode_row row;
    enum err_code rc = ERR_OK;
    columns_episode(r->columns, id, &row);
    uint32_t doc = row.turns == 0 ? UINT32_MAX : row.first_doc;
    for (uint32_t seen = 0; rc == ERR_OK && doc < r->n_docs && seen <= r->n_docs; seen++) {
        struct turn_row turn;
        columns_turn(r->columns, doc, &turn);
        if (turn.episode != id)
            break;
        rc = offer_untouched(o, doc, err);
        doc = recall__link(r, turn.next);
    }
    return rc;
}

static enum err_code offer_whole_episodes(struct offering *o, struct err *err)
{
    struct recall *r = o->r;
    enum err_code rc = ERR_OK;
    for (uint32_t i = 0; rc == ERR_OK && i < r->n_episode_list; i++) {
        uint32_t id = r->episode_list[i];
        float signal = episode_signal(r, id);
        float most = signal * r->weights[STAGE_FACTS][SIGNAL_EPISODE] + own_sum(r, r->best_fact) +
                     o->most_vector;
        if (signal > 0 && !recall__is_hopeless(&r->stage[STAGE_FACTS], most, o->most_factor))
            rc = offer_episode_turns(o, id, err);
    }
    return rc;
}

static enum err_code offer_by_own_text(struct offering *o, struct err *err)
{
    struct recall *r = o->r;
    enum err_code rc = ERR_OK;
    for (uint32_t i = 0; rc == ERR_OK && i < r->n_fact_list; i++) {
        uint32_t id = r->fact_list[i];
        float most = o->best_episode * r->weights[STAGE_FACTS][SIGNAL_EPISODE] +
                     own_sum(r, r->fact_own[id - 1]) + o->most_vector;
        struct fact_row row;
        if (recall__is_hopeless(&r->stage[STAGE_FACTS], most, o->most_factor))
            continue;
        columns_fact(r->columns, id, &row);
        if (row.turn_doc < r->n_docs)
            rc = offer_untouched(o, row.turn_doc, err);
    }
    return rc;
}

/* --- by their vector --- */

static enum err_code turn_fits(struct recall *r, uint32_t doc, const void *arg, bool *fits,
                               struct err *err)
{
    struct turn_row row;
    (void)arg;
    (void)err;
    columns_turn(r->columns, doc, &row);
    *fits = turn_cut(r, &row) == NULL;
    return ERR_OK;
}

static enum err_code fact_fits(struct recall *r, uint32_t doc, const void *arg, bool *fits,
                               struct err *err)
{
    struct fact_row row;
    columns_fact(r->columns, doc + 1, &row);
    *fits = false;
    if (row.turn_doc >= r->n_docs || !is_valid_at(r, doc + 1))
        return ERR_OK;
    return turn_fits(r, row.turn_doc, arg, fits, err);
}

static enum err_code offer_near(struct offering *o, enum layer layer, const struct nearest *near,
                                struct err *err)
{
    struct recall *r = o->r;
    enum err_code rc = ERR_OK;
    for (uint32_t i = 0; rc == ERR_OK && i < near->n; i++) {
        struct fact_row row = {.turn_doc = near->docs[i]};
        if (layer == LAYER_FACT)
            columns_fact(r->columns, near->docs[i] + 1, &row);
        if (row.turn_doc < r->n_docs)
            rc = offer_untouched(o, row.turn_doc, err);
    }
    return rc;
}

/* explain wants those too that a filter or the gate keeps out. */
static enum err_code offer_nearest(struct offering *o, enum layer layer, struct err *err)
{
    recall_fits_fn *fits = layer == LAYER_FACT ? fact_fits : turn_fits;
    struct nearest near;
    enum err_code rc = recall__nearest(o->r, layer, fits, NULL, &near, err);
    if (rc == ERR_OK)
        rc = offer_near(o, layer, &near, err);
    if (rc == ERR_OK && o->r->query->explain) {
        rc = recall__nearest(o->r, layer, NULL, NULL, &near, err);
        if (rc == ERR_OK)
            rc = offer_near(o, layer, &near, err);
    }
    return rc;
}

static enum err_code offer_again(struct offering *o, struct err *err)
{
    struct recall *r = o->r;
    enum err_code rc = ERR_OK;
    for (uint32_t i = 0; rc == ERR_OK && i < o->again.n; i++) {
        struct turn_row row;
        struct candidate c;
        if (weigh_turn(r, o->again.docs[i], &row, &c))
            rc = offer_repeats(r, &c, row.n, err);
    }
    return rc;
}

/* A turn's own signals, weighed, without episode and date. */
static void sum_block(const float *w, const struct strip_block *restrict block,
                      float *restrict sums)
{
    const float own = w[SIGNAL_TURN], w1 = w[SIGNAL_WINDOW1], w2 = w[SIGNAL_WINDOW2],
                w4 = w[SIGNAL_WINDOW4];
    for (int i = 0; i < STRIP_BLOCK; i++)
        sums[i] = own * block->own[i] + w1 * block->w1[i] + w2 * block->w2[i] + w4 * block->w4[i];
}

/* What sum_block() must give for a fact of the turn to have a chance; -1 where every turn that is
 * touched is looked at: dates are not in the sum, and is_hopeless() tells who else. */
static float least_sum(const struct offering *o, uint32_t at)
{
    const struct recall *r = o->r;
    const struct candidates *list = &r->stage[STAGE_FACTS];
    const float *w = r->weights[STAGE_FACTS];
    if (r->strip.date != NULL || (r->strip.state[at] & STRIP_RECENT) != 0 || r->query->explain)
        return -1;
    return (list->hopeless / o->most_factor - w[SIGNAL_EPISODE] * o->best_episode -
            o->most_vector) *
               r->reach -
           w[SIGNAL_OWN] * r->best_fact;
}

/* is_hopeless() without its divisions. */
static bool is_passed_over(const struct offering *o, const struct turn_info *info, float sum)
{
    const struct recall *r = o->r;
    const float *w = r->weights[STAGE_FACTS];
    float most = (sum + w[SIGNAL_OWN] * r->best_fact) / r->reach +
                 w[SIGNAL_EPISODE] * episode_signal(r, info->episode) + o->most_vector;
    return recall__is_hopeless(&r->stage[STAGE_FACTS], most, factor_of(info));
}

/* Most turns of a question with common words go no further than this. */
static enum err_code offer_block(struct offering *o, uint32_t at, struct err *err)
{
    const struct strip *strip = &o->r->strip;
    float sums[STRIP_BLOCK];
    enum err_code rc = ERR_OK;
    sum_block(o->r->weights[STAGE_FACTS], &strip->blocks[at], sums);
    float least = least_sum(o, at);
    for (uint32_t i = 0; rc == ERR_OK && i < STRIP_BLOCK; i++) {
        uint32_t place = at * STRIP_BLOCK + i, doc = strip->docs[place];
        if (sums[i] < least || doc == 0 || !recall__is_touched(strip, place) ||
            (least >= 0 && is_passed_over(o, &o->r->turns[doc - 1], sums[i])))
            continue;
        rc = offer_turn(o, doc - 1, err);
    }
    return rc;
}

static enum err_code offer_touched(struct offering *o, struct err *err)
{
    struct recall *r = o->r;
    enum err_code rc = ERR_OK;
    for (uint32_t at = 0; rc == ERR_OK && at < r->strip.n / STRIP_BLOCK; at++)
        if ((r->strip.state[at] & STRIP_READY) != 0)
            rc = offer_block(o, at, err);
    return rc;
}

static void find_best_episode(struct offering *o)
{
    const struct recall *r = o->r;
    for (uint32_t i = 0; i < r->n_episode_list; i++) {
        float signal = episode_signal(r, r->episode_list[i]);
        if (signal > o->best_episode)
            o->best_episode = signal;
    }
}

static enum err_code offer_all(struct offering *o, struct err *err)
{
    struct recall *r = o->r;
    enum err_code rc = ERR_OK;
    find_best_episode(o);
    o->most_vector = most_near(r) + r->weights[STAGE_FACTS][SIGNAL_TURN_VECTOR] * r->nearest_turn;
    rc = offer_touched(o, err);
    if (rc == ERR_OK && r->query->episodes != 0)
        rc = offer_whole_episodes(o, err);
    if (rc == ERR_OK)
        rc = offer_by_own_text(o, err);
    if (rc == ERR_OK && r->generation != NULL) {
        rc = offer_nearest(o, LAYER_FACT, err);
        if (rc == ERR_OK)
            rc = offer_nearest(o, LAYER_TURN, err);
    }
    return rc == ERR_OK ? offer_again(o, err) : rc;
}

/* --- phrases --- */

/* What the prior of its turn would be if a built-in fact were all that it states. */
static float own_prior(const struct fact *fact)
{
    float weight = (float)fact->weight / (float)UINT16_MAX;
    float stated = weight * (float)FACT_WEIGHT_HALF;
    return stated / (stated + RECALL_PRIOR_HALF * (1 - weight));
}

/* What of its score a fact keeps: a sentence said in several turns, word for word, is weighed by
 * what it states itself where that is less than what its turn does. 1: it was said once, was
 * lowered already, or a model wrote it and cites several turns because they tell it together. */
static enum err_code share_kept(struct recall *r, const struct candidate *c, float *share,
                                struct err *err)
{
    const struct turn_info *info = recall__turn(r, c->turn_doc);
    float prior = prior_of(info);
    struct fact fact;
    *share = 1;
    if (c->factor < factor_of(info))
        return ERR_OK;
    enum err_code rc = fact_get(r->txn, r->space, c->id, r->arena, &fact, err);
    if (rc != ERR_OK || fact.n_sources <= 1 || (fact.flags & FACT_BUILTIN) == 0)
        return rc;
    if (own_prior(&fact) < prior)
        *share = own_prior(&fact) / prior;
    return ERR_OK;
}

/* "Keep it up!" stands beside much that a question is about, has the score of all of it, and would
 * bring its other turns along. The first places only, whatever the list's length, since each is a
 * record to read; measured: tests/bench/README.md. */
static enum err_code lower_phrases(struct recall *r, struct err *err)
{
    struct candidates *list = &r->stage[STAGE_FACTS];
    enum err_code rc = ERR_OK;
    for (uint32_t i = 0; rc == ERR_OK && i < list->n && i < RECALL_REPEATS;) {
        float share;
        rc = share_kept(r, &list->at[i], &share, err);
        if (rc == ERR_OK && share < 1)
            recall__lower(list, i, share);
        else
            i++;
    }
    return rc;
}

enum err_code recall__choose_facts(struct recall *r, struct err *err)
{
    struct candidates *facts = &r->stage[STAGE_FACTS], *recent = &r->stage[STAGE_RECENT];
    bool named = r->n_named != 0 && r->n_named < r->n_speakers;
    struct offering o = {.r = r, .most_factor = named ? RECALL_SPEAKER_FACTOR : 1.0f};
    enum err_code rc = offer_all(&o, err);
    if (rc == ERR_OK)
        rc = recall__rank(r, facts, (uint32_t)r->stat.v[STAT_NEXT_FACT], err);
    if (rc == ERR_OK)
        rc = lower_phrases(r, err);
    if (rc == ERR_OK)
        rc = recall__reorder(r, STAGE_FACTS, err);
    if (rc == ERR_OK)
        rc = recall__rank(r, recent, (uint32_t)r->stat.v[STAT_NEXT_TURN], err);
    if (rc == ERR_OK)
        rc = recall__rank(r, &r->parts, 0, err);
    if (rc == ERR_OK)
        rc = recall__rank(r, &r->bare, 0, err);
    r->shown[STAGE_FACTS] = facts->n < r->query->facts ? facts->n : r->query->facts;
    r->shown[STAGE_RECENT] = recent->n < RECALL_RECENT ? recent->n : RECALL_RECENT;
    return rc;
}
