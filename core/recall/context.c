/* The context: the text that a client pastes into a prompt (DESIGN 7, Context).
 *
 *   8 May 2023                      a line when the local date changes
 *   Summary: title. summary         episodes of the reply, from 1,500 tokens up, a fifth at most
 *   Caroline:                       a line when the speaker changes
 *   I went to a support group …     the turn as it was said
 *
 * Units are taken by worth: score / (60 + characters)^0.4, so that a short turn that says it goes
 * before a long one that says it too (measured: 1.7 points of evidence at 1,000 tokens). Each is
 * added when the exact length of the whole text stays within 4 characters a token; one that does
 * not fit is passed over, MISSES of them end it. A long turn that does not fit gives its best
 * facts.
 *
 * For an answer each unit ends in what it may be cited by, " [turn_12]", which counts as text.
 *
 * I1  characters of the text <= 4 * max_tokens.  I2  each text stands once.
 * I3  turn_ids names turns whose whole text is there. */
#include <math.h>

#include "core/base/civil.h"
#include "core/graph/node_id.h"
#include "core/recall/context_int.h"

enum {
    MISSES = 20,
    LONG_CHARS = 600, /* a unit over it may be replaced by its facts */
    UNITS_MAX = 4096,
    CHARS_A_TERM = 9, /* of English dialogue, stop words and blanks included */
};

/* --- lengths --- */

/* Bytes that do not continue a character; eight at a time. */
static size_t count_chars(struct str s)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    size_t n = s.len, i = 0;
    for (; i + 8 <= s.len; i += 8) {
        uint64_t v;
        memcpy(&v, s.at + i, 8);
        n -= (v >> 7 & ~(v >> 6) & ones) * ones >> 56; /* adds up the bytes */
    }
    for (; i < s.len; i++)
        n -= ((unsigned char)s.at[i] & 0xc0) == 0x80;
    return n;
}

static size_t write_number(unsigned number, char *out)
{
    char digits[12];
    size_t n = 0;
    do {
        digits[n++] = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    for (size_t i = 0; i < n; i++)
        out[i] = digits[n - 1 - i];
    return n;
}

size_t context__write_day(int64_t day, char out[CONTEXT_DAY_MAX])
{
    static const char *const months[12] = {"January",   "February", "March",    "April",
                                           "May",       "June",     "July",     "August",
                                           "September", "October",  "November", "December"};
    struct civil date = civil_from_days(day);
    struct str month = str_of(months[date.month - 1]);
    size_t n = write_number((unsigned)date.day, out);
    out[n++] = ' ';
    memcpy(out + n, month.at, month.len);
    n += month.len;
    out[n++] = ' ';
    return n + write_number((unsigned)date.year, out + n);
}

int64_t context__day(int64_t time_ms, int offset_min)
{
    return civil_to_days(civil_of_moment(time_ms, offset_min));
}

void context__measure(struct unit *unit, int offset_min)
{
    char day[CONTEXT_DAY_MAX];
    unit->day = context__day(unit->time_ms, offset_min);
    unit->day_chars = context__write_day(unit->day, day);
    unit->speaker_chars = count_chars(unit->speaker);
    unit->text_chars = count_chars(unit->text);
}

/* Of a text that has the unit `b` right behind `a` (NULL: nothing). */
static size_t cost(const struct unit *a, const struct unit *b)
{
    size_t chars = b->text_chars + b->mark_chars + 1;
    bool new_day = a == NULL || a->day != b->day;
    if (new_day)
        chars += b->day_chars + 1;
    if (b->kind != UNIT_SUMMARY &&
        (new_day || a->kind == UNIT_SUMMARY || !str_eq(a->speaker, b->speaker)))
        chars += b->speaker_chars + 2;
    return chars;
}

static bool goes_before(const struct unit *a, const struct unit *b)
{
    if (a->time_ms != b->time_ms)
        return a->time_ms < b->time_ms;
    if (a->n != b->n)
        return a->n < b->n;
    return a->kind != b->kind ? a->kind < b->kind : a->id < b->id;
}

enum err_code context__add(struct pack *p, const struct unit *unit, bool *added, struct err *err)
{
    uint32_t at = p->n;
    while (at > 0 && goes_before(unit, p->units[at - 1]))
        at--;
    const struct unit *left = at == 0 ? NULL : p->units[at - 1];
    size_t more = cost(left, unit);
    size_t less = 0;
    if (at < p->n) {
        more += cost(unit, p->units[at]);
        less = cost(left, p->units[at]);
    }
    /* The last line has no line feed. */
    *added = p->n < p->cap && p->used + more - less <= p->limit + 1;
    if (!*added)
        return ERR_OK;
    struct unit *copy = arena_copy(p->r->arena, unit, sizeof *unit);
    if (copy == NULL)
        return recall__memory(err);
    copy->late = p->late;
    memmove(&p->units[at + 1], &p->units[at], (size_t)(p->n - at) * sizeof(struct unit *));
    p->units[at] = copy;
    p->n++;
    p->used = p->used + more - less;
    return ERR_OK;
}

/* --- units --- */

static struct str shown_id(const struct recall *r, const struct unit *unit)
{
    if (unit->kind == UNIT_TURN)
        return unit->shown_id;
    return node_id_str(r->arena, unit->kind == UNIT_FACT ? NODE_FACT : NODE_EPISODE, unit->id);
}

enum err_code context__mark(const struct recall *r, struct unit *unit, struct err *err)
{
    if (!r->query->marks)
        return ERR_OK;
    struct str id = shown_id(r, unit);
    unit->mark = str_printf(r->arena, " [%.*s]", STR_FMT(id));
    if (id.at == NULL || unit->mark.at == NULL)
        return recall__memory(err);
    unit->mark_chars = count_chars(unit->mark);
    return ERR_OK;
}

static enum err_code turn_unit(struct recall *r, uint32_t doc, struct unit *unit, struct err *err)
{
    struct turn_row row;
    struct turn turn;
    *unit = (struct unit){.kind = UNIT_TURN, .id = doc, .text = STR("")};
    columns_turn(r->columns, doc, &row);
    enum err_code rc = turn_get(r->txn, r->space, row.n, &turn, err);
    if (rc != ERR_OK || turn.n == 0)
        return rc;
    unit->shown_id = turn_shown_id(r->arena, &turn);
    if (unit->shown_id.at == NULL)
        return recall__memory(err);
    rc = recall__part(r, &turn, doc, &unit->text, err);
    unit->n = turn.n;
    unit->parts = turn.docs;
    unit->text = str_trim(unit->text);
    unit->time_ms = turn.time_ms;
    unit->speaker = turn_speaker(&turn);
    context__measure(unit, turn.offset_min);
    return rc == ERR_OK ? context__mark(r, unit, err) : rc;
}

/* A built-in fact says "Caroline: …" or "Caroline (asked “…”): …"; the speaker has a line above. */
static struct str without_speaker(struct str content, struct str speaker)
{
    struct str rest = str_part(content, speaker.len, content.len);
    if (!str_starts(content, speaker))
        return content;
    if (str_starts(rest, STR(": ")))
        return str_part(rest, 2, rest.len);
    return str_starts(rest, STR(" (asked ")) ? str_part(rest, 1, rest.len) : content;
}

/* The facts of a long turn that did not fit, best first, while they fit. */
static enum err_code add_facts_of(struct pack *p, const struct unit *turn, struct err *err)
{
    struct recall *r = p->r;
    const struct candidates *facts = &r->stage[STAGE_FACTS];
    bool added = true;
    for (uint32_t i = 0; added && i < facts->n; i++) {
        struct fact fact;
        if (facts->at[i].turn_doc != turn->id)
            continue;
        enum err_code rc = fact_get(r->txn, r->space, facts->at[i].id, r->arena, &fact, err);
        if (rc != ERR_OK)
            return rc;
        if (fact.id == 0)
            continue;
        struct unit unit = *turn;
        unit.kind = UNIT_FACT;
        unit.id = fact.id;
        unit.text = without_speaker(fact.content, turn->speaker);
        unit.text_chars = count_chars(unit.text);
        rc = context__mark(r, &unit, err);
        if (rc != ERR_OK)
            return rc;
        rc = context__add(p, &unit, &added, err);
        if (rc != ERR_OK)
            return rc;
    }
    return ERR_OK;
}

/* --- turns by worth: a heap, the best on top, since most are never asked for --- */

struct worth {
    float value;
    uint32_t doc;
};
struct worths {
    struct worth *at;
    uint32_t n;
};

static bool is_better(const struct worth *a, const struct worth *b)
{
    return a->value != b->value ? a->value > b->value : a->doc < b->doc;
}

static void sift_down(struct worths *list, uint32_t at)
{
    struct worth moved = list->at[at];
    for (uint32_t child = 2 * at + 1; child < list->n; child = 2 * at + 1) {
        if (child + 1 < list->n && is_better(&list->at[child + 1], &list->at[child]))
            child++;
        if (!is_better(&list->at[child], &moved))
            break;
        list->at[at] = list->at[child];
        at = child;
    }
    list->at[at] = moved;
}

static struct worth take_best(struct worths *list)
{
    struct worth best = list->at[0];
    list->at[0] = list->at[--list->n];
    if (list->n != 0)
        sift_down(list, 0);
    return best;
}

/* Each list is ranked, so the first time a document is met is its best. */
static void list_worth(struct recall *r, const struct candidates *list, struct worths *out)
{
    for (uint32_t i = 0; i < list->n; i++) {
        uint32_t doc = list->at[i].turn_doc;
        struct turn_info *info = recall__turn(r, doc);
        if ((info->state & TURN_WEIGHED) != 0)
            continue;
        info->state |= TURN_WEIGHED;
        float chars = info->length * CHARS_A_TERM;
        bool judged = r->query->reranked != NULL && list == &r->stage[STAGE_FACTS];
        float score = judged ? list->at[i].worth : list->at[i].score;
        out->at[out->n].value = score / powf(60.0f + chars, 0.4f);
        out->at[out->n++].doc = doc;
    }
}

static enum err_code pack_turns(struct pack *p, struct worths *list, struct err *err)
{
    unsigned misses = 0;
    while (list->n != 0 && misses < MISSES) {
        struct unit unit;
        bool added = false;
        enum err_code rc = turn_unit(p->r, take_best(list).doc, &unit, err);
        if (rc == ERR_OK && unit.n != 0 && unit.text.len != 0) {
            rc = context__add(p, &unit, &added, err);
            misses += !added;
            if (rc == ERR_OK && !added && unit.text_chars > LONG_CHARS)
                rc = add_facts_of(p, &unit, err);
        }
        if (rc != ERR_OK)
            return rc;
    }
    return ERR_OK;
}

/* --- the text and its lists --- */

static void write_text(const struct pack *p, struct buf *out)
{
    const struct unit *last = NULL;
    for (uint32_t i = 0; i < p->n; i++) {
        const struct unit *u = p->units[i];
        bool new_day = last == NULL || last->day != u->day;
        char day[CONTEXT_DAY_MAX];
        if (last != NULL)
            buf_char(out, '\n');
        if (new_day) {
            buf_put(out, day, context__write_day(u->day, day));
            buf_char(out, '\n');
        }
        if (u->kind != UNIT_SUMMARY &&
            (new_day || last->kind == UNIT_SUMMARY || !str_eq(last->speaker, u->speaker))) {
            buf_str_put(out, u->speaker);
            buf_put(out, ":\n", 2);
        }
        buf_str_put(out, u->text);
        buf_str_put(out, u->mark);
        last = u;
    }
}

static bool holds_fact(const struct pack *p, const struct candidate *fact)
{
    for (uint32_t i = 0; i < p->n; i++) {
        const struct unit *u = p->units[i];
        if ((u->kind == UNIT_FACT && u->id == fact->id) ||
            (u->kind == UNIT_TURN && u->id == fact->turn_doc))
            return true;
    }
    return false;
}

/* I3: from unit i on stand all parts of one turn, next to each other. */
static bool is_whole(const struct pack *p, uint32_t i)
{
    const struct unit *first = p->units[i];
    uint32_t n = 0;
    if (i != 0 && p->units[i - 1]->kind == UNIT_TURN && p->units[i - 1]->n == first->n)
        return false;
    while (i + n < p->n && p->units[i + n]->kind == UNIT_TURN && p->units[i + n]->n == first->n)
        n++;
    return n >= first->parts;
}

static enum err_code write_lists(const struct pack *p, struct recall_context *out, struct err *err)
{
    struct recall *r = p->r;
    uint32_t shown = r->shown[STAGE_FACTS];
    out->turn_ids = ARENA_ARRAY(r->arena, struct str, p->n);
    out->episode_ids = ARENA_ARRAY(r->arena, uint32_t, p->n);
    out->fact_ids = ARENA_ARRAY(r->arena, uint32_t, (size_t)shown + p->n);
    if (out->turn_ids == NULL || out->episode_ids == NULL || out->fact_ids == NULL)
        return recall__memory(err);
    for (uint32_t i = 0; i < p->n; i++) {
        const struct unit *u = p->units[i];
        if (u->kind == UNIT_SUMMARY)
            out->episode_ids[out->n_episode_ids++] = u->id;
        else if (u->kind == UNIT_TURN && is_whole(p, i))
            out->turn_ids[out->n_turn_ids++] = u->shown_id;
    }
    for (uint32_t i = 0; i < shown; i++)
        if (holds_fact(p, &r->stage[STAGE_FACTS].at[i]))
            out->fact_ids[out->n_fact_ids++] = r->stage[STAGE_FACTS].at[i].id;
    return ERR_OK;
}

/* What the marks name; copied, for who reads it when the snapshot is closed. */
static enum err_code write_marks(const struct pack *p, struct recall_context *out, struct err *err)
{
    static const enum recall_mark_kind kinds[] = {
        [UNIT_SUMMARY] = MARK_EPISODE, [UNIT_TURN] = MARK_TURN, [UNIT_FACT] = MARK_FACT};
    struct recall *r = p->r;
    if (!r->query->marks)
        return ERR_OK;
    out->marks = ARENA_ARRAY(r->arena, struct recall_mark, p->n);
    if (out->marks == NULL)
        return recall__memory(err);
    for (uint32_t i = 0; i < p->n; i++) {
        const struct unit *u = p->units[i];
        bool part = i != 0 && u->kind == UNIT_TURN && p->units[i - 1]->kind == UNIT_TURN &&
                    p->units[i - 1]->n == u->n;
        if (part)
            continue; /* of a long turn that stands there already */
        struct str id = str_copy(r->arena, shown_id(r, u));
        if (id.at == NULL)
            return recall__memory(err);
        out->marks[out->n_marks++] = (struct recall_mark){kinds[u->kind], id};
    }
    return ERR_OK;
}

/* Turns to the share that summaries leave, summaries, and turns again into what is left. */
static enum err_code pack_with_summaries(struct pack *p, struct worths *list, struct err *err)
{
    size_t whole = p->limit;
    p->limit = whole - context__summary_chars(whole);
    enum err_code rc = pack_turns(p, list, err);
    p->limit = whole;
    if (rc == ERR_OK)
        rc = context__add_summaries(p, err);
    uint32_t before = p->n;
    p->late = true;
    if (rc == ERR_OK)
        rc = pack_turns(p, list, err);
    return rc == ERR_OK && p->n != before ? context__trim_summaries(p, err) : rc;
}

static enum err_code pack_all(struct pack *p, struct err *err)
{
    struct recall *r = p->r;
    const struct candidates *lists[] = {&r->stage[STAGE_FACTS], &r->parts, &r->bare};
    size_t room = 0;
    for (size_t i = 0; i < 3; i++)
        room += lists[i]->n;
    struct worths list = {.at = ARENA_ARRAY(r->arena, struct worth, room)};
    room += r->stage[STAGE_FACTS].n + r->reply->n_episodes;
    p->cap = room < UNITS_MAX ? (uint32_t)room : UNITS_MAX;
    p->units = ARENA_ARRAY(r->arena, struct unit *, (size_t)p->cap + 1);
    if (list.at == NULL || p->units == NULL)
        return recall__memory(err);
    for (size_t i = 0; i < 3; i++)
        list_worth(r, lists[i], &list);
    for (uint32_t i = list.n / 2 + 1; i-- > 0 && list.n != 0;)
        sift_down(&list, i);
    return context__wants_summaries(r->query) ? pack_with_summaries(p, &list, err)
                                              : pack_turns(p, &list, err);
}

enum err_code recall__context(struct recall *r, struct err *err)
{
    struct pack p = {.r = r, .limit = (size_t)r->query->max_tokens * 4};
    struct recall_context *out = &r->reply->context;
    out->text = STR("");
    if (r->query->max_tokens == 0)
        return ERR_OK;
    enum err_code rc = pack_all(&p, err);
    if (rc != ERR_OK)
        return rc;
    struct buf text;
    buf_init(&text, r->arena, (size_t)LIMIT_MAX_TOKENS * 16 + 64);
    write_text(&p, &text);
    if (!buf_ok(&text))
        return recall__memory(err);
    out->text = buf_str(&text);
    size_t chars = count_chars(out->text);
    ASSERT(chars <= (size_t)r->query->max_tokens * 4); /* I1 */
    out->tokens = (uint32_t)((chars + 3) / 4);
    rc = write_lists(&p, out, err);
    return rc == ERR_OK ? write_marks(&p, out, err) : rc;
}
