#include <stdlib.h>

#include "core/base/hash.h"
#include "core/base/limits.h"
#include "core/ingest/describe_light.h"
#include "core/ingest/facts_int.h"
#include "core/ingest/index_text.h"
#include "core/text/utf8.h"

enum {
    TEXT_MAX = 64 * 1024,
    TERM_BYTES_COUNTED = 8, /* a term states at most so much */
    KEYWORDS = 6,
    KEYWORD_CANDIDATES = 64,
    NAME_PREFIX_BYTES = 64,
};

/* --- weight --- */

static bool is_name(const struct dialogue *d, uint64_t term)
{
    for (uint32_t i = 0; i < d->n_names; i++) {
        if (d->names[i] == term)
            return true;
    }
    return false;
}

static uint32_t stated_by(const struct dialogue *d, const struct term_bag *bag)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < bag->n; i++) {
        size_t bytes = bag->at[i].text.at == NULL ? TERM_BYTES_COUNTED : bag->at[i].text.len;
        if (!is_name(d, bag->at[i].term))
            sum += (uint32_t)(bytes < TERM_BYTES_COUNTED ? bytes : TERM_BYTES_COUNTED);
    }
    return sum;
}

/* Flags of all words of the sentence that are no stop words, or'ed. */
static unsigned flags_of(const struct said *said, const struct said_sentence *s)
{
    const struct token *tokens = said_tokens(said, s);
    unsigned flags = 0;
    for (uint32_t i = 0; i < s->n_tokens; i++) {
        if ((tokens[i].flags & TOKEN_STOP) == 0)
            flags |= tokens[i].flags;
    }
    return flags;
}

enum err_code facts__draft(struct facts_work *f, struct fact_draft *draft, struct err *err)
{
    const struct said_sentence *s = draft->sentence;
    enum err_code rc = index_fact(&f->w->reader, draft->said, s, draft->question, &draft->bag, err);
    if (rc != ERR_OK)
        return rc;
    draft->stated = stated_by(f->d, &draft->bag);
    double weight = draft->stated / (draft->stated + FACT_WEIGHT_HALF);
    unsigned flags = flags_of(draft->said, s);
    if (s->n_mentions != 0)
        weight += 0.1;
    if ((flags & TOKEN_NUMBER) != 0)
        weight += 0.05;
    if ((flags & TOKEN_CAPITAL) != 0)
        weight += 0.1;
    if (s->question)
        weight *= 0.5;
    draft->weight = weight > 1 ? 1 : weight;
    return ERR_OK;
}

/* --- content --- */

static struct str content_of(struct arena *arena, const struct fact_draft *draft)
{
    struct buf out;
    buf_init(&out, arena, TEXT_MAX);
    buf_str_put(&out, turn_speaker(&draft->said->turn));
    if (draft->question.len != 0) {
        buf_str_put(&out, STR(" (asked “"));
        buf_str_put(&out, draft->question);
        buf_str_put(&out, STR("”)"));
    }
    buf_str_put(&out, STR(": "));
    said_resolve(draft->said, draft->sentence, &out);
    return buf_ok(&out) ? buf_str(&out) : STR_NONE;
}

struct keyword {
    const struct token *token;
    uint32_t score;
};

static int by_score(const void *left, const void *right)
{
    const struct keyword *a = left, *b = right;
    if (a->score != b->score)
        return a->score > b->score ? -1 : 1;
    return (a->token > b->token) - (a->token < b->token);
}

static int by_place(const void *left, const void *right)
{
    const struct keyword *a = left, *b = right;
    return (a->token > b->token) - (a->token < b->token);
}

static bool has_term(const struct keyword *words, uint32_t n, uint64_t term)
{
    for (uint32_t i = 0; i < n; i++) {
        if (words[i].token->term == term)
            return true;
    }
    return false;
}

/* Names and numbers first, then long words. */
static uint32_t score_of(const struct token *token)
{
    size_t bytes = token->text.len < TERM_BYTES_COUNTED ? token->text.len : TERM_BYTES_COUNTED;
    uint32_t score = (uint32_t)bytes;
    if ((token->flags & TOKEN_CAPITAL) != 0)
        score += 6;
    if ((token->flags & TOKEN_NUMBER) != 0)
        score += 4;
    return score;
}

static struct str keywords_of(struct arena *arena, const struct dialogue *d,
                              const struct fact_draft *draft)
{
    struct keyword words[KEYWORD_CANDIDATES] = {0};
    uint32_t n = 0;
    const struct said_sentence *s = draft->sentence;
    const struct token *tokens = said_tokens(draft->said, s);
    for (uint32_t i = 0; i < s->n_tokens && n < KEYWORD_CANDIDATES; i++) {
        const struct token *t = &tokens[i];
        if ((t->flags & (TOKEN_STOP | TOKEN_PART)) == 0 && !is_name(d, t->term) &&
            !light_word_is(t->text) && !has_term(words, n, t->term))
            words[n++] = (struct keyword){t, score_of(t)};
    }
    qsort(words, n, sizeof words[0], by_score);
    if (n > KEYWORDS)
        n = KEYWORDS;
    qsort(words, n, sizeof words[0], by_place);
    struct buf out;
    buf_init(&out, arena, TEXT_MAX);
    for (uint32_t i = 0; i < n; i++) {
        if (i > 0)
            buf_char(&out, '\n');
        const struct said_doc *doc = &draft->said->docs[s->doc];
        buf_str_put(&out, str_part(doc->text, words[i].token->from, words[i].token->to));
    }
    return buf_ok(&out) ? buf_str(&out) : STR_NONE;
}

/* --- identity --- */

/* The sentence without the brackets that said_resolve() puts behind relative dates, so that what we
 * served is recognised. */
static struct str unresolved(struct arena *arena, const struct fact_draft *draft)
{
    const struct said_sentence *s = draft->sentence;
    const struct date_mention *m = said_mentions(draft->said, s);
    struct buf out;
    size_t done = 0;
    buf_init(&out, arena, TEXT_MAX);
    for (uint32_t i = 0; i + 1 < s->n_mentions; i++) {
        size_t end = m[i].at + m[i].len - s->at;
        size_t next = m[i + 1].at - s->at;
        size_t behind = next + m[i + 1].len;
        if (!m[i].relative || !str_eq(str_part(s->text, end, next), STR(" (")) ||
            behind >= s->text.len || s->text.at[behind] != ')')
            continue;
        buf_str_put(&out, str_part(s->text, done, end));
        done = behind + 1;
    }
    if (done == 0)
        return s->text;
    buf_str_put(&out, str_part(s->text, done, s->text.len));
    return buf_ok(&out) ? buf_str(&out) : STR_NONE;
}

/* 0 when memory is short. */
static uint64_t hash_of(struct arena *arena, struct str statement, struct str question)
{
    if (statement.at == NULL)
        return 0;
    struct str normal = utf8_normal(arena, statement);
    if (normal.at == NULL)
        return 0;
    uint64_t hash = hash64(normal);
    if (question.len != 0) {
        struct str asked = utf8_normal(arena, question);
        if (asked.at == NULL)
            return 0;
        hash ^= hash64(asked) * UINT64_C(0x9e3779b97f4a7c15);
    }
    return hash == 0 ? 1 : hash;
}

enum err_code facts__hash_unnamed(struct facts_work *f, struct fact_draft *draft, struct err *err)
{
    struct str statement = unresolved(f->w->arena, draft);
    size_t colon = str_index(statement, ':');
    draft->unnamed = 0;
    if (statement.at != NULL &&
        (colon == 0 || colon > NAME_PREFIX_BYTES || colon + 2 >= statement.len))
        return ERR_OK;
    struct str rest = str_trim(str_part(statement, colon + 1, statement.len));
    draft->unnamed = hash_of(f->w->arena, rest, STR(""));
    return draft->unnamed != 0 ? ERR_OK : stage__memory(err);
}

static void set_time(const struct fact_draft *draft, struct fact *fact)
{
    const struct said_sentence *s = draft->sentence;
    if (s->n_mentions == 0)
        return;
    const struct date_mention *m = said_mentions(draft->said, s);
    fact->has_time = true;
    fact->from = m->from;
    fact->to = m->to;
    fact->grain = (uint8_t)m->grain;
    fact->time_text = str_part(draft->said->docs[s->doc].text, m->at, m->at + m->len);
}

enum err_code facts__write_out(struct facts_work *f, struct fact_draft *draft, struct err *err)
{
    struct fact *fact = ARENA_NEW(f->w->arena, struct fact);
    if (fact == NULL)
        return stage__memory(err);
    draft->fact = fact;
    const struct turn *turn = &draft->said->turn;
    struct arena *arena = f->w->arena;
    *fact = (struct fact){.speaker_no = turn->speaker_no,
                          .valid_from = turn->time_ms,
                          .valid_to = TIME_NEVER,
                          .weight = weight_pack(draft->weight),
                          .flags = FACT_BUILTIN,
                          .time_text = STR(""),
                          .speaker = turn_speaker(turn),
                          .role = turn->role,
                          .potential = STR("")};
    set_time(draft, fact);
    fact->hash = hash_of(arena, unresolved(arena, draft), draft->question);
    fact->content = content_of(arena, draft);
    fact->keywords = keywords_of(arena, f->d, draft);
    if (fact->hash == 0 || fact->content.at == NULL || fact->keywords.at == NULL)
        return stage__memory(err);
    return ERR_OK;
}
