/* Summaries in the context: "Summary: title. sentences", one line an episode.
 *
 * A built-in summary is made of sentences that were said, so most of it may stand in the context as
 * turns. A sentence is left out when a turn there holds it (I2 of context.c); a summary of which
 * nothing is left is not shown. Whether some turn holds a sentence is asked for dozens of sentences
 * against thousands of characters, so a filter over all runs of 8 bytes of those turns answers most
 * of it. */
#include "core/recall/context_int.h"
#include "core/text/sentence.h"

enum {
    SUMMARY_TOKENS = 1500,               /* from here on summaries=auto shows them */
    SUMMARY_SHARE = 5,                   /* one part in so many */
    SUMMARY_MAX = 4096,                  /* bytes; a longer one is no summary */
    LABEL_MAX = LIMIT_SPEAKER_BYTES + 1, /* "Caroline:" */
    GRAM = 8,                            /* bytes */
    GRAM_BITS = 16,
};
#define SUMMARY_MARK "Summary: "

enum { SENTENCES_MAX = 32 };
struct summary {
    const struct episode *episode;
    uint32_t n;
    struct str sentence[SENTENCES_MAX]; /* without its speaker */
    struct str speaker[SENTENCES_MAX]; /* of the sentence or the last one that has any; may be "" */
    struct str run[SENTENCES_MAX];     /* what a turn would hold of it */
    bool out[SENTENCES_MAX];           /* a turn does */
};

/* A set of hashes of GRAM bytes: absent is certain, present is likely. */
struct grams {
    uint64_t bits[(1u << GRAM_BITS) / 64];
};

static uint32_t gram_hash(const char *at)
{
    uint64_t v;
    memcpy(&v, at, GRAM);
    return (uint32_t)((v * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - GRAM_BITS));
}

static void grams_add(struct grams *grams, struct str text)
{
    for (size_t i = 0; i + GRAM <= text.len; i++) {
        uint32_t h = gram_hash(text.at + i);
        grams->bits[h / 64] |= UINT64_C(1) << h % 64;
    }
}

static bool grams_may_hold(const struct grams *grams, struct str text)
{
    for (size_t i = 0; i + GRAM <= text.len; i += GRAM) {
        uint32_t h = gram_hash(text.at + i);
        if ((grams->bits[h / 64] >> h % 64 & 1) == 0)
            return false;
    }
    return true;
}

/* Of all turns, or of those that came late. */
static struct grams *grams_of(const struct pack *p, bool late)
{
    struct grams *grams = ARENA_NEW(p->r->arena, struct grams);
    for (uint32_t i = 0; grams != NULL && i < p->n; i++)
        if (p->units[i]->kind != UNIT_SUMMARY && (p->units[i]->late || !late))
            grams_add(grams, p->units[i]->text);
    return grams;
}

bool context__wants_summaries(const struct recall_query *q)
{
    return q->summaries == SUMMARIES_ON ||
           (q->summaries == SUMMARIES_AUTO && q->max_tokens >= SUMMARY_TOKENS);
}

static bool contains(struct str whole, struct str part)
{
    return part.len != 0 && part.len <= whole.len &&
           memmem(whole.at, whole.len, part.at, part.len) != NULL;
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

/* A long sentence of a built-in summary is cut and ends so. */
static struct str without_ellipsis(struct str text)
{
    const struct str dots = STR("…");
    return str_ends(text, dots) ? str_trim(str_part(text, 0, text.len - dots.len)) : text;
}

static bool is_participant(const struct episode *e, struct str name)
{
    struct str rest = e->participants;
    while (rest.len != 0) {
        size_t end = str_index(rest, '\n');
        if (str_eq(str_part(rest, 0, end), name))
            return true;
        rest = str_part(rest, end + 1, rest.len);
    }
    return false;
}

/* Takes "Caroline: " off the sentence. */
static void take_speaker(const struct episode *e, struct str *sentence, struct str *speaker)
{
    size_t colon = str_index(str_part(*sentence, 0, LABEL_MAX), ':');
    if (colon >= sentence->len || colon >= LABEL_MAX ||
        !is_participant(e, str_part(*sentence, 0, colon)))
        return;
    *speaker = str_part(*sentence, 0, colon);
    *sentence = str_trim(str_part(*sentence, colon + 1, sentence->len));
}

/* Turns of the episode itself are looked at first: there it will be. */
static bool is_held(const struct pack *p, const struct grams *grams, struct str run,
                    int64_t since_ms)
{
    uint32_t from = 0;
    if (!grams_may_hold(grams, run))
        return false;
    while (from < p->n && p->units[from]->time_ms < since_ms)
        from++;
    for (uint32_t k = 0; k < p->n; k++) {
        const struct unit *unit = p->units[from + k < p->n ? from + k : from + k - p->n];
        if (unit->kind != UNIT_SUMMARY && contains(unit->text, run))
            return true;
    }
    return false;
}

/* Leaves out what the turns hold; true when there was any. */
static bool leave_out(const struct pack *p, const struct grams *grams, struct summary *s)
{
    bool any = false;
    for (uint32_t i = 0; i < s->n; i++) {
        if (s->out[i] || !is_held(p, grams, s->run[i], s->episode->start_ms))
            continue;
        s->out[i] = any = true;
    }
    return any;
}

/* The sentences but the date that stands above the summary anyway. */
static struct summary *summary_of(struct arena *arena, const struct episode *e)
{
    struct summary *s = arena_alloc(arena, sizeof *s);
    struct str rest = e->summary, sentence, speaker = STR("");
    char date[CONTEXT_DAY_MAX];
    struct str day = {date, context__write_day(context__day(e->start_ms, e->offset_min), date)};
    if (s == NULL)
        return NULL;
    s->episode = e;
    s->n = 0;
    while (s->n < SENTENCES_MAX && sentence_next(&rest, &sentence)) {
        if (str_starts(sentence, day) && sentence.len <= day.len + 1)
            continue;
        take_speaker(e, &sentence, &speaker);
        s->sentence[s->n] = sentence;
        s->speaker[s->n] = speaker;
        s->out[s->n] = false;
        s->run[s->n++] = plain_run(without_ellipsis(sentence));
    }
    return s;
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

/* What is left of a summary, each speaker named where he begins; empty when nothing is. */
static struct str summary_text(const struct pack *p, const struct summary *s)
{
    struct buf text;
    bool some = false;
    struct str speaker = STR("");
    buf_init(&text, p->r->arena, SUMMARY_MAX);
    buf_str_put(&text, STR(SUMMARY_MARK));
    put_line(&text, s->episode->title);
    for (uint32_t i = 0; i < s->n; i++) {
        if (s->out[i])
            continue;
        buf_str_put(&text, some ? STR(" ") : STR(". "));
        if (!str_eq(speaker, s->speaker[i])) {
            speaker = s->speaker[i];
            buf_str_put(&text, speaker);
            buf_str_put(&text, STR(": "));
        }
        put_line(&text, s->sentence[i]);
        some = true;
    }
    return some && buf_ok(&text) ? buf_str(&text) : STR("");
}

static enum err_code add_summary(struct pack *p, const struct grams *grams, const struct episode *e,
                                 struct err *err)
{
    bool added;
    struct summary *s = summary_of(p->r->arena, e);
    if (s == NULL)
        return recall__memory(err);
    (void)leave_out(p, grams, s);
    struct unit unit = {.kind = UNIT_SUMMARY,
                        .id = e->id,
                        .time_ms = e->start_ms,
                        .speaker = STR(""),
                        .text = summary_text(p, s),
                        .summary = s};
    context__measure(&unit, e->offset_min);
    if (unit.text.len == 0)
        return ERR_OK;
    enum err_code rc = context__mark(p->r, &unit, err);
    return rc == ERR_OK ? context__add(p, &unit, &added, err) : rc;
}

size_t context__summary_chars(size_t whole)
{
    return whole / SUMMARY_SHARE;
}

enum err_code context__add_summaries(struct pack *p, struct err *err)
{
    const struct recall_reply *reply = p->r->reply;
    const struct grams *grams = grams_of(p, false);
    size_t whole = p->limit, most = p->used + context__summary_chars(whole);
    enum err_code rc = grams == NULL ? recall__memory(err) : ERR_OK;
    p->limit = most < whole ? most : whole;
    for (uint32_t i = 0; rc == ERR_OK && i < reply->n_episodes; i++)
        if (!reply->episodes[i].summary_hidden)
            rc = add_summary(p, grams, &reply->episodes[i].episode, err);
    p->limit = whole;
    return rc;
}

/* A shorter line, or none, only makes the whole shorter: `used` may stay too high. */
enum err_code context__trim_summaries(struct pack *p, struct err *err)
{
    const struct grams *grams = grams_of(p, true);
    uint32_t out = 0;
    if (grams == NULL)
        return recall__memory(err);
    for (uint32_t i = 0; i < p->n; i++) {
        struct unit *unit = p->units[i];
        if (unit->kind == UNIT_SUMMARY && leave_out(p, grams, unit->summary))
            unit->text = summary_text(p, unit->summary);
        if (unit->text.len != 0)
            p->units[out++] = unit;
    }
    p->n = out;
    return ERR_OK;
}
