/* What the codecs of provider calls share: the one writer of request bodies, and the one reader of
 * bodies that say what went wrong.
 *
 * Errors come in a dozen shapes: {error:{message,type,param,code}}, {error:"…"}, [{error:{…}}],
 * {message,code}, {detail:"…"}, {detail:[{loc,msg}]}, {error,error_type}, {object:"error",message},
 * {errors:[…]}, HTML, plain text. Only the members that describe the error are read: validators
 * also send the whole request back, in which every parameter is named. */
#ifndef HM_CORE_MODEL_BASE_JSON_H
#define HM_CORE_MODEL_BASE_JSON_H

#include "core/base/buf.h"

struct json_t; /* jansson's */

enum { MODEL_BODY_MAX = 64 << 20, MODEL_MESSAGE_MAX = 160 };

struct model_fault {
    int status;         /* a status 400..599 told inside the body, or 0 */
    struct str words;   /* lower case: code, type, parameter, messages, one a line; for the judge */
    struct str message; /* for people: one line of at most MODEL_MESSAGE_MAX bytes; may be empty */
};

/* What `body` says. False: memory is short. */
bool base_json_fault(struct arena *arena, struct str body, struct model_fault *out);
/* Whether a parsed body is an error although its status is 200, and what it says. */
bool base_json_is_fault(const struct json_t *root);
bool base_json_fault_of(struct arena *arena, const struct json_t *root, struct model_fault *out);

/* True when `text` is a JSON object. */
bool base_json_is_object(struct str text);
/* The document, NULL when it is none, or memory is short. Freed with base_json_free(). */
struct json_t *base_json_load(struct str text);
void base_json_free(struct json_t *root); /* NULL is fine */
/* Writes `root`, which it frees, with the members of the object `extra` put over its own; a member
 * that is null there is left out. False: memory is short (`root` may be NULL). */
bool base_json_write(struct json_t *root, struct str extra, struct buf *out);
/* Copy of a string value; .at NULL: it is none, or memory is short. */
struct str base_json_text(struct arena *arena, const struct json_t *value);
/* A count such as usage.prompt_tokens; 0 when it is none. */
uint64_t base_json_count(const struct json_t *object, const char *name);

#endif
