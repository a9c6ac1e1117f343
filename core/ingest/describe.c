/* Titles, and what titles and summaries share. */
#include "core/ingest/describe.h"

#include <math.h>
#include <stdlib.h>

#include "core/ingest/describe_int.h"
#include "core/text/utf8.h"

enum { TITLE_PHRASES = 4, TITLE_NAMES = 3, TITLE_CANDIDATES = 12 };

static enum err_code memory(struct err *err)
{
    return err_set(err, ERR_EXHAUSTED, "out of memory for a title");
}

float describe__weight(const struct dialogue *d, const float *weights, uint64_t term)
{
    const struct dialogue_term *t = dialogue_find(d, term);
    return t == NULL ? 0 : weights[t - d->terms];
}

void describe__date(struct buf *out, int64_t utc_ms, int offset_min)
{
    struct civil day = civil_of_moment(utc_ms, offset_min);
    struct date_mention mention = {.from = day, .to = day, .grain = DATE_DAY};
    dates_write(out, &mention);
}

void describe__clip(struct buf *out, struct str text, size_t max)
{
    struct str cut = utf8_cut(text, max);
    if (cut.len < text.len) {
        size_t end = cut.len;
        while (end > 0 && cut.at[end - 1] != ' ')
            end--;
        if (end > max / 2)
            cut.len = end;
        cut = str_trim(cut);
    }
    for (size_t i = 0; i < cut.len; i++) {
        char c = cut.at[i];
        if ((unsigned char)c < ' ' || c == 0x7f)
            c = ' ';
        buf_char(out, c);
    }
    if (cut.len < text.len)
        buf_str_put(out, STR("…"));
}

/* --- phrases --- */

/* Words that follow one another with nothing but a blank between them. */
static bool are_neighbours(struct str text, const struct token *a, const struct token *b)
{
    return b->from == a->to + 1 && text.at[a->to] == ' ';
}

/* The next word behind token `i` of a document, parts of compounds skipped; `n` at the end. */
static size_t next_word(const struct token_list *tokens, size_t i)
{
    do
        i++;
    while (i < tokens->n && (tokens->at[i].flags & TOKEN_PART) != 0);
    return i;
}

static bool is_subject(const struct dialogue *d, const float *weights, const struct token *token)
{
    return (token->flags & (TOKEN_STOP | TOKEN_PART)) == 0 &&
           describe__weight(d, weights, token->term) > 0;
}

/* Whether `next` belongs to the name that `token` is in. */
static bool goes_on(const struct said_doc *doc, const struct token *token, const struct token *next)
{
    return (next->flags & TOKEN_CAPITAL) != 0 && (next->flags & (TOKEN_STOP | TOKEN_PART)) == 0 &&
           are_neighbours(doc->text, token, next);
}

/* The run of capitalised words that begins at token `i`; n < 2 where there is none. */
static struct phrase capital_run(const struct dialogue *d, const struct said_doc *doc, size_t i)
{
    struct phrase run = {0};
    size_t first = i;
    size_t last = i;
    while (i < doc->tokens.n && run.n < PHRASE_TERMS) {
        const struct token *token = &doc->tokens.at[i];
        if ((token->flags & TOKEN_CAPITAL) == 0)
            break;
        const struct dialogue_term *t = dialogue_find(d, token->term);
        if (t == NULL || t->name)
            break;
        if (run.n != 0 && !goes_on(doc, &doc->tokens.at[last], token))
            break;
        run.term[run.n++] = token->term;
        last = i;
        i = next_word(&doc->tokens, i);
    }
    run.text = str_part(doc->text, doc->tokens.at[first].from, doc->tokens.at[last].to);
    return run;
}

static bool has_term(const struct phrase *phrase, uint64_t term)
{
    for (uint32_t i = 0; i < phrase->n; i++) {
        if (phrase->term[i] == term)
            return true;
    }
    return false;
}

/* The pair of different subjects that begins at token `i` and holds `term`; n is 0 where there is
 * none. */
static struct phrase pair_at(const struct dialogue *d, const float *weights,
                             const struct said_doc *doc, size_t i, uint64_t term)
{
    const struct token *a = &doc->tokens.at[i];
    size_t k = next_word(&doc->tokens, i);
    if (k == doc->tokens.n)
        return (struct phrase){0};
    const struct token *b = &doc->tokens.at[k];
    if ((a->term == term) == (b->term == term) || !is_subject(d, weights, a))
        return (struct phrase){0};
    if (!is_subject(d, weights, b) || !are_neighbours(doc->text, a, b))
        return (struct phrase){0};
    return (struct phrase){.text = str_part(doc->text, a->from, b->to),
                           .term = {a->term, b->term},
                           .n = 2,
                           .count = 1};
}

enum { PAIRS_MAX = 8 };

/* The pairs around one term that were seen, and how often. */
struct pairs {
    struct phrase at[PAIRS_MAX];
    uint32_t n;
};

static void count_pair(struct pairs *pairs, const struct phrase *pair)
{
    for (uint32_t i = 0; i < pairs->n; i++) {
        if (pairs->at[i].term[0] == pair->term[0] && pairs->at[i].term[1] == pair->term[1]) {
            pairs->at[i].count++;
            return;
        }
    }
    if (pairs->n < PAIRS_MAX)
        pairs->at[pairs->n++] = *pair;
}

/* Looks through one document: true when a name was found, which ends the search. */
static bool look_through(const struct dialogue *d, const float *weights, const struct said_doc *doc,
                         uint64_t term, struct phrase *name, struct pairs *pairs)
{
    for (size_t i = 0; i < doc->tokens.n; i++) {
        const struct token *token = &doc->tokens.at[i];
        if ((token->flags & (TOKEN_STOP | TOKEN_PART)) != 0)
            continue;
        struct phrase run = capital_run(d, doc, i);
        if (run.n >= 2 && has_term(&run, term)) {
            *name = run;
            return true;
        }
        struct phrase pair = pair_at(d, weights, doc, i, term);
        if (pair.n == 2)
            count_pair(pairs, &pair);
    }
    return false;
}

struct phrase describe__phrase(const struct dialogue *d, const float *weights,
                               const struct dialogue_term *term)
{
    struct phrase name = {0};
    struct pairs pairs = {.n = 0};
    for (uint32_t t = 0; t < d->n_turns; t++) {
        for (uint32_t i = 0; i < d->turns[t]->n_docs; i++) {
            if (look_through(d, weights, &d->turns[t]->docs[i], term->term, &name, &pairs))
                return name;
        }
    }
    for (uint32_t i = 0; i < pairs.n; i++) {
        if (pairs.at[i].count >= 2 && 2 * pairs.at[i].count >= term->count)
            return pairs.at[i];
    }
    return (struct phrase){.text = term->surface, .term = {term->term}, .n = 1};
}

/* --- the title --- */

static void put_names(struct buf *out, const struct dialogue *d)
{
    uint32_t shown = d->n_participants <= TITLE_NAMES ? d->n_participants : TITLE_NAMES - 1;
    for (uint32_t i = 0; i < shown; i++) {
        bool last = i + 1 == d->n_participants;
        if (i > 0)
            buf_str_put(out, last ? STR(" and ") : STR(", "));
        describe__clip(out, d->participants[i], 40);
    }
    if (shown < d->n_participants)
        buf_printf(out, " and %u others", d->n_participants - shown);
}

struct ranked {
    const struct dialogue_term *term;
    float weight;
};

static int by_weight(const void *left, const void *right)
{
    const struct ranked *a = left, *b = right;
    if (a->weight > b->weight || a->weight < b->weight)
        return a->weight > b->weight ? -1 : 1;
    return (a->term->term > b->term->term) - (a->term->term < b->term->term);
}

/* A word that is fit for a title; numbers without words say little there. */
static bool is_titular(const struct dialogue_term *t)
{
    return t->wholes != 0 && !t->number && t->surface.len >= 3 && t->surface.len <= 40;
}

static struct ranked *rank_terms(struct arena *arena, const struct dialogue *d,
                                 const float *weights, uint32_t *n)
{
    struct ranked *ranked = ARENA_ARRAY(arena, struct ranked, d->n_terms);
    *n = 0;
    for (uint32_t i = 0; ranked != NULL && i < d->n_terms; i++) {
        if (weights[i] > 0 && is_titular(&d->terms[i]))
            ranked[(*n)++] = (struct ranked){&d->terms[i], weights[i]};
    }
    if (ranked != NULL)
        qsort(ranked, *n, sizeof *ranked, by_weight);
    return ranked;
}

static bool shares_term(const struct phrase *phrases, uint32_t n, const struct phrase *one)
{
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t k = 0; k < one->n; k++) {
            if (has_term(&phrases[i], one->term[k]))
                return true;
        }
    }
    return false;
}

static void put_subjects(struct buf *out, const struct dialogue *d, const float *weights,
                         const struct ranked *ranked, uint32_t n)
{
    struct phrase shown[TITLE_PHRASES];
    uint32_t n_shown = 0;
    for (uint32_t i = 0; i < n && i < TITLE_CANDIDATES && n_shown < TITLE_PHRASES; i++) {
        struct phrase phrase = {.term = {ranked[i].term->term}, .n = 1};
        if (shares_term(shown, n_shown, &phrase))
            continue;
        phrase = describe__phrase(d, weights, ranked[i].term);
        if (shares_term(shown, n_shown, &phrase))
            phrase = (struct phrase){ranked[i].term->surface, {ranked[i].term->term}, 1, 0};
        if (out->len + 2 + phrase.text.len > DESCRIBE_TITLE_BYTES)
            continue;
        buf_str_put(out, n_shown == 0 ? STR(": ") : STR(", "));
        describe__clip(out, phrase.text, 64);
        shown[n_shown++] = phrase;
    }
}

static enum err_code make_title(struct arena *arena, const struct dialogue *d, const float *weights,
                                struct str *title, struct err *err)
{
    struct buf out;
    buf_init(&out, arena, 1024);
    put_names(&out, d);
    uint32_t n;
    struct ranked *ranked = rank_terms(arena, d, weights, &n);
    if (ranked == NULL)
        return memory(err);
    put_subjects(&out, d, weights, ranked, n);
    if (!buf_ok(&out))
        return memory(err);
    *title = buf_str(&out);
    return ERR_OK;
}

static enum err_code join_names(struct arena *arena, const struct dialogue *d, struct str *names,
                                struct err *err)
{
    struct buf out;
    buf_init(&out, arena, (size_t)d->n_participants * 256 + 1);
    for (uint32_t i = 0; i < d->n_participants; i++) {
        if (i > 0)
            buf_char(&out, '\n');
        buf_str_put(&out, d->participants[i]);
    }
    *names = buf_str(&out);
    return buf_ok(&out) ? ERR_OK : memory(err);
}

enum err_code describe_episode(struct arena *arena, const struct dialogue *d, const float *weights,
                               struct description *out, struct err *err)
{
    float *central = ARENA_ARRAY(arena, float, d->n_terms);
    if (central == NULL)
        return memory(err);
    /* What several turns speak of is nearer to the middle than a rare word that one let fall. */
    for (uint32_t i = 0; i < d->n_terms; i++)
        central[i] = weights[i] * sqrtf((float)d->terms[i].turns);
    enum err_code rc = make_title(arena, d, central, &out->title, err);
    if (rc == ERR_OK)
        rc = describe__summary(arena, d, central, &out->summary, err);
    if (rc == ERR_OK)
        rc = join_names(arena, d, &out->participants, err);
    return rc;
}
