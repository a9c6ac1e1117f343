#include "core/ingest/stage_dialogue.h"

#include <stdlib.h>

#include "core/base/limits.h"
#include "core/ingest/describe_light.h"
#include "core/recall/fence.h"
#include "core/text/sentence.h"

static enum err_code memory(struct err *err)
{
    return err_set(err, ERR_EXHAUSTED, "out of memory while reading a dialogue");
}

/* --- lists of turns --- */

static bool push_number(struct arena *arena, struct said_numbers *list, uint32_t n)
{
    if (list->n == list->cap) {
        uint32_t cap = list->cap == 0 ? LIMIT_EPISODE_TURNS : list->cap * 2;
        uint32_t *at = arena_alloc(arena, cap * sizeof *at);
        if (at == NULL)
            return false;
        if (list->n != 0)
            memcpy(at, list->at, list->n * sizeof *at);
        list->at = at;
        list->cap = cap;
    }
    list->at[list->n++] = n;
    return true;
}

static enum err_code list_session(struct store_cursor *cursor, struct arena *arena,
                                  const char key[8], uint32_t last, struct said_numbers *out,
                                  struct err *err)
{
    struct store_item item;
    enum err_code rc = store_cursor_seek(cursor, (struct str){key, 8}, &item, err);
    while (rc == ERR_OK && item.key.len == 8 && be32_get(item.key.at) == be32_get(key) &&
           be32_get(item.key.at + 4) <= last) {
        if (!push_number(arena, out, be32_get(item.key.at + 4)))
            return memory(err);
        rc = store_cursor_next(cursor, &item, err);
    }
    return rc;
}

enum err_code said_session(const struct said_reader *r, uint32_t session_no, uint32_t first,
                           uint32_t last, struct said_numbers *out, struct err *err)
{
    char key[8];
    struct store_cursor *cursor = NULL;
    be32_set(key, session_no);
    be32_set(key + 4, first);
    *out = (struct said_numbers){0};
    enum err_code rc = store_cursor_open(r->txn, r->space, KIND_SESSION_TURN, &cursor, err);
    if (rc == ERR_OK)
        rc = list_session(cursor, r->arena, key, last, out, err);
    store_cursor_close(cursor);
    return rc;
}

/* --- one turn --- */

static uint32_t count_docs(struct str text)
{
    struct str part;
    uint32_t n = 0;
    while (part_next(&text, LIMIT_DOC_BYTES, &part))
        n++;
    return n;
}

static enum err_code read_docs(const struct said_reader *r, struct said *said, struct err *err)
{
    struct date_mention found[SAID_MENTIONS_MAX];
    struct str rest = said->turn.text;
    struct str part;
    said->docs = ARENA_ARRAY(r->arena, struct said_doc, count_docs(rest));
    if (said->docs == NULL)
        return memory(err);
    while (part_next(&rest, LIMIT_DOC_BYTES, &part)) {
        struct said_doc *doc = &said->docs[said->n_docs];
        doc->doc = said->turn.doc + said->n_docs++;
        doc->text = part;
        enum err_code rc =
            tokenizer_run(r->tokenizer, r->arena, part, TOKEN_INDEX, &doc->tokens, err);
        if (rc != ERR_OK)
            return rc;
        doc->n_mentions = (uint32_t)dates_find(part, said->turn.time_ms, said->turn.offset_min,
                                               found, SAID_MENTIONS_MAX);
        doc->mentions = arena_copy(r->arena, found, doc->n_mentions * sizeof found[0]);
        if (doc->mentions == NULL)
            return memory(err);
    }
    return ERR_OK;
}

static uint32_t count_sentences(const struct said *said)
{
    struct str sentence;
    uint32_t n = 0;
    for (uint32_t d = 0; d < said->n_docs; d++) {
        struct str rest = said->docs[d].text;
        while (sentence_next(&rest, &sentence))
            n++;
    }
    return n;
}

/* Where the walk through a document's tokens, dates and fences has come to. */
struct walk {
    uint32_t token, mention;
    struct fence fence;
    bool fenced; /* `fence` is one that does not lie behind us */
};

static void take_tokens(const struct said_doc *doc, struct walk *walk, struct said_sentence *s)
{
    uint32_t end = s->at + (uint32_t)s->text.len;
    while (walk->token < doc->tokens.n && doc->tokens.at[walk->token].from < s->at)
        walk->token++;
    s->token = walk->token;
    while (walk->token < doc->tokens.n && doc->tokens.at[walk->token].from < end)
        walk->token++;
    s->n_tokens = walk->token - s->token;
    while (walk->mention < doc->n_mentions && doc->mentions[walk->mention].at < s->at)
        walk->mention++;
    s->mention = walk->mention;
    while (walk->mention < doc->n_mentions &&
           doc->mentions[walk->mention].at + doc->mentions[walk->mention].len <= end)
        walk->mention++;
    s->n_mentions = walk->mention - s->mention;
}

/* `from` is the sentence's place in the whole text. */
static bool is_fenced(struct str text, struct walk *walk, size_t from, size_t to)
{
    while (walk->fenced && walk->fence.to <= from)
        walk->fenced = fence_find(text, walk->fence.to, &walk->fence);
    return walk->fenced && walk->fence.from < to;
}

static enum err_code read_sentences(const struct said_reader *r, struct said *said, struct err *err)
{
    struct str text = said->turn.text;
    struct walk walk = {0};
    walk.fenced = fence_find(text, 0, &walk.fence);
    said->sentences = ARENA_ARRAY(r->arena, struct said_sentence, count_sentences(said));
    if (said->sentences == NULL)
        return memory(err);
    for (uint32_t d = 0; d < said->n_docs; d++) {
        const struct said_doc *doc = &said->docs[d];
        struct str rest = doc->text;
        struct str sentence;
        walk.token = walk.mention = 0;
        while (sentence_next(&rest, &sentence)) {
            struct said_sentence *s = &said->sentences[said->n_sentences++];
            s->text = sentence;
            s->doc = d;
            s->at = (uint32_t)(sentence.at - doc->text.at);
            s->question = sentence_is_question(sentence);
            take_tokens(doc, &walk, s);
            size_t from = (size_t)(sentence.at - text.at);
            s->fenced = is_fenced(text, &walk, from, from + sentence.len);
        }
    }
    return ERR_OK;
}

enum err_code said_of(const struct said_reader *r, const struct turn *turn, struct said **said,
                      struct err *err)
{
    struct said *own = ARENA_NEW(r->arena, struct said);
    *said = NULL;
    if (own == NULL)
        return memory(err);
    own->turn = *turn;
    enum err_code rc = read_docs(r, own, err);
    if (rc == ERR_OK && own->n_docs != turn->docs)
        rc = err_set(err, ERR_INTERNAL, "turn %u has %u documents, not %u", turn->n, turn->docs,
                     own->n_docs);
    if (rc == ERR_OK)
        rc = read_sentences(r, own, err);
    if (rc == ERR_OK)
        *said = own;
    return rc;
}

enum err_code said_read(const struct said_reader *r, uint32_t n, struct said **said,
                        struct err *err)
{
    struct turn turn;
    *said = NULL;
    enum err_code rc = turn_get(r->txn, r->space, n, &turn, err);
    if (rc != ERR_OK || turn.n == 0)
        return rc;
    rc = turn_load_text(r->txn, r->space, r->arena, &turn, err);
    return rc == ERR_OK ? said_of(r, &turn, said, err) : rc;
}

void said_resolve(const struct said *said, const struct said_sentence *s, struct buf *out)
{
    const struct date_mention *mentions = said_mentions(said, s);
    size_t done = 0;
    for (uint32_t i = 0; i < s->n_mentions; i++) {
        size_t end = mentions[i].at + mentions[i].len - s->at;
        if (!mentions[i].relative)
            continue;
        buf_str_put(out, str_part(s->text, done, end));
        buf_str_put(out, STR(" ("));
        dates_write(out, &mentions[i]);
        buf_char(out, ')');
        done = end;
    }
    buf_str_put(out, str_part(s->text, done, s->text.len));
}

/* --- an episode --- */

/* An occurrence of a term. */
struct seen {
    const struct token *token;
    struct str word;
    uint32_t turn;
};

static int by_term(const void *left, const void *right)
{
    const struct seen *a = left, *b = right;
    if (a->token->term != b->token->term)
        return a->token->term < b->token->term ? -1 : 1;
    if (a->turn != b->turn)
        return a->turn < b->turn ? -1 : 1;
    return (a->word.at > b->word.at) - (a->word.at < b->word.at);
}

static struct seen *list_seen(const struct dialogue *d, struct arena *arena, size_t *n)
{
    size_t all = 0;
    for (uint32_t t = 0; t < d->n_turns; t++) {
        for (uint32_t i = 0; i < d->turns[t]->n_docs; i++)
            all += d->turns[t]->docs[i].tokens.n;
    }
    struct seen *seen = arena_alloc(arena, all * sizeof *seen);
    *n = 0;
    for (uint32_t t = 0; seen != NULL && t < d->n_turns; t++) {
        for (uint32_t i = 0; i < d->turns[t]->n_docs; i++) {
            const struct said_doc *doc = &d->turns[t]->docs[i];
            for (size_t k = 0; k < doc->tokens.n; k++) {
                const struct token *token = &doc->tokens.at[k];
                if ((token->flags & TOKEN_STOP) == 0)
                    seen[(*n)++] =
                        (struct seen){token, str_part(doc->text, token->from, token->to), t};
            }
        }
    }
    return seen;
}

static bool is_lower(struct str word)
{
    return word.len != 0 && word.at[0] >= 'a' && word.at[0] <= 'z';
}

/* All occurrences of one term. */
static struct dialogue_term term_of(const struct seen *seen, size_t n)
{
    struct dialogue_term t = {.term = seen->token->term, .text = seen->token->text};
    struct str low = STR_NONE;
    struct str high = STR_NONE;
    uint32_t capital_in = UINT32_MAX; /* the last turn that was counted */
    uint32_t lower_in = UINT32_MAX;
    for (size_t i = 0; i < n; i++) {
        unsigned flags = seen[i].token->flags;
        t.count++;
        t.turns += i == 0 || seen[i].turn != seen[i - 1].turn;
        t.wholes += (flags & TOKEN_PART) == 0;
        t.number |= (flags & TOKEN_NUMBER) != 0;
        if ((flags & TOKEN_CAPITAL) != 0) {
            t.capitals += seen[i].turn != capital_in;
            capital_in = seen[i].turn;
            high = high.at == NULL ? seen[i].word : high;
        } else if (is_lower(seen[i].word)) {
            t.lowers += seen[i].turn != lower_in;
            lower_in = seen[i].turn;
            low = low.at == NULL ? seen[i].word : low;
        }
    }
    bool named = high.at != NULL && (t.capitals > t.lowers || low.at == NULL);
    t.surface = named ? high : low.at != NULL ? low : seen->word;
    return t;
}

static bool has_name(const struct dialogue *d, uint64_t term)
{
    for (uint32_t i = 0; i < d->n_names; i++) {
        if (d->names[i] == term)
            return true;
    }
    return false;
}

static enum err_code count_terms(struct dialogue *d, struct arena *arena, struct err *err)
{
    size_t n;
    struct seen *seen = list_seen(d, arena, &n);
    d->terms = ARENA_ARRAY(arena, struct dialogue_term, n);
    if (seen == NULL || d->terms == NULL)
        return memory(err);
    qsort(seen, n, sizeof *seen, by_term);
    for (size_t i = 0; i < n;) {
        size_t end = i;
        while (end < n && seen[end].token->term == seen[i].token->term)
            end++;
        struct dialogue_term *t = &d->terms[d->n_terms++];
        *t = term_of(seen + i, end - i);
        t->name = has_name(d, t->term);
        t->light = light_word_is(t->text) || light_word_is(t->surface);
        i = end;
    }
    return ERR_OK;
}

static bool is_participant(const struct dialogue *d, struct str name)
{
    for (uint32_t i = 0; i < d->n_participants; i++) {
        if (str_eq(d->participants[i], name))
            return true;
    }
    return false;
}

static enum err_code add_names(const struct said_reader *r, struct dialogue *d, struct str name,
                               struct err *err)
{
    struct token_list words;
    enum err_code rc = tokenizer_run(r->tokenizer, r->arena, name, TOKEN_INDEX, &words, err);
    if (rc != ERR_OK)
        return rc;
    uint64_t *names = arena_alloc(r->arena, (d->n_names + words.n) * sizeof *names);
    if (names == NULL)
        return memory(err);
    if (d->n_names != 0)
        memcpy(names, d->names, d->n_names * sizeof *names);
    d->names = names;
    for (size_t i = 0; i < words.n; i++) {
        if ((words.at[i].flags & TOKEN_STOP) == 0 && !has_name(d, words.at[i].term))
            d->names[d->n_names++] = words.at[i].term;
    }
    return ERR_OK;
}

/* Speakers with a smaller ordinal than one of the dialogue spoke before. */
static enum err_code read_speakers(const struct said_reader *r, struct dialogue *d,
                                   struct store_cursor *cursor, uint32_t last, struct err *err)
{
    struct store_item item;
    uint32_t rows = 0;
    enum err_code rc = store_cursor_seek(cursor, STR(""), &item, err);
    while (rc == ERR_OK && item.key.at != NULL && rows++ < SPEAKERS_LOOKED_AT) {
        bool before = item.value.len == 4 && le32_get(item.value.at) < last;
        if (before && !is_participant(d, item.key))
            rc = add_names(r, d, item.key, err);
        if (rc == ERR_OK)
            rc = store_cursor_next(cursor, &item, err);
    }
    return rc;
}

static enum err_code add_earlier_speakers(const struct said_reader *r, struct dialogue *d,
                                          struct err *err)
{
    uint32_t last = 0;
    for (uint32_t i = 0; i < d->n_turns; i++) {
        if (d->turns[i]->turn.speaker_no > last)
            last = d->turns[i]->turn.speaker_no;
    }
    if (last <= d->n_participants)
        return ERR_OK;
    if (last > SPEAKERS_KNOWN)
        last = SPEAKERS_KNOWN + 1;
    struct store_cursor *cursor = NULL;
    enum err_code rc = store_cursor_open(r->txn, r->space, KIND_SPEAKER, &cursor, err);
    if (rc == ERR_OK)
        rc = read_speakers(r, d, cursor, last, err);
    store_cursor_close(cursor);
    return rc;
}

static enum err_code add_participants(const struct said_reader *r, struct dialogue *d,
                                      struct err *err)
{
    d->participants = ARENA_ARRAY(r->arena, struct str, d->n_turns);
    if (d->participants == NULL)
        return memory(err);
    for (uint32_t i = 0; i < d->n_turns; i++) {
        struct str name = turn_speaker(&d->turns[i]->turn);
        if (is_participant(d, name))
            continue;
        d->participants[d->n_participants++] = name;
        enum err_code rc = add_names(r, d, name, err);
        if (rc != ERR_OK)
            return rc;
    }
    return add_earlier_speakers(r, d, err);
}

enum err_code dialogue_of(const struct said_reader *r, struct said **turns, uint32_t n,
                          struct dialogue *d, struct err *err)
{
    ASSERT(n >= 1);
    *d = (struct dialogue){.turns = turns,
                           .n_turns = n,
                           .start_ms = turns[0]->turn.time_ms,
                           .end_ms = turns[0]->turn.time_ms};
    for (uint32_t i = 0; i < n; i++) {
        const struct turn *turn = &turns[i]->turn;
        if (turn->time_ms < d->start_ms)
            d->start_ms = turn->time_ms;
        if (turn->time_ms > d->end_ms)
            d->end_ms = turn->time_ms;
    }
    enum err_code rc = add_participants(r, d, err);
    return rc == ERR_OK ? count_terms(d, r->arena, err) : rc;
}

const struct dialogue_term *dialogue_find(const struct dialogue *d, uint64_t term)
{
    uint32_t low = 0;
    uint32_t high = d->n_terms;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (d->terms[middle].term < term)
            low = middle + 1;
        else
            high = middle;
    }
    return low < d->n_terms && d->terms[low].term == term ? &d->terms[low] : NULL;
}
