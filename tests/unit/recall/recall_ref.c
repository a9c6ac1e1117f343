/* The reference: lists by brute force over all texts. */
#include <math.h>

#include "core/index/lengths.h"
#include "core/text/sentence.h"
#include "tests/unit/recall/recall_kit.h"

#define K1 1.2f
#define B 0.6f

static struct tokenizer *tokenizer;

static struct arena *arena_of(void)
{
    return kit_arena(&stage_kit.kit);
}

static struct term_bag bag_of(struct str text, uint32_t weight)
{
    struct token_list tokens;
    struct term_bag bag;
    struct err err;
    ck_assert_int_eq(tokenizer_run(tokenizer, arena_of(), text, TOKEN_INDEX, &tokens, &err),
                     ERR_OK);
    ck_assert_int_eq(term_bag_of(arena_of(), &tokens, weight, &bag, &err), ERR_OK);
    return bag;
}

static struct term_bag add(struct term_bag a, struct term_bag b)
{
    struct term_bag sum;
    struct err err;
    ck_assert_int_eq(term_bag_add(arena_of(), &a, &b, &sum, &err), ERR_OK);
    return sum;
}

static struct ref_doc doc_of(struct term_bag bag)
{
    return (struct ref_doc){bag, (float)length_quantise(bag.length)};
}

static float count_of(const struct term_bag *bag, uint64_t term)
{
    for (size_t i = 0; i < bag->n; i++)
        if (bag->at[i].term == term)
            return (float)bag->at[i].count;
    return 0;
}

/* --- reading the space --- */

/* A built-in fact says "Ann: …" or "Ann (asked “…”): …"; both texts count. */
static struct term_bag fact_bag(const struct fact *fact)
{
    struct str text = str_part(fact->content, fact->speaker.len, fact->content.len);
    struct str close = STR("”): ");
    if (!str_starts(text, STR(" (asked “")))
        return bag_of(str_part(text, 2, text.len), 1);
    const char *end = memmem(text.at, text.len, close.at, close.len);
    ck_assert_ptr_nonnull(end);
    size_t at = (size_t)(end - text.at), open = STR(" (asked “").len;
    return add(bag_of(str_part(text, open, at), 1),
               bag_of(str_part(text, at + close.len, text.len), 1));
}

static bool exists(enum store_kind kind, uint32_t id)
{
    struct store_txn *txn = begin(&stage_kit.kit.f);
    struct str value;
    struct err err;
    ck_assert_int_eq(store_get_u32(txn, stage_kit.kit.space, kind, id, &value, &err), ERR_OK);
    store_end(txn);
    return value.at != NULL;
}

static void read_turns(struct ref *ref)
{
    for (uint32_t n = 1; n <= ref->n_turns; n++) {
        struct ref_turn *t = &ref->turns[n];
        t->turn = kit_turn(&stage_kit.kit, n);
        if (t->turn.n == 0)
            continue;
        t->doc = doc_of(bag_of(t->turn.text, 1));
        for (uint32_t i = 1; i < n; i++)
            t->place +=
                ref->turns[i].turn.n != 0 && ref->turns[i].turn.session_no == t->turn.session_no;
        ref->n_docs++;
        ref->avg_turn += t->doc.length;
    }
    ref->avg_turn /= ref->n_docs;
}

static void read_episodes(struct ref *ref)
{
    float live = 0;
    for (uint32_t id = 1; id <= ref->n_episodes; id++) {
        struct ref_episode *e = &ref->episodes[id];
        struct term_bag bag = {0};
        if (!exists(KIND_EPISODE, id))
            continue;
        e->episode = episode_now(id);
        for (uint32_t n = e->episode.first_n; n <= e->episode.last_n; n++) {
            struct ref_turn *t = &ref->turns[n];
            if (t->turn.n == 0 || t->turn.session_no != e->episode.session_no)
                continue;
            bag = add(bag, t->doc.bag);
            t->episode = id;
            t->done = true;
        }
        e->doc = doc_of(bag);
        ref->avg_episode += e->doc.length;
        live++;
    }
    ref->avg_episode = live > 0 ? ref->avg_episode / live : 1;
}

/* Sum over the distinct terms, eight bytes at most each, without the speakers' names. */
static float stated_by(const struct term_bag *bag)
{
    struct term_bag names = bag_of(STR("Ann Bob Chris"), 1);
    float sum = 0;
    for (size_t i = 0; i < bag->n; i++)
        if (count_of(&names, bag->at[i].term) == 0)
            sum += bag->at[i].text.len < 8 ? (float)bag->at[i].text.len : 8;
    return sum;
}

/* What a fact says behind its speaker and the question. */
static struct str said_part(const struct fact *fact)
{
    struct str close = STR("”): ");
    struct str text = str_part(fact->content, fact->speaker.len, fact->content.len);
    const char *end = memmem(text.at, text.len, close.at, close.len);
    size_t from = str_starts(text, STR(" (asked “")) ? (size_t)(end - text.at) + close.len : 2;
    return str_part(text, from, text.len);
}

/* Each distinct date that its sentence mentions counts as a term of eight bytes. */
static float stated_dates(const struct fact *fact, const struct turn *turn)
{
    struct str rest = turn->text, sentence, said = said_part(fact);
    struct date_mention mentions[8];
    uint64_t seen[64];
    uint32_t n_seen = 0;
    while (sentence_next(&rest, &sentence))
        if (str_eq(dates_resolve(arena_of(), sentence, turn->time_ms, turn->offset_min), said))
            break;
    size_t n = dates_find(sentence, turn->time_ms, turn->offset_min, mentions, 8);
    for (size_t i = 0; i < n; i++) {
        struct date_term terms[DATE_TERMS_MAX];
        size_t n_terms = date_terms_of(sentence, &mentions[i], terms);
        for (size_t k = 0; k < n_terms; k++) {
            uint32_t at = 0;
            while (at < n_seen && seen[at] != terms[k].term)
                at++;
            if (at == n_seen)
                seen[n_seen++] = terms[k].term;
        }
    }
    return 8 * (float)n_seen;
}

static void read_facts(struct ref *ref)
{
    float live = 0;
    for (uint32_t id = 1; id <= ref->n_facts; id++) {
        struct ref_fact *f = &ref->facts[id];
        if (!exists(KIND_FACT, id))
            continue;
        f->fact = fact_now(id);
        f->doc = doc_of(fact_bag(&f->fact));
        bool question = sentence_is_question(f->fact.content);
        for (uint32_t i = 0; i < f->fact.n_sources; i++) {
            struct ref_turn *t = &ref->turns[f->fact.sources[i]];
            float stated = stated_by(&f->doc.bag) + stated_dates(&f->fact, &t->turn);
            t->stated += floorf(question ? stated / 2 : stated);
        }
        ref->avg_fact += f->doc.length;
        live++;
    }
    ref->avg_fact = live > 0 ? ref->avg_fact / live : 1;
}

static void read_topics(struct ref *ref)
{
    float live = 0;
    for (uint32_t id = 1; id <= ref->n_topics; id++) {
        struct ref_topic *t = &ref->topics[id];
        if (!exists(KIND_TOPIC, id))
            continue;
        t->topic = topic_now(id);
        struct term_bag bag = add(bag_of(t->topic.title, 1), bag_of(t->topic.summary, 1));
        for (uint16_t i = 0; i < t->topic.n_keywords; i++)
            bag = add(bag, bag_of(t->topic.keywords[i].text, 2));
        t->doc = doc_of(bag);
        ref->avg_topic += t->doc.length;
        live++;
    }
    ref->avg_topic = live > 0 ? ref->avg_topic / live : 1;
}

void ref_init(struct ref *ref)
{
    struct space_stat stat = kit_stat(&stage_kit.kit);
    struct err err;
    *ref = (struct ref){.n_turns = (uint32_t)stat.v[STAT_NEXT_TURN] - 1,
                        .n_facts = (uint32_t)stat.v[STAT_NEXT_FACT] - 1,
                        .n_episodes = (uint32_t)stat.v[STAT_NEXT_EPISODE] - 1,
                        .n_topics = (uint32_t)stat.v[STAT_NEXT_TOPIC] - 1,
                        .windows = true};
    ref->turns = ARENA_ARRAY(arena_of(), struct ref_turn, ref->n_turns + 1);
    ref->facts = ARENA_ARRAY(arena_of(), struct ref_fact, ref->n_facts + 1);
    ref->episodes = ARENA_ARRAY(arena_of(), struct ref_episode, ref->n_episodes + 1);
    ref->topics = ARENA_ARRAY(arena_of(), struct ref_topic, ref->n_topics + 1);
    tokenizer_free(tokenizer);
    ck_assert_int_eq(tokenizer_new(STR("en"), &tokenizer, &err), ERR_OK);
    read_turns(ref);
    read_episodes(ref);
    read_facts(ref);
    read_topics(ref);
}

void ref_ask(struct ref *ref, const char *words, const struct civil *day, const char *named)
{
    struct term_bag bag = bag_of(str_of(words), 1);
    ck_assert_uint_le(bag.n, REF_TERMS);
    ref->n_terms = (uint32_t)bag.n;
    ref->reach = 0;
    ref->named = named;
    ref->n_dates = day == NULL ? 0 : (uint32_t)date_terms_of_day(*day, ref->dates);
    for (uint32_t i = 0; i < ref->n_terms; i++) {
        float df = 0;
        ref->terms[i] = bag.at[i].term;
        for (uint32_t n = 1; n <= ref->n_turns; n++)
            df += count_of(&ref->turns[n].doc.bag, ref->terms[i]) > 0 ? 1 : 0;
        ref->idf[i] = df == 0 ? 0 : logf(1 + (ref->n_docs - df + 0.5f) / (df + 0.5f));
        ref->reach += ref->idf[i] * (K1 + 1);
    }
    if (ref->reach == 0)
        ref->reach = 1;
}

/* --- lists --- */

struct counted {
    float tf[REF_TERMS], length;
};

static void count_in_doc(const struct ref *ref, const struct ref_doc *doc, struct counted *c)
{
    for (uint32_t i = 0; i < ref->n_terms; i++)
        c->tf[i] += count_of(&doc->bag, ref->terms[i]);
    c->length += doc->length;
}

static float bm25(const struct ref *ref, const struct counted *c, float avg)
{
    float sum = 0;
    for (uint32_t i = 0; i < ref->n_terms; i++)
        sum += ref->idf[i] * c->tf[i] * (K1 + 1) /
               (c->tf[i] + K1 * (1 - B + B * c->length / (avg < 1 ? 1 : avg)));
    return sum / ref->reach;
}

static float doc_score(const struct ref *ref, const struct ref_doc *doc, float avg)
{
    struct counted c = {{0}, 0};
    if (doc->length == 0)
        return 0;
    count_in_doc(ref, doc, &c);
    return bm25(ref, &c, avg);
}

float ref_turn_score(const struct ref *ref, uint32_t n)
{
    return doc_score(ref, &ref->turns[n].doc, ref->avg_turn);
}

float ref_window(const struct ref *ref, uint32_t n, uint32_t reach)
{
    const struct ref_turn *middle = &ref->turns[n];
    struct counted c = {{0}, 0};
    if (!ref->windows)
        return 0;
    for (uint32_t i = 1; i <= ref->n_turns; i++) {
        const struct ref_turn *t = &ref->turns[i];
        bool near = t->turn.n != 0 && t->turn.session_no == middle->turn.session_no &&
                    t->place <= middle->place + reach && middle->place <= t->place + reach;
        if (near)
            count_in_doc(ref, &t->doc, &c);
    }
    return bm25(ref, &c, ref->avg_turn * (float)(2 * reach + 1));
}

static bool has_date(const struct turn *turn, uint64_t term)
{
    struct date_mention mentions[16];
    struct date_term terms[DATE_TERMS_MAX];
    size_t n = date_terms_of_day(civil_of_moment(turn->time_ms, turn->offset_min), terms);
    for (size_t k = 0; k < n; k++)
        if (terms[k].term == term)
            return true;
    size_t found = dates_find(turn->text, turn->time_ms, turn->offset_min, mentions, 16);
    for (size_t i = 0; i < found; i++) {
        n = date_terms_of(turn->text, &mentions[i], terms);
        for (size_t k = 0; k < n; k++)
            if (terms[k].term == term)
                return true;
    }
    return false;
}

/* A day counts twice a month; the month of any year not beside it. */
float ref_date(const struct ref *ref, uint32_t n)
{
    float sum = 0, all = 0;
    for (uint32_t i = 0; i < ref->n_dates; i++) {
        float weight = ref->dates[i].kind == DATE_TERM_DAY     ? 1
                       : ref->dates[i].kind == DATE_TERM_MONTH ? 0.5f
                                                               : 0;
        if (ref->dates[i].kind == DATE_TERM_YEAR)
            continue; /* the year of a day is not asked for */
        all += weight;
        if (has_date(&ref->turns[n].turn, ref->dates[i].term))
            sum += weight;
    }
    return all == 0 ? 0 : sum / all;
}

float ref_fact_score(const struct ref *ref, uint32_t id)
{
    return doc_score(ref, &ref->facts[id].doc, ref->avg_fact);
}

float ref_episode_score(const struct ref *ref, uint32_t id)
{
    return doc_score(ref, &ref->episodes[id].doc, ref->avg_episode);
}

float ref_topic_score(const struct ref *ref, uint32_t id)
{
    return doc_score(ref, &ref->topics[id].doc, ref->avg_topic);
}

static float ref_prior(const struct ref *ref, uint32_t n)
{
    const struct ref_turn *t = &ref->turns[n];
    float x = floorf(t->stated > 255 ? 255 : t->stated);
    return t->done ? x / (x + 10) : 0.8f;
}

float ref_factor(const struct ref *ref, uint32_t n)
{
    const struct ref_turn *t = &ref->turns[n];
    bool named = ref->named != NULL && str_eq(t->turn.speaker, str_of(ref->named));
    return named ? ref_prior(ref, n) * 1.5f : ref_prior(ref, n);
}

float ref_share(const struct ref *ref, uint32_t id, uint32_t n)
{
    const struct fact *fact = &ref->facts[id].fact;
    float weight = (float)fact->weight / 65535.0f;
    float own = 24 * weight / (24 * weight + 10 * (1 - weight)), prior = ref_prior(ref, n);
    return fact->n_sources > 1 && own < prior ? own / prior : 1;
}

float ref_share_of(const struct ref *ref, const struct recall_reply *reply,
                   const struct recall_candidate *c, uint32_t n)
{
    float share = ref_share(ref, c->id, n);
    bool lowered = share < 1 && c->factor < ref_factor(ref, n) * (1 + share) / 2;
    for (uint32_t i = 0; i < reply->n_facts && i < REF_FIRST; i++)
        ck_assert(reply->facts[i].fact.id != c->id || share >= 1 || lowered);
    return lowered ? share : 1;
}

void ref_fact_signals(const struct ref *ref, uint32_t id, uint32_t n, float out[SIGNALS])
{
    uint32_t episode = ref->turns[n].episode;
    memset(out, 0, SIGNALS * sizeof *out);
    out[SIGNAL_OWN] = id == 0 ? 0 : ref_fact_score(ref, id);
    out[SIGNAL_TURN] = ref_turn_score(ref, n);
    out[SIGNAL_WINDOW1] = ref_window(ref, n, 1);
    out[SIGNAL_WINDOW2] = ref_window(ref, n, 2);
    out[SIGNAL_WINDOW4] = ref_window(ref, n, 4);
    out[SIGNAL_EPISODE] = episode == 0 ? 0 : ref_episode_score(ref, episode);
    out[SIGNAL_DATE] = ref_date(ref, n);
}

void ref_episode_signals(const struct ref *ref, uint32_t id, float out[SIGNALS])
{
    memset(out, 0, SIGNALS * sizeof *out);
    out[SIGNAL_OWN] = ref_episode_score(ref, id);
    for (uint32_t n = 1; n <= ref->n_turns; n++)
        if (ref->turns[n].turn.n != 0 && ref->turns[n].episode == id)
            out[SIGNAL_TURN] = fmaxf(out[SIGNAL_TURN], ref_turn_score(ref, n) + ref_date(ref, n));
}

void ref_topic_signals(const struct ref *ref, uint32_t id, float out[SIGNALS])
{
    memset(out, 0, SIGNALS * sizeof *out);
    out[SIGNAL_OWN] = ref_topic_score(ref, id);
    for (uint32_t e = 1; e <= ref->n_episodes; e++) {
        const struct episode *episode = &ref->episodes[e].episode;
        float signals[SIGNALS];
        if (episode->id == 0 || (episode->topics[0] != id && episode->topics[1] != id))
            continue;
        ref_episode_signals(ref, e, signals);
        out[SIGNAL_EPISODE] =
            fmaxf(out[SIGNAL_EPISODE], (signals[SIGNAL_OWN] + signals[SIGNAL_TURN]) / 2);
    }
}

float ref_sum(const struct ref *ref, enum recall_stage stage, const float signals[SIGNALS],
              float factor)
{
    static const float weights[RECALL_STAGES][SIGNALS] = {
        [STAGE_TOPICS] = {1, 0, 0, 0, 0, 1, 0},
        [STAGE_EPISODES] = {1, 1, 0, 0, 0, 0, 0},
        [STAGE_FACTS] = {0.5f, 1, 1, 1, 1, 1, 0.75f},
        [STAGE_RECENT] = {0.5f, 1, 1, 1, 1, 1, 0.75f}};
    /* A date is worth an episode's best turn as much as all the words; half to a topic. */
    static const float dated[RECALL_STAGES] = {0.5f, 1, 0.75f, 0.75f};
    float sum = 0, whole = ref->n_dates == 0 ? 0 : dated[stage];
    for (int s = 0; s < SIGNALS; s++) {
        sum += weights[stage][s] * signals[s];
        whole += s == SIGNAL_DATE ? 0 : weights[stage][s];
    }
    return sum * factor / whole / (ref->named != NULL ? 1.5f : 1);
}
