#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/limits.h"
#include "core/index/column.h"
#include "tests/unit/ingest/kit_stage.h"

/* --- what closes an episode --- */

START_TEST(a_gap_closes)
{
    (void)say("a", "Ann", "I planted tomatoes in the garden.");
    (void)say("a", "Bob", "Tomatoes need a lot of sun.");
    ck_assert_uint_eq(run_stages(), 0);
    ck_assert_uint_eq(stat_now(STAT_OPEN), 2);
    ck_assert_uint_eq(stat_now(STAT_PENDING), 0);
    (void)say_at("a", "Ann", "Just short of it.", stage_kit.time_ms + GAP_MS - 2 * MINUTE_MS);
    ck_assert_uint_eq(run_stages(), 0);
    (void)say_at("a", "Ann", "The tomatoes are red.", stage_kit.time_ms + GAP_MS - MINUTE_MS);
    ck_assert_uint_eq(run_stages(), 1);
    struct episode episode = episode_now(1);
    ck_assert_uint_eq(episode.first_n, 1);
    ck_assert_uint_eq(episode.last_n, 3);
    ck_assert_uint_eq(episode.turns, 3);
    ck_assert_int_eq(episode.start_ms, KIT_NOW);
    ck_assert(str_eq(episode.session, STR("a")));
    ck_assert(str_eq(episode.participants, STR("Ann\nBob")));
    ck_assert_uint_eq(stat_now(STAT_OPEN), 1);
    ck_assert_uint_eq(stat_now(STAT_PROCESSED), stat_now(STAT_SEQ));
}
END_TEST

START_TEST(a_gap_backwards_closes_and_late_turns_reopen_nothing)
{
    (void)say("a", "Ann", "Today we moved the piano.");
    (void)say_at("a", "Ann", "This was said a week before.", KIT_NOW - 7 * 24 * HOUR_MS);
    (void)say_at("a", "Ann", "And we go on moving the piano.", KIT_NOW + MINUTE_MS);
    ck_assert_uint_eq(run_stages(), 2);
    ck_assert_uint_eq(episode_now(1).turns, 1);
    ck_assert_uint_eq(episode_now(2).turns, 1);
    ck_assert_int_eq(episode_now(2).start_ms, KIT_NOW - 7 * 24 * HOUR_MS);
}
END_TEST

START_TEST(another_session_closes_only_when_much_later)
{
    (void)say("a", "Ann", "The first session talks about bread.");
    (void)say("b", "Bob", "The second session talks about cheese.");
    (void)say_at("c", "Cid", "Not yet.", KIT_NOW + MINUTE_MS + GAP_MS - 1);
    ck_assert_uint_eq(run_stages(), 1); /* a is six hours back, b not quite */
    ck_assert(str_eq(episode_now(1).session, STR("a")));
    (void)say_at("c", "Cid", "Now.", KIT_NOW + MINUTE_MS + GAP_MS);
    ck_assert_uint_eq(run_stages(), 1);
    ck_assert(str_eq(episode_now(2).session, STR("b")));
    (void)say_at("d", "Dan", "From long ago.", KIT_NOW - 10 * GAP_MS); /* earlier, not later */
    ck_assert_uint_eq(run_stages(), 0);
}
END_TEST

START_TEST(turns_without_a_session_are_one)
{
    (void)say(NULL, "Ann", "The default session is a session.");
    (void)say("", "Bob", "An empty name is the same.");
    run_stages();
    struct job job = flush_now("");
    ck_assert_uint_eq(job.closed, 1);
    ck_assert_uint_eq(episode_now(1).turns, 2);
}
END_TEST

START_TEST(idle_buffers_close)
{
    (void)say("a", "Ann", "I bought a boat.");
    run_stages();
    uint64_t due = stat_now(STAT_IDLE_DUE);
    ck_assert_uint_eq(due, (uint64_t)(KIT_NOW + KIT_IDLE_MS));
    ck_assert_uint_eq(stat_now(STAT_DUE), due + 1);
    advance(KIT_IDLE_MS - 1);
    ck_assert_uint_eq(run_stages(), 0);
    (void)say("b", "Bob", "I sold a boat.");
    run_stages();
    advance(1);
    ck_assert_uint_eq(run_stages(), 1);
    ck_assert_uint_eq(stat_now(STAT_OPEN), 1);
    ck_assert_uint_eq(stat_now(STAT_IDLE_DUE), (uint64_t)(KIT_NOW + 2 * KIT_IDLE_MS - 1));
    advance(KIT_IDLE_MS);
    ck_assert_uint_eq(run_stages(), 1);
    ck_assert_uint_eq(stat_now(STAT_IDLE_DUE), 0);
    ck_assert_uint_eq(stat_now(STAT_DUE), 0);
}
END_TEST

START_TEST(idleness_counts_also_when_nobody_looked)
{
    (void)say("a", "Ann", "I bought a boat.");
    advance(KIT_IDLE_MS);
    (void)say("a", "Ann", "It floats.");
    ck_assert_uint_eq(run_stages(), 1); /* the server was away; the times of arrival tell */
    ck_assert_uint_eq(episode_now(1).turns, 1);
}
END_TEST

START_TEST(a_wrong_idle_time_is_corrected)
{
    (void)say("a", "Ann", "I bought a boat.");
    run_stages();
    struct batch *batch = batch_of(&stage_kit.kit.f, stage_kit.kit.space);
    batch_set(batch, STAT_IDLE_DUE, 5);
    ck_assert_int_eq(apply(&stage_kit.kit.f, batch), ERR_OK);
    ck_assert(run_unit());
    ck_assert_uint_eq(stat_now(STAT_IDLE_DUE), (uint64_t)(KIT_NOW + KIT_IDLE_MS));
    ck_assert(!run_unit());
}
END_TEST

START_TEST(flushes_close_what_they_name)
{
    (void)say("a", "Ann", "The cellar is flooded.");
    (void)say("b", "Bob", "The roof is leaking.");
    (void)say("c", "Cid", "The door is stuck.");
    struct job job = flush_now("b");
    ck_assert_uint_eq(job.state, JOB_COMPLETED);
    ck_assert_uint_eq(job.closed, 1);
    ck_assert(str_eq(episode_now(1).session, STR("b")));
    ck_assert_uint_eq(flush_now("nobody").closed, 0);
    ck_assert_uint_eq(flush_now(NULL).closed, 2);
    ck_assert_uint_eq(flush_now(NULL).closed, 0);
    ck_assert_uint_eq(stat_now(STAT_FLUSHES), 0);
    ck_assert_uint_eq(stat_now(STAT_OPEN), 0);
    ck_assert_uint_eq(stat_now(STAT_PROCESSED), stat_now(STAT_SEQ));
    ck_assert_uint_ne(stat_now(STAT_EXPIRE_DUE), 0); /* the jobs go after a day */
}
END_TEST

static uint64_t ask_flush(void)
{
    struct arena *arena = kit_arena(&stage_kit.kit);
    struct store_txn *txn = begin(&stage_kit.kit.f);
    struct batch *batch;
    struct err err;
    ck_assert_int_eq(flush_build(txn, stage_kit.kit.space, STR_NONE, KIT_NOW, arena, &batch, &err),
                     ERR_OK);
    store_end(txn);
    ck_assert_int_eq(apply(&stage_kit.kit.f, batch), ERR_OK);
    return batch->seq;
}

START_TEST(flushes_stand_where_they_were_asked_for)
{
    (void)say("a", "Ann", "Before the flush.");
    uint64_t seq = ask_flush();
    (void)say("a", "Ann", "After the flush.");
    (void)ask_flush();
    ck_assert_uint_eq(run_stages(), 2);
    ck_assert_uint_eq(episode_now(1).turns, 1);
    ck_assert_uint_eq(episode_now(2).turns, 1);
    struct job job;
    struct err err;
    struct store_txn *txn = begin(&stage_kit.kit.f);
    ck_assert_int_eq(job_get(txn, stage_kit.kit.space, seq, &job, &err), ERR_OK);
    store_end(txn);
    ck_assert_uint_eq(job.closed, 1);
}
END_TEST

START_TEST(hard_cuts)
{
    char text[64];
    for (int i = 0; i < 100; i++) {
        (void)snprintf(text, sizeof text, "Entry number %d of the log.", i);
        (void)say("a", "assistant", text);
    }
    ck_assert_uint_eq(run_stages(), 2);
    ck_assert_uint_eq(episode_now(1).turns, LIMIT_EPISODE_TURNS);
    ck_assert_uint_eq(episode_now(2).turns, LIMIT_EPISODE_TURNS);
    ck_assert_uint_eq(stat_now(STAT_OPEN), 20);
}
END_TEST

START_TEST(a_long_turn_stays_alone)
{
    struct str text = kit_text(&stage_kit.kit, 'a', LIMIT_EPISODE_TOKENS * 4 + 4);
    (void)say("a", "Ann", "Now comes something long.");
    struct turn_input turn = {.session = STR("a"),
                              .speaker = STR("Ann"),
                              .text = text,
                              .has_time = true,
                              .time_ms = KIT_NOW + MINUTE_MS};
    (void)kit_say(&stage_kit.kit, turn);
    (void)say("a", "Bob", "That was long.");
    ck_assert_uint_eq(run_stages(), 2);
    ck_assert_uint_eq(episode_now(1).turns, 1);
    ck_assert_uint_eq(episode_now(2).turns, 1);
    ck_assert_uint_eq(episode_now(2).first_n, 2);
    ck_assert_uint_eq(stat_now(STAT_OPEN), 1);
}
END_TEST

/* Turns of ~1,990 tokens behind a gap that waits: two cuts become certain with one arrival. */
START_TEST(two_cuts_at_once_are_both_made)
{
    const struct line small = {"a", "Ann", "Cherries, cherries and cherries again."};
    for (int i = 0; i < 6; i++)
        say_all(&small, 1);
    ck_assert_uint_eq(run_stages(), 0);
    char *text = malloc(8000);
    for (int i = 0; i < 5; i++) {
        memset(text, 'a' + i, 7960);
        text[7960] = '\0';
        (void)say("a", "Ann", text);
        ck_assert_uint_eq(run_stages(), i < 4 ? 0 : 2);
    }
    ck_assert_uint_ne(stat_now(STAT_IDLE_DUE), 1);
    (void)flush_now(NULL);
    ck_assert_uint_eq(episodes_now(), 3);
    ck_assert_uint_eq(episode_now(1).turns, 7);
    ck_assert_uint_eq(episode_now(2).turns, 2);
    free(text);
}
END_TEST

/* --- links and rows --- */

static struct turn_row row_of_doc(uint32_t doc)
{
    struct turn_row row;
    struct store_txn *txn = begin(&stage_kit.kit.f);
    struct columns *columns = columns_new(txn, stage_kit.kit.space, kit_arena(&stage_kit.kit));
    columns_turn(columns, doc, &row);
    store_end(txn);
    return row;
}

START_TEST(turns_are_linked_within_their_session)
{
    (void)say("a", "Ann", "one two three");
    (void)say("b", "Bob", "four five six");
    (void)say("a", "Ann", "seven eight nine");
    ck_assert_uint_eq(row_of_doc(0).next, 0); /* nobody has looked */
    run_stages();
    ck_assert_uint_eq(row_of_doc(0).next, 3);
    ck_assert_uint_eq(row_of_doc(2).prev, 1);
    ck_assert_uint_eq(row_of_doc(1).prev + row_of_doc(1).next, 0);
    ck_assert_uint_eq(row_of_doc(0).episode, 0);
    (void)flush_now("a");
    ck_assert_uint_eq(row_of_doc(0).episode, 1);
    ck_assert_uint_eq(row_of_doc(0).flags & TURN_ROW_DONE, TURN_ROW_DONE);
    ck_assert_uint_eq(row_of_doc(1).flags, 0);
    /* Over the end of an episode too, and through the documents of a long turn. */
    char text[10001];
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = i % 10 == 9 ? ' ' : 'x';
    text[sizeof text - 1] = '\0';
    uint32_t n = say("a", "Ann", text);
    struct turn turn = kit_turn(&stage_kit.kit, n);
    ck_assert_uint_eq(turn.docs, 3);
    run_stages();
    ck_assert_uint_eq(row_of_doc(2).next, turn.doc + 1);
    ck_assert_uint_eq(row_of_doc(turn.doc).prev, 3);
    ck_assert_uint_eq(row_of_doc(turn.doc).next, turn.doc + 2);
    ck_assert_uint_eq(row_of_doc(turn.doc + 2).prev, turn.doc + 2);
}
END_TEST

START_TEST(many_sessions_at_once)
{
    char session[16];
    char text[64];
    for (int i = 0; i < 300; i++) {
        (void)snprintf(session, sizeof session, "s%d", i);
        (void)snprintf(text, sizeof text, "The visitor of room %d complained.", i);
        (void)say_at(session, "Ann", text, KIT_NOW);
    }
    ck_assert_uint_eq(run_stages(), 0);
    ck_assert_uint_eq(stat_now(STAT_OPEN), 300);
    ck_assert_uint_eq(flush_now(NULL).closed, 300);
    ck_assert_uint_eq(episodes_now(), 300);
}
END_TEST

/* --- processed_seq --- */

START_TEST(processed_follows)
{
    for (int i = 0; i < 600; i++)
        (void)say("a", "assistant", "An entry of the log.");
    uint64_t before = stat_now(STAT_PROCESSED);
    while (run_unit()) {
        uint64_t now = stat_now(STAT_PROCESSED);
        ck_assert_uint_ge(now, before);
        before = now;
        /* Each post was one batch of one turn, after the one that made the space. */
        if (stat_now(STAT_PENDING) != 0)
            ck_assert_uint_eq(now, stat_now(STAT_LOOKED));
    }
    ck_assert_uint_eq(before, stat_now(STAT_SEQ));
    ck_assert_uint_eq(stat_now(STAT_LOOKED), 600);
}
END_TEST

/* --- one result, however it came --- */

/* The same sequence in every run (xorshift). */
static uint32_t random_state = 1;

static uint32_t random_below(uint32_t n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 17;
    random_state ^= random_state << 5;
    return random_state % n;
}

enum { RANDOM_TURNS = 240 };
static struct line lines[RANDOM_TURNS];
static int64_t times[RANDOM_TURNS];

static const char *const words[] = {"garden", "tomato", "marathon", "training", "Hamburg", "coach",
                                    "lamp",   "sensor", "firmware", "dog",      "shelter", "vet",
                                    "exam",   "Lisbon", "choir",    "wedding",  "cake",    "goat",
                                    "boxes",  "flat",   "crane",    "harbour",  "bread",   "piano"};

static const char *make_text(struct arena *arena)
{
    struct buf text;
    buf_init(&text, arena, 4096);
    if (random_below(12) == 0)
        buf_str_put(&text, STR("Hey there! "));
    uint32_t from = random_below(20);
    uint32_t n = 3 + random_below(12);
    for (uint32_t i = 0; i < n; i++)
        buf_printf(&text, "%s%s", i > 0 ? " " : "The ", words[(from + random_below(5)) % 24]);
    buf_str_put(&text, random_below(4) == 0 ? STR("?") : STR(" yesterday."));
    if (random_below(10) == 0)
        buf_str_put(&text, STR(" The dog slept. Bye!"));
    buf_char(&text, '\0');
    return text.at;
}

static void make_lines(struct arena *arena)
{
    static const char *const sessions[] = {"a", "b", "c", "d"};
    static const char *const speakers[] = {"Ann", "Bob", "assistant", "Cid"};
    int64_t at = KIT_NOW;
    for (int i = 0; i < RANDOM_TURNS; i++) {
        lines[i] =
            (struct line){sessions[random_below(4)], speakers[random_below(4)], make_text(arena)};
        at += random_below(30) == 0   ? 7 * HOUR_MS
              : random_below(40) == 0 ? -2 * HOUR_MS
                                      : MINUTE_MS;
        times[i] = at;
    }
}

/* Posts in calls of at most `most` and runs up to `units` units after each. */
static struct hash128 digest_of_split(uint32_t most, unsigned units)
{
    stage_kit_setup();
    struct turn_input turns[RANDOM_TURNS];
    for (uint32_t i = 0; i < RANDOM_TURNS;) {
        uint32_t n = most > 1 ? 1 + random_below(most) : 1;
        n = n < RANDOM_TURNS - i ? n : RANDOM_TURNS - i;
        for (uint32_t k = 0; k < n; k++)
            turns[k] = turn_of_line(&lines[i + k], times[i + k]);
        struct accept_plan plan;
        ck_assert_int_eq(kit_post(&stage_kit.kit, turns, n, false, &plan), ERR_OK);
        for (unsigned u = 0; u < units && run_unit(); u++)
            continue;
        i += n;
    }
    run_stages();
    (void)flush_now(NULL);
    struct hash128 digest = digest_now();
    stage_kit_teardown();
    stage_kit = (struct stage_kit){.units = 0};
    return digest;
}

static void put_turn(uint32_t n, struct str record)
{
    struct batch *batch = batch_of(&stage_kit.kit.f, stage_kit.kit.space);
    (void)batch_put_u32(batch, KIND_TURN, n, record, 0);
    ck_assert_int_eq(apply(&stage_kit.kit.f, batch), ERR_OK);
}

static struct str turn_record(uint32_t n)
{
    struct str value;
    struct err err;
    struct store_txn *txn = begin(&stage_kit.kit.f);
    ck_assert_int_eq(store_get_u32(txn, stage_kit.kit.space, KIND_TURN, n, &value, &err), ERR_OK);
    struct str copy = str_copy(kit_arena(&stage_kit.kit), value);
    store_end(txn);
    return copy;
}

START_TEST(a_chain_is_one_batch)
{
    (void)say("a", "Ann", "I planted tomatoes.");
    (void)say_at("a", "Ann", "I sold the tomatoes.", KIT_NOW + GAP_MS);
    (void)say_at("a", "Ann", "I planted tomatoes again.", KIT_NOW + 2 * GAP_MS);
    ck_assert(run_unit());
    ck_assert_uint_eq(stage_kit.sum.episodes, 2);
    ck_assert_uint_eq(stat_now(STAT_OPEN), 1);
    ck_assert_uint_eq(stat_now(STAT_PENDING), 0);
    ck_assert_uint_eq(stat_now(STAT_SMALL_SEGMENTS), 3 + 1);
    ck_assert(!run_unit());
}
END_TEST

START_TEST(what_fails_later_in_a_chain_keeps_nothing_back)
{
    (void)say("a", "Ann", "I planted tomatoes.");
    (void)say_at("a", "Ann", "I sold the tomatoes.", KIT_NOW + GAP_MS);
    (void)say_at("a", "Ann", "I planted tomatoes again.", KIT_NOW + 2 * GAP_MS);
    struct str record = turn_record(3);
    put_turn(3, STR("        junk"));
    ck_assert(run_unit());
    ck_assert_uint_eq(stage_kit.sum.episodes, 1);
    struct arena *arena = arena_new(ARENA_STAGE_BYTES);
    struct stage_unit unit;
    struct err err;
    struct store_txn *txn = begin(&stage_kit.kit.f);
    ck_assert_int_eq(stage_build(txn, stage_kit.kit.space, &stage_kit.services, arena, &unit, &err),
                     ERR_INTERNAL);
    store_end(txn);
    arena_free(arena);
    put_turn(3, record);
    ck_assert_uint_eq(run_stages(), 1);
}
END_TEST

START_TEST(batching_changes_nothing)
{
    stage_kit_teardown();
    struct arena *arena = arena_new(16 << 20);
    for (unsigned seed = 1; seed <= 3; seed++) {
        random_state = seed;
        make_lines(arena);
        struct hash128 want = digest_of_split(1, 1000);
        static const struct {
            uint32_t most;
            unsigned units;
        } splits[] = {{RANDOM_TURNS, 1000}, {7, 1000}, {7, 1}, {3, 0}, {40, 2}};
        for (size_t i = 0; i < sizeof splits / sizeof splits[0]; i++) {
            struct hash128 digest = digest_of_split(splits[i].most, splits[i].units);
            ck_assert_msg(digest.low == want.low && digest.high == want.high, "seed %u, split %zu",
                          seed, i);
        }
    }
    arena_free(arena);
    stage_kit_setup();
}
END_TEST

/* --- the sample --- */

struct told {
    const char *story;
    uint32_t n;
};
static struct told told[2000];
static uint32_t n_told;

static void post_sample(const json_t *root)
{
    size_t s, t;
    const json_t *session, *turn;
    const json_t *talk = json_array_get(json_object_get(root, "conversations"), 0);
    json_array_foreach(json_object_get(talk, "sessions"), s, session)
    {
        int64_t start;
        int offset;
        const char *name = json_string_value(json_object_get(session, "id"));
        const char *time = json_string_value(json_object_get(session, "time"));
        ck_assert(rfc3339_parse(str_of(time), &start, &offset));
        json_array_foreach(json_object_get(session, "turns"), t, turn)
        {
            struct turn_input input = {
                .session = str_of(name),
                .speaker = str_of(json_string_value(json_object_get(turn, "speaker"))),
                .text = str_of(json_string_value(json_object_get(turn, "text"))),
                .has_time = true,
                .time_ms = start + (int64_t)t * 30000,
                .offset_min = offset};
            uint32_t n = kit_say(&stage_kit.kit, input);
            told[n_told++] = (struct told){json_string_value(json_object_get(turn, "story")), n};
        }
    }
}

/* Chains of the episode that turn n is in. */
static void chains_of(uint32_t n, uint32_t chains[2])
{
    for (uint32_t id = 1; id <= episodes_now(); id++) {
        struct episode episode = episode_now(id);
        if (n < episode.first_n || n > episode.last_n)
            continue;
        chains[0] = topic_now(episode.topics[0]).chain;
        chains[1] = episode.n_topics > 1 ? topic_now(episode.topics[1]).chain : 0;
        return;
    }
    ck_abort_msg("turn %u is in no episode", n);
}

static double pairwise_f1(uint32_t (*chains)[2])
{
    double both = 0, only_topic = 0, only_story = 0;
    for (uint32_t i = 0; i < n_told; i++) {
        for (uint32_t k = i + 1; k < n_told; k++) {
            if (strcmp(told[i].story, "smalltalk") == 0 || strcmp(told[k].story, "smalltalk") == 0)
                continue;
            bool story = strcmp(told[i].story, told[k].story) == 0;
            const uint32_t *a = chains[i], *b = chains[k];
            bool topic =
                a[0] == b[0] || a[0] == b[1] || (a[1] != 0 && (a[1] == b[0] || a[1] == b[1]));
            both += story && topic;
            only_topic += topic && !story;
            only_story += story && !topic;
        }
    }
    return 2 * both / (2 * both + only_topic + only_story);
}

START_TEST(the_sample_becomes_stories)
{
    json_error_t error;
    json_t *root = json_load_file("tests/data/sample.json", 0, &error);
    ck_assert_msg(root != NULL, "%s", error.text);
    n_told = 0;
    post_sample(root);
    run_stages();
    (void)flush_now(NULL);
    ck_assert_uint_ge(n_told, 150);
    uint32_t(*chains)[2] = calloc(n_told, sizeof *chains);
    uint32_t *members = calloc(topics_now() + 1, sizeof *members);
    for (uint32_t i = 0; i < n_told; i++)
        chains_of(told[i].n, chains[i]);
    for (uint32_t id = 1; id <= topics_now(); id++) {
        struct topic topic = topic_now(id);
        members[topic.chain] += topic.episodes;
        ck_assert_uint_le(5 * members[topic.chain], 2 * episodes_now());
    }
    double f1 = pairwise_f1(chains);
    printf("sample: %u turns, %u episodes, %u topics, %u facts, F1 %.3f\n", n_told, episodes_now(),
           topics_now(), facts_now(), f1);
    ck_assert_double_ge(f1, 0.6);
    free(members);
    free(chains);
    json_decref(root);
}
END_TEST

/* --- memory --- */

/* One unit that looks, cuts, joins a topic, repeats a fact. */
static void prepare_unit(void)
{
    (void)say("a", "Ann", "My greyhound Turnip loves salmon. The vet in Hamburg said so.");
    (void)say("a", "Bob", "Turnip is a funny name for a greyhound.");
    run_stages();
    (void)flush_now(NULL);
    for (int i = 1; i < 4; i++) /* other stories, so that words can be rare */
        (void)say_at("a", "Bob",
                     i == 1   ? "The piano is out of tune."
                     : i == 2 ? "Tomatoes are red."
                              : "My exam went well.",
                     KIT_NOW + i * 24 * HOUR_MS);
    (void)flush_now(NULL);
    (void)say_at("b", "Ann", "My greyhound Turnip loves salmon. She sleeps all day in Hamburg.",
                 KIT_NOW + 148 * HOUR_MS);
    (void)say("b", "assistant", "My greyhound Turnip loves salmon.");
    (void)say("b", "Bob", "Did the vet see Turnip again last Friday?");
    (void)ask_flush();
}

static struct err failure;

static enum err_code build_failing(unsigned long fail_at, struct stage_unit *unit)
{
    struct err err = {.code = ERR_OK};
    struct arena *arena = arena_new(ARENA_STAGE_BYTES);
    struct store_txn *txn = begin(&stage_kit.kit.f);
    arena_fail_after(arena, fail_at);
    enum err_code rc =
        stage_build(txn, stage_kit.kit.space, &stage_kit.services, arena, unit, &err);
    store_end(txn);
    if (rc != ERR_OK)
        ck_assert_int_eq(rc, err.code);
    else
        ck_assert(batch_ok(unit->batch));
    arena_free(arena);
    failure = err;
    return rc;
}

START_TEST(memory_runs_out)
{
    prepare_unit();
    unsigned long all = 1;
    struct stage_unit unit;
    while (build_failing(all, &unit) != ERR_OK)
        all *= 2;
    ck_assert_uint_gt(all, 100);
    random_state = 5;
    for (int i = 0; i < 50; i++) {
        unsigned long n = 1 + random_below((uint32_t)all / 2);
        enum err_code rc = build_failing(n, &unit);
        ck_assert_msg(rc == ERR_EXHAUSTED || rc == ERR_OK, "at %lu: %s", n, failure.message);
        ck_assert(rc == ERR_OK || unit.batch == NULL);
    }
    uint32_t topics = topics_now();
    ck_assert_uint_eq(run_stages(), 1);
    ck_assert_uint_eq(topics_now(), topics);
}
END_TEST

START_TEST(two_holders_are_seen)
{
    (void)say("a", "Ann", "I bought a boat.");
    struct arena *arena = arena_new(ARENA_STAGE_BYTES);
    struct stage_unit unit;
    struct err err;
    struct store_txn *txn = begin(&stage_kit.kit.f);
    ck_assert_int_eq(stage_build(txn, stage_kit.kit.space, &stage_kit.services, arena, &unit, &err),
                     ERR_OK);
    store_end(txn);
    run_stages();
    ck_assert_int_eq(apply_err(&stage_kit.kit.f, unit.batch, &err), ERR_CONFLICT);
    arena_free(arena);
}
END_TEST

START_TEST(damaged_rows_are_reported)
{
    (void)say("a", "Ann", "I bought a boat.");
    run_stages();
    (void)say("a", "Ann", "It floats.");
    char key[4];
    be32_set(key, 1);
    struct str value;
    struct err err;
    struct store_txn *txn = begin(&stage_kit.kit.f);
    ck_assert_int_eq(store_get_u32(txn, stage_kit.kit.space, KIND_BUFFER, 1, &value, &err), ERR_OK);
    struct str good = str_copy(kit_arena(&stage_kit.kit), value);
    store_end(txn);
    char *bytes = arena_copy(kit_arena(&stage_kit.kit), good.at, good.len);
    bytes[good.len - 3] ^= 0x55;
    struct str bad = {bytes, good.len};
    kit_raw(&stage_kit.kit, KIND_BUFFER, (struct str){key, 4}, str_part(good, 0, good.len - 2));
    struct stage_unit unit;
    ck_assert_int_eq(build_failing(0, &unit), ERR_INTERNAL);
    kit_raw(&stage_kit.kit, KIND_BUFFER, (struct str){key, 4}, bad);
    (void)build_failing(0, &unit); /* any answer but a crash */
    kit_raw(&stage_kit.kit, KIND_BUFFER, (struct str){key, 4}, good);
    run_stages();
}
END_TEST

Suite *suite_stage(void)
{
    Suite *suite = suite_create("stage");
    TCase *tcase = tcase_create("stage");
    tcase_add_checked_fixture(tcase, stage_kit_setup, stage_kit_teardown);
    tcase_add_test(tcase, a_gap_closes);
    tcase_add_test(tcase, a_gap_backwards_closes_and_late_turns_reopen_nothing);
    tcase_add_test(tcase, another_session_closes_only_when_much_later);
    tcase_add_test(tcase, turns_without_a_session_are_one);
    tcase_add_test(tcase, idle_buffers_close);
    tcase_add_test(tcase, idleness_counts_also_when_nobody_looked);
    tcase_add_test(tcase, a_wrong_idle_time_is_corrected);
    tcase_add_test(tcase, flushes_close_what_they_name);
    tcase_add_test(tcase, flushes_stand_where_they_were_asked_for);
    tcase_add_test(tcase, hard_cuts);
    tcase_add_test(tcase, a_long_turn_stays_alone);
    tcase_add_test(tcase, two_cuts_at_once_are_both_made);
    tcase_add_test(tcase, turns_are_linked_within_their_session);
    tcase_add_test(tcase, many_sessions_at_once);
    tcase_add_test(tcase, processed_follows);
    tcase_add_test(tcase, a_chain_is_one_batch);
    tcase_add_test(tcase, what_fails_later_in_a_chain_keeps_nothing_back);
    tcase_add_test(tcase, batching_changes_nothing);
    tcase_add_test(tcase, the_sample_becomes_stories);
    tcase_add_test(tcase, memory_runs_out);
    tcase_add_test(tcase, two_holders_are_seen);
    tcase_add_test(tcase, damaged_rows_are_reported);
    suite_add_tcase(suite, tcase);
    return suite;
}
