/* Reading the question: words, dates, speakers' names, filters.
 *
 * A speaker's name is in nearly every question about them, and in the turns of those who talk TO
 * them: as a word it misleads. So it leaves the words and instead favours that speaker's own turns.
 * A date expression leaves the words too and becomes date terms. Both measured:
 * tests/bench/README.md. */
#include <stdlib.h>

#include "core/recall/recall_int.h"
#include "core/text/token.h"

enum err_code recall__memory(struct err *err)
{
    return err_set(err, ERR_EXHAUSTED, "the query needs more memory than one request may have");
}

bool recall__is_named(const struct recall *r, uint32_t speaker_no)
{
    for (uint32_t i = 0; i < r->n_named; i++)
        if (r->named[i] == speaker_no)
            return true;
    return false;
}

/* --- dates --- */

static void add_date(struct recall *r, struct date_term term)
{
    for (uint32_t i = 0; i < r->n_dates; i++)
        if (r->dates[i].term == term.term)
            return;
    if (r->n_dates < RECALL_DATES)
        r->dates[r->n_dates++] = term;
}

/* Replaces each date expression of the question by blanks and keeps its terms. */
static struct str take_dates(struct recall *r, struct str q)
{
    struct date_mention mentions[RECALL_MENTIONS];
    struct str copy = str_copy(r->arena, q);
    if (copy.at == NULL)
        return copy;
    size_t n = dates_find(q, r->query->now_ms, r->query->now_offset_min, mentions, RECALL_MENTIONS);
    char *text = arena_copy(r->arena, copy.at, copy.len + 1);
    if (text == NULL)
        return STR_NONE;
    for (size_t i = 0; i < n; i++) {
        struct date_term terms[DATE_TERMS_MAX];
        size_t n_terms = date_terms_of(q, &mentions[i], terms);
        for (size_t k = 0; k < n_terms; k++)
            if (terms[k].kind != DATE_TERM_YEAR || mentions[i].grain == DATE_YEAR)
                add_date(r, terms[k]);
        memset(text + mentions[i].at, ' ', mentions[i].len);
    }
    return (struct str){text, copy.len};
}

/* --- speakers --- */

struct names {
    uint64_t term[RECALL_SPEAKERS * 2];
    uint32_t speaker[RECALL_SPEAKERS * 2];
    uint32_t n;
};

static bool is_role_name(struct str name)
{
    return str_eq(name, STR("user")) || str_eq(name, STR("assistant")) ||
           str_eq(name, STR("tool")) || str_eq(name, STR("system"));
}

static enum err_code add_name(struct recall *r, struct tokenizer *tokenizer, struct names *names,
                              struct str name, uint32_t speaker, struct err *err)
{
    struct token_list words;
    if (is_role_name(name))
        return ERR_OK;
    enum err_code rc = tokenizer_run(tokenizer, r->arena, name, TOKEN_INDEX, &words, err);
    for (size_t i = 0; rc == ERR_OK && i < words.n; i++) {
        if ((words.at[i].flags & TOKEN_STOP) != 0 || names->n >= RECALL_SPEAKERS * 2)
            continue;
        names->term[names->n] = words.at[i].term;
        names->speaker[names->n++] = speaker;
    }
    return rc;
}

static enum err_code read_speakers(struct recall *r, struct tokenizer *tokenizer,
                                   struct names *names, struct err *err)
{
    struct store_cursor *cursor = NULL;
    struct store_item item;
    enum err_code rc = store_cursor_open(r->txn, r->space, KIND_SPEAKER, &cursor, err);
    if (rc == ERR_OK)
        rc = store_cursor_seek(cursor, STR(""), &item, err);
    while (rc == ERR_OK && item.key.at != NULL && r->n_speakers < RECALL_SPEAKERS) {
        r->n_speakers++;
        if (item.value.len == 4)
            rc = add_name(r, tokenizer, names, item.key, le32_get(item.value.at), err);
        if (rc == ERR_OK)
            rc = store_cursor_next(cursor, &item, err);
    }
    store_cursor_close(cursor);
    return rc;
}

static void name_speaker(struct recall *r, uint32_t speaker)
{
    if (!recall__is_named(r, speaker) && r->n_named < RECALL_SPEAKERS)
        r->named[r->n_named++] = speaker;
}

/* True when the word is part of a speaker's name; notes the speakers it belongs to. */
static bool take_name(struct recall *r, const struct names *names, uint64_t term)
{
    bool hit = false;
    for (uint32_t i = 0; i < names->n; i++)
        if (names->term[i] == term) {
            name_speaker(r, names->speaker[i]);
            hit = true;
        }
    return hit;
}

/* --- words --- */

static bool has_term(const struct recall *r, uint64_t term)
{
    for (uint32_t i = 0; i < r->n_terms; i++)
        if (r->terms[i] == term)
            return true;
    return false;
}

static void ignore(struct recall *r, struct str text)
{
    if (r->ignored != NULL && r->n_ignored < LIMIT_QUERY_TERMS)
        r->ignored[r->n_ignored++] = text;
}

/* `names` NULL: names are words too (when nothing else is left). */
static void add_words(struct recall *r, const struct token_list *tokens, const struct names *names)
{
    for (size_t i = 0; i < tokens->n; i++) {
        const struct token *t = &tokens->at[i];
        if ((t->flags & TOKEN_STOP) != 0) {
            ignore(r, t->text);
        } else if (names != NULL && take_name(r, names, t->term)) {
            continue;
        } else if (!has_term(r, t->term)) {
            if (r->n_terms == LIMIT_QUERY_TERMS) {
                ignore(r, t->text);
                continue;
            }
            r->terms[r->n_terms] = t->term;
            r->term_text[r->n_terms++] = t->text;
        }
    }
}

/* segment_collect() wants them ascending; 64 at most, so insertion sort. */
static void sort_terms(struct recall *r)
{
    for (uint32_t i = 1; i < r->n_terms; i++) {
        uint64_t term = r->terms[i];
        struct str text = r->term_text[i];
        uint32_t k = i;
        for (; k > 0 && r->terms[k - 1] > term; k--) {
            r->terms[k] = r->terms[k - 1];
            r->term_text[k] = r->term_text[k - 1];
        }
        r->terms[k] = term;
        r->term_text[k] = text;
    }
}

/* --- what is embedded --- */

/* Bytes of the "'s" that the text begins with; the tokenizer leaves it out of a word. */
static size_t genitive(struct str text)
{
    static const char *const forms[] = {"'s", "'S", "’s", "’S"};
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
        if (str_starts(text, str_of(forms[i])))
            return strlen(forms[i]);
    return 0;
}

/* Blanks over the words of speakers' names. True: there was one, and other words are left. */
static bool blank_names(struct recall *r, const struct names *names,
                        const struct token_list *tokens, char *text, size_t len)
{
    bool left = false;
    for (size_t i = 0; i < tokens->n; i++) {
        const struct token *t = &tokens->at[i];
        if ((t->flags & (TOKEN_STOP | TOKEN_PART)) != 0)
            continue;
        struct str behind = {text + t->to, len - t->to};
        if (take_name(r, names, t->term))
            memset(text + t->from, ' ', t->to - t->from + genitive(behind));
        else
            left = true;
    }
    return left && r->n_named != 0;
}

/* Each run of blanks once, none at the ends. */
static struct str squeeze(char *text, size_t len)
{
    size_t out = 0;
    for (size_t i = 0; i < len; i++)
        if (text[i] != ' ' || (out != 0 && text[out - 1] != ' '))
            text[out++] = text[i];
    return str_trim((struct str){text, out});
}

enum err_code recall_embed_text(const struct recall_base *base, struct str q, struct arena *arena,
                                struct str *text, struct err *err)
{
    struct tokenizer *tokenizer = NULL;
    struct token_list tokens;
    struct recall *r = ARENA_NEW(arena, struct recall);
    struct names *names = ARENA_NEW(arena, struct names);
    char *copy = arena_copy(arena, q.at, q.len);
    *text = q;
    if (r == NULL || names == NULL || copy == NULL)
        return recall__memory(err);
    r->txn = base->txn;
    r->space = base->space;
    r->arena = arena;
    enum err_code rc = tokenizers_take(base->tokenizers, base->settings->language, &tokenizer, err);
    if (rc == ERR_OK)
        rc = tokenizer_run(tokenizer, arena, q, TOKEN_QUERY, &tokens, err);
    if (rc == ERR_OK)
        rc = read_speakers(r, tokenizer, names, err);
    tokenizers_give(base->tokenizers, tokenizer);
    if (rc == ERR_OK && blank_names(r, names, &tokens, copy, q.len))
        *text = squeeze(copy, q.len);
    return rc;
}

/* --- filters --- */

static enum err_code find_ordinal(struct recall *r, enum store_kind kind, struct str name,
                                  uint32_t *ordinal, struct err *err)
{
    struct str value;
    if (name.at == NULL)
        return ERR_OK;
    enum err_code rc = store_get(r->txn, r->space, kind, name, &value, err);
    if (rc != ERR_OK)
        return rc;
    if (value.at == NULL || value.len != 4)
        r->nothing = true;
    else
        *ordinal = le32_get(value.at);
    return ERR_OK;
}

enum err_code recall__read_question(struct recall *r, struct err *err)
{
    struct tokenizer *tokenizer = NULL;
    struct names *names = ARENA_NEW(r->arena, struct names);
    struct token_list tokens;
    enum err_code rc = ERR_OK;
    r->ignored = ARENA_ARRAY(r->arena, struct str, LIMIT_QUERY_TERMS);
    struct str text = take_dates(r, r->query->q);
    if (names == NULL || r->ignored == NULL || text.at == NULL)
        return recall__memory(err);
    rc = tokenizers_take(r->tokenizers, r->settings->language, &tokenizer, err);
    if (rc == ERR_OK)
        rc = tokenizer_run(tokenizer, r->arena, text, TOKEN_QUERY, &tokens, err);
    if (rc == ERR_OK)
        rc = read_speakers(r, tokenizer, names, err);
    if (rc == ERR_OK) {
        add_words(r, &tokens, names);
        if (r->n_terms == 0 && r->n_dates == 0) {
            r->n_ignored = 0;
            add_words(r, &tokens, NULL);
        }
        sort_terms(r);
        rc = find_ordinal(r, KIND_SESSION, r->query->session, &r->session_no, err);
    }
    if (rc == ERR_OK)
        rc = find_ordinal(r, KIND_SPEAKER, r->query->speaker, &r->speaker_no, err);
    const struct recall_query *q = r->query;
    r->filtered =
        r->session_no != 0 || r->speaker_no != 0 || q->has_since || q->has_until || q->has_as_of;
    tokenizers_give(r->tokenizers, tokenizer);
    return rc;
}
