/* The one emitter of large JSON replies (query, lists): append-only, no tree (DESIGN 12: 13 times
 * faster than building and dumping one). Escapes, commas and nesting are its business and asserted;
 * its output is checked with jansson in tests.
 *
 * Names are literals of ours and are not escaped. Strings are UTF-8 (checked on the way in) and are
 * escaped as RFC 8259 asks, plus U+2028 and U+2029 (line breaks to JSONL and JavaScript readers)
 * and U+007F. Numbers are finite: others are written as null.
 *
 * The functions' prefix is out_: jansson owns the names json_object, json_array and the like, and a
 * program's own symbol would replace the library's inside the library too.
 *
 * I1  depth returns to 0 at the end.  I2  in an object every value has a name, in an array none. */
#ifndef HM_API_JSON_OUT_H
#define HM_API_JSON_OUT_H

#include "core/base/buf.h"

enum { JSON_OUT_DEPTH = 16 };

struct json_out {
    struct buf *buf;
    unsigned depth;
    bool some[JSON_OUT_DEPTH]; /* an element came before at this depth */
    bool array[JSON_OUT_DEPTH];
};

struct json_out json_out_of(struct buf *buf);

/* `name` NULL inside arrays and at the top. */
void out_object(struct json_out *out, const char *name);
void out_array(struct json_out *out, const char *name);
void out_end(struct json_out *out); /* closes the innermost of either */

void out_str(struct json_out *out, const char *name, struct str value);
void out_cstr(struct json_out *out, const char *name, const char *value);
void out_u64(struct json_out *out, const char *name, uint64_t value);
void out_i64(struct json_out *out, const char *name, int64_t value);
/* At most `digits` decimals, trailing zeros dropped. */
void out_real(struct json_out *out, const char *name, double value, int digits);
void out_bool(struct json_out *out, const char *name, bool value);
void out_null(struct json_out *out, const char *name);
/* Text that is JSON already (metadata, as it was checked and compacted). */
void out_raw(struct json_out *out, const char *name, struct str json);
/* RFC 3339 UTC, or null for INT64_MAX (TIME_NEVER). */
void out_time(struct json_out *out, const char *name, int64_t utc_ms);
/* "topic_3" and the like. */
void out_id(struct json_out *out, const char *name, const char *prefix, uint64_t id);
/* An array of strings from text joined by line feeds; empty text gives []. */
void out_lines(struct json_out *out, const char *name, struct str lines);

#endif
