#include "core/model/ask_facts_int.h"

enum { LETTERS_LEAST = 3, BIGRAM_LEAST = 2, SHOWN_MAX = 1 << 20 };

static enum err_code cut_up(struct ask_support *s, struct str text, struct token_list *out)
{
    enum err_code code =
        tokenizer_run(s->tokenizer, s->r->arena, text, TOKEN_INDEX, out, s->r->err);
    if (code == ERR_OK && out->at == NULL)
        out->at = ARENA_NEW(s->r->arena, struct token); /* said that it was done */
    return code == ERR_OK && out->at == NULL ? ask__memory(s->r->err) : code;
}

enum err_code ask__support_of(const struct ask_reader *r, const struct ask_facts *ask,
                              struct ask_support *out)
{
    const struct ask_dialogue *d = &ask->dialogue;
    struct buf names;
    *out = (struct ask_support){.r = r, .dialogue = d, .tokenizer = ask->tokenizer};
    out->words = ARENA_ARRAY(r->arena, struct token_list, d->n);
    buf_init(&names, r->arena, SHOWN_MAX);
    for (uint32_t i = 0; i < d->n; i++) {
        buf_str_put(&names, d->turns[i].speaker);
        buf_char(&names, '\n');
    }
    if (out->words == NULL || !buf_ok(&names))
        return ask__memory(r->err);
    ask__count_dialogue(&out->scripts, d);
    return cut_up(out, buf_str(&names), &out->names);
}

static enum err_code words_of(struct ask_support *s, uint32_t i, const struct token_list **out)
{
    struct buf text;
    *out = &s->words[i];
    if (s->words[i].at != NULL)
        return ERR_OK;
    buf_init(&text, s->r->arena, SHOWN_MAX);
    ask__put_text(&text, &s->dialogue->turns[i], s->dialogue->sent.text_max, &s->r->key,
                  ASK_ONE_LINE);
    return buf_ok(&text) ? cut_up(s, buf_str(&text), &s->words[i]) : ask__memory(s->r->err);
}

static bool has_term(const struct token_list *list, uint64_t term)
{
    for (size_t i = 0; i < list->n; i++) {
        if (list->at[i].term == term && (list->at[i].flags & TOKEN_STOP) == 0)
            return true;
    }
    return false;
}

/* A word that says something: see ask_facts.h. */
static bool is_content(const struct token *token, struct str text)
{
    struct str word = str_part(text, token->from, token->to);
    uint32_t letters = 0, bigram = 0;
    if ((token->flags & (TOKEN_STOP | TOKEN_NUMBER)) != 0)
        return (token->flags & TOKEN_STOP) == 0;
    for (size_t i = 0; i < word.len;) {
        struct rune rune = rune_at(word, i);
        letters += rune_class(rune.cp) == RUNE_LETTER;
        bigram += rune_class(rune.cp) == RUNE_BIGRAM;
        i += rune.len == 0 ? 1 : rune.len;
    }
    return letters >= LETTERS_LEAST || bigram >= BIGRAM_LEAST;
}

static bool cites(const struct ask_fact *fact, uint32_t number)
{
    for (uint32_t i = 0; i < fact->n_turns; i++) {
        if (fact->turns[i] == number)
            return true;
    }
    return false;
}

static bool is_written_alike(const struct ask_support *s, struct str content)
{
    struct ask_scripts reply = {.all = 0};
    ask__count_scripts(&reply, content);
    return ask__scripts_fit(&s->scripts, &reply);
}

enum err_code ask__is_supported(struct ask_support *s, const struct ask_fact *fact, bool *yes)
{
    struct token_list told;
    *yes = false;
    enum err_code code = cut_up(s, fact->content, &told);
    if (code != ERR_OK || !is_written_alike(s, fact->content))
        return code;
    for (uint32_t t = 0; t < s->dialogue->n; t++) {
        const struct token_list *said;
        if (!ask__is_sent(s->dialogue, t) || !cites(fact, s->dialogue->turns[t].number))
            continue;
        if ((code = words_of(s, t, &said)) != ERR_OK)
            return code;
        for (size_t i = 0; i < told.n && !*yes; i++)
            *yes = is_content(&told.at[i], fact->content) &&
                   !has_term(&s->names, told.at[i].term) && has_term(said, told.at[i].term);
    }
    return ERR_OK;
}
