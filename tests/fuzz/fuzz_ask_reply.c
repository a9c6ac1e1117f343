/* The first byte chooses the question, the rest is the model's reply; for the last choice it is
 * what somebody said, and the message is looked at. */
#include <jansson.h>

#include "core/model/ask_answer.h"
#include "core/model/ask_boundary.h"
#include "core/model/ask_describe.h"
#include "core/model/ask_facts.h"
#include "core/model/ask_topic.h"
#include "core/text/utf8.h"

/* That of seed 7, see tests/unit/model/test_ask_dialogue.c. */
#define KEY "d6b596af"

enum { TURNS = 3, FIRST = 11 };

struct fuzz {
    struct model_call call;
    struct ask_turn turns[TURNS];
    struct ask_known known[2];
    struct ask_candidate candidates[2];
};

static void fill(struct fuzz *f, struct arena *arena)
{
    static const char *const texts[TURNS] = {"I moved to Bergen last Friday, with 14 boxes.",
                                             "我昨天去了北京。", "Yes \xf0\x9f\x91\x8d d6b596af"};
    *f = (struct fuzz){.call = {.arena = arena}};
    for (uint32_t i = 0; i < TURNS; i++)
        f->turns[i] = (struct ask_turn){.number = FIRST + i,
                                        .speaker = STR("Ann"),
                                        .role = STR("user"),
                                        .text = str_of(texts[i]),
                                        .time_ms = INT64_C(1683546960000) + i * 60000};
    for (uint32_t i = 0; i < 2; i++) {
        f->known[i] = (struct ask_known){.number = i + 1, .content = STR("Ann lives in Oslo.")};
        f->candidates[i] = (struct ask_candidate){.number = i + 4,
                                                  .title = STR("Oslo"),
                                                  .summary = STR("Ann in Oslo"),
                                                  .keywords = STR("a\nb")};
    }
}

static bool is_turn(uint32_t number)
{
    return number >= FIRST && number < FIRST + TURNS;
}

static void check_line(struct str line, size_t max)
{
    ASSERT(line.at != NULL && line.len <= max && utf8_is_valid(line) && !utf8_has_control(line));
    ASSERT(memmem(line.at, line.len, KEY, sizeof KEY - 1) == NULL);
}

static void check_lines(struct str lines, uint32_t cap, size_t max)
{
    uint32_t n = 0;
    for (size_t at = 0; at < lines.len; n++) {
        struct str rest = str_part(lines, at, lines.len);
        size_t end = str_index(rest, '\n');
        ASSERT(end != 0);
        check_line(str_part(rest, 0, end), max);
        at += end + 1;
    }
    ASSERT(lines.at != NULL && n <= cap);
}

static bool ask(struct fuzz *f, const json_t *reply)
{
    const struct chat_ask *chat = &f->call.chat;
    struct buf out, wrong;
    struct err err;
    buf_init(&out, f->call.arena, 1 << 20);
    buf_init(&wrong, f->call.arena, 1 << 16);
    ASSERT(chat->write(chat->arg, 0, &out) && buf_ok(&out));
    enum err_code code = chat->read(chat->arg, reply, &wrong, &err);
    ASSERT(code == ERR_OK || code == ERR_UNPROCESSABLE || code == ERR_EXHAUSTED);
    ASSERT((code == ERR_UNPROCESSABLE) == (wrong.len != 0));
    return code == ERR_OK;
}

static void fuzz_boundary(struct fuzz *f, const json_t *reply)
{
    struct ask_boundary b = {.dialogue = {.turns = f->turns, .n = TURNS}, .seed = 7};
    f->call.purpose = PURPOSE_BOUNDARY;
    ask_boundary(&f->call, &b);
    if (!ask(f, reply))
        return;
    ASSERT(b.n_ends <= 2 && !(b.should_end && b.should_wait));
    for (uint32_t i = 0; i < b.n_ends; i++)
        ASSERT(is_turn(b.ends[i]) && (i == 0 || b.ends[i] > b.ends[i - 1]));
}

static void fuzz_describe(struct fuzz *f, const json_t *reply)
{
    struct ask_describe d = {.dialogue = {.turns = f->turns, .n = TURNS}, .seed = 7};
    f->call.purpose = PURPOSE_DESCRIBE;
    ask_describe(&f->call, &d);
    if (!ask(f, reply))
        return;
    check_line(d.title, ASK_TITLE_BYTES);
    check_line(d.summary, ASK_SUMMARY_BYTES);
    ASSERT(!utf8_is_blank(d.title) && !utf8_is_blank(d.summary));
}

static void fuzz_topic(struct fuzz *f, const json_t *reply)
{
    struct ask_topic t = {.title = STR("Oslo"),
                          .summary = STR("我昨天去了 Bergen."),
                          .keywords = STR("x"),
                          .candidates = f->candidates,
                          .n_candidates = 2,
                          .seed = 7};
    f->call.purpose = PURPOSE_TOPIC;
    ask_topic(&f->call, &t);
    if (!ask(f, reply))
        return;
    ASSERT(t.n_topics >= 1 && t.n_topics <= LIMIT_TOPICS_PER_EPISODE);
    for (uint32_t i = 0; i < t.n_topics; i++) {
        const struct ask_topic_text *topic = &t.topics[i];
        check_line(topic->title, ASK_TOPIC_TITLE_BYTES);
        check_line(topic->summary, ASK_TOPIC_SUMMARY_BYTES);
        check_lines(topic->keywords, ASK_TOPIC_KEYWORDS, ASK_KEYWORD_BYTES);
        ASSERT(topic->weight >= 0 && topic->weight <= 1 && topic->role <= ROLE_TRANSITION);
        ASSERT(topic->number == 4 || topic->number == 5 || (topic->number == 0 && t.n_topics == 1));
    }
}

static void check_fact(const struct ask_fact *fact)
{
    check_line(fact->content, ASK_CONTENT_BYTES);
    check_line(fact->time_text, ASK_TIME_BYTES);
    check_lines(fact->potential, ASK_POTENTIAL_MAX, ASK_POTENTIAL_BYTES);
    check_lines(fact->keywords, ASK_FACT_KEYWORDS, ASK_FACT_KEYWORD_BYTES);
    ASSERT(fact->n_turns >= 1 && fact->n_turns <= TURNS);
    for (uint32_t i = 0; i < fact->n_turns; i++)
        ASSERT(is_turn(fact->turns[i]) && (i == 0 || fact->turns[i] > fact->turns[i - 1]));
    ASSERT(!fact->has_time || (civil_is_valid(fact->from) && civil_is_valid(fact->to) &&
                               civil_to_days(fact->from) <= civil_to_days(fact->to)));
    ASSERT(fact->weight >= 0 && fact->weight <= 1);
    ASSERT(fact->role >= ROLE_CORE && fact->role <= ROLE_CAUSAL);
    ASSERT(fact->same_as <= 2 && fact->supersedes <= 2);
    ASSERT(fact->same_as == 0 || fact->supersedes == 0);
}

static void fuzz_facts(struct fuzz *f, const json_t *reply)
{
    struct tokenizer *tokenizer = NULL;
    struct err err;
    if (tokenizer_new(STR("en"), &tokenizer, &err) != ERR_OK)
        return;
    struct ask_facts facts = {.dialogue = {.turns = f->turns, .n = TURNS},
                              .topic_title = STR("Oslo"),
                              .topic_summary = STR("x"),
                              .known = f->known,
                              .n_known = 2,
                              .tokenizer = tokenizer,
                              .seed = 7};
    f->call.purpose = PURPOSE_FACTS;
    ask_facts(&f->call, &facts);
    if (ask(f, reply)) {
        ASSERT(facts.n_facts <= ASK_FACTS_MAX);
        for (uint32_t i = 0; i < facts.n_facts; i++)
            check_fact(&facts.facts[i]);
    }
    tokenizer_free(tokenizer);
}

static void fuzz_citations(struct fuzz *f, struct str text)
{
    const struct str ids[] = {STR("fact_1"), STR("a, b"), STR("a"), STR("x]")};
    struct ask_citations got;
    struct err err;
    if (ask_answer_citations(f->call.arena, text, ids, 4, &got, &err) != ERR_OK)
        return;
    for (uint32_t i = 0; i < got.n; i++) {
        ASSERT(got.at[i] < 4);
        ASSERT(memmem(text.at, text.len, ids[got.at[i]].at, ids[got.at[i]].len) != NULL);
    }
}

static uint32_t count_key(struct str text)
{
    uint32_t n = 0;
    for (size_t i = 0; i + sizeof KEY - 1 <= text.len; i++)
        n += memcmp(text.at + i, KEY, sizeof KEY - 1) == 0;
    return n;
}

/* However it is cut: one line a turn that begins without a blank, and the key at the ends only. */
static void fuzz_message(struct fuzz *f, struct str said)
{
    f->turns[1].text = said;
    f->call.purpose = PURPOSE_DESCRIBE;
    for (unsigned halvings = 0; halvings <= MODEL_HALVINGS; halvings++) {
        struct ask_describe d = {.dialogue = {.turns = f->turns, .n = TURNS}, .seed = 7};
        struct buf out;
        buf_init(&out, f->call.arena, 1 << 20);
        ask_describe(&f->call, &d);
        if (!f->call.chat.write(&d, halvings, &out))
            return;
        struct str text = buf_str(&out);
        uint32_t ours = 0;
        for (size_t i = 0; i + 1 < text.len; i++)
            ours += text.at[i] == '\n' && text.at[i + 1] != ' ';
        uint32_t sent = d.dialogue.sent.head + d.dialogue.sent.tail;
        ASSERT(buf_ok(&out) && count_key(text) == 2);
        ASSERT(ours == sent + 2 + (sent < TURNS)); /* time, end, what was left out */
        ASSERT(utf8_is_valid(text) && memchr(text.at, '\0', text.len) == NULL);
    }
}

typedef void fuzz_fn(struct fuzz *f, const json_t *reply);
static fuzz_fn *const asks[] = {fuzz_boundary, fuzz_describe, fuzz_topic, fuzz_facts};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz f;
    if (size == 0)
        return 0;
    struct str text = {(const char *)data + 1, size - 1};
    unsigned choice = data[0] % 6;
    struct arena *arena = arena_new(64 << 20);
    ASSERT(arena != NULL);
    fill(&f, arena);
    if (choice == 5 && utf8_is_valid(text)) {
        fuzz_message(&f, text);
    } else if (choice == 4) {
        fuzz_citations(&f, text);
    } else if (choice < 4) {
        json_t *reply = json_loadb(text.at, text.len, JSON_ALLOW_NUL | JSON_DECODE_ANY, NULL);
        if (reply != NULL)
            asks[choice](&f, reply);
        json_decref(reply);
    }
    arena_free(arena);
    return 0;
}
