#include "core/text/sentence.h"

#include "core/text/rune.h"
#include "core/text/utf8.h"

enum {
    THAI_BYTES = 200, /* from here on a space ends a Thai or Lao sentence */
    LOOK_AHEAD = 64,  /* what a sentence end in a part may depend on */
    WORD_BYTES = 16,
};

static bool is_line_end(uint32_t cp)
{
    return cp == '\n' || cp == '\r' || cp == 0x85 || cp == 0x2028 || cp == 0x2029;
}

/* Ends a sentence whatever follows. */
static bool is_full_stop(uint32_t cp)
{
    return cp == 0x3002 || cp == 0xff01 || cp == 0xff1f || cp == 0xff61 || cp == 0x964 ||
           cp == 0x965 || cp == 0x61f || cp == 0x6d4 || cp == 0x1362 || cp == 0x104b;
}

static bool is_ender(uint32_t cp)
{
    return cp == '.' || cp == '!' || cp == '?' || cp == 0x2026 || cp == 0x203c ||
           (cp >= 0x2047 && cp <= 0x2049) || is_full_stop(cp);
}

static bool is_closer(uint32_t cp)
{
    switch (cp) {
    case '"':
    case '\'':
    case ')':
    case ']':
    case '}':
    case '*':
    case 0xbb:
    case 0x2019:
    case 0x201d:
    case 0x203a:
    case 0x3009:
    case 0x300b:
    case 0x300d:
    case 0x300f:
    case 0x3011:
    case 0xff09:
    case 0xff3d: return true;
    default: return false;
    }
}

static bool is_opener(uint32_t cp)
{
    return cp == '(' || cp == '[' || cp == '{' || cp == 0xab || cp == 0x2018 || cp == 0x201c ||
           cp == 0x201e || cp == 0x300c || cp == 0x300e || cp == 0x3010 || cp == 0xff08;
}

static bool is_blank_at(struct str s, size_t i, unsigned *len)
{
    struct rune r = rune_at(s, i);
    *len = r.len;
    if (r.len == 0)
        return false;
    enum rune_class class = rune_class(r.cp);
    return class == RUNE_SPACE || (class == RUNE_IGNORED && r.cp != 0x200d);
}

static size_t skip_blank(struct str s, size_t i)
{
    unsigned len;
    while (is_blank_at(s, i, &len))
        i += len;
    return i;
}

/* Titles and the like, lower case; a point behind them ends nothing. */
static const char *const abbreviations[] = {
    "mr",  "mrs", "ms",   "mx", "dr",  "prof", "sr",   "jr",     "st",   "rev", "hon",
    "gen", "sgt", "capt", "lt", "gov", "sen",  "mt",   "ft",     "vs",   "cf",  "al",
    "sra", "dra", "bzw",  "hr", "fr",  "mme",  "mlle", "approx", "dept", "usw",
};
/* End nothing when a number follows. */
static const char *const number_words[] = {"no", "nr",  "vol", "fig", "figs", "pp", "p",
                                           "ch", "sec", "art", "ca",  "nos",  "pg"};
/* What may stand between the day and the year in "7. Mai 2023", by its first letters. */
static const char *const day_first_months[] = {
    "januar",  "februar",  "märz",     "april", "mai",  "juni", "juli",     "august",  "september",
    "oktober", "november", "dezember", "marts", "mars", "maj",  "desember", "december"};

static bool is_listed(const char *const *list, size_t n, struct str word)
{
    char lower[WORD_BYTES];
    if (word.len == 0 || word.len > sizeof lower)
        return false;
    for (size_t i = 0; i < word.len; i++)
        lower[i] = (char)(word.at[i] >= 'A' && word.at[i] <= 'Z' ? word.at[i] | 0x20 : word.at[i]);
    for (size_t i = 0; i < n; i++)
        if (list[i][0] == lower[0] && str_eq(str_of(list[i]), (struct str){lower, word.len}))
            return true;
    return false;
}

#define IS_LISTED(list, word) is_listed(list, sizeof(list) / sizeof(list)[0], word)

bool sentence_is_abbreviation(struct str word)
{
    struct rune first = rune_at(word, 0);
    if (first.len != 0 && first.len == word.len)
        return rune_is_capital(first.cp) && first.cp != 'I';
    return IS_LISTED(abbreviations, word);
}

static bool is_letter(uint32_t cp)
{
    return rune_class(cp) == RUNE_LETTER;
}

/* The letters, digits and inner points that end at `end`, no further back than `start`. */
static struct str word_before(struct str s, size_t start, size_t end)
{
    size_t from = end;
    while (from > start) {
        unsigned char c = (unsigned char)s.at[from - 1];
        bool inside =
            c >= 0x80 || c == '.' || rune_class(c) == RUNE_LETTER || rune_class(c) == RUNE_DIGIT;
        if (!inside || end - from >= WORD_BYTES)
            break;
        from--;
    }
    return str_part(s, from, end);
}

/* e.g, U.S, z.B, Ph.D: points between one or two letters. */
static bool is_dotted(struct str word)
{
    size_t letters = 0, points = 0;
    for (size_t i = 0; i < word.len; i++) {
        if (word.at[i] == '.') {
            points++;
            letters = 0;
        } else if (!is_letter((unsigned char)word.at[i] & 0x7f) || ++letters > 2) {
            return false;
        }
    }
    return points != 0 && letters != 0;
}

static bool is_number(struct str word)
{
    for (size_t i = 0; i < word.len; i++)
        if (word.at[i] < '0' || word.at[i] > '9')
            return false;
    return word.len != 0 && word.len <= 3;
}

static struct str letters_at(struct str s, size_t i)
{
    size_t end = i;
    for (struct rune r = rune_at(s, end); r.len != 0 && is_letter(r.cp); r = rune_at(s, end))
        end += r.len;
    return str_part(s, i, end);
}

/* Whether the single point at `i`, before what comes at `next`, ends the sentence from `start`. */
static bool point_ends(struct str s, size_t start, size_t i, size_t next)
{
    struct str word = word_before(s, start, i);
    struct rune after = rune_at(s, next);
    bool capital = after.len != 0 && rune_is_capital(after.cp);
    if (str_eq(word, STR("a.m")) || str_eq(word, STR("p.m")))
        return capital || after.len == 0;
    if (is_dotted(word) || sentence_is_abbreviation(word))
        return after.len == 0;
    if (IS_LISTED(number_words, word))
        return after.len == 0 || rune_class(after.cp) != RUNE_DIGIT;
    if (is_number(word))
        return word.at != s.at + start && !IS_LISTED(day_first_months, letters_at(s, next));
    return true;
}

/* Whether the enders from `i` to `enders`, with closers up to `end`, end the sentence. */
static bool ends_here(struct str s, size_t start, size_t i, size_t enders, size_t end)
{
    struct rune last = {0, 0};
    bool points = true;
    for (size_t k = i; k < enders; k += last.len) {
        last = rune_at(s, k);
        points = points && (last.cp == '.' || last.cp == 0x2026);
        if (is_full_stop(last.cp))
            return true;
    }
    struct rune next = rune_at(s, end);
    enum rune_class class = next.len == 0 ? RUNE_OTHER : rune_class(next.cp);
    if (end < s.len && class != RUNE_SPACE && class != RUNE_EMOJI && class != RUNE_BIGRAM &&
        !is_opener(next.cp))
        return false;
    size_t word = skip_blank(s, end);
    if (points && enders - i == 1)
        return point_ends(s, start, i, word);
    struct rune after = rune_at(s, word);
    return !(points && after.len != 0 && is_letter(after.cp) && !rune_is_capital(after.cp));
}

/* Behind the emoji that follow on the same line, or `end`. */
static size_t with_emoji(struct str s, size_t end)
{
    size_t i = end;
    for (;;) {
        struct rune r = rune_at(s, i);
        if (r.len == 0 || is_line_end(r.cp))
            return end;
        enum rune_class class = rune_class(r.cp);
        bool tail =
            end == i && (class == RUNE_MARK || class == RUNE_IGNORED || rune_is_skin_tone(r.cp));
        if (class != RUNE_EMOJI && class != RUNE_SPACE && !tail)
            return end;
        i += r.len;
        if (class != RUNE_SPACE)
            end = i;
    }
}

static bool is_thai_before(struct str s, size_t i)
{
    size_t from = i < 3 ? 0 : i - 3;
    enum rune_script script = rune_script(rune_at(s, from).cp);
    return script == SCRIPT_THAI || script == SCRIPT_LAO;
}

/* Where the run of enders, then of closers, at `i` ends. */
static size_t skip_run(struct str s, size_t i, bool (*is)(uint32_t))
{
    for (struct rune r = rune_at(s, i); r.len != 0 && is(r.cp); r = rune_at(s, i))
        i += r.len;
    return i;
}

/* Most bytes: neither a blank, which may end a Thai sentence, nor anything that ends others. */
static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == ',' ||
           c == '\'';
}

/* The end of the sentence that begins at `start`, which is not blank. */
static size_t sentence_end(struct str s, size_t start)
{
    size_t i = start;
    while (i < s.len) {
        if (is_plain(s.at[i])) {
            i++;
            continue;
        }
        struct rune r = rune_at(s, i);
        if (r.len != 0 && is_line_end(r.cp))
            return i;
        if (r.cp == ' ' && i - start >= THAI_BYTES && is_thai_before(s, i))
            return i;
        if (r.len == 0 || !is_ender(r.cp)) {
            i += r.len == 0 ? 1 : r.len;
            continue;
        }
        size_t enders = skip_run(s, i, is_ender);
        size_t end = skip_run(s, enders, is_closer);
        if (ends_here(s, start, i, enders, end))
            return with_emoji(s, end);
        i = end;
    }
    return s.len;
}

static size_t without_blank_end(struct str s, size_t start, size_t end)
{
    while (end > start) {
        size_t last = end - 1;
        while (last > start && ((unsigned char)s.at[last] & 0xc0) == 0x80)
            last--;
        unsigned len;
        if (!is_blank_at(s, last, &len) || last + len != end)
            break;
        end = last;
    }
    return end;
}

bool sentence_next(struct str *rest, struct str *sentence)
{
    size_t start = skip_blank(*rest, 0);
    if (start >= rest->len) {
        *rest = str_part(*rest, rest->len, rest->len);
        return false;
    }
    size_t end = sentence_end(*rest, start);
    *sentence = str_part(*rest, start, without_blank_end(*rest, start, end));
    *rest = str_part(*rest, end, rest->len);
    return true;
}

/* The last sentence end in s[0, max), with the blanks behind it, or 0. */
static size_t last_end(struct str s, size_t max)
{
    struct str window = str_part(s, 0, max + LOOK_AHEAD);
    size_t best = 0, start = skip_blank(window, 0);
    while (start < max) {
        size_t end = sentence_end(window, start);
        if (end > max || (end == window.len && window.len < s.len))
            break;
        start = skip_blank(window, end);
        best = start < max ? start : end;
    }
    return best;
}

static size_t last_space(struct str s, size_t max)
{
    for (size_t i = max; i > 0; i--)
        if (rune_class((unsigned char)s.at[i - 1] & 0x7f) == RUNE_SPACE &&
            (unsigned char)s.at[i - 1] < 0x80)
            return i;
    return 0;
}

bool part_next(struct str *rest, size_t max, struct str *part)
{
    ASSERT(max >= 4); /* a character always fits */
    if (rest->len == 0)
        return false;
    size_t n = rest->len;
    if (n > max) {
        size_t window = utf8_cut(*rest, max).len;
        n = last_end(*rest, window);
        if (n == 0)
            n = last_space(*rest, window);
        if (n == 0)
            n = window;
        if (n == 0) /* a stretch of bytes that are not UTF-8 */
            n = max;
    }
    *part = str_part(*rest, 0, n);
    *rest = str_part(*rest, n, rest->len);
    return true;
}

bool sentence_is_question(struct str sentence)
{
    size_t end = sentence.len;
    while (end > 0) {
        size_t last = end - 1;
        while (last > 0 && ((unsigned char)sentence.at[last] & 0xc0) == 0x80)
            last--;
        struct rune r = rune_at(sentence, last);
        if (r.cp == '?' || r.cp == 0xff1f || r.cp == 0x61f || r.cp == 0x37e || r.cp == 0x55e ||
            r.cp == 0x203d || (r.cp >= 0x2047 && r.cp <= 0x2048) || r.cp == 0x2049)
            return true;
        enum rune_class class = rune_class(r.cp);
        bool tail = class == RUNE_SPACE || class == RUNE_EMOJI || class == RUNE_IGNORED ||
                    class == RUNE_MARK || is_closer(r.cp) || r.cp == '!' || rune_is_skin_tone(r.cp);
        if (r.len == 0 || !tail)
            return false;
        end = last;
    }
    return false;
}
