/* The filters: since until session speaker as_of (DESIGN 7). A turn passes or not; an episode
 * passes when one of its turns does, a topic when one of its episodes does. Times of an episode
 * decide alone where they can; else its turns' rows are looked at, LIMIT_EPISODE_TURNS at most. */
#include "core/graph/edge.h"
#include "core/recall/recall_int.h"

static bool in_time(const struct recall *r, int64_t start_ms, int64_t end_ms)
{
    const struct recall_query *q = r->query;
    return (!q->has_since || end_ms >= q->since_ms) && (!q->has_until || start_ms <= q->until_ms) &&
           (!q->has_as_of || start_ms <= q->as_of_ms);
}

/* Every moment between the two passes. */
static bool all_in_time(const struct recall *r, int64_t start_ms, int64_t end_ms)
{
    return in_time(r, start_ms, start_ms) && in_time(r, end_ms, end_ms);
}

bool recall__turn_passes(const struct recall *r, const struct turn_row *row)
{
    return in_time(r, row->time_ms, row->time_ms) &&
           (r->session_no == 0 || row->session_no == r->session_no) &&
           (r->speaker_no == 0 || row->speaker_no == r->speaker_no);
}

static bool a_turn_passes(struct recall *r, uint32_t id, uint32_t first_doc)
{
    uint32_t doc = first_doc;
    for (uint32_t seen = 0; doc < r->n_docs && seen <= r->n_docs; seen++) {
        struct turn_row row;
        columns_turn(r->columns, doc, &row);
        if (row.episode != id)
            break;
        if (recall__turn_passes(r, &row))
            return true;
        doc = recall__link(r, row.next);
    }
    return false;
}

bool recall__episode_passes(struct recall *r, uint32_t id, const struct episode_row *row)
{
    if (!r->filtered)
        return true;
    if (!in_time(r, row->start_ms, row->end_ms) ||
        (r->session_no != 0 && row->session_no != r->session_no))
        return false;
    if (r->speaker_no == 0 && all_in_time(r, row->start_ms, row->end_ms))
        return true;
    return a_turn_passes(r, id, row->first_doc);
}

enum err_code recall__topic_passes(struct recall *r, uint32_t id, bool *passes, struct err *err)
{
    struct edge edge;
    *passes = !r->filtered;
    if (*passes)
        return ERR_OK;
    enum err_code rc = edge_get(r->txn, r->space, KIND_TOPIC_EDGE, id, r->arena, &edge, err);
    for (uint32_t i = 0; rc == ERR_OK && i < edge.n && !*passes; i++) {
        struct episode_row row;
        columns_episode(r->columns, edge.at[i].id, &row);
        *passes = row.turns != 0 && recall__episode_passes(r, edge.at[i].id, &row);
    }
    return rc;
}
