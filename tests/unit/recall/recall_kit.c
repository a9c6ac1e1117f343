#include "tests/unit/recall/recall_kit.h"

#include <stdio.h>

#include "core/base/limits.h"
#include "core/ingest/remove.h"

struct recall_query query_of(const char *q)
{
    struct recall_query query = recall_defaults();
    query.q = str_of(q);
    query.now_ms = KIT_NOW;
    return query;
}

static enum err_code run(const struct recall_query *query, struct asked *asked, struct err *err)
{
    struct recall_base base = {.txn = asked->txn,
                               .space = stage_kit.kit.space,
                               .settings = &asked->settings,
                               .clock = &stage_kit.clock};
    return recall_run(&base, query, asked->arena, &asked->reply, err);
}

static struct asked open_asked(void)
{
    struct asked asked = {.txn = begin(&stage_kit.kit.f), .arena = arena_new(ARENA_REQUEST_BYTES)};
    struct err err;
    ck_assert_int_eq(space_get(asked.txn, stage_kit.kit.space, &asked.settings, &err), ERR_OK);
    return asked;
}

struct asked ask(const struct recall_query *query)
{
    struct asked asked = open_asked();
    struct err err = {.code = ERR_OK};
    ck_assert_msg(run(query, &asked, &err) == ERR_OK, "%s", err.message);
    return asked;
}

void asked_end(struct asked *asked)
{
    store_end(asked->txn);
    arena_check(asked->arena);
    arena_free(asked->arena);
}

enum err_code ask_failing(const struct recall_query *query, unsigned long nth)
{
    struct asked asked = open_asked();
    struct err err = {.code = ERR_OK};
    arena_fail_after(asked.arena, nth);
    enum err_code rc = run(query, &asked, &err);
    ck_assert_int_eq(rc, err.code);
    asked_end(&asked);
    return rc;
}

/* --- replies as text --- */

static void put_ids(struct buf *out, const struct str *ids, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        buf_printf(out, " %.*s", STR_FMT(ids[i]));
    buf_char(out, '\n');
}

static void put_numbers(struct buf *out, const uint32_t *ids, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        buf_printf(out, " %u", ids[i]);
    buf_char(out, '\n');
}

static void put_lists(struct buf *out, const struct recall_reply *r)
{
    for (uint32_t i = 0; i < r->n_topics; i++) {
        buf_printf(out, "topic %u %.6f", r->topics[i].topic.id, (double)r->topics[i].score);
        put_numbers(out, r->topics[i].episodes, r->topics[i].n_episodes);
    }
    for (uint32_t i = 0; i < r->n_episodes; i++) {
        buf_printf(out, "episode %u %.6f", r->episodes[i].episode.id, (double)r->episodes[i].score);
        put_ids(out, r->episodes[i].turn_ids, r->episodes[i].n_turn_ids);
    }
    for (uint32_t i = 0; i < r->n_facts; i++) {
        buf_printf(out, "fact %u %.6f", r->facts[i].fact.id, (double)r->facts[i].score);
        put_ids(out, r->facts[i].turn_ids, r->facts[i].fact.n_sources);
    }
    for (uint32_t i = 0; i < r->n_recent; i++)
        buf_printf(out, "recent %.*s %.6f %.*s\n", STR_FMT(r->recent[i].id),
                   (double)r->recent[i].score, STR_FMT(r->recent[i].text));
}

struct str text_of_reply(const struct recall_reply *r)
{
    struct buf out;
    buf_init(&out, kit_arena(&stage_kit.kit), 16 << 20);
    put_lists(&out, r);
    buf_printf(&out, "context %u", r->context.tokens);
    put_ids(&out, r->context.turn_ids, r->context.n_turn_ids);
    put_numbers(&out, r->context.fact_ids, r->context.n_fact_ids);
    put_numbers(&out, r->context.episode_ids, r->context.n_episode_ids);
    buf_str_put(&out, r->context.text);
    ck_assert(buf_ok(&out));
    return buf_str(&out);
}

struct str ask_text(const struct recall_query *query)
{
    struct asked asked = ask(query);
    struct str text = text_of_reply(&asked.reply);
    asked_end(&asked);
    return text;
}

const struct recall_fact *reply_fact(const struct recall_reply *reply, uint32_t id)
{
    for (uint32_t i = 0; i < reply->n_facts; i++)
        if (reply->facts[i].fact.id == id)
            return &reply->facts[i];
    return NULL;
}

const struct recall_candidate *explained(const struct recall_reply *reply, enum recall_stage stage,
                                         uint32_t id)
{
    for (uint32_t i = 0; i < reply->explain->n[stage]; i++)
        if (reply->explain->stage[stage][i].id == id)
            return &reply->explain->stage[stage][i];
    return NULL;
}

size_t count_chars(struct str text)
{
    size_t n = 0;
    for (size_t i = 0; i < text.len; i++)
        n += ((unsigned char)text.at[i] & 0xc0) != 0x80;
    return n;
}

uint32_t count_in(struct str text, const char *part)
{
    uint32_t n = 0;
    size_t len = strlen(part);
    const char *at = text.at;
    while ((at = memmem(at, text.len - (size_t)(at - text.at), part, len)) != NULL) {
        n++;
        at += len;
    }
    return n;
}

uint32_t speaker_ordinal(const char *name)
{
    struct store_txn *txn = begin(&stage_kit.kit.f);
    struct str value;
    struct err err;
    ck_assert_int_eq(store_get(txn, stage_kit.kit.space, KIND_SPEAKER, str_of(name), &value, &err),
                     ERR_OK);
    uint32_t ordinal = value.at == NULL ? 0 : le32_get(value.at);
    store_end(txn);
    return ordinal;
}

void delete_node(enum store_kind kind, uint32_t id)
{
    struct remove_counts counts;
    struct batch *batch = NULL;
    struct err err = {.code = ERR_OK};
    struct store_txn *txn = begin(&stage_kit.kit.f);
    enum err_code rc = remove_build(txn, stage_kit.kit.space, kind, id, kit_arena(&stage_kit.kit),
                                    &batch, &counts, &err);
    store_end(txn);
    ck_assert_msg(rc == ERR_OK, "%s", err.message);
    ck_assert_msg(apply_err(&stage_kit.kit.f, batch, &err) == ERR_OK, "%s", err.message);
}

/* --- a world --- */

static uint32_t draw(unsigned *seed, uint32_t below)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 8) % below;
}

static const char *line_of(unsigned *seed, char room[256])
{
    static const char *const words[] = {"garden", "violin",   "harbour",  "lantern", "bread",
                                        "engine", "winter",   "painting", "river",   "ticket",
                                        "doctor", "mountain", "letter",   "kitchen", "bridge"};
    static const char *const whens[] = {"yesterday", "last week", "on 3 May 2023", "two days ago",
                                        "in April 2023"};
    enum { WORDS = sizeof words / sizeof words[0] };
    const char *a = words[draw(seed, WORDS)], *b = words[draw(seed, WORDS)],
               *c = words[draw(seed, WORDS)];
    switch (draw(seed, 8)) {
    case 0: (void)snprintf(room, 256, "Did you see the %s near the %s?", a, b); break;
    case 1:
        (void)snprintf(room, 256, "I fixed the %s and the %s %s.", a, b, whens[draw(seed, 5)]);
        break;
    case 2: return "I like it when it rains.";
    case 3: (void)snprintf(room, 256, "Yes, the %s.", a); break;
    case 4: return "Haha, thanks!";
    case 5:
        (void)snprintf(room, 256, "The %s %s broke. We need a new %s before the %s opens.", a, a, b,
                       c);
        break;
    case 6:
        (void)snprintf(room, 256, "My %s is old. The %s costs $%u. Is the %s yours?", a, b,
                       20 + draw(seed, 60), c);
        break;
    default: (void)snprintf(room, 256, "Nora told me about a %s with a %s.", a, b); break;
    }
    return room;
}

void tell_world(unsigned seed, uint32_t turns, bool flush)
{
    static const char *const sessions[] = {"s1", "s2", "s3"};
    static const char *const people[] = {"Ann", "Bob", "Chris"};
    for (uint32_t i = 0; i < turns; i++) {
        char room[256];
        if (draw(&seed, 14) == 0)
            stage_kit.time_ms += (int64_t)(7 + draw(&seed, 60)) * HOUR_MS;
        uint32_t who = draw(&seed, 3);
        (void)say(sessions[draw(&seed, 3)], people[who], line_of(&seed, room));
    }
    run_stages();
    if (flush)
        (void)flush_now(NULL);
}
