/* The facts that a model told (core/model/ask_facts.h), in the place of their first cited turn. */
#include "core/base/hash.h"
#include "core/ingest/facts_int.h"
#include "core/ingest/index_text.h"
#include "core/text/utf8.h"

static const struct said *find_said(const struct facts_work *f, uint32_t n)
{
    for (uint32_t i = 0; i < f->d->n_turns; i++) {
        if (f->d->turns[i]->turn.n == n)
            return f->d->turns[i];
    }
    return NULL;
}

/* A turn that it cites may have been deleted since it was asked about. */
static const struct said *first_cited(const struct facts_work *f, const struct ask_fact *told)
{
    const struct said *said = NULL;
    for (uint32_t i = 0; said == NULL && i < told->n_turns; i++)
        said = find_said(f, told->turns[i]);
    return said;
}

bool facts__is_cited(const struct facts_work *f, uint32_t n)
{
    for (uint32_t i = 0; f->told != NULL && i < f->told->n_facts; i++) {
        const struct ask_fact *told = &f->told->facts[i];
        for (uint32_t k = 0; k < told->n_turns; k++) {
            if (told->turns[k] == n)
                return true;
        }
    }
    return false;
}

/* --- what they say --- */

static enum err_code write_out(struct facts_work *f, const struct ask_fact *told,
                               struct fact_draft *draft, struct err *err)
{
    struct arena *arena = f->w->arena;
    const struct turn *turn = &draft->said->turn;
    struct fact *fact = ARENA_NEW(arena, struct fact);
    struct str normal = utf8_normal(arena, told->content);
    if (fact == NULL || normal.at == NULL)
        return stage__memory(err);
    uint64_t hash = hash64(normal);
    *fact = (struct fact){.speaker_no = turn->speaker_no,
                          .valid_from = turn->time_ms,
                          .valid_to = TIME_NEVER,
                          .weight = weight_pack(told->weight),
                          .has_time = told->has_time,
                          .from = told->from,
                          .to = told->to,
                          .grain = told->grain,
                          .hash = hash == 0 ? 1 : hash,
                          .time_text = told->time_text,
                          .content = told->content,
                          .speaker = turn_speaker(turn),
                          .role = turn->role,
                          .keywords = told->keywords,
                          .potential = told->potential};
    draft->fact = fact;
    return index_told_fact(&f->w->reader, fact, &draft->bag, err);
}

enum err_code facts__told_draft(struct facts_work *f, struct err *err)
{
    enum err_code rc = ERR_OK;
    if (f->told == NULL)
        return ERR_OK;
    f->told_drafts = ARENA_ARRAY(f->w->arena, struct fact_draft, f->told->n_facts);
    if (f->told_drafts == NULL)
        return stage__memory(err);
    for (uint32_t i = 0; rc == ERR_OK && i < f->told->n_facts; i++) {
        struct fact_draft *draft = &f->told_drafts[i];
        *draft = (struct fact_draft){.said = first_cited(f, &f->told->facts[i]),
                                     .question = STR(""),
                                     .told = &f->told->facts[i]};
        if (draft->said == NULL)
            continue;
        rc = write_out(f, draft->told, draft, err);
        if (rc != ERR_OK)
            break;
        ASSERT(draft->fact != NULL);
        facts__stored_ask(f, draft->fact->hash);
    }
    return rc;
}

/* --- what becomes of them --- */

static bool is_by_machine(struct str role)
{
    const struct turn turn = {.role = role};
    return turn_is_machine(&turn);
}

/* An older fact is over since the new one was said. What a machine says ends nothing that a person
 * said (PITFALLS 22); nothing is overwritten. */
static enum err_code supersede(struct facts_work *f, const struct fact_draft *draft, uint32_t by,
                               struct err *err)
{
    struct known_fact *known = NULL;
    enum err_code rc = facts__known(f, draft->told->supersedes, &known, err);
    if (rc != ERR_OK || known == NULL || known->fact.id == by)
        return rc;
    struct fact *old = &known->fact;
    bool weaker = is_by_machine(draft->fact->role) && !is_by_machine(old->role);
    if (old->valid_to != TIME_NEVER || old->valid_from > draft->fact->valid_from || weaker)
        return ERR_OK;
    old->valid_to = draft->fact->valid_from;
    old->superseded_by = by;
    known->ended = true;
    f->fresh[f->n_fresh - 1].supersedes = old->id;
    f->out->superseded++;
    return ERR_OK;
}

/* All further turns that it cites; those of a stored fact too. */
static enum err_code add_sources(struct facts_work *f, const struct fact_draft *draft,
                                 struct err *err)
{
    enum err_code rc = ERR_OK;
    for (uint32_t i = 0; rc == ERR_OK && i < draft->told->n_turns; i++) {
        struct fact_draft other = *draft;
        enum fact_fate fate;
        other.said = find_said(f, draft->told->turns[i]);
        if (other.said != NULL && other.said != draft->said)
            rc = facts__settle(f, &other, &fate, err);
    }
    return rc;
}

/* The model says that a known fact says the same. False in *done: that one is gone or over. */
static enum err_code repeat(struct facts_work *f, const struct fact_draft *draft, bool *done,
                            struct err *err)
{
    struct known_fact *known = NULL;
    *done = false;
    if (draft->told->same_as == 0)
        return ERR_OK;
    enum err_code rc = facts__known(f, draft->told->same_as, &known, err);
    if (rc != ERR_OK || known == NULL || fact_is_over(&known->fact, draft->fact->valid_from))
        return rc;
    *done = true;
    for (uint32_t i = 0; rc == ERR_OK && i < draft->told->n_turns; i++) {
        struct fact_draft source = *draft;
        source.said = find_said(f, draft->told->turns[i]);
        if (source.said != NULL)
            rc = facts__repeat(f, &source, draft->told->same_as, err);
    }
    return rc;
}

static enum err_code settle(struct facts_work *f, const struct fact_draft *draft,
                            struct fact_tally *tally, struct err *err)
{
    bool repeats;
    enum fact_fate fate = FATE_REPEAT;
    enum err_code rc = repeat(f, draft, &repeats, err);
    if (rc == ERR_OK && !repeats)
        rc = facts__settle_new(f, draft, tally, &fate, err);
    else if (rc == ERR_OK)
        f->out->repeats++;
    if (rc != ERR_OK || repeats || fate == FATE_ECHO || fate == FATE_NEVER)
        return rc;
    rc = add_sources(f, draft, err);
    if (rc != ERR_OK || fate != FATE_NEW || draft->told->supersedes == 0)
        return rc;
    return supersede(f, draft, f->out->first + f->out->n - 1, err);
}

enum err_code facts__told_settle(struct facts_work *f, const struct said *said,
                                 struct fact_tally *tally, struct err *err)
{
    enum err_code rc = ERR_OK;
    for (uint32_t i = 0; f->told != NULL && rc == ERR_OK && i < f->told->n_facts; i++) {
        if (f->told_drafts[i].said == said)
            rc = settle(f, &f->told_drafts[i], tally, err);
    }
    return rc;
}
