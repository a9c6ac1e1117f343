#include "core/ingest/topic.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/limits.h"
#include "core/index/lengths.h"
#include "core/ingest/describe_int.h"

enum {
    ASKED_MAX = 256, /* terms whose rarity is looked up: the most frequent of a long dialogue */
    QUERY_TERMS = 96,
    KEYWORDS = 16, /* each rewriting of a topic keeps the old ones as history */
    RERANKED = 16,
    CHAIN_MAX = 4096, /* a longer chain is a loop of damaged records */
};

_Static_assert((unsigned)KEYWORDS <= LIMIT_TOPIC_KEYWORDS, "a record holds them");

#define K1 1.2
#define B 0.75
#define FLOOR 0.01
#define BETA 2.4
#define KAPPA 0.3
#define RHO 0.2
#define PROPER_NOUN 1.5
#define NEARLY 0.65

static enum err_code memory(struct err *err)
{
    return err_set(err, ERR_EXHAUSTED, "out of memory for a topic");
}

/* --- weights --- */

static bool is_subject(const struct dialogue_term *t)
{
    return !t->name && !t->light && t->wholes != 0;
}

struct asked {
    uint64_t term;
    uint32_t index; /* of the dialogue term */
    uint32_t turns, count;
    double idf, weight;
    struct postings postings;
};

static int by_turns(const void *left, const void *right)
{
    const struct asked *a = left, *b = right;
    if (a->turns != b->turns)
        return a->turns > b->turns ? -1 : 1;
    if (a->count != b->count)
        return a->count > b->count ? -1 : 1;
    return (a->term > b->term) - (a->term < b->term);
}

static int by_term(const void *left, const void *right)
{
    const struct asked *a = left, *b = right;
    return (a->term > b->term) - (a->term < b->term);
}

static int by_weight(const void *left, const void *right)
{
    const struct asked *a = left, *b = right;
    if (a->weight > b->weight || a->weight < b->weight)
        return a->weight > b->weight ? -1 : 1;
    return (a->term > b->term) - (a->term < b->term);
}

static struct asked *list_subjects(struct arena *arena, const struct dialogue *d, uint32_t *n)
{
    struct asked *asked = ARENA_ARRAY(arena, struct asked, d->n_terms);
    *n = 0;
    for (uint32_t i = 0; asked != NULL && i < d->n_terms; i++) {
        const struct dialogue_term *t = &d->terms[i];
        if (is_subject(t))
            asked[(*n)++] =
                (struct asked){.term = t->term, .index = i, .turns = t->turns, .count = t->count};
    }
    if (asked == NULL || *n <= ASKED_MAX)
        return asked;
    qsort(asked, *n, sizeof *asked, by_turns);
    *n = ASKED_MAX;
    qsort(asked, *n, sizeof *asked, by_term);
    return asked;
}

/* Living documents without the episode's own earlier one. */
static struct postings without(struct postings list, uint32_t doc)
{
    for (uint32_t i = 0; i < list.n; i++) {
        if (list.at[i].doc == doc) {
            list.at[i] = list.at[--list.n];
            break;
        }
    }
    return list;
}

static enum err_code look_up(const struct topic_reader *r, struct asked *asked, uint32_t n,
                             struct err *err)
{
    struct arena *arena = r->said->arena;
    uint64_t *terms = ARENA_ARRAY(arena, uint64_t, n);
    struct postings *found = ARENA_ARRAY(arena, struct postings, (size_t)n * LAYERS);
    if (terms == NULL || found == NULL)
        return memory(err);
    for (uint32_t i = 0; i < n; i++)
        terms[i] = asked[i].term;
    enum err_code rc = segment_collect(r->said->txn, r->said->space, r->lengths, terms, n,
                                       1U << LAYER_EPISODE, arena, found, err);
    for (uint32_t i = 0; rc == ERR_OK && i < n; i++) {
        struct postings list = found[(size_t)i * LAYERS + LAYER_EPISODE];
        asked[i].postings = r->own_doc == TOPIC_NO_DOC ? list : without(list, r->own_doc);
    }
    return rc;
}

static double saturated(const struct topic_terms *t, double x, double length)
{
    return (K1 + 1) * x / (x + K1 * (1 - B + B * length / t->average));
}

static void count_episodes(const struct topic_reader *r, struct topic_terms *out)
{
    double episodes = (double)r->stat->v[STAT_DOCS_EPISODE];
    double total = (double)r->stat->v[STAT_LENGTH_EPISODE];
    if (r->own_doc != TOPIC_NO_DOC) {
        episodes -= 1;
        total -= lengths_get(r->lengths, LAYER_EPISODE, r->own_doc);
    }
    out->episodes = episodes + 1;
    out->average = (total + out->length) / out->episodes;
}

static void set_weights(const struct dialogue *d, struct asked *asked, uint32_t n,
                        struct topic_terms *out)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct dialogue_term *t = &d->terms[asked[i].index];
        double with = asked[i].postings.n + 1.0;
        asked[i].idf = log(1 + (out->episodes - with + 0.5) / (with + 0.5));
        if (t->capitals > t->lowers)
            asked[i].idf *= PROPER_NOUN;
        asked[i].weight = (1 + log(t->turns)) * asked[i].idf;
        out->weight[asked[i].index] = (float)asked[i].weight;
    }
}

enum err_code topic_weigh(const struct topic_reader *r, const struct dialogue *d,
                          const struct term_bag *bag, struct topic_terms *out, struct err *err)
{
    uint32_t n;
    struct arena *arena = r->said->arena;
    *out = (struct topic_terms){.length = length_quantise(bag->length)};
    struct asked *asked = list_subjects(arena, d, &n);
    out->weight = ARENA_ARRAY(arena, float, d->n_terms);
    out->query = ARENA_ARRAY(arena, uint32_t, n);
    out->idf = ARENA_ARRAY(arena, double, n);
    out->postings = ARENA_ARRAY(arena, struct postings, n);
    if (asked == NULL || out->weight == NULL || out->query == NULL || out->idf == NULL ||
        out->postings == NULL)
        return memory(err);
    enum err_code rc = look_up(r, asked, n, err);
    if (rc != ERR_OK)
        return rc;
    count_episodes(r, out);
    rc = lengths_error(r->lengths, err);
    if (rc != ERR_OK)
        return rc;
    set_weights(d, asked, n, out);
    qsort(asked, n, sizeof *asked, by_weight);
    out->n_query = n < QUERY_TERMS ? n : QUERY_TERMS;
    for (uint32_t i = 0; i < out->n_query; i++) {
        out->query[i] = asked[i].index;
        out->idf[i] = asked[i].idf;
        out->postings[i] = asked[i].postings;
    }
    return ERR_OK;
}

/* --- likeness of episodes --- */

struct likeness {
    const struct topic_reader *r;
    const struct topic_terms *terms;
    uint32_t n_docs, n_topics; /* numbers given so far */
    double *episode;           /* by episode-layer document; a share of the most there can be */
    uint32_t *touched;         /* documents with any */
    uint32_t n_touched;
    double background; /* mean over all episodes */
    /* By id of a chain's first topic. */
    double *chain;
    uint32_t *members;
};

static enum err_code likeness_new(const struct topic_reader *r, const struct topic_terms *terms,
                                  struct likeness *l, struct err *err)
{
    struct arena *arena = r->said->arena;
    *l = (struct likeness){.r = r,
                           .terms = terms,
                           .n_docs = (uint32_t)r->stat->v[STAT_NEXT_DOC_EPISODE],
                           .n_topics = (uint32_t)r->stat->v[STAT_NEXT_TOPIC]};
    l->episode = ARENA_ARRAY(arena, double, l->n_docs);
    l->touched = ARENA_ARRAY(arena, uint32_t, l->n_docs);
    l->chain = ARENA_ARRAY(arena, double, l->n_topics);
    l->members = ARENA_ARRAY(arena, uint32_t, l->n_topics);
    bool ok = l->episode != NULL && l->touched != NULL && l->chain != NULL && l->members != NULL;
    return ok ? ERR_OK : memory(err);
}

/* The first topics of the chains that an episode is in; returns how many. */
static uint32_t chains_of(const struct likeness *l, uint32_t doc, uint32_t chains[2])
{
    struct episode_row row;
    struct topic_row topic;
    uint32_t n = 0;
    columns_episode(l->r->columns, columns_episode_of_doc(l->r->columns, doc), &row);
    for (uint32_t i = 0; i < LIMIT_TOPICS_PER_EPISODE; i++) {
        columns_topic(l->r->columns, row.topics[i], &topic);
        if (topic.chain != 0 && topic.chain < l->n_topics)
            chains[n++] = topic.chain;
    }
    return n;
}

static void score_episodes(struct likeness *l, const struct dialogue *d)
{
    const struct topic_terms *t = l->terms;
    double own = 0;
    double all = 0;
    for (uint32_t k = 0; k < t->n_query; k++) {
        double x = 1 + log(d->terms[t->query[k]].turns);
        double share = x * t->idf[k] * t->idf[k];
        own += share * saturated(t, x, t->length);
        for (uint32_t i = 0; i < t->postings[k].n; i++) {
            const struct posting *p = &t->postings[k].at[i];
            if (p->doc >= l->n_docs)
                continue;
            if (!(l->episode[p->doc] > 0))
                l->touched[l->n_touched++] = p->doc;
            double length = lengths_get(l->r->lengths, LAYER_EPISODE, p->doc);
            double score = share * saturated(t, 1 + log(p->tf), length);
            l->episode[p->doc] += score;
            all += score;
        }
    }
    if (!(own > 0))
        own = 1;
    for (uint32_t i = 0; i < l->n_touched; i++)
        l->episode[l->touched[i]] /= own;
    l->background = t->episodes > 1 ? all / own / (t->episodes - 1) : 0;
}

/* --- likeness of topics --- */

static double spread(double n)
{
    if (n < 1)
        n = 1;
    return sqrt(n * (1 + RHO * (n - 1)));
}

/* Members of each chain, all links together. */
static void count_members(struct likeness *l)
{
    for (uint32_t id = 1; id < l->n_topics; id++) {
        struct topic_row row;
        columns_topic(l->r->columns, id, &row);
        if (row.episodes != 0 && row.chain < l->n_topics)
            l->members[row.chain] += row.episodes;
    }
}

static void score_chains(struct likeness *l)
{
    for (uint32_t i = 0; i < l->n_touched; i++) {
        uint32_t chains[2];
        uint32_t n = chains_of(l, l->touched[i], chains);
        for (uint32_t k = 0; k < n; k++)
            l->chain[chains[k]] += l->episode[l->touched[i]];
    }
    for (uint32_t id = 1; id < l->n_topics; id++) {
        l->chain[id] = l->members[id] != 0 ? l->chain[id] / spread(l->members[id]) : 0;
    }
}

struct candidate {
    uint32_t chain;
    uint32_t last; /* link to join */
    double score;
};

/* Keeps the best at the front. */
static void insert(struct candidate *best, uint32_t *n, struct candidate one)
{
    uint32_t i = *n < RERANKED ? (*n)++ : RERANKED;
    for (; i > 0 && (best[i - 1].score < one.score); i--) {
        if (i < RERANKED)
            best[i] = best[i - 1];
    }
    if (i < RERANKED)
        best[i] = one;
}

/* The same with the weights of the memberships, which only the hyperedges know. */
static enum err_code weigh_link(struct likeness *l, uint32_t topic, double *sum, double *n,
                                struct err *err)
{
    struct edge edge;
    enum err_code rc = edge_get(l->r->said->txn, l->r->said->space, KIND_TOPIC_EDGE, topic,
                                l->r->said->arena, &edge, err);
    for (uint32_t i = 0; rc == ERR_OK && i < edge.n; i++) {
        struct episode_row row;
        columns_episode(l->r->columns, edge.at[i].id, &row);
        if (row.turns == 0 || row.doc >= l->n_docs || row.doc == l->r->own_doc)
            continue;
        double weight = weight_unpack(edge.at[i].weight);
        *sum += weight * l->episode[row.doc];
        *n += weight;
    }
    return rc;
}

static enum err_code weigh_chain(struct likeness *l, struct candidate *c, struct err *err)
{
    double sum = 0;
    double n = 0;
    uint32_t links = 0;
    for (uint32_t id = c->chain; id != 0;) {
        struct topic topic;
        enum err_code rc =
            topic_get(l->r->said->txn, l->r->said->space, id, l->r->said->arena, &topic, err);
        if (rc == ERR_OK)
            rc = weigh_link(l, id, &sum, &n, err);
        if (rc != ERR_OK)
            return rc;
        if (topic.id == 0 || links++ == CHAIN_MAX)
            return err_set(err, ERR_INTERNAL, "the chain of topic %u is broken", c->chain);
        c->last = id;
        id = topic.next;
    }
    c->score = sum / spread(n);
    return ERR_OK;
}

static int by_score(const void *left, const void *right)
{
    const struct candidate *a = left, *b = right;
    if (a->score > b->score || a->score < b->score)
        return a->score > b->score ? -1 : 1;
    return (a->chain > b->chain) - (a->chain < b->chain);
}

enum err_code topic_choose(const struct topic_reader *r, const struct dialogue *d,
                           const struct topic_terms *terms, struct topic_choice *out,
                           struct err *err)
{
    struct likeness l;
    struct candidate best[RERANKED];
    uint32_t n = 0;
    *out = (struct topic_choice){.n = 0};
    enum err_code rc = likeness_new(r, terms, &l, err);
    if (rc != ERR_OK)
        return rc;
    score_episodes(&l, d);
    count_members(&l);
    score_chains(&l);
    for (uint32_t id = 1; id < l.n_topics; id++) {
        if (l.chain[id] > 0)
            insert(best, &n, (struct candidate){id, 0, l.chain[id]});
    }
    for (uint32_t i = 0; rc == ERR_OK && i < n; i++)
        rc = weigh_chain(&l, &best[i], err);
    if (rc == ERR_OK)
        rc = columns_error(r->columns, err);
    if (rc == ERR_OK)
        rc = lengths_error(r->lengths, err);
    if (rc != ERR_OK || n == 0)
        return rc;
    qsort(best, n, sizeof best[0], by_score);
    double chance = BETA * l.background + (n > 2 ? KAPPA * best[2].score : 0);
    if (best[0].score < FLOOR + chance)
        return ERR_OK;
    *out = (struct topic_choice){.topic = {best[0].last}, .weight = {1}, .n = 1};
    if (n > 1 && best[1].score >= NEARLY * best[0].score) {
        out->topic[1] = best[1].last;
        out->weight[1] = best[1].score / best[0].score;
        out->n = 2;
    }
    return ERR_OK;
}

/* --- keywords --- */

static int by_keyword_weight(const void *left, const void *right)
{
    const struct topic_keyword *a = left, *b = right;
    if (a->weight > b->weight || a->weight < b->weight)
        return a->weight > b->weight ? -1 : 1;
    return (a->term > b->term) - (a->term < b->term);
}

static void add_keyword(struct topic_keyword *words, uint32_t *n, struct topic_keyword one)
{
    for (uint32_t i = 0; i < *n; i++) {
        if (words[i].term == one.term) {
            words[i].weight += one.weight;
            return;
        }
    }
    words[(*n)++] = one;
}

enum err_code topic_add_keywords(const struct topic_reader *r, const struct dialogue *d,
                                 const struct topic_terms *terms, struct topic *topic,
                                 struct err *err)
{
    struct topic_keyword *words = ARENA_ARRAY(r->said->arena, struct topic_keyword, 2 * KEYWORDS);
    if (words == NULL)
        return memory(err);
    uint32_t n = topic->n_keywords;
    if (n != 0)
        memcpy(words, topic->keywords, n * sizeof *words);
    for (uint32_t i = 0; i < terms->n_query && i < KEYWORDS; i++) {
        const struct dialogue_term *t = &d->terms[terms->query[i]];
        float weight = terms->weight[terms->query[i]];
        if (weight > 0)
            add_keyword(words, &n, (struct topic_keyword){t->surface, t->term, weight});
    }
    qsort(words, n, sizeof *words, by_keyword_weight);
    topic->keywords = words;
    topic->n_keywords = (uint16_t)(n < KEYWORDS ? n : KEYWORDS);
    return ERR_OK;
}
