#include "core/index/lengths.h"

#include "core/index/lengths_int.h"

enum { EXACT = 64, MANTISSA_BITS = 4, MANTISSA = 1 << MANTISSA_BITS, EXACT_BITS = 6 };

uint8_t length_encode(uint32_t length)
{
    if (length < EXACT)
        return length == 0 ? 1 : (uint8_t)length;
    unsigned top = 31 - (unsigned)__builtin_clz(length);
    unsigned mantissa = length >> (top - MANTISSA_BITS); /* with its leading one */
    unsigned code = EXACT + (top - EXACT_BITS) * MANTISSA + (mantissa - MANTISSA);
    return code > UINT8_MAX ? UINT8_MAX : (uint8_t)code;
}

uint32_t length_decode(uint8_t code)
{
    if (code < EXACT)
        return code;
    unsigned shift = (code - EXACT) / MANTISSA + EXACT_BITS - MANTISSA_BITS;
    return (uint32_t)(MANTISSA + code % MANTISSA) << shift;
}

struct lengths *lengths_new(struct store_txn *txn, uint64_t space, struct arena *arena)
{
    struct lengths *lengths = arena_alloc(arena, sizeof *lengths);
    if (lengths != NULL)
        blocks__init(&lengths->blocks, txn, space, KIND_LENGTH, arena);
    return lengths;
}

uint32_t lengths_get(struct lengths *lengths, enum layer layer, uint32_t doc)
{
    struct str block = lengths__block(lengths, layer, doc / LENGTH_BLOCK);
    uint32_t at = doc % LENGTH_BLOCK;
    return at < block.len ? length_decode((uint8_t)block.at[at]) : 0;
}

struct str lengths_codes(struct lengths *lengths, enum layer layer, uint32_t block)
{
    return lengths__block(lengths, layer, block);
}

enum err_code lengths_error(const struct lengths *lengths, struct err *err)
{
    return blocks__error(&lengths->blocks, err);
}
