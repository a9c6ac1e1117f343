#include <inttypes.h>
#include <stdio.h>

#include "core/base/civil.h"
#include "core/base/hash.h"
#include "core/base/limits.h"
#include "core/model/ask_int.h"
#include "core/recall/fence.h"
#include "core/text/sentence.h"
#include "core/text/utf8.h"

enum {
    LINE_BYTES = 16,  /* what a line costs beside its text */
    TEXT_LEAST = 120, /* a text is not cut any shorter */
    PART_LEAST = 4,   /* part_next() */
    MINUTE_MS = 60000,
};

/* What both markers of the fence around recalled text hold. */
#define RECALLED_WORD "hypermem:memory"

/* --- the fence --- */

struct ask_key ask__key(uint64_t seed)
{
    struct ask_key key;
    uint64_t hash = hash64((struct str){(const char *)&seed, sizeof seed});
    (void)snprintf(key.at, sizeof key.at, "%08" PRIx32, (uint32_t)hash);
    return key;
}

void ask__open(struct buf *out, const struct ask_key *key)
{
    buf_printf(out, "<<<%s\n", key->at);
}

void ask__close(struct buf *out, const struct ask_key *key)
{
    buf_printf(out, "%s>>>\n", key->at);
}

/* --- texts --- */

enum piece { PIECE_PLAIN, PIECE_BLANK, PIECE_BREAK };

static size_t word_at(struct str s, size_t i, struct str word)
{
    return s.len - i >= word.len && memcmp(s.at + i, word.at, word.len) == 0 ? word.len : 0;
}

/* U+0085, U+2028, U+2029 and the ASCII ones. */
static size_t break_at(struct str s, size_t i)
{
    unsigned char c = (unsigned char)s.at[i];
    if (c >= '\n' && c <= '\r')
        return 1;
    if (c == 0xc2)
        return word_at(s, i, STR("\xc2\x85"));
    if (c == 0xe2 && word_at(s, i, STR("\xe2\x80\xa8")) == 0)
        return word_at(s, i, STR("\xe2\x80\xa9"));
    return c == 0xe2 ? 3 : 0;
}

static size_t control_at(struct str s, size_t i)
{
    unsigned char c = (unsigned char)s.at[i];
    if (c <= ' ' || c == 0x7f)
        return 1;
    return c == 0xc2 && i + 1 < s.len && (unsigned char)s.at[i + 1] < 0xa0 ? 2 : 0;
}

/* What stands at byte i, and its length. */
static enum piece piece_at(struct str s, size_t i, struct str key, size_t *len)
{
    if ((*len = break_at(s, i)) != 0)
        return PIECE_BREAK;
    if ((*len = control_at(s, i)) != 0 || (*len = word_at(s, i, key)) != 0 ||
        (*len = word_at(s, i, STR(RECALLED_WORD))) != 0)
        return PIECE_BLANK;
    *len = 1;
    return PIECE_PLAIN;
}

static void put_gap(struct buf *out, enum piece gap, enum ask_shape shape)
{
    if (gap == PIECE_BREAK && shape != ASK_ONE_LINE)
        buf_str_put(out, shape == ASK_INDENTED ? STR("\n  ") : STR("\n"));
    else if (gap != PIECE_PLAIN)
        buf_char(out, ' ');
}

void ask__put(struct buf *out, struct str text, const struct ask_key *key, enum ask_shape shape)
{
    struct str word = {key->at, strlen(key->at)};
    enum piece gap = PIECE_PLAIN;
    size_t from = 0;
    bool some = false;
    for (size_t i = 0, len; i < text.len; i += len) {
        enum piece piece = piece_at(text, i, word, &len);
        if (piece != PIECE_PLAIN) {
            buf_str_put(out, str_part(text, from, i));
            from = i + len;
            gap = piece > gap ? piece : gap;
            continue;
        }
        if (some)
            put_gap(out, gap, shape);
        some = true;
        gap = PIECE_PLAIN;
    }
    buf_str_put(out, str_part(text, from, text.len));
}

struct str ask__clip(struct str text, size_t max)
{
    struct str rest = text, part;
    if (text.len <= max)
        return text;
    /* A sentence that leaves more than half unused says too little. */
    if (max >= PART_LEAST && part_next(&rest, max, &part) && part.len > max / 2)
        return str_trim(part);
    part = utf8_cut(text, max);
    for (size_t i = part.len; i > part.len / 2; i--) {
        if (part.at[i - 1] == ' ')
            return str_trim(str_part(part, 0, i));
    }
    return part;
}

/* --- turns --- */

/* The next stretch of the text outside of recalled blocks, which is none of ours to tell again. */
static bool next_said(struct str text, size_t *at, struct str *said, bool *recalled)
{
    struct fence fence = {text.len, text.len};
    if (*at >= text.len)
        return false;
    *recalled = fence_find(text, *at, &fence);
    *said = str_part(text, *at, fence.from);
    *at = fence.to;
    return true;
}

void ask__put_text(struct buf *out, const struct ask_turn *turn, size_t max,
                   const struct ask_key *key, enum ask_shape shape)
{
    struct str said;
    size_t at = 0, left = max, start = out->len;
    bool recalled = false;
    while (next_said(turn->text, &at, &said, &recalled)) {
        struct str shown = ask__clip(said, left);
        if (out->len != start && shown.len != 0)
            buf_char(out, ' ');
        ask__put(out, shown, key, shape);
        if (shown.len < said.len && said.len > left) {
            buf_str_put(out, STR(" […]"));
            return;
        }
        left -= shown.len;
        if (recalled)
            buf_str_put(out,
                        out->len != start ? STR(" [recalled memory]") : STR("[recalled memory]"));
    }
}

static size_t text_cost(const struct ask_turn *turn, size_t max)
{
    struct str said;
    size_t at = 0, sum = LINE_BYTES;
    bool recalled;
    while (next_said(turn->text, &at, &said, &recalled))
        sum += said.len;
    return sum < max + LINE_BYTES ? sum : max + LINE_BYTES;
}

static size_t cost(const struct ask_dialogue *d)
{
    size_t sum = 0;
    for (uint32_t i = 0; i < d->n; i++) {
        if (ask__is_sent(d, i))
            sum += text_cost(&d->turns[i], d->sent.text_max);
    }
    return sum;
}

static void set_count(struct ask_dialogue *d, enum ask_keep keep, uint32_t n)
{
    switch (keep) {
    case ASK_KEEP_FIRST: d->sent.head = n; break;
    case ASK_KEEP_LAST: d->sent.tail = n; break;
    case ASK_KEEP_ENDS:
        d->sent.head = n - n / 2;
        d->sent.tail = n / 2;
        break;
    }
}

static void drop_turns(struct ask_dialogue *d, enum ask_keep keep, size_t target)
{
    uint32_t least = keep == ASK_KEEP_FIRST ? 1 : 2;
    for (uint32_t n = d->n; n > least && cost(d) > target;)
        set_count(d, keep, --n);
}

static void cut_texts(struct ask_dialogue *d, size_t target)
{
    while (d->sent.text_max > TEXT_LEAST && cost(d) > target)
        d->sent.text_max = d->sent.text_max * 3 / 4;
}

bool ask__fit(struct ask_dialogue *dialogue, enum ask_keep keep, unsigned halvings)
{
    dialogue->sent = (struct ask_window){.text_max = LIMIT_DOC_BYTES};
    set_count(dialogue, keep, dialogue->n);
    size_t target = halvings < 32 ? cost(dialogue) >> halvings : 0;
    if (keep == ASK_KEEP_ENDS)
        cut_texts(dialogue, target);
    drop_turns(dialogue, keep, target);
    if (keep != ASK_KEEP_ENDS)
        cut_texts(dialogue, target);
    return cost(dialogue) <= target;
}

bool ask__has_turn(const struct ask_dialogue *dialogue, uint32_t number)
{
    for (uint32_t i = 0; i < dialogue->n; i++) {
        if (dialogue->turns[i].number == number && ask__is_sent(dialogue, i))
            return true;
    }
    return false;
}

/* --- the dialogue --- */

void ask__put_date(struct buf *out, int64_t time_ms, int offset_min)
{
    char date[CIVIL_DATE_MAX];
    size_t n = civil_format(civil_of_moment(time_ms, offset_min), date);
    buf_put(out, date, n);
}

static void put_time(struct buf *out, const struct ask_turn *turn)
{
    static const char *const days[] = {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};
    int64_t local = turn->time_ms + (int64_t)turn->offset_min * MINUTE_MS;
    int64_t in_day = local % MS_PER_DAY;
    int minute = (int)((in_day < 0 ? in_day + MS_PER_DAY : in_day) / MINUTE_MS);
    buf_printf(out, "[%s ", days[civil_weekday(civil_of_moment(turn->time_ms, turn->offset_min))]);
    ask__put_date(out, turn->time_ms, turn->offset_min);
    buf_printf(out, " %02d:%02d]\n", minute / 60, minute % 60);
}

static bool wants_time(const struct ask_turn *before, const struct ask_turn *turn, int64_t gap_ms)
{
    if (before == NULL || before->offset_min != turn->offset_min)
        return true;
    int64_t gap = turn->time_ms - before->time_ms;
    return gap >= gap_ms || gap <= -gap_ms ||
           civil_to_days(civil_of_moment(turn->time_ms, turn->offset_min)) !=
               civil_to_days(civil_of_moment(before->time_ms, before->offset_min));
}

static bool is_machine(struct str role)
{
    return str_eq(role, STR("assistant")) || str_eq(role, STR("tool")) ||
           str_eq(role, STR("system"));
}

static void put_name(struct buf *out, const struct ask_turn *turn, const struct ask_key *key)
{
    size_t start = out->len;
    ask__put(out, turn->speaker, key, ASK_ONE_LINE);
    bool named = out->len != start;
    if (!named)
        ask__put(out, turn->role, key, ASK_ONE_LINE);
    if (out->len == start)
        buf_str_put(out, STR("user"));
    if (named && is_machine(turn->role) && !str_eq(turn->speaker, turn->role))
        buf_printf(out, " (%.*s)", STR_FMT(turn->role));
}

void ask__put_dialogue(struct buf *out, const struct ask_dialogue *dialogue, int64_t gap_ms,
                       const struct ask_key *key)
{
    const struct ask_turn *before = NULL;
    for (uint32_t i = 0; i < dialogue->n; i++) {
        const struct ask_turn *turn = &dialogue->turns[i];
        if (!ask__is_sent(dialogue, i)) {
            if (i == dialogue->sent.head)
                buf_str_put(out, STR("[…]\n"));
            continue;
        }
        if (wants_time(before, turn, gap_ms))
            put_time(out, turn);
        if (before != NULL && before->number == turn->number) {
            buf_str_put(out, STR("  "));
        } else {
            buf_printf(out, "%" PRIu32 " ", turn->number);
            put_name(out, turn, key);
            buf_str_put(out, STR(": "));
        }
        ask__put_text(out, turn, dialogue->sent.text_max, key, ASK_INDENTED);
        buf_char(out, '\n');
        before = turn;
    }
}
