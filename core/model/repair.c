#include "core/model/repair.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#include "core/base/limits.h"
#include "core/text/rune.h"

static const struct str replacement = {"\xef\xbf\xbd", 3}; /* U+FFFD */

struct level {
    char kind;   /* '{' or '[' */
    bool any;    /* it has a child that is whole */
    size_t good; /* length of the output up to its last whole child, or its bracket */
};

struct mend {
    struct str in;
    size_t i;
    struct buf out;
    struct level level[LIMIT_JSON_DEPTH];
    unsigned depth;
    bool cut; /* the input ended inside */
    bool too_deep;
};

static struct level *top(struct mend *m)
{
    return &m->level[m->depth - 1];
}

static bool at_end(const struct mend *m)
{
    return m->i >= m->in.len;
}

static char peek(const struct mend *m, size_t i)
{
    if (i >= m->in.len)
        return '\0';
    return m->in.at[i];
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v';
}

static size_t skip_space(const struct mend *m, size_t i)
{
    while (i < m->in.len && is_space(m->in.at[i]))
        i++;
    return i;
}

static void skip_comment(struct mend *m)
{
    bool line = peek(m, m->i + 1) == '/';
    m->i += 2;
    while (!at_end(m)) {
        char c = m->in.at[m->i++];
        if (line && c == '\n')
            return;
        if (!line && c == '*' && peek(m, m->i) == '/') {
            m->i++;
            return;
        }
    }
}

static void skip_blank(struct mend *m)
{
    for (;;) {
        m->i = skip_space(m, m->i);
        char next = peek(m, m->i + 1);
        if (peek(m, m->i) != '/' || (next != '/' && next != '*'))
            return;
        skip_comment(m);
    }
}

/* --- strings --- */

/* Length of the quote at `i`, 0: none. Typographic quotes have three bytes, U+2018 to U+201F. */
static size_t quote_at(const struct mend *m, size_t i)
{
    char c = peek(m, i);
    if (c == '"' || c == '\'')
        return 1;
    unsigned char last = (unsigned char)peek(m, i + 2);
    bool curly = c == '\xe2' && peek(m, i + 1) == '\x80' && last >= 0x98 && last <= 0x9f;
    return curly ? 3 : 0;
}

/* Whether the quote at `i` can end a string that the one at `open` has begun. */
static bool is_same_kind(const struct mend *m, size_t open, size_t i)
{
    if (quote_at(m, open) == 1)
        return m->in.at[i] == m->in.at[open];
    /* Single ones pair with single ones: U+2018..201B, double ones: U+201C..201F. */
    return quote_at(m, i) == 3 && ((m->in.at[open + 2] ^ m->in.at[i + 2]) & 0x04) == 0;
}

static bool starts_name(const struct mend *m, size_t i)
{
    size_t end = i;
    while (end < m->in.len && (isalnum((unsigned char)m->in.at[end]) || m->in.at[end] == '_'))
        end++;
    return end > i && peek(m, skip_space(m, end)) == ':';
}

/* After a comma: could the next member or element begin at `i`? */
static bool starts_next(const struct mend *m, size_t i, char kind)
{
    char c = peek(m, i);
    if (i >= m->in.len || quote_at(m, i) != 0 || c == '/' || c == '}' || c == ']')
        return true;
    if (kind == '{')
        return starts_name(m, i);
    static const char *const words[] = {"true", "false", "null", "True", "False", "None"};
    struct str rest = str_part(m->in, i, m->in.len);
    for (size_t w = 0; w < sizeof words / sizeof words[0]; w++) {
        if (str_starts(rest, str_of(words[w])))
            return true;
    }
    return c == '{' || c == '[' || c == '-' || isdigit((unsigned char)c);
}

/* A quote inside a string ends it only where JSON can go on behind it. */
static bool is_closing(const struct mend *m, size_t behind, bool is_key, char kind)
{
    size_t next = skip_space(m, behind);
    char c = peek(m, next);
    if (next >= m->in.len || c == '}' || c == ']')
        return true;
    if (is_key)
        return c == ':' || c == '=' || c == ',';
    if (c == ',')
        return starts_next(m, skip_space(m, next + 1), kind);
    if (c == '/')
        return peek(m, next + 1) == '/' || peek(m, next + 1) == '*';
    /* a comma that was forgotten at the end of a line */
    return quote_at(m, next) != 0 && memchr(m->in.at + behind, '\n', next - behind) != NULL;
}

/* The code unit behind "\u" at `i`, or -1. */
static long hex4(const struct mend *m, size_t i)
{
    long value = 0;
    for (size_t k = 0; k < 4; k++) {
        char c = peek(m, i + k);
        if (!isxdigit((unsigned char)c))
            return -1;
        value = value * 16 + (isdigit((unsigned char)c) ? c - '0' : (c | 0x20) - 'a' + 10);
    }
    return value;
}

static void put_unicode(struct mend *m)
{
    long unit = hex4(m, m->i + 2);
    bool is_high = unit >= 0xd800 && unit < 0xdc00;
    if (unit < 0) {
        buf_str_put(&m->out, STR("\\\\u"));
        m->i += 2;
        return;
    }
    long low =
        is_high && peek(m, m->i + 6) == '\\' && peek(m, m->i + 7) == 'u' ? hex4(m, m->i + 8) : -1;
    size_t len = low >= 0xdc00 && low < 0xe000 ? 12 : 6;
    bool lone = unit >= 0xd800 && unit < 0xe000 && len == 6;
    if (unit == 0 || lone)
        buf_str_put(&m->out, replacement);
    else
        buf_str_put(&m->out, str_part(m->in, m->i, m->i + len));
    m->i += len;
}

static void put_escape(struct mend *m)
{
    char c = peek(m, m->i + 1);
    if (c == 'u') {
        put_unicode(m);
        return;
    }
    if (c != '\0' && strchr("\"\\/bfnrt", c) != NULL) {
        buf_str_put(&m->out, str_part(m->in, m->i, m->i + 2));
        m->i += 2;
    } else if (c == '\'') {
        buf_char(&m->out, c);
        m->i += 2;
    } else {
        buf_str_put(&m->out, m->i + 1 < m->in.len ? STR("\\\\") : STR(""));
        m->i++;
    }
}

static void put_character(struct mend *m)
{
    unsigned char c = (unsigned char)m->in.at[m->i];
    struct rune rune = rune_at(m->in, m->i);
    if (rune.len == 0 || c == '\0')
        buf_str_put(&m->out, replacement);
    else if (c == '"')
        buf_str_put(&m->out, STR("\\\""));
    else if (c < 0x20)
        buf_printf(&m->out, "\\u%04x", c);
    else
        buf_str_put(&m->out, str_part(m->in, m->i, m->i + rune.len));
    m->i += rune.len != 0 ? rune.len : 1;
}

/* From the opening quote. False: the input ended inside. */
static bool put_string(struct mend *m, bool is_key)
{
    size_t open = m->i;
    size_t len = quote_at(m, open);
    char kind = top(m)->kind;
    bool ended = false;
    m->i += len;
    buf_char(&m->out, '"');
    while (!ended && !at_end(m)) {
        size_t quote = quote_at(m, m->i);
        ended =
            quote != 0 && is_same_kind(m, open, m->i) && is_closing(m, m->i + quote, is_key, kind);
        if (ended)
            m->i += quote;
        else if (m->in.at[m->i] == '\\')
            put_escape(m);
        else
            put_character(m);
    }
    m->cut = !ended;
    buf_char(&m->out, '"');
    return ended;
}

/* A word without quotes as a string. */
static void put_word(struct mend *m, struct str word)
{
    struct mend inner = {.in = word, .out = m->out};
    buf_char(&inner.out, '"');
    while (!at_end(&inner)) {
        if (word.at[inner.i] == '\\')
            put_escape(&inner);
        else
            put_character(&inner);
    }
    buf_char(&inner.out, '"');
    m->out = inner.out;
}

/* --- words and numbers --- */

static bool is_json_number(struct str s)
{
    size_t i = s.len != 0 && s.at[0] == '-';
    size_t start = i;
    while (i < s.len && isdigit((unsigned char)s.at[i]))
        i++;
    if (i == start || (i > start + 1 && s.at[start] == '0'))
        return false;
    if (i < s.len && s.at[i] == '.') {
        start = ++i;
        while (i < s.len && isdigit((unsigned char)s.at[i]))
            i++;
        if (i == start)
            return false;
    }
    if (i < s.len && (s.at[i] | 0x20) == 'e') {
        i += 1 + (i + 1 < s.len && (s.at[i + 1] == '+' || s.at[i + 1] == '-'));
        start = i;
        while (i < s.len && isdigit((unsigned char)s.at[i]))
            i++;
        if (i == start)
            return false;
    }
    return i == s.len;
}

static bool is_integer_too_large(struct str s)
{
    char text[32];
    if (s.len >= sizeof text)
        return true;
    memcpy(text, s.at, s.len);
    text[s.len] = '\0';
    errno = 0;
    (void)strtoll(text, NULL, 10);
    return strpbrk(text, ".eE") == NULL && errno == ERANGE;
}

/* False: it is no number of any kind. */
static bool put_number(struct mend *m, struct str word)
{
    double value;
    struct str digits = word.len > 1 && word.at[0] == '+' ? str_part(word, 1, word.len) : word;
    bool numeric = digits.len != 0 && (isdigit((unsigned char)digits.at[0]) ||
                                       (strchr("-.", digits.at[0]) != NULL && digits.len > 1));
    if (!numeric || !str_double(digits, &value))
        return false;
    if (is_json_number(digits) && !is_integer_too_large(digits))
        buf_str_put(&m->out, digits);
    else
        buf_printf(&m->out, "%.17g", value);
    return true;
}

static void put_bare(struct mend *m, struct str word)
{
    static const struct {
        const char *word, *json;
    } known[] = {{"true", "true"},     {"false", "false"},    {"null", "null"},
                 {"True", "true"},     {"False", "false"},    {"None", "null"},
                 {"TRUE", "true"},     {"FALSE", "false"},    {"NULL", "null"},
                 {"nil", "null"},      {"undefined", "null"}, {"NaN", "null"},
                 {"Infinity", "null"}, {"-Infinity", "null"}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (str_eq(word, str_of(known[i].word))) {
            buf_str_put(&m->out, str_of(known[i].json));
            return;
        }
    }
    if (!put_number(m, word))
        put_word(m, word);
}

static struct str take_bare(struct mend *m, const char *ends)
{
    size_t start = m->i;
    while (!at_end(m) && (m->in.at[m->i] == '\0' || strchr(ends, m->in.at[m->i]) == NULL))
        m->i++;
    return str_trim(str_part(m->in, start, m->i));
}

/* --- structure --- */

static void whole(struct mend *m)
{
    top(m)->good = m->out.len;
    top(m)->any = true;
}

/* Drops what was written of a child that did not become whole. */
static void drop_child(struct mend *m)
{
    if (buf_ok(&m->out))
        m->out.len = top(m)->good;
}

static void push(struct mend *m)
{
    if (m->depth == LIMIT_JSON_DEPTH) {
        m->too_deep = true;
        return;
    }
    char kind = m->in.at[m->i++];
    buf_char(&m->out, kind);
    m->level[m->depth++] = (struct level){.kind = kind, .good = m->out.len};
}

static void pop(struct mend *m)
{
    drop_child(m);
    buf_char(&m->out, top(m)->kind == '{' ? '}' : ']');
    m->depth--;
    if (m->depth != 0)
        whole(m);
}

/* A closing bracket closes what is open inside its own partner too; one without a partner is
 * nothing. */
static void close_bracket(struct mend *m)
{
    char kind = m->in.at[m->i++] == '}' ? '{' : '[';
    unsigned d = m->depth;
    while (d > 0 && m->level[d - 1].kind != kind)
        d--;
    while (d > 0 && m->depth >= d)
        pop(m);
}

/* False: what stands here is no member; it was stepped over. */
static bool take_name(struct mend *m)
{
    if (quote_at(m, m->i) != 0) {
        if (!put_string(m, true))
            return false;
    } else {
        struct str word = take_bare(m, ":=,{}[]\"\n");
        if (at_end(m)) {
            m->cut = true;
            return false;
        }
        put_word(m, word);
        if (word.len == 0 && peek(m, m->i) != ':') {
            m->i += strchr("}]", m->in.at[m->i]) == NULL;
            return false;
        }
    }
    skip_blank(m);
    m->cut = at_end(m);
    if (peek(m, m->i) != ':' && peek(m, m->i) != '=')
        return false;
    m->i += peek(m, m->i) == '=' && peek(m, m->i + 1) == '>' ? 2 : 1;
    buf_char(&m->out, ':');
    skip_blank(m);
    m->cut = at_end(m);
    return !m->cut;
}

static void take_value(struct mend *m)
{
    char c = m->in.at[m->i];
    if (c == '{' || c == '[') {
        push(m);
        return;
    }
    if (quote_at(m, m->i) != 0) {
        bool ended = put_string(m, false);
        if (ended || top(m)->kind == '{')
            whole(m);
        return;
    }
    struct str word = take_bare(m, ",}]\n");
    m->cut = at_end(m);
    if (m->cut || word.len == 0)
        return;
    put_bare(m, word);
    whole(m);
}

static void take_child(struct mend *m)
{
    drop_child(m);
    if (top(m)->any)
        buf_char(&m->out, ',');
    if (top(m)->kind == '{' && !take_name(m)) {
        drop_child(m);
        return;
    }
    char c = peek(m, m->i);
    if (c == ',' || c == '}' || c == ']')
        drop_child(m); /* a name without a value */
    else
        take_value(m);
}

/* The end came too early: an element of a list that is not whole goes, the rest is closed. */
static void finish_cut(struct mend *m)
{
    for (unsigned d = 0; d + 1 < m->depth; d++) {
        if (m->level[d].kind == '[' && m->level[d + 1].kind == '{') {
            m->depth = d + 1;
            break;
        }
    }
    while (m->depth != 0)
        pop(m);
}

enum root { ROOT_NONE, ROOT_EMPTY, ROOT_FULL };

/* The candidate that begins at the bracket m->i. */
static enum root mend_root(struct mend *m)
{
    m->depth = 0;
    m->cut = false;
    m->too_deep = false;
    buf_clear(&m->out);
    push(m);
    while (m->depth != 0 && !m->too_deep) {
        skip_blank(m);
        m->cut = m->cut || at_end(m);
        if (m->cut)
            break;
        char c = m->in.at[m->i];
        if (c == '}' || c == ']')
            close_bracket(m);
        else if (c == ',' || c == ';')
            m->i++;
        else
            take_child(m);
    }
    if (m->too_deep)
        return ROOT_NONE;
    if (m->depth != 0)
        finish_cut(m);
    return m->level[0].any ? ROOT_FULL : ROOT_EMPTY;
}

/* A list begins with something that a model lists; "[1]" and "[note]" are prose. */
static bool is_candidate(const struct mend *m, size_t i)
{
    if (m->in.at[i] == '{')
        return true;
    size_t next = skip_space(m, i + 1);
    char c = peek(m, next);
    return m->in.at[i] == '[' && (c == '{' || c == '"' || c == '[' || c == ']');
}

static size_t next_candidate(const struct mend *m, size_t i)
{
    while (i < m->in.len && !is_candidate(m, i))
        i++;
    return i;
}

/* Behind the first code fence, if there is something. */
static size_t fence_end(const struct mend *m)
{
    const char *fence = m->in.len != 0 ? memmem(m->in.at, m->in.len, "```", 3) : NULL;
    if (fence == NULL)
        return 0;
    size_t behind = (size_t)(fence - m->in.at) + 3;
    size_t first = next_candidate(m, 0);
    return first < behind || next_candidate(m, behind) >= m->in.len ? 0 : behind;
}

static bool starts_as_json(struct str text)
{
    return text.len != 0 && (text.at[0] == '{' || text.at[0] == '[');
}

enum err_code repair_json(struct arena *arena, struct str text, struct repaired *out)
{
    struct mend m;
    text = str_trim(text.at != NULL ? text : STR(""));
    memset(&m, 0, sizeof m);
    m.in = starts_as_json(text) ? text : repair_think(arena, text);
    if (m.in.at == NULL)
        return ERR_EXHAUSTED;
    /* Each byte becomes six at most ("\u00XX"), and commas and brackets may be added. */
    buf_init(&m.out, arena, 8 * m.in.len + 4096);
    struct str empty = STR_NONE;
    size_t from = next_candidate(&m, fence_end(&m));
    for (unsigned n = 0; n < REPAIR_CANDIDATES && from < m.in.len; n++) {
        m.i = from;
        enum root root = mend_root(&m);
        if (!buf_ok(&m.out))
            return ERR_EXHAUSTED;
        if (m.too_deep)
            break; /* a part of it would be another text */
        *out = (struct repaired){buf_str(&m.out), m.cut};
        if (root == ROOT_FULL)
            return ERR_OK;
        if (root == ROOT_EMPTY && !m.cut && empty.at == NULL)
            empty = m.in.at[from] == '{' ? STR("{}") : STR("[]");
        from = next_candidate(&m, from + 1);
    }
    *out = (struct repaired){empty, false};
    return empty.at != NULL ? ERR_OK : ERR_UNPROCESSABLE;
}
