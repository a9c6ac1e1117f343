/* UTF-8 at the edge: validity and safe cuts. Strict as RFC 3629: no overlong forms, no surrogates,
 * nothing above U+10FFFF. NUL is a character like any other. */
#ifndef HM_CORE_TEXT_UTF8_H
#define HM_CORE_TEXT_UTF8_H

#include "core/base/str.h"

bool utf8_is_valid(struct str s);
/* Offset of the first invalid byte, or s.len. */
size_t utf8_valid_len(struct str s);
/* The longest prefix of at most `max` bytes that does not split a character (nor, where that is
 * possible, a grapheme's combining marks, variation selectors and ZWJ sequences). */
struct str utf8_cut(struct str s, size_t max);
/* True when nothing but white space (Unicode), format or control characters. */
bool utf8_is_blank(struct str s);
/* True when a control character (C0, DEL, C1) is inside. */
bool utf8_has_control(struct str s);
/* Unicode case fold + NFKC + mark-stripping as in the tokenizer, white space runs to one blank,
 * outer punctuation dropped: the form under which two statements are "the same". In the arena;
 * .at NULL when memory is short. */
struct str utf8_normal(struct arena *arena, struct str s);

#endif
