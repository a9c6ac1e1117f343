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
 * I1  characters of the text <= 4 * max_tokens.  I2  each text stands once.
 * I3  turn_ids names turns whose whole text is there. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/civil.h"
#include "core/recall/recall_int.h"
#include "core/text/sentence.h"

enum {
    MISSES = 20,
    SUMMARY_TOKENS = 1500, /* from here on summaries=auto shows them */
    SUMMARY_SHARE = 5,     /* one part in so many */
    LONG_CHARS = 600,      /* a unit over it may be replaced by its facts */
    UNITS_MAX = 4096,
    CHARS_A_TERM = 9, /* of English dialogue, stop words and blanks included */
};
#define SUMMARY_MARK "Summary: "

enum unit_kind { UNIT_SUMMARY, UNIT_TURN, UNIT_FACT };

struct unit {
    enum unit_kind kind;
    uint32_t id; /* episode, turn document, fact */
    uint32_t n;  /* turn number; 0 for a summary */
    bool whole;  /* a turn with all its text */
    int64_t time_ms;
    int64_t day; /* local, since 1970 */
    struct str speaker, text, shown_id;
    size_t speaker_chars, text_chars, day_chars;
};

struct pack {
    struct recall *r;
    struct unit *units; /* in order of time */
    uint32_t n;
    size_t used;  /* characters, each line with its line feed */
    size_t limit; /* characters of the whole text */
};

static size_t count_chars(struct str s)
{
    size_t n = 0;
    for (size_t i = 0; i < s.len; i++)
        n += ((unsigned char)s.at[i] & 0xc0) != 0x80;
    return n;
}

static size_t write_day(int64_t day, char out[32])
{
    static const char *const months[12] = {"January",   "February", "March",    "April",
                                           "May",       "June",     "July",     "August",
                                           "September", "October",  "November", "December"};
    struct civil date = civil_from_days(day);
    int n = snprintf(out, 32, "%d %s %d", date.day, months[date.month - 1], date.year);
    return n < 0 ? 0 : (size_t)n;
}

/* --- the length of a text that has the unit `b` right behind `a` (NULL: nothing) --- */

static size_t cost(const struct unit *a, const struct unit *b)
{
    size_t chars = b->text_chars + 1;
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

/* Adds the unit where it belongs if the whole still fits. */
static bool add_unit(struct pack *p, const struct unit *unit)
{
    uint32_t at = p->n;
    while (at > 0 && goes_before(unit, &p->units[at - 1]))
        at--;
    const struct unit *left = at == 0 ? NULL : &p->units[at - 1];
    const struct unit *right = at == p->n ? NULL : &p->units[at];
    size_t more = cost(left, unit);
    size_t less = 0;
    if (right != NULL) {
        more += cost(unit, right);
        less = cost(left, right);
    }
    /* The last line has no line feed. */
    if (p->n == UNITS_MAX || p->used + more - less > p->limit + 1)
        return false;
    memmove(&p->units[at + 1], &p->units[at], (size_t)(p->n - at) * sizeof *p->units);
    p->units[at] = *unit;
    p->n++;
    p->used = p->used + more - less;
    return true;
}

/* --- units --- */

static void set_lines(struct unit *unit, int offset_min)
{
    char day[32];
    unit->day = civil_to_days(civil_of_moment(unit->time_ms, offset_min));
    unit->day_chars = write_day(unit->day, day);
    unit->speaker_chars = count_chars(unit->speaker);
    unit->text_chars = count_chars(unit->text);
}

static enum err_code turn_unit(struct recall *r, uint32_t doc, struct unit *unit, struct err *err)
{
    struct turn_row row;
    struct turn turn;
    *unit = (struct unit){.kind = UNIT_TURN, .id = doc};
    columns_turn(r->columns, doc, &row);
    enum err_code rc = turn_get(r->txn, r->space, row.n, &turn, err);
    if (rc != ERR_OK || turn.n == 0)
        return rc;
    unit->shown_id = turn_shown_id(r->arena, &turn);
    if (unit->shown_id.at == NULL)
        return recall__memory(err);
    rc = recall__part(r, &turn, doc, &unit->text, err);
    unit->n = turn.n;
    unit->whole = turn.docs <= 1;
    unit->text = str_trim(unit->text);
    unit->time_ms = turn.time_ms;
    unit->speaker = turn_speaker(&turn);
    set_lines(unit, turn.offset_min);
    return rc;
}

static struct str without_speaker(struct str content, struct str speaker)
{
    if (content.len > speaker.len + 2 && str_starts(content, speaker) &&
        content.at[speaker.len] == ':' && content.at[speaker.len + 1] == ' ')
        return str_part(content, speaker.len + 2, content.len);
    return content;
}

/* The facts of a long turn that did not fit, best first, while they fit. */
static enum err_code add_facts_of(struct pack *p, const struct unit *turn, struct err *err)
{
    struct recall *r = p->r;
    const struct candidates *facts = &r->stage[STAGE_FACTS];
    for (uint32_t i = 0; i < facts->n; i++) {
        struct fact fact;
        if (facts->at[i].turn_doc != turn->id)
            continue;
        enum err_code rc = fact_get(r->txn, r->space, facts->at[i].id, r->arena, &fact, err);
        if (rc != ERR_OK)
            return rc;
        struct unit unit = *turn;
        unit.kind = UNIT_FACT;
        unit.id = fact.id;
        unit.whole = false;
        unit.text = without_speaker(fact.content, turn->speaker);
        unit.text_chars = count_chars(unit.text);
        if (fact.id != 0 && !add_unit(p, &unit))
            return ERR_OK;
    }
    return ERR_OK;
}

/* --- turns by worth --- */

struct worth {
    float value;
    uint32_t doc;
};

static int order_worth(const void *a, const void *b)
{
    const struct worth *x = a, *y = b;
    if (x->value != y->value)
        return x->value > y->value ? -1 : 1;
    return (x->doc > y->doc) - (x->doc < y->doc);
}

/* Each list is ranked, so the first time a document is met is its best. */
static void list_worth(struct recall *r, const struct candidates *list, uint32_t most,
                       struct worth *out, uint32_t *n)
{
    for (uint32_t i = 0; i < list->n && i < most; i++) {
        uint32_t doc = list->at[i].turn_doc;
        struct turn_acc *acc = recall__turn(r, doc);
        if (acc->touched)
            continue;
        acc->touched = 1;
        float chars = (float)(acc->length * CHARS_A_TERM);
        out[*n].value = list->at[i].score / powf(60.0f + chars, 0.4f);
        out[(*n)++].doc = doc;
    }
}

static enum err_code pack_turns(struct pack *p, const struct worth *list, uint32_t n, uint32_t *at,
                                struct err *err)
{
    unsigned misses = 0;
    for (; *at < n && misses < MISSES; (*at)++) {
        struct unit unit;
        enum err_code rc = turn_unit(p->r, list[*at].doc, &unit, err);
        if (rc != ERR_OK)
            return rc;
        if (unit.n == 0 || unit.text.len == 0 || add_unit(p, &unit))
            continue;
        misses++;
        if (unit.text_chars > LONG_CHARS)
            rc = add_facts_of(p, &unit, err);
        if (rc != ERR_OK)
            return rc;
    }
    return ERR_OK;
}

/* --- summaries --- */

static bool wants_summaries(const struct recall_query *q)
{
    return q->summaries == SUMMARIES_ON ||
           (q->summaries == SUMMARIES_AUTO && q->max_tokens >= SUMMARY_TOKENS);
}

static bool contains(struct str whole, struct str part)
{
    return part.len != 0 && memmem(whole.at, whole.len, part.at, part.len) != NULL;
}

/* The longest run of a sentence that carries no resolved date in brackets. */
static struct str plain_run(struct str sentence)
{
    struct str best = STR("");
    while (sentence.len != 0) {
        size_t open = str_index(sentence, '(');
        if (open > best.len)
            best = str_part(sentence, 0, open);
        sentence = str_part(sentence, open, sentence.len);
        size_t close = str_index(sentence, ')');
        sentence = str_part(sentence, close + 1, sentence.len);
    }
    return str_trim(best);
}

/* I2: a sentence of the summary that stands in a turn of the context, or is the date that stands
 * above it, is left out. It may carry its speaker in front and a resolved date inside. */
static bool stands_already(const struct pack *p, struct str sentence, struct str day)
{
    size_t colon = str_index(str_part(sentence, 0, 64), ':');
    if (str_starts(sentence, day) && sentence.len <= day.len + 1)
        return true;
    if (colon < sentence.len && colon < 64)
        sentence = str_trim(str_part(sentence, colon + 1, sentence.len));
    struct str run = plain_run(sentence);
    for (uint32_t i = 0; i < p->n; i++)
        if (p->units[i].kind != UNIT_SUMMARY && contains(p->units[i].text, run))
            return true;
    return false;
}

/* On one line. */
static void put_line(struct buf *out, struct str text)
{
    while (text.len != 0) {
        size_t end = str_index(text, '\n');
        buf_str_put(out, str_part(text, 0, end));
        if (end < text.len)
            buf_char(out, ' ');
        text = str_part(text, end + 1, text.len);
    }
}

static enum err_code summary_unit(struct pack *p, const struct recall_episode *e, struct unit *unit,
                                  struct err *err);

static enum err_code add_summaries(struct pack *p, struct err *err)
{
    const struct recall_reply *reply = p->r->reply;
    size_t whole = p->limit, most = p->used + whole / SUMMARY_SHARE;
    enum err_code rc = ERR_OK;
    for (uint32_t i = 0; rc == ERR_OK && i < reply->n_episodes; i++) {
        struct unit unit;
        if (reply->episodes[i].summary_hidden)
            continue;
        rc = summary_unit(p, &reply->episodes[i], &unit, err);
        p->limit = most < whole ? most : whole;
        if (rc == ERR_OK && unit.text.len != 0)
            (void)add_unit(p, &unit);
        p->limit = whole;
    }
    return rc;
}

static enum err_code summary_unit(struct pack *p, const struct recall_episode *e, struct unit *unit,
                                  struct err *err)
{
    struct buf text;
    struct str rest = e->episode.summary, sentence;
    *unit = (struct unit){.kind = UNIT_SUMMARY, .id = e->episode.id};
    buf_init(&text, p->r->arena, 4096);
    buf_str_put(&text, STR(SUMMARY_MARK));
    buf_str_put(&text, e->episode.title);
    bool some = false;
    char date[32];
    int64_t local = civil_to_days(civil_of_moment(e->episode.start_ms, e->episode.offset_min));
    struct str day = {date, write_day(local, date)};
    while (sentence_next(&rest, &sentence)) {
        if (stands_already(p, sentence, day))
            continue;
        buf_str_put(&text, some ? STR(" ") : STR(". "));
        put_line(&text, sentence);
        some = true;
    }
    if (!buf_ok(&text))
        return ERR_OK; /* a summary that long is no summary */
    unit->text = some ? buf_str(&text) : STR("");
    unit->time_ms = e->episode.start_ms;
    unit->speaker = STR("");
    set_lines(unit, e->episode.offset_min);
    (void)err;
    return ERR_OK;
}

/* --- the text and its lists --- */

static void write_text(const struct pack *p, struct buf *out)
{
    const struct unit *last = NULL;
    for (uint32_t i = 0; i < p->n; i++) {
        const struct unit *u = &p->units[i];
        bool new_day = last == NULL || last->day != u->day;
        char day[32];
        if (last != NULL)
            buf_char(out, '\n');
        if (new_day) {
            buf_put(out, day, write_day(u->day, day));
            buf_char(out, '\n');
        }
        if (u->kind != UNIT_SUMMARY &&
            (new_day || last->kind == UNIT_SUMMARY || !str_eq(last->speaker, u->speaker))) {
            buf_str_put(out, u->speaker);
            buf_put(out, ":\n", 2);
        }
        buf_str_put(out, u->text);
        last = u;
    }
}

static bool holds_fact(const struct pack *p, const struct candidate *fact)
{
    for (uint32_t i = 0; i < p->n; i++) {
        const struct unit *u = &p->units[i];
        if ((u->kind == UNIT_FACT && u->id == fact->id) ||
            (u->kind == UNIT_TURN && u->id == fact->turn_doc))
            return true;
    }
    return false;
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
        const struct unit *u = &p->units[i];
        if (u->kind == UNIT_SUMMARY)
            out->episode_ids[out->n_episode_ids++] = u->id;
        else if (u->kind == UNIT_TURN && u->whole)
            out->turn_ids[out->n_turn_ids++] = u->shown_id; /* I3 */
    }
    for (uint32_t i = 0; i < r->stage[STAGE_FACTS].n && i < shown; i++)
        if (holds_fact(p, &r->stage[STAGE_FACTS].at[i]))
            out->fact_ids[out->n_fact_ids++] = r->stage[STAGE_FACTS].at[i].id;
    return ERR_OK;
}

static enum err_code pack_all(struct pack *p, struct err *err)
{
    struct recall *r = p->r;
    const struct candidates *lists[] = {&r->stage[STAGE_FACTS], &r->stage[STAGE_RECENT], &r->bare};
    size_t room = 0;
    for (size_t i = 0; i < 3; i++)
        room += lists[i]->n;
    struct worth *list = ARENA_ARRAY(r->arena, struct worth, room);
    if (list == NULL)
        return recall__memory(err);
    uint32_t n = 0, at = 0;
    for (size_t i = 0; i < 3; i++)
        list_worth(r, lists[i], RECALL_POOL, list, &n);
    if (n > 1)
        qsort(list, n, sizeof *list, order_worth);
    if (!wants_summaries(r->query))
        return pack_turns(p, list, n, &at, err);
    size_t whole = p->limit;
    p->limit = whole - whole / SUMMARY_SHARE;
    enum err_code rc = pack_turns(p, list, n, &at, err);
    p->limit = whole;
    if (rc == ERR_OK)
        rc = add_summaries(p, err);
    if (rc == ERR_OK)
        rc = pack_turns(p, list, n, &at, err);
    return rc;
}

enum err_code recall__context(struct recall *r, struct err *err)
{
    struct pack p = {.r = r, .limit = (size_t)r->query->max_tokens * 4};
    struct recall_context *out = &r->reply->context;
    out->text = STR("");
    if (r->query->max_tokens == 0)
        return ERR_OK;
    p.units = arena_alloc(r->arena, (UNITS_MAX + 1) * sizeof *p.units);
    if (p.units == NULL)
        return recall__memory(err);
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
    return write_lists(&p, out, err);
}
