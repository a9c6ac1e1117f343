#include <check.h>
#include <stdio.h>

#include "core/base/limits.h"
#include "tests/unit/graph/records.h"

static struct arena *arena;

static void setup(void)
{
    arena = arena_new(1 << 24);
}

static void teardown(void)
{
    arena_free(arena);
}

static struct str sample(const struct record_codec *codec, bool full)
{
    struct buf out;
    buf_init(&out, arena, 1 << 20);
    codec->sample(full, &out);
    ck_assert(buf_ok(&out));
    return buf_str(&out);
}

static enum err_code decode(const struct record_codec *codec, struct str value, struct str *again)
{
    struct err err = {0};
    struct buf out;
    buf_init(&out, arena, 1 << 20);
    enum err_code rc = codec->decode(arena, value, &out, &err);
    ck_assert_int_eq(rc, err.code);
    *again = buf_str(&out);
    return rc;
}

START_TEST(records_come_back)
{
    const struct record_codec *codec = &record_codecs[_i];
    for (int full = 0; full < 2; full++) {
        struct str again;
        struct str value = sample(codec, full != 0);
        ck_assert_int_eq(decode(codec, value, &again), ERR_OK);
        ck_assert(str_eq(again, value));
    }
}
END_TEST

START_TEST(every_truncation_is_refused)
{
    const struct record_codec *codec = &record_codecs[_i];
    struct str value = sample(codec, true);
    for (size_t len = 0; len < value.len; len++) {
        struct str again;
        struct str part = {arena_copy(arena, value.at, len), len};
        enum err_code rc = decode(codec, part, &again);
        if (strcmp(codec->name, "edge") == 0 && len % 7 == 0)
            ck_assert_int_eq(rc, ERR_OK); /* fewer members are a hyperedge too */
        else
            ck_assert_int_eq(rc, ERR_INTERNAL);
    }
}
END_TEST

START_TEST(a_longer_record_is_refused)
{
    const struct record_codec *codec = &record_codecs[_i];
    struct str again;
    struct str value = sample(codec, true);
    char *longer = arena_alloc(arena, value.len + 1);
    memcpy(longer, value.at, value.len);
    longer[value.len] = 0;
    ck_assert_int_eq(decode(codec, (struct str){longer, value.len + 1}, &again), ERR_INTERNAL);
    if (strcmp(codec->name, "edge") != 0) /* where nothing is no members */
        ck_assert_int_eq(decode(codec, STR_NONE, &again), ERR_INTERNAL);
}
END_TEST

/* Any change gives an error or a record that comes back as itself. */
START_TEST(every_changed_byte_is_survived)
{
    const struct record_codec *codec = &record_codecs[_i];
    size_t len = sample(codec, true).len;
    for (size_t at = 0; at < len; at++) {
        for (unsigned change = 1; change < 256; change++) {
            struct str value = sample(codec, true);
            char *bytes = arena_copy(arena, value.at, value.len);
            bytes[at] = (char)((uint8_t)bytes[at] ^ change);
            struct str again;
            struct str third;
            if (decode(codec, (struct str){bytes, len}, &again) == ERR_OK) {
                ck_assert_int_eq(decode(codec, again, &third), ERR_OK);
                ck_assert(str_eq(again, third));
            }
            arena_reset(arena);
        }
    }
}
END_TEST

START_TEST(random_bytes_are_survived)
{
    const struct record_codec *codec = &record_codecs[_i];
    uint64_t state = 1;
    for (int round = 0; round < 20000; round++) {
        char bytes[200];
        for (size_t i = 0; i < sizeof bytes; i++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            bytes[i] = (char)(state >> 56 & (round % 2 == 0 ? 0xff : 0x03));
        }
        size_t len = (size_t)(state >> 33) % sizeof bytes;
        if (round % 4 != 0)
            bytes[strcmp(codec->name, "turn") == 0 ? 20 : 8] = 1; /* past the format byte */
        struct str again;
        (void)decode(codec, (struct str){arena_copy(arena, bytes, len), len}, &again);
        arena_reset(arena);
    }
}
END_TEST

START_TEST(missing_memory_is_reported)
{
    const struct record_codec *codec = &record_codecs[_i];
    enum err_code rc = ERR_EXHAUSTED;
    for (unsigned long n = 1; rc != ERR_OK; n++) {
        struct err err = {0};
        char room[1024];
        struct str value = sample(codec, true);
        struct buf out = {.at = room, .cap = sizeof room, .max = sizeof room, .arena = arena};
        arena_fail_after(arena, n);
        rc = codec->decode(arena, value, &out, &err);
        arena_fail_after(arena, 0);
        ck_assert(rc == ERR_OK || rc == ERR_EXHAUSTED);
        ck_assert_uint_lt(n, 10);
    }
}
END_TEST

START_TEST(fields_of_a_turn)
{
    struct err err;
    struct turn want = sample_turn();
    struct turn turn;
    struct buf out;
    buf_init(&out, arena, 1 << 20);
    turn_encode(&want, &out);
    ck_assert_uint_eq(le32_get(out.at + TURN_DOC_AT), want.doc);
    ck_assert_uint_eq(le32_get(out.at + TURN_SESSION_AT), want.session_no);
    ck_assert_uint_eq(le32_get(out.at + TURN_SPEAKER_AT), want.speaker_no);
    ck_assert_int_eq(turn_decode(buf_str(&out), want.n, &turn, &err), ERR_OK);
    ck_assert_uint_eq(turn.seq, want.seq);
    ck_assert_uint_eq(turn.n, 412);
    ck_assert_uint_eq(turn.doc, want.doc);
    ck_assert_uint_eq(turn.docs, 3);
    ck_assert_int_eq(turn.time_ms, want.time_ms);
    ck_assert_int_eq(turn.offset_min, -720);
    ck_assert_int_eq(turn.received_ms, want.received_ms);
    ck_assert_int_eq(turn.time_source, TIME_FUTURE);
    ck_assert(str_eq(turn.id, want.id) && str_eq(turn.session, want.session));
    ck_assert(str_eq(turn.speaker, want.speaker) && str_eq(turn.role, want.role));
    ck_assert(str_eq(turn.metadata, want.metadata) && str_eq(turn.text, want.text));
    ck_assert_uint_eq(turn.text_len, want.text.len);
}
END_TEST

START_TEST(fields_of_an_episode)
{
    struct err err;
    struct episode want = sample_episode();
    struct episode got;
    struct buf out;
    buf_init(&out, arena, 1 << 20);
    episode_encode(&want, &out);
    ck_assert_int_eq(episode_decode(buf_str(&out), 5, &got, &err), ERR_OK);
    ck_assert(got.seq == 9 && got.id == 5 && got.doc == 77 && got.session_no == 2);
    ck_assert(got.first_n == 10 && got.last_n == 20 && got.turns == 8);
    ck_assert(got.start_ms == want.start_ms && got.end_ms == 1 && got.offset_min == 330);
    ck_assert(got.flags == EPISODE_DEGRADED && got.n_topics == 2);
    ck_assert(got.topics[0] == 3 && got.topics[1] == 9);
    ck_assert(str_eq(got.session, want.session) && str_eq(got.title, want.title));
    ck_assert(str_eq(got.summary, want.summary));
    ck_assert(str_eq(got.participants, want.participants));
}
END_TEST

START_TEST(fields_of_a_topic)
{
    struct err err;
    struct topic want = sample_topic();
    struct topic got;
    struct buf out;
    buf_init(&out, arena, 1 << 20);
    topic_encode(&want, &out);
    ck_assert_int_eq(topic_decode(arena, buf_str(&out), 3, &got, &err), ERR_OK);
    ck_assert(got.seq == 1 && got.id == 3 && got.doc == 4 && got.chain == 2);
    ck_assert(got.previous == 2 && got.next == 8 && got.episodes == 16);
    ck_assert(got.start_ms == 5 && got.end_ms == 6 && got.flags == TOPIC_DEGRADED);
    ck_assert(str_eq(got.title, want.title) && str_eq(got.summary, want.summary));
    ck_assert_uint_eq(got.n_keywords, 2);
    for (int i = 0; i < 2; i++) {
        ck_assert(str_eq(got.keywords[i].text, want.keywords[i].text));
        ck_assert_uint_eq(got.keywords[i].term, want.keywords[i].term);
        ck_assert(got.keywords[i].weight == want.keywords[i].weight);
    }
}
END_TEST

START_TEST(fields_of_a_fact)
{
    struct err err;
    struct fact want = sample_fact();
    struct fact got;
    struct buf out;
    buf_init(&out, arena, 1 << 20);
    fact_encode(&want, &out);
    ck_assert_int_eq(fact_decode(arena, buf_str(&out), 88, &got, &err), ERR_OK);
    ck_assert(got.seq == 12 && got.id == 88 && got.speaker_no == 4);
    ck_assert(got.valid_from == want.valid_from && got.valid_to == TIME_NEVER);
    ck_assert(got.superseded_by == 89 && got.weight == 65535 && got.flags == 3);
    ck_assert(got.has_time && got.grain == DATE_YEAR && got.hash == want.hash);
    ck_assert(got.from.year == 1 && got.from.month == 1 && got.from.day == 1);
    ck_assert(got.to.year == 9999 && got.to.month == 12 && got.to.day == 31);
    ck_assert(str_eq(got.time_text, want.time_text) && str_eq(got.content, want.content));
    ck_assert(str_eq(got.speaker, want.speaker) && str_eq(got.role, want.role));
    ck_assert(str_eq(got.keywords, want.keywords) && str_eq(got.potential, want.potential));
    ck_assert(got.n_sources == 3 && got.n_episodes == 2);
    ck_assert_int_eq(memcmp(got.sources, want.sources, sizeof(uint32_t[3])), 0);
    ck_assert_int_eq(memcmp(got.episodes, want.episodes, sizeof(uint32_t[2])), 0);
}
END_TEST

/* One keyword more than there may be. */
START_TEST(keywords_are_limited)
{
    for (unsigned n = LIMIT_TOPIC_KEYWORDS; n <= LIMIT_TOPIC_KEYWORDS + 1; n++) {
        struct err err;
        struct topic topic = {0};
        struct buf out;
        float weight = 1;
        buf_init(&out, arena, 1 << 16);
        topic_encode(&topic, &out);
        out.len--; /* the count of none */
        buf_varint(&out, n);
        for (unsigned i = 0; i < n; i++) {
            buf_lstr(&out, STR("word"));
            buf_u64(&out, i);
            buf_put(&out, &weight, sizeof weight);
        }
        enum err_code rc = topic_decode(arena, buf_str(&out), 1, &topic, &err);
        ck_assert_int_eq(rc, n <= LIMIT_TOPIC_KEYWORDS ? ERR_OK : ERR_INTERNAL);
    }
}
END_TEST

/* A damaged count does not ask for memory. */
START_TEST(counts_are_limited_by_the_bytes)
{
    struct err err;
    struct fact fact = {0};
    struct buf out;
    buf_init(&out, arena, 1 << 16);
    fact_encode(&fact, &out);
    out.len -= 2; /* no sources, no episodes */
    buf_varint(&out, UINT32_MAX);
    buf_varint(&out, 1);
    ck_assert_int_eq(fact_decode(arena, buf_str(&out), 1, &fact, &err), ERR_INTERNAL);
    ck_assert_ptr_null(fact.sources);
}
END_TEST

START_TEST(key_of_a_fact)
{
    static const char no_time[] = "\1\2\3\4\5\6\7\10"
                                  "\0\0\0\4"
                                  "\0\0\0\0"
                                  "\0\0\0\0";
    char key[FACT_KEY];
    struct fact fact = sample_fact();
    fact.has_time = false;
    fact_key(&fact, key);
    ck_assert_int_eq(memcmp(key, no_time, sizeof key), 0);
    fact.has_time = true;
    fact_key(&fact, key);
    ck_assert_uint_eq(be32_get(key + 12), 1); /* the first day that there is: not 0 */
    ck_assert_uint_eq(be32_get(key + 16), 3652059);
    fact.from = fact.to = (struct civil){1970, 1, 1};
    fact_key(&fact, key);
    ck_assert_uint_eq(be32_get(key + 12), 719163);
}
END_TEST

START_TEST(long_text_lies_in_parts)
{
    struct err err;
    struct turn turn = sample_turn();
    size_t inside = 0;
    for (size_t len = LIMIT_PART_BYTES; len <= LIMIT_PART_BYTES + 1; len++) {
        struct buf out;
        struct turn got;
        buf_init(&out, arena, 1 << 20);
        turn.text = (struct str){arena_zalloc(arena, 1, len), len};
        turn_encode(&turn, &out);
        ck_assert_int_eq(turn_decode(buf_str(&out), 1, &got, &err), ERR_OK);
        ck_assert_uint_eq(got.text_len, len);
        inside += got.text.at != NULL;
        struct buf again; /* of a record whose text was not loaded */
        buf_init(&again, arena, 1 << 20);
        turn_encode(&got, &again);
        ck_assert(str_eq(buf_str(&again), buf_str(&out)));
    }
    ck_assert_uint_eq(inside, 1);
}
END_TEST

START_TEST(names_of_speakers)
{
    struct turn turn = {.n = 412};
    ck_assert(str_eq(turn_speaker(&turn), STR("user")));
    ck_assert(str_eq(turn_shown_id(arena, &turn), STR("turn_412")));
    ck_assert(!turn_is_machine(&turn));
    turn.role = STR("assistant");
    ck_assert(str_eq(turn_speaker(&turn), STR("assistant")));
    ck_assert(turn_is_machine(&turn));
    turn.speaker = STR("Mel");
    turn.id = STR("D1:3");
    ck_assert(str_eq(turn_speaker(&turn), STR("Mel")));
    ck_assert(str_eq(turn_shown_id(arena, &turn), STR("D1:3")));
    turn.role = STR("tool");
    ck_assert(turn_is_machine(&turn));
    turn.role = STR("system");
    ck_assert(turn_is_machine(&turn));
    turn.role = STR("user");
    ck_assert(!turn_is_machine(&turn));
}
END_TEST

START_TEST(names_of_spaces)
{
    static const char *const good[] = {"a", "user-42", "A.b_c~d@e:f-g", "...", "~"};
    static const char *const bad[] = {"", ".", "..", "a b", "a/b", "ä", "a%20", "a\n", "a+b"};
    char longest[129];
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        ck_assert(space_name_is_valid(str_of(good[i])));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert(!space_name_is_valid(str_of(bad[i])));
    ck_assert(!space_name_is_valid(STR("a\0b")));
    memset(longest, 'x', sizeof longest);
    ck_assert(space_name_is_valid((struct str){longest, 128}));
    ck_assert(!space_name_is_valid((struct str){longest, 129}));
    struct space space = space_default(5);
    ck_assert(space.created_ms == 5 && str_eq(space.timezone, STR("UTC")));
    ck_assert(str_eq(space.language, STR("en")) && space.tokenizer != 0);
}
END_TEST

Suite *suite_records(void)
{
    Suite *suite = suite_create("records");
    TCase *tcase = tcase_create("records");
    int n = (int)n_record_codecs;
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, records_come_back, 0, n);
    tcase_add_loop_test(tcase, every_truncation_is_refused, 0, n);
    tcase_add_loop_test(tcase, a_longer_record_is_refused, 0, n);
    tcase_add_loop_test(tcase, every_changed_byte_is_survived, 0, n);
    tcase_add_loop_test(tcase, random_bytes_are_survived, 0, n);
    tcase_add_loop_test(tcase, missing_memory_is_reported, 0, n);
    tcase_add_test(tcase, fields_of_a_turn);
    tcase_add_test(tcase, fields_of_an_episode);
    tcase_add_test(tcase, fields_of_a_topic);
    tcase_add_test(tcase, fields_of_a_fact);
    tcase_add_test(tcase, keywords_are_limited);
    tcase_add_test(tcase, counts_are_limited_by_the_bytes);
    tcase_add_test(tcase, key_of_a_fact);
    tcase_add_test(tcase, long_text_lies_in_parts);
    tcase_add_test(tcase, names_of_speakers);
    tcase_add_test(tcase, names_of_spaces);
    suite_add_tcase(suite, tcase);
    return suite;
}
