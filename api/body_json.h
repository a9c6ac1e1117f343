/* Reading JSON bodies: one strict door in front of jansson (STYLE 10).
 *
 * Refused with 400 and a parameter's name: nesting over LIMIT_JSON_DEPTH (looked for before
 * anything is built, so a depth bomb costs one pass over its bytes), a duplicate key, a number out
 * of range, NaN and the like, text behind the document, invalid UTF-8, a lone surrogate, a
 * truncated document. NUL inside a string is text like any other. Messages give the line and
 * column, never the text.
 *
 * Only *_json.c files include this; what they decode goes to structs of the call's arena at
 * once. */
#ifndef HM_API_BODY_JSON_H
#define HM_API_BODY_JSON_H

#include <jansson.h>

#include "core/base/buf.h"

/* The document, to be freed with json_decref(). `param` names it in errors ("body", "turns[3]"). */
enum err_code body_json_load(struct str text, const char *param, json_t **root,
                             struct err *err) MUST_USE;
/* The string's bytes in the arena. ERR_INVALID when it is none. */
enum err_code body_json_text(const json_t *value, struct arena *arena, const char *param,
                             struct str *out, struct err *err) MUST_USE;
/* The value as compact JSON: members in the order they came, each real with the fewest digits that
 * read back as the same number, U+2028 and U+2029 escaped. False when memory is short. */
bool body_json_compact(const json_t *value, struct buf *out);
/* Longest prefix of `name` that an error parameter can show. */
struct str body_json_name(struct str name);

#endif
