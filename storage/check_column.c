/* fsck: columns repeat what the records say (core/index/column.h). */
#include "core/index/column.h"
#include "storage/check_int.h"

/* --- turns --- */

static void check_turn_row(struct check *c, const struct check_turn *turn, uint32_t doc,
                           const struct turn_row *row)
{
    bool later = (row->flags & TURN_ROW_LATER) != 0;
    if (row->n != turn->n || row->session_no != turn->session_no ||
        row->speaker_no != turn->speaker_no || row->time_ms != turn->time_ms ||
        row->episode != turn->episode || later != (doc != turn->doc))
        check__problem(c, "turn_%u: its column (document %u) does not agree", turn->n, doc);
}

/* Links run through the documents of each session's turns that boundary has looked at. */
static void check_links(struct check *c, struct columns *columns)
{
    uint32_t previous = 0, session_no = 0; /* document + 1 */
    struct turn_row row, before = {0};
    for (uint32_t i = 0; i < c->n_turns; i++) {
        const struct check_turn *turn = &c->turns[c->by_session[i]];
        bool looked = turn->n <= c->stat.v[STAT_LOOKED];
        for (uint32_t d = 0; d < turn->docs; d++) {
            columns_turn(columns, turn->doc + d, &row);
            if (turn->session_no != session_no) {
                if (before.next != 0)
                    check__problem(c, "turn_%u: a link leads nowhere", before.n);
                previous = 0;
                before = (struct turn_row){0};
                session_no = turn->session_no;
            }
            uint32_t next = looked ? turn->doc + d + 1 : 0;
            if (row.prev != (looked ? previous : 0) || (previous != 0 && before.next != next))
                check__problem(c, "turn_%u: the links of document %u do not agree", turn->n,
                               turn->doc + d);
            previous = next;
            before = row;
        }
    }
    if (before.next != 0)
        check__problem(c, "turn_%u: a link leads nowhere", before.n);
}

static void check_turn_rows(struct check *c, struct columns *columns)
{
    uint64_t unfinished = 0;
    for (uint32_t i = 0; i < c->n_turns; i++) {
        const struct check_turn *turn = &c->turns[i];
        struct turn_row row;
        for (uint32_t d = 0; d < turn->docs; d++) {
            columns_turn(columns, turn->doc + d, &row);
            check_turn_row(c, turn, turn->doc + d, &row);
            bool waits = turn->episode != 0 && (row.flags & TURN_ROW_DONE) == 0;
            if (d == 0)
                unfinished += waits;
            if (waits && !check__is_draft(c, turn->episode))
                check__problem(c, "turn_%u waits for facts that nobody makes", turn->n);
            if (turn->episode == 0 && (row.flags & TURN_ROW_DONE) != 0)
                check__problem(c, "turn_%u is done and in no episode", turn->n);
        }
    }
    check__equal(c, "UNFINISHED", c->stat.v[STAT_UNFINISHED], unfinished);
}

/* --- the rest --- */

static void check_fact_rows(struct check *c, struct columns *columns)
{
    uint32_t next = 0;
    for (uint32_t id = 1; id < c->stat.v[STAT_NEXT_FACT]; id++) {
        struct fact_row row;
        columns_fact(columns, id, &row);
        if (next >= c->n_facts || c->facts[next].id != id) {
            if (row.turn_doc != 0 || row.episode != 0 || row.valid_from != 0)
                check__problem(c, "a column has fact_%u, which is not there", id);
            continue;
        }
        const struct fact *fact = &c->facts[next++];
        const struct check_turn *turn =
            fact->n_sources != 0 ? check__turn(c, fact->sources[0]) : NULL;
        if (turn == NULL)
            continue; /* told already */
        if (row.speaker_no != fact->speaker_no || row.key_mark != fact_key_mark(fact) ||
            row.valid_from != fact->valid_from || row.valid_to != fact->valid_to ||
            row.episode != turn->episode || row.turn_doc < turn->doc ||
            row.turn_doc >= turn->doc + turn->docs)
            check__problem(c, "fact_%u: its column does not agree", id);
        if (fact->valid_from != turn->time_ms)
            check__problem(c, "fact_%u is not valid from its first source on", id);
    }
}

static uint32_t first_doc(const struct check *c, const struct check_episode *episode)
{
    return episode->turns != 0 ? c->turns[c->by_session[episode->first]].doc : 0;
}

static void check_episode_rows(struct check *c, struct columns *columns)
{
    uint32_t next = 0;
    for (uint32_t id = 1; id < c->stat.v[STAT_NEXT_EPISODE]; id++) {
        struct episode_row row;
        columns_episode(columns, id, &row);
        if (next >= c->n_episodes || c->episodes[next].record.id != id) {
            if (row.turns != 0)
                check__problem(c, "a column has episode_%u, which is not there", id);
            continue;
        }
        const struct check_episode *episode = &c->episodes[next++];
        const struct episode *record = &episode->record;
        if (row.doc != record->doc || row.session_no != record->session_no ||
            row.turns != record->turns || row.start_ms != record->start_ms ||
            row.end_ms != record->end_ms || row.first_doc != first_doc(c, episode) ||
            row.topics[0] != record->topics[0] || row.topics[1] != record->topics[1] ||
            columns_episode_of_doc(columns, record->doc) != id)
            check__problem(c, "episode_%u: its column does not agree", id);
    }
}

static void check_topic_rows(struct check *c, struct columns *columns)
{
    uint32_t next = 0;
    for (uint32_t id = 1; id < c->stat.v[STAT_NEXT_TOPIC]; id++) {
        struct topic_row row;
        columns_topic(columns, id, &row);
        if (next >= c->n_topics || c->topics[next].record.id != id) {
            if (row.episodes != 0)
                check__problem(c, "a column has topic_%u, which is not there", id);
            continue;
        }
        const struct topic *record = &c->topics[next++].record;
        if (row.doc != record->doc || row.chain != record->chain ||
            row.episodes != record->episodes || row.start_ms != record->start_ms ||
            row.end_ms != record->end_ms || columns_topic_of_doc(columns, record->doc) != id)
            check__problem(c, "topic_%u: its column does not agree", id);
    }
}

/* How each fact is found from its source: made of one of the turn's documents, or by a row. */
static enum err_code check_found_from(struct check *c, struct columns *columns,
                                      const struct fact *fact, uint32_t n, struct err *err)
{
    const struct check_turn *turn = check__turn(c, n);
    if (turn == NULL)
        return ERR_OK;
    struct turn_row row;
    bool more = false;
    for (uint32_t d = 0; d < turn->docs; d++) {
        columns_turn(columns, turn->doc + d, &row);
        more = more || (row.flags & TURN_ROW_MORE) != 0;
        if (fact->id >= row.fact_first && fact->id - row.fact_first < row.fact_count)
            return ERR_OK;
    }
    char key[8];
    struct str value;
    be32_set(key, n);
    be32_set(key + 4, fact->id);
    enum err_code code =
        store_get(c->txn, c->space, KIND_FACT_SOURCE, (struct str){key, sizeof key}, &value, err);
    if (code == ERR_OK && (value.at == NULL || !more))
        check__problem(c, "fact_%u is not found from turn_%u", fact->id, n);
    return code;
}

enum err_code check__columns(struct check *c, struct err *err)
{
    struct columns *columns = columns_new(c->txn, c->space, c->arena);
    if (columns == NULL)
        return err_set(err, ERR_EXHAUSTED, "out of memory while checking columns");
    check_turn_rows(c, columns);
    check_links(c, columns);
    check_fact_rows(c, columns);
    check_episode_rows(c, columns);
    check_topic_rows(c, columns);
    enum err_code code = columns_error(columns, err);
    for (uint32_t i = 0; code == ERR_OK && i < c->n_facts; i++)
        for (uint32_t k = 0; code == ERR_OK && k < c->facts[i].n_sources; k++)
            code = check_found_from(c, columns, &c->facts[i], c->facts[i].sources[k], err);
    return code;
}
