/* fsck finds nothing in a sound memory and each damage in a damaged one; the digest does not depend
 * on ids and depends on everything else; find sees every living byte. */
#include <lmdb.h>
#include <stdio.h>

#include "core/ingest/accept.h"
#include "storage/check.h"
#include "tests/unit/storage/world.h"

static struct fixture fx;
static struct world w;

/* The lines of one check. */
static char lines[16384];

static void add_line(const char *text, void *arg)
{
    (void)arg;
    size_t len = strlen(lines);
    (void)snprintf(lines + len, sizeof lines - len, "%s\n", text);
}

static const struct check_sink sink = {add_line, NULL};

static uint64_t check(void)
{
    struct check_report report;
    struct err err;
    lines[0] = '\0';
    enum err_code code = storage_check(fx.store, &sink, &report, &err);
    ck_assert_msg(code == ERR_OK, "%s", err.message);
    return report.problems;
}

static void setup(void)
{
    fixture_init(&fx);
    world_build(&w, &fx, "w", 0);
}

static void teardown(void)
{
    fixture_fini(&fx);
}

START_TEST(a_sound_memory_has_no_problem)
{
    struct world more;
    world_build(&more, &fx, "second", 7);
    (void)make_space(&fx, "gone");
    ck_assert_int_eq(drop_space(&fx, "gone"), ERR_OK);
    struct check_report report;
    struct err err;
    lines[0] = '\0';
    ck_assert_int_eq(storage_check(fx.store, &sink, &report, &err), ERR_OK);
    ck_assert_msg(report.problems == 0, "%s", lines);
    ck_assert_uint_eq(report.spaces, 2);
    ck_assert_uint_eq(report.turns, 12);
    ck_assert_uint_eq(report.episodes, 4);
    ck_assert_uint_eq(report.topics, 4);
    ck_assert_uint_eq(report.facts, 4);
    ck_assert_uint_gt(report.rows, 100);
}
END_TEST

/* --- damage that a batch can do --- */

static struct batch *damage(void)
{
    return batch_new(fx.arena, w.space, CAUSE_KEEP);
}

static void put(enum store_kind kind, struct str key, struct str value)
{
    struct batch *batch = damage();
    (void)batch_put(batch, kind, key, value, 0);
    ck_assert_int_eq(apply(&fx, batch), ERR_OK);
}

static void del(enum store_kind kind, struct str key)
{
    struct batch *batch = damage();
    (void)batch_del(batch, kind, key, 0);
    ck_assert_int_eq(apply(&fx, batch), ERR_OK);
}

static void set(enum stat_id counter, uint64_t value)
{
    struct batch *batch = damage();
    batch_set(batch, counter, value);
    ck_assert_int_eq(apply(&fx, batch), ERR_OK);
}

/* Changes one byte of a row. */
static void flip(enum store_kind kind, struct str key, size_t offset)
{
    struct store_txn *txn = begin(&fx);
    struct str value;
    struct err err;
    ck_assert_int_eq(store_get(txn, w.space, kind, key, &value, &err), ERR_OK);
    ck_assert_uint_gt(value.len, offset);
    char *copy = arena_copy(fx.arena, value.at, value.len);
    copy[offset] ^= 0x11;
    store_end(txn);
    put(kind, key, (struct str){copy, value.len});
}

static void two_edges(enum store_kind kind, uint32_t parent, uint32_t first, uint16_t weight)
{
    struct edge_member members[] = {{first, ROLE_CORE, weight}};
    struct buf buf;
    buf_init(&buf, fx.arena, 100);
    edge_encode(&(struct edge){members, 1}, &buf);
    put(kind, BE32(parent), buf_str(&buf));
}

static void d_turn_gone(void)
{
    del(KIND_TURN, BE32(2));
}
static void d_session_turn_gone(void)
{
    del(KIND_SESSION_TURN, STR("\0\0\0\1\0\0\0\2"));
}
static void d_client_id_wrong(void)
{
    put(KIND_TURN_ID, STR("client-2"), STR("\3\0\0\0"));
}
static void d_client_id_orphan(void)
{
    put(KIND_TURN_ID, STR("client-99"), STR("\3\0\0\0"));
}
static void d_session_wrong(void)
{
    put(KIND_SESSION, STR("A"), STR("\2\0\0\0"));
}
static void d_text_orphan(void)
{
    put(KIND_TEXT, STR("\0\0\0\1\0\0\0\0"), STR("x"));
}
static void d_turn_damaged(void)
{
    put(KIND_TURN, BE32(2), STR("short"));
}
static void d_seq_too_high(void)
{
    w.episodes[0].seq = 1000;
    struct buf buf;
    buf_init(&buf, fx.arena, 10000);
    episode_encode(&w.episodes[0], &buf);
    put(KIND_EPISODE, BE32(1), buf_str(&buf));
}
static void d_id_too_high(void)
{
    w.facts[1].id = 55;
    world_put_fact(&w, 1);
}
static void d_in_two_episodes(void)
{
    w.episodes[1].session_no = 1;
    w.episodes[1].first_n = w.episodes[1].last_n = 3;
    world_put_episode(&w, 1);
}
static void d_episode_turns(void)
{
    w.episodes[0].turns = 2;
    world_put_episode(&w, 0);
}
static void d_episode_times(void)
{
    w.episodes[0].end_ms++;
    world_put_episode(&w, 0);
}
static void d_buffer_gone(void)
{
    del(KIND_BUFFER, BE32(1));
}
static void d_no_topic(void)
{
    w.episodes[0].n_topics = 0;
    world_put_episode(&w, 0);
}
static void d_other_topic(void)
{
    w.episodes[0].topics[0] = 2;
    world_put_episode(&w, 0);
}
static void d_topic_edge_gone(void)
{
    del(KIND_TOPIC_EDGE, BE32(1));
}
static void d_topic_edge_orphan(void)
{
    two_edges(KIND_TOPIC_EDGE, 9, 1, 1);
}
static void d_edge_damaged(void)
{
    put(KIND_EPISODE_EDGE, BE32(2), STR("12345"));
}
static void d_topic_count(void)
{
    w.topics[0].episodes = 3;
    world_put_topic(&w, 0);
}
static void d_line_broken(void)
{
    w.topics[0].next = 0;
    world_put_topic(&w, 0);
}
static void d_chain_wrong(void)
{
    w.topics[0].chain = 2;
    world_put_topic(&w, 0);
}
static void d_weight(void)
{
    two_edges(KIND_EPISODE_EDGE, 2, 1, 12345);
}
static void d_member_missing(void)
{
    two_edges(KIND_EPISODE_EDGE, 1, 1, 40000);
}
static void d_no_source(void)
{
    w.facts[1].n_sources = 0;
    world_put_fact(&w, 1);
}
static void d_source_not_there(void)
{
    w.facts[1].sources[0] = 60;
    world_put_fact(&w, 1);
}
static void d_source_elsewhere(void)
{
    w.facts[1].sources[0] = 4;
    world_put_fact(&w, 1);
}
static void d_hash_gone(void)
{
    w.facts[0].hash ^= 1; /* the index has another */
    world_put_fact(&w, 0);
}
static void d_never_there(void)
{
    char key[FACT_KEY];
    fact_key(&w.facts[0], key);
    put(KIND_FACT_NEVER, (struct str){key, sizeof key}, STR(""));
}
static void d_source_row_gone(void)
{
    del(KIND_FACT_SOURCE, STR("\0\0\0\4\0\0\0\1"));
}
static void d_source_row_orphan(void)
{
    put(KIND_FACT_SOURCE, STR("\0\0\0\3\0\0\0\1"), STR(""));
}
static void d_not_indexed(void)
{
    flip(KIND_LENGTH, STR("\2\0\0\0\0"), 0); /* 2 ^ 0x11: another length */
}
static void d_length_gone(void)
{
    del(KIND_LENGTH, STR("\1\0\0\0\0"));
}
static void d_length_orphan(void)
{
    put(KIND_LENGTH, STR("\3\0\0\0\1"), STR("\1"));
}
static void d_segment_gone(void)
{
    del(KIND_SEGMENT, STR("\0\0\0\0\0\0\0\2\0\0"));
}
static void d_segment_damaged(void)
{
    flip(KIND_SEGMENT, STR("\0\0\0\0\0\0\0\2\0\0"), 0);
}
static void d_segment_twice(void)
{
    struct store_txn *txn = begin(&fx);
    struct str value;
    struct err err;
    ck_assert_int_eq(
        store_get(txn, w.space, KIND_SEGMENT, STR("\0\0\0\0\0\0\0\2\0\0"), &value, &err), ERR_OK);
    value = str_copy(fx.arena, value);
    store_end(txn);
    put(KIND_SEGMENT, STR("\0\0\0\0\0\0\0\0\0\0"), value);
}
static void d_turn_column(void)
{
    flip(KIND_COLUMN, STR("\0\0\0\0\0"), offsetof(struct turn_row, time_ms));
}
static void d_link(void)
{
    flip(KIND_COLUMN, STR("\0\0\0\0\0"), offsetof(struct turn_row, next));
}
static void d_done(void)
{
    flip(KIND_COLUMN, STR("\0\0\0\0\0"), offsetof(struct turn_row, flags));
}
static void d_fact_column(void)
{
    flip(KIND_COLUMN, STR("\1\0\0\0\0"), offsetof(struct fact_row, valid_to));
}
static void d_episode_column(void)
{
    flip(KIND_COLUMN, STR("\2\0\0\0\0"), offsetof(struct episode_row, start_ms));
}
static void d_topic_column(void)
{
    flip(KIND_COLUMN, STR("\3\0\0\0\0"), offsetof(struct topic_row, chain));
}
static void d_doc_column(void)
{
    flip(KIND_COLUMN, STR("\4\0\0\0\0"), 0);
}
static void d_log_gone(void)
{
    del(KIND_LOG, STR("\0\0\0\0\0\0\0\1"));
}
static void d_log_damaged(void)
{
    put(KIND_LOG, STR("\0\0\0\0\0\0\0\1"), STR("??"));
}
static void d_settings_gone(void)
{
    del(KIND_META, STR(""));
}
static void d_history(void)
{
    put(KIND_HISTORY, STR("c\0\0\0\1\0\0\0\0\0\0\0\1"), STR("\2\0\0\0\0\0\0\0x"));
}
static void d_job(void)
{
    put(KIND_JOB, STR("\0\0\0\0\0\0\0\1"), STR("?"));
}
static void d_flush(void)
{
    put(KIND_FLUSH, STR("\0\0\0\0\0\0\0\1"), STR("\1\0\0\0"));
}
static void d_expiry(void)
{
    put(KIND_EXPIRY, STR("\0\0\0\0\0\0\0\1jxxxx"), STR(""));
}
static void d_unknown_kind(void)
{
    put((enum store_kind)'Q', STR("x"), STR(""));
}
static void d_key_shape(void)
{
    put(KIND_SEGMENT, STR("short"), STR(""));
}
static void d_turns(void)
{
    set(STAT_TURNS, 99);
}
static void d_pending(void)
{
    set(STAT_PENDING, 0);
}
static void d_text_bytes(void)
{
    set(STAT_TEXT_BYTES, 1);
}
static void d_small_segments(void)
{
    set(STAT_SMALL_SEGMENTS, 5);
}
static void d_dead_docs(void)
{
    set(STAT_DEAD_DOCS, 5);
}
static void d_unfinished(void)
{
    set(STAT_UNFINISHED, 1);
}
static void d_total_length(void)
{
    set(STAT_LENGTH_FACT, 1);
}
static void d_processed(void)
{
    set(STAT_PROCESSED, 99);
}

static const struct {
    void (*damage)(void);
    const char *says;
} damages[] = {
    {d_turn_gone, "TURNS is 6, should be 5"},
    {d_session_turn_gone, "turn_2 is not among its session's turns"},
    {d_client_id_wrong, "turn_2: its TURN_ID row does not agree"},
    {d_client_id_orphan, "client ids without their turn"},
    {d_session_wrong, "SESSION row does not agree"},
    {d_text_orphan, "parts of text without their turn"},
    {d_turn_damaged, "the record of turn 2 is damaged"},
    {d_seq_too_high, "episode_1 was made by seq 1000"},
    {d_id_too_high, "fact_55 was not given out yet"},
    {d_in_two_episodes, "turn_3 is in episode_1 and episode_2"},
    {d_episode_turns, "episode_1 has 3 turns, its record says 2"},
    {d_episode_times, "episode_1 does not begin or end with its turns"},
    {d_buffer_gone, "turn_5 is in no episode and in no buffer"},
    {d_no_topic, "episode_1 is in no topic"},
    {d_other_topic, "episode_1 names topic_2, which does not have it"},
    {d_topic_edge_gone, "topic_1 has 0 episodes, its record says 1"},
    {d_topic_edge_orphan, "a hyperedge has no topic_9"},
    {d_edge_damaged, "the hyperedge of episode_2"},
    {d_topic_count, "topic_1 has 1 episodes, its record says 3"},
    {d_line_broken, "topic_2 continues topic_1, which does not agree"},
    {d_chain_wrong, "topic_1 begins a line and names topic_2"},
    {d_weight, "role or weight of fact_1 do not agree"},
    {d_member_missing, "fact_2 names episode_1, which does not have it"},
    {d_no_source, "fact_2 has no source"},
    {d_source_not_there, "fact_2 cites turn_60, which is not there"},
    {d_source_elsewhere, "fact_2 does not name the episode of turn_4"},
    {d_hash_gone, "fact_1 is not found by its hash"},
    {d_never_there, "fact_1 is there though it was never to be made again"},
    {d_source_row_gone, "fact_1 is not found from turn_4"},
    {d_source_row_orphan, "turn_3 is said to repeat fact_1"},
    {d_not_indexed, "its postings sum to"},
    {d_length_gone, "fact_1 is not indexed"},
    {d_length_orphan, "a length of topic document 1024"},
    {d_segment_gone, "its postings sum to 0"},
    {d_segment_damaged, "segment 2.0: "},
    {d_segment_twice, "DEAD_DOCS is 0, should be 6"},
    {d_turn_column, "turn_1: its column (document 0) does not agree"},
    {d_link, "the links of document 1 do not agree"},
    {d_done, "UNFINISHED is 0, should be 1"},
    {d_fact_column, "fact_1: its column does not agree"},
    {d_episode_column, "episode_1: its column does not agree"},
    {d_topic_column, "topic_1: its column does not agree"},
    {d_doc_column, "episode_1: its column does not agree"},
    {d_log_gone, "the number of log rows is 1, should be 2"},
    {d_log_damaged, "the log row of seq 1 is damaged"},
    {d_settings_gone, "space w has no settings"},
    {d_history, "a version of record 1 is damaged"},
    {d_job, "job"},
    {d_flush, "a flush has no job"},
    {d_expiry, "a row expires at 1, before EXPIRE_DUE"},
    {d_unknown_kind, "a row of unknown kind 0x51"},
    {d_key_shape, "a SEGMENT row has a key of 5 bytes"},
    {d_turns, "TURNS is 99, should be 6"},
    {d_pending, "PENDING is 0, should be 1"},
    {d_text_bytes, "TEXT_BYTES"},
    {d_small_segments, "SMALL_SEGMENTS is 5, should be 2"},
    {d_dead_docs, "DEAD_DOCS is 5, should be 0"},
    {d_unfinished, "UNFINISHED is 1, should be 0"},
    {d_total_length, "is 1, should be"},
    {d_processed, "PROCESSED is above SEQ"},
};
enum { DAMAGES = sizeof damages / sizeof damages[0] };

START_TEST(each_damage_is_found)
{
    ck_assert_msg(check() == 0, "%s", lines);
    damages[_i].damage();
    ck_assert_uint_gt(check(), 0);
    ck_assert_msg(strstr(lines, damages[_i].says) != NULL, "wanted \"%s\", got:\n%s",
                  damages[_i].says, lines);
}
END_TEST

/* --- damage that only a stranger can do --- */

static void raw_put(const char *key, size_t key_len, const char *value, size_t len)
{
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi dbi;
    char copy[64], data[64];
    fixture_close(&fx);
    memcpy(copy, key, key_len);
    memcpy(data, value, len);
    MDB_val k = {key_len, copy}, v = {len, data};
    ck_assert_int_eq(mdb_env_create(&env), 0);
    ck_assert_int_eq(mdb_env_open(env, fx.dir, 0, 0600), 0);
    ck_assert_int_eq(mdb_txn_begin(env, NULL, 0, &txn), 0);
    ck_assert_int_eq(mdb_dbi_open(txn, NULL, 0, &dbi), 0);
    ck_assert_int_eq(mdb_put(txn, dbi, &k, &v, 0), 0);
    ck_assert_int_eq(mdb_txn_commit(txn), 0);
    mdb_env_close(env);
    fx.options.read_only = true; /* the writer would begin to purge */
    fixture_open(&fx);
}

#define RAW(key, value) key, sizeof(key) - 1, value, sizeof(value) - 1

START_TEST(the_systems_rows_are_checked)
{
    static const struct {
        const char *key;
        size_t key_len;
        const char *value;
        size_t len;
        const char *says;
    } rows[] = {
        {RAW("\0\0\0\0\0\0\0\0d\0\0\0\0\0\0\0\7\0\0\0\0\0\0\0\1", ""), "due row of space 1"},
        {RAW("\0\0\0\0\0\0\0\0D\0\0\0\0\0\0\0\1", ""), "space 1 is deleted and still has counters"},
        {RAW("\0\0\0\0\0\0\0\0rx", "\71\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"), "not given out yet"},
        {RAW("\0\0\0\0\0\0\0\0rx", "short"), "registry row of x is damaged"},
        {RAW("\0\0\0\0\0\0\0\0t\0\0\0\1", ""), "kind 0x74 lies in the system's range"},
        {RAW("\0\0\0\0\0\0\0\5t\0\0\0\1", ""), "rows of space 5 belong to no name"},
        {RAW("abc", ""), "belongs to no space"},
    };
    raw_put(rows[_i].key, rows[_i].key_len, rows[_i].value, rows[_i].len);
    ck_assert_uint_gt(check(), 0);
    ck_assert_msg(strstr(lines, rows[_i].says) != NULL, "wanted \"%s\", got:\n%s", rows[_i].says,
                  lines);
}
END_TEST

/* --- digest --- */

static struct hash128 digest(const char *name)
{
    struct hash128 hash;
    struct err err;
    enum err_code code = storage_digest_space(fx.store, str_of(name), &hash, &err);
    ck_assert_msg(code == ERR_OK, "%s", err.message);
    return hash;
}

static bool same(struct hash128 a, struct hash128 b)
{
    return a.low == b.low && a.high == b.high;
}

START_TEST(the_digest_leaves_ids_out)
{
    struct world other;
    world_build(&other, &fx, "other", 5);
    ck_assert_msg(check() == 0, "%s", lines);
    ck_assert(same(digest("w"), digest("other")));
    struct err err;
    lines[0] = '\0';
    ck_assert_int_eq(storage_digest(fx.store, &sink, &err), ERR_OK);
    char a[33] = "", b[33] = "";
    ck_assert_int_eq(sscanf(lines, "other %32[0-9a-f]\nw %32[0-9a-f]\n", a, b), 2);
    ck_assert_str_eq(a, b);
    struct hash128 hash;
    ck_assert_int_eq(storage_digest_space(fx.store, STR("none"), &hash, &err), ERR_NOT_FOUND);
}
END_TEST

static void c_content(void)
{
    w.facts[1].content = STR("The sister adopted a dog");
    world_put_fact(&w, 1);
}
static void c_title(void)
{
    w.episodes[1].title = STR("Another title");
    world_put_episode(&w, 1);
}
static void c_summary(void)
{
    w.topics[1].summary = STR("Another summary");
    world_put_topic(&w, 1);
}
static void c_keyword(void)
{
    w.topics[0].keywords[0].weight = 2.5f;
    world_put_topic(&w, 0);
}
static void c_weight(void)
{
    w.facts[0].weight = 12345;
    world_put_fact(&w, 0);
}
static void c_edge(void)
{
    two_edges(KIND_EPISODE_EDGE, 2, 1, 12345);
}
static void c_source(void)
{
    w.facts[1].sources[0] = 2;
    world_put_fact(&w, 1);
}
static void c_buffer(void)
{
    del(KIND_BUFFER, BE32(1));
}
static void c_posting(void)
{
    del(KIND_SEGMENT, STR("\0\0\0\0\0\0\0\2\0\0"));
}
static void c_turn(void)
{
    flip(KIND_TURN, BE32(2), 75);
}

START_TEST(the_digest_sees_every_change)
{
    static void (*const changes[])(void) = {c_content, c_title,  c_summary, c_keyword, c_weight,
                                            c_edge,    c_source, c_buffer,  c_posting, c_turn};
    struct hash128 before = digest("w");
    changes[_i]();
    ck_assert(!same(before, digest("w")));
}
END_TEST

/* --- find --- */

static struct find_report find(const char *text, bool raw)
{
    struct find_report report;
    struct err err;
    lines[0] = '\0';
    enum err_code code = storage_find(fx.store, str_of(text), raw, &sink, &report, &err);
    ck_assert_msg(code == ERR_OK, "%s", err.message);
    return report;
}

START_TEST(find_reads_keys_and_values)
{
    ck_assert_uint_eq(find("unlooked turn at the", false).hits, 1);
    ck_assert_ptr_nonnull(strstr(lines, "1 in a row of kind TURN of space 1"));
    ck_assert_uint_eq(find("client-3", false).hits, 2); /* in the record and as a key */
    ck_assert_uint_eq(find("The marathon", false).rows, 1);
    ck_assert_uint_eq(find("never said", false).hits, 0);
    ck_assert_str_eq(lines, "");
    struct find_report report;
    struct err err;
    ck_assert_int_eq(storage_find(fx.store, STR(""), false, &sink, &report, &err), ERR_INVALID);
}
END_TEST

START_TEST(find_reads_across_parts)
{
    put(KIND_TEXT, STR("\0\0\0\1\0\0\0\0"), STR("...the sec"));
    put(KIND_TEXT, STR("\0\0\0\1\0\0\0\1"), STR("ret"));
    put(KIND_TEXT, STR("\0\0\0\1\0\0\0\3"), STR("the sec"));
    put(KIND_TEXT, STR("\0\0\0\2\0\0\0\0"), STR("ret sec"));
    put(KIND_TEXT, STR("\0\0\0\2\0\0\0\2"), STR("ret")); /* a part between is missing */
    ck_assert_uint_eq(find("secret", false).hits, 1);
    ck_assert_uint_eq(find("sec", false).hits, 3);
    ck_assert_uint_eq(find("t", false).hits > 0, 1);
}
END_TEST

START_TEST(find_raw_sees_free_pages)
{
    char value[3000];
    struct str needle = STR("needle-in-a-page");
    memset(value, 'v', sizeof value);
    memcpy(value + 1000, needle.at, needle.len);
    put(KIND_TEXT, STR("\0\0\0\1\0\0\0\0"), (struct str){value, sizeof value});
    struct find_report report = find("needle-in-a-page", true);
    ck_assert_uint_eq(report.hits, 1);
    ck_assert_uint_ge(report.file_hits, 1);
    del(KIND_TEXT, STR("\0\0\0\1\0\0\0\0"));
    report = find("needle-in-a-page", true);
    ck_assert_uint_eq(report.hits, 0);
    ck_assert_uint_ge(report.free_hits, 1);
    ck_assert_uint_ge(report.file_hits, report.free_hits);
}
END_TEST

Suite *suite_store_check(void)
{
    Suite *suite = suite_create("store_check");
    TCase *tc = tcase_create("check");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_sound_memory_has_no_problem);
    tcase_add_loop_test(tc, each_damage_is_found, 0, DAMAGES);
    tcase_add_loop_test(tc, the_systems_rows_are_checked, 0, 7);
    tcase_add_test(tc, the_digest_leaves_ids_out);
    tcase_add_loop_test(tc, the_digest_sees_every_change, 0, 10);
    tcase_add_test(tc, find_reads_keys_and_values);
    tcase_add_test(tc, find_reads_across_parts);
    tcase_add_test(tc, find_raw_sees_free_pages);
    suite_add_tcase(suite, tc);
    return suite;
}
