#include "core/base/hash.h"
#include "core/model/builtin/wordpiece_int.h"
#include "core/text/utf8.h"

static uint64_t hash_of(struct str text, bool inside)
{
    return hash64(text) ^ (inside ? UINT64_C(0x9e3779b97f4a7c15) : 0);
}

bool vocab__make(struct vocab *vocab, struct arena *arena, size_t pieces, struct str inside)
{
    size_t slots = 16;
    while (slots < pieces * 2)
        slots *= 2;
    *vocab = (struct vocab){.cap = (uint32_t)pieces, .mask = (uint32_t)slots - 1, .inside = inside};
    vocab->pieces = ARENA_ARRAY(arena, struct piece, pieces);
    vocab->slots = ARENA_ARRAY(arena, struct piece_slot, slots);
    return vocab->pieces != NULL && vocab->slots != NULL;
}

/* The slot of the piece, or the empty one where it belongs. */
static struct piece_slot *slot_of(const struct vocab *vocab, struct str text, bool inside)
{
    uint64_t hash = hash_of(text, inside);
    uint32_t tag = (uint32_t)(hash >> 32);
    for (uint32_t i = (uint32_t)hash & vocab->mask;; i = (i + 1) & vocab->mask) {
        struct piece_slot *slot = &vocab->slots[i];
        if (slot->piece == 0)
            return slot;
        const struct piece *piece = &vocab->pieces[slot->piece - 1];
        if (slot->tag == tag && piece->inside == inside && piece->len == text.len &&
            memcmp(piece->at, text.at, text.len) == 0)
            return slot;
    }
}

void vocab__put(struct vocab *vocab, struct str text, uint32_t id)
{
    bool inside = text.len > vocab->inside.len && str_starts(text, vocab->inside);
    if (inside)
        text = str_part(text, vocab->inside.len, text.len);
    if (id >= vocab->ids)
        vocab->ids = id + 1;
    if (text.len == 0)
        return; /* an empty line has an id, but no text is it */
    struct piece_slot *slot = slot_of(vocab, text, inside);
    if (slot->piece == 0) {
        ASSERT(vocab->n < vocab->cap);
        vocab->n++;
        *slot = (struct piece_slot){(uint32_t)(hash_of(text, inside) >> 32), vocab->n};
    }
    vocab->pieces[slot->piece - 1] = (struct piece){text.at, (uint32_t)text.len, id, inside};
    if (text.len > vocab->longest[inside])
        vocab->longest[inside] = (uint32_t)text.len;
}

const struct piece *vocab__find(const struct vocab *vocab, struct str text, bool inside)
{
    const struct piece_slot *slot = slot_of(vocab, text, inside);
    return slot->piece != 0 ? &vocab->pieces[slot->piece - 1] : NULL;
}

/* --- vocab.txt --- */

static size_t count_lines(struct str text)
{
    size_t n = 0;
    for (size_t at = 0; at < text.len; n++)
        at += str_index(str_part(text, at, text.len), '\n') + 1;
    return n;
}

static enum err_code check_line(const char *name, struct str line, size_t number, struct err *err)
{
    if (line.len > WORDPIECE_PIECE_MAX)
        return err_set(err, ERR_INVALID, "%s: line %zu has %zu bytes, at most %d are allowed", name,
                       number, line.len, WORDPIECE_PIECE_MAX);
    if (!utf8_is_valid(line))
        return err_set(err, ERR_INVALID, "%s: line %zu is not UTF-8", name, number);
    if (str_index(line, '\r') != line.len)
        return err_set(err, ERR_INVALID, "%s: line %zu has a carriage return inside", name, number);
    return ERR_OK;
}

enum err_code wordpiece__read_vocab(struct wordpiece *w, const char *name, struct str text,
                                    struct err *err)
{
    size_t lines = count_lines(text);
    if (lines == 0)
        return err_set(err, ERR_INVALID, "%s is empty", name);
    if (lines > WORDPIECE_IDS_MAX)
        return err_set(err, ERR_INVALID, "%s has %zu lines, at most %d are allowed", name, lines,
                       WORDPIECE_IDS_MAX);
    if (!vocab__make(&w->vocab, w->arena, lines, STR("##")))
        return err_set(err, ERR_EXHAUSTED, "no memory for the pieces of %s", name);
    size_t at = 0;
    for (uint32_t id = 0; id < lines; id++) {
        size_t len = str_index(str_part(text, at, text.len), '\n');
        struct str line = str_part(text, at, at + len);
        at += len + 1;
        if (str_ends(line, STR("\r")))
            line.len--;
        enum err_code code = check_line(name, line, (size_t)id + 1, err);
        if (code != ERR_OK)
            return code;
        vocab__put(&w->vocab, line, id);
    }
    return ERR_OK;
}
