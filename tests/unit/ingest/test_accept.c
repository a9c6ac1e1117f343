#include <stdio.h>
#include <stdlib.h>

#include "core/base/limits.h"
#include "core/index/column.h"
#include "core/index/lengths.h"
#include "tests/unit/ingest/kit.h"

static struct kit kit;

static void setup(void)
{
    kit_init(&kit);
}

static void teardown(void)
{
    kit_fini(&kit);
}

static struct turn_input said(const char *text)
{
    return (struct turn_input){.text = str_of(text)};
}

static struct turn_input with_id(const char *id, const char *text)
{
    return (struct turn_input){.id = str_of(id), .text = str_of(text)};
}

static void expect_refused(const struct turn_input *turns, uint32_t n, bool messages,
                           enum err_code code, const char *param)
{
    struct accept_plan plan;
    enum err_code rc = kit_build(&kit, turns, n, messages, &plan);
    ck_assert_msg(rc == code, "%s instead of %s for %s", err_slug(rc), err_slug(code), param);
    ck_assert_str_eq(kit.err.param, param);
    ck_assert_str_ne(kit.err.message, "");
    ck_assert_ptr_null(plan.batch);
}

/* --- validation --- */

START_TEST(limits_of_each_field)
{
    static const struct {
        const char *param, *message_param;
        size_t offset, max;
    } rows[] = {
        {"turns[1].id", "messages[1].id", offsetof(struct turn_input, id), 128},
        {"turns[1].session", "messages[1].session", offsetof(struct turn_input, session), 128},
        {"turns[1].speaker", "messages[1].name", offsetof(struct turn_input, speaker), 128},
        {"turns[1].role", "messages[1].role", offsetof(struct turn_input, role), 128},
        {"turns[1].text", "messages[1].content", offsetof(struct turn_input, text), 1 << 20},
        {"turns[1].metadata", "messages[1].metadata", offsetof(struct turn_input, metadata), 4096},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct turn_input turns[2] = {said("fine"), said("fine too")};
        struct str *field = (struct str *)(void *)((char *)&turns[1] + rows[i].offset);
        struct accept_plan plan;
        *field = kit_text(&kit, 'a', rows[i].max);
        ck_assert_int_eq(kit_build(&kit, turns, 2, false, &plan), ERR_OK);
        ck_assert_uint_eq(plan.accepted, 2);
        *field = kit_text(&kit, 'a', rows[i].max + 1);
        expect_refused(turns, 2, false, ERR_INVALID, rows[i].param);
        expect_refused(turns, 2, true, ERR_INVALID, rows[i].message_param);
        *field = STR("caf\xe9");
        expect_refused(turns, 2, false, ERR_INVALID, rows[i].param);
        *field = STR("a\0b");
        bool is_line = i < 4;
        if (is_line)
            expect_refused(turns, 2, false, ERR_INVALID, rows[i].param);
        else
            ck_assert_int_eq(kit_build(&kit, turns, 2, false, &plan), ERR_OK);
    }
    ck_assert_uint_eq(find_space(&kit.f, "s"), 0);
}
END_TEST

START_TEST(blank_text_is_refused)
{
    static const char *const blanks[] = {"", " ", "\t\r\n", "\xc2\xa0\xe2\x80\x83", "\xe2\x80\x8b"};
    for (size_t i = 0; i < sizeof blanks / sizeof blanks[0]; i++) {
        struct turn_input turn = said(blanks[i]);
        expect_refused(&turn, 1, false, ERR_INVALID, "turns[0].text");
        expect_refused(&turn, 1, true, ERR_INVALID, "messages[0].content");
    }
    struct turn_input none = {0};
    expect_refused(&none, 1, false, ERR_INVALID, "turns[0].text");
}
END_TEST

START_TEST(our_own_ids_are_reserved)
{
    struct turn_input turns[2] = {with_id("turn_x", "a"), with_id("turn_7", "b")};
    expect_refused(turns, 2, false, ERR_INVALID, "turns[1].id");
    turns[1].id = STR("turn_007");
    expect_refused(turns, 2, false, ERR_INVALID, "turns[1].id");
    turns[1].id = STR("fact_1");
    expect_refused(turns, 2, false, ERR_INVALID, "turns[1].id");
    static const char *const fine[] = {"turn_", "turn", "Turn_7", "turn_7a", "a/b", "x-turn_7"};
    for (size_t i = 0; i < sizeof fine / sizeof fine[0]; i++) {
        struct accept_plan plan;
        turns[1].id = str_of(fine[i]);
        ck_assert_int_eq(kit_build(&kit, turns, 2, false, &plan), ERR_OK);
    }
}
END_TEST

START_TEST(number_of_turns_a_call)
{
    struct turn_input *turns =
        ARENA_ARRAY(kit_arena(&kit), struct turn_input, LIMIT_TURNS_PER_CALL + 1);
    for (uint32_t i = 0; i <= LIMIT_TURNS_PER_CALL; i++)
        turns[i] = said("one of many");
    expect_refused(turns, 0, false, ERR_INVALID, "turns");
    expect_refused(turns, 0, true, ERR_INVALID, "messages");
    expect_refused(turns, LIMIT_TURNS_PER_CALL + 1, false, ERR_INVALID, "turns");
    struct accept_plan plan;
    ck_assert_int_eq(kit_post(&kit, turns, LIMIT_TURNS_PER_CALL, false, &plan), ERR_OK);
    ck_assert_uint_eq(plan.accepted, LIMIT_TURNS_PER_CALL);
    ck_assert_uint_eq(plan.turns[LIMIT_TURNS_PER_CALL - 1].n, LIMIT_TURNS_PER_CALL);
    ck_assert_uint_eq(kit_stat(&kit).v[STAT_TURNS], LIMIT_TURNS_PER_CALL);
}
END_TEST

/* --- what is stored --- */

START_TEST(a_turn_is_stored_as_it_came)
{
    struct turn_input turn = {.id = STR("m-1"),
                              .session = STR("monday"),
                              .speaker = STR("Ann"),
                              .role = STR("user"),
                              .text = STR("I ran yesterday."),
                              .metadata = STR("{\"a\":1}"),
                              .has_time = true,
                              .time_ms = KIT_NOW - 5000,
                              .offset_min = 120};
    struct accept_plan plan;
    ck_assert_int_eq(kit_post(&kit, &turn, 1, false, &plan), ERR_OK);
    ck_assert_uint_eq(plan.accepted, 1);
    ck_assert_uint_eq(plan.duplicates, 0);
    ck_assert(!plan.turns[0].duplicate);
    ck_assert_uint_eq(plan.turns[0].n, 1);
    ck_assert(str_eq(plan.turns[0].id, STR("m-1")));
    ck_assert_uint_eq(plan.batch->seq, 1);

    struct turn stored = kit_turn(&kit, 1);
    ck_assert_uint_eq(stored.n, 1);
    ck_assert_uint_eq(stored.seq, 1);
    ck_assert_uint_eq(stored.doc, 0);
    ck_assert_uint_eq(stored.docs, 1);
    ck_assert_uint_eq(stored.session_no, 1);
    ck_assert_uint_eq(stored.speaker_no, 1);
    ck_assert_int_eq(stored.time_ms, KIT_NOW - 5000);
    ck_assert_int_eq(stored.offset_min, 120);
    ck_assert_int_eq(stored.received_ms, KIT_NOW);
    ck_assert_int_eq(stored.time_source, TIME_GIVEN);
    ck_assert(str_eq(stored.id, turn.id) && str_eq(stored.session, turn.session));
    ck_assert(str_eq(stored.speaker, turn.speaker) && str_eq(stored.role, turn.role));
    ck_assert(str_eq(stored.metadata, turn.metadata) && str_eq(stored.text, turn.text));

    char one[4];
    le32_set(one, 1);
    expect_row(&kit.f, kit.space, KIND_TURN_ID, STR("m-1"), (struct str){one, 4});
    expect_row(&kit.f, kit.space, KIND_SESSION, STR("monday"), (struct str){one, 4});
    expect_row(&kit.f, kit.space, KIND_SPEAKER, STR("Ann"), (struct str){one, 4});
    expect_row(&kit.f, kit.space, KIND_SESSION_TURN, STR("\0\0\0\1\0\0\0\1"), STR(""));
}
END_TEST

START_TEST(counters_columns_and_settings)
{
    struct turn_input turns[3] = {said("first one"), said("second"), said("third of them")};
    turns[0].speaker = STR("Ann");
    turns[1].role = STR("assistant");
    turns[1].session = STR("b");
    turns[2].time_ms = 77;
    turns[2].has_time = true;
    struct accept_plan plan;
    ck_assert_int_eq(kit_post(&kit, turns, 3, false, &plan), ERR_OK);
    struct space_stat stat = kit_stat(&kit);
    ck_assert_uint_eq(stat.v[STAT_SEQ], 1);
    ck_assert_uint_eq(stat.v[STAT_TURNS], 3);
    ck_assert_uint_eq(stat.v[STAT_PENDING], 3);
    ck_assert_uint_eq(stat.v[STAT_NEXT_TURN], 4);
    ck_assert_uint_eq(stat.v[STAT_NEXT_DOC_TURN], 3);
    ck_assert_uint_eq(stat.v[STAT_DOCS_TURN], 3);
    ck_assert_uint_eq(stat.v[STAT_TEXT_BYTES], 9 + 6 + 13);
    ck_assert_uint_eq(stat.v[STAT_LAST_ARRIVAL], KIT_NOW);
    ck_assert_uint_eq(stat.v[STAT_PROCESSED], 0);
    ck_assert_uint_eq(stat.v[STAT_DUE], 1);
    /* Sessions "" and "b"; speakers Ann, assistant, user. */
    ck_assert_uint_eq(stat.v[STAT_NEXT_SESSION], 3);
    ck_assert_uint_eq(stat.v[STAT_NEXT_SPEAKER], 4);
    ck_assert_uint_eq(kit_turn(&kit, 3).session_no, 1);
    ck_assert_uint_eq(kit_turn(&kit, 3).speaker_no, 3);

    struct err err;
    struct turn_row row;
    struct store_txn *txn = begin(&kit.f);
    struct columns *columns = columns_new(txn, kit.space, kit_arena(&kit));
    columns_turn(columns, 2, &row);
    ck_assert_uint_eq(row.n, 3);
    ck_assert_uint_eq(row.session_no, 1);
    ck_assert_uint_eq(row.speaker_no, 3);
    ck_assert_int_eq(row.time_ms, 77);
    ck_assert_uint_eq(row.prev + row.next + row.episode + row.flags, 0);
    struct space settings;
    ck_assert_int_eq(space_get(txn, kit.space, &settings, &err), ERR_OK);
    ck_assert_uint_eq(settings.seq, 1);
    ck_assert(str_eq(settings.timezone, STR("UTC")));
    store_end(txn);
}
END_TEST

START_TEST(long_text_lies_in_parts)
{
    struct buf text;
    buf_init(&text, kit_arena(&kit), LIMIT_TURN_TEXT_BYTES);
    for (int i = 0; text.len < 3 * LIMIT_PART_BYTES + 100; i++)
        buf_printf(&text, "Sentence number %d speaks of needle%d. ", i, i);
    struct turn_input turns[2] = {{.id = STR("long"), .text = buf_str(&text)}, said("short")};
    struct accept_plan plan;
    ck_assert_int_eq(kit_post(&kit, turns, 2, false, &plan), ERR_OK);
    struct turn stored = kit_turn(&kit, 1);
    ck_assert(str_eq(stored.text, buf_str(&text)));
    ck_assert_uint_eq(count_rows(&kit.f, kit.space, KIND_TEXT), 4);
    ck_assert_uint_ge(stored.docs, 13);
    ck_assert_uint_eq(kit_turn(&kit, 2).doc, stored.docs);
    ck_assert_uint_eq(kit_stat(&kit).v[STAT_DOCS_TURN], stored.docs + 1u);
    uint32_t docs[4];
    ck_assert_uint_eq(kit_find(&kit, "needle0", docs, 4), 1);
    ck_assert_uint_eq(docs[0], 0);
    ck_assert_uint_eq(kit_find(&kit, "needle900", docs, 4), 1);
    ck_assert_uint_gt(docs[0], 0);

    struct turn_row row;
    struct store_txn *txn = begin(&kit.f);
    struct columns *columns = columns_new(txn, kit.space, kit_arena(&kit));
    columns_turn(columns, 0, &row);
    ck_assert_uint_eq(row.flags, 0);
    columns_turn(columns, stored.docs - 1u, &row);
    ck_assert_uint_eq(row.flags, TURN_ROW_LATER);
    ck_assert_uint_eq(row.n, 1);
    store_end(txn);

    /* The same again is a duplicate, another end is not. */
    ck_assert_int_eq(kit_post(&kit, turns, 1, false, &plan), ERR_OK);
    ck_assert_uint_eq(plan.duplicates, 1);
    char *last = text.at + text.len - 2;
    *last = '!';
    expect_refused(turns, 1, false, ERR_CONFLICT, "turns[0].id");
}
END_TEST

START_TEST(days_are_indexed)
{
    struct turn_input turn = said("I ran yesterday.");
    turn.has_time = true;
    turn.time_ms = KIT_NOW;
    kit_say(&kit, turn);
    turn.text = STR("nothing of a date");
    kit_say(&kit, turn);
    /* In an offset where it is the 9th already, yesterday is the 8th. */
    turn.text = STR("I ran yesterday.");
    turn.offset_min = 11 * 60;
    kit_say(&kit, turn);
    uint32_t docs[3] = {99, 99, 99};
    ck_assert_uint_eq(kit_find_day(&kit, (struct civil){2023, 5, 7}, docs, 3), 1);
    ck_assert_uint_eq(docs[0], 0);
    ck_assert_uint_eq(kit_find_day(&kit, (struct civil){2023, 5, 8}, docs, 3), 3);
    ck_assert_uint_eq(kit_find_day(&kit, (struct civil){2023, 5, 9}, docs, 3), 1);
    ck_assert_uint_eq(docs[0], 2);
    ck_assert_uint_eq(kit_find_day(&kit, (struct civil){2023, 5, 6}, docs, 3), 0);
}
END_TEST

START_TEST(where_the_time_comes_from)
{
    kit.settings.timezone = STR("+05:30");
    struct turn_input turn = said("x");
    ck_assert_uint_eq(kit_say(&kit, turn), 1);
    turn.has_time = true;
    turn.time_ms = KIT_NOW + FUTURE_MS;
    turn.offset_min = -60;
    kit_say(&kit, turn);
    turn.time_ms++;
    kit_say(&kit, turn);
    struct turn first = kit_turn(&kit, 1);
    ck_assert_int_eq(first.time_source, TIME_RECEIVED);
    ck_assert_int_eq(first.time_ms, KIT_NOW);
    ck_assert_int_eq(first.offset_min, 330);
    ck_assert_int_eq(kit_turn(&kit, 2).time_source, TIME_GIVEN);
    ck_assert_int_eq(kit_turn(&kit, 2).offset_min, -60);
    ck_assert_int_eq(kit_turn(&kit, 3).time_source, TIME_FUTURE);
    ck_assert_int_eq(kit_turn(&kit, 3).time_ms, KIT_NOW + FUTURE_MS + 1);
}
END_TEST

/* --- duplicates by id --- */

static struct turn_input full(void)
{
    return (struct turn_input){.id = STR("a"),
                               .session = STR("s1"),
                               .speaker = STR("Ann"),
                               .role = STR("user"),
                               .text = STR("hello there"),
                               .metadata = STR("{}"),
                               .has_time = true,
                               .time_ms = KIT_NOW};
}

START_TEST(same_id_and_content_is_a_duplicate)
{
    struct turn_input turn = full();
    kit_say(&kit, said("before"));
    ck_assert_uint_eq(kit_say(&kit, turn), 2);
    struct space_stat before = kit_stat(&kit);
    struct accept_plan plan;
    for (int i = 0; i < 3; i++) {
        turn = full();
        turn.has_time = i != 1;            /* no time: the same */
        turn.offset_min = i == 2 ? 60 : 0; /* the moment counts */
        ck_assert_int_eq(kit_post(&kit, &turn, 1, false, &plan), ERR_OK);
        ck_assert_ptr_null(plan.batch);
        ck_assert_uint_eq(plan.accepted, 0);
        ck_assert_uint_eq(plan.duplicates, 1);
        ck_assert(plan.turns[0].duplicate);
        ck_assert_uint_eq(plan.turns[0].n, 2);
        ck_assert(str_eq(plan.turns[0].id, STR("a")));
    }
    struct space_stat after = kit_stat(&kit);
    ck_assert_mem_eq(&before, &after, sizeof before);
}
END_TEST

START_TEST(same_id_and_other_content_is_a_conflict)
{
    kit_say(&kit, full());
    struct turn_input turn[8];
    for (int i = 0; i < 8; i++)
        turn[i] = full();
    turn[0].session = STR("s2");
    turn[1].speaker = STR("Bob");
    turn[2].role = STR("assistant");
    turn[3].text = STR("hello where");
    turn[4].text = STR("hello there.");
    turn[5].metadata = STR("{\"a\":0}");
    turn[6].time_ms++;
    turn[7].speaker = STR_NONE;
    for (int i = 0; i < 8; i++) {
        struct turn_input call[2] = {said("new"), turn[i]};
        expect_refused(&turn[i], 1, false, ERR_CONFLICT, "turns[0].id");
        expect_refused(call, 2, false, ERR_CONFLICT, "turns[1].id");
        /* And within one call. */
        struct turn_input both[3] = {full(), said("new"), turn[i]};
        both[0].id = both[2].id = STR("fresh");
        expect_refused(both, 3, false, ERR_CONFLICT, "turns[2].id");
    }
}
END_TEST

START_TEST(a_received_time_is_no_given_one)
{
    struct turn_input turn = full();
    turn.has_time = false;
    kit_say(&kit, turn);
    struct accept_plan plan;
    turn.has_time = true;
    turn.time_ms = 1234;
    ck_assert_int_eq(kit_post(&kit, &turn, 1, false, &plan), ERR_OK);
    ck_assert_uint_eq(plan.duplicates, 1);
}
END_TEST

START_TEST(duplicates_within_a_call)
{
    struct turn_input turns[6] = {with_id("a", "one"), with_id("b", "two"), with_id("a", "one"),
                                  said("three"),       with_id("b", "two"), with_id("a", "one")};
    struct accept_plan plan;
    ck_assert_int_eq(kit_post(&kit, turns, 6, false, &plan), ERR_OK);
    ck_assert_uint_eq(plan.accepted, 3);
    ck_assert_uint_eq(plan.duplicates, 3);
    static const uint32_t numbers[6] = {1, 2, 1, 3, 2, 1};
    static const bool duplicate[6] = {false, false, true, false, true, true};
    for (int i = 0; i < 6; i++) {
        ck_assert_uint_eq(plan.turns[i].n, numbers[i]);
        ck_assert_int_eq(plan.turns[i].duplicate, duplicate[i]);
    }
    ck_assert(str_eq(plan.turns[2].id, STR("a")));
    ck_assert(str_eq(plan.turns[3].id, STR("turn_3")));
    ck_assert_uint_eq(kit_stat(&kit).v[STAT_TURNS], 3);

    /* Old, new and repeated ones mixed. */
    struct turn_input mixed[4] = {with_id("c", "x"), with_id("a", "one"), with_id("c", "x"),
                                  with_id("a", "one")};
    ck_assert_int_eq(kit_post(&kit, mixed, 4, false, &plan), ERR_OK);
    ck_assert_uint_eq(plan.accepted, 1);
    static const uint32_t more[4] = {4, 1, 4, 1};
    for (int i = 0; i < 4; i++)
        ck_assert_uint_eq(plan.turns[i].n, more[i]);
    /* Without ids nothing is a duplicate. */
    struct turn_input same[2] = {said("same"), said("same")};
    ck_assert_int_eq(kit_post(&kit, same, 2, false, &plan), ERR_OK);
    ck_assert_uint_eq(plan.accepted, 2);
}
END_TEST

/* --- races --- */

START_TEST(a_race_for_an_id_is_refused_and_built_again)
{
    kit_say(&kit, said("the space exists"));
    struct turn_input mine = with_id("a", "text");
    struct turn_input other = with_id("a", "other text");
    struct accept_plan first, second, third;
    ck_assert_int_eq(kit_build(&kit, &mine, 1, false, &first), ERR_OK);
    ck_assert_int_eq(kit_build(&kit, &mine, 1, false, &second), ERR_OK);
    ck_assert_int_eq(kit_build(&kit, &other, 1, false, &third), ERR_OK);
    ck_assert_int_eq(apply(&kit.f, first.batch), ERR_OK);
    ck_assert_int_eq(apply(&kit.f, second.batch), ERR_CONFLICT);
    ck_assert_int_eq(apply(&kit.f, third.batch), ERR_CONFLICT);
    ck_assert_int_eq(kit_build(&kit, &mine, 1, false, &second), ERR_OK);
    ck_assert_uint_eq(second.duplicates, 1);
    ck_assert_ptr_null(second.batch);
    expect_refused(&other, 1, false, ERR_CONFLICT, "turns[0].id");
}
END_TEST

START_TEST(two_calls_create_the_space)
{
    struct turn_input turn = said("hello");
    struct accept_plan first, second;
    ck_assert_int_eq(kit_build(&kit, &turn, 1, false, &first), ERR_OK);
    kit.settings.language = STR("de");
    ck_assert_int_eq(kit_build(&kit, &turn, 1, false, &second), ERR_OK);
    ck_assert_int_eq(apply(&kit.f, first.batch), ERR_OK);
    ck_assert_int_eq(apply(&kit.f, second.batch), ERR_CONFLICT);
}
END_TEST

static void set_language(const char *language)
{
    struct space settings = space_default(0);
    settings.language = str_of(language);
    struct buf record;
    buf_init(&record, kit_arena(&kit), 4096);
    space_encode(&settings, &record);
    struct batch *batch = batch_of(&kit.f, kit.space);
    batch_put(batch, KIND_META, STR(""), buf_str(&record), PUT_STAMP);
    ck_assert_int_eq(apply(&kit.f, batch), ERR_OK);
}

START_TEST(first_turns_insist_on_the_language)
{
    kit.space = make_space(&kit.f, "s");
    set_language("en");
    struct turn_input turn = said("hello");
    struct accept_plan plan;
    ck_assert_int_eq(kit_build(&kit, &turn, 1, false, &plan), ERR_OK);
    set_language("de");
    ck_assert_int_eq(apply(&kit.f, plan.batch), ERR_CONFLICT);
    kit_say(&kit, turn);
    /* With turns there the language is fixed, and other settings may change. */
    ck_assert_int_eq(kit_build(&kit, &turn, 1, false, &plan), ERR_OK);
    set_language("de");
    ck_assert_int_eq(apply(&kit.f, plan.batch), ERR_OK);
    set_language("xx");
    ck_assert_int_ne(kit_build(&kit, &turn, 1, false, &plan), ERR_OK);
}
END_TEST

START_TEST(a_space_that_is_gone)
{
    kit_say(&kit, said("hello"));
    ck_assert_int_eq(drop_space(&kit.f, "s"), ERR_OK);
    wait_purged(&kit.f);
    struct turn_input turn = said("hello");
    struct accept_plan plan;
    ck_assert_int_eq(kit_build(&kit, &turn, 1, false, &plan), ERR_NOT_FOUND);
}
END_TEST

/* --- messages --- */

enum { LINES = 8 };

static const char *const lines[LINES] = {"zero", "one", "two", "three", "four", "five", "six", "7"};

static void fill(struct turn_input *turns, uint32_t from, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        turns[i] = said(lines[(from + i) % LINES]);
        turns[i].role = (from + i) % 2 == 0 ? STR("user") : STR("assistant");
        turns[i].session = STR("chat");
    }
}

/* Posts lines [from, from + n) as messages; returns how many were new. */
static uint32_t send(uint32_t from, uint32_t n, struct accept_plan *plan)
{
    struct turn_input turns[16];
    ck_assert_uint_le(n, 16);
    fill(turns, from, n);
    ck_assert_int_eq(kit_post(&kit, turns, n, true, plan), ERR_OK);
    ck_assert_uint_eq(plan->accepted + plan->duplicates, n);
    return plan->accepted;
}

START_TEST(resent_history_is_skipped)
{
    struct accept_plan plan;
    ck_assert_uint_eq(send(0, 1, &plan), 1);
    /* The whole history and a new message. */
    ck_assert_uint_eq(send(0, 2, &plan), 1);
    ck_assert_uint_eq(plan.turns[0].n, 1);
    ck_assert(plan.turns[0].duplicate);
    ck_assert(str_eq(plan.turns[0].id, STR("turn_1")));
    ck_assert_uint_eq(plan.turns[1].n, 2);
    ck_assert_uint_eq(send(0, 3, &plan), 1);
    ck_assert_uint_eq(send(0, 6, &plan), 3);
    /* A tail of at least three, with and without something new. */
    ck_assert_uint_eq(send(3, 5, &plan), 2);
    ck_assert_uint_eq(plan.turns[0].n, 4);
    ck_assert_uint_eq(plan.turns[4].n, 8);
    ck_assert_uint_eq(send(5, 3, &plan), 0);
    ck_assert_ptr_null(plan.batch);
    ck_assert_uint_eq(send(0, 8, &plan), 0);
    ck_assert_uint_eq(kit_stat(&kit).v[STAT_TURNS], 8);
}
END_TEST

START_TEST(short_repeats_are_stored)
{
    struct accept_plan plan;
    ck_assert_uint_eq(send(0, 2, &plan), 2);
    /* All of it, but nothing new behind, and fewer than three. */
    ck_assert_uint_eq(send(0, 2, &plan), 2);
    /* Now 0 1 0 1: a tail of two, though something new follows. */
    ck_assert_uint_eq(send(0, 3, &plan), 3);
    /* 0 1 0 1 0 1 2: the last one alone. */
    ck_assert_uint_eq(send(2, 2, &plan), 2);
    ck_assert_uint_eq(kit_stat(&kit).v[STAT_TURNS], 9);
}
END_TEST

START_TEST(the_longest_run_is_skipped)
{
    struct turn_input same[8];
    for (int i = 0; i < 8; i++) {
        same[i] = said("again");
        same[i].session = STR("chat");
    }
    struct accept_plan plan;
    ck_assert_int_eq(kit_post(&kit, same, 4, true, &plan), ERR_OK);
    ck_assert_uint_eq(plan.accepted, 4);
    ck_assert_int_eq(kit_post(&kit, same, 6, true, &plan), ERR_OK);
    ck_assert_uint_eq(plan.accepted, 2);
    ck_assert_uint_eq(plan.turns[0].n, 1);
    ck_assert_uint_eq(plan.turns[5].n, 6);
}
END_TEST

START_TEST(history_is_that_of_its_session)
{
    struct accept_plan plan;
    ck_assert_uint_eq(send(0, 4, &plan), 4);
    struct turn_input turns[5];
    fill(turns, 0, 5);
    for (int i = 0; i < 5; i++)
        turns[i].session = STR("other");
    ck_assert_int_eq(kit_post(&kit, turns, 5, true, &plan), ERR_OK);
    ck_assert_uint_eq(plan.accepted, 5);
    /* Another speaker, role or time is another message. */
    fill(turns, 0, 5);
    turns[1].speaker = STR("Bob");
    ck_assert_int_eq(kit_post(&kit, turns, 5, true, &plan), ERR_OK);
    ck_assert_uint_eq(plan.accepted, 5);
    /* `turns` are taken as they are. */
    fill(turns, 0, 5);
    ck_assert_int_eq(kit_post(&kit, turns, 5, false, &plan), ERR_OK);
    ck_assert_int_eq(kit_post(&kit, turns, 5, false, &plan), ERR_OK);
    ck_assert_uint_eq(plan.accepted, 5);
    /* Ids say better what is a duplicate. */
    turns[4].id = STR("x");
    ck_assert_int_eq(kit_post(&kit, turns, 5, true, &plan), ERR_OK);
    ck_assert_uint_eq(plan.accepted, 5);
}
END_TEST

START_TEST(long_messages_of_a_history)
{
    struct turn_input turns[4];
    for (int i = 0; i < 4; i++)
        turns[i] = (struct turn_input){.text = kit_text(&kit, (char)('a' + i), 40000)};
    struct accept_plan plan;
    ck_assert_int_eq(kit_post(&kit, turns, 3, true, &plan), ERR_OK);
    ck_assert_int_eq(kit_post(&kit, turns, 4, true, &plan), ERR_OK);
    ck_assert_uint_eq(plan.accepted, 1);
    /* Same length, other last part. */
    char *at = arena_copy(kit_arena(&kit), turns[3].text.at, turns[3].text.len);
    at[39999] = '!';
    turns[3].text.at = at;
    ck_assert_int_eq(kit_post(&kit, turns, 4, true, &plan), ERR_OK);
    ck_assert_uint_eq(plan.accepted, 4);
}
END_TEST

/* --- damage, memory --- */

START_TEST(damaged_rows_are_reported)
{
    struct accept_plan plan;
    struct turn_input turn = {.id = STR("a"), .text = kit_text(&kit, 'x', 40000)};
    kit_say(&kit, turn);
    kit_raw(&kit, KIND_TURN_ID, STR("b"), STR("\7\0\0\0"));
    struct turn_input other = with_id("b", "text");
    ck_assert_int_eq(kit_build(&kit, &other, 1, false, &plan), ERR_INTERNAL);
    kit_raw(&kit, KIND_TURN_ID, STR("c"), STR("short"));
    other.id = STR("c");
    ck_assert_int_eq(kit_build(&kit, &other, 1, false, &plan), ERR_INTERNAL);
    kit_raw(&kit, KIND_TEXT, STR("\0\0\0\1\0\0\0\1"), STR(""));
    ck_assert_int_eq(kit_build(&kit, &turn, 1, false, &plan), ERR_INTERNAL);
    kit_raw(&kit, KIND_TURN, STR("\0\0\0\1"), STR("no turn"));
    ck_assert_int_eq(kit_build(&kit, &turn, 1, false, &plan), ERR_INTERNAL);

    struct turn_input chat[4];
    fill(chat, 0, 4);
    ck_assert_int_eq(kit_post(&kit, chat, 3, true, &plan), ERR_OK);
    struct batch *batch = batch_of(&kit.f, kit.space);
    batch_del_u32(batch, KIND_TURN, plan.turns[1].n, 0);
    ck_assert_int_eq(apply(&kit.f, batch), ERR_OK);
    ck_assert_int_eq(kit_build(&kit, chat, 4, true, &plan), ERR_INTERNAL);
}
END_TEST

/* Every allocation fails once; each time the call is refused and nothing is lost. */
START_TEST(memory_runs_out)
{
    struct turn_input turns[4];
    fill(turns, 0, 4);
    struct accept_plan plan;
    ck_assert_int_eq(kit_post(&kit, turns, 3, true, &plan), ERR_OK);
    turns[3].text = kit_text(&kit, 'x', 20000);
    turns[2].speaker = STR("Ann");
    for (unsigned mode = 0; mode < 2; mode++) {
        unsigned long n = 1;
        for (enum err_code rc = ERR_EXHAUSTED; rc != ERR_OK; n++) {
            struct arena *arena = arena_new(64 << 20);
            struct accept_call call = {turns, 4, mode == 0, KIT_NOW, false, NULL};
            struct err err = {.code = ERR_OK};
            struct store_txn *txn = begin(&kit.f);
            arena_fail_after(arena, n);
            rc = accept_build(txn, kit.space, STR("s"), NULL, &call, arena, &plan, &err);
            bool receipt = true;
            if (rc == ERR_OK && plan.batch != NULL) {
                arena_fail_after(arena, 1);
                receipt = accept_receipt(arena, &plan);
            }
            store_end(txn);
            arena_free(arena);
            ck_assert(rc == ERR_OK || (rc == ERR_EXHAUSTED && err.code == rc));
            ck_assert(rc != ERR_OK || !receipt);
            ck_assert_uint_lt(n, 5000);
        }
        ck_assert_uint_gt(n, 20);
    }
    ck_assert_uint_eq(kit_stat(&kit).v[STAT_TURNS], 3);
}
END_TEST

START_TEST(the_largest_body_fits_into_a_request)
{
    struct turn_input turns[4];
    struct buf text;
    buf_init(&text, kit_arena(&kit), LIMIT_TURN_TEXT_BYTES);
    for (uint32_t c = 0x4e00; text.len + 3 <= LIMIT_TURN_TEXT_BYTES;
         c = 0x4e00 + (c * 7 + 3) % 9000) {
        char utf8[3] = {(char)(0xe0 | c >> 12), (char)(0x80 | (c >> 6 & 63)),
                        (char)(0x80 | (c & 63))};
        buf_put(&text, utf8, 3);
    }
    for (int i = 0; i < 4; i++)
        turns[i] = (struct turn_input){.text = buf_str(&text)};
    struct arena *arena = arena_new(ARENA_REQUEST_BYTES - 3 * LIMIT_BODY_BYTES);
    struct accept_call call = {turns, 4, false, KIT_NOW, false, NULL};
    struct accept_plan plan;
    struct err err = {.code = ERR_OK};
    struct store_txn *txn = begin(&kit.f);
    enum err_code rc = accept_build(txn, 0, STR("s"), &kit.settings, &call, arena, &plan, &err);
    store_end(txn);
    ck_assert_msg(rc == ERR_OK, "%s after %zu MiB", err.message, arena_used(arena) >> 20);
    ck_assert_int_eq(apply(&kit.f, plan.batch), ERR_OK);
    arena_free(arena);
}
END_TEST

Suite *suite_accept(void)
{
    Suite *suite = suite_create("accept");
    TCase *tc = tcase_create("accept");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, limits_of_each_field);
    tcase_add_test(tc, blank_text_is_refused);
    tcase_add_test(tc, our_own_ids_are_reserved);
    tcase_add_test(tc, number_of_turns_a_call);
    tcase_add_test(tc, a_turn_is_stored_as_it_came);
    tcase_add_test(tc, counters_columns_and_settings);
    tcase_add_test(tc, long_text_lies_in_parts);
    tcase_add_test(tc, days_are_indexed);
    tcase_add_test(tc, where_the_time_comes_from);
    tcase_add_test(tc, same_id_and_content_is_a_duplicate);
    tcase_add_test(tc, same_id_and_other_content_is_a_conflict);
    tcase_add_test(tc, a_received_time_is_no_given_one);
    tcase_add_test(tc, duplicates_within_a_call);
    tcase_add_test(tc, a_race_for_an_id_is_refused_and_built_again);
    tcase_add_test(tc, two_calls_create_the_space);
    tcase_add_test(tc, first_turns_insist_on_the_language);
    tcase_add_test(tc, a_space_that_is_gone);
    tcase_add_test(tc, resent_history_is_skipped);
    tcase_add_test(tc, short_repeats_are_stored);
    tcase_add_test(tc, the_longest_run_is_skipped);
    tcase_add_test(tc, history_is_that_of_its_session);
    tcase_add_test(tc, long_messages_of_a_history);
    tcase_add_test(tc, damaged_rows_are_reported);
    tcase_add_test(tc, memory_runs_out);
    suite_add_tcase(suite, tc);
    TCase *large = tcase_create("large");
    tcase_add_checked_fixture(large, setup, teardown);
    tcase_set_timeout(large, 60);
    tcase_add_test(large, the_largest_body_fits_into_a_request);
    suite_add_tcase(suite, large);
    return suite;
}
