/* The path and query string of a request, undecoded as they came (DESIGN 10).
 *
 * A path is split at "/" first and each segment is decoded after, so an encoded slash stays inside
 * its segment: whoever takes the segment decides whether it may be there (a turn's id yes, a
 * space's name no, because its alphabet has none). %00 and a bad escape refuse the whole path.
 *
 *   "/v1/spaces/a%2Fb/turns"  ->  "v1" "spaces" "a/b" "turns"
 *
 * Rejected: normalising "." and "..": they are ordinary segments here and no valid name. */
#ifndef HM_API_PATH_H
#define HM_API_PATH_H

#include "core/base/str.h"

enum { PATH_SEGMENTS = 8 };

struct path {
    struct str segment[PATH_SEGMENTS]; /* decoded, in the arena or borrowed from the raw path */
    unsigned n;
};

/* ERR_INVALID: bad escape or %00 (parameter "path"); ERR_NOT_FOUND: no path of ours looks so. */
enum err_code path_split(struct arena *arena, struct str raw, struct path *path,
                         struct err *err) MUST_USE;

/* Decodes %XX, and "+" to a blank when `form`. *ok false: a bad escape. Borrows when there is
 * nothing to decode. .at NULL with *ok true: memory is short. */
struct str percent_decode(struct arena *arena, struct str raw, bool form, bool *ok);

#endif
