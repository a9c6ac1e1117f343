/* What the files of the five questions share.
 *
 *   ask_dialogue.c     the fence, texts made harmless, the dialogue and its halving
 *   ask_reply_json.c   what a reply's members mean, read leniently
 *   ask_script.c       the script a text is written in */
#ifndef HM_CORE_MODEL_ASK_INT_H
#define HM_CORE_MODEL_ASK_INT_H

#include "core/model/ask.h"
#include "core/text/rune.h"

/* --- ask_dialogue.c --- */

struct ask_key {
    char at[12]; /* eight hexadecimal digits and a NUL */
};
struct ask_key ask__key(uint64_t seed);
void ask__open(struct buf *out, const struct ask_key *key);
void ask__close(struct buf *out, const struct ask_key *key);

enum ask_shape { ASK_ONE_LINE, ASK_LINES, ASK_INDENTED };
/* The text trimmed, white space runs as one blank, control characters, the key and the word of our
 * own fence as a blank (I1). Line breaks: blanks, line feeds, or line feeds with an indent. */
void ask__put(struct buf *out, struct str text, const struct ask_key *key, enum ask_shape shape);
/* The longest good beginning of at most `max` bytes: at a sentence, a blank or a character. */
struct str ask__clip(struct str text, size_t max);
/* "2023-05-08", with "Mon " before and " 13:56" behind in a dialogue. */
void ask__put_date(struct buf *out, int64_t time_ms, int offset_min);

enum ask_keep { ASK_KEEP_FIRST, ASK_KEEP_LAST, ASK_KEEP_ENDS };
/* Sets dialogue->sent to 1 / 2^halvings of the whole; false: not possible. */
bool ask__fit(struct ask_dialogue *dialogue, enum ask_keep keep, unsigned halvings);
/* A line with the time is written at each gap of `gap_ms`. */
void ask__put_dialogue(struct buf *out, const struct ask_dialogue *dialogue, int64_t gap_ms,
                       const struct ask_key *key);
/* The text as it is shown, on one line. */
void ask__put_text(struct buf *out, const struct ask_turn *turn, size_t max,
                   const struct ask_key *key, enum ask_shape shape);
static inline bool ask__is_sent(const struct ask_dialogue *d, uint32_t i)
{
    return i < d->sent.head || i >= d->n - d->sent.tail;
}
/* Whether a turn that was sent has the number. */
bool ask__has_turn(const struct ask_dialogue *dialogue, uint32_t number);

/* --- ask_script.c --- */

struct ask_scripts {
    uint32_t letters[SCRIPT_COUNT];
    uint32_t all;
};
void ask__count_scripts(struct ask_scripts *scripts, struct str text);
void ask__count_dialogue(struct ask_scripts *scripts, const struct ask_dialogue *dialogue);
/* False when `reply` is mainly in a script that hardly occurs in `said`. */
bool ask__scripts_fit(const struct ask_scripts *said, const struct ask_scripts *reply);

/* --- ask_reply_json.c --- */

struct ask_reader {
    struct arena *arena;
    struct ask_key key;
    struct buf *wrong;
    struct err *err;
};

/* Writes `wrong` and sets `err`; no text of a dialogue may be in it. */
enum err_code ask__wrong(const struct ask_reader *r, const char *fmt, ...) PRINTF_LIKE(2, 3);
enum err_code ask__memory(struct err *err);

/* The items of reply[name], or of the reply itself when that is an array; an object in place of the
 * array counts as its only item. False: neither is there. */
struct ask_items {
    const struct json_t *array; /* NULL: `only` is the one item */
    const struct json_t *only;
    size_t n;
};
bool ask__items(const struct json_t *reply, const char *name, struct ask_items *items);
const struct json_t *ask__item(const struct ask_items *items, size_t i);
const struct json_t *ask__member(const struct json_t *object, const char *name);

/* Numbers may also be strings. A whole number >= 0: */
bool ask__whole(const struct json_t *value, uint32_t *out);
double ask__weight(const struct json_t *value);
/* True for a boolean, its number or its word. */
bool ask__truth(const struct json_t *value, bool *out);
/* The role of that slug from `first` to `last`, else `other`. */
uint8_t ask__role(const struct json_t *value, uint8_t first, uint8_t last, uint8_t other);
/* One clean line (I3), clipped; empty when the value is no string. .at NULL: no memory. */
struct str ask__line(const struct ask_reader *r, const struct json_t *value, size_t max);
/* At most `cap` distinct lines, joined by line feeds. .at NULL: no memory. */
struct str ask__lines(const struct ask_reader *r, const struct json_t *value, uint32_t cap,
                      size_t max);

#endif
