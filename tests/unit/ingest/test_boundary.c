#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "core/base/limits.h"
#include "core/ingest/boundary_cues.h"
#include "core/ingest/boundary_rule.h"

static struct arena *arena;
static struct err err;

/* The same sequence in every run (xorshift). */
static uint32_t random_state = 1;

static uint32_t random_below(uint32_t n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 17;
    random_state ^= random_state << 5;
    return random_state % n;
}

static void setup(void)
{
    arena = arena_new(256 << 20);
}

static void teardown(void)
{
    arena_free(arena);
}

/* --- cues --- */

START_TEST(cues_are_found)
{
    static const struct {
        const char *text;
        unsigned cues;
    } rows[] = {
        {"Hey Mel! Good to see you!", CUE_GREETING | CUE_SINCE},
        {"heyyy you", CUE_GREETING},
        {"Good morning, Idris.", CUE_GREETING},
        {"Buenos días a todos.", CUE_GREETING},
        {"The heyday of jazz.", 0},
        {"He said hello.", 0},
        {"It’s been a while, old friend.", CUE_GREETING | CUE_SINCE},
        {"So much has happened since we last talked.", CUE_SINCE},
        {"Long time no see", CUE_GREETING | CUE_SINCE},
        {"Talk to you soon, take care!", CUE_FAREWELL},
        {"I have to go now.", CUE_FAREWELL},
        {"The takeaway was careful.", 0},
        {"What does he play?", CUE_QUESTION | CUE_ASKS},
        {"What does he play? The trumpet.", CUE_ASKS},
        {"Look at this? [shares a photo of a cat]", CUE_QUESTION | CUE_ASKS},
        {"你好吗？", CUE_QUESTION | CUE_ASKS | CUE_GREETING},
        {"By the way, I moved.", CUE_CHANGE},
        {"It rained. And how are the ears?", CUE_CHANGE | CUE_QUESTION | CUE_ASKS},
        {"It rained and the roof leaks.", 0},
        {"", 0},
        {"]", 0},
        {"[", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        unsigned cues = boundary_cues(str_of(rows[i].text));
        ck_assert_msg(cues == rows[i].cues, "\"%s\": %u, not %u", rows[i].text, cues, rows[i].cues);
    }
}
END_TEST

START_TEST(long_texts_have_cues_at_both_ends)
{
    char text[8192];
    memset(text, 'x', sizeof text);
    for (size_t i = 7; i < sizeof text; i += 8)
        text[i] = ' ';
    struct str hello = STR("Hello, "), goodbye = STR(" goodbye! ");
    memcpy(text, hello.at, hello.len);
    memcpy(text + sizeof text - goodbye.len, goodbye.at, goodbye.len);
    ck_assert_uint_eq(boundary_cues((struct str){text, sizeof text}), CUE_GREETING | CUE_FAREWELL);
    for (size_t i = 0; i < sizeof text; i++) /* no bytes of any kind do harm */
        text[i] = (char)random_below(256);
    for (size_t len = 0; len < sizeof text; len += 97)
        (void)boundary_cues((struct str){text, len});
}
END_TEST

/* --- turns made of words that are numbers --- */

/* A turn of ten words with the terms first .. first + n - 1. */
static struct boundary_turn turn_of(uint32_t n, uint64_t first, uint32_t terms)
{
    struct boundary_turn turn = {
        .n = n, .first_doc = n - 1, .last_doc = n - 1, .tokens = 10, .words = 10};
    turn.time_ms = n * 1000;
    turn.terms.n = terms;
    turn.terms.at = ARENA_ARRAY(arena, struct cohesion_term, terms);
    for (uint32_t i = 0; i < terms; i++)
        turn.terms.at[i] = (struct cohesion_term){first + i, 1};
    return turn;
}

struct session {
    struct boundary rule;
    struct buffer buffer;
    uint32_t n;
    uint32_t cuts[4096]; /* first turn of each episode but the first */
    uint32_t n_cuts;
    bool through_state; /* encode and decode between any two turns */
};

static void start(struct session *s)
{
    *s = (struct session){.buffer = {.session_no = 1}};
    boundary_start(&s->rule);
}

static void pass_state(struct session *s)
{
    bool known;
    if (s->buffer.turns == 0)
        return;
    ck_assert_int_eq(boundary_encode(&s->rule, arena, &s->buffer, &err), ERR_OK);
    ck_assert_uint_le(s->buffer.state.len, BUFFER_STATE_MAX);
    ck_assert_int_eq(boundary_decode(&s->buffer, arena, &s->rule, &known, &err), ERR_OK);
    ck_assert(known);
}

static void take(struct session *s, uint32_t turns)
{
    struct buffer closed;
    uint32_t before = s->buffer.turns;
    boundary_take(&s->rule, &s->buffer, turns, &closed);
    ck_assert_uint_eq(closed.turns, turns);
    ck_assert_uint_eq(s->buffer.turns, before - turns);
    s->cuts[s->n_cuts++] = closed.last_n + 1;
}

static void add(struct session *s, struct boundary_turn turn)
{
    uint32_t turns;
    turn.n = ++s->n;
    boundary_append(&s->rule, &s->buffer, &turn);
    while (s->buffer.turns != 0 && (turns = boundary_cut(&s->rule, &s->buffer, false)) != 0)
        take(s, turns);
    if (s->buffer.turns != 0)
        ck_assert(!boundary_has_cut(&s->rule, &s->buffer));
    if (s->through_state)
        pass_state(s);
}

START_TEST(a_new_subject_is_cut_off)
{
    static struct session s;
    start(&s);
    for (uint32_t i = 0; i < 8; i++)
        add(&s, turn_of(1, 100 + i % 3, 6)); /* shares 4 of 6 terms */
    for (uint32_t i = 0; i < 6; i++)
        add(&s, turn_of(1, 500 + i % 3, 6));
    ck_assert_uint_eq(s.n_cuts, 1);
    ck_assert_uint_eq(s.cuts[0], 9);
    ck_assert_uint_eq(s.buffer.first_n, 9);
    ck_assert_int_eq(s.buffer.start_ms, 1000);
}
END_TEST

START_TEST(the_hard_cut)
{
    static struct session s;
    start(&s);
    struct boundary_turn turn = turn_of(1, 100, 6);
    turn.flags = BOUNDARY_MACHINE; /* nothing else cuts these */
    for (uint32_t i = 1; i < LIMIT_EPISODE_TURNS; i++)
        add(&s, turn);
    ck_assert_uint_eq(s.n_cuts, 0);
    add(&s, turn);
    ck_assert_uint_eq(s.n_cuts, 1);
    ck_assert_uint_eq(s.cuts[0], LIMIT_EPISODE_TURNS + 1);
    ck_assert_uint_eq(s.buffer.turns, 0);
    /* One subject without end is cut somewhere, but not into crumbs. */
    start(&s);
    for (uint32_t i = 0; i < 400 + BOUNDARY_AHEAD; i++)
        add(&s, turn_of(1, 100 + i % 3, 6));
    ck_assert_uint_ge(s.n_cuts, 400 / LIMIT_EPISODE_TURNS);
    ck_assert_uint_le(s.n_cuts, 400 / 7);
}
END_TEST

START_TEST(answers_stay_with_questions)
{
    static struct session s;
    for (int machine = 0; machine < 2; machine++) {
        start(&s);
        for (uint32_t i = 0; i < 8; i++)
            add(&s, turn_of(1, 100 + i % 3, 6));
        struct boundary_turn turn = turn_of(1, 500, 6);
        turn.flags = machine ? BOUNDARY_MACHINE : 0;
        s.rule.kept[s.rule.n_kept - 1].flags = machine ? 0 : CUE_QUESTION | CUE_ASKS;
        add(&s, turn);
        for (uint32_t i = 0; i < BOUNDARY_AHEAD; i++)
            add(&s, turn_of(1, 500 + i, 6));
        ck_assert_uint_eq(s.rule.next, 9);
        ck_assert_uint_eq(s.n_cuts, 0);
    }
}
END_TEST

/* Eight turns on one subject, then a turn of `words` words on another, which goes on. */
static uint32_t cuts_before(uint32_t words, unsigned flags)
{
    static struct session s;
    start(&s);
    for (uint32_t i = 0; i < 8; i++)
        add(&s, turn_of(1, 100 + i % 3, 6));
    struct boundary_turn turn = turn_of(1, 500, 6);
    turn.words = words;
    turn.flags = (uint8_t)flags;
    add(&s, turn);
    for (uint32_t i = 0; i < BOUNDARY_AHEAD; i++) {
        ck_assert_uint_eq(s.n_cuts, 0); /* until all of them are there */
        add(&s, turn_of(1, 500, 6));
    }
    return s.n_cuts;
}

START_TEST(a_subject_is_opened_by_a_long_turn)
{
    ck_assert_uint_eq(cuts_before(10, 0), 1);
    ck_assert_uint_eq(cuts_before(5, 0), 0);
    ck_assert_uint_eq(cuts_before(5, CUE_ASKS), 1);
    ck_assert_uint_eq(cuts_before(5, CUE_CHANGE), 1);
    ck_assert_uint_eq(cuts_before(1, CUE_CHANGE), 0);
    ck_assert_uint_eq(cuts_before(100000, 0), 1);
}
END_TEST

START_TEST(answers_of_machines_make_no_turn_short)
{
    static struct session s;
    start(&s);
    uint64_t words = s.rule.words;
    uint32_t count = s.rule.count;
    struct boundary_turn turn = turn_of(1, 100, 6);
    turn.words = 4000;
    turn.flags = BOUNDARY_MACHINE;
    for (uint32_t i = 0; i < 5; i++) {
        add(&s, turn_of(1, 100, 6));
        add(&s, turn);
    }
    ck_assert_uint_eq(s.rule.words, words + 50);
    ck_assert_uint_eq(s.rule.count, count + 5);
    add(&s, turn_of(1, 100, 6));
    struct buffer closed;
    boundary_take(&s.rule, &s.buffer, 8, &closed); /* what stays is not counted twice */
    ck_assert_uint_eq(s.rule.words, words + 60);
    boundary_take(&s.rule, &s.buffer, s.buffer.turns, &closed);
    ck_assert_uint_eq(s.rule.words, words);
}
END_TEST

START_TEST(openings_cut)
{
    static struct session s;
    static const struct {
        unsigned before, flags;
        uint32_t cuts;
    } rows[] = {
        {0, CUE_GREETING, 1},
        {CUE_QUESTION, CUE_GREETING, 0},
        {CUE_QUESTION, CUE_GREETING | CUE_SINCE, 1},
        {CUE_FAREWELL, CUE_SINCE, 1},
        {0, CUE_SINCE, 0},
        {0, CUE_GREETING | BOUNDARY_MACHINE, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        start(&s);
        add(&s, turn_of(1, 100, 6));
        add(&s, turn_of(1, 100, 6));
        struct boundary_turn turn = turn_of(1, 100, 6);
        turn.flags = (uint8_t)rows[i].before;
        add(&s, turn);
        turn.flags = (uint8_t)rows[i].flags;
        add(&s, turn);
        ck_assert_msg(s.n_cuts == rows[i].cuts, "row %zu: %u", i, s.n_cuts);
    }
    start(&s); /* too short to end */
    add(&s, turn_of(1, 100, 6));
    struct boundary_turn turn = turn_of(1, 100, 6);
    turn.flags = CUE_GREETING;
    add(&s, turn);
    ck_assert_uint_eq(s.n_cuts, 0);
}
END_TEST

START_TEST(long_turns_fill_an_episode)
{
    static struct session s;
    start(&s);
    struct boundary_turn turn = turn_of(1, 100, 6);
    turn.tokens = LIMIT_EPISODE_TOKENS / 2 - 10;
    add(&s, turn);
    add(&s, turn);
    ck_assert_uint_eq(s.n_cuts, 0);
    add(&s, turn);
    ck_assert_uint_eq(s.n_cuts, 1);
    ck_assert_uint_eq(s.cuts[0], 3);
    start(&s);
    turn.tokens = LIMIT_EPISODE_TOKENS + 1;
    add(&s, turn);
    ck_assert_uint_eq(s.n_cuts, 1); /* nothing can join it */
    ck_assert_uint_eq(s.buffer.turns, 0);
}
END_TEST

START_TEST(what_waits_is_decided_at_the_end)
{
    static struct session s;
    start(&s);
    for (uint32_t i = 0; i < 8; i++)
        add(&s, turn_of(1, 100 + i % 3, 6));
    add(&s, turn_of(1, 500, 6)); /* a dip that lacks what comes behind */
    struct boundary_turn turn = turn_of(1, 500, 6);
    turn.flags = CUE_GREETING; /* an opening, which needs nothing more */
    add(&s, turn);
    ck_assert_uint_eq(s.n_cuts, 0);
    ck_assert_uint_eq(boundary_cut(&s.rule, &s.buffer, true), 9);
    take(&s, 9);
    ck_assert_uint_eq(boundary_cut(&s.rule, &s.buffer, true), 0);
}
END_TEST

START_TEST(a_tail_has_two_turns)
{
    static struct session s;
    for (uint32_t tail = 1; tail <= BOUNDARY_AHEAD; tail++) {
        start(&s);
        s.through_state = true;
        for (uint32_t i = 0; i < 8; i++)
            add(&s, turn_of(1, 100 + i % 3, 6));
        for (uint32_t i = 0; i < tail; i++)
            add(&s, turn_of(1, 500, 6));
        ck_assert_uint_eq(s.n_cuts, 0);
        ck_assert_uint_eq(boundary_cut(&s.rule, &s.buffer, true), tail > 1 ? 8 : 0);
        if (tail == 1)
            continue;
        take(&s, 8);
        ck_assert_uint_eq(boundary_cut(&s.rule, &s.buffer, true), 0);
    }
}
END_TEST

/* A random session with subjects, openings, machines and long turns. */
static struct boundary_turn random_turn(uint64_t *subject)
{
    if (random_below(9) == 0)
        *subject = (uint64_t)random_below(5) * 1000;
    struct boundary_turn turn = turn_of(1, *subject + random_below(8), 1 + random_below(9));
    turn.flags = (uint8_t)(random_below(4) == 0 ? random_below(64) : 0);
    if (random_below(12) == 0)
        turn.flags |= BOUNDARY_MACHINE;
    if (random_below(25) == 0)
        turn.tokens = random_below(5000);
    turn.words = random_below(30);
    return turn;
}

START_TEST(state_carries_everything)
{
    static struct session plain, stored;
    random_state = 7;
    start(&plain);
    start(&stored);
    stored.through_state = true;
    uint64_t subject = 0;
    for (int i = 0; i < 3000; i++) {
        struct boundary_turn turn = random_turn(&subject);
        if (i % 50 == 0) {
            boundary_add_name(&plain.rule, subject);
            boundary_add_name(&stored.rule, subject);
        }
        add(&plain, turn);
        add(&stored, turn);
    }
    ck_assert_uint_gt(plain.n_cuts, 100);
    ck_assert_uint_eq(plain.n_cuts, stored.n_cuts);
    ck_assert_mem_eq(plain.cuts, stored.cuts, plain.n_cuts * sizeof plain.cuts[0]);
}
END_TEST

START_TEST(replayed_buffers_go_on)
{
    static struct session s;
    random_state = 11;
    uint64_t subject = 0;
    for (uint32_t turns = 1; turns < 40; turns++) {
        struct boundary_turn list[40];
        start(&s);
        for (uint32_t i = 0; i < turns; i++) {
            list[i] = random_turn(&subject);
            list[i].n = i + 1;
            list[i].tokens = 1;
        }
        for (uint32_t i = 0; i < turns; i++)
            boundary_replay(&s.rule, &s.buffer, &list[i]);
        boundary_check(&s.rule, &s.buffer);
        ck_assert_uint_eq(s.buffer.turns, turns);
        s.n = turns;
        for (uint32_t i = 0; i < 10; i++)
            add(&s, random_turn(&subject));
    }
}
END_TEST

START_TEST(damaged_state_is_refused)
{
    static struct session s;
    start(&s);
    boundary_add_name(&s.rule, 77);
    for (uint32_t i = 0; i < 7; i++)
        add(&s, turn_of(1, 100 + i % 3, 6));
    pass_state(&s);
    struct str good = s.buffer.state;
    struct boundary rule;
    bool known;
    for (size_t len = 1; len < good.len; len++) {
        s.buffer.state.len = len;
        ck_assert_int_eq(boundary_decode(&s.buffer, arena, &rule, &known, &err), ERR_INTERNAL);
    }
    char *bad = arena_alloc(arena, good.len);
    for (size_t i = 0; i < good.len; i++) { /* any byte may be any: no crash */
        memcpy(bad, good.at, good.len);
        bad[i] = (char)(bad[i] ^ (1 << random_below(8)));
        s.buffer.state = (struct str){bad, good.len};
        if (boundary_decode(&s.buffer, arena, &rule, &known, &err) == ERR_OK)
            boundary_check(&rule, &s.buffer);
    }
}
END_TEST

START_TEST(states_of_the_earlier_rule_are_made_again)
{
    static struct session s;
    start(&s);
    add(&s, turn_of(1, 100, 6));
    pass_state(&s);
    char *old = arena_copy(arena, s.buffer.state.at, s.buffer.state.len);
    old[0] = 1;
    s.buffer.state.at = old;
    bool known = true;
    struct boundary rule;
    ck_assert_int_eq(boundary_decode(&s.buffer, arena, &rule, &known, &err), ERR_OK);
    ck_assert(!known);
}
END_TEST

START_TEST(cohesion_counts)
{
    struct boundary_turn a = turn_of(1, 1, 4), b = turn_of(2, 3, 4), c = turn_of(3, 100, 0);
    const struct cohesion_turn *turns[] = {&a.terms, &b.terms, &c.terms};
    uint64_t name = 5;
    struct cohesion_gap gap = {turns, 1, 2, {NULL, 0}};
    ck_assert_double_eq_tol(cohesion(&gap, 0.5), (2 + 3 * 0.5) / (4 + 3), 1e-12);
    gap.names = (struct cohesion_names){&name, 1};
    ck_assert_double_eq_tol(cohesion(&gap, 0.5), (2 + 3 * 0.5) / (3 + 3), 1e-12);
    gap = (struct cohesion_gap){turns + 1, 1, 1, {NULL, 0}};
    ck_assert_double_eq_tol(cohesion(&gap, 0.2), 0.2, 1e-12); /* nothing said */
}
END_TEST

START_TEST(terms_of_a_turn_are_bounded)
{
    struct tokenizer *tokenizer;
    struct token_list parts[2];
    struct cohesion_turn turn;
    struct buf text;
    buf_init(&text, arena, 1 << 20);
    for (int i = 0; i < 2000; i++)
        buf_printf(&text, "word%dx ", i % 700);
    ck_assert_int_eq(tokenizer_new(STR("none"), &tokenizer, &err), ERR_OK);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(
            tokenizer_run(tokenizer, arena, buf_str(&text), TOKEN_INDEX, &parts[i], &err), ERR_OK);
    ck_assert_int_eq(cohesion_turn_of(arena, parts, 2, &turn, &err), ERR_OK);
    ck_assert_uint_eq(turn.n, COHESION_TERMS);
    for (uint32_t i = 1; i < turn.n; i++)
        ck_assert(turn.at[i - 1].term < turn.at[i].term);
    tokenizer_free(tokenizer);
}
END_TEST

Suite *suite_boundary(void)
{
    Suite *suite = suite_create("boundary");
    TCase *tcase = tcase_create("boundary");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, cues_are_found);
    tcase_add_test(tcase, long_texts_have_cues_at_both_ends);
    tcase_add_test(tcase, a_new_subject_is_cut_off);
    tcase_add_test(tcase, the_hard_cut);
    tcase_add_test(tcase, answers_stay_with_questions);
    tcase_add_test(tcase, a_subject_is_opened_by_a_long_turn);
    tcase_add_test(tcase, answers_of_machines_make_no_turn_short);
    tcase_add_test(tcase, openings_cut);
    tcase_add_test(tcase, long_turns_fill_an_episode);
    tcase_add_test(tcase, what_waits_is_decided_at_the_end);
    tcase_add_test(tcase, a_tail_has_two_turns);
    tcase_add_test(tcase, state_carries_everything);
    tcase_add_test(tcase, replayed_buffers_go_on);
    tcase_add_test(tcase, damaged_state_is_refused);
    tcase_add_test(tcase, states_of_the_earlier_rule_are_made_again);
    tcase_add_test(tcase, cohesion_counts);
    tcase_add_test(tcase, terms_of_a_turn_are_bounded);
    suite_add_tcase(suite, tcase);
    return suite;
}
