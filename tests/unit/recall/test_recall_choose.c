/* What may be in a reply: gates, filters, list lengths, repeats, chains, deleted nodes, recent. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/limits.h"
#include "core/index/column.h"
#include "tests/unit/recall/recall_kit.h"

enum { TURNS = 80 };

static struct ref ref;

static struct recall_query widest(const char *q)
{
    struct recall_query query = query_of(q);
    query.topics = LIMIT_TOPICS;
    query.episodes = LIMIT_EPISODES;
    query.facts = LIMIT_FACTS;
    query.explain = true;
    return query;
}

/* --- gates --- */

static bool shown_episode(const struct recall_reply *reply, uint32_t id)
{
    for (uint32_t i = 0; i < reply->n_episodes; i++)
        if (reply->episodes[i].episode.id == id)
            return true;
    return false;
}

static bool shown_topic(const struct recall_reply *reply, uint32_t id)
{
    for (uint32_t i = 0; i < reply->n_topics; i++)
        if (reply->topics[i].topic.id == id)
            return true;
    return false;
}

static bool of_shown_topic(const struct recall_reply *reply, const struct episode *e)
{
    return shown_topic(reply, e->topics[0]) || shown_topic(reply, e->topics[1]);
}

START_TEST(strict_gate_keeps_members_only)
{
    tell_world(31, TURNS, true);
    struct recall_query query = widest("garden violin engine");
    query.topics = 2;
    query.episodes = 3;
    struct asked soft = ask(&query);
    query.gate = GATE_STRICT;
    struct asked strict = ask(&query);
    ck_assert_uint_eq(strict.reply.n_topics, 2);
    for (uint32_t i = 0; i < strict.reply.n_episodes; i++)
        ck_assert(of_shown_topic(&strict.reply, &strict.reply.episodes[i].episode));
    for (uint32_t i = 0; i < strict.reply.n_facts; i++) {
        const struct fact *fact = &strict.reply.facts[i].fact;
        bool member = false;
        for (uint32_t k = 0; k < fact->n_episodes; k++)
            member |= shown_episode(&strict.reply, fact->episodes[k]);
        ck_assert(member);
        /* The gate changes who comes, not what he is worth; but phrases are lowered in the first
         * places only. */
        ck_assert(fact->n_sources > 1 || explained(&soft.reply, STAGE_FACTS, fact->id)->score ==
                                             strict.reply.facts[i].score);
    }
    ck_assert_uint_lt(strict.reply.n_facts, soft.reply.n_facts);
    uint32_t gated = 0;
    for (uint32_t i = 0; i < strict.reply.explain->n[STAGE_FACTS]; i++) {
        const char *cut = strict.reply.explain->stage[STAGE_FACTS][i].cut;
        gated += cut != NULL && strcmp(cut, "gate") == 0;
    }
    ck_assert_uint_gt(gated, 0);
    asked_end(&strict);
    asked_end(&soft);
}
END_TEST

START_TEST(a_skipped_stage_is_no_gate)
{
    tell_world(31, TURNS, true);
    struct recall_query query = widest("garden violin engine");
    query.gate = GATE_STRICT;
    query.topics = 0;
    struct asked asked = ask(&query);
    ck_assert_uint_eq(asked.reply.n_topics, 0);
    ck_assert_uint_gt(asked.reply.n_episodes, 0);
    asked_end(&asked);
    query.episodes = 0;
    asked = ask(&query);
    ck_assert_uint_eq(asked.reply.n_episodes, 0);
    ck_assert_uint_gt(asked.reply.n_facts, 0);
    asked_end(&asked);
    query.facts = 0;
    asked = ask(&query);
    ck_assert_uint_eq(asked.reply.n_facts, 0);
    ck_assert_uint_gt(asked.reply.context.n_turn_ids, 0);
    ck_assert_uint_eq(asked.reply.context.n_fact_ids, 0);
    asked_end(&asked);
}
END_TEST

/* --- filters --- */

static bool turn_passes(const struct recall_query *q, const struct turn *turn)
{
    return (!q->has_since || turn->time_ms >= q->since_ms) &&
           (!q->has_until || turn->time_ms <= q->until_ms) &&
           (!q->has_as_of || turn->time_ms <= q->as_of_ms) &&
           (q->session.at == NULL || str_eq(turn->session, q->session)) &&
           (q->speaker.at == NULL || str_eq(turn->speaker, q->speaker));
}

static bool episode_passes(const struct recall_query *q, uint32_t id)
{
    for (uint32_t n = 1; n <= ref.n_turns; n++)
        if (ref.turns[n].turn.n != 0 && ref.turns[n].episode == id &&
            turn_passes(q, &ref.turns[n].turn))
            return true;
    return false;
}

static bool topic_passes(const struct recall_query *q, uint32_t id)
{
    for (uint32_t e = 1; e <= ref.n_episodes; e++) {
        const struct episode *episode = &ref.episodes[e].episode;
        if ((episode->topics[0] == id || episode->topics[1] == id) && episode_passes(q, e))
            return true;
    }
    return false;
}

static bool fact_passes(const struct recall_query *q, const struct fact *fact)
{
    for (uint32_t i = 0; i < fact->n_sources; i++)
        if (turn_passes(q, &ref.turns[fact->sources[i]].turn))
            return true;
    return false;
}

/* All that passes and scored without filters is there, and nothing else. */
static void check_filtered(const struct recall_query *query)
{
    struct recall_query open = widest("garden violin engine river");
    struct asked all = ask(&open), some = ask(query);
    uint32_t n = 0;
    for (uint32_t i = 0; i < some.reply.n_facts; i++)
        ck_assert(fact_passes(query, &some.reply.facts[i].fact));
    for (uint32_t i = 0; i < all.reply.n_facts; i++)
        n += fact_passes(query, &all.reply.facts[i].fact);
    ck_assert_uint_eq(some.reply.n_facts, n);
    for (uint32_t i = 0; i < some.reply.n_episodes; i++)
        ck_assert(episode_passes(query, some.reply.episodes[i].episode.id));
    n = 0;
    for (uint32_t i = 0; i < all.reply.n_episodes; i++) {
        uint32_t id = all.reply.episodes[i].episode.id;
        bool own = ref_episode_score(&ref, id) > 0;
        n += own && episode_passes(query, id);
        if (own && !episode_passes(query, id))
            ck_assert_str_eq(explained(&some.reply, STAGE_EPISODES, id)->cut, "filter");
    }
    ck_assert_uint_eq(some.reply.n_episodes, n);
    for (uint32_t i = 0; i < some.reply.n_topics; i++)
        ck_assert(topic_passes(query, some.reply.topics[i].topic.id));
    for (uint32_t i = 0; i < some.reply.n_recent; i++)
        ck_assert(turn_passes(query, &some.reply.recent[i].turn));
    for (uint32_t i = 0; i < some.reply.context.n_turn_ids; i++) {
        struct str id = some.reply.context.turn_ids[i];
        uint64_t number;
        ck_assert(str_starts(id, STR("turn_")) && str_u64(str_part(id, 5, id.len), TURNS, &number));
        ck_assert(turn_passes(query, &ref.turns[number].turn));
    }
    asked_end(&some);
    asked_end(&all);
}

START_TEST(filters_apply_in_every_layer)
{
    static const char *const sessions[] = {NULL, "s1", "s2"};
    static const char *const speakers[] = {NULL, "Ann", "Chris"};
    tell_world(41 + (unsigned)_i, TURNS, _i % 2 == 0);
    ref_init(&ref);
    ref_ask(&ref, "garden violin engine river", NULL, NULL);
    for (unsigned i = 0; i < 45; i++) {
        struct recall_query query = widest("garden violin engine river");
        const char *session = sessions[i % 3], *speaker = speakers[i / 3 % 3];
        int64_t low = ref.turns[10].turn.time_ms, high = ref.turns[60].turn.time_ms;
        query.session = session != NULL ? str_of(session) : STR_NONE;
        query.speaker = speaker != NULL ? str_of(speaker) : STR_NONE;
        query.has_since = (i / 9 & 1) != 0;
        query.since_ms = low + (high - low) / 3;
        query.has_until = (i / 9 & 2) != 0;
        query.until_ms = query.since_ms + 90 * MINUTE_MS;
        query.has_as_of = i / 9 == 4;
        query.as_of_ms = ref.turns[30].turn.time_ms;
        check_filtered(&query);
    }
}
END_TEST

START_TEST(filters_that_name_nothing_find_nothing)
{
    tell_world(43, 30, true);
    struct recall_query query = query_of("garden violin");
    query.session = STR("nowhere");
    struct asked asked = ask(&query);
    ck_assert_uint_eq(asked.reply.n_topics + asked.reply.n_episodes + asked.reply.n_facts +
                          asked.reply.n_recent,
                      0);
    ck_assert_uint_eq(asked.reply.context.text.len, 0);
    asked_end(&asked);
    query.session = STR_NONE;
    query.speaker = STR("Zoe");
    query.explain = true;
    asked = ask(&query);
    ck_assert_uint_eq(asked.reply.n_facts, 0);
    ck_assert_ptr_nonnull(asked.reply.explain);
    asked_end(&asked);
}
END_TEST

START_TEST(as_of_hides_summaries_with_later_members)
{
    (void)say("a", "Ann", "The greyhound Turnip stole a salmon.");
    int64_t middle = stage_kit.time_ms;
    (void)say("a", "Bob", "Turnip the greyhound is a thief.");
    (void)say_at("a", "Ann", "Turnip the greyhound saw the vet.", middle + 48 * HOUR_MS);
    run_stages();
    (void)flush_now(NULL);
    struct recall_query query = query_of("Turnip greyhound");
    query.has_as_of = true;
    query.as_of_ms = middle - MINUTE_MS;
    query.summaries = SUMMARIES_ON;
    struct asked asked = ask(&query);
    ck_assert_uint_eq(asked.reply.n_episodes, 1);
    ck_assert(asked.reply.episodes[0].summary_hidden);
    ck_assert(asked.reply.topics[0].summary_hidden);
    ck_assert_uint_eq(count_in(asked.reply.context.text, "Summary:"), 0);
    ck_assert_uint_eq(asked.reply.n_facts, 1);
    asked_end(&asked);
    query.as_of_ms = middle + 10 * HOUR_MS;
    asked = ask(&query);
    ck_assert_uint_eq(asked.reply.n_episodes, 1);
    ck_assert(!asked.reply.episodes[0].summary_hidden);
    ck_assert_uint_eq(asked.reply.n_facts, 2);
    asked_end(&asked);
}
END_TEST

static uint32_t turn_doc(uint32_t n)
{
    return kit_turn(&stage_kit.kit, n).doc;
}

/* As a model would, facts may end: the row alone decides. */
static void end_fact(uint32_t id, int64_t valid_to)
{
    struct err err;
    struct fact_row row;
    struct store_txn *txn = begin(&stage_kit.kit.f);
    struct columns *columns = columns_new(txn, stage_kit.kit.space, kit_arena(&stage_kit.kit));
    columns_fact(columns, id, &row);
    ck_assert_int_eq(columns_error(columns, &err), ERR_OK);
    store_end(txn);
    row.valid_to = valid_to;
    struct batch *batch = batch_of(&stage_kit.kit.f, stage_kit.kit.space);
    (void)column_put(batch, COLUMN_FACT, id - 1, &row, 1);
    ck_assert_int_eq(apply(&stage_kit.kit.f, batch), ERR_OK);
}

START_TEST(as_of_tests_validity_and_its_turn_does_not_stand_in)
{
    uint32_t n = say("a", "Ann", "My flat is in Lisbon.");
    (void)say("a", "Bob", "Lisbon has custard tarts.");
    run_stages();
    (void)flush_now(NULL);
    struct fact fact = fact_now(fact_with("flat is in Lisbon"));
    int64_t end = fact.valid_from + 10 * MINUTE_MS;
    end_fact(fact.id, end);
    struct recall_query query = query_of("Lisbon flat");
    query.explain = true;
    query.summaries = SUMMARIES_OFF;
    query.has_as_of = true;
    query.as_of_ms = end - 1;
    struct asked asked = ask(&query);
    ck_assert_ptr_nonnull(reply_fact(&asked.reply, fact.id));
    ck_assert_uint_eq(count_in(asked.reply.context.text, "My flat"), 1);
    asked_end(&asked);
    query.as_of_ms = end;
    asked = ask(&query);
    ck_assert_ptr_null(reply_fact(&asked.reply, fact.id));
    ck_assert_str_eq(explained(&asked.reply, STAGE_FACTS, fact.id)->cut, "filter");
    ck_assert_uint_eq(count_in(asked.reply.context.text, "My flat"), 0);
    asked_end(&asked);
    end_fact(fact.id, TIME_NEVER); /* for the check at the end */
    (void)n;
}
END_TEST

/* --- repeats --- */

START_TEST(a_repeated_fact_is_found_by_each_of_its_turns)
{
    (void)say("a", "Ann", "The lighthouse keeper paints boats.");
    (void)say("a", "Bob", "Something about soup.");
    (void)say_at("b", "Ann", "Harbour stories are long. The lighthouse keeper paints boats.",
                 stage_kit.time_ms + 48 * HOUR_MS);
    run_stages();
    (void)flush_now(NULL);
    uint32_t id = fact_with("lighthouse keeper");
    ck_assert_uint_eq(fact_now(id).n_sources, 2);
    struct recall_query query = query_of("harbour stories lighthouse");
    query.explain = true;
    for (int fusion = FUSION_SCORE; fusion <= FUSION_RRF; fusion++) {
        query.fusion = (enum recall_fusion)fusion;
        struct asked asked = ask(&query);
        uint32_t seen = 0;
        for (uint32_t i = 0; i < asked.reply.n_facts; i++)
            seen += asked.reply.facts[i].fact.id == id;
        ck_assert_uint_eq(seen, 1);
        const struct recall_fact *fact = reply_fact(&asked.reply, id);
        ck_assert_uint_eq(fact->fact.n_sources, 2);
        ck_assert(str_eq(fact->turn_ids[1], STR("turn_3")));
        /* Its second source says more of the question than the first: as much as the fact that was
         * said beside it. */
        uint32_t beside = fact_with("Harbour stories");
        ck_assert(explained(&asked.reply, STAGE_FACTS, id)->signal[SIGNAL_TURN] ==
                  explained(&asked.reply, STAGE_FACTS, beside)->signal[SIGNAL_TURN]);
        asked_end(&asked);
    }
    query.fusion = FUSION_SCORE;
    query.session = STR("b");
    struct asked asked = ask(&query);
    ck_assert_ptr_nonnull(reply_fact(&asked.reply, id));
    asked_end(&asked);
}
END_TEST

/* More turns repeat one sentence than the pool holds; what else matches is not crowded out. */
START_TEST(repeats_do_not_crowd_out_others)
{
    enum { REPEATS = 450 };
    (void)say("a", "Ann", "A lantern hangs in the old boathouse.");
    (void)say("a", "Bob", "Bring the second lantern.");
    for (unsigned i = 0; i < REPEATS; i++)
        (void)say("b", "Bob", "Lantern lantern lantern.");
    run_stages();
    (void)flush_now(NULL);
    for (int fusion = FUSION_SCORE; fusion <= FUSION_RRF; fusion++) {
        struct recall_query query = query_of("lantern");
        query.fusion = (enum recall_fusion)fusion;
        query.episodes = query.topics = 0;
        struct asked asked = ask(&query);
        ck_assert_uint_eq(asked.reply.n_facts, 3);
        ck_assert_ptr_nonnull(reply_fact(&asked.reply, fact_with("old boathouse")));
        asked_end(&asked);
    }
}
END_TEST

/* --- chains --- */

/* A story that goes on longer than one topic holds. */
/* Facts whose content ends in `end`: place of the first, and how many sources it has. */
static uint32_t place_of(const struct recall_reply *reply, const char *end, uint32_t *sources)
{
    uint32_t i = 0;
    for (; i < reply->n_facts; i++) {
        struct str content = reply->facts[i].fact.content;
        size_t n = strlen(end);
        if (content.len >= n && memcmp(content.at + content.len - n, end, n) == 0)
            break;
    }
    ck_assert_msg(i < reply->n_facts, "no fact \"%s\"", end);
    *sources = reply->facts[i].fact.n_sources;
    return i;
}

/* It stands beside what the question is about, and says nothing of it; a whole turn that is said
 * twice says as much each time. */
START_TEST(a_phrase_is_ranked_by_what_it_states)
{
    uint32_t sources = 0;
    (void)say("a", "Ann", "The old piano came by ship from Trieste to Hamburg. Keep it up!");
    (void)say("a", "Bob", "My sister tunes the piano.");
    (void)say("a", "Ann", "The lighthouse keeper paints wooden boats. Keep it up!");
    (void)say("a", "Bob", "The piano belongs to grandmother.");
    (void)say("a", "Ann", "Seven children learned swimming in the quarry. Keep it up!");
    (void)say("a", "Bob", "The piano belongs to grandmother.");
    run_stages();
    (void)flush_now(NULL);
    struct recall_query query = widest("Where did the piano come from?");
    struct asked asked = ask(&query);
    uint32_t ship = place_of(&asked.reply, "to Hamburg.", &sources);
    uint32_t phrase = place_of(&asked.reply, "Keep it up!", &sources);
    ck_assert_uint_eq(sources, 3);
    const struct recall_fact *told = &asked.reply.facts[ship], *said = &asked.reply.facts[phrase];
    ck_assert(said->score < 0.6f * told->score);
    ck_assert_uint_lt(place_of(&asked.reply, "tunes the piano.", &sources), phrase);
    const struct recall_candidate *c = explained(&asked.reply, STAGE_FACTS, told->fact.id);
    const struct recall_candidate *low = explained(&asked.reply, STAGE_FACTS, said->fact.id);
    ck_assert(low->factor < 0.6f * c->factor);
    uint32_t whole = place_of(&asked.reply, "belongs to grandmother.", &sources);
    ck_assert_uint_eq(sources, 2);
    c = explained(&asked.reply, STAGE_FACTS, asked.reply.facts[whole].fact.id);
    ref_init(&ref);
    ref_ask(&ref, "piano came", NULL, NULL);
    ck_assert(fabsf(c->factor - ref_factor(&ref, 4)) < 1e-4f);
    asked_end(&asked);
}
END_TEST

START_TEST(a_chain_of_topics_counts_once)
{
    for (int i = 0; i < 72; i++) {
        char line[128];
        int64_t time_ms = KIT_NOW + (int64_t)i * 48 * HOUR_MS;
        bool story = i % 4 == 0; /* the rest, so that one story does not fill the memory */
        (void)snprintf(line, sizeof line,
                       story ? "Turnip the greyhound met animal%d at place%d."
                             : "Item%dx costs price%dx in a shop.",
                       i, i);
        (void)say_at("a", "Ann", line, time_ms);
        (void)say("a", "Bob", story ? "Turnip is the best greyhound." : "Expensive.");
    }
    run_stages();
    (void)flush_now(NULL);
    uint32_t story = episode_now(1).topics[0];
    uint32_t links = 0;
    struct topic first = topic_now(story);
    for (uint32_t id = 1; id < (uint32_t)stat_now(STAT_NEXT_TOPIC); id++)
        links += topic_now(id).chain == first.chain;
    ck_assert_uint_ge(links, 2);
    struct recall_query query = query_of("Turnip greyhound");
    query.explain = true;
    struct asked asked = ask(&query);
    uint32_t seen = 0, chained = 0;
    for (uint32_t i = 0; i < asked.reply.n_topics; i++)
        seen += asked.reply.topics[i].topic.chain == first.chain;
    ck_assert_uint_eq(seen, 1);
    for (uint32_t i = 0; i < asked.reply.explain->n[STAGE_TOPICS]; i++) {
        const char *cut = asked.reply.explain->stage[STAGE_TOPICS][i].cut;
        chained += cut != NULL && strcmp(cut, "chain") == 0;
    }
    ck_assert_uint_eq(chained, links - 1);
    asked_end(&asked);
    /* Behind the strict gate the whole chain's episodes are members. */
    query.gate = GATE_STRICT;
    query.topics = 1;
    query.episodes = LIMIT_EPISODES;
    asked = ask(&query);
    ck_assert_uint_eq(asked.reply.n_topics, 1);
    ck_assert_uint_eq(asked.reply.n_episodes, 18);
    asked_end(&asked);
}
END_TEST

/* --- deleted nodes --- */

START_TEST(deleted_nodes_are_gone_and_their_turns_stand_for_themselves)
{
    uint32_t n = say("a", "Ann", "The lighthouse keeper paints boats.");
    uint32_t other = say("a", "Bob", "The lighthouse needs a new lamp.");
    run_stages();
    (void)flush_now(NULL);
    uint32_t id = fact_with("keeper");
    struct recall_query query = query_of("lighthouse keeper");
    delete_node(KIND_FACT, id);
    struct asked asked = ask(&query);
    ck_assert_ptr_null(reply_fact(&asked.reply, id));
    ck_assert_uint_eq(count_in(asked.reply.context.text, "keeper paints boats"), 1);
    ck_assert_uint_eq(asked.reply.context.n_turn_ids, 2);
    asked_end(&asked);
    delete_node(KIND_TURN, n);
    asked = ask(&query);
    ck_assert_uint_eq(count_in(asked.reply.context.text, "keeper"), 0);
    ck_assert_uint_eq(asked.reply.n_episodes, 1);
    ck_assert_uint_eq(asked.reply.episodes[0].n_turn_ids, 1);
    asked_end(&asked);
    delete_node(KIND_TURN, other);
    asked = ask(&query);
    ck_assert_uint_eq(asked.reply.n_topics + asked.reply.n_episodes + asked.reply.n_facts, 0);
    asked_end(&asked);
}
END_TEST

/* --- recent --- */

START_TEST(recent_until_the_facts_are_there)
{
    (void)say("a", "Ann", "The lighthouse keeper paints boats.");
    struct recall_query query = query_of("Who paints boats?");
    struct asked asked = ask(&query);
    ck_assert_uint_eq(asked.reply.n_recent, 1);
    ck_assert(asked.reply.recent[0].score > 0);
    ck_assert(str_eq(asked.reply.recent[0].id, STR("turn_1")));
    ck_assert_uint_eq(asked.reply.n_facts, 0);
    ck_assert_uint_eq(asked.reply.context.n_turn_ids, 1);
    asked_end(&asked);
    run_stages(); /* it rests in a buffer */
    asked = ask(&query);
    ck_assert_uint_eq(asked.reply.n_recent, 1);
    asked_end(&asked);
    (void)flush_now(NULL);
    asked = ask(&query);
    ck_assert_uint_eq(asked.reply.n_recent, 0);
    ck_assert_uint_eq(asked.reply.n_facts, 1);
    asked_end(&asked);
}
END_TEST

START_TEST(recent_shows_the_ten_best_and_a_long_turn_once)
{
    struct buf text;
    buf_init(&text, kit_arena(&stage_kit.kit), 4 << 20);
    while (text.len < LIMIT_TURN_TEXT_BYTES - 64)
        buf_str_put(&text, STR("The zeppelin crossed the mountains. "));
    buf_char(&text, '\0');
    (void)say("a", "Ann", text.at);
    for (int i = 0; i < 12; i++)
        (void)say("a", "Bob", "A zeppelin again.");
    struct recall_query query = query_of("zeppelin");
    query.explain = true;
    struct asked asked = ask(&query);
    ck_assert_uint_eq(asked.reply.n_recent, 10);
    for (uint32_t i = 0; i < 10; i++) {
        ck_assert_uint_le(asked.reply.recent[i].text.len, LIMIT_DOC_BYTES);
        for (uint32_t k = 0; k < i; k++)
            ck_assert_uint_ne(asked.reply.recent[i].turn.n, asked.reply.recent[k].turn.n);
        /* Explained under the number of the turn, like all else. */
        ck_assert_ptr_nonnull(explained(&asked.reply, STAGE_RECENT, asked.reply.recent[i].turn.n));
    }
    asked_end(&asked);
    ck_assert_uint_gt(turn_doc(2), 100);
}
END_TEST

Suite *suite_recall_choose(void);
Suite *suite_recall_choose(void)
{
    Suite *suite = suite_create("recall_choose");
    TCase *tc = tcase_create("choose");
    tcase_add_checked_fixture(tc, stage_kit_setup, stage_kit_teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, strict_gate_keeps_members_only);
    tcase_add_test(tc, a_skipped_stage_is_no_gate);
    tcase_add_loop_test(tc, filters_apply_in_every_layer, 0, 4);
    tcase_add_test(tc, filters_that_name_nothing_find_nothing);
    tcase_add_test(tc, as_of_hides_summaries_with_later_members);
    tcase_add_test(tc, as_of_tests_validity_and_its_turn_does_not_stand_in);
    tcase_add_test(tc, a_repeated_fact_is_found_by_each_of_its_turns);
    tcase_add_test(tc, repeats_do_not_crowd_out_others);
    tcase_add_test(tc, a_phrase_is_ranked_by_what_it_states);
    tcase_add_test(tc, a_chain_of_topics_counts_once);
    tcase_add_test(tc, deleted_nodes_are_gone_and_their_turns_stand_for_themselves);
    tcase_add_test(tc, recent_until_the_facts_are_there);
    tcase_add_test(tc, recent_shows_the_ten_best_and_a_long_turn_once);
    suite_add_tcase(suite, tc);
    return suite;
}
