/* Summaries: the sentences that hold most of what the dialogue is about. */
#include <math.h>

#include "core/base/limits.h"
#include "core/ingest/describe_int.h"
#include "core/text/sentence.h"

enum { SUMMARY_SENTENCES = 3, SENTENCE_BYTES = 130, SENTENCES_MAX = 4096 };

static enum err_code memory(struct err *err)
{
    return err_set(err, ERR_EXHAUSTED, "out of memory for a summary");
}

struct chosen {
    uint32_t turn, sentence;
};

struct choice {
    const struct dialogue *d;
    const float *weights;
    bool *told; /* by term: a chosen sentence has it */
    struct chosen at[SUMMARY_SENTENCES];
    uint32_t n;
};

/* What a sentence adds to those chosen already. Long ones hold more by chance. */
static float worth(const struct choice *c, const struct said *said, const struct said_sentence *s)
{
    const struct token *tokens = said_tokens(said, s);
    float sum = 0;
    uint32_t terms = 0;
    for (uint32_t i = 0; i < s->n_tokens; i++) {
        if ((tokens[i].flags & (TOKEN_STOP | TOKEN_PART)) != 0)
            continue;
        terms++;
        const struct dialogue_term *t = dialogue_find(c->d, tokens[i].term);
        if (t != NULL && !c->told[t - c->d->terms])
            sum += c->weights[t - c->d->terms];
    }
    if (s->n_mentions != 0)
        sum *= 1.15f;
    if (s->question || str_starts(s->text, STR("["))) /* "[shares a photo of …]" */
        sum *= 0.4f;
    return sum / sqrtf((float)terms + 4);
}

static bool is_chosen(const struct choice *c, uint32_t turn, uint32_t sentence)
{
    for (uint32_t i = 0; i < c->n; i++) {
        if (c->at[i].turn == turn && c->at[i].sentence == sentence)
            return true;
    }
    return false;
}

/* The next best sentence; its worth, 0 when none is left. */
static float next_best(const struct choice *c, struct chosen *best)
{
    float most = 0;
    uint32_t seen = 0;
    for (uint32_t t = 0; t < c->d->n_turns; t++) {
        const struct said *said = c->d->turns[t];
        for (uint32_t i = 0; i < said->n_sentences && seen < SENTENCES_MAX; i++, seen++) {
            const struct said_sentence *s = &said->sentences[i];
            if (s->fenced || is_chosen(c, t, i))
                continue;
            float w = worth(c, said, s);
            if (w > most) {
                most = w;
                *best = (struct chosen){t, i};
            }
        }
    }
    return most;
}

static void choose(struct choice *c, const struct chosen *one)
{
    const struct said *said = c->d->turns[one->turn];
    const struct said_sentence *s = &said->sentences[one->sentence];
    const struct token *tokens = said_tokens(said, s);
    for (uint32_t i = 0; i < s->n_tokens; i++) {
        const struct dialogue_term *t = dialogue_find(c->d, tokens[i].term);
        if (t != NULL)
            c->told[t - c->d->terms] = true;
    }
    uint32_t at = c->n++;
    for (; at > 0 && (c->at[at - 1].turn > one->turn ||
                      (c->at[at - 1].turn == one->turn && c->at[at - 1].sentence > one->sentence));
         at--)
        c->at[at] = c->at[at - 1];
    c->at[at] = *one;
}

/* A mark of any script, or one of ours that stands for more. */
static bool ends_sentence(struct str text)
{
    static const char *const marks[] = {".", "!", "?", "…", "。", "！", "？", "।", "؟", "۔", "]"};
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        if (str_ends(text, str_of(marks[i])))
            return true;
    }
    return false;
}

static void put_sentence(struct buf *out, struct buf *scratch, const struct choice *c, uint32_t i)
{
    const struct said *said = c->d->turns[c->at[i].turn];
    const struct said_sentence *s = &said->sentences[c->at[i].sentence];
    struct str speaker = turn_speaker(&said->turn);
    bool goes_on = i > 0 && str_eq(speaker, turn_speaker(&c->d->turns[c->at[i - 1].turn]->turn));
    buf_char(out, ' ');
    if (!goes_on) {
        describe__clip(out, speaker, 40);
        buf_str_put(out, STR(": "));
    }
    buf_clear(scratch);
    said_resolve(said, s, scratch);
    describe__clip(out, buf_str(scratch), SENTENCE_BYTES);
    if (!ends_sentence(buf_str(out)))
        buf_char(out, '.');
}

static size_t length_of(const struct choice *c, const struct chosen *one)
{
    const struct said_sentence *s = &c->d->turns[one->turn]->sentences[one->sentence];
    size_t text = s->text.len + 16 * (size_t)s->n_mentions;
    return (text < SENTENCE_BYTES ? text : SENTENCE_BYTES) + 10;
}

enum err_code describe__summary(struct arena *arena, const struct dialogue *d, const float *weights,
                                struct str *summary, struct err *err)
{
    struct choice c = {.d = d, .weights = weights};
    struct buf out;
    struct buf scratch;
    struct chosen best = {0};
    buf_init(&out, arena, 4096);
    buf_init(&scratch, arena, 2 * LIMIT_DOC_BYTES + SAID_MENTIONS_MAX * 64);
    c.told = ARENA_ARRAY(arena, bool, d->n_terms);
    if (c.told == NULL)
        return memory(err);
    size_t used = 0;
    while (c.n < SUMMARY_SENTENCES && next_best(&c, &best) > 0) {
        size_t length = length_of(&c, &best);
        if (c.n > 0 && used + length > DESCRIBE_SUMMARY_BYTES)
            break;
        used += length;
        choose(&c, &best);
    }
    describe__date(&out, d->turns[0]->turn.time_ms, d->turns[0]->turn.offset_min);
    buf_char(&out, '.');
    for (uint32_t i = 0; i < c.n; i++)
        put_sentence(&out, &scratch, &c, i);
    if (!buf_ok(&out) || !buf_ok(&scratch))
        return memory(err);
    *summary = buf_str(&out);
    return ERR_OK;
}
