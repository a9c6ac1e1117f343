#include "core/text/sentence.h"
#include "core/text/token_int.h"

enum { UNIT_MAX = 64 }; /* a folded character with its marks */

/* A character of a bigram run with its marks. */
struct unit {
    uint32_t from, to;
    char text[UNIT_MAX];
    size_t len;
};

/* Most characters fold to themselves, which saves a call for each. */
static bool is_inert(uint32_t cp)
{
    return (cp >= 0x4e00 && cp <= 0x9fff) || (cp >= 0x3041 && cp <= 0x3096) ||
           (cp >= 0x30a1 && cp <= 0x30fe) || (cp >= 0xac00 && cp <= 0xd7a3);
}

/* The unit at `i` when a letter of `script` is there. */
static bool unit_at(const struct token_run *run, size_t i, enum rune_script script,
                    struct unit *unit)
{
    struct rune r = rune_at(run->text, i);
    if (r.len == 0 || rune_class(r.cp) != RUNE_BIGRAM || rune_script(r.cp) != script)
        return false;
    unit->from = (uint32_t)i;
    i += r.len;
    bool alone = true;
    for (;;) {
        struct rune next = rune_at(run->text, i);
        if (next.len == 0 || next.cp < 0x300)
            break;
        enum rune_class class = rune_class(next.cp);
        if (class != RUNE_MARK && class != RUNE_IGNORED && next.cp != 0x200b)
            break;
        alone = false;
        i += next.len;
    }
    unit->to = (uint32_t)i;
    struct str raw = str_part(run->text, unit->from, i);
    if (alone && is_inert(r.cp)) {
        memcpy(unit->text, raw.at, raw.len);
        unit->len = raw.len;
    } else {
        unit->len = rune_fold(raw, RUNE_STRIP, unit->text, UNIT_MAX);
    }
    return true;
}

static void put_bigram(struct token_run *run, const struct unit *a, const struct unit *b)
{
    char text[2 * UNIT_MAX];
    memcpy(text, a->text, a->len);
    memcpy(text + a->len, b->text, b->len);
    token__put(run, (struct str){text, a->len + b->len}, a->from, b->to, 0);
}

static void put_unigram(struct token_run *run, const struct unit *unit, unsigned flags)
{
    token__put(run, (struct str){unit->text, unit->len}, unit->from, unit->to, flags);
}

/* Overlapping pairs; when indexing also each character, so that a query of one finds it. */
static size_t scan_bigrams(struct token_run *run, size_t i, enum rune_script script)
{
    struct unit previous = {0}, unit;
    size_t n = 0;
    while (!run->failed && unit_at(run, i, script, &unit)) {
        if (n > 0) {
            put_bigram(run, &previous, &unit);
            if (run->use == TOKEN_INDEX)
                put_unigram(run, &previous, TOKEN_PART);
            run->position++;
        }
        previous = unit;
        i = unit.to;
        n++;
    }
    if (n == 1)
        put_unigram(run, &previous, 0);
    else if (n > 1 && run->use == TOKEN_INDEX)
        put_unigram(run, &previous, TOKEN_PART);
    run->position++;
    run->sentence_start = false;
    return i;
}

/* A grapheme without variation selectors; with a skin tone also without it. */
static size_t scan_emoji(struct token_run *run, size_t i, struct rune first)
{
    char whole[UNIT_MAX], plain[UNIT_MAX];
    size_t whole_len = 0, plain_len = 0, from = i;
    uint32_t previous = first.cp;
    int32_t state = 0;
    for (struct rune r = first; r.len != 0; r = rune_at(run->text, i)) {
        if (i > from && !rune_joins(previous, r.cp, &state))
            break;
        bool selector = r.cp >= 0xfe00 && r.cp <= 0xfe0f;
        if (!selector && whole_len + r.len <= UNIT_MAX) {
            memcpy(whole + whole_len, run->text.at + i, r.len);
            whole_len += r.len;
            if (!rune_is_skin_tone(r.cp)) {
                memcpy(plain + plain_len, run->text.at + i, r.len);
                plain_len += r.len;
            }
        }
        previous = r.cp;
        i += r.len;
    }
    uint32_t start = (uint32_t)from, end = (uint32_t)i;
    token__put(run, (struct str){whole, whole_len}, start, end, 0);
    if (plain_len != whole_len)
        token__put(run, (struct str){plain, plain_len}, start, end, TOKEN_PART);
    run->position++;
    return i;
}

/* Whether the point at `i` stands behind "Mr" or "J" and so ends no sentence. */
static bool is_behind_abbreviation(const struct token_run *run, size_t i)
{
    size_t from = i;
    while (from > 0 && rune_class((unsigned char)run->text.at[from - 1] & 0x7f) == RUNE_LETTER)
        from--;
    return sentence_is_abbreviation(str_part(run->text, from, i));
}

static void note_break(struct token_run *run, size_t i, uint32_t cp)
{
    if (cp == '.')
        run->sentence_start = run->sentence_start || !is_behind_abbreviation(run, i);
    else if (cp == '!' || cp == '?' || cp == '\n' || cp == 0x2026 || cp == 0x3002 || cp == 0xff01 ||
             cp == 0xff1f || cp == 0x964 || cp == 0x61f || cp == 0x6d4)
        run->sentence_start = true;
}

static size_t scan_currency(struct token_run *run, size_t i, struct rune sign)
{
    size_t next = i + sign.len;
    struct rune after = rune_at(run->text, next);
    if (after.len == 0 || rune_class(after.cp) != RUNE_DIGIT)
        return next;
    return token__word(run, next, str_part(run->text, i, next));
}

void token__scan(struct token_run *run)
{
    size_t i = 0;
    while (i < run->text.len && !run->failed) {
        struct rune r = rune_at(run->text, i);
        if (r.len == 0) { /* not UTF-8 */
            i++;
            continue;
        }
        switch (rune_class(r.cp)) {
        case RUNE_LETTER:
        case RUNE_DIGIT: i = token__word(run, i, STR("")); break;
        case RUNE_BIGRAM: i = scan_bigrams(run, i, rune_script(r.cp)); break;
        case RUNE_EMOJI: i = scan_emoji(run, i, r); break;
        case RUNE_CURRENCY: i = scan_currency(run, i, r); break;
        case RUNE_SPACE:
        case RUNE_MARK:
        case RUNE_IGNORED:
        case RUNE_OTHER:
            note_break(run, i, r.cp);
            i += r.len;
            break;
        }
    }
}
