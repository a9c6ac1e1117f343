/* What models wrap around JSON and break inside it, mended in one pass over the text; a parser
 * reads the result (chat_json.h). Nothing here knows a schema.
 *
 *   around   think blocks, closed, unclosed, or closed without having been opened; code fences;
 *            sentences before and behind
 *   inside   trailing, doubled and missing commas; comments; single and typographic quotes; names
 *            without quotes; quotes inside a string; True, None, NaN; line breaks in strings; bad
 *            escapes, lone surrogates, NUL and bytes that are no UTF-8 (these three as U+FFFD);
 *            numbers of other languages; brackets that don't match
 *   the end  a text that was cut off: the element of a list that is not whole is left out, an open
 *            string ends there, what is open is closed
 *
 * I1  what repair_json() gives is valid JSON with an object or array at its root, nested at most
 *     LIMIT_JSON_DEPTH deep, without NUL.
 * I2  valid JSON that fits I1 comes out with the same value.
 * I3  one pass a candidate and REPAIR_CANDIDATES candidates: linear in the text. */
#ifndef HM_CORE_MODEL_REPAIR_H
#define HM_CORE_MODEL_REPAIR_H

#include "core/base/buf.h"

enum { REPAIR_CANDIDATES = 16 };

struct repaired {
    struct str json;
    bool cut; /* the text ended before the JSON did */
};

/* The text without think blocks and outer white space; in the arena or borrowed. .at NULL when
 * memory is short. */
struct str repair_think(struct arena *arena, struct str text);

/* For text that comes in pieces: the length of an opening tag that `text` begins with, 0: none;
 * *more: it may become one. */
size_t repair_think_open(struct str text, bool *more);
/* The offset behind the first closing tag, or 0. */
size_t repair_think_close(struct str text);
enum { REPAIR_TAG_MAX = 32 }; /* no tag is longer */

/* The first object, or list of something, in the text. ERR_UNPROCESSABLE: there is none;
 * ERR_EXHAUSTED. */
enum err_code repair_json(struct arena *arena, struct str text, struct repaired *out) MUST_USE;

#endif
