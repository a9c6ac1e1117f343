/* fsck: the hypergraph's invariants 1 to 4 of DESIGN 5. */
#include <stdlib.h>

#include "core/ingest/boundary.h"
#include "storage/check_int.h"

/* --- invariant 1: turns and episodes --- */

static int by_session_cmp(const void *a, const void *b, void *arg)
{
    const struct check_turn *turns = arg;
    const struct check_turn *x = &turns[*(const uint32_t *)a];
    const struct check_turn *y = &turns[*(const uint32_t *)b];
    if (x->session_no != y->session_no)
        return x->session_no < y->session_no ? -1 : 1;
    return (x->n > y->n) - (x->n < y->n);
}

static enum err_code sort_by_session(struct check *c, struct err *err)
{
    c->by_session = check__array(c, c->n_turns + 1u, sizeof *c->by_session, err);
    if (c->by_session == NULL)
        return ERR_EXHAUSTED;
    for (uint32_t i = 0; i < c->n_turns; i++)
        c->by_session[i] = i;
    qsort_r(c->by_session, c->n_turns, sizeof *c->by_session, by_session_cmp, c->turns);
    return ERR_OK;
}

/* First place in by_session whose turn is >= (session_no, n). */
static uint32_t place_of(const struct check *c, uint32_t session_no, uint32_t n)
{
    uint32_t from = 0, to = c->n_turns;
    while (from < to) {
        uint32_t mid = from + (to - from) / 2;
        const struct check_turn *turn = &c->turns[c->by_session[mid]];
        bool less = turn->session_no != session_no ? turn->session_no < session_no : turn->n < n;
        if (less)
            from = mid + 1;
        else
            to = mid;
    }
    return from;
}

struct range {
    uint32_t session_no, first_n, last_n;
    uint32_t place; /* of its first turn in by_session */
    uint32_t turns;
    int64_t start_ms, end_ms;
};

static struct check_turn *turn_at(const struct check *c, uint32_t place, const struct range *range)
{
    if (place >= c->n_turns)
        return NULL;
    struct check_turn *turn = &c->turns[c->by_session[place]];
    return turn->session_no == range->session_no && turn->n <= range->last_n ? turn : NULL;
}

/* Counts the living turns of the range and their times. */
static void measure(const struct check *c, struct range *range)
{
    struct check_turn *turn;
    range->place = place_of(c, range->session_no, range->first_n);
    range->turns = 0;
    for (uint32_t i = range->place; (turn = turn_at(c, i, range)) != NULL; i++) {
        if (range->turns++ == 0)
            range->start_ms = range->end_ms = turn->time_ms;
        if (turn->time_ms < range->start_ms)
            range->start_ms = turn->time_ms;
        if (turn->time_ms > range->end_ms)
            range->end_ms = turn->time_ms;
    }
}

static void claim_episode(struct check *c, struct check_episode *episode)
{
    const struct episode *record = &episode->record;
    struct range range = {record->session_no, record->first_n, record->last_n, 0, 0, 0, 0};
    struct check_turn *turn;
    measure(c, &range);
    episode->first = range.place;
    episode->turns = range.turns;
    if (range.turns == 0 || range.turns != record->turns)
        check__problem(c, "episode_%u has %u turns, its record says %u", record->id, range.turns,
                       record->turns);
    else if (range.start_ms != record->start_ms || range.end_ms != record->end_ms)
        check__problem(c, "episode_%u does not begin or end with its turns", record->id);
    for (uint32_t i = range.place; (turn = turn_at(c, i, &range)) != NULL; i++) {
        if (turn->episode != 0)
            check__problem(c, "turn_%u is in episode_%u and episode_%u", turn->n, turn->episode,
                           record->id);
        turn->episode = record->id;
    }
}

static enum err_code claim_buffer(struct check *c, const struct store_item *item, struct err *err)
{
    struct buffer buffer;
    struct check_turn *turn;
    if (item->key.len != 4)
        return ERR_OK;
    uint32_t session_no = be32_get(item->key.at);
    if (buffer_decode(item->value, session_no, &buffer, err) != ERR_OK) {
        check__problem(c, "%s", err->message);
        return ERR_OK;
    }
    struct range range = {session_no, buffer.first_n, buffer.last_n, 0, 0, 0, 0};
    measure(c, &range);
    if (range.turns == 0 || range.turns != buffer.turns || range.start_ms != buffer.start_ms ||
        range.end_ms != buffer.end_ms)
        check__problem(c, "the buffer of session %u does not agree with its turns", session_no);
    for (uint32_t i = range.place; (turn = turn_at(c, i, &range)) != NULL; i++) {
        if (turn->episode != 0)
            check__problem(c, "turn_%u is in episode_%u and in a buffer", turn->n, turn->episode);
        turn->open = true;
    }
    return ERR_OK;
}

static enum err_code check_turns(struct check *c, struct err *err)
{
    uint64_t pending = 0, open = 0;
    for (uint32_t i = 0; i < c->n_episodes; i++)
        claim_episode(c, &c->episodes[i]);
    enum err_code code = check__each(c, KIND_BUFFER, claim_buffer, err);
    for (uint32_t i = 0; i < c->n_turns; i++) {
        const struct check_turn *turn = &c->turns[i];
        bool looked = turn->n <= c->stat.v[STAT_LOOKED];
        pending += !looked;
        open += turn->open;
        if (looked && turn->episode == 0 && !turn->open)
            check__problem(c, "turn_%u is in no episode and in no buffer", turn->n);
        if (!looked && (turn->episode != 0 || turn->open))
            check__problem(c, "turn_%u is above LOOKED and was looked at", turn->n);
    }
    check__equal(c, "PENDING", c->stat.v[STAT_PENDING], pending);
    check__equal(c, "OPEN", c->stat.v[STAT_OPEN], open);
    return code;
}

/* --- invariants 2 and 4: topics and episodes --- */

static void check_episode_topics(struct check *c, const struct check_episode *episode)
{
    const struct episode *record = &episode->record;
    if (record->n_topics == 0 && !check__is_draft(c, record->id))
        check__problem(c, "episode_%u is in no topic", record->id);
    for (uint32_t i = 0; i < record->n_topics; i++) {
        const struct check_topic *topic = check__topic(c, record->topics[i]);
        if (topic == NULL || check__member(&topic->episodes, record->id) == NULL)
            check__problem(c, "episode_%u names topic_%u, which does not have it", record->id,
                           record->topics[i]);
    }
}

static bool names_topic(const struct episode *episode, uint32_t topic)
{
    for (uint32_t i = 0; i < episode->n_topics; i++)
        if (episode->topics[i] == topic)
            return true;
    return false;
}

static void check_topic_members(struct check *c, const struct check_topic *topic)
{
    const struct topic *record = &topic->record;
    int64_t start = INT64_MAX, end = INT64_MIN;
    if (topic->episodes.n == 0 || topic->episodes.n != record->episodes)
        check__problem(c, "topic_%u has %u episodes, its record says %u", record->id,
                       topic->episodes.n, record->episodes);
    for (uint32_t i = 0; i < topic->episodes.n; i++) {
        const struct edge_member *member = &topic->episodes.at[i];
        const struct check_episode *episode = check__episode(c, member->id);
        if (member->role >= ROLE_COUNT)
            check__problem(c, "topic_%u: a member has no role", record->id);
        if (episode == NULL || !names_topic(&episode->record, record->id)) {
            check__problem(c, "topic_%u has episode_%u, which does not name it", record->id,
                           member->id);
            continue;
        }
        if (episode->record.start_ms < start)
            start = episode->record.start_ms;
        if (episode->record.end_ms > end)
            end = episode->record.end_ms;
    }
    if (topic->episodes.n != 0 && (record->start_ms != start || record->end_ms != end))
        check__problem(c, "topic_%u does not begin or end with its episodes", record->id);
}

/* A line of topics: each names its neighbours, all the first one. */
static void check_line(struct check *c, const struct topic *topic)
{
    const struct check_topic *previous = check__topic(c, topic->previous);
    const struct check_topic *next = check__topic(c, topic->next);
    if (topic->previous == 0 && topic->chain != topic->id)
        check__problem(c, "topic_%u begins a line and names topic_%u as its first", topic->id,
                       topic->chain);
    if (topic->previous != 0 && (previous == NULL || previous->record.next != topic->id ||
                                 previous->record.chain != topic->chain))
        check__problem(c, "topic_%u continues topic_%u, which does not agree", topic->id,
                       topic->previous);
    if (topic->next != 0 && (next == NULL || next->record.previous != topic->id))
        check__problem(c, "topic_%u is continued by topic_%u, which does not agree", topic->id,
                       topic->next);
}

/* --- invariants 3 and 4: facts --- */

static void check_episode_facts(struct check *c, const struct check_episode *episode)
{
    for (uint32_t i = 0; i < episode->facts.n; i++) {
        const struct edge_member *member = &episode->facts.at[i];
        const struct fact *fact = check__fact(c, member->id);
        bool named = false;
        for (uint32_t k = 0; fact != NULL && k < fact->n_episodes; k++)
            named = named || fact->episodes[k] == episode->record.id;
        if (!named)
            check__problem(c, "episode_%u has fact_%u, which does not name it", episode->record.id,
                           member->id);
        else if (member->weight != fact->weight || member->role >= ROLE_COUNT)
            check__problem(c, "episode_%u: role or weight of fact_%u do not agree",
                           episode->record.id, member->id);
    }
}

static bool has_source_in(const struct check *c, const struct fact *fact, uint32_t episode)
{
    for (uint32_t i = 0; i < fact->n_sources; i++) {
        const struct check_turn *turn = check__turn(c, fact->sources[i]);
        if (turn != NULL && turn->episode == episode)
            return true;
    }
    return false;
}

static bool names_episode(const struct fact *fact, uint32_t episode)
{
    for (uint32_t i = 0; i < fact->n_episodes; i++)
        if (fact->episodes[i] == episode)
            return true;
    return false;
}

/* What supersedes what is linked both ways, and in time. */
static void check_superseding(struct check *c, const struct fact *fact)
{
    const struct fact *newer =
        fact->superseded_by != 0 ? check__fact(c, fact->superseded_by) : NULL;
    const struct fact *older = fact->supersedes != 0 ? check__fact(c, fact->supersedes) : NULL;
    if (fact->superseded_by != 0 && (newer == NULL || newer->supersedes != fact->id))
        check__problem(c, "fact_%u is superseded by fact_%u, which does not say so", fact->id,
                       fact->superseded_by);
    if (fact->supersedes != 0 && (older == NULL || older->superseded_by != fact->id))
        check__problem(c, "fact_%u supersedes fact_%u, which does not say so", fact->id,
                       fact->supersedes);
    if ((fact->superseded_by != 0) != (fact->valid_to != TIME_NEVER))
        check__problem(c, "fact_%u has an end without a successor, or the reverse", fact->id);
    if (fact->valid_to < fact->valid_from)
        check__problem(c, "fact_%u ends before it begins", fact->id);
}

static void check_fact(struct check *c, const struct fact *fact)
{
    check_superseding(c, fact);
    if (fact->n_sources == 0)
        check__problem(c, "fact_%u has no source", fact->id);
    for (uint32_t i = 0; i < fact->n_sources; i++) {
        const struct check_turn *turn = check__turn(c, fact->sources[i]);
        if (turn == NULL)
            check__problem(c, "fact_%u cites turn_%u, which is not there", fact->id,
                           fact->sources[i]);
        else if (!names_episode(fact, turn->episode))
            check__problem(c, "fact_%u does not name the episode of turn_%u", fact->id, turn->n);
        if (i != 0 && fact->sources[i - 1] >= fact->sources[i])
            check__problem(c, "fact_%u: its sources do not ascend", fact->id);
    }
    for (uint32_t i = 0; i < fact->n_episodes; i++) {
        const struct check_episode *episode = check__episode(c, fact->episodes[i]);
        if (episode == NULL || check__member(&episode->facts, fact->id) == NULL)
            check__problem(c, "fact_%u names episode_%u, which does not have it", fact->id,
                           fact->episodes[i]);
        if (!has_source_in(c, fact, fact->episodes[i]))
            check__problem(c, "fact_%u has no source in episode_%u", fact->id, fact->episodes[i]);
    }
}

static enum err_code check_never(struct check *c, const struct fact *fact, struct err *err)
{
    char key[FACT_KEY];
    struct str value;
    fact_key(fact, key);
    enum err_code code =
        store_get(c->txn, c->space, KIND_FACT_NEVER, (struct str){key, sizeof key}, &value, err);
    if (code == ERR_OK && value.at != NULL)
        check__problem(c, "fact_%u is there though it was never to be made again", fact->id);
    return code;
}

static enum err_code check_source_row(struct check *c, const struct store_item *item,
                                      struct err *err)
{
    (void)err;
    bool cited = false;
    if (item->key.len != 8)
        return ERR_OK;
    uint32_t n = be32_get(item->key.at), id = be32_get(item->key.at + 4);
    const struct fact *fact = check__fact(c, id);
    for (uint32_t i = 0; fact != NULL && i < fact->n_sources; i++)
        cited = cited || fact->sources[i] == n;
    if (!cited)
        check__problem(c, "turn_%u is said to repeat fact_%u, which does not cite it", n, id);
    return ERR_OK;
}

/* Edge rows without their parent: the others were loaded with it. */
static enum err_code check_topic_edge(struct check *c, const struct store_item *item,
                                      struct err *err)
{
    (void)err;
    if (item->key.len == 4 && check__topic(c, be32_get(item->key.at)) == NULL)
        check__problem(c, "a hyperedge has no topic_%u", be32_get(item->key.at));
    return ERR_OK;
}

static enum err_code check_episode_edge(struct check *c, const struct store_item *item,
                                        struct err *err)
{
    (void)err;
    if (item->key.len == 4 && check__episode(c, be32_get(item->key.at)) == NULL)
        check__problem(c, "a hyperedge has no episode_%u", be32_get(item->key.at));
    return ERR_OK;
}

enum err_code check__graph(struct check *c, struct err *err)
{
    enum err_code code = sort_by_session(c, err);
    if (code == ERR_OK)
        code = check_turns(c, err);
    for (uint32_t i = 0; code == ERR_OK && i < c->n_episodes; i++) {
        check_episode_topics(c, &c->episodes[i]);
        check_episode_facts(c, &c->episodes[i]);
    }
    for (uint32_t i = 0; code == ERR_OK && i < c->n_topics; i++) {
        check_topic_members(c, &c->topics[i]);
        check_line(c, &c->topics[i].record);
    }
    for (uint32_t i = 0; code == ERR_OK && i < c->n_facts; i++) {
        check_fact(c, &c->facts[i]);
        code = check_never(c, &c->facts[i], err);
    }
    if (code == ERR_OK)
        code = check__each(c, KIND_FACT_SOURCE, check_source_row, err);
    if (code == ERR_OK)
        code = check__each(c, KIND_TOPIC_EDGE, check_topic_edge, err);
    if (code == ERR_OK)
        code = check__each(c, KIND_EPISODE_EDGE, check_episode_edge, err);
    return code;
}
