#include "core/model/builtin/wordpiece_int.h"

#include "core/text/basic_words.h"

enum { WINDOW = 4096 };

struct encoding {
    const struct wordpiece *w;
    uint32_t *ids; /* NULL: only counted */
    uint32_t most, n;
    bool full;
    struct wordpiece_cut cut;
};

/* Adds the ids of one word, which is [from, to) of the text. */
static void put(struct encoding *e, const uint32_t *ids, uint32_t n, size_t from, size_t to)
{
    uint32_t room = e->most - e->n, kept = n < room ? n : room;
    if (e->ids != NULL)
        memcpy(e->ids + e->n, ids, kept * sizeof *ids);
    e->n += kept;
    e->full = kept < n;
    if (!e->full) {
        e->cut = (struct wordpiece_cut){to, e->n};
        return;
    }
    bool first = e->cut.ids == 0;
    e->cut = first ? (struct wordpiece_cut){to, e->n} : (struct wordpiece_cut){from, e->cut.ids};
}

/* Bytes of the longest piece that `rest` begins with, and its id; 0: there is none. */
static size_t longest_piece(const struct vocab *vocab, struct str rest, bool inside, uint32_t *id)
{
    size_t len = rest.len < vocab->longest[inside] ? rest.len : vocab->longest[inside];
    for (; len > 0; len--) {
        if (len < rest.len && ((unsigned char)rest.at[len] & 0xc0) == 0x80)
            continue; /* inside a character */
        const struct piece *piece = vocab__find(vocab, str_part(rest, 0, len), inside);
        if (piece != NULL) {
            *id = piece->id;
            return len;
        }
    }
    return 0;
}

/* At most one id a character. */
static uint32_t take_apart(const struct wordpiece *w, struct str word, uint32_t *ids)
{
    uint32_t n = 0;
    size_t at = 0;
    while (at < word.len) {
        size_t len = longest_piece(&w->vocab, str_part(word, at, word.len), at > 0, &ids[n]);
        if (len == 0)
            break;
        at += len;
        n++;
    }
    if (n != 0 && at == word.len)
        return n;
    ids[0] = w->roles[WORDPIECE_UNK];
    return 1;
}

/* The words of [from, to). */
static void put_words(struct encoding *e, struct str text, size_t from, size_t to)
{
    uint32_t ids[BASIC_WORD_CHARS];
    struct basic_words words;
    struct basic_word word;
    basic_words_init(&words, str_part(text, from, to), e->w->steps, e->w->most_chars);
    while (!e->full && basic_words_next(&words, &word)) {
        uint32_t n = take_apart(e->w, word.text, ids);
        put(e, ids, n, from + word.from, from + word.to);
    }
}

/* The longest token that is written out at `at`. */
static const struct added_token *token_at(const struct wordpiece *w, struct str text, size_t at)
{
    const struct added_token *best = NULL;
    struct str rest = str_part(text, at, text.len);
    for (uint32_t i = 0; i < w->n_added; i++)
        if (str_starts(rest, w->added[i].text) &&
            (best == NULL || w->added[i].text.len > best->text.len))
            best = &w->added[i];
    return best;
}

/* Where the words from `at` on end: before a token, or at some blank, so that a text of which the
 * caller takes a piece at a time is not searched to its end each time. */
static size_t words_end(const struct wordpiece *w, struct str text, size_t at,
                        const struct added_token **token)
{
    for (size_t i = at; i < text.len; i++) {
        *token = w->begins[(unsigned char)text.at[i]] ? token_at(w, text, i) : NULL;
        if (*token != NULL || (text.at[i] == ' ' && i - at >= WINDOW))
            return i;
    }
    *token = NULL;
    return text.len;
}

uint32_t wordpiece_encode(const struct wordpiece *wordpiece, struct str text, uint32_t *ids,
                          uint32_t most, struct wordpiece_cut *cut)
{
    struct encoding e = {.w = wordpiece, .most = most};
    e.ids = ids;
    ASSERT(most >= 1);
    for (size_t at = 0; at < text.len && !e.full;) {
        const struct added_token *token = NULL;
        size_t end = words_end(wordpiece, text, at, &token);
        put_words(&e, text, at, end);
        at = end;
        if (token == NULL || e.full)
            continue;
        at += token->text.len;
        put(&e, &token->id, 1, end, at);
    }
    if (!e.full)
        e.cut = (struct wordpiece_cut){text.len, e.n};
    DASSERT(e.cut.ids <= e.n && (e.n == 0 || e.cut.bytes > 0)); /* P1, P2 */
    if (cut != NULL)
        *cut = e.cut;
    return e.n;
}

uint32_t wordpiece_id(const struct wordpiece *wordpiece, enum wordpiece_role role)
{
    return wordpiece->roles[role];
}

uint32_t wordpiece_ids(const struct wordpiece *wordpiece)
{
    return wordpiece->vocab.ids;
}
