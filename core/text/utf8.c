#include "core/text/utf8.h"

#include "core/base/buf.h"
#include "core/text/rune.h"

enum { LOOK_BACK = 128 }; /* how far a cut looks for a place where a grapheme surely starts */

size_t utf8_valid_len(struct str s)
{
    size_t i = 0;
    while (i < s.len) {
        uint64_t eight;
        if (s.len - i >= sizeof eight) {
            memcpy(&eight, s.at + i, sizeof eight);
            if ((eight & UINT64_C(0x8080808080808080)) == 0) {
                i += sizeof eight;
                continue;
            }
        }
        unsigned len = rune_at(s, i).len;
        if (len == 0)
            break;
        i += len;
    }
    return i;
}

bool utf8_is_valid(struct str s)
{
    return utf8_valid_len(s) == s.len;
}

static bool is_tail(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

static bool is_ascii(char c)
{
    return (unsigned char)c < 0x80;
}

/* The largest grapheme boundary in [from, cut]; `from` is taken for one. */
static size_t grapheme_before(struct str s, size_t from, size_t cut)
{
    size_t best = from, at = from;
    uint32_t previous = 0;
    int32_t state = 0;
    while (at <= cut) {
        struct rune r = rune_at(s, at);
        if (r.len == 0)
            break;
        if (at > from && !rune_joins(previous, r.cp, &state))
            best = at;
        previous = r.cp;
        at += r.len;
    }
    return best;
}

struct str utf8_cut(struct str s, size_t max)
{
    if (s.len <= max)
        return s;
    size_t cut = max;
    while (cut > 0 && is_tail(s.at[cut]))
        cut--;
    if (cut == 0 || (is_ascii(s.at[cut]) && is_ascii(s.at[cut - 1])))
        return str_part(s, 0, cut);
    /* A grapheme surely begins at an ASCII character; one is not far, or the cut may be rough. */
    size_t from = cut, least = cut > LOOK_BACK ? cut - LOOK_BACK : 0;
    do
        from--;
    while (from > least && !is_ascii(s.at[from]));
    while (from < cut && is_tail(s.at[from]))
        from++;
    size_t best = grapheme_before(s, from, cut);
    bool sure = best > from || (from > 0 && is_ascii(s.at[from]));
    return str_part(s, 0, sure ? best : cut);
}

bool utf8_is_blank(struct str s)
{
    for (size_t i = 0; i < s.len;) {
        struct rune r = rune_at(s, i);
        enum rune_class class = rune_class(r.cp);
        if (r.len == 0 || (class != RUNE_SPACE && class != RUNE_IGNORED))
            return false;
        i += r.len;
    }
    return true;
}

bool utf8_has_control(struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.at[i];
        bool c1 = c == 0xc2 && i + 1 < s.len && (unsigned char)s.at[i + 1] < 0xa0;
        if (c < 0x20 || c == 0x7f || c1)
            return true;
    }
    return false;
}

/* Folds one stretch of visible characters behind what is there. */
static void put_folded(struct buf *out, struct str stretch)
{
    char folded[4 * RUNE_FOLD_MAX];
    while (stretch.len != 0) {
        struct str piece = utf8_cut(stretch, RUNE_FOLD_MAX / 4);
        if (piece.len == 0)
            piece = str_part(stretch, 0, 1);
        size_t n = rune_fold(piece, RUNE_STRIP, folded, sizeof folded);
        buf_put(out, folded, n);
        stretch = str_part(stretch, piece.len, stretch.len);
    }
}

/* The stretch of visible characters at `i`, or the blanks there: returns its end. */
static size_t stretch_end(struct str s, size_t i, bool *blank)
{
    size_t end = i;
    while (end < s.len) {
        struct rune r = rune_at(s, end);
        bool here = r.len == 0 || rune_class(r.cp) == RUNE_SPACE;
        if (end == i)
            *blank = here;
        if (here != *blank)
            break;
        end += r.len == 0 ? 1 : r.len;
    }
    return end;
}

static bool is_outer(uint32_t cp)
{
    enum rune_class class = rune_class(cp);
    return class == RUNE_OTHER || class == RUNE_SPACE;
}

static struct str without_outer(struct str s)
{
    size_t from = 0, to = s.len;
    while (from < to && is_outer(rune_at(s, from).cp))
        from += rune_at(s, from).len;
    while (to > from) {
        size_t last = to - 1;
        while (last > from && is_tail(s.at[last]))
            last--;
        if (!is_outer(rune_at(s, last).cp))
            break;
        to = last;
    }
    return str_part(s, from, to);
}

struct str utf8_normal(struct arena *arena, struct str s)
{
    struct buf out;
    buf_init(&out, arena, s.len * 20 + 16); /* NFKC makes a character at most 11 times as long */
    for (size_t i = 0; i < s.len;) {
        bool blank = false;
        size_t end = stretch_end(s, i, &blank);
        if (blank)
            buf_char(&out, ' ');
        else
            put_folded(&out, str_part(s, i, end));
        i = end;
    }
    if (!buf_ok(&out))
        return STR_NONE;
    struct str all = buf_str(&out);
    /* Only punctuation: then that is what it says. */
    struct str inner = without_outer(all);
    return str_copy(arena, inner.len != 0 ? inner : str_trim(all));
}
