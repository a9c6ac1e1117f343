/* The context: never over its budget, each text once, in the order of time, ids that are backed. */
#include <stdio.h>
#include <stdlib.h>

#include "core/base/limits.h"
#include "core/text/sentence.h"
#include "tests/unit/recall/recall_kit.h"

static struct recall_query query_with(const char *q, uint32_t max_tokens)
{
    struct recall_query query = query_of(q);
    query.max_tokens = max_tokens;
    return query;
}

static uint32_t number_of(struct str id)
{
    uint64_t n = 0;
    ck_assert(str_starts(id, STR("turn_")) && str_u64(str_part(id, 5, id.len), 1u << 30, &n));
    return (uint32_t)n;
}

/* Every claimed turn's text is there, whole. */
static void check_backed(const struct recall_context *context)
{
    for (uint32_t i = 0; i < context->n_turn_ids; i++) {
        struct str text = str_trim(kit_turn(&stage_kit.kit, number_of(context->turn_ids[i])).text);
        ck_assert_ptr_nonnull(memmem(context->text.at, context->text.len, text.at, text.len));
        for (uint32_t k = 0; k < i; k++)
            ck_assert(!str_eq(context->turn_ids[i], context->turn_ids[k]));
    }
}

static void check_budget(const struct recall_context *context, uint32_t max_tokens)
{
    size_t chars = count_chars(context->text);
    ck_assert_uint_le(chars, 4 * (size_t)max_tokens);
    ck_assert_uint_eq(context->tokens, (chars + 3) / 4);
}

static size_t ask_every_budget(const char *q, enum recall_summaries summaries)
{
    size_t longest = 0;
    for (uint32_t tokens = 0; tokens <= 3000; tokens++) {
        struct recall_query query = query_with(q, tokens);
        query.summaries = summaries;
        struct asked asked = ask(&query);
        check_budget(&asked.reply.context, tokens);
        if (tokens % 50 == 0)
            check_backed(&asked.reply.context);
        size_t chars = count_chars(asked.reply.context.text);
        longest = chars > longest ? chars : longest;
        asked_end(&asked);
    }
    return longest;
}

START_TEST(no_budget_is_passed)
{
    tell_world(3, 120, true);
    ck_assert_uint_gt(
        ask_every_budget("garden violin engine river harbour", (enum recall_summaries)_i), 3000);
}
END_TEST

START_TEST(no_budget_is_passed_in_chinese)
{
    for (int i = 0; i < 90; i++) {
        char text[512];
        (void)snprintf(
            text, sizeof text,
            "我昨天去图书馆借了第%d本书，很有意思。图书馆旁边开了一家咖啡店！价格是%d元。", i,
            20 + i);
        if (i % 15 == 0)
            stage_kit.time_ms += 10 * HOUR_MS;
        (void)say("会话", i % 2 == 0 ? "小明" : "李华", text);
    }
    run_stages();
    (void)flush_now(NULL);
    ck_assert_uint_gt(ask_every_budget("图书馆 借 书", SUMMARIES_AUTO), 2000);
}
END_TEST

START_TEST(form)
{
    (void)say_at("a", "Ann", "I saw a heron at the pond.", KIT_NOW);
    (void)say("a", "Ann", "The heron caught a fish.");
    (void)say("a", "Bob", "Herons are patient.");
    (void)say_at("a", "Bob", "The heron came back.", KIT_NOW + 24 * HOUR_MS);
    run_stages();
    (void)flush_now(NULL);
    struct recall_query query = query_with("heron", 500);
    struct asked asked = ask(&query);
    const char *wanted = "8 May 2023\nAnn:\nI saw a heron at the pond.\nThe heron caught a fish.\n"
                         "Bob:\nHerons are patient.\n9 May 2023\nBob:\nThe heron came back.";
    ck_assert_msg(str_eq(asked.reply.context.text, str_of(wanted)), "%.*s",
                  STR_FMT(asked.reply.context.text));
    ck_assert_uint_eq(asked.reply.context.n_turn_ids, 4);
    ck_assert_uint_eq(asked.reply.context.n_fact_ids, 4);
    /* Exactly as long as it is, and one less: one turn goes. */
    uint32_t tokens = asked.reply.context.tokens;
    asked_end(&asked);
    query.max_tokens = tokens;
    asked = ask(&query);
    ck_assert_uint_eq(asked.reply.context.n_turn_ids, 4);
    asked_end(&asked);
    query.max_tokens = tokens - 1;
    asked = ask(&query);
    ck_assert_uint_eq(asked.reply.context.n_turn_ids, 3);
    asked_end(&asked);
}
END_TEST

START_TEST(late_turns_stand_where_they_were_said)
{
    (void)say_at("a", "Ann", "The second heron came at noon.", KIT_NOW);
    (void)say_at("a", "Bob", "The first heron came at dawn.", KIT_NOW - 30 * HOUR_MS);
    (void)say_at("b", "Ann", "The third heron came at dusk.", KIT_NOW + HOUR_MS);
    run_stages();
    (void)flush_now(NULL);
    struct recall_query query = query_with("heron", 500);
    struct asked asked = ask(&query);
    struct str text = asked.reply.context.text;
    const char *first = memmem(text.at, text.len, "first", 5),
               *second = memmem(text.at, text.len, "second", 6),
               *third = memmem(text.at, text.len, "third", 5);
    ck_assert(first != NULL && first < second && second < third);
    ck_assert_uint_eq(count_in(text, "7 May 2023\n"), 1);
    ck_assert_uint_eq(count_in(text, "8 May 2023\n"), 1);
    asked_end(&asked);
}
END_TEST

/* --- summaries --- */

/* No sentence of a summary line stands in a turn too. */
static void check_once(struct str text)
{
    struct str rest = text;
    while (rest.len != 0) {
        size_t end = str_index(rest, '\n');
        struct str line = str_part(rest, 0, end), sentence;
        rest = str_part(rest, end + 1, rest.len);
        if (!str_starts(line, STR("Summary: ")))
            continue;
        while (sentence_next(&line, &sentence)) {
            char part[512];
            size_t colon = str_index(sentence, ':');
            struct str said = colon < sentence.len
                                  ? str_trim(str_part(sentence, colon + 1, sentence.len))
                                  : sentence;
            said = str_part(said, 0, str_index(said, '('));
            (void)snprintf(part, sizeof part, "%.*s", STR_FMT(str_trim(said)));
            if (str_starts(sentence, STR("Summary: ")) || part[0] == '\0')
                continue;
            ck_assert_msg(count_in(text, part) == 1, "twice: %s\n%.*s", part, STR_FMT(text));
        }
    }
}

static void tell_different(uint32_t turns)
{
    for (uint32_t i = 0; i < turns; i++) {
        char line[256];
        if (i % 12 == 0)
            stage_kit.time_ms += 20 * HOUR_MS;
        (void)snprintf(line, sizeof line,
                       "My garden project number%u needs plank%u. The violin lesson%u was %s.", i,
                       i, i, i % 2 == 0 ? "fine" : "long and rather hard on my fingers");
        (void)say("a", i % 2 == 0 ? "Ann" : "Bob", line);
    }
    run_stages();
    (void)flush_now(NULL);
}

START_TEST(summaries_take_a_fifth_and_repeat_nothing)
{
    tell_different(240);
    uint32_t with = 0;
    for (uint32_t tokens = 200; tokens <= 4000; tokens += 100) {
        struct recall_query query = query_with("garden project violin", tokens);
        query.summaries = SUMMARIES_ON;
        struct asked asked = ask(&query);
        struct str text = asked.reply.context.text, rest = text;
        size_t chars = 0;
        while (rest.len != 0) {
            size_t end = str_index(rest, '\n');
            if (str_starts(rest, STR("Summary: ")))
                chars += count_chars(str_part(rest, 0, end));
            rest = str_part(rest, end + 1, rest.len);
        }
        ck_assert_uint_le(chars, 4 * (size_t)tokens / 5);
        ck_assert_uint_eq(asked.reply.context.n_episode_ids, count_in(text, "Summary: "));
        with += asked.reply.context.n_episode_ids;
        check_once(text);
        check_budget(&asked.reply.context, tokens);
        check_backed(&asked.reply.context);
        asked_end(&asked);
    }
    ck_assert_uint_gt(with, 30);
}
END_TEST

/* Who said it is named although the sentence that named him is left out; a sentence that was cut
 * stands already where the whole one does. */
START_TEST(what_is_left_of_a_summary_names_its_speaker)
{
    char text[2048];
    (void)say("a", "Bob", "Herons nest early.");
    (void)say(
        "a", "Ann",
        "The heron colony at the old quarry pond has eleven nests this year, which Marta from "
        "the reserve counted twice with her telescope, and the youngest chicks already try "
        "to stand on the highest branches of the poplar above the water in the evening.");
    (void)say("a", "Ann", "Marta counted the heron nests twice, the colony is growing.");
    run_stages();
    (void)flush_now(NULL);
    struct episode e = episode_now(1);
    for (uint32_t tokens = 20; tokens < 300; tokens++) {
        struct recall_query query = query_with("heron colony nests", tokens);
        query.summaries = SUMMARIES_ON;
        struct asked asked = ask(&query);
        struct str context = asked.reply.context.text;
        const char *line = memmem(context.at, context.len, "Summary: ", 9);
        if (line != NULL) {
            struct str rest = str_part(context, (size_t)(line - context.at), context.len);
            rest = str_part(rest, STR("Summary: ").len + e.title.len + 2, str_index(rest, '\n'));
            (void)snprintf(text, sizeof text, "%.*s", STR_FMT(rest));
            ck_assert_msg(strncmp(text, "Ann: ", 5) == 0 || strncmp(text, "Bob: ", 5) == 0, "%s",
                          text);
        }
        if (count_in(context, "of the poplar above the water in the evening") == 1)
            ck_assert_uint_eq(count_in(context, "has eleven nests"), 1);
        asked_end(&asked);
    }
}
END_TEST

START_TEST(summaries_follow_the_switch)
{
    static const struct {
        enum recall_summaries summaries;
        uint32_t tokens;
        bool there;
    } rows[] = {{SUMMARIES_AUTO, 1499, false},
                {SUMMARIES_AUTO, 1500, true},
                {SUMMARIES_ON, 600, true},
                {SUMMARIES_OFF, 3000, false}};
    tell_different(240);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct recall_query query = query_with("garden project violin", rows[i].tokens);
        query.summaries = rows[i].summaries;
        struct asked asked = ask(&query);
        ck_assert_msg((asked.reply.context.n_episode_ids != 0) == rows[i].there, "row %zu", i);
        asked_end(&asked);
    }
}
END_TEST

/* --- long turns --- */

/* Few sentences, each so long that every one of them becomes a fact. */
static struct str long_text(uint32_t sentences)
{
    struct buf text;
    buf_init(&text, kit_arena(&stage_kit.kit), 2 << 20);
    for (uint32_t i = 0; i < sentences; i++) {
        buf_printf(&text, "Chapter%u tells of a kingdom", i);
        for (uint32_t k = 0; k < 20; k++)
            buf_printf(&text, ", its dragon%u and river%u", 100 * i + k, 100 * i + k);
        buf_str_put(&text, STR(". "));
    }
    buf_str_put(&text, STR("The lighthouse keeper paints boats."));
    ck_assert(buf_ok(&text));
    buf_char(&text, '\0');
    return buf_str(&text);
}

START_TEST(a_long_turn_gives_its_best_facts)
{
    (void)say("a", "Ann", long_text(4).at); /* one document */
    (void)say("a", "Bob", "A lighthouse again.");
    run_stages();
    (void)flush_now(NULL);
    struct recall_query query = query_with("lighthouse keeper", 60);
    struct asked asked = ask(&query);
    ck_assert_uint_eq(count_in(asked.reply.context.text, "The lighthouse keeper paints boats."), 1);
    ck_assert_uint_eq(count_in(asked.reply.context.text, "Ann: "), 0);
    ck_assert_uint_eq(asked.reply.context.n_turn_ids, 1); /* Bob's; Ann's is not whole */
    check_backed(&asked.reply.context);
    check_budget(&asked.reply.context, 60);
    bool claimed = false;
    for (uint32_t i = 0; i < asked.reply.context.n_fact_ids; i++)
        claimed |= asked.reply.context.fact_ids[i] == fact_with("lighthouse keeper");
    ck_assert(claimed);
    asked_end(&asked);
}
END_TEST

START_TEST(a_turn_of_several_parts_is_claimed_when_all_are_there)
{
    uint32_t n = say("a", "Ann", long_text(12).at);
    run_stages();
    (void)flush_now(NULL);
    ck_assert_uint_eq(kit_turn(&stage_kit.kit, n).docs, 2);
    struct recall_query query = query_with("kingdom dragon lighthouse", 3000);
    query.summaries = SUMMARIES_OFF;
    struct asked asked = ask(&query);
    ck_assert_uint_eq(asked.reply.context.n_turn_ids, 1);
    ck_assert_uint_eq(count_in(asked.reply.context.text, "Chapter11 tells"), 1);
    ck_assert_uint_eq(count_in(asked.reply.context.text, "Chapter0 tells"), 1);
    asked_end(&asked);
    query.max_tokens = 1300; /* one part */
    asked = ask(&query);
    ck_assert_uint_eq(asked.reply.context.n_turn_ids, 0);
    ck_assert_uint_gt(asked.reply.context.text.len, 3000);
    check_budget(&asked.reply.context, 1300);
    asked_end(&asked);
}
END_TEST

/* An answer that carries its question stands below its speaker's line like all else. */
START_TEST(facts_in_the_context_do_not_name_their_speaker_twice)
{
    char text[4000];
    size_t len = (size_t)snprintf(text, sizeof text, "Seven years.");
    for (unsigned i = 0; i < 6; i++)
        len += (size_t)snprintf(text + len, sizeof text - len,
                                " Filler%u about the weather%u in the far valley%u between the "
                                "mountains%u and the plain%u where nobody%u lives.",
                                i, i, i, i, i, i);
    (void)say("a", "Bob", "How long have you kept bees in Bristol?");
    (void)say("a", "Ann", text);
    run_stages();
    (void)flush_now(NULL);
    uint32_t id = fact_with("asked");
    ck_assert_uint_ne(id, 0);
    struct recall_query query = query_with("How long did Ann keep bees in Bristol?", 50);
    struct asked asked = ask(&query);
    ck_assert_uint_eq(count_in(asked.reply.context.text, "Ann"), 1);
    ck_assert_uint_eq(count_in(asked.reply.context.text, "Seven years."), 1);
    check_budget(&asked.reply.context, 50);
    asked_end(&asked);
}
END_TEST

/* --- marks --- */

/* Each line of text ends in the id that is listed for it, in order; nothing else is added. */
static void check_marks(const struct recall_context *context)
{
    const char *at = context->text.at, *end = at + context->text.len;
    for (uint32_t i = 0; i < context->n_marks; i++) {
        const struct recall_mark *mark = &context->marks[i];
        struct str text = str_printf(kit_arena(&stage_kit.kit), " [%.*s]", STR_FMT(mark->id));
        at = memmem(at, (size_t)(end - at), text.at, text.len);
        ck_assert_ptr_nonnull(at);
        at += text.len;
        ck_assert(at == end || *at == '\n');
        const char *const prefixes[] = {
            [MARK_TURN] = "turn_", [MARK_FACT] = "fact_", [MARK_EPISODE] = "episode_"};
        ck_assert(str_starts(mark->id, str_of(prefixes[mark->kind])));
        for (uint32_t k = 0; k < i; k++)
            ck_assert(!str_eq(mark->id, context->marks[k].id));
    }
    ck_assert_uint_eq(count_in(context->text, " [turn_") + count_in(context->text, " [fact_") +
                          count_in(context->text, " [episode_"),
                      context->n_marks);
}

START_TEST(marks_name_every_unit_within_the_budget)
{
    tell_world(3, 120, true);
    struct recall_query query = query_with("garden violin engine letter", 0);
    query.summaries = SUMMARIES_ON;
    uint32_t most = 0, kinds = 0;
    for (uint32_t tokens = 0; tokens <= 2000; tokens += 7) {
        query.max_tokens = tokens;
        query.marks = true;
        struct asked asked = ask(&query);
        const struct recall_context *context = &asked.reply.context;
        check_budget(context, tokens);
        check_backed(context);
        check_marks(context);
        most = context->n_marks > most ? context->n_marks : most;
        for (uint32_t i = 0; i < context->n_marks; i++)
            kinds |= 1u << context->marks[i].kind;
        asked_end(&asked);
    }
    ck_assert_uint_gt(most, 20);
    ck_assert_uint_eq(kinds & (1u << MARK_TURN | 1u << MARK_EPISODE),
                      1u << MARK_TURN | 1u << MARK_EPISODE);
    query.marks = false;
    struct asked asked = ask(&query);
    ck_assert_ptr_null(asked.reply.context.marks);
    ck_assert_uint_eq(count_in(asked.reply.context.text, "["), 0);
    asked_end(&asked);
}
END_TEST

START_TEST(parts_of_a_turn_and_its_facts_are_marked)
{
    struct buf text;
    buf_init(&text, kit_arena(&stage_kit.kit), 1 << 20);
    for (int i = 0; i < 300; i++)
        buf_printf(&text, "My violin number %d hangs in room %d. ", i, i + 7);
    buf_char(&text, '\0');
    ck_assert(buf_ok(&text));
    uint32_t n = say("s", "Ann", text.at);
    run_stages();
    (void)flush_now(NULL);
    struct recall_query query = query_with("violin", 8000);
    query.marks = true;
    query.summaries = SUMMARIES_OFF;
    struct asked asked = ask(&query);
    /* Each part ends in the turn's id, which is listed once. */
    ck_assert_uint_gt(count_in(asked.reply.context.text, " [turn_"), 1);
    ck_assert_uint_eq(asked.reply.context.n_marks, 1);
    ck_assert_uint_eq(number_of(asked.reply.context.marks[0].id), n);
    asked_end(&asked);
    query.max_tokens = 150;
    asked = ask(&query);
    ck_assert_uint_gt(asked.reply.context.n_marks, 0);
    ck_assert_int_eq(asked.reply.context.marks[0].kind, MARK_FACT);
    check_marks(&asked.reply.context);
    check_budget(&asked.reply.context, 150);
    asked_end(&asked);
}
END_TEST

Suite *suite_recall_context(void);
Suite *suite_recall_context(void)
{
    Suite *suite = suite_create("recall_context");
    TCase *tc = tcase_create("context");
    tcase_add_checked_fixture(tc, stage_kit_setup, stage_kit_teardown);
    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, no_budget_is_passed, SUMMARIES_AUTO, SUMMARIES_OFF + 1);
    tcase_add_test(tc, no_budget_is_passed_in_chinese);
    tcase_add_test(tc, form);
    tcase_add_test(tc, late_turns_stand_where_they_were_said);
    tcase_add_test(tc, summaries_take_a_fifth_and_repeat_nothing);
    tcase_add_test(tc, what_is_left_of_a_summary_names_its_speaker);
    tcase_add_test(tc, summaries_follow_the_switch);
    tcase_add_test(tc, a_long_turn_gives_its_best_facts);
    tcase_add_test(tc, a_turn_of_several_parts_is_claimed_when_all_are_there);
    tcase_add_test(tc, facts_in_the_context_do_not_name_their_speaker_twice);
    tcase_add_test(tc, marks_name_every_unit_within_the_budget);
    tcase_add_test(tc, parts_of_a_turn_and_its_facts_are_marked);
    suite_add_tcase(suite, tc);
    return suite;
}
