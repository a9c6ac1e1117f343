#include "core/model/tokens.h"

#include "core/text/rune.h"

uint32_t model_tokens(struct str text)
{
    uint64_t quarters = 0;
    for (size_t i = 0; i < text.len;) {
        struct rune rune = rune_at(text, i);
        i += rune.len != 0 ? rune.len : 1;
        quarters += rune.cp >= 0x80 && rune.len != 0 && rune_class(rune.cp) == RUNE_BIGRAM ? 4 : 1;
    }
    uint64_t tokens = (quarters + 3) / 4;
    return tokens < UINT32_MAX ? (uint32_t)tokens : UINT32_MAX;
}
