#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>

#include "core/model/ask_facts_int.h"
#include "core/model/prompts/facts.h"
#include "core/text/utf8.h"

#define PAUSE_MS INT64_C(3600000)

/* A reply that goes on and on is not read to its end. */
enum { ITEMS_READ = 4 * ASK_FACTS_MAX };

/* --- the question --- */

static bool write_ask(void *arg, unsigned halvings, struct buf *out)
{
    struct ask_facts *ask = arg;
    struct ask_key key = ask__key(ask->seed);
    if (!ask__fit(&ask->dialogue, ASK_KEEP_FIRST, halvings))
        return false;
    ask->sent_known = ask->n_known >> halvings;
    ask__open(out, &key);
    buf_str_put(out, STR("Topic: "));
    ask__put(out, ask->topic_title, &key, ASK_ONE_LINE);
    buf_str_put(out, STR(". "));
    ask__put(out, ask->topic_summary, &key, ASK_ONE_LINE);
    if (ask->sent_known != 0)
        buf_str_put(out, STR("\nKnown facts:"));
    for (uint32_t i = 0; i < ask->sent_known; i++) {
        const struct ask_known *known = &ask->known[i];
        buf_printf(out, "\n%" PRIu32 " (", known->number);
        ask__put_date(out, known->valid_from, known->offset_min);
        buf_str_put(out, STR(") "));
        ask__put(out, ask__clip(known->content, ASK_CONTENT_BYTES), &key, ASK_ONE_LINE);
    }
    buf_str_put(out, STR("\nDialogue:\n"));
    ask__put_dialogue(out, &ask->dialogue, PAUSE_MS, &key);
    ask__close(out, &key);
    return true;
}

/* --- one fact --- */

struct facts_reader {
    struct ask_reader r;
    struct ask_facts *ask;
    struct ask_support support;
    struct str *normal; /* of each fact's content */
};

static int by_number(const void *left, const void *right)
{
    const uint32_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

static void add_turn(struct ask_fact *fact, uint32_t number)
{
    for (uint32_t i = 0; i < fact->n_turns; i++) {
        if (fact->turns[i] == number)
            return;
    }
    fact->turns[fact->n_turns++] = number;
}

/* fact->turns has room for all turns of the dialogue. */
static void read_turns(const struct ask_dialogue *d, const json_t *value, struct ask_fact *fact)
{
    size_t n = json_is_array(value) ? json_array_size(value) : 1;
    for (size_t i = 0; i < n; i++) {
        uint32_t number;
        const json_t *item = json_is_array(value) ? json_array_get(value, i) : value;
        if (ask__whole(item, &number) && ask__has_turn(d, number))
            add_turn(fact, number);
    }
    qsort(fact->turns, fact->n_turns, sizeof *fact->turns, by_number);
}

static uint32_t known_of(const struct ask_facts *ask, const json_t *value)
{
    uint32_t number;
    for (uint32_t i = 0; ask__whole(value, &number) && i < ask->sent_known; i++) {
        if (ask->known[i].number == number)
            return number;
    }
    return 0;
}

static const struct ask_turn *turn_of(const struct ask_dialogue *d, uint32_t number)
{
    uint32_t i = 0;
    while (d->turns[i].number != number)
        i++;
    return &d->turns[i];
}

static enum err_code read_texts(const struct ask_reader *r, const json_t *item,
                                struct ask_fact *fact)
{
    fact->content = ask__line(r, ask__member(item, "content"), ASK_CONTENT_BYTES);
    fact->potential =
        ask__lines(r, ask__member(item, "potential"), ASK_POTENTIAL_MAX, ASK_POTENTIAL_BYTES);
    fact->keywords =
        ask__lines(r, ask__member(item, "keywords"), ASK_FACT_KEYWORDS, ASK_FACT_KEYWORD_BYTES);
    fact->time_text = ask__line(r, ask__member(item, "when"), ASK_TIME_BYTES);
    return fact->content.at != NULL && fact->potential.at != NULL && fact->keywords.at != NULL &&
                   fact->time_text.at != NULL
               ? ERR_OK
               : ask__memory(r->err);
}

static enum err_code read_time(const struct ask_reader *r, const json_t *item,
                               const struct ask_turn *turn, struct ask_fact *fact)
{
    struct str from = ask__line(r, ask__member(item, "from"), ASK_TIME_BYTES);
    struct str to = ask__line(r, ask__member(item, "to"), ASK_TIME_BYTES);
    if (from.at == NULL || to.at == NULL)
        return ask__memory(r->err);
    ask__fact_time(fact, from, to, turn);
    return ERR_OK;
}

/* *yes false: it has nothing to rest on. */
static enum err_code read_fact(struct facts_reader *f, const json_t *item, struct ask_fact *fact,
                               bool *yes)
{
    struct ask_dialogue *d = &f->ask->dialogue;
    *fact = (struct ask_fact){.turns = ARENA_ARRAY(f->r.arena, uint32_t, d->n)};
    *yes = false;
    if (fact->turns == NULL)
        return ask__memory(f->r.err);
    enum err_code code = read_texts(&f->r, item, fact);
    if (code != ERR_OK)
        return code;
    read_turns(d, ask__member(item, "turns"), fact);
    if (fact->n_turns == 0 || utf8_is_blank(fact->content))
        return ERR_OK;
    code = ask__is_supported(&f->support, fact, yes);
    if (code != ERR_OK || !*yes)
        return code;
    fact->weight = ask__weight(ask__member(item, "weight"));
    fact->role = ask__role(ask__member(item, "role"), ROLE_CORE, ROLE_CAUSAL, ROLE_DETAIL);
    fact->same_as = known_of(f->ask, ask__member(item, "same_as"));
    if (fact->same_as == 0)
        fact->supersedes = known_of(f->ask, ask__member(item, "supersedes"));
    return read_time(&f->r, item, turn_of(d, fact->turns[0]), fact);
}

/* --- the whole --- */

static void merge(struct ask_fact *into, const struct ask_fact *fact)
{
    for (uint32_t i = 0; i < fact->n_turns; i++)
        add_turn(into, fact->turns[i]);
    qsort(into->turns, into->n_turns, sizeof *into->turns, by_number);
    if (fact->weight > into->weight)
        into->weight = fact->weight;
}

static enum err_code keep(struct facts_reader *f, const struct ask_fact *fact)
{
    struct ask_facts *ask = f->ask;
    struct str normal = utf8_normal(f->r.arena, fact->content);
    if (normal.at == NULL)
        return ask__memory(f->r.err);
    for (uint32_t i = 0; i < ask->n_facts; i++) {
        if (str_eq(f->normal[i], normal)) {
            merge(&ask->facts[i], fact);
            return ERR_OK;
        }
    }
    if (ask->n_facts == ASK_FACTS_MAX) {
        ask->surplus++;
        return ERR_OK;
    }
    f->normal[ask->n_facts] = normal;
    ask->facts[ask->n_facts++] = *fact;
    return ERR_OK;
}

static enum err_code read_facts(struct facts_reader *f, const struct ask_items *items)
{
    f->ask->surplus = items->n > ITEMS_READ ? (uint32_t)(items->n - ITEMS_READ) : 0;
    for (size_t i = 0; i < items->n && i < ITEMS_READ; i++) {
        struct ask_fact fact;
        bool yes;
        enum err_code code = read_fact(f, ask__item(items, i), &fact, &yes);
        if (code == ERR_OK && yes)
            code = keep(f, &fact);
        else if (code == ERR_OK)
            f->ask->unsupported++;
        if (code != ERR_OK)
            return code;
    }
    return ERR_OK;
}

static enum err_code read_reply(void *arg, const json_t *reply, struct buf *wrong, struct err *err)
{
    struct ask_facts *ask = arg;
    struct facts_reader f = {.r = {ask->arena, ask__key(ask->seed), wrong, err}, .ask = ask};
    struct ask_items items;
    ask->n_facts = ask->unsupported = ask->surplus = 0;
    if (!ask__items(reply, "facts", &items))
        return ask__wrong(&f.r, "The reply must be an object with the array facts.");
    ask->facts = ARENA_ARRAY(ask->arena, struct ask_fact, ASK_FACTS_MAX);
    f.normal = ARENA_ARRAY(ask->arena, struct str, ASK_FACTS_MAX);
    if (ask->facts == NULL || f.normal == NULL)
        return ask__memory(err);
    enum err_code code = ask__support_of(&f.r, ask, &f.support);
    if (code == ERR_OK)
        code = read_facts(&f, &items);
    if (code == ERR_OK && ask->n_facts == 0 && items.n != 0)
        return ask__wrong(&f.r, "Each fact must give in turns the numbers of the turns that it "
                                "rests on, and tell in content what they say, in their words and "
                                "their language.");
    return code;
}

void ask_facts(struct model_call *call, struct ask_facts *ask)
{
    ASSERT(call->purpose == PURPOSE_FACTS && ask->dialogue.n >= 1);
    ASSERT(ask->n_known <= ASK_KNOWN_MAX && ask->tokenizer != NULL);
    ask->arena = call->arena;
    call->chat = (struct chat_ask){
        .prompt = &prompt_facts, .write = write_ask, .read = read_reply, .arg = ask};
}
