#include "core/text/dates_int.h"
#include "core/text/rune.h"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_ascii_letter(char c)
{
    return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

static enum rune_class class_at(struct str s, size_t i)
{
    struct rune r = rune_at(s, i);
    return r.len == 0 ? RUNE_OTHER : rune_class(r.cp);
}

/* Behind st, nd, rd or th at `i` when no letter follows, else `i`. */
static size_t skip_ordinal(struct str s, size_t i)
{
    static const char *const tails[] = {"st", "nd", "rd", "th"};
    for (size_t k = 0; k < sizeof tails / sizeof tails[0]; k++) {
        if (i + 2 > s.len || (s.at[i] | 0x20) != tails[k][0] || (s.at[i + 1] | 0x20) != tails[k][1])
            continue;
        enum rune_class after = class_at(s, i + 2);
        if (after != RUNE_LETTER && after != RUNE_DIGIT)
            return i + 2;
    }
    return i;
}

static void lex_digits(struct str s, struct date_token *t)
{
    size_t i = t->at;
    t->kind = TOKEN_DIGITS;
    while (i < s.len && is_digit(s.at[i])) {
        t->value = t->digits < 6 ? t->value * 10 + (s.at[i] - '0') : -1;
        t->digits++;
        i++;
    }
    size_t end = skip_ordinal(s, i);
    t->ordinal = end != i;
    t->glued = class_at(s, end) == RUNE_LETTER || class_at(s, end) == RUNE_CURRENCY ||
               (end < s.len && (s.at[end] == '%' || s.at[end] == '_'));
    t->len = end - t->at;
}

/* The end of the letters and digits at `i`; apostrophes inside belong to the word. */
static size_t word_end(struct str s, size_t i)
{
    while (i < s.len) {
        struct rune r = rune_at(s, i);
        enum rune_class class = r.len == 0 ? RUNE_OTHER : rune_class(r.cp);
        bool inside = class == RUNE_LETTER || class == RUNE_DIGIT || class == RUNE_MARK ||
                      class == RUNE_IGNORED ||
                      (rune_is_apostrophe(r.cp) && class_at(s, i + r.len) == RUNE_LETTER);
        if (!inside)
            break;
        i += r.len;
    }
    return i;
}

/* Folds the word and drops 's, which stays in the span; of I'll and we're the apostrophe goes. */
static void fold_word(struct str s, struct date_token *t)
{
    char out[RUNE_FOLD_MAX];
    struct str raw = str_part(s, t->at, t->at + t->len);
    if (raw.len > 2 * DATE_WORD_BYTES)
        return;
    size_t n = rune_fold(raw, RUNE_STRIP, out, sizeof out);
    if (n > 2 && out[n - 2] == '\'' && out[n - 1] == 's')
        n -= 2;
    size_t len = 0;
    for (size_t i = 0; i < n && len < sizeof t->text; i++)
        if (out[i] != '\'')
            t->text[len++] = out[i];
    if (len == sizeof t->text)
        len = 0;
    t->text[len] = '\0';
}

static void fold_ascii(struct str s, struct date_token *t)
{
    if (t->len >= sizeof t->text)
        return;
    for (size_t i = 0; i < t->len; i++)
        t->text[i] =
            (char)(is_ascii_letter(s.at[t->at + i]) ? s.at[t->at + i] | 0x20 : s.at[t->at + i]);
    t->text[t->len] = '\0';
}

static void lex_word(struct str s, struct date_token *t)
{
    size_t i = t->at;
    t->kind = TOKEN_WORD;
    t->capital = rune_is_capital(rune_at(s, i).cp);
    while (i < s.len && (is_ascii_letter(s.at[i]) || is_digit(s.at[i])))
        i++;
    bool simple = i == s.len || ((unsigned char)s.at[i] < 0x80 && s.at[i] != '\'');
    if (!simple)
        i = word_end(s, t->at);
    t->len = i - t->at;
    if (simple)
        fold_ascii(s, t);
    else
        fold_word(s, t);
    if (t->text[0] != '\0')
        t->word = date__word(t->text);
}

static bool ends_sentence(uint32_t cp)
{
    return cp == '.' || cp == '!' || cp == '?' || cp == 0x2026 || cp == 0x3002 || cp == 0xff01 ||
           cp == 0xff1f || cp == 0x964 || cp == 0x61f || cp == 0x6d4;
}

/* Reads the token at scan->next; TOKEN_END at the end of the text. */
static struct date_token lex(struct date_scan *scan)
{
    struct str s = scan->text;
    struct date_token t = {.kind = TOKEN_END};
    size_t i = scan->next;
    enum rune_class class = RUNE_OTHER;
    struct rune r = {0, 0};
    t.line_start = i == 0;
    for (; i < s.len; i += r.len == 0 ? 1 : r.len) {
        r = rune_at(s, i);
        class = r.len == 0 ? RUNE_OTHER : rune_class(r.cp);
        t.line_start = t.line_start || r.cp == '\n';
        if (r.len != 0 && class != RUNE_SPACE && class != RUNE_IGNORED && class != RUNE_MARK)
            break;
    }
    t.spaced = i > scan->next || i == 0;
    t.at = i;
    t.cp = r.cp;
    if (i >= s.len) {
        scan->next = s.len;
        return t;
    }
    t.len = r.len;
    if (class == RUNE_LETTER)
        lex_word(s, &t);
    else if (is_digit(s.at[i]))
        lex_digits(s, &t);
    else
        t.kind = class == RUNE_BIGRAM ? TOKEN_WIDE : TOKEN_SIGN;
    t.wide = t.kind == TOKEN_SIGN && ends_sentence(r.cp);
    scan->next = t.at + t.len;
    return t;
}

static void fill(struct date_scan *scan)
{
    while (scan->n < DATE_WINDOW) {
        scan->ring[(scan->head + scan->n) % DATE_WINDOW] = lex(scan);
        scan->n++;
    }
}

void date__begin(struct date_scan *scan, struct str text, struct civil today)
{
    *scan = (struct date_scan){.text = text, .today = today, .sentence_start = true, .french = -1};
    fill(scan);
}

static void note(struct date_scan *scan, const struct date_token *t)
{
    if (t->wide || t->line_start) {
        scan->future = false;
        scan->done = false;
    }
    scan->sentence_start = t->wide;
    if (t->kind != TOKEN_WORD)
        return;
    size_t len = strlen(t->text);
    bool will = len > 2 && strcmp(t->text + len - 2, "ll") == 0 &&
                memchr(scan->text.at + t->at, 'l', t->len) != NULL && t->len > len;
    bool see_you = strcmp(scan->before.text, "see") == 0 &&
                   (strcmp(t->text, "you") == 0 || strcmp(t->text, "ya") == 0);
    enum date_role role = t->word == NULL ? ROLE_NONE : (enum date_role)t->word->role;
    if (role == ROLE_FUTURE || role == ROLE_NEXT || role == ROLE_COMING || will || see_you)
        scan->future = true;
    if (role == ROLE_DID)
        scan->done = true;
}

void date__advance(struct date_scan *scan, size_t n)
{
    while (n > 0) {
        struct date_token t = *date__at(scan, 0);
        if (t.kind == TOKEN_END)
            break;
        note(scan, &t);
        scan->before_that = scan->before;
        scan->before = t;
        scan->head = (scan->head + 1) % DATE_WINDOW;
        scan->n--;
        fill(scan);
        n--;
    }
    if (date__at(scan, 0)->line_start)
        scan->sentence_start = true;
}

bool date__is_sign(const struct date_scan *scan, size_t i, uint32_t cp)
{
    const struct date_token *t = date__at(scan, i);
    return t->kind == TOKEN_SIGN && t->cp == cp;
}

enum date_role date__role_before(const struct date_scan *scan)
{
    if (scan->before.word == NULL || date__at(scan, 0)->line_start)
        return ROLE_NONE;
    return (enum date_role)scan->before.word->role;
}
