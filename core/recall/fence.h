/* The fence around recalled text (DESIGN 13, rows "dialogue in prompts" and "echo").
 *
 * Whatever the server hands out as memory stands between two marker lines. A turn that carries such
 * a block back is recognised by them alone: what is inside was ours and makes no fact. The text in
 * between never holds a marker, because the writer of the context takes them out.
 *
 *   <<<hypermem:memory
 *   … recalled text …
 *   hypermem:memory>>>
 *
 * A block that was cut off has no end: it goes to the end of the text. */
#ifndef HM_CORE_RECALL_FENCE_H
#define HM_CORE_RECALL_FENCE_H

#include "core/base/str.h"

#define FENCE_OPEN "<<<hypermem:memory"
#define FENCE_CLOSE "hypermem:memory>>>"

/* Bytes [from, to) of a text, markers included. */
struct fence {
    size_t from, to;
};

/* The first fenced block that begins at byte `at` or later; false: there is none. */
bool fence_find(struct str text, size_t at, struct fence *fence);

#endif
