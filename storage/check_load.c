/* fsck: the records of a space into arrays, each checked for what it says by itself. A record that
 * cannot be read is a problem and then missing. */
#include <stdlib.h>

#include "core/base/limits.h"
#include "core/graph/node_id.h"
#include "storage/check_int.h"

/* --- finding --- */

/* Index of `id` in an ascending array whose elements start with the id at `offset`. */
static size_t find_id(const void *at, size_t n, size_t size, size_t offset, uint32_t id)
{
    size_t from = 0, to = n;
    while (from < to) {
        size_t mid = from + (to - from) / 2;
        uint32_t there;
        memcpy(&there, (const char *)at + mid * size + offset, sizeof there);
        if (there == id)
            return mid;
        if (there < id)
            from = mid + 1;
        else
            to = mid;
    }
    return n;
}

struct check_turn *check__turn(const struct check *c, uint32_t n)
{
    size_t i = find_id(c->turns, c->n_turns, sizeof *c->turns, offsetof(struct check_turn, n), n);
    return i < c->n_turns ? &c->turns[i] : NULL;
}

struct check_episode *check__episode(const struct check *c, uint32_t id)
{
    size_t offset = offsetof(struct check_episode, record) + offsetof(struct episode, id);
    size_t i = find_id(c->episodes, c->n_episodes, sizeof *c->episodes, offset, id);
    return i < c->n_episodes ? &c->episodes[i] : NULL;
}

struct check_topic *check__topic(const struct check *c, uint32_t id)
{
    size_t offset = offsetof(struct check_topic, record) + offsetof(struct topic, id);
    size_t i = find_id(c->topics, c->n_topics, sizeof *c->topics, offset, id);
    return i < c->n_topics ? &c->topics[i] : NULL;
}

struct fact *check__fact(const struct check *c, uint32_t id)
{
    size_t i = find_id(c->facts, c->n_facts, sizeof *c->facts, offsetof(struct fact, id), id);
    return i < c->n_facts ? &c->facts[i] : NULL;
}

const struct edge_member *check__member(const struct check_members *members, uint32_t id)
{
    size_t i =
        find_id(members->at, members->n, sizeof *members->at, offsetof(struct edge_member, id), id);
    return i < members->n ? &members->at[i] : NULL;
}

/* --- what records share --- */

static void check_head(struct check *c, const char *word, uint32_t id, uint64_t seq,
                       enum stat_id next)
{
    if (seq <= c->base_seq || seq > c->stat.v[STAT_SEQ]) /* invariant 6 */
        check__problem(c, "%s_%u was made by seq %llu, which is out of range", word, id,
                       (unsigned long long)seq);
    if (id == 0 || id >= c->stat.v[next])
        check__problem(c, "%s_%u was not given out yet", word, id);
}

/* The row (kind, name) must hold this number. */
static enum err_code check_number(struct check *c, enum store_kind kind, struct str name,
                                  uint32_t number, uint32_t turn, struct err *err)
{
    struct str value;
    enum err_code code = store_get(c->txn, c->space, kind, name, &value, err);
    if (code == ERR_OK && (value.len != 4 || le32_get(value.at) != number))
        check__problem(c, "turn_%u: its %s row does not agree", turn, key_kind_name(kind));
    return code;
}

/* --- turns --- */

static enum err_code check_text(struct check *c, const struct turn *turn, struct err *err)
{
    uint64_t total = 0;
    enum err_code code = ERR_OK;
    if (turn->text_len <= LIMIT_PART_BYTES)
        return ERR_OK;
    for (uint32_t part = 0; code == ERR_OK && total < turn->text_len; part++) {
        char key[8];
        struct str value;
        be32_set(key, turn->n);
        be32_set(key + 4, part);
        code = store_get(c->txn, c->space, KIND_TEXT, (struct str){key, sizeof key}, &value, err);
        if (code == ERR_OK && value.len == 0) {
            check__problem(c, "turn_%u: a part of its text is missing", turn->n);
            return ERR_OK;
        }
        total += value.len;
        c->rows[KIND_TEXT]--;
    }
    if (total > turn->text_len)
        check__problem(c, "turn_%u: its text is too long", turn->n);
    return code;
}

static enum err_code check_finders(struct check *c, const struct turn *turn, struct err *err)
{
    char key[8];
    struct str value;
    be32_set(key, turn->session_no);
    be32_set(key + 4, turn->n);
    struct str pair = {key, sizeof key};
    enum err_code code = store_get(c->txn, c->space, KIND_SESSION_TURN, pair, &value, err);
    if (code == ERR_OK && value.at == NULL)
        check__problem(c, "turn_%u is not among its session's turns", turn->n);
    if (code == ERR_OK)
        code = check_number(c, KIND_SESSION, turn->session, turn->session_no, turn->n, err);
    if (code == ERR_OK)
        code = check_number(c, KIND_SPEAKER, turn_speaker(turn), turn->speaker_no, turn->n, err);
    if (code == ERR_OK && turn->id.len != 0) {
        code = check_number(c, KIND_TURN_ID, turn->id, turn->n, turn->n, err);
        c->rows[KIND_TURN_ID]--;
    }
    if (code == ERR_OK)
        code = check_text(c, turn, err);
    return code;
}

static enum err_code load_turn(struct check *c, const struct store_item *item, struct err *err)
{
    struct turn turn;
    if (item->key.len != 4)
        return ERR_OK;
    uint32_t n = be32_get(item->key.at);
    if (turn_decode(item->value, n, &turn, err) != ERR_OK) {
        check__problem(c, "%s", err->message);
        return ERR_OK;
    }
    check_head(c, NODE_TURN, n, turn.seq, STAT_NEXT_TURN);
    c->turns[c->n_turns++] = (struct check_turn){.n = n,
                                                 .session_no = turn.session_no,
                                                 .speaker_no = turn.speaker_no,
                                                 .doc = turn.doc,
                                                 .docs = turn.docs,
                                                 .time_ms = turn.time_ms};
    c->report->turns++;
    c->stat.v[STAT_TEXT_BYTES] -= turn.text_len; /* 0 at the end */
    return check_finders(c, &turn, err);
}

/* --- episodes, topics, facts and their hyperedges --- */

static enum err_code load_edge(struct check *c, enum store_kind kind, uint32_t parent,
                               struct check_members *members, struct err *err)
{
    struct edge edge;
    enum err_code code = edge_get(c->txn, c->space, kind, parent, c->arena, &edge, err);
    *members = (struct check_members){edge.at, edge.n};
    if (code == ERR_INTERNAL) {
        check__problem(c, "the hyperedge of %s_%u: %s",
                       kind == KIND_TOPIC_EDGE ? NODE_TOPIC : NODE_EPISODE, parent, err->message);
        *members = (struct check_members){NULL, 0};
        return ERR_OK;
    }
    return code;
}

static enum err_code load_episode(struct check *c, const struct store_item *item, struct err *err)
{
    if (item->key.len != 4)
        return ERR_OK;
    uint32_t id = be32_get(item->key.at);
    struct check_episode *episode = &c->episodes[c->n_episodes];
    if (episode_decode(item->value, id, &episode->record, err) != ERR_OK) {
        check__problem(c, "%s", err->message);
        return ERR_OK;
    }
    check_head(c, NODE_EPISODE, id, episode->record.seq, STAT_NEXT_EPISODE);
    c->n_episodes++;
    c->report->episodes++;
    return load_edge(c, KIND_EPISODE_EDGE, id, &episode->facts, err);
}

static enum err_code load_topic(struct check *c, const struct store_item *item, struct err *err)
{
    if (item->key.len != 4)
        return ERR_OK;
    uint32_t id = be32_get(item->key.at);
    struct check_topic *topic = &c->topics[c->n_topics];
    enum err_code code = topic_decode(c->arena, item->value, id, &topic->record, err);
    if (code == ERR_EXHAUSTED)
        return code;
    if (code != ERR_OK) {
        check__problem(c, "%s", err->message);
        return ERR_OK;
    }
    check_head(c, NODE_TOPIC, id, topic->record.seq, STAT_NEXT_TOPIC);
    c->n_topics++;
    c->report->topics++;
    return load_edge(c, KIND_TOPIC_EDGE, id, &topic->episodes, err);
}

static enum err_code load_fact(struct check *c, const struct store_item *item, struct err *err)
{
    if (item->key.len != 4)
        return ERR_OK;
    uint32_t id = be32_get(item->key.at);
    struct fact *fact = &c->facts[c->n_facts];
    enum err_code code = fact_decode(c->arena, item->value, id, fact, err);
    if (code == ERR_EXHAUSTED)
        return code;
    if (code != ERR_OK) {
        check__problem(c, "%s", err->message);
        return ERR_OK;
    }
    check_head(c, NODE_FACT, id, fact->seq, STAT_NEXT_FACT);
    c->n_facts++;
    c->report->facts++;
    return ERR_OK;
}

static enum err_code make_room(struct check *c, struct err *err)
{
    c->turns = check__array(c, c->rows[KIND_TURN] + 1u, sizeof *c->turns, err);
    c->episodes = check__array(c, c->rows[KIND_EPISODE] + 1u, sizeof *c->episodes, err);
    c->topics = check__array(c, c->rows[KIND_TOPIC] + 1u, sizeof *c->topics, err);
    c->facts = check__array(c, c->rows[KIND_FACT] + 1u, sizeof *c->facts, err);
    return c->turns != NULL && c->episodes != NULL && c->topics != NULL && c->facts != NULL
               ? ERR_OK
               : ERR_EXHAUSTED;
}

enum err_code check__load(struct check *c, struct err *err)
{
    enum err_code code = make_room(c, err);
    if (code == ERR_OK)
        code = check__each(c, KIND_TURN, load_turn, err);
    if (code == ERR_OK)
        code = check__each(c, KIND_EPISODE, load_episode, err);
    if (code == ERR_OK)
        code = check__each(c, KIND_TOPIC, load_topic, err);
    if (code == ERR_OK)
        code = check__each(c, KIND_FACT, load_fact, err);
    if (code != ERR_OK)
        return code;
    check__equal(c, "client ids without their turn", c->rows[KIND_TURN_ID], 0);
    check__equal(c, "parts of text without their turn", c->rows[KIND_TEXT], 0);
    check__equal(c, "TEXT_BYTES too much", c->stat.v[STAT_TEXT_BYTES], 0);
    return ERR_OK;
}
