/* explain=true: what each stage weighed, and why a candidate is not in the reply. */
#include <stdlib.h>

#include "core/recall/recall_int.h"

const char *recall_signal_name(enum recall_signal signal)
{
    static const char *const names[SIGNALS] = {"own",         "turn",    "window1", "window2",
                                               "window4",     "episode", "date",    "vector",
                                               "turn_vector", "rerank"};
    ASSERT(signal < SIGNALS);
    return names[signal];
}

/* The place that a signal alone would give, among the candidates of the stage. */
static uint16_t rank_by(const struct candidates *list, uint32_t at, int signal)
{
    float value = list->at[at].signal[signal];
    unsigned rank = 1;
    if (value <= 0)
        return 0;
    for (uint32_t i = 0; i < list->n; i++) {
        float other = list->at[i].signal[signal];
        rank += other > value || (i < at && other == value);
    }
    return (uint16_t)(rank > UINT16_MAX ? UINT16_MAX : rank);
}

static void explain_list(const struct candidates *list, uint32_t n, uint32_t shown,
                         struct recall_candidate *out)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct candidate *c = &list->at[i];
        out[i] = (struct recall_candidate){.id = c->id, .score = c->score, .factor = c->factor};
        for (int s = 0; s < SIGNALS; s++) {
            out[i].signal[s] = c->signal[s];
            out[i].rank[s] = rank_by(list, i, s);
        }
        out[i].cut = c->cut != NULL ? c->cut : i < shown ? NULL : "rank";
    }
}

static uint32_t turn_of_doc(struct recall *r, uint32_t doc)
{
    struct turn_row row;
    columns_turn(r->columns, doc, &row);
    return row.n;
}

/* The reply's, then those that ranked behind, then those that a filter or the gate kept out. */
static enum err_code explain_stage(struct recall *r, enum recall_stage stage,
                                   struct recall_explain *out, struct err *err)
{
    const struct candidates *list = &r->stage[stage], *cut = &r->cut[stage];
    uint32_t n = r->shown[stage] + RECALL_EXPLAIN;
    n = n < list->n ? n : list->n;
    out->stage[stage] = ARENA_ARRAY(r->arena, struct recall_candidate, (size_t)n + cut->n);
    if (out->stage[stage] == NULL)
        return recall__memory(err);
    explain_list(list, n, r->shown[stage], out->stage[stage]);
    explain_list(cut, cut->n, 0, out->stage[stage] + n);
    out->n[stage] = n + cut->n;
    for (uint32_t i = 0; stage == STAGE_RECENT && i < out->n[stage]; i++)
        out->stage[stage][i].id = turn_of_doc(r, out->stage[stage][i].id);
    return ERR_OK;
}

enum err_code recall__explain(struct recall *r, struct err *err)
{
    struct recall_explain *out = ARENA_NEW(r->arena, struct recall_explain);
    if (out == NULL)
        return recall__memory(err);
    out->terms = arena_copy(r->arena, r->term_text, sizeof r->term_text[0] * r->n_terms);
    if (out->terms == NULL)
        return recall__memory(err);
    out->n_terms = r->n_terms;
    out->ignored = r->ignored;
    out->n_ignored = r->n_ignored;
    for (int stage = 0; stage < RECALL_STAGES; stage++) {
        enum err_code rc = explain_stage(r, (enum recall_stage)stage, out, err);
        if (rc != ERR_OK)
            return rc;
    }
    r->reply->explain = out;
    return ERR_OK;
}
