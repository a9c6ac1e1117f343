/* An estimate of tokens for limits and for replies that report none: 4 characters a token, one a
 * character where scripts write without blanks (Han, kana, Hangul, Thai, ...). High rather than
 * low for prose; real tokenizers differ by a third either way. */
#ifndef HM_CORE_MODEL_TOKENS_H
#define HM_CORE_MODEL_TOKENS_H

#include "core/base/str.h"

uint32_t model_tokens(struct str text);

#endif
