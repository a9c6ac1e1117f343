#include "tests/unit/graph/records.h"

struct space sample_space(void)
{
    return (struct space){.seq = 7,
                          .created_ms = -1,
                          .timezone = STR("Europe/Berlin"),
                          .language = STR("auto"),
                          .tokenizer = 65535};
}

struct turn sample_turn(void)
{
    return (struct turn){.seq = UINT64_MAX,
                         .n = 412,
                         .doc = 0x01020304,
                         .docs = 3,
                         .session_no = 0x05060708,
                         .speaker_no = 0x090a0b0c,
                         .time_ms = INT64_MIN,
                         .offset_min = -720,
                         .received_ms = INT64_MAX,
                         .time_source = TIME_FUTURE,
                         .id = STR("D1:3"),
                         .session = STR("session_1"),
                         .speaker = STR("Caroline"),
                         .role = STR("user"),
                         .metadata = STR("{\"a\":1}"),
                         .text_len = 12,
                         .text = STR("NUL \0 inside")};
}

static struct edge_member members[] = {
    {1, ROLE_INITIATING, 0}, {2, ROLE_CAUSAL, 65535}, {UINT32_MAX, ROLE_CORE, 32768}};

struct edge sample_edge(void)
{
    return (struct edge){members, 3};
}

struct episode sample_episode(void)
{
    return (struct episode){.seq = 9,
                            .id = 5,
                            .doc = 77,
                            .session_no = 2,
                            .first_n = 10,
                            .last_n = 20,
                            .turns = 8,
                            .start_ms = -62135596800000,
                            .end_ms = 1,
                            .offset_min = 330,
                            .flags = EPISODE_DEGRADED,
                            .n_topics = 2,
                            .topics = {3, 9},
                            .session = STR("s"),
                            .title = STR("A title"),
                            .summary = STR("Caroline went (7 May 2023)."),
                            .participants = STR("Caroline\nMelanie")};
}

static struct topic_keyword keywords[] = {{{"pottery", 7}, 0xffffffffff, 3.5f},
                                          {{"", 0}, 0, 0.001f}};

struct topic sample_topic(void)
{
    return (struct topic){.seq = 1,
                          .id = 3,
                          .doc = 4,
                          .chain = 2,
                          .previous = 2,
                          .next = 8,
                          .episodes = 16,
                          .start_ms = 5,
                          .end_ms = 6,
                          .flags = TOPIC_DEGRADED,
                          .title = STR("Pottery"),
                          .summary = STR("…"),
                          .n_keywords = 2,
                          .keywords = keywords};
}

static uint32_t sources[] = {3, 300, UINT32_MAX};
static uint32_t episodes[] = {9, 2};

struct fact sample_fact(void)
{
    return (struct fact){.seq = 12,
                         .id = 88,
                         .speaker_no = 4,
                         .valid_from = 1683460000000,
                         .valid_to = TIME_NEVER,
                         .superseded_by = 89,
                         .weight = 65535,
                         .flags = FACT_BUILTIN | FACT_DEGRADED,
                         .has_time = true,
                         .from = {1, 1, 1},
                         .to = {9999, 12, 31},
                         .grain = DATE_YEAR,
                         .hash = 0x0102030405060708,
                         .time_text = STR("last Friday"),
                         .content = STR("Caroline went to a support group."),
                         .speaker = STR("Caroline"),
                         .role = STR("assistant"),
                         .keywords = STR("support\ngroup"),
                         .potential = STR("Where did she go?"),
                         .n_sources = 3,
                         .sources = sources,
                         .n_episodes = 2,
                         .episodes = episodes};
}

static void put_space(bool full, struct buf *out)
{
    struct space space = full ? sample_space() : (struct space){0};
    space_encode(&space, out);
}

static enum err_code get_space(struct arena *arena, struct str value, struct buf *again,
                               struct err *err)
{
    struct space space;
    (void)arena;
    enum err_code rc = space_decode(value, &space, err);
    if (rc == ERR_OK)
        space_encode(&space, again);
    return rc;
}

static void put_turn(bool full, struct buf *out)
{
    struct turn turn = full ? sample_turn() : (struct turn){0};
    turn_encode(&turn, out);
}

static enum err_code get_turn(struct arena *arena, struct str value, struct buf *again,
                              struct err *err)
{
    struct turn turn;
    (void)arena;
    enum err_code rc = turn_decode(value, 1, &turn, err);
    if (rc == ERR_OK)
        turn_encode(&turn, again);
    return rc;
}

static void put_edge(bool full, struct buf *out)
{
    struct edge edge = full ? sample_edge() : (struct edge){0};
    edge_encode(&edge, out);
}

static enum err_code get_edge(struct arena *arena, struct str value, struct buf *again,
                              struct err *err)
{
    struct edge edge;
    enum err_code rc = edge_decode(arena, value, &edge, err);
    if (rc == ERR_OK)
        edge_encode(&edge, again);
    return rc;
}

static void put_episode(bool full, struct buf *out)
{
    struct episode episode = full ? sample_episode() : (struct episode){0};
    episode_encode(&episode, out);
}

static enum err_code get_episode(struct arena *arena, struct str value, struct buf *again,
                                 struct err *err)
{
    struct episode episode;
    (void)arena;
    enum err_code rc = episode_decode(value, 1, &episode, err);
    if (rc == ERR_OK)
        episode_encode(&episode, again);
    return rc;
}

static void put_topic(bool full, struct buf *out)
{
    struct topic topic = full ? sample_topic() : (struct topic){0};
    topic_encode(&topic, out);
}

static enum err_code get_topic(struct arena *arena, struct str value, struct buf *again,
                               struct err *err)
{
    struct topic topic;
    enum err_code rc = topic_decode(arena, value, 1, &topic, err);
    if (rc == ERR_OK)
        topic_encode(&topic, again);
    return rc;
}

static void put_fact(bool full, struct buf *out)
{
    struct fact fact = full ? sample_fact() : (struct fact){0};
    fact_encode(&fact, out);
}

static enum err_code get_fact(struct arena *arena, struct str value, struct buf *again,
                              struct err *err)
{
    struct fact fact;
    enum err_code rc = fact_decode(arena, value, 1, &fact, err);
    if (rc == ERR_OK)
        fact_encode(&fact, again);
    return rc;
}

const struct record_codec record_codecs[] = {
    {"space", put_space, get_space}, {"turn", put_turn, get_turn},
    {"edge", put_edge, get_edge},    {"episode", put_episode, get_episode},
    {"topic", put_topic, get_topic}, {"fact", put_fact, get_fact},
};
const size_t n_record_codecs = sizeof record_codecs / sizeof record_codecs[0];
