#include "core/ingest/facts.h"

#include <stdlib.h>

#include "core/base/limits.h"
#include "core/ingest/facts_int.h"
#include "core/text/sentence.h"

enum {
    CHARACTERS_FREE = 2000,
    CHARACTERS_PER_FACT = 250,
    QUESTION_BYTES = 160, /* a longer question is not carried by its answer */
    ANSWER_BYTES = 48,
    ANSWER_WORDS = 4,
    PRIOR_MAX = 255,
};

static uint32_t facts_allowed(const struct said *said)
{
    /* A quarter of the characters, as buffers count. */
    uint32_t characters = 4 * buffer_tokens(said->turn.text);
    uint32_t more =
        characters > CHARACTERS_FREE ? (characters - CHARACTERS_FREE) / CHARACTERS_PER_FACT : 0;
    return LIMIT_FACTS_PER_TURN + more;
}

/* Half a million sentences fit into a turn; room for a fact of each would not fit the arena. */
static uint32_t most_facts(const struct said *said)
{
    uint32_t allowed = facts_allowed(said);
    return said->n_sentences < allowed ? said->n_sentences : allowed;
}

static bool has_word(const struct said_sentence *s)
{
    return s->n_tokens != 0;
}

/* A few words that mean nothing without what they answer. */
static bool is_short_answer(const struct said *said, const struct said_sentence *s)
{
    const struct token *tokens = said_tokens(said, s);
    uint32_t words = 0;
    for (uint32_t i = 0; i < s->n_tokens; i++)
        words += (tokens[i].flags & (TOKEN_STOP | TOKEN_PART)) == 0;
    return s->text.len <= ANSWER_BYTES && words <= ANSWER_WORDS && !s->question;
}

/* What the turn ends with, when that is a question. */
static struct str question_of(const struct said *said)
{
    if (said->n_sentences == 0)
        return STR("");
    const struct said_sentence *last = &said->sentences[said->n_sentences - 1];
    bool fit = last->question && !last->fenced && last->text.len <= QUESTION_BYTES;
    return fit ? last->text : STR("");
}

/* --- one turn --- */

static enum err_code draft_turn(struct facts_work *f, const struct said *said, struct str question,
                                struct turn_drafts *drafts, struct err *err)
{
    const struct dialogue *d = f->d;
    drafts->n = 0;
    drafts->at = ARENA_ARRAY(f->w->arena, struct fact_draft, said->n_sentences);
    if (drafts->at == NULL)
        return stage__memory(err);
    for (uint32_t i = 0; i < said->n_sentences; i++) {
        const struct said_sentence *s = &said->sentences[i];
        if (s->fenced)
            f->out->echoes++;
        if (s->fenced || !has_word(s) ||
            sentence_is_phatic(s->text, d->participants, d->n_participants))
            continue;
        struct fact_draft *draft = &drafts->at[drafts->n++];
        bool answers = i == 0 && question.len != 0 && is_short_answer(said, s);
        *draft = (struct fact_draft){
            .said = said, .sentence = s, .question = answers ? question : STR(""), .kept = true};
        enum err_code rc = facts__draft(f, draft, err);
        if (rc != ERR_OK)
            return rc;
        if (f->told != NULL && draft->weight > FACTS_UNCITED_WEIGHT)
            draft->weight = FACTS_UNCITED_WEIGHT;
    }
    return ERR_OK;
}

static int by_weight(const void *left, const void *right)
{
    const struct fact_draft *a = *(struct fact_draft *const *)left;
    const struct fact_draft *b = *(struct fact_draft *const *)right;
    if (a->weight > b->weight || a->weight < b->weight)
        return a->weight > b->weight ? -1 : 1;
    return (a > b) - (a < b);
}

/* The heaviest stay; none where a model tells what the turn says. */
static enum err_code limit_turn(struct facts_work *f, const struct said *said,
                                struct turn_drafts *drafts, struct err *err)
{
    for (uint32_t i = 0; i < drafts->n && facts__is_cited(f, said->turn.n); i++)
        drafts->at[i].kept = false;
    uint32_t allowed = facts_allowed(said);
    if (drafts->n <= allowed)
        return ERR_OK;
    struct fact_draft **order = ARENA_ARRAY(f->w->arena, struct fact_draft *, drafts->n);
    if (order == NULL)
        return stage__memory(err);
    for (uint32_t i = 0; i < drafts->n; i++)
        order[i] = &drafts->at[i];
    qsort(order, drafts->n, sizeof(struct fact_draft *), by_weight);
    for (uint32_t i = allowed; i < drafts->n; i++)
        order[i]->kept = false;
    return ERR_OK;
}

static uint32_t stated_by(const struct fact_draft *draft)
{
    return draft->sentence->question ? draft->stated / 2 : draft->stated;
}

/* Under what it is found: its words, and the hash of what it says. */
static enum err_code add_document(struct facts_work *f, const struct fact_draft *draft,
                                  struct err *err)
{
    struct arena *arena = f->w->arena;
    struct segment_doc *doc = &f->out->docs[f->out->n];
    struct term_count hash = {.term = fact_hash_term(draft->fact->hash), .count = 1};
    const struct term_bag extra = {.at = &hash, .n = 1};
    *doc = (struct segment_doc){.layer = LAYER_FACT, .doc = f->out->n};
    f->out->n++;
    return term_bag_add(arena, &draft->bag, &extra, &doc->bag, err);
}

enum err_code facts__settle_new(struct facts_work *f, const struct fact_draft *draft,
                                struct fact_tally *tally, enum fact_fate *fate, struct err *err)
{
    enum err_code rc = facts__settle(f, draft, fate, err);
    if (rc != ERR_OK)
        return rc;
    f->out->repeats += *fate == FATE_REPEAT;
    f->out->echoes += *fate == FATE_ECHO;
    if (*fate != FATE_NEW)
        return ERR_OK;
    if (tally->n == 0)
        tally->first = f->out->first + f->out->n;
    tally->n++;
    return add_document(f, draft, err);
}

static enum err_code settle_draft(struct facts_work *f, const struct fact_draft *draft,
                                  struct fact_tally *tally, struct err *err)
{
    enum fact_fate fate;
    enum err_code rc = facts__settle_new(f, draft, tally, &fate, err);
    if (rc == ERR_OK && (fate == FATE_NEW || fate == FATE_REPEAT))
        tally->stated += stated_by(draft);
    return rc;
}

static enum err_code mark_row(struct facts_work *f, uint32_t doc, const struct fact_tally *tally,
                              struct err *err)
{
    struct turn_row *row = stage__row(f->w, doc);
    if (row == NULL)
        return stage__memory(err);
    row->fact_first = tally->first;
    row->fact_count = (uint16_t)tally->n;
    row->prior = (uint8_t)(tally->stated < PRIOR_MAX ? tally->stated : PRIOR_MAX);
    row->flags |= TURN_ROW_DONE;
    row->episode = f->episode_id;
    return ERR_OK;
}

static enum err_code settle_turn(struct facts_work *f, const struct said *said,
                                 const struct turn_drafts *drafts, struct err *err)
{
    uint32_t next = 0;
    enum err_code rc = ERR_OK;
    for (uint32_t d = 0; rc == ERR_OK && d < said->n_docs; d++) {
        struct fact_tally tally = {0};
        if (d == 0)
            rc = facts__told_settle(f, said, &tally, err);
        for (; rc == ERR_OK && next < drafts->n && drafts->at[next].sentence->doc == d; next++) {
            if (drafts->at[next].kept)
                rc = settle_draft(f, &drafts->at[next], &tally, err);
            else /* too many for a fact each, but the turn states it all the same */
                tally.stated += stated_by(&drafts->at[next]);
        }
        if (rc == ERR_OK)
            rc = mark_row(f, said->docs[d].doc, &tally, err);
    }
    return rc;
}

/* --- the episode --- */

/* What the kept drafts say, and what the index is asked about them. */
static enum err_code write_out(struct facts_work *f, const struct turn_drafts *drafts,
                               struct err *err)
{
    enum err_code rc = ERR_OK;
    for (uint32_t i = 0; rc == ERR_OK && i < drafts->n; i++) {
        struct fact_draft *draft = &drafts->at[i];
        if (!draft->kept)
            continue;
        rc = facts__write_out(f, draft, err);
        if (rc == ERR_OK && turn_is_machine(&draft->said->turn))
            rc = facts__hash_unnamed(f, draft, err);
        if (rc != ERR_OK)
            break;
        facts__stored_ask(f, draft->fact->hash);
        if (draft->unnamed != 0)
            facts__stored_ask(f, draft->unnamed);
    }
    return rc;
}

static enum err_code draft_turns(struct facts_work *f, struct turn_drafts *drafts, struct err *err)
{
    struct str question = STR("");
    const struct turn *before = NULL;
    enum err_code rc = ERR_OK;
    for (uint32_t i = 0; rc == ERR_OK && i < f->d->n_turns; i++) {
        const struct said *said = f->d->turns[i];
        if (before != NULL && before->speaker_no == said->turn.speaker_no)
            question = STR("");
        rc = draft_turn(f, said, question, &drafts[i], err);
        if (rc == ERR_OK)
            rc = limit_turn(f, said, &drafts[i], err);
        if (rc == ERR_OK)
            rc = write_out(f, &drafts[i], err);
        question = question_of(said);
        before = &said->turn;
    }
    return rc;
}

static enum err_code build_turns(struct facts_work *f, struct err *err)
{
    struct turn_drafts *drafts = ARENA_ARRAY(f->w->arena, struct turn_drafts, f->d->n_turns);
    if (drafts == NULL)
        return stage__memory(err);
    enum err_code rc = draft_turns(f, drafts, err);
    if (rc == ERR_OK)
        rc = facts__told_draft(f, err);
    if (rc == ERR_OK)
        rc = facts__stored_read(f, err);
    for (uint32_t i = 0; rc == ERR_OK && i < f->d->n_turns; i++)
        rc = settle_turn(f, f->d->turns[i], &drafts[i], err);
    return rc;
}

enum err_code facts_build(struct stage_work *w, const struct dialogue *d, uint32_t episode_id,
                          const struct ask_facts *told, struct facts *out, struct err *err)
{
    *out = (struct facts){.first = (uint32_t)w->stat.v[STAT_NEXT_FACT]};
    struct facts_work f = {.w = w, .d = d, .told = told, .episode_id = episode_id, .out = out};
    f.cap_fresh = told != NULL ? told->n_facts : 0;
    for (uint32_t i = 0; i < d->n_turns; i++)
        f.cap_fresh += most_facts(d->turns[i]);
    f.fresh = ARENA_ARRAY(w->arena, struct fact, f.cap_fresh);
    out->docs = ARENA_ARRAY(w->arena, struct segment_doc, f.cap_fresh);
    f.fresh_doc = ARENA_ARRAY(w->arena, uint32_t, f.cap_fresh);
    f.fresh_role = ARENA_ARRAY(w->arena, uint8_t, f.cap_fresh);
    f.stored.cap = 2 * f.cap_fresh;
    f.stored.terms = ARENA_ARRAY(w->arena, uint64_t, f.stored.cap);
    if (f.fresh == NULL || f.fresh_doc == NULL || f.fresh_role == NULL || out->docs == NULL ||
        f.stored.terms == NULL)
        return stage__memory(err);
    enum err_code rc = build_turns(&f, err);
    if (rc == ERR_OK)
        rc = facts__save(&f, err);
    store_cursor_close(f.stored.never);
    if (rc == ERR_OK)
        ASSERT(f.n_fresh == out->n);
    return rc;
}
