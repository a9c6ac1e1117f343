/* format=text: the context inside a fence, to be pasted into a prompt as it is (PITFALLS 22).
 *
 *   <<<hypermem:memory 4f2a91c0d8b37e15
 *   … context …
 *   4f2a91c0d8b37e15 hypermem:memory>>>
 *
 * The marker is random for each request, so remembered text cannot hold the line that ends the
 * fence; our own words in it (core/recall/fence.h, by which a turn that carries the block back is
 * recognised) are broken where they stand in the text. */
#ifndef HM_API_QUERY_TEXT_H
#define HM_API_QUERY_TEXT_H

#include "core/base/buf.h"

void query_text(struct buf *out, struct str context, uint64_t marker);

#endif
