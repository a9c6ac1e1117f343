#include "core/text/token_int.h"

enum { PIECES_MAX = 16, SPLITS_MAX = 3 };

/* A run of letters, digits and marks of one script; what compounds are made of. */
struct piece {
    uint32_t from, to;                   /* without the tail of a contraction */
    uint32_t end;                        /* where the text goes on */
    uint32_t apostrophe, apostrophe_end; /* the last one inside; 0: none */
    enum rune_script script;
    char joint; /* what joins it to the piece before: - _ . @ & : / or 0 */
    bool letters, digits, small, ascii, dot;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static char at_or_nul(const struct token_run *run, size_t i)
{
    if (i >= run->text.len)
        return '\0';
    return run->text.at[i];
}

static enum rune_class class_at(const struct token_run *run, size_t i)
{
    struct rune r = rune_at(run->text, i);
    return r.len == 0 ? RUNE_OTHER : rune_class(r.cp);
}

/* The comma of 1,000: a digit before, three behind and no fourth. */
static bool is_thousands(const struct token_run *run, size_t i)
{
    return i > 0 && is_digit(run->text.at[i - 1]) && is_digit(at_or_nul(run, i + 1)) &&
           is_digit(at_or_nul(run, i + 2)) && is_digit(at_or_nul(run, i + 3)) &&
           !is_digit(at_or_nul(run, i + 4));
}

/* The point of 3.14, which is one number; those of 1.2.3 and 7.5.2023 join pieces. */
static bool is_decimal(const struct token_run *run, const struct piece *piece, size_t i)
{
    if (piece->dot || piece->joint == '.' || i == 0 || !is_digit(run->text.at[i - 1]) ||
        !is_digit(at_or_nul(run, i + 1)))
        return false;
    size_t end = i + 1;
    while (is_digit(at_or_nul(run, end)))
        end++;
    return !(at_or_nul(run, end) == '.' && is_digit(at_or_nul(run, end + 1)));
}

/* An apostrophe belongs to the word when a letter is on both sides of it. */
static bool is_inside_word(const struct token_run *run, const struct piece *piece, size_t i,
                           unsigned len)
{
    int language = token__language(run, SCRIPT_LATIN);
    if (!piece->letters || (i > 0 && is_digit(run->text.at[i - 1])) ||
        class_at(run, i + len) != RUNE_LETTER)
        return false;
    return language == LANGUAGE_NONE || !language_at((size_t)language)->elides;
}

static bool takes_letter(struct piece *piece, enum rune_script script)
{
    if (piece->script != SCRIPT_NONE && piece->script != script)
        return false;
    piece->script = script;
    piece->letters = true;
    return true;
}

/* Bytes of the character that is neither an ASCII letter nor digit, 0: the piece ends before it. */
static unsigned takes_other(const struct token_run *run, struct piece *piece, size_t i)
{
    struct rune r = rune_at(run->text, i);
    if (r.len == 0)
        return 0;
    if (rune_is_apostrophe(r.cp)) {
        if (!is_inside_word(run, piece, i, r.len))
            return 0;
        piece->apostrophe = (uint32_t)i;
        piece->apostrophe_end = (uint32_t)i + r.len;
        piece->ascii = piece->ascii && r.cp == '\'';
        return r.len;
    }
    if (r.cp < 0x80) {
        bool dot = r.cp == '.' && is_decimal(run, piece, i);
        piece->dot = piece->dot || dot;
        return dot || (r.cp == ',' && is_thousands(run, i)) ? 1 : 0;
    }
    piece->ascii = false;
    switch (rune_class(r.cp)) {
    case RUNE_LETTER:
        if (!takes_letter(piece, rune_script(r.cp)))
            return 0;
        piece->small = piece->small || !rune_is_capital(r.cp);
        return r.len;
    case RUNE_DIGIT: piece->digits = true; return r.len;
    case RUNE_MARK:
    case RUNE_IGNORED: return r.len;
    default: return 0;
    }
}

/* 's, 'll, 're, 've, 'd and 'm are words of their own that nobody searches for. */
static bool is_contraction(struct str tail)
{
    static const char *const tails[] = {"s", "ll", "re", "ve", "d", "m"};
    char lower[3] = "";
    if (tail.len == 0 || tail.len > 2)
        return false;
    for (size_t i = 0; i < tail.len; i++)
        lower[i] = (char)(tail.at[i] | 0x20);
    for (size_t i = 0; i < sizeof tails / sizeof tails[0]; i++)
        if (strcmp(lower, tails[i]) == 0)
            return true;
    return false;
}

static struct piece scan_piece(const struct token_run *run, size_t i, char joint)
{
    struct piece piece = {.from = (uint32_t)i, .joint = joint, .ascii = true};
    while (i < run->text.len) {
        char c = run->text.at[i];
        unsigned n = 1;
        if ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') {
            if (!takes_letter(&piece, SCRIPT_LATIN))
                break;
            piece.small = piece.small || c >= 'a';
        } else if (is_digit(c)) {
            piece.digits = true;
        } else {
            bool ascii = piece.ascii;
            n = takes_other(run, &piece, i);
            if (n == 0) {
                piece.ascii = ascii;
                break;
            }
        }
        i += n;
    }
    piece.end = piece.to = (uint32_t)i;
    if (piece.apostrophe != 0 && is_contraction(str_part(run->text, piece.apostrophe_end, i)))
        piece.to = piece.apostrophe;
    return piece;
}

/* Lower case, composed, without apostrophes and the commas of thousands. */
static struct str fold_piece(const struct token_run *run, const struct piece *piece,
                             enum rune_fold how, char out[RUNE_FOLD_MAX])
{
    struct str raw = str_part(run->text, piece->from, piece->to);
    size_t n = 0, len = raw.len < RUNE_FOLD_MAX ? raw.len : RUNE_FOLD_MAX;
    if (piece->ascii)
        memcpy(out, raw.at, len);
    else
        len = rune_fold(raw, how, out, RUNE_FOLD_MAX);
    for (size_t i = 0; i < len; i++)
        if (out[i] != '\'' && out[i] != ',')
            out[n++] = (char)(out[i] >= 'A' && out[i] <= 'Z' ? out[i] | 0x20 : out[i]);
    return (struct str){out, n};
}

static struct token_word word_of(const struct piece *piece, struct str text, unsigned flags)
{
    return (struct token_word){.text = text,
                               .script = piece->script,
                               .ascii = piece->ascii,
                               .shouted = !piece->small && text.len > 1,
                               .from = piece->from,
                               .to = piece->to,
                               .flags = flags};
}

static bool is_ordinal(struct str tail)
{
    return str_eq(tail, STR("st")) || str_eq(tail, STR("nd")) || str_eq(tail, STR("rd")) ||
           str_eq(tail, STR("th"));
}

/* Where the digits or the letters at `i` end; a decimal point goes with digits. */
static size_t split_end(struct str word, size_t i)
{
    bool digits = is_digit(word.at[i]);
    while (i < word.len && (is_digit(word.at[i]) || word.at[i] == '.') == digits)
        i++;
    return i;
}

/* 15km: also 15 and km. More than three runs are no measure but an identifier. */
static void put_splits(struct token_run *run, const struct piece *piece, struct str word,
                       unsigned flags)
{
    size_t ends[SPLITS_MAX], n = 0;
    for (size_t i = 0; i < word.len; n++) {
        i = split_end(word, i);
        if (n == SPLITS_MAX)
            return;
        ends[n] = i;
    }
    for (size_t k = 0, from = 0; k < n; from = ends[k], k++) {
        struct str part = str_part(word, from, ends[k]);
        if (is_digit(part.at[0])) {
            token__put(run, part, piece->from, piece->to, flags | TOKEN_PART | TOKEN_NUMBER);
        } else if (part.len > 1 && !is_ordinal(part)) {
            struct token_word w = word_of(piece, part, flags | TOKEN_PART);
            token__put_word(run, &w);
        }
    }
}

static void put_piece(struct token_run *run, const struct piece *piece, unsigned flags)
{
    char out[RUNE_FOLD_MAX];
    if (!piece->digits) {
        struct token_word word =
            word_of(piece, fold_piece(run, piece, RUNE_KEEP_MARKS, out), flags);
        token__put_word(run, &word);
        return;
    }
    struct str text = fold_piece(run, piece, RUNE_STRIP, out);
    token__put(run, text, piece->from, piece->to, flags | TOKEN_NUMBER);
    if (piece->letters && (flags & TOKEN_PART) == 0)
        put_splits(run, piece, text, flags & ~(unsigned)TOKEN_CAPITAL);
}

struct whole {
    char text[RUNE_FOLD_MAX];
    size_t len;
};

static void whole_add(struct whole *whole, struct str s)
{
    size_t room = sizeof whole->text - whole->len;
    size_t n = s.len < room ? s.len : room;
    memcpy(whole->text + whole->len, s.at, n);
    whole->len += n;
}

static struct str whole_str(const struct whole *whole)
{
    return (struct str){whole->text, whole->len};
}

static void whole_of(const struct token_run *run, const struct piece *pieces, size_t n,
                     bool with_joints, struct whole *whole)
{
    char out[RUNE_FOLD_MAX];
    whole->len = 0;
    for (size_t i = 0; i < n; i++) {
        if (with_joints && pieces[i].joint != 0)
            whole_add(whole, (struct str){&pieces[i].joint, 1});
        whole_add(whole, fold_piece(run, &pieces[i], RUNE_STRIP, out));
    }
}

/* U.S.A. and p.m.: single letters joined by points are one word without them. */
static bool is_acronym(const struct piece *pieces, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (pieces[i].to - pieces[i].from != 1 || !pieces[i].letters ||
            (i > 0 && pieces[i].joint != '.'))
            return false;
    return true;
}

/* e-mail is also email, covid-19 also covid19; a date or a telephone number is not run together. */
static bool is_run_together(const struct piece *pieces, size_t n)
{
    bool letters = false;
    for (size_t i = 0; i < n; i++) {
        letters = letters || pieces[i].letters;
        if ((i > 0 && pieces[i].joint != '-') || pieces[i].script > SCRIPT_LATIN)
            return false;
    }
    return letters && n <= 3;
}

static void put_run_together(struct token_run *run, const struct piece *pieces, size_t n,
                             bool digits, unsigned flags)
{
    struct whole whole;
    struct piece span = pieces[0];
    whole_of(run, pieces, n, false, &whole);
    span.to = pieces[n - 1].to;
    span.script = SCRIPT_LATIN;
    span.ascii = true; /* the accents are gone */
    if (digits) {
        token__put(run, whole_str(&whole), span.from, span.to, flags | TOKEN_NUMBER);
    } else {
        struct token_word word = word_of(&span, whole_str(&whole), flags);
        token__put_word(run, &word);
    }
}

static void put_compound(struct token_run *run, const struct piece *pieces, size_t n,
                         unsigned flags)
{
    struct whole whole;
    uint32_t from = pieces[0].from, to = pieces[n - 1].to;
    bool digits = false;
    for (size_t i = 0; i < n; i++)
        digits = digits || pieces[i].digits;
    bool acronym = is_acronym(pieces, n);
    whole_of(run, pieces, n, !acronym, &whole);
    token__put(run, whole_str(&whole), from, to, flags | (digits ? TOKEN_NUMBER : 0u));
    if (acronym)
        return;
    unsigned part = TOKEN_PART | (flags & TOKEN_CAPITAL);
    for (size_t i = 0; i < n; i++)
        put_piece(run, &pieces[i], i == 0 ? part : TOKEN_PART);
    if (is_run_together(pieces, n))
        put_run_together(run, pieces, n, digits, TOKEN_PART);
}

/* The character that joins the piece before `i` to the one after it, at `*next`; 0: none. */
static char joint_at(const struct token_run *run, size_t i, size_t *next)
{
    struct rune r = rune_at(run->text, i);
    bool hyphen = r.cp == 0x2010 || r.cp == 0x2011;
    if (r.len == 0 || (r.cp >= 0x80 && !hyphen))
        return 0;
    char joint = '-';
    if (!hyphen)
        joint = run->text.at[i];
    if (joint == '\0' || strchr("-_.@&:/", joint) == NULL)
        return 0;
    *next = i + r.len;
    enum rune_class after = class_at(run, *next);
    if (after != RUNE_DIGIT && (after != RUNE_LETTER || joint == ':' || joint == '/'))
        return 0;
    if ((joint == ':' || joint == '/') && (i == 0 || !is_digit(run->text.at[i - 1])))
        return 0;
    return joint;
}

static bool is_url_end(struct rune r)
{
    if (r.len == 0)
        return true;
    if (r.cp < 0x80)
        return r.cp <= ' ' || r.cp == 0x7f || strchr("<>\"'`{}|\\^", (int)r.cp) != NULL;
    enum rune_class class = rune_class(r.cp);
    return class != RUNE_LETTER && class != RUNE_DIGIT && class != RUNE_MARK;
}

/* One term, and each word in it but the scheme. `i` is behind the scheme. */
static size_t put_url(struct token_run *run, size_t from, size_t i, unsigned flags)
{
    size_t end = i;
    while (!is_url_end(rune_at(run->text, end)))
        end += rune_at(run->text, end).len;
    while (end > i && strchr(".,;:!?)]*/", run->text.at[end - 1]) != NULL)
        end--;
    struct piece all = {.from = (uint32_t)from, .to = (uint32_t)end};
    char out[RUNE_FOLD_MAX];
    token__put(run, fold_piece(run, &all, RUNE_STRIP, out), all.from, all.to, flags);
    while (i < end && !run->failed) {
        enum rune_class class = class_at(run, i);
        if (class != RUNE_LETTER && class != RUNE_DIGIT) {
            i += rune_at(run->text, i).len;
            continue;
        }
        struct piece piece = scan_piece(run, i, 0);
        i = piece.end;
        if (!str_eq(str_part(run->text, piece.from, piece.to), STR("www")))
            put_piece(run, &piece, TOKEN_PART);
    }
    return i > end ? i : end;
}

/* Bytes of "://" behind a scheme, or of the point behind "www". */
static size_t url_head(const struct token_run *run, const struct piece *piece)
{
    struct str rest = str_part(run->text, piece->end, run->text.len);
    if (!piece->letters || !piece->ascii)
        return 0;
    if (str_starts(rest, STR("://")) && rest.len > 3 && !is_url_end(rune_at(rest, 3)))
        return 3;
    struct str word = str_part(run->text, piece->from, piece->to);
    bool www = str_eq(word, STR("www")) || str_eq(word, STR("WWW"));
    return www && str_starts(rest, STR(".")) && class_at(run, piece->end + 1) == RUNE_LETTER;
}

/* C++ and C#: bytes of the signs behind the letters. */
static size_t sign_behind_letters(const struct token_run *run, const struct piece *piece)
{
    size_t i = piece->end;
    if (piece->digits || piece->to != piece->end)
        return 0;
    if (at_or_nul(run, i) == '+' && at_or_nul(run, i + 1) == '+')
        return 2;
    bool sharp = at_or_nul(run, i) == '#' && piece->to - piece->from <= 2;
    enum rune_class after = class_at(run, i + 1);
    return sharp && after != RUNE_LETTER && after != RUNE_DIGIT;
}

/* 50%, 200€: bytes of the sign behind the number. */
static size_t sign_behind_number(const struct token_run *run, const struct piece *piece)
{
    struct rune r = rune_at(run->text, piece->end);
    if (!piece->digits || r.len == 0)
        return 0;
    return r.cp == '%' || rune_class(r.cp) == RUNE_CURRENCY ? r.len : 0;
}

/* A single piece with a sign. 200€ and €200 are one term; the bare number or word is a part. */
static void put_signed(struct token_run *run, const struct piece *piece, struct str before,
                       struct str behind, unsigned flags)
{
    struct whole whole = {.len = 0};
    char out[RUNE_FOLD_MAX];
    bool currency = behind.len != 0 && piece->digits && behind.at[0] != '%';
    whole_add(&whole, currency ? behind : before);
    whole_add(&whole, fold_piece(run, piece, RUNE_STRIP, out));
    if (!currency)
        whole_add(&whole, behind);
    uint32_t from = piece->from - (uint32_t)before.len, to = piece->to + (uint32_t)behind.len;
    token__put(run, whole_str(&whole), from, to, flags | (piece->digits ? TOKEN_NUMBER : 0u));
    if (piece->digits || piece->to - piece->from > 1)
        put_piece(run, piece, TOKEN_PART | (flags & TOKEN_CAPITAL));
}

/* A capital letter that the start of a sentence does not explain; NASA and iPhone explain
 * themselves. */
static unsigned capital_flag(const struct token_run *run, const struct piece *piece)
{
    struct rune first = rune_at(run->text, piece->from);
    if (!rune_is_capital(first.cp))
        return 0;
    if (!run->sentence_start)
        return TOKEN_CAPITAL;
    struct rune second = rune_at(run->text, piece->from + first.len);
    return second.len != 0 && rune_is_capital(second.cp) ? TOKEN_CAPITAL : 0;
}

/* Whether a blank or the like follows, as after most words: then there is nothing to look for. */
static bool stands_alone(const struct token_run *run, size_t end)
{
    switch (at_or_nul(run, end)) {
    case ' ':
    case '\n':
    case ',':
    case ';':
    case '!':
    case '?':
    case ')':
    case '"': return true;
    default: return false;
    }
}

/* The pieces that joints tie to the first, and to each other: how many with it. */
static size_t scan_joined(const struct token_run *run, struct piece pieces[PIECES_MAX])
{
    size_t n = 1, next = 0;
    while (n < PIECES_MAX) {
        char joint = joint_at(run, pieces[n - 1].end, &next);
        if (joint == '\0')
            break;
        pieces[n++] = scan_piece(run, next, joint);
    }
    return n;
}

/* A single piece, with the signs before and behind it; returns where it ends. */
static size_t put_single(struct token_run *run, const struct piece *piece, struct str before,
                         unsigned flags)
{
    size_t n = sign_behind_letters(run, piece);
    if (n == 0 && before.len == 0)
        n = sign_behind_number(run, piece);
    if (n == 0 && before.len == 0)
        put_piece(run, piece, flags);
    else
        put_signed(run, piece, before, str_part(run->text, piece->end, piece->end + n), flags);
    return piece->end + n;
}

size_t token__word(struct token_run *run, size_t i, struct str sign)
{
    struct piece pieces[PIECES_MAX];
    pieces[0] = scan_piece(run, i, 0);
    size_t end = pieces[0].end;
    unsigned flags = capital_flag(run, &pieces[0]);
    bool alone = sign.len == 0 && stands_alone(run, end);
    size_t url = alone ? 0 : url_head(run, &pieces[0]);
    size_t n = alone || url != 0 ? 1 : scan_joined(run, pieces);
    if (alone) {
        put_piece(run, &pieces[0], flags);
    } else if (url != 0) {
        end = put_url(run, pieces[0].from, end + url, flags);
    } else if (n > 1) {
        end = pieces[n - 1].end;
        put_compound(run, pieces, n, flags);
    } else {
        end = put_single(run, &pieces[0], sign, flags);
    }
    run->position++;
    run->sentence_start = false;
    return end;
}
