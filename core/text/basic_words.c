#include "core/text/basic_words.h"

#include <utf8proc.h>

#include "core/text/basic_int.h"
#include "core/text/rune.h"

enum { DECOMPOSED_MAX = 16, REPLACEMENT = 0xfffd };

/* --- what a character is --- */

/* The ranges end with one that is past every character. */
static bool is_in(const struct basic_range *ranges, size_t n, uint32_t cp)
{
    size_t low = 0, high = n - 1;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (cp > ranges[mid].last)
            low = mid + 1;
        else
            high = mid;
    }
    return cp >= ranges[low].first;
}

static bool is_dropped(uint32_t cp)
{
    if (cp < 0x80)
        return (cp < 0x20 && cp != '\t' && cp != '\n' && cp != '\r') || cp == 0x7f;
    return is_in(basic__dropped, BASIC_DROPPED, cp);
}

static bool is_accent(uint32_t cp)
{
    return cp >= 0x300 && is_in(basic__accents, BASIC_ACCENTS, cp);
}

static bool is_ordered(uint32_t cp)
{
    return cp >= 0x300 && is_in(basic__ordered, BASIC_ORDERED, cp);
}

/* The property White_Space, as the Rust library has it. */
static bool is_blank(uint32_t cp)
{
    if (cp < 0x80)
        return cp == ' ' || (cp >= '\t' && cp <= '\r');
    return cp == 0x85 || cp == 0xa0 || cp == 0x1680 || (cp >= 0x2000 && cp <= 0x200a) ||
           cp == 0x2028 || cp == 0x2029 || cp == 0x202f || cp == 0x205f || cp == 0x3000;
}

static bool is_ascii_word(unsigned char c)
{
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

static bool is_punctuation(uint32_t cp)
{
    if (cp < 0x80)
        return cp > ' ' && cp < 0x7f && !is_ascii_word((unsigned char)cp);
    return is_in(basic__punctuation, BASIC_PUNCTUATION, cp);
}

/* 0x2b820..0x2b91f are Han, too, but the reference leaves them in their words. */
static bool is_han(uint32_t cp)
{
    static const struct basic_range blocks[] = {
        {0x3400, 0x4dbf},   {0x4e00, 0x9fff},
        {0xf900, 0xfaff},   {0x20000, 0x2a6df},
        {0x2a700, 0x2b81f}, {0x2b920, 0x2ceaf},
        {0x2f800, 0x2fa1f}, {BASIC_NO_CHARACTER, BASIC_NO_CHARACTER},
    };
    return cp >= 0x3400 && is_in(blocks, sizeof blocks / sizeof blocks[0], cp);
}

/* Beyond the first plane: what the reference takes apart. Editions after its own made more. */
static bool is_composed(uint32_t cp)
{
    static const struct basic_range blocks[] = {
        {0x1109a, 0x1109c}, {0x110ab, 0x110ab},
        {0x1112e, 0x1112f}, {0x1134b, 0x1134c},
        {0x114bb, 0x114be}, {0x115ba, 0x115bb},
        {0x1d15e, 0x1d164}, {0x1d1bb, 0x1d1c0},
        {0x2f800, 0x2fa1d}, {BASIC_NO_CHARACTER, BASIC_NO_CHARACTER},
    };
    return cp >= 0x80 && (cp < 0x10000 || is_in(blocks, sizeof blocks / sizeof blocks[0], cp));
}

/* --- steps --- */

static void put_ahead(struct basic_words *w, struct basic_char c)
{
    ASSERT(w->ahead_n < BASIC_AHEAD);
    w->ahead[w->ahead_n++] = c;
}

static void lower(struct basic_words *w, struct basic_char c)
{
    if ((w->steps & BASIC_LOWER) == 0) {
        put_ahead(w, c);
        return;
    }
    uint32_t cp = c.cp;
    bool dotted = cp == 0x130; /* the one character that becomes two */
    c.cp = dotted ? 'i' : (uint32_t)utf8proc_tolower((utf8proc_int32_t)cp);
    put_ahead(w, c);
    if (dotted) {
        c.cp = 0x307;
        put_ahead(w, c);
    }
}

static void let_marks_go(struct basic_words *w)
{
    for (uint32_t i = 0; i < w->marks_n; i++)
        lower(w, w->marks[i]);
    w->marks_n = 0;
}

/* Canonical order: stable, by combining class, from one starter to the next. */
static void order(struct basic_words *w, struct basic_char c)
{
    bool accent = is_accent(c.cp);
    c.class = 0; /* of marks younger than its edition, too */
    if (accent || is_ordered(c.cp))
        c.class = (uint32_t)utf8proc_get_property((utf8proc_int32_t)c.cp)->combining_class;
    if (c.class == 0)
        let_marks_go(w);
    if (accent)
        return;
    if (c.class == 0) {
        lower(w, c);
        return;
    }
    if (w->marks_n == BASIC_MARKS)
        let_marks_go(w);
    uint32_t i = w->marks_n++;
    for (; i > 0 && w->marks[i - 1].class > c.class; i--)
        w->marks[i] = w->marks[i - 1];
    w->marks[i] = c;
}

static void strip(struct basic_words *w, struct basic_char c)
{
    if ((w->steps & BASIC_STRIP) == 0) {
        lower(w, c);
        return;
    }
    if (!is_composed(c.cp)) {
        order(w, c);
        return;
    }
    utf8proc_int32_t parts[DECOMPOSED_MAX];
    utf8proc_ssize_t n = utf8proc_decompose_char((utf8proc_int32_t)c.cp, parts, DECOMPOSED_MAX,
                                                 UTF8PROC_DECOMPOSE, NULL);
    /* What utf8proc refuses it does not know: it is left as it is. */
    if (n <= 0 || n > DECOMPOSED_MAX) {
        parts[0] = (utf8proc_int32_t)c.cp;
        n = 1;
    }
    for (utf8proc_ssize_t i = 0; i < n; i++) {
        c.cp = (uint32_t)parts[i];
        order(w, c);
    }
}

/* Takes one character of the text through all steps; false at the end. */
static bool step(struct basic_words *w)
{
    if (w->at >= w->text.len)
        return false;
    struct rune r = rune_at(w->text, w->at);
    struct basic_char c = {.cp = r.len != 0 ? r.cp : REPLACEMENT, .from = w->at};
    w->at += r.len != 0 ? r.len : 1;
    c.to = w->at;
    if ((w->steps & BASIC_CLEAN) != 0) {
        if (is_dropped(c.cp))
            return true;
        if (is_blank(c.cp))
            c.cp = ' ';
    }
    bool alone = (w->steps & BASIC_HAN) != 0 && is_han(c.cp);
    struct basic_char blank = {.cp = ' ', .from = c.from, .to = c.from};
    if (alone)
        strip(w, blank);
    strip(w, c);
    blank.from = blank.to = c.to;
    if (alone)
        strip(w, blank);
    return true;
}

/* The next character that is through all steps; NULL at the end. */
static const struct basic_char *peek(struct basic_words *w)
{
    if (w->next < w->ahead_n)
        return &w->ahead[w->next];
    w->next = w->ahead_n = 0;
    while (w->ahead_n == 0) {
        if (step(w))
            continue;
        let_marks_go(w);
        break;
    }
    return w->ahead_n != 0 ? &w->ahead[0] : NULL;
}

/* --- words --- */

void basic_words_init(struct basic_words *words, struct str text, unsigned steps, uint32_t most)
{
    ASSERT(most >= 1 && most <= BASIC_WORD_CHARS);
    words->text = text;
    words->at = 0;
    words->steps = steps;
    words->most = most;
    words->next = words->ahead_n = words->marks_n = 0;
}

struct growing {
    size_t len;
    uint32_t chars;
    size_t from, to;
};

static void add(struct basic_words *w, struct growing *word, const struct basic_char *c)
{
    if (word->chars == 0 || c->from < word->from)
        word->from = c->from;
    if (c->to > word->to)
        word->to = c->to;
    word->chars++;
    if (word->chars <= w->most)
        word->len += (size_t)utf8proc_encode_char((utf8proc_int32_t)c->cp,
                                                  (utf8proc_uint8_t *)w->bytes + word->len);
}

/* Most text: no step has anything to do but to lower. */
static void add_ascii(struct basic_words *w, struct growing *word)
{
    bool lowers = (w->steps & BASIC_LOWER) != 0;
    size_t at = w->at;
    if (w->next < w->ahead_n || w->marks_n != 0)
        return;
    for (; at < w->text.len && is_ascii_word((unsigned char)w->text.at[at]); at++) {
        char c = w->text.at[at];
        if (word->chars == 0)
            word->from = at;
        word->chars++;
        if (word->chars <= w->most)
            w->bytes[word->len++] = (char)(lowers && c >= 'A' && c <= 'Z' ? c | 0x20 : c);
    }
    if (at != w->at)
        word->to = at;
    w->at = at;
}

bool basic_words_next(struct basic_words *words, struct basic_word *out)
{
    struct growing word = {0};
    for (;;) {
        add_ascii(words, &word);
        const struct basic_char *c = peek(words);
        if (c == NULL)
            break;
        bool blank = is_blank(c->cp), sign = !blank && is_punctuation(c->cp);
        if ((blank || sign) && word.chars != 0)
            break;
        words->next++;
        if (blank)
            continue;
        add(words, &word, c);
        if (sign)
            break;
    }
    bool whole = word.chars <= words->most;
    *out = (struct basic_word){.text = {words->bytes, whole ? word.len : 0},
                               .chars = word.chars,
                               .from = word.from,
                               .to = word.to};
    return word.chars != 0;
}
